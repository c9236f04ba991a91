"""The page of reproduced tables and figures, and what the scripts behind it compute themselves."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import seepage as sp
from seepage.leakage.triad import UncalibratedTriad

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "reproduce"
RESULTS = FOLDER / "results"


@pytest.fixture
def script(monkeypatch):
    """Import a script by its name; the folder is off the path again afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            sys.modules.pop(name)


def test_the_page_is_what_its_script_makes_of_the_results(script):
    page = script("page")
    made = page.page(script("common").read_reports(RESULTS), "images")
    assert (ROOT / "docs" / "reproduction.md").read_text("utf-8") == made


def test_every_item_of_the_papers_is_on_the_page(script):
    reports = script("common").read_reports(RESULTS)
    page = script("page")
    assert set(reports) == {name for names in page.PAPERS.values() for name in names}
    text = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
    assert "not run here" not in text
    for report in reports.values():
        assert report.comparisons
        assert f'<a id="{report.name}"></a>' in text
        if report.on_page:
            assert (ROOT / "docs" / "images" / report.picture).stat().st_size > 10_000


def test_deviations_on_the_page_have_their_cause_below(script):
    page = script("page")
    for report in script("common").read_reports(RESULTS).values():
        section = page.section(report, "images")
        assert section.count("**deviation**") == len(report.deviations)
        for mark in re.findall(r"\*\*deviation\*\* \((\w)\)", section):
            assert f"\n* ({mark}) " in section


def test_celeba_is_reproduced_to_every_digit(script):
    rows = script("common").read_reports(RESULTS)["table3"].comparisons
    mine = [row for row in rows if row.quantity.startswith("CelebA")]
    assert len(mine) == 6
    assert {row.verdict for row in mine} == {"within"}


