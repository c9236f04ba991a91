"""Exact moments of reports from a joint table, any channels and any scores.

Everything is a contraction along one axis of the joint table after another; the Kronecker product
of the channels is never built. For k-ary randomised response and distinct attributes the result is
the original moment times the retention (`seepage.collect.attenuation`); other channels, and powers
of one attribute, have no such factor and are predicted here as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, check_size
from seepage.channel import MAX_CELLS, Channel
from seepage.errors import CapacityError, InvalidInputError

SINGULAR = 1e-12
"""Smallest ratio of singular values of a channel that is inverted."""


def joint_table(joint: ArrayLike) -> FloatArray:
    """Return a joint table of probabilities or counts, normalised.

    Raises
    ------
    InvalidInputError
        If it has a negative or non-finite entry, or nothing in it.
    """
    table = as_float_array(joint, "joint")
    if table.ndim == 0 or table.size == 0:
        msg = f"expected a joint table with at least one cell, got shape {table.shape}"
        raise InvalidInputError(msg)
    if not (np.isfinite(table) & (table >= 0)).all():
        msg = "expected a joint table of finite numbers, 0 or more, got a value outside"
        raise InvalidInputError(msg)
    largest = table.max()
    if largest == 0:
        msg = "expected a joint table with a positive cell, got zeros only"
        raise InvalidInputError(msg)
    table = table / largest
    return np.asarray(table / table.sum())


def cross_moment(
    joint: ArrayLike, scores: Sequence[ArrayLike], powers: Sequence[int] | None = None
) -> float:
    """Central moment ``E Π (Z_m − E Z_m)^{a_m}`` of the true attributes.

    Parameters
    ----------
    joint : array, shape (r_1, …, r_d)
        Probabilities or counts of the true categories.
    scores : sequence of arrays of float, shapes (r_m,)
        ``Z_m = f_m(X_m)``, one real number for each category.
    powers : sequence of int, optional
        The exponents a_m, 1 or more each; 1 by default.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, or a number is not finite.
    """
    table = joint_table(joint)
    values = _scores(scores, table.shape)
    return _central(table, values, _powers(powers, table.ndim))


def reported_moment(
    joint: ArrayLike,
    channels: Sequence[Channel],
    scores: Sequence[ArrayLike],
    powers: Sequence[int] | None = None,
) -> float:
    """Central moment ``E Π (W_m − E W_m)^{a_m}`` of what is reported, exactly.

    Parameters
    ----------
    joint : array, shape (r_1, …, r_d)
        Probabilities or counts of the true categories.
    channels : sequence of Channel
        One for each attribute, with r_m inputs; applied independently given the true record.
    scores : sequence of arrays of float
        ``W_m = f_m(Y_m)``, one number for each output of the channel.
    powers : sequence of int, optional
        The exponents a_m; 1 by default. ``joint`` of one attribute and power 2 is its variance.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        If shapes do not fit, or a number is not finite.
    """
    table = joint_table(joint)
    tables = _tables(channels, table.shape)
    values = _scores(scores, tuple(C.shape[1] for C in tables))
    exponents = _powers(powers, table.ndim)
    # E[(W − E W)^a | x] is a score of the true category: no joint table of reports is needed.
    given = []
    for axis, (C, f, power) in enumerate(zip(tables, values, exponents, strict=True)):
        margin = _margin(table, axis)
        centred = f - margin @ (C @ f)
        given.append(C @ centred**power)
    return _contract(table, given)


@dataclass(frozen=True)
class VarianceParts:
    """Where the variance of a reported attribute comes from (law of total variance).

    Attributes
    ----------
    kept : float
        ``Var E[W | x]``: λ² times the true variance under randomised response.
    added : float
        ``E Var[W | x]``: what the randomisation adds.
    """

    kept: float
    added: float

    @property
    def total(self) -> float:
        """Variance of the reported scores."""
        return self.kept + self.added


def reported_variance(
    distribution: ArrayLike, channel: Channel, scores: ArrayLike
) -> VarianceParts:
    """Variance of one reported attribute, in the parts kept and added.

    Parameters
    ----------
    distribution : array, shape (r,)
        Probabilities or counts of the true categories.
    channel : Channel
        With r inputs.
    scores : array of float
        One number for each output of the channel.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, or a number is not finite.
    """
    table = joint_table(distribution)
    if table.ndim != 1:
        msg = f"expected the distribution of one attribute, got shape {table.shape}"
        raise InvalidInputError(msg)
    (C,) = _tables([channel], table.shape)
    (f,) = _scores([scores], (C.shape[1],))
    mean = C @ f
    within = (C * (f[np.newaxis, :] - mean[:, np.newaxis]) ** 2).sum(axis=1)
    return VarianceParts(float(table @ (mean - table @ mean) ** 2), float(table @ within))


def unbiased_scores(channel: Channel, scores: ArrayLike) -> FloatArray:
    """Scores of reports whose expectation given the true category is the true score.

    Parameters
    ----------
    channel : Channel
        Shape (r, m); its rows must be linearly independent.
    scores : array of float, shape (r,)

    Returns
    -------
    array of float, shape (m,)
        The solution g of ``C g = f``; of several, that of least norm.

    Raises
    ------
    InvalidInputError
        If the reports do not identify the distribution.
    """
    (C,) = _tables([channel], (channel.shape[0] if isinstance(channel, Channel) else 0,))
    (f,) = _scores([scores], (C.shape[0],))
    left, singular, right = np.linalg.svd(C, full_matrices=False)
    if len(singular) < C.shape[0] or singular[-1] <= SINGULAR * singular[0]:
        msg = "expected a channel whose reports identify the distribution, got a singular one"
        raise InvalidInputError(msg)
    return np.asarray(right.T @ ((left.T @ f) / singular))


def record_variance(
    joint: ArrayLike, channels: Sequence[Channel], scores: Sequence[ArrayLike]
) -> float:
    """Variance of one record's contribution to the corrected cross-moment.

    The corrected cross-moment is the mean over records of ``Π (g_m(Y_m) − mean of g_m)`` with the
    unbiased scores g_m; its variance over n records is this number divided by n, to first order in
    1/n. Means are estimated from the same reports, which matters from the third order on.

    Parameters
    ----------
    joint : array, shape (r_1, …, r_d)
        Probabilities or counts of the true categories.
    channels : sequence of Channel
        Channels with fewer outputs than inputs, or ε = 0, cannot be undone.
    scores : sequence of arrays of float, shapes (r_m,)

    Returns
    -------
    float
        0 or more.

    Raises
    ------
    InvalidInputError
        If shapes do not fit, or a channel cannot be undone.
    CapacityError
        If the joint table of reports would have more than ``MAX_CELLS`` cells.
    """
    table = joint_table(joint)
    tables = _tables(channels, table.shape)
    values = _scores(scores, table.shape)
    cells = math.prod(C.shape[1] for C in tables)
    if cells > MAX_CELLS:
        msg = f"expected at most {MAX_CELLS:,} kinds of reports together, got {cells:,}"
        raise CapacityError(msg)
    centred = [f - _margin(table, axis) @ f for axis, f in enumerate(values)]
    reported = table
    unbiased = []
    for axis, (channel, C, f) in enumerate(zip(channels, tables, centred, strict=True)):
        reported = np.moveaxis(np.tensordot(reported, C, axes=(axis, 0)), -1, axis)
        unbiased.append(unbiased_scores(channel, f))
    influence = np.full(reported.shape, -_contract(table, centred))
    everything = np.ones(reported.shape)
    for axis, g in enumerate(unbiased):
        line = g.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
        rest = [np.ones_like(f) if i == axis else f for i, f in enumerate(centred)]
        influence = influence - line * _contract(table, rest)
        everything = everything * line
    return max(0.0, float((reported * (everything + influence) ** 2).sum()))


def needed_size(
    joint: ArrayLike,
    channels: Sequence[Channel],
    scores: Sequence[ArrayLike],
    standard_error: float,
) -> int:
    """Records needed for a wished standard error of the corrected cross-moment.

    Parameters
    ----------
    joint, channels, scores
        As in `record_variance`; a guess of the joint table, such as the product of the margins, is
        what there is before collecting.
    standard_error : float
        Positive, in the unit of the product of the scores.

    Returns
    -------
    int
        The smallest n with ``record_variance / n ≤ standard_error²``, 1 or more.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    wished = as_float_array(standard_error, "standard_error")
    if wished.ndim or not (0 < wished < np.inf):
        msg = f"expected a positive and finite standard_error, got {standard_error!r}"
        raise InvalidInputError(msg)
    variance = record_variance(joint, channels, scores)
    n = max(1, math.ceil(_ratio(variance, float(wished))))
    return n if math.sqrt(variance / n) <= wished else n + 1


