"""Bounds on success against a linear program, closed forms and laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from seepage.attack.bounds import (
    accuracy_bound,
    advantage_bound,
    balanced_accuracy_bound,
    posterior_bound,
)
from seepage.channel import randomized_response
from seepage.errors import InvalidInputError

INF = math.inf
LEAKAGES = [0.0, 0.01, 0.3, 1.0, 2.5, 8.0]


def by_program(prior, leakage, outputs):
    """Best channel with these outputs, of which output y is guessed as y mod k, by HiGHS."""
    k, a = len(prior), math.exp(-leakage)
    cost = np.zeros((k, outputs))
    for y in range(outputs):
        cost[y % k, y] = -prior[y % k]
    rows = []
    for y in range(outputs):
        for s in range(k):
            for other in range(k):
                if s != other:  # a · p(y | s) ≤ p(y | other)
                    row = np.zeros((k, outputs))
                    row[s, y], row[other, y] = a, -1
                    rows.append(row.ravel())
    sums = np.kron(np.eye(k), np.ones(outputs))
    found = linprog(cost.ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(k))
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("leakage", LEAKAGES)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_accuracy_equals_the_linear_program(k, leakage):
    rng = np.random.default_rng(k)
    for shape in (0.3, 1.0, 5.0):
        prior = rng.dirichlet(np.full(k, shape))
        bound = accuracy_bound(prior, leakage)
        assert bound == pytest.approx(by_program(prior, leakage, k), abs=1e-9)
        # More reports than values do not help.
        assert bound == pytest.approx(by_program(prior, leakage, 2 * k), abs=1e-9)


def test_accuracy_by_fractions():
    prior = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    a = Fraction(1, 4)
    best = max(sum(prior[:j]) / (1 + (j - 1) * a) for j in (1, 2, 3))
    assert best == Fraction(2, 3)
    assert accuracy_bound([float(p) for p in prior], math.log(4)) == pytest.approx(2 / 3, abs=1e-15)


@given(
    st.lists(st.floats(0.001, 1.0), min_size=2, max_size=6),
    st.floats(0.0, 6.0),
    st.integers(0, 10**6),
)
def test_no_channel_of_this_leakage_exceeds_it(weights, leakage, seed):
    prior = np.array(weights) / sum(weights)
    k = len(prior)
    rng = np.random.default_rng(seed)
    # Rows within e^L of each other: mix a random channel until its log-ratio is the leakage.
    low, high = 0.0, 1.0
    raw = rng.dirichlet(np.full(5, 0.5), size=k) + 1e-12
    raw /= raw.sum(axis=1, keepdims=True)
    mean = raw.mean(axis=0)
    for _ in range(60):
        share = (low + high) / 2
        table = share * raw + (1 - share) * mean
        ratio = np.log(table.max(axis=0) / table.min(axis=0)).max()
        low, high = (share, high) if ratio <= leakage else (low, share)
    table = low * raw + (1 - low) * mean
    success = (prior[:, np.newaxis] * table).max(axis=0).sum()
    assert success <= accuracy_bound(prior, leakage) + 1e-12
    beliefs = prior[:, np.newaxis] * table
    beliefs /= beliefs.sum(axis=0)
    assert (beliefs <= posterior_bound(prior, leakage)[:, np.newaxis] + 1e-12).all()
    balanced = table.max(axis=0).sum() / k
    assert balanced <= balanced_accuracy_bound(k, leakage) + 1e-12


@pytest.mark.parametrize("k", [2, 4, 7])
@pytest.mark.parametrize("leakage", [0.0, 0.5, 3.0, INF])
def test_randomised_response_attains_the_bound_at_equal_priors(k, leakage):
    attained = randomized_response(k, leakage).matrix.max(axis=0).sum() / k
    assert accuracy_bound(np.full(k, 1 / k), leakage) == pytest.approx(attained, rel=1e-14)
    assert balanced_accuracy_bound(k, leakage) == pytest.approx(attained, rel=1e-14)


def test_limits():
    prior = [0.6, 0.3, 0.1]
    assert accuracy_bound(prior, 0.0) == pytest.approx(0.6, abs=1e-15)
    assert accuracy_bound(prior, INF) == pytest.approx(1.0, abs=1e-15)
    assert advantage_bound(prior, 0.0) == 0.0
    assert advantage_bound(prior, INF) == pytest.approx(0.4)
    assert accuracy_bound([1.0], 2.0) == 1.0
    assert accuracy_bound([0.5, 0.2], INF) == pytest.approx(0.7)  # the rest is never guessed
    assert posterior_bound([0.0, 0.2, 1.0], INF).tolist() == [0.0, 1.0, 1.0]
    assert posterior_bound([0.0, 0.2, 1.0], 0.0).tolist() == [0.0, 0.2, 1.0]
    assert posterior_bound(0.5, 1.0) == pytest.approx(math.e / (1 + math.e))
    assert balanced_accuracy_bound(1, 0.0) == 1.0
    assert accuracy_bound(prior, 1e6) == pytest.approx(1.0, abs=1e-15)


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8), st.floats(0, 50), st.floats(0, 50))
def test_grows_with_leakage(weights, first, second):
    prior = np.array(weights) / sum(weights)
    low, high = sorted((first, second))
    assert prior.max() - 1e-12 <= accuracy_bound(prior, low)
    assert accuracy_bound(prior, low) <= accuracy_bound(prior, high) + 1e-15


@pytest.mark.parametrize(
    ("prior", "leakage"),
    [
        ([0.5, 0.6], 1.0),
        ([-0.1, 0.5], 1.0),
        ([0.5, math.nan], 1.0),
        ([], 1.0),
        ([[0.5], [0.5]], 1.0),
        (["a", "b"], 1.0),
        ([0.5, 0.5], -1.0),
        ([0.5, 0.5], math.nan),
        ([0.5, 0.5], [1.0, 2.0]),
        ([0.5, 0.5], True),
        (None, 1.0),
    ],
)
def test_hostile(prior, leakage):
    with pytest.raises(InvalidInputError, match="expected"):
        accuracy_bound(prior, leakage)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None])
def test_hostile_number_of_values(k):
    with pytest.raises(InvalidInputError, match="expected k"):
        balanced_accuracy_bound(k, 1.0)
