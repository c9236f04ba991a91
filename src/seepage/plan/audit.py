"""The audit: how much each attribute of a table tells about each other one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numeric import FloatArray
from seepage.counts import MAX_CELLS, PairCounts, conditional_rows
from seepage.domain import Domain, Label
from seepage.errors import CapacityError, InvalidInputError, TableError, did_you_mean
from seepage.leakage import Triad, baselines
from seepage.leakage.model import LeakageModel
from seepage.leakage.sampling import SampledLeakage, sampled_leakage
from seepage.leakage.tree import DependencyTree
from seepage.leakage.triples import Triple, triple_check
from seepage.plan.budgets import budget_of_each
from seepage.plan.totals import OWN_BUDGET, evaluate
from seepage.results import Finding, Result, Standing
from seepage.tables import CodedTable, CountedTable, open_table
from seepage.tradeoff import Envelope, PiecewiseLinear, TradeOff

POPULATION = (
    "Leakage and totals take the joint distribution of the population to be that of the {n:,} "
    "records{weighted}."
)
SAMPLING = (
    "The limits take the records as independent draws from the population. They hold for each pair "
    "by itself at {confidence:.3g} confidence, at a budget chosen without looking at the data."
)
WEIGHTED = "There are no limits for sampling: weights are not counts of records."
MECHANISMS = (
    "Leakage is the worst case over all ε-LDP mechanisms for the released attribute, all pairs of "
    "secret values and all events; the attacker knows the joint distribution."
)
TRIPLES = (
    "Joint leakage is compared with the pairwise sum for every attribute and two others, all "
    "through k-ary randomised response."
)
NO_TRIPLES = "Sets of three attributes were not checked jointly: {reason}."
ONLY_COUNTS = (
    "only pairwise counts are at hand, as counts were given, or the table is large or a query. Ask "
    "for it with triples=True (--triples) and the table itself, which is read as a whole then, or "
    "with a sample of its records"
)
MEASURES = ("leakage", "triad_leakage", "grr_leakage", "mutual_information", "pearson")
MAX_TRIPLE_WORK = 300_000_000
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
        factor = "without bound" if np.isinf(value) else f"by a factor of up to {np.exp(value):.3g}"
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


def audit(
    table: Any,
    *,
    epsilon: float | Mapping[str, float] = 1.0,
    confidence: float | None = 0.95,
    triples: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> AuditResult:
    """Measure how much each attribute leaks about each other one under local differential privacy.

    Parameters
    ----------
    table : path, data frame, mapping of columns, CodedTable, CountedTable or PairCounts
        One row for each person. See `seepage.tables.load` for what can be read; also ``.counts``
        files. Large files and queries are counted in batches (`seepage.tables.count_table`).
    epsilon : float or mapping of column names to float, default 1.0
        Budget of every attribute, or of each one, in [0, ∞].
    confidence : float or None, default 0.95
        Of the limits for sampling, in (0, 1), for each pair by itself. None leaves them out.
    triples : bool, optional
        Whether to compare joint and pairwise leakage of all sets of three attributes; by default,
        when there are records (not only counts) and the work is moderate.
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
    read = _read(table, triples, **options)
    coded = read if isinstance(read, CodedTable) else None
    counts = read if isinstance(read, PairCounts) else _counts_of(read)
    source, notes = ("counts", ()) if isinstance(read, PairCounts) else (read.source, read.notes)
    weighted = _is_weighted(read)
    domain = counts.domain
    budgets = budget_of_each(domain, epsilon)
    _check_auditable(counts)
    if confidence is not None:
        if weighted:
            confidence, notes = None, (*notes, WEIGHTED)
        else:
            notes = (SAMPLING.format(confidence=confidence), *notes)
    n_pairs = len(domain) * (len(domain) - 1)
    pairs: list[PairLeakage] = []
    for secret in domain.names:
        for released in domain.names:
            if secret != released:
                pairs.append(_audit_pair(counts, secret, released, budgets[released], confidence))
                if progress is not None:
                    progress(len(pairs), n_pairs)
    found, note = _triples(coded, budgets, wanted=triples)
    curves = {(pair.secret, pair.released): pair.curve for pair in pairs}
    model = LeakageModel.from_curves(domain, curves, tree=DependencyTree.chow_liu(counts))
    totals = {name: evaluate(model, budgets, name) for name in ("pairwise", "tree", "group")}
    weight = counts.total if weighted else None
    records = _records_of(read)
    extent = "" if weight is None else f", weighted to {weight:,}"
    shared = (POPULATION.format(n=records, weighted=extent), MECHANISMS)
    kinds = (total.assumptions for total in totals.values())
    # Totals state what each of them assumes; what they share is stated once.
    extra = dict.fromkeys(x for kind in kinds for x in kind if x != OWN_BUDGET)
    return AuditResult(
        source=source,
        domain=domain,
        records=records,
        weight=weight,
        budgets=budgets,
        pairs=tuple(pairs),
        totals=totals["pairwise"].findings,
        tree_totals=totals["tree"].findings,
        group_total=totals["group"].finding(domain.names[0]),
        tree=model.dependency_tree(),
        triples=found,
        assumptions=(*shared, *extra, note, *notes),
    )


