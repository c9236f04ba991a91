"""From budgets, and a table or a domain, to the plan of a collection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import extremes_allowed, freeze
from seepage.collect._claim_checks import check_target
from seepage.collect.claims import Claim, Unit
from seepage.collect.collection import CollectionPlan
from seepage.collect.designs import Kinds, Options, fake_data, independent, sampled_views, split
from seepage.collect.plan_files import domain_digest
from seepage.collect.records import joint_codes
from seepage.domain import Domain
from seepage.errors import DomainError, InvalidInputError, did_you_mean
from seepage.leakage.model import LeakageModel, TotalMethod
from seepage.plan.calibrate import CalibrationResult
from seepage.plan.calibration_files import Calibration, budgets_in, calibration_of
from seepage.plan.claim_checks import checked_plan
from seepage.plan.plan_sources import (
    BUDGETS_FROM_DATA,
    FROM_DATA,
    READ_FROM_DATA,
    PlanSource,
    plan_source,
)
from seepage.plan.totals import CLUSTERS, evaluate, prepare
from seepage.tables import CodedTable

DesignName = Literal["independent", "split", "calibrated", "views", "fake"]

MAX_MERGED = 256
"""Most categories of a unit for which totals by tree are computed: they compare every two."""


@extremes_allowed
def make_plan(
    source: Any,
    *,
    budgets: float | Mapping[str, float] | CalibrationResult | str | Path | None = None,
    epsilon: float | Mapping[str, float] | None = None,
    design: DesignName = "independent",
    k: int = 2,
    mechanism: Kinds = "grr",
    groups: Sequence[Sequence[str]] = (),
    options: Options | None = None,
    method: TotalMethod | None = None,
    **reading: Any,
) -> CollectionPlan:
    """Make the plan of a collection.

    Parameters
    ----------
    source : Domain, domain file, table, CodedTable, PairCounts, LeakageModel or PlanSource
        With a domain or a domain file (YAML, JSON) nothing is read from data. A table gives the
        dependence between attributes, from which totals are computed, and the domain unless one is
        declared (``domain=``); the plan says so.
    budgets : float, mapping, CalibrationResult or path of a JSON file, optional
        ε of the attributes, for "independent" and "calibrated". The JSON is an object of numbers,
        or what ``seepage calibrate --out`` writes, whose totals, target and assumptions the plan
        carries on if it was made for the same categories.
    epsilon : float or mapping of str to float, optional
        In place of `budgets`: for "independent" ε of every attribute, for the other designs one ε
        of the record.
    design : {"independent", "split", "calibrated", "views", "fake"}
        See `seepage.collect.designs`. "calibrated" is "independent" with budgets that must come
        from a calibration.
    k : int, default 2
        Attributes of a view.
    mechanism, groups, options
        See `seepage.collect.designs.independent`; not for "views" and "fake".
    method : {"tree", "pairwise", "group"}, optional
        How totals are computed from a table; that of the calibration, or "tree", by default. They
        need independent reports; an attribute of a group is charged the total about its group. For
        other designs, and for groups of more than 256 combinations, the ε of the record bounds
        every total.
    **reading
        Passed to `seepage.tables.load`; for a domain file `columns`, `exclude` and `n_bins`.

    Returns
    -------
    CollectionPlan

    Raises
    ------
    InfeasibleError
        If the totals, computed again from this table, exceed the target of the calibration.
    DomainError
        If design "calibrated" has neither the table nor a calibration for the same categories.
    InvalidInputError
        If a parameter is outside its range, or missing, or one too many.
    SeepageError
        If the table, the domain or the budgets cannot be used.

    Examples
    --------
    >>> domain = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes"]})
    >>> make_plan(domain, epsilon=1.0, design="split").budgets
    {'sex': 0.5, 'smoker': 0.5}
    """
    _check_choice("design", design, get_args(DesignName))
    if method is not None:
        _check_choice("method", method, get_args(TotalMethod))
    given = _Given.of(design, budgets, epsilon)
    if design in {"views", "fake"} and (groups or options or mechanism != "grr"):
        msg = f"expected no mechanism, groups or options with design {design!r}"
        raise InvalidInputError(msg)
    base = plan_source(source, **reading)
    plan = _design(base.domain, design, given, k, (mechanism, groups, options))
    calibration = given.calibration
    foreign = base.model is None and calibration is not None and not _same_domain(plan, calibration)
    if foreign:
        if design == "calibrated":
            msg = (
                "expected a calibration for the categories of this domain, got one for others, or "
                "one that does not say for which. Calibrate again with this domain, or give the "
                "table, from which totals are computed"
            )
            raise DomainError(msg)
        calibration = None
    target = None if calibration is None else calibration.target
    totals = _totals(plan, base.model, calibration, method)
    claims = _rounded(plan, totals, target)
    plan = replace(
        plan,
        claims=claims,
        assumptions=_assumptions(base, given.calibration, foreign, bool(claims)),
        source=base.name,
        target=target,
    )
    check_target(plan, plan.worst)
    return checked_plan(plan, base.model, {claim.about: claim.value for claim in totals})


@dataclass(frozen=True)
class _Given:
    """The budgets asked for."""

    budgets: float | Mapping[str, float]
    calibration: Calibration | None

    @classmethod
    def of(cls, design: DesignName, budgets: Any, epsilon: Any) -> _Given:
        if (budgets is None) == (epsilon is None):
            got = "neither" if budgets is None else "both"
            msg = f"expected either budgets or epsilon, got {got}"
            raise InvalidInputError(msg)
        if design in {"split", "views", "fake"}:
            if budgets is not None or isinstance(epsilon, Mapping):
                msg = f"expected one epsilon of the record for design {design!r}, got budgets"
                raise InvalidInputError(msg)
            return cls(epsilon, None)
        if budgets is None:
            found: Any = epsilon
        elif isinstance(budgets, (str, Path)):
            found = budgets_in(budgets)
        elif isinstance(budgets, CalibrationResult):
            found = calibration_of(budgets)
        else:
            found = budgets
        if isinstance(found, Calibration):
            return cls(found.budgets, found)
        if design == "calibrated":
            msg = (
                "expected budgets from a calibration (a CalibrationResult, or the file that "
                "seepage calibrate --out writes) for design 'calibrated', got plain budgets; use "
                "design 'independent' for these"
            )
            raise InvalidInputError(msg)
        return cls(found, None)


def _design(
    domain: Domain,
    design: DesignName,
    given: _Given,
    k: int,
    choice: tuple[Kinds, Sequence[Sequence[str]], Options | None],
) -> CollectionPlan:
    if design == "views":
        return sampled_views(domain, given.budgets, k)  # type: ignore[arg-type]
    if design == "fake":
        return fake_data(domain, given.budgets)  # type: ignore[arg-type]
    if design == "split":
        return split(domain, given.budgets, *choice)  # type: ignore[arg-type]
    if given.calibration is not None:
        extra = [name for name in given.calibration.budgets if name not in domain]
        if extra:
            hint = did_you_mean(extra[0], domain.names)
            msg = f"expected budgets of the columns of the plan, got one for {extra[0]!r}.{hint}"
            raise DomainError(msg)
    return independent(domain, given.budgets, *choice)


def _totals(
    plan: CollectionPlan,
    model: LeakageModel | None,
    calibration: Calibration | None,
    method: TotalMethod | None,
) -> tuple[Claim, ...]:
    """Totals that use the dependence between attributes; none where that is not possible.

    The totals by tree and by pairs are about independent reports, so they are those of the units:
    an attribute is charged the total about its unit.
    """
    merged = None if model is None else _model_of_units(plan, model)
    if method in {"tree", "pairwise"} and merged is None:
        lacks = "a table" if model is None else "independent reports of few categories each"
        msg = f"expected {lacks} for method {method!r}; without, only 'group' bounds the totals"
        raise InvalidInputError(msg)
    if merged is not None:
        how = method or (calibration.method if calibration is not None else "tree")
        names = merged.domain.names
        epsilons = [unit.mechanism.epsilon for unit in plan.units]
        found = evaluate(merged, dict(zip(names, epsilons, strict=True)), how)
        values = {
            name: Claim(name, found[label], found.standing, _of_unit(found.assumptions, unit))
            for label, unit in zip(names, plan.units, strict=True)
            for name in unit.names
        }
        return tuple(values[name] for name in plan.domain.names)
    if calibration is None or plan.design != "independent" or _largest_group(plan) > 1:
        return ()
    carried = (
        f"Taken from the calibration of {calibration.source or 'a table'}; not computed again, as "
        "the plan was made without the data.",
        *calibration.assumptions,
    )
    return tuple(
        Claim(name, calibration.totals[name], calibration.standing, carried)
        for name in plan.domain.names
        if plan.budgets[name] <= calibration.budgets[name] * (1 + 1e-12)
        and name in calibration.totals
    )


def _same_domain(plan: CollectionPlan, calibration: Calibration) -> bool:
    return calibration.domain == domain_digest(plan.domain)


def _rounded(
    plan: CollectionPlan, claims: tuple[Claim, ...], target: float | None
) -> tuple[Claim, ...]:
    """Round totals of the data up, and say what they are.

    No more digits are published than a reader needs. A total within the target, or within the ε of
    the record, stays within: both are known without the data.
    """
    limits = [plan.epsilon, *(() if target is None else (target,))]
    return tuple(
        replace(
            claim,
            value=min([_three_digits(claim.value), *(x for x in limits if x >= claim.value)]),
        )
        for claim in claims
    )


def _three_digits(value: float) -> float:
    """The next number of three significant digits that is not below `value`."""
    if value == 0 or math.isinf(value):
        return value
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    whole = (exact / step).to_integral_value(ROUND_CEILING)
    return float(whole * step)


def _largest_group(plan: CollectionPlan) -> int:
    return max(len(unit.names) for unit in plan.units)


def _of_unit(assumptions: tuple[str, ...], unit: Unit) -> tuple[str, ...]:
    return (*assumptions, CLUSTERS) if len(unit.names) > 1 else assumptions


def _model_of_units(plan: CollectionPlan, model: LeakageModel) -> LeakageModel | None:
    """The model with every unit as one attribute; None where there is none.

    A group needs the records, and a model without curves or a tree of its own.
    """
    if plan.design != "independent":
        return None
    if _largest_group(plan) == 1:
        return _in_order(plan, model)
    own = model.build is not None or model.tree is not None
    if model.codes is None or own or any(u.mechanism.k > MAX_MERGED for u in plan.units):
        return None
    labels: list[str] = []
    columns = []
    for unit in plan.units:
        label = " + ".join(unit.names)
        while label in labels or (len(unit.names) > 1 and label in plan.domain):
            label += " (group)"
        labels.append(label)
        parts = [model.codes[:, plan.domain.position(name)] for name in unit.names]
        columns.append(joint_codes(plan.domain, unit.names, parts))
    domain = Domain.of(
        {label: range(u.mechanism.k) for label, u in zip(labels, plan.units, strict=True)}
    )
    codes = freeze(np.stack(columns, axis=1))
    return prepare(CodedTable(domain, codes, model.weights, model.source, model.notes))


def _in_order(plan: CollectionPlan, model: LeakageModel) -> LeakageModel | None:
    """The model itself, where every attribute is one unit in the order of the domain."""
    return model if model.domain.names == tuple(u.names[0] for u in plan.units) else None


def _assumptions(
    base: PlanSource, calibration: Calibration | None, foreign: bool, told: bool
) -> tuple[str, ...]:
    found = [*base.notes, *([FROM_DATA] if told else [])]
    if calibration is not None:
        aim = "∞" if math.isinf(calibration.target) else f"{calibration.target:g}"
        found.append(
            f"Budgets were calibrated for a target of {aim} nats from "
            f"{calibration.source or 'a table'} (method {calibration.method})."
        )
        found.append(BUDGETS_FROM_DATA)
        if foreign:
            found.append(
                "Its totals and its target were not carried on, as it is not known to be for the "
                "categories of this plan."
            )
        found += [item for item in calibration.assumptions if READ_FROM_DATA in item]
    return tuple(dict.fromkeys(found))


def _check_choice(role: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        text = ", ".join(map(repr, known))
        msg = f"expected {role} {text}, got {value!r}.{did_you_mean(value, known)}"
        raise InvalidInputError(msg)
