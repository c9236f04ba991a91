"""The redaction problem with free probabilities as a smooth program, and its solution.

Which states may ever be released at which distance is given. Then the log-ratio of every possible
output is a smooth function of the probabilities, and ε is shared between the sides by one variable
for each ordered pair of hidden values: the largest log-ratio of the left side is at most u, that of
the right side at most ε − u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.sequence._families import Hidden

FREE = 28
"""Most probabilities along one side that are set one by one."""

KNOTS = 14
"""Parameters along one side, shared by the states, when there are more."""

AIM = 1e-13
"""How far below ε, relatively, the solution aims."""

ITERATIONS = 80


@dataclass(frozen=True, eq=False)
class Layout:
    """What may be released along one side.

    Attributes
    ----------
    hidden : Hidden
    far : int
        Everything is released beyond this distance; the side's length: the layout covers it all.
    support : array of bool, shape (far, k)
        Where a state may be released.
    basis : array of float, shape (far, k, parameters)
        ``r[d, v] = Σ basis·parameter`` where supported; 1 elsewhere.
    """

    hidden: Hidden
    far: int
    support: BoolArray
    basis: FloatArray

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.basis.shape[2])

    @property
    def coarse(self) -> bool:
        """Whether parameters are fewer than probabilities."""
        return self.size < int(self.support.sum())

    def redact(self, z: FloatArray) -> FloatArray:
        """Redaction probabilities by distance up to `far`."""
        values = np.clip(self.basis @ z, 0.0, 1.0) if self.size else np.ones(self.support.shape)
        return np.where(self.support, values, 1.0)

    def table(self, z: FloatArray) -> FloatArray:
        """Redaction probabilities of the whole side."""
        rest = np.zeros((self.hidden.length - self.far, self.hidden.k))
        return np.concatenate([self.redact(z), rest])

    def gain(self) -> FloatArray:
        """Derivative of the expected number of released records by each parameter, negated."""
        law = self.hidden.law
        rows = law[np.newaxis] if law.ndim == 1 else law[: self.far]
        return np.asarray((self.basis * (rows * self.support)[..., np.newaxis]).sum(axis=(0, 1)))

    def fit(self, redact: FloatArray) -> FloatArray:
        """Parameters close to given probabilities (of `far` distances)."""
        z = np.ones(self.size)
        for i in range(self.size):
            weight = self.basis[:, :, i] * self.support
            total = weight.sum()
            z[i] = (weight * redact).sum() / total if total > 0 else 1.0
        return z

    def ratios(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-ratios of all outputs, shape (outputs, pairs), and their derivatives (…, size)."""
        hidden, x, y = self.hidden, *self.hidden.pairs
        if self.far == hidden.length and not self.size:  # redacted whole: nothing is told
            return np.zeros((1, x.size)), np.zeros((1, x.size, 0))
        r = self.redact(z)
        k = hidden.k
        active = np.flatnonzero(self.support.any(axis=1))
        begin = int(active[0]) if active.size else self.far
        F, T = hidden.skip(begin), np.zeros((self.size, k, k))
        outputs: list[FloatArray] = []  # columns of the message and of its derivatives
        changes: list[FloatArray] = []
        shown = [np.flatnonzero(row) for row in self.support]
        for d in range(begin + 1, self.far + 1):
            F, T = _step(F, T, hidden.kernel(d))
            scale = F.max()
            F, T = F / scale, T / scale
            if shown[d - 1].size:
                outputs.append(F[:, shown[d - 1]])
                changes.append(T[:, :, shown[d - 1]])
            step = self.basis[d - 1].T[:, np.newaxis, :] * self.support[d - 1]
            T = T * r[d - 1] + step * F
            F = F * r[d - 1]
        if self.far < hidden.length:
            F, T = _step(F, T, hidden.kernel(self.far + 1))
            last = np.flatnonzero(hidden.law_at(self.far + 1) > 0)
            outputs.append(F[:, last])
            changes.append(T[:, :, last])
        else:
            outputs.append(F.sum(axis=1, keepdims=True))
            changes.append(T.sum(axis=2, keepdims=True))
        message, change = np.concatenate(outputs, axis=1), np.concatenate(changes, axis=2)
        relative = change / message
        values = np.log(message[x] / message[y]).T
        return values, (relative[:, x] - relative[:, y]).transpose(2, 1, 0)


