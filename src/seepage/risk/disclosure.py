"""What the best attacker learns: a trade-off curve in the words of people.

Source: de Fondeville, "Balancing the privacy-utility trade-off" (Section 3). The attacker knows all
but one thing (the null and the alternative hypothesis differ in it), sees the release, and raises
an alarm by the most powerful test at a false-alarm rate of his choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, check_probability, freeze
from seepage.errors import InvalidInputError
from seepage.results import Result, Standing
from seepage.risk._rounding import percent, round_up, share_up, words
from seepage.tradeoff import Failure, TradeOff

PRIORS = (0.01, 0.1, 0.5)
HIGH_FLOOR = 0.1
"""A false-alarm rate above which a floor hides more than it leaves out."""

FAR_MORE = 0.05
"""Power that is gained by accepting 1 % of false alarms: above this it is said."""
KNOWS_THE_REST = "The attacker knows everything except what he wants to find out."
NOT_CORRELATION = (
    "Only what the record itself adds is counted: what can be inferred from correlated people or "
    "attributes is not."
)


@dataclass(frozen=True)
class Statement:
    """One sentence about a number.

    Parameters
    ----------
    text : str
    value : float
        The number itself, as computed.
    shown : float
        The number in the sentence, on the safe side: not below `value`, but for the accuracy of
        computing, 1e-12.
    """

    text: str
    value: float
    shown: float


@dataclass(frozen=True, eq=False)
class Disclosure(Result):
    """Risk of disclosure under one trade-off curve.

    Attributes
    ----------
    curve : TradeOff
    name : str
        What was released, in words.
    priors : array of float, shape (m,)
        Beliefs of the attacker before the release, each in [0, 1].
    alpha0 : float
        Smallest false-alarm rate that is looked at; 0 for all.
    """

    curve: TradeOff
    name: str
    priors: FloatArray
    alpha0: float

    # ---------------------------------------------------------------- numbers

    @property
    def standing(self) -> Standing:
        """``exact`` or ``upper``: how the numbers relate to the best attack."""
        return self.curve.standing

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed, in sentences."""
        compared = f"Compared are two cases that differ in this: {self.curve.adjacency}."
        said = (compared, KNOWS_THE_REST, NOT_CORRELATION, *self.curve.assumptions)
        return (*said, *self.floor_notes)

    @cached_property
    def floor_notes(self) -> tuple[str, ...]:
        """What the floor leaves out; nothing where all false-alarm rates are looked at."""
        if self.alpha0 == 0:
            return ()
        rate = percent(self.alpha0)
        notes = []
        # Equal where the power is proportional to the rate up to the floor, but for rounding.
        if self.relative_risk > self.relative_risk_at_floor * (1 + 1e-9):
            notes.append(
                f"An attacker who makes fewer than {rate} false alarms can be right more often "
                "than shown."
            )
        if self.alpha0 > HIGH_FLOOR:
            notes.append(
                f"The floor of {rate} false alarms is high: an attacker who is to be right makes "
                "fewer. Take 1 % or less, unless there is a reason."
            )
        return tuple(notes)

    @cached_property
    def posteriors(self) -> FloatArray:
        """Largest belief after an alarm at rate `alpha0` or above, from each prior, shape (m,)."""
        return freeze(np.array(self.curve.posterior(self.priors, self.alpha0)))

    @cached_property
    def power(self) -> float:
        """Power of the best attack at false-alarm rate `alpha0`."""
        return float(self.curve.power(self.alpha0))

    @cached_property
    def relative_risk(self) -> float:
        """Relative disclosure risk ρ = sup power/α over all rates, in [1, ∞] (Definition 7)."""
        return self.curve.relative_risk()

    @cached_property
    def relative_risk_at_floor(self) -> float:
        """``ρ_α0``: the same over rates of at least `alpha0`."""
        return self.curve.relative_risk(self.alpha0)

    @property
    def advantage(self) -> float:
        """Largest power minus false-alarm rate: the total variation distance, in [0, 1]."""
        return self.curve.total_variation

    @property
    def area(self) -> float:
        """Area under the curve of power against false alarms, in [0.5, 1].

        A poor measure of privacy (Section 2.2 of the paper): a mechanism that publishes one record
        in a million has an area near one half.
        """
        return self.curve.area

    @property
    def proven(self) -> float:
        """Power of an attack without false alarms, power(0), in [0, 1]."""
        return float(self.curve.power(0.0))

    @property
    def failure(self) -> Failure:
        """How protection fails: none, graceful or catastrophic (Table 1)."""
        return self.curve.failure

    def posterior(self, prior: ArrayLike, alpha: ArrayLike) -> float | FloatArray:
        """Belief after an alarm at rate `alpha`, from belief `prior`; the arguments broadcast."""
        return self.curve.posterior(prior, alpha)

    def precision_recall(
        self, prior: float, recall: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Precision of the best attack for given recall.

        Precision is the share of flagged people for whom the suspicion is true (the posterior),
        recall the share of those people that are flagged (the power).

        Parameters
        ----------
        prior : float
            Share for whom the suspicion is true among those examined, in [0, 1].
        recall : array-like of float, optional
            In [0, 1]; by default 101 values from 0 to 1.

        Returns
        -------
        recall, precision : arrays of float
            Precision at recall 0 is the limit.
        """
        wanted = np.linspace(0, 1, 101) if recall is None else recall
        hit = check_probability(wanted, "recall")
        pi = check_probability(prior, "prior")
        if pi.ndim:
            msg = f"expected one prior, got an array of shape {pi.shape}"
            raise InvalidInputError(msg)
        rate = np.array(self.curve.false_alarms(hit))
        # At a false-alarm rate of 0 the posterior is the limit whatever the recall.
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
            ratio = rate / np.where(hit > 0, hit, 1.0)
            precision = np.where(pi == 0, 0.0, pi / (pi + (1 - pi) * ratio))
        at_zero = np.array(self.curve.posterior(pi, 0.0))
        return hit, np.where(hit > 0, precision, at_zero)

    # ---------------------------------------------------------------- words

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Equivalents in plain words; each holds for this curve as it stands, rounded up."""
        rate = f"at a false-alarm rate of {percent(self.alpha0)}" if self.alpha0 else ""
        found = [self._power_in_words(rate)]
        found += [
            self._belief_in_words(prior, after)
            for prior, after in zip(self.priors.tolist(), self.posteriors.tolist(), strict=True)
        ]
        found += [self._ratio_in_words(), self._failure_in_words()]
        edge = share_up(self.advantage)
        found.append(
            Statement(
                "Whatever the false-alarm rate, of 100 people for whom the suspicion is true the "
                f"attack flags at most {words(edge)} more than of 100 others, on average.",
                100 * self.advantage,
                float(edge),
            )
        )
        right = share_up(self.area)
        found.append(
            Statement(
                "Shown one person for whom the suspicion is true and one for whom it is not, the "
                f"attack tells which is which at most {words(right)} times out of 100; a coin "
                "does it 50 times.",
                100 * self.area,
                float(right),
            )
        )
        return tuple(found)

    def _power_in_words(self, rate: str) -> Statement:
        hits = share_up(self.power)
        what = f"flags at most {words(hits)} of 100 people for whom the suspicion is true"
        if not rate:
            text = f"An attack without any false alarm {what}, on average."
            accepting = float(self.curve.power(0.01))
            if accepting > self.power + FAR_MORE:
                text += (
                    " Whoever accepts some false alarms finds far more: at a rate of 1 % up to "
                    f"{words(share_up(accepting))} of 100."
                )
        else:
            text = (
                f"The best attack {rate} {what}, on average; flagging people at random at that "
                f"rate flags {percent(self.alpha0)[:-2]}."
            )
        return Statement(text, 100 * self.power, float(hits))

    def _belief_in_words(self, prior: float, after: float) -> Statement:
        true = share_up(after)
        where = (
            f"at a false-alarm rate of {percent(self.alpha0)} or more"
            if self.alpha0
            else "at whatever false-alarm rate"
        )
        text = (
            f"Where the suspicion is true for {percent(prior)} of those examined: of 100 people "
            f"whom the best attacker flags {where}, it is true for at most {words(true)}, on "
            "average."
        )
        return Statement(text, 100 * after, float(true))

    def _ratio_in_words(self) -> Statement:
        ratio = self.relative_risk_at_floor
        times = round_up(ratio)
        where = f" at a false-alarm rate of {percent(self.alpha0)} or more" if self.alpha0 else ""
        if self.advantage == 0 and self.failure == "none":
            text = "No alarm changes any belief."
        elif np.isfinite(ratio):
            text = f"No alarm{where} makes a belief more than {words(times)} times what it was."
        elif self.failure == "none":
            text = "An alarm may multiply a small belief by more than 10^308."
        else:
            known = "may be" if self.standing is Standing.UPPER else "is"
            text = f"There {known} no limit to how many times an alarm multiplies a small belief."
        return Statement(text, ratio, float(times))

    def _failure_in_words(self) -> Statement:
        if self.failure == "catastrophic":
            proven = share_up(self.proven)
            may = "may prove" if self.standing is Standing.UPPER else "proves"
            text = (
                f"The release {may} the suspicion beyond doubt for some people: for at most "
                f"{words(proven)} of 100 for whom it is true, on average."
            )
            return Statement(text, 100 * self.proven, float(proven))
        if self.failure == "graceful":
            can = "may" if self.standing is Standing.UPPER else "can"
            text = (
                f"No release proves a suspicion, but an attacker who accepts ever fewer hits {can} "
                "come as close to certainty as he likes."
            )
            return Statement(text, float("inf"), float("inf"))
        times = round_up(self.relative_risk)
        text = (
            "No release proves a suspicion, and whatever the false-alarm rate no alarm makes a "
            f"belief more than {words(times)} times what it was."
        )
        if np.isinf(self.relative_risk):
            text = "No release proves a suspicion, but a belief may be multiplied beyond 10^308."
        return Statement(text, self.relative_risk, float(times))

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return f"{self.name}: {self.statements[0].text} {self._failure_in_words().text}"

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each prior."""
        before, after = self.priors.tolist(), self.posteriors.tolist()
        return {
            "prior": before,
            "alpha0": [self.alpha0] * len(before),
            "posterior": after,
            "largest_posterior": np.array(self.curve.posterior(self.priors, 0.0)).tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "format": "seepage.disclosure",
            "version": 1,
            "name": self.name,
            "adjacency": self.curve.adjacency,
            "standing": self.standing,
            "error": self.curve.error,
            "assumptions": list(self.assumptions),
            "verdict": self.verdict,
            "alpha0": self.alpha0,
            "power": self.power,
            "relative_risk": self.relative_risk,
            "relative_risk_at_floor": self.relative_risk_at_floor,
            "advantage": self.advantage,
            "area": self.area,
            "proven": self.proven,
            "failure": self.failure,
            "beliefs": {name: list(values) for name, values in self.columns().items()},
            "statements": [statement.text for statement in self.statements],
        }


def disclosure(
    curve: TradeOff,
    *,
    prior: ArrayLike = PRIORS,
    alpha0: float = 0.01,
    name: str = "This release",
) -> Disclosure:
    """Say what the best attacker can learn from a release with this trade-off curve.

    Parameters
    ----------
    curve : TradeOff
        Exact, or one that understates no power.
    prior : float or array-like of float, shape (m,)
        Beliefs before the release, in [0, 1].
    alpha0 : float, default 0.01
        Smallest false-alarm rate at which an alarm is of any use to the attacker, in [0, 1].
    name : str
        The release in words, for the verdict.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the curve may understate the power.

    Examples
    --------
    >>> found = disclosure(TradeOff.gaussian(1.0), prior=0.5)
    >>> round(found.power, 7), round(found.relative_risk_at_floor, 5), found.failure
    (0.0923622, 9.23622, 'graceful')
    """
    if not isinstance(curve, TradeOff):
        msg = f"expected a trade-off curve, got {curve!r}"
        raise InvalidInputError(msg)
    if curve.standing not in (Standing.EXACT, Standing.UPPER):
        msg = f"expected a curve that understates no power, got a {curve.standing} one"
        raise InvalidInputError(msg)
    priors = np.atleast_1d(check_probability(prior, "prior"))
    floor = check_probability(alpha0, "alpha0")
    if floor.ndim:
        msg = f"expected one alpha0, got an array of shape {floor.shape}"
        raise InvalidInputError(msg)
    if priors.ndim != 1 or priors.size == 0:
        msg = f"expected prior to be one number or a list of some, got shape {priors.shape}"
        raise InvalidInputError(msg)
    if not isinstance(name, str) or not name.strip():
        msg = f"expected name as words, got {name!r}"
        raise InvalidInputError(msg)
    return Disclosure(curve, name, freeze(priors), float(floor))
