"""What a plan claims, against the enumerated distribution of its reports."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.collect.claims import (
    RECORD,
    Claim,
    Unit,
    amplified_epsilon,
    fake_epsilons,
    published_epsilon,
)
from seepage.collect.collection import CollectionPlan
from seepage.collect.designs import (
    fake_data,
    group_forecast,
    independent,
    sampled_views,
    split,
)
from seepage.collect.registry import mechanism
from seepage.domain import Attribute, Domain
from seepage.errors import CapacityError, DomainError, InfeasibleError, InvalidInputError
from seepage.results import Standing


def domain_of(*sizes: int) -> Domain:
    return Domain.of({f"a{i}": list(range(k)) for i, k in enumerate(sizes)})


def distribution(plan: CollectionPlan) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All records, and the probability of every report given each: by enumeration."""
    domain = plan.domain
    records = list(product(*(range(k) for k in domain.shape)))

    def row(unit: Unit, record: tuple[int, ...]) -> np.ndarray:
        code = 0
        for name in unit.names:
            code = code * domain[name].size + record[domain.position(name)]
        return unit.mechanism.channel.matrix[code]

    rows = []
    for record in records:
        own = [row(unit, record) for unit in plan.units]
        if plan.design == "views":
            rows.append(np.concatenate(own) / len(own))
            continue
        outer = np.zeros(0)
        if plan.design == "independent":
            parts, weights = [own], [1.0]
        else:
            uniform = [np.full(len(p), 1 / len(p)) for p in own]
            parts = [
                [p if i == j else uniform[j] for j, p in enumerate(own)] for i in range(len(own))
            ]
            weights = [1 / len(own)] * len(own)
        for weight, part in zip(weights, parts, strict=True):
            joint = np.ones(1)
            for p in part:
                joint = np.multiply.outer(joint, p).ravel()
            outer = weight * joint if not outer.size else outer + weight * joint
        rows.append(outer)
    return records, np.array(rows)


