"""Counts of reports: saved, merged in any order, and estimated from as from the reports."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.collect.collection import CollectedReports, CollectionPlan, Unit
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.collect.estimates import Estimates
from seepage.collect.response import RandomizedResponse
from seepage.collect.unary import UnaryEncoding
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InvalidInputError, SeepageError, TableError
from seepage.plan.estimating import count_reports, estimate
from seepage.plan.report_counts import (
    are_counts,
    merge_report_counts,
    read_report_counts,
    report_counts_to_bytes,
    write_report_counts,
)
from seepage.plan.reports_io import write_reports
from seepage.tables import count_archive, count_table, merge_counts, read_counts, write_counts

DOMAIN = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes", "?"], "age": [1, 2]})
PLANS = {
    "categories": independent(DOMAIN, {"sex": 2.0, "smoker": 1.0, "age": 3.0}),
    "mixed": independent(DOMAIN, 2.0, mechanism={"sex": "unary", "smoker": "grr", "age": "subset"}),
    "hashing": independent(DOMAIN, 2.0, mechanism={"smoker": "hashing", "sex": "unary"}),
    "joint": CollectionPlan(
        DOMAIN,
        "independent",
        (
            Unit(("age", "sex"), RandomizedResponse(4, 2.0)),
            Unit(("smoker",), RandomizedResponse(3, 1.0)),
        ),
    ),
    "views": sampled_views(DOMAIN, 3.0, 2),
    "fake": fake_data(DOMAIN, 2.0),
}
MARGINAL = CollectionPlan(  # a joint unit whose reports are no categories, seen from one side
    DOMAIN,
    "independent",
    (
        Unit(("age", "sex"), UnaryEncoding(4, 2.0)),
        Unit(("smoker",), RandomizedResponse(3, 1.0)),
    ),
)


def drawn(plan: CollectionPlan, n: int, seed: int = 0) -> CollectedReports:
    rng = np.random.default_rng(seed)
    return plan.randomize_codes(rng.integers(0, DOMAIN.shape, (n, 3)), rng=rng)


def some(reports: CollectedReports, rows: np.ndarray) -> CollectedReports:
    """The reports of the records for which `rows` is true."""
    values = []
    for number, one in enumerate(reports.values):
        own = rows if reports.view is None else rows[reports.view == number]
        values.append(one[own])
    view = None if reports.view is None else reports.view[rows]
    return CollectedReports(reports.plan, tuple(values), view, reports.simulated)


def order(plan: CollectionPlan) -> int:
    return 1 if plan.design == "fake" else 2


def assert_same(left: Estimates, right: Estimates) -> None:
    """Equal bit by bit, and so is what is read off them."""
    assert left == right
    assert left.sets == right.sets
    for one, other in zip(left.tables, right.tables, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.standard_errors.tobytes() == other.standard_errors.tobytes()
        assert one.noise_errors.tobytes() == other.noise_errors.tobytes()
        assert one.covariance().tobytes() == other.covariance().tobytes()


@settings(max_examples=24, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(PLANS)),
    cuts=st.lists(st.integers(0, 3), min_size=30, max_size=60),
    data=st.data(),
)
def test_parts_in_any_order_are_the_whole(name, cuts, data, tmp_path_factory) -> None:
    plan, folder = PLANS[name], tmp_path_factory.mktemp("parts")
    reports = drawn(plan, 10 * len(cuts))
    part_of = np.repeat(cuts, 10)
    paths = []
    for number in sorted(set(cuts)):
        source = folder / f"{number}.parquet"
        write_reports(some(reports, part_of == number), source)
        paths.append(folder / f"{number}.counts")
        write_report_counts(count_reports(source, plan, order(plan), covariance=True), paths[-1])
    paths = data.draw(st.permutations(paths))
    whole = estimate(reports, plan, order(plan), covariance=True)
    assert_same(estimate(paths, plan, order(plan), covariance=True), whole)
    cut = data.draw(st.integers(0, len(paths)))
    halves = [folder / "left.counts", folder / "right.counts"]
    for half, own in zip(halves, (paths[:cut], paths[cut:]), strict=True):
        if own:
            write_report_counts(merge_report_counts(own, plan), half)
    halves = [half for half in halves if half.exists()]
    assert_same(merge_report_counts(halves, plan), whole)
    fewer = estimate(halves, plan, 1, columns=["age", "sex"])
    assert fewer == estimate(reports, plan, 1, columns=["age", "sex"])


@pytest.mark.parametrize("name", PLANS)
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    made = count_reports(drawn(plan, 300), plan, order(plan), covariance=True)
    path = tmp_path / "a.counts"
    write_report_counts(made, path)
    found = read_report_counts(str(path), plan)
    assert found == made
    assert (found.source, found.origin) == ("reports", "simulation, not a release")
    assert sum(n for _, n in found.parts) == found.size == 300
    for key, table in found.sums.tables.items():
        assert table.dtype == made.sums.tables[key].dtype
        assert not table.flags.writeable
    assert report_counts_to_bytes(found) == path.read_bytes() == report_counts_to_bytes(made)
    with pytest.raises(TypeError):
        found + 3


def test_sums_of_squares_are_kept_to_the_last_bit(tmp_path: Path) -> None:
    reports = drawn(MARGINAL, 400)
    made = count_reports(reports, MARGINAL, covariance=True)
    assert any(axis.squared for key in made.sums.tables for axis in key)
    write_report_counts(made, tmp_path / "a.counts")
    assert_same(
        estimate(tmp_path / "a.counts", MARGINAL, covariance=True),
        estimate(reports, MARGINAL, covariance=True),
    )
    rows = np.arange(400) % 3 == 0
    halves = [count_reports(some(reports, x), MARGINAL) for x in (rows, ~rows)]
    both, whole = estimate(halves, MARGINAL), estimate(reports, MARGINAL)
    for one, other in zip(both.tables, whole.tables, strict=True):  # the order of floats matters
        assert one.values.tobytes() == other.values.tobytes()
        np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-12)


@pytest.fixture
def plan() -> CollectionPlan:
    return PLANS["categories"]


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
    (tmp_path / "link.counts").symlink_to(parts[0])
    for given_twice, message in (
        ([parts[0], parts[0]], "twice"),
        ([parts[0], str(parts[0])], "twice"),
        ([parts[0], tmp_path / "link.counts"], "twice"),
        ([parts[0], parts[2], copy], "0.counts and copy.counts: one is a copy"),
        ([both, parts[2], parts[1]], "both.counts and 1.counts"),
    ):
        for use in (estimate, merge_report_counts):
            with pytest.raises(InvalidInputError, match="expected different parts") as caught:
                use(given_twice, plan)
            assert message in str(caught.value)
    with pytest.raises(InvalidInputError, match="the same counts"):
        estimate(iter([parts[0], copy]), plan)
    with pytest.raises(InvalidInputError, match="the same counts"):
        read_report_counts(both, plan) + read_report_counts(parts[0], plan)


def test_what_was_saved_is_known_in_memory(plan: CollectionPlan, tmp_path: Path) -> None:
    one, two = (count_reports(drawn(plan, n), plan) for n in (100, 60))
    write_report_counts(one, tmp_path / "one.counts")
    with pytest.raises(InvalidInputError, match="the same counts"):
        one + read_report_counts(tmp_path / "one.counts", plan)
    with pytest.raises(InvalidInputError, match="the same counts"):
        two + two
    write_report_counts(one + two, tmp_path / "both.counts")
    with pytest.raises(InvalidInputError, match=r"both\.counts and one\.counts: one is a copy"):
        estimate([tmp_path / "both.counts", tmp_path / "one.counts"], plan)
    # What was never saved has no mark to be known by: batches are added as they come.
    assert (two + count_reports(drawn(plan, 60), plan)).size == 120
    assert two.empty + two.empty == two.empty


def test_parts_with_equal_counts_are_told(plan: CollectionPlan, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.counts", "retry.counts")]
    for path in paths:
        write_report_counts(count_reports(drawn(plan, 100), plan), path)
    told = "one.counts and retry.counts hold the same counts: if they are of the same reports"
    found = estimate(paths, plan)
    assert any(told in note for note in found.doubts)
    write_report_counts(merge_report_counts(paths, plan), tmp_path / "both.counts")
    assert any(told in note for note in estimate(tmp_path / "both.counts", plan).assumptions)


def test_counts_and_reports_as_they_come(
    plan: CollectionPlan, parts: list[Path], tmp_path: Path
) -> None:
    whole = estimate([drawn(plan, 100, seed) for seed in range(3)], plan)
    write_reports(drawn(plan, 100, 2), tmp_path / "2.parquet")
    mixture = [parts[0], read_report_counts(parts[1], plan), tmp_path / "2.parquet"]
    assert estimate(iter(mixture), plan) == whole
    assert estimate([read_report_counts(path, plan) for path in parts], plan) == whole
    assert estimate(parts, plan).source == "0.counts and 2 more"
    with pytest.raises(InvalidInputError, match="got both"):
        estimate([parts[0], tmp_path / "2.parquet"], plan)
    # A sum of counts from files and of other reports keeps both marks.
    more = read_report_counts(parts[0], plan).add(drawn(plan, 50, 9))
    write_report_counts(more, tmp_path / "more.counts")
    assert [n for _, n in read_report_counts(tmp_path / "more.counts", plan).parts] == [100, 50]
    assert not are_counts([])
    assert not are_counts(drawn(plan, 1))


def test_other_plans_and_tables_are_refused(
    plan: CollectionPlan, parts: list[Path], tmp_path: Path
) -> None:
    other = independent(DOMAIN, 0.5)
    for use in (estimate, merge_report_counts):
        with pytest.raises(TableError, match=r"fingerprint .* in 0\.counts: .* another plan"):
            use(parts, other)
    with pytest.raises(InvalidInputError, match="same plan, got one with another mechanisms"):
        estimate([read_report_counts(parts[0], plan)], other)
    single = tmp_path / "single.counts"
    write_report_counts(count_reports(drawn(plan, 10), plan, [("sex", "age"), "smoker"]), single)
    with pytest.raises(InvalidInputError, match=r"got none of sex × smoker \(and 1 more\) in sing"):
        estimate([parts[0], single], plan)
    assert estimate([parts[0], single], plan, [("age", "sex")]).size == 110
    assert estimate([parts[0], single], plan, 1).size == 110
    with pytest.raises(InvalidInputError, match="estimates of the same tables"):
        merge_report_counts([parts[0], single], plan)
    with pytest.raises(InvalidInputError, match="got none of sex × smoker × age"):
        estimate(parts, plan, 3)
    unary = PLANS["mixed"]
    write_report_counts(count_reports(drawn(unary, 10), unary), tmp_path / "u.counts")
    with pytest.raises(InvalidInputError, match="count the reports with covariance=True"):
        estimate(tmp_path / "u.counts", unary, covariance=True)
    for source in (parts[0], [str(path) for path in parts]):
        with pytest.raises(InvalidInputError, match="the reports themselves, got their counts"):
            sp.read_reports(source, plan)
    # Elsewhere counts of reports are no counts of a table.
    for use in (read_counts, sp.audit, sp.calibrate):
        with pytest.raises(SeepageError, match="got those of randomised reports"):
            use(parts[0])


def test_files_are_read_in_batches(
    plan: CollectionPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = PLANS["views"]
    monkeypatch.setattr("seepage.tables.batches.BATCH_BYTES", 8 * 4 * 30)
    for one in (plan, views):
        reports = drawn(one, 500)
        for name in ("r.parquet", "r.csv", "r.arrow"):
            write_reports(reports, tmp_path / name)
            assert count_reports(tmp_path / name, one) == count_reports(reports, one)
    frame = pl.read_parquet(tmp_path / "r.parquet")
    at = 400 + int(np.flatnonzero(frame["view"][400:].to_numpy() == 0)[0])
    hidden = next(n for n in DOMAIN.names if n not in views.units[0].names)
    spoken = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == at)
        .then(pl.lit(DOMAIN[hidden].categories[0]))
        .otherwise(pl.col(hidden))
        .alias(hidden)
    )
    spoken.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(DomainError, match=f"of record {at}, whose view"):
        count_reports(tmp_path / "bad.parquet", views)
    frame[:0].write_parquet(tmp_path / "none.parquet")
    with pytest.raises(TableError, match=r"reports in none\.parquet, got none"):
        count_reports(tmp_path / "none.parquet", views)


def test_counts_of_a_table_of_reports(plan: CollectionPlan, tmp_path: Path) -> None:
    for name in ("categories", "joint", "fake"):
        one = PLANS[name]
        reports = drawn(one, 400)
        which = [("age",), ("sex",)] if name == "fake" else [("age", "sex"), ("smoker",)]
        whole = estimate(reports, one, which)
        for ending in (".parquet", ".csv"):
            source = tmp_path / f"reports{ending}"
            write_reports(reports, source)
            plain = count_table(source, domain=DOMAIN)
            write_counts(plain, tmp_path / "plain.counts")
            for given_counts in (plain, [plain], tmp_path / "plain.counts"):
                found = estimate(given_counts, one, which)
                assert found.origin == "of unknown origin"
                assert dict(found.sums.tables).keys() == dict(whole.sums.tables).keys()
                for mine, theirs in zip(found.tables, whole.tables, strict=True):
                    assert mine.values.tobytes() == theirs.values.tobytes()
                    assert mine.standard_errors.tobytes() == theirs.standard_errors.tobytes()
        marked = Domain(
            (*DOMAIN, Attribute("(plan)", tuple(pl.read_csv(source)["(plan)"].unique())))
        )
        assert estimate(count_table(source, domain=marked), one, which) == whole
    half = count_table(tmp_path / "reports.csv", domain=DOMAIN)
    doubled = merge_counts([half, half])
    assert estimate(doubled, PLANS["fake"], 1).size == 800
    assert read_report_counts(tmp_path / "plain.counts", PLANS["fake"]).sets[0] == ("sex",)


def test_missing_categories_in_a_table_of_reports(tmp_path: Path) -> None:
    domain = Domain(
        (Attribute("a", ("x", "y", "gap"), missing="gap"), Attribute("b", (True, False)))
    )
    plan = independent(domain, 1.0)
    rng = np.random.default_rng(3)
    reports = plan.randomize_codes(rng.integers(0, domain.shape, (200, 2)), rng=rng)
    for name in ("r.parquet", "r.csv"):
        write_reports(reports, tmp_path / name)
        found = estimate(count_table(tmp_path / name, domain=domain), plan)
        assert found.marginal("a", "b").values.tobytes() == (
            estimate(reports, plan).marginal("a", "b").values.tobytes()
        )


def test_bins_in_a_table_of_reports(tmp_path: Path) -> None:
    """Counted with the domain of the plan, or with the labels of its bins as categories."""
    labels = ("[0, 20)", "[20, 60)", "[60, 90]")
    edges = (0.0, 20.0, 60.0, 90.0)
    binned = Attribute("age", (*labels, "gap", "more"), edges, missing="gap", other="more")
    domain = Domain((binned, Attribute("b", ("x", "y"))))
    plan = independent(domain, 1.0)
    rng = np.random.default_rng(3)
    reports = plan.randomize_codes(rng.integers(0, domain.shape, (200, 2)), rng=rng)
    bare = Domain((Attribute("age", binned.categories, missing="gap"), domain["b"]))
    shifted = Domain((replace(binned, edges=(0.0, 21.0, 60.0, 90.0)), domain["b"]))
    wanted = estimate(reports, plan).marginal("age", "b").values.tobytes()
    for name in ("r.parquet", "r.csv"):
        write_reports(reports, tmp_path / name)
        for own in (domain, bare):
            found = estimate(count_table(tmp_path / name, domain=own), plan)
            assert found.marginal("age", "b").values.tobytes() == wanted
        counted = count_table(tmp_path / name, domain=shifted)
        with pytest.raises(DomainError, match=r"for 'age', got others, or bins that are not those"):
            estimate(counted, plan)
    for texts in (("1", "2", "3"), ("1e2", "x", "y")):  # would be taken for values
        domain = Domain((Attribute("age", texts, edges), Attribute("b", ("x", "y"))))
        counted = count_table({"age": [1, 30, 70], "b": ["x", "y", "y"]}, domain=domain)
        with pytest.raises(DomainError, match="bins that are not those of the plan by name"):
            estimate(counted, independent(domain, 1.0))


def test_tables_that_are_no_reports_of_the_plan(plan: CollectionPlan, tmp_path: Path) -> None:
    write_reports(drawn(plan, 50), tmp_path / "r.parquet")
    frame = pl.read_parquet(tmp_path / "r.parquet")
    counted = count_table(frame, domain=DOMAIN)
    weighted = count_table(frame.with_columns(w=pl.lit(2)), domain=DOMAIN, weights="w")
    swapped = Domain((Attribute("sex", ("m", "f")), *list(DOMAIN)[1:]))
    wide = Domain((*DOMAIN, Attribute("more", (1,))))
    few = DOMAIN.project(["sex", "age"])
    edged = Domain((*list(DOMAIN)[:2], Attribute("age", (1, 2), edges=(0.0, 1.5, 3.0))))
    binned = independent(edged, 1.0)
    other = count_table(
        frame.with_columns(pl.lit("0123456789abcdef release").alias("(plan)")),
        domain=Domain((*DOMAIN, Attribute("(plan)", ("0123456789abcdef release",)))),
    )
    for counts, under, error, message in (
        (weighted, plan, InvalidInputError, "without weights"),
        (count_table(frame, domain=swapped), plan, DomainError, "categories of the plan for 'sex'"),
        (count_table(frame, domain=few), plan, DomainError, "got none for 'smoker'"),
        (
            count_table(frame.with_columns(more=pl.lit(1)), domain=wide), plan,
            DomainError, "the plan only, got 'more'",
        ),
        (count_table(frame, domain=edged), binned, DomainError, "categories of the plan for 'age'"),
        (other, plan, TableError, "made by another one"),
        (counted, PLANS["mixed"], InvalidInputError, "what was reported of 'sex'"),
        (counted, PLANS["views"], InvalidInputError, "what was reported of"),
        (counted, independent(DOMAIN, 1.0, mechanism="unary"), InvalidInputError, "made with the"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            estimate(counts, under)
    with pytest.raises(InvalidInputError, match="not sex × smoker × age"):
        estimate(counted, plan, 3)
    with pytest.raises(InvalidInputError, match="not age × sex × smoker"):
        estimate(counted, PLANS["joint"])
    # Positions of categories stand in the files, which would be taken for labels.
    coded = independent(Domain((Attribute("a", (1, 0, "x")), Attribute("b", (1, 2)))), 1.0)
    positions = count_table({"a": [1, 0, 1], "b": [1, 2, 2]}, domain=coded.domain)
    with pytest.raises(InvalidInputError, match="what was reported of 'a'"):
        estimate(positions, coded)


def opened(content: bytes) -> tuple[dict, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("counts.json")), archive.read("tables.bin")


def sealed(head: dict, body: bytes) -> bytes:
    head = head | {"checksum": count_archive.checksum(head, body)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("counts.json", json.dumps(head))
        archive.writestr("tables.bin", body)
    return stream.getvalue()


def test_truncated_and_flipped_files_are_refused(plan: CollectionPlan, parts: list[Path]) -> None:
    content = parts[0].read_bytes()
    before = read_report_counts(parts[0], plan)
    for length in range(0, len(content), 61):
        parts[0].write_bytes(content[:length])
        with pytest.raises(TableError, match="damaged or edited"):
            estimate(parts[0], plan)
    for place in range(0, len(content), 17):
        flipped = bytes([content[place] ^ 0xFF])
        parts[0].write_bytes(content[:place] + flipped + content[place + 1 :])
        try:
            assert read_report_counts(parts[0], plan) == before
        except TableError:
            continue


HOSTILE = {
    "version": ({"version": 2}, "got version 2"),
    "format": ({"format": "else"}, "damaged"),
    "plan": ({"plan": "0" * 64}, "another plan"),
    "plan no text": ({"plan": 3}, "damaged"),
    "plan null": ({"plan": None}, "damaged"),
    "weighted": ({"weighted": True}, "damaged"),
    "records": ({"records": 99}, "do not add up"),
    "no records": ({"records": 0, "reported": [0, 0, 0], "parts": []}, "do not add up"),
    "truth value": ({"records": True}, "damaged"),
    "reported": ({"reported": [100, 100]}, "damaged"),
    "reported less": ({"reported": [100, 100, 99]}, "do not add up"),
    "reported text": ({"reported": ["100"] * 3}, "damaged"),
    "simulated": ({"simulated": 101}, "do not add up"),
    "negative": ({"simulated": -1, "unknown": 1}, "do not add up"),
    "parts": ({"parts": [["a", 100, 1]]}, "damaged"),
    "parts twice": ({"parts": [["a", 50], ["a", 50]]}, "do not add up"),
    "parts more": ({"parts": [["a", 101]]}, "do not add up"),
    "part no text": ({"parts": [[1, 100]]}, "damaged"),
    "sets": ({"sets": [["sex", "nobody"]]}, "nobody"),
    "sets of numbers": ({"sets": [3]}, "damaged"),
    "no sets": ({"sets": []}, "at least one set"),
    "other sets": ({"sets": [["sex", "age"]]}, "types are not"),
    "types": ({"types": ["u3"] * 6}, "types are not"),
    "types of types": ({"types": [[]] * 6}, "damaged"),
    "wide types": ({"types": ["u8"] * 6}, "checksum"),
    "notes": ({"notes": [1]}, "damaged"),
    "covariance": ({"covariance": 1}, "damaged"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_heads(change: dict, message: str, plan: CollectionPlan, parts: list[Path]) -> None:
    head, body = opened(parts[0].read_bytes())
    parts[0].write_bytes(sealed(head, body))
    assert estimate(parts[0], plan).size == 100
    parts[0].write_bytes(sealed(head | change, body))
    with pytest.raises(SeepageError, match=message):
        estimate(parts[0], plan)
    absent = {key: value for key, value in head.items() if key not in change}
    parts[0].write_bytes(sealed(absent, body))
    with pytest.raises(SeepageError):
        estimate(parts[0], plan)


def test_hostile_tables(plan: CollectionPlan, parts: list[Path], tmp_path: Path) -> None:
    head, body = opened(parts[0].read_bytes())
    more = bytearray(body)
    more[0] += 1
    for content in (bytes(more), body[:-1], body + b"\0"):
        parts[0].write_bytes(sealed(head, content))
        with pytest.raises(TableError, match=r"do not add up|checksum"):
            estimate(parts[0], plan)
    unary = PLANS["mixed"]
    path = tmp_path / "u.counts"
    write_report_counts(count_reports(drawn(unary, 40), unary, 1, covariance=True), path)
    head, _ = opened(path.read_bytes())
    numbers = {"types": ["f8"] * len(head["types"])}
    size = sum(
        x.size
        for sums in [read_report_counts(path, unary).sums]
        for x in (*sums.tables.values(), *sums.grams.values())
    )
    for value in (np.nan, np.inf, -1.0, 41.0):
        path.write_bytes(sealed(head | numbers, np.full(size, value).tobytes()))
        with pytest.raises(TableError, match="do not add up"):
            estimate(path, unary, 1)


def test_what_cannot_be_written(plan: CollectionPlan, tmp_path: Path) -> None:
    made = count_reports(drawn(plan, 10), plan)
    for wrong, path, message in (
        (made, tmp_path / "a.json", "ends in .counts"),
        (None, tmp_path / "a.counts", "expected Estimates"),
        (made.project(), tmp_path / "a.counts", "expected Estimates"),
        (Estimates.of(plan), tmp_path / "a.counts", "got none"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            write_report_counts(wrong, path)
    for wrong in (None, 3, [], "no such file.counts", tmp_path):
        with pytest.raises(SeepageError):
            read_report_counts(wrong, plan)
    with pytest.raises(InvalidInputError, match="at least one file"):
        merge_report_counts([], plan)
    with pytest.raises(InvalidInputError, match="plan"):
        read_report_counts(tmp_path / "a.counts", 3)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="No such file"):
        write_report_counts(made, tmp_path / "no folder" / "a.counts")
