"""Power of tests of means of randomised records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from seepage._numeric import FloatArray
from seepage.results import Standing
from seepage.risk._answers import Answers, answers, notes
from seepage.risk._laws import ended_law, lattice_size, law_on, skewed_laws, smooth_law, split_law
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

SMALL = 400
"""Steps between the least and the largest sum up to which every law on three answers is tried."""
_SHARES = {True: ((16, 33), (40, 17), (100, 9), (math.inf, 3)), False: ((16, 5), (40, 3))}
"""Of a z test or not: for so many steps in a standard deviation of a sum at most, the number of
shares of what rounding can add to the variance. On a coarse lattice the power of a z test jumps up
and down with the variance; that of a t test changes smoothly, but not always downwards."""

Form = int | tuple[int, int, int]
"""A law with the planned mean and variance: as near to normal as may be (0), skewed the most to the
left (−1) or right (1), on both ends and the middle (2), in two groups (−2), or on three answers."""

Shares = tuple[float, float, float]
"""Power, type II error and the error of both."""


def reported_means(
    values: Values,
    sizes: tuple[int, ...],
    case: Case,
    protection: RandomizedResponse,
    *,
    known_sd: bool,
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
    """
    level = case.level
    protection.single()
    before, each = _told(values, sizes, case, protection)
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
        test = _Test(before, each, sizes, level, known_sd)
        found = test.powers((0,) * len(sizes), test.parts)
        if found:
            power, missed, error = max(found, key=itemgetter(1))
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


def shape_powers(
    values: Values,
    sizes: tuple[int, ...],
    case: Case,
    protection: RandomizedResponse,
    *,
    known_sd: bool,
) -> list[float]:
    """Powers for values distributed otherwise, as far as the plan leaves that open.

    Parameters as of `reported_means`. Empty where the plan leaves nothing open. The skewness moves
    the power at the order 1/√n and higher moments at 1/n; so the most skewed laws, those with the
    heaviest and the lightest tails and, for few records, every law on three answers are looked at,
    and what rounding can add to the variance.
    """
    before, each = _told(values, sizes, case, protection)
    test = _Test(before, each, sizes, case.level, known_sd)
    if protection.hides or (before.size <= 3 and not test.rounded):
        return []
    parts = (1.0, 0.0) if test.rounded else (1.0,)
    found = test.powers((0,) * len(sizes), tuple(dict.fromkeys((*test.parts, *parts))))
    if not found:  # the sums are too many, and their law is normal
        return [power for power, _ in _large(before, each, sizes, case, parts, known_sd=known_sd)]
    for forms in _forms(test.k, sizes) if before.size > 3 else ():
        found += test.powers(forms, parts)
    return [power for power, _, _ in found]


def _forms(k: int, sizes: tuple[int, ...]) -> list[tuple[Form, ...]]:
    if len(sizes) == 1:
        every: Sequence[Form] = (-1, 1, -2, 2)
        if k <= 7 and sizes[0] * (k - 1) <= SMALL:
            every = (*every, *itertools.combinations(range(k), 3))
        return [(form,) for form in every]
    return [(1, -1), (-1, 1), (2, 2), (-2, -2)]


def _told(
    values: Values, sizes: tuple[int, ...], case: Case, protection: RandomizedResponse
) -> tuple[Answers, tuple[Answers, ...]]:
    """Answers under the null hypothesis, and those of each group."""
    before = answers(values, protection, 0)
    after = answers(values, protection, 0, shift=case.effect)
    # In two groups the first keeps the mean of the null hypothesis; one group is the last of one.
    return before, (before, after)[-len(sizes) :]


