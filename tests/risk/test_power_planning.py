"""Laws of power, and the inverse questions: effect, number of records, several tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage.errors import InfeasibleError, InvalidInputError, SeepageError
from seepage.results import Standing
from seepage.risk.designs import (
    Correlation,
    Independence,
    OneProportion,
    OneSampleMean,
    Slope,
    TwoProportions,
    TwoSampleMeans,
    Values,
)
from seepage.risk.multiple import PlannedTest, family_power
from seepage.risk.planning import DRAWS, least, minimum_detectable_effect, sample_size
from seepage.risk.power import power
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

V = Values(0.25, 0, 1)
TABLE = np.array([[0.2, 0.1, 0.05], [0.1, 0.3, 0.25]])

designs = st.sampled_from(
    [
        OneSampleMean(V),
        OneSampleMean(V, known_sd=True),
        TwoSampleMeans(V, 1.5),
        TwoSampleMeans(V, known_sd=True),
        OneProportion(0.4),
        Independence(TABLE),
        Slope(V, V),
        Slope(V, V, known_sd=True),
    ]
)
numbers = st.integers(4, 3000)
levels = st.floats(1e-6, 0.5)
parameters = st.one_of(st.floats(0.01, 50), st.sampled_from([0.0, math.inf]))
small = settings(max_examples=30)


def protect(design, kind, parameter):
    if kind == "laplace":
        return LaplaceNoise(parameter)
    if kind == "gaussian":
        return GaussianNoise(parameter)
    counts = isinstance(design, (OneProportion, Independence))
    return RandomizedResponse(parameter, None if counts else 7)


def closed(design, kind):
    """Whether nothing is simulated."""
    if kind == "response":
        return True
    return getattr(design, "known_sd", True) and not isinstance(design, Independence)


kinds = st.sampled_from(["laplace", "gaussian", "response"])


@given(designs, st.floats(0, 0.25), numbers, levels, kinds, parameters)
@small
def test_power_and_error_add_up_and_unbiased(design, effect, n, alpha, kind, parameter):
    if not closed(design, kind):
        kind = "response"
    # The actual tests of randomised tables and of answers on a grid are neither unbiased nor of
    # exact level; their large-sample laws are.
    method = "normal" if kind == "response" or isinstance(design, Independence) else "exact"
    if isinstance(design, OneProportion):
        method = "exact"
    run = {"protection": protect(design, kind, parameter), "method": method}
    result = power(design, effect, n, alpha, **run)
    assert 0 <= result.power <= 1
    assert result.power + result.type2 == pytest.approx(1, abs=1e-12)
    if not isinstance(design, OneProportion):  # its two tails are not the unbiased ones
        assert result.power >= alpha * (1 - 1e-9) - 1e-13
    one = "two-sided" if isinstance(design, Independence) else "larger"
    run["alternative"] = one
    assert power(design, effect, n, alpha, **run).power >= alpha * (1 - 1e-9) - 1e-13
    assert power(design, 0.0, n, alpha, **run).power == pytest.approx(alpha, abs=1e-10)


@given(designs, st.floats(0, 0.12), st.floats(1, 2), numbers, levels, kinds, parameters)
@small
def test_power_grows_with_effect_records_level_and_parameter(
    design, effect, factor, n, alpha, kind, parameter
):
    if not closed(design, kind):
        kind = "response"
    run = {"alternative": "two-sided" if isinstance(design, Independence) else "larger"}
    if kind == "response" and not isinstance(design, OneProportion):
        run["method"] = "normal"  # exact laws of answers on a grid move in small steps

    def value(effect, n, alpha, parameter):
        return power(
            design, effect, n, alpha, protection=protect(design, kind, parameter), **run
        ).power  # fmt: skip

    start = value(effect, n, alpha, parameter)
    slack = 1e-11
    assert value(effect * factor, n, alpha, parameter) >= start - slack
    assert value(effect, math.ceil(n * factor), alpha, parameter) >= start - slack
    assert value(effect, n, min(alpha * factor, 1), parameter) >= start - slack
    assert value(effect, n, alpha, parameter * factor) >= start - slack


@given(st.floats(-0.5, 0.5), st.integers(2, 200), levels, kinds, st.floats(0, 30))
@small
def test_sides_mirror_each_other(effect, n, alpha, kind, parameter):
    for design in (OneSampleMean(V, known_sd=True), OneProportion(0.5)):
        protection = protect(design, kind, parameter)
        left = power(design, effect, n, alpha, alternative="smaller", protection=protection)
        right = power(design, -effect, n, alpha, alternative="larger", protection=protection)
        assert left.power == pytest.approx(right.power, abs=1e-12)


# --------------------------------------------------------------------- inverse questions

CASES = [
    (OneSampleMean(V), None),
    (OneSampleMean(V, known_sd=True), LaplaceNoise(1)),
    (TwoSampleMeans(V, 2.0), RandomizedResponse(3, 5)),
    (OneProportion(0.3), GaussianNoise(1)),
    (OneProportion(0.3), None),
    (TwoProportions(0.3), RandomizedResponse(2)),
    (Independence(TABLE), RandomizedResponse((2, 3))),
    (Correlation(V, V), None),
    (Slope(V, V, known_sd=True), GaussianNoise(5)),
]


@pytest.mark.parametrize(("design", "protection"), CASES)
def test_smallest_effect_is_the_smallest(design, protection):
    found = minimum_detectable_effect(design, 90, 0.7, 0.02, protection=protection)
    assert found.at.power >= 0.7
    run = {"protection": protection, "draws": DRAWS}
    less = found.value * (1 - 2**-22) if found.at.standard_error else np.nextafter(found.value, 0)
    assert power(design, less, 90, 0.02, **run).power < 0.7
    assert found.at.effect == found.value
    assert "0.7" in found.verdict


@pytest.mark.parametrize(("design", "protection"), CASES)
def test_smallest_number_is_the_smallest(design, protection):
    found = sample_size(design, 0.12, 0.7, 0.02, protection=protection)
    n = int(found.value)
    assert found.at.n == n
    assert found.at.power >= 0.7
    for less in range(max(1, n - 20), n):
        found = power(design, 0.12, less, 0.02, protection=protection, draws=DRAWS)
        assert found.power < 0.7


def test_sample_size_by_the_textbook():
    # n = ((z_α + z_β)·σ/δ)², one-sided.
    n = ((stats.norm.isf(0.05) + stats.norm.isf(0.2)) * 0.25 / 0.05) ** 2
    found = sample_size(OneSampleMean(V, known_sd=True), 0.05, 0.8, alternative="larger")
    assert found.value == math.ceil(n)
    mu = 2.0  # with Gaussian noise: σ²/n + 1/(nμ)² instead of σ²/n
    found = sample_size(
        OneSampleMean(V, known_sd=True), 0.05, 0.8, alternative="larger",
        protection=GaussianNoise(mu),
    )  # fmt: skip
    need = (0.05 / (stats.norm.isf(0.05) + stats.norm.isf(0.2))) ** 2
    n = next(n for n in range(1, 9999) if 0.25**2 / n + 1 / (n * mu) ** 2 <= need)
    assert found.value == n


def test_conservative_proportion_takes_the_first_tooth():
    found = sample_size(OneProportion(0.5), 0.2, 0.8, method="conservative")
    run = {"method": "conservative"}
    first = next(n for n in range(1, 999) if power(OneProportion(0.5), 0.2, n, **run).power >= 0.8)
    assert found.value == first


def test_directions_and_simulated_answers():
    down = minimum_detectable_effect(OneProportion(0.3), 50, alternative="smaller")
    assert down.value < 0
    assert down.at.power >= 0.8
    pair = Correlation(V, V)
    drawn = minimum_detectable_effect(pair, 60, 0.5, protection=GaussianNoise(2), draws=2000)
    assert drawn.standing is Standing.ESTIMATE
    assert drawn.at.power >= 0.5
    assert drawn.at.power == pytest.approx(0.5, abs=1e-4)
    drawn = sample_size(pair, 0.3, 0.5, protection=GaussianNoise(2), draws=2000)
    assert drawn.at.power >= 0.5


def test_limits_of_inverse_questions():
    assert minimum_detectable_effect(OneSampleMean(V), 10, 0.0).value == 0
    assert minimum_detectable_effect(OneSampleMean(V, known_sd=True), 10, 0.049).value == 0
    assert sample_size(OneSampleMean(V, known_sd=True), 0.0, 0.049).value == 1
    with pytest.raises(InfeasibleError, match=r"at most 0\.05"):
        minimum_detectable_effect(OneSampleMean(V), 10, protection=LaplaceNoise(0))
    with pytest.raises(InfeasibleError, match="records") as caught:
        sample_size(OneProportion(0.3), 0.1, protection=RandomizedResponse(0))
    assert caught.value.total == pytest.approx(0.05)
    with pytest.raises(InfeasibleError):
        sample_size(OneSampleMean(V), 0.0)
    with pytest.raises(InfeasibleError):
        minimum_detectable_effect(OneSampleMean(V), 1)
    for bad in (-0.1, 1.1, math.nan, "a", None, True):
        with pytest.raises(InvalidInputError):
            sample_size(OneSampleMean(V), 0.1, bad)
        with pytest.raises(InvalidInputError):
            minimum_detectable_effect(OneSampleMean(V), 10, bad)
    with pytest.raises(InvalidInputError):
        sample_size("mean", 0.1)
    with pytest.raises(InvalidInputError):
        minimum_detectable_effect(None, 10)


def test_least_number():
    assert least(lambda x: x >= 0.1) == 0.1
    assert least(lambda _: True) == 0
    assert least(lambda _: False) is None
    assert least(math.isinf) == math.inf
    coarse = least(lambda x: x >= 0.1, coarse=True)
    assert 0.1 <= coarse <= 0.1 * (1 + 2.0**-23)


# ---------------------------------------------------------------------------- several tests


def test_bonferroni():
    tests = [
        PlannedTest(OneSampleMean(V), 0.1, 60, name="a"),
        PlannedTest(OneProportion(0.3), 0.15, 60, name="b"),
    ]
    both = family_power(tests, 0.04)
    assert both.level == 0.02
    assert both.powers == tuple(power(t.design, t.effect, t.n, 0.02).power for t in tests)
    assert both.standing is Standing.EXACT
    assert both.average == pytest.approx(sum(both.powers) / 2)
    assert both.all_at_least == pytest.approx(max(0, sum(both.powers) - 1))
    # Eight tests of which a quarter is true.
    assert family_power(tests, 0.04, true_share=0.25).level == pytest.approx(0.005)
    assert family_power(tests, 0.04, correction="none").level == 0.04
    assert both.to_frame().height == 2
    assert family_power(tests, true_share=5e-324).level < 1e-300


def test_benjamini_hochberg_against_simulation():
    """10^3 tests of which 20 % are true, 400 times; the mean share found has error below 0.002."""
    m, share, shift = 1000, 0.2, 3.0
    rng = np.random.default_rng(20)
    true = np.arange(m) < share * m
    found = []
    for _ in range(400):
        p = stats.norm.sf(rng.standard_normal(m) + shift * true)
        ranked = np.sort(p)
        passed = np.flatnonzero(ranked <= 0.05 * np.arange(1, m + 1) / m)
        limit = ranked[passed[-1]] if passed.size else -1.0
        found.append((p[true] <= limit).mean())
    test = PlannedTest(OneSampleMean(Values(1.0), known_sd=True), shift, 1, "larger")
    result = family_power(test, correction="benjamini_hochberg", true_share=share)
    error = np.std(found) / math.sqrt(len(found))
    assert error < 0.002
    # The limit of many tests: at 1000 it is off by less than 1/√m · 0.1.
    assert result.average == pytest.approx(np.mean(found), abs=4.5 * error + 0.003)
    u = result.level
    assert u == pytest.approx(0.05 * (0.8 * u + 0.2 * result.average), rel=1e-9)
    assert result.standing is Standing.ESTIMATE


def test_benjamini_hochberg_limits():
    test = PlannedTest(OneSampleMean(V, known_sd=True), 0.1, 60)

    def run(**kw):
        return family_power(test, correction="benjamini_hochberg", **kw)

    assert run(alpha=0).average == 0
    assert run(alpha=1).average == 1
    # Power equal to the level: nothing is found, as the curve stays below the diagonal.
    assert run(protection=LaplaceNoise(0)).average == 0
    alone = run(true_share=1.0)
    assert alone.level <= 0.05
    assert run(true_share=0.01).level < alone.level


def test_refusals_of_families():
    test = PlannedTest(OneSampleMean(V), 0.1, 60)
    for bad in ([], None, "x", [test, "y"], [test, test]):
        with pytest.raises(InvalidInputError):
            family_power(bad)
    for bad in (0, -1, 2, math.nan, "x"):
        with pytest.raises(InvalidInputError):
            family_power(test, true_share=bad)
    with pytest.raises(InvalidInputError, match="Did you mean 'bonferroni'"):
        family_power(test, correction="bonferoni")
    with pytest.raises(InvalidInputError):
        PlannedTest(OneSampleMean(V), math.nan, 60)
    with pytest.raises(InvalidInputError):
        PlannedTest(OneSampleMean(V), 0.1, 0)
    with pytest.raises(InvalidInputError):
        PlannedTest(OneSampleMean(V), 0.1, 10, "up")
    with pytest.raises(InvalidInputError):
        PlannedTest(OneSampleMean(V), 0.1, 10, name=3)


# ------------------------------------------------------------------------ hostile, extreme


@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise])
def test_little_noise_has_a_sensible_monte_carlo_error(kind):
    run = {"draws": 5_000}
    limit = power(Correlation(V, V), 0.4, 60, protection=kind(math.inf), **run)
    for mu in (1e3, 1e5, 1e8, 1e300):
        found = power(Correlation(V, V), 0.4, 60, protection=kind(mu), **run)
        assert 1e-3 < found.standard_error < 0.03
        assert found.power == pytest.approx(limit.power, abs=1e-3)
    tiny = power(Correlation(V, V), 0.4, 60, 1e-9, protection=kind(1e6), **run)
    assert tiny.standard_error == 0.5
    assert "more draws" in tiny.assumptions[-1]


def test_settings_of_planned_tests_are_checked():
    for k in (10**400, 1, "3", (2, 3, 4), True):
        with pytest.raises(SeepageError, match="expected"):
            PlannedTest(OneProportion(0.3), 0.1, 100, k=k)


def test_results_have_a_chart_and_a_page():
    result = power(OneProportion(0.3), 0.2, 50)
    assert result.plot().to_dict()["$schema"].startswith("https://vega")
    assert f"{100 * result.power:.1f}"[:2] in result.to_html()


def test_a_planned_table_tells_its_own_effect():
    with pytest.raises(InfeasibleError, match=r"the planned table itself has an effect of 0\.2$"):
        minimum_detectable_effect(Independence([[30, 20], [20, 30]]), 5, 0.9)
