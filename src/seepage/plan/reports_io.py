"""Files of reports, written whole or not at all, and read with every value checked.

The plan alone decides the form of a file: a column for each attribute that holds labels, or the
positions of categories where labels would not survive every format, a column of text for mechanisms
whose reports are no categories, and for sampled views a column that names the view. Every value has
gone through a mechanism of the plan, or is a uniform fake.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import BoolArray, IntArray, freeze
from seepage.collect.claims import Unit
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.mechanism import Reports
from seepage.collect.records import (
    PLAN_COLUMN,
    RELEASE,
    SIMULATION,
    ReportColumn,
    UnitColumns,
    joint_codes,
    label_text,
    plan_mark,
    report_columns,
)
from seepage.domain import Attribute, Label
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.plan.plan_sources import as_plan
from seepage.results import write_bytes
from seepage.tables import is_counts
from seepage.tables.batches import open_batches
from seepage.tables.columns import Column, Reading, read_columns
from seepage.tables.delimited import TextFormat
from seepage.tables.encode import code_declared
from seepage.tables.sources import is_text, read_source

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".csv", ".arrow", ".feather", ".ipc")

FINGERPRINT_KEY, VERSION_KEY, KIND_KEY = "seepage.plan", "seepage.version", "seepage.kind"


def write_reports(reports: CollectedReports, path: str | Path) -> None:
    """Write reports to a file, whole or not at all.

    Parameters
    ----------
    reports : CollectedReports
    path : path
        ``.parquet``, ``.csv``, or ``.arrow``, ``.feather``, ``.ipc``.

    Raises
    ------
    InvalidInputError
        If the ending is another, or a CSV cannot hold the name of a column.

    Notes
    -----
    A last column "(plan)" holds the first 16 digits of the fingerprint of the plan, and "release"
    or "simulation, not a release", in every row; `read_reports` checks it, and other programs can
    leave it out. Parquet has the whole fingerprint, the version of this package and the same words
    as metadata of the file too. Reports of unknown origin get neither.
    """
    write_bytes(path, report_bytes(reports, ending_of(path)))


def ending_of(path: str | Path) -> str:
    """Return the ending of a file of reports in lower case.

    Raises
    ------
    InvalidInputError
        If reports cannot be written with this ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        msg = f"expected a file that ends in {', '.join(ENDINGS)}, got {str(path)!r}"
        raise InvalidInputError(msg)
    return ending


def report_bytes(reports: CollectedReports, ending: str) -> bytes:
    """Content of a file of reports; see `write_reports`."""
    import seepage

    stream = io.BytesIO()
    if ending == ".csv":
        _check_names(reports.plan)
        _marked(_frame(reports, as_text=True), reports).write_csv(stream)
    elif ending == ".parquet":
        metadata = {VERSION_KEY: seepage.__version__}
        if reports.simulated is not None:
            metadata |= {
                FINGERPRINT_KEY: reports.plan.fingerprint,
                KIND_KEY: SIMULATION if reports.simulated else RELEASE,
            }
        _marked(_frame(reports), reports).write_parquet(stream, metadata=metadata)
    else:
        _marked(_frame(reports), reports).write_ipc(stream)
    return stream.getvalue()


def _check_names(plan: CollectionPlan) -> None:
    for name in _column_names(plan):
        if not name.isprintable() or name.strip() != name:
            msg = (
                f"expected column names that print and have no white space around them, for CSV, "
                f"got {name!r}: write Parquet or Arrow"
            )
            raise InvalidInputError(msg)


def reports_frame(reports: CollectedReports) -> pl.DataFrame:
    """Reports as a Polars frame, in the form of the files."""
    return _marked(_frame(reports), reports)


def _marked(frame: pl.DataFrame, reports: CollectedReports) -> pl.DataFrame:
    import polars as pl

    if reports.simulated is None:
        return frame
    mark = plan_mark(reports.plan, simulated=reports.simulated)
    return frame.with_columns(pl.lit(mark).alias(PLAN_COLUMN))


