"""Markov chains estimated from sequences, with errors, tests and confidence sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, IntArray, as_float_array, freeze
from seepage.errors import InvalidInputError, did_you_mean
from seepage.sequence.chain import MarkovChain, encode, is_missing
from seepage.sequence.uncertain import ChainSet, backward_range


@dataclass(frozen=True)
class ChainTest:
    """A likelihood-ratio test on a chain.

    Attributes
    ----------
    hypothesis : str
        What is rejected when the p-value is small.
    statistic : float
        ``G² = 2 Σ observed·ln(observed/expected)``, 0 or more.
    degrees : int
        Degrees of freedom; 0 where the data cannot tell.
    p_value : float
        In [0, 1], by the chi-squared law that the statistic approaches with many records.
    """

    hypothesis: str
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class FittedChain(MarkovChain):
    """A chain estimated from sequences.

    Attributes
    ----------
    counts : array of int, shape (k, k)
        Transitions seen, rows by the state before.
    sequences : tuple of array of int
        The data as positions among the states.
    smoothing : float
        What was added to every count.
    """

    counts: IntArray | None = None
    sequences: tuple[IntArray, ...] = ()
    smoothing: float = 0.0

    @property
    def transitions(self) -> IntArray:
        """Transitions seen, shape (k, k)."""
        assert self.counts is not None, "fit_chain always gives them"
        return self.counts

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error of each transition probability, shape (k, k).

        ``√(p(1 − p)/n_i)`` with n_i transitions from the state; ∞ where there is none.
        """
        seen = self.transitions.sum(axis=1, keepdims=True)
        variance = self.transition * (1 - self.transition)
        return np.where(seen > 0, np.sqrt(variance / np.maximum(seen, 1)), np.inf)

    @cached_property
    def order_tests(self) -> tuple[ChainTest, ChainTest]:
        """Tests of order 0 against 1, and of order 1 against 2.

        Anderson and Goodman, Annals of Mathematical Statistics 28 (1957).
        """
        k = self.k
        triples = np.zeros((k, k, k), dtype=np.int64)
        for codes in self.sequences:
            np.add.at(triples, (codes[:-2], codes[1:-1], codes[2:]), 1)
        # By the middle record: does the one after depend on the one before, given it?
        first = _homogeneity("records are independent", [self.transitions])
        second = _homogeneity(
            "the next record depends on the last one only", [triples[:, j, :] for j in range(k)]
        )
        return first, second

    def stationarity_test(self, parts: int = 2) -> ChainTest:
        """Test whether transition probabilities are the same in `parts` equal stretches.

        Parameters
        ----------
        parts : int, default 2
            2 or more.
        """
        if isinstance(parts, bool) or not isinstance(parts, (int, np.integer)) or parts < 2:
            msg = f"expected parts to be a whole number of 2 or more, got {parts!r}"
            raise InvalidInputError(msg)
        k = self.k
        tables = np.zeros((parts, k, k), dtype=np.int64)
        for codes in self.sequences:
            steps = np.arange(codes.size - 1)
            where = steps * parts // max(codes.size - 1, 1)
            np.add.at(tables, (where, codes[:-1], codes[1:]), 1)
        return _homogeneity(
            "transition probabilities do not change along the sequences",
            [tables[:, i, :] for i in range(k)],
        )

    def confidence_set(self, confidence: float = 0.95) -> ChainSet:
        """All chains within exact binomial (Clopper–Pearson) limits, jointly by Bonferroni.

        Limits of all rows, forwards and backwards, hold together at the confidence as far as the
        number of transitions from a state can be taken as given. They are for a stationary chain:
        another one read backwards changes with time, so that no counts tell its limits. A
        stationary chain on two states reads the same backwards and needs limits of two numbers
        only. Limits are widened to contain the centre, which smoothing may move out of them.

        Parameters
        ----------
        confidence : float, default 0.95
            In (0, 1).

        Returns
        -------
        ChainSet
            Its centre is this chain.

        Raises
        ------
        InvalidInputError
            If `confidence` is outside its range, or the chain was fitted with a start of its own.
        """
        from scipy import stats

        level = as_float_array(confidence, "confidence")
        if level.ndim or not 0 < level < 1:
            msg = f"expected confidence in (0, 1), got {confidence!r}"
            raise InvalidInputError(msg)
        if not self.is_stationary:
            msg = (
                "expected a stationary chain for a confidence set, got one with another start, "
                "which read backwards changes with time: fit it with start='stationary'"
            )
            raise InvalidInputError(msg)
        same = self.k == 2
        tables = [self.transitions] if same else [self.transitions, self.transitions.T]
        # Two numbers for two states: the limits of the other entry of a row follow.
        numbers = self.k * (1 if self.k == 2 else self.k) * len(tables)
        tail = (1 - float(level)) / numbers / 2
        center = MarkovChain(self.transition, self.initial, self.states)
        contained = [(self.transition, self.transition), backward_range(center)]
        limits: list[FloatArray] = []
        for index, table in enumerate(tables):
            total = table.sum(axis=1, keepdims=True)
            with np.errstate(all="ignore"):
                low = stats.beta.ppf(tail, table, total - table + 1)
                high = stats.beta.isf(tail, table + 1, total - table)
            low = np.where(table == 0, 0.0, low)
            high = np.where(table == total, 1.0, high)
            least, most = contained[index]  # ends of sequences, too, may move the centre out
            limits += [np.minimum(low, least), np.maximum(high, most)]
        forward, backward = limits[:2], limits[-2:]
        return ChainSet(
            center, forward[0], forward[1], backward[0], backward[1], confidence=float(level)
        )


