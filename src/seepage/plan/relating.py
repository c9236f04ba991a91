"""Which relationships survive a collection, and what they were: tables of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import extremes_allowed
from seepage.collect.allocation import COMPOSITION, RESPONSE, Allocation
from seepage.collect.attenuation import (
    Attributes,
    Names,
    Sizes,
    named,
    percent,
    retentions,
)
from seepage.collect.collection import CollectionPlan
from seepage.collect.marginals import records_in_words
from seepage.collect.mechanism import TableMechanism
from seepage.collect.relationships import Estimate, ReportedRelationships, recommended
from seepage.counts import PairCounts
from seepage.errors import InvalidInputError
from seepage.plan._clear import (
    MODERATE,
    clear_ones,
    not_computed,
    quantity,
    records_needed,
    which_values,
)
from seepage.plan.estimating import name_of
from seepage.plan.relationship_sources import (
    plan_of,
    relationship_source,
    wanted_sets,
    was_simulated,
)
from seepage.results import Result, Standing
from seepage.tables import CodedTable, CountedTable
from seepage.tables.domain_files import DomainFile, read_domain

KINDS = ("covariance", "correlation", "odds")
"""What can be estimated of a pair."""

CLOSE = 1e-9
"""How far a table may be from ``λ I + (1 − λ)/k`` and still count as one."""

ANY_SCORES = (
    "The retention holds for any real scores of the categories and for distinct attributes; "
    "variances and other moments of one attribute change differently."
)
SINGLE = (
    "Limits are normal, by the delta method, and hold for each estimate by itself; with few "
    "records they are rough."
)
TOLD_ONE = (
    "Told from zero: the limits exclude 0; such a statement holds with a probability of about "
    "{level:g} %."
)
TOLD = (
    "Told from zero: limits adjusted for {count} relationships (Bonferroni) exclude 0; all such "
    "statements hold together with a probability of about {level:g} %."
)
RECOMMENDED = (
    "Recommended: the value with the smaller mean squared error where data and range decide; "
    "elsewhere by the mean strength of the undecided relationships, which are taken together."
)
DESIGN = "The randomisations of different units are independent given the true record."
SIMULATED = "The reports were simulated with a seed; they are not a release."


@dataclass(frozen=True, eq=False)
class RetentionTable(Result):
    """Share of each cross-moment that randomised response keeps, for one or more allocations.

    Attributes
    ----------
    sizes : mapping of str to int
        Number of categories of each attribute.
    budgets : mapping of str to mapping of str to float
        For each allocation, by its label: ε of each attribute.
    retentions : mapping of str to mapping of tuple of str to float
        For each allocation: retention of each relationship; the same ones for all.
    allocations : mapping of str to Allocation
        Those that were optimised.
    assumptions : tuple of str
    source : str
    """

    sizes: Mapping[str, int]
    budgets: Mapping[str, Mapping[str, float]]
    retentions: Mapping[str, Mapping[Names, float]]
    allocations: Mapping[str, Allocation]
    assumptions: tuple[str, ...]
    source: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the allocations."""
        return tuple(self.budgets)

    @property
    def relationships(self) -> tuple[Names, ...]:
        """The sets of attributes, in order."""
        return tuple(self.retentions[self.labels[0]])

    @property
    def orders(self) -> tuple[int, ...]:
        """Numbers of attributes in a relationship."""
        return tuple(sorted({len(names) for names in self.relationships}))

    @property
    def standing(self) -> Standing:
        """Retentions are exact."""
        return Standing.EXACT

    def survival(self, label: str) -> str:
        """What one allocation keeps most and least, in one sentence."""
        kept = self.retentions[label]
        order = sorted(kept, key=lambda names: -kept[names])
        total = math.fsum(self.budgets[label].values())
        first = f"{label} (total ε {_number(total)}): "
        most, least = order[0], order[-1]
        if percent(kept[most]) == percent(kept[least]):
            every = "the relationship keeps" if len(order) == 1 else "every relationship keeps"
            return f"{first}{every} {percent(kept[most])} of its {_moment(most)}."
        return (
            f"{first}{named(most)} survives most, with {percent(kept[most])} of its "
            f"{_moment(most)}, and {named(least)} least, with {percent(kept[least])}."
        )

    @property
    def verdict(self) -> str:
        """What survives most and least, a sentence for each allocation."""
        return " ".join(self.survival(label) for label in self.labels)

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each relationship, one column for each allocation."""
        names = self.relationships
        fixed: dict[str, list[Any]] = {
            "relationship": [named(item) for item in names],
            "order": [len(item) for item in names],
        }
        for label in self.labels:
            title = label if label not in fixed else f"{label} (retention)"
            fixed[title] = [self.retentions[label][item] for item in names]
        return fixed

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "format": "seepage.retentions",
            "version": 1,
            "source": self.source,
            "verdict": self.verdict,
            "standing": str(self.standing),
            "sizes": dict(self.sizes),
            "budgets": {label: dict(values) for label, values in self.budgets.items()},
            "relationships": [
                {
                    "names": list(names),
                    "retention": {label: self.retentions[label][names] for label in self.labels},
                }
                for names in self.relationships
            ],
            "allocations": {label: item.to_dict() for label, item in self.allocations.items()},
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, eq=False)
class RelationshipEstimates(Result):
    """Relationships estimated from randomised reports, corrected and not.

    Attributes
    ----------
    estimates : tuple of Estimate
    size : int
        Number of records collected.
    simulated : bool or None
        Whether the reports were simulated; None where they do not say.
    assumptions : tuple of str
    source : str
    needed : int or None
        Records with which a correlation of 0.3 of a typical pair would be told from zero, with a
        probability of 80 %; None where this is not computed.
    notes : tuple of str
        Sentences on how the reports were read; `assumptions` has them too.
    """

    estimates: tuple[Estimate, ...]
    size: int
    simulated: bool | None
    assumptions: tuple[str, ...]
    source: str = ""
    needed: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def standing(self) -> Standing:
        """Estimates from a sample."""
        return Standing.ESTIMATE

    @property
    def verdict(self) -> str:
        """What can be told from zero, and which values to take, in a few sentences."""
        count = len(self.estimates)
        note = " (simulated reports)" if self.simulated else ""
        behind = f"{records_in_words(self.size)}{note}"
        every = "the relationship" if count == 1 else f"none of {count} relationships"
        if all(item.estimate is None for item in self.estimates):
            can = "cannot" if count == 1 else "can"
            told = f"{every} {can} be corrected with {behind}: too few for these budgets."
            never = not_computed(self.estimates)
            if all(item.equal for item in self.estimates):
                told = f"{every} {can} be computed: {never.partition(': ')[2]}"
            elif never:
                told = f"{told} {never}"
            return told[0].upper() + told[1:]
        found = self.clear
        if found:
            clear = found[0]
            first = (
                f"From {behind}, the clearest is the {clear.kind} of {title_of(clear)}: "
                f"{quantity(clear.estimate or 0.0)} ± {quantity(clear.standard_error or 0.0, 2)} "
                "(one standard error)"
            )
            if clear.uncorrected is not None:
                first += f", against {quantity(clear.uncorrected)} uncorrected"
            if count > 1:
                first += f"; {len(found)} of {count} relationships can be told from zero"
        else:
            can = "cannot" if count == 1 else "can"
            first = f"{every} {can} be told from zero with {behind} and these budgets"
            first = first[0].upper() + first[1:]
            if self.needed is not None and self.needed > self.size:
                first += (
                    f"; about {self.needed:,} records would be needed for a correlation of "
                    f"{MODERATE:g}"
                )
        return f"{first}. {self._advice}"

    @property
    def clear(self) -> tuple[Estimate, ...]:
        """Estimates that can be told from zero, allowing for their number; the clearest first."""
        return tuple(clear_ones(self.estimates))

    @property
    def _advice(self) -> str:
        """Which values to take, as far as there are two; what is not comparable is told apart."""
        count = len(self.estimates)
        both = [item for item in self.estimates if item.comparison is not None]
        single = sum(
            item.estimate is not None and item.uncorrected is None for item in self.estimates
        )
        failed = sum(item.estimate is None and not item.equal for item in self.estimates)
        beyond = sum(
            item.estimate is not None and not (item.recommended or item.is_possible)
            for item in self.estimates
        )
        said = [which_values(both, count)] if both else []
        if single == count:
            said.append("There is no uncorrected value to compare with.")
        elif single:
            said.append(f"For {single} of {count} there is no uncorrected value to compare with.")
        if failed:
            said.append(f"{failed} of {count} cannot be corrected: too few records.")
        said += filter(None, [not_computed(self.estimates)])
        if beyond:
            values = (
                "The corrected value" if count == 1 else f"{beyond} of {count} corrected values"
            )
            verb = "is" if beyond == 1 else "are"
            said.append(f"{values} {verb} impossible and not recommended: too few records.")
        return " ".join(said)

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each estimate."""
        fields = (
            "estimate", "standard_error", "lower", "upper", "uncorrected", "uncorrected_error",
            "mse_corrected", "mse_uncorrected", "better", "recommended", "note",
        )  # fmt: skip
        return {
            "kind": [item.kind for item in self.estimates],
            "relationship": [title_of(item, categories=False) for item in self.estimates],
            "categories": [categories_of(item) for item in self.estimates],
            **{field: [getattr(item, field) for item in self.estimates] for field in fields},
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        columns = self.columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row, item in zip(rows, self.estimates, strict=True):
            row |= {"names": list(item.names), "confidence": item.confidence, "records": item.size}
        return {
            "format": "seepage.relationships",
            "version": 1,
            "source": self.source,
            "verdict": self.verdict,
            "standing": str(self.standing),
            "records": self.size,
            "records_needed": self.needed,
            "simulated": self.simulated,
            "estimates": rows,
            "assumptions": list(self.assumptions),
        }


def retention_table(
    source: Sizes
    | CodedTable
    | CountedTable
    | PairCounts
    | CollectionPlan
    | DomainFile
    | str
    | Path,
    allocations: Any = None,
    *,
    orders: Iterable[int] = (2,),
    relationships: Iterable[Iterable[str]] | None = None,
) -> RetentionTable:
    """What one or more allocations of budgets keep of every relationship, before collecting.

    Parameters
    ----------
    source : Domain, mapping of str to int, sequence of int, table, path or CollectionPlan
        Attributes and their numbers of categories; also those of a CodedTable, a CountedTable,
        PairCounts, or a domain file (its path, or what `seepage.tables.domain_files.read_domain`
        returned), whose notes come along: a `Domain` does not know whether it was read from data.
        A plan brings its own budgets.
    allocations : float, mapping, Allocation, or mapping of labels to these
        ε of all attributes, ε of each, what `seepage.collect.allocation.allocate` returned, or
        several of these by label. None for a plan.
    orders : iterable of int
        2 for covariances, 3 for third cross-moments, and so on.
    relationships : iterable of iterables of str, optional
        Chosen sets of attributes in place of all of `orders`.

    Returns
    -------
    RetentionTable

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the plan has no retention: mechanisms other than
        k-ary randomised response, joint units, or another design than "independent".
    DomainError
        If the domain file cannot be read.

    Examples
    --------
    >>> table = retention_table([4, 4], {"balanced": 1.0, "high": 3.0})
    >>> [round(table.retentions[label]["X1", "X2"], 3) for label in table.labels]
    [0.09, 0.683]
    """
    name = ""
    notes: tuple[str, ...] = ()
    if isinstance(source, (str, Path)):
        name, source = Path(source).name, read_domain(Path(source))
    if isinstance(source, DomainFile):
        notes, source = source.notes, source.domain
    elif isinstance(source, CollectionPlan):
        if allocations is not None:
            msg = "expected no allocations with a plan, which has its own budgets"
            raise InvalidInputError(msg)
        allocations, name, notes = {"plan": plan_budgets(source)}, source.source, source.assumptions
        source = source.domain
    elif isinstance(source, (CodedTable, CountedTable)):
        name, notes, source = source.source, source.notes, source.domain
    elif isinstance(source, PairCounts):
        name, source = "counts", source.domain
    attributes = Attributes.of(source)
    given = _labelled(attributes, allocations)
    chosen = None if relationships is None else [tuple(attributes.subset(s)) for s in relationships]
    sizes = dict(zip(attributes.names, attributes.sizes.tolist(), strict=True))
    budgets, kept, optimised = {}, {}, {}
    for label, item in given.items():
        if isinstance(item, Allocation):
            optimised[label] = item
            item = item.budgets
        values = attributes.budgets(item)
        budgets[label] = dict(zip(attributes.names, values.tolist(), strict=True))
        kept[label] = retentions(sizes, budgets[label], orders=orders, relationships=chosen)
    return RetentionTable(
        sizes=sizes,
        budgets=budgets,
        retentions=kept,
        allocations=optimised,
        assumptions=(*notes, RESPONSE, ANY_SCORES, *((COMPOSITION,) if optimised else ())),
        source=name,
    )


def plan_budgets(plan: CollectionPlan) -> dict[str, float]:
    """ε of each attribute of a plan whose units are single k-ary randomised responses.

    Raises
    ------
    InvalidInputError
        If the plan is another one, so that its relationships have no retention.
    """
    if plan.design != "independent":
        msg = (
            f"expected a plan of design 'independent', got {plan.design!r}, under which records do "
            "not report all attributes"
        )
        raise InvalidInputError(msg)
    found: dict[str, float] = {}
    for unit in plan.units:
        mechanism = unit.mechanism
        if len(unit.names) > 1:
            msg = f"expected single attributes, got {named(unit.names)} randomised jointly"
            raise InvalidInputError(msg)
        if not isinstance(mechanism, TableMechanism) or not _is_response(mechanism):
            msg = (
                f"expected k-ary randomised response for {unit.names[0]!r}, got "
                f"{mechanism.kind!r}, whose moments are not multiplied by one factor"
            )
            raise InvalidInputError(msg)
        found[unit.names[0]] = mechanism.epsilon
    return {name: found[name] for name in plan.domain.names}


@extremes_allowed
def estimate_relationships(
    reports: Any,
    plan: CollectionPlan | str | Path | None = None,
    *,
    relationships: Iterable[Sequence[str]] | None = None,
    regression: Mapping[str, Sequence[str]] | None = None,
    kinds: Sequence[str] = ("correlation",),
    scores: Mapping[str, ArrayLike] | None = None,
    confidence: float = 0.95,
    name: str | None = None,
    notes: Iterable[str] = (),
) -> RelationshipEstimates:
    """Estimate relationships from randomised reports or their counts, with standard errors.

    Parameters
    ----------
    reports : CollectedReports, path, frame, mapping, list of records, or iterable of those
        As `seepage.estimate` takes them, and counts of reports as it takes them: they must hold
        tables of all attributes of a relationship together (pairs, for a correlation), and be
        made with ``covariance=True`` where reports are no categories.
    plan : CollectionPlan or path of a plan file, optional
        Only for reports and counts that come without theirs: CollectedReports and Estimates have
        it.
    relationships : iterable of sequences of str, optional
        Sets of attributes; all pairs by default. Sets of three and more give cross-moments.
    regression : mapping of str to sequence of str, optional
        For each outcome its predictors.
    kinds : sequence of {"covariance", "correlation", "odds"}
        What is estimated of each pair; "odds" is the log odds ratio of the first two categories.
    scores : mapping of str to array of float, optional
        See `seepage.collect.relationships.ReportedRelationships`.
    confidence : float
        In (0, 1).
    name : str, optional
        Of the reports, for titles; by default that of their file.
    notes : iterable of str
        Sentences on how the reports were read.

    Returns
    -------
    RelationshipEstimates

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, the design does not report attributes together, or
        counts lack what is needed or are given twice.
    DomainError
        If a name is unknown.
    CapacityError
        If no relationships are named and there are too many pairs.
    SeepageError
        If reports or counts cannot be read, or are of another plan.
    """
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        msg = f"expected a list of kinds among {', '.join(map(repr, KINDS))}, got {kinds!r}"
        raise InvalidInputError(msg)
    kinds = tuple(kinds)
    for kind in kinds:
        if kind not in KINDS:
            msg = f"expected kinds among {', '.join(map(repr, KINDS))}, got {kind!r}"
            raise InvalidInputError(msg)
    collection = plan_of(reports, plan)
    sets, slopes = wanted_sets(collection.domain, relationships, regression)
    taken, told = relationship_source(reports, collection, [*sets, *slopes])
    source = ReportedRelationships(taken, scores, confidence)
    known = {
        "covariance": source.covariance,
        "correlation": source.correlation,
        "odds": source.log_odds_ratio,
    }
    found: list[Estimate] = []
    for names in sets:
        if len(names) == 2:
            found += [known[kind](names[0], names[1]) for kind in kinds]
        else:
            found.append(source.moment(names))
    for outcome, *predictors in slopes:
        found += source.regression(outcome, predictors)
    if not found:
        msg = "expected at least one relationship, got none"
        raise InvalidInputError(msg)
    found = recommended(found)
    used = {name for item in found for name in item.names}
    notes, simulated = (*told, *notes), was_simulated(taken)
    return RelationshipEstimates(
        estimates=tuple(found),
        size=taken.size,
        simulated=simulated,
        assumptions=(
            *source.assumptions(sorted(used)),
            DESIGN,
            SINGLE,
            (TOLD_ONE if len(found) == 1 else TOLD).format(
                count=len(found), level=100 * source.confidence
            ),
            RECOMMENDED,
            *((SIMULATED,) if simulated else ()),
            *notes,
            *collection.assumptions,
        ),
        source=name_of(reports) if name is None else name,
        needed=records_needed(
            collection, [item.names for item in found], len(found), source.confidence
        ),
        notes=notes,
    )


def _moment(names: Names) -> str:
    return "covariance" if len(names) == 2 else "cross-moment"


def _labelled(attributes: Attributes, given: Any) -> dict[str, Any]:
    if given is None:
        msg = "expected at least one allocation of budgets, got none"
        raise InvalidInputError(msg)
    several = isinstance(given, Mapping) and not set(given) <= set(attributes.names)
    nested = isinstance(given, Mapping) and any(
        isinstance(value, (Mapping, Allocation, list, tuple, np.ndarray))
        for value in given.values()
    )
    if not (several or nested):
        return {"budgets": given}
    if not all(isinstance(label, str) and label for label in given):
        msg = f"expected labels of allocations as text, got {list(given)!r}"
        raise InvalidInputError(msg)
    return dict(given)


def _is_response(mechanism: TableMechanism) -> bool:
    matrix, k = mechanism.channel.matrix, mechanism.k
    if matrix.shape != (k, k):
        return False
    kept = 1.0 if k == 1 else (float(np.trace(matrix)) - 1) / (k - 1)
    return bool(np.abs(matrix - kept * np.eye(k) - (1 - kept) / k).max() <= CLOSE)


def title_of(item: Estimate, *, categories: bool = True) -> str:
    """The attributes of an estimate in words; for an odds ratio with its categories."""
    names = f"{item.names[0]} on {item.names[1]}" if item.kind == "slope" else named(item.names)
    if categories and item.categories:
        return f"{names} ({categories_of(item)})"
    return names


def categories_of(item: Estimate) -> str:
    """The categories that an odds ratio compares, in words; empty for other quantities."""
    return ", ".join(f"{first} against {second}" for first, second in item.categories)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
