"""Events that tell two inputs of a randomiser apart, and what their counts prove.

An event is chosen on one part of the samples and counted on another. Given the first part it is an
event fixed in advance, so whatever rule chose it, exact binomial limits of its two probabilities
hold: ``ε ≥ ln((p − δ)/q)`` when ``p ≤ Pr(S | x)`` and ``q ≥ Pr(S | x')``.

Candidates are thresholds of a component that is a number, and of an estimated log-likelihood ratio:
of a component of the reports, of the joint values of a few components, and of the sum over the best
2, 4, 8, … components as if they were independent. The one with the best predicted limit is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.attack._observations import Codebook, Codes, Symbols

SINGLES = 4
"""So many components are tried each on its own, the most different first."""

JOINT = (2, 3, 4, 6, 8, 12)
"""So many components are tried with all their combinations, and all when there are no more."""

THRESHOLDS = 400
"""About the most thresholds tried for one score."""

SMOOTHING = 0.5
"""Added to every count before ratios are taken."""

MARGIN = 0.005
"""Relative gain in the predicted limit that makes up for looking at more components."""

SHOWN = 4
"""So many symbols of an event are named."""


Words = Sequence[Callable[[Any], str]]
"""What a value of each component means."""


def binomial_limits(
    successes: ArrayLike, trials: ArrayLike, error: float
) -> tuple[FloatArray, FloatArray]:
    """One-sided exact limits of a binomial probability (Clopper and Pearson 1934).

    Parameters
    ----------
    successes, trials : array-like of int
        With 0 ≤ successes ≤ trials, trials ≥ 1; unchecked.
    error : float
        In (0, 1): either limit fails with at most this probability.

    Returns
    -------
    lower, upper : arrays of float
        In [0, 1].
    """
    from scipy.special import betainccinv, betaincinv

    x, n = np.broadcast_arrays(
        np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    )
    some, short = x > 0, x < n
    lower = betaincinv(np.where(some, x, 1.0), np.where(some, n - x + 1, 1.0), error)
    upper = betainccinv(np.where(short, x + 1, 1.0), np.where(short, n - x, 1.0), error)
    return np.where(some, lower, 0.0), np.where(short, upper, 1.0)


@dataclass(frozen=True, eq=False)
class Score:
    """An estimated log-likelihood ratio of two inputs, as a function of the symbols of a report.

    Parameters
    ----------
    columns : tuple of int
        The components it looks at.
    tables : tuple of arrays
        A value for each symbol of each component; their sum is the score. Empty for joint values.
    keys, values : arrays
        Score of each combination of symbols, by the sorted hash of the combination; 0 for others.
    """

    columns: tuple[int, ...]
    tables: tuple[FloatArray, ...] = ()
    keys: NDArray[np.uint64] | None = None
    values: FloatArray | None = None

    def __call__(self, codes: Codes) -> FloatArray:
        """Score of each report, shape (n,), from symbols of shape (n, components)."""
        if self.keys is None or self.values is None:
            total = np.zeros(len(codes))
            for j, table in zip(self.columns, self.tables, strict=True):
                total += table[codes[:, j]]
            return total
        mixed = combine(codes, self.columns)
        at = np.minimum(np.searchsorted(self.keys, mixed), self.keys.size - 1)
        return np.where(self.keys[at] == mixed, self.values[at], 0.0)


@dataclass(frozen=True, eq=False)
class Event:
    """Reports whose score is at least, or at most, a threshold.

    Parameters
    ----------
    score : Score
    threshold : float
    above : bool
    predicted : float
        The limit of ε that the choosing sample lets expect.
    """

    score: Score
    threshold: float
    above: bool
    predicted: float

    def contains(self, codes: Codes) -> BoolArray:
        """Which reports are in the event, shape (n,)."""
        values = self.score(codes)
        if self.above:
            return np.asarray(values >= self.threshold)
        return np.asarray(values <= self.threshold)

    def describe(self, book: Codebook, words: Words | None = None) -> str:
        """The event in words; `words` has a function from values to words for each component."""
        columns = self.score.columns
        several = book.contents > 1
        if len(columns) == 1 and self.score.tables:
            (table,), (j,) = self.score.tables, columns
            inside = table >= self.threshold if self.above else table <= self.threshold
            symbols, codes = book.columns[j], np.flatnonzero(inside).tolist()
            if j >= book.contents:
                whose = f"component {book.lengths[j - book.contents]} of " if several else ""
                return f"length of {whose}the report is {symbols.describe(codes, SHOWN, _long)}"
            if words is not None and len(words) == book.contents:
                return symbols.describe(codes, SHOWN, words[j])
            what = f"component {j} of the report" if several else "report"
            return f"{what} is {symbols.describe(codes, SHOWN)}"
        listed = ", ".join(map(book.name, columns[: SHOWN * 2])) + (
            f" and {len(columns) - SHOWN * 2} more" if len(columns) > SHOWN * 2 else ""
        )
        sign = "at least" if self.above else "at most"
        how = "the likelihood of" if self.score.tables else "the joint likelihood of"
        return f"{how} components {listed} is {sign} a threshold"


def _long(length: Any) -> str:
    return "none" if length < 0 else str(length)


def combine(codes: Codes, columns: Sequence[int]) -> NDArray[np.uint64]:
    """Hash of the symbols of some components, shape (n,).

    Two combinations may share a value; an event is then a little coarser, and as valid.
    """
    mixed = np.zeros(len(codes), dtype=np.uint64)
    for j in columns:
        mixed += codes[:, j].astype(np.uint64) + np.uint64(1)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def choose(
    fit: tuple[Codes, Codes],
    test: tuple[Codes, Codes],
    book: Codebook,
    *,
    normal: float,
    delta: float,
) -> tuple[Event, Event]:
    """Choose the event that best shows the first input, and the one for the second.

    Parameters
    ----------
    fit : pair of arrays of int, shape (n, components)
        Symbols of reports under the two inputs, on which ratios are estimated.
    test : pair of arrays of int, shape (m, components)
        The same of other reports, on which candidates are compared.
    book : Codebook
        Where the symbols come from.
    normal : float
        Standard errors held against a frequency when candidates are compared.
    delta : float
        In [0, 1).
    """
    found = []
    for score in _scores(fit, book.columns):
        high, low = (np.sort(score(codes)) for codes in test)
        found.append(_thresholds(score, high, low, normal, delta))
    first, second = found[0]
    for up, down in found[1:]:
        first, second = _better(first, up), _better(second, down)
    return first, second


def _better(known: Event, event: Event) -> Event:
    """The later candidate looks at more components, so it has to be better by a margin."""
    gain = MARGIN * abs(known.predicted)
    return event if event.predicted > known.predicted + gain else known


def _scores(fit: tuple[Codes, Codes], parts: Sequence[Symbols]) -> Iterator[Score]:
    """Candidate scores, simple ones first; components in the order of how much they differ."""
    tables, weight = [], np.empty(len(parts))
    for j, symbols in enumerate(parts):
        counts = [np.bincount(codes[:, j], minlength=symbols.size) + SMOOTHING for codes in fit]
        ratio = np.log(counts[0] / counts[1])
        tables.append(ratio)
        # The symmetric divergence of the smoothed frequencies.
        weight[j] = ((counts[0] - counts[1]) * ratio).sum()
    order = np.argsort(-weight, kind="stable").tolist()
    for j in order[:SINGLES]:
        if parts[j].ordered:  # fewer ways to be misled than by ratios
            yield Score((j,), (np.arange(parts[j].size, dtype=np.float64),))
        yield Score((j,), (tables[j],))
    sums = {2**i for i in range(1, len(parts).bit_length())} | {len(parts)}
    joint = {min(count, len(parts)) for count in JOINT}
    for count in sorted((sums | joint) - {1}):
        chosen = tuple(order[:count])
        if count in sums:
            yield Score(chosen, tuple(tables[j] for j in chosen))
        if count in joint:
            yield _joint(fit, chosen)


def _joint(fit: tuple[Codes, Codes], columns: tuple[int, ...]) -> Score:
    keys, counts = [], []
    for codes in fit:
        found, number = np.unique(combine(codes, columns), return_counts=True)
        keys.append(found)
        counts.append(number)
    merged = np.union1d(keys[0], keys[1])
    filled = np.full((2, merged.size), SMOOTHING)
    for row, found, number in zip(filled, keys, counts, strict=True):
        row[np.searchsorted(merged, found)] += number
    return Score(columns, keys=merged, values=np.log(filled[0] / filled[1]))


def _thresholds(
    score: Score, high: FloatArray, low: FloatArray, normal: float, delta: float
) -> tuple[Event, Event]:
    """The best threshold from above for the first input, and from below for the second."""
    values = np.unique(np.concatenate([high, low]))
    if values.size > THRESHOLDS:  # dense at both ends, where ratios are extreme
        ends = np.geomspace(1, values.size / 2, THRESHOLDS // 4).astype(np.int64) - 1
        middle = np.linspace(0, values.size - 1, THRESHOLDS // 2).astype(np.int64)
        values = values[np.unique(np.r_[ends, middle, values.size - 1 - ends])]
    n, m = high.size, low.size
    x, y = n - np.searchsorted(high, values), m - np.searchsorted(low, values)
    up = _predicted((x, n), (y, m), normal, delta)
    x, y = (np.searchsorted(part, values, side="right") for part in (high, low))
    down = _predicted((y, m), (x, n), normal, delta)
    at, below = int(up.argmax()), int(down.argmax())
    return (
        Event(score, float(values[at]), True, float(up[at])),
        Event(score, float(values[below]), False, float(down[below])),
    )


def _predicted(
    high: tuple[IntArray, int], low: tuple[IntArray, int], normal: float, delta: float
) -> FloatArray:
    """``ln((p − δ)/q)`` with Wilson's limits of the frequencies; −∞ where p ≤ δ."""
    centre_p, half_p = _wilson(*high, normal)
    centre_q, half_q = _wilson(*low, normal)
    gain = np.maximum(centre_p - half_p - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(gain) - np.log(centre_q + half_q))


def _wilson(x: IntArray, n: int, z: float) -> tuple[FloatArray, FloatArray]:
    square = z * z
    centre = (x + square / 2) / (n + square)
    half = z / (n + square) * np.sqrt(x * (n - x) / n + square / 4)
    return np.asarray(centre), np.asarray(half)
