"""Likelihoods of reports: they sum to one, have the stated ε, and agree with simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from seepage.collect.hashing import PRIME, LocalHashing
from seepage.collect.registry import mechanism
from seepage.collect.response import LambdaResponse, RandomizedResponse
from seepage.errors import CapacityError, InvalidInputError

INF = math.inf
KINDS = ["grr", "oue", "sue", "subset", "staircase", "exponential"]


def every_report(made):
    if made.form == "category":
        return np.arange(made.features)
    bits = np.array(list(itertools.product([False, True], repeat=made.k)))
    return bits[bits.sum(axis=1) == made.subset_size] if made.kind == "subset" else bits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 3.0, 40.0, 800.0, INF])
def test_sum_and_ratio_over_all_reports(kind, k, epsilon):
    made = mechanism(kind, k, epsilon=epsilon)
    logs = made.log_likelihood(every_report(made))
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1, rtol=1e-12)
    high, low = logs.max(axis=1), logs.min(axis=1)
    possible = high > -INF
    assert (high[possible] - low[possible]).max() == pytest.approx(
        made.epsilon, rel=1e-9, abs=1e-14
    )


@pytest.mark.parametrize("kind", ["oue", "sue", "subset"])
def test_agrees_with_simulation(kind):
    """Chi-squared test of 20,000 reports against the likelihoods; false alarm 1e-4."""
    made, n = mechanism(kind, 4, epsilon=1.0), 20_000
    space = every_report(made)
    expected = n * np.exp(made.log_likelihood(space)[:, 2])
    drawn = made.sample(np.full(n, 2), rng=5)
    number = {tuple(bits): i for i, bits in enumerate(space.tolist())}
    seen = np.bincount([number[tuple(bits)] for bits in drawn.tolist()], minlength=len(space))
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-4, len(space) - 1)


@pytest.mark.parametrize("variant", ["optimized", "binary"])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0, 800.0])
def test_hashing_by_its_values(variant, epsilon):
    made = LocalHashing(3, epsilon, variant)
    if made.buckets > 1000:
        return
    for seed in (0, 12345, PRIME**2 - 1):
        reports = np.array([[seed, value] for value in range(made.buckets)])
        logs = made.log_likelihood(reports) + 2 * math.log(PRIME)
        np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1, rtol=1e-12)
        for x in range(3):  # exactly one value is the hash of a category
            assert (logs[:, x] == logs[:, x].max()).sum() == (1 if epsilon else made.buckets)
    spread = logs.max() - logs.min()
    assert spread == pytest.approx(epsilon, rel=1e-12)


def test_hashing_without_noise():
    made = LocalHashing(5, INF)
    codes = np.arange(5)
    logs = made.log_likelihood(made.sample(codes, rng=1))
    assert np.isfinite(logs[codes, codes]).all()
    assert not np.isnan(logs).any()


@pytest.mark.parametrize("kind", ["grr", "oue", "olh", "subset"])
def test_hostile(kind):
    made = mechanism(kind, 3, epsilon=1.0)
    for reports in (None, "x", [[0.5, 0.5]], np.array([9]), np.zeros((1, 7), dtype=bool)):
        with pytest.raises(InvalidInputError):
            made.log_likelihood(reports)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("value", [0.0, 1e-9, 0.5, 1.0, 40.0, 800.0, math.inf])
def test_response_likelihoods_are_columns_of_the_channel(k, value):
    reports = np.arange(k)[::-1]
    for made in (RandomizedResponse(k, value), LambdaResponse(k, -math.expm1(-value))):
        expected = made.channel.log_matrix.T[reports]
        np.testing.assert_allclose(made.log_likelihood(reports), expected, rtol=1e-14, atol=1e-15)
    assert made.log_likelihood(reports[:0]).shape == (0, k)


def test_responses_of_many_categories_need_no_table():
    k = 100_000
    made = RandomizedResponse(k, 2.0)
    with pytest.raises(CapacityError):
        _ = made.channel
    logs = made.log_likelihood(np.array([3, k - 1]))
    assert logs.shape == (2, k)
    assert np.exp(logs).sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-9)
    assert logs[1, k - 1] - logs[1, 0] == pytest.approx(2.0)
