"""Files with the pairwise tables of a part of the records, as `seepage.tables.count_archive`.

The head holds the domain, what was counted, and the notes; the numbers are the one-way tables and
then the pairwise tables, in the order of `PairCounts`, row after row, as unsigned little-endian
integers of 1, 2, 4 or 8 bytes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from seepage._numeric import IntArray, freeze
from seepage.counts import MAX_TOTAL, PairCounts, cells_needed, check_capacity
from seepage.domain import Attribute, Domain
from seepage.errors import InvalidInputError, TableError
from seepage.results import write_bytes
from seepage.tables.count_archive import (
    WIDTHS,
    check_kinds,
    checked_target,
    damaged,
    opened,
    packed,
    unpacked,
    width_for,
)
from seepage.tables.show import short
from seepage.tables.streaming import CountedTable


def write_counts(counted: CountedTable, path: str | Path) -> None:
    """Write counts to a file, whole or not at all.

    Raises
    ------
    InvalidInputError
        If `counted` is something else, or the name does not end in ".counts".
    OSError
        If the file cannot be written.
    """
    write_bytes(checked_target(path), counts_to_bytes(counted))


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
    width = width_for(tables)
    body = b"".join(table.astype(f"<u{width}").tobytes() for table in tables)
    head: dict[str, Any] = {
        "source": counted.source,
        "records": counted.records,
        "weighted": counted.weighted,
        "total": counts.total,
        "width": width,
        "notes": list(counted.notes),
        "columns": [_written(attribute) for attribute in counts.domain],
    }
    return packed(head, body)


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
    return opened(path, counts_from)


def counts_from_bytes(content: bytes, name: str) -> CountedTable:
    """Read what `counts_to_bytes` returned; `name` is what messages call it.

    Raises
    ------
    SeepageError
        As `read_counts`.
    """
    return counts_from(io.BytesIO(content), name)


def counts_from(stream: IO[bytes], name: str) -> CountedTable:
    """Read counts from an open file; see `read_counts`."""

    def understand(head: Mapping[str, Any]) -> tuple[Domain, int]:
        if "plan" in head:
            msg = (
                f"expected {name} to hold counts of a table, got those of randomised reports: "
                "they belong to the plan (--plan) of an estimate"
            )
            raise TableError(msg)
        kinds = {"source": str, "records": int, "weighted": bool, "total": int, "notes": list}
        check_kinds(head, kinds, name)
        if head["width"] not in WIDTHS or not all(isinstance(x, str) for x in head["notes"]):
            raise damaged(name, f"width is {short(head['width'])}")
        domain = _domain(head)
        check_capacity(domain)
        return domain, (sum(domain.shape) + cells_needed(domain)) * head["width"]

    head, body, domain = unpacked(stream, name, understand)
    return _counted(head, domain, np.frombuffer(body, dtype=f"<u{head['width']}"), name)


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
        raise damaged(name, "its counts add up to 2^62 or more")
    fits = all(int(single.sum()) == total for single in singles) and all(
        np.array_equal(table.sum(axis=1), singles[i])
        and np.array_equal(table.sum(axis=0), singles[j])
        for (i, j), table in zip(combinations(range(d), 2), pairs, strict=True)
    )
    if not fits or head["records"] < 1 or (not head["weighted"] and head["records"] != total):
        raise damaged(name, "its tables do not add up")
    counts = PairCounts(domain, total, tuple(map(freeze, singles)), tuple(map(freeze, pairs)))
    return CountedTable(
        counts, head["source"], tuple(head["notes"]), head["records"], head["weighted"]
    )
