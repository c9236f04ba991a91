"""Composition by dp-accounting's privacy loss distributions (extra ``interop``).

Every part is rounded pessimistically, so that the profile of the result understates no δ; the
polygon of that profile then understates no power. The same with optimistic rounding bounds the
error from below: a discretised profile is linear in e^ε between the points of its grid, so that its
curve is known from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seepage._numeric import FloatArray
from seepage.errors import CapacityError, InvalidInputError, MissingDependencyError
from seepage.results import Standing
from seepage.tradeoff._failures import composed_failure
from seepage.tradeoff._polygon import STEEPEST, excess_over, from_support
from seepage.tradeoff.base import TradeOff
from seepage.tradeoff.noise import GaussianNoise, LaplaceNoise
from seepage.tradeoff.piecewise import PiecewiseLinear

CELLS = 20_000
"""Privacy losses told apart, on each side of 0."""
WIDEST = 5_000.0
"""Largest sum of privacy losses, in nats."""
SEGMENTS = 1000
TAIL = 1e-15
"""Probability that pessimistic rounding may move to an infinite privacy loss."""
NEGLIGIBLE = 1e-17
"""Outcomes that are rarer than this under both hypotheses count as proofs."""
ROUNDING = 1e-13
"""What Fourier transforms may add to or take from a profile by rounding."""
NOTE = (
    "Composed by privacy loss distributions rounded so that no power is understated, and none "
    "overstated by more than {}; the curve holds whichever hypothesis is called the null."
)


def composed(parts: Sequence[tuple[TradeOff, int]], named: dict[str, Any]) -> PiecewiseLinear:
    """Upper curve of all parts together, each a curve and how often it occurs."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as library
    except ImportError as missing:
        msg = (
            "expected dp-accounting to compose these curves, got no such package: install it by "
            "pip install 'seepage[interop]'"
        )
        raise MissingDependencyError(msg) from missing
    if named["standing"] is Standing.LOWER:
        msg = "expected curves that understate no power, got a lower one"
        raise InvalidInputError(msg)
    widest = _widest(parts)
    if widest > WIDEST:
        msg = f"expected privacy losses of at most {WIDEST:,.0f} nats in all, got {widest:,.0f}"
        raise CapacityError(msg)
    interval = float(widest / CELLS)
    high, low = (_distribution(library, parts, interval, upper=upper) for upper in (True, False))
    end = min(widest, max(float(high.get_epsilon_for_delta(10 * TAIL)), interval))
    steps = max(1, int(np.ceil(end / interval)) // SEGMENTS)
    coarse = _grid(int(np.ceil(end / interval)) + steps, steps, interval)
    lines, deltas = coarse, np.minimum(_profile(high, coarse) + ROUNDING, 1.0)
    # Guarantees of pure ε in both directions add up; truncated tails would hide it.
    total = sum(_both_ways(curve) * k for curve, k in parts)
    if np.isfinite(total):
        below = lines < total
        lines = np.append(lines[below], total * (1 + 1e-14))
        deltas = np.append(deltas[below], 0.0)
    kind = composed_failure(parts, both_ways=True)
    polygon = from_support(lines, deltas, named["adjacency"], kind=kind)
    fine = _grid(CELLS + 1, 1, interval)
    inner = from_support(fine, _profile(low, fine), named["adjacency"])
    error = float(named["error"]) + excess_over(polygon, inner.power(polygon.alpha))
    error += ROUNDING
    # Two digits of a number 6 % larger are nowhere below it.
    size = NOTE.format(f"{1.06 * error:.2g}" if np.isfinite(error) else "an unknown amount")
    notes = tuple(dict.fromkeys((*named["assumptions"], size)))
    return replace(polygon, error=error, assumptions=notes)


def _grid(last: int, step: int, interval: float) -> FloatArray:
    """Multiples of the interval, up to `last`, of which e^ε is within range."""
    grid = np.asarray(np.arange(0, last + 1, step) * interval, dtype=np.float64)
    return grid[grid <= STEEPEST]


def _widest(parts: Sequence[tuple[TradeOff, int]]) -> float:
    """Range of the sum of privacy losses, in nats, but for tails of 1e-17 or so."""
    sure = sum(_range(curve) * k for curve, k in parts if not isinstance(curve, GaussianNoise))
    square = sum(curve.mu**2 * k for curve, k in parts if isinstance(curve, GaussianNoise))
    return float(sure + square / 2 + 9 * np.sqrt(square))


def _range(curve: TradeOff) -> float:
    if isinstance(curve, LaplaceNoise):
        return curve.mu
    null, alternative = _clear(*_masses(curve))
    both = (null > 0) & (alternative > 0)
    return float(np.abs(np.log(alternative[both] / null[both])).max(initial=1e-9))


def _both_ways(curve: TradeOff) -> float:
    """Largest privacy loss whichever hypothesis is called the null, in nats; ∞ without any."""
    if isinstance(curve, LaplaceNoise):
        return curve.mu
    if isinstance(curve, GaussianNoise):
        return float("inf")
    null, alternative = _masses(curve)
    if ((null == 0) | (alternative == 0)).any():
        return float("inf")
    return float(np.abs(np.log(alternative) - np.log(null)).max())


def _masses(curve: TradeOff) -> tuple[FloatArray, FloatArray]:
    if isinstance(curve, PiecewiseLinear):
        return curve.masses()
    msg = f"expected Laplace, Gaussian or piecewise linear curves, got {type(curve).__name__}"
    raise InvalidInputError(msg)


def _clear(null: FloatArray, alternative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Masses without those that hardly occur, whose privacy loss may be hundreds of nats.

    What is more likely under one hypothesis proves it then: as long as there are fewer than a
    thousand or so, that is within `ROUNDING`.
    """
    rare = np.maximum(null, alternative) < NEGLIGIBLE
    if null[rare].sum() + alternative[rare].sum() > 100 * NEGLIGIBLE:
        return null, alternative
    proof = rare & (alternative > null)
    return np.where(proof, 0.0, null), np.where(rare & ~proof, 0.0, alternative)


def _distribution(
    library: Any, parts: Sequence[tuple[TradeOff, int]], interval: float, *, upper: bool
) -> Any:
    tail = TAIL if upper else 0.0
    total = None
    # Bounds of tails are logarithms of sums, in which parts that overflow belong to no minimum.
    with np.errstate(over="ignore"):
        for curve, k in parts:
            one = _single(library, curve, interval, upper=upper)
            many = one if k == 1 else one.self_compose(k, tail)
            total = many if total is None else total.compose(many, tail)
    return total


def _single(library: Any, curve: TradeOff, interval: float, *, upper: bool) -> Any:
    options = {"pessimistic_estimate": upper, "value_discretization_interval": interval}
    dots = {"use_connect_dots": upper}  # that method has no optimistic rounding
    if isinstance(curve, LaplaceNoise):
        return library.from_laplace_mechanism(1 / curve.mu, **options, **dots)
    if isinstance(curve, GaussianNoise):
        return library.from_gaussian_mechanism(1 / curve.mu, **options, **dots)
    with np.errstate(divide="ignore"):
        pair = _clear(*_masses(curve))
        null, alternative = (dict(enumerate(np.log(p).tolist())) for p in pair)
    return library.from_two_probability_mass_functions(
        null, alternative, symmetric=False, **options
    )


def _profile(distribution: Any, epsilon: FloatArray) -> FloatArray:
    found = np.asarray(distribution.get_delta_for_epsilon(epsilon), dtype=np.float64)
    return np.clip(found, 0.0, 1.0)
