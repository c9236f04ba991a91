"""Self-contained pages of retentions and of estimated relationships; they run no script."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.collect.attenuation import named, percent
from seepage.collect.correcting import CANNOT_TELL
from seepage.plan.relating import RelationshipEstimates, RetentionTable, categories_of
from seepage.report import palette, wording
from seepage.report.relationships_words import ranked, signed
from seepage.report.templating import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from seepage.collect.relationships import Estimate

MAX_ROWS = 500
"""Most relationships in the table of a page."""
LETTER = 7.4
"""Width of a letter, about."""
WRITTEN = 40
"""Least side of a cell that holds its number."""
RAMP = palette.ramp(33)


def retentions_page(result: RetentionTable, *, date: str | None = None) -> str:
    """Return the page of a table of retentions.

    Parameters
    ----------
    result : RetentionTable
    date : str, optional
        Shown in the footer; today by default.
    """
    rows = ranked(result)
    return render(
        "retentions.html.j2",
        date=date,
        title=f"Relationships that survive{_of(result.source)}",
        result=result,
        heading=result.source or "Relationships",
        rows=[
            (named(names), [percent(result.retentions[label][names]) for label in result.labels])
            for names in rows[:MAX_ROWS]
        ],
        hidden=max(0, len(rows) - MAX_ROWS),
        maps=[(label, heatmap(result, label)) for label in result.labels],
        sentences_of=[result.survival(label) for label in result.labels],
    )


def estimates_page(result: RelationshipEstimates, *, date: str | None = None) -> str:
    """Return the page of estimated relationships; see `retentions_page`."""
    columns = result.columns()
    rows = [
        {
            "name": name,
            "kind": item.kind,
            "cells": [
                (signed(item.estimate), item.recommended == "corrected"),
                (signed(item.standard_error), False),
                (_limits(item), False),
                (signed(item.uncorrected), item.recommended == "uncorrected"),
                (_root(item.mse_corrected), False),
                (_root(item.mse_uncorrected), False),
            ],
            "note": item.note,
            "categories": categories_of(item),
            "unsure": item.better == CANNOT_TELL,
        }
        for name, item in zip(columns["relationship"], result.estimates, strict=True)
    ]
    return render(
        "relationships.html.j2",
        date=date,
        title=f"Relationships estimated{_of(result.source)}",
        result=result,
        heading=result.source or "Relationships",
        needed=result.needed,
        clear=len(result.clear),
        rows=rows,
        level=f"{100 * result.estimates[0].confidence:g} %",
    )


def heatmap(result: RetentionTable, label: str) -> Markup | None:
    """Return the pairs of one allocation as inline SVG; None without pairs."""
    from markupsafe import Markup

    kept = {names: v for names, v in result.retentions[label].items() if len(names) == 2}
    names = [name for name in result.sizes if any(name in pair for pair in kept)]
    if not names:
        return None
    side = 54 if len(names) <= 10 else max(14, 540 // len(names))
    at = {name: i for i, name in enumerate(names)}
    short = {name: wording.shorten(name, 18) for name in names}
    longest = LETTER * max(map(len, short.values()))
    left, top = round(longest + 20), round(0.65 * longest + 24)
    parts: list[Any] = []
    for name, i in at.items():
        parts.append(
            Markup('<text class="name" x="{}" y="{}" text-anchor="end">{}</text>').format(
                left - 8, top + side * (i + 0.5) + 4, short[name]
            )
        )
        parts.append(
            Markup(
                '<text class="name" x="{0}" y="{1}" text-anchor="start" '
                'transform="rotate(-40 {0} {1})">{2}</text>'
            ).format(left + side * (i + 0.5), top - 8, short[name])
        )
    for pair, value in kept.items():
        for first, second in (pair, pair[::-1]):
            corner = (left + side * at[first], top + side * at[second])
            parts.append(_cell(corner, side, value, f"{first} × {second}"))
    width, height = round(left + side * len(names) + 0.8 * longest), top + side * len(names) + 4
    return Markup(
        '<svg class="chart" viewBox="0 0 {0} {1}" style="max-width:{0}px" role="img" '
        'aria-label="Share kept of each pair">{2}</svg>'
    ).format(width, height, Markup("").join(parts))


def _cell(corner: tuple[int, int], side: int, value: float, told: str) -> Markup:
    from markupsafe import Markup

    x, y = corner
    written = Markup("")
    if side >= WRITTEN:
        middle, colour = side / 2, "#fff" if value > 0.5 else palette.INK
        written = Markup(
            '<text x="{}" y="{}" text-anchor="middle" style="fill:{}">{}</text>'
        ).format(x + middle, y + middle + 4, colour, percent(value))
    return Markup(
        '<g><title>{}: {}</title><rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>{}</g>'
    ).format(
        wording.drawable(told), percent(value), x, y, side - 1, side - 1,
        RAMP[round(value * (len(RAMP) - 1))], written,
    )  # fmt: skip


def _of(source: str) -> str:
    return f": {source}" if source else ""


def _limits(item: Estimate) -> str:
    return "–" if item.lower is None else f"{signed(item.lower)} … {signed(item.upper)}"


def _root(value: float | None) -> str:
    return signed(None if value is None else math.sqrt(value))
