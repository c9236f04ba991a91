"""Power of a test on protected data.

Source: de Fondeville, "Balancing the privacy-utility trade-off", Section 4: protection is one more
source of uncertainty, with a known law, and the test takes it into account. The paper works out the
one-sided z test of a mean with Gaussian noise (its equation 7 and the power function below it); the
other tests and protections follow the same plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

from seepage._numeric import as_float_array, check_probability, check_size
from seepage.errors import CapacityError, InvalidInputError, did_you_mean
from seepage.results import Result, Standing
from seepage.risk._independence import independence_power, table_error
from seepage.risk._location import correlation_test_power, mean_power, slope_power
from seepage.risk._outcome import Alternative, Case, Level, Outcome, PowerMethod
from seepage.risk._proportions import one_proportion_power
from seepage.risk._shapes import left_open
from seepage.risk._two_proportions import PAIRS, pooled_size, two_proportions_power
from seepage.risk.designs import (
    Correlation,
    Design,
    Independence,
    OneProportion,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoProportions,
    TwoSampleMeans,
    effect_bounds,
    whole,
)
from seepage.risk.protections import GaussianNoise, LaplaceNoise, Protection, RandomizedResponse
from seepage.tradeoff._common import one_number

DRAWS = 50_000
"""Draws of a simulation."""

MAX_RECORDS = 10**12
"""Largest number of records that is accepted."""

_METHODS: dict[type, tuple[PowerMethod, ...]] = {
    OneSampleMean: ("exact", "normal"),
    PairedDifference: ("exact", "normal"),
    TwoSampleMeans: ("exact", "normal"),
    Slope: ("exact", "normal"),
    Correlation: ("exact", "normal"),
    OneProportion: ("exact", "normal", "conservative"),
    TwoProportions: ("exact", "normal"),
    Independence: ("exact", "normal", "simulation"),
}

_WORDS: dict[type, str] = {
    OneSampleMean: "mean",
    PairedDifference: "paired difference",
    TwoSampleMeans: "difference of two means",
    Slope: "regression coefficient",
    Correlation: "correlation",
    OneProportion: "proportion",
    TwoProportions: "difference of two proportions",
    Independence: "dependence",
}


@dataclass(frozen=True, eq=False)
class PowerResult(Result):
    """Power of a test.

    Attributes
    ----------
    design : Design
    effect : float
        In the unit of the design.
    n : int
        Number of records (of pairs; of the first group where there are two).
    alpha : float
    alternative : {"two-sided", "larger", "smaller"}
    protection : Protection or None
    power : float
        Probability that the test rejects, in [0, 1].
    type2 : float
        Its complement, with its own digits near 0.
    method : str
        How it was computed.
    standing : Standing
        ``exact`` under the assumptions, or ``estimate`` (simulation or large-sample law).
    standard_error : float
        Monte Carlo error (one standard deviation); 0 without simulation.
    approximation_error : float or None
        Power by the approximation asked for minus power by the exact method, where method "normal"
        was asked for and an exact one exists.
    assumptions : tuple of str
    law_error : float
        Most that the law used is known to be off by; 0 where it is exact, or drawn.
    shape_range : pair of float, or None
        Least and largest power found for numeric values skewed, or tied together, as far as the
        plan allows, under randomised response; None where nothing depends on it.
    k : int, pair of int or None
        Numbers of values of the attributes under randomised response; with no protection, of the
        answers that the test is made with as they are.
    draws, rng : int
        Of a simulation.
    """

    design: Design
    effect: float
    n: int
    alpha: float
    alternative: Alternative
    protection: Protection | None
    power: float
    type2: float
    method: str
    standing: Standing
    standard_error: float
    approximation_error: float | None
    assumptions: tuple[str, ...]
    law_error: float = 0.0
    shape_range: tuple[float, float] | None = None
    k: int | tuple[int, int] | None = None
    draws: int = DRAWS
    rng: int = 0

    @property
    def unprotected(self) -> float:
        """Power of the same test on data without protection.

        That is the limit of the same release, at a μ or ε of ∞, with the same seed where it is
        drawn; `utility_first` counts a loss from the same number. Of values that are themselves
        among the answers to randomised response it is the test of the very answers, not of normal
        data.
        """
        return self._bare.power

    @property
    def unprotected_type2(self) -> float:
        """Its complement."""
        return self._bare.missed

    @cached_property
    def _bare(self) -> Outcome:
        # Randomised tables that were drawn are compared with raw ones that are drawn.
        drawn = isinstance(self.design, Independence) and isinstance(
            self.protection, RandomizedResponse
        )
        bare: Protection | None = None
        if isinstance(self.protection, (LaplaceNoise, GaussianNoise)):
            bare = type(self.protection)(math.inf)
        elif self.protection is not None or self.k is not None:
            bare = RandomizedResponse(math.inf, self.k)
        level = Level(self.alpha, self.alternative, self.draws, self.rng)
        method: PowerMethod = "simulation" if drawn and self.standard_error else "exact"
        return evaluate(self.design, Case(self.effect, self.n, level, bare, method))

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        kind = _WORDS[type(self.design)]
        size = records(self.n)
        if isinstance(self.design, (TwoSampleMeans, TwoProportions)):
            size += " in the first group"
        spread = f" (± {2 * self.standard_error:.2g})" if self.standard_error else ""
        what = f"a {kind} of {self.effect:g}"
        if isinstance(self.design, OneProportion):
            what = f"a proportion that differs by {self.effect:g} from {self.design.null:g}"
        elif isinstance(self.design, OneSampleMean):
            what = f"a mean that differs by {self.effect:g}"
        start = f"With {size} the test at level {self.alpha:g} finds {what}"
        if self.protection is None:
            return f"{start} with probability {self.power:.4g}{spread}."
        return (
            f"{start} with probability {self.power:.4g}{spread} under {self.protection}, "
            f"{self.unprotected:.4g} without protection."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row: what was asked and what came out."""
        data = self.to_dict()
        data["assumptions"] = " ".join(self.assumptions)
        return {name: [value] for name, value in data.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "test": describe(self.design),
            "effect": self.effect,
            "n": self.n,
            "alpha": self.alpha,
            "alternative": self.alternative,
            "protection": "none" if self.protection is None else str(self.protection),
            "power": self.power,
            "type2": self.type2,
            "unprotected": self.unprotected,
            "method": self.method,
            "standing": str(self.standing),
            "standard_error": self.standard_error,
            "approximation_error": self.approximation_error,
            "law_error": self.law_error,
            "shape_range": None if self.shape_range is None else list(self.shape_range),
            "assumptions": list(self.assumptions),
        }


