"""Redact the sequences of a table, so that the records of those who opted out stay private."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from seepage._entropy import as_generator
from seepage._numeric import BoolArray, check_epsilon
from seepage.collect.records import RELEASE, SIMULATION
from seepage.errors import InvalidInputError, did_you_mean
from seepage.plan.redaction_files import read_chain, read_plans
from seepage.plan.redaction_fit import FITTED, check_possible, fit_table, translated
from seepage.results import Result, Standing
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.fit import ChainTest, FittedChain
from seepage.sequence.plan import RedactionPlan, twice_told
from seepage.sequence.uncertain import ChainSet
from seepage.tables.sequences import AUTO, MAYBE, Protect, SequenceTable, read_sequences

if TYPE_CHECKING:
    import polars as pl

Mechanism = Literal["optimal", "certified", "quilt", "data-independent", "published"]
Progress = Callable[[int, int], None]
Chain = MarkovChain | ChainSet

DEFAULT: Mechanism = "certified"

FITS = ("states", "confidence", "smoothing")
"""What belongs to a fit, and is refused with a chain that is given."""

PLAN_ONLY = "plan only, nothing drawn"

EACH = (
    "Each protected record of a sequence has its own ε; what a release tells about several of them "
    "together is not bounded."
)
UNASKED = "Sequences without a protected record ({count:,}) are released whole."
BY_PLAN = (
    "No column marks the protected records: the positions of the plan are protected in every "
    "sequence."
)


@dataclass(frozen=True, eq=False)
class RedactionGroup:
    """Sequences of one length with the same protected positions, which share a plan.

    Attributes
    ----------
    plan : RedactionPlan
    members : tuple of int
        Numbers of the sequences in the table.
    released : int or None
        Records released in this run; None when none was made.
    """

    plan: RedactionPlan
    members: tuple[int, ...]
    released: int | None = None

    @property
    def records(self) -> int:
        """Number of records of all its sequences."""
        return self.plan.n * len(self.members)

    @property
    def expected(self) -> float:
        """Expected number of released records."""
        return self.plan.utility * self.records


@dataclass(frozen=True, eq=False)
class TableRedaction(Result):
    """Sequences of a table with the plans that protect their records, and what was released.

    Attributes
    ----------
    table : SequenceTable
        Holds the records themselves: keep it where the table is.
    chain : MarkovChain or ChainSet
        What the plans hold for.
    fitted : FittedChain or None
        The chain when it was fitted to the table, without its protected records.
    mechanism : str
    groups : tuple of RedactionGroup
    hide : tuple of array of bool, or None
        For each sequence, which records are redacted in this run; None when nothing was drawn.
    simulation : bool
        Whether the draws can be repeated, so that this is no release.
    notes : tuple of str
    changing : ChainTest or None
        With a fit: whether it differs between the halves of the sequences.
    """

    table: SequenceTable
    chain: Chain
    fitted: FittedChain | None
    mechanism: str
    groups: tuple[RedactionGroup, ...]
    hide: tuple[BoolArray, ...] | None
    simulation: bool
    notes: tuple[str, ...] = ()
    changing: ChainTest | None = None

    @property
    def source(self) -> str:
        """Where the sequences came from."""
        return self.table.source

    @property
    def known(self) -> MarkovChain:
        """The chain, or the centre of the set."""
        return self.chain.center if isinstance(self.chain, ChainSet) else self.chain

    @property
    def standing(self) -> Standing:
        """Exact for a known chain; upper for a set of chains."""
        return self.groups[0].plan.standing

    @property
    def plans(self) -> tuple[RedactionPlan, ...]:
        """The plan of each group."""
        return tuple(group.plan for group in self.groups)

    @property
    def leakage(self) -> float:
        """Largest leakage about a protected record, in nats."""
        return max(plan.leakage for plan in self.plans)

    @property
    def keeps_promise(self) -> bool | None:
        """Whether no leakage exceeds its ε; None when none was asked for."""
        kept = [plan.keeps_promise for plan in self.plans]
        return None if None in kept else all(kept)

    @property
    def expected(self) -> float:
        """Expected number of released records, sequences without a protected one included."""
        free = self.table.size - sum(group.records for group in self.groups)
        return free + sum(group.expected for group in self.groups)

    @property
    def released(self) -> int | None:
        """Records released in this run."""
        if self.hide is None:
            return None
        return self.table.size - int(sum(mask.sum() for mask in self.hide))

    @property
    def from_fit(self) -> bool:
        """Whether the chain was fitted to this table, or to that of a plan which was read."""
        return self.fitted is not None or any(FITTED in plan.notes for plan in self.plans)

    @property
    def kind(self) -> str:
        """What a table with these draws is: a release, with its reservations, or none."""
        if self.hide is None:
            return PLAN_ONLY
        if self.simulation:
            return SIMULATION
        kept = self.keeps_promise
        judged = "" if kept else " without an ε" if kept is None else " above ε"
        table = "this table" if self.fitted is not None else "the table of the plan"
        return RELEASE + judged + (f", chain fitted to {table}" if self.from_fit else "")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the leakage rests on."""
        told = dict.fromkeys(s for plan in self.plans for s in plan.premises)
        twice = [plan.leakage_of_two for plan in self.plans]
        worst = max((x for x in twice if x is not None), default=None)
        notes = (note for note in self.notes if note not in told)
        return (*told, *twice_told(worst, self.standing), *notes)

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        if len(self.groups) == 1 and len(self.table.values) == 1:
            return self.groups[0].plan.verdict
        kind = "at most " if self.standing is Standing.UPPER else ""
        share = self.expected / self.table.size
        bad = [plan for plan in self.plans if plan.keeps_promise is False]
        what = (
            f"leaks {kind}{self.leakage:.6g} nats about a protected record at worst; releases "
            f"{share:.1%} of {self.table.size:,} records in {len(self.table.values):,} sequences "
            "on average"
        )
        if bad:
            return f"Does not keep its promise: {what}."
        return what[0].upper() + what[1:] + "."

    def undrawn(self) -> TableRedaction:
        """The plans alone, as if nothing had been drawn."""
        groups = tuple(replace(group, released=None) for group in self.groups)
        return replace(self, groups=groups, hide=None, simulation=False)

    def frame(self) -> pl.DataFrame:
        """Return the table with redacted records empty.

        Raises
        ------
        InvalidInputError
            If nothing was drawn.
        """
        if self.hide is None:
            msg = "expected a redaction that was drawn, got a plan only: use apply=True"
            raise InvalidInputError(msg)
        return self.table.redacted(self.hide)

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each protected record of each group."""
        rows: list[dict[str, Any]] = []
        for number, group in enumerate(self.groups):
            plan = group.plan
            asked = plan.epsilons or (None,) * len(plan.positions)
            for found, epsilon in zip(plan.leakages, asked, strict=True):
                rows.append(
                    {
                        "group": number,
                        "sequences": len(group.members),
                        "n": plan.n,
                        "position": found.position,
                        "epsilon": epsilon,
                        "leakage": found.value,
                        "expected_released": group.expected,
                        "released": group.released,
                        "utility": plan.utility,
                        "kind": self.kind,
                    }
                )
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Plans and sums as plain values; no records.

        With a chain fitted to the table they belong where the table is: together with what is
        released, exact numbers of the fit can tell redacted records. Its counts are left out, and
        its errors and p-values have two digits.
        """
        fitted = None
        if self.fitted is not None and self.changing is not None:
            errors = self.fitted.standard_errors.tolist()
            fitted = {
                "standard_errors": [[_two_digits(x) for x in row] for row in errors],
                "order_p_value": _two_digits(self.fitted.order_tests[1].p_value),
                "stationarity_p_value": _two_digits(self.changing.p_value),
            }
        return {
            "format": "seepage.table_redaction",
            "version": 1,
            "source": self.source,
            "unit": "nats",
            "mechanism": self.mechanism,
            "verdict": self.verdict,
            "standing": self.standing,
            "assumptions": list(self.assumptions),
            "sequences": len(self.table.values),
            "records": self.table.size,
            "leakage": self.leakage,
            "keeps_promise": self.keeps_promise,
            "expected_released": self.expected,
            "released": self.released,
            "simulation": self.simulation if self.hide is not None else None,
            "kind": self.kind,
            "fitted": fitted,
            "groups": [
                {
                    "sequences": len(group.members),
                    "released": group.released,
                    "plan": group.plan.to_dict(),
                }
                for group in self.groups
            ],
        }


