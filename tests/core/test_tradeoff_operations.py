"""Composition, symmetrisation, subsampling and outer polygons against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import (
    CapacityError,
    Channel,
    InvalidInputError,
    Standing,
    TradeOff,
    randomized_response,
)
from seepage.tradeoff import GaussianNoise, PiecewiseLinear
from seepage.tradeoff.operations import MAX_OUTCOMES

INF = float("inf")
GRID = np.concatenate((np.logspace(-300, -1, 300), np.linspace(0, 1, 301)))


def exact_powers(pairs, alphas):
    """Neyman–Pearson power of independent outcomes, in rational numbers."""
    outcomes = []
    for choice in product(*[range(len(null)) for null, _ in pairs]):
        g = h = Fraction(1)
        for (null, alternative), i in zip(pairs, choice, strict=True):
            h, g = h * null[i], g * alternative[i]
        outcomes.append((h, g))
    outcomes.sort(key=lambda pair: -pair[1] / pair[0] if pair[0] else Fraction(-(10**30)))
    found = []
    for alpha in alphas:
        left, power = Fraction(alpha), Fraction(0)
        for h, g in outcomes:
            part = min(Fraction(1), left / h) if h else Fraction(1)
            power += part * g
            left -= part * h
            if part < 1:
                break
        found.append(float(power))
    return found


def fractions(rng, b):
    numbers = rng.multinomial(16, np.full(b, 1 / b))
    return [Fraction(int(x), 16) for x in numbers]


def distributions(b=5):
    row = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1)), min_size=b, max_size=b)
    return row.filter(lambda x: sum(x) > 1e-6).map(lambda x: np.array(x) / sum(x))


def test_four_values_exactly():
    """Keep .4, others .2: f at every tenth, through the channel as well."""
    table = np.full((4, 4), 0.2) + np.diag(np.full(4, 0.2))
    curve = TradeOff.of_channel(Channel.from_matrix(table))
    wanted = [1, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0]
    np.testing.assert_allclose(curve.beta(np.arange(11) / 10), wanted, rtol=0, atol=1e-16)
    assert curve.adjacency == "one attribute of one record"
    assert curve.area == pytest.approx(1 - (0.16 + 0.16 + 0.04), rel=1e-15)
    null = [Fraction(2, 5), *[Fraction(1, 5)] * 3]
    pair = null, [null[1], null[0], *null[2:]]
    two = curve.self_compose(2)
    alphas = [Fraction(i, 50) for i in range(51)]
    truth = exact_powers([pair, pair], alphas)
    np.testing.assert_allclose(two.power([float(a) for a in alphas]), truth, rtol=0, atol=4e-16)
    assert (two.standing, two.error) == ("exact", 0)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 30.0, INF])
def test_channel_profile(k, epsilon):
    channel = randomized_response(k, epsilon)
    curve = TradeOff.of_channel(channel)
    for e in (0.0, 0.4, 5.0):
        with np.errstate(over="ignore"):
            rows = channel.matrix
            truth = max(
                np.maximum(rows[x] - np.exp(e) * rows[y], 0).sum()
                for x in range(k)
                for y in range(k)
            )
        assert curve.delta(e) == pytest.approx(truth, abs=1e-15)
    if np.isfinite(epsilon):
        assert curve.relative_risk() == pytest.approx(np.exp(epsilon), rel=1e-13)
        assert curve.epsilon(0.0) == pytest.approx(epsilon, rel=1e-13, abs=1e-15)
    assert curve.one_pair


def test_composition_equals_enumeration():
    rng = np.random.default_rng(3)
    alphas = [Fraction(i, 24) for i in range(25)]
    for _ in range(25):
        b, c = rng.integers(1, 5, 2)
        one, two = ((fractions(rng, n), fractions(rng, n)) for n in (b, c))
        curves = [
            TradeOff.from_distributions([float(x) for x in g], [float(x) for x in h])
            for g, h in (one, two)
        ]
        rates = [float(a) for a in alphas]
        both = curves[0].compose(curves[1])
        np.testing.assert_allclose(both.power(rates), exact_powers([one, two], alphas), atol=1e-14)
        three = curves[0].self_compose(3)
        np.testing.assert_allclose(three.power(rates), exact_powers([one] * 3, alphas), atol=1e-14)
        mixed = curves[0].compose(curves[1], curves[0])
        truth = exact_powers([one, two, one], alphas)
        np.testing.assert_allclose(mixed.power(rates), truth, atol=1e-14)


def test_many_binary_responses_against_the_binomial():
    """k responses reduce to the number of truthful ones; here k = 300, by exact integers."""
    from math import comb

    k, keep = 300, Fraction(3, 5)
    curve = TradeOff.of_channel(Channel.from_matrix([[0.6, 0.4], [0.4, 0.6]])).self_compose(k)
    null = [comb(k, j) * (1 - keep) ** j * keep ** (k - j) for j in range(k + 1)]
    alpha = power = Fraction(0)
    for j in range(k, k // 2, -1):
        alpha, power = alpha + null[j], power + null[k - j]
        if float(alpha) > 1e-290:
            assert curve.power(float(alpha)) == pytest.approx(float(power), rel=1e-9, abs=1e-15)
    assert curve.total_variation == pytest.approx(float(power - alpha), abs=1e-12)


def test_gaussian_composition_is_closed():
    one, two = TradeOff.gaussian(0.3), TradeOff.gaussian(0.4)
    both = one.compose(two)
    assert isinstance(both, GaussianNoise)
    assert both.mu == pytest.approx(0.5, rel=1e-15)
    assert one.self_compose(100).mu == pytest.approx(3.0, rel=1e-15)
    assert TradeOff.gaussian(1e200).compose(TradeOff.gaussian(1e200)).mu == pytest.approx(
        2**0.5 * 1e200
    )
    assert one.self_compose(1) is one


def test_composition_at_its_limits():
    plain = TradeOff.laplace(1.0)
    assert plain.compose(TradeOff.gaussian(0.0)) is plain
    assert plain.compose() is plain
    assert TradeOff.gaussian(0.0).self_compose(5).total_variation == 0
    known = plain.compose(TradeOff.approximate_dp(INF))
    assert known.power(0) == 1
    assert plain.compose(TradeOff.gaussian(INF), TradeOff.laplace(INF)).total_variation == 1
    twice = TradeOff.approximate_dp(0.0, 0.1).self_compose(2)
    assert twice.power(0) == pytest.approx(0.19, rel=1e-14)


def test_composition_of_a_channel_of_unlike_rows():
    table = [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]
    curve = TradeOff.of_channel(Channel.from_matrix(table))
    both = curve.self_compose(2)
    for x, y in product(range(3), repeat=2):
        pair = TradeOff.from_distributions(table[y], table[x]).self_compose(2)
        assert (both.power(GRID) >= pair.power(GRID) - 1e-14).all()
    assert not TradeOff.envelope(table).one_pair
    assert TradeOff.envelope(table).self_compose(2).standing is Standing.UPPER
    assert "any single pair" in TradeOff.envelope(table).self_compose(2).assumptions[0]


def test_composition_refuses():
    one = TradeOff.approximate_dp(1.0, 0.1)
    with pytest.raises(
        InvalidInputError, match="'add or remove one record' and 'replace one record"
    ):
        one.compose(TradeOff.uniform_sampling(1.0, 10))
    with pytest.raises(InvalidInputError, match="expected trade-off curves"):
        one.compose(3)
    with pytest.raises(InvalidInputError, match="method"):
        one.compose(one, method="exact")
    for k in (0, -1, 1.5, True, None):
        with pytest.raises(InvalidInputError, match="whole number"):
            one.self_compose(k)
    many = TradeOff.from_distributions(np.arange(1, 31) / 465, np.arange(30, 0, -1) / 465)
    low = PiecewiseLinear(many.alpha, many.gap, standing=Standing.LOWER)
    with pytest.raises(CapacityError, match="overstate"):
        low.self_compose(12)
    lower = PiecewiseLinear([0, 0.5, 1], [0, 0.2, 0], standing=Standing.LOWER)
    upper = PiecewiseLinear([0, 0.5, 1], [0, 0.2, 0], standing=Standing.UPPER)
    with pytest.raises(InvalidInputError, match="all upper or all lower"):
        lower.compose(upper)
    assert lower.self_compose(2).standing is Standing.LOWER
    assert MAX_OUTCOMES >= 100_000


@settings(max_examples=50)
@given(distributions(), distributions())
def test_symmetrised(null, alternative):
    # Where a type II error is stored as 1 − power it is known to 2e-16; no slope exceeds 5e6.
    curve = TradeOff.from_distributions(null, alternative)
    mirrored = TradeOff.from_distributions(alternative, null)
    both = curve.symmetrized()
    for one in (curve, mirrored):
        assert (both.power(GRID) >= one.power(GRID) - 2e-9).all()
    hull = TradeOff.from_vertices(
        np.minimum(np.concatenate((curve.vertices, mirrored.vertices)), 1.0)
    )
    np.testing.assert_allclose(both.power(GRID), hull.power(GRID), atol=2e-9)
    assert both.symmetrized().power(0.3) == pytest.approx(both.power(0.3), rel=1e-12)
    assert TradeOff.laplace(1).symmetrized().mu == 1


@settings(max_examples=50)
@given(distributions(4), distributions(4), st.floats(0, 0.999))
def test_subsampled(null, alternative, p):
    """The mixture of both cases against the null, and the other way round."""
    curve = TradeOff.from_distributions(null, alternative)
    mixture = p * alternative + (1 - p) * null
    found = curve.subsampled(p)
    one = TradeOff.from_distributions(null, mixture)
    two = TradeOff.from_distributions(mixture, null)
    for each in (one, two):
        assert (found.power(GRID) >= each.power(GRID) - 1e-12).all()
    hull = TradeOff.from_vertices(np.minimum(np.concatenate((one.vertices, two.vertices)), 1.0))
    np.testing.assert_allclose(found.power(GRID), hull.power(GRID), atol=1e-12)
    assert found.total_variation == pytest.approx(p * curve.total_variation, rel=1e-12, abs=1e-15)


def test_subsampled_approximate_dp_is_the_known_bound():
    """(ε, δ) becomes (ln(1 + p(e^ε − 1)), pδ) on one side (Dong et al. 2022, Section 4)."""
    found = TradeOff.approximate_dp(1.5, 0.02).subsampled(0.1)
    amplified = np.log1p(0.1 * np.expm1(1.5))
    assert found.delta(amplified) == pytest.approx(0.002, rel=1e-12)
    assert TradeOff.approximate_dp(1.5, 0.02).subsampled(0).total_variation == 0
    whole = TradeOff.approximate_dp(1.5, 0.02)
    np.testing.assert_allclose(whole.subsampled(1).vertices, whole.vertices, atol=1e-15)
    for p in (-0.1, 1.1, None, "a", [0.5]):
        with pytest.raises(InvalidInputError):
            whole.subsampled(p)


@pytest.mark.parametrize("make", [TradeOff.laplace, TradeOff.gaussian])
@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.1, 1.0, 4.0, 30.0, INF])
def test_outer_polygon(make, mu):
    curve = make(mu)
    polygon = curve.outer(64)
    excess = polygon.power(GRID) - curve.power(GRID)
    assert excess.min() >= -2e-16
    assert excess.max() <= polygon.error + 2e-16
    assert polygon.error <= (0 if mu in (0, INF) else 0.01 if mu < 10 else 0.1)
    assert polygon.standing is (Standing.EXACT if mu in (0, INF) else Standing.UPPER)
    if 0 < mu < INF and make == TradeOff.laplace:
        assert polygon.failure == "none"
        assert polygon.relative_risk() == pytest.approx(np.exp(mu), rel=1e-12)
    finer = curve.outer(256)
    assert finer.error <= polygon.error / 8 + 1e-15
    thinned = curve.subsampled(0.2)
    assert thinned.total_variation == pytest.approx(0.2 * curve.total_variation, rel=1e-12)
    truth = 0.2 * curve.power(GRID) + 0.8 * GRID
    assert (thinned.power(GRID) - truth).min() >= -2e-16
    if mu in (0.1, 1.0, 4.0):  # curves that a grid of points resolves
        fine = np.concatenate((np.logspace(-40, -2, 40_000), np.linspace(0.01, 1, 20_001)))
        dense = np.stack((fine, 0.2 * curve.power(fine) + 0.8 * fine), axis=1)
        inner = TradeOff.from_vertices(np.maximum(np.concatenate((dense, 1 - dense[:, ::-1])), 0))
        chords = 1e-5  # how far chords between neighbours may be below the curve
        assert (thinned.power(GRID) - inner.power(GRID)).max() <= thinned.error + chords
    assert polygon.outer() is polygon


def test_composed_polygons_cover_the_composition():
    curve = TradeOff.gaussian(0.6)
    polygon = curve.outer(40)
    both, truth = polygon.self_compose(2), curve.self_compose(2)
    excess = both.power(GRID) - truth.power(GRID)
    assert excess.min() >= -1e-15
    assert excess.max() <= both.error
    assert both.standing is Standing.UPPER


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 0.5)), min_size=1, max_size=6))
def test_curve_of_a_profile(pairs):
    epsilon, delta = (np.array(x) for x in zip(*pairs, strict=True))
    curve = TradeOff.from_profile(epsilon, delta)
    assert (curve.delta(epsilon) <= delta + 1e-15 * np.exp(epsilon)).all()
    truth = np.ones_like(GRID)
    for e, d in pairs:
        one = TradeOff.approximate_dp(e, d)
        truth = np.minimum(truth, one.power(GRID))
    np.testing.assert_allclose(curve.power(GRID), truth, atol=1e-12)
    assert (curve.power(GRID) >= truth - 1e-15).all()


def test_profile_at_its_limits():
    assert TradeOff.from_profile([INF], [0.0]).power(0) == 1
    assert TradeOff.from_profile([0.0], [0.0]).total_variation < 1e-300
    assert TradeOff.from_profile([1e4, 1.0], [0.0, 0.25]).power(0) == pytest.approx(0.25)
    same = TradeOff.approximate_dp(2.0, 0.1)
    found = TradeOff.from_profile([2.0], [0.1])
    np.testing.assert_allclose(found.power(GRID), same.power(GRID), atol=1e-14)
    for epsilon, delta in (([], []), ([1], [0.1, 0.2]), (1.0, 0.1), ([-1], [0]), ([1], [2])):
        with pytest.raises(InvalidInputError, match="expected"):
            TradeOff.from_profile(epsilon, delta)
    for wrong in (None, 3, [[1.0]], "channel"):
        with pytest.raises(InvalidInputError, match="expected a Channel"):
            TradeOff.of_channel(wrong)
    for segments in (0, 1.5, None):
        with pytest.raises(InvalidInputError, match="segments"):
            TradeOff.laplace(1).outer(segments)


@settings(max_examples=50)
@given(distributions(), distributions(), st.floats(0, 1), st.floats(0, 1))
def test_inverse_and_area(null, alternative, power, delta):
    curve = TradeOff.from_distributions(null, alternative)
    rate = curve.false_alarms(power)
    assert curve.power(rate) >= power - 1e-12
    if rate > 0:
        assert curve.power(rate * (1 - 1e-6)) <= power + 1e-12
    epsilon = curve.epsilon(delta)
    assert curve.delta(epsilon) <= delta or (epsilon == INF and curve.power(0) > delta)
    with np.errstate(divide="ignore"):
        ranks = np.where(null > 0, alternative / np.where(null > 0, null, 1), INF)
    wins = sum(
        g * h * (1.0 if ranks[i] > ranks[j] else 0.5 if ranks[i] == ranks[j] else 0.0)
        for i, g in enumerate(alternative)
        for j, h in enumerate(null)
    )
    assert curve.area == pytest.approx(wins, abs=1e-12)


@pytest.mark.parametrize("make", [TradeOff.laplace, TradeOff.gaussian])
@pytest.mark.parametrize("mu", [1e-6, 0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("segments", [1, 24, 256])
def test_outer_polygon_is_nowhere_below(make, mu, segments):
    """Not by a unit in the last place, at 4,000 rates and where it touches, but for α near 1."""
    curve = make(mu)
    polygon = curve.outer(segments)
    middles = (polygon.alpha[1:] + polygon.alpha[:-1]) / 2
    grid = np.concatenate((np.logspace(-20, -1, 2000), np.linspace(0, 1, 2001), middles))
    below = curve.power(grid) - polygon.power(grid)
    own = 2e-15 * curve.power(grid) if make == TradeOff.gaussian else 0 * grid  # its accuracy
    assert (below <= own)[grid <= 0.9].all()
    assert (below <= 1.2e-16).all()  # both are 1 at α = 1, where nothing can be added


def test_class_of_failure_is_kept():
    gauss, pure = TradeOff.gaussian(1.0), TradeOff.approximate_dp(1.0)
    for curve in (gauss.outer(), gauss.subsampled(0.1), gauss.outer().self_compose(2)):
        assert (curve.failure, curve.power(0.0), curve.relative_risk()) == ("graceful", 0.0, INF)
        assert curve.posterior(0.1, 0.0) == 1
    for curve in (pure.subsampled(0.3), TradeOff.laplace(30.0).subsampled(0.9), pure.outer()):
        assert (curve.failure, curve.power(0.0)) == ("none", 0.0)
    leaky = TradeOff.approximate_dp(1.0, 0.1).subsampled(0.5)
    assert (leaky.failure, leaky.power(0.0)) == ("catastrophic", pytest.approx(0.05))
    for wrong in ("catastrophic", "soft", 3):
        with pytest.raises(InvalidInputError, match="kind"):
            PiecewiseLinear([0, 1], [0, 0], kind=wrong)
    with pytest.raises(InvalidInputError, match="kind"):
        PiecewiseLinear([0, 1], [0.1, 0], kind="none")


@pytest.mark.parametrize("epsilon", [745.0, 800.0, 1e5])
def test_pure_guarantees_beyond_the_range_of_numbers_prove_nothing(epsilon):
    for curve in (
        TradeOff.approximate_dp(epsilon),
        TradeOff.of_channel(randomized_response(3, epsilon)),
        TradeOff.of_channel(randomized_response(3, epsilon)).self_compose(3),
        TradeOff.approximate_dp(epsilon).self_compose(2),
    ):
        assert (curve.failure, curve.power(0.0)) == ("none", 0.0)
        assert curve.power(5e-324) >= 1 - 1e-15
        # What is read off as a slope is not below that of ε.
        assert curve.epsilon(0.0) >= epsilon
        assert curve.leakage(INF) >= epsilon
        assert curve.delta(700.0) == pytest.approx(1)
    channel = TradeOff.of_channel(randomized_response(3, epsilon))
    assert channel.witness(1.0) is not None
    assert channel.pairs.shape[0] == channel.events.shape[0] == channel.alpha.size
    assert TradeOff.of_channel(randomized_response(3, INF)).failure == "catastrophic"


@pytest.mark.parametrize(
    "build",
    [
        lambda: TradeOff.uniform_sampling(1.0, 10**400),
        lambda: TradeOff.gaussian(1.0).self_compose(10**400),
        lambda: TradeOff.gaussian(1.0).outer(10**400),
        lambda: TradeOff.gaussian(1.0).outer(10**20),
    ],
)
def test_huge_whole_numbers_are_refused(build):
    with pytest.raises(CapacityError, match="at most"):
        build()


def test_arrays_and_masked_values_are_refused():
    curve = TradeOff.gaussian(1.0)
    with pytest.raises(InvalidInputError, match="method"):
        curve.compose(curve, method=np.array(["auto", "auto"]))
    with pytest.raises(InvalidInputError, match="masked"):
        TradeOff.laplace(1.0).relative_risk(np.ma.masked)
    with pytest.raises(InvalidInputError, match="masked"):
        curve.power(np.ma.array([0.1, 0.2], mask=[True, False]))
    assert curve.power(np.ma.array([0.1, 0.2]))[0] == curve.power(0.1)
