"""A redaction plan: with which probability each record is withheld, and what that leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._entropy import TOTAL, word_source
from seepage._numeric import (
    BoolArray,
    FloatArray,
    IntArray,
    as_float_array,
    check_epsilon,
    check_size,
    freeze,
)
from seepage.errors import InvalidInputError, SeepageError
from seepage.results import Result, Standing
from seepage.sequence._entries import CHAIN, PLAN, STRETCH, check_entries, number
from seepage.sequence.chain import MarkovChain, check_length
from seepage.sequence.leakage import (
    Leakage,
    check_position,
    check_redaction,
    redaction_leakage,
)
from seepage.sequence.uncertain import CUT, ChainSet, is_cut, uncertain_leakage

FORMAT, VERSION, UNIT = "seepage.redaction_plan", 1, "nats"

TWICE = (
    "Each sequence is drawn once: what one draw withholds another may release. Two draws by this "
    "plan together leak {more}{leakage:.4g} nats."
)


@dataclass(frozen=True, eq=False)
class Redacted:
    """A sequence after redaction.

    Attributes
    ----------
    values : tuple
        Label of each released record; None where it is redacted.
    codes : array of int, shape (n,)
        The same as positions among the states; −1 where it is redacted.
    simulation : bool
        Whether the draws can be repeated (`rng` was given), so that this is no release.
    plan : RedactionPlan
    """

    values: tuple[Any, ...]
    codes: IntArray
    simulation: bool
    plan: RedactionPlan

    @property
    def redacted(self) -> BoolArray:
        """Which records are redacted, shape (n,)."""
        return self.codes < 0

    @property
    def released_fraction(self) -> float:
        """Fraction of the records that are released."""
        return float(1 - self.redacted.mean())


@dataclass(frozen=True, eq=False)
class RedactionPlan(Result):
    """Redaction probabilities for every record and state, with their exact leakage.

    Probabilities are held as multiples of 2^-64, rounded up. Redacting more, state by state, is a
    processing of the released records, so rounding up never leaks more; and what is reported is
    the leakage of the numbers that `apply` draws with.

    Parameters
    ----------
    chain : MarkovChain
    redact_probability : array-like of float, shape (n, k)
        ``p(record t is redacted | its state is v)``.
    positions : sequence of int
        The hidden records, counted from 0; at least one.
    epsilons : sequence of float, optional
        Largest leakage asked for about each, in nats; None when nothing was asked for.
    mechanism : str
        How the plan was made; "given" for one that the user wrote.
    chain_set : ChainSet, optional
        Chains for all of which the leakage is to hold; `leakage` is then an upper bound.
    notes : sequence of str
        What a reader should know about the making of the plan.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or the shapes differ.
    """

    chain: MarkovChain
    redact_probability: FloatArray
    positions: tuple[int, ...]
    epsilons: tuple[float, ...] | None = None
    mechanism: str = "given"
    chain_set: ChainSet | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        r = check_redaction(self.chain, self.redact_probability)
        object.__setattr__(self, "redact_probability", freeze(on_grid(r)))
        where = check_positions(self.positions, r.shape[0])
        object.__setattr__(self, "positions", where)
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.epsilons is not None:
            asked = check_epsilon(np.asarray(self.epsilons, dtype=object), "epsilon")
            if asked.shape != (len(where),):
                msg = f"expected an epsilon for each hidden record ({len(where)}), got {asked.size}"
                raise InvalidInputError(msg)
            object.__setattr__(self, "epsilons", tuple((asked + 0.0).tolist()))  # −0 becomes 0
        if self.chain_set is not None:
            r = self.redact_probability
            if CUT not in self.notes and any(is_cut(r, p) for p in where):
                object.__setattr__(self, "notes", (*self.notes, CUT))

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.redact_probability.shape[0])

    @property
    def standing(self) -> Standing:
        """Exact for a known chain; upper for a set of chains."""
        return Standing.EXACT if self.chain_set is None else Standing.UPPER

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the leakage rests on."""
        return (*self.premises, *twice_told(self.leakage_of_two, self.standing))

    @property
    def premises(self) -> tuple[str, ...]:
        """What the leakage of one draw rests on."""
        if self.chain_set is not None:
            return (self.chain_set.assumption, *self.notes)
        law = "stationary" if self.chain.is_stationary else "with the given start"
        return (
            f"The records form this Markov chain with {self.chain.k} states, {law}.",
            *self.notes,
        )

    @cached_property
    def leakages(self) -> tuple[Leakage, ...]:
        """Leakage about each hidden record, in the order of `positions`."""
        return tuple(self.leakage_about(p) for p in self.positions)

    @property
    def leakage(self) -> float:
        """Largest leakage about a hidden record, in nats, in [0, ∞]."""
        return max(found.value for found in self.leakages)

    def leakage_about(self, position: int) -> Leakage:
        """Leakage about any record, hidden or not."""
        return self._leakage(self.redact_probability, position)

    def _leakage(self, redact: FloatArray, position: int) -> Leakage:
        if self.chain_set is not None:
            return uncertain_leakage(self.chain_set, redact, position)
        return redaction_leakage(self.chain, redact, position)

    @cached_property
    def leakage_of_two(self) -> float | None:
        """Largest leakage about a hidden record of two draws of one sequence together, in nats.

        A record stays withheld when both draws withhold it, with probability r². Which of the two
        releases a record does not depend on anything but its state, which is seen then. None when
        the plan is not random: then all draws are the same.
        """
        r = self.redact_probability
        if not ((r > 0) & (r < 1)).any():
            return None
        return max(self._leakage(r * r, p).value for p in self.positions)

    @property
    def keeps_promise(self) -> bool | None:
        """Whether no leakage exceeds its ε; None when none was asked for."""
        if self.epsilons is None:
            return None
        pairs = zip(self.leakages, self.epsilons, strict=True)
        return all(found.value <= asked for found, asked in pairs)

    @cached_property
    def release_probability(self) -> FloatArray:
        """Probability that a record is released, shape (n,)."""
        shown = 1 - self.redact_probability
        return freeze((self.chain.marginals(0, self.n) * shown).sum(axis=1))

    @property
    def utility(self) -> float:
        """Expected fraction of the records that are released, in [0, 1]."""
        return float(self.release_probability.mean())

    @property
    def release_rates(self) -> dict[Any, float]:
        """Expected fraction released among records of each state (of those that occur)."""
        law = self.chain.marginals(0, self.n)
        shown = (law * (1 - self.redact_probability)).sum(axis=0)
        total = law.sum(axis=0)
        pairs = zip(self.chain.states, shown.tolist(), total.tolist(), strict=True)
        return {state: part / all_ for state, part, all_ in pairs if all_ > 0}

    @property
    def window(self) -> tuple[int, int]:
        """First and last record that may be redacted; (p, p) at least is for a hidden record."""
        touched = np.flatnonzero((self.redact_probability > 0).any(axis=1))
        return (int(touched[0]), int(touched[-1])) if touched.size else (0, -1)

    @property
    def verdict(self) -> str:
        """What the plan does, in one sentence."""
        worst = max(self.leakages, key=lambda found: found.value)
        kind = "at most " if self.standing is Standing.UPPER else ""
        text = (
            f"Releases {self.utility:.1%} of {self.n} records on average and leaks {kind}"
            f"{worst.value:.6g} nats about record {worst.position}"
        )
        if self.epsilons is None:
            return text + "."
        asked = self.epsilons[self.positions.index(worst.position)]
        for found, limit in zip(self.leakages, self.epsilons, strict=True):
            if found.value > limit:
                return (
                    f"Does not keep its promise: leaks {kind}{found.value:.6g} nats about record "
                    f"{found.position} where {limit:g} were asked for; releases {self.utility:.1%} "
                    f"of {self.n} records on average."
                )
        return f"{text}, within the {asked:g} asked for."

    def apply(
        self, sequence: Sequence[Any], rng: np.random.Generator | int | None = None
    ) -> Redacted:
        """Redact a sequence.

        Parameters
        ----------
        sequence : sequence of labels, length n
        rng : numpy.random.Generator or int, optional
            Without it this is a release: the draws come from the operating system. With it the
            result is a simulation.

        Returns
        -------
        Redacted

        Raises
        ------
        DomainError
            If a value is none of the chain's states.
        InvalidInputError
            If the length is not n.
        """
        codes = self.chain.encode(sequence)
        if codes.size != self.n:
            msg = f"expected a sequence of {self.n} records, as the plan has, got {codes.size}"
            raise InvalidInputError(msg)
        r = self.redact_probability[np.arange(self.n), codes]
        hide = redact_draws(r, word_source(rng)(self.n))
        kept = np.where(hide, -1, codes)
        values = tuple(None if c < 0 else self.chain.states[c] for c in kept.tolist())
        return Redacted(values, freeze(kept), rng is not None, self)

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each record that may be redacted."""
        first, last = self.window
        rows = slice(first, last + 1)
        table: dict[str, list[Any]] = {
            "position": list(range(first, last + 1)),
            "hidden": [t in self.positions for t in range(first, last + 1)],
            "release_probability": self.release_probability[rows].tolist(),
        }
        for i, state in enumerate(self.chain.states):
            table[f"redact_{state}"] = self.redact_probability[rows, i].tolist()
        return table

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; equal rows that follow each other are written once.

        Raises
        ------
        InvalidInputError
            If a state is neither text, a finite number nor a boolean: it could not be read back.
        """
        for state in self.chain.states:
            plain = isinstance(state, (str, int)) or (
                isinstance(state, float) and np.isfinite(state)
            )
            if not plain:
                msg = (
                    "expected states that a file can hold (text, finite numbers, booleans), got "
                    f"{state!r}"
                )
                raise InvalidInputError(msg)
        return {
            "format": FORMAT,
            "version": VERSION,
            "unit": UNIT,
            "mechanism": self.mechanism,
            "verdict": self.verdict,
            "standing": self.standing,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "n": self.n,
            "positions": list(self.positions),
            "epsilons": None if self.epsilons is None else list(self.epsilons),
            "leakages": [
                {
                    "position": found.position,
                    "value": found.value,
                    "pair": None if found.pair is None else list(found.pair),
                    "output": [[t, label] for t, label in found.output.items()],
                    "silent": list(found.silent),
                }
                for found in self.leakages
            ],
            "utility": self.utility,
            "release_rates": [[state, rate] for state, rate in self.release_rates.items()],
            "chain": {
                "states": list(self.chain.states),
                "transition": self.chain.transition.tolist(),
                "initial": None if self.chain.initial is None else self.chain.initial.tolist(),
            },
            "chain_set": None if self.chain_set is None else self.chain_set.to_dict(),
            "redact_probability": _runs(self.redact_probability),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RedactionPlan:
        """Read what `to_dict` wrote; leakage and utility are computed again.

        Raises
        ------
        InvalidInputError
            If the content is no redaction plan of a known version, or something is missing.
        """
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            msg = f"expected a redaction plan (format {FORMAT!r}), got {_brief(content)}"
            raise InvalidInputError(msg)
        version = content.get("version")
        if isinstance(version, bool) or version != VERSION:
            msg = f"expected version {VERSION} of a redaction plan, got {version!r}"
            raise InvalidInputError(msg)
        try:
            asked, given = content.get("epsilons"), content.get("chain_set")
            if isinstance(asked, (list, tuple)):
                asked = tuple(map(number, asked))
                content = {**content, "epsilons": asked}
            check_entries(content, PLAN, "a redaction plan")
            told = content["chain"]
            check_entries(told, CHAIN, "the chain of a redaction plan")
            if content["unit"] != UNIT:
                msg = f"expected a redaction plan in {UNIT}, got the unit {content['unit']!r}"
                raise InvalidInputError(msg)
            chain = MarkovChain(told["transition"], told["initial"], tuple(told["states"]))
            return cls(
                chain,
                _unroll(content["redact_probability"], chain.k, content["n"]),
                tuple(content["positions"]),
                asked,
                content["mechanism"],
                None if given is None else ChainSet.from_dict(given, chain),
                tuple(content["notes"]),
            )
        except SeepageError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            msg = f"expected a whole redaction plan, got one that cannot be read: {error}"
            raise InvalidInputError(msg) from error


def twice_told(leakage: float | None, standing: Standing) -> tuple[str, ...]:
    """What an assumption says about a second draw of a sequence; nothing when it is the same."""
    if leakage is None:
        return ()
    more = "at most " if standing is Standing.UPPER else ""
    return (TWICE.format(more=more, leakage=leakage),)


def on_grid(redact: FloatArray) -> FloatArray:
    """Round probabilities up to multiples of 2^-64; exact for all above 2^-12."""
    return np.asarray(np.ldexp(np.ceil(np.ldexp(redact, 64)), -64))


def redact_draws(redact: FloatArray, words: Any) -> BoolArray:
    """Decide redactions from uniform words: exactly k of 2^64 words for a probability k/2^64."""
    sure = redact >= 1
    # Below 1 the largest multiple that a float holds is 2^64 − 2^11, which the integers hold too.
    weights = np.where(sure, 0.0, redact) * float(TOTAL)
    return np.asarray(sure | (words < weights.astype(np.uint64)))


def check_positions(positions: Any, n: int) -> tuple[int, ...]:
    """Return hidden records as ints; at least one, all different."""
    given = (positions,) if np.ndim(positions) == 0 else tuple(positions)
    where = tuple(check_position(p, n) for p in given)
    if not where or len(set(where)) < len(where):
        msg = f"expected one or more different hidden records, got {positions!r}"
        raise InvalidInputError(msg)
    return where


def from_probabilities(
    chain: MarkovChain | ChainSet,
    redact_probability: ArrayLike,
    position: int | Sequence[int],
    epsilon: float | Sequence[float] | None = None,
) -> RedactionPlan:
    """Make a plan of redaction probabilities that the user wrote.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    redact_probability : array-like of float, shape (n, k)
    position : int or sequence of int
        The hidden record or records.
    epsilon : float or sequence of float, optional
        Largest leakage wanted, for comparison: the plan is not changed.
    """
    known = chain.center if isinstance(chain, ChainSet) else chain
    r = check_redaction(known, redact_probability)
    where = check_positions(position, r.shape[0])
    asked = None if epsilon is None else spread(epsilon, len(where))
    given = chain if isinstance(chain, ChainSet) else None
    return RedactionPlan(known, r, where, asked, "given", given)


def spread(epsilon: Any, count: int) -> tuple[float, ...]:
    """Return an ε for each of `count` hidden records."""
    asked = check_epsilon(epsilon)
    if asked.ndim > 1 or (asked.ndim == 1 and asked.size != count):
        msg = f"expected one epsilon, or one for each of {count} hidden records, got {epsilon!r}"
        raise InvalidInputError(msg)
    return tuple(np.broadcast_to(asked, count).tolist())


def _runs(table: FloatArray) -> list[dict[str, Any]]:
    starts = np.flatnonzero(np.r_[True, (table[1:] != table[:-1]).any(axis=1)])
    ends = np.r_[starts[1:], table.shape[0]]
    return [
        {"first": int(a), "count": int(b - a), "probability": table[a].tolist()}
        for a, b in zip(starts, ends, strict=True)
    ]


def _unroll(runs: Any, k: int, n: Any) -> FloatArray:
    size = check_length(check_size(n, "n"), k)
    expected = 0
    rows = []
    for run in runs:
        check_entries(run, STRETCH, "a stretch of redaction probabilities")
        first, count = run["first"], run["count"]
        if count < 1 or first != expected:
            msg = (
                "expected stretches of redaction probabilities that follow each other, got "
                f"{count!r} records from {first!r} on where {expected} is next"
            )
            raise InvalidInputError(msg)
        row = as_float_array(run["probability"], "redact_probability")
        if row.shape != (k,):
            msg = f"expected redaction probabilities for {k} states, got {run['probability']!r}"
            raise InvalidInputError(msg)
        rows.append(row)
        expected += count
        if expected > size:
            break
    if expected != size:
        msg = f"expected redaction probabilities for {size} records, got {expected} or more"
        raise InvalidInputError(msg)
    return np.repeat(np.array(rows), [run["count"] for run in runs], axis=0)


def _brief(content: Any) -> str:
    if isinstance(content, Mapping):
        return f"format {content.get('format')!r}"
    return repr(type(content).__name__)
