"""What the analyst and the people in the data leave to one family of protections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import as_float_array, check_probability
from seepage.errors import InfeasibleError, InvalidInputError
from seepage.risk._families import response_curve
from seepage.risk._outcome import Case, Outcome
from seepage.risk._rounding import given, round_down, round_up, words
from seepage.risk.designs import Design, releases_several
from seepage.risk.disclosure import PRIORS, Disclosure, disclosure
from seepage.risk.multiple import PlannedTest
from seepage.risk.planning import DRAWS
from seepage.risk.power import PowerResult, check_level, evaluate
from seepage.risk.protections import (
    GaussianNoise,
    LaplaceNoise,
    Protection,
    ProtectionFamily,
    RandomizedResponse,
)
from seepage.risk.selection import Limit, Measure, choose
from seepage.risk.utility import (
    Rule,
    UtilityResult,
    check_rule,
    protection_of,
    utility_first,
)
from seepage.tradeoff import TradeOff
from seepage.tradeoff._common import ONE_VALUE, REPLACE, one_number

FAMILIES: tuple[ProtectionFamily, ...] = get_args(ProtectionFamily)
KINDS: Mapping[str, str] = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "randomized_response": "Randomised response",
}
"""Families in words."""

POINTS = 49
FEW_POINTS = 13
"""Parameters at which a simulated power is drawn."""

REGION_DRAWS = 4000
"""Draws of a simulated power in a picture."""


@dataclass(frozen=True)
class Wishes:
    """What both sides ask for, and how the attacker is described.

    Attributes
    ----------
    given : mapping of str to float
        The limit on the attacker: at most one of "relative_risk", "power" and "posterior".
    target_loss : float or None
    rule : {"absolute", "relative", "power"}
    belief : float or None
        Starting belief, for a posterior.
    alpha0 : float
    prior : array-like of float
    k : int, pair of int or None
        Numbers of values under randomised response.
    draws, rng : int
    """

    given: Mapping[str, float]
    target_loss: float | None = None
    rule: Rule = "absolute"
    belief: float | None = None
    alpha0: float = 0.01
    prior: ArrayLike = PRIORS
    k: int | tuple[int, int] | None = None
    draws: int = DRAWS
    rng: int = 0


@dataclass(frozen=True, eq=False)
class Room:
    """What both sides leave to one family of protections.

    Attributes
    ----------
    family : {"laplace", "gaussian", "randomized_response"}
    utility : UtilityResult or None
        Smallest parameter that the analyst can work with.
    most : float or None
        Largest parameter that keeps the risk within the limit, in [0, ∞]; None without a limit.
    measured : float or None
        The limited quantity there.
    disclosure : Disclosure
        What the attacker learns at the smallest parameter the analyst can work with; without that
        wish, at the largest one within the limit.
    """

    family: ProtectionFamily
    utility: UtilityResult | None
    most: float | None
    measured: float | None
    disclosure: Disclosure

    @property
    def least(self) -> float:
        """Smallest parameter the analyst can work with; 0 without a wish."""
        return 0.0 if self.utility is None else self.utility.parameter

    @property
    def symbol(self) -> str:
        """What the parameter is called."""
        return "ε" if self.family == "randomized_response" else "μ"

    @property
    def feasible(self) -> bool:
        """Whether some parameter meets both sides."""
        return self.most is None or self.least <= self.most

    def _ends(self) -> tuple[str, str]:
        """Both ends in words: rounded inwards, with as many digits as that takes."""
        if self.most is None or np.isinf(self.most):
            return words(round_up(self.least, 4)), "any"
        ends = [(round_up(self.least, d), round_down(self.most, d)) for d in (4, 8, 17)]
        kept = [pair for pair in ends if not self.feasible or pair[0] <= pair[1]]
        low, high = (kept or ends[-1:])[0]
        return words(low), f"up to {words(high)}"

    @property
    def sentence(self) -> str:
        """The room in words, on the safe side."""
        name = KINDS[self.family]
        low, high = self._ends()
        if np.isinf(self.least):
            return f"{name}: the test does not bear any."
        if self.most is None and not self.least:
            return f"{name}: the test bears any, down to {self.symbol} = 0."
        if self.most is None:
            return f"{name}: the test needs {self.symbol} of {low} or more."
        if self.utility is None:
            allowed = f"{high} {self.symbol}" if self.most else "nothing to be released"
            return f"{name}: the limit allows {allowed}."
        if self.feasible and np.isinf(self.most) and not self.least:
            return f"{name}: any {self.symbol} meets both sides."
        if self.feasible:
            until = "any larger one" if np.isinf(self.most) else high
            return f"{name}: {self.symbol} from {low} {until} meets both sides."
        return f"{name}: the test needs {self.symbol} of {low} or more, the limit allows {high}."


@dataclass(frozen=True)
class Region:
    """Both sides over one parameter, for a picture.

    Attributes
    ----------
    family : str
    parameters : tuple of float
    powers : tuple of float
        Of the analyst's test.
    attacks : tuple of float
        Power of the attack at the false-alarm rate `alpha0`, or the belief where that is limited.
    unprotected : float
        Power of the test without protection.
    least, most : float or None
        Ends of what the two sides leave.
    ceiling : float or None
        Largest value of `attacks` that the limit allows.
    attack : str
        What `attacks` is, in words.
    """

    family: ProtectionFamily
    parameters: tuple[float, ...]
    powers: tuple[float, ...]
    attacks: tuple[float, ...]
    unprotected: float
    least: float | None
    most: float | None
    ceiling: float | None
    attack: str


def check_limits(
    relative_risk: float | None,
    attack_power: float | None,
    posterior: float | None,
    belief: float | None,
) -> dict[str, float]:
    """Return the limit on the attacker by the name it has in `seepage.choose`; one at most.

    Raises
    ------
    InvalidInputError
        If there are several, one is outside its range, or a belief stands alone.
    """
    limits = {
        "relative_risk": relative_risk, "attack_power": attack_power, "posterior": posterior
    }  # fmt: skip
    given = {name: value for name, value in limits.items() if value is not None}
    if len(given) > 1:
        msg = (
            "expected one of relative_risk, attack_power and posterior at most, "
            f"got {' and '.join(given)}"
        )
        raise InvalidInputError(msg)
    if (posterior is None) != (belief is None):
        name, other = ("posterior", "belief") if belief is None else ("belief", "posterior")
        msg = f"expected {name} together with {other}, got no {other}"
        raise InvalidInputError(msg)
    for name, value in (*given.items(), ("belief", belief)):
        if name != "relative_risk" and value is not None:
            one_number(check_probability(value, name), name)
    return {"power" if name == "attack_power" else name: x for name, x in given.items()}


def limit_of(given: Mapping[str, float], alpha0: float, belief: float | None) -> Limit | None:
    """Return the limit on the attacker, checked; None without one.

    Raises
    ------
    InvalidInputError
        If it is outside its range.
    InfeasibleError
        If not even releasing nothing meets it.
    """
    if not given:
        return None
    ((measure, value),) = given.items()
    floor = one_number(check_probability(alpha0, "alpha0"), "alpha0")
    if measure == "power" and floor == 0:
        msg = f"expected alpha0 above 0 together with attack_power, got {alpha0!r}"
        raise InvalidInputError(msg)
    number = one_number(as_float_array(value, measure), measure)
    limit = Limit(cast("Measure", measure), number, floor, belief)
    if not number >= limit.least:
        msg = (
            f"expected a limit that releasing nothing meets, got {limit.words}: the nearest is "
            f"{limit.name} of {limit.least:g}"
        )
        raise InfeasibleError(msg)
    return limit


def check_loss(target_loss: float | None, rule: Rule) -> None:
    """Refuse a loss outside the range of its rule.

    Raises
    ------
    InvalidInputError
        If the loss is not in [0, ∞) for a relative one, or not in [0, 1] otherwise.
    """
    if target_loss is not None:
        check_rule(rule, target_loss, "target_loss")


def find_room(
    result: PowerResult, name: ProtectionFamily, wishes: Wishes
) -> tuple[Room, Limit | None]:
    """What both sides leave to a family, and the limit as it was checked.

    Raises
    ------
    InvalidInputError
        If a wish is outside its range, or the test does not go with the family.
    InfeasibleError
        If not even releasing nothing, or releasing everything, meets a wish.
    """
    k = wishes.k
    utility, most, measured, limit = None, None, None, None
    if wishes.given:
        (most, measured), limit = _most(result.design, name, wishes)
    if wishes.target_loss is not None:
        test = PlannedTest(result.design, result.effect, result.n, result.alternative, k=k)
        utility = utility_first(
            test, name, rule=wishes.rule, amount=wishes.target_loss, alpha=result.alpha,
            draws=wishes.draws, rng=wishes.rng,
        )  # fmt: skip
    at = utility.parameter if utility is not None else most or 0.0
    symbol = "ε" if name == "randomized_response" else "μ"
    told = "∞" if np.isinf(at) else words(round_down(at, 6))
    label = f"{KINDS[name]}, {symbol} = {told}"
    curve = protected_curve(result.design, name, at, k)
    found = disclosure(curve, prior=wishes.prior, alpha0=wishes.alpha0, name=label)
    return Room(name, utility, most, measured, found), limit


def find_region(
    result: PowerResult,
    name: ProtectionFamily,
    wishes: Wishes,
    room: Room | None,
    limit: Limit | None,
) -> Region:
    """Both sides over the parameter of a family, around what is asked for or given."""
    draws = min(wishes.draws, REGION_DRAWS)

    def power_at(parameter: float) -> Outcome:
        protection = protection_of(name, parameter, wishes.k)
        if isinstance(result.protection, RandomizedResponse):
            protection = result.protection.at(parameter)
        return outcome_of(result, result.n, protection, wishes, draws)

    least = None if room is None or room.utility is None else room.least
    most = None if room is None else room.most
    marks = [least, most, parameter_of(result.protection) if room is None else None]
    inner = [x for x in marks if x is not None and 1e-6 < x < 1e6] or [0.3, 3.0]
    count = FEW_POINTS if power_at(inner[0]).standard_error else POINTS
    grid = np.geomspace(min(inner) / 20, max(inner) * 20, count).tolist()
    ceiling = None
    if limit is None or limit.measure == "relative_risk":
        floor = wishes.alpha0 if limit is None else limit.alpha0
        measure = Limit("power", 1.0, floor or 0.01)
        if limit is not None and limit.alpha0:
            ceiling = min(1.0, limit.value * limit.alpha0)
    else:
        measure, ceiling = limit, limit.value
    attack = (
        f"Attacker finds what is true (at {measure.alpha0:g} false alarms)"
        if measure.measure == "power"
        else f"Attacker's belief, from {measure.prior:g} before"
    )
    return Region(
        family=name,
        parameters=tuple(grid),
        powers=tuple(power_at(x).power for x in grid),
        attacks=tuple(measure.of(protected_curve(result.design, name, x, wishes.k)) for x in grid),
        unprotected=power_at(np.inf).power,
        least=least,
        most=most,
        ceiling=ceiling,
        attack=attack,
    )


def outcome_of(
    result: PowerResult, n: int, protection: Protection, wishes: Wishes, draws: int
) -> Outcome:
    """The same test with other records and protection, without what hangs on shapes of values."""
    level = check_level(result.alpha, result.alternative, draws, wishes.rng)
    return evaluate(result.design, Case(result.effect, n, level, protection))


def _most(
    design: Design, name: ProtectionFamily, wishes: Wishes
) -> tuple[tuple[float, float], Limit]:
    """Largest parameter within the limit, and the limited quantity there."""
    k, options = wishes.k, dict[str, Any](wishes.given)
    family = str(name)
    if name == "randomized_response" and isinstance(k, int):
        options["k"] = k
    elif name == "randomized_response" or (name == "laplace" and releases_several(design)):
        family, options["delta"] = "approximate_dp", 0.0
    try:
        found = choose(
            blatant=True, near_certainty=True, families=[family], alpha0=wishes.alpha0,
            prior=wishes.belief, **options,
        )  # fmt: skip
    except InfeasibleError:
        ((measure, value),) = wishes.given.items()
        limit = Limit(cast("Measure", measure), float(value), float(wishes.alpha0), wishes.belief)
        if limit.value < limit.least:  # not even releasing nothing meets it
            raise
        return (0.0, limit.least), limit
    return (found.choices[0].value, found.choices[0].measured), found.limit


def protected_curve(
    design: Design, name: ProtectionFamily, parameter: float, k: int | tuple[int, int] | None
) -> TradeOff:
    """What an attacker can learn from a protected test: exact, or nowhere too low.

    Laplace noise on several numbers is described as pure ε-differential privacy, and so is
    randomised response where the number of values is not one; both are the most that can be.
    """
    if name == "gaussian":
        return TradeOff.gaussian(parameter, adjacency=REPLACE)
    if name == "laplace" and not releases_several(design):
        return TradeOff.laplace(parameter, adjacency=REPLACE)
    if name == "randomized_response" and isinstance(k, int):
        return response_curve(k, parameter)
    adjacency = REPLACE if name == "laplace" else ONE_VALUE
    return TradeOff.approximate_dp(parameter, 0.0, adjacency=adjacency)


def parameter_of(protection: Protection | None) -> float:
    """μ or ε of a protection, the larger of two that randomise; 0 for none."""
    if isinstance(protection, (LaplaceNoise, GaussianNoise)):
        return protection.mu
    if isinstance(protection, RandomizedResponse):
        return protection.largest
    return 0.0


def protection_k(protection: Protection) -> int | tuple[int, int] | None:
    """Numbers of values of what randomised response randomises, where given."""
    return protection.secret_k if isinstance(protection, RandomizedResponse) else None


def protected_risk(
    design: Design, protection: Protection, *, prior: ArrayLike = PRIORS, alpha0: float = 0.01
) -> Disclosure:
    """Say what the best attacker can learn from what a test is made with.

    Parameters
    ----------
    design : Design
    protection : LaplaceNoise, GaussianNoise or RandomizedResponse
        With two budgets, the larger one counts: that of one answer. What is told as it is, with a
        budget of ∞ beside a finite one, is public and no secret.
    prior, alpha0
        As of `seepage.disclosure`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    curve = protected_curve(
        design, protection.family, parameter_of(protection), protection_k(protection)
    )
    kind = KINDS[protection.family]
    symbol = "ε" if protection.family == "randomized_response" else "μ"
    name = f"{kind}, {symbol} = {given(parameter_of(protection))}"
    return disclosure(curve, prior=prior, alpha0=alpha0, name=name)
