"""Field names and wide decimals of an Arrow file, read before any library opens it.

The reader of Arrow files stops the thread, with a trace on standard error, where two columns have
one name or a number takes 256 bits, and its schema shows neither. Both are in the first message of
the file: a flatbuffer, of which only the few entries that matter are followed here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"ARROW1\0\0"
_CONTINUED = b"\xff\xff\xff\xff"
_LONGEST = 1 << 26
_DECIMAL = 7
"""Number of the decimal type in the format."""


@dataclass(frozen=True)
class ArrowHead:
    """What the first message of an Arrow file says.

    Parameters
    ----------
    stream : bool
        Whether the file has the form of a stream, without a footer.
    names : tuple of str
        Names of the columns, in order; empty where they could not be read.
    wide : frozenset of str
        Columns of decimal numbers with 256 bits.
    """

    stream: bool
    names: tuple[str, ...] = ()
    wide: frozenset[str] = frozenset()


def arrow_head(path: Path) -> ArrowHead:
    """Read the form and the columns of an Arrow file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(8)
        stream = start.startswith(_CONTINUED)
        if start == _MAGIC:
            start = file.read(8)
        if len(start) < 8 or not start.startswith(_CONTINUED):
            return ArrowHead(stream)
        size = struct.unpack("<i", start[4:])[0]
        if not 0 < size <= _LONGEST:
            return ArrowHead(stream)
        message = file.read(size)
    try:
        fields = _fields(message)
    except (
        struct.error,
        IndexError,
        UnicodeDecodeError,
    ):  # damaged: the library says what is wrong
        return ArrowHead(stream)
    wide = frozenset(name for name, is_wide in fields if is_wide)
    return ArrowHead(stream, tuple(name for name, _ in fields), wide)


def _fields(message: bytes) -> list[tuple[str, bool]]:
    """Name of each field of the schema, and whether it is a decimal of 256 bits."""
    schema = _linked(message, _number(message, "<I", 0), 2)
    vector = None if schema is None else _linked(message, schema, 1)
    if vector is None:
        return []
    result = []
    for i in range(_number(message, "<I", vector)):
        place = vector + 4 + 4 * i
        field = place + _number(message, "<I", place)
        name = _linked(message, field, 0)
        kind = _entry(message, field, 2)
        decimal = _linked(message, field, 3)
        wide = False
        if kind is not None and decimal is not None and message[kind] == _DECIMAL:
            bits = _entry(message, decimal, 2)
            wide = bits is not None and _number(message, "<i", bits) > 128
        result.append(("" if name is None else _text(message, name), wide))
    return result


def _number(message: bytes, form: str, place: int) -> int:
    if place < 0:
        msg = "before the start"
        raise struct.error(msg)
    return int(struct.unpack_from(form, message, place)[0])


def _text(message: bytes, place: int) -> str:
    return message[place + 4 : place + 4 + _number(message, "<I", place)].decode()


def _entry(message: bytes, table: int, position: int) -> int | None:
    """Where an entry of a table is; None where it has its default."""
    index = table - _number(message, "<i", table)
    if 4 + 2 * position >= _number(message, "<H", index):
        return None
    offset = _number(message, "<H", index + 4 + 2 * position)
    return table + offset if offset else None


def _linked(message: bytes, table: int, position: int) -> int | None:
    """Where an entry that is a reference leads."""
    place = _entry(message, table, position)
    return None if place is None else place + _number(message, "<I", place)
