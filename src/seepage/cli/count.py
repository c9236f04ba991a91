"""``seepage count``: pairwise counts of a part of the records, to be added up elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output
from seepage.cli._options import OUTPUT, RunOptions, TableOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.tables import CountedTable

HELP = (
    "Count every pair of columns, and save the counts.\n\n"
    "Counts add up: each machine counts its part of the records, and seepage audit and seepage "
    "calibrate take all the saved counts together in place of a table. The parts need one declared "
    "domain. The table is read in batches and may be larger than the memory."
)
EPILOG = (
    "[bold]seepage count part-1.parquet --write-domain domain.yaml[/bold]\n\n"
    "[bold]seepage count part-1.parquet --domain domain.yaml --out part-1.counts[/bold]\n\n"
    "[bold]seepage audit part-1.counts part-2.counts[/bold]\n\n"
    "[bold]seepage count part-1.counts part-2.counts --out all.counts[/bold]\n\n"
    f"Exit codes: 0 done, {EXIT_CODES}."
)


@expand
def count(
    *,
    table: TableOptions,
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
        if out is not None:
            _check_name(out)
            outputs.append(_output.Output("--out", _output.target(out), _as_counts))
        if write_domain is not None:
            target = _output.target(write_domain)
            outputs.append(_output.Output("--write-domain", target, _as_domain))
        if not outputs:
            msg = "expected --out FILE.counts or --write-domain FILE.yaml, got neither"
            raise InvalidInputError(msg)
        _output.check(outputs, table.inputs())
        read = table.counter()
        with Work(quiet=run.quiet) as work:
            counted: Any = read(work)
            work.stage("Writing")
            written = _output.write(outputs, counted)
        if not run.quiet:
            for line in _summary(counted, own=_has_own_domain(table)):
                say(line)
            for file in written:
                say(f"wrote {file}")


def _has_own_domain(table: TableOptions) -> bool:
    """Whether the categories were read from a table that may be a part of a larger one."""
    from seepage.tables import is_counts

    return not (table.example or table.domain or is_counts(table.tables))


def _check_name(out: Path) -> None:
    from seepage.tables.count_files import SUFFIX

    if _output.target(out) is not None and out.suffix.lower() != SUFFIX:
        msg = f"expected --out FILE{SUFFIX}, got {str(out)!r}"
        raise InvalidInputError(msg)


def _as_counts(counted: Any) -> bytes:
    from seepage.tables.count_files import counts_to_bytes

    return counts_to_bytes(counted)


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
