"""How the reports of a plan lead to the table of a set of attributes.

A *route* is one way to a table: the units whose reports enter, and for each of them a linear map
from the features of its report to the categories wanted. Independent reports give one route to
every table, sampled views give one for each view that contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import FloatArray, IntArray
from seepage.collect._maps import AxisMap, DenseMap, Even, EvenMap
from seepage.collect._parameters import check_capacity
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Mechanism, Reports, TableMechanism
from seepage.errors import InvalidInputError

AttributeSet = tuple[str, ...]


@dataclass(frozen=True)
class AxisKey:
    """One axis of a table of sums.

    Parameters
    ----------
    unit : int
        Position of the unit in the plan.
    squared : tuple of str
        Usually empty. The attributes wanted of a joint unit whose reports are no categories: the
        squares of their scores are no linear function of the features, so they are summed too.
    """

    unit: int
    squared: tuple[str, ...] = ()


SumKey = tuple[AxisKey, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """From the features of one unit's report to the categories of the attributes kept.

    Parameters
    ----------
    key : AxisKey
    kept : tuple of str
        Attributes of the unit that are wanted, in the unit's order.
    size : int
        Number F of features summed.
    first : AxisMap of shape (F, K)
        ``features @ first`` is an unbiased estimate of the indicators of the K categories kept.
    second : AxisMap of shape (F, K)
        ``features @ second`` is its square.
    third : AxisMap of shape (F, K), or None
        ``features @ third`` is its third power; None where that is no linear function.
    expected : Expected or None
        Of scores given the category of the unit; None where it is not known.
    """

    key: AxisKey
    kept: tuple[str, ...]
    size: int
    first: AxisMap
    second: AxisMap
    third: AxisMap | None
    expected: Expected | None


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected scores of a map given the category x of a unit, summed up over x.

    Parameters
    ----------
    member : array of int, shape (k,)
        Which of the K categories kept each category of the unit belongs to.
    moments : array of float, shape (k, F), or Even
        Expected features given each category.
    """

    member: IntArray
    moments: FloatArray | Even

    def mean(self, scores: AxisMap) -> FloatArray:
        """Mean of ``E[score of j | x]`` over all categories x of the unit, shape (K,)."""
        if isinstance(self.moments, Even):
            sizes = np.bincount(self.member)
            hits = self.moments.stay * sizes / len(self.member) + self.moments.spread * sizes
            return self._even(scores, np.asarray(hits, dtype=np.float64))
        return np.asarray(scores.contract(self.moments.mean(axis=0)))

    def inside(self, scores: AxisMap) -> FloatArray:
        """Mean of ``E[score of j | x]`` over the categories x that belong to j, shape (K,)."""
        sizes = np.bincount(self.member)
        if isinstance(self.moments, Even):
            return self._even(scores, np.asarray(self.moments.stay + self.moments.spread * sizes))
        expected = scores.contract(self.moments.T)
        own = expected[np.arange(len(expected)), self.member]
        return np.asarray(np.bincount(self.member, weights=own) / sizes)

    def _even(self, scores: AxisMap, hits: FloatArray) -> FloatArray:
        """From the expected number of features of j that are 1."""
        if not isinstance(scores, EvenMap):
            msg = f"expected an even map of even moments, got {type(scores).__name__}"
            raise TypeError(msg)
        return np.asarray(scores.on * hits + scores.off)


@dataclass(frozen=True)
class Route:
    """One way to a table: which units, and which of their attributes.

    Parameters
    ----------
    units : tuple of int
    kept : tuple of tuple of str
        For each unit.
    """

    units: tuple[int, ...]
    kept: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> AttributeSet:
        """The attributes in the order of the axes."""
        return tuple(name for names in self.kept for name in names)


