"""Test of independence of the rows and columns of a count table."""

from __future__ import annotations

import math

import numpy as np

from seepage._numeric import FloatArray, IntArray

PERMUTATIONS = 99
"""Most tables that are drawn for the permutation test, unless its level asks for more."""

REACHED = 10
"""Drawn tables as dependent as the observed one, after which no more are drawn."""

MIN_EXPECTED = 5.0
"""Smallest expected count up to which the chi-square distribution is trusted (Cochran's rule)."""

MAX_PERMUTED = 10_000_000
"""Records above which no tables are drawn; far below the 10⁹ that NumPy's sampler accepts."""

MAX_CELLS = 200
"""Degrees of freedom above which categories with expected counts below 1 are pooled."""

CERTAIN = 1e-3
"""Where the moments alone bound the p-value by this, no tables are drawn."""

TINY = 1e-300  # a p-value is never 0

_FIRST = 25  # tables drawn at first; under independence they are often enough


def independence_method(table: IntArray) -> str:
    """The method that `independence_test` uses for a table."""
    used = _used(table)
    if min(used.shape) < 2:
        return "none"
    return "chi-square" if _least_expected(used) >= MIN_EXPECTED else "permutation"


def permutations(level: float) -> int:
    """Random tables for a test at this level: its p-value can be half of the level, if feasible."""
    return max(PERMUTATIONS, min(math.ceil(2 / level) - 1, 1999))


def independence_test(
    table: IntArray, rng: np.random.Generator, size: int = PERMUTATIONS
) -> tuple[float, str]:
    """p-value of independence of rows and columns, and the method used.

    Parameters
    ----------
    table : array of int, shape (a, b)
    rng : numpy.random.Generator
    size : int, default 99
        Most random tables that are drawn.

    Returns
    -------
    p_value : float
    method : {"chi-square", "permutation", "none"}
        Pearson's statistic is compared with its limiting distribution when every expected count is
        5 or more, which is accurate but not exact. Otherwise it is compared with up to 99 random
        tables with the same margins, which is exact: Pr(p ≤ x) ≤ x. In tables of more than 200
        degrees of freedom, categories so rare that a count below 1 is expected are pooled before.
        Tables of more than 10 million records have their rarest categories pooled until the
        chi-square distribution applies.

    Notes
    -----
    Clear dependence needs no random tables: the mean μ and the variance σ² of the statistic over
    all permutations are known (Haldane 1940), so p ≤ σ²/(σ² + (X² − μ)²) by Cantelli's inequality.
    That bound is returned where it is 1e-3 or less. This has a probability of at most 1e-3, and two
    or more of 99 tables would reach such a statistic with probability below 0.005, so the level of
    a test at 0.025 rises by less than 5e-6.

    Source: Besag and Clifford (1991). Drawing stops when 10 of l tables have reached the observed
    statistic, with p = 10/l; after all 99, p = (1 + number that reached it)/100. Of the observed
    table and the drawn ones every order is equally likely under independence, which gives the exact
    level in both cases.
    """
    used = _used(table)
    a, b = used.shape
    if a < 2 or b < 2:
        return 1.0, "none"
    rows, columns = used.sum(axis=1), used.sum(axis=0)
    n = int(rows.sum())
    expected = rows[:, np.newaxis] * (columns / n)

    def statistic(tables: IntArray) -> FloatArray:
        return np.asarray((tables * (tables / expected)).sum(axis=(-2, -1)))

    observed = float(statistic(used))
    if _least_expected(used) >= MIN_EXPECTED:
        from scipy.special import chdtrc

        return float(chdtrc((a - 1) * (b - 1), max(observed - n, 0.0))), "chi-square"
    mean, variance = permutation_moments(rows, columns)
    distance = max(observed - n - mean, 0.0)
    bound = variance / (variance + distance * distance) if distance else 1.0
    if bound <= CERTAIN:
        return max(bound, TINY), "permutation"
    # The last row and column are what the others leave; with the largest there, samples are small.
    used = used[np.ix_(np.argsort(rows), np.argsort(columns))]
    rows, columns = used.sum(axis=1), used.sum(axis=0)
    expected = rows[:, np.newaxis] * (columns / n)
    reached = np.zeros(0, dtype=bool)
    for part in (_FIRST, size - _FIRST):
        draws = random_tables(rows, columns, part, rng)
        # Equal tables must not differ by the rounding of their sums.
        reached = np.concatenate((reached, statistic(draws) >= observed * (1 - 1e-12)))
        if reached.sum() >= REACHED:
            return REACHED / (1 + int(np.flatnonzero(reached)[REACHED - 1])), "permutation"
    return (1 + int(reached.sum())) / (1 + size), "permutation"


