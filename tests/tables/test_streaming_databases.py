"""Queries of databases are counted in batches; nothing holds the whole table."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import seepage as sp
from seepage.tables import batches
from seepage.tables.opening import open_table

COUNT = """
import resource
import duckdb, pyarrow
import seepage as sp
from seepage.tables import batches

batches.batch_rows = lambda columns: 1 << 14
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
connection = duckdb.connect()
connection.sql("set memory_limit = '100MB'; set threads = 1; set enable_progress_bar = false")
query = "select repeat(chr(97 + (i % 5)::int), 500) as a, i % 7 as b from range({}) t(i)"
sp.count_table(connection.sql(query.format(100_000)))
before = peak()
counted = sp.count_table(connection.sql(query.format(800_000)))
assert counted.counts.total == 800_000
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak is that of Linux")
def test_a_relation_of_400_megabytes_takes_a_fraction_of_them():
    run = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    # A table of an eighth of the size has been counted before.
    assert float(run.stdout) < 80


def test_lazy_frames_of_narwhals_are_read_in_batches(monkeypatch):
    relation = duckdb.sql("select i % 3 as a, i % 5 as b from range(100) t(i)")
    expected = sp.count_table(relation)
    monkeypatch.setattr(nw.LazyFrame, "collect", None)
    monkeypatch.setattr(batches, "batch_rows", lambda columns: 16)
    for source in (nw.from_native(relation), nw.from_native(relation.pl().lazy())):
        assert batches.is_lazy(source)
        assert open_table(source).counts == expected.counts
        assert sp.count_table(source).counts == expected.counts


def test_a_database_is_read_once_through_a_reader_of_batches(tmp_path):
    numbers = np.arange(1000)
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("create table people (a integer, b text)")
        rows = [(int(i % 3), None if i % 7 == 0 else "yn"[i % 2]) for i in numbers]
        connection.executemany("insert into people values (?, ?)", rows)
        schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
        frames = pl.read_database(
            "select a, b from people",
            connection,
            iter_batches=True,
            batch_size=64,
            schema_overrides={"a": pl.Int64, "b": pl.String},
        )
        parts = (batch for frame in frames for batch in frame.to_arrow().cast(schema).to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, parts)
        domain = sp.Domain(
            (sp.Attribute("a", (0, 1, 2)), sp.Attribute("b", ("n", "y", "?"), missing="?"))
        )
        counted = sp.count_table(reader, domain=domain)
    connection.close()
    expected = sp.count_table({"a": [r[0] for r in rows], "b": [r[1] for r in rows]}, domain=domain)
    assert counted.counts == expected.counts
    assert counted.records == 1000
