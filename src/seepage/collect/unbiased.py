"""Unbiased tables from sums of reports: values, second and third moments, covariances.

The score of a record is the product, over the units that enter, of what an unbiased map makes of
its report; the estimate is the mean score, so its standard error is that of a mean. Powers of the
scores are linear functions of the same sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, freeze
from seepage.collect._maps import AxisMap
from seepage.collect.collection import CollectionPlan
from seepage.collect.marginals import Marginal
from seepage.collect.routes import (
    AttributeSet,
    Axis,
    Route,
    axis,
    contract,
    contract_pairs,
    in_domain_order,
    routes,
    sum_key,
)
from seepage.collect.sums import ReportSums
from seepage.errors import CapacityError, InvalidInputError

MAX_COVARIANCE = 20_000_000
"""Numbers that a covariance matrix, or a table on the way to it, may have."""


@dataclass(frozen=True, eq=False)
class _Part:
    """What one route says about a table; arrays in the order of the route's axes, flattened."""

    route: Route
    axes: list[Axis]
    n: int
    values: FloatArray
    square: FloatArray  # mean square of the scores
    slope: FloatArray
    curved: bool  # whether the slope is known
    reference: FloatArray  # variance of one score at the uniform distribution
    known: bool  # whether that is known


def _part(plan: CollectionPlan, sums: ReportSums, route: Route) -> _Part:
    axes = [axis(plan, u, kept) for u, kept in zip(route.units, route.kept, strict=True)]
    key = sum_key(plan, route)
    n = sums.count(key)
    table = sums.tables[key] / max(n, 1)
    values = contract(table, [one.first for one in axes])
    square = np.maximum(contract(table, [one.second for one in axes]), values**2)
    thirds = [one.third for one in axes if one.third is not None]
    expected = [one.expected for one in axes if one.expected is not None]
    known = len(expected) == len(axes)
    curved = known and len(thirds) == len(axes)
    slope = np.zeros(values.shape)
    if curved:
        moments = [contract(table, thirds), square, values]
        inside = [
            _outer([e.inside(p) for e, p in zip(expected, powers, strict=True)])
            for powers in (thirds, [one.second for one in axes])
        ]
        slope = _slope(n, values, moments, inside)
    reference = np.ones(values.shape)
    if known:
        mean = _outer([e.mean(one.second) for e, one in zip(expected, axes, strict=True)])
        reference = np.maximum(mean - 1 / values.size**2, 0.0)
    return _Part(route, axes, n, values, square, slope, curved, reference, known)


def _outer(vectors: list[FloatArray]) -> FloatArray:
    """Product over the axes."""
    return reduce(np.multiply.outer, vectors, np.ones(()))


def _slope(
    n: int, values: FloatArray, moments: list[FloatArray], inside: list[FloatArray]
) -> FloatArray:
    """Third central moment over variance of the scores, each with one more record in the cell.

    That record matters where the cell has hardly any: what a record in it would do to the spread
    is known from the mechanism before one is seen.
    """
    third, second, first = (
        (n * seen + one) / (n + 1)
        for seen, one in zip(moments, [*inside, np.ones(())], strict=True)
    )
    variance = second - first**2
    skew = third - 3 * first * second + 2 * first**3
    spread = variance > 1e-12 * np.maximum(second, 1e-300)
    # A score of two values a, b has the slope a + b − 2·mean, so the mean is put right again.
    ratio = np.where(spread, skew / np.where(spread, variance, 1.0) + 2 * first, 1.0)
    return np.asarray(ratio - 2 * values)