def rows_of(text: str) -> list[tuple[str, ...]]:
    """The cells of all tables of a page, with percent signs as the results have them."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [
        tuple(cell.strip().replace(" %", "%") for cell in line.strip("|").split("|"))
        for line in lines
    ]


def test_the_page_on_uncertainty_has_the_same_numbers(script):
    reports = script("common").read_reports(RESULTS)
    rows = rows_of((ROOT / "docs" / "uncertainty.md").read_text("utf-8"))
    limits = {row[1:] for row in reports["figure8"].listings[0].rows if row[0] == "10%"}
    plans = {row[1:6] + row[7:] for row in reports["figure9"].listings[0].rows}
    assert len(limits & {row for row in rows if len(row) == 5}) == 4
    assert plans == {row[1:] for row in rows if len(row) == 7 and row[0] != "plan"}


@pytest.mark.parametrize(
    ("printed", "ours", "verdict", "tolerance"),
    [
        ("101.04", 101.0414, "within", "every printed digit"),
        ("221.53", 221.5363, "within", "every printed digit, cut off"),
        ("0.16", 0.1565, "within", "every printed digit"),
        ("1", 0.2, "within", "every printed digit, cut off"),
        ("101.04", 101.0601, "deviation", "every printed digit"),
        ("9", 10.5, "deviation", "every printed digit"),
    ],
)
def test_digits(script, printed, ours, verdict, tolerance):
    row = script("common").digits("x", printed, ours, cause="tested")
    assert (row.verdict, row.tolerance) == (verdict, tolerance)
    assert row.cause == ("tested" if verdict == "deviation" else "")


def test_tolerances(script):
    common = script("common")
    assert common.close("x", "2.00", 2.019, 0.01).verdict == "within"
    assert common.close("x", "2.00", 1.97, 0.01, cause="c").ours == "1.97 (−1.5%)"
    assert common.below("x", 0.1, 0.09).verdict == "within"
    assert common.below("x", 0.1, 0.1, cause="c").verdict == "deviation"
    with pytest.raises(ValueError, match="expected a cause for the deviation of 'x'"):
        common.below("x", 0.1, 0.2)
    with pytest.raises(ValueError, match="expected 'within' or 'deviation', got 'near'"):
        common.Comparison("x", "1", "1", "", "near")


def test_reports_survive_their_file(script, tmp_path, capsys):
    common = script("common")
    report = common.Report(
        "n", "Table 0", "t", "d", "m",
        comparisons=(common.below("x", 1, 2, cause="c"),),
        missing=("a",), notes=("b",),
        listings=(common.Listing("l", ("h",), (("r",),)),),
        picture="n.png", on_page=True,
    )  # fmt: skip
    report.write(tmp_path)
    assert "Table 0: 0 of 1 comparisons within tolerance" in capsys.readouterr().out
    assert common.read_reports(tmp_path) == {"n": report}


def copied(folder: Path) -> Path:
    """The scripts away from the repository, where no data lie beside them."""
    copy = folder / "repository" / "reproduce"
    copy.mkdir(parents=True)
    for path in FOLDER.glob("*.py"):
        (copy / path.name).write_text(path.read_text("utf-8"), "utf-8")
    return copy


def test_without_data_the_others_run(tmp_path):
    out = tmp_path / "out"
    names = ("attenuation", "table3", "figure7", "figure10", "table5")
    done = subprocess.run(
        [sys.executable, copied(tmp_path) / "run.py", "--out", out, "--only", *names],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SEEPAGE_DATA": str(tmp_path / "empty")},
    )
    assert done.returncode == 0, done.stderr
    for i, name in enumerate(names, start=1):
        assert re.search(rf"^\[{i}/5\] {name}: \d+ s$", done.stdout, re.MULTILINE)
    for what in ("Table III, CelebA", "Figure 7, ACS excerpt", "Part of Figure 10", "Table V"):
        assert f"{what} skipped: expected " in done.stdout
    assert {path.name for path in out.glob("*.json")} == {
        "attenuation-table1.json",
        "attenuation-figure1.json",
    }
    text = (out / "reproduction.md").read_text("utf-8")
    assert "[Table 1](#attenuation-table1)" in text
    assert "| Dependency Triad | table3 | not run here |" in text


def test_a_script_that_fails_is_named(tmp_path):
    copy = copied(tmp_path)
    (copy / "attenuation.py").write_text("raise SystemExit('no')\n", "utf-8")
    done = subprocess.run(
        [sys.executable, copy / "run.py", "--out", tmp_path / "out", "--only", "attenuation"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "failed: attenuation" in done.stderr


def test_celeba_sums(script, data_dir):
    datasets, table3 = script("datasets"), script("table3")
    (tables,) = datasets.at_hand(data_dir, "this test", ("CelebA",))
    found = table3.measure(tables.without(datasets.FIRST), table3.EPSILONS)
    assert_allclose(found["TCPL*"], [101.0414, 221.5363], atol=5e-5)
    assert_allclose(found["DT"], found["TCPL*"], rtol=1e-12)
    assert_allclose(
        table3.measure(tables, table3.EPSILONS)["TCPL*"], [106.4573, 233.7778], atol=5e-5
    )


def test_celeba_rows_are_those_of_the_first_attribute(script, data_dir):
    (tables,) = script("datasets").at_hand(data_dir, "this test", ("CelebA",))
    P = tables.tables["Male", "Wearing_Lipstick"]
    assert sp.TradeOff.envelope(P).leakage(1.0) == pytest.approx(0.85826246, abs=5e-9)


def test_survey_of_all_attributes(script, data_dir):
    (tables,) = script("datasets").at_hand(data_dir, "this test", ("ACS excerpt",))
    assert tables.attributes == 20
    assert len(tables.tables) == 20 * 19
    assert all(np.allclose(P.sum(axis=1), 1) for P in tables.tables.values())


def test_uncalibrated_without_zeros(script):
    P = np.random.default_rng(0).dirichlet(np.ones(7), 5)
    ours, theirs = script("figure5").uncalibrated(P), UncalibratedTriad.from_conditional(P)
    assert ours.to_dict() == pytest.approx(theirs.to_dict(), rel=1e-12)


def test_correlations_against_numpy(script):
    rng = np.random.default_rng(1)
    x, y = rng.gamma(1, size=50), rng.gamma(1, size=(50, 3))
    expected = [np.corrcoef(np.log(x), np.log(y[:, i]))[0, 1] for i in range(3)]
    assert_allclose(script("figure7").correlations(x, y), expected, rtol=1e-12)


@pytest.mark.parametrize("regime", range(6))
def test_regimes(script, regime):
    table4 = script("table4")
    table = list(table4.REGIMES.values())[regime](np.random.default_rng(regime))
    assert table.shape == (100, 100)
    assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    found = table4.measure(table)
    exact = [sp.baselines.hcc2(table, e) for e in table4.EPSILONS]
    assert_allclose(found[table4.EXACT], exact, rtol=1e-9)
    # HCC-1 of k-ary randomised response, by the product of the two channels.
    for e, value in zip(table4.EPSILONS, found[table4.GRR], strict=True):
        channel = sp.randomized_response(100, e).matrix
        assert np.log((table @ channel).max(axis=0) / (table @ channel).min(axis=0)).max() == (
            pytest.approx(value, rel=1e-9, abs=1e-12)
        )
    for name in (table4.TRIAD, table4.FITTED, table4.PLAIN):
        assert (found[name] >= found[table4.EXACT] - 1e-12).all()


def test_table4_runs_on_two_tables(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "table4.py", "--tables", "2", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Table IV: " in done.stdout
    assert (tmp_path / "table4.png").stat().st_size > 10_000
    assert (tmp_path / "table4.json").is_file()


def test_figure5_runs_without_the_published_tables(tmp_path):
    done = subprocess.run(
        [sys.executable, copied(tmp_path) / "figure5.py", "--sizes", "4", "10", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SEEPAGE_DATA": str(tmp_path / "empty")},
    )
    assert done.returncode == 0, done.stderr
    assert "Figure 5: " in done.stdout
    assert "published" not in (tmp_path / "figure5.csv").read_text("utf-8")


def test_the_sine_model_is_that_of_the_benchmarks(script, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    theirs = importlib.import_module("leakage").sine_model(7)
    sys.modules.pop("leakage")
    sys.modules.pop("shared", None)
    assert_allclose(script("common").sine_model(7), theirs, rtol=1e-15)


def test_budgets_of_table5_reach_the_error(script):
    table5 = script("table5")
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 3000)
    codes = np.column_stack(
        [first, (first + (rng.random(3000) < 0.2)) % 2, rng.integers(0, 3, 3000)]
    )
    domain = sp.Domain.of({"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]})
    people = table5.People("drawn", domain, codes)
    model = table5.triad_model(people)
    found = {kind: table5.at_error(people, model, kind, 0.1) for kind in (table5.DT, table5.SPL)}
    exact = {names: table5.truth(people, names) for names in [("a", "b", "c")]}
    for each in found.values():
        assert each["error"] <= 0.1
        assert table5.distance(people, each["plan"], exact) == each["error"]
    # Less than the record tells, what all reports tell about one attribute.
    assert max(found[table5.DT]["totals"].values()) <= found[table5.DT]["epsilon"] * (1 + 1e-9)
    assert found[table5.SPL]["plan"].epsilon == pytest.approx(found[table5.SPL]["epsilon"])
    attacks = table5.attack(people, found[table5.SPL]["plan"], ["bayes"])
    # b is a copy of a in four of five records; c is independent and cannot be told.
    assert attacks["b"]["bayes"].accuracy.estimate > attacks["b"]["prior"].accuracy.estimate
    assert attacks["c"]["bayes"].accuracy.upper > 1 / 3
