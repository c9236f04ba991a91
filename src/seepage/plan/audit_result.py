"""What an audit found: every pair, its measures, totals, and what they assume."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numeric import FloatArray
from seepage.domain import Domain, Label
from seepage.errors import InvalidInputError, did_you_mean
from seepage.leakage import Triad
from seepage.leakage.sampling import SampledLeakage
from seepage.leakage.tree import DependencyTree
from seepage.leakage.triples import Triple
from seepage.results import Finding, Result
from seepage.tradeoff import Envelope, PiecewiseLinear

MEASURES = ("leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson")


@dataclass(frozen=True, eq=False)
class PairLeakage:
    """What releasing one attribute tells about another one.

    Attributes
    ----------
    secret, released : str
        Attribute names.
    epsilon : float
        Budget of the released attribute, in [0, ∞].
    leakage : Finding
        Correlation-induced privacy leakage through the best ε-LDP mechanism, in nats.
    triad : Triad
        The Dependency Triad of the pair.
    triad_leakage : Finding
        The triad's upper estimate at `epsilon`, in nats.
    grr_leakage : Finding
        Leakage when the released attribute goes through k-ary randomised response, in nats.
    mutual_information : Finding
        Between the two attributes, in nats; no bound on leakage.
    pearson : Finding
        Correlation of numeric labels, or of category positions; no bound on leakage.
    secret_values : (label, label) or None
        The pair of secret values that attains the worst case; None when nothing leaks.
    support : (int, int) or None
        Number of records (or their weight) with each of those two values.
    event : tuple of labels
        The released values that point to the first secret value rather than the second.
    curve : Envelope
        Leakage at every ε; the rows of its witnesses are positions of secret categories.
    grr_curve : PiecewiseLinear
        Leakage at every ε when the mechanism is k-ary randomised response.
    sampled : SampledLeakage or None
        Limits for the leakage in the population that the records are a sample of.
    """

    secret: str
    released: str
    epsilon: float
    leakage: Finding
    triad: Triad
    triad_leakage: Finding
    grr_leakage: Finding
    mutual_information: Finding
    pearson: Finding
    secret_values: tuple[Label, Label] | None
    support: tuple[int, int] | None
    event: tuple[Label, ...]
    curve: Envelope
    grr_curve: PiecewiseLinear
    sampled: SampledLeakage | None = None


@dataclass(frozen=True, eq=False)
class AuditResult(Result):
    """Leakage between all ordered pairs of attributes.

    Attributes
    ----------
    source : str
        What was audited.
    domain : Domain
        The attributes.
    records : int
        Number of records; of counts given directly, their sum.
    weight : int or None
        Sum of the weights of the records; None when every record counts once.
    budgets : mapping of str to float
        ε of each attribute.
    pairs : tuple of PairLeakage
        All ordered pairs, by secret, then released, in the order of the domain.
    totals : mapping of str to Finding
        Pairwise total about each attribute, in nats: a heuristic.
    tree_totals : mapping of str to Finding
        Total about each attribute when the data follow the dependency tree: an upper bound then.
    group_total : Finding
        Sum of all budgets: an upper bound of every total, without any assumption.
    tree : DependencyTree
        The Chow–Liu tree of the counts.
    triples : tuple of Triple or None
        Sets of three in which two attributes together tell more about the third than their pairwise
        sum, by descending excess; None when they were not checked.
    assumptions : tuple of str
        What every number here rests on.
    """

    source: str
    domain: Domain
    records: int
    weight: int | None
    budgets: Mapping[str, float]
    pairs: tuple[PairLeakage, ...]
    totals: Mapping[str, Finding]
    tree_totals: Mapping[str, Finding]
    group_total: Finding
    tree: DependencyTree
    triples: tuple[Triple, ...] | None
    assumptions: tuple[str, ...]

    @cached_property
    def _index(self) -> dict[tuple[str, str], PairLeakage]:
        return {(pair.secret, pair.released): pair for pair in self.pairs}

    def pair(self, secret: str, released: str) -> PairLeakage:
        """Return what `released` tells about `secret`.

        Raises
        ------
        DomainError
            If a column is unknown.
        InvalidInputError
            If both are the same column.
        """
        for name in (secret, released):
            self.domain.position(name)
        if secret == released:
            msg = f"expected two different columns, got {secret!r} twice"
            raise InvalidInputError(msg)
        return self._index[secret, released]

    @property
    def ranked(self) -> tuple[PairLeakage, ...]:
        """Pairs by descending leakage; of equal ones, those with the better evidence first."""

        def key(pair: PairLeakage) -> tuple[float, float, float]:
            lower = pair.sampled.interval.lower if pair.sampled else 0.0
            return -pair.leakage.value, -lower, -pair.mutual_information.value

        return tuple(sorted(self.pairs, key=key))

    def matrix(self, measure: str = "leakage") -> FloatArray:
        """One measure as a table; rows are secrets, columns released; NaN on the diagonal.

        Parameters
        ----------
        measure : {"leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson"}
        """
        if measure not in MEASURES:
            msg = f"expected a measure, got {measure!r}.{did_you_mean(measure, MEASURES)}"
            raise InvalidInputError(msg)
        d = len(self.domain)
        table = np.full((d, d), np.nan)
        values = iter(self.pairs)
        for i in range(d):
            for j in range(d):
                if i != j:
                    table[i, j] = getattr(next(values), measure).value
        return table

    @property
    def indistinguishable(self) -> tuple[PairLeakage, ...]:
        """Pairs whose leakage cannot be told from none with the records at hand."""
        return tuple(p for p in self.pairs if p.sampled and not p.sampled.distinguishable)

    @property
    def warning(self) -> str | None:
        """What the pairwise totals miss, in one sentence, naming the worst set of three."""
        if not self.triples:
            return None
        worst = self.triples[0]
        count = len(self.triples)
        return (
            f"Pairwise totals understate: in {count} {'set' if count == 1 else 'sets'} of three, "
            f"two attributes together tell more than their sum; {worst.first!r} and "
            f"{worst.second!r} tell {worst.joint:.3f} nats about {worst.secret!r} through "
            f"randomised response, their sum is {worst.pairwise:.3f}."
        )

    @property
    def verdict(self) -> str:
        """The worst pair in one sentence."""
        worst = self.ranked[0]
        value = worst.leakage.value
        if worst.secret_values is None or value <= 0:
            return (
                "No attribute tells anything about another one at these budgets: "
                "all pairs are independent in this table, or nothing is released."
            )
        first, second = worst.secret_values
        share = (
            "" if np.isinf(worst.epsilon) else f", {_percent(value / worst.epsilon)} of its budget"
        )
        factor = "without bound" if np.isinf(value) else f"by a factor of up to {_odds(value)}"
        ties = sum(pair.leakage.value >= value * (1 - 1e-9) for pair in self.pairs)
        which = "Worst pair" if ties == 1 else f"One of {ties} pairs that leak most"
        counted = ""
        if self.weight is None and worst.support is not None:
            counted = f" ({worst.support[0]:,} and {worst.support[1]:,} records)"
        return (
            f"{which}: releasing {worst.released!r} at ε = {_shown(worst.epsilon)} leaks up to "
            f"{value:.3f} nats about {worst.secret!r}{share}; it can shift the odds of "
            f"{first!r} against {second!r}{counted} {factor}."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each ordered pair."""
        rows = self.pairs
        return {
            "secret": [p.secret for p in rows],
            "released": [p.released for p in rows],
            "epsilon": [p.epsilon for p in rows],
            "leakage": [p.leakage.value for p in rows],
            "triad_leakage": [p.triad_leakage.value for p in rows],
            "grr_leakage": [p.grr_leakage.value for p in rows],
            "mutual_information": [p.mutual_information.value for p in rows],
            "pearson": [p.pearson.value for p in rows],
            "triad_alpha": [p.triad.alpha for p in rows],
            "triad_beta": [p.triad.beta for p in rows],
            "triad_delta": [p.triad.delta for p in rows],
            "secret_value": [p.secret_values and str(p.secret_values[0]) for p in rows],
            "other_value": [p.secret_values and str(p.secret_values[1]) for p in rows],
            "event": [" | ".join(map(str, p.event)) for p in rows],
            "value_records": [p.support and p.support[0] for p in rows],
            "other_records": [p.support and p.support[1] for p in rows],
            "lower": [p.sampled and p.sampled.interval.lower for p in rows],
            "bias_reduced": [p.sampled and p.sampled.interval.estimate for p in rows],
            "upper": [p.sampled and p.sampled.interval.upper for p in rows],
            "distinguishable": [p.sampled and p.sampled.distinguishable for p in rows],
            **{
                f"{measure}_standing": [str(getattr(p, measure).standing) for p in rows]
                for measure in MEASURES
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves' events, as plain values."""
        return {
            "format": "seepage.audit",
            "version": 1,
            "source": self.source,
            "records": self.records,
            "weight": self.weight,
            "domain": {
                item.name: {
                    "categories": list(item.categories),
                    **({} if item.edges is None else {"edges": list(item.edges)}),
                }
                for item in self.domain
            },
            "unit": "nats",
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "budgets": dict(self.budgets),
            "totals": {
                name: {
                    "pairwise": _finding(self.totals[name]),
                    "tree": _finding(self.tree_totals[name]),
                    "group": _finding(self.group_total),
                }
                for name in self.domain.names
            },
            "tree": [list(edge) for edge in self.tree.named_edges],
            "warning": self.warning,
            "triples": None if self.triples is None else [asdict(t) for t in self.triples],
            "pairs": [
                {
                    "secret": p.secret,
                    "released": p.released,
                    "epsilon": p.epsilon,
                    "leakage": _finding(p.leakage),
                    "triad_leakage": _finding(p.triad_leakage),
                    "grr_leakage": _finding(p.grr_leakage),
                    "mutual_information": _finding(p.mutual_information),
                    "pearson": _finding(p.pearson),
                    "triad": p.triad.to_dict(),
                    "secret_values": None if p.secret_values is None else list(p.secret_values),
                    "support": None if p.support is None else list(p.support),
                    "event": list(p.event),
                    "curve": p.curve.vertices.tolist(),
                    "sampled": None if p.sampled is None else _sampled(p.sampled),
                }
                for p in self.pairs
            ],
        }


def _odds(nats: float) -> str:
    """Factor by which odds can shift; as a power where it leaves the range of numbers."""
    return f"e^{nats:.4g}" if nats > 700 else f"{math.exp(nats):.3g}"


def _percent(share: float) -> str:
    """A share as a percentage that is never rounded up to 100."""
    text = f"{share:.0%}"
    return ">99%" if text == "100%" and share < 1 - 1e-9 else text


def _shown(epsilon: float) -> str:
    return "∞" if np.isinf(epsilon) else f"{epsilon:g}"


def _finding(finding: Finding) -> dict[str, Any]:
    return {"value": finding.value, "standing": finding.standing}


def _sampled(sampled: SampledLeakage) -> dict[str, Any]:
    return {
        **asdict(sampled.interval),
        "plug_in": sampled.plug_in,
        "distinguishable": sampled.distinguishable,
        "blame": None if sampled.blame is None else asdict(sampled.blame),
    }
