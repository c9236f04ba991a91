"""Checks of the parameters of mechanisms."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from seepage._numeric import check_epsilon, check_size
from seepage.channel import MAX_CELLS
from seepage.collect._weights import BEYOND, CONTEXT, exp_bounds
from seepage.errors import CapacityError, InvalidInputError, did_you_mean


def check_capacity(rows: int, columns: int, what: str, most: int = MAX_CELLS) -> None:
    """Refuse an array that would not fit, before it is made.

    Raises
    ------
    CapacityError
        If it would have more than `most` entries.
    """
    if rows * columns > most:
        msg = f"expected {what} of at most {most:,} entries, got {rows:,} × {columns:,}"
        raise CapacityError(msg)


def check_budget(epsilon: Any, k: int) -> float:
    """Return one ε in [0, ∞] as a float; 0 for a single category, of which nothing can be told."""
    value = check_epsilon(epsilon)
    if value.ndim:
        msg = f"expected one epsilon, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value) + 0.0 if k > 1 else 0.0


def set_size(mechanism: Any) -> int:
    """Check the field `k` of a frozen mechanism and store it as a plain int."""
    k = check_size(mechanism.k)
    object.__setattr__(mechanism, "k", k)
    return k


def set_budget(mechanism: Any, k: int) -> float:
    """Check the field `epsilon` of a frozen mechanism and store it as a plain float."""
    epsilon = check_budget(mechanism.epsilon, k)
    object.__setattr__(mechanism, "epsilon", epsilon)
    return epsilon


def check_variant(variant: Any, known: tuple[str, ...]) -> str:
    """Return `variant` if it is one of the known names."""
    if not isinstance(variant, str) or variant not in known:
        msg = (
            f"expected variant to be one of {', '.join(map(repr, known))}, got {variant!r}."
            f"{did_you_mean(variant, known) if isinstance(variant, str) else ''}"
        )
        raise InvalidInputError(msg)
    return variant


def plain(value: float) -> float | str:
    """A number as JSON can hold it; infinity as the text "inf"."""
    return "inf" if value == math.inf else value


def exp_rounded(epsilon: float, ceiling: int) -> int:
    """e^ε rounded to a whole number, the same on every machine; at most `ceiling` < 2^64."""
    if epsilon > BEYOND:
        return ceiling
    return min(int(exp_bounds(epsilon)[0].to_integral_value(ROUND_HALF_EVEN)), ceiling)


def share_rounded(k: int, epsilon: float) -> int:
    """``k / (e^ε + 1)`` rounded to a whole number, the same on every machine."""
    if epsilon > BEYOND:
        return 0
    share = CONTEXT.divide(Decimal(k), CONTEXT.add(exp_bounds(epsilon)[0], Decimal(1)))
    return int(share.to_integral_value(ROUND_HALF_EVEN))
