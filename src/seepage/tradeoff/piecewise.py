"""Piecewise linear trade-off curves: those of finite distributions, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _envelope, _hull
from seepage._numeric import (
    BoolArray,
    FloatArray,
    IntArray,
    as_float_array,
    check_conditional,
    check_epsilon,
    freeze,
    log_ratio,
)
from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.tradeoff._common import SMALLEST, one_number
from seepage.tradeoff.base import Failure, TradeOff

READING = 3 * np.finfo(np.float64).eps
"""More than rounding takes from a power between two vertices; an upper curve gives it back."""


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(TradeOff):
    """A piecewise linear trade-off curve.

    Parameters
    ----------
    alpha : array of float, shape (m,)
        False-alarm rates of the vertices, ascending from 0 to 1.
    gap : array of float, shape (m,)
        Power minus α at the vertices, in [0, 1 − α]; concave; 0 at α = 1.
    kind : {"none", "graceful"}, optional
        How protection fails, where the vertices cannot show it: nothing is proven, although the
        curve rises at an α too small for a floating-point number. Its first vertex after (0, 0) is
        then at the smallest one.
    """

    alpha: FloatArray
    gap: FloatArray
    kind: Failure | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        alpha, gap = as_float_array(self.alpha, "alpha"), as_float_array(self.gap, "gap")
        _check_curve(alpha, gap)
        if self.kind is not None and (self.kind not in ("none", "graceful") or gap[0] > 0):
            msg = (
                "expected kind 'none' or 'graceful' of a curve without power at alpha 0, "
                f"got {self.kind!r} and power {gap[0]:g}"
            )
            raise InvalidInputError(msg)
        object.__setattr__(self, "alpha", freeze(alpha))
        object.__setattr__(self, "gap", freeze(gap))

    @cached_property
    def _least(self) -> FloatArray:
        """α at the vertices, with 0 for one too small for a floating-point number."""
        if self.kind is None:
            return self.alpha
        return np.where(self.alpha <= SMALLEST, 0.0, self.alpha)

    @property
    def _unbounded(self) -> bool:
        """Whether power/α is out of range, or infinite, at the first vertices."""
        return bool(self.gap[0] > 0 or self._least[1] == 0)

    @cached_property
    def vertices(self) -> FloatArray:
        """Vertices (α, power), shape (m, 2), by ascending α."""
        return freeze(np.stack((self.alpha, self.alpha + self.gap), axis=1))

    def masses(self) -> tuple[FloatArray, FloatArray]:
        """A pair of distributions with this curve, by descending likelihood ratio.

        Returns
        -------
        null, alternative : arrays of float, shape (m,)
            Not both 0 at any outcome; each sums to 1 up to rounding.
        """
        null = np.diff(self.alpha, prepend=0.0)
        alternative = np.maximum(null + np.diff(self.gap, prepend=0.0), 0.0)
        used = (null > 0) | (alternative > 0)
        return null[used], alternative[used]

    def _power(self, alpha: FloatArray) -> FloatArray:
        power = np.asarray(np.interp(alpha, self.vertices[:, 0], self.vertices[:, 1]))
        if self.standing is not Standing.UPPER:
            return power
        raised = power * (1 + READING) + np.where(power > 0, SMALLEST, 0.0)
        return np.asarray(np.minimum(raised, 1.0))

    def _beta(self, alpha: FloatArray) -> FloatArray:
        beta = np.asarray(1 - self._power(alpha))
        if self.standing is not Standing.UPPER:
            return beta
        return np.where(alpha > 0, np.nextafter(beta, 0.0), beta)

    def _false_alarms(self, power: FloatArray) -> FloatArray:
        rates, powers = self.vertices[:, 0], self.vertices[:, 1]
        end = int(np.argmax(powers >= powers[-1])) + 1  # power 1 is reached before α = 1
        return np.asarray(np.interp(power, powers[:end], rates[:end]))

    def _leakage(self, epsilon: FloatArray) -> FloatArray:
        values: FloatArray = log_ratio(self._least, self.gap, epsilon[..., np.newaxis]).max(axis=-1)
        return values

    def _delta(self, epsilon: FloatArray) -> FloatArray:
        e = epsilon[..., np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            loss = np.where(self._least > 0, np.expm1(e) * self._least, 0.0)
        return np.asarray(np.maximum((self.gap - loss).max(axis=-1), 0.0))

    def _epsilon(self, delta: FloatArray) -> FloatArray:
        # δ(ε) ≤ δ when every vertex is below the line: gap − δ ≤ (e^ε − 1)·α.
        first = 2 if self._least[1] == 0 else 1
        rates, gaps = self.alpha[first:], self.gap[first:]
        excess = np.maximum(gaps - delta[..., np.newaxis], 0.0)
        with np.errstate(over="ignore"):
            finite = np.log1p(excess / rates).max(axis=-1)
        wide = np.isinf(finite)
        if wide.any():
            with np.errstate(divide="ignore"):
                logs = (np.log(excess) - np.log(rates)).max(axis=-1)
            finite = np.where(wide, logs, finite)
        return np.where(self.gap[first - 1] > delta, np.inf, finite)

    @property
    def _first_ratio(self) -> float:
        if self._unbounded:
            return 0.0
        return float(self.alpha[1] / (self.alpha[1] + self.gap[1]))

    @cached_property
    def total_variation(self) -> float:
        """Total variation distance: the largest power − α."""
        return float(self.gap.max())

    @cached_property
    def area(self) -> float:
        """Area under the curve of power against α: ½ + ∫ gap."""
        return 0.5 + float(np.diff(self.alpha) @ (self.gap[1:] + self.gap[:-1])) / 2

    def relative_risk(self, alpha0: float = 0.0) -> float:
        """Relative disclosure risk ρ: the largest power/α over α ≥ `alpha0`; may be ∞."""
        risk = super().relative_risk(alpha0)
        # On the first piece power/α does not depend on α; the gap keeps its last digits.
        if not self._unbounded and float(alpha0) <= self.alpha[1]:
            risk = 1 + float(self.gap[1]) / float(self.alpha[1])
        return risk

    @property
    def failure(self) -> Failure:
        """How protection fails (privacy-utility paper, Table 1).

        ``catastrophic`` when some outcome proves the alternative (power(0) > 0); ``none`` when the
        relative risk is bounded, which for finitely many outcomes is the only other case. Polygons
        around other curves, and curves beyond the range of numbers, bring their class.
        """
        if self.kind is not None:
            return self.kind
        return "catastrophic" if self.gap[0] > 0 else "none"


@dataclass(frozen=True, eq=False)
class Envelope(PiecewiseLinear):
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
    one_pair : bool
        Whether one ordered pair of rows is known to attain the whole curve, so that it also
        attains every composition of it.
    """

    pairs: IntArray = field(repr=False)
    events: BoolArray = field(repr=False)
    slack: float = 0.0
    one_pair: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", freeze(self.pairs))
        object.__setattr__(self, "events", freeze(self.events))

    def witness(self, epsilon: float) -> tuple[int, int, BoolArray] | None:
        """Rows (x, x') and event that attain the leakage at `epsilon`; None when nothing leaks."""
        e = one_number(check_epsilon(epsilon), "epsilon")
        values = log_ratio(self.alpha, self.gap, np.array(e))
        best = int(values.argmax())
        if values[best] <= 0:
            return None
        x, y = self.pairs[best]
        return int(x), int(y), self.events[best]


