"""``seepage audit``: how much each attribute of a table tells about each other one."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from seepage.cli import _output, _parse
from seepage.cli._run import TARGET_MISSED, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.plan.audit import AuditResult

TABLE, BUDGETS, OUTPUT = "Table", "Budgets", "Output"

HELP = (
    "Measure how much each column of a table leaks about each other one.\n\n"
    "When a column is released under local differential privacy with budget ε, correlation lets "
    "the answer tell something about the other columns too. This command computes how much, "
    "exactly, for every ordered pair: the worst case over all mechanisms, values and events."
)
EPILOG = (
    "[bold]seepage audit --example[/bold]\n\n"
    "[bold]seepage audit people.csv -e 2 -x id --html report.html[/bold]\n\n"
    "[bold]seepage audit a.data b.data --no-header --null '?' --out results[/bold]\n\n"
    "Exit codes: 0 done, 1 the --target was missed, 2 bad input."
)


class Binning(StrEnum):
    """How numbers are binned."""

    WIDTH = "width"
    QUANTILE = "quantile"


class Missing(StrEnum):
    """What becomes of empty values."""

    CATEGORY = "category"
    ERROR = "error"
    DROP = "drop"


class AuditCommand(TyperCommand):
    """The command, with an optional value for ``--json``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``--json`` without a value as ``--json=-``.

        The next word is its value only when it is ``-`` or ends in ``.json``, which no table does:
        ``--json people.csv`` must never overwrite the table.
        """
        read: list[str] = []
        for position, word in enumerate(args):
            if word == "--":
                read += args[position:]
                break
            following = args[position + 1] if position + 1 < len(args) else ""
            valued = following == "-" or following.lower().endswith(".json")
            read.append("--json=-" if word == "--json" and not valued else word)
        return super().parse_args(ctx, read)


def audit(
    tables: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TABLE",
            show_default=False,
            help="CSV, Parquet or Arrow IPC; one row for each person. Several files are read as "
            "one table.",
        ),
    ] = None,
    *,
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            rich_help_panel=TABLE,
            help="Audit the embedded example, a health survey, instead of a file.",
        ),
    ] = False,
    domain: Annotated[
        Path | None,
        typer.Option(
            "--domain",
            "-d",
            metavar="FILE",
            rich_help_panel=TABLE,
            help="Declared columns and categories (YAML). Without it they are read from the table.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns", "-c", metavar="A,B", rich_help_panel=TABLE, help="Use only these columns."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", "-x", metavar="A,B", rich_help_panel=TABLE, help="Leave out these columns."
        ),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            metavar="NAME=BINS",
            rich_help_panel=TABLE,
            help="Bins of one column: a number (age=5), edges (age=0,18,65,120), or none to take "
            "each number as a category. Repeatable.",
        ),
    ] = None,
    n_bins: Annotated[
        int, typer.Option("--n-bins", rich_help_panel=TABLE, help="Bins of every other number.")
    ] = 10,
    binning: Annotated[
        Binning,
        typer.Option("--binning", rich_help_panel=TABLE, help="Bins of equal width or size."),
    ] = Binning.WIDTH,
    missing: Annotated[
        Missing,
        typer.Option(
            "--missing",
            rich_help_panel=TABLE,
            help="Empty values: a category of their own, an error, or drop the row.",
        ),
    ] = Missing.CATEGORY,
    null: Annotated[
        list[str] | None,
        typer.Option(
            "--null",
            metavar="TOKEN",
            rich_help_panel=TABLE,
            help="A text that means empty, such as '?' or NA. Repeatable.",
        ),
    ] = None,
    min_count: Annotated[
        int,
        typer.Option(
            "--min-count",
            rich_help_panel=TABLE,
            help="Pool categories with fewer records than this.",
        ),
    ] = 0,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="COLUMN",
            rich_help_panel=TABLE,
            help="Column that says how many people a row stands for (whole numbers).",
        ),
    ] = None,
    no_header: Annotated[
        bool,
        typer.Option(
            "--no-header",
            rich_help_panel=TABLE,
            help="The first line of the CSV is a record, not column names.",
        ),
    ] = False,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--names",
            metavar="A,B,…",
            rich_help_panel=TABLE,
            help="Column names for a CSV without header.",
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            "-s",
            metavar="CHAR",
            rich_help_panel=TABLE,
            help="Field separator of the CSV: one character, or tab. \\[default: ,]",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            rich_help_panel=TABLE,
            help="Text encoding of the CSV. \\[default: utf-8]",
        ),
    ] = None,
    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="EPS",
            rich_help_panel=BUDGETS,
            help="Privacy budget ε of every column: 0 to inf.",
        ),
    ] = "1.0",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-b",
            metavar="NAME=EPS",
            rich_help_panel=BUDGETS,
            help="Budget of one column. Repeatable.",
        ),
    ] = None,
    budgets: Annotated[
        Path | None,
        typer.Option(
            "--budgets",
            metavar="FILE.json",
            rich_help_panel=BUDGETS,
            help='Budgets of single columns: {"age": 0.5, "sex": 2}.',
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="NATS",
            rich_help_panel=BUDGETS,
            help="Exit with 1 when a pair leaks more than this.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-n", min=0, rich_help_panel=OUTPUT, help="Pairs to show.")
    ] = 10,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="[FILE.json]",
            rich_help_panel=OUTPUT,
            help="Write JSON; without a file, to standard output and nothing else there.",
        ),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(
            "--csv", metavar="FILE|-", rich_help_panel=OUTPUT, help="Write all pairs as CSV."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write an interactive page that needs no network.",
        ),
    ] = None,
    chart: Annotated[
        list[Path] | None,
        typer.Option(
            "--chart",
            metavar="FILE.png|FILE.svg",
            rich_help_panel=OUTPUT,
            help="Write the heatmap as a picture. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="Write audit.json, audit.csv, audit.html and heatmap.svg into this folder.",
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Print nothing but errors."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            envvar="SEEPAGE_DEBUG",
            rich_help_panel=OUTPUT,
            help="Show the traceback of an error.",
        ),
    ] = False,
) -> None:
    """Measure how much each column leaks about each other one under local differential privacy."""
    with guard(debug=debug):
        outputs = _output.requested(json=json, csv=csv, html=html, charts=chart or (), folder=out)
        default = _parse.number(epsilon, "--epsilon")
        limit = None if target is None else _parse.number(target, "--target")
        sources, domain = _sources(tables or [], example=example, domain=domain)
        _output.check(outputs, [*sources, *(p for p in (domain, budgets) if p is not None)])
        single = _parse.budgets(budget, budgets)
        options = {
            "domain": domain,
            "columns": _parse.names(columns, "--columns"),
            "exclude": _parse.names(exclude, "--exclude"),
            "bins": _parse.bins(bins) or None,
            "n_bins": n_bins,
            "binning": str(binning),
            "missing": str(missing),
            "null_values": ("", *(null or ())),
            "min_count": min_count,
            "weights": weights,
            "header": not no_header,
            "names": _parse.names(names, "--names"),
            "separator": _parse.separator(separator),
            "encoding": encoding,
        }
        given = {name: value for name, value in options.items() if value is not None}
        with Work(quiet=quiet) as work:
            result = _run(sources, given, default, single, work)
            work.stage("Writing")
            files = _output.write(outputs, result)
        if not quiet:
            if all(output.path is not None for output in outputs):
                _print(result, top, saved=html is not None or out is not None)
            for file in files:
                say(f"wrote {file}")
        _judge(result, limit)


def _sources(
    tables: list[Path], *, example: bool, domain: Path | None
) -> tuple[list[Path], Path | None]:
    if example == bool(tables):
        got = f"{str(tables[0])!r} and --example" if example else "neither"
        msg = f"expected a TABLE or --example, got {got}"
        raise InvalidInputError(msg)
    if not example:
        return tables, domain
    from seepage.example import example_domain_path, example_path

    return [example_path()], domain or example_domain_path()


def _run(
    sources: list[Path],
    options: dict[str, Any],
    default: float,
    single: dict[str, float],
    work: Work,
) -> AuditResult:
    from seepage.plan.audit import audit as run
    from seepage.tables import load

    work.stage("Reading the table")
    coded = load(sources[0] if len(sources) == 1 else sources, **options)
    for name in single:
        coded.domain.position(name)  # an unknown column ends here, before the long work
    budgets = dict.fromkeys(coded.domain.names, default) | single
    work.stage("Measuring pairs")
    return run(coded, epsilon=budgets, progress=work.step)


def _print(result: AuditResult, top: int, *, saved: bool) -> None:
    from rich.console import Console

    from seepage.report.text import text

    Console(file=sys.stdout, highlight=False).print(text(result, top=top, hints=not saved))


def _judge(result: AuditResult, limit: float | None) -> None:
    if limit is None:
        return
    worst = result.ranked[0]
    if worst.leakage.value > limit:
        say(
            f"target missed: expected at most {limit:g} nats, got {worst.leakage.value:.6g} about "
            f"{worst.secret!r} from {worst.released!r}"
        )
        raise typer.Exit(TARGET_MISSED)
