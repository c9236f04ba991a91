"""Laws of the answers to randomised response about a numeric attribute.

A plan gives the mean and the standard deviation of an attribute, not its distribution. The power
is worked out for the law of most entropy with these two among the k equally spaced answers, which
is the normal law where that fits, and told with how far the most skewed laws would move it. With
two or three answers there is only one law.

Positions are in units of the declared range: answer i of k lies at i/(k − 1).
"""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray

FINE = 257
"""Most answers that are told apart; more of them are taken as continuous values,"""
FINE_MANY = 65
"""and fewer are enough from so many records on:"""
MANY = 2_000

_EDGE = 1e-9
"""Share of the possible variances at either end where the law has nowhere to move."""


def grid(k: int) -> FloatArray:
    """Positions of k answers, shape (k,)."""
    return np.arange(k) / (k - 1)


def lattice_size(k: int, n: int) -> int:
    """Number of answers to compute with, for `n` records."""
    return min(k, FINE if n <= MANY else FINE_MANY)


def bounds(k: int, mean: float) -> tuple[float, float]:
    """Least and most variance of any law on k answers with this mean."""
    place = min(max(mean, 0.0), 1.0) * (k - 1)
    above = place - np.floor(place)
    return float(above * (1 - above)) / (k - 1) ** 2, max(mean * (1 - mean), 0.0)


def smooth_law(k: int, mean: float, variance: float) -> FloatArray:
    """Law of most entropy, ``p ∝ exp(ax + bx²)``, shape (k,).

    Parameters
    ----------
    k : int
    mean : float
        In [0, 1].
    variance : float
        Brought within what is possible.
    """
    mean = min(max(mean, 0.0), 1.0)
    low, high = bounds(k, mean)
    v = min(max(variance, low), high)
    tight, wide = _tight(k, mean), _wide(k, mean)
    if k == 2 or high - low <= 1e-15:
        return wide
    share = (v - low) / (high - low)
    if k == 3 or not _EDGE < share < 1 - _EDGE:
        return (1 - share) * tight + share * wide
    found = _tilted(grid(k), mean, v)
    return (1 - share) * tight + share * wide if found is None else found


def skewed_laws(k: int, mean: float, variance: float) -> tuple[FloatArray, FloatArray]:
    """Laws with this mean and variance that are skewed the most to the left and to the right.

    The extremes of a third moment are at laws on an end and two neighbours, or on both ends.
    """
    found = []
    low, high = bounds(k, mean)
    v = min(max(variance, low), high)
    for flip in (True, False):
        m = 1 - mean if flip else mean
        law = _leaning(k, m, v)
        found.append(law[::-1] if flip else law)
    return found[0], found[1]


def _leaning(k: int, m: float, v: float) -> FloatArray:
    """Most skewed to the right: two neighbouring answers and the upper end."""
    x = grid(k)
    best = _wide(k, m)
    for i in range(k - 2):
        a, b = x[i], x[i + 1]
        # E (X − a)(X − b) is what the upper end adds.
        top = (v + (m - a) * (m - b)) / ((1 - a) * (1 - b))
        up = (m - a - top * (1 - a)) / (b - a)
        rest = 1 - top - up
        if min(top, up, rest) >= -1e-12:
            best = np.zeros(k)
            best[[i, i + 1, k - 1]] = np.maximum([rest, up, top], 0.0)
            break
    return np.asarray(best / best.sum())


def ended_law(k: int, mean: float, variance: float) -> FloatArray:
    """Law on both ends and on the answers around the mean: the heaviest tails, shape (k,)."""
    mean = min(max(mean, 0.0), 1.0)
    low, high = bounds(k, mean)
    share = min(max((variance - low) / (high - low), 0.0), 1.0) if high > low else 1.0
    return (1 - share) * _tight(k, mean) + share * _wide(k, mean)


def split_law(k: int, mean: float, variance: float) -> FloatArray:
    """Law on two groups of neighbouring answers, as far from the mean on either side as fits."""
    mean = min(max(mean, 0.0), 1.0)
    v = min(max(variance, bounds(k, mean)[0]), bounds(k, mean)[1])
    x = grid(k)

    def law(t: float) -> FloatArray:
        a, b = max(mean - t, 0.0), min(mean + t, 1.0)
        if b - a < 1e-9:
            return _tight(k, mean)
        up = (mean - a) / (b - a)
        return (1 - up) * _tight(k, a) + up * _tight(k, b)

    # Its variance is a continuous function of t, from the least to the most there is.
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if float(law(middle) @ (x - mean) ** 2) < v:
            low = middle
        else:
            high = middle
    return law(high)


def law_on(k: int, places: tuple[int, int, int], mean: float, variance: float) -> FloatArray | None:
    """The law on three answers, in rising order; None where there is none."""
    a, b, c = (i / (k - 1) for i in places)
    weights = np.array(
        [
            (variance + (mean - b) * (mean - c)) / ((a - b) * (a - c)),
            (variance + (mean - a) * (mean - c)) / ((b - a) * (b - c)),
            (variance + (mean - a) * (mean - b)) / ((c - a) * (c - b)),
        ]
    )
    if weights.min() < -1e-9:
        return None
    law = np.zeros(k)
    law[list(places)] = np.maximum(weights, 0.0)
    return np.asarray(law / law.sum())


def _tight(k: int, mean: float) -> FloatArray:
    """The two answers around the mean."""
    return np.asarray(np.maximum(1 - np.abs(mean * (k - 1) - np.arange(k)), 0.0))


def _wide(k: int, mean: float) -> FloatArray:
    """Both ends."""
    law = np.zeros(k)
    law[0], law[-1] = 1 - mean, mean
    return law


def _tilted(x: FloatArray, mean: float, variance: float) -> FloatArray | None:
    """Newton's method on the convex dual; None where it does not get there."""
    z = (x - mean) / np.sqrt(variance)
    features = np.stack([z, z * z - 1])
    theta = np.array([0.0, -0.5])

    def law(t: FloatArray) -> tuple[float, FloatArray]:
        logs = t @ features
        top = float(logs.max())
        p = np.exp(logs - top)
        total = float(p.sum())
        return top + float(np.log(total)), p / total

    value, p = law(theta)
    for _ in range(100):
        slope = features @ p
        if np.abs(slope).max() < 1e-13:
            return p
        centred = features - slope[:, np.newaxis]
        hessian = (centred * p) @ centred.T
        determinant = hessian[0, 0] * hessian[1, 1] - hessian[0, 1] ** 2
        if not determinant > 1e-300:
            return None
        step = (
            np.array(
                [
                    hessian[1, 1] * slope[0] - hessian[0, 1] * slope[1],
                    hessian[0, 0] * slope[1] - hessian[0, 1] * slope[0],
                ]
            )
            / determinant
        )
        part = 1.0
        while part > 1e-10:
            new, q = law(theta - part * step)
            if new <= value - 1e-4 * part * float(slope @ step) or np.abs(part * step).max() < 1e-9:
                break
            part /= 2
        theta, value, p = theta - part * step, new, q
    return p if np.abs(features @ p).max() < 1e-10 else None
