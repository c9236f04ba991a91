"""Laws of counts, and of the difference of the shares of two groups.

Counts are told apart as long as they are few; beyond, neighbours share a cell, and how far a value
may lie from where it is taken to be (`Law.blur`) bounds what that can change.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray

MAX_COUNTS = 30_000
"""Most counts of one group that are told apart."""
MAX_PAIRS = 250_000
"""Most pairs of counts of two groups that are listed; more are convolved,"""
MAX_LATTICE = 2**16
"""on so many steps at most."""
DIRECT = 100_000_000
"""Most products of a convolution that keeps the digits of small probabilities."""
FAINT = 1e-8
"""Tails below this need these digits: pairs are listed then, of cells of counts if need be,"""
FAINT_PAIRS = 400_000
"""and so many at most."""
MAX_SECOND = 10**15
"""Largest group; beyond, binomial tails lose their digits."""


@dataclass(frozen=True)
class Law:
    """A discrete law.

    Parameters
    ----------
    points, masses : arrays, shape (m,)
        Values in rising order, and their probabilities.
    blur : float
        Most that a value can lie from its point.
    """

    points: FloatArray
    masses: FloatArray
    blur: float = 0.0

    def scaled(self, factor: float) -> Law:
        """Law of the values times a positive factor."""
        return Law(self.points * factor, self.masses, self.blur * factor)

    def mirrored(self) -> Law:
        """Law of minus the value."""
        return Law(-self.points[::-1], self.masses[::-1], self.blur)


def window(n: int, p: float, *, narrow: bool = False) -> tuple[int, int]:
    """Least and largest of the binomial counts that matter.

    Left out is less than 1e-30; of a `narrow` one, for many counts, less than 1e-15.
    """
    reach = (9 if narrow else 12) * math.sqrt(n * p * (1 - p)) + 30
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))


def cells(n: int, p: float, most: int | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """First and last count of each cell, and its binomial mass; arrays of shape (m,).

    There are `most` cells at most, ``MAX_COUNTS`` by default.
    """
    from scipy.stats import binom

    low, high = window(n, p)
    stride = -(-(high - low + 1) // (MAX_COUNTS if most is None else most))
    first = np.arange(low, high + 1, stride, dtype=np.float64)
    if stride == 1:
        return first, first, np.asarray(binom.pmf(first, n, p))
    edges = np.append(first, min(first[-1] + stride, n + 1)) - 1
    return first, edges[1:], _between(edges, n, p)


def _between(edges: FloatArray, n: int, p: float) -> FloatArray:
    """Mass of the counts above each edge up to the next, from the tail that is the smaller."""
    from scipy.stats import binom

    below = edges < n * p
    tails = np.empty_like(edges)
    tails[below], tails[~below] = binom.cdf(edges[below], n, p), binom.sf(edges[~below], n, p)
    masses = np.abs(np.diff(tails))
    over = int(below.sum())
    if 0 < over < edges.size:
        masses[over - 1] = 1 - tails[over - 1] - tails[over]
    return np.asarray(np.maximum(masses, 0.0))


def counts_law(n: int, p: float, most: int | None = None) -> Law:
    """Law of a binomial count; `most` as of `cells`."""
    first, last, masses = cells(n, p, most)
    return Law((first + last) / 2, masses, float((last - first).max()) / 2)


@functools.lru_cache(maxsize=8)
def difference_law(sizes: tuple[int, int], p: tuple[float, float], *, faint: bool) -> Law:
    """Law of the share in the second group minus that in the first, times ``n₁n₂``.

    Parameters
    ----------
    sizes : pair of int
    p : pair of float
    faint : bool
        Whether probabilities below `FAINT` must keep their digits.

    Returns
    -------
    Law
        Equal values are equal whole numbers, if `blur` is 0.
    """
    n, m = sizes
    spans = [window(size, q) for size, q in zip(sizes, p, strict=True)]
    wide = [high - low + 1 for low, high in spans]
    pairs = wide[0] * wide[1]
    if faint or pairs <= MAX_PAIRS:
        part = math.sqrt(min(FAINT_PAIRS / pairs, 1.0))
        return _listed(sizes, p, [max(math.floor(part * w), 1) for w in wide])
    g = math.gcd(n, m)
    steps, scale, blur = (m // g, n // g), float(g), 0.0
    length = sum((w - 1) * step for w, step in zip(wide, steps, strict=True)) + 1
    if length > MAX_LATTICE:
        spans = [window(size, q, narrow=True) for size, q in zip(sizes, p, strict=True)]
        wide = [high - low + 1 for low, high in spans]
        # In units of the whole range over so many steps, each group is rounded to the nearest.
        scale = ((wide[0] - 1) * m + (wide[1] - 1) * n) / (MAX_LATTICE - 2)
        blur = scale
        rows = [
            _rounded(size, q, other / scale)
            for size, q, other in zip(sizes, p, (m, n), strict=True)
        ]
    else:
        rows = [_spread(size, q, step) for size, q, step in zip(sizes, p, steps, strict=True)]
    (a0, a), (b0, b) = rows
    a, start = a[::-1], b0 - (a0 + a.size - 1)
    masses = _convolved(a, b)
    keep = masses > 0
    points = np.asarray((start + np.flatnonzero(keep)) * scale, dtype=np.float64)
    return Law(points, masses[keep], blur)


def _listed(sizes: tuple[int, int], p: tuple[float, float], most: list[int]) -> Law:
    (n, m), (a, b) = sizes, map(counts_law, sizes, p, most)
    whole = (b.points[np.newaxis, :] * n - a.points[:, np.newaxis] * m).ravel()
    values, place = np.unique(whole, return_inverse=True)
    weights = np.outer(a.masses, b.masses).ravel()
    masses = np.bincount(place, weights=weights, minlength=values.size)
    return Law(values, np.asarray(masses, dtype=np.float64), a.blur * m + b.blur * n)


def _spread(n: int, p: float, step: int) -> tuple[int, FloatArray]:
    """First place and masses of a count that moves in so many steps of a lattice."""
    from scipy.stats import binom

    low, high = window(n, p)
    masses = np.zeros((high - low) * step + 1)
    masses[::step] = binom.pmf(np.arange(low, high + 1), n, p)
    return low * step, masses


def _rounded(n: int, p: float, step: float) -> tuple[int, FloatArray]:
    """First place and masses of a count whose `step` is no whole number of those of a lattice."""
    from scipy.stats import binom

    low, high = window(n, p, narrow=True)
    first, last = round(low * step), round(high * step)
    if high - low <= last - first:
        counts = np.arange(low, high + 1)
        places = np.rint(counts * step).astype(np.intp) - first
        masses = np.bincount(places, binom.pmf(counts, n, p), last - first + 1)
        return first, np.asarray(masses, dtype=np.float64)
    edges = np.floor((np.arange(first, last + 2) - 0.5) / step)
    edges[0], edges[-1] = low - 1, high
    return first, _between(edges, n, p)


def _convolved(a: FloatArray, b: FloatArray) -> FloatArray:
    from scipy.signal import fftconvolve

    if a.size * b.size <= DIRECT:
        return np.convolve(a, b)
    return np.asarray(np.maximum(fftconvolve(a, b), 0.0))
