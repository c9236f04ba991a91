"""Upper concave hulls of Neyman–Pearson curves, for one pair of rows and for all of them.

A curve is held in the sheared coordinates (α, gap) with gap = power − α, which keeps full relative
precision when two rows are close. Its support function over events S,

    h(s) = max_S [G(S) − (1 + s)·G'(S)] = max over vertices of (gap − s·α),

is convex in s and costs one pass over the outcomes, without sorting. Small tables are solved by
asking for the best corner in the direction of every edge, until no edge can be improved. Large
tables start from curves found by alternating maximisation and are then certified: a direction s is
evaluated for all pairs that may still matter, and between two evaluated directions the chord bounds
a pair's h from above, so most pairs drop out after a few directions.

Only s ≥ 0 is searched, the part of the curve that rises: swapping the rows of a pair reflects its
curve, so the other half of the envelope is the mirror image.

What may be left out. Say every curve satisfies ``h(s) ≤ max over hull vertices of
((1 + c)·gap − s·α)`` for all s ≥ 0. At the ratio 1 + s* that a left-out curve attains at some ε,
``s*/t = h(s*) ≤ (1 + c)·gap − s*·α`` for one vertex, so that vertex has
``s = gap/(α + 1/t) ≥ s*/(1 + c)``: the leakage ln(1 + s) is short by at most c in relative terms,
and by at most c nats. So `c` is a tolerance plus an allowance for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray, log_ratio

SMALL = 250_000
"""Up to this many numbers (rows² × outcomes), evaluating all pairs each time is the fastest way."""

ROUNDING = 1e-14
"""Relative allowance for the rounding of gaps and of their sums."""

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
        if np.isinf(ratio[H > 0]).any():  # subnormal numbers: keep their order
            ratio = np.sqrt(G) / np.sqrt(H)
    ratio = np.where(H > 0, ratio, np.where(G > 0, np.inf, -1.0))
    order = np.argsort(-ratio, axis=1, kind="stable")
    sorted_h = np.take_along_axis(H, order, axis=1)
    alpha = np.zeros((len(G), G.shape[1] + 1))
    gap = np.zeros_like(alpha)
    np.cumsum(sorted_h, axis=1, out=alpha[:, 1:])
    np.cumsum(np.take_along_axis(G, order, axis=1) - sorted_h, axis=1, out=gap[:, 1:])
    return alpha, gap, order


def _clipped_curves(
    P: FloatArray, xs: IntArray, ys: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """`sorted_curves` of pairs of rows, within 0 ≤ α ≤ α + gap ≤ 1 in spite of rounding."""
    alpha, gap, order = sorted_curves(P[xs], P[ys])
    alpha = np.minimum(alpha, 1.0)
    return alpha, np.clip(gap, 0.0, 1.0 - alpha), order


def _event(outcomes: IntArray, alternative: FloatArray) -> BoolArray:
    """The given outcomes, without those that the alternative never has."""
    event = np.zeros(alternative.size, dtype=bool)
    event[outcomes] = True
    return event & (alternative > 0)


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
            if _turns_right(xs[b] - xs[a], ys[b] - ys[a], x - xs[a], y - ys[a]):
                break
            kept.pop()
        kept.append(i)
    return order[kept]


def _turns_right(dx: float, dy: float, ex: float, ey: float) -> bool:
    """Whether slope dy/dx exceeds ey/ex (dx, ex > 0)."""
    left, right = dx * ey, ex * dy
    if abs(left) < 1e-290 and abs(right) < 1e-290:
        from fractions import Fraction

        return Fraction(dx) * Fraction(ey) < Fraction(ex) * Fraction(dy)
    return left < right


def hull_of_pairs(P: FloatArray, xs: IntArray, ys: IntArray) -> Hull:
    """Hull of the union of the curves of the given ordered pairs of rows, by sorting."""
    b = P.shape[1]
    alpha, gap, order = _clipped_curves(P, xs, ys)
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
        events[row] = _event(order[pair, : size + 1], P[xs[pair]])
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
        Exact when `tolerance` is 0 (to rounding: a relative 1e-14 of the leakage).
    """
    distinct, first = _distinct_rows(P)
    a, b = distinct.shape
    slack = 0.0
    top = max_finite_ratio(distinct) - 1.0
    if a == 1:
        xs = ys = np.zeros(0, dtype=np.int64)
    elif not np.isfinite(top):
        xs, ys = _pairs_by_sorting(distinct)
    elif a * a * b <= SMALL:
        xs, ys = _Small(distinct).edges(top)
    else:
        xs, ys = _Search(distinct, tolerance).run()
        slack = tolerance
    # Slopes below 1 need no search of their own: swapping a pair reflects its curve.
    hull = hull_of_pairs(distinct, np.concatenate((xs, ys)), np.concatenate((ys, xs)))
    original = np.where(hull.pairs < 0, -1, first[hull.pairs])
    return Hull(hull.alpha, hull.gap, original, hull.events, slack)


