"""Self-contained pages of disclosure risk, of choices, of power, and the risk card."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.plan.power_families import FamilyReport
from seepage.plan.power_rooms import KINDS, Wishes, protected_risk
from seepage.plan.powering import PowerReport
from seepage.plan.risking import NOT_PROTECTED, RiskCard, RiskComparison
from seepage.report import card_svg
from seepage.report.risk_charts import chosen, comparison_chart, power_chart
from seepage.report.templating import render
from seepage.risk._rounding import round_down, round_up, words
from seepage.risk.planning import NeedResult
from seepage.risk.power import PowerResult, describe
from seepage.risk.selection import Selection

if TYPE_CHECKING:
    import altair as alt
    from markupsafe import Markup

    from seepage.risk.disclosure import Disclosure


def card_page(card: RiskCard, *, date: str | None = None) -> str:
    """Return the risk card as a page.

    Parameters
    ----------
    card : RiskCard
    date : str, optional
        Shown in the footer; today by default.
    """
    return render(
        "card.html.j2",
        date=date,
        title=f"Risk card: {card.disclosure.name}",
        card=card,
        flagging=card_svg.FLAGGING,
        caption=card_svg.caption(card),
        headings=card_svg.headings(card),
        number=card_svg.number,
        table_note=card_svg.table_note(card),
        beliefs=card_svg.beliefs(card),
        bars=card_svg.power_bars(card),
    )


def comparison_page(result: RiskComparison, *, date: str | None = None) -> str:
    """Return the page of mechanisms side by side; see `card_page`."""
    return _risks(
        result, result, "What an attacker learns", "Disclosure risk", date, choices=[], excluded=[]
    )


def selection_page(result: Selection, *, date: str | None = None) -> str:
    """Return the page of a choice; see `card_page`."""
    choices = [
        {
            "label": choice.label,
            "symbol": "ε" if choice.parameter == "epsilon" else "μ",
            "most": choice.most,
            "failure": choice.failure,
            "adjacency": choice.curve.adjacency,
        }
        for choice in result.choices
    ]
    excluded = [f"{row.label}: {row.reason}." for row in result.excluded]
    return _risks(
        result, chosen(result), "Mechanisms within a limit", "Choice", date,
        choices=choices, excluded=excluded,
    )  # fmt: skip


def _risks(
    result: RiskComparison | Selection,
    compared: RiskComparison,
    title: str,
    kicker: str,
    date: str | None,
    **context: Any,
) -> str:
    found = compared.disclosures
    first = RiskCard(found[0])
    rows = [_row("Nothing is released", first, 0, "1", "none")]
    for item in found:
        ratio = item.relative_risk_at_floor
        times = "no limit" if math.isinf(ratio) else f"× {words(round_up(ratio))}"
        rows.append(_row(item.name, RiskCard(item), 1, times, item.failure))
    return render(
        "risk.html.j2",
        date=date,
        title=title,
        kicker=kicker,
        result=result,
        disclosures=found,
        flagging=card_svg.FLAGGING,
        headings=card_svg.headings(first),
        rows=rows,
        table_note=card_svg.table_note(first, whole=False),
        chart=drawn(comparison_chart(compared), "Beliefs before and after an alarm"),
        curves=drawn(comparison_chart(compared, "curves"), "Power over false-alarm rate"),
        not_protected=NOT_PROTECTED,
        **context,
    )


def _row(name: str, card: RiskCard, line: int, ratio: str, failure: str) -> dict[str, Any]:
    row = card.comparison[line]
    numbers = [card_svg.number(value) for value in (*row.beliefs, row.found)]
    return {"name": name, "numbers": numbers, "ratio": ratio, "failure": failure}


def power_page(report: PowerReport, *, date: str | None = None) -> str:
    """Return the page of a test seen from both sides; see `card_page`."""
    rooms = [
        {
            "name": KINDS[room.family],
            "symbol": room.symbol,
            "least": "–" if room.utility is None else _bound(room.least, "no bound"),
            "most": "–" if room.most is None else _bound(room.most, "any", up=False),
            "sentence": room.sentence.partition(": ")[2],
        }
        for room in report.rooms
    ]
    risks: list[Disclosure] = [room.disclosure for room in report.rooms]
    if report.risk is not None:
        risks.append(report.risk)
    name = describe(report.result.design)
    return render(
        "power.html.j2",
        facts=_facts(report),
        date=date,
        title=name[0].upper() + name[1:],
        result=report,
        rooms=rooms,
        risks=risks,
        flagging=card_svg.FLAGGING,
        chart=drawn(power_chart(report), "Power of the test and of the attack"),
        not_protected=NOT_PROTECTED,
    )


def _facts(report: PowerReport) -> list[str]:
    """What stands below the verdict: the power, unless it says it, how sure it is, and k."""
    result = report.result
    facts = [] if result.verdict == report.verdict else [result.verdict]
    if result.standard_error:
        facts.append(f"Monte Carlo error of the power: {result.standard_error:.2g}.")
    if result.law_error > 5e-5:
        facts.append(f"Error of the law that was used: at most {result.law_error:.1g}.")
    k = getattr(result.protection, "k", None)
    if k is not None:
        sizes = k if isinstance(k, tuple) else (k,)
        facts.append(f"Number of answers k: {' and '.join(map(str, sizes))}.")
    return facts


def family_page(report: FamilyReport, *, date: str | None = None) -> str:
    """Return the page of several tests seen from both sides; see `card_page`."""
    from seepage.report.family_charts import family_chart
    from seepage.report.family_text import heading, rows_of

    tables = [
        {
            "name": KINDS[room.family],
            "head": heading(room)[1],
            "rows": rows_of(room, report),
            "sentence": room.sentence,
            "risk": room.disclosure,
        }
        for room in report.rooms
    ]
    return render(
        "family.html.j2",
        date=date,
        title="Several tests",
        result=report,
        tables=tables,
        flagging=card_svg.FLAGGING,
        chart=drawn(family_chart(report), "Power of the tests and of the attack"),
        not_protected=NOT_PROTECTED,
    )


def result_page(result: PowerResult | NeedResult, *, date: str | None = None) -> str:
    """Return the page of one power, effect or number of records, with its risk; see `card_page`."""
    return power_page(alone(result), date=date)


def alone(result: PowerResult | NeedResult) -> PowerReport:
    """A result as the report that would hold it, with the risk of its protection."""
    need = result if isinstance(result, NeedResult) else None
    at = result.at if isinstance(result, NeedResult) else result
    risk = None if at.protection is None else protected_risk(at.design, at.protection)
    return PowerReport(at, need, None, risk, (), None, Wishes({}))


def _bound(value: float, endless: str, *, up: bool = True) -> str:
    if math.isinf(value):
        return endless
    return words((round_up if up else round_down)(value, 4))


def drawn(chart: alt.TopLevelMixin, words: str) -> Markup:
    """Return a chart as a picture in a page, which the style of the page does not reach.

    Parameters
    ----------
    chart : Altair chart
    words : str
        What it shows, for those who cannot see it.
    """
    import base64
    import tempfile
    from pathlib import Path

    from seepage.report.charts import save_chart
    from seepage.report.svg import fill

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        save_chart(chart, path)
        content = base64.b64encode(path.read_bytes()).decode()
    return fill('<img src="data:image/svg+xml;base64,{c}" alt="{w}">', c=content, w=words)
