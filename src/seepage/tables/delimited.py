"""Delimited text to a frame of texts, with every structural fault reported by line.

Nothing is guessed about types here: every field stays text, and an empty field is ``""``. The
layout (records, fields per record) is checked before the parser sees the file, because the parser
fills short records and renames repeated columns silently.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seepage._numeric import BoolArray, IntArray
from seepage.errors import InvalidInputError, TableError
from seepage.tables.show import writable

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = ",\t;|"
_CHUNK = 1 << 24
_NEWLINE = 10
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LIMIT = threading.Lock()
_LONGEST = 2**31 - 1
"""Characters of a field: the most that the standard library counts to everywhere."""

_LOOKED_AT = 200
"""Records that are compared with the first line."""


@dataclass(frozen=True)
class TextFormat:
    """How a delimited text file is written.

    Parameters
    ----------
    header : bool
        Whether the first record holds column names.
    names : tuple of str, optional
        Column names that replace those of the file.
    separator : str, optional
        One character; found in the file when not given.
    quote : str, optional
        The character around fields that hold separators; None when there is no such character.
    comment : str, optional
        Lines that start with this text are skipped.
    encoding : str
        Name of the character encoding.
    """

    header: bool = True
    names: tuple[str, ...] | None = None
    separator: str | None = None
    quote: str | None = '"'
    comment: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for role, value in (("separator", self.separator), ("quote", self.quote)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n"):
                msg = f"expected {role} to be one ASCII character, got {value!r}"
                raise InvalidInputError(msg)
        if self.comment == "":
            msg = "expected comment to be a text that is not empty, got ''"
            raise InvalidInputError(msg)
        try:
            "a".encode(self.encoding)  # some codecs turn bytes into bytes, or nothing into text
        except (LookupError, TypeError, ValueError):
            msg = f"expected the name of a character encoding, got {self.encoding!r}"
            raise InvalidInputError(msg) from None

    @property
    def delimiter(self) -> str:
        """The separator, a comma when none was given or found."""
        return self.separator or ","


@dataclass(frozen=True, eq=False)
class Layout:
    """Where records end, and how many fields each has."""

    starts: IntArray
    ends: IntArray
    fields: IntArray
    blank: BoolArray
    balanced: bool

    def keep(self, chosen: BoolArray) -> Layout:
        """Keep some records."""
        return Layout(
            self.starts[chosen],
            self.ends[chosen],
            self.fields[chosen],
            self.blank[chosen],
            self.balanced,
        )


def read_delimited(path: Path, form: TextFormat) -> tuple[pl.DataFrame, list[str], str]:
    """Read a delimited text file.

    Returns
    -------
    frame : polars.DataFrame
        Every column text, with no null.
    notes : list of str
        What was skipped or named.
    hint : str
        A sentence when the first line, taken for column names, looks like a record; else empty.

    Raises
    ------
    TableError
        If the file is empty, is not text in the stated encoding, or its records do not fit.
    """
    data = decoded(path, form)
    form = replace(form, separator=form.separator or find_separator(path, data, form))
    layout = find_layout(data, form.delimiter, form.quote)
    if not layout.balanced:
        raise not_closed(path, form)
    records = find_records(layout, form)
    if not len(records.starts):
        msg = f"expected a table in {path.name}, got an empty file"
        raise TableError(msg)
    notes: list[str] = []
    hint = header_hint(path, data, records, form)
    names = column_names(path, data, records, form, notes)
    check_different(path, names, hint if form.names is None else "")
    body = records.keep(np.arange(len(records.starts)) >= int(form.header))
    check_fields(path, data, body, len(names), form)
    if not len(body.starts):
        msg = f"expected records in {path.name}, got a header only"
        raise TableError(msg)
    return parse(path, data, body, names, form), notes, hint


def not_closed(path: Path, form: TextFormat) -> TableError:
    """Error on a quote that does not end."""
    return TableError(
        f"expected every {form.quote} in {path.name} to be closed, got an odd number of them. "
        "Give quote=None if the character has no special meaning."
    )


def not_read(path: Path, error: OSError) -> TableError:
    """Error on a file that the system does not let read."""
    return TableError(f"expected a file that can be read, got {str(path)!r}: {error.strerror}")


def not_text(path: Path, form: TextFormat, error: UnicodeError, before: int = 0) -> TableError:
    """Error on bytes that are no text in the stated encoding, `before` lines after the start."""
    if not isinstance(error, UnicodeDecodeError):
        return TableError(
            f"expected {path.name} to be text in {form.encoding}, got an error: {error}"
        )
    line = before + error.object[: error.start].count(b"\n") + 1
    return TableError(
        f"expected {path.name} to be text in {form.encoding}, got byte "
        f"0x{error.object[error.start]:02x} in line {line}. Name its encoding, for instance "
        "encoding='latin-1', 'cp1252' or 'utf-16' (--encoding)."
    )


def check_text(path: Path, form: TextFormat, text: str) -> None:
    """Refuse what no text file holds.

    Raises
    ------
    TableError
        If half a surrogate pair or a NUL character is in the text.
    """
    if not writable(text):
        msg = f"expected {path.name} to be text in {form.encoding}, got half a surrogate pair"
        raise TableError(msg)
    if "\0" in text:
        msg = f"expected {path.name} to be text, got a NUL character (binary file or UTF-16?)"
        raise TableError(msg)


def without_comments(data: bytes, form: TextFormat) -> bytes:
    """Blank the lines that are comments: not cut out, so that line numbers stay as they are."""
    if form.comment is None:
        return data
    return re.sub(b"(?m)^" + re.escape(form.comment.encode()) + b".*$", b"", data)


def decoded(path: Path, form: TextFormat) -> bytes:
    """Content of a file as UTF-8 with Unix line ends, comments blanked.

    Raises
    ------
    TableError
        If it cannot be read, or is no text in the stated encoding.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise not_read(path, error) from error
    try:
        text = raw.decode(form.encoding)
    except UnicodeError as error:
        raise not_text(path, form, error) from None
    check_text(path, form, text)
    same = codecs.lookup(form.encoding).name in {"utf-8", "ascii"}
    data = raw if same and not raw.startswith(codecs.BOM_UTF8) else text.lstrip("\ufeff").encode()
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data = without_comments(data, form)
    return data if data.endswith(b"\n") or not data else data + b"\n"


