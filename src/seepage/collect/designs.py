"""Designs for collecting several attributes: who randomises what, with which share of the budget.

A design is a function that returns a `CollectionPlan`. Names in the literature: `split` is SPL,
`sampled_views` is random sampling (RS; SMP for views of one attribute), `fake_data` is random
sampling plus fake data (RS+FD, with k-ary randomised response and uniform fakes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from seepage._numeric import check_epsilon, check_size
from seepage.channel import MAX_CELLS
from seepage.collect._weights import sum_rounded
from seepage.collect.claims import Unit, amplified_epsilon
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Mechanism
from seepage.domain import Domain
from seepage.errors import CapacityError, DomainError, InvalidInputError

MAX_JOINT = math.isqrt(MAX_CELLS)
"""Most categories of a unit of several attributes: its table must fit (7,071)."""

MAX_VIEWS = 10_000

SMALLEST_RETENTION = 1e-150
"""Below, reports do not identify frequencies in floating point."""

Kinds = str | Mapping[str, str]
"""Name of a mechanism for all attributes, or for single ones; randomised response for the rest."""

Options = Mapping[str, Mapping[str, Any]]
"""Parameters of the mechanisms of single attributes, besides k and ε."""


def independent(
    domain: Domain,
    budgets: float | Mapping[str, float],
    mechanism: Kinds = "grr",
    groups: Sequence[Sequence[str]] = (),
    options: Options | None = None,
) -> CollectionPlan:
    """Report every attribute through its own mechanism (a Kronecker product of channels).

    Parameters
    ----------
    domain : Domain
    budgets : float or mapping of str to float
        ε of every attribute, or of each one, in [0, ∞]. A group gets the sum of its members',
        rounded down.
        A mechanism that is not determined by an ε ("pram", "table", "lambda") must stay within it.
    mechanism : str or mapping of str to str, default "grr"
        Kind of mechanism; see `seepage.collect.registry.mechanism`. For a group, that of its
        members, which must agree.
    groups : sequence of sequences of str, optional
        Attributes that are randomised together, as one attribute with the product of their
        categories.
    options : mapping of str to mapping, optional
        Further parameters of the mechanism of an attribute, or of a group by any of its members.

    Returns
    -------
    CollectionPlan
        The ε of the record is the sum of the budgets, rounded up.

    Raises
    ------
    InvalidInputError
        If a budget is missing or outside its range, or an attribute is in two groups.
    DomainError
        If a name is unknown.
    CapacityError
        If a group has too many categories together.
    """
    each = _budgets(domain, budgets)
    units = []
    for names in _partition(domain, groups):
        total = sum_rounded((each[name] for name in names), up=False)
        made = _mechanism(domain, names, total, mechanism, options or {})
        units.append(Unit(names, made))
    _check_known(domain, mechanism, options)
    return CollectionPlan(domain, "independent", tuple(units))


def split(
    domain: Domain,
    epsilon: float,
    mechanism: Kinds = "grr",
    groups: Sequence[Sequence[str]] = (),
    options: Options | None = None,
) -> CollectionPlan:
    """Split one budget equally over all attributes (SPL).

    Parameters
    ----------
    domain : Domain
    epsilon : float
        Of the whole record, in [0, ∞].
    mechanism, groups, options
        See `independent`.

    Returns
    -------
    CollectionPlan
        Its `epsilon` is never above `epsilon`, rounding included.
    """
    whole = _one(epsilon)
    d = len(_domain(domain))
    share = whole / d
    if not math.isinf(share) and Fraction(share) * d > Fraction(whole):
        share = math.nextafter(share, 0.0)
    plan = independent(domain, share, mechanism, groups, options)
    if plan.epsilon > whole:  # only where a given table has an ε of its own
        msg = f"expected mechanisms within ε = {whole!r} together, got ε = {plan.epsilon!r}"
        raise InvalidInputError(msg)
    return plan


def sampled_views(domain: Domain, epsilon: float, k: int = 2) -> CollectionPlan:
    """Report one set of `k` attributes, drawn at random, with the whole budget (RS).

    Every set of `k` attributes is a view and all are equally likely, exactly. The view is drawn
    without looking at the record and is part of the report, so ε is that of the view. A view is
    randomised jointly, by randomised response on the product of its categories.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        Of the whole record, in [0, ∞].
    k : int, default 2
        From 1 to the number of attributes.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    CapacityError
        If there were too many views, or too many categories in one.
    """
    whole, d = _one(epsilon), len(_domain(domain))
    size = check_size(k)
    if size > d:
        msg = f"expected k from 1 to the number of attributes ({d}), got {k}"
        raise InvalidInputError(msg)
    count = math.comb(d, size)
    if count > MAX_VIEWS:
        msg = (
            f"expected at most {MAX_VIEWS:,} views, got {count:,} sets of {size} out of {d} "
            "attributes; lower k or leave attributes out"
        )
        raise CapacityError(msg)
    units = tuple(
        Unit(names, _mechanism(domain, names, whole, "grr", {}))
        for names in combinations(domain.names, size)
    )
    return CollectionPlan(domain, "views", units)


def fake_data(domain: Domain, epsilon: float) -> CollectionPlan:
    """Randomise one attribute, drawn in secret, and report uniform fakes for the others (RS+FD).

    Because it stays unknown which value is real, the real one gets the amplified
    ``ε' = ln(d (e^ε − 1) + 1)``. The published ε is not the ε of the record: see
    `seepage.collect.claims.fake_epsilons`, whose exact values the plan claims.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        As published, in [0, ∞].

    Returns
    -------
    CollectionPlan
        Its `epsilon` is exact for records that differ in every attribute and larger than the
        argument; `budgets` are exact for records that differ in one attribute.

    References
    ----------
    Arcolezi, Couchot, Al Bouna and Xiao, "Random sampling plus fake data: multidimensional
    frequency estimates with local differential privacy", CIKM 2021.
    """
    amplified = amplified_epsilon(_one(epsilon), len(_domain(domain)))
    units = tuple(
        Unit((name,), _mechanism(domain, (name,), amplified, "grr", {})) for name in domain.names
    )
    return CollectionPlan(domain, "fake", units)


def joint_size(domain: Domain, names: Sequence[str]) -> int:
    """Number of categories of attributes taken together.

    Raises
    ------
    CapacityError
        If more than `MAX_JOINT`; the message says what they would take.
    """
    size = math.prod(domain[name].size for name in names)
    if len(names) > 1 and size > MAX_JOINT:
        text = " × ".join(f"{name!r} ({domain[name].size:,})" for name in names)
        msg = (
            f"expected at most {MAX_JOINT:,} categories in a group, got {size:,} for {text}: its "
            f"table would take {8e-9 * size**2:,.1f} GB. Leave an attribute out of the group, or "
            "use wider bins."
        )
        raise CapacityError(msg)
    return size


@dataclass(frozen=True)
class GroupForecast:
    """What randomising attributes together costs and gains, before anything is collected.

    Parameters
    ----------
    names : tuple of str
    categories : int
        Cells of their joint table.
    table_bytes : int
        Memory of the table of the joint mechanism, when it is built.
    joint, separate : float
        Root mean square standard error of a cell of the joint table, times the square root of the
        number of records; at uniform frequencies. Randomised jointly, and each by itself.
    """

    names: tuple[str, ...]
    categories: int
    table_bytes: int
    joint: float
    separate: float

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        return (
            f"{' + '.join(map(repr, self.names))} jointly: {self.categories:,} cells, a standard "
            f"error of {self.joint:.3g}/√n in each of them, against {self.separate:.3g}/√n with "
            "separate randomised responses of the same total budget."
        )


def group_forecast(
    domain: Domain, names: Sequence[str], budgets: float | Mapping[str, float]
) -> GroupForecast:
    """Compare joint with separate k-ary randomised response for a group of attributes.

    Parameters
    ----------
    domain : Domain
    names : sequence of str
    budgets : float or mapping of str to float
        ε of each attribute of the domain; the group has the sum of its members'.

    Raises
    ------
    CapacityError
        If the joint table would be too large.

    Notes
    -----
    The inverse W of ``λ·I + (1 − λ)/k`` has the eigenvalues 1, once, and 1/λ, so that
    ``‖W‖_F² = 1 + (k − 1)/λ²``; the squared norms of a Kronecker product multiply. At uniform
    frequencies the variances of the K cells add up to ``(‖W‖_F² − 1)/(K n)``.
    """
    from seepage.collect.retention import retention_from_epsilon

    (group, *_) = _partition(domain.project(names), [names])
    each, size = _budgets(domain, budgets), joint_size(domain, group)

    def norm(epsilon: float, k: int) -> float:
        if k == 1:
            return 1.0
        kept = float(retention_from_epsilon(epsilon, k))
        return 1 + (k - 1) / kept / kept if kept > SMALLEST_RETENTION else math.inf

    together = norm(math.fsum(each[name] for name in group), size)
    apart = math.prod(norm(each[name], domain[name].size) for name in group)
    return GroupForecast(
        group,
        size,
        8 * size * size,
        math.sqrt(together - 1) / size,
        math.sqrt(apart - 1) / size,
    )


def _mechanism(
    domain: Domain, names: Sequence[str], epsilon: float, kinds: Kinds, options: Options
) -> Mechanism:
    from seepage.collect.registry import BY_EPSILON, NAMES, mechanism

    size = joint_size(domain, names)
    chosen = {kinds if isinstance(kinds, str) else kinds.get(name, "grr") for name in names}
    if len(chosen) > 1:
        msg = (
            f"expected one mechanism for the group {' + '.join(map(repr, names))}, got "
            f"{' and '.join(map(repr, sorted(map(str, chosen))))}"
        )
        raise InvalidInputError(msg)
    further: dict[str, Any] = {}
    for name in names:
        further |= options.get(name, {})
    kind = chosen.pop()
    if kind in BY_EPSILON or kind not in NAMES:
        return mechanism(kind, size, epsilon=epsilon, **further)
    made = mechanism(kind, size, **further)
    if made.epsilon > epsilon * (1 + 1e-12):
        msg = (
            f"expected a {kind!r} mechanism for {' + '.join(map(repr, names))} within its budget "
            f"of {epsilon:g}, got one with ε = {made.epsilon:.6g}"
        )
        raise InvalidInputError(msg)
    return made


def _check_known(domain: Domain, kinds: Kinds, options: Options | None) -> None:
    for given in (kinds, options or {}):
        if isinstance(given, Mapping):
            for name in given:
                domain.position(name)


def _partition(domain: Domain, groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Groups and single attributes, in the order of the domain."""
    if isinstance(groups, str) or any(isinstance(group, str) for group in groups):
        msg = f"expected groups as lists of column names, got {groups!r}"
        raise InvalidInputError(msg)
    group_of: dict[str, tuple[str, ...]] = {}
    for group in map(tuple, groups):
        if not group:
            msg = "expected at least one column in every group, got none"
            raise InvalidInputError(msg)
        for name in group:
            domain.position(name)
            if name in group_of or group.count(name) > 1:
                msg = f"expected every column in one group, got {name!r} twice"
                raise InvalidInputError(msg)
        group_of |= dict.fromkeys(group, group)
    return list(dict.fromkeys(group_of.get(name, (name,)) for name in domain.names))


def _budgets(domain: Domain, budgets: float | Mapping[str, float]) -> dict[str, float]:
    _domain(domain)
    if not isinstance(budgets, Mapping):
        return dict.fromkeys(domain.names, _one(budgets))
    for name in budgets:
        domain.position(name)
    absent = [name for name in domain.names if name not in budgets]
    if absent:
        msg = f"expected a budget for every column, got none for {', '.join(map(repr, absent))}"
        raise DomainError(msg)
    return {name: _one(budgets[name], f"epsilon of column {name!r}") for name in domain.names}


def _one(epsilon: float, name: str = "epsilon") -> float:
    value = check_epsilon(epsilon, name)
    if value.ndim:
        msg = f"expected one {name}, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value)


def _domain(domain: Domain) -> Domain:
    if not isinstance(domain, Domain):
        msg = f"expected a Domain, got {domain!r}"
        raise InvalidInputError(msg)
    return domain
