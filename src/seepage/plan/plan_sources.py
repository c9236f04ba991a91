"""What a plan is made from: a plan itself, a domain, or a table; and what came from data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seepage.collect.collection import CollectionPlan
from seepage.collect.plan_files import read_plan
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.leakage.model import LeakageModel
from seepage.plan.totals import prepare

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
