"""Files with the pairwise tables of a part of the records: format "seepage.counts", version 1.

Such a file is a zip archive of two members. ``counts.json`` holds the domain, what was counted, and
the notes; ``tables.bin`` the one-way tables and then the pairwise tables, in the order of
`PairCounts`, row after row, as unsigned little-endian integers of 1, 2, 4 or 8 bytes. Nothing in it
can run code. A checksum over both tells a damaged or edited file; it is no signature.

The format will not change its meaning: a later version has another number, and is refused here.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from seepage._numeric import IntArray, freeze
from seepage.counts import MAX_TOTAL, PairCounts, cells_needed, check_capacity
from seepage.domain import Attribute, Domain
from seepage.errors import InvalidInputError, SeepageError, TableError
from seepage.results import write_bytes
from seepage.tables.show import short
from seepage.tables.streaming import CountedTable

FORMAT, VERSION = "seepage.counts", 1
SUFFIX = ".counts"

_HEAD, _BODY = "counts.json", "tables.bin"
_LONGEST_HEAD = 1 << 28
_WIDTHS = (1, 2, 4, 8)


def write_counts(counted: CountedTable, path: str | Path) -> None:
    """Write counts to a file, whole or not at all.

    Raises
    ------
    InvalidInputError
        If `counted` is something else, or the name does not end in ".counts".
    OSError
        If the file cannot be written.
    """
    if Path(path).suffix.lower() != SUFFIX:
        msg = f"expected a file name that ends in {SUFFIX}, got {str(path)!r}"
        raise InvalidInputError(msg)
    write_bytes(path, counts_to_bytes(counted))


def counts_to_bytes(counted: CountedTable) -> bytes:
    """Return the content of a file with these counts.

    Raises
    ------
    InvalidInputError
        If `counted` is not a `CountedTable`.
    """
    if not isinstance(counted, CountedTable):
        msg = f"expected a CountedTable, as count_table returns it, got {short(counted)}"
        raise InvalidInputError(msg)
    counts = counted.counts
    tables = [*counts.singles, *counts.pairs]
    largest = max((int(table.max(initial=0)) for table in tables), default=0)
    width = next(w for w in _WIDTHS if largest < 1 << 8 * w)
    body = b"".join(table.astype(f"<u{width}").tobytes() for table in tables)
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "source": counted.source,
        "records": counted.records,
        "weighted": counted.weighted,
        "total": counts.total,
        "width": width,
        "notes": list(counted.notes),
        "columns": [_written(attribute) for attribute in counts.domain],
    }
    head["checksum"] = _checksum(head, body)
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


def _checksum(head: Mapping[str, Any], body: bytes) -> str:
    told = {key: value for key, value in head.items() if key != "checksum"}
    return hashlib.sha256(_encoded(told) + body).hexdigest()


def _written(attribute: Attribute) -> dict[str, Any]:
    edges = attribute.edges
    return {
        "name": attribute.name,
        "categories": list(attribute.categories),
        # As text: JSON has no number for infinite ends.
        "edges": None if edges is None else [repr(edge) for edge in edges],
        "missing": attribute.missing,
        "other": attribute.other,
    }


def read_counts(path: str | Path) -> CountedTable:
    """Read counts that `write_counts` wrote.

    Raises
    ------
    TableError
        If the file cannot be read, is damaged, was edited, or has another version.
    CapacityError
        If its tables would not fit.
    """
    if not isinstance(path, (str, Path)):
        msg = f"expected the path of a {SUFFIX} file, got {short(path)}"
        raise InvalidInputError(msg)
    try:
        with Path(path).open("rb") as stream:
            return _read(stream, Path(path).name)
    except SeepageError:
        raise
    except (OSError, ValueError) as error:  # a ValueError: no path at all
        why = getattr(error, "strerror", None) or error
        msg = f"expected a file that can be read, got {str(path)!r}: {why}"
        raise TableError(msg) from error


def counts_from_bytes(content: bytes, name: str) -> CountedTable:
    """Read what `counts_to_bytes` returned; `name` is what messages call it.

    Raises
    ------
    SeepageError
        As `read_counts`.
    """
    return _read(io.BytesIO(content), name)


def _read(stream: IO[bytes], name: str) -> CountedTable:
    try:
        with zipfile.ZipFile(stream) as archive:
            head = _head(archive, name)
            domain = _domain(head)
            check_capacity(domain)
            size = (sum(domain.shape) + cells_needed(domain)) * head["width"]
            body = _content(archive, _BODY, size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(name, str(error) or type(error).__name__) from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, SeepageError):
            raise
        raise _damaged(name, f"{error}") from None
    if len(body) != size or head.get("checksum") != _checksum(head, body):
        raise _damaged(name, "its checksum does not fit its content")
    return _counted(head, domain, np.frombuffer(body, dtype=f"<u{head['width']}"), name)


def _damaged(name: str, why: str) -> TableError:
    return TableError(
        f"expected {name} to hold counts as seepage wrote them, got a damaged or edited file: "
        f"{why}. Count that part again."
    )


def _head(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    head = json.loads(_content(archive, _HEAD, _LONGEST_HEAD))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise _damaged(name, f"it does not say that its format is {FORMAT!r}")
    if head.get("version") != VERSION or isinstance(head["version"], bool):
        msg = (
            f"expected {name} to have version {VERSION} of the format {FORMAT}, got version "
            f"{short(head.get('version'))}: read it with the release of seepage that wrote it"
        )
        raise TableError(msg)
    kinds = {"source": str, "records": int, "weighted": bool, "total": int, "notes": list}
    for key, kind in kinds.items():
        if not isinstance(head[key], kind):
            raise _damaged(name, f"{key} is {short(head[key])}")
    if head["width"] not in _WIDTHS or not all(isinstance(x, str) for x in head["notes"]):
        raise _damaged(name, f"width is {short(head['width'])}")
    return head


def _content(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """At most `limit` bytes and one more of a member, however large it says it is."""
    with archive.open(name) as member:
        return member.read(limit + 1)


def _domain(head: Mapping[str, Any]) -> Domain:
    return Domain(
        tuple(
            Attribute(
                column["name"],
                tuple(column["categories"]),
                None if column["edges"] is None else tuple(map(float, column["edges"])),
                column["missing"],
                column["other"],
            )
            for column in head["columns"]
        )
    )


def _counted(head: Mapping[str, Any], domain: Domain, numbers: IntArray, name: str) -> CountedTable:
    shape = domain.shape
    shapes: list[tuple[int, ...]] = [(k,) for k in shape]
    shapes += list(combinations(shape, 2))
    ends = np.cumsum([0, *(int(np.prod(x)) for x in shapes)]).tolist()
    tables = [
        numbers[start:end].astype(np.int64).reshape(form)
        for (start, end), form in zip(pairwise(ends), shapes, strict=True)
    ]
    total, d = head["total"], len(shape)
    singles, pairs = tables[:d], tables[d:]
    # Before they are added: sums of integers wrap around, those of floats do not.
    if any(x.min(initial=0) < 0 or x.sum(dtype=np.float64) >= MAX_TOTAL for x in tables):
        raise _damaged(name, "its counts add up to 2^62 or more")
    fits = all(int(single.sum()) == total for single in singles) and all(
        np.array_equal(table.sum(axis=1), singles[i])
        and np.array_equal(table.sum(axis=0), singles[j])
        for (i, j), table in zip(combinations(range(d), 2), pairs, strict=True)
    )
    if not fits or head["records"] < 1 or (not head["weighted"] and head["records"] != total):
        raise _damaged(name, "its tables do not add up")
    counts = PairCounts(domain, total, tuple(map(freeze, singles)), tuple(map(freeze, pairs)))
    return CountedTable(
        counts, head["source"], tuple(head["notes"]), head["records"], head["weighted"]
    )
