"""Hundred people as a picture, of whom a number that need not be whole is marked; inline SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage.report.svg import fill

if TYPE_CHECKING:
    from markupsafe import Markup

ACROSS = 10
STEP = 12.0
SIDE = ACROSS * STEP


def hundred(marked: float, x: float, y: float, key: str, kind: str = "hit") -> Markup:
    """Return 100 people in ten rows.

    Parameters
    ----------
    marked : float
        How many of them are marked, in [0, 100], from the top left; a part of a person is marked
        from the left.
    x, y : float
        Top left corner.
    key : str
        Name of this picture in its page.
    kind : str
        Class of the marked ones.
    """
    whole, part = divmod(min(max(marked, 0.0), 100.0), 1)
    count = int(whole)
    rest = _people(range(count, 100), x, y)
    parts = fill('<path class="person" d="{d}"/>', d=rest)
    if count:
        parts += fill('<path class="{k}" d="{d}"/>', k=kind, d=_people(range(count), x, y))
    if part and count < 100:
        left, top = _place(count, x, y)
        parts += fill(
            '<clipPath id="{id}"><rect x="{x}" y="{y}" width="{w}" height="{h}"/></clipPath>'
            '<path class="{k}" clip-path="url(#{id})" d="{d}"/>',
            id=f"part-{key}", x=left + 1.6, y=top, w=round(max(6.8 * part, 0.3), 2), h=STEP,
            k=kind, d=_people([count], x, y),
        )  # fmt: skip
    return parts


def _place(index: int, x: float, y: float) -> tuple[float, float]:
    row, column = divmod(index, ACROSS)
    return round(x + STEP * column, 2), round(y + STEP * row, 2)


def _people(indices: range | list[int], x: float, y: float) -> str:
    """Outlines of people: a head, and shoulders."""
    drawn = []
    for index in indices:
        left, top = _place(index, x, y)
        drawn.append(
            f"M{left + 5:g} {top + 0.6:g}a2.1 2.1 0 1 0 .01 0Z"
            f"M{left + 1.6:g} {top + 10.6:g}v-2a3.4 3.2 0 0 1 6.8 0v2Z"
        )
    return "".join(drawn)
