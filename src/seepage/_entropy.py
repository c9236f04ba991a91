"""Random words and the exact draws that are made of them.

A release draws from the operating system, a simulation from a NumPy generator; everything after
that is the same code. Nothing is buffered between calls, so a forked process never repeats words.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import BoolArray, IntArray
from seepage.errors import InvalidInputError

Rng = np.random.Generator | int | None
"""Source of randomness: None draws from the operating system, anything else is a simulation."""

WordArray = NDArray[np.uint64]

Words = Callable[[int], WordArray]
"""Draws n independent uniform 64-bit words, shape (n,); its own to write into."""

TOTAL = 1 << 64
"""Number of words; weights are counts of words and add up to this."""

_FIRST_BITS = 8
_REST_BITS = 64 - _FIRST_BITS


def word_source(rng: Rng = None) -> Words:
    """Return a source of uniform 64-bit words.

    Parameters
    ----------
    rng : numpy.random.Generator or int, optional
        Without it the words come from the operating system.

    Raises
    ------
    InvalidInputError
        If `rng` is something else; a legacy ``RandomState`` and a bool are not accepted.
    """
    if rng is None:
        return _system_words
    generator = as_generator(rng)

    def draw(n: int) -> WordArray:
        return generator.integers(0, TOTAL, n, dtype=np.uint64)

    return draw


def as_generator(rng: np.random.Generator | int) -> np.random.Generator:
    """Return `rng` as a generator; an int seeds a new one."""
    if isinstance(rng, np.random.Generator):
        return rng
    whole = isinstance(rng, (int, np.integer)) and not isinstance(rng, (bool, np.bool_))
    if not whole or rng < 0:
        msg = (
            f"expected rng to be a numpy.random.Generator, an int of 0 or more or None, got {rng!r}"
        )
        raise InvalidInputError(msg)
    return np.random.default_rng(int(rng))


def _system_words(n: int) -> WordArray:
    # A bytearray, because NumPy's view of bytes is read-only.
    return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)


def below(bound: int, n: int, words: Words) -> IntArray:
    """Draw n integers, exactly uniform on 0 … bound − 1, for 1 ≤ bound ≤ 2^63.

    Words beyond the largest multiple of `bound` are drawn again.
    """
    share = np.uint64(TOTAL // bound) if bound > 1 else None
    if share is None:
        return np.zeros(n, dtype=np.int64)
    result = words(n) // share
    again = np.flatnonzero(result >= bound)
    while again.size:
        result[again] = words(again.size) // share
        again = again[result[again] >= bound]
    return result.view(np.int64)


def coins(weight: int, n: int, words: Words) -> BoolArray:
    """Draw n independent booleans that are true with probability ``weight / 2^64``, exactly.

    Eight bits decide nearly every draw; the other 56 are drawn only where those are level with the
    first eight of the weight.
    """
    if weight <= 0 or weight >= TOTAL:
        return np.full(n, weight > 0)
    first, rest = weight >> _REST_BITS, weight & ((1 << _REST_BITS) - 1)
    drawn = words(-(-n // 8)).view(np.uint8)[:n]
    result = drawn < np.uint8(first)
    if rest:
        level = np.flatnonzero(drawn == np.uint8(first))
        tail = words(level.size) >> np.uint64(_FIRST_BITS)
        result[level] = tail < np.uint64(rest)
    return result
