"""Options of `load`, checked, and the choice of columns they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from seepage.domain import Domain, Label
from seepage.errors import DomainError, InvalidInputError, TableError, did_you_mean
from seepage.tables.domain_files import DomainFile, read_domain
from seepage.tables.encode import Binning, Bins
from seepage.tables.notes import listed

Missing = Literal["category", "error", "drop"]


@dataclass(frozen=True)
class Plan:
    """Checked options of `load`."""

    file: DomainFile | None
    columns: tuple[str, ...] | None
    exclude: tuple[str, ...]
    weights: str | None
    bins: Mapping[str, Bins]
    n_bins: int
    binning: Binning
    missing: Missing
    nulls: tuple[Label, ...]
    min_count: int
    max_categories: int
    strip: bool | str | None

    def choose(self, known: Sequence[str]) -> list[str]:
        """Names of the columns to read: attributes in order, then the weights."""
        wanted = self.columns or ()
        weight = () if self.weights is None else (self.weights,)
        for role, names in (
            ("columns", wanted),
            ("exclude", self.exclude if self.file is None else ()),
            ("weights", weight),
            ("bins", tuple(self.bins)),
        ):
            for name in names:
                if name not in known:
                    msg = f"expected {role} to name a column of the table, got {name!r}."
                    raise TableError(msg + did_you_mean(name, known))
        if self.file is not None:
            attributes = list(self.file.domain.names)
            absent = [name for name in attributes if name not in known]
            if absent:
                what = "column" if len(absent) == 1 else "columns"
                msg = f"expected {what} {listed(absent)} of the domain in the table, got none."
                raise DomainError(msg + did_you_mean(absent[0], known))
        else:
            attributes = list(wanted) or list(known)
        out = {*self.exclude, *weight}
        attributes = [name for name in attributes if name not in out]
        if not attributes:
            msg = "expected at least one column, got none"
            raise TableError(msg + (" after leaving columns out" if known else ""))
        return [*attributes, *weight]


def declared(
    domain: object,
    n_bins: int,
    columns: tuple[str, ...] | None,
    exclude: tuple[str, ...] | None,
) -> DomainFile | None:
    """Read the declared domain, projected to the chosen columns."""
    if domain is None:
        return None
    if isinstance(domain, (str, Path)):
        return read_domain(domain, n_bins=n_bins, columns=columns, exclude=exclude or ())
    if not isinstance(domain, Domain):
        msg = f"expected domain to be a Domain or a path, got {type(domain).__name__}"
        raise InvalidInputError(msg)
    chosen = [name for name in columns or domain.names if name not in (exclude or ())]
    if not chosen:
        msg = "expected at least one column, got none after leaving columns out"
        raise TableError(msg)
    note = "Categories were declared in a Domain."
    return DomainFile(domain.project(chosen), notes=(note,), names=domain.names)


def check_choices(binning: object, missing: object, strip: object) -> None:
    """Refuse options that are not among their choices."""
    for role, value, allowed in (
        ("binning", binning, ("width", "quantile")),
        ("missing", missing, ("category", "error", "drop")),
    ):
        if value not in allowed:
            msg = f"expected {role} to be one of {allowed}, got {value!r}"
            raise InvalidInputError(msg)
    if strip is not None and not isinstance(strip, (bool, str)):
        msg = f"expected strip to be true, false or a text of characters, got {strip!r}"
        raise InvalidInputError(msg)


def integer(role: str, value: object, least: int) -> int:
    """Return an integer of at least `least`, or name the option in an error."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        msg = f"expected {role} to be an integer of at least {least}, got {value!r}"
        raise InvalidInputError(msg)
    return int(value)


def name_of(role: str, value: object) -> str | None:
    """Return a column name or None."""
    if value is not None and not isinstance(value, str):
        msg = f"expected {role} to be a column name, got {value!r}"
        raise InvalidInputError(msg)
    return value


def names_of(role: str, value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return different column names, or None when none were given."""
    if value is None:
        return None
    result = (value,) if isinstance(value, str) else tuple(value)
    for name in result:
        if not isinstance(name, str):
            msg = f"expected {role} to be column names, got {name!r}"
            raise InvalidInputError(msg)
        if result.count(name) > 1:
            msg = f"expected {role} to name each column once, got {name!r} twice"
            raise InvalidInputError(msg)
    return result


def checked_bins(bins: object, *, with_domain: bool) -> Mapping[str, Bins]:
    """Return bins as plain Python values."""
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        msg = f"expected bins to map column names to edges, a number or 'none', got {bins!r}"
        raise InvalidInputError(msg)
    if with_domain and bins:
        msg = "expected bins without a declared domain, got both: the domain holds the edges"
        raise InvalidInputError(msg)
    result: dict[str, Bins] = {}
    for name, value in bins.items():
        if isinstance(value, (int, np.integer)):
            value = integer(f"bins of {name!r}", value, 1)
        result[str(name)] = value.tolist() if isinstance(value, np.ndarray) else value
    return result
