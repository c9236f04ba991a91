"""What runs on the executors of a cluster: Arrow batches in, one row or reports out.

Nothing here knows of Spark. A task that adds up yields one row; an error of this package is a row
too, because raising would make the engine try again what cannot succeed. Everything else is raised:
a broken disk or a lost connection is worth another attempt.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

import seepage
from seepage import errors
from seepage._numeric import freeze
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates
from seepage.errors import InvalidInputError, SeepageError
from seepage.plan.randomizing import randomize
from seepage.plan.reports_io import read_reports, reports_frame
from seepage.tables.batches import batch_rows
from seepage.tables.options import Plan
from seepage.tables.parts import CountedPart, SurveyedPart, count_part, survey_part

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Part = TypeVar("Part")

SCHEMA = "number int, error string, message string, content binary"
"""Columns of the rows, as Spark writes them: see `Row`."""

MARK = "seepage-error "
"""Starts the JSON of an error that had to be raised."""


@dataclass(frozen=True)
class Row:
    """What a task has to say.

    Parameters
    ----------
    number : int
        Of the part of the table.
    error : str or None
        Name of the class of the error.
    message : str or None
    content : bytes or None
        Partial sums.
    """

    number: int
    error: str | None
    message: str | None
    content: bytes | None


class TaskError(Exception):
    """An error of this package, to be raised in a task that cannot return a row for it."""


def revived(kind: str | None, message: str | None) -> SeepageError:
    """The error of a task, as itself."""
    found = getattr(errors, kind or "", SeepageError)
    fits = isinstance(found, type) and issubclass(found, SeepageError)
    return (found if fits else SeepageError)(f"{message} (In one part of the table.)")


def error_in(text: str) -> SeepageError | None:
    """The error of this package that the text of another error mentions, if any."""
    start = text.find(MARK)
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start + len(MARK))
        return revived(found["error"], found["message"])
    except (ValueError, LookupError, TypeError):
        return None


class Adder(Protocol):
    """How the results of parts are made and written; they add up by ``+``."""

    def part(self, batches: Iterator[pa.RecordBatch]) -> Any:
        """Result of one part; None when it has no records."""

    def to_bytes(self, result: Any) -> bytes:
        """Write a result."""

    def from_bytes(self, content: bytes) -> Any:
        """Read a result."""


@dataclass(frozen=True)
class CountAdder:
    """Counts of pairs.

    Parameters
    ----------
    plan : Plan
    names : tuple of str
        Columns of the batches, whatever they are called there.
    """

    plan: Plan
    names: tuple[str, ...]

    def part(self, batches: Iterator[pa.RecordBatch]) -> CountedPart | None:
        """Count one part."""
        return _read_once(batches, self.names, partial(count_part, plan=self.plan))

    def to_bytes(self, result: CountedPart) -> bytes:
        """Counts as bytes."""
        return result.to_bytes()

    def from_bytes(self, content: bytes) -> CountedPart:
        """Counts from bytes."""
        return CountedPart.from_bytes(content)


@dataclass(frozen=True)
class ValueAdder:
    """Distinct values of columns; parameters as of `CountAdder`."""

    plan: Plan
    names: tuple[str, ...]

    def part(self, batches: Iterator[pa.RecordBatch]) -> SurveyedPart | None:
        """Find the values of one part."""
        return _read_once(batches, self.names, partial(survey_part, plan=self.plan))

    def to_bytes(self, result: SurveyedPart) -> bytes:
        """Values as bytes."""
        return result.to_bytes()

    def from_bytes(self, content: bytes) -> SurveyedPart:
        """Values from bytes."""
        return SurveyedPart.from_bytes(content)


def _read_once(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], use: Callable[[Any], Part | None]
) -> Part | None:
    """What `use` makes of a reader of the batches; None when there are none."""
    import pyarrow as pa

    tables = bundled(batches, names)
    first = next(tables, None)
    if first is None:
        return None
    parts = (batch for table in chain([first], tables) for batch in table.to_batches())
    return use(pa.RecordBatchReader.from_batches(first.schema, parts))


@dataclass(frozen=True)
class SumAdder:
    """Sums over reports.

    Parameters
    ----------
    empty : Estimates
        From no reports yet.
    names : tuple of str
        Columns of the batches.
    """

    empty: Estimates
    names: tuple[str, ...]

    def part(self, batches: Iterator[pa.RecordBatch]) -> Estimates | None:
        """Add up the reports of one part."""
        result = self.empty
        for table in bundled(batches, self.names):
            result = result.add(read_reports(_polars(table), self.empty.plan))
        return None if result.size == 0 else result

    def to_bytes(self, result: Estimates) -> bytes:
        """Sums as bytes; the tables in the order of `empty`."""
        sums, stream = result.sums, io.BytesIO()
        numbers = np.array([sums.size, sums.simulated, sums.unknown, *sums.records], dtype=np.int64)
        arrays = [numbers, *(sums.tables[key] for key in self.empty.sums.tables)]
        arrays += [sums.grams[key] for key in self.empty.sums.grams]
        np.savez_compressed(stream, *arrays)
        return stream.getvalue()

    def from_bytes(self, content: bytes) -> Estimates:
        """Estimates from what `to_bytes` returned."""
        with np.load(io.BytesIO(content), allow_pickle=False) as read:
            numbers, *arrays = [read[f"arr_{i}"] for i in range(len(read.files))]
        empty = self.empty.sums
        tables = dict(zip(empty.tables, map(freeze, arrays), strict=False))
        grams = dict(zip(empty.grams, map(freeze, arrays[len(tables) :]), strict=True))
        size, simulated, unknown, *records = numbers.tolist()
        sums = replace(
            empty,
            tables=tables,
            grams=grams,
            records=tuple(records),
            size=size,
            simulated=simulated,
            unknown=unknown,
        )
        return replace(self.empty, sums=sums)


def add_part(
    adder: Adder, number: int, version: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """One row for the records of one part, none when there are none.

    Parameters
    ----------
    adder : Adder
    number : int
        Of the part.
    version : str
        Of this package where the work was ordered.
    batches : iterable of pyarrow.RecordBatch
    """
    watched = _Watched(batches)
    try:
        with watched.errors():
            _check_version(version)
            result = adder.part(iter(watched))
    except SeepageError as error:
        yield _as_batch(_failed(number, error))
        return
    if result is not None:
        yield _as_batch(Row(number, None, None, adder.to_bytes(result)))


def add_rows(adder: Adder, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for many: their sum, or the error of the first part that has one."""
    result, failed = fold(adder, rows_of(batches))
    if failed is not None:
        yield _as_batch(failed)
    elif result is not None:
        yield _as_batch(Row(0, None, None, adder.to_bytes(result)))


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Rows of batches with the columns of `SCHEMA`."""
    for batch in batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Row(*values)


def fold(adder: Adder, rows: Iterable[Row]) -> tuple[Any, Row | None]:
    """Add up rows as they come.

    Returns
    -------
    result
        The sum; None when there are no rows.
    failed : Row or None
        Of the rows that are errors the one with the smallest number: the same in every run.
    """
    result: Any = None
    failed: Row | None = None
    for row in rows:
        if row.content is None:
            if failed is None or row.number < failed.number:
                failed = row
        elif failed is None:
            found = adder.from_bytes(row.content)
            try:
                result = found if result is None else result + found
            except SeepageError as error:
                failed = _failed(row.number, error)
    return result, failed


def _failed(number: int, error: SeepageError) -> Row:
    return Row(number, type(error).__name__, str(error), None)


@dataclass(frozen=True)
class Release:
    """How the records of all parts are to be randomised.

    Parameters
    ----------
    plan : CollectionPlan
    names : tuple of str
        Columns of the batches.
    options : mapping
        Of `seepage.plan.randomizing.randomize`; never a generator.
    version : str
        See `add_part`.
    schema : pyarrow.Schema
        Of the reports.
    """

    plan: CollectionPlan
    names: tuple[str, ...]
    options: Mapping[str, Any]
    version: str
    schema: pa.Schema


def randomized(release: Release, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reports of the records of one part, drawn with the entropy of this machine.

    Raises
    ------
    TaskError
        In place of an error of this package.
    """
    watched = _Watched(batches)
    try:
        with watched.errors():
            _check_version(release.version)
            for table in bundled(iter(watched), release.names):
                made = randomize(_polars(table), release.plan, **release.options)
                yield from reports_frame(made).to_arrow().cast(release.schema).to_batches()
    except SeepageError as error:
        told = json.dumps({"error": type(error).__name__, "message": str(error)})
        raise TaskError(MARK + told) from None


