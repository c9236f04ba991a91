"""One power without protection: that of the search, the report, the page and the card."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage.errors import InvalidInputError
from seepage.plan.powering import plan_test
from seepage.risk.designs import (
    Correlation,
    OneSampleMean,
    PairedDifference,
    TwoSampleMeans,
    Values,
)
from seepage.risk.multiple import PlannedTest
from seepage.risk.power import power
from seepage.risk.protections import RandomizedResponse
from seepage.risk.utility import utility_first

HALF = Values(0.5, 0, 1, on_grid=True)


def bare_of_two_answers(effect, n):
    """Power of the two-sided z test of a proportion of ½ + effect, on n answers of 0 and 1."""
    c = stats.norm.isf(0.025) * 0.5 * math.sqrt(n)
    hits = [s for s in range(n + 1) if abs(s - n / 2) > c]
    return float(stats.binom.pmf(hits, n, 0.5 + effect).sum())


def test_the_case_that_was_found():
    design = OneSampleMean(HALF, known_sd=True)
    expected = bare_of_two_answers(0.2, 15)
    assert expected == pytest.approx(0.29696, abs=5e-6)
    report = plan_test(
        design, effect=0.2, n=15, families=["randomized_response"], k=2, target_loss=0.05
    )
    room = report.rooms[0]
    assert room.utility.tests[0].unprotected == pytest.approx(expected, abs=1e-12)
    assert report.result.power == pytest.approx(expected, abs=1e-12)
    assert report.result.unprotected == report.result.power
    assert report.result.protection is None
    assert report.regions[0].unprotected == report.result.power
    assert "0.297." in report.result.verdict
    assert any("as they are, 0.2970." in text for text in room.utility.assumptions)
    again = plan_test(design, effect=0.2, n=15, protection=RandomizedResponse(room.least, 2))
    assert again.result.unprotected == report.result.power
    assert again.result.power == pytest.approx(expected - 0.05, abs=1e-9)
    assert "0.297 without protection" in again.verdict
    other = plan_test(design, effect=0.2, n=15, target_loss=0.05)
    assert other.result.power == pytest.approx(0.3408, abs=5e-5)


def test_two_records_of_two_answers():
    """Both equal: the deviation is 0, and the test rejects whatever the mean."""
    result = power(OneSampleMean(HALF), 0.1, 2, protection=RandomizedResponse(math.inf, 2))
    assert result.power == pytest.approx(0.6**2 + 0.4**2, abs=1e-12)
    assert result.unprotected == result.power
    noisy = power(OneSampleMean(HALF), 0.1, 2, protection=RandomizedResponse(1.0, 2))
    assert noisy.unprotected == result.power


@pytest.mark.parametrize("values", [HALF, Values(0.3, 0, 1)])
def test_needs_without_protection_are_of_the_same_answers(values):
    design, protection = OneSampleMean(values, known_sd=True), RandomizedResponse(3.0, 2)
    report = plan_test(design, effect=0.2, protection=protection)
    for n, good in ((int(report.bare.value), True), (int(report.bare.value) - 1, False)):
        raw = power(design, 0.2, n, protection=protection).unprotected
        assert (raw >= 0.8) is good
        if values.on_grid:
            assert raw == pytest.approx(bare_of_two_answers(0.2, n), abs=1e-12)
        else:
            assert raw == pytest.approx(power(design, 0.2, n).power, abs=1e-12)
    asked = plan_test(design, effect=0.2, families=["randomized_response"], k=2, attack_power=0.5)
    assert asked.need.value == report.bare.value
    assert asked.need.at.protection is None
    assert "under" not in asked.need.verdict


@pytest.mark.parametrize("known", [True, False])
def test_off_the_grid_it_is_the_test_of_raw_data(known):
    for design in (
        OneSampleMean(Values(0.3, 0, 1), known_sd=known),
        TwoSampleMeans(Values(0.3, 0, 1), 1.5, known_sd=known),
        PairedDifference(Values(0.3, -1, 1), known_sd=known),
        Correlation(Values(0.3, 0, 1), Values(0.3, 0, 1)),
    ):
        raw = power(design, 0.2, 30)
        told = power(design, 0.2, 30, protection=RandomizedResponse(2.0, 3), draws=500)
        assert told.unprotected == pytest.approx(raw.power, abs=1e-12)
        assert raw.unprotected == raw.power


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["one", "two", "paired"]),
    k=st.sampled_from([2, 3, 5]),
    n=st.integers(3, 40),
    effect=st.floats(0.05, 0.3),
    share=st.sampled_from([0.6, 1.0]),
    on_grid=st.booleans(),
    known=st.booleans(),
    rule=st.sampled_from(["absolute", "relative"]),
    amount=st.sampled_from([0.02, 0.1, 0.3]),
)
def test_every_answer_meets_the_wish_from_the_power_that_is_stated(
    kind, k, n, effect, share, on_grid, known, rule, amount
):
    sd = 0.5 if k == 2 and on_grid else 0.5 * share
    values = Values(sd, 0, 1, on_grid=on_grid)
    design = {
        "one": OneSampleMean(values, known_sd=known),
        "two": TwoSampleMeans(values, known_sd=known),
        "paired": PairedDifference(values, known_sd=known),
    }[kind]
    try:
        found = utility_first(
            PlannedTest(design, effect, n, k=k), "randomized_response", rule=rule, amount=amount
        )
    except InvalidInputError:  # no values have this deviation
        assume(False)
    again = power(design, effect, n, protection=RandomizedResponse(found.parameter, k))
    kept = found.tests[0]
    assert (again.power, again.unprotected) == (kept.power, kept.unprotected)
    allowed = amount if rule == "absolute" else amount * again.unprotected_type2
    assert again.type2 - again.unprotected_type2 <= allowed + 1e-15
