"""Edges, labels and intervals against direct computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.domain import Attribute
from seepage.tables.binning import (
    assign,
    interval_labels,
    number_text,
    quantile_edges,
    width_edges,
)

FINITE = st.floats(-1e300, 1e300, allow_nan=False)
DISTINCT = st.lists(
    st.one_of(FINITE, st.integers(-1000, 1000).map(float)), min_size=2, max_size=60
).map(lambda values: np.unique(np.array(values) + 0.0))


@given(DISTINCT, st.integers(1, 15))
def test_equal_width_puts_every_value_where_exact_edges_do(values, n_bins):
    if len(values) < 2:
        return
    edges = width_edges(values, n_bins)
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= values[0]
    assert edges[-1] >= values[-1]
    part = np.arange(1, n_bins) / n_bins
    inner = np.unique(values[0] * (1 - part) + values[-1] * part)
    inner = inner[(inner > values[0]) & (inner < values[-1])]
    expected = np.searchsorted(inner, values, side="right")
    assert np.array_equal(assign(values, edges), expected)


@given(DISTINCT, st.integers(1, 15), st.data())
def test_quantile_intervals_hold_at_least_their_share(values, n_bins, data):
    if len(values) < 2:
        return
    size = len(values)
    counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    edges = quantile_edges(values, counts, n_bins)
    found = assign(values, edges)
    assert (found >= 0).all()
    assert len(edges) <= n_bins + 1
    held = np.bincount(found, weights=counts, minlength=len(edges) - 1)
    assert (held > 0).all()
    # One interval overflows its share by less than the records of the value that fills it.
    assert held.max() < counts.sum() / n_bins + counts.max() + 1e-9


def test_many_equal_values_leave_fewer_quantile_intervals():
    edges = quantile_edges(np.array([0.0, 114.0, 99999.0]), np.array([90, 5, 5]), 10)
    assert interval_labels(edges) == ("[0, 57)", "[57, 99999]")


@pytest.mark.parametrize(
    ("values", "n_bins", "labels"),
    [
        ([17, 90], 10, ("[17, 24.3)", "[82.7, 90]")),
        ([0, 0.3], 3, ("[0, 0.1)", "[0.2, 0.3]")),
        ([1, 2], 1, ("[1, 2]", "[1, 2]")),
        ([-1e300, 1e300], 2, ("[-1e+300, 0)", "[0, 1e+300]")),
        ([12285, 1490400], 10, ("[12285, 160000)", "[1343000, 1490400]")),
        ([0.123456789, 1.123456789], 2, ("[0.12, 0.62)", "[0.62, 1.124]")),
    ],
)
def test_labels_are_short(values, n_bins, labels):
    values = np.array(values, dtype=float)
    found = interval_labels(width_edges(values, n_bins))
    first, last = found[0], found[-1]
    assert (first, last) == labels


@given(DISTINCT, st.integers(1, 12))
def test_labels_read_back_as_the_edges_in_use(values, n_bins):
    if len(values) < 2:
        return
    edges = width_edges(values, n_bins).tolist()
    labels = interval_labels(edges)
    assert len(set(labels)) == len(labels)
    assert [float(label.strip("[)]").split(", ")[0]) for label in labels] == edges[:-1]
    Attribute("x", labels, edges=tuple(edges))


def test_assign_closes_only_the_last_interval():
    edges = [0, 1, 2.5]
    values = np.array([-0.1, 0, 0.999, 1, 2.5, 2.6])
    assert assign(values, edges).tolist() == [-1, 0, 0, 1, 1, -1]
    open_ended = assign(np.array([-np.inf, -5, 5, np.inf]), [-np.inf, 0, np.inf])
    assert open_ended.tolist() == [0, 0, 1, 1]


def test_number_text():
    assert [number_text(x) for x in (17.0, 24.3, -0.5, 1e22, float("inf"))] == [
        "17",
        "24.3",
        "-0.5",
        "1e+22",
        "inf",
    ]
