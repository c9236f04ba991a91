"""Time randomised response and the estimation of two-way tables against two other packages.

    python benchmarks/collection.py --json out.json --write docs/benchmarks.md

One attribute of 100 categories through k-ary randomised response: as a release (entropy of the
operating system, integer weights) and as a simulation (seeded). multi-freq-ldpy and pure-ldp do the
same a record at a time, on fewer records; what is not installed is left out. Then a whole
collection: a million records of ten attributes of ten categories, randomised, and all 45 two-way
tables estimated with their standard errors; multi-freq-ldpy has no two-way tables, so its time is
for the ten one-way tables of the same records.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import seepage as sp
from seepage.collect.designs import independent
from seepage.collect.estimates import Estimates
from seepage.collect.response import RandomizedResponse
from shared import machine, save, write_between

BEGIN, END = "<!-- collection benchmark: begin -->", "<!-- collection benchmark: end -->"
K, EPSILON = 100, 2.0


def seconds(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def others() -> dict[str, Callable[[int], object]]:
    """Randomise one value, for each package that is installed."""
    found: dict[str, Callable[[int], object]] = {}
    if importlib.util.find_spec("multi_freq_ldpy"):
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

        found["multi-freq-ldpy"] = lambda value: GRR_Client(value, K, EPSILON)
    if importlib.util.find_spec("pure_ldp"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pure_ldp.frequency_oracles.direct_encoding import DEClient

        client = DEClient(epsilon=EPSILON, d=K, index_mapper=lambda x: x)
        found["pure-ldp"] = client.privatise
    return found


def rates(records: int, few: int, repeats: int) -> dict[str, float]:
    """Values per second."""
    codes = np.random.default_rng(1).integers(0, K, records)
    mechanism = RandomizedResponse(K, EPSILON)
    mechanism.sample(codes[:1000])
    result = {
        "seepage, release": records / seconds(lambda: mechanism.sample(codes), repeats),
        "seepage, simulation": records / seconds(lambda: mechanism.sample(codes, rng=1), repeats),
    }
    for name, one in others().items():
        values = codes[:few].tolist()
        one(values[0])  # a compiled function is compiled here
        result[name] = few / seconds(lambda one=one, values=values: [one(v) for v in values], 1)
    return result


def collection(records: int, repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(2)
    domain = sp.Domain.of({f"a{i}": list(range(10)) for i in range(10)})
    codes = np.asfortranarray(rng.integers(0, 10, (records, 10)))
    plan = independent(domain, 1.0)
    times: dict[str, list[float]] = {"randomise": [], "estimate": []}
    for _ in range(repeats):
        start = time.perf_counter()
        reports = plan.randomize_codes(codes)
        middle = time.perf_counter()
        tables = Estimates.of(plan, 2).add(reports).tables
        end = time.perf_counter()
        times["randomise"].append(middle - start)
        times["estimate"].append(end - middle)
    if len(tables) != 45:
        raise SystemExit(f"expected 45 tables, got {len(tables)}")
    result = {name: statistics.median(values) for name, values in times.items()}
    if importlib.util.find_spec("multi_freq_ldpy"):
        from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator_MI, SPL_GRR_Client

        few, sizes = records // 50, [10] * 10
        rows = codes[:few].tolist()
        SPL_GRR_Client(rows[0], sizes, 10, 10.0)
        start = time.perf_counter()
        found = [SPL_GRR_Client(row, sizes, 10, 10.0) for row in rows]
        SPL_GRR_Aggregator_MI(np.array(found), sizes, 10, 10.0)
        result["multi-freq-ldpy, one-way"] = 50 * (time.perf_counter() - start)
    return result


def report(results: dict[str, object]) -> str:
    """Markdown of all results."""
    found, whole = results["rates"], results["collection"]
    lines = [
        f"Machine: {results['machine']}. Wall-clock time, medians of {results['repeats']} runs for "
        "seepage and one run for the others, all in the same run.",
        "",
        f"| k = {K}, ε = {EPSILON:g} | million values a second | release is faster by |",
        "|---|--:|--:|",
    ]
    own = found["seepage, release"]
    for name, rate in found.items():
        gain = "" if name.startswith("seepage") else f"{own / rate:,.0f}×"
        lines.append(f"| {name} | {rate / 1e6:,.2f} | {gain} |")
    total = whole["randomise"] + whole["estimate"]
    lines += [
        "",
        f"| {results['records']:,} records × 10 attributes | seconds |",
        "|---|--:|",
        f"| seepage: randomise (release) | {whole['randomise']:.2f} |",
        f"| seepage: 45 two-way tables with standard errors | {whole['estimate']:.2f} |",
        f"| seepage: both | {total:.2f} |",
    ]
    if "multi-freq-ldpy, one-way" in whole:
        lines.append(
            "| multi-freq-ldpy: randomise, ten one-way tables (a 50th of the records, scaled) "
            f"| {whole['multi-freq-ldpy, one-way']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--few", type=int, default=50_000, help="values for the other packages")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--write", type=Path, help="Markdown file to update between its markers")
    options = parser.parse_args()
    results: dict[str, object] = {
        "machine": machine("numpy"),
        "repeats": options.repeats,
        "records": options.records,
        "rates": rates(10 * options.records, options.few, options.repeats),
        "collection": collection(options.records, options.repeats),
    }
    text = report(results)
    print(text)
    save(options.json, results)
    write_between(options.write, BEGIN, END, text)


if __name__ == "__main__":
    main()
