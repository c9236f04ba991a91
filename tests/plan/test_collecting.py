"""From budgets to plans and from tables to reports."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from seepage.collect.designs import independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.domain import Attribute, Domain
from seepage.errors import (
    CapacityError,
    DomainError,
    InfeasibleError,
    InvalidInputError,
    SeepageError,
    TableError,
)
from seepage.example import example_domain_path, example_path
from seepage.plan.calibrate import calibrate
from seepage.plan.calibration_files import budgets_in
from seepage.plan.claim_checks import by_tree
from seepage.plan.collecting import _three_digits, make_plan
from seepage.plan.plan_sources import as_plan, domain_was_read, plan_source, totals_from_data
from seepage.plan.randomizing import randomize
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


def assert_totals(plan, wanted, tolerance: float = 0.0) -> None:
    """Totals by tree are those wanted, rounded up; where records refute the tree, ε of all."""
    for name, claim in plan.totals.items():
        if by_tree(claim):
            assert wanted[name] - tolerance <= claim.value <= 1.01 * wanted[name]
            assert claim.value in {float(f"{claim.value:.3g}"), plan.target, plan.epsilon}
        else:
            assert claim.value == plan.epsilon > wanted[name]
            assert any("refute" in sentence for sentence in claim.assumptions)
    assert any(by_tree(claim) for claim in plan.totals.values())


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
    assert_totals(plan, found)
    assert all(claim.standing is Standing.UPPER for claim in plan.totals.values())
    two = make_plan({"a": [1, 1, 2, 2, 2], "b": [1, 2, 1, 2, 2]}, epsilon=0.5)
    assert "if the data follow the dependency tree" in two.verdict
    pairwise = make_plan(coded, epsilon=0.5, method="pairwise")
    assert pairwise.standing is Standing.HEURISTIC
    assert "no bound" in pairwise.verdict
    for name, total in total_leakage(coded, 0.5, method="pairwise").items():
        assert total <= pairwise.totals[name].value <= total * 1.01


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
    assert by_tree(plan.totals["age"])
    assert any("whole cluster" in sentence for sentence in plan.totals["age"].assumptions)
    # The same by a tree of the same shape whose node is the cluster.
    age, sex, limited, health = (coded.codes[:, i] for i in range(4))
    both = age * coded.domain["sex"].size + sex
    merged = {"both": both, "limited": limited, "health": health}
    again = total_leakage(merged, {"both": 1.0, "limited": 0.5, "health": 0.5}, n_bins=50)
    wanted = {"age": again["both"], "sex": again["both"]}
    wanted |= {"physical_limitation": again["limited"], "self_rated_health": again["health"]}
    assert_totals(plan, wanted, 1e-12)


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
    assert_totals(plan, total_leakage(coded, 0.5), 1e-9)


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
        assert all(claim.value <= 1.5 for claim in plan.totals.values() if by_tree(claim))
        assert_totals(plan, calibrated.totals, 1e-9)
        assert any("target of 1.5 nats" in sentence for sentence in plan.assumptions)


def test_calibrated_budgets_without_the_data(coded, calibrated, tmp_path: Path) -> None:
    path = tmp_path / "budgets.json"
    calibrated.to_json(path)
    plan = make_plan(coded.domain, budgets=path, design="calibrated")
    for name, claim in plan.totals.items():
        assert calibrated.totals[name] <= claim.value <= min(1.01 * calibrated.totals[name], 1.5)
        assert claim.standing is Standing.HEURISTIC  # the calibration knows the tree is refuted
        assert any("refute the dependency tree" in text for text in claim.assumptions)
        assert "not computed again" in claim.assumptions[0]
        assert set(calibrated.totals.assumptions) <= set(claim.assumptions)
    # A group changes the mechanisms, so only the bound without data is left, above the target.
    with pytest.raises(InfeasibleError, match="groups"):
        make_plan(coded.domain, budgets=path, groups=[("age", "sex")])


def test_a_calibration_for_other_categories_is_not_carried_on(calibrated, tmp_path: Path) -> None:
    """Columns with the same names: their totals would be claims about other data."""
    sizes = {name: calibrated.domain[name].size for name in NAMES}
    other = Domain.of({name: [f"c{i}" for i in range(k)] for name, k in sizes.items()})
    path = tmp_path / "budgets.json"
    calibrated.to_json(path)
    for budgets in (calibrated, path):
        with pytest.raises(DomainError, match="Calibrate again"):
            make_plan(other, budgets=budgets, design="calibrated")
        plan = make_plan(other, budgets=budgets)
        assert plan.target is None
        assert {claim.value for claim in plan.totals.values()} == {plan.epsilon}
        assert any("not carried on" in sentence for sentence in plan.assumptions)
    # Files of before the digest are read, without their totals; the order of columns is no matter.
    old = json.loads(path.read_text())
    digest = old.pop("domain")
    path.write_text(json.dumps(old))
    assert make_plan(calibrated.domain, budgets=path).target is None
    turned = calibrated.domain.project(NAMES[::-1])
    assert make_plan(turned, budgets=calibrated, design="calibrated").target == 1.5
    path.write_text(json.dumps(old | {"domain": 3}))
    with pytest.raises(TableError, match="digest"):
        budgets_in(path)
    assert len(digest) == 64
    path.write_text('{"a": 1e400}')
    with pytest.raises(TableError, match="floating point"):
        budgets_in(path)


def test_totals_are_rounded_up_and_told() -> None:
    for value in (1.0, 1.001, 0.1, 0.30000000000000004, 123456.0, 9.991, 1e300, 7e-7):
        rounded = _three_digits(value)
        assert value <= rounded <= value * 1.01
        assert float(f"{rounded:.2e}") == rounded
    assert _three_digits(5e-324) == 5e-324
    assert _three_digits(0.0) == 0.0
    assert _three_digits(math.inf) == math.inf
    table = {"a": ["x", "y", "x", "x"], "b": [1, 2, 1, 2]}
    plan = make_plan(table, epsilon=1.0)
    assert totals_from_data(plan)
    assert any("without protection" in sentence for sentence in plan.assumptions)
    assert not totals_from_data(make_plan(plan.domain, epsilon=1.0))
    assert totals_from_data(make_plan(plan.domain, budgets=calibrate(table, 1.0)))


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
    reports = randomize(table, plan, allow_unprotected=True, null_values=["?"])
    assert reports.values[0].tolist() == [0, 2, 1]


def test_randomize_codes_by_the_plan() -> None:
    domain = Domain(
        (
            Attribute("age", ("young", "old", "?"), edges=(0, 18, 120), missing="?"),
            Attribute("sex", ("m", "f")),
        )
    )
    plan = independent(domain, math.inf)
    table = {"sex": ["f", "m", "f"], "extra": [1, 2, 3], "age": [17.5, None, 120]}
    with pytest.raises(InvalidInputError, match="can reveal the value of 'age', 'sex'"):
        randomize(table, plan)
    reports = randomize(table, plan, allow_unprotected=True)
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


def test_a_wide_column_is_estimated_without_a_table_of_its_categories() -> None:
    """The dense map of 20,000 categories would take 3.2 GB."""
    k = 20_000
    domain = Domain.of({"a": list(range(k)), "b": [1, 2]})
    records = {"a": np.where(np.arange(300) % 3 == 0, 7, 19_999), "b": np.arange(300) % 2 + 1}
    for kind in ("grr", "oue", "olh", "subset"):
        plan = make_plan(domain, budgets={"a": 14.0, "b": 3.0}, mechanism={"a": kind})
        reports = randomize(records, plan, rng=1)
        found = Estimates.of(plan, [("a",), ("a", "b")]).add(reports)
        one, two = found.marginal("a"), found.marginal("a", "b")
        if kind == "grr":  # every report is a category
            assert one.values.sum() == pytest.approx(1.0, abs=1e-9)
        assert abs(one.values[7] - 1 / 3) < 5 * one.standard_errors[7]
        assert abs(one.values[19_999] - 2 / 3) < 5 * one.standard_errors[19_999]
        assert two.values.shape == (k, 2)
        np.testing.assert_allclose(two.values.sum(axis=1), one.values, atol=1e-9)
        with pytest.raises(CapacityError):
            one.covariance()
    for kind in ("staircase", "exponential"):
        with pytest.raises(CapacityError):
            make_plan(domain, epsilon=1.0, mechanism={"a": kind})


@pytest.mark.parametrize(
    ("categories", "values"),
    [((1, 1.0), [1.0]), ((1, "1"), [1]), (("true", True), [True]), (("1.0", 1.0), ["1.0"])],
)
def test_labels_that_a_table_cannot_tell_apart(categories: tuple, values: list) -> None:
    """Single records can: their labels have types."""
    plan = independent(Domain.of({"a": categories}), 1.0)
    with pytest.raises(DomainError, match="differ in a table"):
        randomize({"a": values}, plan)
    for label in categories:
        assert "a" in plan.randomize_record({"a": label})
