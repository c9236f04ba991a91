"""Counting: sums of batches, marginals, conditionals, and refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage import CapacityError, Counts, Domain, DomainError, InvalidInputError, PairCounts
from seepage.counts import cells_needed, check_capacity, conditional_rows

DOMAIN = Domain.of({"a": ["x", "y"], "b": [1, 2, 3], "c": [True], "d": list("pqrs")})
NAN, INF = float("nan"), float("inf")


def codes(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, DOMAIN.shape, (n, 4))


def test_pair_counts_equal_crosstab():
    rng = np.random.default_rng(0)
    data, weights = codes(rng, 500), rng.integers(0, 5, 500)
    frame = pd.DataFrame(data, columns=DOMAIN.names)
    plain, weighted = (
        PairCounts.from_codes(DOMAIN, data),
        PairCounts.from_codes(DOMAIN, data, weights),
    )
    assert plain.total == 500
    assert weighted.total == weights.sum()
    for row, column in permutations(DOMAIN.names, 2):
        shape = DOMAIN[row].size, DOMAIN[column].size
        index, columns = (pd.RangeIndex(k) for k in shape)
        wanted = pd.crosstab(frame[row], frame[column]).reindex(
            index=index, columns=columns, fill_value=0
        )
        np.testing.assert_array_equal(plain.table(row, column), wanted)
        assert plain.pair(row, column) == Counts(DOMAIN.project([row, column]), wanted.to_numpy())
        wanted = (
            pd.crosstab(frame[row], frame[column], values=weights, aggfunc="sum")
            .reindex(index=index, columns=columns)
            .fillna(0)
        )
        np.testing.assert_array_equal(weighted.table(row, column), wanted)
    for name in DOMAIN.names:
        wanted = frame[name].value_counts().reindex(range(DOMAIN[name].size), fill_value=0)
        np.testing.assert_array_equal(plain.single(name).values, wanted)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.booleans(), st.integers(0, 99))
def test_sum_of_batches_is_the_count_of_all(sizes, weighted, seed):
    rng = np.random.default_rng(seed)
    batches = [codes(rng, n) for n in sizes]
    weights = [rng.integers(0, 9, n) if weighted else None for n in sizes]
    parts = [PairCounts.from_codes(DOMAIN, *batch) for batch in zip(batches, weights, strict=True)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    whole = PairCounts.from_codes(
        DOMAIN, np.concatenate(batches), np.concatenate(weights) if weighted else None
    )
    assert total == whole
    assert PairCounts.from_batches(DOMAIN, zip(batches, weights, strict=True)) == whole
    if not weighted:
        assert PairCounts.from_batches(DOMAIN, iter(batches)) == whole
    names = ["d", "a", "b"]
    chosen = [DOMAIN.position(name) for name in names]
    again = PairCounts.from_codes(
        DOMAIN.project(names),
        np.concatenate(batches)[:, chosen],
        np.concatenate(weights) if weighted else None,
    )
    assert whole.project(names) == again


def test_counts_project_and_conditional():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, DOMAIN.shape)
    counts = Counts(DOMAIN, values)
    assert counts.total == values.sum()
    np.testing.assert_array_equal(counts.project(["d", "a"]).values, np.einsum("abcd->da", values))
    np.testing.assert_array_equal(
        counts.project(["b", "d", "a"]).values, np.einsum("abcd->bda", values)
    )
    assert counts.project(DOMAIN.names) == counts
    assert (counts + counts).total == 2 * counts.total
    pair = Counts(Domain.of({"u": [0, 1, 2], "v": [0, 1]}), np.array([[1, 3], [0, 0], [2, 0]]))
    table, rows = pair.conditional("u")
    np.testing.assert_array_equal(rows, [0, 2])
    np.testing.assert_array_equal(table, [[0.25, 0.75], [1, 0]])
    table, rows = pair.conditional("v")
    np.testing.assert_array_equal(rows, [0, 1])
    np.testing.assert_array_equal(table, [[1 / 3, 0, 2 / 3], [1, 0, 0]])


def test_weights_beyond_double_precision_are_exact():
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    counts = PairCounts.from_codes(
        domain, np.array([[0, 0], [0, 0], [1, 1]]), np.array([2**53, 1, 3])
    )
    assert counts.table("a", "b").tolist() == [[2**53 + 1, 0], [0, 3]]
    assert counts.total == 2**53 + 4


def test_counts_that_integers_do_not_hold_are_refused():
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    codes, weights = np.array([[0, 0], [1, 1], [0, 1]]), np.array([2**61, 2**58, 2**58])
    one = PairCounts.from_codes(domain, codes, weights)
    assert one.total == 2**61 + 2**59
    with pytest.raises(
        InvalidInputError, match=r"counts that add up to less than 2\^62, got 5.76e"
    ):
        one + one
    with pytest.raises(InvalidInputError, match="counts that add up"):
        one.pair("a", "b") + one.pair("a", "b")
    with pytest.raises(InvalidInputError, match="weights that add up"):
        PairCounts.from_batches(domain, [(codes, weights)] * 2)
    with pytest.raises(InvalidInputError, match="counts that add up"):
        Counts(domain, np.full((2, 2), 2**60))
    half = PairCounts.from_codes(domain, codes[:1], np.array([2**61]))
    less = PairCounts.from_codes(domain, codes[1:2], np.array([2**61 - 1]))
    assert (half + less).total == 2**62 - 1
    assert (half + less).table("a", "b").tolist() == [[2**61, 0], [0, 2**61 - 1]]
    with pytest.raises(InvalidInputError):
        half + half


def test_no_records():
    empty = PairCounts.from_codes(DOMAIN, np.zeros((0, 4), dtype=int))
    assert empty.total == 0
    with pytest.raises(InvalidInputError, match="at least one record"):
        empty.pair("a", "b").conditional("a")
    with pytest.raises(InvalidInputError, match="at least one record"):
        conditional_rows(np.zeros((2, 2), dtype=int))
    assert PairCounts.from_batches(DOMAIN, []) == empty


def test_capacity_is_refused_before_counting():
    domain = Domain.of({"id": list(range(100_000)), "zip": list(range(1000)), "sex": ["f", "m"]})
    assert cells_needed(domain) == 100_000 * 1000 + 100_000 * 2 + 1000 * 2
    with pytest.raises(CapacityError, match=r"0\.8 GB.*'id' \(100,000 categories\)"):
        PairCounts.from_codes(domain, np.zeros((1, 3), dtype=int))
    check_capacity(domain, limit=10**9)
    assert cells_needed(Domain.of({"id": [1, 2]})) == 0


@pytest.mark.parametrize(
    "values",
    [
        [[-1, 0], [0, 0]],
        [[0.5, 0], [0, 0]],
        [[NAN, 0], [0, 0]],
        [[INF, 0], [0, 0]],
        [[True, False], [True, True]],
        [["1", "2"], ["3", "4"]],
        [[1j, 0], [0, 0]],
        [[1, 2], [3]],
        [[None, 0], [0, 0]],
        [[2**64, 0], [0, 0]],
        [[2**62, 2**62], [0, 0]],
        [[1e300, 0], [0, 0]],
        [1, 2],
        [],
        None,
        "counts",
    ],
    ids=repr,
)
def test_hostile_counts(values):
    with pytest.raises(InvalidInputError, match="expected"):
        Counts(Domain.of({"u": [0, 1], "v": [0, 1]}), values)


@pytest.mark.parametrize("domain", [None, "u", {"u": [0]}, [2, 2]])
def test_hostile_domain(domain):
    with pytest.raises(InvalidInputError, match="Domain"):
        Counts(domain, np.zeros((2, 2)))
    with pytest.raises(InvalidInputError, match="Domain"):
        PairCounts.from_codes(domain, np.zeros((2, 2), dtype=int))


@pytest.mark.parametrize(
    "data",
    [
        [[0, 0, 0, 4]],
        [[-1, 0, 0, 0]],
        [[0, 0, 0]],
        [[0.0, 0, 0, 0]],
        [[True, False, True, False]],
        [["0", "0", "0", "0"]],
        [[0, 0, 0, 0], [0]],
        [0, 0, 0, 0],
        [],
        None,
        [[None, 0, 0, 0]],
    ],
    ids=repr,
)
def test_hostile_codes(data):
    with pytest.raises(InvalidInputError, match="expected"):
        PairCounts.from_codes(DOMAIN, data)


@pytest.mark.parametrize(
    "weights",
    [[1], [1, -1], [1, 0.5], [NAN, 1], ["1", "1"], [True, True], [[1, 1]], [2**62, 2**62], [1, 1j]],
    ids=repr,
)
def test_hostile_weights(weights):
    with pytest.raises(InvalidInputError, match="weights"):
        PairCounts.from_codes(DOMAIN, np.zeros((2, 4), dtype=int), weights)


def test_hostile_requests():
    counts = PairCounts.from_codes(DOMAIN, np.zeros((2, 4), dtype=int))
    with pytest.raises(DomainError, match="two different columns"):
        counts.table("a", "a")
    with pytest.raises(DomainError, match="column of the domain"):
        counts.table("a", "z")
    with pytest.raises(DomainError, match="same columns"):
        counts + counts.project(["a", "b"])
    other = Domain.of({"a": ["x", "z"], "b": [1, 2, 3], "c": [True], "d": list("pqrs")})
    with pytest.raises(DomainError, match="categories for 'a'"):
        counts + PairCounts.from_codes(other, np.zeros((2, 4), dtype=int))
    with pytest.raises(TypeError):
        counts + 1
    with pytest.raises(InvalidInputError, match="two attributes"):
        counts.single("a").conditional("a")
    with pytest.raises(DomainError, match="column"):
        counts.pair("a", "b").conditional("d")
    with pytest.raises(InvalidInputError, match="3 items"):
        PairCounts.from_batches(DOMAIN, [(1, 2, 3)])
    assert counts != 1
    assert counts.single("a") != 1
