"""Channels against plain matrix algebra and exact values."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from seepage import Channel, InvalidInputError, lambda_response, randomized_response

INF = float("inf")
EPSILONS = [0.0, 1e-12, 1e-6, 0.1, 1.0, 30.0, 700.0, 1e4, 1e6, INF]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [1, 2, 3, 1000])
def test_randomized_response_has_exactly_its_epsilon(k, epsilon):
    channel = randomized_response(k, epsilon)
    assert channel.epsilon == (epsilon if k > 1 else 0.0)
    # From the table alone the same, to the rounding of the logarithms.
    read = Channel(channel.log_matrix).epsilon
    assert read == pytest.approx(channel.epsilon, rel=1e-15, abs=4e-15)
    with mp.workdps(40):
        q = mp.exp(-mpf(epsilon))
        keep = 1 / (1 + (k - 1) * q)
        np.testing.assert_allclose(np.diag(channel.matrix), float(keep), rtol=1e-14)
        if k > 1:
            assert channel.matrix[0, 1] == pytest.approx(float(keep * q), rel=1e-13, abs=1e-320)
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("retention", [0.0, 1e-12, 0.3, 0.999999, 1.0])
def test_lambda_response(k, retention):
    channel = lambda_response(k, retention)
    np.testing.assert_allclose(
        channel.matrix, retention * np.eye(k) + (1 - retention) / k, rtol=1e-14
    )
    if k == 1:
        assert channel.epsilon == 0
    elif retention == 1:
        assert channel.epsilon == INF
    else:
        with mp.workdps(40):
            wanted = mp.log1p(k * mpf(retention) / (1 - mpf(retention)))
        assert channel.epsilon == pytest.approx(float(wanted), rel=1e-15)


def test_lambda_response_is_randomized_response():
    t = np.expm1(1.5)
    left, right = lambda_response(4, t / (t + 4)), randomized_response(4, 1.5)
    np.testing.assert_allclose(left.matrix, right.matrix, rtol=1e-14)


def random_channel(rng: np.random.Generator, a: int, b: int) -> np.ndarray:
    P = np.where(rng.random((a, b)) < 0.3, 0.0, rng.random((a, b)))
    P[np.arange(a), rng.integers(0, b, a)] += 0.5
    return P / P.sum(axis=1, keepdims=True)


def test_cascade_and_product_are_matrix_algebra():
    rng = np.random.default_rng(0)
    for _ in range(30):
        a, b, c, d = rng.integers(1, 6, 4)
        P, Q, R = random_channel(rng, a, b), random_channel(rng, b, c), random_channel(rng, c, d)
        left, middle = Channel.from_matrix(P), Channel.from_matrix(Q)
        np.testing.assert_allclose(left.then(middle).matrix, P @ Q, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(
            left.then(middle).then(Channel.from_matrix(R)).matrix,
            P @ Q @ R,
            rtol=1e-12,
            atol=1e-300,
        )
        both = left.product(middle)
        np.testing.assert_allclose(both.matrix, np.kron(P, Q), rtol=1e-13, atol=1e-300)
        assert both.epsilon == pytest.approx(Channel(both.log_matrix).epsilon, rel=1e-14)
        np.testing.assert_allclose(left.then(Channel.identity(b)).matrix, P, rtol=1e-13)


@pytest.mark.parametrize("epsilon", [1e-12, 500.0, 700.0, 1e4, 1e6, INF])
def test_extreme_randomised_response_after_a_correlated_table(epsilon):
    P = np.array([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    cascade = Channel.from_matrix(P).then(randomized_response(3, epsilon))
    assert not np.isnan(cascade.log_matrix).any()
    with mp.workdps(60):
        q = mp.exp(-mpf(epsilon))
        for x in range(3):
            for y in range(3):
                inside = mpf(P[x, y])
                value = (inside + q * (sum(map(mpf, P[x].tolist())) - inside)) / (1 + 2 * q)
                wanted = -INF if value == 0 else float(mp.log(value))
                assert cascade.log_matrix[x, y] == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    assert 0 <= cascade.epsilon <= epsilon + 1e-15
    twice = randomized_response(3, epsilon).then(randomized_response(3, epsilon))
    assert not np.isnan(twice.log_matrix).any()
    assert twice.epsilon <= epsilon + 1e-15
    both = randomized_response(2, epsilon).product(randomized_response(3, epsilon))
    assert both.epsilon == 2 * epsilon
    assert not np.isnan(both.log_matrix).any()


def test_rows_at_the_tolerance_still_compose():
    P = np.array([[0.5, 0.5 + 9e-10], [0.3, 0.7]])
    channel = Channel.from_matrix(P)
    once = channel.product(channel).then(channel.product(channel))
    np.testing.assert_allclose(once.matrix.sum(axis=1), 1, atol=1e-9)


def test_identity_and_constant():
    assert Channel.identity(1).epsilon == 0
    assert Channel.identity(3).epsilon == INF
    assert Channel.from_matrix([[0.5, 0, 0.5]] * 2).epsilon == 0
    assert Channel.from_matrix([[0.5, 0.5], [1, 0]]).epsilon == INF
    assert Channel.from_matrix([[0.5, 0.5]]).shape == (1, 2)


@pytest.mark.parametrize("k", [0, -1, 2.0, 2.5, "2", None, True, np.bool_(True), [2], float("nan")])
def test_hostile_sizes(k):
    for make in (
        lambda: randomized_response(k, 1.0),
        lambda: lambda_response(k, 0.5),
        lambda: Channel.identity(k),
    ):
        with pytest.raises(InvalidInputError, match="whole number"):
            make()


@pytest.mark.parametrize("value", [-1, float("nan"), "1", None, True, [0.5], [], 1j, -INF])
def test_hostile_parameters(value):
    with pytest.raises(InvalidInputError, match="expected"):
        randomized_response(3, value)
    with pytest.raises(InvalidInputError, match="expected"):
        lambda_response(3, value)
    with pytest.raises(InvalidInputError, match="expected"):
        lambda_response(3, 1.5)


@pytest.mark.parametrize(
    "table", [[], [[]], [[0.5, 0.6]], [[1, 0], [1]], "x", None, [[float("nan")]], [[1j]], [[True]]]
)
def test_hostile_tables(table):
    with pytest.raises(InvalidInputError, match="expected"):
        Channel.from_matrix(table)


@pytest.mark.parametrize(
    "logs", [[[1e4]], [[0.1]], [[float("nan")]], "x", None, [[0], [0, 0]], [0]]
)
def test_hostile_logarithms(logs):
    with pytest.raises(InvalidInputError, match="expected"):
        Channel(logs)


def test_channels_that_do_not_fit():
    channel = randomized_response(3, 1)
    with pytest.raises(InvalidInputError, match="3 inputs, got 2"):
        channel.then(randomized_response(2, 1))
    for other in (None, np.eye(3), "x"):
        with pytest.raises(InvalidInputError, match="Channel"):
            channel.then(other)
        with pytest.raises(InvalidInputError, match="Channel"):
            channel.product(other)


@pytest.mark.parametrize("k", [2, 3, 50])
@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 0.1, 1.0, 30.0, 700.0, 1e6, INF])
def test_retention_of_randomized_response(k, epsilon):
    with mp.workdps(400):
        t = mp.expm1(mpf(min(epsilon, 1e4)))
        wanted = float(t / (t + k))
    assert randomized_response(k, epsilon).retention == pytest.approx(wanted, rel=2e-15, abs=0)
    # From the table alone the same, to the rounding of its numbers.
    read = Channel(randomized_response(k, epsilon).log_matrix)
    assert read.retention == pytest.approx(wanted, abs=1e-15)


def test_retention_of_a_table_with_a_common_row():
    rng = np.random.default_rng(2)
    for _ in range(30):
        k = int(rng.integers(2, 7))
        c = rng.dirichlet(np.ones(k))
        for kept in (0.0, 0.3, 1.0, -0.5 * c.min() / (1 - c.min())):
            table = kept * np.eye(k) + (1 - kept) * c
            channel = Channel.from_matrix(table)
            assert channel.retention == pytest.approx(kept, abs=1e-14)
            if abs(kept) > 0.1:
                np.testing.assert_allclose(
                    channel.inverse, np.linalg.inv(table), rtol=1e-12, atol=1e-13
                )
    assert Channel.from_matrix([[0.0, 1.0], [1.0, 0.0]]).retention == -1
    assert lambda_response(5, 0.37).retention == pytest.approx(0.37, rel=1e-15)
    assert Channel.identity(4).retention == Channel.identity(1).retention == 1
    cascade = randomized_response(4, 1.0).then(randomized_response(4, 2.0))
    wanted = randomized_response(4, 1.0).retention * randomized_response(4, 2.0).retention
    assert cascade.retention == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.25, 0.25]],
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]],
        np.eye(3)[[1, 2, 0]],
    ],
)
def test_tables_without_a_retention(matrix):
    with pytest.raises(InvalidInputError, match="square table"):
        _ = Channel.from_matrix(matrix).retention


def test_inverse_of_a_general_table():
    rng = np.random.default_rng(3)
    for _ in range(40):
        k = int(rng.integers(1, 7))
        m = k + int(rng.integers(0, 4))
        P = rng.dirichlet(np.full(m, 0.7), size=k)
        P = np.insert(P, int(rng.integers(0, m + 1)), 0.0, axis=1)  # a report that never happens
        U = Channel.from_matrix(P).inverse
        assert U.shape == (m + 1, k)
        bound = 1e-14 * (1 + np.abs(U).max())
        np.testing.assert_allclose(P @ U, np.eye(k), atol=1e-12 + 10 * bound)
        if m == k:
            used = P.sum(axis=0) > 0
            np.testing.assert_allclose(
                U[used], np.linalg.inv(P[:, used]), atol=1e-12 * np.abs(U).max() ** 2 + 1e-12
            )


def test_inverse_has_the_smallest_variance_for_uniform_inputs():
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.ones(6), size=3)
    U = Channel.from_matrix(P).inverse
    null = np.linalg.svd(P)[2][3:].T  # what may be added without bias

    def variance(table):
        return (P.mean(axis=0) @ table**2).sum()

    for _ in range(100):
        other = U + 0.05 * null @ rng.standard_normal((3, 3))
        np.testing.assert_allclose(P @ other, np.eye(3), atol=1e-12)
        assert variance(other) > variance(U)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [0.5, 0.5]],
        [[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]],
        [[0.2, 0.3, 0.5], [0.4, 0.3, 0.3], [0.3, 0.3, 0.4]],
        [[0.1 + 0.2, 0.7], [0.3, 0.7]],  # the same row, but for rounding
        np.full((3, 3), 1 / 3),
    ],
)
def test_tables_without_an_inverse(matrix):
    with pytest.raises(InvalidInputError, match="identify"):
        _ = Channel.from_matrix(matrix).inverse
