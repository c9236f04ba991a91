"""Total leakage as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.report.budget_words import METHODS
from seepage.report.layout import MIN_WIDTH, clip, closing, nats, printable, section, split_bar

if TYPE_CHECKING:
    from seepage.plan.totals import TotalLeakage

MAX_ROWS = 60
BARS = (8, 40)


def totals_text(result: TotalLeakage, width: int | None = None) -> TotalsText:
    """Return total leakage as a Rich renderable.

    Parameters
    ----------
    result : TotalLeakage
    width : int, optional
        Width in cells; the console's by default.

    Returns
    -------
    TotalsText
        For ``rich.console.Console.print``.
    """
    return TotalsText(result, width)


@dataclass(frozen=True, eq=False)
class TotalsText:
    """Total leakage laid out for the width of a console; see `totals_text`."""

    result: TotalLeakage
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        yield Text(printable(result.verdict), style="bold")
        about = f"{printable(result.source)}: total {METHODS[result.method]} ({result.standing})"
        yield Text(about, style="dim")
        yield from _table(result, width)
        yield from closing(result.assumptions, (), width, console)


def _table(result: TotalLeakage, width: int) -> Iterable[Text]:
    yield from section("Total about each column", "nats; largest first; █ own budget, ░ others")
    ranked = sorted(result, key=lambda name: -result[name])
    shown = ranked[:MAX_ROWS]
    source = {name: _largest(result, name) for name in shown}
    told = max(cell_len(text) for text in source.values())
    room = width - 8 - 8 - 1 - BARS[0]
    label = min(max(cell_len(printable(name)) for name in shown), max(12, room - told))
    cells = max(BARS[0], min(BARS[1], width - label - 8 - 8 - 1 - told))
    largest = max((result[name] for name in ranked if math.isfinite(result[name])), default=0.0)
    heading = f"{'own ε':>8}{'total':>8}"
    yield Text.assemble(clip("", label), heading, style="dim")
    for name in shown:
        line = Text.assemble(
            clip(printable(name), label),
            f"{nats(result.budgets[name]):>8}",
            (f"{nats(result[name]):>8} ", "bold"),
            split_bar(result.budgets[name], result[name], largest, cells),
            (source[name], "dim"),
        )
        line.truncate(width, overflow="ellipsis")
        yield line
    if len(ranked) > len(shown):
        yield Text(f"… and {len(ranked) - len(shown)} more", style="dim")


def _largest(result: TotalLeakage, name: str) -> str:
    """The largest source besides the own report, in words."""
    parts = {other: part for other, part in result.parts.get(name, {}).items() if part > 0}
    if not parts:
        return ""
    other = max(parts, key=lambda item: (parts[item], item))
    return f" {nats(parts[other])} through {printable(other)}"
