"""Retention and moments of reports, against the Kronecker product, fractions and simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seepage.channel import Channel, lambda_response, randomized_response
from seepage.collect import _response_curve as curve
from seepage.collect.attenuation import MAX_RELATIONSHIPS, percent, retention, retentions
from seepage.collect.moments import (
    break_even_size,
    cross_moment,
    needed_size,
    record_variance,
    reported_moment,
    reported_variance,
    standard_error,
    unbiased_scores,
)
from seepage.collect.retention import retention_from_epsilon
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError, SeepageError

TABLE_1 = """
X1 X2   9%   37.8%  28.6%
X1 X3   9%   5.5%   13.4%
X1 X4   9%   5.5%   8.6%
X1 X5   9%   5.5%   4.1%
X2 X3   9%   5.5%   10.2%
X2 X4   9%   5.5%   6.5%
X2 X5   9%   5.5%   3.1%
X3 X4   9%   0.8%   3.0%
X3 X5   9%   0.8%   1.4%
X4 X5   9%   0.8%   0.9%
"""
CONFIGURATIONS = (
    [1.0] * 5,
    [2.0, 2.0, 1 / 3, 1 / 3, 1 / 3],
    [2.0, 1.5, 0.75, 0.5, 0.25],
)


@pytest.mark.parametrize("column", range(3))
def test_table_1_of_the_paper(column):
    kept = retentions([4] * 5, CONFIGURATIONS[column])
    for line in TABLE_1.split("\n")[1:-1]:
        first, second, *printed = line.split()
        text = printed[column].removesuffix("%")
        digits = len(text.partition(".")[2])
        assert f"{100 * kept[first, second]:.{digits}f}" == text


@pytest.mark.parametrize("r", [2, 3, 5, 10, 10_000])
def test_curve_against_many_digits(r):
    epsilon = np.array([0.0, 1e-300, 1e-12, 1e-3, 0.1, 1, 3, 4, 10, 40, 300, 700, np.inf])
    sizes = np.full(len(epsilon), r)
    with mpmath.workdps(400), np.errstate(all="ignore"):
        for i, e in enumerate(epsilon[1:-1], start=1):
            big = mpmath.exp(mpmath.mpf(float(e)))
            kept = (big - 1) / (big + r - 1)
            slope = r * big / ((big - 1) * (big + r - 1))
            second = -slope * (1 / (big - 1) + big / (big + r - 1))
            for function, wanted in (
                (curve.retention_curve, kept),
                (curve.log_retention, mpmath.log(kept)),
                (curve.slope, slope),
                (curve.curvature, second),
            ):
                assert_allclose(function(epsilon, sizes)[i], float(wanted), rtol=2e-14)
            back = curve.budget_at_slope(np.array([float(mpmath.log(slope))]), sizes[:1])
            assert_allclose(back, e, rtol=1e-12)
    assert curve.retention_curve(epsilon, sizes)[[0, -1]].tolist() == [0.0, 1.0]
    assert_allclose(
        curve.retention_curve(epsilon, sizes), retention_from_epsilon(epsilon, r), rtol=1e-14
    )


sizes_and_budgets = st.lists(
    st.tuples(st.integers(1, 40), st.floats(0, 30) | st.just(math.inf)), min_size=1, max_size=6
)


@given(sizes_and_budgets, st.floats(0, 5))
def test_laws_of_retention(pairs, more):
    sizes = [r for r, _ in pairs]
    budgets = [e for _, e in pairs]
    kept = retention(sizes, budgets)
    assert 0 <= kept <= 1
    assert retention(sizes, [e + more for e in budgets]) >= kept
    single = [retention(sizes, budgets, f"X{i + 1}") for i in range(len(sizes))]
    assert_allclose(math.prod(single), kept, rtol=1e-13, atol=1e-300)
    assert retention(sizes, math.inf) == 1


def random_case(seed, d=3, *, general=False):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, d))
    joint = rng.dirichlet(np.full(math.prod(shape), 0.3)).reshape(shape)
    if general:
        tables = [rng.dirichlet(np.ones(r + i), r) for i, r in enumerate(shape)]
        channels = [Channel.from_matrix(table) for table in tables]
    else:
        budgets = rng.uniform(0, 4, d)
        channels = [randomized_response(r, e) for r, e in zip(shape, budgets, strict=True)]
    scores = [rng.normal(size=C.shape[1]) * 3 for C in channels]
    return joint, channels, scores


def kronecker_moment(joint, channels, scores, powers):
    """The same moment from the full matrix of the joint channel."""
    whole = reduce(np.kron, [C.matrix for C in channels])
    reported = (joint.reshape(-1) @ whole).reshape([C.shape[1] for C in channels])
    total = np.ones(1)
    for axis, (f, power) in enumerate(zip(scores, powers, strict=True)):
        others = tuple(i for i in range(joint.ndim) if i != axis)
        margin = reported.sum(axis=others)
        total = np.multiply.outer(total, (f - margin @ f) ** power).reshape(-1)
    return float(reported.reshape(-1) @ total)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("general", [False, True])
def test_moments_equal_those_of_the_kronecker_product(seed, general):
    joint, channels, scores = random_case(seed, d=2 + seed % 3, general=general)
    for powers in ([1] * joint.ndim, [2] + [1] * (joint.ndim - 1), [2] * joint.ndim):
        wanted = kronecker_moment(joint, channels, scores, powers)
        assert_allclose(
            reported_moment(joint, channels, scores, powers), wanted, rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("seed", range(8))
def test_theorem_1(seed):
    joint, channels, scores = random_case(seed, d=2 + seed % 3)
    budgets = [C.epsilon for C in channels]
    predicted = retention(joint.shape, budgets) * cross_moment(joint, scores)
    assert_allclose(reported_moment(joint, channels, scores), predicted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_variance_is_not_attenuated_by_the_square(seed):
    rng = np.random.default_rng(seed)
    r = int(rng.integers(2, 7))
    p, f, kept = rng.dirichlet(np.ones(r)), rng.normal(size=r), rng.random()
    channel = lambda_response(r, kept)
    parts = reported_variance(p, channel, f)
    true = cross_moment(p, [f], [2])
    assert_allclose(parts.kept, kept**2 * true, rtol=1e-12)
    # Var W = E W² − (E W)², with the distribution of the report.
    q = p @ channel.matrix
    assert_allclose(parts.total, q @ f**2 - (q @ f) ** 2, rtol=1e-11)
    assert parts.added > 0
    assert_allclose(reported_moment(p, [channel], [f], [2]), parts.total, rtol=1e-12)


def test_exact_with_fractions():
    """One case by rational arithmetic: two attributes with three and two categories."""
    joint = [[Fraction(1, 12), Fraction(3, 12)], [Fraction(2, 12), Fraction(1, 12)],
             [Fraction(4, 12), Fraction(1, 12)]]  # fmt: skip
    kept = (Fraction(1, 2), Fraction(1, 3))
    scores = ([Fraction(0), Fraction(1), Fraction(5)], [Fraction(-1), Fraction(2)])
    means = [
        sum(joint[x][y] * scores[0][x] for x in range(3) for y in range(2)),
        sum(joint[x][y] * scores[1][y] for x in range(3) for y in range(2)),
    ]
    covariance = sum(
        joint[x][y] * (scores[0][x] - means[0]) * (scores[1][y] - means[1])
        for x in range(3) for y in range(2)
    )  # fmt: skip
    channels = [lambda_response(3, 1 / 2), lambda_response(2, 1 / 3)]
    table = np.array(joint, dtype=float)
    found = reported_moment(table, channels, [np.array(s, dtype=float) for s in scores])
    assert_allclose(found, float(covariance * kept[0] * kept[1]), rtol=1e-13)


def test_ten_million_records():
    """Moments of order 2 to 4 of simulated reports, each within its 99.9 % interval.

    With a free seed, one of the 11 would be outside in about 1 % of runs.
    """
    rng = np.random.default_rng(20261130)
    shape, budgets = (2, 3, 4, 5), (2.0, 2.5, 1.5, 3.0)
    n, batch = 10_000_000, 1_000_000
    kept = [retention([r], e) for r, e in zip(shape, budgets, strict=True)]
    latent = rng.dirichlet(np.full(math.prod(shape), 0.15))
    scores = [rng.normal(size=r) for r in shape]
    counts = np.zeros(math.prod(shape))
    for _ in range(n // batch):
        true = np.repeat(np.arange(len(latent)), rng.multinomial(batch, latent))
        reports = [
            np.where(rng.random(batch) < keep, x, rng.integers(r, size=batch))
            for x, keep, r in zip(np.unravel_index(true, shape), kept, shape, strict=True)
        ]
        counts += np.bincount(np.ravel_multi_index(reports, shape), minlength=len(counts))
    table = (counts / n).reshape(shape)
    joint = latent.reshape(shape)
    for order in (2, 3, 4):
        for axes in combinations(range(4), order):
            others = tuple(i for i in range(4) if i not in axes)
            seen, chosen = table.sum(axis=others), [scores[i] for i in axes]
            predicted = retention(shape, budgets, [f"X{i + 1}" for i in axes]) * cross_moment(
                joint.sum(axis=others), chosen
            )
            # Reports that are taken as they are go through the identity.
            sizes = [shape[i] for i in axes]
            error = standard_error(seen, [Channel.identity(r) for r in sizes], chosen, n)
            assert abs(cross_moment(seen, chosen) - predicted) < 3.2906 * error


@pytest.mark.parametrize("seed", range(6))
def test_record_variance_by_enumeration(seed):
    """Variance of the corrected moment of n records, over every possible collection.

    To first order the variance is V/n; with the exact mean known it is Var Π g̃ / n exactly, which
    is V for two attributes.
    """
    joint, channels, _ = random_case(seed, d=2)
    channels = [randomized_response(r, 0.5 + seed / 3) for r in joint.shape]
    scores = [np.random.default_rng(seed).normal(size=r) for r in joint.shape]
    V = record_variance(joint, channels, scores)
    whole = reduce(np.kron, [C.matrix for C in channels])
    reported = joint.reshape(-1) @ whole
    products = np.ones(1)
    for axis, (C, f) in enumerate(zip(channels, scores, strict=True)):
        mean = joint.sum(axis=1 - axis) @ f
        g = np.linalg.solve(C.matrix, f - mean)
        products = np.multiply.outer(products, g).reshape(-1)
    assert_allclose(reported @ products, cross_moment(joint, scores), rtol=1e-10, atol=1e-13)
    assert_allclose(V, reported @ products**2 - (reported @ products) ** 2, rtol=1e-10)


def test_needed_size_is_the_smallest():
    joint, channels, scores = random_case(3, d=3)
    channels = [randomized_response(r, 1.5) for r in joint.shape]
    for wished in (1.0, 0.1, 0.0123):
        n = needed_size(joint, channels, scores, wished)
        assert standard_error(joint, channels, scores, n) <= wished
        assert n == 1 or standard_error(joint, channels, scores, n - 1) > wished
    assert needed_size(joint, channels, scores, 1e9) == 1


@given(st.floats(0.01, 100), st.floats(0.01, 0.999), st.floats(0.01, 10).map(lambda x: x - 5))
def test_break_even_size(V, kept, theta):
    n = break_even_size(V, kept, theta)
    assert n >= 0
    if not math.isfinite(n) or n < 1e-200:
        return
    for factor, wins in ((1.01, True), (0.99, False)):
        m = n * factor
        corrected, plain = V / (m * kept**2), V / m + (1 - kept) ** 2 * theta**2
        assert (corrected < plain) is wins


def test_limits_of_break_even():
    assert break_even_size(1.0, 1.0, 0.5) == 0
    assert break_even_size(1.0, 0.0, 0.5) == math.inf
    assert break_even_size(1.0, 0.5, 0.0) == math.inf
    assert break_even_size(0.0, 0.5, 1.0) == 0


def test_unbiased_scores_of_a_wide_channel():
    C = Channel.from_matrix([[0.5, 0.25, 0.25, 0], [0.1, 0.2, 0.3, 0.4]])
    f = np.array([1.0, -2.0])
    assert_allclose(C.matrix @ unbiased_scores(C, f), f, atol=1e-13)
    with pytest.raises(InvalidInputError, match="singular"):
        unbiased_scores(randomized_response(3, 0.0), [1, 2, 3])


def test_limits():
    assert retention([1, 1], 0.0) == 1  # one category has nothing to lose
    assert retention([2, 3], [0.0, math.inf]) == 0
    assert retention({"a": 2, "b": 3}, {"a": math.inf}, ["a"]) == 1
    domain = Domain.of({"a": ["x", "y"], "b": [1, 2, 3]})
    assert retention(domain, 1.0) == retention([2, 3], 1.0)
    assert next(iter(retentions([2] * 4, 1.0, orders=(3, 2)))) == ("X1", "X2", "X3")


def test_percent():
    shown = [percent(x) for x in (0.0, 1e-9, 0.0082, 0.09, 0.99999, 1.0)]
    assert shown == ["0 %", "<0.1 %", "0.8 %", "9.0 %", ">99.9 %", "100 %"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: retention([], 1.0),
        lambda: retention([0], 1.0),
        lambda: retention([True], 1.0),
        lambda: retention([2.5], 1.0),
        lambda: retention("ab", 1.0),
        lambda: retention(None, 1.0),
        lambda: retention({1: 2}, 1.0),
        lambda: retention([2, 2], -1.0),
        lambda: retention([2, 2], math.nan),
        lambda: retention([2, 2], True),
        lambda: retention([2, 2], "1"),
        lambda: retention([2, 2], None),
        lambda: retention([2, 2], [1.0]),
        lambda: retention([2, 2], [[1.0, 1.0]]),
        lambda: retention([2, 2], {"X1": 1.0}),
        lambda: retention([2, 2], {"X3": 1.0}),
        lambda: retention([2, 2], 1.0, ["X1", "X1"]),
        lambda: retention([2, 2], 1.0, []),
        lambda: retention([2, 2], 1.0, ["x9"]),
        lambda: retention([2, 2], 1.0, 3),
        lambda: retention([2, 2], 1.0, [["X1"]]),
        lambda: retentions([2, 2], 1.0, orders=[3]),
        lambda: retentions([2, 2], 1.0, orders=[]),
        lambda: retentions([2, 2], 1.0, orders=2),
        lambda: retentions([2, 2], 1.0, orders="2"),
        lambda: retentions([2, 2], 1.0, relationships=[("X1", "Y")]),
        lambda: cross_moment([[0.5, np.nan]], [[1], [1, 2]]),
        lambda: cross_moment([[0.5, -0.5]], [[1], [1, 2]]),
        lambda: cross_moment([[0.0, 0.0]], [[1], [1, 2]]),
        lambda: cross_moment([], []),
        lambda: cross_moment(1.0, []),
        lambda: cross_moment([[1, 2]], [[1], [1, np.inf]]),
        lambda: cross_moment([[1, 2]], [[1]]),
        lambda: cross_moment([[1, 2]], None),
        lambda: cross_moment([[1, 2]], [["a"], [1, 2]]),
        lambda: cross_moment([[1, 2]], [[1], [1, 2]], [1]),
        lambda: cross_moment([[1, 2]], [[1], [1, 2]], [0, 1]),
        lambda: cross_moment([[1, 2]], [[1], [1, 2]], "11"),
        lambda: reported_moment([[1, 2]], [randomized_response(1, 1.0)], [[1], [1, 2]]),
        lambda: reported_moment([1, 2], ["grr"], [[1, 2]]),
        lambda: reported_moment([1, 2], [randomized_response(3, 1.0)], [[1, 2, 3]]),
        lambda: reported_variance([[1, 2]], randomized_response(2, 1.0), [1, 2]),
        lambda: unbiased_scores("grr", [1, 2]),
        lambda: needed_size([1, 2], [randomized_response(2, 1.0)], [[0, 1]], 0.0),
        lambda: needed_size([1, 2], [randomized_response(2, 1.0)], [[0, 1]], math.nan),
        lambda: needed_size([1, 2], [randomized_response(2, 1.0)], [[0, 1]], [1.0]),
        lambda: needed_size(np.eye(2), [randomized_response(2, 1.0)] * 2, [[0, 1]] * 2, 1e-300),
        lambda: standard_error([1, 2], [randomized_response(2, 1.0)], [[0, 1]], 0),
        lambda: break_even_size(-1.0, 0.5, 1.0),
        lambda: break_even_size(1.0, 1.5, 1.0),
        lambda: break_even_size(1.0, 0.5, math.nan),
        lambda: break_even_size([1.0], 0.5, 1.0),
        lambda: break_even_size("1", 0.5, 1.0),
    ],
)
def test_hostile_input(call):
    with pytest.raises(SeepageError, match="expected"):
        call()


def test_too_many_relationships():
    with pytest.raises(CapacityError, match=f"{MAX_RELATIONSHIPS:,}"):
        retentions([2] * 60, 1.0, orders=[5])
