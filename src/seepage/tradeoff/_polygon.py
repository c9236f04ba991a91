"""Polygons around a curve, from lines that it does not cross.

Each (ε, δ) of a privacy profile is such a line, ``power ≤ δ + e^ε·α``, and so is its reflection
``1 − α ≤ δ + e^ε·(1 − power)``.
"""

from __future__ import annotations

import math

import numpy as np

from seepage._numeric import FloatArray
from seepage.results import Standing
from seepage.tradeoff._common import SMALLEST
from seepage.tradeoff.base import Failure
from seepage.tradeoff.piecewise import PiecewiseLinear, from_points

STEEPEST = 700.0
"""Lines of a slope beyond e^700 say nothing that α = 0 does not."""
_BEFORE_ONE = float(np.nextafter(1.0, 0.0))
_SAFE = 2 * np.finfo(np.float64).eps


def from_support(
    epsilon: FloatArray,
    delta: FloatArray,
    adjacency: str,
    *,
    error: float = 0.0,
    assumptions: tuple[str, ...] = (),
    kind: Failure | None = None,
) -> PiecewiseLinear:
    """Polygon of all points that no line and no reflection excludes.

    Parameters
    ----------
    epsilon, delta : arrays of float, shape (m,)
        ε ascending; rounding goes to the side of a higher curve.
    kind : {"none", "graceful"}, optional
        Class of what the lines are around, where they cannot show it.
    """
    kept = epsilon <= STEEPEST
    rows = _lower_hull(epsilon[kept].tolist(), delta[kept].tolist())
    e, d = epsilon[kept][rows], delta[kept][rows]
    with np.errstate(under="ignore"):
        # Where two lines meet, in the order of ε.
        rise = np.exp(e[:-1]) * np.expm1(np.diff(e))
        alpha = (d[:-1] - d[1:]) / rise
        gap = d[:-1] + np.expm1(e[:-1]) * alpha
        # On the axis of reflection, α + power = 1, the lowest line counts.
        corner = float(((1 - d) / (2 + np.expm1(e))).max(initial=0.0))
    inside = 2 * alpha + gap < 1
    # At α = 0 the steepest line counts. Without any, a test may have power 1 at every rate.
    first = float(d[-1]) if d.size else 1.0
    alpha = np.concatenate((alpha[inside], [0.0, corner]))
    gap = np.concatenate((gap[inside], [first, 1 - 2 * corner]))
    # A vertex further left and higher can only raise the hull.
    moved = alpha * (1 - _SAFE)
    raised = (gap + (alpha - moved)) * (1 + _SAFE) + (alpha > 0) * SMALLEST
    gap = np.where(gap > 0, raised, 0.0)
    gap = np.clip(gap, 0.0, 1.0 - moved)
    # The distance of a power from 1 is rounded up: where the slope is below 1, a vertex further
    # right with the same gap is higher. What would reach 1 keeps a power of 1 one step before it.
    mirrored = np.nextafter(np.nextafter(1.0 - moved - gap, 2.0), 2.0)
    last = (mirrored >= 1) & (gap > 0)
    mirrored = np.maximum(np.where(last, _BEFORE_ONE, np.minimum(mirrored, 1.0)), corner)
    return from_points(
        np.concatenate((moved, mirrored)),
        np.concatenate((gap, np.where(last, 1 - _BEFORE_ONE, gap))),
        adjacency=adjacency,
        standing=Standing.UPPER,
        error=error,
        assumptions=assumptions,
        kind=kind,
    )


def lifted(polygon: PiecewiseLinear) -> PiecewiseLinear:
    """The polygon higher by what rounding may take from a power read between two vertices."""
    alpha, gap = polygon.alpha, polygon.gap
    raised = np.where(gap > 0, gap + _SAFE * (alpha + gap), 0.0)
    return from_points(
        alpha,
        np.minimum(raised, 1.0 - alpha),
        adjacency=polygon.adjacency,
        standing=polygon.standing,
        kind=polygon.kind,
    )


def _lower_hull(epsilon: list[float], delta: list[float]) -> list[int]:
    """Lines that count somewhere: vertices of the lower convex hull of the points (e^ε, δ)."""
    kept: list[int] = []
    for i, (e, d) in enumerate(zip(epsilon, delta, strict=True)):
        if kept and d >= delta[kept[-1]]:
            continue  # steeper and not lower
        if kept and e == epsilon[kept[-1]]:
            kept.pop()
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            left = math.expm1(epsilon[b] - epsilon[a]) * (delta[a] - d)
            right = math.expm1(e - epsilon[a]) * (delta[a] - delta[b])
            if left < right:
                break
            kept.pop()
        kept.append(i)
    return kept


def excess_over(polygon: PiecewiseLinear, inner: FloatArray) -> float:
    """Largest height of the polygon, as it is read, above a concave curve, at its vertices.

    Between two vertices a line minus a concave function is convex, so that the largest difference
    is at a vertex.
    """
    return float(max((polygon.power(polygon.alpha) - inner).max(), 0.0))
