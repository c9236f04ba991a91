"""Local hashing: each client hashes its category by a function of its own, and randomises that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._entropy import Words, word_source
from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.collect._parameters import (
    check_variant,
    exp_rounded,
    plain,
    set_budget,
    set_size,
)
from seepage.collect._supports import SupportMechanism, as_texts
from seepage.collect._weights import ResponseWeights
from seepage.collect.mechanism import Reports, Rng, check_codes
from seepage.collect.retention import retention_from_epsilon
from seepage.errors import InvalidInputError

PRIME = (1 << 31) - 1
"""The field of the hash functions; a·x + b stays below 2^62."""

_BLOCK_CELLS = 1 << 18
"""Hashes computed at a time."""


@dataclass(frozen=True)
class LocalHashing(SupportMechanism):
    """Randomised response on a hash of the category; the report is (seed, value).

    The hash is ``((a·x + b) mod P) mod g`` with a and b uniform below the prime P = 2^31 − 1, drawn
    anew for each record; the seed is ``a·P + b``. For two categories the pair before the last step
    is uniform on P², so the probability of a collision is known exactly, and with it the
    probability that a report supports a category. "optimized" has g = e^ε + 1 buckets, rounded,
    "binary" two (Wang et al. 2017, section 4.4). The seed does not depend on the category, so ε is
    that of randomised response on g values.

    Parameters
    ----------
    k : int
        Number of categories, from 1 to 2^31 − 1.
    epsilon : float
        In [0, ∞]. Becomes 0 for a single category, of which nothing can be told.
    variant : {"optimized", "binary"}

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """

    k: int
    epsilon: float
    variant: Literal["optimized", "binary"] = "optimized"
    kind: ClassVar[str] = "hashing"

    def __post_init__(self) -> None:
        k = set_size(self)
        if k > PRIME:
            msg = f"expected k of at most {PRIME:,}, got {k:,}"
            raise InvalidInputError(msg)
        set_budget(self, k)
        check_variant(self.variant, ("optimized", "binary"))

    @cached_property
    def buckets(self) -> int:
        """Number g of values of the hash."""
        if self.variant == "binary":
            return 2
        return exp_rounded(self.epsilon, PRIME - 1) + 1

    @property
    def collision(self) -> float:
        """Probability that two categories have the same hash."""
        full, more = divmod(PRIME, self.buckets)
        pairs = more * (full + 1) ** 2 + (self.buckets - more) * full**2
        return pairs / PRIME**2

    @property
    def hit(self) -> float:
        """Probability that the value is the hash of the category."""
        kept = float(retention_from_epsilon(self.epsilon, self.buckets))
        return kept + (1 - kept) / self.buckets

    @property
    def miss(self) -> float:
        """Probability that the value is the hash of a given other category."""
        return self.hit - self.contrast

    @property
    def contrast(self) -> float:
        """``λ_g·(1 − collision)``."""
        return float(retention_from_epsilon(self.epsilon, self.buckets)) * (1 - self.collision)

    @cached_property
    def _response_weights(self) -> ResponseWeights:
        return ResponseWeights.of(self.buckets, self.epsilon)

    @property
    def release_epsilon(self) -> float:
        """ε of the integer weights; never above `epsilon`."""
        return self._response_weights.epsilon if self.k > 1 else 0.0

    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record, to (seed, value), int of shape (n, 2)."""
        codes, words = check_codes(codes, self.k), word_source(rng)
        a, b = _field_pairs(codes.size, words)
        hashed = _hash(a, b, codes, self.buckets).astype(np.int64)
        value = self._response_weights.draw(hashed, words)
        return np.column_stack([a * PRIME + b, value])

    def supports(self, reports: Reports) -> BoolArray:
        """Which categories have the reported value as their hash, shape (n, k)."""
        result = np.empty((len(reports), self.k), dtype=np.bool_)
        x = np.arange(self.k)
        block = max(1, _BLOCK_CELLS // self.k)
        for start in range(0, len(reports), block):
            seed, value = reports[start : start + block].T[:, :, np.newaxis]
            a, b = np.divmod(seed, PRIME)
            hashed = _hash(a, b, x, self.buckets)
            result[start : start + block] = hashed == value.astype(np.uint32)
        return result

    def log_likelihood(self, reports: Reports) -> FloatArray:
        """Randomised response on the hash, seeds being uniform, shape (n, k).

        See `Mechanism.log_likelihood`.
        """
        supported = self.supports(self.check_reports(reports))
        kept = -2 * math.log(PRIME) - math.log1p((self.buckets - 1) * math.exp(-self.epsilon))
        return np.asarray(np.where(supported, kept, kept - self.epsilon))

    def check_reports(self, reports: Any) -> Reports:
        """Return reports as an int array of shape (n, 2)."""
        try:
            array = np.asarray(reports)
        except Exception as error:  # whatever an object's own conversion raises
            msg = f"expected reports as pairs (seed, value), got {reports!r}"
            raise InvalidInputError(msg) from error
        if array.ndim != 2 or array.shape[1] != 2:
            msg = f"expected reports of shape (n, 2), got shape {array.shape}"
            raise InvalidInputError(msg)
        check_codes(array[:, 0], PRIME**2, "seeds of reports")
        check_codes(array[:, 1], self.buckets, "values of reports")
        return np.asarray(array.astype(np.int64, copy=False))

    def encode(self, reports: Reports) -> Sequence[str]:
        """Reports as ``seed:value`` in decimal digits."""
        return [f"{seed}:{value}" for seed, value in self.check_reports(reports).tolist()]

    def decode(self, texts: Iterable[str]) -> Reports:
        """Inverse of `encode`; raises InvalidInputError for text that is no report."""
        pairs = [_parse(text) for text in as_texts(texts)]
        return self.check_reports(np.array(pairs, dtype=np.uint64).reshape(-1, 2))

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {
            "kind": self.kind,
            "k": self.k,
            "epsilon": plain(self.epsilon),
            "variant": self.variant,
        }


def _hash(a: IntArray, b: IntArray, x: IntArray, buckets: int) -> NDArray[np.uint32]:
    """``((a·x + b) mod P) mod g``; quotients first, as NumPy divides faster than it takes rests."""
    mixed = (a * x + b).view(np.uint64)
    mixed -= mixed // np.uint64(PRIME) * np.uint64(PRIME)
    rest = mixed.astype(np.uint32)
    rest -= rest // np.uint32(buckets) * np.uint32(buckets)
    return rest


def _field_pairs(n: int, words: Words) -> tuple[IntArray, IntArray]:
    """Two independent numbers for each record, exactly uniform on 0 … P − 1."""
    mask = np.uint64(PRIME)  # 31 bits; of their values only P itself is not wanted
    drawn = words(n)
    while True:
        a = ((drawn >> np.uint64(31)) & mask).view(np.int64)
        b = (drawn & mask).view(np.int64)
        again = np.flatnonzero((a == PRIME) | (b == PRIME))
        if not again.size:
            return a, b
        drawn[again] = words(again.size)


def _parse(text: str) -> tuple[int, int]:
    seed, colon, value = text.partition(":")
    if colon and len(text) <= 32 and _is_number(seed) and _is_number(value):
        return int(seed), int(value)  # their range is checked with the others
    msg = f"expected reports of the form seed:value, got {text!r}"
    raise InvalidInputError(msg)


def _is_number(text: str) -> bool:
    """Whether it is how a whole number of at most 19 digits is written, and the only way."""
    plain_digits = text.isascii() and text.isdigit() and len(text) <= 19
    return plain_digits and str(int(text)) == text
