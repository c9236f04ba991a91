"""Tables and domain files that nobody would write on purpose end in an error of this package."""

from __future__ import annotations

import datetime
import decimal
import os
from csv import field_size_limit
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from seepage import Channel, audit, randomized_response
from seepage.channel import lambda_response
from seepage.domain import MISSING_LABEL, OTHER_LABEL
from seepage.errors import CapacityError, DomainError, InvalidInputError, SeepageError, TableError
from seepage.leakage.baselines import hcc2
from seepage.tables import count_table, delimited, domain_from_yaml, load
from seepage.tables.arrow import arrow_head


def csv(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "t.csv"
    path.write_text(text)
    return load(path, **options)


# --- Arrow -------------------------------------------------------------------------------------


def arrow(path: Path, table: Any, *, stream: bool) -> Path:
    ipc = pytest.importorskip("pyarrow.ipc")
    create = ipc.new_stream if stream else ipc.new_file
    with create(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_that_the_reader_cannot_take(tmp_path, stream, capfd):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "t.arrow"
    twice = pa.Table.from_arrays([pa.array([1, 2])] * 3, names=["a", "b", "a"])
    with pytest.raises(TableError, match="'a' 2 times"):
        load(arrow(path, twice, stream=stream))
    for width in (5, 50):
        numbers = pa.array([decimal.Decimal("1.5")] * 2, type=pa.decimal256(width, 2))
        wide = pa.table({"n": numbers, "x": ["u", "v"]})
        arrow(path, wide, stream=stream)
        with pytest.raises(TableError, match=r"'n'.*128 bits.*decimal256"):
            load(path)
        with pytest.raises(TableError, match=r"'n'.*128 bits.*decimal256"):
            load(wide)
        assert load(wide, exclude=["n"]).domain.names == ("x",)
        assert load(path, exclude=["n"]).domain.names == ("x",)
    nested = pa.table({"n": pa.array([[1], [2]], type=pa.list_(pa.int64())), "x": ["u", "v"]})
    with pytest.raises(TableError, match="'n'"):
        load(arrow(path, nested, stream=stream))
    assert "panicked" not in capfd.readouterr().err


def test_arrow_stream_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = arrow(tmp_path / "s.arrow", pa.table({"x": ["u", "v"], "y": [1, 2]}), stream=True)
    assert load(path).codes.tolist() == [[0, 0], [1, 1]]
    assert load(path, columns=["y"]).domain.names == ("y",)


def test_damaged_arrow_heads(tmp_path, capfd):
    pa = pytest.importorskip("pyarrow")
    path = arrow(tmp_path / "s.arrow", pa.table({"x": ["u", "v"], "y": [1, 2]}), stream=True)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(whole[:400])
        for place in rng.integers(8, 300, 5):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        arrow_head(path)
    for data in (b"\xff", b"\xff" * 8, b"ARROW1\0\0", whole[:30]):
        path.write_bytes(data)
        assert arrow_head(path).names == ()
        with pytest.raises(TableError, match=r"s\.arrow"):
            load(path)
    assert "panicked" not in capfd.readouterr().err


# --- frames ------------------------------------------------------------------------------------


def test_integers_that_floats_cannot_tell_apart():
    large = {"a": [2**60 + i for i in range(100)], "b": ["u", "v"] * 50}
    table = load(large)
    assert table.domain.shape == (100, 2)
    assert any("too large to tell apart" in note for note in table.notes)
    audit(large)
    spread = load({"a": [2**57 * (i + 1) for i in range(30)], "b": ["u", "v"] * 15})
    assert spread.domain["a"].edges is not None


@pytest.mark.parametrize(
    "times",
    [
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]"),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[ns]"),
        np.array([datetime.datetime(2020, 1, 1), None], dtype=object),
        [np.timedelta64(1, "ns"), np.timedelta64(2, "ns")],
        [np.datetime64("2020-01-01"), None],
    ],
)
def test_times_are_never_numbers(times):
    with pytest.raises(TableError, match=r"'a'.*month"):
        load({"a": times, "b": ["u", "v"]})


def test_masked_arrays():
    masked = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    assert load({"a": masked}).domain["a"].categories == (1, 3, MISSING_LABEL)


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError


class Ruder(Rude):
    @property
    def columns(self) -> None:
        raise RuntimeError


def failing(value: object) -> str:
    msg = f"no luck with {value}"
    raise RuntimeError(msg)


