"""Counts of a table whose records are reports, as the sums that an estimate needs.

Where reports are categories of their attributes, a file of reports is a table like any other, and
its pairwise counts are the sums over reports of one or two units.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import freeze
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates
from seepage.collect.mechanism import TableMechanism
from seepage.collect.records import PLAN_COLUMN, plan_mark, written_labels
from seepage.collect.routes import SumKey
from seepage.collect.sums import ReportSums
from seepage.domain import Attribute, Label
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.tables import CountedTable
from seepage.tables.show import short
from seepage.tables.sources import tells_of_repeats


def from_table(counted: CountedTable, empty: Estimates, name: str) -> Estimates:
    """Take counts of a table whose records are reports.

    This is possible where the reports of every unit are categories of its attributes, which stand
    in the files as such, and for tables in which one or two attributes enter.

    Parameters
    ----------
    counted : CountedTable
        Of the columns of the reports, with the categories of the plan; "(plan)" may be among them.
    empty : Estimates
        From no reports yet; says which tables are wanted.
    name : str
        What messages call the counts.

    Raises
    ------
    InvalidInputError
        If the counts are weighted, or cannot be those of reports of the plan.
    DomainError
        If the categories of a column are others.
    TableError
        If "(plan)" names another plan.
    """
    plan = empty.plan
    instead = "Count the reports with the plan (--plan, count_reports)."
    if counted.weighted:
        msg = f"expected counts of reports without weights, got weighted counts in {name}"
        raise InvalidInputError(msg)
    for number in sorted({axis.unit for key in empty.sums.tables for axis in key}):
        unit, form = plan.units[number], plan.columns_of_units[number].form
        told = ", ".join(map(repr, unit.names))
        plain = isinstance(unit.mechanism, TableMechanism) and form == "attributes"
        if plan.design == "views" or not plain or any(_coded(plan, one) for one in unit.names):
            msg = (
                f"expected counts made with the plan, got those of a table in {name}, which do not "
                f"hold what was reported of {told}. {instead}"
            )
            raise InvalidInputError(msg)
    _check_columns(counted, plan, name, instead)
    tables: dict[SumKey, NDArray[np.int64]] = {}
    for key, table in empty.sums.tables.items():
        names = [one for axis in key for one in plan.units[axis.unit].names]
        if len(names) > 2:
            msg = (
                f"expected counts made with the plan, got those of a table in {name}, which has "
                f"pairs of columns, and not {' × '.join(names)}. {instead}"
            )
            raise InvalidInputError(msg)
        pair = len(names) == 2
        found = counted.counts.table(*names) if pair else counted.counts.single(names[0]).values
        tables[key] = freeze(found.reshape(table.shape))
    n = counted.records
    simulated, unknown = _origin(counted, plan, name)
    sums = ReportSums(tables, {}, (n,) * len(plan.units), n, simulated, unknown)
    notes = tuple(note for note in counted.notes if tells_of_repeats(note))
    return replace(empty, sums=sums, source=counted.source, notes=notes)


def _coded(plan: CollectionPlan, name: str) -> bool:
    """Whether files hold positions of the categories of an attribute in place of labels."""
    return written_labels(plan.domain[name]) is None


def _check_columns(counted: CountedTable, plan: CollectionPlan, name: str, instead: str) -> None:
    for column in counted.domain.names:
        if column not in plan.domain and column != PLAN_COLUMN:
            msg = f"expected counts of the columns of the plan only, got {column!r} in {name}."
            raise DomainError(msg + did_you_mean(column, plan.domain.names))
    for attribute in plan.domain:
        if attribute.name not in counted.domain:
            msg = (
                f"expected counts of all columns of the plan, got none for {attribute.name!r} in "
                f"{name}. {instead}"
            )
            raise DomainError(msg)
        found = counted.domain[attribute.name]
        if not _same(found, attribute):
            bins = "" if found.edges is None else ", or bins that are not those of the plan by name"
            msg = (
                f"expected the categories of the plan for {attribute.name!r}, got others{bins} in "
                f"{name}. {instead}"
            )
            raise DomainError(msg)


def _same(found: Attribute, attribute: Attribute) -> bool:
    """Whether what was counted as a category is a report of it.

    Reports are labels. Edges take numbers for values, so that they may be there only where no
    label of a bin is one.
    """
    if found.edges is not None:
        return found == attribute and not any(map(_is_number, attribute.intervals))
    plain = Attribute(attribute.name, attribute.categories, missing=attribute.missing)
    return replace(found, other=None) == plain


def _is_number(label: Label) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    except OverflowError:  # an integer beyond every float
        return True
    return True


def _origin(counted: CountedTable, plan: CollectionPlan, name: str) -> tuple[int, int]:
    """How many records were simulated, and of how many this is not known."""
    if PLAN_COLUMN not in counted.domain:
        return 0, counted.records
    known = {plan_mark(plan, simulated=flag): flag for flag in (False, True)}
    simulated = 0
    counts = counted.counts.single(PLAN_COLUMN).values.tolist()
    for label, count in zip(counted.domain[PLAN_COLUMN].categories, counts, strict=True):
        if count and label not in known:
            msg = (
                f"expected reports of the plan with the fingerprint {plan.fingerprint[:16]}…, got "
                f"{short(label)} in column {PLAN_COLUMN!r} of {name}: they were made by another one"
            )
            raise TableError(msg)
        simulated += count if known.get(str(label)) else 0
    return simulated, 0
