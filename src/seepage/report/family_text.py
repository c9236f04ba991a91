"""Several tests as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from seepage.plan.power_rooms import KINDS
from seepage.report.layout import bullet, section
from seepage.risk._rounding import round_up, words

if TYPE_CHECKING:
    from rich.console import Console

    from seepage.plan.power_families import FamilyReport
    from seepage.plan.power_rooms import Room


def rows_of(room: Room | None, report: FamilyReport) -> list[tuple[str, list[str]]]:
    """Tests with their power: without protection, with it, and the parameter each asks for."""
    found = None if room is None else room.utility
    rows = []
    for i, test in enumerate(report.bare.tests):
        cells = [f"{report.bare.powers[i]:.4f}"]
        if found is not None:
            kept = found.tests[i]
            own = "∞" if kept.parameter == float("inf") else words(round_up(kept.parameter, 4))
            cells += [f"{kept.power:.4f}", own, "yes" if found.binding == test.name else ""]
        rows.append((test.name, cells))
    return rows


def heading(room: Room | None) -> tuple[str, list[str]]:
    """What the columns of `rows_of` are."""
    if room is None or room.utility is None:
        return ("test", ["bare"])
    return ("test", ["bare", "power", f"own {room.symbol}", "binds"])


def family_parts(report: FamilyReport, width: int, console: Console) -> Iterable[Text]:
    """Yield the parts of a report about several tests."""
    from seepage.report.risk_text import risk_lines, table

    level = report.bare.level
    yield from section("The tests", f"each at level {level:.3g}, {report.correction}")
    yield from bullet(report.together, width, console)
    for room in report.rooms:
        yield from section(KINDS[room.family])
        yield from table(rows_of(room, report), heading(room), width)
        yield from bullet(room.sentence, width, console)
        if room.utility is not None:
            yield from bullet(f"The wish: {room.utility.meaning}.", width, console)
        yield from risk_lines(room.disclosure, width, console)
