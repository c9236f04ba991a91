"""What saved sums hold: tables that were counted, and smaller ones that follow from them.

A table of several units holds those of fewer: a category is summed out, and of other reports the
feature that is always 1 is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import freeze
from seepage.collect._supports import SupportMechanism
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates
from seepage.collect.mechanism import TableMechanism
from seepage.collect.routes import AttributeSet, AxisKey, SumKey, axis_size
from seepage.collect.sums import ReportSums, empty_sums, is_counted
from seepage.collect.wanted import check_capacity
from seepage.errors import InvalidInputError, did_you_mean

NO_RELATIONSHIPS = (
    "expected a design that reports attributes together, got 'fake': one attribute of each record "
    "is true, so its reports hold no relationship"
)


def units_of(plan: CollectionPlan, names: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return the units that report attributes together, for each group of records.

    Parameters
    ----------
    plan : CollectionPlan
    names : iterable of str

    Returns
    -------
    tuple of tuple of int
        One group where every record reports all units, one for each view that has all attributes.

    Raises
    ------
    InvalidInputError
        If the design reports no attributes together.
    """
    if plan.design == "fake":
        raise InvalidInputError(NO_RELATIONSHIPS)
    wanted = set(names)
    if plan.design == "views":
        return tuple((i,) for i, unit in enumerate(plan.units) if wanted <= set(unit.names))
    return (tuple(i for i, unit in enumerate(plan.units) if wanted & set(unit.names)),)


def key_of(units: Iterable[int]) -> SumKey:
    """Return the key of the sums over the features of units, and nothing more."""
    return tuple(map(AxisKey, units))


def for_relationships(plan: CollectionPlan, sets: Iterable[AttributeSet]) -> Estimates:
    """Return estimates from no reports yet, of what relationships need.

    Parameters
    ----------
    plan : CollectionPlan
    sets : iterable of tuple of str
        The attributes of each relationship.

    Returns
    -------
    Estimates
        To be filled by `choose`, or by adding reports; its tables are not meant to be read off.

    Raises
    ------
    InvalidInputError
        If the design reports no attributes together.
    CapacityError
        If the sums would not fit.
    """
    listed = tuple(tuple(sorted(names, key=plan.domain.position)) for names in sets)
    keys = dict.fromkeys(key_of(units) for names in listed for units in units_of(plan, names))
    grams = [key for key in keys if not is_counted(plan, key)]
    check_capacity(plan, [key for key in keys if key not in grams], listed)
    check_capacity(plan, grams, listed, grams=True)
    return Estimates(plan, tuple(dict.fromkeys(listed)), empty_sums(plan, keys, grams))


def choose(part: Estimates, wanted: Estimates, name: str) -> Estimates:
    """Return what the tables that are wanted need of a part.

    Parameters
    ----------
    part : Estimates
    wanted : Estimates
        From no reports yet, of the same plan.
    name : str
        What messages call the part.

    Raises
    ------
    InvalidInputError
        If the part does not hold it.
    """
    plan = wanted.plan
    tables: dict[SumKey, NDArray[Any]] = {}
    absent: list[set[int]] = []
    for key in wanted.sums.tables:
        table = table_of(plan, part.sums, key)
        if table is None:
            absent.append({axis.unit for axis in key})
        else:
            tables[key] = table
    if absent:
        blamed = [
            names
            for names in wanted.sets
            if any(units <= _touched(plan, names) for units in absent)
        ]
        shown = " × ".join(blamed[0])
        more = f" (and {len(blamed) - 1} more)" if len(blamed) > 1 else ""
        # A near name is a slip of the pen only among tables of as many columns.
        known = [" × ".join(names) for names in part.sets if len(names) == len(blamed[0])]
        msg = (
            f"expected counts of the tables that are to be estimated, got none of {shown}{more} in "
            f"{name}, which holds tables of {_widths(part)}.{did_you_mean(shown, known)} Ask for "
            f"others, or count the reports for these (--marginals {len(blamed[0])}, count_reports)."
        )
        raise InvalidInputError(msg)
    grams: dict[SumKey, NDArray[Any]] = {}
    for key in wanted.sums.grams:
        gram = gram_of(plan, part.sums, key)
        if gram is None:
            msg = (
                f"expected counts that keep what covariances need, got none in {name}: where "
                "reports are no categories, count the reports with covariance=True (--covariance)"
            )
            raise InvalidInputError(msg)
        grams[key] = gram
    sums = replace(part.sums, tables=tables, grams=grams)
    return replace(wanted, sums=sums, source=part.source, notes=part.notes, parts=part.parts)


