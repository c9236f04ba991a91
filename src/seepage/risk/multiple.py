"""Several tests at once: Bonferroni and Benjamini–Hochberg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import check_probability
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing
from seepage.risk._outcome import Alternative, Case, Level
from seepage.risk.designs import Design
from seepage.risk.planning import DRAWS
from seepage.risk.power import check_effect, check_level, check_records, describe, evaluate
from seepage.risk.protections import Protection, RandomizedResponse
from seepage.tradeoff._common import one_number

Correction = Literal["none", "bonferroni", "benjamini_hochberg"]


@dataclass(frozen=True, eq=False)
class PlannedTest:
    """One test of a plan.

    Parameters
    ----------
    design : Design
    effect : float
    n : int
    alternative : {"two-sided", "larger", "smaller"}
    name : str
        By default the test in words.
    k : int or pair of int, optional
        Number of values that attributes are answered in under randomised response.

    Raises
    ------
    InvalidInputError
        If the effect, the number of records or `k` is outside its range.
    """

    design: Design
    effect: float
    n: int
    alternative: Alternative = "two-sided"
    name: str = ""
    k: int | tuple[int, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "effect", check_effect(self.design, self.effect))
        object.__setattr__(self, "n", check_records(self.n))
        check_level(0.05, self.alternative, DRAWS, 0)
        if self.k is not None:
            object.__setattr__(self, "k", RandomizedResponse(0.0, self.k).k)
        if not isinstance(self.name, str):
            msg = f"expected a name as text, got {self.name!r}"
            raise InvalidInputError(msg)
        if not self.name:
            object.__setattr__(self, "name", describe(self.design))

    def case(self, level: Level, protection: Protection | None) -> Case:
        """What the design is evaluated for."""
        effect = check_effect(self.design, self.effect, protection)
        return Case(effect, self.n, level, protection)


@dataclass(frozen=True, eq=False)
class FamilyPower(Result):
    """Power of several tests at once.

    Attributes
    ----------
    tests : tuple of PlannedTest
    correction : {"none", "bonferroni", "benjamini_hochberg"}
    alpha : float
        Bound on what the correction controls: the probability of any false rejection, or the
        expected share of false ones among the rejections.
    level : float
        Level at which each single test is in effect made.
    powers : tuple of float
    standing : Standing
    assumptions : tuple of str
    """

    tests: tuple[PlannedTest, ...]
    correction: Correction
    alpha: float
    level: float
    powers: tuple[float, ...]
    standing: Standing
    assumptions: tuple[str, ...]

    @property
    def average(self) -> float:
        """Expected share of the true effects that are found."""
        return float(np.mean(self.powers))

    @property
    def all_at_least(self) -> float:
        """Lower bound on the probability that all are found: ``max(0, 1 − Σβ)``."""
        return max(0.0, 1 - sum(1 - p for p in self.powers))

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return (
            f"Of the {len(self.tests)} planned effects {100 * self.average:.3g} % are found on "
            f"average, each tested at level {self.level:.3g} ({self.correction})."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row for each test."""
        return {
            "test": [test.name for test in self.tests],
            "effect": [test.effect for test in self.tests],
            "n": [test.n for test in self.tests],
            "level": [self.level] * len(self.tests),
            "power": list(self.powers),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "correction": self.correction,
            "alpha": self.alpha,
            "level": self.level,
            "average": self.average,
            "all_at_least": self.all_at_least,
            "tests": self.columns(),
            "standing": str(self.standing),
            "assumptions": list(self.assumptions),
        }


def family_power(
    tests: PlannedTest | Sequence[PlannedTest],
    alpha: float = 0.05,
    *,
    correction: Correction = "bonferroni",
    true_share: float = 1.0,
    protection: Protection | None = None,
    draws: int = DRAWS,
    rng: int = 0,
) -> FamilyPower:
    """Power of several tests, corrected for their number.

    Parameters
    ----------
    tests : PlannedTest or sequence of PlannedTest
        The true effects.
    alpha : float
        In [0, 1].
    correction : {"bonferroni", "benjamini_hochberg", "none"}
    true_share : float
        Share of the tests with a true effect, in (0, 1]; the others have none. Bonferroni divides
        the level by the number of all tests, ``⌈m/true_share⌉``.
    protection : Protection, optional
        The same for each test; its parameter is that of one release. Where randomised response
        does not say the number of values, each test does.
    draws, rng
        As in `power`.

    Returns
    -------
    FamilyPower

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.

    Notes
    -----
    With very many tests that are independent, or only weakly dependent, Benjamini–Hochberg
    rejects below a fixed level u: the largest with ``u = α·[(1 − s)·u + s·mean power(u)]``, s the
    share of true effects (Genovese and Wasserman, 2002). For few tests the share found differs.
    """
    planned = check_tests(tests)
    level = check_level(alpha, "two-sided", draws, rng)
    share = check_share(true_share)

    def mean_power(u: float) -> float:
        return float(np.mean([at_level(test, u, level, protection)[0] for test in planned]))

    notes: tuple[str, ...] = ()
    each = single_level(correction, level.alpha, share, len(planned), mean_power)
    if correction == "benjamini_hochberg":
        notes = (
            "There are very many tests, independent or weakly dependent, the planned effects "
            f"being equally frequent among the share of {share:g} that is true.",
        )
    outcomes = [at_level(test, each, level, protection) for test in planned]
    estimated = notes or any(outcome[1] is not Standing.EXACT for outcome in outcomes)
    said = dict.fromkeys(text for outcome in outcomes for text in outcome[2])
    return FamilyPower(
        tests=planned,
        correction=correction,
        alpha=level.alpha,
        level=each,
        powers=tuple(outcome[0] for outcome in outcomes),
        standing=Standing.ESTIMATE if estimated else Standing.EXACT,
        assumptions=(*notes, *said),
    )


