"""Records to category codes, and reports to the columns they are written in and back.

A report is written into one column for each attribute where that is possible; the plan alone
decides the form of every column, so that client and server agree.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seepage._numeric import IntArray
from seepage.collect.claims import Unit
from seepage.collect.mechanism import Reports
from seepage.domain import Attribute, Domain, Label, label_key
from seepage.errors import DomainError, InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from seepage.collect.collection import CollectedReports, CollectionPlan

Form = Literal["attributes", "report", "text"]

PLAN_COLUMN = "(plan)"
"""Column (key of a record) that says which plan a report was made by, and whether in earnest."""

RELEASE, SIMULATION = "release", "simulation, not a release"
UNKNOWN = "of unknown origin"

UNCHECKED = (
    "For {} it could not be checked that these are reports of this plan, nor whether they are a "
    "release: they do not say so."
)

VIEW_COLUMN = "view"


@dataclass(frozen=True)
class UnitColumns:
    """Where the reports of a unit are written.

    Parameters
    ----------
    names : tuple of str
        Columns.
    form : {"attributes", "report", "text"}
        "attributes": a category of each attribute. "report": the number of the report. "text":
        what the mechanism writes.
    """

    names: tuple[str, ...]
    form: Form


@dataclass(frozen=True)
class ReportColumn:
    """A column of reports.

    Parameters
    ----------
    values : sequence of label or None
        Distinct values.
    positions : array of int, shape (n,)
        Which of the values each record reports; −1 where it reports nothing in this column.
    """

    values: Sequence[Label | None]
    positions: IntArray


def layout(domain: Domain, units: Sequence[Unit]) -> tuple[UnitColumns, ...]:
    """Columns of each unit, in the order of the units.

    A unit whose reports are categories of its attributes writes them into the attributes' columns.
    Every other unit has one column, named after its attributes joined by " + ".
    """
    forms = [_form(unit) for unit in units]
    taken = {
        name
        for unit, form in zip(units, forms, strict=True)
        if form == "attributes"
        for name in unit.names
    }
    found = []
    for unit, form in zip(units, forms, strict=True):
        if form == "attributes":
            found.append(UnitColumns(unit.names, form))
            continue
        name = " + ".join(unit.names)
        while name in taken or (len(unit.names) > 1 and name in domain):
            name += " (reports)"
        taken.add(name)
        found.append(UnitColumns((name,), form))
    return tuple(found)


def _form(unit: Unit) -> Form:
    if unit.mechanism.form == "text":
        return "text"
    return "attributes" if unit.mechanism.features == unit.mechanism.k else "report"


def view_column(domain: Domain, columns: Iterable[UnitColumns]) -> str:
    """Name of the column that says which view a record reports, different from all others."""
    taken = {*domain.names, *(name for item in columns for name in item.names)}
    name = VIEW_COLUMN
    while name in taken:
        name = f"({name})"
    return name


def written_labels(attribute: Attribute) -> tuple[Label | None, ...] | None:
    """Labels as they stand in files, None for the missing category; or None: codes are written.

    Labels are written when all of them, but that of the missing category, are of one type and
    survive every format: texts that print and have no white space around them, integers of 64 bits,
    and whose texts differ from that of the missing category.
    """
    missing = None if attribute.missing is None else label_key(attribute.missing)
    ordinary = [label for label in attribute.categories if label_key(label) != missing]
    kinds = {label_key(label)[0] for label in ordinary}
    texts = {label_text(label) for label in attribute.categories}
    if len(kinds) != 1 or len(texts) != attribute.size or not all(map(_survives, ordinary)):
        return None
    return tuple(None if label_key(x) == missing else x for x in attribute.categories)


def _survives(label: Label) -> bool:
    if isinstance(label, str):
        return bool(label) and label.isprintable() and label.strip() == label
    return isinstance(label, float) or -(2**63) <= label < 2**63


def label_text(label: Label) -> str:
    """A label in a file that has no types."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def file_labels(attribute: Attribute) -> tuple[Label | None, ...]:
    """What stands in files for each category: labels where possible, positions otherwise."""
    labels = written_labels(attribute)
    return tuple(range(attribute.size)) if labels is None else labels


def encode_record(domain: Domain, record: Mapping[str, Any]) -> IntArray:
    """Code one record; shape (1, d).

    Raises
    ------
    DomainError
        If a column is missing or unknown, or a value is not in the domain.
    InvalidInputError
        If `record` is not a mapping.
    """
    if not isinstance(record, Mapping):
        msg = f"expected a record as a mapping of column names to values, got {record!r}"
        raise InvalidInputError(msg)
    for name in record:
        if name not in domain:
            msg = f"expected a record with the columns of the plan, got {name!r}."
            raise DomainError(msg + did_you_mean(name, domain.names))
    for name in domain.names:
        if name not in record:
            msg = f"expected a value for every column of the plan, got none for {name!r}"
            raise DomainError(msg)
    return np.array([[_code(item, record[item.name]) for item in domain]], dtype=np.int64)


