"""Variance of the answers to randomised response about a numeric attribute."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seepage.errors import InvalidInputError
from seepage.risk.designs import Values
from seepage.risk.protections import RandomizedResponse

ROUNDED = (
    "Values are rounded to the nearest answers above or below, at random and without bias, before "
    "they are randomised; the power is about the least over what rounding can add to the variance."
)
AMONG = "The values are themselves among the answers, as planned: nothing is rounded."


@dataclass(frozen=True)
class Answers:
    """Retention, and variance of the answers.

    Attributes
    ----------
    retention : float
        λ, in [0, 1].
    least, most : float
        Between these is the variance, whatever the distribution of the values.
    mean : float
        Of the values, as a share of the way through the range, in [0, 1].
    inner : pair of float
        Bounds of the variance of the rounded values before they are randomised, in units of the
        squared width.
    size : int
        Number of answers.
    width : float
        Of the range.
    """

    retention: float
    least: float
    most: float
    mean: float
    inner: tuple[float, float]
    size: int
    width: float

    @property
    def reported_mean(self) -> float:
        """Mean of the answers, as a share of the way through the range."""
        return 0.5 + self.retention * (self.mean - 0.5)

    @property
    def rounded(self) -> bool:
        """Whether rounding may add to the variance."""
        return self.inner[1] > self.inner[0]

    def at(self, share: float) -> float:
        """Variance with this share of what rounding can add."""
        return self.least + share * (self.most - self.least)


def answers(
    values: Values,
    protection: RandomizedResponse,
    attribute: int,
    *,
    shift: float = 0.0,
    extra: float = 0.0,
) -> Answers:
    """Answers of an attribute in k equally spaced values.

    A value between two answers is rounded up with probability f, its share of the way, so that its
    mean is kept; this adds f(1−f)·h² to the variance σ², h = width/(k−1), which is h²/4 at most. No
    data of this mean vary by more than (mean − low)·(high − mean). An answer is the rounded value
    with probability λ and otherwise any of the k, so that
    ``Var = λσ² + (1−λ)·width²(k+1)/(12(k−1)) + λ(1−λ)·off²`` with `off` the mean minus the middle.
    With ε = ∞ the value itself is told.

    Parameters
    ----------
    values : Values
    protection : RandomizedResponse
    attribute : int
    shift : float
        Of the mean. The deviation is the planned one, or the nearest that is possible there.
    extra : float
        Variance to add to σ².

    Raises
    ------
    InvalidInputError
        If no values have the planned mean and deviation.
    """
    k = protection.size_of(attribute)
    lam = protection.retention(attribute)
    own, width = values.sd**2 + extra, values.width
    off, step = values.off_centre + shift, width / (k - 1)
    largest = max((width / 2 - off) * (width / 2 + off), 0.0)
    above = math.fmod(max(width / 2 + off, 0.0), step) / step
    smallest = min(above * (1 - above) * step**2, largest)
    if values.on_grid and shift == 0 and own < smallest * (1 - 1e-9):
        msg = (
            f"expected sd of at least {math.sqrt(smallest):g} for values among {k} answers with "
            f"this mean, got {math.sqrt(own):g}"
        )
        raise InvalidInputError(msg)
    if shift == 0 and own > largest * (1 + 1e-9):
        msg = (
            f"expected sd of at most {math.sqrt(largest):g} for values with this mean in the "
            f"range, got {math.sqrt(own):g}"
        )
        raise InvalidInputError(msg)
    mean = min(max(0.5 + off / width, 0.0), 1.0)

    def found(told: tuple[float, float], inner: tuple[float, float]) -> Answers:
        return Answers(lam, *told, mean, (inner[0] / width**2, inner[1] / width**2), k, width)

    if math.isinf(protection.epsilon_of(attribute)):
        on_grid = min(max(own, smallest), largest)
        return found((own, own), (on_grid, on_grid))
    added = 0.0 if values.on_grid else step**2 / 4
    uniform = width**2 * (k + 1) / (12 * (k - 1))
    rest = (1 - lam) * (uniform + lam * off**2)
    least, most = (min(max(own + more, smallest), largest) for more in (0.0, added))
    return found((lam * least + rest, lam * most + rest), (least, most))


def notes(protection: RandomizedResponse, *attributes: Values) -> tuple[str, ...]:
    """What was assumed on rounding the attributes of a test, in sentences."""
    randomised = [v for i, v in enumerate(attributes) if math.isfinite(protection.epsilon_of(i))]
    return tuple(dict.fromkeys(AMONG if v.on_grid else ROUNDED for v in randomised))
