"""Unbiased tables, their standard errors, intervals and covariances."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from seepage.channel import Channel
from seepage.collect.collection import CollectedReports, CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.collect.marginals import Marginal
from seepage.collect.pram import Table
from seepage.collect.registry import mechanism
from seepage.collect.response import RandomizedResponse
from seepage.collect.routes import SumKey, contract, routes, sum_key, unit_moments
from seepage.domain import Domain
from seepage.errors import InvalidInputError

SIMULATIONS = 2000


def domain(*sizes: int) -> Domain:
    return Domain.of({"abcde"[i]: [f"v{j}" for j in range(k)] for i, k in enumerate(sizes)})


def skewed(k: int, seed: int = 0) -> Table:
    """A channel with more reports than categories, and no symmetry."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(k + 1), k) + 2 * np.eye(k, k + 1)
    return Table(Channel.from_matrix(rows / rows.sum(axis=1, keepdims=True)))


def reported(plan: CollectionPlan, key: SumKey, truth: np.ndarray) -> np.ndarray:
    """Probability of each combination of reports of some units."""
    units = [one.unit for one in key]
    names = [name for unit in units for name in plan.units[unit].names]
    axes = [plan.domain.position(name) for name in names]
    joint = truth.sum(axis=tuple(axis for axis in range(truth.ndim) if axis not in axes))
    joint = joint.transpose(np.argsort(np.argsort(axes)))
    joint = joint.reshape([plan.units[unit].mechanism.k for unit in units])
    chances = contract(joint, [unit_moments(plan, unit) for unit in units])
    return chances / chances.sum()


def drawn(empty: Estimates, truth: np.ndarray, n: int, rng: np.random.Generator) -> Estimates:
    """Estimates from n simulated records with the given frequencies, without the records."""
    plan = empty.plan
    views = plan.design == "views"
    records = rng.multinomial(n, np.full(len(plan.units), 1 / len(plan.units))).tolist()
    records = records if views else [n] * len(plan.units)
    tables = {}
    for key in empty.sums.tables:
        chances = reported(plan, key, truth)
        counts = rng.multinomial(records[key[0].unit], chances.ravel())
        tables[key] = counts.reshape(chances.shape)
    sums = replace(empty.sums, tables=tables, records=tuple(records), size=n, simulated=n)
    return replace(empty, sums=sums)


