"""Which tables are asked for, and whether they fit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from seepage.collect.collection import CollectionPlan
from seepage.collect.routes import AttributeSet, SumKey, axis_size
from seepage.errors import CapacityError, InvalidInputError

MAX_CELLS = 50_000_000
"""Numbers that the sums and tables of one estimate may have together (8 bytes each)."""

MAX_TABLES = 200_000
"""Tables that one estimate may have."""


def attribute_sets(
    plan: CollectionPlan, marginals: int | Iterable[Any], columns: Iterable[str] | None = None
) -> tuple[AttributeSet, ...]:
    """Return the sets of attributes asked for, each in the order of the domain.

    Parameters
    ----------
    plan : CollectionPlan
    marginals : int or iterable of (str or sequence of str)
        A number k stands for all sets of k of the `columns` that the design can estimate.
    columns : iterable of str, optional
        All by default.

    Raises
    ------
    InvalidInputError
        If `marginals` is not of this kind.
    DomainError
        If a column is not in the domain or occurs twice.
    """
    domain = plan.domain
    if isinstance(marginals, (int, np.integer)) and not isinstance(marginals, bool):
        names = domain.names if columns is None else _checked_set(plan, columns)
        if not 1 <= marginals <= len(names):
            msg = f"expected marginals from 1 to {len(names)}, got {marginals!r}"
            raise InvalidInputError(msg)
        # Counted first: the subsets of a wide plan may be too many to list.
        check_number(len(names), int(marginals))
        sets = tuple(combinations(names, int(marginals)))
        if plan.design == "views":
            covered = [set(unit.names) for unit in plan.units]
            known = tuple(s for s in sets if any(set(s) <= view for view in covered))
            sets = known or sets  # none: the error comes from `routes`
        return sets
    if isinstance(marginals, (str, bytes)) or not isinstance(marginals, Iterable):
        msg = f"expected marginals to be a number or a list of column lists, got {marginals!r}"
        raise InvalidInputError(msg)
    if columns is not None:
        msg = "expected columns together with a number of marginals only, got a list of sets too"
        raise InvalidInputError(msg)
    found: dict[AttributeSet, None] = {}
    for item in marginals:
        found[_checked_set(plan, (item,) if isinstance(item, str) else item)] = None
    if not found:
        msg = "expected at least one set of columns, got none"
        raise InvalidInputError(msg)
    return tuple(found)


def _checked_set(plan: CollectionPlan, names: Any) -> AttributeSet:
    listed = plan.domain.project(names).names  # checks that they exist and differ
    return tuple(sorted(listed, key=plan.domain.position))


def check_number(d: int, k: int) -> None:
    """Refuse more sets of k out of d columns than are worth listing.

    Raises
    ------
    CapacityError
    """
    if math.comb(d, k) > MAX_TABLES:
        msg = (
            f"expected at most {MAX_TABLES:,} tables, got {math.comb(d, k):,} sets of {k} "
            f"columns: name the sets, or fewer columns (--columns)"
        )
        raise CapacityError(msg)


def check_capacity(
    plan: CollectionPlan,
    keys: Iterable[SumKey],
    sets: Iterable[AttributeSet],
    *,
    grams: bool = False,
    limit: int = MAX_CELLS,
) -> None:
    """Refuse sums and tables that would not fit, before anything is read.

    Raises
    ------
    CapacityError
        With a forecast of the memory and the columns to blame.
    """
    sizes = [math.prod(axis_size(plan, key) for key in one) for one in keys]
    cells = sum(sizes)
    if grams:
        cells += sum(size**2 for size in sizes)
    cells += sum(math.prod(plan.domain[name].size for name in names) for names in sets)
    if cells <= limit:
        return
    used = {name for names in sets for name in names}
    ranked = sorted(used, key=plan.domain.position)
    widest = sorted(ranked, key=lambda name: -plan.domain[name].size)[:3]
    blamed = ", ".join(f"{name!r} ({plan.domain[name].size:,} categories)" for name in widest)
    msg = (
        f"expected tables of at most {limit:,} numbers, got {cells:,} ({8 * cells / 1e9:,.1f} GB). "
        f"The columns with most categories are {blamed}: ask for smaller tables, or for fewer "
        f"columns"
    )
    raise CapacityError(msg)
