"""Contingency tables over a domain, and all pairwise tables of one.

Counts add up: counting two batches and adding the results equals counting their concatenation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, freeze
from seepage._packing import PairCounter, choose_layout
from seepage.domain import Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError

MAX_CELLS = 50_000_000
"""Cells that the pairwise tables of one domain may have together (8 bytes each)."""

MAX_TOTAL = 1 << 62
"""No counts add up to this or more: two of them would leave the integers of 64 bits."""


def _as_counts(values: ArrayLike, name: str) -> IntArray:
    try:
        raw = np.asarray(values)
    except Exception as error:  # whatever an object's own conversion raises
        msg = f"expected {name} to be a rectangular array of counts, got {type(values).__name__}"
        raise InvalidInputError(msg) from error
    if raw.dtype.kind not in "iuf":
        msg = f"expected {name} to be integer counts, got {raw.dtype}"
        raise InvalidInputError(msg)
    if raw.dtype.kind == "f" and not (np.isfinite(raw) & (raw == np.floor(raw))).all():
        msg = f"expected {name} to be whole numbers, got fractions or non-finite values"
        raise InvalidInputError(msg)
    if (raw < 0).any():
        msg = f"expected {name} to be zero or more, got {raw[raw < 0].flat[0]!r}"
        raise InvalidInputError(msg)
    if raw.size:
        # A sum of floats is near enough, as no count is below zero: it cannot wrap around.
        check_total(raw.sum(dtype=np.float64), name)
    return np.asarray(raw.astype(np.int64))


def check_total(total: float, name: str = "counts") -> None:
    """Refuse counts whose sum integers of 64 bits may not hold.

    Raises
    ------
    InvalidInputError
        If it is 2^62 (`MAX_TOTAL`) or more.
    """
    if total >= MAX_TOTAL:
        msg = f"expected {name} that add up to less than 2^62, got {float(total):.3g}"
        raise InvalidInputError(msg)


@dataclass(frozen=True, eq=False)
class Counts:
    """A contingency table.

    Parameters
    ----------
    domain : Domain
        The attributes, one per axis.
    values : array of int, shape ``domain.shape``
        Number of records (or sum of their integer weights) in each cell.

    Raises
    ------
    InvalidInputError
        If the shape differs from that of the domain, a value is negative or fractional, or their
        sum is 2^62 or more; also by adding.
    """

    domain: Domain
    values: IntArray

    def __post_init__(self) -> None:
        _check_domain(self.domain)
        values = _as_counts(self.values, "counts")
        if values.shape != self.domain.shape:
            msg = f"expected counts of shape {self.domain.shape}, got {values.shape}"
            raise InvalidInputError(msg)
        object.__setattr__(self, "values", freeze(values))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.domain == other.domain and bool(np.array_equal(self.values, other.values))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        _check_same_domain(self.domain, other.domain)
        check_total(self.total + other.total)
        return Counts(self.domain, self.values + other.values)

    @property
    def total(self) -> int:
        """Number of records, or sum of their weights."""
        return int(self.values.sum())

    def project(self, names: Iterable[str]) -> Counts:
        """Return the marginal table of the given attributes, in the given order."""
        wanted = self.domain.project(names)
        kept = [self.domain.position(name) for name in wanted.names]
        dropped = tuple(axis for axis in range(len(self.domain)) if axis not in kept)
        marginal = self.values.sum(axis=dropped)
        remaining = sorted(kept)
        return Counts(wanted, np.transpose(marginal, [remaining.index(axis) for axis in kept]))

    def conditional(self, given: str) -> tuple[FloatArray, IntArray]:
        """Distribution of the other attribute given each observed category of `given`.

        Parameters
        ----------
        given : str
            One of the two attributes of this table.

        Returns
        -------
        conditional : array of float, shape (a, b)
            Row-stochastic; one row for each category of `given` with a positive count.
        rows : array of int, shape (a,)
            The positions of those categories.

        Raises
        ------
        InvalidInputError
            If the table does not have two attributes, or holds no record.
        """
        if len(self.domain) != 2:
            msg = f"expected a table of two attributes, got {len(self.domain)}"
            raise InvalidInputError(msg)
        table = self.values if self.domain.position(given) == 0 else self.values.T
        return conditional_rows(table)


def conditional_rows(table: IntArray) -> tuple[FloatArray, IntArray]:
    """Normalise the rows of a count table that have a positive sum.

    Parameters
    ----------
    table : array of int, shape (a, b)

    Returns
    -------
    conditional : array of float, shape (number of positive rows, b)
    rows : array of int
        Which rows these are.

    Raises
    ------
    InvalidInputError
        If no row has a positive sum.
    """
    sums = table.sum(axis=1)
    rows = np.flatnonzero(sums > 0)
    if rows.size == 0:
        msg = "expected at least one record, got none"
        raise InvalidInputError(msg)
    return table[rows] / sums[rows, np.newaxis], rows


def _check_domain(domain: object) -> None:
    if not isinstance(domain, Domain):
        msg = f"expected a Domain, got {domain!r}"
        raise InvalidInputError(msg)


def _check_same_domain(left: Domain, right: Domain) -> None:
    if left == right:
        return
    if left.names != right.names:
        msg = f"expected counts of the same columns, got {left.names} and {right.names}"
        raise DomainError(msg)
    differing = next(a.name for a, b in zip(left, right, strict=True) if a != b)
    msg = f"expected counts over the same domain, got different categories for {differing!r}"
    raise DomainError(msg)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Every pairwise contingency table of a domain.

    Parameters
    ----------
    domain : Domain
        The attributes.
    total : int
        Number of records, or sum of their weights.
    singles : tuple of arrays of int, shapes (k_i,)
        One-way tables, in the order of the attributes.
    pairs : tuple of arrays of int, shapes (k_i, k_j)
        Tables of the pairs i < j in the order of ``itertools.combinations``.

    See Also
    --------
    PairCounts.from_batches : count coded records.
    """

    domain: Domain
    total: int
    singles: tuple[IntArray, ...]
    pairs: tuple[IntArray, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairCounts):
            return NotImplemented
        return (
            self.domain == other.domain
            and self.total == other.total
            and all(map(np.array_equal, self.singles, other.singles))
            and all(map(np.array_equal, self.pairs, other.pairs))
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: PairCounts) -> PairCounts:
        if not isinstance(other, PairCounts):
            return NotImplemented
        _check_same_domain(self.domain, other.domain)
        check_total(self.total + other.total)
        return PairCounts(
            self.domain,
            self.total + other.total,
            tuple(freeze(a + b) for a, b in zip(self.singles, other.singles, strict=True)),
            tuple(freeze(a + b) for a, b in zip(self.pairs, other.pairs, strict=True)),
        )

    @classmethod
    def from_batches(
        cls,
        domain: Domain,
        batches: Iterable[IntArray] | Iterable[tuple[IntArray, IntArray | None]],
        *,
        records: int | None = None,
    ) -> PairCounts:
        """Count coded records.

        Parameters
        ----------
        domain : Domain
            The attributes.
        batches : iterable of arrays of int, or of (codes, weights)
            Codes have shape (n, d): positions of categories. Weights have shape (n,): integers,
            zero or more; None counts each record once.
        records : int, optional
            About how many there are in all batches, to choose the fastest way; by default as many
            as in the first batch.

        Raises
        ------
        CapacityError
            If the tables would have more than ``MAX_CELLS`` cells.
        InvalidInputError
            If codes or weights have a wrong shape, type or range, or their sum is 2^62 or more.
        """
        _check_domain(domain)
        check_capacity(domain)
        shape, total = domain.shape, 0
        counter: PairCounter | None = None
        for batch in batches:
            if isinstance(batch, tuple) and len(batch) != 2:
                msg = f"expected batches of codes or (codes, weights), got {len(batch)} items"
                raise InvalidInputError(msg)
            codes, weights = batch if isinstance(batch, tuple) else (batch, None)
            codes = _checked_codes(codes, shape)
            weights = _checked_weights(weights, len(codes))
            total += len(codes) if weights is None else int(weights.sum())
            check_total(total, "weights")
            if counter is None:
                counter = PairCounter(shape, choose_layout(shape, records or len(codes)))
            counter.add([codes[:, i] for i in range(len(shape))], weights)
        if counter is None:
            counter = PairCounter(shape, choose_layout(shape, 0))
        tables = {(i, j): table for i, j, table in counter.pairs()}
        d = len(shape)  # what the pairs hold already is not summed up from larger tables
        singles = (
            [tables[0, 1].sum(axis=1), *(tables[0, j].sum(axis=0) for j in range(1, d))]
            if d > 1
            else [counter.single(i) for i in range(d)]
        )
        return cls(
            domain,
            total,
            tuple(map(freeze, singles)),
            tuple(freeze(tables[pair]) for pair in combinations(range(len(shape)), 2)),
        )

    @classmethod
    def from_codes(
        cls, domain: Domain, codes: IntArray, weights: IntArray | None = None
    ) -> PairCounts:
        """Count one array of coded records; see `from_batches`."""
        return cls.from_batches(domain, [(codes, weights)])

    def single(self, name: str) -> Counts:
        """Return the one-way table of `name`."""
        return Counts(self.domain.project([name]), self.singles[self.domain.position(name)])

    def table(self, row: str, column: str) -> IntArray:
        """Return the counts with categories of `row` as rows and of `column` as columns.

        Raises
        ------
        DomainError
            If a column is unknown, or both are the same.
        """
        i, j = self.domain.position(row), self.domain.position(column)
        if i == j:
            msg = f"expected two different columns, got {row!r} twice"
            raise DomainError(msg)
        low, high = min(i, j), max(i, j)
        d = len(self.domain)
        found = self.pairs[low * (2 * d - low - 1) // 2 + high - low - 1]
        return found if i < j else found.T

    def pair(self, first: str, second: str) -> Counts:
        """Return the two-way table of `first` (rows) and `second` (columns)."""
        return Counts(self.domain.project([first, second]), self.table(first, second))

    def project(self, names: Iterable[str]) -> PairCounts:
        """Return the pairwise tables of some attributes, in the given order."""
        wanted = self.domain.project(names)
        return PairCounts(
            wanted,
            self.total,
            tuple(self.singles[self.domain.position(name)] for name in wanted.names),
            tuple(freeze(self.table(a, b)) for a, b in combinations(wanted.names, 2)),
        )


def cells_needed(domain: Domain) -> int:
    """Return the number of cells of all pairwise tables of `domain`."""
    total = sum(domain.shape)
    return (total**2 - sum(k * k for k in domain.shape)) // 2


def check_capacity(domain: Domain, limit: int = MAX_CELLS) -> None:
    """Refuse a domain whose pairwise tables would not fit.

    Raises
    ------
    CapacityError
        With a forecast of the memory, the columns to blame, and what to do.
    """
    cells = cells_needed(domain)
    if cells <= limit:
        return
    widest = sorted(domain, key=lambda item: item.size, reverse=True)[:3]
    names = ", ".join(f"{item.name!r} ({item.size:,} categories)" for item in widest)
    msg = (
        f"expected pairwise tables of at most {limit:,} cells, got {cells:,} "
        f"({8 * cells / 1e9:,.1f} GB). The columns with most categories are {names}: bin numbers, "
        f"pool rare categories with min_count (--min-count), or leave out identifiers."
    )
    raise CapacityError(msg)


def _checked_codes(codes: IntArray, shape: tuple[int, ...]) -> IntArray:
    try:
        codes = np.asarray(codes)
    except Exception as error:  # whatever an object's own conversion raises
        msg = f"expected a rectangular array of codes, got {type(codes).__name__}"
        raise InvalidInputError(msg) from error
    if codes.ndim != 2 or codes.shape[1] != len(shape) or codes.dtype.kind not in "iu":
        msg = (
            f"expected integer codes of shape (records, {len(shape)}), "
            f"got {codes.dtype} of shape {codes.shape}"
        )
        raise InvalidInputError(msg)
    return codes


def _checked_weights(weights: IntArray | None, n: int) -> IntArray | None:
    if weights is None:
        return None
    checked = _as_counts(weights, "weights")
    if checked.shape != (n,):
        msg = f"expected {n} weights, got shape {checked.shape}"
        raise InvalidInputError(msg)
    return checked
