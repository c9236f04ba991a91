"""The baselines against enumeration, fractions and other libraries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage import Attribute, Counts, Domain, InvalidInputError, TradeOff, randomized_response
from seepage.leakage import baselines, pairwise_total

EPSILONS = np.array([0.0, 1e-9, 0.1, 1.0, 3.0, 10.0, 40.0, 700.0, 1e4, np.inf])
TABLE = [[0.9, 0.1, 0.0], [0.2, 0.5, 0.3], [0.0, 0.5, 0.5]]


@st.composite
def tables(draw, max_rows=4, max_columns=6):
    a = draw(st.integers(1, max_rows))
    b = draw(st.integers(1, max_columns))
    cell = st.one_of(st.just(0), st.integers(0, 5), st.integers(0, 10**6))
    rows = draw(st.lists(st.lists(cell, min_size=b, max_size=b), min_size=a, max_size=a))
    rows = np.array([row if sum(row) else [1, *row[1:]] for row in rows], dtype=float)
    return rows / rows.sum(axis=1, keepdims=True)


def event_leakage(P, events, epsilon):
    """Largest leakage over ordered pairs and the given events, straight from the definition."""
    member = np.zeros((len(events), P.shape[1]))
    for row, event in zip(member, events, strict=True):
        row[list(event)] = 1
    x, y = np.nonzero(~np.eye(len(P), dtype=bool))
    alpha, gap = P[y] @ member.T, (P[x] - P[y]) @ member.T
    alpha, gap = alpha[gap > 0], gap[gap > 0]
    if epsilon < 30:
        t = np.expm1(epsilon)
        return float(np.log1p(t * gap / (1 + t * alpha)).max(initial=0.0))
    with np.errstate(divide="ignore"):
        logs = [
            np.logaddexp(np.log(p), np.log1p(-np.minimum(p, 1)) - epsilon)
            for p in (alpha + gap, alpha)
        ]
    return float((logs[0] - logs[1]).max(initial=0.0))


def subsets(b, sizes=None):
    sizes = range(1, b + 1) if sizes is None else sizes
    return [event for size in sizes for event in combinations(range(b), size)]


# ------------------------------------------------------------------ HCC-1 and GRR


def test_hcc1_equals_fractions():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b, c = rng.integers(1, 5, size=3)
        P, M = (
            [[Fraction(int(v), int(row.sum())) for v in row] for row in rng.integers(1, 9, size=s)]
            for s in ((a, b), (b, c))
        )
        out = [[sum(p * m[y] for p, m in zip(row, M, strict=True)) for y in range(c)] for row in P]
        ratio = max(r[y] / s[y] for y in range(c) for r in out for s in out)
        found = baselines.hcc1(np.array(P, dtype=float), np.array(M, dtype=float))
        assert found == pytest.approx(math.log(ratio), rel=1e-12, abs=1e-14)


def test_hcc1_limits():
    assert baselines.hcc1(TABLE, np.eye(3)) == np.inf
    assert baselines.hcc1(TABLE, np.full((3, 2), 0.5)) == 0
    with pytest.raises(InvalidInputError, match="3 inputs"):
        baselines.hcc1(TABLE, np.eye(2))


@given(tables())
def test_grr_is_hcc1_with_randomized_response_and_its_with_singletons(P):
    b = P.shape[1]
    found = baselines.grr_leakage(P, EPSILONS)
    assert not np.isnan(found).any()
    assert np.array_equal(found, baselines.its(P, EPSILONS))
    assert np.array_equal(found, baselines.cbp(P, EPSILONS))
    assert (found <= baselines.hcc2(P, EPSILONS) * (1 + 1e-12)).all()
    for epsilon, value in zip(EPSILONS, found, strict=True):
        assert value == pytest.approx(
            event_leakage(P, subsets(b, [1]), epsilon), rel=1e-12, abs=1e-15
        )
        direct = baselines.hcc1(P, randomized_response(b, epsilon))
        # The output distribution is held as logarithms, which costs absolute precision.
        assert direct == pytest.approx(value, rel=1e-11, abs=1e-12 if epsilon < 100 else 1e-10)


@given(tables(), st.sampled_from([1e-9, 0.5, 5.0, np.inf]))
def test_grr_witness_attains_the_leakage(P, epsilon):
    value, (x, y), column = baselines.grr_witness(P, epsilon)
    assert value == baselines.grr_leakage(P, epsilon)
    if column < 0:
        assert value == 0
        assert (x, y) == (-1, -1)
    else:
        assert value == pytest.approx(event_leakage(P[[x, y]], [(column,)], epsilon), rel=1e-12)


# ------------------------------------------------------------------ worst case


@given(tables())
@settings(max_examples=60)
def test_every_subset_reaches_hcc2(P):
    every = subsets(P.shape[1])
    unary = baselines.its(P, EPSILONS, "unary")
    assert np.array_equal(unary, baselines.its(P, EPSILONS, "local_hashing"))
    for epsilon, value in zip(EPSILONS, unary, strict=True):
        assert value == pytest.approx(event_leakage(P, every, epsilon), rel=1e-12, abs=1e-15)
        single = baselines.hcc2(P, epsilon)
        assert isinstance(single, float)
        assert single == pytest.approx(value, rel=1e-12)


@given(tables(max_rows=6, max_columns=9))
def test_ltm_equals_hcc2(P):
    epsilons = np.concatenate((EPSILONS, np.linspace(0.01, 8, 40)))
    found = baselines.ltm(P).leakage(epsilons)
    assert not np.isnan(found).any()
    assert found == pytest.approx(baselines.hcc2(P, epsilons), rel=1e-12, abs=2e-16)


@pytest.mark.parametrize("tiny", [1e-200, 1e-308, 5e-324])
def test_ltm_with_tiny_probabilities(tiny):
    for P in ([[1 - tiny, tiny], [tiny, 1 - tiny]], [[0.5, 0.5 - tiny, tiny], [0.5, 0.0, 0.5]]):
        found = baselines.ltm(P).leakage(EPSILONS)
        assert found == pytest.approx(TradeOff.envelope(P).leakage(EPSILONS), rel=1e-12)


def test_ltm_at_its_breakpoints():
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.full(8, 0.6), size=5)
    table = baselines.ltm(P)
    points = np.unique(table.breakpoints[np.isfinite(table.breakpoints)])
    epsilons = np.concatenate((points, np.nextafter(points, 0), np.nextafter(points, 9e9)))
    assert table.leakage(epsilons) == pytest.approx(baselines.hcc2(P, epsilons), rel=1e-12)
    assert isinstance(table.leakage(1.0), float)
    assert table.leakage(np.ones((2, 2))).shape == (2, 2)


# ------------------------------------------------------------------ subset selection


@given(tables(), st.integers(1, 6))
@settings(max_examples=60)
def test_subset_selection_equals_enumeration(P, omega):
    b = P.shape[1]
    omega = min(omega, b)
    found = baselines.its(P, EPSILONS, "subset", omega=omega)
    assert not np.isnan(found).any()
    for epsilon, value in zip(EPSILONS, found, strict=True):
        expected = event_leakage(P, subsets(b, [omega]), epsilon)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)


@given(tables(), st.sampled_from([0.0, 0.3, 1.0, 2.0, 50.0, np.inf]))
def test_subset_selection_chooses_its_size(P, epsilon):
    b = P.shape[1]
    size = baselines.subset_size(b, epsilon)
    assert size == max(1, round(b / (math.exp(epsilon) + 1)) if epsilon < 700 else 1)
    found = baselines.its(P, epsilon, "subset")
    assert isinstance(found, float)
    assert found == baselines.its(P, epsilon, "subset", omega=size)


def test_subset_selection_in_blocks(monkeypatch):
    from seepage.leakage import _mechanisms

    P = np.random.default_rng(2).dirichlet(np.ones(7), size=9)
    whole = baselines.its(P, [0.5, 2.0], "subset", omega=3)
    monkeypatch.setattr(_mechanisms, "_BLOCK", 1)
    assert np.array_equal(baselines.its(P, [0.5, 2.0], "subset", omega=3), whole)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": "unairy"}, "Did you mean 'unary'"),
        ({"mechanism": "unary", "omega": 2}, "omega"),
        ({"mechanism": "subset", "omega": 4}, r"\[1, 3\]"),
        ({"mechanism": "subset", "omega": 0}, "omega"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": np.nan, "mechanism": "subset"}, "epsilon"),
    ],
)
def test_its_checks_its_arguments(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        baselines.its(TABLE, **{"epsilon": 1.0, **arguments})


# ------------------------------------------------------------------ association


def counts_strategy():
    shape = st.tuples(st.integers(1, 5), st.integers(1, 5))
    return shape.flatmap(
        lambda s: st.lists(st.integers(0, 40), min_size=s[0] * s[1], max_size=s[0] * s[1]).map(
            lambda v: np.array(v).reshape(s)
        )
    ).filter(lambda table: table.sum() > 0)


@given(counts_strategy())
def test_mutual_information_equals_high_precision(table):
    mp = mpmath.mp.clone()
    mp.dps = 40
    n = int(table.sum())
    expected = mp.mpf(0)
    for (i, j), value in np.ndenumerate(table):
        if value:
            ratio = mp.mpf(int(value) * n) / (int(table[i].sum()) * int(table[:, j].sum()))
            expected += mp.mpf(int(value)) / n * mp.log(ratio)
    found = baselines.mutual_information(table)
    assert found == pytest.approx(float(expected), rel=1e-12, abs=1e-14)
    assert found >= 0
    assert baselines.mutual_information(table / n) == pytest.approx(found, rel=1e-12, abs=1e-14)


def test_mutual_information_equals_scipy_and_limits():
    from scipy.stats import entropy

    table = np.array([[5.0, 1, 0], [2, 8, 4]])
    joint = table / table.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    expected = entropy(joint.ravel(), product.ravel())
    assert baselines.mutual_information(table) == pytest.approx(expected, rel=1e-13)
    assert baselines.mutual_information(np.eye(4)) == pytest.approx(math.log(4), rel=1e-15)
    assert baselines.mutual_information([[2, 4], [3, 6]]) == pytest.approx(0, abs=1e-15)
    assert baselines.mutual_information([[1e-300, 0], [0, 1.0]]) >= 0


@given(counts_strategy(), st.integers(0, 2**32 - 1))
def test_pearson_equals_numpy_on_the_records(table, seed):
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=k) for k in table.shape)
    rows, columns = (np.repeat(i.ravel(), table.ravel()) for i in np.indices(table.shape))
    if len(set(rows)) == 1 or len(set(columns)) == 1:
        assert baselines.pearson(table, x, y) == 0
        return
    expected = np.corrcoef(x[rows], y[columns])[0, 1]
    assert baselines.pearson(table, x, y) == pytest.approx(expected, abs=1e-9)
    expected = np.corrcoef(rows, columns)[0, 1]
    assert baselines.pearson(table) == pytest.approx(expected, abs=1e-12)


def test_pearson_reads_numeric_labels():
    values = np.array([[3, 1], [1, 2], [0, 5]])
    numeric = Domain([Attribute("dose", (0, 1, 10)), Attribute("sex", ("f", "m"))])
    found = baselines.pearson(Counts(numeric, values))
    assert found == pytest.approx(baselines.pearson(values, row_scores=[0, 1, 10]), rel=1e-14)
    assert found != pytest.approx(baselines.pearson(values), rel=1e-3)
    mixed = Domain([Attribute("dose", (0, 1, "many")), Attribute("flag", (False, True))])
    assert baselines.pearson(Counts(mixed, values)) == baselines.pearson(values)


@pytest.mark.parametrize("measure", [baselines.mutual_information, baselines.pearson])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1, 2], "two attributes"),
        ([[1, -1]], "0 or more"),
        ([[np.nan, 1]], "finite"),
        ([[0, 0]], "at least one record"),
        ([["a"]], "numeric"),
    ],
)
def test_association_checks_its_table(measure, table, message):
    with pytest.raises(InvalidInputError, match=message):
        measure(table)


def test_pearson_checks_its_scores():
    with pytest.raises(InvalidInputError, match="2 finite row_scores"):
        baselines.pearson([[1, 2], [3, 4]], row_scores=[1.0])
    with pytest.raises(InvalidInputError, match="column_scores"):
        baselines.pearson([[1, 2], [3, 4]], column_scores=[1.0, np.inf])


# ------------------------------------------------------------------ pairwise total


def test_pairwise_total():
    leakage = [[np.nan, 0.5, 0.25], [0.0, np.nan, np.inf], [0.1, 0.2, np.nan]]
    assert pairwise_total(leakage, [1.0, 2.0, 0.0]) == pytest.approx([1.75, np.inf, 0.3])
    assert pairwise_total(np.zeros((2, 2)), 1.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("leakage", "budgets", "message"),
    [
        ([[0.0, 1.0]], 1.0, "shape"),
        (np.zeros((2, 2)), [1.0], "one budget"),
        (np.zeros((2, 2)), [1.0, -1.0], "budgets"),
        ([[0.0, np.nan], [0.0, 0.0]], 1.0, "leakage"),
    ],
)
def test_pairwise_total_checks_its_arguments(leakage, budgets, message):
    with pytest.raises(InvalidInputError, match=message):
        pairwise_total(leakage, budgets)
