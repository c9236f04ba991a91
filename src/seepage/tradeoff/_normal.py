"""Numerics of the Gaussian curve: quantiles, tails, and the privacy profile as a logarithm.

With a = ε/μ − μ/2 and b = a + μ the profile is ``δ(ε) = Q(a) − e^ε Q(b)`` (Q: upper tail of the
standard normal), a difference of numbers that may agree in nearly all digits. As ``e^ε φ(b) =
φ(a)``, it is ``φ(a)·[R(a) − R(b)]`` with Mills' ratio R = Q/φ, and R(a) − R(b) is the integral of
``1 − x·R(x)`` from a to b, which has no cancellation when a and b are close.
"""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray, extremes_allowed

_LOG_ROOT_2PI = 0.9189385332046727
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_SERIES_FROM = 12.0


def mills(x: FloatArray) -> FloatArray:
    """``Q(x)/φ(x)``, for x above −35."""
    from scipy.special import erfcx

    return np.asarray(np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2)))


def mills_slope(x: FloatArray) -> FloatArray:
    """``1 − x·R(x)``, minus the derivative of Mills' ratio, without cancellation."""
    far = x > _SERIES_FROM
    y = np.where(far, x, _SERIES_FROM)
    # Asymptotic series Σ (−1)^k (2k + 1)!! / x^(2k + 2); at x ≥ 12 its terms fall below 1e-17.
    term = 1 / (y * y)
    total = term.copy()
    for k in range(1, 20):
        term = -term * (2 * k + 1) / (y * y)
        total += term
    z = np.where(far, 0.0, x)
    return np.where(far, total, 1 - z * mills(z))


@extremes_allowed
def log_profile(epsilon: FloatArray, mu: float) -> FloatArray:
    """``ln δ(ε)`` of the Gaussian curve, 0 < μ < ∞; −∞ at ε = ∞."""
    from scipy.special import ndtr

    a, low = _difference(epsilon, mu)
    low = np.where(np.abs(a) < 1e15, low, 0.0)
    a = np.clip(a, -1e154, 1e154)  # so that its square is finite
    b = a + mu
    finite = np.isfinite(epsilon)
    a, b = np.where(finite, a, 0.0), np.where(finite, b, mu)
    left = a < -1  # then δ is near 1 and μ above 2
    x = np.where(left, 0.0, a)
    near = mu <= np.maximum(x, 1.0)  # then the difference of the ratios would lose digits
    nodes = x[..., np.newaxis] + mu * (1 + _NODES) / 2
    inner = np.where(near, mu / 2 * (mills_slope(nodes) @ _WEIGHTS), mills(x) - mills(b))
    above = -x * x / 2 - x * low - _LOG_ROOT_2PI + np.log(inner)
    density = np.exp(-a * a / 2 - a * low - _LOG_ROOT_2PI)
    below = np.log1p(-(ndtr(a) + density * mills(b)))
    return np.where(finite, np.where(left, below, above), -np.inf)


def _difference(epsilon: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
    """``ε/μ − μ/2`` as a sum of two numbers, as a large one is squared in an exponent."""
    quotient = epsilon / mu
    head, tail = _product(quotient, mu)
    rest = ((epsilon - head) - tail) / mu
    half = mu / 2
    a = quotient - half
    shifted = a - quotient
    lost = (quotient - (a - shifted)) + (-half - shifted)
    low = rest + lost
    return a, low


def _product(x: FloatArray, y: float) -> tuple[FloatArray, FloatArray]:
    """``x·y`` and the rounding error of it (Dekker 1971)."""
    split = 134217729.0
    xh = x * split - (x * split - x)
    yh = y * split - (y * split - y)
    xl, yl = x - xh, y - yh
    product = x * y
    return product, ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def upper_quantile(alpha: FloatArray) -> FloatArray:
    """The z with ``Q(z) = α``; ±∞ at the ends."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(alpha))


def upper_tail(z: FloatArray) -> FloatArray:
    """``Q(z)``."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))
