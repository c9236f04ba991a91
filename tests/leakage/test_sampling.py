"""Leakage from samples: coverage in simulations, an independent upper limit, limits, bad input.

The simulations use fixed seeds. The stated confidence is 95 %; each limit fails with at most
2.5 %, and the upper limit in practice much more rarely, so the true coverage is above 97 %. With
exactly 97 %, fewer than 950 of 1,000 would be covered with probability 2e-4.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import InvalidInputError, TradeOff
from seepage.leakage._event_limits import _event_level, _Search
from seepage.leakage.confidence import divergence_limits, joint_radius
from seepage.leakage.sampling import (
    SampledLeakage,
    sampled_leakage,
    sampled_upper_limit,
)

# Structural zeros; every two rows overlap, so the leakage stays below ε.
SPARSE = np.array(
    [
        [0.6, 0.4, 0.0, 0.0, 0.0],
        [0.3, 0.3, 0.2, 0.2, 0.0],
        [0.2, 0.3, 0.2, 0.25, 0.05],
        [0.5, 0.2, 0.0, 0.1, 0.2],
        [0.25, 0.25, 0.25, 0.25, 0.0],
    ]
)
SPARSE_MASS = np.array([0.4, 0.3, 0.2, 0.09, 0.01])


def k10(data_dir):
    P = np.load(data_dir / "published" / "synthetic_conditionals.npz")["k10"]
    return P / P.sum(axis=1, keepdims=True)


def simulate(joint, n, epsilon, runs, seed):
    """Results of many samples of one joint distribution, and whether the limits hold."""
    rng = np.random.default_rng(seed)
    P = joint / joint.sum(axis=1, keepdims=True)
    results, covered, truths = [], 0, {}
    for _ in range(runs):
        table = rng.multinomial(n, joint.ravel() / joint.sum()).reshape(joint.shape)
        result = sampled_leakage(table, epsilon, rng=rng)
        seen = table.sum(axis=1) > 0  # the limits are about the values that were observed
        if seen.tobytes() not in truths:
            truths[seen.tobytes()] = TradeOff.envelope(P[seen]).leakage(epsilon)
        truth = truths[seen.tobytes()]
        covered += result.interval.lower <= truth + 1e-12 and truth <= result.interval.upper + 1e-12
        results.append(result)
    return results, covered


def means(results):
    return np.array(
        [
            (r.interval.lower, r.bias_reduced, r.plug_in, r.interval.upper, r.distinguishable)
            for r in results
        ]
    ).mean(axis=0)


# ------------------------------------------------------------------ coverage


def test_coverage_on_independent_attributes():
    """40 × 16, n = 5,000, ε = 2. The flag's error is at most 5 %; here it is near 3.5 %."""
    joint = np.full((40, 16), 1 / 640)
    results, covered = simulate(joint, 5000, 2.0, 1000, seed=11)
    assert covered >= 950
    assert sum(r.interval.lower == 0 for r in results) >= 950
    assert sum(not r.distinguishable for r in results) >= 950
    lower, reduced, plug_in, upper, _ = means(results)
    assert reduced < 0.15 * plug_in
    assert lower < 0.01
    assert upper < 1.2


@pytest.mark.parametrize(("n", "seed"), [(2000, 21), (200_000, 22)])
def test_coverage_on_the_synthetic_table(data_dir, n, seed):
    P = k10(data_dir)
    results, covered = simulate(P / 10, n, 2.0, 1000, seed)
    assert covered >= 950
    lower, reduced, plug_in, upper, found = means(results)
    truth = TradeOff.envelope(P).leakage(2.0)
    assert lower < truth < upper
    # Cross-fitting errs downwards, the plug-in upwards. On a large sample both are close, and
    # the plug-in may be the closer one.
    assert reduced < truth < plug_in
    if n == 2000:
        assert truth - reduced < 0.8 * (plug_in - truth)
    else:
        assert truth - reduced < 0.025 * truth
        assert found == 1
        assert lower > 0.75 * truth
        assert upper < 1.2 * truth


def test_coverage_on_a_sparse_table_with_structural_zeros():
    joint = SPARSE * SPARSE_MASS[:, None]
    results, covered = simulate(joint, 300, 2.0, 1000, seed=31)
    assert covered >= 950
    assert all(r.distinguishable for r in results)
    assert means(results)[0] > 0.2


