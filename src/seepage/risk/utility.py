"""Utility first: the smallest privacy-loss parameter with which the tests still work.

Source: de Fondeville, "Balancing the privacy-utility trade-off", Section 5.2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from seepage._numeric import as_float_array, check_probability
from seepage.errors import InfeasibleError, InvalidInputError, did_you_mean
from seepage.results import Result, Standing
from seepage.risk._outcome import Level, Outcome, PowerMethod
from seepage.risk._rounding import round_up, words
from seepage.risk.designs import (
    Design,
    Independence,
    OneSampleMean,
    PairedDifference,
    TwoSampleMeans,
    releases_several,
)
from seepage.risk.multiple import (
    Correction,
    PlannedTest,
    check_share,
    check_tests,
    single_level,
)
from seepage.risk.planning import DRAWS, check_certain, least, reaches
from seepage.risk.power import check_level, evaluate
from seepage.risk.protections import (
    GaussianNoise,
    LaplaceNoise,
    Protection,
    ProtectionFamily,
    RandomizedResponse,
)
from seepage.tradeoff import TradeOff
from seepage.tradeoff._common import ONE_VALUE, REPLACE, one_number

Rule = Literal["relative", "absolute", "power"]
Progress = Callable[[int, int], None]

_RULES: Mapping[str, str] = {
    "relative": "the type II error grows by at most {:g} of itself",
    "absolute": "the type II error grows, and the power falls, by at most {:g}",
    "power": "the power is at least {:g}",
}


@dataclass(frozen=True)
class KeptTest:
    """One test under the protection that was chosen.

    Parameters
    ----------
    name : str
    parameter : float
        Smallest parameter that this test asks for by itself; with Benjamini–Hochberg, where the
        level is that of all tests at once, that of all.
    power, unprotected : float
        Power at the parameter chosen for all, and without protection.
    type2, unprotected_type2 : float
    standard_error : float
        Monte Carlo error of `power`; 0 without simulation.
    """

    name: str
    parameter: float
    power: float
    unprotected: float
    type2: float
    unprotected_type2: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class UtilityResult(Result):
    """The smallest parameter with which every planned test keeps its power.

    Attributes
    ----------
    family : {"laplace", "gaussian", "randomized_response"}
    parameter : float
        μ of the noise on one statistic, or ε of one attribute, in [0, ∞]. It meets the rule when
        evaluated again; the next smaller number does not.
    binding : str
        The test that asks for it.
    rule : {"relative", "absolute", "power"}
    amount : float
    level : float
        At which each test is made.
    tests : tuple of KeptTest
    standing : Standing
    assumptions : tuple of str
    several : bool
        Whether some test is made with more than one noisy number.
    """

    family: ProtectionFamily
    parameter: float
    binding: str
    rule: Rule
    amount: float
    level: float
    tests: tuple[KeptTest, ...]
    standing: Standing
    assumptions: tuple[str, ...]
    several: bool = False

    @property
    def parameter_name(self) -> Literal["mu", "epsilon"]:
        """What the parameter is called."""
        return "epsilon" if self.family == "randomized_response" else "mu"

    @property
    def composed(self) -> float:
        """Parameter of all releases together, when each test gets its own.

        ``m·μ`` for Laplace noise (as pure ε), ``√m·μ`` for Gaussian noise (exact), ε itself for
        randomised response, as the records are answered once (for one attribute).
        """
        if self.family == "laplace":
            return len(self.tests) * self.parameter
        if self.family == "gaussian":
            return math.sqrt(len(self.tests)) * self.parameter
        return self.parameter

    @property
    def curve(self) -> TradeOff:
        """What an attacker gains from one release, for a description of the risk.

        For randomised response that of an attribute with two values; more values protect better.
        Laplace noise on several numbers (t tests, correlations, tables) is described as pure
        ε-differential privacy, the most that it can reveal.
        """
        if self.family == "laplace" and self.several:
            return _curve("pure", self.parameter, REPLACE)
        return _curve(self.family, self.parameter)

    @property
    def composed_curve(self) -> TradeOff:
        """The same for all releases together; for Laplace noise an upper limit, as pure ε."""
        if len(self.tests) == 1 or self.family == "randomized_response":
            return self.curve
        if self.family == "laplace":
            return _curve("pure", self.composed, REPLACE)
        return _curve("gaussian", self.composed)

    @property
    def meaning(self) -> str:
        """The rule in words."""
        return _RULES[self.rule].format(self.amount)

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        kind = {"laplace": "Laplace noise", "gaussian": "Gaussian noise"}.get(
            self.family, "randomised response"
        )
        symbol = "ε" if self.parameter_name == "epsilon" else "μ"
        least = "∞" if math.isinf(self.parameter) else words(round_up(self.parameter, 4))
        who = f"; {self.binding} asks for it" if len(self.tests) > 1 else ""
        return (
            f"{kind} needs {symbol} = {least} or more so that {self.meaning}"
            f"{' in every test' if len(self.tests) > 1 else ''}{who}."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row for each test."""
        return {
            "test": [test.name for test in self.tests],
            "own_parameter": [test.parameter for test in self.tests],
            "power": [test.power for test in self.tests],
            "unprotected": [test.unprotected for test in self.tests],
            "type2": [test.type2 for test in self.tests],
            "unprotected_type2": [test.unprotected_type2 for test in self.tests],
            "standard_error": [test.standard_error for test in self.tests],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "family": self.family,
            "parameter": self.parameter,
            "parameter_name": self.parameter_name,
            "composed": self.composed,
            "binding": self.binding,
            "rule": self.rule,
            "amount": self.amount,
            "meaning": self.meaning,
            "level": self.level,
            "tests": self.columns(),
            "standing": str(self.standing),
            "assumptions": list(self.assumptions),
        }