def redact_table(
    source: Any,
    epsilon: float | None = None,
    *,
    protect: Protect = None,
    mechanism: Mechanism | None = None,
    chain: Chain | str | os.PathLike[str] | None = None,
    plan: RedactionPlan | Sequence[RedactionPlan] | str | os.PathLike[str] | None = None,
    states: Sequence[Any] | None = None,
    smoothing: float = 0.0,
    confidence: float | None = None,
    rng: np.random.Generator | int | None = None,
    apply: bool = True,
    progress: Progress | None = None,
    **reading: Any,
) -> TableRedaction:
    """Redact the sequences of a table so that chosen records stay private.

    Parameters
    ----------
    source : path, frame, mapping of columns, or SequenceTable
    epsilon : float, default 1.0
        Largest leakage about each protected record, in nats, in [0, ∞]. With `plan` the one that
        it is judged by, in place of its own.
    protect : str, int or sequence of int, default "auto"
        Which records; see `seepage.tables.sequences.read_sequences`. With `plan` they must be its
        positions; without a column that marks them its positions are taken.
    mechanism : {"certified", "optimal", "quilt", "data-independent", "published"}
        "certified" by default. "published" does not keep its promise; its plan says what it leaks.
    chain : MarkovChain, ChainSet or path, optional
        Without it, and without `plan`, a chain is fitted to the records of the table that are not
        protected.
    plan : RedactionPlan, several, or path, optional
        In place of `mechanism` and `chain`: one for each length and set of positions.
    states : sequence of label, optional
        All states there are, for a fit.
    smoothing : float
        Added to every count of a transition, for a fit.
    confidence : float, optional
        In (0, 1): the plans hold for all chains in this confidence set of the fit.
    rng : numpy.random.Generator or int, optional
        Without it this is a release: draws come from the operating system.
    apply : bool
        Whether to draw what is redacted, or to plan only.
    progress : callable, optional
        Called with the number of plans made and that of all.
    **reading
        Passed to `seepage.tables.sequences.read_sequences`.

    Returns
    -------
    TableRedaction

    Raises
    ------
    DomainError
        If the table has a state that the chain does not know, or a sequence that it takes as
        impossible.
    InvalidInputError
        If a parameter is outside its range, or no plan fits a sequence.
    SeepageError
        If the table cannot be used.

    Examples
    --------
    >>> table = {"place": ["in", "in", "out", "in", "in", "out", "out", "in"] * 5}
    >>> result = redact_table(table, 1.0, protect=20, rng=1)
    >>> result.leakage <= 1.0, result.frame()["place"][20] is None
    (True, True)
    """
    given = None if plan is None else _plans(plan)
    made = {"chain": chain, "states": states, "confidence": confidence, "mechanism": mechanism}
    asked = _asked(epsilon, {**made, "smoothing": _nonzero(smoothing)}, given)
    mechanism = DEFAULT if mechanism is None else mechanism
    if given is not None and epsilon is not None:
        given = tuple(replace(item, epsilons=(asked,) * len(item.positions)) for item in given)
    table = source
    if not isinstance(source, SequenceTable):
        unsaid = AUTO if given is None else MAYBE
        table = read_sequences(source, unsaid if protect is None else protect, **reading)
    if given is None and table.hidden is None:
        msg = "expected a table that says what is protected, got none: read it with protect"
        raise InvalidInputError(msg)
    fitted: FittedChain | None = None
    changing: ChainTest | None = None
    notes: tuple[str, ...] = ()
    if given is not None:
        known: Chain = given[0].chain_set or given[0].chain
    elif chain is not None:
        known = _chain(chain)
    else:
        fitted, changing, notes = fit_table(table, states, smoothing)
        known = fitted if confidence is None else fitted.confidence_set(confidence)
    values = translated(table, known.states)
    check_possible(table.ids, values, known)
    if given is not None:
        groups = _matched(table, given)
    else:
        make = _maker(known, mechanism, asked, notes)
        groups = _made(table, make, progress)
    whole = len(values) - sum(len(group.members) for group in groups)
    said = (*table.notes, *notes, *((UNASKED.format(count=whole),) if whole else ()))
    if table.hidden is None:
        said = (*said, BY_PLAN)
    if any(len(group.plan.positions) > 1 for group in groups):
        said = (*said, EACH)
    hide = None
    if apply:
        groups, hide = _drawn(groups, values, rng)
    name = given[0].mechanism if given is not None else mechanism
    simulation = apply and rng is not None
    return TableRedaction(table, known, fitted, name, groups, hide, simulation, said, changing)


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def _chain(chain: Any) -> Chain:
    if isinstance(chain, MarkovChain | ChainSet):
        return chain
    if isinstance(chain, str | os.PathLike):
        return read_chain(os.fspath(chain))
    msg = f"expected a MarkovChain, a ChainSet or a path, got {chain!r}"
    raise InvalidInputError(msg)


