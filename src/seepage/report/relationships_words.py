"""Retentions and estimates as people read them, the same in text, charts and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage.plan._clear import quantity

if TYPE_CHECKING:
    from seepage.collect.attenuation import Names
    from seepage.plan.relating import RetentionTable


def ranked(result: RetentionTable) -> list[Names]:
    """Relationships, lower orders first, then by what the first allocation keeps."""
    first = result.retentions[result.labels[0]]
    return sorted(result.relationships, key=lambda names: (len(names), -first[names]))


def signed(value: float | None) -> str:
    """A number of either sign; a dash for none."""
    if value is None:
        return "–"
    return quantity(value)
