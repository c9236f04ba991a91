"""Charts of budgets and totals as inline SVG: one row for each attribute, in the page's colours.

Names come from the data; they are escaped wherever they are put.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seepage.report import wording

if TYPE_CHECKING:
    from markupsafe import Markup

    from seepage.plan.totals import TotalLeakage
    from seepage.report.budget_words import BudgetRow

WIDTH = 860
LABELS = 200
RIGHT = 96
TOP = 26
BOTTOM = 26
MAX_LABEL = 28
DENSE = 15
"""Above so many attributes, rows are closer."""

OVER = 1.03
"""Where ∞ is drawn, as a multiple of the largest finite value."""


def ticks(largest: float, count: int = 6) -> list[float]:
    """Return round numbers from 0 to at most `largest`, about `count` of them."""
    if not 0 < largest < math.inf:
        return [0.0]
    raw = largest / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10, 20) if m * power >= raw * (1 - 1e-9))
    return [i * step for i in range(int(largest / step * (1 + 1e-9)) + 1)]


def budget_dots(rows: Sequence[BudgetRow], target: float) -> Markup:
    """Return the chart of a calibration.

    A dot is the calibrated budget, a diamond that of splitting equally, a bar the total; a dashed
    line is the target. What is infinite stands at the right edge, marked ∞.

    Parameters
    ----------
    rows : sequence of BudgetRow
        In the order shown.
    target : float
        In nats; no line when infinite.
    """
    values = [v for row in rows for v in (row.epsilon, row.uniform, row.total)]
    frame = _Frame.around((*values, target), len(rows))
    parts = [frame.grid()]
    if math.isfinite(target):
        parts.append(
            fill(
                '<line class="target" x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
                '<text class="read" x="{x}" y="{c}" text-anchor="middle">target {t}</text>',
                x=frame.at(target), a=TOP - 6, b=frame.bottom, c=TOP - 11, t=wording.nats(target),
            )
        )  # fmt: skip
    for y, row in zip(frame.lines(), rows, strict=True):
        own, equal, total = frame.at(row.epsilon), frame.at(row.uniform), frame.at(row.total)
        told = (
            f"{row.name}: ε {wording.nats(row.epsilon)}, {wording.nats(row.uniform)} when split "
            f"equally; total {wording.nats(row.total)}"
        )
        parts.append(
            fill(
                '<g><title>{told}</title>{name}<line class="span" x1="{own}" x2="{total}" '
                'y1="{y}" y2="{y}"/><line class="total" x1="{total}" x2="{total}" y1="{low}" '
                'y2="{high}"/><circle class="exact" cx="{own}" cy="{y}" r="4.5"/>'
                '<path class="equal" d="M{equal} {top}l6 6-6 6-6-6z"/>{mark}</g>',
                told=told, name=_name(row.name, y), own=own, equal=equal, total=total, y=y,
                low=y - 7, high=y + 7, top=y - 6,
                mark=_mark(max(own, total), y, "∞" if math.isinf(row.total) else row.note),
            )
        )  # fmt: skip
    return frame.around_parts(parts)


def total_bars(result: TotalLeakage) -> Markup:
    """Return the bars of total leakage, the largest first: own budget, then the others."""
    names = sorted(result, key=lambda name: -result[name])
    frame = _Frame.around([result[name] for name in names], len(names))
    parts = [frame.grid()]
    for y, name in zip(frame.lines(), names, strict=True):
        total = result[name]
        own = min(result.budgets[name], total)
        start, middle, end = frame.at(0.0), frame.at(own), frame.at(total)
        parts.append(
            fill(
                "<g><title>{told}</title>{name}"
                '<rect class="own" x="{start}" y="{top}" width="{own}" height="{h}"/>'
                '<rect class="others" x="{middle}" y="{top}" width="{rest}" height="{h}"/>'
                "{mark}</g>",
                told=f"{name}: own ε {wording.nats(own)}, total {wording.nats(total)}",
                name=_name(name, y), start=start, middle=middle, own=round(middle - start, 1),
                rest=round(end - middle, 1), top=y - 6, h=12,
                mark=_mark(end, y, wording.nats(total)),
            )
        )  # fmt: skip
    return frame.around_parts(parts)


def fill(template: str, **values: Any) -> Markup:
    """Fill a template of ours; texts are escaped, Markup is not."""
    from markupsafe import Markup

    safe = {
        name: wording.drawable(value) if type(value) is str else value
        for name, value in values.items()
    }
    return Markup(template).format(**safe)


def _name(name: str, y: float) -> Markup:
    return fill(
        '<text class="name" x="{x}" y="{y}" text-anchor="end">{name}</text>',
        x=LABELS - 12,
        y=y + 4,
        name=wording.shorten(name, MAX_LABEL),
    )


def _mark(x: float, y: float, text: str) -> Markup:
    return fill('<text x="{x}" y="{y}">{text}</text>', x=round(x + 9, 1), y=y + 4, text=text)


@dataclass(frozen=True)
class _Frame:
    """Axis from 0 to the largest finite value, and evenly spaced rows."""

    largest: float
    rows: int

    @classmethod
    def around(cls, values: Iterable[float], rows: int) -> _Frame:
        return cls(max((v for v in values if math.isfinite(v)), default=0.0) or 1.0, rows)

    @property
    def pitch(self) -> int:
        return 26 if self.rows <= DENSE else 18

    @property
    def bottom(self) -> int:
        return TOP + self.pitch * self.rows

    def at(self, value: float) -> float:
        room = WIDTH - RIGHT - LABELS
        return round(LABELS + room * min(value / self.largest, OVER), 1)

    def lines(self) -> list[float]:
        return [TOP + self.pitch * (i + 0.5) for i in range(self.rows)]

    def grid(self) -> Markup:
        from markupsafe import Markup

        lines = [
            fill(
                '<line class="gridline" x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
                '<text x="{x}" y="{c}" text-anchor="middle">{t}</text>',
                x=self.at(tick), a=TOP, b=self.bottom, c=self.bottom + 17, t=f"{tick:g}",
            )
            for tick in ticks(self.largest)
        ]  # fmt: skip
        unit = fill(
            '<text x="{x}" y="{y}" text-anchor="end">nats</text>', x=WIDTH, y=self.bottom + 17
        )
        return Markup("").join([*lines, unit])

    def around_parts(self, parts: Iterable[Markup]) -> Markup:
        from markupsafe import Markup

        return fill(
            '<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-labelledby="chart-title" '
            'aria-describedby="chart-note">{parts}</svg>',
            w=WIDTH,
            h=self.bottom + BOTTOM,
            parts=Markup("").join(parts),
        )
