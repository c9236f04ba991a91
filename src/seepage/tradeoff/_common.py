"""What the modules of this package share: names of adjacencies, and a check."""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray, check_size
from seepage.errors import CapacityError, InvalidInputError

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"
ONE_VALUE = "one attribute of one record"
HYPOTHESES = "alternative against null"

LARGEST_COUNT = 10**15
"""Whole numbers up to here are floating-point numbers, and so are their neighbours."""
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
"""Smallest positive number. A vertex at this α stands for any in (0, this]."""


def one_number(value: FloatArray, name: str) -> float:
    """Return the one number in `value`.

    Raises
    ------
    InvalidInputError
        If it is an array with dimensions.
    """
    if value.ndim:
        msg = f"expected one {name}, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value)


def check_count(k: int, name: str = "k", most: int = LARGEST_COUNT) -> int:
    """Return a whole number between 1 and `most`.

    Raises
    ------
    InvalidInputError
        If it is not a whole number of at least 1.
    CapacityError
        If it is larger than `most`.
    """
    count = check_size(k, name)
    if count > most:
        digits = f"{count:,}" if count.bit_length() < 80 else "a larger one"
        msg = f"expected {name} of at most {most:,}, got {digits}"
        raise CapacityError(msg)
    return count
