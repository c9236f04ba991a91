"""What a randomiser does with values outside its domain.

An unknown category, a null, or 1 written as text must be refused, or treated like a category. A
value that comes out as it went in was not randomised, and the report gives it away.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seepage._numeric import check_size
from seepage.attack._observations import Codebook
from seepage.attack._parts import (
    Column,
    Parts,
    items_of,
    key,
    label,
    lengths_of,
    shown,
    split,
    unsplit,
)
from seepage.attack._source import Randomiser, RandomiserError, Source, check_inputs, identity
from seepage.errors import InvalidInputError

Outcome = Literal["refused", "accepted", "passed"]
"""refused: an error. accepted: reports like those on inputs of the domain. passed: reports that
inputs of the domain do not have, so that the value was not hidden among them."""

HOSTILE: tuple[Any, ...] = ("unknown category", None, float("nan"), "1", 1, True, -1, 10**6)
"""Values that seldom belong to a domain; leave out those that belong to yours."""

Place = tuple[Literal["value", "length"], int]
"""A component, or its length."""

Range = tuple[float, float]

WORDS = {"value": "numbers", "length": "lengths"}

ITSELF = "the value itself"

ERROR = 1e-6
"""Chance of calling one value "passed" that has the reports of the domain."""


@dataclass(frozen=True)
class Probe:
    """What became of one value outside the domain.

    Parameters
    ----------
    value : str
        The value as Python writes it.
    outcome : {"refused", "accepted", "passed"}
    detail : str
        The error, or what was reported.
    refusals : float
        Fraction of the calls that raised an error, in [0, 1].
    """

    value: str
    outcome: Outcome
    detail: str
    refusals: float

    @property
    def itself(self) -> bool:
        """Whether the value came out as it went in."""
        return self.outcome == "passed" and self.detail.startswith(ITSELF)


def probe_inputs(
    randomiser: Randomiser,
    hostile: Sequence[Any],
    *,
    inputs: Sequence[Any],
    repeats: int = 1000,
    vectorised: bool = False,
    rng: np.random.Generator | int | None = None,
) -> tuple[Probe, ...]:
    """Feed values outside the domain to a randomiser and look at what comes out.

    Parameters
    ----------
    randomiser : callable
        See `seepage.attack.auditing.audit_mechanism`.
    hostile : sequence
        Values that are not inputs; `HOSTILE` has some. 1, True, 1.0 and "1" are different values.
    inputs : sequence
        Values of the domain, all of them where possible: reports that none of these has are
        suspicious.
    repeats : int, default 1000
        Calls for each value, 20 or more.
    vectorised : bool, default False
    rng : numpy.random.Generator or int, optional

    Returns
    -------
    tuple of Probe

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the randomiser raises on an input of the domain.

    Notes
    -----
    A value is called "passed" when one component of its reports has a value that no report on an
    input has, significantly often; or when numbers, or lengths of texts and lists, lie above or
    below all of those on inputs. If its reports are distributed as those on one of the inputs, of n
    and n' such reports together all c that have the property are among its own n with probability
    ``C(n, c)/C(n + n', c)``; this is at most 1e-6 where the value is called "passed", for each
    value of a component.
    """
    source = Source.of(randomiser, vectorised, rng)
    count = check_size(repeats, "repeats")
    if count < 20:
        msg = f"expected repeats of at least 20, got {count}"
        raise InvalidInputError(msg)
    known = check_inputs(inputs, 1)
    strange = check_inputs(hostile, 0, "hostile values")
    familiar = {identity(value) for value in known}
    for value in strange:
        if identity(value) in familiar:
            msg = f"expected hostile values outside the inputs, got {label(value)}, which is one"
            raise InvalidInputError(msg)
    drawn = [source.draw(value, count) for value in known]
    samples = [split(reports, count) for reports in drawn]
    book = Codebook.of(samples, drawn)
    if book.whole:
        samples = [unsplit(items_of(reports)) for reports in drawn]
    ranges = _ranges(samples)
    return tuple(_probe(source, value, count, book, ranges) for value in strange)


def _probe(
    source: Source, value: Any, count: int, book: Codebook, ranges: Mapping[Place, Range]
) -> Probe:
    reports, errors = _reports(source, value, count)
    refusals = len(errors) / count
    if reports is None:
        ((detail, _),) = Counter(errors).most_common(1)
        return Probe(label(value), "refused", detail, 1.0)
    n = len(reports)
    parts = unsplit(items_of(reports)) if book.whole else split(reports, n)
    odd: list[tuple[int, str]] = []
    if parts.shape != book.shape:
        odd = [(n, "a report of another shape")]
    else:
        codes = book.encode(reports, n)
        for j, column in enumerate(parts.columns):
            entries = list(reports) if book.whole else column
            odd += _odd(codes[:, j] == book.columns[j].other, entries)
        for j, which in enumerate(book.lengths, start=book.contents):
            found = _odd(codes[:, j] == book.columns[j].other, lengths_of(parts, which))
            odd += [(often, f"length {text}") for often, text in found]
        for place, known in ranges.items():
            odd += _beyond(_ordered(parts, place), known, WORDS[place[0]])
    often, what = max(odd, default=(0, ""), key=lambda found: found[0])
    if often and _chance(often, n, count) <= ERROR:
        own = ITSELF if what == label(value) else f"{what}, seen on no input"
        return Probe(label(value), "passed", f"{own}, in {often / n:.0%} of reports", refusals)
    return Probe(label(value), "accepted", "reports like those on inputs", refusals)


def _chance(often: int, n: int, others: int) -> float:
    """Chance that all of so many marked reports are among n, not among the others, if alike."""
    return math.exp(
        math.lgamma(n + 1) - math.lgamma(n - often + 1)
        + math.lgamma(n + others - often + 1) - math.lgamma(n + others + 1)
    )  # fmt: skip


def _ranges(samples: Sequence[Parts]) -> dict[Place, Range]:
    """Least and largest of numbers and lengths over all inputs, where they have an order."""
    places: list[Place] = [("value", j) for j in range(len(samples[0].columns))]
    places += [("length", j) for j in sorted({j for parts in samples for j in parts.lengths})]
    found = {}
    for place in places:
        columns = [_ordered(parts, place) for parts in samples]
        known = [column for column in columns if column is not None and column.size]
        if len(known) == len(samples):
            ends = min(float(c.min()) for c in known), max(float(c.max()) for c in known)
            found[place] = ends
    return found


def _ordered(parts: Parts, place: Place) -> Column | None:
    """Numbers or lengths of a component, without NaN; None if it has no order."""
    kind, j = place
    if kind == "length":
        return lengths_of(parts, j)
    column = parts.columns[j]
    if column.dtype.kind not in "iuf":
        return None
    return column[~np.isnan(column)] if column.dtype.kind == "f" else column


def _beyond(column: Column | None, known: Range, words: str) -> list[tuple[int, str]]:
    """How many are above and below what is known."""
    if column is None:
        return []
    low, high = known
    above, below = int((column > high).sum()), int((column < low).sum())
    return [(above, f"{words} above {high:g}"), (below, f"{words} below {low:g}")]


def _odd(marked: Any, column: Column | list[Any]) -> list[tuple[int, str]]:
    """The most frequent one of the marked entries, with its number; nothing if none is marked."""
    items = [column[i] for i in np.flatnonzero(marked)]
    if not items:
        return []
    names = {key(item): item for item in items}
    (most, number), *_ = Counter(map(key, items)).most_common(1)
    found = names[most]
    # Objects are held by their keys.
    keyed = isinstance(column, np.ndarray) and column.dtype.kind == "O"
    return [(number, shown(found) if keyed else label(found))]


def _reports(source: Source, value: Any, count: int) -> tuple[Any, list[str]]:
    """Reports on a value, None if there are none, and the errors raised instead, in words."""
    if source.vectorised:
        try:
            return source.draw(value, count), []
        except RandomiserError as error:
            return None, [_words(error)]
    reports: list[Any] = []
    errors: list[str] = []
    for _ in range(count):
        try:
            reports += source.draw(value, 1)
        except RandomiserError as error:
            errors.append(_words(error))
    return reports or None, errors


def _words(error: RandomiserError) -> str:
    cause = error.__cause__
    text = str(cause)
    return f"{type(cause).__name__}: {text if len(text) <= 100 else text[:97] + '...'}"
