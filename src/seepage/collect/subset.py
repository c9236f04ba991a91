"""Subset selection: report a set of w categories that probably contains the true one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from seepage._entropy import TOTAL, Words, below, coins, word_source
from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.collect._parameters import (
    check_capacity,
    plain,
    set_budget,
    set_size,
    share_rounded,
)
from seepage.collect._supports import MAX_BITS, BitMechanism
from seepage.collect._weights import ceil_share, log_ratio_up
from seepage.collect.mechanism import Reports, Rng, check_codes
from seepage.errors import InvalidInputError

_BLOCK_BITS = 1 << 20
"""Bits of the reports drawn at a time."""


@dataclass(frozen=True)
class SubsetSelection(BitMechanism):
    """A uniform set of w categories, with the true one in it more often than chance has it.

    The true category is in the set with probability ``w·e^ε/(w·e^ε + k − w)``; the rest of the set
    is uniform among the other categories. ``w = k/(e^ε + 1)``, rounded, has the smallest variance
    (Ye and Barg 2018, "Optimal schemes for discrete distribution estimation under locally
    differential privacy"). A set is drawn by exact integer methods (Floyd's algorithm).

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
    kind: ClassVar[str] = "subset"

    def __post_init__(self) -> None:
        set_budget(self, set_size(self))

    @cached_property
    def subset_size(self) -> int:
        """Number w of categories in a report, from 1 to k − 1 (1 for a single category)."""
        return max(1, share_rounded(self.k, self.epsilon))

    @property
    def _shrunk(self) -> tuple[float, float]:
        """Weights of a set without and of the sets with the true category, over e^ε."""
        w = self.subset_size
        return (self.k - w) * math.exp(-self.epsilon), float(w)

    @property
    def hit(self) -> float:
        """Probability that the true category is in the set."""
        without, inside = self._shrunk
        return inside / (inside + without)

    @property
    def miss(self) -> float:
        """Probability that a given other category is in the set."""
        if self.k == 1:
            return 0.0
        without, inside = self._shrunk
        w = self.subset_size
        return (inside * (w - 1) + without * w) / (inside + without) / (self.k - 1)

    @property
    def contrast(self) -> float:
        """``w (k − w)(e^ε − 1) / ((k − 1)(w·e^ε + k − w))``."""
        if self.k == 1:
            return 1.0
        without, inside = self._shrunk
        w = self.subset_size
        top = w * (self.k - w) * -math.expm1(-self.epsilon)
        return top / (self.k - 1) / (inside + without)

    @cached_property
    def inside_weight(self) -> int | None:
        """Weight, out of 2^64, of the sets with the true category; None if ε is out of reach.

        It is None for ε = 0, or an ε below the resolution of the weights: then a release draws a
        uniform set that does not depend on the category.
        """
        k, w = self.k, self.subset_size
        if k == 1:
            return TOTAL
        outside = ceil_share(TOTAL * (k - w), self.epsilon, k - w, w)
        inside = TOTAL - outside
        return inside if inside * (k - w) > outside * w else None

    @property
    def release_epsilon(self) -> float:
        """ε of the integer weights; never above `epsilon`."""
        inside, w = self.inside_weight, self.subset_size
        if self.k == 1 or inside is None:
            return 0.0
        return log_ratio_up(inside * (self.k - w), (TOTAL - inside) * w)

    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record, to bool of shape (n, k) with w times True."""
        codes, words = check_codes(codes, self.k), word_source(rng)
        check_capacity(codes.size, self.k, "bits of reports", MAX_BITS)
        result = np.zeros((codes.size, self.k), dtype=np.bool_)
        block = max(1, _BLOCK_BITS // self.k)
        for start in range(0, codes.size, block):
            part = slice(start, start + block)
            self._sample_block(codes[part], result[part], words)
        return result

    def _sample_block(self, codes: IntArray, out: BoolArray, words: Words) -> None:
        k, w, n = self.k, self.subset_size, codes.size
        if self.inside_weight is None:
            out[:] = _uniform_subsets(k, w, n, words)
            return
        inside = coins(self.inside_weight, n, words)
        for rows, others in ((np.flatnonzero(inside), w - 1), (np.flatnonzero(~inside), w)):
            if rows.size and k > 1:
                out[rows, : k - 1] = _uniform_subsets(k - 1, others, rows.size, words)
        # The k − 1 others are drawn as 0 … k − 2; k − 1 stands in for the true one among them.
        every = np.arange(n)
        out[every, k - 1] = out[every, codes]
        out[every, codes] = inside

    def log_likelihood(self, reports: Reports) -> FloatArray:
        """Uniform among the sets with, or without, the category, shape (n, k).

        See `Mechanism.log_likelihood`.
        """
        bits = self.check_reports(reports)
        without, inside = self._shrunk
        k, w = self.k, self.subset_size
        total = math.log(inside + without)
        held = math.log(inside) - total - math.log(math.comb(k - 1, w - 1))
        absent = -math.inf
        if k > w and math.isfinite(self.epsilon):
            absent = math.log(k - w) - self.epsilon - total - math.log(math.comb(k - 1, w))
        return np.asarray(np.where(bits, held, absent))

    def _check_bits(self, bits: BoolArray) -> None:
        sizes = np.count_nonzero(bits, axis=1)
        wrong = np.flatnonzero(sizes != self.subset_size)
        if wrong.size:
            msg = (
                f"expected reports with {self.subset_size} of {self.k} bits set, "
                f"got {int(sizes[wrong[0]])} in report {int(wrong[0])}"
            )
            raise InvalidInputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values."""
        return {"kind": self.kind, "k": self.k, "epsilon": plain(self.epsilon)}


def _uniform_subsets(size: int, chosen: int, n: int, words: Words) -> BoolArray:
    """Draw n subsets, exactly uniform among those of `chosen` out of `size`; shape (n, size)."""
    if 2 * chosen > size:
        return ~_uniform_subsets(size, size - chosen, n, words)
    result = np.zeros((n, size), dtype=np.bool_)
    every = np.arange(n)
    for last in range(size - chosen, size):
        pick = below(last + 1, n, words)
        result[every, np.where(result[every, pick], last, pick)] = True
    return result
