"""``seepage plan``: from budgets to the plan that a collection follows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import OUTPUT, FileOptions, RunOptions, TableOptions, expand
from seepage.cli._run import EXIT_CODES, TARGET_MISSED, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.collect.collection import CollectionPlan
    from seepage.plan.plan_sources import PlanSource

HELP = (
    "Plan a collection: who is randomised how, with which budget, and what that is claimed to "
    "protect.\n\n"
    "The plan file is what clients and server share. Give the domain (YAML): then nothing is read "
    "from data. Give a table, and the totals use its dependence between columns; unless --domain "
    "declares the categories, they are read from it too, and the plan says so."
)
EPILOG = (
    "[bold]seepage plan --example --epsilon 0.5[/bold]\n\n"
    "[bold]seepage plan people.csv -d domain.yaml --budgets budgets.json --design calibrated "
    "--out plan.json[/bold]\n\n"
    "[bold]seepage plan domain.yaml --epsilon 2 --design views --k 2 --out plan.json[/bold]\n\n"
    "[bold]seepage randomize people.csv --plan plan.json --out reports.parquet[/bold]\n\n"
    "Exit codes: 0 done, 1 totals exceed the target of the calibration (where that is because the "
    f"records refute the tree, the plan is written all the same), {EXIT_CODES}."
)
PANEL = "Plan"
DEFAULT_K = 2
DOMAIN_OPTIONS = ("columns", "exclude", "n_bins")
"""Options of a table that mean something for a domain file too."""


class Design(StrEnum):
    """How attributes are collected."""

    INDEPENDENT = "independent"
    SPLIT = "split"
    CALIBRATED = "calibrated"
    VIEWS = "views"
    FAKE = "fake"


class Method(StrEnum):
    """How totals are bounded."""

    TREE = "tree"
    PAIRWISE = "pairwise"
    GROUP = "group"


@dataclass(frozen=True)
class _Choice:
    """A value for all columns, and values for single ones."""

    of_all: str | None
    single: Mapping[str, str]

    @classmethod
    def parse(cls, texts: Iterable[str] | None, option: str, form: str) -> _Choice:
        given = list(texts or ())
        of_all = [text for text in given if "=" not in text]
        if len(of_all) > 1:
            msg = f"expected one {option} for all columns, got {of_all[0]!r} and {of_all[1]!r}"
            raise InvalidInputError(msg)
        named = _parse.assignments([text for text in given if "=" in text], option, form)
        return cls(of_all[0] if of_all else None, named)


@expand
def plan(
    *,
    table: TableOptions,
    budgets: Annotated[
        Path | None,
        typer.Option(
            "--budgets",
            "-b",
            metavar="FILE.json",
            rich_help_panel=PANEL,
            help="ε of each column: an object of numbers, or what seepage calibrate --out wrote.",
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="[NAME=]EPS",
            rich_help_panel=PANEL,
            help="In place of --budgets: ε of every column, or of one (independent), or of the "
            "whole record (split, views, fake): 0 to inf. Repeatable.",
        ),
    ] = None,
    design: Annotated[
        Design,
        typer.Option(
            "--design",
            rich_help_panel=PANEL,
            help="independent: every column by itself; split: one ε divided equally; calibrated: "
            "budgets of seepage calibrate; views: each record reports one set of --k columns; "
            "fake: one column in secret, uniform fakes for the others.",
        ),
    ] = Design.INDEPENDENT,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            show_default=False,
            rich_help_panel=PANEL,
            help=f"Columns of one view. \\[default: {DEFAULT_K}]",
        ),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="[NAME=]KIND",
            show_default=False,
            rich_help_panel=PANEL,
            help="Mechanism of every column, or of one: grr, oue, sue, olh, blh, subset, … "
            "Repeatable. \\[default: grr]",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            "-g",
            metavar="A,B",
            rich_help_panel=PANEL,
            help="Columns that are randomised together, as one, with the sum of their budgets. "
            "Repeatable.",
        ),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            "--method",
            show_default=False,
            rich_help_panel=PANEL,
            help="How totals are computed from a table. \\[default: that of the calibration, or "
            "tree]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.json",
            rich_help_panel=OUTPUT,
            help="Write the plan; seepage randomize and estimate read this.",
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Plan a collection."""
    with guard(debug=run.debug):
        outputs = _output.requested(files, out, lambda _: _output.as_json)
        if k is not None and design is not Design.VIEWS:
            msg = f"expected --k with --design views only, got --design {design}"
            raise InvalidInputError(msg)
        _output.check(outputs, [*table.inputs(), *([] if budgets is None else [budgets])])
        budget = _Choice.parse(epsilon, "--epsilon", "EPS or NAME=EPS")
        if (budgets is None) == (epsilon is None):
            got = "neither" if budgets is None else "both"
            msg = f"expected --budgets FILE or --epsilon EPS, got {got}"
            raise InvalidInputError(msg)
        options: dict[str, Any] = {
            "budgets": budgets,
            "design": str(design),
            "k": DEFAULT_K if k is None else k,
            "groups": [_parse.names([text], "--group") for text in group or ()],
            "method": None if method is None else str(method),
        }
        kinds = _Choice.parse(mechanism, "--mechanism", "KIND or NAME=KIND")
        with Work(quiet=run.quiet) as work:
            source = _source(table, work)
            names = source.domain.names
            work.stage("Planning")
            made = _run(
                source,
                epsilon=_epsilon(budget, names),
                mechanism=_kinds(kinds, names),
                **options,
            )
            work.stage("Writing")
            written = _output.write(outputs, made)
        if not run.quiet:
            _warn(made)
            if all(output.path is not None for output in outputs):
                _print(made, out)
            for file in written:
                say(f"wrote {file}")
        if made.above_target:
            say(
                "target missed: more is claimed than the target of the calibration about "
                f"{', '.join(made.above_target)}; the assumptions say why"
            )
            raise typer.Exit(TARGET_MISSED)


