"""Uncertainty sets as interval tables: what the true conditional distributions may be.

An interval table bounds every cell of a row-stochastic table; its members are the row-stochastic
tables inside the bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    ROW_SUM_TOLERANCE,
    BoolArray,
    FloatArray,
    as_float_array,
    check_conditional,
)
from seepage.errors import InvalidInputError

Uncertainty = ArrayLike | tuple[ArrayLike, ArrayLike]
"""Entry-wise margins Δ, or a tuple (lower, upper) of bounds."""


def interval_rows(
    conditional: ArrayLike, uncertainty: Uncertainty | None
) -> tuple[FloatArray, FloatArray]:
    """Bounds of every cell, tightened by the fact that rows sum to 1.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        The known table P, row-stochastic.
    uncertainty : None, array-like of float, or tuple of two array-likes
        None: the table is exact. One value or array that broadcasts to (a, b): margins Δ ≥ 0, so
        that the truth lies in [P − Δ, P + Δ]. A tuple of two: lower and upper bounds of the cells,
        which must enclose P.

    Returns
    -------
    lower, upper : arrays of float, shape (a, b)
        In [0, 1]; every bound is attained by some member, up to rounding on the safe side. The same
        object twice when there is no uncertainty.

    Raises
    ------
    InvalidInputError
        If margins are negative or NaN, the shape does not fit, bounds do not enclose P, or a row
        has no distribution within its bounds.
    """
    P = check_conditional(conditional)
    if uncertainty is None:
        return P, P
    if isinstance(uncertainty, tuple):
        if len(uncertainty) != 2:
            msg = f"expected uncertainty as (lower, upper), got a tuple of {len(uncertainty)}"
            raise InvalidInputError(msg)
        lower = _like(P, uncertainty[0], "lower bounds")
        upper = _like(P, uncertainty[1], "upper bounds")
        outside = np.maximum(lower - P, P - upper)
        _refuse(~(outside <= ROW_SUM_TOLERANCE), P, "bounds that enclose the probability")
    else:
        margin = _like(P, uncertainty, "uncertainty")
        _refuse(~(margin >= 0), margin, "uncertainty of 0 or more")
        if not margin.any():
            return P, P
        lower, upper = P - margin, P + margin
    return tighten(np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))


def tighten(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest interval table with the same members.

    ``l_i ← max(l_i, 1 − Σ_{j≠i} u_j)`` and ``u_i ← min(u_i, 1 − Σ_{j≠i} l_j)``, both from the
    original bounds.

    Raises
    ------
    InvalidInputError
        If a row has no member.
    """
    low, high = lower.sum(axis=1, keepdims=True), upper.sum(axis=1, keepdims=True)
    empty = (
        (low > 1 + ROW_SUM_TOLERANCE)
        | (high < 1 - ROW_SUM_TOLERANCE)
        | (lower > upper).any(axis=1, keepdims=True)
    )
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        msg = (
            "expected bounds that hold a distribution in every row, got sums from "
            f"{low[row, 0]:.9g} to {high[row, 0]:.9g} in row {row}"
        )
        raise InvalidInputError(msg)
    total = np.clip(1.0, low, high)  # input rows may miss 1 by the tolerance
    # A bound moved by rounding alone must not turn a possible zero into a positive number.
    slack = 4 * np.finfo(float).eps * lower.shape[1]
    return (
        np.maximum(lower, total - (high - upper) - slack),
        np.minimum(upper, total - (low - lower) + slack),
    )


def _like(P: FloatArray, value: ArrayLike, name: str) -> FloatArray:
    array = as_float_array(value, name)
    try:
        return np.broadcast_to(array, P.shape)
    except ValueError as error:
        msg = f"expected {name} of a shape that fits the table {P.shape}, got {array.shape}"
        raise InvalidInputError(msg) from error


def _refuse(bad: BoolArray, values: FloatArray, expected: str) -> None:
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = f"expected {expected}, got {values[row, column]!r} in row {row}, column {column}"
        raise InvalidInputError(msg)
