"""Tests of a statistic whose law is discrete and known, with noise and without."""

from __future__ import annotations

import functools
import math

import numpy as np

from seepage._numeric import FloatArray
from seepage.risk._counts import Law
from seepage.risk._normal_noise import critical, tail
from seepage.risk._outcome import DROWNED, Level
from seepage.risk.protections import Noise

Shares = tuple[float, float, float]
"""Power, type II error, and the most that both can be off by."""


def lattice_test(null: Law, other: Law, level: Level) -> Shares:
    """A test that keeps its level exactly: it is randomised at the boundary.

    Parameters
    ----------
    null, other : Law
        Of the statistic under the null hypothesis and under the alternative.
    level : Level
    """

    def boundary(law: Law) -> tuple[float, float]:
        """Largest value with more than the level at or above it; how often to reject there."""
        above = np.cumsum(law.masses[::-1])[::-1]
        place = int(np.flatnonzero(above > level.tail)[-1]) if level.tail < above[0] else 0
        mass = float(law.masses[place])
        left = level.tail - (float(above[place]) - mass)
        return float(law.points[place]), min(max(left / mass, 0.0), 1.0)

    points, masses, reach = other.points, other.masses, null.blur + other.blur
    c, share = boundary(null)
    phi = (points > c) + share * (points == c)
    near = np.abs(points - c) <= reach
    if level.two_sided:
        c, share = boundary(null.mirrored())
        phi = np.minimum(phi + (points < -c) + share * (points == -c), 1.0)
        near |= np.abs(points + c) <= reach
    error = float(masses @ near) if reach else 0.0
    return float(masses @ phi), float(masses @ (1 - phi)), error


def noisy_test(null: Law, other: Law, sensitivity: float, level: Level, noise: Noise) -> Shares:
    """A test of the statistic plus noise; parameters as of `lattice_test`."""
    s, b = noise.scales(sensitivity)
    if s + b > DROWNED:
        return level.alpha, 1 - level.alpha, 0.0
    reach = null.blur + other.blur

    def beyond(x: FloatArray) -> float:
        """Probability that the noise exceeds what each value lacks."""
        return float(other.masses @ tail(x, s, b))

    def off(x: FloatArray) -> float:
        """Most that this can be off by."""
        return beyond(x - reach) - beyond(x + reach) if reach else 0.0

    points = other.points
    upper = _critical(null, s, b, level)
    hit, kept, error = beyond(upper - points), beyond(points - upper), off(upper - points)
    if not level.two_sided:
        return hit, kept, error
    lower = -_critical(null.mirrored(), s, b, level)
    low = beyond(points - lower)
    return hit + low, kept - low, error + off(points - lower)


def _critical(null: Law, s: float, b: float, level: Level) -> float:
    """The value that statistic and noise exceed with the probability of one tail."""
    from scipy.optimize import brentq

    if level.tail <= 0 or level.tail >= 1:
        return math.inf if level.tail <= 0 else -math.inf

    @functools.cache
    def gap(c: float) -> float:
        value = float(null.masses @ tail(c - null.points, s, b))
        return (math.log(value) if value > 0 else -1e4) - math.log(level.tail)

    # That of a normal law is near, unless counts are few.
    mean = float(null.masses @ null.points)
    spread = math.sqrt(float(null.masses @ (null.points - mean) ** 2))
    start = mean + critical(level.tail, math.hypot(spread, s), b)
    step = 1e-3 * (spread + s + b)
    low, high = start - step, start + step
    while gap(high) > 0 and step < DROWNED:
        low, step = high, 4 * step
        high += step
    while gap(low) < 0 and step < DROWNED:
        high, step = low, 4 * step
        low -= step
    return float(brentq(gap, low, high, xtol=1e-16 * max(abs(low), abs(high)), rtol=1e-15))
