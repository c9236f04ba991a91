"""``seepage redact``: sequences in which chosen records stay private."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import (
    OUTPUT,
    TABLE,
    EncodingOption,
    FileOptions,
    NamesOption,
    NoHeaderOption,
    NullOption,
    RunOptions,
    SeparatorOption,
    expand,
)
from seepage.cli._run import EXIT_CODES, TARGET_MISSED, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.plan.redacting import TableRedaction
    from seepage.plan.redaction_comparison import RedactionComparison
    from seepage.results import Result

HELP = (
    "Redact sequences so that chosen records stay private.\n\n"
    "The records of a sequence tell about each other. For a person who opts out, this command "
    "withholds the record and as few others as will do, and releases the rest unaltered: nobody "
    "learns more than ε about the withheld one, whatever comes out. The leakage of every plan is "
    "exact. Randomness comes from the operating system unless --seed asks for a simulation."
)
EPILOG = (
    "[bold]seepage redact --example --epsilon 1[/bold]\n\n"
    "[bold]seepage redact days.csv --order day --state wet --protect 40 --out out.csv[/bold]\n\n"
    "[bold]seepage redact people.csv --id person --order hour --state place --protect opt_out "
    "--epsilon 0.5 --out out.parquet --save-plan plan.json[/bold]\n\n"
    f"Exit codes: 0 done, 1 a plan leaks more than ε, {EXIT_CODES}."
)
PRIVACY, CHAIN = "Privacy", "Chain"

OPTIONS = {name: f"--{name}" for name in ("mechanism", "smoothing", "confidence")}
"""What is typed for arguments that messages name. A chain, a plan and states are also words."""


class Mechanism(StrEnum):
    """How records are withheld."""

    OPTIMAL = "optimal"
    CERTIFIED = "certified"
    QUILT = "quilt"
    DATA_INDEPENDENT = "data-independent"
    PUBLISHED = "published"


class Picture(StrEnum):
    """What --chart draws."""

    PLAN = "plan"
    INFLUENCE = "influence"
    UTILITY = "utility"


@dataclass(frozen=True)
class SequenceOptions:
    """Which sequences, and how they are read."""

    sequences: Annotated[
        Path | None,
        typer.Argument(
            metavar="SEQUENCES",
            show_default=False,
            help="CSV, Parquet or Arrow IPC: a row for each record, or with --wide one for each "
            "sequence.",
        ),
    ] = None
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            rich_help_panel=TABLE,
            help="Take the embedded example: one person's presence at home by the hour.",
        ),
    ] = False
    id_: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            rich_help_panel=TABLE,
            help="Column that says to which sequence a record belongs. \\[default: one sequence]",
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="COLUMN",
            rich_help_panel=TABLE,
            help="Column of times, dates or positions; what is written is sorted by it. "
            "\\[default: the order of the rows]",
        ),
    ] = None
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="COLUMN",
            rich_help_panel=TABLE,
            help="Column of the states; of a wide table those of the times (A,B,…). \\[default: "
            "the one that is left]",
        ),
    ] = None
    wide: Annotated[
        bool,
        typer.Option("--wide", rich_help_panel=TABLE, help="Each remaining column is a time."),
    ] = False
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="A,B",
            rich_help_panel=TABLE,
            help="Write these columns too. Others are left out: they may tell what was redacted.",
        ),
    ] = None
    null: NullOption = None
    no_header: NoHeaderOption = False
    names: NamesOption = None
    separator: SeparatorOption = None
    encoding: EncodingOption = None

    def path(self) -> Path:
        """Return the file.

        Raises
        ------
        InvalidInputError
            If there is neither a file nor the example, or both.
        """
        if self.example == (self.sequences is not None):
            got = f"{str(self.sequences)!r} and --example" if self.example else "neither"
            msg = f"expected SEQUENCES or --example, got {got}"
            raise InvalidInputError(msg)
        if self.sequences is not None:
            return self.sequences
        from seepage.example import example_sequence_path

        return example_sequence_path()

    def reading(self) -> dict[str, Any]:
        """Return the options of `seepage.tables.sequences.read_sequences`."""
        from seepage.tables.delimited import TextFormat

        texts = {
            "names": _parse.names(self.names, "--names"),
            "separator": _parse.separator(self.separator),
            "encoding": self.encoding,
        }
        given: dict[str, Any] = {name: x for name, x in texts.items() if x is not None}
        if "names" in given:
            given["names"] = tuple(given["names"])
        example = self.example and not self.state
        return {
            "sequence_id": self.id_,
            "order": "hour" if example and self.order is None else self.order,
            "state": "place" if example else _parse.names(self.state, "--state"),
            "wide": self.wide,
            "keep": _parse.names(self.keep, "--keep") or (),
            "null_values": ("", *(self.null or ())),
            "form": TextFormat(header=not self.no_header, **given),
        }


@expand
def redact(
    *,
    table: SequenceOptions,
    protect: Annotated[
        str | None,
        typer.Option(
            "--protect",
            "-p",
            metavar="POSITION|COLUMN|auto",
            show_default=False,
            rich_help_panel=PRIVACY,
            help="The records to protect: a position from 0 (or several: 3,17) in every sequence; "
            "a column that marks them by 1; auto finds a column called protect, protected, "
            "private, hidden or opt_out. Of a wide table a column that names a time in each row, "
            "or a time that --state lists. "
            "\\[default: auto]",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="NATS",
            show_default=False,
            rich_help_panel=PRIVACY,
            help="Largest leakage about each protected record: 0 to inf; with --plan the one "
            "that it is judged by. \\[default: 1, or the plan's]",
        ),
    ] = None,
    mechanism: Annotated[
        Mechanism | None,
        typer.Option(
            "--mechanism",
            "-m",
            show_default=False,
            rich_help_panel=PRIVACY,
            help="certified: three regions, fast. optimal: the best found, slower. quilt and "
            "data-independent: a window. published: as printed in the paper; it leaks more than ε. "
            "\\[default: certified]",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE.json",
            rich_help_panel=PRIVACY,
            help="Redact by this plan, which --save-plan wrote, in place of a new one.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            rich_help_panel=PRIVACY,
            help="Write the table although a plan leaks more than ε, or has none; it says so.",
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            rich_help_panel=PRIVACY,
            help="Repeatable randomness, for simulations only; the output says so.",
        ),
    ] = None,
    chain: Annotated[
        Path | None,
        typer.Option(
            "--chain",
            metavar="FILE.json",
            rich_help_panel=CHAIN,
            help="How states follow each other: transition, states, initial. \\[default: fitted "
            "to the table]",
        ),
    ] = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--states",
            metavar="A,B,…",
            rich_help_panel=CHAIN,
            help="All states there are, for a fit. \\[default: those of the table]",
        ),
    ] = None,
    smoothing: Annotated[
        float,
        typer.Option(
            "--smoothing", metavar="X", rich_help_panel=CHAIN, help="Added to every count of a fit."
        ),
    ] = 0.0,
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence",
            metavar="P",
            rich_help_panel=CHAIN,
            help="Hold for every chain in this confidence set of the fit, such as 0.95.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="E,E,…",
            rich_help_panel=OUTPUT,
            help="Show what all mechanisms release and leak at these ε, for the first plan.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw, and write the redacted table: .csv, .parquet or .arrow.",
        ),
    ] = None,
    marker: Annotated[
        str | None,
        typer.Option(
            "--marker",
            metavar="TEXT",
            rich_help_panel=OUTPUT,
            help="What stands for a redacted record in CSV. \\[default: nothing]",
        ),
    ] = None,
    save_plan: Annotated[
        Path | None,
        typer.Option(
            "--save-plan",
            metavar="FILE.json",
            rich_help_panel=OUTPUT,
            help="Write the plans, with the chain they hold for.",
        ),
    ] = None,
    picture: Annotated[
        Picture,
        typer.Option(
            "--picture", rich_help_panel=OUTPUT, help="What --chart draws; utility needs --compare."
        ),
    ] = Picture.PLAN,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Redact sequences so that chosen records stay private."""
    with guard(debug=run.debug, options=OPTIONS, table=False):
        if seed is not None and seed < 0:
            msg = f"expected --seed to be 0 or more, got {seed}"
            raise InvalidInputError(msg)
        asked = None if epsilon is None else _parse.number(epsilon, "--epsilon")
        budgets = _budgets(compare, picture)
        writer = _Writer(out, marker, save_plan, picture)
        outputs = _output.requested(files)
        others = [path for path in (plan, chain) if path is not None]
        _output.check([*writer.targets(), *outputs], [table.path(), *others])
        options = {
            "protect": protect,
            "mechanism": None if mechanism is None else str(mechanism),
            "chain": chain,
            "plan": plan,
            "states": _parse.names(states, "--states"),
            "smoothing": smoothing,
            "confidence": confidence,
            "rng": seed if out is not None else None,
            "apply": out is not None,
            **table.reading(),
        }
        with Work(quiet=run.quiet) as work:
            work.stage("Planning")
            result = _run(table.path(), asked, {**options, "progress": work.step})
            _judged(result, force=force)
            comparison = None
            if budgets is not None:
                work.stage("Comparing")
                comparison = _compare(result, budgets)
            work.stage("Writing")
            missed = result.keeps_promise is False
            refused = missed and not force and out is not None
            if refused:
                result = result.undrawn()
            written = _output.write(
                writer.outputs(result, comparison, outputs, table=not refused), result
            )
        if not run.quiet:
            _warn(result, kept=save_plan is not None or bool(outputs))
            if all(output.path is not None for output in outputs):
                given = [output.option for output in outputs]
                given += [] if plan is None else ["--save-plan", "--mechanism", "--confidence"]
                _print(result, comparison, save_plan, None if refused else out, given)
            for file in written:
                say(f"wrote {file}")
        if missed:
            ending = f"; {out} was not written (--force writes it)" if refused else ""
            say(f"target missed: {result.verdict[0].lower()}{result.verdict[1:-1]}{ending}")
            raise typer.Exit(TARGET_MISSED)


