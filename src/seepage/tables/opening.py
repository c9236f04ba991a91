"""Records where they are needed and fit, counts where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seepage.errors import InvalidInputError
from seepage.tables.batches import is_lazy
from seepage.tables.count_archive import SUFFIX
from seepage.tables.count_files import read_counts
from seepage.tables.load import CodedTable, load
from seepage.tables.options import names_of
from seepage.tables.show import short
from seepage.tables.sources import TEXT_SUFFIXES, repeated
from seepage.tables.streaming import CountedTable, Progress, Stage, count_table, merge_counts

LARGE_TEXT = 50_000_000
"""Bytes of text files from which on they are counted in batches."""

LARGE_CELLS = 20_000_000
"""Values of typed files from which on they are counted in batches: a code takes 8 bytes."""


def open_table(
    source: object,
    *,
    records: bool | None = None,
    progress: Progress | None = None,
    stage: Stage | None = None,
    **options: Any,
) -> CodedTable | CountedTable:
    """Read a table, or count it without keeping its records.

    Parameters
    ----------
    source : object
        A ``.counts`` file or a list of them, whose counts are added up; else see
        `seepage.tables.load` and `seepage.tables.count_table`.
    records : bool, optional
        Whether records are needed. By default they are not kept when the table is large (text files
        of 50 MB, typed files of 20 million values) or a query.
    progress, stage : callable, optional
        See `seepage.tables.count_table`.
    **options
        As of `seepage.tables.load`. With counts only `columns` and `exclude`.

    Raises
    ------
    SeepageError
        If the source cannot be used; also when records are needed and only counts are given.
    """
    if is_counts(source):
        if records:
            msg = f"expected records (a table), got counts only: {short(str(_listed(source)[0]))}"
            raise InvalidInputError(msg)
        return _merged(_listed(source), **options)
    if not records and (is_lazy(source) or _is_large(source)):
        return count_table(source, progress=progress, stage=stage, **options)
    return load(source, **options)


def is_counts(source: object) -> bool:
    """Whether a source is a file of counts, or several of them.

    Raises
    ------
    InvalidInputError
        If tables and counts are mixed.
    """
    paths = _listed(source)
    found = [isinstance(x, (str, Path)) and Path(x).suffix.lower() == SUFFIX for x in paths]
    if any(found) and not all(found):
        one, other = paths[found.index(True)], paths[found.index(False)]
        msg = f"expected tables or {SUFFIX} files, got both: {str(one)!r} and {short(str(other))}"
        raise InvalidInputError(msg)
    return any(found)


def _listed(source: object) -> Sequence[Any]:
    return source if isinstance(source, (list, tuple)) else [source]


def _merged(paths: Sequence[Any], **options: Any) -> CountedTable:
    other = [name for name in options if name not in {"columns", "exclude"}]
    if other:
        msg = (
            "expected no reading options with counts but columns and exclude, got "
            f"{', '.join(sorted(other))}: they belong to the counting"
        )
        raise InvalidInputError(msg)
    parts = [read_counts(path) for path in paths]
    merged = merge_counts(parts, [str(path) for path in paths])
    merged = replace(merged, notes=(*merged.notes, *repeated(paths), *_alike(paths, parts)))
    columns = names_of("columns", options.get("columns"))
    exclude = names_of("exclude", options.get("exclude")) or ()
    if columns is None and not exclude:
        return merged
    for name in (*(columns or ()), *exclude):
        merged.domain.position(name)
    chosen = [name for name in columns or merged.domain.names if name not in exclude]
    if not chosen:
        msg = "expected at least one column, got none after leaving columns out"
        raise InvalidInputError(msg)
    return replace(merged, counts=merged.counts.project(chosen))


def _alike(paths: Sequence[Any], parts: Sequence[CountedTable]) -> list[str]:
    """Tell which files have the same tables of a source of the same name.

    Of two parts with thousands of records that is hardly chance. A file given twice is told apart.
    """
    notes: list[str] = []
    kept: dict[Path, CountedTable] = {}
    for path, part in zip(paths, parts, strict=True):
        place = Path(path).resolve()
        if place in kept:
            continue
        for other, known in kept.items():
            if known.source == part.source and known.counts == part.counts:
                notes.append(
                    f"{other.name} and {place.name} hold the same counts of {part.source}: if "
                    "these are the same records, each counts twice."
                )
                break
        else:
            kept[place] = part
    return notes


def _is_large(source: object) -> bool:
    """Whether files are large; what is wrong with a file, its reader says."""
    import polars as pl

    texts = cells = 0
    for item in _listed(source):
        if not isinstance(item, (str, Path)):
            return False
        path = Path(item)
        try:
            if path.suffix.lower() in TEXT_SUFFIXES:
                texts += path.stat().st_size
            elif path.is_file():
                scan = pl.scan_parquet if path.suffix.lower() == ".parquet" else pl.scan_ipc
                query = scan(path, glob=False)
                width = len(query.collect_schema())
                cells += int(query.select(pl.len()).collect().item()) * width
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return False
    return texts >= LARGE_TEXT or cells >= LARGE_CELLS
