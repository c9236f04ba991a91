"""Several tests from both sides: what all of them need, and what their releases mean together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage.errors import InvalidInputError
from seepage.plan.power_rooms import (
    KINDS,
    Room,
    check_limits,
    check_loss,
    limit_of,
    protected_curve,
)
from seepage.plan.powering import check_families
from seepage.results import Result
from seepage.risk._rounding import round_down, round_up, words
from seepage.risk.disclosure import PRIORS, Disclosure, disclosure
from seepage.risk.multiple import Correction, FamilyPower, PlannedTest, check_tests, family_power
from seepage.risk.planning import DRAWS
from seepage.risk.protections import ProtectionFamily, RandomizedResponse
from seepage.risk.selection import Limit
from seepage.risk.utility import Progress, Rule, among_answers, protection_of, utility_first
from seepage.tradeoff import TradeOff
from seepage.tradeoff._common import ONE_VALUE, REPLACE

REGION_POINTS = 17


@dataclass(frozen=True)
class FamilyRegion:
    """Both sides over the parameter of each release, for a picture.

    Attributes
    ----------
    family : str
    parameters : tuple of float
    powers : mapping of str to tuple of float
        Of each test.
    attacks : tuple of float
        Power of the attack on all releases together, or the belief where that is limited.
    attack : str
        What that is, in words.
    least, most, ceiling : float or None
    """

    family: str
    parameters: tuple[float, ...]
    powers: Mapping[str, tuple[float, ...]]
    attacks: tuple[float, ...]
    attack: str
    least: float | None
    most: float | None
    ceiling: float | None


@dataclass(frozen=True, eq=False)
class FamilyReport(Result):
    """Several tests under protection, and the risk of all their releases together.

    Attributes
    ----------
    bare : FamilyPower
        Without protection.
    rooms : tuple of Room
        What both sides leave to each family of protections: parameters are those of one release,
        the risk is that of all together.
    limit : Limit or None
    alpha0 : float
    correction : {"none", "bonferroni", "benjamini_hochberg"}
    true_share : float
    """

    bare: FamilyPower
    rooms: tuple[Room, ...]
    limit: Limit | None
    alpha0: float
    correction: Correction
    true_share: float

    @property
    def feasible(self) -> bool:
        """Whether some protection meets every wish."""
        return any(room.feasible and math.isfinite(room.least) for room in self.rooms)

    @property
    def together(self) -> str:
        """How the releases add up, in words."""
        m = len(self.bare.tests)
        if m == 1:
            return "There is one test, and one release."
        return (
            f"Each of the {m} tests gets a release of its own with the parameter shown; the risk "
            f"is that of all {m} together: {m}·μ for Laplace noise (as pure ε), √{m}·μ for "
            "Gaussian noise. Randomised response is answered once for all tests on an attribute, "
            "and the risk is that of one attribute."
        )

    @property
    def verdict(self) -> str:
        """The answer in one sentence for each family."""
        said = " ".join(f"{room.sentence}{_binding(room)}" for room in self.rooms)
        if self.feasible:
            return said
        start = "Nothing meets the wish."
        if self.limit is not None:
            start = "The wishes exclude each other."
        return f"{start} {said} {' '.join(self.nearest)}".rstrip()

    @cached_property
    def nearest(self) -> tuple[str, ...]:
        """The nearest wishes that can be met, in words; empty where those given can."""
        limit = self.limit
        if self.feasible or limit is None:
            return ()
        found = []
        for room in self.rooms:
            if room.most is None or room.utility is None:
                continue
            if math.isfinite(room.least):
                reached = limit.of(curve_of(self.bare.tests, room.family, room.least))
                if math.isfinite(reached):
                    shown = words(round_up(reached))
                    found.append(f"{KINDS[room.family]}: keep the tests, accept {limit.name} of "
                                 f"{shown}.")  # fmt: skip
            if room.most > 0 and math.isfinite(room.most):
                kept = family_power(
                    self.bare.tests, self.bare.alpha, correction=self.correction,
                    true_share=self.true_share,
                    protection=protection_of(room.family, room.most),
                )  # fmt: skip
                told = _accepted(self.bare, kept, room.utility.rule)
                if told:
                    found.append(f"{KINDS[room.family]}: keep the limit, accept {told}.")
        return tuple(found)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        said = [self.together, *self.bare.assumptions]
        for room in self.rooms:
            said += room.utility.assumptions if room.utility is not None else ()
            said += room.disclosure.assumptions
        return tuple(dict.fromkeys(said))

    def columns(self) -> Mapping[str, list[Any]]:
        """Return one row for each family and test."""
        rows: dict[str, list[Any]] = {}
        for room in self.rooms:
            found = room.utility
            for i, test in enumerate(self.bare.tests):
                kept = None if found is None else found.tests[i]
                row = {
                    "family": room.family,
                    "test": test.name,
                    "effect": test.effect,
                    "n": test.n,
                    "unprotected": self.bare.powers[i],
                    "power": None if kept is None else kept.power,
                    "own_parameter": None if kept is None else kept.parameter,
                    "least": room.least,
                    "most": room.most,
                    "binding": found is not None and found.binding == test.name,
                    "feasible": room.feasible,
                }
                for name, value in row.items():
                    rows.setdefault(name, []).append(value)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "format": "seepage.power_family",
            "version": 1,
            "verdict": self.verdict,
            "feasible": self.feasible,
            "nearest": list(self.nearest),
            "without_protection": self.bare.to_dict(),
            "rooms": [
                {
                    "family": room.family,
                    "least": room.least,
                    "most": room.most,
                    "feasible": room.feasible,
                    "measured": room.measured,
                    "sentence": room.sentence,
                    "utility": None if room.utility is None else room.utility.to_dict(),
                    "risk_of_all": room.disclosure.to_dict(),
                }
                for room in self.rooms
            ],
            "assumptions": list(self.assumptions),
        }

    @cached_property
    def regions(self) -> tuple[FamilyRegion, ...]:
        """Both sides over the parameter of each release, one for each family."""
        return tuple(self._region(room) for room in self.rooms)

    def _region(self, room: Room) -> FamilyRegion:
        tests = self.bare.tests
        least = None if room.utility is None else room.least
        marks = [x for x in (least, room.most) if x is not None and 1e-6 < x < 1e6] or [0.3, 3.0]
        grid = np.geomspace(min(marks) / 20, max(marks) * 20, REGION_POINTS).tolist()
        powers = [
            family_power(
                tests, self.bare.alpha, correction=self.correction, true_share=self.true_share,
                protection=protection_of(room.family, x), draws=2000,
            ).powers
            for x in grid
        ]  # fmt: skip
        limit, ceiling = self.limit, None
        measure = Limit("power", 1.0, self.alpha0 or 0.01)
        if limit is not None and limit.measure == "relative_risk":
            ceiling = min(1.0, limit.value * limit.alpha0) if limit.alpha0 else None
        elif limit is not None:
            measure, ceiling = limit, limit.value
        attack = f"Attacker finds what is true (at {measure.alpha0:g} false alarms)"
        if measure.measure != "power":
            attack = f"Attacker's belief, from {measure.prior:g} before"
        return FamilyRegion(
            family=room.family,
            parameters=tuple(grid),
            powers={t.name: tuple(row[i] for row in powers) for i, t in enumerate(tests)},
            attacks=tuple(measure.of(curve_of(tests, room.family, x)) for x in grid),
            attack=attack,
            least=least,
            most=room.most,
            ceiling=ceiling,
        )


def plan_tests(
    tests: PlannedTest | Sequence[PlannedTest],
    *,
    target_loss: float | None = None,
    rule: Rule = "absolute",
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    true_share: float = 1.0,
    families: Sequence[ProtectionFamily] | None = None,
    relative_risk: float | None = None,
    attack_power: float | None = None,
    posterior: float | None = None,
    belief: float | None = None,
    alpha0: float = 0.01,
    prior: ArrayLike = PRIORS,
    draws: int = DRAWS,
    rng: int = 0,
    progress: Progress | None = None,
) -> FamilyReport:
    """Look at several tests at once from both sides.

    Parameters
    ----------
    tests : PlannedTest or sequence of PlannedTest
        Each on a release of its own.
    target_loss : float, optional
        What each test may lose, in the sense of `rule`.
    rule : {"absolute", "relative", "power"}
        As of `seepage.utility_first`.
    alpha : float
        What the correction controls, in [0, 1].
    correction : {"bonferroni", "benjamini_hochberg", "none"}
    true_share : float
        As of `seepage.family_power`.
    families : sequence of {"laplace", "gaussian", "randomized_response"}, optional
        Protections to look at; by default both kinds of noise.
    relative_risk, attack_power, posterior, belief, alpha0, prior
        The limit on the attacker who sees all releases; as of `seepage.plan_test`.
    draws, rng : int
        Of simulations.
    progress : callable, optional
        Called with the numbers of tests done and of all, over the families.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or there is no wish.
    InfeasibleError
        If not even releasing nothing, or everything, meets a wish.
    """
    planned = check_tests(tests)
    limits = check_limits(relative_risk, attack_power, posterior, belief)
    check_loss(target_loss, rule)
    names = check_families(families)
    if not limits and target_loss is None:
        msg = "expected target_loss or a limit on the attacker for several tests, got neither"
        raise InvalidInputError(msg)
    # What a loss is counted from: the answers themselves, where the families ask for answers only.
    answers = any(among_answers(test.design) and test.k is not None for test in planned)
    only = RandomizedResponse(math.inf) if names == ("randomized_response",) and answers else None
    bare = family_power(
        planned, alpha, correction=correction, true_share=true_share, draws=draws, rng=rng,
        protection=only,
    )  # fmt: skip
    limit = limit_of(limits, alpha0, belief)
    rooms = []
    for done, name in enumerate(names):
        utility, most, measured = None, None, None
        if limit is not None:
            most = largest_together(planned, name, limit)
            measured = limit.of(curve_of(planned, name, most))
        if target_loss is not None:
            utility = utility_first(
                planned, name, rule=rule, amount=target_loss, alpha=alpha, correction=correction,
                true_share=true_share, draws=draws, rng=rng,
                progress=_part(progress, done, len(names)),
            )  # fmt: skip
        at = utility.parameter if utility is not None else most or 0.0
        symbol = "ε" if name == "randomized_response" else "μ"
        told = "∞" if math.isinf(at) else words(round_down(at, 6))
        several = f" in each of {len(planned)} releases" if len(planned) > 1 else ""
        label = f"{KINDS[name]}, {symbol} = {told}{several}"
        found: Disclosure = disclosure(
            curve_of(planned, name, at), prior=prior, alpha0=alpha0, name=label
        )
        rooms.append(Room(name, utility, most, measured, found))
    return FamilyReport(bare, tuple(rooms), limit, float(alpha0), correction, float(true_share))


def _part(progress: Progress | None, done: int, families: int) -> Progress | None:
    """Progress of one family as a part of that of all."""
    if progress is None:
        return None
    return lambda step, total: progress(done * total + step, families * total)


def curve_of(tests: Sequence[PlannedTest], name: ProtectionFamily, parameter: float) -> TradeOff:
    """What an attacker can learn from the releases of all tests: exact, or nowhere too low."""
    if len(tests) == 1:
        return protected_curve(tests[0].design, name, parameter, tests[0].k)
    if name == "gaussian":
        return TradeOff.gaussian(math.sqrt(len(tests)) * parameter, adjacency=REPLACE)
    if name == "laplace":
        return TradeOff.approximate_dp(len(tests) * parameter, 0.0, adjacency=REPLACE)
    sizes = {test.k for test in tests}
    if len(sizes) == 1:
        return protected_curve(tests[0].design, name, parameter, sizes.pop())
    return TradeOff.approximate_dp(parameter, 0.0, adjacency=ONE_VALUE)


def largest_together(tests: Sequence[PlannedTest], name: ProtectionFamily, limit: Limit) -> float:
    """Largest parameter of each release with which all together keep the limit."""
    from seepage.risk._families import largest

    return largest(lambda x: limit.of(curve_of(tests, name, x)) <= limit.value) or 0.0


def _accepted(bare: FamilyPower, kept: FamilyPower, rule: Rule) -> str:
    """What may be asked for in place of what was, in the sense of its rule, or nothing."""
    powers = np.array(kept.powers)
    if rule == "power":
        worst = int(powers.argmin())
        return f"power {words(round_down(powers[worst]))} ({kept.tests[worst].name!r})"
    lost = np.maximum(np.array(bare.powers) - powers, 0.0)
    if rule == "relative":
        missed = 1 - np.array(bare.powers)
        if (missed <= 0).any():
            return ""
        lost = lost / missed
    worst = int(lost.argmax())
    kind = "a relative loss of" if rule == "relative" else "a loss of"
    at = f"{kept.tests[worst].name!r} has power {words(round_down(powers[worst]))}"
    return f"{kind} {words(round_up(lost[worst]))} ({at})"


def _binding(room: Room) -> str:
    found = room.utility
    if found is None or len(found.tests) < 2 or math.isinf(room.least):
        return ""
    return f" {found.binding!r} asks for it."
