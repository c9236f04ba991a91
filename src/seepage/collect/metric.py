"""Mechanisms for categories with distances: near reports are likelier than far ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, check_size, freeze
from seepage.channel import Channel
from seepage.collect._parameters import check_capacity, plain, set_budget, set_size
from seepage.collect.mechanism import TableMechanism
from seepage.errors import InvalidInputError


@dataclass(frozen=True)
class Staircase(TableMechanism):
    """Staircase in ``|x − y|`` for ordered categories.

    ``p(y | x) ∝ exp(−θ ⌊|x − y|/step⌋)``: the probability falls by the same factor at every step,
    as in the staircase mechanism (Geng, Kairouz, Oh and Viswanath 2015), on k categories. θ is the
    largest for which the ε of the normalised table is not above the nominal one, so that any two
    categories, not only neighbours, are ε-indistinguishable.

    Parameters
    ----------
    k : int
        Number of categories, 1 or more.
    epsilon : float
        In [0, ∞]. Becomes 0 for a single category, of which nothing can be told.
    step : int
        Width of a step, from 1 to k − 1 (1 for a single category).

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    CapacityError
        If the table would not fit.
    """

    k: int
    epsilon: float
    step: int = 1
    kind: ClassVar[str] = "staircase"

    def __post_init__(self) -> None:
        k = set_size(self)
        check_capacity(k, k, "a table of probabilities")
        set_budget(self, k)
        step = check_size(self.step, "step")
        if step > max(k - 1, 1):
            msg = f"expected step of at most {max(k - 1, 1)} for {k} categories, got {step}"
            raise InvalidInputError(msg)
        object.__setattr__(self, "step", step)

    @cached_property
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, k)."""
        return metric_channel(np.floor(_line(self.k) / self.step), self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {
            "kind": self.kind,
            "k": self.k,
            "epsilon": plain(self.epsilon),
            "step": self.step,
        }


@dataclass(frozen=True, eq=False)
class ExponentialMechanism(TableMechanism):
    """Exponential mechanism on a metric: ``p(y | x) ∝ exp(−θ d(x, y))``.

    θ is the largest for which the ε of the normalised table is not above the nominal one.

    Parameters
    ----------
    k : int
        Number of categories, 1 or more.
    epsilon : float
        In [0, ∞]. Becomes 0 for a single category, of which nothing can be told.
    distance : array of float, shape (k, k), optional
        Finite, not negative, symmetric, zero on the diagonal and not zero everywhere;
        ``|i − j|`` unless given. The triangle inequality is not needed.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    CapacityError
        If the table would not fit.
    """

    k: int
    epsilon: float
    distance: ArrayLike | None = None
    kind: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        k = set_size(self)
        check_capacity(k, k, "a table of probabilities")
        set_budget(self, k)
        if self.distance is not None:
            object.__setattr__(self, "distance", _check_distance(self.distance, k))

    @cached_property
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, k)."""
        given = _line(self.k) if self.distance is None else np.asarray(self.distance)
        return metric_channel(given, self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        result = {"kind": self.kind, "k": self.k, "epsilon": plain(self.epsilon)}
        if self.distance is not None:
            result["distance"] = np.asarray(self.distance).tolist()
        return result


def metric_channel(distance: FloatArray, epsilon: float) -> Channel:
    """Table ``∝ exp(−θ·distance)``, normalised by rows, whose ε is `epsilon` on the safe side.

    Parameters
    ----------
    distance : array of float, shape (k, k)
    epsilon : float
        In [0, ∞].

    Returns
    -------
    Channel
        ε of its logarithms is at most `epsilon`, and below it by rounding only.
    """
    largest = float(distance.max())
    if epsilon == math.inf or largest == 0:
        near = np.where(distance == 0, 0.0, -np.inf)
        return Channel(near - np.log(np.count_nonzero(distance == 0, axis=1))[:, np.newaxis])
    unit = distance / largest
    size = len(unit)
    if epsilon == 0:
        return Channel(np.full(unit.shape, -math.log(size)), 0.0)
    # ε(θ) is continuous, at most 2θ, and at least θ − ln k: two categories at the largest distance
    # differ in a report by e^θ times the quotient of their sums, which lie between 1 and k.
    from scipy.optimize import brentq

    theta = float(
        brentq(
            lambda t: _leak(_log_ratios(unit, t)) - epsilon,
            epsilon / 4,
            2 * (epsilon + math.log(size)),
            xtol=1e-300,
            rtol=1e-15,
            maxiter=1000,
        )
    )
    for shrink in 2.0 ** np.arange(-53, 0):  # the root may lie a few units in the last place above
        logs = _log_ratios(unit, theta)
        leak = _leak(logs)
        if leak <= epsilon:
            break
        theta *= 1 - shrink
    return Channel(logs - math.log(size), leak)


def _log_ratios(unit: FloatArray, theta: float) -> FloatArray:
    """``ln(k·p(y | x))``, with small relative error also where it is tiny."""
    logs = -theta * unit
    return np.asarray(logs - np.log1p(np.expm1(logs).mean(axis=1, keepdims=True)))


def _leak(logs: FloatArray) -> float:
    return float((logs.max(axis=0) - logs.min(axis=0)).max())


def _line(k: int) -> FloatArray:
    places = np.arange(k, dtype=np.float64)
    return np.abs(places[:, np.newaxis] - places)


def _check_distance(value: ArrayLike, k: int) -> FloatArray:
    distance = as_float_array(value, "distance")
    if distance.shape != (k, k):
        msg = f"expected distance of shape ({k}, {k}), got {distance.shape}"
        raise InvalidInputError(msg)
    if not (np.isfinite(distance) & (distance >= 0)).all():
        bad = distance[~(np.isfinite(distance) & (distance >= 0))].flat[0]
        msg = f"expected distance to be finite and not negative, got {float(bad)!r}"
        raise InvalidInputError(msg)
    if np.diag(distance).any():
        x = int(np.flatnonzero(np.diag(distance))[0])
        msg = (
            f"expected distance 0 of a category to itself, got {distance[x, x]!r} for category {x}"
        )
        raise InvalidInputError(msg)
    if (distance != distance.T).any():
        x, y = (int(i) for i in np.argwhere(distance != distance.T)[0])
        msg = (
            f"expected distance to be symmetric, got {distance[x, y]!r} and {distance[y, x]!r} "
            f"between categories {x} and {y}"
        )
        raise InvalidInputError(msg)
    if k > 1 and not distance.any():
        msg = "expected distance to tell some categories apart, got 0 everywhere"
        raise InvalidInputError(msg)
    return freeze(distance + 0.0)  # without negative zeros
