"""Disclosure risk as text for a terminal: comparisons, selections, cards, power."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.plan.power_families import FamilyReport
from seepage.plan.power_rooms import KINDS
from seepage.plan.powering import PowerReport
from seepage.plan.risking import RiskCard, RiskComparison, Row
from seepage.report.card_svg import FLAGGING, number
from seepage.report.family_text import family_parts
from seepage.report.layout import MIN_WIDTH, bar, bullet, clip, closing, printable, section
from seepage.report.risk_charts import chosen
from seepage.risk._rounding import percent
from seepage.risk.disclosure import Disclosure
from seepage.risk.selection import Selection

CELL = 11
AnyRisk = RiskComparison | Selection | RiskCard | PowerReport | FamilyReport

NEXT_RISK = [
    ("seepage risk card …", "one page for people who do not know the parameters"),
    ("seepage risk choose", "from what may happen to a parameter"),
    ("seepage power …", "what a test of the analyst keeps"),
]
NEXT_CHOOSE = [
    ("seepage power … ", "whether the analyst's test bears it"),
    ("seepage risk card …", "one page about the choice"),
]
NEXT_CARD = [("--html card.html", "the card as a page"), ("--chart card.png", "as a picture")]
NEEDED = ("--target-loss 0.05", "the least that the test needs")
ALLOWED = ("--attack-power 0.1", "the most that a limit on the attacker allows")
NEXT_POWER = [("--chart region.png", "both sides as a picture")]


def risk_text(result: AnyRisk, width: int | None = None, *, used: Iterable[str] = ()) -> RiskText:
    """Return a result as a Rich renderable.

    Parameters
    ----------
    result : RiskComparison, Selection, RiskCard or PowerReport
    width : int, optional
        Width in cells; the console's by default.
    used : iterable of str
        Options that were given, which are not offered again.
    """
    return RiskText(result, width, frozenset(used))


@dataclass(frozen=True, eq=False)
class RiskText:
    """A result laid out for the width of a console; see `risk_text`."""

    result: AnyRisk
    width: int | None
    used: frozenset[str] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        for line in Text(printable(result.verdict)).wrap(console, width):
            line.stylize("bold")
            yield line
        match result:
            case RiskComparison():
                yield from _comparison(result.disclosures, width, console)
                steps = NEXT_RISK
            case Selection():
                yield from _selection(result, width, console)
                steps = NEXT_CHOOSE
            case RiskCard():
                yield from _card(result, width, console)
                steps = NEXT_CARD
            case FamilyReport():
                yield from family_parts(result, width, console)
                steps = NEXT_POWER
            case _:
                yield from _power(result, width, console)
                steps = _next_power(result)
        steps = [step for step in steps if step[0].split()[0] not in self.used]
        yield from closing(result.assumptions, steps, width, console)
        if isinstance(result, RiskCard):
            yield from section("Not protected")
            for sentence in result.not_protected:
                yield from bullet(sentence, width, console)


def table(
    rows: Iterable[tuple[str, list[str]]], head: tuple[str, list[str]], width: int
) -> Iterable[Text]:
    """Yield the lines of a table: a name, and cells to the right."""
    lines = list(rows)
    room = width - CELL * len(head[1])
    label = max(12, min(room, max(cell_len(printable(name)) for name, _ in (head, *lines)) + 1))
    for i, (name, cells) in enumerate((head, *lines)):
        numbers = "".join(f"{cell:>{CELL}}" for cell in cells)
        style = "dim" if i == 0 else ""
        yield Text.assemble(clip(printable(name), label), numbers, style=style)


def _comparison(found: tuple[Disclosure, ...], width: int, console: Console) -> Iterable[Text]:
    rate = percent(found[0].alpha0)
    yield from section("Side by side", f"of 100, at most; false-alarm rate {rate} or more")
    cards = [RiskCard(item) for item in found]
    priors = found[0].priors.tolist()
    head = ("", [*(f"from {percent(prior)}" for prior in priors), "found", "fails"])
    rows = [
        (item.name, [*_numbers(card.comparison[1]), item.failure.replace("astrophic", ".")])
        for item, card in zip(found, cards, strict=True)
    ]
    rows.insert(0, ("Nothing is released", [*_numbers(cards[0].comparison[0]), "none"]))
    yield from table(rows, head, width)
    for sentence in (
        "from …: of 100 people flagged, those for whom the suspicion is true, by the belief before",
        "found: of 100 people for whom it is true, those flagged",
        "fails: none, gracefully (certainty is approached), or catastrophically (some are proven)",
    ):
        for line in Text(sentence, style="dim").wrap(console, width - 2):
            yield Text.assemble("  ", line)
    for item in found:
        yield from section(printable(item.name))
        size = item.priors.size
        said = item.statements if len(found) == 1 else item.statements[size + 1 : size + 3]
        for statement in said:
            yield from bullet(statement.text, width, console)


def _numbers(row: Row) -> list[str]:
    return [number(value) for value in (*row.beliefs, row.found)]


def _selection(result: Selection, width: int, console: Console) -> Iterable[Text]:
    yield from section("Admissible", "the largest parameter of each family")
    head = ("Mechanism", ["parameter", "up to", "fails"])
    rows = []
    for choice in result.choices:
        symbol = "ε" if choice.parameter == "epsilon" else "μ"
        rows.append((choice.label, [symbol, choice.most, choice.failure.replace("astrophic", ".")]))
    yield from table(rows, head, width)
    if result.excluded:
        yield from section("Left out")
        for row in result.excluded:
            yield from bullet(f"{row.label}: {row.reason}.", width, console)
    yield from section("What that means for a person", "at the largest parameter")
    for item in chosen(result).disclosures:
        yield from bullet(item.verdict, width, console)


def _card(card: RiskCard, width: int, console: Console) -> Iterable[Text]:
    about = Text(f"The attacker's suspicion: {card.suspicion}. {FLAGGING}")
    yield from about.wrap(console, width)
    parts = (
        ("What can happen to a person in the data", card.events),
        ("What an attacker gains", card.beliefs),
        ("How likely", card.chances),
    )
    for title, statements in parts:
        yield from section(title)
        for statement in statements:
            yield from bullet(statement.text, width, console)
    yield from section("Compared with what", "of 100")
    priors = card.disclosure.priors.tolist()
    head = ("", [*(f"from {percent(prior)}" for prior in priors), "found"])
    yield from table([(row.name, _numbers(row)) for row in card.comparison], head, width)
    if card.fewer:
        for line in Text(card.fewer, style="dim").wrap(console, width - 2):
            yield Text.assemble("  ", line)
    if card.kept:
        yield from section("What the analyst keeps")
        for sentence in card.kept:
            yield from bullet(sentence, width, console)


def _next_power(report: PowerReport) -> list[tuple[str, str]]:
    """What may be asked next: nothing that was given, or that does not go with it."""
    if report.result.protection is not None:
        return NEXT_POWER
    wishes = report.wishes
    needed = [] if wishes.target_loss is not None else [NEEDED]
    return [*needed, *([] if wishes.given else [ALLOWED]), *NEXT_POWER]


def _power(report: PowerReport, width: int, console: Console) -> Iterable[Text]:
    result = report.result
    yield from section("The test")
    shown = [("without protection", result.unprotected)]
    if result.protection is not None:
        shown.append(("with protection", result.power))
    for name, power in shown:
        yield Text.assemble(f"  {name:<20}", (bar(power, 30), "cyan"), f" {power:.4f}")
    if result.standard_error:
        yield Text(f"  Monte Carlo error {result.standard_error:.2g}", style="dim")
    if result.law_error > 5e-5:
        yield Text(f"  error of the law used at most {result.law_error:.1g}", style="dim")
    if report.need is not None and report.bare is not None:
        yield from bullet(report.bare.verdict, width, console)
    if report.rooms:
        yield from bullet(report.result.verdict, width, console)
    for room in report.rooms:
        yield from section(KINDS[room.family])
        yield from bullet(room.sentence, width, console)
        if room.utility is not None:
            yield from bullet(f"The wish: {room.utility.meaning}.", width, console)
        yield from risk_lines(room.disclosure, width, console)
    if report.risk is not None:
        yield from section("What that means for a person in the data")
        yield from risk_lines(report.risk, width, console)


def risk_lines(found: Disclosure, width: int, console: Console) -> Iterable[Text]:
    """Yield what an attacker learns, in sentences."""
    yield Text(f"  {printable(found.name)}:", style="dim")
    for statement in found.statements[: found.priors.size + 3]:
        yield from bullet(statement.text, width, console)