@dataclass(frozen=True)
class _Writer:
    """What is written besides the outputs of every verb."""

    out: Path | None
    marker: str | None
    save_plan: Path | None
    picture: Picture

    def targets(self) -> list[_output.Output]:
        """Outputs, to be checked before the work."""
        from seepage.plan.redaction_files import ending_of

        found = []
        if self.out is not None:
            path = _output.target(self.out)
            if path is None:
                msg = f"expected --out to name a file, got {str(self.out)!r}"
                raise InvalidInputError(msg)
            if self.marker and ending_of(path) != ".csv":
                msg = f"expected --marker with a CSV only, got {str(self.out)!r}"
                raise InvalidInputError(msg)
            ending_of(path)
            found.append(_output.Output("--out", path, _output.as_json))
        elif self.marker is not None:
            msg = "expected --marker with --out FILE.csv, got no --out"
            raise InvalidInputError(msg)
        if self.save_plan is not None:
            path = _output.target(self.save_plan)
            found.append(_output.Output("--save-plan", path, _output.as_json))
        return found

    def outputs(
        self,
        result: TableRedaction,
        comparison: RedactionComparison | None,
        shared: list[_output.Output],
        *,
        table: bool,
    ) -> list[_output.Output]:
        """Everything to write, with what makes it."""
        found = []
        if self.out is not None and table:
            found.append(_output.Output("--out", self.out, self._table(result)))
        if self.save_plan is not None:
            path = _output.target(self.save_plan)
            found.append(_output.Output("--save-plan", path, _plans(result)))
        for output in shared:
            make = output.render
            if output.option == "--html":
                make = _page(comparison)
            if output.option == "--chart" and output.path is not None:
                make = _chart(output.path.suffix.lower(), self.picture, comparison)
            found.append(_output.Output(output.option, output.path, make, output.folder))
        return found

    def _table(self, result: TableRedaction) -> _output.Render:
        def render(_: Result) -> bytes:
            from seepage.plan.redaction_files import ending_of, table_bytes

            assert self.out is not None
            return table_bytes(
                result.frame(),
                result.table.state_columns,
                ending_of(self.out),
                kind=result.kind,
                marker=self.marker or "",
                labels=result.known.states,
            )

        return render


