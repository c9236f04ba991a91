"""The t test on a noisy variance: the law by other means, and against simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from seepage.risk._noisy_variance import variance_rule
from seepage.risk.designs import OneSampleMean, TwoSampleMeans, Values
from seepage.risk.power import power
from seepage.risk.protections import GaussianNoise, LaplaceNoise

DEGREES = [1, 2, 3, 9, 49, 999, 1e6, 1e11]


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("b", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4])
def test_laplace_noise_in_closed_form(df, b):
    """P(W ≤ 0) = ½·E e^(−V/b), E max(W, 0) = 1 + b·P(W ≤ 0), and the second moment."""
    nodes, weights = variance_rule(df, 0.0, b)
    atom = math.exp(-df / 2 * math.log1p(2 / (df * b))) / 2
    assert nodes[0] == 0
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert weights[0] == pytest.approx(atom, abs=2e-9)
    assert weights @ nodes == pytest.approx(1 + b * atom, rel=4e-9)
    below = 2 * b * b * atom  # of the square of what is cut off
    assert weights @ nodes**2 == pytest.approx(1 + 2 / df + 2 * b * b - below, rel=4e-9)


@pytest.mark.parametrize("df", [1, 3, 9, 49])
@pytest.mark.parametrize("s", [0.1, 1.0, 30.0])
def test_gaussian_noise_by_another_quadrature(df, s):
    nodes, weights = variance_rule(df, s, 0.0)

    def expected(value):
        a = mpmath.mpf(df) / 2

        def law(r):  # of the root of the variance
            return (
                2 * a**a / mpmath.gamma(a) * r ** (df - 1) * mpmath.exp(-a * r * r) * value(r * r)
            )

        return mpmath.quad(law, [0, 0.3, 0.6, 0.8, 1, 1.2, 1.5, 2, 3, 5, 9, 15])

    with mpmath.workdps(20):
        atom = expected(lambda v: mpmath.ncdf(-v / s))
        mean = expected(lambda v: v * mpmath.ncdf(v / s) + s * mpmath.npdf(v / s))
    assert weights[0] == pytest.approx(float(atom), abs=2e-9)
    assert weights @ nodes == pytest.approx(float(mean), rel=4e-9)


CASES = [
    (OneSampleMean(Values(0.5, 0, 1)), 0.2, 100),
    (OneSampleMean(Values(0.25, 0, 1)), 0.2, 15),
    (OneSampleMean(Values(0.5, 0, 1)), 0.4, 2),
    (TwoSampleMeans(Values(0.25, 0, 1), 1.5), 0.1, 60),
]


@pytest.mark.parametrize(("design", "effect", "n"), CASES)
@pytest.mark.parametrize("protection", [LaplaceNoise(1.0), GaussianNoise(1.0), LaplaceNoise(20.0)])
@pytest.mark.parametrize("side", ["two-sided", "larger", "smaller"])
def test_simulation_agrees(design, effect, n, protection, side):
    """400,000 tests, drawn whole: off by 4.5 standard errors in 7 of 10^6 comparisons."""
    effect = -effect if side == "smaller" else effect
    found = power(design, effect, n, alternative=side, protection=protection)
    assert found.standard_error == 0
    assert found.method == "quadrature of the noisy variance"
    assert found.type2 == pytest.approx(1 - found.power, abs=1e-9)
    rng, draws = np.random.default_rng(61), 400_000
    sizes = (n,) if isinstance(design, OneSampleMean) else (n, math.ceil(1.5 * n))
    df, sd = sum(sizes) - len(sizes), design.values.sd
    spread = sum(1 / size for size in sizes)
    variance = sd**2 * rng.chisquare(df, draws) / df
    mean = sd * math.sqrt(spread) * rng.standard_normal(draws)
    if isinstance(protection, LaplaceNoise):
        scales = [1 / min(sizes) * 2 / protection.mu, 2 / protection.mu]
        noise, v = rng.laplace(size=(2, draws)), 2 * scales[0] ** 2
    else:
        scales = [1 / min(sizes) * math.sqrt(2) / protection.mu, math.sqrt(2) / protection.mu]
        noise, v = rng.standard_normal((2, draws)), scales[0] ** 2
    scales[1] *= max(1 - 1 / size for size in sizes) / df
    variance += scales[1] * noise[1]
    root = np.sqrt(np.maximum(variance, 0) * spread + v)
    rest = mean + scales[0] * noise[0]
    null, shifted = rest / root, (rest + abs(effect)) / root  # mirrored for "smaller"
    if side == "two-sided":
        null, shifted = np.abs(null), np.abs(shifted)
    c = np.quantile(null, 0.95)
    hits = float((shifted > c).mean())
    # The drawn critical value is off too; its influence is that of the density there.
    near = 0.02 * max(abs(c), 0.1)
    ratio = (np.abs(shifted - c) < near).mean() / (np.abs(null - c) < near).mean()
    error = math.sqrt((hits * (1 - hits) + ratio**2 * 0.05 * 0.95) / draws)
    assert abs(hits - found.power) < 4.5 * error


@pytest.mark.parametrize("make", [LaplaceNoise, GaussianNoise])
def test_more_noise_means_less_power_to_both_ends(make):
    design = OneSampleMean(Values(0.5, 0, 1))
    mus = [0.0, 1e-9, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6, 1e9, math.inf]
    powers = [power(design, 0.3, 40, protection=make(mu)).power for mu in mus]
    assert powers[0] == 0.05
    assert powers[1] == pytest.approx(0.05, abs=1e-8)
    assert np.all(np.diff(powers) > -1e-9)
    assert powers[-2] == pytest.approx(powers[-1], abs=1e-7)
    for alpha in (0.0, 1.0):
        assert power(design, 0.3, 40, alpha, protection=make(1.0)).power == alpha
    for alpha in (1e-12, 1e-6, 0.5, 0.9, 1 - 1e-9):
        for side in ("two-sided", "larger"):
            level = power(design, 0.0, 40, alpha, alternative=side, protection=make(1.0))
            assert level.power == pytest.approx(alpha, rel=1e-6)