def _touched(plan: CollectionPlan, names: AttributeSet) -> set[int]:
    """Units whose reports enter the tables of these attributes."""
    together, wanted = plan.design == "views", set(names)
    return {
        i
        for i, unit in enumerate(plan.units)
        if (wanted <= set(unit.names) if together else wanted & set(unit.names))
    }


def _widths(part: Estimates) -> str:
    """How many columns the tables of a part have, in words."""
    found = sorted({len(names) for names in part.sets}, reverse=True)
    words = ["single columns" if k == 1 else f"{k} columns" for k in found]
    return " and of ".join(words if 1 in found else [*words, "single columns"])


def table_of(plan: CollectionPlan, sums: ReportSums, key: SumKey) -> NDArray[Any] | None:
    """Return the sums for a key, or what a larger table says of them; None where none does."""
    held = _smallest(plan, sums.tables, key)
    if held is None or held == key:
        return None if held is None else sums.tables[key]
    table = _reduced(plan, sums.tables[held], held, key)
    # Sums of features 0 and 1 are whole numbers.
    return freeze(table.astype(np.int64) if is_counted(plan, key) else table)


def gram_of(plan: CollectionPlan, sums: ReportSums, key: SumKey) -> NDArray[Any] | None:
    """Return the sums of products of two products of features; see `table_of`."""
    held = _smallest(plan, sums.grams, key)
    if held is None or held == key:
        return None if held is None else sums.grams[key]
    shape = [axis_size(plan, one) for one in held]
    gram = sums.grams[held].reshape(*shape, -1)
    gram = _reduced(plan, gram, held, key)  # the other factor is the last axis, and comes first now
    gram = np.moveaxis(gram, -1, 0)
    size = gram[0].size
    gram = _reduced(plan, gram.reshape(*shape, size), held, key)
    return freeze(np.ascontiguousarray(gram.reshape(size, size)))


def _smallest(
    plan: CollectionPlan, tables: Mapping[SumKey, NDArray[Any]], key: SumKey
) -> SumKey | None:
    if key in tables:
        return key
    wanted = {one.unit: one for one in key}
    able = [held for held in tables if _serves(plan, held, wanted)]
    return min(able, key=lambda held: tables[held].size, default=None)


def _serves(plan: CollectionPlan, held: SumKey, wanted: Mapping[int, AxisKey]) -> bool:
    axes = {one.unit: one for one in held}
    if not set(wanted) <= set(axes):
        return False
    mechanisms = [plan.units[unit].mechanism for unit in set(axes) - set(wanted)]
    return all(isinstance(one, (TableMechanism, SupportMechanism)) for one in mechanisms) and all(
        axes[unit] == one or not one.squared for unit, one in wanted.items()
    )


def _reduced(plan: CollectionPlan, table: NDArray[Any], held: SumKey, key: SumKey) -> NDArray[Any]:
    """Take the axes of `held`, the first ones, to those of `key`; later axes stay."""
    wanted = {one.unit: one for one in key}
    for axis in reversed(range(len(held))):
        mechanism = plan.units[held[axis].unit].mechanism
        if held[axis].unit in wanted:
            if held[axis] != wanted[held[axis].unit]:  # sums of squares come after the features
                table = np.take(table, np.arange(mechanism.features), axis=axis)
        elif isinstance(mechanism, TableMechanism):
            table = table.sum(axis=axis)
        else:
            table = np.take(table, mechanism.features - 1, axis=axis)  # the constant
    return table
