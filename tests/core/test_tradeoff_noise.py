"""Curves of Laplace and Gaussian noise against mpmath, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtri

from seepage import InvalidInputError, TradeOff
from seepage.tradeoff import GaussianNoise, LaplaceNoise

INF = float("inf")
ALPHAS = [1e-300, 1e-200, 1e-100, 1e-30, 1e-9, 1e-3, 0.01, 0.2, 0.49, 0.5, 0.51, 0.9]
ALPHAS += [1 - 1e-6, 1 - 1e-12, 1 - 1e-16]
MUS = [1e-6, 1e-3, 0.9, 1.1, 3.0, 10.0, 37.0, 100.0]
EPSILONS = [1e-12, 1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0, 50.0, 200.0, 699.0, 1000.0, 1e4]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999]
PRIORS = [0.0, 1e-300, 1e-9, 0.01, 0.5, 0.99, 1 - 1e-16, 1.0]


def upper(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def quantile(alpha):
    """z with upper(z) = α, found on the side of the small tail."""
    a = mpf(alpha)
    if a > 0.5:
        return -quantile(1 - a)
    if a == 0.5:
        return mpf(0)
    return mp.findroot(lambda z: mp.log(upper(z)) - mp.log(a), mpf(float(-ndtri(float(a)))))


def gaussian_truth(alpha, mu):
    z = quantile(alpha)
    return upper(z - mu), upper(mu - z)


def laplace_truth(alpha, mu):
    """From the distribution function of the Laplace distribution, as in the definition."""

    def survival(x):
        return 1 - mp.exp(x) / 2 if x < 0 else mp.exp(-x) / 2

    a = mpf(alpha)
    threshold = -mp.log(2 * a) if a < 0.5 else mp.log(2 * (1 - a))
    power = survival(threshold - mu)
    return power, survival(mu - threshold)


def gaussian_profile(epsilon, mu):
    e, m = mpf(epsilon), mpf(mu)
    return upper(e / m - m / 2) - mp.exp(e) * upper(e / m + m / 2)


def laplace_profile(epsilon, mu):
    e, m = mpf(epsilon), mpf(mu)
    return 1 - mp.exp((e - m) / 2) if e < m else mpf(0)


KINDS = [
    pytest.param(TradeOff.laplace, laplace_truth, laplace_profile, id="laplace"),
    pytest.param(TradeOff.gaussian, gaussian_truth, gaussian_profile, id="gaussian"),
]


def close(found, truth, rel=1e-12):
    """Relative error, but for numbers below the range of normal ones."""
    return abs(mpf(float(found)) - truth) <= rel * truth + mpf("1e-307") * (truth < 1e-295)


@pytest.mark.parametrize(("make", "truth", "profile"), KINDS)
def test_power_and_type_two_error(make, truth, profile):
    with mp.workdps(50):
        for mu in MUS:
            curve = make(mu)
            powers, betas = curve.power(ALPHAS), curve.beta(ALPHAS)
            for alpha, power, beta in zip(ALPHAS, powers, betas, strict=True):
                p, b = truth(alpha, mpf(mu))
                assert close(power, p), (mu, alpha)
                assert close(beta, b), (mu, alpha)
                # f = f⁻¹: the rate that gives power 1 − α is β
                assert (
                    close(curve.false_alarms(1 - alpha), truth(alpha, mpf(mu))[1]) or alpha < 1e-4
                )
                for prior in PRIORS:
                    pi = mpf(prior)
                    wanted = pi * p / ((1 - pi) * mpf(alpha) + pi * p)
                    assert close(curve.posterior(prior, alpha), wanted), (mu, alpha, prior)


@pytest.mark.parametrize(("make", "truth", "profile"), KINDS)
def test_profile_and_its_inverse(make, truth, profile):
    with mp.workdps(90):
        for mu in MUS:
            curve = make(mu)
            for epsilon, delta in zip(EPSILONS, curve.delta(EPSILONS), strict=True):
                assert close(delta, profile(epsilon, mu)), (mu, epsilon)
            assert curve.total_variation == pytest.approx(float(profile(0, mu)), rel=1e-14)
            assert curve.delta(0) == curve.total_variation
            for delta in DELTAS:
                epsilon = curve.epsilon(delta)
                assert curve.delta(epsilon) <= delta
                if epsilon == 0:
                    assert curve.total_variation <= delta
                elif profile(mu, mu) > 0 or delta > 1e-12:
                    # The Gaussian profile falls steeply: a relative 1e-12 of δ where ε is largest.
                    assert profile(epsilon * (1 - 1e-13), mu) >= mpf(delta) * (1 - mpf("1e-11"))


def test_laplace_leakage():
    """The maximiser on the middle piece solves (1 + t)α² − 2tcα − c = 0, c = e^−μ/4."""
    with mp.workdps(60):
        for mu in [*MUS, 500.0, 800.0, 3000.0]:
            found = TradeOff.laplace(mu).leakage(EPSILONS)
            for epsilon, value in zip(EPSILONS, found, strict=True):
                t, c = mp.expm1(mpf(epsilon)), mp.exp(-mpf(mu)) / 4
                alpha = (t * c + mp.sqrt(t * t * c * c + (1 + t) * c)) / (1 + t)
                alpha = min(max(alpha, 2 * c), mpf(1) / 2)
                power = 1 - c / alpha
                truth = mp.log((1 + t * power) / (1 + t * alpha))
                assert close(value, truth), (mu, epsilon)


def test_gaussian_leakage():
    """Maximised over the threshold z directly: ln(1 + t·Q(z − μ)) − ln(1 + t·Q(z))."""
    with mp.workdps(60):
        for mu in (1e-6, 0.1, 1.0, 5.0, 40.0):
            found = TradeOff.gaussian(mu).leakage(EPSILONS)
            for epsilon, value in zip(EPSILONS, found, strict=True):
                t = mp.expm1(mpf(epsilon))

                def objective(z, t=t, mu=mu):
                    return mp.log1p(t * (upper(z - mu) - upper(z)) / (1 + t * upper(z)))

                # The likelihood ratio at the best threshold is e^L.
                best = mpf(value) / mu + mpf(mu) / 2
                assert close(value, objective(best)), (mu, epsilon)
                step = mpf("1e-3")
                assert objective(best) >= max(objective(best - step), objective(best + step))


@settings(max_examples=40)
@given(st.floats(1e-8, 60), st.floats(0, 1e3))
def test_leakage_is_the_largest_over_the_curve(mu, epsilon):
    alpha = np.concatenate((np.logspace(-300, 0, 400), np.linspace(0.001, 0.999, 200)))
    with np.errstate(over="ignore"):
        q = np.exp(-epsilon)
    for curve in (TradeOff.laplace(mu), TradeOff.gaussian(mu)):
        power = curve.power(alpha)
        on_curve = np.log((power + (1 - power) * q) / (alpha + (1 - alpha) * q)).max()
        value = curve.leakage(epsilon)
        assert on_curve <= value * (1 + 1e-12) + 1e-13
        assert value <= min(epsilon, mu if isinstance(curve, LaplaceNoise) else INF)
        if epsilon < 30:
            weight = np.exp(-value) * np.expm1(epsilon)  # of the rounding of δ as well
            found = curve.delta(value) * weight
            assert -np.expm1(-value) == pytest.approx(found, rel=1e-9, abs=2e-16 * weight + 1e-300)


@pytest.mark.parametrize("mu", [1e-6, 0.3, 1.0, 4.0, 20.0])
def test_area(mu):
    with mp.workdps(30):
        m = mpf(mu)
        gauss = mp.quad(
            lambda z: upper(z - m) * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi),
            [-30, -8, -3, 0, 3, 8, 30],
        )
        corner = mp.exp(-m) / 2
        laplace = mp.quad(lambda a: laplace_truth(a, m)[0], [mpf(10) ** -40, corner])
        nodes = [corner * mp.exp(m * k / 20) for k in range(21)]
        laplace += mp.quad(lambda a: laplace_truth(a, m)[0], nodes)
        laplace += mp.quad(lambda a: laplace_truth(a, m)[0], [0.5, 1 - mpf(10) ** -28])
    assert TradeOff.gaussian(mu).area == pytest.approx(float(gauss), rel=1e-13)
    assert TradeOff.laplace(mu).area == pytest.approx(float(laplace), rel=1e-13)


def test_golden_values():
    gauss, laplace = TradeOff.gaussian(1), TradeOff.laplace(1)
    assert gauss.power(0.01) == pytest.approx(0.0923622, abs=5e-8)
    assert gauss.relative_risk(0.01) == pytest.approx(9.23622, abs=5e-6)
    assert laplace.power(0.01) == pytest.approx(0.027183, abs=5e-7)
    assert laplace.relative_risk() == np.e
    assert laplace.epsilon(0) == 1


@pytest.mark.parametrize("make", [TradeOff.laplace, TradeOff.gaussian])
def test_limits(make):
    nothing, everything = make(0), make(INF)
    grid = np.array([0, 1e-300, 0.3, 1 - 1e-16, 1])
    np.testing.assert_array_equal(nothing.power(grid), grid)
    np.testing.assert_array_equal(nothing.beta(grid), 1 - grid)
    np.testing.assert_array_equal(nothing.false_alarms(grid), grid)
    np.testing.assert_array_equal(everything.power(grid), 1)
    np.testing.assert_array_equal(everything.beta(grid), 0)
    np.testing.assert_array_equal(everything.false_alarms(grid), 0)
    epsilons = np.array([0, 1e-9, 1, 1e4, INF])
    np.testing.assert_array_equal(nothing.leakage(epsilons), 0)
    np.testing.assert_array_equal(everything.leakage(epsilons), epsilons)
    np.testing.assert_array_equal(nothing.delta(epsilons), 0)
    np.testing.assert_array_equal(everything.delta(epsilons), 1)
    np.testing.assert_array_equal(nothing.epsilon([0, 0.5, 1]), 0)
    np.testing.assert_array_equal(everything.epsilon([0, 0.5, 1]), [INF, INF, 0])
    assert (nothing.total_variation, everything.total_variation) == (0, 1)
    assert (nothing.area, everything.area) == (0.5, 1)
    assert (nothing.failure, everything.failure) == ("none", "catastrophic")
    assert (nothing.relative_risk(), everything.relative_risk()) == (1, INF)
    assert everything.relative_risk(0.25) == 4
    np.testing.assert_array_equal(nothing.posterior([0, 0.2, 1], 0.0), [0, 0.2, 1])
    np.testing.assert_array_equal(everything.posterior([0, 0.2, 1], 0.0), [0, 1, 1])
    for mu in (1e-300, 1e-17, 1e-6, 1.0, 50.0, 750.0, 1e5, 1e300):
        curve = make(mu)
        assert curve.vertices is None
        assert (curve.power(0), curve.power(1), curve.beta(0), curve.beta(1)) == (0, 1, 1, 0)
        assert curve.delta(INF) == 0
        assert curve.leakage(0) == 0
        assert (curve.false_alarms(0), curve.false_alarms(1)) == (0, 1)
        assert curve.leakage(INF) == (mu if make == TradeOff.laplace else INF)
        assert curve.failure == ("none" if make == TradeOff.laplace else "graceful")
        assert 0 <= curve.total_variation <= 1
        assert 0.5 <= curve.area <= 1
        assert (curve.power(grid) >= grid).all()
        assert (curve.beta(grid) <= 1 - grid).all()
        assert np.isfinite(curve.leakage([1e-300, 1.0, 1e4, 1e300])).all()
        assert curve.epsilon(1.0) == 0
        assert curve.epsilon(0.0) == (mu if make == TradeOff.laplace else INF)
        assert not np.isnan(curve.epsilon([1e-320, 1e-9, 0.5])).any()
        assert not np.isnan(curve.posterior(PRIORS, [[0.0], [1e-320], [1.0]])).any()
    assert make(1.0).posterior(0.5, 0.0) == (
        1.0 if make == TradeOff.gaussian else pytest.approx(np.e / (1 + np.e), rel=1e-15)
    )


@given(st.floats(0, 40), st.floats(0, 40), st.floats(0, 1), st.floats(0, 1))
def test_laws(one, two, a, b):
    (low, high), (left, right) = sorted((one, two)), sorted((a, b))
    for make in (TradeOff.laplace, TradeOff.gaussian):
        weak, strong = make(low), make(high)
        assert weak.power(a) <= strong.power(a) * (1 + 1e-12)
        assert strong.power(left) <= strong.power(right) * (1 + 1e-12)
        middle = (left + right) / 2
        chord = (strong.power(left) + strong.power(right)) / 2
        assert strong.power(middle) >= chord * (1 - 1e-12) - 1e-15
        assert strong.power(a) + strong.beta(a) == pytest.approx(1, abs=1e-15)
        # f = f⁻¹, wherever f keeps the digits of its argument
        assert strong.beta(strong.beta(a)) == pytest.approx(a, rel=1e-6, abs=1e-6) or high > 5
        # Every line of the profile is above the curve.
        line = strong.delta(one) + np.exp(one) * a
        assert strong.power(a) <= line * (1 + 1e-12) + 1e-15


def test_relative_risk_at_a_floor():
    for curve in (TradeOff.laplace(2.0), TradeOff.gaussian(2.0)):
        for floor in (1e-9, 0.01, 0.2, 0.7, 1.0):
            grid = np.linspace(floor, 1, 500)
            assert curve.relative_risk(floor) == pytest.approx((curve.power(grid) / grid).max())
    assert TradeOff.laplace(2.0).relative_risk(0.05) == np.exp(2.0)
    for mu in (0.0, 1e-9, 0.5, 3.0, 700.0):
        assert TradeOff.laplace(mu).relative_risk() == np.exp(mu)


def test_parameters_and_readings_refuse_nonsense():
    for value in (float("nan"), -1, "1", None, True, 1j, [1.0], object()):
        for make in (TradeOff.laplace, TradeOff.gaussian, LaplaceNoise, GaussianNoise):
            with pytest.raises(InvalidInputError, match="expected"):
                make(value)
        if value != [1.0]:
            for call in (
                TradeOff.gaussian(1).false_alarms,
                TradeOff.gaussian(1).epsilon,
                TradeOff.laplace(1).delta,
                TradeOff.laplace(1).leakage,
            ):
                with pytest.raises(InvalidInputError, match="expected"):
                    call(value)
    for words in ("", "  ", None, 3):
        with pytest.raises(InvalidInputError, match="adjacency"):
            TradeOff.gaussian(1, adjacency=words)
    for outside in (-1e-9, 1 + 1e-9, 2):
        with pytest.raises(InvalidInputError, match="expected"):
            TradeOff.gaussian(1).epsilon(outside)
    assert TradeOff.gaussian(1).false_alarms([[0.1, 0.2]]).shape == (1, 2)
    assert isinstance(TradeOff.laplace(1).epsilon(0.1), float)
    assert TradeOff.laplace(1).leakage([]).shape == (0,)
    assert TradeOff.gaussian(1).leakage([]).shape == (0,)
    assert TradeOff.gaussian(1).epsilon([]).shape == (0,)


def test_the_smallest_gaussian_parameters_leak_a_number():
    epsilon = np.array([0.0, 1e-300, 1e-5, 1.0, 50.0, 800.0, 5000.0, np.inf])
    before = np.zeros(epsilon.size)
    for mu in (5e-324, 1e-323, 1e-322, 1e-318):
        leakage = TradeOff.gaussian(mu).leakage(epsilon)
        assert (leakage >= before).all()
        assert leakage[3] <= 4e-319
        assert (leakage <= epsilon).all()
        before = leakage


@pytest.mark.parametrize("mu", [690.0, 705.0, 740.0, 800.0, 1400.0])
def test_type_two_errors_of_strong_laplace_curves(mu):
    alpha = np.array([1e-320, 1e-300, 1e-200, 1e-20, 0.4])
    found = TradeOff.laplace(mu).beta(alpha)
    for a, b in zip(alpha.tolist(), found.tolist(), strict=True):
        exact = mp.exp(-mpf(mu)) / (4 * mpf(a))
        if exact < 0.25 and a > mp.exp(-mpf(mu)):
            assert b == pytest.approx(float(exact), rel=1e-12, abs=1e-323)
