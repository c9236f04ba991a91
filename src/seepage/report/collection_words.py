"""A collection plan in words and numbers, the same in a terminal and on a page."""

from __future__ import annotations

from dataclasses import dataclass

from seepage.collect.claims import Claim
from seepage.collect.collection import CollectionPlan
from seepage.collect.designs import group_forecast
from seepage.plan.claim_checks import by_tree
from seepage.plan.totals import TotalLeakage
from seepage.results import Finding

DESIGNS = {
    "independent": "every attribute (or group) is reported through its own mechanism",
    "views": "each record reports one view, drawn at random",
    "fake": "one attribute is randomised, the others report uniform fakes",
}
"""How a design works, in words."""

BY_TREE = "by tree"
"""Ends the standing of a total that holds only if the data follow the dependency tree."""

MAX_LIKE = 3
"""So many partners of a jointly randomised attribute are named."""


@dataclass(frozen=True)
class PlanRow:
    """One attribute of a plan.

    Attributes
    ----------
    name : str
    categories : int
    mechanism : str
        Kind, and with which attributes it is randomised jointly.
    epsilon, total : float
        In nats.
    standing : str
        Of the total, with `BY_TREE` where it rests on a tree.
    """

    name: str
    categories: int
    mechanism: str
    epsilon: float
    total: float
    standing: str


def plan_rows(plan: CollectionPlan) -> list[PlanRow]:
    """Return the attributes in the order of the domain."""
    columns = plan.columns()
    rows = []
    for i, name in enumerate(columns["attribute"]):
        kind, partners = columns["mechanism"][i], columns["with"][i]
        views = columns["views"][i]
        if partners:
            kind = f"{kind} with {partners}"
        elif plan.design == "views" and views > 1:
            kind = f"{kind} in {views} views"
        rows.append(
            PlanRow(
                name,
                columns["categories"][i],
                kind,
                columns["epsilon"][i],
                columns["total"][i],
                standing_words(plan.totals[name]),
            )
        )
    return rows


def standing_words(claim: Claim) -> str:
    """Return the standing of a total, with `BY_TREE` where it rests on a tree."""
    return f"{claim.standing}, {BY_TREE}" if by_tree(claim) else str(claim.standing)


def facts(plan: CollectionPlan) -> str:
    """Return what the plan is made from and how it works, in one line without the source."""
    count = "1 attribute" if len(plan.domain) == 1 else f"{len(plan.domain)} attributes"
    return f"{count}; {DESIGNS[plan.design]}; fingerprint {plan.fingerprint[:16]}"


def forecasts(plan: CollectionPlan) -> list[str]:
    """Return what randomising together gains or costs, a sentence for each group."""
    if plan.design != "independent":
        return []
    found = []
    for unit in plan.units:
        if len(unit.names) > 1 and unit.mechanism.kind == "grr":
            share = unit.mechanism.epsilon / len(unit.names)
            found.append(group_forecast(plan.domain, unit.names, share).sentence)
    return found


def sentences(plan: CollectionPlan) -> list[str]:
    """Return everything that the plan and its claims rest on, each sentence once."""
    found = dict.fromkeys(plan.assumptions)
    for claim in plan.claims:
        found |= dict.fromkeys(claim.assumptions)
    return list(found)


def as_totals(plan: CollectionPlan) -> TotalLeakage:
    """Return the claimed totals in the form that charts of totals take."""
    return TotalLeakage(
        method="group",
        budgets=plan.budgets,
        findings={
            name: Finding(claim.value, claim.standing, claim.assumptions)
            for name, claim in plan.totals.items()
        },
        parts={},
        assumptions=tuple(sentences(plan)),
        source=plan.source,
    )