def protection_of(
    family: ProtectionFamily, parameter: float, k: int | tuple[int, int] | None = None
) -> Protection:
    """Protection by the name of its family.

    Raises
    ------
    InvalidInputError
        If the family is unknown or the parameter outside its range.
    """
    known = get_args(ProtectionFamily)
    if not isinstance(family, str) or family not in known:
        msg = f"expected a family of protections, got {family!r}.{did_you_mean(family, known)}"
        raise InvalidInputError(msg)
    if family == "laplace":
        return LaplaceNoise(parameter)
    if family == "gaussian":
        return GaussianNoise(parameter)
    return RandomizedResponse(parameter, k)


def among_answers(design: Design) -> bool:
    """Whether a test is one of means of values that are themselves answers, as planned."""
    if isinstance(design, PairedDifference):
        return design.differences.on_grid
    return isinstance(design, (OneSampleMean, TwoSampleMeans)) and design.values.on_grid


def utility_first(
    tests: PlannedTest | Sequence[PlannedTest],
    family: ProtectionFamily,
    *,
    rule: Rule = "relative",
    amount: float = 0.01,
    alpha: float = 0.05,
    correction: Correction = "none",
    true_share: float = 1.0,
    draws: int = DRAWS,
    rng: int = 0,
    progress: Progress | None = None,
) -> UtilityResult:
    """Smallest privacy-loss parameter that every planned test tolerates.

    Parameters
    ----------
    tests : PlannedTest or sequence of PlannedTest
    family : {"laplace", "gaussian", "randomized_response"}
    rule : {"relative", "absolute", "power"}
        With β the type II error without protection and β_μ that with it: ``relative`` asks for
        ``β_μ − β ≤ amount·β``, the paper's rule (its formula divides by β, and its 1 % is
        amount = 0.01); ``absolute`` for ``β_μ − β ≤ amount``, which is a loss of power of at most
        this amount; ``power`` for a power of at least `amount`. A β_μ below β is no loss.
    amount : float
        In [0, ∞) for ``relative``, in [0, 1] otherwise.
    alpha : float
        Level, in [0, 1].
    correction : {"none", "bonferroni", "benjamini_hochberg"}
        As in `family_power`; the level at which Benjamini–Hochberg rejects falls with the power of
        the tests, and so with the parameter.
    true_share : float
        Share of the tests with a true effect, in (0, 1], as in `family_power`.
    draws, rng
        As in `power`.
    progress : callable, optional
        Called with the number of tests done and of all.

    Returns
    -------
    UtilityResult
        `family` and `parameter` are what a description of the risk needs.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or a test does not go with the family.
    InfeasibleError
        If a test misses the power asked for even without protection.

    Notes
    -----
    A test without protection means here the limit of the same release: μ or ε of ∞. The answer is
    searched among all floating-point numbers, so it is the smallest that meets the rule as
    computed; among numbers of 24 bits where the power is simulated, or with Benjamini–Hochberg.
    An answer of ∞ says that no finite parameter does: where nothing may be lost (an amount of 0),
    or with ``relative`` where β is 0 in double precision.

    The search takes it that more noise means less power. That fails by a little for tests of counts
    (the two-sided test of one proportion with Gaussian noise loses up to 1e-7 of power at some
    larger μ): a much smaller parameter that happens to meet the rule may then be passed over.
    """
    planned = check_tests(tests)
    bound = check_rule(rule, amount)
    level = check_level(alpha, "two-sided", draws, rng)
    share = check_share(true_share)

    @functools.cache
    def level_at(parameter: float) -> float:
        def mean_power(u: float) -> float:
            return math.fsum(at(test, parameter, u=u).power for test in planned) / len(planned)

        return single_level(correction, level.alpha, share, len(planned), mean_power)

    def at(
        test: PlannedTest,
        parameter: float,
        method: PowerMethod | None = None,
        u: float | None = None,
    ) -> Outcome:
        each = level_at(parameter) if u is None else u
        own = Level(each, test.alternative, level.draws, level.seed)
        case = test.case(own, protection_of(family, parameter, test.k))
        method = methods.get(test.name, case.method) if method is None else method
        return evaluate(test.design, replace(case, method=method))

    if rule == "power":
        for test in planned:
            check_certain(
                test.design, bound, level, protection_of(family, 1.0, test.k), test.effect
            )

    def meets(outcome: Outcome, reference: Outcome) -> bool:
        if rule == "relative":
            return outcome.missed <= reference.missed * (1 + bound)
        if rule == "absolute":
            return outcome.missed - reference.missed <= bound
        return reaches(outcome, bound)

    # Randomised tables that are drawn at all are drawn at every parameter, to be compared.
    methods: dict[str, PowerMethod] = {}
    methods.update(
        (test.name, "simulation")
        for test in planned
        if isinstance(test.design, Independence)
        and family == "randomized_response"
        and at(test, 1.0, "exact", level.alpha).simulated
    )
    references = [at(test, math.inf) for test in planned]

    def all_meet(parameter: float) -> bool:
        return all(
            meets(at(test, parameter), reference)
            for test, reference in zip(planned, references, strict=True)
        )

    # The level of Benjamini–Hochberg is that of all tests at once: no test asks by itself.
    joint: float | None = None
    if correction == "benjamini_hochberg" and (rule == "power" or bound > 0):
        joint = least(all_meet, coarse=True)
    own: list[float] = []
    for test, reference in zip(planned, references, strict=True):
        simulated = at(test, 1.0).simulated

        def enough(parameter: float, test: PlannedTest = test, limit: Outcome = reference) -> bool:
            return meets(at(test, parameter), limit)

        found: float | None
        if rule != "power" and bound == 0:  # every noise loses some, though rounding hides it
            found = 0.0 if enough(0.0) else math.inf
        elif joint is not None:
            # One of them fails with the next smaller parameter.
            found = joint if not enough(joint * (1 - 2.0**-23)) else math.nextafter(joint, 0.0)
        else:
            found = least(enough, coarse=simulated)
        if found is None:
            msg = (
                f"expected a parameter with which {test.name!r} has power {bound:g}, got "
                f"{reference.power:.6g} without protection"
            )
            raise InfeasibleError(msg, test.name, reference.power)
        own.append(found)
        if progress is not None:
            progress(len(own), len(planned))
    parameter = max(own)
    outcomes = [at(test, parameter) for test in planned]
    # A simulated power may dip above the parameter that a test asks for by itself.
    step = 2.0**-20
    while not all(map(meets, outcomes, references)):
        parameter, step = parameter * (1 + step), 2 * step
        outcomes = [at(test, parameter) for test in planned]
    # That only ∞ is enough may be due to the rounding of answers, which is there at any finite ε.
    rounds = math.isinf(parameter) and family == "randomized_response"
    told = outcomes + ([at(test, 1.0) for test in planned] if rounds else [])
    notes = dict.fromkeys(text for outcome in told for text in outcome.assumptions)
    estimated = any(outcome.standing is not Standing.EXACT for outcome in outcomes)
    return UtilityResult(
        family=family,
        parameter=parameter,
        binding=planned[own.index(max(own))].name,
        rule=rule,
        amount=bound,
        level=level_at(parameter),
        tests=tuple(
            KeptTest(t.name, p, o.power, r.power, o.missed, r.missed, o.standard_error)
            for t, p, o, r in zip(planned, own, outcomes, references, strict=True)
        ),
        standing=Standing.ESTIMATE if estimated else Standing.EXACT,
        assumptions=(
            "Planned effects, deviations and numbers of records are the true ones.",
            *notes,
            *(_counted(planned, references) if family == "randomized_response" else ()),
        ),
        several=any(releases_several(test.design) for test in planned),
    )


