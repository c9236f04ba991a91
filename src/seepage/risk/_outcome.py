"""What a computation of power gives, and the level it is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seepage.results import Standing
from seepage.risk.protections import Protection

Alternative = Literal["two-sided", "larger", "smaller"]
PowerMethod = Literal["exact", "normal", "conservative", "simulation"]

DROWNED = 1e150
"""Scale of noise beyond which nothing is left of an effect, which is at most 1e100."""


@dataclass(frozen=True)
class Level:
    """Level and side of a test, and how to simulate where that is needed.

    Parameters
    ----------
    alpha : float
        In [0, 1].
    alternative : {"two-sided", "larger", "smaller"}
    draws : int
    seed : int
    """

    alpha: float
    alternative: Alternative
    draws: int
    seed: int

    @property
    def two_sided(self) -> bool:
        """Whether both signs of the effect are looked for."""
        return self.alternative == "two-sided"

    @property
    def tail(self) -> float:
        """Probability in each tail that is used."""
        return self.alpha / 2 if self.two_sided else self.alpha

    def signed(self, effect: float) -> float:
        """Effect in the direction looked for: a test for "smaller" is the mirror of "larger"."""
        return -effect if self.alternative == "smaller" else effect


@dataclass(frozen=True)
class Case:
    """What a design is evaluated for.

    Parameters
    ----------
    effect : float
    n : int
    level : Level
    protection : Protection or None
    method : str
    """

    effect: float
    n: int
    level: Level
    protection: Protection | None = None
    method: PowerMethod = "exact"


@dataclass(frozen=True)
class Outcome:
    """Power with its complement, which is computed by itself and so keeps its digits near 0.

    Parameters
    ----------
    power, missed : float
        Type II error is `missed`.
    method : str
    standing : Standing
    standard_error : float
        Monte Carlo error of one standard deviation; 0 where nothing was simulated.
    assumptions : tuple of str
    error : float
        Most that the law used is known to be off by, for the distribution that was assumed; 0 where
        it is exact or drawn.
    """

    power: float
    missed: float
    method: str
    standing: Standing = Standing.EXACT
    standard_error: float = 0.0
    assumptions: tuple[str, ...] = ()
    error: float = 0.0

    @property
    def simulated(self) -> bool:
        """Whether the power was drawn, so that its last digits mean nothing."""
        return self.method.startswith("simulation")


def powerless(level: Level, method: str, *assumptions: str) -> Outcome:
    """A test that sees pure noise and keeps its level: the power is the level."""
    return Outcome(level.alpha, 1 - level.alpha, method, assumptions=assumptions)


def impossible(level: Level, reason: str) -> Outcome:
    """A test that cannot be computed never rejects, unless it is to reject always."""
    power = 1.0 if level.alpha == 1 else 0.0
    return Outcome(power, 1 - power, "no test", assumptions=(reason,))


def clipped(power: float, missed: float) -> tuple[float, float]:
    """Both in [0, 1] after rounding."""
    return min(max(power, 0.0), 1.0), min(max(missed, 0.0), 1.0)
