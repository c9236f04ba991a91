"""Relationships in numbers: reports of bits, scores of any size, and scores that do not vary."""

from __future__ import annotations

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from seepage.collect import _influence
from seepage.collect.collection import CollectedReports
from seepage.collect.designs import independent
from seepage.collect.moments import cross_moment
from seepage.collect.relationships import ReportedRelationships
from seepage.collect.scores import default_scores
from seepage.domain import Attribute, Domain
from seepage.errors import InvalidInputError
from seepage.plan._clear import clear_ones, quantity, threshold
from seepage.plan.estimating import count_reports
from seepage.plan.relating import estimate_relationships

DOMAIN = Domain.of({"a": [0, 1, 2], "b": [0, 1, 2, 3], "c": ["n", "y"]})
SCORES = {
    "a": np.array([2001.0, 2002.0, 2007.0]),
    "b": np.array([9997.0, 9999.0, 10000.0, 10005.0]),
    "c": np.array([-500.0, -498.0]),
}
BITS = ["oue", "sue", "olh", "blh", "subset"]


def drawn(mechanism, n=1500, epsilon=1.7, seed=3):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.5, z + rng.integers(0, 2, n), rng.integers(0, 4, n))
    codes = np.stack([z, b, rng.random(n) < 0.3 + 0.2 * z], axis=1)
    plan = independent(DOMAIN, epsilon, mechanism=mechanism)
    return plan.randomize_codes(codes.astype(np.int64), rng=rng)


def indicators(reports):
    """Estimated indicators of each attribute, straight from what the reports support."""
    found = {}
    for unit, values in zip(reports.plan.units, reports.values, strict=True):
        m = unit.mechanism
        found[unit.names[0]] = (m.supports(values).astype(float) - m.miss) / (m.hit - m.miss)
    return found


def number(indicator, wanted):
    """What the indicators say of `wanted` about its mean, and the mean itself."""
    wanted = np.asarray(wanted, dtype=float)
    return indicator @ (wanted - wanted.mean()) + wanted.mean()


def error(influence):
    n = len(influence)
    return math.sqrt(float(((influence - influence.mean()) ** 2).sum()) / (n * (n - 1)))


@pytest.mark.parametrize("mechanism", BITS)
def test_bits_are_centred_through_the_constant(mechanism):
    """Textbook formulas on one number for each report; also from the counts of the reports."""
    reports = drawn(mechanism)
    own, n = indicators(reports), reports.size
    u = {name: number(own[name], SCORES[name]) for name in SCORES}
    d = {name: values - values.mean() for name, values in u.items()}
    q = {name: number(own[name], (SCORES[name] - u[name].mean()) ** 2) for name in SCORES}
    counted = count_reports(reports, reports.plan, 3, covariance=True)
    for source in (reports, counted):
        found = ReportedRelationships(source, SCORES)
        item = found.covariance("a", "b")
        assert_allclose(item.estimate, d["a"] @ d["b"] / (n - 1), rtol=1e-8)
        assert_allclose(item.standard_error, error(d["a"] * d["b"]), rtol=1e-8)
        item = found.variance("b")
        assert_allclose(item.estimate, q["b"].mean() + d["b"] @ d["b"] / (n * (n - 1)), rtol=1e-8)
        assert_allclose(item.standard_error, error(q["b"]), rtol=1e-8)
        item = found.moment(["a", "b", "c"])
        assert_allclose(item.estimate, (d["a"] * d["b"] * d["c"]).mean(), rtol=1e-7)
        cells = [
            number(own["a"], np.eye(3)[i]) * number(own["b"], np.eye(4)[j])
            for i, j in ((0, 0), (0, 1), (1, 0), (1, 1))
        ]
        odds = sum(s * math.log(c.mean()) for s, c in zip((1, -1, -1, 1), cells, strict=True))
        assert_allclose(found.log_odds_ratio("a", "b").estimate, odds, rtol=1e-8)


