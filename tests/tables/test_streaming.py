"""Counting in batches against reading the whole table, and against pandas.crosstab."""

from __future__ import annotations

from itertools import combinations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.counts import PairCounts
from seepage.domain import Attribute, Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError, SeepageError, TableError
from seepage.tables import batches, load, tally, text_chunks
from seepage.tables.streaming import count_table, merge_counts


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of a few records, so that small tables have many of them."""
    monkeypatch.setattr(batches, "batch_rows", lambda columns: 16)
    monkeypatch.setattr(text_chunks, "CHUNK", 256)


def same(source, **options):
    """Both ways give the same counts, notes and numbers, or the same kind of error."""
    try:
        expected = load(source, **options)
    except SeepageError as error:
        with pytest.raises(type(error)) as caught:
            count_table(source, **options)
        return str(error), str(caught.value)
    found = count_table(source, **options)
    assert found.domain == expected.domain
    assert found.counts == expected.counts()
    assert found.notes == expected.notes
    assert found.source == expected.source
    assert found.records == expected.size
    assert found.weighted == (expected.weights is not None)
    return found


def sample(n=100, seed=1):
    rng = np.random.default_rng(seed)
    word = rng.choice(["a", "b", "B", "", " c", "?", "NA"], n).tolist()
    return pl.DataFrame(
        {
            "word": [None if i % 9 == 0 else x for i, x in enumerate(word)],
            "flag": [None if i % 11 == 0 else bool(x) for i, x in enumerate(rng.integers(0, 2, n))],
            "whole": rng.integers(0, 90, n),
            "few": rng.integers(0, 4, n),
            "real": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(2)),
            "w": rng.integers(0, 4, n),
        }
    )


OPTIONS = [
    {},
    {"exclude": "w", "min_count": 9},
    {"weights": "w", "missing": "drop"},
    {"weights": "w", "missing": "drop", "min_count": 12, "null_values": ["?", 3]},
    {"missing": "error"},
    {"columns": ["real", "word"], "binning": "quantile", "n_bins": 4},
    {"bins": {"whole": [0, 30, 60, 100], "real": 3, "few": "none"}, "strip": "B"},
    {"bins": {"whole": [0, 30, 60]}},
    {"bins": {"real": "none"}, "strip": False},
    {"max_categories": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_batches_give_what_the_whole_table_gives(options, tmp_path):
    frame = sample()
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=13)
    same(tmp_path / "t.csv", **options)
    same(tmp_path / "t.parquet", **options)


WIDE_OPTIONS = [
    {},
    {"min_count": 9, "n_bins": 7},
    {"weights": "w", "missing": "drop", "null_values": [3, "5"]},
    {"missing": "drop", "min_count": 12, "bins": {"whole": 3}},
    {"bins": {"whole": [0, 30, 60, 90], "real": [-9, 0.5, 9]}},
    {"bins": {"whole": [0, 30, 60]}},
    {"missing": "error"},
]


@pytest.fixture
def kept_values(monkeypatch):
    """Columns with more than 25 values are wide."""
    monkeypatch.setattr("seepage.tables.streaming.MOST", 25)
    monkeypatch.setattr(tally, "_SOON", 0)


@pytest.mark.usefixtures("kept_values")
@pytest.mark.parametrize("options", WIDE_OPTIONS, ids=str)
def test_columns_of_many_values_give_the_same_bins(options, tmp_path):
    frame = sample(seed=2)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=13)
    same(tmp_path / "t.csv", max_categories=25, **options)
    same(tmp_path / "t.parquet", max_categories=25, **options)


def test_every_source_gives_the_same_counts(tmp_path):
    frame = sample(60)
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc_stream(tmp_path / "s.arrow")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    expected = load(frame)
    sources = [
        tmp_path / "t.arrow",
        str(tmp_path / "s.arrow"),
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        duckdb.from_arrow(frame.to_arrow()),
        frame.to_dict(as_series=False),
    ]
    for source in sources:
        assert same(source).counts == expected.counts()
    dataset = pa.dataset.dataset(frame.to_arrow())
    assert count_table(dataset).counts == expected.counts()
    # An empty field and a missing one are the same in a text file.
    assert same(tmp_path / "t.tsv", strip=False).counts == expected.counts()


def test_queries_and_relations_are_not_loaded_whole(monkeypatch):
    monkeypatch.setattr(pl.LazyFrame, "collect", None)
    relation = duckdb.sql('select i % 3 as a, i % 5 = 0 as "b ""c" from range(100) t(i)')
    counted = count_table(relation, columns=['b "c', "a"])
    assert counted.domain.names == ('b "c', "a")
    assert counted.counts.total == 100


def test_several_files_are_one_table(tmp_path):
    frame = sample(50)
    frame[:20].write_parquet(tmp_path / "1.parquet")
    frame[20:].with_columns(pl.col("few").cast(pl.Float64)).write_parquet(tmp_path / "2.parquet")
    frame[:20].write_csv(tmp_path / "1.csv")
    frame[20:].write_csv(tmp_path / "2.csv")
    for suffix in ("parquet", "csv"):
        paths = [tmp_path / f"{i}.{suffix}" for i in (1, 2, 1)]
        assert same(paths, exclude=["w"]).records == 70
    same([tmp_path / "1.csv", tmp_path / "2.parquet"])
    frame[["few"]].write_csv(tmp_path / "3.csv")
    same([tmp_path / "1.csv", tmp_path / "3.csv"])
    same([])


TEXTS = {
    "quotes.csv": 'a,b\n"x, 1",1\n"x\ny",2\n"say ""x""",3\n' * 20,
    "crlf.csv": "\ufeffa,b\r\nx,1\r\ny,2\r\n\r\n" * 1 + "z,3\r\n" * 50,
    "padded.csv": "a,b\n" + "x,1\n" * 60 + '"y, z", "2"\n' * 10,
    "single.csv": "a\n" + "x\n\ny\n" * 40,
    "open.csv": "a,b\n" + "x,1\n" * 60 + '"y,2\n' + "z,3\n" * 60,
    "short.csv": "a,b\n" + "x,1\n" * 60 + "y\n" + "z,3\n" * 60,
    "stray.csv": "a,b\n" + "".join(f"x,{i}\n" for i in range(60)) + "y,oops\n",
    "mixed.csv": "a,b\n" + "".join(f"x,{i % 9}\n" for i in range(60)) + "y,9+\n",
    "header.csv": "a,b\n",
    "empty.csv": "",
    "blank.csv": "\n\n",
    "nul.csv": "a,b\n" + "x,1\n" * 60 + "\0,1\n",
    "twice.csv": "a,a\n1,2\n",
    "truth.csv": "a,b\n" + "true,1\nFALSE,2.5\n,nan\n" * 30,
    "last.csv": "a,b\n" + "x,1\n" * 60 + "y,2",
    "ids.csv": "a,b\n" + "".join(f"007{i},{i / 8}\n" for i in range(70)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_and_their_faults(name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[name], encoding="utf-8", newline="")
    for options in ({}, {"strip": False, "missing": "drop"}):
        outcome = same(path, **options)
        if isinstance(outcome, tuple) and name != "short.csv":
            assert outcome[0] == outcome[1]


def test_encodings_and_comments(tmp_path):
    text = "# made up\na,b\n" + "é,1\n#x\nü,2\n" * 40
    path = tmp_path / "t.csv"
    for encoding in ("latin-1", "utf-16", "utf-8"):
        path.write_bytes(text.encode(encoding))
        assert same(path, encoding=encoding, comment="#").counts.total == 80
        if encoding != "utf-8":
            loaded, streamed = same(path, comment="#")
            assert loaded == streamed


DECLARED = Domain(
    (
        Attribute("word", ("a", "b", "rest", "none"), other="rest", missing="none"),
        Attribute("few", (0, 1, 2, 3)),
        Attribute("real", ("low", "high", "none"), edges=(-9.0, 0.0, 9.0), missing="none"),
    )
)


@pytest.mark.parametrize("most", [1 << 17, 4])
def test_a_declared_domain(most, tmp_path, monkeypatch):
    monkeypatch.setattr("seepage.tables.streaming.MOST", most)
    monkeypatch.setattr(tally, "_SOON", 0)
    frame = sample()
    frame.write_csv(tmp_path / "t.csv")
    options = {"domain": DECLARED, "max_categories": 4}
    expected = same(frame, **options)
    assert expected.counts == load(frame, domain=DECLARED).counts()
    same(tmp_path / "t.csv", **options)
    same(frame, weights="w", missing="drop", **options)
    same(frame, min_count=20, null_values=["a"], **options)
    reader = frame.to_arrow().to_reader(max_chunksize=11)
    once = count_table(reader, **options)
    assert once.counts == expected.counts
    assert once.notes == expected.notes
    with pytest.raises(DomainError) as caught:
        count_table(
            frame.to_arrow().to_reader(max_chunksize=11),
            domain=DECLARED,
            columns=["few", "word"],
            null_values=[3],
        )
    with pytest.raises(DomainError) as loaded:
        load(frame, domain=DECLARED, columns=["few", "word"], null_values=[3])
    assert str(caught.value) == str(loaded.value)


def test_a_reader_needs_a_domain():
    table = sample().to_arrow()
    with pytest.raises(TableError, match="declared domain for a pyarrow RecordBatchReader"):
        count_table(table.to_reader())
    with pytest.raises(TableError, match="got missing='drop'"):
        count_table(table.to_reader(), domain=DECLARED, missing="drop")
    with pytest.raises(TableError, match="expected records in"):
        count_table(table[:0].to_reader(), domain=DECLARED)


@pytest.mark.usefixtures("kept_values")
def test_columns_that_cannot_be_kept_are_refused(tmp_path):
    frame = sample(200)
    with pytest.raises(CapacityError, match="Quantiles would need all of them"):
        count_table(frame, binning="quantile", max_categories=5)
    with pytest.raises(CapacityError, match=r"25 different.*'name'\. If it identifies"):
        count_table({"name": [f"n{i}" for i in range(99)], "x": [1] * 99}, max_categories=5)
    with pytest.raises(CapacityError, match="'whole'"):
        count_table(frame, bins={"whole": "none"}, max_categories=5)
    huge = {"x": [2**60 + i for i in range(99)], "y": [0, 1, 2] * 33}
    with pytest.raises(CapacityError, match=r"below 2\^53 in column 'x'"):
        count_table(huge, max_categories=5)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i / 4},1\n" for i in range(99)) + "oops,1\n")
    with pytest.raises(TableError, match="'a', got more than 25 different numbers and the text"):
        count_table(path, max_categories=5)
    with pytest.raises(DomainError, match="expected finite numbers in column 'a'"):
        count_table({"a": [*(i / 8 for i in range(99)), float("inf")]}, max_categories=5)


