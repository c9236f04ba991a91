"""Power of tests of means, slopes and correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.risk._adjusted import adjusted, population
from seepage.risk._answers import answers, notes
from seepage.risk._noisy_variance import NoisyT, noisy_t
from seepage.risk._noncentral import correlation_power, t_power
from seepage.risk._normal_noise import critical, shift_power, tail
from seepage.risk._outcome import (
    DROWNED,
    Case,
    Level,
    Outcome,
    PowerMethod,
    clipped,
    impossible,
    powerless,
)
from seepage.risk._pairs import Shape, refined, reported_pairs, side
from seepage.risk._reported import LARGE, PLANNED_SD, TOO_FEW, reported_means, shape_powers
from seepage.risk._simulated import noisy_products
from seepage.risk.designs import (
    Correlation,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoSampleMeans,
    Values,
    second_size,
)
from seepage.risk.protections import Noise, RandomizedResponse

Mean = OneSampleMean | PairedDifference | TwoSampleMeans

PLANNED = Shape()
TOO_MANY = "Fewer records than coefficients: the regression cannot be computed and never rejects."
PUBLIC = "The predictors are public and told as they are; the outcome is randomised."
NORMAL_DATA = "The statistic is normal before protection: normal data, or many records."


@dataclass(frozen=True)
class _Plan:
    """A location test without its protection.

    Parameters
    ----------
    effect : float
        Signed so that positive is looked for.
    sd : float
        Of one record.
    spread : float
        The variance of the estimate is ``sd²·spread``.
    df : float
        Degrees of freedom of the estimate of `sd`.
    known_sd : bool
    values : Values
        What is protected.
    weight : float
        Replacing one record changes the estimate by at most ``weight · width``.
    squares : float
        and the estimated variance by at most ``squares · width²``.
    """

    effect: float
    sd: float
    spread: float
    df: float
    known_sd: bool
    values: Values
    weight: float
    squares: float


def mean_power(design: Mean, case: Case) -> Outcome:
    """Power of a test of means."""
    level = case.level
    values, sizes = _planned(design, case.n)
    if isinstance(case.protection, RandomizedResponse):
        return reported_means(values, sizes, case, case.protection, known_sd=design.known_sd)
    df = sum(sizes) - len(sizes)
    plan = _Plan(
        effect=level.signed(case.effect),
        sd=values.sd,
        spread=sum(1 / size for size in sizes),
        df=df,
        known_sd=design.known_sd,
        values=values,
        weight=1 / min(sizes),
        squares=max(1 - 1 / size for size in sizes) / df if df else 0.0,
    )
    return _noisy(plan, level, case.protection, case.method)


def mean_shapes(design: Mean, case: Case) -> list[float]:
    """Powers for values distributed otherwise; as `shape_powers`."""
    if not isinstance(case.protection, RandomizedResponse):
        return []
    values, sizes = _planned(design, case.n)
    return shape_powers(values, sizes, case, case.protection, known_sd=design.known_sd)


def _planned(design: Mean, n: int) -> tuple[Values, tuple[int, ...]]:
    """Values that are protected, and the records of each group."""
    if isinstance(design, TwoSampleMeans):
        return design.values, (n, second_size(n, design.ratio))
    return (design.differences if isinstance(design, PairedDifference) else design.values), (n,)


def slope_power(design: Slope, case: Case, shape: Shape = PLANNED) -> Outcome:
    """Power of a test of one regression coefficient."""
    n, level, protection = case.n, case.level, case.protection
    if n < design.others + 2:
        return impossible(level, TOO_MANY)
    if isinstance(protection, RandomizedResponse):
        if design.others and not isinstance(protection.epsilon, tuple):
            protection = RandomizedResponse((protection.epsilon, math.inf), protection.k)
        return _reported_slope(design, case, protection, shape)
    x = design.predictor
    spread = 1 / (n * x.sd * x.sd * (1 - design.shared))
    if protection is not None:
        if not design.known_sd:
            msg = (
                "expected known_sd=True for a regression with noise on its coefficient, as that "
                "does not tell the standard deviation around the regression, got known_sd=False"
            )
            raise InvalidInputError(msg)
        furthest = x.width / 2 + abs(x.off_centre)
    else:
        furthest = 0.0
    plan = _Plan(
        effect=level.signed(case.effect),
        sd=design.outcome.sd,
        spread=spread,
        df=n - 2 - design.others,
        known_sd=design.known_sd,
        values=design.outcome,
        weight=furthest * spread,
        squares=0.0,
    )
    outcome = _noisy(plan, level, protection, case.method)
    if protection is None:
        return outcome
    return _with(
        outcome,
        "The predictors are public; the outcome is protected, within its declared range.",
        "No adjusted predictor is further from its mean than its declared range allows.",
    )


def correlation_test_power(design: Correlation, case: Case, shape: Shape = PLANNED) -> Outcome:
    """Power of a test of a correlation."""
    n, level, protection, method = case.n, case.level, case.protection, case.method
    rho = level.signed(case.effect)
    if isinstance(protection, RandomizedResponse):
        both = (design.first, design.second)
        kept = [answers(values, protection, i) for i, values in enumerate(both)]
        shrink = math.prod(
            told.retention * values.sd / math.sqrt(told.at(shape.rounding))
            for told, values in zip(kept, both, strict=True)
        )

        def large() -> Outcome:
            return _correlation(rho * shrink, n, level, method)

        if not _protects(protection):
            return large()
        said = notes(protection, *both)
        if method == "normal" or n < 3:
            return _estimated(large(), LARGE, *said)
        sides = [
            side(values, protection, i, rounding=shape.rounding) for i, values in enumerate(both)
        ]
        covariance = case.effect * design.first.sd * design.second.sd
        table = reported_pairs(sides[0], sides[1], covariance, shape.form)
        outcome = refined(lambda: _estimated(large(), LARGE), table, n, level, known_sd=False)
        return _with(outcome, *said)
    if protection is None:
        return _correlation(rho, n, level, method)
    if method == "normal":
        msg = "expected method 'exact' for a correlation with noise, got 'normal'"
        raise InvalidInputError(msg)
    edges = [
        [(-v.width / 2 - v.off_centre) / v.sd, (v.width / 2 - v.off_centre) / v.sd]
        for v in (design.first, design.second)
    ]
    products = np.outer(np.array(edges[0]), np.array(edges[1]))
    if protection.mu == 0:
        return powerless(level, "pure noise")
    return noisy_products(rho, n, level, protection, float(np.ptp(products)) / n)


def _correlation(rho: float, n: int, level: Level, method: PowerMethod) -> Outcome:
    if n < 3 or (method == "normal" and n < 4):
        return impossible(level, TOO_FEW)
    if method == "normal":
        shift = math.inf if abs(rho) >= 1 else math.atanh(rho) * math.sqrt(n - 3)
        shift = math.copysign(min(abs(shift), 1e154), rho)
        power, missed = shift_power(shift, (1.0, 1.0), 0.0, level.tail, two_sided=level.two_sided)
        return Outcome(
            *clipped(power, missed), "Fisher's z", Standing.ESTIMATE, assumptions=(NORMAL_DATA,)
        )
    power, missed = correlation_power(rho, n, level.tail, two_sided=level.two_sided)
    return Outcome(
        *clipped(power, missed),
        "noncentral t over normal pairs",
        assumptions=("The two attributes are normal together.",),
    )


# ------------------------------------------------------------------------------- noise


def _noisy(plan: _Plan, level: Level, protection: Noise | None, method: PowerMethod) -> Outcome:
    """Test of an estimate that is normal, without or with noise."""
    width = 0.0 if protection is None else plan.values.width
    if protection is not None and protection.mu == 0:
        return powerless(level, "pure noise", "With μ = 0 the release is pure noise.")
    se = plan.sd * math.sqrt(plan.spread)
    s, b = (0.0, 0.0) if protection is None else protection.scales(plan.weight * width)
    if s + b > DROWNED:
        return powerless(level, "pure noise")
    if not plan.known_sd:
        if plan.df < 1:
            return impossible(level, TOO_FEW)
        if method == "exact":
            if s == 0 and b == 0:
                return _t_test(plan.effect / se, plan.df, level)
            if protection is not None:  # always so here
                sensitivities = (
                    plan.weight * width,
                    plan.squares * width * width,
                )
                draw = NoisyT(plan.effect, plan.sd, plan.spread, plan.df, sensitivities)
                return noisy_t(draw, level, protection)
    total = math.hypot(se, s)
    if method == "normal":
        approximate = math.hypot(total, math.sqrt(2) * b)
        power, missed = shift_power(
            plan.effect, (approximate, approximate), 0.0, level.tail, two_sided=level.two_sided
        )
        said = [NORMAL_DATA, PLANNED_SD]
        if b:
            c = critical(level.tail, approximate, 0.0)
            size = float(tail(c, total, b)) * (2 if level.two_sided else 1)
            said.append(
                "The Laplace noise is taken as normal with the same variance (the paper's form); "
                f"the critical value then has a false-alarm rate of {size:.6g}."
            )
        exact = plan.known_sd and not b
        standing = Standing.EXACT if exact else Standing.ESTIMATE
        return Outcome(
            *clipped(power, missed), "normal approximation", standing, assumptions=tuple(said)
        )
    power, missed = shift_power(
        plan.effect, (total, total), b, level.tail, two_sided=level.two_sided
    )
    name = "normal and Laplace, convolved" if b else "normal"
    return Outcome(*clipped(power, missed), name, assumptions=(NORMAL_DATA, PLANNED_SD))


def _t_test(noncentrality: float, df: float, level: Level) -> Outcome:
    power, missed = t_power(np.array(noncentrality), df, level.tail, two_sided=level.two_sided)
    return Outcome(
        *clipped(float(power), float(missed)),
        "noncentral t",
        assumptions=("The data are normal, with equal variances.",),
    )


# --------------------------------------------------------------- randomised response


def _reported_slope(
    design: Slope, case: Case, protection: RandomizedResponse, shape: Shape
) -> Outcome:
    effect, n, level, method = case.effect, case.n, case.level, case.method
    x, y = design.predictor, design.outcome
    if n - 2 - design.others < 1 and not design.known_sd:
        return impossible(level, TOO_FEW)
    explained = effect**2 * x.sd**2 + design.explained_sd**2
    told = answers(y, protection, 0, extra=explained)
    lam, variance = told.retention, told.at(shape.rounding)
    both: tuple[Values, ...] = (y,)
    public = protection.epsilon_of(1) == math.inf
    if public:
        around = variance - lam**2 * explained
        shift = lam * effect * x.sd * math.sqrt((1 - design.shared) / around)
    else:
        if design.others:
            msg = (
                "expected public predictors (one epsilon, or inf for the second attribute) in a "
                f"regression with {design.others} others, got epsilon {protection.epsilon!r}: "
                "randomised predictors no longer separate their effects"
            )
            raise InvalidInputError(msg)
        told_x, both = answers(x, protection, 1), (y, x)
        variances = variance * told_x.at(shape.rounding)
        rho = lam * told_x.retention * effect * x.sd**2 / math.sqrt(variances)
        shift = rho / math.sqrt((1 - rho) * (1 + rho))
    shift = level.signed(shift) * math.sqrt(n)
    if design.known_sd or method == "normal":
        power, missed = shift_power(shift, (1.0, 1.0), 0.0, level.tail, two_sided=level.two_sided)
        outcome = Outcome(*clipped(power, missed), "normal", assumptions=(PLANNED_SD,))
    else:
        outcome = _t_test(shift, n - 2 - design.others, level)
    if public and protection.epsilon_of(0) == math.inf and method == "exact":
        return outcome
    said = notes(protection, *both)
    if public:
        said = (PUBLIC, *said)
    outcome = _estimated(outcome, LARGE)
    if method == "normal":
        return _with(outcome, *said)
    sides = (
        side(y, protection, 0, extra=explained, rounding=shape.rounding),
        side(x, protection, 1, rounding=shape.rounding),
    )
    if design.others:
        left = effect * x.sd * math.sqrt(1 - design.shared)
        other = math.sqrt(explained - left**2) if explained > left**2 else 0.0
        people = population(*sides, (left, other), shape.form)
        found = adjusted(outcome, people, n, design.others, level, known_sd=design.known_sd)
    else:
        table = reported_pairs(*sides, effect * x.sd**2, shape.form)
        found = refined(lambda: outcome, table, n, level, known_sd=design.known_sd)
    if design.known_sd and found.simulated:
        said = (PLANNED_SD, *said)
    return _with(found, *said)


def _protects(protection: RandomizedResponse) -> bool:
    return not (protection.epsilon_of(0) == math.inf == protection.epsilon_of(1))


def _with(outcome: Outcome, *said: str) -> Outcome:
    return replace(outcome, assumptions=outcome.assumptions + said)


def _estimated(outcome: Outcome, *said: str) -> Outcome:
    return replace(outcome, standing=Standing.ESTIMATE, assumptions=outcome.assumptions + said)
