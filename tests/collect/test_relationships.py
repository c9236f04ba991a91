"""Relationships estimated from reports: unbiased, honest errors, the better of two values."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seepage.channel import Channel, randomized_response
from seepage.collect import _influence
from seepage.collect.attenuation import retention
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.moments import break_even_size, cross_moment, record_variance
from seepage.collect.relationships import ReportedRelationships
from seepage.collect.scores import default_scores
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InvalidInputError, SeepageError
from seepage.plan.relating import estimate_relationships, plan_budgets, retention_table
from seepage.results import Standing

DOMAIN = Domain.of({"a": [0, 1, 3], "b": ["no", "yes"], "c": [1, 2, 3, 4]})
SCORES = {"a": [0.0, 1.0, 3.0], "b": [0.0, 1.0], "c": [1.0, 2.0, 3.0, 4.0]}
SHAPE = (3, 2, 4)
JOINT = np.random.default_rng(4).dirichlet(np.full(24, 0.6)).reshape(SHAPE)
RUNS, SIZE = 200, 4000


def draw(rng, n, joint=JOINT):
    cells = rng.choice(joint.size, n, p=joint.reshape(-1))
    return np.stack(np.unravel_index(cells, joint.shape), axis=1).astype(np.int64)


def scored():
    return [np.array(values) for values in SCORES.values()]


def margin(*axes):
    return JOINT.sum(axis=tuple(i for i in range(3) if i not in axes))


def truth():
    f = scored()
    cov = {
        (i, j): cross_moment(margin(i), [f[i]], [2]) if i == j
        else cross_moment(margin(*sorted((i, j))), [f[k] for k in sorted((i, j))])
        for i, j in product(range(3), repeat=2)
    }  # fmt: skip
    cells = margin(0, 1)
    slopes = np.linalg.solve(
        [[cov[1, 1], cov[1, 2]], [cov[2, 1], cov[2, 2]]], [cov[0, 1], cov[0, 2]]
    )
    odds = math.log(cells[0, 0] * cells[1, 1] / (cells[0, 1] * cells[1, 0]))
    return {
        "covariance": cov[0, 2],
        "moment": cross_moment(JOINT, f),
        "variance": cov[0, 0],
        "correlation": cov[0, 2] / math.sqrt(cov[0, 0] * cov[2, 2]),
        "odds": odds,
        "slope b": slopes[0],
        "slope c": slopes[1],
    }


def estimate_all(source):
    slopes = source.regression("a", ["b", "c"])
    return {
        "covariance": source.covariance("a", "c"),
        "moment": source.moment(["a", "b", "c"]),
        "variance": source.variance("a"),
        "correlation": source.correlation("a", "c"),
        "odds": source.log_odds_ratio("a", "b"),
        "slope b": slopes[0],
        "slope c": slopes[1],
    }


@pytest.fixture(scope="module")
def collections():
    plan = independent(DOMAIN, {"a": 3.0, "b": 2.5, "c": 3.5})
    rng = np.random.default_rng(11)
    return [
        estimate_all(ReportedRelationships(plan.randomize_codes(draw(rng, SIZE), rng=rng)))
        for _ in range(RUNS)
    ]


@pytest.mark.parametrize("what", list(truth()))
def test_errors_and_limits_are_honest(collections, what):
    """Mean, standard error and coverage over 200 collections.

    With a free seed a mean or a ratio is outside 4 standard errors in 0.006 % of runs each, for the
    unbiased ones; coverage of 95 % limits, outside 89.5 % to 98.5 %, in about 0.3 % of runs.
    """
    found = [run[what] for run in collections]
    values = np.array([item.estimate for item in found])
    errors = np.array([item.standard_error for item in found])
    true, spread = truth()[what], values.std(ddof=1)
    # Ratios, logarithms and third moments have a bias of order 1/n: allow a tenth of the spread.
    bias = 0.0 if what in {"covariance", "variance"} else 0.1 * spread
    assert abs(values.mean() - true) < 4 * spread / math.sqrt(RUNS) + bias
    # The relative error of a standard deviation of nearly normal values is 1/√(2·runs).
    assert abs(np.sqrt((errors**2).mean()) / spread - 1) < 4 / math.sqrt(2 * RUNS)
    inside = np.mean([item.lower <= true <= item.upper for item in found])
    assert 0.895 <= inside <= 0.985


def test_correcting_pays_on_average_when_it_says_so(collections):
    """The chosen value against both, in mean squared error."""
    for what, true in truth().items():
        found = [run[what] for run in collections]
        error = {
            name: np.mean([(value(item) - true) ** 2 for item in found])
            for name, value in (
                ("corrected", lambda item: item.estimate),
                ("uncorrected", lambda item: item.uncorrected),
            )
        }
        better = min(error, key=error.__getitem__)
        share = np.mean([item.recommended == better for item in found])
        if max(error.values()) > 2 * min(error.values()):
            assert share > 0.8, (what, error)


def test_exact_population_rule():
    """Below the break-even size not correcting has the smaller exact error, above it correcting."""
    f = [np.array(SCORES["a"]), np.array(SCORES["b"])]
    joint = margin(0, 1)
    channels = [randomized_response(3, 0.8), randomized_response(2, 0.6)]
    kept = retention([3, 2], [0.8, 0.6])
    theta = cross_moment(joint, f)
    corrected = record_variance(joint, channels, f)
    whole = reduce(np.kron, [C.matrix for C in channels])
    reported = (joint.reshape(-1) @ whole).reshape(joint.shape)
    plain = record_variance(reported, [Channel.identity(3), Channel.identity(2)], f)
    # Under randomised response the corrected moment is the uncorrected one over the retention.
    assert_allclose(corrected, plain / kept**2, rtol=1e-10)
    n = break_even_size(plain, kept, theta)
    assert 1 < n < 1e6
    for size, wins in ((1.05 * n, True), (0.95 * n, False)):
        wrong = plain / size + (1 - kept) ** 2 * theta**2
        assert (corrected / size < wrong) is wins


def test_correction_divides_by_the_retention():
    plan = independent(DOMAIN, 1.5)
    reports = plan.randomize_codes(draw(np.random.default_rng(1), 2000), rng=2)
    source = ReportedRelationships(reports)
    for names in (("a", "b"), ("a", "c"), ("a", "b", "c")):
        item = source.moment(names)
        kept = retention(DOMAIN, 1.5, names)
        assert_allclose(item.uncorrected, item.estimate * kept, rtol=1e-9)
        assert_allclose(item.uncorrected_error, item.standard_error * kept, rtol=1e-9)


def test_no_randomisation_gives_the_sample_values():
    codes = draw(np.random.default_rng(5), 500)
    reports = independent(DOMAIN, math.inf).randomize_codes(codes, rng=1)
    found = estimate_all(ReportedRelationships(reports))
    values = np.stack([f[codes[:, i]] for i, f in enumerate(scored())])
    cov = np.cov(values)
    assert_allclose(found["covariance"].estimate, cov[0, 2], rtol=1e-11)
    assert_allclose(found["variance"].estimate, cov[0, 0], rtol=1e-11)
    assert_allclose(found["correlation"].estimate, np.corrcoef(values)[0, 2], rtol=1e-11)
    design = np.vstack([np.ones(500), values[1:]]).T
    beta = np.linalg.lstsq(design, values[0], rcond=None)[0]
    slopes = [found["slope b"].estimate, found["slope c"].estimate]
    assert_allclose(slopes, beta[1:], rtol=1e-9)
    centred = values - values.mean(axis=1, keepdims=True)
    assert_allclose(found["moment"].estimate, centred.prod(axis=0).mean(), rtol=1e-10, atol=1e-14)
    # Sandwich standard errors, without the correction for degrees of freedom.
    residual = values[0] - design @ beta
    bread = np.linalg.inv(design.T @ design)
    sandwich = bread @ (design.T * residual**2) @ design @ bread
    errors = [found["slope b"].standard_error, found["slope c"].standard_error]
    assert_allclose(errors, np.sqrt(np.diag(sandwich))[1:], rtol=3e-3)
    for item in found.values():
        assert item.better == "corrected"
        assert_allclose(item.uncorrected, item.estimate, rtol=1e-9)


def test_log_odds_ratio_against_its_classical_error():
    codes = draw(np.random.default_rng(6), 3000)
    reports = independent(DOMAIN, math.inf).randomize_codes(codes, rng=1)
    item = ReportedRelationships(reports).log_odds_ratio("a", "b", (0, 3), ("yes", "no"))
    counts = np.zeros((3, 2))
    np.add.at(counts, (codes[:, 0], codes[:, 1]), 1)
    cells = counts[np.ix_([0, 2], [1, 0])]
    assert_allclose(
        item.estimate, math.log(cells[0, 0] * cells[1, 1] / cells[0, 1] / cells[1, 0]), rtol=1e-11
    )
    assert_allclose(item.standard_error, math.sqrt((1 / cells).sum()), rtol=1e-3)


def test_unbiased_by_enumeration():
    """Covariance and variance over every possible collection of two records."""
    domain = Domain.of({"x": [0, 1], "y": [0, 2]})
    joint = np.array([[0.4, 0.1], [0.2, 0.3]])
    plan = independent(domain, {"x": 1.0, "y": 0.7})
    kept = reduce(np.kron, [randomized_response(2, e).matrix for e in (1.0, 0.7)])
    law = joint.reshape(-1) @ kept
    template = plan.randomize_codes(np.zeros((2, 2), dtype=np.int64), rng=0)
    mean = np.zeros(2)
    for first, second in product(range(4), repeat=2):
        cells = np.array(np.unravel_index([first, second], (2, 2)))
        reports = type(template)(plan, tuple(cells), None, True)
        source = ReportedRelationships(reports)
        values = [source.covariance("x", "y").estimate, source.variance("y").estimate]
        mean += law[first] * law[second] * np.array(values)
    wanted = [
        cross_moment(joint, [[0, 1], [0, 2]]),
        cross_moment(joint.sum(axis=0), [[0, 2]], [2]),
    ]
    assert_allclose(mean, wanted, rtol=1e-11)


@pytest.mark.parametrize("kind", ["sue", "oue", "subset"])
def test_reports_that_are_no_categories(kind):
    plan = independent(DOMAIN, 3.0, mechanism=kind)
    codes = draw(np.random.default_rng(7), 20_000)
    source = ReportedRelationships(plan.randomize_codes(codes, rng=8))
    item = source.correlation("a", "c")
    assert abs(item.estimate - truth()["correlation"]) < 4 * item.standard_error
    assert item.uncorrected is None
    assert item.better == "corrected"
    assert "no uncorrected" in item.note


@pytest.mark.parametrize("kind", ["grr", "oue", "olh", "subset"])
def test_where_scores_begin_does_not_matter(kind):
    """Years give what positions give: estimated indicators of bits need not add up to 1."""
    plan = independent(DOMAIN, 2.0, mechanism=kind)
    reports = plan.randomize_codes(draw(np.random.default_rng(12), 3000), rng=13)
    moved = {name: np.array(values) + 2048.0 for name, values in SCORES.items()}
    near = estimate_all(ReportedRelationships(reports, SCORES))
    far = estimate_all(ReportedRelationships(reports, moved))
    for what, item in near.items():
        assert_allclose(far[what].estimate, item.estimate, rtol=1e-9)
        assert_allclose(far[what].standard_error, item.standard_error, rtol=1e-9)
    # Over collections the variance of years is right, and as far off as it says.
    values, true = [], truth()["variance"]
    for seed in range(40):
        reports = plan.randomize_codes(draw(np.random.default_rng(seed), 1000), rng=500 + seed)
        item = ReportedRelationships(reports, moved).variance("a")
        values.append((item.estimate - true) / item.standard_error)
    # With a free seed the root mean square of 40 is outside 0.66 to 1.36 in about 0.1 % of runs.
    assert 0.66 < math.sqrt(np.mean(np.square(values))) < 1.36


def test_joint_units_and_views():
    rng = np.random.default_rng(9)
    joint = independent(DOMAIN, {"a": 4.0, "b": 4.0, "c": 4.0}, groups=[("a", "c")])
    views = sampled_views(DOMAIN, 4.0, k=2)
    for plan in (joint, views):
        source = ReportedRelationships(plan.randomize_codes(draw(rng, 30_000), rng=rng))
        item = source.covariance("a", "c")
        assert abs(item.estimate - truth()["covariance"]) < 4 * item.standard_error
    assert item.size < 15_000
    with pytest.raises(InvalidInputError, match="a view that holds a × b × c together"):
        source.moment(["a", "b", "c"])
    fake = fake_data(DOMAIN, 2.0).randomize_codes(draw(rng, 100), rng=rng)
    with pytest.raises(InvalidInputError, match="reports attributes together"):
        ReportedRelationships(fake)


def test_too_few_records():
    plan = independent(DOMAIN, 0.05)
    source = ReportedRelationships(plan.randomize_codes(draw(np.random.default_rng(3), 12), rng=3))
    found = [*estimate_all(source).values()]
    missing = [item for item in found if item.estimate is None]
    assert missing
    for item in missing:
        assert item.note
        assert item.standard_error is None
        assert item.better == item.recommended in {"uncorrected", ""}
    result = estimate_relationships(source.reports)
    assert "few" in result.verdict or "clearest" in result.verdict


def test_nothing_to_correct_at_zero():
    reports = independent(DOMAIN, 0.0).randomize_codes(draw(np.random.default_rng(3), 100), rng=3)
    with pytest.raises(InvalidInputError):
        ReportedRelationships(reports).covariance("a", "b")


def test_scores_by_default():
    infinite = Attribute("x", ("low", "mid", "high"), edges=(-math.inf, 1.0, 3.0, math.inf))
    assert default_scores(infinite)[0].tolist() == [1, 2, 3]
    numbers = Attribute("x", (1, 5, "(missing)"), missing="(missing)")
    values, sentence = default_scores(numbers)
    assert values.tolist() == [1, 5, 3]
    assert "mean of the other scores" in sentence
    assert default_scores(Attribute("x", ("b", "a")))[0].tolist() == [0, 1]
    assert default_scores(Attribute("x", (False, True)))[0].tolist() == [0, 1]


def test_influence_of_a_ratio():
    """Correlation, log odds ratio and slopes: influences against a finite difference."""
    rng = np.random.default_rng(0)
    terms = [_influence.Term(v, rng.normal(size=4)) for v in (0.3, 1.2, 2.0, 0.7)]
    step = 1e-6
    moved = [_influence.Term(t.value + step * t.influence[0], t.influence) for t in terms]
    for function in (
        lambda t: _influence.correlation(t[0], t[1], t[2]),
        _influence.log_odds_ratio,
        lambda t: _influence.slopes([[t[1], t[0]], [t[0], t[2]]], [t[3], t[0]])[1],
    ):
        change = (function(moved).value - function(terms).value) / step
        assert_allclose(function(terms).influence[0], change, rtol=1e-4)


def test_pipeline():
    plan = independent(DOMAIN, 3.0)
    reports = plan.randomize_codes(draw(np.random.default_rng(2), 5000), rng=1)
    result = estimate_relationships(
        reports, relationships=[("a", "b"), ("a", "b", "c")], kinds=("covariance", "odds"),
        regression={"c": ["a", "b"]}, scores=SCORES,
    )  # fmt: skip
    kinds = [item.kind for item in result.estimates]
    assert kinds == ["covariance", "log odds ratio", "moment", "slope", "slope"]
    assert result.simulated
    assert result.standing is Standing.ESTIMATE
    assert "simulated" in result.verdict
    assert result.to_frame().height == 5
    assert result.columns()["relationship"][-1] == "c on b"
    assert result.to_dict()["estimates"][0]["names"] == ["a", "b"]
    assert not any("scored" in sentence for sentence in result.assumptions)
    table = retention_table(plan)
    assert table.retentions["plan"]["a", "c"] == retention(DOMAIN, 3.0, ["a", "c"])
    assert plan_budgets(plan) == pytest.approx({"a": 3.0, "b": 3.0, "c": 3.0})


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r: ReportedRelationships(None), InvalidInputError),
        (lambda r: ReportedRelationships(r, {"z": [1]}), DomainError),
        (lambda r: ReportedRelationships(r, {"a": [1, 2]}), InvalidInputError),
        (lambda r: ReportedRelationships(r, {"a": [1, 2, math.nan]}), InvalidInputError),
        (lambda r: ReportedRelationships(r, {"a": "abc"}), InvalidInputError),
        (lambda r: ReportedRelationships(r, [1]), InvalidInputError),
        (lambda r: ReportedRelationships(r, confidence=1.0), InvalidInputError),
        (lambda r: ReportedRelationships(r, confidence="x"), InvalidInputError),
        (lambda r: ReportedRelationships(r).moment(["a"]), InvalidInputError),
        (lambda r: ReportedRelationships(r).moment(["a", "a"]), InvalidInputError),
        (lambda r: ReportedRelationships(r).moment("ab"), InvalidInputError),
        (lambda r: ReportedRelationships(r).moment(None), InvalidInputError),
        (lambda r: ReportedRelationships(r).covariance("a", "z"), DomainError),
        (lambda r: ReportedRelationships(r).variance("z"), DomainError),
        (lambda r: ReportedRelationships(r).regression("a", []), InvalidInputError),
        (lambda r: ReportedRelationships(r).regression("a", ["a"]), InvalidInputError),
        (lambda r: ReportedRelationships(r).log_odds_ratio("a", "b", (0, 0)), InvalidInputError),
        (lambda r: ReportedRelationships(r).log_odds_ratio("a", "b", (0,)), InvalidInputError),
        (lambda r: ReportedRelationships(r).log_odds_ratio("a", "b", (0, 9)), DomainError),
        (lambda r: ReportedRelationships(r).log_odds_ratio("a", "b", 3), InvalidInputError),
        (lambda r: estimate_relationships(r, kinds=("cor",)), InvalidInputError),
        (lambda r: estimate_relationships(r, relationships=[]), InvalidInputError),
        (lambda r: estimate_relationships(r, relationships=["a"]), InvalidInputError),
        (lambda r: retention_table(DOMAIN), InvalidInputError),
        (lambda r: retention_table(DOMAIN, {}), InvalidInputError),
        (lambda r: retention_table(DOMAIN, {"x": 1.0, 3: 1.0}), InvalidInputError),
        (lambda r: retention_table(DOMAIN, {"x": {"a": 1.0}}), InvalidInputError),
        (lambda r: retention_table(DOMAIN, "one"), InvalidInputError),
        (lambda r: retention_table(r.plan, 1.0), InvalidInputError),
        (lambda r: plan_budgets(sampled_views(DOMAIN, 1.0)), InvalidInputError),
        (lambda r: plan_budgets(independent(DOMAIN, 1.0, mechanism="oue")), InvalidInputError),
        (lambda r: plan_budgets(independent(DOMAIN, 1.0, groups=[("a", "b")])), InvalidInputError),
    ],
)
def test_hostile_input(call, error):
    reports = independent(DOMAIN, 1.0).randomize_codes(draw(np.random.default_rng(0), 50), rng=0)
    with pytest.raises(error, match="expected") as caught:
        call(reports)
    assert isinstance(caught.value, SeepageError)


def test_corrected_values_that_cannot_be():
    """Weak reports of few records: no impossible value is recommended or called possible."""
    rng = np.random.default_rng(21)
    seen = 0
    for seed in range(30):
        plan = independent(DOMAIN, 0.7)
        source = ReportedRelationships(plan.randomize_codes(draw(rng, 300), rng=seed))
        for item in (source.correlation("a", "c"), source.covariance("a", "c")):
            if item.estimate is None or item.is_possible:
                continue
            seen += 1
            assert "too few" in item.note
            excess = max(item.estimate - item.possible[1], item.possible[0] - item.estimate)
            if excess > 1 + item.possible[1]:
                assert item.better == item.recommended == "uncorrected"
                assert item.chosen == item.uncorrected
    assert seen > 5
    pair = source.correlation("a", "c")
    assert pair.possible == (-1, 1)
    assert source.covariance("a", "c").possible == (-2.25, 2.25)
    assert source.variance("a").possible == (0, 2.25)
    assert source.moment(["a", "b", "c"]).possible == (-2.25, 2.25)
    assert source.log_odds_ratio("a", "b").categories == ((0, 1), ("no", "yes"))


def test_ranges_are_attained():
    """Two copies of a fair coin on the extremes: covariance and correlation at their limits."""
    codes = np.tile([[0, 0, 0], [2, 1, 3]], (500, 1)).astype(np.int64)
    source = ReportedRelationships(independent(DOMAIN, math.inf).randomize_codes(codes, rng=0))
    for item in (source.correlation("a", "c"), source.moment(["a", "b"])):
        assert item.estimate == pytest.approx(item.possible[1], rel=2e-3)
    assert source.correlation("a", "c").is_possible
