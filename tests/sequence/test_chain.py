"""Markov chains: laws, powers, reversal, simulation, labels."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.errors import DomainError, InvalidInputError
from seepage.sequence.chain import MarkovChain


def random_chain(seed, start=False):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    P = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0])), size=k)
    return MarkovChain(P, rng.dirichlet(np.ones(k)) if start else None)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_stationary_law_and_reversal(seed):
    chain = random_chain(seed)
    law = chain.stationary
    np.testing.assert_allclose(law @ chain.transition, law, atol=1e-14)
    assert law.sum() == pytest.approx(1, abs=1e-14)
    back = chain.reversed()
    np.testing.assert_allclose(
        law[:, None] * chain.transition, (law[:, None] * back.transition).T, atol=1e-14
    )
    np.testing.assert_allclose(back.reversed().transition, chain.transition, atol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 60))
def test_powers_and_marginals(seed, distance):
    chain = random_chain(seed, start=True)
    power = np.linalg.matrix_power(chain.transition, distance)
    np.testing.assert_allclose(chain.power(distance), power, atol=1e-11)
    laws = chain.marginals(3, 3 + distance)
    assert laws.shape == (distance, chain.k)
    law = chain.start @ np.linalg.matrix_power(chain.transition, 3)
    for row in laws:
        np.testing.assert_allclose(row, law, atol=1e-12)
        law = law @ chain.transition


def test_law_of_a_nearly_separate_chain_keeps_its_digits():
    P = [[1 - 1e-14, 1e-14, 0], [3e-15, 1 - 4e-15, 1e-15], [0.0, 1e-13, 1 - 1e-13]]
    P = np.array(P)
    np.fill_diagonal(P, 0)
    np.fill_diagonal(P, 1 - P.sum(axis=1))
    exact = mpmath.matrix([1, mpmath.mpf(1e-14) / mpmath.mpf(3e-15), 0])
    exact[2] = exact[1] * mpmath.mpf(1e-15) / mpmath.mpf(1e-13)
    total = exact[0] + exact[1] + exact[2]
    law = MarkovChain(P).stationary
    for i in range(3):
        assert law[i] == pytest.approx(float(exact[i] / total), rel=1e-12)


def test_transient_states_and_several_laws():
    chain = MarkovChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0.25, 0.75]])
    np.testing.assert_allclose(chain.stationary, [0, 1 / 3, 2 / 3])
    assert chain.reversed().transition.shape == (3, 3)
    with pytest.raises(InvalidInputError, match="one stationary law"):
        MarkovChain(np.eye(2))
    stuck = MarkovChain(np.eye(2), [0.25, 0.75])
    assert stuck.is_stationary
    assert MarkovChain([[1.0]]).stationary.tolist() == [1.0]


def test_binary():
    assert MarkovChain.binary(0.1, 0.9).transition.tolist() == [[0.9, 0.1], [0.9, 0.1]]
    assert MarkovChain.binary(0, 1).stationary.tolist() == [1, 0]
    for bad in ((0, 0), (-0.1, 0.5), (0.5, np.nan), (True, 0.5), ("a", 0.5), ([0.1], 0.5)):
        with pytest.raises(InvalidInputError):
            MarkovChain.binary(*bad)


def test_simulation_follows_the_chain():
    # 6 standard errors: a false alarm in about 1e-8 of seeds.
    chain = MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    codes = chain.simulate(50, 2000, rng=4)
    assert codes.shape == (2000, 50)
    for i in range(3):
        after = codes[:, 1:][codes[:, :-1] == i]
        for j in range(3):
            p = chain.transition[i, j]
            assert abs((after == j).mean() - p) < 6 * np.sqrt(p * (1 - p) / after.size)
    assert np.array_equal(chain.simulate(9, rng=1), chain.simulate(9, rng=1))
    with pytest.raises(InvalidInputError, match="rng"):
        chain.simulate(9, rng="seed")


def test_labels():
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=("dry", "wet"))
    assert chain.encode(["wet", "dry"]).tolist() == [1, 0]
    assert chain.encode([]).tolist() == []
    with pytest.raises(DomainError, match=r"got 'wett' at position 1\. Did you mean 'wet'"):
        chain.encode(["wet", "wett"])
    for bad in (None, np.nan, ["wet"], {"a": 1}):
        with pytest.raises(DomainError):
            chain.encode([bad])
    number = MarkovChain.binary(0.2, 0.3)
    assert number.encode(np.array([1, 0], dtype=np.int8)).tolist() == [1, 0]
    for bad in (True, "1", 2):
        with pytest.raises(DomainError):
            number.encode([bad])
    with pytest.raises(InvalidInputError, match="sequence of states"):
        number.encode("01")
    with pytest.raises(InvalidInputError, match="sequence of states"):
        number.encode(3)


@pytest.mark.parametrize(
    "given_",
    [
        {"transition": [[0.5, 0.5]]},
        {"transition": [[0.5, 0.6], [0.5, 0.5]]},
        {"transition": []},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "initial": [1.0]},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "initial": [0.5, 0.6]},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": ("a", "a")},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": ("a",)},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": "ab"},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": ("a", None)},
        {"transition": [[0.5, 0.5], [0.5, 0.5]], "states": ("a", ["b"])},
    ],
)
def test_hostile_input(given_):
    with pytest.raises(InvalidInputError):
        MarkovChain(**given_)


def test_powers_refuse_what_is_no_distance():
    for bad in (-1, 0.5, True, "1"):
        with pytest.raises(InvalidInputError, match="distance"):
            MarkovChain.binary(0.2, 0.3).power(bad)
    start = MarkovChain([[0.5, 0.5], [0.1, 0.9]], [1, 0])
    with pytest.raises(InvalidInputError, match="stationary"):
        start.reversed()
