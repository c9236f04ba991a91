"""One test from both sides: what the analyst keeps, what it means for the people in the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.power_nearest import Nearest, find_nearest, sentences
from seepage.plan.power_rooms import (
    FAMILIES,
    Region,
    Room,
    Wishes,
    check_limits,
    check_loss,
    find_region,
    find_room,
    protected_risk,
    protection_k,
)
from seepage.results import Result
from seepage.risk._outcome import Alternative
from seepage.risk.designs import Design
from seepage.risk.disclosure import PRIORS, Disclosure
from seepage.risk.planning import DRAWS, NeedResult, minimum_detectable_effect, sample_size
from seepage.risk.power import PowerResult, power
from seepage.risk.protections import Protection, ProtectionFamily, RandomizedResponse
from seepage.risk.selection import Limit
from seepage.risk.utility import Rule, among_answers

NOISE: tuple[ProtectionFamily, ...] = ("laplace", "gaussian")


PUBLIC = "One attribute is public and told as it is: the risk is that of the other one."


@dataclass(frozen=True, eq=False)
class PowerReport(Result):
    """A test under protection, and the risk that goes with it.

    Attributes
    ----------
    result : PowerResult
        At the effect and number of records given or found.
    need : NeedResult or None
        Where the effect or the number of records was left out.
    bare : NeedResult or None
        The same without protection.
    risk : Disclosure or None
        Of the protection, where one was given.
    rooms : tuple of Room
        What both sides leave, for each family; empty without a wish.
    limit : Limit or None
    wishes : Wishes
        What was asked for, and how the attacker is described.
    """

    result: PowerResult
    need: NeedResult | None
    bare: NeedResult | None
    risk: Disclosure | None
    rooms: tuple[Room, ...]
    limit: Limit | None
    wishes: Wishes

    @property
    def feasible(self) -> bool:
        """Whether some protection meets every wish."""
        return not self.rooms or any(
            room.feasible and np.isfinite(room.least) for room in self.rooms
        )

    @property
    def verdict(self) -> str:
        """The answer in one sentence, or one for each family."""
        if not self.rooms:
            return self.need.verdict if self.need is not None else self.result.verdict
        said = " ".join(room.sentence for room in self.rooms)
        if self.feasible:
            return said
        start = (
            "The wishes exclude each other."
            if self.limit is not None
            else "Nothing meets the wish."
        )
        return f"{start} {said} {sentences(self.nearest)}".rstrip()

    @cached_property
    def nearest(self) -> tuple[Nearest, ...]:
        """The nearest wishes that can be met; empty where those that were given can."""
        if self.feasible:
            return ()
        return tuple(
            item
            for room in self.rooms
            for item in find_nearest(self.result, room, self.wishes, self.limit)
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        said = list(self.result.assumptions)
        protection = self.result.protection
        if isinstance(protection, RandomizedResponse) and protection.secret is not None:
            said.append(PUBLIC)
        for room in self.rooms:
            said += room.utility.assumptions if room.utility is not None else ()
            said += room.disclosure.assumptions
        said += self.risk.assumptions if self.risk is not None else ()
        return tuple(dict.fromkeys(said))

    def columns(self) -> Mapping[str, list[Any]]:
        """Return one row for each family, or one for the power."""
        if not self.rooms:
            return self.result.columns()
        return {
            "family": [room.family for room in self.rooms],
            "parameter": ["epsilon" if room.symbol == "ε" else "mu" for room in self.rooms],
            "least": [room.least for room in self.rooms],
            "most": [room.most for room in self.rooms],
            "feasible": [room.feasible for room in self.rooms],
            "attack_power": [room.disclosure.power for room in self.rooms],
            "relative_risk_at_floor": [
                room.disclosure.relative_risk_at_floor for room in self.rooms
            ],
            "alpha0": [self.wishes.alpha0] * len(self.rooms),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "format": "seepage.power",
            "version": 1,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "power": self.result.to_dict(),
            "need": None if self.need is None else self.need.to_dict(),
            "need_without_protection": None if self.bare is None else self.bare.to_dict(),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "feasible": self.feasible,
            "nearest": [item.to_dict() for item in self.nearest],
            "rooms": [
                {
                    "family": room.family,
                    "least": room.least,
                    "most": room.most,
                    "feasible": room.feasible,
                    "measured": room.measured,
                    "sentence": room.sentence,
                    "utility": None if room.utility is None else room.utility.to_dict(),
                    "risk": room.disclosure.to_dict(),
                }
                for room in self.rooms
            ],
        }

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Both sides over the parameter: of each family asked for, or of the noise given."""
        chosen = [room.family for room in self.rooms]
        protection = self.result.protection
        if not chosen and protection is not None:
            chosen = [protection.family]
        rooms = {room.family: room for room in self.rooms}
        return tuple(
            find_region(self.result, name, self.wishes, rooms.get(name), self.limit)
            for name in chosen
        )


