"""One pair of rows: its Neyman–Pearson curve, and upper concave hulls of several curves.

A curve is held in the sheared coordinates (α, gap) with gap = power − α, which keeps full relative
precision when two rows are close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray

BLOCK = 1 << 18  # numbers per block of gathered rows; three such arrays stay in the cache


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


def clipped_curves(
    P: FloatArray, xs: IntArray, ys: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """`sorted_curves` of pairs of rows, within 0 ≤ α ≤ α + gap ≤ 1 in spite of rounding."""
    alpha, gap, order = sorted_curves(P[xs], P[ys])
    # A sum that misses 1 by rounding alone is no vertex beside (1, 1).
    alpha = np.where(alpha > 1.0 - 8 * np.finfo(np.float64).eps, 1.0, alpha)
    return alpha, np.clip(gap, 0.0, 1.0 - alpha), order


def event_of(outcomes: IntArray, alternative: FloatArray) -> BoolArray:
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
    alpha, gap, order = clipped_curves(P, xs, ys)
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
        events[row] = event_of(order[pair, : size + 1], P[xs[pair]])
    return Hull(points_alpha[kept], points_gap[kept], pairs, events)


def max_finite_ratio(P: FloatArray) -> float:
    """Largest P[x, i]/P[x', i] over cells with P[x', i] > 0; at least 1, ∞ if out of range."""
    high = P.max(axis=0)
    low = np.where(P > 0, P, np.inf).min(axis=0)
    used = high > 0
    with np.errstate(over="ignore"):
        return float((high[used] / low[used]).max(initial=1.0))


def named_pairs(hull: Hull) -> set[tuple[int, int]]:
    return {(x, y) for x, y in hull.pairs.tolist() if x >= 0}


def pair_columns(pairs: set[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
