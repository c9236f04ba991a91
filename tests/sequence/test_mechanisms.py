"""Mechanisms: goldens, promises kept, order of utility, hostile input."""

from __future__ import annotations

import numpy as np
import pytest

from seepage.errors import InvalidInputError
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.leakage import redaction_leakage
from seepage.sequence.windows import window_table

GOLDENS = [
    # α, β, ε, leakage and utility published, best window, certified, optimal (six digits or four)
    (0.01, 0.8, 0.5, 0.654546, 0.7437, 0.7, 0.7133, 0.73836),
    (0.01, 0.8, 1.0, 0.894507, 0.7777, 0.7, 0.7894, 0.7957),
    (0.01, 0.8, 2.0, 2.509670, 0.8854, 0.8, 0.8605, 0.8618),
    (0.25, 0.5, 0.5, 0.405465, 0.8262, 0.8, 0.85076, 0.85076),
    (0.05, 0.2, 0.5, 0.560779, 0.2376, 0.2, 0.2184, 0.23975),
]

KEPT = (redact.quilt, redact.data_independent, redact.certified, redact.optimal)


@pytest.mark.parametrize("row", GOLDENS)
def test_goldens(row):
    alpha, beta, epsilon, leaks, utility, window, certified, optimal = row
    chain = MarkovChain.binary(alpha, beta)
    plan = redact.published(chain, 10, 0, epsilon)
    assert plan.leakage == pytest.approx(leaks, abs=5e-7)
    assert plan.utility == pytest.approx(utility, abs=5e-5)
    assert plan.keeps_promise is (leaks <= epsilon)
    assert redact.data_independent(chain, 10, 0, epsilon).utility == pytest.approx(window)
    assert redact.certified(chain, 10, 0, epsilon).utility >= certified
    assert redact.optimal(chain, 10, 0, epsilon).utility >= optimal


def test_labels_do_not_matter():
    low = MarkovChain.binary(0.1, 0.6)
    high = MarkovChain.binary(0.6, 0.1)
    for make in (redact.published, *KEPT):
        one, other = make(low, 12, 4, 0.7), make(high, 12, 4, 0.7)
        assert one.utility == pytest.approx(other.utility, abs=1e-6)
        assert one.leakage == pytest.approx(other.leakage, abs=1e-6)


def test_bound_of_the_paper_for_windows_is_exceeded():
    chain = MarkovChain.binary(0.14888, 0.87369)
    plan = redact.data_independent(chain, 12, 2, 0.32557)
    assert plan.utility == pytest.approx(10 / 12)
    assert plan.leakage <= 0.32557


def random_setting(rng, k, most):
    if k == 2:
        alpha, beta = np.maximum(rng.random(2) * rng.choice([0.1, 0.4, 1]), 0.01)
        chain = MarkovChain.binary(alpha, beta)
    else:
        P = rng.dirichlet(np.full(k, rng.choice([0.3, 1, 5])), size=k)
        stay = rng.choice([0, 0.5, 0.8])
        start = rng.dirichlet(np.ones(k)) if rng.random() < 0.3 else None
        chain = MarkovChain(stay * np.eye(k) + (1 - stay) * P, start)
    n = int(rng.integers(1, most))
    return chain, n, int(rng.integers(n)), float(np.exp(rng.uniform(np.log(0.02), np.log(5))))


def test_best_window_by_trying_all():
    rng = np.random.default_rng(1)
    for _ in range(25):
        chain, n, p, epsilon = random_setting(rng, int(rng.integers(2, 5)), 10)
        widths = [
            left + right + 1
            for left in range(p + 1)
            for right in range(n - p)
            if redaction_leakage(chain, window_table(n, chain.k, p, left, right), p).value
            <= epsilon
        ]
        plan = redact.data_independent(chain, n, p, epsilon)
        assert plan.utility == pytest.approx(1 - min(widths) / n)


@pytest.mark.parametrize(("k", "settings"), [(2, 24), (3, 4), (5, 2)])
def test_promise_kept_and_order_of_utility(k, settings):
    rng = np.random.default_rng(k)
    for _ in range(settings):
        chain, n, p, epsilon = random_setting(rng, k, 200)
        plans = [make(chain, n, p, epsilon) for make in KEPT[:3]]
        assert all(plan.leakage <= epsilon for plan in plans)
        utility = [plan.utility for plan in plans]
        assert utility[0] <= utility[1] + 1e-12
        assert utility[1] <= utility[2] + 1e-12


@pytest.mark.parametrize(("k", "settings"), [(2, 6), (3, 1)])
def test_optimal_keeps_its_promise(k, settings):
    rng = np.random.default_rng(10 + k)
    for _ in range(settings):
        chain, n, p, epsilon = random_setting(rng, k, 40)
        plan = redact.optimal(chain, n, p, epsilon)
        assert plan.leakage <= epsilon
        assert plan.utility >= redact.certified(chain, n, p, epsilon).utility - 1e-12


