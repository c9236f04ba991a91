"""Measures of success against scikit-learn, scipy and laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from seepage.attack.scores import (
    balanced_accuracy,
    balanced_limits,
    macro_f1,
    proportion,
    score,
    strangers,
)
from seepage.errors import InvalidInputError


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 50), (50, 50), (7, 20), (1, 999)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson(successes, n, confidence):
    found = proportion(successes, n, confidence)
    expected = binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.estimate == successes / n


@pytest.mark.parametrize("p", [0.001, 0.2, 0.5, 0.97])
def test_coverage_by_summation(p):
    n = 30
    covered = 0.0
    for s in range(n + 1):
        found = proportion(s, n, 0.9)
        covered += binom.pmf(s, n, p) * (found.lower <= p <= found.upper)
    assert covered >= 0.9


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 10**6))
def test_measures_agree_with_definitions(n, k, seed):
    rng = np.random.default_rng(seed)
    truth, guesses = rng.integers(0, k, (2, n))
    recalls, scores = [], []
    for value in range(k):
        hits = np.sum((truth == value) & (guesses == value))
        if (truth == value).any():
            recalls.append(hits / np.sum(truth == value))
        if (truth == value).any() or (guesses == value).any():
            scores.append(2 * hits / (np.sum(truth == value) + np.sum(guesses == value)))
    assert balanced_accuracy(truth, guesses, k) == pytest.approx(np.mean(recalls), abs=1e-12)
    assert macro_f1(truth, guesses, k) == pytest.approx(np.mean(scores), abs=1e-12)


def test_macro_f1_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(1)
    truth, guesses = rng.integers(0, 4, (2, 200))
    expected = metrics.f1_score(truth, guesses, average="macro")
    assert macro_f1(truth, guesses, 4) == pytest.approx(expected, abs=1e-12)
    expected = metrics.balanced_accuracy_score(truth, guesses)
    assert balanced_accuracy(truth, guesses, 4) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_strangers_are_others(n):
    found = strangers(n, np.random.default_rng(n))
    assert sorted(found.tolist()) == list(range(n))
    if n > 1:
        assert (found != np.arange(n)).all()


def test_score_by_hand():
    truth = np.array([0, 0, 0, 1])
    beliefs = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.4, 0.6]])
    found = score(truth, beliefs, np.array([0.75, 0.25]), np.array([1, 2, 3, 0]), 0.95)
    assert found.accuracy.estimate == 0.75
    assert found.advantage.estimate == 0.0
    assert found.advantage.lower == pytest.approx(found.accuracy.lower - 0.75)
    # Beliefs over priors point to 0, 1, 1, 1.
    assert found.balanced_accuracy == pytest.approx((1 / 3 + 1) / 2)
    # Guesses 0, 0, 1, 1; those of the next record 0, 1, 1, 0.
    assert found.control.estimate == 0.25
    assert found.macro_f1 == pytest.approx((2 * 2 / 5 + 2 * 1 / 3) / 2)


def test_control_is_chance_for_an_oracle():
    """An attacker who knows the truth is right about strangers as often as two values agree."""
    rng = np.random.default_rng(5)
    prior = np.array([0.5, 0.3, 0.2])
    truth = rng.choice(3, 20_000, p=prior)
    found = score(truth, np.eye(3)[truth], prior, strangers(20_000, rng), 1 - 1e-4)
    assert found.accuracy.estimate == found.balanced_accuracy == 1.0
    assert found.control.lower <= (prior**2).sum() <= found.control.upper
    # Standard error of a mean of three recalls below 0.0025: four of them, 6e-5 on both sides.
    assert found.control_balanced == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("successes", "n", "confidence"), [(2, 1, 0.9), (-1, 1, 0.9), (0, 0, 0.9), (1, 2, 1.0)]
)
def test_hostile(successes, n, confidence):
    with pytest.raises(InvalidInputError, match="expected"):
        proportion(successes, n, confidence)


def cycles(n):
    """All ways in which `strangers` may deal reports, each equally likely."""
    for rest in itertools.permutations(range(1, n)):
        order = np.array((0, *rest))
        found = np.empty(n, dtype=np.int64)
        found[order] = np.roll(order, 1)
        yield found


@pytest.mark.parametrize("truth", [[0, 0, 0, 0, 1], [2, 0, 2, 0, 2, 0], [3, 3, 1, 2], [0, 1]])
def test_mean_of_the_control_by_enumeration(truth):
    """The values 1 to 4 are rare, so that beliefs in some that nobody has rise most."""
    rng = np.random.default_rng(len(truth))
    truth = np.array(truth)
    n, k = len(truth), len(set(truth.tolist()))
    prior = np.array([0.9, 0.04, 0.03, 0.02, 0.01])
    beliefs = rng.dirichlet(np.full(5, 0.5), n)
    beliefs[0] = [0.1, 0.0, 0.0, 0.0, 0.9]
    scores = [score(truth, beliefs, prior, others, 0.9) for others in cycles(n)]
    balanced = scores[0].balanced_accuracy
    mean = np.mean([each.control_balanced for each in scores])
    assert mean == pytest.approx(1 / k - (balanced - 1 / k) / (n - 1), abs=1e-12)
    most = np.bincount(truth).max() / n
    assert np.mean([each.control.estimate for each in scores]) <= most + 1 / (n - 1)


def test_control_when_a_value_is_absent():
    """Reports tell nothing, but lift the belief in a value that no record has: still chance."""
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 3000)
    beliefs = rng.dirichlet(np.full(6, 1.0), 3000)
    found = score(truth, beliefs, np.full(6, 1 / 6), strangers(3000, rng), 0.95)
    # Standard error of a mean of three recalls below 0.009: five of them, 6e-7 on both sides.
    assert found.balanced_accuracy == pytest.approx(1 / 3, abs=0.045)
    assert found.control_balanced == pytest.approx(1 / 3, abs=0.045)


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.2), (0.01, 0.99)])
@pytest.mark.parametrize("counts", [(1, 1), (3, 9), (12, 2)])
def test_coverage_of_balanced_limits_by_summation(rates, counts):
    (p, q), (n, m) = rates, counts
    truth, mean, covered = np.repeat([0, 1], counts), (p + q) / 2, 0.0
    for a, b in itertools.product(range(n + 1), range(m + 1)):
        guesses = np.concatenate([np.arange(n) >= a, np.arange(m) < b]).astype(np.int64)
        found = balanced_limits(truth, guesses, 3, 0.9)
        assert found.estimate == pytest.approx((a / n + b / m) / 2)
        chance = binom.pmf(a, n, p) * binom.pmf(b, m, q)
        covered += chance * (found.lower <= mean <= found.upper)
    assert covered >= 0.9


def test_balanced_limits_by_hand():
    truth = np.repeat([0, 2], [100, 25])
    found = balanced_limits(truth, truth, 3, 0.95)
    # t with 2·exp(−2·t²·4/(1/100 + 1/25)) = 0.05
    assert found.lower == pytest.approx(1 - 0.15184, abs=1e-5)
    assert (found.estimate, found.upper) == (1.0, 1.0)
