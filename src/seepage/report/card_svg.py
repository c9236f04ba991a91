"""The risk card as pictures: parts for its page, and one whole picture with all its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from seepage.plan.risking import RiskCard
from seepage.report import palette, wording
from seepage.report.people import SIDE, hundred
from seepage.report.svg import fill
from seepage.risk._rounding import percent, words

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_BELIEFS = 3
"""Starting beliefs in one row of pictures."""

PANEL = 290
BELIEFS_WIDTH = MAX_BELIEFS * PANEL
ROW_HEIGHT = 172
WIDTH, MARGIN = 940, 36
LETTER = 0.545
"""Mean width of a letter, as a multiple of its size; on the wide side."""

FLAGGING = "To flag somebody, or to raise an alarm, is to say that the suspicion is true."

STYLE = f"""
text{{font-family:system-ui,"Segoe UI","DejaVu Sans","Liberation Sans",sans-serif}}
text{{fill:{palette.MUTED};font-size:12px}}
.ink{{fill:{palette.INK}}}.strong,.read{{fill:{palette.INK};font-weight:600}}
.head{{fill:{palette.EXACT};font-weight:600}}
.person{{fill:#dedae3}}.before{{fill:{palette.MUTED}}}.hit{{fill:{palette.EXACT}}}
.kept{{fill:{palette.GRR}}}.track{{fill:#eeebf1}}.arrow{{stroke:{palette.MUTED};stroke-width:1.6;fill:none}}
.line{{stroke:#dedae3}}
"""


def number(shown: float) -> str:
    """A number of a card as text, as it stands in its sentences."""
    return "∞" if math.isinf(shown) else words(Decimal(repr(float(shown))))


def beliefs(card: RiskCard) -> Markup:
    """Return the pictures of the starting beliefs, as an SVG element for a page."""
    height = ROW_HEIGHT * math.ceil(len(card.beliefs) / MAX_BELIEFS) - 12
    return fill(
        '<svg class="card" viewBox="0 0 {w} {h}" role="img" aria-labelledby="beliefs-title">'
        "{parts}</svg>",
        w=BELIEFS_WIDTH,
        h=height,
        parts=_beliefs(card, 0, 0),
    )


def _beliefs(card: RiskCard, x: float, y: float) -> Markup:
    from markupsafe import Markup

    parts = Markup("")
    pairs = zip(card.disclosure.priors.tolist(), card.beliefs, strict=True)
    for i, (prior, statement) in enumerate(pairs):
        row, column = divmod(i, MAX_BELIEFS)
        left, top = x + PANEL * column, y + ROW_HEIGHT * row
        parts += fill(
            "<g><title>{told}</title>{before}"
            '<path class="arrow" d="M{ax} {ay}h13m-4-4l4 4-4 4"/>{after}'
            '<text class="strong" x="{x}" y="{t}">before: {p}</text>'
            '<text class="read head" x="{rx}" y="{t}">{after_words}</text></g>',
            told=statement.text,
            before=hundred(100 * prior, left, top + 32, f"before-{i}", "before"),
            after=hundred(statement.shown, left + SIDE + 25, top + 32, f"after-{i}"),
            ax=left + SIDE + 4, ay=top + 32 + SIDE / 2, x=left + 1, rx=left + SIDE + 26,
            t=top + 20, p=percent(prior).replace(" %", " of 100"),
            after_words=_after(number(statement.shown)),
        )  # fmt: skip
    return parts


def _after(shown: str) -> str:
    """What stands above the right picture; less where the number is long."""
    return f"after: at most {shown}" if len(shown) <= 5 else f"at most {shown}"


def power_bars(card: RiskCard) -> Markup:
    """Return the bars of the tests, with and without protection, as an SVG element for a page."""
    return fill(
        '<svg class="card" viewBox="0 0 {w} {h}" role="img" aria-labelledby="kept-title">'
        "{parts}</svg>",
        w=BELIEFS_WIDTH,
        h=52 * len(card.tests),
        parts=_power_bars(card, 0, 0),
    )


def _power_bars(card: RiskCard, x: float, y: float) -> Markup:
    from markupsafe import Markup

    parts = Markup("")
    for i, test in enumerate(card.tests):
        for j, (label, power, kind) in enumerate(
            (
                ("without protection", test.unprotected, "before"),
                ("with protection", test.power, "kept"),
            )
        ):
            top = y + 52 * i + 21 * j
            parts += fill(
                '<text class="ink" x="{x}" y="{t}">{label}</text>'
                '<rect class="track" x="{bx}" y="{y}" width="400" height="14"/>'
                '<rect class="{k}" x="{bx}" y="{y}" width="{w}" height="14"/>'
                '<text class="ink" x="{vx}" y="{t}">found in about {v} of 100 studies</text>',
                x=x, t=top + 12, label=label, bx=x + 140, y=top + 1, w=round(400 * power, 1),
                k=kind, vx=x + 552, v=f"{100 * power:.3g}",
            )  # fmt: skip
    return parts


@dataclass
class _Page:
    """Text and pictures from top to bottom."""

    y: float = MARGIN
    parts: list[Markup] = field(default_factory=list)

    def text(self, content: str, size: int = 13, kind: str = "ink", indent: int = 0) -> None:
        room = (WIDTH - 2 * MARGIN - indent) / (size * LETTER)
        for line in wrapped(wording.drawable(content), int(room)):
            self.y += size * 1.45
            self.parts.append(
                fill(
                    '<text class="{k}" style="font-size:{s}px" x="{x}" y="{y}">{t}</text>',
                    k=kind, s=size, x=MARGIN + indent, y=round(self.y, 1), t=line,
                )
            )  # fmt: skip

    def bullets(self, sentences: Sequence[str], size: int = 13) -> None:
        for sentence in sentences:
            start = self.y + size * 1.45
            self.parts.append(
                fill(
                    '<text class="head" style="font-size:{s}px" x="{x}" y="{y}">•</text>',
                    s=size, x=MARGIN + 2, y=round(start, 1),
                )
            )  # fmt: skip
            self.text(sentence, size, indent=16)
            self.y += 3

    def heading(self, content: str) -> None:
        self.y += 16
        self.text(content, 16, "strong")
        self.y += 4

    def picture(self, parts: Markup, height: float) -> None:
        self.parts.append(parts)
        self.y += height


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most `room` letters; a longer word is broken."""
    import textwrap

    return textwrap.wrap(text, max(room, 20), break_on_hyphens=False) or [""]


def card_svg(card: RiskCard) -> str:
    """Return a card as one SVG picture, text and all; it needs nothing else.

    Parameters
    ----------
    card : RiskCard
    """
    from markupsafe import Markup

    page = _Page()
    page.text("Risk card", 13, "head")
    page.y += 4
    page.text(card.disclosure.name, 25, "strong")
    page.y += 4
    page.text(f"The attacker's suspicion: {card.suspicion}. {FLAGGING}", 13)
    page.heading("What can happen to a person in the data")
    page.bullets([statement.text for statement in card.events])
    page.heading("What an attacker gains")
    page.text(caption(card), 12, "note")
    rows = math.ceil(len(card.beliefs) / MAX_BELIEFS)
    page.picture(_beliefs(card, MARGIN, page.y + 6), 6 + ROW_HEIGHT * rows - 12)
    page.heading("How likely")
    page.bullets([statement.text for statement in card.chances])
    page.heading("Compared with what")
    _table(card, page)
    if card.tests:
        page.heading("What the analyst keeps")
        for i, sentence in enumerate(card.kept):
            page.text(sentence)
            one = RiskCard(card.disclosure, card.tests[i : i + 1])
            page.picture(_power_bars(one, MARGIN, page.y + 8), 56)
    page.heading("What is assumed")
    page.bullets(card.assumptions, 12)
    page.heading("What is not protected")
    page.bullets(card.not_protected, 12)
    height = round(page.y + MARGIN)
    svg = fill(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">'
        '<style>{style}</style><rect width="{w}" height="{h}" fill="white"/>{parts}</svg>',
        w=WIDTH,
        h=height,
        style=Markup(STYLE),
        parts=Markup("").join(page.parts),
    )
    return str(svg)


def caption(card: RiskCard) -> str:
    """How to read the pictures of the beliefs."""
    text = (
        "Left, of 100 people whom the attacker examines: those for whom the suspicion is true. "
        "Right, of 100 whom he flags after seeing the release: those for whom it is true, at most"
    )
    if card.disclosure.alpha0:
        rate = percent(card.disclosure.alpha0)
        text += f", when {rate} or more of the others are flagged too (false alarms)"
    return text + "."


def headings(card: RiskCard) -> tuple[str, ...]:
    """Heads of the columns of the comparison."""
    return (
        *(f"belief was {percent(prior)}" for prior in card.disclosure.priors.tolist()),
        "found, of 100",
    )


def _table(card: RiskCard, page: _Page) -> None:
    columns = headings(card)
    step = min(140.0, (WIDTH - 2 * MARGIN - 250) / len(columns))
    ends = [MARGIN + 250 + step * (i + 1) for i in range(len(columns))]

    def line(cells: Sequence[str], name: str, kind: str) -> None:
        page.y += 21
        page.parts.append(
            fill('<text class="{k}" x="{x}" y="{y}">{t}</text>', k=kind, x=MARGIN, y=page.y, t=name)
        )
        for x, cell in zip(ends, cells, strict=True):
            page.parts.append(
                fill(
                    '<text class="{k}" x="{x}" y="{y}" text-anchor="end">{t}</text>',
                    k=kind, x=x, y=page.y, t=cell,
                )
            )  # fmt: skip
        page.parts.append(
            fill(
                '<line class="line" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>',
                a=MARGIN, b=ends[-1], y=page.y + 6,
            )
        )  # fmt: skip

    line(columns, "of 100 flagged, true for at most", "note")
    for i, row in enumerate(card.comparison):
        cells = [number(value) for value in (*row.beliefs, row.found)]
        line(cells, row.name, "strong" if i == 1 else "ink")
    page.y += 6
    page.text(table_note(card), 12, "note")


def table_note(card: RiskCard, *, whole: bool = True) -> str:
    """What the columns of the comparison are; `whole` with the line of everything released."""
    rate = percent(card.disclosure.alpha0)
    text = (
        "Found: of 100 people for whom the suspicion is true, those whom the attack flags, at most"
        f", on average, at a false-alarm rate of {rate}"
    )
    if not whole:
        return text + "."
    text += ": so many of the others are flagged too, also where everything is released."
    return f"{text} {card.fewer}".rstrip()


def card_picture(card: RiskCard, suffix: str) -> bytes:
    """Return a card as a picture.

    Parameters
    ----------
    card : RiskCard
    suffix : {".png", ".svg"}
    """
    text = card_svg(card)
    if suffix == ".svg":
        return text.encode()
    import vl_convert

    png: bytes = vl_convert.svg_to_png(text, scale=2.0)
    return png
