"""The upper concave hull of the Neyman–Pearson curves of all ordered pairs of rows.

In the coordinates (α, gap), gap = power − α, the support function over events S,

    h(s) = max_S [G(S) − (1 + s)·G'(S)] = max over vertices of (gap − s·α),

costs one pass over the outcomes, without sorting. Small tables are solved here by asking for the
best corner in the direction of every edge, until no edge can be improved; large ones in `_search`.
Only s ≥ 0 is searched, the part of the curve that rises: swapping the rows of a pair reflects its
curve, so the other half of the envelope is the mirror image.
"""

from __future__ import annotations

import numpy as np

from seepage._hull import (
    BLOCK,
    Hull,
    clipped_curves,
    event_of,
    hull_of_pairs,
    max_finite_ratio,
    named_pairs,
    pair_columns,
    sorted_curves,
    upper_hull,
)
from seepage._numeric import BoolArray, FloatArray, IntArray, log_ratio
from seepage._search import (
    ROUNDING,
    Search,
    best_pairs,
    score_points,
    support,
    support_all,
)

__all__ = [
    "Hull",
    "best_event",
    "envelope",
    "hull_of_pairs",
    "max_finite_ratio",
    "sorted_curves",
    "support",
    "support_all",
    "upper_hull",
]

SMALL = 250_000
"""Up to this many numbers (rows² × outcomes), evaluating all pairs each time is the fastest way."""


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
        xs, ys = Search(distinct, tolerance).run()
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
        xs, ys = best_pairs(distinct, epsilon, top)
    alpha, gap, order = clipped_curves(distinct, xs, ys)
    values = log_ratio(alpha, gap, np.array(epsilon))
    index, size = divmod(int(values.argmax()), b + 1)
    if not values[index, size] > 0:
        return 0.0, 0.0, (-1, -1), np.zeros(b, dtype=bool)
    x, y = int(xs[index]), int(ys[index])
    event = event_of(order[index, :size], distinct[x])
    return float(alpha[index, size]), float(gap[index, size]), (int(first[x]), int(first[y])), event


def _distinct_rows(P: FloatArray) -> tuple[FloatArray, IntArray]:
    """Different rows and where each one is first found, in that order."""
    seen: dict[bytes, int] = {}
    for index, row in enumerate(P + 0.0):  # −0 becomes 0
        seen.setdefault(row.tobytes(), index)
    first = np.fromiter(seen.values(), dtype=np.int64, count=len(seen))
    return P[first], first


def _pairs_by_sorting(P: FloatArray) -> tuple[IntArray, IntArray]:
    """Pairs that make the envelope, by sorting every pair: slow, without any condition on P."""
    a, b = P.shape
    step = max(1, BLOCK // b)
    found: set[tuple[int, int]] = set()
    for start in range(0, a * a, step):
        xs, ys = np.divmod(np.arange(start, min(start + step, a * a)), a)
        found |= named_pairs(hull_of_pairs(P, xs[xs != ys], ys[xs != ys]))
    return pair_columns(found)


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
        return pair_columns({pair for pair in self.found if pair[0] != pair[1]})

    def best(self, epsilon: float) -> tuple[IntArray, IntArray]:
        """Pairs of which one attains the largest leakage at `epsilon`."""
        points = [self.proof(), self.corner(0.0)]
        score, s = -np.inf, 0.0
        while True:
            new_score, s, _, _ = score_points(
                np.array(points)[:, 0], np.array(points)[:, 1], epsilon
            )
            if not new_score > score or not np.isfinite(s):
                return pair_columns({pair for pair in self.found if pair[0] != pair[1]})
            score = new_score
            points.append(self.corner(s))
