"""Power of tests of proportions, by summing over every count.

The exact one-sample test keeps the level exactly: at the boundary count it rejects with the
probability that makes it so. That is the most powerful test, and the only one whose power moves
smoothly with n, ε and μ; method "conservative" never rejects at the boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from seepage._numeric import BoolArray, FloatArray
from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.risk._normal_noise import shift_power, tail
from seepage.risk._outcome import DROWNED, Case, Level, Outcome, clipped, powerless
from seepage.risk.designs import OneProportion, TwoProportions, second_size
from seepage.risk.protections import Noise, RandomizedResponse

Law = tuple[FloatArray, FloatArray]
"""Values of a discrete statistic and their probabilities, each of shape (m,)."""

MAX_CELLS = 250_000
"""Most pairs of counts of two groups that are summed over; beyond, the counts count as normal."""

NEGLIGIBLE = 2_000.0
"""From this μ on noise on a count reaches the next count with probability below 1e-300."""

PLANNED = "The critical value is that of the planned overall proportion."


def one_proportion_power(design: OneProportion, case: Case) -> Outcome:
    """Power of a test of one proportion."""
    effect, n, level = case.effect, case.n, case.level
    protection, method = case.protection, case.method
    p = np.array([design.null, design.null + effect]).clip(0, 1)
    if isinstance(protection, RandomizedResponse):
        p = _reported(p, protection)
    elif protection is not None and protection.mu == 0:
        return powerless(level, "pure noise")
    if level.alternative == "smaller":
        p = 1 - p
    p0, p1 = float(p[0]), float(p[1])
    noise = None if isinstance(protection, RandomizedResponse) else protection
    if method == "normal":
        return _normal(p1 - p0, (p0 * (1 - p0) / n, p1 * (1 - p1) / n), 1 / n, level, noise)
    if noise is not None and noise.mu < NEGLIGIBLE:
        if method == "conservative":
            msg = "expected method 'exact' or 'normal' with noise, got 'conservative'"
            raise InvalidInputError(msg)
        laws = [_counts(n, q) for q in (p0, p1)]
        if max(counts.size for counts, _ in laws) > MAX_CELLS:
            variances = p0 * (1 - p0) / n, p1 * (1 - p1) / n
            return _normal(p1 - p0, variances, 1 / n, level, noise, keep=True)
        null, other = ((counts / n, masses) for counts, masses in laws)
        power, missed = _with_noise(null, other, 1 / n, level, noise)
        return Outcome(*clipped(power, missed), "all counts with noise")
    power, missed = _binomial(n, p0, p1, level, randomize=method == "exact")
    name = "binomial" if method == "exact" else "binomial, never above the level"
    notes = (
        ("At the boundary count the test rejects with the probability that makes its level exact.",)
        if method == "exact"
        else ()
    )
    return Outcome(*clipped(power, missed), name, assumptions=notes)


def two_proportions_power(design: TwoProportions, case: Case) -> Outcome:
    """Power of a test of two proportions."""
    effect, n, level = case.effect, case.n, case.level
    protection, method = case.protection, case.method
    if method == "conservative":
        msg = "expected method 'exact' or 'normal' for two proportions, got 'conservative'"
        raise InvalidInputError(msg)
    sizes = n, second_size(n, design.ratio)
    p = np.array([design.first, design.first + effect]).clip(0, 1)
    noise: Noise | None = None
    if isinstance(protection, RandomizedResponse):
        p = _reported(p, protection)
    elif protection is not None:
        noise = protection
        if noise.mu == 0:
            return powerless(level, "pure noise")
    if level.alternative == "smaller":
        p = 1 - p
    common = float((sizes[0] * p[0] + sizes[1] * p[1]) / sum(sizes))
    variances = (
        common * (1 - common) * sum(1 / m for m in sizes),
        sum(q * (1 - q) / m for q, m in zip(p.tolist(), sizes, strict=True)),
    )
    shift, sensitivity = float(p[1] - p[0]), 1 / min(sizes)
    if method == "normal":
        return _normal(shift, variances, sensitivity, level, noise)
    spans = [
        [_counts(m, q) for m, q in zip(sizes, each, strict=True)]
        for each in ((common, common), p.tolist())
    ]
    if max(a[0].size * b[0].size for a, b in spans) > MAX_CELLS:
        return _normal(shift, variances, sensitivity, level, noise, keep=True)
    if noise is None:
        (size, _), (power, missed) = (_pooled(pair, sizes, level) for pair in spans)
        note = f"The pooled z test; at the planned overall proportion its level is {size:.6g}."
        return Outcome(*clipped(power, missed), "all pairs of counts", assumptions=(note,))
    null, other = (_differences(pair, sizes) for pair in spans)
    if noise.mu < NEGLIGIBLE:
        scale = sizes[0] * sizes[1]
        null, other = ((points / scale, masses) for points, masses in (null, other))
        power, missed = _with_noise(null, other, sensitivity, level, noise)
    else:
        power, missed = _lattice(null, other, level)
    return Outcome(
        *clipped(power, missed), "all pairs of counts with noise", assumptions=(PLANNED,)
    )


def _pooled(pair: list[Law], sizes: tuple[int, int], level: Level) -> tuple[float, float]:
    (a, wa), (b, wb) = pair
    rejected = pooled_test(a[:, np.newaxis], b[np.newaxis, :], sizes, level)
    weights = np.outer(wa, wb)
    return float(weights[rejected].sum()), float(weights[~rejected].sum())


def _differences(pair: list[Law], sizes: tuple[int, int]) -> Law:
    """Law of ``n₁n₂`` times the difference: whole numbers, so that equal ones are seen as equal."""
    (a, wa), (b, wb) = pair
    whole = (b[np.newaxis, :] * sizes[0] - a[:, np.newaxis] * sizes[1]).ravel()
    values, place = np.unique(whole, return_inverse=True)
    masses = np.bincount(place, weights=np.outer(wa, wb).ravel(), minlength=values.size)
    return values, np.asarray(masses, dtype=np.float64)


def pooled_test(
    first: FloatArray, second: FloatArray, sizes: tuple[int, int], level: Level
) -> BoolArray:
    """Whether the pooled z test of two proportions rejects, for arrays of counts."""
    from scipy.special import ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (first + second) / sum(sizes)
        se = np.sqrt(pooled * (1 - pooled) * sum(1 / m for m in sizes))
        z = np.where(se > 0, (second / sizes[1] - first / sizes[0]) / se, 0.0)
    c = -float(ndtri(level.tail))
    return np.asarray((np.abs(z) if level.two_sided else z) >= c - 1e-12 * abs(c))


def _reported(p: FloatArray, protection: RandomizedResponse) -> FloatArray:
    """Probability that the report is the category in question, λp + (1 − λ)/k."""
    protection.single()
    k = protection.size_of(0, 2)
    lam = protection.retention(0, 2)
    return np.asarray(lam * p + (1 - lam) / k)


def _normal(
    shift: float,
    variances: tuple[float, float],
    sensitivity: float,
    level: Level,
    noise: Noise | None,
    *,
    keep: bool = False,
) -> Outcome:
    """Counts as normal; Laplace noise as normal too, unless `keep`."""
    s, b = (0.0, 0.0) if noise is None else noise.scales(sensitivity)
    if s + b > DROWNED:
        return powerless(level, "pure noise")
    extra = s * s + (0.0 if keep else 2 * b * b)
    sds = math.sqrt(variances[0] + extra), math.sqrt(variances[1] + extra)
    b = b if keep else 0.0
    if sds[0] == 0 and b == 0:  # a planned proportion of 0 or 1 and no effect
        return powerless(level, "no variation")
    floor = 1e-150  # a true proportion of 0 or 1 has no variance
    power, missed = shift_power(
        shift, (sds[0], max(sds[1], floor)), b, level.tail, two_sided=level.two_sided
    )
    return Outcome(
        *clipped(power, missed),
        "normal approximation",
        Standing.ESTIMATE,
        assumptions=("The counts are so many that they are normal.",),
    )


def _counts(n: int, p: float) -> Law:
    """Counts that matter, and their binomial masses; left out is less than 1e-30."""
    from scipy.stats import binom

    reach = 12 * math.sqrt(n * p * (1 - p)) + 30
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    if high - low > MAX_CELLS:
        return np.zeros(MAX_CELLS + 1), np.zeros(0)  # too many: the caller takes them as normal
    counts = np.arange(low, high + 1)
    return counts.astype(np.float64), np.asarray(binom.pmf(counts, n, p))


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


def _lattice(null: Law, other: Law, level: Level) -> tuple[float, float]:
    """Power and type II error of the test of any discrete statistic, randomised at the boundary."""

    def boundary(points: FloatArray, masses: FloatArray) -> tuple[float, float]:
        """Largest value with more than the level at or above it; how often to reject there."""
        above = np.cumsum(masses[::-1])[::-1]
        place = int(np.flatnonzero(above > level.tail)[-1]) if level.tail < above[0] else 0
        left = level.tail - (above[place] - masses[place])
        return float(points[place]), min(max(float(left / masses[place]), 0.0), 1.0)

    points, masses = other
    c, share = boundary(*null)
    phi = (points > c) + share * (points == c)
    if level.two_sided:
        c, share = boundary(-null[0][::-1], null[1][::-1])
        phi = np.minimum(phi + (points < -c) + share * (points == -c), 1.0)
    return float(masses @ phi), float(masses @ (1 - phi))


def _with_noise(
    null: Law, other: Law, sensitivity: float, level: Level, noise: Noise
) -> tuple[float, float]:
    """Power and type II error of a test of a noisy discrete statistic.

    Parameters
    ----------
    null, other : pair of arrays, shape (m,)
        Values and masses under the null and under the alternative.
    """
    s, b = noise.scales(sensitivity)
    if s + b > DROWNED:
        return level.alpha, 1 - level.alpha
    points, masses = other
    upper = _critical(*null, s + b, level, lambda x: tail(x, s, b))
    hit, kept = masses @ tail(upper - points, s, b), masses @ tail(points - upper, s, b)
    if not level.two_sided:
        return float(hit), float(kept)
    lower = -_critical(-null[0], null[1], s + b, level, lambda x: tail(x, s, b))
    low = masses @ tail(points - lower, s, b)
    return float(hit + low), float(kept - low)


def _critical(
    points: FloatArray,
    masses: FloatArray,
    reach: float,
    level: Level,
    upper: Callable[[FloatArray], FloatArray],
) -> float:
    from scipy.optimize import brentq

    if level.tail <= 0 or level.tail >= 1:
        return math.inf if level.tail <= 0 else -math.inf

    def gap(c: float) -> float:
        value = float(masses @ upper(c - points))
        return (math.log(value) if value > 0 else -1e4) - math.log(level.tail)

    low, high = float(points.min()) - reach, float(points.max()) + reach
    while gap(high) > 0:
        high += reach
        reach *= 2
    while gap(low) < 0:
        low -= reach
        reach *= 2
    return float(brentq(gap, low, high, xtol=1e-16 * max(abs(low), abs(high)), rtol=1e-15))
