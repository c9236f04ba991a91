"""Charts of redaction: the plan, what records tell, and mechanisms side by side (Altair)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.redaction_comparison import RedactionComparison, influence_table
from seepage.report import palette, wording
from seepage.report.charts import chart_title, styled
from seepage.report.redaction_words import named, plan_lines, state_names
from seepage.sequence.plan import RedactionPlan

if TYPE_CHECKING:
    import altair as alt

    from seepage.plan.redacting import TableRedaction

KINDS = ("plan", "influence")
COLOURS = (palette.EXACT, palette.TRIAD, palette.GRR, palette.INK, palette.MUTED, "#7d8f2f")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])

MECHANISM_LOOK = {
    "optimal": (palette.EXACT, [1, 0]),
    "certified": (palette.GRR, [7, 5]),
    "data-independent": (palette.INK, [4, 3]),
    "quilt": (palette.MUTED, [1, 3]),
    "published": (palette.TRIAD, [6, 3]),
}
AT_LEAKAGE = "published, at what it leaks"

POINTS = 80
"""Up to so many records each has a mark."""

FEW = 40
"""Fewest records on either side of the influence chart that are looked at."""


def table_chart(result: TableRedaction, kind: str = "plan", **options: Any) -> alt.TopLevelMixin:
    """Return a chart of the first plan of a table; see `plan_chart`.

    Parameters
    ----------
    result : TableRedaction
    kind : {"plan", "influence"}
    **options
        `group` (int): which group of sequences, the first by default.

    Raises
    ------
    InvalidInputError
        If `kind` or the group is unknown.
    """
    number = options.pop("group", 0)
    if (
        isinstance(number, bool)
        or not isinstance(number, int)
        or number not in range(len(result.groups))
    ):
        msg = f"expected a group from 0 to {len(result.groups) - 1}, got {number!r}"
        raise InvalidInputError(msg)
    which = f"Plan {number + 1} of {len(result.groups)}: " if len(result.groups) > 1 else ""
    return plan_chart(result.groups[number].plan, kind, which=which, **options)


def plan_chart(plan: RedactionPlan, kind: str = "plan", *, which: str = "") -> alt.TopLevelMixin:
    """Return a chart of a plan.

    Parameters
    ----------
    plan : RedactionPlan
    kind : {"plan", "influence"}
        Redaction probability by position, or what a released record tells by position; a line
        for each state.
    which : str
        Said before the rest, where the plan is one of several.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    if kind not in KINDS:
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, KINDS)}"
        raise InvalidInputError(msg)
    return _probabilities(plan, which) if kind == "plan" else influence_chart(plan, which)


def _probabilities(plan: RedactionPlan, which: str) -> alt.TopLevelMixin:
    where, table = plan_lines(plan)
    names = state_names(plan)
    values = [
        {"position": t, "state": name, "side": 0, "p": round(float(table[i, j]), 9)}
        for i, t in enumerate(where)
        for j, name in enumerate(names)
    ]
    chart = _by_state(values, names, "Probability of redaction", 1, count=len(where))
    kind = "≤ " if plan.standing == "upper" else ""
    return _with_hidden(
        plan,
        chart,
        where,
        "Redaction probability by position and state",
        f"{which}{plan.mechanism}: leaks {kind}{wording.nats(plan.leakage)} nats about "
        f"{named(plan.positions)}, releases {plan.utility:.1%} of {plan.n:,} records on "
        "average. Vertical: protected.",
    )


def influence_chart(plan: RedactionPlan, which: str = "") -> alt.TopLevelMixin:
    """What a released record tells about the first protected one; dashed: ε and ε/2."""
    import altair as alt

    rows, _ = plan_lines(plan)
    position = plan.positions[0]
    reach = max(min(FEW, plan.n), position - rows[0], rows[-1] - position)
    if len(rows) < FEW // 2:
        reach = 8
    first, table = influence_table(plan.chain, plan.n, position, reach)
    names = state_names(plan)
    values: list[dict[str, Any]] = [
        {
            "position": first + i,
            "state": name,
            "p": float(table[i, j]),
            "side": int(first + i > position),
        }
        for i in range(table.shape[0])
        for j, name in enumerate(names)
        if math.isfinite(table[i, j])
    ]
    where = list(range(first, first + table.shape[0]))
    top = max((row["p"] for row in values), default=1.0) or 1.0
    chart = _by_state(
        values, names, "Influence of the protected record (nats)", 1.05 * top, count=len(where)
    )
    epsilon = None if plan.epsilons is None else plan.epsilons[0]
    note = "No ε was asked for."
    if epsilon is not None and 0 < epsilon < 1.05 * top:
        lines = [{"at": epsilon, "what": "ε"}, {"at": epsilon / 2, "what": "ε/2"}]
        rule = alt.Chart(alt.InlineData(values=lines)).encode(y="at:Q")
        chart = (
            chart
            + rule.mark_rule(color=palette.MUTED, strokeDash=[4, 3])
            + rule.mark_text(
                align="left", dx=4, dy=-6, color=palette.MUTED, x="width"
            ).encode(text="what:N")
        )  # fmt: skip
        note = f"Dashed: ε = {wording.budget(epsilon)} and half of it."
    elif epsilon is not None:
        note = f"ε = {wording.budget(epsilon)} is outside the picture."
    return _with_hidden(
        plan, chart, where, "What a released record tells about the protected one",
        f"{which}Largest log-ratio between two values of record {position}, by released state. "
        f"{note}",
    )  # fmt: skip