def _plans(result: TableRedaction) -> _output.Render:
    def render(_: Result) -> bytes:
        from seepage.plan.redaction_files import plans_text

        return plans_text(result.plans).encode("utf-8", errors="replace")

    return render


def _page(comparison: RedactionComparison | None) -> _output.Render:
    def render(result: Result) -> bytes:
        from seepage import report

        return report.html(result, comparison=comparison).encode("utf-8", errors="replace")

    return render


def _chart(suffix: str, picture: Picture, comparison: RedactionComparison | None) -> _output.Render:
    def render(result: Result) -> bytes:
        import tempfile

        from seepage import report

        drawn = report.chart(comparison if picture is Picture.UTILITY else result, str(picture))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"chart{suffix}"
            report.save_chart(drawn, path)
            return path.read_bytes()

    return render


def _budgets(compare: list[str] | None, picture: Picture) -> list[float] | None:
    texts = _parse.names(compare, "--compare")
    if texts is None:
        if picture is Picture.UTILITY:
            msg = "expected --compare with --picture utility, got none"
            raise InvalidInputError(msg)
        return None
    return [_parse.number(text, "--compare") for text in texts]


def _run(path: Path, epsilon: float | None, options: dict[str, Any]) -> TableRedaction:
    from seepage.plan.redacting import redact_table

    return redact_table(path, epsilon, **options)


