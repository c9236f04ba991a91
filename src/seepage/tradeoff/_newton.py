"""Roots of many increasing functions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seepage._numeric import FloatArray

_STEPS = 200


def increasing_root(
    function: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """Newton's method, kept in a bracket and replaced by bisection where it leaves it.

    Parameters
    ----------
    function : callable
        Gives value and slope, element by element; increasing, not above 0 at `low`, not below 0 at
        `high`.
    low, high : array of float
        Of one shape.

    Returns
    -------
    array of float
        To the last digits.
    """
    low, high = low.copy(), high.copy()
    x = high.copy()
    width = high - low
    for _ in range(_STEPS):
        value, slope = function(x)
        low = np.where(value <= 0, x, low)
        high = np.where(value >= 0, x, high)
        with np.errstate(all="ignore"):
            step = x - value / slope
        # A step that stays inside but leaves most of the bracket is slow: halve in its place.
        slow = high - low > width / 2
        width = np.where(slow, width / 2, high - low)
        inside = (step > low) & (step < high)
        after = np.where(inside, step, low + (high - low) / 2)
        small = np.abs(after - x) <= 4e-16 * np.abs(x)
        x = after
        if (small | (high <= low)).all():
            break
    return x
