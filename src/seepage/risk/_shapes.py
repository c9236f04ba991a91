"""What a plan leaves open about numeric values under randomised response, and what hangs on it."""

from __future__ import annotations

from dataclasses import replace

from seepage.errors import InvalidInputError
from seepage.risk._location import correlation_test_power, mean_power, mean_shapes, slope_power
from seepage.risk._outcome import Case, Outcome
from seepage.risk._pairs import METHOD
from seepage.risk._reported import SUMS
from seepage.risk.designs import (
    Correlation,
    Design,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoSampleMeans,
)

SHAPES = (
    "The plan leaves open how the values are distributed. For skewed values, for heavy and light "
    "tails, and for more or less rounding (not every distribution was tried)"
)
TIES = (
    "The plan leaves open how the two attributes are tied together. For the two ways that are "
    "furthest apart of those that were looked at (not every one was tried)"
)


def left_open(
    design: Design, case: Case, outcome: Outcome
) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """Assumptions of an outcome with what hangs on the distribution of the values, and its range.

    Means depend on it as `shape_powers` says. Correlations and slopes depend on how the attributes
    are tied together: the two ends are looked at. The level that the test has is told too, as the
    critical values are those of normal data.
    """
    said = outcome.assumptions
    if outcome.method not in {SUMS, METHOD} or case.level.alpha in {0.0, 1.0}:
        return said, None
    null = replace(case, effect=0.0)
    found: list[float] = []
    size: float | None
    match design:
        case OneSampleMean() | PairedDifference() | TwoSampleMeans():
            size = mean_power(design, null).power
            found = mean_shapes(design, case)
        case Correlation():
            size = correlation_test_power(design, null).power
            found = [correlation_test_power(design, case, form).power for form in (-1, 1)]
        case Slope():
            try:
                size = slope_power(design, null).power
            except InvalidInputError:  # answers that vary as planned only with the effect
                size = None
            found = [slope_power(design, case, form).power for form in (-1, 1)]
        case _:
            return said, None
    if size is not None:
        said += (f"Without an effect the test rejects with probability {size:.4f}.",)
    if case.effect == 0 and outcome.method == METHOD:
        found = []  # independent records: nothing is left open
    if not found:
        return said, None
    low, high = min(outcome.power, *found), max(outcome.power, *found)
    tried = SHAPES if outcome.method == SUMS else TIES
    text = f"{tried} the probability was found between {low:.4f} and {high:.4f}."
    return (*said, text), (low, high)
