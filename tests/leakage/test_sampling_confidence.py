"""Binomial limits against exact tails, mpmath and enumeration of all samples."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from seepage import InvalidInputError
from seepage.leakage._half_sample import EventCounts
from seepage.leakage.confidence import (
    binary_divergence,
    clopper_pearson,
    divergence_limits,
    joint_radius,
)

mp = mpmath.mp.clone()
mp.dps = 40


def tail_at_most(k, n, p):
    """Pr(Bin(n, p) ≤ k), exactly."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def weights(n, p):
    return np.array([math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)])


@pytest.mark.parametrize(("n", "error"), [(1, 0.025), (7, 0.05), (30, 0.001), (60, 0.2)])
def test_clopper_pearson_solves_the_exact_tail(n, error):
    for x in range(n + 1):
        lower, upper = (float(v) for v in clopper_pearson(x, n, error))
        if x == n:
            assert upper == 1.0
        else:
            assert float(tail_at_most(x, n, Fraction(upper))) == pytest.approx(error, rel=1e-9)
        if x == 0:
            assert lower == 0.0
        else:
            above = 1 - tail_at_most(x - 1, n, Fraction(lower))
            assert float(above) == pytest.approx(error, rel=1e-9)


def test_clopper_pearson_without_trials_says_nothing():
    lower, upper = clopper_pearson([0, 0], [0, 4], 0.05)
    assert lower.tolist() == [0.0, 0.0]
    assert upper[0] == 1.0


@pytest.mark.parametrize("bad", [(-1, 3, 0.1), (4, 3, 0.1), (1, 3, 1.5), (1, math.nan, 0.1)])
def test_clopper_pearson_refuses(bad):
    with pytest.raises(InvalidInputError, match="expected"):
        clopper_pearson(*bad)


@pytest.mark.parametrize("observed", [0.0, 1e-9, 0.01, 0.37, 0.5, 0.93, 1.0])
@pytest.mark.parametrize("radius", [1e-8, 0.003, 0.2, 3.0])
def test_divergence_limits_against_mpmath(observed, radius):
    lower, upper = (float(v) for v in divergence_limits(observed, radius))
    x, r = mp.mpf(observed), mp.mpf(radius)

    def kl(p):
        one = x * mp.log(x / p) if x else mp.mpf(0)
        return one + ((1 - x) * mp.log((1 - x) / (1 - p)) if x < 1 else mp.mpf(0))

    def root(low, high):  # kl − r changes its sign on (low, high); low is inside the ball
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if kl(middle) <= r else (low, middle)
        return float(high)

    tiny = mp.mpf(10) ** -35
    assert upper == (1.0 if x == 1 else pytest.approx(root(x or tiny, 1 - tiny), abs=1e-12))
    assert lower == (0.0 if x == 0 else pytest.approx(root(min(x, 1 - tiny), tiny), abs=1e-12))


def test_divergence_limits_are_concave_and_convex():
    observed = np.linspace(0, 1, 401)
    lower, upper = divergence_limits(observed, 0.05)
    assert (np.diff(upper, 2) <= 1e-12).all()
    assert (np.diff(lower, 2) >= -1e-12).all()
    assert (lower <= observed).all()
    assert (observed <= upper).all()


@pytest.mark.parametrize("error", [0.5, 0.05, 0.025, 1e-9])
def test_joint_radius_against_integration(error):
    r = mp.mpf(joint_radius(math.log(error)))
    density = mp.npdf
    # Pr(z1+² + z2+² ≤ r²), the inner probability in closed form.
    inside = mp.ncdf(0) * mp.ncdf(r) + mp.quad(
        lambda z: density(z) * mp.ncdf(mp.sqrt(r * r - z * z)), [0, r / 2, r]
    )
    assert float(1 - inside) == pytest.approx(error, rel=1e-6)
    assert 1 - inside <= error * (1 + mp.mpf(10) ** -8)


def test_joint_radius_of_errors_out_of_floating_range():
    r = joint_radius(-5000.0)
    assert r * r / 2 == pytest.approx(5000 - math.log(4), rel=1e-3)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 9), (40, 12), (60, 60)])
def test_joint_divergence_region_holds_for_every_pair_of_binomials(n, m):
    """Enumerates all samples: the region of the upper limit misses (p, α) with at most η."""
    error = 0.05
    budget = joint_radius(math.log(error)) ** 2 / 2
    p_hat = np.minimum(np.arange(1, n + 2) / n, 1.0)
    q_hat = np.maximum(np.arange(-1, m) / m, 0.0)
    for p in (0.003, 0.05, 0.3, 0.5, 0.8, 0.99):
        above = np.where(p_hat < p, n * binary_divergence(p_hat, np.array(p)), 0.0)
        for a in (0.001, 0.02, 0.25, 0.6, 0.97):
            below = np.where(q_hat > a, m * binary_divergence(q_hat, np.array(a)), 0.0)
            missed = above[:, None] + below[None, :] > budget
            assert (np.outer(weights(n, p), weights(m, a)) * missed).sum() <= error


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_lower_limit_of_an_event_fails_rarely_enough(epsilon):
    """Enumerates all samples of two binomials."""
    n, m, error = 25, 18, 0.05
    radius = joint_radius(math.log(error))
    limits = np.array(
        [
            [EventCounts(x, n, y, m).lower_limit(epsilon, radius) for y in range(m + 1)]
            for x in range(n + 1)
        ]
    )
    t = math.expm1(epsilon)
    assert limits.max() > 0.1
    for p in (0.1, 0.4, 0.7, 0.97):
        for a in (0.01, 0.1, 0.4):
            truth = max(math.log((1 + t * p) / (1 + t * a)), 0.0)
            missed = limits > truth
            assert (np.outer(weights(n, p), weights(m, a)) * missed).sum() <= error


def test_lower_limit_of_groups_holds_for_unequal_rows():
    """Two rows with different probabilities against their mean (Hoeffding)."""
    n, m, error, epsilon = 20, 15, 0.05, 2.0
    radius = joint_radius(math.log(error))
    t = math.expm1(epsilon)
    for first, second, a in ((0.9, 0.1, 0.02), (1.0, 0.4, 0.1), (0.6, 0.5, 0.3)):
        pooled = np.convolve(weights(n // 2, first), weights(n // 2, second))
        mean = (first + second) / 2
        truth = max(math.log((1 + t * mean) / (1 + t * a)), 0.0)
        missed = np.array(
            [
                [EventCounts(x, n, y, m).lower_limit(epsilon, radius) > truth for y in range(m + 1)]
                for x in range(n + 1)
            ]
        )
        assert (np.outer(pooled, weights(m, a)) * missed).sum() <= error
