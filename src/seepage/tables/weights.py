"""Integer weights of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seepage._numeric import IntArray
from seepage.counts import MAX_TOTAL
from seepage.errors import TableError
from seepage.tables.sources import RawTable

if TYPE_CHECKING:
    import polars as pl


def read_weights(raw: RawTable, name: str) -> IntArray:
    """Integer weights, or an error that names the first bad one."""
    return weights_of(raw.frame[name], typed=raw.typed)


def weights_of(series: pl.Series, *, typed: bool, before: int = 0) -> IntArray:
    """Integer weights of some records.

    Parameters
    ----------
    series : polars.Series, shape (n,)
    typed : bool
        False for the fields of a text file.
    before : int, default 0
        Records that were read earlier, for the number of a bad one.

    Raises
    ------
    TableError
        If a weight is not an integer from 0, or their sum is too large.
    """
    import polars as pl

    if series.dtype == pl.String and not typed:
        texts = series.str.strip_chars()
        numbers = texts.cast(pl.Float64, strict=False)
        _check_weights(series, numbers, before)
        whole = texts.cast(pl.Int64, strict=False)
        return (whole if not whole.null_count() else numbers.cast(pl.Int64)).to_numpy()
    numeric = series.dtype.is_numeric()
    numbers = series if numeric else pl.Series(series.name, [None] * len(series), dtype=pl.Float64)
    _check_weights(series, numbers, before)
    return numbers.cast(pl.Int64).to_numpy()


def _check_weights(series: pl.Series, numbers: pl.Series, before: int) -> None:
    values = numbers.cast(float).fill_null(float("nan")).to_numpy()
    with np.errstate(invalid="ignore"):
        bad = ~((values >= 0) & (values < 2.0**53) & (values == np.floor(values)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        msg = (
            f"expected weights in column {series.name!r} to be integers, zero or more, got "
            f"{series[row]!r} in record {before + row + 1:,}"
        )
        raise TableError(msg)
    check_sum(series.name, values.sum())


def check_sum(name: str, total: float) -> None:
    """Refuse weights whose sum would not fit.

    Raises
    ------
    TableError
        If the sum is 2^62 or more.
    """
    if total >= MAX_TOTAL:
        msg = f"expected weights in column {name!r} to add up to less than 2^62"
        raise TableError(msg)
