"""Bayes with a learned population: against enumeration, plain optimisation, and true Bayes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binomtest

from seepage import randomized_response
from seepage.attack import latent, logit, pooled
from seepage.attack.bayes import JointModel
from seepage.attack.boosted import BoostedTrees, Rows
from seepage.attack.latent import LatentModel, class_number
from seepage.attack.logit import LogitModel, orders, products
from seepage.attack.pooled import PooledModel, Sketch, distinct, pool_weights, sketch
from seepage.attack.population import Observations, Population

INF = math.inf


def observed(channels, reports, own=None):
    evidence = tuple(c.log_matrix.T[r] for c, r in zip(channels, reports.T, strict=True))
    return Observations(evidence, reports, tuple(c.shape[1] for c in channels), own)


def reports_of(nodes, channels, rng):
    """A report on every value, by the inverse of the cumulated rows."""
    columns = [
        np.minimum(
            (rng.random((len(nodes), 1)) > c.matrix[x].cumsum(axis=1)).sum(axis=1), c.shape[1] - 1
        )
        for c, x in zip(channels, nodes.T, strict=True)
    ]
    return np.column_stack(columns)


def mixture(rng, classes=3, sizes=(2, 3, 2)):
    parts = [rng.dirichlet(np.ones(k), classes) for k in sizes]
    return LatentModel(rng.dirichlet(np.ones(classes)), parts[0], tuple(parts[1:]))


def joint_of(model):
    joint = 0
    for h, weight in enumerate(model.weights):
        table = weight * model.secret[h]
        for node in model.nodes:
            table = np.multiply.outer(table, node[h])
        joint = joint + table
    return joint


def sample(joint, n, rng):
    cells = rng.choice(joint.size, n, p=joint.ravel() / joint.sum())
    codes = np.column_stack(np.unravel_index(cells, joint.shape))
    return Population(codes[:, 0], codes[:, 1:], np.ones(n), joint.shape[0], joint.shape[1:])


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0, INF])
def test_hidden_classes_equal_enumeration_of_their_joint(epsilon):
    model = mixture(np.random.default_rng(1))
    channels = [randomized_response(3, epsilon), randomized_response(2, epsilon)]
    seen = observed(channels, np.array(list(itertools.product(range(3), range(2)))))
    exact = JointModel.fit(Population.of_joint(joint_of(model)))
    assert_allclose(model.predict_proba(seen), exact.predict_proba(seen), atol=1e-12)


def test_one_class_has_the_frequencies():
    rng = np.random.default_rng(2)
    population = sample(rng.dirichlet(np.ones(12)).reshape(2, 3, 2), latent.RECORDS, rng)
    assert class_number(population) == 1
    model = LatentModel.fit(population, 0)
    counts = np.bincount(population.nodes[:, 0], minlength=3)
    pseudo = latent.MASS * 3 * (0.9 * counts / counts.sum() + 0.1 / 3)
    expected = (counts + pseudo) / (counts.sum() + latent.MASS * 3)
    assert_allclose(model.nodes[0][0], expected, rtol=1e-6)
    assert_allclose(model.weights, [1.0])


def test_every_step_raises_the_posterior_density(monkeypatch):
    rng = np.random.default_rng(3)
    population = sample(joint_of(mixture(rng, 4, (3, 4, 2, 5))), 600, rng)
    monkeypatch.setattr(latent, "MAX_FULL", 0)  # in double precision
    columns = [population.secret, *population.nodes.T]

    def density(model):
        tables = [model.secret, *model.nodes]
        inside = model.weights * np.prod(
            [t[:, x].T for t, x in zip(tables, columns, strict=True)], axis=0
        )
        found = np.log(inside.sum(axis=1)).sum() + latent.MASS * np.log(model.weights).sum()
        for table, x in zip(tables, columns, strict=True):
            k = table.shape[1]
            share = np.bincount(x, minlength=k) / len(x)
            found += (latent.MASS * k * (0.9 * share + 0.1 / k) * np.log(table)).sum()
        return found

    found = []
    for rounds in (1, 2, 3, 5, 10, 20, 40):
        monkeypatch.setattr(latent, "ROUNDS", rounds)
        found.append(density(LatentModel.fit(population, 1)))
    assert (np.diff(found) > -1e-9).all()
    monkeypatch.setattr(latent, "AGAIN", 5)
    last = LatentModel.fit(population, 1)
    assert density(LatentModel.fit(population, 1, last)) >= found[-1] - 1e-9
    monkeypatch.setattr(latent, "MAX_FULL", 10**9)  # in single precision, zeros held
    again = LatentModel.fit(population, 1)
    assert density(again) == pytest.approx(found[-1], rel=1e-3)


def test_a_part_of_too_many_records(monkeypatch):
    rng = np.random.default_rng(4)
    population = sample(joint_of(mixture(rng)), 500, rng)
    monkeypatch.setattr(latent, "MAX_STEP", 3 * latent.CLASSES * 7)
    monkeypatch.setattr(logit, "MAX_STEP", 2 * 3 * 4)
    assert LatentModel.fit(population, 0).weights.sum() == pytest.approx(1)
    found = LogitModel.fit(population, 1, 0).predict(population.nodes)
    assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_draws_have_the_posterior_of_the_nodes(epsilon):
    model = mixture(np.random.default_rng(5), 3, (2, 3, 4))
    channels = [randomized_response(3, epsilon), randomized_response(4, epsilon)]
    report = np.array([[2, 1]])
    joint = joint_of(model).sum(axis=0)
    mass = joint * np.outer(channels[0].matrix[:, 2], channels[1].matrix[:, 1])
    n, count = 1500, 32
    drawn = model.draw(observed(channels, np.repeat(report, n, 0)), count, np.random.default_rng(6))
    assert drawn.shape == (n, count, 2)
    found = np.zeros_like(mass)
    np.add.at(found, (drawn[..., 0], drawn[..., 1]), 1 / (n * count))
    # Draws of a record are not independent, records are: five standard errors, twelve cells, 7e-6.
    assert_allclose(found, mass / mass.sum(), atol=5 * 0.5 / math.sqrt(n))
    one = [(drawn[..., 0] == value).mean(axis=1) for value in range(3)]
    spread = np.array(one).std(axis=1)
    share = mass.sum(axis=1) / mass.sum()
    assert (spread < np.sqrt(share * (1 - share) / count)).all()  # below independent draws


def test_draws_without_noise_are_the_values():
    model = mixture(np.random.default_rng(7))
    values = np.array([[0, 1], [2, 0]])
    channels = [randomized_response(3, INF), randomized_response(2, INF)]
    drawn = model.draw(observed(channels, values), 8, np.random.default_rng(0))
    assert (drawn == values[:, np.newaxis]).all()


@pytest.mark.parametrize("order", [1, 2])
def test_regression_by_plain_optimisation(order):
    rng = np.random.default_rng(8)
    population = sample(rng.dirichlet(np.full(24, 0.6)).reshape(3, 2, 4), 400, rng)
    model = LogitModel.fit(population, order, 0)
    cells = list(itertools.product(range(2), range(4)))
    counts = np.zeros((8, 3))
    for s, x in zip(population.secret, population.nodes, strict=True):
        counts[cells.index(tuple(x)), s] += 1
    marks = [[1.0] + [x == v for v in range(2)] + [y == v for v in range(4)] for x, y in cells]
    if order == 2:
        kept = np.flatnonzero(counts.sum(axis=1) >= logit.SEEN)
        marks = [row + [i == j for j in kept] for i, row in enumerate(marks)]
    design = np.array(marks, dtype=float)
    penalty = np.array([0.0] + [1.0] * 6 + [30.0] * (design.shape[1] - 7))[:, np.newaxis]

    def loss(flat):
        theta = flat.reshape(-1, 3)
        logs = design @ theta
        logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
        return -(counts * logs).sum() + (penalty * theta**2).sum() / 2

    found = minimize(loss, np.zeros(design.shape[1] * 3), method="BFGS", options={"maxiter": 3000})
    logs = design @ found.x.reshape(-1, 3)
    expected = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    assert_allclose(model.predict(np.array(cells)), expected, atol=2e-3)
    # The first coefficients have no penalty, so that frequencies of the secret are met.
    sums = model.predict(population.nodes).sum(axis=0)
    assert_allclose(sums, np.bincount(population.secret), atol=0.5)


def test_pairs_see_what_single_nodes_do_not():
    rng = np.random.default_rng(9)
    nodes = rng.integers(0, 2, (2000, 3))
    population = Population(nodes[:, 0] ^ nodes[:, 1], nodes, np.ones(2000), 2, (2, 2, 2))
    assert orders(population) == (1, 2, 3)
    right = [
        (LogitModel.fit(population, order, 0).predict(nodes).argmax(1) == population.secret).mean()
        for order in (1, 2, 3)
    ]
    assert right[0] < 0.8  # a sum over single nodes can be right in three of four cells
    assert right[1] == right[2] == 1
    chosen = sketch(population, population, 0)
    assert chosen.logit.order > 1


def test_orders_are_limited_by_work(monkeypatch):
    rng = np.random.default_rng(10)
    population = sample(joint_of(mixture(rng, 3, (2, 3, 2, 2))), 200, rng)
    assert orders(population) == (1, 2, 3)
    assert [products(3, order) for order in (1, 2, 3)] == [4, 7, 8]
    monkeypatch.setattr(logit, "MAX_STEP", 20)
    assert orders(population) == (1,)
    monkeypatch.setattr(logit, "MAX_STEP", 10)
    assert orders(population) == ()
    monkeypatch.setattr(latent, "MAX_TABLE", 3)
    assert class_number(population) == 0
    bare = sketch(population, population, 0)
    assert bare.members(exact=True) == ("joint",)
    assert bare.latent is None
    assert bare.logit is None


def test_weights_are_the_best():
    rng = np.random.default_rng(11)
    chances = [rng.beta(a, 2, 300) for a in (4.0, 3.5, 3.0)]
    names = ("a", "b", "c")
    found = pool_weights(names, chances)
    table = np.column_stack(chances)

    def loss(w):
        return -np.log(table @ w).mean()

    best = minimize(
        loss, np.full(3, 1 / 3), method="SLSQP", bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )  # fmt: skip
    weights = np.array([found.get(name, 0.0) for name in names])
    assert weights.sum() == pytest.approx(1)
    assert loss(weights) == pytest.approx(best.fun, abs=1e-4)
    assert pool_weights(("a", "b"), [np.ones(50), np.zeros(50)]) == {"a": 1.0}
    assert pool_weights(("a",), [np.zeros(3)]) == {"a": 1.0}


def learned(joint, n, channels, rng, *, exact=True):
    whole = sample(joint, n, rng)
    cut = n // 10
    parts = [
        Population(
            whole.secret[p], whole.nodes[p], whole.weights[p], whole.secret_size, whole.sizes
        )
        for p in (slice(cut, None), slice(cut))
    ]
    draft = sketch(*parts, 0)
    codes = np.tile(np.arange(cut), max(1, 2000 // cut))
    reports = reports_of(parts[1].nodes[codes], channels, rng)
    seen = observed(channels, reports)
    final = draft.again(whole)
    return whole, PooledModel.fit(draft, final, seen, parts[1].secret[codes], exact=exact)


def test_many_records_of_a_small_table_give_exact_bayes():
    rng = np.random.default_rng(12)
    joint = rng.dirichlet(np.full(12, 0.7)).reshape(2, 3, 2)
    channels = [randomized_response(3, 1.5), randomized_response(2, 1.5)]
    _, model = learned(joint, 20_000, channels, rng)
    seen = observed(channels, np.array(list(itertools.product(range(3), range(2)))))
    exact = JointModel.fit(Population.of_joint(joint)).predict_proba(seen)
    # Standard errors of the beliefs are about 0.005.
    assert_allclose(model.predict_proba(seen), exact, atol=0.03)


@pytest.mark.parametrize("epsilon", [2.0, 6.0, INF])
def test_few_records_of_a_large_table(epsilon):
    """Nearer to true Bayes than the sample's own joint distribution; none is better than true."""
    rng = np.random.default_rng(13)
    joint = joint_of(mixture(rng, 5, (3, 5, 4, 5, 4, 3)))
    channels = [randomized_response(k, epsilon) for k in joint.shape[1:]]
    whole, model = learned(joint, 800, channels, rng)
    fresh = sample(joint, 4000, rng)
    seen = observed(channels, reports_of(fresh.nodes, channels, rng))
    rows = np.arange(4000)

    def loss(beliefs):
        return -np.log(np.maximum(beliefs[rows, fresh.secret], 1e-12)).mean()

    true = loss(JointModel.fit(Population.of_joint(joint)).predict_proba(seen))
    naive = loss(JointModel.fit(whole).predict_proba(seen))
    ours = loss(model.predict_proba(seen))
    assert true <= ours + 0.01
    assert ours - true < 0.5 * (naive - true)
    again = model.predict_proba(seen)
    assert (again == model.predict_proba(seen)).all()


