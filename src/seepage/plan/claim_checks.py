"""Evidence against totals that rest on a dependency tree, from the records themselves.

A total by tree is an upper bound when the data follow the tree. Whether they do, no pair of
attributes can tell: the tree is fitted to the pairs. The exact leakage of several actual reports
together can, since the total must not be below it. Where such a set of reports is found, the claim
falls back on the ε of the record, which bounds every total whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage._numeric import IntArray
from seepage.channel import Channel, randomized_response
from seepage.collect.claims import GROUP, Claim, Unit
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Mechanism, TableMechanism
from seepage.collect.records import joint_codes
from seepage.domain import Domain
from seepage.leakage.joint import joint_counts, joint_leakage
from seepage.leakage.model import LeakageModel
from seepage.plan.totals import TREE
from seepage.results import Standing

CELLS = 1_000_000
"""Largest joint table of a set of reports."""

WORK = 24_000_000
"""Records and cells looked at for all attributes together: about two seconds.

The search is bounded by work rather than by time, so that a plan does not depend on the machine.
"""

EACH = 5_000
"""What one table costs besides its records and cells, in the same unit."""

LOOK = 3
"""So many attributes are compared before one joins a set."""

MANY = 60
"""Of more attributes, only those with the smallest totals are checked."""

BEYOND = 1e-9
"""Relative excess from which a leakage is above a total, and not rounding."""

REFUTED = (
    "A tree would bound the total about {about!r} by {claimed:.3g} nats, which these records "
    "refute: the reports of {sources} alone tell {leakage:.3g} (exact, through {channels}). The ε "
    "of the record, which always bounds it, is claimed instead."
)
STANDS = (
    "The dependency tree was put to a test: no set of reports that was tried, of up to {size} "
    "attributes, tells more than the totals claimed by tree. That is no proof."
)
UNTESTED = (
    "The dependency tree was not put to a test, which needs records: only pairs of attributes were "
    "counted."
)
MISSED = (
    "The target of {target:g} nats was met by totals that assume a tree, which these records "
    "refute for {names}: what is claimed about {them} is larger, and the target is not vouched for."
)
ACTUAL = "their mechanisms"
STAND_IN = "their mechanisms, or k-ary randomised response of their ε where reports are no values"

_TREE = TREE[: TREE.index("{")]


@dataclass(frozen=True)
class Evidence:
    """Reports that tell more about an attribute than a total allows.

    Attributes
    ----------
    about : str
    sources : tuple of str
        Whose reports; the attribute's own among them.
    leakage : float
        Of these reports together, exactly, in nats; a lower bound of the total leakage.
    claimed : float
        The total that it exceeds.
    """

    about: str
    sources: tuple[str, ...]
    leakage: float
    claimed: float


@dataclass(frozen=True)
class Search:
    """What was found, and how far the search went.

    Attributes
    ----------
    evidence : tuple of Evidence
        At most one for each attribute.
    size : int
        Most attributes whose reports were taken together.
    """

    evidence: tuple[Evidence, ...]
    size: int


def by_tree(claim: Claim) -> bool:
    """Whether a claim holds only if the data follow a dependency tree."""
    return any(sentence.startswith(_TREE) for sentence in claim.assumptions)


def checked_plan(
    plan: CollectionPlan,
    model: LeakageModel | None,
    unrounded: Mapping[str, float] | None = None,
) -> CollectionPlan:
    """Return a plan whose totals by tree were held against the records.

    Parameters
    ----------
    plan : CollectionPlan
        Of design "independent", where it has totals by tree; others are returned as they are.
    model : LeakageModel, optional
        From which the totals were computed.
    unrounded : mapping of str to float, optional
        Totals about attributes before they were rounded up for the plan: these are put to the test.

    Returns
    -------
    CollectionPlan
        The total about an attribute for which there is evidence is the ε of the record, with a
        sentence that says why; the others stay, with their condition.
    """
    if model is None or not any(map(by_tree, plan.claims)):
        return plan
    if model.codes is None:
        return replace(plan, claims=tuple(_noted(claim, UNTESTED) for claim in plan.claims))
    exact = unrounded or {}
    claimed = {c.about: exact.get(c.about, c.value) for c in plan.claims if by_tree(c)}
    units = [unit for unit in plan.units if set(unit.names) <= set(claimed)]
    labels = [" + ".join(unit.names) for unit in plan.units]
    domain = Domain.of({str(i): range(unit.mechanism.k) for i, unit in enumerate(plan.units)})
    columns = [_column(plan.domain, model.codes, unit) for unit in plan.units]
    totals = {
        str(i): min(claimed[name] for name in unit.names)
        for i, unit in enumerate(plan.units)
        if unit in units
    }
    search = joint_evidence(
        domain,
        np.stack(columns, axis=1),
        model.weights,
        [_channel(unit.mechanism) for unit in plan.units],
        totals,
    )
    against: dict[str, Evidence] = {}
    for item in search.evidence:
        sources = tuple(labels[int(source)] for source in item.sources)
        named = replace(item, about=labels[int(item.about)], sources=sources)
        against |= dict.fromkeys(plan.units[int(item.about)].names, named)
    stand_in = any(not isinstance(unit.mechanism, TableMechanism) for unit in plan.units)
    channels = STAND_IN if stand_in else ACTUAL
    stands = STANDS.format(size=search.size)
    assumptions = plan.assumptions
    missed = [name for name in plan.domain.names if name in against]
    if missed and plan.target is not None and plan.epsilon > plan.target:
        them = "it" if len(missed) == 1 else "them"
        told = MISSED.format(target=plan.target, names=", ".join(missed), them=them)
        assumptions = (*assumptions, told)
    return replace(
        plan,
        assumptions=assumptions,
        claims=tuple(
            _instead(claim, plan.epsilon, against[claim.about], channels)
            if claim.quantity == "total" and claim.about in against
            else _noted(claim, stands)
            for claim in plan.claims
        ),
    )


def budget_evidence(
    model: LeakageModel, budgets: Mapping[str, float], totals: Mapping[str, float]
) -> Search | None:
    """Hold totals by tree against the records, with k-ary randomised response of each budget.

    Parameters
    ----------
    model : LeakageModel
    budgets, totals : mapping of str to float
        For each attribute, in nats.

    Returns
    -------
    Search or None
        None where the model has no records.
    """
    if model.codes is None:
        return None
    channels = [randomized_response(item.size, budgets[item.name]) for item in model.domain]
    return joint_evidence(model.domain, model.codes, model.weights, channels, dict(totals))


def joint_evidence(
    domain: Domain,
    codes: IntArray,
    weights: IntArray | None,
    channels: Sequence[Channel],
    totals: dict[str, float],
    *,
    work: int = WORK,
) -> Search:
    """Look for sets of reports that tell more about an attribute than its total.

    For each attribute a set of reports is grown, always by the one of a few candidates with which
    the set tells most; candidates come in the order of what they tell alone. More reports never
    tell less, so the last set says most.

    Parameters
    ----------
    domain : Domain
        d attributes.
    codes : array of int, shape (n, d)
    weights : array of int, shape (n,), optional
    channels : sequence of d Channel
    totals : mapping of str to float
        In nats, in [0, ∞]; attributes that are absent are not checked.
    work : int
        Bounds the records and cells looked at.

    Returns
    -------
    Search
    """
    names = sorted((n for n in totals if totals[n] < math.inf), key=totals.__getitem__)[:MANY]
    used = dict(zip(domain.names, channels, strict=True))
    found, largest = [], 1
    for name in names:
        grown = _Growth(domain, codes, weights, used, name, work // len(names))
        best, value = grown.grow(totals[name] * (1 + BEYOND) + 1e-12)
        largest = max(largest, len(best))
        if value > totals[name] * (1 + BEYOND) + 1e-12:
            sources = tuple(n for n in domain.names if n in best)
            found.append(Evidence(name, sources, value, totals[name]))
    return Search(tuple(found), largest)


@dataclass
class _Growth:
    """A set of reports about one attribute, grown within a bound of work."""

    domain: Domain
    codes: IntArray
    weights: IntArray | None
    channels: dict[str, Channel]
    secret: str
    work: int

    def grow(self, limit: float) -> tuple[tuple[str, ...], float]:
        """The set, the secret first, and its leakage; ends where that is above the limit."""
        chosen: tuple[str, ...] = (self.secret,)
        value = self._leakage(chosen)
        alone, kept = {}, self.work // 2  # half of the work is for the sets
        for name in self.domain.names:
            if name != self.secret and self._affordable((self.secret, name), kept):
                alone[name] = self._leakage((self.secret, name))
        rest = sorted(alone, key=lambda name: -alone[name])
        while value <= limit:
            tried = [n for n in rest if self._cells((*chosen, n)) <= CELLS][:LOOK]
            sets = [(*chosen, name) for name in tried]
            if not sets or not all(self._affordable(names) for names in sets):
                break
            values = [self._leakage(names) for names in sets]
            best = int(np.argmax(values))
            chosen, value = sets[best], max(value, values[best])
            rest.remove(tried[best])
        return chosen, value

    def _cells(self, names: tuple[str, ...]) -> int:
        """Cells of the joint table, or of the reports, whichever are more."""
        first, *others = (self.channels[name].shape for name in names)
        return first[0] * math.prod(max(shape) for shape in others)

    def _cost(self, names: tuple[str, ...]) -> int:
        return EACH + len(self.codes) + self._cells(names) * len(names)

    def _affordable(self, names: tuple[str, ...], kept: int = 0) -> bool:
        return self._cells(names) <= CELLS and self._cost(names) <= self.work - kept

    def _leakage(self, names: tuple[str, ...]) -> float:
        self.work -= self._cost(names)
        table = joint_counts(self.domain, self.codes, self.weights, names)
        own, *others = (self.channels[name] for name in names)
        return joint_leakage(table, others, own)


def _instead(claim: Claim, record: float, found: Evidence, channels: str) -> Claim:
    sources = ", ".join(found.sources)
    told = REFUTED.format(
        claimed=found.claimed,
        about=found.about,
        sources=sources,
        leakage=found.leakage,
        channels=channels,
    )
    return Claim(claim.about, record, Standing.UPPER, (GROUP, told))


def _noted(claim: Claim, sentence: str) -> Claim:
    if not by_tree(claim):
        return claim
    return replace(claim, assumptions=(*claim.assumptions, sentence))


def _channel(mechanism: Mechanism) -> Channel:
    if isinstance(mechanism, TableMechanism):
        return mechanism.channel
    return randomized_response(mechanism.k, mechanism.epsilon)


def _column(domain: Domain, codes: IntArray, unit: Unit) -> IntArray:
    parts = [codes[:, domain.position(name)] for name in unit.names]
    return np.asarray(joint_codes(domain, unit.names, parts))
