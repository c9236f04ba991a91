"""Projection, consistency, iterative Bayesian update and maximum likelihood."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from seepage.channel import Channel
from seepage.collect.collection import CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.collect.likelihood import likelihood_terms, log_likelihood
from seepage.collect.pram import Table
from seepage.collect.projection import agree, clip_and_normalise, project, project_to_simplex
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError
from seepage.results import Standing


def domain(*sizes: int) -> Domain:
    return Domain.of({"abcde"[i]: list(range(k)) for i, k in enumerate(sizes)})


def collected(
    plan: CollectionPlan, n: int = 300, seed: int = 0, marginals: object = 2
) -> Estimates:
    """Estimates from dependent attributes, with many negative cells."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, (n, 1))
    codes = np.minimum(rng.integers(0, 9, (n, len(plan.domain))) * hidden, plan.domain.shape) // 2
    return Estimates.of(plan, marginals).add(plan.randomize_codes(codes, rng=rng))


numbers = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12)


@given(numbers, st.data())
def test_projection_onto_the_simplex(values: list[float], data: st.DataObject) -> None:
    """Nearest: no distribution makes an acute angle with the way there (variational inequality)."""
    array = np.array(values)
    found = project_to_simplex(array)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)
    raw = np.array(
        data.draw(st.lists(st.floats(0.01, 1), min_size=len(array), max_size=len(array)))
    )
    other = raw / raw.sum()
    scale = 1 + np.abs(array).max()
    assert (array - found) @ (other - found) <= 1e-11 * scale
    assert np.linalg.norm(found - other) <= np.linalg.norm(array - other) + 1e-12 * scale
    # The shift is the same wherever something is left.
    shift = (array - found)[found > 0]
    assert np.ptp(shift) <= 1e-11 * scale


def test_projection_is_exact() -> None:
    assert project_to_simplex([0.7, 0.6, -0.3]) == pytest.approx([0.55, 0.45, 0], abs=1e-15)
    assert project_to_simplex([[0.25, 0.25], [0.5, 0]]).tolist() == [[0.25, 0.25], [0.5, 0.0]]
    assert project_to_simplex([1e300, 0]).tolist() == [1.0, 0.0]
    assert clip_and_normalise([0.7, 0.6, -0.3]) == pytest.approx([7 / 13, 6 / 13, 0])
    assert clip_and_normalise([-1.0, 0.0]).tolist() == [0.5, 0.5]


def test_clipping_biases_the_frequent_cell() -> None:
    """The case of multi-freq-ldpy: 200 reports of one value out of ten, ε = 1."""
    plan = independent(domain(10), 1.0)
    empty = Estimates.of(plan, 1)
    rng = np.random.default_rng(0)
    means = {"simplex": 0.0, "clip": 0.0}
    for _ in range(200):
        one = empty.add(plan.randomize_codes(np.zeros((200, 1), dtype=np.int64), rng=rng))
        for method in means:
            means[method] += float(one.marginal("a").project(method).values[0]) / 200
    assert means["clip"] < 0.72
    assert means["clip"] < means["simplex"] - 0.1


@pytest.mark.parametrize("bad", [[], [np.nan], [np.inf, 0], "ab", [True, False], None])
def test_projection_of_hostile_values(bad: object) -> None:
    for function in (project_to_simplex, clip_and_normalise):
        with pytest.raises(InvalidInputError, match="expected"):
            function(bad)


def test_steps_are_labelled() -> None:
    made = collected(independent(domain(3, 2, 2), 1.0))
    table = made.marginal("a", "b")
    assert table.steps == ("unbiased estimate",)
    simplex, clip = table.project(), table.project("clip")
    assert simplex.standing is Standing.ESTIMATE
    assert clip.standing is Standing.HEURISTIC
    assert "heuristic" in clip.verdict
    assert clip.project().standing is Standing.HEURISTIC
    assert simplex.raw is table
    assert len(simplex.project("clip").steps) == 3
    assert any("biased" in note for note in simplex.assumptions)
    assert not (table.values >= 0).all()
    assert (table.values == made.marginal("a", "b").values).all()
    chain = made.consistent().project()
    assert chain.steps[0] == "unbiased estimate"
    assert len(chain.steps) == 3
    with pytest.raises(InvalidInputError, match="simplex"):
        table.project("simplx")
    with pytest.raises(InvalidInputError, match="simplex"):
        project(table, None)


