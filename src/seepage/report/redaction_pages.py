"""Self-contained pages of redacted sequences and of single plans; they run no script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seepage.plan.redacting import PLAN_ONLY, RedactionGroup, TableRedaction
from seepage.plan.redaction_comparison import RedactionComparison
from seepage.plan.redaction_fit import FITTED, KEEP
from seepage.report import redaction_svg
from seepage.report.redaction_words import (
    estimate,
    first_plan,
    group_rows,
    named,
    rounded,
    state_names,
    worst_case,
)
from seepage.report.templating import render
from seepage.sequence.plan import RedactionPlan

if TYPE_CHECKING:
    from seepage.sequence.fit import FittedChain

MAX_ROWS = 20
MAX_PICTURES = 4
MAX_STATES = 12


def table_page(
    result: TableRedaction,
    *,
    comparison: RedactionComparison | None = None,
    date: str | None = None,
) -> str:
    """Return the page of redacted sequences.

    Parameters
    ----------
    result : TableRedaction
    comparison : RedactionComparison, optional
        Shown as well.
    date : str, optional
        Shown in the footer; today by default.
    """
    count = len(result.table.values)
    facts = (
        f"{count:,} {'sequence' if count == 1 else 'sequences'} · {result.table.size:,} records · "
        f"{result.mechanism} · {result.kind}"
    )
    return _page(
        result,
        result.groups,
        source=result.source,
        facts=facts,
        fitted=result.fitted,
        from_fit=result.from_fit,
        comparison=comparison,
        date=date,
    )


def plan_page(plan: RedactionPlan, *, date: str | None = None) -> str:
    """Return the page of one plan.

    Parameters
    ----------
    plan : RedactionPlan
    date : str, optional
        Shown in the footer; today by default.
    """
    facts = f"{plan.n:,} records · {plan.mechanism} · {PLAN_ONLY}"
    group = RedactionGroup(plan, (0,))
    return _page(
        plan,
        (group,),
        source="Redaction plan",
        facts=facts,
        from_fit=FITTED in plan.notes,
        date=date,
    )


def _page(
    result: TableRedaction | RedactionPlan,
    groups: Sequence[RedactionGroup],
    *,
    source: str,
    facts: str,
    date: str | None,
    from_fit: bool,
    fitted: FittedChain | None = None,
    comparison: RedactionComparison | None = None,
) -> str:
    return render(
        "redaction.html.j2",
        date=date,
        title=f"Redaction of {source}",
        source=source,
        facts=facts,
        verdict=result.verdict,
        standing=result.standing,
        broken=result.keeps_promise is False,
        rows=group_rows(groups[:MAX_ROWS]),
        left_out=len(groups) - MAX_ROWS,
        pictures=[_picture(group, len(groups)) for group in groups[:MAX_PICTURES]],
        comparison=None if comparison is None else _comparison(comparison),
        states=state_names(groups[0].plan)[:MAX_STATES],
        chain=_chain(groups[0].plan, fitted, from_fit=from_fit),
        errors=fitted is not None,
        rounded=from_fit and fitted is None,
        first=first_plan(groups),
        keep=KEEP if from_fit else "",
        assumptions=result.assumptions,
    )


def _picture(group: RedactionGroup, count: int) -> dict[str, Any]:
    plan = group.plan
    names = state_names(plan)
    title = "The plan"
    if count > 1:
        title = f"The plan for {plan.n:,} records that protects {named(plan.positions)}"
    first, last = plan.window
    rest = plan.n - (last - first + 1)
    return {
        "title": title,
        "legend": [
            {"name": name, "look": look if look != "exact" else ""}
            for name, look in zip(names, redaction_svg.looks(len(names)), strict=True)
        ],
        "more": f"{rest:,} records outside are always released." if rest else "",
        "svg": redaction_svg.plan_picture(plan),
        "worst": worst_case(plan),
    }


def _comparison(result: RedactionComparison) -> dict[str, Any]:
    return {
        "verdict": result.verdict,
        "legend": [
            {"name": name, "look": look if look != "exact" else ""}
            for name, look in redaction_svg.LOOKS.items()
            if name in result.utilities
        ],
        "utility": redaction_svg.comparison_picture(result, "utility"),
        "leakage": redaction_svg.comparison_picture(result, "leakage"),
    }


def _chain(
    plan: RedactionPlan, fitted: FittedChain | None, *, from_fit: bool
) -> list[dict[str, Any]]:
    chain = plan.chain
    law = chain.marginals(0, plan.n).mean(axis=0)
    errors = None if fitted is None else fitted.standard_errors
    lines = []
    for i, name in enumerate(state_names(plan)[:MAX_STATES]):
        row = chain.transition[i, :MAX_STATES].tolist()
        cells = [rounded(p) if from_fit else f"{p:.4f}" for p in row]
        if errors is not None:
            pairs = zip(row, errors[i, :MAX_STATES].tolist(), strict=True)
            cells = [estimate(p, error) for p, error in pairs]
        share = f"{law[i]:.1%}" if not from_fit else f"{law[i]:.0%}"
        lines.append({"name": name, "cells": cells, "share": share})
    return lines
