"""Integer weights: the probabilities that a release really samples from.

The weights of a row add up to 2^64 exactly, an impossible report has weight 0, and the ε of the
weights, compared in exact arithmetic, is never above the nominal one. Rounding is what could push
it over, so it is always steered to the other side: for randomised response the small probability
is rounded up; a general table is first mixed with a trace of a row that all inputs share, as much
as the exact comparison asks for.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from seepage._entropy import TOTAL, WordArray, Words
from seepage._numeric import FloatArray, IntArray

_BLOCK = 1 << 15
"""Records drawn at a time; the work arrays stay in the cache of a processor."""

CONTEXT = Context(prec=80, rounding=ROUND_HALF_EVEN, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SLACK = Decimal(10) ** -75  # relative; far above the rounding of the steps below
BEYOND = 128.0
"""An ε at which e^ε exceeds every ratio and total of weights, which stay below 2^128 = e^88.7."""


def exp_bounds(epsilon: float) -> tuple[Decimal, Decimal]:
    """Rational numbers just below and just above e^ε, for 0 ≤ ε ≤ `BEYOND`."""
    value = CONTEXT.exp(Decimal(epsilon))
    slack = CONTEXT.multiply(value, _SLACK)
    return CONTEXT.subtract(value, slack), CONTEXT.add(value, slack)


def ratio_exceeds(high: int, low: int, epsilon: float) -> bool:
    """Whether ``high/low > e^ε`` for integers; true also where 75 digits cannot tell."""
    if high <= low or epsilon == math.inf:
        return False
    if low == 0:
        return True
    if epsilon > BEYOND:
        return False
    lower, _ = exp_bounds(epsilon)
    return Decimal(high) > CONTEXT.multiply(lower, Decimal(low))


def log_ratio_up(high: int, low: int) -> float:
    """``ln(high/low)`` for high ≥ low, rounded to the next float that is not below it."""
    if high <= low:
        return 0.0
    if low == 0:
        return math.inf
    return float_up(CONTEXT.ln(CONTEXT.divide(Decimal(high), Decimal(low))))


def float_up(value: Decimal) -> float:
    """The next float that is not below a number, 0 or more, known to 55 digits."""
    exact = CONTEXT.add(value, CONTEXT.multiply(value, Decimal(10) ** -55))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_rounded(values: Iterable[float], *, up: bool) -> float:
    """The sum of numbers in [0, ∞], rounded to the next float not below (not above) it."""
    terms = list(values)
    try:
        nearest = math.fsum(terms)
    except OverflowError:  # finite numbers whose sum is above all floats
        return math.inf if up else sys.float_info.max
    if math.isinf(nearest):
        return nearest
    exact = sum(map(Fraction, terms))
    if up:
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)


def ceil_share(total: int, epsilon: float, others: int, factor: int = 1) -> int:
    """Smallest whole w with ``w·(factor·e^ε + others) ≥ total``; at least 1, and 0 for ε = ∞."""
    if epsilon == math.inf:
        return 0
    if epsilon > BEYOND:
        return 1
    lower = CONTEXT.multiply(exp_bounds(epsilon)[0], Decimal(factor))
    share = CONTEXT.divide(Decimal(total), CONTEXT.add(lower, Decimal(others)))
    return int(share.to_integral_value(ROUND_CEILING, CONTEXT))


@dataclass(frozen=True)
class ResponseWeights:
    """Weights of k-ary randomised response.

    Parameters
    ----------
    k : int
    keep, other : int
        Weight of the true category and of each other one; ``keep + (k − 1)·other = 2^64``.
    shared : bool
        Nothing is told (ε = 0, or below the resolution of the weights): every input has the same
        row, in which `other` is the weight of a category before the remainder is dealt out.
    """

    k: int
    keep: int
    other: int
    shared: bool = False

    @classmethod
    def of(cls, k: int, epsilon: float) -> ResponseWeights:
        """Round the weight of the other categories up, which rounds ε down."""
        if k == 1:
            return cls(1, TOTAL, 0)
        other = ceil_share(TOTAL, epsilon, k - 1)
        keep = TOTAL - (k - 1) * other
        if keep <= other:
            return cls(k, TOTAL // k, TOTAL // k, shared=True)
        return cls(k, keep, other)

    @cached_property
    def epsilon(self) -> float:
        """ε of the weights, not understated."""
        return 0.0 if self.shared or self.k == 1 else log_ratio_up(self.keep, self.other)

    def row(self, x: int) -> list[int]:
        """Exact weights of the reports for input x."""
        if self.shared:
            left = TOTAL - self.k * self.other
            return [self.other + (y < left) for y in range(self.k)]
        return [self.keep if y == x else self.other for y in range(self.k)]

    def draw(self, codes: IntArray, words: Words) -> IntArray:
        """Randomise codes of shape (n,)."""
        if self.other == 0:
            return codes.copy()
        result = np.empty(codes.size, dtype=np.int64)
        for start in range(0, codes.size, _BLOCK):
            part = slice(start, min(start + _BLOCK, codes.size))
            self._draw_block(codes[part], words(part.stop - start), result[part])
        return result

    def _draw_block(self, codes: IntArray, drawn: WordArray, out: IntArray) -> None:
        other = np.uint64(self.other)
        if self.shared:
            report = drawn // other
            rest = report >= self.k
            report[rest] = drawn[rest] - np.uint64(self.k * self.other % TOTAL)
            out[:] = report.view(np.int64)
            return
        # Each of the k − 1 other categories owns `other` words; the words left over keep x.
        np.floor_divide(drawn, other, out=drawn)
        keep = drawn >= self.k - 1
        report = drawn.view(np.int64)
        np.add(report, report >= codes, out=out)
        np.copyto(out, codes, where=keep)


@dataclass(frozen=True, eq=False)
class TableWeights:
    """Weights of a general table.

    Parameters
    ----------
    words : array of uint64, shape (k, m)
        Weights modulo 2^64.
    largest : array of int, shape (k,)
        Position of the largest weight of each row; it is 2^64 where `words` says 0 there.
    epsilon : float
        ε of the weights, not understated.
    """

    words: WordArray
    largest: IntArray
    epsilon: float

    def row(self, x: int) -> list[int]:
        """Exact weights of the reports for input x."""
        weights = [int(w) for w in self.words[x]]
        top = int(self.largest[x])
        weights[top] = weights[top] or TOTAL
        return weights

    @cached_property
    def _rows(self) -> list[tuple[WordArray, IntArray]]:
        """Of each row: cumulative weights without the last, and the possible reports."""
        rows = []
        for weights, top in zip(self.words, self.largest, strict=True):
            possible = np.flatnonzero(weights)
            if possible.size == 0:
                possible = np.array([top])
            rows.append((np.cumsum(weights[possible][:-1], dtype=np.uint64), possible))
        return rows

    def draw(self, codes: IntArray, words: Words) -> IntArray:
        """Randomise codes of shape (n,)."""
        result = np.empty(codes.size, dtype=np.int64)
        block = max(8 * _BLOCK, 256 * len(self.words))
        # Grouped by input, so that one search serves all records of a group.
        short = np.min_scalar_type(len(self.words))  # sorted by its digits, so few are fast
        for start in range(0, codes.size, block):
            part = codes[start : start + block]
            order = np.argsort(part.astype(short), kind="stable")
            drawn = words(part.size)
            found = np.empty(part.size, dtype=np.int64)
            first = 0
            for x, count in enumerate(np.bincount(part, minlength=len(self.words))):
                if count:
                    group = slice(first, first + count)
                    steps, possible = self._rows[x]
                    found[group] = possible[np.searchsorted(steps, drawn[group], side="right")]
                    first += count
            result[start : start + block][order] = found
        return result


def table_weights(log_matrix: FloatArray, epsilon: float) -> TableWeights:
    """Integer weights of a table whose ε is not above `epsilon`.

    Parameters
    ----------
    log_matrix : array of float, shape (k, m)
        ``ln p(y | x)``, −∞ where impossible.
    epsilon : float
        The nominal ε, in [0, ∞]; finite only if every report is possible for all or for none.
    """
    possible = np.isfinite(log_matrix)
    matrix = np.exp(log_matrix)
    matrix /= matrix.sum(axis=1, keepdims=True)
    shared = matrix.mean(axis=0)
    trace = 0.0
    while True:
        mixed = (
            matrix + trace * (shared - matrix) if trace < 1 else np.tile(shared, (len(matrix), 1))
        )
        weights = _rounded(mixed, possible)
        high, low = _extreme_ratio(weights)
        if trace >= 1 or not ratio_exceeds(high, low, epsilon):
            return TableWeights(weights.words, weights.largest, log_ratio_up(high, low))
        trace = max(2 * trace, 2.0**-64)


def _rounded(matrix: FloatArray, possible: np.ndarray) -> TableWeights:
    """Round every weight but the largest of its row, which takes what is left."""
    weights = np.rint(np.ldexp(matrix, 64))
    np.maximum(weights, 1.0, out=weights, where=possible)
    weights[~possible] = 0.0
    largest = weights.argmax(axis=1)
    rows = np.arange(len(matrix))
    weights[rows, largest] = 0.0
    words = weights.astype(np.uint64)
    words[rows, largest] = np.uint64(0) - words.sum(axis=1, dtype=np.uint64)  # modulo 2^64
    return TableWeights(words, largest.astype(np.int64), math.nan)


def _extreme_ratio(table: TableWeights) -> tuple[int, int]:
    """Largest and smallest weight of the column in which their ratio is largest, exactly."""
    words = table.words
    rows = np.arange(len(words))
    certain = words[rows, table.largest] == 0
    if certain.any():
        exact = [table.row(x) for x in range(len(words))]
        columns = [(max(c), min(c)) for c in zip(*exact, strict=True) if max(c) > 0]
    else:
        high, low = words.max(axis=0), words.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = high / low
        ratio[high == 0] = 0.0
        near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-12))
        columns = [(int(high[y]), int(low[y])) for y in near]
    worst = columns[0]
    for pair in columns[1:]:
        if pair[0] * worst[1] > worst[0] * pair[1]:
            worst = pair
    return worst
