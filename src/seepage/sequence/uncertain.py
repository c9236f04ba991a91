"""Leakage over a set of chains: every transition row lies between limits.

Written from the far end inwards. Let ``h(v)`` be the probability of the rest of an output when the
record at some distance is v. Only ratios of h matter, and their largest logarithms
``Θ[v, w] = sup ln h(v)/h(w)`` over all outputs and chains of the set can be carried one record
inwards: rows of different states are chosen freely within their limits. For two states the result
is the exact supremum over chains of the set that may change with time; for more it is an upper
bound, because all ratios are taken at their worst at once. A fixed chain of the set leaks no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_probability,
    extremes_allowed,
    freeze,
    log_zero_ok,
)
from seepage.errors import CapacityError, InvalidInputError
from seepage.sequence._messages import NEGLIGIBLE, TINY, SideLeakage
from seepage.sequence.chain import MarkovChain, backward_kernel
from seepage.sequence.leakage import (
    SMALLEST,
    Leakage,
    check_position,
    check_redaction,
    join,
)

MAX_STATES = 8
"""Most states for which the worst case is searched."""

FAR = 4096
"""So many records from the first that may be released on, all are treated as released."""

CUT = (
    f"Over the set of chains, records more than {FAR:,} beyond the first that may be released on a "
    "side were treated as released, which never lowers the bound."
)
"""What a plan says where that makes a difference."""

EARLY = 4096
"""Records of a chain with another start whose backward probabilities are looked at one by one."""

LARGE = 300.0
"""Log-ratios are cut here; a result beyond 250 counts as ∞."""


@dataclass(frozen=True, eq=False)
class ChainSet:
    """All chains whose transition rows lie between limits, forwards and backwards.

    Parameters
    ----------
    center : MarkovChain
        A chain of the set, for utility and as a point to start from.
    lower, upper : array-like of float, shape (k, k)
        Limits of ``p(next = j | state = i)``.
    backward_lower, backward_upper : array-like of float, shape (k, k), optional
        Limits of ``p(previous = j | state = i)``, both or neither. May be left out for two states:
        a stationary chain on two states reads the same backwards. Of a chain that is not stationary
        the backward probabilities change with time: the limits hold for all of them.
    confidence : float, optional
        Probability that the set contains the true chain, when it was estimated; in (0, 1).

    Raises
    ------
    InvalidInputError
        If limits are no probabilities, exclude every row or the centre (read either way), or the
        ones backwards are missing for more than two states.
    CapacityError
        If there are more than 8 states.
    """

    center: MarkovChain
    lower: FloatArray
    upper: FloatArray
    backward_lower: FloatArray | None = None
    backward_upper: FloatArray | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.center, MarkovChain):
            msg = f"expected center to be a MarkovChain, got {self.center!r}"
            raise InvalidInputError(msg)
        if self.confidence is not None:
            level = as_float_array(self.confidence, "confidence")
            if level.ndim or not 0 < level < 1:
                msg = f"expected confidence in (0, 1), got {self.confidence!r}"
                raise InvalidInputError(msg)
            object.__setattr__(self, "confidence", float(level))
        k = self.center.k
        if k > MAX_STATES:
            msg = f"expected at most {MAX_STATES} states for a set of chains, got {k}"
            raise CapacityError(msg)
        low, high = _limits(self.lower, self.upper, k)
        P = self.center.transition
        if (low > P + 1e-12).any() or (high < P - 1e-12).any():
            msg = "expected limits that contain the chain of the centre, got others"
            raise InvalidInputError(msg)
        if (self.backward_lower is None) != (self.backward_upper is None):
            msg = "expected both of backward_lower and backward_upper or neither, got one of them"
            raise InvalidInputError(msg)
        if self.backward_lower is None:
            if k > 2 or not self.center.is_stationary:
                msg = (
                    "expected backward_lower and backward_upper: only a stationary chain on two "
                    f"states reads the same backwards, got {k} states"
                )
                raise InvalidInputError(msg)
            back = low, high
        else:
            back = _limits(self.backward_lower, self.backward_upper, k)
            least, most = backward_range(self.center)
            if (back[0] > least + 1e-12).any() or (back[1] < most - 1e-12).any():
                msg = (
                    "expected backward limits that contain the chain of the centre read backwards, "
                    "at every time, got others"
                )
                raise InvalidInputError(msg)
        names = ("lower", "upper", "backward_lower", "backward_upper")
        for name, value in zip(names, (low, high, *back), strict=True):
            object.__setattr__(self, name, freeze(np.array(value)))

    @property
    def k(self) -> int:
        """Number of states."""
        return self.center.k

    @property
    def states(self) -> tuple[Any, ...]:
        """Labels of the states."""
        return self.center.states

    @property
    def assumption(self) -> str:
        """What results over the set rest on, in a sentence."""
        kind = "a stationary" if self.center.is_stationary else "a"
        text = f"The records form {kind} Markov chain whose transition probabilities lie within"
        text += " limits"
        if not self.center.is_stationary:
            text += ", forwards and at every time backwards,"
        if self.confidence is None:
            return f"{text} that were given."
        return (
            f"{text} estimated at a joint confidence of {self.confidence:.0%} (each an exact "
            "binomial interval for the transitions counted from a state)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Limits as plain values."""
        names = ("lower", "upper", "backward_lower", "backward_upper")
        return {name: getattr(self, name).tolist() for name in names} | {
            "confidence": self.confidence
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], center: MarkovChain) -> ChainSet:
        """Read what `to_dict` wrote."""
        known = ("lower", "upper", "backward_lower", "backward_upper", "confidence")
        if not isinstance(content, Mapping) or not {"lower", "upper"} <= set(content) <= set(known):
            msg = f"expected a set of chains with the entries {', '.join(known)}, got {content!r}"
            raise InvalidInputError(msg)
        return cls(center, **content)


