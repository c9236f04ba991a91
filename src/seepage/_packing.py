"""Counting every pair of columns in few passes over the records.

A table over several columns contains the tables of all their pairs. So columns whose product of
categories stays small are packed into one, the pairs of packs are counted, and the pairs of columns
follow by summing: forty binary columns need ten passes instead of 780.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray

Codes = NDArray[np.integer]

BLOCK = 1 << 17
"""Records counted at a time: their packed codes stay in the cache."""

NS_PER_ROW = 2.5
"""Measured cost of one record in one pass, in nanoseconds (combining codes, then a histogram)."""
NS_PER_SUM = 20_000.0
"""Measured cost of summing a table down to one pair, besides its cells."""
NS_PER_CELL = 2.0
"""Measured cost of one cell of a table: clearing, adding to the total, summing into pairs."""


@dataclass(frozen=True)
class Layout:
    """Which columns are packed together, and which packs are counted together.

    Attributes
    ----------
    packs : tuple of tuples of int
        Columns of each pack, in the order of their digits. A column may be in several packs.
    passes : tuple of (int, int)
        Packs that are counted together; the second is −1 when the first is counted alone.
    cost : float
        Expected nanoseconds for the records the layout was chosen for.
    """

    packs: tuple[tuple[int, ...], ...]
    passes: tuple[tuple[int, int], ...]
    cost: float


def choose_layout(sizes: Sequence[int], records: int) -> Layout:
    """Return the layout with the least expected cost.

    Parameters
    ----------
    sizes : sequence of int
        Categories of each column.
    records : int
        Number of records, or a guess of it: many records are worth large tables.
    """
    capacities = [1, *(2**b for b in range(2, 11))]
    return min((_layout(sizes, c, records) for c in capacities), key=lambda x: x.cost)


def _layout(sizes: Sequence[int], capacity: int, records: int) -> Layout:
    """Packs of at most `capacity` cells; a wider column is packed by itself."""
    wide = [i for i, k in enumerate(sizes) if k > capacity]
    packs = _pack([i for i in range(len(sizes)) if sizes[i] <= capacity], sizes, capacity)
    if len(packs) > 1 or not packs:
        passes = list(combinations(range(len(packs)), 2))
    else:
        passes = [] if len(packs[0]) == 1 and wide else [(0, -1)]
    for position, column in enumerate(wide):
        own = len(packs)
        packs.append((column,))
        narrow = [i for i in range(len(sizes)) if sizes[i] <= capacity]
        # Beside a wide column there is less room for the others.
        partners = _pack(narrow, sizes, max(capacity * capacity // sizes[column], 1))
        partners += [(other,) for other in wide[position + 1 :]]
        for partner in partners:
            if partner not in packs:
                packs.append(partner)
            passes.append((own, packs.index(partner)))
    if not passes:
        passes = [(i, -1) for i in range(len(packs))]
    shape = [_cells(pack, sizes) for pack in packs]
    cells = sum(shape[a] * (1 if b < 0 else shape[b]) for a, b in passes)
    blocks = max(-(-records // BLOCK), 1)
    packing = 0.7 * records * sum(map(len, packs))
    cost = packing + NS_PER_ROW * records * len(passes) + NS_PER_CELL * cells * (blocks + 1)
    return Layout(tuple(packs), tuple(passes), cost + 3000.0 * len(passes) * blocks)


def _pack(columns: Sequence[int], sizes: Sequence[int], capacity: int) -> list[tuple[int, ...]]:
    """Columns in groups whose product of categories is at most `capacity` (first fit)."""
    groups: list[list[int]] = []
    room: list[int] = []
    for column in sorted(columns, key=lambda i: (-sizes[i], i)):
        for g, free in enumerate(room):
            if sizes[column] <= free:
                groups[g].append(column)
                room[g] = free // sizes[column]
                break
        else:
            groups.append([column])
            room.append(capacity // sizes[column])
    return [tuple(group) for group in groups]


def _cells(pack: Sequence[int], sizes: Sequence[int]) -> int:
    return int(np.prod([sizes[i] for i in pack], dtype=np.int64))


class PairCounter:
    """Adds up the tables of all packs that a layout counts together.

    Parameters
    ----------
    sizes : sequence of int
        Categories of each column.
    layout : Layout
    """

    def __init__(self, sizes: Sequence[int], layout: Layout) -> None:
        self._sizes = tuple(sizes)
        self._layout = layout
        self._shape = [_cells(pack, sizes) for pack in layout.packs]
        self._tables = [np.zeros(self._width(a, b), dtype=np.int64) for a, b in layout.passes]

    def _width(self, a: int, b: int) -> int:
        return self._shape[a] * (1 if b < 0 else self._shape[b])

    def add(self, columns: Sequence[Codes], weights: IntArray | None = None) -> None:
        """Count records.

        Parameters
        ----------
        columns : sequence of arrays of int, shape (n,)
            Codes of each column, checked.
        weights : array of int, shape (n,), optional
        """
        n = len(columns[0]) if columns else 0
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            part = None if weights is None else weights[rows]
            self._add_block([column[rows] for column in columns], part)

    def _add_block(self, columns: Sequence[Codes], weights: IntArray | None) -> None:
        codes = [self._packed(pack, columns) for pack in self._layout.packs]
        cells = np.empty(len(columns[0]), dtype=np.int64)
        scaled: tuple[int, int, Codes] | None = None
        for (a, b), table in zip(self._layout.passes, self._tables, strict=True):
            if b < 0:
                cells[:] = codes[a]
            else:
                kind = _kind(table.size)
                if scaled is None or scaled[:2] != (a, self._shape[b]):
                    shifted = np.multiply(codes[a], kind(self._shape[b]), dtype=kind)
                    scaled = (a, self._shape[b], shifted)
                cells[:] = np.add(scaled[2], codes[b], dtype=kind, casting="unsafe")
            table += bincount(cells, weights, table.size)

    def _packed(self, pack: Sequence[int], columns: Sequence[Codes]) -> Codes:
        first, *others = pack
        kind = _kind(_cells(pack, self._sizes))
        code = columns[first].astype(kind)
        for column in others:
            code *= kind(self._sizes[column])  # at most 255 for 256 cells: two columns or more
            code += columns[column].astype(kind)
        return code

    def pairs(self) -> Iterator[tuple[int, int, IntArray]]:
        """Yield each pair of columns i < j once, with its table of shape (k_i, k_j)."""
        done: set[tuple[int, int]] = set()

        def new(i: int, j: int) -> bool:
            return i != j and (min(i, j), max(i, j)) not in done

        for (a, b), table in zip(self._layout.passes, self._tables, strict=True):
            shaped = table.reshape(self._shape[a], -1)
            first, second = self._layout.packs[a], self._layout.packs[b] if b >= 0 else ()
            for pack, axis in ((first, 1), (second, 0)):
                wanted = [(i, j) for i, j in combinations(pack, 2) if new(i, j)]
                margin = shaped.sum(axis=axis) if wanted else shaped
                for i, j in wanted:
                    done.add((min(i, j), max(i, j)))
                    yield _ordered(i, j, self._within(pack, margin, i, j))
            wanted = [(i, j) for i in first for j in second if new(i, j)]
            done.update((min(pair), max(pair)) for pair in wanted)
            for (i, j), found in zip(
                wanted, self._across(first, second, shaped, wanted), strict=True
            ):
                yield _ordered(i, j, found)

    def _across(
        self,
        first: Sequence[int],
        second: Sequence[int],
        table: IntArray,
        wanted: Sequence[tuple[int, int]],
    ) -> Iterator[IntArray]:
        """The tables of pairs (i, j) with i in the first pack and j in the second."""
        tops, lefts = self._offsets(first), self._offsets(second)
        work = tops[-1] * table.size + tops[-1] * lefts[-1] * table.shape[1]
        if work < NS_PER_SUM * len(wanted):
            # Small tables: one product of matrices costs less than a sum for each pair.
            whole = self._digits(first) @ table @ self._digits(second).T
            for i, j in wanted:
                x, y = first.index(i), second.index(j)
                yield whole[tops[x] : tops[x + 1], lefts[y] : lefts[y + 1]]
            return
        last, half = -1, table
        for i, j in wanted:
            if i != last:
                last, half = i, self._reduced(first, i, table)
            yield self._reduced(second, j, half.T).T

    def _offsets(self, pack: Sequence[int]) -> list[int]:
        return [0, *accumulate(self._sizes[i] for i in pack)]

    def _digits(self, pack: Sequence[int]) -> IntArray:
        """Which cells of a pack have a value of one of its columns, shape (Σ k, cells)."""
        cells = np.arange(_cells(pack, self._sizes))
        rows, below = [], cells.size
        for column in pack:
            below //= self._sizes[column]
            digit = cells // below % self._sizes[column]
            rows.append(digit == np.arange(self._sizes[column])[:, np.newaxis])
        return np.concatenate(rows).astype(np.int64)

    def _reduced(self, pack: Sequence[int], column: int, table: IntArray) -> IntArray:
        """Sum the first axis, whose digits are the columns of `pack`, down to one of them."""
        if len(pack) == 1:
            return table
        size = self._sizes[column]
        after = _cells(pack[pack.index(column) + 1 :], self._sizes)
        digits = table.reshape(-1, size, after, table.shape[1])
        return np.asarray(digits.sum(axis=(0, 2)))

    def _within(self, pack: Sequence[int], margin: IntArray, i: int, j: int) -> IntArray:
        """The table of two columns of one pack, i before j."""
        low, high = pack.index(i), pack.index(j)
        between = _cells(pack[low + 1 : high], self._sizes)
        after = _cells(pack[high + 1 :], self._sizes)
        digits = margin.reshape(-1, self._sizes[i], between, self._sizes[j], after)
        return np.asarray(digits.sum(axis=(0, 2, 4)))

    def single(self, column: int) -> IntArray:
        """The counts of one column."""
        for (a, b), table in zip(self._layout.passes, self._tables, strict=True):
            shaped = table.reshape(self._shape[a], -1)
            for index, axis in ((a, 1), (b, 0)):
                if index >= 0 and column in self._layout.packs[index]:
                    pack = self._layout.packs[index]
                    margin = shaped.sum(axis=axis)[:, np.newaxis]
                    return self._reduced(pack, column, margin).reshape(-1)
        msg = f"column {column} is in no pass"
        raise AssertionError(msg)


def _ordered(i: int, j: int, table: IntArray) -> tuple[int, int, IntArray]:
    """The pair with the lower column as rows."""
    return (i, j, np.ascontiguousarray(table)) if i < j else (j, i, np.ascontiguousarray(table.T))


def _kind(cells: int) -> type[np.unsignedinteger]:
    """The narrowest type that can hold the numbers below `cells`."""
    for kind, bits in ((np.uint8, 8), (np.uint16, 16), (np.uint32, 32)):
        if cells <= 1 << bits:
            return kind
    return np.uint64


def bincount(cells: IntArray, weights: IntArray | None, size: int) -> IntArray:
    """Exact integer histogram; the sum of the weights must be below 2^63."""
    if weights is None:
        return np.bincount(cells, minlength=size)
    if weights.size and int(weights.sum()) >= 2**53:
        # bincount adds in float64, which would round here
        table = np.zeros(size, dtype=np.int64)
        np.add.at(table, cells, weights)
        return table
    return np.bincount(cells, weights=weights, minlength=size).astype(np.int64)
