"""The pairs of rows that matter in a large table, found without sorting every pair.

The support function h(s) of a pair is convex in s and costs one pass over the outcomes. The search
starts from curves found by alternating maximisation, which are then certified: a direction s is
evaluated for all pairs that may still matter, and between two evaluated directions the chord bounds
a pair's h from above, so most pairs drop out after a few directions.

What may be left out. Say every curve satisfies ``h(s) ≤ max over hull vertices of
((1 + c)·gap − s·α)`` for all s ≥ 0. At the ratio 1 + s* that a left-out curve attains at some ε,
``s*/t = h(s*) ≤ (1 + c)·gap − s*·α`` for one vertex, so that vertex has
``s = gap/(α + 1/t) ≥ s*/(1 + c)``: the leakage ln(1 + s) is short by at most c in relative terms,
and by at most c nats. So `c` is a tolerance plus an allowance for rounding.
"""

from __future__ import annotations

import numpy as np

from seepage._hull import (
    BLOCK,
    hull_of_pairs,
    max_finite_ratio,
    named_pairs,
    pair_columns,
    sorted_curves,
    upper_hull,
)
from seepage._numeric import BoolArray, FloatArray, IntArray

ROUNDING = 1e-14
"""Relative allowance for the rounding of gaps and of their sums."""


