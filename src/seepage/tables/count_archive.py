"""Archives of counts: format "seepage.counts", version 1.

Such a file is a zip archive of two members. ``counts.json`` says what was counted, ``tables.bin``
holds the numbers. Nothing in it can run code. A checksum over both tells a damaged or edited file;
it is no signature.

The format will not change its meaning: a later version has another number, and is refused here.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from numpy.typing import NDArray

from seepage.errors import InvalidInputError, SeepageError, TableError
from seepage.tables.show import short

FORMAT, VERSION = "seepage.counts", 1
SUFFIX = ".counts"

WIDTHS = (1, 2, 4, 8)
"""Bytes of an unsigned number."""

_HEAD, _BODY = "counts.json", "tables.bin"
_LONGEST_HEAD = 1 << 26

Known = TypeVar("Known")
Read = TypeVar("Read")


def packed(head: Mapping[str, Any], body: bytes) -> bytes:
    """Return the content of a file with this head, to which format and checksum are added."""
    head = {"format": FORMAT, "version": VERSION, **head}
    head["checksum"] = checksum(head, body)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in ((_HEAD, _encoded(head)), (_BODY, body)):
            # A fixed date: equal counts give equal files.
            archive.writestr(_member(name), content)
    return stream.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _encoded(head: Mapping[str, Any]) -> bytes:
    return json.dumps(head, ensure_ascii=True, sort_keys=True, indent=1).encode()


def checksum(head: Mapping[str, Any], body: bytes) -> str:
    """Return the SHA-256 of a file, of whose head it is a part itself."""
    told = {key: value for key, value in head.items() if key != "checksum"}
    return hashlib.sha256(_encoded(told) + body).hexdigest()


def unpacked(
    stream: IO[bytes], name: str, understand: Callable[[dict[str, Any]], tuple[Known, int]]
) -> tuple[dict[str, Any], bytes, Known]:
    """Read what `packed` returned.

    Parameters
    ----------
    stream : file
    name : str
        What messages call it.
    understand : callable
        From the head to what it means, and to the number of bytes that belong to it: no more is
        read.

    Returns
    -------
    head, body, meaning

    Raises
    ------
    TableError
        If the content is damaged or edited, or has another version.
    """
    with _damage(name), zipfile.ZipFile(stream) as archive:
        head = _head(archive, name)
        meaning, size = understand(head)
        body = _content(archive, _BODY, size)
    if len(body) != size or head.get("checksum") != checksum(head, body):
        raise damaged(name, "its checksum does not fit its content")
    return head, body, meaning


def head_of(stream: IO[bytes], name: str) -> dict[str, Any]:
    """Return what a file says it holds, unchecked but for format and version.

    Raises
    ------
    TableError
        As `unpacked`.
    """
    with _damage(name), zipfile.ZipFile(stream) as archive:
        head = _head(archive, name)
    stream.seek(0)
    return head


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn whatever a file of any content can raise into one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise damaged(name, str(error) or type(error).__name__) from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SeepageError):
            raise
        raise damaged(name, f"{error}") from None


def _head(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    head = json.loads(_content(archive, _HEAD, _LONGEST_HEAD))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise damaged(name, f"it does not say that its format is {FORMAT!r}")
    if head.get("version") != VERSION or isinstance(head["version"], bool):
        msg = (
            f"expected {name} to have version {VERSION} of the format {FORMAT}, got version "
            f"{short(head.get('version'))}: read it with the release of seepage that wrote it"
        )
        raise TableError(msg)
    return head


def _content(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """At most `limit` bytes and one more of a member, however large it says it is."""
    with archive.open(name) as member:
        return member.read(limit + 1)


def damaged(name: str, why: str) -> TableError:
    """The error of a file that does not hold what it should."""
    return TableError(
        f"expected {name} to hold counts as seepage wrote them, got a damaged or edited file: "
        f"{why}. Count that part again."
    )


def check_kinds(head: Mapping[str, Any], kinds: Mapping[str, type], name: str) -> None:
    """Refuse a head in which something has another type.

    Raises
    ------
    TableError
    KeyError
        If something is missing.
    """
    for key, kind in kinds.items():
        if not isinstance(head[key], kind) or (kind is int and isinstance(head[key], bool)):
            raise damaged(name, f"{key} is {short(head[key])}")


def width_for(tables: Iterable[NDArray[Any]]) -> int:
    """Bytes that every number of some tables of whole numbers fits into."""
    largest = max((int(table.max(initial=0)) for table in tables), default=0)
    return next(w for w in WIDTHS if largest < 1 << 8 * w)


def opened(path: object, read: Callable[[IO[bytes], str], Read]) -> Read:
    """Read a file by `read`, from the open file and its name.

    Raises
    ------
    InvalidInputError
        If `path` is no path.
    TableError
        If the file cannot be opened.
    """
    if not isinstance(path, (str, Path)):
        msg = f"expected the path of a {SUFFIX} file, got {short(path)}"
        raise InvalidInputError(msg)
    try:
        with Path(path).open("rb") as stream:
            return read(stream, Path(path).name)
    except SeepageError:
        raise
    except (OSError, ValueError) as error:  # a ValueError: no path at all
        why = getattr(error, "strerror", None) or error
        msg = f"expected a file that can be read, got {str(path)!r}: {why}"
        raise TableError(msg) from error


def checked_target(path: str | Path) -> Path:
    """Return where counts are to be written.

    Raises
    ------
    InvalidInputError
        If the name does not end in ".counts".
    """
    if Path(path).suffix.lower() != SUFFIX:
        msg = f"expected a file name that ends in {SUFFIX}, got {str(path)!r}"
        raise InvalidInputError(msg)
    return Path(path)
