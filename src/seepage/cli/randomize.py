"""``seepage randomize``: a table to reports under a plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output
from seepage.cli._options import OUTPUT, FormatOptions, RunOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.collect.collection import CollectedReports
    from seepage.results import Result

HELP = (
    "Randomise a table under a plan.\n\n"
    "Categories come from the plan, never from the table: a value, or an empty field, that is not "
    "in the domain is an error and nothing is written. Randomness comes from the operating system "
    "unless --seed asks for a simulation."
)
EPILOG = (
    "[bold]seepage plan --example --epsilon 0.5 --out plan.json[/bold]\n\n"
    "[bold]seepage randomize --example --plan plan.json --out reports.parquet[/bold]\n\n"
    f"Exit codes: 0 done, {EXIT_CODES}."
)
PANEL = "Randomisation"


@expand
def randomize(
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
    seed: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            metavar="N",
            rich_help_panel=PANEL,
            help="Repeatable randomness, for simulations only; the output says so.",
        ),
    ] = None,
    unprotected: Annotated[
        bool,
        typer.Option(
            "--unprotected",
            rich_help_panel=PANEL,
            help="Release reports of columns with ε = inf too, which can reveal their values.",
        ),
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the reports: .parquet, .csv or .arrow.",
        ),
    ],
    run: RunOptions,
) -> None:
    """Randomise a table under a plan."""
    with guard(debug=run.debug):
        rng = _seed(seed)
        target = _target(out)
        _output.check([target], [*table.paths(), plan])
        options = table.options()
        paths = table.paths()
        # A pipe or a device holds no reports; a simulation is no draw that could be put together.
        again = rng is None and target.path is not None and target.path.is_file()
        with Work(quiet=run.quiet) as work:
            work.stage("Randomising")
            reports = _run(paths, plan, rng, options | {"allow_unprotected": unprotected})
            work.stage("Writing")
            _output.write([_output.Output("--out", target.path, _content(reports, out))], _NOTHING)
        if rng is not None:
            say("simulation, not a release: the randomness was seeded")
        if not run.quiet:
            if again:
                say(f"warning: {out} existed; whoever has both sees two draws")
            _tell(reports, options.get("null_values", ()))
            say(f"wrote {out}")


_NOTHING: Any = None
"""Reports are no result that others could render."""


def _seed(given: list[int] | None) -> int | None:
    if not given:
        return None
    if len(given) > 1:
        msg = f"expected one --seed, got {' and '.join(map(str, given))}"
        raise InvalidInputError(msg)
    if given[0] < 0:
        msg = f"expected --seed to be 0 or more, got {given[0]}"
        raise InvalidInputError(msg)
    return given[0]


def _target(out: Path) -> _output.Output:
    from seepage.plan.reports_io import ending_of

    path = _output.target(out)
    if path is None:
        msg = f"expected --out to name a file, got {str(out)!r}"
        raise InvalidInputError(msg)
    ending_of(path)
    return _output.Output("--out", path, _output.as_json)


def _content(reports: CollectedReports, out: Path) -> _output.Render:
    def render(_: Result) -> bytes:
        from seepage.plan.reports_io import ending_of, report_bytes

        return report_bytes(reports, ending_of(out))

    return render


def _run(
    paths: list[Path], plan: Path, seed: int | None, options: dict[str, Any]
) -> CollectedReports:
    from seepage.plan.plan_sources import as_plan
    from seepage.plan.randomizing import randomize

    chosen = as_plan(plan)
    return randomize(paths[0] if len(paths) == 1 else paths, chosen, rng=seed, **options)


def _tell(reports: CollectedReports, nulls: Iterable[str]) -> None:
    from seepage.plan.plan_sources import domain_was_read
    from seepage.plan.randomizing import declared_nulls

    plan = reports.plan
    for value, kept, others in declared_nulls(plan, nulls):
        say(
            f"warning: {value!r} is a category of column {kept!r} and stays one there; it means "
            f"missing in {', '.join(others)} only"
        )
    if domain_was_read(plan):
        say(
            "warning: the categories of this plan were read from data; declare a domain, or look "
            "through its file and delete the line read_from, for a release"
        )
    if plan.unprotected:
        say(f"warning: {plan.open_sentence}")
    records = "1 record" if reports.size == 1 else f"{reports.size:,} records"
    typer.echo(
        f"{records} randomised under the plan {plan.fingerprint[:16]}; ε of a record is "
        f"{plan.epsilon:.4g}."
    )
