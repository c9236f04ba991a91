"""What every mechanism promises, for every kind."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from seepage import Channel, InvalidInputError
from seepage.collect.mechanism import Mechanism, TableMechanism
from seepage.collect.pram import invariant_pram, stratified_pram
from seepage.collect.registry import BY_EPSILON, KINDS, NAMES, mechanism, mechanism_from_dict

INF = math.inf
EPSILONS = [0.0, 1e-17, 1e-12, 0.2, 1.0, 4.0, 30.0, 100.0, 700.0, 1e4, INF]
FALSE_ALARM = 1e-6
"""Of every single comparison of frequencies with probabilities below; about 100 are made."""


def cycle_distance(k: int) -> np.ndarray:
    steps = np.abs(np.arange(k)[:, np.newaxis] - np.arange(k))
    return np.minimum(steps, k - steps).astype(float)


def every_kind(k: int, epsilon: float) -> list[Mechanism]:
    """Mechanisms of every kind with the given ε."""
    found = [mechanism(name, k, epsilon) for name in BY_EPSILON]
    found.append(mechanism("lambda", k, retention=-math.expm1(-epsilon)))
    if k > 1:
        found.append(mechanism("exponential", k, epsilon, distance=cycle_distance(k)))
        found.append(mechanism("staircase", k, epsilon, step=min(2, k - 1)))
    return found


def tables(k: int) -> list[Mechanism]:
    """Tables that no ε determines; zeros, more reports than categories."""
    rng = np.random.default_rng(k)
    wide = rng.random((k, k + 2))
    band = np.triu(np.tril(rng.random((k, k)) + 0.1, 1), 0)
    strata = ["low"] * (k // 2) + ["high"] * (k - k // 2)
    return [
        mechanism("table", k, matrix=wide / wide.sum(axis=1, keepdims=True)),
        mechanism("pram", k, matrix=band / band.sum(axis=1, keepdims=True)),
        invariant_pram(rng.dirichlet(np.ones(k)), minimum_diagonal=0.4),
        stratified_pram(strata, 1.0),
    ]


COMMON = [m for k in (1, 2, 5) for e in (0.2, 1.0, 4.0) for m in every_kind(k, e)]
COMMON += [m for k in (1, 2, 5) for m in tables(k)]


def label(m: Mechanism) -> str:
    variant = getattr(m, "variant", "")
    return f"{m.kind}{variant}-{m.k}-{m.epsilon:.3g}"


def test_every_kind_is_here():
    assert {m.kind for m in COMMON} == set(KINDS)
    assert set(BY_EPSILON) < set(NAMES)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_limits(k, epsilon):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, k, 50)
    for m in every_kind(k, epsilon):
        if m.kind != "lambda":
            assert m.epsilon == (epsilon if k > 1 else 0.0)
        assert 0 <= m.release_epsilon <= m.epsilon
        if 0.1 < m.epsilon < 5:
            assert m.epsilon - m.release_epsilon < 1e-14
        if epsilon == 0:
            assert m.release_epsilon == 0
        if epsilon == INF and k > 1 and m.kind != "lambda":
            assert m.release_epsilon == INF
        for draw in (m.sample(codes), m.sample(codes, rng=1)):
            assert len(m.check_reports(draw)) == codes.size
        assert np.isfinite(m.moments()).all()
        if epsilon == 0 and k > 1:
            with pytest.raises(InvalidInputError, match=r"identify|independent"):
                _ = m.unbias


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_unbiased_by_its_own_moments(m):
    if isinstance(m, TableMechanism) and np.linalg.matrix_rank(m.channel.matrix) < m.k:
        with pytest.raises(InvalidInputError, match="identify"):
            _ = m.unbias
        return
    assert m.unbias.shape == m.unbias_squared.shape == (m.features, m.k)
    np.testing.assert_allclose(m.moments() @ m.unbias, np.eye(m.k), atol=1e-10)
    reports = m.sample(np.arange(m.k).repeat(40), rng=5)
    features = m.featurize(reports)
    assert features.shape == (40 * m.k, m.features)
    estimates = features @ m.unbias
    np.testing.assert_allclose(
        features @ m.unbias_squared, estimates**2, rtol=1e-11, atol=1e-11 * (estimates**2).max()
    )


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_frequencies_are_the_moments(m):
    """Every feature, for every category, against its expectation (normal or chi-square limits)."""
    n = 20_000
    wanted = m.moments()
    for x in range(m.k):
        counts = m.featurize(m.sample(np.full(n, x), rng=100 + x)).sum(axis=0)
        p = wanted[x]
        sure = (p == 0) | (p == 1)
        np.testing.assert_array_equal(counts[sure], n * p[sure])
        z = (counts - n * p)[~sure] / np.sqrt(n * p * (1 - p))[~sure]
        assert (np.abs(z) < stats.norm.isf(FALSE_ALARM / 2 / max(z.size, 1))).all()
        if isinstance(m, TableMechanism) and (~sure).sum() > 1:
            statistic = ((counts - n * p)[~sure] ** 2 / (n * p)[~sure]).sum()
            assert statistic < stats.chi2.isf(FALSE_ALARM, (~sure).sum() - 1)


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_release_draws_the_same_distribution(m):
    n = 4000
    features = m.featurize(m.sample(np.zeros(n, dtype=np.int64)))
    p = m.moments()[0]
    # Bernstein's inequality, so that the rate holds for rare reports too; not seeded by nature.
    slack = np.log(2 * m.features / 1e-9)
    allowed = np.sqrt(2 * n * p * (1 - p) * slack) + slack
    assert (np.abs(features.sum(axis=0) - n * p) <= allowed).all()


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_plain_values_there_and_back(m):
    values = m.to_dict()
    assert list(values)[:2] == ["kind", "k"]
    again = mechanism_from_dict(json.loads(json.dumps(values, allow_nan=False)))
    assert again == m
    assert hash(again) == hash(m)
    assert again.to_dict() == values
    np.testing.assert_array_equal(again.moments(), m.moments())
    for twin in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert twin == m
        np.testing.assert_array_equal(
            twin.sample(np.zeros(9, int), rng=1), m.sample(np.zeros(9, int), rng=1)
        )


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_text_there_and_back(m):
    reports = m.sample(np.arange(m.k).repeat(7), rng=3)
    if m.form == "category":
        for call in (m.encode, m.decode):
            with pytest.raises(InvalidInputError, match="categories"):
                call(reports)
        return
    texts = m.encode(reports)
    assert len(texts) == len(reports)
    assert all(isinstance(text, str) and text.isascii() for text in texts)
    np.testing.assert_array_equal(m.decode(texts), reports)
    assert m.encode(reports[:0]) == []
    assert m.decode([]).shape == reports[:0].shape
    assert m.decode(iter(texts[:1])).shape == reports[:1].shape


@pytest.mark.parametrize("m", COMMON, ids=label)
def test_a_seed_repeats_and_a_release_does_not(m):
    codes = np.zeros(300, dtype=np.int64)
    first = m.sample(codes, rng=7)
    np.testing.assert_array_equal(first, m.sample(codes, rng=np.random.default_rng(7)))
    np.testing.assert_array_equal(m.sample(codes[:0], rng=1), m.sample([], rng=1))
    assert len(m.sample([])) == 0
    m.sample(codes.astype(np.int8))
    m.sample(codes.astype(np.uint16), rng=np.int64(3))
    if m.kind in {"unary", "hashing"} or (m.k > 2 and m.epsilon < 5):
        assert not np.array_equal(m.sample(codes), m.sample(codes))


def test_a_generator_moves_on():
    rng = np.random.default_rng(1)
    m = mechanism("grr", 10, 0.5)
    assert not np.array_equal(
        m.sample(np.zeros(99, int), rng=rng), m.sample(np.zeros(99, int), rng=rng)
    )


def test_equality_is_by_parameters():
    assert mechanism("oue", 4, 1.0) == mechanism("unary", 4, 1.0, variant="optimized")
    assert mechanism("oue", 4, 1.0) != mechanism("sue", 4, 1.0)
    assert mechanism("grr", 4, 1.0) != mechanism("subset", 4, 1.0)
    P = Channel.from_matrix([[0.9, 0.1], [0.2, 0.8]])
    assert mechanism("table", 2, matrix=P) == mechanism("table", 2, matrix=P.matrix)
    assert mechanism("table", 2, matrix=P) != mechanism("pram", 2, matrix=P)
    assert mechanism("grr", 1, 3.0) == mechanism("grr", 1, 0.0)  # nothing can be told
    assert mechanism("grr", 4, 1.0) != "grr"
