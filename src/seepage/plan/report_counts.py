"""Counts of randomised reports: all that an estimate needs, saved, merged and read again.

The files are those of `seepage.tables.count_archive`. The head names the plan by its fingerprint,
the tables asked for, and the parts that were added up; the numbers are those of `ReportSums` in
the order in which `Estimates.of` lists them for these tables, row after row, little-endian. Whole
numbers are unsigned integers of 1 to 8 bytes, the few others floating-point numbers of 8 bytes.

Counts of a *table* of reports (``seepage count reports.parquet``), which know nothing of the plan,
serve as well where every report is a category: see `seepage.plan.report_tables`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import freeze
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates, check_same_plan
from seepage.collect.held import choose
from seepage.collect.sums import MAX_REPORTS, ReportSums
from seepage.errors import InvalidInputError, TableError
from seepage.plan.plan_sources import as_plan
from seepage.plan.report_tables import from_table
from seepage.results import write_bytes
from seepage.tables import CountedTable, is_counts
from seepage.tables.count_archive import (
    check_kinds,
    checked_target,
    damaged,
    head_of,
    opened,
    packed,
    unpacked,
    width_for,
)
from seepage.tables.count_files import counts_from
from seepage.tables.show import short

TYPES = ("u1", "u2", "u4", "u8", "f8")

_KINDS = {
    "plan": str, "source": str, "records": int, "weighted": bool, "simulated": int, "unknown": int,
    "reported": list, "sets": list, "covariance": bool, "parts": list, "types": list, "notes": list,
}  # fmt: skip


def write_report_counts(estimates: Estimates, path: str | Path) -> None:
    """Write the counts behind estimates to a file, whole or not at all.

    Parameters
    ----------
    estimates : Estimates
        What `count_reports`, `seepage.estimate` or `seepage.engines.spark.aggregate` returned.
    path : path
        Ends in ".counts".

    Raises
    ------
    InvalidInputError
        If `estimates` is something else or rests on no reports, or the name has another ending.
    OSError
        If the file cannot be written.
    """
    write_bytes(checked_target(path), report_counts_to_bytes(estimates))


def report_counts_to_bytes(estimates: Estimates) -> bytes:
    """Return the content of a file with the counts behind estimates; see `write_report_counts`."""
    if not isinstance(estimates, Estimates):
        msg = f"expected Estimates, as count_reports returns them, got {short(estimates)}"
        raise InvalidInputError(msg)
    sums = estimates.sums
    if not sums.size:
        msg = "expected reports to be counted, got none"
        raise InvalidInputError(msg)
    tables = [*sums.tables.values(), *sums.grams.values()]
    types = [_type(table) for table in tables]
    head = {
        "plan": estimates.plan.fingerprint,
        "source": estimates.source,
        "records": sums.size,
        "weighted": False,
        "simulated": sums.simulated,
        "unknown": sums.unknown,
        "reported": list(sums.records),
        "sets": [list(names) for names in estimates.sets],
        "covariance": bool(sums.grams),
        "parts": [list(part) for part in estimates.marked_parts],
        "types": types,
        "notes": list(estimates.notes),
    }
    body = b"".join(
        table.astype(f"<{kind}").tobytes() for table, kind in zip(tables, types, strict=True)
    )
    return packed(head, body)


def _type(table: NDArray[Any]) -> str:
    """The smallest type that holds every number of a table exactly."""
    if table.dtype.kind == "f":
        whole = (table >= 0) & (table < MAX_REPORTS) & (table == np.floor(table))
        if not whole.all():
            return "f8"
    return f"u{width_for([table])}"


def read_report_counts(path: str | Path, plan: CollectionPlan | str | Path) -> Estimates:
    """Read counts of reports, for an estimate, for relationships, or to be added up.

    Parameters
    ----------
    path : path
        What `write_report_counts` or ``seepage count --plan`` wrote; or counts of a table of
        reports that are categories (see `from_table`), which give all single columns and pairs.
    plan : CollectionPlan or path of a plan file

    Returns
    -------
    Estimates
        Merges by ``+``, which refuses a file that is in both.

    Raises
    ------
    TableError
        If the file cannot be read, is damaged, was edited, has another version, or is of another
        plan.
    CapacityError
        If its tables would not fit.
    """
    return opened(path, partial(_read, plan=as_plan(plan), wanted=None))


def merge_report_counts(
    paths: str | Path | Iterable[str | Path], plan: CollectionPlan | str | Path
) -> Estimates:
    """Read several files of counts of reports and add them up.

    Parameters
    ----------
    paths : path or iterable of paths
        See `read_report_counts`; at least one.
    plan : CollectionPlan or path of a plan file

    Raises
    ------
    InvalidInputError
        If a file, or a copy of it, is given twice, or files hold different tables.
    SeepageError
        As `read_report_counts`.
    """
    listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not listed:
        msg = "expected at least one file of counts, got none"
        raise InvalidInputError(msg)
    chosen = as_plan(plan)
    return _added([partial(_part, item, chosen, None) for item in listed], listed)


def are_counts(source: object) -> bool:
    """Whether a source of reports is one or several files of counts, or counts in memory."""
    items = source if isinstance(source, (list, tuple)) and source else [source]
    kinds = [isinstance(item, (CountedTable, Estimates)) for item in items]
    return all(kinds) or (not any(kinds) and is_counts(source))


def add_counts(source: object, empty: Estimates) -> Estimates:
    """Take the tables of `empty` from counts.

    Parameters
    ----------
    source : object
        Something that `are_counts` knows.
    empty : Estimates
        From no reports yet.

    Raises
    ------
    SeepageError
        As `merge_report_counts`; InvalidInputError also if a table was not counted.
    """
    items = list(source) if isinstance(source, (list, tuple)) else [source]
    found = _added([partial(_part, item, empty.plan, empty) for item in items], items)
    return replace(found, confidence=empty.confidence, source=empty.source)


def _part(item: Any, plan: CollectionPlan, wanted: Estimates | None) -> Estimates:
    if isinstance(item, CountedTable):
        return from_table(item, wanted or _pairs(plan), item.source)
    if isinstance(item, Estimates):
        check_same_plan(plan, item.plan)
        return item if wanted is None else choose(item, wanted, item.source)
    return opened(item, partial(_read, plan=plan, wanted=wanted))


def _added(parts: Sequence[Any], items: Sequence[Any]) -> Estimates:
    """The sum of parts, each read when it is its turn; what is there twice is refused or told."""
    places: dict[Path, object] = {}
    marks: dict[str, str] = {}
    alike: dict[bytes, str] = {}
    notes: list[str] = []
    total: Estimates | None = None
    for item, make in zip(items, parts, strict=True):
        name = Path(item).name if isinstance(item, (str, Path)) else "counts"
        if isinstance(item, (str, Path)):
            place = Path(item).resolve()
            if place in places:
                msg = f"expected different parts, got {str(item)!r} twice"
                raise InvalidInputError(msg)
            places[place] = item
        part: Estimates = make()
        for mark, _ in part.parts:
            if mark in marks:
                same = f"{marks[mark]} and {name}"
                msg = (
                    f"expected different parts, got the same counts in {same}: one is a copy of "
                    "the other, or holds it"
                )
                raise InvalidInputError(msg)
            marks[mark] = name
        key = _digest(part.sums)
        if key in alike:
            notes.append(
                f"{alike[key]} and {name} hold the same counts: if they are of the same reports, "
                "each counts twice."
            )
        alike.setdefault(key, name)
        total = part if total is None else total + part
    if total is None:
        msg = "expected at least one part, got none"
        raise InvalidInputError(msg)
    return replace(total, notes=(*total.notes, *notes))


def _digest(sums: ReportSums) -> bytes:
    found = hashlib.sha256(repr((sums.size, sums.records)).encode())
    for table in chain(sums.tables.values(), sums.grams.values()):
        found.update(np.ascontiguousarray(table).tobytes())
    return found.digest()


def _pairs(plan: CollectionPlan) -> Estimates:
    """All pairs of columns, as far as the design can estimate them; single columns otherwise."""
    return Estimates.of(plan, 1 if plan.design == "fake" else min(2, len(plan.domain)))


def _read(
    stream: IO[bytes], name: str, *, plan: CollectionPlan, wanted: Estimates | None
) -> Estimates:
    if "plan" not in head_of(stream, name):
        return from_table(counts_from(stream, name), wanted or _pairs(plan), name)
    found = _of_reports(stream, name, plan)
    return found if wanted is None else choose(found, wanted, name)


def _of_reports(stream: IO[bytes], name: str, plan: CollectionPlan) -> Estimates:
    def understand(head: dict[str, Any]) -> tuple[Estimates, int]:
        check_kinds(head, _KINDS, name)
        if head["plan"] != plan.fingerprint:
            msg = (
                f"expected counts of the plan with the fingerprint {plan.fingerprint[:16]}…, got "
                f"{short(head['plan'][:16])} in {name}: they are of reports under another plan"
            )
            raise TableError(msg)
        empty = Estimates.of(plan, map(tuple, head["sets"]), covariance=head["covariance"])
        tables, types = _tables(empty), head["types"]
        if len(types) != len(tables) or not set(types) <= set(TYPES):
            raise damaged(name, "its types are not those of its tables")
        return empty, sum(t.size * int(kind[1]) for t, kind in zip(tables, types, strict=True))

    head, body, empty = unpacked(stream, name, understand)
    _check_numbers(head, empty, name)
    sizes = [
        table.size * int(kind[1]) for table, kind in zip(_tables(empty), head["types"], strict=True)
    ]
    ends = np.cumsum([0, *sizes]).tolist()
    arrays = [
        np.frombuffer(body[start:end], f"<{kind}").astype(table.dtype).reshape(table.shape)
        for (start, end), kind, table in zip(
            pairwise(ends), head["types"], _tables(empty), strict=True
        )
    ]
    tables = dict(zip(empty.sums.tables, map(freeze, arrays), strict=False))
    grams = dict(zip(empty.sums.grams, map(freeze, arrays[len(tables) :]), strict=True))
    sums = ReportSums(
        tables, grams, tuple(head["reported"]), head["records"], head["simulated"], head["unknown"]
    )
    _check_tables(sums, name)
    parts = tuple((mark, n) for mark, n in head["parts"])
    notes = tuple(head["notes"])
    return replace(empty, sums=sums, source=head["source"], notes=notes, parts=parts)


def _tables(estimates: Estimates) -> list[NDArray[Any]]:
    return [*estimates.sums.tables.values(), *estimates.sums.grams.values()]


def _check_numbers(head: Mapping[str, Any], empty: Estimates, name: str) -> None:
    """Refuse a head whose numbers of records contradict each other."""
    n, reported, parts, plan = head["records"], head["reported"], head["parts"], empty.plan
    texts = all(isinstance(note, str) for note in head["notes"])
    marked = all(
        isinstance(part, list)
        and len(part) == 2
        and isinstance(part[0], str)
        and _is_number(part[1], 1)
        for part in parts
    )
    numbers = len(reported) == len(plan.units) and all(_is_number(x, 0) for x in reported)
    if not (texts and marked and numbers) or head["weighted"]:
        raise damaged(name, "its head is not that of counts of reports")
    whole = sum(reported) == n if plan.design == "views" else set(reported) == {n}
    origin = min(head["simulated"], head["unknown"]) >= 0
    origin = origin and head["simulated"] + head["unknown"] <= n
    once = len({mark for mark, _ in parts}) == len(parts) and sum(x for _, x in parts) == n
    if not (0 < n < MAX_REPORTS and whole and origin and once):
        raise damaged(name, "its numbers of records do not add up")


def _is_number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check_tables(sums: ReportSums, name: str) -> None:
    for key, table in sums.tables.items():
        n = sums.count(key)
        counted = table.dtype.kind == "i"
        squared = any(axis.squared for axis in key)
        most = math.inf if squared else n
        fits = bool(np.isfinite(table).all()) and table.min() >= 0 and table.max() <= most
        if not fits or (counted and table.sum(dtype=np.float64) != n):
            raise damaged(name, "its tables do not add up")
    for gram in sums.grams.values():
        if not np.isfinite(gram).all():
            raise damaged(name, "its tables do not add up")
