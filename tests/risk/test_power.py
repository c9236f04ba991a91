"""Power of tests: golden values, second computations, limits and refusals."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from seepage.errors import CapacityError, InvalidInputError, SeepageError
from seepage.results import Standing
from seepage.risk._noncentral import correlation_power, t_critical, t_power
from seepage.risk._normal_noise import critical, tail
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
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

V = Values(0.2, 0, 1, mean=0.45)
TABLE = np.array([[0.2, 0.1, 0.05], [0.1, 0.3, 0.25]])
DESIGNS = [
    (OneSampleMean(V), 0.08),
    (OneSampleMean(V, known_sd=True), 0.08),
    (PairedDifference(Values(0.4, -1, 1)), 0.15),
    (PairedDifference(Values(0.4, -1, 1), known_sd=True), 0.15),
    (TwoSampleMeans(V, 1.5), 0.1),
    (TwoSampleMeans(V, 1.5, known_sd=True), 0.1),
    (OneProportion(0.3), 0.15),
    (TwoProportions(0.3, 1.5), 0.2),
    (Independence(TABLE), 0.3),
    (Correlation(V, V), 0.3),
    (Slope(V, V, known_sd=True), 0.3),
]
MEANS = (OneSampleMean, PairedDifference, TwoSampleMeans)
IDS = [type(d).__name__ + str(i) for i, (d, _) in enumerate(DESIGNS)]


def protections(mu):
    return [LaplaceNoise(mu), GaussianNoise(mu)]


def response(design, epsilon):
    numeric = not isinstance(design, (OneProportion, TwoProportions, Independence))
    return RandomizedResponse(epsilon, 5 if numeric else None)


@pytest.mark.parametrize(
    ("sd", "mu", "value"),
    [(0.5, 1, 0.1711), (0.25, 1, 0.4321), (0.5, math.inf, 0.2185), (0.25, math.inf, 0.7800)],
)
def test_golden_numbers_of_fifteen_records(sd, mu, value):
    design = OneSampleMean(Values(sd, 0, 1), known_sd=True)
    result = power(design, 0.2, 15, 0.01, alternative="larger", protection=GaussianNoise(mu))
    assert result.power == pytest.approx(value, abs=5.1e-5)
    assert result.standing is Standing.EXACT
    sigma_n = math.sqrt(sd**2 / 15 + 1 / (15 * mu) ** 2)
    by_hand = stats.norm.sf(stats.norm.isf(0.01) - 0.2 / sigma_n)
    assert result.power == pytest.approx(by_hand, abs=1e-13)


# ------------------------------------------------------------ without noise: statsmodels

SIDES = ("two-sided", "larger", "smaller")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
@pytest.mark.parametrize(("d", "n"), [(0.3, 20), (-0.5, 7), (1.0, 2), (0.05, 900), (0.0, 12)])
def test_means_equal_statsmodels(side, alpha, d, n):
    sm = pytest.importorskip("statsmodels.stats.power")
    v = Values(2.0)
    same = {"alternative": side, "alpha": alpha}

    def ours(design):
        return power(design, 2 * d, n, alpha, alternative=side).power

    one = sm.TTestPower().power(d, n, **same)
    assert ours(OneSampleMean(v)) == pytest.approx(one, abs=1e-9)
    assert ours(PairedDifference(v)) == pytest.approx(one, abs=1e-9)
    z = sm.NormalIndPower().power(d, n, ratio=0, **same)
    assert ours(OneSampleMean(v, known_sd=True)) == pytest.approx(z, abs=1e-9)
    # statsmodels has first minus second, as its effect is signed the other way round.
    two = sm.TTestIndPower().power(d, n, ratio=2, **same)
    assert ours(TwoSampleMeans(v, 2.0)) == pytest.approx(two, abs=1e-9)
    two_z = sm.NormalIndPower().power(d, n, ratio=2, **same)
    assert ours(TwoSampleMeans(v, 2.0, known_sd=True)) == pytest.approx(two_z, abs=1e-9)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("p", "d", "n"), [(0.3, 0.1, 50), (0.5, -0.2, 30), (0.05, 0.1, 200)])
def test_proportions_equal_statsmodels(side, p, d, n):
    sm = pytest.importorskip("statsmodels.stats.power")
    prop = pytest.importorskip("statsmodels.stats.proportion")
    d = max(d, -p)
    ours = power(OneProportion(p), d, n, 0.03, alternative=side, method="normal")
    q = p + d
    theirs = sm.normal_power_het(
        d, n, 0.03, math.sqrt(p * (1 - p)), math.sqrt(q * (1 - q)), alternative=side
    )
    assert ours.power == pytest.approx(theirs, abs=1e-9)
    exact = power(OneProportion(p), d, n, 0.03, alternative=side)
    assert ours.approximation_error == pytest.approx(ours.power - exact.power, abs=1e-15)
    # There the first group is p2 + diff; here the effect belongs to the second.
    two = power(TwoProportions(p, 2.0), d, n, 0.03, alternative=side, method="normal")
    theirs = prop.power_proportions_2indep(
        d, p, 2 * n, ratio=0.5, alpha=0.03, alternative=side, return_results=False
    )
    assert two.power == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("w", "n", "alpha"), [(0.1, 500, 0.05), (0.3, 80, 0.001), (0.35, 9, 0.2)])
def test_independence_equals_statsmodels(w, n, alpha):
    sm = pytest.importorskip("statsmodels.stats.power")
    theirs = sm.GofChisquarePower().power(w, n, alpha, n_bins=3, ddof=0)  # 2 degrees of freedom
    assert power(Independence(TABLE), w, n, alpha).power == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("rho", "n"), [(0.2, 50), (-0.4, 12), (0.05, 3000)])
def test_correlation_by_fisher_equals_statsmodels(rho, n):
    sm = pytest.importorskip("statsmodels.stats.power")
    theirs = sm.NormalIndPower().power(math.atanh(rho), n - 3, 0.05, ratio=0)
    ours = power(Correlation(), rho, n, method="normal")
    assert ours.power == pytest.approx(theirs, abs=1e-9)
    assert abs(ours.approximation_error) < 0.02


@pytest.mark.parametrize(("b", "n", "others"), [(0.4, 30, 0), (0.2, 200, 3), (0.8, 9, 2)])
def test_slope_equals_statsmodels(b, n, others):
    sm = pytest.importorskip("statsmodels.stats.power")
    shared = 0.3 if others else 0.0
    design = Slope(Values(1.5), Values(0.7), others, shared)
    f2 = b**2 * 0.7**2 * (1 - shared) / 1.5**2
    df = n - 2 - others
    theirs = sm.FTestPowerF2().power(f2 * n / (df + 1), 1, df, 0.05, ncc=0)
    assert power(design, b, n).power == pytest.approx(theirs, abs=1e-9)


# --------------------------------------------------------------------- second computations


@pytest.mark.parametrize(("s", "b"), [(1.0, 1.0), (1.0, 0.01), (0.01, 1.0), (1.0, 30.0)])
def test_normal_plus_laplace_tail_and_critical_value(s, b):
    with mpmath.workdps(40):

        def exact(x):
            r = mpmath.mpf(s) / b
            up = mpmath.exp(r**2 / 2 - x / mpmath.mpf(b)) * mpmath.ncdf(x / mpmath.mpf(s) - r)
            down = mpmath.exp(r**2 / 2 + x / mpmath.mpf(b)) * mpmath.ncdf(-x / mpmath.mpf(s) - r)
            return mpmath.ncdf(-x / mpmath.mpf(s)) + (up - down) / 2

        for x in (0.0, 0.003, 0.5, 2.0, 7.0, 25.0):
            value = float(exact(mpmath.mpf(x)))
            assert float(tail(x, s, b)) == pytest.approx(value, rel=1e-9, abs=1e-300)
            assert float(tail(-x, s, b)) == pytest.approx(1 - value, abs=1e-15)
        density = integrate.quad(
            lambda u: stats.norm.sf(0.7 - u, scale=s) * stats.laplace.pdf(u, scale=b),
            -60 * b - 3, 60 * b + 3, points=[0.0, 0.7], limit=2000, epsabs=1e-13,
        )[0]  # fmt: skip
        assert float(tail(0.7, s, b)) == pytest.approx(density, abs=1e-9)
    for p in (1e-300, 1e-12, 0.01, 0.3, 0.5, 0.9):
        assert float(tail(critical(p, s, b), s, b)) == pytest.approx(p, rel=1e-10)


def test_noncentral_t_equals_scipy():
    for df in (1, 2, 5, 30, 1000, 100_000):
        for delta in (-5.0, -0.3, 0.0, 0.5, 4.0, 30.0):
            for p in (1e-10, 0.01, 0.4, 0.9):
                c = t_critical(p, df)
                found, missed = t_power(np.array(delta), df, p, two_sided=False)
                assert float(found) == pytest.approx(stats.nct.sf(c, df, delta), abs=1e-11)
                assert found + missed == pytest.approx(1, abs=1e-13)


def test_correlation_equals_a_second_quadrature():
    for rho, n in ((0.3, 5), (-0.5, 12), (0.1, 60)):
        theta, c = rho / math.sqrt(1 - rho**2), t_critical(0.025, n - 2)

        def reject(v, n=n, theta=theta, c=c):
            delta = theta * math.sqrt(v)
            both = stats.nct.sf(c, n - 2, delta) + stats.nct.sf(c, n - 2, -delta)
            return both * stats.chi2.pdf(v, n - 1)

        value = integrate.quad(reject, 0, 20 * n, limit=500, points=[n / 2, n, 2 * n, 4 * n])[0]
        found, missed = correlation_power(rho, n, 0.025, two_sided=True)
        assert found == pytest.approx(value, abs=1e-8)
        assert found + missed == pytest.approx(1, abs=1e-12)


def test_laplace_mean_by_quadrature_and_the_error_of_the_paper_s_form():
    design = OneSampleMean(Values(0.25, 0, 1), known_sd=True)
    scale, se = 1 / 15, 0.25 / math.sqrt(15)
    law = stats.norm(scale=se)

    def upper(x):
        return integrate.quad(
            lambda u: law.sf(x - u) * stats.laplace.pdf(u, scale=scale),
            -3, 3, points=[0.0], limit=500, epsabs=1e-13,
        )[0]  # fmt: skip

    c = critical(0.01, se, scale)
    assert upper(c) == pytest.approx(0.01, abs=1e-10)
    run = {"alternative": "larger", "protection": LaplaceNoise(1)}
    exact = power(design, 0.2, 15, 0.01, **run)
    assert exact.power == pytest.approx(upper(c - 0.2), abs=1e-10)
    paper = power(design, 0.2, 15, 0.01, method="normal", **run)
    sigma_n = math.sqrt(se**2 + 2 * scale**2)
    assert paper.power == pytest.approx(stats.norm.sf(stats.norm.isf(0.01) - 0.2 / sigma_n))
    assert paper.approximation_error == pytest.approx(paper.power - exact.power, abs=1e-15)
    assert paper.approximation_error > 0.09  # far off: the true tails are heavier
    assert paper.standing is Standing.ESTIMATE
    level = upper(stats.norm.isf(0.01) * sigma_n)
    assert f"{level:.6g}" in paper.assumptions[-1]


def test_response_on_a_proportion_is_the_binomial_of_the_reports():
    k, n, p0, p1 = 4, 40, 0.2, 0.35
    lam = math.expm1(1.2) / (math.expm1(1.2) + k)
    q0, q1 = (lam * p + (1 - lam) / k for p in (p0, p1))
    masses = [[math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(n + 1)] for q in (q0, q1)]
    left, value = 0.05, 0.0
    for a, b in zip(reversed(masses[0]), reversed(masses[1]), strict=True):
        share = min(1.0, left / a)
        value, left = value + share * b, left - share * a
    run = {"alternative": "larger", "protection": RandomizedResponse(1.2, k)}
    assert power(OneProportion(p0), p1 - p0, n, **run).power == pytest.approx(value, abs=1e-12)
    sure = power(OneProportion(p0), p1 - p0, n, method="conservative", **run).power
    c = int(stats.binom.isf(0.05, n, q0))
    assert sure == pytest.approx(stats.binom.sf(c, n, q1), abs=1e-14)
    # The corrected estimate has variance q(1 − q)/(nλ²).
    normal = power(OneProportion(p0), p1 - p0, n, method="normal", **run).power
    sds = [math.sqrt(q * (1 - q) / n) / lam for q in (q0, q1)]
    assert normal == pytest.approx(stats.norm.sf((stats.norm.isf(0.05) * sds[0] - 0.15) / sds[1]))


def test_independence_under_response_by_enumeration():
    e = (1.0, 2.0)
    keep = [math.exp(x) / (math.exp(x) + k - 1) for x, k in zip(e, TABLE.shape, strict=True)]
    reports = np.zeros(TABLE.shape)
    for (i, j), mass in np.ndenumerate(Independence(TABLE).table(0.2)):
        for (a, b), _ in np.ndenumerate(TABLE):
            pa = keep[0] if a == i else 1 - keep[0]
            pb = keep[1] if b == j else (1 - keep[1]) / 2
            reports[a, b] += mass * pa * pb
    expected = np.outer(reports.sum(1), reports.sum(0))
    noncentral = 700 * ((reports - expected) ** 2 / expected).sum()
    value = stats.ncx2.sf(stats.chi2.isf(0.05, 2), 2, noncentral)
    run = {"protection": RandomizedResponse(e)}
    result = power(Independence(TABLE), 0.2, 700, method="normal", **run)
    assert result.power == pytest.approx(value, abs=1e-12)
    drawn = power(Independence(TABLE), 0.2, 700, **run)
    assert "simulation" in drawn.method
    assert result.approximation_error == pytest.approx(result.power - drawn.power)
    assert abs(result.approximation_error) < 4.5 * drawn.standard_error + 0.002


def test_uniform_binary_independence_shrinks_by_the_retentions():
    design = Independence([[0.3, 0.2], [0.2, 0.3]])
    lam = math.expm1(1.0) / (math.expm1(1.0) + 2)
    shrunk = power(design, 0.2 * lam**2, 2000).power
    found = power(design, 0.2, 2000, protection=RandomizedResponse(1.0), method="normal")
    assert found.power == pytest.approx(shrunk, abs=1e-12)


def test_sensitivities_by_enumeration():
    """Noise is scaled to the most that replacing one record can change what is released."""
    grid = np.linspace(0, 1, 3)
    data = np.array(np.meshgrid(*[grid] * 5, indexing="ij")).reshape(5, -1)
    first, second = data[:2], data[2:]
    pooled = (first.var(axis=0) * 2 + second.var(axis=0) * 3) / 3
    gap = second.mean(axis=0) - first.mean(axis=0)
    x = np.array([-0.5, -0.2, 0.0, 0.2, 0.5])
    slope = x @ data / (x @ x)
    far = 0.5 / (x.size * x.var())  # furthest predictor over n times their variance
    released = {"pooled": (pooled, (1 - 1 / 3) / 3), "gap": (gap, 1 / 2), "slope": (slope, far)}
    for name, (values, bound) in released.items():
        table = values.reshape([3] * 5)
        change = max(np.ptp(table, axis=i).max() for i in range(5))
        assert change == pytest.approx(bound, abs=1e-12), name


# ---------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(("design", "effect"), DESIGNS, ids=IDS)
def test_without_information_the_power_is_the_level(design, effect):
    for protection in (*protections(0), *protections(1e-300)):
        result = power(design, effect, 40, 0.07, protection=protection, draws=1000)
        assert result.power == pytest.approx(0.07, abs=4.5 * result.standard_error + 1e-9)
    silent, null = (
        power(design, d, 40, 0.07, protection=response(design, 0)) for d in (effect, 0.0)
    )
    if isinstance(design, OneProportion):
        assert silent.power == pytest.approx(0.07, abs=1e-9)
    elif isinstance(design, TwoProportions):  # the pooled z test has its own level
        assert f"{silent.power:.6g}" in silent.assumptions[0]
    else:  # so have tests of answers, which are no normal data
        error = 4.5 * math.sqrt(2) * silent.standard_error
        assert silent.power == pytest.approx(null.power, abs=error + 1e-12)
        assert silent.power == pytest.approx(0.07, abs=0.006)
        if not isinstance(design, Independence):
            assert f"rejects with probability {null.power:.4f}" in " ".join(null.assumptions)


@pytest.mark.parametrize(("design", "effect"), DESIGNS, ids=IDS)
def test_infinite_parameters_protect_nothing(design, effect):
    bare = power(design, effect, 40).power
    assert power(design, effect, 40, protection=response(design, math.inf)).power == pytest.approx(
        bare, abs=1e-12
    )
    for protection in protections(math.inf):
        result = power(design, effect, 40, protection=protection, draws=20_000)
        near = power(design, effect, 40, protection=type(protection)(1e7), draws=20_000)
        error = 4.5 * math.hypot(result.standard_error, near.standard_error)
        assert near.power == pytest.approx(result.power, abs=error + 1e-6)
        if isinstance(design, (Independence, Correlation, TwoProportions)):
            assert abs(result.power - bare) < 0.05  # another statistic is released
        else:
            assert result.power == pytest.approx(bare, abs=1e-12)


@pytest.mark.parametrize(("design", "effect"), DESIGNS, ids=IDS)
def test_levels_zero_and_one(design, effect):
    for protection in (None, *protections(0), *protections(1), response(design, 1)):
        for alpha in (0, 1):
            result = power(design, effect, 40, alpha, protection=protection, draws=1000)
            assert (result.power, result.type2) == (alpha, 1 - alpha)


@pytest.mark.parametrize(("design", "effect"), DESIGNS, ids=IDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_records(design, effect, n):
    for protection in (None, *protections(0), *protections(1), response(design, 1)):
        result = power(design, effect, n, protection=protection, draws=1000)
        assert 0 <= result.power <= 1
        assert result.power + result.type2 == pytest.approx(1, abs=1e-12)
        unknown = isinstance(design, OneSampleMean) and not design.known_sd
        if n == 1 and unknown and protection not in protections(0):
            assert result.power == 0
            assert "never rejects" in result.assumptions[-1]


@pytest.mark.parametrize("n", [10**6, 10**12])
@pytest.mark.parametrize(("design", "effect"), DESIGNS, ids=IDS)
def test_many_records(design, effect, n):
    for protection in (None, *protections(1), response(design, 1)):
        assert power(design, effect, n, protection=protection, draws=200).power > 0.999
    none = power(design, 0.0, n, protection=response(design, 1))
    # Of a million answers the sum moves in steps still; of 10^12 it is taken as normal. The counts
    # of two groups always do: the pooled z test has its own level.
    steps = none.method == "sums of answers, convolved"
    assert steps is (n == 10**6 and isinstance(design, MEANS))
    steps |= isinstance(design, TwoProportions)
    assert none.power == pytest.approx(0.05, abs=2e-4 if steps else 1e-9)
    assert abs(none.power - 0.05) < 1e-4 + none.law_error


def test_sure_effects():
    assert power(Correlation(), 1.0, 5).power == 1
    assert power(Correlation(), -1.0, 5, alternative="larger").power == 0
    assert power(OneProportion(0.5), 0.5, 20).power == 1
    assert power(TwoProportions(0.0), 1.0, 20).power == 1
    assert power(TwoProportions(0.0), 0.0, 20, method="normal").power == 0.05
    assert power(OneSampleMean(), 1e100, 5).power == pytest.approx(1, abs=1e-15)
    tiny = power(OneSampleMean(Values(1e-100)), 1e100, 5, 1e-300, alternative="larger")
    assert tiny.power == pytest.approx(1, abs=1e-15)
    assert power(Independence([[0.5, 0.0], [0.0, 0.5]]), 1.0, 10).power > 0.85


def test_type_two_error_keeps_its_digits():
    result = power(OneSampleMean(known_sd=True), 1.0, 400, alternative="larger")
    assert result.type2 == pytest.approx(stats.norm.cdf(stats.norm.isf(0.05) - 20), rel=1e-10)
    assert power(OneSampleMean(), 1.0, 400).type2 < 1e-60


# ---------------------------------------------------------------------------------- results


def test_result_says_what_it_is():
    design = Correlation(Values(0.2, 0, 1), Values(0.2, 0, 1))
    result = power(design, 0.3, 80, protection=GaussianNoise(2))
    assert result.standing is Standing.ESTIMATE
    assert 0 < result.standard_error < 0.01
    assert result.unprotected > result.power
    assert "±" in result.verdict
    assert "without protection" in result.verdict
    assert result.to_dict()["method"] == "simulation of the mean product"
    assert result.to_frame().height == 1
    again = power(design, 0.3, 80, protection=GaussianNoise(2))
    assert again.power == result.power
    other = power(design, 0.3, 80, protection=GaussianNoise(2), rng=5)
    assert other.power != result.power
    assert power(design, 0.3, 80).standing is Standing.EXACT
    quadrature = power(OneSampleMean(Values(0.2, 0, 1)), 0.05, 80, protection=GaussianNoise(2))
    assert quadrature.standing is Standing.EXACT
    assert quadrature.standard_error == 0


def test_noncentral_designs_name_their_standing():
    table = power(Independence(TABLE), 0.2, 100)
    assert table.standing is Standing.ESTIMATE
    drawn = power(Independence(TABLE), 0.2, 100, method="simulation")
    assert drawn.standard_error > 0
    assert drawn.power == pytest.approx(table.power, abs=0.02)


# --------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "bad", [math.nan, "x", None, True, math.inf, [0.1, 0.2], 1j, -1, 2.0, np.array([0.1])]
)
def test_hostile_numbers(bad):
    design = OneProportion(0.5)
    with pytest.raises(InvalidInputError):
        power(design, bad, 10)
    with pytest.raises(InvalidInputError):
        power(design, 0.1, 10, bad)
    with pytest.raises(InvalidInputError):
        power(design, 0.1, bad)
    with pytest.raises(InvalidInputError):
        power(design, 0.1, 10, draws=bad)
    with pytest.raises(InvalidInputError):
        power(design, 0.1, 10, rng=bad)
    with pytest.raises(InvalidInputError):
        OneProportion(bad)


@pytest.mark.parametrize("bad", [math.nan, "x", None, True, [0.1, 0.2, 0.3], -1])
def test_hostile_protections(bad):
    for make in (LaplaceNoise, GaussianNoise, RandomizedResponse):
        with pytest.raises(InvalidInputError):
            make(bad)
    for k in (1, 0, -3, 2.5, "3", True, (2, 3, 4), (2, 1)):
        with pytest.raises(InvalidInputError):
            RandomizedResponse(1.0, k)
    with pytest.raises(InvalidInputError, match="as protection"):
        power(OneProportion(), 0.1, 10, protection="laplace")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Values(0),
        lambda: Values(math.nan),
        lambda: Values(math.inf),
        lambda: Values("1"),
        lambda: Values(1, 2, 1),
        lambda: Values(1, 0, 1),
        lambda: Values(0.1, 0, 1, mean=2),
        lambda: Values(0.1, 0, math.nan),
        lambda: OneSampleMean("x"),
        lambda: OneSampleMean(V, known_sd=1),
        lambda: PairedDifference(None),
        lambda: TwoSampleMeans(V, 0),
        lambda: TwoSampleMeans(V, math.inf),
        lambda: TwoSampleMeans(V, 1e300),
        lambda: TwoProportions(0.5, 1e7),
        lambda: TwoProportions(1.5),
        lambda: TwoProportions(0.5, -1),
        lambda: Independence([[1, 2, 3]]),
        lambda: Independence([[1, 0], [1, 0]]),
        lambda: Independence([[1, -1], [1, 1]]),
        lambda: Independence([[1, math.nan], [1, 1]]),
        lambda: Independence("table"),
        lambda: Independence([]),
        lambda: Correlation(V, 3),
        lambda: Slope(V, V, -1),
        lambda: Slope(V, V, True),
        lambda: Slope(V, V, 0, 0.5),
        lambda: Slope(V, V, 2, 1.0),
        lambda: Slope(V, V, 0, 0.0, 1.0),
    ],
)
def test_hostile_designs(make):
    with pytest.raises(InvalidInputError, match="expected"):
        make()


def test_tables_at_the_ends_of_the_numbers():
    for scale in (5e-324, 1e-300, 1e300, 1e308):
        joint = np.array([[1.0, 1.0], [1.0, 0.0]]) * scale
        assert np.allclose(Independence(joint).joint, [[1 / 3, 1 / 3], [1 / 3, 0]], rtol=1e-15)


def test_any_hostile_argument_gets_a_typed_error():
    hostile = [None, "x", math.nan, -math.inf, True, [], {}, object(), 1j, np.ones(2), -1, 5e-324]
    for bad in hostile:
        for design, effect in (*DESIGNS, (bad, 0.1)):
            for name in ("n", "alternative", "method", "draws", "rng", "alpha", "protection"):
                call = {"n": 10, "alpha": 0.05, "draws": 100, name: bad}
                try:
                    result = power(design, effect, **call)
                except SeepageError:
                    continue
                assert 0 <= result.power <= 1


def test_combinations_that_do_not_go_together():
    bare = OneSampleMean(Values(1.0))
    for protection in (LaplaceNoise(0), GaussianNoise(1), RandomizedResponse(1, 5)):
        with pytest.raises(InvalidInputError, match="range"):
            power(bare, 0.1, 10, protection=protection)
    with pytest.raises(InvalidInputError, match="expected k"):
        power(OneSampleMean(V), 0.1, 10, protection=RandomizedResponse(1))
    with pytest.raises(InvalidInputError, match="one number each"):
        power(OneSampleMean(V), 0.1, 10, protection=RandomizedResponse((1, 2), 5))
    with pytest.raises(InvalidInputError, match="shape of the table"):
        power(Independence(TABLE), 0.1, 10, protection=RandomizedResponse(1, 4))
    with pytest.raises(InvalidInputError, match="known_sd"):
        power(Slope(V, V), 0.1, 10, protection=LaplaceNoise(1))
    with pytest.raises(InvalidInputError, match="public predictors"):
        power(Slope(V, V, 1), 0.1, 10, protection=RandomizedResponse((1, 2), 5))
    with pytest.raises(InvalidInputError, match="Did you mean 'normal'"):
        power(OneSampleMean(V), 0.1, 10, method="norml")
    with pytest.raises(InvalidInputError, match="method"):
        power(TwoProportions(), 0.1, 10, method="conservative")
    with pytest.raises(InvalidInputError, match="method"):
        power(OneProportion(), 0.1, 10, method="conservative", protection=LaplaceNoise(1))
    with pytest.raises(InvalidInputError, match="no side"):
        power(Independence(TABLE), 0.1, 10, alternative="larger")
    with pytest.raises(InvalidInputError, match="Did you mean 'larger'"):
        power(OneSampleMean(V), 0.1, 10, alternative="large")
    with pytest.raises(InvalidInputError, match="design"):
        power("t-test", 0.1, 10)
    with pytest.raises(InvalidInputError, match="effect"):
        power(Independence(TABLE), -0.1, 10)
    with pytest.raises(InvalidInputError, match="effect"):
        power(OneSampleMean(V), 0.9, 10, protection=RandomizedResponse(1, 5))
    with pytest.raises(InvalidInputError, match="effect"):
        power(Slope(V, V), 3.0, 10, protection=RandomizedResponse(1, 5))
    with pytest.raises(InvalidInputError, match="effect"):
        power(Independence(np.ones((2, 2))), 0.1, 10)
    with pytest.raises(CapacityError):
        power(OneSampleMean(V), 0.1, 10**13)
