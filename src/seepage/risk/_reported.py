"""Power of tests of means of randomised records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

import numpy as np

from seepage._numeric import FloatArray
from seepage.results import Standing
from seepage.risk._answers import Answers, answers, notes
from seepage.risk._laws import lattice_size, skewed_laws, smooth_law
from seepage.risk._noncentral import t_power
from seepage.risk._normal_noise import shift_power
from seepage.risk._outcome import Case, Level, Outcome, clipped, impossible, powerless
from seepage.risk._sums import FAR, Group, computable
from seepage.risk._sums import t_power as sums_t_power
from seepage.risk._sums import z_power as sums_z_power
from seepage.risk.designs import Values
from seepage.risk.protections import RandomizedResponse

PLANNED_SD = "The analyst knows the standard deviation; the planned one is the true one."
LARGE = "The records are so many that the statistic of the randomised reports is normal."
TOO_FEW = "Too few records for a standard deviation: the test cannot be computed and never rejects."
SUMS = "sums of answers, convolved"
SHAPED = (
    "Beyond the planned mean and deviation the answers are distributed as near to normal as so few "
    "values allow."
)
NORMAL_DATA = "The data are normal, with equal variances."

_PARTS = (1.0, 0.5, 0.0)
"""Shares of what rounding can add to the variance, of which the worst is taken by a z test."""

Leaning = tuple[int, ...]
"""For each group, the laws most skewed to the left (−1) or right (1), or that near to normal (0)"""


def reported_means(
    values: Values,
    sizes: tuple[int, ...],
    case: Case,
    protection: RandomizedResponse,
    *,
    known_sd: bool,
    lean: Leaning | None = None,
) -> Outcome:
    """Power of a z or t test of one mean, or of the difference of two, from randomised records.

    Parameters
    ----------
    values : Values
    sizes : tuple of int
        Records of one group or of two.
    case : Case
    protection : RandomizedResponse
    known_sd : bool
    lean : tuple of int, optional
        How the values of each group are skewed, where the plan leaves that open.
    """
    level = case.level
    protection.single()
    before = answers(values, protection, 0)
    after = answers(values, protection, 0, shift=case.effect)
    # In two groups the first keeps the mean of the null hypothesis; one group is the last of one.
    each = (before, after)[-len(sizes) :]
    if not known_sd and sum(sizes) == len(sizes):
        return impossible(level, TOO_FEW)
    if level.alpha in {0.0, 1.0}:
        return powerless(level, SUMS)
    protects = math.isfinite(protection.epsilon_of(0))
    said = (*(() if not known_sd else (PLANNED_SD,)), *notes(protection, values))
    if case.method == "exact" and (protects or values.on_grid):
        k = protection.size_of(0)
        if k > 3:
            said = (*said, SHAPED)
        found = _from_sums(before, each, sizes, level, known_sd=known_sd, lean=lean)
        if found is not None:
            power, missed, error = found
            sure = k <= 3 and values.on_grid and not error
            return Outcome(
                *clipped(power, missed),
                SUMS,
                Standing.EXACT if sure else Standing.ESTIMATE,
                assumptions=said,
                error=error,
            )
    outcome = _many(before, each, sizes, case, known_sd=known_sd)
    if not protects:
        return outcome
    return replace(
        outcome,
        standing=Standing.ESTIMATE,
        assumptions=(LARGE, *said),
        error=FAR if case.method == "exact" else 0.0,
    )


def _from_sums(
    before: Answers,
    each: tuple[Answers, ...],
    sizes: tuple[int, ...],
    level: Level,
    *,
    known_sd: bool,
    lean: Leaning | None,
) -> tuple[float, float, float] | None:
    """Power, type II error and their error; None where the sums are too many."""
    k = lattice_size(before.size, max(sizes))
    sign = -1.0 if level.alternative == "smaller" else 1.0
    null = (k - 1) * before.reported_mean if len(sizes) == 1 else 0.0
    found = []
    for part in _PARTS if known_sd and before.rounded else (1.0,):
        groups = [
            Group(_report_law(told, k, part, skew), n)
            for told, n, skew in zip(each, sizes, lean or (0,) * len(sizes), strict=True)
        ]
        if not computable(groups):
            return None
        if known_sd:
            se = math.sqrt(before.at(part) * sum(1 / n for n in sizes)) / before.width * (k - 1)
            found.append((*sums_z_power(groups, null, se, level, sign), 0.0))
        else:
            found.append(sums_t_power(groups, null, level, sign))
    return max(found, key=itemgetter(1))


def _report_law(told: Answers, k: int, part: float, lean: int) -> FloatArray:
    """Law of the report, on k answers, shape (k,)."""
    variance = told.inner[0] + part * (told.inner[1] - told.inner[0])
    if lean:
        law = skewed_laws(k, told.mean, variance)[(lean + 1) // 2]
    else:
        law = smooth_law(k, told.mean, variance)
    uniform = np.full(k, 1 / k)
    if k < told.size:  # the same variance as of all answers
        uniform = smooth_law(k, 0.5, (told.size + 1) / (12 * (told.size - 1)))
    return told.retention * law + (1 - told.retention) * uniform


def _many(
    before: Answers,
    each: tuple[Answers, ...],
    sizes: tuple[int, ...],
    case: Case,
    *,
    known_sd: bool,
) -> Outcome:
    """The large-sample law."""
    level = case.level
    shift = level.signed(before.retention * case.effect)
    if not known_sd and case.method == "exact":
        df = sum(sizes) - len(sizes)
        pooled = sum((m - 1) * v.most for m, v in zip(sizes, each, strict=True)) / df
        noncentrality = shift / math.sqrt(pooled * sum(1 / m for m in sizes))
        hit, kept = t_power(np.array(noncentrality), df, level.tail, two_sided=level.two_sided)
        return Outcome(
            *clipped(float(hit), float(kept)), "noncentral t", assumptions=(NORMAL_DATA,)
        )
    found = []
    # Rounding that widens the reports more under the null hypothesis may help a weak test.
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        null = math.sqrt(before.at(part) * sum(1 / m for m in sizes))
        other = math.sqrt(sum(v.at(part) / m for m, v in zip(sizes, each, strict=True)))
        found.append(shift_power(shift, (null, other), 0.0, level.tail, two_sided=level.two_sided))
    power, missed = max(found, key=itemgetter(1))
    standing = Standing.EXACT if known_sd else Standing.ESTIMATE
    return Outcome(*clipped(power, missed), "normal", standing, assumptions=(PLANNED_SD,))


def leanings(groups: int) -> Iterator[Leaning]:
    """The two ways to skew the values of each group that move the statistic the most."""
    for lean in (-1, 1):
        yield (-lean, lean)[-groups:]
