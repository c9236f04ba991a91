"""The order of records within their sequences, by a column of times."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray
from seepage.errors import DomainError, TableError

if TYPE_CHECKING:
    import polars as pl

DATE = re.compile(
    r"(?P<day>\d{4}([-/.])\d\d\2\d\d)"
    r"([T ](?P<hour>\d\d):(?P<minute>\d\d)(:(?P<second>\d\d)([.,](?P<part>\d+))?)?)?"
)

SORTED = (
    "The rows were not in the order of column {name!r} and were sorted by it; they are written in "
    "the order of sequences and times."
)
STEPS = (
    "Steps in column {name!r} differ ({low:g} to {high:g}{unit}); the chain takes each record as "
    "one step after the last."
)

LARGEST = 2**62
"""Times are held as whole numbers up to this."""

CLOCK = ("hour", "minute", "second")

UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


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
    key, second = _keys(series, typed=typed)
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
    if same.any():
        steps = (sorted_key[1:] - sorted_key[:-1])[same]
        low, high = float(steps.min()), float(steps.max())
        if high > low:
            unit = ""
            if second is not None:
                unit, size = _unit(round(low / second, 9))
                low, high = low / second / size, high / second / size
            notes.append(STEPS.format(name=name, low=low, high=high, unit=unit))
    return rows, tuple(notes)


def _unit(seconds: float) -> tuple[str, float]:
    """The largest unit of time of which there is one at least, and its seconds."""
    found = [(f" {name}", float(size)) for name, size in UNITS.items() if seconds >= size]
    return found[0] if found else (" seconds", 1.0)


def _keys(series: pl.Series, *, typed: bool) -> tuple[NDArray[Any], float | None]:
    """Numbers whose differences are steps, and which one is a second; None if they are no times."""
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
            return _of_dates(series)
        return numeric.to_numpy(), None
    if series.dtype.is_temporal():
        return series.to_physical().to_numpy(), _second(series.dtype)
    if not series.dtype.is_numeric():
        msg = f"expected numbers, dates or times in column {name!r}, got {series.dtype}"
        raise TableError(msg)
    return series.to_numpy(), None


def _second(dtype: pl.DataType) -> float:
    """What a second is in the numbers that a type of times is held in."""
    import polars as pl

    if dtype == pl.Date:
        return 1 / UNITS["days"]
    return {"ms": 1e3, "us": 1e6}.get(getattr(dtype, "time_unit", "ns"), 1e9)


def _of_dates(texts: pl.Series) -> tuple[IntArray, float]:
    """Times of texts of one form, and which number is a second."""
    items = texts.to_list()
    found = [DATE.fullmatch(x) for x in items]
    wrong = next((x for x, match in zip(items, found, strict=True) if match is None), None)
    shapes = {(len(x), x[4:5], x[10:11]) for x in items}
    if wrong is not None or len(shapes) > 1:
        example = wrong if wrong is not None else items[0]
        msg = (
            f"expected numbers, or dates of one form such as 2024-05-31 or 2024-05-31 08:00, in "
            f"column {texts.name!r}, got {example!r}"
        )
        raise TableError(msg)
    parts = [match.groupdict(default="0") for match in found if match is not None]
    days = [_day(part["day"]) for part in parts]
    clock = np.array([[int(part[name]) for name in CLOCK] for part in parts], dtype=np.int64)
    seconds = clock @ np.array([3_600, 60, 1])
    bad = (clock[:, 1] > 59) | (clock[:, 2] > 60) | (seconds > UNITS["days"])
    bad |= np.array([day is None for day in days])
    if bad.any():
        msg = (
            f"expected dates and times that exist, as year, month, day, in column {texts.name!r}, "
            f"got {items[int(np.argmax(bad))]!r}"
        )
        raise TableError(msg)
    seconds += UNITS["days"] * np.array(days, dtype=np.int64)
    seconds -= seconds.min()
    scale = 10 ** len(parts[0]["part"])  # of one digit, 0, where there is none
    if (int(seconds.max()) + 1) * scale > LARGEST:
        msg = f"expected fewer digits of a second in column {texts.name!r}, got {items[0]!r}"
        raise TableError(msg)
    fractions = np.array([int(part["part"]) for part in parts], dtype=np.int64)
    return seconds * scale + fractions, float(scale)


def _day(text: str) -> int | None:
    """Number of a day from year, month and day; None if there is no such day."""
    try:
        return date(int(text[:4]), int(text[5:7]), int(text[8:])).toordinal()
    except ValueError:
        return None
