"""Tables made into distributions, and made to agree: separate steps after the unbiased estimate.

Each step helps (no negative frequencies, no contradictions between tables) and each has its price:
what comes out is no longer unbiased, and the standard errors of the raw table do not apply to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, freeze
from seepage.collect.marginals import (
    Marginal,
    free_name,
    label_columns,
    simulation_note,
)
from seepage.collect.routes import AttributeSet
from seepage.domain import Domain
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing

ProjectMethod = Literal["simplex", "clip"]

SIMPLEX = "Euclidean projection onto the distributions"
CLIP = "negative values set to 0, then divided by the sum"
CONSISTENT = "least squares agreement with the overlapping tables"


@dataclass(frozen=True, eq=False)
class AdjustedMarginal(Result):
    """A table after one or more steps that made it a distribution, or agree with others.

    Attributes
    ----------
    raw : Marginal
        The unbiased estimate, with standard errors and intervals.
    values : array of float
    steps : tuple of str
        What was done, in order.
    standing : Standing
        "estimate" when the step is consistent (its error vanishes with many records),
        "heuristic" otherwise.
    assumptions : tuple of str
        What to know about the steps.
    """

    raw: Marginal
    values: FloatArray
    steps: tuple[str, ...]
    standing: Standing
    assumptions: tuple[str, ...]

    @property
    def domain(self) -> Domain:
        """The attributes, one for each axis."""
        return self.raw.domain

    @property
    def names(self) -> AttributeSet:
        """The attributes, in the order of the axes."""
        return self.raw.names

    @property
    def records(self) -> int:
        """Number of records behind the estimate."""
        return self.raw.records

    @property
    def simulated(self) -> bool:
        """Whether a seeded generator drew some of the reports."""
        return self.raw.simulated

    @property
    def moved(self) -> float:
        """Half the sum of absolute differences to the raw table."""
        return float(np.abs(self.values - self.raw.values).sum() / 2)

    def project(self, method: ProjectMethod = "simplex") -> AdjustedMarginal:
        """Return the table as a distribution; see `project`."""
        return project(self, method)

    @property
    def verdict(self) -> str:
        """What was done, in one sentence."""
        return (
            f"The table of {' × '.join(self.names)} after {'; then '.join(self.steps)} "
            f"({self.standing}) differs from the unbiased one by {self.moved:.4f} in total "
            f"variation{simulation_note(self.simulated)}."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each cell: labels, the value, and the unbiased one with its error."""
        return label_columns(self.domain) | {
            free_name("estimate", self.names): self.values.ravel().tolist(),
            free_name("unbiased", self.names): self.raw.values.ravel().tolist(),
            free_name("standard_error_unbiased", self.names): (
                self.raw.standard_errors.ravel().tolist()
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "attributes": list(self.names),
            "categories": [list(item.categories) for item in self.domain],
            "steps": list(self.steps),
            "standing": self.standing,
            "assumptions": list(self.assumptions),
            "estimate": self.values,
            "moved": self.moved,
            "raw": self.raw.to_dict(),
        }


AnyMarginal = Marginal | AdjustedMarginal


def as_raw(table: AnyMarginal) -> Marginal:
    """Return the unbiased table behind any."""
    return table if isinstance(table, Marginal) else table.raw


def notes_of(table: AnyMarginal) -> tuple[str, ...]:
    """Return what to know about the steps so far."""
    return () if isinstance(table, Marginal) else table.assumptions


def project_to_simplex(values: ArrayLike) -> FloatArray:
    """Return the nearest distribution in Euclidean distance, exactly.

    By sorting (Held, Wolfe and Crowder, 1974): all values are lowered by the same number and cut
    at 0. No distribution, the true one included, is farther from the result than from `values`.

    Parameters
    ----------
    values : array of float, any shape, at least one number, finite

    Raises
    ------
    InvalidInputError
        If `values` is empty or not finite.
    """
    array = as_float_array(values, "values")
    if not array.size or not np.isfinite(array).all():
        msg = f"expected finite values, at least one, got an array of shape {array.shape}"
        raise InvalidInputError(msg)
    # A common shift changes nothing, and keeps huge values from drowning the 1.
    flat = array.ravel() - array.max()
    ranked = np.sort(flat)[::-1]
    lowered = (np.cumsum(ranked) - 1) / np.arange(1, flat.size + 1)
    level = lowered[np.flatnonzero(ranked > lowered)[-1]]
    result = np.maximum(flat - level, 0.0)
    return np.asarray((result / result.sum()).reshape(array.shape))


def clip_and_normalise(values: ArrayLike) -> FloatArray:
    """Set negative values to 0 and divide by the sum; for comparison with other packages.

    Biased, and not consistently so: what clipping adds to the many empty cells is taken from the
    frequent ones in proportion to their size. With 200 reports of one value out of ten at ε = 1 it
    puts that value's share far below the truth on average.

    Raises
    ------
    InvalidInputError
        If `values` is empty or not finite.
    """
    array = as_float_array(values, "values")
    if not array.size or not np.isfinite(array).all():
        msg = f"expected finite values, at least one, got an array of shape {array.shape}"
        raise InvalidInputError(msg)
    kept = np.maximum(array, 0.0)
    total = kept.sum()
    return np.full(array.shape, 1 / array.size) if total == 0 else np.asarray(kept / total)


def project(table: AnyMarginal, method: ProjectMethod = "simplex") -> AdjustedMarginal:
    """Return a table as a distribution: no negative values, sum 1.

    Parameters
    ----------
    table : Marginal or AdjustedMarginal
    method : {"simplex", "clip"}
        "simplex": the nearest distribution (`project_to_simplex`). "clip":
        `clip_and_normalise`, a heuristic.

    Raises
    ------
    InvalidInputError
        If the method is unknown.
    """
    if method == "simplex":
        values, step, standing = project_to_simplex(table.values), SIMPLEX, Standing.ESTIMATE
        note = (
            "The projected table is never farther from the truth than the unbiased one (in "
            "Euclidean distance), but it is biased: small cells are 0 more often than they should."
        )
    elif method == "clip":
        values, step, standing = clip_and_normalise(table.values), CLIP, Standing.HEURISTIC
        note = (
            "Clipping adds to empty cells and division by the sum takes it from frequent ones: "
            "frequent cells come out too small. The projection onto the simplex does better."
        )
    else:
        known = ("simplex", "clip")
        msg = f"expected method 'simplex' or 'clip', got {method!r}.{did_you_mean(method, known)}"
        raise InvalidInputError(msg)
    worst = Standing.HEURISTIC if table.standing is Standing.HEURISTIC else standing
    return AdjustedMarginal(
        as_raw(table), freeze(values.copy()), (*table.steps, step), worst, (*notes_of(table), note)
    )


def agree(tables: Sequence[AnyMarginal]) -> tuple[AdjustedMarginal, ...]:
    """Make tables that share attributes agree on them, and sum to 1.

    The tables nearest to the given ones in least squares, each table weighted by the inverse of
    the mean variance of its cells, among those whose common marginals are equal. A table is the
    sum of orthogonal components, one for each subset of its attributes (as in the analysis of
    variance); agreement means that the components of the same subset are equal, so that each of
    them is a weighted mean and nothing has to be iterated.

    Correlations between cells are not used. Values may stay negative.

    Parameters
    ----------
    tables : sequence of Marginal or AdjustedMarginal

    Returns
    -------
    tuple of AdjustedMarginal
    """
    weights = np.array([_table_weight(as_raw(table)) for table in tables])
    exact = np.isinf(weights)
    if exact.any():
        weights = np.where(exact, 1.0, 0.0)
    gathered: dict[AttributeSet, list[tuple[float, FloatArray]]] = {}
    for table, weight in zip(tables, weights, strict=True):
        axes = np.argsort(table.names)  # one order for all
        names = tuple(table.names[i] for i in axes)
        for subset, component in _components(names, table.values.transpose(axes)).items():
            # A component spread over the other cells has a square smaller by their number.
            cells = table.values.size / component.size
            gathered.setdefault(subset, []).append((weight / cells, component))
    means = {subset: _mean(parts) for subset, parts in gathered.items()}
    means[()] = np.ones(())
    note = (
        "Tables were made to agree by least squares, weighted by the mean variance of their cells."
    )
    result = []
    for table in tables:
        axes = np.argsort(table.names)
        names = tuple(table.names[i] for i in axes)
        shape = tuple(table.values.shape[i] for i in axes)
        values = _from_components(names, shape, means).transpose(np.argsort(axes)).copy()
        steps = (*table.steps, CONSISTENT)
        notes = (*notes_of(table), note)
        adjusted = AdjustedMarginal(as_raw(table), freeze(values), steps, table.standing, notes)
        result.append(adjusted)
    return tuple(result)


def _mean(parts: list[tuple[float, FloatArray]]) -> FloatArray:
    whole = sum(weight for weight, _ in parts)
    if whole == 0:  # all uncertain, beside tables that are not
        parts, whole = [(1.0, part) for _, part in parts], float(len(parts))
    return np.asarray(sum(weight * part for weight, part in parts) / whole)


def _table_weight(table: Marginal) -> float:
    variance = float((table.standard_errors**2).mean())
    return np.inf if variance == 0 else 1 / variance


def _components(names: AttributeSet, values: FloatArray) -> dict[AttributeSet, FloatArray]:
    """Orthogonal components of a table: sums over the other attributes, freed of lower subsets."""
    result: dict[AttributeSet, FloatArray] = {}
    for size in range(len(names) + 1):
        for chosen in combinations(range(len(names)), size):
            others = tuple(axis for axis in range(len(names)) if axis not in chosen)
            component = values.sum(axis=others)
            for lower in range(size):
                for part in combinations(range(size), lower):
                    known = result[tuple(names[chosen[i]] for i in part)]
                    component = component - _spread(known, part, component.shape)
            result[tuple(names[i] for i in chosen)] = np.asarray(component)
    return result


def _spread(part: FloatArray, axes: tuple[int, ...], shape: tuple[int, ...]) -> FloatArray:
    """Distribute a table over some axes evenly over all of `shape`."""
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    cells = int(np.prod([shape[axis] for axis in rest]))
    return np.asarray(np.broadcast_to(np.expand_dims(part, tuple(rest)), shape) / cells)


def _from_components(
    names: AttributeSet, shape: tuple[int, ...], parts: Mapping[AttributeSet, FloatArray]
) -> FloatArray:
    result = np.zeros(shape)
    for size in range(len(names) + 1):
        for chosen in combinations(range(len(names)), size):
            result += _spread(parts[tuple(names[i] for i in chosen)], chosen, shape)
    return result
