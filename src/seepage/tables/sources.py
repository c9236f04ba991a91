"""Files and frames to one raw table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seepage.errors import DomainError, TableError
from seepage.tables.arrow import ArrowHead, arrow_head
from seepage.tables.delimited import TextFormat, read_delimited
from seepage.tables.frames import (
    Choice,
    collect,
    first_line,
    from_frame,
    notes_on,
    wide_message,
)
from seepage.tables.show import short

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
    parts : tuple of (path, int)
        The text files it came from, in order, and the number of records of each.
    """

    frame: pl.DataFrame
    typed: bool
    source: str
    notes: tuple[str, ...] = ()
    hint: str = ""
    parts: tuple[tuple[Path, int], ...] = ()


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
    return RawTable(frame, typed=True, source=kind, notes=notes_on(source))


def _read_path(path: Path, form: TextFormat, choose: Choice) -> RawTable:
    if is_text(path):
        frame, notes, hint = read_delimited(path, form)
        chosen = choose_with(hint, choose, frame.columns)
        notes += [hint] if hint else []
        parts = ((path, frame.height),)
        return RawTable(frame.select(chosen), False, path.name, tuple(notes), hint, parts)
    query, checked = scan_typed(path, choose)
    return RawTable(collect(query, checked, path.name), typed=True, source=path.name)


def is_text(path: Path) -> bool:
    """Whether a file is delimited text rather than typed.

    Raises
    ------
    TableError
        If it is no file, or of no kind that can be read.
    """
    suffix = path.suffix.lower()
    _check_file(path)
    if suffix not in SUFFIXES:
        msg = f"expected a file that ends in {', '.join(SUFFIXES)}, got {path.name!r}"
        raise TableError(msg)
    return suffix in TEXT_SUFFIXES


def choose_with(hint: str, choose: Choice, names: Sequence[str]) -> list[str]:
    """Choose columns; an error says the likely cause as well."""
    try:
        return choose(names)
    except (TableError, DomainError) as error:
        raise type(error)(f"{error} {hint}".strip()) from None


def scan_typed(path: Path, choose: Choice) -> tuple[pl.LazyFrame, Choice]:
    """Open a Parquet or Arrow file as a query, with a choice that refuses what cannot be read.

    Raises
    ------
    TableError
        If the file is not of the kind that its name says.
    """
    import polars as pl

    suffix = path.suffix.lower()
    try:
        empty = path.stat().st_size == 0
        head = ArrowHead(False) if suffix == ".parquet" else arrow_head(path)
    except OSError as error:
        msg = f"expected a file that can be read, got {str(path)!r}: {error.strerror}"
        raise TableError(msg) from error
    if empty:
        msg = f"expected a table in {path.name}, got an empty file"
        raise TableError(msg)
    for name in head.names:
        if head.names.count(name) > 1:
            times = head.names.count(name)
            msg = f"expected different column names in {path.name}, got {name!r} {times} times"
            raise TableError(msg)

    def checked(names: Sequence[str]) -> list[str]:
        chosen = choose(names)
        for name in chosen:
            if name in head.wide:
                raise TableError(wide_message(name, "decimal256"))
        return chosen

    try:
        if suffix == ".parquet":
            return pl.scan_parquet(path, glob=False), checked
        if not head.stream:
            return pl.scan_ipc(path, glob=False), checked
        if head.wide:  # the others only: a column cannot be skipped later
            chosen = checked(head.names)
            return pl.read_ipc_stream(path, columns=chosen).lazy(), lambda _: chosen
        return pl.read_ipc_stream(path).lazy(), checked
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        msg = f"expected {path.name} to be a {suffix[1:]} file, got an error: {first_line(error)}"
        raise TableError(msg) from None


def _check_file(path: Path) -> None:
    """Refuse what is not a regular file: a pipe can be read once only, and may never end."""
    try:
        exists, folder, regular = path.exists(), path.is_dir(), path.is_file()
    except OSError as error:  # for instance a name that is too long
        msg = f"expected a file, got {short(str(path))}: {error.strerror}"
        raise TableError(msg) from None
    if not exists:
        msg = f"expected a file, got {_shown(path)}, which does not exist"
        raise TableError(msg)
    if folder:
        msg = f"expected a file, got the folder {_shown(path)}"
        raise TableError(msg)
    if not regular:
        msg = (
            f"expected a file, got {_shown(path)}, which is a pipe or a device. Write its content "
            f"to a file that ends in {', '.join(SUFFIXES)} first."
        )
        raise TableError(msg)


def _shown(path: Path) -> str:
    text = str(path)
    return repr(text) if len(text) < 1000 else short(text)


def _read_paths(paths: Sequence[object], form: TextFormat, choose: Choice) -> RawTable:
    tables = [_read_path(path, form, choose) for path in checked_paths(paths)]
    check_alike([(x.source, x.frame.columns, x.typed, x.hint) for x in tables])
    frame = concat([table.frame for table in tables])
    source = " + ".join(table.source for table in tables)
    notes = [note for table in tables for note in table.notes] + repeated(paths)
    parts = tuple(part for table in tables for part in table.parts)
    return RawTable(frame, tables[0].typed, source, tuple(notes), parts=parts)


def checked_paths(paths: Sequence[object]) -> list[Path]:
    """Return paths, at least one.

    Raises
    ------
    TableError
        If there is none, or something else among them.
    """
    if not paths:
        msg = "expected at least one file, got an empty list"
        raise TableError(msg)
    for path in paths:
        if not isinstance(path, (str, Path)):
            msg = f"expected a list of paths, got an item of type {type(path).__name__}"
            raise TableError(msg)
    return [Path(str(path)) for path in paths]


def check_alike(tables: Sequence[tuple[str, Sequence[str], bool, str]]) -> None:
    """Refuse files that do not continue each other.

    Parameters
    ----------
    tables : sequence of (source, column names, typed, hint)
    """
    source, names, typed, hint = tables[0]
    for other, columns, other_typed, other_hint in tables[1:]:
        if list(columns) != list(names):
            differing = sorted(set(columns) ^ set(names))
            what = f"these differ: {differing}" if differing else "another order"
            msg = f"expected {other} to have the columns of {source}, got {what}"
            cause = hint or other_hint
            raise TableError(f"{msg}. {cause}" if cause else msg)
        if other_typed != typed:
            msg = f"expected files of one kind, got {source} and {other}"
            raise TableError(msg)


def concat(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put frames under each other, in types that hold the values of all.

    Raises
    ------
    TableError
        If there are no such types.
    """
    import polars as pl

    try:
        return pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        msg = f"expected files whose columns have the same types, got: {first}"
        raise TableError(msg) from None


def tells_of_repeats(note: str) -> bool:
    """Whether a note says that records count more than once, or may do so."""
    return "each of its records counts " in note or note.endswith("each counts twice.")


def repeated(paths: Sequence[object]) -> list[str]:
    """Tell which files are given more than once; their records count as often."""
    counts: dict[Path, int] = {}
    for path in paths:
        resolved = Path(str(path)).resolve()
        counts[resolved] = counts.get(resolved, 0) + 1
    return [
        f"{path.name} is given {'twice' if count == 2 else f'{count} times'}: each of its records "
        f"counts {count} times."
        for path, count in counts.items()
        if count > 1
    ]
