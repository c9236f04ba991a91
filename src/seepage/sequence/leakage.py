"""Exact leakage of a local redaction mechanism about one record of a Markov chain.

The two sides of the hidden record are independent given it, so the largest log-ratio is the sum of
the sides' largest, for each ordered pair of hidden values. Equal to enumeration of all outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, check_probability, extremes_allowed, log_zero_ok
from seepage.errors import InvalidInputError
from seepage.sequence._messages import Side, SideLeakage, messages, side_leakage
from seepage.sequence.chain import MarkovChain, backward_kernel

SMALLEST = 1e-280
"""Laws with probabilities below this are taken in logarithms: they underflow sooner or later."""


@dataclass(frozen=True)
class Leakage:
    """What a plan tells about one record at worst.

    Attributes
    ----------
    position : int
        The hidden record, counted from 0.
    value : float
        ``max over y, x, x' of ln p(y | X_p = x) − ln p(y | X_p = x')``, in nats, in [0, ∞]; a side
        whose largest log-ratio is up to 1e-14 counts as 0, as rounding hides smaller ones.
    pair : tuple or None
        Labels (x, x') that attain it; None when nothing leaks.
    output : mapping of int to label
        Records released in the output that attains it, by position; all between them and the
        hidden record are redacted, and what lies beyond them adds nothing. Empty also when nothing
        leaks.
    silent : tuple of str
        Sides, "before" or "after" the hidden record, on which that output releases nothing at
        all. A side that is neither in `output` nor here tells nothing.
    """

    position: int
    value: float
    pair: tuple[Any, Any] | None
    output: dict[int, Any]
    silent: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value


@extremes_allowed
def redaction_leakage(chain: MarkovChain, redact_probability: ArrayLike, position: int) -> Leakage:
    """Exact leakage of redacting every record with a probability that depends on its own state.

    Parameters
    ----------
    chain : MarkovChain
    redact_probability : array-like of float, shape (n, k)
        ``p(record t is redacted | its state is v)``; otherwise it is released unaltered.
    position : int
        The hidden record, 0 to n − 1.

    Returns
    -------
    Leakage
        ∞ when an output excludes a hidden value, as where the hidden record itself may be
        released.

    Raises
    ------
    InvalidInputError
        If the table has not the shape (n, k) or holds no probabilities, or there is no such
        position.

    Notes
    -----
    Time O(n·k³) at most; the messages stop where nothing beyond can raise the result.

    Examples
    --------
    >>> chain = MarkovChain.binary(0.25, 0.5)
    >>> round(redaction_leakage(chain, [[1, 1], [0.12, 1]], 0).value, 6)
    0.498991
    """
    r = check_redaction(chain, redact_probability)
    p = check_position(position, r.shape[0])
    present = np.flatnonzero(chain.supports(p, p + 1)[0])
    if present.size < 2:
        return Leakage(p, 0.0, None, {})
    shown = present[r[p, present] < 1]
    if shown.size:
        label = chain.states[shown[0]]
        other = next(chain.states[i] for i in present if i != shown[0])
        return Leakage(p, np.inf, (label, other), {p: label})
    left, right = sides(chain, p, r.shape[0])
    return join(chain, p, side_leakage(left, r[:p][::-1]), side_leakage(right, r[p + 1 :]), present)


def join(
    chain: MarkovChain, p: int, left: SideLeakage, right: SideLeakage, present: Any
) -> Leakage:
    """Put the sides together: the largest sum over pairs of hidden values that can occur."""
    total = (left.ratio + right.ratio)[np.ix_(present, present)]
    np.fill_diagonal(total, 0.0)
    best = int(np.argmax(total))
    value = float(total.flat[best])
    if value == 0:
        return Leakage(p, 0.0, None, {})
    x, y = int(present[best // present.size]), int(present[best % present.size])
    output, silent = {}, []
    for side, sign, name in ((left, -1, "before"), (right, 1, "after")):
        if side.distance[x, y]:
            output[p + sign * int(side.distance[x, y])] = chain.states[side.state[x, y]]
        elif side.ratio[x, y] > 0:
            silent.append(name)
    return Leakage(p, value, (chain.states[x], chain.states[y]), output, tuple(silent))


def sides(chain: MarkovChain, position: int, n: int) -> tuple[Side, Side]:
    """Left and right side of a record in a sequence of length `n`."""
    after = n - position - 1
    if chain.is_stationary:
        law = chain.start
        back = Side(backward_kernel(chain.transition, law), law > 0, position)
        return back, Side(chain.transition, law > 0, after)
    possible = chain.supports(0, n)
    right = Side(chain.transition, possible[position + 1 :], after)
    before, occurs = chain.marginals(0, position)[::-1], possible[:position][::-1]
    logs = None
    if before.min(where=occurs, initial=1.0) > SMALLEST:
        kernel = backward_kernel(chain.transition, before)
    else:
        laws = log_laws(chain, position)[::-1]
        joint = laws[:, np.newaxis, :] + log_zero_ok(chain.transition.T)
        total = joint.max(axis=2, keepdims=True)
        total = np.where(total > -np.inf, total, 0.0)
        sums = log_zero_ok(np.exp(joint - total).sum(axis=2, keepdims=True))
        logs = joint - total - np.where(sums > -np.inf, sums, 0.0)
        kernel = np.exp(logs)
    return Side(kernel, occurs, position, logs), right


def log_laws(chain: MarkovChain, last: int) -> FloatArray:
    """Logarithms of the laws of records 0 to `last` − 1, shape (last, k), without underflow."""
    start = log_zero_ok(chain.start)
    if chain.is_stationary or last < 2:
        return np.asarray(np.broadcast_to(start, (last, chain.k)))
    k = chain.k
    rows = np.broadcast_to(start, (k, k))  # every row of the message is the law
    steps = log_zero_ok(chain.transition)[np.newaxis]
    laws = messages(rows, steps, np.zeros((last - 1, k)))[:, 0]
    laws = np.concatenate([start[np.newaxis], laws])
    # The largest logarithm of each is about 0, so that the sum neither under- nor overflows.
    return np.asarray(laws - np.log(np.exp(laws).sum(axis=1, keepdims=True)))


def check_redaction(chain: MarkovChain, redact_probability: ArrayLike) -> FloatArray:
    """Return a table of redaction probabilities of shape (n, k), n ≥ 1."""
    r = check_probability(redact_probability, "redact_probability")
    if r.ndim != 2 or r.shape[1] != chain.k or not r.shape[0]:
        msg = (
            f"expected redact_probability of shape (n, {chain.k}): a row for each record, a column "
            f"for each state, got shape {r.shape}"
        )
        raise InvalidInputError(msg)
    return r


def check_position(position: int, n: int) -> int:
    """Return `position` as an int from 0 to n − 1."""
    whole = isinstance(position, (int, np.integer)) and not isinstance(position, bool)
    if not whole or not 0 <= position < n:
        msg = f"expected position to be a whole number from 0 to {n - 1}, got {position!r}"
        raise InvalidInputError(msg)
    return int(position)
