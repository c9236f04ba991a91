"""The audit: how much each attribute of a table tells about each other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numeric import FloatArray
from seepage.counts import PairCounts, conditional_rows
from seepage.domain import Domain, Label
from seepage.errors import CapacityError, InvalidInputError, TableError, did_you_mean
from seepage.leakage import Triad, baselines
from seepage.plan.budgets import budget_of_each
from seepage.results import Finding, Result, Standing
from seepage.tables import CodedTable, load
from seepage.tradeoff import Envelope, TradeOff

POPULATION = (
    "The joint distribution of the population is taken to be that of the {n:,} records counted; "
    "sampling uncertainty is not included."
)
MECHANISMS = (
    "Leakage is the worst case over all ε-LDP mechanisms for the released attribute, all pairs of "
    "secret values and all events; the attacker knows the joint distribution."
)
PAIRWISE_TOTAL = (
    "The pairwise total adds each attribute's own budget and the leakage of every other attribute "
    "taken alone; several attributes together can tell more than this sum."
)
MAX_FORECAST_SECONDS = 1800.0
MAX_ROW_PAIRS = 40_000_000

Progress = Callable[[int, int], None]


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
    event : tuple of labels
        The released values that point to the first secret value rather than the second.
    curve : Envelope
        Leakage at every ε; the rows of its witnesses are positions of secret categories.
    grr_curve : TradeOff
        Leakage at every ε when the mechanism is k-ary randomised response.
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
    event: tuple[Label, ...]
    curve: Envelope
    grr_curve: TradeOff


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
        Number of records, or sum of their weights.
    budgets : mapping of str to float
        ε of each attribute.
    pairs : tuple of PairLeakage
        All ordered pairs, by secret, then released, in the order of the domain.
    totals : mapping of str to Finding
        Pairwise total about each attribute, in nats.
    assumptions : tuple of str
        What every number here rests on.
    """

    source: str
    domain: Domain
    records: int
    budgets: Mapping[str, float]
    pairs: tuple[PairLeakage, ...]
    totals: Mapping[str, Finding]
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
        """Pairs by descending leakage."""
        return tuple(sorted(self.pairs, key=lambda pair: -pair.leakage.value))

    def matrix(self, measure: str = "leakage") -> FloatArray:
        """One measure as a table; rows are secrets, columns released; NaN on the diagonal.

        Parameters
        ----------
        measure : {"leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson"}
        """
        known = ("leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson")
        if measure not in known:
            msg = f"expected a measure, got {measure!r}.{did_you_mean(measure, known)}"
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
        share = "" if np.isinf(worst.epsilon) else f", {value / worst.epsilon:.0%} of its budget"
        factor = "without bound" if np.isinf(value) else f"by a factor of up to {np.exp(value):.3g}"
        return (
            f"Worst pair: releasing {worst.released!r} at ε = {_shown(worst.epsilon)} leaks up to "
            f"{value:.3f} nats about {worst.secret!r}{share}; it can shift the odds of "
            f"{first!r} against {second!r} {factor}."
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
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves' events, as plain values."""
        return {
            "format": "seepage.audit",
            "version": 1,
            "source": self.source,
            "records": self.records,
            "unit": "nats",
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "budgets": dict(self.budgets),
            "totals": {
                name: {"value": item.value, "standing": item.standing, "method": "pairwise"}
                for name, item in self.totals.items()
            },
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
                    "event": list(p.event),
                    "curve": p.curve.vertices.tolist(),
                }
                for p in self.pairs
            ],
        }


def _shown(epsilon: float) -> str:
    return "∞" if np.isinf(epsilon) else f"{epsilon:g}"


def _finding(finding: Finding) -> dict[str, Any]:
    return {"value": finding.value, "standing": finding.standing}


