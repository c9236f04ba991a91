"""Maximise ``Σ W_m ln λ_m(ε_m)`` under ``Σ ε_m = total`` and bounds, exactly.

The objective is separable and concave, so all budgets off their bounds have the same weighted slope
ν; each budget is a closed form of ν, and ν is found by bisection of its logarithm.
"""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray, IntArray, log_zero_ok
from seepage.collect._response_curve import budget_at_slope

STEPS = 110
"""Most halvings; the bracket is far below rounding by then."""


def fill(
    weights: FloatArray, sizes: IntArray, low: FloatArray, high: FloatArray, total: float
) -> FloatArray:
    """Return the best budgets, shape (…, d).

    Parameters
    ----------
    weights : array of float, shape (…, d)
        0 or more; without any weight the budgets share the total as if all were 1.
    sizes : array of int, shape (d,)
        2 or more.
    low, high : arrays of float, shape (d,)
        ``0 ≤ low ≤ high ≤ ∞``.
    total : float
        Finite, between the sums of the bounds.
    """
    weights = np.where(weights.sum(axis=-1, keepdims=True) > 0, weights, 1.0)
    logs = log_zero_ok(weights / weights.max(axis=-1, keepdims=True))
    if total <= low.sum():
        return np.broadcast_to(low, weights.shape).copy()
    if total >= high.sum():
        return np.broadcast_to(high, weights.shape).copy()

    def budgets(level: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            free = budget_at_slope(level[..., np.newaxis] - logs, sizes)
        return np.clip(np.where(np.isneginf(logs), 0.0, free), low, high)

    # Above the first level no budget passes its share of what the minima leave; below the second
    # every weighted budget alone has the whole total, or stands at its maximum.
    share = len(sizes) / (total - low.sum())
    above = np.full(weights.shape[:-1], np.log1p(share))
    below = np.where(np.isneginf(logs), 0.0, logs).min(axis=-1) - total - 60.0
    for _ in range(STEPS):
        middle = (above + below) / 2
        enough = budgets(middle).sum(axis=-1) >= total
        below = np.where(enough, middle, below)
        above = np.where(enough, above, middle)
        if (above - below <= 1e-15 * np.maximum(1.0, np.abs(above))).all():
            break
    return settle(budgets(above), low, high, total)


def settle(x: FloatArray, low: FloatArray, high: FloatArray, total: float) -> FloatArray:
    """Give what rounding left over to budgets between their bounds, then to any below its own."""
    for _ in range(4):
        rest = total - x.sum(axis=-1, keepdims=True)
        inner = ((x > low) | (rest > 0)) & (x < high)
        first = (x > low) & inner
        chosen = np.where(first.any(axis=-1, keepdims=True), first, inner)
        count = np.maximum(chosen.sum(axis=-1, keepdims=True), 1)
        x = np.clip(x + np.where(chosen, rest / count, 0.0), low, high)
    return x
