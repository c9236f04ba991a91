"""What a plan leaves open about values under randomised response: rounding, and their shape.

Independent computations: the law of sums, and of sums of squares, by adding one record at a time.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from seepage.risk._answers import ROUNDED
from seepage.risk._laws import bounds, ended_law, grid, law_on, split_law
from seepage.risk.designs import OneSampleMean, TwoSampleMeans, Values
from seepage.risk.power import power
from seepage.risk.protections import RandomizedResponse


def reported(law, epsilon):
    k = law.size
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return law * keep + (1 - law) * (1 - keep) / (k - 1)


def retention(epsilon, k):
    return math.expm1(epsilon) / (math.exp(epsilon) + k - 1)


def t_share(report, n, null, side):
    """Power of a t test of the mean of n reports on 0, …, k − 1, by adding one at a time."""
    k = report.size
    mass = np.ones((1, 1))
    for i in range(n):
        grown = np.zeros(((i + 1) * (k - 1) + 1, (i + 1) * (k - 1) ** 2 + 1))
        for x, p in enumerate(report):
            grown[x : x + mass.shape[0], x * x : x * x + mass.shape[1]] += p * mass
        mass = grown
    s, q = np.nonzero(mass)
    top, squares = s / n - null, q - s * s / n
    flat = squares < 1e-9
    t = top / np.sqrt(np.where(flat, 1e-100, squares)) * math.sqrt(n * (n - 1))
    t = np.where(np.abs(top) < 1e-12, 0.0, t)
    if side == "two-sided":
        return float(mass[s, q][np.abs(t) > stats.t.isf(0.025, n - 1)].sum())
    return float(mass[s, q][t > stats.t.isf(0.05, n - 1)].sum())


def z_share(report, n, null, sd, side):
    mass = np.ones(1)
    for _ in range(n):
        mass = np.convolve(mass, report)
    z = (np.arange(mass.size) / n - null) / sd * math.sqrt(n)
    if side == "two-sided":
        return float(mass[np.abs(z) > stats.norm.isf(0.025) + 1e-12].sum())
    return float(mass[z > stats.norm.isf(0.05) + 1e-12].sum())


@pytest.mark.parametrize(
    ("mean", "sd", "effect", "epsilon", "seen"),
    [(0.77, 0.15, 0.1, 5.0, 0.38309), (0.6, 0.1, 0.05, 4.0, 0.11316)],
)
def test_rounding_that_adds_little_is_looked_at(mean, sd, effect, epsilon, seen):
    """Values between ½ and 1 are rounded to these two: the law of the answers follows."""
    n, k = 15, 3
    up = 2 * (mean + effect) - 1
    report = reported(np.array([0, 1 - up, up]), epsilon)
    null = 2 * (0.5 + retention(epsilon, k) * (mean - 0.5))
    true = t_share(report, n, null, "larger")
    assert true == pytest.approx(seen, abs=1e-3)
    design = OneSampleMean(Values(sd, 0, 1, mean=mean))
    found = power(
        design, effect, n, alternative="larger", protection=RandomizedResponse(epsilon, k)
    )
    assert found.power == pytest.approx(true, abs=1e-12)  # nothing lowers the power more
    low, high = found.shape_range
    assert low == found.power
    assert high > true + 0.01
    assert ROUNDED in found.assumptions
    assert "not overstated" not in " ".join(found.assumptions)


@pytest.mark.parametrize("effect", [0.1, 0.2])
@pytest.mark.parametrize("known", [True, False])
def test_about_the_least_over_what_rounding_adds(known, effect):
    n, k, mean, sd, epsilon = 15, 3, 0.5, 0.35, 5.0
    lam, x = retention(epsilon, k), np.arange(3)
    shares = []
    for part in np.linspace(0, 1, 21 if known else 9):
        laws = []
        for m in (mean, mean + effect):
            v = sd**2 + part * (min(sd**2 + 1 / 16, m * (1 - m)) - sd**2)
            square = v + m * m
            laws.append(np.array([1 - 3 * m + 2 * square, 4 * (m - square), 2 * square - m]))
        before, after = (reported(law, epsilon) for law in laws)
        null = 2 * (0.5 + lam * (mean - 0.5))
        own = math.sqrt(before @ x**2 - (before @ x) ** 2)
        shares.append(
            z_share(after, n, null, own, "two-sided")
            if known
            else t_share(after, n, null, "two-sided")
        )
    found = power(
        OneSampleMean(Values(sd, 0, 1), known_sd=known), effect, n,
        protection=RandomizedResponse(epsilon, k),
    )  # fmt: skip
    assert found.power <= min(shares) + 2e-3
    low, high = found.shape_range
    assert low <= min(shares) + 2e-3
    assert high >= max(shares) - 2e-3


@pytest.mark.parametrize("effect", [0.0, 0.24])
@pytest.mark.parametrize("side", ["two-sided", "larger"])
@pytest.mark.parametrize("known", [True, False])
def test_every_law_on_three_answers_is_within_the_range(known, side, effect):
    n, k, mean, sd, epsilon = 15, 7, 0.5, 0.25, 6.0
    x, m = np.arange(k), mean + effect
    lam = retention(epsilon, k)
    null = (k - 1) * (0.5 + lam * (mean - 0.5))
    square = lam * (sd**2 + mean**2) * 36 + (1 - lam) * (x**2).mean()
    own = math.sqrt(square - null**2)
    shares = []
    for places in itertools.combinations(range(k), 3):
        at = np.array(places) / (k - 1)
        weights = np.linalg.solve(np.vander(at, 3, increasing=True).T, [1, m, sd**2 + m**2])
        if weights.min() < -1e-12:
            continue
        law = np.zeros(k)
        law[list(places)] = weights
        if known:
            shares.append(z_share(reported(law, epsilon), n, null, own, side))
        else:
            shares.append(t_share(reported(law, epsilon), n, null, side))
    found = power(
        OneSampleMean(Values(sd, 0, 1, on_grid=True), known_sd=known), effect, n,
        alternative=side, protection=RandomizedResponse(epsilon, k),
    )  # fmt: skip
    low, high = found.shape_range
    assert low - 1e-9 <= min(shares)
    assert max(shares) <= high + 1e-9
    if known:
        assert min(shares) < found.power < max(shares)
    if known and side == "two-sided" and not effect:
        assert (low, high) == (pytest.approx(0.0385, abs=5e-5), pytest.approx(0.0657, abs=5e-5))


@pytest.mark.parametrize(
    "design",
    [
        OneSampleMean(Values(0.25, 0, 1), known_sd=True),
        TwoSampleMeans(Values(0.25, 0, 1)),
        TwoSampleMeans(Values(0.25, 0, 1, on_grid=True), 2.0),
    ],
)
@pytest.mark.parametrize("k", [2, 3, 9])
def test_ranges_hold_the_power_and_are_told_where_something_is_open(design, k):
    if design.values.on_grid and k == 2:
        design = TwoSampleMeans(Values(0.5, 0, 1, on_grid=True), 2.0)
    found = power(design, 0.1, 40, protection=RandomizedResponse(3.0, k))
    if k == 2 or (k == 3 and design.values.on_grid):
        assert found.shape_range is None
        return
    low, high = found.shape_range
    assert low <= found.power <= high
    assert f"between {low:.4f} and {high:.4f}." in found.assumptions[-1]
    assert power(design, 0.1, 40, protection=RandomizedResponse(0.0, k)).shape_range is None


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("mean", [0.0, 0.2, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("k", [2, 3, 7, 40])
def test_laws_have_their_mean_and_variance(k, mean, share):
    low, high = bounds(k, mean)
    v, x = low + share * (high - low), grid(k)
    for law in (ended_law(k, mean, v), split_law(k, mean, v)):
        assert law.shape == (k,)
        assert law.min() >= 0
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert law @ x == pytest.approx(mean, abs=1e-12)
        assert law @ (x - mean) ** 2 == pytest.approx(v, abs=1e-9)


def test_no_law_on_three_answers_has_heavier_or_lighter_tails():
    """Of symmetric ones with a mean on the middle answer."""
    k, mean = 9, 0.5
    x = grid(k)
    for v in (0.02, 0.0625, 0.1):
        fourth = [
            float(law @ (x - mean) ** 4)
            for places in itertools.combinations(range(k), 3)
            if (law := law_on(k, places, mean, v)) is not None
        ]
        assert ended_law(k, mean, v) @ (x - mean) ** 4 >= max(fourth) - 1e-12
        assert split_law(k, mean, v) @ (x - mean) ** 4 <= min(fourth) + 1e-12
