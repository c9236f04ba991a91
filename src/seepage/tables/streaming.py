"""Counting tables that need not fit into memory.

The table is read several times, batch by batch. First the distinct values of each column are
gathered: all that the categories, the bins and the notes depend on. Then each batch is coded and
counted. In between, records with missing values are left out of the distinct values when they are
to be dropped, and numbers with very many values are looked at again around the edges of their bins.
What is kept is bounded by the pairwise tables, the distinct values, and one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import BoolArray, IntArray
from seepage.counts import PairCounts, check_capacity
from seepage.domain import Domain
from seepage.errors import DomainError, InvalidInputError, TableError
from seepage.tables.batches import Batches, open_batches
from seepage.tables.columns import Reading, number_like, plain, read_columns
from seepage.tables.encode import Coding, code_declared, lookup
from seepage.tables.load import (
    check_sizes,
    columns_with_gaps,
    dropped,
    mixtures,
    reading_of,
    reading_plan,
    settle,
    weighted,
)
from seepage.tables.options import Plan
from seepage.tables.tally import MOST, Coder, Tallied, Tally, group
from seepage.tables.text_chunks import RestartError
from seepage.tables.weights import check_sum, weights_of
from seepage.tables.wide import Wide, widen

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[int, int], None]
Stage = Callable[[str], None]

SURVEY_NS, COUNT_NS = 40.0, 40.0
"""Measured nanoseconds for one value, on two cores: to find the categories, and to count."""


@dataclass(frozen=True, eq=False)
class CountedTable:
    """Every pairwise table of some records, without the records.

    Parameters
    ----------
    counts : PairCounts
    source : str
        File name or kind of frame.
    notes : tuple of str
        See `CodedTable`.
    records : int
        Number of records that were counted.
    weighted : bool
        Whether records have weights; ``counts.total`` is their sum then.
    """

    counts: PairCounts
    source: str
    notes: tuple[str, ...]
    records: int
    weighted: bool = False

    @property
    def domain(self) -> Domain:
        """The attributes."""
        return self.counts.domain

    def __add__(self, other: CountedTable) -> CountedTable:
        if not isinstance(other, CountedTable):
            return NotImplemented
        return _added(self, other, (self.source, other.source))


def _added(left: CountedTable, right: CountedTable, names: tuple[str, str]) -> CountedTable:
    """The sum of two tables; `names` is what messages call them."""
    both = " and ".join(names)
    if left.weighted != right.weighted:
        kinds = [
            f"{name} ({'' if x.weighted else 'not '}weighted)"
            for name, x in zip(names, (left, right), strict=True)
        ]
        msg = f"expected counts that are all weighted or all not, got {' and '.join(kinds)}"
        raise InvalidInputError(msg)
    try:
        counts = left.counts + right.counts
    except DomainError as error:
        msg = f"{error} ({both}). Count all parts with one declared domain (domain, --domain)"
        raise DomainError(msg) from None
    except InvalidInputError as error:  # the sum is too large
        msg = f"{error} ({both})"
        raise InvalidInputError(msg) from None
    return CountedTable(
        counts,
        f"{left.source} + {right.source}",
        tuple(dict.fromkeys((*left.notes, *right.notes))),
        left.records + right.records,
        left.weighted,
    )


def merge_counts(parts: Sequence[CountedTable], names: Sequence[str] | None = None) -> CountedTable:
    """Add up counts of different records over one domain.

    Parameters
    ----------
    parts : sequence of CountedTable
    names : sequence of str, optional
        What messages call the parts, for instance their paths; by default their sources.

    Raises
    ------
    DomainError
        If their domains differ; the message names the column and two parts.
    InvalidInputError
        If there are none, only some of them are weighted, or they add up to 2^62 or more.
    """
    if not parts:
        msg = "expected at least one part, got none"
        raise InvalidInputError(msg)
    called = [part.source for part in parts] if names is None else list(names)
    total = parts[0]
    for part, name in zip(parts[1:], called[1:], strict=True):
        total = _added(total, part, (called[0], name))
    return total


def count_table(
    source: object,
    *,
    progress: Progress | None = None,
    stage: Stage | None = None,
    **options: Any,
) -> CountedTable:
    """Count every pair of columns of a table that need not fit into memory.

    The counts and notes are those of ``load(source, **options)`` and its ``counts()``.

    Parameters
    ----------
    source : path, list of paths, frame, query, or mapping of columns
        Whatever `seepage.tables.load` reads, and PyArrow data sets and record batch readers.
        Parquet, CSV, Arrow IPC with a footer, DuckDB relations, Polars queries and PyArrow data
        sets are read in batches, two to four times. A reader can be read only once: it needs a
        declared `domain`, and can neither drop records nor pool categories.
    progress : callable, optional
        Called with (records read, records in all) of each pass, where the latter is known.
    stage : callable, optional
        Called at the start of each pass with a sentence on what it does and how long it may take.
    **options
        As of `seepage.tables.load`: domain, columns, exclude, bins, n_bins, binning, missing,
        null_values, min_count, weights, …

    Returns
    -------
    CountedTable

    Raises
    ------
    CapacityError
        If the pairwise tables would not fit, or a column that is not binned has more than
        131,072 distinct values (or `max_categories`, if that is more).
    SeepageError
        As `seepage.tables.load`.

    Examples
    --------
    >>> counted = count_table({"sex": ["f", "m", "m"], "smoker": [True, False, None]})
    >>> counted.counts.table("sex", "smoker").tolist()
    [[0, 1, 0], [1, 0, 1]]
    """
    plan, form = reading_plan(**options)
    known: dict[str, None] = {}

    def choose(names: Sequence[str]) -> list[str]:
        known.update(dict.fromkeys(names))
        return plan.choose(names)

    batches = open_batches(source, form, choose)
    passes = _Passes(batches, plan, progress, stage)
    if not batches.repeatable:
        return _count_once(passes, tuple(known))
    return _count(passes, tuple(known))


@dataclass(frozen=True, eq=False)
class _Batch:
    """Attributes as `plain` returns them, the weights as they came, and what came before."""

    frame: pl.DataFrame
    weights: pl.Series | None
    before: int

    def only(self, kept: BoolArray) -> pl.DataFrame:
        import polars as pl

        return self.frame.filter(pl.Series(kept))


@dataclass(frozen=True, eq=False)
class _Passes:
    """Reads the batches, again and again."""

    batches: Batches
    plan: Plan
    progress: Progress | None
    stage: Stage | None

    @property
    def readings(self) -> dict[str, Reading]:
        names = (name for name in self.batches.columns if name != self.plan.weights)
        return {name: reading_of(name, self.batches.typed, self.plan) for name in names}

    def run(self, what: str, cost: float, records: int | None) -> Iterator[_Batch]:
        """Yield the batches; `cost` is in nanoseconds for one value."""
        import polars as pl

        names = list(self.readings)
        if self.stage is not None:
            self.stage(f"{what}{self._forecast(cost, records)}")
        before = 0
        for raw in self.batches.frames():
            if not raw.height:
                continue
            frame = pl.DataFrame([plain(raw[name]) for name in names])
            weights = None if self.plan.weights is None else raw[self.plan.weights]
            yield _Batch(frame, weights, before)
            before += raw.height
            if self.progress is not None and records is not None:
                self.progress(min(before, records), records)

    def _forecast(self, cost: float, records: int | None) -> str:
        size = self.batches.size
        parts = [] if size is None else [f"{size / 1e6:,.0f} MB"]
        if records is not None:
            seconds = cost * 1e-9 * records * len(self.batches.columns)
            parts += [f"{records:,} records", f"about {seconds:,.0f} s"]
        return f" ({', '.join(parts)})" if parts else ""


class _Survey:
    """The distinct values of all columns."""

    def __init__(self, passes: _Passes) -> None:
        self._passes = passes
        self.readings = passes.readings
        self.tallies = {name: Tally(name, reading) for name, reading in self.readings.items()}
        self.wide: dict[str, Wide] = {}
        self.records = 0
        self._most = max(MOST, passes.plan.max_categories)

    def add(self, batch: _Batch) -> None:
        """Add a batch."""
        self.records = batch.before + batch.frame.height
        for name in self.wide:
            self.add_wide(name, batch.frame)
        narrow = batch.frame.select(list(self.tallies))
        found = group(narrow, batch.before)
        for name, groups in zip(narrow.columns, found, strict=True):
            self.tallies[name].add(groups, narrow.height)
            if self.tallies[name].width > self._most:
                self.wide[name] = self._widened(self.tallies.pop(name))

    def add_wide(self, name: str, frame: pl.DataFrame) -> None:
        """Add the records of a batch to a wide column.

        Raises
        ------
        TableError
            If a text is among the numbers of a text file.
        """
        (column,) = read_columns(frame.select(name), {name: self.readings[name]})
        wide = self.wide[name]
        stray = wide.numeric and len(column.values) and column.kind not in {"int", "float"}
        if stray:
            self._refuse(name, column.values.tolist())
        wide.add(column)

    def _refuse(self, name: str, values: list[Any]) -> None:
        text = next(x for x in values if isinstance(x, bool) or not number_like(x))
        msg = (
            f"expected values of one type in column {name!r}, got more than {self._most:,} "
            f"different numbers and the text {text!r}. If it means missing, declare it "
            "(null_values, --null); else clean the column, or leave it out (exclude, --exclude)."
        )
        raise TableError(msg)

    def _widened(self, tally: Tally) -> Wide:
        column, reading = Coder(tally).column, self.readings[tally.name]
        passes = self._passes
        mixtures([column], passes.plan, passes.batches.typed, passes.batches.place)
        plain_text = reading.typed or reading.as_text
        return widen(column, passes.plan, plain_text=plain_text, most=self._most)


def _survey(passes: _Passes) -> _Survey:
    while True:
        survey = _Survey(passes)
        try:
            for batch in passes.run("Finding the values", SURVEY_NS, passes.batches.records):
                survey.add(batch)
        except RestartError:
            continue
        if not survey.records:
            msg = f"expected records in {passes.batches.source}, got none"
            raise TableError(msg)
        return survey


class _Columns:
    """Columns between the survey and the count."""

    def __init__(self, passes: _Passes, survey: _Survey) -> None:
        self.passes = passes
        self.survey = survey
        self.records = survey.records
        self.coders = {name: Coder(tally) for name, tally in survey.tallies.items()}
        self._gaps: list[str] = []
        self._columns = {name: coder.column for name, coder in self.coders.items()}

    def columns(self) -> list[Tallied]:
        """Columns in order."""
        return [
            self._columns[name] if name in self._columns else self.survey.wide[name].column()
            for name in self.survey.readings
        ]

    def drop(self, gaps: Sequence[str]) -> None:
        """Leave out the records without a value in one of the columns, and count values again."""
        self._gaps = list(gaps)
        survey, kept_records = self.survey, 0
        counts = {
            name: np.zeros(len(coder.column.codes), dtype=np.int64)
            for name, coder in self.coders.items()
        }
        survey.wide = {name: wide.again(wide.cuts) for name, wide in survey.wide.items()}
        for batch in self.passes.run("Dropping records", COUNT_NS, survey.records):
            frame = self.kept(batch)[0]
            kept_records += frame.height
            if not frame.height:
                continue
            for name in survey.wide:
                survey.add_wide(name, frame)
            for name, coder in self.coders.items():
                found = coder.places(frame[name])
                counts[name] += np.bincount(found[found >= 0], minlength=len(counts[name]))
        self.records = kept_records
        for name, coder in self.coders.items():
            self._columns[name] = coder.recount(counts[name], kept_records)

    def refine(self) -> None:
        """Look at wide columns around the edges of their bins."""
        plan, survey = self.passes.plan, self.survey
        cuts = {
            name: wide.next_cuts(_number_of_bins(plan, name)) for name, wide in survey.wide.items()
        }
        wanted = {name: cut for name, cut in cuts.items() if cut is not None}
        if not wanted:
            return
        survey.wide.update({name: survey.wide[name].again(cut) for name, cut in wanted.items()})
        for batch in self.passes.run("Finding the bins", SURVEY_NS, survey.records):
            frame = self.kept(batch)[0]
            for name in wanted if frame.height else ():
                survey.add_wide(name, frame)

    def kept(self, batch: _Batch) -> tuple[pl.DataFrame, BoolArray | None]:
        """The records of a batch that are not dropped, and which these are."""
        if not self._gaps:
            return batch.frame, None
        kept = np.ones(batch.frame.height, dtype=np.bool_)
        for name in self._gaps:
            if name in self.coders:
                kept &= self.coders[name].present(batch.frame[name])
            else:
                (column,) = self._read(name, batch.frame)
                kept &= column.codes >= 0
        return batch.only(kept), kept

    def _read(self, name: str, frame: pl.DataFrame) -> Any:
        return read_columns(frame.select(name), {name: self.survey.readings[name]})

    def code(self, frame: pl.DataFrame, codings: Sequence[Coding]) -> IntArray:
        """Position of the category of each record in each column."""
        codes = np.empty((frame.height, frame.width), dtype=np.int64, order="F")
        for i, (name, coding) in enumerate(zip(self.survey.readings, codings, strict=True)):
            if name in self.coders:
                gap = coding.attribute.missing
                last = -1 if gap is None else coding.attribute.index(gap)
                table = np.append(coding.codes(self._columns[name]), last)
                codes[:, i] = table[self.coders[name].places(frame[name])]
            elif frame.height:
                (column,) = self._read(name, frame)
                found = Coding(coding.attribute, lookup(column, coding.attribute))
                codes[:, i] = found.codes(column)
        return codes


def _number_of_bins(plan: Plan, name: str) -> int:
    bins = plan.bins.get(name)
    return bins if isinstance(bins, int) else plan.n_bins


def _count(passes: _Passes, known: Sequence[str]) -> CountedTable:
    plan, batches = passes.plan, passes.batches
    survey = _survey(passes)
    table = _Columns(passes, survey)
    columns = table.columns()
    mixed = mixtures(columns, plan, batches.typed, batches.place)
    notes = list(batches.notes)
    gaps = columns_with_gaps(columns, plan, notes)
    if gaps:
        table.drop([column.name for column in gaps])
        notes.append(dropped(gaps, survey.records, table.records, batches.source))
    table.refine()
    codings, more = settle(table.columns(), plan, known, mixed)
    domain = Domain(tuple(coding.attribute for coding in codings))
    weights = _Weights(passes)

    def coded() -> Iterator[tuple[IntArray, IntArray | None]]:
        read = 0
        for batch in passes.run("Counting", COUNT_NS, survey.records):
            weight = weights.read(batch)
            frame, kept = table.kept(batch)
            read += batch.frame.height
            yield (
                table.code(frame, codings),
                weight if weight is None or kept is None else weight[kept],
            )
        if read != survey.records:
            msg = (
                f"expected {survey.records:,} records of {batches.source} whenever it is read, got "
                f"{read:,}: it changes while it is read"
            )
            raise TableError(msg)

    counts = PairCounts.from_batches(domain, coded(), records=table.records)
    return _finished(passes, counts, notes, more, table.records)


def _finished(
    passes: _Passes, counts: PairCounts, notes: list[str], more: Sequence[str], records: int
) -> CountedTable:
    is_weighted = passes.plan.weights is not None
    if is_weighted:
        notes.append(weighted(passes.plan, any_positive=counts.total > 0))
    return CountedTable(counts, passes.batches.source, (*notes, *more), records, is_weighted)


class _Weights:
    """Reads the weights of batch after batch, whose sum must fit."""

    def __init__(self, passes: _Passes) -> None:
        self._typed = passes.batches.typed
        self._total = 0

    def read(self, batch: _Batch) -> IntArray | None:
        if batch.weights is None:
            return None
        found = weights_of(batch.weights, typed=self._typed, before=batch.before)
        self._total += int(found.sum())
        check_sum(batch.weights.name, self._total)
        return found


def _count_once(passes: _Passes, known: Sequence[str]) -> CountedTable:
    """Count what can be read only once: survey and count in the same pass."""
    plan, batches = passes.plan, passes.batches
    check_one_pass(plan, batches.source)
    counts, columns, records = _one_pass(passes)
    if not records:
        msg = f"expected records in {batches.source}, got none"
        raise TableError(msg)
    notes = list(batches.notes)
    columns_with_gaps(columns, plan, notes)
    _, more = settle(columns, plan, known, [])
    return _finished(passes, counts, notes, more, records)


def check_one_pass(plan: Plan, source: str) -> None:
    """Refuse options that need a table to be read more than once.

    Parameters
    ----------
    plan : Plan
    source : str
        What the table is called.

    Raises
    ------
    TableError
        If there is no declared domain, records are to be dropped, or categories to be pooled.
    CapacityError
        If a column has more categories than `max_categories`, or the pairwise tables would not fit:
        as the categories are declared, that is known before anything is read.
    """
    if plan.file is None or plan.missing == "drop" or plan.min_count:
        got = (
            "none"
            if plan.file is None
            else "missing='drop'"
            if plan.missing == "drop"
            else f"min_count={plan.min_count}"
        )
        msg = (
            f"expected a declared domain for a {source}, which is read only once, and "
            f"that no record is dropped and no category pooled, got {got}"
        )
        raise TableError(msg)
    attributes = [item for item in plan.file.domain if item.name != plan.weights]
    check_sizes(attributes, plan)
    if attributes:
        check_capacity(Domain(tuple(attributes)))


def count_pass(batches: Batches, plan: Plan) -> tuple[PairCounts, list[Tallied], int]:
    """Count every pair of columns in one pass, over a declared domain.

    Parameters
    ----------
    batches : Batches
    plan : Plan
        As `check_one_pass` wants it.

    Returns
    -------
    counts : PairCounts
        Only of the first batches when a value is not in the domain, which `settle` reports.
    columns : list of Tallied
    records : int
        0 when there are none.
    """
    return _one_pass(_Passes(batches, plan, None, None))


def _one_pass(passes: _Passes) -> tuple[PairCounts, list[Tallied], int]:
    plan = passes.plan
    if plan.file is None:  # pragma: no cover - the caller has checked
        msg = "expected a declared domain, got none"
        raise TableError(msg)
    domain, survey, weights = plan.file.domain, _Survey(passes), _Weights(passes)
    order = list(survey.readings)

    def coded() -> Iterator[tuple[IntArray, IntArray | None]]:
        fits = True
        for batch in passes.run("Counting", SURVEY_NS + COUNT_NS, None):
            weight = weights.read(batch)
            survey.add(batch)
            columns = read_columns(batch.frame, survey.readings)
            try:
                codings = [code_declared(x, domain[x.name]) for x in columns]
            except DomainError:  # reported at the end, with all such values
                fits = False
            if fits:
                pairs = zip(codings, columns, strict=True)
                yield np.stack([coding.codes(x) for coding, x in pairs], axis=1), weight

    counts = PairCounts.from_batches(domain.project(order), coded())
    columns = _Columns(passes, survey).columns() if survey.records else []
    return counts, columns, survey.records
