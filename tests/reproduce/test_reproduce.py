"""The scripts that reproduce figures: what they compute themselves, and that they run."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import seepage as sp
from seepage.leakage.uncertainty import interval_rows

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in ("common", "figure8", "figure9"):
        sys.modules.pop(name, None)


def random_set(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, 6, 2)
    P = rng.dirichlet(np.full(b, rng.choice([0.2, 1.0, 4.0])), a)
    return P, interval_rows(P, rng.choice([0.02, 0.1, 0.3]) * rng.random((a, b)))


@pytest.mark.parametrize("seed", range(12))
def test_robust_curve_is_a_close_upper_limit(seed, script):
    P, limits = random_set(seed)
    curve = script("figure9").robust_curve(P, limits)
    epsilon = np.array([0.0, 1e-4, 0.01, 0.05, 0.3, 0.7, 1.1, 2, 3, 4, 6, 9, 15, 40, 700, np.inf])
    robust, upper = sp.robust_leakage(P, limits, epsilon), curve.leakage(epsilon)
    assert (upper >= robust - 1e-12).all()
    assert (upper[:-1] <= 1.1 * robust[:-1] + 1e-9).all()


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_lie_within_the_limits(seed, script, monkeypatch):
    figure = script("figure8")
    monkeypatch.setattr(figure, "TABLES", 30)
    P, (lower, upper) = random_set(seed)
    tables = np.array(figure.random_tables(lower, upper))
    assert_allclose(tables.sum(axis=2), 1, atol=1e-12)
    assert (tables >= lower - 1e-12).all()
    assert (tables <= upper + 1e-12).all()
    most = max(sp.TradeOff.envelope(np.clip(A, 0, 1)).leakage(1.0) for A in tables)
    assert most <= sp.robust_leakage(P, (lower, upper), 1.0) + 1e-12


def test_figure9_says_what_it_misses(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEPAGE_DATA", str(tmp_path))
    copy = tmp_path / "repository" / "reproduce"
    copy.mkdir(parents=True)
    for name in ("common.py", "figure9.py"):
        (copy / name).write_text((FOLDER / name).read_text("utf-8"), "utf-8")
    done = subprocess.run(
        [sys.executable, copy / "figure9.py", "--out", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "skipped: expected acs/national2019.csv" in done.stdout
    assert not (tmp_path / "out").exists()
