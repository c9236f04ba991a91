"""The script for the paper on redaction: it runs, and finds the figures' numbers."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reproduce"


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_figures(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "redaction.py", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "are reproduced" in done.stdout
    for number in (2, 3, 4):
        assert (tmp_path / f"redaction-figure{number}.png").stat().st_size > 10_000
    # Figure 2 at distance 1, by hand: ln(.75/.5) for a released 0, ln(.5/.25) for a released 1.
    near = {
        row["released"]: float(row["influence"])
        for row in rows(tmp_path / "redaction-figure2.csv")
        if row["t - p"] == "1"
    }
    assert near == pytest.approx({"0": math.log(1.5), "1": math.log(2)})
    figure3 = rows(tmp_path / "redaction-figure3.csv")
    leak = {
        float(r["epsilon"]): float(r["leakage"]) for r in figure3 if r["mechanism"] == "published"
    }
    assert leak[0.5] == pytest.approx(0.654546, abs=5e-7)
    assert leak[2.0] == pytest.approx(2.509670, abs=5e-7)
    kept = [r for r in figure3 if r["mechanism"] in {"optimal", "certified", "data-independent"}]
    assert all(float(r["leakage"]) <= float(r["epsilon"]) for r in kept)
    # Figure 4: equation (2) at ε = 1 with as many medium records as the figure has.
    figure4 = rows(tmp_path / "redaction-figure4.csv")
    middle = {float(r["redacted"]) for r in figure4 if r["state"] == "0"} - {0.0, 1.0}
    medium = [r for r in figure4 if r["state"] == "0" and 0 < float(r["redacted"]) < 1]
    assert len(middle) == 1
    assert middle.pop() == pytest.approx(math.exp(-1 / len(medium)))
