"""What a relationship is computed from: kinds of records that report the attributes together.

Kinds of reports are counted, one by one or in the sums over reports, where the counts are the same.
Other reports are kept record by record; in the sums there are products of their features instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.collect import _influence
from seepage.collect._influence import Term, Weights
from seepage.collect._supports import SupportMechanism
from seepage.collect.attenuation import named
from seepage.collect.claims import Unit
from seepage.collect.collection import CollectedReports
from seepage.collect.estimates import Estimates
from seepage.collect.held import choose, for_relationships, key_of, units_of
from seepage.collect.mechanism import Mechanism, Reports, TableMechanism
from seepage.collect.sums import is_counted
from seepage.errors import InvalidInputError

CHUNK = 100_000
"""Records whose features are held at once."""

SMALL_TABLE = 1_000_000
"""Up to so many kinds of records are counted in a table, more by sorting."""

MAX_CELLS = 2**62
"""Kinds of records that can be numbered."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Reports of one unit; or its features themselves, where there are no values."""

    names: tuple[str, ...]
    mechanism: Mechanism
    values: Reports | None

    def scores(self, wanted: FloatArray) -> FloatArray:
        """Number of each report, or coefficients, whose expectation given x is ``wanted[x]``.

        The mean of `wanted` comes through the constant 1, what is left through the indicators of
        categories. Those that a report of bits estimates add up to 1 on average only, and what
        they miss would come with the size of what is wanted. The mean is that over categories and
        not over records, which would make the number depend on other reports.
        """
        level = float(np.mean(wanted))
        per_feature = self.mechanism.unbias_map().combine(wanted - level)
        if self.values is None:
            return per_feature + level * self.one
        if isinstance(self.mechanism, TableMechanism):
            return np.asarray(per_feature[self.values] + level)
        pieces = [
            self.mechanism.featurize(self.values[i : i + CHUNK]) @ per_feature + level
            for i in range(0, len(self.values), CHUNK)
        ]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    @property
    def one(self) -> FloatArray:
        """Coefficients of the constant 1."""
        if isinstance(self.mechanism, TableMechanism):
            return np.ones(self.mechanism.features)
        result = np.zeros(self.mechanism.features)
        result[-1] = 1.0
        return result

    @property
    def is_category(self) -> bool:
        """Whether a report is a category of the attribute itself."""
        mechanism = self.mechanism
        return isinstance(mechanism, TableMechanism) and mechanism.features == mechanism.k


@dataclass(frozen=True, eq=False)
class _Group:
    """Records that report the same units, and a block of `Weights` for functions of them."""

    parts: tuple[_Part, ...]
    weights: FloatArray

    def product(
        self, functions: Mapping[str, FloatArray], sizes: Mapping[str, int], *, raw: bool = False
    ) -> FloatArray:
        """The function whose expectation is ``Π functions[m][x_m]``; raw, of reports as such."""
        kinds = self.weights.ndim == 1
        result = np.ones(1)
        for part in self.parts:
            if set(part.names) & set(functions):
                joint = np.ones(1)
                for name in part.names:
                    own = functions.get(name, np.ones(sizes[name]))
                    joint = np.multiply.outer(joint, own).reshape(-1)
                scores = joint[part.values] if raw else part.scores(joint)
            elif kinds:
                continue
            else:
                scores = part.one
            result = result * scores if kinds else np.multiply.outer(result, scores).reshape(-1)
        return np.broadcast_to(result, (len(self.weights),))


