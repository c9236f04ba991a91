"""``seepage count``: counts of a part of the records or reports, to be added up elsewhere."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import OUTPUT, RunOptions, TableOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.collect.estimates import Estimates
    from seepage.tables import CountedTable

HELP = (
    "Count every pair of columns, and save the counts.\n\n"
    "Counts add up: each machine counts its part of the records, and seepage audit and seepage "
    "calibrate take all the saved counts together in place of a table. The parts need one declared "
    "domain. The table is read in batches and may be larger than the memory.\n\n"
    "With --plan the table holds randomised reports, and what is counted is all that seepage "
    "estimate and seepage relationships need of them."
)
EPILOG = (
    "[bold]seepage count part-1.parquet --write-domain domain.yaml[/bold]\n\n"
    "[bold]seepage count part-1.parquet --domain domain.yaml --out part-1.counts[/bold]\n\n"
    "[bold]seepage audit part-1.counts part-2.counts[/bold]\n\n"
    "[bold]seepage count part-1.counts part-2.counts --out all.counts[/bold]\n\n"
    "[bold]seepage count reports-1.parquet --plan plan.json --out reports-1.counts[/bold]\n\n"
    "[bold]seepage estimate reports-1.counts reports-2.counts --plan plan.json[/bold]\n\n"
    f"Exit codes: 0 done, {EXIT_CODES}."
)
PANEL = "Reports"


@expand
def count(
    *,
    table: TableOptions,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            "-p",
            metavar="FILE.json",
            rich_help_panel=PANEL,
            help="The table holds reports of this plan: count what seepage estimate needs of them. "
            "Of the options of a table only --columns goes with it.",
        ),
    ] = None,
    marginals: Annotated[
        int | None,
        typer.Option(
            "--marginals",
            "-k",
            metavar="K",
            show_default=False,
            rich_help_panel=PANEL,
            help="With --plan: count for all tables of K columns that the plan can estimate, and "
            "for all single columns. \\[default: 2, with fake data 1; of saved counts all]",
        ),
    ] = None,
    covariance: Annotated[
        bool,
        typer.Option(
            "--covariance",
            rich_help_panel=PANEL,
            help="With --plan: keep what covariances and seepage relationships need where reports "
            "are no categories (unary, hashing, subset). Such files are larger.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.counts",
            rich_help_panel=OUTPUT,
            help="Write the counts.",
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
    """Count every pair of columns, and save the counts."""
    with guard(debug=run.debug):
        outputs = []
        if plan is not None:
            _refuse_with_plan(table, write_domain)
        elif marginals is not None or covariance:
            name = "--marginals" if marginals is not None else "--covariance"
            msg = f"expected {name} with --plan only"
            raise InvalidInputError(msg)
        if out is not None:
            _check_name(out)
            content = _as_counts if plan is None else _as_report_counts
            outputs.append(_output.Output("--out", _output.target(out), content))
        if write_domain is not None:
            target = _output.target(write_domain)
            outputs.append(_output.Output("--write-domain", target, _as_domain))
        if not outputs:
            msg = "expected --out FILE.counts or --write-domain FILE.yaml, got neither"
            raise InvalidInputError(msg)
        _output.check(outputs, [*table.inputs(), *([] if plan is None else [plan])])
        read = None if plan is not None else table.counter()
        with Work(quiet=run.quiet) as work:
            counted: Any
            if plan is not None:
                work.stage("Counting the reports")
                counted = _count_reports(table, plan, marginals, covariance=covariance)
            elif read is not None:
                counted = read(work)
            work.stage("Writing")
            written = _output.write(outputs, counted)
        if not run.quiet:
            told = (
                _summary(counted, own=_has_own_domain(table))
                if plan is None
                else _summary_of_reports(counted)
            )
            for line in told:
                say(line)
            for file in written:
                say(f"wrote {file}")


def _refuse_with_plan(table: TableOptions, write_domain: Path | None) -> None:
    """Refuse options of a table beside a plan, which says how reports are to be read."""
    given = [
        item.name
        for item in fields(table)
        if item.name not in {"tables", "columns"}
        and getattr(table, item.name) not in (None, item.default)
    ]
    if write_domain is not None:
        given.append("write_domain")
    if given:
        msg = f"expected --plan without --{given[0].replace('_', '-')}: the plan has the domain"
        raise InvalidInputError(msg)


def _count_reports(
    table: TableOptions, plan: Path, marginals: int | None, *, covariance: bool
) -> Estimates:
    from seepage.plan.estimating import count_reports
    from seepage.plan.plan_sources import as_plan
    from seepage.plan.report_counts import are_counts, merge_report_counts

    chosen, paths = as_plan(plan), list(table.tables or ())
    columns = _parse.names(table.columns, "--columns")
    if marginals is None and columns is None and not covariance and are_counts(paths):
        return merge_report_counts(paths, chosen)
    # The default must not be refused for one column, or where pairs cannot be estimated.
    most = len(chosen.domain) if columns is None else len(columns)
    usual = 1 if chosen.design == "fake" else min(2, most)
    size = usual if marginals is None else marginals
    return count_reports(paths, chosen, size, columns=columns, covariance=covariance)


def _has_own_domain(table: TableOptions) -> bool:
    """Whether the categories were read from a table that may be a part of a larger one."""
    from seepage.tables import is_counts

    return not (table.example or table.domain or is_counts(table.tables))


def _check_name(out: Path) -> None:
    from seepage.tables.count_archive import SUFFIX

    if _output.target(out) is not None and out.suffix.lower() != SUFFIX:
        msg = f"expected --out FILE{SUFFIX}, got {str(out)!r}"
        raise InvalidInputError(msg)


def _as_counts(counted: Any) -> bytes:
    from seepage.tables.count_files import counts_to_bytes

    return counts_to_bytes(counted)


def _as_report_counts(counted: Any) -> bytes:
    from seepage.plan.report_counts import report_counts_to_bytes

    return report_counts_to_bytes(counted)


def _as_domain(counted: Any) -> bytes:
    from seepage.tables.domain_files import written_domain

    text = written_domain(counted.domain, counted.notes, counted.source)
    return text.encode("utf-8", errors="replace")


def _summary(counted: CountedTable, *, own: bool) -> list[str]:
    d = len(counted.domain)
    weight = f", weighted to {counted.counts.total:,}" if counted.weighted else ""
    lines = [
        f"counted {counted.records:,} records{weight} in {d * (d - 1) // 2:,} pairs of {d} columns "
        f"of {counted.source}"
    ]
    lines += [f"note: {note}" for note in counted.notes]
    if own:
        lines.append(
            "hint: these categories are those of this part; to add up several parts, count each "
            "with one --domain, for which --write-domain gives a start"
        )
    return lines


def _summary_of_reports(counted: Estimates) -> list[str]:
    tables = f"{len(counted.sets)} table{'' if len(counted.sets) == 1 else 's'}"
    most = max(map(len, counted.sets))
    columns = "single columns" if most == 1 else f"{most} columns"
    lines = [
        f"counted the reports of {counted.size:,} records of {counted.source} for {tables} of "
        f"{columns} under the plan {counted.plan.fingerprint[:16]}"
    ]
    return lines + [f"warning: {doubt}" for doubt in counted.doubts]
