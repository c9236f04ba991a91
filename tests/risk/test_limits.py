"""A power of 1, a loss of 0: what only rounding would promise is refused or explained."""

from __future__ import annotations

import math

import pytest

from seepage.errors import InfeasibleError
from seepage.plan.powering import plan_test
from seepage.risk.designs import (
    Correlation,
    Independence,
    OneProportion,
    OneSampleMean,
    TwoProportions,
    TwoSampleMeans,
    Values,
)
from seepage.risk.multiple import PlannedTest
from seepage.risk.planning import minimum_detectable_effect, sample_size
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse
from seepage.risk.utility import utility_first

V = Values(0.25, 0, 1)
UNCERTAIN = [
    (OneSampleMean(V), 0.1, None),
    (OneSampleMean(V, known_sd=True), 0.1, GaussianNoise(1)),
    (TwoSampleMeans(V), 0.1, None),
    (OneProportion(0.5), 0.1, None),
    (OneProportion(0.5), 0.5, LaplaceNoise(1)),
    (TwoProportions(0.5), 0.5, None),
    (Correlation(), 0.3, None),
    (Independence([[3, 1], [1, 3]]), 0.2, None),
]


@pytest.mark.parametrize(("design", "effect", "protection"), UNCERTAIN)
def test_no_number_of_records_makes_a_test_certain(design, effect, protection):
    with pytest.raises(InfeasibleError, match="expected a power below 1"):
        sample_size(design, effect, 1.0, protection=protection)
    assert sample_size(design, effect, 1.0, 1.0, protection=protection).value == 1
    if not isinstance(design, Independence):
        almost = sample_size(design, effect, 1 - 1e-9, protection=protection)
        assert almost.at.power >= 1 - 1e-9


def test_what_is_certain():
    assert sample_size(OneProportion(0.5), 0.5, 1.0).at.type2 == 0
    assert sample_size(TwoProportions(0.0), 1.0, 1.0).at.type2 == 0
    assert minimum_detectable_effect(OneProportion(0.5), 10**6, 1.0).value == 0.5
    assert minimum_detectable_effect(Correlation(), 50, 1.0).value == 1
    with pytest.raises(InfeasibleError, match="expected a power below 1"):
        minimum_detectable_effect(TwoProportions(0.5), 10**6, 1.0)


@pytest.mark.parametrize("family", ["laplace", "gaussian", "randomized_response"])
@pytest.mark.parametrize("rule", ["absolute", "relative"])
@pytest.mark.parametrize(
    "design", [OneSampleMean(V, known_sd=True), OneProportion(0.3), TwoSampleMeans(V)]
)
def test_every_noise_loses_something(family, rule, design):
    test = PlannedTest(design, 0.2, 40, k=4 if family == "randomized_response" else None)
    if isinstance(design, OneProportion):
        test = PlannedTest(design, 0.2, 40)
    assert utility_first(test, family, rule=rule, amount=0).parameter == math.inf
    nothing = PlannedTest(design, 0.0, 40, k=test.k)
    if family != "randomized_response":  # a test that keeps its level loses nothing
        assert utility_first(nothing, family, rule=rule, amount=0).parameter in {0, math.inf}
    assert utility_first(test, family, rule=rule, amount=0, alpha=0).parameter == 0


def test_reasons():
    for options, reason in (
        ({"alpha": 0.0}, "a test at level 0 never rejects"),
        ({"n": 1}, "too few records"),
        ({"protection": GaussianNoise(0)}, "pure noise"),
    ):
        with pytest.raises(InfeasibleError, match=reason):
            minimum_detectable_effect(OneSampleMean(V), **({"n": 50} | options))
    with pytest.raises(InfeasibleError, match="pure noise"):
        sample_size(OneProportion(0.3), 0.1, protection=RandomizedResponse(0))
    report = plan_test(OneSampleMean(V), effect=0.1, n=50, target_loss=0)
    assert report.verdict.startswith("Nothing meets the wish.")
    assert "does not bear any" in report.verdict
    free = plan_test(OneSampleMean(V), effect=0.1, n=50, target_loss=1)
    assert "bears any, down to μ = 0" in free.verdict
    assert str(GaussianNoise(math.inf)).endswith("μ = ∞")
    assert "With 1 record the" in minimum_detectable_effect(
        OneSampleMean(V, known_sd=True), 1
    ).verdict  # fmt: skip
