"""``seepage risk choose``: from what may happen to a person to mechanisms that keep it so."""

from __future__ import annotations

import math
import sys
from typing import Annotated, Any

import typer

from seepage.cli import _mechanisms, _output, _parse
from seepage.cli._options import FileOptions, RunOptions, expand
from seepage.cli._risk_options import LIMITS, MECHANISM, TYPED, finish, floor_of
from seepage.cli._run import guard, say
from seepage.errors import InvalidInputError, did_you_mean


@expand
def choose(
    *,
    blatant: Annotated[
        bool | None,
        typer.Option(
            "--blatant/--no-blatant",
            show_default=False,
            rich_help_panel=LIMITS,
            help="May the release prove something about a person? \\[default: no]",
        ),
    ] = None,
    near_certainty: Annotated[
        bool | None,
        typer.Option(
            "--near-certainty/--no-near-certainty",
            show_default=False,
            rich_help_panel=LIMITS,
            help="May an attacker come as close to certainty as he likes about a few people? "
            "\\[default: no]",
        ),
    ] = None,
    relative_risk: Annotated[
        str | None,
        typer.Option(
            "--relative-risk",
            "-r",
            metavar="FACTOR",
            rich_help_panel=LIMITS,
            help="Largest factor by which an attacker's belief may grow: 1 or more.",
        ),
    ] = None,
    attack_power: Annotated[
        str | None,
        typer.Option(
            "--attack-power",
            metavar="SHARE",
            rich_help_panel=LIMITS,
            help="Largest share, 0 to 1, of the people for whom the suspicion is true that the "
            "attack may find, at the --floor.",
        ),
    ] = None,
    posterior: Annotated[
        str | None,
        typer.Option(
            "--posterior",
            metavar="P",
            rich_help_panel=LIMITS,
            help="Largest belief after an alarm, 0 to 1; with --prior, the belief before.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="P",
            rich_help_panel=LIMITS,
            help="The belief before, for --posterior.",
        ),
    ] = None,
    floor: Annotated[
        str | None,
        typer.Option(
            "--floor",
            metavar="RATE",
            show_default=False,
            rich_help_panel=LIMITS,
            help="Smallest share of false alarms that is looked at. \\[default: 0, all]",
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family",
            metavar="NAME",
            rich_help_panel=MECHANISM,
            help="Consider only laplace, gaussian, response, sampling or dp. Repeatable.",
        ),
    ] = None,
    k: Annotated[
        str,
        typer.Option(
            "--k",
            metavar="K[,K…]",
            rich_help_panel=MECHANISM,
            help="Numbers of possible answers of randomised response.",
        ),
    ] = "2",
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            "-n",
            metavar="N",
            rich_help_panel=MECHANISM,
            help="Number of records; needed for sampling.",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            "--delta", metavar="DELTA", rich_help_panel=MECHANISM, help="δ; needed for dp."
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """From what may happen to a person, to the mechanisms that keep it so.

    On a terminal it asks for what the options leave open. The largest parameter of each family is
    on the safe side: it meets the limit, and the next larger number does not.
    """
    with guard(debug=run.debug, options=TYPED, table=False):
        outputs = _output.requested(files)
        _output.check(outputs, ())
        answers: dict[str, Any] = {
            "blatant": blatant,
            "near_certainty": near_certainty,
            "relative_risk": relative_risk,
            "power": attack_power,
            "posterior": posterior,
            "prior": prior,
            "alpha0": floor,
        }
        if asks():
            ask(answers)
        options = _answers(answers)
        if family:
            for name, missing in (("sampling", records is None), ("dp", delta is None)):
                if missing and name in family:
                    needed = "--records" if name == "sampling" else "--delta"
                    msg = f"expected {needed} together with --family {name}, got none"
                    raise InvalidInputError(msg)
            options["families"] = [_family(name) for name in family]
        options["k"] = [_mechanisms.whole(item, "--k") for item in k.split(",")]
        options["n"] = records
        options["delta"] = None if delta is None else _parse.number(delta, "--delta", 1)
        from seepage.risk.selection import choose as run_choose

        finish(run_choose(**options), outputs, run)


def _family(name: str) -> str:
    if name not in _mechanisms.FAMILIES:
        hint = did_you_mean(name, _mechanisms.FAMILIES)
        msg = f"expected --family to be a family of mechanisms, got {name!r}.{hint}"
        raise InvalidInputError(msg)
    return _mechanisms.FAMILIES[name]


def _answers(answers: dict[str, Any]) -> dict[str, Any]:
    """Answers as numbers."""
    named = {
        "relative_risk": "--relative-risk",
        "power": "--attack-power",
        "posterior": "--posterior",
        "prior": "--prior",
        "alpha0": "--floor",
    }
    found: dict[str, Any] = {
        key: _parse.number(answers[key], option, math.inf if key == "relative_risk" else 1)
        for key, option in named.items()
        if answers[key] is not None
    }
    if "alpha0" in found:
        found["alpha0"] = floor_of(answers["alpha0"])
    given = [named[key] for key in ("relative_risk", "power", "posterior") if key in found]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        msg = f"expected one of --relative-risk, --attack-power and --posterior, got {got}"
        raise InvalidInputError(msg)
    if "prior" in found and "posterior" not in found:
        msg = f"expected --prior together with --posterior only, got {given[0]}"
        raise InvalidInputError(msg)
    if "posterior" in found and "prior" not in found:
        msg = "expected --prior together with --posterior, got none"
        raise InvalidInputError(msg)
    if "power" in found and not found.get("alpha0"):
        msg = "expected --floor above 0 together with --attack-power, got none"
        raise InvalidInputError(msg)
    found["blatant"] = bool(answers["blatant"])
    near = answers["near_certainty"]
    found["near_certainty"] = bool(answers["blatant"]) if near is None else near
    if found["blatant"] and not found["near_certainty"]:
        msg = "expected --near-certainty where --blatant is given, as a proof is certainty, "
        msg += "got --no-near-certainty"
        raise InvalidInputError(msg)
    return found


def asks() -> bool:
    """Whether somebody sits at a terminal to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(answers: dict[str, Any]) -> None:
    """Ask for what was left open, on standard error; an answer that cannot be is asked again."""
    if answers["blatant"] is None and answers["near_certainty"] is None:
        answers["blatant"] = _yes(
            "May the release prove something about a person (a blatant disclosure)?"
        )
    if answers["near_certainty"] is None and not answers["blatant"]:
        answers["near_certainty"] = _yes(
            "May an attacker come as close to certainty as he likes about a few people?"
        )
    if all(answers[key] is None for key in ("relative_risk", "power", "posterior")):
        questions = {
            "factor": ("relative_risk", "By what factor may a belief grow at most?", 1, math.inf),
            "found": (
                "power", "What share of the people may the attack find at most (0 to 1)?", 0, 1
            ),
            "belief": ("posterior", "What may he believe at most after an alarm (0 to 1)?", 0, 1),
        }  # fmt: skip
        word = _word(
            "What is to be limited: the factor by which a belief grows (factor), the share of "
            "the people that the attack finds (found), or the belief after an alarm (belief)?",
            tuple(questions),
            "factor",
        )
        key, question, low, high = questions[word]
        answers[key] = _number(question, low, high)
    if answers["posterior"] is not None and answers["prior"] is None:
        answers["prior"] = _number("What does he believe before (0 to 1)?", 0, 1)
    unbounded = bool(answers["blatant"] or answers["near_certainty"])
    if answers["alpha0"] is None and (unbounded or answers["power"] is not None):
        answers["alpha0"] = _number(
            "From what share of false alarms on does it count?",
            0,
            1,
            "0.01",
            above=answers["power"] is not None,
        )


def _yes(question: str) -> bool:
    return _word(f"{question} (y or n)", ("y", "yes", "n", "no"), "n").startswith("y")


def _word(question: str, known: tuple[str, ...], default: str) -> str:
    """One of some words."""
    while True:
        word = _asked(question, default).lower()
        if word in known:
            return word
        say(f"expected one of {', '.join(known)}, got {word!r}.{did_you_mean(word, known)}")


def _number(
    question: str, low: float, high: float, default: str = "", *, above: bool = False
) -> str:
    """A number in a range; its text."""
    while True:
        text = _asked(question, default)
        try:
            value = _parse.number(text, "the answer", high)
        except InvalidInputError as error:
            say(str(error))
            continue
        if low <= value <= high and not (above and value == low):
            return text
        say(f"expected the answer in {'(' if above else '['}{low:g}, {high:g}], got {text!r}")


def _asked(question: str, default: str = "") -> str:
    """One answer. Nothing goes to standard output, which belongs to the results."""
    while True:
        typer.echo(f"{question} [{default}] " if default else f"{question} ", err=True, nl=False)
        line = sys.stdin.readline()
        if not line:
            typer.echo(err=True)  # the question stands on a line of its own
            msg = "expected an answer, got the end of the input"
            raise InvalidInputError(msg)
        if line.strip() or default:
            return line.strip() or default
