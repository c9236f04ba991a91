"""Largest upper limit over all events and all pairs of rows of a count table.

For one event S and rows x, x' with sums n, n', let X and Y be the counts of S. The bounds of
Zubkov and Serov (2013), ``Pr(X ≤ k) ≤ Φ(−√(2n·kl((k + 1)/n ‖ p)))`` for (k + 1)/n < p, turn the
joint region of `confidence.joint_radius` into

    n·kl(p̂ ‖ p) + n'·kl(α̂ ‖ α) ≤ R = r²/2,   p̂ = (X + 1)/n ≤ p,   α̂ = (Y − 1)/n' ≥ α

(a term is 0 where its inequality does not hold; p̂ is cut at 1 and α̂ at 0). Over the region the
ratio 1 + s of (1 + t·p) to (1 + t·α) exceeds a level s exactly if

    W(s) = max (p − (1 + s)·α)  exceeds  s/t.

W rises with p̂, falls with α̂ and is jointly concave in them, since kl is jointly convex. Hence every
event lies below the upper hull of the observed curve of its pair, and along an edge of that hull
the tangents of W at two points bound it from above. Edges whose bound exceeds the level are split
where their tangents meet. By weak duality every multiplier τ > 0 bounds W from above,

    W ≤ p_τ − (1 + s)·α_τ + (R − n·kl − n'·kl')/τ,

with p_τ and α_τ roots of quadratics. So neither a multiplier found roughly nor a search stopped
early can understate the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage import _envelope
from seepage._numeric import FloatArray, IntArray

LARGE = 200.0
"""ε above which the limit grows like ε: the slope of L never exceeds 1."""

TOLERANCE = 5e-4
"""How far, relative to e^L − 1, the returned limit may lie above the optimum."""

MAX_ENUMERATED = 12
SMALL = 20_000
"""Up to this many events of pairs (and 2^12 events), all are evaluated, without hulls."""

_BLOCK = 1 << 17


@dataclass(frozen=True)
class UpperLimit:
    """Upper limit of the leakage and the rows that attain it (−1 when there is none)."""

    value: float
    power_row: int
    alpha_row: int


@dataclass(frozen=True)
class _Edges:
    """Edges of hulls of observed curves: rows and end points."""

    x: IntArray
    y: IntArray
    alpha: FloatArray  # shape (m, 2)
    power: FloatArray  # shape (m, 2)

    def take(self, index: IntArray) -> _Edges:
        return _Edges(self.x[index], self.y[index], self.alpha[index], self.power[index])

    def split(self, at: FloatArray) -> _Edges:
        middle_a = self.alpha[:, 0] + at * (self.alpha[:, 1] - self.alpha[:, 0])
        middle_p = self.power[:, 0] + at * (self.power[:, 1] - self.power[:, 0])
        alpha = np.stack((self.alpha[:, 0], middle_a, middle_a, self.alpha[:, 1]), axis=1)
        power = np.stack((self.power[:, 0], middle_p, middle_p, self.power[:, 1]), axis=1)
        return _Edges(
            np.concatenate((self.x, self.x)),
            np.concatenate((self.y, self.y)),
            np.concatenate((alpha[:, :2], alpha[:, 2:])),
            np.concatenate((power[:, :2], power[:, 2:])),
        )

    @classmethod
    def join(cls, parts: list[_Edges]) -> _Edges:
        return cls(
            np.concatenate([part.x for part in parts]),
            np.concatenate([part.y for part in parts]),
            np.concatenate([part.alpha for part in parts]),
            np.concatenate([part.power for part in parts]),
        )


def upper_limit(
    table: IntArray, epsilon: float, radius: float, start: tuple[int, int, float, float]
) -> UpperLimit:
    """Largest upper limit of the leakage over pairs of rows and events.

    Parameters
    ----------
    table : array of int, shape (a, b)
        Every row has a positive sum.
    epsilon : float
        In [0, ∞].
    radius : float
        r of `confidence.joint_radius`.
    start : (int, int, float, float)
        Rows x, x' and the point (α, power) of an event with much observed leakage, to start from;
        rows −1 when nothing leaks.
    """
    a, b = table.shape
    if a < 2 or b < 2 or epsilon == 0:
        return UpperLimit(0.0, -1, -1)
    search = _Search(table, min(epsilon, LARGE), radius)
    s = search.run(start)
    value = float(np.log1p(s))
    if epsilon > LARGE:
        value += epsilon - LARGE
    return UpperLimit(min(value, epsilon), *search.witness)


class _Search:
    def __init__(self, table: IntArray, epsilon: float, radius: float) -> None:
        self.sums = table.sum(axis=1).astype(np.float64)
        self.P = table / self.sums[:, np.newaxis]
        self.epsilon = epsilon
        self.rate = float(1 / np.expm1(epsilon))
        self.budget = radius * radius / 2
        self.s = 0.0
        self.witness = (-1, -1)

    def run(self, start: tuple[int, int, float, float]) -> float:
        a, b = self.P.shape
        self._start(*start)
        if b <= MAX_ENUMERATED and a * a << b <= SMALL:
            edges = self._enumerate()
        else:
            step = max(1, _BLOCK // (b + 1))
            kept: list[_Edges] = []
            for first in range(0, a * a, step):
                xs, ys = np.divmod(np.arange(first, min(first + step, a * a)), a)
                kept.append(self._scan(xs[xs != ys], ys[xs != ys]))
            edges = _Edges.join(kept)
        for _ in range(60):
            if edges.x.size == 0:
                break
            bound, at = self._bound(edges)
            above = np.flatnonzero(bound > self._floor)
            edges = edges.take(above).split(at[above])
        else:
            # The search did not close the gap: what is left is bounded by its tangents.
            bound, _ = self._bound(edges)
            self.s = max(self.s, float(bound.max()) / self.rate)
        return self.s * (1 + TOLERANCE)

    def _start(self, x: int, y: int, alpha: float, power: float) -> None:
        if x >= 0:
            point = _Edges(np.array([x]), np.array([y]), np.array([[alpha]]), np.array([[power]]))
            for _ in range(3):
                self._evaluate(point, newton=3)

    @property
    def _floor(self) -> float:
        level = self.s * self.rate * (1 + TOLERANCE)
        return level if level < 1 else np.inf  # L = ε: nothing can exceed it

    def _enumerate(self) -> _Edges:
        """Every event of every pair, as an edge of length 0."""
        a, b = self.P.shape
        events = (np.arange(1, (1 << b) - 1)[:, np.newaxis] >> np.arange(b)) & 1
        mass = np.minimum(self.P @ events.T, 1.0)
        xs, ys = np.divmod(np.arange(a * a), a)
        xs, ys = xs[xs != ys], ys[xs != ys]
        alpha, power = mass[ys], mass[xs]
        i, j = np.nonzero(power + 1 / self.sums[xs, np.newaxis] > alpha)
        points = _Edges(xs[i], ys[i], alpha[i, j, np.newaxis], power[i, j, np.newaxis])
        self._evaluate(points, newton=2)
        return _Edges(
            points.x, points.y, points.alpha.repeat(2, axis=1), points.power.repeat(2, axis=1)
        )

    def _scan(self, xs: IntArray, ys: IntArray) -> _Edges:
        """Edges of the curves of those pairs that may attain more than the level.

        A tangent plane of W at one point of a pair is linear in (α̂, p̂), so its largest value over
        events is a sum over cells. The event that attains it gives the next point.
        """
        n_b = self.P.shape[1]
        ratio = np.full((xs.size, 1), 1 + self.s)
        bound = np.full(xs.size, np.inf)
        for turn in range(3):
            G, H = self.P[xs], self.P[ys]
            event = ratio * H < G
            power = np.minimum((G * event).sum(axis=1, keepdims=True), 1.0)
            alpha = np.minimum((H * event).sum(axis=1, keepdims=True), 1.0)
            value, rise, fall = self._evaluate(_Edges(xs, ys, alpha, power), newton=1 + turn)
            n, m = self.sums[xs, np.newaxis], self.sums[ys, np.newaxis]
            p_hat, q_hat = _shifted(alpha, power, n, m)
            G *= rise
            H *= fall
            G -= H
            linear = np.maximum(G, 0.0, out=G).sum(axis=1)
            offset = value + rise * (1 / n - p_hat) + fall * (1 / m + q_hat)
            bound = np.minimum(bound, offset[:, 0] + linear)
            keep = bound > self._floor
            xs, ys, bound = xs[keep], ys[keep], bound[keep]
            if xs.size == 0:
                return _Edges(xs, ys, np.empty((0, 2)), np.empty((0, 2)))
            rise, fall = rise[keep], fall[keep]
            ratio = np.where(rise > 0, fall / np.where(rise > 0, rise, 1.0), 1.0)
        alpha, gap, _ = _envelope.sorted_curves(self.P[xs], self.P[ys])
        alpha = np.minimum(alpha, 1.0)
        power = np.minimum(alpha + np.maximum(gap, 0.0), 1.0)
        value, rise, fall = self._evaluate(_Edges(xs, ys, alpha, power), newton=2)
        edge_bound, _ = _tangents(alpha, power, value, rise, fall)
        i, j = np.divmod(np.flatnonzero(edge_bound > self._floor), n_b)
        return _Edges(
            xs[i],
            ys[i],
            np.stack((alpha[i, j], alpha[i, j + 1]), axis=1),
            np.stack((power[i, j], power[i, j + 1]), axis=1),
        )

    def _multiplier(self, p: FloatArray, q: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        rho = 1 + self.s
        variance = p * (1 - p) / n + rho * rho * q * (1 - q) / m
        return np.asarray(np.sqrt(2 * self.budget / np.maximum(variance, 1e-30)))

    def _bound(self, edges: _Edges) -> tuple[FloatArray, FloatArray]:
        before = -1.0
        value, rise, fall = self._evaluate(edges, newton=4)
        while self.s > before * (1 + TOLERANCE / 4) and self._floor < np.inf:
            before = self.s
            value, rise, fall = self._evaluate(edges, newton=4)
        bound, at = _tangents(edges.alpha, edges.power, value, rise, fall)
        return bound[:, 0], at[:, 0]

    def _evaluate(self, points: _Edges, newton: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """An upper bound of W at some points, its slopes in p̂ and α̂; raises the level.

        Newton's steps on the root of the used budget sharpen the multiplier.
        """
        n, m = self.sums[points.x, np.newaxis], self.sums[points.y, np.newaxis]
        p_hat, q_hat = _shifted(points.alpha, points.power, n, m)
        tau = self._multiplier(p_hat, q_hat, n, m)
        rho = 1 + self.s
        for step in range(newton + 1):
            c, d = tau / n, rho * tau / m
            root_p = np.sqrt((1 - c) ** 2 + 4 * c * p_hat)
            root_q = np.sqrt(np.maximum((1 + d) ** 2 - 4 * d * q_hat, 0.0))
            # Two forms of each root; take the one without cancellation.
            p = np.where(c > 1, c - 1 + root_p, 2 * p_hat) / np.where(c > 1, 2 * c, 1 - c + root_p)
            q = 2 * q_hat / (1 + d + root_q)
            up = np.log(p_hat / p)
            up_rest = np.log1p(c * p)
            down = np.log1p(d * (1 - q))
            down_rest = np.log((1 - q_hat) / (1 - q))
            used = n * (p_hat * up + (1 - p_hat) * up_rest)
            used += m * (q_hat * down + (1 - q_hat) * down_rest)
            if step == newton or np.abs(used - self.budget).max() < 1e-3 * self.budget:
                break
            slope = tau * (p * (1 - p) / (n * root_p) + rho * rho * q * (1 - q) / (m * root_q))
            change = 2 * (np.sqrt(self.budget * np.maximum(used, 0.0)) - used)
            tau = tau * np.clip(1 + change / np.maximum(tau * slope, 1e-30), 0.25, 4.0)
        value = p - q - self.s * q + (self.budget - used) / tau
        rise = np.where(p_hat < 1, n / tau * (up_rest - up), 0.0)
        fall = np.where(q_hat > 0, m / tau * (down - down_rest), 0.0)
        self._raise(points, value, q)
        return value, rise, fall

    def _raise(self, points: _Edges, value: FloatArray, q: FloatArray) -> None:
        step = (value - self.s * self.rate) / (q + self.rate)
        best = int(step.argmax())
        if step.flat[best] > 0:
            row = best // step.shape[1]
            self.s += float(step.flat[best])
            self.witness = (int(points.x[row]), int(points.y[row]))


def _shifted(
    alpha: FloatArray, power: FloatArray, n: FloatArray, m: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return np.minimum(power + 1 / n, 1.0), np.maximum(alpha - 1 / m, 0.0)


def _tangents(
    alpha: FloatArray, power: FloatArray, value: FloatArray, rise: FloatArray, fall: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bound W along the edges between consecutive points, and where the bound is attained."""
    dp, da = np.diff(power, axis=1), np.diff(alpha, axis=1)
    left, right = value[:, :-1], value[:, 1:]
    slope_l = rise[:, :-1] * dp - fall[:, :-1] * da
    slope_r = rise[:, 1:] * dp - fall[:, 1:] * da
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (right - slope_r - left) / (slope_l - slope_r)
    meet = np.clip(np.nan_to_num(meet, nan=0.5), 0.0, 1.0)
    bound = np.full(left.shape, -np.inf)
    at = np.zeros(left.shape)
    for x in (np.zeros(left.shape), np.ones(left.shape), meet):
        low = np.minimum(left + slope_l * x, right - slope_r * (1 - x))
        at = np.where(low > bound, x, at)
        bound = np.maximum(bound, low)
    # An edge whose bound is at an end is cut in the middle.
    return bound, np.where((at > 1e-3) & (at < 1 - 1e-3), at, 0.5)