@dataclass(frozen=True, eq=False)
class Sample:
    """Records that report all attributes wanted, and functions of them.

    Parameters
    ----------
    groups : tuple of groups of records
    sizes : mapping of str to int
        Number of categories of each attribute.
    scored : mapping of str to array of float
        Scores of the categories.
    raw : bool
        Whether reports are taken as they are.
    """

    groups: tuple[_Group, ...]
    weights: Weights
    sizes: Mapping[str, int]
    scored: Mapping[str, FloatArray]
    raw: bool = False

    @classmethod
    def of(
        cls,
        source: CollectedReports | Estimates,
        names: tuple[str, ...],
        scored: Mapping[str, FloatArray],
    ) -> Sample:
        """Return the records that report all of `names`.

        Raises
        ------
        InvalidInputError
            If there are fewer than two, or counts lack what is needed of them.
        """
        plan = source.plan
        wanted = units_of(plan, names)
        if isinstance(source, Estimates):
            told = source.sums.records
        else:
            told = tuple(map(len, source.values))
        if plan.design == "views" and not any(told[units[0]] for units in wanted):
            msg = f"expected a view that holds {named(names)} together, got none with reports"
            raise InvalidInputError(msg)
        if isinstance(source, Estimates):
            held = choose(source, for_relationships(plan, [names]), source.source)
            groups = tuple(_of_sums(held, units) for units in wanted)
        else:
            groups = tuple(_of_reports(source, units) for units in wanted)
        sizes = {item.name: item.size for item in plan.domain}
        blocks = [group.weights for group in groups]
        if all(block.ndim == 1 for block in blocks):
            blocks = [np.concatenate(blocks)]
        one = np.concatenate([group.product({}, sizes) for group in groups])
        weights = Weights(tuple(blocks), one)
        if weights.size < 2:
            msg = f"expected at least two records that report {named(names)}, got {weights.size:g}"
            raise InvalidInputError(msg)
        return cls(groups, weights, sizes, scored)

    @property
    def size(self) -> int:
        """Number of records."""
        return round(self.weights.size)

    def uncorrected(self) -> Sample | None:
        """The same records with reports taken as they are; None when they are no categories."""
        if not all(part.is_category for group in self.groups for part in group.parts):
            return None
        return replace(self, raw=True)

    def product(self, functions: Mapping[str, FloatArray]) -> FloatArray:
        """The function of the reports whose expectation is ``Π functions[m][x_m]``."""
        return np.concatenate(
            [group.product(functions, self.sizes, raw=self.raw) for group in self.groups]
        )

    def mean(self, functions: Mapping[str, FloatArray]) -> Term:
        """Mean of a product of functions of distinct attributes."""
        return _influence.weighted_mean(self.product(functions), self.weights)

    def moment(self, names: tuple[str, ...]) -> Term:
        """Central cross-moment of distinct attributes."""
        if len(names) == 2:
            return self.second(*names)
        means = {name: self.mean({name: self.scored[name]}) for name in names}
        centred = {name: self.scored[name] - means[name].value for name in names}
        term = self.mean(centred)
        for name in names:
            rest = {other: centred[other] for other in names if other != name}
            pull = self.mean(rest).value
            term = Term(term.value, term.influence - pull * means[name].influence)
        return term

    def second(self, first: str, second: str) -> Term:
        """Covariance of two attributes, or variance of one; unbiased.

        The product of two estimated means has their covariance as its bias, which is taken off.
        """
        f, g = self.scored[first], self.scored[second]
        mean = self.mean({first: f})
        other = mean if second == first else self.mean({second: g})
        f, g = f - mean.value, g - other.value
        term = self.mean({first: f * f} if second == first else {first: f, second: g})
        n = self.weights.size
        bias = self.weights.products(mean.influence, other.influence) / (n * (n - 1))
        return Term(term.value + bias, term.influence)


def _of_reports(source: CollectedReports, numbers: tuple[int, ...]) -> _Group:
    units = [source.plan.units[i] for i in numbers]
    values = [
        unit.mechanism.check_reports(source.values[i])
        for unit, i in zip(units, numbers, strict=True)
    ]
    shape = [unit.mechanism.features for unit in units]
    cells = math.prod(shape)
    if not is_counted(source.plan, key_of(numbers)) or cells > MAX_CELLS:
        parts = [
            _Part(unit.names, unit.mechanism, own) for unit, own in zip(units, values, strict=True)
        ]
        return _Group(tuple(parts), np.ones(len(values[0])))
    codes = np.ravel_multi_index([np.asarray(own) for own in values], shape)
    if cells > SMALL_TABLE:
        return _counted(units, *np.unique(codes, return_counts=True))
    return _of_table(units, np.bincount(codes, minlength=cells).reshape(shape))


def _of_sums(source: Estimates, numbers: tuple[int, ...]) -> _Group:
    plan, key = source.plan, key_of(numbers)
    units = [plan.units[i] for i in numbers]
    if is_counted(plan, key):
        return _of_table(units, source.sums.tables[key])
    for unit in units:
        if not isinstance(unit.mechanism, (TableMechanism, SupportMechanism)):
            msg = (
                "expected the reports themselves for relationships under mechanisms without a "
                f"constant feature, got counts for {unit.mechanism.kind!r} of {named(unit.names)}"
            )
            raise InvalidInputError(msg)
    parts = tuple(_Part(unit.names, unit.mechanism, None) for unit in units)
    return _Group(parts, source.sums.grams[key])


def _of_table(units: Sequence[Unit], table: IntArray) -> _Group:
    """Kinds of records of the table that counts them."""
    found = np.flatnonzero(table)
    return _counted(units, found, table.reshape(-1)[found])


def _counted(units: Sequence[Unit], found: IntArray, counts: IntArray) -> _Group:
    """Kinds of records that occur, by their places in the table of all, and how often they do."""
    columns = np.unravel_index(found, [unit.mechanism.features for unit in units])
    parts = [
        _Part(unit.names, unit.mechanism, column)
        for unit, column in zip(units, columns, strict=True)
    ]
    return _Group(tuple(parts), counts.astype(np.float64))
