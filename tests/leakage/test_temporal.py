"""Temporal leakage: golden values, limits, allocation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.errors import InvalidInputError
from seepage.leakage.temporal import temporal_budgets, temporal_leakage, temporal_supremum
from seepage.tradeoff import TradeOff

P = [[0.8, 0.2], [0.0, 1.0]]
IDENTITY = np.eye(2)


def test_golden_values():
    found = temporal_leakage(P, P, [0.1] * 10)
    backward = [
        0.1, 0.180784, 0.247148, 0.302365, 0.348768, 0.388074, 0.421584, 0.450304, 0.475028,
        0.496389,
    ]  # fmt: skip
    total = [0.496389, 0.555812, 0.597452, 0.623949, 0.636841]
    np.testing.assert_allclose(found.backward, backward, atol=6e-7)
    np.testing.assert_allclose(found.forward, backward[::-1], atol=6e-7)
    np.testing.assert_allclose(found.total, total + total[::-1], atol=6e-7)


def test_unknown_directions_and_limits():
    e = np.array([1.0, 0.0, 2.0])
    both = temporal_leakage(None, None, e)
    assert both.total.tolist() == both.backward.tolist() == both.forward.tolist() == e.tolist()
    one = temporal_leakage(IDENTITY, None, e)
    assert one.backward.tolist() == one.total.tolist() == [1.0, 1.0, 3.0]
    infinite = temporal_leakage(P, IDENTITY, [1.0, np.inf, 1.0])
    assert infinite.total[1] == np.inf
    assert not np.isnan(infinite.total).any()
    with pytest.raises(InvalidInputError, match="square table"):
        temporal_leakage([[0.5, 0.5]], None, e)
    with pytest.raises(InvalidInputError, match="one budget for each time step"):
        temporal_leakage(P, P, 1.0)


def random_transition(rng):
    k = int(rng.integers(2, 5))
    table = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0])), size=k)
    if rng.random() < 0.4:
        table[rng.integers(k), rng.integers(k)] = 0
    return table / table.sum(axis=1, keepdims=True)


def test_supremum_is_the_limit_of_the_recursion():
    rng = np.random.default_rng(6)
    finite = infinite = 0
    for _ in range(60):
        curve = TradeOff.envelope(random_transition(rng))
        e = float(rng.choice([1e-6, 0.05, 0.7, 3.0, 35.0, 200.0]) * rng.uniform(0.5, 1))
        limit = temporal_supremum(curve, e)
        B = 0.0
        for _ in range(1200):
            previous, B = B, curve.leakage(B) + e
            if B - previous <= 1e-13 * B or limit + 1 < B:
                break
        if np.isinf(limit):
            infinite += 1
            assert B > 20 or B - previous > 1e-7
        else:
            finite += 1
            assert limit + 1e-9 * limit >= B
            assert curve.leakage(limit) + e == pytest.approx(limit, rel=1e-9)
            if B - previous <= 1e-13 * B:
                assert limit == pytest.approx(B, rel=1e-6)
    assert finite > 15
    assert infinite > 5


def test_supremum_limits():
    assert temporal_supremum(IDENTITY, 0.0) == 0
    assert temporal_supremum(IDENTITY, 1e-300) == np.inf
    assert temporal_supremum(IDENTITY, np.inf) == np.inf
    assert temporal_supremum(None, 2.0) == 2.0
    assert temporal_supremum([[0.5, 0.5], [0.5, 0.5]], 700.0) == pytest.approx(700.0, rel=1e-15)
    # α = 0, p = 0.8: finite below ln 1/0.8 = 0.2231, with z = e^ε·0.2/(1 − 0.8·e^ε)
    assert temporal_supremum(P, 0.2232) == np.inf
    expected = np.log(np.exp(0.2) * 0.2 / (1 - 0.8 * np.exp(0.2)))
    assert temporal_supremum(P, 0.2) == pytest.approx(expected, rel=1e-12)


@given(
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 0.4, 3.0, 12.0]),
    st.integers(1, 12),
    st.sampled_from([(True, True), (True, False), (False, True), (False, False)]),
)
def test_balanced_budgets_meet_the_target_everywhere(seed, target, steps, known):
    rng = np.random.default_rng(seed)
    curves = [TradeOff.envelope(random_transition(rng)) if use else None for use in known]
    budgets = temporal_budgets(*curves, target, steps)
    total = temporal_leakage(*curves, budgets).total
    assert (budgets >= 0).all()
    assert (total <= target).all()
    # The limits are steep where ε is close to making them infinite.
    np.testing.assert_allclose(total, target, rtol=1e-7)


def test_balanced_budgets_of_a_value_that_never_changes():
    for curves in ((IDENTITY, IDENTITY), (IDENTITY, None), (None, IDENTITY), (P, IDENTITY)):
        budgets = temporal_budgets(*curves, 2.0, 5)
        total = temporal_leakage(*curves, budgets).total
        np.testing.assert_allclose(total, 2.0, rtol=1e-12)
        assert (total <= 2.0).all()


def test_uniform_budgets():
    for steps in (1, 2, 7, 400):
        budgets = temporal_budgets(P, P, 1.5, steps, method="uniform")
        assert np.ptp(budgets) == 0
        total = temporal_leakage(P, P, budgets).total
        assert total.max() <= 1.5
        assert total.max() == pytest.approx(1.5, rel=1e-12)
        more = temporal_leakage(P, P, budgets * (1 + 1e-9)).total
        assert more.max() > 1.5
        balanced = temporal_budgets(P, P, 1.5, steps)
        assert balanced.sum() >= budgets.sum() * (1 - 1e-12)
    assert temporal_budgets(IDENTITY, IDENTITY, 2.0, 4, method="uniform").sum() <= 2.0
    assert np.isinf(temporal_budgets(P, P, np.inf, 3)).all()
    assert (temporal_budgets(P, P, 0.0, 3) == 0).all()
    with pytest.raises(InvalidInputError, match="'balanced' or 'uniform'"):
        temporal_budgets(P, P, 1.0, 3, method="equal")


@pytest.mark.parametrize("epsilon", [700.0, 746.0, 1e4, 1e300])
def test_supremum_at_large_budgets(epsilon):
    independent = [[0.5, 0.5], [0.5, 0.5]]
    assert temporal_supremum(independent, epsilon) == pytest.approx(epsilon, rel=1e-14)
    assert temporal_supremum([[1.0]], epsilon) == epsilon
    # The largest ratio of the chain is 8, and the whole of it seeps through.
    sticky = temporal_supremum([[0.9, 0.1], [0.2, 0.8]], epsilon)
    assert sticky == pytest.approx(epsilon + np.log(8), rel=1e-12)


def test_supremum_is_finite_and_monotone_near_the_change_of_form():
    tiny = [[1 - 1e-16, 1e-16], [1e-300, 1]]
    values = [temporal_supremum(tiny, e) for e in (1.0, 29.99, 30.0, 30.01)]
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
