"""The test of independence: random tables and moments by enumeration, its level, laziness."""

from __future__ import annotations

from collections import Counter
from itertools import permutations as orders

import numpy as np
import pytest

from seepage.leakage import _independence
from seepage.leakage._independence import (
    independence_method,
    independence_test,
    permutation_moments,
    permutations,
    random_tables,
)
from seepage.leakage.sampling import sampled_leakage

MARGINS = [([3, 2, 2], [4, 1, 2]), ([5, 2], [3, 3, 1]), ([1, 1, 2, 1], [2, 3]), ([4, 3], [6, 1])]


def all_tables(rows, columns):
    """The table of every permutation of the records, with repetition."""
    x, y = np.repeat(np.arange(len(rows)), rows), np.repeat(np.arange(len(columns)), columns)
    shape = len(rows), len(columns)
    for order in orders(range(len(x))):
        yield np.bincount(x * shape[1] + y[list(order)], minlength=shape[0] * shape[1])


@pytest.mark.parametrize(("rows", "columns"), MARGINS)
def test_moments_by_enumeration(rows, columns):
    expected = np.outer(rows, columns).ravel() / sum(rows)
    values = [float(((t - expected) ** 2 / expected).sum()) for t in all_tables(rows, columns)]
    mean, variance = permutation_moments(np.array(rows), np.array(columns))
    assert mean == pytest.approx(np.mean(values), rel=1e-10)
    assert variance == pytest.approx(np.var(values), rel=1e-10)


@pytest.mark.parametrize(("rows", "columns"), MARGINS)
def test_random_tables_by_enumeration(rows, columns):
    """20,000 tables; Pearson's statistic over all tables stays below its 1 − 1e-5 quantile."""
    from scipy.stats import chi2

    counted = Counter(t.tobytes() for t in all_tables(rows, columns))
    total = sum(counted.values())
    drawn = random_tables(np.array(rows), np.array(columns), 20_000, np.random.default_rng(61))
    assert (drawn.sum(axis=2) == rows).all()
    assert (drawn.sum(axis=1) == columns).all()
    found = Counter(t.tobytes() for t in np.ascontiguousarray(drawn))
    assert set(found) <= set(counted)
    expected = np.array([20_000 * n / total for n in counted.values()])
    observed = np.array([found[key] for key in counted])
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(1 - 1e-5, len(counted) - 1)


def test_random_tables_of_many_records_against_scipy():
    """Means and variances of 4,000 tables each: within 5 standard errors in every cell."""
    from scipy.stats import random_table

    rows, columns = np.array([900, 80, 20]), np.array([700, 250, 40, 10])
    ours = random_tables(rows, columns, 4000, np.random.default_rng(62))
    theirs = random_table(rows, columns).rvs(4000, random_state=np.random.default_rng(63))
    spread = theirs.std(axis=0)
    assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * spread * np.sqrt(2 / 4000)).all()
    assert ours.std(axis=0) == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize(("n", "method"), [(60, "permutation"), (6000, "chi-square")])
def test_independence_test_keeps_its_level(n, method):
    """Of 600 tables, Bin(600, 0.05) rejections at most: above 52 with probability 1e-4."""
    rng = np.random.default_rng(51)
    p = np.outer([0.5, 0.3, 0.15, 0.05], [0.4, 0.3, 0.2, 0.1]).ravel()
    rejected = 0
    for _ in range(600):
        value, used = independence_test(rng.multinomial(n, p).reshape(4, 4), rng)
        assert used == method
        rejected += value <= 0.05
    assert 8 <= rejected <= 52


def test_pooled_tables_keep_the_level():
    """Of 200 sparse 20 × 20 tables, Bin(200, 0.05) rejections at most: above 23 with 1e-4."""
    rng = np.random.default_rng(52)
    rejected = 0
    for _ in range(200):
        table = rng.multinomial(300, np.outer(*rng.dirichlet(np.ones(20), 2)).ravel())
        rejected += independence_test(table.reshape(20, 20), rng)[0] <= 0.05
    assert 1 <= rejected <= 23


def test_p_values_of_the_stopped_test(monkeypatch):
    """10/l when the tenth table reached the statistic at draw l; else (1 + reached)/(1 + drawn)."""
    table = np.array([[3, 1, 0], [0, 2, 1], [1, 1, 2]])
    order = np.ix_(np.argsort(table.sum(axis=1)), np.argsort(table.sum(axis=0)))
    rows, columns = table[order].sum(axis=1), table[order].sum(axis=0)
    expected = np.outer(rows, columns) / table.sum()
    rng = np.random.default_rng(3)
    draws = np.concatenate([random_tables(rows, columns, size, rng) for size in (25, 74)])
    reached = (draws**2 / expected).sum(axis=(1, 2)) >= (table[order] ** 2 / expected).sum() - 1e-9
    ten = np.flatnonzero(reached)[9] + 1
    assert independence_test(table, np.random.default_rng(3)) == (10 / ten, "permutation")
    monkeypatch.setattr(_independence, "REACHED", 10**6)
    value, _ = independence_test(table, np.random.default_rng(3))
    assert value == pytest.approx((1 + reached.sum()) / 100)


def test_clear_dependence_draws_no_tables(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(_independence, "random_tables", refuse)
    value, method = independence_test(np.diag([300, 300, 2, 1]), np.random.default_rng(0))
    assert method == "permutation"
    assert 0 < value <= 1e-3


def test_p_value_does_not_depend_on_when_it_is_asked_for():
    table = np.random.default_rng(4).poisson(2, (6, 7))
    rng = np.random.default_rng(9)
    first, second = sampled_leakage(table, 1.0, rng=rng), sampled_leakage(table, 1.0, rng=rng)
    later = second.independence_p_value, first.independence_p_value
    rng = np.random.default_rng(9)
    again = [sampled_leakage(table, 1.0, rng=rng).independence_p_value for _ in range(2)]
    assert later == (again[1], again[0])
    assert first.independence_p_value is first.independence_p_value


def test_a_positive_lower_limit_needs_no_test(monkeypatch):
    monkeypatch.delattr("seepage.leakage.sampling.independence_test")
    assert sampled_leakage(np.eye(3, dtype=int) * 200 + 1, 1.0).distinguishable
    assert not sampled_leakage(np.eye(3, dtype=int) * 200 + 1, 0.0).distinguishable


def test_number_of_tables_follows_the_level():
    assert permutations(0.025) == 99
    assert permutations(0.005) == 399
    assert permutations(1e-9) == 1999


def test_independence_statistic_against_scipy():
    from scipy.stats import chi2_contingency

    table = np.random.default_rng(52).poisson(30, (5, 4))
    expected = chi2_contingency(table, correction=False).pvalue
    value, method = independence_test(table, np.random.default_rng(0))
    assert method == independence_method(table) == "chi-square"
    assert value == pytest.approx(expected, rel=1e-10)
