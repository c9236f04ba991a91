"""Leakage over sets of chains: never below that of a member, exact where it is said to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from seepage.errors import CapacityError, InvalidInputError
from seepage.results import Standing
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.leakage import redaction_leakage
from seepage.sequence.plan import RedactionPlan
from seepage.sequence.uncertain import ChainSet, uncertain_leakage


def random_plan(rng, n, k):
    r = np.where(rng.random((n, k)) < 0.4, 1.0, rng.random((n, k)))
    p = int(rng.integers(n))
    r[p] = 1
    return r, p


def limits(P, width):
    return np.clip(P - width, 0, 1), np.clip(P + width, 0, 1)


def test_a_set_of_one_chain_on_two_states_is_exact():
    rng = np.random.default_rng(1)
    for _ in range(60):
        chain = MarkovChain.binary(*rng.uniform(0.02, 0.98, 2))
        r, p = random_plan(rng, int(rng.integers(1, 15)), 2)
        one = ChainSet(chain, chain.transition, chain.transition)
        wanted = redaction_leakage(chain, r, p).value
        assert uncertain_leakage(one, r, p).value == pytest.approx(wanted, abs=1e-9)


def test_upper_bound_for_every_member():
    rng = np.random.default_rng(2)
    for _ in range(25):
        k = int(rng.integers(2, 4))
        center = MarkovChain(rng.dirichlet(np.full(k, 3.0), size=k))
        width = float(rng.choice([0.01, 0.05]))
        back = center.reversed().transition
        chains = ChainSet(center, *limits(center.transition, width), *limits(back, 4 * width))
        r, p = random_plan(rng, 9, k)
        bound = uncertain_leakage(chains, r, p).value
        for _ in range(10):
            step = rng.uniform(-width, width, (k, k))
            P = np.clip(center.transition + step - step.mean(axis=1, keepdims=True), 1e-9, 1)
            member = MarkovChain(P / P.sum(axis=1, keepdims=True))
            there = member.reversed().transition
            inside = (member.transition >= chains.lower) & (member.transition <= chains.upper)
            behind = (there >= chains.backward_lower) & (there <= chains.backward_upper)
            if inside.all() and behind.all():
                assert redaction_leakage(member, r, p).value <= bound + 1e-9


def test_attained_by_chains_that_change_with_time():
    rng = np.random.default_rng(3)
    for _ in range(6):
        alpha, beta = rng.uniform(0.2, 0.7, 2)
        center = MarkovChain.binary(alpha, beta)
        low, high = limits(center.transition, 0.1)
        chains = ChainSet(center, low, high)
        r = np.vstack([np.ones((1, 2)), np.where(rng.random((3, 2)) < 0.5, 1, rng.random((3, 2)))])
        corners = [
            np.array([[1 - a, a], [b, 1 - b]])
            for a in (low[0, 1], high[0, 1])
            for b in (low[1, 0], high[1, 0])
        ]
        best = 0.0
        for steps in itertools.product(corners, repeat=3):
            F = np.eye(2)
            for d, P in enumerate(steps):
                F = F @ P
                shown = F[:, r[d + 1] < 1]
                best = max(best, np.abs(np.log(shown[0] / shown[1])).max(initial=0))
                F = F * r[d + 1]
            total = F.sum(axis=1)
            if total.min() > 0:
                best = max(best, abs(np.log(total[0] / total[1])))
        assert uncertain_leakage(chains, r, 0).value == pytest.approx(best, abs=1e-9)


def test_plans_hold_over_the_set():
    chain = MarkovChain.binary(0.1, 0.3)
    fit = MarkovChain.fit(chain.simulate(3000, rng=3))
    chains = fit.confidence_set(0.95)
    plans = [
        make(chains, 40, 20, 0.8)
        for make in (redact.quilt, redact.data_independent, redact.certified)
    ]
    for plan in plans:
        assert plan.leakage <= 0.8
        assert plan.standing is Standing.UPPER
        assert "95%" in plan.assumptions[0]
        assert redaction_leakage(chain, plan.redact_probability, 20).value <= 0.8
        back = RedactionPlan.from_dict(plan.to_dict())
        assert back.leakage == plan.leakage
    utility = [plan.utility for plan in plans]
    assert utility == sorted(utility)
    assert utility[2] <= redact.certified(fit, 40, 20, 0.8).utility


def test_limits_and_hostile_input():
    chain = MarkovChain.binary(0.2, 0.3)
    anything = ChainSet(chain, np.zeros((2, 2)), np.ones((2, 2)))
    assert uncertain_leakage(anything, [[1, 1], [0, 0]], 0).value == np.inf
    assert uncertain_leakage(anything, np.ones((5, 2)), 2).value == 0
    assert uncertain_leakage(anything, [[1, 0.5], [1, 1]], 0).value == np.inf
    assert redact.data_independent(anything, 9, 4, 1.0).utility == 0
    assert redact.data_independent(anything, 9, 4, np.inf).utility == pytest.approx(8 / 9)
    P = chain.transition
    for low, high in (
        (P + 0.1, P + 0.2),
        (P, P - 0.1),
        (P[:1], P),
        (P, np.nan * P),
        (0 * P, 0 * P),
    ):
        with pytest.raises(InvalidInputError):
            ChainSet(chain, low, high)
    three = MarkovChain(np.full((3, 3), 1 / 3))
    with pytest.raises(InvalidInputError, match="backward"):
        ChainSet(three, three.transition, three.transition)
    many = MarkovChain(np.full((9, 9), 1 / 9))
    with pytest.raises(CapacityError, match="states"):
        ChainSet(many, many.transition, many.transition)
    with pytest.raises(InvalidInputError, match="one chain"):
        redact.quilt(anything, 5, 1, 1.0, printed=True)
