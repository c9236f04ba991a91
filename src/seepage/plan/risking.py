"""From mechanisms to what they mean for people: side by side, and as risk cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from seepage._numeric import check_epsilon, check_probability
from seepage.errors import InvalidInputError
from seepage.results import Result
from seepage.risk._families import Family, family
from seepage.risk._rounding import given, percent, share_up, words
from seepage.risk.disclosure import (
    NOT_CORRELATION,
    PRIORS,
    Disclosure,
    Statement,
    disclosure,
)
from seepage.risk.power import PowerResult
from seepage.tradeoff import TradeOff
from seepage.tradeoff._common import ADD_OR_REMOVE, ONE_VALUE, REPLACE, check_count, one_number

CENTRAL = ("laplace", "gaussian", "approximate_dp")
"""Families whose parameter may refer to either kind of neighbouring tables."""

SUSPICIONS: Mapping[str, str] = {
    ADD_OR_REMOVE: "that a certain person is in the data",
    REPLACE: "that the record of a certain person is one thing rather than another",
    ONE_VALUE: "that one answer of a certain person is one value rather than another",
}
ANY_SUSPICION = "that the second of the two cases compared is the true one"

CORRELATION = (
    "Correlation: what other people's records, or other columns, tell about a person is not "
    "counted here. Measure it with the audit: seepage audit TABLE."
)
NOT_PROTECTED = (
    CORRELATION,
    "More than one record: somebody with several records, or a family, may be protected less.",
    "Other releases: what is released from the same data elsewhere may add to this.",
    "Other ways: whether the program does what is described here, and who can read the data "
    "before they are protected, was not looked at.",
)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism by its family and parameters.

    Parameters
    ----------
    family : str
        "laplace", "gaussian", "randomized_response", "uniform_sampling" or "approximate_dp".
    value : float
        μ of noise and of sampling, ε of the others, in [0, ∞].
    k : int
        Number of values, of randomised response.
    n : int
        Number of records, of uniform sampling.
    delta : float
        Of (ε, δ)-differential privacy, in [0, 1].
    rate : float
        Share of the records in a secret random sample that the mechanism is run on, in [0, 1].
    times : int
        How often it is run on the same data, 1 or more.
    adjacency : str, optional
        "add or remove one record" or "replace one record": what the parameter refers to, where a
        family leaves it open.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or does not go with the family.
    """

    family: str
    value: float
    k: int = 2
    n: int = 1
    delta: float = 0.0
    rate: float = 1.0
    times: int = 1
    adjacency: str | None = None

    def __post_init__(self) -> None:
        name = self._family.parameter
        object.__setattr__(self, "value", one_number(check_epsilon(self.value, name), name))
        rate = one_number(check_probability(self.rate, "rate"), "rate")
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "times", check_count(self.times, "times"))
        if rate != 1 and self.family == "randomized_response":
            msg = (
                "expected rate 1 for randomised response, as everyone can see who was asked, "
                f"got {rate!r}"
            )
            raise InvalidInputError(msg)
        if self.adjacency is None:
            return
        if self.family not in CENTRAL or self.adjacency not in {ADD_OR_REMOVE, REPLACE}:
            own = self._family.build(1.0).adjacency
            known = f"{ADD_OR_REMOVE!r} or {REPLACE!r}" if self.family in CENTRAL else repr(own)
            msg = f"expected adjacency {known} for {self._family.label}, got {self.adjacency!r}"
            raise InvalidInputError(msg)

    @cached_property
    def _family(self) -> Family:
        return family(self.family, self.k, self.n, self.delta)

    @cached_property
    def curve(self) -> TradeOff:
        """What the best attacker can do: exact, or an upper curve.

        Raises
        ------
        MissingDependencyError
            If the composition needs the extra ``interop``, and it is not installed.
        CapacityError
            If the composition would be too large.
        """
        curve = self._family.build(self.value)
        if self.adjacency is not None:
            curve = replace(curve, adjacency=self.adjacency)
        if self.rate != 1:
            curve = curve.subsampled(self.rate)
        return curve if self.times == 1 else curve.self_compose(self.times)

    @property
    def label(self) -> str:
        """The mechanism in words."""
        if self.family == "approximate_dp":
            kind = "(ε, δ)" if self.delta else "ε"
            text = f"anything that is {kind}-differentially private, ε = {given(self.value)}"
            text += f", δ = {given(self.delta)}" if self.delta else ""
        else:
            symbol = "μ" if self._family.parameter == "mu" else "ε"
            what = self._family.label.replace("one of 1 records", "the only record")
            text = f"{what}, {symbol} = {given(self.value)}"
        if self.rate != 1:
            text += f", on a secret sample of {percent(self.rate)}"
        if self.times > 1:
            text += f", {self.times:,} times"
        return text[0].upper() + text[1:]


