"""Measures of success against scikit-learn, scipy and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from seepage.attack.scores import balanced_accuracy, macro_f1, proportion, score, strangers
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
