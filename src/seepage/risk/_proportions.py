"""Power of tests of proportions, by summing over every count.

The exact one-sample test keeps the level exactly: at the boundary count it rejects with the
probability that makes it so. That is the most powerful test, and the only one whose power moves
smoothly with n, ε and μ; method "conservative" never rejects at the boundary.
"""

from __future__ import annotations

import math

import numpy as np

from seepage._numeric import FloatArray
from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.risk._counts import counts_law
from seepage.risk._lattice import noisy_test
from seepage.risk._normal_noise import shift_power
from seepage.risk._outcome import DROWNED, Case, Level, Outcome, clipped, powerless
from seepage.risk.designs import OneProportion
from seepage.risk.protections import Noise, RandomizedResponse

NEGLIGIBLE = 2_000.0
"""From this μ on noise on a count reaches the next count with probability below 1e-300."""


def one_proportion_power(design: OneProportion, case: Case) -> Outcome:
    """Power of a test of one proportion."""
    effect, n, level = case.effect, case.n, case.level
    protection, method = case.protection, case.method
    p = np.array([design.null, design.null + effect]).clip(0, 1)
    if isinstance(protection, RandomizedResponse):
        p = reported_shares(p, protection)
    elif protection is not None and protection.mu == 0:
        return powerless(level, "pure noise")
    if level.alternative == "smaller":
        p = 1 - p
    p0, p1 = float(p[0]), float(p[1])
    noise = None if isinstance(protection, RandomizedResponse) else protection
    if method == "normal":
        return normal_test(p1 - p0, (p0 * (1 - p0) / n, p1 * (1 - p1) / n), 1 / n, level, noise)
    if noise is not None and noise.mu < NEGLIGIBLE:
        if method == "conservative":
            msg = "expected method 'exact' or 'normal' with noise, got 'conservative'"
            raise InvalidInputError(msg)
        null, other = (counts_law(n, q).scaled(1 / n) for q in (p0, p1))
        power, missed, error = noisy_test(null, other, 1 / n, level, noise)
        return Outcome(*clipped(power, missed), "all counts with noise", error=error)
    power, missed = _binomial(n, p0, p1, level, randomize=method == "exact")
    name = "binomial" if method == "exact" else "binomial, never above the level"
    notes = (
        ("At the boundary count the test rejects with the probability that makes its level exact.",)
        if method == "exact"
        else ()
    )
    return Outcome(*clipped(power, missed), name, assumptions=notes)


def reported_shares(p: FloatArray, protection: RandomizedResponse) -> FloatArray:
    """Probability that the report is the category in question, λp + (1 − λ)/k."""
    protection.single()
    k = protection.size_of(0, 2)
    lam = protection.retention(0, 2)
    return np.asarray(lam * p + (1 - lam) / k)


def normal_test(
    shift: float,
    variances: tuple[float, float],
    sensitivity: float,
    level: Level,
    noise: Noise | None,
) -> Outcome:
    """Counts as normal, and Laplace noise too."""
    s, b = (0.0, 0.0) if noise is None else noise.scales(sensitivity)
    if s + b > DROWNED:
        return powerless(level, "pure noise")
    extra = s * s + 2 * b * b
    sds = math.sqrt(variances[0] + extra), math.sqrt(variances[1] + extra)
    if sds[0] == 0:  # a planned proportion of 0 or 1 and no effect
        return powerless(level, "no variation")
    floor = 1e-150  # a true proportion of 0 or 1 has no variance
    power, missed = shift_power(
        shift, (sds[0], max(sds[1], floor)), 0.0, level.tail, two_sided=level.two_sided
    )
    return Outcome(
        *clipped(power, missed),
        "normal approximation",
        Standing.ESTIMATE,
        assumptions=("The counts are so many that they are normal.",),
    )


def _binomial(
    n: int, p0: float, p1: float, level: Level, *, randomize: bool
) -> tuple[float, float]:
    """Power and type II error of the binomial test of p0 at p1."""
    from scipy.stats import binom

    def boundary(p: float) -> tuple[int, float]:
        c = int(binom.isf(level.tail, n, p)) if level.tail < 1 else -1
        left = level.tail - float(binom.sf(c, n, p))
        at = float(binom.pmf(c, n, p))
        share = min(max(left / at, 0.0), 1.0) if at > 0 and randomize else 0.0
        return c, share

    upper, share = boundary(p0)
    at = share * float(binom.pmf(upper, n, p1))
    power = float(binom.sf(upper, n, p1)) + at
    if not level.two_sided:
        return power, float(binom.cdf(upper, n, p1)) - at
    lower, other = boundary(1 - p0)
    lower = n - lower
    below = other * float(binom.pmf(lower, n, p1))
    power += float(binom.cdf(lower - 1, n, p1)) + below
    missed = float(binom.cdf(upper, n, p1) - binom.cdf(lower - 1, n, p1)) - at - below
    return power, missed
