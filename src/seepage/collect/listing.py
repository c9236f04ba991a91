"""What estimates have in common when they are listed: columns, headings, words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from seepage.collect.marginals import Marginal
from seepage.collect.projection import AnyMarginal, as_raw
from seepage.collect.routes import AttributeSet

if TYPE_CHECKING:
    from seepage.collect.estimates import AnyEstimates

WAYS = {1: "one", 2: "two", 3: "three", 4: "four"}

LABEL_PREFIXES = ("attribute_", "category_")


def long_columns(tables: Iterable[AnyMarginal]) -> dict[str, list[Any]]:
    """One row for each cell of each table: attributes, categories, estimate."""
    listed = tuple(tables)
    width = max(len(table.names) for table in listed)
    result: dict[str, list[Any]] = {"table": []}
    for axis in range(width):
        result[f"attribute_{axis + 1}"] = []
        result[f"category_{axis + 1}"] = []
    for table in listed:
        cells = as_raw(table).cells
        result["table"] += [" × ".join(table.names)] * len(cells)
        for axis in range(width):
            there = axis < len(table.names)
            names = [table.names[axis] if there else None] * len(cells)
            result[f"attribute_{axis + 1}"] += names
            result[f"category_{axis + 1}"] += [cell[axis] if there else None for cell in cells]
    return result | {"estimate": flat([table.values for table in listed])}


def flat(arrays: Iterable[Any]) -> list[Any]:
    """Return the numbers of arrays, one after the other."""
    return [value for array in arrays for value in array.ravel().tolist()]


def tables_in_words(sets: tuple[AttributeSet, ...]) -> str:
    """Return which tables, as the subject of a sentence."""
    ways = sorted({len(names) for names in sets})
    if len(sets) == 1:
        return f"The table of {' × '.join(sets[0])}"
    word = WAYS.get(ways[0], str(ways[0]))
    kind = f"{word}-way tables" if len(ways) == 1 else "tables"
    return f"{len(sets):,} {kind}"


def table_dict(table: Marginal, confidence: float) -> dict[str, Any]:
    """Return an unbiased table as plain values, with limits at this confidence."""
    lower, upper = table.interval(confidence)
    return table.to_dict() | {"confidence": confidence, "lower": lower, "upper": upper}


def heading(result: AnyEstimates, verdict: str, assumptions: tuple[str, ...]) -> dict[str, Any]:
    """Return what the plain values of every kind of estimates begin with."""
    return {
        "format": "seepage.estimates",
        "version": 1,
        "source": result.source,
        "records": result.size,
        "origin": result.origin,
        "design": result.plan.design,
        "standing": result.standing,
        "verdict": verdict,
        "assumptions": list(assumptions),
    }
