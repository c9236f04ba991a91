"""Named uncertainty sets: what may be the conditional distribution of the population.

A set says how far the true distribution may be from the known one. Three ways to get one:

* `relative_set`: a margin relative to the known distribution, chosen by the analyst;
* `source_set`: the spread over several sources, such as regions or years;
* `sampling_set`: a confidence region from counts, the only one with a confidence level.

Each is accepted by `robust_leakage` and `Triad.from_conditional` as ``set.limits``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, check_conditional, freeze
from seepage.counts import Counts, PairCounts, _check_same_domain
from seepage.errors import InvalidInputError, did_you_mean
from seepage.leakage.confidence import clopper_pearson
from seepage.leakage.sampling import RECORDS, _checked_confidence, _checked_table
from seepage.leakage.uncertainty import interval_rows, tighten

Measure = Literal["range", "hull", "std", "variance", "mad"]

_MEASURES = ("range", "hull", "std", "variance", "mad")


@dataclass(frozen=True, eq=False)
class UncertaintySet:
    """Distributions that each row of a conditional table may have.

    Attributes
    ----------
    conditional : array of float, shape (a, b)
        The centre: the known distribution, row-stochastic.
    lower, upper : arrays of float, shape (a, b)
        Limits of the entries, tightened to what distributions can attain.
    kind : str
        "relative", "range", "hull", "std", "variance", "mad" or "sampling".
    confidence : float or None
        Probability that all rows of the population lie in the set; None when the set makes no
        such statement.
    rows : tuple of int
        Which values of the secret attribute the rows belong to.
    assumptions : tuple of str
    """

    conditional: FloatArray
    lower: FloatArray
    upper: FloatArray
    kind: str
    confidence: float | None
    rows: tuple[int, ...]
    assumptions: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("conditional", "lower", "upper"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits."""
        return self.lower, self.upper

    def contains(self, conditional: ArrayLike, tolerance: float = 1e-12) -> bool:
        """Whether a conditional table of shape (a, b) lies in the set, to `tolerance`.

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic or its shape differs.
        """
        P = check_conditional(conditional)
        if P.shape != self.lower.shape:
            msg = f"expected a table of shape {self.lower.shape}, got {P.shape}"
            raise InvalidInputError(msg)
        below, above = self.lower - P, P - self.upper
        return bool(max(below.max(), above.max()) <= tolerance)


def relative_set(conditional: ArrayLike, margin: float) -> UncertaintySet:
    """``Δ = e·P``: every probability may be off by a fraction of itself.

    Zeros stay zeros. Source: Dependency Triad paper, section V-D1.

    Parameters
    ----------
    conditional : array-like of float, shape (a, b)
        Row-stochastic.
    margin : float
        e, 0 or more.

    Raises
    ------
    InvalidInputError
        If an argument is outside its range.
    """
    P = check_conditional(conditional)
    e = as_float_array(margin, "margin")
    if e.ndim or not 0 <= e < np.inf:
        msg = f"expected margin to be a finite number, 0 or more, got {margin!r}"
        raise InvalidInputError(msg)
    said = f"No probability differs from the known one by more than {float(e):.4g} of itself."
    lower, upper = interval_rows(P, e * P)
    return UncertaintySet(P, lower, upper, "relative", None, _all_rows(P), (said,))


def source_set(sources: Sequence[ArrayLike], measure: Measure = "range") -> UncertaintySet:
    """Spread over several sources around their unweighted mean.

    None of the measures is a confidence statement: that a further source lies in the set is an
    assumption. "range" and "hull" contain every source given; "std", "variance" and "mad" in
    general do not.

    Parameters
    ----------
    sources : sequence of array-like of float, shapes (a, b)
        Two or more row-stochastic tables over the same categories; see `conditionals`.
    measure : {"range", "hull", "std", "variance", "mad"}
        Δ for each entry: "range", largest minus smallest (Dependency Triad paper, equation 19);
        "std", standard deviation with divisor N − 1 (equation 20); "variance", its square, and
        "mad", mean absolute deviation from the mean with divisor N (section VI-A5). "hull" sets
        the limits to the smallest and largest value themselves, the tightest entry-wise set that
        contains every source.

    Raises
    ------
    InvalidInputError
        If there are fewer than two sources, their shapes differ, one is not row-stochastic, or the
        measure is unknown.
    """
    if measure not in _MEASURES:
        msg = f"expected a measure of spread, got {measure!r}.{did_you_mean(measure, _MEASURES)}"
        raise InvalidInputError(msg)
    tables = [check_conditional(table, f"source {i}") for i, table in enumerate(sources)]
    if len(tables) < 2:
        msg = f"expected two or more sources, got {len(tables)}"
        raise InvalidInputError(msg)
    for i, table in enumerate(tables):
        if table.shape != tables[0].shape:
            msg = f"expected source {i} of shape {tables[0].shape}, got {table.shape}"
            raise InvalidInputError(msg)
    stack = np.stack(tables)
    least, most = stack.min(axis=0), stack.max(axis=0)
    center = np.clip(stack.mean(axis=0), least, most)  # the mean of equal numbers may be rounded
    if measure == "hull":
        lower, upper = tighten(least, most)
    else:
        lower, upper = interval_rows(center, _spread(stack, center, measure))
    said = (
        f"The population lies within the {_WORDS[measure]} of {len(tables)} sources; this is an "
        f"assumption, not a confidence statement."
    )
    return UncertaintySet(center, lower, upper, measure, None, _all_rows(center), (said,))


