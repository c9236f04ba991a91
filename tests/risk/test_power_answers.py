"""Power of tests of means, correlations and slopes of randomised records: the laws themselves.

Independent computations: enumeration of every vector of reports for a few records, simulation of
the reports for more. Simulations compare at 4.5 standard errors of 400,000 trials: by chance one of
the 38 comparisons fails with probability below 3e-4. Seeds are fixed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from seepage.results import Standing
from seepage.risk import _sums
from seepage.risk._laws import bounds, grid, skewed_laws, smooth_law
from seepage.risk._outcome import Level
from seepage.risk._pairs import METHOD, joint_law
from seepage.risk._reported import SUMS
from seepage.risk._sums import CONDITIONAL, Group, t_power
from seepage.risk.designs import (
    Correlation,
    Independence,
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

TRIALS = 400_000
SIDES = ("two-sided", "larger", "smaller")


def channel(epsilon, k):
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return np.full((k, k), (1 - keep) / (k - 1)) + np.eye(k) * (keep - (1 - keep) / (k - 1))


def law_of_three(mean, sd):
    """The only law on 0, ½, 1 with a mean and a standard deviation."""
    square = sd**2 + mean**2
    return np.array([1 - 3 * mean + 2 * square, 4 * (mean - square), 2 * square - mean])


def decisions(statistic, c, side):
    if side == "two-sided":
        return np.abs(statistic) > c
    return statistic > c if side == "larger" else statistic < -c


def t_values(top, squares, df, spread):
    """t statistics; without variation infinite, or 0 where there is no difference either."""
    se = np.sqrt(squares / df * spread)
    flat = np.where(np.abs(top) > 1e-12, np.copysign(np.inf, top), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 1e-12, top / se, flat)


def agree(result, share):
    error = math.sqrt(max(share * (1 - share), 1e-6) / TRIALS)
    error = 4.5 * math.hypot(error, result.standard_error) + result.law_error
    assert abs(result.power - share) < error, (result.power, share, error)


# --------------------------------------------------------------------------- enumeration


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_every_vector_of_reports(k, known, side):
    n, effect, mean = 6, 0.2, 0.4
    sd = 0.3 if k == 3 else math.sqrt(0.24)
    protection, x = RandomizedResponse(2.0, k), np.linspace(0, 1, k)
    laws = []
    for m in (mean, mean + effect):
        law = law_of_three(m, sd) if k == 3 else np.array([1 - m, m])
        laws.append(law @ channel(2.0, k))
    null = laws[0] @ x
    planned = math.sqrt((laws[0] @ x**2 - null**2) / n)
    tail = 0.1 if side == "two-sided" else 0.2
    c = stats.norm.isf(tail) if known else stats.t.isf(tail, n - 1)
    expected = 0.0
    for reports in itertools.product(range(k), repeat=n):
        mass = math.prod(laws[1][i] for i in reports)
        values = x[list(reports)]
        top = values.mean() - null
        t = top / planned if known else t_values(top, n * values.var(), n - 1, 1 / n)
        expected += mass * bool(decisions(np.asarray(t), c, side))
    values = Values(sd, 0, 1, mean=mean, on_grid=True)
    for design in (
        OneSampleMean(values, known_sd=known),
        PairedDifference(values, known_sd=known),
    ):
        found = power(design, effect, n, 0.2, alternative=side, protection=protection)
        assert found.power == pytest.approx(expected, abs=1e-12)
        assert found.power + found.type2 == pytest.approx(1, abs=1e-15)
        assert (found.method, found.standing) == (SUMS, Standing.EXACT)
        assert found.law_error == found.standard_error == 0
        assert found.shape_range is None


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("known", [True, False])
def test_every_vector_of_reports_of_two_groups(known, side):
    sizes, effect, mean, sd, k = (3, 4), 0.2, 0.4, 0.3, 3
    x = np.linspace(0, 1, k)
    laws = [law_of_three(m, sd) @ channel(2.0, k) for m in (mean, mean + effect)]
    variance = laws[0] @ x**2 - (laws[0] @ x) ** 2
    spread = sum(1 / n for n in sizes)
    tail = 0.1 if side == "two-sided" else 0.2
    c = stats.norm.isf(tail) if known else stats.t.isf(tail, sum(sizes) - 2)
    each = []
    for n, law in zip(sizes, laws, strict=True):
        vectors = np.array(list(itertools.product(range(k), repeat=n)))
        each.append((x[vectors], np.prod(law[vectors], axis=1)))
    (a, wa), (b, wb) = each
    top = b.mean(axis=1) - a.mean(axis=1)[:, None]
    squares = sizes[1] * b.var(axis=1) + (sizes[0] * a.var(axis=1))[:, None]
    t = top / math.sqrt(variance * spread) if known else t_values(top, squares, 5, spread)
    expected = wa @ decisions(t, c, side) @ wb
    design = TwoSampleMeans(Values(sd, 0, 1, mean=mean, on_grid=True), 4 / 3, known_sd=known)
    run = {"alternative": side, "protection": RandomizedResponse(2.0, k)}
    assert power(design, effect, 3, 0.2, **run).power == pytest.approx(expected, abs=1e-12)


def test_every_table_of_reports():
    """Correlation and slope: all tables of nine records, against the simulation of them."""
    n, rho = 9, 0.6
    p = 0.25 * np.array([[1 + rho, 1 - rho], [1 - rho, 1 + rho]])
    reports = channel(2.0, 2) @ p @ channel(2.0, 2)
    x, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    c, expected = stats.t.isf(0.025, n - 2), 0.0
    for counts in itertools.product(range(n + 1), repeat=4):
        if sum(counts) != n:
            continue
        a, b = np.repeat(x, counts), np.repeat(y, counts)
        spread = a.var() * b.var()
        r = 0.0 if spread == 0 else np.mean((a - a.mean()) * (b - b.mean())) / math.sqrt(spread)
        t = (
            math.copysign(math.inf, r)
            if abs(r) > 1 - 1e-12
            else r * math.sqrt((n - 2) / (1 - r * r))
        )
        mass = math.factorial(n) * math.prod(
            q**i / math.factorial(i) for q, i in zip(reports.ravel(), counts, strict=True)
        )
        expected += mass * (abs(t) > c)
    binary = Values(0.5, 0, 1, on_grid=True)
    run = {"protection": RandomizedResponse(2.0, 2), "draws": TRIALS}
    found = power(Correlation(binary, binary), rho, n, **run)
    assert found.method == METHOD
    assert abs(found.power - expected) < 4.5 * found.standard_error
    around = Values(0.5 * math.sqrt(1 - rho**2), 0, 1, on_grid=True)
    assert power(Slope(around, binary), rho, n, **run).power == found.power


# ---------------------------------------------------------------------------- simulation


@pytest.mark.parametrize("n", [25, 300])
@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("effect", [0.0, 0.1])
def test_means_against_simulation(n, k, effect):
    rng = np.random.default_rng([n, k, int(10 * effect)])
    mean, sd, x = 0.35, 0.28, np.linspace(0, 1, k)
    laws = [smooth_law(k, mean + d, sd**2) @ channel(2.0, k) for d in (0.0, effect)]
    values, protection = Values(sd, 0, 1, mean=mean, on_grid=True), RandomizedResponse(2.0, k)
    sizes = n, math.ceil(1.5 * n)
    each = []
    for size, law in zip(sizes, laws, strict=True):
        counts = rng.multinomial(size, law, size=TRIALS)
        m = counts @ x / size
        each.append((m, np.maximum(counts @ x**2 - size * m * m, 0.0)))
    variance = laws[0] @ x**2 - (laws[0] @ x) ** 2
    spread = sum(1 / size for size in sizes)
    top = each[1][0] - each[0][0]
    one = each[1][0] - laws[0] @ x
    for side in ("two-sided", "larger"):
        tail = 0.025 if side == "two-sided" else 0.05
        run = {"alternative": side, "protection": protection}
        z = top / math.sqrt(variance * spread)
        found = power(TwoSampleMeans(values, 1.5, known_sd=True), effect, n, **run)
        agree(found, decisions(z, stats.norm.isf(tail), side).mean())
        df = sum(sizes) - 2
        t = t_values(top, each[0][1] + each[1][1], df, spread)
        found = power(TwoSampleMeans(values, 1.5), effect, n, **run)
        agree(found, decisions(t, stats.t.isf(tail, df), side).mean())
        t = t_values(one, each[1][1], sizes[1] - 1, 1 / sizes[1])
        found = power(OneSampleMean(values), effect, sizes[1], **run)
        agree(found, decisions(t, stats.t.isf(tail, sizes[1] - 1), side).mean())
        z = one / math.sqrt(variance / sizes[1])
        found = power(OneSampleMean(values, known_sd=True), effect, sizes[1], **run)
        assert found.law_error == 0
        agree(found, decisions(z, stats.norm.isf(tail), side).mean())


def test_skewed_values_are_within_the_range_told():
    """Of the laws that a plan leaves open, two with the same mean and deviation."""
    k, n, mean, sd, effect = 5, 60, 0.4, 0.3, 0.15
    x, design = np.linspace(0, 1, k), OneSampleMean(Values(sd, 0, 1, mean=mean, on_grid=True))
    found = power(design, effect, n, protection=RandomizedResponse(3.0, k))
    low, high = found.shape_range
    assert low <= found.power <= high
    assert high - low < 0.1
    null = 0.5 + channel(3.0, k)[0, 0] * (mean - 0.5) - channel(3.0, k)[0, 1] * (mean - 0.5)
    for i, law in enumerate(skewed_laws(k, mean + effect, sd**2)):
        counts = np.random.default_rng(i).multinomial(n, law @ channel(3.0, k), size=TRIALS)
        m = counts @ x / n
        t = t_values(m - null, counts @ x**2 - n * m * m, n - 1, 1 / n)
        share = decisions(t, stats.t.isf(0.025, n - 1), "two-sided").mean()
        nearest = min((low, high), key=lambda value: abs(value - share))
        assert abs(nearest - share) < 4.5 * math.sqrt(share * (1 - share) / TRIALS)


def test_raw_tables_tell_what_their_law_is_off_by():
    """The noncentral chi-square law is that of statsmodels; twenty records are too few for it."""
    table = np.array([[0.2, 0.15, 0.15], [0.1, 0.2, 0.2]])
    design, n = Independence(table), 20
    counts = np.random.default_rng(3).multinomial(n, design.table(0.6).ravel(), size=TRIALS)
    counts = counts.reshape(-1, 2, 3)
    expected = counts.sum(2, keepdims=True) * counts.sum(1, keepdims=True) / n
    with np.errstate(invalid="ignore"):
        terms = np.where(expected > 0, (counts - expected) ** 2 / expected, 0.0)
    share = (terms.sum((1, 2)) > stats.chi2.isf(0.05, 2)).mean()
    found = power(design, 0.6, n)
    assert found.method == "noncentral chi-square"
    assert 0.03 < abs(found.power - share) < found.law_error
    assert power(design, 0.05, 10**6).law_error < 0.01


# ----------------------------------------------------------------------------------- laws


@pytest.mark.parametrize(("k", "n"), [(3, 182), (5, 64), (7, 40)])
def test_the_conditional_law_against_that_of_both_sums(k, n, monkeypatch):
    rng = np.random.default_rng(k)
    for _ in range(4):
        law = 0.9 * rng.dirichlet(np.full(k, 0.7)) + 0.1 / k
        group = Group(law, n)
        null = group.mean - 2 * math.sqrt(group.variance / n)
        for side in SIDES[:2]:
            level, found = Level(0.05, side, 1000, 0), []
            for cells in (10**7, 0):
                monkeypatch.setattr(_sums, "MAX_PLANE", cells)
                found.append(t_power([group], null, level, 1.0))
            assert found[0][2] == 0
            assert found[1][2] == pytest.approx(CONDITIONAL * group.kurtosis / n)
            assert abs(found[0][0] - found[1][0]) < found[1][2]


@given(st.integers(2, 40), st.floats(0, 1), st.floats(0, 1))
def test_laws_have_their_mean_and_variance(k, mean, share):
    low, high = bounds(k, mean)
    variance = low + share * (high - low)
    for law in (smooth_law(k, mean, variance), *skewed_laws(k, mean, variance)):
        assert law.min() >= 0
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert law @ grid(k) == pytest.approx(mean, abs=1e-9)
        assert law @ (grid(k) - mean) ** 2 == pytest.approx(variance, abs=1e-9)


@pytest.mark.parametrize("k", [4, 5, 9])
def test_no_law_is_more_skewed(k):
    rng = np.random.default_rng(k)
    for _ in range(5):
        p = rng.dirichlet(np.ones(k))
        mean = p @ grid(k)
        variance = p @ (grid(k) - mean) ** 2
        rows = np.stack([np.ones(k), grid(k), (grid(k) - mean) ** 2])
        for law, sign in zip(skewed_laws(k, mean, variance), (1, -1), strict=True):
            third = (grid(k) - mean) ** 3
            best = optimize.linprog(sign * third, A_eq=rows, b_eq=[1, mean, variance])
            assert law @ third == pytest.approx(sign * best.fun, abs=1e-9)


@pytest.mark.parametrize("form", [-1, 0, 1])
@pytest.mark.parametrize("correlation", [-0.7, -0.1, 0.0, 0.3, 0.8])
def test_pairs_have_their_margins_and_correlation(form, correlation):
    rows = smooth_law(5, 0.45, 0.06)
    columns = smooth_law(4, 0.5, 0.08)
    table = joint_law(rows, columns, correlation, form)
    assert table.min() >= 0
    np.testing.assert_allclose(table.sum(axis=1), rows, atol=1e-10)
    np.testing.assert_allclose(table.sum(axis=0), columns, atol=1e-10)
    x, y = grid(5) - rows @ grid(5), grid(4) - columns @ grid(4)
    found = x @ table @ y / math.sqrt((rows @ x**2) * (columns @ y**2))
    assert found == pytest.approx(correlation, abs=1e-9)


def test_a_correlation_that_is_too_strong_is_the_strongest():
    rows, columns = np.array([0.9, 0.1]), np.array([0.4, 0.6])
    for form in (-1, 0, 1):
        np.testing.assert_allclose(
            joint_law(rows, columns, 1.0, form), [[0.4, 0.5], [0, 0.1]], atol=1e-15
        )
        np.testing.assert_allclose(
            joint_law(rows, columns, -1.0, form), [[0.3, 0.6], [0.1, 0]], atol=1e-15
        )


# ------------------------------------------------------------------------------- planning


V = Values(0.25, 0, 1)


@pytest.mark.parametrize(
    "design",
    [OneSampleMean(V), TwoSampleMeans(V, 1.5, known_sd=True), Correlation(V, V), Slope(V, V)],
)
def test_answers_are_on_the_safe_side(design):
    run = {"protection": RandomizedResponse(2.5, 5), "draws": 2000}
    need = sample_size(design, 0.3, 0.8, **run)
    again = power(design, 0.3, int(need.value), **run)
    assert again.power == need.at.power >= 0.8
    assert power(design, 0.3, int(need.value) - 1, **run).power < 0.8
    need = minimum_detectable_effect(design, 200, 0.6, **run)
    again = power(design, need.value, 200, **run)
    assert again.power == need.at.power >= 0.6
    less = need.value * (1 - 2.0**-22) if again.standard_error else np.nextafter(need.value, 0)
    assert power(design, less, 200, **run).power < 0.6


def test_the_smallest_epsilon_of_a_mean():
    test = PlannedTest(OneSampleMean(V), 0.2, 80, k=5)
    found = utility_first(test, "randomized_response", rule="power", amount=0.7)
    epsilon = found.parameter
    values = [
        power(test.design, 0.2, 80, protection=RandomizedResponse(e, 5)).power
        for e in (epsilon, np.nextafter(epsilon, 0))
    ]
    assert values[1] < 0.7 <= values[0]
