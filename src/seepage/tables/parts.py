"""Counts of one part of a table whose parts are counted in different places.

What the notes of a table say depends on all its parts. So a part keeps what they are made of, and
the notes are written when the parts are together.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage.counts import PairCounts
from seepage.domain import Domain, Label
from seepage.errors import CapacityError, TableError
from seepage.tables.batches import open_batches
from seepage.tables.columns import plain
from seepage.tables.count_files import counts_from_bytes, counts_to_bytes
from seepage.tables.delimited import TextFormat
from seepage.tables.load import columns_with_gaps, reading_of, settle, weighted
from seepage.tables.notes import left_out, never_met
from seepage.tables.options import Plan
from seepage.tables.streaming import CountedTable, count_pass
from seepage.tables.tally import MOST, Coder, Tallied, Tally, group
from seepage.tables.weights import check_sum

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class CountedPart:
    """Every pairwise table of a part of the records.

    Parameters
    ----------
    counts : PairCounts
    records : int
        At least 1.
    gaps : tuple of int
        For each column, how many records have no value in it.
    nulls : frozenset of labels
        Which of the values that mean missing were met.
    weights : str or None
        Column of the weights.
    """

    counts: PairCounts
    records: int
    gaps: tuple[int, ...]
    nulls: frozenset[Label]
    weights: str | None = None

    def __add__(self, other: CountedPart) -> CountedPart:
        if not isinstance(other, CountedPart):
            return NotImplemented
        if self.weights is not None:
            check_sum(self.weights, self.counts.total + other.counts.total)
        return CountedPart(
            self.counts + other.counts,
            self.records + other.records,
            tuple(a + b for a, b in zip(self.gaps, other.gaps, strict=True)),
            self.nulls | other.nulls,
            self.weights,
        )

    def to_bytes(self) -> bytes:
        """Content that `from_bytes` reads: that of a ".counts" file with a note for itself."""
        note = json.dumps({"gaps": self.gaps, "nulls": list(self.nulls), "weights": self.weights})
        is_weighted = self.weights is not None
        return counts_to_bytes(CountedTable(self.counts, "", (note,), self.records, is_weighted))

    @classmethod
    def from_bytes(cls, content: bytes) -> CountedPart:
        """Read a part; see `to_bytes`.

        Raises
        ------
        TableError
            If the content is damaged.
        """
        read = counts_from_bytes(content, "a part of the table")
        kept: dict[str, Any] = json.loads(read.notes[0])
        nulls = frozenset(kept["nulls"])
        return cls(read.counts, read.records, tuple(kept["gaps"]), nulls, kept["weights"])


def count_part(reader: Any, plan: Plan) -> CountedPart | None:
    """Count the records of one part; None when it has none.

    Parameters
    ----------
    reader : pyarrow.RecordBatchReader
        Of the columns that `plan` chooses, in that order.
    plan : Plan
        As `seepage.tables.streaming.check_one_pass` wants it.

    Raises
    ------
    SeepageError
        As `seepage.tables.count_table`. Numbers in the message are those of this part.
    """
    counts, columns, records = count_pass(open_batches(reader, TextFormat(), list), plan)
    if not records:
        return None
    columns_with_gaps(columns, plan, [])
    settle(columns, plan, (), [])
    gaps = tuple(column.missing for column in columns)
    nulls = frozenset[Label]().union(*(column.nulls for column in columns))
    return CountedPart(counts, records, gaps, nulls, plan.weights)


def counted_table(
    part: CountedPart | None, plan: Plan, known: Sequence[str], source: str
) -> CountedTable:
    """Counts of a whole table, with the notes of `seepage.tables.count_table`.

    Parameters
    ----------
    part : CountedPart or None
        Sum of all parts; None when there was no record.
    plan : Plan
    known : sequence of str
        All columns of the table.
    source : str
        What the table is called.

    Raises
    ------
    TableError
        If there is no record, or no weight is positive.
    """
    if part is None or plan.file is None:
        msg = f"expected records in {source}, got none"
        raise TableError(msg)
    notes: list[str] = []
    columns = [
        _summary(name, gap, part)
        for name, gap in zip(part.counts.domain.names, part.gaps, strict=True)
    ]
    columns_with_gaps(columns, plan, notes)
    is_weighted = plan.weights is not None
    if is_weighted:
        notes.append(weighted(plan, any_positive=part.counts.total > 0))
    notes += plan.file.notes
    if plan.columns is None:
        used = () if plan.weights is None else (plan.weights,)
        notes += left_out(known, plan.file.names, (*plan.exclude, *used))
    notes += never_met(columns, plan.nulls)
    return CountedTable(part.counts, source, tuple(notes), part.records, is_weighted)


def _summary(name: str, gap: int, part: CountedPart) -> Tallied:
    """A column of which only the numbers are left that notes need."""
    nothing = np.zeros(0, dtype=np.int64)
    present = np.array([part.records - gap])
    return Tallied(name, "text", nothing, nothing, present, part.nulls, part.records)


@dataclass(frozen=True, eq=False)
class SurveyedPart:
    """The distinct values of all columns of a part of the records.

    Parameters
    ----------
    groups : tuple of polars.DataFrame
        For each column its values with their numbers; see `seepage.tables.tally.group`.
    records : int
    """

    groups: tuple[pl.DataFrame, ...]
    records: int

    def __add__(self, other: SurveyedPart) -> SurveyedPart:
        if not isinstance(other, SurveyedPart):
            return NotImplemented
        pairs = zip(self.groups, other.groups, strict=True)
        added = tuple(_joined(*pair) for pair in pairs)
        return SurveyedPart(added, self.records + other.records)

    def to_bytes(self) -> bytes:
        """Content that `from_bytes` reads."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = str(self.records).encode()
            for i, groups in enumerate(self.groups):
                archive.writestr(f"{i}", groups.write_ipc(None).getvalue())
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> SurveyedPart:
        """Read a part; see `to_bytes`."""
        import polars as pl

        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [archive.read(name) for name in archive.namelist()]
            groups = tuple(pl.read_ipc(io.BytesIO(member)) for member in members)
            return cls(groups, int(archive.comment))


