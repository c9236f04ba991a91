"""Charts of results, as Altair specifications that render without a network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.audit_result import AuditResult, PairLeakage
from seepage.report import palette, wording
from seepage.results import write_bytes, write_text

if TYPE_CHECKING:
    import altair as alt

KINDS = ("heatmap", "curves", "totals")
FORMATS = (".png", ".svg", ".pdf", ".json", ".html")
MAX_WRITTEN = 15
"""Up to so many attributes, cells hold their number."""

LESS_THAN = "(seepage:less-than)"

FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', 'Liberation Sans', sans-serif"


def audit_chart(result: AuditResult, kind: str = "heatmap", **options: Any) -> alt.TopLevelMixin:
    """Return a chart of an audit.

    Parameters
    ----------
    result : AuditResult
    kind : {"heatmap", "curves", "totals"}
    **options
        Of `heatmap`, `curves` or `totals`.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    makers = {"heatmap": heatmap, "curves": curves, "totals": totals}
    if kind not in makers:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    return makers[kind](result, **options)


def heatmap(result: AuditResult) -> alt.TopLevelMixin:
    """Secret (rows) by released attribute (columns); colour is the share of the budget that leaks.

    The scale is fixed: 0 where nothing leaks, 1 where the whole ε does. Where a budget is ∞ the
    colour is ``1 − e^−L``.
    """
    import altair as alt

    shown = wording.drawable_names(result.domain.names)
    names = [shown[name] for name in result.domain.names]
    # An explicit domain and no sort: Vega-Lite would compile a sort into an expression that holds
    # the labels, and some labels cannot be written there.
    d = len(names)
    side = 64 if d <= 8 else 46 if d <= MAX_WRITTEN else max(15, 760 // d)
    infinite = [math.isinf(pair.epsilon) for pair in result.pairs]
    if all(infinite):
        legend, subtitle = "1 − exp(−L)", "Colour: 1 − exp(−leakage), as the budgets are infinite."
    else:
        legend, subtitle = "Share of ε", "Colour: share of the released attribute's budget ε."
        if any(infinite):
            subtitle = "Colour: share of the released attribute's ε; 1 − exp(−leakage) where ε = ∞."
    x = alt.X("released:N", sort=None, scale=alt.Scale(domain=names)).title("Released attribute")
    y = alt.Y("secret:N", sort=None, scale=alt.Scale(domain=names)).title("Secret attribute")
    base = alt.Chart(alt.InlineData(values=[_cell(pair, shown) for pair in result.pairs])).encode(
        x=x.axis(orient="top", labelAngle=-45 if d <= MAX_WRITTEN else -90), y=y
    )
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color("strength:Q")
        .scale(domain=[0, 1], range=palette.ramp(), interpolate="lab", clamp=True)
        .legend(title=legend, format=".0%", gradientLength=min(200, max(80, d * side - 20))),
        tooltip=[
            alt.Tooltip(f"{field}:N", title=title)
            for field, title in (
                ("secret", "Secret"),
                ("released", "Released"),
                ("epsilon", "ε"),
                ("leakage", "Leakage, exact (nats)"),
                ("share", "Share of ε"),
                ("triad", "Triad, upper (nats)"),
                ("grr", "GRR, exact (nats)"),
                ("information", "Mutual information (nats; no bound)"),
                ("values", "Worst secret values"),
                ("event", "Telling values"),
            )
        ],
    )
    layers: list[Any] = [cells]
    if d <= MAX_WRITTEN:
        layers.append(
            base.mark_text(fontSize=12 if d <= 8 else 11).encode(
                text="written:N",
                color=alt.condition(
                    "datum.strength > 0.5", alt.value("white"), alt.value("#1f1d24")
                ),
            )
        )
    written = " Numbers: nats." if d <= MAX_WRITTEN else ""
    chart = alt.layer(*layers).properties(
        width=d * side,
        height=d * side,
        title=chart_title("What each release leaks about the other attributes", subtitle + written),
    )
    return styled(chart)


def _cell(pair: PairLeakage, shown: Mapping[str, str]) -> dict[str, Any]:
    value = pair.leakage.value
    return {
        "secret": shown[pair.secret],
        "released": shown[pair.released],
        "value": value if math.isfinite(value) else None,
        "strength": wording.strength(value, pair.epsilon),
        "written": wording.nats(value, 2),
        "epsilon": wording.budget(pair.epsilon),
        "leakage": wording.nats(value, 4),
        "share": wording.share(value, pair.epsilon),
        "triad": wording.nats(pair.triad_leakage.value, 4),
        "grr": wording.nats(pair.grr_leakage.value, 4),
        "information": wording.nats(pair.mutual_information.value, 4),
        "values": wording.against(pair),
        "event": wording.label_list(pair.event) or "–",
    }


