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

import math
from dataclasses import dataclass

import numpy as np

from seepage import _envelope
from seepage._numeric import BoolArray, FloatArray, IntArray

LARGE = 200.0
"""ε above which the limit grows like ε: the slope of L never exceeds 1."""

TOLERANCE = 5e-4
"""How far, relative to e^L − 1, the returned limit may lie above the optimum."""

MAX_ENUMERATED = 12
SMALL = 20_000
"""Up to this many events of pairs (and 2^12 events), all are evaluated, without hulls."""

_BLOCK = 1 << 17
_NEWTON = 30  # most steps; few are needed unless a frequency is near 0 and ε is large
_MANY = 1 << 16  # edges at which the search gives up
_FEW, _SOME = 50, 1000  # cells of pairs worth a second tangent plane, and a third or more
_TURNS = 3  # most tangent planes of each pair before its events are looked at


@dataclass(frozen=True)
class UpperLimit:
    """Upper limit of the leakage and the rows that attain it (−1 when there is none)."""

    value: float
    power_row: int
    alpha_row: int


@dataclass(frozen=True)
class _Edges:
    """Edges of hulls of observed curves, or single events: rows and points."""

    x: IntArray
    y: IntArray
    alpha: FloatArray  # shape (m, 2); (m, 1) for events
    power: FloatArray

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
        self.s = 0.0  # the level: no event seen so far exceeds it
        self.witness = (-1, -1)

    def run(self, start: tuple[int, int, float, float]) -> float:
        a, b = self.P.shape
        if start[0] >= 0:
            self._raise(*start)
        by_event = b <= MAX_ENUMERATED and a * a << b <= SMALL
        step = max(1, _BLOCK // (b + 1))
        kept: list[_Edges] = []
        for first in range(0, a * a, step):
            xs, ys = np.divmod(np.arange(first, min(first + step, a * a)), a)
            apart = xs != ys
            if apart.any():  # the last block may hold the last row with itself alone
                kept.append(self._scan(xs[apart], ys[apart], by_event=by_event))
        edges = _Edges.join(kept)
        for turn in range(60):
            if edges.x.size == 0:
                return self.s
            if edges.x.size > _MANY:
                break
            before = self.s
            # Few points need many steps; they are left over for the later turns.
            bound, at = self._bound(edges, newton=min(3 + 3 * turn, _NEWTON))
            above = np.flatnonzero(bound > self._floor)
            edges = edges.take(above)
            # A bound found at a lower level still holds, but is wide: try again before splitting.
            if self.s == before and not by_event:
                edges = edges.split(at[above])
        if edges.x.size == 0:
            return self.s
        # The search did not close the gap: what is left is bounded by its tangents.
        bound, _ = self._bound(edges, _NEWTON)
        self.s = max(self.s, float(bound.max(initial=0.0)) / self.rate)
        return self.s

    @property
    def _floor(self) -> float:
        level = self.s * self.rate
        return level if level < 1 else np.inf  # L = ε: nothing can exceed it

    def _scan(self, xs: IntArray, ys: IntArray, *, by_event: bool) -> _Edges:
        """Edges of the curves, or events, of those pairs that may attain more than the level.

        A tangent plane of W at one point of a pair is linear in (α̂, p̂), so its largest value over
        events is a sum over cells. The event that attains it gives the next point.
        """
        b = self.P.shape[1]
        G, H = self.P[xs], self.P[ys]
        ratio = np.full((xs.size, 1), 1 + self.s)
        planes: list[FloatArray] = []
        for turn in range(_TURNS):
            event = (ratio * H < G).astype(np.float64)
            power = np.minimum(np.einsum("ij,ij->i", G, event), 1.0)[:, np.newaxis]
            alpha = np.minimum(np.einsum("ij,ij->i", H, event), 1.0)[:, np.newaxis]
            # The empty event is a corner of the hull, but no event to be covered.
            size = event.sum(axis=1, keepdims=True)
            skipped = (size == 0) | (size == b) if by_event else None
            points = _Edges(xs, ys, alpha, power)
            value, rise, fall = self._evaluate(points, newton=1 + turn, skipped=skipped)
            n, m = self.sums[xs, np.newaxis], self.sums[ys, np.newaxis]
            p_hat, q_hat = _shifted(alpha, power, n, m)
            offset = value + rise * (1 / n - p_hat) + fall * (1 / m + q_hat)
            linear = rise * G - fall * H
            bound = offset[:, 0] + np.maximum(linear, 0.0, out=linear).sum(axis=1)
            keep = np.flatnonzero(bound > self._floor)
            planes.append(np.concatenate((offset, rise, fall), axis=1))
            xs, ys, G, H = xs[keep], ys[keep], G[keep], H[keep]
            planes = [plane[keep] for plane in planes]
            if xs.size * b <= (_FEW if turn == 0 else _SOME):
                break
            rise, fall = rise[keep], fall[keep]
            ratio = np.where(rise > 0, fall / np.where(rise > 0, rise, 1.0), 1.0)
        if xs.size == 0:
            none = np.empty((0, 1 if by_event else 2))
            return _Edges(xs, ys, none, none)
        if by_event:
            return self._events(xs, ys, planes)
        alpha, gap, _ = _envelope.sorted_curves(G, H)
        alpha = np.minimum(alpha, 1.0)
        power = np.minimum(alpha + np.maximum(gap, 0.0), 1.0)
        at_ends = [_plane(plane, alpha, power) for plane in planes]
        edge_bound = np.minimum.reduce([np.maximum(v[:, 1:], v[:, :-1]) for v in at_ends])
        i, j = np.nonzero(edge_bound > self._floor)
        return _Edges(
            xs[i],
            ys[i],
            np.stack((alpha[i, j], alpha[i, j + 1]), axis=1),
            np.stack((power[i, j], power[i, j + 1]), axis=1),
        )

    def _events(self, xs: IntArray, ys: IntArray, planes: list[FloatArray]) -> _Edges:
        """The events of some pairs that lie above the level on every plane."""
        b = self.P.shape[1]
        events = (np.arange(1, (1 << b) - 1)[:, np.newaxis] >> np.arange(b)) & 1
        mass = np.minimum(self.P @ events.T.astype(np.float64), 1.0)
        alpha, power = mass[ys], mass[xs]
        bound = np.minimum.reduce([_plane(plane, alpha, power) for plane in planes])
        i, j = np.nonzero((bound > self._floor) & (power + 1 / self.sums[xs, np.newaxis] > alpha))
        return _Edges(xs[i], ys[i], alpha[i, j, np.newaxis], power[i, j, np.newaxis])

    def _multiplier(self, p: FloatArray, q: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        rho = 1 + self.s
        variance = p * (1 - p) / n + rho * rho * q * (1 - q) / m
        return np.asarray(np.sqrt(2 * self.budget / np.maximum(variance, 1e-30)))

    def _bound(self, edges: _Edges, newton: int) -> tuple[FloatArray, FloatArray]:
        value, rise, fall = self._evaluate(edges, newton)
        if edges.alpha.shape[1] == 1:
            return value[:, 0], value[:, 0]
        bound, at = _tangents(edges.alpha, edges.power, value, rise, fall)
        return bound[:, 0], at[:, 0]

    def _evaluate(
        self, points: _Edges, newton: int, skipped: BoolArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
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
            wide = np.abs(c - 1) + root_p
            p = np.where(c > 1, wide / (2 * c), 2 * p_hat / wide)
            q = 2 * q_hat / (1 + d + root_q)
            up = np.log(p_hat / p)
            up_rest = np.log1p(c * p)
            down = np.log1p(d * (1 - q))
            down_rest = np.log((1 - q_hat) / (1 - q))
            used = n * (p_hat * up + (1 - p_hat) * up_rest)
            used += m * (q_hat * down + (1 - q_hat) * down_rest)
            if step == newton or np.abs(used - self.budget).max() < 1e-2 * self.budget:
                break
            slope = tau * (p * (1 - p) / (n * root_p) + rho * rho * q * (1 - q) / (m * root_q))
            change = 2 * (np.sqrt(self.budget * np.maximum(used, 0.0)) - used)
            factor = 1 + change / np.maximum(tau * slope, 1e-30)
            tau = tau * np.minimum(np.maximum(factor, 0.25), 4.0)
        value = p - q - self.s * q + (self.budget - used) / tau
        rise = np.where(p_hat < 1, n / tau * (up_rest - up), 0.0)
        fall = np.where(q_hat > 0, m / tau * (down - down_rest), 0.0)
        excess = (value - self.s * self.rate) / (q + self.rate)
        if skipped is not None:
            excess[skipped] = -1.0
        best = int(excess.argmax())
        if excess.flat[best] > 0:
            row = best // excess.shape[1]
            alpha, power = float(points.alpha.flat[best]), float(points.power.flat[best])
            self._raise(int(points.x[row]), int(points.y[row]), alpha, power)
        return value, rise, fall

    def _raise(self, x: int, y: int, alpha: float, power: float) -> None:
        """Raise the level to the limit of one event, the root of W(s) = s/t."""
        n, m = float(self.sums[x]), float(self.sums[y])
        p_hat, q_hat = min(power + 1 / n, 1.0), max(alpha - 1 / m, 0.0)
        s = _event_level((p_hat, q_hat, n, m), self.rate, self.budget, self.s)
        if s > self.s:
            # Evaluating above the root leaves room for what the multipliers miss.
            self.s = s * (1 + TOLERANCE)
            self.witness = (x, y)


def _event_level(
    event: tuple[float, float, float, float], rate: float, budget: float, s: float
) -> float:
    """The root of W(s) = s·rate for one event: Newton's steps in the level and the multiplier.

    The iteration of `_Search._evaluate` on plain numbers, for which arrays are slow. The event is
    given by p̂, α̂ and the records of its rows.
    """
    p_hat, q_hat, n, m = event
    tau = 0.0
    for _ in range(40):
        rho = 1 + s
        if tau == 0:
            variance = p_hat * (1 - p_hat) / n + rho * rho * q_hat * (1 - q_hat) / m
            tau = math.sqrt(2 * budget / max(variance, 1e-30))
        c, d = tau / n, rho * tau / m
        root_p = math.sqrt((1 - c) ** 2 + 4 * c * p_hat)
        root_q = math.sqrt(max((1 + d) ** 2 - 4 * d * q_hat, 0.0))
        p = (c - 1 + root_p) / (2 * c) if c > 1 else 2 * p_hat / (1 - c + root_p)
        q = 2 * q_hat / (1 + d + root_q)
        used = n * (p_hat * math.log(p_hat / p) + (1 - p_hat) * math.log1p(c * p))
        used += m * q_hat * math.log1p(d * (1 - q))
        if q_hat < 1:
            used += m * (1 - q_hat) * math.log((1 - q_hat) / (1 - q))
        change = (p - rho * q + (budget - used) / tau - s * rate) / (q + rate)
        s = max(s + change, 0.0)
        slope = p * (1 - p) / (n * root_p)
        if q > 0:
            slope += rho * rho * q * (1 - q) / (m * root_q)
        step = 2 * (math.sqrt(budget * max(used, 0.0)) - used) / max(tau * tau * slope, 1e-30)
        tau *= min(max(1 + step, 0.25), 4.0)
        if abs(change) <= 1e-9 * s and abs(step) < 1e-4:
            break
    return s


def _plane(plane: FloatArray, alpha: FloatArray, power: FloatArray) -> FloatArray:
    """Value of a tangent plane (offset, slope in power, slope in α) at points of its pair."""
    return plane[:, :1] + plane[:, 1:2] * power - plane[:, 2:] * alpha


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
    bend = slope_l - slope_r
    # Parallel tangents meet nowhere.
    meet = np.where(bend == 0, 0.5, (right - slope_r - left) / np.where(bend == 0, 1.0, bend))
    bound = np.full(left.shape, -np.inf)
    at = np.zeros(left.shape)
    for x in (0.0, 1.0, np.minimum(np.maximum(meet, 0.0), 1.0)):
        low = np.minimum(left + slope_l * x, right - slope_r * (1 - x))
        at = np.where(low > bound, x, at)
        bound = np.maximum(bound, low)
    # An edge whose bound is at an end is cut in the middle.
    return bound, np.where((at > 1e-3) & (at < 1 - 1e-3), at, 0.5)
