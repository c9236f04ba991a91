"""Results to text, charts, pages and JSON.

Each function picks its renderer by the type of the result; a new kind of result registers its own
with ``chart.register`` and ``html.register``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from seepage.attack.audit_results import MechanismAudit
from seepage.collect.adjusted import AdjustedEstimates
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates
from seepage.collect.marginals import Marginal
from seepage.collect.projection import AdjustedMarginal
from seepage.errors import InvalidInputError
from seepage.plan.attack_report import AttackReport
from seepage.plan.audit_result import AuditResult
from seepage.plan.calibrate import CalibrationResult
from seepage.plan.power_families import FamilyReport
from seepage.plan.powering import PowerReport
from seepage.plan.redacting import TableRedaction
from seepage.plan.redaction_comparison import RedactionComparison
from seepage.plan.relating import RelationshipEstimates, RetentionTable
from seepage.plan.risking import RiskCard, RiskComparison
from seepage.plan.totals import TotalLeakage
from seepage.risk.disclosure import Disclosure
from seepage.risk.planning import NeedResult
from seepage.risk.power import PowerResult
from seepage.risk.selection import Selection
from seepage.sequence.plan import RedactionPlan

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


@chart.register(AttackReport)
def _chart_attack(
    result: AttackReport, kind: str = "accuracy", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.attack_charts import attack_chart

    return attack_chart(result, kind, **options)


@html.register(AttackReport)
def _html_attack(result: AttackReport, **options: Any) -> str:
    from seepage.report.attack_pages import attack_page

    return attack_page(result, **options)


@chart.register(MechanismAudit)
def _chart_mechanism(
    result: MechanismAudit, kind: str = "limits", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.mechanism_report import mechanism_chart

    return mechanism_chart(result, kind, **options)


@html.register(MechanismAudit)
def _html_mechanism(result: MechanismAudit, **options: Any) -> str:
    from seepage.report.mechanism_report import mechanism_page

    return mechanism_page(result, **options)


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


@chart.register(CollectionPlan)
def _chart_plan(plan: CollectionPlan, kind: str = "totals", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.collection_charts import plan_chart

    return plan_chart(plan, kind, **options)


@html.register(CollectionPlan)
def _html_plan(plan: CollectionPlan, **options: Any) -> str:
    from seepage.report.collection_pages import plan_page

    return plan_page(plan, **options)


@chart.register(Estimates)
@chart.register(AdjustedEstimates)
def _chart_estimates(
    result: Estimates | AdjustedEstimates, kind: str = "tables", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.estimates_charts import estimates_chart

    return estimates_chart(result, kind, **options)


@chart.register(Marginal)
@chart.register(AdjustedMarginal)
def _chart_marginal(
    result: Marginal | AdjustedMarginal, kind: str = "tables", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.estimates_charts import marginal_chart

    return marginal_chart(result, kind, **options)


@html.register(Estimates)
@html.register(AdjustedEstimates)
def _html_estimates(result: Estimates | AdjustedEstimates, **options: Any) -> str:
    from seepage.report.estimates_pages import estimates_page

    return estimates_page(result, **options)


@html.register(Marginal)
@html.register(AdjustedMarginal)
def _html_marginal(result: Marginal | AdjustedMarginal, **options: Any) -> str:
    from seepage.report.estimates_pages import marginal_page

    return marginal_page(result, **options)


@chart.register(RetentionTable)
def _chart_retentions(result: RetentionTable, kind: str = "", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.relationships_charts import retention_chart

    return retention_chart(result, kind, **options)


@html.register(RetentionTable)
def _html_retentions(result: RetentionTable, **options: Any) -> str:
    from seepage.report.relationships_pages import retentions_page

    return retentions_page(result, **options)


@chart.register(RelationshipEstimates)
def _chart_relationships(
    result: RelationshipEstimates, kind: str = "intervals", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.relationships_charts import estimates_chart

    return estimates_chart(result, kind, **options)


@html.register(RelationshipEstimates)
def _html_relationships(result: RelationshipEstimates, **options: Any) -> str:
    from seepage.report.relationships_pages import estimates_page

    return estimates_page(result, **options)


@chart.register(RiskComparison)
def _chart_risks(
    result: RiskComparison, kind: str = "beliefs", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.risk_charts import comparison_chart

    return comparison_chart(result, kind, **options)


@chart.register(Disclosure)
def _chart_disclosure(
    result: Disclosure, kind: str = "beliefs", **options: Any
) -> alt.TopLevelMixin:
    return _chart_risks(RiskComparison((result,)), kind, **options)


@chart.register(RiskCard)
def _chart_card(result: RiskCard, kind: str = "beliefs", **options: Any) -> alt.TopLevelMixin:
    return _chart_disclosure(result.disclosure, kind, **options)


@chart.register(Selection)
def _chart_selection(result: Selection, kind: str = "beliefs", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.risk_charts import selection_chart

    return selection_chart(result, kind, **options)


@chart.register(PowerReport)
def _chart_power(result: PowerReport, kind: str = "region", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.risk_charts import power_chart

    return power_chart(result, kind, **options)


@html.register(RiskComparison)
def _html_risks(result: RiskComparison, **options: Any) -> str:
    from seepage.report.risk_pages import comparison_page

    return comparison_page(result, **options)


@html.register(Disclosure)
def _html_disclosure(result: Disclosure, **options: Any) -> str:
    return _html_risks(RiskComparison((result,)), **options)


@html.register(RiskCard)
def _html_card(result: RiskCard, **options: Any) -> str:
    from seepage.report.risk_pages import card_page

    return card_page(result, **options)


@html.register(Selection)
def _html_selection(result: Selection, **options: Any) -> str:
    from seepage.report.risk_pages import selection_page

    return selection_page(result, **options)


@chart.register(PowerResult)
def _chart_result(result: PowerResult, kind: str = "region", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.risk_pages import alone

    return _chart_power(alone(result), kind, **options)


@chart.register(NeedResult)
def _chart_need(result: NeedResult, kind: str = "region", **options: Any) -> alt.TopLevelMixin:
    return _chart_result(result.at, kind, **options)


@chart.register(FamilyReport)
def _chart_family(result: FamilyReport, kind: str = "region", **options: Any) -> alt.TopLevelMixin:
    from seepage.report.family_charts import family_chart

    return family_chart(result, kind, **options)


@html.register(FamilyReport)
def _html_family(result: FamilyReport, **options: Any) -> str:
    from seepage.report.risk_pages import family_page

    return family_page(result, **options)


@html.register(PowerResult)
@html.register(NeedResult)
def _html_result(result: PowerResult | NeedResult, **options: Any) -> str:
    from seepage.report.risk_pages import result_page

    return result_page(result, **options)


@html.register(PowerReport)
def _html_power(result: PowerReport, **options: Any) -> str:
    from seepage.report.risk_pages import power_page

    return power_page(result, **options)


@chart.register(TableRedaction)
def _chart_redaction(
    result: TableRedaction, kind: str = "plan", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.redaction_charts import table_chart

    return table_chart(result, kind, **options)


@html.register(TableRedaction)
def _html_redaction(result: TableRedaction, **options: Any) -> str:
    from seepage.report.redaction_pages import table_page

    return table_page(result, **options)


@chart.register(RedactionPlan)
def _chart_redaction_plan(
    plan: RedactionPlan, kind: str = "plan", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.redaction_charts import plan_chart

    return plan_chart(plan, kind, **options)


@html.register(RedactionPlan)
def _html_redaction_plan(plan: RedactionPlan, **options: Any) -> str:
    from seepage.report.redaction_pages import plan_page

    return plan_page(plan, **options)


@chart.register(RedactionComparison)
def _chart_redactions(
    result: RedactionComparison, kind: str = "utility", **options: Any
) -> alt.TopLevelMixin:
    from seepage.report.redaction_charts import comparison_chart

    return comparison_chart(result, kind, **options)


def save_chart(chart: alt.TopLevelMixin, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as .png, .svg, .pdf, .json or .html; see `seepage.report.charts.save_chart`."""
    from seepage.report import charts

    charts.save_chart(chart, path, scale=scale)
