"""What an audit of a randomiser returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage.attack.probing import Probe
from seepage.results import Finding, Result, Standing

INDEPENDENT = "The reports are drawn independently of each other, with the same probabilities."
LOWER_ONLY = (
    "A lower limit: other inputs, or events that were not tried, may leak more. It refutes a claim "
    "and never proves one."
)
VALUES_ONLY = (
    "Only the values of reports were looked at: not how long they took, and not the last digits of "
    "numbers with very many values."
)

SHOWN = 4
"""So many inputs are named in a sentence."""

PASSED = {True: "came out un-randomised", False: "could be recognised in their reports"}
"""What became of a value that was passed on, by whether it was reported itself."""


@dataclass(frozen=True)
class PairAudit:
    """How far two inputs were told apart.

    Parameters
    ----------
    high, low : str
        The input that the event shows, and the one it speaks against.
    event : str
        The event in words.
    hits_high, hits_low : int
        Reports in the event.
    trials : int
        Reports on each of the inputs among which these were counted.
    probability_high : float
        Lower limit of the probability of the event under `high`.
    probability_low : float
        Upper limit of its probability under `low`, above 0.
    lower : float
        Lower limit of ε, in nats, 0 or more; finite.
    """

    high: str
    low: str
    event: str
    hits_high: int
    hits_low: int
    trials: int
    probability_high: float
    probability_low: float
    lower: float

    @property
    def seen_only(self) -> bool:
        """Whether the event was seen under `high` alone, and certainly not by chance at ε = 0."""
        return self.hits_low == 0 and self.lower > 0


@dataclass(frozen=True)
class MechanismAudit(Result):
    """Lower limits of the ε of a randomiser.

    Parameters
    ----------
    pairs : tuple of PairAudit
        Every ordered pair that was compared; all limits hold together.
    claimed : float or None
        The ε that is claimed, in [0, ∞].
    delta : float
        The δ it is claimed with, in [0, 1).
    confidence : float
        Probability that no limit exceeds the true value, at least.
    samples : int
        Reports drawn on each input, those on which events were chosen included.
    probes : tuple of Probe
        What became of values outside the domain.
    about : str
        What was audited, in words.
    repeating : tuple of str
        Inputs on which two calls gave the same batch of reports, as with a fixed seed: the reports
        are then not independent, and the limits mean nothing.
    """

    pairs: tuple[PairAudit, ...]
    claimed: float | None
    delta: float
    confidence: float
    samples: int
    probes: tuple[Probe, ...] = ()
    about: str = ""
    repeating: tuple[str, ...] = ()

    @property
    def best(self) -> PairAudit:
        """The pair and event with the largest limit; the first of several."""
        return max(self.pairs, key=lambda pair: pair.lower)

    @property
    def lower(self) -> float:
        """ε is at least this, in nats, at the confidence stated; 0 or more and finite."""
        return self.best.lower

    @property
    def standing(self) -> Standing:
        """Always a lower limit."""
        return Standing.LOWER

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the limit rests on."""
        return (INDEPENDENT, LOWER_ONLY, VALUES_ONLY)

    @property
    def finding(self) -> Finding:
        """The limit with its standing."""
        return Finding(self.lower, self.standing, self.assumptions)

    @property
    def exceeds(self) -> bool:
        """Whether the limit is above the ε that is claimed, so that the claim is refuted."""
        return self.claimed is not None and self.lower > self.claimed

    @property
    def passed_on(self) -> tuple[Probe, ...]:
        """Values outside the domain that came out un-randomised, or have reports of their own."""
        return tuple(probe for probe in self.probes if probe.outcome == "passed")

    @property
    def seen_only(self) -> tuple[PairAudit, ...]:
        """Pairs with reports that were seen under one input alone: a sign of an unbounded ε.

        A sign and no proof: such reports may be too rare under the other input.
        """
        return tuple(pair for pair in self.pairs if pair.seen_only)

    @property
    def faultless(self) -> bool:
        """Whether nothing was found: no claim refuted, no value passed on, no batch repeated."""
        return not self.exceeds and not self.passed_on and not self.repeating

    @property
    def verdict(self) -> str:
        """What was found, in one sentence or a few."""
        best = self.best
        claim = "" if self.claimed is None else f"claimed ε = {self.claimed:.6g}; "
        with_delta = f" (with δ = {self.delta:g})" if self.delta else ""
        least = rounded_down(self.lower)
        text = f"{claim}at least {least}{with_delta} at confidence {self._confident}"
        if self.claimed is not None:
            text += f": the claim is {'refuted' if self.exceeds else 'not refuted'}"
        if self.lower > 0:
            text += f" (inputs {best.high} and {best.low}: {best.event})"
        sentences = [text[0].upper() + text[1:] + "."]
        if self.repeating:
            named = ", ".join(self.repeating[:SHOWN])
            more = len(self.repeating) - SHOWN
            sentences.append(
                f"The randomiser repeats its randomness: two calls gave the same reports on {named}"
                f"{f' and {more} more' if more > 0 else ''}, so what it adds is no secret, "
                "and the limits mean nothing."
            )
        if best.seen_only and (self.claimed is None or self.exceeds):
            sentences.append(
                f"Some reports were seen under {best.high} and never under {best.low}: a sign of "
                "an unbounded ε."
            )
        for itself, became in PASSED.items():
            found = [probe.value for probe in self.passed_on if probe.itself is itself]
            if found:
                sentences.append(
                    f"{len(found)} of {len(self.probes)} values outside the domain {became}: "
                    f"{', '.join(found)}."
                )
        return " ".join(sentences)

    @property
    def _confident(self) -> str:
        shown = f"{100 * self.confidence:.10g}"
        return f"{shown} %" if float(shown) < 100 else f"1 − {1 - self.confidence:.3g}"

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each ordered pair of inputs."""
        names = (
            "high",
            "low",
            "event",
            "hits_high",
            "hits_low",
            "trials",
            "probability_high",
            "probability_low",
            "lower",
            "seen_only",
        )
        return {name: [getattr(pair, name) for pair in self.pairs] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        columns = self.columns()
        return {
            "about": self.about,
            "verdict": self.verdict,
            "unit": "nats",
            "lower": self.lower,
            "standing": self.standing,
            "claimed": self.claimed,
            "exceeds": self.exceeds,
            "faultless": self.faultless,
            "repeating": list(self.repeating),
            "delta": self.delta,
            "confidence": self.confidence,
            "samples": self.samples,
            "assumptions": list(self.assumptions),
            "pairs": [
                {name: values[i] for name, values in columns.items()}
                for i in range(len(self.pairs))
            ],
            "probes": [
                {
                    "value": probe.value,
                    "outcome": probe.outcome,
                    "detail": probe.detail,
                    "refusals": probe.refusals,
                }
                for probe in self.probes
            ],
        }


def rounded_down(value: float) -> str:
    """Four digits, rounded down: a limit is not raised by printing it."""
    if value == 0:
        return "0"
    digits = 3 - int(np.floor(np.log10(value)))
    scale = 10.0**digits
    return f"{np.floor(value * scale) / scale:.4g}"
