"""Three-region redaction of one side, for many choices at once.

A choice is: the first `near` records are redacted; the next ones, up to `far`, are redacted always
in some states and with probability r in the others (`shown`); beyond, everything is released. All
choices with the same `shown` are evaluated in one pass outwards, because the message at a distance
does not depend on where the region ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.sequence._messages import Side


@dataclass(frozen=True, eq=False)
class Hidden:
    """One side of a hidden record, with what is needed to value its redaction.

    Attributes
    ----------
    side : Side
    law : array of float, shape (k,) or (length, k)
        Law of the records by distance.
    present : array of bool, shape (k,)
        Values that the hidden record can have.
    """

    side: Side
    law: FloatArray
    present: BoolArray

    @property
    def length(self) -> int:
        """Number of records."""
        return self.side.length

    @property
    def k(self) -> int:
        """Number of states."""
        return self.present.size

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Ordered pairs of different hidden values that can occur."""
        use = self.present[:, np.newaxis] & self.present & ~np.eye(self.k, dtype=bool)
        x, y = np.nonzero(use)
        return x, y

    def kernel(self, distance: int) -> FloatArray:
        """Transition to `distance`, 1 or more."""
        K = self.side.kernel
        return K if K.ndim == 2 else K[distance - 1]

    def skip(self, distance: int) -> FloatArray:
        """Transition over the first `distance` records together, up to a factor."""
        K = self.side.kernel
        if K.ndim == 2:
            return np.asarray(np.linalg.matrix_power(K, distance))
        product = np.eye(self.k)
        for d in range(distance):
            product = product @ K[d]
            product /= product.max()
        return product

    def law_at(self, distance: int) -> FloatArray:
        """Law of the record at `distance`."""
        return self.law if self.law.ndim == 1 else self.law[distance - 1]


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices for one side, with what they leak and what they release.

    Attributes
    ----------
    shown : array of bool, shape (m, k)
        States that are released now and then in the middle region.
    near, far : array of int, shape (m,)
        Last distance of the region that is redacted, and of the middle one.
    redact : array of float, shape (m,)
        r of the shown states in the middle region.
    ratio : array of float, shape (m, pairs)
        Largest log-ratios; ∞ where an output excludes a hidden value.
    released : array of float, shape (m,)
        Expected number of released records.
    """

    shown: BoolArray
    near: IntArray
    far: IntArray
    redact: FloatArray
    ratio: FloatArray
    released: FloatArray

    def take(self, rows: IntArray) -> Choices:
        """Return some of them."""
        return Choices(
            self.shown[rows],
            self.near[rows],
            self.far[rows],
            self.redact[rows],
            self.ratio[rows],
            self.released[rows],
        )

    @staticmethod
    def join(parts: list[Choices]) -> Choices:
        """Put lists of choices together."""
        names = ("shown", "near", "far", "redact", "ratio", "released")
        return Choices(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def evaluate(
    hidden: Hidden, shown: BoolArray, near: IntArray, redact: FloatArray, far: IntArray
) -> Choices:
    """Evaluate all combinations of `near` and `redact` with each `far` that is not below `near`.

    Parameters
    ----------
    hidden : Hidden
    shown : array of bool, shape (k,)
    near, far : array of int
        Increasing, from 0 to the length of the side.
    redact : array of float
        In [0, 1).
    """
    x, y = hidden.pairs
    k, length = hidden.k, hidden.length
    a = np.repeat(near, redact.size)
    r = np.tile(redact, near.size)
    m = a.size
    # Before the first middle region everything is redacted, whatever is chosen.
    begin = int(min(near[0], far[0]))
    F = np.broadcast_to(hidden.skip(begin), (m, k, k)).copy()
    worst = np.zeros((m, x.size))
    gained = np.zeros(m)
    wanted = set(far.tolist())
    parts: list[Choices] = []
    last = int(far[-1])
    rest = hidden.length - np.arange(length + 1)

    def keep(d: int, ratio: FloatArray) -> None:
        use = np.flatnonzero(a <= d)
        parts.append(
            Choices(
                np.broadcast_to(shown, (use.size, k)),
                a[use],
                np.full(use.size, d),
                r[use],
                ratio[use],
                gained[use] + rest[d],
            )
        )

    for d in range(begin + 1, min(last + 1, length) + 1):
        F = (F.reshape(m * k, k) @ hidden.kernel(d)).reshape(m, k, k)
        F /= F.max(axis=(1, 2), keepdims=True)
        gap = _gap(F, x, y)
        if d - 1 in wanted:
            keep(d - 1, np.maximum(worst, gap.max(axis=2)))
        middle = a < d
        seen = np.where(middle[:, np.newaxis], gap[:, :, shown].max(axis=2, initial=-np.inf), 0.0)
        worst = np.maximum(worst, seen)
        factor = np.ones((m, k))
        factor[np.ix_(middle, shown)] = r[middle, np.newaxis]
        gained = gained + np.where(middle, (1 - r) * hidden.law_at(d)[shown].sum(), 0.0)
        F = F * factor[:, np.newaxis, :]
    if last == length:
        total = F.sum(axis=2)
        keep(length, np.maximum(worst, _log_ratio(total[:, x], total[:, y])))
    return Choices.join(parts)


def _gap(F: FloatArray, x: IntArray, y: IntArray) -> FloatArray:
    return _log_ratio(F[:, x, :], F[:, y, :])


def _log_ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """``ln top − ln bottom``; −∞ where top is 0, ∞ where only bottom is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(top) - np.log(bottom)
    return np.where(top > 0, value, -np.inf)


def side_table(hidden: Hidden, shown: BoolArray, near: int, far: int, redact: float) -> FloatArray:
    """Redaction probabilities of one choice by distance, shape (length, k)."""
    r = np.zeros((hidden.length, hidden.k))
    r[:far] = 1.0
    r[near:far, shown] = redact
    return r
