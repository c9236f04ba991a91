"""A small interior-point method for retentions that must not fall below limits.

Maximises ``W·ℓ(x) + σ s`` over budgets x and a level s, subject to ``A ℓ(x) − e s ≥ b``,
``low ≤ x ≤ high`` and ``Σ x = total``, where ``ℓ = ln λ`` is concave. The problem is convex, so the
multipliers that come with the answer bound how far from the best it can be; the caller checks that
bound by itself, and nothing here has to be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.collect._response_curve import curvature, log_retention, slope

GROWTH = 12.0
SHARPEST = 1e12
"""Where the barrier's weight starts to be lost in rounding."""
NEWTON_STEPS = 60
CLOSE = 0.05
CENTRED = 1e-9
"""Squared Newton decrement at which a point counts as central."""


@dataclass(frozen=True, eq=False)
class Concave:
    """The problem above, for d budgets and J rows.

    Parameters
    ----------
    sizes : array of int, shape (d,)
    weights : array of float, shape (d,)
        W.
    rows : array of float, shape (J, d)
        A, zeros and ones.
    limits : array of float, shape (J,)
        b.
    elastic : array of float, shape (J,)
        e: 1 where the level counts, else 0.
    level : float
        σ: 1 to maximise the level; 0 without one (then `elastic` is zero).
    low, high : arrays of float, shape (d,)
    """

    sizes: IntArray
    weights: FloatArray
    rows: FloatArray
    limits: FloatArray
    elastic: FloatArray
    level: float
    low: FloatArray
    high: FloatArray

    def slack(self, x: FloatArray, s: float) -> FloatArray:
        """``A ℓ(x) − e s − b``."""
        return self.rows @ log_retention(x, self.sizes) - self.elastic * s - self.limits

    def inside(self, x: FloatArray, s: float) -> bool:
        """Whether every inequality holds strictly."""
        if not ((x > self.low) & (x < self.high)).all():
            return False
        return bool((self.slack(x, s) > 0).all())

    def merit(self, x: FloatArray, s: float, tau: float) -> float:
        """The barrier function, to be minimised, at a point inside."""
        bounded = np.isfinite(self.high)
        value = -tau * (self.weights @ log_retention(x, self.sizes) + self.level * s)
        value -= np.log(self.slack(x, s)).sum() + np.log(x - self.low).sum()
        return float(value - np.log((self.high - x)[bounded]).sum())


def maximise(problem: Concave, x: FloatArray, s: float) -> tuple[FloatArray, float, FloatArray]:
    """Solve from a point strictly inside whose budgets have the wished total.

    Returns
    -------
    x : array of float, shape (d,)
        Strictly inside, with the total of the start up to rounding.
    s : float
    multipliers : array of float, shape (J,)
        0 or more; of the rows.
    """
    tau = 1.0
    while True:
        best = np.inf
        for _ in range(NEWTON_STEPS):
            x, s, decrease = _step(problem, x, s, tau)
            if decrease < CENTRED or (decrease < CLOSE and decrease > best / 2):
                break
            best = min(best, decrease)
        if tau >= SHARPEST:
            return x, s, 1 / (tau * problem.slack(x, s))
        tau = min(tau * GROWTH, SHARPEST)


def _step(problem: Concave, x: FloatArray, s: float, tau: float) -> tuple[FloatArray, float, float]:
    """One damped Newton step, and the squared decrement before it; 0 when nothing is left to do."""
    gradient, hessian = _derivatives(problem, x, s, tau)
    d = len(x)
    scale = 1 / np.sqrt(np.diag(hessian))
    keep = np.append(np.ones(d), 0.0) * scale  # the total stays: the sum of the x part is 0
    system = np.zeros((d + 2, d + 2))
    system[:-1, :-1] = hessian * np.outer(scale, scale)
    system[-1, :-1] = system[:-1, -1] = keep / np.linalg.norm(keep)
    try:
        move = np.linalg.solve(system, np.append(-gradient * scale, 0.0))[:-1] * scale
    except np.linalg.LinAlgError:
        return x, s, 0.0
    decrease = float(-gradient @ move)
    if not decrease > CENTRED:
        return x, s, 0.0
    # Close to the centre the full step is right, and the merit is all rounding.
    close = decrease < CLOSE
    start, t = 0.0 if close else problem.merit(x, s, tau), 1.0
    while t > 1e-13:
        there, level = x + t * move[:-1], s + t * float(move[-1])
        if problem.inside(there, level) and (
            close or problem.merit(there, level, tau) <= start - 0.05 * t * decrease
        ):
            return there, level, decrease
        t /= 2
    return x, s, 0.0


def _derivatives(
    problem: Concave, x: FloatArray, s: float, tau: float
) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian of the barrier function in (x, s)."""
    first, second = slope(x, problem.sizes), curvature(x, problem.sizes)
    inverse = 1 / problem.slack(x, s)
    under, over = 1 / (x - problem.low), 1 / (problem.high - x)
    pull = tau * problem.weights + inverse @ problem.rows
    jacobian = np.hstack([problem.rows * first, -problem.elastic[:, np.newaxis]])
    gradient = np.append(
        -pull * first - under + over, -tau * problem.level + inverse @ problem.elastic
    )
    hessian = (jacobian * inverse[:, np.newaxis] ** 2).T @ jacobian
    diagonal = -pull * second + under**2 + over**2
    # Without a level s stands alone; 1 keeps the system regular and s where it is.
    alone = 0.0 if problem.elastic.any() else 1.0
    hessian[np.diag_indices(len(x) + 1)] += np.append(diagonal, alone)
    return gradient, hessian