def _source(table: TableOptions, work: Work) -> PlanSource:
    """Read a domain file, or a table with all its options."""
    from seepage.plan.plan_sources import DOMAIN_SUFFIXES, plan_source

    paths, _ = table.paths()
    if table.example or not any(path.suffix.lower() in DOMAIN_SUFFIXES for path in paths):
        return plan_source(table.reader()(work))
    if len(paths) > 1:
        msg = f"expected one domain file, got {len(paths)} files"
        raise InvalidInputError(msg)
    for item in fields(table):
        given = getattr(table, item.name) != item.default
        if given and item.name not in {"tables", *DOMAIN_OPTIONS}:
            option = f"--{item.name.replace('_', '-')}"
            msg = f"expected {option} with a table only, got the domain file {str(paths[0])!r}"
            raise InvalidInputError(msg)
    return plan_source(
        paths[0],
        columns=_parse.names(table.columns, "--columns"),
        exclude=_parse.names(table.exclude, "--exclude"),
        n_bins=table.n_bins,
    )


def _epsilon(given: _Choice, names: Iterable[str]) -> float | dict[str, float] | None:
    of_all = None if given.of_all is None else _parse.number(given.of_all, "--epsilon")
    single = {k: _parse.number(v, f"--epsilon of column {k!r}") for k, v in given.single.items()}
    if not single:
        return of_all
    return single if of_all is None else dict.fromkeys(names, of_all) | single


def _kinds(given: _Choice, names: Iterable[str]) -> str | dict[str, str]:
    if not given.single:
        return given.of_all or "grr"
    every = {} if given.of_all is None else dict.fromkeys(names, given.of_all)
    return every | dict(given.single)


def _run(source: PlanSource, **options: Any) -> CollectionPlan:
    from seepage.plan.collecting import make_plan

    return make_plan(source, **options)


def _warn(made: CollectionPlan) -> None:
    from seepage.plan.plan_sources import domain_was_read, totals_from_data

    if domain_was_read(made):
        say(
            "warning: the categories were read from data, so the plan itself discloses something "
            "about them; for a release declare a domain (--domain), or look through its file and "
            "delete the line read_from"
        )
    if totals_from_data(made):
        say(
            "warning: totals or budgets in the plan were computed from a table; they are published "
            "with the plan without protection"
        )
    if made.unprotected:
        say(f"warning: {made.open_sentence}")


def _print(made: CollectionPlan, out: Path | None) -> None:
    from rich.console import Console

    from seepage.report.collection_text import plan_text

    saved = None if out is None else str(out)
    Console(file=sys.stdout, highlight=False).print(plan_text(made, saved=saved))
