"""Columns of a text file in which numbers and other texts meet.

A text file has no types, so such a column may be a list of codes (0, 1, 2-3, 4+), or measurements
with a stray text among them. Codes are read as categories, and a note says so; measurements are
refused, since as categories they would leak what no one meant to release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from seepage.errors import TableError
from seepage.tables.columns import Column, number_like, suspects
from seepage.tables.delimited import TextFormat, line_of
from seepage.tables.show import short
from seepage.tables.sources import RawTable

MANY_NUMBERS = 20
"""So many different whole numbers can be codes; more are taken for measurements."""


@dataclass(frozen=True)
class Mixture:
    """What a column of texts holds.

    Parameters
    ----------
    numbers, texts : int
        Distinct values that are numbers, and that are not.
    first : str
        The first text that is not a number.
    record : int
        Its record, from 1.
    polluted : bool
        Whether this looks like numbers with stray texts, rather than codes.
    """

    numbers: int
    texts: int
    first: str
    record: int
    polluted: bool


def mixture(column: Column) -> Mixture | None:
    """Describe a column that holds both numbers and other texts; None when it does not.

    It counts as numbers with stray texts when at least half of its distinct values are numbers,
    these have fractions or are more than 20, and no other text holds a digit: ``4+``, ``2-3``,
    ``V57`` and the postcode ``01301`` mark a column of codes.
    """
    if column.kind != "text":
        return None
    values = column.values.tolist()
    numeric = np.array([number_like(text) for text in values], dtype=np.bool_)
    words = [text for text, number in zip(values, numeric, strict=True) if not number]
    numbers = len(values) - len(words)
    if not numbers or not words:
        return None
    fractions = (not float(x).is_integer() for x, n in zip(values, numeric, strict=True) if n)
    measured = numbers > MANY_NUMBERS or any(fractions)
    codes = any(char.isdigit() for word in words for char in word)
    first = int(np.append(~numeric, False)[column.codes].argmax())
    return Mixture(
        numbers,
        len(words),
        values[column.codes[first]],
        column.record(first),
        measured and not codes and numbers >= len(words),
    )


def check_mixed(
    columns: Iterable[Column], asked: Iterable[str], place: Callable[[int], str]
) -> list[str]:
    """Refuse numbers with stray texts among them; tell of other mixtures.

    Parameters
    ----------
    columns : iterable of Column
        Before records are dropped.
    asked : iterable of str
        Columns of which each value was asked to be a category.
    place : callable
        Says in words where a record is, given its number from 1.

    Returns
    -------
    list of str
        Notes.

    Raises
    ------
    TableError
        Naming the column, the first text, and its line.
    """
    notes = []
    wanted = set(asked)
    for column in columns:
        found = mixture(column)
        if found is None:
            continue
        if found.polluted and column.name not in wanted:
            raise TableError(_message(column, found, place(found.record)))
        if not suspects(column):  # of which another note tells
            numbers = "1 number" if found.numbers == 1 else f"{found.numbers:,} numbers"
            texts = "1 text" if found.texts == 1 else f"{found.texts:,} texts"
            notes.append(
                f"Column {column.name!r}: {numbers} and {texts} ({short(found.first)}) are read as "
                "categories."
            )
    return notes


def _message(column: Column, found: Mixture, place: str) -> str:
    more = (
        f", and {found.texts - 1:,} other text{'s' * (found.texts > 2)}" if found.texts > 1 else ""
    )
    return (
        f"expected values of one type in column {column.name!r}, got {found.numbers:,} different "
        f"numbers and the text {short(found.first)} in {place}{more}. If it means missing, declare "
        "it (null_values, --null); else clean the column, declare its categories (domain, "
        f"--domain), or make each value a category: bins={{{column.name!r}: 'none'}} (--bins)."
    )


def place_in(raw: RawTable, form: TextFormat, record: int) -> str:
    """Say where a record of a table is: its line where it comes from a text file."""
    for path, height in raw.parts:
        if record <= height:
            return f"line {line_of(path, form, record):,} of {path.name}"
        record -= height
    return f"record {record:,}"
