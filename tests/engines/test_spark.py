"""The Spark engine against the local engine: the same counts, estimates and errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from scipy import stats

import seepage as sp
from seepage.collect.designs import independent, sampled_views
from seepage.domain import Attribute, Domain
from seepage.engines import spark as engine
from seepage.errors import (
    CapacityError,
    DomainError,
    InvalidInputError,
    MissingDependencyError,
    TableError,
)
from seepage.tables import load

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ROWS = 1_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    """A million records in three files: text, truth values, integers, floats, nulls, weights."""
    rng = np.random.default_rng(7)
    word = rng.choice(["a", "b", "c", "?", " d"], ROWS)
    real = np.where(rng.random(ROWS) < 0.05, np.nan, rng.uniform(0, 50, ROWS).round(1))
    flag = rng.random(ROWS) < np.where(word == "a", 0.7, 0.2)
    frame = pl.DataFrame(
        {
            "the `word`.x": word,
            "flag": flag,
            "kind": (rng.integers(0, 3, ROWS) + flag).astype(np.int32),
            "real": real,
            "w": rng.integers(0, 3, ROWS),
            "left out": np.zeros(ROWS),
        }
    ).with_columns(
        pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise(pl.col("flag")).alias("flag")
    )
    folder = tmp_path_factory.mktemp("records")
    paths = [folder / f"{i}.parquet" for i in range(3)]
    for path, (start, end) in zip(paths, pairwise([0, 400_000, 400_007, ROWS]), strict=True):
        frame[start:end].write_parquet(path)
    return paths


@pytest.fixture(scope="module")
def domain() -> Domain:
    return Domain(
        (
            Attribute("kind", (0, 1, 2, 3)),
            Attribute("the `word`.x", ("a", "b", "c", " d", "gap", "never"), missing="gap"),
            Attribute("flag", (False, True, "no answer"), missing="no answer"),
            Attribute("real", ("low", "high", "?"), edges=(0.0, 20.0, 50.0), missing="?"),
        )
    )


@pytest.fixture(scope="module")
def frame(spark, files):
    return spark.read.parquet(*map(str, files))


def text_of(error_of, kind) -> str:
    with pytest.raises(kind) as caught:
        error_of()
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_counts_of_a_million_records_equal_those_of_the_local_engine(frame, files, domain):
    options = {"null_values": ["?", "unseen"], "weights": "w"}
    found = engine.count(frame, domain, **options)
    local = sp.count_table(files, domain=domain, **options)
    assert found.counts == local.counts
    assert (found.records, found.weighted) == (ROWS, True)
    assert found.notes == local.notes
    assert any("'unseen'" in note for note in found.notes)
    assert any("'left out'" in note for note in found.notes)
    sp.write_counts(found, files[0].parent / "all.counts")
    assert sp.read_counts(files[0].parent / "all.counts").counts == local.counts
    assert sp.audit(found).to_dict()["pairs"] == sp.audit(local).to_dict()["pairs"]


def test_domain_of_a_frame_is_that_of_the_local_engine(frame, files):
    options = {"min_count": 100_000, "n_bins": 4, "null_values": ["?"], "exclude": ["w"]}
    assert engine.read_domain(frame, **options) == sp.count_table(files, **options).domain


def test_an_attempt_that_fails_changes_nothing(spark, tmp_path):
    marker = str(tmp_path / "failed")

    def flaky(batches):
        import os

        for i, batch in enumerate(batches):
            yield batch
            if i == 1 and not os.path.exists(marker):
                with open(marker, "x"):
                    pass
                msg = "the disk is gone"
                raise OSError(msg)

    rows = 60_000
    numbers = spark.range(rows, numPartitions=2).selectExpr("id % 3 as a", "id % 7 as b")
    shaky = numbers.mapInArrow(flaky, "a long, b long")
    domain = Domain.of({"a": range(3), "b": range(7)})
    found = engine.count(shaky, domain)
    assert Path(marker).exists()
    ids = np.arange(rows)
    table = np.zeros((3, 7), dtype=int)
    np.add.at(table, (ids % 3, ids % 7), 1)
    assert found.counts.table("a", "b").tolist() == table.tolist()
    assert found.records == rows

    Path(marker).unlink()
    plan = independent(domain, 1.0)
    out = engine.randomize(shaky, plan, tmp_path / "reports")
    assert Path(marker).exists()
    assert sp.estimate(sorted(Path(out).glob("*.parquet")), plan).size == rows


@pytest.fixture(scope="module")
def plans(domain) -> dict[str, sp.CollectionPlan]:
    """Reports in every form: categories, texts, numbers, nothing at all outside a view."""
    small = domain.project(["kind", "flag", "real"])
    return {
        "mixed": independent(
            small, 1.0, mechanism={"kind": "unary", "flag": "grr", "real": "subset"}
        ),
        "views": sampled_views(small, 2.0, 2),
    }


@pytest.mark.parametrize("name", ["mixed", "views"])
def test_estimates_equal_those_of_the_local_engine(spark, files, plans, folder, name):
    plan = plans[name]
    frame = spark.read.parquet(str(files[2])).limit(30_000).repartition(3)
    out = engine.randomize(frame, plan, folder)
    assert out == str(folder)
    assert (folder / "_SUCCESS").exists()
    written = sorted(folder.glob("*.parquet"))
    local = sp.read_reports(written, plan)
    assert (local.size, local.simulated) == (30_000, False)
    forms = pl.read_parquet(written[0]).schema
    again = sp.randomize(pl.read_parquet(files[2], n_rows=100), plan)
    sp.write_reports(again, folder / "local.parquet")
    assert pl.read_parquet(folder / "local.parquet").schema == forms
    (folder / "local.parquet").unlink()
    found = engine.aggregate(spark.read.parquet(out), plan, covariance=True)
    assert found == sp.estimate(written, plan, covariance=True)
    assert found.origin == "release"
    # Saved, and added up with what the local engine counted of other files.
    sp.write_report_counts(found, folder.parent / "spark.counts")
    sp.write_reports(
        sp.randomize(pl.read_parquet(files[2], n_rows=500), plan), folder / "l.parquet"
    )
    sp.write_report_counts(
        sp.count_reports(folder / "l.parquet", plan, covariance=True),
        folder.parent / "local.counts",
    )
    parts = [folder.parent / "local.counts", folder.parent / "spark.counts"]
    whole = sp.estimate([*written, folder / "l.parquet"], plan, covariance=True)
    merged = sp.estimate(parts, plan, covariance=True)
    assert merged == whole
    for one, other in zip(merged.tables, whole.tables, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.standard_errors.tobytes() == other.standard_errors.tobytes()


def test_every_task_and_run_draws_anew_and_by_the_law(spark, tmp_path):
    rows, k = 40_000, 4
    domain = Domain.of({"a": ["p", "q", "r", "s"], "b": [True, False]})
    plan = independent(domain, 1.0)
    same = spark.range(rows, numPartitions=2).selectExpr("'q' as a", "true as b", "id")
    drawn = []
    for run in ("first", "second"):
        out = Path(engine.randomize(same, plan, tmp_path / run))
        drawn += [pl.read_parquet(path) for path in sorted(out.glob("*.parquet"))]
    assert len(drawn) == 4
    for one, other in ((0, 1), (2, 3), (0, 2), (1, 3)):  # two parts of a run, two runs of a part
        assert not drawn[one].equals(drawn[other])
    reports = pl.concat(drawn)
    assert reports.height == 2 * rows
    assert set(reports["a"]) == set("pqrs")
    assert set(reports["b"]) == {True, False}
    # The law of randomised response, in closed form. False alarms: 1 in a million.
    counts = np.array([(reports["a"] == label).sum() for label in "qprs"])
    expected = np.array([np.e, 1, 1, 1]) / (np.e + k - 1) * reports.height
    assert stats.chisquare(counts, expected).pvalue > 1e-6


def test_what_a_frame_does_not_hold_is_refused_in_one_line(spark, frame, domain, folder):
    rows = "values ('x', 1), ('y', 2), (null, 3) as t(a, b)"
    values = spark.sql(f"select /*+ coalesce(1) */ * from {rows}")
    known = Domain.of({"a": ["x", "y"], "b": [1, 2, 3]})
    with_gap = Domain((Attribute("a", ("x", "gap"), missing="gap"), Attribute("b", (1, 2, 3))))
    text = text_of(lambda: engine.count(values, with_gap), DomainError)
    assert "'y' in 1 record" in text
    assert "column 'a'" in text
    text = text_of(lambda: engine.randomize(values, independent(known, 1.0), folder), DomainError)
    assert "missing value in column 'a', got 1" in text
    assert f"Remove the folder {str(folder)!r}" in text
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    # What is wrong with the order itself is found before anything runs.
    other = Domain.of({"wrod": ["x"], "b": [1]})
    assert "'wrod'" in text_of(lambda: engine.count(values, other), DomainError)
    with pytest.raises(DomainError, match="'wrod'"):
        engine.randomize(values, independent(other, 1.0), folder)
    with pytest.raises(InvalidInputError, match="Not protected"):
        engine.randomize(values, independent(known, np.inf), folder)
    with pytest.raises(TableError, match="record is dropped"):
        engine.count(values, known, missing="drop")
    with pytest.raises(InvalidInputError, match="one pass"):
        engine.read_domain(values, missing="drop")
    with pytest.raises(InvalidInputError, match=r"'colums'.*columns"):
        engine.read_domain(values, colums=["a"])
    with pytest.raises(TableError, match="columns of the plan"):
        engine.aggregate(values, independent(Domain.of({"a": ["x", "y"]}), 1.0), 1)
    wide = Domain.of({"a": [f"v{i}" for i in range(20_000)], "b": range(10_000)})
    broken = values.selectExpr("cast(raise_error('was computed') as string) as a", "b")
    with pytest.raises(CapacityError, match=r"got 20,000 in 'a'.*\(Python: max_categories\)"):
        engine.count(broken, wide)
    with pytest.raises(CapacityError, match="at most 50,000,000 cells"):
        engine.count(broken, wide, max_categories=20_000)
    empty, nowhere = values.limit(0), folder.parent / "nowhere"
    plan = independent(known, 1.0)
    marked = values.toDF("a", "(plan)").selectExpr("*", "1 as b")
    with pytest.raises(TableError, match="randomised already"):
        engine.randomize(marked, plan, nowhere)
    for call in (
        lambda: engine.count(empty, known),
        lambda: engine.aggregate(empty, plan),
        lambda: engine.randomize(empty, plan, nowhere),
    ):
        assert "got none" in text_of(call, TableError)
    assert not nowhere.exists()


@pytest.mark.parametrize("frame", [None, 3, "people.parquet", {"a": [1]}, pl.DataFrame({"a": [1]})])
@pytest.mark.usefixtures("spark")
def test_other_things_are_no_spark_frames(frame):
    domain = Domain.of({"a": [1]})
    for call in (
        lambda: engine.count(frame, domain),
        lambda: engine.read_domain(frame),
        lambda: engine.randomize(frame, independent(domain, 1.0), "out"),
        lambda: engine.aggregate(frame, independent(domain, 1.0)),
    ):
        with pytest.raises(InvalidInputError, match="expected a Spark frame"):
            call()


def test_reports_are_not_added_to_others(spark, folder):
    frame = spark.range(4).selectExpr("id as a")
    plan = independent(Domain.of({"a": range(4)}), 1.0)
    engine.randomize(frame, plan, folder)
    before = sorted(folder.iterdir())
    text = text_of(lambda: engine.randomize(frame, plan, folder), InvalidInputError)
    assert "does not exist yet" in text
    assert sorted(folder.iterdir()) == before
    other = independent(Domain.of({"a": range(4)}), 2.0)
    text = text_of(lambda: engine.aggregate(spark.read.parquet(str(folder)), other, 1), TableError)
    assert "made by another plan" in text
    for wrong in (None, "", 3):
        with pytest.raises(InvalidInputError, match="path of a folder"):
            engine.randomize(frame, plan, wrong)


def test_errors_of_the_users_own_code_and_types(spark, folder):
    def broken(batches):
        next(batches)
        msg = "no such luck"
        raise ZeroDivisionError(msg)

    frame = spark.range(4, numPartitions=1).mapInArrow(broken, "a long")
    plan = independent(Domain.of({"a": range(4)}), 1.0)
    text = text_of(lambda: engine.randomize(frame, plan, folder), TableError)
    assert "ZeroDivisionError: no such luck" in text
    assert "publish nothing of it" in text
    dates = spark.range(4).selectExpr("date'2020-01-01' as a", "array(id) as b")
    text = text_of(lambda: engine.read_domain(dates, exclude=["b"]), TableError)
    assert "column 'a' to hold text" in text


def test_names_that_spark_does_not_tell_apart(spark):
    frame = spark.range(6).selectExpr("id % 2 as x", "id % 3 as y").toDF("a.b", "A.B")
    counted = engine.count(frame, engine.read_domain(frame))
    assert counted.domain.names == ("a.b", "A.B")
    assert counted.counts.table("A.B", "a.b").tolist() == [[1, 1]] * 3
    twice = frame.toDF("a", "a")
    with pytest.raises(TableError, match="'a' 2 times"):
        engine.read_domain(twice)


def test_a_frame_that_is_read_as_a_whole_says_so(spark):
    frame = spark.sql("select * from values ('x', 1), ('y', 2), ('x', 2) as t(a, b)")
    for source in (frame, nw.from_native(frame)):
        for notes in (
            load(source).notes,
            sp.count_table(source).notes,
            sp.audit(source).assumptions,
        ):
            assert sum("seepage.engines.spark.count" in note for note in notes) == 1
    counted = engine.count(frame, Domain.of({"a": ["x", "y"], "b": [1, 2]}))
    assert not any("engines.spark" in note for note in sp.audit(counted).assumptions)


def test_executors_without_the_package(spark, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'seepage':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    python = tmp_path / "python"
    context = spark.sparkContext
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{context.pythonExec}" "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(context, "pythonExec", str(python))
    frame = spark.range(4, numPartitions=1).selectExpr("id as a")
    text = text_of(lambda: engine.count(frame, Domain.of({"a": range(4)})), MissingDependencyError)
    assert "every executor, got none of 'seepage'" in text


def test_the_page_on_big_tables(spark, tmp_path):
    """Its code, with a session that cannot be run wherever the other pages are."""
    page = (Path(__file__).parents[2] / "docs" / "big-tables.md").read_text("utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    # Spark has a folder of its own.
    for name in ("people.parquet", "people.counts", "reports", "reports.counts"):
        code = code.replace(f'"{name}"', repr(str(tmp_path / name)))
    rows = {"sex": ["f", "m"] * 50, "smoker": ["no", "no", "yes", "no"] * 25}
    pl.DataFrame(rows).write_parquet(tmp_path / "people.parquet")
    names = {"sp": sp, "spark": spark}
    exec(compile(code, "big-tables.md", "exec"), names)
    assert names["counted"].counts == load(rows).counts()
    assert names["estimates"].size == 100


CONNECT = """
import sys
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

