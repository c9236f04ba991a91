"""Values from outside in messages: short, and whatever their own ``__repr__`` does."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable

_LONGEST = 80

_SHORTENER = reprlib.Repr()
_SHORTENER.maxlevel = 3  # a text of a few lines can stand for a list of 10^9 items
_SHORTENER.maxstring = _SHORTENER.maxother = _SHORTENER.maxlong = _LONGEST - 3


def short(value: object) -> str:
    """Write a value as in Python, in at most 80 characters."""
    try:
        # Python cuts texts in the middle; the start is what a reader can find.
        text = repr(value[:_LONGEST]) if isinstance(value, str) else _SHORTENER.repr(value)
    except Exception:  # an object's own, or a number with too many digits to write
        return f"<{type(value).__name__}>"
    return text if len(text) < _LONGEST else f"{text[: _LONGEST - 3]}..."


def writable(text: str) -> bool:
    """Whether a text can be written to a file: half a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def first_unwritable(items: Iterable[object]) -> str | None:
    """First text that cannot be written to a file."""
    return next((x for x in items if isinstance(x, str) and not writable(x)), None)
