"""What runs on the executors, without a cluster."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage
import seepage as sp
from seepage.collect.designs import independent
from seepage.collect.estimates import Estimates
from seepage.domain import Attribute, Domain
from seepage.engines import _tasks as tasks
from seepage.engines import spark as engine
from seepage.errors import (
    CapacityError,
    DomainError,
    InvalidInputError,
    MissingDependencyError,
    TableError,
)
from seepage.tables import parts
from seepage.tables.load import reading_plan

VERSION = seepage.__version__
DOMAIN = Domain(
    (
        Attribute("a", ("x", "y", "?"), missing="?"),
        Attribute("b", ("low", "high", "gap"), edges=(0.0, 1.0, 2.0), missing="gap"),
        Attribute("c", (0, 1, 2)),
    )
)


def batches_of(frame: pl.DataFrame, cuts=()) -> list[list[pa.RecordBatch]]:
    """The records in parts, each of two batches with names that say nothing."""
    ends = [0, *sorted(cuts), frame.height]
    bare = frame.rename({name: f"c{i}" for i, name in enumerate(frame.columns)})
    found = []
    for start, end in itertools.pairwise(ends):
        table = bare[start:end].to_arrow(compat_level=pl.CompatLevel.oldest())
        table = table.combine_chunks()
        half = table.num_rows // 2
        found.append([*table.slice(0, half).to_batches(), *table.slice(half).to_batches()])
    return found


def counted(frame, plan, cuts=()):
    adder = tasks.CountAdder(plan, tuple(frame.columns))
    rows = [
        batch
        for number, part in enumerate(batches_of(frame, cuts))
        for batch in tasks.add_part(adder, number, VERSION, part)
    ]
    grouped = [*tasks.add_rows(adder, rows[::2]), *tasks.add_rows(adder, rows[1::2])]
    return tasks.fold(adder, tasks.rows_of(grouped))


records = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0, float("nan"), None]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=30,
)
SCHEMA = {"a": pl.String, "b": pl.Float64, "c": pl.Int64, "w": pl.Int64}


@settings(max_examples=40)
@given(records, st.lists(st.integers(0, 30), max_size=4), st.booleans())
def test_parts_add_up_to_the_whole(rows, cuts, with_weights):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    weights = "w" if with_weights and frame["w"].sum() > 0 else None
    options = {"domain": DOMAIN, "weights": weights, "null_values": ["y", "unseen"]}
    names = ["a", "b", "c", *([] if weights is None else ["w"])]
    plan, _ = reading_plan(**options)
    found, failed = counted(frame.select(names), plan, [min(c, len(rows)) for c in cuts])
    assert failed is None
    whole = parts.counted_table(found, plan, frame.columns, "x")
    local = sp.count_table(frame, **options)
    assert whole.counts == local.counts
    assert (whole.notes, whole.records) == (local.notes, local.records)
    assert whole.weighted == local.weighted


@settings(max_examples=40)
@given(records, st.lists(st.integers(0, 30), max_size=4))
def test_values_of_parts_add_up_to_the_domain(rows, cuts):
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    options = {"bins": {"b": 2}, "min_count": 2}
    plan, _ = reading_plan(**options)
    adder = tasks.ValueAdder(plan, tuple(frame.columns))
    made = [
        batch
        for part in batches_of(frame, [min(c, len(rows)) for c in cuts])
        for batch in tasks.add_part(adder, 0, VERSION, part)
    ]
    found, _ = tasks.fold(adder, tasks.rows_of(made))
    domain = parts.domain_of(found, plan, frame.columns, "x")
    assert domain == sp.count_table(frame, **options).domain


def test_sums_of_reports_add_up_and_survive_as_bytes():
    domain = DOMAIN.project(["a", "c"])
    plan = independent(domain, 1.0, mechanism={"a": "grr", "c": "unary"})
    codes = np.random.default_rng(3).integers(0, 3, (500, 2))
    reports = plan.randomize_codes(codes, rng=4)
    frame = seepage.plan.reports_io.reports_frame(reports)
    empty = Estimates.of(plan, 2, covariance=True)
    assert empty.sums.grams
    adder = tasks.SumAdder(empty, tuple(frame.columns))
    rows = [
        batch
        for part in batches_of(frame, [100, 100, 333])
        for batch in tasks.add_part(adder, 0, VERSION, part)
    ]
    assert len(rows) == 3  # an empty part has nothing to say
    found, failed = tasks.fold(adder, tasks.rows_of(rows))
    assert failed is None
    assert found == sp.estimate(reports, plan, covariance=True)
    assert found.origin == "simulation, not a release"


def test_the_error_of_the_first_part_wins_in_any_order():
    frame = pl.DataFrame({"a": list("xyzxvx")})
    plan, _ = reading_plan(domain=Domain.of({"a": ["x", "y"]}))
    adder = tasks.CountAdder(plan, ("a",))
    rows = [
        row
        for number, part in enumerate(batches_of(frame, [1, 3, 4]))
        for row in tasks.rows_of(tasks.add_part(adder, number, VERSION, part))
    ]
    assert [row.error for row in rows] == [None, "DomainError", None, "DomainError"]
    for order in (rows, rows[::-1]):
        _, failed = tasks.fold(adder, order)
        assert failed is rows[1]
    error = tasks.revived(failed.error, failed.message)
    assert type(error) is DomainError
    assert "column 'a', got 'z' in 1 record" in str(error)


def test_what_another_attempt_may_mend_is_raised():
    def lost():
        yield from batches_of(pl.DataFrame({"a": ["x"] * 4}))[0]
        msg = "connection lost"
        raise OSError(msg)

    plan, _ = reading_plan(domain=Domain.of({"a": ["x"]}))
    with pytest.raises(OSError, match="connection lost"):
        list(tasks.add_part(tasks.CountAdder(plan, ("a",)), 0, VERSION, lost()))
    release = tasks.Release(
        independent(Domain.of({"a": ["x"]}), 1.0), ("a",), {}, VERSION, pa.schema([])
    )
    with pytest.raises(OSError, match="connection lost"):
        list(tasks.randomized(release, lost()))


def test_another_version_on_an_executor_is_refused():
    plan, _ = reading_plan(domain=Domain.of({"a": ["x"]}))
    adder = tasks.CountAdder(plan, ("a",))
    (row,) = tasks.rows_of(tasks.add_part(adder, 5, "0.0.1", []))
    assert (row.number, row.error) == (5, "InvalidInputError")
    assert "expected seepage 0.0.1 on every executor" in row.message


def test_errors_are_found_in_the_text_of_others():
    told = json.dumps({"error": "TableError", "message": 'no "luck" ∞'})
    error = tasks.error_in(f"Job aborted.\nTaskError: {tasks.MARK}{told}\n at java.lang")
    assert type(error) is TableError
    assert str(error).startswith('no "luck" ∞')
    assert tasks.error_in("nothing") is None
    assert tasks.error_in(tasks.MARK + "{cut") is None
    assert tasks.error_in(tasks.MARK + "[1]") is None
    for name in ("annotations", "did_you_mean", "nothing", None):
        assert type(tasks.revived(name, "m")) is seepage.SeepageError


def test_weights_of_parts_must_fit_together():
    frame = pl.DataFrame({"a": ["x"] * 1100, "w": [2**53 - 1] * 1100})
    plan, _ = reading_plan(domain=Domain.of({"a": ["x"]}), weights="w")
    _, failed = counted(frame, plan, [500])
    assert failed.error == "TableError"
    assert "less than 2^62" in failed.message
    zeros = pl.DataFrame({"a": ["x"] * 4, "w": [0, 0, 0, 1]})
    found, _ = counted(zeros, plan, [2])
    assert parts.counted_table(found, plan, zeros.columns, "x").counts.total == 1
    found, _ = counted(zeros[:3], plan, [2])
    with pytest.raises(TableError, match="positive weight"):
        parts.counted_table(found, plan, zeros.columns, "x")


def test_columns_that_were_left_out_stay_out():
    frame = pl.DataFrame({"a": ["x", "y"], "c": [1, 2]})
    for options in ({"exclude": ["b"]}, {"columns": ["c", "a"]}):
        plan, _ = reading_plan(domain=DOMAIN, **options)
        chosen = plan.choose(["a", "b", "c"])
        found, failed = counted(frame.select(chosen), plan)
        assert failed is None
        assert found.counts.domain == DOMAIN.project(chosen)


def test_missing_values_can_be_refused():
    frame = pl.DataFrame({"a": ["x", None, None, "x"]})
    plan, _ = reading_plan(
        domain=Domain((Attribute("a", ("x", "?"), missing="?"),)), missing="error"
    )
    _, failed = counted(frame, plan)
    assert failed.error == "TableError"
    assert "no missing value in column 'a', got 2" in failed.message


def test_columns_of_too_many_values_are_refused(monkeypatch):
    monkeypatch.setattr(parts, "MOST", 10)
    frame = pl.DataFrame({"a": range(12)})
    plan, _ = reading_plan(max_categories=5)
    adder = tasks.ValueAdder(plan, ("a",))
    rows = list(tasks.rows_of(tasks.add_part(adder, 0, VERSION, batches_of(frame)[0])))
    assert rows[0].error == "CapacityError"
    made = [
        row
        for part in batches_of(frame, [6])
        for row in tasks.rows_of(tasks.add_part(adder, 0, VERSION, part))
    ]
    found, _ = tasks.fold(adder, made)
    with pytest.raises(CapacityError, match="at most 10 distinct values in column 'a'"):
        parts.domain_of(found, plan, ["a"], "x")


def test_a_gap_is_refused_with_advice_that_applies():
    plan, _ = reading_plan(domain=Domain.of({"a": ["x"]}))
    _, failed = counted(pl.DataFrame({"a": ["x", None]}), plan)
    assert "no missing value in column 'a', got 1" in failed.message
    assert "where that is an option, else beforehand" in failed.message


def test_damaged_parts_are_refused():
    plan, _ = reading_plan(domain=Domain.of({"a": ["x"]}))
    found, _ = counted(pl.DataFrame({"a": ["x"]}), plan)
    content = found.to_bytes()
    again = parts.CountedPart.from_bytes(content)
    assert again.counts == found.counts
    with pytest.raises(TableError, match="a part of the table"):
        parts.CountedPart.from_bytes(content[:-30])


def test_reports_have_the_announced_columns():
    plan = independent(DOMAIN, 1.0, mechanism={"a": "unary", "b": "grr", "c": "subset"})
    frame = pl.DataFrame({"a": ["x", None], "b": [0.5, 2.0], "c": [1, 2]})
    made = seepage.plan.reports_io.reports_frame(sp.randomize(frame, plan))
    kinds = {pl.String: pa.string(), pl.Int64: pa.int64()}
    schema = pa.schema([(n, kinds[t.base_type()]) for n, t in made.schema.items()])
    release = tasks.Release(plan, ("a", "b", "c"), {}, VERSION, schema)
    (batch,) = tasks.randomized(release, batches_of(frame)[0])
    assert batch.schema == schema
    assert batch.num_rows == 2
    with pytest.raises(tasks.TaskError, match="InvalidInputError"):
        list(tasks.randomized(tasks.Release(plan, ("a", "b", "c"), {}, "?", schema), []))


def test_without_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for call in (
        lambda: engine.count(None, DOMAIN),
        lambda: engine.read_domain(None),
        lambda: engine.randomize(None, independent(DOMAIN, 1.0), "out"),
        lambda: engine.aggregate(None, independent(DOMAIN, 1.0)),
    ):
        with pytest.raises(MissingDependencyError, match=r"pip install 'seepage\[spark\]'"):
            call()


def raising(error, out=None):
    with engine._spark_errors(out):
        raise error if isinstance(error, Exception) else RuntimeError(error)


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "Job aborted.\nTraceback (most recent call last):\n  File x\n"
            "ValueError: no, ValueError\n\tat java.lang",
            TableError,
            "got an error: ValueError: no, ValueError",
        ),
        ("[DIVIDE_BY_ZERO] Division by zero.\n== SQL ==", TableError, "[DIVIDE_BY_ZERO] Division"),
        ("", TableError, "got an error: Exception"),
        ("x\nNo module named 'polars.io'", MissingDependencyError, "got none of 'polars.io'"),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18 must be", MissingDependencyError, "PyArrow >= 18"),
        ("[PATH_ALREADY_EXISTS] Path x exists", TableError, "PATH_ALREADY_EXISTS"),
    ],
)
def test_errors_of_spark_come_in_one_line(text, kind, told):
    with pytest.raises(kind) as caught:
        raising(text)
    assert type(caught.value) is kind
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_of_a_release_say_what_to_do_with_the_folder():
    told = tasks.MARK + json.dumps({"error": "DomainError", "message": "bad 'x'"})
    with pytest.raises(DomainError, match=r"bad 'x' .*Remove the folder 'out'"):
        raising(f"TaskError: {told}", "out")
    with pytest.raises(TableError, match="publish nothing of it"):
        raising("lost", "out")
    with pytest.raises(InvalidInputError, match="'out': reports are never added"):
        raising("[PATH_ALREADY_EXISTS] Path", "out")
    with pytest.raises(DomainError, match="own"):
        raising(DomainError("own"), "out")
