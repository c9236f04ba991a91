"""The collection plan: who randomises what, how, and what that is claimed to protect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from seepage._entropy import as_generator, below, word_source
from seepage._numeric import IntArray, freeze
from seepage.collect._claim_checks import all_claims, check_own_target, exceeds_target
from seepage.collect.claims import (
    RECORD,
    Claim,
    Design,
    Unit,
    published_epsilon,
    unit_epsilons,
)
from seepage.collect.mechanism import Mechanism, Reports, Rng, refuse_mask
from seepage.collect.records import (
    PLAN_COLUMN,
    UnitColumns,
    encode_record,
    file_labels,
    first_record,
    joint_codes,
    layout,
    view_column,
)
from seepage.domain import Domain, Label
from seepage.errors import DomainError, InvalidInputError, did_you_mean
from seepage.results import Result, Standing

__all__ = ["RECORD", "Claim", "CollectedReports", "CollectionPlan", "Design", "Unit"]

MAX_NAMED = 5
"""So many unprotected attributes are named in a sentence."""


@dataclass(frozen=True, eq=False)
class CollectionPlan(Result):
    """Domain, mechanisms and claims of a collection; what client and server share.

    Parameters
    ----------
    domain : Domain
    design : {"independent", "views", "fake"}
    units : tuple of Unit
        "independent" and "fake": disjoint, and together all attributes. "views": may overlap.
        "fake": k-ary randomised response of the amplified ε'.
    claims : tuple of Claim
        Total leakage about attributes. What the parameters say (ε of the record and of each
        attribute) is added in front, and checked where it is given; attributes without a total get
        the bound that needs no data, the ε of the record.
    assumptions : tuple of str
        What was assumed when the plan was made.
    source : str
        What it was made from.
    target : float, optional
        The total that budgets were calibrated for, in nats.

    Raises
    ------
    InvalidInputError
        If the units do not fit the domain or the design, or a stated claim contradicts the
        parameters or another one.
    InfeasibleError
        If a total exceeds the target.
    DomainError
        If a unit names an unknown attribute, or an attribute has a name that cannot be written.

    Examples
    --------
    >>> from seepage.collect.designs import independent
    >>> plan = independent(Domain.of({"smoker": ["no", "yes"], "age": [1, 2, 3]}), 0.5)
    >>> plan.epsilon
    1.0
    >>> sorted(plan.randomize_record({"smoker": "yes", "age": 2}))
    ['(plan)', 'age', 'smoker']
    """

    domain: Domain
    design: Design
    units: tuple[Unit, ...]
    claims: tuple[Claim, ...] = ()
    assumptions: tuple[str, ...] = ()
    source: str = ""
    target: float | None = None

    def __post_init__(self) -> None:
        _check_domain(self.domain)
        if self.design not in get_args(Design):
            known = get_args(Design)
            msg = f"expected design {', '.join(map(repr, known))}, got {self.design!r}."
            raise InvalidInputError(msg + did_you_mean(self.design, known))
        object.__setattr__(self, "units", _checked_units(self.domain, self.design, self.units))
        object.__setattr__(self, "claims", all_claims(self))
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        check_own_target(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionPlan):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def epsilon(self) -> float:
        """ε of the whole record: what two records that differ in everything allow, rounded up."""
        return unit_epsilons(self.design, self.units)[1]

    @cached_property
    def release_epsilon(self) -> float:
        """ε of the integer weights that a release draws from; never above `epsilon`."""
        return unit_epsilons(self.design, self.units, release=True)[1]

    @cached_property
    def budgets(self) -> Mapping[str, float]:
        """ε of each attribute; of the whole unit for one that is randomised jointly.

        Exact where the claim on it says so.
        """
        return {
            claim.about: claim.value
            for claim in self.claims
            if claim.quantity == "epsilon" and claim.about != RECORD
        }

    @property
    def totals(self) -> Mapping[str, Claim]:
        """The claim on the total leakage about each attribute."""
        return {claim.about: claim for claim in self.claims if claim.quantity == "total"}

    @property
    def worst(self) -> str:
        """The attribute with the largest total; the first of several."""
        totals = self.totals
        return max(totals, key=lambda name: totals[name].value)

    @property
    def standing(self) -> Standing:
        """Standing of the largest total."""
        return self.totals[self.worst].standing

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of domain, design and units, in hexadecimal; marks the reports of the plan."""
        from seepage.collect.plan_files import fingerprint

        return fingerprint(self)

    @cached_property
    def columns_of_units(self) -> tuple[UnitColumns, ...]:
        """The columns that each unit's reports are written in."""
        return layout(self.domain, self.units)

    @cached_property
    def file_labels(self) -> Mapping[str, tuple[Label | None, ...]]:
        """What stands in files for each category of each attribute; None is null."""
        return {item.name: file_labels(item) for item in self.domain}

    @cached_property
    def view_column(self) -> str:
        """Name of the column that holds the number of the view."""
        return view_column(self.domain, self.columns_of_units)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Attributes whose value a report can reveal, since a mechanism of theirs has ε = ∞."""
        open_ = {n for u in self.units if math.isinf(u.mechanism.epsilon) for n in u.names}
        return tuple(n for n in self.domain.names if n in open_ and self.domain[n].size > 1)

    def randomize_codes(
        self, codes: IntArray, *, rng: Rng = None, allow_unprotected: bool = False
    ) -> CollectedReports:
        """Randomise coded records.

        Parameters
        ----------
        codes : array of int, shape (n, d), n ≥ 1
            Positions of categories; columns in the order of the domain.
        rng : numpy.random.Generator or int, optional
            For a simulation. Without it this is a release.
        allow_unprotected : bool, default False
            Release reports through mechanisms with ε = ∞ too.

        Returns
        -------
        CollectedReports

        Raises
        ------
        InvalidInputError
            If `codes` has another type or shape, or a code is no category, or a release would be
            `unprotected`.
        """
        table = _checked_codes(self.domain, codes)
        if rng is None and self.unprotected and not allow_unprotected:
            msg = (
                f"expected a finite ε for a release, got ε = ∞: {self.open_sentence} Allow it "
                "explicitly (allow_unprotected=True, --unprotected), or simulate (rng, --seed)."
            )
            raise InvalidInputError(msg)
        source = None if rng is None else as_generator(rng)
        words = word_source(source)
        n = len(table)
        view: IntArray | None = None
        values: list[Reports] = []
        if self.design == "independent":
            values = [
                unit.mechanism.sample(self._inputs(unit, table), rng=source) for unit in self.units
            ]
        elif self.design == "views":
            view = freeze(below(len(self.units), n, words))
            for number, unit in enumerate(self.units):
                own = self._inputs(unit, table[view == number])
                values.append(unit.mechanism.sample(own, rng=source))
        else:
            chosen = below(len(self.units), n, words)
            for number, unit in enumerate(self.units):
                reports = below(unit.mechanism.k, n, words)
                real = chosen == number
                own = self._inputs(unit, table[real])
                reports[real] = unit.mechanism.sample(own, rng=source)
                values.append(reports)
        return CollectedReports(self, tuple(values), view, source is not None)

    def _inputs(self, unit: Unit, table: IntArray) -> IntArray:
        """What the mechanism of a unit takes, for each row of coded records."""
        columns = [table[:, self.domain.position(name)] for name in unit.names]
        return joint_codes(self.domain, unit.names, columns)

    def randomize_record(
        self, record: Mapping[str, Any], *, rng: Rng = None, allow_unprotected: bool = False
    ) -> dict[str, Any]:
        """Randomise one record; what a client sends.

        Parameters
        ----------
        record : mapping of str to label
            A value for every attribute and nothing else. Labels as the domain declares them: 1,
            "1", True and 1.0 are different. Numbers of a binned attribute fall into their interval.
            None and NaN are the missing category, where there is one.
        rng : numpy.random.Generator or int, optional
            For a simulation. Without it this is a release.
        allow_unprotected : bool, default False
            Release reports through mechanisms with ε = ∞ too.

        Returns
        -------
        dict
            Plain values that JSON can hold, in the form of `seepage.plan.reports_io`, and under
            "(plan)" the start of the fingerprint with "release" or "simulation, not a release".

        Raises
        ------
        DomainError
            If a column is missing or unknown, or a value is not in the domain: nothing is
            returned.
        InvalidInputError
            If `record` is no mapping, or a release would be `unprotected`.

        Notes
        -----
        A value that is not listed becomes the category for other values where the domain declares
        one.
        """
        codes = encode_record(self.domain, record)
        made = self.randomize_codes(codes, rng=rng, allow_unprotected=allow_unprotected)
        return first_record(made)

    @property
    def open_sentence(self) -> str:
        """Which attributes are not protected at all, a sentence; empty when all are."""
        names = self.unprotected
        if not names:
            return ""
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        listed = ", ".join(map(repr, names[:MAX_NAMED])) + more
        return f"Not protected: reports can reveal the value of {listed}."

    @property
    def verdict(self) -> str:
        """What the plan does and claims, in one sentence or two."""
        d = len(self.domain)
        count = "1 attribute is" if d == 1 else f"{d} attributes are"
        own = [unit.mechanism.epsilon for unit in self.units]
        if self.design == "independent":
            how = f"{count} reported"
            if d > len(self.units) == 1:
                how += " together, as one"
            elif len(self.units) < d:
                how += f", in {len(self.units)} groups that are randomised independently"
            elif d > 1:
                how += ", each independently"
            record = self._record_protected
        elif self.design == "views":
            how = f"Each record reports one of {len(self.units)} views, drawn at random"
            record = self._record_protected
        else:
            published = published_epsilon(max(own), len(self.units))
            how = (
                f"Each record reports one attribute, randomised with ε' = {_number(max(own))}, "
                "among uniform fakes"
            )
            record = (
                "Records that differ in every attribute are told apart by ε = "
                f"{_number(self.epsilon)}, records that differ in one by at most "
                f"{_number(max(self.budgets.values()))} (both exact; the ε usually stated is "
                f"{_number(published)})"
            )
        name = self.worst
        total = self.totals[name]
        bound = {
            Standing.UPPER: "at most",
            Standing.EXACT: "exactly",
            Standing.LOWER: "at least",
        }.get(total.standing, f"({total.standing}, no bound) about")
        equal = len({claim.value for claim in self.totals.values()}) == 1
        most = "" if equal else f" (most about {name!r})"
        first = f"{self.open_sentence} " if self.unprotected else ""
        return (
            f"{first}{how}. {record}; all reports together tell {bound} {_number(total.value)} "
            f"nats about any attribute{most}{_condition(total)}.{self._target_missed}"
        )

    @property
    def above_target(self) -> tuple[str, ...]:
        """Attributes about which more is claimed than the target that budgets were made for."""
        return tuple(name for name in self.totals if exceeds_target(self, name))

    @property
    def _target_missed(self) -> str:
        names = self.above_target
        if not names:
            return ""
        whom = f"{len(names)} of {len(self.domain)} attributes"
        return (
            f" The target of {_number(self.target or 0.0)} nats, which the budgets were calibrated "
            f"for, is not vouched for about {whom}."
        )

    @property
    def _record_protected(self) -> str:
        if self.unprotected:
            return "The whole record has ε = ∞ (exact), no protection"
        return f"The whole record is protected by ε = {_number(self.epsilon)} (exact)"

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each attribute."""
        names = list(self.domain.names)
        totals = self.totals
        units = [[unit for unit in self.units if name in unit.names] for name in names]
        return {
            "attribute": names,
            "categories": list(self.domain.shape),
            "mechanism": [each[0].mechanism.kind for each in units],
            "with": [
                " + ".join(x for x in each[0].names if x != name) if len(each) == 1 else ""
                for name, each in zip(names, units, strict=True)
            ],
            "views": [len(each) if self.design == "views" else 1 for each in units],
            "epsilon": [self.budgets[name] for name in names],
            "total": [totals[name].value for name in names],
            "standing": [str(totals[name].standing) for name in names],
        }

    def to_dict(self) -> dict[str, Any]:
        """Content of the plan file; see `seepage.collect.plan_files`."""
        from seepage.collect.plan_files import content

        return content(self)


