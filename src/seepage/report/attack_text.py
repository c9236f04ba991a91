"""Attacks on a plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from seepage.plan.attack_report import AttackReport, AttackRound
from seepage.report.attack_words import METHODS, about, percent, points
from seepage.report.layout import MIN_WIDTH, closing, nats, printable, section
from seepage.report.wording import budget

NAME = 15


def attack_text(result: AttackReport, width: int | None = None) -> AttackText:
    """Return an attack as a Rich renderable.

    Parameters
    ----------
    result : AttackReport
    width : int, optional
        Width in cells; the console's by default.

    Returns
    -------
    AttackText
        For ``rich.console.Console.print``.
    """
    return AttackText(result, width)


@dataclass(frozen=True, eq=False)
class AttackText:
    """An attack laid out for the width of a console; see `attack_text`."""

    result: AttackReport
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the report."""
        width = max(MIN_WIDTH, self.width or options.max_width)
        result = self.result
        for line in Text(printable(result.verdict), style="bold").wrap(console, width):
            yield line
        for line in Text(printable(about(result)), style="dim").wrap(console, width):
            yield line
        yield from _attackers(result)
        yield from _bounds(result.main)
        if result.sweep:
            yield from _sweep(result)
        yield from closing(result.assumptions, _next(result), width, console)


def _attackers(result: AttackReport) -> Iterable[Text]:
    note = (
        f"limits at {100 * result.confidence:g} %; balanced: mean over values; control: strangers"
    )
    yield from section("Attackers", note)
    yield Text.assemble(
        f"{'':<{NAME}}{'right':>7}{'limits':>15}{'gain':>7}{'balanced':>9}",
        f"{'F1':>6}{'control':>8}{'log-ratio':>10}",
        style="dim",
    )
    for each in result.main.attackers:
        score = each.score
        limits = f"{percent(score.accuracy.lower)}–{percent(score.accuracy.upper)}"
        ratio = "" if each.largest_ratio is None else nats(each.largest_ratio)
        yield Text.assemble(
            f"{each.name:<{NAME}}",
            (f"{percent(score.accuracy.estimate):>7}", "bold"),
            f"{limits:>15}{points(score.advantage.estimate):>7}",
            f"{percent(score.balanced_accuracy):>9}{score.macro_f1:>6.3f}",
            f"{percent(score.control.estimate):>8}{ratio:>10}",
            ("  above the bound" if each.name in result.exceeding else "", "bold red"),
        )
    if result.main.best_possible is not None:
        best = result.main.best_possible
        gain = points(best - result.baseline)
        text = f"{'best possible':<{NAME}}{percent(best):>7}{'':>15}{gain:>7}"
        told = "if records are like those known" if result.held_out else "exact Bayes, on average"
        yield Text.assemble((text, "cyan"), (f"  {told}", "dim"))
    bound = result.main.bound
    yield Text.assemble(
        f"{'at most':<{NAME}}{percent(bound.accuracy):>7}{'':>15}",
        f"{points(bound.accuracy - result.baseline):>7}",
        f"{percent(bound.balanced_accuracy):>9}{'':>6}{'':>8}{nats(bound.leakage):>10}",
        style="cyan",
    )


def _bounds(main: AttackRound) -> Iterable[Text]:
    yield from section("What no attacker can exceed", "leakage of the reports in nats")
    for bound in main.bounds:
        yield Text.assemble(
            f"  {bound.method:<7}",
            (f"{nats(bound.leakage):>8}", "bold"),
            f"  right at most {percent(bound.accuracy):>6}  ",
            (str(bound.standing), "dim"),
        )
        refuted = bound.method == "tree" and main.refuted
        note = "; refuted by a log-ratio met" if refuted else ""
        yield Text(f"            {METHODS[bound.method]}{note}", style="dim")


def _sweep(result: AttackReport) -> Iterable[Text]:
    names = [each.name for each in result.sweep[0].attackers if each.name != "prior"]
    yield from section("Against ε", f"share guessed rightly; {percent(result.baseline)} without")
    heads = "".join(f"{name:>{max(9, len(name) + 2)}}" for name in names)
    yield Text(f"{'ε':>8}{heads}{'possible':>10}{'at most':>9}{'leakage':>9}", style="dim")
    for item in result.sweep:
        found = {each.name: each.score.accuracy.estimate for each in item.attackers}
        cells = "".join(f"{percent(found[name]):>{max(9, len(name) + 2)}}" for name in names)
        last = f"{percent(item.bound.accuracy):>9}{nats(item.bound.leakage):>9}"
        best = "–" if item.best_possible is None else percent(item.best_possible)
        yield Text(f"{budget(item.epsilon):>8}{cells}{best:>10}{last}")


def _next(result: AttackReport) -> list[tuple[str, str]]:
    steps = []
    if not result.sweep:
        steps.append(("--epsilons 0.1,0.5,1,2,5", "the same plan at other budgets"))
    if len(result.main.attackers) < 4:
        steps.append(("--attacker bayes,tree,boosting", "further attackers"))
    if result.held_out:
        steps.append(("--draw model", "records for which the bound holds without reservation"))
    if not result.own_report:
        steps.append(("--own-report", "let the attackers see the secret column's report too"))
    steps.append(("--html attack.html", "the same as a page with a chart"))
    return steps
