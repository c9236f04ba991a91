"""Any frame, or a mapping of columns, to a Polars frame.

Columns that hold Python objects are looked at value by value, so that a mixture of types is an
error that names the column rather than a silent conversion.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage.errors import MissingDependencyError, TableError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import polars as pl

Choice = Callable[[Sequence[str]], list[str]]
"""Picks columns by name before data are read."""


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


def collect(query: pl.LazyFrame, choose: Choice, name: str) -> pl.DataFrame:
    """Run a Polars query for the chosen columns only."""
    import polars as pl

    try:
        names = query.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = f"expected {name} to give a table, got an error: {_first_line(error)}"
        raise TableError(msg) from None
    chosen = choose(names)
    try:
        return query.select(chosen).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = f"expected {name} to give a table, got an error: {_first_line(error)}"
        raise TableError(msg) from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _from_mapping(source: Mapping[Any, Any], choose: Choice) -> pl.DataFrame:
    import polars as pl

    names = _checked_names(source.keys())
    columns = dict(zip(names, source.values(), strict=True))
    series = []
    for name in choose(names):
        values = columns[name]
        if isinstance(values, pl.Series):
            series.append(values.alias(name))
        elif isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufb":
            series.append(pl.Series(name, values))
        elif isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
            items = values.tolist() if isinstance(values, np.ndarray) else list(values)
            series.append(series_of(name, items))
        else:
            msg = f"expected column {name!r} to be a sequence of values, got {values!r}"
            raise TableError(msg)
    lengths = {len(item) for item in series}
    if len(lengths) > 1:
        found = ", ".join(f"{item.name!r}: {len(item)}" for item in series[:6])
        msg = f"expected columns of one length, got {found}"
        raise TableError(msg)
    return pl.DataFrame(series)


def _checked_names(names: Iterable[object]) -> list[str]:
    result = [str(name) for name in names]
    for name in result:
        if result.count(name) > 1:
            msg = f"expected different column names, got {name!r} {result.count(name)} times"
            raise TableError(msg)
    return result


def _from_narwhals(source: Any, choose: Choice) -> tuple[pl.DataFrame, str]:
    import narwhals.stable.v2 as nw
    import polars as pl

    kind = f"{type(source).__module__.split('.')[0]} {type(source).__name__}"
    names = getattr(source, "column_names", None)
    if names is None:
        names = getattr(source, "columns", None)
    if isinstance(names, Iterable):
        _checked_names(names)
    try:
        frame = nw.from_native(source)
    except TypeError:
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
            result = frame.select(choose(frame.columns)).to_polars()
    except ImportError as error:
        msg = f"reading a {kind} needs another package: {error}. Try: pip install pyarrow"
        raise MissingDependencyError(msg) from error
    except (nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        msg = f"expected the {kind} to convert to a table, got an error: {_first_line(error)}"
        raise TableError(msg) from None
    return result, kind


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
            series.append(pl.Series(name, [], dtype=pl.Datetime).extend_constant(None, len(null)))
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
    ("number", (numbers.Real, decimal.Decimal)),
    ("date or time", (datetime.date, datetime.time, datetime.timedelta, np.datetime64)),
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
        found = ", ".join(f"{kind} ({value!r})" for kind, value in examples.items())
        msg = f"expected values of one type in column {name!r}, got {found}"
        raise TableError(msg)
    if not examples:
        return pl.Series(name, [None] * len(items), dtype=pl.Null)
    kind = next(iter(examples))
    if kind == "truth value":
        return pl.Series(name, [None if x is None else bool(x) for x in items], dtype=pl.Boolean)
    if kind == "text":
        return pl.Series(name, [None if x is None else str(x) for x in items], dtype=pl.String)
    if kind == "date or time":
        return pl.Series(name, [None] * len(items), dtype=pl.Datetime)
    if kind == "number":
        return _numbers(name, items, list(first))
    msg = (
        f"expected column {name!r} to hold text, truth values or numbers, got an {kind}: "
        f"{examples[kind]!r}"
    )
    raise TableError(msg)


def _numbers(name: str, items: list[Any], types: list[type]) -> pl.Series:
    import polars as pl

    if all(issubclass(kind, numbers.Integral) for kind in types):
        whole = [None if x is None else int(x) for x in items]
        try:
            return pl.Series(name, whole, dtype=pl.Int64)
        except (OverflowError, TypeError, pl.exceptions.PolarsError):
            big = max((x for x in whole if x is not None), key=abs)
            msg = f"expected integers of 64 bits in column {name!r}, got {big}"
            raise TableError(msg) from None
    return pl.Series(name, [None if x is None else float(x) for x in items], dtype=pl.Float64)
