"""Distinct values of one column, gathered batch by batch in bounded memory.

A `Tally` keeps every distinct value with its number of records, which is all that the categories
and the notes depend on. See `seepage.tables.wide` for columns that have too many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import BoolArray, IntArray
from seepage.errors import TableError
from seepage.tables.columns import Column, Reading, clean

if TYPE_CHECKING:
    import polars as pl

MOST = 1 << 17
"""Distinct values of a column that are kept."""

_SOON = 1 << 12
"""Values of batches that are kept before they are merged."""

_CLOSE = 1 << 15
"""Whole numbers in a range below are counted in a table of the whole range."""


@dataclass(frozen=True, eq=False)
class Tallied(Column):
    """A column without its records: `codes` are those of the distinct raw values.

    Parameters
    ----------
    total : int
        Number of records.
    first : array of int, optional
        First record, from 0, with each raw value; the raw values are in this order then.
    """

    total: int = 0
    first: IntArray | None = None

    @property
    def size(self) -> int:
        """Number of records."""
        return self.total

    def record(self, position: int) -> int:
        """Number, from 1, of the first record with the raw value at a position of `codes`."""
        return position + 1 if self.first is None else int(self.first[position]) + 1


class Tally:
    """Every distinct value of a column.

    Parameters
    ----------
    name : str
    reading : Reading
    """

    def __init__(self, name: str, reading: Reading) -> None:
        self.name = name
        self.reading = reading
        self.total = 0
        self._found: pl.DataFrame | None = None
        self._recent: list[pl.DataFrame] = []

    def add(self, groups: pl.DataFrame, records: int) -> None:
        """Add the values of a batch.

        Parameters
        ----------
        groups : polars.DataFrame
            Columns "value", "count" and "first", as `group` returns them.
        records : int
            Number of records of the batch.
        """
        self.total += records
        self._recent.append(groups)
        if sum(part.height for part in self._recent) > max(_SOON, self.width):
            self._merge()

    @property
    def width(self) -> int:
        """Number of distinct values that are merged."""
        return 0 if self._found is None else self._found.height

    def _merge(self) -> pl.DataFrame:
        import polars as pl

        parts = [part for part in (self._found, *self._recent) if part is not None]
        merged = pl.concat(parts) if parts else _no_groups()
        if len(parts) > 1:
            merged = merged.group_by("value").agg(pl.col("count").sum(), pl.col("first").min())
        self._found, self._recent = merged, []
        return merged

    def groups(self) -> pl.DataFrame:
        """Distinct values without null: texts by first record, other values in order."""
        import polars as pl

        found = self._merge().drop_nulls("value")
        return found.sort("first" if found["value"].dtype == pl.String else "value")


def _no_groups() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(schema={"value": pl.String, "count": pl.Int64, "first": pl.Int64})


def group(frame: pl.DataFrame, before: int) -> list[pl.DataFrame]:
    """Distinct values of each column of a batch, with their numbers and first records.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns as `seepage.tables.columns.plain` returns them.
    before : int
        Records before this batch.
    """
    import polars as pl

    def query(series: pl.Series) -> pl.LazyFrame:
        column = pl.DataFrame([series.alias("value")]).lazy()
        if series.dtype == pl.String:  # of which the order of appearance matters
            column = column.with_row_index("row", before)
            first = pl.col("row").min().cast(pl.Int64)
        else:
            first = pl.lit(0, dtype=pl.Int64)
        count = pl.len().cast(pl.Int64)
        return column.group_by("value").agg(count=count, first=first)

    found, rest = {}, []
    for series in frame.get_columns():
        small = _small(series)
        if small is None:
            rest.append(series)
        else:
            found[series.name] = small
    for series, groups in zip(rest, pl.collect_all([query(x) for x in rest]), strict=True):
        found[series.name] = groups
    return [found[name] for name in frame.columns]


def _small(series: pl.Series) -> pl.DataFrame | None:
    """Distinct values of whole numbers that are close together, without grouping."""
    import polars as pl

    low, high = (series.min(), series.max()) if series.dtype == pl.Int64 else (None, None)
    if not (isinstance(low, int) and isinstance(high, int) and high - low < _CLOSE):
        return None
    values = series.drop_nulls().to_numpy() - low
    counts = np.bincount(values, minlength=high - low + 1)
    present = np.flatnonzero(counts)
    first = np.zeros(len(present), dtype=np.int64)
    return pl.DataFrame({"value": present + low, "count": counts[present], "first": first})


class Coder:
    """A column whose distinct values are all known.

    Parameters
    ----------
    tally : Tally
        Complete.

    Attributes
    ----------
    column : Tallied
    """

    def __init__(self, tally: Tally) -> None:
        import polars as pl

        groups = tally.groups()
        self._raw = groups["value"]
        self._enum = pl.Enum(self._raw) if self._raw.dtype == pl.String else None
        self._numbers = self._raw.to_numpy() if self._enum is None else np.zeros(0)
        self._low, self._table = _direct(self._numbers)
        found = clean(self._raw, tally.reading)
        codes = found.lookup[:-1]
        self.column = Tallied(
            tally.name,
            found.kind,
            found.values,
            codes,
            _sums(codes, groups["count"].to_numpy(), len(found.values)),
            found.nulls,
            tally.total,
            groups["first"].to_numpy(),
        )

    def places(self, series: pl.Series) -> IntArray:
        """Position of each record among the raw values, −1 for null.

        Raises
        ------
        TableError
            If a value was not there before.
        """
        import polars as pl

        if not len(self._raw):
            found = np.full(len(series), -1)
            known = series.null_count() == len(series)
        elif self._enum is None:
            values = series.fill_null(self._raw[0]).to_numpy()
            if self._table is not None:
                high = self._low + len(self._table) - 1
                inside = (values >= self._low) & (values <= high)
                found = self._table[np.where(inside, values - self._low, 0)]
                known = bool((inside & (found >= 0)).all())
            else:
                found = np.minimum(np.searchsorted(self._numbers, values), len(self._raw) - 1)
                # A NaN is found where the last value, the largest, is one.
                known = bool(((self._numbers[found] == values) | np.isnan(values)).all())
            if series.null_count():
                found = np.where(series.is_null().to_numpy(), -1, found)
        else:
            coded = series.cast(self._enum, strict=False)
            known = coded.null_count() == series.null_count()
            found = coded.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        if not known:
            msg = (
                f"expected the same values whenever column {series.name!r} is read, got new ones: "
                "the table changes while it is read, or gives other records each time"
            )
            raise TableError(msg)
        return found

    def present(self, series: pl.Series) -> BoolArray:
        """Which records have a value."""
        return np.append(self.column.codes, -1)[self.places(series)] >= 0

    def recount(self, counts: IntArray, records: int) -> Tallied:
        """The column of some of the records, given how often they have each raw value."""
        column = self.column
        sums = _sums(column.codes, counts, len(column.values))
        kept = sums > 0
        lookup = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        return replace(
            column,
            values=column.values[kept],
            codes=lookup[column.codes],
            counts=sums[kept],
            total=records,
        )


def _direct(values: NDArray[Any]) -> tuple[int, IntArray | None]:
    """Position of every whole number in a short range, −1 for those that do not occur."""
    if values.dtype.kind != "i" or not len(values) or values[-1] - values[0] >= _CLOSE:
        return 0, None
    low = int(values[0])
    table = np.full(int(values[-1]) - low + 1, -1)
    table[values - low] = np.arange(len(values))
    return low, table


def _sums(codes: IntArray, counts: IntArray, size: int) -> IntArray:
    sums = np.zeros(size + 1, dtype=np.int64)
    np.add.at(sums, codes, counts)  # missing ones, at −1, go to the last entry
    return sums[:-1]
