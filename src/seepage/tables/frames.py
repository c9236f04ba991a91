"""Any frame, or a mapping of columns, to a Polars frame.

Columns that hold Python objects are looked at value by value, so that a mixture of types is an
error that names the column rather than a silent conversion.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage.errors import MissingDependencyError, SeepageError, TableError
from seepage.tables.columns import plain
from seepage.tables.show import first_unwritable, short, writable

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import polars as pl

Choice = Callable[[Sequence[str]], list[str]]
"""Picks columns by name before data are read."""

COLLECTED = (
    "The Spark frame was read as a whole by the driver, which is for small ones; "
    "seepage.engines.spark.count counts it where its records are."
)

_LONGEST = 200
"""Characters of another library's message."""


def from_frame(source: object, choose: Choice) -> tuple[pl.DataFrame, str]:
    """Convert a frame, choosing columns first.

    Returns
    -------
    frame : polars.DataFrame
    kind : str
        What kind of frame it was.

    Raises
    ------
    TableError
        If `source` is not a frame, repeats a column name, or holds what cannot be analysed.
    MissingDependencyError
        If the conversion needs a package that is not installed.
    """
    import polars as pl

    if isinstance(source, pl.DataFrame):
        return source.select(choose(source.columns)), "Polars frame"
    if isinstance(source, pl.LazyFrame):
        return collect(source, choose, "the Polars query"), "Polars query"
    if isinstance(source, Mapping):
        return _from_mapping(source, choose), "mapping of columns"
    return _from_narwhals(source, choose)


def notes_on(source: object) -> tuple[str, ...]:
    """What is to be said about reading a frame."""
    kind = type(source)
    if kind.__module__.partition(".")[0] == "narwhals":
        kind = type(source.to_native())  # type: ignore[attr-defined]
    return (COLLECTED,) if kind.__module__.partition(".")[0] == "pyspark" else ()


def collect(query: pl.LazyFrame, choose: Choice, name: str) -> pl.DataFrame:
    """Run a Polars query for the chosen columns only.

    Raises
    ------
    TableError
        If the query fails, for whatever reason: it may run functions of the user.
    """
    with query_errors(name):
        return chosen_columns(query, choose).collect()


def chosen_columns(query: pl.LazyFrame, choose: Choice) -> pl.LazyFrame:
    """Select the chosen columns of a query, which must have types that can be read."""
    import polars as pl

    schema = query.collect_schema()
    chosen = choose(schema.names())
    for column in chosen:
        if schema[column].is_nested():  # refused before Polars meets what it cannot read
            plain(pl.Series(column, [], dtype=schema[column]))
    return query.select(chosen)