def fit_chain(
    sequences: Sequence[Any] | Iterable[Sequence[Any]],
    *,
    states: Sequence[Any] | None = None,
    smoothing: float = 0.0,
    start: str = "stationary",
) -> FittedChain:
    """Estimate a chain from one sequence or several.

    Parameters
    ----------
    sequences : sequence of labels, or iterable of such sequences
    states : sequence of labels, optional
        All states there are, in order. Without it they are read from the data, sorted where they
        can be.
    smoothing : float, default 0
        Added to every count of a transition: 0 for the relative frequencies.
    start : {"stationary", "observed"}
        Law of the first record: the stationary one, or the relative frequencies (with smoothing)
        of the first records.

    Returns
    -------
    FittedChain

    Raises
    ------
    DomainError
        If a value is none of the states.
    InvalidInputError
        If there is no transition, or a state is never left and nothing is added to the counts.
    """
    add = as_float_array(smoothing, "smoothing")
    if add.ndim or not 0 <= add < np.inf:
        msg = f"expected smoothing to be a number of 0 or more, got {smoothing!r}"
        raise InvalidInputError(msg)
    if start not in {"stationary", "observed"}:
        hint = did_you_mean(start, ("stationary", "observed"))
        msg = f"expected start 'stationary' or 'observed', got {start!r}.{hint}"
        raise InvalidInputError(msg)
    rows = _as_sequences(sequences)
    labels = tuple(states) if states is not None else _observed(rows)
    codes = tuple(encode(row, labels) for row in rows)
    k = len(labels)
    if k == 0 or (sum(c.size for c in codes) <= len(codes) and add == 0):
        msg = "expected a sequence of two records or more, got none: give smoothing= or more data"
        raise InvalidInputError(msg)
    counts = np.zeros((k, k), dtype=np.int64)
    for c in codes:
        np.add.at(counts, (c[:-1], c[1:]), 1)
    weighted = counts + float(add)
    left = weighted.sum(axis=1)
    if (left == 0).any():
        state = labels[int(np.argmin(left))]
        msg = (
            f"expected every state to be followed by another record, got {state!r}, which never "
            "is: leave it out or give smoothing="
        )
        if isinstance(state, tuple):
            msg += " (a tuple is taken as one state: give several sequences as lists)"
        raise InvalidInputError(msg)
    initial = None
    if start == "observed":
        first = np.bincount([c[0] for c in codes if c.size], minlength=k) + float(add)
        initial = first / first.sum()
    return FittedChain(
        weighted / left[:, np.newaxis],
        initial,
        labels,
        freeze(counts),
        tuple(freeze(c) for c in codes),
        float(add),
    )


def _as_sequences(sequences: Any) -> list[list[Any]]:
    """One sequence or several as lists: several when every item is itself a sequence."""
    if isinstance(sequences, (str, bytes)) or not isinstance(sequences, Iterable):
        msg = f"expected a sequence of states or several of them, got {sequences!r}"
        raise InvalidInputError(msg)
    if isinstance(sequences, np.ndarray):
        if sequences.ndim not in {1, 2}:
            msg = f"expected an array of one or two dimensions, got shape {sequences.shape}"
            raise InvalidInputError(msg)
        items: list[Any] = sequences.tolist()
    else:
        items = list(sequences)
    nested = [_nested(item) for item in items]
    if any(nested) and not all(nested):
        at = nested.index(not nested[0])
        msg = f"expected either states or sequences of states, got both: {items[at]!r}"
        raise InvalidInputError(msg)
    if not items:
        msg = "expected at least one sequence, got none"
        raise InvalidInputError(msg)
    if not nested[0]:
        return [items]
    return [item.tolist() if isinstance(item, np.ndarray) else list(item) for item in items]


def _nested(item: Any) -> bool:
    return isinstance(item, Iterable) and not isinstance(item, (str, bytes, tuple))


def _observed(rows: list[list[Any]]) -> tuple[Any, ...]:
    found: dict[Any, None] = {}
    for row in rows:
        for t, item in enumerate(row):
            missing = is_missing(item)
            try:
                found.setdefault(item)
            except TypeError as error:
                msg = f"expected states that can be compared, got {item!r} at position {t}"
                raise InvalidInputError(msg) from error
            if missing:
                msg = f"expected a state, got {item!r} at position {t}: fill it or leave it out"
                raise InvalidInputError(msg)
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(found)


def _homogeneity(hypothesis: str, tables: Sequence[Any]) -> ChainTest:
    """Test that the rows of each table share one law; statistics and degrees add up."""
    from scipy import stats

    statistic, degrees = 0.0, 0
    for table in tables:
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        total = table.sum()
        used = max(int((rows > 0).sum()) - 1, 0) * max(int((columns > 0).sum()) - 1, 0)
        if total == 0 or used == 0:
            continue
        expected = np.outer(rows, columns) / total
        seen = table > 0
        statistic += 2 * float((table[seen] * np.log(table[seen] / expected[seen])).sum())
        degrees += used
    value = float(stats.chi2.sf(statistic, degrees)) if degrees else 1.0
    return ChainTest(hypothesis, max(statistic, 0.0), degrees, value)