_WORDS = {
    "range": "range (around the mean)",
    "hull": "smallest and largest values",
    "std": "standard deviation (around the mean)",
    "variance": "variance (around the mean)",
    "mad": "mean absolute deviation (around the mean)",
}


def _spread(stack: FloatArray, center: FloatArray, measure: str) -> FloatArray:
    if measure == "range":
        return np.asarray(np.ptp(stack, axis=0))
    if measure == "mad":
        return np.asarray(np.abs(stack - center).mean(axis=0))
    variance = ((stack - center) ** 2).sum(axis=0) / (len(stack) - 1)
    return np.asarray(variance if measure == "variance" else np.sqrt(variance))


def conditionals(
    tables: Sequence[Counts | PairCounts], secret: str, released: str
) -> tuple[list[FloatArray], tuple[int, ...]]:
    """Conditional tables of several sources over one domain.

    Parameters
    ----------
    tables : sequence of Counts or PairCounts
        Each with both attributes, over the same categories.
    secret, released : str
        Attribute names: rows and columns.

    Returns
    -------
    conditionals : list of arrays of float, shapes (a, b)
        Row-stochastic. Rows without records in one of the sources are left out of all.
    rows : tuple of int
        The categories of `secret` that were kept.

    Raises
    ------
    DomainError
        If an attribute is unknown or the categories differ between sources.
    InvalidInputError
        If no category of `secret` has records in every source.
    """
    chosen = [
        table.pair(secret, released)
        if isinstance(table, PairCounts)
        else table.project([secret, released])
        for table in tables
    ]
    for other in chosen[1:]:
        _check_same_domain(chosen[0].domain, other.domain)
    if not chosen:
        return [], ()
    counts = np.stack([table.values for table in chosen])
    rows = np.flatnonzero((counts.sum(axis=2) > 0).all(axis=0))
    if rows.size == 0:
        msg = f"expected a category of {secret!r} with records in every source, got none"
        raise InvalidInputError(msg)
    kept = counts[:, rows]
    return list(kept / kept.sum(axis=2, keepdims=True)), tuple(rows.tolist())


def sampling_set(table: ArrayLike, confidence: float = 0.95) -> UncertaintySet:
    """Simultaneous confidence region for the rows of a count table.

    Each of the a·b entries gets Clopper–Pearson limits, each of which fails with probability at
    most ``(1 − confidence)/(2ab)``; by the union bound all hold together. Rows without records are
    left out. For the leakage of one table at one ε, `sampled_leakage` gives much smaller limits.

    Parameters
    ----------
    table : array-like of int, shape (a, b)
        Number of records; rows are values of the secret attribute.
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidInputError
        If the table is not one of whole numbers with at least one record, or `confidence` is
        outside its range.
    """
    counts, kept, left_out = _checked_table(table)
    level = _checked_confidence(confidence)
    sums = counts.sum(axis=1, keepdims=True)
    lower, upper = clopper_pearson(counts, sums, (1 - level) / (2 * counts.size))
    said = [RECORDS]
    if left_out.size:
        said.append(f"{left_out.size} secret values without records are left out.")
    P = counts / sums
    lower, upper = tighten(np.minimum(lower, P), np.maximum(upper, P))
    return UncertaintySet(P, lower, upper, "sampling", level, tuple(kept.tolist()), tuple(said))


def _all_rows(P: FloatArray) -> tuple[int, ...]:
    return tuple(range(len(P)))
