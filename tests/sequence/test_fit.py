"""Chains from data: counts, errors, tests, confidence sets."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from seepage.errors import DomainError, InvalidInputError
from seepage.sequence import redact
from seepage.sequence.attack import simulate_attack
from seepage.sequence.chain import MarkovChain


def test_counts_of_one_and_of_several_sequences():
    one = MarkovChain.fit(["a", "a", "b", "a", "b", "b"])
    assert one.states == ("a", "b")
    assert one.transitions.tolist() == [[1, 2], [1, 1]]
    np.testing.assert_allclose(one.transition, [[1 / 3, 2 / 3], [0.5, 0.5]])
    several = MarkovChain.fit([["a", "a", "b"], ["a", "b", "b"], ["b", "a"]], start="observed")
    assert several.transitions.tolist() == [[1, 2], [1, 1]]
    np.testing.assert_allclose(several.start, [2 / 3, 1 / 3])
    smooth = MarkovChain.fit([0, 0, 1], states=[0, 1, 2], smoothing=0.5)
    np.testing.assert_allclose(smooth.transition[2], 1 / 3)
    assert np.isinf(smooth.standard_errors[2]).all()
    grid = MarkovChain.fit(np.array([[0, 1, 1], [1, 0, 0]]))
    assert grid.transitions.tolist() == [[1, 1], [1, 1]]
    assert MarkovChain.fit([[0], [1]], smoothing=1.0).transition.tolist() == [[0.5, 0.5]] * 2


def test_errors_and_tests_are_right_on_average():
    # 40 fits: the mean square of z has standard deviation √(2/40) = .22; a false alarm at 4 of
    # these in less than 1e-3 of seeds. Rejections at 5 %: 10 or more of 40 in 1e-4 of seeds.
    chain = MarkovChain.binary(0.2, 0.4)
    z, rejected = [], np.zeros(2)
    for seed in range(40):
        fit = MarkovChain.fit(chain.simulate(1500, rng=seed))
        z.append((fit.transition[0, 1] - 0.2) / fit.standard_errors[0, 1])
        rejected += [fit.order_tests[1].p_value < 0.05, fit.stationarity_test().p_value < 0.05]
        assert fit.order_tests[0].p_value < 1e-6
    assert abs(np.mean(np.square(z)) - 1) < 0.9
    assert (rejected < 10).all()


def test_tests_see_what_is_not_so():
    rng = np.random.default_rng(2)
    independent = MarkovChain.fit(rng.integers(0, 2, 3000))
    assert independent.order_tests[0].p_value > 1e-4
    echo = [0, 1]
    for _ in range(3000):  # depends on the record before last
        echo.append(echo[-2] if rng.random() < 0.8 else int(rng.integers(2)))
    assert MarkovChain.fit(echo).order_tests[1].p_value < 1e-10
    drift = np.concatenate([MarkovChain.binary(a, 0.3).simulate(2000, rng=4) for a in (0.1, 0.5)])
    assert MarkovChain.fit(drift).stationarity_test().p_value < 1e-10
    assert MarkovChain.fit([0, 0, 0]).order_tests[0].degrees == 0


def test_confidence_set_covers():
    # 100 sets at 95 %: fewer than 84 hold in about 1e-5 of seeds were the level 95 % exactly.
    chain = MarkovChain.binary(0.1, 0.3)
    hold = 0
    for seed in range(100):
        found = MarkovChain.fit(chain.simulate(800, rng=seed)).confidence_set()
        inside = (found.lower <= chain.transition) & (chain.transition <= found.upper)
        hold += bool(inside.all())
    assert hold >= 84
    three = MarkovChain.fit(chain.simulate(50, rng=1), states=[0, 1, 2], smoothing=0.1)
    wide = three.confidence_set(0.9)
    assert wide.lower[2].tolist() == [0, 0, 0]
    assert (wide.backward_upper[2] == 1).all()


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        ([], {}, InvalidInputError),
        ([1], {}, InvalidInputError),
        (3, {}, InvalidInputError),
        ("0101", {}, InvalidInputError),
        ([0, 1], {}, InvalidInputError),  # 1 is never followed
        ([0, [1]], {}, InvalidInputError),
        ([0, None, 1], {}, InvalidInputError),
        ([0.0, np.nan, 1.0], {}, InvalidInputError),
        ([0, 1, 0], {"states": [0]}, DomainError),
        ([0, 1, 0], {"states": [0, 1, 2]}, InvalidInputError),
        ([0, 1, 0], {"smoothing": -1}, InvalidInputError),
        ([0, 1, 0], {"smoothing": np.nan}, InvalidInputError),
        ([0, 1, 0], {"start": "first"}, InvalidInputError),
        (np.zeros((2, 2, 2)), {}, InvalidInputError),
    ],
)
def test_hostile_input(data, options, error):
    with pytest.raises(error):
        MarkovChain.fit(data, **options)


def test_hostile_levels():
    fit = MarkovChain.fit([0, 1, 0, 0, 1, 1])
    for bad in (0, 1, np.nan, "a", [0.9]):
        with pytest.raises(InvalidInputError):
            fit.confidence_set(bad)
    for bad in (1, 2.0, True):
        with pytest.raises(InvalidInputError):
            fit.stationarity_test(bad)


def _column(path, index):
    with path.open() as file:
        return [row[index] for row in list(csv.reader(file))[1:]]


def _sequence(folder, name):
    if name == "weather":
        rain = _column(folder / "weather" / "seattle-weather.csv", 1)
        return ["wet" if float(x) > 0 else "dry" for x in rain]
    if name == "occupancy":
        return [int(x) for x in _column(folder / "occupancy" / "datatraining.txt", -1)]
    return [int(x) for x in _column(folder / "adl" / "home_a_minutes.csv", 2)]


@pytest.mark.parametrize("name", ["weather", "occupancy", "adl"])
def test_real_sequences(data_dir, name):
    data = _sequence(data_dir, name)
    fit = MarkovChain.fit(data)
    if name == "weather":
        assert fit.transitions.tolist() == [[633, 204], [204, 419]]
    for epsilon in (0.5, 1.0, 2.0):
        make = redact.optimal if name == "weather" else redact.certified
        plan = make(fit, len(data), len(data) // 2, epsilon)
        assert plan.leakage <= epsilon
        released = plan.apply(data, rng=1)
        assert released.values[len(data) // 2] is None
        attack = simulate_attack(plan, 300, rng=2)
        assert attack.worst <= epsilon + 1e-9
