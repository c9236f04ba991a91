"""Power of tests of two proportions, by summing over the counts of both groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numeric import BoolArray, FloatArray
from seepage.errors import CapacityError, InvalidInputError
from seepage.risk._counts import FAINT, MAX_COUNTS, MAX_SECOND, cells, difference_law, window
from seepage.risk._lattice import lattice_test, noisy_test
from seepage.risk._outcome import Case, Level, Outcome, clipped, powerless
from seepage.risk._proportions import NEGLIGIBLE, normal_test, reported_shares
from seepage.risk.designs import TwoProportions, second_size
from seepage.risk.protections import RandomizedResponse

PAIRS = "all pairs of counts"
PLANNED = "The critical value is that of the planned overall proportion."


def two_proportions_power(design: TwoProportions, case: Case) -> Outcome:
    """Power of a test of two proportions."""
    level, protection, method = case.level, case.protection, case.method
    if method == "conservative":
        msg = "expected method 'exact' or 'normal' for two proportions, got 'conservative'"
        raise InvalidInputError(msg)
    noise = None if isinstance(protection, RandomizedResponse) else protection
    if noise is not None and noise.mu == 0:
        return powerless(level, "pure noise")
    p, sizes, common = _planned(design, case)
    if method == "normal":
        variances = (
            common * (1 - common) * sum(1 / m for m in sizes),
            sum(q * (1 - q) / m for q, m in zip(p, sizes, strict=True)),
        )
        return normal_test(p[1] - p[0], variances, 1 / min(sizes), level, noise)
    if noise is None:
        power, missed, error = _pooled(p, sizes, level)
        return Outcome(*clipped(power, missed), PAIRS, error=error)
    faint = level.tail < FAINT
    null, other = (difference_law(sizes, q, faint=faint) for q in ((common, common), p))
    if noise.mu < NEGLIGIBLE:
        scale = 1 / (sizes[0] * sizes[1])
        scaled = null.scaled(scale), other.scaled(scale)
        power, missed, error = noisy_test(*scaled, 1 / min(sizes), level, noise)
    else:
        power, missed, error = lattice_test(null, other, level)
    return Outcome(
        *clipped(power, missed),
        "all pairs of counts with noise",
        assumptions=(PLANNED,),
        error=error,
    )


def pooled_size(design: TwoProportions, case: Case) -> str:
    """Level of the pooled z test, in a sentence."""
    _, sizes, common = _planned(design, case)
    size, _, _ = _pooled((common, common), sizes, case.level)
    return f"The pooled z test; at the planned overall proportion its level is {size:.6g}."


def _planned(
    design: TwoProportions, case: Case
) -> tuple[tuple[float, float], tuple[int, int], float]:
    """Shares that are reported and records of both groups, and the overall share."""
    n, protection = case.n, case.protection
    sizes = n, second_size(n, design.ratio)
    if sizes[1] > MAX_SECOND:
        msg = f"expected a second group of at most {MAX_SECOND:,} records, got {sizes[1]:,}"
        raise CapacityError(msg)
    shares = np.array([design.first, design.first + case.effect]).clip(0, 1)
    if isinstance(protection, RandomizedResponse):
        shares = reported_shares(shares, protection)
    if case.level.alternative == "smaller":
        shares = 1 - shares
    p = float(shares[0]), float(shares[1])
    return p, sizes, (sizes[0] * p[0] + sizes[1] * p[1]) / sum(sizes)


def _pooled(
    p: tuple[float, float], sizes: tuple[int, int], level: Level
) -> tuple[float, float, float]:
    """Power and type II error of the pooled z test, and the most that both can be off by.

    For a given count of the first group, z rises with that of the second: what is rejected is all
    from one count on, and all up to another one. Where counts of the first group share a cell, the
    truth lies between what the first and the last of them would give.
    """
    first, last, masses = cells(sizes[0], p[0])
    tails = _Tails.of(sizes[1], p[1])
    shared = bool((first != last).any())
    counts = np.append(first, last[-1]) if shared else first
    upper = _least(counts, sizes, level, above=True)
    hit, kept = tails.above(upper), tails.below(upper)
    low = np.zeros_like(hit)
    if level.two_sided:
        lower = _least(counts, sizes, level, above=False)
        low = tails.below(lower)
        # What lies between: the difference of the tails that are the smaller.
        kept = np.maximum(np.where(kept < 0.5, kept - low, tails.above(lower) - hit), 0.0)
    if not shared:
        return float(masses @ (hit + low)), float(masses @ kept), 0.0
    # The counts of a cell lie, on average, this share of the way to the next one.
    share = (last - first) / (2 * (last - first + 1))
    power, missed = (
        float(masses @ ((1 - share) * x[:-1] + share * x[1:])) for x in (hit + low, kept)
    )
    error = sum(float(masses @ np.abs(np.diff(x))) for x in (hit, low))
    return power, missed, error


@dataclass(frozen=True)
class _Tails:
    """Tails of a binomial law, from the masses of its counts where they are few.

    Parameters
    ----------
    n : int
    p : float
    start : int
        First count that matters.
    under, over : arrays, shape (m + 1,)
        Mass below each count from `start` on, and at or above it; empty where they are many.
    """

    n: int
    p: float
    start: int
    under: FloatArray
    over: FloatArray

    @classmethod
    def of(cls, n: int, p: float) -> _Tails:
        from scipy.stats import binom

        low, high = window(n, p)
        if high - low >= MAX_COUNTS:
            return cls(n, p, low, np.zeros(0), np.zeros(0))
        masses = binom.pmf(np.arange(low, high + 1), n, p)
        under, over = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
        return cls(n, p, low, np.append(0.0, under), np.append(over, 0.0))

    def below(self, counts: FloatArray) -> FloatArray:
        """Mass below each count."""
        from scipy.stats import binom

        return self._read(self.under, counts, lambda c: binom.cdf(c - 1, self.n, self.p))

    def above(self, counts: FloatArray) -> FloatArray:
        """Mass at or above each count."""
        from scipy.stats import binom

        return self._read(self.over, counts, lambda c: binom.sf(c - 1, self.n, self.p))

    def _read(
        self, table: FloatArray, counts: FloatArray, law: Callable[[FloatArray], Any]
    ) -> FloatArray:
        if not table.size:
            return np.asarray(law(counts))
        place = np.clip(counts - self.start, 0, table.size - 1).astype(np.intp)
        return np.asarray(table[place])


def _least(counts: FloatArray, sizes: tuple[int, int], level: Level, *, above: bool) -> FloatArray:
    """Least count of the second group that is rejected above, or that is not rejected below.

    One more than there are, where none is; arrays of shape (m,).
    """
    low, high = np.full(counts.shape, -1.0), np.full(counts.shape, sizes[1] + 1.0)
    for _ in range(math.ceil(math.log2(sizes[1] + 2))):
        middle = np.floor((low + high) / 2)
        over, under = _sides(counts, middle, sizes, level)
        reached = over if above else ~under
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


def _sides(
    first: FloatArray, second: FloatArray, sizes: tuple[int, int], level: Level
) -> tuple[BoolArray, BoolArray]:
    """Whether z is as large as the critical value, and whether −z is, for arrays of counts."""
    from scipy.special import ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (first + second) / sum(sizes)
        se = np.sqrt(pooled * (1 - pooled) * sum(1 / m for m in sizes))
        z = np.where(se > 0, (second / sizes[1] - first / sizes[0]) / se, 0.0)
    c = -float(ndtri(level.tail))
    least = c - 1e-12 * abs(c)
    return np.asarray(z >= least), np.asarray(-z >= least)
