"""Calling a randomiser that somebody else wrote, and telling what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._entropy import as_generator
from seepage.attack._parts import UNEQUAL, key, label
from seepage.errors import InvalidInputError

Randomiser = Callable[..., Any]
"""Takes an input and returns a report, or takes n inputs and returns n reports."""


class RandomiserError(InvalidInputError):
    """A randomiser raised an error; it is the cause of this one."""


@dataclass(frozen=True, eq=False)
class Source:
    """A randomiser with how it is called.

    Parameters
    ----------
    randomiser : callable
    vectorised : bool
        Whether it takes many inputs at once.
    rng : numpy.random.Generator, optional
        Handed to it as the keyword `rng`.
    features : callable, optional
        What of the reports is looked at.
    """

    randomiser: Randomiser
    vectorised: bool
    rng: np.random.Generator | None = None
    features: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, randomiser: Any, vectorised: Any, rng: Any, features: Any = None) -> Source:
        """Check the arguments."""
        if not callable(randomiser):
            msg = f"expected a randomiser that can be called, got {randomiser!r}"
            raise InvalidInputError(msg)
        if not isinstance(vectorised, bool):
            msg = f"expected vectorised to be True or False, got {vectorised!r}"
            raise InvalidInputError(msg)
        if features is not None and not callable(features):
            msg = f"expected features to be a function of reports, got {features!r}"
            raise InvalidInputError(msg)
        return cls(randomiser, vectorised, None if rng is None else as_generator(rng), features)

    def draw(self, value: Any, n: int) -> Any:
        """Reports on n equal inputs.

        Raises
        ------
        RandomiserError
            If the randomiser raises.
        InvalidInputError
            If it returns something else than n reports.
        """
        options = {} if self.rng is None else {"rng": self.rng}
        try:
            if self.vectorised:
                reports = self.randomiser(copies(value, n), **options)
            else:
                reports = [self.randomiser(value, **options) for _ in range(n)]
        except Exception as error:  # whatever somebody's randomiser raises
            msg = (
                f"expected the randomiser to report on the input {label(value)}, got "
                f"{type(error).__name__}: {error}"
            )
            raise RandomiserError(msg) from error
        if self.features is None:
            return reports
        try:
            return np.asarray(self.features(reports))
        except Exception as error:  # whatever somebody's function raises
            msg = f"expected features of the reports, got {type(error).__name__}: {error}"
            raise InvalidInputError(msg) from error


def copies(value: Any, n: int) -> Any:
    """N copies of an input: an array if it is a number or an array of numbers, or else a list."""
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return np.repeat(array[np.newaxis], n, axis=0)
    return [value] * n


def check_inputs(inputs: Any, least: int, name: str = "inputs") -> list[Any]:
    """Return inputs as a list of different values.

    Raises
    ------
    InvalidInputError
        If it is no list, shorter than `least`, or has an input twice.
    """
    if isinstance(inputs, (str, bytes, dict)) or not isinstance(inputs, Iterable):
        msg = f"expected a list of {name}, got {inputs!r}"
        raise InvalidInputError(msg)
    values = list(inputs)
    if len(values) < least:
        msg = f"expected at least {least} {name}, got {len(values)}"
        raise InvalidInputError(msg)
    seen = set()
    for value in values:
        found = identity(value)
        if found in seen:
            msg = f"expected different {name}, got {label(value)} twice"
            raise InvalidInputError(msg)
        seen.add(found)
    return values


def identity(value: Any) -> Any:
    """What tells inputs apart: their value, or the object itself where it has none."""
    try:
        found = key(value)
    except InvalidInputError:  # an object without a value of its own
        return id(value)
    return id(value) if found == (type(value).__name__, UNEQUAL) else found


def check_pairs(pairs: Any, count: int) -> list[tuple[int, int]]:
    """Ordered pairs of positions; both directions of all pairs when None.

    Raises
    ------
    InvalidInputError
        If a pair is not two different positions of inputs.
    """
    if pairs is None:
        return [(i, j) for i in range(count) for j in range(i + 1, count)]
    if isinstance(pairs, (str, bytes, dict)) or not isinstance(pairs, Iterable):
        msg = f"expected pairs of positions of inputs, got {pairs!r}"
        raise InvalidInputError(msg)
    found: dict[tuple[int, int], None] = {}
    for pair in pairs:
        whole = (
            isinstance(pair, Sequence)
            and not isinstance(pair, str)
            and len(pair) == 2
            and all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in pair)
        )
        if not whole or not all(0 <= i < count for i in pair) or pair[0] == pair[1]:
            msg = f"expected pairs of different positions from 0 to {count - 1}, got {pair!r}"
            raise InvalidInputError(msg)
        found[min(pair), max(pair)] = None
    if not found:
        msg = "expected at least one pair of inputs, got none"
        raise InvalidInputError(msg)
    return list(found)
