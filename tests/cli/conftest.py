from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from seepage.cli import app

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("SEEPAGE_DEBUG", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def people(folder: Path) -> Path:
    """Eight people; `sex` and `copy` say the same, `coin` is independent of both."""
    rows = ["sex,copy,coin,age"]
    rows += [
        f"{sex},{sex.upper()},{coin},{age}"
        for sex in ("f", "m")
        for coin in ("heads", "tails")
        for age in (20, 40)
    ]
    path = folder / "people.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
