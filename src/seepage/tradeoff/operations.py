"""Composition, symmetrisation and subsampling of trade-off curves (Dong, Roth and Su 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import FloatArray
from seepage.errors import CapacityError, InvalidInputError
from seepage.results import Standing
from seepage.tradeoff._failures import carried, composed_failure
from seepage.tradeoff._polygon import excess_over, from_support, lifted
from seepage.tradeoff.base import Failure, TradeOff
from seepage.tradeoff.noise import GaussianNoise, LaplaceNoise
from seepage.tradeoff.piecewise import (
    Envelope,
    PiecewiseLinear,
    from_pair,
    from_points,
)

MAX_OUTCOMES = 400_000
"""Most outcomes of a product of distributions."""

_ROUNDING = 4 * np.finfo(np.float64).eps

Method = Literal["auto", "numerical"]
Part = tuple[TradeOff, int]

ENVELOPE_COMPOSED = (
    "A curve over all pairs of inputs stands for each step: that may be above what any single pair "
    "of inputs attains in all steps together."
)


def compose(parts: Sequence[Part], method: Method = "auto") -> TradeOff:
    """Curve of all outcomes together; each part is a curve and how often it occurs."""
    _check(parts)
    if not isinstance(method, str) or method not in get_args(Method):
        msg = f"expected method 'auto' or 'numerical', got {method!r}"
        raise InvalidInputError(msg)
    # A curve on the diagonal tells nothing: it leaves every other as it is.
    telling = [(curve, k) for curve, k in parts if curve.total_variation > 0] or [parts[0]]
    named = _named(telling)
    if len(telling) == 1 and (telling[0][1] == 1 or telling[0][0].total_variation == 0):
        return telling[0][0]
    if any(curve._power(np.zeros(())) == 1 for curve, _ in telling):
        return from_points(np.zeros(1), np.ones(1), **named)
    curves = [curve for curve, _ in telling]
    if method == "numerical":
        return _numerical(telling, named)
    if all(isinstance(curve, GaussianNoise) for curve in curves):
        mus = [curve.mu * np.sqrt(k) for curve, k in telling if isinstance(curve, GaussianNoise)]
        scale = max(mus)
        return GaussianNoise(scale * np.sqrt(sum((mu / scale) ** 2 for mu in mus)), **named)
    exact = [(curve, k) for curve, k in telling if isinstance(curve, PiecewiseLinear)]
    if len(exact) < len(telling):
        return _numerical(telling, named)
    try:
        return _product(exact, named)
    except CapacityError:
        if named["standing"] is Standing.LOWER:  # rounding goes the other way
            raise
        return _numerical(telling, named)


def _check(parts: Sequence[Part]) -> None:
    for curve, _ in parts:
        if not isinstance(curve, TradeOff):
            msg = f"expected trade-off curves to compose, got {curve!r}"
            raise InvalidInputError(msg)
    first = parts[0][0]
    for curve, _ in parts:
        if curve.adjacency != first.adjacency:
            msg = (
                "expected curves of one adjacency, as a guarantee for one holds for no other, got "
                f"{first.adjacency!r} and {curve.adjacency!r}"
            )
            raise InvalidInputError(msg)
    found = {curve.standing for curve, _ in parts} - {Standing.EXACT}
    if len(found) > 1:
        msg = f"expected curves that are all upper or all lower, got {' and '.join(sorted(found))}"
        raise InvalidInputError(msg)


def _named(parts: Sequence[Part]) -> dict[str, Any]:
    curves = [curve for curve, _ in parts]
    standings = {curve.standing for curve in curves} - {Standing.EXACT}
    assumptions = [text for curve in curves for text in curve.assumptions]
    # Total variation distances of independent parts add up; so do the errors of their curves.
    error = float(sum(curve.error * k for curve, k in parts))
    if any(isinstance(curve, Envelope) and not curve.one_pair for curve in curves):
        standings = standings or {Standing.UPPER}
        error = float("inf")
        assumptions.append(ENVELOPE_COMPOSED)
    return {
        "adjacency": curves[0].adjacency,
        "standing": standings.pop() if standings else Standing.EXACT,
        "error": error,
        "assumptions": tuple(dict.fromkeys(assumptions)),
    }


def _product(parts: Sequence[tuple[PiecewiseLinear, int]], named: dict[str, Any]) -> TradeOff:
    null, alternative = np.ones(1), np.ones(1)
    for curve, k in parts:
        g, h = powers(*curve.masses(), k)
        _check_outcomes(null.size * g.size)
        null, alternative = np.outer(null, g).ravel(), np.outer(alternative, h).ravel()
        null, alternative = _merged(null, alternative)
    return from_pair(null, alternative, **named, kind=composed_failure(parts))


def powers(null: FloatArray, alternative: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Masses of k independent outcomes, those with the same counts taken together.

    Counts are drawn one outcome after another from what remains, by binomial probabilities, so that
    no power underflows that the result needs.
    """
    from math import comb

    b = null.size
    _check_outcomes(comb(k + b - 1, b - 1))
    if k == 1:
        return null, alternative
    states = {k: (np.ones(1), np.ones(1))}
    shares = [_conditional(p) for p in (null, alternative)]
    for j in range(b):
        last = j == b - 1
        following: dict[int, list[tuple[FloatArray, FloatArray]]] = {}
        for left, (g, h) in states.items():
            counts = np.array([left]) if last else np.arange(left + 1)
            weights = [_binomial(counts, left, share[j]) for share in shares]
            for c, wg, wh in zip(counts.tolist(), *weights, strict=True):
                following.setdefault(left - c, []).append((g * wg, h * wh))
        states = {
            left: (
                np.concatenate([pair[0] for pair in pairs]),
                np.concatenate([pair[1] for pair in pairs]),
            )
            for left, pairs in following.items()
        }
    return _merged(*states[0])


