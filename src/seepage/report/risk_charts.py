"""Charts of disclosure risk and of power, as Altair specifications."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.power_rooms import KINDS as TITLES
from seepage.plan.power_rooms import Region
from seepage.plan.powering import PowerReport
from seepage.plan.risking import RiskComparison
from seepage.report import palette
from seepage.report.card_svg import number
from seepage.report.charts import chart_title, styled
from seepage.risk._rounding import percent
from seepage.risk.disclosure import Disclosure, disclosure
from seepage.risk.selection import Selection

if TYPE_CHECKING:
    import altair as alt

KINDS = ("beliefs", "curves")
LEAST_RATE = 1e-4
CURVES = (palette.EXACT, palette.GRR, palette.TRIAD, "#4d4a9c", palette.INK, palette.MUTED)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 0], [4, 4])
MAX_CURVES = len(CURVES)


def comparison_chart(result: RiskComparison, kind: str = "beliefs") -> alt.TopLevelMixin:
    """Return a chart of mechanisms side by side.

    Parameters
    ----------
    result : RiskComparison
    kind : {"beliefs", "curves"}
        Beliefs before and after an alarm; or the power of the best attack over its false-alarm
        rate, of up to six mechanisms.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    if kind not in KINDS:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    return _beliefs(result.disclosures) if kind == "beliefs" else _curves(result)


def selection_chart(result: Selection, kind: str = "beliefs") -> alt.TopLevelMixin:
    """Return the same chart of the choices, each at its largest parameter."""
    return comparison_chart(chosen(result), kind)


def chosen(result: Selection) -> RiskComparison:
    """The choices, each at its largest parameter, side by side."""
    limit = result.limit
    options: dict[str, Any] = {"alpha0": limit.alpha0 or 0.01}
    if limit.prior is not None:
        options["prior"] = limit.prior
    found = []
    for choice in result.choices:
        symbol = "ε" if choice.parameter == "epsilon" else "μ"
        name = choice.named(symbol)
        found.append(disclosure(choice.curve, name=name[0].upper() + name[1:], **options))
    return RiskComparison(tuple(found))


def _beliefs(found: tuple[Disclosure, ...]) -> alt.TopLevelMixin:
    import altair as alt

    names = list(dict.fromkeys(item.name for item in found))
    priors = found[0].priors.tolist()
    panels = []
    for i, prior in enumerate(priors):
        rows = [
            {
                "mechanism": item.name,
                "before": 100 * prior,
                "after": item.statements[1 + i].shown,
                "told": number(item.statements[1 + i].shown),
            }
            for item in found
        ]
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            y=alt.Y("mechanism:N", sort=None, scale=alt.Scale(domain=names))
            .title(None)
            .axis(labels=i == 0, labelLimit=300, ticks=False)
        )
        axis = alt.Axis(values=[0, 25, 50, 75, 100])
        scale = alt.Scale(domain=[0, 100])
        bars = base.mark_bar(color=palette.EXACT, height=15).encode(
            x=alt.X("before:Q", scale=scale, axis=axis).title("of 100 flagged, true for"),
            x2="after:Q",
            tooltip=["mechanism:N", "before:Q", "told:N"],
        )
        start = base.mark_bar(color=palette.OWN, height=15).encode(
            x=alt.X("zero:Q"), x2="before:Q"
        ).transform_calculate(zero="0")  # fmt: skip
        told = base.mark_text(align="left", dx=4, color=palette.INK).encode(
            x="after:Q", text="told:N"
        )
        panels.append(
            alt.layer(start, bars, told).properties(
                width=max(120, 560 // len(priors)),
                height=alt.Step(28),
                title=alt.TitleParams(f"belief before: {percent(prior)}", fontSize=12),
            )
        )
    rate = found[0].alpha0
    where = f"at a false-alarm rate of {percent(rate)} or more" if rate else "at any rate"
    chart = alt.hconcat(*panels, spacing=36).properties(
        title=chart_title(
            "What the best attacker believes after an alarm",
            f"Grey: belief before; dark: what the release adds at most, {where}.",
        )
    )
    return styled(chart)


def _curves(result: RiskComparison) -> alt.TopLevelMixin:
    import altair as alt
    import numpy as np

    shown = result.disclosures[:MAX_CURVES]
    names = [found.name for found in shown]
    grid = np.concatenate((np.geomspace(LEAST_RATE, 0.1, 60), np.linspace(0.11, 1, 60)))
    rows = [
        {"mechanism": found.name, "rate": rate, "power": power}
        for found in shown
        for rate, power in zip(grid.tolist(), found.curve.power(grid).tolist(), strict=True)
    ]
    rows += [{"mechanism": "chance", "rate": rate, "power": rate} for rate in grid.tolist()]
    domain = [*names, "chance"]
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("rate:Q", scale=alt.Scale(type="log", domain=[LEAST_RATE, 1]))
            .title("false-alarm rate of the attacker")
            .axis(format="~p", values=[0.0001, 0.001, 0.01, 0.1, 1]),
            y=alt.Y("power:Q", scale=alt.Scale(domain=[0, 1])).title("power").axis(format="~p"),
            color=alt.Color("mechanism:N", sort=None)
            .scale(domain=domain, range=[*CURVES[: len(names)], palette.OWN])
            .legend(title=None, orient="bottom", columns=1, labelLimit=500),
            strokeDash=alt.StrokeDash("mechanism:N", sort=None)
            .scale(domain=domain, range=[*DASHES[: len(names)], [1, 0]])
            .legend(title=None),
        )
    )
    floor = (
        alt.Chart(alt.InlineData(values=[{"rate": max(result.alpha0, LEAST_RATE)}]))
        .mark_rule(color=palette.MUTED, strokeDash=[3, 3])
        .encode(x="rate:Q")
    )
    chart = alt.layer(floor, lines).properties(
        width=520,
        height=300,
        title=chart_title(
            "Power of the best attack",
            "Share of the people for whom the suspicion is true that he flags.",
        ),
    )
    return styled(chart)


