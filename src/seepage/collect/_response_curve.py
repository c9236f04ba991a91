"""The retention λ(ε) of k-ary randomised response: its logarithm, slopes and their inverse.

``λ(ε) = (e^ε − 1)/(e^ε + r − 1)``; ``ln λ`` is concave and increasing, which is what makes the
allocation of budgets tractable. All functions work on arrays that broadcast, for sizes r ≥ 2.
"""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray, IntArray


def retention_curve(epsilon: FloatArray, sizes: IntArray) -> FloatArray:
    """λ in [0, 1]; 1 for one category, which has nothing to lose."""
    away = np.exp(-epsilon)
    with np.errstate(invalid="ignore"):
        kept = -np.expm1(-epsilon) / (1 + (sizes - 1) * away)
    return np.where(sizes == 1, 1.0, kept)


def log_retention(epsilon: FloatArray, sizes: IntArray) -> FloatArray:
    """``ln λ`` in [−∞, 0], without cancellation at either end."""
    away = np.exp(-epsilon)
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(-epsilon)) - np.log1p((sizes - 1) * away)
        far = np.log1p(-sizes * away / (1 + (sizes - 1) * away))  # 1 − λ is small
    return np.where(sizes == 1, 0.0, np.where(sizes * away < 0.5, far, near))


def slope(epsilon: FloatArray, sizes: IntArray) -> FloatArray:
    """Derivative of ``ln λ``: ``r e^ε / ((e^ε − 1)(e^ε + r − 1))``; ∞ at ε = 0."""
    away = np.exp(-epsilon)
    with np.errstate(divide="ignore"):
        return np.asarray(sizes * away / (-np.expm1(-epsilon) * (1 + (sizes - 1) * away)))


def curvature(epsilon: FloatArray, sizes: IntArray) -> FloatArray:
    """Second derivative of ``ln λ``, negative."""
    away = np.exp(-epsilon)
    bend = away / -np.expm1(-epsilon) + 1 / (1 + (sizes - 1) * away)
    return np.asarray(-slope(epsilon, sizes) * bend)


def budget_at_slope(log_slope: FloatArray, sizes: IntArray) -> FloatArray:
    """Inverse of `slope`, from the logarithm of the slope.

    With κ the slope and ``p = e^ε − 1``, ``κ p² + (κ − 1) r p − r = 0``; its positive root is
    written so that nothing cancels for either sign of κ − 1.
    """
    kappa = np.exp(np.clip(log_slope, -600.0, 600.0))
    middle = (kappa - 1) * sizes
    with np.errstate(over="ignore", divide="ignore"):  # of the two forms one is right
        root = np.hypot(middle, 2 * np.sqrt(kappa * sizes))
        excess = np.where(middle >= 0, 2 * sizes / (middle + root), (root - middle) / (2 * kappa))
    return np.where(
        log_slope < -600,
        np.log(sizes) - log_slope,
        np.where(log_slope > 600, np.exp(-log_slope), np.log1p(excess)),
    )
