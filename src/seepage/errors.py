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
    """No budgets within the given bounds meet the target.

    Parameters
    ----------
    message : str
    attribute : str
        The attribute with the largest total at the minimum budgets.
    total : float
        That total, in nats.
    """

    def __init__(self, message: str, attribute: str, total: float) -> None:
        super().__init__(message)
        self.attribute = attribute
        self.total = total


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a hint with the nearest known names, or all of them when they are few.

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
    names = [str(item) for item in known]
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if close:
        return f" Did you mean {' or '.join(repr(item) for item in close)}?"
    if 0 < len(names) <= 12:
        return f" Known: {', '.join(repr(item) for item in names)}."
    return ""
