"""Estimated tables in words and rows, the same in a terminal, on a page and in a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage.collect.projection import AnyMarginal, as_raw
from seepage.domain import Label
from seepage.report import wording

if TYPE_CHECKING:
    from seepage.collect.estimates import AnyEstimates


@dataclass(frozen=True)
class CellRow:
    """One cell of a table.

    Attributes
    ----------
    labels : tuple of labels
    value : float
        The estimate, after any further steps.
    raw, error, lower, upper : float
        The unbiased estimate, its standard error and limits.
    """

    labels: tuple[Label, ...]
    value: float
    raw: float
    error: float
    lower: float
    upper: float

    @property
    def name(self) -> str:
        """The labels in one text."""
        return " · ".join(wording.shorten(label, 30) for label in self.labels)


def cell_rows(table: AnyMarginal, confidence: float, limit: int | None = None) -> list[CellRow]:
    """Return the cells of a table; with a limit, so many of the largest, largest first."""
    raw = as_raw(table)
    lower, upper = raw.interval(confidence)
    flat = table.values.ravel()
    order = np.arange(flat.size)
    if limit is not None:
        order = np.argsort(-flat, kind="stable")[:limit]
    arrays = [x.ravel() for x in (table.values, raw.values, raw.standard_errors, lower, upper)]
    return [CellRow(raw.cells[i], *(float(x[i]) for x in arrays)) for i in order.tolist()]


def title(table: AnyMarginal) -> str:
    """Name of a table."""
    return " × ".join(table.names)


def percent(value: float, digits: int = 2) -> str:
    """Return a share as a percentage without its sign: ``12.30``, ``−0.41``, ``∞``."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{100 * value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def behind(table: AnyMarginal) -> str:
    """Return how many records are behind a table, and in which views."""
    raw = as_raw(table)
    if len(raw.views) > 1 and {n for _, n in raw.views} != {raw.records}:
        views = "; ".join(f"{' × '.join(names)}: {n:,}" for names, n in raw.views[:6])
        more = f"; {len(raw.views) - 6} more" if len(raw.views) > 6 else ""
        return f"{raw.records:,} records in {len(raw.views)} views ({views}{more})"
    return f"{raw.records:,} records"


def how(result: AnyEstimates) -> str:
    """Return what was done to the reports, in a few words."""
    steps = getattr(result, "steps", ("unbiased estimate",))
    return "; then ".join(steps)
