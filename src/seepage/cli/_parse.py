"""Texts of the command line to values: numbers, lists, ``NAME=VALUE``."""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from seepage._unique_keys import TwiceError, unique
from seepage.errors import InvalidInputError, TableError

Bins = int | tuple[float, ...] | Literal["none"]


def number(text: object, name: str, most: float = math.inf) -> float:
    """Return a number in [0, ∞]; ``inf`` and ``∞`` are accepted.

    Parameters
    ----------
    text : object
    name : str
    most : float
        Largest number that whoever gets it will accept, for the message.

    Raises
    ------
    InvalidInputError
        If `text` is negative, NaN or not a number, or a number beyond floating point.
    """
    value = math.nan
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond every float
            value = float(text)
    elif isinstance(text, str):
        try:
            value = float(text.strip().replace("∞", "inf"))
        except ValueError:
            value = math.nan
        if math.isinf(value) and any(char.isdigit() for char in text):  # 1e400 is no infinity
            value = math.nan
    if not value >= 0:
        msg = f"expected {name} to be a number from 0 to {most:g}, got {reprlib.repr(text)}"
        raise InvalidInputError(msg)
    return value


def names(texts: Iterable[str] | None, option: str) -> list[str] | None:
    """Split comma-separated names; a name with a comma goes into double quotes.

    Returns None when the option was not given.

    Raises
    ------
    InvalidInputError
        If a name is empty, or holds a line break outside quotes.
    """
    if not texts:
        return None
    found: list[str] = []
    for text in texts:
        row = [item.strip() for item in _fields(text)]
        if not row or not all(row):
            msg = f"expected {option} NAME,NAME,…, got {text!r}"
            raise InvalidInputError(msg)
        found += row
    return found


def _fields(text: str) -> list[str]:
    """Split one record of CSV; nothing when it is not exactly one."""
    import csv
    import io

    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True))
    except csv.Error:
        return []
    return rows[0] if len(rows) == 1 else []


def assignments(texts: Iterable[str] | None, option: str, form: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` at the last equals sign.

    Raises
    ------
    InvalidInputError
        If a text has no name or no value, or a name comes twice.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or not value:
            msg = f"expected {option} {form}, got {text!r}"
            raise InvalidInputError(msg)
        if name in found:
            msg = f"expected one {option} for column {name!r}, got {found[name]!r} and {value!r}"
            raise InvalidInputError(msg)
        found[name] = value
    return found


def bins(texts: Iterable[str] | None) -> dict[str, Bins]:
    """Read ``NAME=5``, ``NAME=0,10,20`` and ``NAME=none``.

    Returns
    -------
    dict
        The number of bins, the edges, or "none": each number is a category.

    Raises
    ------
    InvalidInputError
        If a value has none of the three forms.
    """
    form = "NAME=5, NAME=0,10,20 or NAME=none"
    found: dict[str, Bins] = {}
    for name, value in assignments(texts, "--bins", form).items():
        found[name] = _bins_of(name, value, form)
    return found


def _bins_of(name: str, value: str, form: str) -> Bins:
    msg = f"expected --bins {form}, got {name + '=' + value!r}"
    if value.lower() == "none":
        return "none"
    try:
        if "," in value:
            return tuple(float(item) for item in value.split(","))
        count = int(value)
    except ValueError:
        raise InvalidInputError(msg) from None
    if count < 1:
        raise InvalidInputError(msg)
    return count


def budgets(texts: Iterable[str] | None, file: Path | None) -> dict[str, float]:
    """Read ε of single columns from a JSON file, then from ``NAME=EPS`` texts, which win.

    The file is an object of numbers, or what ``seepage calibrate --out`` wrote.

    Raises
    ------
    InvalidInputError
        If a value is no budget.
    TableError
        If the file is not a JSON object of numbers.
    """
    found: dict[str, float] = {}
    if file is not None:
        found = {
            name: number(value, f"the budget of column {name!r} in {str(file)!r}")
            for name, value in _budgets_in(file).items()
        }
    for name, value in assignments(texts, "--budget", "NAME=EPSILON").items():
        found[name] = number(value, f"the budget of column {name!r}")
    return found


def weights(texts: Iterable[str] | None) -> dict[str, float]:
    """Read ``NAME=W`` with positive, finite numbers.

    Raises
    ------
    InvalidInputError
        If a weight is not one.
    """
    found: dict[str, float] = {}
    for name, value in assignments(texts, "--importance", "NAME=W").items():
        found[name] = number(value, f"the importance of column {name!r}")
        if not 0 < found[name] < math.inf:
            msg = f"expected the importance of column {name!r} to be positive, got {value!r}"
            raise InvalidInputError(msg)
    return found


def _budgets_in(file: Path) -> dict[str, object]:
    """Return the budgets of a file: the object itself, or its part when it says its format."""
    content = _read_object(file)
    kind = content.get("format")
    if not isinstance(kind, str) or not kind.startswith("seepage."):
        return content
    if kind != "seepage.budgets":
        msg = f"expected a file of format 'seepage.budgets', got {kind!r} in {str(file)!r}"
        raise TableError(msg)
    if content.get("version") != 1:
        got = content.get("version")
        msg = f"expected version 1 of format {kind!r} in {str(file)!r}, got {got!r}"
        raise TableError(msg)
    if content.get("unit", "nats") != "nats":
        msg = f"expected budgets in nats in {str(file)!r}, got {content['unit']!r}"
        raise TableError(msg)
    inner = content.get("budgets")
    if not isinstance(inner, dict):
        msg = f"expected an object 'budgets' in {str(file)!r}, got {type(inner).__name__}"
        raise TableError(msg)
    return inner


def _read_object(file: Path) -> dict[str, object]:
    form = '{"column": epsilon, …}'
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=unique)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        msg = f"expected a JSON object {form} in {str(file)!r}, got: {error}"
        raise TableError(msg) from None
    except TwiceError as error:
        msg = f"expected one budget for column {error.key!r} in {str(file)!r}, got two"
        raise TableError(msg) from None
    except ValueError:  # what Python says of it is advice for programs
        msg = f"expected numbers in {str(file)!r}, got one of thousands of digits"
        raise TableError(msg) from None
    if not isinstance(content, dict):
        msg = f"expected a JSON object {form} in {str(file)!r}, got {type(content).__name__}"
        raise TableError(msg)
    return content


def confidence(text: str) -> float | None:
    """Read a probability between 0 and 1, or ``none``.

    Raises
    ------
    InvalidInputError
        If it is neither.
    """
    if text.strip().lower() == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        msg = f"expected --confidence to be a number between 0 and 1, or none, got {text!r}"
        raise InvalidInputError(msg)
    return value


def separator(text: str | None) -> str | None:
    r"""Read a field separator; ``tab`` and ``\t`` stand for a tab."""
    if text is None:
        return None
    value = {"tab": "\t", "\\t": "\t", "space": " "}.get(text.lower(), text)
    if len(value) != 1:
        msg = f"expected --separator to be one character or 'tab', got {text!r}"
        raise InvalidInputError(msg)
    return value
