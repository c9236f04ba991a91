"""Estimated tables as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.collect.marginals import records_in_words
from seepage.collect.projection import AnyMarginal, as_raw
from seepage.report.estimates_words import behind, cell_rows, how, percent, reach, title
from seepage.report.layout import MIN_WIDTH, bar, clip, closing, printable, section

if TYPE_CHECKING:
    from seepage.collect.estimates import AnyEstimates

MAX_FULL = 3
"""Up to so many tables are shown by their cells."""

MAX_CELLS = 12
MAX_TABLES = 30

NUMBERS = 10 + 9 + 20
BARS = (6, 24)

STEPS = [
    ("--out tables.csv", "every cell of every table"),
    ("--html page.html", "the same as a page with pictures"),
    ("--columns A,B", "only tables of these columns"),
    ("--project simplex", "tables without negative values"),
]


def estimates_text(result: AnyEstimates, width: int | None = None) -> EstimatesText:
    """Return estimates as a Rich renderable.

    Parameters
    ----------
    result : Estimates or AdjustedEstimates
    width : int, optional
        Width in cells; the console's by default.
    """
    return EstimatesText(result, width)


@dataclass(frozen=True, eq=False)
class EstimatesText:
    """Estimates laid out for the width of a console; see `estimates_text`."""

    result: AnyEstimates
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        yield Text(printable(result.verdict), style="bold")
        yield Text(reach(result), style="bold")
        about = (
            f"{result.source}: {records_in_words(result.size)} ({result.origin}), "
            f"design {result.plan.design}, {how(result)}"
        )
        yield Text(printable(about), style="dim")
        if len(result.tables) <= MAX_FULL:
            for table in result.tables:
                yield from _cells(table, result.confidence, width)
        else:
            yield from _overview(result, width)
        yield from closing(result.assumptions, STEPS, width, console)


def _cells(table: AnyMarginal, confidence: float, width: int) -> Iterable[Text]:
    rows = cell_rows(table, confidence, MAX_CELLS)
    note = f"{behind(table)}; shares in %, limits at {100 * confidence:g} %; faint: may be 0"
    yield from section(printable(title(table)), printable(note))
    room = width - NUMBERS - 2
    label = min(max(8, *(cell_len(printable(row.name)) for row in rows)), room - BARS[0])
    cells = max(BARS[0], min(BARS[1], room - label))
    largest = max((row.value for row in rows), default=0.0)
    heading = f"{'estimate':>10}{'± s.e.':>9}{'limits':>20}  "
    yield Text.assemble(clip("", label), heading, style="dim")
    for row in rows:
        limits = f"{percent(row.lower)} – {percent(row.upper)}"
        yield Text.assemble(
            (clip(printable(row.name), label).plain, "" if row.clear else "dim"),
            (f"{percent(row.value):>10}", "bold" if row.clear else "dim"),
            f"{percent(row.error):>9}",
            f"{limits:>20}  ",
            (bar(row.value / largest if largest > 0 else 0.0, cells), "cyan"),
        )
    rest = table.values.size - len(rows)
    if rest > 0:
        yield Text(f"  … and {rest:,} smaller cells", style="dim")
    if table is not as_raw(table):
        yield Text("  s.e. and limits are those of the unbiased estimate", style="dim")


def _overview(result: AnyEstimates, width: int) -> Iterable[Text]:
    shown = result.tables[:MAX_TABLES]
    yield from section(
        "Tables", "shares in %; the largest cell of each, which is too large on average"
    )
    room = width - 8 - 9 - 10 - 8 - 2
    label = min(max(8, *(cell_len(printable(title(table))) for table in shown)), room // 2)
    cell = room - label
    yield Text.assemble(
        clip("", label),
        f"{'cells':>8}{'s.e.':>9}  ",
        clip("largest cell", cell),
        f"{'estimate':>10}{'± s.e.':>8}",
        style="dim",
    )
    for table in shown:
        (top,) = cell_rows(table, result.confidence, 1)
        errors = as_raw(table).standard_errors
        yield Text.assemble(
            clip(printable(title(table)), label),
            f"{table.values.size:>8,}",
            f"{percent(float(np.median(errors))):>9}  ",
            clip(printable(top.name), cell),
            (f"{percent(top.value):>10}", "bold" if top.clear else "dim"),
            f"{percent(top.error):>8}",
        )
    if len(result.tables) > len(shown):
        yield Text(f"  … and {len(result.tables) - len(shown):,} more", style="dim")
