"""What the plan command writes, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.collect.plan_files import plan_from_text, read_plan
from seepage.plan.collecting import make_plan
from seepage.results import Standing

Run = Callable[..., Result]

YAML = "columns: {sex: {categories: [f, m]}, copy: {categories: [F, M]}, coin: [heads, tails]}\n"


@pytest.fixture
def domain(folder: Path) -> Path:
    path = folder / "domain.yaml"
    path.write_text(YAML, encoding="utf-8")
    return path


def test_a_domain(run: Run, domain: Path) -> None:
    result = run("plan", domain, "--epsilon", "0.5", "--out", "plan.json")
    assert result.exit_code == 0, result.output
    assert result.stderr == "wrote plan.json\n"
    made = make_plan(domain, epsilon=0.5)
    assert read_plan("plan.json") == made
    words = " ".join(result.stdout.split())
    assert made.verdict in words
    assert "domain.yaml: 3 attributes" in words
    assert re.search(r"coin +2 +grr +0\.500 +1\.500 +upper", result.stdout)
    assert "(record) ε 1.500" in words
    assert "seepage randomize … --plan plan.json" in words
    for title in ("Plan", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_table_that_gives_the_domain_warns(run: Run, people: Path) -> None:
    result = run("plan", people, "-x", "age", "-e", "1", "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: the categories were read from data")
    plan = plan_from_text(result.stdout)
    assert plan == make_plan(people, epsilon=1.0, exclude=["age"])
    assert plan.totals["copy"].value == pytest.approx(2.0)  # its own, and that of `sex`
    quiet = run("plan", people, "-x", "age", "-e", "1", "-o", "p.json", "-q")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_a_table_with_a_domain(run: Run, people: Path, domain: Path) -> None:
    result = run("plan", people, "-d", domain, "-e", "1", "--json")
    assert result.stderr == (
        "warning: totals or budgets in the plan were computed from a table; they are published "
        "with the plan without protection\n"
    )
    plan = plan_from_text(result.stdout)
    assert plan.totals["copy"].value == pytest.approx(2.0)
    assert plan.domain.names == ("sex", "copy", "coin")


def test_options(run: Run, domain: Path) -> None:
    made = run(
        "plan", domain, "-e", "1", "-e", "coin=inf", "-m", "oue", "-m", "coin=grr",
        "-g", "sex,copy", "--json",
    )  # fmt: skip
    plan = plan_from_text(made.stdout)
    assert [(u.names, u.mechanism.kind) for u in plan.units] == [
        (("sex", "copy"), "unary"),
        (("coin",), "grr"),
    ]
    assert plan.budgets == {"sex": 2.0, "copy": 2.0, "coin": float("inf")}
    views = plan_from_text(run("plan", domain, "-e", "2", "--design", "views", "--json").stdout)
    assert len(views.units) == 3
    assert views == make_plan(domain, epsilon=2.0, design="views")
    one = run("plan", domain, "-e", "2", "--design", "views", "--k", "1", "--json")
    assert {len(unit.names) for unit in plan_from_text(one.stdout).units} == {1}
    split = plan_from_text(run("plan", domain, "-e", "3", "--design", "split", "--json").stdout)
    assert split.epsilon == 3.0
    only = plan_from_text(run("plan", domain, "-e", "3", "-c", "coin", "--json").stdout)
    assert only.domain.names == ("coin",)


def test_fake_data_says_what_it_does_not_promise(run: Run, domain: Path) -> None:
    result = run("plan", domain, "-e", "1", "--design", "fake")
    words = " ".join(result.stdout.split())
    assert "Records that differ in every attribute are told apart by ε = 1.817" in words
    assert "differ in one by at most 1 (both exact; the ε usually stated is 1)" in words


def test_calibrated(run: Run, people: Path, domain: Path) -> None:
    arguments = (people, "-d", domain)
    assert run("calibrate", *arguments, "-t", "2", "-o", "b.json").exit_code == 0
    result = run("plan", *arguments, "-b", "b.json", "--design", "calibrated", "--json")
    plan = plan_from_text(result.stdout)
    assert plan.target == 2.0
    assert plan.totals[plan.worst].value <= 2.0
    assert plan.standing is Standing.UPPER
    carried = plan_from_text(run("plan", domain, "-b", "b.json", "--json").stdout)
    assert dict(carried.budgets) == dict(plan.budgets)
    assert carried.totals["sex"].value == plan.totals["sex"].value
    missed = run("plan", domain, "-b", "b.json", "-g", "sex,coin", "-o", "p.json")
    assert missed.exit_code == 1
    assert missed.stderr.startswith("target missed: expected totals within the target")
    assert not Path("p.json").exists()


def test_a_refuted_tree_misses_the_target(run: Run, folder: Path) -> None:
    """Files are written, verdicts say it, and the exit code is 1."""
    rows = [f"{a},{b},{a ^ b}" for a in (0, 1) for b in (0, 1)]
    Path("xor.csv").write_text("\n".join(["a,b,xor", *rows]) + "\n", encoding="utf-8")
    found = run("calibrate", "xor.csv", "-t", "1", "-o", "b.json")
    assert found.exit_code == 1
    assert found.stdout.startswith("The target of 1 nats is missed: these records")
    assert found.stderr.splitlines()[-1].startswith("target missed: ")
    plan = run("plan", "xor.csv", "-b", "b.json", "-o", "p.json")
    assert plan.exit_code == 1
    assert "is not vouched for about 3 of 3 attributes" in " ".join(plan.stdout.split())
    assert "target missed: more is claimed than the target of the calibration" in plan.stderr
    assert len(read_plan("p.json").above_target) == 3
    quiet = run("plan", "xor.csv", "-b", "b.json", "-q")
    assert (quiet.exit_code, quiet.stdout) == (1, "")


def test_every_file(run: Run, domain: Path, folder: Path) -> None:
    result = run(
        "plan", domain, "-e", "1", "-o", "p.json", "--json=same.json", "--csv", "p.csv",
        "--html", "p.html", "--chart", "p.svg", "--quiet",
    )  # fmt: skip
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (folder / "p.json").read_bytes() == (folder / "same.json").read_bytes()
    rows = list(csv.DictReader(io.StringIO((folder / "p.csv").read_text(encoding="utf-8"))))
    assert [row["attribute"] for row in rows] == ["sex", "copy", "coin"]
    assert b"<svg" in (folder / "p.svg").read_bytes()
    assert "<script" not in (folder / "p.html").read_text(encoding="utf-8")


def test_example(run: Run) -> None:
    result = run("plan", "--example", "--epsilon", "0.5")
    assert result.exit_code == 0, result.output
    assert "outpatient_visits" in result.stdout
    assert result.stderr.startswith("warning: totals or budgets in the plan were computed")
    assert len(result.stderr.splitlines()) == 1


def test_what_is_not_protected_is_told(run: Run, domain: Path) -> None:
    result = run("plan", domain, "-e", "1", "-e", "coin=inf", "-o", "p.json")
    assert result.exit_code == 0, result.output
    assert "warning: Not protected: reports can reveal the value of 'coin'." in result.stderr
    assert result.stdout.startswith("Not protected:")


OPTIONS = [
    ([], "--budgets FILE or --epsilon EPS, got neither"),
    (["-e", "1", "-b", "b.json"], "got both"),
    (["-e", "-1"], "--epsilon.*'-1'"),
    (["-e", "nan"], "--epsilon.*'nan'"),
    (["-e", "1e400"], "--epsilon.*'1e400'"),
    (["-e", "1", "-e", "2"], "one --epsilon for all columns"),
    (["-e", "sex=1"], "budget for every column, got none for 'copy'"),
    (["-e", "1", "-e", "sexx=1"], "'sexx'.*'sex'"),
    (["-e", "1", "-e", "sex=x"], "--epsilon of column 'sex'.*'x'"),
    (["-e", "sex=1", "--design", "split"], "one epsilon of the record"),
    (["-e", "1", "--design", "calibrated"], "from a calibration"),
    (["-e", "1", "--k", "2"], "--k with --design views only"),
    (["-e", "1", "--design", "views", "--k", "9"], "got 9"),
    (["-e", "1", "--design", "views", "-m", "oue"], "design 'views'"),
    (["-e", "1", "-m", "magic"], "'magic'"),
    (["-e", "1", "-m", "sexx=oue"], "'sexx'.*'sex'"),
    (["-e", "1", "-g", "sex"], None),
    (["-e", "1", "-g", "sex,sexx"], "'sexx'.*'sex'"),
    (["-e", "1", "-g", "sex,copy", "-g", "copy,coin"], "'copy' twice"),
    (["-e", "1", "-g", "sex,,copy"], "--group"),
    (["-e", "1", "--method", "tree"], "expected a table for method 'tree'"),
    (["-e", "1", "-w", "sex"], "--weights with a table only"),
    (["-e", "1", "--bins", "sex=2"], "--bins with a table only"),
    (["-b", "absent.json"], "absent.json"),
    (["-e", "1", "--out", "domain.yaml"], "--out"),
    (["-e", "1", "--example"], "TABLE or --example"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=lambda x: str(x)[:40])
def test_bad_options(
    run: Run, domain: Path, folder: Path, options: list[str], message: str | None
) -> None:
    before = sorted(folder.iterdir())
    result = run("plan", domain, *options)
    if message is None:  # a group of one is the column itself
        assert result.exit_code == 0, result.output
        return
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.search(message, result.stderr), result.stderr
    assert result.stderr.startswith("error: ")
    assert sorted(folder.iterdir()) == before


def test_two_domain_files(run: Run, domain: Path) -> None:
    result = run("plan", domain, domain, "-e", "1")
    assert result.exit_code == 2
    assert "one domain file, got 2" in result.stderr


def test_budgets_for_other_columns(run: Run, domain: Path) -> None:
    Path("b.json").write_text(json.dumps({"sex": 1, "coppy": 1, "coin": 1}))
    result = run("plan", domain, "-b", "b.json")
    assert result.exit_code == 2
    assert re.search("'coppy'.*'copy'", result.stderr)
