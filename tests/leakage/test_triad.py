"""The Dependency Triad against printed formulas, enumeration and golden values."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import InvalidInputError, TradeOff
from seepage.leakage import CalibratedTriad, Triad, UncalibratedTriad

mp = mpmath.mp.clone()
mp.dps = 60

EPSILONS = np.array([0.0, 1e-9, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0, 700.0, 1e4, np.inf])
TOY_1 = [[0.1, 0.1, 0.15, 0.2, 0.45], [0.4, 0.3, 0.1, 0.1, 0.1]]
TOY_2 = [[0.0025, 0.2975, 0.48, 0.13, 0.09], [0.01, 0.39, 0.47, 0.11, 0.02]]


@st.composite
def tables(draw, max_rows=5, max_columns=5, zeros=True):
    """Row-stochastic tables of fractions with many zeros, ties, repeated rows and zero columns."""
    a = draw(st.integers(1, max_rows))
    b = draw(st.integers(1, max_columns))
    cell = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 10**6))
    if not zeros:
        cell = st.integers(1, 30)
    rows = draw(st.lists(st.lists(cell, min_size=b, max_size=b), min_size=a, max_size=a))
    rows = [row if sum(row) else [1, *row[1:]] for row in rows]
    return [[Fraction(v, sum(row)) for v in row] for row in rows]


def as_floats(table):
    return np.array([[float(v) for v in row] for row in table])


def brute_force(P, epsilons):
    """Largest leakage over all ordered pairs and all 2^b events."""
    a, b = P.shape
    events = (np.arange(2**b)[:, None] >> np.arange(b)) & 1
    best = np.zeros(len(epsilons))
    x, y = np.nonzero(~np.eye(a, dtype=bool))
    alpha, gap = P[y] @ events.T, (P[x] - P[y]) @ events.T
    alpha, gap = alpha[gap > 0], gap[gap > 0]
    for k, e in enumerate(epsilons):
        if e < 30:
            t = np.expm1(e)
            value = np.log1p(t * gap / (1 + t * alpha))
        else:
            with np.errstate(divide="ignore"):
                rest = [np.log1p(-np.minimum(m, 1)) - e for m in (alpha, alpha + gap)]
                value = np.logaddexp(np.log(alpha + gap), rest[1]) - np.logaddexp(
                    np.log(alpha), rest[0]
                )
        best[k] = value.max(initial=0.0)
    return best


def brute_force_in_60_digits(P, epsilons):
    """`brute_force` for tables of two rows whose values are next to 0 or to ε."""
    results = []
    for epsilon in epsilons:
        q, best = mp.exp(-mp.mpf(float(epsilon))), mp.mpf(0)
        for event in range(2 ** P.shape[1]):
            chosen = [i for i in range(P.shape[1]) if event >> i & 1]
            for x, y in ((0, 1), (1, 0)):
                p, a = (sum((mp.mpf(P[row, i]) for i in chosen), mp.mpf(0)) for row in (x, y))
                if p > a:
                    below = a + (1 - a) * q
                    ratio = mp.log((p + (1 - p) * q) / below) if below else mp.inf
                    best = max(best, ratio)
        results.append(float(best))
    return np.array(results)


def exact_parameters(table):
    """(e^α, δ, φ) as fractions, straight from the definitions."""
    ratio, delta, phi = Fraction(1), Fraction(0), Fraction(0)
    for x, y in permutations(range(len(table)), 2):
        pairs = list(zip(table[x], table[y], strict=True))
        ratio = max([ratio] + [g / h for g, h in pairs if h > 0])
        delta = max(delta, sum((g for g, h in pairs if h == 0), Fraction(0)))
        phi = max(phi, sum((g - h for g, h in pairs if g > h), Fraction(0)))
    return ratio, delta, phi


def printed_beta(ratio, delta, phi):
    """e^β of Definition V.1, or None where it is 0/0."""
    above = 1 + phi + ratio * (delta - 1) - 2 * delta
    below = 1 + (phi - 1) * ratio - delta
    return above / below if below != 0 else None


def printed_estimate(ratio, e_beta, delta, epsilon):
    """Corollary IV.6 in 60 digits; None where it is 0/0."""
    E, A, B, d = (mp.exp(mp.mpf(epsilon)), to_mp(ratio), to_mp(e_beta), to_mp(delta))
    if A - 1 - d * (E - 1) < 0:
        return mp.log(1 + d * (E - 1))
    above = A + d - A * d - d * E + A * E * (-1 + B + d) - 1
    below = d * (E - 1) - E + B * (-1 + A + d + E - d * E)
    return mp.log(above / below) if abs(below) > mp.mpf(10) ** -40 else None


def to_mp(value):
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    return mp.mpf(value)


def random_vertex(rng, lower, upper):
    """A corner of the set of tables within the bounds: fill up in random order."""
    table = lower.copy()
    for row, high in zip(table, upper, strict=True):
        for i in rng.permutation(row.size):
            row[i] += min(high[i] - row[i], max(0.0, 1 - row.sum()))
    return table / table.sum(axis=1, keepdims=True)


# ------------------------------------------------------------------ golden values


@pytest.mark.parametrize(
    ("table", "parameters", "exact", "estimate"),
    [
        (
            TOY_1,
            (1.504077, 0.875469, 0.0, 0.5),
            (0.252399, 0.494334, 0.876491, 1.453405),
            (0.259938, 0.524618, 0.982134, 1.468182),
        ),
        (
            TOY_2,
            (1.504077, 0.108634, 0.0, 0.1),
            (0.052881, 0.119034, 0.334013, 1.284686),
            # In 30 digits the third is .43196448658…
            (0.061746, 0.151680, 0.431964, 1.342459),
        ),
    ],
)
def test_toy_examples(table, parameters, exact, estimate):
    triad = Triad.from_conditional(table)
    found = (triad.alpha, triad.beta, triad.delta, triad.phi)
    assert found == pytest.approx(parameters, abs=5e-7)
    epsilons = [0.5, 1, 2, 5]
    assert TradeOff.envelope(table).leakage(epsilons) == pytest.approx(exact, abs=5e-7)
    assert triad.leakage(epsilons) == pytest.approx(estimate, abs=5e-7)


@pytest.mark.parametrize("table", [TOY_1, TOY_2])
def test_uncalibrated_toy_examples_are_the_same(table):
    triad = Triad.uncalibrated(table)
    assert round(triad.alpha, 2) == 1.50
    # The paper prints 1.38, cutting ln 4 = 1.3863.
    assert triad.gamma == pytest.approx(math.log(4), rel=1e-14)
    assert triad.delta == 0
    assert triad.to_dict() == {"alpha": triad.alpha, "gamma": triad.gamma, "delta": 0.0}


# ------------------------------------------------------------------ printed formulas


@given(tables())
def test_parameters_equal_the_definitions(table):
    ratio, delta, phi = exact_parameters(table)
    triad = Triad.from_conditional(as_floats(table))
    assert triad.alpha == pytest.approx(float(mp.log(to_mp(ratio))), rel=1e-12, abs=5e-16)
    assert triad.delta == pytest.approx(float(delta), rel=1e-14, abs=1e-15)
    assert triad.phi == pytest.approx(float(phi), rel=1e-14, abs=1e-15)
    if ratio > 1:
        crossing = (phi - delta) / (ratio - 1)
        rounding = 4e-16 / float(ratio - 1)
        assert triad.crossing == pytest.approx(float(crossing), rel=1e-13, abs=rounding)


@given(tables())
def test_leakage_equals_the_printed_estimate_where_that_is_defined(table):
    ratio, delta, phi = exact_parameters(table)
    e_beta = printed_beta(ratio, delta, phi)
    if e_beta is None or e_beta < 1:
        return
    triad = Triad.from_conditional(as_floats(table))
    if phi > delta:
        assert triad.beta == pytest.approx(float(mp.log(to_mp(e_beta))), rel=1e-8, abs=1e-10)
    for epsilon in (1e-3, 0.1, 1.0, 3.0, 10.0, 40.0):
        printed = printed_estimate(ratio, e_beta, delta, epsilon)
        if printed is not None:
            assert triad.leakage(epsilon) == pytest.approx(float(printed), rel=1e-9, abs=1e-13)


def test_leakage_is_defined_where_the_printed_beta_is_not():
    table = [[Fraction(1, 2), Fraction(1, 2), 0], [0, Fraction(1, 2), Fraction(1, 2)]]
    ratio, delta, phi = exact_parameters(table)
    assert printed_beta(ratio, delta, phi) is None
    triad = Triad.from_conditional(as_floats(table))
    assert (triad.alpha, triad.beta, triad.delta, triad.phi) == (0.0, 0.0, 0.5, 0.5)
    # Without a shared ratio above 1 the triad is exact: ln(1 + δ·t).
    assert triad.leakage(EPSILONS) == pytest.approx(brute_force(as_floats(table), EPSILONS))


# ------------------------------------------------------------------ upper bounds


@given(tables())
def test_never_below_the_exact_leakage(table):
    P = as_floats(table)
    exact = brute_force(P, EPSILONS)
    triad = Triad.from_conditional(P)
    bound = triad.leakage(EPSILONS)
    assert not np.isnan(bound).any()
    assert (bound >= exact * (1 - 1e-12)).all()
    assert (bound <= EPSILONS * (1 + 1e-12)).all()
    assert bound[0] == 0
    loose = Triad.uncalibrated(P).leakage(EPSILONS)
    assert (loose >= bound * (1 - 1e-9) - 1e-15).all()


@given(tables(), st.sampled_from([Triad.from_conditional, Triad.uncalibrated]))
def test_tradeoff_lies_above_the_exact_curve(table, make):
    P = as_floats(table)
    triad = make(P)
    curve, exact = triad.tradeoff(), TradeOff.envelope(P)
    rates = np.concatenate((np.linspace(0, 1, 41), exact.alpha, curve.alpha))
    assert (curve.power(rates) >= exact.power(rates) - 1e-13).all()
    assert np.array_equal(curve.leakage(EPSILONS), triad.leakage(EPSILONS))
    # Its own reflection lies under the curve: swapping the hypotheses adds nothing.
    mirrored = np.clip(1 - curve.vertices[:, ::-1], 0, 1)
    nearby = np.minimum(mirrored[:, 0] + 1e-15, 1)  # slopes are steep
    assert (curve.power(nearby) >= mirrored[:, 1] - 1e-12).all()


@given(tables(max_rows=3, max_columns=4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_covers_every_table_within_the_uncertainty(table, seed):
    rng = np.random.default_rng(seed)
    P = as_floats(table)
    margin = rng.choice([0.0, 0.01, 0.1, 0.6], size=P.shape) * rng.random(P.shape)
    triad = Triad.from_conditional(P, uncertainty=margin)
    bound = triad.leakage(EPSILONS)
    assert not np.isnan(bound).any()
    assert (bound >= Triad.from_conditional(P).leakage(EPSILONS) * (1 - 1e-9)).all()
    lower, upper = np.clip(P - margin, 0, 1), np.clip(P + margin, 0, 1)
    curve = triad.tradeoff()
    for _ in range(10):
        inside = random_vertex(rng, lower, upper)
        assert (bound >= brute_force(inside, EPSILONS) * (1 - 1e-9)).all()
        exact = TradeOff.envelope(inside)
        assert (curve.power(exact.alpha) >= exact.vertices[:, 1] - 1e-9).all()


# ------------------------------------------------------------------ uncertainty


def tightened(P, margin):
    lower, upper = np.clip(P - margin, 0, 1), np.clip(P + margin, 0, 1)
    spare = [1 - (m.sum(axis=1, keepdims=True) - m) for m in (upper, lower)]
    return np.maximum(lower, spare[0]), np.minimum(upper, spare[1])


def dual_program(l1, u1, l2, u2):
    """The dual of the relaxed program as a linear program of its own."""
    from scipy.optimize import linprog

    b = l1.size
    # z_i >= λ u_i + (1 − λ) l_i − μ l'_i − (1 − μ) u'_i, z_i >= 0
    rows = np.concatenate((-np.eye(b), (u1 - l1)[:, None], (u2 - l2)[:, None]), axis=1)
    cost = np.concatenate((np.ones(b), [-(1 - l1.sum()), 1 - u2.sum()]))
    answer = linprog(cost, A_ub=rows, b_ub=u2 - l1, bounds=[(0, None)] * b + [(0, 1)] * 2)
    return answer.fun + (1 - l1.sum()) - (1 - u2.sum())


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_parameters_with_uncertainty_equal_loops_over_pairs(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, 5), rng.integers(1, 6)
    P = rng.dirichlet(np.full(b, 0.5), size=a)
    margin = rng.choice([0.0, 0.02, 0.2], size=P.shape)
    lower, upper = tightened(P, margin)
    triad = Triad.from_conditional(P, margin)
    ratio, mass, phi, largest_event = 1.0, 0.0, 0.0, 0.0
    events = ((np.arange(2**b)[:, None] >> np.arange(b)) & 1).astype(bool)
    for x, y in permutations(range(a), 2):
        possible = lower[y] > 1e-14
        ratio = max([ratio, *(upper[x] / np.where(possible, lower[y], np.inf))])
        mass = max(mass, upper[x][~possible].sum())
        phi = max(phi, dual_program(lower[x], upper[x], lower[y], upper[y]))
        for s in events:
            power = min(upper[x][s].sum(), 1 - lower[x][~s].sum())
            alpha = max(lower[y][s].sum(), 1 - upper[y][~s].sum())
            largest_event = max(largest_event, power - alpha)
    phi = min(phi, 1.0)
    assert triad.alpha == pytest.approx(math.log(ratio), rel=1e-9, abs=1e-12)
    assert triad.phi == pytest.approx(phi, rel=1e-8, abs=1e-10)
    assert triad.delta == pytest.approx(min(mass, phi), rel=1e-8, abs=1e-10)
    assert triad.phi >= largest_event - 1e-12


def test_forms_of_uncertainty_agree():
    P = np.array(TOY_1)
    by_number = Triad.from_conditional(P, 0.03).to_dict()
    assert Triad.from_conditional(P, np.full(P.shape, 0.03)).to_dict() == by_number
    bounds = (P - 0.03, np.minimum(P + 0.03, 1))
    assert Triad.from_conditional(P, bounds).to_dict() == pytest.approx(by_number, rel=1e-12)
    assert Triad.from_conditional(P, 0).to_dict() == Triad.from_conditional(P).to_dict()
    exact = Triad.from_conditional(P, (P, P)).to_dict()
    assert exact == pytest.approx(Triad.from_conditional(P).to_dict(), rel=1e-12)


def test_total_ignorance_gives_epsilon():
    triad = Triad.from_conditional(TOY_1, uncertainty=np.inf)
    assert (triad.alpha, triad.delta, triad.phi) == (0.0, 1.0, 1.0)
    assert triad.leakage(2.0) == pytest.approx(2.0, rel=1e-15)


def test_a_possible_zero_stays_possible_under_rounding():
    # Σ u of the other cells is 1 up to rounding, so the first cell may be 0.
    P = np.array([[0.1] + [0.3] * 3, [0.4, 0.2, 0.2, 0.2]])
    upper = np.array([[1.0] + [1 / 3] * 3, [1.0] * 4])
    lower = np.array([[0.0, 0, 0, 0], [0.4, 0, 0, 0]])
    triad = Triad.from_conditional(P, (lower, upper))
    assert triad.alpha < 10
    assert triad.delta == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("uncertainty", "message"),
    [
        (-0.1, "0 or more"),
        (np.nan, "0 or more"),
        ("much", "numeric"),
        (np.zeros((3, 3)), "shape"),
        ((0.0, 0.5, 1.0), "lower, upper"),
        (((0.0), np.nan), "enclose"),
        ((0.3, 1.0), "row 0, column 0"),
        ((np.full((2, 2), 0.0), np.full((2, 2), 0.55)), "enclose"),
    ],
)
def test_bad_uncertainty_is_refused(uncertainty, message):
    with pytest.raises(InvalidInputError, match=message):
        Triad.from_conditional([[0.2, 0.8], [0.6, 0.4]], uncertainty)


def test_bounds_without_a_distribution_are_refused():
    from seepage.leakage.uncertainty import tighten

    for lower, upper in ([[0.6, 0.6], [0.7, 0.7]], [[0.1, 0.1], [0.4, 0.4]]):
        with pytest.raises(InvalidInputError, match="row 0"):
            tighten(np.array([lower]), np.array([upper]))


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize(
    "table", [[[0.2, 0.8]], [[1.0]], [[1.0], [1.0]], [[0.2, 0.8, 0], [0.2, 0.8, 0]]]
)
def test_nothing_to_tell(table):
    triad = Triad.from_conditional(table)
    assert triad.to_dict() == {"alpha": 0, "beta": 0, "delta": 0, "phi": 0}
    for bound in (triad, Triad.uncalibrated(table)):
        assert (bound.leakage(EPSILONS) == 0).all()
    assert Triad.calibrated(table, 1.0).leakage(np.inf) == 0
    assert Triad.from_conditional(table[:1], 0.1).leakage(np.inf) == 0


def test_deterministic_dependence_leaks_epsilon():
    triad = Triad.from_conditional(np.eye(3))
    assert triad.to_dict() == {"alpha": 0, "beta": 0, "delta": 1, "phi": 1}
    for bound in (triad, Triad.uncalibrated(np.eye(3)), Triad.calibrated(np.eye(3), 0.5)):
        epsilons = EPSILONS[EPSILONS >= 0.5]
        assert bound.leakage(epsilons) == pytest.approx(epsilons, rel=1e-15)


@pytest.mark.parametrize("tiny", [1e-12, 1e-300, 1e-308, 3e-310, 5e-324])
def test_tiny_probabilities(tiny):
    for P in (
        np.array([[1 - tiny, tiny], [tiny, 1 - tiny]]),
        np.array([[0.5 - tiny, 0.5, tiny], [0.5, 0.5, 0.0]]),
        np.array([[0.5, 0.5 - tiny, tiny], [0.5, 0.0, 0.5]]),
    ):
        triad = Triad.from_conditional(P)
        bound = triad.leakage(EPSILONS)
        assert not np.isnan(bound).any()
        # Subnormal results have an absolute error.
        exact = brute_force_in_60_digits(P, EPSILONS)
        assert (bound >= exact * (1 - 1e-12) - 1e-300).all()
        assert triad.beta >= 0
        assert not np.isnan(Triad.uncalibrated(P).leakage(EPSILONS)).any()
    extreme = Triad.from_conditional([[1 - tiny, tiny], [tiny, 1 - tiny]])
    assert extreme.alpha == pytest.approx(-math.log(tiny), rel=1e-12)


def test_close_rows_keep_their_precision():
    shift = 2.0**-45
    P = np.array([[0.5 + shift, 0.5 - shift], [0.5, 0.5]])
    triad = Triad.from_conditional(P)
    assert triad.phi == shift
    assert triad.alpha == pytest.approx(float(mp.log(0.5 / (0.5 - mp.mpf(shift)))), rel=1e-14)
    assert triad.leakage(1e-9) == pytest.approx(shift * 1e-9, rel=1e-8)


def test_scalars_and_arrays():
    triad = Triad.from_conditional(TOY_1)
    assert isinstance(triad.leakage(1.0), float)
    assert triad.leakage(np.ones((2, 3))).shape == (2, 3)
    for bad in (-1.0, np.nan, "one"):
        with pytest.raises(InvalidInputError, match="epsilon"):
            triad.leakage(bad)


# ------------------------------------------------------------------ from published numbers


@given(tables())
def test_three_numbers_are_enough(table):
    triad = Triad.from_conditional(as_floats(table))
    if triad.phi > 1 - 1e-6:  # β alone no longer fixes φ to full precision
        return
    again = Triad.from_parameters(triad.alpha, min(triad.beta, triad.alpha), triad.delta)
    assert again.phi == pytest.approx(triad.phi, rel=1e-9, abs=1e-12)
    finite = EPSILONS[:6]
    assert again.leakage(finite) == pytest.approx(triad.leakage(finite), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Triad(alpha=-1.0, delta=0.0, phi=0.0), "alpha"),
        (lambda: Triad(alpha=math.inf, delta=0.0, phi=0.0), "alpha"),
        (lambda: Triad(alpha=1.0, delta=math.nan, phi=0.0), "delta"),
        (lambda: Triad(alpha=1.0, delta=0.2, phi=0.1), "phi"),
        (lambda: Triad(alpha=1.0, delta=0.0, phi=0.47), "phi"),
        (lambda: Triad.from_parameters(1.0, 1.1, 0.0), "beta"),
        (lambda: UncalibratedTriad(alpha=1.0, gamma=1.1, delta=0.0), "gamma"),
        (lambda: UncalibratedTriad(alpha=1.0, gamma=0.1, delta=2.0), "delta"),
        (lambda: CalibratedTriad(alpha=1.0, delta=0.0, phi=0.1, epsilon0=0.0), "epsilon0"),
        (lambda: Triad.calibrated(TOY_1, -1.0), "epsilon0"),
        (lambda: Triad.calibrated(TOY_1, [1.0, 2.0]), "epsilon0"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


# ------------------------------------------------------------------ calibrated form


@given(tables(), st.sampled_from([1e-6, 0.1, 1.0, 3.0, 20.0, 699.0, 701.0, 1e4, np.inf]))
def test_calibrated_is_a_bound_from_epsilon0_on(table, epsilon0):
    P = as_floats(table)
    triad = Triad.calibrated(P, epsilon0)
    epsilons = np.append(EPSILONS[epsilon0 <= EPSILONS], epsilon0)
    exact, bound = brute_force(P, epsilons), triad.leakage(epsilons)
    assert not np.isnan(bound).any()
    assert (bound >= exact * (1 - 1e-12)).all()
    assert (bound <= Triad.from_conditional(P).leakage(epsilons) * (1 + 1e-12)).all()
    if epsilon0 <= 20:
        assert triad.leakage(epsilon0) == pytest.approx(exact[-1], rel=1e-6, abs=1e-15)


@given(tables(zeros=False, max_rows=3))
def test_calibrated_beta_equals_the_printed_one(table):
    P = as_floats(table)
    ratio, delta, _ = exact_parameters(table)
    epsilon0 = 1.0
    exact = mp.mpf(float(brute_force(P, [epsilon0])[0]))
    if ratio == 1:
        return
    A, L, E, d = to_mp(ratio), mp.exp(exact), mp.exp(mp.mpf(epsilon0)), to_mp(delta)
    above = -1 + A + d + L * d - A * d - E * ((L - A) * (-1 + d) + d)
    below = -E * (A + L * (-1 + d)) + L * (-1 + A + d)
    if abs(below) < 1e-6:
        return
    beta = Triad.calibrated(P, epsilon0).beta
    assert beta == pytest.approx(float(mp.log(above / below)), rel=1e-6, abs=1e-9)


def test_calibrated_refuses_what_it_does_not_bound():
    triad = Triad.calibrated(TOY_1, 1.0)
    assert isinstance(triad.leakage(1.0), float)
    assert triad.to_dict()["epsilon0"] == 1.0
    assert triad.beta <= Triad.from_conditional(TOY_1).beta
    for bad in (0.999, [2.0, 0.5], 0.0):
        with pytest.raises(InvalidInputError, match=r"\[1.0, inf\]"):
            triad.leakage(bad)


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
def test_calibrated_covers_the_uncertainty(epsilon0):
    rng = np.random.default_rng(11)
    epsilons = np.array([epsilon0, 2 * epsilon0, 10.0, np.inf])
    for _ in range(8):
        P = rng.dirichlet(np.full(4, 0.7), size=3)
        margin = rng.choice([0.0, 0.01, 0.1], size=P.shape)
        triad = Triad.calibrated(P, epsilon0, margin)
        bound = triad.leakage(epsilons)
        assert (bound <= Triad.from_conditional(P, margin).leakage(epsilons) * (1 + 1e-9)).all()
        lower, upper = np.clip(P - margin, 0, 1), np.clip(P + margin, 0, 1)
        for _ in range(20):
            inside = random_vertex(rng, lower, upper)
            assert (bound >= brute_force(inside, epsilons) * (1 - 1e-9)).all()


# ------------------------------------------------------------------ uncalibrated form


@given(tables(zeros=False))
def test_uncalibrated_equals_the_printed_estimate(table):
    alpha = gamma = Fraction(1)
    for x, y in permutations(range(len(table)), 2):
        forward = max(g / h for g, h in zip(table[x], table[y], strict=True))
        backward = max(h / g for g, h in zip(table[x], table[y], strict=True))
        alpha = max(alpha, forward, backward)
        gamma = max(gamma, min(forward, backward))
    triad = Triad.uncalibrated(as_floats(table))
    assert triad.alpha == pytest.approx(math.log(alpha), rel=1e-12, abs=1e-15)
    assert triad.gamma == pytest.approx(math.log(gamma), rel=1e-12, abs=1e-15)
    if gamma > 1:
        for epsilon in (0.1, 1.0, 5.0):
            printed = printed_estimate(alpha, gamma, 0, epsilon)
            assert triad.leakage(epsilon) == pytest.approx(float(printed), rel=1e-10)


def test_uncalibrated_delta_is_the_larger_direction():
    P = [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]
    assert Triad.uncalibrated(P).delta == 0.8
