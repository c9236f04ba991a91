"""The numbers of a triad and its curve, evaluated without overflow or cancellation."""

from __future__ import annotations

import math

import numpy as np

from seepage import _envelope
from seepage._numeric import FloatArray
from seepage.leakage.robust import robust_total_variation
from seepage.tradeoff import PiecewiseLinear

HUGE = 1e100
"""From here on a quotient may have overflowed, and the difference of logarithms is exact enough."""


def parameters(lower: FloatArray, upper: FloatArray) -> dict[str, float]:
    """α, δ and φ over ordered pairs of different rows of an interval table."""
    alpha = _largest_log_ratio(lower, upper)
    phi = _total_variation(lower) if lower is upper else robust_total_variation(lower, upper)
    # Rounding apart, φ cannot exceed what α and δ allow; δ cannot exceed φ for an exact table.
    delta = min(float(unshared_mass(lower, upper).max()), phi)
    return {"alpha": alpha, "delta": delta, "phi": phi}


def _largest_log_ratio(lower: FloatArray, upper: FloatArray) -> float:
    """Largest ``ln(u[x, i]/l[x', i])`` over x ≠ x' and cells with l[x', i] > 0; at least 0."""
    if len(lower) == 1:
        return 0.0
    floor = np.where(lower > 0, lower, np.inf)
    columns = np.arange(lower.shape[1])
    top, bottom = np.argsort(-upper, axis=0)[:2], np.argsort(floor, axis=0)[:2]
    high, low = upper[top, columns], floor[bottom, columns]
    # Where one row has both extremes, one of them must give way to the second best.
    same = top[0] == bottom[0]
    log_ratios = np.where(
        same,
        np.maximum(_log_quotient(high[0], low[1]), _log_quotient(high[1], low[0])),
        _log_quotient(high[0], low[0]),
    )
    return float(log_ratios.max(initial=0.0))


def _log_quotient(high: FloatArray, low: FloatArray) -> FloatArray:
    """``max(0, ln(high/low))`` without cancellation near 1 and without overflow; 0 for low = ∞."""
    usable = np.isfinite(low) & (high > low)
    h, v = np.where(usable, high, 1.0), np.where(usable, low, 1.0)
    with np.errstate(over="ignore"):
        excess = (h - v) / v
    return np.where(excess < HUGE, np.log1p(excess), np.log(h) - np.log(v))


def pair_log_ratios(P: FloatArray) -> FloatArray:
    """Largest ``ln(P[x, i]/P[x', i])`` of every ordered pair over cells with P[x', i] > 0."""
    # A probability is at most 1, so that cells with P[x', i] = 0 give no excess over a floor of 1.
    floor = np.where(P > 0, P, 1.0)
    excess = np.empty((len(P), len(P)))
    with np.errstate(over="ignore"):
        for row, best in zip(P, excess, strict=True):
            quotients = row - floor
            quotients /= floor
            quotients.max(axis=1, initial=0.0, out=best)
    ratios = np.log1p(excess, where=excess < HUGE, out=np.zeros_like(excess))
    for x, y in np.argwhere(excess >= HUGE):
        ratios[x, y] = _log_quotient(P[x], np.where(P[y] > 0, P[y], np.inf)).max()
    return ratios


def unshared_mass(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Σ over cells with l[x', i] = 0 of u[x, i], for ordered pairs x ≠ x'; shape (a, a)."""
    mass = upper @ (lower == 0).T.astype(np.float64)
    np.fill_diagonal(mass, 0.0)
    return np.asarray(mass)


def _total_variation(P: FloatArray) -> float:
    """Largest total variation distance of two rows."""
    if len(P) == 1:
        return 0.0
    table, error = _envelope.support_all(P, 0.0)
    # The fast pass has an absolute error; the pairs that may be best are added up cell by cell.
    xs, ys = np.nonzero((table >= table.max() - 2 * error) & ~np.eye(len(P), dtype=bool))
    return min(1.0, float(_envelope.support(P, xs, ys, 0.0).max(initial=0.0)))


def crossing_rate(alpha: float, delta: float, phi: float) -> float:
    """``(φ − δ)/(e^α − 1)``, rounded down where numbers get sparse."""
    if phi <= delta or alpha == 0:
        return 0.0
    value = (phi - delta) * math.exp(-alpha) / -math.expm1(-alpha)
    # A smaller false-alarm rate is the safe side; below 1e-300 rounding would be visible.
    return value if value > 1e-300 else math.nextafter(value, 0.0)


def beta_of(alpha: float, delta: float, phi: float) -> float:
    if phi <= delta:
        return 0.0
    crossing = crossing_rate(alpha, delta, phi)
    # Exactly, 1 − g' − φ ≥ g'; it is kept so under rounding.
    below = max(1.0 - crossing - phi, crossing)
    return math.log1p((phi - delta) / below) if below > 0 else math.inf


def two_slopes(alpha: float, gamma: float, delta: float) -> tuple[float, float]:
    """Vertex (g', gap) where ``power = e^α a + δ`` meets ``1 − a = e^γ (1 − power) + δ``."""
    if alpha + gamma == 0:
        return 0.0, delta
    share = (1 - delta) * math.expm1(-gamma) / math.expm1(-(alpha + gamma))
    return share * math.exp(-alpha), delta + share * -math.expm1(-alpha)


def calibrated_gap(alpha: float, delta: float, s: float, t: float) -> float:
    """Gap of the vertex where ``power = e^α a + δ`` meets ``power = (1 + t·s)·a + s``.

    Rounded to the safe side: the numerator up, the denominator down.
    """
    numerator = s - delta + 1e-15 * (s + delta)
    one, scaled = -math.expm1(-alpha), math.exp(-alpha) * t * s
    denominator = one - scaled - 1e-15 * (one + scaled)
    if denominator <= 0:
        return 1.0
    return min(1.0, delta + one * max(numerator, 0.0) / denominator)


def curve(crossing: float, gap: float, delta: float) -> PiecewiseLinear:
    """Curve through (0, δ) and (g', g' + gap), and their reflections, which swapping x, x' adds.

    A reflection keeps the gap at a higher false-alarm rate, so the leakage is that of the first
    two.
    """
    mirrored = max(crossing, 1.0 - crossing - gap)
    rates = np.array([0.0, 0.0, crossing, mirrored, 1.0 - delta, 1.0])
    gaps = np.minimum([0.0, delta, gap, gap, delta, 0.0], 1.0 - rates)
    kept = _envelope.upper_hull(rates, gaps)
    return PiecewiseLinear(rates[kept], gaps[kept])
