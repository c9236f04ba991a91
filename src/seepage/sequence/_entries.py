"""Entries of a file that holds a redaction plan: what must be there, and of which type."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from seepage.errors import InvalidInputError


class Entry(NamedTuple):
    """What an entry must be: its types, and where it is a list those of its items, in words."""

    kinds: tuple[type, ...]
    words: str
    items: tuple[type, ...] = (object,)


LIST = (list, tuple)
NUMBERS = Entry(LIST, "a list of numbers", (int, float))
ROWS = Entry(LIST, "a list of rows of numbers", LIST)

CHAIN = {
    "states": Entry(LIST, "a list of labels"),
    "transition": ROWS,
    "initial": Entry((*LIST, type(None)), "a list of numbers or null", (int, float)),
}
PLAN = {
    "unit": Entry((str,), "a text"),
    "mechanism": Entry((str,), "a text"),
    "n": Entry((int,), "a whole number"),
    "positions": Entry(LIST, "a list of whole numbers", (int,)),
    "epsilons": Entry((*LIST, type(None)), "a list of numbers or null", (int, float)),
    "chain": Entry((Mapping,), "an object"),
    "notes": Entry(LIST, "a list of texts", (str,)),
    "redact_probability": Entry(LIST, "a list of objects", (Mapping,)),
}
STRETCH = {
    "first": Entry((int,), "a whole number"),
    "count": Entry((int,), "a whole number"),
    "probability": NUMBERS,
}


def check_entries(content: Mapping[str, Any], entries: Mapping[str, Entry], what: str) -> None:
    """Refuse an object in which an entry is missing or has another type.

    Raises
    ------
    InvalidInputError
        Naming the first such entry.
    """
    for name, entry in entries.items():
        if name not in content:
            msg = f"expected {what} with {name!r}, got none"
            raise InvalidInputError(msg)
        value = content[name]
        if not _is(value, entry.kinds) or (
            isinstance(value, LIST) and not all(_is(item, entry.items) for item in value)
        ):
            msg = f"expected {name!r} of {what} to be {entry.words}, got {reprlib.repr(value)}"
            raise InvalidInputError(msg)


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    """`isinstance`, but a boolean is no number."""
    return isinstance(value, kinds) and (not isinstance(value, bool) or object in kinds)


def number(value: Any) -> Any:
    """Infinity where it was written as the text "inf", as JSON has no number for it."""
    return math.inf if isinstance(value, str) and value == "inf" else value
