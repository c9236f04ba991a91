"""Redacted sequences as text for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.plan.redacting import TableRedaction
from seepage.plan.redaction_comparison import KEPT, RedactionComparison
from seepage.report import wording
from seepage.report.layout import MIN_WIDTH, bullet, clip, closing, printable, section
from seepage.report.redaction_words import (
    estimate,
    first_plan,
    group_rows,
    rounded,
    state_names,
    worst_case,
)

MAX_GROUPS = 20
MAX_STATES = 6


def redaction_text(
    result: TableRedaction,
    width: int | None = None,
    *,
    comparison: RedactionComparison | None = None,
    saved: str | None = None,
    written: str | None = None,
    given: Collection[str] = (),
) -> RedactionText:
    """Return a redaction as a Rich renderable.

    Parameters
    ----------
    result : TableRedaction
    width : int, optional
        Width in cells; the console's by default.
    comparison : RedactionComparison, optional
        Shown as well.
    saved, written : str, optional
        Where the plans and the redacted table were written, for the next steps.

    given : collection of str
        Options that the next steps leave out.

    Returns
    -------
    RedactionText
        For ``rich.console.Console.print``.
    """
    return RedactionText(result, width, comparison, saved, written, tuple(given))


@dataclass(frozen=True, eq=False)
class RedactionText:
    """A redaction laid out for the width of a console; see `redaction_text`."""

    result: TableRedaction
    width: int | None
    comparison: RedactionComparison | None
    saved: str | None
    written: str | None
    given: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        for line in Text(printable(result.verdict), style="bold").wrap(console, width):
            yield line
        yield Text(_about(result), style="dim")
        yield from _groups(result, width)
        first = first_plan(result.groups)
        worst = worst_case(result.groups[0].plan)
        told = f"{first}: {worst[0].lower()}{worst[1:]}" if first else worst
        yield Text()
        for line in Text(printable(told), style="dim").wrap(console, width - 2):
            yield Text.assemble("  ", line)
        yield from _chain(result)
        if self.comparison is not None:
            yield from _comparison(self.comparison, first, width, console)
        given = (*self.given, *(() if self.comparison is None else ("--compare",)))
        steps = [
            step
            for step in _next(result, self.saved, self.written)
            if step[0].split()[0] not in given
        ]
        yield from closing(result.assumptions, steps, width, console)


def _about(result: TableRedaction) -> str:
    count = len(result.table.values)
    return (
        f"{printable(result.source)}: {count:,} {'sequence' if count == 1 else 'sequences'}, "
        f"{result.table.size:,} records, mechanism {result.mechanism} ({result.standing})"
    )


def _groups(result: TableRedaction, width: int) -> Iterable[Text]:
    yield from section("Plans", "nats; positions count from 0; released: on average, in this run")
    room = max(9, min(24, width - 66))  # what the other columns and the last mark leave
    yield Text.assemble(
        f"{'seq.':>6}{'n':>9}  ",
        clip("protected", room),
        f"{'ε':>7}{'leakage':>11}{'released':>12}{'this run':>10}",
        style="dim",
    )
    for row in group_rows(result.groups[:MAX_GROUPS]):
        yield Text.assemble(
            f"{row.sequences:>6}{row.n:>9}  ",
            clip(row.positions, room),
            f"{row.epsilon:>7}",
            (f"{wording.nats(row.leakage, 6):>11}", "bold"),
            f"{row.average:>12}{row.released:>10}",
            (f" {row.kept}" if row.kept else "", "bold red"),
        )
    if len(result.groups) > MAX_GROUPS:
        rest = len(result.groups) - MAX_GROUPS
        yield Text(f"  … and {rest} more (--csv has all)", style="dim")


def _chain(result: TableRedaction) -> Iterable[Text]:
    fitted = result.fitted
    how = "given"
    if result.from_fit:
        how = "of a fit, rounded" if fitted is None else "fitted, ± standard errors"
    yield from section("Chain", f"next state by the last one; {how}")
    chain = result.known
    names = [printable(name) for name in state_names(result.groups[0].plan)]
    column = 18 if fitted is not None else 10
    shown = names[:MAX_STATES]
    yield Text.assemble(
        clip("  from", 14),
        *(f"{clip(name, column - 2).plain.strip():>{column}}" for name in shown),
        style="dim",
    )
    for i, name in enumerate(shown):
        cells = []
        for j in range(len(shown)):
            p = float(chain.transition[i, j])
            cell = rounded(p) if result.from_fit else f"{p:.4f}"
            if fitted is not None:
                cell = estimate(p, float(fitted.standard_errors[i, j]))
            cells.append(f"{cell:>{column}}")
        yield Text.assemble(clip(f"  {name}", 14), *cells)
    if len(names) > MAX_STATES:
        yield Text(f"  … and {len(names) - MAX_STATES} more states", style="dim")


def _comparison(
    result: RedactionComparison, first: str, width: int, console: Console
) -> Iterable[Text]:
    yield from section("Mechanisms", "fraction released; leaks: exact, of published")
    if first:
        where = f"record {result.position} of {result.n:,}"
        yield Text(f"  {first}, {where}:", style="dim")
    names = list(result.utilities)
    heads = ["data-ind." if name == "data-independent" else name for name in names]
    last = "leaks" if "published" in names else ""
    yield Text.assemble(f"{'ε':>8}", *(f"{head:>11}" for head in heads), f"{last:>9}", style="dim")
    for i, e in enumerate(result.epsilons):
        cells = [f"{result.utilities[name][i]:>11.4f}" for name in names]
        leak = result.leakages["published"][i] if last else 0.0
        above = "bold red" if leak > e + KEPT else ""
        end = (f"{wording.nats(leak):>9}", above) if last else ""
        yield Text.assemble(f"{wording.budget(e):>8}", *cells, end)
    yield from bullet(result.verdict, width, console)


def _next(result: TableRedaction, saved: str | None, written: str | None) -> list[tuple[str, str]]:
    steps = []
    if result.fitted is not None:
        steps.append(("--chain chain.json", "for a release: a chain from other data"))
    if result.keeps_promise is False:
        steps.append(("--mechanism certified", "keep to ε, often with more released"))
    if written is None:
        steps.append(("--out redacted.csv", "draw, and write the redacted table"))
    if saved is None:
        steps.append(("--save-plan plan.json", "keep the plan; --plan reads it"))
    else:
        steps.append((f"--plan {printable(saved)}", "redact other sequences by the same plan"))
    if result.mechanism == "certified":
        steps.append(("--mechanism optimal", "search for a plan that releases more"))
    if result.fitted is not None and result.standing != "upper":
        steps.append(("--confidence 0.95", "hold for every chain the data leave possible"))
    steps.append(("--compare 0.5,1,2", "all mechanisms side by side"))
    steps.append(("--html report.html", "the same as a page with pictures"))
    return steps
