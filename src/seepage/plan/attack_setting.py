"""From a plan and a secret to what an attacker sees: nodes, evidence, columns, populations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.attack.population import Mode, Observations, Population
from seepage.collect._supports import SupportMechanism
from seepage.collect.claims import Unit
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.records import joint_codes
from seepage.errors import CapacityError, InvalidInputError

MAX_ENTRIES = 300_000_000
"""Most likelihoods of evaluated records held at a time, 2.4 GB."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Whose reports an attacker on one attribute sees.

    Parameters
    ----------
    plan : CollectionPlan
    secret : str
        An attribute of the plan.
    own_report : bool
        Whether reports on the secret itself are seen. If not, no report of a unit that it is in.

    Raises
    ------
    DomainError
        If the plan has no such attribute.
    InvalidInputError
        If nothing is seen.
    """

    plan: CollectionPlan
    secret: str
    own_report: bool = False

    def __post_init__(self) -> None:
        self.plan.domain.position(self.secret)
        if not self.nodes and self.own is None:
            msg = (
                f"expected reports of other attributes than {self.secret!r}, got none: the plan "
                "randomises nothing without it. Let the attacker see its own report "
                "(own_report=True, --own-report), or attack another attribute"
            )
            raise InvalidInputError(msg)

    @cached_property
    def own(self) -> int | None:
        """Position of the unit whose report is on the secret alone and is seen by itself.

        None with design "fake", where it is not known which report is the true one, so that the
        secret's own unit is a node like the others.
        """
        if not self.own_report or self.plan.design == "fake":
            return None
        alone = [i for i, unit in enumerate(self.plan.units) if unit.names == (self.secret,)]
        return alone[0] if alone else None

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Positions of the other units that are seen."""
        return tuple(
            i
            for i, unit in enumerate(self.plan.units)
            if i != self.own and (self.own_report or self.secret not in unit.names)
        )

    @property
    def seen(self) -> tuple[int, ...]:
        """Positions of all units that are seen."""
        return self.nodes if self.own is None else tuple(sorted((*self.nodes, self.own)))

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of `nodes`."""
        return tuple(self.plan.units[i] for i in self.nodes)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes on which reports are seen, in the order of the domain."""
        names = {name for i in self.seen for name in self.plan.units[i].names}
        return tuple(name for name in self.plan.domain.names if name in names)

    @property
    def k(self) -> int:
        """Number of values of the secret."""
        return self.plan.domain[self.secret].size

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A name for each node, different from the secret's."""
        found: list[str] = []
        for unit in self.units:
            label = " + ".join(unit.names)
            while label in found or label == self.secret:
                label += " (report)"
            found.append(label)
        return tuple(found)

    @property
    def one_report(self) -> bool:
        """Whether a record tells about one node at most, so that tables of pairs suffice."""
        return self.plan.design != "independent"

    def secret_codes(self, codes: IntArray) -> IntArray:
        """Values of the secret of coded records, shape (n,)."""
        return codes[:, self.plan.domain.position(self.secret)]

    def node_codes(self, codes: IntArray) -> IntArray:
        """Values of the nodes of coded records, shape (n, number of nodes)."""
        domain = self.plan.domain
        columns = [
            joint_codes(domain, unit.names, [codes[:, domain.position(x)] for x in unit.names])
            for unit in self.units
        ]
        return np.column_stack(columns) if columns else np.zeros((len(codes), 0), dtype=np.int64)

    def population(self, codes: IntArray, weights: FloatArray | None = None) -> Population:
        """The distribution of coded records, each of weight 1 unless others are given."""
        return Population(
            self.secret_codes(codes),
            self.node_codes(codes),
            np.ones(len(codes)) if weights is None else weights,
            self.k,
            tuple(unit.mechanism.k for unit in self.units),
        )

    def observe(self, reports: CollectedReports, *, evidence: bool = True) -> Observations:
        """What is seen of randomised records.

        Parameters
        ----------
        reports : CollectedReports
            Under the plan.
        evidence : bool, default True
            Whether likelihoods are wanted; attackers that learn do without.

        Raises
        ------
        CapacityError
            If the likelihoods would not fit.
        """
        n, plan = reports.size, self.plan
        entries = n * sum(plan.units[i].mechanism.k for i in self.seen) if evidence else 0
        if entries > MAX_ENTRIES:
            msg = (
                f"expected at most {MAX_ENTRIES:,} likelihoods of reports, got {entries:,} for "
                f"{n:,} records: attack fewer records, or use wider bins"
            )
            raise CapacityError(msg)
        fake = plan.design == "fake"
        columns, sizes = self._columns(reports)
        found = tuple(
            self._evidence(reports, i) + (math.log(plan.units[i].mechanism.k) if fake else 0.0)
            for i in (self.nodes if evidence else ())
        )
        own = self._evidence(reports, self.own) if evidence and self.own is not None else None
        hidden = float(len(plan.units) - len(self.nodes)) if fake else 0.0
        mode: Mode = "mixture" if fake else "product"
        return Observations(found, columns, sizes, own, mode, hidden)

    def _evidence(self, reports: CollectedReports, i: int) -> FloatArray:
        mechanism = self.plan.units[i].mechanism
        logs = mechanism.log_likelihood(reports.values[i])
        if reports.view is None:
            return logs
        result = np.zeros((reports.size, mechanism.k))
        result[reports.view == i] = logs
        return result

    def _columns(self, reports: CollectedReports) -> tuple[IntArray, tuple[int, ...]]:
        """Reports as categories: the reported category, or whether each one is supported."""
        found: list[IntArray] = []
        sizes: list[int] = []
        for i in self.seen:
            mechanism, values = self.plan.units[i].mechanism, reports.values[i]
            if isinstance(mechanism, SupportMechanism):
                parts: Sequence[IntArray] = list(mechanism.supports(values).T.astype(np.int64))
                size = 2
            else:
                parts, size = [np.asarray(values, dtype=np.int64)], mechanism.features
            for part in parts:
                column = part
                if reports.view is not None:  # one more category: nothing is reported
                    column = np.full(reports.size, size, dtype=np.int64)
                    column[reports.view == i] = part
                found.append(column)
                sizes.append(size + (reports.view is not None))
        return np.column_stack(found), tuple(sizes)
