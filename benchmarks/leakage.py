"""Time exact leakage against sorting every pair of rows.

    python benchmarks/leakage.py --json out.json --charts out/ --write docs/benchmarks.md

The alternative is HCC-2 evaluated pair by pair: order the outcomes of each ordered pair of rows by
likelihood ratio, take cumulative sums, and keep the best prefix. Two forms of it are timed: a loop
over the pairs, and a loop over the rows that sorts all pairs of one row in a single call.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import seepage as sp
from seepage.tradeoff import worst_case
from shared import machine, save, write_between

EPSILON = 1.0
BEGIN, END = "<!-- leakage benchmark: begin -->", "<!-- leakage benchmark: end -->"
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def sine_model(k: int) -> np.ndarray:
    """p(x̂ | x) for x = sin(2π x̂) + noise of standard deviation 2, x̂ uniform; k values of each."""
    released = np.arange(k) / k
    secret = np.linspace(-3, 3, k)
    P = np.exp(-((secret[:, np.newaxis] - np.sin(2 * np.pi * released)) ** 2) / (2 * 2.0**2))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def sine_table(k: int, data: Path | None) -> tuple[np.ndarray, str]:
    """The published conditional table where it is at hand, else the model's own."""
    path = data / "published" / "synthetic_conditionals.npz" if data else None
    if path and path.is_file():
        with np.load(path) as tables:
            if f"k{k}" in tables:
                return tables[f"k{k}"], "published"
    return sine_model(k), "generated"


def dirichlet(a: int, b: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(b), a)


def pair_by_pair(P: np.ndarray, epsilon: float) -> float:
    """HCC-2, one ordered pair after another."""
    t, best = np.expm1(epsilon), 1.0
    for x, G in enumerate(P):
        for y, H in enumerate(P):
            if x != y:
                order = np.argsort(H / G)
                power, alpha = np.cumsum(G[order]), np.cumsum(H[order])
                best = max(best, ((1 + t * power) / (1 + t * alpha)).max())
    return float(np.log(best))


def row_by_row(P: np.ndarray, epsilon: float) -> float:
    """HCC-2, all pairs of one row in one sort."""
    t, best = np.expm1(epsilon), 1.0
    for G in P:
        order = np.argsort(P / G, axis=1)
        power = np.cumsum(G[order], axis=1)
        alpha = np.cumsum(np.take_along_axis(P, order, axis=1), axis=1)
        best = max(best, ((1 + t * power) / (1 + t * alpha)).max())
    return float(np.log(best))


def median_time(call: Callable[[], object], repeats: int, clock: str) -> float:
    now, times = CLOCKS[clock], []
    for _ in range(repeats):
        start = now()
        call()
        times.append(now() - start)
    return statistics.median(times)


def compare(k: int, data: Path | None, repeats: int, clock: str) -> dict[str, object]:
    P, origin = sine_table(k, data)
    value = worst_case(P, EPSILON)[0]  # also takes the imports out of the timing
    for other in (pair_by_pair(P, EPSILON), row_by_row(P, EPSILON)):
        if abs(other - value) > 1e-12:
            raise SystemExit(f"expected {value!r} from every method, got {other!r} at k = {k}")
    one = median_time(lambda: worst_case(P, EPSILON), 4 * repeats + 1, clock)
    whole = median_time(lambda: sp.TradeOff.envelope(P), 2 * repeats + 1, clock)
    pairs = median_time(lambda: pair_by_pair(P, EPSILON), repeats, clock)
    rows = median_time(lambda: row_by_row(P, EPSILON), repeats, clock)
    return {
        "k": k,
        "table": origin,
        "leakage": value,
        "vertices": len(sp.TradeOff.envelope(P).alpha),
        "one": one,
        "envelope": whole,
        "pair_by_pair": pairs,
        "row_by_row": rows,
    }


def child(task: str, size: int, clock: str) -> None:
    """Do one task on the large table in this process, and print what it took."""
    P = dirichlet(size, size)
    worst_case(P[:2], EPSILON)
    start = CLOCKS[clock]()
    if task == "one":
        extra = {"leakage": worst_case(P, EPSILON)[0]}
    else:
        curve = sp.TradeOff.envelope(P)
        extra = {"leakage": curve.leakage(EPSILON), "slack": curve.slack, "n": len(curve.alpha)}
    seconds = CLOCKS[clock]() - start
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"task": task, "seconds": seconds, "peak": peak} | extra))


def large(size: int, repeats: int, clock: str) -> list[dict[str, object]]:
    results = []
    for task in ("one", "envelope"):
        command = [sys.executable, __file__, "--child", task, "--large", str(size)]
        runs = [
            json.loads(subprocess.check_output([*command, "--clock", clock], text=True))
            for _ in range(repeats)
        ]
        middle = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
        results.append(middle | {"peak": max(run["peak"] for run in runs)})
    return results


def growth(repeats: int, clock: str) -> list[dict[str, object]]:
    rows = []
    for vary in ("rows a, b = 100", "outcomes b, a = 100"):
        for n in (10, 20, 50, 100, 200, 400):
            P = dirichlet(n, 100) if vary.startswith("rows") else dirichlet(100, n)
            for what, call in (
                ("one ε", lambda P=P: worst_case(P, EPSILON)),
                ("whole envelope", lambda P=P: sp.TradeOff.envelope(P)),
                ("sort row by row, one ε", lambda P=P: row_by_row(P, EPSILON)),
            ):
                seconds = median_time(call, repeats, clock)
                rows.append({"vary": vary, "n": n, "what": what, "seconds": seconds})
    return rows


