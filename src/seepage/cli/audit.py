"""``seepage audit``: how much each attribute of a table tells about each other one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import (
    BUDGETS,
    MEASURES,
    OUTPUT,
    FileOptions,
    RunOptions,
    TableOptions,
    expand,
)
from seepage.cli._run import EXIT_CODES, TARGET_MISSED, Work, guard, say

if TYPE_CHECKING:
    from seepage.plan.audit_result import AuditResult
    from seepage.tables import CodedTable, CountedTable

HELP = (
    "Measure how much each column of a table leaks about each other one.\n\n"
    "When a column is released under local differential privacy with budget ε, correlation lets "
    "the answer tell something about the other columns too. This command computes how much, "
    "exactly, for every ordered pair: the worst case over all mechanisms, values and events."
)
EPILOG = (
    "[bold]seepage audit --example[/bold]\n\n"
    "[bold]seepage audit people.csv -e 2 -x id --html report.html[/bold]\n\n"
    "[bold]seepage audit adult.data adult.test --no-header --null '?' --strip . --out results"
    "[/bold]\n\n"
    "[bold]seepage audit people.csv --write-domain people.yaml[/bold]\n\n"
    f"Exit codes: 0 done, 1 the --target was missed, {EXIT_CODES}."
)


WHOLE = {
    "audit.json": _output.as_json,
    "audit.csv": _output.as_csv,
    "audit.html": _output.as_html,
    "heatmap.svg": _output.as_chart(".svg"),
}
"""What ``--out FOLDER`` gets."""


@expand
def audit(
    *,
    table: TableOptions,
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
            help='Budgets of single columns: {"age": 0.5, "sex": 2}, or what seepage calibrate '
            "--out wrote.",
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
    confidence: Annotated[
        str,
        typer.Option(
            "--confidence",
            metavar="P",
            rich_help_panel=MEASURES,
            help="Confidence of the limits for sampling, of each pair by itself: between 0 and 1, "
            "or none to leave them out.",
        ),
    ] = "0.95",
    triples: Annotated[
        bool | None,
        typer.Option(
            "--triples/--no-triples",
            rich_help_panel=MEASURES,
            show_default=False,
            help="Check whether two columns together tell more than their sum. \\[default: when "
            "the work is moderate]",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-n", min=0, rich_help_panel=OUTPUT, help="Pairs to show.")
    ] = 10,
    files: FileOptions,
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
    write_domain: Annotated[
        Path | None,
        typer.Option(
            "--write-domain",
            metavar="FILE.yaml",
            rich_help_panel=OUTPUT,
            help="Write the columns and categories that were used, as a start for declaring them.",
        ),
    ] = None,
    run: RunOptions,
) -> None:
    """Measure how much each column leaks about each other one under local differential privacy."""
    with guard(debug=run.debug):
        outputs = _output.requested(files) + _output.whole_folder(out, WHOLE)
        if write_domain is not None:
            outputs.append(
                _output.Output("--write-domain", _output.target(write_domain), _as_domain)
            )
        default = _parse.number(epsilon, "--epsilon")
        level = _parse.confidence(confidence)
        limit = None if target is None else _parse.number(target, "--target")
        inputs = table.inputs()
        _output.check(outputs, inputs if budgets is None else [*inputs, budgets])
        single = _parse.budgets(budget, budgets)
        read = table.opener(records=True if triples else None)
        with Work(quiet=run.quiet) as work:
            result = _run(read(work), default, single, work, confidence=level, triples=triples)
            work.stage("Writing")
            written = _output.write(outputs, result)
        if not run.quiet:
            if all(output.path is not None for output in outputs):
                _print(result, top, saved=files.html is not None or out is not None)
            for file in written:
                say(f"wrote {file}")
        _judge(result, limit)


def _run(
    coded: CodedTable | CountedTable,
    default: float,
    single: dict[str, float],
    work: Work,
    **options: Any,
) -> AuditResult:
    from seepage.plan.audit import audit as run

    for name in single:
        coded.domain.position(name)  # an unknown column ends here, before the long work
    budgets = dict.fromkeys(coded.domain.names, default) | single
    work.stage("Measuring pairs")
    return run(coded, epsilon=budgets, progress=work.step, **options)


def _as_domain(result: Any) -> bytes:
    from seepage.tables.domain_files import written_domain

    text = written_domain(result.domain, result.assumptions, result.source)
    return text.encode("utf-8", errors="replace")


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
