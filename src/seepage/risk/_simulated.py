"""Power where no closed form exists: simulation, smoothed over the noise whose law is known.

Only the part without a closed form is drawn; the tail of the rest is computed given it. The same
draws give the critical value and the power, so results change smoothly with every parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from seepage._numeric import FloatArray
from seepage.results import Standing
from seepage.risk._normal_noise import tail
from seepage.risk._outcome import DROWNED, Level, Outcome, clipped, powerless
from seepage.risk.protections import Noise

ENOUGH = 20
"""Draws that must share the alarms under the null, so that they tell the critical value."""

TOO_FEW = (
    "The level is so small that few draws give an alarm: the critical value, and with it the "
    "power, is hardly known. Ask for more draws."
)

Tail = Callable[[FloatArray], FloatArray]
"""Probability that the smooth part exceeds each of the given values."""


def noisy_products(
    rho: float, n: int, level: Level, protection: Noise, sensitivity: float
) -> Outcome:
    """A test of a correlation by the noisy mean of products of standardised values.

    For normal pairs the sum of products is ``[(1+ρ)A − (1−ρ)B]/2`` with A, B ~ χ²_n, independent.
    """
    s, b = protection.scales(sensitivity)
    if s + b > DROWNED:
        return powerless(level, "pure noise")
    rng = np.random.default_rng(level.seed)
    plus, minus = rng.chisquare(n, (2, level.draws)) / (2 * n)
    if s + b > 1:  # in units of the noise, however much that is
        plus, minus = plus / (s + b), minus / (s + b)
        s, b = s / (s + b), b / (s + b)
    # Little noise, or none: smooth far below the sampling error, √(1/n).
    least = 1e-3 / math.sqrt(n)
    s = max(s, least) if b < least else s
    return smoothed(
        lambda x: tail(x, s, b),
        (plus - minus, (1 + rho) * plus - (1 - rho) * minus),
        np.ones(level.draws),
        level,
        (
            "simulation of the mean product",
            (
                "The two attributes are normal together; values outside the declared ranges are "
                "rare.",
                "Means and standard deviations are public; the mean product of the standardised "
                "values is released.",
            ),
        ),
    )


def smoothed(
    upper: Tail,
    centres: tuple[FloatArray, FloatArray],
    width: FloatArray,
    level: Level,
    words: tuple[str, tuple[str, ...]],
) -> Outcome:
    """Test that rejects when ``centre + noise`` exceeds ``c·width``, with c found under the null.

    Parameters
    ----------
    upper : callable
        Tail of the noise, which is symmetric.
    centres : pair of arrays, shape (draws,)
        Under the null and under the alternative; under the null symmetric around 0 by law.
    width : array, shape (draws,)
    level : Level
    words : pair
        Method and assumptions.
    """
    method, assumptions = words
    null, shifted = centres

    def rejected(c: float, centre: FloatArray) -> FloatArray:
        power = upper(c * width - centre)
        if not level.two_sided:
            return power
        return 2 * power if not centre.any() else power + upper(c * width + centre)

    c = solve(lambda x: float(rejected(x, null).mean()), level)
    if math.isinf(c):
        power = 0.0 if c > 0 else 1.0
        return Outcome(power, 1 - power, method, assumptions=assumptions)
    hit = rejected(c, shifted)
    missed = upper(shifted - c * width)
    if level.two_sided:
        missed = missed - upper(shifted + c * width)
    # The critical value varies with the draws too: subtract its influence, by the ratio of the two
    # densities there. They are taken over a window that holds a fair share of the alarms; a narrow
    # one may hold no draw where the noise is little.
    step, window = 0.01 * max(abs(c), 1e-3), (c, c)
    while True:
        window = (max(c - step, 0.0) if level.two_sided else c - step, c + step)
        sizes = [float(rejected(x, null).mean()) for x in window]
        if sizes[0] - sizes[1] >= level.alpha * (1 - level.alpha) / 4 or step > 1e12:
            break
        step *= 2
    between = [float(rejected(x, shifted).mean()) for x in window]
    fall = sizes[0] - sizes[1]
    ratio = (between[0] - between[1]) / fall if fall > 0 else 0.0
    influence = hit - ratio * rejected(c, null)
    # No number in [0, 1] has a standard deviation above one half.
    error = min(float(influence.std(ddof=1)) / math.sqrt(hit.size), 0.5)
    alarm = rejected(c, null)
    if float(alarm.sum()) ** 2 < ENOUGH * float((alarm * alarm).sum()):
        error, assumptions = 0.5, (*assumptions, TOO_FEW)
    power, beta = clipped(float(hit.mean()), float(missed.mean()))
    return Outcome(power, beta, method, Standing.ESTIMATE, error, assumptions)


def solve(size: Callable[[float], float], level: Level) -> float:
    """The c at which the false-alarm rate `size`, falling in c, is the level."""
    from scipy.optimize import brentq

    if level.alpha <= 0 or level.alpha >= 1:
        return math.inf if level.alpha <= 0 else -math.inf
    low, high = (0.0 if level.two_sided else -1.0), 1.0
    while size(high) > level.alpha and high < 1e12:
        high *= 2
    while not level.two_sided and size(low) < level.alpha and low > -1e12:
        low *= 2
    if level.two_sided and size(low) <= level.alpha:
        return 0.0
    return float(brentq(lambda c: size(c) - level.alpha, low, high, xtol=1e-11, rtol=1e-11))