def simulated(
    empty: Estimates, names: tuple[str, ...], truth: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and their variances in many simulated collections of 400 records.

    For a single route estimates and mean squares are linear in the counts, so they are had from
    those of collections in which all reports are the same; some are compared with the long way.
    """
    n = 400
    if empty.plan.design == "views":
        found = [drawn(empty, truth, n, rng).marginal(*names) for _ in range(SIMULATIONS)]
        return np.array([x.values for x in found]), np.array([x.standard_errors**2 for x in found])
    (route,) = routes(empty.plan, names)
    key = sum_key(empty.plan, route)
    counts = rng.multinomial(n, reported(empty.plan, key, truth).ravel(), size=SIMULATIONS)
    shape = empty.sums.tables[key].shape

    def table(counted: np.ndarray) -> Marginal:
        sums = replace(
            empty.sums,
            tables={**empty.sums.tables, key: counted.reshape(shape)},
            records=(n,) * len(empty.plan.units),
            size=n,
        )
        return replace(empty, sums=sums).marginal(*names)

    one_report = [table(n * row).values for row in np.eye(math.prod(shape), dtype=int)]
    scores = np.array(one_report).reshape(math.prod(shape), -1)
    shares = counts / n
    values = shares @ scores
    variances = (shares @ scores**2 - values**2) / (n - 1)
    for i in range(20):
        direct = table(counts[i])
        assert direct.values.ravel() == pytest.approx(values[i], abs=1e-11)
        assert direct.standard_errors.ravel() ** 2 == pytest.approx(variances[i], abs=1e-11)
    like = (SIMULATIONS, *one_report[0].shape)
    return values.reshape(like), variances.reshape(like)


def certain(shape: tuple[int, ...]) -> np.ndarray:
    truth = np.zeros(shape)
    truth[(1,) * len(shape)] = 1
    return truth


def spread(shape: tuple[int, ...], seed: int) -> np.ndarray:
    truth = np.random.default_rng(seed).dirichlet(np.full(math.prod(shape), 0.7))
    truth[0] = 0  # a cell that never occurs
    return (truth / truth.sum()).reshape(shape)


def sampled(kind: str, k: int) -> CollectionPlan:
    return CollectionPlan(domain(k), "independent", (Unit(("a",), mechanism(kind, k, 1.0)),))


JOINT = CollectionPlan(
    domain(2, 3, 3),
    "independent",
    (Unit(("c", "a"), RandomizedResponse(6, 1.5)), Unit(("b",), skewed(3))),
)
CASES = [
    (independent(domain(4), 0.5), ("a",), certain((4,))),
    (independent(domain(4), math.inf), ("a",), certain((4,))),
    (independent(domain(4), 0.5), ("a",), spread((4,), 1)),
    (independent(domain(3, 4), {"a": 2.0, "b": 1.0}), ("a", "b"), certain((3, 4))),
    (independent(domain(3, 4), {"a": 2.0, "b": 1.0}), ("a", "b"), spread((3, 4), 2)),
    (independent(domain(2, 3, 2), 2.0), ("a", "b", "c"), spread((2, 3, 2), 3)),
    (JOINT, ("a", "b"), certain((2, 3, 3))),
    (JOINT, ("a", "b"), spread((2, 3, 3), 4)),
    (sampled_views(domain(2, 3, 2), 1.0, 2), ("b",), spread((2, 3, 2), 5)),
    (sampled_views(domain(2, 3, 2), 2.0, 2), ("b",), certain((2, 3, 2))),
    (fake_data(domain(2, 3, 2), 1.0), ("b",), certain((2, 3, 2))),
    (fake_data(domain(2, 3, 2), 1.0), ("b",), spread((2, 3, 2), 6)),
]


@pytest.mark.parametrize(("plan", "names", "truth"), CASES)
def test_unbiased_with_honest_errors(
    plan: CollectionPlan, names: tuple[str, ...], truth: np.ndarray
) -> None:
    """Each cell's mean within 4 standard errors of the truth: false alarms 6e-5 for each cell.

    The mean of the variances is compared with that of the estimates; over 2,000 collections their
    ratio has a standard deviation of about 1/√1000 = 3.2 %, so 13 % is 4 of them.
    """
    empty = Estimates.of(plan, [names])
    rng = np.random.default_rng(11)
    values, variances = simulated(empty, names, truth, rng)
    axes = [plan.domain.position(name) for name in names]
    target = truth.sum(axis=tuple(i for i in range(truth.ndim) if i not in axes))
    error = values.std(axis=0, ddof=1) / math.sqrt(SIMULATIONS)
    assert (np.abs(values.mean(axis=0) - target) <= 4 * error + 1e-12).all()
    variances = variances.mean(axis=0)
    spread_of_values = values.var(axis=0, ddof=1)
    sure = spread_of_values < 1e-20
    assert (variances[sure] < 1e-20).all()
    ratio = variances[~sure] / spread_of_values[~sure]
    assert ((ratio > 0.87) & (ratio < 1.13)).all()


KINDS = ["grr", "oue", "sue", "olh", "blh", "subset", "staircase", "exponential"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_mechanism(kind: str) -> None:
    """500 collections of 60 records that all have category 1 of 4; as above, ratio within 26 %."""
    collections = 500
    plan = sampled(kind, 4)
    empty = Estimates.of(plan, 1)
    unit = plan.units[0].mechanism
    reports = unit.sample(np.ones(60 * collections, dtype=np.int64), rng=5)
    key = sum_key(plan, routes(plan, ("a",))[0])
    sums = unit.featurize(reports).reshape(collections, 60, -1).sum(axis=1)
    found = []
    for table in sums:
        filled = replace(empty.sums, tables={key: table}, records=(60,), size=60)
        found.append(replace(empty, sums=filled).marginal("a"))
    values = np.array([one.values for one in found])
    variances = np.array([one.standard_errors**2 for one in found]).mean(axis=0)
    error = values.std(axis=0, ddof=1) / math.sqrt(collections)
    assert (np.abs(values.mean(axis=0) - [0, 1, 0, 0]) <= 4 * error).all()
    assert variances == pytest.approx(values.var(axis=0, ddof=1), rel=0.26)


@pytest.mark.parametrize("kinds", [("oue", "grr"), ("olh", "subset"), ("blh", "sue")])
def test_pairs_of_other_mechanisms(kinds: tuple[str, str]) -> None:
    """Estimate, error and covariance are those of the mean of explicit scores."""
    plan = independent(domain(3, 2), 1.0, dict(zip("ab", kinds, strict=True)))
    reports = plan.randomize_codes(np.array([[0, 0], [2, 1], [1, 1]] * 30), rng=3)
    scores = explicit_scores(reports)
    for covariance in (False, True):
        table = Estimates.of(plan, covariance=covariance).add(reports).marginal("a", "b")
        assert table.values.ravel() == pytest.approx(scores.mean(axis=0), rel=1e-10)
        errors = scores.std(axis=0, ddof=1) / math.sqrt(len(scores))
        assert table.standard_errors.ravel() == pytest.approx(errors, rel=1e-10)
    assert table.covariance() == pytest.approx(np.cov(scores.T) / len(scores), rel=1e-9)


def explicit_scores(reports: CollectedReports) -> np.ndarray:
    """Product of the units' unbiased indicators for each record, shape (n, K)."""
    result = np.ones((reports.size, 1))
    for unit, values in zip(reports.plan.units, reports.values, strict=True):
        score = unit.mechanism.featurize(values) @ unit.mechanism.unbias
        result = np.einsum("na,nb->nab", result, score).reshape(reports.size, -1)
    return result


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.floats(0.05, 30),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_equals_the_kronecker_inverse(sizes: list[int], epsilon: float, seed: int) -> None:
    plan = independent(domain(*sizes), epsilon)
    rng = np.random.default_rng(seed)
    reports = plan.randomize_codes(rng.integers(0, sizes, (50, len(sizes))), rng=rng)
    made = Estimates.of(plan, [plan.domain.names]).add(reports)
    table = made.marginal(*plan.domain.names)
    whole = np.ones((1, 1))
    for unit in plan.units:
        whole = np.kron(whole, unit.mechanism.channel.matrix)
    counts = np.zeros(sizes)
    np.add.at(counts, reports.values, 1)
    expected = np.linalg.solve(whole.T, counts.ravel() / 50)
    scale = np.abs(np.linalg.inv(whole)).max()
    assert table.values.ravel() == pytest.approx(expected, abs=1e-12 * max(1.0, scale))
    assert table.values.sum() == pytest.approx(1, abs=1e-12 * max(1.0, scale))
    covariance = table.covariance()
    scores = np.linalg.inv(whole)
    reference = np.cov(scores.T, fweights=counts.ravel().astype(int), ddof=1).reshape(
        covariance.shape
    )
    bound = 1e-10 * max(1.0, scale**2)
    assert covariance == pytest.approx(reference / 50, abs=bound)
    assert np.diag(covariance) == pytest.approx(table.standard_errors.ravel() ** 2, abs=bound)


def test_standard_errors_are_exact_by_enumeration() -> None:
    """Expected variance estimate over all 4^3 · 3 report sequences, in fractions."""
    keep, n = Fraction(2, 3), 3
    plan = independent(domain(2), math.log(2))
    truth = [Fraction(1, 4), Fraction(3, 4)]
    reported = [keep * truth[0] + (1 - keep) * truth[1], keep * truth[1] + (1 - keep) * truth[0]]
    empty = Estimates.of(plan, 1)
    key = next(iter(empty.sums.tables))
    mean, variance, square = 0.0, 0.0, 0.0
    for sequence in itertools.product(range(2), repeat=n):
        weight = float(math.prod(reported[y] for y in sequence))
        table = np.bincount(sequence, minlength=2)
        sums = replace(empty.sums, tables={key: table}, records=(n,), size=n)
        found = replace(empty, sums=sums).marginal("a")
        mean += weight * found.values[0]
        square += weight * found.values[0] ** 2
        variance += weight * found.standard_errors[0] ** 2
    assert mean == pytest.approx(0.25, abs=1e-15)
    # Var = q(1 − q)/(n (p − q')²) with p − q' = 1/3
    exact = float(reported[0] * reported[1]) / n * 9
    assert square - mean**2 == pytest.approx(exact, rel=1e-13)
    assert variance == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, math.inf])
