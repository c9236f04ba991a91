"""The largest budgets under a target: solver, safe side, and filling up.

Everything works on arrays in one fixed order of attributes; nothing here draws random numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from seepage._numeric import BoolArray, FloatArray
from seepage.leakage._root import largest_feasible
from seepage.leakage.total import Totals
from seepage.plan._objectives import Objective

_GUARD = 1e-12
"""Relative distance kept from the target, so that no order of summation exceeds it."""

_CORNERS = 4
"""Corners from which the largest sum is searched; one for many attributes."""

_MANY = 16


def _distinct(points: list[FloatArray]) -> list[FloatArray]:
    """Leave out points that are equal to an earlier one to about 1e-9."""
    kept: list[FloatArray] = []
    for point in points:
        if not any(np.allclose(point, other, rtol=1e-9, atol=1e-12) for other in kept):
            kept.append(point)
    return kept


@dataclass(frozen=True, eq=False)
class _Rise:
    """Budgets ``s·weight`` of the free attributes, never below where they are already."""

    base: FloatArray
    high: FloatArray
    weights: FloatArray
    free: BoolArray

    def at(self, s: float) -> FloatArray:
        raised = np.clip(s * self.weights, self.base, self.high)
        return np.where(self.free, raised, self.base)


@dataclass(frozen=True, eq=False)
class Problem:
    """Best budgets in [low, high] with all totals ≤ target.

    Attributes
    ----------
    totals : Totals
    objective : Objective
    target : float
        Finite and positive.
    low, high : arrays of float, shape (d,)
        low ≤ high < ∞.
    """

    totals: Totals
    objective: Objective
    target: float
    low: FloatArray
    high: FloatArray

    @property
    def limit(self) -> float:
        """What the totals are compared with here: a few units below the target."""
        return self.target * (1 - _GUARD)

    def excess(self, epsilon: FloatArray) -> float:
        """Largest total minus the limit."""
        return float(self.totals.values(epsilon).max()) - self.limit

    def solve(self) -> FloatArray:
        """Best budgets found; feasible, and no single one can be raised."""
        level = self._common_level()
        if self.objective.name == "maxmin":
            return self._fill(level)
        starts = _distinct([level, *self._starts()])
        solved = _distinct([self._along(self._solver(x)) for x in starts])
        candidates = [self._fill(x) for x in _distinct([*starts, *solved])]
        sign = 1 if self.objective.smaller_is_better else -1
        values = [sign * self.objective.value(x) for x in candidates]
        return candidates[int(np.argmin(values))]

    # ---------------------------------------------------------------- starting points

    def _starts(self) -> list[FloatArray]:
        d = self.low.size
        uniform = self._along(np.clip(np.full(d, self.target / d), self.low, self.high))
        if self.objective.name != "sum":
            shape = np.log(np.maximum(self.objective.sizes, 2))
            return [uniform, self._along(np.clip(shape, self.low, self.high))]
        # A sum is often largest in a corner: raise one attribute as far as it goes, then the rest.
        corners = []
        for j in range(d):
            one = self.low.copy()
            one[j] = self._raise(one, j)
            corners.append(one)
        gain = np.array([self.objective.value(x) for x in corners])
        best = np.argsort(-gain, kind="stable")[: _CORNERS if d <= _MANY else 1]
        return [uniform, *(self._fill(corners[j]) for j in best)]

    def _common_level(self) -> FloatArray:
        """Largest s with budgets ``s·weight``, within the bounds: max–min, then the others.

        What cannot be raised any more is fixed, and the rest goes on rising together.
        """
        weights = (
            self.objective.weights if self.objective.name == "maxmin" else np.ones_like(self.low)
        )
        free: BoolArray = self.low < self.high
        epsilon = self.low.copy()
        while free.any():
            rise = _Rise(epsilon, self.high, weights, free)
            top = float((self.high[free] / weights[free]).max())
            epsilon = rise.at(self._largest(partial(self._excess_of, rise), 0.0, top))
            before = int(free.sum())
            free = free & np.array([f and self._can_rise(epsilon, j) for j, f in enumerate(free)])
            if int(free.sum()) == before:
                break
        return epsilon

    def _excess_of(self, rise: _Rise, s: float) -> float:
        return self.excess(rise.at(s))

    # ---------------------------------------------------------------- solver

    def _solver(self, start: FloatArray) -> FloatArray:
        from scipy import optimize

        # Its stubs do not know a loss that returns its gradient together with vector constraints.
        minimize: Callable[..., Any] = optimize.minimize
        scale = self.target
        floor = self.low
        if self.objective.smaller_is_better:  # errors are infinite at ε = 0
            floor = np.minimum(np.maximum(floor, 1e-6 * self.target), self.high)
        memory: dict[bytes, tuple[FloatArray, FloatArray]] = {}

        def clipped(x: FloatArray) -> FloatArray:
            return np.clip(x * scale, floor, self.high)

        def constraint(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            key = x.tobytes()
            if key not in memory:
                memory.clear()
                memory[key] = self.totals.jacobian(clipped(x))
            return memory[key]

        def loss(x: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.objective.loss(clipped(x))
            return value, gradient * scale

        with warnings.catch_warnings():
            # The solver may step outside the bounds by a rounding error and say so.
            warnings.simplefilter("ignore", RuntimeWarning)
            found = minimize(
                loss,
                np.clip(start, floor, self.high) / scale,
                jac=True,
                method="SLSQP",
                bounds=list(zip(floor / scale, self.high / scale, strict=True)),
                constraints=[
                    {
                        "type": "ineq",
                        "fun": lambda x: (self.limit - constraint(x)[0]) / scale,
                        "jac": lambda x: -constraint(x)[1],
                    }
                ],
                options={"maxiter": 150, "ftol": 1e-11},
            )
        x = np.asarray(found.x, dtype=np.float64)
        return clipped(x) if np.isfinite(x).all() else start

    # ---------------------------------------------------------------- the safe side

    def _along(self, epsilon: FloatArray) -> FloatArray:
        """The farthest feasible point on the ray from the minimum through `epsilon`."""
        step = epsilon - self.low
        if not step.any():
            return self.low.copy()
        room = np.where(step > 0, (self.high - self.low) / np.where(step > 0, step, 1.0), 0.0)

        def at(s: float) -> FloatArray:
            return np.minimum(self.low + s * step, self.high)

        return at(self._largest(lambda s: self.excess(at(s)), 0.0, float(room.max())))

    def _fill(self, epsilon: FloatArray) -> FloatArray:
        """Raise one budget after another, the most rewarding first, until none can rise."""
        # What a solver leaves a hair above its minimum is at its minimum.
        epsilon = np.where(epsilon - self.low < 1e-9 * self.target, self.low, epsilon)
        for j in self._order(epsilon):
            epsilon[j] = self._raise(epsilon, j)
        return epsilon

    def _order(self, epsilon: FloatArray) -> list[int]:
        if self.objective.name == "maxmin":
            gain = 1 / self.objective.weights
        else:
            floor = np.maximum(epsilon, 1e-9 * self.target)
            gain = -self.objective.loss(floor)[1]
        return [int(j) for j in np.argsort(-gain, kind="stable")]

    def _can_rise(self, epsilon: FloatArray, j: int) -> bool:
        if epsilon[j] >= self.high[j]:
            return False
        trial = epsilon.copy()
        trial[j] = min(epsilon[j] + 1e-9 * self.target, self.high[j])
        return self.excess(trial) <= 0

    def _raise(self, epsilon: FloatArray, j: int) -> float:
        """Largest budget of attribute j with the others as they are."""
        if not self._can_rise(epsilon, j):
            return float(epsilon[j])

        def excess(x: float) -> float:
            trial = epsilon.copy()
            trial[j] = x
            return self.excess(trial)

        return self._largest(excess, float(epsilon[j]), float(self.high[j]))

    def _largest(self, excess: Callable[[float], float], low: float, high: float) -> float:
        return largest_feasible(excess, low, high, tolerance=1e-10 * self.target)
