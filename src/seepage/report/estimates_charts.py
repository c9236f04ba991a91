"""Charts of estimated tables, as Altair specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seepage.collect.projection import AnyMarginal
from seepage.errors import InvalidInputError
from seepage.report import palette, wording
from seepage.report.charts import chart_title, styled
from seepage.report.estimates_words import CellRow, cell_rows, percent, short, title
from seepage.report.layout import printable

if TYPE_CHECKING:
    import altair as alt

    from seepage.collect.estimates import AnyEstimates

MAX_TABLES = 12
"""So many tables are drawn in one chart."""

MAX_CELLS = 25
MAX_SIDE = 40
MAX_NUMBERS = 8
ACROSS = 2


def estimates_chart(result: AnyEstimates, kind: str = "tables") -> alt.TopLevelMixin:
    """Return a chart of estimates: one picture for each table, up to twelve.

    Parameters
    ----------
    result : Estimates or AdjustedEstimates
    kind : {"tables"}

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    import altair as alt

    _check(kind)
    shown = result.tables[:MAX_TABLES]
    pictures = [_picture(table, result.confidence, title(table)) for table in shown]
    rest = len(result.tables) - len(shown)
    more = f" The first {len(shown)} of {len(result.tables)} tables." if rest else ""
    subtitle = f"{result.size:,} records, {result.origin}.{more}"
    chart = pictures[0]
    if len(pictures) > 1:
        chart = alt.concat(*pictures, columns=ACROSS).resolve_scale(
            x="independent", y="independent", color="independent"
        )
    return styled(chart.properties(title=chart_title("Estimated tables", subtitle)))


def marginal_chart(
    table: AnyMarginal, kind: str = "tables", *, confidence: float = 0.95
) -> alt.TopLevelMixin:
    """Return the chart of one table.

    Raises
    ------
    InvalidInputError
        If `kind` is unknown.
    """
    _check(kind)
    heading = chart_title(
        printable(f"Estimated shares of {title(table)}"), f"{table.records:,} records."
    )
    return styled(_picture(table, confidence, "").properties(title=heading))


def _check(kind: str) -> None:
    if kind != "tables":
        msg = f"expected a kind of chart, got {kind!r}. Known: 'tables'."
        raise InvalidInputError(msg)


def _picture(table: AnyMarginal, confidence: float, heading: str) -> Any:
    if len(table.names) == 2 and max(table.values.shape) <= MAX_SIDE:
        chart = _heat(table, confidence)
    else:
        limit = None if len(table.names) == 1 and table.values.size <= MAX_SIDE else MAX_CELLS
        chart = _points(cell_rows(table, confidence, limit))
    return chart.properties(title=printable(heading)) if heading else chart


def _points(rows: list[CellRow]) -> Any:
    """Estimates with their limits, one line for each cell."""
    import altair as alt

    names = _distinct(row.name for row in rows)
    values = [_values(row) | {"cell": name} for row, name in zip(rows, names, strict=True)]
    y = alt.Y("cell:N", sort=None, scale=alt.Scale(domain=names)).title(None)
    base = alt.Chart(alt.InlineData(values=values)).encode(y=y)
    line = base.mark_rule(color=palette.MUTED, strokeWidth=2).encode(
        x=alt.X("lower:Q").title("Share (%)"), x2="upper:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1, color=palette.EXACT).encode(
        x="value:Q", tooltip=_tooltip(("cell", "Cell"))
    )
    return alt.layer(line, dots).properties(width=300, height=alt.Step(20))


def _heat(table: AnyMarginal, confidence: float) -> Any:
    """First attribute down, second across."""
    import altair as alt

    rows, columns = (_distinct(item.categories) for item in table.domain.attributes)
    cells = cell_rows(table, confidence)
    values = [
        _values(cell) | {"down": rows[i // len(columns)], "across": columns[i % len(columns)]}
        for i, cell in enumerate(cells)
    ]
    largest = max((cell.value for cell in cells), default=0.0) or 1.0
    # Titles of axes become part of expressions, which a line separator would break.
    first, second = (printable(name) for name in table.names)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("across:N", sort=None, scale=alt.Scale(domain=columns))
        .title(second)
        .axis(labelAngle=-45),
        y=alt.Y("down:N", sort=None, scale=alt.Scale(domain=rows)).title(first),
    )
    layers = [
        base.mark_rect(stroke="white", strokeWidth=1).encode(
            color=alt.Color("value:Q")
            .scale(domain=[0, 100 * largest], range=palette.ramp(), interpolate="lab", clamp=True)
            .legend(None),
            tooltip=_tooltip(("down", "Down"), ("across", "Across")),
        )
    ]
    if len(columns) <= MAX_NUMBERS:
        half = 50 * largest
        layers.append(
            base.mark_text(fontSize=11).encode(
                text="written:N",
                color=alt.condition(
                    f"datum.value > {half!r}", alt.value("white"), alt.value(palette.INK)
                ),
            )
        )
    step = 46 if len(columns) <= MAX_NUMBERS else max(12, 420 // len(columns))
    return alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(26))


def _values(row: CellRow) -> dict[str, Any]:
    return {
        "value": 100 * row.value,
        "lower": 100 * max(row.lower, -10.0),
        "upper": 100 * min(row.upper, 10.0),
        "written": percent(row.value, 1),
        "told": f"{percent(row.value)} ± {percent(row.error)}",
        "limits": f"{percent(row.lower)} – {percent(row.upper)}",
    }


def _tooltip(*fields: tuple[str, str]) -> list[Any]:
    # Headings become part of an expression, so that names from the data have no place in them.
    import altair as alt

    shown = [*fields, ("told", "Share (%) ± s.e."), ("limits", "Limits")]
    return [alt.Tooltip(f"{field}:N", title=heading) for field, heading in shown]


def _distinct(labels: Any) -> list[str]:
    """Labels as texts that differ: 1 and "1" look alike."""
    taken: dict[str, None] = {}
    for label in labels:
        text = wording.shorten(short(label))
        while text in taken:
            text += "′"
        taken[text] = None
    return list(taken)