@pytest.mark.parametrize("mechanism", ["oue", "sue", "blh"])
def test_bits_waste_no_variance(mechanism):
    """The bits themselves, whose covariance needs no estimated sum, are no better.

    Before scores went through the constant, the squared standard error was 2 to 5 times as large.
    """
    plan = independent(DOMAIN, 1.0, mechanism=mechanism)
    skewed = np.random.default_rng(1).random((4000, 3)) < 0.1  # far from the mean of all scores
    reports = plan.randomize_codes(skewed.astype(np.int64), rng=2)
    item = ReportedRelationships(reports).covariance("a", "b")
    own = indicators(reports)
    u, v = (own[name] @ (np.arange(k) - (k - 1) / 2) for name, k in (("a", 3), ("b", 4)))
    assert item.standard_error <= 1.01 * error((u - u.mean()) * (v - v.mean()))


def test_bits_are_unbiased_by_enumeration():
    """Covariance and variance over every collection of two records that report bits."""
    domain = Domain.of({"x": [0, 1], "y": [0, 1]})
    scores = {"x": [5.0, 6.0], "y": [0.0, 3.0]}
    joint = np.array([[0.5, 0.1], [0.1, 0.3]])
    plan = independent(domain, {"x": 1.0, "y": 0.7}, mechanism="oue")
    bits = np.array(list(product([False, True], repeat=2)))
    laws = []
    for unit in plan.units:
        m = unit.mechanism
        chance = np.where(np.eye(2, dtype=bool)[:, None, :], m.hit, m.miss)  # true, 1, bit
        laws.append(np.where(bits, chance, 1 - chance).prod(axis=2))  # true, report
    law = np.einsum("xy,xr,ys->rs", joint, *laws)
    assert_allclose(law.sum(), 1)
    mean = np.zeros(3)
    every = list(product(range(4), repeat=2))
    for (r1, s1), (r2, s2) in product(every, every):
        reports = CollectedReports(plan, (bits[[r1, r2]], bits[[s1, s2]]), None, True)
        source = ReportedRelationships(reports, scores)
        found = [source.covariance("x", "y"), source.variance("x"), source.variance("y")]
        # Impossible values are no less estimates: the middle of the limits is the value itself.
        values = [(item.lower + item.upper) / 2 for item in found]
        mean += law[r1, s1] * law[r2, s2] * np.array(values)
    truth = [
        cross_moment(joint, [scores["x"], scores["y"]]),
        cross_moment(joint.sum(axis=1), [scores["x"]], [2]),
        cross_moment(joint.sum(axis=0), [scores["y"]], [2]),
    ]
    assert_allclose(mean, truth, rtol=1e-10)


def test_few_reports_of_bits_are_unbiased():
    """Four records at a time; with a free seed a mean is outside in 0.006 % of runs."""
    rng, k, runs = np.random.default_rng(8), 4, 1500
    plan = independent(Domain.of({"x": list(range(k)), "y": list(range(k))}), 1.0, mechanism="oue")
    p = 0.5 ** np.arange(k)
    p /= p.sum()
    true = float(p @ np.arange(k) ** 2 - (p @ np.arange(k)) ** 2)
    values = []
    for _ in range(runs):
        reports = plan.randomize_codes(rng.choice(k, (4, 2), p=p), rng=rng)
        item = ReportedRelationships(reports).variance("x")
        values.append((item.lower + item.upper) / 2)
    assert abs(np.mean(values) - true) < 4 * np.std(values) / math.sqrt(runs)


@pytest.mark.parametrize("size", [1e-90, 1e-9, 1e5, 1e7, 1e90])
@pytest.mark.parametrize("counted", [False, True])
def test_units_do_not_matter_in_a_regression(size, counted):
    """Predictors of any size beside one of size 1: slopes and errors follow the unit."""
    reports = drawn("grr", epsilon=3.0)
    source = count_reports(reports, reports.plan, 3) if counted else reports
    near = ReportedRelationships(source).regression("a", ["b", "c"])
    far = ReportedRelationships(source, {"b": np.arange(4) * size})
    slopes = zip(near, far.regression("a", ["b", "c"]), strict=True)
    for i, (one, other) in enumerate(slopes):
        unit = size if i == 0 else 1.0
        assert one.estimate is not None
        assert_allclose(other.estimate * unit, one.estimate, rtol=1e-9)
        assert_allclose(other.standard_error * unit, one.standard_error, rtol=1e-9)
        assert_allclose(other.uncorrected * unit, one.uncorrected, rtol=1e-9)
        assert other.recommended == one.recommended
    one, other = ReportedRelationships(source).correlation("a", "b"), far.correlation("a", "b")
    assert_allclose(other.estimate, one.estimate, rtol=1e-9)
    assert_allclose(other.standard_error, one.standard_error, rtol=1e-9)


