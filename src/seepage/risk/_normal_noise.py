"""The sum of a normal and a Laplace variable: tails, and tests of a shift.

With ``z = x/s`` and ``r = s/b`` (s the standard deviation of the normal part, b the scale of the
Laplace part), the convolution integral gives, for x ≥ 0,

``P(X > x) = Φ(−z) + ½[e^{r²/2 − x/b} Φ(z − r) − e^{r²/2 + x/b} Φ(−z − r)]``.

The exponentials overflow long before their products do, so the products are written with the scaled
complementary error function: ``e^{r²/2 − x/b} Φ(z − r) = ½ e^{−z²/2} erfcx((r − z)/√2)``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray

_NORMAL_ONLY = 1e8
"""From this r on the Laplace part changes nothing in double precision: b²/s² < 1e-16."""


def tail(x: ArrayLike, s: float, b: float) -> FloatArray:
    """``P(X > x)`` of normal (sd `s`) plus Laplace (scale `b`); not both 0, both finite."""
    from scipy.special import erfcx, ndtr

    value = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        if b == 0 or s / b > _NORMAL_ONLY:
            return np.asarray(ndtr(-value / s))
        y = np.abs(value)
        if s == 0:
            upper = 0.5 * np.exp(-y / b)
        else:
            z, r = y / s, s / b
            bell = np.exp(-z * z / 2)
            u = r - z
            near = 0.5 * bell * erfcx(np.maximum(u, -5.0) / math.sqrt(2))
            far = np.exp(np.minimum(r * r / 2 - y / b, 0.0)) * ndtr(-u)
            grows = np.where(u > -5, near, far)
            falls = 0.5 * bell * erfcx((z + r) / math.sqrt(2))
            upper = ndtr(-z) + 0.5 * (grows - falls)
    return np.asarray(np.where(value >= 0, upper, 1 - upper))


def critical(probability: float, s: float, b: float) -> float:
    """The x with ``P(X > x) = probability``; ±∞ at 0 and 1."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    if probability <= 0 or probability >= 1:
        return math.inf if probability <= 0 else -math.inf
    if probability > 0.5:
        return -critical(1 - probability, s, b)
    if probability == 0.5:
        return 0.0
    if b == 0 or s / b > _NORMAL_ONLY:
        return float(-s * ndtri(probability))
    if s == 0:
        return -b * math.log(2 * probability)
    # X exceeds x only when one of its parts exceeds x/2.
    high = 2 * max(-s * float(ndtri(probability / 2)), -b * math.log(probability))
    target = math.log(probability)

    def gap(x: float) -> float:
        value = float(tail(x, s, b))
        return (math.log(value) if value > 0 else -1e4) - target

    return float(brentq(gap, 0.0, high, xtol=1e-15 * high, rtol=1e-15))


def shift_power(
    effect: float, s: tuple[float, float], b: float, probability: float, *, two_sided: bool
) -> tuple[float, float]:
    """Power and type II error of a test for a shift that knows the law of its noise.

    Parameters
    ----------
    effect : float
        The shift, positive in the direction looked for.
    s : pair of float
        Standard deviation of the normal part under the null and under the alternative.
    b : float
        Scale of the Laplace part.
    probability : float
        In each tail that is used.
    two_sided : bool
    """
    c = critical(probability, s[0], b)
    power, missed = float(tail(c - effect, s[1], b)), float(tail(effect - c, s[1], b))
    if two_sided:
        other = float(tail(c + effect, s[1], b))
        return power + other, missed - other
    return power, missed
