"""From budgets to plans and from tables to reports."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from seepage.collect.designs import independent, sampled_views
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InfeasibleError, InvalidInputError, SeepageError, TableError
from seepage.example import example_domain_path, example_path
from seepage.plan.calibrate import calibrate
from seepage.plan.calibration_files import budgets_in
from seepage.plan.collecting import (
    as_plan,
    domain_was_read,
    make_plan,
    plan_source,
    randomize,
)
from seepage.plan.totals import total_leakage
from seepage.results import Standing
from seepage.tables import domain_from_yaml, load

NAMES = ("age", "sex", "physical_limitation", "self_rated_health")


@pytest.fixture(scope="module")
def coded():
    return load(example_path(), domain=example_domain_path(), columns=NAMES)


@pytest.fixture(scope="module")
def calibrated(coded):
    return calibrate(coded, 1.5)


def test_a_domain_file_reads_no_data() -> None:
    plan = make_plan(example_domain_path(), epsilon=0.5)
    assert plan.domain == domain_from_yaml(example_domain_path())
    assert plan.assumptions == ("Categories were declared in domain.yaml.",)
    assert plan.source == "domain.yaml"
    assert {claim.value for claim in plan.totals.values()} == {plan.epsilon}
    assert not domain_was_read(plan)
    assert make_plan(example_domain_path(), epsilon=1.0, columns=["sex"]).domain.names == ("sex",)


def test_a_table_gives_totals(coded) -> None:
    plan = make_plan(coded, epsilon=0.5)
    found = total_leakage(coded, 0.5)
    assert {name: claim.value for name, claim in plan.totals.items()} == dict(found)
    assert all(claim.standing is Standing.UPPER for claim in plan.totals.values())
    assert "if the data follow the dependency tree" in plan.verdict
    pairwise = make_plan(coded, epsilon=0.5, method="pairwise")
    assert pairwise.standing is Standing.HEURISTIC
    assert "no bound" in pairwise.verdict
    assert dict(total_leakage(coded, 0.5, method="pairwise")) == {
        name: claim.value for name, claim in pairwise.totals.items()
    }


@pytest.mark.parametrize("design", ["views", "fake"])
def test_totals_of_other_designs_are_the_record(coded, design) -> None:
    plan = make_plan(coded, epsilon=0.5, design=design)
    assert {claim.value for claim in plan.totals.values()} == {plan.epsilon}
    with pytest.raises(InvalidInputError, match="independent reports"):
        make_plan(coded, epsilon=0.5, design=design, method="tree")


def test_groups_are_charged_as_one_attribute(coded) -> None:
    groups = [("age", "sex")]
    plan = make_plan(coded, epsilon=0.5, groups=groups)
    assert plan.epsilon == 2.0
    assert plan.totals["age"].value == plan.totals["sex"].value > 1.0
    assert plan.totals[plan.worst].value < 2.0
    assert "whole cluster" in plan.totals["age"].assumptions[-1]
    # The same by a tree of the same shape whose node is the cluster.
    age, sex, limited, health = (coded.codes[:, i] for i in range(4))
    both = age * coded.domain["sex"].size + sex
    merged = {"both": both, "limited": limited, "health": health}
    again = total_leakage(merged, {"both": 1.0, "limited": 0.5, "health": 0.5}, n_bins=50)
    assert plan.totals["age"].value == pytest.approx(again["both"], abs=1e-12)
    assert plan.totals["self_rated_health"].value == pytest.approx(again["health"], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_totals_of_groups_bound_the_exact_leakage(seed: int) -> None:
    """Two units always follow a tree, so the claim must bound what enumeration finds."""
    joint = np.random.default_rng(seed).dirichlet(np.full(2 * 3 * 3, 0.3)).reshape(2, 3, 3)
    counts = np.maximum(np.round(joint * 2000), 1).astype(int)
    records = np.repeat(np.array(list(np.ndindex(counts.shape))), counts.ravel(), axis=0)
    table = dict(zip("abc", records.T, strict=True))
    plan = make_plan(table, epsilon=0.6, groups=[("a", "b")])
    first, second = (unit.mechanism.channel.matrix for unit in plan.units)
    weights = counts / counts.sum()
    reports = np.einsum("abc,aby,cz->abcyz", weights, first.reshape(2, 3, 6), second)
    for axis, name in enumerate("abc"):
        given = np.moveaxis(reports, axis, 0).sum(axis=(1, 2)).reshape(counts.shape[axis], -1)
        given /= given.sum(axis=1, keepdims=True)
        exact = float((np.log(given).max(axis=0) - np.log(given).min(axis=0)).max())
        assert 0.2 < exact <= plan.totals[name].value + 1e-12


def test_large_groups_take_the_bound_without_data() -> None:
    table = {"a": np.arange(600) % 20, "b": np.arange(600) % 19, "c": np.arange(600) % 2}
    plan = make_plan(table, epsilon=0.5, groups=[("a", "b")])
    assert {claim.value for claim in plan.totals.values()} == {1.5}
    with pytest.raises(InvalidInputError, match="few categories"):
        make_plan(table, epsilon=0.5, groups=[("a", "b")], method="tree")


def test_totals_follow_the_mechanism(coded) -> None:
    """Every mechanism is ε-LDP with its own ε, which is what the tree bound needs."""
    plan = make_plan(coded, epsilon=0.5, mechanism={"age": "oue", "sex": "olh"})
    for name, claim in plan.totals.items():
        assert claim.value == pytest.approx(total_leakage(coded, 0.5)[name], abs=1e-9)


def test_a_domain_that_was_read_is_told() -> None:
    table = {"a": ["x", "y", "x", "x"], "b": [1, 2, 1, 2]}
    plan = make_plan(table, epsilon=1.0)
    assert domain_was_read(plan)
    assert any("not for a release" in sentence for sentence in plan.assumptions)
    declared = make_plan(table, epsilon=1.0, domain=Domain.of({"a": ["x", "y"], "b": [1, 2]}))
    assert not domain_was_read(declared)
    assert plan.fingerprint == declared.fingerprint


def test_calibrated_budgets(coded, calibrated, tmp_path: Path) -> None:
    path = tmp_path / "budgets.json"
    calibrated.to_json(path)
    for budgets in (calibrated, path, str(path)):
        plan = make_plan(coded, budgets=budgets, design="calibrated")
        assert dict(plan.budgets) == pytest.approx(dict(calibrated.budgets), abs=1e-14)
        assert plan.target == 1.5
        assert plan.totals[plan.worst].value <= 1.5
        for name, claim in plan.totals.items():
            assert claim.value == pytest.approx(calibrated.totals[name], abs=1e-9)
        assert any("target of 1.5 nats" in sentence for sentence in plan.assumptions)


def test_calibrated_budgets_without_the_data(coded, calibrated, tmp_path: Path) -> None:
    path = tmp_path / "budgets.json"
    calibrated.to_json(path)
    plan = make_plan(coded.domain, budgets=path, design="calibrated")
    for name, claim in plan.totals.items():
        assert claim.value == calibrated.totals[name]
        assert claim.standing is Standing.UPPER
        assert "not computed again" in claim.assumptions[0]
        assert set(calibrated.totals.assumptions) <= set(claim.assumptions)
    # A group changes the mechanisms, so only the bound without data is left, above the target.
    with pytest.raises(InfeasibleError, match="groups"):
        make_plan(coded.domain, budgets=path, groups=[("age", "sex")])


def test_a_calibration_from_other_data_is_checked(coded, calibrated) -> None:
    same = {name: coded.codes[:, 0] % coded.domain[name].size for name in NAMES}
    domain = Domain.of({name: list(range(coded.domain[name].size)) for name in NAMES})
    with pytest.raises(InfeasibleError, match="Calibrate again") as caught:
        make_plan(same, budgets=calibrated, domain=domain)
    assert caught.value.total > 1.5
    with pytest.raises(DomainError, match="budget"):
        make_plan(coded.domain.project(NAMES[:2]), budgets=calibrated)


def test_the_warning_of_a_calibration_is_carried_on() -> None:
    table = {"a": ["x", "y", "x", "x"], "b": [1, 2, 1, 2]}
    domain = Domain.of({"a": ["x", "y"], "b": [1, 2]})
    plan = make_plan(domain, budgets=calibrate(table, 1.0))
    assert domain_was_read(plan)


def test_budget_files(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text('{"a": 1, "b": "inf"}')
    assert budgets_in(path) == {"a": 1.0, "b": math.inf}
    plan = make_plan(Domain.of({"a": [1, 2], "b": [1, 2]}), budgets=path)
    assert plan.budgets == {"a": 1.0, "b": math.inf}
    with pytest.raises(InvalidInputError, match="from a calibration"):
        make_plan(plan.domain, budgets=path, design="calibrated")
    good = json.loads(calibrate({"a": [1, 2, 2], "b": [1, 1, 2]}, 1.0).to_json())
    for text in (
        "",
        "[1]",
        "{}",
        '{"a": -1}',
        '{"a": true}',
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"format": "seepage.plan"}',
        json.dumps(good | {"version": 2}),
        json.dumps(good | {"unit": "bits"}),
        json.dumps(good | {"budgets": None}),
        json.dumps(good | {"totals": {"a": 1.0}}),
        json.dumps(good | {"totals": {"a": 0.0, "b": 0.0}}),
        json.dumps(good | {"target": "low"}),
        json.dumps(good | {"standing": "sure"}),
        json.dumps(good | {"method": "joint"}),
        json.dumps(good | {"assumptions": [1]}),
    ):
        path.write_text(text)
        with pytest.raises(TableError):
            budgets_in(path)
    with pytest.raises(TableError):
        budgets_in(tmp_path / "absent.json")


SMALL = Domain.of({"a": ["x", "y"], "b": [1, 2, 3]})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budgets": 1.0, "epsilon": 1.0},
        {"budgets": 1.0, "design": "views"},
        {"epsilon": {"a": 1.0, "b": 1.0}, "design": "split"},
        {"epsilon": 1.0, "design": "views", "groups": [("a", "b")]},
        {"epsilon": 1.0, "design": "fake", "mechanism": "oue"},
        {"epsilon": 1.0, "design": "spl"},
        {"epsilon": 1.0, "design": "calibrated"},
        {"epsilon": 1.0, "method": "tree"},
        {"epsilon": 1.0, "method": "joint"},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": {"a": 1.0}},
        {"epsilon": 1.0, "columns": ["a"]},
        {"epsilon": 1.0, "design": "views", "k": 3},
    ],
)
def test_bad_plans(options) -> None:
    with pytest.raises(SeepageError):
        make_plan(SMALL, **options)


def test_sources() -> None:
    source = plan_source(SMALL)
    assert make_plan(source, epsilon=1.0) == make_plan(SMALL, epsilon=1.0)
    with pytest.raises(InvalidInputError, match="domain"):
        make_plan(source, epsilon=1.0, columns=["a"])
    with pytest.raises(SeepageError):
        make_plan("absent.yaml", epsilon=1.0)
    with pytest.raises(InvalidInputError, match="weights"):
        make_plan(example_domain_path(), epsilon=1.0, weights="w")


def test_null_values_of_a_domain_file_are_not_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("columns: {a: {categories: [x, y], missing: none, null_values: ['?']}}")
    plan = make_plan(path, epsilon=math.inf)
    assert any("--null" in sentence for sentence in plan.assumptions)
    table = tmp_path / "t.csv"
    table.write_text("a\nx\n?\ny\n")
    with pytest.raises(DomainError):
        randomize(table, plan)
    assert randomize(table, plan, null_values=["?"]).values[0].tolist() == [0, 2, 1]


def test_randomize_codes_by_the_plan() -> None:
    domain = Domain(
        (
            Attribute("age", ("young", "old", "?"), edges=(0, 18, 120), missing="?"),
            Attribute("sex", ("m", "f")),
        )
    )
    plan = independent(domain, math.inf)
    table = {"sex": ["f", "m", "f"], "extra": [1, 2, 3], "age": [17.5, None, 120]}
    reports = randomize(table, plan)
    assert [v.tolist() for v in reports.values] == [[0, 2, 1], [1, 0, 1]]
    assert not reports.simulated
    assert randomize(table, plan, rng=3).simulated


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"age": [5], "sex": ["x"]}, ["'sex'", "'x'"]),
        ({"age": [5], "sex": [None]}, ["'sex'"]),
        ({"age": [121], "sex": ["m"]}, ["'age'", "121"]),
        ({"age": [5], "sex": [1]}, ["'sex'"]),
        ({"age": [5]}, ["'sex'"]),
        ({"age": [5], "Sex": ["m"]}, ["'sex'"]),
    ],
)
def test_nothing_outside_the_domain_is_released(table, words) -> None:
    domain = Domain((Attribute("age", ("young", "old"), edges=(0, 18, 120)),
                     Attribute("sex", ("m", "f", "1"))))  # fmt: skip
    with pytest.raises(DomainError) as caught:
        randomize(table, independent(domain, 1.0))
    for word in words:
        assert word in str(caught.value)


def test_bad_calls(coded, tmp_path: Path) -> None:
    plan = independent(coded.domain, 1.0)
    assert randomize(coded, plan, rng=0).size == coded.size
    other = independent(coded.domain.project(NAMES[::-1]), 1.0)
    with pytest.raises(DomainError, match="domain of the plan"):
        randomize(coded, other)
    for options in ({"min_count": 5}, {"bins": {"age": 3}}, {"weights": "age"}, {"colums": 1}):
        with pytest.raises(InvalidInputError):
            randomize(example_path(), plan, **options)
    with pytest.raises(InvalidInputError):
        randomize(coded, plan, header=True)
    for odd in (None, 3, {"a": 1}):
        with pytest.raises(InvalidInputError):
            as_plan(odd)
    with pytest.raises(TableError):
        as_plan(tmp_path / "absent.json")
    weighted = load({"a": ["x", "y"], "w": [1, 2]}, weights="w")
    with pytest.raises(InvalidInputError, match="weights"):
        randomize(weighted, independent(weighted.domain, 1.0))


def test_a_column_with_very_many_categories() -> None:
    domain = Domain.of({"a": list(range(12_000))})
    assert randomize({"a": np.arange(12_000)}, independent(domain, 5.0), rng=1).size == 12_000
    assert sampled_views(domain, 1.0, 1).epsilon == 1.0
