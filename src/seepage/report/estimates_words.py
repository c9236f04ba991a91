"""Estimated tables in words and rows, the same in a terminal, on a page and in a chart."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from seepage.collect.marginals import records_in_words
from seepage.collect.projection import AnyMarginal, as_raw
from seepage.domain import Label
from seepage.plan._clear import rounded_up
from seepage.report import wording

if TYPE_CHECKING:
    from seepage.collect.estimates import AnyEstimates

_NUMBER = re.compile(r"\d+\.\d+|\d{4,}")
_INTERVAL = re.compile(r"[\[(]\s*-?[\d.]+(e[+-]?\d+)?\s*,.*[\])]$")
"""Intervals as tables name them; their limits can have many digits."""


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
    def clear(self) -> bool:
        """Whether the limits of this cell, by itself, exclude 0."""
        return self.lower > 0

    @property
    def name(self) -> str:
        """The labels in one text."""
        return " · ".join(wording.shorten(short(label), 30) for label in self.labels)


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


def short(label: Label) -> str:
    """Return a label with the numbers of an interval rounded: ``[34973, 49863)``."""
    text = str(label)
    if not _INTERVAL.match(text):
        return text
    return _NUMBER.sub(lambda found: _rounded(found[0]), text)


def _rounded(number: str) -> str:
    value = float(number)
    text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text if len(text) < len(number) else number


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
    return records_in_words(raw.records)


def how(result: AnyEstimates) -> str:
    """Return what was done to the reports, in a few words."""
    steps = getattr(result, "steps", ("unbiased estimate",))
    return "; then ".join(steps)


def reach(result: AnyEstimates) -> str:
    """Return how many cells can be told from 0, and how many records the others would take.

    Limits are adjusted for the number of all cells (Bonferroni). A typical cell is one of a table
    of median size whose records are spread evenly; its needed number of records follows from the
    median standard error, which falls with the root of the number.
    """
    raws = [as_raw(table) for table in result.tables]
    cells = sum(raw.values.size for raw in raws)
    beyond = (1 - result.confidence) / cells
    level = min(1 - beyond, math.nextafter(1.0, 0.0))  # as it may be rounded to 1
    clear = sum(int((raw.interval(level)[0] > 0).sum()) for raw in raws)
    only = "The one cell" if cells == 1 else f"{clear:,} of {cells:,} cells"
    if cells == 1:
        only += " can" if clear else " cannot"
        return f"{only} be told from 0."
    found = f"{only} can be told from 0, allowing for their number"
    if clear == cells:
        return f"{found}."
    found += "; the largest of many estimates is too large on average"
    error = float(np.median(np.concatenate([raw.standard_errors.ravel() for raw in raws])))
    if 2 * clear >= cells or not 0 < error < np.inf:
        return f"{found}."
    share = 1 / float(np.median([raw.values.size for raw in raws]))
    behind_it = float(np.median([raw.records for raw in raws]))
    errors = -NormalDist().inv_cdf(beyond / 2)
    needed = rounded_up(behind_it * (errors * error / share) ** 2)
    if needed <= behind_it:  # shares differ, and the small ones are beyond any such number
        return f"{found}."
    return (
        f"{found}. For a typical cell, of {percent(share, 1)} %, it would take about {needed:,} "
        "records for each table."
    )
