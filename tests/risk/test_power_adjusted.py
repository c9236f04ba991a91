"""Slopes beside other predictors, from a randomised outcome.

The second computation draws records one by one and solves the least-squares problem of each sample.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from scipy.stats import t as student

from seepage import power, sample_size, utility_first
from seepage.errors import InvalidInputError
from seepage.risk import _adjusted
from seepage.risk._laws import smooth_law
from seepage.risk._pairs import METHOD, Side, joint_law
from seepage.risk.designs import Correlation, OneSampleMean, Slope, Values
from seepage.risk.multiple import PlannedTest
from seepage.risk.protections import GaussianNoise, RandomizedResponse

Y, X = Values(1.0, -3, 3), Values(1.0, -3, 3)


def response(k, epsilon):
    return RandomizedResponse((epsilon, math.inf), (k, 2))


def side(k, mean=0.5, variance=0.03, retention=0.6):
    margin = smooth_law(k, mean, variance)
    return Side(margin, 1.0, retention, np.full(k, 1 / k))


@given(
    st.integers(2, 9),
    st.floats(0.3, 0.7),
    st.floats(-0.5, 0.5),
    st.floats(0.01, 0.5),
    st.sampled_from([-1, 0, 1]),
)
@settings(max_examples=40)
def test_population_is_as_planned(k, mean, a, b, form):
    outcome, predictor = side(k, mean, retention=1.0), side(7)
    found = _adjusted.population(outcome, predictor, (a, b), form)
    table = found.table
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(table.sum(axis=(1, 2)), outcome.margin, atol=1e-6)
    # What is left of the predictor is independent of the other one.
    both = table.sum(axis=0)
    np.testing.assert_allclose(both.sum(axis=1), predictor.margin, atol=1e-8)
    np.testing.assert_allclose(both, np.outer(both.sum(axis=1), both.sum(axis=0)), atol=1e-8)
    reached = found.correlations
    if k >= 4 and math.hypot(a, b) < 0.65:
        np.testing.assert_allclose(reached, (a, b), atol=1e-7)
    else:  # few answers hold no correlation that is too strong; the direction is kept
        assert abs(reached[0]) <= abs(a) + 1e-7
        assert reached[0] * b == pytest.approx(reached[1] * a, abs=1e-6)


def test_without_explained_parts_it_is_a_pair():
    outcome, predictor = side(5), side(7)
    found = _adjusted.population(outcome, predictor, (0.3, 0.0), 0)
    pair = joint_law(outcome.margin, predictor.margin, 0.3)
    table = 0.6 * pair + 0.4 * np.outer(np.full(5, 0.2), predictor.margin)
    np.testing.assert_allclose(found.table[:, :, 0], table, atol=1e-14)
    assert found.correlations[1] == 0


@pytest.mark.parametrize(("size", "rest"), [(30, 1), (12, 5), (6, 4), (9, 3)])
def test_what_random_directions_take_away(size, rest):
    """Sums of squares left of two given vectors: against explicit projections (α = 1e-4 each)."""
    rng = np.random.default_rng(3)
    gram = np.array([[2.0, 0.9], [0.9, 1.5]])
    factor = np.linalg.cholesky(gram)
    m = 4_000
    vectors = np.zeros((size, 2))
    vectors[:2] = factor.T
    span, _ = np.linalg.qr(rng.standard_normal((m, size, rest)))
    left = vectors - span @ (span.transpose(0, 2, 1) @ vectors)
    direct = left.transpose(0, 2, 1) @ left
    ones = np.ones(m)
    drawn = _adjusted._less((2.0 * ones, 1.5 * ones, 0.9 * ones), size, rest, rng)
    pairs = zip(drawn, (direct[:, 0, 0], direct[:, 1, 1], direct[:, 0, 1]), strict=True)
    for ours, theirs in pairs:
        assert ks_2samp(ours, theirs).pvalue > 1e-4
    correlations = (
        drawn[2] / np.sqrt(drawn[0] * drawn[1]),
        direct[:, 0, 1] / np.sqrt(direct[:, 0, 0] * direct[:, 1, 1]),
    )
    assert ks_2samp(*correlations).pvalue > 1e-4


def least_squares_power(people, n, others, level, draws, rng):
    """Share of samples in which the t test of least squares is significant."""
    table = people.table
    k, p, r = table.shape
    cells = rng.choice(table.size, size=(draws, n), p=table.ravel())
    y, x, z = (part.astype(float) for part in np.unravel_index(cells, (k, p, r)))
    columns = [np.ones_like(x), x, *([z] if r > 1 else [])]
    columns += list(rng.standard_normal((others - (r > 1), draws, n)))
    design = np.stack(columns, axis=-1)
    inverse = np.linalg.pinv(design.transpose(0, 2, 1) @ design)
    beta = (inverse @ (design.transpose(0, 2, 1) @ y[..., np.newaxis]))[..., 0]
    left = y - (design @ beta[..., np.newaxis])[..., 0]
    df = n - 2 - others
    se = np.sqrt((left**2).sum(axis=1) / df * inverse[:, 1, 1])
    return float((np.abs(beta[:, 1] / se) > student.isf(level / 2, df)).mean())


@pytest.mark.parametrize(
    ("n", "others", "shared", "explained", "k", "epsilon", "effect"),
    [
        (25, 1, 0.0, 0.0, 2, 3.0, 0.6),
        (25, 1, 0.3, 0.6, 5, 3.0, 0.6),
        (30, 4, 0.2, 0.5, 3, 4.0, 0.7),
        (20, 6, 0.0, 0.0, 9, 4.0, 0.8),
        (60, 2, 0.5, 0.3, 4, 2.0, 0.0),
    ],
)
def test_power_equals_least_squares(n, others, shared, explained, k, epsilon, effect):
    """Records one by one, 10,000 samples; 5 cells at 3e-5 each."""
    design = Slope(Y, X, others, shared, explained)
    found = power(design, effect, n, protection=response(k, epsilon))
    assert found.method == METHOD
    assert found.law_error == 0
    # The same plan, by hand: what is left of the predictor, and all that others explain.
    left = effect * math.sqrt(1 - shared)
    other = math.sqrt(effect**2 * shared + explained**2)
    people = planned_population(k, epsilon, effect, explained, (left, other))
    rng = np.random.default_rng(11)
    share = least_squares_power(people, n, others, 0.05, 10_000, rng)
    error = math.hypot(found.standard_error, math.sqrt(share * (1 - share) / 10_000))
    assert found.power == pytest.approx(share, abs=4.2 * error)


def planned_population(k, epsilon, effect, explained, effects):
    """Outcome on k answers in [−3, 3], with the variance that rounding can add at most."""
    step = 6 / (k - 1)
    variance = min(1 + effect**2 + explained**2 + step**2 / 4, 9.0)
    levels = min(k, 7)
    lam = math.expm1(epsilon) / (math.exp(epsilon) + k - 1)
    uniform = smooth_law(levels, 0.5, (k + 1) / (12 * (k - 1)))
    margin = smooth_law(levels, 0.5, variance / 36)
    outcome = Side(margin, math.sqrt(variance), lam, uniform)
    return _adjusted.population(outcome, side(7, 0.5, 1 / 36, 1.0), effects, 0)


@pytest.mark.parametrize("known_sd", [False, True])
def test_the_large_sample_law_is_as_close_as_it_says(monkeypatch, known_sd):
    """Where the law takes over from drawing (6 cells at 6e-5 each)."""
    for n, k, epsilon, effect, explained, draws in (
        (60_000, 4, 2.0, 0.02, 0.0, 200_000),
        (25_000, 9, 1.0, 0.1, 0.0, 200_000),
        (40_000, 5, 2.0, 0.03, 0.4, 30_000),
    ):
        design = Slope(Y, X, 2, 0.0 if explained == 0 else 0.3, explained, known_sd)
        law = power(design, effect, n, protection=response(k, epsilon))
        monkeypatch.setattr(_adjusted, "CLOSE", 0.0)
        drawn = power(design, effect, n, protection=response(k, epsilon), draws=draws)
        monkeypatch.undo()
        assert drawn.method == METHOD
        assert law.method != METHOD
        assert 0 < law.law_error < _adjusted.CLOSE
        assert abs(law.power - drawn.power) < law.law_error + 4 * drawn.standard_error


def test_level_and_range_are_told():
    design = Slope(Y, X, 2, 0.3, 0.5)
    found = power(design, 0.4, 80, protection=response(5, 3.0))
    low, high = found.shape_range
    assert low <= found.power <= high
    said = " ".join(found.assumptions)
    assert "Without an effect the test rejects with probability" in said
    assert "one combination of them explains" in said
    again = power(design, 0.4, 80, protection=response(5, 3.0))
    assert (again.power, again.shape_range) == (found.power, found.shape_range)


def test_one_epsilon_is_that_of_the_outcome():
    design = Slope(Y, X, 2, 0.3, 0.5)
    alone = power(design, 0.4, 80, protection=RandomizedResponse(3.0, 5), draws=2_000)
    pair = power(design, 0.4, 80, protection=RandomizedResponse((3.0, math.inf), 5), draws=2_000)
    assert (alone.power, alone.assumptions) == (pair.power, pair.assumptions)
    assert "The predictors are public" in " ".join(alone.assumptions)
    with pytest.raises(InvalidInputError, match="one epsilon, or inf for the second attribute"):
        power(design, 0.4, 80, protection=RandomizedResponse((3.0, 2.0), 5))
    # The wish of the analyst is met by the outcome's budget alone.
    test = PlannedTest(design, 0.5, 200, k=3)
    found = utility_first(test, "randomized_response", amount=0.3, draws=2_000)
    kept = found.tests[0]
    assert kept.unprotected - kept.power <= 0.3


def test_planning_holds():
    design = Slope(Y, X, 2, 0.3, 0.5)
    need = sample_size(design, 0.5, 0.8, protection=response(3, 3.0), draws=4_000)
    assert need.at.power >= 0.8
    less = power(design, 0.5, int(need.at.n) - 1, protection=response(3, 3.0), draws=4_000)
    assert less.power < 0.8


def test_too_many_predictors():
    for shield in (None, RandomizedResponse(2.0, 3), GaussianNoise(1.0)):
        found = power(Slope(Y, X, 30, known_sd=True), 0.3, 20, protection=shield)
        assert found.power == 0
        assert "Fewer records than coefficients" in found.assumptions[0]
    assert power(Slope(Y, X, 18, known_sd=True), 0.3, 20, protection=response(3, 2.0)).power < 1
    with pytest.raises(InvalidInputError, match="explained_sd"):
        Slope(Y, X, 2, 0.3, 1e300)


@pytest.mark.parametrize("n", [300, 10**6])
def test_the_range_holds_what_rounding_does(n):
    """Between all that rounding may add and nothing of it, for few records and for many."""
    for design in (
        Slope(Values(1, -12, 15), X, 3, 0.3, 1.0),
        Slope(Values(1, -12, 15), Values(1, -6, 6)),
        Correlation(Values(1, -6, 6), Values(1, -6, 6)),
        OneSampleMean(Values(1, -12, 15)),
    ):
        effect = (0.5 if isinstance(design, Slope) else 0.25) * math.sqrt(300 / n)
        shield = RandomizedResponse(4.0, 4)
        found = power(design, effect, n, protection=shield, draws=20_000)
        low, high = found.shape_range
        assert low <= found.power < high
        assert "rounding" in " ".join(found.assumptions)


def test_edges():
    for others, n in ((1, 4), (3, 6), (3, 7)):
        design = Slope(Y, X, others, 0.2, 0.4)
        found = power(design, 0.3, n, protection=response(3, 2.0), draws=1_000)
        assert 0 <= found.power <= 1
        assert power(design, 0.3, n, 0.0, protection=response(3, 2.0)).power == 0
        assert power(design, 0.3, n, 1.0, protection=response(3, 2.0)).power == 1
    # So much is explained that no outcome in the range could vary more.
    steep = Slope(Values(0.2, -3, 3), X, 2, 0.5, 2.5)
    found = power(steep, 1.5, 50, protection=response(2, 3.0), draws=1_000)
    assert 0 < found.power < 1