def routes(plan: CollectionPlan, names: AttributeSet) -> tuple[Route, ...]:
    """Return every way to the table of `names`.

    Raises
    ------
    InvalidInputError
        If the reports carry no information on the table.
    """
    wanted = set(names)
    if plan.design == "views":
        found = tuple(
            Route((i,), (tuple(n for n in unit.names if n in wanted),))
            for i, unit in enumerate(plan.units)
            if wanted <= set(unit.names)
        )
        if not found:
            largest = max(len(unit.names) for unit in plan.units)
            msg = (
                f"expected attributes that one view reports together, got {_listed(names)}: no "
                f"view contains them (the largest has {largest}). Estimate smaller tables; their "
                f"product holds only if the attributes are independent"
            )
            raise InvalidInputError(msg)
        return found
    parts = [
        (i, tuple(n for n in unit.names if n in wanted))
        for i, unit in enumerate(plan.units)
        if wanted & set(unit.names)
    ]
    if plan.design == "fake" and len(parts) > 1:
        msg = (
            f"expected one attribute, got {_listed(names)}: with fake data each record reports "
            f"one true attribute and it is not known which, so that reports carry (nearly) no "
            f"information on pairs. Estimate one-way tables, or collect by another design"
        )
        raise InvalidInputError(msg)
    return (Route(tuple(i for i, _ in parts), tuple(kept for _, kept in parts)),)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def axis_key(plan: CollectionPlan, unit: int, kept: tuple[str, ...]) -> AxisKey:
    """Return the key of an axis, without computing its maps."""
    one = plan.units[unit]
    plain = isinstance(one.mechanism, TableMechanism) or kept == one.names
    return AxisKey(unit, () if plain else kept)


def sum_key(plan: CollectionPlan, route: Route) -> SumKey:
    """Return the key of the sums that a route needs."""
    return tuple(axis_key(plan, u, kept) for u, kept in zip(route.units, route.kept, strict=True))


def axis_size(plan: CollectionPlan, key: AxisKey) -> int:
    """Return how many numbers one report contributes along an axis."""
    extra = int(np.prod(plan.domain.project(key.squared).shape)) if key.squared else 0
    return plan.units[key.unit].mechanism.features + extra


def axis_features(plan: CollectionPlan, key: AxisKey, reports: Reports) -> FloatArray:
    """Return what each report contributes along an axis, shape (n, F)."""
    features = plan.units[key.unit].mechanism.featurize(reports)
    if not key.squared:
        return features
    scores = _wanted_map(plan, key.unit, key.squared).contract(features.T)
    return np.hstack([features, scores**2])


def membership(plan: CollectionPlan, unit: int, kept: tuple[str, ...]) -> IntArray:
    """Return the category of the attributes `kept` that each category of a unit belongs to."""
    names = plan.units[unit].names
    shape = plan.domain.project(names).shape
    codes = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    chosen = [codes[names.index(name)] for name in kept]
    sizes = [plan.domain[name].size for name in kept]
    return np.asarray(np.ravel_multi_index(chosen, sizes), dtype=np.int64)


def unit_moments(plan: CollectionPlan, unit: int) -> FloatArray:
    """Return the expected features of a unit's report given its category, shape (k, F).

    With fake data, those of a report of which nobody knows whether it is true: the true one with
    probability 1/d, otherwise uniform (Arcolezi et al., 2021, RS+FD with uniform fake data).
    """
    mechanism = plan.units[unit].mechanism
    moments = mechanism.moments()
    if plan.design != "fake":
        return moments
    d = len(plan.units)
    return np.asarray(moments / d + (1 - 1 / d) / moments.shape[1])


