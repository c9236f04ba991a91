"""Time leakage under uncertainty against a linear programming solver.

    python benchmarks/robust.py --json out.json --charts out/ --write docs/benchmarks.md

Every probability may be off by 10 % of itself. The alternative solves one linear program for each
ordered pair of rows with HiGHS, through `scipy.optimize.linprog`: for the triad the largest total
variation, for the robust leakage the fractional program after Charnes and Cooper. The programs are
written with four coupling rows, which suits the solver better than one row for each outcome. HiGHS
is timed on a random sample of the pairs and scaled to all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import bmat, eye

import seepage as sp
from leakage import CLOCKS, dirichlet, find_data, median_time, sine_table
from seepage.leakage.robust import _minimise, _Rows
from seepage.leakage.uncertainty import interval_rows
from shared import machine, save, write_between

EPSILON, MARGIN = 1.0, 0.1
BEGIN, END = "<!-- robust benchmark: begin -->", "<!-- robust benchmark: end -->"
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def coupling(rows: Rows) -> tuple[list[list[float]], list[float]]:
    """Power ≤ u(S), power ≤ 1 − l(Sᶜ), α ≥ l'(S), α ≥ 1 − u'(Sᶜ), as A·(s, power, α) ≤ c."""
    lower, upper, low, high = rows
    return [
        [*-upper, 1, 0],
        [*-lower, 1, 0],
        [*low, 0, -1],
        [*high, 0, -1],
    ], [0.0, 1 - lower.sum(), 0.0, high.sum() - 1]


def total_variation(rows: Rows) -> float:
    """Max power − α over relaxed events."""
    A, c = coupling(rows)
    b = len(rows[0])
    cost = np.append(np.zeros(b), [-1.0, 1.0])
    bounds = [(0, 1)] * b + [(None, None), (0, None)]
    return -linprog(cost, A_ub=A, b_ub=c, bounds=bounds, method="highs").fun


def fractional(rows: Rows) -> float:
    """Max ln (1 + t·power) − ln (1 + t·α) over relaxed events: Charnes–Cooper, scaled by z."""
    A, c = coupling(rows)
    b, t = len(rows[0]), np.expm1(EPSILON)
    # Variables s, power, α all times z, and z; the denominator is z + t·α·z = 1.
    top = np.column_stack((A, -np.array(c)))
    events = bmat([[eye(b), np.zeros((b, 2)), -np.ones((b, 1))]])
    result = linprog(
        np.concatenate((np.zeros(b), [-t, 0.0, -1.0])),
        A_ub=bmat([[top], [events]]),
        b_ub=np.zeros(b + 4),
        A_eq=[[*np.zeros(b + 1), t, 1.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * (b + 3),
        method="highs",
    )
    return float(np.log(-result.fun))


def highs(
    solve: Callable[[Rows], float], rows: list[Rows], pairs: int, clock: str
) -> tuple[float, np.ndarray]:
    """Seconds for all pairs, scaled from a sample, and the values of the sample."""
    start = CLOCKS[clock]()
    values = np.array([solve(four) for four in rows])
    return (CLOCKS[clock]() - start) * pairs / len(rows), values


def compare(P: np.ndarray, origin: str, sample: int, repeats: int, clock: str) -> dict[str, object]:
    k = len(P)
    delta = MARGIN * P
    lower, upper = interval_rows(P, delta)
    everything = np.argwhere(~np.eye(k, dtype=bool))
    rng = np.random.default_rng(k)
    xs, ys = everything[rng.permutation(len(everything))[:sample]].T
    rows = [(lower[x], upper[x], lower[y], upper[y]) for x, y in zip(xs, ys, strict=True)]

    phi = sp.Triad.from_conditional(P, delta).phi  # also takes the imports out of the timing
    value = sp.robust_leakage(P, delta, EPSILON)
    total_variation(rows[0])
    triad = median_time(lambda: sp.Triad.from_conditional(P, delta), repeats, clock)
    robust = median_time(lambda: sp.robust_leakage(P, delta, EPSILON), repeats, clock)
    triad_highs, distances = highs(total_variation, rows, len(everything), clock)
    robust_highs, leakages = highs(fractional, rows, len(everything), clock)

    own = _minimise(_Rows.of(lower, upper), xs, ys, 1.0)[0]
    difference = float(np.abs(own - distances).max())
    if difference > 1e-8 or distances.max() > phi + 1e-8 or leakages.max() > value + 1e-8:
        raise SystemExit(f"expected the solver's values at k = {k}, got others by {difference:g}")
    return {
        "k": k,
        "table": origin,
        "pairs": len(everything),
        "sample": len(rows),
        "phi": phi,
        "leakage": value,
        "difference": difference,
        "triad": triad,
        "triad_highs": triad_highs,
        "robust": robust,
        "robust_highs": robust_highs,
    }


def report(results: dict) -> str:
    clock = {"wall": "wall-clock", "cpu": "processor"}[results["clock"]]
    lines = [
        f"Machine: {results['machine']}. Times are {clock} time in one run: medians of "
        f"{results['repeats']} for seepage; for HiGHS one pass over a random sample of at most "
        f"{results['sample']} pairs, scaled to all pairs. On the sampled pairs the total "
        f"variations differ by {max(row['difference'] for row in results['tables']):.0e} at most.",
        "",
        "Square tables: the sine model, published or generated, and random rows (Dirichlet). "
        f"Δ = {MARGIN:.0%} of every probability; times in seconds.",
        "",
        "| k | table | ordered pairs | triad with Δ | HiGHS | faster "
        f"| robust leakage, ε = {EPSILON:g} | HiGHS | faster |",
        "|" + "--:|" * 9,
    ]
    for row in results["tables"]:
        cells = [row["k"], row["table"], f"{row['pairs']:,}"]
        for what in ("triad", "robust"):
            own, other = row[what], row[f"{what}_highs"]
            cells += [f"{own:.4f}", f"{other:,.2f}", f"{other / own:,.0f}×"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "![Time against the number of categories](images/benchmark-robust.png)"]
    return "\n".join(lines) + "\n"


def draw(rows: list[dict], folder: Path) -> None:
    import altair as alt
    import polars as pl

    names = {
        "triad": "triad with Δ",
        "robust": "robust leakage, one ε",
        "triad_highs": "HiGHS, total variation",
        "robust_highs": "HiGHS, fractional program",
    }
    frame = pl.DataFrame(
        [
            {"k": row["k"], "what": name, "seconds": row[key]}
            for key, name in names.items()
            for row in rows
            if row["table"] != "random"
        ]
    )
    chart = (
        alt.Chart(frame, width=420, height=280)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "k:Q", scale=alt.Scale(type="log", nice=False), title="categories k of each"
            ).axis(values=frame["k"].unique().to_list()),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds").axis(
                values=[10.0**i for i in range(-3, 4)]
            ),
            color=alt.Color(
                "what:N",
                title=None,
                sort=None,
                scale=alt.Scale(range=["#0072b2", "#d55e00", "#7f7f7f", "#b0b0b0"]),
                legend=alt.Legend(orient="right", labelLimit=300),
            ),
        )
        .configure_axis(labelFontSize=12, titleFontSize=12)
    )
    folder.mkdir(parents=True, exist_ok=True)
    chart.save(folder / "benchmark-robust.png", scale_factor=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 20, 50, 100, 200], metavar="K")
    parser.add_argument("--random", type=int, nargs="*", default=[100], metavar="K")
    parser.add_argument("--sample", type=int, default=100, help="pairs that HiGHS is timed on")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu for a busy machine")
    parser.add_argument("--data", type=Path, help="folder of the published tables")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--charts", type=Path, help="folder for the chart")
    parser.add_argument("--write", type=Path, help="Markdown file to update between its markers")
    options = parser.parse_args()
    data, began = find_data(options.data), time.perf_counter()
    tables = [sine_table(k, data) for k in options.sizes]
    tables += [(dirichlet(k, k), "random") for k in options.random]
    results = {
        "machine": machine("numpy", "scipy"),
        "clock": options.clock,
        "repeats": options.repeats,
        "sample": options.sample,
        "tables": [
            compare(P, origin, options.sample, options.repeats, options.clock)
            for P, origin in tables
        ],
    }
    text = report(results)
    print(text)
    print(f"took {time.perf_counter() - began:.0f} s")
    save(options.json, results)
    if options.charts:
        draw(results["tables"], options.charts)
    write_between(options.write, BEGIN, END, text)


if __name__ == "__main__":
    main()
