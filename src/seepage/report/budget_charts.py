"""Charts of calibrated budgets and of total leakage, as Altair specifications."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.calibrate import CalibrationResult
from seepage.plan.totals import TotalLeakage
from seepage.report import palette, wording
from seepage.report.budget_words import METHODS, budget_rows
from seepage.report.charts import MAX_WRITTEN, chart_title, styled, total_bars
from seepage.results import Standing

if TYPE_CHECKING:
    import altair as alt

KINDS = ("budgets", "totals")

CALIBRATED, EQUAL, TOTAL = "Calibrated ε", "ε when split equally", "Total leakage"


def calibration_chart(result: CalibrationResult, kind: str = "budgets") -> alt.TopLevelMixin:
    """Return a chart of a calibration.

    Parameters
    ----------
    result : CalibrationResult
    kind : {"budgets", "totals"}

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    if kind not in KINDS:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    return budgets(result) if kind == "budgets" else totals(result.totals)


def totals(result: TotalLeakage, kind: str = "totals") -> alt.TopLevelMixin:
    """Bars of the totals, the own budget first.

    Raises
    ------
    InvalidInputError
        If `kind` is not "totals".
    """
    if kind != "totals":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'totals'."
        raise InvalidInputError(msg)
    bound = "no bound" if result.standing is Standing.HEURISTIC else str(result.standing)
    return total_bars(
        dict(result),
        result.budgets,
        axis="Total leakage (nats)",
        title="Total leakage about each attribute",
        subtitle=f"Computed {METHODS[result.method]} ({bound}).",
    )


def budgets(result: CalibrationResult) -> alt.TopLevelMixin:
    """Each attribute's calibrated budget, that of splitting equally, and its total; target line.

    The largest budget is on top. What is infinite is drawn at the edge and named ∞.
    """
    import altair as alt

    rows = budget_rows(result)
    shown = wording.drawable_names(row.name for row in rows)
    names = [shown[row.name] for row in rows]
    values = [v for row in rows for v in (row.epsilon, row.uniform, row.total)]
    finite = [v for v in (*values, result.target) if math.isfinite(v)]
    ceiling = 1.06 * max(finite, default=0.0) or 1.0
    points, spans = [], []
    for row in rows:
        spans.append(
            {
                "attribute": shown[row.name],
                "start": min(row.epsilon, ceiling),
                "end": min(row.total, ceiling),
            }
        )
        for kind, value in ((CALIBRATED, row.epsilon), (EQUAL, row.uniform), (TOTAL, row.total)):
            points.append(
                {
                    "attribute": shown[row.name],
                    "kind": kind,
                    "nats": min(value, ceiling),
                    "told": wording.nats(value),
                    "note": row.note,
                }
            )
    y = alt.Y("attribute:N", sort=None, scale=alt.Scale(domain=names)).title("Attribute")
    x_scale = alt.Scale(domain=[0, ceiling], nice=False)
    kinds = [CALIBRATED, EQUAL, TOTAL]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        y=y, x=alt.X("nats:Q").title("nats").scale(x_scale).axis(tickCount=6)
    )
    lines = (
        alt.Chart(alt.InlineData(values=spans))
        .mark_rule(color=palette.OWN, strokeWidth=2)
        .encode(y=y, x=alt.X("start:Q"), x2="end:Q")
    )
    marks = base.mark_point(filled=True, opacity=1, strokeWidth=1.5).encode(
        color=alt.Color("kind:N")
        .scale(domain=kinds, range=[palette.EXACT, palette.GRR, palette.INK])
        .legend(title=None, orient="top"),
        shape=alt.Shape("kind:N")
        .scale(domain=kinds, range=["circle", "diamond", "M-.14,-1H.14V1H-.14Z"])
        .legend(title=None),
        size=alt.Size("kind:N").scale(domain=kinds, range=[90, 42, 110]).legend(None),
        tooltip=[
            alt.Tooltip("attribute:N", title="Attribute"),
            alt.Tooltip("kind:N", title="What"),
            alt.Tooltip("told:N", title="Nats"),
            alt.Tooltip("note:N", title="Note"),
        ],
    )
    layers: list[alt.Chart] = [lines, marks]
    endless = [point for point in points if point["told"] == "∞"]
    if endless:
        layers.append(
            alt.Chart(alt.InlineData(values=endless))
            .mark_text(align="left", dx=8, color=palette.INK)
            .encode(y=y, x="nats:Q", text="told:N")
        )
    if math.isfinite(result.target):
        layers.insert(
            0,
            alt.Chart(alt.InlineData(values=[{"target": result.target}]))
            .mark_rule(color=palette.TRIAD, strokeWidth=1.5, strokeDash=[6, 4])
            .encode(x="target:Q"),
        )
    aim = "The target is infinite: all budgets are at their maximum."
    if math.isfinite(result.target):
        aim = f"Dashed: the target of {wording.nats(result.target)}, which no total exceeds."
    if result.standing is Standing.HEURISTIC:
        aim += " The total is a sum of pairs and no bound."
    chart = alt.layer(*layers).properties(
        width=520,
        height=alt.Step(26 if len(names) <= MAX_WRITTEN else 16),
        title=chart_title("Calibrated budgets, against splitting the target equally", aim),
    )
    return styled(chart)