def generic_optimum(chain, n, epsilon, restarts, rng):
    """Random places of release, random start, a generic optimiser on the exact leakage."""
    from scipy.optimize import minimize

    best = 0.0
    law = chain.stationary
    for _ in range(restarts):
        open_ = rng.random((n - 1, 2)) < rng.random()
        if not open_.any():
            continue

        def table(z, mask=open_):
            r = np.ones((n, 2))
            r[1:][mask] = z
            return r

        start = rng.random(open_.sum())
        found = minimize(
            lambda z, t=table: -float((law * (1 - t(z))).sum()),
            start,
            method="SLSQP",
            bounds=[(0, 1 - 1e-9)] * start.size,
            constraints={
                "type": "ineq",
                "fun": lambda z, t=table: (
                    epsilon - min(redaction_leakage(chain, t(np.clip(z, 0, 1)), 0).value, 50.0)
                ),
            },
            options={"maxiter": 40},
        )
        r = table(np.clip(found.x, 0, 1))
        if redaction_leakage(chain, r, 0).value <= epsilon + 1e-9:
            best = max(best, float((law * (1 - r)).sum()) / n)
    return best


def test_optimal_is_at_least_a_generic_optimiser():
    rng = np.random.default_rng(6)
    for _ in range(3):
        alpha, beta = rng.uniform(0.05, 0.95, 2)
        chain, epsilon = MarkovChain.binary(alpha, beta), float(rng.uniform(0.2, 2))
        wanted = generic_optimum(chain, 4, epsilon, 8, rng)
        assert redact.optimal(chain, 4, 0, epsilon).utility >= wanted - 1e-7


LIMITS = {
    "one state": MarkovChain([[1.0]]),
    "independent": MarkovChain.binary(0.3, 0.7),
    "zero transition": MarkovChain([[0.5, 0.5], [1, 0]]),
    "cycle": MarkovChain([[0, 1.0, 0], [0, 0, 1], [1, 0, 0]]),
    "absorbing": MarkovChain([[0.9, 0.1], [0, 1]], [0.5, 0.5]),
    "certain start": MarkovChain([[0.5, 0.5], [0.1, 0.9]], [1, 0]),
    "separate": MarkovChain(np.eye(2), [0.5, 0.5]),
    "sticky": MarkovChain.binary(1e-6, 1e-6),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, np.inf])
def test_limits(name, epsilon):
    chain = LIMITS[name]
    for n, p in ((1, 0), (2, 1), (9, 4)):
        for make in KEPT:
            plan = make(chain, n, p, epsilon)
            assert plan.leakage <= epsilon
            assert np.isfinite(plan.redact_probability).all()
            assert plan.verdict
        if epsilon == np.inf:
            assert plan.utility == pytest.approx(1 - 1 / n)
    if name in {"one state", "independent"}:
        assert plan.utility == pytest.approx(1 - 1 / 9)
    if name in {"separate", "cycle"} and epsilon < np.inf:
        assert plan.utility == 0


def test_published_and_printed_variants():
    chain = MarkovChain.binary(0.1, 0.4)
    text = redact.published(chain, 20, 10, 1.0)
    algorithm = redact.published(chain, 20, 10, 1.0, variant="algorithm")
    assert algorithm.utility > text.utility
    assert algorithm.keeps_promise is False
    printed, corrected = (redact.quilt(chain, 20, 3, 1.0, printed=b) for b in (True, False))
    assert printed.utility < corrected.utility
    assert corrected.leakage <= 1.0
    mirrored = redact.quilt(chain, 20, 16, 1.0, printed=True)
    assert np.array_equal(printed.redact_probability, mirrored.redact_probability[::-1])


def test_several_hidden_records():
    chain = MarkovChain.binary(0.05, 0.2)
    plan = redact.certified(chain, 100, [20, 30, 90], [0.5, 1.0, 2.0])
    assert plan.keeps_promise
    for found, asked in zip(plan.leakages, (0.5, 1.0, 2.0), strict=True):
        assert found.value <= asked
    assert any("merged" in note for note in plan.notes)
    assert plan.utility <= redact.certified(chain, 100, 20, 0.5).utility


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0, 1.0), "n to be"),
        ((10, 10, 1.0), "position"),
        ((10, [], 1.0), "hidden"),
        ((10, [1, 1], 1.0), "hidden"),
        ((10, 1.0, 1.0), "position"),
        ((10, 1, -1.0), "epsilon"),
        ((10, 1, np.nan), "epsilon"),
        ((10, 1, "a"), "epsilon"),
        ((10, [1, 2], [1.0, 2.0, 3.0]), "epsilon"),
    ],
)
def test_hostile_input(arguments, message):
    for make in (redact.published, *KEPT):
        with pytest.raises(InvalidInputError, match=message):
            make(MarkovChain.binary(0.2, 0.3), *arguments)


def test_what_is_defined_for_two_states_only():
    chain = MarkovChain(np.full((3, 3), 1 / 3))
    for call in (
        lambda: redact.published(chain, 5, 0, 1.0),
        lambda: redact.quilt(chain, 5, 0, 1.0, printed=True),
        lambda: redact.published(MarkovChain.binary(0.2, 0.3), 5, 0, 1.0, variant="txt"),
        lambda: redact.certified([[0.5, 0.5]], 5, 0, 1.0),
    ):
        with pytest.raises(InvalidInputError):
            call()
