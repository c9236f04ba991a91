"""The largest argument at which an increasing function does not exceed zero."""

from __future__ import annotations

import math
from collections.abc import Callable


def largest_feasible(
    excess: Callable[[float], float], low: float, high: float, tolerance: float = 0.0
) -> float:
    """Largest x in [low, high] with ``excess(x) ≤ 0``, on the safe side.

    False position with halved weights (the Illinois rule), and bisection where that is slow or a
    value is infinite.

    Parameters
    ----------
    excess : callable
        Does not decrease; may be ∞.
    low, high : float
        Finite. When even ``excess(low)`` is positive, `low` is returned.
    tolerance : float
        Stop when ``excess(x) ≥ −tolerance``; by default x is found to the last digits.

    Returns
    -------
    float
    """
    if excess(high) <= 0:
        return high
    f_low, f_high = excess(low), math.inf
    if f_low > 0:
        return low
    side = slow = 0
    while f_low < -tolerance:
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 4e-16 * abs(high):
            break
        if math.isfinite(f_high) and slow < 3:
            secant = low - f_low * (high - low) / (f_high - f_low)
            if low < secant < high:
                middle = secant
        width = high - low
        value = excess(middle)
        if value <= 0:
            low, f_low = middle, value
            f_high, side = (f_high / 2 if side == -1 else f_high), -1
        else:
            high, f_high = middle, value
            f_low, side = (f_low / 2 if side == 1 else f_low), 1
        slow = slow + 1 if high - low > width / 2 else 0
    return low
