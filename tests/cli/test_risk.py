"""What the risk command says, asks and writes, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from seepage.cli import app, risk_choose
from seepage.plan.risking import Mechanism, compare_risks, risk_card
from seepage.risk.selection import choose

Run = Callable[..., Result]


def read(result: Result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_report(run: Run) -> None:
    result = run("risk", "gaussian", "--mu", "1", "--floor", ".01", "--prior", ".01,.1,.5")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "flags at most 9.24 of 100" in " ".join(result.stdout.split())
    for title in ("Side by side", "Gaussian noise, μ = 1", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    row = next(x for x in result.stdout.splitlines() if x.startswith("Gaussian noise, μ = 1  "))
    assert row.split()[-5:] == ["8.54", "50.7", "90.3", "9.24", "graceful"]


def test_several_side_by_side(run: Run) -> None:
    content = read(
        run("risk", "gaussian", "--mu", "1,2", "--mu", "inf", "--against", "laplace:1", "--json")
    )
    names = [item["name"] for item in content["mechanisms"]]
    assert names == [
        "Gaussian noise, μ = 1", "Gaussian noise, μ = 2", "Gaussian noise, μ = ∞",
        "Laplace noise, μ = 1",
    ]  # fmt: skip
    noise = [
        Mechanism("gaussian", x, adjacency="add or remove one record") for x in (1, 2, math.inf)
    ]
    expected = compare_risks([*noise, Mechanism("laplace", 1.0)])
    assert content == json.loads(expected.to_json())


@pytest.mark.parametrize(
    ("words", "mechanism"),
    [
        (["laplace", "--mu", "0.5"], Mechanism("laplace", 0.5)),
        (["gaussian", "--mu", "0.5", "--times", "4"], Mechanism("gaussian", 0.5, times=4)),
        (["dp", "-e", "1", "--delta", "1e-5"], Mechanism("approximate_dp", 1.0, delta=1e-5)),
        (["dp", "-e", "1", "--rate", "0.1"], Mechanism("approximate_dp", 1.0, rate=0.1)),
        (["response", "-e", "1", "--k", "5"], Mechanism("randomized_response", 1.0, k=5)),
        (["sampling", "--mu", "1", "-n", "9"], Mechanism("uniform_sampling", 1.0, n=9)),
        (
            ["laplace", "--mu", "1", "--adjacency", "replace"],
            Mechanism("laplace", 1.0, adjacency="replace one record"),
        ),
    ],
)
def test_every_mechanism(run: Run, words: list[str], mechanism: Mechanism) -> None:
    content = read(run("risk", *words, "--floor", "0", "--prior", "0.2", "--json"))
    expected = compare_risks([mechanism], prior=0.2, alpha0=0.0)
    assert content == json.loads(expected.to_json())


def test_files(run: Run, folder: Path) -> None:
    result = run(
        "risk", "laplace", "--mu", "1", "--html", "r.html", "--chart", "r.png", "--csv", "r.csv"
    )
    assert result.exit_code == 0, result.output
    assert [line.split()[-1] for line in result.stderr.splitlines()] == ["r.csv", "r.html", "r.png"]
    rows = list(csv.DictReader(io.StringIO((folder / "r.csv").read_text("utf-8"))))
    assert [row["prior"] for row in rows] == ["0.01", "0.1", "0.5"]
    assert float(rows[0]["power"]) == pytest.approx(0.01 * math.e)
    assert (folder / "r.png").read_bytes().startswith(b"\x89PNG")


def test_card(run: Run, folder: Path) -> None:
    result = run(
        "risk", "card", "gaussian:1", "--test",
        "mean:effect=.2,n=15,sd=.25,low=0,high=1,z=yes,level=.01,side=larger",
        "--html", "card.html", "--chart", "card.png", "--chart", "card.svg",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "probability 0.4321" in " ".join(result.stdout.split())
    assert "replace one record" in result.stdout
    assert "What the analyst keeps" in (folder / "card.svg").read_text("utf-8")
    assert (folder / "card.png").read_bytes().startswith(b"\x89PNG")
    assert "found in about 43.2 of 100" in (folder / "card.html").read_text("utf-8")
    content = read(run("risk", "card", "sampling:1,n=100", "--json"))
    assert content == json.loads(risk_card(Mechanism("uniform_sampling", 1, n=100)).to_json())


def test_choose(run: Run) -> None:
    content = read(run("risk", "choose", "-r", "3", "--k", "2,4", "--json"))
    assert content == json.loads(choose(relative_risk=3, k=[2, 4]).to_json())
    shown = run(
        "risk", "choose", "--near-certainty", "--attack-power", "0.1", "--floor", "0.01",
        "--family", "gaussian",
    )  # fmt: skip
    assert "1.044" in shown.stdout
    assert "Gaussian noise, μ = 1.044" in shown.stdout
    blatant = read(
        run("risk", "choose", "--blatant", "--posterior", "0.5", "--prior", "0.1", "--floor",
            "0.01", "-n", "100", "--delta", "0.001", "--json")
    )  # fmt: skip
    assert {row["family"] for row in blatant["choices"]} >= {"uniform_sampling", "approximate_dp"}


@pytest.mark.parametrize(
    "words",
    [
        ["--relative-risk", "0.5"],
        ["--relative-risk", "2", "--family", "gaussian"],
        ["--attack-power", "0.001", "--floor", "0.01"],
        ["--posterior", "0.05", "--prior", "0.1"],
    ],
)
def test_wishes_that_nothing_meets(run: Run, folder: Path, words: list[str]) -> None:
    result = run("risk", "choose", *words, "--csv", "never.csv")
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("target missed: ")
    assert "earest" in result.stderr
    assert not (folder / "never.csv").exists()


def test_questions_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(risk_choose, "asks", lambda: True)
    answers = "n\ny\nwhat\nfound\n0.1\n0.01\n"
    result = CliRunner().invoke(app, ["risk", "choose", "--json", "--quiet"], input=answers)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["limit"] == {
        "measure": "power", "value": 0.1, "alpha0": 0.01, "prior": None
    }  # fmt: skip
    assert content["near_certainty_acceptable"] is True
    assert result.stderr.count("?") >= 3
    belief = CliRunner().invoke(
        app, ["risk", "choose", "--no-blatant", "--no-near-certainty", "--json"],
        input="belief\n0.5\n0.1\n",
    )  # fmt: skip
    assert json.loads(belief.stdout)["limit"]["prior"] == 0.1
    nothing = CliRunner().invoke(
        app, ["risk", "choose", "--no-blatant", "--no-near-certainty", "-r", "3", "--json"]
    )
    assert nothing.exit_code == 0, nothing.output
    assert nothing.stderr == ""


def test_answers_that_cannot_be_are_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer given before is lost by a slip in the last."""
    monkeypatch.setattr(risk_choose, "asks", lambda: True)
    answers = "maybe\nno\nY\nfctor\nfactor\n0.5\nx\nnan\n3\n2\n-1\n0.05\n"
    result = CliRunner().invoke(app, ["risk", "choose", "--json", "--quiet"], input=answers)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["limit"] == {
        "measure": "relative_risk", "value": 3.0, "alpha0": 0.05, "prior": None
    }  # fmt: skip
    for said in (
        "expected one of y, yes, n, no, got 'maybe'.",
        "Did you mean 'factor'",
        "expected the answer in [1, inf], got '0.5'",
        "expected the answer to be a number from 0 to inf, got 'x'",
        "expected the answer to be a number from 0 to inf, got 'nan'",
        "expected the answer in [0, 1], got '2'",
        "expected the answer to be a number from 0 to 1, got '-1'",
    ):
        assert said in result.stderr, said
    share = CliRunner().invoke(
        app, ["risk", "choose", "--json", "--quiet"], input="n\nn\nfound\n0.2\n0\n\n"
    )  # a share that is found needs a rate above 0
    assert json.loads(share.stdout)["limit"]["alpha0"] == 0.01
    assert "expected the answer in (0, 1], got '0'" in share.stderr