LAZY = pl.LazyFrame({"a": ["x", "y"]}).select(pl.col("a").map_elements(failing, pl.String))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Rude(), "got"),
        (Ruder(), "got"),
        ({"a": [Rude(), Rude()]}, "'a'"),
        ({"a": Rude()}, "'a'"),
        ({"a": ["x", Rude()]}, "'a'"),
        ({Rude(): ["x"]}, "names"),
        ({"a": (1 / x for x in (1, 0))}, "'a'.*division"),
        ({"\ud800": ["x"]}, r"\\ud800"),
        ({"a": ["x", "\udc80"]}, r"'a'.*\\udc80.*record 2"),
        ({"a": [10**400, 1.5]}, "floating.*'a'"),
        ({"a": [-(2**63), 2**63]}, "64 bits.*'a'.*9223372036854775808"),
        ({"a": [10**5000, 1]}, "64 bits.*'a'"),
        (LAZY, "no luck"),
        ("x" * 5000 + ".csv", "name"),
        (["x" * 5000 + ".csv"], "name"),
        ("nul\0.csv", "does not exist"),
        (os.devnull, "pipe or a device"),
    ],
    ids=range(17),
)
def test_hostile_sources(source, message):
    with pytest.raises(TableError, match=message) as caught:
        load(source)
    assert len(str(caught.value)) < 600


def test_failing_relation():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().sql("select error('no luck') as a")
    with pytest.raises(TableError, match="no luck"):
        load(relation)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    os.mkfifo(path)
    with pytest.raises(TableError, match="pipe or a device"):
        load(path)


# --- text files --------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "undefined", "klingon", "a\0b", 7])
def test_encodings_that_are_not_of_text(tmp_path, encoding):
    with pytest.raises(InvalidInputError, match="encoding"):
        csv(tmp_path, "a,b\n1,2\n", encoding=encoding)


def test_surrogates_through_an_encoding(tmp_path):
    with pytest.raises(TableError, match="surrogate"):
        csv(tmp_path, "a,b\n\\ud800,2\n", encoding="unicode_escape")


MANY = [str(i) for i in range(21)]


@pytest.mark.parametrize(
    ("values", "text", "line"),
    [
        (["1", "foo", "2.5"], "foo", 3),
        (["1.5", "", "oops", "bar", "2", "3"], "oops", 4),
        ([*MANY, "NN"], "NN", 23),
        (["1.5", "2.5", "?"], r"\?", 4),
    ],
)
def test_numbers_with_stray_texts(tmp_path, values, text, line):
    body = "a,b\n" + "".join(f"{value},u\n" for value in values)
    with pytest.raises(TableError, match=rf"'a'.*'{text}' in line {line} of t\.csv.*--null"):
        csv(tmp_path, body)
    allowed = csv(tmp_path, body, bins={"a": "none"})
    assert allowed.domain["a"].edges is None
    strays = [x for x in values if x.isalpha() or x == "?"]
    assert not any(isinstance(x, str) for x in numbers_of(csv(tmp_path, body, null_values=strays)))
    declared = {"a": [x for x in values if x], "b": ["u"]}
    text_domain = "columns:\n" + "".join(f"  {k}: {v!r}\n" for k, v in declared.items())
    if "" not in values:
        assert csv(tmp_path, body, domain=domain_from_yaml(text_domain)).size == len(values)


def numbers_of(table: Any) -> list[Any]:
    attribute = table.domain["a"]
    return [] if attribute.edges else [x for x in attribute.categories if x != MISSING_LABEL]


