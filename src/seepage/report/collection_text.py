"""A collection plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.collect.collection import CollectionPlan
from seepage.report.collection_words import BY_TREE, facts, forecasts, plan_rows, sentences
from seepage.report.layout import MIN_WIDTH, bullet, clip, closing, nats, printable, section

MAX_ROWS = 60

GAP = 2
"""Cells between columns."""


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
        yield from section("Plan", "ε and claimed total leakage in nats")
        yield from _table(plan, width)
        yield from _more(plan)
        lines = forecasts(plan)
        if lines:
            yield from section("Groups", "at uniform frequencies; the budget shared equally")
        for line in lines:
            yield from bullet(printable(line), width, console)
        yield from closing(sentences(plan), _next(self.saved), width, console)


def _table(plan: CollectionPlan, width: int) -> Iterable[Text]:
    """The attributes; names and mechanisms are shortened to the width, numbers never."""
    rows = plan_rows(plan)[:MAX_ROWS]
    names = ["attribute", *(printable(row.name) for row in rows)]
    kinds = ["mechanism", *(printable(row.mechanism) for row in rows)]
    numbers = [
        _right(["categ.", *(f"{row.categories:,}" for row in rows)]),
        _right(["ε", *(nats(row.epsilon) for row in rows)]),
        _right(["total", *(nats(row.total) for row in rows)]),
    ]
    standings = ["", *(row.standing for row in rows)]
    room = width - sum(GAP + len(column[0]) for column in numbers) - 2 * GAP
    room -= max(map(cell_len, standings))
    kind = min(_widest(kinds), max(room - _widest(names), room // 2))
    name = min(_widest(names), room - kind)
    for i, (first, second, last) in enumerate(zip(names, kinds, standings, strict=True)):
        size, epsilon, total = (column[i] for column in numbers)
        style = "" if i else "dim"
        yield Text.assemble(
            (f"{clip(first, name).plain}  {size}  ", style),
            (clip(second, kind).plain, style),
            (f"  {epsilon}", "bold" if i else style),
            (f"  {total}  ", style),
            (last, "dim"),
        )
    if any(row.standing.endswith(BY_TREE) for row in rows):
        yield Text(f"  {BY_TREE}: if the data follow the dependency tree", style="dim")


def _right(cells: list[str]) -> list[str]:
    """Cells of one width, to the right."""
    width = _widest(cells)
    return [" " * (width - cell_len(cell)) + cell for cell in cells]


def _widest(cells: list[str]) -> int:
    return max(map(cell_len, cells))


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