def _by_state(
    values: list[dict[str, Any]],
    names: list[str],
    title: str,
    top: float,
    *,
    count: int,
) -> Any:
    import altair as alt

    look = [i % len(COLOURS) for i in range(len(names))]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        detail="side:N",
        x=alt.X("position:Q").title("Position (from 0)").scale(zero=False, nice=False)
        .axis(tickMinStep=1, format="d", grid=False, labelFlush=False),
        y=alt.Y("p:Q").title(title).scale(domain=[0, top], nice=False),
        color=alt.Color("state:N").scale(domain=names, range=[COLOURS[i] for i in look])
        .legend(title="State", orient="right", symbolType="stroke", symbolStrokeWidth=2,
                symbolSize=300),
        tooltip=[
            alt.Tooltip("position:Q", title="Position"),
            alt.Tooltip("state:N", title="State"),
            alt.Tooltip("p:Q", title=title, format=".4g"),
        ],
    )  # fmt: skip
    lines = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("state:N")
        .scale(domain=names, range=[DASHES[i] for i in look])
        .legend(title="State")
    )
    if count > POINTS:
        return lines
    return lines + base.mark_point(filled=True, size=38, opacity=1)


def _with_hidden(
    plan: RedactionPlan, chart: Any, where: list[int], title: str, subtitle: str
) -> alt.TopLevelMixin:
    import altair as alt

    hidden = [{"position": p} for p in plan.positions if where[0] <= p <= where[-1]]
    rule = (
        alt.Chart(alt.InlineData(values=hidden))
        .mark_rule(color=palette.MUTED, strokeWidth=1.2)
        .encode(x="position:Q")
    )
    layered = alt.layer(rule, chart).properties(
        width=560, height=260, title=chart_title(title, subtitle)
    )
    return styled(layered)


def _panel(text: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(text, anchor="start", fontSize=12, fontWeight="normal")


def comparison_chart(result: RedactionComparison, kind: str = "utility") -> alt.TopLevelMixin:
    """Return utility and exact leakage of mechanisms against ε, side by side.

    For the published mechanism a line more gives its utility at what it really leaks.

    Parameters
    ----------
    result : RedactionComparison
    kind : {"utility"}

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    import altair as alt

    if kind != "utility":
        msg = f"expected a kind of chart, got {kind!r}.{did_you_mean(kind, ('utility',))}"
        raise InvalidInputError(msg)
    names = list(result.utilities)
    rows: list[dict[str, Any]] = [
        {"mechanism": name, "epsilon": e, "utility": u, "leakage": leak, "order": i}
        for name in names
        for i, (e, u, leak) in enumerate(
            zip(result.epsilons, result.utilities[name], result.leakages[name], strict=True)
        )
        if math.isfinite(e) and math.isfinite(leak)
    ]
    domain = [name for name in MECHANISM_LOOK if name in names]
    colours = [MECHANISM_LOOK[name][0] for name in domain]
    dashes: list[list[int]] = [MECHANISM_LOOK[name][1] for name in domain]
    real: list[dict[str, Any]] = [
        {**row, "epsilon": row["leakage"], "mechanism": AT_LEAKAGE}
        for row in rows
        if row["mechanism"] == "published"
    ]
    if real:
        domain.append(AT_LEAKAGE)
        colours.append(palette.TRIAD)
        dashes.append([1, 0])
    drawn: list[dict[str, Any]] = [*rows, *real]
    most = max((e for e in result.epsilons if math.isfinite(e)), default=1.0) or 1.0
    axis = alt.X("epsilon:Q").title("ε (nats)").scale(domain=[0, most], clamp=False)
    base = alt.Chart(alt.InlineData(values=drawn)).encode(
        x=axis,
        color=alt.Color("mechanism:N").scale(domain=domain, range=colours)
        .legend(title=None, orient="bottom", columns=3, labelLimit=240, symbolSize=400),
        strokeDash=alt.StrokeDash("mechanism:N").scale(domain=domain, range=dashes)
        .legend(title=None),
        order="order:Q",
        tooltip=["mechanism:N", alt.Tooltip("epsilon:Q", format=".4g"),
                 alt.Tooltip("utility:Q", format=".4f"), alt.Tooltip("leakage:Q", format=".4f")],
    )  # fmt: skip
    left = base.mark_line(strokeWidth=2, clip=True).encode(
        y=alt.Y("utility:Q").title("Expected fraction released").scale(zero=False)
    ).properties(width=330, height=280, title=_panel("Utility"))  # fmt: skip
    diagonal = (
        alt.Chart(alt.InlineData(values=[{"e": 0.0, "l": 0.0}, {"e": most, "l": most}]))
        .mark_line(color=palette.OWN, strokeWidth=1.5)
        .encode(x="e:Q", y="l:Q")
    )
    right = alt.layer(
        diagonal,
        base.transform_filter(f"datum.mechanism != '{AT_LEAKAGE}'")
        .mark_line(strokeWidth=2, clip=True)
        .encode(y=alt.Y("leakage:Q").title("Exact leakage (nats)")),
    ).properties(width=330, height=280, title=_panel("Leakage (above the diagonal: more than ε)"))
    both = alt.hconcat(left, right, spacing=36).properties(
        title=chart_title(
            "Mechanisms of redaction",
            f"{result.n:,} records, number {result.position} protected, {result.chain.k} states.",
        )
    )
    return styled(both)
