"""Relationships from counts of reports: those of the reports themselves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import seepage as sp
from seepage.collect.collection import CollectedReports, CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.collect.hashing import LocalHashing
from seepage.collect.held import for_relationships, gram_of, key_of, table_of
from seepage.collect.mechanism import Mechanism, TableMechanism
from seepage.collect.metric import ExponentialMechanism
from seepage.collect.pram import Table, invariant_pram
from seepage.collect.relationships import Estimate, ReportedRelationships
from seepage.collect.response import LambdaResponse, RandomizedResponse
from seepage.collect.sums import add_up
from seepage.collect.unary import UnaryEncoding
from seepage.domain import Attribute, Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError, SeepageError, TableError
from seepage.plan.estimating import count_reports, estimate
from seepage.plan.relating import RelationshipEstimates, estimate_relationships
from seepage.plan.report_counts import (
    merge_report_counts,
    read_report_counts,
    write_report_counts,
)
from seepage.plan.reports_io import write_reports
from seepage.tables import count_table, write_counts

DOMAIN = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes", "?"], "year": [2001, 2002, 2003]})
ALL = DOMAIN.names


def alone(**mechanisms: Any) -> CollectionPlan:
    units = tuple(Unit((name,), mechanism) for name, mechanism in mechanisms.items())
    return CollectionPlan(DOMAIN, "independent", units)


EXACT = {  # every report is one of a list of categories
    "response": independent(DOMAIN, {"sex": 2.0, "smoker": 1.0, "year": 3.0}),
    "tables": alone(
        sex=Table([[0.7, 0.1, 0.2], [0.2, 0.2, 0.6]]),  # reports that are no categories
        smoker=invariant_pram([0.5, 0.3, 0.2], minimum_diagonal=0.6),
        year=ExponentialMechanism(3, 2.0),
    ),
    "open": alone(
        sex=LambdaResponse(2, 1.0), smoker=LambdaResponse(3, 0.5), year=RandomizedResponse(3, 4.0)
    ),
    "joint": CollectionPlan(
        DOMAIN,
        "independent",
        (
            Unit(("year", "sex"), RandomizedResponse(6, 2.0)),
            Unit(("smoker",), RandomizedResponse(3, 1.0)),
        ),
    ),
    "views": sampled_views(DOMAIN, 3.0, 2),
}
ROUNDED = {  # reports are sets of categories: sums of products of features
    "unary": independent(DOMAIN, 2.0, mechanism="unary"),
    "mixed": independent(DOMAIN, 2.0, mechanism={"sex": "oue", "smoker": "grr", "year": "subset"}),
    "hashing": independent(DOMAIN, 2.0, mechanism={"smoker": "hashing", "sex": "sue"}),
    "sides": CollectionPlan(  # a joint unit seen from one side
        DOMAIN,
        "independent",
        (
            Unit(("year", "sex"), UnaryEncoding(6, 2.0)),
            Unit(("smoker",), RandomizedResponse(3, 1.0)),
        ),
    ),
    "views of both": CollectionPlan(
        DOMAIN,
        "views",
        (
            Unit(("smoker", "sex", "year"), RandomizedResponse(18, 3.0)),
            Unit(("sex", "year"), LocalHashing(6, 2.0)),
            Unit(("sex", "smoker"), UnaryEncoding(6, 2.0)),
        ),
    ),
}
PLANS = EXACT | ROUNDED
KINDS = ("covariance", "correlation", "odds")


def drawn(plan: CollectionPlan, n: int, seed: int = 0) -> CollectedReports:
    """Reports of related attributes."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    smoker = (sex + rng.integers(0, 2, n)) % 3
    year = np.where(rng.random(n) < 0.5, smoker, rng.integers(0, 3, n))
    return plan.randomize_codes(np.stack([sex, smoker, year], axis=1), rng=rng)


def some(reports: CollectedReports, rows: np.ndarray) -> CollectedReports:
    """The reports of the records for which `rows` is true."""
    values = []
    for number, one in enumerate(reports.values):
        values.append(one[rows if reports.view is None else rows[reports.view == number]])
    view = None if reports.view is None else reports.view[rows]
    return CollectedReports(reports.plan, tuple(values), view, reports.simulated)