def _frame(reports: CollectedReports, *, as_text: bool = False) -> pl.DataFrame:
    import polars as pl

    series = []
    for name, column in report_columns(reports).items():
        values: list[Label | None] = list(column.values)
        if as_text:
            values = [_text(reports.plan, name, value) for value in values]
        kinds = {type(value) for value in values if value is not None}
        dtype = {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}[
            next(iter(kinds), str)
        ]
        distinct = pl.Series(name, [*values, None], dtype=dtype)
        if _one_by_one(column):
            series.append(distinct[:-1])
        else:
            # −1, no report in this column, takes the null at the end.
            at = np.where(column.positions < 0, len(values), column.positions)
            series.append(distinct.gather(at))
    return pl.DataFrame(series)


def _one_by_one(column: ReportColumn) -> bool:
    """Whether each record has a value of its own, in order (texts)."""
    n = len(column.positions)
    return len(column.values) == n and bool((column.positions == np.arange(n)).all())


def _text(plan: CollectionPlan, name: str, value: Label | None) -> str:
    if value is None:  # the missing category: an empty field could also be no report at all
        missing = plan.domain[name].missing
        return "" if missing is None else label_text(missing)
    return label_text(value)


def read_reports(source: Any, plan: CollectionPlan | str | Path) -> CollectedReports:
    """Read reports and check every one of them against the plan.

    Parameters
    ----------
    source : path, list of paths, frame, mapping of columns, or list of records
        What `write_reports` wrote, in any of its formats, or the records that
        `CollectionPlan.randomize_record` returned.
    plan : CollectionPlan or path of a plan file

    Returns
    -------
    CollectedReports
        `simulated` when the metadata, or any "(plan)" value, says so; None when neither says
        anything, so that nothing tells whether these are reports of this plan.

    Raises
    ------
    TableError
        If the source cannot be read, has a column too few or too many, or was made by another plan.
    DomainError
        If a value is no category of its column, or is missing where it must not.
    InvalidInputError
        If a text is no report of its mechanism, or `source` is counts of reports.
    """
    chosen = as_plan(plan)
    if is_counts(source):
        path = source[0] if isinstance(source, (list, tuple)) else source
        msg = (
            "expected the reports themselves, got their counts, which are for estimates of tables "
            f"and relationships: {path}"
        )
        raise InvalidInputError(msg)
    if isinstance(source, (list, tuple)) and _is_mixed(source):
        return joined([read_reports(path, chosen) for path in source])
    simulated = _check_metadata(source, chosen)
    if _is_records(source):
        source = _columns_of_records(source)
    raw = read_source(source, TextFormat(separator=","), partial(chosen_columns, chosen))
    if raw.frame.height == 0:
        msg = f"expected reports in {raw.source}, got none"
        raise TableError(msg)
    return _decoded(raw.frame, chosen, simulated, typed=raw.typed)


def read_report_batches(
    source: Any, plan: CollectionPlan | str | Path
) -> Iterator[CollectedReports]:
    """Read the reports of a file batch by batch, in bounded memory.

    Parameters
    ----------
    source : path
        What `write_reports` wrote.
    plan : CollectionPlan or path of a plan file

    Yields
    ------
    CollectedReports
        Together they are those of `read_reports`; which records were simulated is known of each
        batch.

    Raises
    ------
    SeepageError
        As `read_reports`; what is wrong with a value when its batch is read, and records are
        numbered as in the file.
    """
    chosen = as_plan(plan)
    simulated = _check_metadata(source, chosen)
    batches = open_batches(source, TextFormat(separator=","), partial(chosen_columns, chosen))
    before = 0
    for frame in batches.frames():
        if frame.height:
            yield _decoded(frame, chosen, simulated, typed=batches.typed, before=before)
            before += frame.height
    if not before:
        msg = f"expected reports in {batches.source}, got none"
        raise TableError(msg)


def _decoded(
    frame: pl.DataFrame,
    plan: CollectionPlan,
    simulated: bool | None,
    *,
    typed: bool,
    before: int = 0,
) -> CollectedReports:
    """Reports of the columns of a source, some records of which may have come `before`."""
    # A text file has empty fields for null; elsewhere an empty text is a value like any other.
    empty = frozenset({""}) if typed else frozenset[str]()
    reading = Reading(typed, strip=None, nulls=(), keep=empty, as_text=not typed)
    read = {c.name: c for c in read_columns(frame, dict.fromkeys(frame.columns, reading))}
    if PLAN_COLUMN in read:
        simulated = bool(simulated) | _check_marks(read[PLAN_COLUMN], plan)
    view = None
    if plan.design == "views":
        view = _view(read[plan.view_column], plan, typed=typed)
    table = _Read(plan, read, view, typed)
    values = [
        table.reports(number, unit, columns)
        for number, (unit, columns) in enumerate(
            zip(plan.units, plan.columns_of_units, strict=True)
        )
    ]
    table.check_silence(before)
    return CollectedReports(plan, tuple(values), view, simulated)


