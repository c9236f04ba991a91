"""Redaction plans in the words that text, charts and pages share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray
from seepage.plan.redacting import RedactionGroup
from seepage.report import wording
from seepage.sequence.leakage import Leakage
from seepage.sequence.plan import RedactionPlan

MARGIN = 3
"""Records shown on either side of those that may be redacted."""

NAMED = 4
"""Protected positions that are listed."""


@dataclass(frozen=True)
class GroupRow:
    """One line of the table of groups."""

    sequences: str
    n: str
    positions: str
    epsilon: str
    leakage: float
    average: str
    expected: str
    released: str
    kept: str


def group_rows(groups: Sequence[RedactionGroup]) -> list[GroupRow]:
    """Return a line for each group of sequences."""
    rows = []
    for group in groups:
        plan = group.plan
        asked = sorted(set(plan.epsilons)) if plan.epsilons is not None else []
        kept = plan.keeps_promise
        rows.append(
            GroupRow(
                f"{len(group.members):,}",
                f"{plan.n:,}",
                positions(plan.positions),
                " to ".join(map(wording.budget, dict.fromkeys([asked[0], asked[-1]])))
                if asked
                else "–",
                plan.leakage,
                f"{group.expected:,.1f}",
                f"{group.expected:,.1f} of {group.records:,}",
                "–" if group.released is None else f"{group.released:,}",
                "above ε" if kept is False else "",
            )
        )
    return rows


def positions(where: Sequence[int]) -> str:
    """Protected positions in a few words."""
    shown = ", ".join(map(str, where[:NAMED]))
    return shown + (f", … ({len(where)})" if len(where) > NAMED else "")


def named(where: Sequence[int]) -> str:
    """Protected positions with their noun."""
    return f"{'record' if len(where) == 1 else 'records'} {positions(where)}"


def first_plan(groups: Sequence[RedactionGroup]) -> str:
    """Which plan is meant where only the first of several is shown; empty for a single one."""
    if len(groups) < 2:
        return ""
    plan = groups[0].plan
    return f"For the first plan ({plan.n:,} records, {named(plan.positions)} protected)"


def estimate(value: float, error: float) -> str:
    """A fitted probability to the digits that its standard error has.

    More of them would tell the counts of the fit.
    """
    if not 0 < error < math.inf:
        return f"{value:.2g} ± {'0' if error == 0 else '∞'}"
    digits = max(0, -math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def rounded(value: float) -> str:
    """A fitted probability whose standard error is not known.

    It gets one digit of itself or of its complement, whichever is smaller: the standard error of a
    relative frequency is no larger, and would leave as many digits or more.
    """
    least = min(value, 1 - value)
    return f"{value:.{max(0, -math.floor(math.log10(least)))}f}" if least > 0 else f"{value:.0f}"


def worst_case(plan: RedactionPlan) -> str:
    """The output that tells most about a protected record, in a sentence."""
    found = max(plan.leakages, key=lambda item: item.value)
    if found.pair is None:
        return f"Nothing that can be released tells anything about record {found.position}."
    first, second = (wording.shorten(label) for label in found.pair)
    text = f"about record {found.position} it tells {first} from {second}"
    seen = _seen(found)
    if not seen:  # of a set of chains the output is not known
        return f"Worst case: {text}."
    return f"Worst case: {seen}; {text}."


def _seen(found: Leakage) -> str:
    p = found.position
    parts = [
        f"record {where} is released as {wording.shorten(label)}"
        for where, label in sorted(found.output.items())
    ]
    if any(abs(where - p) > 1 for where in found.output):
        parts.append("all between is redacted")
    if len(found.silent) > 1:
        parts.append("no record is released")
    elif found.silent:
        parts.append(f"nothing is released {found.silent[0]} record {p}")
    head = ", ".join(parts[:-1])
    return f"{head}, and {parts[-1]}" if head else "".join(parts)


def shown_rows(plan: RedactionPlan) -> slice:
    """Records to draw: those that may be redacted, and a few on either side."""
    first, last = plan.window
    return slice(max(0, first - MARGIN), min(plan.n, last + 1 + MARGIN))


def plan_lines(plan: RedactionPlan) -> tuple[list[int], FloatArray]:
    """Positions to draw, and the redaction probabilities there, shape (m, k)."""
    rows = shown_rows(plan)
    return list(range(rows.start, rows.stop)), plan.redact_probability[rows]


def state_names(plan: RedactionPlan) -> list[str]:
    """Names of states that differ when drawn."""
    shown = wording.drawable_names([str(state) for state in plan.chain.states])
    return [wording.shorten(shown[str(state)], 32) for state in plan.chain.states]


def thinned(count: int, most: int) -> list[int]:
    """Indices of at most about `most` of `count` points, the last included."""
    if count <= most:
        return list(range(count))
    return sorted({*np.linspace(0, count - 1, most).round().astype(int).tolist()})
