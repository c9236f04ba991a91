"""The Dependency Triad: three numbers that bound the leakage between two attributes.

A triad is a trade-off curve with at most four vertices, so it is evaluated by the same code as the
exact curve. Source: Jayawardana et al., "Dependency Triad: A Metric to Quantify the Dependencies
Between Attributes for Local Differential Privacy" (2026), sections IV and V.

In this module only, α, β and δ are the parameters of the triad.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from seepage import _envelope
from seepage._numeric import FloatArray, check_conditional, check_epsilon, log_ratio
from seepage.errors import InvalidInputError
from seepage.leakage._triad_numerics import (
    beta_of,
    calibrated_gap,
    crossing_rate,
    curve,
    pair_log_ratios,
    parameters,
    two_slopes,
    unshared_mass,
)
from seepage.leakage.robust import robust_disclosure
from seepage.leakage.uncertainty import Uncertainty, interval_rows
from seepage.tradeoff import PiecewiseLinear

_LARGEST_CALIBRATION = 700.0  # e^ε₀ is a finite number up to here


@dataclass(frozen=True, kw_only=True)
class Triad:
    """Dependency Triad (α, β, δ) of a secret attribute and a released one (Definition V.1).

    Its leakage is an upper bound of the exact leakage for every ε in [0, ∞]. The curve rises from
    (0, δ) with slope e^α to the vertex (g', g' + φ), where g' is `crossing`.

    Parameters
    ----------
    alpha : float
        Largest log-ratio ``ln p(x̂|x)/p(x̂|x')``, in nats, 0 or more: governs large ε.
    delta : float
        Largest probability, given one secret value, of outcomes that are impossible given another
        one; in [0, φ].
    phi : float
        Largest total variation distance of two rows, in [0, 1]; governs small ε.

    Raises
    ------
    InvalidInputError
        If a value is outside its range, or φ exceeds what α and δ allow,
        ``(e^α − 1 + 2δ)/(e^α + 1)``, by more than 1e-8.

    See Also
    --------
    Triad.from_conditional : from a table.
    """

    alpha: float
    delta: float
    phi: float

    def __post_init__(self) -> None:
        _check_parameters(self.alpha, "alpha", self.delta)
        most = math.tanh(self.alpha / 2) * (1 - self.delta) + self.delta
        if not self.delta <= self.phi <= min(1.0, most + 1e-8):
            msg = f"expected phi in [delta, {most:.9g}] for this alpha and delta, got {self.phi!r}"
            raise InvalidInputError(msg)

    @classmethod
    def from_conditional(
        cls, conditional: ArrayLike, uncertainty: Uncertainty | None = None
    ) -> Triad:
        """Triad of a conditional table, and of every table within the uncertainty.

        Parameters
        ----------
        conditional : array-like of float, shape (a, b)
            ``P[x, x̂] = p(x̂ | x)``, row-stochastic: one row for each value of the secret.
        uncertainty : None, array-like of float, or tuple of two array-likes
            Margins Δ of the cells (a number, or an array that broadcasts to (a, b)), or a tuple
            (lower, upper) of bounds of the cells. The triad then bounds the leakage of every
            row-stochastic table within these bounds (Theorem IV.8).

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic, or the uncertainty does not fit it.

        Notes
        -----
        The printed definition of α leaves out the logarithm, and its δ can exceed 1; δ is limited
        to φ here. Bounds of the cells are tightened first by the fact that rows sum to 1.

        Examples
        --------
        >>> triad = Triad.from_conditional([[0.1, 0.1, 0.15, 0.2, 0.45], [0.4, 0.3, 0.1, 0.1, 0.1]])
        >>> round(triad.alpha, 6), round(triad.beta, 6), triad.delta, round(triad.phi, 6)
        (1.504077, 0.875469, 0.0, 0.5)
        """
        P = check_conditional(conditional)
        lower, upper = interval_rows(P, uncertainty)
        return cls(**parameters(lower, upper))

    @classmethod
    def from_parameters(cls, alpha: float, beta: float, delta: float) -> Triad:
        """Triad from the three published numbers.

        Parameters
        ----------
        alpha, beta : float
            In nats, 0 ≤ β ≤ α.
        delta : float
            In [0, 1].

        Raises
        ------
        InvalidInputError
            If a value is outside its range.
        """
        _check_parameters(alpha, "alpha", delta)
        _check_below(beta, "beta", alpha)
        gap = two_slopes(alpha, beta, delta)[1]
        return cls(alpha=float(alpha), delta=float(delta), phi=min(1.0, gap))

    @staticmethod
    def calibrated(
        conditional: ArrayLike, epsilon0: float, uncertainty: Uncertainty | None = None
    ) -> CalibratedTriad:
        """Triad calibrated at ε₀ > 0; see `CalibratedTriad.from_conditional`."""
        return CalibratedTriad.from_conditional(conditional, epsilon0, uncertainty)

    @staticmethod
    def uncalibrated(conditional: ArrayLike) -> UncalibratedTriad:
        """Return the (α, γ, δ) form; see `UncalibratedTriad.from_conditional`."""
        return UncalibratedTriad.from_conditional(conditional)

    @property
    def beta(self) -> float:
        """β = ln[(1 − g' − δ)/(1 − g' − φ)] in nats, in [0, α] up to rounding."""
        return beta_of(self.alpha, self.delta, self.phi)

    @property
    def crossing(self) -> float:
        """False-alarm rate of the middle vertex: g' = (φ − δ)/(e^α − 1); 0 when φ = δ."""
        return crossing_rate(self.alpha, self.delta, self.phi)

    def tradeoff(self) -> PiecewiseLinear:
        """Trade-off curve that lies on or above the curve of every ordered pair of rows."""
        return self._curve

    @cached_property
    def _curve(self) -> PiecewiseLinear:
        return curve(self.crossing, self.phi, self.delta)

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Upper bound of the leakage through any ε-LDP mechanism (Algorithm 2), in constant time.

        Parameters
        ----------
        epsilon : float or array-like of float
            In [0, ∞].

        Returns
        -------
        float or array of float
            In nats, in [0, ε].

        Raises
        ------
        InvalidInputError
            If `epsilon` is negative, NaN or not a number.
        """
        return self._curve.leakage(epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {"alpha": self.alpha, "beta": self.beta, "delta": self.delta, "phi": self.phi}


@dataclass(frozen=True, kw_only=True)
class CalibratedTriad:
    """Triad whose β is fitted to the exact leakage at ε₀ > 0 (Theorem IV.4).

    Never above the `Triad`, and equal to the exact leakage at ε₀; an upper bound for ε ≥ ε₀ only.

    Parameters
    ----------
    alpha, delta : float
        As for `Triad`.
    phi : float
        Gap of the middle vertex, in [δ, total variation].
    epsilon0 : float
        In (0, ∞].

    Raises
    ------
    InvalidInputError
        If a value is outside its range.
    """

    alpha: float
    delta: float
    phi: float
    epsilon0: float

    def __post_init__(self) -> None:
        Triad(alpha=self.alpha, delta=self.delta, phi=self.phi)
        _check_epsilon0(self.epsilon0)

    @classmethod
    def from_conditional(
        cls, conditional: ArrayLike, epsilon0: float, uncertainty: Uncertainty | None = None
    ) -> CalibratedTriad:
        """Calibrate at one ε₀.

        Parameters
        ----------
        conditional : array-like of float, shape (a, b)
            Row-stochastic.
        epsilon0 : float
            In (0, ∞]. Above 700, where e^ε₀ leaves the range of numbers, the middle vertex of the
            `Triad` is kept, which is safe.
        uncertainty : optional
            As for `Triad.from_conditional`. The leakage at ε₀ is then an upper bound over all
            tables within the uncertainty, from linear programs.

        Raises
        ------
        InvalidInputError
            If an argument is outside its range.

        Notes
        -----
        The vertex is where the line of slope e^α through (0, δ) meets the line of slope e^l that
        touches the exact curve, l being the leakage at ε₀:
        ``g' = (e^l − 1 − t₀δ)/(t₀(e^α − e^l))``, ``t₀ = e^ε₀ − 1``. The printed β follows from it.
        """
        at = _check_epsilon0(epsilon0)
        P = check_conditional(conditional)
        lower, upper = interval_rows(P, uncertainty)
        found = parameters(lower, upper)
        alpha, delta, phi = found["alpha"], found["delta"], found["phi"]
        if float(log_ratio(np.array(0.0), np.array(delta), np.array(at))) >= alpha:
            # From ε₀ on, the unshared mass alone decides the leakage.
            phi = delta
        elif at <= _LARGEST_CALIBRATION:
            t = math.expm1(at)
            if lower is upper:
                a0, gap0, _, _ = _envelope.best_event(P, at)
                s = gap0 / (1 + t * a0)
            else:
                s = robust_disclosure(lower, upper, at)
            phi = min(phi, calibrated_gap(alpha, delta, s, t))
        return cls(alpha=alpha, delta=delta, phi=phi, epsilon0=at)

    @property
    def beta(self) -> float:
        """The calibrated β, in nats; not above the β of the `Triad`."""
        return beta_of(self.alpha, self.delta, self.phi)

    @property
    def crossing(self) -> float:
        """False-alarm rate g' of the middle vertex."""
        return crossing_rate(self.alpha, self.delta, self.phi)

    @cached_property
    def _curve(self) -> PiecewiseLinear:
        return curve(self.crossing, self.phi, self.delta)

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Upper bound of the leakage for ε in [ε₀, ∞], in nats.

        Raises
        ------
        InvalidInputError
            If an `epsilon` is below ε₀, where this is not a bound, or is not a number.
        """
        below = check_epsilon(epsilon) < self.epsilon0
        if below.any():
            value = np.asarray(epsilon, dtype=float)[below].flat[0]
            msg = (
                f"expected epsilon in [{self.epsilon0!r}, inf], where a triad calibrated there is "
                f"an upper bound, got {float(value)!r}"
            )
            raise InvalidInputError(msg)
        return self._curve.leakage(epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "delta": self.delta,
            "phi": self.phi,
            "epsilon0": self.epsilon0,
        }


@dataclass(frozen=True, kw_only=True)
class UncalibratedTriad:
    """The (α, γ, δ) form, from the extreme log-ratios alone (Theorem IV.3).

    An upper bound for every ε, and usually much above the `Triad`.

    Parameters
    ----------
    alpha, gamma : float
        Largest log-ratio of any pair of rows in its larger and in its smaller direction, in nats;
        0 ≤ γ ≤ α.
    delta : float
        Largest unshared probability in either direction, in [0, 1].

    Raises
    ------
    InvalidInputError
        If a value is outside its range.
    """

    alpha: float
    gamma: float
    delta: float

    def __post_init__(self) -> None:
        _check_parameters(self.alpha, "alpha", self.delta)
        _check_below(self.gamma, "gamma", self.alpha)

    @classmethod
    def from_conditional(cls, conditional: ArrayLike) -> UncalibratedTriad:
        """Parameters of a row-stochastic table of shape (a, b).

        Every pair of rows is taken in the direction with α ≥ γ, which leaks more (Corollary IV.2);
        the largest α, γ and δ may come from different pairs.

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic.
        """
        P = check_conditional(conditional)
        ratios = pair_log_ratios(P)
        delta = min(1.0, float(unshared_mass(P, P).max()))
        high, low = np.maximum(ratios, ratios.T), np.minimum(ratios, ratios.T)
        return cls(alpha=float(high.max()), gamma=float(low.max()), delta=delta)

    def tradeoff(self) -> PiecewiseLinear:
        """Trade-off curve that lies on or above the curve of every ordered pair of rows."""
        return self._curve

    @cached_property
    def _curve(self) -> PiecewiseLinear:
        crossing, gap = two_slopes(self.alpha, self.gamma, self.delta)
        return curve(crossing, gap, self.delta)

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Upper bound of the leakage for ε in [0, ∞], in nats, of the shape of `epsilon`."""
        return self._curve.leakage(epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {"alpha": self.alpha, "gamma": self.gamma, "delta": self.delta}


def _check_parameters(alpha: float, name: str, delta: float) -> None:
    if not 0 <= alpha < math.inf:
        msg = f"expected {name} in [0, inf), got {alpha!r}"
        raise InvalidInputError(msg)
    if not 0 <= delta <= 1:
        msg = f"expected delta in [0, 1], got {delta!r}"
        raise InvalidInputError(msg)


def _check_below(value: float, name: str, alpha: float) -> None:
    if not 0 <= value <= alpha:
        msg = f"expected {name} in [0, alpha] = [0, {alpha!r}], got {value!r}"
        raise InvalidInputError(msg)


def _check_epsilon0(epsilon0: float) -> float:
    value = check_epsilon(epsilon0, "epsilon0")
    if value.ndim or value == 0:
        msg = f"expected one epsilon0 > 0 (Triad.from_conditional is the limit 0), got {epsilon0!r}"
        raise InvalidInputError(msg)
    return float(value)
