"""What reports look like to an attacker: columns of symbols, whatever type the reports have.

A report is split into components (the bits of a vector, the entries of a record), and every
component into finitely many symbols. Both are settled on a first sample; what a later sample shows
for the first time has a symbol of its own, so that an event is a fixed function of the report.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray
from seepage.errors import InvalidInputError

Column = NDArray[Any]
"""One component of n reports, shape (n,): numbers, texts, or objects made by `key`."""

Codes = NDArray[Any]
"""Symbols as whole numbers of any width."""

BINS = 250
"""Most intervals of a component with many different numbers; always kept apart if fewer."""

REPEATS = 20
"""Values seen this often on average are kept apart, however many there are."""


UNEQUAL = "not equal to itself"

_PLAIN = {int, str, bool, bytes, type(None)}


def key(item: Any) -> Hashable:
    """Something hashable that is equal for equal reports only: 1, True, 1.0 and "1" differ.

    Raises
    ------
    InvalidInputError
        If the report is an object that cannot be compared.
    """
    if type(item) in _PLAIN:
        return (type(item).__name__, item)
    if isinstance(item, np.ndarray):
        return ("ndarray", item.dtype.kind, item.shape, tuple(map(key, item.ravel().tolist())))
    if isinstance(item, np.generic):
        item = item.item()
    kind = type(item).__name__
    if isinstance(item, float) and math.isnan(item):
        return (kind, "nan")
    if isinstance(item, Mapping):
        return (kind, frozenset((key(name), key(value)) for name, value in item.items()))
    if isinstance(item, AbstractSet):
        return (kind, frozenset(map(key, item)))
    if isinstance(item, (list, tuple)):
        return (kind, tuple(map(key, item)))
    try:
        hash(item)
        same = bool(item == item)  # noqa: PLR0124 (an object's own idea of it)
    except Exception as error:  # whatever an object's own methods raise
        msg = f"expected reports that can be compared (hashable), got {kind}"
        raise InvalidInputError(msg) from error
    return (kind, item) if same else (kind, UNEQUAL)


def label(item: Any) -> str:
    """How an input or a symbol is shown."""
    try:
        text = " ".join(repr(item.item() if isinstance(item, np.generic) else item).split())
    except Exception:  # whatever an object's own repr raises
        text = f"<{type(item).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


def split(reports: Any, n: int) -> list[Column]:
    """Split reports into components.

    Parameters
    ----------
    reports : array or sequence
        First axis: the n reports. An array of two axes or more, or sequences of one length, have
        one component for each entry; mappings with the same keys one for each key; anything else
        is one component.
    n : int

    Returns
    -------
    list of arrays of shape (n,)

    Raises
    ------
    InvalidInputError
        If there are not n reports, or one cannot be compared.
    """
    count = _length(reports)
    if count != n:
        got = f"{count:,}" if count >= 0 else f"{type(reports).__name__}"
        msg = f"expected {n:,} reports, one for each input, got {got}"
        raise InvalidInputError(msg)
    if isinstance(reports, np.ma.MaskedArray):
        msg = "expected reports without a mask, got a masked array"
        raise InvalidInputError(msg)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biufUS":
        if reports.size == 0:  # reports without components are all alike
            return [np.zeros(n, dtype=np.int64)]
        return list(np.ascontiguousarray(reports.reshape(n, -1).T))  # by component: much faster
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "mM":
        return split(reports.view(np.int64), n)
    items = list(reports)
    if len(items) != n:  # a data frame lists its columns
        msg = f"expected {n:,} reports in an array or a list, got {type(reports).__name__}"
        raise InvalidInputError(msg)
    return _split_list(items)


def _length(reports: Any) -> int:
    if isinstance(reports, (str, bytes, Mapping, AbstractSet)):
        return -1
    try:
        return len(reports)
    except TypeError:
        return -1


def _split_list(items: list[Any]) -> list[Column]:
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in {int, float, bool} or issubclass(kind, np.generic):
            plain = np.array(items)
            if plain.dtype.kind in "biuf" and plain.ndim == 1:
                return [plain]
        if kind is np.ndarray and len({(i.shape, i.dtype) for i in items}) == 1:
            whole = np.stack(items)
            return split(whole, len(items)) if whole.dtype.kind in "biuf" else [_keys(items)]
        if kind in {list, tuple} and len(set(map(len, items))) == 1 and items[0]:
            return [column for part in zip(*items, strict=True) for column in _split_list([*part])]
        if issubclass(kind, dict) and len({tuple(map(key, item)) for item in items}) == 1:
            parts = [[item[name] for item in items] for name in items[0]]
            return [column for part in parts for column in _split_list(part)] or [_keys(items)]
    return [_keys(items)]


def _keys(items: Iterable[Any]) -> Column:
    made = [key(item) for item in items]
    column = np.empty(len(made), dtype=object)
    column[:] = made
    return column


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
            column = _keys(column.tolist())
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
        return _shown(self.values[first]) if self.kind == "O" else words(self.values[first])


def _kind(column: Column) -> str:
    kind = column.dtype.kind
    # Unsigned numbers are whole numbers like others, but for those that these cannot hold.
    return "i" if kind == "u" and column.dtype.itemsize < 8 else kind


def _shown(item: Any) -> str:
    """A key as text, near to how the report was written."""
    if isinstance(item, tuple) and len(item) == 2 and item[0] in {"tuple", "list"}:
        return f"({', '.join(map(_shown, item[1]))})"
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return label(item[1]) if not isinstance(item[1], (tuple, frozenset)) else label(item)
    return label(item)


@dataclass(frozen=True, eq=False)
class Codebook:
    """Symbols of all components of a report.

    Parameters
    ----------
    columns : tuple of Symbols
    whole : bool
        Whether a report is taken as one symbol, since reports do not all have the same components.
    """

    columns: tuple[Symbols, ...]
    whole: bool

    @classmethod
    def of(cls, samples: Sequence[list[Column]], raw: Sequence[Any]) -> Codebook:
        """Settle symbols on the samples of all inputs, given both split and as they came."""
        kinds = [tuple(map(_kind, columns)) for columns in samples]
        if len({len(each) for each in kinds}) > 1:
            whole = np.concatenate([_keys(_items(reports)) for reports in raw])
            return cls((Symbols.of(whole),), True)
        symbols = []
        for j in range(len(kinds[0])):
            parts = [columns[j] for columns in samples]
            if len({each[j] for each in kinds}) > 1:
                parts = [part if _kind(part) == "O" else _keys(part.tolist()) for part in parts]
            symbols.append(Symbols.of(np.concatenate(parts)))
        return cls(tuple(symbols), False)

    def encode(self, reports: Any, n: int, wanted: Sequence[int] | None = None) -> Codes:
        """Symbols of reports, shape (n, components); only the `wanted` components are filled in."""
        if self.whole:
            return self.columns[0].encode(_keys(_items(reports))).reshape(n, 1)
        columns = split(reports, n)
        largest = max(symbols.size for symbols in self.columns)
        width = np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.int64
        codes = np.zeros((n, len(self.columns)), dtype=width, order="F")
        for j in range(len(self.columns)) if wanted is None else wanted:
            if len(columns) == len(self.columns):
                codes[:, j] = self.columns[j].encode(columns[j])
            else:  # a report of another shape than in the first sample
                codes[:, j] = self.columns[j].other
        return codes


def _items(reports: Any) -> list[Any]:
    if isinstance(reports, np.ndarray) and reports.ndim == 1:
        listed: list[Any] = reports.tolist()
        return listed
    return list(reports)