Read = CodedTable | CountedTable | PairCounts


def _read(table: Any, triples: bool | None, **options: Any) -> Read:
    """Records or counts; records where sets of three are asked for."""
    if not isinstance(table, (CodedTable, CountedTable, PairCounts)):
        return open_table(table, records=True if triples else None, **options)
    if options:
        kind = "coded data" if isinstance(table, CodedTable) else "counts"
        msg = f"expected no reading options with {kind}, got {', '.join(sorted(options))}"
        raise InvalidInputError(msg)
    return table


def _counts_of(read: CodedTable | CountedTable) -> PairCounts:
    return read.counts() if isinstance(read, CodedTable) else read.counts


def _is_weighted(read: Read) -> bool:
    if isinstance(read, CodedTable):
        return read.weights is not None
    return isinstance(read, CountedTable) and read.weighted


def _records_of(read: Read) -> int:
    if isinstance(read, PairCounts):
        return read.total
    return read.size if isinstance(read, CodedTable) else read.records


def _triples(
    coded: CodedTable | None, budgets: Mapping[str, float], *, wanted: bool | None
) -> tuple[tuple[Triple, ...] | None, str]:
    """Sets of three that exceed the pairwise sum, and what to say about the check."""
    if wanted is False:
        return None, NO_TRIPLES.format(reason="not asked for")
    if coded is None:
        if wanted:
            msg = "expected records to check sets of three attributes, got counts only"
            raise InvalidInputError(msg)
        return None, NO_TRIPLES.format(reason=ONLY_COUNTS)
    d = len(coded.domain)
    sizes = sorted(coded.domain.shape)
    work = math.comb(d, 3) * (len(coded.codes) + 20 * math.prod(sizes[d // 2 : d // 2 + 1]) ** 3)
    if wanted is None and (work > MAX_TRIPLE_WORK or math.prod(sizes[-3:]) > MAX_CELLS // 10):
        return None, NO_TRIPLES.format(reason="too much work by default; ask for it with triples")
    vector = [budgets[name] for name in coded.domain.names]
    check = triple_check(coded.domain, coded.codes, vector, weights=coded.weights)
    return check.exceeding, TRIPLES


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
                seconds += 8e-9 * first.size**2 * second.size + 5e-3
    widest = max(domain, key=lambda item: item.size)
    if seconds > MAX_FORECAST_SECONDS or widest.size**2 > MAX_ROW_PAIRS:
        memory = 48 * widest.size**2 / 1e9
        msg = (
            f"expected fewer columns or categories: {widest.name!r} has {widest.size:,}; the "
            f"audit would take about {seconds:,.0f} s and {memory:,.1f} GB. Bin numbers, pool rare "
            f"categories with min_count (--min-count), or leave the column out."
        )
        raise CapacityError(msg)


def _audit_pair(
    counts: PairCounts, secret: str, released: str, epsilon: float, confidence: float | None
) -> PairLeakage:
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
    support: tuple[int, int] | None = None
    event: tuple[Label, ...] = ()
    if witness is not None:
        x, other, chosen = witness
        values = (secret_labels[x], secret_labels[other])
        support = (int(table[x].sum()), int(table[other].sum()))
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
        support=support,
        event=event,
        curve=curve,
        grr_curve=grr_curve,
        sampled=(
            None if confidence is None else sampled_leakage(table, epsilon, confidence=confidence)
        ),
    )