@dataclass(frozen=True, eq=False)
class RiskComparison(Result):
    """What attackers learn from one mechanism or several, side by side.

    Attributes
    ----------
    disclosures : tuple of Disclosure
        With the same starting beliefs and the same false-alarm rate.
    """

    disclosures: tuple[Disclosure, ...]

    @property
    def alpha0(self) -> float:
        """Smallest false-alarm rate that is looked at."""
        return self.disclosures[0].alpha0

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        said = [text for found in self.disclosures for text in found.assumptions]
        return tuple(dict.fromkeys(said))

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if len(self.disclosures) == 1:
            return self.disclosures[0].verdict
        found = "; ".join(f"{x.name}: {words(share_up(x.power))}" for x in self.disclosures)
        rate = f"at a false-alarm rate of {percent(self.alpha0)}"
        return (
            f"Of 100 people for whom the suspicion is true the best attack {rate} flags at most, "
            f"on average: {found}."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """Return one row for each mechanism and starting belief."""
        rows: dict[str, list[Any]] = {}
        for found in self.disclosures:
            size = found.priors.size
            own = {
                "mechanism": [found.name] * size,
                **found.columns(),
                "power": [found.power] * size,
                "relative_risk": [found.relative_risk] * size,
                "relative_risk_at_floor": [found.relative_risk_at_floor] * size,
                "advantage": [found.advantage] * size,
                "failure": [found.failure] * size,
                "standing": [str(found.standing)] * size,
                "adjacency": [found.curve.adjacency] * size,
            }
            for name, values in own.items():
                rows.setdefault(name, []).extend(values)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "format": "seepage.risk",
            "version": 1,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "mechanisms": [found.to_dict() for found in self.disclosures],
        }


@dataclass(frozen=True)
class Row:
    """One line of the comparison on a card: numbers of 100, the largest possible.

    Parameters
    ----------
    name : str
    beliefs : tuple of float
        Of 100 people flagged, those for whom the suspicion is true; one number for each starting
        belief.
    found : float
        Of 100 people for whom it is true, those flagged.
    """

    name: str
    beliefs: tuple[float, ...]
    found: float


