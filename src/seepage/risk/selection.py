"""Privacy first: from what may happen to the mechanisms that keep it so.

The questions are those of de Fondeville, "Balancing the privacy-utility trade-off", Section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import as_float_array, check_probability
from seepage.errors import InfeasibleError, InvalidInputError
from seepage.results import Result
from seepage.risk._families import Family, as_names, family, largest
from seepage.risk._rounding import round_down, words
from seepage.risk.disclosure import Disclosure, disclosure
from seepage.tradeoff import Failure, TradeOff
from seepage.tradeoff._common import one_number

Measure = Literal["relative_risk", "power", "posterior"]

SMALLEST = 1e-12
"""A parameter below this releases nothing of use; it is what rounding leaves of 0."""

LARGEST = float(np.finfo(float).max)
"""Stands for every finite parameter, where only ∞, that is no protection, is ruled out."""


@dataclass(frozen=True)
class Limit:
    """What must not be exceeded.

    Attributes
    ----------
    measure : {"relative_risk", "power", "posterior"}
    value : float
    alpha0 : float
        Smallest false-alarm rate that is looked at; 0 for all.
    prior : float or None
        Belief before, for a posterior.
    """

    measure: Measure
    value: float
    alpha0: float
    prior: float | None = None

    def of(self, curve: TradeOff) -> float:
        """The measure of a curve."""
        if self.measure == "relative_risk":
            return curve.relative_risk(self.alpha0)
        if self.measure == "power":
            return float(curve.power(self.alpha0))
        return float(curve.posterior(self.prior or 0.0, self.alpha0))

    @property
    def least(self) -> float:
        """The measure when nothing is released."""
        if self.measure == "posterior":
            return self.prior or 0.0
        return self.alpha0 if self.measure == "power" else 1.0

    @property
    def name(self) -> str:
        """What is limited, in words."""
        return {
            "relative_risk": "a relative risk",
            "power": "an attack power",
            "posterior": "a belief",
        }[self.measure]

    @property
    def words(self) -> str:
        """The wish as part of a sentence."""
        at = f" at false-alarm rates of {self.alpha0:g} or more" if self.alpha0 else ""
        if self.measure == "relative_risk":
            return f"no belief multiplied by more than {self.value:g}{at}"
        if self.measure == "power":
            return (
                f"attack power of at most {self.value:g} at a false-alarm rate of {self.alpha0:g}"
            )
        return f"no belief of {self.prior:g} raised above {self.value:g}{at}"


@dataclass(frozen=True, eq=False)
class Choice:
    """A family that can meet the limit, at the largest parameter that does.

    Attributes
    ----------
    family : str
    label : str
    parameter : {"mu", "epsilon"}
    settings : mapping of str to float
        k, n or delta, where the family has them.
    value : float
        Largest parameter that meets the limit and fails in an admitted way; the next
        floating-point number does not. ∞ when every parameter does; the largest floating-point
        number when every finite one does.
    measured : float
        The limited quantity at this parameter, evaluated again.
    failure : {"none", "graceful", "catastrophic"}
    curve : TradeOff
    note : str
        Why the parameter is not bounded, or nothing.
    """

    family: str
    label: str
    parameter: str
    settings: Mapping[str, float]
    value: float
    measured: float
    failure: Failure
    curve: TradeOff
    note: str = ""

    @property
    def most(self) -> str:
        """The parameter in words, rounded down; "any", or "any finite", where it has no bound."""
        if np.isinf(self.value):
            return "any"
        return "any finite" if self.value == LARGEST else words(round_down(self.value, 4))

    def named(self, symbol: str) -> str:
        """The mechanism at this parameter in words."""
        # What holds at this parameter holds at a smaller one: the name is rounded down.
        if self.value == LARGEST:
            return f"{self.label}, any finite {symbol}"
        return f"{self.label}, {symbol} = {'∞' if np.isinf(self.value) else self.most}"

    def disclosure(
        self, *, alpha0: float = 0.01, prior: ArrayLike = (0.01, 0.1, 0.5)
    ) -> Disclosure:
        """All measures of disclosure of this mechanism."""
        name = self.named(self.parameter)
        return disclosure(self.curve, prior=prior, alpha0=alpha0, name=name)


@dataclass(frozen=True)
class Exclusion:
    """A family that does not qualify, and why."""

    family: str
    label: str
    reason: str


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """Mechanisms that keep what may happen within a limit.

    Attributes
    ----------
    limit : Limit
    blatant, near_certainty : bool
        The answers to the first two questions.
    choices : tuple of Choice
    excluded : tuple of Exclusion
    """

    limit: Limit
    blatant: bool
    near_certainty: bool
    choices: tuple[Choice, ...]
    excluded: tuple[Exclusion, ...]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        adjacencies = dict.fromkeys(
            f"{choice.label}: the two cases compared differ in this: {choice.curve.adjacency}."
            for choice in self.choices
        )
        return (*adjacencies, "The attacker knows everything except what he wants to find out.")

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        found = "; ".join(
            f"{choice.label}: {choice.most} {choice.parameter}"
            if choice.value >= LARGEST
            else f"{choice.label}: {choice.parameter} up to {choice.most}"
            for choice in self.choices
        )
        return f"For {self.limit.words}, choose among: {found}."

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each admissible family."""
        rows = self.choices
        return {
            "family": [row.family for row in rows],
            "mechanism": [row.label for row in rows],
            "parameter": [row.parameter for row in rows],
            "value": [row.value for row in rows],
            "measured": [row.measured for row in rows],
            "limit": [self.limit.value for _ in rows],
            "failure": [row.failure for row in rows],
            "adjacency": [row.curve.adjacency for row in rows],
            "note": [row.note for row in rows],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        names = list(self.columns())
        rows = zip(*self.columns().values(), strict=True)
        choices = [dict(zip(names, row, strict=True)) for row in rows]
        for row, choice in zip(choices, self.choices, strict=True):
            row["settings"] = dict(choice.settings)
        return {
            "format": "seepage.selection",
            "version": 1,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "blatant_disclosure_acceptable": self.blatant,
            "near_certainty_acceptable": self.near_certainty,
            "limit": {
                "measure": self.limit.measure,
                "value": self.limit.value,
                "alpha0": self.limit.alpha0,
                "prior": self.limit.prior,
            },
            "choices": choices,
            "excluded": [
                {"family": row.family, "mechanism": row.label, "reason": row.reason}
                for row in self.excluded
            ],
        }


def choose(
    *,
    blatant: bool = False,
    near_certainty: bool = False,
    relative_risk: float | None = None,
    power: float | None = None,
    posterior: float | None = None,
    alpha0: float = 0.0,
    prior: float | None = None,
    families: Iterable[str] | None = None,
    k: int | Iterable[int] = 2,
    n: int | None = None,
    delta: float | None = None,
) -> Selection:
    """Find the mechanisms, and their largest parameters, that keep disclosure within a limit.

    Exactly one of `relative_risk`, `power` and `posterior` is given. Each parameter is on the safe
    side: evaluated again it meets the limit, and the next floating-point number does not.

    Parameters
    ----------
    blatant : bool
        Are blatant disclosures acceptable, that is releases that prove something about a person? If
        not, mechanisms with f(0) < 1 are left out.
    near_certainty : bool
        May an attacker come arbitrarily close to certainty? If not, mechanisms of unbounded
        relative risk are left out.
    relative_risk : float
        Largest factor R ≥ 1 by which a belief may grow, over false-alarm rates of at least
        `alpha0`: ``ρ_α0 ≤ R``.
    power : float
        Largest power of the best attack at false-alarm rate `alpha0` > 0, in [alpha0, 1].
    posterior : float
        Largest belief after an alarm at rate `alpha0` or above, from `prior`, in [prior, 1].
    alpha0 : float, default 0
        In [0, 1]; families whose relative risk is unbounded need a floor above 0.
    prior : float
        In [0, 1], with `posterior`.
    families : iterable of str, optional
        Of "laplace", "gaussian", "randomized_response", "uniform_sampling" and "approximate_dp".
    k : int or iterable of int
        Numbers of values of randomised response.
    n : int
        Number of records of uniform sampling; the family is left out without it.
    delta : float
        δ of (ε, δ)-differential privacy; the family is left out without it.

    Raises
    ------
    InvalidInputError
        If answers contradict each other, or a parameter is missing or outside its range.
    InfeasibleError
        If no family meets the limit; it names the nearest wishes that can be met.

    Examples
    --------
    >>> found = choose(relative_risk=3.0, families=["laplace"])
    >>> round(found.choices[0].value, 6)
    1.098612
    """
    for name, answer in (("blatant", blatant), ("near_certainty", near_certainty)):
        if not isinstance(answer, (bool, np.bool_)):
            msg = f"expected {name} to be True or False, got {answer!r}"
            raise InvalidInputError(msg)
    if blatant and not near_certainty:
        msg = (
            "expected near_certainty=True where blatant=True, as a proof is certainty, "
            "got near_certainty=False"
        )
        raise InvalidInputError(msg)
    limit = _limit(relative_risk, power, posterior, alpha0, prior)
    if limit.value < limit.least:
        nearest = (f"{limit.name} of {limit.least:g}, which is that of releasing nothing",)
        msg = (
            f"expected a limit that releasing nothing meets, got {limit.words}: the nearest is "
            f"{nearest[0]}"
        )
        raise InfeasibleError(msg, nearest=nearest)
    candidates, excluded = _candidates(as_names(families), families is not None, k, n, delta)
    choices, wishes = [], []
    for candidate in candidates:
        choice, reason, wish = _best(candidate, limit, blatant, near_certainty)
        if choice is not None:
            choices.append(choice)
        else:
            excluded.append(Exclusion(candidate.name, candidate.label, reason))
            wishes.append(f"{candidate.label}: {wish}")
    if not choices:
        reasons = "; ".join(f"{row.label}: {row.reason}" for row in excluded)
        msg = (
            f"expected wishes that some mechanism meets, got {limit.words}: {reasons}. "
            f"Nearest: {'; '.join(wishes) or 'other families'}"
        )
        raise InfeasibleError(msg, nearest=tuple(wishes))
    return Selection(limit, bool(blatant), bool(near_certainty), tuple(choices), tuple(excluded))


def _limit(
    relative_risk: float | None,
    power: float | None,
    posterior: float | None,
    alpha0: float,
    prior: float | None,
) -> Limit:
    wishes = {"relative_risk": relative_risk, "power": power, "posterior": posterior}
    given = [name for name, value in wishes.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        msg = f"expected one of relative_risk, power and posterior, got {got}"
        raise InvalidInputError(msg)
    floor = one_number(check_probability(alpha0, "alpha0"), "alpha0")
    if (prior is None) == (posterior is not None):
        msg = (
            f"expected prior together with posterior, got prior={prior!r}, posterior={posterior!r}"
        )
        raise InvalidInputError(msg)
    if posterior is not None and prior is not None:
        after = one_number(check_probability(posterior, "posterior"), "posterior")
        before = one_number(check_probability(prior, "prior"), "prior")
        return Limit("posterior", after, floor, before)
    if power is not None:
        if floor == 0:
            msg = "expected alpha0 above 0 with a limit on the power of attacks, as without false "
            msg += f"alarms most have none, got {alpha0!r}"
            raise InvalidInputError(msg)
        return Limit("power", one_number(check_probability(power, "power"), "power"), floor)
    ratio = as_float_array(np.nan if relative_risk is None else relative_risk, "relative_risk")
    if not one_number(ratio, "relative_risk") >= 0:
        msg = f"expected relative_risk to be 1 or more, got {relative_risk!r}"
        raise InvalidInputError(msg)
    return Limit("relative_risk", float(ratio), floor)


def _candidates(
    names: tuple[str, ...],
    asked: bool,
    k: int | Iterable[int],
    n: int | None,
    delta: float | None,
) -> tuple[list[Family], list[Exclusion]]:
    found, excluded = [], []
    share = None if delta is None else one_number(check_probability(delta, "delta"), "delta")
    for name in names:
        if name == "randomized_response":
            # A text is no list of numbers, though it can be gone through; `family` refuses it.
            several = np.iterable(k) and not isinstance(k, (str, bytes))
            sizes: list[Any] = list(k) if several else [k]  # type: ignore[arg-type]  # is iterable
            if not sizes:
                msg = "expected k to be a number of values or a list of some, got none"
                raise InvalidInputError(msg)
            found += [family(name, k=size) for size in sizes]
        elif (name == "uniform_sampling" and n is None) or (
            name == "approximate_dp" and share is None
        ):
            missing = "n" if name == "uniform_sampling" else "delta"
            if asked:
                msg = f"expected {missing} for the family {name!r}, got None"
                raise InvalidInputError(msg)
            label = "uniform sampling" if missing == "n" else "(ε, δ)-differential privacy"
            what = "the number of records" if missing == "n" else "δ"
            excluded.append(Exclusion(name, label, f"{what} was not given"))
        else:
            found.append(family(name, n=1 if n is None else n, delta=share or 0.0))
    return found, excluded


def _best(
    candidate: Family, limit: Limit, blatant: bool, near_certainty: bool
) -> tuple[Choice | None, str, str]:
    """The choice, or the reason against it and the nearest wish that would admit the family."""
    if not _admitted(candidate.failure, blatant, near_certainty):
        if candidate.failure == "catastrophic" and not blatant:
            return None, "it can prove a suspicion (f(0) < 1)", "accept blatant disclosures"
        return None, "its relative risk is unbounded", "accept confidence near certainty"

    def meets(parameter: float) -> bool:
        curve = candidate.build(parameter)
        # Without noise every family proves something, also one that does not at a finite parameter.
        if np.isinf(parameter) and not _admitted(curve.failure, blatant, near_certainty):
            return False
        return limit.of(curve) <= limit.value

    value = largest(meets)
    if value is None or value < SMALLEST:
        reached = limit.of(candidate.build(0.0 if value is None else SMALLEST))
        if np.isinf(reached) or (limit.measure == "posterior" and reached == 1):
            reason = "its relative risk is unbounded at false-alarm rates near 0"
            wish = "look at false-alarm rates of at least some alpha0 > 0"
        elif value is None:
            reason = f"even its smallest parameter gives {limit.name} of {reached:.6g}"
            wish = f"{limit.name} of {reached:.6g}"
        else:
            reason = "only releasing nothing meets the limit"
            wish = f"{limit.name} above {limit.value:g}"
        return None, reason, wish
    curve = candidate.build(value)
    note = ""
    if np.isinf(value):
        note = "Every parameter meets the limit."
    elif value == LARGEST:
        note = "Every finite parameter meets the limit."
    choice = Choice(
        candidate.name,
        candidate.label,
        candidate.parameter,
        candidate.settings,
        value,
        limit.of(curve),
        curve.failure if np.isinf(value) else candidate.failure,
        curve,
        note,
    )
    return choice, "", ""


def _admitted(failure: Failure, blatant: bool, near_certainty: bool) -> bool:
    """Whether the answers to the first two questions admit a way to fail."""
    if failure == "catastrophic":
        return blatant
    return failure == "none" or near_certainty
