"""From a table to randomised reports under a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from seepage._numeric import extremes_allowed
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.mechanism import Rng
from seepage.collect.records import PLAN_COLUMN, label_text
from seepage.domain import Label
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.plan.plan_sources import as_plan
from seepage.tables import CodedTable
from seepage.tables.load import load_planned, reading_plan

READING = ("null_values", "header", "names", "separator", "quote", "comment", "encoding", "strip")
"""Options of `seepage.tables.load` that say how a file is written, not what its values mean."""


@extremes_allowed
def randomize(
    table: Any,
    plan: CollectionPlan | str | Path,
    *,
    rng: Rng = None,
    allow_unprotected: bool = False,
    **reading: Any,
) -> CollectedReports:
    """Randomise the records of a table.

    The domain is that of the plan: nothing is read from the data to be released, and a value, a
    null or a NaN outside the domain is an error.

    Parameters
    ----------
    table : path, data frame, mapping of columns or CodedTable
        One row for each record; columns that are not in the plan are left out.
    plan : CollectionPlan or path of a plan file
    rng : numpy.random.Generator or int, optional
        For a simulation. Without it this is a release: entropy of the operating system, integer
        weights.
    allow_unprotected : bool, default False
        Release reports through mechanisms with ε = ∞ too, which can reveal values.
    **reading
        How a file is written: ``null_values``, ``header``, ``names``, ``separator``, ``quote``,
        ``comment``, ``encoding`` and ``strip`` of `seepage.tables.load`.

    Returns
    -------
    CollectedReports

    Raises
    ------
    DomainError
        If a column of the plan is missing, or a value is not in its domain.
    TableError
        If the table holds reports already: a column "(plan)" says so.
    InvalidInputError
        If a release would be unprotected (ε = ∞), or a null value is a declared category and can
        mean missing in no other column.
    SeepageError
        If the table or the plan cannot be used.

    Examples
    --------
    >>> domain = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes"]})
    >>> plan = make_plan(domain, epsilon=1.0)
    >>> randomize({"sex": ["f", "m", "m"], "smoker": ["no", "no", "yes"]}, plan).size
    3
    """
    chosen = as_plan(plan)
    coded = records_for(chosen, table, **reading)
    return chosen.randomize_codes(coded.codes, rng=rng, allow_unprotected=allow_unprotected)


def records_for(plan: CollectionPlan, table: Any, **reading: Any) -> CodedTable:
    """Read records, coded by the domain of a plan; nothing else is taken from the table.

    Parameters
    ----------
    plan : CollectionPlan
    table, **reading
        See `randomize`.

    Raises
    ------
    DomainError
        If a column of the plan is missing, or a value is not in its domain.
    TableError
        If the table holds reports already.
    InvalidInputError
        If a null value can only be a declared category.
    SeepageError
        If the table cannot be used.
    """
    for name in reading:
        if name not in READING:
            msg = f"expected reading options {', '.join(READING)}, got {name!r}."
            raise InvalidInputError(msg + did_you_mean(name, READING))
    if isinstance(table, CodedTable):
        if reading:
            msg = f"expected no reading options with coded data, got {', '.join(sorted(reading))}"
            raise InvalidInputError(msg)
        coded = table
    else:
        largest = max(10_000, *plan.domain.shape)
        options = reading_plan(domain=plan.domain, max_categories=largest, **reading)
        given = options[0].nulls if "null_values" in reading else ()
        for value, kept, others in declared_nulls(plan, given):
            if not others:
                msg = (
                    f"expected null values that mean missing in some column, got {value!r}, which "
                    f"is a category of column {kept!r}"
                )
                raise InvalidInputError(msg)
        coded = load_planned(table, *options, refuse_reports)
    if coded.domain != plan.domain:
        msg = "expected records coded by the domain of the plan, got another domain"
        raise DomainError(msg)
    if coded.weights is not None:
        msg = "expected a table without weights: every record is randomised by itself"
        raise InvalidInputError(msg)
    return coded


def refuse_reports(names: Sequence[str]) -> None:
    """Refuse a table that `randomize` has made: randomised again, it would be estimated wrongly.

    Parameters
    ----------
    names : sequence of str
        Columns of the table.

    Raises
    ------
    TableError
        If there is a column "(plan)".
    """
    if PLAN_COLUMN in names:
        msg = (
            f"expected a table of true values, got reports, which column {PLAN_COLUMN!r} marks: "
            "they were randomised already"
        )
        raise TableError(msg)


def declared_nulls(
    plan: CollectionPlan, nulls: Iterable[Label]
) -> list[tuple[Label, str, tuple[str, ...]]]:
    """Values named as missing that are declared categories, and stay such.

    Parameters
    ----------
    plan : CollectionPlan
    nulls : iterable of labels

    Returns
    -------
    list of (label, str, tuple of str)
        The value, the first column where it is a category, and the columns where it can mean
        missing.
    """
    found = []
    for value in nulls:
        text = label_text(value)
        declared, others = [], []
        for attribute in plan.domain:
            missing = None if attribute.missing is None else label_text(attribute.missing)
            if text != missing and text in map(label_text, attribute.categories):
                declared.append(attribute.name)
            elif missing is not None:
                others.append(attribute.name)
        if declared and text:  # the empty text means missing by default
            found.append((value, declared[0], tuple(others)))
    return found
