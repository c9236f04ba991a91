"""Confidence limits of binomial probabilities and of pairs of them.

Two independent counts X ~ Bin(n, p) and Y ~ Bin(n', α) give a joint region without splitting the
error between them. With the one-sided p-values turned into normal scores z₁ and z₂, the region is
``max(z₁, 0)² + max(z₂, 0)² ≤ r²``; p-values are stochastically not smaller than uniform, so its
error is at most ``Pr(N(0, 1) > r) + e^{−r²/2}/4`` (see `joint_radius`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, check_probability
from seepage.errors import InvalidInputError


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, error: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """One-sided exact limits of a binomial probability.

    Parameters
    ----------
    successes, trials : array-like of int
        With 0 ≤ successes ≤ trials; they broadcast.
    error : float or array-like of float
        In [0, 1]: each limit fails with at most this probability; both with at most twice as much.

    Returns
    -------
    lower, upper : arrays of float
        In [0, 1]; (0, 1) where there were no trials.

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.

    Notes
    -----
    Source: Clopper and Pearson (1934). The upper limit is the p at which Pr(X ≤ successes) equals
    the error, a quantile of a beta distribution.
    """
    x = as_float_array(successes, "successes")
    n = as_float_array(trials, "trials")
    eta = check_probability(error, "error")
    x, n, eta = np.broadcast_arrays(x, n, eta)
    if not ((x >= 0) & (x <= n) & np.isfinite(n)).all():
        msg = "expected 0 <= successes <= trials, both finite, got values outside"
        raise InvalidInputError(msg)
    inner_l, inner_u = x > 0, x < n
    lower = lower_binomial(np.where(inner_l, x, 1.0), np.where(inner_l, n, 1.0), eta)
    upper = upper_binomial(np.where(inner_u, x, 0.0), np.where(inner_u, n, 1.0), eta)
    return np.where(inner_l, lower, 0.0), np.where(inner_u, upper, 1.0)


def lower_binomial(x: FloatArray | float, n: FloatArray | float, error: FloatArray) -> FloatArray:
    """The lower limit of `clopper_pearson` for 0 < x ≤ n, unchecked."""
    from scipy.special import betaincinv

    return np.asarray(betaincinv(x, n - x + 1, error))


def upper_binomial(x: FloatArray | float, n: FloatArray | float, error: FloatArray) -> FloatArray:
    """The upper limit of `clopper_pearson` for 0 ≤ x < n, unchecked."""
    from scipy.special import betaincinv

    return np.asarray(1 - betaincinv(n - x, x + 1, error))


def binary_divergence(observed: FloatArray, p: FloatArray) -> FloatArray:
    """Kullback–Leibler divergence of Bernoulli(observed) from Bernoulli(p), in nats."""
    q = 1 - observed
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(observed > 0, observed * np.log(observed / p), 0.0)
        two = np.where(q > 0, q * np.log(q / (1 - p)), 0.0)
    return np.asarray(np.maximum(one + two, 0.0))


def divergence_limits(observed: ArrayLike, radius: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest p with ``kl(observed ‖ p) ≤ radius``, rounded outwards.

    Parameters
    ----------
    observed : float or array-like of float
        Observed frequency, in [0, 1].
    radius : float or array-like of float
        In nats, 0 or more. The arguments broadcast.

    Returns
    -------
    lower, upper : arrays of float
        In [0, 1]. The upper limit is concave and the lower one convex in `observed`, because the
        divergence is jointly convex.

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.
    """
    x = check_probability(observed, "observed")
    r = as_float_array(radius, "radius")
    if not (r >= 0).all():
        msg = f"expected radius to be 0 or more, got {radius!r}"
        raise InvalidInputError(msg)
    x, r = np.broadcast_arrays(x, r)
    return 1 - _upper_divergence(1 - x, r), _upper_divergence(x, r)


def _upper_divergence(x: FloatArray, r: FloatArray) -> FloatArray:
    """Bisection on [x, 1]; the returned end lies outside the ball, or is 1."""
    low, high = x.astype(np.float64), np.ones(x.shape)
    for _ in range(54):
        middle = (low + high) / 2
        inside = binary_divergence(x, middle) <= r
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


@cache
def joint_radius(log_error: float) -> float:
    """Radius r of the joint region of two independent one-sided statements.

    With independent standard normal z₁, z₂ the squared length of their positive parts exceeds r²
    with probability ``Pr(z > r) + e^{−r²/2}/4``: both are positive with probability 1/4 (then
    χ² with 2 degrees of freedom), exactly one with 1/2 (then χ² with 1).

    Parameters
    ----------
    log_error : float
        Logarithm of the error, below ln(3/4).

    Returns
    -------
    float
        Smallest r whose error is not larger, rounded up.
    """
    from scipy.special import log_ndtr

    def log_tail(r: float) -> float:
        return float(np.logaddexp(log_ndtr(-r), -r * r / 2 - np.log(4.0)))

    low, high = 0.0, 1.0
    while log_tail(high) > log_error:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if log_tail(middle) > log_error:
            low = middle
        else:
            high = middle
    return high