def support(P: FloatArray, xs: IntArray, ys: IntArray, s: float) -> FloatArray:
    """h(s) of the given ordered pairs: Σ_i max(0, P[x, i] − (1 + s)·P[y, i])."""
    result = np.empty(xs.size)
    # With 1 + s rounded, an error of P·1e-16 would remain: too much where rows are close.
    sheared = s < 0.25
    scaled = s * P if sheared else (1.0 + s) * P
    step = max(1, BLOCK // P.shape[1])
    for start in range(0, xs.size, step):
        block = slice(start, start + step)
        difference = P[xs[block]]
        if sheared:
            difference -= P[ys[block]]
        difference -= scaled[ys[block]]
        np.maximum(difference, 0.0, out=difference)
        difference.sum(axis=1, out=result[block])
    return result


FEW = 60_000
"""Up to this many numbers (pairs × outcomes) it is not worth importing SciPy."""


def support_all(P: FloatArray, s: float) -> tuple[FloatArray, float]:
    """h(s) of all ordered pairs, shape (a, a), and a bound on its absolute rounding error.

    For rows that sum to 1, Σ max(0, G − r·G') = (Σ|G − r·G'| + 1 − r)/2: a city-block distance.
    """
    r = 1.0 + s
    # Summing b terms of total 1 + r in any order errs by less than (b + 32) units of 1.2e-16.
    error = 0.6e-16 * (P.shape[1] + 32) * (1 + r)
    if error > 1e-7 or P.size * len(P) <= FEW:
        xs, ys = np.divmod(np.arange(len(P) ** 2), len(P))
        # Only terms with r·G' < G are summed, so r does not enter the error.
        return support(P, xs, ys, s).reshape(len(P), len(P)), 1.2e-16 * (P.shape[1] + 32)
    from scipy.spatial.distance import cdist

    sums = P.sum(axis=1)
    h = cdist(P, r * P, "cityblock")
    h += sums[:, np.newaxis]
    h -= r * sums[np.newaxis, :]
    h /= 2
    np.fill_diagonal(h, 0.0)
    return h, error


def unshared_mass(P: FloatArray) -> FloatArray:
    """Σ of P[x, i] over outcomes with P[x', i] = 0, for all pairs, rounded up; shape (a, a)."""
    zero = P == 0
    if not zero.any():
        return np.zeros((len(P), len(P)))
    mass = P @ zero.T.astype(np.float64)
    return np.asarray(mass * (1 + 1.2e-16 * (P.shape[1] + 8)))


class Search:
    """Finds the pairs of rows whose curves make the envelope of a large table."""

    def __init__(self, P: FloatArray, tolerance: float) -> None:
        self.P = P
        self.a = len(P)
        self.scale = 1.0 + tolerance + ROUNDING
        self.found: set[tuple[int, int]] = set()
        self.alpha = np.array([0.0])
        self.gap = np.array([0.0])  # of the hull found so far; it counts as scale × gap

    def run(self) -> tuple[IntArray, IntArray]:
        P = self.P
        h, error = support_all(P, 0.0)
        low = h.ravel() + error
        high = unshared_mass(P).ravel()
        top = max_finite_ratio(P) - 1.0
        self._add(
            *alternate(
                P, starting_pairs(P, [h, high], 24), np.geomspace(1.0, 1.0 + min(top, 1e9), 24)
            )
        )
        flat = np.arange(self.a * self.a)
        self._raise_to(low, 0.0, flat)
        self._raise_to(high, top, flat)
        self._descend(flat, 0.0, low, top, high)
        return pair_columns(self.found)

    def _add(self, xs: IntArray, ys: IntArray) -> None:
        new = {(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True) if x != y}
        new -= self.found
        if not new:
            return
        hull = hull_of_pairs(self.P, *pair_columns(new))
        self.found |= named_pairs(hull)
        alpha = np.concatenate((self.alpha, hull.alpha))
        gap = np.concatenate((self.gap, hull.gap))
        kept = upper_hull(alpha, gap)
        kept = kept[: int(np.argmax(gap[kept])) + 1]
        self.alpha, self.gap = alpha[kept], gap[kept]

    def _level(self, s: float) -> float:
        """How large h(s) may be without consequence."""
        return float((self.scale * self.gap - s * self.alpha).max())

    def _raise_to(self, bound: FloatArray, s: float, live: IntArray) -> None:
        """Add pairs until h(s) of none of `live` exceeds the level; `bound` is at least h(s)."""
        bound = bound.copy()
        while True:
            level = self._level(s)
            above = np.flatnonzero(bound > level)
            if above.size == 0:
                return
            above = above[np.argsort(-bound[above], kind="stable")[:4096]]
            xs, ys = np.divmod(live[above], self.a)
            h = support(self.P, xs, ys, s)
            bound[above] = h
            best = np.argsort(-h, kind="stable")[:16]
            best = best[h[best] > level]
            self._add(xs[best], ys[best])
            if best.size and self._level(s) <= level:
                # The best of these is in the hull: what the others are above it is rounding.
                bound[above] = -np.inf

    def _descend(
        self, live: IntArray, low: float, h_low: FloatArray, high: float, h_high: FloatArray
    ) -> None:
        """Certify all directions in (low, high) for the pairs `live`."""
        stack = [(live, low, h_low, high, h_high)]
        while stack:
            live, low, h_low, high, h_high = stack.pop()
            # Kink i of the level: to its right, vertex i is the active one.
            kinks = self.scale * np.diff(self.gap) / np.diff(self.alpha)
            inside = np.flatnonzero((kinks > low) & (kinks < high))[::-1]
            if inside.size == 0 or live.size == 0:
                continue
            alive = self._alive(kinks, inside, (low, high), (h_low, h_high))
            live, h_low, h_high = live[alive], h_low[alive], h_high[alive]
            if live.size == 0:
                continue
            s = float(kinks[inside[inside.size // 2]])
            h = self._evaluate(live, s)
            self._raise_to(h, s, live)
            stack.append((live, low, h_low, s, h))
            stack.append((live, s, h, high, h_high))

    def _alive(
        self,
        kinks: FloatArray,
        inside: IntArray,
        ends: tuple[float, float],
        h: tuple[FloatArray, FloatArray],
    ) -> BoolArray:
        """Which pairs' chords rise above the level somewhere between low and high.

        The level is convex and the chord linear, so the largest excess lies at a kink of the level,
        the one where the level's slope passes the chord's.
        """
        (low, high), (h_low, h_high) = ends, h
        slope = (h_high - h_low) / (high - low)
        s = kinks[inside]
        level = self.scale * self.gap[inside] - s * self.alpha[inside]
        kink = np.minimum(np.searchsorted(-self.alpha[inside], slope), inside.size - 1)
        weight = ((s - low) / (high - low))[kink]
        return np.asarray(h_low * (1 - weight) + h_high * weight > level[kink])

    def _evaluate(self, live: IntArray, s: float) -> FloatArray:
        """An upper bound of h(s) that is off by rounding only."""
        if live.size > 0.3 * self.a**2:
            h, error = support_all(self.P, s)
            return np.asarray(h.ravel()[live] + error)
        return support(self.P, *np.divmod(live, self.a), s)


def starting_pairs(P: FloatArray, tables: list[FloatArray], count: int) -> IntArray:
    """Promising ordered pairs: extremes of the outcomes, and largest entries of (a, a) tables."""
    a = len(P)
    columns = np.stack((P.argmax(axis=0), P.argmin(axis=0)), axis=1)
    low = np.maximum(P.min(axis=0), 1e-300)
    columns = columns[np.argsort(-P.max(axis=0) / low, kind="stable")[:count]]
    n = min(count // 2, a * a)
    flat = [np.argpartition(-table.ravel(), n - 1)[:n] for table in tables]
    far = np.stack(np.divmod(np.concatenate(flat), a), axis=1)
    pairs = np.concatenate((columns, far))
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def alternate(
    P: FloatArray, pairs: IntArray, slopes: FloatArray, rounds: int = 2
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
    a = len(P)
    pairs = np.unique(pairs, axis=0)
    codes = (np.arange(slopes.size)[:, np.newaxis] * a + pairs[:, 0]) * a + pairs[:, 1]
    codes = codes.ravel()
    for _ in range(rounds):
        direction, pair = np.divmod(codes, a * a)
        x, y = np.divmod(pair, a)
        events = (P[x] > slopes[direction, np.newaxis] * P[y]).astype(np.float64)
        mass = events @ P.T
        better = np.unique((direction * a + mass.argmax(axis=1)) * a + mass.argmin(axis=1))
        if np.array_equal(better, codes):
            break
        codes = better
    xs, ys = np.divmod(np.unique(codes % (a * a)), a)
    return xs, ys


def best_pairs(P: FloatArray, epsilon: float, top: float) -> tuple[IntArray, IntArray]:
    """Candidate pairs, among them one that attains the largest leakage at `epsilon`."""
    a = len(P)
    unshared = unshared_mass(P)
    x, y = np.divmod(int(unshared.argmax()), a)
    starts = starting_pairs(P, [unshared], 24)
    grid = np.geomspace(1.0, min(top + 1, np.exp(min(epsilon, 60.0))) * (1 + 1e-12), 8)
    xs, ys = alternate(P, np.concatenate((starts, [[x, y]])), grid)
    codes = np.append(xs * a + ys, x * a + y)
    codes = codes[codes // a != codes % a]
    score, s, level, best = _score_pairs(P, codes, epsilon)
    kept = [x * a + y, best]
    live: IntArray | None = None
    while s < top:  # beyond, only unshared mass counts, and its best pair is in
        # A little farther out, so that an improvement by rounding is none.
        s *= 1 + ROUNDING
        level *= 1 + ROUNDING
        if live is None:
            h, error = support_all(P, s)
            live = np.flatnonzero(h.ravel() + error > level)
        h = support(P, *np.divmod(live, a), s)
        above = h > level
        live, h = live[above], h[above]
        if live.size == 0:
            break
        better, s, level, best = _score_pairs(P, live[np.argsort(-h, kind="stable")[:64]], epsilon)
        if not better > score:
            break
        score = better
        kept.append(best)
    xs, ys = np.divmod(np.array(kept), a)
    return xs[xs != ys], ys[xs != ys]


def _score_pairs(P: FloatArray, codes: IntArray, epsilon: float) -> tuple[float, float, float, int]:
    """`score_points` of the curves of some pairs, coded x·a + y, and the pair that attains it."""
    xs, ys = np.divmod(codes, len(P))
    alpha, gap, _ = sorted_curves(P[xs], P[ys])
    score, s, level, index = score_points(alpha, gap, epsilon)
    return score, s, level, int(codes[index // alpha.shape[1]])


def score_points(
    alpha: FloatArray, gap: FloatArray, epsilon: float
) -> tuple[float, float, float, int]:
    """Best s = gap/(α + 1/t) of some points: its logarithm, s, s/t, and its flat position."""
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        if epsilon < 600:
            q, one = np.exp(-epsilon), -np.expm1(-epsilon)
            values = gap / (q + one * alpha)
            index = int(values.argmax())
            best = float(values.flat[index])
            return float(np.log(best)), best * one, best * q, index
        # 1/t is e^−ε, which leaves the range of normal numbers.
        logs = np.log(np.maximum(gap, 0.0)) - np.logaddexp(np.log(alpha), -epsilon)
        logs[gap <= 0] = -np.inf
        index = int(logs.argmax())
        best = float(logs.flat[index])
        return best, float(np.exp(best)), float(np.exp(best - epsilon)), index
