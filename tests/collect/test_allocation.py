"""Allocations: closed forms, random competitors, certificates, the safe side."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seepage.collect._response_curve import retention_curve
from seepage.collect.allocation import allocate
from seepage.collect.attenuation import retention
from seepage.domain import Domain
from seepage.errors import InfeasibleError, InvalidInputError, SeepageError
from seepage.results import Standing

OBJECTIVES = ("sum", "geometric", "worst")


def closed_form(r1, r2, total):
    """Best ε of the first of two attributes, from a quadratic.

    Equal slopes of the log retentions at ε and total − ε give, with X = e^ε and E = e^total,
    ``(r2 + r1 (r2 − 1)/E) X² + 2 (r1 − r2) X − (r1 E + r2 (r1 − 1)) = 0``.
    """
    with mpmath.workdps(60):
        E = mpmath.exp(total)
        a, b = r2 + r1 * (r2 - 1) / E, mpmath.mpf(r1 - r2)
        c = -(r1 * E + r2 * (r1 - 1))
        return float(mpmath.log((-b + mpmath.sqrt(b * b - a * c)) / a))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("r1", "r2"), [(4, 4), (2, 3), (50, 3), (7, 1000)])
@pytest.mark.parametrize("total", [1e-6, 1.0, 30.0])
def test_two_attributes(objective, r1, r2, total):
    found = allocate([r1, r2], total, objective=objective)
    first = closed_form(r1, r2, total)
    # The sum and the mean of one retention are solved to the last digits; the interior-point
    # method of the worst one stops when the objective is exact, with the square root left.
    if objective != "worst":
        assert_allclose(found.budgets["X1"], first, rtol=1e-8, atol=1e-15)
    best = retention([r1, r2], [first, total - first])
    assert_allclose(found.value, best, rtol=1e-9)
    assert found.standing is Standing.EXACT
    if r1 == r2:
        assert_allclose(first, total / 2, rtol=1e-14)


def random_wishes(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    names = [f"X{i + 1}" for i in range(d)]
    sizes = dict(zip(names, rng.integers(1 if seed % 5 == 0 else 2, 9, d).tolist(), strict=True))
    total = float(rng.choice([0.05, 0.5, 2, 5, 12]))
    sets = [s for order in (2, 3) for s in combinations(names, order) if order <= d]
    chosen = rng.permutation(len(sets))[: rng.integers(1, len(sets) + 1)]
    weights = {sets[i]: float(rng.uniform(0.2, 3)) for i in chosen}
    low = rng.uniform(0, total / d / 2, d) * (rng.random(d) < 0.5)
    high = np.where(rng.random(d) < 0.3, low + rng.uniform(0, total, d), np.inf)
    floors = {}
    if seed % 2:
        s = sets[int(rng.integers(len(sets)))]
        even = {name: low[names.index(name)] + (total - low.sum()) / d for name in names}
        even = {name: min(even[name], high[names.index(name)]) for name in names}
        floors = {s: 0.8 * retention(sizes, even, s)}
    return rng, names, sizes, total, weights, low, high, floors


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(8))
def test_never_worse_than_random_allocations(seed, objective):
    rng, names, sizes, total, weights, low, high, floors = random_wishes(seed)
    found = allocate(
        sizes, total, objective=objective, relationships=weights, minimum_retention=floors,
        minimum=low.tolist(), maximum=dict(zip(names, high.tolist(), strict=True)),
    )  # fmt: skip
    shares = rng.dirichlet(np.full(len(names), 0.6), 10_000)
    budgets = low + (total - low.sum()) * shares
    budgets = budgets[(budgets <= high).all(axis=1)]
    kept = retention_curve(budgets, np.array(list(sizes.values())))

    def product(s):
        return kept[:, [names.index(name) for name in s]].prod(axis=1)

    allowed = np.ones(len(budgets), dtype=bool)
    for s, least in floors.items():
        allowed &= product(s) >= least
    each = np.stack([product(s) for s in weights], axis=1)[allowed]
    w = np.array(list(weights.values()))
    if len(each):
        with np.errstate(divide="ignore"):
            value = {
                "sum": each @ w,
                "geometric": np.exp(np.log(each) @ (w / w.sum())),
                "worst": (each / w).min(axis=1),
            }[objective]
        assert found.value >= value.max() * (1 - 1e-12)
        assert found.bound >= value.max() * (1 - 1e-12)
    # Constraints, evaluated again from what is returned.
    given_budgets = list(found.budgets.values())
    for add in (sum, math.fsum, lambda values: float(np.sum(values))):
        assert add(given_budgets) <= total
    for s, least in floors.items():
        assert retention(sizes, found.budgets, s) >= least
    assert (np.array(given_budgets) >= low * (1 - 1e-15)).all()
    assert (np.array(given_budgets) <= high).all()
    if objective != "sum":
        assert found.standing is Standing.EXACT
    assert found.value <= found.bound


@pytest.mark.parametrize("seed", range(40))
def test_every_order_of_summing_is_within_the_total(seed):
    rng = np.random.default_rng(seed)
    sizes, total = rng.integers(2, 20, rng.integers(2, 7)).tolist(), float(rng.uniform(0.01, 8))
    if seed == 0:
        sizes, total = [7, 13, 19, 15], 2.9294922356052826
    budgets = list(allocate(sizes, total, objective="worst").budgets.values())
    for order in permutations(budgets):
        assert sum(order) <= total
        assert float(np.sum(order)) <= total
    assert sum(map(Fraction, budgets)) > Fraction(total) * (1 - Fraction(1, 10**14))


def test_a_sum_without_rounding_is_spent_to_the_last_bit():
    found = allocate([4, 4, 4], 3.0, objective="geometric", minimum=1.0)
    assert list(found.budgets.values()) == [1.0, 1.0, 1.0]
    least = [0.1, 0.2, 0.3]  # in this order they add up to more than 0.6
    tight = allocate([4, 4, 4], math.fsum(least), objective="worst", minimum=least)
    assert list(tight.budgets.values()) == least


def test_equal_retentions_are_told_once():
    verdict = allocate([4] * 3, 3.0, objective="worst").verdict
    assert "every relationship keeps 9.0 % of its covariance;" in verdict
    assert "the most" not in verdict
    other = allocate([4, 4, 9], 3.0, objective="sum").verdict
    assert "the most, and" in other


def test_the_total_is_spent():
    for objective in OBJECTIVES:
        found = allocate([2, 3, 4], 2.5, objective=objective)
        assert_allclose(found.spent, 2.5, rtol=1e-14)
        assert found.spent <= 2.5


def test_certificates_against_another_solver():
    """The convex problems again with sequential quadratic programming from SciPy."""
    from scipy.optimize import minimize

    sizes, total = np.array([2, 5, 9]), 4.0
    floor = math.log(0.35)

    def logs(x):
        return np.log(retention_curve(np.maximum(x, 1e-12), sizes))

    done = minimize(
        lambda x: -(2 * (logs(x)[0] + logs(x)[1]) + logs(x)[1] + logs(x)[2]) / 3,
        np.array([1.5, 1.5, 1.0]),
        bounds=[(0.01, 4)] * 3,
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - total},
            {"type": "ineq", "fun": lambda x: logs(x)[0] + logs(x)[1] - floor},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = allocate(
        sizes.tolist(), total, objective="geometric",
        relationships={("X1", "X2"): 2.0, ("X2", "X3"): 1.0},
        minimum_retention={("X2", "X1"): 0.35},
    )  # fmt: skip
    assert found.standing is Standing.EXACT
    assert_allclose(found.value, math.exp(-done.fun), rtol=1e-7)
    assert found.retentions["X1", "X2"] >= 0.35
    assert_allclose(found.retentions["X1", "X2"], 0.35, rtol=1e-6)


def test_worst_equalises():
    found = allocate([2, 3, 10, 5], 6.0, objective="worst")
    assert found.standing is Standing.EXACT
    # Every attribute is in every kind of pair: all pairs at the same retention would need equal λ.
    assert_allclose(list(found.retentions.values()), found.value, rtol=1e-8)


@settings(max_examples=8)
@given(
    st.lists(st.integers(2, 12), min_size=2, max_size=4),
    st.floats(0.01, 20),
    st.sampled_from(["geometric", "worst"]),
)
def test_laws(sizes, total, objective):
    found = allocate(sizes, total, objective=objective)
    assert found.standing is Standing.EXACT
    assert found.value >= found.equal_value * (1 - 1e-12)
    assert sum(found.budgets.values()) <= total
    more = allocate(sizes, 1.5 * total, objective=objective)
    assert more.value >= found.value * (1 - 1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_limits(objective):
    nothing = allocate([2, 3], 0.0, objective=objective)
    assert dict(nothing.budgets) == {"X1": 0.0, "X2": 0.0}
    assert nothing.value == 0
    assert nothing.standing is Standing.EXACT
    everything = allocate([2, 3], math.inf, objective=objective)
    assert everything.value == 1
    assert set(everything.budgets.values()) == {math.inf}
    capped = allocate([2, 3], math.inf, objective=objective, maximum=2.0)
    assert set(capped.budgets.values()) == {2.0}
    alone = allocate([1, 4], 3.0, objective=objective)  # one category needs no budget
    assert alone.budgets["X1"] == 0
    assert_allclose(alone.budgets["X2"], 3.0, rtol=1e-14)
    only = allocate([1, 1], 3.0, objective=objective)
    assert only.value == 1
    single = allocate([5], 2.0, objective=objective)
    assert_allclose(single.value, retention([5], 2.0), rtol=1e-14)
    high = allocate([2, 3, 4], 1e6, objective=objective)
    assert high.value > 1 - 1e-9 if objective != "sum" else high.value > 3 - 1e-9
    tiny = allocate([2, 3, 4], 1e-100, objective=objective)
    assert 0 <= tiny.spent <= 1e-100


def test_attributes_without_relationships_get_nothing():
    found = allocate([2, 3, 4], 3.0, relationships=[("X1", "X2")])
    assert found.budgets["X3"] == 0
    assert found.standing is Standing.EXACT
    with_floor = allocate(
        [2, 3, 4], 3.0, relationships=[("X1", "X2")], minimum_retention={("X1", "X3"): 0.05}
    )
    assert with_floor.retentions["X1", "X3"] >= 0.05
    assert with_floor.budgets["X3"] > 0


def test_boundary_of_feasibility():
    """The total that the equal split needs for its own retention is enough for that retention."""
    least = retention([4, 4], [1.0, 1.0])
    found = allocate([4, 4], 2.0, minimum_retention={("X1", "X2"): least})
    assert found.retentions["X1", "X2"] >= least
    assert sum(found.budgets.values()) <= 2


def test_infeasible_total():
    with pytest.raises(InfeasibleError, match=r"X1 × X3 must keep 30\.0 %, got 2\.5") as caught:
        allocate([2, 3, 10], 2.5, minimum_retention={("X1", "X3"): 0.3, ("X1", "X2"): 0.01})
    needed = caught.value.total
    assert caught.value.attribute == "X1 × X3"
    allocate([2, 3, 10], needed, minimum_retention={("X1", "X3"): 0.3, ("X1", "X2"): 0.01})
    with pytest.raises(InfeasibleError):
        allocate(
            [2, 3, 10], needed * 0.999, minimum_retention={("X1", "X3"): 0.3, ("X1", "X2"): 0.01}
        )


def test_infeasible_limits():
    with pytest.raises(InfeasibleError, match=r"keeps 0\.5, got ones") as caught:
        allocate([4, 4], 10.0, maximum=1.0, minimum_retention=0.5)
    assert caught.value.total == math.inf
    with pytest.raises(InfeasibleError, match="minimum budgets fit into, 3") as caught:
        allocate([4, 4], 2.0, minimum={"X1": 3.0})
    assert caught.value.attribute == "X1"
    with pytest.raises(InfeasibleError, match="infinite total"):
        allocate([4, 4], 50.0, minimum_retention=1.0)
    with pytest.raises(InfeasibleError, match="X1 × X2"):
        allocate([4, 4], 0.0, minimum_retention=0.1)
    assert allocate([4, 4], math.inf, minimum_retention=1.0).value == 1
    assert allocate([4, 4], 0.0, minimum_retention=0.0).value == 0


@pytest.mark.parametrize("objective", ["sum", "geometric", "worst"])
@pytest.mark.parametrize("total", [5e-324, 1e-320, 1e-310, 1e-300])
def test_totals_whose_reciprocals_overflow(objective, total):
    with pytest.raises(InvalidInputError, match="leaves 0 or 1e-290 or more"):
        allocate([2, 5, 3], total, objective=objective)
    found = allocate([2, 5, 3], 1e-280, objective=objective)
    assert 0 < math.fsum(found.budgets.values()) <= 1e-280


def test_result():
    domain = Domain.of({"a": ["x", "y"], "b": [1, 2, 3], "c": [0, 1]})
    found = allocate(domain, 3.0, objective="geometric", minimum_retention={("b", "a"): 0.1})
    content = json.loads(found.to_json())
    assert content["format"] == "seepage.budgets"
    assert content["budgets"] == dict(found.budgets)
    assert content["objective"]["value"] == found.value
    assert content["relationships"][0]["names"] == ["a", "b"]
    assert content["relationships"][0]["minimum"] == 0.1
    assert found.to_frame().shape == (3, 6)
    assert "total of 3 nats" in found.verdict
    rough = allocate(domain, 3.0, objective="sum")
    assert rough.standing is Standing.HEURISTIC
    assert any("not concave" in sentence for sentence in rough.assumptions)


def test_same_answer_every_time():
    first, second = (allocate([2, 3, 4, 5], 3.0, objective="sum") for _ in range(2))
    assert first.budgets == second.budgets


@pytest.mark.parametrize(
    "call",
    [
        lambda: allocate([2, 2], -1.0),
        lambda: allocate([2, 2], math.nan),
        lambda: allocate([2, 2], [1.0]),
        lambda: allocate([2, 2], "1"),
        lambda: allocate([2, 2], True),
        lambda: allocate([2, 2], 1.0, objective="best"),
        lambda: allocate([2, 2], 1.0, objective=None),
        lambda: allocate([2, 2], 1.0, relationships={}),
        lambda: allocate([2, 2], 1.0, relationships=[]),
        lambda: allocate([2, 2], 1.0, relationships="X1"),
        lambda: allocate([2, 2], 1.0, relationships=3),
        lambda: allocate([2, 2], 1.0, relationships=[("X1", "X1")]),
        lambda: allocate([2, 2], 1.0, relationships=[("X1", "X3")]),
        lambda: allocate([2, 2], 1.0, relationships=[("X1", "X2"), ("X2", "X1")]),
        lambda: allocate([2, 2], 1.0, relationships={("X1", "X2"): 0.0}),
        lambda: allocate([2, 2], 1.0, relationships={("X1", "X2"): math.inf}),
        lambda: allocate([2, 2], 1.0, relationships={("X1", "X2"): math.nan}),
        lambda: allocate([2, 2], 1.0, relationships={("X1", "X2"): "1"}),
        lambda: allocate([2, 2], 1.0, relationships={("X1", "X2"): [1.0]}),
        lambda: allocate([2, 2], 1.0, minimum_retention=1.5),
        lambda: allocate([2, 2], 1.0, minimum_retention={("X1", "X2"): -0.1}),
        lambda: allocate([2, 2], 1.0, minimum_retention={"X9": 0.1}),
        lambda: allocate([2, 2], 1.0, minimum_retention="0.1"),
        lambda: allocate([2, 2], 1.0, minimum=2.0, maximum=1.0),
        lambda: allocate([2, 2], 1.0, minimum=[1.0]),
        lambda: allocate([2, 2], 1.0, maximum={"X9": 1.0}),
        lambda: allocate([2, 2], 1.0, maximum=math.nan),
        lambda: allocate([], 1.0),
    ],
)
def test_hostile_input(call):
    with pytest.raises(SeepageError, match="expected"):
        call()
