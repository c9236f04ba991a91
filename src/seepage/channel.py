"""Channels: row-stochastic tables ``C[x, y] = p(y | x)``, held as logarithms.

Correlation between two attributes, a local randomiser, and the redaction of one record are all
channels; what the cascade of two channels tells about its input is a channel again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_conditional,
    check_epsilon,
    check_size,
    freeze,
    log_zero_ok,
)
from seepage.errors import CapacityError, InvalidInputError

MAX_CELLS = 50_000_000
"""Most numbers of a table that is built here, 400 MB."""


@dataclass(frozen=True, eq=False)
class Channel:
    """A row-stochastic table.

    Parameters
    ----------
    log_matrix : array of float, shape (a, b)
        ``ln p(y | x)``; −∞ where the probability is 0.

    See Also
    --------
    Channel.from_matrix : from probabilities.
    """

    log_matrix: FloatArray
    # Where a construction knows ε exactly; from the logarithms it is exact to about 1e-16 nats.
    _epsilon: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        logs = as_float_array(self.log_matrix, "log_matrix")
        with np.errstate(over="ignore"):
            check_conditional(np.exp(logs), "channel")
        object.__setattr__(self, "log_matrix", freeze(logs))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Channel:
        """Build from probabilities of shape (a, b) whose rows sum to 1.

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic.
        """
        return cls(log_zero_ok(check_conditional(matrix, "channel")))

    @classmethod
    def identity(cls, k: int) -> Channel:
        """Return the channel on `k` values that releases its input."""
        size = _check_square(k)
        return cls(log_zero_ok(np.eye(size)), 0.0 if size == 1 else np.inf)

    @cached_property
    def matrix(self) -> FloatArray:
        """Probabilities p(y | x), shape (a, b)."""
        return freeze(np.exp(self.log_matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of inputs and of outputs."""
        return self.log_matrix.shape[0], self.log_matrix.shape[1]

    @cached_property
    def epsilon(self) -> float:
        """Privacy parameter of the table: the largest ``ln p(y|x) − ln p(y|x')``; may be ∞."""
        if self._epsilon is not None:
            return self._epsilon
        high = self.log_matrix.max(axis=0)
        low = self.log_matrix.min(axis=0)
        used = high > -np.inf  # an output that never happens tells nothing
        return float((high[used] - low[used]).max(initial=0.0))

    @cached_property
    def retention(self) -> float:
        """λ of a table of the form ``λ·I + (1 − λ)·1cᵀ``: with weight λ the value is kept.

        Centred moments of the attribute shrink by this factor. Every 2 × 2 table has the form; λ
        is negative where values are swapped rather than kept. 1 for a single value.

        Raises
        ------
        InvalidInputError
            If the table is not square, or not of this form (to 1e-12).
        """
        kept, off = self._kept
        if off > 1e-12:
            rows, columns = self.shape
            got = f"shape ({rows}, {columns})" if rows != columns else "columns that vary otherwise"
            msg = f"expected a square table λ·I + (1 − λ)·1cᵀ, got {got}"
            raise InvalidInputError(msg)
        return kept

    @cached_property
    def _kept(self) -> tuple[float, float]:
        """Best λ, and the largest departure from λ·I + (1 − λ)·1cᵀ (∞ if not square)."""
        k, columns = self.shape
        if k != columns:
            return 0.0, np.inf
        if k == 1:
            return 1.0, 0.0
        table, others = self.matrix, ~np.eye(k, dtype=bool)
        low = table.min(axis=0, where=others, initial=np.inf)
        high = table.max(axis=0, where=others, initial=-np.inf)
        gaps = np.diag(table) - low
        off = float(max((high - low).max(), np.ptp(gaps)))
        if off == 0 and self._epsilon is not None and gaps[0] >= 0 and np.ptp(low) == 0:
            # Randomised response with a known ε: no cancellation, also where λ is tiny.
            with np.errstate(over="ignore"):
                t = np.expm1(self._epsilon)
            return float(t / (t + k)) if np.isfinite(t) else 1.0, off
        return float(gaps.mean()), off

    @cached_property
    def inverse(self) -> FloatArray:
        """Unbiasing table U of shape (b, a): ``matrix @ U`` is the identity.

        ``U[y]`` is an unbiased estimate of the indicators of the input, given output y. With more
        outputs than inputs there are many; this one has the smallest variance when the inputs are
        equally frequent: ``U = D⁻¹Cᵀ(C D⁻¹ Cᵀ)⁻¹`` with D the diagonal of mean output
        probabilities.

        Raises
        ------
        InvalidInputError
            If the rows of the table are linearly dependent, so that the outputs do not identify
            the distribution of the inputs.
        """
        a, b = self.shape
        kept, off = self._kept
        # A λ read off the table may be nothing but rounding.
        smallest = 1e-150 if self._epsilon is not None else a * np.finfo(float).eps
        if off < 1e-15 and abs(kept) > smallest and a > 1:
            # (λI + (1 − λ)1cᵀ)⁻¹ = (I − (1 − λ)1cᵀ)/λ; off-diagonal columns are (1 − λ)c.
            common = self.matrix.min(axis=0) if kept > 0 else self.matrix.max(axis=0)
            return freeze((np.eye(a) - common) / kept)
        scale = np.sqrt(self.matrix.mean(axis=0))
        used = scale > 0
        whitened = self.matrix[:, used] / scale[used]
        left, sizes, right = np.linalg.svd(whitened, full_matrices=False)
        rank = int((sizes > sizes[0] * max(a, b) * np.finfo(float).eps).sum())
        if rank < a:
            msg = (
                f"expected a table with {a} linearly independent rows, got rank {rank}: its "
                f"outputs do not identify the distribution of its inputs"
            )
            raise InvalidInputError(msg)
        result = np.zeros((b, a))
        result[used] = (right.T / sizes) @ left.T / scale[used][:, np.newaxis]
        return freeze(result)

    def then(self, other: Channel) -> Channel:
        """Return the cascade: this channel, and `other` applied to its output.

        Raises
        ------
        InvalidInputError
            If `other` does not take this channel's outputs.
        """
        if not isinstance(other, Channel):
            msg = f"expected a Channel, got {other!r}"
            raise InvalidInputError(msg)
        if self.shape[1] != other.shape[0]:
            msg = f"expected a channel with {self.shape[1]} inputs, got {other.shape[0]}"
            raise InvalidInputError(msg)
        return _composed(_log_matmul(self.log_matrix, other.log_matrix))

    def product(self, other: Channel) -> Channel:
        """Return the independent pair of channels (Kronecker product of the tables)."""
        if not isinstance(other, Channel):
            msg = f"expected a Channel, got {other!r}"
            raise InvalidInputError(msg)
        _check_cells(self.log_matrix.size * other.log_matrix.size)
        left, right = self.log_matrix, other.log_matrix
        joint = left[:, np.newaxis, :, np.newaxis] + right[np.newaxis, :, np.newaxis, :]
        rows, columns = (i * j for i, j in zip(self.shape, other.shape, strict=True))
        # ε adds up: the best output of one may coincide with the best output of the other.
        return _composed(joint.reshape(rows, columns), self.epsilon + other.epsilon)


