"""Self-contained pages of calibrated budgets and of total leakage; they run no script."""

from __future__ import annotations

import math
from collections.abc import Iterable

from seepage.plan.calibrate import CalibrationResult
from seepage.plan.totals import TotalLeakage
from seepage.report import svg
from seepage.report.budget_words import METHODS, binding, budget_rows, comparison, holding
from seepage.report.templating import render


def calibration_page(result: CalibrationResult, *, date: str | None = None) -> str:
    """Return the page of a calibration.

    Parameters
    ----------
    result : CalibrationResult
    date : str, optional
        Shown in the footer; today by default.
    """
    rows = budget_rows(result)
    return render(
        "budgets.html.j2",
        date=date,
        title=f"Calibrated budgets of {result.source}",
        result=result,
        rows=rows,
        method=METHODS[result.method],
        chart=svg.budget_dots(rows, result.target),
        longest=_longest((*result.totals.values(), result.target)),
        comparison=comparison(result),
        binding=binding(result),
        holding=holding(result),
    )


def totals_page(result: TotalLeakage, *, date: str | None = None) -> str:
    """Return the page of total leakage.

    Parameters
    ----------
    result : TotalLeakage
    date : str, optional
        Shown in the footer; today by default.
    """
    return render(
        "totals.html.j2",
        date=date,
        title=f"Total leakage of {result.source}",
        result=result,
        names=sorted(result, key=lambda name: -result[name]),
        rows=result.columns(),
        method=METHODS[result.method],
        chart=svg.total_bars(result),
    )


def _longest(values: Iterable[float]) -> float:
    """The largest finite value, or 1."""
    return max((value for value in values if math.isfinite(value)), default=0.0) or 1.0
