"""Table 1 and Figure 1 of the paper on adjustable preservation of relationships.

    python reproduce/attenuation.py --out out

Table 1: share of each covariance that five attributes of four categories keep under three divisions
of a total of ε = 5, beside the best divisions for three objectives. Figure 1: the retention λ(ε)
for several numbers of categories. Writes attenuation.md, attenuation-table.csv,
attenuation-curve.csv, attenuation.png, attenuation-table1.json, attenuation-figure1.json.
"""

from __future__ import annotations

import numpy as np

from common import (
    Comparison,
    Listing,
    Report,
    agreement,
    arguments,
    markdown,
    write_csv,
    write_picture,
    write_text,
)
from seepage.collect.allocation import allocate
from seepage.collect.attenuation import named, percent
from seepage.collect.retention import retention_from_epsilon
from seepage.plan.relating import RetentionTable, retention_table
from seepage.report import palette

SIZES = [4] * 5
TOTAL = 5.0
CONFIGURATIONS = {
    "Balanced": [1.0] * 5,
    "X1 and X2 favoured": [2.0, 2.0, 1 / 3, 1 / 3, 1 / 3],
    "Graduated": [2.0, 1.5, 0.75, 0.5, 0.25],
}
PRINTED = {  # in percent, in the order of the rows of Table 1
    "Balanced": "9 9 9 9 9 9 9 9 9 9",
    "X1 and X2 favoured": "37.8 5.5 5.5 5.5 5.5 5.5 5.5 0.8 0.8 0.8",
    "Graduated": "28.6 13.4 8.6 4.1 10.2 6.5 3.1 3.0 1.4 0.9",
}
PRIORITY = {("X1", "X2"): 6.0, ("X1", "X3"): 3.0}
CATEGORIES = (2, 3, 5, 10)
EPSILONS = np.round(np.linspace(0, 10, 101), 1)
MANY = 5
FORMULA = "not expected: the curve is a closed form"


def comparisons(table: RetentionTable) -> list[Comparison]:
    """Every cell, rounded to as many digits as it is printed with."""
    found = []
    for label, printed in PRINTED.items():
        for names, text in zip(table.relationships, printed.split(), strict=True):
            value = 100 * table.retentions[label][names]
            decimals = len(text.partition(".")[2])
            found.append(
                agreement(
                    f"{label}, {named(names)}",
                    f"{text} %",
                    f"{value:.{decimals + 2}f} %",
                    "every printed digit",
                    f"{value:.{decimals}f}" == text,
                    "not expected: the retention is a closed form",
                )
            )
    return found


def statements() -> list[Comparison]:
    """What the text says of Figure 1."""
    at = {e: [retention_from_epsilon(e, r) for r in CATEGORIES] for e in (1.0, 3.0, 4.0)}
    small = sum(r <= MANY for r in CATEGORIES)
    names = ", ".join(map(str, CATEGORIES))
    return [
        agreement(
            f"λ at ε = {e:g}; {names} categories",
            printed,
            ", ".join(f"{value:.1%}" for value in values),
            tolerance,
            holds,
            cause,
        )
        for (e, values), printed, tolerance, holds, cause in zip(
            at.items(),
            (
                "at most 20 %",
                "80 % or more, except for many categories",
                "as if nothing is changed",
            ),
            ("as printed", f"up to {MANY} categories, 1 point", f"up to {MANY} categories, ≥ 90 %"),
            (max(at[1.0]) <= 0.2, min(at[3.0][:small]) >= 0.79, min(at[4.0][:small]) >= 0.9),
            (
                "by equation (4) itself λ(1) is at most 20 % from seven categories on only, where "
                "r ≥ 4(e − 1) = 6.9",
                FORMULA,
                FORMULA,
            ),
            strict=True,
        )
    ]


def reports(table: RetentionTable) -> tuple[Report, Report]:
    rows = tuple(comparisons(table))
    best = tuple(label for label in table.labels if label not in CONFIGURATIONS)
    return (
        Report(
            name="attenuation-table1",
            item="Table 1",
            title="Covariances kept under three divisions of a budget",
            data="none; five attributes of four categories, total ε = 5",
            method="λ = (e^ε − 1)/(e^ε + r − 1) of each attribute; a covariance keeps the product.",
            comparisons=rows,
            notes=(
                "What the paper leaves as future work, the best division for a purpose: below, "
                "with X1 × X2 weighed by 6 and X1 × X3 by 3.",
                "\n".join(
                    f"* {label}: {item.verdict}" for label, item in table.allocations.items()
                ),
            ),
            listings=(
                Listing(
                    "Share of each covariance kept by the best divisions",
                    ("covariance", *best),
                    tuple(
                        (named(names), *(percent(table.retentions[label][names]) for label in best))
                        for names in table.relationships
                    ),
                ),
            ),
        ),
        Report(
            name="attenuation-figure1",
            item="Figure 1",
            title="Weight of the identity over the budget",
            data="none",
            method="The closed form of equation (4).",
            comparisons=tuple(statements()),
            picture="attenuation.png",
        ),
    )


def allocations() -> dict[str, object]:
    """The three configurations, and what is best for the priorities of the graduated one."""
    pairs = {names: PRIORITY.get(names, 1.0) for names in retention_table(SIZES, 1.0).relationships}
    best = {
        f"best {name}": allocate(SIZES, TOTAL, objective=name, relationships=pairs)
        for name in ("sum", "geometric", "worst")
    }
    return {**CONFIGURATIONS, **best}


def draw(rows: list[dict]) -> object:
    import altair as alt
    import polars as pl

    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epsilon:Q", title="budget ε"),
            y=alt.Y("retention:Q", title="retention λ"),
            color=alt.Color(
                "categories:N",
                sort=None,
                scale=alt.Scale(range=palette.ramp(7)[2:]),
                legend=alt.Legend(orient="right"),
            ),
        )
        .properties(
            width=480,
            height=320,
            title=alt.Title("Weight of the identity", subtitle="λ = (e^ε − 1)/(e^ε + r − 1)"),
        )
    )


def main() -> None:
    options = arguments(__doc__).parse_args()
    table = retention_table(SIZES, allocations())
    columns = table.columns()
    write_csv(
        options.out / "attenuation-table.csv",
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    )
    curve = [
        {"epsilon": e, "categories": f"r = {r}", "retention": retention_from_epsilon(e, r)}
        for r in CATEGORIES
        for e in EPSILONS.tolist()
    ]
    write_csv(options.out / "attenuation-curve.csv", curve)
    write_picture(draw(curve), options.out / "attenuation.png")
    found = reports(table)
    text = "# Table 1: share of each covariance that is kept\n\n" + markdown(
        ("covariance", *table.labels),
        [
            (named(names), *(percent(table.retentions[label][names]) for label in table.labels))
            for names in table.relationships
        ],
    )
    if not found[0].deviations:
        text += "\nEvery printed digit of the three configurations is reproduced."
    text += "\n\n" + "\n\n".join(found[0].notes)
    write_text(options.out / "attenuation.md", text + "\n")
    print(text)
    for report in found:
        report.write(options.out)
    if found[0].deviations:
        raise SystemExit("expected the digits of the paper")


if __name__ == "__main__":
    main()
