"""Where estimates of relationships come from: reports themselves, or counts of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from seepage.collect.attenuation import Names
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.estimates import Estimates, check_same_plan
from seepage.collect.held import for_relationships
from seepage.collect.marginals import records_in_words
from seepage.collect.records import UNCHECKED
from seepage.collect.relationships import checked_names, regression_names
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError
from seepage.plan.estimating import are_batches, are_paths, count_into, name_of
from seepage.plan.plan_sources import as_plan
from seepage.plan.report_counts import are_counts
from seepage.plan.reports_io import joined, read_reports
from seepage.tables.sources import repeated

MANY = 40
"""Most attributes whose pairs are estimated without being named."""


def plan_of(reports: Any, plan: CollectionPlan | str | Path | None) -> CollectionPlan:
    """Return the plan that was given, or that reports in memory bring along.

    Raises
    ------
    InvalidInputError
        If there is none.
    TableError
        If the file is not a valid plan.
    """
    if plan is not None:
        return as_plan(plan)
    items = reports if isinstance(reports, (list, tuple)) and reports else [reports]
    if isinstance(items[0], (CollectedReports, Estimates)):
        return items[0].plan
    msg = (
        "expected CollectedReports or Estimates, which have their plan, or other reports together "
        f"with the plan, got {type(reports).__name__} alone"
    )
    raise InvalidInputError(msg)


def wanted_sets(
    domain: Domain, relationships: Any, regression: Any
) -> tuple[list[Names], list[Names]]:
    """Return the attributes of each relationship, and of each regression, the outcome first.

    Parameters
    ----------
    domain : Domain
    relationships : iterable of sequences of str, optional
        All pairs by default, or none beside a regression.
    regression : mapping of str to sequence of str, optional

    Raises
    ------
    InvalidInputError
        If they are something else.
    DomainError
        If a name is unknown.
    CapacityError
        If none are named and there are too many pairs.
    """
    if regression is not None and not isinstance(regression, Mapping):
        msg = f"expected a mapping of outcomes to their predictors, got {regression!r}"
        raise InvalidInputError(msg)
    slopes = [regression_names(domain, *item) for item in (regression or {}).items()]
    if relationships is None:
        if len(domain) > MANY:
            msg = f"expected named relationships for more than {MANY} attributes, got {len(domain)}"
            raise CapacityError(msg)
        relationships = [] if slopes else combinations(domain.names, 2)
    if isinstance(relationships, (str, Mapping)) or not isinstance(relationships, Iterable):
        msg = f"expected a list of sets of column names, got {relationships!r}"
        raise InvalidInputError(msg)
    sets = [
        checked_names(domain, (item,) if isinstance(item, str) else item, 2)
        for item in relationships
    ]
    return sets, slopes


def relationship_source(
    reports: Any, plan: CollectionPlan, sets: Iterable[Sequence[str]]
) -> tuple[CollectedReports | Estimates, tuple[str, ...]]:
    """Return what relationships are estimated from, and sentences on how it was read.

    Counts, and batches of an iterator, are added up; other reports are kept as they are. Whether
    they say what they are is counted of each file, as where tables are estimated.

    Parameters
    ----------
    reports : reports or counts
        See `seepage.estimate`.
    plan : CollectionPlan
    sets : iterable of sequences of str
        The attributes of each relationship.

    Raises
    ------
    SeepageError
        As `seepage.estimate`.
    """
    if are_counts(reports) or isinstance(reports, Iterator):
        empty = replace(for_relationships(plan, map(tuple, sets)), source=name_of(reports))
        counted = count_into(empty, reports)
        return counted, counted.doubts
    several = (are_batches(reports) or are_paths(reports)) and bool(reports)
    parts = [_read(one, plan) for one in (reports if several else [reports])]
    unknown = sum(part.size for part in parts if part.simulated is None)
    told = (UNCHECKED.format(records_in_words(unknown)),) if unknown else ()
    return joined(parts), (*told, *(repeated(reports) if are_paths(reports) else ()))


def was_simulated(reports: CollectedReports | Estimates) -> bool | None:
    """Whether any of the reports were simulated; None where they do not say."""
    if isinstance(reports, CollectedReports):
        return reports.simulated
    if reports.sums.simulated:
        return True
    return None if reports.sums.unknown else False


def _read(reports: Any, plan: CollectionPlan) -> CollectedReports:
    if isinstance(reports, CollectedReports):
        check_same_plan(plan, reports.plan)
        return reports
    return read_reports(reports, plan)
