"""A self-contained page of estimated tables; it runs no script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seepage.collect.estimates import estimates_of
from seepage.collect.projection import AnyMarginal, as_raw
from seepage.report import estimates_svg
from seepage.report.estimates_words import CellRow, behind, cell_rows, how, percent, reach, title
from seepage.report.templating import render

if TYPE_CHECKING:
    from markupsafe import Markup

    from seepage.collect.estimates import AnyEstimates

MAX_SECTIONS = 60
MAX_ROWS = 30


@dataclass(frozen=True)
class Section:
    """What the page says about one table."""

    title: str
    behind: str
    cells: int
    median: str
    largest: str
    note: str
    picture: Markup | None
    rows: list[CellRow]


def estimates_page(result: AnyEstimates, *, date: str | None = None) -> str:
    """Return the page of estimates: one section for each table.

    Parameters
    ----------
    result : Estimates or AdjustedEstimates
    date : str, optional
        Shown in the footer; today by default.
    """
    tables = result.tables[:MAX_SECTIONS]
    return render(
        "estimates.html.j2",
        date=date,
        title=f"Estimates from {result.source}",
        result=result,
        how=how(result),
        reach=reach(result),
        limits=f"{100 * result.confidence:g} %",
        sections=[_section(table, result.confidence) for table in tables],
        left_out=len(result.tables) - len(tables),
        percent=percent,
        adjusted=any(table is not as_raw(table) for table in tables),
    )


def marginal_page(table: AnyMarginal, *, confidence: float = 0.95, date: str | None = None) -> str:
    """Return the page of one table.

    Parameters
    ----------
    table : Marginal or AdjustedMarginal
    confidence : float
    date : str, optional
        Shown in the footer; today by default.
    """
    return estimates_page(estimates_of(table, confidence), date=date)


def _section(table: AnyMarginal, confidence: float) -> Section:
    errors = as_raw(table).standard_errors
    largest = cell_rows(table, confidence, MAX_ROWS)
    picture, note = (
        None,
        f"The {len(largest)} largest cells, too large on average; faint: may be 0.",
    )
    if len(table.names) == 1 and table.values.size <= estimates_svg.MAX_HEAT:
        picture = estimates_svg.bars(cell_rows(table, confidence))
        note = "Bars: estimated share; lines: its limits; faint: may be 0. In percent."
    elif len(table.names) == 2 and max(table.values.shape) <= estimates_svg.MAX_HEAT:
        picture = estimates_svg.heatmap(table, confidence)
        down, across = table.names
        note = (
            f"{down} down, {across} across; shares in percent, darker for larger; faint: may be 0."
        )
    return Section(
        title(table),
        behind(table),
        table.values.size,
        percent(float(np.median(errors))),
        percent(float(errors.max())),
        note,
        picture,
        [] if picture is not None else largest,
    )