def test_slopes_of_the_same_predictor_twice_are_refused():
    """Correlation 1, exactly and up to rounding, in any unit."""
    for size in (1.0, 1e8, 1e-90):
        cells = [[1.0, size], [size, size**2 * (1 + 1e-14)]]
        within = [[_influence.Term(v, np.zeros(2)) for v in row] for row in cells]
        across = [_influence.Term(0.5, np.zeros(2)), _influence.Term(0.5 * size, np.zeros(2))]
        assert _influence.slopes(within, across) is None
        apart = [list(row) for row in within]
        apart[1][1] = _influence.Term(2 * size**2, np.zeros(2))
        assert_allclose([t.value for t in _influence.slopes(apart, across)], [0.5, 0], atol=1e-12)
        apart[1][1] = _influence.Term(-(size**2), np.zeros(2))
        assert _influence.slopes(apart, across) is None


@pytest.mark.parametrize("level", [1e-300, 0.5, 0.95, 1 - 1e-12, 1 - 2**-53])
def test_limits_at_any_confidence(level):
    item = ReportedRelationships(drawn("grr", 300), confidence=level).covariance("a", "b")
    with mp.workdps(40):
        wanted = mp.sqrt(2) * mp.erfinv(mp.mpf(level))
    assert_allclose((item.upper - item.lower) / 2, float(wanted) * item.standard_error, atol=1e-13)
    for count in (1, 45, 10**6):
        with mp.workdps(40):
            wanted = mp.sqrt(2) * mp.erfinv(1 - (1 - mp.mpf(level)) / count)
        assert threshold(count, level) == pytest.approx(float(wanted), rel=1e-8, abs=1e-12)
    found = estimate_relationships(drawn("grr", 300), confidence=level)
    assert "relationship" in found.verdict


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("size", [1e-307, 1e-200, 1e-101, 1e101, 1e153, 1e155, 1.7e308])
def test_scores_of_extreme_size_are_refused(size, counted):
    reports = drawn("grr", 100)
    source = count_reports(reports, reports.plan, 3) if counted else reports
    found = ReportedRelationships(source, {"b": np.array([-1.0, 0.0, 0.5, 1.0]) * size})
    for call in (
        lambda: found.covariance("a", "b"),
        lambda: found.variance("b"),
        lambda: found.correlation("b", "c"),
        lambda: found.moment(["a", "b", "c"]),
        lambda: found.regression("b", ["a"]),
        lambda: found.regression("a", ["c", "b"]),
    ):
        with pytest.raises(InvalidInputError, match=r"expected scores of column 'b' whose range"):
            call()
    # What does not need these scores is as it was.
    bare = ReportedRelationships(source)
    assert found.covariance("a", "c") == bare.covariance("a", "c")
    assert found.log_odds_ratio("a", "b") == bare.log_odds_ratio("a", "b")


def test_sizes_that_multiply_to_the_extreme_are_refused():
    reports = drawn("grr", 100)
    for size in (1e-80, 1e80):
        scores = {"a": np.arange(3) * size, "b": np.arange(4) * size, "c": [0, 1 / size]}
        found = ReportedRelationships(reports, scores)
        for call in (
            lambda found=found: found.covariance("a", "b"),
            lambda found=found: found.variance("a"),
            lambda found=found: found.regression("a", ["c"]),
        ):
            with pytest.raises(InvalidInputError, match=r"expected ranges of scores whose product"):
                call()
        bare = ReportedRelationships(reports)
        for names in (("a", "b"), ("a", "c")):
            one, other = found.correlation(*names), bare.correlation(*names)
            assert_allclose(one.estimate, other.estimate, rtol=1e-9)
        item, other = found.covariance("a", "c"), bare.covariance("a", "c")
        assert_allclose(item.estimate, other.estimate, rtol=1e-9)
        assert_allclose(item.mse_uncorrected, other.mse_uncorrected, rtol=1e-9)


