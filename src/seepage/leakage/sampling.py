"""Leakage estimated from a sample: limits, a bias-reduced estimate and a test of independence.

The plug-in estimate, the leakage of the observed table, picks the pair of rows and the event with
the largest observed contrast, so on a sparse table it is far above the truth even when nothing
leaks. The limits here hold at their stated confidence for every sample size.

Upper limit. The leakage is a maximum over pairs of rows and events, L = max_j θ_j. Let U_j be an
upper limit that covers θ_j with probability 1 − η for each fixed j, and U = max_j U_j. The true
maximiser j* depends on the population only, not on the sample, so Pr(U < L) ≤ Pr(U_{j*} < θ_{j*})
≤ η: no correction for the number of pairs and events is due. It would be due if the limit had to
hold for all events, or for all ε, at once; `simultaneous` divides η by a(a − 1)(2^b − 2), which
covers both by the union bound. A union over events is shorter than a ball of relative entropy
around each row: of b outcomes there are 2^b − 2 events, which costs b·ln 2 nats, while the radius
of the ball is above b − 1 nats (Agrawal 2020).

Lower limit. An event of one pair, or of two groups of rows, is chosen on one half of the sample and
judged on the other half, see `seepage.leakage._half_sample`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage import _envelope
from seepage._numeric import (
    FloatArray,
    IntArray,
    as_float_array,
    check_epsilon,
    extremes_allowed,
    freeze,
    log_ratio,
)
from seepage.counts import _as_counts
from seepage.errors import InvalidInputError
from seepage.leakage import _half_sample
from seepage.leakage._event_limits import UpperLimit, upper_limit
from seepage.leakage._independence import independence_method, independence_test, permutations
from seepage.leakage.confidence import joint_radius
from seepage.results import Interval

SEED = 20_260_801
"""Enters the seed of the split and of the permutations, with the table, when no `rng` is given."""

RECORDS = (
    "The records are independent draws from the population; weights are not counts of records."
)


@dataclass(frozen=True)
class Blame:
    """The secret category whose few records make the upper limit wide.

    Parameters
    ----------
    row : int
        Its position in the table.
    records : int
        Its count. Of the two rows that attain the upper limit, this one has fewer.
    """

    row: int
    records: int


@dataclass(frozen=True)
class SampledLeakage:
    """Leakage of one pair of attributes, estimated from counts.

    Attributes
    ----------
    epsilon : float
        Budget of the released attribute.
    interval : Interval
        Lower limit, bias-reduced estimate, upper limit and their confidence. In nats, in [0, ε].
    plug_in : float
        Leakage of the observed table: biased upwards, badly so on sparse tables.
    bias_reduced : float
        Mean over the two halves of the sample of the leakage of the event that the other half
        chose, within the limits. Biased downwards under dependence, on a large sample by about as
        much as the plug-in estimate is biased upwards.
    blame : Blame or None
        None when the upper limit is 0.
    rows_left_out : tuple of int
        Rows without records, about which nothing is said.
    assumptions : tuple of str
    table : array of int, shape (a, b)
        Counts of the rows with records, for the test of independence.
    seed : int
        Of the permutations of that test, drawn when the limits were computed. So the p-value does
        not depend on when it is asked for.
    """

    epsilon: float
    interval: Interval
    plug_in: float
    bias_reduced: float
    blame: Blame | None
    rows_left_out: tuple[int, ...]
    assumptions: tuple[str, ...]
    table: IntArray = field(repr=False, compare=False)
    seed: int = field(repr=False)

    @property
    def independence_method(self) -> str:
        """How independence is tested.

        "chi-square" when every expected count is 5 or more; "permutation" (of the records of the
        released attribute, exact level) otherwise; "none" for tables of one row or column.
        """
        return independence_method(self.table)

    @cached_property
    def independence_p_value(self) -> float:
        """Of the hypothesis that the attributes are independent; computed on first access."""
        generator = np.random.default_rng(self.seed)
        return independence_test(self.table, generator, permutations(self._error))[0]

    @property
    def distinguishable(self) -> bool:
        """Whether independence is rejected; False: the leakage is indistinguishable from none.

        By a lower limit above 0 or by the test, each at half of the error, so that independent
        attributes are called distinguishable with at most the whole of it (save for the
        approximation of the chi-square distribution). Where the lower limit decides, the test
        is not carried out: its result could not change the answer.
        """
        if self.epsilon == 0:
            return False
        return self.interval.lower > 0 or self.independence_p_value <= self._error

    @property
    def _error(self) -> float:
        return (1 - self.interval.confidence) / 2


def split_generator(counts: IntArray) -> np.random.Generator:
    """Random numbers that depend on the whole table: the same table always gives the same ones.

    A seed common to all tables would not do. With large counts the same stream deals almost the
    same share of every cell, so the error of the limits would depend on how the categories are
    ordered instead of averaging out from sample to sample.
    """
    content = repr(counts.shape).encode() + counts.astype("<i8").tobytes()
    digest = hashlib.sha256(content).digest()
    return np.random.default_rng([SEED, int.from_bytes(digest, "little")])


@extremes_allowed
def sampled_leakage(
    table: ArrayLike,
    epsilon: float,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    rng: np.random.Generator | int | None = None,
) -> SampledLeakage:
    """Leakage with confidence limits, from a table of counts.

    Parameters
    ----------
    table : array-like of int, shape (a, b)
        Number of records; rows are values of the secret attribute, columns of the released one.
    epsilon : float
        Budget of the released attribute, in [0, ∞], chosen without looking at the table.
    confidence : float, default 0.95
        Probability, in (0, 1), that the limits contain the leakage of the population over the
        values of the secret attribute that were observed. Each limit may fail with half of the
        rest.
    simultaneous : bool, default False
        Whether the upper limit holds for all ε at once, so that ε may be chosen after looking.
    rng : numpy.random.Generator or int, optional
        Source of the split into halves and of the permutations. By default they follow from the
        table, so that the same table always gives the same result.

    Returns
    -------
    SampledLeakage

    Raises
    ------
    InvalidInputError
        If the table is not a two-way table of whole numbers with at least one record, or `epsilon`
        or `confidence` is outside its range.

    Examples
    --------
    >>> result = sampled_leakage([[60, 40], [40, 60]], epsilon=1.0)
    >>> round(result.plug_in, 3), result.interval.lower < 0.181 < result.interval.upper
    (0.185, True)
    """
    counts, kept, left_out = _checked_table(table)
    e = _scalar(epsilon, "epsilon")
    check_epsilon(e)
    error = (1 - _checked_confidence(confidence)) / 2
    generator = split_generator(counts) if rng is None else np.random.default_rng(rng)
    upper, plug_in = _upper(counts, e, error, simultaneous=simultaneous)
    lower, estimate = _lower_and_estimate(counts, e, error, generator)
    lower = min(lower, upper.value)
    estimate = min(max(estimate, lower), upper.value)
    return SampledLeakage(
        e,
        Interval(lower, estimate, upper.value, confidence),
        plug_in,
        estimate,
        _blame(counts, kept, upper),
        tuple(left_out.tolist()),
        _assumptions(left_out, simultaneous=simultaneous),
        freeze(counts),
        int(generator.integers(2**63)),
    )


@extremes_allowed
def sampled_upper_limit(
    table: ArrayLike, epsilon: ArrayLike, *, error: float = 0.05, simultaneous: bool = True
) -> float | FloatArray:
    """Upper confidence limit of the leakage.

    Parameters
    ----------
    table : array-like of int, shape (a, b)
        Number of records; rows are values of the secret attribute.
    epsilon : float or array-like of float
        In [0, ∞].
    error : float
        Probability, in (0, 1), that the limit is below the leakage.
    simultaneous : bool, default True
        Whether that is the probability that any of the limits, at any ε, is too low. Otherwise it
        holds for each ε by itself, and only if ε was chosen without looking at the table.

    Returns
    -------
    float or array of float
        In nats, in [0, ε].

    Raises
    ------
    InvalidInputError
        As for `sampled_leakage`.
    """
    counts, _, _ = _checked_table(table)
    e = check_epsilon(epsilon)
    eta = 1 - _checked_confidence(1 - _scalar(error, "error"))
    limits = [_upper(counts, x, eta, simultaneous=simultaneous) for x in e.ravel().tolist()]
    values = [limit.value for limit, _ in limits]
    result = np.array(values).reshape(e.shape)
    return float(result) if np.ndim(epsilon) == 0 else result


def _upper(
    counts: IntArray, epsilon: float, error: float, *, simultaneous: bool
) -> tuple[UpperLimit, float]:
    """Upper limit and plug-in estimate."""
    a, b = counts.shape
    if a < 2 or b < 2:
        return UpperLimit(0.0, -1, -1), 0.0
    P = counts / counts.sum(axis=1, keepdims=True)
    alpha, gap, (x, y), _ = _envelope.best_event(P, epsilon)
    plug_in = float(log_ratio(np.array(alpha), np.array(gap), np.array(epsilon)))
    log_error = float(np.log(error))
    if simultaneous:
        # The logarithm of the number of events, 2^b − 2, without overflow.
        log_error -= np.log(a * (a - 1.0)) + b * np.log(2.0) + np.log1p(-(2.0 ** (1 - b)))
    start = (x, y, alpha, min(alpha + gap, 1.0))
    return upper_limit(counts, epsilon, joint_radius(float(log_error)), start), plug_in


def _lower_and_estimate(
    counts: IntArray, epsilon: float, error: float, rng: np.random.Generator
) -> tuple[float, float]:
    if epsilon == 0 or min(counts.shape) < 2:
        return 0.0, 0.0
    first, second = _half_sample.halve(counts, rng)
    cautions = (_half_sample.BOLD, _half_sample.CAUTIOUS)
    bold, cautious = _half_sample.best_pairs(first, epsilon, cautions)
    (other,) = _half_sample.best_pairs(second, epsilon, cautions[:1])
    estimates = [
        _half_sample.EventCounts.of(judge, pair).estimate(epsilon)
        for pair, judge in ((bold, second), (other, first))
        if pair is not None
    ]
    estimate = max(sum(estimates) / len(estimates), 0.0) if estimates else 0.0
    candidates = [cautious, _half_sample.best_groups(first, epsilon)]
    chosen = max(
        (candidate for candidate in candidates if candidate is not None),
        key=lambda candidate: candidate.score,
        default=None,
    )
    if chosen is None:
        return 0.0, estimate
    judged = _half_sample.EventCounts.of(second, chosen)
    return judged.lower_limit(epsilon, joint_radius(float(np.log(error)))), estimate


def _blame(counts: IntArray, kept: IntArray, upper: UpperLimit) -> Blame | None:
    if upper.value == 0 or upper.power_row < 0:
        return None
    sums = counts.sum(axis=1)
    row = min((upper.alpha_row, upper.power_row), key=lambda index: int(sums[index]))
    return Blame(int(kept[row]), int(sums[row]))


def _assumptions(left_out: IntArray, *, simultaneous: bool) -> tuple[str, ...]:
    said = [RECORDS]
    if not simultaneous:
        said.append("The limits hold for this pair of attributes and this ε, chosen beforehand.")
    if left_out.size:
        said.append(
            f"{left_out.size} secret values without records are left out: the sample says nothing "
            f"about them."
        )
    return tuple(said)


def _checked_table(table: ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
    """Rows with records, their positions, and the positions of the others."""
    as_float_array(table, "table")
    counts = _as_counts(table, "table")
    if counts.ndim != 2 or 0 in counts.shape:
        msg = f"expected table of shape (rows, columns), got shape {counts.shape}"
        raise InvalidInputError(msg)
    sums = counts.sum(axis=1)
    if not sums.any():
        msg = "expected a table with at least one record, got none"
        raise InvalidInputError(msg)
    kept = np.flatnonzero(sums > 0)
    return counts[kept], kept, np.flatnonzero(sums == 0)


def _scalar(value: Any, name: str) -> float:
    array = as_float_array(value, name)
    if array.ndim:
        msg = f"expected {name} to be one number, got shape {array.shape}"
        raise InvalidInputError(msg)
    return float(array)


def _checked_confidence(confidence: float) -> float:
    value = _scalar(confidence, "confidence")
    if not 0 < value < 1:
        msg = f"expected confidence in (0, 1), got {confidence!r}"
        raise InvalidInputError(msg)
    return value
