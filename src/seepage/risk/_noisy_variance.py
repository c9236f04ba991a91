"""A t test on a noisy estimate and a noisy variance, by quadrature over the law of the variance.

The variance that the analyst sees is ``W = σ²·χ²_df/df + noise``. Its density is the convolution of
a gamma law with that of the noise: at each node of a rule in W an integral over the gamma law, cut
where the density of Laplace noise has its corner. Given W the estimate, normal with noise, is over
the critical value with a probability in closed form.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray, freeze
from seepage.risk._normal_noise import tail
from seepage.risk._outcome import DROWNED, Level, Outcome, clipped, powerless
from seepage.risk._simulated import solve
from seepage.risk.protections import Noise

POINTS = 12
"""Gauss–Legendre points of a panel."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(POINTS)

_PANELS = 4
"""Panels of the inner integral on each side of the corner."""

_STEPS = np.array([0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 9, 11, 14, 18, 23, 29, 37, 45])
"""Ends of the panels, in units of a standard deviation."""

_HUGE = 1e100
"""Noise of so many variances leaves nothing of them, and more would not fit."""

_TINY = 1e-9
"""Noise of less than this share of the variance changes no power by more."""

_REACH = {"normal": 9.0, "laplace": 45.0}
"""Beyond so many scales no noise is left in double precision."""


@dataclass(frozen=True)
class NoisyT:
    """A t test of which both the estimate and the variance get noise.

    Parameters
    ----------
    effect : float
        In the direction looked for.
    sd : float
        Of one record.
    spread : float
        The variance of the estimate is ``sd²·spread``.
    df : float
        Degrees of freedom of the estimated variance.
    sensitivities : pair of float
        Of the estimate and of the variance.
    """

    effect: float
    sd: float
    spread: float
    df: float
    sensitivities: tuple[float, float]


def noisy_t(plan: NoisyT, level: Level, protection: Noise) -> Outcome:
    """A t test on a noisy estimate and a noisy variance, which share the privacy equally.

    The statistic is the estimate over ``√(max(variance, 0)·spread + v)``, v the variance of the
    noise on the estimate; its critical value is the exact one for the planned deviation.
    """
    half = protection.shared(2)
    s, b = half.scales(plan.sensitivities[0])
    s_var, b_var = half.scales(plan.sensitivities[1])
    if s + b + s_var + b_var > DROWNED:
        return powerless(level, "pure noise")
    unit = plan.sd * math.sqrt(plan.spread)
    variance, weights = variance_rule(
        plan.df, *(min(scale / plan.sd / plan.sd, _HUGE) for scale in (s_var, b_var))
    )
    # Everything in units of the standard error without noise.
    s, b, effect = s / unit, b / unit, plan.effect / unit
    width = np.hypot(np.sqrt(variance), math.hypot(s, math.sqrt(2) * b))
    normal = math.hypot(1.0, s)

    def upper(x: FloatArray) -> float:
        return float(weights @ tail(x, normal, b))

    def rejected(c: float, shift: float) -> float:
        power = upper(c * width - shift)
        return power + upper(c * width + shift) if level.two_sided else power

    c = solve(lambda x: rejected(x, 0.0), level)
    method = "quadrature of the noisy variance"
    assumptions = (
        "The data are normal, with equal variances.",
        "The estimate and the variance are released, each with half of the privacy (μ/√2 for "
        "Gaussian noise, μ/2 for Laplace noise).",
        "The critical value is that of the planned standard deviation.",
    )
    if math.isinf(c):
        power = 0.0 if c > 0 else 1.0
        return Outcome(power, 1 - power, method, assumptions=assumptions)
    between = tail(effect - c * width, normal, b)
    if level.two_sided:
        between = np.maximum(between - tail(effect + c * width, normal, b), 0.0)
    missed = float(weights @ between)
    return Outcome(*clipped(rejected(c, effect), missed), method, assumptions=assumptions)


