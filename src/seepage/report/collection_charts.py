"""The chart of a collection plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage.collect.collection import CollectionPlan
from seepage.errors import InvalidInputError
from seepage.plan.claim_checks import by_tree
from seepage.report import wording
from seepage.report.charts import total_bars
from seepage.report.collection_words import DESIGNS

if TYPE_CHECKING:
    import altair as alt


def plan_chart(plan: CollectionPlan, kind: str = "totals") -> alt.TopLevelMixin:
    """Bars of the claimed totals, the own ε first.

    Raises
    ------
    InvalidInputError
        If `kind` is not "totals".
    """
    if kind != "totals":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'totals'."
        raise InvalidInputError(msg)
    how = DESIGNS[plan.design]
    some = any(by_tree(claim) for claim in plan.claims)
    tree = " Upper bounds, if the data follow the tree." if some else ""
    return total_bars(
        {name: claim.value for name, claim in plan.totals.items()},
        plan.budgets,
        axis="Total leakage claimed (nats)",
        title="What the plan claims about each attribute",
        subtitle=f"{how[0].upper()}{how[1:]}; ε of the record {wording.nats(plan.epsilon)}.{tree}",
    )
