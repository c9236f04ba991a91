"""Figure 10 of the Dependency Triad paper: error of k-way tables under four ways to collect.

    python reproduce/figure10.py --out out

Nine attributes of Adult, and nine of the 2019 American Community Survey in place of the paper's
file, which is not at hand. At each ε four collections are simulated:

- equal split: every attribute with ε/9 (SPL);
- random view: each person reports k attributes, drawn at random, jointly with the whole ε (RS);
- calibrated, pairwise: budgets whose pairwise total is at most ε (the paper's sum, no bound);
- calibrated, tree: budgets whose total is at most ε if the data follow a dependency tree.

Every table of k attributes is estimated from the reports, without bias, and projected to the
probability simplex; the error is the total variation distance to the table of the records, averaged
over all tables. Writes figure10.png, figure10.csv, figure10.md, figure10.json.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

import seepage as sp
from common import (
    NO_DATA,
    Comparison,
    Listing,
    Report,
    agreement,
    arguments,
    data_file,
    markdown,
    write_csv,
    write_picture,
    write_text,
)
from seepage.collect.collection import CollectionPlan
from seepage.collect.designs import independent, sampled_views, split
from seepage.collect.estimates import Estimates
from seepage.collect.projection import project_to_simplex
from seepage.plan.totals import prepare
from seepage.report import palette
from seepage.tables import load

EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
ORDERS = (2, 3, 4)
RUNS, SEED = 1, 10
SPLIT, VIEW, PAIRWISE, TREE = (
    "equal split",
    "random view",
    "calibrated, pairwise",
    "calibrated, tree",
)
COLOURS = {
    SPLIT: palette.MUTED,
    VIEW: palette.OWN,
    PAIRWISE: palette.TRIAD,
    TREE: palette.EXACT,
}
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]  # fmt: skip
CHOSEN = [
    "age", "workclass", "education-num", "marital-status", "relationship", "race", "sex",
    "hours-per-week", "income",
]  # fmt: skip


@dataclass(frozen=True)
class People:
    name: str
    domain: sp.Domain
    codes: np.ndarray


def adult(folder: Path) -> People:
    table = load(
        [folder / "adult.data", folder / "adult.test"],
        header=False,
        names=ADULT,
        columns=CHOSEN,
        null_values=("?",),
        missing="drop",
        strip=".",
        bins={
            "age": [17, 25, 35, 45, 55, 65, 91],
            "education-num": [1, 9, 10, 11, 13, 14, 17],
            "hours-per-week": [1, 35, 40, 41, 100],
        },
    )
    return People("Adult", table.domain, np.asarray(table.codes))


def survey(path: Path) -> People:
    """Adults in housing units, with nine attributes close to those the paper names."""
    import polars as pl

    frame = pl.read_csv(path, infer_schema=False).filter(
        (pl.col("AGEP").cast(pl.Int64) >= 18) & (pl.col("HOUSING_TYPE") == "1")
    )

    def number(name: str) -> pl.Expr:
        return pl.when(pl.col(name) != "N").then(pl.col(name)).cast(pl.Float64)

    def cut(value: pl.Expr, *edges: float) -> pl.Expr:
        """Position among the edges; what is not there comes last."""
        position = sum((value >= edge).cast(pl.Int64) for edge in edges)
        return position.fill_null(len(edges) + 1)

    columns = {
        "age": cut(number("AGEP"), 30, 45, 65),
        "sex": cut(number("SEX"), 2),
        "marital": cut(number("MSP"), 3, 4, 6),
        "race": cut(number("RAC1P"), 2, 3),
        "hispanic": cut(number("HISP"), 1),
        "poverty": cut(number("POVPIP"), 100, 200),
        "children": cut(number("NOC"), 1),
        "tenure": cut(number("OWN_RENT"), 2),
        "education": cut(number("EDU"), 5, 7, 9),
    }
    coded = frame.select(**columns)
    codes, attributes = [], []
    for name in columns:
        values, code = np.unique(coded[name].to_numpy(), return_inverse=True)
        codes.append(code)
        attributes.append(sp.Attribute(name, tuple(values.tolist())))
    return People("ACS", sp.Domain(tuple(attributes)), np.column_stack(codes))


def plans(people: People, epsilon: float, k: int) -> dict[str, CollectionPlan]:
    model = prepare(sp.PairCounts.from_codes(people.domain, people.codes))
    found = {
        SPLIT: split(people.domain, epsilon),
        VIEW: sampled_views(people.domain, epsilon, k),
    }
    for name, method in ((PAIRWISE, "pairwise"), (TREE, "tree")):
        budgets = sp.calibrate(model, epsilon, method=method, objective="kway", k=k).budgets
        found[name] = independent(people.domain, budgets)
    return found


def truth(people: People, names: tuple[str, ...]) -> np.ndarray:
    positions = [people.domain.position(name) for name in names]
    shape = [people.domain.shape[i] for i in positions]
    cells = np.ravel_multi_index([people.codes[:, i] for i in positions], shape)
    return np.bincount(cells, minlength=math.prod(shape)) / len(people.codes)


def errors(people: People, k: int, options: argparse.Namespace) -> list[dict[str, object]]:
    exact = {names: truth(people, names) for names in combinations(people.domain.names, k)}
    rows = []
    for epsilon in options.epsilons:
        for name, plan in plans(people, epsilon, k).items():
            distances = []
            for run in range(options.runs):
                reports = plan.randomize_codes(people.codes, rng=SEED + run)
                estimates = Estimates.of(plan, k).add(reports)
                for table in estimates.tables:
                    fitted = project_to_simplex(table.values.ravel())
                    distances.append(np.abs(fitted - exact[table.names]).sum() / 2)
            rows.append(
                {
                    "data": people.name,
                    "k": k,
                    "epsilon": epsilon,
                    "collection": name,
                    "error": float(np.mean(distances)),
                    "record_epsilon": plan.epsilon,
                }
            )
    return rows


Rows = list[dict[str, object]]


def errors_by_budget(rows: Rows) -> dict[tuple[str, int], dict[str, dict[float, float]]]:
    """Error by data and k, then by collection, then by ε."""
    found: dict = {}
    for row in rows:
        lines = found.setdefault((row["data"], row["k"]), {})
        lines.setdefault(row["collection"], {})[row["epsilon"]] = row["error"]
    return found


def listings(rows: Rows) -> list[Listing]:
    made = []
    for (data, k), lines in errors_by_budget(rows).items():
        epsilons = list(lines[SPLIT])
        table = [(name, *(f"{lines[name][e]:.3f}" for e in epsilons)) for name in COLOURS]
        best = (min(COLOURS, key=lambda name: lines[name][e]) for e in epsilons)
        table.append(("**smallest**", *best))
        head = ("collection: ε", *(f"{e:g}" for e in epsilons))
        made.append(Listing(f"Error, {data}, k = {k}", head, tuple(table)))
    made.append(
        Listing(
            "ε of a whole record (the sum of its budgets)",
            ("data", "collection", "at ε", "is"),
            tuple(
                (
                    f"{row['data']}, k = {row['k']}",
                    str(row["collection"]),
                    f"{row['epsilon']:g}",
                    f"{row['record_epsilon']:.2f}",
                )
                for row in rows
                if row["collection"] in (PAIRWISE, TREE) and row["epsilon"] in (1.0, 4.0)
            ),
        )
    )
    return made


def report(rows: Rows) -> str:
    return "# Figure 10: average total variation distance of k-way tables\n\n" + "\n".join(
        f"{listing.title}:\n\n" + markdown(listing.header, listing.rows)
        for listing in listings(rows)
        if listing.rows
    )


DEPENDENT = {
    "Adult": "the nine attributes of Adult are strongly dependent, so that a calibration can give "
    "them little more than an equal share; random views put the whole ε into one report",
    "ACS": "at small ε the budgets of a calibration are still too small for joint tables, whose "
    "error grows with the inverse of their product; a random view has the whole ε",
}


def comparisons(rows: Rows) -> list[Comparison]:
    made = []
    for (data, k), lines in errors_by_budget(rows).items():
        epsilons = list(lines[SPLIT])
        calibrated = [min(lines[PAIRWISE][e], lines[TREE][e]) for e in epsilons]
        wins = {
            name: sum(lines[name][e] < lines[VIEW][e] for e in epsilons)
            for name in (PAIRWISE, TREE)
        }
        shown = f"{wins[PAIRWISE]} (pairwise) and {wins[TREE]} (tree) of {len(epsilons)}"
        if k == 2:
            ratio = [lines[VIEW][e] / value for e, value in zip(epsilons, calibrated, strict=True)]
            made.append(
                agreement(
                    f"{data}, k = 2: error of random views ÷ best calibrated one",
                    "competitive",
                    f"{min(ratio):.2f} to {max(ratio):.2f}; calibrated better at {shown}",
                    "at most 1.5",
                    max(ratio) <= 1.5,
                    "at large ε the error of random views stops at that of their few reports for "
                    "each view, while that of the others goes on falling",
                )
            )
        else:
            made.append(
                agreement(
                    f"{data}, k = {k}: budgets at which calibrated beats random view",
                    "both variants, most budgets",
                    shown,
                    "more than half",
                    min(wins.values()) > len(epsilons) / 2,
                    DEPENDENT[data],
                )
            )
        # Where every error is near 1 the tables hold nothing, and their order is chance.
        told = [e for e in epsilons if min(line[e] for line in lines.values()) < 0.99]
        worst = sum(lines[SPLIT][e] == max(line[e] for line in lines.values()) for e in told)
        made.append(
            agreement(
                f"{data}, k = {k}: budgets at which equal splitting is the worst",
                "substantially worse",
                f"{worst} of {len(told)}",
                "all at which an error is below 0.99",
                worst == len(told),
                "errors near 1, where the order is chance",
            )
        )
    return made


def draw(rows: list[dict[str, object]]) -> object:
    import altair as alt
    import polars as pl

    columns = []
    for data in dict.fromkeys(row["data"] for row in rows):
        panels = []
        for k in dict.fromkeys(row["k"] for row in rows):
            frame = pl.DataFrame([r for r in rows if r["data"] == data and r["k"] == k])
            panels.append(
                alt.Chart(frame, title=f"{data}, {k} attributes", width=230, height=190)
                .mark_line(point=True)
                .encode(
                    x=alt.X("epsilon:Q", title="ε"),
                    y=alt.Y(
                        "error:Q", title="total variation distance", scale=alt.Scale(domain=[0, 1])
                    ),
                    color=alt.Color(
                        "collection:N",
                        sort=None,
                        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                        legend=alt.Legend(orient="top"),
                    ),
                )
            )
        columns.append(alt.hconcat(*panels))
    return alt.vconcat(*columns)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--epsilons", type=float, nargs="*", default=list(EPSILONS))
    parser.add_argument("--orders", type=int, nargs="*", default=list(ORDERS))
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    people = []
    for file, read in (("adult/adult.data", adult), ("acs/national2019.csv", survey)):
        path = data_file(options.data, file)
        if path is None:
            print(NO_DATA.format(what="Part of Figure 10", file=file))
        else:
            people.append(read(path.parent if read is adult else path))
    if not people:
        return
    rows = [row for group in people for k in options.orders for row in errors(group, k, options)]
    rounded = [
        row | {"error": f"{row['error']:.6f}", "record_epsilon": f"{row['record_epsilon']:.6f}"}
        for row in rows
    ]
    write_csv(options.out / "figure10.csv", rounded)
    write_text(options.out / "figure10.md", report(rows))
    write_picture(draw(rows), options.out / "figure10.png")
    ranges = {
        name: [
            row["record_epsilon"]
            for row in rows
            if row["data"] == name and row["collection"] in (PAIRWISE, TREE) and row["epsilon"] == 4
        ]
        for name in dict.fromkeys(row["data"] for row in rows)
    }
    told = " and ".join(
        f"{min(values):.1f} to {max(values):.1f} on {name}"
        for name, values in ranges.items()
        if values
    )
    Report(
        name="figure10",
        item="Figure 10",
        title="Error of k-way tables under four ways to collect",
        data=", ".join(f"{group.name} ({len(group.codes):,} records)" for group in people),
        method=(
            "Average total variation distance of all k-way tables of nine attributes, estimated "
            "without bias from simulated reports and projected to the simplex; "
            f"{options.runs} run at each point. Calibrated by the paper's pairwise sum, and by the "
            "total along the dependency tree."
        ),
        comparisons=tuple(comparisons(rows)),
        missing=("The paper's own nine attributes of SPM: not among the data sets.",),
        notes=(
            "The four do not promise the same. With equal splitting and random views ε bounds what "
            "*everything* in a record tells. Calibrated budgets bound what all reports tell about "
            f"*each attribute*; the ε of the record is larger: at a target of 4 it is {told}. "
            "Calibration pays where attributes are weakly dependent, the budget is not tiny, and "
            "protection of each attribute is what counts; where the whole record must be "
            "protected, sampled views are the better choice.",
        ),
        listings=tuple(listing for listing in listings(rows) if listing.rows),
        picture="figure10.png",
        on_page=True,
    ).write(options.out)


if __name__ == "__main__":
    main()