def largest_ratio(table: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    return max(float(np.log(table[a] / table[b]).max()) for a, b in pairs)


PLANS = {
    "independent": independent(domain_of(2, 3, 2), {"a0": 0.3, "a1": 1.5, "a2": 0.0}),
    "group": independent(domain_of(2, 3, 2), 0.7, groups=[["a2", "a0"]]),
    "split": split(domain_of(3, 2, 2), 1.3),
    "views": sampled_views(domain_of(2, 3, 2), 1.1, 2),
    "single views": sampled_views(domain_of(2, 3, 2), 0.9, 1),
    "fake": fake_data(domain_of(2, 2, 2), 1.0),
    "fake, unequal": fake_data(domain_of(2, 5, 3), 0.8),
    "fake, constant": fake_data(domain_of(2, 1, 3), 0.8),
    "fake, mixed": CollectionPlan(
        domain_of(2, 4),
        "fake",
        (Unit(("a0",), mechanism("grr", 2, 2.0)), Unit(("a1",), mechanism("grr", 4, 0.5))),
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_epsilons_by_enumeration(name: str) -> None:
    plan = PLANS[name]
    records, table = distribution(plan)
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
    every = [(a, b) for a in range(len(records)) for b in range(len(records)) if a != b]
    assert plan.epsilon == pytest.approx(largest_ratio(table, every), abs=1e-12)
    for i, attribute in enumerate(plan.domain):
        one = [
            (a, b)
            for a, b in every
            if all((records[a][j] != records[b][j]) == (j == i) for j in range(len(plan.domain)))
        ]
        exact = largest_ratio(table, one) if one else 0.0
        assert plan.budgets[attribute.name] == pytest.approx(exact, abs=1e-12)


def test_fake_data_does_not_have_its_published_epsilon() -> None:
    """For equal sizes one changed attribute costs ε; a changed record costs the amplified ε'."""
    plan = fake_data(domain_of(4, 4, 4), 1.0)
    assert list(plan.budgets.values()) == pytest.approx([1.0] * 3, abs=1e-14)
    assert plan.epsilon == pytest.approx(math.log(3 * (math.e - 1) + 1), abs=1e-14)
    assert "told apart by ε = 1.817" in plan.verdict
    # With unequal sizes even one attribute, the one with most categories, exceeds it.
    unequal = fake_data(domain_of(2, 20), 1.0)
    assert unequal.budgets["a1"] > 1.05
    assert unequal.budgets["a0"] < 0.95


def test_fake_epsilons_in_rational_arithmetic() -> None:
    ratio, sizes = Fraction(7, 2), (2, 5, 1, 3)
    low = [k * Fraction(1, 1) / (ratio + k - 1) if k > 1 else Fraction(1) for k in sizes]
    high = [ratio * x if k > 1 else x for k, x in zip(sizes, low, strict=True)]
    budgets = np.array([math.log(ratio) if k > 1 else 0.0 for k in sizes])
    each, record = fake_epsilons(np.array(sizes, dtype=float), budgets)
    assert record == pytest.approx(math.log(sum(high) / sum(low)), abs=1e-14)
    for i, value in enumerate(each.tolist()):
        exact = (sum(low) - low[i] + high[i]) / sum(low)
        assert value == pytest.approx(math.log(exact), abs=1e-14)


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.floats(-12, 2.85).map(lambda x: 10**x),
)
def test_fake_epsilons_against_mpmath(sizes: list[int], epsilon: float) -> None:
    budgets = np.array([epsilon if k > 1 else 0.0 for k in sizes])
    _, record = fake_epsilons(np.array(sizes, dtype=float), budgets)
    with mpmath.workdps(400):
        e = mpmath.exp(mpmath.mpf(epsilon))
        high = mpmath.fsum(k * e / (e + k - 1) if k > 1 else 1 for k in sizes)
        low = mpmath.fsum(k / (e + k - 1) if k > 1 else 1 for k in sizes)
        exact = float(mpmath.log(high / low))
    assert record == pytest.approx(exact, rel=1e-12, abs=0)


@given(st.floats(-12, 2.85).map(lambda x: 10**x), st.integers(1, 200))
def test_amplification(epsilon: float, d: int) -> None:
    value = amplified_epsilon(epsilon, d)
    with mpmath.workdps(400):
        exact = float(mpmath.log(d * mpmath.expm1(mpmath.mpf(epsilon)) + 1))
    assert value == pytest.approx(exact, rel=1e-13)
    assert published_epsilon(value, d) == pytest.approx(epsilon, rel=1e-10)


def test_limits_of_epsilon() -> None:
    for design in (independent, split, sampled_views, fake_data):
        assert design(domain_of(3, 2), 0.0).epsilon == 0
        plan = design(domain_of(3, 2), math.inf)
        assert plan.epsilon == math.inf
        codes = np.array([[0, 1], [2, 0]])
        assert "not protected" in plan.verdict.lower()
        with pytest.raises(InvalidInputError, match="reports can reveal the value of 'a0', 'a1'"):
            plan.randomize_codes(codes)
        with pytest.raises(InvalidInputError, match="allow_unprotected"):
            plan.randomize_record({"a0": 0, "a1": 1})
        assert plan.randomize_codes(codes, rng=1).simulated
        reports = plan.randomize_codes(codes, allow_unprotected=True)
        if design in (independent, split):
            assert reports.values[0].tolist() == [0, 2]
            assert reports.values[1].tolist() == [1, 0]
    assert amplified_epsilon(math.inf, 5) == math.inf
    assert fake_data(domain_of(1), 2.0).epsilon == 0


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=12), st.floats(0, 50), st.sampled_from("gou")
)
@settings(max_examples=40)
def test_splitting_never_exceeds_the_budget(sizes: list[int], epsilon: float, kind: str) -> None:
    name = {"g": "grr", "o": "oue", "u": "subset"}[kind]
    plan = split(domain_of(*sizes), epsilon, mechanism=name)
    assert plan.epsilon <= epsilon
    large = sum(k > 1 for k in sizes)
    assert plan.epsilon == pytest.approx(epsilon * large / len(sizes), rel=1e-9, abs=1e-300)
    assert plan.release_epsilon <= plan.epsilon


