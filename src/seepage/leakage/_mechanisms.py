"""Leakage of particular mechanisms, and of the worst one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    IntArray,
    check_conditional,
    check_epsilon,
    check_size,
    like_input,
    log_ratio,
)
from seepage.channel import Channel
from seepage.errors import InvalidInputError, did_you_mean
from seepage.tradeoff import TradeOff, worst_case

Mechanism = Literal["grr", "unary", "local_hashing", "subset"]

_BLOCK = 1 << 20  # numbers of one block of gathered rows


def hcc1(conditional: ArrayLike, channel: Channel | ArrayLike) -> float:
    """Actual leakage about the secret through one given channel.

    ``ln max over y, x, x' of (P M)[x, y] / (P M)[x', y]``: one matrix product. Source: HCC-1 of
    Jayawardana et al., "The hidden cost of correlation" (2025).

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        ``P[x, x̂] = p(x̂ | x)``, row-stochastic.
    channel : Channel, or array-like of float of shape (b, c)
        The mechanism M applied to the released attribute.

    Returns
    -------
    float
        In nats, in [0, ∞]. It says nothing about other mechanisms with the same ε.

    Raises
    ------
    InvalidInputError
        If a table is not row-stochastic, or the channel does not take b inputs.
    """
    applied = channel if isinstance(channel, Channel) else Channel.from_matrix(channel)
    return Channel.from_matrix(check_conditional(conditional)).then(applied).epsilon


@overload
def hcc2(conditional: ArrayLike, epsilon: float) -> float: ...
@overload
def hcc2(conditional: ArrayLike, epsilon: ArrayLike) -> FloatArray: ...
def hcc2(conditional: ArrayLike, epsilon: ArrayLike) -> float | FloatArray:
    """Worst-case leakage over all ε-LDP mechanisms, exactly (CPL*).

    Source: HCC-2 of Jayawardana et al. (2025). For the given table only: an estimated table
    carries its sampling error into the result.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.
    epsilon : float or array-like of float
        In [0, ∞]. An array is answered from the envelope of all pairs.

    Returns
    -------
    float or array of float
        In nats, in [0, ε].

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.
    """
    e = check_epsilon(epsilon)
    if e.ndim == 0:
        return worst_case(conditional, float(e))[0]
    return TradeOff.envelope(conditional).leakage(e)


@overload
def grr_leakage(conditional: ArrayLike, epsilon: float) -> float: ...
@overload
def grr_leakage(conditional: ArrayLike, epsilon: ArrayLike) -> FloatArray: ...
def grr_leakage(conditional: ArrayLike, epsilon: ArrayLike) -> float | FloatArray:
    """Actual leakage under b-ary (generalised) randomised response.

    ``max over i of ln (1 + t·max_x P[x, i]) − ln (1 + t·min_x P[x, i])``, ``t = e^ε − 1``. Equal
    to `hcc1` with ``randomized_response(b, epsilon)``, in O(ab).

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic. Every column counts as a category of the mechanism.
    epsilon : float or array-like of float
        In [0, ∞].

    Returns
    -------
    float or array of float
        In nats, in [0, ε]. Another ε-LDP mechanism can leak more.

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.
    """
    P = check_conditional(conditional)
    e = check_epsilon(epsilon)
    low = P.min(axis=0)
    values = log_ratio(low, P.max(axis=0) - low, e[..., np.newaxis]).max(axis=-1)
    return like_input(values, epsilon)


def grr_witness(conditional: ArrayLike, epsilon: float) -> tuple[float, tuple[int, int], int]:
    """`grr_leakage` at one ε, with what attains it.

    Returns
    -------
    leakage : float
        In nats.
    pair : (int, int)
        Rows (x, x') between which the report tells most; (−1, −1) when nothing leaks.
    column : int
        The reported category; −1 when nothing leaks.
    """
    P = check_conditional(conditional)
    e = _one(epsilon)
    low = P.min(axis=0)
    values = log_ratio(low, P.max(axis=0) - low, np.array(e))
    column = int(values.argmax())
    if values[column] <= 0:
        return 0.0, (-1, -1), -1
    pair = int(P[:, column].argmax()), int(P[:, column].argmin())
    return float(values[column]), pair, column


@overload
def cbp(conditional: ArrayLike, epsilon: float) -> float: ...
@overload
def cbp(conditional: ArrayLike, epsilon: ArrayLike) -> FloatArray: ...
def cbp(conditional: ArrayLike, epsilon: ArrayLike) -> float | FloatArray:
    """Correlation-bounded leakage of generalised randomised response (CBP).

    Source: Du, Ye, Fu and Hu, "Collecting high-dimensional and correlation-constrained data with
    local differential privacy" (SECON 2021), as the Dependency Triad paper cites it: a quantity
    for GRR only. That citation gives neither the formula nor how several released attributes are
    combined, so this is the exact leakage of one GRR report, `grr_leakage`. It does not bound
    other mechanisms, nor several reports together.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.
    epsilon : float or array-like of float
        In [0, ∞].

    Returns
    -------
    float or array of float
        In nats, in [0, ε].
    """
    return grr_leakage(conditional, epsilon)


@overload
def its(
    conditional: ArrayLike, epsilon: float, mechanism: Mechanism = ..., *, omega: int | None = ...
) -> float: ...
@overload
def its(
    conditional: ArrayLike,
    epsilon: ArrayLike,
    mechanism: Mechanism = ...,
    *,
    omega: int | None = ...,
) -> FloatArray: ...
def its(
    conditional: ArrayLike,
    epsilon: ArrayLike,
    mechanism: Mechanism = "grr",
    *,
    omega: int | None = None,
) -> float | FloatArray:
    """Actual leakage of a mechanism with two perturbation levels (ITS).

    A report of such a mechanism has the likelihood ratio e^ε between the inputs in an event S and
    the others, so its leakage is the worst-case expression restricted to the events that one report
    can single out. Source: Chong and Malip, "Local differential privacy for correlated location
    data release in ITS" (2024), in the generality of the mechanisms named here.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.
    epsilon : float or array-like of float
        In [0, ∞].
    mechanism : {"grr", "unary", "local_hashing", "subset"}, default "grr"
        ``grr``: singletons. ``unary`` (symmetric or optimised unary encoding) and
        ``local_hashing`` (over all hash functions): every event, so these reach `hcc2`.
        ``subset`` (subset selection): events of exactly `omega` outcomes.
    omega : int, optional
        Size of the reported subset, in [1, b]; only for ``subset``. By default
        ``max(1, round(b/(e^ε + 1)))``, the choice of least variance.

    Returns
    -------
    float or array of float
        In nats, in [0, ε]. It says nothing about mechanisms with more than two levels.

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.
    """
    if mechanism not in get_args(Mechanism):
        hint = did_you_mean(mechanism, get_args(Mechanism))
        msg = (
            f"expected mechanism to be the name of a two-level mechanism, got {mechanism!r}.{hint}"
        )
        raise InvalidInputError(msg)
    P = check_conditional(conditional)
    if mechanism != "subset":
        if omega is not None:
            msg = f"expected omega with mechanism 'subset' only, got it with {mechanism!r}"
            raise InvalidInputError(msg)
        return grr_leakage(P, epsilon) if mechanism == "grr" else hcc2(P, epsilon)
    if omega is not None and check_size(omega, "omega") > P.shape[1]:
        msg = f"expected omega in [1, {P.shape[1]}], got {omega}"
        raise InvalidInputError(msg)
    e = check_epsilon(epsilon)
    values = [
        _subset_selection(P, value, omega or subset_size(P.shape[1], value)) for value in e.flat
    ]
    return like_input(np.array(values).reshape(e.shape), epsilon)


def subset_size(b: int, epsilon: float) -> int:
    """Subset size of least variance, ``max(1, round(b/(e^ε + 1)))``, for `b` categories."""
    q = np.exp(-_one(epsilon))
    return max(1, round(float(b * q / (1 + q))))


def _one(epsilon: float) -> float:
    e = check_epsilon(epsilon)
    if e.ndim:
        msg = f"expected one epsilon, got an array of shape {e.shape}"
        raise InvalidInputError(msg)
    return float(e)


def _subset_selection(P: FloatArray, epsilon: float, omega: int) -> float:
    """Largest leakage over ordered pairs and events of exactly `omega` outcomes.

    Dinkelbach's iteration: for the ratio r reached so far, the best event of a pair has the ω
    largest values of G − r·G'.
    """
    best = 0.0
    if omega == P.shape[1] or len(P) == 1:
        return best
    while True:
        # At larger slopes than this the order of the outcomes does not change any more.
        slope = float(np.exp(min(best, 700.0)))
        value = best
        for xs, ys in _pair_blocks(len(P), P.shape[1]):
            score = P[xs] - slope * P[ys]
            chosen = np.argpartition(score, -omega, axis=1)[:, -omega:]
            alpha = np.take_along_axis(P[ys], chosen, axis=1).sum(axis=1)
            gap = np.take_along_axis(P[xs] - P[ys], chosen, axis=1).sum(axis=1)
            found = log_ratio(np.minimum(alpha, 1.0), gap, np.array(epsilon))
            value = max(value, float(found.max()))
        if value <= best * (1 + 1e-15):
            return value
        best = value


def _pair_blocks(a: int, b: int) -> Iterator[tuple[IntArray, IntArray]]:
    rows = max(1, _BLOCK // (a * b))
    for start in range(0, a, rows):
        xs, ys = np.divmod(np.arange(start * a, min(start + rows, a) * a), a)
        yield xs[xs != ys], ys[xs != ys]
