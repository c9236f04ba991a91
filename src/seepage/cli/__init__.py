"""The command ``seepage``: one module for each verb, no mathematics and no file formats.

Exit codes: 0 done, 1 a target was missed, 2 bad input, 3 a defect of the program, 130 interrupted,
141 the reader of a pipe went away. Results go to standard output, everything else to standard
error.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seepage.cli import audit as _audit
from seepage.cli import calibrate as _calibrate
from seepage.cli._options import Command
from seepage.cli._run import mend_streams

app = typer.Typer(
    name="seepage",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try it without any data: [bold]seepage audit --example[/bold]",
)
app.command(
    "audit",
    cls=Command,
    help=_audit.HELP,
    epilog=_audit.EPILOG,
    short_help="How much each column of a table leaks about each other one.",
)(_audit.audit)
app.command(
    "calibrate",
    cls=Command,
    help=_calibrate.HELP,
    epilog=_calibrate.EPILOG,
    short_help="The largest budgets under which the total about no column exceeds a target.",
)(_calibrate.calibrate)


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
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ε or ← must not end in a UnicodeEncodeError.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="seepage")
    except KeyboardInterrupt:
        sys.exit(130)
