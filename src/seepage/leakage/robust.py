"""Leakage that holds for every distribution in an uncertainty set of interval rows.

For an event S the largest power is ``min(u(S), 1 − l(Sᶜ))`` and the smallest false-alarm rate
``max(l'(S), 1 − u'(Sᶜ))``. Choosing S is a 0/1 program; with S relaxed to [0, 1]^b it becomes a
linear program with four coupling rows. Its dual is a convex function of two numbers,

    D(λ, ν) = Σ_i max(0, v_i − r·l'_i − ν·(u'_i − l'_i)) + (1 − λ)(1 − Σl) + ν·(Σu' − 1),
    v = λu + (1 − λ)l,   λ in [0, 1],   ν in [0, r],

so that every (λ, ν) gives an upper bound on h(r) = max power − r·α, and minimising it gives the
value of the program. For a fixed λ the best ν is a weighted quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, check_epsilon, like_input, log_ratio
from seepage.errors import CapacityError, InvalidInputError
from seepage.leakage.uncertainty import interval_rows

MAX_ENUMERATION = 20
"""Outcomes up to which ``method="exact"`` enumerates all events."""

_HUGE = 1e300
_TINY = 1e-200


@dataclass(frozen=True)
class _Rows:
    """Interval rows with what the dual needs of them."""

    lower: FloatArray
    upper: FloatArray
    width: FloatArray
    spare: FloatArray  # 1 − Σl ≥ 0: mass that must be placed above the lower limits
    excess: FloatArray  # Σu − 1 ≥ 0: mass that must be taken off the upper limits

    @classmethod
    def of(cls, lower: FloatArray, upper: FloatArray) -> _Rows:
        width = upper - lower
        # Sums carry rounding. A set that is wider by that much keeps the result on the safe side,
        # and keeps a tiny width from looking as if it had no mass to place.
        slack = rounding_of_sums(lower.shape[1])
        spare = np.maximum(1 - lower.sum(axis=1), 0.0) + slack
        excess = np.maximum(upper.sum(axis=1) - 1, 0.0) + slack
        return cls(lower, upper, width, spare, excess)


def rounding_of_sums(b: int) -> float:
    """Bound on the rounding error of a sum of `b` probabilities."""
    return 4 * float(np.finfo(np.float64).eps) * b


def robust_leakage(
    conditional: ArrayLike,
    uncertainty: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
    epsilon: ArrayLike,
    *,
    method: str = "dual",
) -> float | FloatArray:
    """Upper limit of the leakage over every distribution in the uncertainty set.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Known conditional distribution, row-stochastic.
    uncertainty : array-like, (lower, upper), or None
        Entry-wise Δ (broadcast to the shape of `conditional`), or lower and upper limits.
    epsilon : float or array-like of float
        In [0, ∞].
    method : {"dual", "exact"}
        "dual": the relaxed program, an upper limit close to the exact one, for any size.
        "exact": enumerates all 2^b events (b ≤ 20).

    Returns
    -------
    float or array of float
        In nats, in [0, ε]; never below the leakage of any table in the set.

    Raises
    ------
    InvalidInputError
        If the set is empty or malformed, or `method` is unknown.
    CapacityError
        If `method` is "exact" and the table has more than 20 columns.

    Notes
    -----
    The optimisation problem is that of section III-A of the Dependency Triad paper; the paper
    bounds it by the triad, which is never below this value.
    """
    e = check_epsilon(epsilon)
    lower, upper = interval_rows(conditional, uncertainty)
    if method == "exact":
        values = _enumerate(lower, upper, e)
    elif method == "dual":
        values = np.array([_largest(lower, upper, float(x)) for x in e.ravel()]).reshape(e.shape)
    else:
        msg = f"expected method 'dual' or 'exact', got {method!r}"
        raise InvalidInputError(msg)
    return like_input(values, epsilon)


def robust_total_variation(lower: FloatArray, upper: FloatArray) -> float:
    """Largest total variation distance between two rows over the set (relaxed program).

    Parameters
    ----------
    lower, upper : arrays of float, shape (a, b)
        Tightened limits of the rows.

    Returns
    -------
    float
        φ of the Dependency Triad under uncertainty, in [0, 1].
    """
    if len(lower) < 2:
        return 0.0
    return min(1.0, _Pairs(_Rows.of(lower, upper)).maximum(1.0, 0.0)[0])


def robust_disclosure(lower: FloatArray, upper: FloatArray, epsilon: float) -> float:
    """Largest s = gap/(1 + t·α) over the set, t = e^ε − 1; the leakage is ln(1 + t·s).

    Parameters
    ----------
    lower, upper : arrays of float, shape (a, b)
        Tightened limits of the rows.
    epsilon : float
        In (0, 700].
    """
    return float(np.expm1(_largest(lower, upper, epsilon)) / np.expm1(epsilon))


def largest_ratio(lower: FloatArray, upper: FloatArray) -> float:
    """Largest u[x, i]/l[x', i] over x ≠ x' and cells with l[x', i] > 0; 0 when there is none."""
    if len(lower) < 2:
        return 0.0
    top = np.argsort(-upper, axis=0)[:2]
    positive = np.where(lower > 0, lower, np.inf)
    bottom = np.argsort(positive, axis=0)[:2]
    best = 0.0
    for i in range(2):
        for j in range(2):
            high = np.take_along_axis(upper, top[i : i + 1], axis=0)[0]
            low = np.take_along_axis(positive, bottom[j : j + 1], axis=0)[0]
            with np.errstate(over="ignore"):
                ratio = np.where(top[i] != bottom[j], high / low, 0.0)
            best = max(best, float(ratio.max(initial=0.0)))
    return best


def _largest(lower: FloatArray, upper: FloatArray, epsilon: float) -> float:
    """Solve h(1 + z) = z/t for z = r − 1, where h is the largest dual value over pairs of rows.

    The left side is convex and falls, the right side rises. Newton's steps approach the root from
    below; the returned end of the bracket lies on the safe side of it.
    """
    if len(lower) < 2 or epsilon == 0:
        return 0.0
    if epsilon < _TINY:
        return epsilon * robust_total_variation(lower, upper)  # ln(1 + t·s) to the last digit
    pairs = _Pairs(_Rows.of(lower, upper))
    rate = float(np.exp(-epsilon) / -np.expm1(-epsilon))  # 1/t
    unshared = 0.0 if (lower > 0).all() else _Pairs(pairs.rows).maximum(_HUGE, 0.0)[0]
    ceiling = epsilon
    if unshared == 0:
        # Every event keeps α > 0, so no ratio exceeds that of the limits (the triad's α).
        ceiling = min(epsilon, float(np.log(max(1.0, largest_ratio(lower, upper)))))
    elif epsilon >= 600:
        at_zero = log_ratio(np.array(0.0), np.array(unshared), np.array(epsilon))
        return min(epsilon, float(at_zero))
    low = 0.0 if unshared == 0 else unshared / rate

    def step_from(low: float, h: float, alpha: float) -> float:
        excess = h - low * rate
        return 0.0 if excess <= 4e-16 * h else excess / (alpha + rate)

    # A few promising pairs lead close to the root; then all pairs are asked.
    xs, ys = pairs.candidates(1 + low, 16)
    for stage in ("some", "all"):
        for _ in range(100):
            if stage == "some":
                values, rates = _minimise(pairs.rows, xs, ys, 1 + low)
                h, alpha = float(values.max()), float(rates[values.argmax()])
            else:
                h, alpha = pairs.maximum(1 + low, low * rate)
            step = step_from(low, h, alpha)
            low += step
            if step <= 4e-16 * (1 + low):
                break
    return min(ceiling, float(np.log1p(min(low, _HUGE))))


class _Pairs:
    """Largest h(r) over ordered pairs of rows, solving only the pairs that may attain it."""

    def __init__(self, rows: _Rows) -> None:
        self.rows = rows
        self.live = np.flatnonzero(~np.eye(len(rows.lower), dtype=bool).ravel())

    def maximum(self, r: float, floor: float) -> tuple[float, float]:
        """Largest h(r) over the pairs, at least `floor`, and α of a solution.

        Pairs that do not exceed `floor` are dropped for good: the caller's next r is larger, and so
        is its floor, while h falls.
        """
        rows = self.rows
        xs, ys = np.divmod(self.live, len(rows.lower))
        bound = np.full(self.live.size, np.inf)
        for lam in (0.0, 0.5, 1.0):
            for nu in {0.0, 0.5 * min(r, 1.0), min(r, 1.0), r / 2}:
                bound = np.minimum(bound, _dual_of(rows, xs, ys, r, lam=lam, nu=nu))
        keep = bound > floor
        self.live, bound, xs, ys = self.live[keep], bound[keep], xs[keep], ys[keep]
        best, alpha = floor, 0.0
        step = 4
        while (open_ := np.flatnonzero(bound > best)).size:
            chosen = open_[np.argsort(-bound[open_], kind="stable")[:step]]
            h, rate = _minimise(rows, xs[chosen], ys[chosen], r)
            bound[chosen] = -np.inf
            top = int(h.argmax())
            if h[top] > best:
                best, alpha = float(h[top]), float(rate[top])
            step = min(4 * step, 256)
        return best, alpha

    def candidates(self, r: float, count: int) -> tuple[IntArray, IntArray]:
        """The pairs with the largest crude bounds."""
        xs, ys = np.divmod(self.live, len(self.rows.lower))
        bound = _dual_of(self.rows, xs, ys, r, lam=0.5, nu=r / 2)
        top = np.argpartition(-bound, min(count, bound.size) - 1)[:count]
        return xs[top], ys[top]


def _dual_of(
    rows: _Rows, xs: IntArray, ys: IntArray, r: float, *, lam: float, nu: float
) -> FloatArray:
    """D of the pairs (xs, ys) at one (λ, ν), raised by its rounding error."""
    v = rows.lower + lam * rows.width
    w = np.minimum(r * rows.lower + nu * rows.width, 2.0)  # v ≤ 1: what exceeds 1 counts nothing
    constant = (1 - lam) * rows.spare[xs] + nu * rows.excess[ys]
    if xs.size * 4 < len(v) ** 2 or r > 1e15:
        # Few pairs, or a slope at which the identity below would cancel.
        return np.asarray(np.maximum(v[xs] - w[ys], 0.0).sum(axis=1) + constant)
    from scipy.spatial.distance import cdist

    distance = cdist(v, w, "cityblock")[xs, ys]
    total_v, total_w = v.sum(axis=1)[xs], w.sum(axis=1)[ys]
    rounding = 4e-16 * (total_v + total_w) * (4 + v.shape[1] ** 0.5)
    return np.asarray((distance + total_v - total_w) / 2 + rounding + constant)


def _minimise(rows: _Rows, xs: IntArray, ys: IntArray, r: float) -> tuple[FloatArray, FloatArray]:
    """Minimum over (λ, ν) of D for some pairs, and the false-alarm rate α of a primal solution.

    The minimum over ν, g(λ), is convex and piecewise linear. Two tangents of opposite slope bound
    it from below where they meet; that point is evaluated next, so the search ends at a kink of g.
    """
    low_x, width_x, spare = rows.lower[xs], rows.width[xs], rows.spare[xs]
    low_y, width_y, excess = rows.lower[ys], rows.width[ys], rows.excess[ys]
    base = r * low_y

    def tangent(lam: FloatArray) -> tuple[FloatArray, ...]:
        height = low_x + lam[:, np.newaxis] * width_x - base
        nu, event = _best_event(height, width_y, excess, r)
        h = np.maximum(height - nu[:, np.newaxis] * width_y, 0.0).sum(axis=1)
        slope = (width_x * event).sum(axis=1) - spare
        alpha = (low_y * event).sum(axis=1)
        capped = alpha + (width_y * event).sum(axis=1) - excess  # 1 − u'(Sᶜ)
        return h + (1 - lam) * spare + nu * excess, slope, np.maximum(alpha, capped)

    left, right = np.zeros(xs.size), np.ones(xs.size)
    g_left, d_left, a_left = tangent(left)
    g_right, d_right, a_right = tangent(right)
    # A slope of the wrong sign at an end means that the minimum is there.
    at_left, at_right = d_left >= 0, d_right <= 0
    best = np.minimum(g_left, g_right)
    open_ = ~(at_left | at_right)
    for _ in range(200):
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (g_right - g_left + d_left * left - d_right * right) / (d_left - d_right)
        meet = np.clip(np.nan_to_num(meet), left, right)
        bound = g_left + d_left * (meet - left)
        open_ &= best - bound > 1e-16 * (1 + best)
        if not open_.any():
            break
        g, d, a = tangent(meet)
        best = np.where(open_, np.minimum(best, g), best)
        open_ &= g - bound > 1e-16 * (1 + g)
        side = open_ & (d < 0)
        state = zip((meet, g, d, a), (left, g_left, d_left, a_left), strict=True)
        left, g_left, d_left, a_left = (np.where(side, new, old) for new, old in state)
        side = open_ & (d >= 0)
        state = zip((meet, g, d, a), (right, g_right, d_right, a_right), strict=True)
        right, g_right, d_right, a_right = (np.where(side, new, old) for new, old in state)
    # The optimal event mixes those of the two tangents so that their slopes cancel.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(np.clip(d_right / (d_right - d_left), 0.0, 1.0))
    alpha = share * a_left + (1 - share) * a_right
    alpha = np.where(at_left, a_left, np.where(at_right, a_right, alpha))
    return best, np.maximum(alpha, 0.0)


def _best_event(
    height: FloatArray, width: FloatArray, excess: FloatArray, r: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise Σ max(0, height − ν·width) + ν·excess over ν in [0, r].

    Returns
    -------
    nu : array, shape (m,)
    event : array, shape (m, b)
        Membership in [0, 1] of the event that attains it; at most one cell of it is fractional.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        threshold = np.where(width > 0, height / width, -np.inf)
    order = np.argsort(-threshold, axis=1)
    ordered = np.take_along_axis(threshold, order, axis=1)
    widths = np.take_along_axis(width, order, axis=1)
    filled = np.cumsum(widths, axis=1)
    passed = filled > excess[:, np.newaxis]
    any_passed = passed.any(axis=1)
    first = np.where(any_passed, passed.argmax(axis=1), 0)[:, np.newaxis]
    at = np.take_along_axis(ordered, first, axis=1)[:, 0]
    nu = np.clip(np.where(any_passed, at, 0.0), 0.0, r)
    # Cells before the tied one are in, the tied one in part; rounding must not decide that.
    position = np.argsort(order, axis=1)
    room = excess[:, np.newaxis] - np.take_along_axis(filled - widths, first, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(room / np.take_along_axis(widths, first, axis=1))
    tied = np.where(position < first, 1.0, np.where(position == first, part, 0.0))
    plain = (height > nu[:, np.newaxis] * width).astype(np.float64)
    by_order = (any_passed & (at == nu))[:, np.newaxis] & (width > 0)
    event = np.where(by_order, tied, plain)
    return nu, event


def _enumerate(lower: FloatArray, upper: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Largest leakage over all 0/1 events and all ordered pairs of rows."""
    a, b = lower.shape
    if b > MAX_ENUMERATION:
        msg = f"expected at most {MAX_ENUMERATION} columns for method 'exact', got {b}"
        raise CapacityError(msg)
    best = np.zeros(epsilon.shape)
    bits = 1 << np.arange(b)
    slack = rounding_of_sums(b)
    for start in range(0, 1 << b, 4096):
        events = ((np.arange(start, min(start + 4096, 1 << b))[:, np.newaxis] & bits) > 0) * 1.0
        outside = 1.0 - events
        # What remains of 1 after a sum is rounded to the safe side: less α, more power.
        power = np.minimum(upper @ events.T, 1 - lower @ outside.T + slack)
        alpha = np.maximum(lower @ events.T, 1 - upper @ outside.T - slack)
        alpha = np.maximum(alpha, 0.0)
        for x in range(a):
            for y in range(a):
                if x == y:
                    continue
                gap = np.maximum(np.minimum(power[x], 1.0) - alpha[y], 0.0)
                values = log_ratio(alpha[y], gap, epsilon[..., np.newaxis]).max(axis=-1)
                best = np.maximum(best, values)
    return best
