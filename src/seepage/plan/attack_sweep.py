"""The same plan at other budgets."""

from __future__ import annotations

import math
from dataclasses import replace

from seepage.collect.claims import Unit
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Mechanism
from seepage.collect.registry import mechanism_from_dict
from seepage.collect.response import LambdaResponse
from seepage.collect.retention import retention_from_epsilon
from seepage.errors import InvalidInputError


def largest_budget(plan: CollectionPlan) -> float:
    """The largest ε of a mechanism of the plan."""
    return max(unit.mechanism.epsilon for unit in plan.units)


def rescaled(plan: CollectionPlan, epsilon: float) -> CollectionPlan:
    """The plan with all budgets multiplied so that the largest is `epsilon`.

    Infinite budgets become `epsilon`, and finite ones beside them 0. A plan without any budget gets
    `epsilon` everywhere. It claims nothing on totals, and is not meant for a release.

    Parameters
    ----------
    plan : CollectionPlan
    epsilon : float
        In [0, ∞].

    Raises
    ------
    InvalidInputError
        If a mechanism is a given table, which has no budget that could be changed.
    """
    top = largest_budget(plan)
    units = []
    for unit in plan.units:
        own = unit.mechanism.epsilon
        share = 1.0 if own == top else 0.0 if math.isinf(top) else own / top
        new = share * epsilon if share > 0 else 0.0
        units.append(Unit(unit.names, _with_budget(unit, new)))
    return replace(plan, units=tuple(units), claims=(), target=None)


def _with_budget(unit: Unit, epsilon: float) -> Mechanism:
    mechanism = unit.mechanism
    if mechanism.epsilon == epsilon:
        return mechanism
    if isinstance(mechanism, LambdaResponse):
        return LambdaResponse(mechanism.k, float(retention_from_epsilon(epsilon, mechanism.k)))
    values = mechanism.to_dict()
    if "epsilon" not in values:
        msg = (
            f"expected mechanisms that a budget determines for a sweep over epsilons, got "
            f"{mechanism.kind!r} for {' + '.join(map(repr, unit.names))}"
        )
        raise InvalidInputError(msg)
    return mechanism_from_dict(values | {"epsilon": epsilon})
