"""Linear maps from the features of a report to the categories wanted, dense or by their structure.

Randomised response, unary encoding, local hashing and subset selection treat all categories alike:
a map of theirs is a multiple of the identity and the same number everywhere else. Two numbers for
each category replace a table, so that a hundred thousand categories cost no more than their counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.collect._parameters import check_capacity


class AxisMap(ABC):
    """A matrix M of shape (F, K)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """F and K."""

    @abstractmethod
    def contract(self, table: FloatArray) -> FloatArray:
        """Sum the first axis of a table, of length F, against M; the new axis, K long, comes last.

        ``result[..., j] = Σ_y table[y, ...] M[y, j]``.
        """

    @abstractmethod
    def combine(self, weights: FloatArray) -> FloatArray:
        """``M @ weights``, shape (F,)."""

    @abstractmethod
    def power(self, exponent: int) -> AxisMap:
        """Return the map whose scores are powers of the scores of this one."""

    @abstractmethod
    def gather(self, member: IntArray, size: int) -> AxisMap:
        """Add up the columns of each group: `member` says to which of `size` each belongs."""

    @abstractmethod
    def dense(self) -> FloatArray:
        """M itself.

        Raises
        ------
        CapacityError
            If it would not fit.
        """


@dataclass(frozen=True, eq=False)
class DenseMap(AxisMap):
    """A matrix as it is; powers are those of its entries, right where one feature is 1."""

    matrix: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """F and K."""
        rows, columns = self.matrix.shape
        return rows, columns

    def contract(self, table: FloatArray) -> FloatArray:
        """Return the product along the first axis."""
        return np.asarray(np.tensordot(table, self.matrix, axes=(0, 0)))

    def combine(self, weights: FloatArray) -> FloatArray:
        """``M @ weights``."""
        return np.asarray(self.matrix @ weights)

    def power(self, exponent: int) -> DenseMap:
        """Powers of the entries."""
        return DenseMap(self.matrix**exponent)

    def gather(self, member: IntArray, size: int) -> DenseMap:
        """Sums of columns."""
        if self.matrix.shape[1] == size and np.array_equal(member, np.arange(size)):
            return self
        result = np.zeros((self.matrix.shape[0], size))
        np.add.at(result.T, member, self.matrix.T)
        return DenseMap(result)

    def dense(self) -> FloatArray:
        """The matrix."""
        return self.matrix


@dataclass(frozen=True, eq=False)
class EvenMap(AxisMap):
    """``M[y, j] = on[j]·[y is in group j] + off[j]·u[y]``, from k features that are categories.

    Parameters
    ----------
    member : array of int, shape (k,)
        Group of each category.
    on, off : array of float, shape (K,)
    constant : bool
        Whether there is a feature k + 1 that is always 1, to which `off` belongs (u is its unit
        vector); otherwise exactly one of the k features is 1, and u is 1 everywhere.
    """

    member: IntArray
    on: FloatArray
    off: FloatArray
    constant: bool

    @classmethod
    def of(cls, k: int, on: float, off: float, *, constant: bool) -> EvenMap:
        """The same numbers for each of k categories."""
        return cls(np.arange(k), np.full(k, on), np.full(k, off), constant)

    @property
    def shape(self) -> tuple[int, int]:
        """F and K."""
        return len(self.member) + self.constant, len(self.on)

    @cached_property
    def _plain(self) -> bool:
        return len(self.member) == len(self.on) and bool(
            (self.member == np.arange(len(self.on))).all()
        )

    def _grouped(self, rows: FloatArray) -> FloatArray:
        """Sums over the first axis, of length k, within groups."""
        if self._plain:
            return rows
        result = np.zeros((len(self.on), *rows.shape[1:]))
        np.add.at(result, self.member, rows)
        return result

    def contract(self, table: FloatArray) -> FloatArray:
        """Return the product along the first axis, in time proportional to the table."""
        own = self._grouped(table[: len(self.member)])
        whole = table[-1] if self.constant else table.sum(axis=0)
        return np.asarray(np.moveaxis(own, 0, -1) * self.on + np.multiply.outer(whole, self.off))

    def combine(self, weights: FloatArray) -> FloatArray:
        """``M @ weights``."""
        own = (self.on * weights)[self.member]
        whole = self.off @ weights
        return np.append(own, whole) if self.constant else np.asarray(own + whole)

    def power(self, exponent: int) -> EvenMap:
        """A score takes two values, `off` and `on` + `off`; so does its power."""
        off = self.off**exponent
        return EvenMap(self.member, (self.on + self.off) ** exponent - off, off, self.constant)

    def gather(self, member: IntArray, size: int) -> EvenMap:
        """Sums of columns; of a map that is the same for all categories."""
        if self._plain and len(self.on) == size and np.array_equal(member, np.arange(size)):
            return self
        on = np.full(size, self.on[0])
        off = np.bincount(member, self.off, size).astype(np.float64)
        return EvenMap(member, on, off, self.constant)

    def dense(self) -> FloatArray:
        """The matrix."""
        rows, columns = self.shape
        check_capacity(rows, columns, "an unbiasing table")
        result = np.zeros((rows, columns))
        if self.constant:
            result[-1] = self.off
        else:
            result += self.off
        k = len(self.member)
        result[np.arange(k), self.member] += self.on[self.member]
        return result


@dataclass(frozen=True)
class Even:
    """How a mechanism that treats all categories alike makes features.

    The expected feature y given category x is ``spread + stay·[x = y]``, and the indicators are
    estimated by ``on·feature + off``.

    Parameters
    ----------
    stay, spread, on, off : float
    constant : bool
        See `EvenMap`.
    """

    stay: float
    spread: float
    on: float
    off: float
    constant: bool

    def map(self, k: int) -> EvenMap:
        """Return the unbiasing map of k categories.

        Raises
        ------
        CapacityError
            If numbers for each category would not fit.
        """
        check_capacity(k, 1, "a map")
        return EvenMap.of(k, self.on, self.off, constant=self.constant)

    def with_fake(self, d: int, k: int) -> Even:
        """Return that of reports which are true with probability 1/d, otherwise uniform."""
        # With C @ U = I, (C/d + (1 − 1/d)/k) @ (d·U − (d − 1)/k · 1ᵀU) = I.
        column = self.on + k * self.off
        off = d * self.off - (d - 1) / k * column
        spread = self.spread / d + (1 - 1 / d) / k
        return Even(self.stay / d, spread, d * self.on, off, self.constant)