def line_of(path: Path, form: TextFormat, record: int) -> int:
    """Line of a file on which a record starts; both count from 1, the header is no record.

    Reads the file again, so that nobody else has to remember where its lines are.
    """
    data = decoded(path, form)
    form = replace(form, separator=form.separator or find_separator(path, data, form))
    records = find_records(find_layout(data, form.delimiter, form.quote), form)
    return data[: int(records.starts[record - 1 + int(form.header)])].count(b"\n") + 1


def find_records(layout: Layout, form: TextFormat) -> Layout:
    """Records other than blank lines that are none."""
    filled = ~layout.blank
    single = filled.any() and form.comment is None and (layout.fields[filled] == 1).all()
    # In a table of one column a blank line is a missing value, elsewhere it is no record.
    return layout if single else layout.keep(filled)


def find_separator(path: Path, data: bytes, form: TextFormat) -> str:
    """The separator that divides the first records most evenly."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    sample = data[: 1 << 16]
    cut = sample.rfind(b"\n")
    sample = sample[: cut + 1] if cut >= 0 else sample
    best, merit = ",", (0.0, 0)
    for candidate in _SEPARATORS:
        layout = find_layout(sample, candidate, form.quote)
        fields = layout.fields[~layout.blank][:200]
        if not len(fields):
            continue
        common = int(np.bincount(fields).argmax())
        # How regular comes before how many: prose holds commas too, but not evenly.
        if common > 1 and (float((fields == common).mean()), common) > merit:
            best, merit = candidate, (float((fields == common).mean()), common)
    return best


def find_layout(data: bytes, separator: str, quote: str | None) -> Layout:
    """Find the ends of the records of a text, and how many fields each has."""
    whole = np.frombuffer(data, dtype=np.uint8)
    ends: list[IntArray] = []
    fields: list[IntArray] = []
    inside = False
    carried = 0
    for offset in range(0, len(whole), _CHUNK):
        chunk = whole[offset : offset + _CHUNK]
        newline, mark = chunk == _NEWLINE, chunk == ord(separator)
        quotes = chunk == ord(quote) if quote else None
        if quotes is not None and (inside or quotes.any()):
            quoted = np.logical_xor.accumulate(quotes) ^ inside
            inside = bool(quoted[-1])
            newline, mark = newline & ~quoted, mark & ~quoted
        here, marks = np.flatnonzero(newline), np.flatnonzero(mark)
        before = np.searchsorted(marks, here)
        if len(here):
            fields.append(np.diff(before, prepend=-carried) + 1)
            ends.append(here + offset)
            carried = len(marks) - int(before[-1])
        else:
            carried += len(marks)
    stop = np.concatenate([*ends, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    count = np.concatenate([*fields, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    start = np.concatenate([[0], stop[:-1] + 1]).astype(np.int64)[: len(stop)]
    blank = (count == 1) & (stop - start < 64)
    for i in np.flatnonzero(blank):
        blank[i] = not data[start[i] : stop[i]].strip()
    return Layout(start, stop, count, blank, not inside)


def _fields(data: bytes, records: Layout, i: int, form: TextFormat) -> list[str]:
    line = data[records.starts[i] : records.ends[i]].decode()
    return [name.strip() for name in _split(line, form)]


def header_hint(path: Path, data: bytes, records: Layout, form: TextFormat) -> str:
    """Numbers for names, or names that are values of their own columns: hardly a header."""
    if not form.header:
        return ""
    names = _fields(data, records, 0, form)
    found = [name for name in names if _NUMBER.fullmatch(name)]
    if not found:
        seen = [_fields(data, records, i, form) for i in range(1, len(records.starts))[:_LOOKED_AT]]
        found = [x for i, x in enumerate(names) if x and any([x] == row[i : i + 1] for row in seen)]
        found = found if len(found) >= max(2, len(names) / 2) else []
    if not found:
        return ""
    shown = ", ".join(map(repr, found[:3]))
    return (
        f"Column names in the first line of {path.name} look like data ({shown}); if the file has "
        "no header, use header=False (--no-header)."
    )


def column_names(
    path: Path, data: bytes, records: Layout, form: TextFormat, notes: list[str]
) -> list[str]:
    """Names of the columns: given, in the header, or numbers."""
    width = int(records.fields[0])
    if form.names is not None:
        names = [str(name) for name in form.names]
    elif form.header:
        names = _fields(data, records, 0, form)
        for position in (i for i, name in enumerate(names, start=1) if name == ""):
            # Typically the row numbers that data frames write in front.
            names[position - 1] = f"column_{position}"
            notes.append(
                f"Column {position} of {path.name} has no name; it is called 'column_{position}'. "
                "If it holds row numbers, leave it out: exclude, --exclude."
            )
    else:
        names = [f"column_{position}" for position in range(1, width + 1)]
        notes.append(f"{path.name} was read without a header; its columns were numbered.")
    return names


def check_different(path: Path, names: Sequence[str], hint: str) -> None:
    """Refuse a name that occurs twice."""
    for name in names:
        if names.count(name) > 1:
            where = [i for i, other in enumerate(names, start=1) if other == name]
            msg = f"expected different column names in {path.name}, got {name!r} in columns {where}"
            raise TableError(f"{msg}. {hint}" if hint else msg)


def _split(line: str, form: TextFormat) -> list[str]:
    try:
        with _long_fields():
            return next(_reader([line], form), [""]) or [""]
    except csv.Error as error:
        msg = f"expected a record of delimited text, got a fault: {error}"
        raise TableError(msg) from None


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the standard library read fields of any length.

    Its limit holds for the whole process, so that one thread at a time may change it.
    """
    with _LIMIT:
        before = csv.field_size_limit(_LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _reader(lines: Iterable[str], form: TextFormat, *, padded: bool = True) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=form.delimiter,
        quotechar=form.quote,
        quoting=csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE,
        skipinitialspace=padded,
    )