def test_coverage_of_one_cell_exactly(epsilon: float) -> None:
    """Summed over the binomial distribution of the reports of a cell; no simulation."""
    n, k = 600, 5
    plan = independent(domain(k), epsilon)
    empty = Estimates.of(plan, 1)
    key = next(iter(empty.sums.tables))
    counts = np.arange(n + 1)
    limits = {"score": np.empty((2, n + 1)), "wald": np.empty((2, n + 1))}
    for count in range(n // 2 + 1):
        table = np.array([count, n - count, 0, 0, 0])
        sums = replace(empty.sums, tables={key: table}, records=(n,), size=n)
        found = replace(empty, sums=sums).marginal("a")
        for method, kept in limits.items():
            both = np.array(found.interval(0.95, method=method))
            kept[:, count], kept[:, n - count] = both[:, 0], both[:, 1]
    matrix = plan.units[0].mechanism.channel.matrix
    worst = {}
    for method, (low, high) in limits.items():
        coverage = []
        for share in (0.0835, 0.0851, 0.09, 0.1, 0.1111, 0.15, 0.2, 0.33, 0.5, 0.7, 0.9):
            chance = matrix[1, 0] + (matrix[0, 0] - matrix[1, 0]) * share
            inside = (low <= share) & (share <= high)
            coverage.append(binom.pmf(counts, n, chance)[inside].sum())
        worst[method] = coverage
    assert min(worst["score"]) >= 0.94
    assert max(worst["score"]) <= 0.965
    assert min(worst["score"]) >= min(worst["wald"])
    # At 0 and 1 the limits hold too, and errors are those of the noise alone.
    low, high = limits["score"]
    for share in (0.0, 1.0):
        chance = matrix[1, 0] + (matrix[0, 0] - matrix[1, 0]) * share
        inside = (low <= share + 1e-12) & (share - 1e-12 <= high)
        assert binom.pmf(counts, n, chance)[inside].sum() >= 0.93


@pytest.mark.parametrize("epsilon", [1.0, 3.0, math.inf])
def test_coverage_of_pairs(epsilon: float) -> None:
    """1,500 simulations: a coverage of 95 % is estimated with a standard error of 0.56 %.

    Each cell may be 4 of them outside; the mean over the cells must be inside the range itself.
    """
    plan = independent(domain(4, 3), epsilon)
    truth = spread((4, 3), 8)
    empty = Estimates.of(plan)
    rng = np.random.default_rng(2)
    inside = np.zeros((4, 3))
    for _ in range(1500):
        low, high = drawn(empty, truth, 3000, rng).marginal("a", "b").interval()
        inside += (low <= truth) & (truth <= high)
    large = inside[3000 * truth > 50] / 1500
    assert 0.94 <= large.mean() <= 0.965
    assert large.min() >= 0.94 - 0.0225
    assert large.max() <= 0.965 + 0.0225


def test_without_noise_the_interval_is_wilsons() -> None:
    plan = independent(domain(3), math.inf)
    reports = plan.randomize_codes(np.repeat([0, 1, 2], [7, 3, 0])[:, np.newaxis], rng=0)
    low, high = Estimates.of(plan, 1).add(reports).marginal("a").interval(0.9)
    z2, n = 1.6448536269514722**2, 10
    share = np.array([0.7, 0.3, 0])
    # Wilson (1927) with the variance of the mean, n − 1 in place of n
    for limit, sign in ((low, -1), (high, 1)):
        middle = (share + z2 / 2 / n) / (1 + z2 / n)
        variance = share * (1 - share) / (n - 1)
        tilt = z2 / n * (1 - 2 * share) / 2
        root = np.sqrt(tilt**2 + (1 + z2 / n) * z2 * variance)
        assert limit == pytest.approx(share + (tilt + sign * root) / (1 + z2 / n), rel=1e-12)
        assert (np.abs(limit - middle) < 0.5).all()
    assert low[2] == 0
    assert high[2] == pytest.approx(z2 / n / (1 + z2 / n), rel=1e-12)


PLANS = [
    independent(domain(3, 2, 2), 1.0),
    independent(domain(3, 2, 2), 1.0, {"a": "oue", "b": "olh"}),
    sampled_views(domain(3, 2, 2), 1.0, 2),
    JOINT,
]


@given(st.integers(0, 3), st.lists(st.integers(1, 40), min_size=2, max_size=4), st.integers(0, 99))
@settings(max_examples=40)
def test_merging_equals_estimating_together(which: int, sizes: list[int], seed: int) -> None:
    plan = PLANS[which]
    rng = np.random.default_rng(seed)
    batches = [
        plan.randomize_codes(rng.integers(0, plan.domain.shape, (n, 3)), rng=rng) for n in sizes
    ]
    empty = Estimates.of(plan, 2, covariance=True)
    parts = [empty.add(batch) for batch in batches]
    view = None
    if plan.design == "views":
        view = np.concatenate([batch.view for batch in batches])
    values = tuple(
        np.concatenate([batch.values[u] for batch in batches]) for u in range(len(plan.units))
    )
    together = empty.add(CollectedReports(plan, values, view, simulated=True))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    backwards = parts[-1]
    for part in parts[-2::-1]:
        backwards = backwards + part
    assert total == together == backwards == total + empty
    assert total.size == sum(sizes)
    for names in total.sets:
        if sum(n for _, n in together.marginal(*names).views):
            assert (total.marginal(*names).values == together.marginal(*names).values).all()


def test_views_are_combined() -> None:
    plan = sampled_views(domain(2, 3, 4), 1.0, 2)
    truth = spread((2, 3, 4), 3)
    one = drawn(Estimates.of(plan, [("a",), ("a", "b")]), truth, 5000, np.random.default_rng(0))
    table = one.marginal("a")
    names, records = zip(*table.views, strict=True)
    assert names == (("a", "b"), ("a", "c"))
    assert table.records == sum(records) < 5000
    assert one.marginal("a", "b").views == (table.views[0],)
    # The combination is better than the best view alone.
    alone = one.marginal("a", "b").covariance()
    pick = np.kron(np.eye(2), np.ones(3))
    variance = np.diag(pick @ alone @ pick.T)
    assert (table.standard_errors**2 < variance).all()
    assert table.covariance() == pytest.approx(table.covariance().T)
    assert np.diag(table.covariance()) == pytest.approx(table.standard_errors**2)


def test_joint_units_are_marginalised_within() -> None:
    truth = spread((2, 3, 3), 1)
    one = drawn(Estimates.of(JOINT, [("a",), ("c",), ("a", "c"), ("a", "b")]), truth, 900,
                np.random.default_rng(0))  # fmt: skip
    whole = one.marginal("a", "c")
    assert one.marginal("a").values == pytest.approx(whole.values.sum(axis=1), abs=1e-12)
    assert one.marginal("c").values == pytest.approx(whole.values.sum(axis=0), abs=1e-12)
    pick = np.kron(np.eye(2), np.ones(3))
    expected = np.diag(pick @ whole.covariance() @ pick.T)
    assert one.marginal("a").standard_errors ** 2 == pytest.approx(expected, rel=1e-9)


def test_joint_units_whose_reports_are_text() -> None:
    """Squares of sums of scores are no linear function of the features, and are summed too."""
    plan = independent(domain(2, 3, 2), 1.0, "oue", groups=[("a", "b")])
    rng = np.random.default_rng(4)
    reports = plan.randomize_codes(rng.integers(0, (2, 3, 2), (200, 3)), rng=rng)
    made = Estimates.of(plan, [("a",), ("a", "c"), ("a", "b", "c")]).add(reports)
    first, second = (
        unit.mechanism.featurize(values) @ unit.mechanism.unbias
        for unit, values in zip(plan.units, reports.values, strict=True)
    )
    scores = first.reshape(200, 2, 3).sum(axis=2)
    assert made.marginal("a").values == pytest.approx(scores.mean(axis=0), rel=1e-10)
    errors = scores.std(axis=0, ddof=1) / math.sqrt(200)
    assert made.marginal("a").standard_errors == pytest.approx(errors, rel=1e-9)
    pairs = np.einsum("na,nc->nac", scores, second)
    table = made.marginal("a", "c")
    assert table.values == pytest.approx(pairs.mean(axis=0), rel=1e-10)
    assert table.standard_errors == pytest.approx(pairs.std(axis=0, ddof=1) / math.sqrt(200))
    low, high = table.interval()
    wald = table.interval(method="wald")
    assert low == pytest.approx(wald[0], rel=1e-12)
    assert high == pytest.approx(wald[1], rel=1e-12)


def test_noise_errors() -> None:
    """For fixed records the variance is that of the randomisation alone."""
    plan = independent(domain(3, 2), 1.0)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, (3, 2), (300, 2))
    codes[:200] = 0
    empty = Estimates.of(plan)
    found = [empty.add(plan.randomize_codes(codes, rng=rng)).marginal("a", "b") for _ in range(300)]
    spread_of_values = np.array([one.values for one in found]).var(axis=0, ddof=1)
    stated = np.array([one.noise_errors**2 for one in found]).mean(axis=0)
    assert stated == pytest.approx(spread_of_values, rel=0.33)  # 4 of √(2/300)
    for one in found[:5]:
        assert (one.noise_errors <= one.standard_errors).all()