def standard_error(
    joint: ArrayLike, channels: Sequence[Channel], scores: Sequence[ArrayLike], n: int
) -> float:
    """Standard error of the corrected cross-moment from n records; see `record_variance`."""
    size = check_size(n, "n")
    return math.sqrt(record_variance(joint, channels, scores) / size)


def break_even_size(variance: float, retention: float, moment: float) -> float:
    """Number of records above which correcting beats not correcting, in mean squared error.

    Under randomised response the corrected cross-moment is the uncorrected one divided by the
    retention Λ. With V the variance of one record's contribution to the *uncorrected* moment and
    θ the true one, the errors are ``V/(n Λ²)`` and ``V/n + (1 − Λ)² θ²``; they are equal at
    ``n = V (1 + Λ) / (Λ² (1 − Λ) θ²)``.

    Parameters
    ----------
    variance : float
        V, 0 or more, finite.
    retention : float
        Λ, in [0, 1].
    moment : float
        θ, finite.

    Returns
    -------
    float
        In [0, ∞]; 0 when correcting is never worse (Λ = 1, or V = 0 < Λ), ∞ when it never pays.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    V, kept, theta = (
        float(as_float_array(value, name).reshape(-1)[0]) if np.ndim(value) == 0 else math.nan
        for value, name in ((variance, "variance"), (retention, "retention"), (moment, "moment"))
    )
    if not (0 <= V < math.inf and 0 <= kept <= 1 and math.isfinite(theta)):
        msg = (
            "expected variance in [0, inf), retention in [0, 1] and a finite moment, got "
            f"{variance!r}, {retention!r} and {moment!r}"
        )
        raise InvalidInputError(msg)
    if kept == 1:
        return 0.0
    if kept == 0:
        return math.inf
    if V == 0:
        return 0.0
    squared = theta * theta
    bottom = kept * kept * (1 - kept) * squared
    return math.inf if bottom == 0 else V * (1 + kept) / bottom


def _ratio(variance: float, error: float) -> float:
    ratio = variance / error / error
    if not math.isfinite(ratio):
        msg = f"expected a standard_error that some number of records reaches, got {error!r}"
        raise InvalidInputError(msg)
    return ratio


def _tables(channels: Sequence[Channel], shape: tuple[int, ...]) -> list[FloatArray]:
    given = list(channels) if isinstance(channels, Sequence) else [channels]
    if len(given) != len(shape):
        msg = f"expected one channel for each of {len(shape)} attributes, got {len(given)}"
        raise InvalidInputError(msg)
    for axis, channel in enumerate(given):
        if not isinstance(channel, Channel):
            msg = f"expected a Channel, got {channel!r}"
            raise InvalidInputError(msg)
        if channel.shape[0] != shape[axis]:
            msg = (
                f"expected a channel with {shape[axis]} inputs for axis {axis}, got "
                f"{channel.shape[0]}"
            )
            raise InvalidInputError(msg)
    return [channel.matrix for channel in given]


def _scores(scores: Sequence[ArrayLike], shape: tuple[int, ...]) -> list[FloatArray]:
    if isinstance(scores, (str, bytes)) or not hasattr(scores, "__len__"):
        msg = f"expected a list of scores for each attribute, got {scores!r}"
        raise InvalidInputError(msg)
    if len(scores) != len(shape):
        msg = f"expected scores for each of {len(shape)} attributes, got {len(scores)}"
        raise InvalidInputError(msg)
    found = []
    for axis, (given, size) in enumerate(zip(scores, shape, strict=True)):
        values = as_float_array(given, f"scores of axis {axis}")
        if values.shape != (size,) or not np.isfinite(values).all():
            msg = f"expected {size} finite scores for axis {axis}, got {given!r}"
            raise InvalidInputError(msg)
        found.append(values)
    return found


def _powers(powers: Sequence[int] | None, d: int) -> list[int]:
    if powers is None:
        return [1] * d
    if not isinstance(powers, Sequence) or isinstance(powers, str) or len(powers) != d:
        msg = f"expected one power for each of {d} attributes, got {powers!r}"
        raise InvalidInputError(msg)
    return [check_size(power, "a power") for power in powers]


def _margin(table: FloatArray, axis: int) -> FloatArray:
    return np.asarray(table.sum(axis=tuple(i for i in range(table.ndim) if i != axis)))


def _contract(table: FloatArray, vectors: Sequence[FloatArray]) -> float:
    """``Σ table · Π vectors``, one axis after another."""
    rest = table
    for vector in reversed(vectors):
        rest = rest @ vector
    return float(rest)


def _central(table: FloatArray, scores: Sequence[FloatArray], powers: Sequence[int]) -> float:
    centred = [
        (f - _margin(table, axis) @ f) ** power
        for axis, (f, power) in enumerate(zip(scores, powers, strict=True))
    ]
    return _contract(table, centred)
