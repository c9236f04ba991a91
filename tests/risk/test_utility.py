"""Utility first: the smallest parameter with which tests keep their power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage.errors import InfeasibleError, InvalidInputError
from seepage.results import Standing
from seepage.risk.designs import (
    Correlation,
    Independence,
    OneProportion,
    OneSampleMean,
    Values,
)
from seepage.risk.multiple import PlannedTest
from seepage.risk.power import power
from seepage.risk.utility import protection_of, utility_first
from seepage.tradeoff import TradeOff

Z = OneSampleMean(Values(0.25, 0, 1), known_sd=True)
FIFTEEN = PlannedTest(Z, 0.2, 15, "larger", "fifteen")
HUNDRED = PlannedTest(
    OneSampleMean(Values(0.5, 0, 1), known_sd=True), 0.2, 100, "larger", "hundred"
)


def beta(test, family, parameter, alpha):
    result = power(
        test.design, test.effect, test.n, alpha, alternative=test.alternative,
        protection=protection_of(family, parameter, test.k),
    )  # fmt: skip
    return result.type2


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize(("rule", "amount"), [("relative", 0.01), ("absolute", 0.01)])
def test_answer_meets_the_rule_and_the_next_smaller_does_not(family, rule, amount):
    found = utility_first([FIFTEEN, HUNDRED], family, rule=rule, amount=amount, alpha=0.01)

    def kept(parameter):
        pairs = [
            (beta(t, family, parameter, 0.01), beta(t, family, math.inf, 0.01))
            for t in (FIFTEEN, HUNDRED)
        ]
        if rule == "relative":
            return all(b <= b0 * (1 + amount) for b, b0 in pairs)
        return all(b - b0 <= amount for b, b0 in pairs)

    assert kept(found.parameter)
    assert not kept(np.nextafter(found.parameter, 0))
    assert found.binding == "fifteen"
    assert found.parameter == max(t.parameter for t in found.tests)
    assert found.standing is Standing.EXACT
    factor = 2 if family == "laplace" else math.sqrt(2)
    assert found.composed == pytest.approx(factor * found.parameter)
    assert found.parameter_name == "mu"
    assert "fifteen" in found.verdict
    assert found.to_frame().height == 2
    assert found.to_dict()["parameter"] == found.parameter


def test_gaussian_answer_in_closed_form():
    """β_μ = Φ(z − m/σ_n): solve for σ_n, then for μ."""
    amount, z = 0.01, stats.norm.isf(0.01)
    b0 = stats.norm.cdf(z - 0.2 / (0.25 / math.sqrt(15)))
    for rule, target in (("relative", b0 * (1 + amount)), ("absolute", b0 + amount)):
        sigma_n = 0.2 / (z - stats.norm.ppf(target))
        mu = 1 / (15 * math.sqrt(sigma_n**2 - 0.25**2 / 15))
        found = utility_first(FIFTEEN, "gaussian", rule=rule, amount=amount, alpha=0.01)
        assert found.parameter == pytest.approx(mu, rel=1e-9)
    found = utility_first(FIFTEEN, "gaussian", rule="power", amount=0.5, alpha=0.01)
    sigma_n = 0.2 / z
    mu = 1 / (15 * math.sqrt(sigma_n**2 - 0.25**2 / 15))
    assert found.parameter == pytest.approx(mu, rel=1e-9)


def test_paper_s_claim_for_fifteen_records_needs_more_than_mu_one():
    """At n = 15, m = .2 the power at μ = 1 is far from that without noise (theory, section 8)."""
    found = utility_first(FIFTEEN, "gaussian", alpha=0.01)
    assert 14 < found.parameter < 16
    assert found.tests[0].unprotected == pytest.approx(0.7800, abs=5e-5)


@pytest.mark.parametrize(
    "test",
    [
        PlannedTest(OneProportion(0.3), 0.1, 100),
        PlannedTest(OneSampleMean(Values(0.2, 0, 1)), 0.05, 70, k=21),
        PlannedTest(OneSampleMean(Values(0.2, 0, 1, on_grid=True)), 0.05, 70, k=5),
    ],
    ids=["proportion", "t", "t of answers"],
)
def test_randomised_response(test):
    found = utility_first(test, "randomized_response", rule="absolute", amount=0.05)
    b0 = beta(test, "randomized_response", math.inf, 0.05)
    assert beta(test, "randomized_response", found.parameter, 0.05) - b0 <= 0.05
    less = float(np.nextafter(found.parameter, 0))
    assert beta(test, "randomized_response", less, 0.05) - b0 > 0.05
    assert found.parameter_name == "epsilon"
    assert found.composed == found.parameter
    assert 1 < found.parameter < 10


def test_randomised_tables_are_drawn_on_both_sides():
    test = PlannedTest(Independence([[0.3, 0.1], [0.2, 0.4]]), 0.3, 80)
    found = utility_first(test, "randomized_response", rule="absolute", amount=0.05, draws=4000)
    (kept,) = found.tests
    assert kept.standard_error > 0
    assert kept.type2 - kept.unprotected_type2 <= 0.05
    drawn = power(test.design, 0.3, 80, method="simulation", draws=4000)
    assert kept.unprotected == drawn.power
    run = {"method": "simulation", "draws": 4000}
    less = protection_of("randomized_response", found.parameter * (1 - 2**-22))
    again = power(test.design, 0.3, 80, protection=less, **run)
    assert again.type2 - drawn.type2 > 0.05
    assert 1 < found.parameter < 10


def test_simulated_tests():
    tests = [
        PlannedTest(OneSampleMean(Values(0.2, 0, 1)), 0.05, 70, name="t"),
        PlannedTest(Correlation(Values(0.3, 0, 1), Values(0.3, 0, 1)), 0.4, 60, name="r"),
    ]
    found = utility_first(tests, "gaussian", rule="absolute", amount=0.05, draws=2000)
    assert found.standing is Standing.ESTIMATE
    for kept in found.tests:
        assert kept.type2 - kept.unprotected_type2 <= 0.05
        assert kept.standard_error > 0 or kept.name == "t"


def test_answer_leads_to_the_risk():
    one = utility_first(FIFTEEN, "gaussian", rule="power", amount=0.5, alpha=0.01)
    mu = one.parameter
    assert one.curve.power(0.01) == pytest.approx(stats.norm.sf(stats.norm.isf(0.01) - mu))
    assert one.composed_curve.power(0.01) == one.curve.power(0.01)
    two = utility_first([FIFTEEN, HUNDRED], "laplace", rule="power", amount=0.5, alpha=0.01)
    risk = two.curve.relative_risk(0.0)
    assert risk == pytest.approx(math.exp(two.parameter))
    assert two.composed_curve.relative_risk(0.0) == pytest.approx(math.exp(2 * two.parameter))
    test = PlannedTest(OneProportion(0.3), 0.2, 100)
    answers = utility_first(test, "randomized_response", rule="power", amount=0.5)
    keep = 1 / (1 + math.exp(-answers.parameter))
    assert answers.curve.power(1 - keep) == pytest.approx(keep)


def test_bonferroni_divides_the_level():
    both = utility_first([FIFTEEN, HUNDRED], "gaussian", alpha=0.02, correction="bonferroni")
    assert both.level == 0.01
    assert both.parameter == utility_first([FIFTEEN, HUNDRED], "gaussian", alpha=0.01).parameter


def test_limits():
    # A rule that asks for nothing is met by pure noise.
    assert utility_first(FIFTEEN, "laplace", rule="absolute", amount=1).parameter == 0
    assert utility_first(FIFTEEN, "laplace", rule="power", amount=0.0).parameter == 0
    assert utility_first(FIFTEEN, "laplace", rule="relative", amount=1e9).parameter == 0
    # A rule that allows nothing asks for noise too small to be seen, or for none.
    for rule in ("relative", "absolute"):
        assert utility_first(FIFTEEN, "gaussian", rule=rule, amount=0).parameter > 1e5
    # Level 0 and 1: the power does not depend on the noise.
    for alpha in (0, 1):
        assert utility_first(FIFTEEN, "gaussian", alpha=alpha).parameter == 0
    # No effect: the power is the level, whatever the noise.
    none = PlannedTest(Z, 0.0, 15)
    assert utility_first(none, "gaussian").parameter == 0
    # A type II error far below the smallest power of ten that is printed.
    sure = PlannedTest(Z, 0.9, 500, "larger")
    found = utility_first(sure, "gaussian")
    assert found.tests[0].unprotected_type2 < 1e-300
    assert found.tests[0].type2 <= 1.01 * found.tests[0].unprotected_type2
    with pytest.raises(InfeasibleError, match="fifteen") as caught:
        utility_first(FIFTEEN, "gaussian", rule="power", amount=0.9, alpha=0.01)
    assert caught.value.total == pytest.approx(0.78, abs=1e-4)


def test_refusals():
    for bad in ("lapace", None, 3, np.ones(2)):
        with pytest.raises(InvalidInputError, match="expected"):
            utility_first(FIFTEEN, bad)
    with pytest.raises(InvalidInputError, match="Did you mean 'laplace'"):
        utility_first(FIFTEEN, "lapace")
    for bad in ("relativ", None, 1):
        with pytest.raises(InvalidInputError, match="rule"):
            utility_first(FIFTEEN, "laplace", rule=bad)
    for bad in (-0.1, math.nan, math.inf, "x", None, True):
        with pytest.raises(InvalidInputError):
            utility_first(FIFTEEN, "laplace", amount=bad)
    with pytest.raises(InvalidInputError):
        utility_first(FIFTEEN, "laplace", rule="absolute", amount=1.5)
    with pytest.raises(InvalidInputError):
        utility_first([], "laplace")
    with pytest.raises(InvalidInputError, match="twice"):
        utility_first([FIFTEEN, FIFTEEN], "laplace")
    with pytest.raises(InvalidInputError, match="correction"):
        utility_first(FIFTEEN, "laplace", correction="holm")
    with pytest.raises(InvalidInputError, match="range"):
        utility_first(PlannedTest(OneSampleMean(), 0.2, 20), "laplace")
    with pytest.raises(InvalidInputError, match="expected k"):
        utility_first(FIFTEEN, "randomized_response")


@given(
    st.floats(0.01, 0.3), st.integers(5, 2000), st.floats(1e-4, 0.2), st.floats(1e-3, 0.3),
    st.sampled_from(["laplace", "gaussian"]),
)  # fmt: skip
@settings(max_examples=25)
def test_less_loss_needs_a_larger_parameter(effect, n, alpha, amount, family):
    test = PlannedTest(Z, effect, n, "larger")
    run = {"rule": "absolute", "alpha": alpha}
    strict = utility_first(test, family, amount=amount / 2, **run)
    loose = utility_first(test, family, amount=amount, **run)
    assert strict.parameter >= loose.parameter
    assert loose.tests[0].unprotected - loose.tests[0].power <= amount + 1e-12


def test_several_numbers_with_laplace_noise_are_described_as_pure():
    test = PlannedTest(OneSampleMean(Values(0.2, 0, 1)), 0.1, 70)
    found = utility_first(test, "laplace", rule="absolute", amount=0.2, draws=500)
    one = TradeOff.laplace(found.parameter)
    pure = TradeOff.approximate_dp(found.parameter)
    rates = np.linspace(0, 1, 21)
    np.testing.assert_array_equal(found.curve.power(rates), pure.power(rates))
    assert (found.curve.power(rates) >= one.power(rates) - 1e-15).all()
    assert found.curve.adjacency == "replace one record"
