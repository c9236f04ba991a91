"""The trade-off curve of two hypotheses, from which every number of interest is read.

For a null distribution G' and an alternative G, the curve is the largest power G(S) that a test can
have at false-alarm rate α = G'(S) (the Neyman–Pearson frontier). It is concave from (0, power(0))
to (1, 1); the trade-off function of f-DP is ``f(α) = 1 − power(α)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from seepage import _envelope, _hull
from seepage._numeric import (
    BoolArray,
    FloatArray,
    IntArray,
    as_float_array,
    check_conditional,
    check_distribution,
    check_epsilon,
    check_probability,
    check_size,
    freeze,
    like_input,
    log_ratio,
)
from seepage.errors import InvalidInputError

Failure = Literal["none", "graceful", "catastrophic"]


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A piecewise linear trade-off curve.

    Build one with `from_distributions`, `envelope`, `approximate_dp`, `uniform_sampling` or
    `from_vertices`.

    Parameters
    ----------
    alpha : array of float, shape (m,)
        False-alarm rates of the vertices, ascending from 0 to 1.
    gap : array of float, shape (m,)
        Power minus α at the vertices, in [0, 1 − α]; concave; 0 at α = 1.
    """

    alpha: FloatArray
    gap: FloatArray

    def __post_init__(self) -> None:
        alpha, gap = as_float_array(self.alpha, "alpha"), as_float_array(self.gap, "gap")
        _check_curve(alpha, gap)
        object.__setattr__(self, "alpha", freeze(alpha))
        object.__setattr__(self, "gap", freeze(gap))

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_distributions(cls, null: ArrayLike, alternative: ArrayLike) -> TradeOff:
        """Exact curve of two finite distributions.

        Parameters
        ----------
        null, alternative : array-like of float, shape (b,)
            Probabilities of the same outcomes, each summing to 1 (to 1e-9).

        Raises
        ------
        InvalidInputError
            If one is not a distribution, or the lengths differ.

        Examples
        --------
        >>> curve = TradeOff.from_distributions([0.5, 0.5], [0.8, 0.2])
        >>> round(curve.total_variation, 12), round(curve.leakage(float("inf")), 6)
        (0.3, 0.470004)
        """
        h = check_distribution(null, "null")
        g = check_distribution(alternative, "alternative")
        if g.shape != h.shape:
            msg = f"expected distributions over the same outcomes, got lengths {h.size}, {g.size}"
            raise InvalidInputError(msg)
        rows = np.stack((g, h))
        hull = _hull.hull_of_pairs(rows, np.array([0]), np.array([1]))
        return cls(hull.alpha, hull.gap)

    @classmethod
    def from_vertices(cls, vertices: ArrayLike) -> TradeOff:
        """Upper concave hull of points (α, power), together with (0, 0) and (1, 1).

        Parameters
        ----------
        vertices : array-like of float, shape (m, 2)
            Each with 0 ≤ α ≤ power ≤ 1.

        Raises
        ------
        InvalidInputError
            If the shape or a value is outside that range.
        """
        points = as_float_array(vertices, "vertices")
        if points.ndim != 2 or points.shape[1] != 2:
            msg = f"expected vertices of shape (m, 2), got {points.shape}"
            raise InvalidInputError(msg)
        if not ((points >= 0) & (points <= 1)).all() or (points[:, 1] < points[:, 0]).any():
            msg = "expected vertices with 0 <= alpha <= power <= 1, got values outside"
            raise InvalidInputError(msg)
        return _from_points(points[:, 0], points[:, 1] - points[:, 0])

    @classmethod
    def envelope(cls, conditional: ArrayLike, tolerance: float = 0.0) -> Envelope:
        """Upper hull of the curves of all ordered pairs of rows.

        Its `leakage` is the correlation-induced privacy leakage through the best ε-LDP mechanism
        (HCC-2, LTM), exactly, for every ε at once.

        Parameters
        ----------
        conditional : array-like of float, shape (a, b)
            ``P[x, x̂] = p(x̂ | x)``: one row for each value of the secret attribute.
        tolerance : float, default 0
            In nats. Pairs whose leakage rises above the hull by less than this may be left out of a
            large table; the result then states it as `slack`.

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic.

        Examples
        --------
        >>> curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
        >>> round(curve.leakage(1.0), 6)
        0.706275
        """
        P = check_conditional(conditional)
        slack = as_float_array(tolerance, "tolerance")
        if slack.ndim or not 0 <= slack < np.inf:
            msg = f"expected tolerance to be a finite number of nats, 0 or more, got {tolerance!r}"
            raise InvalidInputError(msg)
        hull = _envelope.envelope(P, float(slack))
        return Envelope(hull.alpha, hull.gap, hull.pairs, hull.events, hull.slack)

    @classmethod
    def approximate_dp(cls, epsilon: float, delta: float = 0.0) -> TradeOff:
        """Curve of (ε, δ)-differential privacy.

        Parameters
        ----------
        epsilon : float
            In [0, ∞]. Above 744 the corner α = (1 − δ)/(1 + e^ε) is 0 in floating point.
        delta : float
            In [0, 1].

        Raises
        ------
        InvalidInputError
            If a parameter is outside its range, or an array.
        """
        e = _one_number(check_epsilon(epsilon), "epsilon")
        d = _one_number(check_probability(delta, "delta"), "delta")
        # The two lines power = δ + e^ε α and 1 − α = δ + e^ε (1 − power) meet at power + α = 1.
        gap = (1 - d) * np.tanh(e / 2) + d
        q = np.exp(-e)
        alpha = (1 - d) * q / (1 + q)
        return _from_points(
            np.array([0.0, alpha, 1 - d]), np.array([d, gap, d]), keep_first=not np.isinf(e)
        )

    @classmethod
    def uniform_sampling(cls, mu: float, n: int) -> TradeOff:
        """Curve of releasing one record out of `n` with probability δ·n, δ = (1 − e^−μ)/n.

        Parameters
        ----------
        mu : float
            In [0, ∞].
        n : int
            Number of records, 1 or more.

        Raises
        ------
        InvalidInputError
            If a parameter is outside its range.
        """
        m = _one_number(check_epsilon(mu, "mu"), "mu")
        d = float(-np.expm1(-m)) / check_size(n, "n")
        return _from_points(np.array([0.0, 1 - d]), np.array([d, d]))

    # ---------------------------------------------------------------- readings

    @cached_property
    def vertices(self) -> FloatArray:
        """Vertices (α, power), shape (m, 2), by ascending α."""
        return freeze(np.stack((self.alpha, self.alpha + self.gap), axis=1))

    @overload
    def power(self, alpha: float) -> float: ...
    @overload
    def power(self, alpha: ArrayLike) -> FloatArray: ...
    def power(self, alpha: ArrayLike) -> float | FloatArray:
        """Largest power of a test with false-alarm rate `alpha` in [0, 1]."""
        a = check_probability(alpha, "alpha")
        return like_input(np.interp(a, self.vertices[:, 0], self.vertices[:, 1]), alpha)

    @overload
    def beta(self, alpha: float) -> float: ...
    @overload
    def beta(self, alpha: ArrayLike) -> FloatArray: ...
    def beta(self, alpha: ArrayLike) -> float | FloatArray:
        """Smallest type II error at type I error `alpha`: the trade-off function f of f-DP."""
        a = check_probability(alpha, "alpha")
        return like_input(1 - np.interp(a, self.vertices[:, 0], self.vertices[:, 1]), alpha)

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Leakage through the best ε-LDP mechanism applied to the outcome.

        ``L(ε) = max over vertices of ln(1 + t·power) − ln(1 + t·α)``, ``t = e^ε − 1``.

        Parameters
        ----------
        epsilon : float or array-like of float
            In [0, ∞].

        Returns
        -------
        float or array of float
            In nats, in [0, ε], of the shape of `epsilon`.

        Raises
        ------
        InvalidInputError
            If `epsilon` is negative, NaN or not a number.
        """
        e = check_epsilon(epsilon)
        values = log_ratio(self.alpha, self.gap, e[..., np.newaxis]).max(axis=-1)
        return like_input(values, epsilon)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> FloatArray: ...
    def delta(self, epsilon: ArrayLike) -> float | FloatArray:
        """Smallest δ with (ε, δ)-indistinguishability of null and alternative: the privacy profile.

        ``δ(ε) = max over vertices of power − e^ε·α``; ``δ(∞) = power(0)``.
        """
        e = check_epsilon(epsilon)[..., np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            loss = np.where(self.alpha > 0, np.expm1(e) * self.alpha, 0.0)
        return like_input(np.maximum((self.gap - loss).max(axis=-1), 0.0), epsilon)

    @cached_property
    def total_variation(self) -> float:
        """Total variation distance: the largest power − α."""
        return float(self.gap.max())

    def relative_risk(self, alpha0: float = 0.0) -> float:
        """Relative disclosure risk ρ: the largest power/α over α ≥ `alpha0`; may be ∞."""
        floor = _one_number(check_probability(alpha0, "alpha0"), "alpha0")
        if floor > 0:
            return float(self.power(floor)) / floor
        if self.gap[0] > 0:
            return float("inf")
        return 1 + float(self.gap[1]) / float(self.alpha[1])

    @overload
    def posterior(self, prior: float, alpha: float) -> float: ...
    @overload
    def posterior(self, prior: ArrayLike, alpha: ArrayLike) -> FloatArray: ...
    def posterior(self, prior: ArrayLike, alpha: ArrayLike) -> float | FloatArray:
        """Belief after an alarm of the best test at rate `alpha`, from belief `prior` before.

        ``π·power / ((1 − π)·α + π·power)``. At α = 0 an alarm that can happen is certain; one that
        cannot happen is read as the limit α → 0.
        """
        pi = check_probability(prior, "prior")
        a = check_probability(alpha, "alpha")
        try:
            pi, a = np.broadcast_arrays(pi, a)
        except ValueError as error:
            msg = f"expected shapes that broadcast, got prior {pi.shape} and alpha {a.shape}"
            raise InvalidInputError(msg) from error
        hit = np.interp(a, self.vertices[:, 0], self.vertices[:, 1])
        limit = (a == 0) & (hit == 0)
        first = self.vertices[min(1, len(self.vertices) - 1)]
        hit, rate = np.where(limit, first[1], hit), np.where(limit, first[0], a)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            against = np.where(rate == 0, 0.0, (1 - pi) / pi * (rate / hit))
            belief = np.where(pi == 0, 0.0, 1 / (1 + against))
        scalar = np.ndim(prior) == 0 and np.ndim(alpha) == 0
        return like_input(belief, 0.0 if scalar else belief)

    @property
    def failure(self) -> Failure:
        """How protection fails (privacy-utility paper, Table 1).

        ``catastrophic`` when some outcome proves the alternative (power(0) > 0); ``graceful`` when
        the relative risk is unbounded all the same; ``none`` when it is bounded.
        """
        if self.gap[0] > 0:
            return "catastrophic"
        return "none" if np.isfinite(self.relative_risk()) else "graceful"


@dataclass(frozen=True, eq=False)
class Envelope(TradeOff):
    """The upper hull over all ordered pairs of rows, with what attains each vertex.

    Parameters
    ----------
    pairs : array of int, shape (m, 2)
        Rows (x, x') whose curve has the vertex: x plays the alternative, x' the null; (−1, −1) at
        vertices that every pair has.
    events : array of bool, shape (m, b)
        The outcomes in the event.
    slack : float
        No pair exceeds `leakage` by more than this at any ε; 0 when exact.
    """

    pairs: IntArray = field(repr=False)
    events: BoolArray = field(repr=False)
    slack: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", freeze(self.pairs))
        object.__setattr__(self, "events", freeze(self.events))

    def witness(self, epsilon: float) -> tuple[int, int, BoolArray] | None:
        """Rows (x, x') and event that attain the leakage at `epsilon`; None when nothing leaks."""
        e = _one_number(check_epsilon(epsilon), "epsilon")
        values = log_ratio(self.alpha, self.gap, np.array(e))
        best = int(values.argmax())
        if values[best] <= 0:
            return None
        x, y = self.pairs[best]
        return int(x), int(y), self.events[best]


def _one_number(value: FloatArray, name: str) -> float:
    if value.ndim:
        msg = f"expected one {name}, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value)


def _check_curve(alpha: FloatArray, gap: FloatArray) -> None:
    if alpha.ndim != 1 or alpha.shape != gap.shape or alpha.size < 2:
        msg = (
            f"expected alpha and gap of the same length, 2 or more, "
            f"got shapes {alpha.shape} and {gap.shape}"
        )
        raise InvalidInputError(msg)
    if alpha[0] != 0 or alpha[-1] != 1 or not (alpha[1:] > alpha[:-1]).all():
        msg = f"expected alpha to ascend from 0 to 1, got {alpha}"
        raise InvalidInputError(msg)
    if not ((gap >= 0) & (gap <= 1 - alpha)).all():
        msg = f"expected gap in [0, 1 - alpha], got {gap} at alpha {alpha}"
        raise InvalidInputError(msg)


def _from_points(alpha: FloatArray, gap: FloatArray, *, keep_first: bool = True) -> TradeOff:
    alpha = np.concatenate(([0.0], alpha if keep_first else alpha[1:], [1.0]))
    gap = np.concatenate(([0.0], gap if keep_first else gap[1:], [0.0]))
    gap = np.minimum(gap, 1.0 - alpha)  # the two may have been rounded apart
    kept = _hull.upper_hull(alpha, gap)
    return TradeOff(alpha[kept], gap[kept])


def worst_case(conditional: ArrayLike, epsilon: float) -> tuple[float, tuple[int, int], BoolArray]:
    """Leakage at one ε through the best ε-LDP mechanism (HCC-2), without the whole envelope.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.
    epsilon : float
        In [0, ∞].

    Returns
    -------
    leakage : float
        In nats.
    pair : (int, int)
        Rows (x, x') that attain it; (−1, −1) when nothing leaks.
    event : array of bool, shape (b,)
    """
    P = check_conditional(conditional)
    e = _one_number(check_epsilon(epsilon), "epsilon")
    alpha, gap, pair, event = _envelope.best_event(P, e)
    return float(log_ratio(np.array(alpha), np.array(gap), np.array(e))), pair, event