def at_level(
    test: PlannedTest, alpha: float, level: Level, protection: Protection | None
) -> tuple[float, Standing, tuple[str, ...]]:
    """Power, standing and assumptions of one test at another level."""
    own = Level(alpha, test.alternative, level.draws, level.seed)
    if isinstance(protection, RandomizedResponse) and protection.k is None:
        protection = replace(protection, k=test.k)
    outcome = evaluate(test.design, test.case(own, protection))
    return outcome.power, outcome.standing, outcome.assumptions


def check_tests(tests: Any) -> tuple[PlannedTest, ...]:
    """Return one or more planned tests with different names.

    Raises
    ------
    InvalidInputError
        If there is none, something else, or a name comes twice.
    """
    if isinstance(tests, PlannedTest):
        return (tests,)
    if not isinstance(tests, (list, tuple)) or not tests:
        msg = f"expected one or more PlannedTest, got {tests!r}"
        raise InvalidInputError(msg)
    for test in tests:
        if not isinstance(test, PlannedTest):
            msg = f"expected PlannedTest, got {test!r}"
            raise InvalidInputError(msg)
    names = [test.name for test in tests]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"expected a name of its own for each test, got {twice!r} twice"
        raise InvalidInputError(msg)
    return tuple(tests)


def check_share(true_share: float) -> float:
    """Return a share of true effects.

    Raises
    ------
    InvalidInputError
        If it is not in (0, 1].
    """
    share = one_number(check_probability(true_share, "true_share"), "true_share")
    if share == 0:
        msg = f"expected true_share in (0, 1], got {true_share!r}"
        raise InvalidInputError(msg)
    return share


def single_level(
    correction: Correction,
    alpha: float,
    share: float,
    count: int,
    mean_power: Callable[[float], float],
) -> float:
    """Level at which each of several tests is in effect made; see `family_power`.

    Parameters
    ----------
    correction : {"none", "bonferroni", "benjamini_hochberg"}
    alpha, share : float
    count : int
        Tests with a true effect.
    mean_power : callable
        Of these tests, at a level.

    Raises
    ------
    InvalidInputError
        If the correction is unknown.
    """
    check_correction(correction, get_args(Correction))
    if correction == "benjamini_hochberg":
        return threshold(mean_power, alpha, share)
    every = float(np.ceil(min(count / share, 1e300) * (1 - 1e-15)))
    return alpha / (every if correction == "bonferroni" else 1.0)


def check_correction(correction: object, known: tuple[str, ...]) -> None:
    """Refuse an unknown correction.

    Raises
    ------
    InvalidInputError
        If it is unknown.
    """
    if not isinstance(correction, str) or correction not in known:
        msg = f"expected a correction, got {correction!r}.{did_you_mean(correction, known)}"
        raise InvalidInputError(msg)


def threshold(mean_power: Any, alpha: float, share: float) -> float:
    """The largest u in [0, α] with ``u = α·[(1 − s)·u + s·mean power(u)]``."""
    from scipy.optimize import brentq

    def gap(log_u: float) -> float:
        u = float(np.exp(log_u))
        return float(alpha * ((1 - share) * u + share * mean_power(u)) - u)

    if alpha == 0:
        return 0.0
    top = float(np.log(alpha))
    if gap(top) >= 0:
        return alpha
    # Seen from above the first u at which the curve is over the diagonal brackets the largest root.
    for step in range(1, 60):
        low = top - 0.5 * step
        if gap(low) >= 0:
            return min(float(np.exp(brentq(gap, low, low + 0.5, xtol=1e-12))), alpha)
    return 0.0