@contextmanager
def query_errors(name: str) -> Iterator[None]:
    """Turn whatever a query raises into a `TableError`: it may run functions of the user."""
    import polars as pl

    try:
        yield
    except (SeepageError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        msg = f"expected {name} to give a table, got an error: {first_line(error)}"
        raise TableError(msg) from None


def first_line(error: BaseException) -> str:
    """First line of what an error says, its type when it says nothing."""
    line = (str(error).splitlines() or [""])[0] or type(error).__name__
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _from_mapping(source: Mapping[Any, Any], choose: Choice) -> pl.DataFrame:
    import polars as pl

    names = checked_names(source.keys())
    columns = dict(zip(names, source.values(), strict=True))
    series = []
    for name in choose(names):
        values = columns[name]
        if isinstance(values, pl.Series):
            series.append(values.alias(name))
        elif isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "mM":
            # Their plain Python values can be integers, which would hide what they are.
            series.append(_times(name, len(values)))
        elif _plain_numbers(values):
            series.append(pl.Series(name, values))
        elif isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
            series.append(series_of(name, _listed(name, values)))
        else:
            msg = f"expected column {name!r} to be a sequence of values, got {short(values)}"
            raise TableError(msg)
    lengths = {len(item) for item in series}
    if len(lengths) > 1:
        found = ", ".join(f"{item.name!r}: {len(item)}" for item in series[:6])
        msg = f"expected columns of one length, got {found}"
        raise TableError(msg)
    return pl.DataFrame(series)


def _plain_numbers(values: object) -> bool:
    return (
        isinstance(values, np.ndarray)
        and not isinstance(values, np.ma.MaskedArray)  # its masked values are missing, not numbers
        and values.ndim == 1
        and values.dtype.kind in "iufb"
    )


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    try:
        return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except MemoryError:
        raise
    except Exception as error:  # an iterable may run code of the user
        msg = f"expected the values of column {name!r}, got an error: {first_line(error)}"
        raise TableError(msg) from error


def _times(name: str, size: int) -> pl.Series:
    """Stand in for dates and times, which are refused whatever they are."""
    import polars as pl

    return pl.Series(name, [None] * size, dtype=pl.Datetime)


def checked_names(names: Iterable[object]) -> list[str]:
    """Return names as text, all different.

    Raises
    ------
    TableError
        If one is twice there, or cannot be written.
    """
    try:
        result = [str(name) for name in names]
    except Exception as error:  # an object's own
        msg = f"expected column names that are text, got an error: {first_line(error)}"
        raise TableError(msg) from error
    broken = first_unwritable(result)
    if broken is not None:
        msg = f"expected column names that can be written as UTF-8, got {short(broken)}"
        raise TableError(msg)
    for name in result:
        if result.count(name) > 1:
            msg = f"expected different column names, got {name!r} {result.count(name)} times"
            raise TableError(msg)
    return result


def _from_narwhals(source: Any, choose: Choice) -> tuple[pl.DataFrame, str]:
    import narwhals.stable.v2 as nw
    import polars as pl

    kind = f"{type(source).__module__.split('.')[0]} {type(source).__name__}"
    try:
        names = getattr(source, "column_names", None)
        if names is None:
            names = getattr(source, "columns", None)
        if isinstance(names, Iterable):
            checked_names(names)
        frame = nw.from_native(source)
    except TableError:
        raise
    except Exception:  # an object's own, besides the TypeError of Narwhals
        msg = (
            "expected a path, a mapping of columns, or a frame (Polars, pandas, PyArrow, DuckDB, "
            f"…), got {kind}"
        )
        raise TableError(msg) from None
    try:
        if isinstance(frame, nw.LazyFrame):
            chosen = choose(frame.collect_schema().names())
            result = frame.select(chosen).collect(backend="polars").to_native()
        elif frame.implementation.is_pandas_like():
            result = _from_pandas(frame, choose)
        else:
            chosen = choose(frame.columns)
            if frame.implementation.is_pyarrow():
                refuse_wide(frame.to_native(), chosen)
            result = frame.select(chosen).to_polars()
    except (SeepageError, MemoryError):
        raise
    except ImportError as error:
        msg = f"reading a {kind} needs another package: {error}. Try: pip install pyarrow"
        raise MissingDependencyError(msg) from error
    except (Exception, pl.exceptions.PanicException) as error:  # every library has its own
        msg = f"expected the {kind} to convert to a table, got an error: {first_line(error)}"
        raise TableError(msg) from None
    return result, kind


def refuse_wide(table: Any, names: Iterable[str]) -> None:
    """Refuse a PyArrow type that stops the conversion with a trace on standard error."""
    for name in names:
        kind = str(table.schema.field(name).type)
        if "decimal256" in kind:
            raise TableError(wide_message(name, kind))


def wide_message(name: str, kind: str) -> str:
    """Say that a column has decimal numbers that are too wide."""
    return (
        f"expected column {name!r} to hold text, truth values or numbers of at most 128 bits, got "
        f"{kind}. Convert it to float64 or decimal128, or leave it out (exclude, --exclude)."
    )


def _from_pandas(frame: nw.DataFrame[Any], choose: Choice) -> pl.DataFrame:
    import narwhals.stable.v2 as nw
    import polars as pl

    names = [str(name) for name in frame.columns]
    columns = dict(zip(names, frame.iter_columns(), strict=True))
    series = []
    for name in choose(names):
        column = columns[name]
        null = column.is_null().to_numpy().astype(bool)
        if column.dtype.is_numeric():
            values = column.to_numpy() if not null.any() else column.fill_null(0).to_numpy()
            numeric = pl.Series(name, np.ascontiguousarray(values))
            series.append(numeric.set(pl.Series(null), None) if null.any() else numeric)
        elif column.dtype.is_temporal():
            series.append(_times(name, len(null)))
        elif column.dtype == nw.Boolean:
            flags = [None if gap else bool(v) for v, gap in zip(column, null, strict=True)]
            series.append(pl.Series(name, flags, dtype=pl.Boolean))
        else:
            items = column.to_list()
            gaps = np.flatnonzero(null).tolist()
            for gap in gaps:
                items[gap] = None
            series.append(series_of(name, items))
    return pl.DataFrame(series)


_KINDS: tuple[tuple[str, Any], ...] = (
    ("truth value", (bool, np.bool_)),
    ("text", str),
    (
        "date or time",  # before numbers, which timedelta64 claims to be
        (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
    ),
    ("number", (numbers.Real, decimal.Decimal)),
)


def _kind(value: object) -> str:
    for kind, types in _KINDS:
        if isinstance(value, types):
            return kind
    return f"object of type {type(value).__name__}"


def series_of(name: str, items: list[Any]) -> pl.Series:
    """Build a column from Python values of one kind and None.

    Raises
    ------
    TableError
        If the values are of several kinds, or of a kind that has no categories.
    """
    import polars as pl

    first: dict[type, object] = {}
    for item in items:
        if item is not None:
            first.setdefault(type(item), item)
    examples: dict[str, object] = {}
    for example in first.values():
        examples.setdefault(_kind(example), example)
    if len(examples) > 1:
        found = ", ".join(f"{kind} ({short(value)})" for kind, value in examples.items())
        msg = f"expected values of one type in column {name!r}, got {found}"
        raise TableError(msg)
    if not examples:
        return pl.Series(name, [None] * len(items), dtype=pl.Null)
    kind = next(iter(examples))
    if kind == "truth value":
        return pl.Series(name, [None if x is None else bool(x) for x in items], dtype=pl.Boolean)
    if kind == "text":
        return _texts(name, items)
    if kind == "date or time":
        return _times(name, len(items))
    if kind == "number":
        return _numbers(name, items, list(first))
    msg = (
        f"expected column {name!r} to hold text, truth values or numbers, got an {kind}: "
        f"{short(examples[kind])}"
    )
    raise TableError(msg)


def _texts(name: str, items: list[Any]) -> pl.Series:
    import polars as pl

    texts = [None if x is None else str(x) for x in items]
    try:
        return pl.Series(name, texts, dtype=pl.String)
    except UnicodeEncodeError:
        row, text = next((i, x) for i, x in enumerate(texts, 1) if x and not writable(x))
        msg = (
            f"expected texts that can be written as UTF-8 in column {name!r}, got {short(text)} "
            f"in record {row:,}"
        )
        raise TableError(msg) from None


def _numbers(name: str, items: list[Any], types: list[type]) -> pl.Series:
    import polars as pl

    if all(issubclass(kind, numbers.Integral) for kind in types):
        whole = [None if x is None else int(x) for x in items]
        big = next((x for x in whole if x is not None and not -(2**63) <= x < 2**63), None)
        if big is not None:
            msg = f"expected integers of 64 bits in column {name!r}, got {short(big)}"
            raise TableError(msg)
        return pl.Series(name, whole, dtype=pl.Int64)
    floats: list[float | None] = []
    for item in items:
        try:
            floats.append(None if item is None else float(item))
        except (ArithmeticError, TypeError, ValueError):  # too large, or a signalling NaN
            msg = (
                f"expected numbers within the range of floating point in column {name!r}, got "
                f"{short(item)}"
            )
            raise TableError(msg) from None
    return pl.Series(name, floats, dtype=pl.Float64)