def test_upper_limit_covers_at_moderate_counts():
    """A table without slack: two rows, two columns, where the union over events is small."""
    joint = np.array([[0.2, 0.3], [0.3, 0.2]])
    results, covered = simulate(joint, 200, 1.0, 500, seed=41)
    assert covered >= 475
    _, reduced, _, upper, _ = means(results)
    assert abs(reduced - 0.1854) < 0.02
    assert upper < 0.45


def test_limits_converge_to_the_truth():
    P = SPARSE[:4]
    widths = []
    for n in (10**3, 10**5, 10**7, 10**9):
        table = np.round(P * n).astype(np.int64)
        result = sampled_leakage(table, 2.0)
        truth = TradeOff.envelope(P).leakage(2.0)
        assert truth < 1.5
        assert result.interval.lower <= truth <= result.interval.upper
        widths.append(result.interval.upper - result.interval.lower)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 2e-3
    assert abs(result.bias_reduced - truth) < 1e-3


# ------------------------------------------------------------------ upper limit


def upper_by_enumeration(table, epsilon, radius):
    """Every event of every pair, with the joint region scanned by angle."""
    a, b = table.shape
    n = table.sum(axis=1)
    events = (np.arange(1, 2**b - 1)[:, None] >> np.arange(b)) & 1
    counts = events @ table.T
    angle = np.linspace(0, np.pi / 2, 201)
    t, best = math.expm1(epsilon), 0.0
    for x, y in permutations(range(a), 2):
        X, Y = np.unique(counts[:, [x, y]], axis=0).T[:, :, None]
        p_hat, q_hat = np.minimum((X + 1) / n[x], 1.0), np.maximum((Y - 1) / n[y], 0.0)
        p = divergence_limits(p_hat, (radius * np.cos(angle)) ** 2 / 2 / n[x])[1]
        q = divergence_limits(q_hat, (radius * np.sin(angle)) ** 2 / 2 / n[y])[0]
        best = max(best, float((np.log1p(t * p) - np.log1p(t * q)).max()))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_upper_limit_against_enumeration(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    a, b = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    table = rng.poisson(rng.gamma(0.7, rng.choice([3, 30, 300]), (a, b))) + np.eye(a, b, dtype=int)
    radius = joint_radius(math.log(0.05))
    for epsilon in (0.01, 1.0, 6.0, 30.0):
        # The reference scans angles, so it may be a little low.
        reference = upper_by_enumeration(table, epsilon, radius)
        monkeypatch.setattr("seepage.leakage._event_limits.SMALL", 20_000)
        value = sampled_upper_limit(table, epsilon, error=0.05, simultaneous=False)
        assert reference * (1 - 1e-6) <= value <= reference * 1.002
        monkeypatch.setattr("seepage.leakage._event_limits.SMALL", 0)
        by_hull = sampled_upper_limit(table, epsilon, error=0.05, simultaneous=False)
        assert by_hull >= reference * (1 - 1e-6)


def test_both_searches_agree_on_a_wide_table(monkeypatch):
    """With many small cells the hull is as good as the events."""
    rng = np.random.default_rng(5)
    table = rng.poisson(40, (3, 11))
    monkeypatch.setattr("seepage.leakage._event_limits.SMALL", 10**6)
    by_event = sampled_upper_limit(table, 1.0)
    monkeypatch.setattr("seepage.leakage._event_limits.SMALL", 0)
    by_hull = sampled_upper_limit(table, 1.0)
    assert by_event * (1 - 1e-3) <= by_hull <= by_event * 1.01


@pytest.mark.parametrize("block", [5, 17, 18, 30])
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 7])
def test_blocks_of_pairs_change_nothing(rows, block, monkeypatch):
    """Also where the last block holds only the last row with itself."""
    table = np.random.default_rng(rows).poisson(4, (rows, 3)) + 1
    whole = sampled_leakage(table, 1.0)
    monkeypatch.setattr("seepage.leakage._event_limits._BLOCK", block)
    monkeypatch.setattr("seepage.leakage._half_sample._BLOCK", block)
    parts = sampled_leakage(table, 1.0)
    # Blocks change the order of the search; its result is within its tolerance, never below.
    assert parts.interval.upper == pytest.approx(whole.interval.upper, rel=2e-3)
    assert parts.interval.lower == whole.interval.lower
    assert parts.bias_reduced == whole.bias_reduced


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 30.0])
def test_level_of_one_event_against_a_scan(epsilon):
    """The scalar iteration gives the limit of one event, or a little more."""
    radius = joint_radius(math.log(0.025))
    angle = np.linspace(0, np.pi / 2, 1001)
    t = math.expm1(epsilon)
    rng = np.random.default_rng(8)
    cases = [
        (1.0, 0.0, 5.0, 7.0),
        (1.0, 0.3, 5.0, 7e6),
        (1e-3, 0.0, 1e3, 9.0),
        (0.2, 1.0, 9.0, 3.0),
    ]
    cases += [(*rng.random(2), *10 ** rng.uniform(0.5, 6, 2)) for _ in range(40)]
    for p_hat, q_hat, n, m in cases:
        p = divergence_limits(p_hat, (radius * np.cos(angle)) ** 2 / 2 / n)[1]
        q = divergence_limits(q_hat, (radius * np.sin(angle)) ** 2 / 2 / m)[0]
        reference = float((np.log1p(t * p) - np.log1p(t * q)).max())
        level = _event_level((p_hat, q_hat, n, m), 1 / t, radius**2 / 2, 0.0)
        if reference > 1e-9:
            assert math.log1p(level) == pytest.approx(reference, rel=1e-5)
            assert math.log1p(level) >= reference * (1 - 1e-9)


