"""Tables as mechanisms, and post-randomisation (PRAM): given, invariant, and within strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    IntArray,
    as_float_array,
    check_conditional,
    check_distribution,
    check_epsilon,
    freeze,
)
from seepage.channel import Channel, randomized_response
from seepage.collect.mechanism import TableMechanism
from seepage.errors import InfeasibleError, InvalidInputError

Stratum = str | int | float
"""Name of a stratum."""


@dataclass(frozen=True, eq=False)
class Table(TableMechanism):
    """Any row-stochastic table as a mechanism.

    Parameters
    ----------
    matrix : array of float, shape (k, m), or Channel
        ``p(report | true category)``. Rows sum to 1; nothing is asked of the columns. An entry of 0
        is never sampled.

    Raises
    ------
    InvalidInputError
        If the table is not row-stochastic.
    """

    matrix: ArrayLike | Channel
    kind: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        given = self.matrix.matrix if isinstance(self.matrix, Channel) else self.matrix
        object.__setattr__(self, "matrix", freeze(check_conditional(given, "matrix") + 0.0))

    @property
    def probabilities(self) -> FloatArray:
        """`matrix` as an array, shape (k, m)."""
        return np.asarray(self.matrix)

    @property
    def k(self) -> int:
        """Number of rows."""
        return int(self.probabilities.shape[0])

    @property
    def epsilon(self) -> float:
        """ε of the table; ∞ if a report is possible for some categories only."""
        return self.channel.epsilon

    @cached_property
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, m)."""
        return Channel.from_matrix(self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {"kind": self.kind, "k": self.k, "matrix": self.probabilities.tolist()}


@dataclass(frozen=True, eq=False)
class PostRandomization(Table):
    """Post-randomisation: a square table, optionally within strata.

    Parameters
    ----------
    matrix : array of float, shape (k, k), or Channel
        Row-stochastic. A singular table can be sampled from, but its reports do not identify the
        distribution, and `unbias` says so.
    strata : sequence, length k, optional
        The stratum of each category. Categories of different strata are never exchanged; ε is then
        ∞, for a report reveals the stratum.

    Raises
    ------
    InvalidInputError
        If the table is not square and row-stochastic, or moves a category to another stratum.

    See Also
    --------
    invariant_pram, stratified_pram : tables with a purpose.
    """

    strata: Sequence[Stratum] | None = None
    kind: ClassVar[str] = "pram"

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, columns = self.probabilities.shape
        if rows != columns:
            msg = f"expected a square matrix, got shape {(rows, columns)}"
            raise InvalidInputError(msg)
        if self.strata is None:
            return
        object.__setattr__(self, "strata", _plain_strata(self.strata, rows))
        blocks = _blocks(self.strata)
        moved = (self.probabilities > 0) & (blocks[:, np.newaxis] != blocks)
        if moved.any():
            x, y = (int(i) for i in np.argwhere(moved)[0])
            msg = (
                f"expected probability 0 between different strata, got "
                f"{self.probabilities[x, y]!r} from category {x} to category {y}"
            )
            raise InvalidInputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        result = super().to_dict()
        if self.strata is not None:
            result["strata"] = list(self.strata)
        return result


def stratified_pram(strata: Sequence[Stratum], epsilon: ArrayLike) -> PostRandomization:
    """Randomised response within strata: a block-diagonal table.

    Parameters
    ----------
    strata : sequence, length k
        The stratum of each category.
    epsilon : float, or array of float, shape (number of strata,)
        ε within a stratum, in [0, ∞]; strata in order of first appearance.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    blocks = _blocks(_plain_strata(strata, None))
    count = int(blocks.max()) + 1
    budgets = check_epsilon(epsilon)
    if budgets.shape not in {(), (count,)}:
        msg = f"expected one epsilon or one for each of {count} strata, got shape {budgets.shape}"
        raise InvalidInputError(msg)
    matrix = np.zeros((blocks.size, blocks.size))
    for block, budget in enumerate(np.broadcast_to(budgets, (count,))):
        members = np.flatnonzero(blocks == block)
        matrix[np.ix_(members, members)] = randomized_response(members.size, budget).matrix
    return PostRandomization(matrix, strata)


def invariant_pram(
    distribution: ArrayLike,
    *,
    minimum_diagonal: ArrayLike,
    strata: Sequence[Stratum] | None = None,
    epsilon: float = float("inf"),
) -> PostRandomization:
    """A table R that keeps a given distribution: ``π R = π``, with floors on the diagonal.

    A category is kept with probability f_i, its floor, and otherwise drawn anew from the
    distribution ``c_j ∝ π_j (1 − f_j)`` of its stratum. Then ``π R = π`` and
    ``R_ii = f_i + (1 − f_i) c_i ≥ f_i``, for every choice of floors: floors alone are never
    infeasible, floors together with a limit on ε may be. Floors above 0 keep the table regular,
    so that other distributions than π can be estimated from the reports too.

    Parameters
    ----------
    distribution : array of float, shape (k,)
        π, sums to 1.
    minimum_diagonal : float or array of float, shape (k,)
        Floors in [0, 1], of every category or of each; a category is left as it is at least this
        often.
    strata : sequence, length k, optional
        Categories of different strata are never exchanged.
    epsilon : float
        Largest ε that is accepted.

    Returns
    -------
    PostRandomization

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    InfeasibleError
        If ε of the table is above `epsilon`; says which category is in the way, and whether any
        invariant table could do it.
    """
    pi = check_distribution(distribution, "distribution")
    pi = pi / pi.sum()
    k = pi.size
    floors = _floors(minimum_diagonal, k)
    blocks = np.zeros(k, dtype=np.int64) if strata is None else _blocks(_plain_strata(strata, k))
    # A trace above the floor, so that the integer weights of a release honour it as well.
    kept = np.where(floors > 0, floors + (1 - floors) * 1e-12, 0.0)
    matrix = np.zeros((k, k))
    for block in range(int(blocks.max()) + 1):
        members = np.flatnonzero(blocks == block)
        matrix[np.ix_(members, members)] = _keep_or_renew(pi[members], kept[members])
    result = PostRandomization(matrix, strata)
    limit = check_epsilon(epsilon)
    if limit.ndim:
        msg = f"expected one epsilon, got an array of shape {limit.shape}"
        raise InvalidInputError(msg)
    if result.epsilon > float(limit):
        raise _infeasible(pi, floors, bool(blocks.any()), result, float(limit))
    return result


def _renewed(pi: FloatArray, kept: FloatArray) -> FloatArray:
    """The distribution that is drawn from when a category is not kept."""
    for weight in (pi * (1 - kept), pi):
        if weight.any():
            return np.asarray(weight / weight.sum())
    return np.full(pi.size, 1 / pi.size)  # a stratum that never occurs


def _keep_or_renew(pi: FloatArray, kept: FloatArray) -> FloatArray:
    table = (1 - kept)[:, np.newaxis] * _renewed(pi, kept)
    table[np.arange(pi.size), np.arange(pi.size)] += kept
    return np.asarray(table)


def _infeasible(
    pi: FloatArray, floors: FloatArray, several: bool, result: PostRandomization, limit: float
) -> InfeasibleError:
    """Name the category in the way; a floor above ``π/(π + (1 − π) e^−ε)`` rules out any table."""
    # Invariance: π_j = Σ π_i R_ij ≥ π_j R_jj + (1 − π_j) e^−ε R_jj.
    ceiling = pi / (pi + (1 - pi) * np.exp(-limit))
    over = np.flatnonzero(floors > ceiling)
    logs = result.channel.log_matrix
    used = logs.max(axis=0) > -np.inf
    spread = np.where(used, logs.max(axis=0) - np.where(used, logs.min(axis=0), 0.0), 0.0)
    worst = int(over[np.argmax((floors - ceiling)[over])] if over.size else spread.argmax())
    if over.size:
        why = (
            f"no invariant table keeps category {worst} (of probability {pi[worst]:.6g}) more "
            f"often than {ceiling[worst]:.6g}, and its floor is {floors[worst]:.6g}"
        )
    elif several:
        why = "a report reveals the stratum, which no limit on epsilon allows"
    else:
        why = f"with these floors the reports of category {worst} tell the most; lower its floor"
    msg = (
        f"expected an invariant table with epsilon of at most {limit:.6g}, "
        f"got {result.epsilon:.6g}: {why}"
    )
    return InfeasibleError(msg, str(worst), result.epsilon)


def _floors(value: ArrayLike, k: int) -> FloatArray:
    floors = as_float_array(value, "minimum_diagonal")
    if floors.shape not in {(), (k,)}:
        msg = f"expected one minimum_diagonal or {k} of them, got shape {floors.shape}"
        raise InvalidInputError(msg)
    floors = np.broadcast_to(floors, (k,))
    bad = np.flatnonzero(~((floors >= 0) & (floors <= 1)))
    if bad.size:
        x = int(bad[0])
        msg = f"expected minimum_diagonal in [0, 1], got {float(floors[x])!r} for category {x}"
        raise InvalidInputError(msg)
    return floors


def _plain_strata(strata: Any, k: int | None) -> tuple[Stratum, ...]:
    if isinstance(strata, np.ndarray):
        strata = strata.tolist()
    if isinstance(strata, (str, bytes)) or not isinstance(strata, Sequence):
        msg = f"expected strata as a list with the stratum of each category, got {strata!r}"
        raise InvalidInputError(msg)
    if len(strata) == 0 or (k is not None and len(strata) != k):
        wanted = "at least one category" if k is None else f"{k} categories"
        msg = f"expected strata of {wanted}, got {len(strata)}"
        raise InvalidInputError(msg)
    plain = tuple(s.item() if isinstance(s, np.generic) else s for s in strata)
    for stratum in plain:
        if not isinstance(stratum, (str, int, float)) or _is_nan(stratum):
            msg = f"expected strata to be names or numbers, got {stratum!r}"
            raise InvalidInputError(msg)
    return plain


def _is_nan(value: Stratum) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _blocks(strata: Sequence[Stratum]) -> IntArray:
    """Number the strata in order of first appearance; 1, "1" and True are different."""
    seen: dict[tuple[str, Stratum], int] = {}
    numbers = [seen.setdefault((type(s).__name__, s), len(seen)) for s in strata]
    return np.array(numbers, dtype=np.int64)
