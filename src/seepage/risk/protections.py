"""What may stand between the data and the analyst's test.

`LaplaceNoise` and `GaussianNoise` are added by a curator to the statistic; `RandomizedResponse` is
applied by everyone to the own record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from seepage._numeric import check_epsilon
from seepage.channel import randomized_response
from seepage.errors import InvalidInputError
from seepage.risk._rounding import given
from seepage.tradeoff._common import check_count, one_number

NoiseFamily = Literal["laplace", "gaussian"]
ProtectionFamily = Literal["laplace", "gaussian", "randomized_response"]


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise of scale Δ/μ on the statistic; pure ε-differential privacy with ε = μ.

    Δ is the most that replacing one record changes the statistic.

    Parameters
    ----------
    mu : float
        In [0, ∞]; ∞ adds no noise.

    Raises
    ------
    InvalidInputError
        If `mu` is outside its range.
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", one_number(check_epsilon(self.mu, "mu"), "mu"))

    @property
    def family(self) -> ProtectionFamily:
        """Name of the family."""
        return "laplace"

    @property
    def absent(self) -> bool:
        """Whether it changes nothing."""
        return math.isinf(self.mu)

    @property
    def hides(self) -> bool:
        """Whether it leaves nothing."""
        return self.mu == 0

    def scales(self, sensitivity: float) -> tuple[float, float]:
        """Standard deviation of a normal part and scale of a Laplace part of the noise."""
        return 0.0, _scale(sensitivity, self.mu)

    def shared(self, releases: int) -> LaplaceNoise:
        """The noise of each of several numbers released together, μ being that of all."""
        return LaplaceNoise(self.mu / releases)

    def __str__(self) -> str:
        return f"Laplace noise with μ = {given(self.mu)}"


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise of standard deviation Δ/μ on the statistic; μ-Gaussian differential privacy.

    Δ is the most that replacing one record changes the statistic.

    Parameters
    ----------
    mu : float
        In [0, ∞]; ∞ adds no noise.

    Raises
    ------
    InvalidInputError
        If `mu` is outside its range.
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", one_number(check_epsilon(self.mu, "mu"), "mu"))

    @property
    def family(self) -> ProtectionFamily:
        """Name of the family."""
        return "gaussian"

    @property
    def absent(self) -> bool:
        """Whether it changes nothing."""
        return math.isinf(self.mu)

    @property
    def hides(self) -> bool:
        """Whether it leaves nothing."""
        return self.mu == 0

    def scales(self, sensitivity: float) -> tuple[float, float]:
        """Standard deviation of a normal part and scale of a Laplace part of the noise."""
        return _scale(sensitivity, self.mu), 0.0

    def shared(self, releases: int) -> GaussianNoise:
        """The noise of each of several numbers released together, μ being that of all."""
        return GaussianNoise(self.mu / math.sqrt(releases))

    def __str__(self) -> str:
        return f"Gaussian noise with μ = {given(self.mu)}"


@dataclass(frozen=True)
class RandomizedResponse:
    """k-ary randomised response on each record, attribute by attribute.

    A numeric attribute is answered in `k` equally spaced values over its declared range: a value
    between two of them is rounded first, at random and without bias. With an epsilon of ∞ it is
    told as it is.

    Parameters
    ----------
    epsilon : float or pair of float
        In [0, ∞]: one for every attribute in the test, or one for each of the two. In a regression
        with other predictors, which cannot be randomised, one is that of the outcome.
    k : int or pair of int, optional
        Number of values of each attribute, 2 or more. May be left out for a proportion (2 values)
        and for a contingency table (its own categories).

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """

    epsilon: float | tuple[float, float]
    k: int | tuple[int, int] | None = None

    def __post_init__(self) -> None:
        epsilons = tuple(
            one_number(check_epsilon(e), "epsilon") for e in _one_or_two(self.epsilon, "epsilon")
        )
        object.__setattr__(self, "epsilon", _unpack(epsilons))
        if self.k is not None:
            sizes = tuple(check_count(size) for size in _one_or_two(self.k, "k"))
            if min(sizes) < 2:
                msg = f"expected k of 2 or more, got {self.k!r}"
                raise InvalidInputError(msg)
            object.__setattr__(self, "k", _unpack(sizes))

    @property
    def family(self) -> ProtectionFamily:
        """Name of the family."""
        return "randomized_response"

    @property
    def absent(self) -> bool:
        """Whether it changes nothing."""
        return min(self.epsilon_of(0), self.epsilon_of(1)) == math.inf

    @property
    def hides(self) -> bool:
        """Whether it leaves nothing."""
        return max(self.epsilon_of(0), self.epsilon_of(1)) == 0

    @property
    def secret(self) -> int | None:
        """The attribute that is randomised (0 or 1) where the other is told as it is."""
        public = [math.isinf(self.epsilon_of(i)) for i in (0, 1)]
        return public.index(False) if public.count(True) == 1 else None

    @property
    def largest(self) -> float:
        """ε of what is randomised; the larger one of two."""
        if self.secret is not None:
            return self.epsilon_of(self.secret)
        return max(self.epsilon_of(0), self.epsilon_of(1))

    @property
    def secret_k(self) -> int | tuple[int, int] | None:
        """Number of values of what is randomised; `k` where that are two attributes."""
        if self.secret is not None and isinstance(self.k, tuple):
            return self.k[self.secret]
        return self.k

    def at(self, epsilon: float) -> RandomizedResponse:
        """The same with this as its largest ε, the other one in proportion."""
        if not isinstance(self.epsilon, tuple):
            return RandomizedResponse(epsilon, self.k)
        if self.secret is not None:
            pair = (epsilon, math.inf) if self.secret == 0 else (math.inf, epsilon)
        elif 0 < self.largest < math.inf and epsilon > 0:
            pair = (
                epsilon * (self.epsilon[0] / self.largest),
                epsilon * (self.epsilon[1] / self.largest),
            )
        else:
            pair = (epsilon, epsilon)
        return RandomizedResponse(pair, self.k)

    def epsilon_of(self, attribute: int) -> float:
        """ε of the first (0) or second (1) attribute of the test."""
        return self.epsilon[attribute] if isinstance(self.epsilon, tuple) else self.epsilon

    def size_of(self, attribute: int, default: int | None = None) -> int:
        """Number of values of an attribute.

        Raises
        ------
        InvalidInputError
            If it was left out where there is no default.
        """
        size = self.k[attribute] if isinstance(self.k, tuple) else self.k
        if size is None:
            size = default
        if size is None:
            msg = (
                "expected k, the number of values that a numeric attribute is answered in, got None"
            )
            raise InvalidInputError(msg)
        return size

    def retention(self, attribute: int, default: int | None = None) -> float:
        """λ of an attribute: the factor by which its relationships shrink."""
        size = self.size_of(attribute, default)
        return randomized_response(size, self.epsilon_of(attribute)).retention

    def single(self) -> None:
        """Refuse pairs of parameters where the test has one attribute.

        Raises
        ------
        InvalidInputError
            If ε or k is a pair.
        """
        if isinstance(self.epsilon, tuple) or isinstance(self.k, tuple):
            msg = (
                "expected one number each for a test of one attribute (epsilon, k), "
                f"got {self.epsilon!r} and {self.k!r}"
            )
            raise InvalidInputError(msg)

    def __str__(self) -> str:
        pair = dict.fromkeys(given(self.epsilon_of(i)) for i in (0, 1))
        return f"randomised response with ε = {' and '.join(pair)}"


Noise = LaplaceNoise | GaussianNoise
Protection = LaplaceNoise | GaussianNoise | RandomizedResponse


def _scale(sensitivity: float, mu: float) -> float:
    if mu == 0:
        return math.inf
    return sensitivity / mu


def _one_or_two(value: Any, name: str) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            msg = f"expected one {name} or a pair, got {value!r}"
            raise InvalidInputError(msg)
        return tuple(value)
    return (value,)


def _unpack(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values
