"""Tables that hold sequences, and the records of them that are to stay private.

A table is long (a row for each record, with columns for the sequence, the time and the state) or
wide (a row for each sequence, a column for each time). Its columns keep their order. Rows of a long
table with a column of times are put in the order of sequences and times: in a table that was sorted
by state, the place of a row would tell what was redacted. Other rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import BoolArray, IntArray
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.tables._record_order import record_order
from seepage.tables.columns import Column, Reading, read_columns
from seepage.tables.delimited import TextFormat
from seepage.tables.sources import RawTable, read_source

if TYPE_CHECKING:
    import polars as pl

AUTO = "auto"
MAYBE = "auto, if any"
MARK_NAMES = ("protect", "protected", "private", "hidden", "opt_out")
"""Names by which "auto" knows the column that marks the protected records."""

YES, NO = {"1", "true", "yes"}, {"0", "false", "no"}

ROW_ORDER = (
    "The records were taken in the order of the rows, and are written in it: it must not depend on "
    "the states."
)
LEFT_OUT = (
    "Columns other than the sequence, its order, its states and the marks were left out of what is "
    "written ({names}): they may tell what a redacted record was."
)
KEPT = (
    "The columns {names} are written as they are; the leakage does not cover what they tell about "
    "a redacted record."
)

Protect = str | int | Sequence[int] | None


@dataclass(frozen=True, eq=False)
class SequenceTable:
    """Sequences of labels, and the table they came from.

    Attributes
    ----------
    source : str
        Where they came from, in words.
    ids : tuple of label
        Of each sequence; its number, from 0, where the table has no such column.
    values : tuple of tuple of label
        States of each sequence in order.
    hidden : tuple of tuple of int, or None
        Positions, from 0, of the records to protect in each sequence; None when they were not
        asked for.
    notes : tuple of str
        What a reader should know about the reading.
    frame : polars.DataFrame
        The columns that are written.
    state_columns : tuple of str
        One in a long table, one for each time in a wide one.
    rows : tuple of array of int
        Row of each record; in a wide table the same for all of a sequence.
    typed : bool
        False for text files, whose states are all texts.
    """

    source: str
    ids: tuple[Any, ...]
    values: tuple[tuple[Any, ...], ...]
    hidden: tuple[tuple[int, ...], ...] | None
    notes: tuple[str, ...]
    frame: pl.DataFrame
    state_columns: tuple[str, ...]
    rows: tuple[IntArray, ...]
    typed: bool

    @property
    def wide(self) -> bool:
        """Whether each time has a column."""
        return len(self.state_columns) > 1

    @property
    def size(self) -> int:
        """Number of records."""
        return sum(map(len, self.values))

    def redacted(self, hide: Sequence[BoolArray]) -> pl.DataFrame:
        """Return the table with records emptied.

        Parameters
        ----------
        hide : sequence of array of bool
            For each sequence, which of its records to empty.
        """
        import polars as pl

        gone = np.zeros((self.frame.height, len(self.state_columns)), dtype=bool)
        for rows, mask in zip(self.rows, hide, strict=True):
            columns = np.arange(mask.size) if self.wide else np.zeros(mask.size, dtype=np.int64)
            gone[rows, columns] = mask
        changed = []
        for j, name in enumerate(self.state_columns):
            series = self.frame[name]
            if not self.typed:
                series = series.str.strip_chars()
            keep = pl.Series(~gone[:, j])
            empty = pl.Series(name, [None], dtype=series.dtype)
            changed.append(series.zip_with(keep, empty.new_from_index(0, len(series))))
        return self.frame.with_columns(changed)


def read_sequences(
    source: object,
    protect: Protect = None,
    *,
    state: str | Sequence[str] | None = None,
    sequence_id: str | None = None,
    order: str | None = None,
    wide: bool = False,
    keep: Sequence[str] = (),
    null_values: Sequence[str] = ("",),
    form: TextFormat | None = None,
) -> SequenceTable:
    """Read sequences from a path, a frame, or a mapping of columns.

    Parameters
    ----------
    source : path, frame or mapping of columns
    protect : str, int, sequence of int, or None
        The records to protect: a position, from 0, or several, in every sequence; a column that
        marks them by 1, true or yes; "auto" for a column with one of the names protect, protected,
        private, hidden or opt_out; "auto, if any" for such a column where there is one. In a wide
        table a column that names a time for each row, by its column or as a position from 0, or
        the column of a time that `state` lists. A column goes before a number of the same name.
    state : str or sequence of str, optional
        The column of the states, or those of the times of a wide table. May be left out when a
        single column is left.
    sequence_id : str, optional
        Column that says to which sequence a record belongs; without it there is one sequence.
    order : str, optional
        Column of times or positions: numbers, dates, or texts that begin with YYYY-MM-DD. Without
        it the rows are in order.
    wide : bool
        Whether all remaining columns are times.
    keep : sequence of str
        Other columns that go into what is written.
    null_values : sequence of str
        Texts that mean empty.
    form : TextFormat, optional
        How text files are written.

    Returns
    -------
    SequenceTable

    Raises
    ------
    TableError
        If a column is missing, there is no record, or two records of a sequence have one time.
    DomainError
        If a state, a time or a sequence is empty, or a mark is neither yes nor no.
    InvalidInputError
        If a position is outside a sequence.
    """
    chosen: list[_Roles] = []
    wanted = _as_names(state)

    def choose(names: Sequence[str]) -> list[str]:
        roles = _roles(
            names,
            protect,
            states=wanted,
            sequence=sequence_id,
            order=order,
            wide=wide,
            keep=tuple(keep),
        )
        chosen.append(roles)
        return [name for name in names if name in roles.used]

    raw = read_source(source, form or TextFormat(), choose)
    roles = chosen[-1]
    if raw.frame.height == 0:
        msg = f"expected sequences in {raw.source}, got no record"
        raise TableError(msg)
    reading = Reading(raw.typed, "" if not raw.typed else None, tuple(null_values), as_text=True)
    read = _read_wide if roles.wide else _read_long
    return read(raw, roles, reading)


@dataclass(frozen=True)
class _Roles:
    """What each column is for."""

    states: tuple[str, ...]
    sequence: str | None
    order: str | None
    marks: str | None
    positions: tuple[int, ...] | None
    keep: tuple[str, ...]
    others: tuple[str, ...]
    listed: bool
    """Whether the states were named."""

    @property
    def wide(self) -> bool:
        return len(self.states) > 1

    @property
    def used(self) -> set[str]:
        named = (self.sequence, self.order, self.marks)
        return {*self.states, *self.keep, *(name for name in named if name is not None)}

    def notes(self) -> tuple[str, ...]:
        return tuple(
            text.format(names=", ".join(map(repr, names)))
            for text, names in ((LEFT_OUT, self.others), (KEPT, self.keep))
            if names
        )


def _as_names(state: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if state is None else (state,) if isinstance(state, str) else tuple(state)


def _roles(
    names: Sequence[str],
    protect: Protect,
    *,
    states: tuple[str, ...],
    sequence: str | None,
    order: str | None,
    wide: bool,
    keep: tuple[str, ...],
) -> _Roles:
    for role, name in (
        *(("state", name) for name in states),
        ("sequence", sequence),
        ("order", order),
        *(("keep", name) for name in keep),
    ):
        if name is not None and name not in names:
            msg = f"expected a column of the table for {role}, got {name!r}."
            raise TableError(msg + did_you_mean(name, names))
    named = [name for name in (*states, sequence, order) if name is not None]
    repeated = next((name for name in named if named.count(name) > 1), None)
    if repeated is not None:
        msg = f"expected a column for each purpose, got {repeated!r} for several"
        raise TableError(msg)
    marks, positions = _protected(names, protect, named)
    taken = {*named, *keep} | ({marks} if marks is not None else set())
    free = [name for name in names if name not in taken]
    listed = bool(states)
    if not states and wide:
        states = tuple(free)  # the protected column is a time only where `state` lists it
    elif not states:
        if len(free) != 1:
            found = ", ".join(map(repr, free)) or "none"
            msg = f"expected state (--state) to name the column of the states, got none; {found} "
            raise TableError(msg + ("are there" if free else "is left"))
        states = tuple(free)
    if wide and len(states) < 2:
        msg = f"expected a column for each time of a wide table, got {len(states)}"
        raise TableError(msg)
    if len(states) > 1 and order is not None:
        msg = f"expected no order for a wide table, whose columns are in order, got {order!r}"
        raise TableError(msg)
    if marks in states:
        if len(states) == 1:
            msg = f"expected protect to name another column than the states, got {marks!r}"
            raise TableError(msg)
        marks, positions = None, (states.index(str(marks)),)
    used = {*taken, *states}
    others = tuple(name for name in names if name not in used)
    return _Roles(states, sequence, order, marks, positions, keep, others, listed)


def _protected(
    names: Sequence[str], protect: Protect, named: Sequence[str]
) -> tuple[str | None, tuple[int, ...] | None]:
    """Column of the marks, or positions in every sequence."""
    if protect is None:
        return None, None
    if protect in (AUTO, MAYBE):
        found = [name for name in names if name.lower() in MARK_NAMES and name not in named]
        if protect == MAYBE and not found:
            return None, None
        if len(found) != 1:
            msg = (
                "expected one column with a name by which the protected records are known "
                f"({', '.join(MARK_NAMES)}), got {', '.join(map(repr, found)) or 'none'}: name "
                "the column or give a position (--protect)"
            )
            raise TableError(msg)
        return found[0], None
    if isinstance(protect, str):
        if protect in names:
            return protect, None
        parts = [part.strip() for part in protect.split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
            msg = f"expected protect to be a position from 0 or a column, got {protect!r}."
            raise TableError(msg + did_you_mean(protect, names))
        return None, tuple(map(int, parts))
    given = protect if isinstance(protect, Sequence) else (protect,)
    for item in given:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            msg = f"expected protect to be positions, a column or 'auto', got {protect!r}"
            raise InvalidInputError(msg)
    if not given:
        msg = "expected one position to protect at least, got none"
        raise InvalidInputError(msg)
    return None, tuple(int(item) for item in given)


def _read_long(raw: RawTable, roles: _Roles, reading: Reading) -> SequenceTable:
    (state,) = roles.states
    names = [n for n in (state, roles.sequence, roles.marks) if n is not None]
    read = {c.name: c for c in read_columns(raw.frame, dict.fromkeys(names, reading))}
    column = read[state]
    _all_there(column, "a state")
    height = raw.frame.height
    if roles.sequence is None:
        groups, ids = np.zeros(height, dtype=np.int64), (0,)
    else:
        of = read[roles.sequence]
        _all_there(of, "a sequence")
        _, first, inverse = np.unique(of.codes, return_index=True, return_inverse=True)
        labels = of.values.tolist()
        met = [labels[of.codes[i]] for i in first.tolist()]
        # In the order they are met, or by label where the order of the rows must not matter.
        turn = np.argsort(first) if roles.order is None else _by_label(met)
        groups = np.argsort(turn)[inverse]
        ids = tuple(met[i] for i in turn.tolist())
    notes: tuple[str, ...] = (*raw.notes, *roles.notes())
    if roles.order is None:
        place = np.argsort(groups, kind="stable")
        notes = (*notes, ROW_ORDER)
    else:
        place, said = record_order(raw.frame[roles.order], groups, typed=raw.typed)
        notes = (*notes, *said)
    ends = np.cumsum(np.bincount(groups))
    rows = tuple(np.split(place, ends[:-1]))
    labels = column.values.tolist()
    values = tuple(tuple(labels[c] for c in column.codes[r].tolist()) for r in rows)
    hidden = _same(roles, values, ids)
    if roles.marks is not None:
        marked = _marks(read[roles.marks])
        hidden = tuple(tuple(np.flatnonzero(marked[r]).tolist()) for r in rows)
        _some(hidden, f"column {roles.marks!r}")
    frame = raw.frame
    if roles.order is not None:
        frame, rows = frame[place], tuple(np.split(np.arange(height), ends[:-1]))
    return SequenceTable(
        raw.source, ids, values, hidden, notes, frame, roles.states, rows, raw.typed
    )


def _by_label(labels: Sequence[Any]) -> IntArray:
    """Places of labels in a sorted list: numbers by size, the rest as texts."""
    try:
        turn = sorted(range(len(labels)), key=lambda i: labels[i])
    except TypeError:
        turn = sorted(range(len(labels)), key=lambda i: str(labels[i]))
    return np.asarray(turn, dtype=np.int64)


def _read_wide(raw: RawTable, roles: _Roles, reading: Reading) -> SequenceTable:
    names = [*roles.states, *(n for n in (roles.sequence, roles.marks) if n is not None)]
    read = {c.name: c for c in read_columns(raw.frame, dict.fromkeys(names, reading))}
    columns = [read[name] for name in roles.states]
    codes = np.stack([c.codes for c in columns], axis=1)
    there = codes >= 0
    lengths = there.sum(axis=1)
    gap = there != (np.arange(len(columns)) < lengths[:, np.newaxis])
    if gap.any() or not lengths.all():
        row = int(np.flatnonzero(gap.any(axis=1) | (lengths == 0))[0])
        at = int(np.argmin(there[row]))
        msg = (
            f"expected a state in column {roles.states[at]!r} of row {row + 1:,}, got none: only "
            "the end of a sequence may be empty"
        )
        raise DomainError(msg)
    labels = [c.values.tolist() for c in columns]
    values = tuple(
        tuple(labels[j][codes[i, j]] for j in range(length)) for i, length in enumerate(lengths)
    )
    ids: tuple[Any, ...] = tuple(range(len(values)))
    if roles.sequence is not None:
        of = read[roles.sequence]
        _all_there(of, "a sequence")
        names_of = of.values.tolist()
        ids = tuple(names_of[c] for c in of.codes.tolist())
        if len(names_of) < len(ids):
            again = next(x for x in ids if ids.count(x) > 1)
            msg = f"expected one row for each sequence, got {again!r} {ids.count(again)} times"
            raise TableError(msg)
    hidden = _same(roles, values, ids)
    if roles.marks is not None:
        hidden = _pointers(read[roles.marks], roles, lengths, ids)
        _some(hidden, f"column {roles.marks!r}")
    rows = tuple(np.full(int(length), i) for i, length in enumerate(lengths))
    notes = (*raw.notes, *roles.notes())
    return SequenceTable(
        raw.source, ids, values, hidden, notes, raw.frame, roles.states, rows, raw.typed
    )


def _same(
    roles: _Roles, values: Sequence[Sequence[Any]], ids: Sequence[Any]
) -> tuple[tuple[int, ...], ...] | None:
    """The same positions in every sequence."""
    if roles.positions is None:
        return None
    for name, records in zip(ids, values, strict=True):
        for position in roles.positions:
            _check_inside(position, len(records), name)
    return tuple(roles.positions for _ in values)


def _check_inside(position: int, n: int, name: Any) -> None:
    if not 0 <= position < n:
        msg = (
            f"expected a position to protect from 0 to {n - 1} in sequence {name!r} of {n} "
            f"records, got {position}"
        )
        raise InvalidInputError(msg)


def _marks(column: Column) -> BoolArray:
    """Which records are marked; an empty field is no mark."""
    known = [_mark(value, column.name) for value in column.values.tolist()]
    return np.asarray([*known, False], dtype=bool)[column.codes]


def _mark(value: Any, name: str) -> bool:
    text = str(value).lower()
    if text in YES or text in NO:
        return text in YES
    msg = f"expected 0 or 1 in column {name!r}, which marks the protected records, got {value!r}"
    raise DomainError(msg)


def _pointers(
    column: Column, roles: _Roles, lengths: IntArray, ids: Sequence[Any]
) -> tuple[tuple[int, ...], ...]:
    """The protected position of each row, by the name of its column or as a number."""
    where = {name: (i,) for i, name in enumerate(roles.states)}
    texts = [str(value) for value in column.values.tolist()]
    first = roles.states[0]
    if texts and set(texts) <= {"0", "1"}:
        msg = (
            f"expected times in column {column.name!r}, such as {first!r}, got 0 and 1 only, which "
            "may be flags: write the name of the column of the protected time, leave the others "
            "empty, or give a position for all (--protect 0)"
        )
        raise DomainError(msg)
    known = column.name.lower() in MARK_NAMES
    if texts and not (roles.listed or known or any(text in where for text in texts)):
        msg = (
            f"expected names of times, such as {first!r}, in column {column.name!r}, got "
            f"{texts[0]!r}: name the times (--state A,B,…), and this column among them if it is one"
        )
        raise DomainError(msg)
    found: list[tuple[int, ...]] = []
    for text in texts:
        if text in where:
            found.append(where[text])
        elif text.isascii() and text.isdigit() and len(text) < 16:
            found.append((int(text),))
        else:
            msg = f"expected a time or a position in column {column.name!r}, got {text!r}."
            raise DomainError(msg + did_you_mean(text, roles.states))
    result = tuple(found[c] if c >= 0 else () for c in column.codes.tolist())
    for positions, n, name in zip(result, lengths.tolist(), ids, strict=True):
        for position in positions:
            _check_inside(position, n, name)
    return result


def _some(hidden: Sequence[Sequence[int]], where: str) -> None:
    if not any(hidden):
        msg = f"expected a protected record in {where}, got none"
        raise TableError(msg)


def _all_there(column: Column, what: str) -> None:
    if column.missing:
        row = column.record(int(np.argmin(column.codes)))
        msg = (
            f"expected {what} in every record of column {column.name!r}, got none in record "
            f"{row:,} ({column.missing:,} in all): fill it or leave the record out"
        )
        raise DomainError(msg)
