"""Time counting every pair of columns against one histogram or one query for each pair.

    python benchmarks/counting.py --json out.json --charts out/ --write docs/benchmarks.md

Tables are generated: "survey" has the categories of a national survey (10 columns of 2, 12 of 5,
10 of 10, 5 of 20, 1 of 60), "binary" has 40 columns of 2. A record belongs to one of eight groups,
and each of its values depends on the group. All methods start from coded columns in memory and
must give the same tables.

Alternatives: numpy.bincount for each pair; Polars group_by for each pair; DuckDB, one query with a
grouping set for each pair; pandas.crosstab for each pair. An alternative that is not installed is
left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

import seepage as sp
from shared import machine, save, write_between

BEGIN, END = "<!-- counting benchmark: begin -->", "<!-- counting benchmark: end -->"
SURVEY = (2,) * 10 + (5,) * 12 + (10,) * 10 + (20,) * 5 + (60,)
Tables = dict[tuple[int, int], np.ndarray]


def survey(sizes: tuple[int, ...], records: int, seed: int = 7) -> np.ndarray:
    """Coded records of shape (records, len(sizes)): eight groups with laws of their own."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 8, records)
    codes = np.empty((records, len(sizes)), dtype=np.int64, order="F")
    for column, k in enumerate(sizes):
        steps = rng.dirichlet(np.ones(k), 8).cumsum(axis=1)[:, :-1]
        draw = rng.random(records)
        for g in range(8):
            rows = group == g
            codes[rows, column] = np.searchsorted(steps[g], draw[rows], side="right")
    return codes


def by_seepage(codes: np.ndarray, sizes: tuple[int, ...]) -> Tables:
    domain = sp.Domain.of({f"c{i}": list(range(k)) for i, k in enumerate(sizes)})
    counts = sp.PairCounts.from_codes(domain, codes)
    return dict(zip(combinations(range(len(sizes)), 2), counts.pairs, strict=True))


def by_bincount(codes: np.ndarray, sizes: tuple[int, ...]) -> Tables:
    tables = {}
    for i, j in combinations(range(len(sizes)), 2):
        cells = codes[:, i] * sizes[j] + codes[:, j]
        table = np.bincount(cells, minlength=sizes[i] * sizes[j])
        tables[i, j] = table.reshape(sizes[i], sizes[j])
    return tables


def by_polars(codes: np.ndarray, sizes: tuple[int, ...]) -> Tables:
    import polars as pl

    frame = pl.DataFrame({f"c{i}": codes[:, i] for i in range(len(sizes))})
    tables = {}
    for i, j in combinations(range(len(sizes)), 2):
        found = frame.group_by(f"c{i}", f"c{j}").len()
        tables[i, j] = filled(sizes[i], sizes[j], *(column.to_numpy() for column in found))
    return tables


def by_duckdb(codes: np.ndarray, sizes: tuple[int, ...]) -> Tables:
    import duckdb
    import polars as pl

    frame = pl.DataFrame({f"c{i}": codes[:, i] for i in range(len(sizes))})
    names, pairs = frame.columns, list(combinations(range(len(sizes)), 2))
    sets = ", ".join(f"(c{i}, c{j})" for i, j in pairs)
    connection = duckdb.connect()
    connection.register("records", frame)
    query = f"select {', '.join(names)}, count(*) from records group by grouping sets ({sets})"
    found = connection.sql(query).fetchnumpy()
    values = [np.ma.masked_array(found[name]) for name in names]
    present = [~np.ma.getmaskarray(column) for column in values]
    count = next(found[key] for key in found if key not in names)
    tables = {}
    for i, j in pairs:
        rows = present[i] & present[j]
        tables[i, j] = filled(
            sizes[i], sizes[j], values[i][rows].data, values[j][rows].data, count[rows]
        )
    return tables


def by_pandas(codes: np.ndarray, sizes: tuple[int, ...]) -> Tables:
    import pandas as pd

    frame = pd.DataFrame({f"c{i}": codes[:, i] for i in range(len(sizes))})
    tables = {}
    for i, j in combinations(range(len(sizes)), 2):
        found = pd.crosstab(frame[f"c{i}"], frame[f"c{j}"])
        found = found.reindex(index=range(sizes[i]), columns=range(sizes[j]), fill_value=0)
        tables[i, j] = found.to_numpy()
    return tables


def filled(a: int, b: int, rows: np.ndarray, columns: np.ndarray, count: np.ndarray) -> np.ndarray:
    table = np.zeros((a, b), dtype=np.int64)
    table[rows, columns] = count
    return table


METHODS: dict[str, tuple[str, Callable[[np.ndarray, tuple[int, ...]], Tables]]] = {
    "seepage": ("numpy", by_seepage),
    "NumPy bincount per pair": ("numpy", by_bincount),
    "Polars group_by per pair": ("polars", by_polars),
    "DuckDB grouping sets": ("duckdb", by_duckdb),
    "pandas.crosstab per pair": ("pandas", by_pandas),
}


