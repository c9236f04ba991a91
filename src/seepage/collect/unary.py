"""Unary encoding: one randomised bit for each category."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from seepage._entropy import TOTAL, coins, word_source
from seepage._numeric import FloatArray, IntArray
from seepage.collect._parameters import check_capacity, check_variant, plain, set_budget, set_size
from seepage.collect._supports import MAX_BITS, BitMechanism
from seepage.collect._weights import ceil_share, log_ratio_up
from seepage.collect.mechanism import Reports, Rng, check_codes

_BLOCK_BITS = 1 << 20
"""Bits drawn at a time."""


@dataclass(frozen=True)
class UnaryEncoding(BitMechanism):
    """One bit for each category, each randomised on its own.

    The bit of the true category is 1 with probability p, every other bit with probability q.
    "symmetric" (basic RAPPOR) has ``p = 1 − q = e^{ε/2}/(e^{ε/2} + 1)``; "optimized" has p = ½ and
    ``q = 1/(e^ε + 1)``, which minimises the variance for rare categories (Wang et al. 2017,
    "Locally differentially private protocols for frequency estimation", section 4.3).
    ``ε = ln p(1 − q)/(q(1 − p))`` exactly; the 2^k reports are never listed.

    Parameters
    ----------
    k : int
        Number of categories, 1 or more.
    epsilon : float
        In [0, ∞]. Becomes 0 for a single category, of which nothing can be told.
    variant : {"optimized", "symmetric"}

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """

    k: int
    epsilon: float
    variant: Literal["optimized", "symmetric"] = "optimized"
    kind: ClassVar[str] = "unary"

    def __post_init__(self) -> None:
        set_budget(self, set_size(self))
        check_variant(self.variant, ("optimized", "symmetric"))

    @property
    def _odds(self) -> float:
        """ln((1 − q)/q)."""
        return self.epsilon if self.variant == "optimized" else self.epsilon / 2

    @property
    def hit(self) -> float:
        """P."""
        return 0.5 if self.variant == "optimized" else 1 / (1 + math.exp(-self._odds))

    @property
    def miss(self) -> float:
        """Q."""
        shrunk = math.exp(-self._odds)
        return shrunk / (1 + shrunk)

    @property
    def contrast(self) -> float:
        """P − q, as a hyperbolic tangent."""
        if self.variant == "optimized":
            return math.tanh(self.epsilon / 2) / 2
        return math.tanh(self.epsilon / 4)

    @cached_property
    def bit_weights(self) -> tuple[int, int]:
        """Weights of a 1 for the true and for another category, out of 2^64."""
        # Up, towards ½, so that ε goes down; below the resolution of the weights p = q = ½.
        q = min(ceil_share(TOTAL, self._odds, 1), TOTAL // 2)
        return (TOTAL // 2 if self.variant == "optimized" else TOTAL - q), q

    @property
    def release_epsilon(self) -> float:
        """ε of the integer weights; never above `epsilon`."""
        p, q = self.bit_weights
        if self.k == 1:
            return 0.0
        return log_ratio_up(p * (TOTAL - q), q * (TOTAL - p))

    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record, to bool of shape (n, k)."""
        codes, words = check_codes(codes, self.k), word_source(rng)
        check_capacity(codes.size, self.k, "bits of reports", MAX_BITS)
        p, q = self.bit_weights
        result = np.empty((codes.size, self.k), dtype=np.bool_)
        block = max(1, _BLOCK_BITS // self.k)
        for start in range(0, codes.size, block):
            part = codes[start : start + block]
            bits = coins(q, part.size * self.k, words).reshape(part.size, self.k)
            bits[np.arange(part.size), part] = coins(p, part.size, words)
            result[start : start + block] = bits
        return result

    def log_likelihood(self, reports: Reports) -> FloatArray:
        """Sums over bits, shape (n, k); see `Mechanism.log_likelihood`."""
        bits = self.check_reports(reports)
        shrunk = math.exp(-self._odds)
        zero = -math.log1p(shrunk)  # ln(1 − q)
        one = zero - self._odds  # ln q
        half = -math.log(2)
        # ln(1 − p), ln p
        missed, kept = (half, half) if self.variant == "optimized" else (one, zero)
        others = bits.sum(axis=1)[:, np.newaxis] - bits
        # 0 · ln 0 = 0: with ε = ∞ no other bit is ever set.
        ones = np.where(others > 0, -np.inf, 0.0) if math.isinf(one) else others * one
        return np.asarray(ones + (self.k - 1 - others) * zero + np.where(bits, kept, missed))

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {
            "kind": self.kind,
            "k": self.k,
            "epsilon": plain(self.epsilon),
            "variant": self.variant,
        }
