"""Families of mechanisms with one parameter, and the largest parameter that meets a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seepage._numeric import check_epsilon, check_probability
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Standing
from seepage.tradeoff import Failure, TradeOff
from seepage.tradeoff._common import ONE_VALUE, check_count, one_number
from seepage.tradeoff.piecewise import from_points

NAMES = ("laplace", "gaussian", "randomized_response", "uniform_sampling", "approximate_dp")


@dataclass(frozen=True)
class Family:
    """Mechanisms that differ in one parameter; a larger one protects less.

    Attributes
    ----------
    name : str
    label : str
        In words.
    parameter : {"mu", "epsilon"}
    settings : mapping of str to float
        What else determines the mechanism: k, n or delta.
    failure : Failure
        Of every parameter in (0, ∞).
    build : callable
        Gives the curve of a parameter in [0, ∞].
    """

    name: str
    label: str
    parameter: str
    settings: Mapping[str, float]
    failure: Failure
    build: Callable[[float], TradeOff]


def response_curve(k: int, epsilon: float) -> TradeOff:
    """Curve of k-ary randomised response, for any k; the same for every pair of its inputs.

    The reports other than the two values in question tell nothing and count as one.
    """
    size = check_count(k)
    e = one_number(check_epsilon(epsilon), "epsilon")
    q = float(np.exp(-e))
    if size == 1:
        return TradeOff.from_distributions([1.0], [1.0], adjacency=ONE_VALUE)
    total = 1 + (size - 1) * q
    masses = np.array([q, 1.0, (size - 2) * q]) / total
    curve = TradeOff.from_distributions(masses, masses[[1, 0, 2]], adjacency=ONE_VALUE)
    if not np.isfinite(e):
        return curve
    # A finite ε proves nothing, even where e^−ε is 0 in floating point.
    return from_points(curve.alpha, curve.gap, adjacency=ONE_VALUE, kind="none")


def _at_most(curve: TradeOff) -> TradeOff:
    """A curve that no mechanism of a definition exceeds, and that few of them reach."""
    return replace(curve, standing=Standing.UPPER)


def family(name: str, k: int = 2, n: int = 1, delta: float = 0.0) -> Family:
    """Family by name.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or k, n or delta are outside their ranges.
    """
    if name == "laplace":
        return Family(name, "Laplace noise", "mu", {}, "none", TradeOff.laplace)
    if name == "gaussian":
        return Family(name, "Gaussian noise", "mu", {}, "graceful", TradeOff.gaussian)
    if name == "randomized_response":
        size = check_count(k)
        label = f"randomised response on {size} value{'s' if size > 1 else ''}"
        return Family(
            name, label, "epsilon", {"k": size}, "none", lambda e: response_curve(size, e)
        )
    if name == "uniform_sampling":
        records = check_count(n, "n")
        label = f"publishing one of {records:,} records"
        return Family(
            name,
            label,
            "mu",
            {"n": records},
            "catastrophic",
            lambda mu: TradeOff.uniform_sampling(mu, records),
        )
    if name == "approximate_dp":
        d = one_number(check_probability(delta, "delta"), "delta")
        return Family(
            name,
            f"(ε, {d:g})-differential privacy" if d else "pure ε-differential privacy",
            "epsilon",
            {"delta": d},
            "catastrophic" if d else "none",
            lambda e: _at_most(TradeOff.approximate_dp(e, d)),
        )
    msg = f"expected a family of mechanisms, got {name!r}.{did_you_mean(name, NAMES)}"
    raise InvalidInputError(msg)


def largest(meets: Callable[[float], bool]) -> float | None:
    """Largest number in [0, ∞] that meets a limit, to the last unit; None when not even 0 does.

    The next number up does not meet it. `meets` is taken to change once.
    """
    if not meets(0.0):
        return None
    if meets(float("inf")):
        return float("inf")
    low, high = 0, _order(float("inf"))
    while high - low > 1:
        middle = (low + high) // 2
        if meets(_number(middle)):
            low = middle
        else:
            high = middle
    return _number(low)


def _order(value: float) -> int:
    """Rank of a number ≥ 0 among the floating-point numbers."""
    return int(np.float64(value).view(np.int64))


def _number(order: int) -> float:
    return float(np.int64(order).view(np.float64))


def as_names(names: Any) -> tuple[str, ...]:
    """Check a list of names of families.

    Raises
    ------
    InvalidInputError
        If it is empty, or no list of names.
    """
    if names is None:
        return NAMES
    if isinstance(names, str):
        names = (names,)
    try:
        found = tuple(names)
    except TypeError as error:
        msg = f"expected families as a list of names, got {names!r}"
        raise InvalidInputError(msg) from error
    if not found or not all(isinstance(name, str) for name in found):
        msg = f"expected families as a list of names, got {names!r}"
        raise InvalidInputError(msg)
    return found
