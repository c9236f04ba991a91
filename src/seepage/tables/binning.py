"""Intervals of numbers: edges, labels, and which interval a number falls into."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from seepage._numeric import FloatArray, IntArray

_TOLERANCE = 0.01
"""How far, in widths of the narrower neighbour, an edge may move to become a shorter number."""

_SHORT = 7
"""Characters of an edge that need no shortening."""


def width_edges(values: FloatArray, n_bins: int) -> FloatArray:
    """Edges of `n_bins` intervals of equal width that cover `values`.

    Parameters
    ----------
    values : array of float, shape (m,)
        Distinct, finite, in order, at least two.
    n_bins : int
        At least one.

    Returns
    -------
    array of float, shape (at most n_bins + 1,)
        Each edge is the shortest number near the exact one that puts every value into the same
        interval, so that a label states the very edge in use.
    """
    return _short(width_cuts(float(values[0]), float(values[-1]), n_bins), values)


def width_cuts(low: float, high: float, n_bins: int) -> FloatArray:
    """Exact inner edges of `n_bins` intervals of equal width from `low` to `high`."""
    part = np.arange(1, n_bins) / n_bins
    return low * (1 - part) + high * part


def quantile_edges(values: FloatArray, counts: IntArray, n_bins: int) -> FloatArray:
    """Edges of at most `n_bins` intervals with about equally many records.

    A value that holds more than its share of records takes several quantiles; equal edges are
    joined, so there may be fewer intervals.

    Parameters
    ----------
    values : array of float, shape (m,)
        Distinct, finite, in order, at least two.
    counts : array of int, shape (m,)
        Records with each value.
    n_bins : int
        At least one.

    Returns
    -------
    array of float, shape (at most n_bins + 1,)
    """
    cumulated = np.cumsum(counts)
    targets = cumulated[-1] * (np.arange(1, n_bins) / n_bins)
    last = np.searchsorted(cumulated, targets)  # the value that reaches each quantile
    last = np.unique(last[last < len(values) - 1])
    middle = values[last] / 2 + values[last + 1] / 2
    middle = np.where(middle > values[last], middle, values[last + 1])
    return _short(middle, values)


def _short(inner: FloatArray, values: FloatArray) -> FloatArray:
    low, high = float(values[0]), float(values[-1])
    inner = np.unique(inner[(inner > low) & (inner < high)])
    exact = np.concatenate([[low], inner, [high]])
    widths = np.diff(exact)
    room = np.minimum(widths, np.append(widths[1:], widths[-1])) * _TOLERANCE
    after = np.searchsorted(values, inner)
    shorter = [
        _shortest(edge, float(values[i - 1]), min(float(values[i]), high), tolerance, high)
        for edge, i, tolerance in zip(inner.tolist(), after.tolist(), room.tolist(), strict=False)
    ]
    tolerance = float(room[0])
    return np.unique(
        [
            _outward(low, tolerance, math.floor),
            *shorter,
            _outward(high, float(widths[-1]) * _TOLERANCE, math.ceil),
        ]
    )


def _decimals(edge: float) -> range:
    size = math.floor(math.log10(abs(edge))) if edge else 0
    return range(-size - 1, 18 - size)


def _shortest(edge: float, below: float, above: float, tolerance: float, high: float) -> float:
    """Shortest decimal near `edge` in (below, above] and under `high`."""
    exact = round(edge, _decimals(edge)[13])  # without the noise of floating point
    if below < exact <= above and exact < high and len(number_text(exact)) <= _SHORT:
        return exact + 0.0
    for digits in _decimals(edge):
        short = round(edge, digits)
        if below < short <= above and short < high and abs(short - edge) <= tolerance:
            return short + 0.0
    return edge


def _outward(edge: float, tolerance: float, rounding: Callable[[float], int]) -> float:
    """Shortest decimal that does not cut off `edge`."""
    if len(number_text(edge)) <= _SHORT:
        return edge
    for digits in _decimals(edge):
        if not -300 < digits < 300:
            continue
        short = round(edge, digits)
        if rounding is math.floor and short > edge:
            short = round(short - 10.0**-digits, digits)
        if rounding is math.ceil and short < edge:
            short = round(short + 10.0**-digits, digits)
        covers = short <= edge if rounding is math.floor else short >= edge
        if covers and math.isfinite(short) and abs(short - edge) <= tolerance:
            return short + 0.0
    return edge


def number_text(value: float) -> str:
    """Write a number as shortly as reading it back allows."""
    text = repr(float(value) + 0.0)  # no negative zero
    return text.removesuffix(".0")


def interval_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Labels of the intervals between `edges`: half open, the last one closed.

    Examples
    --------
    >>> interval_labels([17, 24.3, 90])
    ('[17, 24.3)', '[24.3, 90]')
    """
    texts = [number_text(edge) for edge in edges]
    last = len(texts) - 2
    return tuple(
        f"[{low}, {high}{']' if i == last else ')'}"
        for i, (low, high) in enumerate(pairwise(texts))
    )


def assign(values: FloatArray, edges: Sequence[float]) -> IntArray:
    """Interval of each value, −1 outside the edges.

    Parameters
    ----------
    values : array of float, shape (m,)
    edges : sequence of float, length b + 1
        Increasing.

    Returns
    -------
    array of int, shape (m,)
        In −1 … b − 1; a value equal to the last edge is in the last interval.
    """
    limits = np.asarray(edges, dtype=np.float64)
    found = np.searchsorted(limits, values, side="right") - 1
    found = np.where(values == limits[-1], len(limits) - 2, found)
    return np.where((found >= 0) & (found < len(limits) - 1), found, -1)