def _code(attribute: Attribute, value: Any) -> int:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        if attribute.missing is None:
            msg = (
                f"expected a value in column {attribute.name!r}, got {value!r}: the domain has no "
                "category for missing values"
            )
            raise DomainError(msg)
        return attribute.index(attribute.missing)
    if not isinstance(value, (str, int, float)):
        msg = (
            f"expected text, a number or a truth value in column {attribute.name!r}, got "
            f"{type(value).__name__}"
        )
        raise DomainError(msg)
    if attribute.edges is not None and not isinstance(value, (str, bool)):
        return _interval(attribute, attribute.edges, value)
    try:
        return attribute.index(value)
    except DomainError:
        if attribute.other is None:
            raise
        return attribute.index(attribute.other)


def _interval(attribute: Attribute, edges: tuple[float, ...], value: float) -> int:
    last = len(edges) - 2
    position = last if value == edges[-1] else bisect_right(edges, value) - 1
    if 0 <= position <= last:
        return attribute.index(attribute.intervals[position])
    if attribute.other is None:
        msg = (
            f"expected numbers from {edges[0]:g} to {edges[-1]:g} in column {attribute.name!r}, "
            f"got {value!r}"
        )
        raise DomainError(msg)
    return attribute.index(attribute.other)


def joint_codes(domain: Domain, names: Sequence[str], codes: Sequence[IntArray]) -> IntArray:
    """Position in the product of categories, row-major."""
    shape = tuple(domain[name].size for name in names)
    return np.asarray(np.ravel_multi_index(tuple(codes), shape), dtype=np.int64)


def report_columns(reports: CollectedReports) -> dict[str, ReportColumn]:
    """Columns in which reports are written.

    Returns
    -------
    dict
        For "views" the number of the view first; then the columns in the order of the domain, and
        those of units that have their own.
    """
    plan, n = reports.plan, reports.size
    values_of: dict[str, Sequence[Label | None]] = {}
    positions: dict[str, IntArray] = {}
    for number, (unit, columns) in enumerate(zip(plan.units, plan.columns_of_units, strict=True)):
        rows = slice(None) if reports.view is None else reports.view == number
        made = _unit_columns(plan, unit, columns, reports.values[number])
        for name, column in made.items():
            values_of[name] = column.values
            filled = positions.setdefault(name, np.full(n, -1, dtype=np.int64))
            filled[rows] = column.positions
    order = {name: i for i, name in enumerate(plan.domain.names)}
    ranked = sorted(values_of, key=lambda name: order.get(name, len(order)))
    result = {name: ReportColumn(values_of[name], positions[name]) for name in ranked}
    if reports.view is None:
        return result
    return {plan.view_column: ReportColumn(range(len(plan.units)), reports.view), **result}


def _unit_columns(
    plan: CollectionPlan, unit: Unit, columns: UnitColumns, reports: Reports
) -> dict[str, ReportColumn]:
    """Columns of one unit, for the records that reported it."""
    first = columns.names[0]
    if columns.form == "text":
        texts = list(unit.mechanism.encode(reports))
        return {first: ReportColumn(texts, np.arange(len(texts)))}
    codes = np.asarray(reports, dtype=np.int64)
    if columns.form == "report":
        return {first: ReportColumn(range(unit.mechanism.features), codes)}
    parts = np.unravel_index(codes, tuple(plan.domain[name].size for name in unit.names))
    return {
        name: ReportColumn(plan.file_labels[name], np.asarray(part, dtype=np.int64))
        for name, part in zip(columns.names, parts, strict=True)
    }


def first_record(reports: CollectedReports) -> dict[str, Any]:
    """The first record's reports as plain values."""
    columns = report_columns(reports)
    result: dict[str, Any] = {}
    for name, column in columns.items():
        position = int(column.positions[0])
        result[name] = None if position < 0 else column.values[position]
    if reports.simulated is not None:
        result[PLAN_COLUMN] = plan_mark(reports.plan, simulated=reports.simulated)
    return result


def plan_mark(plan: CollectionPlan, *, simulated: bool) -> str:
    """What stands in the column "(plan)": the start of the fingerprint, and release or not."""
    return f"{plan.fingerprint[:16]} {SIMULATION if simulated else RELEASE}"
