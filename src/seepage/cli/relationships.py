"""``seepage relationships``: what a collection keeps of relationships, and what they were."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _output, _parse
from seepage.cli._options import BUDGETS, OUTPUT, FileOptions, RunOptions, TableOptions, expand
from seepage.cli._run import EXIT_CODES, Work, guard, say
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.collect.allocation import Allocation
    from seepage.plan.relating import RelationshipEstimates, RetentionTable
    from seepage.results import Result

HELP = (
    "Say what randomised response keeps of the relationships between columns, before collecting; "
    "or estimate them from the reports.\n\n"
    "Every cross-moment of distinct columns shrinks by the product of one factor for each column, "
    "which follows from its budget. Give budgets (several allocations stand side by side), or a "
    "--total that is divided for an --objective. TABLE may be a table, a domain file (YAML), or a "
    "plan (JSON). With --reports and --plan, relationships are estimated, corrected for the "
    "randomisation, with standard errors; the reports may have been counted (seepage count --plan)."
)
EPILOG = (
    "[bold]seepage relationships --example --total 10 --objective worst[/bold]\n\n"
    "[bold]seepage relationships domain.yaml -e 1 --allocation 'favoured:sex=2,age=2,job=0.3'"
    "[/bold]\n\n"
    "[bold]seepage relationships domain.yaml --total 5 --objective sum --keep age,job=0.2 "
    "--out budgets.json[/bold]\n\n"
    "[bold]seepage relationships --plan plan.json --reports reports.parquet[/bold]\n\n"
    "[bold]seepage relationships --plan plan.json --reports 1.counts --reports 2.counts[/bold]"
    "\n\n"
    f"Exit codes: 0 done, 1 the total does not allow what --keep asks for, {EXIT_CODES}."
)
NO_TABLE = (
    "expected a table of true values, got the reports of a plan: estimate from them with "
    "--plan plan.json {files}"
)
BEFORE, AFTER = "Allocation", "Estimation"


class Objective(StrEnum):
    """What an allocation makes as good as possible."""

    SUM = "sum"
    GEOMETRIC = "geometric"
    WORST = "worst"


class Kind(StrEnum):
    """What is estimated of a pair."""

    CORRELATION = "correlation"
    COVARIANCE = "covariance"
    ODDS = "odds"


@expand
def relationships(
    *,
    table: TableOptions,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="EPS",
            rich_help_panel=BUDGETS,
            help="ε of every column: 0 to inf. Repeatable: one allocation for each. \\[default: 1]",
        ),
    ] = None,
    budgets: Annotated[
        list[Path] | None,
        typer.Option(
            "--budgets",
            metavar="FILE.json",
            rich_help_panel=BUDGETS,
            help="Budgets of single columns, as an allocation of its own. Repeatable.",
        ),
    ] = None,
    allocation: Annotated[
        list[str] | None,
        typer.Option(
            "--allocation",
            "-a",
            metavar="LABEL:NAME=EPS,…",
            rich_help_panel=BUDGETS,
            help="Budgets of all columns under a label. Repeatable.",
        ),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(
            "--total",
            "-t",
            metavar="NATS",
            rich_help_panel=BEFORE,
            help="Divide this total over the columns, for each --objective.",
        ),
    ] = None,
    objective: Annotated[
        list[Objective] | None,
        typer.Option(
            "--objective",
            rich_help_panel=BEFORE,
            help="sum of retentions, their geometric mean, or the worst one. Repeatable. "
            "\\[default: geometric]",
        ),
    ] = None,
    importance: Annotated[
        list[str] | None,
        typer.Option(
            "--importance",
            metavar="A,B=W",
            rich_help_panel=BEFORE,
            help="Weight of one relationship; others have 1. Repeatable.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="A,B=R",
            rich_help_panel=BEFORE,
            help="Retention, 0 to 1, that a relationship must have. Repeatable.",
        ),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--minimum",
            metavar="NAME=EPS",
            rich_help_panel=BEFORE,
            help="Smallest budget of one column. Repeatable.",
        ),
    ] = None,
    maximum: Annotated[
        list[str] | None,
        typer.Option(
            "--maximum",
            metavar="NAME=EPS",
            rich_help_panel=BEFORE,
            help="Largest budget of one column. Repeatable.",
        ),
    ] = None,
    orders: Annotated[
        str | None,
        typer.Option(
            "--orders",
            metavar="2,3",
            rich_help_panel=BEFORE,
            help="Numbers of columns in a relationship. \\[default: 2]",
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            metavar="A,B",
            help="Only this relationship, of two or more columns. Repeatable.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE.json",
            rich_help_panel=AFTER,
            help="The plan of a collection, in place of a table.",
        ),
    ] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option(
            "--reports",
            metavar="FILE",
            rich_help_panel=AFTER,
            help="Reports of the --plan, or what seepage count --plan wrote of them: estimate "
            "relationships from these. Repeatable.",
        ),
    ] = None,
    kind: Annotated[
        list[Kind] | None,
        typer.Option(
            "--kind",
            rich_help_panel=AFTER,
            help="What to estimate of each pair; odds is the log odds ratio of the first two "
            "categories. Repeatable. \\[default: correlation]",
        ),
    ] = None,
    regress: Annotated[
        list[str] | None,
        typer.Option(
            "--regress",
            metavar="Y=A,B",
            rich_help_panel=AFTER,
            help="Slopes of a column on others. Repeatable.",
        ),
    ] = None,
    confidence: Annotated[
        str,
        typer.Option(
            "--confidence",
            metavar="P",
            rich_help_panel=AFTER,
            help="Confidence of the limits, between 0 and 1.",
        ),
    ] = "0.95",
    top: Annotated[
        int,
        typer.Option("--top", "-n", min=1, rich_help_panel=OUTPUT, help="Relationships to show."),
    ] = 30,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.json",
            rich_help_panel=OUTPUT,
            help="Write the budgets of the one --objective; seepage plan --budgets reads this.",
        ),
    ] = None,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Say what randomised response keeps of relationships, or estimate them from reports."""
    with guard(debug=run.debug):
        aims = [str(item) for item in objective or ()]
        if out is not None and (total is None or len(aims) > 1):
            msg = "expected --out with a --total and one --objective"
            raise InvalidInputError(msg)
        outputs = _output.requested(files, out, lambda _: _as_budgets)
        plan = _plan_given(plan, table)
        chosen = [_names_of(text, "--pair A,B") for text in pairs or ()] or None
        if reports:
            if plan is None:
                msg = "expected --plan with --reports"
                raise InvalidInputError(msg)
            _refuse(
                "without --reports",
                epsilon=epsilon, budgets=budgets, allocation=allocation, total=total,
                objective=objective, importance=importance, keep=keep, minimum=minimum,
                maximum=maximum, orders=orders,
            )  # fmt: skip
            _output.check(outputs, [plan, *reports])
            options = {
                "relationships": chosen,
                "kinds": [str(item) for item in kind or (Kind.CORRELATION,)],
                "regression": _regression(regress),
                "confidence": _level(confidence),
            }
            with Work(quiet=run.quiet) as work:
                found = _estimates(plan, reports, work, options)
                result: Result = found
                written = _output.write(outputs, result)
            _warn(() if run.quiet else found.notes)
        else:
            _refuse("with --reports", kind=kind, regress=regress)
            if total is None:
                _refuse(
                    "with --total",
                    objective=objective, importance=importance, keep=keep, minimum=minimum,
                    maximum=maximum,
                )  # fmt: skip
            inputs = ([plan] if plan else table.inputs()) + list(budgets or ())
            _output.check(outputs, inputs)
            settings = {
                "relationships": chosen,
                "orders": _orders(orders),
            }
            given = _given(epsilon, budgets, allocation)
            wishes = None
            if total is not None:
                wishes = {
                    "total": _parse.number(total, "--total"),
                    "objectives": aims or [str(Objective.GEOMETRIC)],
                    "importance": _by_names(importance, "--importance"),
                    "keep": _by_names(keep, "--keep"),
                    "minimum": _by_name(minimum, "--minimum"),
                    "maximum": _by_name(maximum, "--maximum"),
                }
            with Work(quiet=run.quiet) as work:
                source = _source(plan, table, work)
                result = _retentions(source, given, wishes, settings)
                written = _output.write(outputs, result)
            _warn(() if run.quiet or not getattr(source, "was_read", False) else source.notes[1:])
        if not run.quiet:
            if all(output.path is not None for output in outputs):
                _print(result, top)
            for file in written:
                say(f"wrote {file}")


