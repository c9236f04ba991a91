"""Checks of the repository: what is tracked, how large it is, what it must not mention."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGEST_MODULE = 24_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Written so that the patterns do not find themselves.
PLACES = re.compile(r"(?<![\w.~$}/-])/(?:home|root|tmp|work|Users)(?:/\w|\b(?![\w/-]))")
REGISTRIES = re.compile(r"pypi\.org|pythonhosted\.org|anaconda\.org|/simple[/]|index[-]url")
MADE = {"__pycache__", "build", "dist", "out"}


def repository_files() -> list[Path]:
    """Return the tracked files; in a copy without its history, every file not made by a tool."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    names = [name for name in listed.split("\0") if name]
    if names:
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    files = (path for path in ROOT.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if not any(
            part in MADE or (part.startswith(".") and part not in {".ci", ".gitignore"})
            for part in path.relative_to(ROOT).parts
        )
    ]


def texts() -> list[tuple[str, str]]:
    """Return the names and contents of the text files."""
    found = []
    for path in repository_files():
        try:
            found.append((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def mentions(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_files_are_found() -> None:
    names = {name for name, _ in texts()}
    assert {"pyproject.toml", "src/seepage/__init__.py"} <= names


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see /" + "home/me/x", True),
        ('"/' + 'tmp/file"', True),
        ("in /" + "work.", True),
        ("tests/" + "root/x", False),
        (".github/" + "workflows", False),
        ("a/" + "tmp/b", False),
        ("https://a.example/" + "home/x", False),
    ],
)
def test_pattern_of_places(line: str, found: bool) -> None:
    assert bool(PLACES.search(line)) == found


def test_no_path_of_a_machine() -> None:
    assert mentions(PLACES) == []


def test_no_package_registry() -> None:
    assert mentions(REGISTRIES) == []


def test_license_is_apache() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0" in text


def test_modules_stay_short() -> None:
    sizes = {path.name: path.stat().st_size for path in (ROOT / "src").rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size >= LARGEST_MODULE} == {}


def test_scripts_are_executable() -> None:
    for name in (".ci/run", "scripts/make-venv"):
        path = ROOT / name
        if not path.exists():
            pytest.skip(f"{name} is not part of this copy")
        assert os.access(path, os.X_OK), name


@pytest.mark.browser
def test_a_browser_is_there_where_nothing_may_skip() -> None:
    """Elsewhere tests of pages skip without a browser; here that would hide them."""
    if not os.environ.get("SEEPAGE_REQUIRE_ALL"):
        pytest.skip("a browser is a must only where SEEPAGE_REQUIRE_ALL is set")
    assert any(map(shutil.which, BROWSERS)), f"expected one of {BROWSERS} on PATH, got none"