def best_event(P: FloatArray, epsilon: float) -> tuple[float, float, tuple[int, int], BoolArray]:
    """Largest leakage at one ε over all ordered pairs of rows and all events.

    Dinkelbach's iteration on s = gap/(1/t + α), which is ratio − 1, so that nothing cancels for
    small ε. A pair whose h(s) does not exceed s/t cannot improve on it.

    Returns
    -------
    alpha, gap : float
        Of the best event.
    pair : (int, int)
        Rows (x, x'); (−1, −1) when no pair leaks.
    event : array of bool, shape (b,)
    """
    distinct, first = _distinct_rows(P)
    a, b = distinct.shape
    if a == 1 or epsilon == 0:
        return 0.0, 0.0, (-1, -1), np.zeros(P.shape[1], dtype=bool)
    top = max_finite_ratio(distinct) - 1.0
    if not np.isfinite(top):
        xs, ys = _pairs_by_sorting(distinct)
    elif a * a * b <= SMALL:
        xs, ys = _Small(distinct).best(epsilon)
    else:
        xs, ys = _best_pairs(distinct, epsilon, top)
    alpha, gap, order = _clipped_curves(distinct, xs, ys)
    values = log_ratio(alpha, gap, np.array(epsilon))
    index, size = divmod(int(values.argmax()), b + 1)
    if not values[index, size] > 0:
        return 0.0, 0.0, (-1, -1), np.zeros(b, dtype=bool)
    x, y = int(xs[index]), int(ys[index])
    event = _event(order[index, :size], distinct[x])
    return float(alpha[index, size]), float(gap[index, size]), (int(first[x]), int(first[y])), event


def _distinct_rows(P: FloatArray) -> tuple[FloatArray, IntArray]:
    """Different rows and where each one is first found, in that order."""
    seen: dict[bytes, int] = {}
    for index, row in enumerate(P + 0.0):  # −0 becomes 0
        seen.setdefault(row.tobytes(), index)
    first = np.fromiter(seen.values(), dtype=np.int64, count=len(seen))
    return P[first], first


def max_finite_ratio(P: FloatArray) -> float:
    """Largest P[x, i]/P[x', i] over cells with P[x', i] > 0; at least 1, ∞ if out of range."""
    high = P.max(axis=0)
    low = np.where(P > 0, P, np.inf).min(axis=0)
    used = high > 0
    with np.errstate(over="ignore"):
        return float((high[used] / low[used]).max(initial=1.0))