def from_points(
    alpha: FloatArray, gap: FloatArray, *, keep_first: bool = True, **named: Any
) -> PiecewiseLinear:
    """Upper concave hull of points and the two ends; `named` goes to the curve."""
    alpha = np.concatenate(([0.0], alpha if keep_first else alpha[1:], [1.0]))
    gap = np.concatenate(([0.0], gap if keep_first else gap[1:], [0.0]))
    gap = np.minimum(gap, 1.0 - alpha)  # the two may have been rounded apart
    kept = _hull.upper_hull(alpha, gap)
    alpha, gap = alpha[kept], gap[kept]
    if named.get("kind") is not None and gap[0] > 0:
        alpha, gap = unproven(alpha, gap)
    return PiecewiseLinear(alpha, gap, **named)


def unproven(alpha: FloatArray, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Vertices of a curve that proves nothing, where rounding left a power at α = 0."""
    later = alpha[1:] > SMALLEST
    alpha = np.concatenate(([0.0, SMALLEST], alpha[1:][later]))
    return alpha, np.concatenate(([0.0, gap[0]], gap[1:][later]))


def from_pair(null: FloatArray, alternative: FloatArray, **named: Any) -> PiecewiseLinear:
    """Curve of two distributions over the same outcomes; `named` goes to the curve."""
    rows = np.stack((alternative, null))
    alpha, gap, _ = _hull.clipped_curves(rows, np.array([0]), np.array([1]))
    return from_points(alpha[0, 1:], gap[0, 1:], **named)


def envelope_of(P: FloatArray, slack: float, adjacency: str) -> Envelope:
    """`TradeOff.envelope` of a checked table."""
    hull = _envelope.envelope(P, slack)
    return Envelope(
        hull.alpha,
        hull.gap,
        hull.pairs,
        hull.events,
        hull.slack,
        adjacency=adjacency,
        standing=Standing.LOWER if hull.slack > 0 else Standing.EXACT,
        error=float("inf") if hull.slack > 0 else 0.0,
    )


def pure(curve: Envelope) -> Envelope:
    """The same curve, known to prove nothing."""
    if curve.gap[0] == 0:
        return replace(curve, kind="none")
    alpha, gap = unproven(curve.alpha, curve.gap)
    # Its first vertex becomes the second, after (0, 0), which every pair has.
    rows = np.append([0, 0], np.flatnonzero(curve.alpha > SMALLEST))
    pairs, events = curve.pairs[rows], curve.events[rows]
    pairs[0], events[0] = -1, False
    return replace(curve, alpha=alpha, gap=gap, pairs=pairs, events=events, kind="none")


def attained_by_one_pair(curve: Envelope, P: FloatArray) -> bool:
    """Whether a pair that attains some vertex attains all, up to rounding."""
    named = np.unique(curve.pairs[curve.pairs[:, 0] >= 0], axis=0)
    return named.size == 0 or any(
        (from_pair(P[y], P[x])._power(curve.alpha) >= curve.vertices[:, 1] - 4e-16).all()
        for x, y in named.tolist()
    )


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
    e = one_number(check_epsilon(epsilon), "epsilon")
    alpha, gap, pair, event = _envelope.best_event(P, e)
    return float(log_ratio(np.array(alpha), np.array(gap), np.array(e))), pair, event
