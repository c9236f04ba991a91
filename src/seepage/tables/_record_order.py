"""The order of records within their sequences, by a column of times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray
from seepage.errors import DomainError, TableError

if TYPE_CHECKING:
    import polars as pl

DATE = re.compile(r"\d{4}([-/.])\d\d\1\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?")

SORTED = (
    "The rows were not in the order of column {name!r} and were sorted by it; they are written in "
    "the order of sequences and times."
)
STEPS = (
    "Steps in column {name!r} differ ({low:g} to {high:g}); the chain takes each record as one "
    "step after the last."
)


def record_order(
    series: pl.Series, groups: IntArray, *, typed: bool
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the rows of each sequence in order, one sequence after the other.

    Parameters
    ----------
    series : polars.Series
        Numbers, dates or times; in text files also texts that begin with YYYY-MM-DD.
    groups : array of int, shape (n,)
        Number of each row's sequence.
    typed : bool
        Whether the column has a type of its own.

    Returns
    -------
    rows : array of int, shape (n,)
    notes : tuple of str

    Raises
    ------
    TableError
        If the column has no order, or a sequence has a time twice.
    DomainError
        If a time is missing.
    """
    name = series.name
    key, stepwise = _keys(series, typed=typed)
    rows = np.lexsort((key, groups))
    sorted_key, sorted_group = key[rows], groups[rows]
    same = sorted_group[1:] == sorted_group[:-1]
    twice = same & (sorted_key[1:] == sorted_key[:-1])
    if twice.any():
        first = int(np.argmax(twice))
        a, b = sorted(int(rows[i]) + 1 for i in (first, first + 1))
        msg = (
            f"expected different times within a sequence in column {name!r}, got the same in "
            f"records {a:,} and {b:,}"
        )
        raise TableError(msg)
    notes = []
    if (rows != np.argsort(groups, kind="stable")).any():
        notes.append(SORTED.format(name=name))
    if stepwise and same.any():
        steps = (sorted_key[1:] - sorted_key[:-1])[same]
        if steps.max() > steps.min():
            notes.append(STEPS.format(name=name, low=float(steps.min()), high=float(steps.max())))
    return rows, tuple(notes)


def _keys(series: pl.Series, *, typed: bool) -> tuple[NDArray[Any], bool]:
    """Numbers in the order of the column, and whether differences of them are steps."""
    import polars as pl

    name, as_text = series.name, series.dtype == pl.String and not typed
    if as_text:
        series = series.str.strip_chars()
    missing = series.is_null() | (series == "") if as_text else series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan()
    if missing.any():
        row = int(missing.arg_max() or 0) + 1
        msg = f"expected a time in every record of column {name!r}, got none in record {row:,}"
        raise DomainError(msg)
    if series.dtype == pl.String:
        numeric = series.cast(pl.Int64, strict=False)
        if numeric.null_count():
            numeric = series.cast(pl.Float64, strict=False)
        if numeric.null_count() or not numeric.is_finite().all():
            return _of_dates(series).to_numpy(), False
        return numeric.to_numpy(), True
    if series.dtype.is_temporal():
        return series.to_physical().to_numpy(), True
    if not series.dtype.is_numeric():
        msg = f"expected numbers, dates or times in column {name!r}, got {series.dtype}"
        raise TableError(msg)
    return series.to_numpy(), True


def _of_dates(texts: pl.Series) -> pl.Series:
    """Ranks of texts that are in the order of time when they are in that of the alphabet."""
    import polars as pl

    items = texts.to_list()
    wrong = next((x for x in items if not DATE.fullmatch(x)), None)
    shapes = {(len(x), x[4:5], x[10:11]) for x in items}
    if wrong is not None or len(shapes) > 1:
        example = wrong if wrong is not None else items[0]
        msg = (
            f"expected numbers, or dates of one form such as 2024-05-31 or 2024-05-31 08:00, in "
            f"column {texts.name!r}, got {example!r}"
        )
        raise TableError(msg)
    _, rank = np.unique(np.asarray(items, dtype=object), return_inverse=True)
    return pl.Series(texts.name, rank.astype(np.int64))