def report(results: dict[str, object]) -> str:
    """Markdown of all results."""
    clock = {"wall": "wall-clock", "cpu": "processor"}[str(results["clock"])]
    lines = [
        f"Machine: {results['machine']}. Times are {clock} time, medians of {results['repeats']} "
        "or more runs; all methods of a row were timed in the same run and agree to 1e-12.",
        "",
        "Sine-model tables, k secret values × k outcomes, ε = 1 (times in milliseconds):",
        "",
        "| k | table | vertices | one ε | whole envelope | sort pair by pair, one ε "
        "| sort row by row, one ε | one ε faster than pairs (rows) "
        "| envelope faster than pairs (rows) |",
        "|" + "--:|" * 9,
    ]
    for row in results["tables"]:
        one, whole, pairs, rows = (
            row[key] for key in ("one", "envelope", "pair_by_pair", "row_by_row")
        )
        times = " | ".join(f"{1e3 * value:,.1f}" for value in (one, whole, pairs, rows))
        gains = (
            f"{pairs / one:.0f}× ({rows / one:.1f}×) | {pairs / whole:.1f}× ({rows / whole:.1f}×)"
        )
        lines.append(f"| {row['k']} | {row['table']} | {row['vertices']} | {times} | {gains} |")
    if results["large"]:
        size = results["size"]
        lines += [
            "",
            f"Random Dirichlet table, {size} × {size}, each task in a process of its own:",
            "",
            "| task | seconds | peak memory | slack (nats) |",
            "|---|--:|--:|--:|",
        ]
        for row in results["large"]:
            name = "one ε" if row["task"] == "one" else f"whole envelope, {row['n']} vertices"
            lines.append(
                f"| {name} | {row['seconds']:.2f} | {row['peak'] / 1e6:,.0f} MB "
                f"| {row.get('slack', 0.0):g} |"
            )
    if results["growth"]:
        lines += [
            "",
            "Growth with the size of a Dirichlet table (milliseconds):",
            "",
            "![Time against size](images/benchmark-leakage.png)",
        ]
        for vary in dict.fromkeys(row["vary"] for row in results["growth"]):
            chosen = [row for row in results["growth"] if row["vary"] == vary]
            sizes = list(dict.fromkeys(row["n"] for row in chosen))
            lines += ["", f"| {vary} | " + " | ".join(map(str, sizes)) + " |"]
            lines.append("|---|" + "--:|" * len(sizes))
            for what in dict.fromkeys(row["what"] for row in chosen):
                cells = [f"{1e3 * row['seconds']:,.1f}" for row in chosen if row["what"] == what]
                lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, object]], folder: Path) -> None:
    import altair as alt
    import polars as pl

    panels = []
    for vary in dict.fromkeys(row["vary"] for row in rows):
        frame = pl.DataFrame([row for row in rows if row["vary"] == vary])
        panels.append(
            alt.Chart(frame, title=f"Dirichlet table, {vary}", width=330, height=260)
            .mark_line(point=True)
            .encode(
                x=alt.X("n:Q", scale=alt.Scale(type="log"), title=vary.split(",")[0]).axis(
                    values=[10, 20, 50, 100, 200, 400]
                ),
                y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
                color=alt.Color(
                    "what:N",
                    title=None,
                    sort=None,
                    scale=alt.Scale(range=["#0072b2", "#d55e00", "#7f7f7f"]),
                    legend=alt.Legend(orient="top", labelLimit=300),
                ),
            )
        )
    chart = alt.hconcat(*panels).resolve_scale(y="shared")
    chart = chart.configure_axis(labelFontSize=12, titleFontSize=12)
    folder.mkdir(parents=True, exist_ok=True)
    chart.save(folder / "benchmark-leakage.png", scale_factor=2)


def find_data(given: Path | None) -> Path | None:
    places = [given, os.environ.get("SEEPAGE_DATA")]
    places.append(Path(__file__).parents[2] / "shared" / "data")
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 100, 200], metavar="K")
    parser.add_argument("--large", type=int, default=1000, help="rows and columns; 0 leaves it out")
    parser.add_argument("--no-growth", action="store_true", help="leave out growth with a and b")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu for a busy machine")
    parser.add_argument("--data", type=Path, help="folder of the published tables")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--charts", type=Path, help="folder for the chart")
    parser.add_argument("--write", type=Path, help="Markdown file to update between its markers")
    parser.add_argument("--child", choices=["one", "envelope"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.large, options.clock)
        return
    data, clock, repeats = find_data(options.data), options.clock, options.repeats
    results: dict[str, object] = {
        "machine": machine("numpy"),
        "clock": clock,
        "repeats": repeats,
        "tables": [compare(k, data, repeats, clock) for k in options.sizes],
        "size": options.large,
        "large": large(options.large, repeats, clock) if options.large else [],
        "growth": [] if options.no_growth else growth(repeats, clock),
    }
    text = report(results)
    print(text)
    save(options.json, results)
    if options.charts and results["growth"]:
        draw(results["growth"], options.charts)
    write_between(options.write, BEGIN, END, text)


if __name__ == "__main__":
    main()
