"""Budgets under a target."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from seepage.channel import randomized_response
from seepage.counts import PairCounts
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InfeasibleError, InvalidInputError
from seepage.leakage.model import LeakageModel
from seepage.leakage.triad import Triad
from seepage.plan._objectives import Objective, one_way_variance
from seepage.plan.calibrate import calibrate
from seepage.plan.totals import prepare, total_leakage

OBJECTIVES = ("variance", "sum", "maxmin", "kway")


def correlated(d=5, n=500, seed=0, build=None):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=d)
    hidden = rng.integers(0, 3, size=n)
    codes = np.stack(
        [
            np.where(rng.random(n) < rng.uniform(0.1, 0.9), hidden % k, rng.integers(0, k, n))
            for k in sizes
        ],
        axis=1,
    )
    domain = Domain.of({f"a{i}": list(range(k)) for i, k in enumerate(sizes)})
    counts = PairCounts.from_codes(domain, codes)
    return LeakageModel(domain, counts=counts, codes=codes, build=build)


def better(objective, one, other):
    return one <= other if objective in {"variance", "kway"} else one >= other


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("method", ["tree", "pairwise", "group"])
def test_result_is_safe_tight_and_better_than_uniform(method, objective):
    for seed in range(3):
        model = correlated(seed=seed)
        target = [0.3, 3.0, 9.0][seed]
        found = calibrate(model, target, method=method, objective=objective)
        again = total_leakage(model, found.budgets, method=method)
        assert dict(again) == dict(found.totals)
        assert max(again.values()) <= target
        assert max(again.values()) >= target - 1e-6
        assert found.active
        assert found.totals[found.binding] >= target - 1e-6
        if method == "group" and objective in {"sum", "maxmin"}:
            # Under plain composition splitting equally is one of the best.
            assert found.objective_value == pytest.approx(found.uniform_value, rel=1e-9)
        else:
            assert better(objective, found.objective_value, found.uniform_value)
        if method == "tree":
            assert found.objective_value != pytest.approx(found.uniform_value, rel=1e-3)
        # No single budget can be raised.
        for name in found.budgets:
            more = {**found.budgets, name: found.budgets[name] + 1e-6}
            assert max(total_leakage(model, more, method=method).values()) > target


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_order_of_attributes_is_irrelevant_and_runs_repeat(objective):
    model = correlated(d=6, seed=5)
    first = calibrate(model, 2.0, objective=objective)
    order = ["a3", "a0", "a5", "a1", "a4", "a2"]
    shuffled = LeakageModel(model.domain.project(order), counts=model.counts.project(order))
    second = calibrate(shuffled, 2.0, objective=objective)
    assert list(second.budgets) == order
    assert second.budgets == first.budgets  # bit by bit: one order of computation
    assert second.binding == first.binding
    assert calibrate(correlated(d=6, seed=5), 2.0, objective=objective).budgets == first.budgets


@pytest.mark.parametrize("objective", ["variance", "sum", "kway", "maxmin"])
def test_no_random_feasible_point_is_better(objective):
    rng = np.random.default_rng(1)
    for seed in range(2):
        model = correlated(d=3, seed=seed)
        names = model.domain.names
        totals = model.totals("tree")
        found = calibrate(model, 2.0, objective=objective)
        aim = Objective(objective, np.array(model.domain.shape), np.ones(3))
        best = None
        for _ in range(200):
            point = rng.dirichlet(np.ones(3)) * 2
            low, high = 0.0, 10.0
            for _ in range(30):
                middle = (low + high) / 2
                if totals.values(middle * point).max() <= 2.0:
                    low = middle
                else:
                    high = middle
            value = aim.value(low * point)
            best = value if best is None or better(objective, value, best) else best
        mine = aim.value(np.array([found.budgets[name] for name in names]))
        assert mine == pytest.approx(found.objective_value, rel=1e-12)
        allowance = 1e-9 * abs(best)  # the safe side costs a little
        worst = best + allowance if objective in {"variance", "kway"} else best - allowance
        assert better(objective, mine, worst)


def test_group_has_closed_forms():
    model = correlated(d=4, seed=3)
    found = calibrate(model, 2.0, method="group", objective="maxmin")
    assert list(found.budgets.values()) == pytest.approx([0.5] * 4, abs=1e-9)
    weights = {"a0": 3.0}
    found = calibrate(model, 2.0, method="group", objective="maxmin", weights=weights)
    assert found.budgets["a0"] == pytest.approx(1.0, abs=1e-9)
    best = calibrate(model, 2.0, method="group", objective="sum", weights=weights)
    assert best.budgets["a0"] == pytest.approx(2.0, abs=1e-6)
    # Least variance under one sum: the marginal gains are equal.
    least = calibrate(model, 2.0, method="group")
    e = np.array(list(least.budgets.values()))
    slope = one_way_variance(np.array(model.domain.shape), e)[1]
    np.testing.assert_allclose(slope, slope.mean(), rtol=2e-4)


def test_bounds_are_kept():
    model = correlated(d=4, seed=2)
    for objective in OBJECTIVES:
        found = calibrate(
            model, 2.0, objective=objective, minimum={"a0": 0.4}, maximum={"a1": 0.1, "a2": 0.2}
        )
        assert found.budgets["a0"] >= 0.4
        assert found.budgets["a1"] <= 0.1
        assert found.budgets["a2"] <= 0.2
        assert max(found.totals.values()) <= 2.0
        every = calibrate(model, 50.0, objective=objective, maximum=1.0)
        assert list(every.budgets.values()) == [1.0] * 4
        assert every.active == ()
        assert every.verdict.startswith("Every budget is at its maximum")
        if every.evidence:  # the tree is refuted, but the sum of the budgets bounds every total
            assert (
                "their sum, which bounds every total for any data, is 4.000 nats" in every.verdict
            )
    fixed = calibrate(model, 3.0, minimum=0.3, maximum=0.3)
    assert list(fixed.budgets.values()) == [0.3] * 4


def test_limits_of_the_target():
    model = correlated(d=3)
    assert list(calibrate(model, 0.0).budgets.values()) == [0.0] * 3
    assert list(calibrate(model, np.inf).budgets.values()) == [np.inf] * 3
    assert list(calibrate(model, np.inf, maximum=2.0).budgets.values()) == [2.0] * 3
    for target in (1e-6, 80.0):
        found = calibrate(model, target)
        assert target * (1 - 1e-6) <= max(found.totals.values()) <= target
        assert json.loads(found.to_json())["format"] == "seepage.budgets"
    constant = calibrate({"a": ["x", "x"], "b": ["u", "v"]}, 1.0)
    assert constant.budgets == pytest.approx({"a": 1.0, "b": 1.0}, abs=1e-6)


def test_infeasible_targets_name_the_attribute():
    model = correlated(d=3)
    with pytest.raises(
        InfeasibleError, match=r"minimum budgets meet, got 1: they leak .* 'a\d'"
    ) as e:
        calibrate(model, 1.0, minimum=0.9)
    totals = total_leakage(model, 0.9)
    assert e.value.total == pytest.approx(max(totals.values()))
    assert totals[e.value.attribute] == pytest.approx(e.value.total)


def test_bad_options_are_refused():
    model = correlated(d=3)
    for options, message in (
        ({"method": "joint"}, "expected method"),
        ({"objective": "varianc"}, "Did you mean 'variance'"),
        ({"target": -1.0}, "target"),
        ({"weights": {"a0": 0.0}}, "positive and finite weights"),
        ({"minimum": 2.0, "maximum": 1.0}, "minimum <= maximum for 'a0'"),
        ({"objective": "kway", "k": 4}, "k from 1 to"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            calibrate(model, **options)
    with pytest.raises(DomainError, match="'b0'"):
        calibrate(model, weights={"b0": 1.0})


def test_upper_curves_give_smaller_budgets():
    exact = correlated(d=4, seed=4)

    def upper(secret, released, P):
        return Triad.from_conditional(P, 0.05)

    wary = prepare(exact.counts, build=upper, notes=("Cells are off by 0.05 at most.",))
    assert "Cells are off by 0.05 at most." in calibrate(wary, 2.0).assumptions
    one, two = calibrate(exact, 2.0), calibrate(wary, 2.0)
    assert two.objective_value > one.objective_value
    assert max(total_leakage(exact, two.budgets).values()) < 2.0


class OnlyLeakage:
    def leakage(self, epsilon):
        return 0.5 * epsilon


def test_curves_without_vertices_cannot_be_differentiated():
    model = correlated(d=3, build=lambda a, b, P: OnlyLeakage())
    assert total_leakage(model, 1.0, method="pairwise")["a0"] == 2.0
    with pytest.raises(InvalidInputError, match="vertices"):
        calibrate(model, 1.0)
    flat = calibrate(model, 1.0, objective="maxmin", method="pairwise")
    assert list(flat.budgets.values()) == pytest.approx([0.5] * 3, abs=1e-9)


def test_variance_is_that_of_the_inverse_channel():
    for k in (2, 3, 7):
        for e in (0.1, 1.0, 4.0):
            W = np.linalg.inv(randomized_response(k, e).matrix)
            value, _ = one_way_variance(np.array([k]), np.array([e]))
            assert value[0] == pytest.approx(((W**2).sum() - 1) / k, rel=1e-10)
    value, slope = one_way_variance(np.array([1, 3, 3]), np.array([0.0, 0.0, np.inf]))
    assert value.tolist() == [0.0, np.inf, 2 / 3]
    assert slope[2] == 0


@pytest.mark.parametrize("objective", ["variance", "sum", "kway"])
def test_gradients_of_the_objectives(objective):
    rng = np.random.default_rng(0)
    sizes, weights = rng.integers(1, 6, 6), rng.uniform(0.5, 2, 6)
    for k in (1, 2, 3, 6):
        aim = Objective(objective, sizes, weights, k)
        e = rng.uniform(0.1, 3, 6)
        gradient = aim.loss(e)[1]
        for j, unit in enumerate(np.eye(6) * 1e-6):
            numeric = (aim.loss(e + unit)[0] - aim.loss(e - unit)[0]) / 2e-6
            assert gradient[j] == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_kway_is_the_sum_over_subsets():
    sizes, e = np.array([2, 3, 4, 5]), np.array([0.5, 1.0, 1.5, 2.0])
    c = []
    for k, x in zip(sizes, e, strict=True):
        W = np.linalg.inv(randomized_response(int(k), float(x)).matrix)
        c.append((W**2).sum() / k)
    for k in (1, 2, 3, 4):
        expected = sum(np.prod(subset) for subset in combinations(c, k))
        found = Objective("kway", sizes, np.ones(4), k).value(e)
        assert found == pytest.approx(expected, rel=1e-12)


def test_result_texts():
    found = calibrate(correlated(seed=1).counts, 2.0)  # pairs alone do not refute the tree
    assert f"{found.binding!r} binds: 2.000 nats" in found.verdict
    assert found.binding_pair == (found.binding, found.binding_source)
    content = found.to_dict()
    assert (content["format"], content["version"]) == ("seepage.budgets", 1)
    assert content["budgets"] == found.budgets
    assert found.to_frame().height == 5
    assert set(content["totals"]) == set(found.budgets)


def test_thirty_eight_attributes():
    rng = np.random.default_rng(9)
    base = correlated(d=30, n=2000, seed=9)
    copies = base.codes[:, :8].copy()
    noise = rng.random(copies.shape) < 0.1
    sizes = np.array(base.domain.shape[:8])
    copies[noise] = (copies + 1)[noise] % np.broadcast_to(sizes, copies.shape)[noise]
    attributes = [Attribute(f"c{i}", a.categories) for i, a in enumerate(list(base.domain)[:8])]
    domain = Domain((*base.domain, *attributes))
    codes = np.concatenate((base.codes, copies), axis=1)
    model = LeakageModel(domain, counts=PairCounts.from_codes(domain, codes))
    found = calibrate(model, 3.0)
    assert 3.0 - 1e-6 <= max(found.totals.values()) <= 3.0
    assert found.objective_value < 0.9 * found.uniform_value


@pytest.mark.parametrize("method", ["tree", "pairwise", "group"])
@pytest.mark.parametrize("objective", ["variance", "sum", "maxmin", "kway"])
@pytest.mark.parametrize("target", [1e-300, 1e-12, 1e300])
def test_extreme_targets_keep_the_promise(method, objective, target):
    table = {"a": list("xyxyxx"), "b": list("xyxyyx"), "c": list("uvvuuv")}
    result = calibrate(table, target=target, method=method, objective=objective)
    assert max(result.totals.values()) <= target
    assert all(np.isfinite(value) and value >= 0 for value in result.budgets.values())


def test_bounds_must_be_numbers():
    table = {"a": list("xyxyxx"), "b": list("xyxyyx")}
    for bad in ([1], [1, 2], "1", None):
        with pytest.raises(InvalidInputError):
            calibrate(table, minimum={"a": bad})
