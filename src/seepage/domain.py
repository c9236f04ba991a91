"""What values each attribute can take, in which order.

A domain is declared, or read from a table for analysis. Labels are part of equality, and so are
their types: the category ``1`` is not the category ``"1"``, nor ``True``, nor ``1.0``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from seepage.errors import DomainError, did_you_mean

Label = str | int | float | bool
"""A category label."""

MISSING_LABEL = "(missing)"
OTHER_LABEL = "(other)"

MAX_BITS = 4096
"""Most bits of a whole number as a label: Python does not write numbers of thousands of digits."""


def label_key(label: Label) -> tuple[str, Label]:
    """Return a key under which labels of different types never collide."""
    for kind in (bool, int, float, str):  # bool first: it is an int
        if isinstance(label, kind):
            return kind.__name__, label
    return type(label).__name__, label


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute: a name and its ordered categories.

    Parameters
    ----------
    name : str
        Column name, not empty.
    categories : tuple of str, int, float or bool
        Labels in order, at least one, all different. Includes the labels of `missing` and `other`.
    edges : tuple of float, optional
        Bin edges e_0 < e_1 < … < e_m of a binned number, with m the number of categories that are
        intervals: [e_0, e_1), …, [e_{m−1}, e_m]. ``-inf`` and ``inf`` are allowed at the ends.
    missing : label, optional
        The category that stands for null, NaN and empty values. Without it they are errors.
    other : label, optional
        The category that collects every value that is not listed (pooled rare categories).
        Without it an unlisted value is an error.

    Raises
    ------
    DomainError
        If a rule above is broken.
    """

    name: str
    categories: tuple[Label, ...]
    edges: tuple[float, ...] | None = None
    missing: Label | None = None
    other: Label | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            msg = f"expected an attribute name, a non-empty text, got {self.name!r}"
            raise DomainError(msg)
        object.__setattr__(self, "categories", _as_labels(self.categories, self.name))
        if not self.categories:
            msg = f"expected at least one category for column {self.name!r}, got none"
            raise DomainError(msg)
        for label in self.categories:
            _check_label(label, self.name)
        keys = [label_key(label) for label in self.categories]
        if len(set(keys)) != len(keys):
            twice = Counter(keys).most_common(1)[0][0][1]
            msg = f"expected different categories for column {self.name!r}, got {twice!r} twice"
            raise DomainError(msg)
        for role, special in (("missing", self.missing), ("other", self.other)):
            if special is None:
                continue
            special = _plain_label(special)
            _check_label(special, self.name)
            object.__setattr__(self, role, special)
            if label_key(special) not in keys:
                msg = (
                    f"expected the {role} label of column {self.name!r} among its categories, "
                    f"got {special!r}"
                )
                raise DomainError(msg)
        if (
            self.missing is not None
            and self.other is not None
            and (label_key(self.missing) == label_key(self.other))
        ):
            msg = f"expected different labels for missing and other in column {self.name!r}"
            raise DomainError(msg)
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribute):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        special = (None if x is None else label_key(x) for x in (self.missing, self.other))
        return (self.name, tuple(map(label_key, self.categories)), self.edges, *special)

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @cached_property
    def _index(self) -> dict[tuple[str, Label], int]:
        return {label_key(label): i for i, label in enumerate(self.categories)}

    @property
    def intervals(self) -> tuple[Label, ...]:
        """Labels that are neither the missing nor the other category."""
        special = {label_key(x) for x in (self.missing, self.other) if x is not None}
        return tuple(x for x in self.categories if label_key(x) not in special)

    def index(self, label: Label) -> int:
        """Return the position of `label`.

        Raises
        ------
        DomainError
            If `label` is not a category; the message names the column and near matches.
        """
        try:
            return self._index[label_key(_plain_label(label))]
        except (KeyError, TypeError):
            hint = did_you_mean(label, self.categories)
            msg = f"expected a category of column {self.name!r}, got {label!r}.{hint}"
            raise DomainError(msg) from None


