"""What an attacker knows of the population, and what he sees of a record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, as_float_array, freeze
from seepage.errors import InvalidInputError

Mode = Literal["product", "mixture"]
"""product: every node reports independently of the others. mixture: one node, unknown which."""


@dataclass(frozen=True, eq=False)
class Population:
    """A joint distribution of the secret and of the nodes that report, as weighted combinations.

    A node is what one mechanism randomises: an attribute, or several taken as one.

    Parameters
    ----------
    secret : array of int, shape (N,)
        Value of the secret in each combination.
    nodes : array of int, shape (N, m)
        Value of each node.
    weights : array of float, shape (N,)
        Probabilities up to a factor, or counts; positive.
    secret_size : int
        Number k of values of the secret.
    sizes : tuple of int
        Number of values of each node.

    Raises
    ------
    InvalidInputError
        If shapes do not agree, a value is outside its range, or there is no mass.

    See Also
    --------
    Population.of_joint : from a table.
    """

    secret: IntArray
    nodes: IntArray
    weights: FloatArray
    secret_size: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        secret, nodes = np.asarray(self.secret), np.asarray(self.nodes)
        weights = as_float_array(self.weights, "weights")
        n, m = len(secret) if secret.ndim == 1 else -1, len(self.sizes)
        whole = secret.dtype.kind in "iu" and nodes.dtype.kind in "iu"
        if not whole or nodes.shape != (n, m) or weights.shape != (n,):
            msg = (
                f"expected whole numbers of shapes (N,) and (N, {m}) and weights (N,), got "
                f"{secret.shape}, {nodes.shape} and {weights.shape}"
            )
            raise InvalidInputError(msg)
        if n == 0 or not ((weights > 0) & np.isfinite(weights)).all():
            msg = "expected combinations with positive weights, got none or others"
            raise InvalidInputError(msg)
        table = np.column_stack([secret, nodes])
        if (table < 0).any() or (table >= np.array([self.secret_size, *self.sizes])).any():
            msg = f"expected values below {(self.secret_size, *self.sizes)}, got others"
            raise InvalidInputError(msg)
        object.__setattr__(self, "secret", secret.astype(np.int64))
        object.__setattr__(self, "nodes", nodes.astype(np.int64))
        object.__setattr__(self, "weights", weights)

    @classmethod
    def of_joint(cls, joint: ArrayLike) -> Population:
        """Build from probabilities or counts, shape (k, b_1, …, b_m): the secret is axis 0.

        Raises
        ------
        InvalidInputError
            If the table has a negative or infinite entry, or no mass.
        """
        table = as_float_array(joint, "joint")
        if table.ndim == 0 or not ((table >= 0) & np.isfinite(table)).all() or not table.any():
            msg = "expected a joint table of probabilities or counts with some mass, got another"
            raise InvalidInputError(msg)
        places = np.argwhere(table > 0)
        return cls(
            places[:, 0], places[:, 1:], table[table > 0], table.shape[0], tuple(table.shape[1:])
        )

    @cached_property
    def prior(self) -> FloatArray:
        """Probabilities of the values of the secret, shape (k,)."""
        mass = np.bincount(self.secret, self.weights, self.secret_size)
        return freeze(mass / mass.sum())

    def pair(self, node: int) -> FloatArray:
        """Mass of the secret (rows) and one node (columns), shape (k, b)."""
        b = self.sizes[node]
        cells = self.secret * b + self.nodes[:, node]
        mass = np.bincount(cells, self.weights, self.secret_size * b)
        return np.asarray(mass.reshape(-1, b), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Observations:
    """What is seen of n records.

    Parameters
    ----------
    evidence : tuple of arrays of float, shapes (n, b_1), …, (n, b_m)
        ``ln p(report of the node | its value)`` up to a number for each record; zeros where a node
        reports nothing.
    columns : array of int, shape (n, c)
        The same reports as categories, for attackers that learn.
    column_sizes : tuple of int
        Number of categories of each column.
    own : array of float, shape (n, k), optional
        The same as evidence, of a report on the secret itself.
    mode : {"product", "mixture"}
    background : float
        "mixture": likelihood of the case in which none of these nodes is the true one.
    """

    evidence: tuple[FloatArray, ...]
    columns: IntArray
    column_sizes: tuple[int, ...]
    own: FloatArray | None = None
    mode: Mode = "product"
    background: float = 0.0

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.columns)

    def take(self, rows: Any) -> Observations:
        """Only these records, in this order."""
        return Observations(
            tuple(each[rows] for each in self.evidence),
            self.columns[rows],
            self.column_sizes,
            None if self.own is None else self.own[rows],
            self.mode,
            self.background,
        )
