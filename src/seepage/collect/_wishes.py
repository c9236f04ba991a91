"""The wishes of an allocation: checked, reduced to what is free, solved, and rounded safely."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from seepage._numeric import (
    BoolArray,
    FloatArray,
    as_float_array,
    check_epsilon,
    check_probability,
    log_zero_ok,
)
from seepage.collect._allocating import THIN, Case, least_total, solve
from seepage.collect._response_curve import log_retention
from seepage.collect.attenuation import Attributes, Names, Sizes, named, percent, retentions
from seepage.errors import InfeasibleError, InvalidInputError

SMALLEST = 1e-290
"""A budget smaller than this has a retention whose reciprocal may overflow."""


@dataclass(frozen=True, eq=False)
class Wishes:
    """Checked arguments."""

    attributes: Attributes
    total: float
    weights: Mapping[Names, float]
    floors: Mapping[Names, float]
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, domain_or_sizes: Sizes, total: float, relationships: Any, **limits: Any) -> Wishes:
        """Check the arguments of `seepage.collect.allocation.allocate`.

        Raises
        ------
        InvalidInputError
            If one is outside its range.
        """
        attributes = Attributes.of(domain_or_sizes)
        whole = check_epsilon(total, "total")
        if whole.ndim:
            msg = f"expected one total, got an array of shape {whole.shape}"
            raise InvalidInputError(msg)
        weights = _weights(attributes, relationships)
        floors = _floors(attributes, limits["minimum_retention"], weights)
        low = attributes.values(limits["minimum"], "minimum", 0.0)
        high = attributes.values(limits["maximum"], "maximum", math.inf)
        for name, least, most in zip(attributes.names, low.tolist(), high.tolist(), strict=True):
            if least > most:
                msg = f"expected minimum <= maximum for {name!r}, got {least:g} and {most:g}"
                raise InvalidInputError(msg)
        return cls(attributes, float(whole), weights, floors, low, high)

    def rows(self, sets: Iterable[Names]) -> FloatArray:
        """Membership of attributes in relationships, shape (J, d)."""
        listed = list(sets)
        rows = np.zeros((len(listed), len(self.attributes.names)))
        for row, names in zip(rows, listed, strict=True):
            row[[self.attributes.position(name) for name in names]] = 1.0
        return rows

    def value(self, objective: str, x: FloatArray) -> float:
        """The objective at budgets of all attributes."""
        budgets = dict(zip(self.attributes.names, x.tolist(), strict=True))
        sizes = dict(zip(self.attributes.names, self.attributes.sizes.tolist(), strict=True))
        kept = retentions(sizes, budgets, relationships=self.weights)
        if objective == "sum":
            return math.fsum(weight * kept[names] for names, weight in self.weights.items())
        if objective == "worst":
            return min(kept[names] / weight for names, weight in self.weights.items())
        if min(kept.values()) == 0:
            return 0.0
        whole = math.fsum(self.weights.values())
        return math.exp(
            math.fsum(w / whole * math.log(kept[names]) for names, w in self.weights.items())
        )

    def solved(self, objective: str) -> tuple[FloatArray, float]:
        """Budgets of all attributes, after rounding, and the bound of the objective.

        Raises
        ------
        InfeasibleError
            If the limits cannot be met.
        InvalidInputError
            If what is left to divide is so small that its reciprocal overflows.
        """
        names, sizes = self.attributes.names, self.attributes.sizes
        needed = math.fsum(self.low.tolist())
        if needed > self.total:
            name = names[int(np.argmax(self.low))]
            msg = (
                "expected a total that the minimum budgets fit into, "
                f"{needed:g}, got {self.total:g}"
            )
            raise InfeasibleError(msg, name, needed)
        involved = self.rows([*self.weights, *self.floors]).any(axis=0)
        free = involved & (sizes > 1) & (self.high > self.low)
        x = np.where(free, self.high, self.low)
        self._check_reachable(x)
        room = self.total
        if math.isfinite(room):
            room -= math.fsum(self.low[~free].tolist())
        if room >= x[free].sum():
            return x, self.value(objective, x)
        least = self.low[free].sum()
        if room <= least:  # nothing is left to choose; only rounding makes it less
            reduced = self._reduced(free, max(room, math.ulp(0.0) + least * (1 + 1e-15)))
            if not self._met(self.low):
                self._refuse(reduced.case, None)
            return self.low.copy(), self.value(objective, self.low)
        if room < SMALLEST:
            msg = f"expected a total that leaves 0 or {SMALLEST:g} or more, got {self.total:g}"
            raise InvalidInputError(msg)
        return self._searched(objective, self._reduced(free, room))

    def _searched(self, objective: str, reduced: Reduced) -> tuple[FloatArray, float]:
        case, inner = reduced.case, None
        if len(case.limits):
            inner, slack, multipliers = case.safest()
            if slack < THIN:
                # At most one point is feasible, up to rounding.
                for candidate in (inner, case.fill(np.ones(len(inner)))):
                    x = self._rounded(reduced.whole(self.low, candidate), reduced.free)
                    if self._met(x):
                        return x, reduced.bound(objective, math.inf)
                self._refuse(case, multipliers)
        solution = solve(case, objective, inner)
        x = self._rounded(reduced.whole(self.low, solution.budgets), reduced.free)
        step = 1e-16
        while not self._met(x) and inner is not None and step < 1:
            blend = solution.budgets + step * (inner - solution.budgets)
            x = self._rounded(reduced.whole(self.low, blend), reduced.free)
            step *= 4
        return x, reduced.bound(objective, solution.bound)

    def _reduced(self, free: BoolArray, room: float) -> Reduced:
        fixed = np.where(free, 0.0, log_retention(self.low, self.attributes.sizes))

        def rows_and_kept(sets: Iterable[Names]) -> tuple[FloatArray, FloatArray]:
            rows = self.rows(sets)
            return rows * free, np.where(rows > 0, fixed, 0.0).sum(axis=1)

        rows, kept = rows_and_kept(self.weights)
        floors, floors_kept = rows_and_kept(self.floors)
        least = log_zero_ok(np.array(list(self.floors.values()), dtype=np.float64))
        binding = (least > -np.inf) & floors.any(axis=1)
        weights = np.array(list(self.weights.values()))
        useful = rows.any(axis=1) & (kept > -np.inf)
        listed = rows[useful][:, free] if useful.any() else floors[binding][:, free]
        effective = weights[useful] if useful.any() else np.ones(len(listed))
        case = Case(
            self.attributes.sizes[free],
            listed,
            effective,
            kept[useful] if useful.any() else np.zeros(len(listed)),
            floors[binding][:, free],
            least[binding] - floors_kept[binding],
            self.low[free],
            self.high[free],
            room,
        )
        return Reduced(case, free, weights, kept, useful)

    def _kept(self, x: FloatArray) -> dict[Names, float]:
        if not self.floors:
            return {}
        sizes = dict(zip(self.attributes.names, self.attributes.sizes.tolist(), strict=True))
        return retentions(sizes, x.tolist(), relationships=self.floors)

    def _met(self, x: FloatArray) -> bool:
        kept = self._kept(x)
        return all(kept[names] >= least for names, least in self.floors.items())

    def _check_reachable(self, x: FloatArray) -> None:
        """Refuse minimum retentions that even the largest budgets miss."""
        kept = self._kept(x)
        for names, least in self.floors.items():
            at = [self.attributes.position(name) for name in names]
            endless = np.isinf(x[at]) | (self.attributes.sizes[at] == 1)
            if kept[names] < least or (least == 1 and not endless.all()):
                msg = (
                    f"expected maximum budgets under which {named(names)} keeps {least:g}, got "
                    f"ones that keep {kept[names]:.6g}"
                )
                raise InfeasibleError(msg, named(names), math.inf)
            if least == 1 and math.isfinite(self.total) and np.isinf(x[at]).any():
                msg = (
                    f"expected an infinite total, as {named(names)} must keep everything, got "
                    f"{self.total:g}"
                )
                raise InfeasibleError(msg, named(names), math.inf)

    def _refuse(self, case: Case, multipliers: FloatArray | None) -> NoReturn:
        """Say which relationship binds, and what total would do."""
        rest = max(0.0, self.total - case.total)
        needed = least_total(case) + rest
        if multipliers is None:
            multipliers = -case.each_slack(case.low)
        row = case.floors[int(np.argmax(multipliers))]
        # The row of the free attributes, among those that the wishes name.
        free = np.isin(np.arange(len(self.low)), np.flatnonzero(self._free()))
        for names, full in zip(self.floors, self.rows(self.floors), strict=True):
            if (full[free] == row).all() and self.floors[names] > 0:
                break
        msg = (
            f"expected a total of at least {needed:.9g}, as {named(names)} must keep "
            f"{percent(self.floors[names])}, got {self.total:g}"
        )
        raise InfeasibleError(msg, named(names), needed)

    def _free(self) -> BoolArray:
        involved = self.rows([*self.weights, *self.floors]).any(axis=0)
        return np.asarray(involved & (self.attributes.sizes > 1) & (self.high > self.low))

    def _rounded(self, x: FloatArray, free: BoolArray) -> FloatArray:
        """Take off the largest free budgets what all are above the total in some order of summing.

        Where that cannot be done, as minimum budgets leave no room for it, the exact sum fits.
        """
        x = x.copy()
        if not np.isfinite(self.total):
            return x
        for _ in range(1000):
            values = [Fraction(value) for value in x.tolist()]
            excess = sum(values) - Fraction(self.total)
            if excess <= 0 and (margin := _order_margin(values, self.total)):
                excess += margin
            room = free & (x > self.low)
            if excess <= 0 or not room.any():
                return x
            position = int(np.argmax(np.where(room, x, -np.inf)))
            less = min(x[position] - float(excess), np.nextafter(x[position], 0.0))
            x[position] = max(less, self.low[position])
        return x


def _order_margin(values: list[Fraction], total: float) -> Fraction:
    """How far below the total an exact sum must be so that no order of summing exceeds it.

    Each of the d − 1 additions of positive numbers is off by half a unit in the last place of the
    total at most, as long as the partial sums are within it. Nothing is needed for two numbers, as
    rounding is monotone, nor where all partial sums are floating-point numbers.
    """
    positive = [value for value in values if value > 0]
    grid = max((value.denominator for value in positive), default=1)  # a power of two
    if len(positive) <= 2 or Fraction(total) * grid <= 2**53:
        return Fraction(0)
    return Fraction(math.ulp(total)) * (len(positive) - 1) / 2


@dataclass(frozen=True, eq=False)
class Reduced:
    """The budgets that are free, and what the others contribute.

    Parameters
    ----------
    case : Case
    free : array of bool, shape (d,)
    weights, kept : arrays of float, shape (J,)
        Weight of each relationship, and log retention by the attributes that are not free.
    useful : array of bool, shape (J,)
        Relationships that the free budgets change; all of the others are constant.
    """

    case: Case
    free: BoolArray
    weights: FloatArray
    kept: FloatArray
    useful: BoolArray

    def whole(self, low: FloatArray, budgets: FloatArray) -> FloatArray:
        """Budgets of all attributes."""
        x = low.copy()
        x[self.free] = budgets
        return x

    def bound(self, objective: str, log_bound: float) -> float:
        """The bound of the objective over all relationships, from that of the free budgets."""
        if not self.useful.any():
            log_bound = -math.inf
        constant = ~self.useful
        if objective == "sum":
            rest = self.weights[constant] * np.exp(self.kept[constant])
            return math.exp(log_bound) + math.fsum(rest.tolist())
        if objective == "worst":
            ratios = np.exp(self.kept[constant]) / self.weights[constant]
            inner = math.exp(log_bound) if self.useful.any() else math.inf
            return min(inner, float(ratios.min(initial=math.inf)))
        if np.isneginf(self.kept).any():
            return 0.0
        shares = self.weights / self.weights.sum()
        part = float(shares[self.useful].sum())
        return math.exp(float(shares @ self.kept) + (part * log_bound if part else 0.0))


def _weights(attributes: Attributes, given: Any) -> dict[Names, float]:
    """Weights of relationships; all pairs by default."""
    if given is None:
        given = attributes.relationships([min(2, len(attributes.names))])
    if isinstance(given, str) or not isinstance(given, Iterable):
        msg = f"expected a mapping or list of relationships, got {given!r}"
        raise InvalidInputError(msg)
    pairs = given.items() if isinstance(given, Mapping) else [(names, 1.0) for names in given]
    weights = _by_set(attributes, pairs, "weight")
    for names, weight in weights.items():
        if not 0 < weight < math.inf:
            msg = f"expected a positive and finite weight of {named(names)}, got {weight!r}"
            raise InvalidInputError(msg)
    if not weights:
        msg = "expected at least one relationship, got none"
        raise InvalidInputError(msg)
    return weights


def _floors(
    attributes: Attributes, given: Any, weights: Mapping[Names, float]
) -> dict[Names, float]:
    """Minimum retentions; one number is for each relationship."""
    if given is None:
        return {}
    wished = given if isinstance(given, Mapping) else dict.fromkeys(weights, given)
    floors = _by_set(attributes, wished.items(), "minimum retention")
    for names, least in floors.items():
        check_probability(least, f"minimum retention of {named(names)}")
    return floors


def _by_set(
    attributes: Attributes, given: Iterable[tuple[Any, Any]], role: str
) -> dict[Names, float]:
    """Values by sets of attributes, in the order of the attributes; each set once."""
    found: dict[Names, float] = {}
    for key, value in given:
        names = tuple(sorted(attributes.subset(key), key=attributes.position))
        if names in found:
            msg = f"expected one {role} of {named(names)}, got two"
            raise InvalidInputError(msg)
        number = as_float_array(value, f"{role} of {named(names)}")
        if number.ndim:
            msg = f"expected one {role} of {named(names)}, got an array of shape {number.shape}"
            raise InvalidInputError(msg)
        found[names] = float(number)
    return found
