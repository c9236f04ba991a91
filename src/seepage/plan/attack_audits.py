"""Audits of what this package releases: local mechanisms, collections and redactions.

The randomisers are played against as if somebody else had written them; what is known about them is
used only to choose inputs, and to say what of a report matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._entropy import TOTAL, Rng, Words, word_source
from seepage._numeric import FloatArray, IntArray
from seepage.attack.audit_results import MechanismAudit
from seepage.attack.auditing import audit_mechanism
from seepage.collect._supports import SupportMechanism
from seepage.collect.claims import RECORD, Unit
from seepage.collect.collection import CollectedReports, CollectionPlan
from seepage.collect.mechanism import Mechanism, Reports, TableMechanism, check_codes
from seepage.collect.records import joint_codes
from seepage.errors import InvalidInputError
from seepage.sequence._messages import Side
from seepage.sequence.leakage import check_position, sides
from seepage.sequence.plan import RedactionPlan, redact_draws

BITS = 64
"""Supports of so many categories are looked at; of more categories, those of the inputs only."""

_BLOCK_CELLS = 1 << 24

SAMPLES = 100_000
CONFIDENCE = 1 - 1e-3


def audit_local_mechanism(
    mechanism: Mechanism,
    codes: Sequence[int] | None = None,
    *,
    epsilon: float | None = None,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    rng: Rng = None,
) -> MechanismAudit:
    """Audit a local randomiser of one attribute.

    Parameters
    ----------
    mechanism : Mechanism
        With 2 categories or more.
    codes : sequence of int, optional
        The categories to compare; two or three of them, those that the mechanism tells apart best
        where it has a table, when left out.
    epsilon : float, optional
        The claim; that of the mechanism when left out.
    samples, confidence
        See `seepage.attack.auditing.audit_mechanism`.
    rng : numpy.random.Generator or int, optional
        Audits the simulation. Without it the reports are releases.

    Returns
    -------
    MechanismAudit

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    if not isinstance(mechanism, Mechanism):
        msg = f"expected a mechanism, got {mechanism!r}"
        raise InvalidInputError(msg)
    if mechanism.k < 2:
        msg = f"expected a mechanism with 2 categories or more, got {mechanism.k}"
        raise InvalidInputError(msg)
    if codes is None:
        middle = [mechanism.k // 2] if mechanism.k > 2 else []
        chosen = list(dict.fromkeys([*_worst(mechanism), *middle]))
    else:
        chosen = check_codes(codes, mechanism.k).tolist()
    return audit_mechanism(
        mechanism.sample,
        chosen,
        epsilon=mechanism.epsilon if epsilon is None else epsilon,
        samples=samples,
        confidence=confidence,
        rng=rng,
        vectorised=True,
        features=lambda reports: _visible(mechanism, reports, np.array(chosen)),
        names=[f"category {code}" for code in chosen],
        about=f"{mechanism.kind} on {mechanism.k} categories",
    )


def audit_collection(
    plan: CollectionPlan,
    about: str = RECORD,
    *,
    epsilon: float | None = None,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    rng: Rng = None,
) -> MechanismAudit:
    """Audit what a collection plan claims about records, or about one attribute.

    Parameters
    ----------
    plan : CollectionPlan
    about : str, default "(record)"
        "(record)": records that differ in every attribute, against `plan.epsilon`. An attribute:
        records that differ in it alone, against its budget.
    epsilon : float, optional
        A claim to audit instead.
    samples, confidence, rng
        See `audit_local_mechanism`.

    Returns
    -------
    MechanismAudit

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or there are no two such records.
    DomainError
        If there is no such attribute.
    """
    if not isinstance(plan, CollectionPlan):
        msg = f"expected a CollectionPlan, got {plan!r}"
        raise InvalidInputError(msg)
    column = None if about == RECORD else plan.domain.position(about)
    records = _records(plan, column)
    if len(records) < 2:
        msg = f"expected two categories or more to compare, got one in {about!r}"
        raise InvalidInputError(msg)
    claimed = plan.epsilon if column is None else plan.budgets[about]

    def randomise(table: IntArray, rng: Rng = None) -> NDArray[np.int64]:
        made = plan.randomize_codes(table, rng=rng, allow_unprotected=True)
        return _table(made, records)

    names = [
        str(
            {
                n: a.categories[c]
                for n, a, c in zip(plan.domain.names, plan.domain, row, strict=True)
            }
        )
        for row in records.tolist()
    ]
    return audit_mechanism(
        randomise,
        list(records),
        epsilon=claimed if epsilon is None else epsilon,
        samples=samples,
        confidence=confidence,
        rng=rng,
        vectorised=True,
        names=names,
        about=f"{plan.design} collection of {len(plan.domain)} attributes, about {about}",
    )


def audit_redaction(
    plan: RedactionPlan,
    position: int | None = None,
    *,
    epsilon: float | None = None,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    rng: Rng = None,
) -> MechanismAudit:
    """Audit what a redaction plan tells about a hidden record.

    The inputs are the states of the record. Given one, the sequence is drawn from the plan's chain
    and redacted; a report is what is seen from the record outwards, up to the first released record
    on either side. What lies beyond these does not depend on the hidden one.

    Parameters
    ----------
    plan : RedactionPlan
    position : int, optional
        The record; the first hidden one when left out.
    epsilon : float, optional
        The claim. When left out: what was asked for about this record, or else the exact leakage.
    samples, confidence, rng
        See `audit_local_mechanism`.

    Returns
    -------
    MechanismAudit

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the record has one possible state only.
    """
    if not isinstance(plan, RedactionPlan):
        msg = f"expected a RedactionPlan, got {plan!r}"
        raise InvalidInputError(msg)
    p = plan.positions[0] if position is None else check_position(position, plan.n)
    present = np.flatnonzero(plan.chain.supports(p, p + 1)[0]).tolist()
    if len(present) < 2:
        msg = f"expected a record with two possible states or more, got one at position {p}"
        raise InvalidInputError(msg)
    if epsilon is None:
        asked = dict(zip(plan.positions, plan.epsilons or (), strict=False))
        epsilon = asked.get(p, plan.leakage_about(p).value)
    left, right = sides(plan.chain, p, plan.n)
    redact = plan.redact_probability

    def randomise(states: IntArray, rng: Rng = None) -> NDArray[np.int64]:
        words = word_source(rng)
        hidden = redact_draws(redact[p, states], words(states.size))
        return np.stack(
            [
                np.where(hidden, -1, states),
                _outward(left, redact[:p][::-1], states, words),
                _outward(right, redact[p + 1 :], states, words),
            ],
            axis=1,
        )

    return audit_mechanism(
        randomise,
        present,
        epsilon=epsilon,
        samples=samples,
        confidence=confidence,
        rng=rng,
        vectorised=True,
        names=[repr(plan.chain.states[i]) for i in present],
        components=_redaction_words(plan, p),
        about=f"{plan.mechanism} redaction of record {p} among {plan.n}",
    )


def _redaction_words(plan: RedactionPlan, p: int) -> list[Callable[[Any], str]]:
    """What the three numbers of a report on a redaction mean."""
    states, k = plan.chain.states, plan.chain.k

    def own(value: Any) -> str:
        return (
            "the record is withheld" if value < 0 else f"the record is shown as {states[value]!r}"
        )

    def side(value: Any, sign: int) -> str:
        where = "before" if sign < 0 else "after"
        if value == 0:
            return f"nothing {where} the record is shown"
        distance, state = divmod(int(value), k)
        place = p + sign * distance
        return f"the first shown {where} the record is {states[state]!r} at position {place}"

    return [own, lambda value: side(value, -1), lambda value: side(value, 1)]


def _outward(side: Side, redact: FloatArray, start: IntArray, words: Words) -> IntArray:
    """The first released record on one side: its distance times k plus its state; 0 for none."""
    k = redact.shape[1]
    seen = np.zeros(start.size, dtype=np.int64)
    open_, states = np.arange(start.size), start
    for d, probabilities in enumerate(redact):
        kernel = side.kernel if side.kernel.ndim == 2 else side.kernel[d]
        uniform = words(open_.size) / float(TOTAL)
        states = (np.cumsum(kernel, axis=1)[states, :-1] <= uniform[:, np.newaxis]).sum(axis=1)
        shown = ~redact_draws(probabilities[states], words(open_.size))
        seen[open_[shown]] = (d + 1) * k + states[shown]
        open_, states = open_[~shown], states[~shown]
        if not open_.size:
            break
    return seen


def _worst(mechanism: Mechanism) -> tuple[int, int]:
    """Two categories that are told apart best, where there is a table; else the first and last."""
    if not isinstance(mechanism, TableMechanism):
        return 0, mechanism.k - 1
    logs = mechanism.channel.log_matrix
    used = logs[:, logs.max(axis=0) > -np.inf]
    at = int((used.max(axis=0) - used.min(axis=0)).argmax())
    high, low = int(used[:, at].argmax()), int(used[:, at].argmin())
    return (high, low) if high != low else (0, mechanism.k - 1)


def _visible(mechanism: Mechanism, reports: Reports, codes: IntArray) -> NDArray[Any]:
    """What of the reports tells categories apart, shape (n, F)."""
    if not isinstance(mechanism, SupportMechanism):
        return np.asarray(reports).reshape(len(reports), -1)
    kept = np.arange(mechanism.k) if mechanism.k <= BITS else np.unique(codes)
    step = max(1, _BLOCK_CELLS // mechanism.k)
    parts = [
        mechanism.supports(reports[i : i + step])[:, kept] for i in range(0, len(reports), step)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, kept.size), dtype=np.bool_)


def _records(plan: CollectionPlan, column: int | None) -> IntArray:
    """Records to compare, coded, shape (2 or 3, d)."""
    domain = plan.domain
    shape = np.array(domain.shape)
    records = np.stack([np.zeros_like(shape), shape - 1, shape // 2])
    if plan.design == "independent":
        for unit in plan.units:
            places = [domain.position(name) for name in unit.names]
            sizes = tuple(domain.shape[i] for i in places)
            for row, code in zip(records, _worst(unit.mechanism), strict=False):
                row[places] = np.unravel_index(code, sizes) if unit.mechanism.k > 1 else 0
    if column is not None:
        alone = np.repeat(records[:1], 3, axis=0)
        alone[:, column] = records[:, column]
        if len(np.unique(alone[:, column])) < 2:  # a group whose best pair differs elsewhere
            alone[:, column] = [0, shape[column] - 1, shape[column] // 2]
        records = alone
    _, first = np.unique(records, axis=0, return_index=True)
    return np.asarray(records[np.sort(first)])


def _table(made: CollectedReports, records: IntArray) -> NDArray[np.int64]:
    """Reports as numbers, shape (n, F); −1 where a record reports another view."""
    plan = made.plan
    n = made.size
    parts = [] if made.view is None else [made.view.reshape(-1, 1)]
    for number, (unit, values) in enumerate(zip(plan.units, made.values, strict=True)):
        codes = _unit_codes(plan, unit, records)
        seen = _visible(unit.mechanism, values, codes)
        if made.view is None:
            parts.append(seen)
            continue
        filled = np.full((n, seen.shape[1]), -1, dtype=np.int64)
        filled[made.view == number] = seen
        parts.append(filled)
    return np.concatenate([part.astype(np.int64) for part in parts], axis=1)


def _unit_codes(plan: CollectionPlan, unit: Unit, records: IntArray) -> IntArray:
    columns = [records[:, plan.domain.position(name)] for name in unit.names]
    return joint_codes(plan.domain, unit.names, columns)
