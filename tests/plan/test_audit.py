"""The audit against enumeration, published values and real tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import seepage as sp
from seepage.results import Standing
from seepage.tables import load

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
]


def adult(data_dir, **options):
    """Complete rows of both files of the Adult data."""
    files = [data_dir / "adult" / name for name in ("adult.data", "adult.test")]
    return load(
        files,
        header=False,
        names=ADULT_COLUMNS,
        null_values=("?",),
        strip=".",
        missing="drop",
        **options,
    )


def brute_force(P, epsilon):
    t = np.expm1(epsilon)
    return max(
        np.log1p(t * P[x] @ s) - np.log1p(t * P[y] @ s)
        for s in map(np.array, product((0.0, 1.0), repeat=P.shape[1]))
        for x in range(len(P))
        for y in range(len(P))
    )


columns = st.lists(st.sampled_from("abc"), min_size=12, max_size=12)


@given(columns, columns, columns, st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_every_pair_equals_enumeration(first, second, third, epsilon):
    table = {"u": first, "v": second, "w": third}
    result = sp.audit(table, epsilon=epsilon, confidence=None, triples=False)
    assert len(result.pairs) == 6
    for pair in result.pairs:
        secret, released = np.array(table[pair.secret]), np.array(table[pair.released])
        labels = sorted(set(released))
        values = sorted(set(secret))
        P = np.array([[np.mean(released[secret == v] == r) for r in labels] for v in values])
        wanted = brute_force(P, epsilon)
        assert pair.leakage.value == pytest.approx(wanted, rel=1e-12, abs=1e-15)
        assert pair.triad_leakage.value >= wanted * (1 - 1e-12)
        grr = sp.baselines.hcc1(P, sp.randomized_response(len(labels), epsilon))
        assert pair.grr_leakage.value == pytest.approx(grr, rel=1e-12, abs=1e-14)
        if pair.secret_values is not None:
            x, y = (values.index(v) for v in pair.secret_values)
            inside = np.isin(labels, pair.event)
            t = np.expm1(epsilon)
            reached = np.log1p(t * P[x, inside].sum()) - np.log1p(t * P[y, inside].sum())
            assert reached == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_standings_budgets_and_totals():
    table = {"x": ["a", "a", "b", "b"] * 5, "y": ["c", "d", "d", "d"] * 5}
    result = sp.audit(table, epsilon={"x": 0.5, "y": 2.0})
    assert result.pair("x", "y").epsilon == 2.0
    assert result.pair("y", "x").epsilon == 0.5
    assert result.pair("x", "y").leakage.standing is Standing.EXACT
    assert result.pair("x", "y").triad_leakage.standing is Standing.UPPER
    assert result.pair("x", "y").pearson.standing is Standing.HEURISTIC
    assert result.totals["x"].value == 0.5 + result.pair("x", "y").leakage.value
    assert result.totals["x"].standing is Standing.HEURISTIC
    matrix = result.matrix()
    assert np.isnan(matrix[0, 0])
    assert matrix[0, 1] == result.pair("x", "y").leakage.value


def test_counts_and_tables_give_the_same_audit():
    table = {"x": list("aabbcc") * 3, "y": list("ddedee") * 3}
    direct = sp.audit(table)
    counted = sp.audit(load(table).counts())
    assert direct.columns() == counted.columns()


def test_a_category_that_never_occurs_is_left_out_of_the_rows():
    domain = sp.Domain.of({"x": ["a", "never", "b"], "y": ["c", "d"]})
    result = sp.audit({"x": list("aabb"), "y": list("cddd")}, domain=domain)
    pair = result.pair("x", "y")
    assert pair.secret_values in {("a", "b"), ("b", "a")}
    assert pair.leakage.value == pytest.approx(brute_force(np.array([[0.5, 0.5], [0, 1]]), 1.0))


def test_infinite_budget():
    result = sp.audit({"x": list("aabb"), "y": list("cdcd")}, epsilon=float("inf"))
    assert result.pair("x", "y").leakage.value == 0
    result = sp.audit({"x": list("aabb"), "y": list("ccdd")}, epsilon=float("inf"))
    assert result.pair("x", "y").leakage.value == np.inf
    assert "without bound" in result.verdict
    assert '"inf"' in result.to_json()


def test_progress_counts_pairs():
    seen = []
    sp.audit(
        {"x": list("ab"), "y": list("cd"), "z": list("ef")}, progress=lambda *x: seen.append(x)
    )
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        ({"x": list("ab")}, {}, sp.TableError, "at least two columns"),
        ({"x": ["a"], "y": ["b"]}, {}, sp.TableError, "at least two records"),
        ({"x": list("ab"), "y": list("cd")}, {"epsilon": -1}, sp.InvalidInputError, "epsilon"),
        ({"x": list("ab"), "y": list("cd")}, {"epsilon": "1"}, sp.InvalidInputError, "epsilon"),
        ({"x": list("ab"), "y": list("cd")}, {"epsilon": [1, 2]}, sp.InvalidInputError, "one eps"),
        ({"x": list("ab"), "y": list("cd")}, {"epsilon": {"x": 1}}, sp.InvalidInputError, "'y'"),
        ({"x": list("ab"), "y": list("cd")}, {"epsilon": {"z": 1}}, sp.DomainError, "'z'"),
    ],
)
def test_bad_input(table, options, error, words):
    with pytest.raises(error, match=words):
        sp.audit(table, **options)


def test_wide_columns_are_refused_with_a_forecast():
    # 7,000 categories in both columns: the tables fit, the audit would not.
    values = [str(i) for i in range(7000)]
    with pytest.raises(sp.CapacityError, match="GB"):
        sp.audit({"x": values, "y": values})


def exclusive_or():
    return {"a": list("0011") * 50, "b": list("0101") * 50, "x": list("0110") * 50}


def test_exclusive_or_warns():
    result = sp.audit(exclusive_or())
    assert result.pair("x", "a").leakage.value == 0
    assert result.totals["x"].value == 1.0
    assert result.tree_totals["x"].value == 1.0  # the data do not follow any tree
    assert result.group_total.value == 3.0
    worst = result.triples[0]
    # Each attribute is the exclusive or of the other two.
    assert len(result.triples) == 3
    assert worst.joint == pytest.approx(0.433781, abs=5e-7)
    assert worst.pairwise == 0
    for name in (worst.first, worst.second, worst.secret):
        assert repr(name) in result.warning
    assert all(not pair.sampled.distinguishable for pair in result.pairs)
    assert len(result.indistinguishable) == 6


def test_totals_carry_standing_and_assumptions():
    result = sp.audit(exclusive_or())
    assert result.totals["a"].standing is Standing.HEURISTIC
    assert result.tree_totals["a"].standing is Standing.UPPER
    assert result.group_total.standing is Standing.UPPER
    text = " ".join(result.assumptions)
    for words in (
        "dependency tree",
        "not an upper bound",
        "Basic composition",
        "independent draws",
    ):
        assert words in text


def test_limits_enclose_and_can_be_left_out():
    table = {"x": list("aabbb") * 40, "y": list("cdddc") * 40}
    sampled = sp.audit(table).pair("x", "y").sampled
    assert sampled.interval.lower <= sampled.interval.estimate <= sampled.interval.upper
    assert sampled.interval.confidence == 0.95
    assert sp.audit(table, confidence=None).pair("x", "y").sampled is None
    assert "lower" in sp.audit(table, confidence=None).columns()
    with pytest.raises(sp.InvalidInputError, match="confidence"):
        sp.audit(table, confidence=1.5)


def test_weights_are_not_taken_for_records():
    table = {"x": list("aabb"), "y": list("cddd"), "w": [100, 200, 300, 400]}
    result = sp.audit(table, weights="w")
    assert (result.records, result.weight) == (4, 1000)
    assert result.pair("x", "y").sampled is None
    assert any("weights are not counts" in sentence for sentence in result.assumptions)
    assert any("4 records, weighted to 1,000" in sentence for sentence in result.assumptions)


def test_triples_need_records():
    counts = load(exclusive_or()).counts()
    result = sp.audit(counts)
    assert result.triples is None
    assert any("only pairwise counts" in sentence for sentence in result.assumptions)
    with pytest.raises(sp.InvalidInputError, match="records"):
        sp.audit(counts, triples=True)
    assert sp.audit(exclusive_or(), triples=False).triples is None


def test_ties_are_said_and_ordered_by_evidence():
    rows = {"a": list("uuvv") * 30, "b": list("ppqq") * 30, "c": list("zyyy") + list("zzyy") * 29}
    result = sp.audit(rows)
    assert "One of 2 pairs" in result.verdict
    assert "60 and 60 records" in result.verdict
    assert {result.ranked[0].secret, result.ranked[0].released} == {"a", "b"}


# ---------------------------------------------------------------- real data


def test_adult_pairs(data_dir):
    result = sp.audit(
        adult(data_dir, exclude=["fnlwgt"]),
        epsilon=1.0,
    )
    golden = {
        ("sex", "relationship"): (0.71801653, None),
        ("relationship", "sex"): (0.9996056, None),
        ("sex", "income"): (0.25150683, None),
        ("education", "income"): (0.80750767, None),
        ("sex", "occupation"): (0.41301284, 0.26494656),
        ("race", "native-country"): (0.77073491, 0.55160077),
        ("relationship", "marital-status"): (1.0, 0.99962742),
    }
    for names, (exact, grr) in golden.items():
        assert result.pair(*names).leakage.value == pytest.approx(exact, abs=6e-9)
        if grr is not None:
            assert result.pair(*names).grr_leakage.value == pytest.approx(grr, abs=6e-9)


def test_adult_total_within_one_percent_of_the_published_table(data_dir):
    # Complete rows of both files without the sampling weight, the five numbers in 8 bins of equal
    # width. The paper does not state its binning.
    numbers = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    table = adult(data_dir, exclude=["fnlwgt"], bins=dict.fromkeys(numbers, 8))
    assert len(table.codes) == 45_222
    result = sp.audit(table)
    for epsilon, published in ((0.5, 40.33), (1.0, 84.15)):
        total = sum(pair.curve.leakage(epsilon) for pair in result.pairs)
        assert total == pytest.approx(published, rel=0.01)
    # What docs/published.md states.
    wanted = {8: (40.19, 84.42), 10: (42.25, 88.14)}
    for bins, stated in wanted.items():
        table = adult(data_dir, exclude=["fnlwgt"], bins=dict.fromkeys(numbers, bins))
        pairs = sp.audit(table, confidence=None, triples=False).pairs
        for epsilon, value in zip((0.5, 1.0), stated, strict=True):
            total = sum(pair.curve.leakage(epsilon) for pair in pairs)
            assert total == pytest.approx(value, abs=0.005)


def test_nursery_inputs_are_independent(data_dir):
    names = [f"input{i}" for i in range(8)] + ["outcome"]
    table = load(data_dir / "nursery" / "nursery.data", header=False, names=names)
    result = sp.audit(table, epsilon=10.0)
    for pair in result.pairs:
        if "outcome" not in (pair.secret, pair.released):
            assert pair.leakage.value == pytest.approx(0, abs=1e-12)
        elif pair.released == "outcome":
            assert pair.leakage.value >= 0


def test_determined_attributes_leak_epsilon(data_dir):
    columns = ["PUMA", "DENSITY", "INDP", "INDP_CAT"]
    table = load(
        data_dir / "acs" / "national2019.csv",
        columns=columns,
        bins={"DENSITY": "none", "INDP": "none", "INDP_CAT": "none"},
        null_values=("N",),
    )
    for epsilon in (1e-6, 0.1, 1.0, 7.0, 100.0):
        result = sp.audit(table, epsilon=epsilon)
        for secret, released in (("DENSITY", "PUMA"), ("INDP_CAT", "INDP")):
            assert result.pair(secret, released).leakage.value == pytest.approx(epsilon, rel=1e-12)


def test_celeba_total_of_the_published_table(data_dir):
    P = np.load(data_dir / "published" / "celeba_conditionals.npz")["conditional"]
    for first, wanted in ((1, (101.0414, 221.5363)), (0, (106.4573, 233.7778))):
        curves = [
            sp.TradeOff.envelope(P[i, j])
            for i in range(first, 40)
            for j in range(first, 40)
            if i != j
        ]
        for epsilon, total in zip((0.5, 1.0), wanted, strict=True):
            assert sum(c.leakage(epsilon) for c in curves) == pytest.approx(total, abs=5.1e-5)


@pytest.mark.parametrize("epsilon", [701.0, 1e5, 1.7e308])
def test_factors_beyond_the_range_of_numbers(epsilon: float) -> None:
    table = {"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5}
    found = sp.audit(table, epsilon=epsilon)
    assert f"by a factor of up to e^{epsilon:.4g}." in found.verdict