def _plans(plan: Any) -> tuple[RedactionPlan, ...]:
    if isinstance(plan, RedactionPlan):
        return (plan,)
    if isinstance(plan, str | os.PathLike):
        return read_plans(os.fspath(plan))
    found = tuple(plan) if isinstance(plan, Sequence) else ()
    if not found or not all(isinstance(item, RedactionPlan) for item in found):
        msg = f"expected a RedactionPlan, several or a path, got {plan!r}"
        raise InvalidInputError(msg)
    return found


def _nonzero(smoothing: Any) -> Any:
    """None where nothing is added to the counts, so that it is as if it had not been said."""
    return None if isinstance(smoothing, int | float) and smoothing == 0 else smoothing


def _asked(epsilon: Any, made: Mapping[str, Any], given: tuple[RedactionPlan, ...] | None) -> float:
    """Return ε; refuse what contradicts each other.

    `made` is how plans are to be made, None for what was not said.
    """
    known, mechanism = get_args(Mechanism), made["mechanism"]
    if mechanism is not None and mechanism not in known:
        hint = did_you_mean(mechanism, known)
        msg = f"expected mechanism {', '.join(map(repr, known))}, got {mechanism!r}.{hint}"
        raise InvalidInputError(msg)
    also = [name for name, value in made.items() if value is not None]
    if given is not None and also:
        msg = f"expected no {also[0]} with a plan, which has its own, got one"
        raise InvalidInputError(msg)
    fits = [name for name in also if name in FITS]
    if made["chain"] is not None and fits:
        msg = f"expected no {fits[0]} with a chain that is given: it belongs to a fit"
        raise InvalidInputError(msg)
    if given is not None:
        first = given[0].chain
        for other in given[1:]:
            same = other.chain.states == first.states
            if not same or not np.array_equal(other.chain.transition, first.transition):
                msg = "expected plans for one chain, got several chains"
                raise InvalidInputError(msg)
    value = check_epsilon(1.0 if epsilon is None else epsilon)
    if value.ndim:
        msg = f"expected one epsilon, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value) + 0.0  # −0 becomes 0


