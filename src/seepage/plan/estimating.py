"""From randomised reports to tables with standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from seepage._numeric import extremes_allowed
from seepage.collect.adjusted import AdjustedEstimates
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.estimates import AnyEstimates, Estimates
from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.plan_sources import as_plan
from seepage.tables.sources import repeated

Step = Literal["simplex", "clip", "consistent", "update", "likelihood"]

FITS = ("update", "likelihood")


@extremes_allowed
def estimate(
    reports: Any,
    plan: CollectionPlan | str | Path,
    marginals: int | Iterable[Any] = 2,
    *,
    columns: Iterable[str] | None = None,
    covariance: bool = False,
    confidence: float = 0.95,
) -> Estimates:
    """Estimate tables from randomised reports, without bias and with standard errors.

    Parameters
    ----------
    reports : CollectedReports, path, frame, mapping, list of records, or iterable of those
        Reports under the plan. An iterator, or a list of CollectedReports, is taken as batches,
        one after the other; files are read in batches. In place of reports: files of their counts
        (``.counts``), or counts in memory (Estimates of the plan, a CountedTable of reports that
        are categories), one or a list of them.
    plan : CollectionPlan or path of a plan file
    marginals : int or iterable of (str or sequence of str), default 2
        A number k stands for all tables of k attributes that the design can estimate; otherwise the
        sets of attributes themselves.
    columns : iterable of str, optional
        With a number k: tables of these attributes only.
    covariance : bool
        Keep what covariance matrices, and `seepage.estimate_relationships`, need when reports are
        no categories.
    confidence : float
        Of the limits shown; in (0, 1).

    Returns
    -------
    Estimates
        Merges by ``+``.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, the reports carry no information on a table, they
        do not fit the plan, or counts do not have a table that is asked for, or are given twice.
    DomainError
        If a column is unknown, or a report is outside the domain.
    CapacityError
        If tables would not fit; raised before anything is read.
    SeepageError
        If the reports cannot be read.

    Examples
    --------
    >>> from seepage.collect.designs import independent
    >>> from seepage.domain import Domain
    >>> import numpy as np
    >>> plan = independent(Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes"]}), float("inf"))
    >>> reports = plan.randomize_codes(np.array([[0, 0], [0, 1], [1, 0], [1, 0]]), rng=1)
    >>> estimate(reports, plan).marginal("sex", "smoker").values.tolist()
    [[0.25, 0.25], [0.5, 0.0]]
    """
    result = count_reports(
        reports, plan, marginals, columns=columns, covariance=covariance, confidence=confidence
    )
    for names in result.sets:
        result.marginal(*names)  # what the reports do not identify is refused here
    return result


@extremes_allowed
def count_reports(
    reports: Any,
    plan: CollectionPlan | str | Path,
    marginals: int | Iterable[Any] = 2,
    *,
    columns: Iterable[str] | None = None,
    covariance: bool = False,
    confidence: float = 0.95,
) -> Estimates:
    """Count the reports of a part of the records, for an estimate from all parts.

    Parameters
    ----------
    reports, plan, marginals, columns, covariance, confidence
        See `estimate`.

    Returns
    -------
    Estimates
        What `estimate` returns, but a part need not identify every table by itself. Merges by
        ``+``; `seepage.write_report_counts` saves what it rests on, and `estimate` takes the files.

    Raises
    ------
    SeepageError
        As `estimate`.

    Examples
    --------
    >>> from seepage.collect.designs import independent
    >>> from seepage.domain import Domain
    >>> import numpy as np
    >>> plan = independent(Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes"]}), float("inf"))
    >>> first = plan.randomize_codes(np.array([[0, 0], [0, 1]]), rng=1)
    >>> second = plan.randomize_codes(np.array([[1, 0], [1, 0]]), rng=1)
    >>> parts = [count_reports(part, plan) for part in (first, second)]
    >>> estimate(parts, plan).marginal("sex", "smoker").values.tolist()
    [[0.25, 0.25], [0.5, 0.0]]
    """
    return count_into(
        Estimates.of(
            as_plan(plan),
            marginals,
            columns=columns,
            covariance=covariance,
            confidence=confidence,
            source=name_of(reports),
        ),
        reports,
    )


def count_into(empty: Estimates, reports: Any) -> Estimates:
    """Count reports, or take their counts, for the tables of `empty`.

    Parameters
    ----------
    empty : Estimates
        From no reports yet.
    reports : reports or counts
        See `estimate`.

    Raises
    ------
    SeepageError
        As `estimate`.
    """
    from seepage.plan.report_counts import add_counts, are_counts

    result = empty
    if are_counts(reports):
        return add_counts(reports, result)
    if are_paths(reports):
        result = replace(result, notes=tuple(repeated(reports)))
    for batch in _batches(reports):
        if are_counts(batch):
            counted = add_counts(batch, result.empty)
            result = replace(result + counted, source=result.source)
            continue
        for one in _read(batch, result.plan):
            result = result.add(one)
    return result


def are_paths(reports: Any) -> bool:
    """Whether reports are a list of files."""
    return isinstance(reports, (list, tuple)) and all(isinstance(x, (str, Path)) for x in reports)


def name_of(reports: Any) -> str:
    """What titles call reports: the name of their file, or "reports"."""
    if isinstance(reports, (str, Path)):
        return Path(reports).name
    if isinstance(reports, (list, tuple)) and reports and isinstance(reports[0], (str, Path)):
        more = f" and {len(reports) - 1} more" if len(reports) > 1 else ""
        return Path(reports[0]).name + more
    return "reports"


def _batches(reports: Any) -> Iterable[Any]:
    several = are_batches(reports) or (are_paths(reports) and bool(reports))
    return reports if several else (reports,)


def are_batches(reports: Any) -> bool:
    """Whether reports come in several pieces, which are counted one after the other."""
    listed = isinstance(reports, (list, tuple)) and bool(reports)
    return isinstance(reports, Iterator) or (
        listed and all(isinstance(x, CollectedReports) for x in reports)
    )


def _read(batch: Any, plan: CollectionPlan) -> Iterable[CollectedReports]:
    if isinstance(batch, CollectedReports):
        return (batch,)
    from seepage.plan.reports_io import read_report_batches, read_reports

    if isinstance(batch, (str, Path)):
        return read_report_batches(batch, plan)
    return (read_reports(batch, plan),)


def adjust(estimates: AnyEstimates, steps: Sequence[Step]) -> AnyEstimates:
    """Apply steps to all tables, in order.

    Parameters
    ----------
    estimates : Estimates or AdjustedEstimates
    steps : sequence of {"simplex", "clip", "consistent", "update", "likelihood"}
        "simplex": nearest distribution. "clip": negative values to 0, then divide (heuristic).
        "consistent": overlapping tables agree. "update": iterative Bayesian update. "likelihood":
        maximum likelihood. The last two start from the reports, so only one of them can be, and it
        comes first.

    Raises
    ------
    InvalidInputError
        If a step is unknown, or a fit does not come first.
    """
    result = estimates
    for step in steps:
        if step not in get_args(Step):
            known = get_args(Step)
            msg = f"expected step {', '.join(map(repr, known))}, got {step!r}."
            raise InvalidInputError(msg + did_you_mean(step, known))
        if step == "consistent":
            result = result.consistent()
        elif step in FITS:
            if isinstance(result, AdjustedEstimates):
                msg = f"expected {step!r} as the first step, since it starts from the reports"
                raise InvalidInputError(msg)
            result = result.bayesian_update() if step == "update" else result.maximum_likelihood()
        else:
            result = result.project("simplex" if step == "simplex" else "clip")
    return result
