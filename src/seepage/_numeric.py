"""Checks and numerical conventions shared by every layer.

This module owns the conventions for 0 and ∞: ``0 · ln 0 = 0``, ``ln 0 = −∞``, and an ε of ∞ means
that the mechanism releases its input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage.errors import InvalidInputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ROW_SUM_TOLERANCE = 1e-9
"""How far from one the sum of a probability row may be."""


def as_float_array(value: ArrayLike, name: str) -> FloatArray:
    """Convert to a float array; refuse text, booleans, complex numbers and ragged lists.

    Raises
    ------
    InvalidInputError
        If `value` is not numeric.
    """
    try:
        raw = np.asarray(value)
        masked = bool(np.any(getattr(value, "mask", False)))  # np.asarray forgets what is missing
    except Exception as error:  # whatever an object's own conversion raises
        msg = f"expected {name} to be a number or a rectangular array, got {value!r}"
        raise InvalidInputError(msg) from error
    if masked and hasattr(value, "filled"):
        msg = f"expected {name} without masked values, got {value!r}"
        raise InvalidInputError(msg)
    if raw.dtype.kind == "O" and raw.size and all(_is_real(item) for item in raw.flat):
        try:
            raw = raw.astype(np.float64)  # fractions.Fraction, decimal.Decimal, huge integers
        except (OverflowError, ValueError) as error:
            msg = f"expected {name} within the range of floating-point numbers, got {value!r}"
            raise InvalidInputError(msg) from error
    if raw.dtype.kind not in "iuf":
        msg = f"expected {name} to be numeric, got {value!r}"
        raise InvalidInputError(msg)
    return np.asarray(raw.astype(np.float64))


def check_size(k: int, name: str = "k") -> int:
    """Return `k` as an int ≥ 1.

    Raises
    ------
    InvalidInputError
        If it is not a whole number of at least 1.
    """
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 1:
        msg = f"expected {name} to be a whole number, 1 or more, got {k!r}"
        raise InvalidInputError(msg)
    return int(k)


def _is_real(item: Any) -> bool:
    import decimal
    import numbers

    return isinstance(item, (numbers.Real, decimal.Decimal)) and not isinstance(item, bool)


def check_epsilon(epsilon: ArrayLike, name: str = "epsilon") -> FloatArray:
    """Return `epsilon` as a float array with values in [0, ∞].

    Raises
    ------
    InvalidInputError
        If a value is negative, NaN or not a number.
    """
    array = as_float_array(epsilon, name)
    bad = ~(array >= 0)
    if bad.any():
        msg = f"expected {name} in [0, inf], got {float(array[bad].flat[0])!r}"
        raise InvalidInputError(msg)
    return array


def check_probability(value: ArrayLike, name: str) -> FloatArray:
    """Return `value` as a float array with values in [0, 1].

    Raises
    ------
    InvalidInputError
        If a value lies outside [0, 1], is NaN or not a number.
    """
    array = as_float_array(value, name)
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        msg = f"expected {name} in [0, 1], got {float(array[bad].flat[0])!r}"
        raise InvalidInputError(msg)
    return array


def check_distribution(value: ArrayLike, name: str) -> FloatArray:
    """Return one probability vector of shape (b,), b ≥ 1.

    Raises
    ------
    InvalidInputError
        If the vector is empty, has a negative or non-finite entry, or does not sum to 1.
    """
    array = as_float_array(value, name)
    if array.ndim != 1:
        msg = f"expected {name} to have one dimension, got shape {array.shape}"
        raise InvalidInputError(msg)
    return check_conditional(array[np.newaxis, :], name).reshape(-1)


def check_conditional(value: ArrayLike, name: str = "conditional") -> FloatArray:
    """Return a row-stochastic table of shape (a, b), a ≥ 1, b ≥ 1.

    Raises
    ------
    InvalidInputError
        If the table is empty, has a negative or non-finite entry, or a row that does not sum to 1.
    """
    array = as_float_array(value, name)
    if array.ndim != 2 or 0 in array.shape:
        msg = f"expected {name} to be a table of shape (rows, columns), got shape {array.shape}"
        raise InvalidInputError(msg)
    bad = ~((array >= 0) & np.isfinite(array))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = (
            f"expected {name} to hold probabilities, got {float(array[row, column])!r} "
            f"in row {row}, column {column}"
        )
        raise InvalidInputError(msg)
    sums = array.sum(axis=1)
    off = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if off.any():
        row = int(np.flatnonzero(off)[0])
        msg = f"expected every row of {name} to sum to 1, got {float(sums[row])!r} in row {row}"
        raise InvalidInputError(msg)
    return array


def like_input(result: FloatArray, original: ArrayLike) -> float | FloatArray:
    """Return a float when the caller passed a scalar, the array otherwise."""
    return float(result) if result.ndim == 0 and np.ndim(original) == 0 else result


def log_zero_ok(value: FloatArray) -> FloatArray:
    """Natural logarithm with ``ln 0 = −∞`` and no warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(value))


extremes_allowed = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")
"""Decorator for entry points where extreme arguments overflow on the way to the right limit."""


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` after making it read-only (a copy when it does not own its data)."""
    owned = array if array.base is None else array.copy()
    owned.setflags(write=False)
    return owned


def log_ratio(alpha: FloatArray, gap: FloatArray, epsilon: FloatArray) -> FloatArray:
    """``ln[(1 + t·(α + gap)) / (1 + t·α)]`` with ``t = e^ε − 1``, for every ε in [0, ∞].

    The leakage of an event through the best ε-LDP mechanism; finite and free of cancellation
    wherever the exact value is (relative error of a few units in the last place).

    Parameters
    ----------
    alpha : array of float
        Probability of the event under the null, in [0, 1].
    gap : array of float
        Its probability under the alternative minus `alpha`, in [0, 1 − alpha].
    epsilon : array of float
        In [0, ∞]. The three arguments broadcast.

    Returns
    -------
    array of float
        In nats, in [0, ε]; ``∞`` when ε = ∞ and α = 0 < gap.
    """
    alpha, gap, epsilon = np.broadcast_arrays(alpha, gap, epsilon)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        q = np.exp(-epsilon)
        below = alpha - alpha * q + q  # α + (1 − α) e^−ε
        result = np.log1p(-np.expm1(-epsilon) * gap / below)
        tiny = below < 1e-290
        if tiny.any():
            result = np.where(tiny, _log_ratio_tiny(alpha, gap, epsilon), result)
    return np.where((gap <= 0) | (epsilon == 0), 0.0, result)


def _log_ratio_tiny(alpha: FloatArray, gap: FloatArray, epsilon: FloatArray) -> FloatArray:
    """`log_ratio` where α + e^−ε is outside the range of normal numbers, so that 1 − e^−ε is 1."""
    root = np.ldexp(np.exp(-epsilon / 2), 300)
    ratio = np.ldexp(gap, 600) / (np.ldexp(alpha, 600) + root * root)
    far = np.log(gap) - np.logaddexp(np.log(alpha), -epsilon)
    near = (ratio < 1e300) & ((alpha > 0) | (epsilon < 1400))
    return np.where(near, np.log1p(ratio), far)
