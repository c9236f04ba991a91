"""Sentences on what the columns of a table look like, and which option may be wanted."""

from __future__ import annotations

import math
import shlex
import string
from collections.abc import Iterable, Sequence
from itertools import islice

from seepage.domain import Label
from seepage.tables.columns import Column, suspects
from seepage.tables.encode import Coding

MARKS = ".,;:!?'\"`´_"
"""Punctuation that rarely tells labels apart; A+ and A−, or <50 and >50, are different things."""

MANY = 50
"""A column with at most so many categories is not taken for an identifier."""

SHOWN = 8
"""Names in a sentence."""

READ_FROM_TABLE = "read from the table itself"
"""What the notes of a table say when its categories were not declared."""


def listed(names: Sequence[str]) -> str:
    """Names in quotes, the first few of many."""
    shown = ", ".join(map(repr, islice(names, SHOWN)))
    more = len(names) - SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def read_from_table(columns: int) -> str:
    """Say that the categories were not declared."""
    what = "column was" if columns == 1 else "columns were"
    return (
        f"The categories of {columns} {what} {READ_FROM_TABLE}: fit for an analysis, not for a "
        "release."
    )


def left_out(known: Iterable[str], declared: Iterable[str], chosen: Iterable[str]) -> list[str]:
    """Tell which columns of the table a declared domain does not have.

    Parameters
    ----------
    known : iterable of str
        Columns of the table.
    declared : iterable of str
        Columns of the domain.
    chosen : iterable of str
        Columns left out or used otherwise on purpose.
    """
    names = [name for name in known if name not in {*declared, *chosen}]
    if not names:
        return []
    what = (
        "1 column of the table is not in the domain and was"
        if len(names) == 1
        else f"{len(names):,} columns of the table are not in the domain and were"
    )
    return [f"{what} left out: {listed(names)}."]


def never_met(columns: Sequence[Column], tokens: Iterable[Label]) -> list[str]:
    """Tell which of the given tokens for missing values no column holds."""
    met = frozenset[Label]().union(*(column.nulls for column in columns))
    met |= {""}  # always means missing; NaN too, and it equals nothing
    given = [x for x in dict.fromkeys(tokens) if not (isinstance(x, float) and math.isnan(x))]
    absent = [repr(x) for x in given if x not in met]
    if not absent:
        return []
    what = "The token" if len(absent) == 1 else "The tokens"
    verb = "occurs" if len(absent) == 1 else "occur"
    return [f"{what} {', '.join(absent)} (null_values, --null) {verb} nowhere."]


def bin_notes(
    columns: Sequence[Column], codings: Sequence[Coding], asked: Iterable[str]
) -> list[str]:
    """Tell which numbers were binned, and how to undo it where the numbers are codes.

    Parameters
    ----------
    columns, codings : sequences of the same length
    asked : iterable of str
        Columns whose bins were given.
    """
    binned: dict[str, list[str]] = {}
    for coding in codings:
        if coding.binned:
            binned.setdefault(coding.binned, []).append(repr(coding.attribute.name))
    notes = [f"Binned into {how}: {', '.join(names)}." for how, names in binned.items()]
    whole = [
        column.name
        for column, coding in zip(columns, codings, strict=True)
        if coding.binned and column.kind == "int" and column.name not in asked
    ]
    if whole:
        option = shlex.quote(f"{whole[0]}=none")
        notes.append(
            f"Whole numbers are among them: {listed(whole)}. Where they are codes, not amounts, "
            f"make each a category: bins={{{whole[0]!r}: 'none'}} (--bins {option})."
        )
    return notes


def hints(columns: Sequence[Column], codings: Sequence[Coding]) -> list[str]:
    """Tell what a reader of the table may want to change: labels, missing values, identifiers."""
    notes = []
    words: dict[str, list[str]] = {}
    for column, coding in zip(columns, codings, strict=True):
        notes += _near_labels(column) + _identifier(column, coding)
        for text, count in suspects(column).items():
            words.setdefault(text, []).append(f"{column.name!r} ({count:,})")
    return notes + [
        f"The text {text!r} often means missing; it was kept as a category (see null_values, "
        f"--null) in {', '.join(places)}."
        for text, places in words.items()
    ]


def _identifier(column: Column, coding: Coding) -> list[str]:
    size, records = coding.attribute.size, column.size
    if coding.binned or size <= MANY or size <= 0.5 * records:
        return []
    return [
        f"Column {column.name!r} has {size:,} categories in {records:,} records. If it identifies "
        "records, leave it out (exclude, --exclude): what it leaks says nothing about others."
    ]


def _near_labels(column: Column) -> list[str]:
    """Labels that differ only by marks around them, white space, or letter case."""
    if column.kind != "text":
        return []
    groups: dict[str, list[str]] = {}
    for label in column.values.tolist():
        core = label.strip(string.whitespace + MARKS).casefold()
        if core:
            groups.setdefault(core, []).append(label)
    alike = [labels for labels in groups.values() if len(labels) > 1]
    if not alike:
        return []
    first, second = alike[0][:2]
    more = {1: "", 2: ", and 1 more group"}.get(len(alike), f", and {len(alike) - 1:,} more groups")
    return [
        f"Labels of column {column.name!r} differ only by punctuation around them, white space or "
        f"letter case: {first!r} and {second!r}{more}. If they mean the same, {_remedy(alike)}."
    ]


def _remedy(groups: Sequence[Sequence[str]]) -> str:
    if all(len(set(map(str.casefold, labels))) == 1 for labels in groups):
        return "write their letters alike"
    ends = {end for labels in groups for label in labels for end in _cut_off(label)}
    marks = "".join(mark for mark in MARKS if mark in ends) or " "
    joined = ({x.strip(string.whitespace + marks) for x in labels} for labels in groups)
    rest = ", and write their letters alike" if max(map(len, joined)) > 1 else ""
    return f"use strip={marks!r} (--strip {shlex.quote(marks)}){rest}"


def _cut_off(label: str) -> str:
    """White space and marks at both ends."""
    chars = string.whitespace + MARKS
    return label[: len(label) - len(label.lstrip(chars))] + label[len(label.rstrip(chars)) :]
