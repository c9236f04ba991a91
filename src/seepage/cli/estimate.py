"""``seepage estimate``: randomised reports to tables with standard errors."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import OUTPUT, FileOptions, RunOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say

if TYPE_CHECKING:
    from seepage.collect.estimates import AnyEstimates

HELP = (
    "Estimate frequency tables from randomised reports.\n\n"
    "Estimates are unbiased and come with standard errors and confidence limits, so values may be "
    "negative: that is noise, not a mistake. --project asks for further steps by name, such as the "
    "nearest table without negative values; what they do to the estimates is said in the output."
)
EPILOG = (
    "[bold]seepage estimate reports.parquet --plan plan.json[/bold]\n\n"
    "[bold]seepage estimate reports.parquet --plan plan.json --marginals 1 --html page.html"
    "[/bold]\n\n"
    "[bold]seepage estimate part-1.counts part-2.counts --plan plan.json[/bold]\n\n"
    f"Exit codes: 0 done, {EXIT_CODES}."
)
PANEL = "Estimation"
DEFAULT_MARGINALS = 2


class Project(StrEnum):
    """Steps after the unbiased estimate."""

    SIMPLEX = "simplex"
    CLIP = "clip"
    CONSISTENT = "consistent"
    UPDATE = "update"
    LIKELIHOOD = "likelihood"


@expand
def estimate(
    *,
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORTS",
            help="What seepage randomize wrote: Parquet, CSV or Arrow IPC. Several files are read "
            "as one collection. Or what seepage count --plan wrote, which is added up.",
        ),
    ],
    plan: Annotated[
        Path,
        typer.Option(
            "--plan",
            "-p",
            metavar="FILE.json",
            rich_help_panel=PANEL,
            help="The plan that the reports were made under.",
        ),
    ],
    marginals: Annotated[
        int | None,
        typer.Option(
            "--marginals",
            "-k",
            metavar="K",
            show_default=False,
            rich_help_panel=PANEL,
            help=f"Columns of one table: all tables of K columns that the plan can estimate. "
            f"\\[default: {DEFAULT_MARGINALS}]",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            metavar="A,B",
            rich_help_panel=PANEL,
            help="Only tables of these columns.",
        ),
    ] = None,
    project: Annotated[
        list[Project] | None,
        typer.Option(
            "--project",
            rich_help_panel=PANEL,
            help="A step after the unbiased estimate. simplex: nearest table without negative "
            "values; consistent: tables agree on the columns they share; update: iterative "
            "Bayesian update; likelihood: maximum likelihood; clip: set negative values to 0 and "
            "divide by the sum (biased, for comparison). Repeatable, in order.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="P",
            rich_help_panel=PANEL,
            help="Probability that the limits of a cell contain the truth.",
        ),
    ] = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write all tables: .csv (one row for each cell) or .json.",
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Estimate frequency tables from randomised reports."""
    with guard(debug=run.debug):
        outputs = _output.requested(files, out, _output.csv_or_json)
        _output.check(outputs, [*reports, plan])
        names = _parse.names(columns, "--columns")
        with Work(quiet=run.quiet) as work:
            work.stage("Estimating")
            result = _run(
                reports, plan, marginals, columns=names, confidence=confidence, steps=project or []
            )
            work.stage("Writing")
            written = _output.write(outputs, result)
        if not run.quiet:
            for doubt in result.doubts:
                say(f"warning: {doubt}")
            if all(output.path is not None for output in outputs):
                _print(result)
            for file in written:
                say(f"wrote {file}")


def _run(
    reports: list[Path],
    plan: Path,
    marginals: int | None,
    *,
    columns: list[str] | None,
    confidence: float,
    steps: list[Project],
) -> AnyEstimates:
    from seepage.plan.estimating import adjust
    from seepage.plan.estimating import estimate as run
    from seepage.plan.plan_sources import as_plan

    chosen = as_plan(plan)
    # The default must not be refused for one column.
    most = len(chosen.domain) if columns is None else len(columns)
    size = min(DEFAULT_MARGINALS, most) if marginals is None else marginals
    source: Any = reports[0] if len(reports) == 1 else reports
    made = run(source, chosen, size, columns=columns, confidence=confidence)
    return adjust(made, [step.value for step in steps])


def _print(result: AnyEstimates) -> None:
    from rich.console import Console

    from seepage.report.estimates_text import estimates_text

    Console(file=sys.stdout, highlight=False).print(estimates_text(result))
