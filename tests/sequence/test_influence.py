"""Influence: closed forms against powers, regions, clear distances, sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.errors import CapacityError, InvalidInputError
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import (
    binary_clear_distance,
    binary_influence,
    clear_distance,
    influence,
    regions,
    set_influence,
)

probability = st.floats(0.01, 0.99)


@settings(max_examples=40)
@given(probability, probability)
def test_closed_form_is_that_of_powers(alpha, beta):
    chain = MarkovChain.binary(alpha, beta)
    d = np.arange(1, 9)
    closed = binary_influence(alpha, beta, d)
    np.testing.assert_allclose(influence(chain, 9, 0)[1:].T, closed, rtol=1e-9, atol=3e-14)
    np.testing.assert_allclose(influence(chain, 9, 8)[:-1][::-1].T, closed, rtol=1e-9, atol=3e-14)
    for i in d:
        P = np.linalg.matrix_power(chain.transition, int(i))
        direct = np.abs(np.log(P[0]) - np.log(P[1]))
        np.testing.assert_allclose(closed[:, i - 1], direct, rtol=1e-8, atol=1e-12)


def test_example_of_the_paper():
    low, high = binary_influence(0.25, 0.5, 1)
    assert (low, high) == (pytest.approx(np.log(1.5)), pytest.approx(np.log(2)))
    found = regions(MarkovChain.binary(0.25, 0.5), 10, 3, 0.5)
    assert (found.large, found.medium) == ((), (2, 4))
    assert found.small == (0, 1, 5, 6, 7, 8, 9)
    assert binary_influence(0.25, 0.5, 0).tolist() == [np.inf, np.inf]
    assert binary_influence(0.0, 0.5, [1, 2]).tolist() == [[0, 0], [0, 0]]


def test_clear_distance_in_closed_form():
    rng = np.random.default_rng(2)
    for i in range(100):
        alpha, beta = rng.uniform(0.005, 1, 2) * (0.3 if i % 2 else 1)
        epsilon = float(np.exp(rng.uniform(-4, 1.6)))
        chain = MarkovChain.binary(alpha, beta)
        wanted = clear_distance(chain, epsilon, most=10_000)
        assert binary_clear_distance(alpha, beta, epsilon) == wanted
        assert influence(chain, wanted + 1, 0)[wanted].max() <= epsilon
        if wanted > 1:
            assert influence(chain, wanted + 1, 0)[wanted - 1].max() > epsilon


def test_clear_distance_limits():
    lazy, cycle = MarkovChain.binary(0.1, 0.2), MarkovChain.binary(1, 1)
    assert clear_distance(lazy, np.inf) == binary_clear_distance(0.1, 0.2, np.inf) == 1
    assert binary_clear_distance(0.1, 0.2, 0) is None
    assert clear_distance(cycle, 5, most=300) is None
    assert binary_clear_distance(1, 1, 5) is None
    assert clear_distance(MarkovChain.binary(0.3, 0.7), 0) == 1
    assert binary_clear_distance(0.3, 0.7, 0) == 1


def test_a_set_is_decided_by_its_nearest_records():
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.1, 0.6]])
    near, all_ = (set_influence(chain, spots, 4) for spots in ([2, 5], [0, 2, 5, 7]))
    assert len(all_) == 81
    assert max(all_.values()) == pytest.approx(max(near.values()), abs=1e-12)
    one = set_influence(chain, [6], 4)
    row = influence(chain, 9, 4)[6]
    assert [one[(v,)] for v in range(3)] == pytest.approx(row.tolist())
    assert set_influence(chain, [], 4) == {(): pytest.approx(0, abs=1e-12)}
    with pytest.raises(CapacityError, match="joint values"):
        set_influence(chain, range(30), 4)


def test_hostile_input():
    chain = MarkovChain.binary(0.2, 0.3)
    for bad in (-1, 0.5, "a"):
        with pytest.raises(InvalidInputError):
            binary_influence(0.2, 0.3, bad)
    with pytest.raises(InvalidInputError):
        regions(chain, 5, 5, 1.0)
    with pytest.raises(InvalidInputError):
        regions(chain, 5, 0, -1.0)
    with pytest.raises(InvalidInputError):
        clear_distance(chain, [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="stationary"):
        clear_distance(MarkovChain(chain.transition, [1, 0]), 1.0)
