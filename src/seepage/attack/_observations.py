"""What reports look like to an attacker: columns of symbols, whatever type the reports have.

A report is split into components (the bits of a vector, the entries of a record), and every
component into finitely many symbols. Both are settled on a first sample; what a later sample shows
for the first time has a symbol of its own, so that an event is a fixed function of the report. The
length of a component that is a text or a list is a component too: it may tell what random contents
do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray
from seepage.attack._parts import (
    Column,
    Parts,
    items_of,
    keys_of,
    label,
    lengths_of,
    shown,
    split,
    unsplit,
)

Codes = NDArray[Any]
"""Symbols as whole numbers of any width."""

BINS = 250
"""Most intervals of a component with many different numbers; always kept apart if fewer."""

REPEATS = 20
"""Values seen this often on average are kept apart, however many there are."""


@dataclass(frozen=True, eq=False)
class Symbols:
    """Symbols of one component: values that are kept apart, or intervals.

    Symbol numbers: the values or intervals in order, then `other`.
    """

    kind: str
    values: Column
    intervals: bool
    positions: Mapping[Hashable, int]

    @classmethod
    def of(cls, column: Column) -> Symbols:
        """Settle symbols on a sample."""
        kind = _kind(column)
        if kind == "O":
            common = Counter(column.tolist()).most_common(max(BINS, column.size // REPEATS))
            names = np.empty(len(common), dtype=object)
            names[:] = [name for name, _ in common]
            return cls(kind, names, False, {name: i for i, (name, _) in enumerate(common)})
        values, counts = np.unique(column, return_counts=True)
        most = max(BINS, column.size // REPEATS)
        if values.size <= most:
            return cls(kind, values, False, {})
        if kind in "US":
            kept = np.sort(np.argpartition(-counts, most)[:most])
            return cls(kind, values[kept], False, {})
        known = column if kind != "f" else column[~np.isnan(column)]
        at = np.linspace(0, known.size - 1, BINS + 1)[1:-1].round().astype(np.int64)
        return cls(kind, np.unique(np.partition(known, at)[at]), True, {})

    @property
    def size(self) -> int:
        """Number of symbols."""
        return self.values.size + (2 if self.intervals else 1)

    @property
    def other(self) -> int:
        """Symbol of what is no value seen before, and of NaN and texts among intervals."""
        return self.size - 1

    def encode(self, column: Column) -> IntArray:
        """Symbol of each entry."""
        if _kind(column) != self.kind:
            if self.kind != "O":  # another type than in the first sample
                return np.full(column.size, self.other, dtype=np.int64)
            column = keys_of(column.tolist())
        if self.kind == "O":
            get, other = self.positions.get, self.other
            return np.fromiter((get(item, other) for item in column), np.int64, column.size)
        if self.intervals:
            codes = np.searchsorted(self.values, column, side="right")
            if self.kind == "f":
                codes[np.isnan(column)] = self.other
            return codes.astype(np.int64)
        if self._from is not None:
            return self._offsets(column, self._from)
        codes = np.searchsorted(self.values, column).astype(np.int64)
        found = self.values[np.minimum(codes, self.values.size - 1)]
        same = found == column
        if self.kind == "f":
            same |= np.isnan(found) & np.isnan(column)
        codes[~same] = self.other
        return codes

    @cached_property
    def _from(self) -> int | None:
        """The first of whole numbers that follow each other without a gap."""
        if self.kind not in "bi" or self.intervals:
            return None
        first, last = int(self.values[0]), int(self.values[-1])
        small = max(-first, last) < 2**62
        return first if small and last - first == self.values.size - 1 else None

    def _offsets(self, column: Column, first: int) -> IntArray:
        codes = column.astype(np.int64) - first
        # As unsigned numbers, those below the first are large too.
        codes[codes.view(np.uint64) >= np.uint64(self.other)] = self.other
        return codes

    @property
    def ordered(self) -> bool:
        """Whether the order of the symbols means something: they are numbers, more than two."""
        return self.kind in "iuf" and self.values.size > 2

    def describe(self, codes: Iterable[int], most: int, words: Callable[[Any], str] = label) -> str:
        """Symbols in words, at most so many; intervals without a gap between them are joined."""
        runs: list[list[int]] = []
        for code in codes:
            joined = self.intervals and self.other not in {code, *(runs[-1:] and runs[-1])}
            if runs and joined and runs[-1][1] == code - 1:
                runs[-1][1] = code
            else:
                runs.append([code, code])
        shown = [self._describe(run[0], run[1], words) for run in runs[:most]]
        more = len(runs) - len(shown)
        return " or ".join(shown) + (f" and {more} more" if more else "")

    def _describe(self, first: int, last: int, words: Callable[[Any], str]) -> str:
        end = self.values.size
        if self.intervals:
            if first == self.other:
                return "NaN or no number"
            low = f"in [{self.values[first - 1]:.6g}, " if first else "in (−∞, "
            return low + (f"{self.values[last]:.6g})" if last < end else "∞)")
        if first == end:
            return "anything not seen before"
        return shown(self.values[first]) if self.kind == "O" else words(self.values[first])


def _kind(column: Column) -> str:
    kind = column.dtype.kind
    # Unsigned numbers are whole numbers like others, but for those that these cannot hold.
    return "i" if kind == "u" and column.dtype.itemsize < 8 else kind


@dataclass(frozen=True, eq=False)
class Codebook:
    """Symbols of all components of a report.

    Parameters
    ----------
    columns : tuple of Symbols
        Those of lengths come last.
    whole : bool
        Whether a report is taken as one symbol, since reports do not all have the same components.
    lengths : tuple of int
        The components whose lengths are components too, since they vary.
    shape : tuple
        That of the samples; see `Parts`.
    """

    columns: tuple[Symbols, ...]
    whole: bool
    lengths: tuple[int, ...] = ()
    shape: tuple[Hashable, ...] = ()

    @classmethod
    def of(cls, samples: Sequence[Parts], raw: Sequence[Any]) -> Codebook:
        """Settle symbols on the samples of all inputs, given both split and as they came."""
        whole = len({parts.shape for parts in samples}) > 1
        if whole:
            samples = [unsplit(items_of(reports)) for reports in raw]
        kinds = [tuple(map(_kind, parts.columns)) for parts in samples]
        symbols = []
        for j in range(len(kinds[0])):
            columns = [parts.columns[j] for parts in samples]
            if len({each[j] for each in kinds}) > 1:
                columns = [
                    each if _kind(each) == "O" else keys_of(each.tolist()) for each in columns
                ]
            symbols.append(Symbols.of(np.concatenate(columns)))
        varying = []
        for j in sorted({j for parts in samples for j in parts.lengths}):
            length = np.concatenate([lengths_of(parts, j) for parts in samples])
            if length.min() < length.max():
                varying.append(j)
                symbols.append(Symbols.of(length))
        return cls(tuple(symbols), whole, tuple(varying), samples[0].shape)

    @property
    def contents(self) -> int:
        """Number of components that are not lengths."""
        return len(self.columns) - len(self.lengths)

    def name(self, j: int) -> str:
        """How a component is called: its number, or whose length it is."""
        return str(j) if j < self.contents else f"{self.lengths[j - self.contents]} (length)"

    def encode(self, reports: Any, n: int, wanted: Sequence[int] | None = None) -> Codes:
        """Symbols of reports, shape (n, components); only the `wanted` components are filled in."""
        parts = unsplit(items_of(reports)) if self.whole else split(reports, n)
        fits = parts.shape == self.shape
        columns = parts.columns + [lengths_of(parts, j) for j in self.lengths] if fits else []
        largest = max(symbols.size for symbols in self.columns)
        width = np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.int64
        codes = np.zeros((n, len(self.columns)), dtype=width, order="F")
        for j in range(len(self.columns)) if wanted is None else wanted:
            if fits:
                codes[:, j] = self.columns[j].encode(columns[j])
            else:  # a report of another shape than in the first sample
                codes[:, j] = self.columns[j].other
        return codes
