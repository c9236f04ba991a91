"""λ and ε of randomised response, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from seepage import InvalidInputError
from seepage.collect.retention import epsilon_from_retention, retention_from_epsilon

INF = float("inf")


def test_there_and_back_is_the_same_to_1e_14():
    epsilon = np.concatenate([np.geomspace(1e-12, 700, 400), [0.0, INF]])
    k = np.arange(2, 10_001)[:, np.newaxis]
    retention = retention_from_epsilon(epsilon, k)
    again = retention_from_epsilon(epsilon_from_retention(retention, k), k)
    np.testing.assert_allclose(again, retention, rtol=1e-14, atol=0)


@pytest.mark.parametrize("k", [1, 2, 3, 10_000, 10**12])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-12, 1e-3, 1.0, 30.0, 700.0, 1e4])
def test_against_forty_digits(k, epsilon):
    with mp.workdps(400):
        t = mp.expm1(mpf(epsilon))
        wanted = t / (t + k)
        got = retention_from_epsilon(epsilon, k)
        assert isinstance(got, float)
        assert got == pytest.approx(float(wanted), rel=1e-15, abs=5e-324)
        if got < 1:
            back = mp.log1p(k * mpf(got) / (1 - mpf(got)))
            assert epsilon_from_retention(got, k) == pytest.approx(
                float(back), rel=2e-15, abs=5e-324 * k
            )


def test_limits_and_shapes():
    assert retention_from_epsilon(0, 5) == 0
    assert retention_from_epsilon(INF, 5) == 1
    assert epsilon_from_retention(0, 5) == 0
    assert epsilon_from_retention(1, 5) == INF
    np.testing.assert_allclose(
        retention_from_epsilon(1.0, [2, 4]) ** 2, [0.21355, 0.09030], rtol=1e-4
    )
    assert retention_from_epsilon([[1.0], [2.0]], [2, 3, 4]).shape == (2, 3)


@pytest.mark.parametrize("bad", [-1.0, np.nan, "1", True, None, [1.0, -2.0]])
def test_hostile_values(bad):
    with pytest.raises(InvalidInputError):
        retention_from_epsilon(bad, 3)
    with pytest.raises(InvalidInputError):
        epsilon_from_retention(bad, 3)
    with pytest.raises(InvalidInputError, match="k"):
        retention_from_epsilon(1.0, bad)


@pytest.mark.parametrize("k", [0, 1.5, INF, -3])
def test_hostile_sizes(k):
    with pytest.raises(InvalidInputError, match="whole numbers"):
        epsilon_from_retention(0.5, k)


def test_shapes_that_do_not_fit():
    with pytest.raises(InvalidInputError, match="broadcast"):
        retention_from_epsilon([1.0, 2.0], [2, 3, 4])
    with pytest.raises(InvalidInputError):
        epsilon_from_retention(1.5, 2)
