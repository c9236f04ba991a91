"""Redaction as inline SVG: lines over positions, and over ε, in the page's colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seepage.plan.redaction_comparison import RedactionComparison
from seepage.report import wording
from seepage.report.redaction_words import plan_lines, state_names, thinned
from seepage.report.svg import fill, ticks
from seepage.sequence.plan import RedactionPlan

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 860, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 18, 40
CLASSES = ("exact", "triad", "grr", "diagonal")
DOTTED = (*CLASSES, "quilt")
"""Classes whose lines have dots where they are short."""

MARKED = 80
"""Up to so many points a line has dots."""

MOST = 900
"""Points of a line."""

LOOKS = {
    "optimal": "exact",
    "certified": "grr",
    "data-independent": "diagonal",
    "quilt": "quilt",
    "published": "triad",
}


@dataclass(frozen=True)
class Line:
    """One line of a picture, with the class of its colour."""

    name: str
    look: str
    x: Sequence[float]
    y: Sequence[float]


def looks(count: int) -> list[str]:
    """Classes of so many lines."""
    return [CLASSES[i % len(CLASSES)] for i in range(count)]


def plan_picture(plan: RedactionPlan) -> Markup:
    """Return redaction probability by position, one line for each state."""
    where, table = plan_lines(plan)
    keep = thinned(len(where), MOST)
    names = state_names(plan)
    lines = [
        Line(name, look, [where[i] for i in keep], [float(table[i, j]) for i in keep])
        for j, (name, look) in enumerate(zip(names, looks(len(names)), strict=True))
    ]
    hidden = [p for p in plan.positions if where[0] <= p <= where[-1]]
    return _picture(lines, (where[0], where[-1]), (0.0, 1.0), "position", hidden)


def comparison_picture(result: RedactionComparison, what: str) -> Markup:
    """Return utility or leakage against ε, one line for each mechanism."""
    values = result.utilities if what == "utility" else result.leakages
    use = [i for i, e in enumerate(result.epsilons) if math.isfinite(e)]
    x = [result.epsilons[i] for i in use]
    lines = [
        Line(name, LOOKS[name], x, [values[name][i] for i in use])
        for name in values
        if name in LOOKS
    ]
    end = max(x, default=1.0) or 1.0
    finite = [y for line in lines for y in line.y if math.isfinite(y)]
    low, top = 0.0, max(finite, default=1.0) or 1.0
    if what == "utility":
        low, top = _around(min(finite, default=0.0), top)
    else:
        edge = min(end, top)  # with both ends in the picture, so that its slope is 1
        lines.append(Line("ε", "now", [0.0, edge], [0.0, edge]))
    return _picture(lines, (0.0, end), (low, top), "ε", [])


def _around(low: float, high: float) -> tuple[float, float]:
    """Round ends around two numbers in [0, 1]."""
    step = ticks(max(high - low, 0.01), 5)[1]
    return step * math.floor(low / step + 1e-9), min(step * math.ceil(high / step - 1e-9), 1.0)


def _picture(
    lines: Sequence[Line],
    across: tuple[float, float],
    up: tuple[float, float],
    unit: str,
    hidden: Sequence[int],
) -> Markup:
    from markupsafe import Markup

    bottom = TOP + HEIGHT
    span = (across[1] - across[0]) or 1.0
    height = (up[1] - up[0]) or 1.0

    def at_x(value: float) -> float:
        share = (value - across[0]) / span if across[1] > across[0] else 0.5
        return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)

    def at_y(value: float) -> float:
        return round(bottom - HEIGHT * (min(max(value, up[0]), up[1]) - up[0]) / height, 1)

    parts = [
        fill(
            '<line class="gridline" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>'
            '<text x="{c}" y="{t}" text-anchor="end">{told}</text>',
            a=LEFT, b=WIDTH - RIGHT, y=at_y(up[0] + tick), c=LEFT - 8, t=at_y(up[0] + tick) + 4,
            told=f"{up[0] + tick:.4g}",
        )
        for tick in ticks(height, 5)
    ]  # fmt: skip
    parts += [
        fill(
            '<text x="{x}" y="{y}" text-anchor="middle">{told}</text>',
            x=at_x(value), y=bottom + 17, told=f"{value:.10g}",
        )
        for value in _along(across, whole=unit == "position")
    ]  # fmt: skip
    parts.append(
        fill('<text x="{x}" y="{y}" text-anchor="end">{u}</text>', x=WIDTH - RIGHT, y=bottom + 34,
             u=unit)
    )  # fmt: skip
    parts += [
        fill('<line class="now" x1="{x}" x2="{x}" y1="{a}" y2="{b}"><title>{t}</title></line>',
             x=at_x(p), a=TOP - 8, b=bottom, t=f"protected record {p}")
        for p in hidden
    ]  # fmt: skip
    for line in lines:
        points = [(at_x(x), at_y(y)) for x, y in zip(line.x, line.y, strict=True)]
        d = "M" + "L".join(f"{x} {y}" for x, y in points)
        parts.append(
            fill('<path class="{k}" d="{d}"><title>{t}</title></path>', k=line.look, d=d,
                 t=line.name)
        )  # fmt: skip
        if len(points) <= MARKED and line.look in DOTTED:
            parts += [
                fill('<circle class="{k}" cx="{x}" cy="{y}" r="3"><title>{t}</title></circle>',
                     k=line.look, x=px, y=py,
                     t=f"{line.name}, {unit} {x:g}: {wording.nats(y, 4)}")
                for (px, py), x, y in zip(points, line.x, line.y, strict=True)
            ]  # fmt: skip
    return fill(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img">{parts}</svg>',
        w=WIDTH, h=bottom + BOTTOM, parts=Markup("").join(parts),
    )  # fmt: skip


def _along(across: tuple[float, float], *, whole: bool) -> list[float]:
    """Round numbers between two ends, whole ones for positions."""
    first, last = across
    if first == last:
        return [first]
    steps = ticks(last - first, 8)
    step = steps[1] if len(steps) > 1 else last - first
    if whole:
        step = math.ceil(step)
    start = math.ceil(first / step - 1e-9)
    return [step * i for i in range(start, math.floor(last / step + 1e-9) + 1)]
