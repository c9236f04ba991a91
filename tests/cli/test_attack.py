"""What the attack command writes, and how it fails."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.plan.attacking import attack_plan

Run = Callable[..., Result]


@pytest.fixture
def plan(run: Run, people: Path) -> Path:
    done = run("plan", people, "-x", "age", "--epsilon", "1", "--out", "plan.json", "--quiet")
    assert done.exit_code == 0, done.output
    return people.parent / "plan.json"


def test_report(run: Run, people: Path, plan: Path) -> None:
    result = run("attack", people, "--plan", plan, "--secret", "sex", "--attacker", "bayes,tree")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    expected = attack_plan(people, plan, "sex", ("bayes", "tree"))
    assert " ".join(expected.verdict.split()) in " ".join(result.stdout.split())
    for title in ("Attackers", "What no attacker can exceed", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    for name in ("prior", "bayes", "tree", "best possible", "at most"):
        assert f"\n{name} " in result.stdout
    assert "Against ε" not in result.stdout


def test_files(run: Run, people: Path, plan: Path) -> None:
    options = ["--plan", plan, "--secret", "sex", "--epsilons", "0,1,inf", "--seed", "4"]
    result = run(
        "attack", people, *options, "--out", "a.csv", "--json", "a.json", "--html", "a.html",
        "--chart", "a.svg",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Against ε" in result.stdout
    for name in ("a.csv", "a.json", "a.html", "a.svg"):
        assert f"wrote {name}" in result.stderr
    expected = attack_plan(people, plan, "sex", ("bayes",), epsilons=[0, 1, float("inf")], rng=4)
    content = json.loads(Path("a.json").read_text("utf-8"))
    assert content == json.loads(expected.to_json())
    assert content["sweep"][2]["epsilon"] == "inf"
    rows = list(csv.DictReader(Path("a.csv").read_text("utf-8").splitlines()))
    assert [row["attacker"] for row in rows] == ["prior", "bayes"] * 3
    assert float(rows[0]["accuracy"]) == expected.baseline
    assert Path("a.html").read_text("utf-8").startswith("<!doctype html>")


def test_json_alone(run: Run, people: Path, plan: Path) -> None:
    result = run("attack", people, "--plan", plan, "--secret", "sex", "--own-report", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["own_report"] is True
    drawn = run(
        "attack", people, "--plan", plan, "--secret", "sex", "--draw", "model", "--records", "7",
        "--json",
    )  # fmt: skip
    assert json.loads(drawn.stdout)["evaluated_records"] == 7


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--secret", "sexx"], "got 'sexx'. Did you mean 'sex'?"),
        (["--secret", "sex", "--attacker", "byes"], "Did you mean 'bayes'?"),
        (["--secret", "sex", "--epsilons", "1,-2"], "--epsilons"),
        (["--secret", "sex", "--epsilons", "1,"], "--epsilons"),
        (["--secret", "sex", "--share", "1"], "share between 0 and 1"),
        (["--secret", "sex", "--share", "nan"], "share between 0 and 1"),
        (["--secret", "sex", "--records", "0"], "expected max_records"),
        (["--secret", "sex", "--seed", "-1"], "expected rng"),
        (["--secret", "sex", "--out", "a.txt"], "FILE.csv or FILE.json"),
        (["--secret", "sex", "--out", "plan.json"], "differ from the files that are read"),
    ],
)
def test_bad_input(run: Run, people: Path, plan: Path, options: list[str], told: str) -> None:
    before = plan.read_bytes()
    result = run("attack", people, "--plan", plan, *options)
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert result.stdout == ""
    assert plan.read_bytes() == before


def test_a_plan_for_another_table(run: Run, plan: Path) -> None:
    Path("other.csv").write_text("sex,copy\nf,F\nm,M\n", encoding="utf-8")
    result = run("attack", "other.csv", "--plan", plan, "--secret", "sex")
    assert result.exit_code == 2
    assert "'coin'" in result.stderr


def test_one_value(run: Run, plan: Path) -> None:
    Path("one.csv").write_text("sex,copy,coin\n" + "f,F,heads\n" * 9, encoding="utf-8")
    result = run("attack", "one.csv", "--plan", plan, "--secret", "sex")
    assert result.exit_code == 2
    assert "got 'f' only" in result.stderr


def test_help(run: Run) -> None:
    result = run("attack", "--help")
    assert result.exit_code == 0
    for option in ("--secret", "--attacker", "--epsilons", "--own-report", "--draw"):
        assert option in result.stdout
