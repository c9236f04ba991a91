"""Planned tests from a file: YAML, or JSON, which is YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seepage._unique_keys import load_yaml
from seepage.errors import TableError

FLAGS = ("z", "grid")
"""Settings that may be true or false."""

FORM = "a list of tests, each with 'test', 'effect', 'n' and the settings of the test"


def read_test_file(path: str | Path) -> list[dict[str, str]]:
    """Read tests as settings in texts, the name of the test under "test".

    A file is a list of objects, or an object with such a list under "tests".

    Raises
    ------
    TableError
        If it is something else.
    """
    import yaml

    try:
        content = load_yaml(Path(path).read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        told = " ".join(str(error).split())
        msg = f"expected {FORM} in {str(path)!r}, got: {told}"
        raise TableError(msg) from None
    if isinstance(content, dict) and set(content) == {"tests"}:
        content = content["tests"]
    if not isinstance(content, list) or not content:
        got = type(content).__name__ if content or content == 0 else "nothing"
        got = "an empty list" if content == [] else got
        msg = f"expected {FORM} in {str(path)!r}, got {got}"
        raise TableError(msg)
    return [_settings(item, position, path) for position, item in enumerate(content, 1)]


def _settings(item: Any, position: int, path: str | Path) -> dict[str, str]:
    if not isinstance(item, dict) or "test" not in item:
        msg = f"expected {FORM} in {str(path)!r}, got {item!r} as number {position}"
        raise TableError(msg)
    return {
        str(name): _text(value, str(name), f"test {position} in {str(path)!r}")
        for name, value in item.items()
    }


def _text(value: Any, name: str, where: str) -> str:
    if isinstance(value, bool) and name in FLAGS:
        return "yes" if value else "no"
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return str(value)
    if name == "table" and isinstance(value, list) and all(isinstance(x, list) for x in value):
        return "/".join(" ".join(str(cell) for cell in row) for row in value)
    msg = f"expected {name!r} of {where} to be a number or a text, got {value!r}"
    raise TableError(msg)