def check_fields(
    path: Path, data: bytes, body: Layout, expected: int, form: TextFormat, *, before: int = 0
) -> None:
    """Refuse records with too few or too many fields; `before` lines came before `data`."""
    wrong = np.flatnonzero(body.fields != expected)
    if not len(wrong):
        return
    first = int(wrong[0])
    line = before + data[: int(body.starts[first])].count(b"\n") + 1
    if form.names is not None:
        source = f"{expected} fields, one for each of the given names,"
    else:
        source = f"{expected} fields, as in the {'header' if form.header else 'first record'},"
    msg = f"expected {source} in {path.name}, got {body.fields[first]} in line {line}"
    others = np.unique(body.fields)
    if len(others) == 1:
        msg += (
            f" and in every other record. Give names=[...] with {others[0]} column names (--names)"
        )
    elif len(wrong) > 1:
        msg += f" ({len(wrong):,} records differ)"
    raise TableError(msg + ".")


def body_text(data: bytes, body: Layout) -> bytes:
    """The text of some records."""
    if np.array_equal(body.ends[:-1] + 1, body.starts[1:]):
        return data[int(body.starts[0]) : int(body.ends[-1]) + 1]
    pieces = zip(body.starts.tolist(), body.ends.tolist(), strict=True)
    return b"".join(data[start : end + 1] for start, end in pieces)


