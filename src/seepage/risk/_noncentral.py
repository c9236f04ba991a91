"""Tails of the noncentral t by quadrature, for any noncentrality, and of what is built on it.

``T = (Z + δ)/S`` with Z standard normal and S = √(χ²_ν/ν), so ``P(T > c) = E Φ(δ − cS)``. The
integral over S is split where the integrand turns (within ±8 of δ = cS) and where the density of S
lives, and each piece is done by Gauss–Legendre. That is accurate to about 1e-14 absolute, and gives
the complement with its own digits.
"""

from __future__ import annotations

import math

import numpy as np

from seepage._numeric import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_SPREAD = np.array([-12, -8, -6, -4.5, -3, -2, -1, 0, 1, 2, 3, 4.5, 6, 8, 12])
_COARSE = np.array([-10, -5, -2.5, 0, 2.5, 5, 10])
_TURN = np.array([-9, -6, -4, -2, -1, 0, 1, 2, 4, 6, 9])


def t_critical(probability: float, df: float) -> float:
    """The c with ``P(T_ν > c) = probability``; ±∞ at 0 and 1."""
    from scipy.special import stdtrit

    if probability <= 0 or probability >= 1:
        return math.inf if probability <= 0 else -math.inf
    return float(-stdtrit(df, probability))


def scale_rule(
    df: float, breaks: FloatArray, spread: FloatArray = _SPREAD
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for means over S = √(χ²_ν/ν).

    Parameters
    ----------
    df : float
        ν ≥ 1.
    breaks : array, shape (..., m)
        Further points to split at.
    spread : array
        Points to split at around 1, in standard deviations of S.

    Returns
    -------
    nodes, weights : arrays, shape (..., q)
        The weights sum to 1.
    """
    spread = np.maximum(1 + spread / math.sqrt(2 * df), 0.0)
    limits = np.clip(breaks, spread[0], spread[-1])
    shape = (*limits.shape[:-1], spread.size)
    edges = np.sort(np.concatenate([np.broadcast_to(spread, shape), limits], axis=-1), axis=-1)
    half = np.diff(edges, axis=-1)[..., np.newaxis] / 2
    centre = (edges[..., 1:] + edges[..., :-1])[..., np.newaxis] / 2
    s = (centre + half * _NODES).reshape(*limits.shape[:-1], -1)
    x = s - 1
    # Pieces without length may lie at 0; they have no weight.
    log_s = np.where(s > 0.5, np.log1p(np.maximum(x, -0.5)), np.log(np.maximum(s, 1e-300)))
    logs = df * (log_s - x - x * x / 2) - log_s
    density = np.exp(logs - logs.max(axis=-1, keepdims=True))
    weights = (half * _WEIGHTS).reshape(s.shape) * density
    return s, weights / weights.sum(axis=-1, keepdims=True)


def t_power(
    noncentrality: FloatArray, df: float, probability: float, *, two_sided: bool
) -> tuple[FloatArray, FloatArray]:
    """Power and type II error of a t test, for an array of noncentralities of any shape."""
    from scipy.special import ndtr

    delta = np.asarray(noncentrality, dtype=np.float64)
    c: float = t_critical(probability, df)
    ones = np.ones(delta.shape)
    if c == math.inf:
        return np.zeros(delta.shape), ones
    if c == -math.inf or (two_sided and c == 0):
        return ones, np.zeros(delta.shape)
    if c == 0:
        positive, negative = ndtr(delta), ndtr(-delta)
        return np.asarray(positive), np.asarray(negative)
    # Tail above c, and for a two-sided test the tail below −c.
    with np.errstate(over="ignore"):
        breaks = (delta[..., np.newaxis] + _TURN) / c
        if two_sided:
            breaks = np.concatenate([breaks, (-delta[..., np.newaxis] + _TURN) / c], axis=-1)
        s, weights = scale_rule(df, breaks)
        z = delta[..., np.newaxis] - c * s
        power = (weights * ndtr(z)).sum(axis=-1)
        if not two_sided:
            return power, (weights * ndtr(-z)).sum(axis=-1)
        other = ndtr(-delta[..., np.newaxis] - c * s)
    missed = (weights * np.maximum(ndtr(-z) - other, 0.0)).sum(axis=-1)
    return power + (weights * other).sum(axis=-1), missed


def correlation_power(
    rho: float, n: int, probability: float, *, two_sided: bool
) -> tuple[float, float]:
    """Power and type II error of the t test of a correlation for normal pairs.

    Given the first attribute the statistic is noncentral t with ``δ = ρ/√(1−ρ²)·√V``, V ~ χ²_{n−1}.
    """
    if abs(rho) >= 1:
        found = probability > 0 and (rho > 0 or two_sided)
        return (1.0, 0.0) if found or probability >= 1 else (0.0, 1.0)
    theta = rho / math.sqrt((1 - rho) * (1 + rho))
    v, weights = scale_rule(n - 1.0, np.empty(0), _COARSE)
    keep = weights > 1e-20
    v, weights = v[keep], weights[keep]
    power, missed = t_power(theta * math.sqrt(n - 1) * v, n - 2.0, probability, two_sided=two_sided)
    return float(weights @ power), float(weights @ missed)
