"""Integer weights of a release, in exact arithmetic."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from seepage import Channel, randomized_response
from seepage._entropy import TOTAL, below, coins, word_source
from seepage.collect._weights import (
    ResponseWeights,
    ceil_share,
    log_ratio_up,
    ratio_exceeds,
    sum_rounded,
    table_weights,
)

INF = math.inf
EPSILONS = [
    0.0,
    5e-324,
    1e-17,
    1e-12,
    1e-6,
    0.3,
    1.0,
    5.0,
    30.0,
    44.0,
    45.0,
    100.0,
    700.0,
    1e6,
    INF,
]


def exact_epsilon(rows: list[list[int]]) -> mpf:
    """Largest log-ratio within a column, with 60 digits."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) and not min(column):
            return mpf("inf")
        if max(column):
            worst = max(worst, Fraction(max(column), min(column)))
    with mp.workdps(60):
        return mp.log(mpf(worst.numerator) / worst.denominator)


def check(rows: list[list[int]], nominal: float, stated: float) -> None:
    for row in rows:
        assert sum(row) == TOTAL
    exact = exact_epsilon(rows)
    with mp.workdps(60):
        assert exact <= mpf(stated), "the stated ε understates"
        assert mpf(stated) <= mpf(nominal), "the weights exceed the nominal ε"
        if 0 < exact < mpf("inf"):
            assert mpf(stated) / exact - 1 < mpf("3e-16")


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 100, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_response_weights_are_on_the_safe_side(k, epsilon):
    weights = ResponseWeights.of(k, epsilon)
    nominal = epsilon if k > 1 else 0.0
    rows = [weights.row(x) for x in sorted({0, 1 % k, k - 1})]
    check(rows, nominal, weights.epsilon)
    if epsilon == 0:
        assert all(row == rows[0] for row in rows)
    if epsilon < INF:
        assert min(min(row) for row in rows) >= 1
    if 1e-6 <= epsilon < 30 and k > 1:
        # One unit of the small weight, k of the large one.
        assert epsilon - weights.epsilon <= 2 * k * (math.exp(epsilon) + k) / TOTAL + 4e-15


@given(st.integers(2, 60), st.floats(0, 60))
def test_response_weights_law(k, epsilon):
    weights = ResponseWeights.of(k, epsilon)
    check([weights.row(0), weights.row(k - 1)], epsilon, weights.epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1.0, 44.0, 100.0, INF])
@pytest.mark.parametrize("k", [1, 2, 3, 20])
def test_table_weights_of_randomised_response(k, epsilon):
    channel = randomized_response(k, epsilon)
    weights = table_weights(channel.log_matrix, channel.epsilon)
    rows = [weights.row(x) for x in range(k)]
    check(rows, channel.epsilon, weights.epsilon)
    if 0 < channel.epsilon < 30:
        assert channel.epsilon - weights.epsilon < 1e-12
    exact = np.array([[w / TOTAL for w in row] for row in rows])
    np.testing.assert_allclose(exact, channel.matrix, rtol=1e-5, atol=2.0**-63)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_table_weights_of_any_table(k, m, seed, sparsity):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((k, m)) < sparsity, 0.0, rng.random((k, m)) ** 8)
    matrix[np.arange(k), rng.integers(0, m, k)] += rng.random()
    matrix[matrix.sum(axis=1) == 0] = 1.0
    channel = Channel.from_matrix(matrix / matrix.sum(axis=1, keepdims=True))
    weights = table_weights(channel.log_matrix, channel.epsilon)
    rows = [weights.row(x) for x in range(k)]
    check(rows, channel.epsilon, weights.epsilon)
    support = np.array([[w > 0 for w in row] for row in rows])
    np.testing.assert_array_equal(support, channel.log_matrix > -np.inf)
    got = np.array([[w / TOTAL for w in row] for row in rows])
    np.testing.assert_allclose(got, channel.matrix, atol=1e-9, rtol=1e-9)
    if channel.epsilon < 20:
        assert channel.epsilon - weights.epsilon < 1e-8 * channel.epsilon + 1e-14


def test_probabilities_below_the_resolution_keep_a_weight():
    logs = randomized_response(5, 700.0).log_matrix
    weights = table_weights(logs, 700.0)
    assert weights.row(2) == [1, 1, TOTAL - 4, 1, 1]
    assert weights.epsilon <= 700
    assert ResponseWeights.of(5, 700.0).row(2) == weights.row(2)


