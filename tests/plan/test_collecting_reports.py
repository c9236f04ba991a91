"""Files of reports: round trips in every format, and everything that must be refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage
from seepage.collect.collection import CollectedReports, CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.mechanism import TableMechanism
from seepage.collect.records import written_labels
from seepage.collect.registry import mechanism
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InvalidInputError, SeepageError, TableError
from seepage.plan.collecting import make_plan
from seepage.plan.randomizing import declared_nulls, randomize
from seepage.plan.reports_io import (
    ENDINGS,
    read_reports,
    report_bytes,
    reports_frame,
    write_reports,
)

DOMAIN = Domain(
    (
        Attribute("town", ("A", "B, C", 'the "rest"')),
        Attribute("age", ("young", "old", "?"), edges=(0, 18, 120), missing="?"),
        Attribute("flag", (True, False)),
        Attribute("half", (0.5, 1.0, 2.0, "none"), missing="none"),
        Attribute("mixed", (1, "1")),
        Attribute("only", ("(missing)",), missing="(missing)"),
    )
)
PLANS = {
    "independent": independent(DOMAIN, 1.0),
    "joint": independent(DOMAIN, 0.5, groups=[["mixed", "town"], ["age", "half", "only"]]),
    "texts": independent(DOMAIN, 1.0, {"town": "oue", "age": "olh", "half": "subset"}),
    "joint texts": independent(DOMAIN, 1.0, {"town": "oue", "age": "oue"}, [["town", "age"]]),
    "views": sampled_views(DOMAIN, 1.0, 2),
    "fake": fake_data(DOMAIN, 1.0),
    "view texts": CollectionPlan(
        DOMAIN.project(["town", "flag"]),
        "views",
        (
            Unit(("town",), mechanism("oue", 3, 1.0)),
            Unit(("flag", "town"), mechanism("olh", 6, 1.0)),
            Unit(("flag",), mechanism("grr", 2, 1.0)),
        ),
    ),
}


def some(plan: CollectionPlan, n: int = 300, rng: int | None = 3) -> CollectedReports:
    codes = np.random.default_rng(1).integers(0, plan.domain.shape, (n, len(plan.domain)))
    return plan.randomize_codes(codes, rng=rng)


def assert_same(one: CollectedReports, two: CollectedReports) -> None:
    assert one.plan == two.plan
    assert one.simulated == two.simulated
    assert (one.view is None) == (two.view is None)
    if one.view is not None:
        assert np.array_equal(one.view, two.view)
    for a, b in zip(one.values, two.values, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", PLANS)
def test_round_trip(name: str, ending: str, tmp_path: Path) -> None:
    for rng in (3, None):
        reports = some(PLANS[name], rng=rng)
        path = tmp_path / f"reports{ending.upper()}"
        write_reports(reports, path)
        assert_same(reports, read_reports(path, PLANS[name]))
        assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", PLANS)
def test_records_of_clients_are_read_together(name: str) -> None:
    plan = PLANS[name]
    record = {"town": "A", "age": 3, "flag": True, "half": None, "mixed": "1", "only": None}
    record = {key: record[key] for key in plan.domain.names}
    sent = [plan.randomize_record(record) for _ in range(20)]
    reports = read_reports(sent, plan)
    assert reports.size == 20
    assert not reports.simulated
    sent[3] = plan.randomize_record(record, rng=1)
    assert read_reports(sent, plan).simulated
    with pytest.raises(TableError):
        read_reports([*sent, {"town": "A"}], plan)
    with pytest.raises(TableError):
        read_reports([*sent, 3], plan)


def test_form_of_the_columns() -> None:
    frame = reports_frame(some(PLANS["independent"]))
    assert frame.columns == [*DOMAIN.names, "(plan)"]
    assert frame["town"].unique().sort().to_list() == ["A", "B, C", 'the "rest"']
    assert frame["age"].drop_nulls().unique().sort().to_list() == ["old", "young"]
    assert frame["age"].null_count() > 0
    assert frame["flag"].dtype == pl.Boolean
    assert frame["half"].dtype == pl.Float64
    assert frame["mixed"].unique().sort().to_list() == [0, 1]
    assert frame["only"].to_list() == [0] * 300
    joint = reports_frame(some(PLANS["joint"]))
    assert joint.columns == [*DOMAIN.names, "(plan)"]
    views = reports_frame(some(PLANS["views"]))
    assert views.columns == ["view", *DOMAIN.names, "(plan)"]
    for row in views.iter_rows(named=True):
        names = PLANS["views"].units[row["view"]].names
        assert all(row[name] is None for name in DOMAIN.names if name not in names)
    texts = reports_frame(some(PLANS["view texts"]))
    assert texts.columns == ["view", "town", "flag", "flag + town", "(plan)"]


def test_labels_that_files_cannot_hold_are_written_as_positions() -> None:
    for labels in (("",), (" a", "b"), ("a\n", "b"), (2**63, 1), (1, 1.5), ("1", 1), (True, "x")):
        assert written_labels(Attribute("a", labels)) is None
    assert written_labels(Attribute("a", (1, 2, "1"), missing="1")) is None
    assert written_labels(Attribute("a", (1, 2, "no"), missing="no")) == (1, 2, None)


def test_metadata(tmp_path: Path) -> None:
    plan = PLANS["independent"]
    path = tmp_path / "r.parquet"
    for rng, kind in ((3, "simulation, not a release"), (None, "release")):
        write_reports(some(plan, rng=rng), path)
        found = pl.read_parquet_metadata(path)
        assert found["seepage.plan"] == plan.fingerprint
        assert found["seepage.version"] == seepage.__version__
        assert found["seepage.kind"] == kind
        text = report_bytes(some(plan, rng=rng), ".csv").decode()
        assert text.splitlines()[0].endswith(",(plan)")
        marks = pl.read_csv(text.encode(), infer_schema=False)["(plan)"].unique().to_list()
        assert marks == [f"{plan.fingerprint[:16]} {kind}"]


def test_reports_of_another_plan(tmp_path: Path) -> None:
    reports, other = some(PLANS["independent"]), independent(DOMAIN, 1.5)
    for ending in ENDINGS:
        path = tmp_path / f"r{ending}"
        write_reports(reports, path)
        with pytest.raises(TableError, match="another plan"):
            read_reports(path, other)
        with pytest.raises(TableError, match=r"another plan|columns"):
            read_reports([path, path], PLANS["texts"])
    both = tmp_path / "both.parquet"
    write_reports(some(PLANS["independent"], rng=None), both)
    merged = read_reports([both, tmp_path / "r.parquet"], PLANS["independent"])
    assert merged.size == 600
    assert merged.simulated


@pytest.mark.parametrize("name", PLANS)
def test_reports_that_do_not_say_their_plan(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    reports = some(plan, rng=None)
    frame = reports_frame(reports)
    other = independent(DOMAIN, 1.5)
    frame.write_parquet(tmp_path / "again.parquet")  # the metadata are lost, the column is not
    assert_same(reports, read_reports(tmp_path / "again.parquet", plan))
    if name == "independent":
        for source in (frame, tmp_path / "again.parquet", frame.to_dicts()):
            with pytest.raises(TableError, match="another plan"):
                read_reports(source, other)
    bare = frame.drop("(plan)")
    bare.write_parquet(tmp_path / "bare.parquet")
    for source in (bare, tmp_path / "bare.parquet", bare.to_dicts()):
        found = read_reports(source, plan)
        assert found.simulated is None
        assert_same(found, dataclasses.replace(reports, simulated=None))
    for ending in ENDINGS:  # what is not known is not written as if it were
        write_reports(found, tmp_path / f"unknown{ending}")
        assert_same(found, read_reports(tmp_path / f"unknown{ending}", plan))


def test_reports_are_not_randomised_again(tmp_path: Path) -> None:
    """In frames and every format, alone or among tables; without the column nothing can tell."""
    domain = Domain.of({"a": ["x", "y"], "b": ["u", "v"]})
    plan = independent(domain, 1.0)
    reports = randomize({"a": ["x", "y"], "b": ["u", "v"]}, plan)
    sources: list[object] = [
        reports_frame(reports),
        reports_frame(reports).to_dict(as_series=False),
    ]
    for ending in ENDINGS:
        write_reports(reports, tmp_path / f"r{ending}")
        sources.append(tmp_path / f"r{ending}")
    for source in sources:
        with pytest.raises(TableError, match=r"true values, got reports.*'\(plan\)'.*already"):
            randomize(source, plan)
    with pytest.raises(DomainError, match=r"'\(plan\)'"):
        plan.randomize_record({"a": "x", "b": "u", "(plan)": "?"})
    assert randomize(reports_frame(reports).drop("(plan)"), plan).size == 2


def test_categories_of_tables_and_of_records() -> None:
    """What `1`, `1.0` and `"1"` are depends on whether columns have one type."""
    plan = independent(Domain.of({"a": [1, 2]}), math.inf)
    found = randomize({"a": [1.0, 2.0]}, plan, allow_unprotected=True)
    assert found.values[0].tolist() == [0, 1]
    for value in (1.0, "1", True):
        with pytest.raises(DomainError, match="column 'a'"):
            plan.randomize_record({"a": value}, allow_unprotected=True)
    both = independent(Domain.of({"a": [1, "1"]}), math.inf)
    assert both.randomize_record({"a": "1"}, allow_unprotected=True)["a"] == 1  # a position
    for column in ([1], ["1"]):
        with pytest.raises(DomainError, match="differ in a table, got 1 and '1'"):
            randomize({"a": column}, both, allow_unprotected=True)


def test_null_values_that_are_categories() -> None:
    domain = Domain((Attribute("a", ("no", "yes")), Attribute("b", ("u", "?"), missing="?")))
    plan = independent(domain, 1.0)
    table = {"a": ["no", "yes"], "b": ["u", "no"]}
    assert randomize(table, plan, null_values=["no"]).size == 2  # missing in b, a category of a
    alone = independent(domain.project(["a"]), 1.0)
    with pytest.raises(InvalidInputError, match=r"missing in some column, got 'no'.*column 'a'"):
        randomize({"a": ["no", "yes"]}, alone, null_values=["no"])
    assert randomize({"a": ["no", "yes"]}, alone, null_values=["", "NA"]).size == 2
    assert declared_nulls(plan, ["no", "?", "u", "NA"]) == [("no", "a", ("b",)), ("u", "b", ())]


def test_text_and_typed_files_together(tmp_path: Path) -> None:
    for name, plan in PLANS.items():
        paths = [tmp_path / f"{name}{ending}" for ending in (".csv", ".parquet", ".arrow")]
        parts = [some(plan, n, rng=None) for n in (20, 30, 10)]
        for part, path in zip(parts, paths, strict=True):
            write_reports(part, path)
        found = read_reports(paths, plan)
        assert (found.size, found.simulated) == (60, False)
        for unit, values in enumerate(found.values):
            assert np.array_equal(values, np.concatenate([p.values[unit] for p in parts]))
        write_reports(some(plan, 5, rng=1), paths[0])
        assert read_reports(paths, plan).simulated


def test_bad_endings(tmp_path: Path) -> None:
    for name in ("r.xlsx", "r", "r.json"):
        with pytest.raises(InvalidInputError, match=r"\.parquet"):
            write_reports(some(PLANS["fake"]), tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        write_reports(some(PLANS["fake"]), tmp_path / "absent" / "r.csv")


SMALL = Domain(
    (
        Attribute("town", ("A", "B")),
        Attribute("age", ("young", "old", "?"), edges=(0, 18, 120), missing="?"),
        Attribute("size", (1, 2, 3)),
        Attribute("pooled", ("x", "rest"), other="rest"),
    )
)
PLAIN = independent(SMALL, 1.0)
GOOD = {"town": ["A", "B"], "age": ["old", None], "size": [3, 1], "pooled": ["x", "rest"]}


def test_good_columns() -> None:
    reports = read_reports(GOOD, PLAIN)
    assert [v.tolist() for v in reports.values] == [[0, 1], [1, 2], [2, 0], [0, 1]]
    import pandas as pd
    import pyarrow as pa

    for frame in (pl.DataFrame(GOOD), pl.LazyFrame(GOOD), pd.DataFrame(GOOD), pa.table(GOOD)):
        assert_same(reports, read_reports(frame, PLAIN))


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"town": ["A", "C"]}, DomainError, "'C'"),
        ({"town": ["A", None]}, DomainError, "'town'"),
        ({"town": ["A", ""]}, DomainError, "''"),
        ({"town": ["A", "a"]}, DomainError, "'a'"),
        ({"town": ["A", " B"]}, DomainError, "' B'"),
        ({"town": [0, 1]}, DomainError, "'town'"),
        ({"town": [True, False]}, DomainError, "'town'"),
        ({"town": [["A"], ["B"]]}, TableError, "'town'"),
        ({"town": ["A", 1]}, TableError, "'town'"),
        ({"age": ["old", "?!"]}, DomainError, "'\\?!'"),
        ({"age": [17, 20]}, DomainError, "'age'"),
        ({"size": [3, 0]}, DomainError, "0"),
        ({"size": [3.0, 1.5]}, DomainError, "1.5"),
        ({"size": [3.0, math.nan]}, DomainError, "'size'"),
        ({"size": ["3", "1"]}, DomainError, "'size'"),
        ({"size": [True, True]}, DomainError, "'size'"),
        ({"pooled": ["x", "y"]}, DomainError, "'y'"),
        ({"more": [1, 2]}, TableError, "'more'"),
        ({"view": [0, 1]}, TableError, "'view'"),
        ({"(plan)": ["x", "y"]}, TableError, "another plan"),
        ({"(plan)": [None, None]}, TableError, "plan"),
        ({"(plan)": [1, 2]}, TableError, "plan"),
    ],
)
def test_hostile_columns(change: dict, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        read_reports(GOOD | change, PLAIN)


def test_missing_columns_and_no_records() -> None:
    for name in GOOD:
        with pytest.raises(TableError, match=name):
            read_reports({k: v for k, v in GOOD.items() if k != name}, PLAIN)
    with pytest.raises(TableError):
        read_reports({k: v[:0] for k, v in GOOD.items()}, PLAIN)
    for odd in (None, 3, [], {}, "absent.parquet", b"x"):
        with pytest.raises(SeepageError):
            read_reports(odd, PLAIN)
    with pytest.raises(InvalidInputError):
        read_reports(GOOD, None)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"view": [0, 6]}, "6"),
        ({"view": [0, -1]}, "-1"),
        ({"view": [0, None]}, "view"),
        ({"view": ["0", "5"]}, "view"),
        ({"size": [2, 2]}, "'size'"),
        ({"town": [None, None]}, "'town'"),
        ({"pooled": [None, None]}, "'pooled'"),
    ],
)
def test_hostile_views(change: dict, word: str) -> None:
    plan = sampled_views(SMALL, 1.0, 2)
    good = {
        "view": [0, 5],  # town and age; size and pooled
        "town": ["A", None],
        "age": [None, None],
        "size": [None, 2],
        "pooled": [None, "x"],
    }
    reports = read_reports(good, plan)
    assert [v.tolist() for v in reports.values] == [[2], [], [], [], [], [2]]
    with pytest.raises(DomainError, match=word):
        read_reports(good | change, plan)


@pytest.mark.parametrize("values", [["zz", "01"], ["", "01"], [None, "01"], [1, 2], ["0" * 40] * 2])
def test_hostile_texts(values: list) -> None:
    plan = independent(SMALL.project(["town", "size"]), 1.0, {"town": "oue"})
    frame = reports_frame(some(plan, 2))
    with pytest.raises((DomainError, InvalidInputError), match="town"):
        read_reports({"town": values, "size": frame["size"]}, plan)


@dataclasses.dataclass(frozen=True)
class _Wide(TableMechanism):
    """Reports one of k + 1 values: the true one, or the last."""

    k: int = 2
    epsilon: float = math.inf
    kind = "wide"

    @property
    def channel(self):
        return seepage.Channel.from_matrix([[0.5, 0, 0.5], [0, 0.5, 0.5]])

    @property
    def release_epsilon(self):
        return math.inf

    def to_dict(self):
        return {"kind": "wide", "k": 2}


def test_reports_that_are_no_categories_of_the_input() -> None:
    plan = CollectionPlan(Domain.of({"a": ["x", "y"]}), "independent", (Unit(("a",), _Wide()),))
    reports = CollectedReports(plan, (np.array([0, 2, 1]),), None, simulated=False)
    assert reports_frame(reports)["a"].to_list() == [0, 2, 1]
    assert_same(reports, read_reports(reports_frame(reports), plan))
    for values in ([0, 3], ["x", "y"], [0, None]):
        with pytest.raises(DomainError, match="'a'"):
            read_reports({"a": values}, plan)


labels = st.one_of(
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
        st.one_of(
            st.lists(kind, min_size=1, max_size=4, unique_by=lambda x: (type(x), x))
            for kind in (st.integers(-(10**20), 10**20), st.text(max_size=4), labels)
        ).filter(lambda x: not any("\ud800" <= c <= "\udfff" for t in x for c in str(t))),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_any_domain_survives_every_format(columns: dict[str, list], gap: bool) -> None:
    domain = Domain(
        tuple(
            Attribute(name, tuple(values), missing=values[-1] if gap else None)
            for name, values in columns.items()
        )
    )
    plan = make_plan(domain, epsilon=0.1)
    reports = some(plan, 20)
    import tempfile

    plain = all(name.isprintable() and name.strip() == name for name in columns)
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".parquet", ".csv", ".arrow"):
            path = Path(folder) / f"r{ending}"
            if ending == ".csv" and not plain:
                with pytest.raises(InvalidInputError, match="Parquet"):
                    write_reports(reports, path)
                continue
            write_reports(reports, path)
            assert_same(reports, read_reports(path, plan))


def test_end_to_end_on_the_example(tmp_path: Path) -> None:
    """Frequencies from the reports lie within 5 standard errors; false alarms: 1 in 30,000."""
    from seepage.example import example_domain_path, example_path
    from seepage.tables import load

    plan = make_plan(example_domain_path(), epsilon=1.0, columns=["age", "sex", "income"])
    reports = randomize(example_path(), plan, rng=8)
    write_reports(reports, tmp_path / "r.parquet")
    read = read_reports(tmp_path / "r.parquet", plan)
    truth = load(example_path(), domain=plan.domain)
    for i, (unit, values) in enumerate(zip(plan.units, read.values, strict=True)):
        features = unit.mechanism.featurize(values)
        parts = features @ unit.mechanism.unbias
        estimate, error = parts.mean(axis=0), parts.std(axis=0) / math.sqrt(len(parts))
        exact = np.bincount(truth.codes[:, i], minlength=unit.mechanism.k) / truth.size
        assert (np.abs(estimate - exact) < 5 * error).all()
