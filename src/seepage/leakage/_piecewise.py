"""Worst-case leakage as a piecewise function of ε, pair by pair (LTM).

Deliberately shares nothing with the envelope search, which it cross-checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_conditional,
    check_epsilon,
    freeze,
    like_input,
)


@dataclass(frozen=True, eq=False)
class PiecewiseLeakage:
    """Leakage of every ordered pair of rows as a function with breakpoints in ε.

    The best event of a pair is a prefix of the outcomes in order of descending likelihood ratio,
    and it shrinks as ε grows: outcome k belongs to it exactly for ε below the breakpoint of k.

    Parameters
    ----------
    breakpoints : array of float, shape (pairs, b)
        Non-increasing along a row, in [0, ∞].
    power, alpha : arrays of float, shape (pairs, b + 1)
        Probabilities of the prefixes of 0, …, b outcomes under x and x'.
    gap : array of float, shape (pairs, b + 1)
        Power minus α.
    """

    breakpoints: FloatArray
    power: FloatArray
    alpha: FloatArray
    gap: FloatArray

    def __post_init__(self) -> None:
        for name in ("breakpoints", "power", "alpha", "gap"):
            object.__setattr__(self, name, freeze(as_float_array(getattr(self, name), name)))

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Largest leakage over all pairs, in nats, for `epsilon` in [0, ∞]."""
        e = check_epsilon(epsilon)
        values = np.array([self._at(float(value)) for value in e.flat])
        return like_input(values.reshape(e.shape), epsilon)

    def _at(self, epsilon: float) -> float:
        if len(self.breakpoints) == 0 or epsilon == 0:
            return 0.0
        # Rows descend: count the breakpoints at or above ε by binary search from the other end.
        size = np.array(
            [row.size - np.searchsorted(row[::-1], epsilon) for row in self.breakpoints]
        )
        pairs = np.arange(size.size)
        leaks = self.gap[pairs, size] > 0
        pairs, size = pairs[leaks], size[leaks]
        power, alpha = self.power[pairs, size], self.alpha[pairs, size]
        if epsilon < 30:
            t = np.expm1(epsilon)
            return float(np.log1p(t * self.gap[pairs, size] / (1 + t * alpha)).max(initial=0.0))
        with np.errstate(divide="ignore"):
            logs = [
                np.logaddexp(np.log(p), np.log1p(-np.minimum(p, 1.0)) - epsilon)
                for p in (power, alpha)
            ]
        return float((logs[0] - logs[1]).max(initial=0.0))


def ltm(conditional: ArrayLike) -> PiecewiseLeakage:
    """Precompute the worst-case leakage of a table as a piecewise function of ε.

    Source: the precomputed form (LTM) of Cao, Yoshikawa, Xiao and Xiong, "Quantifying differential
    privacy under temporal correlations" (ICDE 2017). Gives the same values as `hcc2`; takes
    O(a²·b) memory, so it is meant for tables of moderate size.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.

    Returns
    -------
    PiecewiseLeakage

    Raises
    ------
    InvalidInputError
        If the table is not row-stochastic.
    """
    P = check_conditional(conditional)
    xs, ys = np.nonzero(~np.eye(len(P), dtype=bool))
    G, H = P[xs], P[ys]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.minimum(G / H, np.finfo(float).max)
    ratio = np.where(H > 0, ratio, np.where(G > 0, np.inf, 0.0))
    order = np.argsort(-ratio, axis=1, kind="stable")
    G, H, ratio = (np.take_along_axis(m, order, axis=1) for m in (G, H, ratio))
    power, alpha, gap = (np.pad(np.cumsum(m, axis=1), ((0, 0), (1, 0))) for m in (G, H, G - H))
    # Outcome k leaves the event where (1 + t·power)/(1 + t·alpha) of the others reaches its ratio:
    # t = (ratio − 1)/(gap − (ratio − 1)·alpha), as logarithms because ratios may overflow.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = gap[:, :-1] - (G - H) * (alpha[:, :-1] / H)
        log_t = np.log(G - H) - np.log(H) - np.log(reach)
    log_t = np.where((ratio > 1) & (H > 0) & (reach > 0), log_t, np.inf)
    breakpoints = np.where(ratio > 1, np.logaddexp(0.0, log_t), 0.0)
    breakpoints = np.minimum.accumulate(breakpoints, axis=1)
    return PiecewiseLeakage(breakpoints, power, alpha, gap)
