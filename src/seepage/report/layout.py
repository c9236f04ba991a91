"""What every report for a terminal is made of.

Labels come from the data: nothing in them is read as markup, and control characters are shown as
escapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

MIN_WIDTH = 60
BAR = 6
EIGHTHS = " ▏▎▍▌▋▊▉█"


def printable(label: object) -> str:
    """Return a label with control, invisible and direction-changing characters as escapes."""
    raw = str(label)
    if raw.isprintable():
        return raw
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in raw
    )


def clip(content: str, width: int) -> Text:
    """Return text of exactly `width` cells, shortened with an ellipsis when too long."""
    clipped = Text(content, no_wrap=True)
    clipped.truncate(width, overflow="ellipsis", pad=True)
    return clipped


def bar(share: float, cells: int = BAR) -> str:
    """Return a bar that fills `share` of `cells`; any positive share shows."""
    steps = round(min(max(share, 0.0), 1.0) * cells * 8)
    steps = max(steps, 1) if share > 0 else 0
    full, part = divmod(steps, 8)
    drawn = "█" * full + (EIGHTHS[part] if part else "")
    return drawn.ljust(cells)


def split_bar(own: float, total: float, largest: float, cells: int) -> Text:
    """Return a bar of `total` out of `largest`, the part `own` of it first and told apart.

    The parts differ in shade as well as in colour; what is infinite fills the bar.
    """
    whole, first = (
        cells if math.isinf(value) else round(cells * min(value / largest, 1.0)) if largest else 0
        for value in (total, own)
    )
    if total > 0 and largest > 0:
        whole = max(whole, 1)
    # What the others add to a finite budget shows when it has no bound.
    first = min(first, whole - 1 if math.isinf(total) and math.isfinite(own) else whole)
    return Text.assemble(
        ("█" * first, "cyan"), ("░" * (whole - first), "yellow"), " " * (cells - whole)
    )


def nats(value: float) -> str:
    """Return a quantity in at most 6 cells."""
    if math.isinf(value):
        return "∞"
    if 0 < value < 0.0005:
        return "<0.001"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def section(title: str, note: str = "") -> Iterable[Text]:
    """An empty line, then a title and what it shows."""
    yield Text()
    yield Text.assemble((title, "bold"), (f"  {note}" if note else "", "dim"))


def bullet(sentence: str, width: int, console: Console) -> Iterable[Text]:
    """One item of a list, wrapped."""
    for number, line in enumerate(Text(sentence).wrap(console, width - 4)):
        yield Text.assemble("  • " if number == 0 else "    ", line)


def closing(
    assumptions: Iterable[str],
    steps: Sequence[tuple[str, str]],
    width: int,
    console: Console,
) -> Iterable[Text]:
    """The end of every report: what it rests on, and what to do next (options, what they do)."""
    yield from section("Assumptions")
    for sentence in assumptions:
        yield from bullet(printable(sentence), width, console)
    if steps:
        yield from section("Next")
        column = max(22, *(len(option) + 2 for option, _ in steps))
        for option, what in steps:
            yield Text.assemble("  ", (f"{option:<{column}}", "cyan"), what)