def _compare(result: TableRedaction, epsilons: list[float]) -> RedactionComparison:
    from seepage.plan.redaction_comparison import compare_mechanisms

    plan = result.groups[0].plan
    return compare_mechanisms(plan.chain, plan.n, plan.positions[0], epsilons)


def _judged(result: TableRedaction, *, force: bool) -> None:
    """Refuse to draw by a plan that nobody judged."""
    if result.hide is not None and result.keeps_promise is None and not force:
        msg = (
            "expected an ε to judge the plan by, which has none of its own, got none: give "
            "--epsilon, or --force to write the table all the same"
        )
        raise InvalidInputError(msg)


def _warn(result: TableRedaction, *, kept: bool) -> None:
    from seepage.plan.redacting import BY_PLAN
    from seepage.plan.redaction_fit import KEEP

    if BY_PLAN in result.notes:
        say(f"warning: {BY_PLAN[0].lower()}{BY_PLAN[1:-1]}")
    if result.simulation:
        say("simulation, not a release: the randomness was seeded")
    elif result.hide is not None and result.from_fit:
        where = "that is released" if result.fitted is not None else "of the plan"
        say(
            f"warning: the chain was fitted to the table {where}; for a release, give one from "
            "other data (--chain)"
        )
    if kept and result.from_fit:
        say(f"{KEEP[0].lower()}{KEEP[1:-1]}")


def _print(
    result: TableRedaction,
    comparison: RedactionComparison | None,
    saved: Path | None,
    written: Path | None,
    given: list[str],
) -> None:
    from rich.console import Console

    from seepage.report.redaction_text import redaction_text

    text = redaction_text(
        result,
        comparison=comparison,
        saved=None if saved is None else str(saved),
        written=None if written is None else str(written),
        given=given,
    )
    Console(file=sys.stdout, highlight=False).print(text)