def is_padded(text: bytes, form: TextFormat) -> bool:
    """Whether a blank comes before a quote, which the fast parser takes for a part of the field."""
    if form.quote is None:
        return False
    field = f" {form.quote}"
    starts = (f"{form.delimiter}{field}", f"\n{field}", f"\r{field}")
    return text.startswith(field.encode()) or any(start.encode() in text for start in starts)


def parse(
    path: Path,
    data: bytes,
    body: Layout,
    names: Sequence[str],
    form: TextFormat,
    *,
    slowly: bool = False,
) -> pl.DataFrame:
    """Records to a frame of texts, with no null.

    Raises
    ------
    TableError
        If the parser finds other records than the layout says.
    """
    import polars as pl

    text = body_text(data, body)
    quote = form.quote
    try:
        padded = slowly or is_padded(text, form)
        if padded or len(names) == 1:
            frame = _parse_slowly(text.decode(), names, form, padded=padded)
        else:
            frame = pl.read_csv(
                text,
                has_header=False,
                separator=form.delimiter,
                quote_char=quote,
                infer_schema=False,
            )
    except (pl.exceptions.PolarsError, csv.Error) as error:
        msg = f"expected {path.name} to be a table of delimited text, got a fault: {error}"
        raise TableError(msg) from None
    if frame.shape != (len(body.starts), len(names)):
        msg = (
            f"expected {len(body.starts)} records of {len(names)} fields in {path.name}, got "
            f"{frame.height} of {frame.width}. A quote inside a field may be the cause "
            "(quote=None gives it no special meaning)."
        )
        raise TableError(msg)
    frame.columns = list(names)
    return frame.fill_null("")


def _parse_slowly(
    text: str, names: Sequence[str], form: TextFormat, *, padded: bool
) -> pl.DataFrame:
    """Parse with the standard library: blanks before a quote, and blank lines as values."""
    import polars as pl

    reader = _reader(io.StringIO(text, newline=""), form, padded=padded)
    with _long_fields():
        rows = [row or [""] for row in reader]
    schema = {str(i): pl.String for i in range(len(names))}
    if any(len(row) != len(names) for row in rows):
        return pl.DataFrame()
    return pl.DataFrame(rows, schema=schema, orient="row")
