"""Exceptions of the package.

Messages follow one form, "expected …, got …", and name the column and the category involved.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SeepageError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInputError(SeepageError, ValueError):
    """A parameter or an array has a value outside its stated range or shape."""


class DomainError(SeepageError, ValueError):
    """A value, a column or a file does not fit the declared domain."""


class TableError(SeepageError, ValueError):
    """A table cannot be read, or is not of a kind that can be analysed."""


class CapacityError(SeepageError):
    """A computation was refused before it started because it would not fit."""


class MissingDependencyError(SeepageError, ImportError):
    """An optional dependency is needed; the message says how to install it."""


class InfeasibleError(SeepageError):
    """No parameters within the given bounds meet the target.

    Parameters
    ----------
    message : str
    attribute : str, optional
        What stands in the way: of budgets the attribute with the largest total at the minimum
        budgets, of tests the one that misses its power.
    total : float, optional
        What it reaches: that total in nats, or that power in [0, 1].
    nearest : tuple of str
        The nearest wishes that can be met, in words.
    """

    def __init__(
        self,
        message: str,
        attribute: str | None = None,
        total: float | None = None,
        nearest: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.attribute = attribute
        self.total = total
        self.nearest = nearest


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint with the nearest known names, or all of them when they are few.

    Each is written as in Python, so that ``1`` and ``'1'`` can be told apart.

    Parameters
    ----------
    name : object
        What was asked for.
    known : iterable of object
        What exists.

    Returns
    -------
    str
        A sentence that starts with a space, or an empty string when nothing is known.
    """
    shown: dict[str, list[str]] = {}  # the category 1 and the category "1" look alike as text
    for item in known:
        shown.setdefault(str(item), []).append(repr(item))
    close = difflib.get_close_matches(str(name), shown, n=3, cutoff=0.6)
    if close:
        return f" Did you mean {' or '.join(text for item in close for text in shown[item])}?"
    if 0 < sum(map(len, shown.values())) <= 12:
        return f" Known: {', '.join(text for texts in shown.values() for text in texts)}."
    return ""
