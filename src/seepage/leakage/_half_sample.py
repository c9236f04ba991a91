"""Events chosen on one half of a sample and judged on the other half.

Every record goes to one of two halves by a fair coin, which for a count table is a binomial draw in
each cell. Given how many records of each row went where, the halves are independent, each with
multinomial rows of the original probabilities. So whatever rule chooses an event on one half, its
counts on the other half are those of an event fixed in advance.

An event may compare two groups of rows, A and B, instead of two rows. With weights proportional to
the row sums, the mean of G_x(S) over A is at most the largest of them, and likewise below for B, so
a lower limit for groups is one for the best pair. The count of S in a group is a sum of independent
binomials; its tails beyond one count from the mean are at most those of one binomial with the same
mean (Hoeffding 1956, theorem 5). Limits closer to the frequency than one count are therefore moved
there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seepage import _envelope
from seepage._numeric import BoolArray, FloatArray, IntArray, log_ratio
from seepage.leakage.confidence import lower_binomial, upper_binomial

_ANGLES = 33
_FOCUS = 0.3  # radians around the expected place of the minimum, where the angles are dense
_BLOCK = 1 << 17
_RATIOS = (1.0, 1.7, 4.0)  # likelihood ratios at which pairs of rows are first compared
_KEPT_PAIRS = 16
CAUTIOUS = 4.0
"""Standard errors held against a candidate of the lower limit: of both halves, with selection."""

BOLD = 3.0
"""Standard errors held against a candidate of the estimate."""


@dataclass(frozen=True)
class Candidate:
    """Two groups of rows and an event, with the score by which it was chosen."""

    high: IntArray
    low: IntArray
    event: BoolArray
    score: float


@dataclass(frozen=True)
class EventCounts:
    """Counts of one event: x of n records in the high rows, y of m in the low rows."""

    x: float
    n: float
    y: float
    m: float

    @classmethod
    def of(cls, table: IntArray, chosen: Candidate) -> EventCounts:
        """Count the event of a candidate in a table."""
        high, low = table[chosen.high], table[chosen.low]
        return cls(
            float(high[:, chosen.event].sum()),
            float(high.sum()),
            float(low[:, chosen.event].sum()),
            float(low.sum()),
        )

    def lower_limit(self, epsilon: float, radius: float) -> float:
        """Least log-ratio over the joint region of the two probabilities, 0 or more.

        The boundary of the region is covered by rectangles that contain it, whatever their
        corners. They are narrow where a normal approximation expects the minimum.
        """
        from scipy.special import ndtr

        if self.n == 0 or self.m == 0:
            return 0.0
        most, least = max(self.x - 1, 0.0) / self.n, min(self.y + 1, self.m) / self.m
        if most <= least:
            return 0.0
        angle = self._angles(epsilon)
        error_p = ndtr(-radius * np.cos(angle[:-1]))
        error_a = ndtr(-radius * np.sin(angle[1:]))
        p = np.minimum(lower_binomial(self.x, self.n, error_p), most)
        a = np.maximum(upper_binomial(self.y, self.m, error_a), least)
        return float(log_ratio(a, np.maximum(p - a, 0.0), np.array(epsilon)).min())

    def _angles(self, epsilon: float) -> FloatArray:
        rate = _rate(epsilon)
        p, a = (self.x + 0.5) / (self.n + 1), (self.y + 0.5) / (self.m + 1)
        weight_p = math.sqrt(p * (1 - p) / self.n) / (rate + p)
        weight_a = math.sqrt(a * (1 - a) / self.m) / (rate + a)
        centre = math.atan2(weight_a, weight_p)
        ends = math.atan(-centre / _FOCUS), math.atan((math.pi / 2 - centre) / _FOCUS)
        angle = centre + _FOCUS * np.tan(np.linspace(*ends, _ANGLES))
        angle[0], angle[-1] = 0.0, np.pi / 2
        return np.asarray(angle)

    def estimate(self, epsilon: float) -> float:
        """Log-ratio of the smoothed frequencies; may be negative."""
        p, a = (self.x + 0.5) / (self.n + 1), (self.y + 0.5) / (self.m + 1)
        rate = _rate(epsilon)
        forward = math.log1p(abs(p - a) / (rate + min(p, a)))
        return forward if p >= a else -forward


def halve(table: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Send every record to one of two halves by a fair coin."""
    first = rng.binomial(table, 0.5)
    return first, table - first


def best_pairs(
    table: IntArray, epsilon: float, cautions: tuple[float, ...]
) -> tuple[Candidate | None, ...]:
    """Pair of rows and event with the best score, for each caution; None without two rows."""
    used = np.flatnonzero(table.sum(axis=1) > 0)
    if used.size < 2:
        return (None,) * len(cautions)
    counts = table[used].astype(np.float64)
    sums = counts.sum(axis=1)
    P = counts / sums[:, np.newaxis]
    xs, ys = _promising_pairs(P, sums, epsilon, cautions)
    alpha, gap, order = _envelope.sorted_curves(P[xs], P[ys])
    alpha, gap = alpha[:, 1:-1], gap[:, 1:-1]
    n, m = sums[xs, np.newaxis], sums[ys, np.newaxis]
    estimate, error = _estimate(alpha + gap, alpha, n, m, epsilon)
    found = []
    for caution in cautions:
        score = _score(estimate, error, caution)
        pair, size = divmod(int(score.argmax()), P.shape[1] - 1)
        event = np.zeros(P.shape[1], dtype=bool)
        event[order[pair, : size + 1]] = True
        high, low = used[xs[pair : pair + 1]], used[ys[pair : pair + 1]]
        found.append(Candidate(high, low, event, float(score[pair, size])))
    return tuple(found)


