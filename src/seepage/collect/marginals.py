"""An estimated table: values, standard errors, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seepage._numeric import FloatArray, as_float_array, freeze
from seepage.collect.collection import CollectionPlan
from seepage.collect.routes import (
    AttributeSet,
)
from seepage.collect.sums import ReportSums
from seepage.domain import Domain, Label
from seepage.errors import DomainError, InvalidInputError
from seepage.results import Result, Standing

if TYPE_CHECKING:
    from seepage.collect.projection import AdjustedMarginal

STEP = "unbiased estimate"


@dataclass(frozen=True, eq=False)
class Marginal(Result):
    """Estimated frequencies of the combinations of some attributes; unbiased.

    Values may be negative or exceed 1, and sum to 1 up to rounding when every report is a category.

    Attributes
    ----------
    domain : Domain
        The attributes, one for each axis.
    values : array of float, shape ``domain.shape``
        Estimated share of the population in each cell.
    standard_errors : array of float, same shape
        Of the estimate of the share in the population that the records were drawn from; ∞ for a
        single record.
    noise_errors : array of float, same shape
        The part of them that randomisation adds: the standard errors for the share among the very
        records collected.
    records : int
        Number of records behind the estimate.
    views : tuple of (tuple of str, int)
        The units that entered, by their attributes, and how many records each of them had.
    simulated : bool
        Whether a seeded generator drew some of the reports.
    plan : CollectionPlan
    sums : ReportSums
        What the table was estimated from.
    slope, curvature : arrays of float, same shape
        How the variance goes with the true share: at a share θ it is taken to be
        ``standard_errors² + slope·(θ − values) − curvature·(θ − values)²``, with the slope of the
        regression of the sample variance on the mean, third central moment over variance.
    """

    domain: Domain
    values: FloatArray
    standard_errors: FloatArray
    noise_errors: FloatArray
    records: int
    views: tuple[tuple[tuple[str, ...], int], ...]
    simulated: bool
    plan: CollectionPlan
    sums: ReportSums
    slope: FloatArray
    curvature: FloatArray

    @property
    def names(self) -> AttributeSet:
        """The attributes, in the order of the axes."""
        return self.domain.names

    @property
    def standing(self) -> Standing:
        """Always an estimate."""
        return Standing.ESTIMATE

    @property
    def steps(self) -> tuple[str, ...]:
        """What was done to the reports."""
        return (STEP,)

    def interval(
        self, confidence: float = 0.95, *, method: Literal["score", "wald"] = "score"
    ) -> tuple[FloatArray, FloatArray]:
        """Confidence limits of every cell, each by itself.

        Parameters
        ----------
        confidence : float
            Probability, in (0, 1), that the limits of one cell contain its true share.
        method : {"score", "wald"}
            "wald": estimate ± z standard errors. "score": the shares θ that are at most z of
            *their* standard errors away from the estimate, with the variance at θ (see `slope`).
            Without randomisation this is Wilson's interval; it keeps its coverage where cells have
            few records, and tends to the other as randomisation dominates. Where the third moment
            cannot be had from the sums (joint units whose reports are no categories, partly
            marginalised) it is the other.

        Returns
        -------
        lower, upper : arrays of float
            Not cut at 0 or 1.

        Raises
        ------
        InvalidInputError
            If `confidence` is not in (0, 1), or the method unknown.
        """
        z = normal_quantile(confidence)
        if method not in ("score", "wald"):
            msg = f"expected method 'score' or 'wald', got {method!r}"
            raise InvalidInputError(msg)
        variance = self.standard_errors**2
        if method == "wald":
            half = z * self.standard_errors
            return self.values - half, self.values + half
        # d² = z²(s² + b·d − c·d²) in d = θ − estimate has a root on either side of 0.
        bent, tilt = 1 + z**2 * self.curvature, z**2 * self.slope / 2
        finite = np.where(np.isfinite(variance), variance, 0.0)
        root = np.sqrt(tilt**2 + bent * z**2 * finite)
        endless = np.where(np.isfinite(variance), 0.0, np.inf)
        return (
            self.values + (tilt - root) / bent - endless,
            self.values + (tilt + root) / bent + endless,
        )

    def covariance(self) -> FloatArray:
        """Covariance matrix of all cells, shape (K, K), cells in row-major order.

        Its diagonal is ``standard_errors²``.

        Raises
        ------
        CapacityError
            If the matrix, or a table on the way to it, would be too large.
        InvalidInputError
            If the reports are no categories and the sums it needs were not kept.
        """
        from seepage.collect.unbiased import covariance

        ordered = tuple(sorted(self.names, key=self.plan.domain.position))
        matrix = covariance(self.plan, self.sums, ordered)
        cells = np.arange(len(matrix)).reshape(self.plan.domain.project(ordered).shape)
        cells = cells.transpose([ordered.index(name) for name in self.names]).ravel()
        return np.asarray(matrix[np.ix_(cells, cells)])

    def reorder(self, names: Iterable[str]) -> Marginal:
        """Return the same table with its axes in another order.

        Raises
        ------
        DomainError
            If `names` are not exactly those of the table.
        """
        wanted = self.domain.project(names)
        if len(wanted) != len(self.domain):
            msg = f"expected an order of {list(self.names)}, got {list(wanted.names)}"
            raise DomainError(msg)
        axes = [self.names.index(name) for name in wanted.names]

        def moved(array: FloatArray) -> FloatArray:
            return np.asarray(freeze(array.transpose(axes).copy()))

        return replace(
            self,
            domain=wanted,
            values=moved(self.values),
            standard_errors=moved(self.standard_errors),
            noise_errors=moved(self.noise_errors),
            slope=moved(self.slope),
            curvature=moved(self.curvature),
        )

    def project(self, method: Literal["simplex", "clip"] = "simplex") -> AdjustedMarginal:
        """Return the table as a distribution; see `seepage.collect.projection.project`."""
        from seepage.collect.projection import project

        return project(self, method)

    @cached_property
    def cells(self) -> list[tuple[Label, ...]]:
        """Labels of every cell, in row-major order."""
        return labels_of(self.domain)

    @property
    def verdict(self) -> str:
        """What was estimated and how well, in one sentence."""
        name = " × ".join(self.names)
        errors = 100 * self.standard_errors
        if not np.isfinite(self.standard_errors).all():
            return f"The table of {name} rests on a single record: its errors are unknown."
        top = np.unravel_index(int(np.argmax(self.values)), self.values.shape)
        where = ", ".join(
            f"{item.name} = {item.categories[i]}" for item, i in zip(self.domain, top, strict=True)
        )
        return (
            f"Of {records_in_words(self.records)} an estimated {100 * self.values[top]:.2f} % "
            f"(± {errors[top]:.2f}, one standard error) have {where}; over the cells of {name} the "
            f"standard error is at most {float(errors.max()):.2f} points"
            f"{simulation_note(self.simulated)}."
        )

    def columns(self, confidence: float = 0.95) -> Mapping[str, list[Any]]:
        """One row for each cell: labels, estimate, standard error, limits."""
        lower, upper = self.interval(confidence)
        return label_columns(self.domain) | {
            free_name("estimate", self.names): self.values.ravel().tolist(),
            free_name("standard_error", self.names): self.standard_errors.ravel().tolist(),
            free_name("lower", self.names): lower.ravel().tolist(),
            free_name("upper", self.names): upper.ravel().tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        lower, upper = self.interval()
        return {
            "attributes": list(self.names),
            "categories": [list(item.categories) for item in self.domain],
            "records": self.records,
            "views": [{"attributes": list(names), "records": n} for names, n in self.views],
            "simulated": self.simulated,
            "steps": list(self.steps),
            "standing": self.standing,
            "estimate": self.values,
            "standard_error": self.standard_errors,
            "noise_error": self.noise_errors,
            "confidence": 0.95,
            "lower": lower,
            "upper": upper,
        }


def records_in_words(n: int) -> str:
    """Return ``1 record``, ``2,000 records``."""
    return "1 record" if n == 1 else f"{n:,} records"


def simulation_note(simulated: bool) -> str:
    """Return what a sentence ends in when reports were simulated."""
    return " (from simulated reports, not a release)" if simulated else ""


def labels_of(domain: Domain) -> list[tuple[Label, ...]]:
    """Return the labels of every cell, in row-major order."""
    from itertools import product

    return list(product(*(item.categories for item in domain)))


def label_columns(domain: Domain) -> dict[str, list[Any]]:
    """Return one column of labels for each attribute, cells in row-major order."""
    return dict(zip(domain.names, map(list, zip(*labels_of(domain), strict=True)), strict=True))


def free_name(name: str, taken: AttributeSet) -> str:
    """Return a column name that is no attribute's."""
    while name in taken:
        name += "_"
    return name


def normal_quantile(confidence: object) -> float:
    """Return z with ``Pr(|N(0, 1)| ≤ z)`` = `confidence`.

    Raises
    ------
    InvalidInputError
        If `confidence` is not in (0, 1).
    """
    from scipy.special import ndtri

    value = as_float_array(confidence, "confidence")  # type: ignore[arg-type]
    if value.ndim or not 0 < value < 1:
        msg = f"expected confidence between 0 and 1, got {confidence!r}"
        raise InvalidInputError(msg)
    return float(-ndtri((1 - value) / 2))
