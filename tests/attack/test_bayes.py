"""Bayes attackers against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.attack.bayes import (
    JointModel,
    PairModel,
    TreeModel,
    log_dot,
    log_ratios,
    posterior,
    rooted,
)
from seepage.attack.population import Observations, Population
from seepage.channel import randomized_response
from seepage.errors import CapacityError, InvalidInputError

INF = math.inf


def observations(channels, reports, **options):
    evidence = tuple(c.log_matrix.T[r] for c, r in zip(channels, reports.T, strict=True))
    sizes = tuple(c.shape[1] for c in channels)
    return Observations(evidence, reports, sizes, **options)


def enumerated(joint, channels, report, own=None):
    """``p(secret, reports)``, by going through every cell."""
    result = np.zeros(joint.shape[0])
    for cell in itertools.product(*map(range, joint.shape)):
        chance = joint[cell]
        for value, channel, y in zip(cell[1:], channels, report, strict=True):
            chance *= channel.matrix[value, y]
        if own is not None:
            chance *= own[cell[0]]
        result[cell[0]] += chance
    return result


def every_report(channels):
    return np.array(list(itertools.product(*(range(c.shape[1]) for c in channels))))


@pytest.mark.parametrize("epsilons", [(0.5, 1.0, 2.0), (0.0, 3.0, 0.1), (INF, 1.0, 0.5)])
@pytest.mark.parametrize("sparse", [False, True])
def test_joint_equals_enumeration(epsilons, sparse):
    rng = np.random.default_rng(3)
    joint = rng.dirichlet(np.ones(3 * 2 * 4 * 3)).reshape(3, 2, 4, 3)
    if sparse:
        joint[rng.random(joint.shape) < 0.6] = 0
    channels = [randomized_response(k, e) for k, e in zip((2, 4, 3), epsilons, strict=True)]
    model = JointModel.fit(Population.of_joint(joint))
    reports = every_report(channels)
    own = rng.random((len(reports), 3))
    for given_own in (None, own):
        logs = None if given_own is None else np.log(given_own)
        seen = observations(channels, reports, own=logs)
        beliefs = model.predict_proba(seen)
        for i, report in enumerate(reports):
            mass = enumerated(joint, channels, report, None if logs is None else own[i])
            expected = mass / mass.sum() if mass.sum() else model.prior
            np.testing.assert_allclose(beliefs[i], expected, atol=1e-12)
        likelihood = np.exp(model.log_likelihood(seen))
        if given_own is None:
            np.testing.assert_allclose(likelihood.sum(axis=0), 1, atol=1e-12)


@pytest.mark.parametrize(
    "edges",
    [
        [(-1, 0), (0, 1), (1, 2), (2, 3)],
        [(-1, 0), (-1, 1), (-1, 2), (-1, 3)],
        [(2, -1), (0, 2), (3, 0), (1, 2)],
        [(-1, 1), (0, 3)],
        [],
    ],
)
def test_tree_equals_enumeration_of_its_joint(edges):
    rng = np.random.default_rng(8)
    sizes = (3, 2, 4, 2, 3)  # the secret first
    parents, order = rooted(4, edges)
    joint = rng.dirichlet(np.ones(sizes[0])).reshape(-1, 1, 1, 1, 1) * np.ones(sizes)
    for node, parent in enumerate(parents):
        other = 0 if parent < 0 else parent + 1
        rows = 1 if parent == -2 else sizes[other]
        table = rng.dirichlet(np.ones(sizes[node + 1]), size=rows)
        shape = [1] * 5
        shape[node + 1] = sizes[node + 1]
        if parent != -2:
            shape[other] = sizes[other]
            table = table if other < node + 1 else table.T
        joint = joint * table.reshape(shape)
    assert joint.sum() == pytest.approx(1)
    population = Population.of_joint(joint)
    channels = [
        randomized_response(k, e) for k, e in zip(sizes[1:], (0.5, 2.0, 1.0, 3.0), strict=True)
    ]
    seen = observations(channels, every_report(channels))
    tree, exact = TreeModel.fit(population, edges), JointModel.fit(population)
    np.testing.assert_allclose(tree.predict_proba(seen), exact.predict_proba(seen), atol=1e-12)
    # Nodes without a path to the secret change likelihoods by a number for each record.
    apart = tree.log_likelihood(seen) - exact.log_likelihood(seen)
    np.testing.assert_allclose(apart, apart[:, :1] + np.zeros(3), atol=1e-11)
    assert set(order) == {node for node, parent in enumerate(parents) if parent != -2}


def test_pairs_when_one_unknown_node_is_true():
    """Random sampling with fakes, by going through which node is the true one."""
    rng = np.random.default_rng(2)
    joint = rng.dirichlet(np.ones(12)).reshape(2, 2, 3)
    channels = [randomized_response(2, 1.5), randomized_response(3, 1.5)]
    reports = every_report(channels)
    evidence = tuple(
        c.log_matrix.T[r] + math.log(c.shape[0]) for c, r in zip(channels, reports.T, strict=True)
    )
    seen = Observations(evidence, reports, (2, 3), None, "mixture", 1.0)
    beliefs = PairModel.fit(Population.of_joint(joint)).predict_proba(seen)
    for i, (y, z) in enumerate(reports):
        mass = np.zeros(2)
        for s, a, b in itertools.product(range(2), range(2), range(3)):
            truth = [
                channels[0].matrix[a, y] / 3,
                channels[1].matrix[b, z] / 2,
                1 / 6,  # the secret's own report, unseen, was the true one
            ]
            mass[s] += joint[s, a, b] * sum(truth) / 3
        np.testing.assert_allclose(beliefs[i], mass / mass.sum(), atol=1e-12)


def test_pairs_when_one_known_node_reports():
    rng = np.random.default_rng(2)
    joint = rng.dirichlet(np.ones(12)).reshape(2, 2, 3)
    channel = randomized_response(3, 1.0)
    reports = np.array([[0], [1], [2]])
    evidence = (np.zeros((3, 2)), channel.log_matrix.T[reports[:, 0]])
    seen = Observations(evidence, reports, (3,))
    population = Population.of_joint(joint)
    expected = [enumerated(joint.sum(axis=1), [channel], r) for r in reports]
    expected = [mass / mass.sum() for mass in expected]
    for model in (PairModel.fit(population), JointModel.fit(population)):
        np.testing.assert_allclose(model.predict_proba(seen), expected, atol=1e-12)


def test_without_reports_the_prior_stays():
    joint = np.array([[0.1, 0.2], [0.3, 0.4]])
    population = Population.of_joint(joint)
    channel = randomized_response(2, 0.0)
    seen = observations([channel], np.array([[0], [1]]))
    for model in (
        JointModel.fit(population),
        PairModel.fit(population),
        TreeModel.fit(population, [(-1, 0)]),
    ):
        np.testing.assert_allclose(model.predict_proba(seen), [[0.3, 0.7]] * 2, atol=1e-15)
        np.testing.assert_allclose(log_ratios(model.prior, model.log_likelihood(seen)), 0)


def test_impossible_reports_leave_the_prior():
    population = Population.of_joint([[0.4, 0.0], [0.6, 0.0]])
    seen = observations([randomized_response(2, INF)], np.array([[1], [0]]))
    model = JointModel.fit(population)
    np.testing.assert_allclose(model.predict_proba(seen), [[0.4, 0.6], [0.4, 0.6]])
    assert log_ratios(model.prior, model.log_likelihood(seen)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("epsilon", [800.0, 1e5])
def test_ratios_at_budgets_beyond_the_range_of_numbers(epsilon):
    population = Population.of_joint(np.diag([0.5, 0.3, 0.2]))
    seen = observations([randomized_response(3, epsilon)], np.array([[0], [1], [2]]))
    for model in (JointModel.fit(population), TreeModel.fit(population, [(-1, 0)])):
        logs = model.log_likelihood(seen)
        np.testing.assert_allclose(log_ratios(model.prior, logs), epsilon, rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(seen), np.eye(3), atol=1e-300)


@given(st.integers(1, 6), st.integers(1, 5), st.floats(0, 2000), st.integers(0, 10**6))
def test_log_dot(b, k, scale, seed):
    rng = np.random.default_rng(seed)
    logs = -scale * rng.random((3, b))
    logs[rng.random(logs.shape) < 0.2] = -INF
    table = rng.random((b, k)) * (rng.random((b, k)) < 0.7)
    with np.errstate(divide="ignore"):
        expected = np.logaddexp.reduce(logs[:, :, np.newaxis] + np.log(table), axis=1)
    np.testing.assert_allclose(log_dot(logs, table), expected, rtol=1e-12, atol=1e-12)


def test_posterior_by_hand():
    result = posterior(np.array([0.25, 0.75, 0.0]), np.log([[0.6, 0.2, 0.9]]))
    np.testing.assert_allclose(result, [[0.5, 0.5, 0.0]], atol=1e-15)


def test_hostile():
    population = Population.of_joint([[0.4, 0.1], [0.2, 0.3]])
    seen = observations([randomized_response(2, 1.0)] * 2, np.array([[0, 0]]))
    with pytest.raises(InvalidInputError, match="evidence of 1 nodes, got 2"):
        JointModel.fit(population).predict_proba(seen)
    mixture = Observations(seen.evidence[:1], seen.columns[:, :1], (2,), None, "mixture", 1.0)
    with pytest.raises(InvalidInputError, match="independent"):
        TreeModel.fit(population, [(-1, 0)]).predict_proba(mixture)
    with pytest.raises(InvalidInputError, match="cycle"):
        rooted(2, [(-1, 0), (0, 1), (1, -1)])
    with pytest.raises(InvalidInputError, match="different nodes"):
        rooted(2, [(-1, 2)])
    for joint in ([[-0.1, 0.2]], [[math.nan, 0.2]], [[0.0, 0.0]], 0.5, "x"):
        with pytest.raises(InvalidInputError):
            Population.of_joint(joint)
    ones = np.ones(2)
    for secret, nodes, weights in (
        ([0, 2], [[0], [0]], ones),
        ([0, 1], [[0], [-1]], ones),
        ([0, 1], [[0, 1], [0, 1]], ones),
        ([0, 1], [[0], [1]], np.zeros(2)),
        ([0.0, 1.0], [[0], [1]], ones),
        ([], np.zeros((0, 1), dtype=int), []),
    ):
        with pytest.raises(InvalidInputError, match="expected"):
            Population(np.array(secret), np.array(nodes), np.array(weights), 2, (2,))


def test_too_much_work_is_refused(monkeypatch):
    monkeypatch.setattr("seepage.attack.bayes.MAX_TERMS", 3)
    model = JointModel.fit(Population.of_joint([[0.4, 0.1], [0.2, 0.3]]))
    seen = observations([randomized_response(2, 1.0)], np.array([[0], [1]]))
    with pytest.raises(CapacityError, match=r"2 × 2.*'tree'"):
        model.predict_proba(seen)


def test_no_nodes():
    population = Population(np.array([0, 1]), np.zeros((2, 0), dtype=int), np.ones(2), 2, ())
    own = np.log([[0.8, 0.2]])
    seen = Observations((), np.array([[0]]), (2,), own)
    for model in (
        JointModel.fit(population),
        PairModel.fit(population),
        TreeModel.fit(population, []),
    ):
        np.testing.assert_allclose(model.predict_proba(seen), [[0.8, 0.2]], atol=1e-15)
