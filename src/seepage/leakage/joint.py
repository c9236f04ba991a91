"""Exact leakage of actual channels about one attribute, from the joint table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, as_float_array, log_zero_ok
from seepage.channel import Channel
from seepage.counts import MAX_CELLS
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError

_SAFE_LOG = -600.0
"""Products of probabilities above e to this power are far from the smallest normal number."""


def check_joint_capacity(
    names: Sequence[str], sizes: Sequence[int], outputs: Sequence[int], limit: int = MAX_CELLS
) -> None:
    """Refuse a joint table, or a table of joint reports, that would not fit.

    Parameters
    ----------
    names : sequence of str
        The secret first, then the released attributes.
    sizes : sequence of int
        Their numbers of categories.
    outputs : sequence of int
        Number of reports of each released attribute.
    limit : int
        Most cells.

    Raises
    ------
    CapacityError
        With the number of cells, a forecast of memory, and the widest attributes.
    """
    cells = sizes[0] * math.prod(max(k) for k in zip(sizes[1:], outputs, strict=True))
    if cells <= limit:
        return
    widest = sorted(zip(names, sizes, strict=True), key=lambda item: (-item[1], item[0]))[:3]
    text = ", ".join(f"{name!r} ({size:,})" for name, size in widest)
    msg = (
        f"expected a joint table of at most {limit:,} cells, got {cells:,} for {len(names)} "
        f"attributes (about {24 * cells / 1e9:,.1f} GB). Those with most categories are {text}: "
        "choose fewer attributes, pool categories, or use method 'tree' or 'group'."
    )
    raise CapacityError(msg)


def joint_counts(
    domain: Domain, codes: IntArray, weights: IntArray | None, names: Sequence[str]
) -> FloatArray:
    """Contingency table of some attributes, one axis each.

    Parameters
    ----------
    domain : Domain
    codes : array of int, shape (n, d)
        Positions of categories.
    weights : array of int, shape (n,), optional
    names : sequence of str

    Returns
    -------
    array of float
    """
    axes = [domain.position(name) for name in names]
    shape = tuple(domain.shape[i] for i in axes)
    cells = np.ravel_multi_index([codes[:, i] for i in axes], shape)
    counts = np.bincount(cells, weights=weights, minlength=math.prod(shape))
    return counts.reshape(shape).astype(np.float64)


def joint_leakage(
    joint: ArrayLike, channels: Sequence[Channel], own: Channel | None = None
) -> float:
    """Exact leakage of several reports about one attribute.

    ``max over reports y and values x, x' of ln p(y | x) − ln p(y | x')``, where every attribute
    goes through its own channel independently.

    Parameters
    ----------
    joint : array-like of float, shape (a, b_1, …, b_m)
        Probabilities or counts of the secret (axis 0) and the m released attributes. Values of the
        secret without mass are left out.
    channels : sequence of m Channel
        Channel i takes b_i inputs.
    own : Channel, optional
        The channel of the secret attribute's own report; without it, the attribute is not released.

    Returns
    -------
    float
        In nats, in [0, ∞].

    Raises
    ------
    InvalidInputError
        If a shape does not fit, or the table has a negative entry or no mass.
    CapacityError
        If the table of joint reports would have more than ``MAX_CELLS`` cells.

    Examples
    --------
    Neither input of an exclusive or tells anything about its output; both together do.

    >>> from seepage.channel import randomized_response
    >>> xor = [[[0.25, 0.0], [0.0, 0.25]], [[0.0, 0.25], [0.25, 0.0]]]
    >>> grr = randomized_response(2, 1.0)
    >>> round(joint_leakage(xor, [grr, grr]), 6)
    0.433781
    """
    table = as_float_array(joint, "joint")
    _check(table, channels, own)
    mass = table.reshape(len(table), -1).sum(axis=1)
    rows = np.flatnonzero(mass > 0)
    P = table[rows] / mass[rows].reshape(-1, *(1,) * (table.ndim - 1))
    logs = _report_logs(P, channels)
    if own is None:
        return _largest_spread(logs)
    return _largest_sum(logs, own.log_matrix[rows])


def _check(table: FloatArray, channels: Sequence[Channel], own: Channel | None) -> None:
    if table.ndim == 0 or table.ndim != len(channels) + 1:
        msg = (
            f"expected one channel for each axis but the first, got {len(channels)} channels and a "
            f"table of shape {table.shape}"
        )
        raise InvalidInputError(msg)
    if not ((table >= 0) & np.isfinite(table)).all() or not table.any():
        msg = "expected a joint table of probabilities or counts with some mass, got other values"
        raise InvalidInputError(msg)
    every = (own, *channels)
    for axis, (size, channel) in enumerate(zip(table.shape, every, strict=True)):
        if channel is not None and channel.shape[0] != size:
            msg = f"expected a channel with {size} inputs for axis {axis}, got {channel.shape[0]}"
            raise InvalidInputError(msg)
    names = [f"axis {axis}" for axis in range(table.ndim)]
    check_joint_capacity(names, table.shape, [channel.shape[1] for channel in channels])


def _report_logs(P: FloatArray, channels: Sequence[Channel]) -> FloatArray:
    """``ln p(y_1, …, y_m | x)``, shape (rows, number of joint reports)."""
    floor = float(np.log(P[P > 0].min()))
    for channel in channels:
        floor += float(channel.log_matrix[channel.log_matrix > -np.inf].min())
    if floor > _SAFE_LOG:
        for channel in channels:  # contracting axis 1 appends its reports as the last axis
            P = np.tensordot(P, channel.matrix, axes=(1, 0))
        return log_zero_ok(P.reshape(len(P), -1))
    logs = log_zero_ok(P)
    for channel in channels:
        outputs = channel.log_matrix.T
        shape = (1, -1) + (1,) * (logs.ndim - 2)
        logs = np.stack([_log_sum(logs + column.reshape(shape)) for column in outputs], axis=-1)
    return logs.reshape(len(logs), -1)


def _log_sum(terms: FloatArray) -> FloatArray:
    """``ln Σ exp`` over axis 1."""
    peak = terms.max(axis=1)
    base = np.where(np.isfinite(peak), peak, 0.0)
    scaled = np.exp(terms - np.expand_dims(base, 1))
    return log_zero_ok(scaled.sum(axis=1)) + base


def _largest_spread(logs: FloatArray) -> float:
    """Largest ``logs[x, y] − logs[x', y]`` over all x, x', y."""
    high, low = logs.max(axis=0), logs.min(axis=0)
    used = high > -np.inf
    return float((high[used] - low[used]).max(initial=0.0))


def _pair_spread(logs: FloatArray) -> FloatArray:
    """Largest ``logs[x, y] − logs[x', y]`` over y, for all x, x'; shape (a, a)."""
    used = logs.max(axis=0) > -np.inf
    logs = logs[:, used]
    result = np.empty((len(logs), len(logs)))
    for x, row in enumerate(logs):
        possible = row > -np.inf  # what x never reports gives a ratio of 0
        result[x] = (row[possible] - logs[:, possible]).max(axis=1)
    return result


def _largest_sum(logs: FloatArray, own: FloatArray) -> float:
    """Largest sum, over pairs (x, x'), of the two log-ratios.

    Given the secret, its own report is independent of the others, so the ratios of one pair
    multiply and are largest together.
    """
    if len(logs) < 2:
        return 0.0
    own_pairs = _pair_spread(own)
    off = ~np.eye(len(own), dtype=np.bool_)
    if (own_pairs[off] == own_pairs[0, 1]).all():  # as for randomised response
        return _largest_spread(logs) + float(own_pairs[0, 1])
    return max(0.0, float((_pair_spread(logs) + own_pairs)[off].max()))
