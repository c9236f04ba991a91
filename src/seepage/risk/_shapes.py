"""What a plan leaves open about numeric values under randomised response, and what hangs on it."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

from seepage.errors import InvalidInputError
from seepage.risk._location import correlation_test_power, mean_power, mean_shapes, slope_power
from seepage.risk._outcome import Case, Outcome
from seepage.risk._pairs import METHOD, Shape
from seepage.risk._reported import SUMS
from seepage.risk.designs import (
    Correlation,
    Design,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoSampleMeans,
    Values,
)
from seepage.risk.protections import RandomizedResponse

SHAPES = (
    "The plan leaves open how the values are distributed. For skewed values, for heavy and light "
    "tails, and for more or less rounding (not every distribution was tried)"
)
TIES = (
    "The plan leaves open how the two attributes are tied together. For the two ways that are "
    "furthest apart of those that were looked at, and for more or less rounding (not every one was "
    "tried)"
)
ONE_TIE = (
    "The plan leaves open how the two attributes are tied together; no other way was found that "
    "ties them as strongly."
)
ROUNDING = (
    "The plan leaves open how much rounding adds to the variance. For all and for nothing of it"
)


def left_open(
    design: Design, case: Case, outcome: Outcome
) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """Assumptions of an outcome with what hangs on the distribution of the values, and its range.

    Means depend on it as `shape_powers` says. Correlations and slopes depend on how the attributes
    are tied together: the two ends are looked at. Where the records are so many that none of this
    matters, the variance that rounding adds still does. The level that the test has is told too,
    as the critical values are those of normal data.
    """
    said, response, told = outcome.assumptions, case.protection, outcome.method in {SUMS, METHOD}
    if not isinstance(response, RandomizedResponse) or case.level.alpha in {0.0, 1.0}:
        return said, None
    null = replace(case, effect=0.0)
    found: list[float] = []
    size = None
    match design:
        case OneSampleMean() | PairedDifference() | TwoSampleMeans():
            if told:
                size = mean_power(design, null).power
            found = mean_shapes(design, case)
        case Correlation():
            if told:
                size = correlation_test_power(design, null).power
            shapes = _shapes((design.first, design.second), response, ties=told)
            found = [correlation_test_power(design, case, shape).power for shape in shapes]
        case Slope():
            if told:
                # Answers may vary as planned only with the effect.
                with contextlib.suppress(InvalidInputError):
                    size = slope_power(design, null).power
            shapes = _shapes((design.outcome, design.predictor), response, ties=told)
            found = [slope_power(design, case, shape).power for shape in shapes]
        case _:
            return said, None
    if size is not None:
        said += (f"Without an effect the test rejects with probability {size:.4f}.",)
    if case.effect == 0 and outcome.method == METHOD:
        found = []  # independent records: nothing is left open
    low, high = min([outcome.power, *found]), max([outcome.power, *found])
    if not found or (not told and low == high):
        return said, None
    if low == high:
        return (*said, ONE_TIE), (low, high)
    tried = {SUMS: SHAPES, METHOD: TIES}.get(outcome.method, ROUNDING)
    text = f"{tried} the probability was found between {low:.4f} and {high:.4f}."
    return (*said, text), (low, high)


def _shapes(
    attributes: tuple[Values, Values], response: RandomizedResponse, *, ties: bool
) -> list[Shape]:
    """The ends of what a plan leaves open about two attributes."""
    rounded = any(
        math.isfinite(response.epsilon_of(i)) and not values.on_grid
        for i, values in enumerate(attributes)
    )
    # With little rounding the answers may be too few to be tied as planned: look in between too.
    less = [Shape(0, share) for share in ((2 / 3, 1 / 3, 0.0) if rounded else ())]
    return [*((Shape(-1), Shape(1)) if ties else (Shape(),)), *less]
