"""Curves of Laplace and Gaussian noise, in closed form.

With noise of distribution function F and a shift of μ times its scale, ``f(α) = F(F⁻¹(1 − α) − μ)``
(Dong, Roth and Su 2022, Section 2; Laplace: their Lemma A.6). Both are symmetric: f = f⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from seepage._numeric import FloatArray, check_epsilon, extremes_allowed
from seepage.tradeoff._common import one_number
from seepage.tradeoff._newton import increasing_root
from seepage.tradeoff._normal import log_profile, upper_quantile, upper_tail
from seepage.tradeoff.base import Failure, TradeOff


@dataclass(frozen=True, eq=False)
class LaplaceNoise(TradeOff):
    """Curve of Laplace noise: pure ε-differential privacy with ε = μ.

    Parameters
    ----------
    mu : float
        Sensitivity over scale, in [0, ∞].
    """

    mu: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mu", one_number(check_epsilon(self.mu, "mu"), "mu"))

    @cached_property
    def _q(self) -> float:
        return float(np.exp(-self.mu))

    # f falls with slope −e^μ up to e^−μ/2, is e^−μ/(4α) up to ½, and falls with slope −e^−μ then.

    def _power(self, alpha: FloatArray) -> FloatArray:
        first = alpha < self._q / 2
        steep = self._steep(np.where(first, alpha, 0.0))
        # Where nothing but rounding is between them, the power is not below α.
        power = np.where(first, steep, 1 - self._beta_later(alpha))
        return np.where((alpha == 0) & np.isfinite(self.mu), 0.0, np.maximum(power, alpha))

    def _beta(self, alpha: FloatArray) -> FloatArray:
        first = alpha < self._q / 2
        steep = 1 - self._steep(np.where(first, alpha, 0.0))
        beta = np.minimum(np.where(first, steep, self._beta_later(alpha)), 1 - alpha)
        return np.where((alpha == 0) & np.isfinite(self.mu), 1.0, beta)

    @extremes_allowed
    def _steep(self, alpha: FloatArray) -> FloatArray:
        root = np.exp(self.mu / 2)  # e^μ may overflow where e^μ·α does not
        product = root * alpha * root if self.mu > 700 else np.exp(self.mu) * alpha
        return np.where(alpha > 0, np.minimum(product, 0.5), 0.0)

    @extremes_allowed
    def _beta_later(self, alpha: FloatArray) -> FloatArray:
        # In two steps: e^−μ may underflow where e^−μ/(4α) does not.
        root = np.exp(-self.mu / 2)
        middle = root / (4 * np.where(alpha > 0, alpha, 1.0)) * root
        return np.where(alpha <= 0.5, np.minimum(middle, 0.5), self._q * (1 - alpha))

    def _false_alarms(self, power: FloatArray) -> FloatArray:
        # f = f⁻¹: a test of type II error β has type I error f(β).
        beta = 1 - power
        later = self._beta_later(beta)
        steep = np.maximum(1 - self._steep(beta), 0.0)
        small = self._q * power  # β > ½ is the piece of slope e^μ at α = 0
        found = np.where(beta < self._q / 2, steep, np.where(beta <= 0.5, later, small))
        return np.where((power == 1) & np.isfinite(self.mu), 1.0, np.minimum(found, power))

    @extremes_allowed
    def _leakage(self, epsilon: FloatArray) -> FloatArray:
        """``y² + t·c·y − (1 + t) = 0`` for y = e^(L/2), c = e^(−μ/2): from e^L − 1 = t·δ(L)."""
        q, tau = np.exp(-epsilon), -np.expm1(-epsilon)
        c, d = np.exp(-self.mu / 2), -np.expm1(-self.mu / 2)
        base = 2 * q + tau * c
        near = 2 * np.log1p(2 * tau * d / (base + np.sqrt(base * base + 4 * q * tau * d)))
        big = np.log(tau) - self.mu / 2
        far = 2 * (np.log(2) - np.logaddexp(big, 0.5 * np.logaddexp(2 * big, _log4(epsilon))))
        extreme = (epsilon > 300) & (self.mu > 600)
        result = np.where(extreme, far, near)
        result = np.where(np.isinf(epsilon), self.mu, result)
        if np.isinf(self.mu):
            result = epsilon
        return np.where((epsilon == 0) | (self.mu == 0), 0.0, np.minimum(result, epsilon))

    def _delta(self, epsilon: FloatArray) -> FloatArray:
        if np.isinf(self.mu):
            return np.ones_like(epsilon)
        return np.asarray(-np.expm1(np.minimum(epsilon - self.mu, 0.0) / 2)) + 0.0

    def _epsilon(self, delta: FloatArray) -> FloatArray:
        if np.isinf(self.mu):
            return np.where(delta < 1, np.inf, 0.0)
        safe = np.where(delta < 1, delta, 0.0)
        return np.where(delta < 1, np.maximum(self.mu + 2 * np.log1p(-safe), 0.0), 0.0)

    @property
    def _first_ratio(self) -> float:
        return self._q

    def relative_risk(self, alpha0: float = 0.0) -> float:
        """Relative disclosure risk ρ: e^μ, or less above the floor e^−μ/2; may overflow to ∞."""
        risk = super().relative_risk(alpha0)
        if float(alpha0) <= self._q / 2 or alpha0 == 0:
            with np.errstate(over="ignore"):
                return float(np.exp(self.mu))
        return risk

    @property
    def total_variation(self) -> float:
        """Total variation distance, 1 − e^(−μ/2)."""
        return float(-np.expm1(-self.mu / 2))

    @property
    def area(self) -> float:
        """Area under the curve, 1 − e^−μ·(½ + μ/4)."""
        return 1 - self._q * (0.5 + self.mu / 4) if np.isfinite(self.mu) else 1.0

    @property
    def failure(self) -> Failure:
        """``none``: the relative risk is bounded by e^μ (privacy-utility paper, Corollary 2)."""
        return "none" if np.isfinite(self.mu) else "catastrophic"


def _log4(epsilon: FloatArray) -> FloatArray:
    """``ln(4·e^−ε)``: the discriminant's second term, in units of t²."""
    return np.asarray(np.log(4) - epsilon)