def test_declared_categories_that_do_not_fit_are_refused_unread():
    def rows():
        pytest.fail("was read")
        yield

    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    for size, options, message in (
        (200_000, {}, "at most 10,000 categories in a column, got 200,000 in 'a'.*declare fewer"),
        (200_000, {"max_categories": 10**6}, "at most 50,000,000 cells"),
    ):
        reader = pa.RecordBatchReader.from_batches(schema, rows())
        domain = Domain.of({"a": range(size), "b": range(300)})
        with pytest.raises(CapacityError, match=message) as caught:
            count_table(reader, domain=domain, **options)
        assert ("--min-count" in str(caught.value)) == ("cells" in message)


def test_a_table_that_changes_is_noticed():
    frames = [sample(40)]

    def changing(frame):
        frames.append(frame)
        return frame if len(frames) < 3 else frame.with_columns(word=pl.lit("new"))

    query = sample(40).lazy().map_batches(changing)
    with pytest.raises(TableError, match="whenever"):
        count_table(query)


def test_a_table_that_would_not_fit_is_refused(monkeypatch):
    names = [f"c{i}" for i in range(12)]
    table = {name: [f"{i}" for i in range(3000)] for name in names}
    monkeypatch.setattr(batches, "batch_rows", lambda columns: 1000)
    with pytest.raises(CapacityError, match="expected pairwise tables of at most"):
        count_table(table)


