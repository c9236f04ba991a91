"""Where the wishes of both sides exclude each other: the nearest that do not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from seepage.plan.power_rooms import KINDS, Room, Wishes, outcome_of, protected_curve
from seepage.risk._rounding import round_down, round_up, words
from seepage.risk.power import PowerResult, power
from seepage.risk.selection import Limit
from seepage.risk.utility import protection_of

Kept = Literal["test", "limit", "both"]

MOST_RECORDS = 10**6
"""No more records than this are proposed, nor more than `MOST_TIMES` those there are."""

MOST_TIMES = 1000

_STARTS: dict[Kept, str] = {
    "test": "Keep the test: accept ",
    "limit": "Keep the limit: accept ",
    "both": "Keep both: take ",
}


@dataclass(frozen=True)
class Nearest:
    """A change of one wish after which a family of protections meets both sides.

    Parameters
    ----------
    family : {"laplace", "gaussian", "randomized_response"}
    keep : {"test", "limit", "both"}
        The wish that is left as it is; with more records both are.
    quantity : str
        What changes: "attack_power", "relative_risk", "posterior", "target_loss" or "n".
    value : float
        To what: rounded to the side on which the wishes can be met.
    text : str
        The same in words.
    """

    family: str
    keep: Kept
    quantity: str
    value: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "family": self.family,
            "keep": self.keep,
            "quantity": self.quantity,
            "value": self.value,
            "text": self.text,
        }


def find_nearest(
    result: PowerResult, room: Room, wishes: Wishes, limit: Limit | None
) -> tuple[Nearest, ...]:
    """The nearest wishes that a family meets, where it does not meet those that were given."""
    if room.utility is None or room.most is None or limit is None:
        return ()
    family, found = KINDS[room.family], []
    if math.isfinite(room.least):
        reached = limit.of(protected_curve(result.design, room.family, room.least, wishes.k))
        if math.isfinite(reached):
            shown = round_up(reached)
            if limit.measure != "relative_risk":
                shown = min(shown, type(shown)(1))
            name = "attack_power" if limit.measure == "power" else limit.measure
            what = {
                "attack_power": f"attack power {words(shown)}",
                "relative_risk": f"beliefs multiplied by {words(shown)}",
                "posterior": f"a belief of {words(shown)}",
            }[name]
            found.append(Nearest(room.family, "test", name, float(shown), f"{what} ({family})"))
    at_limit = _power(result, room, wishes, result.n)
    loss = _loss(at_limit.type2, at_limit.unprotected_type2, wishes.rule)
    if math.isfinite(loss):
        up = round_up(loss)
        what = "a loss of" if wishes.rule == "absolute" else "a relative loss of"
        told = f"{what} {words(up)} (power {words(round_down(at_limit.power))}, {family})"
        found.append(Nearest(room.family, "limit", "target_loss", float(up), told))
    n = _records(result, room, wishes)
    if n is not None:
        found.append(Nearest(room.family, "both", "n", n, f"{n:,} records ({family})"))
    return tuple(found)


def sentences(found: Iterable[Nearest]) -> str:
    """Nearest wishes of several families in words."""
    every = list(found)
    said = []
    for keep, start in _STARTS.items():
        texts = [item.text for item in every if item.keep == keep]
        if texts:
            said.append(f"{start}{' or '.join(texts)}.")
    return " ".join(said)


def _power(result: PowerResult, room: Room, wishes: Wishes, n: int) -> PowerResult:
    """The test with so many records, at the largest parameter within the limit."""
    return power(
        result.design, result.effect, n, result.alpha, alternative=result.alternative,
        protection=protection_of(room.family, room.most or 0.0, wishes.k),
        draws=wishes.draws, rng=wishes.rng,
    )  # fmt: skip


def _loss(missed: float, bare: float, rule: str) -> float:
    """What is lost in the sense of a rule, absolute or relative; ∞ where there is no number.

    From the type II errors with and without protection.
    """
    if rule == "absolute":
        return max(0.0, missed - bare)
    if rule == "relative" and bare > 0:
        return max(0.0, missed / bare - 1)
    return math.inf


def _records(result: PowerResult, room: Room, wishes: Wishes) -> int | None:
    """Number of records from which on the loss is within the wish: the first of its stretch."""
    wish, most, k = wishes.target_loss, room.most, wishes.k
    if wish is None or not most:
        return None
    if _power(result, room, wishes, result.n).standard_error:  # a draw for each size is too slow
        return None

    def meets(n: int) -> bool:
        missed, bare = (
            outcome_of(result, n, protection_of(room.family, x, k), wishes, wishes.draws).missed
            for x in (most, math.inf)
        )
        return _loss(missed, bare, wishes.rule) <= wish

    low, high = result.n, 2 * result.n
    top = min(MOST_RECORDS, MOST_TIMES * result.n)
    while high <= top and not meets(high):
        low, high = high, 2 * high
    if high > top:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high