def _plan_given(plan: Path | None, table: TableOptions) -> Path | None:
    """The plan that was named, or stands where a table would."""
    if plan is not None:
        _refuse_table(table)
        return plan
    paths = list(table.tables or ())
    if len(paths) != 1 or paths[0].suffix.lower() != ".json" or not paths[0].is_file():
        return None
    try:
        content = json.loads(paths[0].read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None  # the reader of domain files says what is wrong
    is_plan = isinstance(content, dict) and content.get("format") == "seepage.plan"
    return paths[0] if is_plan else None


def _warn(notes: Iterable[str]) -> None:
    for note in notes:
        say(f"warning: {note}")


def _refuse_table(table: TableOptions) -> None:
    """Refuse a table, or its options, beside a plan, which has the columns."""
    for item in fields(table):
        value = getattr(table, item.name)
        if value != item.default and value:
            shown = f"--{item.name.replace('_', '-')}"
            if item.name == "tables":
                shown = str(value[0])
            msg = f"expected either a table or --plan, got {shown} and --plan"
            raise InvalidInputError(msg)


def _refuse(where: str, **options: object) -> None:
    for name, value in options.items():
        if value:
            msg = f"expected --{name} {where} only"
            raise InvalidInputError(msg)


def _source(plan: Path | None, table: TableOptions, work: Work) -> Any:
    if plan is not None:
        from seepage.collect.plan_files import read_plan

        return read_plan(plan)
    from seepage.collect.records import PLAN_COLUMN
    from seepage.plan.plan_sources import DOMAIN_SUFFIXES
    from seepage.tables import is_counts
    from seepage.tables.count_archive import head_of, opened

    paths, _ = table.paths()
    if table.example or not any(path.suffix.lower() in DOMAIN_SUFFIXES for path in paths):
        counts = bool(paths) and is_counts(paths)
        if counts and any("plan" in opened(path, head_of) for path in paths):
            files = " ".join(f"--reports {path.name}" for path in paths)
            raise InvalidInputError(NO_TABLE.format(files=files))
        found = (table.opener() if counts else table.reader())(work)
        if PLAN_COLUMN in found.domain:
            files = " ".join(f"--reports {path.name}" for path in paths) or "--reports FILE"
            raise InvalidInputError(NO_TABLE.format(files=files))
        return found
    if len(paths) > 1:
        msg = f"expected one domain file, got {len(paths)} files"
        raise InvalidInputError(msg)
    from seepage.tables.domain_files import read_domain

    columns = _parse.names(table.columns, "--columns")
    exclude = _parse.names(table.exclude, "--exclude") or ()
    return read_domain(paths[0], n_bins=table.n_bins, columns=columns, exclude=exclude)


def _retentions(
    source: Any,
    given: Mapping[str, Any],
    wishes: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> RetentionTable:
    from seepage.collect.attenuation import Attributes
    from seepage.collect.collection import CollectionPlan
    from seepage.plan.relating import plan_budgets, retention_table
    from seepage.tables import CodedTable, CountedTable
    from seepage.tables.domain_files import DomainFile

    labelled: dict[str, Any] = dict(given)
    sizes = source
    if isinstance(source, CollectionPlan):
        if not given and wishes is None:
            return retention_table(source, **settings)
        labelled = {"plan": plan_budgets(source), **labelled}
        sizes = source.domain
    elif isinstance(source, (CodedTable, CountedTable, DomainFile)):
        sizes = source.domain
    if wishes is not None:
        attributes = Attributes.of(sizes)
        wanted = settings["relationships"] or attributes.relationships(settings["orders"])
        for aim in wishes["objectives"]:
            labelled[aim] = _allocation(sizes, wanted, aim, wishes)
    elif not labelled:
        labelled = {"ε = 1": 1.0}
    target = sizes if isinstance(source, CollectionPlan) else source
    return retention_table(target, labelled, **settings)


def _allocation(
    sizes: Any, wanted: Iterable[tuple[str, ...]], aim: str, wishes: Mapping[str, Any]
) -> Allocation:
    from seepage.collect.allocation import allocate

    weights = {frozenset(names): 1.0 for names in wanted}
    weights |= {frozenset(names): value for names, value in wishes["importance"].items()}
    return allocate(
        sizes,
        wishes["total"],
        objective=aim,  # type: ignore[arg-type]  # the texts of the enumeration are its names
        relationships=weights,
        minimum_retention=wishes["keep"] or None,
        minimum=wishes["minimum"],
        maximum=wishes["maximum"],
    )


def _estimates(
    plan: Path, reports: list[Path], work: Work, options: Mapping[str, Any]
) -> RelationshipEstimates:
    from seepage.plan.plan_sources import as_plan
    from seepage.plan.relating import estimate_relationships

    work.stage("Estimating")
    source: Any = reports[0] if len(reports) == 1 else reports
    return estimate_relationships(source, as_plan(plan), **options)


def _given(
    epsilon: list[str] | None, budgets: list[Path] | None, allocation: list[str] | None
) -> dict[str, Any]:
    """Allocations by label, in the order of the options."""
    found: dict[str, Any] = {}

    def add(label: str, value: Any) -> None:
        if label in found:
            msg = f"expected different labels of allocations, got {label!r} twice"
            raise InvalidInputError(msg)
        found[label] = value

    for text in epsilon or ():
        value = _parse.number(text, "--epsilon")
        add(f"ε = {value:g}", value)
    for file in budgets or ():
        add(file.stem, _parse.budgets(None, file))
    for text in allocation or ():
        label, colon, rest = text.partition(":")
        if not colon or not label.strip():
            msg = f"expected --allocation LABEL:NAME=EPS,…, got {text!r}"
            raise InvalidInputError(msg)
        parts = _parse.names([rest], "--allocation")
        named = _parse.assignments(parts, "--allocation", "LABEL:NAME=EPS,…")
        values = {k: _parse.number(v, f"the budget of column {k!r}") for k, v in named.items()}
        add(label.strip(), values)
    return found


def _names_of(text: str, option: str) -> tuple[str, ...]:
    found = tuple(_parse.names([text], option) or ())
    if len(set(found)) < max(2, len(found)):
        msg = f"expected {option}, two or more different columns, got {text!r}"
        raise InvalidInputError(msg)
    return found


def _by_names(texts: Iterable[str] | None, option: str) -> dict[tuple[str, ...], float]:
    given = _parse.assignments(texts, option, "A,B=NUMBER")
    return {
        _names_of(names, f"{option} A,B=NUMBER"): _parse.number(value, f"{option} {names}")
        for names, value in given.items()
    }


def _by_name(texts: Iterable[str] | None, option: str) -> dict[str, float]:
    given = _parse.assignments(texts, option, "NAME=EPS")
    return {name: _parse.number(value, f"{option} {name}") for name, value in given.items()}


def _regression(texts: Iterable[str] | None) -> dict[str, list[str]] | None:
    found: dict[str, list[str]] = {}
    for text in texts or ():
        outcome, equals, rest = text.partition("=")
        predictors = _parse.names([rest], "--regress") if equals and rest.strip() else None
        if not outcome.strip() or not predictors or outcome.strip() in found:
            msg = f"expected --regress Y=A,B once for each Y, got {text!r}"
            raise InvalidInputError(msg)
        found[outcome.strip()] = predictors
    return found or None


def _orders(text: str | None) -> list[int]:
    try:
        return [2] if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        msg = f"expected --orders 2,3,…, got {text!r}"
        raise InvalidInputError(msg) from None


def _level(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        msg = f"expected --confidence to be a number between 0 and 1, got {text!r}"
        raise InvalidInputError(msg)
    return value


def _as_budgets(result: Any) -> bytes:
    (found,) = result.allocations.values()
    return _output.as_json(found)


def _print(result: Any, top: int) -> None:
    from rich.console import Console

    from seepage.plan.relating import RetentionTable
    from seepage.report.relationships_text import estimates_text, retentions_text

    show = retentions_text if isinstance(result, RetentionTable) else estimates_text
    Console(file=sys.stdout, highlight=False).print(show(result, top=top))
