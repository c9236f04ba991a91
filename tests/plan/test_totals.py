"""Total leakage of tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seepage.channel import Channel, randomized_response
from seepage.counts import PairCounts
from seepage.domain import Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError, TableError
from seepage.leakage.model import LeakageModel
from seepage.leakage.tree import DependencyTree
from seepage.plan.totals import prepare, total_leakage
from seepage.results import Standing
from seepage.tradeoff import TradeOff

XOR = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "xor": [0, 1, 1, 0]}


def test_methods_side_by_side():
    model = prepare(XOR)
    found = {m: total_leakage(model, 1.0, method=m) for m in ("tree", "pairwise", "joint", "group")}
    assert {m: r.standing for m, r in found.items()} == {
        "tree": Standing.UPPER,
        "pairwise": Standing.HEURISTIC,
        "joint": Standing.EXACT,
        "group": Standing.UPPER,
    }
    for name in XOR:
        assert found["pairwise"][name] == pytest.approx(1, abs=1e-14)
        assert found["tree"][name] == pytest.approx(1, abs=1e-14)  # these data follow no tree
        assert found["joint"][name] == pytest.approx(1 + np.log(np.cosh(1)), abs=1e-14)
        assert found["group"][name] == 3
    assert dict(found["group"]) == dict.fromkeys(XOR, 3.0)
    assert "follow a dependency tree" in " ".join(found["tree"].assumptions)
    assert "not an upper bound" in " ".join(found["pairwise"].assumptions)


def test_joint_takes_subsets_and_channels():
    two = total_leakage(XOR, 1.0, "xor", "joint", attributes=["a"])
    assert list(two) == ["xor"]
    assert two["xor"] == pytest.approx(1, abs=1e-14)
    own = Channel.from_matrix([[0.6, 0.4], [0.5, 0.5]])
    given = total_leakage(XOR, 1.0, "xor", "joint", channels={"xor": own})
    grr = randomized_response(2, 1).matrix
    Q = np.einsum("xab,au,bv,xw->xuvw", _joint_of_xor(), grr, grr, own.matrix).reshape(2, -1)
    assert given["xor"] == pytest.approx(np.log(Q.max(0) / Q.min(0)).max(), abs=1e-14)
    with pytest.raises(InvalidInputError, match=r"within its budget of 0\.1"):
        total_leakage(XOR, 0.1, method="joint", channels={"xor": own})
    with pytest.raises(InvalidInputError, match="channel with 2 inputs for 'a', got 3"):
        total_leakage(XOR, 5, method="joint", channels={"a": randomized_response(3, 1)})


def _joint_of_xor():
    table = np.zeros((2, 2, 2))
    for a, b, x in zip(*XOR.values(), strict=True):
        table[x, a, b] = 0.5
    return table


def test_a_joint_table_that_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    wide = {f"c{i}": rng.integers(0, 40, 500).tolist() for i in range(6)}
    with pytest.raises(CapacityError, match=r"at most 50,000,000 cells, got .* for 6 attributes"):
        total_leakage(wide, 1.0, method="joint", bins=dict.fromkeys(wide, "none"))


def test_options_are_checked():
    with pytest.raises(InvalidInputError, match=r"got 'tre'\. Did you mean 'tree'"):
        total_leakage(XOR, 1.0, method="tre")
    with pytest.raises(DomainError, match="'c'"):
        total_leakage(XOR, 1.0, "c")
    with pytest.raises(InvalidInputError, match="method 'joint' only"):
        total_leakage(XOR, 1.0, attributes=["a"])
    with pytest.raises(InvalidInputError, match="method 'tree' only"):
        total_leakage(XOR, 1.0, method="group", tree=DependencyTree.of("abc", []))
    model = prepare(XOR)
    with pytest.raises(InvalidInputError, match="no reading options"):
        total_leakage(model, 1.0, columns=["a"])
    with pytest.raises(InvalidInputError, match="expected records"):
        total_leakage(model.counts, 1.0, method="joint")
    with pytest.raises(InvalidInputError, match="attribute of the result"):
        total_leakage(model, 1.0)["c"]
    with pytest.raises(InvalidInputError, match="list of attributes"):
        total_leakage(model, 1.0, method="joint", attributes="a")
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    with pytest.raises(TableError, match="at least one record"):
        prepare(PairCounts.from_codes(domain, np.zeros((0, 2), dtype=np.int64)))


def test_record_weights_count():
    heavy = {**XOR, "w": [5, 1, 1, 1]}
    expanded = {name: [v[0]] * 4 + v for name, v in XOR.items()}
    for method in ("tree", "joint"):
        one = total_leakage(heavy, 1.0, method=method, weights="w")
        other = total_leakage(expanded, 1.0, method=method)
        assert dict(one) == pytest.approx(dict(other), abs=1e-14)


def test_models_from_curves():
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
    tree = DependencyTree.of("ab", [("a", "b")])
    model = LeakageModel.from_curves(domain, {("a", "b"): curve, ("b", "a"): curve}, tree=tree)
    found = total_leakage(model, {"a": 1.0, "b": 2.0})
    assert found["a"] == pytest.approx(1 + curve.leakage(2.0), abs=1e-15)
    without = LeakageModel.from_curves(domain, {("a", "b"): curve})
    with pytest.raises(InvalidInputError, match="neither"):
        total_leakage(without, 1.0)
    with pytest.raises(InvalidInputError, match="a curve or a table for the pair 'b', 'a'"):
        total_leakage(without, 1.0, method="pairwise")


def test_result_as_text_and_columns():
    found = total_leakage(XOR, {"a": 1.0, "b": float("inf"), "xor": 2.0}, method="group")
    assert "without bound" in found.verdict
    content = json.loads(found.to_json())
    assert content["format"] == "seepage.totals"
    assert content["totals"]["a"] == {"value": "inf", "standing": "upper"}
    assert found.to_frame().shape == (3, 7)
    one = total_leakage(XOR, 1.0, "xor", "joint")
    assert one.verdict.startswith("'xor': all reports together tell exactly 1.434 nats")
    assert one.columns()["largest_source"] == [None]