def test_order_of_attributes() -> None:
    one = drawn(Estimates.of(PLANS[0]), spread((3, 2, 2), 0), 500, np.random.default_rng(1))
    ab, ba = one.marginal("a", "b"), one.marginal("b", "a")
    assert ba.names == ("b", "a")
    assert (ba.values == ab.values.T).all()
    assert (ba.standard_errors == ab.standard_errors.T).all()
    index = np.arange(6).reshape(3, 2).T.ravel()
    assert ba.covariance() == pytest.approx(ab.covariance()[np.ix_(index, index)])
    assert ba.interval()[0] == pytest.approx(ab.interval()[0].T)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 700.0, math.inf])
def test_limits_of_epsilon(epsilon: float) -> None:
    plan = independent(domain(3, 1), epsilon)
    reports = plan.randomize_codes(np.array([[0, 0], [1, 0], [1, 0], [1, 0]]), rng=1)
    table = Estimates.of(plan).add(reports).marginal("a", "b")
    for array in (table.values, table.standard_errors, table.noise_errors, *table.interval()):
        assert np.isfinite(array).all()
    if epsilon >= 700:
        assert table.values[:, 0] == pytest.approx([0.25, 0.75, 0])
        assert table.noise_errors == pytest.approx(np.zeros((3, 1)), abs=1e-9)
    assert Estimates.of(plan).add(reports).marginal("b").values == pytest.approx([1.0])


def test_one_record_has_unknown_errors() -> None:
    plan = independent(domain(3, 2), 1.0)
    one = Estimates.of(plan).add(plan.randomize_codes(np.array([[0, 1]]), rng=1))
    table = one.marginal("a", "b")
    assert np.isinf(table.standard_errors).all()
    low, high = table.interval()
    assert (low == -np.inf).all()
    assert (high == np.inf).all()
    assert "unknown" in table.verdict
    assert "inf" in one.verdict
    assert not any(np.isnan(x) for x in one.columns()["lower"])


def test_more_reports_than_sums_hold_are_refused():
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    plan = independent(domain, 1.0)
    sums = Estimates.of(plan, 2).add(plan.randomize_codes(np.array([[0, 1]]), rng=1)).sums
    for _ in range(52):
        sums = sums + sums
    assert sums.size == 2**52
    assert all(int(table.sum()) == 2**52 for table in sums.tables.values())
    with pytest.raises(InvalidInputError, match=r"fewer than 2\^53 reports, got 9,007,199,254"):
        sums + sums
