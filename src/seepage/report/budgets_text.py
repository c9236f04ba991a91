"""Calibrated budgets as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.report.budget_words import METHODS, binding, budget_rows, comparison, holding
from seepage.report.layout import (
    MIN_WIDTH,
    bullet,
    clip,
    closing,
    nats,
    printable,
    section,
    split_bar,
)
from seepage.results import Standing

if TYPE_CHECKING:
    from seepage.plan.calibrate import CalibrationResult

MAX_BINDING = 8
"""So many attributes at the target are taken apart."""

NOTE = 11
BARS = (6, 30)


def budgets_text(
    result: CalibrationResult, width: int | None = None, *, saved: str | None = None
) -> BudgetsText:
    """Return a calibration as a Rich renderable.

    Parameters
    ----------
    result : CalibrationResult
    width : int, optional
        Width in cells; the console's by default.
    saved : str, optional
        Where the budgets were written, for the next steps.

    Returns
    -------
    BudgetsText
        For ``rich.console.Console.print``.
    """
    return BudgetsText(result, width, saved)


@dataclass(frozen=True, eq=False)
class BudgetsText:
    """A calibration laid out for the width of a console; see `budgets_text`."""

    result: CalibrationResult
    width: int | None
    saved: str | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        yield Text(printable(result.verdict), style="bold")
        yield Text(_about(result), style="dim")
        yield from _table(result, width)
        yield from _binding(result, width, console)
        yield from section("Against splitting equally")
        yield from bullet(comparison(result), width, console)
        yield from closing(result.assumptions, _next(self.saved, result), width, console)


def _about(result: CalibrationResult) -> str:
    bound = ", no bound" if result.standing is Standing.HEURISTIC else ""
    return (
        f"{printable(result.source)}: {len(result.domain)} columns, target "
        f"{nats(result.target)} nats, total {METHODS[result.method]}{bound}"
    )


def _table(result: CalibrationResult, width: int) -> Iterable[Text]:
    rows = budget_rows(result)
    yield from section("Budgets", "ε and totals in nats; largest budget first")
    numbers = 6 + 8 + 8 + 8 + 1
    room = width - numbers - NOTE
    label = min(max(9, *(cell_len(printable(row.name)) for row in rows)), room - BARS[0])
    cells = max(BARS[0], min(BARS[1], room - label))
    finite = [row.total for row in rows if math.isfinite(row.total)]
    largest = result.target if math.isfinite(result.target) else max(finite, default=0.0)
    heading = f"{'categ.':>6}{'ε':>8}{'equal':>8}{'total':>8} "
    legend = clip("█ own ░ others", cells) if cells >= 14 else clip("", cells)
    yield Text.assemble(clip("", label), heading, legend, style="dim")
    for row in rows:
        yield Text.assemble(
            clip(printable(row.name), label),
            f"{row.categories:>6}",
            (f"{nats(row.epsilon):>8}", "bold"),
            f"{nats(row.uniform):>8}",
            f"{nats(row.total):>8} ",
            split_bar(row.epsilon, row.total, largest, cells),
            (f" {row.note}", "bold" if row.at_target else "dim"),
        )
    yield Text()
    for name, what in (
        ("ε", "calibrated budget of the column's mechanism"),
        ("equal", "the budget when the target is split equally, within the bounds"),
        ("total", "leakage about the column from all reports: █ its own, ░ the others"),
    ):
        line = Text.assemble("  ", (f"{name:<6} ", "italic"), what, style="dim")
        line.truncate(width, overflow="ellipsis")
        yield line


def _binding(result: CalibrationResult, width: int, console: Console) -> Iterable[Text]:
    lines = binding(result)
    yield from section("What binds", f"{len(lines)} at the target" if lines else "")
    for line in lines[:MAX_BINDING]:
        yield from bullet(printable(line), width, console)
    if len(lines) > MAX_BINDING:
        yield Text(f"  … and {len(lines) - MAX_BINDING} more", style="dim")
    for part in Text(holding(result)).wrap(console, width - 2):
        yield Text.assemble("  ", part, style="dim")


def _next(saved: str | None, result: CalibrationResult) -> list[tuple[str, str]]:
    if not result.vouched:
        command = f"seepage calibrate … --target {result.target:g} --method group"
        first = (command, "budgets that meet the target whatever the data")
    elif saved is None:
        first = ("--out budgets.json", "keep the budgets")
    else:
        command = f"seepage audit … --budgets {printable(saved)}"
        first = (command, "what each pair leaks at these budgets")
    return [
        first,
        ("--html report.html", "the same as a page with a chart"),
        ("--maximum NAME=EPS", "hold one column back, in favour of the others"),
        ("--importance NAME=W", "favour one column"),
    ]
