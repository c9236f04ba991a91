"""Numbers in sentences, rounded so that the sentence stays true.

Values are computed to about 1e-12; one that is within that of a rounded number counts as being it.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_COMPUTED = Decimal("1e-12")


def round_up(value: float, digits: int = 3) -> Decimal:
    """Smallest number of so many digits that is not below `value` ≥ 0, which may be ∞."""
    return _rounded(value, digits, ROUND_CEILING)


def round_down(value: float, digits: int = 3) -> Decimal:
    """Largest number of so many digits that is not above `value` ≥ 0, which may be ∞."""
    return _rounded(value, digits, ROUND_FLOOR)


def share_up(value: float, digits: int = 3) -> Decimal:
    """A share in [0, 1] as a number of 100, rounded up; close to 100 by its distance from it."""
    if value <= 0.99:
        return min(round_up(value, digits).scaleb(2), Decimal(100))
    return 100 - round_down(1 - value, 2).scaleb(2)


def words(value: Decimal) -> str:
    """Digits with separators of thousands; powers of ten where they would be many."""
    if value.is_infinite():
        return "any number of"
    if value == 0:
        return "0"
    if -6 < value.adjusted() < 9:
        return f"{value.normalize():,f}"
    mantissa, exponent = f"{value.normalize():E}".split("E")
    return f"{mantissa}·10^{int(exponent)}"


def percent(value: float) -> str:
    """A given probability as text, with every digit that it was given with."""
    return f"{words(Decimal(repr(float(value))).scaleb(2))} %"


def given(value: float) -> str:
    """A given parameter in [0, ∞] as text, with every digit that it was given with."""
    return "∞" if math.isinf(value) else words(Decimal(repr(float(value))))


def _rounded(value: float, digits: int, mode: str) -> Decimal:
    if value == 0 or math.isinf(value):
        return Decimal(value)
    exact = Decimal(value)
    exact *= 1 - _COMPUTED if mode == ROUND_CEILING else 1 + _COMPUTED
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), mode)