@functools.lru_cache(maxsize=512)
def variance_rule(df: float, s: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for an expectation over ``max(χ²_df/df + noise, 0)``.

    Parameters
    ----------
    df : float
        1 or more.
    s, b : float
        Standard deviation of normal noise, or scale of Laplace noise; one is 0.

    Returns
    -------
    nodes, weights : arrays of float, shape (m,)
        The first node is 0, with the probability that the noisy variance is not positive. The
        weights sum to 1.
    """
    scale, reach = (s, _REACH["normal"]) if s else (b, _REACH["laplace"])
    low, high = _support(df)
    own = math.sqrt(2 / df)
    steps: FloatArray = _STEPS
    ends: list[FloatArray] = []
    for step in (own, scale):
        ends += [1 - step * steps, 1 + step * steps]
    # The law may rise like w^−½ at 0, where noise rounds it off.
    ends += [scale * steps, np.power(4.0, -np.arange(1.0, 1.0 if df > 20 else 26.0))]
    top = high + reach * scale
    breaks = np.unique(np.concatenate([[0.0, top], *ends]))
    breaks = np.sqrt(breaks[(breaks >= max(0.0, low - reach * scale)) & (breaks <= top)])
    root, weights = _legendre(breaks[:-1], breaks[1:])
    nodes = root.ravel() ** 2
    if scale < _TINY:
        masses = weights.ravel() * _chi(root.ravel(), df)
        return freeze(nodes), freeze(masses / masses.sum())
    inner = functools.partial(_density, df=df, support=(low, high), noise=(s, b), reach=reach)
    masses = weights.ravel() * 2 * root.ravel() * inner(nodes)
    atom = max(0.0, 1.0 - float(masses.sum())) if low - reach * scale < 0 else 0.0
    total = float(masses.sum()) + atom
    return freeze(np.append(0.0, nodes)), freeze(np.append(atom, masses) / total)


def _support(df: float) -> tuple[float, float]:
    """Ends beyond which χ²_df/df has no probability that counts."""
    from scipy.special import gammainccinv, gammaincinv

    a = df / 2
    return float(gammaincinv(a, 1e-20)) / a, float(gammainccinv(a, 1e-20)) / a


def _density(
    w: FloatArray,
    *,
    df: float,
    support: tuple[float, float],
    noise: tuple[float, float],
    reach: float,
) -> FloatArray:
    """Density of χ²_df/df plus noise at `w`, by an integral on each side of w."""
    s, b = noise
    scale = s or b
    low, high = support
    total = np.zeros(w.shape)
    for start, end in (
        (np.maximum(w - reach * scale, low), np.minimum(w, high)),
        (np.maximum(w, low), np.minimum(w + reach * scale, high)),
    ):
        first = np.sqrt(start)
        last = np.sqrt(np.maximum(end, start))
        for panel in range(_PANELS):
            ends = [first + (last - first) * (panel + k) / _PANELS for k in (0, 1)]
            root, weights = _legendre(*ends)
            x = root * root
            distance = np.abs(w[:, np.newaxis] - x) / scale
            kernel = np.exp(-distance) / 2 if b else np.exp(-distance * distance / 2)
            kernel *= 1.0 if b else 1 / math.sqrt(2 * math.pi)
            total += (weights * _chi(root, df) * kernel).sum(axis=1) / scale
    return total


def _chi(root: FloatArray, df: float) -> FloatArray:
    """Density of √(χ²_df/df)."""
    from scipy.special import gammaln

    a = df / 2
    if a < 1000:
        constant = a * math.log(a) - a - float(gammaln(a))
    else:  # Stirling: the three terms cancel
        constant = math.log(a / (2 * math.pi)) / 2 - 1 / (12 * a)
    with np.errstate(divide="ignore", under="ignore"):
        over = root * root - 1
        near = np.abs(over) < 1e-3
        small = np.where(near, over, 0.0)
        rest = 1 / 3 - small * (0.25 - small * (0.2 - small / 6))
        distance = np.where(near, small**2 * (0.5 - small * rest), over - 2 * np.log(root))
        return np.asarray(2 * np.exp(constant - a * distance) / root)


def _legendre(start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and weights between each start and end, shape (panels, POINTS)."""
    half = (end - start)[:, np.newaxis] / 2
    return start[:, np.newaxis] + half * (1 + _NODES), half * _WEIGHTS