def test_labels_beyond_floating_point():
    huge = Attribute("a", (1.7e308, 1.6e308, "gap"), missing="gap")
    scores, sentence = default_scores(huge)
    assert_allclose(scores, [1.7e308, 1.6e308, 1.65e308])
    assert "by its numbers" in sentence
    scores, sentence = default_scores(Attribute("a", (10**400, 1)))
    assert scores.tolist() == [0, 1]
    assert "by the positions" in sentence
    # A column of such labels is no hindrance to the others.
    domain = Domain.of({"a": [-1.7e308, 1.7e308], "b": [0, 1], "c": [0, 1]})
    codes = np.random.default_rng(0).integers(0, 2, (100, 3))
    reports = independent(domain, 2.0).randomize_codes(codes, rng=1)
    assert estimate_relationships(reports, relationships=[("b", "c")]).estimates
    assert ReportedRelationships(reports).log_odds_ratio("a", "b").estimate is not None
    with pytest.raises(InvalidInputError, match="column 'a' whose range is 0, or from 1e-100"):
        estimate_relationships(reports)


@pytest.mark.parametrize("size", [1e-64, 1e64])
def test_the_largest_scores_that_are_taken(size):
    """Squares of standard errors of variances stay inside floating point."""
    reports = drawn("grr", 300, epsilon=0.1)
    found = ReportedRelationships(reports, {"b": np.arange(4) * size}).variance("b")
    other = ReportedRelationships(reports).variance("b")
    assert_allclose(found.standard_error / size**2, other.standard_error, rtol=1e-9)
    assert_allclose(found.mse_corrected / size**4, other.mse_corrected, rtol=1e-9)
    assert found.recommended == other.recommended


@pytest.mark.parametrize("mechanism", ["grr", *BITS, "exponential"])
@pytest.mark.parametrize("value", [0.1, 5.0, 123456.789, 1e9 / 7, 1e300])
def test_equal_scores_do_not_vary(mechanism, value):
    reports = drawn(mechanism, 200)
    scores = {"b": [value] * 4}
    for source in (reports, count_reports(reports, reports.plan, 3, covariance=True)):
        found = ReportedRelationships(source, scores)
        for item in (
            found.covariance("a", "b"),
            found.variance("b"),
            found.moment(["c", "a", "b"]),
        ):
            assert (item.estimate, item.standard_error, item.lower) == (0.0, 0.0, 0.0)
        for item in (found.correlation("b", "a"), *found.regression("a", ["c", "b"])):
            assert item.estimate is None
            assert item.note == "All scores of 'b' are equal."
            assert item.equal == ("b",)
        (slope,) = found.regression("b", ["a"])
        assert slope.estimate == 0.0
    result = estimate_relationships(reports, kinds=("covariance", "correlation"), scores=scores)
    assert not {"b"} & {name for item in result.clear for name in item.names}
    told = "2 of 6 cannot be computed: all scores of 'b' are equal."
    assert told in result.verdict
    assert "cannot be corrected" not in result.verdict
    only = estimate_relationships(reports, relationships=[("a", "b")], scores=scores)
    assert only.verdict == ("The relationship cannot be computed: all scores of 'b' are equal.")


def test_a_column_of_one_category_is_no_want_of_records():
    plan = independent(Domain.of({"one": ["x"], "b": [0, 1]}), 1.0)
    codes = np.stack([np.zeros(500, np.int64), np.arange(500) % 2], axis=1)
    result = estimate_relationships(plan.randomize_codes(codes, rng=1))
    assert "all scores of 'one' are equal" in result.verdict
    assert "too few" not in result.verdict
    assert "too few" not in result.to_html()


@pytest.mark.parametrize("mechanism", ["grr", "oue"])
def test_equal_records_tell_nothing_from_zero(mechanism):
    """What is left of the scores of equal reports is rounding."""
    plan = independent(DOMAIN, 1.0, mechanism=mechanism)
    once = plan.randomize_codes(np.array([[1, 2, 0]]), rng=4)
    reports = CollectedReports(
        plan, tuple(np.repeat(v, 2, axis=0) for v in once.values), None, True
    )
    scores = {"a": [0.1, 0.7, 3.3], "b": [1e6 / 3, 1.1, 7.7, 0.3], "c": [0.1, 0.3]}
    result = estimate_relationships(
        reports, kinds=("covariance",), scores=scores, regression={"a": ["b"]},
        relationships=[("a", "b"), ("a", "c"), ("a", "b", "c")],
    )  # fmt: skip
    assert clear_ones(result.estimates) == []
    assert "nan" not in result.verdict


def test_no_number_has_a_word():
    assert quantity(math.nan) == "nan"