def order(plan: CollectionPlan) -> int:
    """Largest number of attributes that are reported together by this plan."""
    return max(len(u.names) for u in plan.units) if plan.design == "views" else 3


def options(plan: CollectionPlan) -> dict[str, Any]:
    """Relationships of all kinds that the plan can estimate."""
    if order(plan) == 2:
        return {"kinds": KINDS}
    return {
        "kinds": KINDS,
        "relationships": [*combinations(ALL, 2), ("year", "smoker"), ALL],
        "regression": {"year": ["sex", "smoker"], "sex": ["smoker"]},
    }


def numbers(item: Estimate) -> list[float]:
    """Everything in an estimate that is a number; NaN for None."""
    values = [
        item.estimate, item.standard_error, item.lower, item.upper, item.uncorrected,
        item.uncorrected_error, item.mse_corrected, item.mse_uncorrected, item.gap_error,
    ]  # fmt: skip
    return [np.nan if value is None else value for value in values]


def assert_same(
    found: RelationshipEstimates, wanted: RelationshipEstimates, *, exact: bool
) -> None:
    if exact:
        assert found.estimates == wanted.estimates
        assert replace(found, source="").to_dict() == replace(wanted, source="").to_dict()
        return
    for one, other in zip(found.estimates, wanted.estimates, strict=True):
        assert_allclose(numbers(one), numbers(other), rtol=1e-10, atol=1e-13)
        for field in ("kind", "names", "size", "note", "better", "recommended", "categories"):
            assert getattr(one, field) == getattr(other, field)
    assert found.assumptions == wanted.assumptions
    assert (found.size, found.simulated, found.needed, found.notes) == (
        wanted.size, wanted.simulated, wanted.needed, wanted.notes,
    )  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("n", [900, 15])
