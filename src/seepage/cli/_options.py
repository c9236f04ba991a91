"""Options that several verbs share, each declared once.

A verb takes a group of options as one parameter, and `expand` shows the command line the single
ones::

    @expand
    def audit(table: TableOptions, *, epsilon: ...) -> None: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

from seepage.cli import _output, _parse
from seepage.cli._run import guard
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.cli._run import Work
    from seepage.tables import CodedTable, CountedTable

TABLE, BUDGETS, MEASURES, OUTPUT = "Table", "Budgets", "Measures", "Output"


class Binning(StrEnum):
    """How numbers are binned."""

    WIDTH = "width"
    QUANTILE = "quantile"


class Missing(StrEnum):
    """What becomes of empty values."""

    CATEGORY = "category"
    ERROR = "error"
    DROP = "drop"


class Command(TyperCommand):
    """The command: ``--json`` may go without a value, and no option with one comes twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``--json`` without a value as ``--json=-``.

        The next word is its value only when it is ``-`` or another name of standard output, or
        ends in ``.json``, which no table does: ``--json people.csv`` must never overwrite the
        table.
        """
        read: list[str] = []
        for position, word in enumerate(args):
            if word == "--":
                read += args[position:]
                break
            following = args[position + 1] if position + 1 < len(args) else ""
            valued = _output.target(following) is None or following.lower().endswith(".json")
            read.append("--json=-" if word == "--json" and not valued else word)
        if not set(ctx.help_option_names) & set(read):
            order = self.make_parser(ctx).parse_args(args=list(read))[2]  # a usage error is raised
            with guard(debug=False):
                _refuse_repeats(order)
        return super().parse_args(ctx, read)


def _refuse_repeats(order: Iterable[Any]) -> None:
    """Refuse a second value of an option that takes one: the last would win in silence.

    Parameters
    ----------
    order : iterable of parameters
        As they occur on the command line. A plain flag says the same twice.
    """
    counts: dict[str, int] = {}
    for option in order:
        plain = getattr(option, "is_flag", False) and not option.secondary_opts
        if isinstance(option, TyperOption) and not (option.multiple or option.count or plain):
            name = "/".join(
                max(names, key=len) for names in (option.opts, option.secondary_opts) if names
            )
            counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > 1:
            msg = f"expected {name} once, got it {count} times"
            raise InvalidInputError(msg)


TablesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="CSV, Parquet or Arrow IPC; one row for each person. Several files are read as "
        "one table. Or what seepage count --out wrote, where counts suffice.",
    ),
]
ExampleOption = Annotated[
    bool,
    typer.Option(
        "--example",
        rich_help_panel=TABLE,
        help="Take the embedded example, a health survey, instead of a file.",
    ),
]
NullOption = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        metavar="TOKEN",
        rich_help_panel=TABLE,
        help="A text that means empty, such as '?' or NA. Repeatable.",
    ),
]
StripOption = Annotated[
    str | None,
    typer.Option(
        "--strip",
        metavar="CHARS",
        rich_help_panel=TABLE,
        help="Remove these characters, and white space, around every value. \\[default: white "
        "space, in text files]",
    ),
]
NoHeaderOption = Annotated[
    bool,
    typer.Option(
        "--no-header",
        rich_help_panel=TABLE,
        help="The first line of the CSV is a record, not column names.",
    ),
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--names",
        metavar="A,B,…",
        rich_help_panel=TABLE,
        help="Column names for a CSV without header.",
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--separator",
        "-s",
        metavar="CHAR",
        rich_help_panel=TABLE,
        help="Field separator of the CSV: one character, or tab. \\[default: found out]",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        rich_help_panel=TABLE,
        help="Text encoding of the CSV. \\[default: utf-8]",
    ),
]


@dataclass(frozen=True)
class TableOptions:
    """Which table, and how it is read."""

    tables: TablesArgument = None
    example: ExampleOption = False
    domain: Annotated[
        Path | None,
        typer.Option(
            "--domain",
            "-d",
            metavar="FILE",
            rich_help_panel=TABLE,
            help="Declared columns and categories (YAML). Without it they are read from the table.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns", "-c", metavar="A,B", rich_help_panel=TABLE, help="Use only these columns."
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", "-x", metavar="A,B", rich_help_panel=TABLE, help="Leave out these columns."
        ),
    ] = None
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins",
            metavar="NAME=BINS",
            rich_help_panel=TABLE,
            help="Bins of one column: a number (age=5), edges (age=0,18,65,120), or none to take "
            "each number as a category. Repeatable.",
        ),
    ] = None
    n_bins: Annotated[
        int, typer.Option("--n-bins", rich_help_panel=TABLE, help="Bins of every other number.")
    ] = 10
    binning: Annotated[
        Binning,
        typer.Option("--binning", rich_help_panel=TABLE, help="Bins of equal width or size."),
    ] = Binning.WIDTH
    missing: Annotated[
        Missing,
        typer.Option(
            "--missing",
            rich_help_panel=TABLE,
            help="Empty values: a category of their own, an error, or drop the row.",
        ),
    ] = Missing.CATEGORY
    null: NullOption = None
    strip: StripOption = None
    min_count: Annotated[
        int,
        typer.Option(
            "--min-count",
            rich_help_panel=TABLE,
            help="Pool categories with fewer records than this.",
        ),
    ] = 0
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="COLUMN",
            rich_help_panel=TABLE,
            help="Column that says how many people a row stands for (whole numbers).",
        ),
    ] = None
    no_header: NoHeaderOption = False
    names: NamesOption = None
    separator: SeparatorOption = None
    encoding: EncodingOption = None

    def paths(self) -> tuple[list[Path], Path | None]:
        """Return the files of the table, and its domain file if any.

        Raises
        ------
        InvalidInputError
            If there is neither a table nor the example, or both.
        """
        given = self.tables or []
        if self.example == bool(given):
            got = f"{str(given[0])!r} and --example" if self.example else "neither"
            msg = f"expected a TABLE or --example, got {got}"
            raise InvalidInputError(msg)
        if not self.example:
            return given, self.domain
        from seepage.example import example_domain_path, example_path

        return [example_path()], self.domain or example_domain_path()

    def inputs(self) -> list[Path]:
        """Return every file that is read."""
        sources, domain = self.paths()
        return sources if domain is None else [*sources, domain]

    def given(self) -> tuple[Path | list[Path], dict[str, Any]]:
        """Return the files, and the options of `seepage.tables.load`, checked."""
        sources, domain = self.paths()
        options: dict[str, Any] = {
            "domain": domain,
            "columns": _parse.names(self.columns, "--columns"),
            "exclude": _parse.names(self.exclude, "--exclude"),
            "bins": _parse.bins(self.bins) or None,
            "n_bins": self.n_bins,
            "binning": str(self.binning),
            "missing": str(self.missing),
            "null_values": ("", *(self.null or ())),
            "strip": self.strip,
            "min_count": self.min_count,
            "weights": self.weights,
            "header": not self.no_header,
            "names": _parse.names(self.names, "--names"),
            "separator": _parse.separator(self.separator),
            "encoding": self.encoding,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return sources[0] if len(sources) == 1 else sources, given

    def reader(self) -> Callable[[Work], CodedTable]:
        """Check the options, and return what reads the table with them."""
        source, given = self.given()

        def read(work: Work) -> CodedTable:
            from seepage.tables import load

            work.stage("Reading the table")
            return load(source, **given)

        return read

    def opener(self, *, records: bool | None = None) -> Callable[[Work], CodedTable | CountedTable]:
        """Like `reader`; large tables are counted in batches, and saved counts are read.

        Parameters
        ----------
        records : bool, optional
            Whether records are needed; see `seepage.tables.open_table`.
        """
        source, given = self.given()

        def read(work: Work) -> CodedTable | CountedTable:
            from seepage.tables import is_counts, open_table

            work.stage("Reading the table")
            options = {k: v for k, v in given.items() if v != DEFAULTS.get(k)}
            return open_table(
                source,
                records=records,
                progress=work.step,
                stage=work.stage,
                **(options if is_counts(source) else given),
            )

        return read

    def counter(self) -> Callable[[Work], CountedTable]:
        """Like `opener`; every table is counted in batches."""
        source, given = self.given()
        read = self.opener(records=False)

        def count(work: Work) -> CountedTable:
            from seepage.tables import CountedTable, count_table, is_counts

            if is_counts(source):
                merged = read(work)
                if isinstance(merged, CountedTable):
                    return merged
            return count_table(source, progress=work.step, stage=work.stage, **given)

        return count


DEFAULTS: dict[str, Any] = {
    "n_bins": 10,
    "binning": "width",
    "missing": "category",
    "null_values": ("",),
    "min_count": 0,
    "header": True,
}
"""Options of a table that say nothing: saved counts are not refused for them."""


@dataclass(frozen=True)
class FormatOptions:
    """Which table, and how its files are written; the domain comes from elsewhere."""

    tables: TablesArgument = None
    example: ExampleOption = False
    null: NullOption = None
    strip: StripOption = None
    no_header: NoHeaderOption = False
    names: NamesOption = None
    separator: SeparatorOption = None
    encoding: EncodingOption = None

    def paths(self) -> list[Path]:
        """Return the files of the table; see `TableOptions.paths`."""
        return TableOptions(tables=self.tables, example=self.example).paths()[0]

    def options(self) -> dict[str, Any]:
        """Return the options of `seepage.tables.load` that were given."""
        found: dict[str, Any] = {
            "null_values": None if not self.null else ("", *self.null),
            "strip": self.strip,
            "header": False if self.no_header else None,
            "names": _parse.names(self.names, "--names"),
            "separator": _parse.separator(self.separator),
            "encoding": self.encoding,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class FileOptions:
    """Files that every verb can write."""

    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="[FILE.json]",
            rich_help_panel=OUTPUT,
            help="Write JSON; without a file, to standard output and nothing else there.",
        ),
    ] = None
    csv: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE|-",
            rich_help_panel=OUTPUT,
            help="Write the whole table of results as CSV.",
        ),
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write a page that needs no network.",
        ),
    ] = None
    chart: Annotated[
        list[Path] | None,
        typer.Option(
            "--chart",
            metavar="FILE.png|FILE.svg",
            rich_help_panel=OUTPUT,
            help="Write the chart as a picture. Repeatable.",
        ),
    ] = None


@dataclass(frozen=True)
class RunOptions:
    """How a verb talks while it runs."""

    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Print nothing but errors."),
    ] = False
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            envvar="SEEPAGE_DEBUG",
            rich_help_panel=OUTPUT,
            help="Show the traceback of an error.",
        ),
    ] = False


def expand(function: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a verb that is a group of options by the options of the group."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, type[Any]] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            shown += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            shown.append(parameter.replace(annotation=hints[name]))
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in shown]

    @wraps(function)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{item.name: values.pop(item.name) for item in fields(group)})
        function(**values)

    vars(call)["__signature__"] = inspect.Signature(shown, return_annotation=None)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call
