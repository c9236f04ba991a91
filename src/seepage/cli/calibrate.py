"""``seepage calibrate``: the largest budgets under which no total leakage exceeds a target."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import BUDGETS, OUTPUT, FileOptions, RunOptions, TableOptions, expand
from seepage.cli._run import EXIT_CODES, TARGET_MISSED, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.domain import Domain
    from seepage.plan.calibrate import CalibrationResult
    from seepage.tables import CodedTable, CountedTable

HELP = (
    "Find the largest budgets under which the total leakage about no column exceeds a target.\n\n"
    "All columns are released together. What their reports tell about one column, its own report "
    "included, is its total leakage. Splitting the target equally is safe but wasteful: columns "
    "that say little about each other can have more. This command finds the budgets that give "
    "the best estimates, checks them again, and says what holds them back."
)
EPILOG = (
    "[bold]seepage calibrate --example[/bold]\n\n"
    "[bold]seepage calibrate people.csv -x id --target 3 --out budgets.json[/bold]\n\n"
    "[bold]seepage audit people.csv -x id --budgets budgets.json[/bold]\n\n"
    "Exit codes: 0 done, 1 no budgets meet the --target or the records refute the totals by tree, "
    f"{EXIT_CODES}."
)
DEFAULT_K = 2


class Method(StrEnum):
    """How the total is bounded."""

    TREE = "tree"
    PAIRWISE = "pairwise"
    GROUP = "group"


class Objective(StrEnum):
    """What is made as good as possible."""

    VARIANCE = "variance"
    SUM = "sum"
    MAXMIN = "maxmin"
    KWAY = "kway"


@dataclass(frozen=True)
class _Bound:
    """A bound of the budgets: of all columns, and of single ones."""

    option: str
    of_all: float | None
    single: Mapping[str, float]

    @classmethod
    def parse(cls, texts: Iterable[str] | None, option: str) -> _Bound:
        given = list(texts or ())
        of_all = [text for text in given if "=" not in text]
        if len(of_all) > 1:
            msg = f"expected one {option} for all columns, got {of_all[0]!r} and {of_all[1]!r}"
            raise InvalidInputError(msg)
        named = _parse.assignments([t for t in given if "=" in t], option, "EPS or NAME=EPS")
        return cls(
            option,
            _parse.number(of_all[0], option) if of_all else None,
            {k: _parse.number(v, f"{option} of column {k!r}") for k, v in named.items()},
        )

    def values(self, domain: Domain) -> dict[str, float]:
        """The bound of each column that has one."""
        for name in self.single:
            domain.position(name)
        every = {} if self.of_all is None else dict.fromkeys(domain.names, self.of_all)
        return every | dict(self.single)


@expand
def calibrate(
    *,
    table: TableOptions,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="NATS",
            rich_help_panel=BUDGETS,
            help="Largest total leakage about any column: 0 to inf.",
        ),
    ] = "3",
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            "-m",
            rich_help_panel=BUDGETS,
            help="Total that is held below the target. tree: an upper bound when the data follow "
            "a dependency tree; group: the sum of all budgets, a bound always; pairwise: a "
            "heuristic, no bound.",
        ),
    ] = Method.TREE,
    objective: Annotated[
        Objective,
        typer.Option(
            "--objective",
            rich_help_panel=BUDGETS,
            help="variance: best frequencies of single columns; kway: best tables of --k columns; "
            "sum: largest sum of budgets; maxmin: largest smallest budget.",
        ),
    ] = Objective.VARIANCE,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            show_default=False,
            rich_help_panel=BUDGETS,
            help=f"Columns of one table, for --objective kway. \\[default: {DEFAULT_K}]",
        ),
    ] = None,
    importance: Annotated[
        list[str] | None,
        typer.Option(
            "--importance",
            metavar="NAME=W",
            rich_help_panel=BUDGETS,
            help="How much a column matters to the objective; others have 1. Repeatable.",
        ),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--minimum",
            metavar="[NAME=]EPS",
            rich_help_panel=BUDGETS,
            help="Smallest budget of every column, or of one. Repeatable.",
        ),
    ] = None,
    maximum: Annotated[
        list[str] | None,
        typer.Option(
            "--maximum",
            metavar="[NAME=]EPS",
            rich_help_panel=BUDGETS,
            help="Largest budget of every column, or of one. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.json",
            rich_help_panel=OUTPUT,
            help="Write the budgets and what they rest on; seepage audit --budgets reads this.",
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Find the largest budgets under which no total leakage exceeds a target."""
    with guard(debug=run.debug):
        outputs = _output.requested(files, out, lambda _: _output.as_json)
        goal = _parse.number(target, "--target")
        if k is not None and objective is not Objective.KWAY:
            msg = f"expected --k with --objective kway only, got --objective {objective}"
            raise InvalidInputError(msg)
        _output.check(outputs, table.inputs())
        weights = _parse.weights(importance)
        bounds = [_Bound.parse(minimum, "--minimum"), _Bound.parse(maximum, "--maximum")]
        read = table.opener()
        with Work(quiet=run.quiet) as work:
            coded = read(work)
            low, high = (bound.values(coded.domain) for bound in bounds)
            work.stage("Calibrating")
            result = _run(
                coded, goal, k, method=str(method), objective=str(objective),
                weights=weights, minimum=low, maximum=high,
            )  # fmt: skip
            work.stage("Writing")
            written = _output.write(outputs, result)
        if not run.quiet:
            if all(output.path is not None for output in outputs):
                _print(result, out)
            for file in written:
                say(f"wrote {file}")
        if not result.vouched:
            fate = "missed" if result.missed else "not vouched for"
            say(f"target {fate}: the records refute the totals by tree; see the verdict")
            raise typer.Exit(TARGET_MISSED)


def _run(
    coded: CodedTable | CountedTable, target: float, k: int | None, **options: Any
) -> CalibrationResult:
    from seepage.plan.calibrate import calibrate as run

    # The default must not be refused for a table of one column.
    size = min(DEFAULT_K, len(coded.domain)) if k is None else k
    return run(coded, target, k=size, **options)


def _print(result: CalibrationResult, out: Path | None) -> None:
    from rich.console import Console

    from seepage.report.budgets_text import budgets_text

    saved = None if out is None else str(out)
    Console(file=sys.stdout, highlight=False).print(budgets_text(result, saved=saved))
