"""What ``seepage risk`` and ``seepage power`` share: the attacker, and how a result is shown."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _mechanisms, _output, _parse
from seepage.cli._options import RunOptions
from seepage.cli._run import say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.results import Result

MECHANISM, ATTACKER, LIMITS = "Mechanism", "Attacker", "Limit"

TYPED = {
    **{name: f"--{name}" for name in ("mu", "epsilon", "delta", "rate", "times", "k", "prior")},
    **{name: f"--{name}" for name in ("adjacency", "posterior", "belief")},
    **{name: f"--{name.replace('_', '-')}" for name in ("relative_risk", "attack_power")},
    "power": "--attack-power",
    "alpha0": "--floor",
    "n": "--records",
    "near_certainty=True": "--near-certainty",
    "near_certainty=False": "--no-near-certainty",
    "blatant=True": "--blatant",
}
"""Arguments of mechanisms and attackers, and the options that stand for them."""


@dataclass(frozen=True)
class AttackerOptions:
    """Who attacks, and what stands beside it."""

    floor: Annotated[
        str,
        typer.Option(
            "--floor",
            metavar="RATE",
            rich_help_panel=ATTACKER,
            help="Smallest share of wrong suspicions that an attacker flags too (false alarms): 0 "
            "to 1. An attacker who flags fewer people by mistake misses most.",
        ),
    ] = "0.01"
    prior: Annotated[
        list[str] | None,
        typer.Option(
            "--prior",
            metavar="P[,P…]",
            show_default=False,
            rich_help_panel=ATTACKER,
            help="What the attacker believes before: the share, 0 to 1, of the people he examines "
            "for whom his suspicion is true. \\[default: 0.01,0.1,0.5]",
        ),
    ] = None

    def read(self) -> dict[str, Any]:
        """Return the options as numbers."""
        found: dict[str, Any] = {"alpha0": floor_of(self.floor)}
        if self.prior:
            found["prior"] = _mechanisms.numbers(self.prior, "--prior", 1)
        return found


def floor_of(text: str) -> float:
    """Read the floor; say so where it is so high that it hides much."""
    from seepage.risk.disclosure import HIGH_FLOOR

    floor = _parse.number(text, "--floor", 1)
    if floor > 1:
        msg = f"expected --floor in [0, 1], got {text!r}"
        raise InvalidInputError(msg)
    if floor > HIGH_FLOOR:
        say(
            f"warning: --floor {text} looks only at attackers who flag {100 * floor:g} % or more "
            "of the others by mistake; one who flags fewer can be right more often than shown"
        )
    return floor


def finish(result: Result, outputs: list[_output.Output], run: RunOptions) -> None:
    written = _output.write(outputs, result)
    if run.quiet:
        return
    if all(output.path is not None for output in outputs):
        show(result, outputs)
    for file in written:
        say(f"wrote {file}")


def show(result: Any, outputs: list[_output.Output]) -> None:
    """Print a result of this verb, or of ``power``, as text; what was written is not offered."""
    from rich.console import Console

    from seepage.report.risk_text import risk_text

    text = risk_text(result, used=[output.option for output in outputs])
    Console(file=sys.stdout, highlight=False).print(text)