@settings(max_examples=8)
@given(st.data())
def test_every_pair_is_that_of_pandas(data):
    rows = data.draw(st.integers(100, 900))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "batch_rows", lambda columns: rows)
        check_against_pandas(data)


def check_against_pandas(data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(1, 2000))
    sizes = data.draw(st.lists(st.integers(1, 300), min_size=2, max_size=4))
    columns = {}
    for i, k in enumerate(sizes):
        values = rng.integers(0, k, n)
        if i % 2:
            columns[f"c{i}"] = [None if rng.random() < 0.1 else f"v{v}" for v in values]
        else:
            columns[f"c{i}"] = values
    weights = rng.integers(1, 9, n) if data.draw(st.booleans()) else None
    frame = pd.DataFrame(columns)
    if weights is not None:
        frame["w"] = weights
    domain = Domain(
        tuple(
            Attribute(f"c{i}", (*(f"v{v}" for v in range(k)), "(missing)"), missing="(missing)")
            if i % 2
            else Attribute(f"c{i}", tuple(range(k)))
            for i, k in enumerate(sizes)
        )
    )
    counted = count_table(frame, domain=domain, weights=None if weights is None else "w")
    shown = frame.astype(object).where(frame.notna(), "(missing)")
    for a, b in combinations(domain.names, 2):
        table = pd.crosstab(
            shown[a], shown[b], values=weights, aggfunc=None if weights is None else "sum"
        )
        table = table.reindex(index=domain[a].categories, columns=domain[b].categories)
        expected = table.fillna(0).to_numpy().astype(np.int64)
        assert np.array_equal(counted.counts.table(a, b), expected)


