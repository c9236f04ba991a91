"""The script for the paper on privacy and utility: each figure, and the numbers in it."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import norm

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("figures")
    done = subprocess.run(
        [sys.executable, FOLDER / "privacy_utility.py", "--figure", *"12345", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def rows(folder, number):
    with (folder / f"privacy-utility-{number}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_pictures(folder, number):
    assert (folder / f"privacy-utility-{number}.png").stat().st_size > 10_000
    assert len(rows(folder, number)) > 100


def test_figure_1_bounds_lie_above(folder):
    found = {
        (row["mechanism"], row["mu"], row["kind"], row["alpha"]): float(row["power"])
        for row in rows(folder, 1)
    }
    for (name, mu, kind, alpha), power in found.items():
        if kind == "exact":
            assert found[name, mu, "(ε, δ) bound", alpha] >= power - 1e-12
        if kind == "exact" and name == "Gaussian" and 0 < float(alpha) < 1:
            shift = float(mu.removeprefix("μ = "))
            assert power == pytest.approx(norm.sf(norm.isf(float(alpha)) - shift), rel=1e-9)


def test_figure_2_as_the_text_says(folder):
    for row in rows(folder, 2):
        prior, after = float(row["prior"]), float(row["posterior"])
        if row["mechanism"] == "Laplace":  # bounded: the odds grow by e^μ at most
            odds = prior / (1 - prior) * math.exp(float(row["mu"].removeprefix("μ = ")))
            assert after <= odds / (1 + odds) * (1 + 1e-12)
        if row["mechanism"] == "Uniform sampling" and float(row["beta"]) == 1:
            assert after == 1  # catastrophic
        if row["mechanism"] != "Uniform sampling" and float(row["beta"]) == 0:
            assert after == pytest.approx(prior)


def test_figures_3_and_4(folder):
    laplace = [r for r in rows(folder, 3) if r["mechanism"] == "Laplace" and r["mu"] == "μ = 1"]
    assert max(float(r["risk"]) for r in laplace) == pytest.approx(math.e, rel=1e-12)
    for row in rows(folder, 4):
        if row["mechanism"] == "Gaussian":
            expected = norm.sf(norm.isf(float(row["alpha0"])) - float(row["mu"]))
            assert float(row["power"]) == pytest.approx(expected, rel=1e-9)


def test_figure_5(folder):
    text = (folder / "privacy-utility-5.md").read_text("utf-8")
    assert "| 15, σ = 0.5 | 0.0108 | 0.0211 | 0.1711 | 0.2185 |" in text
    assert "| 0.4321 | 0.7800 |" in text
    for row in rows(folder, 5):
        n, mu = int(row["n"].removeprefix("n = ")), float(row["mu"].replace("∞", "inf"))
        spread = math.sqrt(0.25**2 / n + (1 / (n * mu)) ** 2)
        x = float(row["x"])
        level, effect = (0.01, x) if row["part"] == "power function" else (x, 0.2)
        expected = norm.sf(norm.isf(level) - effect / spread)
        assert float(row["power"]) == pytest.approx(expected, rel=1e-9, abs=1e-15)
