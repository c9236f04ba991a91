"""Delimited text in chunks of whole records, for files larger than the memory.

The steps are those of `seepage.tables.delimited`, and so are the faults that are found.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seepage.errors import TableError
from seepage.tables.delimited import (
    Layout,
    TextFormat,
    body_text,
    check_different,
    check_fields,
    check_text,
    column_names,
    decoded,
    find_layout,
    find_records,
    find_separator,
    header_hint,
    is_padded,
    not_closed,
    not_read,
    not_text,
    parse,
    without_comments,
)

if TYPE_CHECKING:
    import polars as pl

CHUNK = 1 << 24
"""Bytes that are read at a time."""

LONGEST = 1 << 28
"""Bytes that one record may take; a quote that is never closed would take the whole file."""


class RestartError(Exception):
    """What was read has to be read again, in another way."""


@dataclass(frozen=True, eq=False)
class _Block:
    """Whole records, and the lines of the file before them."""

    data: bytes
    records: Layout
    lines: int


class TextChunks:
    """A delimited text file as frames of some records each.

    Parameters
    ----------
    path : Path
    form : TextFormat

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    notes : tuple of str
    hint : str
        See `read_delimited`.
    records : int
        About how many records there are, by the first chunk.
    size : int
        Bytes of the file.

    Raises
    ------
    TableError
        As `read_delimited`, as far as the first chunk shows it.
    """

    def __init__(self, path: Path, form: TextFormat) -> None:
        self._path = path
        self._slowly = False
        self._single = False
        self._form = form
        try:
            self.size = path.stat().st_size
        except OSError as error:
            raise not_read(path, error) from error
        start = next((data for data in self._lines() if data.strip()), b"")
        self._form = replace(form, separator=form.separator or find_separator(path, start, form))
        found = ((block, find_records(block.records, form)) for block in self._blocks())
        block, kept = next((pair for pair in found if len(pair[1].starts)), (None, None))
        if block is None or kept is None:
            msg = f"expected a table in {path.name}, got an empty file"
            raise TableError(msg)
        self._single = len(kept.starts) == len(block.records.starts)
        notes: list[str] = []
        self.hint = header_hint(path, block.data, kept, self._form)
        self.names = tuple(column_names(path, block.data, kept, self._form, notes))
        check_different(path, self.names, self.hint if form.names is None else "")
        self.notes = tuple(notes)
        self.records = max(int(len(kept.starts) * self.size / max(len(block.data), 1)), 1)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the records; every column text, with no null.

        Raises
        ------
        RestartError
            If blanks before quotes turn up; the next time they are heeded from the start.
        TableError
            If the file is not text in its encoding, or its records do not fit.
        """
        first, some = True, False
        for block, body in self._bodies():
            check_fields(
                self._path, block.data, body, len(self.names), self._form, before=block.lines
            )
            if not len(body.starts):
                continue
            if not self._slowly and is_padded(body_text(block.data, body), self._form):
                self._slowly = True
                if not first:
                    raise RestartError
            first, some = False, True
            yield parse(self._path, block.data, body, self.names, self._form, slowly=self._slowly)
        if not some:
            msg = f"expected records in {self._path.name}, got a header only"
            raise TableError(msg)

    def line_of(self, record: int) -> int:
        """Line of the file on which a record starts; both count from 1."""
        for block, body in self._bodies():
            if record <= len(body.starts):
                return block.lines + block.data[: int(body.starts[record - 1])].count(b"\n") + 1
            record -= len(body.starts)
        msg = f"expected a record of {self._path.name}, got {record} more than it has"
        raise TableError(msg)

    def _bodies(self) -> Iterator[tuple[_Block, Layout]]:
        """Blocks, with those of their records that are neither blank nor the header."""
        header = self._form.header
        for block in self._blocks():
            body = block.records if self._single else block.records.keep(~block.records.blank)
            if header and len(body.starts):
                body = body.keep(np.arange(len(body.starts)) > 0)
                header = False
            yield block, body

    def _blocks(self) -> Iterator[_Block]:
        carried, lines = b"", 0
        for fresh in self._lines():
            data = carried + fresh
            layout = find_layout(data, self._form.delimiter, self._form.quote)
            end = int(layout.ends[-1]) + 1 if len(layout.ends) else 0
            carried = data[end:]
            if len(carried) > LONGEST:
                raise not_closed(self._path, self._form)
            if end:
                block = data[:end]
                yield _Block(block, layout, lines)
                lines += block.count(b"\n")
        if carried:
            raise not_closed(self._path, self._form)

    def _lines(self) -> Iterator[bytes]:
        """Whole lines as UTF-8, with Unix line ends and comments blanked."""
        pending = b""
        for text in self._texts():
            data = pending + text.encode()
            cut = data.rfind(b"\n") + 1
            pending = data[cut:]
            if len(pending) > LONGEST:
                msg = f"expected lines in {self._path.name}, got one of more than {LONGEST:,} bytes"
                raise TableError(msg)
            if cut:
                yield without_comments(data[:cut], self._form)
        if pending:
            yield without_comments(pending, self._form) + b"\n"

    def _texts(self) -> Iterator[str]:
        make = codecs.lookup(self._form.encoding).incrementaldecoder
        if make is None:  # a codec that only works on the whole
            yield decoded(self._path, self._form).decode()
            return
        decoder = io.IncrementalNewlineDecoder(make(), translate=True)
        before = 0
        try:
            with self._path.open("rb") as file:
                for raw in iter(lambda: file.read(CHUNK), None):
                    text = self._decode(decoder, raw, before)
                    yield text if before else text.lstrip("\ufeff")
                    if not raw:
                        return
                    before += raw.count(b"\n")
        except OSError as error:
            raise not_read(self._path, error) from error

    def _decode(self, decoder: io.IncrementalNewlineDecoder, raw: bytes, before: int) -> str:
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            raise not_text(self._path, self._form, error, before) from None
        check_text(self._path, self._form, text)
        return text
