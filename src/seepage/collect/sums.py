"""Sums over reports: all that an estimate needs, and what merges by addition.

Reports that are categories are counted, one table for each set of units. Other reports are turned
into features, and products of the features of different units are added up. All mechanisms of this
package have features 0 and 1, whose sums are whole numbers and so exact below 2^53: the order of
batches does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import FloatArray, freeze
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.mechanism import TableMechanism
from seepage.collect.routes import AxisKey, SumKey, axis_features, axis_size
from seepage.errors import InvalidInputError

BLOCK = 1 << 15
"""Records counted at a time: their codes stay in the cache of one core."""

BATCH_NUMBERS = 2_000_000
"""Products of features held at a time."""

MAX_REPORTS = 1 << 53
"""Below this number every sum is exact, in floating-point numbers too."""

Sums = dict[SumKey, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ReportSums:
    """Sums of the reports of a plan.

    Parameters
    ----------
    tables : mapping of key to array, shape (F_1, …, F_r)
        Sums of products of features; counts for reports that are categories.
    grams : mapping of key to array, shape (F, F)
        Sums of products of two such products; only where asked for.
    records : tuple of int
        For each unit, how many records reported it.
    size : int
        Number of records.
    simulated : int
        How many of them a seeded generator drew.
    unknown : int
        Of how many that is not known, nor that they are reports of this plan.
    """

    tables: Mapping[SumKey, NDArray[Any]]
    grams: Mapping[SumKey, NDArray[Any]]
    records: tuple[int, ...]
    size: int
    simulated: int
    unknown: int = 0

    def __add__(self, other: ReportSums) -> ReportSums:
        if not isinstance(other, ReportSums):
            return NotImplemented
        if self.size + other.size >= MAX_REPORTS:
            msg = f"expected fewer than 2^53 reports, got {self.size + other.size:,}"
            raise InvalidInputError(msg)
        return ReportSums(
            {key: freeze(table + other.tables[key]) for key, table in self.tables.items()},
            {key: freeze(gram + other.grams[key]) for key, gram in self.grams.items()},
            tuple(a + b for a, b in zip(self.records, other.records, strict=True)),
            self.size + other.size,
            self.simulated + other.simulated,
            self.unknown + other.unknown,
        )

    def count(self, key: SumKey) -> int:
        """Number of records behind a table: those that reported its units."""
        return self.records[key[0].unit]


def empty_sums(
    plan: CollectionPlan, keys: Iterable[SumKey], grams: Iterable[SumKey] = ()
) -> ReportSums:
    """Return the sums of no reports."""
    wanted = list(keys)
    shapes = {key: [axis_size(plan, one) for one in key] for key in wanted}
    return ReportSums(
        {
            key: freeze(np.zeros(shapes[key], np.int64 if is_counted(plan, key) else np.float64))
            for key in wanted
        },
        {key: freeze(np.zeros((math.prod(shapes[key]),) * 2)) for key in grams},
        (0,) * len(plan.units),
        0,
        0,
    )


def is_counted(plan: CollectionPlan, key: SumKey) -> bool:
    """Whether reports of all units of a key are categories, so that kinds of them are counted."""
    return all(isinstance(plan.units[one.unit].mechanism, TableMechanism) for one in key)


def add_up(
    reports: CollectedReports, keys: Iterable[SumKey], grams: Iterable[SumKey] = ()
) -> ReportSums:
    """Add up the reports of one batch.

    Parameters
    ----------
    reports : CollectedReports
    keys : iterable of SumKey
        Which tables.
    grams : iterable of SumKey
        For which of them sums of products of products are wanted too.

    Raises
    ------
    InvalidInputError
        If the reports do not fit the plan.
    """
    plan = reports.plan
    result = empty_sums(plan, keys, grams)
    used = {one.unit for key in result.tables for one in key}
    values = _checked_values(reports, used)
    tables: Sums = {}
    mixed: list[SumKey] = []
    for key in result.tables:
        if is_counted(plan, key):
            sizes = [plan.units[one.unit].mechanism.features for one in key]
            tables[key] = freeze(count([values[one.unit] for one in key], sizes))
        else:
            mixed.append(key)
    found: Sums = {}
    if mixed:
        products, found = _products(plan, values, mixed, result.grams)
        tables |= products
    records = tuple(len(one) for one in reports.values)
    return ReportSums(
        {key: tables[key] for key in result.tables},
        found,
        records,
        reports.size,
        reports.size if reports.simulated else 0,
        reports.size if reports.simulated is None else 0,
    )


def _checked_values(reports: CollectedReports, used: set[int]) -> dict[int, NDArray[Any]]:
    plan = reports.plan
    if len(reports.values) != len(plan.units):
        msg = f"expected reports of {len(plan.units)} units, got {len(reports.values)}"
        raise InvalidInputError(msg)
    values: dict[int, NDArray[Any]] = {}
    for position, (unit, given) in enumerate(zip(plan.units, reports.values, strict=True)):
        if position not in used:
            continue
        try:
            checked = unit.mechanism.check_reports(given)
        except InvalidInputError as error:
            msg = f"reports of {', '.join(map(repr, unit.names))}: {error}"
            raise InvalidInputError(msg) from error
        if isinstance(unit.mechanism, TableMechanism):
            checked = _checked_codes(checked, unit.mechanism.features, unit.names)
        values[position] = checked
    lengths = [len(one) for one in reports.values]
    if plan.design == "views":
        view = np.asarray(reports.view)
        whole = reports.view is not None and view.ndim == 1 and view.dtype.kind in "iu"
        if not whole or ((view < 0) | (view >= len(lengths))).any():
            msg = f"expected one view from 0 to {len(lengths) - 1} for each record, got others"
            raise InvalidInputError(msg)
        shares = np.bincount(view, minlength=len(lengths)).tolist()
    else:
        shares = [reports.size] * len(lengths)
    if lengths != shares:
        position = next(i for i, n in enumerate(lengths) if n != shares[i])
        names = ", ".join(map(repr, plan.units[position].names))
        msg = f"expected {shares[position]:,} reports of {names}, got {lengths[position]:,}"
        raise InvalidInputError(msg)
    return values


def _checked_codes(codes: Any, size: int, names: tuple[str, ...]) -> NDArray[np.int64]:
    listed = ", ".join(map(repr, names))
    array = np.asarray(codes)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        msg = (
            f"expected integer reports of {listed}, one for each record, got {array.dtype} of "
            f"shape {array.shape}"
        )
        raise InvalidInputError(msg)
    if len(array) and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)][0]
        msg = f"expected reports of {listed} from 0 to {size - 1}, got {bad}"
        raise InvalidInputError(msg)
    return array.astype(np.int64, copy=False)


def count(columns: list[NDArray[np.int64]], sizes: list[int]) -> NDArray[np.int64]:
    """Count the combinations of codes.

    Parameters
    ----------
    columns : list of arrays of int, shape (n,)
        Codes from 0 to one less than the size.
    sizes : list of int

    Returns
    -------
    array of int, shape ``sizes``
    """
    cells = math.prod(sizes)
    total = np.zeros(cells, dtype=np.int64)
    step = max(BLOCK, cells)
    for start in range(0, len(columns[0]), step):
        part = slice(start, start + step)
        index = columns[0][part]
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            index = index * size
            index += column[part]
        total += np.bincount(index, minlength=cells)
    return total.reshape(sizes)


def _products(
    plan: CollectionPlan,
    values: Mapping[int, NDArray[Any]],
    keys: list[SumKey],
    grams: Mapping[SumKey, NDArray[Any]],
) -> tuple[Sums, Sums]:
    """Sums of products of features, batch by batch; each unit is turned into features once."""
    sizes = {one: axis_size(plan, one) for key in keys for one in key}
    shapes = {key: [sizes[one] for one in key] for key in keys}
    tables = {key: np.zeros(shape) for key, shape in shapes.items()}
    found = {key: np.zeros_like(grams[key]) for key in keys if key in grams}
    rows = max(
        math.prod(shape if key in found else shape[:-1] or shape) for key, shape in shapes.items()
    )
    batch = max(1, BATCH_NUMBERS // max(rows, sum(sizes.values())))
    # Views differ in length, but a table over several units exists only where all report.
    for start in range(0, max(map(len, values.values())), batch):
        part = {
            one: axis_features(plan, one, values[one.unit][start : start + batch])
            for one in sizes
            if start < len(values[one.unit])
        }
        for key in keys:
            if key[0] not in part:
                continue
            _add_products(tables, found, key, part)
    return (
        {key: freeze(table) for key, table in tables.items()},
        {key: freeze(gram) for key, gram in found.items()},
    )


def _add_products(tables: Sums, grams: Sums, key: SumKey, part: dict[AxisKey, FloatArray]) -> None:
    left = part[key[0]]
    for one in key[1:-1]:
        left = np.einsum("na,nb->nab", left, part[one]).reshape(len(left), -1)
    if key in grams and len(key) > 1:
        left = np.einsum("na,nb->nab", left, part[key[-1]]).reshape(len(left), -1)
        grams[key] += left.T @ left
        tables[key] += left.sum(axis=0).reshape(tables[key].shape)
    elif len(key) > 1:
        tables[key] += (left.T @ part[key[-1]]).reshape(tables[key].shape)
    else:
        tables[key] += left.sum(axis=0)
        if key in grams:
            grams[key] += left.T @ left
