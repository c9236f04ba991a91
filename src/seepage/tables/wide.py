"""Columns with too many distinct values to keep them all.

Where such a column is binned, few of its values decide on the edges and on the interval of every
value: the smallest, the largest, and the two neighbours of each edge. Where its categories are
declared, all unlisted values are alike. These are kept, with the numbers of records that all values
have, so that the categories and the notes are those that all values would give.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import FloatArray, IntArray
from seepage.domain import Attribute, Label
from seepage.errors import CapacityError
from seepage.tables.binning import width_cuts
from seepage.tables.columns import Column, Kind
from seepage.tables.encode import checked_edges
from seepage.tables.options import Plan
from seepage.tables.tally import Tallied

_EXACT = 2**53
"""Whole numbers below are told apart as floating-point numbers."""


class WideNumbers:
    """A column of numbers that will be binned.

    Parameters
    ----------
    name : str
    cuts : array of float, optional
        Where it will be cut; None when that depends on its range, and the column is to be read
        again with the cuts that `next_cuts` returns.
    some : int
        Least number of values to keep, so that they are visibly many.
    kind : {"int", "float"}, optional
        When it is known already.
    """

    numeric = True

    def __init__(
        self, name: str, cuts: FloatArray | None, some: int, kind: Kind | None = None
    ) -> None:
        self.name = name
        self.cuts = cuts
        self._some = some
        self._kind: Kind = kind or "int"
        self._fixed = kind is not None
        self._total = self._present = self._infinite = 0
        self._huge = False
        self._nulls: frozenset[Label] = frozenset()
        self._examples = np.zeros(0)
        self._low, self._high = np.inf, -np.inf
        n = 0 if cuts is None else len(cuts)
        self._below, self._above = np.full(n, -np.inf), np.full(n, np.inf)
        self._counts = np.zeros(n + 1, dtype=np.int64)

    def add(self, batch: Column) -> None:
        """Add the values of some records: numbers, or none at all."""
        self._total += batch.size
        self._nulls |= batch.nulls
        if not len(batch.values):
            return
        if batch.kind == "float" and not self._fixed:
            self._kind = "float"
        values = batch.values.astype(np.float64)
        self._huge |= bool((np.abs(values) >= _EXACT).any()) and batch.kind == "int"
        self._present += int(batch.counts.sum())
        self._infinite += int(batch.counts[~np.isfinite(values)].sum())
        self._low = min(self._low, float(values[0]))
        self._high = max(self._high, float(values[-1]))
        if len(self._examples) < self._some:
            self._examples = np.union1d(self._examples, values)[: self._some]
        if self.cuts is None:
            return
        after = np.searchsorted(values, self.cuts)
        padded = np.concatenate([[-np.inf], values, [np.inf]])
        self._below = np.maximum(self._below, padded[after])
        self._above = np.minimum(self._above, padded[after + 1])
        np.add.at(self._counts, np.searchsorted(self.cuts, values, side="right"), batch.counts)

    def next_cuts(self, n_bins: int) -> FloatArray | None:
        """Where intervals of equal width end; None when all is known."""
        if self.cuts is not None or self._infinite:
            return None
        inner = width_cuts(self._low, self._high, n_bins)
        return np.unique(inner[(inner > self._low) & (inner < self._high)])

    def again(self, cuts: FloatArray | None) -> WideNumbers:
        """The same column before it is read again."""
        fresh = WideNumbers(self.name, cuts, self._some, self._kind)
        fresh._nulls = self._nulls
        return fresh

    def column(self) -> Tallied:
        """The values that matter, each interval with its number of records.

        Raises
        ------
        CapacityError
            If whole numbers are too large to be told apart as floating-point numbers.
        """
        if self._kind == "int" and self._huge:
            msg = (
                f"expected whole numbers below 2^53 in column {self.name!r}, which has very many "
                f"values, got {self._high:g} or its negative. If it identifies records, leave it "
                "out (exclude, --exclude)."
            )
            raise CapacityError(msg)
        kept = np.concatenate([[self._low, self._high], self._examples, self._below, self._above])
        values = np.unique(kept[(kept >= self._low) & (kept <= self._high)])
        counts = np.zeros(len(values), dtype=np.int64)
        if self.cuts is None:
            finite = np.isfinite(values)
            counts[np.argmax(finite)] += self._present - self._infinite
            counts[np.argmin(finite)] += self._infinite
        else:
            groups, first = np.unique(
                np.searchsorted(self.cuts, values, side="right"), return_index=True
            )
            counts[first] = self._counts[groups]
        return _tallied(self.name, self._kind, (values, counts), (self._nulls, self._total))


class WideLabels:
    """A column with declared categories, and very many other values.

    Parameters
    ----------
    name : str
    listed : collection of labels
    """

    numeric = False
    cuts: FloatArray | None = None

    def __init__(self, name: str, listed: Collection[Label]) -> None:
        self.name = name
        self._listed = frozenset(listed)
        self._kind: Kind = "text"
        self._counts: dict[Label, int] = {}
        self._other: Label | None = None
        self._total = 0
        self._nulls: frozenset[Label] = frozenset()

    def add(self, batch: Column) -> None:
        """Add the values of some records."""
        self._total += batch.size
        self._nulls |= batch.nulls
        if len(batch.values):
            self._kind = batch.kind if self._kind != "float" else "float"
        for value, count in zip(batch.values.tolist(), batch.counts.tolist(), strict=True):
            label = value
            if value not in self._listed:
                self._other = label = value if self._other is None else self._other
            self._counts[label] = self._counts.get(label, 0) + count

    def next_cuts(self, n_bins: int) -> FloatArray | None:
        """Nothing: it need not be read again."""
        return None

    def again(self, cuts: FloatArray | None) -> WideLabels:
        """The same column before it is read again."""
        fresh = WideLabels(self.name, self._listed)
        fresh._nulls = self._nulls
        return fresh

    def column(self) -> Tallied:
        """The listed values, and one for all others."""
        values = np.empty(len(self._counts), dtype=object)
        values[:] = sorted(self._counts)
        counts = np.array([self._counts[value] for value in values], dtype=np.int64)
        if self._kind != "text":
            values = np.array(values.tolist())
        return _tallied(self.name, self._kind, (values, counts), (self._nulls, self._total))


Wide = WideNumbers | WideLabels


def _tallied(
    name: str,
    kind: Kind,
    counted: tuple[NDArray[Any], IntArray],
    rest: tuple[frozenset[Label], int],
) -> Tallied:
    values, counts = counted
    values = values.astype(np.int64) if kind == "int" else values
    nulls, total = rest
    return Tallied(name, kind, values, np.arange(len(values)), counts, nulls, total)


def widen(column: Tallied, plan: Plan, *, plain_text: bool, most: int) -> Wide:
    """Start a wide column with the values met so far.

    Parameters
    ----------
    column : Tallied
    plan : Plan
    plain_text : bool
        Whether texts are not read as numbers.
    most : int
        How many values a column may have that is kept whole.

    Raises
    ------
    CapacityError
        If the column has to be kept whole.
    """
    attribute = None if plan.file is None else plan.file.domain[column.name]
    wide = _started(column, plan, attribute, plain_text=plain_text)
    if wide is None:
        raise too_many(column, plan, most)
    wide.add(column)
    return wide


def _started(
    column: Tallied, plan: Plan, attribute: Attribute | None, *, plain_text: bool
) -> Wide | None:
    numeric = column.kind in {"int", "float"}
    some = max(2 * plan.n_bins, 20) + 1
    if attribute is not None:
        if attribute.edges is not None and numeric:
            return WideNumbers(column.name, np.asarray(attribute.edges), some)
        return WideLabels(column.name, attribute.categories) if plain_text else None
    bins = plan.bins.get(column.name)
    if not numeric or bins == "none":
        return None
    if bins is None or isinstance(bins, int):
        return WideNumbers(column.name, None, some) if plan.binning == "width" else None
    return WideNumbers(column.name, np.asarray(checked_edges(column.name, bins)), some)


def too_many(column: Column, plan: Plan, most: int) -> CapacityError:
    """Error on a column with too many distinct values, and what to do."""
    if column.kind in {"int", "float"} and plan.file is None and plan.binning == "quantile":
        advice = (
            "Quantiles would need all of them: give edges (bins, --bins), or take intervals of "
            "equal width (binning='width')."
        )
    else:
        advice = (
            "If it identifies records, leave it out (exclude, --exclude); else declare the "
            "categories that matter, and one for all others (domain, --domain)."
        )
    msg = (
        f"expected a column of which at most {most:,} different values need to be kept, got more "
        f"in {column.name!r}. {advice}"
    )
    return CapacityError(msg)
