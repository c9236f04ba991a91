"""Noise of every size: what a search for the smallest parameter may ask for."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from seepage.plan.powering import plan_test
from seepage.risk.designs import (
    Correlation,
    Independence,
    OneProportion,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoProportions,
    TwoSampleMeans,
    Values,
)
from seepage.risk.power import power
from seepage.risk.protections import GaussianNoise, LaplaceNoise

V = Values(0.25, 0, 1)
WIDE = Values(1, -4, 4)
DESIGNS = {
    "z": OneSampleMean(V, known_sd=True),
    "t": OneSampleMean(V),
    "paired": PairedDifference(Values(0.25, -1, 1)),
    "two": TwoSampleMeans(V, ratio=0.5),
    "proportion": OneProportion(0.3),
    "proportions": TwoProportions(0.3),
    "table": Independence([[30, 10], [10, 30]]),
    "correlation": Correlation(V, V),
    "wide correlation": Correlation(WIDE, WIDE),
    "slope": Slope(V, V, known_sd=True),
}
EXPONENTS = (*range(-320, -20, 43), *range(-20, 21, 4), *range(60, 309, 62))


@pytest.mark.parametrize("noise", [LaplaceNoise, GaussianNoise])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_amount_of_noise_has_a_power(name, noise):
    design = DESIGNS[name]
    sides = ("two-sided",) if name == "table" else ("two-sided", "larger")
    for side in sides:
        run = {"alternative": side, "draws": 200}
        found = {e: power(design, 0.2, 50, protection=noise(10.0**e), **run) for e in EXPONENTS}
        bare = power(design, 0.2, 50, protection=noise(math.inf), **run).power
        for e, result in found.items():
            assert 0 <= result.power <= 1
            assert math.isfinite(result.standard_error)
            if e <= -12 and name != "table":  # nothing but noise is left
                assert result.power == pytest.approx(0.05, abs=1e-6)
            if e >= 60:
                assert result.power == pytest.approx(bare, abs=0.02)


@pytest.mark.parametrize("noise", [LaplaceNoise, GaussianNoise])
@pytest.mark.parametrize("side", ["two-sided", "larger", "smaller"])
def test_much_noise_on_a_correlation_is_that_of_a_shift(noise, side):
    """With noise far above the sampling error the statistic is ρ and noise: a test of a shift."""
    effect = -0.3 if side == "smaller" else 0.3
    design, n = Correlation(WIDE, WIDE), 1000
    for mu in (1e-3, 1e-2):
        result = power(design, effect, n, alternative=side, protection=noise(mu), draws=1000)
        scale = 32 / n / mu  # the product of standardised values is between −16 and 16
        normal = stats.norm(scale=math.hypot(scale, 1 / math.sqrt(n)))
        law = normal if noise is GaussianNoise else stats.laplace(scale=scale)
        tail = 0.025 if side == "two-sided" else 0.05
        c = law.isf(tail)
        expected = law.sf(c - 0.3) + (law.sf(c + 0.3) if side == "two-sided" else 0)
        assert result.power == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(
    ("design", "effect", "n", "loss", "side"),
    [
        (Correlation(V, V), 0.3, 400, 0.05, "two-sided"),
        (Correlation(WIDE, WIDE), 0.5, 1000, 0.05, "larger"),
    ],
)
def test_the_smallest_noise_parameter_of_a_correlation(design, effect, n, loss, side):
    report = plan_test(design, effect=effect, n=n, target_loss=loss, alternative=side, draws=1000)
    for room in report.rooms:
        kept = room.utility.tests[0]
        make = LaplaceNoise if room.family == "laplace" else GaussianNoise
        run = {"alternative": side, "draws": 1000}
        again = power(design, effect, n, protection=make(room.least), **run)
        assert (again.power, again.unprotected) == (kept.power, kept.unprotected)
        assert again.type2 - again.unprotected_type2 <= loss
        less = power(design, effect, n, protection=make(room.least * (1 - 2.0**-23)), **run)
        assert less.type2 - less.unprotected_type2 > loss