def curves(
    result: AuditResult,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    count: int = 6,
    log: bool = True,
) -> alt.TopLevelMixin:
    """Leakage against ε from 0.01 to 10: exact, by the triad, and the diagonal L = ε.

    Parameters
    ----------
    result : AuditResult
    pairs : sequence of (secret, released), optional
        Default: those that leak most.
    count : int, default 6
        How many of the worst pairs.
    log : bool, default True
        Logarithmic ε axis.
    """
    import altair as alt

    chosen = [result.pair(*names) for names in pairs] if pairs else list(result.ranked[:count])
    grid = np.geomspace(0.01, 10, 121) if log else np.linspace(0, 10, 121)
    series = ("Exact", "Triad (upper)", "L = ε")
    rows: list[dict[str, Any]] = []
    top = 0.0
    for rank, pair in enumerate(chosen):
        panel = (
            f"{rank + 1}. {wording.shorten(pair.released, 24)} → {wording.shorten(pair.secret, 24)}"
        )
        exact = pair.curve.leakage(grid)
        triad = pair.triad.tradeoff().leakage(grid)
        top = max(top, float(exact.max()), float(triad.max()))
        for name, values in zip(series, (exact, triad, grid), strict=True):
            rows += [
                {"pair": panel, "curve": name, "epsilon": float(e), "leakage": float(v)}
                for e, v in zip(grid, values, strict=True)
            ]
    ceiling = 1.05 * top if top > 0 else 1.0
    panels = list(dict.fromkeys(row["pair"] for row in rows))
    domain = list(series)
    lines = (
        alt.Chart()
        .mark_line(clip=True)
        .encode(
            x=alt.X("epsilon:Q")
            .title("ε of the released attribute (nats)")
            .scale(type="log" if log else "linear", domain=[0.01 if log else 0, 10])
            .axis(values=[0.01, 0.1, 1, 10] if log else [0, 2, 4, 6, 8, 10], format="~g"),
            y=alt.Y("leakage:Q")
            .title("Leakage (nats)")
            .scale(domain=[0, ceiling])
            .axis(tickCount=5),
            color=alt.Color("curve:N")
            .scale(domain=domain, range=[palette.EXACT, palette.TRIAD, "#8d8896"])
            .legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=2.5),
            strokeDash=alt.StrokeDash("curve:N")
            .scale(domain=domain, range=[[1, 0], [6, 4], [2, 2]])
            .legend(title=None),
            strokeWidth=alt.StrokeWidth("curve:N")
            .scale(domain=domain, range=[2.4, 2, 1])
            .legend(None),
            tooltip=[
                alt.Tooltip("pair:N", title="Released → secret"),
                alt.Tooltip("curve:N", title="Curve"),
                alt.Tooltip("epsilon:Q", title="ε", format=".3g"),
                alt.Tooltip("leakage:Q", title="Leakage (nats)", format=".4f"),
            ],
        )
        .properties(width=250, height=170)
    )
    chart = lines.properties(data=alt.InlineData(values=rows)).facet(
        facet=alt.Facet("pair:N", sort=None)
        .title(None)
        .header(labelLimit=260, labelAnchor="start"),
        columns=min(3, len(panels)),
        title=chart_title(
            "Leakage against ε, released → secret",
            "Exact worst case, and the Dependency Triad, which never falls below it.",
        ),
    )
    return styled(chart)


def totals(result: AuditResult) -> alt.TopLevelMixin:
    """Pairwise total about each attribute: its own budget plus what each other attribute leaks."""
    return total_bars(
        {name: finding.value for name, finding in result.totals.items()},
        result.budgets,
        axis="Pairwise total (nats)",
        title="Total leakage about each attribute, pairwise sum",
        subtitle="Several attributes together can tell more than this sum.",
    )


