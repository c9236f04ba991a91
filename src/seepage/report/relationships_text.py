"""Retentions and estimated relationships as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.collect.attenuation import named, percent
from seepage.collect.correcting import CANNOT_TELL
from seepage.plan.relating import title_of
from seepage.report.layout import MIN_WIDTH, bar, bullet, clip, closing, nats, printable, section
from seepage.report.relationships_words import ranked, signed

if TYPE_CHECKING:
    from seepage.collect.relationships import Estimate
    from seepage.plan.relating import RelationshipEstimates, RetentionTable

COLUMN = 11
"""Cells of one allocation."""
SMALLEST = 12
"""Least cells of a relationship."""


def retentions_text(
    result: RetentionTable, width: int | None = None, *, top: int = 30
) -> RetentionsText:
    """Return a table of retentions as a Rich renderable.

    Parameters
    ----------
    result : RetentionTable
    width : int, optional
        Width in cells; the console's by default.
    top : int
        Relationships to show.
    """
    return RetentionsText(result, width, top)


def estimates_text(
    result: RelationshipEstimates, width: int | None = None, *, top: int = 30
) -> EstimatesText:
    """Return estimated relationships as a Rich renderable; see `retentions_text`."""
    return EstimatesText(result, width, top)


@dataclass(frozen=True, eq=False)
class RetentionsText:
    """Retentions laid out for the width of a console; see `retentions_text`."""

    result: RetentionTable
    width: int | None
    top: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        for label in result.labels:
            for line in Text(printable(result.survival(label))).wrap(console, width):
                line.stylize("bold")
                yield line
        yield Text(_about(result), style="dim")
        yield from _retentions(result, width, self.top)
        yield from _budgets(result, width)
        if result.allocations:
            yield from section("Allocation")
            for item in result.allocations.values():
                yield from bullet(printable(item.verdict), width, console)
        yield from closing(result.assumptions, _next(result), width, console)


@dataclass(frozen=True, eq=False)
class EstimatesText:
    """Estimates laid out for the width of a console; see `estimates_text`."""

    result: RelationshipEstimates
    width: int | None
    top: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        yield Text(printable(result.verdict), style="bold")
        yield from section(
            "Relationships", "corrected, with one standard error; * recommended, *? cannot tell"
        )
        yield from _estimates(result.estimates[: self.top], width)
        hidden = len(result.estimates) - self.top
        if hidden > 0:
            yield Text(f"  … and {hidden} more", style="dim")
        odds = [item for item in result.estimates[: self.top] if item.categories]
        notes = dict.fromkeys(item.note for item in result.estimates if item.note)
        notes |= dict.fromkeys(f"{item.kind} of {title_of(item)}." for item in odds)
        if notes:
            yield from section("Notes")
            for note in notes:
                yield from bullet(printable(note), width, console)
        steps = [("--csv estimates.csv", "all estimates with limits and mean squared errors")]
        yield from closing(result.assumptions, steps, width, console)


def _about(result: RetentionTable) -> str:
    of = f"{printable(result.source)}: " if result.source else ""
    count = len(result.relationships)
    several = "relationship" if count == 1 else "relationships"
    orders = ", ".join(map(str, result.orders))
    return f"{of}{len(result.sizes)} attributes, {count} {several} of order {orders}"


def _retentions(result: RetentionTable, width: int, top: int) -> Iterable[Text]:
    shown = ranked(result)[:top]
    yield from section("Retention", "share of the cross-moment that is kept; largest first")
    labels = result.labels
    fits = max(1, (width - SMALLEST) // COLUMN)
    label_width = max(
        SMALLEST,
        min(width - COLUMN * min(len(labels), fits), max(_length(names) for names in shown) + 1),
    )
    bars = width - label_width - COLUMN >= 14 and len(labels) == 1
    heading = Text.assemble(clip("", label_width), style="dim")
    for label in labels[:fits]:
        heading.append(" ")
        short = Text(printable(label), no_wrap=True)
        short.truncate(COLUMN - 1, overflow="ellipsis")
        heading.append(" " * (COLUMN - 1 - cell_len(short.plain)))
        heading.append(short)
    yield heading
    for names in shown:
        line = clip(printable(named(names)), label_width)
        for label in labels[:fits]:
            line.append(f"{percent(result.retentions[label][names]):>{COLUMN}}")
        if bars:
            line.append("  ")
            line.append(bar(result.retentions[labels[0]][names], 12), style="cyan")
        yield line
    hidden = len(result.relationships) - len(shown)
    if hidden > 0:
        yield Text(f"  … and {hidden} more; --top shows them", style="dim")
    if len(labels) > fits:
        yield Text(f"  … and {len(labels) - fits} more allocations; see --csv", style="dim")


def _budgets(result: RetentionTable, width: int) -> Iterable[Text]:
    yield from section("Budgets", "ε in nats")
    labels = result.labels[: max(1, (width - SMALLEST - 8) // COLUMN)]
    longest = max(cell_len(printable(name)) for name in result.sizes) + 1
    room = max(SMALLEST, min(longest, width - 8 - COLUMN * len(labels)))
    yield Text.assemble(clip("", room), f"{'categ.':>8}", style="dim")
    for name, size in result.sizes.items():
        line = clip(printable(name), room)
        line.append(f"{size:>8}", style="dim")
        for label in labels:
            line.append(f"{nats(result.budgets[label][name]):>{COLUMN}}")
        yield line


def _estimates(estimates: Iterable[Estimate], width: int) -> Iterable[Text]:
    """One line for each; names are shortened to the width, numbers never."""
    listed = list(estimates)
    names = [printable(title_of(item, categories=False)) for item in listed]
    columns: list[list[str]] = []
    for heading, values in (
        ("corrected", [_marked(item, item.estimate, "corrected") for item in listed]),
        ("± s.e.", [signed(item.standard_error) for item in listed]),
        ("uncorrected", [_marked(item, item.uncorrected, "uncorrected") for item in listed]),
    ):
        mark = "" if heading == "± s.e." else "  "  # as wide as those of the values
        cells = [f"{heading}{mark}", *values]
        wide = max(map(cell_len, cells)) + (1 if columns else 0)
        columns.append([" " * (wide - cell_len(cell)) + cell for cell in cells])
    kind = max(cell_len(item.kind) for item in listed) + 1
    room = width - kind - sum(cell_len(cells[0]) for cells in columns)
    room = min(room, max(map(cell_len, names)) + 1)
    heads = [clip("", room + kind), *(Text(cells[0]) for cells in columns)]
    yield Text.assemble(*heads, style="dim")
    for i, (name, item) in enumerate(zip(names, listed, strict=True)):
        line = Text.assemble(clip(name, room - 1).plain, " ", clip(item.kind, kind).plain)
        for what, cells in zip(("corrected", "", "uncorrected"), columns, strict=True):
            bold = bool(what) and item.recommended == what
            line.append(cells[i + 1], style="bold" if bold else "")
        yield line


def _marked(item: Estimate, value: float | None, what: str) -> str:
    """A number, and whether it is the one to take."""
    mark = "*?" if item.better == CANNOT_TELL else "* "
    return signed(value) + (mark if item.recommended == what else "  ")


def _length(names: tuple[str, ...]) -> int:
    return cell_len(printable(named(names)))


def _next(result: RetentionTable) -> list[tuple[str, str]]:
    steps = [
        ("--html page.html", "the same as a page with a heatmap"),
        ("--orders 2,3", "third cross-moments too"),
    ]
    if not result.allocations:
        steps.insert(0, ("--total 5 --objective worst", "the best division of a total budget"))
    else:
        steps.insert(0, ("--out budgets.json", "keep the budgets, for seepage plan --budgets"))
    return steps
