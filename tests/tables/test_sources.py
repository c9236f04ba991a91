"""The same data from every kind of source, and every kind of broken file."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.domain import Domain
from seepage.errors import InvalidInputError, TableError
from seepage.tables import load

FRAME = pl.DataFrame(
    {
        "word": ["b", "a", None, "c", "a", "Zürich, old", 'say "x"', "b"],
        "flag": [True, False, None, True, True, False, True, None],
        "whole": [3, 1, 2, None, 3, 3, 1, 2],
        "real": [0.5, 1.25, None, -3.0, 7.5, 0.5, 2.0, 1e-3],
        "empty": pl.Series([None] * 8, dtype=pl.String),
    }
)


def write(folder, frame):
    """Every source of the same data."""
    frame.write_csv(folder / "t.csv")
    frame.write_csv(folder / "t.tsv", separator="\t")
    frame.write_csv(folder / "semicolon.txt", separator=";")
    frame.write_parquet(folder / "t.parquet")
    frame.write_ipc(folder / "t.arrow")
    frame.to_pandas().to_csv(folder / "pandas.csv", index=False)
    return [
        folder / "t.csv",
        str(folder / "t.tsv"),
        folder / "semicolon.txt",
        folder / "t.parquet",
        folder / "t.arrow",
        folder / "pandas.csv",
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_pandas(use_pyarrow_extension_array=True),
        frame.to_arrow(),
        duckdb.from_arrow(frame.to_arrow()),
        frame.to_dict(as_series=False),
        frame.to_dict(),
    ]


def test_every_source_gives_the_same_table(tmp_path):
    expected = load(FRAME)
    assert expected.domain["word"].categories == (
        *("Zürich, old", "a", "b", "c", 'say "x"'),
        "(missing)",
    )
    assert expected.domain["whole"].categories == (1, 2, 3, "(missing)")
    assert expected.domain["empty"].categories == ("(missing)",)
    for source in write(tmp_path, FRAME):
        found = load(source)
        assert found.domain == expected.domain, source
        assert np.array_equal(found.codes, expected.codes)
        assert found.notes == expected.notes
        assert found.counts() == expected.counts()


WORDS = st.sampled_from(["a", "b", "Ä", "x y", "q,r", 'q"r', "l\nm", "(none)", "é", "0x"])
COLUMNS = {
    "word": st.one_of(st.none(), WORDS),
    "flag": st.one_of(st.none(), st.booleans()),
    "whole": st.one_of(st.none(), st.integers(-(2**52), 2**52)),
    "real": st.one_of(st.none(), st.floats(-1e6, 1e6)),
}


@settings(max_examples=40)
@given(st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=20))
def test_random_frames_agree_between_sources(tmp_path_factory, rows):
    schema = {"word": pl.String, "flag": pl.Boolean, "whole": pl.Int64, "real": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema)
    expected = load(frame)
    folder = tmp_path_factory.mktemp("random")
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet")
    mapping = {name: [row[name] for row in rows] for name in schema}
    sources = [folder / "t.csv", folder / "t.parquet", frame.to_pandas(), frame.to_arrow(), mapping]
    for source in sources:
        found = load(source)
        assert found.domain == expected.domain
        assert np.array_equal(found.codes, expected.codes)


def csv(tmp_path, text, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got an empty file"),
        ("\n\n", "got an empty file"),
        ("a,b\n", "got a header only"),
        ("a,b", "got a header only"),
        ("a,b,a\n1,2,3\n", r"got 'a' in columns \[1, 3\]"),
        ("a,b\n1,2\n\n3\n4,5\n", r"got 1 in line 4"),
        ("a,b\n1,2\n3,4,5\n6\n", r"got 3 in line 3 \(2 records differ\)"),
        ('a,b\n"x\ny",2\n3\n', "got 1 in line 4"),
        ("a,b\n1,2,3\n4,5,6\n", r"every other record\. Give names=\[...\] with 3"),
        ('a,b\n"x,2\n', "to be closed"),
        (b"a,b\n1,2\nM\xfcnchen,3\n", "byte 0xfc in line 3. Name its encoding"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-8"),
        ("a,b\n1,\0\n", "NUL"),
    ],
)
def test_broken_text_files(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        csv(tmp_path, text)


def test_blanks_of_declared_categories_count(tmp_path):
    """Also in a single column; a blank before a quote is padding."""
    domain = Domain.of({"a": [" x", "x", "y"]})
    path = tmp_path / "one.csv"
    path.write_text('a\n x\nx\n  y\n"x "\n')
    one = load(path, domain=domain)
    assert one.codes.ravel().tolist() == [0, 1, 2, 1]
    path.write_text('a\n "x"\n y\n')
    quoted = load(path, domain=domain)
    assert quoted.codes.ravel().tolist() == [1, 2]


def test_text_options(tmp_path):
    latin = csv(tmp_path, "a,b\nMünchen,1\n".encode("latin-1"), encoding="latin-1")
    assert latin.domain["a"].categories == ("München",)
    wide = csv(tmp_path, "a,b\nMünchen,1\n".encode("utf-16"), encoding="utf-16")
    assert wide.domain == latin.domain
    marked = csv(tmp_path, b"\xef\xbb\xbfa,b\r\nx,1\r\ny,2\r\n")
    assert marked.domain.names == ("a", "b")
    assert marked.domain["b"].categories == (1, 2)
    headless = csv(tmp_path, "x, 1\ny, 2\n\n", name="t.data", header=False)
    assert headless.domain.names == ("column_1", "column_2")
    named = csv(tmp_path, "p,q\nx,1\n", names=["a", "b"])
    assert named.domain.names == ("a", "b")
    assert named.size == 1
    remark = csv(tmp_path, "# it's \"so\na|b\n#x\n1|2\n", comment="#")
    assert remark.domain.shape == (1, 1)
    with pytest.raises(TableError, match="got 1 in line 5"):
        csv(tmp_path, "# one\na|b\n#x\n1|2\n3\n", comment="#")
    padded = csv(tmp_path, 'a, b\n"x, y", "z"\n', name="t.txt")
    assert padded.domain["a"].categories == ("x, y",)
    assert padded.domain["b"].categories == ("z",)
    inches = csv(tmp_path, 'a,b\n5" pipe,1\n', quote=None)
    assert inches.domain["a"].categories == ('5" pipe',)
    unnamed = csv(tmp_path, ",b\nx,1\n")
    assert unnamed.domain.names == ("column_1", "b")
    assert any("has no name" in note for note in unnamed.notes)
    assert csv(tmp_path, ",b\nx,1\n", names=["a", "b"]).domain.names == ("a", "b")
    kept = csv(tmp_path, "a,b\n x ,1\nx,2\n", strip=False)
    assert kept.domain["a"].categories == (" x ", "x")
    dotted = csv(tmp_path, "a,b\n x. ,1\nx,2\n", strip=".")
    assert dotted.domain["a"].categories == ("x",)
    single = csv(tmp_path, "a\nx\n\ny\n")
    assert single.codes[:, 0].tolist() == [0, 2, 1]
    for options in ({"separator": ",,"}, {"quote": "é"}, {"encoding": "klingon"}, {"comment": ""}):
        with pytest.raises(InvalidInputError):
            csv(tmp_path, "a,b\n1,2\n", **options)


def test_types_of_text_fields(tmp_path):
    text = "zip,id,neg,exp,truth,nan,mixed,big\n"
    text += "01301,123456789012345678901,-1,1e3,True,1.5,1,9007199254740993\n"
    text += "1301,123456789012345678902,-2,2.,False,NaN,x,9007199254740992\n"
    text += "1301,123456789012345678902,-2,2.,False,NaN,x,\n"
    table = csv(tmp_path, text)
    categories = {a.name: a.categories for a in table.domain}
    assert categories["zip"] == ("01301", "1301")
    assert categories["id"] == ("123456789012345678901", "123456789012345678902")
    assert categories["neg"] == (-2, -1)
    assert categories["exp"] == (2, 1000)
    assert categories["truth"] == (False, True)
    assert categories["mixed"] == ("1", "x")
    assert categories["big"] == (9007199254740992, 9007199254740993, "(missing)")
    assert table.domain["nan"].missing == "(missing)"


def test_several_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("x,y\n3,\n")
    (tmp_path / "c.csv").write_text("x,z\n3,c\n")
    both = load([tmp_path / "a.csv", str(tmp_path / "b.csv")])
    assert both.domain["x"].categories == (1, 2, 3)
    assert both.source == "a.csv + b.csv"
    with pytest.raises(TableError, match=r"c.csv to have the columns of a.csv.*'y', 'z'"):
        load([tmp_path / "a.csv", tmp_path / "c.csv"])
    with pytest.raises(TableError, match="empty list"):
        load([])
    with pytest.raises(TableError, match="list of paths"):
        load([FRAME])
    pl.DataFrame({"x": [1], "y": ["a"]}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(TableError, match="files of one kind"):
        load([tmp_path / "a.csv", tmp_path / "p.parquet"])


def test_unreadable_files(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        load(tmp_path / "none.csv")
    with pytest.raises(TableError, match="folder"):
        load(tmp_path)
    other = tmp_path / "t.xlsx"
    other.write_bytes(b"x")
    with pytest.raises(TableError, match=r"expected a file that ends in \.csv"):
        load(other)
    for name in ("t.parquet", "t.arrow"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(TableError, match="empty file"):
            load(tmp_path / name)
        (tmp_path / name).write_bytes(b"not a table at all" * 9)
        with pytest.raises(TableError, match=name):
            load(tmp_path / name)


@pytest.mark.parametrize("source", [3, None, "x" * 9, pl.Series([1]), np.ones((2, 2)), object()])
def test_what_is_no_table(source):
    with pytest.raises(TableError):
        load(source)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, "x"]}, r"one type in column 'a', got number \(1\), text \('x'\)"),
        ({"a": [True, 1]}, "truth value"),
        ({"a": [datetime.date(2020, 1, 1)]}, "Derive a category"),
        ({"a": [[1], [2]]}, "object of type list"),
        ({"a": [2**70]}, "64 bits"),
        ({"a": [1, 2], "b": [1]}, "columns of one length"),
        ({"a": "xyz"}, "sequence of values"),
        ({1: [1], "1": [2]}, "different column names"),
        ({}, "at least one column"),
        ({"a": []}, "expected records"),
    ],
)
def test_mappings_that_do_not_work(columns, message):
    with pytest.raises(TableError, match=message):
        load(columns)


def test_object_columns_of_pandas():
    frame = pd.DataFrame({"a": pd.Series(["x", None, float("nan"), pd.NA], dtype=object)})
    assert load(frame).codes[:, 0].tolist() == [0, 1, 1, 1]
    mixed = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "b": [1, 2]})
    with pytest.raises(TableError, match="one type in column 'a'"):
        load(mixed)
    assert load(mixed, columns=["b"]).domain.shape == (2,)
    double = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match="different column names, got 'a' 2 times"):
        load(double)
    kinds = pd.DataFrame(
        {
            "category": pd.Categorical([3, None, 1], categories=[9, 3, 1]),
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "truth": pd.array([True, None, False], dtype="boolean"),
            7: [1.0, float("nan"), 2.0],
        }
    )
    table = load(kinds)
    assert table.domain["category"].categories == (1, 3, "(missing)")
    assert table.domain["nullable"].categories == (1, 2, "(missing)")
    assert table.domain["truth"].categories == (False, True, "(missing)")
    assert table.domain["7"].categories == (1, 2, "(missing)")
    with pytest.raises(TableError, match="Derive a category"):
        load(pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}))


def test_kinds_of_polars():
    frame = pl.DataFrame(
        {
            "enum": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a", "z"])),
            "cat": pl.Series(["b", None], dtype=pl.Categorical),
            "small": pl.Series([1, 2], dtype=pl.UInt8),
            "decimal": [Decimal("1.5"), Decimal("2.5")],
            "null": [None, None],
        }
    )
    table = load(frame, bins={"decimal": "none"})
    assert table.domain["enum"].categories == ("a", "b")
    assert table.domain["cat"].categories == ("b", "(missing)")
    assert table.domain["decimal"].categories == (1.5, 2.5)
    assert table.domain["null"].categories == ("(missing)",)
    for values in ([[1], [2]], [{"x": 1}], [b"x"], [datetime.time(1)], [datetime.timedelta(1)]):
        with pytest.raises(TableError, match="column 'a' to hold text"):
            load(pl.DataFrame({"a": values}))
    with pytest.raises(TableError, match="64 bits"):
        load(pl.DataFrame({"a": pl.Series([2**63], dtype=pl.UInt64)}))
    with pytest.raises(TableError, match="the Polars query"):
        load(pl.LazyFrame({"a": [1]}).select("b"))


def test_arrow_with_repeated_names():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(TableError, match="different column names"):
        load(table)
