"""Several tests on the command line, and what is offered next."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.plan.power_families import plan_tests
from seepage.risk.designs import OneProportion, OneSampleMean, Values
from seepage.risk.multiple import PlannedTest

Run = Callable[..., Result]
SCORE = "mean:0.2,n=100,sd=0.5,low=0,high=1,z=yes,name=score"
SHARE = "proportion:0.15,n=120,null=0.3,name=share"
BOTH = ["power", "--test", SCORE, "--test", SHARE]
TESTS = [
    PlannedTest(OneSampleMean(Values(0.5, 0, 1), known_sd=True), 0.2, 100, name="score"),
    PlannedTest(OneProportion(0.3), 0.15, 120, name="share"),
]


def test_options_and_files_say_the_same(run: Run, folder: Path) -> None:
    rows = [
        {"test": "mean", "name": "score", "effect": 0.2, "n": 100, "sd": 0.5, "low": 0, "high": 1,
         "z": True},
        {"test": "proportion", "name": "share", "effect": 0.15, "n": 120, "null": 0.3},
    ]  # fmt: skip
    (folder / "tests.json").write_text(json.dumps({"tests": rows}), "utf-8")
    wishes = ["--target-loss", ".05", "--attack-power", ".1", "--json"]
    expected = json.loads(plan_tests(TESTS, target_loss=0.05, attack_power=0.1).to_json())
    for words in (BOTH, ["power", "--tests", "tests.json"]):
        result = run(*words, *wishes)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout) == expected


def test_report_and_files(run: Run, folder: Path) -> None:
    result = run(
        *BOTH, "--power", ".7", "--correction", "none", "--html", "p.html", "--chart", "p.png"
    )
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "'share' asks for it." in said
    assert "the power is at least 0.7" in said
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "Several tests" in (folder / "p.html").read_text("utf-8")
    assert "--chart" not in said.partition(" Next ")[2]


def test_wishes_that_exclude_each_other(run: Run) -> None:
    result = run(*BOTH, "--target-loss", ".01", "--attack-power", ".02", "--csv", "rooms.csv")
    assert result.exit_code == 1
    assert "target missed: The wishes exclude each other" in result.stderr
    assert Path("rooms.csv").read_text("utf-8").count("False") >= 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected --target-loss or a limit"),
        (["--laplace", "1"], "got a protection"),
        (["--effect", "1", "--target-loss", ".1"], "got --effect beside them"),
        (["--null", ".5", "--target-loss", ".1"], "got --null beside them"),
        (["--power", ".7", "--target-loss", ".1"], "got both"),
        (["--true-share", "0", "--target-loss", ".1"], "expected --true-share in (0, 1]"),
        (["--test", "mean:n=3,effect=x", "--target-loss", ".1"], "effect"),
        (["--test", "mean:0.1,n=0", "--target-loss", ".1"], "expected n of --test to be"),
        (["--test", SHARE, "--target-loss", ".1"], "'share' twice"),
        (["--tests", "none.yaml", "--target-loss", ".1"], "none.yaml"),
    ],
)
def test_bad_input(run: Run, words: list[str], message: str) -> None:
    result = run(*BOTH, *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in result.stderr, result.stderr


def test_one_test_or_several(run: Run) -> None:
    assert "expected a TEST (mean" in run("power", "--effect", "1").stderr
    said = run("power", "mean", *BOTH[1:], "--target-loss", ".1").stderr
    assert "got TEST beside them" in said
    alone = run("power", "mean", "--effect", "1", "--n", "9", "--correction", "none")
    assert "together with --test or --tests" in alone.stderr


def test_what_was_used_is_not_offered(run: Run) -> None:
    for words, used, other in (
        (["risk", "card", "gaussian:1", "--html", "c.html"], "--html", "--chart card.png"),
        (["risk", "card", "gaussian:1", "--chart", "c.png"], "--chart", "--html card.html"),
    ):
        result = run(*words)
        assert result.exit_code == 0, result.output
        offered = result.stdout.partition("\nNext")[2].partition("\nNot protected")[0]
        assert used not in offered
        assert other in offered
    power = ["power", "mean", "--z", "--effect", ".2", "--n", "100", "--sd", ".5", "--low", "0",
             "--high", "1", "--gaussian", "1"]  # fmt: skip
    assert "--chart region.png" in run(*power).stdout
    assert "Next" not in run(*power, "--chart", "r.png").stdout


def test_messages_name_what_was_typed(run: Run, folder: Path) -> None:
    (folder / "t.yaml").write_text("- {test: mean, effect: 1, n: 9, foo: 3}", "utf-8")
    form = "expected --test TEST:effect=VALUE,n=RECORDS,…, got 'mean'"
    power = ["power", "mean", "--effect", ".2", "--n", "9", "--low", "0", "--high", "9"]
    cases = {
        "in test 1 of --tests 't.yaml' (sd, low,": ["power", "--tests", "t.yaml",
                                                    "--target-loss", ".1"],
        form: ["risk", "card", "gaussian:1", "--test", "mean"],
        f"{form}\n": ["power", "--test", "mean"],
        "expected --rate to be a number from 0 to 1, got '-1'": ["risk", "gaussian", "--mu", "1",
                                                                 "--rate", "-1"],
        "expected --effect to be a number, got 'abc'": ["power", "mean", "--effect", "abc"],
        "expected --floor above 0 with a limit on the power of attacks": [
            *power, "--attack-power", ".1", "--floor", "0"],
    }  # fmt: skip
    for told, words in cases.items():
        result = run(*words)
        assert result.exit_code == 2, words
        assert told in result.stderr


def test_values_among_the_answers(run: Run) -> None:
    words = ["power", "mean", "--effect", ".1", "--n", "90", "--sd", ".5", "--low", "0", "--high",
             "1", "--response", "2", "--k", "3", "--json"]  # fmt: skip
    rounded, among = (
        json.loads(run(*words[:-1], *more, "--json").stdout) for more in ([], ["--grid"])
    )
    assert "Values are rounded" in str(rounded)
    assert "among the answers" in str(among)
