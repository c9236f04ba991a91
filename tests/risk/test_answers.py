"""Numbers that are rounded to the answers of randomised response.

Simulations compare at 4.5 standard errors: by chance one of the eleven fails with probability below
1e-4. Seeds are fixed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.risk._answers import AMONG, ROUNDED, answers
from seepage.risk.designs import (
    Correlation,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoSampleMeans,
    Values,
)
from seepage.risk.multiple import PlannedTest
from seepage.risk.planning import minimum_detectable_effect, sample_size
from seepage.risk.power import power
from seepage.risk.protections import RandomizedResponse
from seepage.risk.utility import utility_first

TRIALS, MANY = 300_000, 1_000_000
QUARTER = Values(0.25, 0, 1)


def rounded(x, k):
    """Probabilities of the k answers after a value in [0, 1] is rounded."""
    return np.maximum(1 - np.abs(x * (k - 1) - np.arange(k)), 0.0)


def channel(epsilon, k):
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return np.full((k, k), (1 - keep) / (k - 1)) + np.eye(k) * (keep - (1 - keep) / (k - 1))


def beta_law(k, shift):
    """Answers to values of a Beta distribution of standard deviation 1/4, moved by `shift`."""
    density = stats.beta(1.5, 1.5, loc=shift).pdf
    edges = np.clip(np.linspace(0, 1, k), shift, 1 + shift)
    pieces = [
        integrate.quad_vec(lambda x: density(x) * rounded(x, k), a, b)[0]
        for a, b in pairwise(edges)
    ]
    return np.sum(pieces, axis=0)


def rejections(rng, law, n, k, epsilon):
    counts = rng.multinomial(n, law @ channel(epsilon, k), size=TRIALS)
    grid = np.linspace(0, 1, k)
    mean = counts @ grid / n
    sd = np.sqrt((counts @ grid**2 - n * mean**2) / (n - 1))
    return (np.abs(mean - 0.5) / sd * math.sqrt(n) > stats.t.isf(0.025, n - 1)).mean()


def error(share):
    return 4.5 * math.sqrt(share * (1 - share) / TRIALS)


@pytest.mark.parametrize("k", [2, 3, 5, 11])
def test_power_is_not_overstated_for_values_between_the_answers(k):
    shift = 0.0012
    found = power(OneSampleMean(QUARTER), shift, MANY, protection=RandomizedResponse(2.0, k))
    law = beta_law(k, 0.0)
    law = law + shift * np.linalg.pinv(np.stack([np.ones(k), np.linspace(0, 1, k)]))[:, 1]
    share = rejections(np.random.default_rng(k), law, MANY, k, 2.0)
    assert found.power < share + error(share)
    assert found.power > share - 0.08
    assert found.standing is Standing.ESTIMATE
    assert ROUNDED in found.assumptions
    if k == 2:  # two answers have one variance only
        assert found.power == pytest.approx(share, abs=error(share))


def test_the_case_that_was_found():
    """At 400 records the law of many records is within a hundredth."""
    for k, seen in ((2, 0.443), (3, 0.631), (5, 0.571), (11, 0.315)):
        design = OneSampleMean(QUARTER)
        value = power(design, 0.06, 400, protection=RandomizedResponse(2.0, k)).power
        assert value < seen + 0.01
    law = beta_law(2, 0.0) + 0.06 * np.array([-1, 1])
    share = rejections(np.random.default_rng(1), law, 400, 2, 2.0)
    value = power(OneSampleMean(QUARTER), 0.06, 400, protection=RandomizedResponse(2.0, 2)).power
    assert value == pytest.approx(share, abs=0.01)


# Values halfway between three answers: rounding adds the most.
LAW = {0.25: np.array([0.5, 0.5, 0]), 0.75: np.array([0, 0.5, 0.5])}
GRID = np.linspace(0, 1, 3)
R = RandomizedResponse(2.0, 3)


def halves(shift):
    """Answers where the two values have means 1/2 + shift together."""
    return (0.5 - 2 * shift) * LAW[0.25] + (0.5 + 2 * shift) * LAW[0.75]


def test_means_in_the_worst_case():
    rng, shift = np.random.default_rng(2), 0.0012
    share = rejections(rng, halves(shift), MANY, 3, 2.0)
    found = power(OneSampleMean(QUARTER), shift, MANY, protection=R).power
    assert found == pytest.approx(share, abs=error(share))
    known = power(OneSampleMean(QUARTER, known_sd=True), shift, MANY, protection=R).power
    assert known == pytest.approx(share, abs=error(share))
    pair = PairedDifference(Values(0.5, -1, 1))
    assert power(pair, 2 * shift, MANY, protection=R).power == pytest.approx(found, abs=1e-9)
    one, two = (
        rng.multinomial(MANY, halves(d) @ channel(2.0, 3), size=TRIALS) for d in (0.0, shift)
    )
    means = [c @ GRID / MANY for c in (one, two)]
    variances = [c @ GRID**2 / MANY - m**2 for c, m in zip((one, two), means, strict=True)]
    z = np.abs(means[1] - means[0]) / np.sqrt(sum(variances) / MANY)
    share = (z > stats.norm.isf(0.025)).mean()
    found = power(TwoSampleMeans(QUARTER), shift, MANY, protection=R).power
    assert found == pytest.approx(share, abs=error(share))


def test_correlation_and_slope_in_the_worst_case():
    rng, rho = np.random.default_rng(3), 0.008
    truth = sum(
        (0.25 + rho / 4 * (1 if a == b else -1)) * np.outer(LAW[a], LAW[b])
        for a in LAW
        for b in LAW
    )
    table = channel(2.0, 3) @ truth @ channel(2.0, 3)
    counts = rng.multinomial(MANY, table.ravel(), size=TRIALS) / MANY
    x, y = np.repeat(GRID, 3), np.tile(GRID, 3)
    mx, my = counts @ x, counts @ y
    r = counts @ (x * y) - mx * my
    r /= np.sqrt((counts @ x**2 - mx**2) * (counts @ y**2 - my**2))
    share = (np.abs(r) * math.sqrt(MANY) > stats.norm.isf(0.025)).mean()
    correlation = power(Correlation(QUARTER, QUARTER), rho, MANY, protection=R)
    assert correlation.power == pytest.approx(share, abs=error(share))
    around = Values(0.25 * math.sqrt(1 - rho**2), 0, 1)
    slope = power(Slope(around, QUARTER), rho, MANY, protection=R)
    assert slope.power == pytest.approx(share, abs=error(share))
    assert ROUNDED in correlation.assumptions
    assert ROUNDED in slope.assumptions
    # A public predictor is not rounded.
    table = channel(2.0, 3) @ np.stack(
        [sum((0.25 + rho / 4 * (1 if a == b else -1)) * LAW[a] for a in LAW) for b in LAW], axis=1
    )
    counts = rng.multinomial(MANY, table.ravel(), size=TRIALS) / MANY
    x, y = np.tile([0.25, 0.75], 3), np.repeat(GRID, 2)
    mx, my = counts @ x, counts @ y
    r = counts @ (x * y) - mx * my
    r /= np.sqrt((counts @ x**2 - mx**2) * (counts @ y**2 - my**2))
    share = (np.abs(r) * math.sqrt(MANY) > stats.norm.isf(0.025)).mean()
    public = RandomizedResponse((2.0, math.inf), 3)
    found = power(Slope(around, QUARTER), rho, MANY, protection=public).power
    assert found == pytest.approx(share, abs=error(share))


def test_sample_size_and_effect_allow_for_rounding():
    r = RandomizedResponse(2.0, 2)
    need = sample_size(OneSampleMean(QUARTER), 0.06, protection=r).value
    law = halves(0.06)[[0, 2]] + halves(0.06)[1] / 2
    share = rejections(np.random.default_rng(4), law, int(need), 2, 2.0)
    assert share > 0.8 - error(0.8) - 0.005
    effect = minimum_detectable_effect(OneSampleMean(QUARTER), 400, protection=r).value
    assert power(OneSampleMean(QUARTER), effect, 400, protection=r).power >= 0.8 - 1e-9
    assert effect > 0.08  # 0.06 was said to have power 0.79


def test_a_utility_that_rounding_alone_spoils():
    """More answers, or values among them, make the wish possible."""
    run = {"rule": "absolute", "amount": 0.05}
    coarse, fine, among = (
        utility_first(PlannedTest(OneSampleMean(v), 0.05, 70, k=k), "randomized_response", **run)
        for v, k in (
            (Values(0.2, 0, 1), 5),
            (Values(0.2, 0, 1), 21),
            (Values(0.2, 0, 1, on_grid=True), 5),
        )
    )
    assert math.isinf(coarse.parameter)
    assert ROUNDED in coarse.assumptions
    assert math.isfinite(fine.parameter)
    assert 1 < among.parameter < 10
    assert AMONG in among.assumptions


def test_impossible_values_are_refused():
    r = RandomizedResponse(2.0, 2)
    with pytest.raises(InvalidInputError, match=r"sd of at least 0\.5 for values among 2 answers"):
        power(OneSampleMean(Values(0.25, 0, 1, on_grid=True)), 0.06, 400, protection=r)
    with pytest.raises(InvalidInputError, match=r"sd of at most 0\.3 for values with mean 0\.1"):
        Values(0.31, 0, 1, mean=0.1)
    with pytest.raises(InvalidInputError, match="expected on_grid to be True or False, got 1"):
        Values(0.25, 0, 1, on_grid=1)
    sure = Values(0.3, 0, 1, mean=0.1, on_grid=True)
    assert 0 < power(OneSampleMean(sure), 0.2, 40, protection=r).power < 1
    with pytest.raises(InvalidInputError, match="effect"):
        power(Slope(Values(0.25, 0, 1, mean=0.1), QUARTER), 0.9, 40, protection=R)


def test_binary_values_are_a_proportion():
    """Zeros and ones in two answers: the variance is that of the reported proportion."""
    epsilon = 1.3
    told = answers(Values(0.4, 0, 1, mean=0.2, on_grid=True), RandomizedResponse(epsilon, 2), 0)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    q = 0.2 * keep + 0.8 * (1 - keep)
    assert told.most == told.least == pytest.approx(q * (1 - q), rel=1e-14)
    moved = answers(
        Values(0.4, 0, 1, mean=0.2, on_grid=True), RandomizedResponse(epsilon, 2), 0, shift=0.3
    )
    assert moved.most == pytest.approx(0.25, rel=1e-14)


@given(
    st.integers(2, 9),
    st.lists(st.tuples(st.fractions(0, 1, max_denominator=50), st.integers(1, 9)), min_size=2),
    st.floats(0, 8),
)
def test_variance_of_any_values_is_between_the_bounds(k, weighted, epsilon):
    total = sum(w for _, w in weighted)
    mean = sum(x * w for x, w in weighted) / Fraction(total)
    variance = sum((x - mean) ** 2 * w for x, w in weighted) / Fraction(total)
    if variance == 0:
        return
    law = [Fraction(0)] * k
    for x, w in weighted:
        low = min(math.floor(x * (k - 1)), k - 2)
        share = x * (k - 1) - low
        law[low] += (1 - share) * Fraction(w, total)
        law[low + 1] += share * Fraction(w, total)
    values = Values(math.sqrt(variance), 0, 1, mean=float(mean))
    told = answers(values, RandomizedResponse(epsilon, k), 0)
    lam = Fraction(told.retention)
    grid = [Fraction(i, k - 1) for i in range(k)]
    reports = [lam * p + (1 - lam) / k for p in law]
    centre = sum(p * g for p, g in zip(reports, grid, strict=True))
    exact = float(sum(p * (g - centre) ** 2 for p, g in zip(reports, grid, strict=True)))
    assert told.least <= exact * (1 + 1e-12)
    assert exact <= told.most * (1 + 1e-12)