def test_a_certain_report_has_the_whole_weight():
    weights = table_weights(Channel.identity(3).log_matrix, INF)
    assert weights.row(1) == [0, TOTAL, 0]
    assert weights.epsilon == INF
    constant = table_weights(Channel.from_matrix([[0.0, 1.0], [0.0, 1.0]]).log_matrix, 0.0)
    assert constant.row(0) == constant.row(1) == [0, TOTAL]
    assert constant.epsilon == 0
    np.testing.assert_array_equal(constant.draw(np.array([0, 1, 1]), word_source(1)), [1, 1, 1])


def test_ratio_and_share_against_sixty_digits():
    with mp.workdps(60):
        for epsilon in (1e-9, 0.1, 1.0, 20.0, 60.0, 100.0):
            low = 10**9 + 7
            edge = int(mp.floor(low * mp.exp(mpf(epsilon))))
            assert not ratio_exceeds(edge, low, epsilon)
            assert ratio_exceeds(edge + 1, low, epsilon)
            share = ceil_share(TOTAL, epsilon, 9)
            assert share == max(int(mp.ceil(TOTAL / (mp.exp(mpf(epsilon)) + 9))), 1)
            up = log_ratio_up(edge, low)
            assert mpf(math.nextafter(up, 0)) < mp.log(mpf(edge) / low) <= mpf(up)


def test_words_decide_as_the_weights_say():
    """Feed the sampler the words at both sides of every threshold."""
    weights = ResponseWeights.of(4, 1.0)
    other = weights.other
    edges = [0, other - 1, other, 2 * other - 1, 2 * other, 3 * other - 1, 3 * other, TOTAL - 1]
    wanted = [0, 0, 1, 1, 3, 3, 2, 2]  # the other three in order, then the true category 2

    def feed(_n):
        return np.array(edges, dtype=np.uint64)

    np.testing.assert_array_equal(weights.draw(np.full(8, 2), feed), wanted)

    table = table_weights(Channel.from_matrix([[0.25, 0.0, 0.75, 0.0]]).log_matrix, INF)
    edges = [0, 2**62 - 1, 2**62, TOTAL - 1]

    np.testing.assert_array_equal(table.draw(np.zeros(4, dtype=np.int64), feed), [0, 0, 2, 2])

    uniform = ResponseWeights.of(3, 0.0)
    third = TOTAL // 3
    edges = [0, third - 1, third, 2 * third, 3 * third - 1, TOTAL - 1]
    np.testing.assert_array_equal(uniform.draw(np.full(6, 1), feed), [0, 0, 1, 2, 2, 0])


@pytest.mark.parametrize(
    ("weight", "share"),
    [(0, 0.0), (TOTAL, 1.0), (TOTAL // 3, 1 / 3), (1 << 63, 0.5), (5 << 56, 5 / 256)],
)
def test_coins(weight, share):
    n = 400_000
    heads = int(coins(weight, n, word_source(11)).sum())
    # Five standard deviations: a false alarm once in 1.7 million runs.
    assert abs(heads - n * share) <= 5 * math.sqrt(n * share * (1 - share))


def test_coins_decide_level_draws_by_the_rest():
    weight = (3 << 56) | 7
    calls = []

    def feed(n):
        calls.append(n)
        if len(calls) == 1:
            return np.array([2, 3, 3, 4], dtype=np.uint8).repeat([2, 2, 2, 2]).view(np.uint64)
        return np.array([6 << 8, 7 << 8, 8 << 8, 255], dtype=np.uint64)

    drawn = coins(weight, 8, feed)
    np.testing.assert_array_equal(drawn, [True, True, True, False, False, True, False, False])
    assert calls == [1, 4]


def test_below_is_uniform_and_draws_again():
    drawn = below(5, 100_000, word_source(3))
    counts = np.bincount(drawn, minlength=5)
    # Chi-square with 4 degrees of freedom above 33.4 once in a million runs.
    assert ((counts - 20_000) ** 2 / 20_000).sum() < 33.4
    assert below(1, 3, word_source(1)).tolist() == [0, 0, 0]
    feeds = iter([np.array([TOTAL - 1, 0], np.uint64), np.array([TOTAL // 5 * 4], np.uint64)])
    assert below(5, 2, lambda _n: next(feeds)).tolist() == [4, 0]


def test_system_words_are_fresh_and_writable():
    draw = word_source()
    first, second = draw(64), draw(64)
    assert (first != second).any()
    first[0] = 0
    bits = np.unpackbits(draw(20_000).view(np.uint8))
    # Five standard deviations.
    assert abs(int(bits.sum()) - bits.size / 2) < 2.5 * math.sqrt(bits.size)


def test_sums_above_all_numbers() -> None:
    assert sum_rounded([1e308, 1e308], up=True) == math.inf
    assert sum_rounded([1e308, 1e308], up=False) == sys.float_info.max
    assert sum_rounded([1e308, 7e307], up=True) >= 1.7e308
