"""Distinct values to categories: read from the table, or looked up in a declared domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray
from seepage.domain import MISSING_LABEL, OTHER_LABEL, Attribute, Label, label_key
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.tables.binning import assign, interval_labels, quantile_edges, width_edges
from seepage.tables.columns import Column

Binning = Literal["width", "quantile"]
Bins = Sequence[float] | int | Literal["none"]


@dataclass(frozen=True, eq=False)
class Coding:
    """Categories of a column, and the category of each of its distinct values.

    Parameters
    ----------
    attribute : Attribute
    positions : array of int, shape (number of distinct values,)
    binned : str
        How a number was binned; empty for other columns.
    notes : tuple of str
    """

    attribute: Attribute
    positions: IntArray
    binned: str = ""
    notes: tuple[str, ...] = ()

    def codes(self, column: Column) -> IntArray:
        """Category of each record; every missing value must have one."""
        missing = self.attribute.missing
        gap = -1 if missing is None else self.attribute.index(missing)
        return np.append(self.positions, gap)[column.codes]


def code_from_table(column: Column, *, bins: Bins | None, n_bins: int, binning: Binning) -> Coding:
    """Read the categories of a column from its values.

    Raises
    ------
    DomainError
        If a number lies outside given edges, or is infinite.
    InvalidInputError
        If bins are given for a column that is not numeric.
    """
    if column.kind in {"text", "bool"}:
        if bins is not None and bins != "none" and len(column.values):
            msg = (
                f"expected a numeric column to bin, got {column.name!r} with {column.kind} values"
                f"{_first_word(column)}"
            )
            raise InvalidInputError(msg)
        return _categories(column)
    few = column.kind == "int" and len(column.values) <= max(2 * n_bins, 20)
    if bins == "none" or (bins is None and few) or (len(column.values) < 2 and _counted(bins)):
        return _categories(column)
    numbers = column.values.astype(np.float64)
    if _counted(bins) and column.kind == "int" and len(np.unique(numbers)) < len(numbers):
        note = (
            f"Column {column.name!r} holds whole numbers too large to tell apart as floating-point "
            "numbers: it was not binned, each is a category."
        )
        plain = _categories(column)
        return replace(plain, notes=(*plain.notes, note))
    if bins is None or isinstance(bins, int):
        infinite = ~np.isfinite(numbers)
        if infinite.any():
            msg = (
                f"expected finite numbers in column {column.name!r}, got {numbers[infinite][0]} "
                f"in {_records(int(column.counts[infinite].sum()))}. Give edges that end in inf "
                "(bins, --bins), or declare the value as missing (null_values, --null)."
            )
            raise DomainError(msg)
        wanted = n_bins if bins is None else bins
        if binning == "width":
            edges, how = width_edges(numbers, wanted), "of equal width"
        else:
            edges, how = quantile_edges(numbers, column.counts, wanted), "between quantiles"
        binned = f"{len(edges) - 1} intervals {how}"
    else:
        edges = np.asarray(checked_edges(column.name, bins))
        binned = f"{len(edges) - 1} given intervals"
    attribute = Attribute(column.name, interval_labels(edges.tolist()), edges=tuple(edges.tolist()))
    return Coding(_with_missing(attribute, column), lookup(column, attribute), binned)


def _counted(bins: Bins | None) -> bool:
    return bins is None or isinstance(bins, int)


def _first_word(column: Column) -> str:
    """Name the text that keeps an almost numeric column from being one."""
    return f", for instance {column.values[-1]!r}"


def checked_edges(name: str, bins: object) -> list[float]:
    """Return given edges as numbers.

    Raises
    ------
    InvalidInputError
        If they are not at least two numbers, each above the one before.
    """
    message = f"expected increasing edges, a number of bins or 'none' for {name!r}, got {bins!r}"
    if isinstance(bins, str) or not isinstance(bins, (Sequence, np.ndarray)):
        raise InvalidInputError(message)
    try:
        edges = [float(edge) for edge in bins]
    except (TypeError, ValueError):
        raise InvalidInputError(message) from None
    if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
        raise InvalidInputError(message)
    return edges


def _categories(column: Column) -> Coding:
    labels: tuple[Label, ...] = tuple(column.values.tolist())
    infinite = [x for x in labels if isinstance(x, float) and not np.isfinite(x)]
    if infinite:
        msg = f"expected finite numbers in column {column.name!r}, got {infinite[0]}"
        raise DomainError(msg)
    positions = np.arange(len(labels))
    if not labels:
        note = f"Column {column.name!r} has no value at all: its one category is missing."
        empty = Attribute(column.name, (MISSING_LABEL,), missing=MISSING_LABEL)
        return Coding(empty, positions, notes=(note,))
    # A table written with these very labels is read back as what it was.
    other = OTHER_LABEL if OTHER_LABEL in labels else None
    missing = MISSING_LABEL if MISSING_LABEL in labels else None
    attribute = Attribute(column.name, labels, other=other, missing=missing)
    notes: tuple[str, ...] = ()
    if missing is not None and column.missing:
        notes = (_merged(column, missing, "missing values"),)
    return Coding(_with_missing(attribute, column), positions, notes=notes)


def _merged(column: Column, label: str, what: str) -> str:
    records = int(column.counts[column.values.tolist().index(label)])
    return (
        f"Column {column.name!r} holds the text {label!r} in {_records(records)}: it shares one "
        f"category with {what}."
    )


def _with_missing(attribute: Attribute, column: Column) -> Attribute:
    if not column.missing or attribute.missing is not None:
        return attribute
    return replace(
        attribute, categories=(*attribute.categories, MISSING_LABEL), missing=MISSING_LABEL
    )


def code_declared(column: Column, attribute: Attribute) -> Coding:
    """Look the values of a column up in its declared attribute.

    Numbers compare by value whether they are stored as integers or floats; texts, truth values and
    numbers never equal each other.

    Raises
    ------
    DomainError
        If a value is not in the domain and there is no category for other values, a value is
        missing and there is no category for missing ones, or a table cannot tell categories apart.
    """
    if column.missing and attribute.missing is None:
        msg = (
            f"expected no missing value in column {column.name!r}, got {column.missing:,}. Declare "
            "a category for them (missing: label), or leave these records out: by missing='drop' "
            "(--missing drop) where that is an option, else beforehand."
        )
        raise DomainError(msg)
    _check_distinct(attribute)
    return Coding(attribute, lookup(column, attribute))


def _check_distinct(attribute: Attribute) -> None:
    """Refuse categories that a table does not tell apart, though single records do.

    Numbers compare by value, and a text file has no types.
    """
    forms: dict[object, Label] = {}
    for label in attribute.categories:
        number = isinstance(label, (int, float)) and not isinstance(label, bool)
        text = str(label).lower() if isinstance(label, bool) else str(label)
        for form in (text, label) if number else (text,):
            if form in forms:
                msg = (
                    f"expected categories of column {attribute.name!r} that differ in a table, got "
                    f"{forms[form]!r} and {label!r}: declare one of them"
                )
                raise DomainError(msg)
        forms |= dict.fromkeys((text, label) if number else (text,), label)


def lookup(column: Column, attribute: Attribute) -> IntArray:
    """Position among the categories of each distinct value of a column.

    Raises
    ------
    DomainError
        If a value has no category, and there is none for other values.
    """
    if attribute.edges is not None and column.kind in {"int", "float"}:
        numbers = column.values.astype(np.float64)
        places = np.array([attribute.index(label) for label in attribute.intervals] + [-1])
        positions = places[assign(numbers, attribute.edges)]
    else:
        positions = _by_label(column, attribute)
    outside = positions < 0
    if not outside.any():
        return positions
    if attribute.other is None:
        raise _unlisted(column, attribute, outside)
    return np.where(outside, attribute.index(attribute.other), positions)


def _by_label(column: Column, attribute: Attribute) -> IntArray:
    places: dict[tuple[str, Label], int] = {}
    for position, label in enumerate(attribute.categories):
        places[label_key(label)] = position
    if column.kind in {"int", "float"}:
        for position, label in enumerate(attribute.categories):
            if isinstance(label, (int, float)) and not isinstance(label, bool):
                places.setdefault(("int", label), position)
                places.setdefault(("float", label), position)
    kind = {"text": "str"}.get(column.kind, column.kind)
    found = [places.get((kind, value), -1) for value in column.values.tolist()]
    return np.array(found, dtype=np.int64)


def _unlisted(column: Column, attribute: Attribute, outside: BoolArray) -> DomainError:
    values = column.values[outside].tolist()
    counts = column.counts[outside]
    first = int(counts.argmax())
    value, count = values[first], int(counts[first])
    others = len(values) - 1
    more = f", and {others:,} other value{'s in all' if others > 1 else ''}" if others else ""
    if attribute.edges is not None and column.kind in {"int", "float"}:
        low, high = attribute.edges[0], attribute.edges[-1]
        expected = f"numbers from {low:g} to {high:g}"
        hint = ""
    else:
        expected = "a category of the domain"
        hint = _type_hint(value, attribute) or did_you_mean(value, attribute.categories)
    msg = (
        f"expected {expected} in column {column.name!r}, got {value!r} in {_records(count)}{more}."
        f"{hint}"
    )
    return DomainError(msg)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _type_hint(value: Label, attribute: Attribute) -> str:
    for label in attribute.categories:
        if str(label) == str(value) and type(label) is not type(value):
            return (
                f" The domain declares {label!r} ({_word(label)}), the column holds {value!r} "
                f"({_word(value)}): declare {_word(value)} categories or convert the column."
            )
    if attribute.edges is not None and isinstance(value, str):
        return " The domain declares intervals of numbers, the column holds text."
    return ""


def _word(value: Label) -> str:
    if isinstance(value, bool):
        return "truth value"
    return "text" if isinstance(value, str) else "number"


def pool(coding: Coding, column: Column, min_count: int) -> Coding:
    """Join categories that fewer than `min_count` records have.

    Labels are pooled into the category for other values. An interval is joined with its
    neighbour instead, so that the column stays a binned number. The category of missing values is
    left alone.
    """
    attribute = coding.attribute
    counts = np.bincount(coding.positions, column.counts, attribute.size).astype(np.float64)
    special = {label_key(x) for x in (attribute.missing, attribute.other) if x is not None}
    ordinary = np.array([label_key(label) not in special for label in attribute.categories])
    rare = ordinary & (counts < min_count)
    if not rare.any():
        return coding
    if attribute.edges is not None:
        return _join_intervals(coding, counts, ordinary, min_count)
    kept = [label for label, gone in zip(attribute.categories, rare, strict=True) if not gone]
    other = attribute.other
    if other is None:
        other = OTHER_LABEL
        last = (
            [kept.pop()]
            if attribute.missing is not None and kept[-1:] == [attribute.missing]
            else []
        )
        kept = [*kept, other, *last]
    pooled = replace(attribute, categories=tuple(kept), other=other)
    places = [
        pooled.index(other if gone else label)
        for label, gone in zip(attribute.categories, rare, strict=True)
    ]
    number, records = int(rare.sum()), int(counts[rare].sum())
    what, verb = ("1 category", "was") if number == 1 else (f"{number:,} categories", "were")
    together = _records(records) + (" together" if number > 1 else "")
    note = (
        f"Column {column.name!r}: {what} with fewer than {min_count:,} records ({together}) {verb} "
        f"pooled into {other!r}."
    )
    notes = (*coding.notes, note)
    if column.kind == "text" and other in column.values.tolist():
        notes = (*notes, _merged(column, str(other), "what was pooled"))
    return replace(
        coding,
        attribute=pooled,
        positions=np.array(places)[coding.positions],
        notes=notes,
    )


def _join_intervals(
    coding: Coding, counts: FloatArray, ordinary: BoolArray, min_count: int
) -> Coding:
    attribute = coding.attribute
    if attribute.edges is None:  # pragma: no cover - the caller has checked
        msg = "expected a binned attribute"
        raise TableError(msg)
    inside = counts[ordinary]
    groups: list[int] = []  # first interval of each group
    running = float(min_count)
    for i, count in enumerate(inside):
        if running >= min_count:
            groups.append(i)
            running = 0.0
        running += count
    if running < min_count and len(groups) > 1:
        groups.pop()
    edges = (*(attribute.edges[i] for i in groups), attribute.edges[-1])
    labels = interval_labels(edges)
    extra = tuple(
        label for label, plain in zip(attribute.categories, ordinary, strict=True) if not plain
    )
    joined = replace(attribute, categories=(*labels, *extra), edges=edges)
    group_of = np.searchsorted(groups, np.arange(len(inside)), side="right") - 1
    places = np.empty(attribute.size, dtype=np.int64)
    places[ordinary] = group_of
    places[~ordinary] = len(labels) + np.arange(len(extra))
    note = (
        f"Column {attribute.name!r}: intervals with fewer than {min_count:,} records were joined "
        f"with a neighbour; {len(labels)} of {len(inside)} remain."
    )
    return replace(
        coding,
        attribute=joined,
        positions=places[coding.positions],
        notes=(*coding.notes, note),
    )