def _check_square(k: int) -> int:
    size = check_size(k)
    _check_cells(size * size)
    return size


def _check_cells(cells: int) -> None:
    if cells > MAX_CELLS:
        msg = (
            f"expected a channel of at most {MAX_CELLS:,} numbers, got {cells:,} "
            f"({8e-9 * cells:,.1f} GB)"
        )
        raise CapacityError(msg)


def _composed(logs: FloatArray, epsilon: float | None = None) -> Channel:
    """A channel from rows that sum to 1 up to twice the tolerance of their origins."""
    with np.errstate(divide="ignore"):
        total = np.exp(logs).sum(axis=1, keepdims=True)
    off = np.abs(total - 1) > 1e-12
    return Channel(np.where(off, logs - np.log(total), logs), epsilon)


def _log_matmul(left: FloatArray, right: FloatArray) -> FloatArray:
    """``ln(exp(left) @ exp(right))`` without underflow."""
    top = right.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0.0)
    finite = np.where(np.isfinite(right), right - shift, 0.0)
    if finite.min(initial=0.0) > -600 and left[np.isfinite(left)].min(initial=0.0) > -600:
        return log_zero_ok(np.exp(left) @ np.exp(right - shift)) + shift
    result = np.empty((left.shape[0], right.shape[1]))
    for x, row in enumerate(left):
        terms = row[:, np.newaxis] + right
        peak = terms.max(axis=0)
        base = np.where(np.isfinite(peak), peak, 0.0)
        result[x] = log_zero_ok(np.exp(terms - base).sum(axis=0)) + base
    return result


def randomized_response(k: int, epsilon: float) -> Channel:
    """k-ary (generalised) randomised response.

    Keeps the value with probability ``e^ε/(e^ε + k − 1)`` and reports each other value with
    probability ``1/(e^ε + k − 1)``.

    Parameters
    ----------
    k : int
        Number of values, 1 or more.
    epsilon : float
        In [0, ∞].

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    CapacityError
        If the table would have more than ``MAX_CELLS`` numbers.
    """
    size = _check_square(k)
    checked = check_epsilon(epsilon)
    if checked.ndim:
        msg = f"expected one epsilon, got an array of shape {checked.shape}"
        raise InvalidInputError(msg)
    e = float(checked)
    keep = -np.log1p((size - 1) * np.exp(-e))
    table = np.full((size, size), keep - e)
    np.fill_diagonal(table, keep)
    return Channel(table, e if size > 1 else 0.0)


def lambda_response(k: int, retention: float) -> Channel:
    """Randomised response P(λ): keep the value with probability λ, else draw uniformly.

    ``P(λ) = λ·I + (1 − λ)/k``; λ = ``(e^ε − 1)/(e^ε + k − 1)`` gives ε.

    Parameters
    ----------
    k : int
        Number of values, 1 or more.
    retention : float
        λ in [0, 1]: the factor by which centred moments of the attribute shrink.
    """
    size = _check_square(k)
    value = as_float_array(retention, "retention")
    if value.ndim or not 0 <= value <= 1:
        msg = f"expected retention in [0, 1], got {retention!r}"
        raise InvalidInputError(msg)
    keep = float(value)
    table = np.full((size, size), (1 - keep) / size)
    np.fill_diagonal(table, keep + (1 - keep) / size)
    if size == 1:
        return Channel(log_zero_ok(table), 0.0)
    return Channel(log_zero_ok(table), np.inf if keep == 1 else np.log1p(size * keep / (1 - keep)))
