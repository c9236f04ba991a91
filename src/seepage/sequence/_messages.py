"""Messages from a hidden record outwards, along one side of a chain.

``F_d[x, v] = ln Pr(all between redacted, record at distance d is v | hidden record is x)``, up to
one additive number for each d, which no ratio depends on. They are kept as logarithms: rows, and
states within a row, may drift apart by any factor when redaction depends on the state.

A released v at distance d screens off everything beyond it, so its log-ratio for hidden values
x, x' is ``F_d[x, v] − F_d[x', v]``. What lies beyond distance d mixes these ratios with weights
that do not depend on the hidden value, so none of it can exceed the largest of them: the search
stops, exactly, where it cannot improve any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray, log_zero_ok

NEGLIGIBLE = 1e-14
"""Log-ratios up to this are rounding of independent records, and count as 0."""

CELLS = 2_000_000
"""Most numbers of one chunk of messages."""

TINY = 5e-324
"""Stands for a ratio that is above 0 but below what rounding shows."""

SHORT = 4
"""More records next to the hidden one that are redacted for sure are taken together."""

SAME = 4 * np.finfo(np.float64).eps
"""Rows of a message that differ by a factor, up to this times its logarithms, are proportional."""

LOOP = 64
"""Chunks up to this length are computed step by step."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a hidden record, seen from it.

    Attributes
    ----------
    kernel : array of float, shape (k, k) or (length, k, k)
        Transition to distance d, constant or for each d.
    possible : array of bool, shape (k,) or (length, k)
        Whether a state can occur at distance d.
    length : int
        Number of records on this side.
    log_kernel : array of float, optional
        Logarithms of `kernel`, where it underflows.
    """

    kernel: FloatArray
    possible: BoolArray
    length: int
    log_kernel: FloatArray | None = None

    def log_kernels(self, first: int, last: int) -> FloatArray:
        """Logarithms of transitions to distances `first` + 1 to `last`, or one for all."""
        if self.kernel.ndim == 2:
            return log_zero_ok(self.kernel)[np.newaxis]
        if self.log_kernel is not None:
            return self.log_kernel[first:last]
        return log_zero_ok(self.kernel[first:last])

    def occurs(self, first: int, last: int) -> BoolArray:
        """Whether states can occur at distances `first` + 1 to `last`."""
        return self.possible[np.newaxis] if self.possible.ndim == 1 else self.possible[first:last]


@dataclass(frozen=True, eq=False)
class SideLeakage:
    """Largest log-ratios that one side's output can have.

    Attributes
    ----------
    ratio : array of float, shape (k, k)
        ``max over outputs y of ln p(y | x) − ln p(y | x')``, in [0, ∞].
    distance : array of int, shape (k, k)
        Distance of the first released record in the output that attains it; 0: none is released.
    state : array of int, shape (k, k)
        What is released there; −1: nothing.
    """

    ratio: FloatArray
    distance: IntArray
    state: IntArray


def side_leakage(side: Side, redact: FloatArray) -> SideLeakage:
    """Largest log-ratios of one side for every pair of hidden values.

    Parameters
    ----------
    side : Side
    redact : array of float, shape (length, k)
        Redaction probabilities by distance (row 0 is distance 1).
    """
    k = redact.shape[1]
    ratio = np.zeros((k, k))
    distance, state = np.zeros((k, k), dtype=np.int64), np.full((k, k), -1)
    F = np.where(np.eye(k, dtype=bool), 0.0, -np.inf)  # distance 0: the record itself
    first, size = 0, LOOP
    everywhere = np.broadcast_to(side.occurs(0, side.length), redact.shape)
    unsure = np.flatnonzero(((redact < 1) & everywhere).any(axis=1))
    if not unsure.size:  # nothing is ever told
        return SideLeakage(ratio, distance, state)
    # Records that are redacted for sure beyond all others tell nothing: row sums stay the same.
    lead, length = int(unsure[0]), int(unsure[-1]) + 1
    if lead > SHORT and side.kernel.ndim == 2:
        F, first = log_power(log_zero_ok(side.kernel), lead), lead
    while first < length:
        last = min(first + size, length)
        r = redact[first:last]
        occurs = np.broadcast_to(side.occurs(first, last), r.shape)
        shown = np.flatnonzero(((r <= 0) | ~occurs).all(axis=1))
        ends = shown.size > 0  # released whatever it is: nothing beyond matters
        if ends:
            last = first + int(shown[0]) + 1
            r, occurs = r[: last - first], occurs[: last - first]
        log_redact = log_zero_ok(r)
        M = messages(F, side.log_kernels(first, last), log_redact)
        _update((ratio, distance, state), M, occurs & (r < 1), first)
        if ends:
            return _tidy(ratio, distance, state)
        hull = differences(M[-1]).max(axis=2, initial=-np.inf, where=_defined(M[-1]))
        if (hull <= ratio + NEGLIGIBLE / 8).all():
            return _tidy(ratio, distance, state)
        F = M[-1] + log_redact[-1]
        if _proportional(F):  # then so is all beyond, and one output has the ratio of all
            break
        first, size = last, min(4 * size, max(CELLS // (k * k), LOOP))
    rest = _log_sum(F, axis=1)  # nothing is released
    with np.errstate(invalid="ignore"):
        total = rest[:, np.newaxis] - rest[np.newaxis, :]
    total = np.where((rest > -np.inf)[:, np.newaxis], total, -np.inf)
    better = total > ratio
    ratio[better], distance[better], state[better] = total[better], 0, -1
    return _tidy(ratio, distance, state)


def messages(start: FloatArray, log_kernels: FloatArray, log_redact: FloatArray) -> FloatArray:
    """Messages at m successive distances.

    Parameters
    ----------
    start : array of float, shape (k, k)
        Message after redaction at the distance before the first.
    log_kernels : array of float, shape (m, k, k) or (1, k, k)
    log_redact : array of float, shape (m, k)

    Returns
    -------
    array of float, shape (m, k, k)
        Before redaction at each distance; the largest entry of each is 0.
    """
    m = log_redact.shape[0]
    steps = np.broadcast_to(log_kernels, (m, *log_kernels.shape[1:]))
    if m <= LOOP:
        return _loop(start, steps, log_redact)
    # Blocks side by side: prefix products within all blocks at once, then from block to block.
    k = start.shape[0]
    length = int(np.ceil(np.sqrt(m)))
    count = -(-m // length)
    pad = count * length - m
    if pad:
        steps = np.concatenate([steps, np.broadcast_to(steps[-1], (pad, k, k))])
        log_redact = np.concatenate([log_redact, np.zeros((pad, k))])
    blocks = steps.reshape(count, length, k, k)
    weights = log_redact.reshape(count, length, k)
    prefix = np.empty((count, length, k, k))
    prefix[:, 0] = blocks[:, 0]
    for j in range(1, length):
        before = prefix[:, j - 1] + weights[:, j - 1, np.newaxis, :]
        prefix[:, j] = _scaled(_log_matmul(before, blocks[:, j]))
    result = np.empty((count, length, k, k))
    F = start
    for b in range(count):
        result[b] = _scaled(_log_matmul(F[np.newaxis], prefix[b]))
        F = result[b, -1] + weights[b, -1]
    return result.reshape(-1, k, k)[:m]


def log_power(log_kernel: FloatArray, distance: int) -> FloatArray:
    """``ln K^distance`` for a law in every row of K, without underflow, shape (k, k)."""
    k = log_kernel.shape[0]
    result, square = np.where(np.eye(k, dtype=bool), 0.0, -np.inf), log_kernel
    while distance:
        if distance & 1:
            result = _law_rows(_log_matmul(result, square))
        distance >>= 1
        square = _law_rows(_log_matmul(square, square))
    return result


def _law_rows(logs: FloatArray) -> FloatArray:
    return np.asarray(logs - _log_sum(logs, axis=1)[:, np.newaxis])


def _proportional(message: FloatArray) -> bool:
    """Whether the rows of a message that can occur differ by a factor only, shape (k, k)."""
    rows = message[(message > -np.inf).any(axis=1)]
    finite = rows > -np.inf
    if not rows.size or (finite != finite[0]).any():
        return False
    gap = (rows - rows[0])[:, finite[0]]
    spread = (gap.max(axis=1) - gap.min(axis=1)).max()
    size = np.abs(rows[:, finite[0]]).max()
    return bool(spread <= min(SAME * max(size, 1.0), NEGLIGIBLE))


def differences(message: FloatArray) -> FloatArray:
    """``F[x, v] − F[x', v]``, shape (..., k, k, k) by x, x', v; −∞ where x excludes v."""
    with np.errstate(invalid="ignore"):
        gap = message[..., :, np.newaxis, :] - message[..., np.newaxis, :, :]
    return np.where(_defined(message), gap, -np.inf)


def _defined(message: FloatArray) -> BoolArray:
    return np.broadcast_to(
        (message > -np.inf)[..., :, np.newaxis, :],
        (*message.shape[:-1], message.shape[-2], message.shape[-1]),
    )


def _update(
    found: tuple[FloatArray, IntArray, IntArray], M: FloatArray, released: BoolArray, first: int
) -> None:
    """Raise `ratio` to what releases at these distances show."""
    ratio, distance, state = found
    k = released.shape[1]
    rows = np.flatnonzero(released.any(axis=1))
    if not rows.size:
        return
    M, released = M[rows], released[rows]
    for x in range(k):
        for y in range(k):
            if x == y:
                continue
            with np.errstate(invalid="ignore"):
                gap = M[:, x] - M[:, y]
            gap = np.where(released & (M[:, x] > -np.inf), gap, -np.inf)
            best = int(np.argmax(gap))
            value = float(gap.flat[best])
            if value > ratio[x, y]:
                ratio[x, y] = value
                distance[x, y] = first + int(rows[best // k]) + 1
                state[x, y] = best % k


def _tidy(ratio: FloatArray, distance: IntArray, state: IntArray) -> SideLeakage:
    return SideLeakage(np.where(ratio <= NEGLIGIBLE, 0.0, ratio), distance, state)


def _loop(start: FloatArray, steps: FloatArray, log_redact: FloatArray) -> FloatArray:
    result = np.empty(steps.shape)
    F = start
    for d in range(steps.shape[0]):
        result[d] = _scaled(_log_matmul(F, steps[d]))
        F = result[d] + log_redact[d]
    return result


def _scaled(F: FloatArray) -> FloatArray:
    top = F.max(axis=(-2, -1), keepdims=True)
    return np.asarray(F - np.where(np.isfinite(top), top, 0.0))


def _log_matmul(left: FloatArray, right: FloatArray) -> FloatArray:
    """``ln(e^left @ e^right)`` over the last two axes, with broadcasting."""
    if right.shape[-1] == 2:  # several times as fast
        first = left[..., :, 0, np.newaxis] + right[..., np.newaxis, 0, :]
        return np.logaddexp(first, left[..., :, 1, np.newaxis] + right[..., np.newaxis, 1, :])
    return _log_sum(left[..., :, :, np.newaxis] + right[..., np.newaxis, :, :], axis=-2)


def _log_sum(terms: FloatArray, axis: int) -> FloatArray:
    top = terms.max(axis=axis, keepdims=True)
    base = np.where(np.isfinite(top), top, 0.0)
    total = log_zero_ok(np.exp(terms - base).sum(axis=axis))
    return np.asarray(total + np.squeeze(base, axis=axis))
