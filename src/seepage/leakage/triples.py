"""Two reports together can tell more about a third attribute than the sum of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, check_epsilon
from seepage.channel import randomized_response
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.leakage._stack import Curve
from seepage.leakage.joint import check_joint_capacity, joint_leakage

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Triple:
    """Leakage of two reports about a third attribute, under k-ary randomised response.

    Attributes
    ----------
    secret, first, second : str
        The secret, and the two released attributes in the order of the domain.
    joint : float
        Exact leakage of both reports together, in nats.
    pairwise : float
        Sum of the exact leakages of each report alone.
    worst_case : float or None
        Sum of the worst-case leakages of each attribute alone, over all ε-LDP mechanisms; None
        when no curves were given.
    """

    secret: str
    first: str
    second: str
    joint: float
    pairwise: float
    worst_case: float | None = None

    @property
    def exceeds(self) -> bool:
        """Whether both together tell more than the sum of the same mechanisms' leakages."""
        return self.joint > self.pairwise + _ROUNDING

    @property
    def exceeds_worst_case(self) -> bool:
        """Whether they tell more than even the sum of the worst cases."""
        return self.worst_case is not None and self.joint > self.worst_case + _ROUNDING

    @property
    def excess(self) -> float:
        """Joint leakage minus the pairwise sum, in nats; 0 when both are ∞."""
        return 0.0 if self.joint == self.pairwise else self.joint - self.pairwise


@dataclass(frozen=True)
class TripleCheck:
    """All triples (secret, first, second) of a domain.

    Attributes
    ----------
    triples : tuple of Triple
        By secret, then the others, in the order of the domain.
    """

    triples: tuple[Triple, ...]

    @property
    def exceeding(self) -> tuple[Triple, ...]:
        """Triples that tell more than the sum of pairs, by descending excess."""
        return tuple(sorted((t for t in self.triples if t.exceeds), key=lambda t: -t.excess))

    @property
    def exceeding_worst_case(self) -> tuple[Triple, ...]:
        """Triples that tell more than the sum of worst cases, by descending excess."""
        return tuple(t for t in self.exceeding if t.exceeds_worst_case)


MODERATE = 300.0
"""ε up to which probabilities of reports are far from the limits of floating point."""


def triple_check(
    domain: Domain,
    codes: IntArray,
    budgets: ArrayLike,
    *,
    weights: IntArray | None = None,
    curve: Callable[[str, str], Curve] | None = None,
) -> TripleCheck:
    """Compare joint and pairwise leakage of every triple of attributes.

    Parameters
    ----------
    domain : Domain
        d attributes.
    codes : array of int, shape (n, d)
        Records as positions of categories.
    budgets : array-like of float, shape (d,)
        ε of each attribute's k-ary randomised response, in [0, ∞].
    weights : array of int, shape (n,), optional
    curve : callable, optional
        Called with (secret, released); gives the worst-case curve, to compare with as well.

    Returns
    -------
    TripleCheck
        d·(d − 1)(d − 2)/2 triples.

    Raises
    ------
    InvalidInputError
        If a budget is outside its range, or there is no record.
    CapacityError
        If a table of three attributes would not fit.
    """
    e = check_epsilon(budgets, "budgets")
    if e.shape != (len(domain),):
        msg = f"expected one budget for each of {len(domain)} attributes, got shape {e.shape}"
        raise InvalidInputError(msg)
    d, names, shape = len(domain), domain.names, domain.shape
    for axes in combinations(range(d), 3):
        sizes = [shape[i] for i in axes]
        check_joint_capacity([names[i] for i in axes], sizes, sizes[1:])
    worst = np.full((d, d), np.nan)
    if curve is not None:
        for k, j in np.argwhere(~np.eye(d, dtype=np.bool_)).tolist():
            worst[k, j] = curve(names[k], names[j]).leakage(float(e[j]))
    counter = _Counter(domain, codes, weights)
    single = np.zeros((d, d))
    for k, j in combinations(range(d), 2):
        table = counter.table((k, j))
        single[k, j] = _leakage(table, (e[j],))
        single[j, k] = _leakage(table.T, (e[k],))
    found: dict[tuple[int, int, int], float] = {}
    for axes in combinations(range(d), 3):
        table = counter.table(axes)
        for position, k in enumerate(axes):
            i, j = (axis for axis in axes if axis != k)
            found[k, i, j] = _leakage(np.moveaxis(table, position, 0), (e[i], e[j]))
    return TripleCheck(
        tuple(
            Triple(
                names[k],
                names[i],
                names[j],
                value,
                float(single[k, i] + single[k, j]),
                None if curve is None else float(worst[k, i] + worst[k, j]),
            )
            for (k, i, j), value in sorted(found.items())
        )
    )


class _Counter:
    """Contingency tables of a few attributes; columns are laid out once."""

    def __init__(self, domain: Domain, codes: IntArray, weights: IntArray | None) -> None:
        self.shape = domain.shape
        self.columns = list(np.ascontiguousarray(codes.T, dtype=np.int64))
        self.weights = weights

    def table(self, axes: tuple[int, ...]) -> FloatArray:
        """Counts of the attributes at these positions, one axis each."""
        shape = tuple(self.shape[i] for i in axes)
        cells = self.columns[axes[0]]
        for i in axes[1:]:
            cells = cells * self.shape[i] + self.columns[i]
        counts = np.bincount(cells, weights=self.weights, minlength=math.prod(shape))
        if counts.sum() == 0:
            msg = "expected at least one record, got none"
            raise InvalidInputError(msg)
        return counts.reshape(shape).astype(np.float64)


def _leakage(table: FloatArray, epsilons: tuple[float, ...]) -> float:
    """Joint leakage about axis 0 of the other axes' k-ary randomised responses."""
    if max(epsilons) > MODERATE:
        sizes = table.shape[1:]
        channels = [randomized_response(k, e) for k, e in zip(sizes, epsilons, strict=True)]
        return joint_leakage(table, channels)
    mass = table.sum(axis=tuple(range(1, table.ndim)))
    kept = mass > 0
    Q = table[kept] / mass[kept].reshape(-1, *(1,) * (table.ndim - 1))
    for axis, epsilon in enumerate(epsilons, start=1):
        # Up to a constant the channel is the identity plus 1/t everywhere; ε = 0 tells nothing.
        if epsilon == 0:
            Q = Q.sum(axis=axis, keepdims=True)
        else:
            Q = Q * np.expm1(epsilon) + Q.sum(axis=axis, keepdims=True)
    # Every report has a positive probability here.
    return float(np.log((Q.max(axis=0) / Q.min(axis=0)).max()))
