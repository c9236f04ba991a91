"""Influence of a hidden record on others: how much a released value would tell about it.

Pointwise-influence and max-influence follow Definition 3 and Proposition 1 of Maßny, Bitar, Ye and
El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect" (2025).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    BoolArray,
    FloatArray,
    check_epsilon,
    check_size,
    extremes_allowed,
    log_zero_ok,
)
from seepage.errors import CapacityError, InvalidInputError
from seepage.sequence._messages import (
    NEGLIGIBLE,
    TINY,
    Side,
    differences,
    log_power,
    messages,
)
from seepage.sequence.chain import MarkovChain, check_length
from seepage.sequence.leakage import check_position, sides

MAX_OUTPUTS = 1_000_000
"""Most joint values of a set of records for which influence is listed."""

ROUNDING = 4e-15
"""Probabilities that differ by less, relatively, are equal up to rounding."""


@extremes_allowed
def binary_influence(alpha: float, beta: float, distance: ArrayLike) -> FloatArray:
    """Pointwise-influence in a stationary chain on {0, 1}, in closed form.

    ``|ln (1 + c·λ^Δ) − ln (1 − λ^Δ)|`` with λ = 1 − α − β, and c = α/β for a released 0, β/α for a
    released 1 (Proposition 1, equations (4) and (5); the first belongs to X_t = 0).

    Parameters
    ----------
    alpha, beta : float
        p(0 → 1) and p(1 → 0), in [0, 1], not both 0.
    distance : array-like of int
        Δ = |t − p|, 0 or more.

    Returns
    -------
    array of float, shape (2, ...)
        Influence on a record with value 0 and with value 1, in nats, in [0, ∞]; 0 for a value that
        cannot occur.
    """
    chain = MarkovChain.binary(alpha, beta)  # checks the parameters
    a, b = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    d = np.asarray(distance)
    if d.dtype.kind not in "iu" or (d < 0).any():
        msg = f"expected distance to be whole numbers of 0 or more, got {distance!r}"
        raise InvalidInputError(msg)
    if a == 0 or b == 0:  # one of the states does not occur
        return np.zeros((2, *d.shape))
    power = np.float64(1 - a - b) ** d
    with np.errstate(divide="ignore"):
        # Of a sticky chain λ^Δ is close to 1, and 1 − λ^Δ loses its digits.
        near = -np.expm1(d * np.log1p(-min(a + b, 1.0))) if a + b < 1 else 1 - power
        below = np.log(near)
        result = [np.abs(np.log1p(np.maximum(c * power, -1.0)) - below) for c in (a / b, b / a)]
    return np.array(result)


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of a hidden record on the records of one side.

    Attributes
    ----------
    pointwise : array of float, shape (length, k)
        ``max over x, x' of ln p(X_t = v | X_p = x) − ln p(X_t = v | X_p = x')`` for distances 1 to
        length; 0 for a value that cannot occur.
    signed : array of float, shape (length, k, k, k)
        The same for each x, x' and v, −∞ where x excludes v.
    """

    pointwise: FloatArray
    signed: FloatArray

    @property
    def maximum(self) -> FloatArray:
        """Max-influence by distance, shape (length,)."""
        return np.asarray(self.pointwise.max(axis=1, initial=0.0))

    @property
    def ratio(self) -> FloatArray:
        """Largest log-ratio of a released record by distance and x, x', shape (length, k, k)."""
        return np.asarray(self.signed.max(axis=3))


@extremes_allowed
def side_influence(side: Side, length: int, present: BoolArray) -> Influence:
    """Influence on the first `length` records of a side; `present` says which x can occur."""
    k = present.size
    start = np.where(np.eye(k, dtype=bool), 0.0, -np.inf)
    F = messages(start, side.log_kernels(0, length), np.zeros((length, k)))
    occurs = np.broadcast_to(side.occurs(0, length), (length, k))
    use = present[:, np.newaxis] & present[np.newaxis, :] & ~np.eye(k, dtype=bool)
    signed = differences(F)
    signed = np.where(occurs[:, np.newaxis, np.newaxis, :], signed, -np.inf)
    signed = np.where(use[np.newaxis, :, :, np.newaxis], signed, -np.inf)
    signed = np.where(np.abs(signed) <= NEGLIGIBLE, 0.0, signed)
    # Influence fades with the distance but never ends, unless records are independent: where
    # rounding shows none, the smallest number stands for it, so that no ε of 0 is met by it.
    least = np.where(_dependent(side, length)[..., np.newaxis] & (signed == 0), TINY, signed)
    return Influence(np.maximum(least.max(axis=(1, 2)), 0.0), least)