def _maker(
    known: Chain, mechanism: str, epsilon: float, notes: tuple[str, ...]
) -> Callable[[int, tuple[int, ...]], RedactionPlan]:
    if mechanism == "published" and isinstance(known, ChainSet):
        msg = "expected one chain for the published mechanism, got a set: leave out confidence"
        raise InvalidInputError(msg)
    function = getattr(redact, mechanism.replace("-", "_"))

    def make(n: int, positions: tuple[int, ...]) -> RedactionPlan:
        plan: RedactionPlan = function(known, n, positions, epsilon)
        return replace(plan, notes=(*plan.notes, *notes)) if notes else plan

    return make


def _made(
    table: SequenceTable,
    make: Callable[[int, tuple[int, ...]], RedactionPlan],
    progress: Progress | None,
) -> tuple[RedactionGroup, ...]:
    members: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for i, (sequence, positions) in enumerate(zip(table.values, table.hidden or (), strict=True)):
        if positions:
            members.setdefault((len(sequence), positions), []).append(i)
    groups = []
    for done, ((n, positions), who) in enumerate(members.items()):
        groups.append(RedactionGroup(make(n, positions), tuple(who)))
        if progress is not None:
            progress(done + 1, len(members))
    return tuple(groups)


def _matched(table: SequenceTable, given: tuple[RedactionPlan, ...]) -> tuple[RedactionGroup, ...]:
    """Give each sequence the plan of its length, and of its positions where they are told."""
    members: dict[int, list[int]] = {}
    for i, sequence in enumerate(table.values):
        positions = None if table.hidden is None else table.hidden[i]
        if positions == ():
            continue
        fits = [
            j
            for j, plan in enumerate(given)
            if plan.n == len(sequence)
            and (positions is None or sorted(positions) == sorted(plan.positions))
        ]
        if len(fits) != 1:
            what = "no plan" if not fits else f"{len(fits)} plans"
            where = "" if positions is None else f" with the protected positions {list(positions)}"
            msg = (
                f"expected one plan for sequence {table.ids[i]!r} of {len(sequence)} records"
                f"{where}, got {what}; the plans are for "
                + ", ".join(f"{plan.n} records, {list(plan.positions)}" for plan in given[:6])
            )
            raise InvalidInputError(msg)
        members.setdefault(fits[0], []).append(i)
    return tuple(RedactionGroup(given[j], tuple(who)) for j, who in members.items())


def _drawn(
    groups: tuple[RedactionGroup, ...],
    values: Sequence[Sequence[Any]],
    rng: np.random.Generator | int | None,
) -> tuple[tuple[RedactionGroup, ...], tuple[BoolArray, ...]]:
    """Redact every sequence; one generator for all, so that their draws differ."""
    source = None if rng is None else as_generator(rng)
    hide: list[BoolArray] = [np.zeros(len(sequence), dtype=bool) for sequence in values]
    done = []
    for group in groups:
        for i in group.members:
            hide[i] = group.plan.apply(values[i], source).redacted
        released = group.records - int(sum(hide[i].sum() for i in group.members))
        done.append(replace(group, released=released))
    return tuple(done), tuple(hide)