class _Watched:
    """Batches whose own errors are remembered: they are no errors of the records."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except GeneratorExit:
            raise
        except BaseException as error:
            self._error = error
            raise

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise the error of the batches itself, where it was taken for one of the records."""
        try:
            yield
        except SeepageError:
            if self._error is not None:
                raise self._error from None
            raise


def use_one_core() -> None:
    """Leave the other cores of an executor to its other tasks; before Polars is first used."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")


def bundled(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.Table]:
    """Tables of about as many records as the local engine takes at a time, columns renamed."""
    import pyarrow as pa

    rows, kept, height = batch_rows(len(names)), list[Any](), 0
    for batch in batches:
        kept.append(batch)
        height += batch.num_rows
        if height >= rows:
            yield pa.Table.from_batches(kept).rename_columns(list(names)).combine_chunks()
            kept, height = [], 0
    if height:
        yield pa.Table.from_batches(kept).rename_columns(list(names)).combine_chunks()


def _polars(table: pa.Table) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(table)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _check_version(version: str) -> None:
    if version != seepage.__version__:
        msg = (
            f"expected seepage {version} on every executor, as where the work is ordered, got "
            f"{seepage.__version__}"
        )
        raise InvalidInputError(msg)


def _as_batch(row: Row) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = (pa.int32(), pa.string(), pa.string(), pa.binary())
    names = ("number", "error", "message", "content")
    values = (row.number, row.error, row.message, row.content)
    arrays = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))
