"""ε and probabilities of every kind, computed a second time by listing all reports."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import mp, mpf

from seepage import InfeasibleError, InvalidInputError, lambda_response, randomized_response
from seepage._entropy import TOTAL, word_source
from seepage.collect import hashing
from seepage.collect.hashing import LocalHashing
from seepage.collect.metric import ExponentialMechanism, Staircase
from seepage.collect.pram import PostRandomization, Table, invariant_pram, stratified_pram
from seepage.collect.response import LambdaResponse, RandomizedResponse
from seepage.collect.subset import SubsetSelection, _uniform_subsets
from seepage.collect.unary import UnaryEncoding

INF = math.inf
EPSILONS = [0.01, 0.5, 1.0, 3.0, 10.0]


def table_epsilon(table: np.ndarray) -> float:
    used = table.max(axis=0) > 0
    return float(np.log(table.max(axis=0)[used] / table.min(axis=0)[used]).max())


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("variant", ["optimized", "symmetric"])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_unary_by_listing_all_bit_strings(k, variant, epsilon):
    m = UnaryEncoding(k, epsilon, variant)
    bits = np.array(list(product([0, 1], repeat=k)))

    def listed(p, q):
        chance = np.where(np.eye(k, dtype=bool), p, q)[:, np.newaxis, :]
        return np.where(bits == 1, chance, 1 - chance).prod(axis=2)

    table = listed(m.hit, m.miss)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-13)
    assert table_epsilon(table) == pytest.approx(epsilon, abs=1e-12)
    np.testing.assert_allclose(table @ bits, m.moments()[:, :-1], rtol=1e-12)
    # The integer weights of the bits, as fractions.
    p, q = (Fraction(w, TOTAL) for w in m.bit_weights)
    chance = [[p if x == j else q for j in range(k)] for x in range(k)]
    exact = [
        [math.prod(c if b else 1 - c for c, b in zip(row, string, strict=True)) for row in chance]
        for string in bits.tolist()
    ]
    worst = max(max(column) / min(column) for column in exact)
    with mp.workdps(60):
        log = mp.log(mpf(worst.numerator) / worst.denominator)
        assert log <= mpf(m.release_epsilon) <= mpf(epsilon)
        assert mpf(m.release_epsilon) - log < mpf("1e-15") * (1 + log)
    assert epsilon - m.release_epsilon < 1e-14
    assert m.contrast == pytest.approx(m.hit - m.miss, rel=1e-11)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_unary_is_the_literature(epsilon):
    half = math.exp(epsilon / 2)
    sue, oue = UnaryEncoding(9, epsilon, "symmetric"), UnaryEncoding(9, epsilon)
    assert (sue.hit, sue.miss) == pytest.approx((half / (half + 1), 1 / (half + 1)), rel=1e-14)
    assert (oue.hit, oue.miss) == pytest.approx((0.5, 1 / (math.exp(epsilon) + 1)), rel=1e-14)
    # Variance of a rare category: 4e^ε/(e^ε − 1)² (optimised), e^{ε/2}/(e^{ε/2} − 1)² (symmetric).
    for m, wanted in ((oue, 4 * half**2 / (half**2 - 1) ** 2), (sue, half / (half - 1) ** 2)):
        expected = m.moments()[1] @ m.unbias_squared[:, 0]
        assert expected == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 5, 7])
def test_subset_by_listing_all_sets(k, epsilon):
    m = SubsetSelection(k, epsilon)
    w = m.subset_size
    sets = list(combinations(range(k), w))
    member = np.array([[x in s for x in range(k)] for s in sets])
    weight = np.where(member.T, math.exp(epsilon), 1.0)
    table = weight / weight.sum(axis=1, keepdims=True)
    assert table_epsilon(table) == pytest.approx(epsilon, abs=1e-12)
    np.testing.assert_allclose(table @ member, m.moments()[:, :-1], rtol=1e-12)
    assert m.contrast == pytest.approx(m.hit - m.miss, rel=1e-10)
    inside = Fraction(m.inside_weight, TOTAL)
    with_, without = inside / math.comb(k - 1, w - 1), (1 - inside) / math.comb(k - 1, w)
    ratio = with_ / without
    with mp.workdps(60):
        assert 0 < mp.log(mpf(ratio.numerator) / ratio.denominator) <= mpf(m.release_epsilon)
    assert 0 <= epsilon - m.release_epsilon < 1e-14


def test_subset_size_is_optimal():
    for k in (4, 10, 50):
        for epsilon in (0.1, 1.0, 2.0, 4.0):
            m = SubsetSelection(k, epsilon)

            def variance(w, k=k, e=epsilon):
                p = w * math.exp(e) / (w * math.exp(e) + k - w)
                q = p * (w - 1) / (k - 1) + (1 - p) * w / (k - 1)
                return q * (1 - q) / (p - q) ** 2

            best = min(variance(w) for w in range(1, k))
            assert variance(m.subset_size) <= best * 1.02
            got = m.moments()[1] @ m.unbias_squared[:, 0]
            assert got == pytest.approx(variance(m.subset_size), rel=1e-9)


@pytest.mark.parametrize(("size", "chosen"), [(5, 2), (5, 3), (4, 4), (4, 0), (1, 1), (6, 3)])
def test_subsets_are_uniform(size, chosen):
    n = 30_000
    drawn = _uniform_subsets(size, chosen, n, word_source(size))
    assert (drawn.sum(axis=1) == chosen).all()
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    total = math.comb(size, chosen)
    assert counts.size == total
    # Chi-square (at most 19 degrees of freedom) above 65 less than once in a million runs.
    assert ((counts - n / total) ** 2 / (n / total)).sum() < 65


def test_whole_reports_of_subset_selection_are_uniform_given_the_bit():
    m = SubsetSelection(5, 0.8)
    drawn = m.sample(np.full(60_000, 3), rng=4)
    for inside, sets in ((True, 4), (False, 6)):
        counts = np.unique(drawn[drawn[:, 3] == inside], axis=0, return_counts=True)[1]
        assert counts.size == sets
        mean = counts.sum() / sets
        # 5 degrees of freedom at most: above 37 less than once in a million runs.
        assert ((counts - mean) ** 2 / mean).sum() < 37


@pytest.mark.parametrize("prime", [5, 7, 13])
@pytest.mark.parametrize("variant", ["optimized", "binary"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_hashing_by_listing_all_seeds(monkeypatch, prime, variant, epsilon):
    """The whole family of hash functions over a small field, and every value."""
    monkeypatch.setattr(hashing, "PRIME", prime)
    k = min(prime, 6)
    m = LocalHashing(k, epsilon, variant)
    g = m.buckets
    assert g == (2 if variant == "binary" else min(round(math.exp(epsilon)) + 1, prime))
    response = randomized_response(g, epsilon).matrix
    reports = np.array([(s, v) for s in range(prime**2) for v in range(g)])
    a, b = np.divmod(reports[:, 0], prime)
    hashed = (a[:, np.newaxis] * np.arange(k) + b[:, np.newaxis]) % prime % g
    table = (response[hashed, reports[:, 1][:, np.newaxis]] / prime**2).T
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    assert table_epsilon(table) == pytest.approx(epsilon, abs=1e-12)
    features = m.featurize(reports)
    np.testing.assert_array_equal(features[:, :-1], hashed == reports[:, 1][:, np.newaxis])
    np.testing.assert_allclose(table @ features, m.moments(), rtol=1e-12)
    np.testing.assert_allclose(table @ (features @ m.unbias), np.eye(k), atol=1e-11)
    assert Fraction(m.collision) == pytest.approx(
        float(np.mean(hashed[::g, 0] == hashed[::g, 1])), abs=1e-15
    )


def test_seeds_are_uniform():
    m = LocalHashing(3, 1.0)
    seeds = m.sample(np.zeros(50_000, dtype=int), rng=8)[:, 0]
    for part in np.divmod(seeds, hashing.PRIME):
        counts = np.bincount(part * 10 // hashing.PRIME, minlength=10)
        # 9 degrees of freedom: above 47 less than once in a million runs.
        assert ((counts - 5000) ** 2 / 5000).sum() < 47


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.4, 1.0, 10.0, 100.0, 700.0, INF])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_tables_have_their_epsilon(k, epsilon):
    grr = RandomizedResponse(k, epsilon)
    np.testing.assert_array_equal(grr.channel.matrix, randomized_response(k, epsilon).matrix)
    found = [grr, ExponentialMechanism(k, epsilon)]
    found += [Staircase(k, epsilon, step) for step in {1, max(k // 3, 1), max(k - 1, 1)}]
    for m in found:
        logs = m.channel.log_matrix
        nominal = epsilon if k > 1 else 0.0
        high, low = logs.max(axis=0), logs.min(axis=0)
        if nominal == INF:
            assert low.min() == -INF
            assert m.channel.epsilon == INF
            continue
        assert (high - low).max() == pytest.approx(nominal, rel=1e-12, abs=1e-12)
        assert nominal * (1 - 1e-12) <= m.channel.epsilon <= nominal
        np.testing.assert_allclose(m.channel.matrix.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 2.0, 20.0])
def test_staircase_against_forty_digits(epsilon):
    k, step = 7, 2
    logs = Staircase(k, epsilon, step).channel.log_matrix
    with mp.workdps(40):

        def excess(theta):
            weight = [[mp.exp(-theta * (abs(x - y) // step)) for y in range(k)] for x in range(k)]
            table = [[w / mp.fsum(row) for w in row] for row in weight]
            leak = max(mp.log(max(c) / min(c)) for c in zip(*table, strict=True))
            return leak - mpf(epsilon), table

        theta = mp.findroot(
            lambda t: excess(t)[0],
            (mpf(epsilon) / 4, mpf(epsilon) * 4),
            solver="anderson",
            tol=1e-30,
        )
        wanted = [[float(p) for p in row] for row in excess(theta)[1]]
    np.testing.assert_allclose(np.exp(logs), wanted, rtol=1e-12)


def test_infinite_epsilon_of_a_staircase_stays_on_its_step():
    m = Staircase(5, INF, 2)
    np.testing.assert_allclose(m.channel.matrix[0], [0.5, 0.5, 0, 0, 0])
    assert set(m.sample(np.full(500, 2), rng=1).tolist()) == {1, 2, 3}


def test_lambda_is_the_table_and_grr():
    m = LambdaResponse(4, 0.25)
    np.testing.assert_array_equal(m.channel.matrix, lambda_response(4, 0.25).matrix)
    assert m.epsilon == pytest.approx(math.log(1 + 4 * 0.25 / 0.75), rel=1e-15)
    twin = RandomizedResponse(4, m.epsilon)
    assert twin.retention == pytest.approx(0.25, rel=1e-14)
    np.testing.assert_allclose(m.unbias, twin.unbias, rtol=1e-13)
    np.testing.assert_allclose(m.unbias, np.linalg.inv(m.channel.matrix), rtol=1e-12)
    assert LambdaResponse(4, 1.0).epsilon == INF
    assert LambdaResponse(4, 0.0).release_epsilon == 0


def test_grr_of_many_categories_needs_no_table():
    m = RandomizedResponse(10**6, 2.0)
    drawn = m.sample(np.arange(1000), rng=1)
    assert drawn.max() > 10**5
    assert m.release_epsilon <= 2.0 < m.release_epsilon + 1e-6


def test_zeros_of_a_given_matrix_are_never_sampled():
    P = np.array([[0.7, 0.3, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])  # columns sum as they like
    m = PostRandomization(P)
    assert m.epsilon == m.release_epsilon == INF
    for x in range(3):
        weights = m.weights.row(x)
        assert [w == 0 for w in weights] == (P[x] == 0).tolist()
        drawn = m.sample(np.full(20_000, x), rng=x)
        assert (P[x][drawn] > 0).all()
    np.testing.assert_allclose(P @ m.unbias, np.eye(3), atol=1e-12)


def test_a_singular_matrix_is_sampled_but_not_undone():
    m = PostRandomization([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    assert m.sample(np.array([0, 1, 2]), rng=1).shape == (3,)
    with pytest.raises(InvalidInputError, match="identify"):
        _ = m.unbias
    with pytest.raises(InvalidInputError, match="identify"):
        _ = Table([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]]).unbias


@pytest.mark.parametrize("seed", range(8))
def test_invariant_pram(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    pi = rng.dirichlet(np.full(k, 0.3))
    floors = np.where(rng.random(k) < 0.2, rng.integers(0, 2, k), rng.random(k))
    strata = None if seed % 2 else rng.integers(0, 3, k).tolist()
    m = invariant_pram(pi, minimum_diagonal=floors, strata=strata)
    np.testing.assert_allclose(pi @ m.probabilities, pi, atol=1e-15)
    assert (np.diag(m.probabilities) >= floors).all()
    assert (np.diag(m.channel.matrix) >= floors).all()
    for x in range(k):  # and of what a release samples from, exactly
        assert Fraction(m.weights.row(x)[x], TOTAL) >= Fraction(float(floors[x]))
    if strata is not None:
        moved = np.not_equal.outer(np.array(strata), np.array(strata))
        assert (m.probabilities[moved] == 0).all()
        drawn = m.sample(np.repeat(np.arange(k), 500), rng=1)
        assert (np.array(strata)[drawn] == np.repeat(strata, 500)).all()


def test_invariant_pram_at_the_limits():
    assert invariant_pram([0.5, 0.5], minimum_diagonal=1).epsilon == INF
    rows = invariant_pram([0.2, 0.8], minimum_diagonal=0).probabilities
    np.testing.assert_allclose(rows, [[0.2, 0.8], [0.2, 0.8]], atol=1e-11)
    absent = invariant_pram([0.0, 0.4, 0.6], minimum_diagonal=[0.0, 0.9, 0.9])
    assert (absent.probabilities[:, 0] == 0).all()
    nobody = invariant_pram([0.0, 0.0, 1.0], minimum_diagonal=0.3, strata=[0, 0, 1])
    np.testing.assert_allclose(nobody.probabilities[2], [0, 0, 1])


def test_invariant_pram_is_keep_or_draw_anew():
    pi, f = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.5, 0.9])
    m = invariant_pram(pi, minimum_diagonal=f)
    c = pi * (1 - f) / (pi * (1 - f)).sum()
    np.testing.assert_allclose(m.probabilities, np.diag(f) + (1 - f)[:, np.newaxis] * c, atol=1e-11)
    even = invariant_pram(np.full(5, 0.2), minimum_diagonal=0.6)
    np.testing.assert_allclose(even.probabilities, 0.6 * np.eye(5) + 0.08, atol=1e-11)
    # Regular, because the floors are above 0: other distributions can be estimated.
    np.testing.assert_allclose(m.probabilities @ m.unbias, np.eye(3), atol=1e-12)


def test_floors_against_a_limit_on_epsilon():
    accepted = invariant_pram([0.3, 0.7], minimum_diagonal=0.5, epsilon=2.0)
    assert accepted.epsilon <= 2.0
    with pytest.raises(InfeasibleError, match="no invariant table keeps category 0") as caught:
        invariant_pram([0.1, 0.9], minimum_diagonal=0.9, epsilon=1.0)
    assert caught.value.attribute == "0"
    assert caught.value.total > 1.0
    with pytest.raises(InfeasibleError, match="reveals the stratum"):
        invariant_pram([0.5, 0.5], minimum_diagonal=0, epsilon=1.0, strata=["a", "b"])
    with pytest.raises(InfeasibleError, match="lower its floor"):
        invariant_pram([0.2, 0.3, 0.5], minimum_diagonal=0.6, epsilon=2.0)
    # The ceiling in the message is reached by a table: with two categories it is R = sI + (1 − s)π.
    pi, s = np.array([0.3, 0.7]), 0.4
    R = s * np.eye(2) + (1 - s) * pi
    e = table_epsilon(R)
    ceiling = pi / (pi + (1 - pi) * math.exp(-e))
    assert (np.diag(R) <= ceiling + 1e-12).all()
    assert np.isclose(np.diag(R), ceiling).any()


def test_stratified_response():
    m = stratified_pram(["n", "s", "n", "s", "s"], [1.0, 2.0])
    north = m.probabilities[np.ix_([0, 2], [0, 2])]
    np.testing.assert_allclose(north, randomized_response(2, 1.0).matrix, rtol=1e-14)
    south = m.probabilities[np.ix_([1, 3, 4], [1, 3, 4])]
    np.testing.assert_allclose(south, randomized_response(3, 2.0).matrix, rtol=1e-14)
    assert m.epsilon == INF
    assert stratified_pram([1, 1], 1.0).epsilon == pytest.approx(1.0, abs=1e-12)
    mixed = stratified_pram([1, "1", True], 1.0)  # three different strata
    np.testing.assert_array_equal(mixed.probabilities, np.eye(3))


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-300, 1e-20, 1e-18, 1e-3])
@pytest.mark.parametrize("variant", ["optimized", "symmetric"])
def test_bits_below_the_resolution_of_the_weights(epsilon: float, variant: str) -> None:
    """Never more of the other bits than of the true one, nor an ε above the nominal one."""
    m = UnaryEncoding(4, epsilon, variant)
    p, q = m.bit_weights
    assert 0 < q <= p < TOTAL
    ratio = Fraction(p * (TOTAL - q), q * (TOTAL - p))
    with mp.workdps(400):
        assert mp.log(mpf(ratio.numerator) / ratio.denominator) <= mpf(epsilon)
    assert m.release_epsilon <= epsilon
    assert (p == q) == (epsilon < 1e-19)
