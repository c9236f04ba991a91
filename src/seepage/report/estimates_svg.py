"""Estimated tables as inline SVG: bars with limits, and heatmaps, in the page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seepage.collect.projection import AnyMarginal
from seepage.report import wording
from seepage.report.estimates_words import CellRow, cell_rows, percent, short
from seepage.report.svg import fill, ticks

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH = 860
LABELS = 220
RIGHT = 120
PITCH = 24
TOP, BOTTOM = 8, 28
MAX_HEAT = 40
"""A table with more categories than this along an attribute is shown by its largest cells."""

FAINT = 0.55
"""Opacity of what may be 0."""

MAX_NUMBERS = 12
"""Up to so many columns, cells hold their number."""


def bars(rows: Sequence[CellRow]) -> Markup:
    """Return one bar for each cell, its limits as a line across its end; in percent."""
    from markupsafe import Markup

    ends = [x for row in rows for x in (row.value, row.lower, row.upper) if abs(x) < 10]
    low, high = min(0.0, *ends), max(1e-9, *ends)
    room = WIDTH - RIGHT - LABELS

    def at(value: float) -> float:
        inside = min(max(value, low), high)
        return round(LABELS + room * (inside - low) / (high - low), 1)

    bottom = TOP + PITCH * len(rows)
    parts = [
        fill(
            '<line class="gridline" x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
            '<text x="{x}" y="{c}" text-anchor="middle">{t}</text>',
            x=at(tick), a=TOP, b=bottom, c=bottom + 17, t=f"{100 * tick:g}",
        )
        for tick in ticks(high)
    ]  # fmt: skip
    parts.append(fill('<text x="{x}" y="{y}" text-anchor="end">%</text>', x=WIDTH, y=bottom + 17))
    for i, row in enumerate(rows):
        y = TOP + PITCH * (i + 0.5)
        start, end = sorted((at(0.0), at(row.value)))
        parts.append(
            fill(
                '<g style="opacity:{o}"><title>{told}</title><text class="name" x="{nx}" '
                'y="{ty}" text-anchor="end">{name}</text>'
                '<rect class="own" x="{start}" y="{top}" width="{w}" height="12"/>'
                '<line class="total" x1="{lo}" x2="{hi}" y1="{y}" y2="{y}"/>'
                '<line class="total" x1="{lo}" x2="{lo}" y1="{a}" y2="{b}"/>'
                '<line class="total" x1="{hi}" x2="{hi}" y1="{a}" y2="{b}"/>'
                '<text x="{mx}" y="{ty}">{mark}</text></g>',
                o=1 if row.clear else FAINT, told=_told(row), nx=LABELS - 12, ty=y + 4,
                name=wording.shorten(row.name, 32), start=start, w=round(end - start, 1),
                top=y - 6, lo=at(row.lower), hi=at(row.upper), y=y, a=y - 4, b=y + 4,
                mx=max(end, at(row.upper)) + 8,
                mark=f"{percent(row.value)} ± {percent(row.error)}",
            )
        )  # fmt: skip
    return _framed(WIDTH, bottom + BOTTOM, Markup("").join(parts))


def heatmap(table: AnyMarginal, confidence: float) -> Markup:
    """Return a table of two attributes as coloured cells, the first attribute down the side."""
    from markupsafe import Markup

    rows, columns = table.values.shape
    cells = cell_rows(table, confidence)
    largest = max((cell.value for cell in cells), default=0.0) or 1.0
    step = min(62.0, (WIDTH - LABELS) / columns)
    height = 26 if rows <= MAX_NUMBERS else 18
    heads = [wording.shorten(short(label), 18) for label in table.domain.attributes[1].categories]
    head = round(16 + 5.2 * max(map(len, heads)))  # a letter is 7 wide, and turned by 45°
    parts = []
    for j in range(columns):
        x = round(LABELS + step * (j + 0.5), 1)
        parts.append(
            fill(
                '<text class="name" transform="translate({x},{y}) rotate(-45)">{t}</text>',
                x=x, y=head - 8, t=heads[j],
            )
        )  # fmt: skip
    for i, label in enumerate(table.domain.attributes[0].categories):
        y = head + height * i
        parts.append(
            fill(
                '<text class="name" x="{x}" y="{y}" text-anchor="end">{t}</text>',
                x=LABELS - 10, y=y + height / 2 + 4, t=wording.shorten(short(label), 32),
            )
        )  # fmt: skip
        for j in range(columns):
            cell = cells[i * columns + j]
            x = round(LABELS + step * j, 1)
            share = min(max(cell.value / largest, 0.0), 1.0)
            number = (
                fill(
                    '<text class="{kind}" style="opacity:{o}" x="{x}" y="{y}" '
                    'text-anchor="middle">{t}</text>',
                    kind="on hot" if share > 0.5 else "on", o=1 if cell.clear else FAINT,
                    x=round(x + step / 2, 1),
                    y=y + height / 2 + 4, t=percent(cell.value, 1),
                )
                if columns <= MAX_NUMBERS
                else Markup("")
            )  # fmt: skip
            parts.append(
                fill(
                    '<g><title>{told}</title><rect class="heat" style="--s:{s}" x="{x}" y="{y}" '
                    'width="{w}" height="{h}"/>{number}</g>',
                    told=_told(cell), s=round(share, 3), x=x, y=y, w=round(step - 1, 1),
                    h=height - 1, number=number,
                )
            )  # fmt: skip
    return _framed(WIDTH, head + height * rows + 4, Markup("").join(parts))


def _told(row: CellRow) -> str:
    return (
        f"{row.name}: {percent(row.value)} %, standard error {percent(row.error)}, "
        f"limits {percent(row.lower)} to {percent(row.upper)}"
    )


def _framed(width: float, height: float, parts: Markup) -> Markup:
    return fill(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img">{parts}</svg>',
        w=width, h=round(height, 1), parts=parts,
    )  # fmt: skip
