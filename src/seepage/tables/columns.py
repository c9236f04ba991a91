"""Raw columns to their distinct values and the position of each record among them.

Records are touched twice, by Polars and for all columns at once: to find the distinct values, and
to find the position of each record. All other work (stripping, null tokens, types of text fields,
sorting) is done on the distinct values, so that its cost does not depend on the number of records.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import BoolArray, IntArray
from seepage.domain import Label
from seepage.errors import TableError

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["text", "bool", "int", "float"]

# A leading zero or 19 and more digits mark an identifier (a postcode, an account), not a number.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_REAL = re.compile(r"[+-]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(r"[+-]?(nan|NaN|NAN|inf|Inf|INF|infinity|Infinity)")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

TYPICAL_NULLS = frozenset(
    {"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", ".", "missing", "unknown"}
)
"""Texts, in lower case, that often stand for a missing value."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column as distinct values and positions.

    Parameters
    ----------
    name : str
    kind : {"text", "bool", "int", "float"}
        Type of the values. Floats that are all whole numbers count as integers.
    values : array, shape (m,)
        Distinct values in order, without null and NaN; Python texts, or NumPy numbers.
    codes : array of int, shape (n,)
        Position in `values` of each record, −1 where the value is missing.
    counts : array of int, shape (m,)
        Records with each value.
    nulls : frozenset of labels
        Which of the values that mean missing were met.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    codes: IntArray
    counts: IntArray
    nulls: frozenset[Label] = frozenset()

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.codes)

    @property
    def missing(self) -> int:
        """Number of records without a value."""
        return self.size - int(self.counts.sum())

    def record(self, position: int) -> int:
        """Number, from 1, of the record at a position of `codes`."""
        return position + 1

    def take(self, chosen: BoolArray) -> Column:
        """Keep some records, and the values that still occur."""
        codes = self.codes[chosen]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.values))
        kept = counts > 0
        lookup = np.append(np.cumsum(kept) - 1, -1)
        return replace(self, values=self.values[kept], codes=lookup[codes], counts=counts[kept])


@dataclass(frozen=True)
class Reading:
    """How the values of a column are to be understood.

    Parameters
    ----------
    typed : bool
        False when the values are fields of a text file, whose types are to be found.
    strip : str, optional
        Characters to remove from both ends of texts; ``""`` removes white space; None nothing.
    nulls : tuple of labels
        Values that mean missing.
    keep : frozenset of str
        Texts that are declared categories: never missing, even when empty.
    as_text : bool
        Leave the fields of a text file as text, because the declared categories are.
    """

    typed: bool
    strip: str | None
    nulls: tuple[Label, ...]
    keep: frozenset[str] = frozenset()
    as_text: bool = False


def read_columns(frame: pl.DataFrame, readings: Mapping[str, Reading]) -> list[Column]:
    """Find the distinct values of each column.

    Parameters
    ----------
    frame : polars.DataFrame, shape (n, d), n ≥ 1
    readings : mapping of str to Reading
        The columns to read, in order.

    Raises
    ------
    TableError
        If the type of a column has no categories (dates, lists, binary data, …).
    """
    import polars as pl

    cleared = [plain(frame[name]) for name in readings]
    distinct = _distinct(cleared)
    physical = pl.DataFrame(
        [
            x
            for x, found in zip(cleared, distinct, strict=True)
            if x.dtype == pl.String and len(found)
        ]
    )
    if physical.width:
        coded = (
            pl.col(x.name).cast(pl.Enum(found)).to_physical().cast(pl.Int64).fill_null(-1)
            for x, found in zip(cleared, distinct, strict=True)
            if x.name in physical.columns
        )
        physical = physical.select(*coded)
    columns = []
    for series, found, reading in zip(cleared, distinct, readings.values(), strict=True):
        if series.name in physical.columns:
            codes = physical[series.name].to_numpy()
        else:
            codes = _positions(series, found)
        columns.append(_column(series, found, codes, reading))
    return columns