def marginal(plan: CollectionPlan, sums: ReportSums, names: AttributeSet) -> Marginal:
    """Estimate the table of `names`, attributes in the order of the domain.

    Several views that contain the attributes are combined with weights that are inverse to the
    variance which each of them has at the uniform distribution. Weights that do not depend on the
    reports keep the estimate unbiased; where randomisation dominates they are the best.

    Raises
    ------
    InvalidInputError
        If there is no report, or the reports do not identify the frequencies.
    """
    parts = [_part(plan, sums, route) for route in routes(plan, names)]
    most = max(part.n for part in parts)
    if most == 0:
        msg = f"expected at least one report of {', '.join(map(repr, names))}, got none"
        raise InvalidInputError(msg)
    # The spread within a view is unknown from one record; it is left out if others have more.
    used = [part for part in parts if part.n >= min(2, most)]
    weights = _weights(plan, used)
    ordered = [(w, part, max(part.n - 1, 0)) for w, part in zip(weights, used, strict=True)]
    domain = plan.domain.project(names)

    def total(values: list[FloatArray]) -> FloatArray:
        return np.asarray(sum(values[1:], start=values[0]))

    def back(part: _Part, array: FloatArray) -> FloatArray:
        return in_domain_order(plan, part.route, array)

    values = total([w * back(part, part.values) for w, part, _ in ordered])
    variance = total(
        [
            w**2 * (back(part, part.square - part.values**2) / free if free else np.inf)
            for w, part, free in ordered
        ]
    )
    noise = total([w**2 * back(part, part.square - part.values) / part.n for w, part, _ in ordered])
    curved = all(part.curved for part in used)
    slope = total([w**2 * back(part, part.slope) / part.n for w, part, _ in ordered])
    curvature = total([w**2 / part.n for w, part, _ in ordered])
    return Marginal(
        domain,
        freeze(values.copy()),
        freeze(np.sqrt(variance)),
        freeze(np.sqrt(np.clip(noise, 0.0, variance))),
        sum(part.n for part in used),
        tuple((plan.units[u].names, part.n) for part in used for u in part.route.units),
        sums.simulated > 0,
        plan,
        sums,
        freeze(np.where(curved, slope, 0.0)),
        freeze(np.where(curved, curvature, 0.0)),
    )


def _weights(plan: CollectionPlan, parts: list[_Part]) -> list[FloatArray]:
    """Weight of each part in each cell; they sum to 1."""
    shape = in_domain_order(plan, parts[0].route, parts[0].values).shape
    if len(parts) == 1:
        return [np.ones(shape)]
    references = [in_domain_order(plan, part.route, part.reference) for part in parts]
    known = all(part.known for part in parts) and all((r > 1e-12).all() for r in references)
    raw = [
        part.n / reference if known else np.full(shape, float(part.n))
        for part, reference in zip(parts, references, strict=True)
    ]
    whole = sum(raw[1:], start=raw[0])
    return [np.asarray(one / whole) for one in raw]


def covariance(plan: CollectionPlan, sums: ReportSums, names: AttributeSet) -> FloatArray:
    """Covariance matrix of the estimated table of `names`; see `Marginal.covariance`."""
    size = math.prod(plan.domain[name].size for name in names)
    parts = [_part(plan, sums, route) for route in routes(plan, names)]
    most = max(part.n for part in parts)
    used = [part for part in parts if part.n >= min(2, most)]
    _check_covariance(plan, used, names, size)
    cells = np.arange(size)
    result = np.zeros((size, size))
    for weight, part in zip(_weights(plan, used), used, strict=True):
        if part.n < 2:
            return np.full((size, size), np.inf)
        key = sum_key(plan, part.route)
        maps = [one.first for one in part.axes]
        if sums.tables[key].dtype.kind == "i":
            second = contract_pairs(sums.tables[key] / part.n, maps)
        else:
            second = _from_gram(sums, key, maps, names) / part.n
        flat = part.values.ravel()
        own = (second - np.outer(flat, flat)) / (part.n - 1)
        order = in_domain_order(plan, part.route, cells).ravel()
        scale = weight.ravel()
        result += own[np.ix_(order, order)] * np.outer(scale, scale)
    return result


def _check_covariance(
    plan: CollectionPlan, parts: list[_Part], names: AttributeSet, size: int
) -> None:
    """Refuse a covariance matrix whose computation would not fit."""
    largest = size**2
    for part in parts:
        done = [one.first.shape[1] ** 2 for one in part.axes]
        left = [one.size for one in part.axes]
        for i in range(len(done)):
            largest = max(largest, math.prod(left[i + 1 :]) * math.prod(done[: i + 1]))
            largest = max(largest, left[i] * done[i])
    if largest > MAX_COVARIANCE:
        msg = (
            f"expected a covariance of at most {MAX_COVARIANCE:,} numbers, got {largest:,} for "
            f"the {size:,} cells of {', '.join(map(repr, names))}"
        )
        raise CapacityError(msg)


def _from_gram(sums: ReportSums, key: Any, maps: list[AxisMap], names: AttributeSet) -> FloatArray:
    if key not in sums.grams:
        msg = (
            f"expected estimates made with covariance=True for the covariance of "
            f"{', '.join(map(repr, names))}: their reports are no categories, and products of "
            f"their features must be added up as well"
        )
        raise InvalidInputError(msg)
    shape = sums.tables[key].shape
    gram = sums.grams[key].reshape(shape + shape)
    size = math.prod(one.shape[1] for one in maps)
    return contract(gram, [*maps, *maps]).reshape(size, size)