@dataclass(frozen=True, eq=False)
class CollectedReports:
    """Reports of n records under a plan.

    Parameters
    ----------
    plan : CollectionPlan
    values : tuple of arrays, one for each unit
        First axis: the records that reported the unit, in order. All n records, except for
        "views".
    view : array of int, shape (n,), optional
        "views" only: which unit each record reported.
    simulated : bool or None
        Whether a seeded generator drew them; None for reports that do not say which plan they were
        made by.
    """

    plan: CollectionPlan
    values: tuple[Reports, ...]
    view: IntArray | None
    simulated: bool | None

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.values[0]) if self.view is None else len(self.view)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _condition(claim: Claim) -> str:
    tree = any("dependency tree" in sentence for sentence in claim.assumptions)
    return ", if the data follow the dependency tree" if tree else ""


def _check_domain(domain: object) -> None:
    if not isinstance(domain, Domain):
        msg = f"expected a Domain, got {domain!r}"
        raise InvalidInputError(msg)
    for attribute in domain:
        if attribute.name in {RECORD, PLAN_COLUMN}:
            msg = f"expected no column named {attribute.name!r}: a plan uses this name itself"
            raise DomainError(msg)
        texts = [label for label in attribute.categories if isinstance(label, str)]
        for text in (attribute.name, *texts):
            if any("\ud800" <= char <= "\udfff" for char in text):
                msg = (
                    f"expected names and labels that can be written as UTF-8, got {text!r} in "
                    f"column {attribute.name!r}"
                )
                raise DomainError(msg)


