"""Redaction plans: grid, application, files, words."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from seepage.errors import DomainError, InvalidInputError
from seepage.results import Standing
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.plan import RedactionPlan, on_grid, redact_draws

CHAIN = MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=("dry", "wet"))


def test_probabilities_are_multiples_rounded_up():
    r = np.array([0.0, 1e-30, 2.0**-64, 3e-19, 0.1, 1 - 2.0**-53, 1.0])
    grid = on_grid(r)
    assert (grid >= r).all()
    weights = [int(x * 2**64) for x in grid.tolist()]
    assert [w / 2**64 for w in weights] == grid.tolist()
    assert weights[:3] == [0, 1, 1]
    assert (grid[4:] == r[4:]).all()


def test_draws_take_exactly_the_weight():
    for r, weight in ((2.0**-64, 1), (0.5, 2**63), (1 - 2.0**-53, 2**64 - 2**11)):
        words = np.array([weight - 1, weight], dtype=np.uint64)
        assert redact_draws(np.array([r, r]), words).tolist() == [True, False]
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert redact_draws(np.ones(2), ends).tolist() == [True, True]
    assert redact_draws(np.zeros(2), ends).tolist() == [False, False]


def test_apply():
    plan = redact.certified(CHAIN, 30, 12, 0.8)
    sequence = ["wet", "dry", "dry"] * 10
    released = plan.apply(sequence)
    assert not released.simulation
    assert released.values[12] is None
    for given, shown in zip(sequence, released.values, strict=True):
        assert shown in {None, given}
    again = [plan.apply(sequence, rng=7).values for _ in range(2)]
    assert again[0] == again[1]
    assert plan.apply(sequence, rng=7).simulation
    assert released.released_fraction == 1 - np.mean(released.redacted)
    with pytest.raises(InvalidInputError, match="30 records"):
        plan.apply(sequence[:-1])
    with pytest.raises(DomainError, match="'snow' at position 0"):
        plan.apply(["snow", *sequence[1:]])
    with pytest.raises(InvalidInputError, match="rng"):
        plan.apply(sequence, rng=-1)


def test_released_fraction_is_the_utility():
    # 6 standard errors: a false alarm in about 1e-8 of seeds.
    plan = redact.optimal(CHAIN, 25, 10, 0.5)
    rng = np.random.default_rng(3)
    codes = CHAIN.simulate(25, 500, rng=rng)
    labels = np.array(CHAIN.states, dtype=object)[codes]
    parts = [plan.apply(row, rng=rng).released_fraction for row in labels]
    assert abs(np.mean(parts) - plan.utility) < 6 * np.std(parts) / np.sqrt(len(parts))
    rates = plan.release_rates
    total = sum(rates[s] * p for s, p in zip(CHAIN.states, CHAIN.stationary, strict=True))
    assert total == pytest.approx(plan.utility)


def test_there_and_back():
    for plan in (
        redact.certified(CHAIN, 300, [20, 200], [0.5, np.inf]),
        redact.from_probabilities(MarkovChain(np.eye(2), [0.5, 0.5]), np.ones((3, 2)), 1),
        redact.published(CHAIN, 50, 0, 2.0),
    ):
        text = plan.to_json()
        assert len(text) < 6000  # equal rows are written once
        back = RedactionPlan.from_dict(json.loads(text))
        assert np.array_equal(back.redact_probability, plan.redact_probability)
        assert back.leakages == plan.leakages
        assert (back.epsilons, back.verdict) == (plan.epsilons, plan.verdict)
        assert back.chain.states == plan.chain.states


def test_two_draws_leak_as_one_with_squared_probabilities():
    rng = np.random.default_rng(4)
    n, p = 4, 1
    xs = np.array(list(itertools.product(range(2), repeat=n)))
    hide = np.array(list(itertools.product((False, True), repeat=n)))
    for _ in range(12):
        chain = MarkovChain(rng.dirichlet(np.ones(2), size=2))
        r = rng.choice([0, 0.3, 0.9, 1], size=(n, 2)) * rng.random((n, 2)) ** 0.1
        r[p] = 1
        plan = redact.from_probabilities(chain, r, p)
        law = chain.start[xs[:, 0]] * chain.transition[xs[:, :-1], xs[:, 1:]].prod(axis=1)
        own = plan.redact_probability[np.arange(n), xs]
        draw = np.where(hide, own[:, np.newaxis], 1 - own[:, np.newaxis]).prod(axis=2)
        seen = (np.where(hide, 2, xs[:, np.newaxis]) * 3 ** np.arange(n)).sum(axis=2)
        table = np.zeros((3**n, 3**n, 2))  # p(both outputs, X_p)
        for i in range(2**n):
            both = law[i] * draw[i][:, np.newaxis] * draw[i]
            np.add.at(table[:, :, xs[i, p]], (seen[i][:, np.newaxis], seen[i]), both)
        rows = table[table.sum(axis=2) > 0] / table.sum(axis=(0, 1))
        wanted = np.inf if (rows == 0).any() else np.abs(np.log(rows[:, 0] / rows[:, 1])).max()
        if plan.leakage_of_two is None:
            assert plan.leakage == pytest.approx(wanted, abs=1e-12)
        else:
            assert plan.leakage_of_two == pytest.approx(wanted, abs=1e-10)
            assert plan.leakage_of_two >= plan.leakage - 1e-12


def test_second_draws_are_told():
    plan = redact.optimal(MarkovChain.binary(0.01, 0.8), 10, 0, 0.5)
    assert plan.leakage == pytest.approx(0.5, abs=1e-6)
    assert plan.leakage_of_two == pytest.approx(1.0516, abs=5e-4)
    assert plan.assumptions[-1].endswith("Two draws by this plan together leak 1.052 nats.")
    same = redact.data_independent(CHAIN, 10, 2, 0.5)
    assert same.leakage_of_two is None  # no draw differs from another
    assert not any("Two draws" in text for text in same.assumptions)


def test_silent_sides_are_written():
    plan = redact.certified(CHAIN, 12, 3, 1.0)
    (found,) = plan.leakages
    assert found.silent == ("before",)
    assert plan.to_dict()["leakages"][0]["silent"] == ["before"]


def test_damaged_files():
    good = redact.certified(CHAIN, 10, 2, 0.5).to_dict()
    for damage in (
        {"format": "other"},
        {"version": 2},
        {"version": True},
        {"unit": "bits"},
        {"mechanism": None},
        {"epsilons": "1"},
        {"epsilons": [True]},
        {"epsilons": ["nan"]},
        {"chain": None},
        {"positions": [99]},
        {"epsilons": [-1.0]},
        {"redact_probability": []},
        {"redact_probability": [{"first": 0, "count": 1, "probability": [2, 0]}]},
        {"redact_probability": [{"first": 0, "count": 1}]},
    ):
        with pytest.raises(InvalidInputError):
            RedactionPlan.from_dict({**good, **damage})
    for other in (None, [], {}, {k: v for k, v in good.items() if k != "notes"}):
        with pytest.raises(InvalidInputError):
            RedactionPlan.from_dict(other)


def test_words():
    kept = redact.certified(CHAIN, 10, 2, 0.5)
    assert kept.keeps_promise
    assert kept.verdict.endswith("within the 0.5 asked for.")
    assert kept.standing is Standing.EXACT
    assert "Markov chain" in kept.assumptions[0]
    broken = redact.published(MarkovChain.binary(0.01, 0.8), 10, 0, 2)
    assert broken.verdict.startswith("Does not keep its promise: leaks 2.50967 nats")
    free = redact.from_probabilities(CHAIN, np.zeros((4, 2)), 1)
    assert free.leakage == np.inf
    assert free.keeps_promise is None
    assert free.window == (0, -1)
    table = kept.columns()
    assert set(table) == {
        "position", "hidden", "release_probability", "redact_dry", "redact_wet"
    }  # fmt: skip
    assert table["position"][0] == kept.window[0]
    assert kept.leakage_about(9).value > 1e9  # a record that is released leaks all
