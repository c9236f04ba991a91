"""How protection fails, carried from curves to what is made of them.

Rounding may leave a power of 1e-13 at α = 0 where there is none; the class of the parts tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from seepage.tradeoff.base import Failure, TradeOff
from seepage.tradeoff.piecewise import PiecewiseLinear

ROUNDED = 1e-12
"""Probability that rounding may leave where there is none."""

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
    null, alternative = curve.masses()
    # Where the class was carried, rounding of a small type II error may look like a proof.
    least = 0.0 if curve.kind is None else ROUNDED
    return bool((null[alternative == 0] > least).any())
