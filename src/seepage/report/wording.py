"""Numbers and labels as people read them, the same in charts and pages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from seepage.domain import Label
from seepage.leakage.sampling import SampledLeakage
from seepage.plan.audit_result import PairLeakage

MAX_LABELS = 12
MAX_LABEL_LENGTH = 60

_UNDRAWABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]"
)
"""Characters that XML 1.0 forbids, other controls, and those that turn the direction of text."""


def drawable(label: object) -> str:
    """Return a label with characters as escapes that no picture or page can hold.

    Surrogates and control characters end the process that renders a chart, and they have no place
    in HTML either; direction-changing characters would reorder what stands beside the label.
    """
    return _UNDRAWABLE.sub(
        lambda found: found[0].encode("unicode_escape").decode("ascii"), str(label)
    )


def drawable_names(names: Iterable[str]) -> dict[str, str]:
    """Return `drawable` names that differ, so that no two columns share a place in a chart."""
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: drawable(name) != name):  # unchanged ones first
        text = drawable(name)
        while text in taken:
            text += "′"
        shown[name] = text
        taken.add(text)
    return shown


def nats(value: float, digits: int = 3) -> str:
    """Return a leakage as text: ``0``, ``<0.001``, ``0.377``, ``∞``."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    smallest = 10.0**-digits
    if abs(value) < smallest:
        return f"<{smallest:.{digits}f}" if value > 0 else f"−<{smallest:.{digits}f}"
    return f"{value:.{digits}f}".replace("-", "−")


def budget(epsilon: float) -> str:
    """Return a budget as text."""
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def strength(leakage: float, epsilon: float) -> float:
    """Position of a leakage on the colour scale, in [0, 1].

    The share of the budget, L/ε. Where the budget is ∞ that says nothing, so 1 − e^−L is taken,
    which is 1 only when a secret value can be ruled out with certainty.
    """
    if leakage <= 0 or epsilon == 0:
        return 0.0
    if math.isinf(epsilon):
        return -math.expm1(-leakage)
    return min(1.0, leakage / epsilon)


def share(leakage: float, epsilon: float) -> str:
    """Return L/ε as a percentage, or a dash where it is not defined."""
    if math.isinf(epsilon) or epsilon == 0:
        return "–"
    percent = 100 * leakage / epsilon
    return "<1 %" if 0 < percent < 1 else f"{percent:.0f} %"


def shorten(label: Label, length: int = MAX_LABEL_LENGTH) -> str:
    """Return a label as text of limited length."""
    text = drawable(label)
    return text if len(text) <= length else text[: length - 1] + "…"


def label_list(labels: Sequence[Label], limit: int = MAX_LABELS) -> str:
    """Return labels in words, the first few when there are many."""
    shown = ", ".join(shorten(label) for label in labels[:limit])
    rest = len(labels) - limit
    return f"{shown} … and {rest} more" if rest > 0 else shown


def limits(sampled: SampledLeakage | None) -> str:
    """Return confidence limits; a question mark when they do not tell leakage from none."""
    if sampled is None:
        return "–"
    low, high = (nats(x, 2) for x in (sampled.interval.lower, sampled.interval.upper))
    return f"{low} – {high}" + ("" if sampled.distinguishable else " ?")


def against(pair: PairLeakage) -> str:
    """Return the two secret values of the worst case in words."""
    if pair.secret_values is None:
        return "–"
    first, second = pair.secret_values
    return f"{shorten(first)} against {shorten(second)}"