def test_the_line_of_a_stray_text_in_the_second_file(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a,b\n1.5,u\n2.5,v\n")
    second.write_text('a,b\n3.5,"u\n\nv"\n\nstray,w\n')
    with pytest.raises(TableError, match=r"'stray' in line 6 of 2\.csv"):
        load([first, second])


@pytest.mark.parametrize(
    "values",
    [
        ["0", "1", "2-3", "4+"],
        ["1301", "01301", *map(str, range(10_000, 10_030))],
        ["250.01", "250.83", "276", "V57"],
        ["1", "2", "foo"],
        ["1.5", "foo", "bar"],
        [*MANY, "21+"],
    ],
)
def test_codes_stay_categories(tmp_path, values):
    table = csv(tmp_path, "a,b\n" + "".join(f"{value},u\n" for value in values))
    assert set(table.domain["a"].categories) == set(values)
    assert any("'a'" in note and "are read as categories" in note for note in table.notes)


def test_note_on_a_mixture_is_exact(tmp_path):
    notes = csv(tmp_path, "a,b\n1,u\nfoo,v\n2,u\n").notes
    assert "Column 'a': 2 numbers and 1 text ('foo') are read as categories." in notes


def test_texts_that_are_our_labels():
    merged = load({"a": ["x", MISSING_LABEL, None, MISSING_LABEL]})
    assert any("'(missing)' in 2 records" in note for note in merged.notes)
    pooled = load({"a": ["x"] * 3 + [OTHER_LABEL, "y"]}, min_count=2)
    assert any("'(other)' in 1 record:" in note for note in pooled.notes)
    plain = load({"a": ["x", MISSING_LABEL, OTHER_LABEL]})
    assert not any("shares one" in note for note in plain.notes)


def test_a_file_given_twice(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\nx,1\n")
    notes = load([path, tmp_path / "." / "people.csv"]).notes
    assert any(note.startswith("people.csv is given twice") for note in notes)
    other = tmp_path / "other.csv"
    other.write_text("a,b\nx,1\n")
    assert not any("is given" in note for note in load([path, other]).notes)


LONG = "y" * 3_000_000
"""The standard library reads fields of 131,072 characters at most, if it is not told otherwise."""


@pytest.mark.parametrize(
    "text",
    [
        f"a,b\n1,{LONG}\n2,z\n1,z\n",
        f'a,b\n1, "{LONG}"\n2,z\n1,z\n',
        f"a,{LONG}\n1,x\n2,z\n1,z\n",
    ],
    ids=["field", "padded", "name"],
)
def test_long_fields(tmp_path, text):
    path = tmp_path / "long.csv"
    path.write_text(text)
    before = field_size_limit()
    for columns in (["a"], None):
        assert load(path, columns=columns).size == 3
        assert count_table(path, columns=columns).records == 3
    assert field_size_limit() == before


def test_a_long_field_in_a_column_of_its_own(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(f"a\n{LONG}\n\nx\n")
    assert load(path).domain["a"].size == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_LONGEST", 1000)
        with pytest.raises(TableError, match="a fault: field larger than field limit"):
            load(path)


# --- domain files ------------------------------------------------------------------------------

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGES = "m0: &m0 {a0: 1, b0: 2}\n" + "".join(
    f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
RANGE = '{{"a": {{"min_value": {}, "max_value": {}, "bin_edges": {}}}}}'
SMART = '{{"": {{"s": {{"t": {{"a": {{"type": "int", {}}}}}}}}}}}'


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        BOMB + "columns: {c: *a11}\n",
        BOMB + "columns: {c: {categories: *a11}}\n",
        BOMB + "columns: {c: {bins: *a11}}\n",
        BOMB + "columns: {c: {categories: [x], missing: *a11}}\n",
        MERGES,
        "columns: &c {a: *c}\n",
        "columns: {a: &c [x, *c]}\n",
        '{"columns": ' + "[" * 100_000,
        '{"columns": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "columns:\n  a: " + "[" * 5000,
        "columns: {a: [!!bool zz]}",
        "columns: {a: [!!int zz]}",
        "columns: {a: [!!timestamp zz]}",
        "columns: {a: [!!float zz]}",
        "columns: {a: !!set {x}}",
        "columns: {a: [!!binary zzzz]}",
        "columns: {a: [!!int 0x" + "f" * 5000 + "]}",
        "columns: {a: {bins: [0, 1" + "0" * 400 + "]}}",
        "columns: {a: {bins: [0, 1" + "0" * 5000 + "]}}",
        '{"columns": {"a": {"bins": [0, 1' + "0" * 400 + "]}}}",
        '{"columns": {"a": {"bins": [0, 1' + "0" * 5000 + "]}}}",
        "columns: {a: {bins: [0, 1], labels: 7}}",
        "columns: {a: {categories: [x], other: {y: z}}}",
        '{"columns": {"a": ["\\ud800"]}}',
        '{"columns": {"\\ud800": ["x"]}}',
        RANGE.format(0, "[1, 2]", "[]"),
        RANGE.format(0, 1, 7),
        RANGE.format(0, 1, '["a", "b"]'),
        RANGE.format(0, 1, "[[1], [2]]"),
        RANGE.format(0, "1" + "0" * 400, "[]"),
        RANGE.format(0, 1, "[1" + "0" * 400 + "]"),
        '{"a": {"possible_values": [["x"], "y"]}}',
        '{"a": {"possible_values": {"x": 1}}}',
        SMART.format('"lower": [1], "upper": 2'),
        SMART.format('"lower": 1, "upper": 1' + "0" * 400),
        SMART.format('"categories": [[1]]'),
        SMART.format('"categories": 7'),
        SMART.format('"categories": [1], "missing_value": [2]'),
    ],
    ids=range(39),
)
def test_hostile_domain_files(text):
    with pytest.raises(DomainError) as caught:
        domain_from_yaml(text if "\n" in text or "{" in text else f"{text}\n")
    assert len(str(caught.value)) < 1000


def test_domain_path_that_is_too_long():
    with pytest.raises(DomainError, match="read"):
        domain_from_yaml("x" * 5000)


# --- channels ----------------------------------------------------------------------------------


def test_arguments_of_channels():
    with pytest.raises(InvalidInputError, match="epsilon"):
        hcc2(np.eye(2), [[1, 2], [3]])
    assert hcc2(np.eye(2), [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert isinstance(hcc2(np.eye(2), 1), float)
    for build in (lambda: randomized_response(10**9, 1), lambda: Channel.identity(10**9)):
        with pytest.raises(CapacityError, match="GB"):
            build()
    with pytest.raises(CapacityError, match="GB"):
        lambda_response(10**5, 0.5)
    wide = randomized_response(100, 1)
    with pytest.raises(CapacityError, match="100,000,000"):
        wide.product(wide)
    assert issubclass(CapacityError, SeepageError)
