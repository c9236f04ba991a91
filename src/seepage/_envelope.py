"""Upper concave hulls of Neyman–Pearson curves, for one pair of rows and for all of them.

A curve is held in the sheared coordinates (α, gap) with gap = power − α, which keeps full relative
precision when two rows are close. Its support function over events S,

    h(s) = max_S [G(S) − (1 + s)·G'(S)] = max over vertices of (gap − s·α),

is convex in s and costs one pass over the outcomes, without sorting. Small tables are solved by
sorting every pair. Large tables start from curves found by alternating maximisation and are then
certified: a direction s is evaluated for all pairs that may still matter, and between two evaluated
directions the chord bounds a pair's h from above, so most pairs drop out after a few directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray, log_ratio

SORT_LIMIT = 300_000
"""Up to this many numbers (ordered pairs × outcomes), sorting every pair is the fastest way."""

_BLOCK = 1 << 18  # numbers per block of gathered rows; three such arrays stay in the cache


@dataclass(frozen=True)
class Hull:
    """Vertices of an upper concave hull, with the rows and the event that attain each one.

    Attributes
    ----------
    alpha, gap : arrays of float, shape (m,)
        α ascending from 0 to 1; gap = power − α ≥ 0; the last vertex is (1, 0).
    pairs : array of int, shape (m, 2)
        Rows (x, x'): the alternative G = P[x] and the null G' = P[x']; (−1, −1) for vertices that
        every pair has.
    events : array of bool, shape (m, b)
        The outcomes of the event at each vertex.
    slack : float
        No curve rises above the hull by more than this leakage, in nats, at any ε.
    """

    alpha: FloatArray
    gap: FloatArray
    pairs: IntArray
    events: BoolArray
    slack: float = 0.0


def sorted_curves(G: FloatArray, H: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Neyman–Pearson curves of many pairs of distributions, by sorting.

    Parameters
    ----------
    G, H : arrays of float, shape (m, b)
        Alternatives and nulls.

    Returns
    -------
    alpha, gap : arrays of float, shape (m, b + 1)
        Cumulative sums in order of descending likelihood ratio, starting at 0.
    order : array of int, shape (m, b)
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = G / H
    ratio = np.where(H > 0, ratio, np.where(G > 0, np.inf, -1.0))
    order = np.argsort(-ratio, axis=1, kind="stable")
    sorted_h = np.take_along_axis(H, order, axis=1)
    alpha = np.zeros((len(G), G.shape[1] + 1))
    gap = np.zeros_like(alpha)
    np.cumsum(sorted_h, axis=1, out=alpha[:, 1:])
    np.cumsum(np.take_along_axis(G, order, axis=1) - sorted_h, axis=1, out=gap[:, 1:])
    return alpha, gap, order


def upper_hull(alpha: FloatArray, gap: FloatArray) -> IntArray:
    """Indices of the vertices of the upper concave hull of points (α, gap), by ascending α."""
    order = np.lexsort((-gap, alpha))
    power = alpha[order] + gap[order]
    best = np.maximum.accumulate(power)
    rises = np.empty(order.size, dtype=bool)
    rises[0] = True
    rises[1:] = best[1:] > best[:-1]
    rises[-1] = True
    order = order[rises]
    kept: list[int] = []
    xs, ys = alpha[order].tolist(), gap[order].tolist()
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if kept and x == xs[kept[-1]]:
            continue
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (xs[b] - xs[a]) * (y - ys[a]) < (x - xs[a]) * (ys[b] - ys[a]):
                break
            kept.pop()
        kept.append(i)
    return order[kept]


def hull_of_pairs(P: FloatArray, xs: IntArray, ys: IntArray) -> Hull:
    """Hull of the union of the curves of the given ordered pairs of rows, by sorting."""
    b = P.shape[1]
    alpha, gap, order = sorted_curves(P[xs], P[ys])
    alpha, gap = np.minimum(alpha, 1.0), np.maximum(gap, 0.0)
    gap = np.minimum(gap, 1.0 - alpha)
    points_alpha = np.concatenate(([0.0], alpha[:, 1:].ravel(), [1.0]))
    points_gap = np.concatenate(([0.0], gap[:, 1:].ravel(), [0.0]))
    points_gap[points_alpha >= 1.0] = 0.0
    kept = upper_hull(points_alpha, points_gap)
    pairs = np.full((kept.size, 2), -1, dtype=np.int64)
    events = np.zeros((kept.size, b), dtype=bool)
    for row, index in enumerate(kept.tolist()):
        if index == 0 or points_alpha[index] >= 1.0:
            events[row] = index != 0
            continue
        pair, size = divmod(index - 1, b)
        pairs[row] = xs[pair], ys[pair]
        chosen = order[pair, : size + 1]
        events[row, chosen[P[xs[pair], chosen] > 0]] = True
    return Hull(points_alpha[kept], points_gap[kept], pairs, events)


def envelope(P: FloatArray, tolerance: float = 0.0) -> Hull:
    """Hull of the curves of all ordered pairs of rows.

    Parameters
    ----------
    P : array of float, shape (a, b)
        Row-stochastic.
    tolerance : float
        Leave out curves that rise above the hull by less than this leakage, in nats.

    Returns
    -------
    Hull
        Exact when `tolerance` is 0 (to rounding: a few units in the last place of the leakage).
    """
    distinct, first = np.unique(P, axis=0, return_index=True)
    if len(distinct) == 1:
        none = np.zeros(0, dtype=np.int64)
        return hull_of_pairs(P, none, none)
    a, b = distinct.shape
    if a * (a - 1) * b <= SORT_LIMIT:
        xs, ys = np.nonzero(~np.eye(a, dtype=bool))
    else:
        search = _Search(distinct, tolerance)
        xs, ys = search.run()
    hull = hull_of_pairs(distinct, xs, ys)
    original = np.where(hull.pairs < 0, -1, first[hull.pairs])
    slack = tolerance if a * (a - 1) * b > SORT_LIMIT else 0.0
    return Hull(hull.alpha, hull.gap, original, hull.events, slack)


def support(P: FloatArray, xs: IntArray, ys: IntArray, s: float) -> FloatArray:
    """h(s) of the given ordered pairs: Σ_i max(0, P[x, i] − (1 + s)·P[y, i])."""
    result = np.empty(xs.size)
    scaled = (1.0 + s) * P
    step = max(1, _BLOCK // P.shape[1])
    for start in range(0, xs.size, step):
        block = slice(start, start + step)
        difference = P[xs[block]]
        difference -= scaled[ys[block]]
        np.maximum(difference, 0.0, out=difference)
        difference.sum(axis=1, out=result[block])
    return result


def support_all(P: FloatArray, s: float) -> tuple[FloatArray, float]:
    """h(s) of all ordered pairs, shape (a, a), and a bound on its absolute rounding error.

    For rows that sum to 1, Σ max(0, G − r·G') = (Σ|G − r·G'| + 1 − r)/2: a city-block distance.
    """
    from scipy.spatial.distance import cdist

    r = 1.0 + s
    sums = P.sum(axis=1)
    distance = cdist(P, r * P, "cityblock")
    h = (distance + sums[:, np.newaxis] - r * sums[np.newaxis, :]) / 2
    np.fill_diagonal(h, 0.0)
    return h, 4e-16 * (1 + r) * (4 + np.sqrt(P.shape[1]))


def max_finite_ratio(P: FloatArray) -> float:
    """Largest P[x, i]/P[x', i] over cells with P[x', i] > 0; at least 1."""
    high = P.max(axis=0)
    low = np.where(P > 0, P, np.inf).min(axis=0)
    used = high > 0
    with np.errstate(over="ignore"):
        return float(max(1.0, (high[used] / low[used]).max(initial=1.0)))


class _Search:
    """Finds the pairs of rows whose curves make the envelope of a large table."""

    def __init__(self, P: FloatArray, tolerance: float) -> None:
        self.P = P
        self.a = len(P)
        self.tolerance = tolerance
        self.found: set[tuple[int, int]] = set()
        self.alpha = np.array([0.0])
        self.gap = np.array([0.0])
        self.passes = 0.0

    def run(self) -> tuple[IntArray, IntArray]:
        P = self.P
        tv, error = support_all(P, 0.0)
        zero_mass = P @ (P == 0).T.astype(np.float64)
        np.fill_diagonal(zero_mass, 0.0)
        top = max_finite_ratio(P) - 1.0
        starts = starting_pairs(P, tv, zero_mass)
        self._add(*alternate(P, starts, np.geomspace(1.0, 1.0 + min(top, 1e9), 24)))
        self._raise_to(tv + error, 0.0, None)
        self._raise_to(zero_mass, top, None)
        flat = np.arange(self.a * self.a)
        self._descend(flat, 0.0, (tv + error).ravel(), top, zero_mass.ravel())
        # Slopes below 1 need no search of their own: swapping a pair reflects its curve.
        pairs = np.array(sorted(self.found | {(y, x) for x, y in self.found}), dtype=np.int64)
        return pairs[:, 0], pairs[:, 1]

    def _add(self, xs: IntArray, ys: IntArray) -> None:
        new = {(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True) if x != y}
        new -= self.found
        if not new:
            return
        rows = np.array(sorted(new), dtype=np.int64)
        hull = hull_of_pairs(self.P, rows[:, 0], rows[:, 1])
        self.found |= {(int(x), int(y)) for x, y in hull.pairs if x >= 0}
        alpha = np.concatenate((self.alpha, hull.alpha))
        gap = np.concatenate((self.gap, hull.gap))
        kept = upper_hull(alpha, gap)
        kept = kept[: int(np.argmax(gap[kept])) + 1]
        self.alpha, self.gap = alpha[kept], gap[kept]

    def _level(self, s: FloatArray | float) -> FloatArray:
        """Support function of the hull found so far."""
        values = self.gap - np.multiply.outer(np.asarray(s), self.alpha)
        return np.asarray(values.max(axis=-1))

    def _slopes(self) -> FloatArray:
        """Slopes of the edges, descending."""
        return np.diff(self.gap) / np.diff(self.alpha)

    def _margin(self, s: FloatArray | float) -> FloatArray:
        """How far h may exceed the level unnoticed: `tolerance` nats and rounding."""
        # At slope r = 1 + s the leakage moves by t·dh/(1 + t·p) ≤ dh/p, and p ≥ h.
        return np.asarray(self._level(s) * (self.tolerance + 1e-15))

    def _raise_to(self, h: FloatArray, s: float, live: IntArray | None) -> None:
        """Add the pairs whose h(s) exceeds the level, largest first, until none does."""
        flat = h.ravel()
        index = np.arange(flat.size) if live is None else live
        while True:
            level = float(self._level(s)) + float(self._margin(s))
            above = np.flatnonzero(flat > level)
            if above.size == 0:
                return
            above = above[np.argsort(-flat[above], kind="stable")[:4096]]
            xs, ys = np.divmod(index[above], self.a)
            exact = support(self.P, xs, ys, s)
            flat = flat.copy()
            flat[above] = exact  # replaces the bound that carries a rounding allowance
            better = above[exact > level]
            if better.size:
                best = better[np.argsort(-flat[better], kind="stable")[:16]]
                self._add(*np.divmod(index[best], self.a))
                if float(self._level(s)) + float(self._margin(s)) <= level:
                    return

    def _descend(
        self, live: IntArray, low: float, h_low: FloatArray, high: float, h_high: FloatArray
    ) -> None:
        """Certify all directions in (low, high) for the pairs `live`."""
        stack = [(live, low, h_low, high, h_high)]
        while stack:
            live, low, h_low, high, h_high = stack.pop()
            slopes = self._slopes()
            inside = np.sort(slopes[(slopes > low) & (slopes < high)])
            if inside.size == 0 or live.size == 0:
                continue
            alive = self._alive(inside, low, h_low, high, h_high)
            live, h_low, h_high = live[alive], h_low[alive], h_high[alive]
            if live.size == 0:
                continue
            s = float(inside[inside.size // 2])
            h = self._evaluate(live, s)
            self._raise_to(h, s, live)
            stack.append((live, low, h_low, s, h))
            stack.append((live, s, h, high, h_high))

    def _alive(
        self, inside: FloatArray, low: float, h_low: FloatArray, high: float, h_high: FloatArray
    ) -> BoolArray:
        """Which pairs' chords rise above the level somewhere between low and high.

        The level is convex and the chord linear, so the largest excess lies at a kink of the level,
        the one where the level's slope passes the chord's.
        """
        width = high - low
        chord_slope = (h_high - h_low) / width
        after = np.append(inside, high)
        middle = (inside + after[1:]) / 2
        level = self._level(inside)
        margin = self._margin(inside)
        right_slope = -self.alpha[
            np.argmax(self.gap - np.multiply.outer(middle, self.alpha), axis=1)
        ]
        kink = np.minimum(np.searchsorted(right_slope, chord_slope), inside.size - 1)
        weight = (inside - low) / width
        chord = h_low * (1 - weight[kink]) + h_high * weight[kink]
        return np.asarray(chord > level[kink] + margin[kink])

    def _evaluate(self, live: IntArray, s: float) -> FloatArray:
        self.passes += live.size / self.a**2
        if live.size > 0.3 * self.a**2:
            h, error = support_all(self.P, s)
            return np.asarray(h.ravel()[live] + error)
        xs, ys = np.divmod(live, self.a)
        return support(self.P, xs, ys, s)


def starting_pairs(P: FloatArray, tv: FloatArray, zero_mass: FloatArray) -> IntArray:
    """Promising ordered pairs: the extremes of every outcome, of distance and of unshared mass."""
    a, b = P.shape
    columns = np.stack((P.argmax(axis=0), P.argmin(axis=0)), axis=1)
    if b > 64:
        low = np.maximum(P.min(axis=0), 1e-300)
        columns = columns[np.argsort(-P.max(axis=0) / low, kind="stable")[:64]]
    far = [np.argpartition(-table.ravel(), min(32, a * a - 1))[:32] for table in (tv, zero_mass)]
    flat = np.stack(np.divmod(np.concatenate(far), a), axis=1)
    pairs = np.concatenate((columns, flat))
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def alternate(
    P: FloatArray, pairs: IntArray, slopes: FloatArray, rounds: int = 3
) -> tuple[IntArray, IntArray]:
    """Improve pairs by turns: the best event of a pair, then the best pair of that event.

    Parameters
    ----------
    P : array, shape (a, b)
    pairs : array of int, shape (m, 2)
    slopes : array, shape (k,)
        Directions r; every pair is improved for every one of them.
    rounds : int

    Returns
    -------
    xs, ys : arrays of int
        Pairs, without repetition.
    """
    x, y = (np.repeat(pairs[:, i], slopes.size) for i in (0, 1))
    r = np.tile(slopes, len(pairs))
    for _ in range(rounds):
        key = np.unique(np.stack((x, y)), axis=1)
        events = (P[x] > r[:, np.newaxis] * P[y]).astype(np.float64)
        mass = events @ P.T
        x, y = mass.argmax(axis=1), mass.argmin(axis=1)
        code = np.unique(np.stack((x, y, np.searchsorted(slopes, r))), axis=1)
        x, y, r = code[0], code[1], slopes[code[2]]
        if key.shape == np.unique(np.stack((x, y)), axis=1).shape and np.array_equal(
            key, np.unique(np.stack((x, y)), axis=1)
        ):
            break
    final = np.unique(np.stack((x, y)), axis=1)
    return final[0], final[1]


def best_event(P: FloatArray, epsilon: float) -> tuple[float, float, tuple[int, int], BoolArray]:
    """Largest leakage at one ε over all ordered pairs of rows and all events.

    Dinkelbach's iteration on s = gap/(1 + t·α), which is (ratio − 1)/t, so that nothing
    cancels for small ε. A pair whose h(1 + t·s) does not exceed s cannot improve on it.

    Returns
    -------
    alpha, gap : float
        Of the best event.
    pair : (int, int)
        Rows (x, x'); (−1, −1) when no pair leaks.
    event : array of bool, shape (b,)
    """
    distinct, first = np.unique(P, axis=0, return_index=True)
    a, b = distinct.shape
    if a == 1 or epsilon == 0:
        return 0.0, 0.0, (-1, -1), np.zeros(P.shape[1], dtype=bool)
    if a * (a - 1) * b <= SORT_LIMIT:
        xs, ys = np.nonzero(~np.eye(a, dtype=bool))
    else:
        xs, ys = _best_pairs(distinct, epsilon)
    hull = hull_of_pairs(distinct, xs, ys)
    best = int(np.argmax(log_ratio(hull.alpha, hull.gap, np.array(epsilon))))
    x, y = hull.pairs[best]
    pair = (int(first[x]), int(first[y])) if x >= 0 else (-1, -1)
    return float(hull.alpha[best]), float(hull.gap[best]), pair, hull.events[best]


def _best_pairs(P: FloatArray, epsilon: float) -> tuple[IntArray, IntArray]:
    """Candidate pairs, among them one that attains the largest leakage at `epsilon`."""
    a = len(P)
    zero_mass = P @ (P == 0).T.astype(np.float64)
    np.fill_diagonal(zero_mass, 0.0)
    x, y = np.divmod(int(zero_mass.argmax()), a)
    columns = starting_pairs(P, zero_mass, zero_mass)
    top = max_finite_ratio(P)
    grid = np.geomspace(1.0, min(top, np.exp(min(epsilon, 60.0))) * (1 + 1e-12), 8)
    xs, ys = alternate(P, np.concatenate((columns, [[x, y]])), grid)
    xs, ys = np.append(xs, x), np.append(ys, y)
    keep = xs != ys
    xs, ys = xs[keep], ys[keep]
    live: IntArray | None = None
    while True:
        value, s = _score(P, xs, ys, epsilon)
        if 1.0 + s >= top:
            # Beyond the largest finite ratio only unshared mass counts; its best pair is in.
            return xs, ys
        if live is None:
            h, error = support_all(P, s)
            live = np.flatnonzero(h.ravel() + error > value)
        li, lj = np.divmod(live, a)
        h = support(P, li, lj, s)
        above = h > value * (1 + 1e-15)
        live, h = live[above], h[above]
        if live.size == 0:
            return xs, ys
        best = live[np.argsort(-h, kind="stable")[:64]]
        xs = np.concatenate((xs, best // a))
        ys = np.concatenate((ys, best % a))
        if _score(P, xs, ys, epsilon)[0] <= value:
            return xs, ys


def _score(P: FloatArray, xs: IntArray, ys: IntArray, epsilon: float) -> tuple[float, float]:
    """Best gap/(1 + t·α) of some pairs, and the matching s = ratio − 1."""
    alpha, gap, _ = sorted_curves(P[xs], P[ys])
    q = np.exp(-epsilon)
    one = -np.expm1(-epsilon)
    below = q + one * alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(gap > 0, gap / below, 0.0)
    best = float(ratio.max(initial=0.0))
    return (best * q, best * one) if np.isfinite(best) else (best, best)