def test_search_that_stops_early_is_still_an_upper_limit(monkeypatch):
    """Weak multipliers may only raise the limit."""
    table = np.random.default_rng(6).poisson(20, (12, 14))
    exact = sampled_upper_limit(table, 1.5)
    original = _Search._evaluate
    monkeypatch.setattr(
        _Search,
        "_evaluate",
        lambda self, points, newton, skipped=None: original(self, points, 0, skipped),
    )
    assert sampled_upper_limit(table, 1.5) >= exact * (1 - 1e-3)


def test_simultaneous_limit_is_wider_and_rises_with_epsilon():
    table = np.random.default_rng(7).poisson(30, (6, 5))
    epsilons = np.array([0.0, 0.1, 1.0, 3.0, 20.0, np.inf])
    wide = sampled_upper_limit(table, epsilons)
    narrow = sampled_upper_limit(table, epsilons, simultaneous=False)
    assert wide.shape == (6,)
    assert (wide >= narrow).all()
    assert (wide <= epsilons).all()
    assert (np.diff(wide) >= 0).all()
    assert wide[0] == 0
    assert np.isinf(wide[-1])


# ------------------------------------------------------------------ what it returns


@settings(max_examples=60)
@given(
    st.integers(1, 5).flatmap(
        lambda b: st.lists(
            st.lists(st.sampled_from([0, 0, 1, 2, 9, 400]), min_size=b, max_size=b),
            min_size=1,
            max_size=5,
        )
    ),
    st.sampled_from([0.0, 1e-9, 0.5, 2.0, 40.0, 700.0, 1e5, math.inf]),
    st.booleans(),
)
def test_limits_are_ordered_for_any_table(table, epsilon, simultaneous):
    if not np.sum(table):
        table[0][0] = 1
    result = sampled_leakage(table, epsilon, simultaneous=simultaneous)
    interval = result.interval
    assert 0 <= interval.lower <= interval.estimate <= interval.upper <= epsilon
    assert interval.estimate == result.bias_reduced
    assert result.plug_in <= interval.upper * (1 + 1e-9)
    assert 0 < result.independence_p_value <= 1
    assert result.rows_left_out == tuple(np.flatnonzero(np.sum(table, axis=1) == 0).tolist())


def test_same_table_same_result():
    table = np.random.default_rng(1).poisson(3, (8, 6))
    assert sampled_leakage(table, 1.0) == sampled_leakage(table, 1.0)
    assert sampled_leakage(table, 1.0, rng=4) == sampled_leakage(table, 1.0, rng=4)


def test_plug_in_is_the_leakage_of_the_observed_table():
    table = np.random.default_rng(2).poisson(8, (7, 9))
    P = table / table.sum(axis=1, keepdims=True)
    result = sampled_leakage(table, 1.7)
    assert result.plug_in == pytest.approx(TradeOff.envelope(P).leakage(1.7), rel=1e-12)


def test_blame_names_the_rare_value():
    table = np.array([[500, 500], [480, 520], [0, 0], [3, 1]])
    result = sampled_leakage(table, 2.0)
    assert result.blame is not None
    assert (result.blame.row, result.blame.records) == (3, 4)
    assert result.rows_left_out == (2,)
    assert any("without records" in said for said in result.assumptions)
    pooled = sampled_leakage(table[:2], 2.0)
    assert pooled.interval.upper < 0.5 * result.interval.upper