def _pairs_by_sorting(P: FloatArray) -> tuple[IntArray, IntArray]:
    """Pairs that make the envelope, by sorting every pair: slow, without any condition on P."""
    a, b = P.shape
    step = max(1, _BLOCK // b)
    found: set[tuple[int, int]] = set()
    for start in range(0, a * a, step):
        xs, ys = np.divmod(np.arange(start, min(start + step, a * a)), a)
        found |= _named(hull_of_pairs(P, xs[xs != ys], ys[xs != ys]))
    return _columns(found)


def _named(hull: Hull) -> set[tuple[int, int]]:
    return {(x, y) for x, y in hull.pairs.tolist() if x >= 0}


def _columns(pairs: set[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


class _Small:
    """Corners of the envelope of a small table: every direction is evaluated for all pairs."""

    def __init__(self, P: FloatArray) -> None:
        self.P = P
        self.difference = P[:, np.newaxis, :] - P[np.newaxis, :, :]
        self.buffer = np.empty_like(self.difference)
        self.found: set[tuple[int, int]] = set()

    def corner(self, s: float) -> tuple[float, float]:
        """The point (α, gap) farthest in direction s."""
        scaled = s * self.P
        np.subtract(self.difference, scaled, out=self.buffer)
        np.maximum(self.buffer, 0.0, out=self.buffer)
        h = self.buffer.sum(axis=2)
        x, y = divmod(int(h.argmax()), len(h))
        event = self.difference[x, y] > scaled[y]
        self.found.add((x, y))
        return float(self.P[y] @ event), float(self.difference[x, y] @ event)

    def proof(self) -> tuple[float, float]:
        """The corner at α = 0: the largest mass that one row does not share with another."""
        mass = self.P @ (self.P == 0).T.astype(np.float64)
        x, y = divmod(int(mass.argmax()), len(mass))
        if mass[x, y] > 0:
            self.found.add((x, y))
        return 0.0, float(mass[x, y])

    def edges(self, top: float) -> tuple[IntArray, IntArray]:
        """Pairs that make the envelope."""
        stack = [(self.proof(), self.corner(0.0))]
        while stack:
            left, right = stack.pop()
            width, rise = right[0] - left[0], right[1] - left[1]
            if width <= 0 or rise <= 0:
                continue
            # Save by rounding, no edge is steeper than the largest finite ratio, nor than the
            # line from the origin.
            s = min(rise / width, top, left[1] / left[0] if left[0] else np.inf)
            level = max((1 + ROUNDING) * gap - s * alpha for alpha, gap in (left, right))
            new = self.corner(s)
            if left[0] < new[0] < right[0] and new[1] - s * new[0] > level:
                stack += [(left, new), (new, right)]
        return _columns({pair for pair in self.found if pair[0] != pair[1]})

    def best(self, epsilon: float) -> tuple[IntArray, IntArray]:
        """Pairs of which one attains the largest leakage at `epsilon`."""
        points = [self.proof(), self.corner(0.0)]
        score, s = -np.inf, 0.0
        while True:
            new_score, s, _, _ = _score(np.array(points)[:, 0], np.array(points)[:, 1], epsilon)
            if not new_score > score or not np.isfinite(s):
                return _columns({pair for pair in self.found if pair[0] != pair[1]})
            score = new_score
            points.append(self.corner(s))


def support(P: FloatArray, xs: IntArray, ys: IntArray, s: float) -> FloatArray:
    """h(s) of the given ordered pairs: Σ_i max(0, P[x, i] − (1 + s)·P[y, i])."""
    result = np.empty(xs.size)
    # With 1 + s rounded, an error of P·1e-16 would remain: too much where rows are close.
    sheared = s < 0.25
    scaled = s * P if sheared else (1.0 + s) * P
    step = max(1, _BLOCK // P.shape[1])
    for start in range(0, xs.size, step):
        block = slice(start, start + step)
        difference = P[xs[block]]
        if sheared:
            difference -= P[ys[block]]
        difference -= scaled[ys[block]]
        np.maximum(difference, 0.0, out=difference)
        difference.sum(axis=1, out=result[block])
    return result


def support_all(P: FloatArray, s: float) -> tuple[FloatArray, float]:
    """h(s) of all ordered pairs, shape (a, a), and a bound on its absolute rounding error.

    For rows that sum to 1, Σ max(0, G − r·G') = (Σ|G − r·G'| + 1 − r)/2: a city-block distance.
    """
    r = 1.0 + s
    # Summing b terms of total 1 + r in any order errs by less than (b + 32) units of 1.2e-16.
    error = 0.6e-16 * (P.shape[1] + 32) * (1 + r)
    if error > 1e-7:
        xs, ys = np.divmod(np.arange(len(P) ** 2), len(P))
        return support(P, xs, ys, s).reshape(len(P), len(P)), 0.0
    from scipy.spatial.distance import cdist

    sums = P.sum(axis=1)
    h = cdist(P, r * P, "cityblock")
    h += sums[:, np.newaxis]
    h -= r * sums[np.newaxis, :]
    h /= 2
    np.fill_diagonal(h, -np.inf)
    return h, error


def unshared_mass(P: FloatArray) -> FloatArray:
    """Σ of P[x, i] over outcomes with P[x', i] = 0, for all pairs, rounded up; shape (a, a)."""
    zero = P == 0
    if not zero.any():
        return np.zeros((len(P), len(P)))
    mass = P @ zero.T.astype(np.float64)
    return np.asarray(mass * (1 + 1.2e-16 * (P.shape[1] + 8)))


class _Search:
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
        return _columns(self.found)

    def _add(self, xs: IntArray, ys: IntArray) -> None:
        new = {(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True) if x != y}
        new -= self.found
        if not new:
            return
        hull = hull_of_pairs(self.P, *_columns(new))
        self.found |= _named(hull)
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


def _best_pairs(P: FloatArray, epsilon: float, top: float) -> tuple[IntArray, IntArray]:
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
    """`_score` of the curves of some pairs, coded x·a + y, and the pair that attains it."""
    xs, ys = np.divmod(codes, len(P))
    alpha, gap, _ = sorted_curves(P[xs], P[ys])
    score, s, level, index = _score(alpha, gap, epsilon)
    return score, s, level, int(codes[index // alpha.shape[1]])


def _score(alpha: FloatArray, gap: FloatArray, epsilon: float) -> tuple[float, float, float, int]:
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