@pytest.mark.parametrize("answers", ["", "n\n", "n\nn\nfound\n", "n\nn\nbelief\n0.3\n"])
def test_an_end_instead_of_an_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answers: str
) -> None:
    monkeypatch.setattr(risk_choose, "asks", lambda: True)
    result = CliRunner().invoke(app, ["risk", "choose", "--json"], input=answers)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "error: expected an answer, got the end of the input" in result.stderr


def test_an_interrupt_instead_of_an_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(question: str, default: str = "") -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(risk_choose, "asks", lambda: True)
    monkeypatch.setattr(risk_choose, "_asked", interrupt)
    result = CliRunner().invoke(app, ["risk", "choose"])
    assert result.exit_code == 130
    assert result.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ["risk", "gaussian", "--mu", "1", "--prior", "x"],
        ["risk", "dp", "--epsilon", "1", "--delta", "x"],
        ["risk", "choose", "--attack-power", "x"],
        ["risk", "choose", "--posterior", "x", "--prior", "0.1"],
        ["power", "proportion", "--effect", "0.1", "--n", "50", "--null", "x"],
        ["power", "proportion", "--effect", "0.1", "--n", "50", "--level", "x"],
        ["power", "proportion", "--effect", "0.1", "--power", "x"],
        ["power", "proportion", "--effect", "0.1", "--n", "50", "--target-loss", "x"],
        ["power", "proportion", "--effect", "0.1", "--n", "50", "--attack-power", "x"],
    ],
)
def test_probabilities_end_at_one(run: Run, words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert "to be a number from 0 to 1, got 'x'" in result.stderr


def test_no_questions_elsewhere(run: Run) -> None:
    result = run("risk", "choose")
    assert result.exit_code == 2
    assert "--relative-risk, --attack-power and --posterior, got none" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gaussian", "--mu", "-1"], "'-1'"),
        (["gaussian", "--mu", "nan"], "'nan'"),
        (["gaussian", "--mu", "1,,2"], "''"),
        (["gaussian", "--mu", "1", "--floor", "2"], "--floor"),
        (["gaussian", "--mu", "1", "--prior", "x"], "'x'"),
        (["gaussian", "--mu", "1", "--prior", "1.5"], "--prior in"),
        (["gaussian", "--mu", "1", "--rate", "2"], "--rate in"),
        (["gaussian", "--mu", "1", "--times", "0"], "--times to be"),
        (["gaussian", "--mu", "1", "--against", "laplce:1"], "'laplace'"),
        (["gaussian", "--mu", "1", "--against", "laplace"], "FAMILY:VALUE"),
        (["gaussian", "--mu", "1", "--against", "laplace:1,k=2"], "'k'"),
        (["gaussian", "--mu", "1", "--against", "response:1,k=two"], "'two'"),
        (["gaussian", "--mu", "1", "--against", "laplace:1,mu=2"], "one 'mu'"),
        (["gaussian", "--mu", "1", "--against", "dp:1,delta="], "NAME=VALUE"),
        (["gaussian", "--mu", "1", "--against", "dp:delta=.1"], "dp:VALUE"),
        (["gaussian", "--mu", "1", "--against", "laplace:1,adjacency=x"], "add-remove or replace"),
        (["sampling", "--mu", "1", "-n", "0"], "--records"),
        (["dp", "-e", "1", "--delta", "2"], "--delta in"),
        (["card", "gaussian"], "MECHANISM"),
        (["card", "gaussian:1", "--test", "median:effect=1,n=9"], "'median'"),
        (["card", "gaussian:1", "--test", "mean:effect=1"], "no n"),
        (["card", "gaussian:1", "--test", "mean:effect=1,n=9,null=.5"], "'null'"),
        (["card", "gaussian:1", "--test", "mean:effect=1,n=9,z=maybe"], "'maybe'"),
        (["card", "sampling:1,n=9", "--test", "proportion:effect=.1,n=9"], "run once"),
        (["card", "gaussian:1,times=2", "--test", "proportion:effect=.1,n=9"], "run once"),
        (["choose", "-r", "2", "--attack-power", ".2", "--floor", ".1"], "one of"),
        (["choose", "--attack-power", ".2"], "--floor"),
        (["choose", "--posterior", ".2"], "--prior"),
        (["choose", "-r", "2", "--prior", ".2"], "--prior"),
        (["choose", "-r", "2", "--family", "gausian"], "'gaussian'"),
        (["choose", "-r", "2", "--blatant", "--no-near-certainty"], "expected --near-certainty"),
        (["choose", "-r", "2", "--k", "x"], "'x'"),
        (["choose", "-r", "2", "--family", "dp"], "expected --delta"),
        (["choose", "-r", "2", "--family", "sampling"], "expected --records"),
    ],
)
def test_bad_input(run: Run, folder: Path, words: list[str], message: str) -> None:
    import re

    result = run("risk", *words, "--csv", "never.csv")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: "), result.stderr
    assert re.search(message, result.stderr), result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "never.csv").exists()


@pytest.mark.parametrize(
    "verb", ["", "laplace", "gaussian", "response", "sampling", "dp", "card", "choose"]
)
def test_help(run: Run, verb: str) -> None:
    result = run("risk", *([verb] if verb else []), "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_high_floor_warns(run: Run) -> None:
    result = run("risk", "gaussian", "--mu", "1", "--floor", ".2")
    assert "warning: --floor .2 looks only at attackers who flag 20 %" in result.stderr
    assert "warning" not in run("risk", "gaussian", "--mu", "1", "--floor", ".1").stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--relative-risk", "inf"],
        ["--posterior", "1", "--prior", ".1"],
        ["--posterior", ".3", "--prior", "0"],
        ["--relative-risk", "inf", "--no-blatant", "--near-certainty"],
        ["--attack-power", "1", "--floor", ".01", "--near-certainty"],
        ["--relative-risk", "3", "--floor", "1", "--near-certainty"],
    ],
)
def test_denied_proofs_are_not_admitted(run: Run, words: list[str]) -> None:
    result = run("risk", "choose", *words)
    assert result.exit_code == 0, result.output
    assert "any finite" in result.stdout
    assert "proves the suspicion" not in result.stdout
    assert "∞" not in result.stdout
