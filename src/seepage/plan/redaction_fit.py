"""The chain behind the redaction of a table: fitted without what is protected, and checked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seepage._numeric import BoolArray
from seepage.collect.records import label_text
from seepage.errors import DomainError, InvalidInputError, did_you_mean
from seepage.sequence.chain import MarkovChain, check_states
from seepage.sequence.fit import ChainTest, FittedChain
from seepage.sequence.uncertain import ChainSet

if TYPE_CHECKING:
    from seepage.tables.sequences import SequenceTable

REJECTED = 0.05
"""P-values below this are told as a rejection."""

NAMED = 5
"""Places that an error lists."""

FITTED = (
    "The chain was fitted to the table that the plan was made for, without the transitions from "
    "and to its protected records; for a release, fit a chain to other data."
)
KEEP = (
    "Keep this with the table: its numbers come from a fit to records some of which are redacted, "
    "and together with the redacted table they may tell what was redacted."
)
UNSEEN = (
    "{count} of {all} transitions were never seen in the fit and are taken as impossible; "
    "smoothing (--smoothing) allows for them."
)
SECOND_ORDER = (
    "The data reject that the next record depends on the last one only (order 1 against 2: "
    "p = {p:.2g}); what longer memory tells about the protected record is not covered."
)
CHANGING = (
    "The data reject transition probabilities that stay the same along the sequences "
    "(p = {p:.2g}); the chain is an average over time."
)


def fit_table(
    table: SequenceTable, states: Sequence[Any] | None, smoothing: float
) -> tuple[FittedChain, ChainTest, tuple[str, ...]]:
    """Fit a chain to what is not protected, and say what the data object to.

    Protected records take no part: each sequence is fitted in the pieces between them. Otherwise
    the fit, which a plan or a report shows, would give them away.

    Returns
    -------
    chain : FittedChain
    changing : ChainTest
        Whether transition probabilities differ between the halves of the sequences.
    notes : tuple of str

    Raises
    ------
    DomainError
        If a record is none of the states.
    InvalidInputError
        If the pieces do not tell a chain.
    """
    values: Sequence[Sequence[Any]] = table.values
    if isinstance(states, str | bytes):
        msg = f"expected a sequence of states, got {states!r}"
        raise InvalidInputError(msg)
    if states is not None:
        states = check_states(states, len(states))
        values = translated(table, states)
    kept = [
        (start, len(row), list(row[start:end]))
        for row, hidden in zip(values, table.hidden or ((),) * len(values), strict=True)
        for start, end in _between(len(row), hidden)
    ]
    fitted = MarkovChain.fit(
        [piece for *_, piece in kept] or [[]], states=states, smoothing=smoothing
    )
    notes = [FITTED, KEEP]
    unseen = int((fitted.transition == 0).sum())
    if unseen:
        notes.append(UNSEEN.format(count=unseen, all=fitted.k**2))
    order = fitted.order_tests[1]
    changing = _halves(fitted, [(start, n) for start, n, _ in kept])
    for test, text in ((order, SECOND_ORDER), (changing, CHANGING)):
        if test.degrees and test.p_value < REJECTED:
            notes.append(text.format(p=test.p_value))
    return fitted, changing, tuple(notes)


def _between(n: int, hidden: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches of a sequence without a protected record, as start and end."""
    edges = [-1, *sorted(set(hidden)), n]
    return [(a + 1, b) for a, b in itertools.pairwise(edges) if b > a + 1]


def _halves(fitted: FittedChain, places: Sequence[tuple[int, int]]) -> ChainTest:
    """`FittedChain.stationarity_test` with halves of the sequences, not of their pieces."""
    from scipy import stats

    k = fitted.k
    seen = np.zeros((k, 2, k), dtype=np.int64)
    for codes, (start, n) in zip(fitted.sequences, places, strict=False):
        steps = start + np.arange(codes.size - 1)
        np.add.at(seen, (codes[:-1], 2 * steps // max(n - 1, 1), codes[1:]), 1)
    statistic, degrees = 0.0, 0
    for table in seen:
        used = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(used.shape) > 1:
            found = stats.chi2_contingency(used, correction=False, lambda_="log-likelihood")
            statistic += float(found.statistic)
            degrees += int(found.dof)
    value = float(stats.chi2.sf(statistic, degrees)) if degrees else 1.0
    what = "transition probabilities do not change along the sequences"
    return ChainTest(what, max(statistic, 0.0), degrees, value)


def translated(table: SequenceTable, states: tuple[Any, ...]) -> list[list[Any]]:
    """Values as the states of the chain: by label, else by what it looks like in a text file.

    Raises
    ------
    DomainError
        If a value is no state.
    """
    by_text: dict[str, list[Any]] = {}
    for known in states:
        by_text.setdefault(label_text(known), []).append(known)
    found: dict[tuple[bool, Any], Any] = {(isinstance(x, bool), x): x for x in states}
    result = []
    for name, sequence in zip(table.ids, table.values, strict=True):
        row = []
        for t, label in enumerate(sequence):
            key = (isinstance(label, bool), label)
            if key not in found:
                close = by_text.get(label_text(label), [])
                if len(close) != 1:
                    column = table.state_columns[t if table.wide else 0]
                    msg = (
                        f"expected a state of the chain in column {column!r}, got {label!r} at "
                        f"position {t} of sequence {name!r}."
                    )
                    raise DomainError(msg + did_you_mean(label, states))
                found[key] = close[0]
            row.append(found[key])
        result.append(row)
    return result


def check_possible(
    ids: Sequence[Any], values: Sequence[Sequence[Any]], known: MarkovChain | ChainSet
) -> None:
    """Refuse sequences that the chain, or every chain of a set, takes as impossible.

    Raises
    ------
    DomainError
        If a sequence has probability 0: no leakage is known for it.
    """
    chain, possible = _possible(known)
    for name, row in zip(ids, values, strict=True):
        codes = chain.encode(row)
        bad = np.flatnonzero(~possible[codes[:-1], codes[1:]])
        start = codes.size > 0 and chain.start[codes[0]] == 0
        if not bad.size and not start:
            continue
        if start:
            what = f"{row[0]!r} as its first record"
        else:
            shown = ", ".join(f"{t} to {t + 1}" for t in bad[:NAMED].tolist())
            what = f"transitions of probability 0 at positions {shown}"
            what += f" ({bad.size:,} in all)" if bad.size > NAMED else ""
        msg = (
            f"expected sequences that are possible under the chain, got sequence {name!r} with "
            f"{what}: take another chain, or fit one with smoothing (--smoothing)"
        )
        raise DomainError(msg)


def _possible(known: MarkovChain | ChainSet) -> tuple[MarkovChain, BoolArray]:
    if isinstance(known, ChainSet):
        return known.center, np.asarray(known.upper > 0)
    return known, np.asarray(known.transition > 0)
