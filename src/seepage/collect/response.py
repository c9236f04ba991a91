"""k-ary randomised response, by ε or by retention λ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from seepage._entropy import word_source
from seepage._numeric import FloatArray, IntArray, check_probability, freeze
from seepage.channel import Channel, lambda_response, randomized_response
from seepage.collect._maps import Even
from seepage.collect._parameters import plain, set_budget, set_size
from seepage.collect._weights import ResponseWeights
from seepage.collect.mechanism import Reports, Rng, TableMechanism, check_codes
from seepage.collect.retention import epsilon_from_retention, retention_from_epsilon
from seepage.errors import InvalidInputError

SMALLEST_CONTRAST = 1e-150
"""Retention below which reports do not identify the distribution (variances would overflow)."""


def not_identified(kind: str, epsilon: float) -> InvalidInputError:
    """The error of `unbias` where reports carry no information."""
    return InvalidInputError(
        f"expected reports that identify the distribution, got a {kind!r} mechanism with "
        f"ε = {epsilon:g}, whose reports do not depend on the true category"
    )


class _Response(TableMechanism, ABC):
    """What both parametrisations share: closed forms for the table λ·I + (1 − λ)/k."""

    @property
    def features(self) -> int:
        """Number k of reports."""
        return self.k

    @cached_property
    def _response_weights(self) -> ResponseWeights:
        return ResponseWeights.of(self.k, self.epsilon)

    @property
    def release_epsilon(self) -> float:
        """ε of the integer weights; never above `epsilon`."""
        return self._response_weights.epsilon

    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record; see `Mechanism.sample`."""
        return self._response_weights.draw(check_codes(codes, self.k), word_source(rng))

    def log_likelihood(self, reports: Reports) -> FloatArray:
        """Two numbers for all pairs; no table of the channel. See `Mechanism.log_likelihood`."""
        codes = self.check_reports(reports)
        kept, other = self._log_pair()
        result = np.full((codes.size, self.k), other)
        result[np.arange(codes.size), codes] = kept
        return result

    @abstractmethod
    def _log_pair(self) -> tuple[float, float]:
        """Log-probabilities of the true category and of each other one; the latter may be −∞."""

    def _retained(self) -> float:
        return float(retention_from_epsilon(self.epsilon, self.k)) if self.k > 1 else 1.0

    @property
    def even(self) -> Even:
        """The table is ``λ·I + (1 − λ)/k``."""
        kept = self._retained()
        if kept < SMALLEST_CONTRAST:
            raise not_identified(self.kind, self.epsilon)
        other = (1 - kept) / self.k
        return Even(kept, other, 1 / kept, -other / kept, constant=False)

    @cached_property
    def unbias(self) -> FloatArray:
        """``(I − (1 − λ)/k) / λ``, shape (k, k)."""
        return freeze(self.even.map(self.k).dense())


@dataclass(frozen=True)
class RandomizedResponse(_Response):
    """k-ary (generalised) randomised response.

    Keeps the category with probability ``e^ε/(e^ε + k − 1)``, and reports each other one with
    probability ``1/(e^ε + k − 1)``.

    Parameters
    ----------
    k : int
        Number of categories, 1 or more.
    epsilon : float
        In [0, ∞]. Becomes 0 for a single category, of which nothing can be told.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """

    k: int
    epsilon: float
    kind: ClassVar[str] = "grr"

    def __post_init__(self) -> None:
        set_budget(self, set_size(self))

    @property
    def retention(self) -> float:
        """λ, the factor by which centred moments shrink; 1 for a single category."""
        return self._retained()

    @cached_property
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, k)."""
        return randomized_response(self.k, self.epsilon)

    def _log_pair(self) -> tuple[float, float]:
        kept = -math.log1p((self.k - 1) * math.exp(-self.epsilon))
        return kept, kept - self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {"kind": self.kind, "k": self.k, "epsilon": plain(self.epsilon)}


@dataclass(frozen=True)
class LambdaResponse(_Response):
    """Randomised response P(λ): keep the category with probability λ, else draw uniformly.

    Parameters
    ----------
    k : int
        Number of categories, 1 or more.
    retention : float
        λ in [0, 1].

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """

    k: int
    retention: float
    kind: ClassVar[str] = "lambda"

    def __post_init__(self) -> None:
        set_size(self)
        value = check_probability(self.retention, "retention")
        if value.ndim:
            msg = f"expected one retention, got an array of shape {value.shape}"
            raise InvalidInputError(msg)
        object.__setattr__(self, "retention", float(value) + 0.0)

    @cached_property
    def epsilon(self) -> float:
        """``ln(1 + k·λ/(1 − λ))``; 0 for a single category."""
        return float(epsilon_from_retention(self.retention, self.k)) if self.k > 1 else 0.0

    @cached_property
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, k)."""
        return lambda_response(self.k, self.retention)

    def _log_pair(self) -> tuple[float, float]:
        other = (1 - self.retention) / self.k
        return math.log(self.retention + other), math.log(other) if other > 0 else -math.inf

    def _retained(self) -> float:
        return self.retention if self.k > 1 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {"kind": self.kind, "k": self.k, "retention": self.retention}
