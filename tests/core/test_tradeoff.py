"""Readings of a trade-off curve against enumeration of events, and the laws they obey."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from seepage import InvalidInputError, TradeOff, randomized_response
from seepage._numeric import log_ratio
from seepage.tradeoff import PiecewiseLinear, worst_case

INF = float("inf")


def events(null: np.ndarray, alternative: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(α, power) of all 2^b events."""
    masks = (np.arange(2**null.size)[:, np.newaxis] >> np.arange(null.size)) & 1
    return masks @ null, masks @ alternative


def best_mix(alphas: np.ndarray, powers: np.ndarray, alpha: float) -> float:
    """Largest power at rate `alpha` over all randomised tests, as mixtures of two events."""
    alphas, powers = np.append(alphas, 1.0), np.append(powers, 1.0)
    low, high = alphas <= alpha, alphas >= alpha
    a0, p0 = alphas[low][:, np.newaxis], powers[low][:, np.newaxis]
    a1, p1 = alphas[high], powers[high]
    width = a1 - a0
    weight = np.where(width > 0, (alpha - a0) / np.where(width > 0, width, 1), 0.0)
    return float((p0 * (1 - weight) + p1 * weight).max())


def random_pair(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    b = int(rng.integers(1, 8))
    pair = rng.dirichlet(np.full(b, rng.choice([0.3, 1.0, 4.0])), 2)
    if rng.random() < 0.4:
        pair = rng.multinomial(8, np.full(b, 1 / b), 2) / 8
    return pair[0], pair[1]


def test_readings_equal_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(60):
        null, alternative = random_pair(rng)
        curve = TradeOff.from_distributions(null, alternative)
        alphas, powers = events(null, alternative)
        grid = np.concatenate((np.linspace(0, 1, 11), rng.random(4)))
        truth = np.array([best_mix(alphas, powers, a) for a in grid])
        np.testing.assert_allclose(curve.power(grid), truth, atol=1e-14)
        np.testing.assert_allclose(curve.beta(grid), 1 - truth, atol=1e-14)
        assert curve.total_variation == pytest.approx((powers - alphas).max(), abs=1e-15)
        for epsilon in (0.0, 1e-9, 0.3, 2.0, 40.0):
            profile = (powers - np.exp(epsilon) * alphas).max()
            assert curve.delta(epsilon) == pytest.approx(profile, rel=1e-12, abs=1e-15)
            value = (
                np.log1p(np.expm1(epsilon) * powers) - np.log1p(np.expm1(epsilon) * alphas)
            ).max()
            assert curve.leakage(epsilon) == pytest.approx(value, rel=1e-7, abs=1e-15)
        proof = alternative[null == 0].sum()
        assert curve.delta(INF) == pytest.approx(proof, abs=1e-15)
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.nanmax(np.where(powers > 0, powers / alphas, 0.0))
        assert curve.relative_risk() == pytest.approx(risk, rel=1e-13)
        assert curve.failure == ("catastrophic" if proof > 0 else "none")
        for floor in (0.01, 0.3, 1.0):
            wanted = max(best_mix(alphas, powers, a) / a for a in np.linspace(floor, 1, 30))
            assert curve.relative_risk(floor) == pytest.approx(wanted, rel=1e-12)
        for prior in (0.0, 0.01, 0.5, 1.0):
            for a, power in zip(grid, truth, strict=True):
                if a == 0 and power == 0:
                    continue
                joint = prior * power
                wanted = joint / ((1 - prior) * a + joint) if prior else 0.0
                assert curve.posterior(prior, a) == pytest.approx(wanted, abs=1e-13)


def test_randomised_response_on_four_values():
    """Keep .4, others .2: the trade-off function is known at every tenth."""
    curve = TradeOff.envelope(np.full((4, 4), 0.2) + np.diag(np.full(4, 0.2)))
    f = curve.beta(np.arange(11) / 10)
    wanted = [1, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0]
    np.testing.assert_allclose(f, wanted, rtol=0, atol=1e-15)


def test_posterior_limits():
    curve = TradeOff.from_distributions([0.5, 0.5], [0.9, 0.1])
    assert curve.posterior(0.5, 0) == pytest.approx(0.9 / 1.4, rel=1e-15)  # the limit α → 0
    assert curve.posterior(0, 0) == 0
    assert curve.posterior(1, 0) == 1
    assert curve.posterior(0.3, 1) == pytest.approx(0.3, rel=1e-15)
    certain = TradeOff.from_distributions([0.5, 0.5, 0], [0.5, 0.3, 0.2])
    assert certain.posterior(1e-9, 0) == 1
    assert certain.posterior(0, 0) == 0
    nothing = TradeOff.from_distributions([0.5, 0.5], [0.5, 0.5])
    np.testing.assert_array_equal(nothing.posterior([0, 0.2, 1], [[0], [1]]), [[0, 0.2, 1]] * 2)
    tiny = TradeOff.from_distributions([1e-320, 1], [1e-300, 1])
    assert 0 < tiny.posterior(1e-300, 0) <= 1
    assert nothing.leakage(INF) == 0
    assert nothing.relative_risk() == 1


@pytest.mark.parametrize("delta", [0.0, 1e-12, 0.05, 0.7, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 3.0, 50.0, 700.0, 1e4, INF])
def test_approximate_dp(epsilon, delta):
    curve = TradeOff.approximate_dp(epsilon, delta)
    alpha = np.concatenate(([0.0, 1e-310, 1e-300, 1e-20, 1e-9], np.linspace(0.001, 1, 60)))
    with mp.workdps(40):
        e, d = mpf(epsilon), mpf(delta)
        truth = []
        for a in map(mpf, alpha.tolist()):
            steep = d if a == 0 else min(mpf(1), d + mp.exp(e) * a)
            truth.append(float(min(steep, 1 - mp.exp(-e) * (1 - d - a), mpf(1))))
    if epsilon == INF:
        truth[0] = 1.0  # the whole input is released: an event of no false alarm proves it
    if epsilon == 1e4:
        # e^−10000 is 0 in floating point; the corner is at the smallest number above.
        truth[0] = delta
    found = np.array(curve.power(alpha))
    np.testing.assert_allclose(found, truth, rtol=2e-13, atol=1e-300)
    if 0 < epsilon <= 700 and delta == 0:
        assert curve.leakage(INF) == pytest.approx(epsilon, rel=1e-14)
    assert curve.delta(epsilon) == pytest.approx(1.0 if epsilon == INF else delta, abs=2e-16) or (
        epsilon == 1e4
    )
    assert (np.diff(curve.alpha) > 0).all()


@pytest.mark.parametrize(("mu", "n"), [(0, 1), (0.5, 1), (0.5, 10), (INF, 1), (INF, 4), (3, 10**9)])
def test_uniform_sampling(mu, n):
    curve = TradeOff.uniform_sampling(mu, n)
    delta = -np.expm1(-mu) / n
    alpha = np.linspace(0, 1, 41)
    np.testing.assert_allclose(curve.beta(alpha), np.maximum(0, 1 - delta - alpha), atol=1e-15)
    assert curve.failure == ("catastrophic" if mu > 0 else "none")
    assert curve.total_variation == pytest.approx(delta, rel=1e-12)


def test_from_vertices_is_the_hull():
    curve = TradeOff.from_vertices([[0.5, 0.6], [0.2, 0.5], [0.3, 0.3], [0.2, 0.4], [0.8, 0.9]])
    np.testing.assert_allclose(curve.vertices, [[0, 0], [0.2, 0.5], [0.8, 0.9], [1, 1]], atol=1e-15)
    assert TradeOff.from_vertices(np.zeros((0, 2))).total_variation == 0


@st.composite
def tables(draw):
    b = draw(st.integers(1, 6))
    row = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1)), min_size=b, max_size=b).filter(any)
    P = np.array(draw(st.lists(row, min_size=1, max_size=5)))
    return P / P.sum(axis=1, keepdims=True)


