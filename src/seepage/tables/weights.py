"""Integer weights of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seepage._numeric import IntArray
from seepage.errors import TableError
from seepage.tables.sources import RawTable

if TYPE_CHECKING:
    import polars as pl


def read_weights(raw: RawTable, name: str) -> IntArray:
    """Integer weights, or an error that names the first bad one."""
    import polars as pl

    series = raw.frame[name]
    if series.dtype == pl.String and not raw.typed:
        texts = series.str.strip_chars()
        numbers = texts.cast(pl.Float64, strict=False)
        _check_weights(series, numbers)
        whole = texts.cast(pl.Int64, strict=False)
        return (whole if not whole.null_count() else numbers.cast(pl.Int64)).to_numpy()
    numeric = series.dtype.is_numeric()
    numbers = series if numeric else pl.Series(name, [None] * len(series), dtype=pl.Float64)
    _check_weights(series, numbers)
    return numbers.cast(pl.Int64).to_numpy()


def _check_weights(series: pl.Series, numbers: pl.Series) -> None:
    values = numbers.cast(float).fill_null(float("nan")).to_numpy()
    with np.errstate(invalid="ignore"):
        bad = ~((values >= 0) & (values < 2.0**53) & (values == np.floor(values)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        msg = (
            f"expected weights in column {series.name!r} to be integers, zero or more, got "
            f"{series[row]!r} in record {row + 1:,}"
        )
        raise TableError(msg)
    if values.sum() >= 2.0**62:
        msg = f"expected weights in column {series.name!r} to add up to less than 2^62"
        raise TableError(msg)