def _step(F: FloatArray, T: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Message and derivatives one record further out."""
    return F @ K, (T.reshape(-1, K.shape[0]) @ K).reshape(T.shape)


def layout(hidden: Hidden, start: IntArray, far: int, allowed: BoolArray) -> Layout:
    """Support state v from distance ``start[v] + 1`` to `far`, where `allowed`."""
    distance = np.arange(1, far + 1)[:, np.newaxis]
    support = (distance > start) & allowed[:far]
    columns: list[tuple[IntArray, int, FloatArray]] = []
    free = int(support.sum()) <= FREE
    count = max(KNOTS // max(int(support.any(axis=0).sum()), 1), 4)
    for v in range(hidden.k):
        spots = np.flatnonzero(support[:, v])
        if spots.size == 0:
            continue
        if free or spots.size <= count:
            weights = np.eye(spots.size)
        else:
            knots = np.linspace(0, 1, count) ** 1.5 * (spots[-1] - spots[0]) + spots[0]
            weights = np.array([np.interp(spots, knots, row) for row in np.eye(count)])
        columns.extend((spots, v, row) for row in weights)
    basis = np.zeros((far, hidden.k, len(columns)))
    for i, (spots, v, row) in enumerate(columns):
        basis[spots, v, i] = row
    return Layout(hidden, far, support, basis)


def solve(
    left: Layout, right: Layout, epsilon: float, z: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray] | None:
    """Parameters that release most while no log-ratio exceeds ε; None when the search fails.

    Sequential quadratic programming from the point `z`, on the outputs close to their limit; others
    are added when they come to exceed it.
    """
    from scipy.optimize import minimize

    a, b = left.size, right.size
    pairs = left.hidden.pairs[0].size
    if a + b == 0:
        return z
    gain = np.concatenate([left.gain(), right.gain(), np.zeros(pairs)])
    limit = epsilon * (1 - AIM)
    memory: dict[bytes, tuple[FloatArray, FloatArray]] = {}

    def constraints(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        key = point.tobytes()
        if key not in memory:
            memory.clear()
            memory[key] = _constraints(left, right, limit, point)
        return memory[key]

    first, second = left.ratios(z[0])[0].max(axis=0), right.ratios(z[1])[0].max(axis=0)
    share = np.clip((first + limit - second) / 2, 0.0, limit)
    point = np.concatenate([*z, share])
    lowest = np.concatenate([_floor(left), _floor(right), np.zeros(pairs)])
    highest = np.concatenate([np.ones(a + b), np.full(pairs, limit)])
    point = np.clip(point, lowest, highest)
    values = constraints(point)[0]
    if not np.isfinite(values).all():
        return None
    budget = 6 * point.size + 20
    working = np.argsort(values)[:budget]
    for _ in range(6):
        used = working
        search: Any = minimize
        found = search(
            lambda q: (float(gain @ q), gain),
            point,
            jac=True,
            method="SLSQP",
            bounds=list(zip(lowest, highest, strict=True)),
            constraints={
                "type": "ineq",
                "fun": lambda q, u=used: constraints(q)[0][u],
                "jac": lambda q, u=used: constraints(q)[1][u],
            },
            options={"maxiter": ITERATIONS, "ftol": 1e-9},
        )
        if not np.isfinite(found.x).all():
            return None
        point = np.clip(found.x, lowest, highest)
        values = constraints(point)[0]
        missing = np.setdiff1d(np.flatnonzero(values < -1e-9), working)
        if not missing.size:
            break
        worst = missing[np.argsort(values[missing])][: budget // 2]
        working = np.concatenate([working, worst])
    return point[:a], point[a : a + b]


def _constraints(
    left: Layout, right: Layout, limit: float, point: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slacks of all outputs and their derivatives."""
    a, b = left.size, right.size
    share = point[a + b :]
    values, slopes = [], []
    with np.errstate(all="ignore"):
        for side, first, sign in ((left, 0, -1.0), (right, a, 1.0)):
            ratio, change = side.ratios(point[first : first + side.size])
            room = share if sign < 0 else limit - share
            values.append((room - ratio).ravel())
            m, pairs = ratio.shape
            J = np.zeros((m, pairs, point.size))
            J[:, :, first : first + side.size] = -change
            J[:, np.arange(pairs), a + b + np.arange(pairs)] = -sign
            slopes.append(J.reshape(m * pairs, -1))
    return np.concatenate(values), np.nan_to_num(np.concatenate(slopes))


def _floor(side: Layout) -> FloatArray:
    """Least values: above 0 where else every state might be released for sure."""
    full = (side.support | ~_occurs(side)).all(axis=1)
    touched = (side.basis[full] > 0).any(axis=(0, 1))
    return np.where(touched, 1e-6, 0.0)


def _occurs(side: Layout) -> BoolArray:
    law = side.hidden.law
    rows = law[np.newaxis] if law.ndim == 1 else law[: side.far]
    return np.broadcast_to(rows > 0, side.support.shape)
