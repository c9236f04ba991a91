"""Self-contained page of a collection plan; it runs no script."""

from __future__ import annotations

from seepage.collect.collection import CollectionPlan
from seepage.report import svg
from seepage.report.collection_words import as_totals, facts, forecasts, plan_rows, sentences
from seepage.report.templating import render


def plan_page(plan: CollectionPlan, *, date: str | None = None) -> str:
    """Return the page of a plan.

    Parameters
    ----------
    plan : CollectionPlan
    date : str, optional
        Shown in the footer; today by default.
    """
    return render(
        "collection.html.j2",
        date=date,
        title=f"Collection plan of {plan.source}",
        plan=plan,
        rows=plan_rows(plan),
        facts=facts(plan),
        standing=plan.standing,
        forecasts=forecasts(plan),
        sentences_of=sentences(plan),
        chart=svg.total_bars(as_totals(plan)),
    )