def plain(series: pl.Series) -> pl.Series:
    """Convert to texts, truth values, 64-bit integers or floats.

    Raises
    ------
    TableError
        If the type has no categories.
    """
    import polars as pl

    dtype = series.dtype
    if dtype in (pl.Null, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if dtype in (pl.String, pl.Boolean, pl.Int64, pl.Float64):
        return series
    if dtype.is_integer():
        try:
            return series.cast(pl.Int64)
        except pl.exceptions.PolarsError:
            msg = f"expected integers of 64 bits in column {series.name!r}, got {series.max()!r}"
            raise TableError(msg) from None
    if dtype.is_numeric():
        return series.cast(pl.Float64)
    if dtype.is_temporal():
        advice = (
            "Derive a category from it (month, weekday, hour) or leave it out (exclude, --exclude)."
        )
    else:
        advice = "Leave it out (exclude, --exclude) or derive a category from it."
    msg = (
        f"expected column {series.name!r} to hold text, truth values or numbers, got {dtype}. "
        f"{advice}"
    )
    raise TableError(msg)


def _distinct(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Distinct values of each column, without null; numbers in order."""
    import polars as pl

    found = pl.DataFrame(list(columns)).select(
        (
            pl.col(series.name).unique().drop_nulls()
            if series.dtype == pl.String
            else pl.col(series.name).unique().drop_nulls().sort()
        ).implode()
        for series in columns
    )
    return [found[series.name][0] for series in columns]


def _positions(series: pl.Series, distinct: pl.Series) -> IntArray:
    """Position of each record among sorted distinct numbers, −1 for null."""
    import polars as pl

    if not len(distinct):
        return np.full(len(series), -1)
    if series.dtype == pl.Boolean:
        series, distinct = series.cast(pl.Int64), distinct.cast(pl.Int64)
    if not series.null_count():
        return np.searchsorted(distinct.to_numpy(), series.to_numpy())
    found = np.searchsorted(distinct.to_numpy(), series.fill_null(distinct[0]).to_numpy())
    return np.where(series.is_null().to_numpy(), -1, found)


@dataclass(frozen=True, eq=False)
class Clean:
    """Distinct values after cleaning.

    Parameters
    ----------
    kind : {"text", "bool", "int", "float"}
    values : array, shape (m,)
        Different, in order, none of them missing.
    lookup : array of int, shape (raw distinct values + 1,)
        Position in `values` of each raw value, −1 where it means missing; the last entry is −1.
    nulls : frozenset of labels
        Which of the values that mean missing were met.
    """

    kind: Kind
    values: NDArray[Any]
    lookup: IntArray
    nulls: frozenset[Label]


def clean(distinct: pl.Series, reading: Reading) -> Clean:
    """Clean distinct values, sort them, and join those that became equal.

    Parameters
    ----------
    distinct : polars.Series
        Different values of a column that `plain` returned, without null.
    reading : Reading
    """
    import polars as pl

    kind: Kind = "int"
    absent = np.zeros(len(distinct), dtype=np.bool_)
    met: frozenset[Label] = frozenset()
    if distinct.dtype == pl.String:
        texts = _stripped(distinct.to_list(), reading)
        met = _nulls_among(texts, reading)
        kind, cleaned, absent = _read_texts(texts, reading)
    else:
        cleaned = distinct.to_numpy()
        kind = "bool" if distinct.dtype == pl.Boolean else kind
    if kind == "int":
        present = cleaned[~absent]
        met |= {null for null, number in _null_numbers(reading) if (present == number).any()}
        cleaned, absent = _read_numbers(cleaned, absent, reading)
        kind = "float" if cleaned.dtype.kind == "f" else "int"
    values, inverse = np.unique(cleaned[~absent], return_inverse=True)
    lookup = np.full(len(cleaned) + 1, -1)  # the last entry serves code −1
    lookup[:-1][~absent] = inverse
    return Clean(kind, values, lookup, met)


def _column(series: pl.Series, distinct: pl.Series, codes: IntArray, reading: Reading) -> Column:
    """Clean the distinct values and recode the records."""
    found = clean(distinct, reading)
    codes = found.lookup[codes]
    counts = np.bincount(codes + 1, minlength=len(found.values) + 1)[1:]
    return Column(series.name, found.kind, found.values, codes, counts, found.nulls)


def _stripped(texts: list[str], reading: Reading) -> list[str]:
    if reading.strip is None:
        return texts
    chars = string.whitespace + reading.strip if reading.strip else None
    return [text if text in reading.keep else text.strip(chars) for text in texts]


def _nulls_among(texts: list[str], reading: Reading) -> frozenset[Label]:
    present = set(texts)
    return frozenset(
        null
        for null in reading.nulls
        if (isinstance(null, str) or not reading.typed) and str(null) in present
    )


def _read_texts(texts: list[str], reading: Reading) -> tuple[Kind, NDArray[Any], BoolArray]:
    """Find which stripped texts mean missing, and the type of the others.

    Every number has kind "int" here: whether it is whole is found out later.
    """
    tokens = {"", *(x for x in reading.nulls if isinstance(x, str))}
    if not reading.typed:
        tokens |= {str(x) for x in reading.nulls}
    tokens -= reading.keep
    absent = np.array([text in tokens for text in texts], dtype=np.bool_)
    present = set(texts) - tokens
    if not (reading.typed or reading.as_text) and present:
        if len(present) <= 2 and present <= _TRUTH.keys():
            return "bool", _objects([_TRUTH.get(text) for text in texts]), absent
        if all(map(_WHOLE.fullmatch, present)):
            filled = ["0" if gone else text for text, gone in zip(texts, absent, strict=True)]
            return "int", np.array([int(text) for text in filled], dtype=np.int64), absent
        words = [text for text in present if not _REAL.fullmatch(text)]
        if len(words) < len(present) and all(map(_SPECIAL.fullmatch, words)):
            filled = ["nan" if gone else text for text, gone in zip(texts, absent, strict=True)]
            return "int", np.array([float(text) for text in filled]), absent
    return "text", _objects(texts), absent


def number_like(text: str) -> bool:
    """Whether a field of a text file is read as a number, or as NaN or ∞."""
    return bool(_REAL.fullmatch(text) or _SPECIAL.fullmatch(text))


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result


def _read_numbers(
    values: NDArray[Any], absent: BoolArray, reading: Reading
) -> tuple[NDArray[Any], BoolArray]:
    """Mark missing numbers, and turn floats that are all whole into integers."""
    gone = absent | np.isnan(values)
    for _, number in _null_numbers(reading):
        gone |= values == number
    if values.dtype.kind != "f":
        return values, gone
    values = values + 0.0  # −0 becomes 0: one category, not two
    present = values[~gone]
    if (np.abs(present) < 2.0**53).all() and (present == np.floor(present)).all():
        return np.where(gone, 0, values).astype(np.int64), gone
    return values, gone


def _null_numbers(reading: Reading) -> list[tuple[Label, float]]:
    """Values that mean missing and are numbers."""
    return [
        (null, float(null))
        for null in reading.nulls
        if (isinstance(null, (int, float)) and not isinstance(null, bool))
        or (not reading.typed and isinstance(null, str) and _REAL.fullmatch(null))
    ]


def suspects(column: Column) -> dict[str, int]:
    """Texts that often mean missing but were not declared to, with their numbers of records."""
    if column.kind != "text":
        return {}
    texts = column.values.tolist()
    found = [text.lower() in TYPICAL_NULLS for text in texts]
    if not any(found) and len(texts) > 2:
        # Numbers and one short word: the word is hardly a measurement.
        words = [_REAL.fullmatch(text) is None for text in texts]
        if sum(words) == 1 and len(texts[words.index(True)]) <= 2:
            found = words
    triples = zip(texts, column.counts.tolist(), found, strict=True)
    return {text: count for text, count, suspect in triples if suspect}
