"""Results to text, charts, pages and JSON.

Each function picks its renderer by the type of the result; a new kind of result registers its own
with ``chart.register`` and ``html.register``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError
from seepage.plan.audit import AuditResult

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

__all__ = ["chart", "html", "save_chart"]


@singledispatch
def chart(result: Any, kind: str = "heatmap", **options: Any) -> alt.TopLevelMixin:
    """Return a chart of a result (Altair).

    Parameters
    ----------
    result : AuditResult
        What an analysis returned.
    kind : str
        For an audit: "heatmap" (default), "curves" or "totals".
    **options
        Of that kind; see `seepage.report.charts`.

    Raises
    ------
    InvalidInputError
        If there is no chart of such a result, or no such kind.
    """
    msg = f"expected a result that can be drawn, got {type(result).__name__}"
    raise InvalidInputError(msg)


@singledispatch
def html(result: Any, **options: Any) -> str:
    """Return one self-contained page about a result; it needs no network.

    Parameters
    ----------
    result : AuditResult
        What an analysis returned.
    **options
        `date` (text): shown in the footer, today by default.

    Raises
    ------
    InvalidInputError
        If there is no page for such a result.
    """
    msg = f"expected a result that has a page, got {type(result).__name__}"
    raise InvalidInputError(msg)


@chart.register(AuditResult)
def _chart_audit(result: AuditResult, kind: str = "heatmap", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.charts import audit_chart

    return audit_chart(result, kind, **options)


@html.register(AuditResult)
def _html_audit(result: AuditResult, **options: Any) -> str:
    from seepage.report.page import audit_page

    return audit_page(result, **options)


def save_chart(chart: alt.TopLevelMixin, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as .png, .svg, .pdf, .json or .html; see `seepage.report.charts.save_chart`."""
    from seepage.report import charts

    charts.save_chart(chart, path, scale=scale)
