"""Totals against brute force over actual channels."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from seepage.channel import Channel, randomized_response
from seepage.counts import PairCounts
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError
from seepage.leakage._stack import CurveStack, leakage_slope, vertex_slope
from seepage.leakage.joint import joint_leakage
from seepage.leakage.model import LeakageModel
from seepage.leakage.temporal import temporal_leakage
from seepage.leakage.total import GroupTotals, PairwiseTotals, TreeTotals
from seepage.leakage.tree import DependencyTree
from seepage.leakage.triples import triple_check
from seepage.plan.totals import total_leakage
from seepage.tradeoff import TradeOff


class Enumerated:
    """Leakage by enumeration of all events and pairs: independent of the envelope."""

    def __init__(self, P):
        events = np.array(list(product([0.0, 1.0], repeat=P.shape[1])))
        self.mass = P @ events.T

    def leakage(self, epsilon):
        logs = np.log1p(np.expm1(epsilon) * self.mass)
        return float((logs.max(axis=0) - logs.min(axis=0)).max())


def staircase_vertex(k, epsilon, rng):
    """A random extreme point of the ε-LDP channels on k inputs (Kairouz et al. 2016).

    Columns are θ·(1 or e^ε); θ ≥ 0 solves S θ = 1 with k patterns.
    """
    patterns = np.array(list(product([0.0, 1.0], repeat=k)))[1:-1].T
    S = 1 + np.expm1(epsilon) * patterns
    chosen = np.array(list(combinations(range(S.shape[1]), k)))
    matrices = S[:, chosen].transpose(1, 0, 2)
    regular = np.abs(np.linalg.det(matrices)) > 1e-9
    chosen, matrices = chosen[regular], matrices[regular]
    theta = np.linalg.solve(matrices, np.ones((len(chosen), k, 1)))[..., 0]
    good = np.flatnonzero((theta >= -1e-12).all(axis=1))
    pick = rng.choice(good)
    C = S[:, chosen[pick]] * np.maximum(theta[pick], 0)
    return C / C.sum(axis=1, keepdims=True)


def unary(k, epsilon):
    """Symmetric unary encoding: every bit is flipped with ε/2."""
    keep = 1 / (1 + np.exp(-epsilon / 2))
    bits = np.array(list(product([0, 1], repeat=k)))
    same = bits[np.newaxis] == np.eye(k, dtype=int)[:, np.newaxis]
    return np.where(same, keep, 1 - keep).prod(axis=2)


def random_tree(rng):
    """Edges, joint distribution, and pair tables of a random tree-shaped distribution."""
    d = int(rng.integers(3, 7))
    sizes = rng.integers(2, 5 if d < 6 else 4, size=d)
    parents = [int(rng.integers(0, i)) for i in range(1, d)]
    concentration = rng.choice([0.1, 0.5, 2.0])
    joint = rng.dirichlet(np.ones(sizes[0]))
    for i, parent in enumerate(parents, start=1):
        table = rng.dirichlet(np.full(sizes[i], concentration), size=sizes[parent]) + 1e-6
        table /= table.sum(axis=1, keepdims=True)
        shape = [1] * (i + 1)
        shape[parent], shape[i] = sizes[parent], sizes[i]
        joint = joint[..., np.newaxis] * table.reshape(shape)
    return d, [(p, i) for i, p in enumerate(parents, start=1)], joint


def conditional(joint, k, j):
    others = tuple(a for a in range(joint.ndim) if a not in {k, j})
    table = joint.sum(axis=others)
    table = table if k < j else table.T
    return table / table.sum(axis=1, keepdims=True)


def brute_force(joint, k, channels):
    """All reports enumerated by one einsum, without the module's code."""
    d = joint.ndim
    letters = "abcdef"[:d]
    outs = "uvwxyz"[:d]
    terms = [joint / joint.sum(axis=tuple(a for a in range(d) if a != k), keepdims=True)]
    spec = [letters]
    for j, C in enumerate(channels):
        spec.append(letters[j] + outs[j])
        terms.append(C)
    Q = np.einsum(",".join(spec) + "->" + letters[k] + outs, *terms, optimize=True)
    Q = Q.reshape(len(Q), -1)
    Q = Q[:, Q.max(axis=0) > 0]  # reports that never happen
    return float(np.log(Q.max(axis=0) / Q.min(axis=0)).max())