@given(tables(), st.floats(0, 50), st.floats(0, 50), st.data())
def test_laws(P, e1, e2, data):
    curve = TradeOff.envelope(P)
    low, high = sorted((e1, e2))
    assert 0 <= curve.leakage(low) <= low * (1 + 1e-15)
    assert curve.leakage(low) <= curve.leakage(high) * (1 + 1e-13) + 1e-300
    assert curve.delta(high) <= curve.delta(low) + 1e-15
    slopes = [(q[1] - p[1]) / (q[0] - p[0]) for p, q in pairwise(curve.vertices.tolist())]
    assert all(left >= right - 1e-9 * abs(left) - 1e-9 for left, right in pairwise(slopes))
    grid = np.linspace(0, 1, 33)
    assert (np.diff(curve.power(grid)) >= -1e-15).all()
    assert (curve.power(grid) >= grid - 1e-15).all()
    merged = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=P.shape[1], max_size=P.shape[1]))
    )
    coarse = TradeOff.envelope(np.stack([P[:, merged == k].sum(axis=1) for k in range(3)], axis=1))
    for epsilon in (low, high):
        # Adding cells rounds each sum by 1e-16 or so, and the gap with it.
        assert coarse.leakage(epsilon) <= curve.leakage(epsilon) * (1 + 1e-12) + 1e-15 * epsilon + (
            0 if low > 0 else 1e-15
        )


def test_leakage_of_deterministic_dependence_is_epsilon():
    epsilons = np.array([0, 1e-12, 0.1, 1, 700, 1e4, INF])
    np.testing.assert_allclose(TradeOff.envelope(np.eye(3)).leakage(epsilons), epsilons, rtol=1e-15)


def test_log_ratio_over_the_whole_range():
    numbers = [0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-17, 0.3, 0.5]
    for epsilon in (1e-300, 1e-9, 1.0, 600.0, 690.0, 709.0, 740.0, 745.0, 800.0, 1410.0, 1e4, INF):
        for alpha in numbers:
            for gap in numbers:
                found = float(log_ratio(np.array(alpha), np.array(gap), np.array(epsilon)))
                with mp.workdps(50):
                    if gap == 0:
                        truth = mpf(0)
                    elif epsilon == INF:
                        truth = mp.log1p(mpf(gap) / alpha) if alpha else mp.inf
                    else:
                        t = mp.expm1(mpf(epsilon))
                        truth = mp.log1p(t * mpf(gap) / (1 + t * mpf(alpha)))
                    if truth in (0, mp.inf):
                        assert found == float(truth)
                    else:
                        error = abs(mpf(found) - truth)
                        assert error <= 1e-14 * truth + 3 * mpf(5e-324), (epsilon, alpha, gap)