@dataclass(frozen=True)
class _Test:
    """A test of means from the sums of answers; attributes as of `reported_means`."""

    before: Answers
    each: tuple[Answers, ...]
    sizes: tuple[int, ...]
    level: Level
    known_sd: bool

    @property
    def k(self) -> int:
        """Answers that are told apart."""
        return lattice_size(self.before.size, max(self.sizes))

    @property
    def rounded(self) -> bool:
        """Whether rounding may add to the variance."""
        return any(told.rounded for told in (self.before, *self.each))

    @property
    def parts(self) -> tuple[float, ...]:
        """Shares of what rounding can add to the variance at which the power is looked at."""
        if not self.rounded:
            return (1.0,)
        step = self.before.width / (self.k - 1)
        steps = math.sqrt(self.before.most * min(self.sizes)) / step
        count = next((count for most, count in _SHARES[self.known_sd] if steps <= most), 1)
        return tuple(np.linspace(1.0, 0.0, count).tolist())

    def powers(self, forms: tuple[Form, ...], parts: Sequence[float]) -> list[Shares]:
        """Power with each share of rounding; empty where the sums are too many or no law fits."""
        sign = -1.0 if self.level.alternative == "smaller" else 1.0
        null = (self.k - 1) * self.before.reported_mean if len(self.sizes) == 1 else 0.0
        found: list[Shares] = []
        for part in parts:
            laws = [
                _report_law(told, self.k, part, form)
                for told, form in zip(self.each, forms, strict=True)
            ]
            groups = [Group(x, n) for x, n in zip(laws, self.sizes, strict=True) if x is not None]
            if len(groups) < len(laws):
                continue
            if not computable(groups):
                return []
            if self.known_sd:
                variance = self.before.at(part) * sum(1 / n for n in self.sizes)
                se = math.sqrt(variance) / self.before.width * (self.k - 1)
                found.append((*sums_z_power(groups, null, se, self.level, sign), 0.0))
            else:
                found.append(sums_t_power(groups, null, self.level, sign))
        return found


def _report_law(told: Answers, k: int, part: float, form: Form) -> FloatArray | None:
    """Law of the report, on k answers, shape (k,)."""
    variance = told.inner[0] + part * (told.inner[1] - told.inner[0])
    law: FloatArray | None
    if isinstance(form, tuple):
        law = law_on(k, form, told.mean, variance)
    elif abs(form) == 1:
        law = skewed_laws(k, told.mean, variance)[(form + 1) // 2]
    else:
        make = {0: smooth_law, 2: ended_law, -2: split_law}[form]
        law = make(k, told.mean, variance)
    if law is None:
        return None
    uniform = np.full(k, 1 / k)
    if k < told.size:  # the same variance as of all answers
        uniform = smooth_law(k, 0.5, (told.size + 1) / (12 * (told.size - 1)))
    return np.asarray(told.retention * law + (1 - told.retention) * uniform)


def _many(
    before: Answers,
    each: tuple[Answers, ...],
    sizes: tuple[int, ...],
    case: Case,
    *,
    known_sd: bool,
) -> Outcome:
    """The large-sample law."""
    # Rounding that widens the reports more under the null hypothesis may help a weak test.
    parts = (0.0, 0.25, 0.5, 0.75, 1.0)
    found = _large(before, each, sizes, case, parts, known_sd=known_sd)
    power, missed = max(found, key=itemgetter(1))
    if not known_sd and case.method == "exact":
        return Outcome(*clipped(power, missed), "noncentral t", assumptions=(NORMAL_DATA,))
    standing = Standing.EXACT if known_sd else Standing.ESTIMATE
    return Outcome(*clipped(power, missed), "normal", standing, assumptions=(PLANNED_SD,))


def _large(
    before: Answers,
    each: tuple[Answers, ...],
    sizes: tuple[int, ...],
    case: Case,
    parts: Sequence[float],
    *,
    known_sd: bool,
) -> list[tuple[float, float]]:
    """Power and type II error by the large-sample law, with each share of rounding."""
    level = case.level
    shift = level.signed(before.retention * case.effect)
    spread = sum(1 / m for m in sizes)
    found = []
    for part in parts:
        if not known_sd and case.method == "exact":
            df = sum(sizes) - len(sizes)
            pooled = sum((m - 1) * v.at(part) for m, v in zip(sizes, each, strict=True)) / df
            noncentrality = np.array(shift / math.sqrt(pooled * spread))
            hit, kept = t_power(noncentrality, df, level.tail, two_sided=level.two_sided)
            found.append((float(hit), float(kept)))
            continue
        null = math.sqrt(before.at(part) * spread)
        other = math.sqrt(sum(v.at(part) / m for m, v in zip(sizes, each, strict=True)))
        found.append(shift_power(shift, (null, other), 0.0, level.tail, two_sided=level.two_sided))
    return found
