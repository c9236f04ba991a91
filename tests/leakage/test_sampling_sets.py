"""Named uncertainty sets against their definitions."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from seepage import DomainError, InvalidInputError, TradeOff
from seepage.counts import Counts, PairCounts
from seepage.domain import Attribute, Domain
from seepage.leakage import Triad
from seepage.leakage.robust import robust_leakage
from seepage.leakage.sampling import sampled_leakage, sampled_upper_limit
from seepage.leakage.sets import conditionals, relative_set, sampling_set, source_set

RNG = np.random.default_rng(8)
SOURCES = [RNG.dirichlet(np.full(4, 3.0), 3) for _ in range(5)]
MEASURES = ("range", "hull", "std", "variance", "mad")


def test_relative_margin():
    P = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    got = relative_set(P, 0.1)
    assert got.limits[0] == pytest.approx(0.9 * P, abs=1e-12)
    assert got.limits[1] == pytest.approx(1.1 * P, abs=1e-12)
    assert got.confidence is None
    assert robust_leakage(P, got.limits, 1.0) == robust_leakage(P, 0.1 * P, 1.0)


@pytest.mark.parametrize("measure", MEASURES)
def test_spread_against_plain_python(measure):
    got = source_set(SOURCES, measure)
    for i in range(3):
        for j in range(4):
            values = [float(table[i, j]) for table in SOURCES]
            mean = statistics.fmean(values)
            if measure == "hull":
                low, high = min(values), max(values)
            else:
                delta = {
                    "range": max(values) - min(values),
                    "std": statistics.stdev(values),
                    "variance": statistics.variance(values),
                    "mad": statistics.fmean(abs(v - mean) for v in values),
                }[measure]
                low, high = max(mean - delta, 0.0), min(mean + delta, 1.0)
            # Tightening can only shrink the limits.
            assert got.lower[i, j] >= low - 1e-12
            assert got.upper[i, j] <= high + 1e-12
            assert got.conditional[i, j] == pytest.approx(mean, abs=1e-12)
    assert "not a confidence statement" in got.assumptions[0]
    assert got.confidence is None


@pytest.mark.parametrize("measure", ["range", "hull"])
def test_range_and_hull_contain_every_source(measure):
    got = source_set(SOURCES, measure)
    assert all(got.contains(table) for table in SOURCES)
    limit = robust_leakage(got.conditional, got.limits, 1.0)
    assert limit <= Triad.from_conditional(got.conditional, got.limits).leakage(1.0) + 1e-12
    for table in SOURCES:
        assert limit >= TradeOff.envelope(table).leakage(1.0) - 1e-12


@pytest.mark.parametrize("measure", ["std", "variance", "mad"])
def test_other_measures_do_not_contain_every_source(measure):
    assert not all(source_set(SOURCES, measure).contains(table) for table in SOURCES)


def test_hull_is_within_the_range():
    inner, outer = source_set(SOURCES, "hull"), source_set(SOURCES, "range")
    assert (inner.lower >= outer.lower - 1e-12).all()
    assert (inner.upper <= outer.upper + 1e-12).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_equal_sources_leave_no_uncertainty(measure):
    P = np.array([[0.1, 0.7, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    got = source_set([P] * 3, measure)
    assert got.contains(P)
    assert got.upper == pytest.approx(got.lower, abs=1e-12)
    assert robust_leakage(got.conditional, got.limits, 1.0) == pytest.approx(
        TradeOff.envelope(P).leakage(1.0), abs=1e-12
    )


def domain():
    return Domain([Attribute("s", ("a", "b", "c")), Attribute("r", ("u", "v"))])


def test_sources_from_tables():
    one = PairCounts.from_codes(domain(), np.array([[0, 0], [0, 1], [1, 1], [2, 0]]))
    two = Counts(domain(), np.array([[1, 3], [2, 2], [0, 0]]))
    tables, rows = conditionals([one, two], "s", "r")
    assert rows == (0, 1)
    assert tables[0].tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert tables[1].tolist() == [[0.25, 0.75], [0.5, 0.5]]
    turned, kept = conditionals([one, two], "r", "s")
    assert kept == (0, 1)
    assert turned[1][0] == pytest.approx([1 / 3, 2 / 3, 0])
    assert source_set(tables, "range").contains(tables[1])


def test_sources_over_different_categories_are_refused():
    other = Domain([Attribute("s", ("a", "b", "x")), Attribute("r", ("u", "v"))])
    with pytest.raises(DomainError, match="'s'"):
        conditionals(
            [Counts(domain(), np.ones((3, 2), int)), Counts(other, np.ones((3, 2), int))], "s", "r"
        )


def test_sources_without_a_common_row_are_refused():
    tables = [
        Counts(domain(), np.array([[1, 0], [0, 0], [0, 0]])),
        Counts(domain(), np.array([[0, 0], [1, 0], [0, 0]])),
    ]
    with pytest.raises(InvalidInputError, match="every source"):
        conditionals(tables, "s", "r")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: source_set(SOURCES, "sd"), "Known: |Did you mean"),
        (lambda: source_set(SOURCES[:1]), "two or more"),
        (lambda: source_set([SOURCES[0], SOURCES[1][:2]]), "source 1"),
        (lambda: source_set([SOURCES[0], 2 * SOURCES[1]]), "source 1"),
        (lambda: relative_set(SOURCES[0], -0.1), "margin"),
        (lambda: relative_set(SOURCES[0], math.nan), "margin"),
        (lambda: relative_set([[0.5, 0.6]], 0.1), "sum to 1"),
        (lambda: sampling_set([[0, 0]]), "at least one record"),
        (lambda: sampling_set([[1, 2]], 1.0), "confidence"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_sampling_set_covers_all_rows():
    """Bonferroni holds for certain; 400 samples, at least 95 % of which must be covered."""
    rng = np.random.default_rng(9)
    P = np.array([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.05, 0.05, 0.9]])
    held = 0
    for _ in range(400):
        table = np.array([rng.multinomial(n, row) for n, row in zip((40, 25, 10), P, strict=True)])
        held += sampling_set(table).contains(P)
    assert held >= 380


def test_sampling_set_leaves_out_empty_rows():
    got = sampling_set([[3, 4], [0, 0], [10, 0]], 0.9)
    assert got.rows == (0, 2)
    assert got.confidence == 0.9
    assert got.conditional.shape == (2, 2)
    assert any("left out" in said for said in got.assumptions)


def test_limits_of_one_table_are_smaller_than_those_of_its_region():
    table = np.random.default_rng(10).poisson(25, (8, 10))
    region = sampling_set(table, 0.95)
    by_region = robust_leakage(region.conditional, region.limits, 2.0)
    assert sampled_leakage(table, 2.0).interval.upper < by_region
    assert sampled_upper_limit(table, 2.0) < by_region
