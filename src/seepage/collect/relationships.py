"""Relationships from randomised reports: attenuation undone, with standard errors.

Each report is replaced by a number whose expectation, given the true record, is the score that was
asked for. Reports of different units are independent given the record, so products of such numbers
are unbiased for products of scores; everything else is a smooth function of their means. Squares
need their own numbers: the variance of a single attribute is not attenuated by λ². All this is
linear in the features of the reports, so the sums over reports that estimates keep serve as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array
from seepage.collect import _influence
from seepage.collect._influence import Term
from seepage.collect._samples import Sample
from seepage.collect.collection import CollectedReports
from seepage.collect.correcting import Comparison, recommend
from seepage.collect.estimates import Estimates
from seepage.collect.held import NO_RELATIONSHIPS
from seepage.collect.scores import all_scores
from seepage.domain import Domain, Label
from seepage.errors import InvalidInputError

VARIANCE = "A corrected variance is not positive: too few records for this budget."
CELL = "A corrected frequency is not positive: too few records for this budget."
SINGULAR = "The corrected covariances are not positive definite: too few records for this budget."
BEYOND = "The corrected value lies outside what is possible: the reports are too few."
NO_UNCORRECTED = "The reports are no categories: there is no uncorrected value."

NARROWEST, WIDEST = 1e-100, 1e100
"""Ranges of scores between which squares and their products stay inside floating point."""

SMALLEST, LARGEST = 1e-130, 1e130
"""The same for the quantity itself, whose squared standard error is shown."""


@dataclass(frozen=True)
class Estimate:
    """A relationship, corrected and not.

    Attributes
    ----------
    kind : str
        "moment", "covariance", "variance", "correlation", "log odds ratio" or "slope".
    names : tuple of str
        Attributes; for a slope the outcome, then the predictor.
    estimate, standard_error, lower, upper : float or None
        Corrected value, its standard error and limits at `confidence` (normal); None where it
        cannot be computed from these reports, as `note` says.
    uncorrected, uncorrected_error : float or None
        The same quantity of the reports as they are.
    mse_corrected, mse_uncorrected : float or None
        Estimated mean squared errors: the squared standard error, plus for the uncorrected value
        its estimated squared bias (that of the difference, less its sampling variance, as far as
        `possible` allows it).
    better : {"corrected", "uncorrected", "cannot tell", ""}
        Which has the smaller mean squared error, as far as data (99 % limits) and range decide;
        empty when neither exists, or the only one is impossible.
    confidence : float
    size : int
        Records used.
    note : str
    recommended : {"corrected", "uncorrected", ""}
        Which to take: the better one, and where that cannot be told the one of
        `seepage.collect.correcting.recommend`; several relationships are best taken together, as
        `seepage.plan.relating.estimate_relationships` does.
    gap_error : float or None
        Standard error of the difference of both values.
    possible : (float, float)
        Smallest and largest value that the quantity can have: -1 and 1 for a correlation; for
        moments and variances from the ranges of the scores; unbounded otherwise.
    categories : tuple of (label, label)
        For a log odds ratio: the two categories of each attribute.
    unit : float
        What the quantity is measured in: the ranges of the scores, multiplied for a moment, divided
        for a slope; 1 for a correlation or log odds ratio.
    equal : tuple of str
        Attributes whose scores are all equal, for which there is no correlation or slope.
    """

    kind: str
    names: tuple[str, ...]
    estimate: float | None
    standard_error: float | None
    lower: float | None
    upper: float | None
    uncorrected: float | None
    uncorrected_error: float | None
    mse_corrected: float | None
    mse_uncorrected: float | None
    better: str
    confidence: float
    size: int
    note: str = ""
    recommended: str = ""
    gap_error: float | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)
    categories: tuple[tuple[Label, Label], ...] = ()
    unit: float = 1.0
    equal: tuple[str, ...] = ()

    @property
    def chosen(self) -> float | None:
        """The recommended value; None where none is."""
        values = {"corrected": self.estimate, "uncorrected": self.uncorrected}
        return values.get(self.recommended)

    @property
    def is_possible(self) -> bool:
        """Whether the corrected value exists and is one that the quantity can have."""
        low, high = self.possible
        return self.estimate is not None and low <= self.estimate <= high

    @property
    def comparison(self) -> Comparison | None:
        """Both values, to say which to take; None unless both exist."""
        parts = (self.estimate, self.standard_error, self.uncorrected, self.uncorrected_error)
        if None in parts or self.gap_error is None:
            return None
        return Comparison(*parts, self.gap_error, self.possible, self.size)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ReportedRelationships:
    """Estimates of relationships from the reports of a collection, or from their counts.

    Parameters
    ----------
    reports : CollectedReports or Estimates
        Of a plan with design "independent", or "views" for relationships inside a view. Estimates
        (what `seepage.count_reports` or `seepage.read_report_counts` returned) serve for the sets
        of attributes that they hold tables of, and subsets of these; where reports are no
        categories, only with ``covariance=True``.
    scores : mapping of str to array of float, optional
        One finite number for each category. By default numbers stand for themselves, intervals for
        their middles, other categories for their positions; see `assumptions`.
    confidence : float, default 0.95
        Of the limits, in (0, 1), for each estimate by itself.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the design does not report attributes together.
        In an estimate also if counts do not hold what it needs.
    DomainError
        If a name is unknown.
    """

    reports: CollectedReports | Estimates
    scores: Mapping[str, ArrayLike] | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not isinstance(self.reports, (CollectedReports, Estimates)):
            msg = (
                "expected the reports of a collection, or Estimates with their counts, got "
                f"{type(self.reports).__name__}"
            )
            raise InvalidInputError(msg)
        level = as_float_array(self.confidence, "confidence")
        if level.ndim or not 0 < level < 1:
            msg = f"expected confidence between 0 and 1, got {self.confidence!r}"
            raise InvalidInputError(msg)
        if self.reports.plan.design == "fake":
            raise InvalidInputError(NO_RELATIONSHIPS)
        self._scored  # noqa: B018 - a bad score is refused here, not at the first estimate

    @property
    def domain(self) -> Domain:
        """Attributes and categories."""
        return self.reports.plan.domain

    @cached_property
    def _scored(self) -> tuple[dict[str, FloatArray], list[str]]:
        return all_scores(self.domain, self.scores, self.domain.names)

    def _from_first(self, names: Iterable[str]) -> dict[str, FloatArray]:
        """Scores less that of the first category: nothing here depends on where they begin.

        Years would be rounded as two thousand is, and equal scores are exactly 0.
        """
        with np.errstate(over="ignore"):  # what is used of it has a range that was checked
            return {name: self._scored[0][name] - self._scored[0][name][0] for name in names}

    def assumptions(self, names: Sequence[str]) -> tuple[str, ...]:
        """Sentences on the scores of attributes that were not given."""
        given = set(self.scores or {})
        wanted = [name for name in self.domain.names if name in names and name not in given]
        return tuple(all_scores(self.domain, None, wanted)[1])

    def moment(self, names: Sequence[str]) -> Estimate:
        """Central cross-moment ``E Π (Z_m − E Z_m)`` of distinct attributes, two or more.

        Unbiased for two attributes; from three on the bias is of order 1/n.
        """
        chosen = self._names(names, 2)
        kind = "covariance" if len(chosen) == 2 else "moment"
        # |E Π d_m| ≤ √(E d_1² · E Π d_m²) with |d_m| ≤ r_m and E d_m² ≤ r_m²/4 (Popoviciu).
        unit = self._unit(chosen)
        return self._estimate(
            kind,
            chosen,
            lambda sample: sample.moment(chosen),
            possible=(-unit / 4, unit / 4),
            unit=unit,
        )

    def variance(self, name: str) -> Estimate:
        """Variance of one attribute; the randomisation's own variance is taken off."""
        (chosen,) = self._names([name], 1)
        unit = self._unit((chosen, chosen))
        return self._estimate(
            "variance",
            (chosen,),
            lambda sample: sample.second(chosen, chosen),
            VARIANCE,
            possible=(0.0, unit / 4),
            unit=unit,
        )

    def covariance(self, first: str, second: str) -> Estimate:
        """Covariance of two attributes, unbiased."""
        return self.moment([first, second])

    def correlation(self, first: str, second: str) -> Estimate:
        """Pearson correlation; covariance and both variances are corrected."""
        a, b = self._names([first, second], 2)
        return self._estimate(
            "correlation",
            (a, b),
            lambda sample: _influence.correlation(
                sample.moment((a, b)), sample.second(a, a), sample.second(b, b)
            ),
            VARIANCE,
            equal=self._equal((a, b)),
            possible=(-1.0, 1.0),
        )

    def log_odds_ratio(
        self,
        first: str,
        second: str,
        first_categories: Sequence[Label] | None = None,
        second_categories: Sequence[Label] | None = None,
    ) -> Estimate:
        """Log odds ratio of two categories of each of two attributes.

        ``ln [p(a, b) p(a', b') / (p(a, b') p(a', b))]``. Under mechanisms that report sets of
        categories the estimated indicators of an attribute are made to add up to 1, so that the
        cells differ a little from those of `seepage.estimate`.

        Parameters
        ----------
        first, second : str
        first_categories, second_categories : pair of labels, optional
            (a, a') and (b, b'); the first two categories by default.
        """
        a, b = self._names([first, second], 2)
        rows = self._pair(a, first_categories)
        columns = self._pair(b, second_categories)

        def term(sample: Sample) -> Term | None:
            cells = [sample.mean({a: row, b: column}) for row in rows for column in columns]
            return _influence.log_odds_ratio(cells)

        found = self._estimate("log odds ratio", (a, b), term, CELL)
        pairs = ((a, rows), (b, columns))
        return replace(found, categories=tuple(self._labels(n, given) for n, given in pairs))

    def regression(self, outcome: str, predictors: Sequence[str]) -> tuple[Estimate, ...]:
        """Least-squares slopes of an outcome on several predictors, with an intercept."""
        names = regression_names(self.domain, outcome, predictors)
        target, others = names[0], names[1:]
        equal = self._equal(others)
        unit = {name: 0.0 if equal else self._unit((target,), (name,)) for name in others}
        found = []
        for i, predictor in enumerate(others):

            def term(sample: Sample, i: int = i) -> Term | None:
                within = [[sample.second(p, q) for q in others] for p in others]
                across = [sample.second(target, p) for p in others]
                solved = _influence.slopes(within, across)
                return None if solved is None else solved[i]

            found.append(
                self._estimate(
                    "slope",
                    (target, predictor),
                    term,
                    SINGULAR,
                    involved=names,
                    unit=unit[predictor],
                    equal=equal,
                )
            )
        return tuple(found)

    def _names(self, names: Any, least: int) -> tuple[str, ...]:
        return checked_names(self.domain, names, least)

    def _pair(self, name: str, labels: Sequence[Label] | None) -> list[FloatArray]:
        attribute = self.domain[name]
        if labels is None:
            labels = attribute.categories[:2]
        if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != 2:
            msg = f"expected two categories of column {name!r}, got {labels!r}"
            raise InvalidInputError(msg)
        at = [attribute.index(label) for label in labels]
        if at[0] == at[1]:
            msg = f"expected two different categories of column {name!r}, got {labels!r}"
            raise InvalidInputError(msg)
        return [np.eye(attribute.size)[i] for i in at]

    def _labels(self, name: str, indicators: list[FloatArray]) -> tuple[Label, Label]:
        first, second = (self.domain[name].categories[int(np.argmax(x))] for x in indicators)
        return first, second

    def _range(self, name: str) -> float:
        scores = self._scored[0][name]
        found = float(scores.max()) - float(scores.min())
        if found and not NARROWEST <= found <= WIDEST:
            msg = (
                f"expected scores of column {name!r} whose range is 0, or from {NARROWEST:g} to "
                f"{WIDEST:g}, got {found:g}"
            )
            raise InvalidInputError(msg)
        return found

    def _equal(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if self._range(name) == 0)

    def _unit(self, over: Sequence[str], under: Sequence[str] = ()) -> float:
        """Product of the ranges of scores of some attributes, over that of others."""
        ranges = {name: self._range(name) for name in (*over, *under)}
        if not all(ranges[name] for name in over):
            return 0.0
        unit = math.prod(ranges[name] for name in over) / math.prod(ranges[n] for n in under)
        if not SMALLEST <= unit <= LARGEST:
            shown = ", ".join(f"{name!r} ({found:g})" for name, found in ranges.items())
            msg = (
                "expected ranges of scores whose product, or quotient for a slope, is from "
                f"{SMALLEST:g} to {LARGEST:g}, got {unit:g} for {shown}"
            )
            raise InvalidInputError(msg)
        return unit

    def _estimate(
        self,
        kind: str,
        names: tuple[str, ...],
        compute: Any,
        failure: str = "",
        *,
        involved: tuple[str, ...] | None = None,
        possible: tuple[float, float] = (-math.inf, math.inf),
        unit: float = 1.0,
        equal: tuple[str, ...] = (),
    ) -> Estimate:
        sample = Sample.of(self.reports, involved or names, self._from_first(involved or names))
        if equal:
            failure = f"A{equal_scores(equal)[1:]}."
        corrected: Term | None = None if equal else compute(sample)
        plain = sample.uncorrected()
        naive: Term | None = None if plain is None or equal else compute(plain)
        note = ("" if plain is not None else NO_UNCORRECTED) if corrected is not None else failure
        weights, n = sample.weights, sample.size
        value = error = low = high = raw = raw_error = gap = None
        if corrected is not None:
            value, error = corrected.value, _influence.standard_error(corrected, weights)
            z = -NormalDist().inv_cdf((1 - self.confidence) / 2)
            low, high = value - z * error, value + z * error
            # A few units in the last place are rounding: two equal attributes have correlation 1.
            slack = 1e-9 * max(map(abs, possible)) if math.isfinite(possible[1]) else 0.0
            if possible[0] - slack <= value <= possible[1] + slack:
                value = min(max(value, possible[0]), possible[1])
            else:
                note = f"{note} {BEYOND}".strip()
        if naive is not None:
            raw, raw_error = naive.value, _influence.standard_error(naive, weights)
            if corrected is not None:
                gap = _influence.standard_error(naive.minus(corrected), weights)
        found = Estimate(
            kind, names, value, error, low, high, raw, raw_error,
            None if error is None else error**2, None, "", float(self.confidence), n, note,
            gap_error=gap, possible=possible, unit=unit, equal=equal,
        )  # fmt: skip
        return recommended([found])[0]


