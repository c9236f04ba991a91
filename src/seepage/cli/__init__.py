"""The command ``seepage``: one module for each verb, no mathematics and no file formats.

Exit codes: 0 done, 1 a target was missed, 2 bad input, 3 a defect of the program, 130 interrupted,
141 the reader of a pipe went away, 143 terminated. Results go to standard output, everything else
to standard error.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from seepage.cli._run import end_in_order, mend_streams

if TYPE_CHECKING:
    from collections.abc import Callable

VERBS = {
    "audit": "How much each column of a table leaks about each other one.",
    "calibrate": "The largest budgets under which the total about no column exceeds a target.",
    "count": "Pairwise counts of a part of the records, to be added up.",
    "plan": "Who is randomised how: the file that clients and server share.",
    "randomize": "Randomise a table under a plan.",
    "estimate": "Frequency tables from randomised reports, with standard errors.",
    "redact": "Sequences in which chosen records stay private.",
    "relationships": "What a collection keeps of relationships between columns, and what they "
    "were.",
    "risk": "What a mechanism means for a person in the data, and which one to choose.",
    "power": "What a test keeps under protection, and the risk that goes with it.",
    "attack": "How well the reports of other columns give a column away.",
}


class Verbs(TyperGroup):
    """The group of verbs. It loads the module of the one that is called, and no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order in which the help shows them."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Name and one line, which is all that the help of the group needs; None if unknown."""
        short = VERBS.get(cmd_name)
        return None if short is None else TyperCommand(cmd_name, help=short)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that `args` starts with, loaded."""
        self.commands = {verb: self.get_command(ctx, verb) for verb in VERBS}  # to suggest from
        name, found, rest = super().resolve_command(ctx, args)
        return name, None if found is None else load(str(found.name)), rest


def load(verb: str) -> Any:
    """Import the module of a verb and build its command, or its group of commands.

    Parameters
    ----------
    verb : str
        One of `VERBS`.

    Returns
    -------
    TyperCommand or TyperGroup
    """
    module = import_module(f"seepage.cli.{verb}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    from seepage.cli._options import Command

    alone = typer.Typer(
        add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
    run: Callable[..., None] = getattr(module, verb)
    alone.command(verb, cls=Command, help=module.HELP, epilog=module.EPILOG)(run)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="seepage",
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it without any data: [bold]seepage audit --example[/bold]",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from seepage import __version__

        typer.echo(f"seepage {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Measure and control the privacy that seeps through correlations."""


def main() -> None:
    """Run the command line; the entry point of the installed script."""
    mend_streams()
    end_in_order()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ε or ← must not end in a UnicodeEncodeError.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="seepage")
    except KeyboardInterrupt:
        sys.exit(130)