def test_counts_give_what_the_reports_give(name: str, n: int, tmp_path: Path) -> None:
    plan = PLANS[name]
    reports, asked, exact = drawn(plan, n), options(plan), name in EXACT
    wanted = estimate_relationships(reports, **asked)
    made = count_reports(reports, plan, order(plan), covariance=True)
    write_report_counts(made, tmp_path / "a.counts")
    assert_same(estimate_relationships(made, **asked), wanted, exact=exact)
    found = estimate_relationships(tmp_path / "a.counts", plan, **asked)
    assert_same(found, wanted, exact=exact)
    assert found.source == "a.counts"
    if exact:  # nothing more is kept for categories
        bare = count_reports(reports, plan, order(plan))
        assert_same(estimate_relationships(bare, plan, **asked), wanted, exact=True)
    # Only what a relationship needs has to be there.
    pair = count_reports(reports, plan, [("year", "sex")], covariance=True)
    assert_same(
        estimate_relationships(pair, relationships=[("sex", "year")], kinds=KINDS),
        estimate_relationships(reports, relationships=[("sex", "year")], kinds=KINDS),
        exact=exact,
    )
    one, other = ReportedRelationships(pair).variance("sex"), ReportedRelationships(reports)
    assert_allclose(numbers(one), numbers(other.variance("sex")), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", EXACT)
def test_many_kinds_of_records(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted or counted in a table, kinds come in one order; kept one by one they give the same."""
    plan = PLANS[name]
    reports, asked = drawn(plan, 300), options(plan)
    wanted = estimate_relationships(count_reports(reports, plan, order(plan)), **asked)
    monkeypatch.setattr("seepage.collect._samples.SMALL_TABLE", 1)
    assert_same(estimate_relationships(reports, **asked), wanted, exact=True)
    monkeypatch.setattr("seepage.collect._samples.MAX_CELLS", 1)
    assert_same(estimate_relationships(reports, **asked), wanted, exact=False)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(PLANS)),
    cuts=st.lists(st.integers(0, 3), min_size=12, max_size=20),
    data=st.data(),
)
def test_parts_in_any_order_give_the_same(name, cuts, data, tmp_path_factory) -> None:
    plan, folder = PLANS[name], tmp_path_factory.mktemp("parts")
    reports, k = drawn(plan, 10 * len(cuts)), order(plan)
    part_of = np.repeat(cuts, 10)
    counted, paths, files = [], [], []
    for number in sorted(set(cuts)):
        part = some(reports, part_of == number)
        files.append(folder / f"{number}.parquet")
        write_reports(part, files[-1])
        counted.append(count_reports(part, plan, k, covariance=True))
        paths.append(folder / f"{number}.counts")
        write_report_counts(count_reports(files[-1], plan, k, covariance=True), paths[-1])
    whole = estimate_relationships(count_reports(reports, plan, k, covariance=True))
    paths, counted = data.draw(st.permutations(paths)), data.draw(st.permutations(counted))
    batches = [some(reports, part_of == number) for number in sorted(set(cuts))]
    for source in (paths, counted, iter(paths), iter(batches)):
        found = estimate_relationships(source, plan)
        assert found.estimates == whole.estimates  # sums are whole numbers: no order matters
    both = iter([*files[:1], *(path for path in paths if path.stem != files[0].stem)])
    assert estimate_relationships(both, plan).estimates == whole.estimates
    if len(paths) > 1:
        write_report_counts(merge_report_counts(paths[1:], plan), folder / "rest.counts")
        some_merged = [folder / "rest.counts", paths[0]]
        assert estimate_relationships(some_merged, plan).estimates == whole.estimates
    for kept in (reports, batches, files):  # the reports themselves
        assert_same(whole, estimate_relationships(kept, plan), exact=name in EXACT)


def brute(reports: CollectedReports, units: tuple[int, ...]) -> np.ndarray:
    """Products of features of each record, one row for each."""
    rows = np.ones((len(reports.values[units[0]]), 1))
    for unit in units:
        features = reports.plan.units[unit].mechanism.featurize(reports.values[unit])
        rows = np.stack([np.kron(a, b) for a, b in zip(rows, features, strict=True)])
    return rows


@pytest.mark.parametrize("name", [name for name in PLANS if PLANS[name].design == "independent"])
def test_smaller_tables_follow_from_larger_ones(name: str) -> None:
    """Every set of units, from the table of all, against features multiplied record by record."""
    plan = PLANS[name]
    reports = drawn(plan, 40)
    whole = count_reports(reports, plan, [ALL], covariance=True).sums
    largest = {key: table for key, table in whole.tables.items() if len(key) == len(plan.units)}
    assert len(largest) == 1
    whole = replace(whole, tables=largest)
    everything = range(len(plan.units))
    for count in range(1, len(plan.units) + 1):
        for units in combinations(everything, count):
            rows, key = brute(reports, units), key_of(units)
            table = table_of(plan, whole, key)
            categories = all(isinstance(plan.units[u].mechanism, TableMechanism) for u in units)
            assert table.dtype == (np.int64 if categories else np.float64)
            assert (table.reshape(-1) == rows.sum(axis=0)).all()
            assert not table.flags.writeable
            if not categories:
                assert (gram_of(plan, whole, key) == rows.T @ rows).all()
    assert table_of(plan, add_up(reports, []), key_of([0])) is None
    assert gram_of(plan, add_up(reports, []), key_of([0])) is None


def test_estimates_of_smaller_tables_too(tmp_path: Path) -> None:
    for name in ("response", "mixed", "hashing"):
        plan = PLANS[name]
        reports = drawn(plan, 300)
        path = tmp_path / f"{name}.counts"
        write_report_counts(count_reports(reports, plan, 3, covariance=True), path)
        assert estimate(path, plan, 2, covariance=True) == estimate(
            reports, plan, 2, covariance=True
        )
        sums = estimate(path, plan, [("sex", "year")]).sums
        assert all(len(key) < 3 for key in sums.tables)


def test_counts_of_a_table_of_reports(tmp_path: Path) -> None:
    pairs: dict[str, Any] = {"kinds": KINDS, "regression": {"sex": ["smoker"]}}
    pairs["relationships"] = list(combinations(ALL, 2))
    for name in ("response", "open", "joint"):
        plan = PLANS[name]
        reports = drawn(plan, 400)
        asked = pairs if name != "joint" else {"kinds": KINDS, "relationships": [("sex", "year")]}
        write_reports(reports, tmp_path / "r.csv")
        marks = tuple(pl.read_csv(tmp_path / "r.csv")["(plan)"].unique())
        marked = count_table(
            tmp_path / "r.csv", domain=Domain((*DOMAIN, Attribute("(plan)", marks)))
        )
        wanted = estimate_relationships(reports, **asked)
        for source in (marked, [marked]):
            assert_same(estimate_relationships(source, plan, **asked), wanted, exact=True)
        # Counts without the column "(plan)" are of unknown origin, as reports without it are.
        bare = tmp_path / "bare.csv"
        pl.read_csv(tmp_path / "r.csv").drop("(plan)").write_csv(bare)
        plain = count_table(bare, domain=DOMAIN)
        write_counts(plain, tmp_path / "plain.counts")
        wanted = estimate_relationships(bare, plan, **asked)
        assert wanted.simulated is None
        assert wanted.notes[0].startswith("For 400 records it could not be checked")
        for source in (plain, tmp_path / "plain.counts", [tmp_path / "plain.counts"]):
            assert_same(estimate_relationships(source, plan, **asked), wanted, exact=True)
    with pytest.raises(InvalidInputError, match=r"pairs of columns, and not .*--plan, count_rep"):
        estimate_relationships(plain, plan, relationships=[("sex", "smoker")])
    for name in ("mixed", "views"):
        with pytest.raises(InvalidInputError, match=r"do not hold what was reported .*--plan"):
            estimate_relationships(plain, PLANS[name], relationships=[("sex", "year")])


def test_reports_are_read_too(tmp_path: Path) -> None:
    plan = PLANS["response"]
    reports = drawn(plan, 200)
    wanted = estimate_relationships(reports)
    for ending in ("parquet", "csv"):
        path = tmp_path / f"r.{ending}"
        write_reports(reports, path)
        found = estimate_relationships(path, plan)
        assert_same(found, wanted, exact=True)
        assert found.source == f"r.{ending}"
    frame = pl.read_csv(path)
    assert_same(estimate_relationships(frame, plan), wanted, exact=True)
    assert_same(estimate_relationships(frame.to_dicts(), plan), wanted, exact=True)
    twice = estimate_relationships([path, str(path)], plan, notes=["Mine."])
    assert twice.notes == ("r.csv is given twice: each of its records counts 2 times.", "Mine.")
    assert twice.size == 400


@pytest.fixture
def plan() -> CollectionPlan:
    return PLANS["response"]


@pytest.fixture
def parts(plan: CollectionPlan, tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{i}.counts" for i in range(3)]
    for seed, path in enumerate(paths):
        write_report_counts(count_reports(drawn(plan, 100, seed), plan), path)
    return paths


def test_no_part_counts_twice(plan: CollectionPlan, parts: list[Path], tmp_path: Path) -> None:
    copy, both = tmp_path / "copy.counts", tmp_path / "both.counts"
    shutil.copy(parts[0], copy)
    write_report_counts(merge_report_counts(parts[:2], plan), both)
    for twice in ([parts[0], parts[0]], [parts[0], copy], [both, parts[2], parts[1]]):
        with pytest.raises(InvalidInputError, match="expected different parts"):
            estimate_relationships(twice, plan)
    with pytest.raises(InvalidInputError, match="the same counts"):
        estimate_relationships([read_report_counts(path, plan) for path in (both, copy)], plan)
    again = tmp_path / "again.counts"  # the same reports, counted anew
    write_report_counts(count_reports(drawn(plan, 100, 0), plan), again)
    told = estimate_relationships([parts[0], again], plan)
    assert "0.counts and again.counts hold the same counts" in told.notes[0]
    assert told.notes[0] in told.assumptions


def test_damaged_and_foreign_counts(
    plan: CollectionPlan, parts: list[Path], tmp_path: Path
) -> None:
    content = bytearray(parts[0].read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.counts").write_bytes(content)
    with pytest.raises(TableError):
        estimate_relationships([parts[1], tmp_path / "bad.counts"], plan)
    other = independent(DOMAIN, 0.5)
    with pytest.raises(TableError, match=r"fingerprint .* in 0\.counts: .* another plan"):
        estimate_relationships(parts, other)
    counted = read_report_counts(parts[0], plan)
    for source in (counted, [counted], iter([counted]), drawn(plan, 10), [drawn(plan, 10)]):
        with pytest.raises(InvalidInputError, match="same plan, got one with another mechanisms"):
            estimate_relationships(source, other)
    with pytest.raises(InvalidInputError, match="got both"):
        estimate_relationships([parts[0], tmp_path / "r.parquet"], plan)


def test_what_was_not_counted_is_said(
    plan: CollectionPlan, parts: list[Path], tmp_path: Path
) -> None:
    lacking = r"got none of sex × smoker × year in .* tables of 2 columns .*--marginals 3, count_r"
    with pytest.raises(InvalidInputError, match=lacking) as caught:
        estimate_relationships(parts, plan, relationships=[ALL])
    assert "Did you mean" not in str(caught.value)  # a pair is another thing
    with pytest.raises(InvalidInputError, match=lacking):
        estimate_relationships(parts, plan, regression={"year": ["sex", "smoker"]})
    with pytest.raises(InvalidInputError, match=lacking):
        ReportedRelationships(read_report_counts(parts[0], plan)).moment(ALL)
    single = count_reports(drawn(plan, 50), plan, 1)
    with pytest.raises(
        InvalidInputError, match=r"none of sex × smoker \(and 2 more\).*--marginals"
    ):
        estimate_relationships(single)
    assert ReportedRelationships(single).variance("sex").estimate is not None
    for name, unit in ROUNDED.items():
        if name == "sides":
            continue
        bare = count_reports(drawn(unit, 50), unit, 2)
        with pytest.raises(InvalidInputError, match=r"with covariance=True \(--covariance\)"):
            estimate_relationships(bare, relationships=[("sex", "year")])
    # Pairs of columns whose reports are categories need no more, whatever the others are.
    mixed = independent(DOMAIN, 2.0, mechanism={"sex": "oue"})
    reports = drawn(mixed, 100)
    asked: dict[str, Any] = {"relationships": [("smoker", "year")]}
    found = estimate_relationships(count_reports(reports, mixed), **asked)
    assert_same(found, estimate_relationships(reports, **asked), exact=True)


def test_views_that_were_not_reported(plan: CollectionPlan) -> None:
    views = PLANS["views"]
    with pytest.raises(InvalidInputError, match="a view that holds sex × smoker × year together"):
        estimate_relationships(count_reports(drawn(views, 50), views), relationships=[ALL])
    few = drawn(views, 60)
    without = some(few, np.asarray(few.view) != 0)
    names = views.units[0].names
    for source in (without, count_reports(without, views)):
        with pytest.raises(InvalidInputError, match="together, got none with reports"):
            estimate_relationships(source, relationships=[names])
    fake = fake_data(DOMAIN, 2.0)
    reports = drawn(fake, 50)
    for source in (reports, count_reports(reports, fake, 1)):
        with pytest.raises(InvalidInputError, match="reports attributes together, got 'fake'"):
            estimate_relationships(source)
    with pytest.raises(InvalidInputError, match=r"at least two records that report .*, got 1"):
        estimate_relationships(count_reports(drawn(plan, 1), plan))
    nothing = independent(DOMAIN, {"sex": 0.0, "smoker": 1.0, "year": 1.0})
    with pytest.raises(InvalidInputError, match="identify"):
        estimate_relationships(count_reports(drawn(nothing, 50), nothing))


def test_mixed_origins(plan: CollectionPlan) -> None:
    """Simulated reports make a simulation of the whole; of the others is said what is unknown."""
    one, two = drawn(plan, 60, 1), replace(drawn(plan, 40, 2), simulated=None)
    found = estimate_relationships([one, two])
    assert found.simulated
    assert found.notes[0].startswith("For 40 records it could not be checked")
    release = replace(one, simulated=False)
    assert estimate_relationships([release]).simulated is False
    assert estimate_relationships([release, two]).simulated is None


@pytest.mark.parametrize("endings", [("csv", "csv"), ("parquet", "parquet"), ("parquet", "csv")])
@pytest.mark.parametrize("first", [0, 1])
def test_files_with_and_without_a_plan(
    plan: CollectionPlan, tmp_path: Path, endings: tuple[str, str], first: int
) -> None:
    """What is not known of some records is said, whatever is known of the others."""
    marked, bare = (tmp_path / f"{i}.{ending}" for i, ending in enumerate(endings))
    for simulated in (True, False):
        write_reports(replace(drawn(plan, 60, 1), simulated=simulated), marked)
        write_reports(replace(drawn(plan, 40, 2), simulated=None), bare)
        sources = [marked, bare] if first == 0 else [bare, marked]
        found = estimate_relationships(sources, plan)
        assert found.notes == estimate(sources, plan).doubts
        assert found.notes[0].startswith("For 40 records it could not be checked")
        assert found.simulated is (True if simulated else None)
        assert found.size == 100
        whole = [drawn(plan, 60, 1), drawn(plan, 40, 2)]
        wanted = estimate_relationships(whole if first == 0 else whole[::-1])
        assert found.estimates == wanted.estimates


def test_a_list_of_reports_is_no_wider_than_the_reports() -> None:
    """Products of all features are not needed where the reports themselves are at hand."""
    domain = Domain.of({"a": list(range(200)), "b": list(range(200))})
    wide = independent(domain, 2.0, mechanism="unary")
    rng = np.random.default_rng(0)
    one, two = (wide.randomize_codes(rng.integers(0, 200, (n, 2)), rng=rng) for n in (30, 20))
    alone = estimate_relationships(one)
    assert estimate_relationships([one]).estimates == alone.estimates
    both = estimate_relationships([one, two])
    assert both.size == 50
    values = tuple(np.concatenate(pair) for pair in zip(one.values, two.values, strict=True))
    whole = estimate_relationships(CollectedReports(wide, values, None, True))
    assert both.estimates == whole.estimates
    with pytest.raises(CapacityError):
        estimate_relationships(iter([one, two]), wide)


def test_wide_units_are_refused_before_reading(tmp_path: Path) -> None:
    domain = Domain.of({"a": list(range(90)), "b": list(range(90))})
    wide = independent(domain, 2.0, mechanism="unary")
    with pytest.raises(CapacityError, match=r"'a' \(90 categories\)"):
        estimate_relationships(tmp_path / "not-there.counts", wide)
    with pytest.raises(CapacityError):
        for_relationships(wide, [("a", "b")])


def test_other_mechanisms_need_the_reports() -> None:
    """Whether a feature is always 1 is known of the mechanisms of this package only."""
    own: dict[str, Any] = {}
    for base in reversed(UnaryEncoding.__mro__[: UnaryEncoding.__mro__.index(Mechanism)]):
        own |= vars(base)
    own = {key: value for key, value in own.items() if key not in {"__dict__", "__weakref__"}}
    odd = type("Odd", (Mechanism,), own)
    plan = CollectionPlan(
        DOMAIN,
        "independent",
        (Unit(("sex",), odd(2, 2.0)), *(independent(DOMAIN, 2.0).units[1:])),
    )
    reports = drawn(plan, 100)
    pair = [("sex", "year")]
    assert estimate_relationships(reports, relationships=pair).estimates[0].estimate is not None
    counted = count_reports(reports, plan, covariance=True)
    without = "mechanisms without a constant feature, got counts for 'unary' of sex"
    with pytest.raises(InvalidInputError, match=without):
        estimate_relationships(counted, relationships=pair)
    wide = count_reports(reports, plan, [ALL], covariance=True)
    with pytest.raises(InvalidInputError, match="got none of smoker × year"):
        estimate_relationships(wide, relationships=[("smoker", "year")])


def test_no_randomisation_in_features() -> None:
    """Bits without noise: the sample's own covariance and correlation, from the sums alone."""
    plan = independent(DOMAIN, np.inf, mechanism="sue")
    rng = np.random.default_rng(5)
    codes = rng.integers(0, DOMAIN.shape, (500, 3))
    made = count_reports(plan.randomize_codes(codes, rng=1), plan, covariance=True)
    source = ReportedRelationships(made)
    years = np.array([2001, 2002, 2003])[codes[:, 2]]
    assert_allclose(
        source.covariance("smoker", "year").estimate, np.cov(codes[:, 1], years)[0, 1], rtol=1e-10
    )
    assert_allclose(source.variance("year").estimate, years.var(ddof=1), rtol=1e-10)
    assert_allclose(
        source.correlation("smoker", "year").estimate,
        np.corrcoef(codes[:, 1], years)[0, 1],
        rtol=1e-10,
    )
    same = np.repeat(codes[:, :1], 3, axis=1)
    made = count_reports(plan.randomize_codes(same, rng=1), plan, covariance=True)
    exact = ReportedRelationships(made).correlation("sex", "smoker")
    assert exact.estimate == pytest.approx(1, abs=1e-12)
    assert exact.standard_error == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c, p: estimate_relationships(None), InvalidInputError),
        (lambda c, p: estimate_relationships("a.counts"), InvalidInputError),
        (lambda c, p: estimate_relationships([]), InvalidInputError),
        (lambda c, p: estimate_relationships(iter([c])), InvalidInputError),
        (lambda c, p: estimate_relationships([], p), SeepageError),
        (lambda c, p: estimate_relationships(iter([]), p), InvalidInputError),
        (lambda c, p: count_reports([], p), SeepageError),
        (lambda c, p: count_reports((), p), SeepageError),
        (lambda c, p: estimate_relationships("none.counts", p), SeepageError),
        (lambda c, p: estimate_relationships(c, 3), InvalidInputError),
        (lambda c, p: estimate_relationships(c, True), InvalidInputError),
        (lambda c, p: estimate_relationships([c, 3], p), SeepageError),
        (lambda c, p: estimate_relationships(c, relationships="ab"), InvalidInputError),
        (lambda c, p: estimate_relationships(c, relationships=3), InvalidInputError),
        (lambda c, p: estimate_relationships(c, relationships={"a": 1}), InvalidInputError),
        (lambda c, p: estimate_relationships(c, relationships=[None]), InvalidInputError),
        (lambda c, p: estimate_relationships(c, relationships=[("sex", None)]), DomainError),
        (lambda c, p: estimate_relationships(c, relationships=[("sex", "x")]), DomainError),
        (lambda c, p: estimate_relationships(c, relationships=[("sex", "sex")]), InvalidInputError),
        (lambda c, p: estimate_relationships(c, regression=["sex"]), InvalidInputError),
        (lambda c, p: estimate_relationships(c, regression={"sex": "year"}), InvalidInputError),
        (lambda c, p: estimate_relationships(c, regression={"sex": []}), InvalidInputError),
        (lambda c, p: estimate_relationships(c, kinds="odds"), InvalidInputError),
        (lambda c, p: estimate_relationships(c, kinds=None), InvalidInputError),
        (lambda c, p: estimate_relationships(c, kinds=[["odds"]]), InvalidInputError),
        (lambda c, p: estimate_relationships(c, kinds=[]), InvalidInputError),
        (lambda c, p: estimate_relationships(c, confidence=np.nan), InvalidInputError),
        (lambda c, p: estimate_relationships(c, scores={"sex": [1, None]}), InvalidInputError),
        (lambda c, p: ReportedRelationships(c.sums), InvalidInputError),
    ],
)
def test_hostile_input(
    call: Callable[[Estimates, CollectionPlan], object],
    error: type[SeepageError],
    plan: CollectionPlan,
) -> None:
    counted = count_reports(drawn(plan, 50), plan)
    with pytest.raises(error) as caught:
        call(counted, plan)
    assert isinstance(caught.value, SeepageError)


def test_public_names(plan: CollectionPlan, parts: list[Path]) -> None:
    assert sp.estimate_relationships(parts, plan).size == 300
    page = sp.estimate_relationships(parts, plan).to_html()
    assert "0.counts and 2 more" in page