def recommended(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Say of each of several estimates which value to take, those of one kind together.

    Parameters
    ----------
    estimates : sequence of Estimate
        From one collection.

    Returns
    -------
    list of Estimate
        With `better`, `recommended` and `mse_uncorrected`.
    """
    found = list(estimates)
    for i, item in enumerate(found):
        if item.comparison is None:
            only = "corrected" if item.is_possible else ""
            if item.uncorrected is not None:
                only = "uncorrected"
            found[i] = replace(item, better=only, recommended=only)
    for kind in dict.fromkeys(item.kind for item in found):
        both = [
            (i, compared)
            for i, item in enumerate(found)
            if item.kind == kind and (compared := item.comparison) is not None
        ]
        values = recommend([compared for _, compared in both])
        for (i, compared), value in zip(both, values, strict=True):
            found[i] = replace(
                found[i],
                better=compared.better,
                recommended=value,
                mse_uncorrected=compared.uncorrected_error**2 + compared.bias_squared,
            )
    return found


def equal_scores(names: Sequence[str]) -> str:
    """Why there is no correlation or slope, in words that continue a sentence."""
    first, *others = map(repr, names)
    return ", and ".join([f"all scores of {first} are equal", *(f"all of {x}" for x in others)])


def checked_names(domain: Domain, names: Any, least: int) -> tuple[str, ...]:
    """Return names of distinct attributes.

    Raises
    ------
    InvalidInputError
        If they are no list, fewer than `least`, or one occurs twice.
    DomainError
        If a name is unknown.
    """
    found = _listed(names)
    for name in found:
        domain.position(name)
    if len(found) < least or len(set(found)) < len(found):
        msg = f"expected {least} or more distinct attributes, got {found!r}"
        raise InvalidInputError(msg)
    return found


def regression_names(domain: Domain, outcome: Any, predictors: Any) -> tuple[str, ...]:
    """Return the outcome and its predictors; see `checked_names`."""
    return checked_names(domain, [outcome, *_listed(predictors)], 2)


def _listed(names: Any) -> tuple[Any, ...]:
    if isinstance(names, (str, bytes, Mapping)) or not isinstance(names, Sequence):
        msg = f"expected a list of column names, got {names!r}"
        raise InvalidInputError(msg)
    return tuple(names)
