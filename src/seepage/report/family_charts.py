"""Chart of several tests and the attack on all their releases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError
from seepage.plan.power_rooms import KINDS
from seepage.report import palette
from seepage.report.charts import chart_title, styled

if TYPE_CHECKING:
    import altair as alt

    from seepage.plan.power_families import FamilyRegion, FamilyReport

SHADES = (palette.GRR, "#4d4a9c", palette.TRIAD, palette.INK, palette.MUTED, palette.OWN)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 2])


def family_chart(report: FamilyReport, kind: str = "region") -> alt.TopLevelMixin:
    """Return the chart of both sides: one picture for each family of protections.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    import altair as alt

    if kind != "region":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'region'."
        raise InvalidInputError(msg)
    panels = [_panel(region, first=i == 0) for i, region in enumerate(report.regions)]
    chart = alt.hconcat(*panels, spacing=28).properties(
        title=chart_title(
            "Both sides of the choice",
            "Plum: the attack on all releases together. Others: power of each test. "
            "Shaded: what meets the wishes of both.",
        )
    )
    return styled(chart)


def _panel(region: FamilyRegion, *, first: bool) -> Any:
    import altair as alt

    domain = [region.parameters[0], region.parameters[-1]]
    curves = {**region.powers, region.attack: region.attacks}
    rows = [
        {"parameter": x, "what": what, "value": value}
        for what, values in curves.items()
        for x, value in zip(region.parameters, values, strict=True)
    ]
    tests = len(region.powers)
    colours = [*(SHADES[i % len(SHADES)] for i in range(tests)), palette.EXACT]
    dashes = [*(DASHES[i % len(DASHES)] for i in range(tests)), [1, 0]]
    symbol = "ε" if region.family == "randomized_response" else "μ"
    x = alt.X("parameter:Q", scale=alt.Scale(type="log", domain=domain, nice=False))
    x = x.title(f"{symbol} of each release (larger protects less)")
    layers: list[alt.Chart] = []
    least, most = region.least, region.most
    low = domain[0] if least is None else max(least, domain[0])
    high = domain[1] if most is None else min(most, domain[1])
    if low < high:
        shade = alt.Chart(alt.InlineData(values=[{"low": low, "high": high}]))
        layers.append(
            shade.mark_rect(color=palette.GRR, opacity=0.16).encode(x=alt.X("low:Q"), x2="high:Q")
        )
    for end, colour in ((least, palette.GRR), (most, palette.EXACT)):
        if end is not None and domain[0] <= end <= domain[1]:
            rule = alt.Chart(alt.InlineData(values=[{"at": end}]))
            layers.append(rule.mark_rule(color=colour, strokeWidth=1.5).encode(x="at:Q"))
    if region.ceiling is not None and math.isfinite(region.ceiling):
        rule = alt.Chart(alt.InlineData(values=[{"level": region.ceiling}]))
        layers.append(rule.mark_rule(color=palette.EXACT, strokeDash=[5, 4]).encode(y="level:Q"))
    layers.append(
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2.2, interpolate="monotone")
        .encode(
            x=x.axis(format="~g", tickCount=6, grid=False),
            y=alt.Y("value:Q", scale=alt.Scale(domain=[0, 1]))
            .title("probability" if first else None)
            .axis(tickCount=5),
            color=alt.Color("what:N", sort=None)
            .scale(domain=list(curves), range=colours)
            .legend(title=None, orient="bottom", columns=1, labelLimit=460),
            strokeDash=alt.StrokeDash("what:N", sort=None)
            .scale(domain=list(curves), range=dashes)
            .legend(title=None),
        )
    )
    title = KINDS[region.family]
    if least is not None and most is not None and least > most:
        title += ": no room"
    return alt.layer(*layers).properties(
        width=330, height=250, title=alt.TitleParams(title, fontSize=13)
    )