def test_exact_fractions_of_a_small_curve():
    null = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    alternative = [Fraction(1, 2), Fraction(3, 8), Fraction(1, 8)]
    curve = TradeOff.from_distributions(null, alternative)
    np.testing.assert_array_equal(curve.vertices, [[0, 0], [0.25, 0.5], [0.5, 0.875], [1, 1]])


def test_mechanism_of_the_worst_case_reaches_it():
    """The leakage is attained by a two-level mechanism, and GRR never exceeds it."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        P = rng.dirichlet(np.full(5, 0.7), 3)
        value, (x, y), event = worst_case(P, 1.3)
        levels = np.where(event, np.exp(1.3), 1.0)
        assert np.log(P[x] @ levels) - np.log(P[y] @ levels) == pytest.approx(value, rel=1e-12)
        report = P @ randomized_response(5, 1.3).matrix
        actual = np.log(report.max(axis=0) / report.min(axis=0)).max()
        assert actual <= value + 1e-14


HOSTILE_NUMBERS = [
    float("nan"),
    -1e-300,
    -1,
    -INF,
    "1",
    None,
    True,
    1j,
    [],
    [None],
    {},
    pytest.param(object(), id="object"),
]


@pytest.mark.parametrize("value", HOSTILE_NUMBERS, ids=repr)
def test_hostile_epsilon_and_alpha(value):
    curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
    if value == []:
        assert curve.leakage(value).shape == (0,)
        assert curve.power(value).shape == (0,)
    else:
        calls = [curve.leakage, curve.delta, curve.power, curve.beta]
        for call in calls:
            with pytest.raises(InvalidInputError):
                call(value)
        with pytest.raises(InvalidInputError):
            curve.posterior(value, 0.5)
        with pytest.raises(InvalidInputError):
            curve.posterior(0.5, value)
    for single in (
        curve.witness,
        curve.relative_risk,
        TradeOff.approximate_dp,
        lambda v: TradeOff.approximate_dp(1, v),
        lambda v: TradeOff.uniform_sampling(v, 3),
        lambda v: TradeOff.uniform_sampling(1, v),
        lambda v: worst_case([[1.0]], v),
    ):
        with pytest.raises(InvalidInputError):
            single(value)


HOSTILE_TABLES = [
    [],
    [[]],
    [0.5, 0.5],
    [[0.5, 0.6]],
    [[0.5, 0.5], [1.0]],
    [[float("nan"), 1]],
    [[INF, 0]],
    [[-0.5, 1.5]],
    [["a", "b"]],
    [[True, False]],
    [[1j, 0]],
    None,
    "table",
    [[[1.0]]],
    [[10**400, 1]],
]


@pytest.mark.parametrize("table", HOSTILE_TABLES, ids=repr)
def test_hostile_tables(table):
    with pytest.raises(InvalidInputError, match="expected"):
        TradeOff.envelope(table)
    with pytest.raises(InvalidInputError, match="expected"):
        worst_case(table, 1.0)
    with pytest.raises(InvalidInputError, match="expected"):
        TradeOff.from_distributions(table, table if table != [0.5, 0.5] else [1.0])
    with pytest.raises(InvalidInputError, match="expected"):
        TradeOff.from_vertices(table if table != [[0.5, 0.6]] else [[0.6, 0.5]])


@pytest.mark.parametrize(
    ("alpha", "gap"),
    [
        ([0, 1], [0]),
        ([0.1, 1], [0, 0]),
        ([0, 0.9], [0, 0]),
        ([0, 0.5, 0.5, 1], [0, 0, 0, 0]),
        ([0, 0.5, 1], [0, 0.6, 0]),
        ([0, 0.5, 1], [0, float("nan"), 0]),
        ([0, float("nan"), 1], [0, 0, 0]),
        ("ab", "cd"),
        ([[0, 1]], [[0, 0]]),
        (None, None),
        ([0], [0]),
    ],
)
def test_hostile_curves(alpha, gap):
    with pytest.raises(InvalidInputError, match="expected"):
        PiecewiseLinear(alpha, gap)


def test_shapes_that_do_not_broadcast():
    curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(InvalidInputError, match="broadcast"):
        curve.posterior([0.1, 0.2], [0.1, 0.2, 0.3])


def test_curves_are_read_only_and_keep_shapes():
    curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="read-only"):
        curve.alpha[0] = 1
    assert isinstance(curve.leakage(1), float)
    assert isinstance(curve.power(np.float64(0.5)), float)
    assert curve.leakage([[1, 2]]).shape == (1, 2)
    assert curve.posterior([0.1, 0.2], 0.3).shape == (2,)
