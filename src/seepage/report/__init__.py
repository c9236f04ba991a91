"""Results to text, charts, pages and JSON.

Each function picks its renderer by the type of the result; a new kind of result registers its own
with ``chart.register`` and ``html.register``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from seepage.errors import InvalidInputError
from seepage.plan.audit import AuditResult
from seepage.plan.calibrate import CalibrationResult
from seepage.plan.totals import TotalLeakage

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

__all__ = ["chart", "html", "save_chart"]


@singledispatch
def chart(result: Any, kind: str = "", **options: Any) -> alt.TopLevelMixin:
    """Return a chart of a result (Altair).

    Parameters
    ----------
    result : AuditResult, CalibrationResult or TotalLeakage
        What an analysis returned.
    kind : str
        For an audit: "heatmap" (default), "curves" or "totals". For a calibration: "budgets"
        (default) or "totals". For total leakage: "totals".
    **options
        Of that kind; see `seepage.report.charts` and `seepage.report.budget_charts`.

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
    result : AuditResult, CalibrationResult or TotalLeakage
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


@chart.register(CalibrationResult)
def _chart_calibration(
    result: CalibrationResult, kind: str = "budgets", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.budget_charts import calibration_chart

    return calibration_chart(result, kind, **options)


@html.register(CalibrationResult)
def _html_calibration(result: CalibrationResult, **options: Any) -> str:
    from seepage.report.budget_pages import calibration_page

    return calibration_page(result, **options)


@chart.register(TotalLeakage)
def _chart_totals(result: TotalLeakage, kind: str = "totals", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.budget_charts import totals

    return totals(result, kind, **options)


@html.register(TotalLeakage)
def _html_totals(result: TotalLeakage, **options: Any) -> str:
    from seepage.report.budget_pages import totals_page

    return totals_page(result, **options)


def save_chart(chart: alt.TopLevelMixin, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as .png, .svg, .pdf, .json or .html; see `seepage.report.charts.save_chart`."""
    from seepage.report import charts

    charts.save_chart(chart, path, scale=scale)
