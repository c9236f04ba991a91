"""A collection plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from seepage.collect.collection import CollectionPlan
from seepage.report.collection_words import facts, forecasts, plan_rows, sentences
from seepage.report.layout import MIN_WIDTH, bullet, closing, nats, printable, section

MAX_ROWS = 60


def plan_text(
    plan: CollectionPlan, width: int | None = None, *, saved: str | None = None
) -> PlanText:
    """Return a plan as a Rich renderable.

    Parameters
    ----------
    plan : CollectionPlan
    width : int, optional
        Width in cells; the console's by default.
    saved : str, optional
        Where the plan was written, for the next steps.

    Returns
    -------
    PlanText
        For ``rich.console.Console.print``.
    """
    return PlanText(plan, width, saved)


@dataclass(frozen=True, eq=False)
class PlanText:
    """A plan laid out for the width of a console; see `plan_text`."""

    plan: CollectionPlan
    width: int | None
    saved: str | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        plan = self.plan
        yield Text(printable(plan.verdict), style="bold")
        yield Text(f"{printable(plan.source)}: {facts(plan)}", style="dim")
        yield from section("Plan", "ε and total leakage in nats")
        yield _table(plan)
        yield from _more(plan)
        lines = forecasts(plan)
        if lines:
            yield from section("Groups", "at uniform frequencies; the budget shared equally")
        for line in lines:
            yield from bullet(printable(line), width, console)
        yield from closing(sentences(plan), _next(self.saved), width, console)


def _table(plan: CollectionPlan) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("attribute", overflow="ellipsis", no_wrap=True)
    table.add_column("categ.", justify="right", no_wrap=True)
    table.add_column("mechanism", overflow="ellipsis", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column("total claimed", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in plan_rows(plan)[:MAX_ROWS]:
        table.add_row(
            Text(printable(row.name)),
            f"{row.categories:,}",
            Text(printable(row.mechanism)),
            Text(nats(row.epsilon), style="bold"),
            nats(row.total),
            Text(row.standing, style="dim"),
        )
    return table


def _more(plan: CollectionPlan) -> Iterable[Text]:
    rest = len(plan.domain) - MAX_ROWS
    if rest > 0:
        yield Text(f"… and {rest} more", style="dim")
    yield Text.assemble(("(record)  ", "italic"), ("ε ", "dim"), (nats(plan.epsilon), "bold"))


def _next(saved: str | None) -> list[tuple[str, str]]:
    if saved is None:
        return [("--out plan.json", "keep the plan; without it nothing can be randomised")]
    file = printable(saved)
    return [
        (f"seepage randomize … --plan {file}", "randomise a table"),
        (f"seepage estimate … --plan {file}", "estimate from the reports"),
    ]