def records(n: int) -> str:
    """A number of records in words."""
    return f"{n:,} record" + ("s" if n != 1 else "")


def describe(design: Design) -> str:
    """Test of a design in words."""
    kind = f"test of a {_WORDS[type(design)]}"
    if isinstance(design, (OneSampleMean, PairedDifference, TwoSampleMeans, Slope)):
        kind = f"{'z' if design.known_sd else 't'} {kind}"
    if isinstance(design, Independence):
        rows, columns = design.joint.shape
        kind = f"chi-square test of independence, {rows} × {columns}"
    return kind


def power(
    design: Design,
    effect: float,
    n: int,
    alpha: float = 0.05,
    *,
    alternative: Alternative = "two-sided",
    protection: Protection | None = None,
    method: PowerMethod = "exact",
    draws: int = DRAWS,
    rng: int = 0,
) -> PowerResult:
    """Probability that a test finds an effect.

    Parameters
    ----------
    design : Design
        `OneSampleMean`, `PairedDifference`, `TwoSampleMeans`, `OneProportion`, `TwoProportions`,
        `Independence`, `Correlation` or `Slope`.
    effect : float
        True effect, in the unit that the design states.
    n : int
        Records, 1 or more (pairs for paired data; the first group where there are two).
    alpha : float
        Level, in [0, 1].
    alternative : {"two-sided", "larger", "smaller"}
        `Independence` has no side: leave the default.
    protection : LaplaceNoise, GaussianNoise or RandomizedResponse, optional
        None for the raw data.
    method : {"exact", "normal", "conservative", "simulation"}
        ``exact``: the best there is. Mostly the exact law of the protected statistic. Proportions:
        all counts, or cells of several counts where they are many, to within `law_error`. Means of
        randomised records: the law of the sums of the answers, by convolution (for a t test of many
        records to within `law_error`). Simulation: the t test and the correlation with noise, noisy
        tables, and correlations, slopes and tables of randomised records, unless these are so many
        that a large-sample law is close. Raw tables: the noncentral chi-square law, with its
        difference to a simulation as `law_error`. ``normal``: normal approximation, of tables the
        noncentral chi-square law; with Laplace noise that of the paper, which adds the variances.
        ``conservative``: one proportion
        without randomisation at the boundary. ``simulation``: tables drawn one by one.
    draws : int
        Of a simulation, 100 or more.
    rng : int
        Seed of a simulation, 0 or more. The same seed gives the same numbers.

    Returns
    -------
    PowerResult

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the method does not go with the design.
    CapacityError
        If `n` exceeds ``MAX_RECORDS`` or a table is too large to simulate.

    Notes
    -----
    Noise is for replacing one record, at sensitivity Δ: range/n for a mean, 1/n for a proportion
    (of the smaller group where there are two, whose membership is public). The z test of a mean
    then has σ_n² = σ²/n + Δ²/μ² with Gaussian noise; with Laplace noise the sum of a normal and a
    Laplace variable is convolved exactly. Randomised response multiplies relationships by the
    product of the retentions λ, which shrinks the noncentrality.
    """
    level = check_level(alpha, alternative, draws, rng)
    size = check_records(n)
    shift = check_effect(design, effect, protection)
    outcome = evaluate(design, Case(shift, size, level, protection, method))
    error = None
    if method == "normal" and outcome.method != "no test":
        better = evaluate(design, Case(shift, size, level, protection))
        if better.standing is Standing.EXACT or better.standard_error:
            error = outcome.power - better.power
    said, shapes = outcome.assumptions, None
    if method == "exact" and isinstance(protection, RandomizedResponse):
        said, shapes = left_open(design, Case(shift, size, level, protection), outcome)
    if isinstance(design, TwoProportions) and outcome.method == PAIRS:
        said = (pooled_size(design, Case(shift, size, level, protection)), *said)
    law_error = outcome.error
    if isinstance(design, Independence) and method == "exact" and not outcome.simulated:
        law_error = table_error(design, Case(shift, size, level, protection), outcome)
    return PowerResult(
        design=design,
        effect=shift,
        n=size,
        alpha=level.alpha,
        alternative=level.alternative,
        protection=protection,
        power=outcome.power,
        type2=outcome.missed,
        method=outcome.method,
        standing=outcome.standing,
        standard_error=outcome.standard_error,
        approximation_error=error,
        assumptions=said,
        law_error=law_error,
        shape_range=shapes,
        k=protection.k if isinstance(protection, RandomizedResponse) else None,
        draws=level.draws,
        rng=level.seed,
    )


