"""No option that takes one value is given two, on any verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption
from typer.testing import Result

from seepage.cli import VERBS as NAMES
from seepage.cli import app, load

Run = Callable[..., Result]


def verbs(command: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if not isinstance(command, TyperGroup):
        return [(path, command)]
    return [verb for name, sub in command.commands.items() for verb in verbs(sub, (*path, name))]


TOP = typer.main.get_command(app)
VERBS = [verb for name in NAMES for verb in verbs(load(name), (name,))]


@pytest.mark.parametrize(("path", "command"), VERBS, ids=[" ".join(path) for path, _ in VERBS])
def test_every_option_of_every_verb(
    path: tuple[str, ...], command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = 0
    for option in command.params:
        if not isinstance(option, TyperOption) or option.multiple or "--help" in option.opts:
            continue
        long = max(option.opts, key=len)
        if option.is_flag and not option.secondary_opts:
            continue
        # Also where the short name, or another spelling, comes second.
        again = [option.opts[-1], "2"] if len(option.opts) > 1 else [f"{long}=2"]
        twice = [long, *option.secondary_opts] if option.is_flag else [long, "1", *again]
        seen += 1
        code = TOP.main([*path, *twice], standalone_mode=False)
        said = capsys.readouterr()
        assert code == 2
        assert said.out == ""
        assert said.err.startswith(f"error: expected {long}"), said.err
        assert "once, got it 2 times" in said.err
    assert seen


@pytest.mark.parametrize(("path", "command"), VERBS, ids=[" ".join(path) for path, _ in VERBS])
def test_a_usage_error_is_bad_input_on_every_verb(
    path: tuple[str, ...], command: Any, run: Run
) -> None:
    valued = next(
        max(option.opts, key=len)
        for option in command.params
        if isinstance(option, TyperOption) and not option.is_flag and "--json" not in option.opts
    )
    for words in (["--no-such-option"], [valued], [valued, "1", "--no-such-option=3"]):
        result = run(*path, *words)
        assert result.exit_code == 2, (words, result.stderr)
        assert "internal error" not in result.stderr
        assert result.stdout == ""


def test_what_may_come_twice(run: Run) -> None:
    words = ["risk", "gaussian", "--mu", "1", "--mu", "2", "--prior", ".1", "--prior", ".2"]
    result = run(*words, "--against", "laplace:1", "--against", "laplace:2", "-q", "-q")
    assert result.exit_code == 0, result.output
    assert run("risk", "choose", "--family", "laplace", "--family", "dp", "--delta", "0",
               "-r", "3").exit_code == 0  # fmt: skip


def test_help_and_later_words(run: Run) -> None:
    assert run("power", "--n", "1", "--n", "2", "--help").exit_code == 0
    result = run("risk", "response", "--epsilon", "1", "--k", "2", "--k", "3")
    assert result.stderr == "error: expected --k once, got it 2 times\n"
