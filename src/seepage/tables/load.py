"""The way from any table to coded records: read, choose, drop, code, pool, weigh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from seepage._numeric import IntArray, freeze
from seepage.counts import PairCounts
from seepage.domain import Attribute, Domain, Label
from seepage.errors import CapacityError, DomainError, TableError
from seepage.tables.columns import Column, Reading, read_columns
from seepage.tables.delimited import TextFormat
from seepage.tables.encode import Binning, Bins, Coding, code_declared, code_from_table, pool
from seepage.tables.mixed import check_mixed, place_in
from seepage.tables.notes import (
    bin_notes,
    hints,
    left_out,
    listed,
    never_met,
    read_from_table,
)
from seepage.tables.options import (
    Missing,
    Plan,
    check_choices,
    checked_bins,
    declared,
    integer,
    name_of,
    names_of,
)
from seepage.tables.sources import RawTable, read_source
from seepage.tables.weights import read_weights

_FAULTS = 5
"""Columns that do not fit a declared domain and are reported one by one."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Records as positions of categories.

    Parameters
    ----------
    domain : Domain
    codes : array of int, shape (n, d)
        Position of the category of each record in each attribute.
    weights : array of int, shape (n,), optional
        How often each record counts.
    source : str
        File name or kind of frame.
    notes : tuple of str
        Sentences on what was read from the table, binned, pooled, dropped, or treated as missing:
        the assumptions of what is computed from it.
    """

    domain: Domain
    codes: IntArray
    weights: IntArray | None
    source: str
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.codes)

    def counts(self) -> PairCounts:
        """Count every pair of attributes.

        Raises
        ------
        CapacityError
            If the pairwise tables would not fit.
        """
        return PairCounts.from_codes(self.domain, self.codes, self.weights)


def load(
    source: object,
    *,
    domain: Domain | str | Path | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bins: Mapping[str, Bins] | None = None,
    n_bins: int = 10,
    binning: Binning = "width",
    missing: Missing = "category",
    null_values: Sequence[Label] = ("",),
    min_count: int = 0,
    weights: str | None = None,
    max_categories: int = 10_000,
    header: bool = True,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    quote: str | None = '"',
    comment: str | None = None,
    encoding: str = "utf-8",
    strip: bool | str | None = None,
) -> CodedTable:
    """Read a table and code its records.

    Parameters
    ----------
    source : path, list of paths, frame, or mapping of columns
        Files: ``.csv``, ``.tsv``, ``.txt``, ``.data``, ``.test``, ``.parquet``, ``.arrow``,
        ``.feather``, ``.ipc``; several files with the same columns are read one after another.
        Frames: Polars (eager or lazy), pandas, PyArrow, DuckDB, and others that Narwhals knows.
    domain : Domain or path, optional
        Declared domain, or a domain file. Without it the categories are read from the table, which
        suits an analysis but not a release. Columns outside the domain are left out.
    columns, exclude : sequence of str, optional
        Columns to use, in this order, and columns to leave out.
    bins : mapping of str to edges, int or "none", optional
        For a numeric column: the edges of its intervals, their number, or ``"none"`` to make each
        number a category.
    n_bins : int, default 10
        Intervals of the other numeric columns. A column of integers with at most
        ``max(2 n_bins, 20)`` different values is not binned. Floats that are all whole numbers
        count as integers.
    binning : {"width", "quantile"}
        Intervals of equal width, or with about equally many records.
    missing : {"category", "error", "drop"}
        What to do about null, NaN and empty values: give them a category, refuse, or drop the
        records that have one.
    null_values : sequence of labels
        Values that mean missing, besides the empty text.
    min_count : int, default 0
        Categories that fewer records have are pooled into "(other)"; such intervals of a number
        are joined with a neighbour. Missing values keep their category.
    weights : str, optional
        Column of integer weights, zero or more; it is not an attribute.
    max_categories : int, default 10,000
        Most categories of a column.
    header, names, separator, quote, comment, encoding
        How a text file is written; see `seepage.tables.delimited.TextFormat`. `names` replaces the
        names in the file.
    strip : bool or str, optional
        Whether to remove white space around texts; a text names further characters to remove. By
        default white space is removed in text files only.

    Returns
    -------
    CodedTable

    Raises
    ------
    TableError
        If the table cannot be read or used.
    DomainError
        If a value does not fit the domain or the edges.
    CapacityError
        If a column has more than `max_categories` categories.
    InvalidInputError
        If an option has a value outside its range.

    Examples
    --------
    >>> table = load({"sex": ["f", "m", "m"], "smoker": [True, False, None]})
    >>> table.domain["smoker"].categories
    (False, True, '(missing)')
    >>> table.codes.tolist()
    [[0, 1], [1, 0], [1, 2]]
    """
    plan, form = reading_plan(
        domain=domain,
        columns=columns,
        exclude=exclude,
        bins=bins,
        n_bins=n_bins,
        binning=binning,
        missing=missing,
        null_values=null_values,
        min_count=min_count,
        weights=weights,
        max_categories=max_categories,
        header=header,
        names=names,
        separator=separator,
        quote=quote,
        comment=comment,
        encoding=encoding,
        strip=strip,
    )
    return load_planned(source, plan, form)


def load_planned(
    source: object,
    plan: Plan,
    form: TextFormat,
    check: Callable[[Sequence[str]], None] | None = None,
) -> CodedTable:
    """Read a table as `load` does, by options that `reading_plan` checked.

    Parameters
    ----------
    source
        See `load`.
    plan : Plan
    form : TextFormat
    check : callable, optional
        Called with the names of all columns of each file before one is chosen; it may raise.
    """
    known: dict[str, None] = {}

    def choose(names: Sequence[str]) -> list[str]:
        if check is not None:
            check(names)
        known.update(dict.fromkeys(names))
        return plan.choose(names)

    raw = read_source(source, form, choose)
    if raw.frame.height == 0:
        msg = f"expected records in {raw.source}, got none"
        raise TableError(msg)
    return _coded(raw, plan, form, tuple(known))


def reading_plan(
    *,
    domain: Domain | str | Path | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bins: Mapping[str, Bins] | None = None,
    n_bins: int = 10,
    binning: Binning = "width",
    missing: Missing = "category",
    null_values: Sequence[Label] = ("",),
    min_count: int = 0,
    weights: str | None = None,
    max_categories: int = 10_000,
    header: bool = True,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    quote: str | None = '"',
    comment: str | None = None,
    encoding: str = "utf-8",
    strip: bool | str | None = None,
) -> tuple[Plan, TextFormat]:
    """Check the options of `load`; see there.

    Raises
    ------
    SeepageError
        If an option has a value outside its range, or the domain cannot be read.
    """
    check_choices(binning, missing, strip)
    plan = Plan(
        file=declared(domain, n_bins, names_of("columns", columns), names_of("exclude", exclude)),
        columns=names_of("columns", columns),
        exclude=names_of("exclude", exclude) or (),
        weights=name_of("weights", weights),
        bins=checked_bins(bins, with_domain=domain is not None),
        n_bins=integer("n_bins", n_bins, 1),
        binning=binning,
        missing=missing,
        nulls=(null_values,) if isinstance(null_values, (str, int)) else tuple(null_values),
        min_count=integer("min_count", min_count, 0),
        max_categories=integer("max_categories", max_categories, 1),
        strip=strip,
    )
    form = TextFormat(
        header=header,
        names=None if names is None else tuple(names),
        separator=separator,
        quote=quote,
        comment=comment,
        encoding=encoding,
    )
    return plan, form


def _coded(raw: RawTable, plan: Plan, form: TextFormat, known: Sequence[str]) -> CodedTable:
    notes = list(raw.notes)
    weights = None if plan.weights is None else read_weights(raw, plan.weights)
    names = [name for name in raw.frame.columns if name != plan.weights]
    columns = read_columns(raw.frame, {name: reading_of(name, raw.typed, plan) for name in names})
    mixed = mixtures(columns, plan, raw.typed, partial(place_in, raw, form))
    kept = np.ones(raw.frame.height, dtype=np.bool_)
    gaps = columns_with_gaps(columns, plan, notes)
    if gaps:
        for column in gaps:
            kept &= column.codes >= 0
        notes.append(dropped(gaps, len(kept), int(kept.sum()), raw.source))
        columns = [column.take(kept) for column in columns]
    if weights is not None:
        weights = weights[kept]
        notes.append(weighted(plan, any_positive=bool(weights.any())))
    codings, more = settle(columns, plan, known, mixed)
    codes = np.empty((len(columns[0].codes), len(columns)), dtype=np.int64, order="F")
    for i, (coding, column) in enumerate(zip(codings, columns, strict=True)):
        codes[:, i] = coding.codes(column)
    return CodedTable(
        Domain(tuple(coding.attribute for coding in codings)),
        freeze(codes),
        None if weights is None else freeze(weights),
        raw.source,
        (*notes, *more),
    )


def mixtures(
    columns: Sequence[Column], plan: Plan, typed: bool, place: Callable[[int], str]
) -> list[str]:
    """Notes on columns of a text file in which numbers and texts meet; see `check_mixed`."""
    if plan.file is not None or typed:
        return []
    asked = [name for name, bins in plan.bins.items() if isinstance(bins, str)]
    return check_mixed(columns, asked, place)


def weighted(plan: Plan, *, any_positive: bool) -> str:
    """Say that records are weighted.

    Raises
    ------
    TableError
        If no weight is positive.
    """
    if not any_positive:
        msg = f"expected a positive weight in column {plan.weights!r}, got zeros only"
        raise TableError(msg)
    return f"Records count as often as column {plan.weights!r} says."


def settle(
    columns: Sequence[Column], plan: Plan, known: Sequence[str], mixed: Sequence[str]
) -> tuple[list[Coding], list[str]]:
    """Categories of every column, and the notes on them.

    Parameters
    ----------
    columns : sequence of Column
        After records were dropped. Only their distinct values and counts are looked at.
    plan : Plan
    known : sequence of str
        All columns of the table.
    mixed : sequence of str
        What `mixtures` said.

    Raises
    ------
    DomainError
        If a value does not fit the domain or the edges.
    CapacityError
        If a column has too many categories.
    """
    notes: list[str] = []
    codings = _codings(columns, plan)
    check_sizes([coding.attribute for coding in codings], plan)
    if plan.file is None:
        notes.append(read_from_table(len(codings)))
    else:
        notes += plan.file.notes
        if plan.columns is None:
            weight = () if plan.weights is None else (plan.weights,)
            notes += left_out(known, plan.file.names, (*plan.exclude, *weight))
    notes += bin_notes(columns, codings, plan.bins)
    for coding in codings:
        notes += coding.notes
    notes += never_met(columns, plan.nulls)
    if plan.file is None:
        notes += [*mixed, *hints(columns, codings)]
    return codings, notes


def _codings(columns: Sequence[Column], plan: Plan) -> list[Coding]:
    """Code every column; the columns that do not fit a declared domain are reported together."""
    codings: list[Coding] = []
    faults: dict[str, str] = {}
    for column in columns:
        try:
            codings.append(pool(_coding(column, plan), column, plan.min_count))
        except DomainError as error:
            if plan.file is None:
                raise
            faults[column.name] = str(error)
    if len(faults) == 1:
        raise DomainError(*faults.values())
    if faults:
        each = [f"({i}) {text}" for i, text in enumerate(faults.values(), start=1)][:_FAULTS]
        msg = f"expected columns that fit the domain, got {len(faults):,} that do not: "
        msg += f"{listed(list(faults))}. {' '.join(each)}"
        raise DomainError(msg)
    return codings


def _coding(column: Column, plan: Plan) -> Coding:
    if plan.file is not None:
        return code_declared(column, plan.file.domain[column.name])
    return code_from_table(
        column, bins=plan.bins.get(column.name), n_bins=plan.n_bins, binning=plan.binning
    )


def reading_of(name: str, typed: bool, plan: Plan) -> Reading:
    """How the values of a column are to be understood, by the options and the domain."""
    strip = plan.strip if plan.strip is not None else not typed
    reading = Reading(
        typed=typed,
        strip=strip if isinstance(strip, str) else ("" if strip else None),
        nulls=plan.nulls,
    )
    if plan.file is None:
        return reading
    attribute: Attribute = plan.file.domain[name]
    nulls = (*plan.nulls, *plan.file.null_values.get(name, ()))
    texts = frozenset(label for label in attribute.categories if isinstance(label, str))
    ordinary = attribute.intervals
    # A text file has no types: where every declared category is text, its fields are text.
    as_text = attribute.edges is None and all(isinstance(label, str) for label in ordinary)
    return replace(reading, nulls=nulls, keep=texts, as_text=as_text)


def columns_with_gaps(columns: Sequence[Column], plan: Plan, notes: list[str]) -> list[Column]:
    """Columns for whose missing values records are to be dropped; adds a note when none are.

    Raises
    ------
    TableError
        If missing values are to be refused, and there is one.
    """
    gaps = [column for column in columns if column.missing]
    if not gaps:
        return []
    if plan.missing == "error":
        msg = (
            f"expected no missing value in column {gaps[0].name!r}, got {gaps[0].missing:,} "
            f"(columns with missing values: {_found(gaps)})"
        )
        raise TableError(msg)
    if plan.missing == "category":
        notes.append(f"Missing values were given a category of their own in {_found(gaps)}.")
        return []
    return gaps


def _found(gaps: Sequence[Column]) -> str:
    return ", ".join(f"{column.name!r} ({column.missing:,})" for column in gaps)


def dropped(gaps: Sequence[Column], records: int, kept: int, source: str) -> str:
    """Say how many records were dropped for missing values.

    Raises
    ------
    TableError
        If none is left.
    """
    if not kept:
        msg = (
            f"expected records in {source}, got none after dropping those with missing values: "
            f"{_found(gaps)}"
        )
        raise TableError(msg)
    gone = records - kept
    verb = "was" if gone == 1 else "were"
    return f"{gone:,} of {records:,} records {verb} dropped for missing values in {_found(gaps)}."


def check_sizes(attributes: Sequence[Attribute], plan: Plan) -> None:
    """Refuse columns of very many categories.

    Raises
    ------
    CapacityError
        With a forecast of the work, and what to do.
    """
    limit, sizes = plan.max_categories, [attribute.size for attribute in attributes]
    for attribute, size in zip(attributes, sizes, strict=True):
        if size <= limit:
            continue
        name = attribute.name
        advice = (
            "bin it (bins, --bins), pool rare categories (min_count, --min-count), or raise the "
            "limit (Python: max_categories)."
            if plan.file is None
            else "declare fewer categories (intervals, or one for all others), or raise the limit "
            "(Python: max_categories)."
        )
        rest = max(sum(sizes) - size, 1)
        memory, seconds = 48.0 * size**2, 8e-9 * size**2 * rest
        msg = (
            f"expected at most {limit:,} categories in a column, got {size:,} in {name!r}. An "
            f"audit would compare {size * (size - 1):,} pairs of them, in about "
            f"{_memory(memory)} and {_duration(seconds)}. If it identifies records, leave "
            f"it out (exclude, --exclude); else {advice}"
        )
        raise CapacityError(msg)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if seconds < 2 * size:
            return f"{max(seconds, 1):,.0f} {unit}"
        seconds /= size
    return f"{seconds:,.0f} days"


def _memory(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
