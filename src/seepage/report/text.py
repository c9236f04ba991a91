"""An audit as text for a terminal.

Labels come from the data: nothing in them is read as markup, and control characters are shown as
escapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.domain import Domain, Label, label_key
from seepage.report.layout import (
    BAR,
    MIN_WIDTH,
    bar,
    clip,
    closing,
    nats,
    printable,
    section,
)
from seepage.report.palette import ramp

if TYPE_CHECKING:
    from seepage.plan.audit_result import AuditResult, PairLeakage

MAX_HEATMAP = 20
FEW = 50
"""A category of the secret with fewer records than this says little."""
WIDE = 96
"""Columns from which mutual information and correlation fit beside the limits."""
MAX_TOTALS = 20
MEASURES = ("leakage", "% of ε", "triad", "GRR", "MI", "r")
SHADES = ramp(10)
LEGEND = {
    "leakage": "exact worst case over all ε-LDP mechanisms, in nats, at most ε; the odds of two "
    "secret values shift by a factor of up to e^leakage",
    "limits": "for the population the records are a sample of, each pair by itself; ? marks "
    "leakage that cannot be told from none with these records",
    "triad": "its upper estimate from three numbers of the pair",
    "GRR": "leakage if the column goes through k-ary randomised response",
    "MI, r": "mutual information and correlation (of category positions unless the labels are "
    "numbers): no bound on leakage",
}
"""What the columns of the list of pairs are."""


def text(
    result: AuditResult, top: int = 10, width: int | None = None, *, hints: bool = True
) -> AuditText:
    """Return an audit as a Rich renderable.

    Parameters
    ----------
    result : AuditResult
    top : int, default 10
        Number of pairs to list.
    width : int, optional
        Width in cells; the console's by default.
    hints : bool, default True
        End with what to do next.

    Returns
    -------
    AuditText
        For ``rich.console.Console.print``.
    """
    return AuditText(result, top, width, hints)


@dataclass(frozen=True, eq=False)
class AuditText:
    """An audit laid out for the width of a console; see `text`."""

    result: AuditResult
    top: int
    width: int | None
    hints: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        yield Text(printable(result.verdict), style="bold")
        yield Text(_about(result), style="dim")
        if result.warning:
            yield Text(printable(result.warning), style="yellow")
        yield from _pairs(result, self.top, width, console)
        yield from _heatmap(result, width)
        yield from _totals(result, width)
        steps = _next(result, self.top) if self.hints else ()
        yield from closing(result.assumptions, steps, width, console)


def share_of_budget(pair: PairLeakage) -> float | None:
    """Leakage as a fraction of ε, in [0, 1]; None when ε is infinite."""
    if math.isinf(pair.epsilon):
        return None
    return pair.leakage.value / pair.epsilon if pair.epsilon > 0 else 0.0


def percent(share: float) -> str:
    """Return a fraction as a whole percentage: `·` for none, `<1` for a trace."""
    if share < 1e-9:
        return "·"
    if share < 0.01:
        return "<1"
    whole = math.floor(100 * share + 0.5)
    return ">99" if whole == 100 and share < 1 - 1e-9 else f"{whole}"


def _about(result: AuditResult) -> str:
    budgets = sorted(set(result.budgets.values()))
    weighted = "" if result.weight is None else f" weighted to {result.weight:,}"
    each = (
        f"ε = {budgets[0]:g}" if len(budgets) == 1 else f"ε from {budgets[0]:g} to {budgets[-1]:g}"
    )
    return (
        f"{printable(result.source)}: {result.records:,} records{weighted}, "
        f"{len(result.domain)} columns, "
        f"{len(result.pairs):,} ordered pairs, {each}"
    )


def _pairs(result: AuditResult, top: int, width: int, console: Console) -> Iterable[Text]:
    shown = result.ranked[:top]
    if not shown:
        return
    limits = 13 if any(pair.sampled for pair in shown) else 0
    wide = width >= WIDE or not limits
    numbers = 8 + 1 + BAR + 5 + limits + 7 * (4 if wide else 2)
    longest = max(cell_len(_arrow(pair)) for pair in shown)
    name_width = max(12, min(longest, width - numbers - 1))
    yield from section(
        "Pairs that leak most" if len(shown) < len(result.pairs) else "All pairs",
        f"{len(shown)} of {len(result.pairs)}; secret ← released",
    )
    heading = f"{'leakage':>8} {'% of ε':>{BAR + 5}}"
    heading += f"{_confidence(result):>13}" if limits else ""
    heading += f"{'triad':>7}{'GRR':>7}" + (f"{'MI':>7}{'r':>7}" if wide else "")
    yield Text.assemble(clip("", name_width), heading, style="dim")
    largest = max((p.leakage.value for p in shown if math.isfinite(p.leakage.value)), default=0.0)
    for pair in shown:
        yield _pair_line(pair, name_width, largest, limits=limits > 0, wide=wide)
        yield Text("  " + _short(_why(pair, result.domain, width - 2), width - 2), style="dim")
    yield Text()
    hidden = {"limits": not limits, "MI, r": not wide}
    for name, what in LEGEND.items():
        if not hidden.get(name, False):
            yield from _explained(name, what, width, console)


def _explained(name: str, what: str, width: int, console: Console) -> Iterable[Text]:
    """One entry of the legend, wrapped beside its name."""
    for number, line in enumerate(Text(what).wrap(console, width - 11)):
        head = f"{name if number == 0 else '':<8} "
        yield Text.assemble("  ", (head, "italic"), line.plain.rstrip(), style="dim")


def _arrow(pair: PairLeakage) -> str:
    return f"{printable(pair.secret)} ← {printable(pair.released)}"


def _names(pair: PairLeakage, width: int) -> Text:
    """Both names in `width` cells; the longer one is shortened first."""
    secret, released = printable(pair.secret), printable(pair.released)
    room = width - 3
    left, right = cell_len(secret), cell_len(released)
    if left + right > room:
        half = room // 2
        left = max(min(left, half), room - right)
        right = room - left
    return clip(f"{clip(secret, left).plain} ← {clip(released, right).plain}", width)


def _confidence(result: AuditResult) -> str:
    sampled = next((pair.sampled for pair in result.pairs if pair.sampled), None)
    return "" if sampled is None else f"{100 * sampled.interval.confidence:.3g} % limits"


def _limits(pair: PairLeakage) -> str:
    """Limits for the population; a question mark when they do not exclude that nothing leaks."""
    if pair.sampled is None:
        return ""
    interval = pair.sampled.interval
    low, high = ("∞" if math.isinf(x) else f"{x:.2f}" for x in (interval.lower, interval.upper))
    return f"{low}–{high}" + (" " if pair.sampled.distinguishable else "?")


def _pair_line(
    pair: PairLeakage, name_width: int, largest: float, *, limits: bool, wide: bool
) -> Text:
    value = pair.leakage.value
    share = share_of_budget(pair)
    if share is None:
        drawn = bar(1.0 if math.isinf(value) else value / largest if largest else 0.0)
        told = "–"
    else:
        drawn, told = bar(share), percent(share) + ("%" if share >= 1e-9 else "")
    return Text.assemble(
        _names(pair, name_width),
        (f"{nats(value):>8}", "bold"),
        " ",
        (drawn, _color(share)),
        f"{told:>5}",
        f"{_limits(pair):>13}" if limits else "",
        f"{nats(pair.triad_leakage.value):>7}",
        f"{nats(pair.grr_leakage.value):>7}",
        f"{nats(pair.mutual_information.value):>7}{pair.pearson.value:>+7.2f}" if wide else "",
    )


def _why(pair: PairLeakage, domain: Domain, width: int) -> str:
    """Say in words which answer points to which value of the secret."""
    if pair.secret_values is None:
        return "tells nothing"
    names = [printable(label) for label in (pair.released, *pair.secret_values)]
    categories = domain[pair.released].categories
    whole = _sentence(pair, categories, names, f"{printable(pair.secret)} = ", 10**6)
    if cell_len(whole) <= width:
        return whole
    # The line above names the secret already, so its name goes first.
    names = [_short(name, max(12, width // 4)) for name in names]
    return _sentence(pair, categories, names, "", width)


def _sentence(
    pair: PairLeakage, categories: Sequence[Label], names: Sequence[str], secret: str, width: int
) -> str:
    released, first, second = names
    end = f" → {secret}{first} rather than {second}"
    room = width - cell_len(released) - cell_len(end)
    return released + _event(pair.event, categories, room) + end


def _short(content: str, width: int) -> str:
    return clip(content, width).plain.rstrip() if cell_len(content) > width else content


def _event(event: Sequence[Label], categories: Sequence[Label], room: int) -> str:
    """Describe a set of labels, by what is not in it when that is shorter."""
    inside = {label_key(label) for label in event}
    outside = [label for label in categories if label_key(label) not in inside]
    if 0 < len(outside) < len(event):
        if len(outside) == 1:
            return " ≠ " + _any_of(outside, "", room - 3)
        return " neither " + _any_of(outside, " nor ", room - 9)
    return " = " + _any_of(event, " or ", room - 3)


def _any_of(labels: Sequence[Label], joint: str, room: int) -> str:
    """Join labels; when they do not fit, say how many more there are."""
    names = [printable(label) for label in labels]
    whole = joint.join(names)
    if cell_len(whole) <= room:
        return whole
    for kept in range(len(names) - 1, 0, -1):
        short = joint.join(names[:kept]) + f"{joint}{len(names) - kept} more"
        if cell_len(short) <= room:
            return short
    rest = f"{joint}{len(names) - 1} more" if len(names) > 1 else ""
    return _short(names[0], max(4, room - len(rest))) + rest


def _color(share: float | None) -> str:
    if share is None:
        return "red"
    return "red" if share >= 0.75 else "yellow" if share >= 0.25 else "green"


def _heatmap(result: AuditResult, width: int) -> Iterable[Text]:
    names = result.domain.names
    d = len(names)
    if d > MAX_HEATMAP:
        yield from section("Heatmap", f"{d} columns: see --html or --chart")
        return
    bounded = all(math.isfinite(value) for value in result.budgets.values())
    cell = 4
    longest = max(cell_len(printable(name)) for name in names)
    label = min(longest, width - 4 - cell * d)
    if label < min(longest, 8):
        yield from section("Heatmap", "too wide for this terminal: see --html or --chart")
        return
    yield from section(
        "Heatmap",
        f"{'leakage in % of ε' if bounded else 'leakage in nats'}; row: secret, column: released",
    )
    header = "".join(f"{j + 1:>{cell}}" for j in range(d))
    yield Text.assemble(" " * (4 + label), (header, "dim"))
    largest = max(
        (p.leakage.value for p in result.pairs if math.isfinite(p.leakage.value)), default=0.0
    )
    for i, secret in enumerate(names):
        line = Text.assemble((f"{i + 1:>3} ", "dim"), clip(printable(secret), label))
        for released in names:
            if secret == released:
                line.append(" " * (cell - 1) + "\\")
                continue
            pair = result.pair(secret, released)
            share = share_of_budget(pair) if bounded else None
            if share is not None:
                content, level = percent(share), share
            else:
                value = pair.leakage.value
                content = "∞" if math.isinf(value) else "·" if value < 1e-12 else f"{value:.1f}"
                level = 1.0 if math.isinf(value) else value / largest if largest else 0.0
            line.append(" ")
            line.append(f"{content:>{cell - 1}}", style=_shade(level))
        yield line


def _shade(level: float) -> str:
    """The colours of charts and pages; the lowest tenth has none, as it would outshine the rest."""
    step = min(int(level * len(SHADES)), len(SHADES) - 1)
    if step == 0:
        return "dim" if level < 1e-9 else ""
    return f"{'black' if step < 5 else 'bright_white'} on {SHADES[step]}"


def _totals(result: AuditResult, width: int) -> Iterable[Text]:
    yield from section(
        "Total about each column",
        "pairwise: own ε + leakage of all others; tree: upper bound if the tree holds; "
        "group: upper bound",
    )
    ranked = sorted(result.totals.items(), key=lambda item: -item[1].value)
    shown = ranked[:MAX_TOTALS]
    label = min(max(cell_len(printable(name)) for name, _ in shown), 28)
    group = result.group_total.value
    finite = [item.value for _, item in ranked if math.isfinite(item.value)]
    largest = group if math.isfinite(group) else max(finite, default=0.0)
    yield Text(f"  {'':{label}}{'pairwise':>10}{'tree':>9}{'group':>9}", style="dim")
    for name, item in shown:
        filled = 1.0 if math.isinf(item.value) else item.value / largest if largest else 0.0
        yield Text.assemble(
            "  ",
            clip(printable(name), label),
            (f"{nats(item.value):>10}", "bold"),
            f"{nats(result.tree_totals[name].value):>9}",
            f"{nats(group):>9}",
            "  ",
            (bar(min(1.0, filled), max(8, min(24, width - label - 34))), "cyan"),
        )
    if len(ranked) > len(shown):
        yield Text(f"  … and {len(ranked) - len(shown)} more", style="dim")


def _next(result: AuditResult, top: int) -> list[tuple[str, str]]:
    steps = [
        ("--html report.html", "the same as an interactive page, with leakage at every ε"),
        ("--budget NAME=EPS", "try another budget for one column"),
    ]
    few = [p.support for p in result.ranked[:top] if p.support and min(p.support) < FEW]
    if few and result.weight is None:
        steps.append((f"--min-count {FEW}", f"{len(few)} of these pairs rest on fewer records"))
    if top < len(result.pairs):
        steps.append((f"--top {len(result.pairs)}", "list every pair"))
    return steps
