"""What randomised response leaves of the relationships between attributes, before collecting.

When each attribute goes through its own k-ary randomised response, every cross-moment of distinct
attributes is multiplied by the product of their retentions λ, whatever scores the categories have
(Ruiz, *Differential privacy with adjustable preservation of multivariate relationships*, Theorem 1,
equation 9). Moments of a single attribute, and other channels, are in `seepage.collect.moments`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, IntArray, check_epsilon, check_size
from seepage.collect._response_curve import retention_curve
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError, did_you_mean

Sizes = Domain | Mapping[str, int] | Sequence[int]
"""A domain, or the number of categories of each attribute; unnamed ones are called X1, X2, …"""

Budgets = float | Mapping[str, float] | Sequence[float]
"""One ε for all attributes, one for each name, or a list in the order of the attributes."""

Names = tuple[str, ...]
"""The attributes of a relationship."""

MAX_RELATIONSHIPS = 200_000
"""Most relationships that one call lists."""


@dataclass(frozen=True, eq=False)
class Attributes:
    """Names and numbers of categories, checked.

    Parameters
    ----------
    names : tuple of str
    sizes : array of int, shape (d,)
    """

    names: tuple[str, ...]
    sizes: IntArray

    @classmethod
    def of(cls, given: Sizes) -> Attributes:
        """Read a domain, a mapping of names to sizes, or a list of sizes.

        Raises
        ------
        InvalidInputError
            If a size is not a whole number of at least 1, or there is none.
        """
        if isinstance(given, Domain):
            return cls(given.names, np.array(given.shape, dtype=np.int64))
        if isinstance(given, Mapping):
            named = dict(given)
        elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
            named = {f"X{i}": size for i, size in enumerate(given, start=1)}
        else:
            msg = f"expected a domain or numbers of categories, got {given!r}"
            raise InvalidInputError(msg)
        for name in named:
            if not isinstance(name, str) or not name:
                msg = f"expected names of attributes as text, got {name!r}"
                raise InvalidInputError(msg)
        if not named:
            msg = "expected at least one attribute, got none"
            raise InvalidInputError(msg)
        sizes = [check_size(size, f"the size of {name!r}") for name, size in named.items()]
        return cls(tuple(named), np.array(sizes, dtype=np.int64))

    def position(self, name: object) -> int:
        """Return the position of an attribute.

        Raises
        ------
        InvalidInputError
            If there is no such attribute; the message names near matches.
        """
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            msg = f"expected an attribute, got {name!r}.{hint}"
            raise InvalidInputError(msg)
        return self.names.index(str(name))

    def subset(self, names: object) -> tuple[str, ...]:
        """Return distinct attributes in the order given; a text is one attribute.

        Raises
        ------
        InvalidInputError
            If one is unknown or comes twice, or there is none.
        """
        if isinstance(names, str):
            names = (names,)
        if not isinstance(names, Iterable) or isinstance(names, (bytes, Mapping)):
            msg = f"expected names of attributes, got {names!r}"
            raise InvalidInputError(msg)
        found = tuple(names)
        for name in found:
            self.position(name)
        if not found or len(set(found)) < len(found):
            msg = f"expected distinct attributes of one relationship, got {found!r}"
            raise InvalidInputError(msg)
        return found

    def relationships(self, orders: Iterable[int]) -> list[tuple[str, ...]]:
        """Return every set of attributes of the given orders, in the order of the attributes.

        Raises
        ------
        InvalidInputError
            If an order is not between 1 and the number of attributes.
        CapacityError
            If there are more than ``MAX_RELATIONSHIPS``.
        """
        wanted = _orders(orders, len(self.names))
        count = sum(math.comb(len(self.names), order) for order in wanted)
        if count > MAX_RELATIONSHIPS:
            msg = f"expected at most {MAX_RELATIONSHIPS:,} relationships, got {count:,}"
            raise CapacityError(msg)
        return [names for order in wanted for names in combinations(self.names, order)]

    def budgets(self, given: Budgets) -> FloatArray:
        """Return ε of each attribute, shape (d,).

        Raises
        ------
        InvalidInputError
            If one is missing, unknown, or outside [0, ∞].
        """
        return self.values(given, "budget")

    def values(self, given: Any, role: str, default: float | None = None) -> FloatArray:
        """Return a number in [0, ∞] for each attribute, from one number, a mapping or a list."""
        if isinstance(given, Mapping):
            for name in given:
                self.position(name)
            missing = [name for name in self.names if name not in given]
            if missing and default is None:
                listed = ", ".join(map(repr, missing))
                msg = f"expected a {role} for every attribute, got none for {listed}"
                raise InvalidInputError(msg)
            given = [given.get(name, default) for name in self.names]
        values = check_epsilon(given, role)
        if values.ndim == 0:
            return np.full(len(self.names), float(values))
        if values.shape != (len(self.names),):
            msg = (
                f"expected one {role} for each of {len(self.names)} attributes, got an array of "
                f"shape {values.shape}"
            )
            raise InvalidInputError(msg)
        return values


def _orders(orders: Iterable[int], d: int) -> list[int]:
    if isinstance(orders, (str, bytes, Mapping)) or not isinstance(orders, Iterable):
        msg = f"expected a list of orders, got {orders!r}"
        raise InvalidInputError(msg)
    found: list[int] = []
    for item in orders:
        order = check_size(item, "an order")
        if order > d:
            msg = f"expected orders from 1 to the number of attributes ({d}), got {order}"
            raise InvalidInputError(msg)
        if order not in found:
            found.append(order)
    if not found:
        msg = "expected at least one order, got none"
        raise InvalidInputError(msg)
    return found


def retention(
    domain_or_sizes: Sizes, budgets: Budgets, subset: Iterable[str] | str | None = None
) -> float:
    """Share of a cross-moment that randomised response keeps: ``Π λ_m`` over a set of attributes.

    Parameters
    ----------
    domain_or_sizes : Domain, mapping of str to int, or sequence of int
        Attributes and their numbers of categories; unnamed ones are called X1, X2, …
    budgets : float, mapping of str to float, or sequence of float
        ε of each attribute, in [0, ∞]. A mapping needs only the attributes of `subset`.
    subset : iterable of str, optional
        Distinct attributes; all by default.

    Returns
    -------
    float
        In [0, 1]: the factor of ``E Π (f_m(X_m) − E f_m(X_m))`` for any scores f_m (equation 9). An
        attribute of one category keeps everything.

    Raises
    ------
    InvalidInputError
        If a name is unknown or comes twice, or a number is outside its range.

    Examples
    --------
    >>> round(retention([4, 4], 1.0), 4)
    0.0903
    """
    attributes = Attributes.of(domain_or_sizes)
    names = attributes.names if subset is None else attributes.subset(subset)
    known = isinstance(budgets, Mapping) and all(name in budgets for name in names)
    values = attributes.values(budgets, "budget", 0.0 if known else None)
    chosen = [attributes.position(name) for name in names]
    return float(np.prod(retention_curve(values[chosen], attributes.sizes[chosen])))


def retentions(
    domain_or_sizes: Sizes,
    budgets: Budgets,
    *,
    orders: Iterable[int] = (2,),
    relationships: Iterable[Iterable[str]] | None = None,
) -> dict[tuple[str, ...], float]:
    """Retention of every relationship of the given orders, or of chosen ones.

    Parameters
    ----------
    domain_or_sizes, budgets
        As in `retention`.
    orders : iterable of int
        2 for covariances, 3 for third cross-moments, and so on.
    relationships : iterable of iterables of str, optional
        Sets of attributes in place of all sets of `orders`.

    Returns
    -------
    dict of tuple of str to float
        In the order of the attributes, or of `relationships`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    CapacityError
        If there are more than 200,000 relationships.
    """
    attributes = Attributes.of(domain_or_sizes)
    kept = retention_curve(attributes.budgets(budgets), attributes.sizes).tolist()
    of = dict(zip(attributes.names, kept, strict=True))
    if relationships is None:
        wanted = attributes.relationships(orders)
    else:
        wanted = [attributes.subset(names) for names in relationships]
    return {names: math.prod(of[name] for name in names) for names in wanted}


def named(names: Iterable[str]) -> str:
    """A relationship in words."""
    return " × ".join(names)


def percent(share: float) -> str:
    """A retention as people read it: 0 and 100 only for nothing and everything."""
    if share in {0.0, 1.0}:
        return f"{100 * share:.0f} %"
    if share < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if share >= 0.9995 else f"{100 * share:.1f} %"