def _identified(plan: CollectionPlan, unit: int) -> tuple[AxisMap, Even | None]:
    """The map from features to unbiased indicators of the unit's categories, shape (F, k)."""
    one = plan.units[unit]
    try:
        even, unbias = one.mechanism.even, one.mechanism.unbias_map()
    except InvalidInputError as error:
        why = str(error).removeprefix("expected reports that identify the distribution, got ")
        msg = f"expected reports that identify the frequencies of {_listed(one.names)}, got {why}"
        raise InvalidInputError(msg) from error
    if plan.design != "fake":
        return unbias, even
    d = len(plan.units)
    if even is not None:
        faked = even.with_fake(d, one.mechanism.k)
        return faked.map(one.mechanism.k), faked
    # With C @ U = I, (C/d + (1 − 1/d)/m) @ (d·U − (d − 1)/m · 1ᵀU) = I as rows of C sum to 1.
    table = unbias.dense()
    return DenseMap(d * table - (d - 1) / len(table) * table.sum(axis=0)), None


def _wanted_map(plan: CollectionPlan, unit: int, kept: tuple[str, ...]) -> AxisMap:
    size = int(np.prod(plan.domain.project(kept).shape))
    return _identified(plan, unit)[0].gather(membership(plan, unit, kept), size)


def axis(plan: CollectionPlan, unit: int, kept: tuple[str, ...]) -> Axis:
    """Compute the maps of one axis.

    Raises
    ------
    InvalidInputError
        If the reports of the unit do not identify the frequencies; names the columns.
    """
    mechanism: Mechanism = plan.units[unit].mechanism
    key = axis_key(plan, unit, kept)
    member = membership(plan, unit, kept)
    _, even = _identified(plan, unit)
    first = _wanted_map(plan, unit, kept)
    if key.squared:
        rows, wanted = first.shape
        check_capacity(rows + wanted, wanted, "an unbiasing table")
        both = np.vstack([first.dense(), np.zeros((wanted, wanted))])
        squares = np.vstack([np.zeros((rows, wanted)), np.eye(wanted)])
        return Axis(key, kept, len(both), DenseMap(both), DenseMap(squares), None, None)
    moments = unit_moments(plan, unit) if even is None else even
    if even is not None or isinstance(mechanism, TableMechanism):  # one feature is 1, or two values
        return Axis(
            key, kept, first.shape[0], first, first.power(2), first.power(3),
            Expected(member, moments),
        )  # fmt: skip
    second = DenseMap(mechanism.unbias_squared)
    return Axis(key, kept, first.shape[0], first, second, None, Expected(member, moments))


def contract(table: FloatArray, maps: Sequence[AxisMap | FloatArray]) -> FloatArray:
    """Apply a linear map along each axis: shape (F_1, …, F_r) to (K_1, …, K_r).

    The same as multiplying the flattened table by the Kronecker product of the maps, which is
    never built.
    """
    result = np.asarray(table, dtype=np.float64)
    for one in maps:
        linear = one if isinstance(one, AxisMap) else DenseMap(one)
        result = linear.contract(result)  # the new axis comes last
    return result


def contract_pairs(table: FloatArray, maps: Sequence[AxisMap | FloatArray]) -> FloatArray:
    """``Σ_y table[y] W[y, :] W[y, :]ᵀ`` with W the Kronecker product of `maps`, axis by axis.

    Returns
    -------
    array of float, shape (K, K)
        K the product of the numbers of columns.
    """
    tables = [one.dense() if isinstance(one, AxisMap) else one for one in maps]
    squares = [DenseMap(np.einsum("ya,yb->yab", one, one).reshape(len(one), -1)) for one in tables]
    sizes = [one.shape[1] for one in tables]
    result = contract(table, squares).reshape([k for size in sizes for k in (size, size)])
    rows = [2 * i for i in range(len(sizes))]
    total = int(np.prod(sizes))
    return result.transpose([*rows, *(i + 1 for i in rows)]).reshape(total, total)


def in_domain_order(plan: CollectionPlan, route: Route, flat: NDArray[Any]) -> NDArray[Any]:
    """Reshape a table over the axes of a route to one over attributes in the domain's order."""
    shape = [plan.domain[name].size for name in route.names]
    order = np.argsort([plan.domain.position(name) for name in route.names])
    return flat.reshape(shape).transpose(order)
