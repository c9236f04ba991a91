"""What the calibrate command writes, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.plan.calibrate import calibrate

Run = Callable[..., Result]


def read(result: Result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_report(run: Run, people: Path) -> None:
    result = run("calibrate", people, "--target", "2")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "exceeds 2 nats" in result.stdout
    assert "people.csv: 4 columns, target 2.000 nats, total by a dependency tree" in result.stdout
    for title in ("Budgets", "What binds", "Against splitting equally", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    # `sex` and `copy` say the same, so they share what `coin` has alone.
    lines = [line.split() for line in result.stdout.splitlines()]
    rows = {line[0]: line for line in lines if len(line) > 5 and line[0] in {"sex", "coin"}}
    assert rows["coin"][1:5] == ["2", "2.000", "0.500", "2.000"]
    assert rows["sex"][1:5] == ["2", "1.000", "0.500", "2.000"]
    assert rows["coin"][-2:] == ["at", "target"]
    assert "\x1b" not in result.stdout


def test_json_is_the_result(run: Run, people: Path) -> None:
    content = read(run("calibrate", people, "--json"))
    assert content["format"] == "seepage.budgets"
    expected = calibrate(people, 3.0)
    assert content == json.loads(expected.to_json())


def test_options_reach_the_calibration(run: Run, people: Path) -> None:
    content = read(
        run(
            "calibrate", people, "-x", "age", "-t", "2", "-m", "group", "--objective", "sum",
            "--importance", "sex=3", "--minimum", "0.25", "--minimum", "coin=0.5",
            "--maximum", "sex=0.75", "--json",
        )
    )  # fmt: skip
    assert content["method"] == "group"
    assert content["objective"]["name"] == "sum"
    assert content["bounds"] == {"sex": [0.25, 0.75], "copy": [0.25, "inf"], "coin": [0.5, "inf"]}
    assert content["budgets"]["sex"] == pytest.approx(0.75)
    assert sum(content["budgets"].values()) <= 2
    expected = calibrate(
        people, 2.0, exclude=["age"], method="group", objective="sum", weights={"sex": 3.0},
        minimum={"sex": 0.25, "copy": 0.25, "coin": 0.5}, maximum={"sex": 0.75},
    )  # fmt: skip
    assert content["budgets"] == dict(expected.budgets)


def test_kway(run: Run, people: Path) -> None:
    three = read(run("calibrate", people, "--objective", "kway", "--k", "3", "--json"))
    assert "3-way" in three["objective"]["meaning"]
    assert "2-way" in read(run("calibrate", people, "--objective", "kway", "--json"))["objective"][
        "meaning"
    ]  # fmt: skip


def test_one_column(run: Run, people: Path) -> None:
    assert read(run("calibrate", people, "-c", "sex", "--json"))["budgets"] == {
        "sex": pytest.approx(3.0)
    }


def test_budgets_go_back_into_an_audit(run: Run, people: Path) -> None:
    made = run("calibrate", people, "--out", "budgets.json")
    assert made.exit_code == 0, made.output
    assert made.stderr == "wrote budgets.json\n"
    assert "--budgets budgets.json" in made.stdout
    budgets = json.loads(Path("budgets.json").read_text(encoding="utf-8"))["budgets"]
    audited = read(run("audit", people, "--budgets", "budgets.json", "--json"))
    assert audited["budgets"] == budgets
    some = read(run("audit", people, "--budgets", "budgets.json", "-b", "sex=0", "--json"))
    assert some["budgets"] == budgets | {"sex": 0.0}


def test_infinite_budgets_go_back_into_an_audit(run: Run, people: Path) -> None:
    assert run("calibrate", people, "-t", "inf", "-o", "b.json").exit_code == 0
    audited = read(run("audit", people, "--budgets", "b.json", "--json"))
    assert set(audited["budgets"].values()) == {"inf"}


def test_every_file(run: Run, people: Path, folder: Path) -> None:
    result = run(
        "calibrate", people, "-o", "b.json", "--json=same.json", "--csv", "b.csv",
        "--html", "b.html", "--chart", "b.png", "--chart", "b.svg", "--quiet",
    )  # fmt: skip
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (folder / "b.json").read_bytes() == (folder / "same.json").read_bytes()
    rows = list(csv.DictReader(io.StringIO((folder / "b.csv").read_text(encoding="utf-8"))))
    assert [row["attribute"] for row in rows] == ["sex", "copy", "coin", "age"]
    assert max(float(row["total"]) for row in rows) <= 3
    assert (folder / "b.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "b.svg").read_bytes()
    assert "<html" in (folder / "b.html").read_text(encoding="utf-8")


def test_csv_alone_on_standard_output(run: Run, people: Path) -> None:
    result = run("calibrate", people, "--csv", "-")
    assert result.stderr == ""
    assert len(list(csv.reader(io.StringIO(result.stdout)))) == 5


def test_example(run: Run) -> None:
    result = run("calibrate", "--example", "--method", "pairwise")
    assert result.exit_code == 0, result.output
    assert "no bound" in result.stdout


@pytest.mark.parametrize("target", ["0", "1e-9", "700", "inf"])
@pytest.mark.parametrize("method", ["tree", "pairwise", "group"])
def test_extreme_targets(run: Run, people: Path, target: str, method: str) -> None:
    result = run("calibrate", people, "-t", target, "-m", method)
    assert result.exit_code == 0, result.output
    assert "nan" not in result.output.lower().replace("nats", "")
    content = read(run("calibrate", people, "-t", target, "-m", method, "--json"))
    totals = [math.inf if v == "inf" else v for v in content["totals"].values()]
    assert max(totals) <= float(target)


def test_infeasible(run: Run, people: Path, folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = run(
        "calibrate", people, "--minimum", "1.6", "-o", "b.json", "--json", "--html", "x.html"
    )
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("target missed: expected a target that the minimum budgets meet, got 3")
    assert "3.2 nats about 'copy'" in line or "3.2 nats about 'sex'" in line
    assert "1.6 of it through its own report" in line
    assert line.endswith("lower the minimum budgets or raise the target")
    assert sorted(folder.iterdir()) == before
    assert run("calibrate", people, "--minimum", "1.6", "-t", "3.2").exit_code == 0


OPTIONS = [
    (["-t", "-1"], "--target.*'-1'"),
    (["-t", "nan"], "--target.*'nan'"),
    (["--minimum", "x"], "--minimum.*'x'"),
    (["--minimum", "1", "--minimum", "2"], "one --minimum for all columns, got '1' and '2'"),
    (["--minimum", "sex=1", "--minimum", "sex=2"], "one --minimum for column 'sex'"),
    (["--minimum", "sex=-1"], "--minimum of column 'sex'.*'-1'"),
    (["--minimum", "sexx=1"], "'sexx'.*'sex'"),
    (["--maximum", "sexx=1"], "'sexx'.*'sex'"),
    (["--maximum", "=1"], "--maximum EPS or NAME=EPS, got '=1'"),
    (["--minimum", "2", "--maximum", "sex=1"], "minimum <= maximum for 'sex', got 2 and 1"),
    (["--importance", "sexx=1"], "'sexx'.*'sex'"),
    (["--importance", "sex"], "--importance NAME=W, got 'sex'"),
    (["--importance", "sex=0"], "importance of column 'sex' to be positive, got '0'"),
    (["--importance", "sex=inf"], "importance of column 'sex' to be positive, got 'inf'"),
    (["--importance", "sex=a"], "importance of column 'sex'.*'a'"),
    (["--k", "2"], "--k with --objective kway only"),
    (["--k", "9", "--objective", "kway"], r"k from 1 to the number of attributes \(4\), got 9"),
    (["--k", "0", "--objective", "kway"], "got 0"),
    (["--chart", "x.bmp"], "x.bmp"),
    (["--html", "people.csv"], "--html"),
    (["--out", "people.csv"], "--out"),
    (["--out", "b.json", "--json=b.json"], "'b.json' for --out and --json"),
    (["--out", "no/b.json"], "no/b.json"),
    (["--example"], "TABLE or --example"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=lambda x: str(x)[:40])
def test_bad_options(
    run: Run, people: Path, folder: Path, options: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("calibrate", people, *options, "--csv", "never.csv")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.search(message, result.stderr), result.stderr
    assert result.stderr.startswith("error: ")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_no_table(run: Run) -> None:
    result = run("calibrate")
    assert result.exit_code == 2
    assert "expected a TABLE or --example, got neither" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--method", "joint"], ["--objective", "best"], ["--k", "two"], ["--top", "3"]]
)
def test_usage_errors(run: Run, people: Path, arguments: list[str]) -> None:
    result = run("calibrate", people, *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_help(run: Run) -> None:
    shown = run("calibrate", "--help")
    assert shown.exit_code == 0
    for word in ("Table", "Budgets", "Output", "--importance", "seepage calibrate --example"):
        assert word in shown.stdout
    assert "calibrate" in run("--help").stdout
