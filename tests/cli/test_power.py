"""What the power command says and writes, and how it fails."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.plan.powering import plan_test
from seepage.risk import designs
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

Run = Callable[..., Result]
RANGE = ["--sd", ".25", "--low", "0", "--high", "1"]
VALUES = designs.Values(0.25, 0, 1)


def read(result: Result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_report(run: Run) -> None:
    result = run(
        "power", "mean", "--z", "--effect", ".2", "--n", "15", "--level", ".01", "--side",
        "larger", *RANGE, "--gaussian", "1",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "probability 0.4321 under Gaussian noise with μ = 1, 0.78 without" in said
    assert "flags at most 9.24 of 100" in said
    assert "\nWhat that means for a person in the data" in result.stdout


@pytest.mark.parametrize(
    ("words", "design", "options"),
    [
        (["mean", *RANGE, "--z", "--laplace", "2"], designs.OneSampleMean(VALUES, known_sd=True),
         {"protection": LaplaceNoise(2)}),
        (["paired", *RANGE, "--z"], designs.PairedDifference(VALUES, known_sd=True), {}),
        (["means", *RANGE, "--z", "--ratio", "2", "--gaussian", "1"],
         designs.TwoSampleMeans(VALUES, ratio=2, known_sd=True), {"protection": GaussianNoise(1)}),
        (["proportion", "--null", ".3", "--response", "1"], designs.OneProportion(0.3),
         {"protection": RandomizedResponse(1)}),
        (["proportions", "--first", ".3"], designs.TwoProportions(0.3), {}),
        (["independence", "--table", "30 10/10 30", "--response", "1"],
         designs.Independence([[30, 10], [10, 30]]), {"protection": RandomizedResponse(1)}),
        (["correlation"], designs.Correlation(), {}),
        (["slope", "--sd", "2", "--sd2", "3", "--others", "2", "--shared", ".1"],
         designs.Slope(designs.Values(2), designs.Values(3), others=2, shared=0.1), {}),
        (["slope", "--low", "-4", "--high", "4", "--others", "2", "--response", "2", "--k", "5"],
         designs.Slope(designs.Values(1, -4, 4), others=2),
         {"protection": RandomizedResponse(2, 5)}),
        (["correlation", "--low", "-4", "--high", "4", "--low2", "-5", "--high2", "5",
          "--response", "2,inf", "--k", "5,3"],
         designs.Correlation(designs.Values(1, -4, 4), designs.Values(1, -5, 5)),
         {"protection": RandomizedResponse((2, math.inf), (5, 3))}),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else "",
)  # fmt: skip
def test_every_test(run: Run, words: list[str], design: object, options: dict) -> None:
    content = read(run("power", *words, "--effect", ".2", "--n", "50", "--json"))
    expected = plan_test(design, effect=0.2, n=50, **options)
    assert content == json.loads(expected.to_json())


def test_what_is_left_out_is_looked_for(run: Run) -> None:
    records = read(run("power", "proportion", "--effect", "-0.1", "--laplace", ".5", "--json"))
    assert records["need"]["quantity"] == "n"
    assert records["need"]["value"] > records["need_without_protection"]["value"]
    effect = read(run("power", "mean", "--n", "30", "--power", ".9", "--json"))
    assert effect["need"]["quantity"] == "effect"
    assert effect["power"]["power"] >= 0.9


def test_room(run: Run, folder: Path) -> None:
    words = ["power", "mean", "--z", "--effect", ".2", "--n", "100", *RANGE]
    result = run(
        *words, "--target-loss", ".05", "--attack-power", ".1", "--chart", "region.png",
        "--html", "power.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "meets both sides" in result.stdout
    assert (folder / "region.png").read_bytes().startswith(b"\x89PNG")
    assert "meets both sides" in (folder / "power.html").read_text("utf-8")
    paper = read(
        run(*words, "--target-loss", ".01", "--rule", "relative", "--family", "laplace", "--json")
    )
    assert [room["family"] for room in paper["rooms"]] == ["laplace"]
    assert paper["rooms"][0]["utility"]["rule"] == "relative"
    belief = read(run(*words, "--posterior", ".5", "--belief", ".1", "--json"))
    assert [room["least"] for room in belief["rooms"]] == [0, 0]


def test_wishes_that_exclude_each_other(run: Run) -> None:
    result = run(
        "power", "mean", "--z", "--effect", ".2", "--n", "15", *RANGE, "--target-loss", ".01",
        "--relative-risk", "1.1", "--csv", "rooms.csv",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "The wishes exclude each other" in result.stdout
    assert "target missed: The wishes exclude each other" in result.stderr
    assert Path("rooms.csv").read_text("utf-8").count("False") == 2


def test_effect_that_does_not_exist(run: Run) -> None:
    result = run("power", "proportion", "--n", "2", "--level", "0.0001")
    assert result.exit_code == 1
    assert result.stderr.startswith("target missed: expected some effect with power 0.8 at --n 2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mean"], "neither"),
        (["mean", "--effect", "x", "--n", "9"], "'x'"),
        (["mean", "--effect", "1", "--n", "9.5"], "'9.5'"),
        (["mean", "--effect", "1", "--n", "0"], "n"),
        (["mean", "--effect", "1", "--n", "9", "--laplace", "1"], "range"),
        (["mean", "--effect", "1", "--n", "9", "--laplace", "1", "--gaussian", "1"], "one of"),
        (["mean", "--effect", "1", "--n", "9", "--laplace", "-1"], "--laplace"),
        (["mean", "--effect", "1", "--n", "9", "--null", ".5"], "--null"),
        (["correlation", "--effect", ".1", "--n", "9", "--response", "1,2,3"], "one number or two"),
        (["correlation", "--effect", ".1", "--n", "9", "--response", "1,"], "--response"),
        (["correlation", "--effect", ".1", "--n", "9", "--response", "1", "--k", "3,x"], "--k"),
        (["proportion", "--effect", ".1", "--n", "9", "--response", "1,2"], "one attribute"),
        (["mean", "--effect", "1", "--n", "9", "--z", "--sd", "-1"], "sd"),
        (["proportion", "--effect", ".9", "--n", "9"], "effect"),
        (["proportion", "--effect", ".1", "--n", "9", "--z"], "--z"),
        (["proportion", "--effect", ".1", "--n", "9", "--level", "2"], "--level in"),
        (["proportion", "--effect", ".1", "--power", "2"], "--power in"),
        (["independence", "--effect", ".1", "--n", "9"], "table"),
        (["independence", "--effect", ".1", "--n", "9", "--table", "1 2/3"], "one length"),
        (["independence", "--effect", ".1", "--n", "9", "--table", "a b/c d"], "'a'"),
        (["proportion", "--effect", ".1", "--n", "9", "--posterior", ".5"], "--belief"),
        (["proportion", "--effect", ".1", "--n", "9", "--target-loss", "2"], "--target-loss in"),
        (["proportion", "--effect", ".1", "--n", "9", "--family", "laplace"], "limit"),
    ],
)
def test_bad_input(run: Run, folder: Path, words: list[str], message: str) -> None:
    result = run("power", *words, "--csv", "never.csv")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: "), result.stderr
    assert re.search(message, result.stderr), result.stderr
    assert not (folder / "never.csv").exists()


def test_help(run: Run) -> None:
    result = run("power", "--help")
    assert result.exit_code == 0
    assert "target-loss" in result.stdout


@pytest.mark.parametrize(("given", "other"), [("posterior", "belief"), ("belief", "posterior")])
def test_belief_before_and_after_go_together(run: Run, given: str, other: str) -> None:
    result = run("power", "proportion", "--effect", ".1", "--n", "50", f"--{given}", ".3")
    assert result.exit_code == 2
    assert f"expected --{other} together with --{given}" in result.stderr


def test_nearest_wishes_are_told(run: Run) -> None:
    words = ["power", "proportion", "--null", ".3", "--effect", ".1", "--n", "100"]
    result = run(*words, "--target-loss", ".01", "--attack-power", ".02")
    assert result.exit_code == 1
    said = " ".join(result.stdout.split())
    for start in ("Keep the test: accept attack power", "Keep the limit: accept a loss of"):
        assert start in said
    offered = said.partition(" Next ")[2]
    assert "--chart" in offered
    assert "--target-loss" not in offered
    assert "--attack-power" not in offered
