"""Redaction that does not look at the data: a window of records around the hidden one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._numeric import BoolArray, FloatArray, extremes_allowed
from seepage.errors import InvalidInputError
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import never_clear, side_influence
from seepage.sequence.leakage import sides
from seepage.sequence.uncertain import ChainSet, window_ratios

FIRST = 32
"""Distances looked at first; the number is doubled until a solution is among them."""


@dataclass(frozen=True, eq=False)
class SideRatios:
    """Largest log-ratios by the number of records redacted next to the hidden one.

    Attributes
    ----------
    ratio : array of float, shape (m, k, k)
        For 0 to m − 1 redacted records; the last one is 0 when the whole side is redacted.
    length : int
        Number of records of the side.
    """

    ratio: FloatArray
    length: int

    @property
    def whole(self) -> bool:
        """Whether redacting the whole side is among them."""
        return bool(self.ratio.shape[0] == self.length + 1)


@extremes_allowed
def best_window(
    chain: MarkovChain | ChainSet, n: int, position: int, epsilon: float
) -> tuple[int, int]:
    """The narrowest window whose exact leakage is at most ε, as numbers redacted left and right.

    The optimum of all data-independent mechanisms: a record released with a probability that does
    not depend on its state leaks as much as one that is always released, and records beyond it
    leak nothing more. Of windows of equal width the one that leaks less is taken.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    n : int
    position : int
        From 0.
    epsilon : float
        In nats, in [0, ∞].

    Returns
    -------
    tuple of int
        Records redacted to the left and to the right of the hidden one.

    Notes
    -----
    Time O(w·k³) for a window of width w: ratios fall with the distance, so two pointers suffice.
    """
    if epsilon == 0 and isinstance(chain, MarkovChain) and never_clear(chain, n, position):
        return position, n - position - 1
    reach = FIRST
    while True:
        left, right = (side_ratios(chain, n, position, reach, s) for s in ("left", "right"))
        found = _narrowest(left.ratio, right.ratio, epsilon)
        done = left.whole and right.whole
        if done or (found is not None and sum(found) < reach):
            assert found is not None, "redacting both sides leaks nothing"
            return found
        reach *= 2


def side_ratios(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int,
    reach: int,
    which: Literal["left", "right"],
) -> SideRatios:
    """Ratios of one side for up to `reach` − 1 redacted records, and for the whole side."""
    length = position if which == "left" else n - position - 1
    m = min(reach, length)
    if isinstance(chain, ChainSet):
        table = window_ratios(chain, m, backward=which == "left")
    else:
        side = sides(chain, position, n)[which == "right"]
        present = chain.supports(position, position + 1)[0]
        table = np.maximum(side_influence(side, m, present).ratio, 0.0)
    if m == length:
        table = np.concatenate([table, np.zeros((1, *table.shape[1:]))])
    return SideRatios(table, length)


def _narrowest(left: FloatArray, right: FloatArray, epsilon: float) -> tuple[int, int] | None:
    k = left.shape[1]
    pairs = ~np.eye(k, dtype=bool)
    if not pairs.any():
        return 0, 0
    left, right = left[:, pairs], right[:, pairs]
    best: tuple[int, float, int, int] | None = None
    j = right.shape[0] - 1
    if not np.isfinite(left).all():
        left = np.minimum(left, 1e300)
    for i in range(left.shape[0]):
        while j >= 0 and (left[i] + right[j]).max() <= epsilon:
            candidate = (i + j, float((left[i] + right[j]).max()), i, j)
            best = candidate if best is None or candidate < best else best
            j -= 1
        if j + 1 < right.shape[0] and (left[i] + right[j + 1]).max() <= epsilon:
            candidate = (i + j + 1, float((left[i] + right[j + 1]).max()), i, j + 1)
            best = candidate if best is None or candidate < best else best
        if j < 0:
            break
    return None if best is None else (best[2], best[3])


def window_table(n: int, k: int, position: int, left: int, right: int) -> FloatArray:
    """Redaction probabilities of a window, shape (n, k)."""
    r = np.zeros((n, k))
    r[max(position - left, 0) : position + right + 1] = 1.0
    return r


@extremes_allowed
def quilt_window(
    chain: MarkovChain | ChainSet, n: int, position: int, epsilon: float
) -> tuple[int, int]:
    """Window of the Markov quilt mechanism with the radii that its argument allows.

    Algorithm 1 of the paper redacts Δ*(ε) records where Δ*(ε) − 1 suffice. Here each side gets half
    of ε, or one side all of it while the other is redacted whole; the narrowest is taken.
    """
    half = [_clear(chain, n, position, epsilon / 2, s) for s in ("left", "right")]
    full = [_clear(chain, n, position, epsilon, s) for s in ("left", "right")]
    before, after = position, n - position - 1
    options = [
        (half[0], half[1]),
        (before, full[1]),
        (full[0], after),
        (before, after),
    ]
    return min(options, key=sum)


def _clear(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int,
    epsilon: float,
    which: Literal["left", "right"],
) -> int:
    """Fewest redacted records of a side such that its max-influence is at most ε."""
    reach = FIRST
    while True:
        found = side_ratios(chain, n, position, reach, which)
        below: BoolArray = found.ratio.max(axis=(1, 2), initial=0.0) <= epsilon
        if below.any():
            return int(np.argmax(below))
        reach *= 4


def check_binary(chain: MarkovChain | ChainSet, what: str) -> tuple[float, float, int]:
    """Return (α, β, label) with α ≤ β: p(0 → 1) and p(1 → 0) after relabelling, and which is 0.

    Raises
    ------
    InvalidInputError
        If the chain is not binary and stationary.
    """
    if isinstance(chain, ChainSet) or chain.k != 2 or not chain.is_stationary:
        msg = f"expected a stationary chain on two states for {what}, which is defined for no other"
        raise InvalidInputError(msg)
    P = chain.transition
    a, b = float(P[0, 1]), float(P[1, 0])
    return (a, b, 0) if a <= b else (b, a, 1)