def _checked_units(domain: Domain, design: Design, units: object) -> tuple[Unit, ...]:
    given = tuple(units) if isinstance(units, Sequence) and not isinstance(units, str) else ()
    if not given or not all(isinstance(unit, Unit) for unit in given):
        msg = f"expected a sequence of units, at least one, got {units!r}"
        raise InvalidInputError(msg)
    seen: dict[frozenset[str], Unit] = {}
    owners: dict[str, int] = {}
    for number, unit in enumerate(given):
        _check_unit(domain, design, unit)
        if frozenset(unit.names) in seen:
            msg = f"expected different units, got {_joined(unit.names)} twice"
            raise InvalidInputError(msg)
        seen[frozenset(unit.names)] = unit
        for name in unit.names:
            if design != "views" and name in owners:
                msg = (
                    f"expected every attribute in one unit of design {design!r}, got {name!r} in "
                    "two"
                )
                raise InvalidInputError(msg)
            owners[name] = number
    absent = [name for name in domain.names if name not in owners]
    if absent:
        msg = f"expected units for all attributes, got none for {_joined(absent)}"
        raise InvalidInputError(msg)
    return given


def _check_unit(domain: Domain, design: Design, unit: Unit) -> None:
    if isinstance(unit.names, str) or not unit.names or len(set(unit.names)) != len(unit.names):
        msg = f"expected different names of attributes in a unit, got {unit.names!r}"
        raise InvalidInputError(msg)
    size = math.prod(domain[name].size for name in unit.names)
    if not isinstance(unit.mechanism, Mechanism):
        msg = f"expected a mechanism for {_joined(unit.names)}, got {unit.mechanism!r}"
        raise InvalidInputError(msg)
    if unit.mechanism.k != size:
        msg = (
            f"expected a mechanism for the {size:,} categories of {_joined(unit.names)}, got one "
            f"for {unit.mechanism.k:,}"
        )
        raise InvalidInputError(msg)
    if design == "fake" and unit.mechanism.kind != "grr":
        msg = (
            "expected k-ary randomised response ('grr') for design 'fake', whose fakes are "
            f"uniform categories, got {unit.mechanism.kind!r} for {_joined(unit.names)}"
        )
        raise InvalidInputError(msg)


def _checked_codes(domain: Domain, codes: object) -> IntArray:
    refuse_mask(codes)
    try:
        table = np.asarray(codes)
    except Exception as error:  # whatever an object's own conversion raises
        msg = f"expected codes as an array of whole numbers, got {type(codes).__name__}"
        raise InvalidInputError(msg) from error
    if table.dtype.kind not in "iu" or table.ndim != 2 or table.shape[1] != len(domain):
        msg = (
            f"expected codes as whole numbers of shape (records, {len(domain)}), got type "
            f"{table.dtype} and shape {table.shape}"
        )
        raise InvalidInputError(msg)
    if len(table) == 0:
        msg = "expected at least one record, got none"
        raise InvalidInputError(msg)
    sizes = np.array(domain.shape)
    bad = (table < 0) | (table >= sizes)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        msg = (
            f"expected codes from 0 to {sizes[column] - 1} in column {domain.names[column]!r}, got "
            f"{table[row, column]} in record {row}"
        )
        raise InvalidInputError(msg)
    return table.astype(np.int64, copy=False)


def _joined(names: Sequence[str]) -> str:
    return " + ".join(map(repr, names))