def total_bars(
    totals: Mapping[str, float],
    budgets: Mapping[str, float],
    *,
    axis: str,
    title: str,
    subtitle: str,
) -> alt.TopLevelMixin:
    """Bars of totals, the own budget first and told apart, the largest total on top.

    Parameters
    ----------
    totals, budgets : mapping of str to float
        In nats; ∞ is cut off at the edge.
    axis, title, subtitle : str
    """
    import altair as alt

    names = sorted(totals, key=lambda name: -totals[name])
    drawn = wording.drawable_names(totals)
    ceiling = 1.15 * max((v for v in totals.values() if math.isfinite(v)), default=0.0) or 1.0
    parts = ("Own budget ε", "From the other attributes")
    rows, ends = [], []
    for name in names:
        own, total = min(budgets[name], totals[name]), totals[name]
        middle, end = min(ceiling, own), min(ceiling, total)
        rest = total - own if math.isfinite(own) else math.nan  # ∞ − ∞ says nothing
        for part, left, right, value in (
            (parts[0], 0.0, middle, own),
            (parts[1], middle, end, rest),
        ):
            shown = {"part": part, "start": left, "end": right, "nats": wording.nats(value)}
            rows.append({"attribute": drawn[name], **shown})
        ends.append({"attribute": drawn[name], "end": end, "total": wording.nats(total, 2)})
    y = alt.Y("attribute:N", sort=None, scale=alt.Scale(domain=[drawn[name] for name in names]))
    y = y.title("Attribute")
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=alt.RelativeBandSize(0.72))
        .encode(
            y=y,
            x=alt.X("start:Q").title(axis).scale(domainMin=0),
            x2="end:Q",
            color=alt.Color("part:N")
            .scale(domain=list(parts), range=[palette.OWN, palette.EXACT])
            .legend(title=None, orient="top"),
            tooltip=[
                alt.Tooltip("attribute:N", title="Attribute"),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("nats:N", title="Nats"),
            ],
        )
    )
    labels = (
        alt.Chart(alt.InlineData(values=ends))
        .mark_text(align="left", dx=5, color=palette.INK)
        .encode(y=y, x="end:Q", text="total:N")
    )
    chart = alt.layer(bars, labels).properties(
        width=460,
        height=alt.Step(24 if len(names) <= MAX_WRITTEN else 16),
        title=chart_title(title, subtitle),
    )
    return styled(chart)


def chart_title(text: str, subtitle: str) -> alt.TitleParams:
    """A title at the left, and a line below it that says how to read the chart."""
    import altair as alt

    return alt.TitleParams(text, subtitle=subtitle, anchor="start", frame="bounds", offset=14)


def styled(chart: Any) -> alt.TopLevelMixin:
    """The common look of all charts."""
    result: alt.TopLevelMixin = (
        chart.properties(background="white", padding=16)
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=palette.INK,
            titleColor=palette.MUTED,
            titleFontWeight="normal",
            labelLimit=190,
            gridColor=palette.GRID,
            domainColor="#b7b2bd",
            tickColor="#b7b2bd",
            labelFontSize=11,
            titleFontSize=12,
            titlePadding=10,
        )
        .configure_title(
            color=palette.INK, subtitleColor=palette.MUTED, fontSize=16, subtitleFontSize=12
        )
        .configure_legend(
            labelColor=palette.INK, titleColor=palette.MUTED, titleFontWeight="normal"
        )
        .configure_header(labelColor=palette.INK, labelFontSize=12, labelFontWeight="bold")
    )
    return result


def save_chart(chart: alt.TopLevelMixin, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as PNG, SVG, PDF, Vega-Lite JSON or a self-contained page, by its ending.

    Needs neither a network nor a browser. The file is written whole or not at all.

    Parameters
    ----------
    chart : Altair chart
    path : path
        Ends in .png, .svg, .pdf, .json or .html.
    scale : float, default 2
        Pixels per unit, for PNG.

    Raises
    ------
    InvalidInputError
        If the ending is another one.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        msg = f"expected a file name ending in {', '.join(FORMATS)}, got {str(path)!r}"
        raise InvalidInputError(msg)
    import vl_convert

    spec = _drawable(chart.to_dict())  # whoever made the chart, no text ends the process
    offline: dict[str, Any] = {"vl_version": _vega_lite_version()}
    if ending == ".png":
        png = vl_convert.vegalite_to_png(spec, scale=scale, allowed_base_urls=[], **offline)
        write_bytes(path, png)
    elif ending == ".pdf":
        write_bytes(path, vl_convert.vegalite_to_pdf(spec, allowed_base_urls=[], **offline))
    elif ending == ".svg":
        write_text(path, vl_convert.vegalite_to_svg(spec, allowed_base_urls=[], **offline))
    elif ending == ".html":
        write_text(path, _page(spec, offline))
    else:
        write_text(path, chart.to_json() + "\n")


def _drawable(value: Any) -> Any:
    """A specification in which every text can be drawn."""
    if isinstance(value, dict):
        return {wording.drawable(key): _drawable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_drawable(item) for item in value]
    return wording.drawable(value) if isinstance(value, str) else value


def _page(spec: dict[str, Any], offline: dict[str, Any]) -> str:
    """Return a page around a chart in which no label can end the script element."""
    import vl_convert

    # The converter pastes the specification into a script as it is. A stand-in for "<" travels
    # through it and becomes the escape of a JavaScript string.
    marked = json.loads(json.dumps(spec).replace("<", LESS_THAN))
    page: str = vl_convert.vegalite_to_html(marked, bundle=True, **offline)
    return page.replace(LESS_THAN, "\\u003c")


def _vega_lite_version() -> str:
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
