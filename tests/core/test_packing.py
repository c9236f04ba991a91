"""Packed pairwise counting against a table for each pair, counted by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage import _packing
from seepage._packing import PairCounter, choose_layout

SIZES = st.lists(
    st.one_of(st.integers(1, 6), st.sampled_from([17, 60, 500])), min_size=1, max_size=9
)


def direct(columns, sizes, weights=None):
    n = len(columns[0])
    unit = np.ones(n, dtype=np.int64) if weights is None else weights
    tables = {}
    for i, j in combinations(range(len(sizes)), 2):
        tables[i, j] = np.zeros((sizes[i], sizes[j]), dtype=np.int64)
        np.add.at(tables[i, j], (columns[i], columns[j]), unit)
    return tables


def check(sizes, columns, weights=None, records=None):
    counter = PairCounter(
        sizes, choose_layout(sizes, len(columns[0]) if records is None else records)
    )
    counter.add(columns, weights)
    found = list(counter.pairs())
    expected = direct(columns, sizes, weights)
    assert sorted((i, j) for i, j, _ in found) == sorted(expected)  # each pair exactly once
    for i, j, table in found:
        np.testing.assert_array_equal(table, expected[i, j])
    for i, k in enumerate(sizes):
        single = np.zeros(k, dtype=np.int64)
        np.add.at(single, columns[i], 1 if weights is None else weights)
        np.testing.assert_array_equal(counter.single(i), single)


@given(sizes=SIZES, seed=st.integers(0, 999), records=st.sampled_from([None, 1, 10**6, 10**9]))
def test_equals_one_table_for_each_pair(sizes, seed, records):
    """Whatever number of records the layout was chosen for."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, k, 200) for k in sizes]
    check(sizes, columns, records=records)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.int64])
def test_narrow_codes_do_not_overflow(kind):
    rng = np.random.default_rng(1)
    sizes = [2] * 9 + [200, 100, 7]
    columns = [rng.integers(0, k, 3000).astype(kind) for k in sizes]
    check(sizes, columns, records=10**7)


@pytest.mark.parametrize("scale", [1, 2**40, 2**50])
def test_weights_are_exact(scale):
    rng = np.random.default_rng(2)
    sizes = [3, 4, 2, 5]
    columns = [rng.integers(0, k, 500) for k in sizes]
    check(sizes, columns, rng.integers(0, 9, 500) * scale + 1)


def test_blocks_add_up(monkeypatch):
    monkeypatch.setattr(_packing, "BLOCK", 64)
    rng = np.random.default_rng(3)
    sizes = [2, 2, 3, 40, 2]
    check(sizes, [rng.integers(0, k, 1000) for k in sizes], rng.integers(0, 5, 1000))


def test_forty_binary_columns_need_few_passes():
    layout = choose_layout([2] * 40, 10**6)
    assert len(layout.passes) <= 15
    assert (
        max(2 ** (len(layout.packs[a]) + len(layout.packs[b])) for a, b in layout.passes) <= 2**20
    )


def test_a_wide_column_is_not_multiplied_by_others():
    """A table of 10,000 categories times a full pack would cost more than it saves."""
    sizes = [10_000] + [2] * 12
    layout = choose_layout(sizes, 5000)
    cells = [
        np.prod([sizes[i] for p in (a, b) if p >= 0 for i in layout.packs[p]])
        for a, b in layout.passes
    ]
    assert max(cells) <= 2**17