@pytest.mark.parametrize("design", ["views", "independent", "text"])
def test_consistency_is_the_least_squares_solution(design: str) -> None:
    """Against a dense constrained least-squares problem, solved by its normal equations."""
    shape = domain(2, 3, 2, 2)
    plan = {
        "views": sampled_views(shape, 1.0, 2),
        "independent": independent(shape, 1.0),
        "text": independent(shape, 1.0, "oue"),
    }[design]
    sets = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "d"), ("d",)]
    made = collected(plan, 400, 1, sets)
    done = made.consistent()
    weights = [1 / (table.standard_errors**2).mean() for table in made.tables]
    sizes = [table.values.size for table in made.tables]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows, right = [], []
    for position, table in enumerate(made.tables):
        row = np.zeros(starts[-1])
        row[starts[position] : starts[position + 1]] = 1
        rows.append(row)
        right.append(1.0)
        assert table.values.shape == made.plan.domain.project(table.names).shape
    for i, j in combinations(range(len(sets)), 2):
        for name in set(sets[i]) & set(sets[j]):
            for code in range(made.plan.domain[name].size):
                row = np.zeros(starts[-1])
                for at, sign in ((i, 1), (j, -1)):
                    mask = np.zeros(made.tables[at].values.shape)
                    index = [slice(None)] * mask.ndim
                    index[sets[at].index(name)] = code
                    mask[tuple(index)] = sign
                    row[starts[at] : starts[at + 1]] = mask.ravel()
                rows.append(row)
                right.append(0.0)
    constraints, inverse = np.array(rows), np.repeat(1 / np.array(weights), sizes)
    raw = np.concatenate([table.values.ravel() for table in made.tables])
    gram = constraints * inverse @ constraints.T
    multipliers = np.linalg.lstsq(gram, constraints @ raw - right, rcond=None)[0]
    expected = raw - inverse * (constraints.T @ multipliers)
    found = np.concatenate([table.values.ravel() for table in done.tables])
    assert found == pytest.approx(expected, abs=1e-9)
    assert constraints @ found == pytest.approx(np.array(right), abs=1e-11)
    if design == "independent":  # linear in the same reports: they agree from the start
        assert found == pytest.approx(raw, abs=1e-11)
    turned = agree([made.marginal("b", "a"), *made.tables[1:]])[0]
    assert pytest.approx(done.tables[0].values, abs=1e-12) == turned.values.T


def test_consistency_without_noise() -> None:
    made = collected(sampled_views(domain(2, 3, 2), math.inf, 2))
    tables = made.consistent()
    assert tables.marginal("a", "b").values.sum(axis=1) == pytest.approx(
        tables.marginal("a", "c").values.sum(axis=1), abs=1e-12
    )
    plan = independent(domain(1, 1), 1.0)
    one = Estimates.of(plan).add(plan.randomize_codes(np.zeros((5, 2), dtype=int), rng=0))
    assert one.consistent().tables[0].values.tolist() == [[1.0]]


def skewed(k: int, seed: int) -> Table:
    rows = np.random.default_rng(seed).dirichlet(np.ones(k + 1), k) + np.eye(k, k + 1)
    return Table(Channel.from_matrix(rows / 2))


LIKELIHOODS = [
    (independent(domain(3, 4), 1.0), ("a", "b")),
    (independent(domain(3, 4), 3.0), ("b",)),
    (
        CollectionPlan(
            domain(3, 4), "independent", (Unit(("a",), skewed(3, 0)), Unit(("b",), skewed(4, 1)))
        ),
        ("a", "b"),
    ),
    (CollectionPlan(domain(2, 3), "independent", (Unit(("b", "a"), skewed(6, 2)),)), ("a",)),
    (independent(domain(2, 3, 2), 1.0, groups=[("c", "a")]), ("a", "b")),
    (sampled_views(domain(2, 3, 2), 1.0, 2), ("b",)),
    (sampled_views(domain(2, 3, 2), 1.0, 2), ("a", "c")),
    (fake_data(domain(2, 3, 2), 1.0), ("b",)),
]


