"""Claims by tree against the records: evidence is exact, and never held against a true tree."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.channel import randomized_response
from seepage.collect.plan_files import read_plan, write_plan
from seepage.domain import Domain
from seepage.example import example_domain_path, example_path
from seepage.plan.calibrate import calibrate
from seepage.plan.claim_checks import by_tree, joint_evidence
from seepage.plan.collecting import make_plan
from seepage.plan.plan_sources import plan_source
from seepage.plan.totals import prepare, total_leakage
from seepage.results import Standing
from seepage.tables import CodedTable, load

XOR = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "xor": [0, 1, 1, 0]}


@pytest.fixture(scope="module")
def example():
    return plan_source(load(example_path(), domain=example_domain_path()))


def by_enumeration(table, channels):
    """Largest ratio over all reports, from the whole Kronecker matrix; the secret is axis 0."""
    k = table.shape[0]
    others = reduce(np.kron, [c.matrix for c in channels[1:]], np.ones((1, 1)))
    rows = table.reshape(k, -1) / table.reshape(k, -1).sum(axis=1, keepdims=True) @ others
    law = np.einsum("xy,xz->xyz", channels[0].matrix, rows).reshape(k, -1)
    return max(np.log(law[x] / law[z]).max() for x, z in product(range(k), repeat=2))


def test_the_example_refutes_a_tree_at_half_a_nat(example) -> None:
    tree = total_leakage(example.model, 0.5)
    plan = make_plan(example, epsilon=0.5)
    refuted = [c for c in plan.totals.values() if not by_tree(c)]
    assert {c.about for c in refuted} == {"self_rated_health", "outpatient_visits"}
    for claim in refuted:
        assert claim.value == plan.epsilon
        assert claim.standing is Standing.UPPER
    claim = plan.totals["self_rated_health"]
    assert f"{tree['self_rated_health']:.4g}" == "1.469"
    assert any("by 1.47 nats" in s and "alone tell 1.54" in s for s in claim.assumptions)
    for name, kept in plan.totals.items():
        if by_tree(kept):
            assert tree[name] <= kept.value <= 1.01 * tree[name]  # rounded up to three digits
            assert any("no proof" in s for s in kept.assumptions)
    assert "if the data follow" not in plan.verdict.split(";")[-1]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_evidence_is_the_exact_joint_leakage(example, epsilon) -> None:
    model = example.model
    channels = [randomized_response(k, epsilon) for k in model.domain.shape]
    totals = dict(total_leakage(model, epsilon))
    found = joint_evidence(model.domain, model.codes, None, channels, totals).evidence
    assert found
    for item in found:
        again = total_leakage(model, epsilon, item.about, "joint", attributes=item.sources)
        assert item.leakage == pytest.approx(again[item.about], rel=1e-9)
        assert item.leakage > item.claimed == totals[item.about]


def test_evidence_by_enumeration() -> None:
    """Two coins and their exclusive or, about which no pair tells anything."""
    model = prepare(XOR)
    channels = [randomized_response(2, e) for e in (0.7, 1.1, 0.4)]
    totals = {"xor": 0.4, "a": 5.0}
    found = joint_evidence(model.domain, model.codes, None, channels, totals)
    (item,) = found.evidence
    assert item.about == "xor"
    assert item.sources == ("a", "b", "xor")
    table = np.zeros((2, 2, 2))
    for a, b, xor in zip(*XOR.values(), strict=True):
        table[xor, a, b] = 1
    exact = by_enumeration(table, [channels[2], channels[0], channels[1]])
    assert item.leakage == pytest.approx(exact, rel=1e-12)
    assert found.size == 3


@given(
    seed=st.integers(0, 10_000),
    epsilon=st.sampled_from([0.05, 0.5, 1.0, 3.0, math.inf]),
    shape=st.sampled_from([(2, 2, 2), (2, 3, 2, 2), (3, 2, 2)]),
)
def test_no_evidence_against_a_chain(seed, epsilon, shape) -> None:
    """Records that follow a chain exactly: integer weights that multiply along it."""
    rng = np.random.default_rng(seed)
    links = [rng.integers(1, 5, pair) for pair in pairwise(shape)]
    cells = np.array(list(np.ndindex(*shape)))
    weights = np.ones(len(cells), dtype=np.int64)
    for i, link in enumerate(links):
        weights *= link[cells[:, i], cells[:, i + 1]]
    domain = Domain.of({f"c{i}": range(k) for i, k in enumerate(shape)})
    plan = make_plan(CodedTable(domain, cells, weights, "a chain"), epsilon=epsilon)
    chow_liu = ", ".join(s for c in plan.claims for s in c.assumptions)
    if all(f"c{i} – c{i + 1}" in chow_liu for i in range(len(links))):
        assert all(by_tree(claim) for claim in plan.totals.values())


def test_groups_and_reports_that_are_no_values(example) -> None:
    plan = make_plan(example, epsilon=2.0, groups=[("sex", "self_rated_health")])
    sentences = {s for c in plan.claims for s in c.assumptions if "refute" in s}
    assert any("'sex + self_rated_health'" in s for s in sentences)
    assert plan.totals["sex"].value == plan.totals["self_rated_health"].value == plan.epsilon
    unary = make_plan(example, epsilon=2.0, mechanism="oue")
    assert any("reports are no values" in s for c in unary.claims for s in c.assumptions)


def test_a_target_is_not_vouched_for(example, tmp_path) -> None:
    budgets = calibrate(example.model, 3.0)
    plan = make_plan(example, budgets=budgets)
    assert plan.target == 3.0
    assert any("not vouched for" in s and "them is larger" in s for s in plan.assumptions)
    assert set(plan.above_target) == {"self_rated_health", "outpatient_visits"}
    assert plan.verdict.endswith(
        "The target of 3 nats, which the budgets were calibrated for, is not vouched for about 2 "
        "of 10 attributes."
    )
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == plan


def test_a_calibration_is_held_against_the_records(example) -> None:
    """Evidence is the exact leakage at the calibrated budgets; other methods are not tested."""
    model = example.model
    found = calibrate(model, 3.0)
    assert {item.about for item in found.evidence} == {"outpatient_visits", "self_rated_health"}
    for item in found.evidence:
        again = total_leakage(model, found.budgets, item.about, "joint", attributes=item.sources)
        assert item.leakage == pytest.approx(again[item.about], rel=1e-9)
        assert item.leakage > item.claimed == found.totals[item.about]
    assert not found.missed  # 2.29 nats are below the target
    assert not found.vouched
    assert found.standing is Standing.HEURISTIC
    assert found.verdict.startswith(
        "The target of 3 nats is not vouched for: these records refute the dependency tree. By the "
        "tree the total about 'self_rated_health' is 2.101 nats, but the reports of age, "
    )
    assert "alone tell 2.288 (1 more like it). Method 'group' gives a bound" in found.verdict
    assert any("refute the dependency tree for outpatient" in s for s in found.assumptions)
    assert [item["about"] for item in found.to_dict()["evidence"]] == [
        item.about for item in found.evidence
    ]
    group = calibrate(model, 3.0, method="group")
    assert group.evidence == ()
    assert group.vouched
    assert group.standing is Standing.UPPER
    carried = make_plan(model.domain, budgets=found)  # nothing to compute totals from
    assert carried.totals["age"].standing is Standing.HEURISTIC
    assert "no bound" in carried.verdict


def test_a_target_that_reports_exceed() -> None:
    """By pairs the exclusive or of two coins is independent of both; together they tell it."""
    found = calibrate(XOR, 1.0)
    assert found.missed
    worst = max(found.evidence, key=lambda item: item.leakage)
    assert worst.leakage > 1.0
    assert found.verdict.startswith("The target of 1 nats is missed: these records refute")
    told = f"the reports of all attributes tell {worst.leakage:.3f}"
    assert told in found.verdict
    counted = calibrate(prepare(XOR).counts, 1.0)
    assert counted.evidence == ()
    assert not counted.missed
    assert any("not put to a test" in s for s in counted.assumptions)
    endless = calibrate(XOR, math.inf)
    assert endless.evidence == ()
    chain = calibrate({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}, 1.0)
    assert chain.evidence == ()
    assert any("no proof" in s for s in chain.assumptions)
    assert make_plan(XOR, budgets=found).above_target


def test_other_plans_stay_as_they_are(example) -> None:
    for options in ({"method": "pairwise"}, {"method": "group"}, {"design": "views"}):
        plan = make_plan(example, epsilon=1.0, **options)
        assert not any("refute" in s or "no proof" in s for c in plan.claims for s in c.assumptions)
    counted = make_plan(prepare(XOR).counts, epsilon=1.0)
    assert all("not put to a test" in c.assumptions[-1] for c in counted.totals.values())


def test_work_is_bounded(example) -> None:
    model = example.model
    channels = [randomized_response(k, 2.0) for k in model.domain.shape]
    totals = dict(total_leakage(model, 2.0))
    none = joint_evidence(model.domain, model.codes, None, channels, totals, work=0)
    assert none.evidence == ()
    assert none.size == 1
    assert not joint_evidence(model.domain, model.codes, None, channels, {}).evidence
    wide = Domain.of({f"c{i:03}": range(2) for i in range(120)})
    codes = np.random.default_rng(0).integers(0, 2, (50, 120))
    grr = [randomized_response(2, 1.0)] * 120
    assert joint_evidence(wide, codes, None, grr, dict.fromkeys(wide.names, 1e9)).size > 1
