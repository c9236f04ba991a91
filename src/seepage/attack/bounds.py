"""What no attacker can exceed, given priors and a leakage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_epsilon,
    check_probability,
    check_size,
)
from seepage.errors import InvalidInputError


def posterior_bound(prior: ArrayLike, leakage: float) -> FloatArray:
    """Largest belief in each value that reports of a given leakage can cause.

    By Bayes' rule the odds of a value against the others change by a factor of at most e^L, so the
    posterior is at most ``π / (π + (1 − π)·e^−L)``.

    Parameters
    ----------
    prior : array-like of float
        Prior probabilities, in [0, 1].
    leakage : float
        L in nats, in [0, ∞].

    Returns
    -------
    array of float, the shape of `prior`
        0 where the prior is 0, even for L = ∞.
    """
    p, a = check_probability(prior, "prior"), _shrinkage(leakage)
    below = p + (1 - p) * a
    return np.where(p > 0, p / np.where(below > 0, below, 1.0), 0.0)


def accuracy_bound(prior: ArrayLike, leakage: float) -> float:
    """Largest probability of a right guess, over all channels of a given leakage and all guesses.

    Parameters
    ----------
    prior : array-like of float, shape (k,)
        Probabilities π of the values of the secret. They may sum to less than 1: what is missing is
        counted as never guessed.
    leakage : float
        L, the largest ``ln p(y | s) − ln p(y | s')`` over all reports and values, in [0, ∞].

    Returns
    -------
    float
        ``max over j of (π_1 + … + π_j) / (1 + (j − 1)·e^−L)``, priors in falling order. From the
        largest prior at L = 0 to the sum of the priors at L = ∞; attained.

    Raises
    ------
    InvalidInputError
        If priors are no probabilities or sum to more than 1, or L is outside [0, ∞].

    Notes
    -----
    An attacker who guesses g(y) is right with probability ``Σ_y π_g(y) p(y | g(y))``. Reports with
    the same guess can be merged without raising L or changing the sum, so a report *is* a guess.
    Let ``q_g = p(g | g)`` and ``a = e^−L``. As ``p(g | s) ≥ a q_g``, the rows of the channel need

        ``(1 − a) q_s + a Q ≤ 1``  for all s,  with  ``Q = Σ q``,

    and the guess is right with probability ``Σ π_s q_s``. Conversely every q ≥ 0 with these
    inequalities and Q ≥ 1 belongs to a channel of leakage at most L: fill row s up to 1 with
    entries between a q_g and q_g, of which the largest possible sum is Q. (With Q < 1 all q could
    be raised.) So the answer is a linear program. For fixed Q all q_s have the same upper limit
    ``c = (1 − aQ)/(1 − a)``, and the best q fills the largest priors to c one after another. The
    value is linear in Q between the points where the first j are full and the others empty, so its
    maximum is at one of them: ``q = c`` for the first j with ``j c = Q``, that is
    ``c = 1/(1 + (j − 1) a)``: randomised response among the j likeliest values.

    Examples
    --------
    >>> round(accuracy_bound([0.5, 0.5], 1.0), 6)  # e / (e + 1)
    0.731059
    >>> accuracy_bound([0.9, 0.1], 1.0)  # not enough to give up the likeliest value
    0.9
    """
    p = _priors(prior)
    reached = np.cumsum(np.sort(p)[::-1])
    values = reached / (1 + np.arange(p.size) * _shrinkage(leakage))
    return min(float(values.max()), 1.0)


def advantage_bound(prior: ArrayLike, leakage: float) -> float:
    """`accuracy_bound` minus the largest prior, which a guess without any report attains."""
    return max(0.0, accuracy_bound(prior, leakage) - float(_priors(prior).max()))


def balanced_accuracy_bound(k: int, leakage: float) -> float:
    """Largest mean, over k values of the secret, of the probability that a guess is right.

    ``1 / (1 + (k − 1)·e^−L)``: `accuracy_bound` at equal priors, where all j = k are guessed.
    """
    return 1 / (1 + (check_size(k) - 1) * _shrinkage(leakage))


def _shrinkage(leakage: Any) -> float:
    value = check_epsilon(leakage, "leakage")
    if value.ndim:
        msg = f"expected one leakage, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return math.exp(-float(value))


def _priors(prior: ArrayLike) -> FloatArray:
    p = check_probability(as_float_array(prior, "prior"), "prior")
    if p.ndim != 1 or not p.size or p.sum() > 1 + 1e-9:
        msg = f"expected priors of shape (k,) that sum to at most 1, got {p.tolist()!r}"
        raise InvalidInputError(msg)
    return p
