"""Pipelines of a collection: from budgets to a plan, and from a table to randomised reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import extremes_allowed, freeze
from seepage.collect._claim_checks import check_target
from seepage.collect.claims import Claim, Unit
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.designs import Kinds, Options, fake_data, independent, sampled_views, split
from seepage.collect.mechanism import Rng
from seepage.collect.plan_files import domain_digest, read_plan
from seepage.collect.records import PLAN_COLUMN, joint_codes, label_text
from seepage.domain import Domain, Label
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.leakage.model import LeakageModel, TotalMethod
from seepage.plan.calibrate import CalibrationResult
from seepage.plan.calibration_files import Calibration, budgets_in, calibration_of
from seepage.plan.claim_checks import checked_plan
from seepage.plan.totals import CLUSTERS, evaluate, prepare
from seepage.tables import CodedTable
from seepage.tables.load import load_planned, reading_plan

DesignName = Literal["independent", "split", "calibrated", "views", "fake"]

DOMAIN_SUFFIXES = (".yaml", ".yml", ".json")

READ_FROM_DATA = "read from the table itself"
"""What the note of `seepage.tables.load` says of a domain that was not declared."""

FROM_DATA = (
    "The totals are statistics of the table, rounded up to three digits, and published with the "
    "plan without protection."
)
BUDGETS_FROM_DATA = (
    "The calibrated budgets depend on the table and are published with the plan without protection."
)

MAX_MERGED = 256
"""Most categories of a unit for which totals by tree are computed: they compare every two."""

READING = ("null_values", "header", "names", "separator", "quote", "comment", "encoding", "strip")
"""Options of `seepage.tables.load` that say how a file is written, not what its values mean."""


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


@extremes_allowed
def randomize(
    table: Any,
    plan: CollectionPlan | str | Path,
    *,
    rng: Rng = None,
    allow_unprotected: bool = False,
    **reading: Any,
) -> CollectedReports:
    """Randomise the records of a table.

    The domain is that of the plan: nothing is read from the data to be released, and a value, a
    null or a NaN outside the domain is an error.

    Parameters
    ----------
    table : path, data frame, mapping of columns or CodedTable
        One row for each record; columns that are not in the plan are left out.
    plan : CollectionPlan or path of a plan file
    rng : numpy.random.Generator or int, optional
        For a simulation. Without it this is a release: entropy of the operating system, integer
        weights.
    allow_unprotected : bool, default False
        Release reports through mechanisms with ε = ∞ too, which can reveal values.
    **reading
        How a file is written: ``null_values``, ``header``, ``names``, ``separator``, ``quote``,
        ``comment``, ``encoding`` and ``strip`` of `seepage.tables.load`.

    Returns
    -------
    CollectedReports

    Raises
    ------
    DomainError
        If a column of the plan is missing, or a value is not in its domain.
    TableError
        If the table holds reports already: a column "(plan)" says so.
    InvalidInputError
        If a release would be unprotected (ε = ∞), or a null value is a declared category and can
        mean missing in no other column.
    SeepageError
        If the table or the plan cannot be used.

    Examples
    --------
    >>> domain = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes"]})
    >>> plan = make_plan(domain, epsilon=1.0)
    >>> randomize({"sex": ["f", "m", "m"], "smoker": ["no", "no", "yes"]}, plan).size
    3
    """
    chosen = as_plan(plan)
    coded = records_for(chosen, table, **reading)
    return chosen.randomize_codes(coded.codes, rng=rng, allow_unprotected=allow_unprotected)


def records_for(plan: CollectionPlan, table: Any, **reading: Any) -> CodedTable:
    """Read records, coded by the domain of a plan; nothing else is taken from the table.

    Parameters
    ----------
    plan : CollectionPlan
    table, **reading
        See `randomize`.

    Raises
    ------
    DomainError
        If a column of the plan is missing, or a value is not in its domain.
    TableError
        If the table holds reports already.
    InvalidInputError
        If a null value can only be a declared category.
    SeepageError
        If the table cannot be used.
    """
    for name in reading:
        if name not in READING:
            msg = f"expected reading options {', '.join(READING)}, got {name!r}."
            raise InvalidInputError(msg + did_you_mean(name, READING))
    if isinstance(table, CodedTable):
        if reading:
            msg = f"expected no reading options with coded data, got {', '.join(sorted(reading))}"
            raise InvalidInputError(msg)
        coded = table
    else:
        largest = max(10_000, *plan.domain.shape)
        options = reading_plan(domain=plan.domain, max_categories=largest, **reading)
        given = options[0].nulls if "null_values" in reading else ()
        for value, kept, others in declared_nulls(plan, given):
            if not others:
                msg = (
                    f"expected null values that mean missing in some column, got {value!r}, which "
                    f"is a category of column {kept!r}"
                )
                raise InvalidInputError(msg)
        coded = load_planned(table, *options, refuse_reports)
    if coded.domain != plan.domain:
        msg = "expected records coded by the domain of the plan, got another domain"
        raise DomainError(msg)
    if coded.weights is not None:
        msg = "expected a table without weights: every record is randomised by itself"
        raise InvalidInputError(msg)
    return coded


def refuse_reports(names: Sequence[str]) -> None:
    """Refuse a table that `randomize` has made: randomised again, it would be estimated wrongly.

    Parameters
    ----------
    names : sequence of str
        Columns of the table.

    Raises
    ------
    TableError
        If there is a column "(plan)".
    """
    if PLAN_COLUMN in names:
        msg = (
            f"expected a table of true values, got reports, which column {PLAN_COLUMN!r} marks: "
            "they were randomised already"
        )
        raise TableError(msg)


def declared_nulls(
    plan: CollectionPlan, nulls: Iterable[Label]
) -> list[tuple[Label, str, tuple[str, ...]]]:
    """Values named as missing that are declared categories, and stay such.

    Parameters
    ----------
    plan : CollectionPlan
    nulls : iterable of labels

    Returns
    -------
    list of (label, str, tuple of str)
        The value, the first column where it is a category, and the columns where it can mean
        missing.
    """
    found = []
    for value in nulls:
        text = label_text(value)
        declared, others = [], []
        for attribute in plan.domain:
            missing = None if attribute.missing is None else label_text(attribute.missing)
            if text != missing and text in map(label_text, attribute.categories):
                declared.append(attribute.name)
            elif missing is not None:
                others.append(attribute.name)
        if declared and text:  # the empty text means missing by default
            found.append((value, declared[0], tuple(others)))
    return found


def as_plan(plan: object) -> CollectionPlan:
    """Return a plan; a path is read.

    Raises
    ------
    InvalidInputError
        If it is neither.
    TableError
        If the file is not a valid plan.
    """
    if isinstance(plan, CollectionPlan):
        return plan
    if isinstance(plan, (str, Path)):
        return read_plan(plan)
    msg = f"expected a CollectionPlan or the path of a plan file, got {type(plan).__name__}"
    raise InvalidInputError(msg)


def totals_from_data(plan: CollectionPlan) -> bool:
    """Whether totals, or budgets, were computed from a table and are published with the plan."""
    return FROM_DATA in plan.assumptions or BUDGETS_FROM_DATA in plan.assumptions


def domain_was_read(plan: CollectionPlan) -> bool:
    """Whether the categories come from data, which a release should not rest on."""
    return any(READ_FROM_DATA in sentence for sentence in plan.assumptions)


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


@dataclass(frozen=True)
class PlanSource:
    """Domain of a plan, the model where there are data, and what was noted; see `plan_source`."""

    domain: Domain
    model: LeakageModel | None
    notes: tuple[str, ...]
    name: str


def plan_source(source: Any, **reading: Any) -> PlanSource:
    """Read what a plan is made from, for several plans or a look at the domain first.

    Parameters
    ----------
    source, **reading
        See `make_plan`.
    """
    if isinstance(source, (Domain, PlanSource)) and reading:
        msg = f"expected no reading options with a domain, got {', '.join(sorted(reading))}"
        raise InvalidInputError(msg)
    if isinstance(source, PlanSource):
        return source
    if isinstance(source, Domain):
        return PlanSource(source, None, ("Categories were declared in a Domain.",), "a Domain")
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() in DOMAIN_SUFFIXES:
        return _domain_file(Path(source), reading)
    model = prepare(source, **reading)
    return PlanSource(model.domain, model, model.notes, model.source)


def _domain_file(path: Path, reading: dict[str, Any]) -> PlanSource:
    from seepage.tables.domain_files import read_domain

    for name in reading:
        if name not in {"columns", "exclude", "n_bins"}:
            msg = f"expected columns, exclude or n_bins with a domain file, got {name!r}"
            raise InvalidInputError(msg)
    given = {name: value for name, value in reading.items() if value is not None}
    file = read_domain(path, **given)
    notes = file.notes
    if file.null_values:
        names = ", ".join(map(repr, file.null_values))
        notes = (
            *notes,
            f"The domain file lists values that mean missing for {names}; a plan does not hold "
            "them: name them again when the table is randomised (null_values, --null).",
        )
    return PlanSource(file.domain, None, notes, path.name)


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
