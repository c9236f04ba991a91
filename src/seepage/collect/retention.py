"""From ε to the retention λ of k-ary randomised response, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_epsilon,
    check_probability,
    extremes_allowed,
    like_input,
)
from seepage.errors import InvalidInputError


@extremes_allowed
def retention_from_epsilon(epsilon: ArrayLike, k: ArrayLike) -> float | FloatArray:
    """``λ = (e^ε − 1)/(e^ε + k − 1)``, the factor by which centred moments shrink.

    Parameters
    ----------
    epsilon : float or array
        In [0, ∞].
    k : int or array of int
        Number of categories, 1 or more. Broadcasts with `epsilon`.

    Returns
    -------
    float or array
        In [0, 1]; relative error of a few units in the last place for every ε.

    Raises
    ------
    InvalidInputError
        If a value is outside its range, or the shapes do not broadcast.
    """
    e, size = _broadcast(check_epsilon(epsilon), _check_sizes(k), "epsilon")
    result = np.asarray(1 / (1 + size / np.expm1(e)))
    small = np.expm1(e) < 1e-290  # k / t would overflow
    result = np.where(small, np.expm1(e) / size, result)
    return like_input(result, epsilon if np.ndim(k) == 0 else k)


@extremes_allowed
def epsilon_from_retention(retention: ArrayLike, k: ArrayLike) -> float | FloatArray:
    """``ε = ln(1 + k·λ/(1 − λ))``, the inverse of `retention_from_epsilon`.

    Parameters
    ----------
    retention : float or array
        λ in [0, 1]; 1 gives ∞.
    k : int or array of int
        Number of categories, 1 or more. Broadcasts with `retention`.

    Returns
    -------
    float or array
        In [0, ∞], in nats.

    Raises
    ------
    InvalidInputError
        If a value is outside its range, or the shapes do not broadcast.
    """
    kept, size = _broadcast(check_probability(retention, "retention"), _check_sizes(k), "retention")
    result = np.asarray(np.log1p(size * kept / (1 - kept)))
    return like_input(result, retention if np.ndim(k) == 0 else k)


def _check_sizes(k: ArrayLike) -> FloatArray:
    sizes = as_float_array(k, "k")
    bad = ~((sizes >= 1) & np.isfinite(sizes) & (sizes == np.floor(sizes)))
    if bad.any():
        msg = f"expected k to be whole numbers, 1 or more, got {float(sizes[bad].flat[0])!r}"
        raise InvalidInputError(msg)
    return sizes


def _broadcast(value: FloatArray, size: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    try:
        left, right = np.broadcast_arrays(value, size)
    except ValueError as error:
        msg = f"expected {name} and k to broadcast, got shapes {value.shape} and {size.shape}"
        raise InvalidInputError(msg) from error
    return left, right