def power_chart(report: PowerReport, kind: str = "region") -> alt.TopLevelMixin:
    """Return the chart of both sides: one picture for each family of protections.

    Without a protection or a wish it is the power of the test over the number of records.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    import altair as alt

    if kind != "region":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'region'."
        raise InvalidInputError(msg)
    regions = report.regions
    if not regions:
        return _sizes(report)
    panels = [_region(region, first=i == 0) for i, region in enumerate(regions)]
    tests = f"power of the test at level {report.result.alpha:g}, {report.result.n:,} records"
    chart = alt.hconcat(*panels, spacing=28).properties(
        title=chart_title(
            "Both sides of the choice",
            f"Teal: {tests}. Plum: the attacker. Shaded: what meets the wishes of both.",
        )
    )
    return styled(chart)


def _region(region: Region, *, first: bool) -> Any:
    import altair as alt

    domain = [region.parameters[0], region.parameters[-1]]
    test, attack = "Analyst's test finds the effect", region.attack
    rows = [
        {"parameter": x, "what": what, "value": value}
        for what, values in ((test, region.powers), (attack, region.attacks))
        for x, value in zip(region.parameters, values, strict=True)
    ]
    symbol = "ε" if region.family == "randomized_response" else "μ"
    x = alt.X("parameter:Q", scale=alt.Scale(type="log", domain=domain, nice=False))
    x = x.title(f"{symbol} (larger protects less)").axis(format="~g", tickCount=6, grid=False)
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1]))
    y = y.title("probability" if first else None).axis(tickCount=5)
    layers: list[alt.Chart] = []
    least, most = region.least, region.most
    low = domain[0] if least is None else max(least, domain[0])
    high = domain[1] if most is None else min(most, domain[1])
    if low < high and (least is not None or most is not None):
        layers.append(
            alt.Chart(alt.InlineData(values=[{"low": low, "high": high}]))
            .mark_rect(color=palette.GRR, opacity=0.16)
            .encode(x=alt.X("low:Q"), x2="high:Q")
        )
    for end, colour in ((least, palette.GRR), (most, palette.EXACT)):
        if end is not None and domain[0] <= end <= domain[1]:
            layers.append(
                alt.Chart(alt.InlineData(values=[{"at": end}]))
                .mark_rule(color=colour, strokeWidth=1.5)
                .encode(x="at:Q")
            )
    for level, colour in ((region.unprotected, palette.GRR), (region.ceiling, palette.EXACT)):
        if level is not None and math.isfinite(level):
            layers.append(
                alt.Chart(alt.InlineData(values=[{"level": level}]))
                .mark_rule(color=colour, strokeDash=[5, 4])
                .encode(y="level:Q")
            )
    layers.append(
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2.4, interpolate="monotone")
        .encode(
            x=x,
            y=y,
            color=alt.Color("what:N", sort=None)
            .scale(domain=[test, attack], range=[palette.GRR, palette.EXACT])
            .legend(title=None, orient="bottom", columns=1, labelLimit=460),
        )
    )
    title = TITLES[region.family]
    if least is not None and most is not None and least > most:
        title += ": no room"
    return alt.layer(*layers).properties(
        width=330, height=250, title=alt.TitleParams(title, fontSize=13)
    )


def _sizes(report: PowerReport) -> alt.TopLevelMixin:
    """Power over the number of records, without protection."""
    import altair as alt
    import numpy as np

    from seepage.risk.power import MAX_RECORDS, power

    asked = report.result
    spread = np.geomspace(max(1, asked.n / 10), min(asked.n * 10, MAX_RECORDS), 41)
    sizes = sorted({round(n) for n in spread.tolist()} | {asked.n})
    rows = [
        {
            "n": n,
            "power": power(
                asked.design, asked.effect, n, asked.alpha, alternative=asked.alternative
            ).power,
        }
        for n in sizes
    ]
    line = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(color=palette.GRR, strokeWidth=2.4)
        .encode(
            x=alt.X("n:Q", scale=alt.Scale(type="log", nice=False))
            .title("records")
            .axis(grid=False),
            y=alt.Y("power:Q", scale=alt.Scale(domain=[0, 1])).title("power"),
        )
    )
    dot = (
        alt.Chart(alt.InlineData(values=[{"n": asked.n, "power": asked.power}]))
        .mark_point(filled=True, size=90, color=palette.EXACT, opacity=1)
        .encode(x="n:Q", y="power:Q")
    )
    title = chart_title("Power over the number of records", f"At level {asked.alpha:g}.")
    return styled(alt.layer(line, dot).properties(width=520, height=300, title=title))
