"""Leakage about one record of a time series that is released step by step.

The chain case of the tree total: Cao, Yoshikawa, Xiao and Xiong, "Quantifying differential privacy
under temporal correlations" (2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_conditional,
    check_epsilon,
    check_size,
    extremes_allowed,
    freeze,
)
from seepage.errors import InvalidInputError
from seepage.leakage._root import largest_feasible
from seepage.tradeoff import PiecewiseLinear, TradeOff

Transition = ArrayLike | PiecewiseLinear | None
Curves = tuple[PiecewiseLinear | None, PiecewiseLinear | None]
"""Row-stochastic table of shape (k, k), the envelope of one, or None when unknown."""


@dataclass(frozen=True, eq=False)
class TemporalLeakage:
    """Leakage about every time step, in nats, arrays of shape (T,).

    Attributes
    ----------
    backward : array of float
        From the reports up to and including the step.
    forward : array of float
        From the reports from the step on.
    total : array of float
        From all reports.
    """

    backward: FloatArray
    forward: FloatArray
    total: FloatArray


@extremes_allowed
def temporal_leakage(
    backward: Transition, forward: Transition, budgets: ArrayLike
) -> TemporalLeakage:
    """Backward, forward and total leakage of a series of reports.

    ``B_1 = ε_1, B_t = L_B(B_{t−1}) + ε_t``; forward the same from the other end; the total is
    ``B_t + F_t − ε_t``. An upper bound for every sequence of ε_t-LDP mechanisms on a Markov chain.

    Parameters
    ----------
    backward : array-like of float, shape (k, k), PiecewiseLinear or None
        ``p(previous value | value)``: rows are values of the step, columns of the one before.
        None: the attacker does not know this dependence.
    forward : array-like of float, shape (k, k), PiecewiseLinear or None
        ``p(next value | value)``.
    budgets : array-like of float, shape (T,)
        ε of every step, in [0, ∞].

    Returns
    -------
    TemporalLeakage

    Raises
    ------
    InvalidInputError
        If a table is not row-stochastic, or a budget is outside its range.

    Examples
    --------
    >>> P = [[0.8, 0.2], [0.0, 1.0]]
    >>> temporal_leakage(P, P, [0.1] * 10).backward[:3].round(6).tolist()
    [0.1, 0.180784, 0.247148]
    """
    e = check_epsilon(budgets, "budgets")
    if e.ndim != 1 or e.size == 0:
        msg = f"expected one budget for each time step, got shape {e.shape}"
        raise InvalidInputError(msg)
    past = _recursion(_curve(backward, "backward"), e)
    future = _recursion(_curve(forward, "forward"), e[::-1])[::-1]
    # Adding the correlation's part, not subtracting ε: the difference of two ∞ is no number.
    return TemporalLeakage(freeze(past + e), freeze(future + e), freeze(past + e + future))


@extremes_allowed
def temporal_supremum(transition: Transition, epsilon: float) -> float:
    """Limit of the backward (or forward) leakage when every step has budget ε.

    With ``z = e^B``, the limit of one vertex (α, p) of the envelope solves
    ``α·z² + (1 − α − e^ε·p)·z − e^ε·(1 − p) = 0``; the other root is never positive, and the limit
    of the envelope is the largest over its vertices.

    Parameters
    ----------
    transition : array-like of float, shape (k, k), PiecewiseLinear or None
        Of that direction; see `temporal_leakage`.
    epsilon : float
        In [0, ∞].

    Returns
    -------
    float
        In nats, in [ε, ∞]. ∞ when a vertex has α = 0 and ``e^ε·p ≥ 1``: an event that one value
        excludes stays so likely under another that the reports add up without limit.
    """
    e = check_epsilon(epsilon)
    if e.ndim:
        msg = f"expected one epsilon, got an array of shape {e.shape}"
        raise InvalidInputError(msg)
    return _supremum(_curve(transition, "transition"), float(e))


@extremes_allowed
def temporal_budgets(
    backward: Transition,
    forward: Transition,
    target: float,
    steps: int,
    *,
    method: Literal["balanced", "uniform"] = "balanced",
) -> FloatArray:
    """Budgets of T steps under which the total about no step exceeds `target`.

    Parameters
    ----------
    backward, forward : array-like of float, shape (k, k), PiecewiseLinear or None
        See `temporal_leakage`.
    target : float
        Largest total leakage, in nats, in [0, ∞].
    steps : int
        T, 1 or more.
    method : {"balanced", "uniform"}
        "balanced": the total of every step is `target`. The steps between get the ε for which
        ``B* + F* − ε = target`` with the limits B*, F*, the first step gets B* and the last F*, so
        that both recursions are at their limits throughout. "uniform": the largest common ε.

    Returns
    -------
    array of float, shape (T,)
        ε of every step. Evaluated again: no total exceeds `target`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    goal = check_epsilon(target, "target")
    if goal.ndim:
        msg = f"expected one target, got an array of shape {goal.shape}"
        raise InvalidInputError(msg)
    limit, n = float(goal), check_size(steps, "steps")
    if method not in {"balanced", "uniform"}:
        msg = f"expected method 'balanced' or 'uniform', got {method!r}"
        raise InvalidInputError(msg)
    curves = _curve(backward, "backward"), _curve(forward, "forward")
    if np.isinf(limit) or limit == 0 or n == 1:
        return np.full(n, limit)
    if method == "uniform":
        budgets = np.full(
            n, largest_feasible(lambda e: _uniform_excess(curves, e, n, limit), 0.0, limit)
        )
    else:
        budgets = _balanced(curves, limit, n)
    step = 2.0**-52
    while temporal_leakage(*curves, budgets).total.max() > limit:
        budgets = budgets * (1 - step)
        step *= 2
    return budgets