def _joined(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    both = pl.concat([left, right])
    return both.group_by("value").agg(pl.col("count").sum(), pl.col("first").min())


def survey_part(reader: Any, plan: Plan) -> SurveyedPart | None:
    """Find the distinct values of one part; None when it has no records.

    Parameters
    ----------
    reader : pyarrow.RecordBatchReader
        Of the columns that `plan` chooses, in that order.
    plan : Plan

    Raises
    ------
    CapacityError
        If a column has too many distinct values.
    TableError
        If a column has a type without categories.
    """
    import polars as pl

    batches = open_batches(reader, TextFormat(), list)
    names = [name for name in batches.columns if name != plan.weights]
    total = SurveyedPart((), 0)
    for raw in batches.frames():
        frame = pl.DataFrame([plain(raw[name]) for name in names])
        if frame.height:
            found = SurveyedPart(tuple(group(frame, total.records)), frame.height)
            total = total + found if total.records else found
            _check_widths(total, names, plan)
    return total if total.records else None


def _check_widths(part: SurveyedPart, names: Sequence[str], plan: Plan) -> None:
    most = max(MOST, plan.max_categories)
    for name, groups in zip(names, part.groups, strict=True):
        if groups.height > most:
            msg = (
                f"expected at most {most:,} distinct values in column {name!r}, got more. Declare "
                "its bins in a domain, or leave it out (exclude)."
            )
            raise CapacityError(msg)


def domain_of(part: SurveyedPart | None, plan: Plan, known: Sequence[str], source: str) -> Domain:
    """The domain that `seepage.tables.count_table` reads from a whole table.

    Parameters
    ----------
    part, plan, known, source
        See `counted_table`.

    Raises
    ------
    SeepageError
        If there is no record, or a column does not fit the options.
    """
    names = [name for name in plan.choose(known) if name != plan.weights]
    if part is None:
        msg = f"expected records in {source}, got none"
        raise TableError(msg)
    _check_widths(part, names, plan)
    columns = []
    for name, groups in zip(names, part.groups, strict=True):
        tally = Tally(name, reading_of(name, True, plan))
        tally.add(groups, part.records)
        columns.append(Coder(tally).column)
    columns_with_gaps(columns, plan, [])
    codings, _ = settle(columns, plan, known, [])
    return Domain(tuple(coding.attribute for coding in codings))
