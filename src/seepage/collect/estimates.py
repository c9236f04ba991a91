"""Estimates from randomised reports: sums that merge, and tables read off them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from seepage.collect.adjusted import AdjustedEstimates
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.likelihood import fit
from seepage.collect.listing import flat, heading, long_columns, table_dict, tables_in_words
from seepage.collect.marginals import (
    Marginal,
    normal_quantile,
    records_in_words,
    simulation_note,
)
from seepage.collect.projection import (
    AdjustedMarginal,
    AnyMarginal,
    ProjectMethod,
    agree,
    as_raw,
    project,
)
from seepage.collect.records import RELEASE, SIMULATION, UNCHECKED, UNKNOWN
from seepage.collect.routes import AttributeSet, SumKey, routes, sum_key
from seepage.collect.sums import ReportSums, add_up, empty_sums, is_counted
from seepage.collect.unbiased import marginal
from seepage.collect.wanted import attribute_sets, check_capacity
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing

POPULATION = (
    "Records are independent draws from the population that the estimates are about; standard "
    "errors include this sampling."
)


@dataclass(frozen=True, eq=False)
class Estimates(Result):
    """Tables estimated from randomised reports, and the sums they come from.

    Estimates of the same tables under the same plan add up: ``a + b`` equals estimating on all
    reports at once.

    Attributes
    ----------
    plan : CollectionPlan
    sets : tuple of tuple of str
        The attributes of each table, in the order of the domain.
    sums : ReportSums
        All that is kept of the reports.
    confidence : float
        Of the limits that tables, pages and files show.
    source : str
        Where the reports came from.
    notes : tuple of str
        Sentences on how they were read.
    parts : tuple of (str, int)
        The counts that are in the sums and were saved: what they are known by, and their records.
    """

    plan: CollectionPlan
    sets: tuple[AttributeSet, ...]
    sums: ReportSums
    confidence: float = 0.95
    source: str = "reports"
    notes: tuple[str, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(
        cls,
        plan: CollectionPlan,
        marginals: int | Iterable[Any] = 2,
        *,
        columns: Iterable[str] | None = None,
        covariance: bool = False,
        confidence: float = 0.95,
        source: str = "reports",
    ) -> Estimates:
        """Return estimates from no reports yet: what to add batches to.

        Parameters
        ----------
        plan : CollectionPlan
        marginals : int or iterable of (str or sequence of str)
            A number k stands for all sets of k attributes that the design can estimate.
        columns : iterable of str, optional
            Sets of these attributes only.
        covariance : bool
            Keep what covariance matrices need when reports are no categories (for categories
            nothing more is needed).
        confidence : float
        source : str

        Raises
        ------
        InvalidInputError
            If a parameter is outside its range, or the reports carry no information on a table.
        DomainError
            If a column is unknown.
        CapacityError
            If the sums and tables would not fit.
        """
        if not isinstance(plan, CollectionPlan):
            msg = f"expected a CollectionPlan, got {type(plan).__name__}"
            raise InvalidInputError(msg)
        normal_quantile(confidence)
        sets = attribute_sets(plan, marginals, columns)
        # Single attributes come along where they cost next to nothing.
        singles = dict.fromkeys((name,) for names in sets for name in names)
        keys: dict[SumKey, None] = {}
        for names in (*sets, *singles):
            for route in routes(plan, names):
                keys[sum_key(plan, route)] = None
        counted = [key for key in keys if covariance and not is_counted(plan, key)]
        check_capacity(plan, [key for key in keys if key not in counted], sets)
        check_capacity(plan, counted, sets, grams=True)
        return cls(plan, sets, empty_sums(plan, keys, counted), float(confidence), source)

    def add(self, reports: CollectedReports) -> Estimates:
        """Return estimates from these reports too.

        Raises
        ------
        InvalidInputError
            If the reports were made under another plan, or do not fit it.
        """
        if not isinstance(reports, CollectedReports):
            msg = f"expected CollectedReports, got {type(reports).__name__}"
            raise InvalidInputError(msg)
        check_same_plan(self.plan, reports.plan)
        batch = replace(reports, plan=self.plan)
        return replace(self, sums=self.sums + add_up(batch, self.sums.tables, self.sums.grams))

    def __add__(self, other: Estimates) -> Estimates:
        if not isinstance(other, Estimates):
            return NotImplemented
        check_same_plan(self.plan, other.plan)
        if set(self.sets) != set(other.sets):
            only = sorted(set(self.sets) ^ set(other.sets))[0]
            msg = f"expected estimates of the same tables, got {' × '.join(only)} on one side only"
            raise InvalidInputError(msg)
        if set(self.sums.grams) != set(other.sums.grams):
            msg = "expected estimates with covariance on both sides, got one without"
            raise InvalidInputError(msg)
        mine, theirs = self._known_parts, other._known_parts
        twice = {mark for mark, _ in mine} & {mark for mark, _ in theirs}
        if twice or (self is other and self.size):
            msg = (
                f"expected different parts, got the same counts in {self.source} and "
                f"{other.source}: their records would count twice"
            )
            raise InvalidInputError(msg)
        source = self.source if self.source == other.source else f"{self.source}, {other.source}"
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return replace(
            self,
            sums=self.sums + other.sums,
            source=source,
            notes=notes,
            parts=(*mine, *theirs),
        )

    def __radd__(self, other: int) -> Estimates:
        """Let `sum` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimates):
            return NotImplemented
        mine, theirs = self.sums, other.sums
        return (
            _signature(self.plan) == _signature(other.plan)
            and set(self.sets) == set(other.sets)
            and (mine.records, mine.size, mine.simulated, mine.unknown)
            == (theirs.records, theirs.size, theirs.simulated, theirs.unknown)
            and _same_tables(mine.tables, theirs.tables)
            and _same_tables(mine.grams, theirs.grams)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> int:
        """Number of records."""
        return self.sums.size

    @property
    def empty(self) -> Estimates:
        """Estimates of the same tables from no reports yet."""
        sums = empty_sums(self.plan, self.sums.tables, self.sums.grams)
        return replace(self, sums=sums, notes=(), parts=())

    @property
    def marked_parts(self) -> tuple[tuple[str, int], ...]:
        """`parts`, and a random mark for the records that came in no file of counts.

        Files are told apart by it, so that one which is given twice is not counted twice. It is
        the same for the life of the object.
        """
        rest = self.size - sum(n for _, n in self.parts)
        return (*self.parts, (self._mark, rest)) if rest else self.parts

    @property
    def _known_parts(self) -> tuple[tuple[str, int], ...]:
        """`parts`, with the mark of the other records once it was given away, as in a file."""
        return self.marked_parts if "_mark" in self.__dict__ else self.parts

    @cached_property
    def _mark(self) -> str:
        return secrets.token_hex(16)

    @property
    def origin(self) -> str:
        """Release, simulation, unknown, or a mixture."""
        simulated, unknown = self.sums.simulated, self.sums.unknown
        if simulated == unknown == 0:
            return RELEASE
        if simulated == self.size:
            return SIMULATION
        if unknown == self.size:
            return UNKNOWN
        parts = [(simulated, "simulated"), (unknown, UNKNOWN)]
        told = " and ".join(f"{n:,} of {self.size:,} records are {what}" for n, what in parts if n)
        return f"mixed: {told}"

    @property
    def standing(self) -> Standing:
        """Always an estimate."""
        return Standing.ESTIMATE

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the estimates rest on."""
        found = [POPULATION, "Every record was randomised as the plan says."]
        if self.plan.design == "views":
            found.append(
                "Each record's view was drawn independently of its values; tables in several views "
                "are combined with weights inverse to the variance at the uniform distribution."
            )
        if self.sums.simulated:
            found.append(f"Reports: {self.origin}.")
        return (*found, *self.doubts, *self.plan.assumptions)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the reports leave open and a reader should hear of: origin, repeated files."""
        if not self.sums.unknown:
            return self.notes
        return (UNCHECKED.format(records_in_words(self.sums.unknown)), *self.notes)

    def marginal(self, *names: str) -> Marginal:
        """Return the table of these attributes, axes in this order.

        Parameters
        ----------
        *names : str
            Of one of the `sets`, or a single attribute of one.

        Raises
        ------
        InvalidInputError
            If the table was not asked for, there are no reports, or they do not identify it.
        DomainError
            If a column is unknown.
        """
        if not names:
            msg = "expected at least one column, got none"
            raise InvalidInputError(msg)
        wanted = self.plan.domain.project(names).names
        ordered = tuple(sorted(wanted, key=self.plan.domain.position))
        if ordered not in self._known:
            shown = [" × ".join(one) for one in self._known]
            hint = did_you_mean(" × ".join(ordered), shown)
            msg = f"expected a table that was asked for, got {' × '.join(wanted)}.{hint}"
            raise InvalidInputError(msg)
        if ordered not in self._cache:
            self._cache[ordered] = marginal(self.plan, self.sums, ordered)
        table = self._cache[ordered]
        return table if wanted == ordered else table.reorder(wanted)

    @cached_property
    def _cache(self) -> dict[AttributeSet, Marginal]:
        return {}

    @cached_property
    def _known(self) -> dict[AttributeSet, None]:
        singles = ((name,) for names in self.sets for name in names)
        return dict.fromkeys((*self.sets, *singles))

    @property
    def tables(self) -> tuple[Marginal, ...]:
        """Every table asked for."""
        return tuple(self.marginal(*names) for names in self.sets)

    def project(self, method: ProjectMethod = "simplex") -> AdjustedEstimates:
        """Make every table a distribution; see `seepage.collect.projection.project`."""
        return self._adjusted(tuple(project(table, method) for table in self.tables))

    def consistent(self) -> AdjustedEstimates:
        """Make overlapping tables agree; see `seepage.collect.projection.agree`."""
        return self._adjusted(agree(self.tables))

    def bayesian_update(
        self, *, tolerance: float = 1e-3, max_iterations: int = 20_000
    ) -> AdjustedEstimates:
        """Fit every table by the iterative Bayesian update.

        Parameters
        ----------
        tolerance : float
            Stop when an update raises the log-likelihood of the sample by no more than this, in
            nats. Updates become slow long before the maximum; how far off it may be is stated.
        max_iterations : int
            A table stopped by this has standing "heuristic".

        Raises
        ------
        InvalidInputError
            If the reports are no categories.
        """
        return self._fitted("update", tolerance, max_iterations)

    def maximum_likelihood(
        self, *, tolerance: float = 1e-6, max_iterations: int = 200
    ) -> AdjustedEstimates:
        """Fit every table by maximum likelihood, with a certified gap.

        Parameters
        ----------
        tolerance : float
            Stop when the log-likelihood of the sample is certified to be within this of its
            maximum, in nats.
        max_iterations : int

        Raises
        ------
        InvalidInputError
            If the reports are no categories.
        CapacityError
            If a table is too large for Newton steps.
        """
        return self._fitted("newton", tolerance, max_iterations)

    def _fitted(
        self, method: Literal["update", "newton"], tolerance: float, max_iterations: int
    ) -> AdjustedEstimates:
        return self._adjusted(
            tuple(
                fit(
                    table, self.plan, self.sums,
                    method=method, tolerance=tolerance, max_iterations=max_iterations,
                )
                for table in self.tables
            )
        )  # fmt: skip

    def _adjusted(self, tables: tuple[AdjustedMarginal, ...]) -> AdjustedEstimates:
        return AdjustedEstimates(self, tables)

    @property
    def verdict(self) -> str:
        """What was estimated and how well, in one sentence."""
        errors = np.concatenate([table.standard_errors.ravel() for table in self.tables])
        noise = np.concatenate([table.noise_errors.ravel() for table in self.tables])
        share = ""
        if np.isfinite(errors).all() and (errors > 0).any():
            part = float((noise**2).sum() / (errors**2).sum())
            told = "> 99" if 0.995 <= part < 1 else f"{100 * part:.0f}"
            share = f", {told} % of the variance from randomisation"
        return (
            f"{tables_in_words(self.sets)} estimated without bias from the reports of "
            f"{records_in_words(self.size)}{simulation_note(self.sums.simulated > 0)}: the "
            f"standard error of a cell is "
            f"{100 * float(np.median(errors)):.2f} percentage points at the median and "
            f"{100 * float(errors.max()):.2f} at most{share}."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each cell of each table."""
        found = long_columns(self.tables)
        limits = [table.interval(self.confidence) for table in self.tables]
        return found | {
            "standard_error": flat([table.standard_errors for table in self.tables]),
            "lower": flat([lower for lower, _ in limits]),
            "upper": flat([upper for _, upper in limits]),
            "records": [table.records for table in self.tables for _ in range(table.values.size)],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return heading(self, self.verdict, self.assumptions) | {
            "confidence": self.confidence,
            "tables": [table_dict(table, self.confidence) for table in self.tables],
        }


def _same_tables(left: Mapping[SumKey, Any], right: Mapping[SumKey, Any]) -> bool:
    return set(left) == set(right) and all(np.array_equal(left[key], right[key]) for key in left)


def _signature(plan: CollectionPlan) -> tuple[Any, ...]:
    return plan.domain, plan.design, plan.units


def check_same_plan(mine: CollectionPlan, other: CollectionPlan) -> None:
    """Refuse reports or estimates of another plan.

    Raises
    ------
    InvalidInputError
        Says in what the plans differ.
    """
    if mine is other:
        return
    if not isinstance(other, CollectionPlan):
        msg = f"expected a CollectionPlan, got {type(other).__name__}"
        raise InvalidInputError(msg)
    for what, a, b in zip(
        ("domain", "design", "mechanisms"), _signature(mine), _signature(other), strict=True
    ):
        if a != b:
            msg = f"expected reports of the same plan, got one with another {what}"
            raise InvalidInputError(msg)


AnyEstimates = Estimates | AdjustedEstimates


def estimates_of(table: AnyMarginal, confidence: float = 0.95) -> AnyEstimates:
    """Return the estimates that consist of one table."""
    raw = as_raw(table)
    normal_quantile(confidence)
    names = tuple(sorted(raw.names, key=raw.plan.domain.position))
    whole = Estimates(raw.plan, (names,), raw.sums, confidence)
    return whole if isinstance(table, Marginal) else AdjustedEstimates(whole, (table,))