def never_clear(chain: MarkovChain, n: int, position: int) -> bool:
    """Whether the hidden record depends on every other record of a stationary chain."""
    if not chain.is_stationary:
        return False
    present = chain.start > 0
    pairs = np.ix_(present, present)
    return all(
        side.length == 0 or bool(_dependent(side, chain.k)[-1][pairs].any())
        for side in sides(chain, position, n)
    )


def _dependent(side: Side, length: int) -> BoolArray:
    """Which hidden values have different laws of the record at each distance, (length, k, k).

    Exact but for rare tables: laws that agree by cancellation alone are taken as different.
    """
    k = side.kernel.shape[-1]
    result = np.zeros((length, k, k), dtype=bool)
    if not length:
        return result
    if side.kernel.ndim == 2:
        K = side.kernel
        # Rows that give equal mass to every class of values which agree at the distance before.
        classes = np.eye(k)
        for d in range(length):
            agree = _equal_rows(K @ classes.T)
            result[d] = ~agree
            if d and (result[d] == result[d - 1]).all():
                result[d:] = result[d]
                break
            classes = np.unique(agree, axis=0).astype(np.float64)
        return result
    occurs = np.broadcast_to(side.occurs(0, length), (length, k))
    kernels = side.kernel[:length]
    result[:] = ~_equal_rows(kernels[0])
    if length > 1:
        # What is equal stays equal; all laws are when every value before leads to the same one.
        rows = np.where(occurs[:-1, :, np.newaxis], kernels[1:], np.nan)
        low, high = np.fmin.reduce(rows, axis=1), np.fmax.reduce(rows, axis=1)
        same = ~(high - low > ROUNDING * high).any(axis=1)
        result[1:] &= ~np.logical_or.accumulate(same)[:, np.newaxis, np.newaxis]
    return result


def _equal_rows(table: FloatArray) -> BoolArray:
    one, other = table[:, np.newaxis], table[np.newaxis]
    return np.asarray((np.abs(one - other) <= ROUNDING * np.maximum(one, other)).all(axis=2))


def influence(chain: MarkovChain, n: int, position: int) -> FloatArray:
    """Pointwise-influence of a hidden record on every value of every record.

    Parameters
    ----------
    chain : MarkovChain
    n : int
        Length of the sequence.
    position : int
        The hidden record, from 0.

    Returns
    -------
    array of float, shape (n, k)
        In nats, in [0, ∞]; ∞ for the hidden record itself. The largest of a row is the
        max-influence.
    """
    size = check_length(check_size(n, "n"), chain.k)
    p = check_position(position, size)
    present = chain.supports(p, p + 1)[0]
    left, right = sides(chain, p, size)
    own = np.where(present & (present.sum() > 1), np.inf, 0.0)[np.newaxis]
    before = side_influence(left, p, present).pointwise[::-1]
    after = side_influence(right, size - p - 1, present).pointwise
    return np.concatenate([before, own, after])


@dataclass(frozen=True)
class Regions:
    """The three regions of the published mechanism: positions from 0, without the hidden one.

    Attributes
    ----------
    large, medium, small : tuple of int
        Every value's influence exceeds ε; some values' does; none does.
    """

    large: tuple[int, ...]
    medium: tuple[int, ...]
    small: tuple[int, ...]


def regions(chain: MarkovChain, n: int, position: int, epsilon: float) -> Regions:
    """Sort the records by pointwise-influence.

    For more than two states: medium where some values that occur exceed ε and some do not.

    Parameters
    ----------
    chain : MarkovChain
    n : int
    position : int
        From 0.
    epsilon : float
        Threshold in nats, in [0, ∞].
    """
    limit = _one(epsilon)
    found = influence(chain, n, position)
    above = found > limit
    occurs = chain.supports(0, found.shape[0])
    every, some = (above | ~occurs).all(axis=1), (above & occurs).any(axis=1)
    rest = np.arange(found.shape[0]) != position
    sets = (every & rest, some & ~every & rest, ~some & rest)
    return Regions(*(tuple(np.flatnonzero(mask).tolist()) for mask in sets))