def _is_mixed(paths: Sequence[Any]) -> bool:
    """Whether some files have types and others are text."""
    if not all(isinstance(path, (str, Path)) for path in paths):
        return False
    return len({is_text(Path(path)) for path in paths}) > 1


def joined(parts: Sequence[CollectedReports]) -> CollectedReports:
    """Reports of one plan as one collection, at least one."""
    if len(parts) == 1:
        return parts[0]
    values = tuple(np.concatenate(each) for each in zip(*(p.values for p in parts), strict=True))
    views = [part.view for part in parts if part.view is not None]
    view = freeze(np.concatenate(views)) if views else None
    origins = {part.simulated for part in parts}
    simulated = True if True in origins else None if None in origins else False
    return CollectedReports(parts[0].plan, values, view, simulated)


def _column_names(plan: CollectionPlan) -> list[str]:
    names = dict.fromkeys(name for unit in plan.columns_of_units for name in unit.names)
    return [plan.view_column, *names] if plan.design == "views" else list(names)


def chosen_columns(plan: CollectionPlan, names: Sequence[str]) -> list[str]:
    """Columns of a table of reports in the order of the plan; "(plan)" last, where there is one.

    Raises
    ------
    TableError
        If there is a column too few or too many.
    """
    wanted = _column_names(plan)
    absent = [name for name in wanted if name not in names]
    if absent:
        msg = f"expected the columns of the plan, got none for {absent[0]!r}."
        raise TableError(msg + did_you_mean(absent[0], names))
    extra = [name for name in names if name not in {*wanted, PLAN_COLUMN}]
    if extra:
        msg = f"expected the columns of the plan only, got {extra[0]!r}."
        raise TableError(msg + did_you_mean(extra[0], wanted))
    return [*wanted, PLAN_COLUMN] if PLAN_COLUMN in names else list(wanted)


def _is_records(source: object) -> bool:
    return isinstance(source, (list, tuple)) and any(isinstance(x, Mapping) for x in source)


def _columns_of_records(records: Sequence[Any]) -> dict[str, list[Any]]:
    names = list(records[0]) if isinstance(records[0], Mapping) else []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping) or set(record) != set(names):
            got = sorted(map(str, record)) if isinstance(record, Mapping) else record
            msg = f"expected records with the same columns, got {got!r} as record {number}"
            raise TableError(msg)
    return {name: [record[name] for record in records] for name in names}


