"""Attacks as inline SVG in the page's colours: success against ε, or a row for each attacker."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from seepage.plan.attack_report import AttackReport, AttackRound
from seepage.report.attack_words import percent
from seepage.report.svg import fill, ticks
from seepage.results import Interval

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 860, 260
LEFT, RIGHT, TOP, BOTTOM = 150, 70, 18, 40
ROW = 34
GAP, LABEL = 9, 40
"""From a point to its label, and about the width of one."""

LOOKS = {"bayes": "exact", "tree": "grr", "boosting": "triad", "tabtransformer": "network"}
"""Class of the colour of each attacker."""

Place = Callable[[float, float], tuple[float, float]]
"""From ε and a share to a place in the picture."""


def attackers_picture(result: AttackReport) -> Markup:
    """Return a row for each attacker under the plan: share guessed rightly, limits, bound."""
    from markupsafe import Markup

    main = result.main
    bottom = TOP + ROW * len(main.attackers)
    parts = [*_shares(bottom), _mark(result.baseline, bottom, "now", "without reports")]
    parts.append(_mark(main.bound.accuracy, bottom, "total", "no attacker can exceed"))
    for number, each in enumerate(main.attackers):
        y = TOP + ROW * (number + 0.5)
        score = each.score.accuracy
        x, anchor = _beside(score, (result.baseline, main.bound.accuracy))
        parts.append(
            fill(
                '<g><title>{told}</title><text class="name" x="{a}" y="{t}" text-anchor="end">'
                '{name}</text><line class="span" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
                '<circle class="{k}" cx="{x}" cy="{y}" r="5"/>'
                '<text class="told" x="{b}" y="{t}" text-anchor="{anchor}">{value}</text></g>',
                told=f"{each.name}: {percent(score.estimate)}, {percent(score.lower)} to "
                f"{percent(score.upper)}",
                a=LEFT - 12, t=y + 4, name=each.name, low=_across(score.lower),
                high=_across(score.upper), y=y, k=LOOKS.get(each.name, "diagonal"),
                x=_across(score.estimate), b=x, anchor=anchor, value=percent(score.estimate),
            )
        )  # fmt: skip
    return fill(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img">{parts}</svg>',
        w=WIDTH, h=bottom + BOTTOM, parts=Markup("").join(parts),
    )  # fmt: skip


def _beside(score: Interval, marks: Sequence[float]) -> tuple[float, str]:
    """Where the value stands: right of the limits, or left of them if that crosses fewer marks."""
    right, left = _across(score.upper) + GAP, _across(score.lower) - GAP

    def struck(start: float) -> int:
        return sum(start <= _across(mark) <= start + LABEL for mark in marks)

    if struck(right) > struck(left - LABEL) and left - LABEL > LEFT:
        return left, "end"
    return right, "start"


def _across(share: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)


def _shares(bottom: float) -> list[Markup]:
    return [
        fill(
            '<line class="gridline" x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
            '<text x="{x}" y="{c}" text-anchor="middle">{t}</text>',
            x=_across(share), a=TOP, b=bottom, c=bottom + 17, t=f"{share:.0%}",
        )
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]  # fmt: skip


def _mark(share: float, bottom: float, look: str, told: str) -> Markup:
    return fill(
        '<line class="{k}" x1="{x}" x2="{x}" y1="{a}" y2="{b}"><title>{t}</title></line>',
        k=look, x=_across(share), a=TOP - 8, b=bottom, t=f"{told}: {percent(share)}",
    )  # fmt: skip


def sweep_picture(result: AttackReport) -> Markup:
    """Return success against ε: a line for each attacker, the bound, and success without reports.

    An infinite ε is left to the table.
    """
    from markupsafe import Markup

    rounds = [item for item in result.sweep if math.isfinite(item.epsilon)]
    largest = max((item.epsilon for item in rounds), default=1.0) or 1.0
    bottom = TOP + HEIGHT
    left = 50

    def at(epsilon: float, share: float) -> tuple[float, float]:
        x = left + (WIDTH - left - RIGHT) * epsilon / largest
        return round(x, 1), round(bottom - HEIGHT * share, 1)

    parts = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = at(0.0, share)[1]
        parts.append(
            fill(
                '<line class="gridline" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>'
                '<text x="{c}" y="{t}" text-anchor="end">{told}</text>',
                a=left, b=WIDTH - RIGHT, y=y, c=left - 8, t=y + 4, told=f"{share:.0%}",
            )
        )  # fmt: skip
    parts += [
        fill(
            '<text x="{x}" y="{y}" text-anchor="middle">{t}</text>',
            x=at(tick, 0)[0], y=bottom + 17, t=f"{tick:g}",
        )
        for tick in ticks(largest, 8)
    ]  # fmt: skip
    parts.append(fill('<text x="{x}" y="{y}">ε</text>', x=WIDTH - RIGHT + 14, y=bottom + 17))
    y = at(0, result.baseline)[1]
    parts.append(
        fill(
            '<line class="now" x1="{a}" x2="{b}" y1="{y}" y2="{y}"><title>{t}</title></line>',
            a=left, b=WIDTH - RIGHT, y=y, t=f"without reports: {percent(result.baseline)}",
        )
    )  # fmt: skip
    bounds = [(item.epsilon, item.bound.accuracy) for item in rounds]
    parts.append(_line([at(*each) for each in bounds], "bound", "no attacker can exceed"))
    for name in dict.fromkeys(each.name for item in rounds for each in item.attackers):
        if name != "prior":
            parts += _success(name, rounds, at)
    return fill(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img">{parts}</svg>',
        w=WIDTH, h=bottom + BOTTOM, parts=Markup("").join(parts),
    )  # fmt: skip


def _line(points: Sequence[tuple[float, float]], look: str, told: str) -> Markup:
    d = "M" + "L".join(f"{x} {y}" for x, y in points)
    return fill('<path class="{k}" d="{d}"><title>{t}</title></path>', k=look, d=d, t=told)


def _success(name: str, rounds: Sequence[AttackRound], at: Place) -> list[Markup]:
    """The line of one attacker, with its limits."""
    look = LOOKS.get(name, "diagonal")
    found = [
        (item.epsilon, each.score.accuracy)
        for item in rounds
        for each in item.attackers
        if each.name == name
    ]
    parts = [_line([at(e, score.estimate) for e, score in found], look, name)]
    for epsilon, score in found:
        (x, y), low, high = at(epsilon, score.estimate), at(epsilon, score.lower), score.upper
        parts.append(
            fill(
                '<line class="span" x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
                '<circle class="{k}" cx="{x}" cy="{y}" r="3.5"><title>{t}</title></circle>',
                x=x, a=low[1], b=at(epsilon, high)[1], k=look, y=y,
                t=f"{name}, ε {epsilon:g}: {percent(score.estimate)}",
            )
        )  # fmt: skip
    return parts