def test_tree_total_on_2000_random_trees():
    rng = np.random.default_rng(20)
    understated = 0
    for trial in range(2000):
        d, edges, joint = random_tree(rng)
        names = tuple(f"x{i}" for i in range(d))
        tree = DependencyTree.of(names, [(names[a], names[b]) for a, b in edges])
        budgets = rng.uniform(0.05, 3.0, size=d)

        def curve(secret, released, joint=joint, exact=trial % 10 == 0):
            P = conditional(joint, int(secret[0][1:]), int(released[0][1:]))
            return TradeOff.envelope(P) if exact else Enumerated(P)

        totals = TreeTotals(names, tree, curve).values(budgets)
        kind = trial % 3
        channels = []
        for size, e in zip(joint.shape, budgets, strict=True):
            if kind == 0:
                channels.append(randomized_response(size, e).matrix)
            elif kind == 1 and size <= 3 and d <= 4:
                channels.append(unary(size, e))
            else:
                channels.append(staircase_vertex(size, e, rng))
        k = int(rng.integers(d))
        exact = brute_force(joint, k, channels)
        assert totals[k] >= exact - 1e-9
        assert totals[k] <= budgets.sum() + 1e-9
        moved = np.moveaxis(joint, k, 0)
        others = [Channel.from_matrix(c) for j, c in enumerate(channels) if j != k]
        ours = joint_leakage(moved, others, Channel.from_matrix(channels[k]))
        # The brute force asks for one report that is extreme for a pair; own ratios multiply.
        assert ours == pytest.approx(exact, abs=1e-9)
        pairwise = budgets[k] + sum(
            Enumerated(conditional(joint, k, j)).leakage(budgets[j]) for j in range(d) if j != k
        )
        understated += pairwise < exact - 1e-9
    assert understated > 0  # the pairwise sum does understate


def test_tree_total_is_the_temporal_recursion_on_a_chain():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(3), size=3)
    B = rng.dirichlet(np.ones(3), size=3)
    names = tuple(f"t{i:02d}" for i in range(12))
    budgets = rng.uniform(0, 2, 12)
    tree = DependencyTree.of(names, [(i, i + 1) for i in range(11)])
    forward, backward = TradeOff.envelope(P), TradeOff.envelope(B)

    def curve(secret, released):
        return backward if released < secret else forward

    found = TreeTotals(names, tree, curve)
    expected = temporal_leakage(B, P, budgets)
    np.testing.assert_allclose(found.values(budgets), expected.total, rtol=1e-12)


def random_model(rng, d=5, n=400):
    sizes = rng.integers(2, 5, size=d)
    hidden = rng.integers(0, 3, size=n)
    codes = np.stack(
        [np.where(rng.random(n) < 0.6, hidden % k, rng.integers(0, k, size=n)) for k in sizes],
        axis=1,
    )
    domain = Domain.of({f"a{i}": list(range(k)) for i, k in enumerate(sizes)})
    return LeakageModel(domain, counts=PairCounts.from_codes(domain, codes), codes=codes)


@pytest.mark.parametrize("method", ["tree", "pairwise", "group"])
def test_jacobian_is_that_of_finite_differences(method):
    rng = np.random.default_rng(7)
    for _ in range(10):
        totals = random_model(rng).totals(method)
        e = rng.uniform(0.1, 3, size=5)
        values, jacobian = totals.jacobian(e)
        np.testing.assert_allclose(values, totals.values(e), rtol=1e-13)
        h = 1e-6
        for j, unit in enumerate(np.eye(5) * h):
            numeric = (totals.values(e + unit) - totals.values(e - unit)) / (2 * h)
            np.testing.assert_allclose(jacobian[:, j], numeric, atol=2e-8)


