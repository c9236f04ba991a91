"""What a plan leaves open about numeric values under randomised response, and what hangs on it."""

from __future__ import annotations

from dataclasses import replace

from seepage.errors import InvalidInputError
from seepage.risk._location import correlation_test_power, mean_power, slope_power
from seepage.risk._outcome import Case, Outcome
from seepage.risk._pairs import METHOD
from seepage.risk._reported import SUMS, leanings
from seepage.risk.designs import (
    Correlation,
    Design,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoSampleMeans,
)
from seepage.risk.protections import RandomizedResponse


def left_open(
    design: Design, case: Case, outcome: Outcome
) -> tuple[tuple[str, ...], tuple[float, float] | None]:
    """Assumptions of an outcome with what hangs on the distribution of the values, and its range.

    Means depend on the skewness of the values at the order 1/√n, and on higher moments at 1/n: the
    most skewed values to either side are looked at. Correlations and slopes depend on how the
    attributes are tied together: the two ends are looked at. The level that the test has is told
    too, as the critical values are those of normal data.
    """
    said = outcome.assumptions
    if outcome.method not in {SUMS, METHOD} or case.level.alpha in {0.0, 1.0}:
        return said, None
    null = replace(case, effect=0.0)
    found: list[Outcome] = []
    size: float | None
    match design:
        case OneSampleMean() | PairedDifference() | TwoSampleMeans():
            size = mean_power(design, null).power
            protection = case.protection
            groups = 2 if isinstance(design, TwoSampleMeans) else 1
            shaped = isinstance(protection, RandomizedResponse) and protection.size_of(0) > 3
            if shaped and protection is not None and not protection.hides:
                found = [mean_power(design, case, lean) for lean in leanings(groups)]
        case Correlation():
            size = correlation_test_power(design, null).power
            found = [correlation_test_power(design, case, form) for form in (-1, 1)]
        case Slope():
            try:
                size = slope_power(design, null).power
            except InvalidInputError:  # answers that vary as planned only with the effect
                size = None
            found = [slope_power(design, case, form) for form in (-1, 1)]
        case _:
            return said, None
    if size is not None:
        said += (f"Without an effect the test rejects with probability {size:.4f}.",)
    if case.effect == 0 and outcome.method == METHOD:
        found = []  # independent records: nothing is left open
    if not found:
        return said, None
    powers = [other.power for other in (outcome, *found)]
    low, high = min(powers), max(powers)
    text = (
        "For values skewed, or tied together, as far as the plan allows the probability was found "
        f"between {low:.4f} and {high:.4f}; other shapes were not tried."
    )
    return (*said, text), (low, high)
