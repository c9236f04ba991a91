"""Charts of retentions and of estimated relationships, as Altair specifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seepage.collect.attenuation import named, percent
from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.relating import RelationshipEstimates, RetentionTable
from seepage.report import palette, wording
from seepage.report.charts import MAX_WRITTEN, chart_title, styled
from seepage.report.relationships_words import ranked, signed

if TYPE_CHECKING:
    import altair as alt

    from seepage.collect.relationships import Estimate

KINDS = ("heatmap", "bars")
MAX_BARS = 60
"""Most relationships drawn as bars."""

LABEL_LIMIT = 340
"""Pixels of a relationship in words."""

CORRECTED, UNCORRECTED = "Corrected", "Uncorrected"


def retention_chart(result: RetentionTable, kind: str = "") -> alt.TopLevelMixin:
    """Return a chart of retentions.

    Parameters
    ----------
    result : RetentionTable
    kind : {"heatmap", "bars"}, optional
        A heatmap of pairs for each allocation, by default where there are pairs, or bars of all
        relationships.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown, or there are no pairs for a heatmap.
    """
    pairs = [names for names in result.relationships if len(names) == 2]
    kind = kind or ("heatmap" if pairs else "bars")
    if kind not in KINDS:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    if kind == "bars":
        return _bars(result)
    if not pairs:
        msg = f"expected relationships of order 2 for a heatmap, got {list(result.orders)}"
        raise InvalidInputError(msg)
    return _heatmaps(result, pairs)


def _heatmaps(result: RetentionTable, pairs: Sequence[tuple[str, ...]]) -> alt.TopLevelMixin:
    import altair as alt

    used = {name for pair in pairs for name in pair}
    shown = wording.drawable_names(name for name in result.sizes if name in used)
    names = [shown[name] for name in result.sizes if name in used]
    d = len(names)
    side = 56 if d <= 8 else 40 if d <= MAX_WRITTEN else max(12, 480 // d)
    panels: list[Any] = []
    for label in result.labels:
        kept, budgets = result.retentions[label], result.budgets[label]
        cells = [
            {
                "first": shown[a],
                "second": shown[b],
                "strength": kept[pair],
                "written": percent(kept[pair]),
                "told": " and ".join(wording.budget(budgets[name]) for name in pair),
            }
            for pair in pairs
            for a, b in (pair, pair[::-1])
        ]
        scale = alt.Scale(domain=names)
        base = alt.Chart(alt.InlineData(values=cells)).encode(
            x=alt.X("first:N", sort=None, scale=scale)
            .title(None)
            .axis(orient="top", labelAngle=-45 if d <= MAX_WRITTEN else -90),
            y=alt.Y("second:N", sort=None, scale=scale).title(None),
        )
        rectangles = base.mark_rect(stroke="white", strokeWidth=1).encode(
            color=alt.Color("strength:Q")
            .scale(domain=[0, 1], range=palette.ramp(), interpolate="lab", clamp=True)
            .legend(title="Kept", format=".0%"),
            tooltip=[
                alt.Tooltip("first:N", title="First"),
                alt.Tooltip("second:N", title="Second"),
                alt.Tooltip("written:N", title="Kept"),
                alt.Tooltip("told:N", title="ε"),
            ],
        )
        layers: list[Any] = [rectangles]
        if d <= MAX_WRITTEN:
            layers.append(
                base.mark_text(fontSize=11 if side > 45 else 9).encode(
                    text="written:N",
                    color=alt.condition(
                        "datum.strength > 0.5", alt.value("white"), alt.value(palette.INK)
                    ),
                )
            )
        panels.append(
            alt.layer(*layers).properties(
                width=d * side,
                height=d * side,
                title=alt.TitleParams(wording.drawable(label), anchor="middle", fontSize=12),
            )
        )
    joined = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=3)
    chart = joined.properties(
        title=chart_title(
            "What is kept of each covariance",
            "Share of the original; exact for k-ary randomised response and any scores.",
        )
    )
    return styled(chart)


def _bars(result: RetentionTable) -> alt.TopLevelMixin:
    import altair as alt

    chosen = ranked(result)[:MAX_BARS]
    shown = wording.drawable_names(named(names) for names in chosen)
    labels = wording.drawable_names(result.labels)
    bars = [
        {
            "relationship": shown[named(names)],
            "allocation": labels[label],
            "kept": result.retentions[label][names],
            "written": percent(result.retentions[label][names]),
        }
        for label in result.labels
        for names in chosen
    ]
    many, places = len(result.labels) > 1, list(shown.values())
    chart = (
        alt.Chart(alt.InlineData(values=bars))
        .mark_bar()
        .encode(
            y=alt.Y("relationship:N", sort=None, scale=alt.Scale(domain=places))
            .title(None)
            .axis(labelLimit=LABEL_LIMIT),
            x=alt.X("kept:Q").title("Share kept").axis(format=".0%").scale(domain=[0, 1]),
            yOffset=alt.YOffset(
                "allocation:N", sort=None, scale=alt.Scale(domain=list(labels.values()))
            ),
            color=alt.Color("allocation:N")
            .scale(domain=list(labels.values()), range=_series(len(labels)))
            .legend(alt.Legend(title=None, orient="top") if many else None),
            tooltip=["relationship:N", "allocation:N", "written:N"],
        )
        .properties(
            width=460,
            height=alt.Step(max(12, 20 if not many else 14)),
            title=chart_title(
                "What is kept of each relationship",
                "Share of the original cross-moment; lower orders first.",
            ),
        )
    )
    return styled(chart)


def estimates_chart(result: RelationshipEstimates, kind: str = "intervals") -> alt.TopLevelMixin:
    """Corrected estimates with their limits, and uncorrected ones beside them.

    Raises
    ------
    InvalidInputError
        If `kind` is not "intervals".
    """
    import altair as alt

    if kind != "intervals":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'intervals'."
        raise InvalidInputError(msg)
    rows = result.estimates[:MAX_BARS]
    columns = result.columns()
    titles = [
        f"{name} ({what})" + (f": {between}" if between else "")
        for name, what, between in zip(
            columns["relationship"], columns["kind"], columns["categories"], strict=True
        )
    ]
    shown = wording.drawable_names(titles)
    points, spans = [], []
    for title, item in zip(titles, rows, strict=False):
        for what, value, error in (
            (CORRECTED, item.estimate, item.standard_error),
            (UNCORRECTED, item.uncorrected, item.uncorrected_error),
        ):
            if value is not None:
                points.append(
                    {
                        "relationship": shown[title],
                        "what": what,
                        "value": value,
                        "error": signed(error),
                    }
                )
        if item.lower is not None:
            spans.append({"relationship": shown[title], "low": item.lower, "high": item.upper})
    domain = [shown[title] for title in titles[: len(rows)]]
    y = (
        alt.Y("relationship:N", sort=None, scale=alt.Scale(domain=domain))
        .title(None)
        .axis(labelLimit=LABEL_LIMIT)
    )
    low, high, marks_at = _axis(rows)
    scale = alt.Scale(domain=[low, high], nice=False, clamp=True)  # the rest ends at the edge
    edges = (
        alt.Chart(alt.InlineData(values=[{"at": value} for value in marks_at]))
        .mark_rule(color=palette.MUTED, strokeDash=[3, 3])
        .encode(x=alt.X("at:Q").scale(scale))
    )
    lines = (
        alt.Chart(alt.InlineData(values=spans or [{}]))
        .mark_rule(color=palette.EXACT, strokeWidth=2)
        .encode(y=y, x=alt.X("low:Q").title("Estimate").scale(scale), x2="high:Q")
    )
    marks = (
        alt.Chart(alt.InlineData(values=points or [{}]))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q").title("Estimate").scale(scale),
            color=alt.Color("what:N")
            .scale(domain=[CORRECTED, UNCORRECTED], range=[palette.EXACT, palette.GRR])
            .legend(title=None, orient="top"),
            shape=alt.Shape("what:N")
            .scale(domain=[CORRECTED, UNCORRECTED], range=["circle", "diamond"])
            .legend(title=None),
            tooltip=["relationship:N", "what:N", "value:Q", "error:N"],
        )
    )
    level = f"{100 * result.estimates[0].confidence:g} %"
    beyond = " Dashed: −1, 0 and 1; what lies beyond is cut off." if -1.0 in marks_at else ""
    chart = alt.layer(edges, lines, marks).properties(
        width=460,
        height=alt.Step(24),
        title=chart_title(
            "Relationships, corrected for randomisation", f"Lines: {level} limits.{beyond}"
        ),
    )
    return styled(chart)


def _axis(rows: Sequence[Estimate]) -> tuple[float, float, list[float]]:
    """Ends of the axis, and what is marked on it.

    Correlations have −1 … 1 and a margin in which impossible ones show. For other quantities the
    axis holds all values that can be; limits and impossible values are cut off at its ends.
    """
    if all(item.kind == "correlation" for item in rows):
        return -1.15, 1.15, [-1.0, 0.0, 1.0]
    values = [item.estimate for item in rows if item.is_possible and item.estimate is not None]
    values += [item.uncorrected for item in rows if item.uncorrected is not None]
    values = values or [item.estimate for item in rows if item.estimate is not None] or [1.0]
    low, high = min(0.0, *values), max(0.0, *values)
    margin = 0.25 * (high - low) or 1.0
    return low - margin, high + margin, [0.0]


def _series(count: int) -> list[str]:
    fixed = [palette.EXACT, palette.GRR, palette.TRIAD, palette.MUTED]
    return [fixed[i % len(fixed)] for i in range(count)]
