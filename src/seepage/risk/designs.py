"""The analyst's tests: what is compared, and what is planned about the data.

A design says everything about a test but the effect, the number of records and the level. Effects
are signed; a design states their unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    FloatArray,
    as_float_array,
    check_probability,
    freeze,
)
from seepage.errors import InvalidInputError
from seepage.tradeoff._common import one_number

MAX_RATIO = 1_000_000
"""Largest second group, in units of the first."""


def _finite(value: object, name: str) -> float:
    number = one_number(as_float_array(value, name), name)  # type: ignore[arg-type]  # checked there
    if not math.isfinite(number):
        msg = f"expected a finite {name}, got {value!r}"
        raise InvalidInputError(msg)
    return number


def _ratio(value: float) -> float:
    number = _finite(value, "ratio")
    if not 0 < number <= MAX_RATIO:
        msg = f"expected ratio in (0, {MAX_RATIO:,}], got {value!r}"
        raise InvalidInputError(msg)
    return number


def _inner(value: float, name: str) -> float:
    number = one_number(check_probability(value, name), name)
    if number in {0.0, 1.0}:
        msg = f"expected {name} in (0, 1), got {value!r}"
        raise InvalidInputError(msg)
    return number


def _check_values(value: object, name: str) -> None:
    if not isinstance(value, Values):
        msg = f"expected {name} to be Values, got {value!r}"
        raise InvalidInputError(msg)


def whole(value: object, name: str) -> int:
    """Return a whole number of 0 or more.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return int(value)
    msg = f"expected {name} to be a whole number, 0 or more, got {value!r}"
    raise InvalidInputError(msg)


def _check_flag(value: object, name: str) -> None:
    if not isinstance(value, bool):
        msg = f"expected {name} to be True or False, got {value!r}"
        raise InvalidInputError(msg)


@dataclass(frozen=True)
class Values:
    """A numeric attribute.

    Parameters
    ----------
    sd : float
        Planned standard deviation, in [1e-100, 1e100].
    low, high : float
        Declared range; values outside are clipped before they are protected. Needed for every
        protection.
    mean : float, optional
        Planned mean under the null hypothesis; the middle of the range by default. Only randomised
        response asks for it.
    on_grid : bool
        True where the values are themselves among the k equally spaced answers of randomised
        response, so that none is rounded. Only randomised response asks for it.

    Raises
    ------
    InvalidInputError
        If a number is outside its range, or no data in the range can have this deviation.
    """

    sd: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    mean: float | None = None
    on_grid: bool = False

    def __post_init__(self) -> None:
        _check_flag(self.on_grid, "on_grid")
        sd = _finite(self.sd, "sd")
        low = one_number(as_float_array(self.low, "low"), "low")
        high = one_number(as_float_array(self.high, "high"), "high")
        if not 1e-100 <= sd <= 1e100:
            msg = f"expected sd in [1e-100, 1e100], got {self.sd!r}"
            raise InvalidInputError(msg)
        if not low < high:
            msg = f"expected low to be below high={self.high!r}, got low={self.low!r}"
            raise InvalidInputError(msg)
        if sd > (high - low) / 2 * (1 + 1e-12):
            msg = f"expected sd of at most half the range, {(high - low) / 2:g}, got {sd:g}"
            raise InvalidInputError(msg)
        for name, value in (("sd", sd), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)
        if self.mean is not None:
            mean = _finite(self.mean, "mean")
            if not low <= mean <= high:
                msg = f"expected mean in [{low:g}, {high:g}], got {mean:g}"
                raise InvalidInputError(msg)
            most = (mean - low) * (high - mean)
            if sd * sd > most * (1 + 1e-9):
                msg = (
                    f"expected sd of at most {math.sqrt(most):g} for values with mean {mean:g} in "
                    f"[{low:g}, {high:g}], got {sd:g}"
                )
                raise InvalidInputError(msg)
            object.__setattr__(self, "mean", mean)

    @property
    def width(self) -> float:
        """Length of the declared range.

        Raises
        ------
        InvalidInputError
            If no finite range was declared.
        """
        width = self.high - self.low
        if not width <= 1e100:
            msg = (
                "expected a range of the values (low, high), at most 1e100 long, as protection is "
                f"made for it, got [{self.low!r}, {self.high!r}]"
            )
            raise InvalidInputError(msg)
        return width

    @property
    def off_centre(self) -> float:
        """Mean minus the middle of the range."""
        return 0.0 if self.mean is None else self.mean - self.low - self.width / 2


PLAIN = Values()
"""Values in units of their standard deviation, without a declared range."""


