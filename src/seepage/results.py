"""What results have in common: a value, its standing, and what was assumed.

No number leaves the package without saying whether it is exact, a bound, or a guess.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


class Standing(StrEnum):
    """How a number relates to the truth, under the assumptions stated with it."""

    EXACT = "exact"
    UPPER = "upper"
    LOWER = "lower"
    ESTIMATE = "estimate"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Finding:
    """One number with its standing.

    Parameters
    ----------
    value : float
    standing : Standing
    assumptions : tuple of str
        Sentences; empty when nothing is assumed.
    """

    value: float
    standing: Standing
    assumptions: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Interval:
    """An estimate between limits.

    Parameters
    ----------
    lower, estimate, upper : float
    confidence : float
        Probability, in (0, 1), that the limits contain the truth.
    """

    lower: float
    estimate: float
    upper: float
    confidence: float


class Result:
    """Base of what the pipelines return.

    Subclasses are frozen dataclasses. They supply `verdict`, `columns` and `to_dict`; text, charts
    and pages are made by the report layer.
    """

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        raise NotImplementedError

    def columns(self) -> Mapping[str, list[Any]]:
        """Return the main table as plain columns."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        raise NotImplementedError

    def to_frame(self) -> pl.DataFrame:
        """Return the main table as a Polars frame."""
        import polars as pl

        return pl.DataFrame(dict(self.columns()), strict=False)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the result as JSON text, and write it to `path` when given.

        Infinite values are written as the texts "inf" and "-inf", as JSON has no number for them.
        """
        text = json.dumps(plain(self.to_dict()), indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def plot(self) -> alt.TopLevelMixin:
        """Return the main chart (Altair)."""
        from seepage import report

        return report.chart(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained page, and write it to `path` when given."""
        from seepage import report

        page = report.html(self)
        if path is not None:
            write_text(path, page)
        return page


def plain(value: Any) -> Any:
    """Convert NumPy values, enums and infinities to what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then move.

    A process that is killed outright (``kill -9``, a power cut) may leave the temporary file, whose
    name is that of the file between a dot and eight more characters; it can be removed.
    """
    temporary = temporary_name(path)
    try:
        write_temporary(temporary, content, path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_name(path: str | Path) -> Path:
    """A name beside a file, for what it will hold.

    It is known before the file is there, so that whoever is interrupted knows what to remove.
    """
    import secrets

    target = Path(path)
    return target.parent / f".{target.name}.{secrets.token_urlsafe(6)}"


def write_temporary(temporary: Path, content: bytes, path: str | Path) -> None:
    """Write what the file `path` will hold to a temporary name, down to the disk.

    What is moved into place is whole then, even if the machine stops. After an error the caller
    removes the file.
    """
    import os

    try:
        stream = temporary.open("xb")
    except OSError as error:  # with the name that was asked for
        raise type(error)(error.errno, error.strerror, str(path)) from None
    with stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def write_text(path: str | Path, content: str) -> None:
    """Write a UTF-8 text file whole or not at all."""
    write_bytes(path, content.encode())
