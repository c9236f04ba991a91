"""The chart and the page of an audit of a randomiser: the limit of each pair beside the claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seepage.attack.audit_results import MechanismAudit, PairAudit, rounded_down
from seepage.errors import InvalidInputError
from seepage.report import palette, wording
from seepage.report.charts import chart_title, styled
from seepage.report.templating import render

if TYPE_CHECKING:
    import altair as alt

MAX_PAIRS = 20
CLAIMED = "claimed"


def leading(result: MechanismAudit) -> list[PairAudit]:
    """Return the pairs with the largest limits, largest first."""
    return sorted(result.pairs, key=lambda pair: -pair.lower)[:MAX_PAIRS]


def mechanism_chart(result: MechanismAudit, kind: str = "limits") -> alt.TopLevelMixin:
    """Return the lower limits of ε by pair of inputs, with the claimed ε as a line.

    Parameters
    ----------
    result : MechanismAudit
    kind : {"limits"}

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    import altair as alt
    import polars as pl

    if kind != "limits":
        msg = f"expected the kind of chart 'limits', got {kind!r}"
        raise InvalidInputError(msg)
    rows: list[dict[str, Any]] = [
        {"pair": _pair(pair), "lower": pair.lower, "event": wording.drawable(pair.event)}
        for pair in leading(result)
    ]
    names = [row["pair"] for row in rows]
    claimed = result.claimed if result.claimed is not None else math.inf
    top = max([result.lower, claimed if math.isfinite(claimed) else 0.0, 1e-3])
    x = alt.X("lower:Q", title="ε is at least, in nats").scale(domain=[0, 1.05 * top])
    base = alt.Chart(pl.DataFrame(rows), width=420, height=alt.Step(22))
    layers = [
        base.mark_circle(color=palette.EXACT, size=70, opacity=1).encode(
            x=x,
            y=alt.Y("pair:N", sort=names, title=None).axis(labelLimit=260),
            tooltip=["pair:N", "event:N", alt.Tooltip("lower:Q", format=".4g")],
        )
    ]
    if math.isfinite(claimed):
        line = alt.Chart(pl.DataFrame([{"lower": claimed, "name": CLAIMED}]))
        layers.append(line.mark_rule(strokeDash=[5, 4]).encode(x=x))
        told = line.mark_text(align="left", dx=3, baseline="bottom")
        layers.append(told.encode(x=x, y=alt.value(-2), text="name:N"))
    about = wording.shorten(wording.drawable(result.about or "randomiser"), 60)
    title = chart_title(f"Audit of {about}", _subtitle(result))
    return styled(alt.layer(*layers).properties(title=title))


def _pair(pair: PairAudit) -> str:
    return wording.drawable(
        f"{wording.shorten(pair.high, 18)} from {wording.shorten(pair.low, 18)}"
    )


def _subtitle(result: MechanismAudit) -> str:
    shown = min(len(result.pairs), MAX_PAIRS)
    of_all = "" if shown == len(result.pairs) else f", the largest {shown} of {len(result.pairs)}"
    return f"Lower limits, {result.samples:,} reports on each input{of_all}"


def mechanism_page(result: MechanismAudit, *, date: str | None = None) -> str:
    """Return the page of an audit of a randomiser; it runs no script.

    Parameters
    ----------
    result : MechanismAudit
    date : str, optional
        Shown in the footer; today by default.
    """
    from seepage.report.risk_pages import drawn

    return render(
        "mechanism.html.j2",
        date=date,
        title=result.about or "Audit of a randomiser",
        result=result,
        rows=[(pair, rounded_down(pair.lower)) for pair in leading(result)],
        others=len(result.pairs) - MAX_PAIRS,
        chart=drawn(mechanism_chart(result), "Lower limits of ε by pair of inputs"),
    )
