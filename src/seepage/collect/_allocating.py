"""The three objectives of an allocation, on arrays: certified where the problem is convex."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.collect import _water
from seepage.collect._barrier import Concave, maximise
from seepage.collect._response_curve import log_retention, slope

STARTS = 24
"""Random starting points of the weighted sum."""
ROUNDS = 12
"""Rounds of the ascent that all starting points take."""
REFINED = 4
"""So many of the best are refined."""
THIN = 1e-11
"""Least slack, in log retention, of an interior that the interior-point method can walk in."""


@dataclass(frozen=True, eq=False)
class Case:
    """Budgets to choose: d of them, J relationships, K limits.

    Parameters
    ----------
    sizes : array of int, shape (d,)
        2 or more.
    rows : array of float, shape (J, d)
        1 where an attribute belongs to a relationship.
    weights : array of float, shape (J,)
        Positive.
    offsets : array of float, shape (J,)
        Log retention by the attributes that are not free, finite; a constant.
    floors : array of float, shape (K, d)
        Relationships with a minimum retention.
    limits : array of float, shape (K,)
        Its logarithm, finite.
    low, high : arrays of float, shape (d,)
    total : float
        Finite, strictly between the sums of `low` and `high`.
    """

    sizes: IntArray
    rows: FloatArray
    weights: FloatArray
    offsets: FloatArray
    floors: FloatArray
    limits: FloatArray
    low: FloatArray
    high: FloatArray
    total: float

    def fill(self, weights: FloatArray) -> FloatArray:
        """Best budgets for a weighted sum of log retentions, without the minimum retentions."""
        return _water.fill(weights, self.sizes, self.low, self.high, self.total)

    def logs(self, x: FloatArray) -> FloatArray:
        """Log retention of every relationship."""
        each = log_retention(x, self.sizes)[..., np.newaxis, :]
        return np.asarray(np.where(self.rows > 0, each, 0.0).sum(axis=-1))

    @property
    def log_terms(self) -> FloatArray:
        """Logarithm of weight and constant factor of every relationship."""
        return np.asarray(np.log(self.weights) + self.offsets)

    def each_slack(self, x: FloatArray) -> FloatArray:
        """Log retention above its minimum, of each limit."""
        logs = np.where(self.floors > 0, log_retention(x, self.sizes), 0.0).sum(axis=-1)
        return np.asarray(logs - self.limits)

    def slack(self, x: FloatArray) -> float:
        """Least of `each_slack`; ∞ without limits."""
        return float(self.each_slack(x).min(initial=np.inf))

    def concave(self, weights: FloatArray, *, level: bool = False) -> Concave:
        """The convex problem with the minimum retentions as rows."""
        elastic = np.full(len(self.limits), float(level))
        return Concave(
            self.sizes, weights, self.floors, self.limits, elastic, float(level), self.low,
            self.high,
        )  # fmt: skip

    def middle(self) -> FloatArray:
        """A point strictly between the bounds, with the total."""
        room = self.total - self.low.sum()
        width = np.minimum(self.high - self.low, room)
        return np.asarray(self.low + width * (room / width.sum()))

    def safest(self) -> tuple[FloatArray, float, FloatArray]:
        """Budgets with the largest least slack of the minimum retentions, and multipliers."""
        x = self.middle()
        if len(x) == 1:
            return x, self.slack(x), np.ones(len(self.limits))
        return maximise(self.concave(np.zeros(len(x)), level=True), x, self.slack(x) - 1.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """Budgets, and the objective that nothing can exceed.

    Parameters
    ----------
    budgets : array of float, shape (d,)
    bound : float
        In the logarithm of the objective; ∞ when there is none.
    """

    budgets: FloatArray
    bound: float


def solve(case: Case, objective: str, inner: FloatArray | None) -> Solution:
    """Solve for "sum", "geometric" or "worst".

    Parameters
    ----------
    case : Case
    objective : str
    inner : array of float, shape (d,), optional
        A point of `Case.safest` with positive slack; None without minimum retentions.
    """
    share = case.weights / case.weights.sum()
    if objective == "geometric":
        return geometric(case, share @ case.rows, inner)
    if objective == "worst":
        return worst(case, inner)
    if len(case.rows) == 1:  # the sum is one product, whose logarithm is concave
        best = geometric(case, case.rows[0], inner)
        return Solution(best.budgets, best.bound + float(case.log_terms[0]))
    return weighted_sum(case, inner)


def least_total(case: Case) -> float:
    """Least sum of the free budgets that meets the minimum retentions, from above; may be ∞."""
    from scipy.optimize import brentq

    def spare(total: float) -> float:
        return replace(case, total=total).safest()[1] - 10 * THIN

    # The largest slack grows with the total, and is concave in it.
    below, most = max(case.total, case.low.sum() * (1 + 1e-12)), case.high.sum()
    above = 2 * below + 1e-3
    while above < most and spare(above) < 0:
        below, above = above, 2 * above
    if above >= most:
        above = most * (1 - 1e-12)
        if spare(above) < 0:
            return float(most)
    if spare(below) >= 0:
        return float(below)
    total = float(brentq(spare, below, above, rtol=1e-10, xtol=1e-300))
    while spare(total) < 0:
        total *= 1 + 1e-10
    return total


def geometric(case: Case, weights: FloatArray, inner: FloatArray | None) -> Solution:
    """Largest ``Σ weights · ln λ``; the bound is that of the Lagrangian."""
    x = case.fill(weights)
    if case.slack(x) >= 0 or inner is None or len(x) == 1:
        x = x if inner is None or case.slack(x) >= 0 else inner
        return Solution(x, _weighted(weights, log_retention(case.fill(weights), case.sizes)))
    problem = case.concave(weights)
    x, _, multipliers = maximise(problem, inner, 0.0)
    return Solution(x, _bound(case, x, problem, multipliers))


def worst(case: Case, inner: FloatArray | None) -> Solution:
    """Largest least ``ln (retention / weight)``; the bound is that of the Lagrangian."""
    importance = np.log(case.weights) - case.offsets
    whole = replace(
        case,
        floors=np.vstack([case.rows, case.floors]),
        limits=np.concatenate([importance, case.limits]),
    )
    elastic = np.repeat([1.0, 0.0], [len(importance), len(case.limits)])
    x = case.middle() if inner is None else inner
    if len(x) == 1:
        return Solution(x, float((case.logs(x) - importance).min()))
    problem = replace(whole.concave(np.zeros(len(x)), level=True), elastic=elastic)
    start = float((case.logs(x) - importance).min()) - 1.0
    x, _, multipliers = maximise(problem, x, start)
    return Solution(x, _bound(case, x, problem, multipliers, level=True))


def weighted_sum(case: Case, inner: FloatArray | None) -> Solution:
    """A large ``ln Σ weight · retention``: several starts, a monotone ascent, a polish.

    The ascent replaces the sum by the weighted geometric mean whose weights are the current shares
    of the relationships in it; by Jensen's inequality no step lowers the sum, and where it stops
    the first-order conditions hold. The sum is not concave, so a better allocation may exist.
    """
    points = _starts(case)
    if inner is not None:
        other = [
            geometric(case, w, inner).budgets for w in (case.rows.sum(0), _shares(case, inner))
        ]
        inside = [x for x in points if case.slack(x) >= 0]
        points = np.array([inner, worst(case, inner).budgets, *other, *inside])
    else:
        for _ in range(ROUNDS):
            points = case.fill(_shares(case, points))
        points = np.vstack([points, worst(case, None).budgets])
    order = np.argsort(-_log_sum(case, points), kind="stable")
    found = [points[order[0]]]
    for x in _different(points[order])[:REFINED]:
        found += _refined(case, x, inner)
    best = max(found, key=lambda x: float(_log_sum(case, x)))
    # Each relationship for itself, at best; crude, but a bound.
    best_logs = log_retention(case.fill(case.rows), case.sizes)
    alone = np.where(case.rows > 0, best_logs, 0.0).sum(axis=-1)
    return Solution(best, float(_log_sum_exp(alone + case.log_terms)))


def _starts(case: Case) -> FloatArray:
    """Budgets for one relationship each, for the most wanted attributes, and random ones."""
    rng = np.random.default_rng(0)  # the same allocation every time
    d = len(case.sizes)
    importance = np.exp(case.log_terms - case.log_terms.max()) @ case.rows
    order = np.argsort(-importance, kind="stable")
    leading = np.zeros((d, d))
    for k in range(d):
        leading[k, order[: k + 1]] = 1.0
    heaviest = np.argsort(-case.log_terms, kind="stable")[:40]
    weights = np.vstack(
        [importance, leading, case.rows[heaviest], rng.dirichlet(np.full(d, 0.5), STARTS)]
    )
    return case.fill(weights + 1e-4 * weights.max(axis=1, keepdims=True))


def _refined(case: Case, x: FloatArray, inner: FloatArray | None) -> list[FloatArray]:
    """Better allocations near x, each within all limits."""
    found = [x]
    local = _mended(case, _local(case, x), inner)
    found += [y for y in (local, _without_crumbs(case, local)) if case.slack(y) >= 0]
    x = max(found, key=lambda y: float(_log_sum(case, y)))
    for _ in range(2 if inner is None else 1):
        x = geometric(case, _shares(case, x), inner).budgets
        found.append(x)
    found.append(_without_crumbs(case, x))
    return [x for x in found if case.slack(x) >= 0]


def _mixed(case: Case, points: FloatArray, inner: FloatArray) -> FloatArray:
    """Points outside the limits, moved inside along the line to a point there."""
    there, here = np.ones(len(points)), np.zeros(len(points))
    for _ in range(20):
        middle = (here + there) / 2
        tried = points + middle[:, np.newaxis] * (inner - points)
        good = np.array([case.slack(x) >= 0 for x in tried])
        here, there = np.where(good, here, middle), np.where(good, middle, there)
    return np.asarray(points + there[:, np.newaxis] * (inner - points))


def _mended(case: Case, x: FloatArray, inner: FloatArray | None) -> FloatArray:
    """Move x towards the inside until rounding misses no minimum retention."""
    if inner is None:
        return x
    step, y = 1e-15, x
    while case.slack(y) < 0 and step < 1:
        y = x + step * (inner - x)
        step *= 4
    return y


def _local(case: Case, x: FloatArray) -> FloatArray:
    """Sequential quadratic programming from x, on budgets as shares of what the minima leave."""
    from scipy.optimize import minimize

    room = case.total - case.low.sum()
    tiny = 1e-13
    top = np.minimum((case.high - case.low) / room, 1.0)
    d = len(x)

    def budgets(z: FloatArray) -> FloatArray:
        return np.asarray(case.low + room * np.clip(z, np.minimum(tiny, top), top))

    def value(z: FloatArray) -> tuple[float, FloatArray]:
        y = budgets(z)
        pull = _shares(case, y) * slope(y, case.sizes)
        return -float(_log_sum(case, y)), -room * pull

    def floors(z: FloatArray) -> FloatArray:
        return np.asarray(case.floors @ log_retention(budgets(z), case.sizes) - case.limits)

    def floors_slope(z: FloatArray) -> FloatArray:
        return np.asarray(case.floors * slope(budgets(z), case.sizes) * room)

    constraints: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda z: z.sum() - 1.0, "jac": lambda z: np.ones((1, d))}
    ]
    if len(case.limits):
        constraints.append({"type": "ineq", "fun": floors, "jac": floors_slope})
    solve_locally: Any = minimize  # its stubs know no list of constraints
    done = solve_locally(
        value,
        np.clip((x - case.low) / room, tiny, top),
        jac=True,
        bounds=[(0.0, float(t)) for t in top],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 200},
    )
    z = np.clip(np.nan_to_num(done.x), 0.0, top)
    y = np.clip(case.low + room * z, case.low, case.high)
    return _water.settle(y, case.low, case.high, case.total)


def _without_crumbs(case: Case, x: FloatArray) -> FloatArray:
    """Budgets that are next to nothing above their minimum go to the others."""
    crumb = (x - case.low) < 1e-6 * (case.total - case.low.sum())
    y = np.where(crumb, case.low, x)
    return _water.settle(y, case.low, case.high, case.total)


def _different(points: FloatArray) -> list[FloatArray]:
    """Points without those that are nearly an earlier one."""
    found: list[FloatArray] = []
    for x in points:
        if all(np.abs(x - y).max() > 1e-3 * max(1e-300, np.abs(x).max()) for y in found):
            found.append(x)
    return found


def _shares(case: Case, x: FloatArray) -> FloatArray:
    """Share of each relationship in the sum, added up by attribute."""
    terms = case.logs(x) + case.log_terms
    top = terms.max(axis=-1, keepdims=True)
    parts = np.exp(terms - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(parts @ case.rows / np.maximum(parts.sum(axis=-1, keepdims=True), 1e-300))


def _log_sum(case: Case, x: FloatArray) -> FloatArray:
    return _log_sum_exp(case.logs(x) + case.log_terms)


def _log_sum_exp(terms: FloatArray) -> FloatArray:
    top = terms.max(axis=-1)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - base[..., None]).sum(axis=-1)) + base)


def _bound(
    case: Case, x: FloatArray, held: Concave, multipliers: FloatArray, *, level: bool = False
) -> float:
    """The least of the Lagrangian's bounds for several multipliers of the rows of `held`.

    Any multipliers, 0 or more, give a bound. Those of the interior-point method lose digits in
    small slacks; those that best balance the slopes at x, over the limits that x nearly touches,
    do not.
    """
    from scipy.optimize import nnls

    elastic = held.elastic
    first, slack = slope(x, case.sizes), held.slack(x, 0.0)
    if level:
        slack = slack - elastic * slack[elastic > 0].min()
    room = case.total - case.low.sum()
    inner = (x - case.low > 1e-7 * room) & (case.high - x > 1e-7 * room)
    tries = [multipliers]
    unit = first[inner].max(initial=1e-300)
    for touch in (1e-10, 1e-7, 1e-4):
        near = slack < touch
        columns = (held.rows[near] * first)[:, inner].T / unit
        common = np.full((int(inner.sum()), 1), -1.0)  # the common slope, in that unit
        system = np.hstack([columns, common])
        right = -(held.weights * first)[inner] / unit
        if level:
            system = np.vstack([system, np.append(elastic[near], 0.0)])
            right = np.append(right, 1.0)
        found = np.zeros(len(slack))
        found[near] = nnls(system, right)[0][:-1]
        tries.append(found)
    bounds = []
    for mu in tries:
        whole = float(mu @ elastic) if level else 1.0
        if whole > 0:
            pull = held.weights + mu @ held.rows / whole
            best = _weighted(pull, log_retention(case.fill(pull), case.sizes))
            bounds.append(best - float(mu @ held.limits) / whole)
    return min(bounds)


def _weighted(weights: FloatArray, logs: FloatArray) -> float:
    return float(np.where(weights > 0, logs, 0.0) @ weights)
