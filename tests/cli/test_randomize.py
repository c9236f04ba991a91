"""What the randomize command writes, and how it fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from seepage.collect.plan_files import read_plan
from seepage.plan.randomizing import randomize
from seepage.plan.reports_io import read_reports, reports_frame

Run = Callable[..., Result]

YAML = """\
columns:
  sex: {categories: [f, m]}
  coin: {categories: [heads, tails]}
  age: {bins: [0, 30, 120], missing: unknown}
"""


@pytest.fixture
def plan(run: Run, folder: Path) -> Path:
    (folder / "domain.yaml").write_text(YAML, encoding="utf-8")
    assert run("plan", "domain.yaml", "-e", "1", "-o", "plan.json").exit_code == 0
    return folder / "plan.json"


def test_release(run: Run, people: Path, plan: Path) -> None:
    result = run("randomize", people, "--plan", plan, "--out", "r.parquet")
    assert result.exit_code == 0, result.output
    made = read_plan(plan)
    assert result.stdout == (
        f"8 records randomised under the plan {made.fingerprint[:16]}; ε of a record is 3.\n"
    )
    assert result.stderr == "wrote r.parquet\n"
    reports = read_reports("r.parquet", plan)
    assert reports.size == 8
    assert not reports.simulated
    quiet = run("randomize", people, "-p", plan, "-o", "r.csv", "-q")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".arrow"])
def test_simulation(run: Run, people: Path, plan: Path, ending: str) -> None:
    result = run("randomize", people, "-p", plan, "-o", f"r{ending}", "--seed", "4", "-q")
    assert result.exit_code == 0, result.output
    assert result.stderr == "simulation, not a release: the randomness was seeded\n"
    reports = read_reports(f"r{ending}", plan)
    assert reports.simulated
    expected = reports_frame(randomize(people, plan, rng=4))
    assert reports_frame(reports).equals(expected)
    first = Path(f"r{ending}").read_bytes()
    run("randomize", people, "-p", plan, "-o", f"r{ending}", "--seed", "4")
    assert Path(f"r{ending}").read_bytes() == first


def test_example(run: Run) -> None:
    assert run("plan", "--example", "-e", "0.5", "-o", "p.json").exit_code == 0
    result = run("randomize", "--example", "--plan", "p.json", "--out", "r.parquet")
    assert result.exit_code == 0, result.output
    assert pl.read_parquet("r.parquet").shape == (20_190, 11)


def test_a_plan_from_data_warns(run: Run, people: Path) -> None:
    run("plan", people, "-e", "1", "-o", "p.json")
    result = run("randomize", people, "-p", "p.json", "-o", "r.csv")
    assert result.exit_code == 0
    assert "warning: the categories of this plan were read from data" in result.stderr


def test_nothing_unprotected_is_released_by_accident(run: Run, people: Path, plan: Path) -> None:
    assert run("plan", "domain.yaml", "-e", "1", "-e", "coin=inf", "-o", "open.json").exit_code == 0
    result = run("randomize", people, "-p", "open.json", "-o", "r.csv")
    assert result.exit_code == 2
    assert "reports can reveal the value of 'coin'" in result.stderr
    assert not Path("r.csv").exists()
    for option in (["--unprotected"], ["--seed", "1"]):
        result = run("randomize", people, "-p", "open.json", "-o", "r.csv", *option)
        assert result.exit_code == 0, result.output
        assert "warning: Not protected: reports can reveal the value of 'coin'." in result.stderr


def test_format_options(run: Run, plan: Path, folder: Path) -> None:
    table = folder / "t.csv"
    table.write_bytes("f;heads;17\n *m*;?;44\n".encode("utf-16"))
    options = ("--no-header", "--names", "sex,coin,age", "-s", ";", "--encoding", "utf-16")
    result = run("randomize", table, *options, "--strip", "*", "-p", plan, "-o", "r.csv")
    assert result.exit_code == 2
    assert "'coin'" in result.stderr
    table.write_bytes("f;heads;?\n *m*;tails;44\n".encode("utf-16"))
    result = run(
        "randomize", table, *options, "--strip", "*", "--null", "?", "-p", plan, "-o", "r.csv"
    )
    assert result.exit_code == 0, result.output
    assert read_reports("r.csv", plan).size == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("f,heads,200", "'age'.*200"),
        ("x,heads,20", "'sex'.*'x'"),
        (",heads,20", "'sex'"),
        ("f,heads", "line|fields"),
    ],
)
def test_nothing_is_written_for_values_outside_the_domain(
    run: Run, plan: Path, folder: Path, rows: str, message: str
) -> None:
    table = folder / "t.csv"
    table.write_text(f"sex,coin,age\nm,tails,30\n{rows}\n", encoding="utf-8")
    before = sorted(folder.iterdir())
    result = run("randomize", table, "-p", plan, "-o", "r.parquet")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert re.search(message, line), line
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "r.xlsx"], "r.xlsx"),
        (["-o", "-"], "--out"),
        (["-o", "people.csv"], "--out"),
        (["-o", "no/r.csv"], "no/r.csv"),
        (["-o", "r.csv", "--seed", "-1"], "-1"),
        (["-o", "r.csv", "--seed", "1", "--seed", "2"], "one --seed, got 1 and 2"),
        (["-o", "r.csv", "--example"], "TABLE or --example"),
    ],
)
def test_bad_options(
    run: Run, people: Path, plan: Path, folder: Path, options: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("randomize", people, "-p", plan, *options)
    assert result.exit_code == 2, result.output
    assert re.search(message, result.stderr), result.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_bad_plans(run: Run, people: Path, plan: Path) -> None:
    text = plan.read_text("utf-8")
    for bad, word in ((text[:300], "truncated"), (text.replace("heads", "feet"), "checksum")):
        plan.write_text(bad, encoding="utf-8")
        result = run("randomize", people, "-p", plan, "-o", "r.csv")
        assert result.exit_code == 2
        assert word in result.stderr
        assert not Path("r.csv").exists()
    assert run("randomize", people, "-p", "absent.json", "-o", "r.csv").exit_code == 2
    assert run("randomize", people, "-o", "r.csv").exit_code == 2


def test_reports_are_refused(run: Run, people: Path, plan: Path) -> None:
    assert run("randomize", people, "-p", plan, "-o", "r.csv", "-q").exit_code == 0
    again = run("randomize", "r.csv", "-p", plan, "-o", "twice.csv")
    assert again.exit_code == 2
    assert "expected a table of true values, got reports" in again.stderr
    assert not Path("twice.csv").exists()


def test_null_values_that_are_categories(run: Run, people: Path, plan: Path) -> None:
    """`f` can mean missing in the column age, which has a category for that."""
    told = run("randomize", people, "-p", plan, "-o", "r.csv", "--null", "f")
    assert told.exit_code == 0, told.output
    assert told.stderr.startswith(
        "warning: 'f' is a category of column 'sex' and stays one there; it means missing in age "
    )
    assert run("plan", "domain.yaml", "-x", "age", "-e", "1", "-o", "two.json").exit_code == 0
    refused = run("randomize", people, "-p", "two.json", "-o", "none.csv", "--null", "f")
    assert refused.exit_code == 2
    assert "got 'f', which is a category of column 'sex'" in refused.stderr
    assert not Path("none.csv").exists()


def test_a_second_draw_is_told(run: Run, people: Path, plan: Path) -> None:
    said = "warning: r.csv existed; whoever has both sees two draws"
    assert said not in run("randomize", people, "-p", plan, "-o", "r.csv").stderr
    again = run("randomize", people, "-p", plan, "-o", "r.csv")
    assert again.exit_code == 0
    assert again.stderr.splitlines() == [said, "wrote r.csv"]
    # Simulations may be repeated, and a device keeps nothing.
    assert said not in run("randomize", people, "-p", plan, "-o", "r.csv", "--seed", "1").stderr
    assert run("randomize", people, "-p", plan, "-o", "r.csv", "-q").stderr == ""
