"""Cases in which a bound, a promise or an order of utility is easily lost."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from seepage.errors import CapacityError, InvalidInputError
from seepage.sequence import redact, uncertain
from seepage.sequence._messages import log_power
from seepage.sequence.attack import posterior
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import (
    binary_influence,
    clear_distance,
    influence,
    regions,
    set_influence,
)
from seepage.sequence.leakage import log_laws, redaction_leakage
from seepage.sequence.plan import RedactionPlan
from seepage.sequence.uncertain import ChainSet, uncertain_leakage

STICKY = MarkovChain.binary(1e-4, 2e-4)
LEAVING = MarkovChain([[0.5, 0.5], [0, 1]], [1, 0])


def near(chain, width):
    """A set of chains around one on two states."""
    P = chain.transition
    return ChainSet(chain, P * (1 - width), np.minimum(P * (1 + width), 1))


# Sets of chains


def test_confidence_sets_are_for_stationary_chains():
    true = MarkovChain([[0.99, 0.01], [0.2, 0.8]], [0.2, 0.8])
    data = [row.tolist() for row in true.simulate(200, 200, rng=3)]
    with pytest.raises(InvalidInputError, match="start='stationary'"):
        MarkovChain.fit(data, start="observed").confidence_set()
    chains = MarkovChain.fit(data).confidence_set()
    assert "a stationary Markov chain" in chains.assumption
    plan = redact.data_independent(chains, 2, 1, 4.6)
    center = redaction_leakage(chains.center, plan.redact_probability, 1).value
    assert center <= plan.leakage


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 20.0])
def test_confidence_sets_cover_their_centre(smoothing):
    rng = np.random.default_rng(5)
    for k in (2, 3, 4):
        chain = MarkovChain(rng.dirichlet(np.full(k, 0.7), size=k))
        fit = MarkovChain.fit(
            chain.simulate(300, rng=rng), states=range(k), smoothing=smoothing or 1e-9
        )
        chains = fit.confidence_set()
        back = chains.center.reversed().transition
        assert (chains.backward_lower <= back + 1e-12).all()
        assert (chains.backward_upper >= back - 1e-12).all()
        for _ in range(4):
            r = np.where(rng.random((7, k)) < 0.5, 1.0, rng.random((7, k)))
            r[3] = 1
            bound = uncertain_leakage(chains, r, 3).value
            assert redaction_leakage(chains.center, r, 3).value <= bound + 1e-9


def test_backward_limits_hold_at_every_time():
    center = MarkovChain([[0.9, 0.1], [0.2, 0.8]], [0.01, 0.99])
    P = center.transition
    first = center.start[:, np.newaxis] * P
    first = (first / first.sum(axis=0)).T
    late = MarkovChain(P).reversed().transition
    low, high = np.minimum(first, late), np.maximum(first, late)
    chains = ChainSet(center, P, P, low, high)
    assert "every time" in chains.assumption
    bound = uncertain_leakage(chains, [[0, 0], [1, 1]], 1).value
    assert redaction_leakage(center, [[0, 0], [1, 1]], 1).value <= bound + 1e-9
    for bad in ((late, late), (first, first), (low, high - 0.01)):
        with pytest.raises(InvalidInputError, match="backward"):
            ChainSet(center, P, P, *bad)
    with pytest.raises(InvalidInputError, match="or neither"):
        ChainSet(MarkovChain(P), P, P, P)
    three = MarkovChain([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    with pytest.raises(InvalidInputError, match="read backwards"):
        ChainSet(three, *[three.transition] * 4)


def test_far_records_that_are_redacted_tell_nothing():
    chains = near(STICKY, 1e-3)
    assert uncertain_leakage(chains, np.ones((4500, 2)), 2000).value == 0
    r = np.ones((4500, 2))
    r[10, 0] = 0.5
    short = uncertain_leakage(chains, r[:11], 0).value
    assert uncertain_leakage(chains, r, 0).value == short > 0
    # A set of one chain: the exact leakage also where the first release is far away.
    one = ChainSet(STICKY, STICKY.transition, STICKY.transition)
    r = np.ones((12_000, 2))
    r[[0, -1]] = 0
    exact = redaction_leakage(STICKY, r, 6000).value
    assert uncertain_leakage(one, r, 6000).value == pytest.approx(exact, rel=1e-9)
    plan = redact.data_independent(chains, 12_000, 6000, 2.0)
    assert plan.keeps_promise
    assert plan.window[1] - plan.window[0] > uncertain.FAR
    assert uncertain.CUT not in plan.notes


def test_what_is_cut_is_bounded_and_said(monkeypatch):
    monkeypatch.setattr(uncertain, "FAR", 5)
    chain = MarkovChain.binary(0.2, 0.3)
    one = ChainSet(chain, chain.transition, chain.transition)
    r = np.full((20, 2), 0.5)
    r[8:11] = 1
    r[:, 1] = 1
    plan = redact.from_probabilities(one, r, 9)
    assert plan.notes == (uncertain.CUT,)
    assert RedactionPlan.from_dict(plan.to_dict()).notes == (uncertain.CUT,)
    assert plan.leakage >= redaction_leakage(chain, r, 9).value
    r[:5] = r[14:] = 1
    assert redact.from_probabilities(one, r, 9).notes == ()


def test_two_states_are_carried_as_more_are():
    rng = np.random.default_rng(4)
    for _ in range(50):
        P = rng.dirichlet(np.ones(2), size=2)
        low, high = P * (1 - rng.random((2, 2)) / 4), np.minimum(P + rng.random((2, 2)) / 4, 1)
        theta = np.array([[0, rng.exponential()], [rng.exponential(), 0]])
        fast = uncertain._carry(theta, low, high)
        # The same with a third state that is never reached and adds no ratio.
        wide_low, wide_high, wide = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
        wide_low[:2, :2], wide_high[:2, :2], wide[:2, :2] = low, high, theta
        wide_low[2, 0] = wide_high[2, 0] = 1
        wide[2, 1], wide[1, 2] = theta[0, 1], theta[1, 0]
        slow = uncertain._carry(wide, wide_low, wide_high)[:2, :2]
        np.testing.assert_allclose(fast, slow, atol=1e-12)


# Order of utility


@pytest.mark.parametrize(
    ("alpha", "beta", "epsilon"),
    [(0.4071813, 0.0504698, 2.673225), (0.4629616, 0.1161125, 1.383031)],
)
def test_order_of_utility_for_several_hidden_records(alpha, beta, epsilon):
    chain = MarkovChain.binary(alpha, beta)
    makers = (redact.data_independent, redact.certified, redact.optimal)
    for known in (chain, near(chain, 0.02)):
        plans = [make(known, 5, [2, 3], epsilon) for make in makers]
        assert all(plan.keeps_promise for plan in plans)
        utility = [plan.utility for plan in plans]
        assert utility[0] <= utility[1] + 1e-12
        assert utility[1] <= utility[2] + 1e-12


def test_order_of_utility_over_a_set_of_chains():
    rng = np.random.default_rng(8)
    for _ in range(2):
        chains = near(MarkovChain.binary(*rng.uniform(0.1, 0.5, 2)), 0.05)
        plans = [make(chains, 7, 3, 0.9) for make in (redact.certified, redact.optimal)]
        assert all(plan.leakage <= 0.9 for plan in plans)
        assert plans[0].utility <= plans[1].utility + 1e-12


# Nothing and almost nothing


def test_all_redacted_leaks_exactly_nothing():
    plan = redact.data_independent(MarkovChain.binary(1e-5, 2e-5), 100_000, 50_000, 0)
    assert (plan.leakage, plan.keeps_promise, plan.utility) == (0, True, 0)
    rng = np.random.default_rng(2)
    for _ in range(60):
        alpha, beta = 10 ** rng.uniform(-8, -2, 2)
        n = int(rng.integers(2, 3000))
        plan = redact.data_independent(MarkovChain.binary(alpha, beta), n, n // 2, 0)
        assert (plan.leakage, plan.keeps_promise) == (0, True)
    # Records that are redacted for sure beyond the last that may be released change nothing.
    r = np.ones((5000, 2))
    r[3, 0] = 0.4
    assert redaction_leakage(STICKY, r, 0) == redaction_leakage(STICKY, r[:4], 0)


def test_influence_fades_but_does_not_end():
    chain = MarkovChain.binary(0.25, 0.5)
    assert clear_distance(chain, 0) is None
    assert (influence(chain, 400, 0) > 0).all()
    assert regions(chain, 60, 0, 0).large == tuple(range(1, 60))
    assert redact.data_independent(chain, 300, 100, 0).utility == 0
    assert redact.quilt(chain, 300, 100, 0).utility == 0
    assert redact.data_independent(near(chain, 0.01), 300, 100, 0).utility == 0
    # Independent at a distance of two, and records without any dependence.
    two = MarkovChain([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]] * 2)
    found = influence(two, 6, 0)
    assert (found[1] > 0).all()
    assert (found[2:] == 0).all()
    assert clear_distance(two, 0) == 2
    assert redact.data_independent(two, 9, 4, 0).utility == pytest.approx(6 / 9)
    same = np.full((3, 3), [0.2, 0.3, 0.5])
    for start in (None, [0.9, 0.1, 0]):
        assert redact.data_independent(MarkovChain(same, start), 9, 4, 0).utility == pytest.approx(
            8 / 9
        )
    moving = MarkovChain([[0.9, 0.1], [0.2, 0.8]], [1, 0])
    # The first record is certain and may be released.
    assert redact.data_independent(moving, 9, 4, 0).utility == pytest.approx(1 / 9)


# Underflow


def test_states_that_are_left_for_good_stay_possible():
    for n in (60, 1100, 1300, 3000):
        r = np.zeros((n, 2))
        r[n - 21 : n - 19] = 1
        assert redaction_leakage(LEAVING, r, n - 20).value == np.inf
    assert LEAVING.supports(5000, 5001).tolist() == [[True, True]]
    cycle = MarkovChain([[0, 1.0, 0], [0, 0, 1], [1, 0, 0]], [1, 0, 0])
    t = np.arange(7, 20)
    assert np.array_equal(cycle.supports(7, 20), t[:, np.newaxis] % 3 == np.arange(3))


def test_laws_and_ratios_beyond_the_range_of_numbers():
    # Left for good at a rate of 1/2: p(X_t = 0) = 2^-t, and the record before a 1 is 0 with odds
    # 2^-t/(1 − 2^-(t-1)), which a release of it at distance 1 tells.
    n = 3000
    laws = log_laws(LEAVING, n)
    np.testing.assert_allclose(laws[1:, 0], -np.arange(1, n) * np.log(2), rtol=1e-12)
    np.testing.assert_allclose(laws[1100:, 1], 0, atol=1e-12)
    # Three states, the first two left for good: p(X_{t-1} = 0 | X_t = v) for v = 0 and 1.
    chain = MarkovChain([[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0, 0, 1]], [0.5, 0.25, 0.25])
    p = 4000
    r = np.ones((p + 1, 3))
    r[p - 1, 0] = 0.5
    r[p - 1, 2] = 0.5
    found = redaction_leakage(chain, r, p)
    assert found.value == np.inf  # a 2 before excludes 0 and 1
    r[p - 1] = [0.5, 1, 1]
    value = redaction_leakage(chain, r, p).value
    with mpmath.workdps(30):
        first, second = mpmath.mpf(1) / 2, mpmath.mpf(1) / 4
        for _ in range(p - 1):  # laws of the first two at p − 1
            first, second = (first + second) / 4, (first + second) / 2
        inner = first / 4 / ((first + second) / 4)
        outer = first / 4 / (1 - (first + second) / 2 - (first + second) / 4)
        released = mpmath.log(inner / outer)
    assert value == pytest.approx(float(released), rel=1e-12)
    assert value > 1000


def test_powers_keep_small_probabilities():
    chain = MarkovChain.binary(1e-17, 0.5)
    assert chain.power(1).tolist() == chain.transition.tolist() == [[1, 1e-17], [0.5, 0.5]]
    with mpmath.workdps(60):
        a, b = mpmath.mpf(1e-17), mpmath.mpf(0.5)
        for d in (2, 7, 1000):
            wanted = a * (1 - (1 - a - b) ** d) / (a + b)
            assert chain.power(d)[0, 1] == pytest.approx(float(wanted), rel=1e-14)
            assert chain.powers([1, d])[1, 0, 1] == pytest.approx(float(wanted), rel=1e-14)
    assert chain.power(10**30)[1] == pytest.approx([1, 2e-17], rel=1e-14)
    assert chain.powers([]).shape == (0, 2, 2)
    assert MarkovChain.binary(1, 1).power(10**30 + 1).tolist() == [[0, 1], [1, 0]]
    found = set_influence(LEAVING, [2000], 1999)
    assert found == {(0,): np.inf, (1,): pytest.approx(np.log(2))}
    logs = log_power(np.log([[0.5, 0.5], [0.25, 0.75]]), 3)
    cube = np.linalg.matrix_power([[0.5, 0.5], [0.25, 0.75]], 3)
    np.testing.assert_allclose(np.exp(logs), cube, rtol=1e-14)


def test_influence_in_a_sticky_chain_keeps_its_digits():
    for alpha, beta in ((1e-17, 1e-18), (1e-9, 3e-7), (0.7, 0.9)):
        found = binary_influence(alpha, beta, [1, 2, 30])
        with mpmath.workdps(60):
            a, b = mpmath.mpf(alpha), mpmath.mpf(beta)
            for i, d in enumerate((1, 2, 30)):
                power = (1 - a - b) ** d
                for row, c in enumerate((a / b, b / a)):
                    wanted = abs(mpmath.log((1 + c * power) / (1 - power)))
                    assert found[row, i] == pytest.approx(float(wanted), rel=1e-8)


# Hostile input


def test_damaged_plans_are_refused():
    good = redact.certified(MarkovChain.binary(0.1, 0.2), 30, 2, 0.5).to_dict()
    runs = good["redact_probability"]

    def changed(**new):
        return {"redact_probability": [{**runs[0], **new}, *runs[1:]]}

    for damage in (
        {"epsilons": ["abc"]},
        {"epsilons": 5},
        {"epsilons": [[1]]},
        changed(count=-1),
        changed(count=10**13),
        changed(count=True),
        changed(probability=[[1], [2, 3]]),
        changed(probability=[1]),
        changed(probability=["a", "b"]),
        {"redact_probability": [{**run, "first": 0} for run in runs]},
        {"redact_probability": [runs[1], runs[0], *runs[2:]]},
        {"redact_probability": runs[:-1]},
        {"redact_probability": [1, 2]},
        {"redact_probability": None},
        {"n": 12},
        {"n": "a"},
        {"n": 10**7},
        {"positions": 3},
        {"positions": "1"},
        {"positions": [[1]]},
        {"notes": 3},
        {"chain": 3},
        {"chain": {**good["chain"], "states": 3}},
        {"chain": {**good["chain"], "transition": [[1, 2], [3]]}},
        {"chain_set": 4},
        {"chain_set": {"lower": 1}},
        {"chain_set": {"lower": 1, "upper": 2, "other": 3}},
    ):
        with pytest.raises(InvalidInputError):
            RedactionPlan.from_dict({**good, **damage})
    with pytest.raises(CapacityError, match="GB"):
        RedactionPlan.from_dict({**good, **changed(count=10**13), "n": 10**13})


def test_states_that_a_file_cannot_hold():
    P = [[0.9, 0.1], [0.3, 0.7]]
    for states in (((1, 2), (2, 3)), (np.inf, 1.0), (frozenset(), "a")):
        plan = redact.data_independent(MarkovChain(P, states=states), 9, 3, 1.0)
        with pytest.raises(InvalidInputError, match="a file can hold"):
            plan.to_json()
    plan = redact.data_independent(MarkovChain(P, states=(True, 1)), 9, 3, 1.0)
    assert RedactionPlan.from_dict(plan.to_dict()).chain.states == (True, 1)


def test_what_is_too_long_is_refused_before_it_starts():
    n = 10**12
    moving = MarkovChain([[0.5, 0.5], [0.1, 0.9]], [1, 0])
    for call in (
        lambda: redact.certified(STICKY, n, 5, 1.0),
        lambda: redact.published(STICKY, n, 5, 1.0),
        lambda: influence(STICKY, n, 5),
        lambda: clear_distance(STICKY, 1e-9, most=n),
        lambda: STICKY.simulate(n, rng=1),
        lambda: moving.marginals(0, n),
        lambda: moving.supports(0, n),
    ):
        with pytest.raises(CapacityError, match="GB"):
            call()


def test_refused_with_a_typed_error():
    moving = MarkovChain([[0.5, 0.5], [0.1, 0.9]], [1, 0])
    P = STICKY.transition
    plan = redact.certified(MarkovChain.binary(0.2, 0.3), 5, 2, 1.0)
    for call in (
        lambda: ChainSet(STICKY, P, P, confidence=7),
        lambda: ChainSet(STICKY, P, P, confidence="x"),
        lambda: ChainSet(P, P, P),
        lambda: posterior(MarkovChain(np.full((3, 3), 1 / 3)), plan, [-1] * 5),
        lambda: moving.marginal(-1),
        lambda: moving.marginals(0, 1.5),
        lambda: STICKY.powers([1.5]),
        lambda: STICKY.powers([-1]),
        lambda: STICKY.powers([[1]]),
        lambda: STICKY.powers("a"),
    ):
        with pytest.raises(InvalidInputError):
            call()
    with pytest.raises(InvalidInputError, match="a tuple is taken as one state"):
        MarkovChain.fit([(0, 1, 0, 1, 0), (1, 0, 0, 1)])


# Speed-ups that must not change a result


def test_messages_stop_where_rows_are_proportional():
    chain = MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    rng = np.random.default_rng(6)
    for _ in range(10):
        r = rng.uniform(0.9, 1, (600, 3))
        r[0] = 1
        r[1:30] = np.where(rng.random((29, 3)) < 0.9, 1, r[1:30])
        F, best = np.eye(3), np.zeros((3, 3))
        for d in range(1, 600):
            F = F @ chain.transition
            F /= F.max()
            for v in np.flatnonzero(r[d] < 1):
                best = np.maximum(best, np.log(F[:, v, np.newaxis] / F[:, v]))
            F = F * r[d]
        rest = F.sum(axis=1)
        best = np.maximum(best, np.log(rest[:, np.newaxis] / rest))
        assert redaction_leakage(chain, r, 0).value == pytest.approx(best.max(), abs=1e-12)