def best_groups(table: IntArray, epsilon: float) -> Candidate | None:
    """Groups of rows and columns at the two ends of the main axis of dependence.

    The axis is the first one of correspondence analysis. It finds dependence that is spread over
    many rows, none of which has enough records of its own.
    """
    rows, columns = np.flatnonzero(table.sum(axis=1)), np.flatnonzero(table.sum(axis=0))
    if rows.size < 3 or columns.size < 2:
        return None
    counts = table[np.ix_(rows, columns)].astype(np.float64)
    sums, masses = counts.sum(axis=1), counts.sum(axis=0)
    expected = np.outer(sums, masses) / sums.sum()
    residual = (counts - expected) / np.sqrt(expected)
    # The first singular vectors, from the smaller one of the two matrices of products.
    if rows.size <= columns.size:
        left = np.linalg.eigh(residual @ residual.T)[1][:, -1]
        right = left @ residual
    else:
        right = np.linalg.eigh(residual.T @ residual)[1][:, -1]
        left = residual @ right
    by_row = np.argsort(-left / np.sqrt(sums), kind="stable")
    by_column = np.argsort(-right / np.sqrt(masses), kind="stable")
    filled = np.cumsum(np.cumsum(counts[np.ix_(by_row, by_column)], axis=0), axis=1)
    size = rows.size // 2
    top, bottom = filled[:size], filled[-1] - filled[-2 : -2 - size : -1]
    best: Candidate | None = None
    for swap in (False, True):
        # The complement of the event points the other way.
        x, y = (bottom, top) if swap else (top, bottom)
        n, m = x[:, -1:], y[:, -1:]
        x, y = (n - x, m - y) if swap else (x, y)
        score = _score(*_estimate(x / n, y / m, n, m, epsilon), CAUTIOUS)[:, :-1]
        i, j = divmod(int(score.argmax()), score.shape[1])
        if best is None or score[i, j] > best.score:
            event = np.zeros(table.shape[1], dtype=bool)
            event[columns[by_column[j + 1 :] if swap else by_column[: j + 1]]] = True
            ends = rows[by_row[: i + 1]], rows[by_row[-1 - i :]]
            best = Candidate(ends[swap], ends[1 - swap], event, float(score[i, j]))
    return best


def _rate(epsilon: float) -> float:
    """1/t."""
    return 1 / math.expm1(epsilon) if epsilon < 600 else 0.0


def _estimate(
    p: FloatArray, a: FloatArray, n: FloatArray, m: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Log-ratio and its standard error."""
    smooth_p, smooth_a = (n * p + 1) / (n + 2), (m * a + 1) / (m + 2)
    rate = _rate(epsilon)
    variance = smooth_p * (1 - smooth_p) / (n * (rate + smooth_p) ** 2)
    variance += smooth_a * (1 - smooth_a) / (m * (rate + smooth_a) ** 2)
    return np.log1p((p - a) / (rate + np.maximum(a, 0.5 / m))), np.sqrt(variance)


def _score(estimate: FloatArray, error: FloatArray, caution: float) -> FloatArray:
    """Log-ratio less some standard errors; below 0, ordered by the number of standard errors."""
    score = estimate - caution * error
    weak = -error / np.maximum(estimate, 1e-9 * error)
    return np.where(score > 0, score, weak)


def _promising_pairs(
    P: FloatArray, sums: FloatArray, epsilon: float, cautions: tuple[float, ...]
) -> tuple[IntArray, IntArray]:
    """The pairs with the best scores at a few events each, for any of the cautions."""
    a, b = P.shape
    xs, ys = np.nonzero(~np.eye(a, dtype=bool))
    if xs.size <= _KEPT_PAIRS:
        return xs, ys
    scores = np.empty((len(cautions), xs.size))
    step = max(1, _BLOCK // (b * len(_RATIOS)))
    scaled = np.array(_RATIOS)[:, np.newaxis, np.newaxis] * P
    for start in range(0, xs.size, step):
        part = slice(start, start + step)
        G, H = P[xs[part]], P[ys[part]]
        event = (scaled[:, ys[part]] < G).astype(np.float64)
        p, alpha = np.einsum("pb,rpb->rp", G, event), np.einsum("pb,rpb->rp", H, event)
        found = _estimate(p, alpha, sums[xs[part]], sums[ys[part]], epsilon)
        for row, caution in zip(scores, cautions, strict=True):
            row[part] = _score(*found, caution).max(axis=0)
    kept = np.unique(np.argpartition(-scores, _KEPT_PAIRS, axis=1)[:, :_KEPT_PAIRS])
    return xs[kept], ys[kept]
