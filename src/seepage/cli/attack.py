"""``seepage attack``: how well the reports of other columns give a column away."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import OUTPUT, FileOptions, FormatOptions, RunOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say

if TYPE_CHECKING:
    from seepage.plan.attack_report import AttackReport

HELP = (
    "Guess one column from the randomised reports of the others.\n\n"
    "The attacker knows the plan and the population, sees the reports of a record on every column "
    "but the secret one, and guesses. Records are divided into those that attackers are given and "
    "those that they are tried on; reports are simulated. Success stands beside that of a guess "
    "without any report, and beside what no attacker can exceed."
)
EPILOG = (
    "[bold]seepage plan --example --epsilon 1 --out plan.json[/bold]\n\n"
    "[bold]seepage attack --example --plan plan.json --secret income --attacker bayes,tree[/bold]"
    "\n\n"
    "[bold]seepage attack people.csv --plan plan.json --secret income --epsilons 0.1,1,5 --html "
    "attack.html[/bold]\n\n"
    f"Exit codes: 0 done, {EXIT_CODES}."
)
PANEL = "Attack"


class Draw(StrEnum):
    """Which records are attacked."""

    HELD_OUT = "held-out"
    MODEL = "model"


@expand
def attack(
    *,
    table: FormatOptions,
    plan: Annotated[
        Path,
        typer.Option(
            "--plan",
            "-p",
            metavar="FILE.json",
            rich_help_panel=PANEL,
            help="The plan that seepage plan --out wrote.",
        ),
    ],
    secret: Annotated[
        str,
        typer.Option(
            "--secret", metavar="NAME", rich_help_panel=PANEL, help="The column to be guessed."
        ),
    ],
    attacker: Annotated[
        list[str] | None,
        typer.Option(
            "--attacker",
            "-a",
            metavar="A,B",
            show_default=False,
            rich_help_panel=PANEL,
            help="prior: the likeliest value, always there; bayes: Bayes' rule with what the "
            "training records tell of the population; tree: the same on the dependency tree; "
            "boosting: gradient boosting; tabtransformer: a neural network. The last two need the "
            "extra 'attack'. "
            "\\[default: bayes]",
        ),
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            "--epsilons",
            metavar="E1,E2",
            rich_help_panel=PANEL,
            help="Attack the same plan with its budgets multiplied, so that the largest is each "
            "of these: 0 to inf.",
        ),
    ] = None,
    own_report: Annotated[
        bool,
        typer.Option(
            "--own-report",
            rich_help_panel=PANEL,
            help="Let the attackers see the report on the secret column too.",
        ),
    ] = False,
    draw: Annotated[
        Draw,
        typer.Option(
            "--draw",
            rich_help_panel=PANEL,
            help="Records attacked. held-out: real ones that no attacker was given; model: drawn "
            "from the distribution that the attackers know.",
        ),
    ] = Draw.HELD_OUT,
    share: Annotated[
        float,
        typer.Option(
            "--share",
            metavar="P",
            rich_help_panel=PANEL,
            help="Share of the records that is held out.",
        ),
    ] = 0.3,
    records: Annotated[
        int,
        typer.Option(
            "--records",
            metavar="N",
            rich_help_panel=PANEL,
            help="Most records attacked, drawn at random.",
        ),
    ] = 20_000,
    copies: Annotated[
        int,
        typer.Option(
            "--copies",
            metavar="N",
            rich_help_panel=PANEL,
            help="How often attackers that learn see a training record randomised.",
        ),
    ] = 10,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="P",
            rich_help_panel=PANEL,
            help="Probability that an interval contains the truth.",
        ),
    ] = 0.95,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            rich_help_panel=PANEL,
            help="Of the division of records, the simulated reports and learning.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the results: .json or .csv (one row for each attacker and ε).",
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Guess one column from the randomised reports of the others."""
    with guard(debug=run.debug):
        outputs = _output.requested(files, out, _output.csv_or_json)
        _output.check(outputs, [*table.paths(), plan])
        grid = None
        if epsilons is not None:
            grid = [_parse.number(text.strip(), "--epsilons") for text in epsilons.split(",")]
        options = table.options() | {
            "attackers": _parse.names(attacker, "--attacker") or ["bayes"],
            "epsilons": grid,
            "own_report": own_report,
            "draw": str(draw),
            "share": share,
            "max_records": records,
            "copies": copies,
            "confidence": confidence,
            "rng": seed,
        }
        with Work(quiet=run.quiet) as work:
            work.stage("Reading the table")
            result = _run(table.paths(), plan, secret, work, options)
            work.stage("Writing")
            written = _output.write(outputs, result)
        if not run.quiet:
            if all(output.path is not None for output in outputs):
                _print(result)
            for file in written:
                say(f"wrote {file}")


def _run(
    paths: list[Path], plan: Path, secret: str, work: Work, options: dict[str, Any]
) -> AttackReport:
    from seepage.plan.attacking import attack_plan

    source: Any = paths[0] if len(paths) == 1 else paths
    return attack_plan(source, plan, secret, stage=work.stage, step=work.step, **options)


def _print(result: AttackReport) -> None:
    from rich.console import Console

    from seepage.report.attack_text import attack_text

    Console(file=sys.stdout, highlight=False).print(attack_text(result))
