"""Divide a total budget over attributes so that chosen relationships survive.

Every allocation is evaluated again with `retention` after rounding: the budgets never add up to
more than the total, and no minimum retention is missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import extremes_allowed
from seepage.collect._wishes import Wishes
from seepage.collect.attenuation import Names, Sizes, named, percent, retentions
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing

Objective = Literal["sum", "geometric", "worst"]

CERTIFIED = 1e-9
"""Relative distance from the bound within which an allocation counts as the best."""

MEANINGS = {
    "sum": "the weighted sum of retentions",
    "geometric": "the weighted geometric mean of retentions",
    "worst": "the smallest ratio of retention to weight",
}
RESPONSE = (
    "Each attribute goes through its own k-ary randomised response, independently given the record."
)
COMPOSITION = "Budgets add up over the attributes of a record (basic composition)."
UNSPENT = "The maximum budgets, or attributes without relationships, leave part of the total."
NOT_CERTIFIED = "The objective is not concave: the best of several starts, perhaps not the best."


@dataclass(frozen=True, eq=False)
class Allocation(Result):
    """Budgets that share a total so that relationships survive.

    Attributes
    ----------
    sizes : mapping of str to int
        Number of categories of each attribute.
    total : float
        What could be spent, in nats; `spent` never exceeds it.
    objective : {"sum", "geometric", "worst"}
    budgets : mapping of str to float
        ε of each attribute.
    weights : mapping of tuple of str to float
        Weight of each relationship.
    retentions : mapping of tuple of str to float
        Evaluated again at `budgets`.
    minimum_retentions : mapping of tuple of str to float
    value : float
        The objective at `budgets`.
    bound : float
        No allocation within the limits has a larger objective.
    equal_budgets : mapping of str to float
        For comparison: the total divided equally, within the limits of single budgets.
    equal_value : float
        The objective at those.
    bounds : mapping of str to (float, float)
        Minimum and maximum of each budget.
    assumptions : tuple of str
    """

    sizes: Mapping[str, int]
    total: float
    objective: str
    budgets: Mapping[str, float]
    weights: Mapping[Names, float]
    retentions: Mapping[Names, float]
    minimum_retentions: Mapping[Names, float]
    value: float
    bound: float
    equal_budgets: Mapping[str, float]
    equal_value: float
    bounds: Mapping[str, tuple[float, float]]
    assumptions: tuple[str, ...]

    @property
    def spent(self) -> float:
        """Sum of the budgets."""
        return math.fsum(self.budgets.values())

    @property
    def standing(self) -> Standing:
        """`exact` when the bound certifies the allocation to a relative 1e-9, else `heuristic`."""
        certified = self.bound - self.value <= CERTIFIED * self.value
        return Standing.EXACT if certified else Standing.HEURISTIC

    @property
    def verdict(self) -> str:
        """What survives, in one sentence."""
        order = sorted(self.retentions, key=lambda names: -self.retentions[names])
        most, least = order[0], order[-1]
        kind = "the best" if self.standing is Standing.EXACT else "the best found"
        moment = "covariance" if len(most) == 2 else "cross-moment"
        high, low = percent(self.retentions[most]), percent(self.retentions[least])
        who = "every relationship" if high == low and len(order) > 1 else named(most)
        ends = f"{who} keeps {high} of its {moment}"
        if high != low:
            ends += f", the most, and {named(least)} {low}, the least"
        return (
            f"With a total of {self.total:g} nats, {ends}; {MEANINGS[self.objective]} is "
            f"{self.value:.4g}, {kind}, against {self.equal_value:.4g} when split equally."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each relationship."""
        equal = retentions(self.sizes, self.equal_budgets, relationships=self.retentions)
        names = list(self.retentions)
        return {
            "relationship": [named(item) for item in names],
            "order": [len(item) for item in names],
            "weight": [self.weights.get(item, 0.0) for item in names],
            "minimum": [self.minimum_retentions.get(item, 0.0) for item in names],
            "retention": [self.retentions[item] for item in names],
            "retention_equal": [equal[item] for item in names],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; other verbs read the budgets from it."""
        return {
            "format": "seepage.budgets",
            "version": 1,
            "unit": "nats",
            "verdict": self.verdict,
            "standing": str(self.standing),
            "total": self.total,
            "spent": self.spent,
            "objective": {
                "name": self.objective,
                "meaning": MEANINGS[self.objective],
                "value": self.value,
                "bound": self.bound,
                "equal": self.equal_value,
            },
            "budgets": dict(self.budgets),
            "equal": dict(self.equal_budgets),
            "bounds": {name: list(pair) for name, pair in self.bounds.items()},
            "relationships": [
                dict(zip(("names", *row), (list(names), *row.values()), strict=True))
                for names, row in zip(self.retentions, self._rows(), strict=True)
            ],
            "assumptions": list(self.assumptions),
        }

    def _rows(self) -> list[dict[str, Any]]:
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@extremes_allowed
def allocate(
    domain_or_sizes: Sizes,
    total: float,
    *,
    objective: Objective = "sum",
    relationships: Mapping[Any, float] | Iterable[Iterable[str]] | None = None,
    minimum_retention: Mapping[Any, float] | float | None = None,
    minimum: Any = 0.0,
    maximum: Any = math.inf,
) -> Allocation:
    """Divide a total budget over attributes so that relationships survive as well as possible.

    Parameters
    ----------
    domain_or_sizes : Domain, mapping of str to int, or sequence of int
        Attributes and their numbers of categories; unnamed ones are called X1, X2, …
    total : float
        Sum of the budgets ε, in [0, ∞] nats.
    objective : {"sum", "geometric", "worst"}
        "sum": largest ``Σ w_S · Π_{m∈S} λ_m``; it tends to give up some relationships for others.
        "geometric": largest weighted geometric mean of retentions; gives nothing up. "worst":
        largest smallest ``retention / weight``.
    relationships : mapping of tuple of str to float, or iterable of tuples of str, optional
        Sets of distinct attributes and their weights, positive; all pairs with weight 1 by default.
    minimum_retention : mapping of tuple of str to float, or float, optional
        Retention that sets of attributes must keep, in [0, 1]; one number is for each relationship.
    minimum, maximum : float, mapping of str to float, or sequence of float
        Limits of single budgets, in [0, ∞]; attributes left out of a mapping have none.

    Returns
    -------
    Allocation
        `exact` for "geometric" and "worst", and for one relationship: the logarithm of a retention
        is concave in the budgets, and the Lagrangian's bound is met to a relative 1e-9. Otherwise
        "sum" is `heuristic`. Attributes that belong to no relationship get their minimum.

    Raises
    ------
    InfeasibleError
        If the limits cannot be met; names the relationship that binds and the total needed.
    InvalidInputError
        If a parameter is outside its range.

    Examples
    --------
    >>> found = allocate([4, 4, 4], 3.0, objective="geometric")
    >>> [round(value, 9) for value in found.budgets.values()]
    [1.0, 1.0, 1.0]
    """
    if objective not in get_args(Objective):
        known = get_args(Objective)
        msg = f"expected an objective, got {objective!r}.{did_you_mean(objective, known)}"
        raise InvalidInputError(msg)
    wishes = Wishes.of(
        domain_or_sizes,
        total,
        relationships,
        minimum_retention=minimum_retention,
        minimum=minimum,
        maximum=maximum,
    )
    x, bound = wishes.solved(objective)
    attributes = wishes.attributes
    budgets = dict(zip(attributes.names, x.tolist(), strict=True))
    equal = np.clip(
        np.full(len(x), wishes.total / len(x)), wishes.low, np.maximum(wishes.high, wishes.low)
    )
    equal_budgets = dict(zip(attributes.names, equal.tolist(), strict=True))
    listed = list(dict.fromkeys([*wishes.weights, *wishes.floors]))
    kept = retentions(domain_or_sizes, budgets, relationships=listed)
    value = wishes.value(objective, x)
    spends = math.fsum(x.tolist()) >= wishes.total * (1 - 1e-12)
    found = Allocation(
        sizes=dict(zip(attributes.names, attributes.sizes.tolist(), strict=True)),
        total=wishes.total,
        objective=objective,
        budgets=budgets,
        weights=wishes.weights,
        retentions=kept,
        minimum_retentions=wishes.floors,
        value=value,
        bound=max(bound, value),
        equal_budgets=equal_budgets,
        equal_value=wishes.value(objective, equal),
        bounds=dict(
            zip(
                attributes.names,
                zip(wishes.low.tolist(), wishes.high.tolist(), strict=True),
                strict=True,
            )
        ),
        assumptions=(RESPONSE, COMPOSITION, *(() if spends else (UNSPENT,))),
    )
    if found.standing is Standing.EXACT:
        return found
    return replace(found, assumptions=(*found.assumptions, NOT_CERTIFIED))