def backward_range(center: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest ``p(previous = j | state = i)`` over all times, shape (k, k) each.

    1 and 0 in rows of states that never occur. Of a chain that is not stationary the first 4,096
    records are looked at, and later ones at growing distances: the law settles, or repeats.
    """
    P = center.transition
    if center.is_stationary:
        rows = backward_kernel(P, center.start)[np.newaxis]
        occurs = (center.start > 0)[np.newaxis]
    else:
        late = np.unique(np.geomspace(EARLY, 1e12, 200).astype(np.int64))
        laws = np.concatenate([center.marginals(0, EARLY), center.start @ center.powers(late)])
        rows = backward_kernel(P, laws)
        occurs = laws @ P > SMALLEST  # rounding spoils laws that are about to underflow
    use = occurs[:, :, np.newaxis]
    least = np.where(use, rows, 1.0).min(axis=0)
    return least, np.where(use, rows, 0.0).max(axis=0)


@extremes_allowed
def uncertain_leakage(chains: ChainSet, redact_probability: ArrayLike, position: int) -> Leakage:
    """Upper bound of the leakage about one record for every chain of a set.

    Parameters
    ----------
    chains : ChainSet
    redact_probability : array-like of float, shape (n, k)
    position : int

    Returns
    -------
    Leakage
        Exact over chains of the set that may change with time when there are two states; its
        output is not told. On a side with more than 4,096 records between the first and the last
        that may be redacted by chance, those beyond are treated as released (`is_cut` tells): a
        fallback that never lowers the bound.
    """
    r = check_redaction(chains.center, redact_probability)
    p = check_position(position, r.shape[0])
    everything = np.arange(chains.k)
    if chains.k < 2:
        return Leakage(p, 0.0, None, {})
    if (r[p] < 1).any():
        label = chains.states[int(np.argmax(r[p] < 1))]
        return Leakage(p, np.inf, (label, next(x for x in chains.states if x != label)), {p: label})
    assert chains.backward_lower is not None
    assert chains.backward_upper is not None
    left = _side(r[:p][::-1], chains.backward_lower, chains.backward_upper)
    right = _side(r[p + 1 :], chains.lower, chains.upper)
    found = join(chains.center, p, left, right, everything)
    return replace(found, silent=())  # which output attains it was not kept


def window_ratios(chains: ChainSet, length: int, *, backward: bool) -> FloatArray:
    """Largest log-ratios when the first release is at distances 1 to `length`.

    Returns
    -------
    array of float, shape (length, k, k)
    """
    low, high = (
        (chains.backward_lower, chains.backward_upper) if backward else (chains.lower, chains.upper)
    )
    assert low is not None
    assert high is not None
    theta = _full(chains.k)
    result = np.empty((length, chains.k, chains.k))
    # Where rounding shows no ratio the smallest number stands for it, as for one chain.
    independent = np.ptp(low, axis=0).max() <= 4e-15 and (high - low).max() <= 4e-15
    least = np.where(np.eye(chains.k, dtype=bool) | independent, 0.0, TINY)
    for d in range(length):
        # Everything between is redacted for sure, so a record inwards is one more carry.
        before, theta = theta, _carry(theta, low, high)
        result[d] = np.maximum(theta, least)
        if np.array_equal(before, theta):
            result[d:] = result[d]
            break
    return result


def is_cut(redact_probability: FloatArray, position: int) -> bool:
    """Whether far records of a plan are treated as released in the bound over a set of chains."""
    sides = redact_probability[:position][::-1], redact_probability[position + 1 :]
    return any(_extent(side)[2] for side in sides)


def _extent(redact: FloatArray) -> tuple[int, int, bool, bool]:
    """First record of a side that may be released, where to begin, and what follows there.

    The last two: whether the side is cut, and whether what follows is (or counts as) released.
    """
    open_ = np.flatnonzero((redact < 1).any(axis=1))
    if not open_.size:
        return 0, 0, False, False
    first, end = int(open_[0]), int(open_[-1]) + 1  # beyond the last nothing is told
    shown = np.flatnonzero((redact[first : first + FAR] <= 0).all(axis=1))
    if shown.size:
        return first, first + int(shown[0]), False, True
    return first, min(end, first + FAR), end > first + FAR, end > first + FAR


def _side(redact: FloatArray, low: FloatArray, high: FloatArray) -> SideLeakage:
    k = low.shape[0]
    first, end, _, released = _extent(redact)
    theta = _carry(_full(k), low, high) if released else np.zeros((k, k))
    for d in range(end - 1, first - 1, -1):
        theta = _carry(_redacted(theta, redact[d]), low, high)
    theta = _inwards(theta, first, low, high)
    ratio = np.where(theta > 250, np.inf, np.where(theta <= NEGLIGIBLE, 0.0, theta))
    np.fill_diagonal(ratio, 0.0)
    return SideLeakage(ratio, np.zeros((k, k), dtype=np.int64), np.full((k, k), -1))


def _inwards(theta: FloatArray, count: int, low: FloatArray, high: FloatArray) -> FloatArray:
    """Carry over records that are redacted for sure."""
    for _ in range(count):
        before, theta = theta, _carry(theta, low, high)
        if theta.max() <= NEGLIGIBLE or np.array_equal(theta, before):
            break
    return theta


def _full(k: int) -> FloatArray:
    """Ratios where the record is released whatever it is: each state excludes the others."""
    return np.where(np.eye(k, dtype=bool), 0.0, LARGE)


def _redacted(theta: FloatArray, redact: FloatArray) -> FloatArray:
    """Ratios of a record's state when it may be redacted (what follows has ratios `theta`)."""
    k = redact.size
    logs = np.clip(log_zero_ok(redact), -2 * LARGE, 0.0)
    hidden = theta + logs[:, np.newaxis] - logs[np.newaxis, :]
    released = np.where((redact < 1)[:, np.newaxis], LARGE, -LARGE)
    result = np.clip(np.maximum(hidden, released), -LARGE, LARGE)
    result[np.arange(k), np.arange(k)] = 0.0
    return np.asarray(result)


def _carry(theta: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Ratios one record further in, over all rows within the limits."""
    k = theta.shape[0]
    if k == 2:
        return _carry_two(theta, low, high)
    best = np.full((k, k), np.inf)
    corners = np.array(list(itertools.product((False, True), repeat=k)))
    for m in range(k):  # measured against h(m) = 1; each gives a bound, the least is taken
        top, bottom = theta[:, m], -theta[m, :]
        use = corners[~corners[:, m]]
        h = np.exp(np.where(use, top, np.minimum(bottom, top)))
        h[:, m] = 1.0
        most = np.log(_extreme(h, low, high, largest=True))
        least = np.log(_extreme(h, low, high, largest=False))
        best = np.minimum(best, (most[:, :, np.newaxis] - least[:, np.newaxis, :]).max(axis=0))
    best[np.arange(k), np.arange(k)] = 0.0
    return np.asarray(np.clip(best, -LARGE, LARGE))


def _carry_two(theta: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The same for two states: ``h(0)/h(1)`` is all that matters, and extreme at an end."""
    ends = float(theta[0, 1]), -float(theta[1, 0])
    # p(0 | row) within the limits of both entries of the row
    least = np.maximum(low[:, 0], 1 - high[:, 1]).tolist()
    most = np.minimum(high[:, 0], 1 - low[:, 1]).tolist()
    result = np.zeros((2, 2))
    for v in range(2):
        gaps = [0.0]
        for t in ends:
            top, bottom = (most, least) if t > 0 else (least, most)
            gaps.append(_log_mean(top[v], t) - _log_mean(bottom[1 - v], t))
        result[v, 1 - v] = min(max(gaps), LARGE)
    return result


def _log_mean(p: float, t: float) -> float:
    """``ln(p·e^t + 1 − p)``, 0 ≤ p ≤ 1."""
    if abs(t) < 1:
        return math.log1p(p * math.expm1(t))
    return math.log(max(p * math.exp(t) + (1 - p), 1e-290))


def _extreme(h: FloatArray, low: FloatArray, high: FloatArray, *, largest: bool) -> FloatArray:
    """Largest or smallest ``P_v·h`` over rows within limits, shape (corners, k) by h and v."""
    order = np.argsort(-h if largest else h, axis=1)
    room = (high - low)[:, order]  # (k, corners, k), by preference
    spare = (1 - low.sum(axis=1))[:, np.newaxis, np.newaxis]
    given = np.clip(spare - (np.cumsum(room, axis=2) - room), 0.0, room)
    sorted_h = np.take_along_axis(h, order, axis=1)
    total = (low @ h.T) + (given * sorted_h[np.newaxis]).sum(axis=2)
    return np.asarray(np.maximum(total.T, 1e-290))


def _limits(lower: Any, upper: Any, k: int) -> tuple[FloatArray, FloatArray]:
    low = check_probability(as_float_array(lower, "lower"), "lower")
    high = check_probability(as_float_array(upper, "upper"), "upper")
    if low.shape != (k, k) or high.shape != (k, k):
        msg = f"expected limits of shape ({k}, {k}), got {low.shape} and {high.shape}"
        raise InvalidInputError(msg)
    if (low > high).any() or (low.sum(axis=1) > 1 + 1e-12).any():
        msg = "expected lower <= upper and rows of lower that sum to 1 at most, got others"
        raise InvalidInputError(msg)
    if (high.sum(axis=1) < 1 - 1e-12).any():
        msg = "expected rows of upper that sum to 1 at least, got others"
        raise InvalidInputError(msg)
    return low, high
