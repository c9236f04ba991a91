"""Domain files of other projects, recognised by their structure.

- dpsynth: ``{name: {possible_values: [...]}}`` and ``{name: {min_value, max_value, dtype}}``.
- Lomas: ``{columns: {name: {type, categories | lower, upper}}}``.
- SmartNoise: ``{collection: {schema: {table: {name: {type, ...}, row_privacy, ...}}}}``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage.domain import MISSING_LABEL, OTHER_LABEL, Attribute, Label
from seepage.errors import DomainError
from seepage.tables.binning import interval_labels, width_edges
from seepage.tables.show import short, writable

_DPSYNTH_KEYS = frozenset(
    {"possible_values", "min_value", "max_value", "out_of_domain_index", "default_value"}
    | {"public_possible_values", "max_tokens"}
)


@dataclass(frozen=True)
class NotMapped:
    """A column that has no finite list of categories.

    Parameters
    ----------
    reason : str
        What is wrong and what to do.
    optional : bool
        Whether the column can be left out without asking (identifiers).
    """

    reason: str
    optional: bool = False


@dataclass(frozen=True)
class Foreign:
    """Columns of a foreign domain file."""

    columns: Mapping[str, Attribute | NotMapped]
    notes: tuple[str, ...]


def foreign_columns(top: Mapping[Any, Any], name: str, n_bins: int) -> Foreign | None:
    """Translate a foreign domain file; None when it is not one.

    Raises
    ------
    DomainError
        If a SmartNoise file describes several tables.
    """
    if _is_dpsynth(top):
        columns = {key: _dpsynth(key, spec or {}, n_bins) for key, spec in top.items()}
        note = (
            f"The domain comes from the dpsynth file {name}; values outside it are errors here, "
            "where dpsynth would replace or clip them."
        )
        return Foreign(columns, (note,))
    table, nullable, kind = _metadata_table(top, name)
    if table is None:
        return None
    columns = {
        key: _metadata_column(key, spec, n_bins, nullable=nullable) for key, spec in table.items()
    }
    return Foreign(columns, (f"The domain comes from the {kind} metadata {name}.",))


def _is_dpsynth(top: Mapping[Any, Any]) -> bool:
    specs = list(top.values())
    if not all(spec is None or isinstance(spec, Mapping) for spec in specs):
        return False
    return any(
        isinstance(spec, Mapping)
        and (_DPSYNTH_KEYS & spec.keys() or str(spec.get("type")).endswith("Attribute"))
        and not any(isinstance(item, Mapping) for item in spec.values())
        for spec in specs
    )


def _dpsynth(key: str, spec: Mapping[str, Any], n_bins: int) -> Attribute | NotMapped:
    if "possible_values" in spec:
        values = spec["possible_values"]
        if not isinstance(values, list):
            msg = f"expected possible_values of column {key!r} to be a list, got {short(values)}"
            raise DomainError(msg)
        gap = any(x is None for x in values)
        labels = [MISSING_LABEL if x is None else x for x in values]
        plain_labels(key, "possible_values", labels)
        return Attribute(key, tuple(labels), missing=MISSING_LABEL if gap else None)
    if "min_value" in spec and "max_value" in spec:
        attribute = _bounded(
            key,
            spec["min_value"],
            spec["max_value"],
            n_bins,
            whole=spec.get("dtype") == "int",
            edges=spec.get("bin_edges"),
        )
        if spec.get("clip_to_range", True):
            return attribute
        return Attribute(
            key,
            (*attribute.categories, OTHER_LABEL, MISSING_LABEL),
            attribute.edges,
            missing=MISSING_LABEL,
            other=OTHER_LABEL,
        )
    kind = "free text" if "max_tokens" in spec else "an open set of categories"
    return NotMapped(
        f"expected categories or a range for column {key!r}, got {kind}, which has no finite list "
        "of categories. List them (possible_values), or leave the column out (exclude, --exclude)."
    )


def _metadata_table(
    top: Mapping[Any, Any], name: str
) -> tuple[Mapping[str, Any] | None, bool, str]:
    columns = top.get("columns")
    if isinstance(columns, Mapping):
        typed = any(isinstance(spec, Mapping) and "type" in spec for spec in columns.values())
        return (columns if typed else None), False, "Lomas"
    tables: dict[str, Mapping[str, Any]] = {}
    for collection in top.values():
        for schema_name, schema in _mappings(collection):
            for table_name, table in _mappings(schema):
                found = {
                    str(key): spec for key, spec in _mappings(table) if isinstance(spec, Mapping)
                }
                if any("type" in spec for spec in found.values()):
                    tables[f"{schema_name}.{table_name}"] = found
    if len(tables) > 1:
        msg = (
            f"expected one table in {name}, got {len(tables)}: {', '.join(sorted(tables))}. Keep "
            "the one that describes these data."
        )
        raise DomainError(msg)
    return next(iter(tables.values()), None), True, "SmartNoise"


def _mappings(value: object) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        return []
    return [(key, item) for key, item in value.items() if isinstance(item, Mapping)]


def _metadata_column(
    key: str, spec: object, n_bins: int, *, nullable: bool
) -> Attribute | NotMapped:
    if not isinstance(spec, Mapping) or "type" not in spec:
        return NotMapped(f"expected a type for column {key!r}, got {short(spec)}")
    if spec.get("private_id"):
        return NotMapped(
            f"Column {key!r} identifies persons (private_id) and was left out.", optional=True
        )
    attribute = _typed_attribute(key, spec, n_bins)
    if isinstance(attribute, NotMapped):
        return attribute
    replacement: Label | None = spec.get("missing_value")
    if replacement is not None:
        plain_labels(key, "missing_value", [replacement])
        # SmartNoise reads null as this value: it is a category that also stands for null.
        known = replacement in attribute.categories
        labels = attribute.categories if known else (*attribute.categories, replacement)
        return Attribute(key, labels, attribute.edges, missing=replacement)
    if spec.get("nullable", nullable):
        labels = (*attribute.categories, MISSING_LABEL)
        return Attribute(key, labels, attribute.edges, missing=MISSING_LABEL)
    return attribute


def _typed_attribute(key: str, spec: Mapping[str, Any], n_bins: int) -> Attribute | NotMapped:
    kind = str(spec["type"])
    categories = spec.get("categories")
    if categories is not None:
        if not isinstance(categories, list) or any(x is None for x in categories):
            found = short(categories)
            msg = f"expected categories of column {key!r} to be a list of values, got {found}"
            raise DomainError(msg)
        plain_labels(key, "categories", categories)
        return Attribute(key, tuple(categories))
    if kind == "boolean":
        return Attribute(key, (False, True))
    lower, upper = spec.get("lower"), spec.get("upper")
    if kind in {"int", "float"} and lower is not None and upper is not None:
        return _bounded(key, lower, upper, n_bins, whole=kind == "int")
    needed = "lower and upper bounds" if kind in {"int", "float"} else "categories"
    if kind == "datetime":
        needed = "a category derived from the date (month, weekday, hour)"
    return NotMapped(
        f"expected {needed} for column {key!r}, got only its type ({kind}). Complete the file, or "
        "leave the column out (exclude, --exclude)."
    )


def plain_labels(key: str, role: str, labels: list[Any]) -> list[Label]:
    """Return `labels` when they are texts, truth values or numbers that can be written.

    Raises
    ------
    DomainError
        Otherwise.
    """
    for label in labels:
        fine = isinstance(label, (str, bool, float)) or _finite(label)
        if not fine or (isinstance(label, str) and not writable(label)):
            msg = f"expected {role} of column {key!r} to be plain values, got {short(label)}"
            raise DomainError(msg)
    return labels


def _finite(value: object) -> bool:
    """Whether something is a number within the range of floating point."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _bounded(
    key: str, lower: Any, upper: Any, n_bins: int, *, whole: bool, edges: Any = None
) -> Attribute:
    """A number between inclusive bounds: few integers are categories, the rest is binned."""
    if not (_finite(lower) and _finite(upper) and lower <= upper):
        found = f"{short(lower)} and {short(upper)}"
        msg = f"expected finite bounds of column {key!r} in order, got {found}"
        raise DomainError(msg)
    if edges is not None and not (isinstance(edges, list) and all(map(_finite, edges))):
        msg = f"expected bin_edges of column {key!r} to be a list of numbers, got {short(edges)}"
        raise DomainError(msg)
    if edges:
        inner = sorted({float(x) for x in edges if lower < x < upper})
        limits = [float(lower), *inner, float(upper)]
        return Attribute(key, interval_labels(limits), tuple(limits))
    if whole and upper - lower < max(2 * n_bins, 20):
        return Attribute(key, tuple(range(math.ceil(lower), math.floor(upper) + 1)))
    if lower == upper:
        return Attribute(key, (lower,))
    limits = width_edges(np.array([lower, upper], dtype=np.float64), n_bins).tolist()
    return Attribute(key, interval_labels(limits), tuple(limits))
