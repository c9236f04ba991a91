"""The command ``seepage``: one module for each verb, no mathematics and no file formats.

Exit codes: 0 done, 1 a target was missed, 2 bad input, 3 a defect of the program, 130 interrupted,
141 the reader of a pipe went away, 143 terminated. Results go to standard output, everything else
to standard error.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seepage.cli import attack as _attack
from seepage.cli import audit as _audit
from seepage.cli import calibrate as _calibrate
from seepage.cli import count as _count
from seepage.cli import estimate as _estimate
from seepage.cli import plan as _plan
from seepage.cli import power as _power
from seepage.cli import randomize as _randomize
from seepage.cli import redact as _redact
from seepage.cli import relationships as _relationships
from seepage.cli import risk as _risk
from seepage.cli._options import Command
from seepage.cli._run import end_in_order, mend_streams

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
app.command(
    "count",
    cls=Command,
    help=_count.HELP,
    epilog=_count.EPILOG,
    short_help="Pairwise counts of a part of the records, to be added up.",
)(_count.count)
app.command(
    "plan",
    cls=Command,
    help=_plan.HELP,
    epilog=_plan.EPILOG,
    short_help="Who is randomised how: the file that clients and server share.",
)(_plan.plan)
app.command(
    "randomize",
    cls=Command,
    help=_randomize.HELP,
    epilog=_randomize.EPILOG,
    short_help="Randomise a table under a plan.",
)(_randomize.randomize)
app.command(
    "estimate",
    cls=Command,
    help=_estimate.HELP,
    epilog=_estimate.EPILOG,
    short_help="Frequency tables from randomised reports, with standard errors.",
)(_estimate.estimate)
app.command(
    "redact",
    cls=Command,
    help=_redact.HELP,
    epilog=_redact.EPILOG,
    short_help="Sequences in which chosen records stay private.",
)(_redact.redact)
app.command(
    "relationships",
    cls=Command,
    help=_relationships.HELP,
    epilog=_relationships.EPILOG,
    short_help="What a collection keeps of relationships between columns, and what they were.",
)(_relationships.relationships)
app.add_typer(
    _risk.app,
    name="risk",
    short_help="What a mechanism means for a person in the data, and which one to choose.",
)
app.command(
    "power",
    cls=Command,
    help=_power.HELP,
    epilog=_power.EPILOG,
    short_help="What a test keeps under protection, and the risk that goes with it.",
)(_power.power)
app.command(
    "attack",
    cls=Command,
    help=_attack.HELP,
    epilog=_attack.EPILOG,
    short_help="How well the reports of other columns give a column away.",
)(_attack.attack)


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