@dataclass(frozen=True)
class OneSampleMean:
    """One mean against a given one. Effect: the difference, in the unit of the values.

    Parameters
    ----------
    values : Values
    known_sd : bool
        True for the z test, which knows the standard deviation; False for the t test.
    """

    values: Values = PLAIN
    known_sd: bool = False

    def __post_init__(self) -> None:
        _check_values(self.values, "values")
        _check_flag(self.known_sd, "known_sd")


@dataclass(frozen=True)
class PairedDifference:
    """The mean of differences within pairs against zero. Effect: that mean.

    Parameters
    ----------
    differences : Values
        Of one pair; a pair is one record, and its difference is what is protected.
    known_sd : bool
        True for the z test, False for the t test.
    """

    differences: Values = PLAIN
    known_sd: bool = False

    def __post_init__(self) -> None:
        _check_values(self.differences, "differences")
        _check_flag(self.known_sd, "known_sd")


@dataclass(frozen=True)
class TwoSampleMeans:
    """The means of two groups. Effect: second minus first, in the unit of the values.

    Parameters
    ----------
    values : Values
        In either group; who belongs to which group is public.
    ratio : float
        Records of the second group for one of the first, in (0, ∞); ``n`` counts the first group,
        the second has ``⌈ratio·n⌉``.
    known_sd : bool
        True for the z test, False for the t test with equal variances.
    """

    values: Values = PLAIN
    ratio: float = 1.0
    known_sd: bool = False

    def __post_init__(self) -> None:
        _check_values(self.values, "values")
        _check_flag(self.known_sd, "known_sd")
        object.__setattr__(self, "ratio", _ratio(self.ratio))


@dataclass(frozen=True)
class OneProportion:
    """One proportion against a given one. Effect: true minus given proportion.

    Parameters
    ----------
    null : float
        The given proportion, in (0, 1).
    """

    null: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "null", _inner(self.null, "null"))


@dataclass(frozen=True)
class TwoProportions:
    """The proportions of two groups. Effect: second minus first.

    Parameters
    ----------
    first : float
        Planned proportion of the first group, in [0, 1].
    ratio : float
        Records of the second group for one of the first, as in `TwoSampleMeans`.
    """

    first: float = 0.5
    ratio: float = 1.0

    def __post_init__(self) -> None:
        first = one_number(check_probability(self.first, "first"), "first")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "ratio", _ratio(self.ratio))


