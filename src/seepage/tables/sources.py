"""Files and frames to one raw table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seepage.errors import DomainError, TableError
from seepage.tables.delimited import TextFormat, read_delimited
from seepage.tables.frames import Choice, collect, from_frame

if TYPE_CHECKING:
    import polars as pl

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".data", ".test")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", *ARROW_SUFFIXES)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns as they came, before anything is coded.

    Parameters
    ----------
    frame : polars.DataFrame
        The chosen columns.
    typed : bool
        False when every field is text because the file has no types.
    source : str
        Short description.
    notes : tuple of str
    hint : str
        A sentence when the names of the columns look like data, which is an error's likely cause.
    """

    frame: pl.DataFrame
    typed: bool
    source: str
    notes: tuple[str, ...] = ()
    hint: str = ""


def read_source(source: object, form: TextFormat, choose: Choice) -> RawTable:
    """Read a path, several paths, a frame, or a mapping of columns.

    Raises
    ------
    TableError
        If the table cannot be read.
    """
    if isinstance(source, (str, Path)):
        return _read_path(Path(source), form, choose)
    if isinstance(source, (list, tuple)):
        return _read_paths(source, form, choose)
    frame, kind = from_frame(source, choose)
    return RawTable(frame, typed=True, source=kind)


def _read_path(path: Path, form: TextFormat, choose: Choice) -> RawTable:
    import polars as pl

    suffix = path.suffix.lower()
    if not path.exists():
        msg = f"expected a file, got {str(path)!r}, which does not exist"
        raise TableError(msg)
    if path.is_dir():
        msg = f"expected a file, got the folder {str(path)!r}"
        raise TableError(msg)
    if suffix not in SUFFIXES:
        msg = f"expected a file that ends in {', '.join(SUFFIXES)}, got {path.name!r}"
        raise TableError(msg)
    if suffix in TEXT_SUFFIXES:
        frame, notes, hint = read_delimited(path, form)
        try:
            chosen = choose(frame.columns)
        except (TableError, DomainError) as error:
            raise type(error)(f"{error} {hint}".strip()) from None
        notes += [hint] if hint else []
        return RawTable(frame.select(chosen), False, path.name, tuple(notes), hint)
    try:
        empty = path.stat().st_size == 0
        with path.open("rb"):
            pass
    except OSError as error:
        msg = f"expected a file that can be read, got {str(path)!r}: {error.strerror}"
        raise TableError(msg) from error
    if empty:
        msg = f"expected a table in {path.name}, got an empty file"
        raise TableError(msg)
    scan = pl.scan_parquet if suffix == ".parquet" else pl.scan_ipc
    try:
        query = scan(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = f"expected {path.name} to be a {suffix[1:]} file, got an error: {error}"
        raise TableError(msg) from None
    return RawTable(collect(query, choose, path.name), typed=True, source=path.name)


def _read_paths(paths: Sequence[object], form: TextFormat, choose: Choice) -> RawTable:
    import polars as pl

    if not paths:
        msg = "expected at least one file, got an empty list"
        raise TableError(msg)
    for path in paths:
        if not isinstance(path, (str, Path)):
            msg = f"expected a list of paths, got an item of type {type(path).__name__}"
            raise TableError(msg)
    tables = [_read_path(Path(str(path)), form, choose) for path in paths]
    first = tables[0]
    for table in tables[1:]:
        if table.frame.columns != first.frame.columns:
            differing = sorted(set(table.frame.columns) ^ set(first.frame.columns))
            what = f"these differ: {differing}" if differing else "another order"
            msg = f"expected {table.source} to have the columns of {first.source}, got {what}"
            hint = first.hint or table.hint
            raise TableError(f"{msg}. {hint}" if hint else msg)
        if table.typed != first.typed:
            msg = f"expected files of one kind, got {first.source} and {table.source}"
            raise TableError(msg)
    try:
        frame = pl.concat([table.frame for table in tables], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        first_line = str(error).splitlines()[0]
        msg = f"expected files whose columns have the same types, got: {first_line}"
        raise TableError(msg) from None
    source = " + ".join(table.source for table in tables)
    return RawTable(frame, first.typed, source, tuple(n for table in tables for n in table.notes))
