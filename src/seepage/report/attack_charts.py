"""Charts of attacks: success against ε or by attacker, with the baseline and the bound (Altair)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.attack_report import AttackReport
from seepage.report import palette, wording
from seepage.report.attack_words import percent
from seepage.report.charts import chart_title, styled

if TYPE_CHECKING:
    import altair as alt

KINDS = ("accuracy", "balanced")

LOOKS = {
    "prior": (palette.MUTED, [2, 3]),
    "bayes": (palette.EXACT, [1, 0]),
    "tree": (palette.GRR, [7, 4]),
    "boosting": (palette.TRIAD, [6, 3]),
    "tabtransformer": ("#4d4a9c", [3, 2]),
}
GAP, LABEL = 0.01, 0.08
"""From a point to its label, and the width of one, as parts of the axis."""

BOUND, WITHOUT = "no attacker can exceed", "without reports"


def attack_chart(result: AttackReport, kind: str = "accuracy") -> alt.TopLevelMixin:
    """Return the chart of an attack: against ε where there is a sweep, else a row per attacker.

    Parameters
    ----------
    result : AttackReport
    kind : {"accuracy", "balanced"}
        Share of right guesses; or its mean over the values of the secret.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    if kind not in KINDS:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    finite = [item for item in result.sweep if math.isfinite(item.epsilon)]
    chart = _against_epsilon(result, kind) if len(finite) > 1 else _by_attacker(result, kind)
    return styled(chart)


def without(result: AttackReport, kind: str) -> float:
    """Success without reports."""
    return result.baseline if kind == "accuracy" else result.baseline_balanced


def _told(kind: str) -> str:
    return "Guessed rightly" if kind == "accuracy" else "Guessed rightly, mean over values"


def _title(result: AttackReport) -> str:
    return f"Attack on {wording.shorten(wording.drawable(result.secret), 40)}"


def _subtitle(result: AttackReport, kind: str) -> str:
    limits = f"; lines and bars: {result.confidence:.0%} limits" if kind == "accuracy" else ""
    where = "held-out" if result.held_out else "simulated"
    return f"{result.evaluated:,} {where} records{limits}. Dashed grey: without reports."


def _against_epsilon(result: AttackReport, kind: str) -> Any:
    import altair as alt

    rows: list[dict[str, Any]] = []
    for item in result.sweep:
        if not math.isfinite(item.epsilon):
            continue
        bound = item.bound
        most = bound.accuracy if kind == "accuracy" else bound.balanced_accuracy
        rows.append(_row(item.epsilon, BOUND, most, most, most))
        for each in item.attackers:
            if each.name == "prior":
                continue
            score = each.score
            found = score.accuracy
            if kind == "accuracy":
                rows.append(_row(item.epsilon, each.name, found.estimate, found.lower, found.upper))
            else:
                value = score.balanced_accuracy
                rows.append(_row(item.epsilon, each.name, value, value, value))
    names = list(dict.fromkeys(row["attacker"] for row in rows if row["attacker"] != BOUND))
    domain = [*names, BOUND]
    colours = [*(LOOKS[name][0] for name in names), palette.INK]
    dashes = [*(LOOKS[name][1] for name in names), [1, 0]]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("epsilon:Q").title("ε of the largest budget"),
        color=alt.Color("attacker:N")
        .scale(domain=domain, range=colours)
        .legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=2.5),
    )
    y = alt.Y("value:Q").title(_told(kind)).scale(domain=[0, 1]).axis(format="%", tickCount=5)
    lines = base.mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=36)).encode(
        y=y,
        strokeDash=alt.StrokeDash("attacker:N")
        .scale(domain=domain, range=dashes)
        .legend(title=None),
        tooltip=[
            alt.Tooltip("attacker:N", title="Attacker"),
            alt.Tooltip("epsilon:Q", title="ε", format=".3g"),
            alt.Tooltip("told:N", title=_told(kind)),
        ],
    )
    spans = base.mark_rule(strokeWidth=1.4).encode(y="low:Q", y2="high:Q")
    floor = (
        alt.Chart(alt.InlineData(values=[{"value": without(result, kind), "what": WITHOUT}]))
        .mark_rule(color=palette.MUTED, strokeDash=[5, 4])
        .encode(y="value:Q", tooltip=["what:N", alt.Tooltip("value:Q", format=".1%")])
    )
    return alt.layer(floor, spans, lines).properties(
        width=520,
        height=300,
        title=chart_title(f"{_title(result)}, against ε", _subtitle(result, kind)),
    )


def _row(epsilon: float, name: str, value: float, low: float, high: float) -> dict[str, Any]:
    return {
        "epsilon": epsilon,
        "attacker": name,
        "value": value,
        "low": low,
        "high": high,
        "told": percent(value),
    }


def _by_attacker(result: AttackReport, kind: str) -> Any:
    import altair as alt

    main, bound = result.main, result.main.bound
    rows = []
    for each in main.attackers:
        found, value = each.score.accuracy, each.score.balanced_accuracy
        if kind == "accuracy":
            rows.append(_row(main.epsilon, each.name, found.estimate, found.lower, found.upper))
        else:
            rows.append(_row(main.epsilon, each.name, value, value, value))
    most = bound.accuracy if kind == "accuracy" else bound.balanced_accuracy
    names = [row["attacker"] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("attacker:N", sort=None, scale=alt.Scale(domain=names)).title(None),
        color=alt.Color("attacker:N")
        .scale(domain=names, range=[LOOKS[name][0] for name in names])
        .legend(None),
    )
    x = alt.X("value:Q").title(_told(kind)).scale(domain=[0, 1]).axis(format="%", tickCount=5)
    dots = base.mark_circle(size=90, opacity=1).encode(
        x=x, tooltip=["attacker:N", alt.Tooltip("told:N", title=_told(kind))]
    )
    spans = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    for row in rows:  # a label that a rule would strike through stands on the other side
        start = row["high"] + GAP
        struck = any(start <= mark <= start + LABEL for mark in (without(result, kind), most))
        row["left"] = struck and row["low"] > LABEL + GAP
    right = base.transform_filter("!datum.left").mark_text(align="left", dx=8)
    left = base.transform_filter("datum.left").mark_text(align="right", dx=-8)
    told = (right.encode(x="high:Q", text="told:N"), left.encode(x="low:Q", text="told:N"))
    ends = [
        {"at": without(result, kind), "what": WITHOUT},
        {"at": most, "what": BOUND},
    ]
    floor, ceiling = (
        alt.Chart(alt.InlineData(values=[end]))
        .mark_rule(color=colour, strokeDash=dash, strokeWidth=1.6)
        .encode(x="at:Q", tooltip=["what:N", alt.Tooltip("at:Q", format=".1%")])
        for end, colour, dash in zip(
            ends, (palette.MUTED, palette.INK), ([5, 4], [1, 0]), strict=True
        )
    )
    return alt.layer(floor, ceiling, spans, dots, *told).properties(
        width=520,
        height=alt.Step(40),
        title=chart_title(_title(result), f"{_subtitle(result, kind)} Black: the bound."),
    )