def plan_test(
    design: Design,
    *,
    effect: float | None = None,
    n: int | None = None,
    target: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    protection: Protection | None = None,
    target_loss: float | None = None,
    rule: Rule = "absolute",
    families: Sequence[ProtectionFamily] | None = None,
    relative_risk: float | None = None,
    attack_power: float | None = None,
    posterior: float | None = None,
    belief: float | None = None,
    alpha0: float = 0.01,
    prior: ArrayLike = PRIORS,
    k: int | tuple[int, int] | None = None,
    draws: int = DRAWS,
    rng: int = 0,
) -> PowerReport:
    """Look at a test from the side of the analyst and from that of the people in the data.

    Parameters
    ----------
    design : Design
        As of `seepage.power`.
    effect : float, optional
        Without it the smallest effect found with power `target` is looked for.
    n : int, optional
        Number of records; without it the smallest with power `target` is looked for.
    target : float
        Power, in [0, 1].
    alpha : float
        Level of the test, in [0, 1].
    alternative : {"two-sided", "larger", "smaller"}
    protection : LaplaceNoise, GaussianNoise or RandomizedResponse, optional
    target_loss : float, optional
        The analyst's wish (utility first): how much may be lost, in the sense of `rule`.
    rule : {"absolute", "relative", "power"}
        As of `seepage.utility_first`: "absolute" for a loss of power, "relative" for the paper's.
    families : sequence of {"laplace", "gaussian", "randomized_response"}, optional
        Protections to look at; by default both kinds of noise.
    relative_risk, attack_power, posterior : float, optional
        The limit on the attacker, one at most; as of `seepage.choose`.
    belief : float, optional
        Starting belief that goes with `posterior`, in [0, 1].
    alpha0 : float
        False-alarm rate of the attacker, in [0, 1].
    prior : float or array-like of float
        Starting beliefs of the attacker, for the words.
    k : int or pair of int, optional
        Numbers of values of the attributes under randomised response.
    draws, rng : int
        Of simulations, as of `seepage.power`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or wishes do not go together.
    InfeasibleError
        If an effect or a number of records that is looked for does not exist.
    """
    names = check_families(families)
    raw = _unprotected(design, protection, names, k)
    options: dict[str, Any] = {
        "alternative": alternative, "protection": protection or raw, "draws": draws, "rng": rng
    }  # fmt: skip
    need = bare = None
    if effect is not None and n is not None:
        result = power(design, effect, n, alpha, **options)
    elif effect is None and n is None:
        msg = "expected an effect, a number of records (n), or both, got neither"
        raise InvalidInputError(msg)
    else:

        def find(**choices: Any) -> NeedResult:
            if n is not None:
                return minimum_detectable_effect(design, n, target, alpha, **choices)
            return sample_size(design, effect or 0.0, target, alpha, **choices)

        need = find(**options)
        if protection is not None:
            found = find(**(options | {"protection": raw}))
            bare = replace(found, at=replace(found.at, protection=None))
        result = need.at
    if protection is None and raw is not None:
        result = replace(result, protection=None)
        need = need and replace(need, at=result)
    if protection is not None:
        k = protection_k(protection)
    given = check_limits(relative_risk, attack_power, posterior, belief)
    wishes = Wishes(given, target_loss, rule, belief, alpha0, prior, k, draws, rng)
    check_loss(target_loss, rule)
    rooms: list[Room] = []
    limit: Limit | None = None
    if given or target_loss is not None:
        if protection is not None:
            msg = (
                "expected either a protection or wishes that one is looked for, got both "
                f"({protection} and wishes)"
            )
            raise InvalidInputError(msg)
        for name in names:
            room, limit = find_room(result, name, wishes)
            rooms.append(room)
    elif families is not None:
        msg = "expected families together with target_loss or a limit on the attacker, got neither"
        raise InvalidInputError(msg)
    risk = None
    if protection is not None:
        risk = protected_risk(design, protection, prior=prior, alpha0=alpha0)
    return PowerReport(result, need, bare, risk, tuple(rooms), limit, wishes)


def _unprotected(
    design: Design,
    protection: Protection | None,
    names: tuple[ProtectionFamily, ...],
    k: int | tuple[int, int] | None,
) -> RandomizedResponse | None:
    """What the test without protection is made with, where that is answers and not normal data."""
    if isinstance(protection, RandomizedResponse):
        k = protection.k
    elif protection is not None or names != ("randomized_response",):
        return None
    return RandomizedResponse(np.inf, k) if isinstance(k, int) and among_answers(design) else None


def check_families(names: Sequence[ProtectionFamily] | None) -> tuple[ProtectionFamily, ...]:
    """Return families of protections; both kinds of noise by default.

    Raises
    ------
    InvalidInputError
        If it is no list of known names.
    """
    if names is None:
        return NOISE
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        msg = f"expected families as a list of names, got {names!r}"
        raise InvalidInputError(msg)
    for name in names:
        if name not in FAMILIES:
            msg = f"expected a family of protections, got {name!r}.{did_you_mean(name, FAMILIES)}"
            raise InvalidInputError(msg)
    return tuple(dict.fromkeys(names))
