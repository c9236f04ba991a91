"""What a plan claims, held against its parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seepage.collect.claims import RECORD, Claim, group_claims, parameter_claims
from seepage.errors import InfeasibleError, InvalidInputError, did_you_mean
from seepage.results import Standing

if TYPE_CHECKING:
    from seepage.collect.collection import CollectionPlan

AGREEMENT = 1e-9
"""How far, relatively, a stated ε may be from that of the parameters."""


def all_claims(plan: CollectionPlan) -> tuple[Claim, ...]:
    """What the parameters say, and the totals of a plan; the bound without data for the rest.

    Raises
    ------
    InvalidInputError
        If a stated claim contradicts the parameters or another one.
    """
    exact = parameter_claims(plan.domain, plan.design, plan.units)
    known = {claim.about: claim for claim in exact}
    totals: dict[str, Claim] = {}
    seen: set[tuple[str, str]] = set()
    for claim in plan.claims:
        if (claim.about, claim.quantity) in seen:
            msg = f"expected one claim on the {claim.quantity} of {claim.about!r}, got two"
            raise InvalidInputError(msg)
        seen.add((claim.about, claim.quantity))
        if claim.about not in known or (claim.quantity == "total" and claim.about == RECORD):
            msg = f"expected a claim about an attribute, got one about {claim.about!r}."
            raise InvalidInputError(msg + did_you_mean(claim.about, plan.domain.names))
        own = known[claim.about].value
        if claim.quantity == "epsilon":
            if not math.isclose(claim.value, own, rel_tol=AGREEMENT, abs_tol=1e-300):
                msg = (
                    f"expected ε = {own!r} for {claim.about!r}, as the parameters of the "
                    f"mechanisms have it, got a claim of {claim.value!r}"
                )
                raise InvalidInputError(msg)
        elif not claim.value >= 0:
            msg = f"expected a total in [0, inf] for {claim.about!r}, got {claim.value!r}"
            raise InvalidInputError(msg)
        else:
            _check_total(plan, claim, own, exact[0].value)
            totals[claim.about] = claim
    bound = {claim.about: claim for claim in group_claims(plan.domain.names, exact[0].value)}
    return (*exact, *(bound | totals).values())


def _check_total(plan: CollectionPlan, claim: Claim, own: float, record: float) -> None:
    """Refuse a total that the parameters contradict."""
    # What an attribute's own report tells when no other one is made from the attribute.
    alone = plan.design == "independent" and any(u.names == (claim.about,) for u in plan.units)
    least = own * (1 - AGREEMENT) if alone and claim.standing is not Standing.LOWER else 0.0
    firm = claim.standing in {Standing.EXACT, Standing.LOWER}
    if claim.value < least:
        msg = (
            f"expected a total of at least {own!r} for {claim.about!r}, which its own report tells "
            f"about it, got {claim.value!r}"
        )
        raise InvalidInputError(msg)
    if firm and claim.value > record * (1 + AGREEMENT):
        msg = (
            f"expected a total of at most {record!r} for {claim.about!r}, the ε of the record, got "
            f"{claim.value!r} ({claim.standing})"
        )
        raise InvalidInputError(msg)


def exceeds_target(plan: CollectionPlan, name: str) -> bool:
    """Whether the total claimed about an attribute is above the target of the plan, if any."""
    if plan.target is None:
        return False
    return plan.totals[name].value > plan.target * (1 + AGREEMENT) + 1e-12


def check_target(plan: CollectionPlan, *names: str) -> None:
    """Refuse totals above the target of the plan.

    Raises
    ------
    InfeasibleError
        If one of the totals about `names` is.
    """
    if plan.target is None:
        return
    for name in names:
        total = plan.totals[name].value
        if exceeds_target(plan, name):
            msg = (
                f"expected totals within the target of the calibration, {plan.target:g} nats, got "
                f"{total:.6g} about {name!r}: the table, the mechanisms or the groups are not "
                "those of the calibration. Calibrate again."
            )
            raise InfeasibleError(msg, name, total)


def check_own_target(plan: CollectionPlan) -> None:
    """Refuse a target that claims contradict; one that nothing vouches for is no contradiction."""
    if plan.target is None:
        return
    if isinstance(plan.target, bool) or not plan.target >= 0:
        msg = f"expected a target in [0, inf], got {plan.target!r}"
        raise InvalidInputError(msg)
    own = plan.epsilon * (1 - AGREEMENT)
    check_target(plan, *(name for name, claim in plan.totals.items() if claim.value < own))
