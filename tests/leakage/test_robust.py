"""Leakage over uncertainty sets, against enumeration, linear programs and random distributions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from seepage import InvalidInputError, TradeOff
from seepage.errors import CapacityError
from seepage.leakage import Triad
from seepage.leakage.robust import (
    _minimise,
    _Rows,
    largest_ratio,
    robust_leakage,
    robust_total_variation,
)
from seepage.leakage.uncertainty import interval_rows

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
EPSILONS = np.array([0.0, 1e-9, 0.1, 1.0, 3.0, 8.0, 300.0, 650.0, 710.0, 1e4, np.inf])


def random_set(rng, max_rows=4, max_columns=7):
    a, b = int(rng.integers(2, max_rows + 1)), int(rng.integers(2, max_columns + 1))
    P = rng.dirichlet(np.full(b, rng.choice([0.2, 1.0, 4.0])), a)
    width = rng.choice([0.02, 0.1, 0.3]) * rng.random((a, b))
    if rng.random() < 0.4:
        width *= rng.random((a, b)) < 0.5  # some cells are known exactly
    return P, width * P if rng.random() < 0.5 else width


def program(lower, upper, low, high, r):
    """max power − r·α over relaxed events, by HiGHS.

    HiGHS lets constraints be violated by up to its tolerance; its event is therefore put back into
    [0, 1] and valued exactly.
    """
    b = len(lower)
    cost = np.append(np.zeros(b), [-1.0, r])
    rows = [[*-upper, 1, 0], [*-lower, 1, 0], [*low, 0, -1], [*high, 0, -1]]
    right = [0, 1 - lower.sum(), 0, high.sum() - 1]
    bounds = [(0, 1)] * b + [(None, None), (0, None)]
    result = linprog(cost, A_ub=rows, b_ub=right, bounds=bounds, method="highs", options=TIGHT)
    s = np.clip(result.x[:b], 0, 1)
    power = min(upper @ s, 1 - lower @ (1 - s))
    return power - r * max(low @ s, 1 - high @ (1 - s))


def fractional_program(lower, upper, low, high, t):
    """max (1 + t·power)/(1 + t·α) over relaxed events, by the Charnes–Cooper transformation."""
    b = len(lower)
    cost = np.concatenate((np.zeros(b), [-1.0, -t, 0.0]))
    rows = [
        [*-upper, 0, 1, 0],
        [*-lower, -(1 - lower.sum()), 1, 0],
        [*low, 0, 0, -1],
        [*high, 1 - high.sum(), 0, -1],
    ]
    rows += [[*np.eye(b)[i], -1, 0, 0] for i in range(b)]
    result = linprog(
        cost,
        A_ub=rows,
        b_ub=np.zeros(len(rows)),
        A_eq=[[*np.zeros(b), 1, 0, t]],
        b_eq=[1.0],
        bounds=[(0, None)] * (b + 3),
        method="highs",
        options=TIGHT,
    )
    return np.log(-result.fun)


def pairs(a):
    return [(x, y) for x in range(a) for y in range(a) if x != y]


@pytest.mark.parametrize("seed", range(60))
def test_dual_value_equals_highs(seed):
    rng = np.random.default_rng(seed)
    P, delta = random_set(rng)
    lower, upper = interval_rows(P, delta)
    for r in (1.0, 1.05, 1.7, 12.0):
        for x, y in pairs(len(P)):
            h, _ = _minimise(_Rows.of(lower, upper), np.array([x]), np.array([y]), r)
            wanted = program(lower[x], upper[x], lower[y], upper[y], r)
            assert h[0] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_leakage_equals_highs_on_the_relaxed_program(seed):
    rng = np.random.default_rng(1000 + seed)
    P, delta = random_set(rng)
    lower, upper = interval_rows(P, delta)
    # HiGHS works to 1e-7 absolute, so the comparison to 1e-9 needs a well-scaled t.
    for epsilon in (0.1, 1.0):
        t = np.expm1(epsilon)
        wanted = max(
            fractional_program(lower[x], upper[x], lower[y], upper[y], t) for x, y in pairs(len(P))
        )
        assert robust_leakage(P, delta, epsilon) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_leakage_is_the_root_of_the_programs_for_large_epsilon(seed):
    # At r = e^L the best of the linear programs equals (r − 1)/t: an exact restatement that HiGHS
    # solves without the bad scaling of the fractional form.
    rng = np.random.default_rng(2000 + seed)
    P, delta = random_set(rng, max_rows=3)
    lower, upper = interval_rows(P, delta)
    for epsilon in (3.0, 8.0):
        value = robust_leakage(P, delta, epsilon)
        r = np.exp(value)
        best = max(program(lower[x], upper[x], lower[y], upper[y], r) for x, y in pairs(len(P)))
        assert best == pytest.approx((r - 1) / np.expm1(epsilon), abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_order_exact_robust_triad(seed):
    rng = np.random.default_rng(3000 + seed)
    P, delta = random_set(rng)
    exact = robust_leakage(P, delta, EPSILONS, method="exact")
    dual = robust_leakage(P, delta, EPSILONS)
    triad = Triad.from_conditional(P, delta).leakage(EPSILONS)
    assert (dual >= exact * (1 - 1e-13)).all()
    assert (triad >= dual * (1 - 1e-12)).all()
    assert not np.isnan(dual).any()
    assert (dual <= EPSILONS).all()


def test_never_below_ten_thousand_distributions_in_the_set():
    rng = np.random.default_rng(7)
    P, delta = rng.dirichlet(np.ones(6), 2), 0.08
    lower, upper = interval_rows(P, delta)
    epsilon = np.array([0.3, 1.0, 4.0])
    limit = robust_leakage(P, delta, epsilon)
    tables = []
    for trial in range(10_000):
        order = rng.permutation(6)
        orders = (order, order[::-1]) if trial % 2 else (order, rng.permutation(6))
        tables.append([fill(orders[i], lower[i], upper[i]) for i in range(2)])
    tables = np.array(tables)
    assert (tables >= lower - 1e-12).all()
    assert (tables <= upper + 1e-12).all()
    events = np.array(list(product((0.0, 1.0), repeat=6)))
    mass = tables @ events.T
    t = np.expm1(epsilon)[:, np.newaxis, np.newaxis]
    seen = np.abs(np.log1p(t * mass[:, 0]) - np.log1p(t * mass[:, 1])).max(axis=(1, 2))
    assert (seen <= limit * (1 + 1e-12)).all()
    # The set is explored up to its true maximum, so the comparison above means something.
    assert (seen >= 0.99 * robust_leakage(P, delta, epsilon, method="exact")).all()


def fill(order, low, high):
    """An extreme distribution between the limits: raise entries in the given order."""
    row, rest = low.copy(), 1 - low.sum()
    for i in order:
        step = min(rest, high[i] - low[i])
        row[i] += step
        rest -= step
    return row


@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.5, 3.0]))
def test_without_uncertainty_equals_exact_leakage(seed, concentration):
    rng = np.random.default_rng(seed)
    a, b = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    P = rng.dirichlet(np.full(b, concentration), a)
    if rng.random() < 0.3:
        P = np.round(P * 8) + 1e-300
        P = np.where(P < 1, 0, P)
        P[P.sum(axis=1) == 0, 0] = 1
        P = P / P.sum(axis=1, keepdims=True)
    assert_allclose(
        robust_leakage(P, None, EPSILONS),
        TradeOff.envelope(P).leakage(EPSILONS),
        rtol=1e-12,
        atol=1e-15,
    )


@pytest.mark.parametrize(
    ("margin", "limits"),
    [
        (0.05, (0.017553, 0.186915, 0.441062, 0.51005)),
        (0.1, (0.022559, 0.233781, 0.532571, 0.610574)),
        (0.2, (0.032541, 0.325982, 0.716406, 0.815218)),
        (0.5, (0.062338, 0.599368, 1.313053, 1.507619)),
    ],
)
def test_not_above_the_published_artifact(data_dir, margin, limits):
    P = np.load(data_dir / "published" / "synthetic_conditionals.npz")["k10"]
    values = robust_leakage(P, margin * P, [0.1, 1.0, 3.0, 8.0])
    assert (values <= np.array(limits)).all()
    assert (values >= TradeOff.envelope(P).leakage([0.1, 1.0, 3.0, 8.0])).all()


def test_total_variation_is_the_program_at_slope_one():
    rng = np.random.default_rng(11)
    P, delta = rng.dirichlet(np.ones(6), 5), 0.07
    lower, upper = interval_rows(P, delta)
    wanted = max(program(lower[x], upper[x], lower[y], upper[y], 1.0) for x, y in pairs(5))
    assert robust_total_variation(lower, upper) == pytest.approx(wanted, abs=1e-12)


def test_large_tables_agree_with_solving_every_pair():
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.ones(30), 25)
    lower, upper = interval_rows(P, 0.2 * P)
    xs, ys = np.nonzero(~np.eye(25, dtype=bool))
    h, _ = _minimise(_Rows.of(lower, upper), xs, ys, 1.0)
    assert robust_total_variation(lower, upper) == pytest.approx(h.max(), abs=1e-14)


def test_largest_ratio_by_enumeration():
    rng = np.random.default_rng(3)
    for _ in range(50):
        P, delta = random_set(rng)
        lower, upper = interval_rows(P, delta)
        wanted = max(
            (
                upper[x, i] / lower[y, i]
                for x, y in pairs(len(P))
                for i in range(P.shape[1])
                if lower[y, i] > 0
            ),
            default=0.0,
        )
        assert largest_ratio(lower, upper) == pytest.approx(wanted, rel=1e-15)


def test_tightened_limits_are_attained():
    rng = np.random.default_rng(13)
    for _ in range(50):
        P, delta = random_set(rng)
        lower, upper = interval_rows(P, delta)
        for low, high in zip(lower, upper, strict=True):
            for i in range(low.size):
                others = np.arange(low.size) != i
                assert low[i] + high[others].sum() >= 1 - 1e-12
                assert high[i] + low[others].sum() <= 1 + 1e-12


def test_limits_form_equals_symmetric_form():
    P = np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
    delta = 0.1
    symmetric = robust_leakage(P, delta, [0.5, 2.0])
    assert_allclose(robust_leakage(P, (P - delta, P + delta), [0.5, 2.0]), symmetric, rtol=1e-14)


@pytest.mark.parametrize(
    "bad",
    [
        {"uncertainty": -0.1},
        {"uncertainty": np.nan},
        {"uncertainty": "wide"},
        {"uncertainty": np.ones(3)},
        {"uncertainty": ([[0.9, 0.9], [0, 0]], 1.0)},
        {"uncertainty": (0.0, 0.2)},
        {"uncertainty": (0.0, 1.0, 0.5)},
        {"epsilon": -1},
        {"epsilon": np.nan},
        {"method": "fast"},
        {"conditional": [[0.5, 0.6], [1, 0]]},
    ],
)
def test_bad_input(bad):
    arguments = {"conditional": [[0.5, 0.5], [0.1, 0.9]], "uncertainty": 0.1, "epsilon": 1.0}
    with pytest.raises(InvalidInputError):
        robust_leakage(**(arguments | bad))


def test_enumeration_refuses_many_columns():
    with pytest.raises(CapacityError):
        robust_leakage(np.full((2, 30), 1 / 30), 0.01, 1.0, method="exact")


@pytest.mark.parametrize("delta", [1e-300, 1e-20, 1e-16, 1e-13, 1e-6])
@pytest.mark.parametrize("epsilon", [1.0, 40.0, 700.0, 1e4])
def test_tiny_uncertainty_never_understates(delta, epsilon):
    for P in (np.eye(2), [[1e-9, 1 - 1e-9], [0, 1]], [[0.5, 0.5, 0], [0.2, 0.3, 0.5]]):
        wanted = TradeOff.envelope(P).leakage(epsilon)
        for method in ("dual", "exact"):
            assert robust_leakage(P, delta, epsilon, method=method) >= wanted * (1 - 1e-12)


def test_tiny_uncertainty_on_sparse_tables():
    rng = np.random.default_rng(17)
    for _ in range(60):
        b = int(rng.integers(2, 8))
        counts = rng.multinomial(12, rng.dirichlet(np.full(b, 0.4)), size=3) + 0.0
        P = counts / counts.sum(axis=1, keepdims=True)
        delta = 10.0 ** -rng.integers(4, 22)
        wanted = TradeOff.envelope(P).leakage(EPSILONS)
        assert (robust_leakage(P, delta, EPSILONS) >= wanted * (1 - 1e-12)).all()


def test_extreme_probabilities_and_budgets():
    P = [[1e-300, 1], [1e-310, 1]]
    assert robust_leakage(P, None, 700.0) == pytest.approx(TradeOff.envelope(P).leakage(700.0))
    assert robust_leakage(P, 1e-300, 1e4) >= TradeOff.envelope(P).leakage(1e4)
    assert 0 < robust_leakage([[0.5, 0.5], [0.1, 0.9]], 0.01, 2e-309) <= 2e-309


def test_scalar_in_scalar_out_and_wide_uncertainty_reaches_epsilon():
    assert isinstance(robust_leakage([[0.5, 0.5], [0.1, 0.9]], 0.1, 1.0), float)
    assert robust_leakage([[0.5, 0.5], [0.1, 0.9]], 1.0, [0.7, np.inf]).tolist() == [0.7, np.inf]
