"""Counting every pair of columns in few passes over the records.

A table over several columns contains the tables of all their pairs. So columns whose product of
categories stays small are packed into one, the pairs of packs are counted, and the pairs of columns
follow by summing: forty binary columns need ten passes instead of 780.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, chain, combinations, pairwise, product
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import FloatArray, IntArray
from seepage.errors import InvalidInputError

Codes = NDArray[np.integer]
T = TypeVar("T")

BLOCK = 1 << 17
"""Records counted at a time: their packed codes stay in the cache."""

WORTH_THREADS = 1 << 14
"""Records from which on the passes are shared among the processors."""

NS_PER_ROW = 2.5
"""Measured cost of one record in one pass, in nanoseconds (combining codes, then a histogram)."""
NS_PER_SUM = 20_000.0
"""Measured cost of summing a table down to one pair, besides its cells."""
NS_PER_PRODUCT = 0.1
"""Measured cost of one multiplication in a product of matrices."""
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
    narrow = [i for i in range(len(sizes)) if sizes[i] <= capacity]
    packs = _pack(narrow, sizes, capacity)
    if len(packs) > 1 or not packs:
        passes = list(combinations(range(len(packs)), 2))
    else:
        passes = [] if len(packs[0]) == 1 and wide else [(0, -1)]
    places = {pack: place for place, pack in enumerate(packs)}
    beside: dict[int, list[tuple[int, ...]]] = {}
    for position, column in enumerate(wide):
        own = places.setdefault((column,), len(places))
        # Beside a wide column there is less room for the others.
        room = max(capacity * capacity // sizes[column], 1)
        if room not in beside:
            beside[room] = _pack(narrow, sizes, room)
        for partner in (*beside[room], *((other,) for other in wide[position + 1 :])):
            passes.append((own, places.setdefault(partner, len(places))))
    packs = list(places)
    if not passes:
        passes = [(i, -1) for i in range(len(packs))]
    shape = [_cells(pack, sizes) for pack in packs] + [1]  # the last for a pack counted alone
    cells = sum(shape[a] * shape[b] for a, b in passes)
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
    return prod(sizes[i] for i in pack)


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
        self._indicators: dict[tuple[int, ...], FloatArray] = {}

    def _width(self, a: int, b: int) -> int:
        return self._shape[a] * (1 if b < 0 else self._shape[b])

    def add(self, columns: Sequence[Codes], weights: IntArray | None = None) -> None:
        """Count records.

        Parameters
        ----------
        columns : sequence of arrays of int, shape (n,)
            Codes of each column.
        weights : array of int, shape (n,), optional

        Raises
        ------
        InvalidInputError
            If a code is outside its column's range. Then some records may have been counted.
        """
        n = len(columns[0]) if columns else 0
        workers = min(_processors(), 8) if n >= WORTH_THREADS else 1
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, n, BLOCK):
                rows = slice(start, start + BLOCK)
                part = None if weights is None else weights[rows]
                self._add_block([column[rows] for column in columns], part, pool, workers)

    def _add_block(
        self, columns: Sequence[Codes], weights: IntArray | None, pool: Executor, workers: int
    ) -> None:
        def shared(work: Callable[[int], T], tasks: int) -> list[T]:
            """The work in equal runs of neighbours: NumPy lets go of the interpreter's lock."""
            if workers == 1:
                return [work(i) for i in range(tasks)]
            size = max(-(-tasks // workers), 1)
            runs = [range(i, min(i + size, tasks)) for i in range(0, tasks, size)]
            return list(chain.from_iterable(pool.map(lambda run: [work(i) for i in run], runs)))

        narrow = shared(lambda i: _narrow(columns[i], self._sizes[i]), len(columns))
        packs = self._layout.packs
        codes = shared(lambda i: self._packed(packs[i], narrow), len(packs))
        shared(lambda i: self._count(i, codes, weights), len(self._tables))

    def _count(self, i: int, codes: Sequence[Codes], weights: IntArray | None) -> None:
        (a, b), table = self._layout.passes[i], self._tables[i]
        cells = np.empty(len(codes[a]), dtype=np.int64)
        if b < 0:
            cells[:] = codes[a]
        else:
            kind = _kind(table.size)
            shifted = np.multiply(codes[a], kind(self._shape[b]), dtype=kind)
            cells[:] = np.add(shifted, codes[b], out=shifted, dtype=kind, casting="unsafe")
        table += bincount(cells, weights, table.size)

    def _packed(self, pack: Sequence[int], columns: Sequence[Codes]) -> Codes:
        first, *others = pack
        kind = _kind(_cells(pack, self._sizes))
        code = columns[first].astype(kind)
        for column in others:
            code *= kind(self._sizes[column])  # at most 255 for 256 cells: two columns or more
            code += columns[column].astype(kind, copy=False)
        return code

    def pairs(self) -> Iterator[tuple[int, int, IntArray]]:
        """Yield each pair of columns i < j once, with its table of shape (k_i, k_j)."""
        done: set[tuple[int, int]] = set()

        def new(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
            keys = {((i, j) if i < j else (j, i)): (i, j) for i, j in pairs if i != j}
            found = [pair for key, pair in keys.items() if key not in done]
            done.update(keys)
            return found

        for (a, b), table in zip(self._layout.passes, self._tables, strict=True):
            shaped = table.reshape(self._shape[a], -1)
            first, second = self._layout.packs[a], self._layout.packs[b] if b >= 0 else ()
            for pack, axis in ((first, 1), (second, 0)):
                wanted = new(combinations(pack, 2))
                margin = shaped.sum(axis=axis) if wanted else shaped
                for (i, j), found in zip(wanted, self._within(pack, margin, wanted), strict=True):
                    yield _ordered(i, j, found)
            wanted = new(product(first, second))
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
        if NS_PER_PRODUCT * work < NS_PER_SUM * len(wanted):
            whole = self._product(first, table, second)
            rows, columns = _slices(first, tops), _slices(second, lefts)
            for i, j in wanted:
                yield whole[rows[i], columns[j]]
            return
        last, half = -1, table
        for i, j in wanted:
            if i != last:
                last, half = i, self._reduced(first, i, table)
            yield self._reduced(second, j, half.T).T

    def _within(
        self, pack: Sequence[int], margin: IntArray, wanted: Sequence[tuple[int, int]]
    ) -> Iterator[IntArray]:
        """The tables of pairs of columns of one pack, the first before the second."""
        tops = self._offsets(pack)
        if NS_PER_PRODUCT * tops[-1] ** 2 * margin.size < NS_PER_SUM * len(wanted):
            whole = self._product(pack, margin, pack)
            place = _slices(pack, tops)
            for i, j in wanted:
                yield whole[place[i], place[j]]
            return
        for i, j in wanted:
            low, high = pack.index(i), pack.index(j)
            between = _cells(pack[low + 1 : high], self._sizes)
            after = _cells(pack[high + 1 :], self._sizes)
            digits = margin.reshape(-1, self._sizes[i], between, self._sizes[j], after)
            yield np.asarray(digits.sum(axis=(0, 2, 4)))

    def _offsets(self, pack: Sequence[int]) -> list[int]:
        return [0, *accumulate(self._sizes[i] for i in pack)]

    def _product(self, first: Sequence[int], table: IntArray, second: Sequence[int]) -> IntArray:
        """All pairs of the columns of two packs at once, shape (Σ k of the first, of the second).

        `table` has the cells of the first as rows and of the second as columns; with one axis, it
        stands for the diagonal matrix of a pack with itself.
        """
        left, right = self._digits(tuple(first)), self._digits(tuple(second))
        if int(table.sum()) >= 2**53:  # float64 would round
            left, right = left.astype(np.int64), right.astype(np.int64)
        else:  # every sum is exact, and the product is fast
            table = table.astype(np.float64)
        whole = (left * table if table.ndim == 1 else left @ table) @ right.T
        return whole.astype(np.int64)

    def _digits(self, pack: tuple[int, ...]) -> FloatArray:
        """Which cells of a pack have a value of one of its columns, shape (Σ k, cells)."""
        if pack in self._indicators:
            return self._indicators[pack]
        cells = np.arange(_cells(pack, self._sizes))
        rows, below = [], cells.size
        for column in pack:
            below //= self._sizes[column]
            digit = cells // below % self._sizes[column]
            rows.append(digit == np.arange(self._sizes[column])[:, np.newaxis])
        self._indicators[pack] = np.concatenate(rows).astype(np.float64)
        return self._indicators[pack]

    def _reduced(self, pack: Sequence[int], column: int, table: IntArray) -> IntArray:
        """Sum the first axis, whose digits are the columns of `pack`, down to one of them."""
        if len(pack) == 1:
            return table
        size = self._sizes[column]
        after = _cells(pack[pack.index(column) + 1 :], self._sizes)
        digits = table.reshape(-1, size, after, table.shape[1])
        return np.asarray(digits.sum(axis=(0, 2)))

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


def _slices(pack: Sequence[int], offsets: Sequence[int]) -> dict[int, slice]:
    """Where the values of each column of a pack are in a product."""
    return {column: slice(*ends) for column, ends in zip(pack, pairwise(offsets), strict=True)}


def _ordered(i: int, j: int, table: IntArray) -> tuple[int, int, IntArray]:
    """The pair with the lower column as rows."""
    return (i, j, np.ascontiguousarray(table)) if i < j else (j, i, np.ascontiguousarray(table.T))


def _narrow(column: Codes, size: int) -> Codes:
    """The codes in the narrowest type, checked."""
    # Negative codes are large numbers when read without sign.
    plain = column if column.dtype.kind == "u" else column.view(f"u{column.dtype.itemsize}")
    if plain.size and plain.max() >= size:
        msg = f"expected codes from 0 to {size - 1}, got {_outside(column, size)}"
        raise InvalidInputError(msg)
    return plain.astype(_kind(size), copy=False)


def _outside(column: Codes, size: int) -> int:
    return int(column[(column < 0) | (column >= size)][0])


def _processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