def test_deterministic_dependence_reaches_the_budget():
    result = sampled_leakage(np.eye(4, dtype=int) * 5000, 1.0)
    assert result.interval.upper == 1.0
    assert result.interval.lower > 0.99
    assert result.distinguishable


@pytest.mark.parametrize("table", [[[7]], [[7, 2, 0]], [[7], [2]], [[0, 0], [3, 9]]])
def test_one_row_or_column_leaks_nothing(table):
    result = sampled_leakage(table, 3.0)
    assert result.interval.upper == result.plug_in == 0
    assert (result.independence_method, result.independence_p_value) == ("none", 1.0)
    assert not result.distinguishable
    assert result.blame is None


@pytest.mark.parametrize("table", [[[10**13, 1], [1, 0]], [[10**13, 10**12], [10**12, 1]]])
def test_huge_counts(table):
    result = sampled_leakage(table, 1.0)
    assert 0 <= result.interval.lower <= result.interval.upper <= 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 0], [0, 0]], "at least one record"),
        ([[1, -1], [2, 3]], "zero or more"),
        ([[1.5, 1], [2, 3]], "whole numbers"),
        ([[1, math.nan], [2, 3]], "whole numbers"),
        ([[1, math.inf], [2, 3]], "whole numbers"),
        ([1, 2, 3], "shape"),
        (np.empty((0, 3), dtype=int), "shape"),
        ([["a", "b"]], "numeric"),
        ([[1], [2, 3]], "rectangular"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(InvalidInputError, match=message):
        sampled_leakage(table, 1.0)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, math.nan, "high", [0.9, 0.95]])
def test_bad_confidence(confidence):
    with pytest.raises(InvalidInputError, match="confidence"):
        sampled_leakage([[1, 2], [3, 4]], 1.0, confidence=confidence)


@pytest.mark.parametrize("epsilon", [-1, math.nan, "one", [1.0, 2.0]])
def test_bad_epsilon(epsilon):
    with pytest.raises(InvalidInputError, match="epsilon"):
        sampled_leakage([[1, 2], [3, 4]], epsilon)


def test_confidence_widens_the_limits():
    table = np.random.default_rng(3).poisson([[90, 40, 20], [30, 60, 70]])
    sizes = [sampled_leakage(table, 1.0, confidence=c) for c in (0.5, 0.9, 0.99, 0.9999)]
    assert isinstance(sizes[0], SampledLeakage)
    uppers = [r.interval.upper for r in sizes]
    lowers = [r.interval.lower for r in sizes]
    assert uppers == sorted(uppers)
    assert lowers == sorted(lowers, reverse=True)


def test_splits_of_different_samples_are_unrelated():
    from seepage.leakage.sampling import split_generator

    table = np.array([[40_000, 60_000], [60_000, 40_000]])
    draws = []
    for shift in range(400):
        moved = table + np.array([[shift, -shift], [-shift, shift]])
        part = split_generator(moved).binomial(moved, 0.5)
        draws.append(((part - moved / 2) / np.sqrt(moved / 4)).ravel())
    assert (split_generator(table).random(3) == split_generator(table.copy()).random(3)).all()
    # Standard normal scores: means within 4 standard errors of 0 (false-alarm rate below 3e-4 for
    # the four cells) and of full spread. One seed for all tables makes each column nearly constant.
    scores = np.array(draws)
    assert (np.abs(scores.mean(axis=0)) < 4 / np.sqrt(400)).all()
    assert (scores.std(axis=0) > 0.8).all()


def test_lower_limit_holds_whatever_the_order_of_categories(data_dir):
    P = np.load(data_dir / "published" / "synthetic_conditionals.npz")["k10"]
    rng = np.random.default_rng(51)
    truth = TradeOff.envelope(P).leakage(1.0)
    for _ in range(2):
        order = P[rng.permutation(10)][:, rng.permutation(10)]
        above = 0
        for _ in range(250):
            table = rng.multinomial(200_000, (order / 10).ravel()).reshape(10, 10)
            above += sampled_leakage(table, 1.0).interval.lower > truth
        assert above <= 18  # 2.5 % of 250 is 6.25; more has a probability below 5e-5