def _as_labels(labels: object, name: object) -> tuple[Label, ...]:
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        msg = f"expected a list of categories for column {name!r}, got {labels!r}"
        raise DomainError(msg)
    return tuple(_plain_label(label) for label in labels)


def _plain_label(label: Any) -> Any:
    """Return the Python value of a NumPy scalar, anything else as it is."""
    return label.item() if isinstance(label, np.generic) else label


def _check_label(label: object, name: str) -> None:
    if not isinstance(label, (str, int, float, bool)):
        msg = f"expected categories of column {name!r} to be text or numbers, got {label!r}"
        raise DomainError(msg)
    if isinstance(label, int) and label.bit_length() > MAX_BITS:
        msg = f"expected whole numbers of at most {MAX_BITS:,} bits in column {name!r}, got more"
        raise DomainError(msg)
    if isinstance(label, float) and not math.isfinite(label):
        msg = f"expected finite categories for column {name!r}, got {label!r}"
        raise DomainError(msg)


def _checked_edges(attribute: Attribute) -> tuple[float, ...]:
    try:
        edges = tuple(float(edge) + 0.0 for edge in attribute.edges or ())  # no negative zero
    except (TypeError, ValueError) as error:
        msg = f"expected numbers as bin edges of {attribute.name!r}, got {attribute.edges!r}"
        raise DomainError(msg) from error
    increasing = all(low < high for low, high in pairwise(edges))
    if len(edges) < 2 or not increasing:
        msg = f"expected increasing bin edges for column {attribute.name!r}, got {list(edges)}"
        raise DomainError(msg)
    if len(attribute.intervals) != len(edges) - 1:
        msg = (
            f"expected {len(edges) - 1} interval labels for column {attribute.name!r}, "
            f"got {len(attribute.intervals)}"
        )
        raise DomainError(msg)
    return edges


@dataclass(frozen=True)
class Domain:
    """Ordered attributes with ordered categories.

    Parameters
    ----------
    attributes : sequence of Attribute
        At least one, with different names.

    Raises
    ------
    DomainError
        If there is no attribute or a name occurs twice.

    Examples
    --------
    >>> domain = Domain.of({"sex": ["Female", "Male"], "smoker": ["no", "yes", "unknown"]})
    >>> domain.names, domain.shape
    (('sex', 'smoker'), (2, 3))
    >>> domain.project(["smoker"]).size
    3
    """

    attributes: tuple[Attribute, ...]
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = tuple(self.attributes) if isinstance(self.attributes, Iterable) else (None,)
        if not all(isinstance(item, Attribute) for item in given):
            msg = f"expected a sequence of Attribute, got {self.attributes!r}"
            raise DomainError(msg)
        object.__setattr__(self, "attributes", given)
        if not self.attributes:
            msg = "expected a domain with at least one column, got none"
            raise DomainError(msg)
        positions: dict[str, int] = {}
        for position, attribute in enumerate(self.attributes):
            if attribute.name in positions:
                msg = f"expected different column names, got {attribute.name!r} twice"
                raise DomainError(msg)
            positions[attribute.name] = position
        object.__setattr__(self, "_positions", positions)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Label]]) -> Domain:
        """Build a domain from a mapping of column names to categories."""
        if not isinstance(columns, Mapping):
            msg = f"expected a mapping of column names to categories, got {columns!r}"
            raise DomainError(msg)
        return cls(
            tuple(Attribute(name, _as_labels(labels, name)) for name, labels in columns.items())
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(item.name for item in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(item.size for item in self.attributes)

    @property
    def size(self) -> int:
        """Number of cells of the full contingency table."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """Return the position of the column `name`.

        Raises
        ------
        DomainError
            If there is no such column; the message names near matches.
        """
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            hint = did_you_mean(name, self.names)
            msg = f"expected a column of the domain, got {name!r}.{hint}"
            raise DomainError(msg) from None

    def project(self, names: Iterable[str]) -> Domain:
        """Return the domain of the given columns, in the given order."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            msg = f"expected a list of column names, got {names!r}"
            raise DomainError(msg)
        return Domain(tuple(self[name] for name in names))
