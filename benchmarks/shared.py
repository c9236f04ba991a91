"""What the benchmarks share: how results are described, saved and put into the documentation."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any


def machine(*packages: str) -> str:
    """The machine and the versions that a result depends on."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    start = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return ", ".join([start, *found])


def save(path: Path | None, results: dict[str, Any]) -> None:
    """Write all results as JSON, if a file is given."""
    if path is not None:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def write_between(path: Path | None, begin: str, end: str, text: str) -> None:
    """Replace what stands between two lines of a Markdown file, if one is given."""
    if path is None:
        return
    old = path.read_text(encoding="utf-8")
    if begin not in old or end not in old:
        raise SystemExit(f"expected the lines {begin} and {end} in {path}")
    head, tail = old.split(begin)[0], old.split(end)[1]
    path.write_text(f"{head}{begin}\n{text}{end}{tail}", encoding="utf-8")
