"""Estimating from files, frames, records and batches, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from seepage.channel import Channel
from seepage.collect.collection import CollectedReports, CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.collect.plan_files import write_plan
from seepage.collect.pram import Table
from seepage.collect.response import RandomizedResponse
from seepage.domain import Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError, SeepageError, TableError
from seepage.plan.estimating import adjust, estimate
from seepage.plan.reports_io import write_reports
from seepage.results import Standing

NAMES = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
    "native_country", "income",
]  # fmt: skip
DOMAIN = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes", "?"], "age": [1, 2]})


@pytest.fixture(scope="module")
def plan() -> CollectionPlan:
    return independent(DOMAIN, {"sex": 2.0, "smoker": 1.0, "age": 3.0})


@pytest.fixture(scope="module")
def reports(plan: CollectionPlan) -> CollectedReports:
    rng = np.random.default_rng(0)
    return plan.randomize_codes(rng.integers(0, DOMAIN.shape, (600, 3)), rng=rng)


@pytest.fixture(scope="module")
def made(plan: CollectionPlan, reports: CollectedReports) -> Estimates:
    return estimate(reports, plan)


def test_every_kind_of_source(
    plan: CollectionPlan, reports: CollectedReports, made: Estimates, tmp_path: Path
) -> None:
    write_plan(plan, tmp_path / "plan.json")
    for name in ("reports.parquet", "reports.csv", "reports.arrow"):
        write_reports(reports, tmp_path / name)
        read = estimate(tmp_path / name, tmp_path / "plan.json")
        assert read == made
        assert read.source == name
    both = [tmp_path / "reports.csv"] * 2
    assert estimate(both, plan) == made + estimate(reports, plan)
    assert estimate(both, plan).source == "reports.csv and 1 more"
    frame = pl.read_parquet(tmp_path / "reports.parquet")
    assert estimate(frame, plan).sums.size == 600


def test_batches(plan: CollectionPlan, reports: CollectedReports, made: Estimates) -> None:
    parts = [
        CollectedReports(plan, tuple(x[at : at + 250] for x in reports.values), None, True)
        for at in range(0, 600, 250)
    ]
    assert estimate(parts, plan) == made
    assert estimate(iter(parts), plan) == made
    records = [plan.randomize_record({"sex": "f", "smoker": "?", "age": 2}) for _ in range(5)]
    assert estimate(records, plan).size == 5
    assert estimate(records, plan).origin == "release"


def test_which_tables(plan: CollectionPlan, reports: CollectedReports) -> None:
    assert estimate(reports, plan, 1).sets == (("sex",), ("smoker",), ("age",))
    assert len(estimate(reports, plan, 2).sets) == 3
    assert estimate(reports, plan, 3).sets == (DOMAIN.names,)
    assert estimate(reports, plan, 2, columns=["age", "sex"]).sets == (("sex", "age"),)
    given = estimate(reports, plan, ["age", ("smoker", "sex"), ("sex", "smoker")])
    assert given.sets == (("age",), ("sex", "smoker"))
    views = sampled_views(DOMAIN, 1.0, 2)
    assert len(Estimates.of(views, 2).sets) == 3
    overlapping = CollectionPlan(
        DOMAIN,
        "views",
        (
            Unit(("sex", "smoker"), RandomizedResponse(6, 1.0)),
            Unit(("age",), RandomizedResponse(2, 1.0)),
        ),
    )
    assert Estimates.of(overlapping, 2).sets == (("sex", "smoker"),)


def test_simulation_and_release_are_told_apart(
    plan: CollectionPlan, reports: CollectedReports, made: Estimates
) -> None:
    assert made.origin == "simulation, not a release"
    assert "simulated" in made.verdict
    release = estimate(replace(reports, simulated=False), plan)
    assert release.origin == "release"
    assert "simulated" not in release.verdict
    assert (made + release).origin == "mixed: 600 of 1,200 records are simulated"
    unknown = estimate(replace(reports, simulated=None), plan)
    assert unknown.origin == "of unknown origin"
    assert any("600 records it could not be checked" in x for x in unknown.assumptions)
    assert not any("could not be checked" in x for x in made.assumptions)
    assert sum([made, release, unknown]).origin == (
        "mixed: 600 of 1,800 records are simulated and 600 of 1,800 records are of unknown origin"
    )
    with pytest.raises(TypeError):
        made + 1
    assert made.marginal("sex").simulated
    assert not release.marginal("sex").simulated


def test_results(made: Estimates) -> None:
    frame = made.to_frame()
    assert frame.height == 6 + 4 + 6
    assert frame.columns == [
        "table", "attribute_1", "category_1", "attribute_2", "category_2", "estimate",
        "standard_error", "lower", "upper", "records",
    ]  # fmt: skip
    table = made.marginal("sex", "smoker")
    first = frame.filter(pl.col("table") == "sex × smoker")
    assert first["estimate"].to_list() == table.values.ravel().tolist()
    assert table.to_frame().columns == [
        "sex", "smoker", "estimate", "standard_error", "lower", "upper",
    ]  # fmt: skip
    content = json.loads(made.to_json())
    assert content["format"] == "seepage.estimates"
    assert content["tables"][0]["estimate"] == table.values.tolist()
    assert content["tables"][0]["confidence"] == 0.95
    assert json.loads(table.to_json())["standing"] == "estimate"
    assert "three two-way" not in made.verdict
    assert made.verdict.startswith("3 two-way tables estimated without bias")
    assert "sex = " in table.verdict


def test_tables_of_different_sizes(plan: CollectionPlan, reports: CollectedReports) -> None:
    mixed = estimate(reports, plan, ["sex", ("smoker", "age")])
    columns = mixed.columns()
    assert columns["attribute_2"][:2] == [None, None]
    assert len(set(map(len, columns.values()))) == 1
    adjusted = mixed.project()
    assert set(adjusted.columns()) >= {"estimate", "unbiased", "standard_error_unbiased"}
    assert min(adjusted.columns()["estimate"]) >= 0
    assert json.loads(adjusted.to_json())["steps"][-1].startswith("Euclidean")
    assert adjusted.marginal("age", "smoker").values.shape == (2, 3)
    with pytest.raises(InvalidInputError, match="expected one of the tables"):
        adjusted.marginal("sex", "age")


def test_names_that_collide_with_columns() -> None:
    odd = independent(Domain.of({"estimate": [1, "1"], "lower": [True, "True"]}), 1.0)
    made = estimate(odd.randomize_codes(np.array([[0, 1], [1, 0]]), rng=0), odd)
    columns = made.marginal("estimate", "lower").columns()
    assert list(columns)[:2] == ["estimate", "lower"]
    assert set(columns) >= {"estimate_", "lower_"}
    assert made.marginal("estimate", "lower").to_frame().height == 4
    assert made.to_frame().height == 4


def test_steps(made: Estimates) -> None:
    chain = adjust(made, ["consistent", "simplex"])
    assert chain.standing is Standing.ESTIMATE
    assert adjust(made, []) is made
    assert adjust(made, ["likelihood", "consistent"]).standing is Standing.ESTIMATE
    assert adjust(made, ["clip"]).standing is Standing.HEURISTIC
    with pytest.raises(InvalidInputError, match="'update' as the first step"):
        adjust(made, ["simplex", "update"])
    with pytest.raises(InvalidInputError, match="Did you mean 'simplex'"):
        adjust(made, ["simplx"])


def test_adding_refuses_other_tables_and_plans(
    plan: CollectionPlan, reports: CollectedReports, made: Estimates
) -> None:
    with pytest.raises(InvalidInputError, match="same tables"):
        made + estimate(reports, plan, 1)
    other = independent(DOMAIN, 1.0)
    theirs = estimate(other.randomize_codes(np.zeros((3, 3), dtype=int), rng=0), other)
    with pytest.raises(InvalidInputError, match="another mechanisms"):
        made + theirs
    with pytest.raises(InvalidInputError, match="same plan"):
        estimate(reports, other)
    with pytest.raises(InvalidInputError, match="another design"):
        estimate(reports, fake_data(DOMAIN, 1.0), 1)
    with pytest.raises(InvalidInputError, match="another domain"):
        estimate(reports, independent(DOMAIN.project(["sex", "smoker"]), 1.0))
    with pytest.raises(TypeError):
        made + 1
    text = independent(DOMAIN, 1.0, "oue")
    with pytest.raises(InvalidInputError, match="covariance on both sides"):
        Estimates.of(text, covariance=True) + Estimates.of(text)
    assert made != theirs
    assert made != 3


MARGINALS = [
    (0, "from 1 to 3, got 0"),
    (4, "from 1 to 3, got 4"),
    (True, "number or a list"),
    (1.5, "number or a list"),
    ("sex", "number or a list"),
    (None, "number or a list"),
    ([], "at least one set"),
    ([()], "at least one"),
    ([("sex", "sex")], "'sex' twice"),
    ([("sex", "smokr")], "'smoker'"),
    ([3], "expected a list of column names"),
    ([None], "expected a list of column names"),
]


@pytest.mark.parametrize(("marginals", "message"), MARGINALS)
def test_hostile_marginals(
    plan: CollectionPlan, reports: CollectedReports, marginals: object, message: str
) -> None:
    with pytest.raises(SeepageError, match=message):
        estimate(reports, plan, marginals)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, np.nan, None, "0.9", True, [0.9, 0.8]])
def test_hostile_confidence(
    plan: CollectionPlan, reports: CollectedReports, made: Estimates, confidence: object
) -> None:
    with pytest.raises(InvalidInputError, match="confidence"):
        estimate(reports, plan, confidence=confidence)
    with pytest.raises(InvalidInputError, match="confidence"):
        made.marginal("sex").interval(confidence)


def test_hostile_names(made: Estimates, plan: CollectionPlan, reports: CollectedReports) -> None:
    with pytest.raises(InvalidInputError, match="at least one column"):
        made.marginal()
    with pytest.raises(DomainError, match="'smoker'"):
        made.marginal("smokr")
    with pytest.raises(InvalidInputError, match="asked for"):
        made.marginal("sex", "smoker", "age")
    with pytest.raises(DomainError, match="twice"):
        made.marginal("sex", "sex")
    with pytest.raises(DomainError):
        made.marginal("sex").reorder(["age"])
    with pytest.raises(DomainError, match="order of"):
        made.marginal("sex", "age").reorder(["age"])
    with pytest.raises(InvalidInputError, match="method"):
        made.marginal("sex").interval(method="exact")
    with pytest.raises(DomainError, match="'ag'"):
        estimate(reports, plan, 1, columns=["ag"])
    with pytest.raises(InvalidInputError, match="number of marginals only"):
        estimate(reports, plan, [("sex",)], columns=["sex"])


def test_hostile_reports(plan: CollectionPlan, reports: CollectedReports, tmp_path: Path) -> None:
    for bad in (None, 3, "missing.parquet", {"sex": ["f"]}, [], [None], pl.DataFrame()):
        with pytest.raises((SeepageError, FileNotFoundError)):
            estimate(bad, plan)
    with pytest.raises(TableError, match="got none"):
        estimate(pl.DataFrame({"sex": [], "smoker": [], "age": []}), plan)
    with pytest.raises(InvalidInputError, match="expected at least one report"):
        estimate(iter(()), plan)
    for bad in (None, 3, "plan.json", {}):
        with pytest.raises((SeepageError, FileNotFoundError)):
            estimate(reports, bad)
    first, *rest = reports.values
    for values, message in (
        (first + 5, "reports of 'sex': expected"),
        (first - 1, "reports of 'sex': expected"),
        (first.astype(float), "reports of 'sex': expected"),
        (first.astype(str), "reports of 'sex': expected"),
        (first[:, np.newaxis], "shape"),
        (first[:-1], "expected 599 reports of 'smoker', got 600"),
        (first.astype(bool), "reports of 'sex': expected"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            Estimates.of(plan).add(replace(reports, values=(values, *rest)))
    with pytest.raises(InvalidInputError, match="3 units, got 2"):
        Estimates.of(plan).add(replace(reports, values=tuple(rest)))
    with pytest.raises(InvalidInputError, match="CollectedReports"):
        Estimates.of(plan).add(reports.values)
    views = sampled_views(DOMAIN, 1.0, 2)
    good = views.randomize_codes(np.zeros((20, 3), dtype=int), rng=0)
    for view in (None, good.view + 3, good.view * 0, good.view.astype(float), good.view[:3]):
        with pytest.raises(InvalidInputError, match="expected"):
            Estimates.of(views).add(replace(good, view=view))


def test_designs_say_what_they_cannot_tell() -> None:
    fake = fake_data(DOMAIN, 1.0)
    with pytest.raises(InvalidInputError, match="no information on pairs"):
        Estimates.of(fake, 2)
    assert len(Estimates.of(fake, 1).sets) == 3
    views = sampled_views(DOMAIN, 1.0, 2)
    with pytest.raises(InvalidInputError, match=r"no view contains them \(the largest has 2\)"):
        Estimates.of(views, 3)
    with pytest.raises(InvalidInputError, match="no view contains them"):
        Estimates.of(views, [DOMAIN.names])


def test_reports_that_say_nothing_are_refused() -> None:
    dark = independent(DOMAIN, {"sex": 1.0, "smoker": 0.0, "age": 1.0})
    reports = dark.randomize_codes(np.zeros((10, 3), dtype=int), rng=0)
    with pytest.raises(InvalidInputError, match="frequencies of 'smoker'"):
        estimate(reports, dark, 1)
    assert estimate(reports, dark, [("sex", "age")]).marginal("sex").values.shape == (2,)
    flat = Table(Channel.from_matrix([[0.5, 0.5], [0.5, 0.5]]))
    unknown = CollectionPlan(DOMAIN.project(["sex"]), "independent", (Unit(("sex",), flat),))
    with pytest.raises(InvalidInputError, match="frequencies of 'sex'"):
        estimate(unknown.randomize_codes(np.zeros((3, 1), dtype=int), rng=0), unknown, 1)


def test_tables_that_do_not_fit_are_refused_before_reading() -> None:
    wide = Domain.of({f"c{i}": list(range(1500)) for i in range(4)})
    plan = independent(wide, 5.0)
    with pytest.raises(CapacityError, match=r"'c0' \(1,500 categories\)"):
        estimate("never read", plan, 3)
    with pytest.raises(CapacityError, match=r"GB"):
        Estimates.of(plan, 4)
    many = independent(Domain.of({f"c{i}": [0, 1] for i in range(60)}), 1.0)
    with pytest.raises(CapacityError, match=r"got 34,220 sets|got 5,461,512 sets"):
        Estimates.of(many, 5)
    large = independent(Domain.of({"a": list(range(400)), "b": list(range(400))}), 5.0)
    reports = large.randomize_codes(np.zeros((10, 2), dtype=int), rng=0)
    with pytest.raises(CapacityError, match="covariance"):
        estimate(reports, large).marginal("a", "b").covariance()
    text = independent(DOMAIN, 1.0, "oue")
    made = estimate(text.randomize_codes(np.zeros((10, 3), dtype=int), rng=0), text)
    with pytest.raises(InvalidInputError, match="covariance=True"):
        made.marginal("sex", "smoker").covariance()


def test_real_data(data_dir: Path) -> None:
    """Adult: the true shares lie within 4.5 errors everywhere; false alarms 7e-6 for each cell."""
    from seepage.tables import load

    coded = load(
        data_dir / "adult" / "adult.data", header=False, names=NAMES, n_bins=5,
        columns=["age", "workclass", "education", "sex"],
    )  # fmt: skip
    plan = independent(coded.domain, 2.0)
    made = estimate(plan.randomize_codes(coded.codes, rng=1), plan)
    assert made.size == 32_561
    for found in made.tables:
        axes = [coded.domain.position(name) for name in found.names]
        truth = np.zeros(found.values.shape)
        np.add.at(truth, tuple(coded.codes[:, axes].T), 1 / len(coded.codes))
        assert (np.abs(found.values - truth) <= 4.5 * found.standard_errors).all()
        assert math.isfinite(found.standard_errors.max())
