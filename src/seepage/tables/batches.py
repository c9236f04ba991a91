"""Files, queries and frames as batches of records that are read once or several times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage.tables.delimited import TextFormat
from seepage.tables.frames import (
    Choice,
    checked_names,
    chosen_columns,
    from_frame,
    notes_on,
    query_errors,
    refuse_wide,
)
from seepage.tables.sources import (
    check_alike,
    checked_paths,
    choose_with,
    concat,
    is_text,
    repeated,
    scan_typed,
)
from seepage.tables.text_chunks import TextChunks

if TYPE_CHECKING:
    import polars as pl

BATCH_BYTES = 1 << 25
"""Size of the codes of one batch, at 8 bytes each."""

PIECE = 4
"""Batches that are read together from a typed file, where each reading starts anew."""


@dataclass(frozen=True, eq=False)
class Batches:
    """A table that is read batch by batch.

    Parameters
    ----------
    columns : tuple of str
        The chosen columns.
    typed : bool
        False when every field is text because the file has no types.
    source : str
    frames : callable
        Starts to read, and yields frames of the chosen columns.
    notes : tuple of str
    records : int or None
        About how many there are; None when that is not known before reading.
    size : int or None
        Bytes of its files.
    repeatable : bool
        Whether it can be read more than once.
    place : callable
        Says where a record is, given its number from 1.
    hint : str
        See `seepage.tables.sources.RawTable`.
    empty : polars.DataFrame or None
        Without records, in the types of all batches; None for text.
    """

    columns: tuple[str, ...]
    typed: bool
    source: str
    frames: Callable[[], Iterator[pl.DataFrame]]
    notes: tuple[str, ...] = ()
    records: int | None = None
    size: int | None = None
    repeatable: bool = True
    place: Callable[[int], str] = "record {:,}".format
    hint: str = ""
    empty: pl.DataFrame | None = None


def open_batches(source: object, form: TextFormat, choose: Choice) -> Batches:
    """Open whatever `seepage.tables.load` reads, and choose columns.

    Raises
    ------
    TableError
        If it cannot be read.
    """
    import polars as pl

    source = _unwrapped(source)
    if isinstance(source, (str, Path)):
        return _of_path(Path(source), form, choose)
    if isinstance(source, (list, tuple)):
        return _of_paths(source, form, choose)
    if isinstance(source, pl.LazyFrame):
        return _of_query(source, choose, "the Polars query", "Polars query")
    kind = _kind(source)
    if _is_relation(source):
        return _of_relation(source, choose, kind)
    if _is_arrow(source, "dataset", "Dataset"):
        return _of_dataset(source, choose, kind)
    if _is_arrow(source, "lib", "RecordBatchReader"):
        return _of_reader(source, choose, kind)
    frame, kind = from_frame(source, choose)
    rows = batch_rows(frame.width)
    return Batches(
        tuple(frame.columns),
        True,
        kind,
        lambda: frame.iter_slices(rows),
        notes=notes_on(source),
        records=frame.height,
    )


def is_lazy(source: object) -> bool:
    """Whether a source is a query, or a stream: it is not in the memory as a whole."""
    import polars as pl

    source = _unwrapped(source)
    return (
        isinstance(source, pl.LazyFrame)
        or _is_relation(source)
        or _is_arrow(source, "dataset", "Dataset")
        or _is_arrow(source, "lib", "RecordBatchReader")
    )


def batch_rows(columns: int) -> int:
    """Records of one batch, for a number of columns."""
    return max(1 << 12, min(1 << 18, BATCH_BYTES // (8 * max(columns, 1))))


def _unwrapped(source: object) -> object:
    """The query that a lazy frame of Narwhals stands for, as it could not be read in batches."""
    kind = type(source)
    lazy = kind.__module__.partition(".")[0] == "narwhals" and kind.__name__ == "LazyFrame"
    return source.to_native() if lazy else source  # type: ignore[attr-defined]


def _kind(source: object) -> str:
    return f"{type(source).__module__.split('.')[0]} {type(source).__name__}"


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation"


def _is_arrow(source: object, module: str, name: str) -> bool:
    # Whoever holds such an object has imported the package.
    found = getattr(sys.modules.get(f"pyarrow.{module}"), name, None)
    return found is not None and isinstance(source, found)


def _of_path(path: Path, form: TextFormat, choose: Choice) -> Batches:
    if not is_text(path):
        query, checked = scan_typed(path, choose)
        return _of_query(query, checked, path.name, path.name, path)
    chunks = TextChunks(path, form)
    chosen = choose_with(chunks.hint, choose, chunks.names)
    rows = batch_rows(len(chosen))

    def frames() -> Iterator[pl.DataFrame]:
        for frame in chunks.frames():
            yield from frame.select(chosen).iter_slices(rows)

    return Batches(
        tuple(chosen),
        False,
        path.name,
        frames,
        notes=(*chunks.notes, chunks.hint) if chunks.hint else chunks.notes,
        records=chunks.records,
        size=chunks.size,
        place=lambda record: f"line {chunks.line_of(record):,} of {path.name}",
        hint=chunks.hint,
    )


def _of_query(
    query: pl.LazyFrame, choose: Choice, name: str, source: str, path: Path | None = None
) -> Batches:
    import polars as pl

    with query_errors(name):
        selected = chosen_columns(query, choose)
        empty = pl.DataFrame(schema=selected.collect_schema())
        records = None if path is None else int(query.select(pl.len()).collect().item())
    rows = batch_rows(empty.width)

    def frames() -> Iterator[pl.DataFrame]:
        with query_errors(name):
            for frame in _pieces(selected, rows, records):
                yield from frame.iter_slices(rows)

    size = None if path is None else path.stat().st_size
    columns = tuple(empty.columns)
    return Batches(columns, True, source, frames, records=records, size=size, empty=empty)


def _pieces(query: pl.LazyFrame, rows: int, records: int | None) -> Iterator[pl.DataFrame]:
    """Parts of a query; of a file, whose number of records is known, by their positions.

    Polars would read far ahead in a file while we count, and keep what it has read.
    """
    if records is None:
        yield from query.collect_batches(chunk_size=rows, maintain_order=True)
        return
    for start in range(0, records, PIECE * rows):
        yield query.slice(start, PIECE * rows).collect()


def _of_relation(relation: Any, choose: Choice, kind: str) -> Batches:

    with query_errors(f"the {kind}"):
        names = checked_names(relation.columns)
        chosen = choose(names)
        quoted = ['"' + name.replace('"', '""') + '"' for name in chosen]
        selected = relation.project(", ".join(quoted))
        rows = batch_rows(len(chosen))
        # The empty table has the types of all batches, and faults of types turn up early.
        chosen_columns(_converted(selected.limit(0).to_arrow_table()).lazy(), lambda _: chosen)

    def frames() -> Iterator[pl.DataFrame]:
        with query_errors(f"the {kind}"):
            start = getattr(selected, "to_arrow_reader", None) or selected.fetch_record_batch
            with closing(start(rows)) as reader:
                for batch in reader:
                    yield _converted(batch)

    return Batches(tuple(chosen), True, kind, frames)


def _of_dataset(dataset: Any, choose: Choice, kind: str) -> Batches:

    with query_errors(f"the {kind}"):
        chosen = choose(checked_names(dataset.schema.names))
        refuse_wide(dataset, chosen)
        rows = batch_rows(len(chosen))
        chosen_columns(_converted(_empty(dataset.schema, chosen)).lazy(), lambda _: chosen)

    def frames() -> Iterator[pl.DataFrame]:
        with query_errors(f"the {kind}"):
            for batch in dataset.to_batches(
                columns=chosen, batch_size=rows, batch_readahead=2, fragment_readahead=1
            ):
                yield _converted(batch)

    return Batches(tuple(chosen), True, kind, frames)


def _of_reader(reader: Any, choose: Choice, kind: str) -> Batches:

    with query_errors(f"the {kind}"):
        chosen = choose(checked_names(reader.schema.names))
        refuse_wide(reader, chosen)
        rows = batch_rows(len(chosen))
        chosen_columns(_converted(_empty(reader.schema, chosen)).lazy(), lambda _: chosen)

    def frames() -> Iterator[pl.DataFrame]:
        with query_errors(f"the {kind}"):
            for batch in reader:
                yield from _converted(batch.select(chosen)).iter_slices(rows)

    return Batches(tuple(chosen), True, kind, frames, repeatable=False)


def _empty(schema: Any, chosen: Sequence[str]) -> Any:
    return schema.empty_table().select(chosen)


def _converted(batch: Any) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(batch)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _of_paths(paths: Sequence[object], form: TextFormat, choose: Choice) -> Batches:
    parts = [_of_path(path, form, choose) for path in checked_paths(paths)]
    check_alike([(part.source, part.columns, part.typed, part.hint) for part in parts])
    tops = [part.empty for part in parts if part.empty is not None]
    types = concat(tops).schema if tops else None
    heights = [0] * len(parts)

    def frames() -> Iterator[pl.DataFrame]:
        for i, part in enumerate(parts):
            heights[i] = 0
            for frame in part.frames():
                heights[i] += frame.height
                yield frame if types is None else frame.cast(types)

    def place(record: int) -> str:
        for part, height in zip(parts, heights, strict=True):
            if record <= height:
                return part.place(record)
            record -= height
        return f"record {record:,}"

    return Batches(
        parts[0].columns,
        parts[0].typed,
        " + ".join(part.source for part in parts),
        frames,
        notes=(*(note for part in parts for note in part.notes), *repeated(paths)),
        records=sum(part.records or 0 for part in parts),
        size=sum(part.size or 0 for part in parts),
        place=place,
    )
