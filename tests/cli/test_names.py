"""Messages of ``seepage risk`` and ``seepage power`` name what the user typed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from typer.testing import Result

from seepage.cli._names import in_options, renamed
from seepage.errors import CapacityError, InfeasibleError, InvalidInputError

Run = Callable[..., Result]

ARGUMENTS = re.compile(
    r"(?<![\w-])(alpha0?|known_sd|explained_sd|target(?:_loss)?|amount|alternative|attack_power|"
    r"relative_risk|near_certainty|epsilon|joint|rng|draws|families|adjacency|None|True|False)"
    r"(?![\w-])|expected (?:one |an |a finite )?(?:n|k|mu|sd2?|low2?|high2?|mean|ratio|null|first|"
    r"others|shared|delta|rate|times|power|posterior|prior|belief|effect) (?!of (?:--|M))"
)
RANGE = ["--sd", ".25", "--low", "0", "--high", "1"]
MEAN = ["power", "mean", "--effect", ".1", "--n", "50"]
SHARE = ["power", "proportion", "--effect", ".1"]
SLOPE = ["power", "slope", "--effect", ".1", "--n", "50"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*MEAN, "--sd", "0"], "expected --sd in [1e-100, 1e100], got 0.0"),
        ([*MEAN, "--sd", "inf"], "expected a finite --sd, got inf"),
        ([*MEAN, "--low", "2", "--high", "1"], "expected --low to be below --high 1.0, got --low"),
        ([*MEAN, "--sd", "3", "--low", "0", "--high", "1"], "expected --sd of at most half"),
        ([*MEAN, *RANGE, "--mean", "3"], "expected --mean in [0, 1], got 3"),
        ([*MEAN, "--mean", "inf"], "expected a finite --mean, got inf"),
        ([*MEAN, "--laplace", "1"], "expected a range of the values (--low, --high)"),
        ([*MEAN, "--gaussian", "x"], "expected --gaussian to be"),
        ([*MEAN, *RANGE, "--response", "1"], "expected --k, the number of values"),
        ([*MEAN, *RANGE, "--response", "1", "--k", "1"], "expected --k of 2 or more, got 1"),
        ([*MEAN, *RANGE, "--response", "-1"], "expected --response to be"),
        ([*MEAN, "--level", "1.5"], "expected --level in [0, 1], got 1.5"),
        ([*MEAN, "--floor", "2"], "expected --floor in [0, 1], got '2'"),
        ([*MEAN, *RANGE, "--laplace", "1", "--prior", "2"], "expected --prior in [0, 1], got 2.0"),
        ([*MEAN, "--ratio", "2"], "(--sd, --low, --high, --mean, --z, --grid), got --ratio"),
        (["power", "mean", "--effect", "inf", "--n", "9"], "expected --effect in [-1e+100"),
        (["power", "means", "--effect", "1", "--n", "9", "--ratio", "0"], "expected --ratio in (0"),
        (["power", "mean"], "expected --effect, a number of records (--n), or both, got neither"),
        (["power", "mean", "--effect", "1", "--n", "0"], "expected --n to be a whole number, 1 or"),
        (["power", "mean", "--effect", "1", "--n", "10000000000000"], "expected --n of at most"),
        ([*SHARE, "--null", "1"], "expected --null in (0, 1), got 1.0"),
        ([*SHARE, "--power", "3"], "expected --power in [0, 1], got 3.0"),
        (["power", "proportions", "--effect", ".1", "--n", "9", "--first", "2"], "--first in"),
        ([*SHARE, "--n", "9", "--target-loss", "2"], "expected --target-loss in [0, 1], got 2.0"),
        ([*SHARE, "--n", "9", "--target-loss", "inf", "--rule", "relative"], "--target-loss in"),
        ([*SHARE, "--n", "9", "--attack-power", "2"], "expected --attack-power in [0, 1], got 2.0"),
        ([*SHARE, "--n", "9", "--attack-power", ".2", "--floor", "0"], "expected --floor above 0"),
        ([*SHARE, "--n", "9", "--posterior", "2", "--belief", ".1"], "expected --posterior in"),
        ([*SHARE, "--n", "9", "--posterior", ".2", "--belief", "2"], "expected --belief in"),
        ([*SHARE, "--n", "9", "--attack-power", ".2", "--relative-risk", "2"], "expected one of"),
        ([*SHARE, "--n", "9", "--family", "laplace"], "expected --family together with --target-"),
        ([*SHARE, "--n", "9", "--laplace", "1", "--target-loss", ".1"], "got both"),
        ([*SLOPE, *RANGE, "--sd2", "1", "--laplace", "1"], "expected --z for a regression"),
        ([*SLOPE, "--sd2", "0"], "expected --sd2 in [1e-100, 1e100], got 0.0"),
        ([*SLOPE, "--low2", "3", "--high2", "1"], "expected --low2 to be below --high2 1.0"),
        ([*SLOPE, "--shared", "1"], "expected --shared in [0, 1), and 0"),
        ([*SLOPE, "--explained", "3"], "expected --explained of 0 or more"),
        ([*SLOPE, "--others", "-1"], "expected --others to be a whole number"),
        (["power", "independence", "--effect", ".1", "--n", "9"], "expected --table, planned"),
        (["power", "independence", "--effect", ".1", "--n", "9", "--table", "1 2"], "--table to"),
        (["power", "independence", "--effect", ".1", "--n", "9", "--table", "1 2/0 0"], "--table"),
        (["risk", "laplace", "--mu", "1", "--times", "0"], "expected --times to be a whole"),
        (["risk", "laplace", "--mu", "1", "--rate", "2"], "expected --rate in [0, 1], got 2.0"),
        (["risk", "dp", "-e", "1", "--delta", "2"], "expected --delta in [0, 1], got 2.0"),
        (["risk", "response", "-e", "1", "--k", "0"], "expected --k to be a whole number, 1 or"),
        (["risk", "sampling", "--mu", "1", "-n", "0"], "expected --records to be a whole"),
        (["risk", "gaussian", "--mu", "1", "--prior", "2"], "expected --prior in [0, 1]"),
        (["risk", "gaussian", "--mu", "1", "--against", "dp:1,delta=2"], "delta of --against in"),
        (["risk", "gaussian", "--mu", "1", "--against", "response:1,rate=.5"], "'rate'"),
        (["risk", "card", "laplace:1,rate=2"], "expected rate of MECHANISM in [0, 1], got 2.0"),
        (["risk", "card", "response:1,k=0"], "expected k of MECHANISM to be"),
        (["risk", "card", "gaussian:1", "--test", "mean:effect=1,n=0"], "expected n of --test to"),
        (["risk", "card", "gaussian:1", "--test", "mean:effect=1,n=9,level=2"], "level of --test"),
        (["risk", "card", "gaussian:1", "--test", "mean:effect=1,n=9,sd=0"], "sd of --test in"),
        (["risk", "card", "gaussian:1", "--test", "slope:.1,n=9,low=0,high=9"], "z of --test for"),
        (["risk", "choose", "--posterior", "2", "--prior", ".1"], "expected --posterior in"),
        (["risk", "choose", "--posterior", ".2", "--prior", "2"], "expected --prior in"),
        (["risk", "choose", "--attack-power", "2", "--floor", ".1"], "expected --attack-power in"),
        (["risk", "choose", "-r", "2", "--family", "response", "--k", "0"], "expected --k to be"),
        (["risk", "choose", "-r", "2", "--delta", "2"], "expected --delta in"),
        (["risk", "choose", "-r", "2", "--records", "0"], "expected --records to be"),
        (["risk", "choose", "-r", "2", "--family", "gaussian", "--near-certainty"],
         "at least some --floor > 0"),
        (["risk", "choose", "-r", ".5"], "a relative risk of 1, which is that of releasing"),
    ],
)  # fmt: skip
def test_options_are_named(run: Run, words: list[str], message: str) -> None:
    result = run(*words)
    assert result.exit_code in {1, 2}, result.output
    assert message in result.stderr, result.stderr
    said = re.sub(r"'[^']*'", "", result.stderr).removeprefix("target missed: ")
    assert not ARGUMENTS.search(said), said
    assert len(result.stderr.splitlines()) == 1, "no hint at options that the verb has not"


def test_renamed() -> None:
    options = {"n": "--n", "alpha0": "--floor", "known_sd=True": "--z", "low": "--low"}
    for message, wanted in {
        "expected n in [1, 2], got 'expected n'": "expected --n in [1, 2], got 'expected n'",
        "expected an n for alpha0, got alpha01": "expected --n for --floor, got alpha01",
        "expected known_sd=True, got None": "expected --z, got none",
        "a range (low, n) and (low, other)": "a range (--low, --n) and (low, other)",
        "expected noise at n = 3": "expected noise at --n 3",
        "expected --n of 2": "expected --n of 2",
        "expected n of --test in [1, 2]": "expected n of --test in [1, 2]",
    }.items():
        assert renamed(message, options) == wanted
        assert renamed(wanted, options) == wanted


@pytest.mark.parametrize("kind", [InvalidInputError, CapacityError, InfeasibleError])
def test_the_error_itself_goes_on(kind: type[Exception]) -> None:
    error = kind("expected n of 2, got 3")
    with pytest.raises(kind, match="expected --n of 2, got 3") as caught, in_options({"n": "--n"}):
        raise error
    assert caught.value is error
