"""Saved counts: what is written is read, and nothing else is."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from seepage import audit, calibrate, total_leakage
from seepage.counts import PairCounts
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InvalidInputError, SeepageError, TableError
from seepage.plan.totals import prepare
from seepage.tables import (
    CountedTable,
    count_archive,
    count_table,
    load,
    open_table,
    opening,
    read_counts,
    write_counts,
)
from seepage.tables.count_files import counts_to_bytes

MIXED = Domain(
    (
        Attribute("kind", ("1", 1, 1.0, True, "é", "?"), missing="?"),
        Attribute("size", ("small", "large"), edges=(-np.inf, 1.5, np.inf)),
        Attribute("one", ("only",)),
    )
)


def counted(scale=1, seed=3, **changes):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, k, 50) for k in MIXED.shape], axis=1)
    counts = PairCounts.from_codes(MIXED, codes, np.full(50, scale))
    values = {
        "counts": counts, "source": "some.parquet", "notes": ("A note – with ε.",), "records": 50,
        "weighted": scale != 1,
    }  # fmt: skip
    return CountedTable(**(values | changes))


@pytest.mark.parametrize("scale", [1, 20, 2000, 2**33])
def test_counts_are_read_as_they_were_written(scale, tmp_path):
    path = tmp_path / "a.counts"
    before = counted(scale)
    write_counts(before, path)
    after = read_counts(str(path))
    assert after.counts == before.counts
    assert (after.source, after.notes) == (before.source, before.notes)
    assert (after.records, after.weighted) == (50, scale != 1)
    assert counts_to_bytes(after) == path.read_bytes()
    assert not after.counts.pairs[0].flags.writeable


def parts_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("counts.json")), archive.read("tables.bin")


def packed(head, body, *, seal=False):
    if seal:
        head = head | {"checksum": count_archive.checksum(head, body)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("counts.json", json.dumps(head))
        archive.writestr("tables.bin", body)
    return stream.getvalue()


def test_every_truncated_file_is_refused(tmp_path):
    content = counts_to_bytes(counted())
    path = tmp_path / "a.counts"
    for length in range(0, len(content), 41):
        path.write_bytes(content[:length])
        with pytest.raises(TableError, match=r"damaged or edited file"):
            read_counts(path)


def test_every_flipped_byte_is_refused_or_changes_nothing(tmp_path):
    before = counted()
    content = counts_to_bytes(before)
    path = tmp_path / "a.counts"
    refused = 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            assert read_counts(path).counts == before.counts
        except TableError:
            refused += 1
    assert refused > len(content) // 7 / 2


EDITS = {
    "notes": lambda head: {"notes": [*head["notes"], "all is well"]},
    "records": lambda head: {"records": 49},
    "columns": lambda head: {"columns": head["columns"][::-1]},
    "checksum": lambda head: {"checksum": "0" * 64},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_files_are_refused(edit, tmp_path):
    head, body = parts_of(counts_to_bytes(counted()))
    path = tmp_path / "a.counts"
    path.write_bytes(packed(head, body))
    assert read_counts(path).counts == counted().counts
    path.write_bytes(packed(head | edit(head), body))
    with pytest.raises(TableError, match="checksum does not fit"):
        read_counts(path)


HOSTILE = {
    "version": ({"version": 2}, "version 1 of the format seepage.counts, got version 2"),
    "no version": ({"version": None}, "got version None"),
    "true": ({"version": True}, "got version True"),
    "format": ({"format": "else"}, "does not say that its format"),
    "width": ({"width": 3}, "width is 3"),
    "long width": ({"width": 10**9}, "width is"),
    "total": ({"total": 51}, "do not add up"),
    "records": ({"records": 0}, "do not add up"),
    "notes": ({"notes": [1]}, "damaged"),
    "source": ({"source": None}, "source is None"),
    "columns": ({"columns": 3}, "damaged"),
    "no columns": ({"columns": []}, "at least one"),
    "category": ({"columns": [{"name": "a", "categories": [None]}]}, "damaged"),
    "wide": (
        {
            "columns": [
                {
                    "name": x,
                    "categories": list(range(8000)),
                    "edges": None,
                    "missing": None,
                    "other": None,
                }
                for x in "ab"
            ]
        },
        "at most 50,000,000 cells",
    ),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_by_a_typed_error(change, message, tmp_path):
    head, body = parts_of(counts_to_bytes(counted()))
    path = tmp_path / "a.counts"
    path.write_bytes(packed(head | change, body, seal=True))
    with pytest.raises(SeepageError, match=message):
        read_counts(path)


def test_tables_that_contradict_each_other_are_refused(tmp_path):
    head, body = parts_of(counts_to_bytes(counted()))
    swapped = bytearray(body)
    swapped[0], swapped[1] = body[1] + 1, body[0] - 1
    path = tmp_path / "a.counts"
    path.write_bytes(packed(head, bytes(swapped), seal=True))
    with pytest.raises(TableError, match="do not add up"):
        read_counts(path)
    path.write_bytes(packed(head, body + b"\0" * 10**6, seal=True))
    with pytest.raises(TableError, match="damaged"):
        read_counts(path)


@pytest.mark.parametrize("size", [2, 4])
def test_counts_that_wrap_around_are_refused(size, tmp_path):
    """Cells of 2^62: integers of 64 bits take two of them for −2^63, and four for 0."""
    domain = Domain.of({"a": range(size), "b": range(size)})
    table = np.full((size, size), 2**62)
    singles = (table.sum(axis=1), table.sum(axis=0))
    counts = PairCounts(domain, int(table.sum()), singles, (table,))
    path = tmp_path / "a.counts"
    path.write_bytes(counts_to_bytes(CountedTable(counts, "x", (), 1, True)))
    with pytest.raises(TableError, match=r"add up to 2\^62 or more"):
        read_counts(path)


def test_many_files_cannot_overflow_unseen(tmp_path):
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    codes, weights = np.array([[0, 0], [1, 1], [0, 1]]), np.array([2**61, 2**58, 2**58])
    counts = PairCounts.from_codes(domain, codes, weights)
    path = tmp_path / "big.counts"
    write_counts(CountedTable(counts, "s", (), 3, True), path)
    # By hand: b = 0 given a = 0 is 8/9 likely, and never given a = 1.
    leakage = audit(path).pair("a", "b").leakage.value
    assert leakage == pytest.approx(np.log((8 * np.e + 1) / 9), rel=1e-9)
    for times in (2, 8):
        with pytest.raises(
            InvalidInputError, match=r"less than 2\^62.*big\.counts and .*big\.counts"
        ):
            audit([path] * times)


def test_errors_of_merging_name_the_files(tmp_path):
    """Their sources tell nothing, as all were counted from frames."""
    frame = pl.DataFrame(TABLE)
    paths = [tmp_path / f"{name}.counts" for name in ("one", "two", "three")]
    domain = load(TABLE).domain
    write_counts(count_table(frame, domain=domain), paths[0])
    write_counts(count_table(frame, domain=domain), paths[1])
    write_counts(count_table(frame[:40], columns=list(TABLE), bins={"age": 2}), paths[2])
    with pytest.raises(DomainError, match=r"for 'age' \(.*one\.counts and .*three\.counts\)"):
        audit(paths)
    weighted = frame.with_columns(w=pl.lit(2))
    write_counts(count_table(weighted, domain=domain, weights="w"), paths[2])
    with pytest.raises(InvalidInputError, match=r"one\.counts \(not w.*three\.counts \(weighted\)"):
        audit(paths)


def test_a_file_of_counts_given_twice(tmp_path):
    first, second = saved(tmp_path)
    told = "a.counts is given twice: each of its records counts 2 times."
    assert told in open_table([first, second, tmp_path / "." / "a.counts"]).notes
    assert told in open_table([str(first), first], columns=["sex", "age"]).notes
    assert told in audit([first, first]).assumptions
    assert not any("is given" in note for note in open_table([first, second]).notes)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TableError, match="No such file"):
        read_counts(tmp_path / "none.counts")
    with pytest.raises(TableError):
        read_counts(tmp_path)
    with pytest.raises(InvalidInputError, match="expected the path"):
        read_counts(3)
    with pytest.raises(InvalidInputError, match="expected a CountedTable"):
        write_counts(counted().counts, tmp_path / "a.counts")
    with pytest.raises(InvalidInputError, match=r"ends in \.counts"):
        write_counts(counted(), tmp_path / "a.json")
    other = tmp_path / "a.counts"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("something", "else")
    with pytest.raises(TableError, match="damaged"):
        read_counts(other)
    assert [path.name for path in tmp_path.iterdir()] == ["a.counts"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.counts"
    write_counts(counted(), path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_counts(counted(seed=4), path)
    assert [x.name for x in tmp_path.iterdir()] == ["a.counts"]
    assert read_counts(path).counts == counted().counts


TABLE = {
    "sex": ["f", "m"] * 30,
    "smoker": ["no", "no", "yes"] * 20,
    "age": [20, 40, 60, 20, 40] * 12,
}


def saved(folder, **options):
    """Two parts in a declared domain."""
    domain = load(TABLE).domain
    paths = [folder / "a.counts", folder / "b.counts"]
    for path, rows in zip(paths, (slice(0, 25), slice(25, None)), strict=True):
        part = {name: values[rows] for name, values in TABLE.items()}
        write_counts(count_table(part, domain=domain, **options), path)
    return paths


def test_audit_and_calibrate_take_saved_counts(tmp_path):
    paths = saved(tmp_path)
    whole, parts = audit(TABLE, triples=False), audit(paths)
    for a, b in zip(whole.pairs, parts.pairs, strict=True):
        assert (a.leakage, a.sampled, a.support) == (b.leakage, b.sampled, b.support)
    values = [[x.value for x in result.totals.values()] for result in (whole, parts)]
    assert values[0] == values[1]
    assert parts.records == 60
    assert any("only pairwise counts are at hand" in note for note in parts.assumptions)
    assert calibrate(TABLE, 2.0).budgets == calibrate(paths, 2.0).budgets
    direct = read_counts(paths[0])
    assert audit(direct).records == 25
    assert calibrate(direct, 2.0).target == 2.0
    assert prepare(paths).codes is None
    assert total_leakage(paths, 1.0)["sex"] == total_leakage(TABLE, 1.0)["sex"]
    only = audit(paths, columns=["age", "sex"])
    assert only.domain.names == ("age", "sex")
    assert audit(paths, exclude=["age"]).domain.names == ("sex", "smoker")


def test_what_needs_records_says_so(tmp_path):
    paths = saved(tmp_path)
    with pytest.raises(InvalidInputError, match="expected records"):
        audit(paths, triples=True)
    with pytest.raises(InvalidInputError, match="expected records"):
        audit(read_counts(paths[0]), triples=True)
    with pytest.raises(InvalidInputError, match="expected records"):
        total_leakage(paths, 1.0, method="joint")
    with pytest.raises(InvalidInputError, match=r"no reading options with counts.*bins"):
        audit(paths, bins={"age": 2})
    with pytest.raises(InvalidInputError, match="no reading options"):
        audit(read_counts(paths[0]), columns=["sex"])
    with pytest.raises(InvalidInputError, match=r"tables or \.counts files, got both"):
        audit([paths[0], tmp_path / "t.csv"])
    with pytest.raises(DomainError, match="'sox'"):
        audit(paths, exclude=["sox"])
    with pytest.raises(InvalidInputError, match="got none after leaving columns out"):
        audit(paths, exclude=list(TABLE))


def test_weighted_counts_have_no_limits(tmp_path):
    domain = load(TABLE).domain
    table = TABLE | {"w": [1, 2, 3] * 20}
    path = tmp_path / "w.counts"
    write_counts(count_table(table, domain=domain, weights="w"), path)
    result, whole = audit(path), audit(table, domain=domain, weights="w", triples=False)
    assert (result.records, result.weight) == (whole.records, whole.weight) == (60, 120)
    assert result.pairs[0].sampled is None
    assert result.pairs[0].leakage == whole.pairs[0].leakage


def test_large_and_lazy_tables_are_counted(tmp_path, monkeypatch):
    import polars as pl

    frame = pl.DataFrame(TABLE)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    assert isinstance(open_table(frame.lazy()), CountedTable)
    assert not isinstance(open_table(frame.lazy(), records=True), CountedTable)
    for name in ("t.parquet", "t.csv"):
        assert not isinstance(open_table(tmp_path / name), CountedTable)
    monkeypatch.setattr(opening, "LARGE_CELLS", 180)
    monkeypatch.setattr(opening, "LARGE_TEXT", 100)
    for name in ("t.parquet", "t.csv"):
        assert isinstance(open_table([tmp_path / name]), CountedTable)
        result = audit(tmp_path / name)
        assert result.triples is None
        assert audit(tmp_path / name, triples=True).triples is not None
        assert [p.leakage for p in result.pairs] == [p.leakage for p in audit(frame).pairs]
    assert total_leakage(tmp_path / "t.csv", 1.0, "sex", "joint")["sex"] >= 1
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(TableError, match=r"bad\.parquet"):
        open_table(tmp_path / "bad.parquet")


def test_files_with_the_same_tables_of_one_source(tmp_path):
    first, second = saved(tmp_path)
    copy = tmp_path / "copy.counts"
    copy.write_bytes(first.read_bytes())
    source = read_counts(first).source
    told = (
        f"a.counts and copy.counts hold the same counts of {source}: if these are the same "
        "records, each counts twice."
    )
    assert told in open_table([first, second, copy]).notes
    assert told in audit([first, copy]).assumptions
    # Other tables, or another source with the same tables, say nothing; nor does a name twice.
    other = tmp_path / "other.counts"
    write_counts(replace(read_counts(first), source="elsewhere"), other)
    for paths in ([first, second], [first, other], [first, first], [first]):
        assert not any("the same counts" in note for note in open_table(paths).notes)
