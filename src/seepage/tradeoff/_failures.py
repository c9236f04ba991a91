"""How protection fails, carried from curves to what is made of them.

Rounding may leave a power of 1e-13 at α = 0 where there is none; the class of the parts tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from seepage.tradeoff.base import Failure, TradeOff
from seepage.tradeoff.piecewise import PiecewiseLinear

_ORDER: tuple[Failure, ...] = ("none", "graceful", "catastrophic")


def composed_failure(
    parts: Sequence[tuple[TradeOff, int]], *, both_ways: bool = False
) -> Failure | None:
    """Class of all parts together, that of the worst; None where the curve itself shows it.

    Parameters
    ----------
    parts : sequence of (TradeOff, int)
    both_ways : bool
        Whether the null and the alternative may also change their places.
    """
    worst = max((curve.failure for curve, _ in parts), key=_ORDER.index)
    if both_ways and any(_reversed_proves(curve) for curve, _ in parts):
        worst = "catastrophic"
    return carried(worst)


def carried(failure: Failure) -> Failure | None:
    """The class of a new curve; a catastrophic one shows itself by power(0) > 0."""
    return None if failure == "catastrophic" else failure


def _reversed_proves(curve: TradeOff) -> bool:
    """Whether some outcome proves the null."""
    if not isinstance(curve, PiecewiseLinear):
        return False
    return bool((curve.masses()[1] == 0).any())