@dataclass(frozen=True, eq=False)
class RiskCard(Result):
    """One page about a mechanism for people who do not know its parameters.

    Attributes
    ----------
    disclosure : Disclosure
    tests : tuple of PowerResult
        What the analyst keeps; may be empty.
    """

    disclosure: Disclosure
    tests: tuple[PowerResult, ...] = ()

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return self.disclosure.verdict

    @property
    def suspicion(self) -> str:
        """What the attacker wants to find out, as part of a sentence."""
        return SUSPICIONS.get(self.disclosure.curve.adjacency, ANY_SUSPICION)

    @cached_property
    def beliefs(self) -> tuple[Statement, ...]:
        """What becomes of each starting belief."""
        return self.disclosure.statements[1 : 1 + self.disclosure.priors.size]

    @cached_property
    def events(self) -> tuple[Statement, ...]:
        """What can happen to a person in the data, the worst first."""
        ratio, failure, _, _ = self.disclosure.statements[1 + self.disclosure.priors.size :]
        # Without a floor the two say the same where nothing can be proven.
        if self.disclosure.alpha0 == 0 and self.disclosure.failure == "none":
            return (failure,)
        return (failure, ratio)

    @cached_property
    def chances(self) -> tuple[Statement, ...]:
        """How likely it is."""
        return (self.disclosure.statements[0], *self.disclosure.statements[-2:])

    @cached_property
    def comparison(self) -> tuple[Row, ...]:
        """The release between nothing and everything, each at the same false-alarm rate.

        Where an attacker with fewer false alarms comes as close to certainty as he likes, that is
        a line of its own, the last.
        """
        found = self.disclosure
        before = tuple(100 * prior for prior in found.priors.tolist())
        hits = found.statements[0].shown
        rows = (
            Row("Nothing is released", before, 100 * found.alpha0),
            Row(
                "This release",
                tuple(statement.shown for statement in self.beliefs),
                hits,
            ),
            Row(
                "Everything, same false-alarm rate",
                tuple(_certain(prior, found.alpha0) for prior in found.priors.tolist()),
                100.0,
            ),
        )
        if not self.fewer:
            return rows
        sure = tuple(100.0 if x else 0.0 for x in before)
        return (*rows, Row("This release, fewer false alarms", sure, hits))

    @property
    def fewer(self) -> str:
        """What an attacker below the floor reaches, where that is certainty; or nothing."""
        found = self.disclosure
        if found.alpha0 == 0 or found.failure == "none":
            return ""
        return (
            f"An attacker who flags fewer than {percent(found.alpha0)} by mistake: of 100 flagged, "
            "up to 100."
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """What the analyst keeps, one sentence for each test."""
        return tuple(test.verdict for test in self.tests)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        said = [text for text in self.disclosure.assumptions if text != NOT_CORRELATION]
        said += [f"Test: {text}" for test in self.tests for text in test.assumptions]
        return tuple(dict.fromkeys(said))

    @property
    def not_protected(self) -> tuple[str, ...]:
        """What the numbers say nothing about."""
        return NOT_PROTECTED

    def columns(self) -> Mapping[str, list[Any]]:
        """Return one row for each starting belief."""
        return {
            **self.disclosure.columns(),
            "shown_of_100": [statement.shown for statement in self.beliefs],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "format": "seepage.risk_card",
            "version": 1,
            "verdict": self.verdict,
            "suspicion": self.suspicion,
            "what_can_happen": [statement.text for statement in self.events],
            "beliefs": [statement.text for statement in self.beliefs],
            "how_likely": [statement.text for statement in self.chances],
            "comparison": [
                {"case": row.name, "beliefs_of_100": list(row.beliefs), "found_of_100": row.found}
                for row in self.comparison
            ],
            "analyst": [test.to_dict() for test in self.tests],
            "assumptions": list(self.assumptions),
            "not_protected": list(self.not_protected),
            "disclosure": self.disclosure.to_dict(),
        }


def _certain(prior: float, alpha0: float) -> float:
    """Of 100 flagged, those for whom it is true, where all of them are and `alpha0` of the rest."""
    flagged = prior + (1 - prior) * alpha0
    return float(share_up(prior / flagged)) if flagged else 0.0


def describe_risk(
    mechanism: Mechanism, *, prior: ArrayLike = PRIORS, alpha0: float = 0.01
) -> Disclosure:
    """Say what the best attacker can learn from a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
    prior, alpha0
        As in `seepage.disclosure`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    if not isinstance(mechanism, Mechanism):
        msg = f"expected a Mechanism, got {mechanism!r}"
        raise InvalidInputError(msg)
    return disclosure(mechanism.curve, prior=prior, alpha0=alpha0, name=mechanism.label)


def compare_risks(
    mechanisms: Sequence[Mechanism], *, prior: ArrayLike = PRIORS, alpha0: float = 0.01
) -> RiskComparison:
    """Say what the best attacker can learn from each of several mechanisms.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
    prior, alpha0
        As in `seepage.disclosure`.

    Raises
    ------
    InvalidInputError
        If there is no mechanism, or a parameter is outside its range.
    """
    if not isinstance(mechanisms, (list, tuple)) or not mechanisms:
        msg = f"expected one or more mechanisms, got {mechanisms!r}"
        raise InvalidInputError(msg)
    each = dict.fromkeys(mechanisms) if all(isinstance(x, Mechanism) for x in mechanisms) else ()
    found = [describe_risk(x, prior=prior, alpha0=alpha0) for x in each or mechanisms]
    return RiskComparison(tuple(found))


def risk_card(
    mechanism: Mechanism | TradeOff | Disclosure,
    *,
    prior: ArrayLike = PRIORS,
    alpha0: float = 0.01,
    tests: Sequence[PowerResult] = (),
    name: str = "This release",
) -> RiskCard:
    """Make a page about a mechanism for people who do not know its parameters.

    Parameters
    ----------
    mechanism : Mechanism, TradeOff or Disclosure
        A disclosure brings its own beliefs, false-alarm rate and name.
    prior, alpha0, name
        As in `seepage.disclosure`; a Mechanism brings its own name.
    tests : sequence of PowerResult
        Tests on the release, as `seepage.power` returns them.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.

    Examples
    --------
    >>> card = risk_card(Mechanism("gaussian", 1.0), prior=[0.01, 0.1, 0.5])
    >>> [statement.shown for statement in card.beliefs]
    [8.54, 50.7, 90.3]
    """
    if isinstance(mechanism, Disclosure):
        found = mechanism
    elif isinstance(mechanism, TradeOff):
        found = disclosure(mechanism, prior=prior, alpha0=alpha0, name=name)
    else:
        found = describe_risk(mechanism, prior=prior, alpha0=alpha0)
    kept = tuple(tests) if isinstance(tests, (list, tuple)) else (tests,)
    for test in kept:
        if not isinstance(test, PowerResult):
            msg = f"expected tests as results of power, got {test!r}"
            raise InvalidInputError(msg)
    return RiskCard(found, kept)
