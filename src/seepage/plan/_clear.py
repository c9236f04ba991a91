"""Which of several estimated relationships can be told from zero, and which values to take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist, median

import numpy as np

from seepage.collect.collection import CollectionPlan
from seepage.collect.correcting import CANNOT_TELL
from seepage.collect.mechanism import TableMechanism
from seepage.collect.moments import needed_size
from seepage.collect.relationships import Estimate, equal_scores
from seepage.errors import SeepageError

MODERATE = 0.3
"""The correlation for which the number of records is told."""

POWER = 0.8
"""Probability with which a relationship of that strength is to be told from zero."""

MANY_PAIRS = 60
"""From more pairs, so many evenly spaced ones are taken."""

ROUNDING = 1e-12
"""Share of its unit up to which an estimate is rounding: of equal records everything is known."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def threshold(count: int, confidence: float) -> float:
    """Standard errors beyond which one of `count` estimates is told from zero (Bonferroni)."""
    return -NormalDist().inv_cdf((1 - confidence) / (2 * max(1, count)))


def clear_ones(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Estimates that differ from zero, the clearest first.

    All together are wrong with at most the probability that a single interval is. Values outside
    what is possible are never among them: there the reports are too few for normal limits.
    """
    found = [
        (_clearness(item), item)
        for item in estimates
        if item.is_possible and _clearness(item) > threshold(len(estimates), item.confidence)
    ]
    return [item for _, item in sorted(found, key=lambda pair: -pair[0])]


def records_needed(
    plan: CollectionPlan, pairs: Iterable[tuple[str, ...]], count: int, confidence: float
) -> int | None:
    """Records with which a correlation of 0.3 would be told from zero, for a typical pair.

    The median over pairs, at equally frequent categories, with a probability of 80 % and for a
    threshold that allows for `count` relationships; see `seepage.collect.moments.needed_size`.

    Returns
    -------
    int or None
        Two digits, rounded up; None where reports are no values, or records report single views.
    """
    if plan.design != "independent":
        return None
    mechanism = {
        unit.names[0]: unit.mechanism
        for unit in plan.units
        if len(unit.names) == 1 and isinstance(unit.mechanism, TableMechanism)
    }
    usable = [p for p in pairs if len(p) == 2 and set(p) <= set(mechanism)]
    usable = [p for p in usable if min(mechanism[name].k for name in p) > 1]
    errors = threshold(count, confidence) + NormalDist().inv_cdf(POWER)
    sizes = []
    for pair in usable[:: max(1, len(usable) // MANY_PAIRS)]:
        scores = [np.arange(mechanism[name].k, dtype=np.float64) for name in pair]
        spread = math.prod(float(values.std()) for values in scores)
        joint = np.ones([len(values) for values in scores])
        channels = [mechanism[name].channel for name in pair]
        try:
            sizes.append(needed_size(joint, channels, scores, MODERATE * spread / errors))
        except SeepageError:  # ε = 0, or more kinds of reports than fit
            return None
    return rounded_up(median(sizes)) if sizes else None


def rounded_up(number: float) -> int:
    """A number of records to two digits, upwards."""
    power = max(0, math.floor(math.log10(max(number, 1))) - 1)
    step: int = 10**power
    return math.ceil(number / step) * step


def quantity(value: float, digits: int = 4) -> str:
    """A number of either sign as people write it: ``−0.41``, ``39,320``, ``2.1 × 10⁻⁷``."""
    if math.isnan(value):
        text = "nan"
    elif math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    elif value == 0 or 1e-4 <= abs(value) < 10**digits:
        text = f"{value:.{digits}g}"
        text = f"{value:,.0f}" if "e" in text else text
    elif 10**digits <= abs(value) < 1e15:
        text = f"{value:,.0f}"
    else:
        mantissa, power = f"{value:.{min(digits, 3) - 1}e}".split("e")
        text = f"{mantissa} × 10{str(int(power)).translate(_RAISED)}"
    return text.replace("-", "−")


def not_computed(estimates: Sequence[Estimate]) -> str:
    """How many estimates do not exist whatever the number of records, and why; often empty."""
    names = dict.fromkeys(name for item in estimates for name in item.equal)
    count = sum(bool(item.equal) for item in estimates)
    why = equal_scores(tuple(names)) if names else ""
    return f"{count} of {len(estimates)} cannot be computed: {why}." if count else ""


def which_values(both: Sequence[Estimate], count: int) -> str:
    """Which value to take of those of `count` estimates that have two, in one sentence."""
    n = len(both)
    taken = sum(item.recommended == "uncorrected" for item in both)
    unsure = sum(item.better == CANNOT_TELL for item in both)
    rest = "" if n == count else " with both values"
    every = {1: "the relationship", 2: "both relationships"}.get(n, f"all {n} relationships") + rest
    error = "is expected to have the smaller error"
    if taken == 0:
        advice = f"Correcting pays for {every}"
    elif taken == n:
        advice = f"For {every} the uncorrected value {error}"
    else:
        advice = (
            f"For {taken} of {n} relationships{rest} the uncorrected value {error}, for the other "
            f"{n - taken} the corrected one"
        )
    if not unsure:
        return f"{advice}."
    why = "as the reports alone cannot tell"
    if n == 1:
        return f"{advice}; this is judged by its size, {why}."
    some = "this" if unsure == n else f"for {unsure} of them this"
    return f"{advice}; {some} is judged by their mean strength, {why}."


def _clearness(item: Estimate) -> float:
    if item.estimate is None or item.standard_error is None:
        return -1.0
    if abs(item.estimate) <= ROUNDING * item.unit:
        return 0.0
    if item.standard_error == 0:
        return math.inf
    return abs(item.estimate) / item.standard_error