def test_parts_add_up_and_refuse_other_domains():
    frame = sample(90)
    parts = [count_table(x, domain=DECLARED) for x in (frame[:40], frame[40:])]
    whole = count_table(frame, domain=DECLARED)
    merged = merge_counts(parts)
    assert merged.counts == whole.counts
    assert merged.records == whole.records
    assert isinstance(merged.counts, PairCounts)
    with pytest.raises(DomainError, match=r"different categories for 'real'.*one declared domain"):
        count_table(frame[:40], columns=["few", "real"]) + count_table(
            frame[40:], columns=["few", "real"]
        )
    with pytest.raises(InvalidInputError, match="all weighted or all not"):
        whole + count_table(frame, domain=DECLARED, weights="w")
    with pytest.raises(InvalidInputError, match="at least one part"):
        merge_counts([])


def test_weights_are_checked_across_batches():
    table = {"a": [0, 1] * 40, "b": [0, 1] * 40, "w": [1] * 79 + [-1]}
    loaded, streamed = same(table, weights="w")
    assert loaded == streamed
    same(table | {"w": [0] * 80}, weights="w")
    same(table | {"w": [2**52] * 80}, weights="w")


def test_progress_and_forecast(tmp_path):
    sample(50).write_parquet(tmp_path / "t.parquet")
    steps, stages = [], []
    count_table(tmp_path / "t.parquet", progress=lambda *x: steps.append(x), stage=stages.append)
    assert steps[-1] == (50, 50)
    assert [stage.split(" (")[0] for stage in stages] == ["Finding the values", "Counting"]
    assert all("50 records, about 0 s" in stage for stage in stages)