import seepage as sp
from seepage.engines import spark as engine
from seepage.errors import DomainError

folder = Path(sys.argv[1])
builder = SparkSession.builder.remote("local[2]")
for key, value in {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.local.dir": str(folder / "local"),
    "spark.sql.warehouse.dir": str(folder / "warehouse"),
}.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
frame = session.read.parquet(str(folder / "people.parquet"))
assert type(frame).__module__.startswith("pyspark.sql.connect")
domain = engine.read_domain(frame)
local = sp.count_table(folder / "people.parquet")
assert domain == local.domain
assert engine.count(frame, domain).counts == local.counts
plan = sp.make_plan(domain, epsilon=1.0)
out = engine.randomize(frame, plan, folder / "reports")
written = sorted(Path(out).glob("*.parquet"))
assert sp.read_reports(written, plan).simulated is False
found = engine.aggregate(session.read.parquet(out), plan, covariance=True)
assert found == sp.estimate(written, plan, covariance=True)
assert found.size == local.records
small = sp.Domain.of({"sex": ["f"], "smoker": ["no", "yes"]})
for call in (
    lambda: engine.count(frame, small),
    lambda: engine.randomize(frame, sp.make_plan(small, epsilon=1.0), folder / "none"),
):
    try:
        call()
    except DomainError as error:
        assert "'m'" in str(error)
    else:
        raise AssertionError("expected an error")
session.stop()
print("all is well")
"""


def test_a_session_of_spark_connect(spark, tmp_path):
    """In a process of its own: one process has sessions of one kind."""
    for name in ("grpc", "grpc_status", "zstandard"):
        if find_spec(name) is None:
            pytest.skip(f"Spark Connect needs {name} (pyspark[connect])")
    rows = {"sex": ["f", "m"] * 200, "smoker": ["no", "no", "yes", "no"] * 100}
    pl.DataFrame(rows).write_parquet(tmp_path / "people.parquet")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONNECT, str(tmp_path)],
        capture_output=True,
        check=False,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
    )
    assert done.stdout.decode().strip().endswith("all is well"), done.stderr.decode()


@pytest.mark.usefixtures("spark")
def test_spark_connect_of_an_older_spark_is_told():
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(InvalidInputError, match=r"connect\.dataframe.*Spark 4 or newer"):
        engine.read_domain(kind())
