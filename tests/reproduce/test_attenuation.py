"""The script for the paper on relationships: it runs, and finds every printed digit."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "reproduce"


def test_table_and_figure(tmp_path):
    done = subprocess.run(
        [sys.executable, FOLDER / "attenuation.py", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Every printed digit" in done.stdout
    assert (tmp_path / "attenuation.png").stat().st_size > 10_000
    with (tmp_path / "attenuation-curve.csv").open(encoding="utf-8", newline="") as file:
        curve = {
            (row["categories"], row["epsilon"]): float(row["retention"])
            for row in csv.DictReader(file)
        }
    # Read off Figure 1: "setting ε in the vicinity of one … at most 20 %", "above 3 … 80 %".
    assert curve["r = 5", "1.0"] == pytest.approx(0.2557, abs=1e-4)
    assert curve["r = 2", "3.0"] == pytest.approx(0.9051, abs=1e-4)
    assert curve["r = 10", "0.0"] == 0
