"""Self-contained pages: one file, no request to anywhere, usable by keyboard and on paper.

The page holds the vertices of every exact curve, so that its script can evaluate the leakage at any
ε by itself. Everything that comes from the data reaches the page as text: the templates escape it,
the script sets it as text, and the embedded JSON has no character that could end its element.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from seepage.leakage.sampling import SampledLeakage
from seepage.plan.audit_result import MEASURES, AuditResult, PairLeakage
from seepage.report import wording
from seepage.report.templating import DIGITS, number, render
from seepage.results import Finding
from seepage.tradeoff import PiecewiseLinear

MAX_ROWS = 2000
"""So many pairs are listed; the heatmap always has all of them."""

MAX_WRITTEN = 15
"""Up to so many attributes, the cells of the heatmap show their number."""


def audit_page(result: AuditResult, *, date: str | None = None) -> str:
    """Return the page of an audit.

    Parameters
    ----------
    result : AuditResult
    date : str, optional
        Shown in the footer; today by default.
    """
    names = list(result.domain.names)
    index = {(pair.secret, pair.released): i for i, pair in enumerate(result.pairs)}
    ranked = sorted(range(len(result.pairs)), key=lambda i: -result.pairs[i].leakage.value)
    budgets = {wording.budget(value) for value in result.budgets.values()}
    totals = sorted(result.totals.items(), key=lambda item: -item[1].value)
    return render(
        "audit.html.j2",
        title=f"Leakage audit of {result.source}",
        date=date,
        script="audit.js",
        payload=_payload(result),
        result=result,
        names=names,
        index=index,
        dense=len(names) > MAX_WRITTEN,
        cell=_cell_size(len(names)),
        rows=[(i, result.pairs[i]) for i in ranked[:MAX_ROWS]],
        pairs=result.pairs,
        budget_text=budgets.pop() if len(budgets) == 1 else None,
        totals=totals,
        others=_others(result),
        longest=max((t.value for _, t in totals if math.isfinite(t.value)), default=0.0) or 1.0,
        standing={name: _standings(result, name) for name in MEASURES},
        confidence=next((p.sampled.interval.confidence for p in result.pairs if p.sampled), None),
        total_standing=", ".join(sorted({str(item.standing) for item in result.totals.values()})),
    )


def _cell_size(count: int) -> int:
    """Side of a cell in pixels, so that up to about 65 attributes fit beside their names."""
    if count <= MAX_WRITTEN:
        return 46 if count <= 10 else 38
    return max(14, min(34, 980 // count - 1))


def _others(result: AuditResult) -> dict[str, float]:
    """What all other attributes leak about each one, summed."""
    sums = dict.fromkeys(result.domain.names, 0.0)
    for pair in result.pairs:
        sums[pair.secret] += pair.leakage.value
    return sums


def _standings(result: AuditResult, measure: str) -> str:
    """Every standing that occurs in one column; the page shows it at the head of the column."""
    return ", ".join(sorted({str(getattr(pair, measure).standing) for pair in result.pairs}))


def _payload(result: AuditResult) -> dict[str, Any]:
    names = list(result.domain.names)
    position = {name: i for i, name in enumerate(names)}
    return {
        "names": [wording.drawable(name) for name in names],
        "budgets": [result.budgets[name] for name in names],
        "totals": [_finding(result.totals[name]) for name in names],
        "pairs": [_pair(pair, position) for pair in result.pairs],
        "tree": [[position[a], position[b]] for a, b in result.tree.named_edges],
    }


def _pair(pair: PairLeakage, position: Mapping[str, int]) -> dict[str, Any]:
    values = pair.secret_values
    return {
        "secret": position[pair.secret],
        "released": position[pair.released],
        "epsilon": number(pair.epsilon),
        **{name: _finding(getattr(pair, name)) for name in MEASURES},
        "triad": [number(x) for x in (pair.triad.alpha, pair.triad.beta, pair.triad.delta)],
        "curve": _curve(pair.curve),
        "triad_curve": _curve(pair.triad.tradeoff()),
        "grr_curve": _curve(pair.grr_curve),
        "sampled": None if pair.sampled is None else _sampled(pair.sampled),
        "values": None if values is None else [wording.shorten(value) for value in values],
        "event": [wording.shorten(label) for label in pair.event[: wording.MAX_LABELS]],
        "event_size": len(pair.event),
    }


def _sampled(sampled: SampledLeakage) -> dict[str, Any]:
    interval = sampled.interval
    return {
        "limits": [number(interval.lower), number(interval.upper)],
        "estimate": number(interval.estimate),
        "confidence": interval.confidence,
        "distinguishable": sampled.distinguishable,
    }


def _finding(finding: Finding) -> list[Any]:
    return [number(finding.value), str(finding.standing)]


def _curve(curve: PiecewiseLinear) -> list[list[float]]:
    """Vertices as α and power − α: their difference in the page would lose small gaps."""
    kept = curve.gap > 0
    return [
        [float(f"{x:.{DIGITS}g}") for x in values[kept].tolist()]
        for values in (curve.alpha, curve.gap)
    ]