@pytest.mark.parametrize(("plan", "names"), LIKELIHOODS)
def test_maximum_likelihood(plan: CollectionPlan, names: tuple[str, ...]) -> None:
    """The same maximum by Newton steps, by many Bayesian updates and by a general optimiser."""
    made = collected(plan, 300, 3, [names])
    (best,) = made.maximum_likelihood().tables
    (slow,) = made.bayesian_update(tolerance=1e-11, max_iterations=200_000).tables
    assert best.standing is Standing.ESTIMATE
    assert (best.values >= 0).all()
    assert best.values.sum() == pytest.approx(1, abs=1e-12)
    assert best.values == pytest.approx(slow.values, abs=2e-4)
    terms, _, lumps = likelihood_terms(plan, made.sums, names)
    shape = tuple(one.shape[0] for one in terms[0].channels)

    def loss(x: np.ndarray) -> float:
        table = np.exp(x - x.max()).reshape(shape)
        return -300 * log_likelihood(terms, table / table.sum())

    other = minimize(loss, np.zeros(math.prod(shape)), method="BFGS", options={"gtol": 1e-7})
    if all(one.shape[0] == one.shape[1] for one in lumps):
        route_order = [n for unit in plan.units for n in unit.names if n in names]
        axes = [names.index(n) for n in route_order] if plan.design == "independent" else None
        mine = best.values if axes is None else best.values.transpose(axes)
        reached = -300 * log_likelihood(terms, np.asarray(mine).reshape(shape))
        assert reached <= other.fun + 1e-5
        uniform = np.full(shape, 1 / math.prod(shape))
        assert reached <= -300 * log_likelihood(terms, uniform)


def test_likelihood_without_noise_is_the_frequency() -> None:
    made = collected(independent(domain(3, 2), math.inf))
    for fitted in (made.maximum_likelihood(), made.bayesian_update()):
        assert fitted.tables[0].values == pytest.approx(made.tables[0].values, abs=1e-9)


def test_likelihood_inside_equals_the_unbiased_estimate() -> None:
    """Where the unbiased table is a distribution, it is the most likely one."""
    plan = independent(domain(2, 2), 2.0)
    rng = np.random.default_rng(0)
    made = Estimates.of(plan).add(plan.randomize_codes(rng.integers(0, 2, (5000, 2)), rng=1))
    assert (made.tables[0].values > 0).all()
    assert made.maximum_likelihood().tables[0].values == pytest.approx(
        made.tables[0].values, abs=1e-9
    )
    assert made.marginal("a", "b").project().values == pytest.approx(made.tables[0].values)


def test_an_update_that_was_stopped_says_so() -> None:
    made = collected(independent(domain(3, 4), 1.0), 2000)
    (table,) = made.bayesian_update(max_iterations=3).tables
    assert table.standing is Standing.HEURISTIC
    assert "stopped early" in table.steps[0]
    assert "uniform table, still shows" in table.assumptions[0]
    assert made.bayesian_update(max_iterations=3).standing is Standing.HEURISTIC


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_updates_never_lower_the_likelihood(seed: int) -> None:
    made = collected(independent(domain(3, 3), 1.0), 100, seed)
    terms, _, _ = likelihood_terms(made.plan, made.sums, ("a", "b"))
    before = -math.inf
    for steps in (1, 2, 3, 5, 9):
        (table,) = made.bayesian_update(tolerance=1e-300, max_iterations=steps).tables
        now = log_likelihood(terms, table.values)
        assert now >= before - 1e-14
        before = now


def test_likelihood_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InvalidInputError, match="reports that are categories, got 'unary' for 'a'"):
        collected(independent(domain(3, 2), 1.0, {"a": "oue"})).bayesian_update()
    made = collected(independent(domain(40, 40), 1.0))
    with pytest.raises(CapacityError, match=r"1,200 cells for Newton steps, got 1,600"):
        made.maximum_likelihood()
    for bad in (0, -1, np.nan, np.inf, "x", None, [1, 2]):
        with pytest.raises(InvalidInputError, match="tolerance"):
            made.bayesian_update(tolerance=bad)
    for bad in (0, 1.5, True, "x", None):
        with pytest.raises(InvalidInputError, match="max_iterations"):
            made.bayesian_update(max_iterations=bad)
    views = CollectionPlan(
        domain(2, 2, 2),
        "views",
        (Unit(("a", "b"), skewed(4, 0)), Unit(("a", "c"), skewed(4, 1))),
    )
    with pytest.raises(InvalidInputError, match="do not depend on the other attributes"):
        collected(views, 200, 0, [("a",)]).maximum_likelihood()