@pytest.mark.parametrize("exact", [True, False])
def test_own_reports_multiply(exact):
    rng = np.random.default_rng(14)
    joint = joint_of(mixture(rng))
    channels = [randomized_response(3, 2.0), randomized_response(2, 2.0)]
    whole, model = learned(joint, 500, channels, rng, exact=exact)
    reports = np.array([[0, 1], [2, 0]])
    own = np.log([[0.8, 0.2], [0.3, 0.7]])
    without, logs = model.answer(observed(channels, reports))
    beliefs, own_logs = model.answer(observed(channels, reports, own))
    expected = without * np.exp(own)
    assert_allclose(beliefs, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    if exact:
        assert_allclose(own_logs, logs + own, atol=1e-12)
        direct = JointModel.fit(whole).log_likelihood(observed(channels, reports))
        assert_allclose(logs, direct, atol=1e-12)
    else:
        assert logs is None
        assert own_logs is None
        assert not {"joint", "smoothed"} & set(model.weights)


def test_silent_reports_leave_the_prior():
    rng = np.random.default_rng(15)
    joint = joint_of(mixture(rng))
    channels = [randomized_response(3, 0.0), randomized_response(2, 0.0)]
    whole, model = learned(joint, 300, channels, rng)
    found = model.predict_proba(observed(channels, np.array([[0, 1], [2, 0]])))
    assert_allclose(found, [whole.prior] * 2, atol=1e-15)


def test_a_value_without_records_is_never_believed():
    rng = np.random.default_rng(16)
    joint = np.concatenate([joint_of(mixture(rng)), np.zeros((1, 3, 2))])
    channels = [randomized_response(3, 1.0), randomized_response(2, 1.0)]
    whole, model = learned(joint, 300, channels, rng)
    assert whole.prior[2] == 0
    beliefs, logs = model.answer(observed(channels, np.array([[0, 1], [2, 0]])))
    assert (beliefs[:, 2] == 0).all()
    assert (logs[:, 2] == -INF).all()
    assert_allclose(beliefs.sum(axis=1), 1)


def test_members_that_are_not_there():
    population = Population.of_joint([[0.4, 0.1], [0.2, 0.3]])
    bare = Sketch.of(population, None, None, None, 0)
    seen = observed([randomized_response(2, 1.0)], np.array([[0]]))
    for name in ("latent", "drawn", "boosted"):
        with pytest.raises(KeyError):
            bare.beliefs([name], seen, None)


def test_wide_nodes_are_not_drawn(monkeypatch):
    rng = np.random.default_rng(19)
    monkeypatch.setattr(pooled, "installed", lambda: False)
    whole = sample(joint_of(mixture(rng)), 200, rng)
    made = sketch(whole, whole, 0)
    assert made.trees is None
    assert made.members(exact=True) == ("joint", "smoothed", "latent", "drawn")
    monkeypatch.setattr(pooled, "MAX_WIDTH", 4)
    assert made.members(exact=True) == ("joint", "smoothed", "latent")
    assert made.members(exact=False) == ("latent",)


def test_distinct_rows():
    rng = np.random.default_rng(17)
    rows = rng.integers(0, 3, (200, 4))
    for sizes in ((3, 3, 3, 3), (2**20, 2**20, 2**20, 2**20)):
        found, where = distinct(rows, sizes)
        assert len(found) == len(np.unique(rows, axis=0))
        assert (found[where] == rows).all()
    none, where = distinct(np.zeros((5, 0), dtype=np.int64), ())
    assert len(none) == 1
    assert where.tolist() == [0] * 5


def test_draws_in_blocks(monkeypatch):
    rng = np.random.default_rng(18)
    joint = joint_of(mixture(rng))
    channels = [randomized_response(3, 3.0), randomized_response(2, 3.0)]
    whole = sample(joint, 400, rng)
    made = sketch(whole, whole, 0)
    seen = observed(channels, reports_of(whole.nodes, channels, rng))
    one = made.beliefs(["drawn"], seen, None)["drawn"]
    monkeypatch.setattr(pooled, "BLOCK", 32 * 64 * 100)
    many = made.beliefs(["drawn"], seen, None)["drawn"]
    assert_allclose(one, many, atol=0.15)  # other draws, of the same mean
    assert_allclose(one.mean(axis=0), many.mean(axis=0), atol=0.01)


def deep_rule(n, rng):
    """Records of 12 attributes, and a secret that a tree of depth 6 gives."""
    nodes = rng.integers(0, 6, (n, 12))
    truth = np.zeros(n, dtype=np.int64)

    def divide(rows, depth):
        if depth == 0:
            truth[rows] = rng.integers(0, 2)
            return
        below = nodes[rows, rng.integers(0, 12)] < rng.integers(1, 6)
        divide(rows[below], depth - 1)
        divide(rows[~below], depth - 1)

    divide(np.arange(n), 6)
    return Population(truth, nodes, np.ones(n), 2, (6,) * 12)


def part(population, rows):
    nodes, weights = population.nodes[rows], population.weights[rows]
    return Population(
        population.secret[rows], nodes, weights, population.secret_size, population.sizes
    )


@pytest.fixture(scope="module")
def deep():
    """Sketches of a deep rule, and records that they were not fitted to."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    whole = deep_rule(5000, np.random.default_rng(21))
    checking, known, fresh = (
        part(whole, rows) for rows in (slice(0, 400), slice(4000), slice(4000, None))
    )
    with pytest.MonkeyPatch.context() as patch:  # as where pairs are too many
        patch.setattr(pooled, "orders", lambda _population: (1,))
        draft = sketch(part(whole, slice(400, 4000)), checking, 0)
        return draft, draft.again(known), checking, fresh


@pytest.mark.parametrize("epsilon", [6.0, INF])
def test_a_deep_rule_is_found_by_trees(deep, epsilon):
    draft, final, checking, fresh = deep
    rng = np.random.default_rng(22)
    channels = [randomized_response(6, epsilon)] * 12
    checks = observed(channels, reports_of(checking.nodes, channels, rng))
    seen = observed(channels, reports_of(fresh.nodes, channels, rng))
    right = []
    for sketches in ((draft, final), [replace(each, trees=None) for each in (draft, final)]):
        model = PooledModel.fit(*sketches, checks, checking.secret, exact=False)
        assert ("boosted" in model.weights) == (sketches[0].trees is not None)
        right.append(model.predict_proba(seen).argmax(axis=1) == fresh.secret)
    ours, without = right
    only = int((ours & ~without).sum()), int((without & ~ours).sum())
    # With the same chance for both this happens once in ten thousand.
    assert binomtest(only[0], sum(only), alternative="greater").pvalue < 1e-4
    if epsilon == INF:
        # As good as gradient boosting that learns from the values themselves, and the same.
        found = final.beliefs(["boosted"], seen, None)["boosted"]
        assert_allclose(found, final.trees.predict(fresh.nodes), atol=1e-12)
        learner = BoostedTrees.fit(
            Rows(checking.nodes, checking.secret), None, sizes=(6,) * 12, k=2, seed=0, leaf=20
        )
        assert ours.mean() > (learner.predict(fresh.nodes).argmax(axis=1) == fresh.secret).mean()


def test_drawn_and_boosted_share_the_draws(deep):
    _, final, _, fresh = deep
    rng = np.random.default_rng(23)
    channels = [randomized_response(6, 2.0)] * 12
    seen = observed(channels, reports_of(fresh.nodes[:40], channels, rng))
    found = final.beliefs(["boosted", "drawn"], seen, None)
    assert list(found) == ["boosted", "drawn"]
    rows = final.latent.draw(seen, pooled.DRAWS, np.random.default_rng([final.seed, 1]))
    for name, model in (("boosted", final.trees), ("drawn", final.logit)):
        predict = model.predict
        expected = np.array([predict(each).mean(axis=0) for each in rows])
        assert_allclose(found[name], expected, atol=1e-12)
        assert (final.beliefs([name], seen, None)[name] == found[name]).all()


def test_refitted_trees_have_as_many_rounds(deep):
    draft, final, checking, _ = deep
    assert 0 < draft.trees.rounds <= 200
    assert final.trees.rounds == draft.trees.rounds
    again = pooled.boost(checking, None, 0, 7)
    assert again.rounds == 7
    found = [pooled.boost(checking, None, 5, 7).predict(checking.nodes) for _ in range(2)]
    assert (found[0] == found[1]).all()


def test_where_no_trees_are_boosted(deep, monkeypatch):
    checking = deep[2]
    assert pooled.boost(checking, checking, 0) is not None
    few = part(checking, slice(pooled.FEWEST - 1))
    one = part(checking, checking.secret == 0)
    assert len(one.secret) >= pooled.FEWEST
    for population in (few, one):
        assert pooled.boost(population, population, 0) is None
    for name, value in (("MAX_BOOSTING", 799), ("MAX_WIDTH", 71)):
        with monkeypatch.context() as patch:
            patch.setattr(pooled, name, value)
            assert pooled.boost(checking, checking, 0) is None
    monkeypatch.setattr(pooled, "MAX_TREES", 6)  # two for each round
    assert pooled.boost(checking, None, 0).rounds == 3
    monkeypatch.setattr(pooled, "installed", lambda: False)
    assert pooled.boost(checking, checking, 0) is None
    assert sketch(few, few, 0).trees is None
