"""Tests of proportions of many records: counts that are convolved, or share cells.

The second computation lists all pairs of counts, which is possible for few records only; limits are
moved so that few records take the ways of many.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from seepage import power
from seepage.errors import CapacityError
from seepage.risk import _counts, _two_proportions
from seepage.risk.designs import OneProportion, TwoProportions
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

SIDES = ["two-sided", "larger", "smaller"]


def listed(sizes, p, level, side):
    """Power of the pooled z test over all pairs of counts."""
    n, m = sizes
    a, b = np.arange(n + 1)[:, np.newaxis], np.arange(m + 1)
    pooled = (a + b) / (n + m)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (b / m - a / n) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    z = np.where((pooled == 0) | (pooled == 1), 0.0, z)
    c = norm.isf(level / 2 if side == "two-sided" else level)
    least = c - 1e-12 * abs(c)
    rejected = {"two-sided": np.abs(z) >= least, "larger": z >= least, "smaller": -z >= least}[side]
    mass = np.outer(binom.pmf(np.arange(n + 1), n, p[0]), binom.pmf(np.arange(m + 1), m, p[1]))
    return float(mass[rejected].sum()), float(mass[~rejected].sum())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("n", "ratio", "first", "effect", "alpha"),
    [
        (1, 1.0, 0.3, 0.4, 0.05),
        (7, 2.0, 0.0, 0.5, 0.1),
        (40, 0.5, 0.9, 0.1, 0.01),
        (300, 1.3, 0.2, 0.05, 0.05),
        (300, 1.0, 0.5, 0.3, 1e-9),
        (120, 1.0, 0.5, 0.0, 0.7),
    ],
)
def test_pooled_test_equals_all_pairs(n, ratio, first, effect, alpha, side):
    sizes = n, max(1, math.ceil(ratio * n * (1 - 1e-15)))
    for p in ((first, first + effect), (first + effect, first)):
        found = power(TwoProportions(p[0], ratio), p[1] - p[0], n, alpha, alternative=side)
        hit, missed = listed(sizes, p, alpha, side)
        assert found.power == pytest.approx(hit, rel=1e-11, abs=1e-30)
        assert found.type2 == pytest.approx(missed, rel=1e-11, abs=1e-30)
        assert found.law_error == 0
        # A level that no number of pairs limits is told with it.
        assert "at the planned overall proportion its level is" in found.assumptions[0]


@pytest.mark.parametrize("side", SIDES)
def test_cells_hold_several_counts(monkeypatch, side):
    """What cells change lies within the error that is told, which falls with their number."""
    design, protection = TwoProportions(0.3, 1.5), RandomizedResponse(1.0, 2)
    for shield in (None, protection):
        exact = power(design, 0.05, 5_000, alternative=side, protection=shield)
        assert exact.law_error == 0
        errors = []
        for most in (40, 160, 640):
            for module in (_counts, _two_proportions):
                monkeypatch.setattr(module, "MAX_COUNTS", most)
            near = power(design, 0.05, 5_000, alternative=side, protection=shield)
            monkeypatch.undo()
            assert abs(near.power - exact.power) <= near.law_error + 1e-12
            assert abs(near.type2 - exact.type2) <= near.law_error + 1e-12
            errors.append(near.law_error)
        assert errors[0] > errors[1] > errors[2] > 0


@pytest.fixture
def limits(monkeypatch):
    """Sets limits, without arguments the usual ones again; laws that were kept are forgotten."""

    def change(**values):
        _counts.difference_law.cache_clear()
        if not values:
            monkeypatch.undo()
        for name, value in values.items():
            monkeypatch.setattr(_counts, name, value)

    yield change
    _counts.difference_law.cache_clear()


@pytest.mark.parametrize("shield", [GaussianNoise(1.0), LaplaceNoise(0.5), GaussianNoise(math.inf)])
@pytest.mark.parametrize("ratio", [1.0, 0.5, 1.01])
def test_differences_convolved(limits, shield, ratio):
    design = TwoProportions(0.3, ratio)
    for side in SIDES:
        limits()
        exact = power(design, 0.08, 101, alternative=side, protection=shield)
        limits(MAX_PAIRS=1)
        direct = power(design, 0.08, 101, alternative=side, protection=shield)
        limits(DIRECT=1)
        fourier = power(design, 0.08, 101, alternative=side, protection=shield)
        limits(MAX_LATTICE=2**12)
        coarse = power(design, 0.08, 101, alternative=side, protection=shield)
        assert exact.law_error == direct.law_error == fourier.law_error == 0
        assert direct.power == pytest.approx(exact.power, abs=1e-12)
        # Without noise the test is randomised at the boundary, whose probability is small.
        assert fourier.power == pytest.approx(exact.power, abs=1e-9)
        assert abs(coarse.power - exact.power) <= coarse.law_error + 1e-9
        assert (coarse.law_error > 0) is (ratio != 1.0)


@pytest.mark.parametrize("ratio", [1.0, 0.317])
def test_faint_levels_keep_their_digits(limits, ratio):
    """Pairs of cells are within what is told, and far nearer."""
    design, shield = TwoProportions(0.3, ratio), GaussianNoise(1.0)
    exact = power(design, 0.42, 400, 1e-25, protection=shield)
    limits(FAINT_PAIRS=20_000)
    near = power(design, 0.42, 400, 1e-25, protection=shield)
    assert exact.law_error == 0 < near.law_error
    assert 0.001 < exact.power < 0.999
    assert abs(near.power - exact.power) < 0.1 * near.law_error


def test_groups_beyond_what_tails_are_sound_for():
    for shield in (None, GaussianNoise(0.5)):
        found = power(TwoProportions(0.3, 1e5), 0.1, 10**10, protection=shield)
        assert (found.power, found.type2) == (
            pytest.approx(1, abs=1e-9),
            pytest.approx(0, abs=1e-9),
        )
        with pytest.raises(CapacityError, match="second group"):
            power(TwoProportions(0.3, 1e6), 0.1, 10**12, protection=shield)


def test_cells_of_one_proportion(monkeypatch):
    for shield in (GaussianNoise(0.3), LaplaceNoise(30.0)):
        for side in SIDES:
            exact = power(OneProportion(0.3), 0.02, 4_000, alternative=side, protection=shield)
            monkeypatch.setattr(_counts, "MAX_COUNTS", 200)
            near = power(OneProportion(0.3), 0.02, 4_000, alternative=side, protection=shield)
            monkeypatch.undo()
            assert exact.law_error == 0 < near.law_error
            assert abs(near.power - exact.power) <= near.law_error


@pytest.mark.parametrize(("n", "p", "most"), [(1_000, 0.3, 100), (50, 0.02, 7), (9, 0.5, 30_000)])
def test_masses_of_cells(monkeypatch, n, p, most):
    monkeypatch.setattr(_counts, "MAX_COUNTS", most)
    first, last, masses = _counts.cells(n, p)
    assert first.size <= most
    assert (first[1:] == last[:-1] + 1).all()
    every = binom.pmf(np.arange(n + 2), n, p)
    direct = [every[int(a) : int(b) + 1].sum() for a, b in zip(first, last, strict=True)]
    np.testing.assert_allclose(masses, direct, rtol=1e-10, atol=1e-300)
    law = _counts.counts_law(n, p)
    assert law.masses.sum() == pytest.approx(1, abs=1e-12)
    assert (np.abs(law.points - first) <= law.blur).all()


def test_many_records_against_simulation():
    """A million pairs of counts from groups of very different sizes (8 cells at 6e-5 each)."""
    rng = np.random.default_rng(4)
    draws = 10**6
    for n, ratio, first, effect in (
        (10**5, 1.0, 0.0002, 0.0002),
        (10**9, 0.0000002, 0.05, 0.03),
        (10**6, 1.5, 0.3, 0.001),
        (10**11, 1.0, 0.5, 5e-6),
    ):
        m = max(1, math.ceil(ratio * n * (1 - 1e-15)))
        a, b = rng.binomial(n, first, draws), rng.binomial(m, first + effect, draws)
        pooled = (a + b) / (n + m)
        z = (b / m - a / n) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        for side, found in (
            ("two-sided", np.abs(z) > norm.isf(0.025)),
            ("larger", z > norm.isf(0.05)),
        ):
            share = float(found.mean())
            ours = power(TwoProportions(first, ratio), effect, n, alternative=side)
            error = 4 * math.sqrt(share * (1 - share) / draws)
            assert abs(ours.power - share) <= error + ours.law_error
            assert ours.law_error < 3e-4
