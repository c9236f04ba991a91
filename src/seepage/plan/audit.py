"""The audit: how much each attribute of a table tells about each other one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from seepage.counts import MAX_CELLS, PairCounts, conditional_rows
from seepage.domain import Label
from seepage.errors import CapacityError, InvalidInputError, TableError
from seepage.leakage import Triad, baselines
from seepage.leakage.model import LeakageModel
from seepage.leakage.sampling import sampled_leakage
from seepage.leakage.tree import DependencyTree
from seepage.leakage.triples import Triple, triple_check
from seepage.plan.audit_result import AuditResult, PairLeakage
from seepage.plan.budgets import budget_of_each
from seepage.plan.totals import OWN_BUDGET, evaluate
from seepage.results import Finding, Standing
from seepage.tables import CodedTable, CountedTable, open_table
from seepage.tradeoff import TradeOff

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
MAX_TRIPLE_WORK = 300_000_000
MAX_FORECAST_SECONDS = 1800.0
MAX_ROW_PAIRS = 40_000_000

Progress = Callable[[int, int], None]


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