def _counted(tests: Sequence[PlannedTest], references: Sequence[Outcome]) -> Iterator[str]:
    """What a loss is counted from, where that is not the test of normal data."""
    for test, reference in zip(tests, references, strict=True):
        if among_answers(test.design):
            yield (
                f"The loss of the {test.name} is counted from the power of the same test "
                f"of the answers as they are, {reference.power:.4f}."
            )


def _curve(family: str, parameter: float, adjacency: str = ONE_VALUE) -> TradeOff:
    if family == "laplace":
        return TradeOff.laplace(parameter, adjacency=REPLACE)
    if family == "gaussian":
        return TradeOff.gaussian(parameter, adjacency=REPLACE)
    return TradeOff.approximate_dp(parameter, 0.0, adjacency=adjacency)


def check_rule(rule: object, amount: float, name: str = "amount") -> float:
    """Return the amount that goes with a rule.

    Raises
    ------
    InvalidInputError
        If the rule is unknown, or the amount outside its range.
    """
    known = get_args(Rule)
    if not isinstance(rule, str) or rule not in known:
        msg = f"expected a rule, got {rule!r}.{did_you_mean(rule, known)}"
        raise InvalidInputError(msg)
    if rule != "relative":
        return one_number(check_probability(amount, name), name)
    value = one_number(as_float_array(amount, name), name)
    if not 0 <= value < math.inf:
        msg = f"expected {name} in [0, inf), got {amount!r}"
        raise InvalidInputError(msg)
    return value
