"""Peak memory of an audit of a file that is larger than the memory it may take.

    python benchmarks/memory.py --parquet-mb 2000 --csv-mb 300 --folder out/ --json memory.json

Each file is generated from a seed, audited by the command line in a process of its own, and then
deleted. Four parts of the table are drawn, and written again and again.
The table is like a national survey: 38 attributes (10 of 2 categories, 12 of 5, 10 of 10, 5 of 20,
1 of 60), every third as text, and a few amounts, numbers with very many values, that are binned.
What is printed is the peak of the resident memory, and its ratio to the size of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import polars as pl

from shared import save

SIZES = [2] * 10 + [5] * 12 + [10] * 10 + [20] * 5 + [60]
AMOUNTS = 6
PART = 500_000


def parts(seed: int, rows: int) -> Iterator[pl.DataFrame]:
    """Parts of the table, without end; every attribute depends on a hidden trait."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(4):
        trait = rng.random(rows)
        columns = {}
        for i, k in enumerate(SIZES):
            mixed = np.where(rng.random(rows) < 0.7, rng.random(rows), trait)
            codes = np.minimum((mixed * k).astype(np.int16), k - 1)
            labels = pl.Series([f"category {j}" for j in range(k)])
            columns[f"a{i:02}"] = labels.gather(codes) if i % 3 == 0 else pl.Series(codes)
        for i in range(AMOUNTS):
            columns[f"amount_{i}"] = pl.Series(rng.lognormal(trait, 0.5))
        drawn.append(pl.DataFrame(columns))
    yield from cycle(drawn)


def write_parquet(path: Path, size: float) -> int:
    import pyarrow.parquet as pq

    rows, writer = 0, None
    for part in parts(1, PART):
        table = part.to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        rows += len(part)
        if path.stat().st_size >= size:
            writer.close()
            return rows
    raise AssertionError


def write_csv(path: Path, size: float) -> int:
    rows = 0
    with path.open("wb") as file:
        for part in parts(2, PART // 10):
            part.with_columns(pl.selectors.float().round(2)).write_csv(
                file, include_header=rows == 0
            )
            rows += len(part)
            if file.tell() >= size:
                return rows
    raise AssertionError


def measure(path: Path, command: list[str]) -> dict[str, float]:
    """Seconds and peak megabytes of one command, in a process that has no other children."""
    code = (
        "import json, resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "done = subprocess.run(sys.argv[1:], check=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([time.perf_counter() - start, peak / 1000]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    size = path.stat().st_size / 1e6
    return {"file_mb": size, "seconds": seconds, "peak_mb": peak, "ratio": peak / size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parquet-mb", type=float, default=2000)
    parser.add_argument("--csv-mb", type=float, default=300)
    parser.add_argument("--folder", type=Path, help="for the files; default: temporary")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        for kind, megabytes, write in (
            ("parquet", given.parquet_mb, write_parquet),
            ("csv", given.csv_mb, write_csv),
        ):
            if megabytes <= 0:
                continue
            path = folder / f"survey.{kind}"
            start = time.perf_counter()
            rows = write(path, megabytes * 1e6)
            print(f"{kind}: wrote {rows:,} records in {time.perf_counter() - start:,.0f} s")
            out = folder / "audit.json"
            audit = [sys.executable, "-m", "seepage", "audit", str(path), "-q", "--json", str(out)]
            found = {"records": rows, **measure(path, audit)}
            path.unlink()
            results[kind] = found
            print(
                f"{kind}: audit of {found['file_mb']:,.0f} MB, {rows:,} records of "
                f"{len(SIZES) + AMOUNTS} columns: {found['seconds']:,.0f} s, peak "
                f"{found['peak_mb']:,.0f} MB, {found['ratio']:.2f} of the file"
            )
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"(generating took up to {own:,.0f} MB)")
    save(given.json, results)


if __name__ == "__main__":
    main()