def clear_distance(chain: MarkovChain, epsilon: float, *, most: int = 1_000_000) -> int | None:
    """Δ*(ε): the smallest distance at which the max-influence is at most ε, to the right.

    For a lazy binary chain ``max(1, ⌈ln((e^ε − 1)/(e^ε + β/α)) / ln|1 − α − β|⌉)`` with α ≤ β (the
    formula printed in the paper's appendix has e^ε at the wrong term).

    Parameters
    ----------
    chain : MarkovChain
        Stationary.
    epsilon : float
        In [0, ∞].
    most : int
        How far to search.

    Returns
    -------
    int or None
        None when no distance up to `most` will do.
    """
    limit = _one(epsilon)
    if not chain.is_stationary:
        msg = "expected a stationary chain, got one with another start"
        raise InvalidInputError(msg)
    if limit == 0 and never_clear(chain, 2, 0):
        return None
    present = chain.start > 0
    _, right = sides(chain, 0, check_length(check_size(most, "most"), chain.k) + 1)
    length = 64
    while True:
        length = min(length, most)
        below = side_influence(right, length, present).maximum <= limit
        if below.any():
            return int(np.argmax(below)) + 1
        if length == most:
            return None
        length *= 4


@extremes_allowed
def binary_clear_distance(alpha: float, beta: float, epsilon: float) -> int | None:
    """Δ*(ε) of a stationary chain on {0, 1} by the closed form, corrected.

    With α ≤ β after relabelling, c = β/α and λ = 1 − α − β, the condition on |λ|^Δ is
    ``(e^ε − 1)/(e^ε + c)`` where λ^Δ > 0 and ``(e^ε − 1)/(c·e^ε + 1)`` where it is negative.

    Parameters
    ----------
    alpha, beta : float
        In (0, 1].
    epsilon : float
        In [0, ∞].

    Returns
    -------
    int or None
        1 or more; None when no distance will do.
    """
    e = _one(epsilon)
    P = MarkovChain.binary(alpha, beta).transition
    a, b = sorted((float(P[0, 1]), float(P[1, 0])))
    size = abs(1 - a - b)
    if a == 0 or size == 0 or np.isinf(e):
        return 1
    if size == 1 or e == 0:
        return None
    c = b / a
    even = np.log(-np.expm1(-e) / (1 + c * np.exp(-e))) / np.log(size)
    odd = np.log(-np.expm1(-e) / (c + np.exp(-e))) / np.log(size)
    # Rounding must not push a distance that is exactly at the limit one further.
    near, far = (int(np.ceil(x - 1e-12 * max(x, 1.0))) for x in (even, odd))
    if a + b < 1:
        return max(near, 1)
    # Signs alternate with the distance: odd and even ones have a condition each.
    return min(max(near + near % 2, 2), max(far + 1 - far % 2, 1))


@extremes_allowed
def set_influence(
    chain: MarkovChain, positions: Any, position: int
) -> Mapping[tuple[Any, ...], float]:
    """Influence of a hidden record on the joint values of a set of records.

    Parameters
    ----------
    chain : MarkovChain
    positions : sequence of int
        The set, from 0; all different from `position`.
    position : int
        The hidden record.

    Returns
    -------
    mapping of tuple to float
        By the labels of the records in increasing order of position; values that cannot occur are
        left out. The largest is the max-influence of the set, which only the nearest record on
        either side decides.

    Raises
    ------
    CapacityError
        If there are more than a million joint values.
    """
    spots = sorted({check_position(t, 2**62) for t in positions} - {position})
    p = check_position(position, 2**62)
    if chain.k ** len(spots) > MAX_OUTPUTS:
        msg = f"expected at most {MAX_OUTPUTS:,} joint values, got {chain.k}^{len(spots)}"
        raise CapacityError(msg)
    everything = sorted([*spots, p])
    table = _log_law(chain, everything[0])  # joint law, hidden value kept as last axis
    for before, after in itertools.pairwise(everything):
        step = log_power(log_zero_ok(chain.transition), after - before)
        table = table[..., np.newaxis] + step
    hidden = np.moveaxis(table, everything.index(p), -1)
    prior = _log_law(chain, p)
    use = prior > -np.inf
    logs = hidden[..., use] - prior[use]
    top, bottom = logs.max(axis=-1), logs.min(axis=-1)
    result = {}
    for index in np.ndindex(top.shape):
        if top[index] > -np.inf:
            result[tuple(chain.states[i] for i in index)] = float(top[index] - bottom[index])
    return result


def _log_law(chain: MarkovChain, position: int) -> FloatArray:
    """Logarithm of the law of one record, shape (k,), without underflow."""
    law = log_zero_ok(chain.start)
    if chain.is_stationary:
        return law
    step = log_power(log_zero_ok(chain.transition), position)
    terms = law[:, np.newaxis] + step
    top = terms.max(axis=0)
    base = np.where(top > -np.inf, top, 0.0)
    return np.asarray(base + log_zero_ok(np.exp(terms - base).sum(axis=0)))


def _one(epsilon: float) -> float:
    checked = check_epsilon(epsilon)
    if checked.ndim:
        msg = f"expected one epsilon, got an array of shape {checked.shape}"
        raise InvalidInputError(msg)
    return float(checked)
