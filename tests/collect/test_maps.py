"""Maps by their structure against the tables they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.collect._maps import DenseMap, Even, EvenMap
from seepage.collect.registry import mechanism as make_mechanism
from seepage.collect.routes import Expected
from seepage.errors import CapacityError

KINDS = ("grr", "sue", "oue", "blh", "olh", "subset")


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@given(k=st.integers(2, 9), epsilon=st.floats(0.2, 6), seed=st.integers(0, 99))
def test_even_maps_equal_their_tables(kind, k, epsilon, seed):
    rng = np.random.default_rng(seed)
    mechanism = make_mechanism(kind, k, epsilon)
    even = mechanism.even
    assert isinstance(even, Even)
    one = even.map(k)
    close(mechanism.moments() @ one.dense(), np.eye(k))  # unbiased
    close(mechanism.moments()[:, :k], even.stay * np.eye(k) + even.spread)
    groups = rng.integers(1, k + 1)
    member = np.concatenate([np.arange(groups), rng.integers(0, groups, k - groups)])
    for mapped, same in (
        (one, DenseMap(one.dense())),
        (one.gather(member, groups), DenseMap(one.dense()).gather(member, groups)),
    ):
        assert mapped.shape == same.shape
        close(mapped.dense(), same.dense())
        table = rng.normal(size=(mapped.shape[0], 3, 2))
        close(mapped.contract(table), same.contract(table))
        weights = rng.normal(size=mapped.shape[1])
        close(mapped.combine(weights), same.combine(weights))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [2, 3])
def test_powers_of_scores(kind, power):
    """Score by score, for reports as they come."""
    rng = np.random.default_rng(5)
    mechanism = make_mechanism(kind, 5, 1.3)
    reports = mechanism.sample(rng.integers(0, 5, 40), rng=rng)
    features = mechanism.featurize(reports)
    one = mechanism.even.map(5)
    close(features @ one.power(power).dense(), (features @ one.dense()) ** power)


@pytest.mark.parametrize("fake", [1, 4])
def test_expected_scores_of_groups(fake):
    """By the table of the mechanism, summed over its categories."""
    member = np.array([0, 1, 0, 2, 1, 0])
    mechanism = make_mechanism("grr", 6, 0.9)
    table = mechanism.moments() / fake + (1 - 1 / fake) / 6
    even = mechanism.even.with_fake(fake, 6)
    scores = even.map(6).gather(member, 3)
    close(table @ scores.dense(), np.eye(3)[member])
    for power in (1, 2, 3):
        own = scores.power(power)
        expected = table @ own.dense()
        close(Expected(member, even).mean(own), expected.mean(axis=0))
        inside = [expected[member == j, j].mean() for j in range(3)]
        close(Expected(member, even).inside(own), inside)
        close(Expected(member, table).inside(own), inside)


def test_tables_of_wide_maps_are_refused():
    with pytest.raises(CapacityError):
        EvenMap.of(100_000, 1.0, 0.0, constant=False).dense()