@dataclass(frozen=True, eq=False)
class Independence:
    """Pearson's chi-square test of independence. Effect: Cohen's w = √φ², 0 or more.

    Parameters
    ----------
    joint : array-like of float, shape (r, c)
        A planned table of probabilities (or counts) of the two attributes, r and c of 2 or more.
        It gives the margins and the pattern of the dependence, which is made weaker or stronger
        until it has the effect asked for.

    Raises
    ------
    InvalidInputError
        If it is not a table of numbers ≥ 0 with at least two rows and two columns that occur.
    """

    joint: FloatArray

    def __init__(self, joint: ArrayLike) -> None:
        table = as_float_array(joint, "joint")
        if table.ndim != 2 or min(table.shape) < 2:
            msg = f"expected joint to be a table of 2 × 2 or more, got shape {table.shape}"
            raise InvalidInputError(msg)
        if not (np.isfinite(table) & (table >= 0)).all():
            msg = "expected joint to hold finite numbers of 0 or more, got others"
            raise InvalidInputError(msg)
        table = table / (table.max() or 1.0)  # so that no sum overflows
        used = (table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum()
        if min(used) < 2:
            msg = (
                "expected joint with two rows and two columns that occur, "
                f"got {used[0]} and {used[1]}"
            )
            raise InvalidInputError(msg)
        object.__setattr__(self, "joint", freeze(table / table.sum()))

    @cached_property
    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the rows, shape (r,), and of the columns, shape (c,)."""
        return self.joint.sum(axis=1), self.joint.sum(axis=0)

    @cached_property
    def dependence(self) -> FloatArray:
        """Planned table minus the product of its margins, shape (r, c)."""
        return freeze(self.joint - np.outer(*self.margins))

    @cached_property
    def w(self) -> float:
        """Effect of the planned table itself."""
        expected = np.outer(*self.margins)
        used = expected > 0
        phi2 = float((self.dependence[used] ** 2 / expected[used]).sum())
        return math.sqrt(phi2) if phi2 > 1e-24 else 0.0  # below: rounding of an independent table

    @cached_property
    def largest(self) -> float:
        """Largest effect of this pattern that leaves every probability at 0 or more."""
        if self.w == 0:
            return 0.0
        down = self.dependence < -1e-15
        expected = np.outer(*self.margins)
        return self.w * float((expected[down] / -self.dependence[down]).min())

    def table(self, effect: float) -> FloatArray:
        """Probabilities with the given effect, shape (r, c)."""
        part = 0.0 if effect == 0 else effect / self.w
        table = np.outer(*self.margins) + part * self.dependence
        return np.maximum(table, 0.0)


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two numeric attributes against zero. Effect: ρ in [−1, 1].

    Parameters
    ----------
    first, second : Values
        Normal together, but for clipping to the declared ranges.
    """

    first: Values = PLAIN
    second: Values = PLAIN

    def __post_init__(self) -> None:
        _check_values(self.first, "first")
        _check_values(self.second, "second")


@dataclass(frozen=True)
class Slope:
    """One coefficient of a linear regression against zero.

    Effect: change of the outcome for one unit of the predictor.

    Parameters
    ----------
    outcome : Values
        Its `sd` is that around the regression, given all predictors.
    predictor : Values
        Planned values of the predictor.
    others : int
        Number of other predictors besides the constant, 0 or more.
    shared : float
        R² of the predictor given the others, in [0, 1).
    explained_sd : float
        Standard deviation of what the other predictors explain of the outcome, 0 or more. Only
        randomised response asks for it.
    known_sd : bool
        True for the z test, False for the t test.
    """

    outcome: Values = PLAIN
    predictor: Values = PLAIN
    others: int = 0
    shared: float = 0.0
    explained_sd: float = 0.0
    known_sd: bool = False

    def __post_init__(self) -> None:
        _check_values(self.outcome, "outcome")
        _check_values(self.predictor, "predictor")
        _check_flag(self.known_sd, "known_sd")
        object.__setattr__(self, "others", whole(self.others, "others"))
        shared = one_number(check_probability(self.shared, "shared"), "shared")
        if shared == 1 or (shared > 0 and self.others == 0):
            msg = (
                "expected shared in [0, 1), and 0 without other predictors, "
                f"got {shared!r} with {self.others} others"
            )
            raise InvalidInputError(msg)
        explained = _finite(self.explained_sd, "explained_sd")
        if explained > 1e100:
            msg = f"expected explained_sd of at most 1e100, got {self.explained_sd!r}"
            raise InvalidInputError(msg)
        if explained < 0 or (explained > 0 and self.others == 0):
            msg = (
                "expected explained_sd of 0 or more, and 0 without other predictors, "
                f"got {explained!r} with {self.others} others"
            )
            raise InvalidInputError(msg)
        object.__setattr__(self, "shared", shared)
        object.__setattr__(self, "explained_sd", explained)


Design = (
    OneSampleMean
    | PairedDifference
    | TwoSampleMeans
    | OneProportion
    | TwoProportions
    | Independence
    | Correlation
    | Slope
)


def effect_bounds(design: Design, *, reported: bool = False) -> tuple[float, float]:
    """Smallest and largest effect that a design can have.

    Parameters
    ----------
    design : Design
    reported : bool
        Whether records are answered within the declared ranges, so that means stay inside them.
    """
    match design:
        case OneSampleMean() | TwoSampleMeans() if reported:
            half, off = design.values.width / 2, design.values.off_centre
            return -half - off, half - off
        case PairedDifference() if reported:
            half, off = design.differences.width / 2, design.differences.off_centre
            return -half - off, half - off
        case Slope() if reported:
            # No data of this mean in the range vary more than those at both ends of it.
            half, off = design.outcome.width / 2, design.outcome.off_centre
            room = (half - off) * (half + off) - design.outcome.sd**2 - design.explained_sd**2
            steepest = math.sqrt(max(room, 0.0)) / design.predictor.sd
            return -steepest, steepest
        case OneProportion():
            return -design.null, 1 - design.null
        case TwoProportions():
            return -design.first, 1 - design.first
        case Independence():
            return 0.0, design.largest
        case Correlation():
            return -1.0, 1.0
        case _:
            return -1e100, 1e100


def second_size(n: int, ratio: float) -> int:
    """Records of the second group, ``⌈ratio·n⌉``."""
    return max(1, math.ceil(ratio * n * (1 - 1e-15)))


def releases_several(design: Design) -> bool:
    """Whether a curator releases several noisy numbers, or one that may move either way.

    Laplace noise is then described as pure ε-differential privacy, the most that it can reveal; the
    curve of one number with Laplace noise may be lower.
    """
    if isinstance(design, (OneProportion, TwoProportions)):
        return False
    if isinstance(design, (Independence, Correlation)):
        return True
    return not design.known_sd