def compare(
    name: str, sizes: tuple[int, ...], records: int, methods: list[str], repeats: int
) -> dict[str, object]:
    codes, seconds, reference = survey(sizes, records), {}, None
    for method in methods:
        package, call = METHODS[method]
        if importlib.util.find_spec(package) is None:
            continue
        times = []
        for _ in range(repeats if method in list(METHODS)[:2] else 1):
            start = time.perf_counter()
            tables = call(codes, sizes)
            times.append(time.perf_counter() - start)
        seconds[method] = statistics.median(times)
        if reference is None:
            reference = tables
        elif not all(np.array_equal(tables[pair], reference[pair]) for pair in reference):
            raise SystemExit(f"expected the same tables from every method, got others: {method}")
    return {"table": name, "records": records, "columns": len(sizes), "seconds": seconds}


def growth(repeats: int) -> list[dict[str, object]]:
    cases = [("records (survey)", n, SURVEY, n) for n in (10_000, 100_000, 1_000_000)]
    cases += [("columns of 5, 10^5 records", d, (5,) * d, 100_000) for d in (10, 20, 40, 80, 160)]
    cases += [
        ("categories of 20 columns, 10^5 records", k, (k,) * 20, 100_000)
        for k in (2, 5, 10, 30, 100, 300)
    ]
    rows = []
    for vary, size, sizes, records in cases:
        found = compare(vary, sizes, records, list(METHODS)[:2], repeats)["seconds"]
        rows += [{"vary": vary, "n": size, "what": what, "seconds": s} for what, s in found.items()]
    return rows


def report(results: dict[str, object]) -> str:
    """Markdown of all results."""
    lines = [
        f"Machine: {results['machine']}. Wall-clock seconds, medians of {results['repeats']} runs "
        "for the first two methods and one run for the others; all methods of a row were timed in "
        "the same run and gave the same tables.",
        "",
        "| table | records × columns | " + " | ".join(METHODS) + " |",
        "|---|--:|" + "--:|" * len(METHODS),
    ]
    for row in results["tables"]:
        own = row["seconds"]["seepage"]
        cells = [f"{own:.3f}"]
        for method in list(METHODS)[1:]:
            found = row["seconds"].get(method)
            cells.append("" if found is None else f"{found:.2f} ({found / own:.1f}×)")
        lines.append(
            f"| {row['table']} | {row['records']:,} × {row['columns']} | {' | '.join(cells)} |"
        )
    if results["growth"]:
        lines += ["", "![Time against size](images/benchmark-counting.png)"]
        for vary in dict.fromkeys(row["vary"] for row in results["growth"]):
            chosen = [row for row in results["growth"] if row["vary"] == vary]
            sizes = list(dict.fromkeys(row["n"] for row in chosen))
            lines += ["", f"| {vary} | " + " | ".join(f"{size:,}" for size in sizes) + " |"]
            lines.append("|---|" + "--:|" * len(sizes))
            for what in dict.fromkeys(row["what"] for row in chosen):
                cells = [f"{row['seconds']:.3f}" for row in chosen if row["what"] == what]
                lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(rows: list[dict[str, object]], folder: Path) -> None:
    import altair as alt
    import polars as pl

    panels = []
    for vary in dict.fromkeys(row["vary"] for row in rows):
        frame = pl.DataFrame([row for row in rows if row["vary"] == vary])
        panels.append(
            alt.Chart(frame, title=vary, width=240, height=220)
            .mark_line(point=True)
            .encode(
                x=alt.X("n:Q", scale=alt.Scale(type="log"), title=vary.split()[0]),
                y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
                color=alt.Color(
                    "what:N",
                    title=None,
                    sort=None,
                    scale=alt.Scale(range=["#0072b2", "#7f7f7f"]),
                    legend=alt.Legend(orient="top", labelLimit=300),
                ),
            )
        )
    chart = alt.hconcat(*panels).resolve_scale(y="shared")
    folder.mkdir(parents=True, exist_ok=True)
    chart.save(folder / "benchmark-counting.png", scale_factor=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="of the survey table")
    parser.add_argument("--skip", nargs="*", default=[], metavar="PACKAGE", help="duckdb, pandas")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--charts", type=Path, help="folder for the chart")
    parser.add_argument("--write", type=Path, help="Markdown file to update between its markers")
    options = parser.parse_args()
    methods = [name for name, (package, _) in METHODS.items() if package not in options.skip]
    results: dict[str, object] = {
        "machine": machine("numpy"),
        "repeats": options.repeats,
        "tables": [
            compare("survey", SURVEY, options.records, methods, options.repeats),
            compare("binary", (2,) * 40, 200_000, methods, options.repeats),
        ],
        "growth": [] if options.no_growth else growth(options.repeats),
    }
    text = report(results)
    print(text)
    save(options.json, results)
    if options.charts and results["growth"]:
        draw(results["growth"], options.charts)
    write_between(options.write, BEGIN, END, text)


if __name__ == "__main__":
    main()