def permutation_moments(rows: IntArray, columns: IntArray) -> tuple[float, float]:
    """Mean and variance of Pearson's X² over all permutations of the records.

    Parameters
    ----------
    rows, columns : arrays of int, shapes (a,) and (b,)
        Positive margins of equal sum.

    Notes
    -----
    Source: Haldane (1940).
    """
    n = float(rows.sum())
    if n < 4:
        return 0.0, np.inf
    parts = []
    for sums in (rows, columns):
        k = sums.size
        parts.append(((k - 1) * (n - k) / (n - 1), (float((n / sums).sum()) - k * k) / (n - 2)))
    (v1, w1), (v2, w2) = parts
    mean = n / (n - 1) * (rows.size - 1) * (columns.size - 1)
    return mean, 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n * n / (n - 1) * w1 * w2


def random_tables(
    rows: IntArray, columns: IntArray, size: int, rng: np.random.Generator
) -> IntArray:
    """Tables with given margins, distributed as those of randomly permuted records.

    Each cell, given the cells before it, has a hypergeometric distribution; it is drawn for all
    tables at once.

    Parameters
    ----------
    rows, columns : arrays of int, shapes (a,) and (b,)
        Margins of equal sum, below 10⁹.
    size : int
        Number of tables.
    rng : numpy.random.Generator

    Returns
    -------
    array of int, shape (size, a, b)
    """
    a, b = rows.size, columns.size
    tables = np.empty((a, b, size), dtype=np.int64)
    left = np.repeat(columns[:, np.newaxis], size, axis=1)
    for i in range(a - 1):
        sample = np.full(size, rows[i])
        others = left[::-1].cumsum(axis=0)[::-1]
        for j in range(b - 1):
            drawn = rng.hypergeometric(left[j], others[j + 1], sample)
            tables[i, j] = drawn
            sample -= drawn
        tables[i, b - 1] = sample
        left -= tables[i]
    tables[a - 1] = left
    return np.moveaxis(tables, 2, 0)


def _used(table: IntArray) -> IntArray:
    used = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    if used.sum() > MAX_PERMUTED:
        return _pooled(used, MIN_EXPECTED, 0)
    return _pooled(used, 1.0, MAX_CELLS)


def _least_expected(table: IntArray) -> float:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return float(rows.min()) * float(columns.min()) / float(rows.sum())


def _pooled(table: IntArray, expected: float, cells: int) -> IntArray:
    """Add the rarest row or column to the next one while a table is too sparse and too large.

    Which ones are added depends on the margins only, so the test keeps its level.
    """
    n = float(table.sum())
    while min(table.shape) > 1 and (table.shape[0] - 1) * (table.shape[1] - 1) > cells:
        margins = table.sum(axis=1), table.sum(axis=0)
        if float(margins[0].min()) * float(margins[1].min()) / n >= expected:
            break
        axis = int(margins[1].min() < margins[0].min())
        table = np.take(table, np.argsort(margins[axis]), axis=axis)
        table = np.add.reduceat(table, [0, *range(2, table.shape[axis])], axis=axis)
    return table