def test_release_epsilon_of_fake_data_with_the_integer_weights() -> None:
    plan = fake_data(domain_of(2, 5, 3), 0.8)
    low = high = Fraction(0)
    for unit in plan.units:
        weights = unit.mechanism._response_weights
        high += unit.mechanism.k * Fraction(weights.keep, 2**64)
        low += unit.mechanism.k * Fraction(weights.other, 2**64)
    with mpmath.workdps(60):
        drawn = mpmath.log(
            mpmath.mpf(high.numerator) * low.denominator / high.denominator / low.numerator
        )
        nominal = mpmath.log(3 * mpmath.expm1(mpmath.mpf(0.8)) + 1)
        assert drawn <= nominal + mpmath.mpf(10) ** -15
    assert float(drawn) == pytest.approx(plan.release_epsilon, abs=1e-14)
    assert plan.release_epsilon <= plan.epsilon


@pytest.mark.parametrize("name", ["independent", "group", "views", "fake, unequal"])
def test_reports_follow_the_distribution(name: str) -> None:
    """Chi-square of 100,000 simulated reports of one record; false alarms: 1 in 10^6, seed 5."""
    from scipy.stats import chi2

    plan, n = PLANS[name], 100_000
    records, table = distribution(plan)
    record = records[-2]
    reports = plan.randomize_codes(np.tile(record, (n, 1)), rng=5)
    if plan.design == "views":
        sizes = [unit.mechanism.k for unit in plan.units]
        starts = np.cumsum([0, *sizes])
        codes = np.concatenate([v + s for v, s in zip(reports.values, starts, strict=False)])
        assert [len(v) for v in reports.values] == np.bincount(reports.view).tolist()
    else:
        shape = tuple(unit.mechanism.k for unit in plan.units)
        codes = np.ravel_multi_index(tuple(reports.values), shape)
    expected = n * table[len(records) - 2]
    found = np.bincount(codes, minlength=len(expected))
    statistic = float(((found - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, len(expected) - 1) > 1e-6


def test_views_and_units_are_matched_to_their_records() -> None:
    plan = sampled_views(domain_of(3, 4, 5), math.inf, 2)
    codes = np.array(list(product(range(3), range(4), range(5))) * 20)
    reports = plan.randomize_codes(codes, rng=1)
    assert reports.size == len(codes)
    assert reports.simulated
    for number, unit in enumerate(plan.units):
        rows = codes[reports.view == number][:, [plan.domain.position(n) for n in unit.names]]
        shape = tuple(plan.domain[n].size for n in unit.names)
        assert np.array_equal(reports.values[number], np.ravel_multi_index(tuple(rows.T), shape))


def test_release_and_simulation() -> None:
    plan = PLANS["views"]
    codes = np.zeros((500, 3), dtype=int)
    first, second = (plan.randomize_codes(codes, rng=7) for _ in range(2))
    for a, b in zip(first.values, second.values, strict=True):
        assert np.array_equal(a, b)
    one, two = (plan.randomize_codes(codes) for _ in range(2))
    assert not one.simulated
    assert not np.array_equal(one.view, two.view)  # equal once in 3^500 runs


@pytest.mark.parametrize("rng", [True, -1, 1.5, "1", np.random.RandomState(0)])
def test_bad_sources_of_randomness(rng: object) -> None:
    with pytest.raises(InvalidInputError, match="rng"):
        PLANS["views"].randomize_codes(np.zeros((1, 3), dtype=int), rng=rng)


@pytest.mark.parametrize(
    "codes",
    [
        np.zeros((2, 3)),
        np.zeros((2, 3), dtype=bool),
        np.zeros((2, 2), dtype=int),
        np.zeros(3, dtype=int),
        np.zeros((0, 3), dtype=int),
        [[0, 0, 2]],
        [[-1, 0, 0]],
        [["0", "0", "0"]],
        [[None, 0, 0]],
        [[0, 0], [0]],
        None,
        np.full((1, 3), np.nan),
    ],
)
def test_bad_codes(codes: object) -> None:
    with pytest.raises(InvalidInputError):
        PLANS["independent"].randomize_codes(codes)


MIXED = Domain(
    (
        Attribute("label", (1, "1", True, 1.5)),
        Attribute("age", ("young", "old", "?"), edges=(0, 18, 120), missing="?"),
        Attribute("town", ("A", "B", "rest"), other="rest"),
        Attribute("size", ("s", "l", "odd"), edges=(-math.inf, 0, math.inf), other="odd"),
    )
)
TRUTHFUL = independent(MIXED, math.inf)
RECORD_OF = {"label": 1, "age": 17, "town": "A", "size": -3.5}


@pytest.mark.parametrize(
    ("column", "value", "report"),
    [
        ("label", 1, 1),
        ("label", "1", "1"),
        ("label", True, True),
        ("label", np.int64(1), 1),
        ("label", np.str_("1"), "1"),
        ("label", np.bool_(True), True),
        ("age", 0, "young"),
        ("age", 18, "old"),
        ("age", 120.0, "old"),
        ("age", "old", "old"),
        ("age", None, None),
        ("age", math.nan, None),
        ("age", np.float64("nan"), None),
        ("town", "Z", "rest"),
        ("town", 3, "rest"),
        ("size", 10**400, "l"),
        ("size", math.inf, "l"),
        ("size", "unheard of", "odd"),
    ],
)
def test_records_are_coded_exactly(column: str, value: object, report: object) -> None:
    found = TRUTHFUL.randomize_record({**RECORD_OF, column: value}, rng=0)
    labels = {"label": MIXED["label"].categories}
    if column in labels:  # labels of several types are written as positions
        position = found[column]
        assert type(labels[column][position]) is type(report)
        assert labels[column][position] == report
    else:
        assert found[column] == report
    assert json.loads(json.dumps(found)) == found
    assert found["(plan)"] == f"{TRUTHFUL.fingerprint[:16]} simulation, not a release"


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("label", 1.0, ["'label'", "1.0"]),
        ("label", 2, ["'label'", "2"]),
        ("label", None, ["'label'", "None", "missing"]),
        ("label", math.nan, ["'label'", "nan"]),
        ("label", [1], ["'label'", "list"]),
        ("label", b"1", ["'label'", "bytes"]),
        ("age", -1, ["'age'", "-1", "0 to 120"]),
        ("age", 121, ["'age'", "121"]),
        ("age", True, ["'age'", "True"]),
        ("age", math.inf, ["'age'", "inf"]),
        ("age", "middle", ["'age'", "'middle'"]),
        ("town", None, ["'town'", "None"]),
        ("town", {"a": 1}, ["'town'", "dict"]),
    ],
)
def test_nothing_outside_the_domain_passes(column: str, value: object, words: list[str]) -> None:
    with pytest.raises(DomainError) as caught:
        TRUTHFUL.randomize_record({**RECORD_OF, column: value})
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({k: v for k, v in RECORD_OF.items() if k != "age"}, DomainError),
        ({**RECORD_OF, "agee": 3}, DomainError),
        ({**RECORD_OF, 3: 3}, DomainError),
        ({}, DomainError),
        ([1, 2, 3, 4], InvalidInputError),
        (None, InvalidInputError),
    ],
)
def test_records_have_exactly_the_columns(record: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        TRUTHFUL.randomize_record(record)


def test_records_of_views_and_texts() -> None:
    plan = sampled_views(Domain.of({"view": ["a", "b"], "b": [1, 2], "c": [1, 2]}), 1.0, 2)
    assert plan.view_column == "(view)"
    found = plan.randomize_record({"view": "a", "b": 1, "c": 2})
    assert set(found) == {"(view)", "view", "b", "c", "(plan)"}
    silent = [n for n in ("view", "b", "c") if n not in plan.units[found["(view)"]].names]
    assert [found[name] for name in silent] == [None]
    texts = independent(
        Domain.of({"a": ["x", "y"], "b": ["x", "y"]}), 1.0, "oue", groups=[["a", "b"]]
    )
    assert set(texts.randomize_record({"a": "x", "b": "y"})) == {"a + b", "(plan)"}


GRR2, GRR3, GRR6 = (mechanism("grr", k, 1.0) for k in (2, 3, 6))


@pytest.mark.parametrize(
    ("design", "units", "word"),
    [
        ("independent", (Unit(("a0",), GRR2),), "'a1'"),
        ("independent", (Unit(("a0",), GRR3), Unit(("a1",), GRR3)), "2 categories"),
        ("independent", (Unit(("a0", "a1"), GRR6), Unit(("a1",), GRR3)), "'a1'"),
        ("independent", (Unit(("a0", "a0"), mechanism("grr", 4, 1.0)), Unit(("a1",), GRR3)), "a0"),
        ("views", (Unit(("a0", "a1"), GRR6), Unit(("a1", "a0"), GRR6)), "twice"),
        ("views", (Unit(("a0",), GRR2),), "'a1'"),
        ("fake", (Unit(("a0",), mechanism("oue", 2, 1.0)), Unit(("a1",), GRR3)), "'unary'"),
        ("fake", (Unit(("a0", "a1"), GRR6), Unit(("a1",), GRR3)), "'a1'"),
        ("independent", (), "at least one"),
        ("independent", "units", "sequence of units"),
        ("independent", (Unit((), GRR2),), "names"),
        ("independent", (Unit(("a0",), "grr"), Unit(("a1",), GRR3)), "mechanism"),
        ("spl", (Unit(("a0",), GRR2), Unit(("a1",), GRR3)), "design"),
    ],
)
def test_units_must_fit(design: str, units: object, word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        CollectionPlan(domain_of(2, 3), design, units)


def test_names_that_a_plan_cannot_have() -> None:
    for name in ("(record)", "(plan)", "a\ud800"):
        with pytest.raises(DomainError):
            independent(Domain.of({name: [1, 2]}), 1.0)
    with pytest.raises(DomainError, match="UTF-8"):
        independent(Domain.of({"a": ["\udc00", "b"]}), 1.0)
    with pytest.raises(InvalidInputError, match="Domain"):
        CollectionPlan("domain", "independent", ())


def test_claims() -> None:
    plan = independent(domain_of(2, 3), {"a0": 0.5, "a1": 1.0})
    record, *others = plan.claims
    assert (record.about, record.value, record.standing) == (RECORD, 1.5, Standing.EXACT)
    assert [(c.about, c.quantity, c.value) for c in others] == [
        ("a0", "epsilon", 0.5),
        ("a1", "epsilon", 1.0),
        ("a0", "total", 1.5),
        ("a1", "total", 1.5),
    ]
    assert plan.totals["a0"].standing is Standing.UPPER
    given = Claim("a1", 1.2, Standing.HEURISTIC, ("a guess",))
    better = CollectionPlan(plan.domain, plan.design, plan.units, (*plan.claims[:-1], given))
    assert better.totals["a1"] == given
    assert better.totals["a0"].value == 1.5
    for claim in (
        Claim("a1", 0.9, Standing.EXACT, (), "epsilon"),
        Claim(RECORD, 1.4, Standing.EXACT, (), "epsilon"),
        Claim(RECORD, 1.5, Standing.EXACT),
        Claim("a2", 1.0, Standing.EXACT),
        Claim("a1", -1.0, Standing.UPPER),
        Claim("a1", math.nan, Standing.UPPER),
        Claim("a1", 0.99, Standing.EXACT),  # its own report tells 1
        Claim("a1", 0.0, Standing.UPPER),
        Claim("a1", 1.51, Standing.LOWER),  # the whole record tells 1.5
    ):
        with pytest.raises(InvalidInputError):
            CollectionPlan(plan.domain, plan.design, plan.units, (claim,))
    with pytest.raises(InvalidInputError, match="two"):
        CollectionPlan(plan.domain, plan.design, plan.units, (*plan.claims, given))
    assert replace(plan, target=1.0).target == 1.0  # that nothing vouches for it is no claim
    with pytest.raises(InfeasibleError):
        replace(better, target=1.1)
    for target in (-1.0, math.nan, True):
        with pytest.raises(InvalidInputError):
            replace(plan, target=target)


def test_sums_of_budgets_in_exact_arithmetic() -> None:
    """ε of a record is the sum rounded up, a split stays below what was asked for."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        d = int(rng.integers(2, 9))
        domain = domain_of(*rng.integers(2, 9, d).tolist())
        each = dict(zip(domain.names, rng.uniform(0, 3, d).tolist(), strict=True))
        plan = independent(domain, each)
        exact = sum(map(Fraction, each.values()))
        assert math.nextafter(plan.epsilon, 0) < exact <= plan.epsilon
        released = sum(Fraction(unit.mechanism.release_epsilon) for unit in plan.units)
        assert released <= plan.release_epsilon <= plan.epsilon
        whole = float(rng.uniform(0, 5))
        shared = split(domain, whole)
        parts = [Fraction(unit.mechanism.epsilon) for unit in shared.units]
        assert sum(parts) <= Fraction(whole)
        assert float(sum(parts)) >= whole * (1 - 1e-15)
        assert shared.epsilon <= whole
        grouped = split(domain, whole, groups=[domain.names[:2]])
        assert sum(Fraction(unit.mechanism.epsilon) for unit in grouped.units) <= Fraction(whole)


def test_fake_epsilons_are_never_understated() -> None:
    rng = np.random.default_rng(5)
    with mpmath.workdps(80):
        for _ in range(60):
            d = int(rng.integers(2, 6))
            plan = fake_data(domain_of(*rng.integers(2, 9, d).tolist()), float(rng.uniform(0, 3)))
            for weights in (False, True):
                terms = []
                for unit in plan.units:
                    k = unit.mechanism.k
                    if weights:
                        drawn = unit.mechanism._response_weights
                        p, q = mpmath.mpf(drawn.keep), mpmath.mpf(drawn.other)
                        assert drawn.keep + (k - 1) * drawn.other == 2**64
                    else:
                        q = 1 / (mpmath.exp(unit.mechanism.epsilon) + k - 1)
                        p = 1 - (k - 1) * q
                    terms.append((k * p, k * q))
                low = sum(b for _, b in terms)
                record = mpmath.log(sum(a for a, _ in terms) / low)
                if weights:
                    assert record <= plan.release_epsilon <= plan.epsilon
                    continue
                assert 0 <= plan.epsilon - record * (1 - mpmath.mpf(10) ** -60) <= 3e-16 * record
                for name, (a, b) in zip(plan.domain.names, terms, strict=True):
                    own = mpmath.log1p((a - b) / low)
                    assert 0 <= plan.budgets[name] - own <= 4e-16 * own


def test_epsilon_of_members_of_a_group() -> None:
    """The largest ratio over pairs that differ in one attribute, from the table itself."""
    domain = domain_of(2, 3, 1)
    names = domain.names
    for kind in ("grr", "staircase", "exponential", "subset", "oue"):
        plan = independent(domain, 0.5, kind, [names])
        own = {c.about: c for c in plan.claims if c.quantity == "epsilon"}
        assert own["a2"].value == 0.0
        assert own["a2"].standing is Standing.EXACT
        unit = plan.units[0].mechanism
        for axis, name in enumerate(names[:2]):
            assert own[name].value == unit.epsilon
            if kind in ("subset", "oue"):
                assert own[name].standing is Standing.EXACT
                continue
            logs = np.log(unit.channel.matrix).reshape(2, 3, 1, -1)
            exact = float(np.ptp(logs, axis=axis).max())
            assert exact <= own[name].value * (1 + 1e-12)
            is_exact = own[name].standing is Standing.EXACT
            assert is_exact == (kind == "grr")
            assert math.isclose(exact, own[name].value, rel_tol=1e-12) or not is_exact


def test_masked_arrays_are_refused() -> None:
    plan = independent(domain_of(2, 3), 1.0)
    hidden = np.ma.masked_array([[0, 1], [1, 2]], mask=[[True, False], [False, False]])
    with pytest.raises(InvalidInputError, match="mask"):
        plan.randomize_codes(hidden)
    with pytest.raises(InvalidInputError, match="mask"):
        plan.units[0].mechanism.sample(hidden[:, 0])
    with pytest.raises(DomainError, match="bits"):
        Domain.of({"a": [10**5000, 1]})


def test_groups_and_mechanisms() -> None:
    domain = domain_of(2, 3, 4)
    plan = independent(
        domain,
        {"a0": 0.5, "a1": 1.0, "a2": 0.25},
        {"a1": "oue", "a0": "olh", "a2": "olh"},
        groups=[("a2", "a0")],
    )
    assert [unit.names for unit in plan.units] == [("a2", "a0"), ("a1",)]
    assert [unit.mechanism.kind for unit in plan.units] == ["hashing", "unary"]
    assert plan.budgets == {"a0": 0.75, "a1": 1.0, "a2": 0.75}
    assert plan.epsilon == 1.75
    optioned = independent(domain, 1.0, {"a0": "unary"}, options={"a0": {"variant": "symmetric"}})
    assert optioned.units[0].mechanism == mechanism("sue", 2, 1.0)
    table = [[0.7, 0.3], [0.4, 0.6]]
    matrix = independent(domain, 1.0, {"a0": "table"}, options={"a0": {"matrix": table}})
    assert matrix.budgets["a0"] == pytest.approx(math.log(2), abs=1e-12)
    with pytest.raises(InvalidInputError, match="within its budget"):
        independent(domain, 0.5, {"a0": "table"}, options={"a0": {"matrix": table}})
    for groups in ([("a0", "a0")], [("a0", "a1"), ("a1", "a2")], [()], "ab", ["a0"]):
        with pytest.raises(InvalidInputError):
            independent(domain, 1.0, groups=groups)
    with pytest.raises(DomainError, match="a3"):
        independent(domain, 1.0, groups=[("a0", "a3")])
    with pytest.raises(InvalidInputError, match="one mechanism"):
        independent(domain, 1.0, {"a0": "oue"}, groups=[("a0", "a1")])
    with pytest.raises(DomainError, match="a7"):
        independent(domain, 1.0, {"a7": "oue"})
    with pytest.raises(InvalidInputError, match="oeu"):
        independent(domain, 1.0, "oeu")


def test_capacity_is_checked_before_work() -> None:
    with pytest.raises(CapacityError, match=r"10,000.*'a0' \(100\) × 'a1' \(100\).*GB"):
        independent(domain_of(100, 100), 1.0, groups=[("a0", "a1")])
    with pytest.raises(CapacityError, match="views"):
        sampled_views(domain_of(*[2] * 40), 1.0, 20)


@pytest.mark.parametrize("epsilon", [-1, math.nan, "1", None, True, [1.0, 2.0]])
def test_bad_budgets(epsilon: object) -> None:
    for design in (independent, split, sampled_views, fake_data):
        with pytest.raises(InvalidInputError):
            design(domain_of(2, 2), epsilon)
        with pytest.raises(InvalidInputError):
            design("domain", 1.0)


def test_bad_views_and_missing_budgets() -> None:
    for k in (0, 3, 1.5, True, "2"):
        with pytest.raises(InvalidInputError):
            sampled_views(domain_of(2, 2), 1.0, k)
    with pytest.raises(DomainError, match="'a1'"):
        independent(domain_of(2, 2), {"a0": 1.0})
    with pytest.raises(DomainError, match="'a2'"):
        independent(domain_of(2, 2), {"a0": 1.0, "a1": 1.0, "a2": 1.0})


def test_forecast_of_a_group_with_explicit_inverses() -> None:
    domain = domain_of(2, 3, 4)
    budgets = {"a0": 0.5, "a1": 1.0, "a2": 0.25}
    forecast = group_forecast(domain, ["a2", "a0"], budgets)
    assert (forecast.categories, forecast.table_bytes) == (8, 512)

    def error(table: np.ndarray) -> float:
        """Of a cell, from the covariance of one unbiased report, averaged over the truth."""
        inverse = np.linalg.inv(table)
        uniform = np.full(len(table), 1 / len(table))
        second = uniform @ table @ inverse**2
        return math.sqrt((second - uniform**2).mean())

    own = [mechanism("grr", k, e).channel.matrix for k, e in ((4, 0.25), (2, 0.5))]
    assert forecast.separate == pytest.approx(error(np.kron(*own)), rel=1e-12)
    joint = mechanism("grr", 8, 0.75).channel.matrix
    assert forecast.joint == pytest.approx(error(joint), rel=1e-12)
    assert "8 cells" in forecast.sentence
    assert group_forecast(domain, ["a0", "a1"], math.inf).joint < 1
    assert group_forecast(domain, ["a0", "a1"], 0.0).joint == math.inf
    with pytest.raises(CapacityError):
        group_forecast(domain_of(100, 100), ["a0", "a1"], 1.0)
    with pytest.raises(DomainError):
        group_forecast(domain, ["a0", "a9"], 1.0)
