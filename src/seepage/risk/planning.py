"""Effect and number of records that a test needs: the inverse questions, on the safe side."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seepage._numeric import check_probability
from seepage.errors import InfeasibleError
from seepage.results import Result, Standing
from seepage.risk._families import largest
from seepage.risk._outcome import Alternative, Case, Level, Outcome, PowerMethod
from seepage.risk.designs import (
    Correlation,
    Design,
    Independence,
    OneProportion,
    Slope,
    TwoProportions,
    effect_bounds,
)
from seepage.risk.power import (
    MAX_RECORDS,
    PowerResult,
    check_design,
    check_effect,
    check_level,
    check_records,
    describe,
    evaluate,
    power,
    records,
)
from seepage.risk.protections import Protection, RandomizedResponse
from seepage.tradeoff._common import one_number

DRAWS = 10_000
"""Draws of each simulation within a search."""


@dataclass(frozen=True, eq=False)
class NeedResult(Result):
    """Smallest effect, or number of records, with which a test reaches a power.

    Attributes
    ----------
    quantity : {"effect", "n"}
    value : float
        An effect carries its sign; a number of records is whole.
    target : float
        Power asked for.
    at : PowerResult
        Evaluated again at `value`; its power is at least `target`.
    """

    quantity: Literal["effect", "n"]
    value: float
    target: float
    at: PowerResult

    @property
    def standing(self) -> Standing:
        """That of the power at the value found."""
        return self.at.standing

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the power at the value found."""
        return self.at.assumptions

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        under = "" if self.at.protection is None else f" under {self.at.protection}"
        test = describe(self.at.design)
        if self.quantity == "n":
            return (
                f"The {test} finds an effect of {self.at.effect:g} with probability "
                f"{self.target:g} or more from {records(self.at.n)} on{under}."
            )
        return (
            f"With {records(self.at.n)} the {test} finds effects from {self.value:.4g} on with "
            f"probability {self.target:g} or more{under}."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return one row: what was asked and what came out."""
        return {"quantity": [self.quantity], "value": [self.value], **self.at.columns()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "quantity": self.quantity,
            "value": self.value,
            "target": self.target,
            "at": self.at.to_dict(),
        }


def minimum_detectable_effect(
    design: Design,
    n: int,
    target: float = 0.8,
    alpha: float = 0.05,
    *,
    alternative: Alternative = "two-sided",
    protection: Protection | None = None,
    method: PowerMethod = "exact",
    draws: int = DRAWS,
    rng: int = 0,
) -> NeedResult:
    """Smallest effect that a test finds with a given probability.

    Parameters
    ----------
    design, n, alpha, alternative, protection, method, draws, rng
        As in `power`.
    target : float
        Power, in [0, 1].

    Returns
    -------
    NeedResult
        An effect is looked for in the positive direction, for alternative "smaller" in the
        negative one. It reaches the target when evaluated again, and the floating-point number
        next to it does not (the next of 24 bits, where the power is simulated).

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    InfeasibleError
        If no effect that the design can have reaches the target.
    """
    check_design(design)
    level = check_level(alpha, alternative, draws, rng)
    size, wanted = check_records(n), _target(target)
    sign = -1.0 if alternative == "smaller" else 1.0
    bounds = effect_bounds(design, reported=isinstance(protection, RandomizedResponse))
    cap = -bounds[0] if sign < 0 else bounds[1]

    def at(effect: float) -> Outcome:
        return evaluate(design, Case(sign * min(effect, cap), size, level, protection, method))

    check_certain(design, wanted, level, protection)
    best = at(cap)
    if wanted == 1 and level.alpha < 1:  # of no smaller one it is certain, though it may round to 1
        found = cap if reaches(best, wanted) else None
    else:
        coarse = best.simulated or (isinstance(design, TwoProportions) and best.error > 0)
        found = least(lambda x: reaches(at(x), wanted), coarse=coarse)
    if found is None:
        msg = (
            f"expected some effect with power {wanted:g} at n = {size:,}, got at most "
            f"{best.power:.6g} at the largest effect, {sign * cap:g}{_why(level, protection, best)}"
        )
        if isinstance(design, Independence) and design.w > 0:
            msg += f"; the planned table itself has an effect of {design.w:.6g}"
        raise InfeasibleError(msg, describe(design), best.power)
    value = sign * found if found else 0.0
    again = power(
        design, value, size, alpha, alternative=alternative, protection=protection, method=method,
        draws=draws, rng=rng,
    )  # fmt: skip
    return NeedResult("effect", value, wanted, again)


def sample_size(
    design: Design,
    effect: float,
    target: float = 0.8,
    alpha: float = 0.05,
    *,
    alternative: Alternative = "two-sided",
    protection: Protection | None = None,
    method: PowerMethod = "exact",
    draws: int = DRAWS,
    rng: int = 0,
) -> NeedResult:
    """Smallest number of records with which a test finds an effect with a given probability.

    Parameters
    ----------
    design, effect, alpha, alternative, protection, method, draws, rng
        As in `power`.
    target : float
        Power, in [0, 1].

    Returns
    -------
    NeedResult
        The number reaches the target and one record less does not. The power of the tests of
        counts, and of every simulated one, is not quite monotone in n: of the numbers just below
        (about 5·√n of them for one proportion, at most 500; 20 for two, for tables and for means of
        randomised records; 5 for their correlations and slopes) the smallest that reaches the
        target is taken.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    InfeasibleError
        If not even ``MAX_RECORDS`` records are enough.
    """
    shift = check_effect(design, effect, protection)
    level, wanted = check_level(alpha, alternative, draws, rng), _target(target)

    @functools.cache
    def meets(n: int) -> bool:
        return reaches(evaluate(design, Case(shift, n, level, protection, method)), wanted)

    check_certain(design, wanted, level, protection, shift)
    low, high = 0, 1
    while not meets(high):
        if high == MAX_RECORDS:
            best = evaluate(design, Case(shift, high, level, protection, method))
            msg = (
                f"expected a number of records with power {wanted:g}, got {best.power:.6g} with "
                f"{high:,} records{_why(level, protection, best)}"
            )
            raise InfeasibleError(msg, describe(design), best.power)
        low, high = high, min(2 * high, MAX_RECORDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    window = {
        OneProportion: min(500, 20 + 5 * math.isqrt(high)),
        TwoProportions: 20,
        Independence: 20,
    }
    answered = 0
    if isinstance(protection, RandomizedResponse) and method == "exact":
        answered = 5 if isinstance(design, (Correlation, Slope)) else 20
    found, last = high, 0
    while found != last:  # until none of the numbers just below reaches the target
        last = found
        start = max(1, found - window.get(type(design), answered))
        found = next(n for n in range(start, found + 1) if meets(n))
    again = power(
        design, shift, found, alpha, alternative=alternative, protection=protection,
        method=method, draws=draws, rng=rng,
    )  # fmt: skip
    return NeedResult("n", found, wanted, again)


def reaches(outcome: Outcome, target: float) -> bool:
    """Whether a power is at least the target; one of 1 misses nothing, whatever rounding says."""
    return outcome.power >= target and (target < 1 or outcome.missed == 0)


def check_certain(
    design: Design,
    target: float,
    level: Level,
    protection: Protection | None,
    effect: float | None = None,
) -> None:
    """Refuse a power of 1 where no test is certain, whatever rounding says.

    Only proportions of 0 and 1 and correlations of ±1, without noise, leave nothing to chance.

    Raises
    ------
    InfeasibleError
        If the target is 1 and some of it is always missed.
    """
    if target < 1 or level.alpha == 1:
        return
    certain = isinstance(design, (OneProportion, Correlation)) or (
        isinstance(design, TwoProportions) and design.first in {0.0, 1.0}
    )
    largest_one = effect is None or effect in effect_bounds(design)
    if certain and largest_one and (protection is None or protection.absent):
        return
    msg = (
        f"expected a power below 1, as no {describe(design)} is certain to find an effect, "
        f"got {target:g}"
    )
    raise InfeasibleError(msg, describe(design), 1.0, ("a power of 0.99",))


def _why(level: Level, protection: Protection | None, best: Outcome) -> str:
    """Why not even the most there can be is enough, where it has a reason of its own."""
    if level.alpha == 0:
        return ", as a test at level 0 never rejects"
    if best.method == "no test":
        return ", as there are too few records for the test"
    if protection is not None and protection.hides:
        return ", as what is released is pure noise"
    return ""


def least(meets: Callable[[float], bool], *, coarse: bool = False) -> float | None:
    """Smallest number in [0, ∞] that meets a condition, to the last unit; None when ∞ does not.

    Parameters
    ----------
    meets : callable
        Taken to change once, from false to true.
    coarse : bool
        Only numbers of 24 bits are looked at: enough where the condition is simulated.
    """

    @functools.cache
    def tried(value: float) -> bool:
        return meets(value)

    def look(value: float) -> float:
        if not coarse or math.isinf(value):
            return value
        mantissa, exponent = math.frexp(value)
        whole = math.ceil(math.ldexp(mantissa, 24))
        # The last of them would be rounded up beyond every number.
        return math.ldexp(min(whole, 2**24 - (exponent == 1024)), exponent - 24)

    last = largest(lambda value: not tried(look(value)))
    if last is None:
        return 0.0
    if math.isinf(last):
        return None
    return look(math.inf if last == np.finfo(float).max else float(np.nextafter(last, math.inf)))


def _target(target: float) -> float:
    return one_number(check_probability(target, "target"), "target")