def test_slope_has_its_limits():
    curve = TradeOff.envelope([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    assert leakage_slope(curve, 0.0) == pytest.approx(curve.total_variation, abs=1e-15)
    assert leakage_slope(curve, float("inf")) == 0.0
    unshared = TradeOff.from_vertices([[0.0, 0.25]])
    assert leakage_slope(unshared, float("inf")) == 1.0
    e = np.array([1e-9, 1e-3, 1.0, 20.0, 300.0, 301.0, 800.0])
    slopes = leakage_slope(curve, e)
    assert ((slopes >= 0) & (slopes <= 1)).all()
    with pytest.raises(InvalidInputError, match="vertices"):
        leakage_slope(Enumerated(np.eye(2)), 1.0)


def test_slope_against_mpmath():
    import mpmath

    mpmath.mp.dps = 50
    rng = np.random.default_rng(0)
    for _ in range(50):
        alpha = rng.choice([0.0, 1e-12, rng.uniform(0, 0.5)])
        gap = rng.uniform(1e-6, 0.5)
        e = rng.choice([1e-8, 0.3, 5.0, 60.0, 400.0])
        a, p, t = mpmath.mpf(alpha), mpmath.mpf(alpha) + mpmath.mpf(gap), mpmath.expm1(e)
        exact = mpmath.e**e * (p / (1 + t * p) - a / (1 + t * a))
        found = vertex_slope(np.array(alpha), np.array(gap), np.array(e))
        assert float(found) == pytest.approx(float(exact), rel=1e-12)


def test_stack_equals_its_curves():
    rng = np.random.default_rng(5)
    curves = [TradeOff.envelope(rng.dirichlet(np.ones(4), size=3)) for _ in range(6)]
    stack = CurveStack.of(curves)
    for scale in (0.0, 1e-9, 1.0, 40.0, 500.0, np.inf):
        e = np.full(6, scale) if scale in {0.0, np.inf} else rng.uniform(0, scale, 6)
        expected = [curve.leakage(x) for curve, x in zip(curves, e, strict=True)]
        np.testing.assert_allclose(stack.values(e), expected, rtol=1e-14, atol=0)
        np.testing.assert_allclose(stack.values_and_slopes(e)[0], expected, rtol=1e-14, atol=0)


def test_limits_of_the_totals():
    rng = np.random.default_rng(1)
    model = random_model(rng)
    for method in ("tree", "pairwise", "group"):
        totals = model.totals(method)
        np.testing.assert_array_equal(totals.values(np.zeros(5)), 0.0)
        assert not np.isnan(totals.values(np.full(5, np.inf))).any()
        e = rng.uniform(0, 2, 5)
        for value, own, parts in zip(totals.values(e), e, totals.terms(e), strict=True):
            assert value == pytest.approx(own + sum(parts.values()), rel=1e-13)
    with pytest.raises(InvalidInputError, match="one budget for each of 5"):
        model.totals("tree").values(np.ones(4))


def test_deterministic_dependence_and_independence():
    domain = Domain.of({"a": [0, 1], "copy": [0, 1], "coin": [0, 1]})
    codes = np.array(list(product([0, 1], repeat=2)))[:, [0, 0, 1]]
    model = LeakageModel(domain, counts=PairCounts.from_codes(domain, codes))
    np.testing.assert_allclose(model.totals("tree").values(np.ones(3)), [2, 2, 1], atol=1e-15)


def test_clusters_bound_the_exact_leakage():
    rng = np.random.default_rng(11)
    for _ in range(60):
        model = random_model(rng, d=4, n=60)
        tree = DependencyTree.of(
            model.domain.names, [("a0", "a2"), ("a2", "a3")], clusters=[("a0", "a1")]
        )
        # Make the data follow the tree: (a0, a1) – a2 – a3.
        table = np.zeros(model.domain.shape)
        np.add.at(table, tuple(model.codes.T), 1.0)
        table += 0.01
        first, second = table.sum(axis=3), table.sum(axis=(0, 1))
        joint = first[..., np.newaxis] * (second / second.sum(axis=1, keepdims=True))
        joint /= joint.sum()
        sizes = dict(zip(model.domain.names, model.domain.shape, strict=True))

        def curve(secret, released, joint=joint, sizes=sizes):
            order = [int(name[1]) for name in (*secret, *released)]
            others = tuple(a for a in range(4) if a not in order)
            marginal = np.transpose(joint.sum(axis=others), np.argsort(np.argsort(order)))
            rows = int(np.prod([sizes[name] for name in secret]))
            marginal = marginal.reshape(rows, -1)
            return TradeOff.envelope(marginal / marginal.sum(axis=1, keepdims=True))

        e = rng.uniform(0.1, 2, 4)
        bound = TreeTotals(model.domain.names, tree, curve).values(e)
        channels = [randomized_response(k, x) for k, x in zip(joint.shape, e, strict=True)]
        for k in range(4):
            others = [c for j, c in enumerate(channels) if j != k]
            exact = joint_leakage(np.moveaxis(joint, k, 0), others, channels[k])
            assert exact <= bound[k] + 1e-9
            assert bound[k] <= e.sum() + 1e-9


def test_cluster_curves_come_from_records():
    rng = np.random.default_rng(2)
    model = random_model(rng, d=3)
    curve = model.node_curve(("a0", "a1"), ("a2",))
    combined = model.codes[:, 0] * model.domain.shape[1] + model.codes[:, 1]
    _, rows = np.unique(combined, return_inverse=True)
    table = np.zeros((rows.max() + 1, model.domain.shape[2]))
    np.add.at(table, (rows, model.codes[:, 2]), 1)
    expected = TradeOff.envelope(table / table.sum(axis=1, keepdims=True))
    assert curve.leakage(1.3) == pytest.approx(expected.leakage(1.3), abs=1e-14)
    counts_only = LeakageModel(model.domain, counts=model.counts)
    with pytest.raises(InvalidInputError, match="expected records"):
        counts_only.node_curve(("a0", "a1"), ("a2",))


# ------------------------------------------------------------------- trees


def test_chow_liu_is_the_best_of_all_spanning_trees_and_ignores_column_order():
    from seepage.leakage.baselines import mutual_information

    rng = np.random.default_rng(4)
    for _ in range(20):
        model = random_model(rng, d=4, n=50)
        counts = model.counts
        tree = DependencyTree.chow_liu(counts)
        pairs = list(combinations(model.domain.names, 2))
        weight = {pair: mutual_information(counts.pair(*pair)) for pair in pairs}
        best = 0.0
        for edges in combinations(pairs, 3):
            try:
                DependencyTree.of(model.domain.names, edges)
            except InvalidInputError:
                continue
            best = max(best, sum(weight[edge] for edge in edges))
        mine = sum(weight[tuple(sorted(edge))] for edge in tree.named_edges)
        assert mine == pytest.approx(best, abs=1e-12)
        order = list(rng.permutation(model.domain.names))
        other = DependencyTree.chow_liu(counts.project(order))
        assert {frozenset(e) for e in other.named_edges} == {frozenset(e) for e in tree.named_edges}


def test_bad_trees_are_refused():
    with pytest.raises(InvalidInputError, match="cycle: the edge 'a' – 'c'"):
        DependencyTree.of("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    with pytest.raises(InvalidInputError, match=r"'incom'\. Did you mean 'income'"):
        DependencyTree.of(["income", "age"], [("incom", "age")])
    with pytest.raises(InvalidInputError, match="position from 0 to 1, got 2"):
        DependencyTree.of("ab", [(0, 2)])
    with pytest.raises(InvalidInputError, match="'b' twice"):
        DependencyTree.of("abc", [], clusters=["ab", "bc"])
    with pytest.raises(InvalidInputError, match="cycle"):
        DependencyTree.of("ab", [("a", "b")], clusters=["ab"])
    with pytest.raises(InvalidInputError, match="'c' besides"):
        TreeTotals(("a", "b"), DependencyTree.of("abc", []), lambda a, b: Enumerated(np.eye(2)))
    forest = DependencyTree.of("abc", [("a", "b")])
    found = TreeTotals(tuple("abc"), forest, lambda a, b: Enumerated(np.eye(2)))
    np.testing.assert_allclose(found.values([1.0, 2.0, 3.0]), [3, 3, 3])


# ------------------------------------------------------------------- joint


XOR = np.array([[[0.25, 0], [0, 0.25]], [[0, 0.25], [0.25, 0]]])


def test_xor_leaks_jointly_only():
    domain = Domain.of({"a": [0, 1], "b": [0, 1], "x": [0, 1]})
    codes = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    model = LeakageModel(domain, counts=PairCounts.from_codes(domain, codes), codes=codes)
    np.testing.assert_allclose(model.totals("pairwise").values(np.ones(3)), 1.0, atol=1e-14)
    check = triple_check(domain, codes, np.ones(3), curve=model.curve)
    assert len(check.triples) == 3
    assert len(check.exceeding) == len(check.exceeding_worst_case) == 3
    keep = np.e / (np.e + 1)
    expected = np.log((keep**2 + (1 - keep) ** 2) / (2 * keep * (1 - keep)))
    for triple in check.triples:
        assert triple.joint == pytest.approx(expected, abs=1e-14)
        assert triple.pairwise == pytest.approx(0, abs=1e-14)


def test_joint_is_safe_for_every_epsilon():
    def grr(e):
        return randomized_response(2, e)

    assert joint_leakage(XOR, [grr(np.inf), grr(np.inf)]) == np.inf
    assert joint_leakage(XOR, [grr(0), grr(5)]) == 0
    # ln cosh ε, from cosh ε = (e^ε + e^−ε)/2
    for e in (1.0, 100.0, 2000.0):
        expected = e - np.log(2) + np.log1p(np.exp(-2 * e))
        assert joint_leakage(XOR, [grr(e), grr(e)]) == pytest.approx(expected, rel=1e-13)
    assert joint_leakage(XOR, [grr(1), grr(1)], grr(2000.0)) == pytest.approx(
        2000 + np.log(np.cosh(1))
    )
    assert joint_leakage([3, 5], [], grr(1.5)) == pytest.approx(1.5)
    assert joint_leakage([3, 0], [], grr(1.5)) == 0
    assert joint_leakage([3, 0], [], None) == 0


def test_log_path_equals_the_plain_one(monkeypatch):
    from seepage.leakage import joint as module

    rng = np.random.default_rng(8)
    table = rng.integers(0, 4, size=(3, 2, 4, 3)).astype(float)
    channels = [
        Channel.from_matrix(rng.dirichlet(np.ones(c), size=k)) for k, c in ((2, 3), (4, 2), (3, 5))
    ]
    own = Channel.from_matrix(rng.dirichlet(np.ones(4), size=3))
    plain = joint_leakage(table, channels, own)
    monkeypatch.setattr(module, "_SAFE_LOG", 1.0)
    assert joint_leakage(table, channels, own) == pytest.approx(plain, rel=1e-12)


def test_joint_refuses_what_does_not_fit():
    with pytest.raises(InvalidInputError, match="one channel for each axis"):
        joint_leakage(XOR, [randomized_response(2, 1)])
    with pytest.raises(InvalidInputError, match="channel with 2 inputs for axis 1, got 3"):
        joint_leakage(XOR, [randomized_response(3, 1), randomized_response(2, 1)])
    with pytest.raises(InvalidInputError, match="some mass"):
        joint_leakage(XOR * 0, [randomized_response(2, 1)] * 2)
    wide = Channel.from_matrix(np.full((2, 10_000), 1e-4))
    with pytest.raises(CapacityError, match="200,000,000 for 3 attributes"):
        joint_leakage(XOR, [wide, wide])


def test_triples_of_adult(data_dir: Path):
    """85 of 660 triples of 12 attributes leak more jointly than the sum, by up to 25 %.

    Reading: both files, missing values as a category, ten intervals of equal width, without
    fnlwgt, education-num and income.
    """
    from seepage.tables import load

    # fmt: off
    names = [
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
        "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
        "native-country", "income",
    ]
    # fmt: on
    folder = data_dir / "adult"
    table = load(
        [folder / "adult.data", folder / "adult.test"],
        names=names,
        header=False,
        comment="|",
        null_values=("?",),
        exclude=["fnlwgt", "education-num", "income"],
    )
    check = triple_check(table.domain, table.codes, np.ones(12))
    assert (len(check.triples), len(check.exceeding)) == (660, 85)
    found = next(
        t
        for t in check.triples
        if (t.secret, t.first, t.second) == ("age", "workclass", "occupation")
    )
    assert (round(found.joint, 4), round(found.pairwise, 4)) == (0.9528, 0.7615)
    assert max(t.joint / t.pairwise for t in check.exceeding) == pytest.approx(1.251, abs=5e-4)


def test_group_totals():
    assert GroupTotals(("a", "b")).values([1.0, 2.0]).tolist() == [3.0, 3.0]
    one = PairwiseTotals(("a",), lambda a, b: Enumerated(np.eye(2)))
    assert one.values([1.5]).tolist() == [1.5]
    assert one.jacobian([1.5])[1].tolist() == [[1.0]]


def test_tiny_and_huge_budgets_never_fall_below_the_own_one():
    table = {"a": list("xyxyxx"), "b": list("xyxyyx")}
    for epsilon in (1e-300, 1e-17, 1e-3, 1e300):
        for method in ("joint", "tree", "pairwise", "group"):
            assert total_leakage(table, epsilon, method=method)["a"] >= epsilon