def _conditional(p: FloatArray) -> FloatArray:
    """Probability of outcome j given that no earlier one happened; 1 for the last possible one."""
    tails = np.cumsum(p[::-1])[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(tails > 0, p / tails, 1.0)
    share[-1] = 1.0
    return np.minimum(share, 1.0)


def _binomial(counts: Any, n: int, p: float) -> FloatArray:
    from scipy.special import comb

    if n <= 500:
        with np.errstate(under="ignore"):
            return np.asarray(comb(n, counts) * p**counts * (1 - p) ** (n - counts))
    from scipy.stats import binom

    return np.asarray(binom.pmf(counts, n, p))


def _merged(null: FloatArray, alternative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outcomes of the same pair of masses, and of no mass, taken together."""
    used = (null > 0) | (alternative > 0)
    null, alternative = null[used], alternative[used]
    with np.errstate(divide="ignore", over="ignore"):
        ratio = alternative / null
    _, first, index = np.unique(ratio, return_index=True, return_inverse=True)
    size = first.size
    if size == ratio.size:
        return null, alternative
    sums = [np.zeros(size), np.zeros(size)]
    for total, masses in zip(sums, (null, alternative), strict=True):
        np.add.at(total, index, masses)
    return sums[0], sums[1]


def _check_outcomes(count: int) -> None:
    if count > MAX_OUTCOMES:
        msg = (
            f"expected a product of at most {MAX_OUTCOMES:,} outcomes, got {count:,}: "
            "privacy loss distributions compose more, but overstate power"
        )
        raise CapacityError(msg)


def _numerical(parts: Sequence[Part], named: dict[str, Any]) -> TradeOff:
    from seepage.tradeoff._accounting import composed

    return composed(parts, named)


def symmetrized(curve: TradeOff) -> TradeOff:
    """``min{f, f⁻¹}**``: the hull of the curve and its reflection."""
    return _symmetrized(curve, None)


def _symmetrized(curve: TradeOff, kind: Failure | None) -> TradeOff:
    """The same, of a class known for both directions."""
    if not isinstance(curve, PiecewiseLinear) or isinstance(curve, Envelope):
        return curve  # noise of a symmetric density and all ordered pairs are symmetric already
    # A type II error of rounding alone is 0: further left is the side of a higher curve.
    beta = 1 - curve.alpha - curve.gap
    mirrored = np.where(beta <= _ROUNDING, 0.0, beta)
    inside = curve._power(np.minimum(mirrored + _ROUNDING, 1.0))
    if (mirrored + curve.gap <= inside + _ROUNDING).all():
        return curve
    # A reflection turns an error in power into one in α, which a flat piece makes larger.
    error = float("inf") if curve.error else 0.0
    return from_points(
        np.concatenate((curve.alpha, mirrored)),
        np.concatenate((curve.gap, curve.gap)),
        **(_of(curve) | {"error": error, "kind": kind}),
    )


def subsampled(curve: TradeOff, p: float) -> TradeOff:
    """``C_p(f)``; p·f + (1 − p)·(1 − α) is p times the gap at the same α."""
    if p == 1:
        return symmetrized(curve)
    base = curve if isinstance(curve, PiecewiseLinear) else outer(curve, 256)
    # Records outside the sample leave every type II error below 1 − α above 0: only what the
    # mechanism itself proves can be proven, in either direction.
    kind = carried(base.failure) if p else None
    named = _of(base) | {"error": p * base.error, "kind": kind}
    thinned = from_points(base.alpha, p * base.gap, **named)
    result = _symmetrized(thinned, kind)
    # Of a symmetric curve only the part steeper than 1 is reflected: the error does not grow.
    symmetric = symmetrized(base) is base
    return replace(result, error=thinned.error) if symmetric else result


def outer(curve: TradeOff, segments: int) -> PiecewiseLinear:
    """Polygon of tangents of slopes e^±ε, ε spaced evenly."""
    if isinstance(curve, PiecewiseLinear):
        return curve
    if curve.standing is Standing.LOWER:
        msg = "expected a curve that understates no power, got a lower one"
        raise InvalidInputError(msg)
    if curve.total_variation == 0 or curve._power(np.zeros(())) == 1:
        return from_points(np.zeros(1), np.array([curve.total_variation]), **_of(curve))
    largest = curve.mu if isinstance(curve, LaplaceNoise) else float(curve.epsilon(1e-18))
    # Below the first of these δ is 1 but for a millionth: the curve turns above it.
    smallest = float(curve.epsilon(0.999999))
    epsilon = np.append(0.0, np.linspace(smallest, largest, segments + 1))
    kind = carried(curve.failure)
    polygon = lifted(from_support(epsilon, curve.delta(epsilon), curve.adjacency, kind=kind))
    above = excess_over(polygon, curve.power(polygon.alpha))
    return replace(polygon, error=above, assumptions=curve.assumptions)


def _of(curve: TradeOff) -> dict[str, Any]:
    return {
        "adjacency": curve.adjacency,
        "standing": curve.standing,
        "error": curve.error,
        "assumptions": curve.assumptions,
        "kind": curve.kind if isinstance(curve, PiecewiseLinear) else None,
    }
