"""Many leakage curves evaluated at once, with their derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, check_epsilon, freeze, like_input, log_ratio
from seepage.errors import InvalidInputError
from seepage.tradeoff import PiecewiseLinear

_ORDINARY = 300.0
"""Up to this ε nothing leaves the range of normal numbers."""


@runtime_checkable
class Curve(Protocol):
    """Anything that gives a leakage in nats for an ε in [0, ∞]."""

    def leakage(self, epsilon: float, /) -> float:
        """Leakage in nats, in [0, ε]."""
        ...


@dataclass(frozen=True, eq=False)
class CurveStack:
    """Leakage of m curves, curve i at its own ε_i.

    Attributes
    ----------
    alpha, gap : arrays of float, shape (number of vertices in all,)
        Vertices of all curves one after another, without those that can never be the best.
    starts, sizes : arrays of int, shape (m,)
        Where the vertices of each curve begin, and how many there are.
    opaque : tuple of (int, Curve)
        Curves without vertices: their values can be asked for, their derivatives cannot.
    """

    alpha: FloatArray
    gap: FloatArray
    starts: IntArray
    sizes: IntArray
    opaque: tuple[tuple[int, Curve], ...] = ()

    @classmethod
    def of(cls, curves: Iterable[Curve]) -> CurveStack:
        """Collect curves in the given order."""
        alphas: list[FloatArray] = []
        gaps: list[FloatArray] = []
        opaque: list[tuple[int, Curve]] = []
        for i, item in enumerate(curves):
            curve = _with_vertices(item)
            if isinstance(curve, PiecewiseLinear):
                # Beyond the largest gap, α grows and the gap shrinks: such a vertex is never best.
                end = int(np.argmax(curve.gap)) + 1
                alphas.append(curve.alpha[:end])
                gaps.append(curve.gap[:end])
            else:
                alphas.append(np.zeros(1))
                gaps.append(np.zeros(1))
                opaque.append((i, curve))
        sizes = np.array([a.size for a in alphas], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        empty = np.zeros(0)
        return cls(
            freeze(np.concatenate(alphas or [empty])),
            freeze(np.concatenate(gaps or [empty])),
            freeze(starts),
            freeze(sizes),
            tuple(opaque),
        )

    def __len__(self) -> int:
        return self.sizes.size

    def values(self, epsilon: FloatArray) -> FloatArray:
        """Leakage of every curve, shape (m,), at `epsilon`, shape (m,)."""
        if len(self) == 0:
            return np.zeros(0)
        every, _ = self._vertices(np.repeat(epsilon, self.sizes), slopes=False)
        result: FloatArray = np.maximum.reduceat(every, self.starts)
        for i, curve in self.opaque:
            result[i] = curve.leakage(float(epsilon[i]))
        return result

    def values_and_slopes(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Leakage and its right-hand derivative, each of shape (m,).

        Raises
        ------
        InvalidInputError
            If a curve has no vertices.
        """
        if len(self) == 0:
            return np.zeros(0), np.zeros(0)
        if self.opaque:
            msg = (
                "expected curves with vertices (PiecewiseLinear) for a derivative, got "
                f"{type(self.opaque[0][1]).__name__}"
            )
            raise InvalidInputError(msg)
        every, slopes = self._vertices(np.repeat(epsilon, self.sizes), slopes=True)
        best = np.maximum.reduceat(every, self.starts)
        # Of the vertices that attain the maximum, the steepest is the one just above ε.
        slopes = np.where(every == np.repeat(best, self.sizes), slopes, 0.0)
        return best, np.maximum.reduceat(slopes, self.starts)

    def _vertices(self, e: FloatArray, *, slopes: bool) -> tuple[FloatArray, FloatArray]:
        """Leakage and, when asked for, its derivative at every vertex."""
        if e.max() > _ORDINARY:
            slope = vertex_slope(self.alpha, self.gap, e) if slopes else e
            return log_ratio(self.alpha, self.gap, e), slope
        # The same formulas without their limits, for the inner loop of a solver.
        q = np.exp(-e)
        rise = -np.expm1(-e) * self.gap
        below = self.alpha - self.alpha * q + q
        values = np.log1p(rise / below)
        return values, self.gap * q / (below * (below + rise)) if slopes else e


def _with_vertices(curve: Curve) -> Curve:
    if isinstance(curve, PiecewiseLinear):
        return curve
    convert = getattr(curve, "tradeoff", None)
    if callable(convert):
        converted = convert()
        if isinstance(converted, PiecewiseLinear):
            return converted
    if not callable(getattr(curve, "leakage", None)):
        msg = f"expected a curve with a method leakage(epsilon), got {type(curve).__name__}"
        raise InvalidInputError(msg)
    return curve


def vertex_slope(alpha: FloatArray, gap: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Derivative by ε of ``ln[(1 + t·p)/(1 + t·α)]``, ``t = e^ε − 1``, p = α + gap.

    ``e^ε [p/(1 + t·p) − α/(1 + t·α)]``, written as
    ``gap / ((p + (1 − p) e^−ε)·(1 + t·α))``, which neither overflows nor cancels.

    Parameters
    ----------
    alpha, gap : arrays of float
        A vertex; they broadcast with `epsilon`.
    epsilon : array of float
        In [0, ∞].

    Returns
    -------
    array of float
        In [0, 1].
    """
    alpha, gap, epsilon = np.broadcast_arrays(alpha, gap, epsilon)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        q = np.exp(-epsilon)
        p = alpha + gap
        spread = np.where(alpha > 0, 1 + np.expm1(epsilon) * alpha, 1.0)
        slope = gap / (p - p * q + q) / spread
    return np.where(gap > 0, np.minimum(slope, 1.0), 0.0)


def leakage_slope(curve: Curve, epsilon: ArrayLike) -> float | FloatArray:
    """Right-hand derivative of a curve's leakage by ε.

    Parameters
    ----------
    curve : PiecewiseLinear, or what converts to one with ``.tradeoff()``
    epsilon : float or array-like of float
        In [0, ∞].

    Returns
    -------
    float or array of float
        In [0, 1], of the shape of `epsilon`. At ε = 0 it is the total variation.

    Raises
    ------
    InvalidInputError
        If the curve has no vertices, or an ε is outside its range.
    """
    e = check_epsilon(epsilon)
    stack = CurveStack.of([curve] * e.size)
    return like_input(stack.values_and_slopes(e.ravel())[1].reshape(e.shape), epsilon)