@dataclass(frozen=True, eq=False)
class GaussianNoise(TradeOff):
    """Curve of Gaussian noise: μ-Gaussian differential privacy.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, in [0, ∞].
    """

    mu: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mu", one_number(check_epsilon(self.mu, "mu"), "mu"))

    @property
    def _limit(self) -> bool:
        return self.mu == 0 or np.isinf(self.mu)

    def _power(self, alpha: FloatArray) -> FloatArray:
        if self._limit:
            return np.ones_like(alpha) if self.mu else alpha.copy()
        return np.maximum(upper_tail(upper_quantile(alpha) - self.mu), alpha)

    def _beta(self, alpha: FloatArray) -> FloatArray:
        if self._limit:
            return np.zeros_like(alpha) if self.mu else 1 - alpha
        # Not 1 − power: a small type II error keeps its digits.
        return np.minimum(upper_tail(self.mu - upper_quantile(alpha)), 1 - alpha)

    def _false_alarms(self, power: FloatArray) -> FloatArray:
        if self._limit:
            return np.zeros_like(power) if self.mu else power.copy()
        return np.minimum(upper_tail(upper_quantile(power) + self.mu), power)

    @extremes_allowed
    def _leakage(self, epsilon: FloatArray) -> FloatArray:
        """Root of ``ln(e^L − 1) − ln t − ln δ(L)`` in ln L, which increases."""
        if self._limit:
            return epsilon.copy() if self.mu else np.zeros_like(epsilon)
        if self.mu < 1e-322:  # two digits are left of no probability: a larger μ is above
            return replace(self, mu=1e-322)._leakage(epsilon)
        usual = (epsilon > 0) & np.isfinite(epsilon)
        e = np.where(usual, epsilon, 1.0)
        log_t = _log_expm1(e)
        # δ(0) ≥ δ(L) gives an upper limit, and δ there a lower one.
        high = np.minimum(np.log(e), _log_softplus(log_t + np.log(self.total_variation)))
        low = np.minimum(_log_softplus(log_t + log_profile(np.exp(high), self.mu)), high)
        low = np.maximum(low, high - 700)

        def excess(log_value: FloatArray) -> tuple[FloatArray, FloatArray]:
            value = np.exp(log_value)
            profile = log_profile(value, self.mu)
            rate = upper_tail(value / self.mu + self.mu / 2)
            # d ln(e^L − 1)/dL = 1/(1 − e^−L), d ln δ/dL = −e^L·α/δ
            slope = 1 / -np.expm1(-value) + np.exp(value + np.log(rate) - profile)
            return _log_expm1(value) - log_t - profile, value * slope

        root = np.exp(increasing_root(excess, low, high))
        root = np.where(usual, np.minimum(root, epsilon), 0.0)
        return np.where(np.isinf(epsilon), np.inf, root)

    def _delta(self, epsilon: FloatArray) -> FloatArray:
        if self._limit:
            return np.ones_like(epsilon) if self.mu else np.zeros_like(epsilon)
        with np.errstate(under="ignore"):
            found = np.exp(log_profile(epsilon, self.mu))
        return np.where(epsilon == 0, self.total_variation, found)

    @extremes_allowed
    def _epsilon(self, delta: FloatArray) -> FloatArray:
        if self._limit:
            return np.where(delta < 1, np.inf if self.mu else 0.0, 0.0)
        inside = (delta > 0) & (delta < self.total_variation)
        d = np.where(inside, delta, self.total_variation / 2)
        # δ(ε) ≤ Q(a) bounds ε from above.
        high = self.mu * (upper_quantile(d) + self.mu / 2)
        high = np.clip(high * (1 + 1e-12), 1e-300, np.finfo(np.float64).max)

        def excess(value: FloatArray) -> tuple[FloatArray, FloatArray]:
            profile = log_profile(value, self.mu)
            rate = upper_tail(value / self.mu + self.mu / 2)
            with np.errstate(all="ignore"):
                slope = np.exp(value + np.log(rate) - profile)
            return np.log(d) - profile, slope

        root = increasing_root(excess, np.zeros_like(d), high)
        return np.where(inside, root, np.where(delta > 0, 0.0, np.inf))

    @property
    def _first_ratio(self) -> float:
        return 1.0 if self.mu == 0 else 0.0

    @cached_property
    def total_variation(self) -> float:
        """Total variation distance, 2·Φ(μ/2) − 1."""
        from scipy.special import erf

        return float(erf(self.mu / np.sqrt(8)))

    @cached_property
    def area(self) -> float:
        """Area under the curve, Φ(μ/√2)."""
        return float(upper_tail(np.array(-self.mu / np.sqrt(2))))

    @property
    def failure(self) -> Failure:
        """``graceful``: certainty is approached, never reached (privacy-utility paper, 3.2.1)."""
        if np.isinf(self.mu):
            return "catastrophic"
        return "graceful" if self.mu > 0 else "none"


def _log_softplus(x: FloatArray) -> FloatArray:
    """``ln ln(1 + e^x)``."""
    small = x < -30
    return np.where(small, x, np.log(np.logaddexp(0.0, np.where(small, 0.0, x))))


def _log_expm1(x: FloatArray) -> FloatArray:
    """``ln(e^x − 1)`` for x > 0, without overflow."""
    return np.where(x < 1, np.log(np.expm1(np.minimum(x, 1.0))), x + np.log1p(-np.exp(-x)))