def _check_metadata(source: object, plan: CollectionPlan) -> bool | None:
    """Compare the metadata of Parquet files with the plan; say whether one is a simulation.

    None where a source has no such metadata.
    """
    import polars as pl

    paths = source if isinstance(source, (list, tuple)) else [source]
    kinds: set[str | None] = set()
    for path in paths:
        if not isinstance(path, (str, Path)) or Path(path).suffix.lower() != ".parquet":
            kinds.add(None)
            continue
        try:
            found = pl.read_parquet_metadata(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            continue  # reading the table says what is wrong
        stated = found.get(FINGERPRINT_KEY)
        if stated is not None and stated != plan.fingerprint:
            raise _other_plan(Path(path).name, stated, plan)
        kinds.add(None if stated is None else found.get(KIND_KEY))
    if SIMULATION in kinds:
        return True
    return False if kinds == {RELEASE} else None


def _other_plan(where: str, stated: str, plan: CollectionPlan) -> TableError:
    return TableError(
        f"expected reports of the plan with the fingerprint {plan.fingerprint[:16]}…, got "
        f"{stated[:16]}… in {where}: they were made by another plan"
    )


def _check_marks(column: Column, plan: CollectionPlan) -> bool:
    known = {plan_mark(plan, simulated=flag): flag for flag in (False, True)}
    if column.missing:
        msg = f"expected a plan in every row of column {PLAN_COLUMN!r}, got {column.missing:,} null"
        raise TableError(msg)
    where = f"column {PLAN_COLUMN!r}"
    for value in column.values.tolist():
        if value not in known:
            raise _other_plan(where, str(value), plan)
    return any(known[value] for value in column.values.tolist())


def _view(column: Column, plan: CollectionPlan, *, typed: bool) -> IntArray:
    if column.missing:
        msg = f"expected a view in every record, got {column.missing:,} null in {column.name!r}"
        raise DomainError(msg)
    return freeze(_positions(column, tuple(range(len(plan.units))), typed=typed))


def _positions(column: Column, labels: Sequence[Label], *, typed: bool) -> IntArray:
    """Position among `labels` of each record, −1 for null.

    Raises
    ------
    DomainError
        If a value is none of them.
    """
    known = tuple(labels) if typed else tuple(map(label_text, labels))
    present = replace(column, codes=column.codes[column.codes >= 0])
    coding = code_declared(present, Attribute(column.name, known))
    return np.append(coding.positions, -1)[column.codes]


class _Read:
    """Columns of a source, decoded one unit at a time."""

    def __init__(
        self, plan: CollectionPlan, read: Mapping[str, Column], view: IntArray | None, typed: bool
    ) -> None:
        self.plan = plan
        self.read = read
        self.view = view
        self.typed = typed
        self.n = len(next(iter(read.values())).codes)
        self.spoken: dict[str, BoolArray] = {}
        self.codes: dict[str, IntArray] = {}

    def reports(self, number: int, unit: Unit, columns: UnitColumns) -> Reports:
        """Reports of one unit, checked by its mechanism."""
        rows = np.ones(self.n, np.bool_) if self.view is None else self.view == number
        for name in columns.names:
            self.spoken[name] = self.spoken.get(name, False) | rows
        if columns.form == "attributes":
            parts = [self._attribute(name, rows) for name in columns.names]
            values = joint_codes(self.plan.domain, unit.names, parts)
            return unit.mechanism.check_reports(values)
        column = self.read[columns.names[0]]
        if columns.form == "report":
            numbers = _positions(column, tuple(range(unit.mechanism.features)), typed=self.typed)
            return unit.mechanism.check_reports(_all_there(column, numbers[rows]))
        if len(column.values) and column.kind != "text":
            msg = f"expected text in column {column.name!r}, got values of type {column.kind}"
            raise DomainError(msg)
        at = _all_there(column, column.codes[rows])
        used, where = np.unique(at, return_inverse=True)
        try:
            decoded = unit.mechanism.decode(column.values[used].tolist())
        except InvalidInputError as error:
            msg = f"column {column.name!r}: {error}"
            raise InvalidInputError(msg) from error
        return unit.mechanism.check_reports(decoded[where])

    def _attribute(self, name: str, rows: BoolArray) -> IntArray:
        attribute = self.plan.domain[name]
        column = self.read[name]
        if name not in self.codes:
            labels = self.plan.file_labels[name]
            gap = next((i for i, label in enumerate(labels) if label is None), None)
            shown = [attribute.missing if label is None else label for label in labels]
            try:
                codes = _positions(column, [x for x in shown if x is not None], typed=self.typed)
            except DomainError as error:
                msg = f"expected reports inside the domain of the plan: {error}"
                raise DomainError(msg) from error
            if gap is not None and self.typed:  # in text files it has a text of its own
                codes = np.where(codes < 0, gap, codes)
            self.codes[name] = codes
        return _all_there(column, self.codes[name][rows])

    def check_silence(self, before: int) -> None:
        """Refuse values in columns that are outside the record's view."""
        for name, spoken in self.spoken.items():
            outside = ~spoken & (self.read[name].codes >= 0)
            if outside.any():
                row = before + int(np.flatnonzero(outside)[0])
                msg = (
                    f"expected nothing in column {name!r} of record {row}, whose view leaves it "
                    "out, got a value"
                )
                raise DomainError(msg)


def _all_there(column: Column, positions: IntArray) -> IntArray:
    gaps = int((positions < 0).sum())
    if gaps:
        msg = f"expected a report in every record of column {column.name!r}, got {gaps:,} null"
        raise DomainError(msg)
    return positions