def _curve(transition: Transition, name: str) -> PiecewiseLinear | None:
    if transition is None or isinstance(transition, PiecewiseLinear):
        return transition
    if isinstance(transition, TradeOff):
        msg = f"expected {name} to be a curve with vertices, got {type(transition).__name__}"
        raise InvalidInputError(msg)
    P = check_conditional(as_float_array(transition, name), name)
    if P.shape[0] != P.shape[1]:
        msg = f"expected {name} to be a square table, got shape {P.shape}"
        raise InvalidInputError(msg)
    return TradeOff.envelope(P)


def _recursion(curve: PiecewiseLinear | None, e: FloatArray) -> FloatArray:
    """``L(B_{t−1})`` for every step, 0 at the first."""
    part = np.zeros(e.size)
    if curve is not None:
        for t in range(1, e.size):
            part[t] = curve.leakage(float(part[t - 1] + e[t - 1]))
    return part


def _supremum(curve: PiecewiseLinear | None, epsilon: float) -> float:
    if curve is None or epsilon == 0 or np.isinf(epsilon):
        return epsilon
    alpha, gap = curve.alpha, curve.gap
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if epsilon <= 30:
            # In y = z − 1: α·y² + (1 − gap − t·p)·y − t = 0, accurate for small ε.
            root = _positive_root(
                alpha, 1 - gap - np.expm1(epsilon) * (alpha + gap), np.expm1(epsilon)
            )
            small = float(np.log1p(root).max())
            if np.isfinite(small):
                return small
        # In w = z·e^−ε: α·w² − (p − (1 − α)·q)·w − (1 − p)·q = 0 with q = e^−ε.
        q, p = np.exp(-epsilon), alpha + gap
        root = _positive_root(alpha, (1 - alpha) * q - p, np.maximum(1 - p, 0.0) * q)
        root = np.where(p == 0, 1.0, root)  # the event that never happens adds nothing
        return float(max(epsilon + np.log(root).max(), epsilon))


def _positive_root(a: FloatArray, b: FloatArray, c: FloatArray | float) -> FloatArray:
    """Largest root of ``a·y² + b·y − c`` with a, c ≥ 0; ∞ when a = 0 ≥ b."""
    spread = np.hypot(b, 2 * np.sqrt(a) * np.sqrt(c))  # no product that may underflow
    return np.where(b > 0, 2 * c / (b + spread), np.where(a > 0, (spread - b) / (2 * a), np.inf))


def _uniform_excess(
    curves: Curves,
    epsilon: float,
    steps: int,
    target: float,
) -> float:
    parts = [_uniform_parts(curve, epsilon, steps) for curve in curves]
    return float((parts[0] + parts[1][::-1]).max()) + epsilon - target


def _uniform_parts(curve: PiecewiseLinear | None, epsilon: float, steps: int) -> FloatArray:
    """The recursion with a common ε; it stops at the first repetition."""
    part = np.zeros(steps)
    if curve is None:
        return part
    for t in range(1, steps):
        part[t] = curve.leakage(float(part[t - 1] + epsilon))
        if part[t] == part[t - 1]:
            part[t:] = part[t]
            break
    return part


def _balanced(curves: Curves, target: float, steps: int) -> FloatArray:
    def excess(epsilon: float) -> float:
        past, future = (_supremum(curve, epsilon) for curve in curves)
        return past + (future - epsilon if np.isfinite(future) else future) - target

    epsilon = largest_feasible(excess, 0.0, target)
    past, future = (_supremum(curve, epsilon) for curve in curves)
    spare = target - (past + future - epsilon)
    # A value that never changes leaks without bound for any ε > 0. Its steps between get nothing,
    # and every B is a limit at ε = 0: the first and the last step share the target.
    stuck = [curve is not None and bool(curve.gap[0] == 1) for curve in curves]
    if any(stuck):
        past += spare * stuck[0] / sum(stuck)
        future += spare * stuck[1] / sum(stuck)
    budgets = np.full(steps, epsilon)
    budgets[0], budgets[-1] = past, future
    return budgets
