"""Calibrated budgets in words, the same in a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seepage.report import wording

if TYPE_CHECKING:
    from seepage.plan.calibrate import CalibrationResult

MAX_SOURCES = 2
"""So many sources of a total are named."""

METHODS = {
    "tree": "by a dependency tree",
    "pairwise": "as a sum of pairs",
    "group": "as the sum of all budgets",
    "joint": "exactly, for the mechanisms named below",
}
"""How a total was computed, in words."""


@dataclass(frozen=True)
class BudgetRow:
    """One attribute of a calibration.

    Attributes
    ----------
    name : str
    categories : int
    epsilon, uniform : float
        Calibrated budget, and that of splitting equally.
    total : float
    at_target : bool
    note : str
        "at target", "at maximum", "at minimum" or nothing.
    """

    name: str
    categories: int
    epsilon: float
    uniform: float
    total: float
    at_target: bool
    note: str


def budget_rows(result: CalibrationResult) -> list[BudgetRow]:
    """Return the attributes, largest budget first."""
    rows = []
    for attribute in result.domain:
        name = attribute.name
        epsilon, (low, high) = result.budgets[name], result.bounds[name]
        at_target = name in result.active and math.isfinite(result.target)
        bound = "at maximum" if epsilon >= high else "at minimum" if 0 < epsilon <= low else ""
        rows.append(
            BudgetRow(
                name,
                attribute.size,
                epsilon,
                result.uniform_budgets[name],
                result.totals[name],
                at_target,
                "at target" if at_target else bound,
            )
        )
    return sorted(rows, key=lambda row: -row.epsilon)


def comparison(result: CalibrationResult) -> str:
    """Return what calibration gains over splitting the target equally, in one sentence."""
    value, equal = result.objective_value, result.uniform_value
    if result.objective == "sum":
        gain = f", {value / equal:.3g} times as much" if 0 < equal < math.inf > value else ""
        return (
            f"The weighted sum of the budgets is {wording.nats(value)} nats, against "
            f"{wording.nats(equal)} when the target is split equally{gain}."
        )
    if result.objective == "maxmin":
        return (
            f"The smallest budget (over its importance) is {wording.nats(value)} nats, against "
            f"{wording.nats(equal)} when the target is split equally."
        )
    what = {
        "variance": "The total variance of the frequencies of single columns",
        "kway": "The total error of the frequency tables",
    }[result.objective]
    if math.isinf(value):
        return f"{what} is infinite: a column with a budget of 0 says nothing."
    if math.isinf(equal):
        return f"{what} is finite; it would be infinite if the target were split equally."
    if equal <= 0:
        return f"{what} is 0 in any case: every column has one category."
    ratio = value / equal
    if abs(ratio - 1) < 5e-4:
        return f"{what} is that of splitting the target equally."
    size = f"{100 * ratio:.3g}%" if ratio < 1 else f"{ratio:.3g} times"
    return (
        f"{what} is {size} {'of ' if ratio < 1 else ''}that of splitting the target equally: "
        f"the same precision needs {size} {'of ' if ratio < 1 else ''}the records."
    )


def composition(name: str, total: float, own: float, parts: Mapping[str, float]) -> str:
    """Return what a total is made of: ``'age': 3.000 = 0.645 own + 1.809 through 'illness'``."""
    if math.isinf(total):
        return f"{name!r}: without bound"
    ranked = sorted((n for n in parts if parts[n] > 0), key=lambda n: (-parts[n], n))
    terms = [f"{wording.nats(own)} own"]
    terms += [f"{wording.nats(parts[n])} through {n!r}" for n in ranked[:MAX_SOURCES]]
    rest = ranked[MAX_SOURCES:]
    if rest:
        sum_of_rest = math.fsum(parts[n] for n in rest)
        others = "1 other" if len(rest) == 1 else f"{len(rest)} others"
        terms.append(f"{wording.nats(sum_of_rest)} through {others}")
    return f"{name!r}: {wording.nats(total)} = {' + '.join(terms)}"


def binding(result: CalibrationResult) -> list[str]:
    """Return what holds the budgets back, the binding attribute first; empty when nothing does."""
    if math.isinf(result.target):
        return []
    names = sorted(result.active, key=lambda name: (name != result.binding, name))
    totals = result.totals
    return [
        composition(name, totals[name], result.budgets[name], totals.parts.get(name, {}))
        for name in names
    ]


def holding(result: CalibrationResult) -> str:
    """Return what follows from what binds, in one sentence."""
    if not result.active or math.isinf(result.target):
        return "Nothing holds the budgets back: all are at their maximum."
    return (
        "No budget that is below its maximum can be raised alone: a total at the target would "
        "exceed it."
    )