def evaluate(design: Design, case: Case) -> Outcome:
    """Power of checked numbers.

    Raises
    ------
    InvalidInputError
        If the protection or the method does not go with the design.
    """
    check_design(design)
    protection = case.protection
    if protection is not None and not isinstance(
        protection, (LaplaceNoise, GaussianNoise, RandomizedResponse)
    ):
        msg = (
            "expected LaplaceNoise, GaussianNoise, RandomizedResponse or None as protection, "
            f"got {protection!r}"
        )
        raise InvalidInputError(msg)
    known = _METHODS[type(design)]
    if not isinstance(case.method, str) or case.method not in known:
        msg = (
            f"expected a method for a {_WORDS[type(design)]}, got {case.method!r}."
            f"{did_you_mean(case.method, known)}"
        )
        raise InvalidInputError(msg)
    outcome = _run(design, case)
    if case.level.alpha in {0.0, 1.0}:  # never or always, whatever rounding says
        return replace(outcome, power=case.level.alpha, missed=1 - case.level.alpha)
    return outcome


def _run(design: Design, case: Case) -> Outcome:
    match design:
        case OneProportion():
            return one_proportion_power(design, case)
        case TwoProportions():
            return two_proportions_power(design, case)
        case Independence():
            if not case.level.two_sided:
                msg = f"expected no side for a test of independence, got {case.level.alternative!r}"
                raise InvalidInputError(msg)
            return independence_power(design, case)
        case Correlation():
            return correlation_test_power(design, case)
        case Slope():
            return slope_power(design, case)
        case _:
            return mean_power(design, case)


def check_level(alpha: float, alternative: str, draws: int, rng: int) -> Level:
    """Level of checked numbers.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    a = one_number(check_probability(alpha, "alpha"), "alpha")
    sides = get_args(Alternative)
    if not isinstance(alternative, str) or alternative not in sides:
        hint = did_you_mean(alternative, sides)
        msg = f"expected a side of the alternative, got {alternative!r}.{hint}"
        raise InvalidInputError(msg)
    many = check_size(draws, "draws")
    if many < 100:
        msg = f"expected draws of 100 or more, got {draws!r}"
        raise InvalidInputError(msg)
    seed = whole(rng, "rng")
    side: Alternative = alternative  # type: ignore[assignment]  # checked above
    return Level(a, side, many, seed)


def check_records(n: int) -> int:
    """Return a number of records.

    Raises
    ------
    InvalidInputError
        If it is not a whole number, 1 or more.
    CapacityError
        If it exceeds ``MAX_RECORDS``.
    """
    size = check_size(n, "n")
    if size > MAX_RECORDS:
        msg = f"expected n of at most {MAX_RECORDS:,}, got {size:,}"
        raise CapacityError(msg)
    return size


def check_design(design: object) -> None:
    """Refuse what is not a design.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    if type(design) not in _METHODS:
        known = ", ".join(kind.__name__ for kind in _METHODS)
        msg = f"expected a design ({known}), got {design!r}"
        raise InvalidInputError(msg)


def check_effect(design: Design, effect: float, protection: object = None) -> float:
    """Return an effect that the design can have.

    Raises
    ------
    InvalidInputError
        If it is not finite or outside what is possible.
    """
    check_design(design)
    value = one_number(as_float_array(effect, "effect"), "effect")
    low, high = effect_bounds(design, reported=isinstance(protection, RandomizedResponse))
    slack = 1e-12 * (high - low)
    if not low - slack <= value <= high + slack:
        kind = _WORDS[type(design)]
        msg = f"expected an effect in [{low:.12g}, {high:.12g}] for a {kind}, got {effect!r}"
        raise InvalidInputError(msg)
    return min(max(value, low), high)