def audit(
    table: Any,
    *,
    epsilon: float | Mapping[str, float] = 1.0,
    progress: Progress | None = None,
    **options: Any,
) -> AuditResult:
    """Measure how much each attribute leaks about each other one under local differential privacy.

    Parameters
    ----------
    table : path, data frame, mapping of columns, CodedTable or PairCounts
        One row for each person. See `seepage.tables.load` for what can be read.
    epsilon : float or mapping of column names to float, default 1.0
        Budget of every attribute, or of each one, in [0, ∞].
    progress : callable, optional
        Called with (pairs done, pairs in all).
    **options
        Passed to `seepage.tables.load`: domain, columns, bins, missing, min_count, weights, …

    Returns
    -------
    AuditResult

    Raises
    ------
    SeepageError
        If the table, its domain or a budget cannot be used; the message names column and value.

    Examples
    --------
    >>> result = audit({"sex": ["f", "f", "m", "m"], "smoker": ["no", "no", "no", "yes"]})
    >>> round(result.pair("sex", "smoker").leakage.value, 4)
    0.6201
    """
    if isinstance(table, PairCounts):
        if options:
            msg = f"expected no reading options with counts, got {', '.join(sorted(options))}"
            raise InvalidInputError(msg)
        counts, source = table, "counts"
        notes: tuple[str, ...] = ()
    else:
        coded = table if isinstance(table, CodedTable) else load(table, **options)
        counts, source, notes = coded.counts(), coded.source, coded.notes
    domain = counts.domain
    budgets = budget_of_each(domain, epsilon)
    _check_auditable(counts)
    n_pairs = len(domain) * (len(domain) - 1)
    pairs: list[PairLeakage] = []
    for secret in domain.names:
        for released in domain.names:
            if secret != released:
                pairs.append(_audit_pair(counts, secret, released, budgets[released]))
                if progress is not None:
                    progress(len(pairs), n_pairs)
    totals = {name: _pairwise_total(name, budgets, pairs) for name in domain.names}
    assumptions = (POPULATION.format(n=counts.total), MECHANISMS, PAIRWISE_TOTAL, *notes)
    return AuditResult(source, domain, counts.total, budgets, tuple(pairs), totals, assumptions)


def _check_auditable(counts: PairCounts) -> None:
    domain = counts.domain
    if len(domain) < 2:
        msg = f"expected a table with at least two columns, got only {domain.names[0]!r}"
        raise TableError(msg)
    if counts.total < 2:
        msg = f"expected at least two records with a positive weight, got {counts.total}"
        raise TableError(msg)
    seconds = 0.0
    for first in domain:
        for second in domain:
            if first is not second:
                seconds += 8e-9 * first.size**2 * second.size
    widest = max(domain, key=lambda item: item.size)
    if seconds > MAX_FORECAST_SECONDS or widest.size**2 > MAX_ROW_PAIRS:
        memory = 48 * widest.size**2 / 1e9
        msg = (
            f"expected columns with fewer categories: {widest.name!r} has {widest.size:,}; the "
            f"audit would take about {seconds:,.0f} s and {memory:,.1f} GB. Bin numbers, pool rare "
            f"categories (min_count), or leave the column out."
        )
        raise CapacityError(msg)


def _audit_pair(counts: PairCounts, secret: str, released: str, epsilon: float) -> PairLeakage:
    table = counts.table(secret, released)
    P, rows = conditional_rows(table)
    curve = TradeOff.envelope(P)
    curve = replace(curve, pairs=np.where(curve.pairs < 0, -1, rows[curve.pairs]))
    # A report of randomised response singles out one value, so its curve has the points (min, max).
    grr_curve = TradeOff.from_vertices(np.stack((P.min(axis=0), P.max(axis=0)), axis=1))
    triad = Triad.from_conditional(P)
    witness = curve.witness(epsilon)
    secret_labels = counts.domain[secret].categories
    released_labels = counts.domain[released].categories
    values: tuple[Label, Label] | None = None
    event: tuple[Label, ...] = ()
    if witness is not None:
        x, other, chosen = witness
        values = (secret_labels[x], secret_labels[other])
        event = tuple(released_labels[i] for i in np.flatnonzero(chosen))
    pair = counts.pair(secret, released)
    return PairLeakage(
        secret=secret,
        released=released,
        epsilon=epsilon,
        leakage=Finding(curve.leakage(epsilon), Standing.EXACT),
        triad=triad,
        triad_leakage=Finding(triad.leakage(epsilon), Standing.UPPER),
        grr_leakage=Finding(grr_curve.leakage(epsilon), Standing.EXACT),
        mutual_information=Finding(baselines.mutual_information(pair), Standing.HEURISTIC),
        pearson=Finding(baselines.pearson(pair), Standing.HEURISTIC),
        secret_values=values,
        event=event,
        curve=curve,
        grr_curve=grr_curve,
    )


def _pairwise_total(secret: str, budgets: Mapping[str, float], pairs: list[PairLeakage]) -> Finding:
    value = budgets[secret] + sum(p.leakage.value for p in pairs if p.secret == secret)
    return Finding(float(value), Standing.HEURISTIC, (PAIRWISE_TOTAL,))
