"""No number is cut where a terminal is narrow, or a pipe has 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from typer.testing import Result

from seepage.collect.designs import independent
from seepage.collect.plan_files import write_plan
from seepage.plan.reports_io import write_reports
from seepage.sequence.chain import MarkovChain
from seepage.tables import load

Run = Callable[..., Result]

WIDTHS = (60, 80, 100)
ESTIMATE = ("estimate", "r.parquet", "-p", "plan.json")
RELATED = ("relationships", "--plan", "plan.json", "--reports", "r.parquet")

WHOLE = [
    ("plan", "people.csv", "-e", "0.5"),
    ("plan", "people.csv", "-e", "0.0123", "-m", "oue", "-g", "deductible,a long name of a column"),
    ("plan", "people.csv", "-e", "1e5", "--design", "views"),
    ("calibrate", "people.csv", "-t", "1", "-m", "pairwise"),
    ESTIMATE,
    (*ESTIMATE, "-k", "1"),
    (*ESTIMATE, "-k", "3"),
    ("relationships", "people.csv", "-e", "0.001", "-e", "1", "-e", "20", "--orders", "2,3"),
    (*RELATED, "--kind", "correlation", "--kind", "odds", "--kind", "covariance"),
    (*RELATED, "--regress", "sex=deductible,a long name of a column"),
    ("redact", "days.csv", "--order", "day", "--state", "weather", "-p", "20", "-m", "quilt"),
    ("risk", "gaussian", "--mu", "1,0.123", "--prior", ".01,.1,.5", "--against", "laplace:1"),
    ("risk", "card", "gaussian:1"),
    ("risk", "choose", "--relative-risk", "3"),
    ("power", "mean", "--effect", ".2", "--n", "15", "--sd", ".25", "--low", "0", "--high", "1",
     "--gaussian", "1"),
    ("power", "mean", "--z", "--effect", ".2", "--n", "15", "--sd", ".25", "--low", "0", "--high",
     "1", "--target-loss", "0.05"),
]  # fmt: skip
FEWER = [("audit", "people.csv", "--exclude", "town", "-e", "100")]
"""These leave columns out where there is no room."""


@pytest.fixture
def files(folder: Path) -> None:
    """A table without digits in names and labels, a plan, its reports, and a sequence."""
    rng = np.random.default_rng(3)
    names = ["sex", "deductible", "town", "a long name of a column"]
    sizes = [2, 2, 5, 4]
    hidden = rng.integers(0, 20, 600)
    drawn = [np.where(rng.random(600) < 0.5, hidden % k, rng.integers(0, k, 600)) for k in sizes]
    labels = np.array(["north of the river", "a", "b", "in the east", "c"])
    rows = [",".join(row) for row in labels[np.stack(drawn, axis=1)].tolist()]
    Path("people.csv").write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    table = load("people.csv")
    plan = independent(table.domain, 0.3)
    write_plan(plan, "plan.json")
    write_reports(plan.randomize_codes(table.codes, rng=1), "r.parquet")
    chain = MarkovChain(np.array([[0.8, 0.2], [0.3, 0.7]]), states=("dry", "wet"))
    days = [f"{t},{chain.states[c]}" for t, c in enumerate(chain.simulate(40, rng=3).tolist())]
    Path("days.csv").write_text("\n".join(["day,weather", *days]) + "\n", encoding="utf-8")


def numbers(run: Run, words: tuple[str, ...], width: int, patch: pytest.MonkeyPatch) -> set[str]:
    """Everything with a digit in it, as it stands between spaces and marks."""
    patch.setenv("COLUMNS", str(width))
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert not re.search(r"\d…", result.stdout)
    assert all(cell_len(line) <= width for line in result.stdout.splitlines())
    return set(re.findall(r"[−<>]?\d[\d.,⁻⁰¹²³⁴-⁹]*[*?%]*", result.stdout))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", [*WHOLE, *FEWER], ids=lambda words: "-".join(words[:5]))
def test_no_number_is_cut(
    run: Run, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = numbers(run, words, 200, monkeypatch)
    for width in WIDTHS:
        found = numbers(run, words, width, monkeypatch)
        assert found <= wide, (width, found - wide)
        if words in WHOLE:
            assert found == wide, (width, wide - found)
