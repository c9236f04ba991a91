"""Mechanisms: how to redact a sequence so that a record stays private.

``certified``, ``optimal``, ``data_independent`` and ``quilt`` return plans whose leakage is at most
ε; ``published`` and ``quilt(printed=True)`` are as printed in the paper, for comparison. Releases:
data_independent ≤ certified ≤ optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, check_size
from seepage.errors import InvalidInputError, did_you_mean
from seepage.sequence.chain import MarkovChain, check_length
from seepage.sequence.plan import (
    RedactionPlan,
    check_positions,
    from_probabilities,
    on_grid,
    spread,
)
from seepage.sequence.published import Variant, quilt_table, three_region_table
from seepage.sequence.uncertain import ChainSet, uncertain_leakage
from seepage.sequence.windows import best_window, quilt_window, window_table

__all__ = [
    "certified",
    "data_independent",
    "from_probabilities",
    "optimal",
    "published",
    "quilt",
]

COARSE = (
    "Along a side with many records the probabilities were interpolated between a few: the plan is "
    "the best found in that family."
)
SEARCHED = "The plan is the best found by a local search; its leakage is exact all the same."
MERGED = (
    "Plans for the single hidden records were merged by the larger probability, which is a "
    "processing of each and leaks no more about any."
)
NARROWED = (
    "The plan was made for the chain of the centre and a smaller ε, such that its leakage over the "
    "whole set is within what was asked for."
)

STEPS = 5
"""Bisections for the ε under which a plan for the centre holds over a set of chains."""

Table = tuple[FloatArray, tuple[str, ...]]


def published(
    chain: MarkovChain,
    n: int,
    position: int | Sequence[int],
    epsilon: float | Sequence[float],
    *,
    variant: Variant = "text",
) -> RedactionPlan:
    """Three-region mechanism as printed: **not ε-private**; its plan tells what it leaks.

    Maßny, Bitar, Ye and El Rouayheb (2025), equations (1) and (2).

    Parameters
    ----------
    chain : MarkovChain
        Two states, stationary.
    n : int
        Length of the sequence.
    position : int or sequence of int
        The hidden record or records, from 0.
    epsilon : float or sequence of float
        The parameter of the mechanism, in [0, ∞].
    variant : {"text", "algorithm"}
        "text": half of ε for either side, all of it for the only one. "algorithm": Algorithm 2,
        with regions by ε itself.

    Returns
    -------
    RedactionPlan
        `keeps_promise` says whether the exact leakage is within ε.
    """
    if variant not in {"text", "algorithm"}:
        hint = did_you_mean(variant, ("text", "algorithm"))
        msg = f"expected variant 'text' or 'algorithm', got {variant!r}.{hint}"
        raise InvalidInputError(msg)

    def make(n: int, p: int, e: float) -> Table:
        return three_region_table(chain, n, p, e, variant), ()

    name = "published" if variant == "text" else "published (algorithm 2)"
    return _plan(chain, n, (position, epsilon), name, make)


def quilt(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int | Sequence[int],
    epsilon: float | Sequence[float],
    *,
    printed: bool = False,
) -> RedactionPlan:
    """Markov quilt redaction: a window with half of ε for either side, or all of it for one.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    n : int
    position : int or sequence of int
    epsilon : float or sequence of float
    printed : bool
        Algorithm 1 as printed (two states), which redacts one record more than needed on each side
        and chooses the sides by a threshold.

    Returns
    -------
    RedactionPlan
    """

    def make(n: int, p: int, e: float) -> Table:
        if printed:
            return quilt_table(_known(chain, "the printed Markov quilt"), n, p, e), ()
        return window_table(n, chain.k, p, *quilt_window(chain, n, p, e)), ()

    return _plan(chain, n, (position, epsilon), "quilt (printed)" if printed else "quilt", make)


def data_independent(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int | Sequence[int],
    epsilon: float | Sequence[float],
) -> RedactionPlan:
    """The exact optimum of mechanisms that do not look at the data: the narrowest window.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    n : int
        Length of the sequence, 1 or more.
    position : int or sequence of int
        The hidden record or records, from 0.
    epsilon : float or sequence of float
        Largest leakage about each, in nats, in [0, ∞].

    Returns
    -------
    RedactionPlan

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    return _plan(chain, n, (position, epsilon), "data_independent", partial(_window, chain))


def _window(chain: MarkovChain | ChainSet, n: int, p: int, e: float) -> Table:
    return window_table(n, chain.k, p, *best_window(chain, n, p, e)), ()


def _certified(chain: MarkovChain, n: int, p: int, e: float) -> Table:
    from seepage.sequence.certified import certified_table

    return certified_table(chain, n, p, e), ()


def certified(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int | Sequence[int],
    epsilon: float | Sequence[float],
) -> RedactionPlan:
    """Three regions around the record, with probabilities chosen by the exact leakage.

    On either side: first redacted always; then redacted always in some states and with one
    probability in the others; then released always. The ends of the regions, the probabilities and
    the share of ε of either side are searched for the most released records.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    n : int
        Length of the sequence, 1 or more.
    position : int or sequence of int
        The hidden record or records, from 0.
    epsilon : float or sequence of float
        Largest leakage about each, in nats, in [0, ∞].

    Returns
    -------
    RedactionPlan
        Exact leakage at most ε; releases at least as much as `data_independent`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.

    Examples
    --------
    >>> plan = certified(MarkovChain.binary(0.25, 0.5), 10, 0, 0.5)
    >>> plan.leakage <= 0.5, round(plan.utility, 4)
    (True, 0.8508)
    """
    return _plan(
        chain,
        n,
        (position, epsilon),
        "certified",
        partial(_held, chain, _certified),
        simpler=(partial(_window, chain),),
    )


def optimal(
    chain: MarkovChain | ChainSet,
    n: int,
    position: int | Sequence[int],
    epsilon: float | Sequence[float],
) -> RedactionPlan:
    """Free probabilities for every record and state: the best plan found.

    Parameters
    ----------
    chain : MarkovChain or ChainSet
    n : int
        Length of the sequence, 1 or more.
    position : int or sequence of int
        The hidden record or records, from 0.
    epsilon : float or sequence of float
        Largest leakage about each, in nats, in [0, ∞].

    Returns
    -------
    RedactionPlan
        Exact leakage at most ε; releases at least as much as `certified`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.

    Notes
    -----
    The time depends on the number of records that matter, not on `n`: those whose influence is
    above a fraction of ε. Up to 28 probabilities on a side are set one by one; where there are
    more they are interpolated between 14 values, and the time grows in proportion to the records.
    """
    from seepage.sequence.optimal import optimal_table

    def make(known: MarkovChain, n: int, p: int, e: float) -> Table:
        table, coarse = optimal_table(known, n, p, e)
        return table, (SEARCHED, COARSE) if coarse else (SEARCHED,)

    return _plan(
        chain,
        n,
        (position, epsilon),
        "optimal",
        partial(_held, chain, make),
        simpler=(partial(_held, chain, _certified), partial(_window, chain)),
    )


def _plan(
    chain: MarkovChain | ChainSet,
    n: int,
    targets: tuple[Any, Any],
    mechanism: str,
    make: Callable[[int, int, float], Table],
    *,
    simpler: tuple[Callable[[int, int, float], Table], ...] = (),
) -> RedactionPlan:
    """Make a plan for each hidden record and merge them.

    The plan for one record in a known chain releases at least as much as `simpler` ones. Merged
    plans, and those over a set of chains, may not: the one that releases most is taken.
    """
    if not isinstance(chain, (MarkovChain, ChainSet)):
        msg = f"expected a MarkovChain or a ChainSet, got {chain!r}"
        raise InvalidInputError(msg)
    size = check_length(check_size(n, "n"), chain.k)
    where = check_positions(targets[0], size)
    asked = spread(targets[1], len(where))
    known = chain.center if isinstance(chain, ChainSet) else chain
    makers = (make, *simpler) if len(where) > 1 or isinstance(chain, ChainSet) else (make,)
    law = known.marginals(0, size)
    table, notes, most = np.ones((size, known.k)), dict[str, None](), -1.0
    for one in makers:
        found = [one(size, p, e) for p, e in zip(where, asked, strict=True)]
        merged = np.maximum.reduce([rows for rows, _ in found])
        released = float((law * (1 - merged)).sum())
        if released > most:
            table, most = merged, released
            notes = dict.fromkeys(note for _, some in found for note in some)  # each once, in order
    if len(where) > 1:
        notes[MERGED] = None
    given = chain if isinstance(chain, ChainSet) else None
    return RedactionPlan(known, table, where, asked, mechanism, given, tuple(notes))


def _held(
    chain: MarkovChain | ChainSet,
    make: Callable[[MarkovChain, int, int, float], Table],
    n: int,
    p: int,
    epsilon: float,
) -> Table:
    """Make a plan, for a set of chains with an ε for the centre under which the set holds."""
    if isinstance(chain, MarkovChain):
        return make(chain, n, p, epsilon)
    window = window_table(n, chain.k, p, *best_window(chain, n, p, epsilon))
    best: FloatArray = window
    notes: tuple[str, ...] = ()
    if epsilon == 0 or np.isinf(epsilon):
        return best, notes
    law = chain.center.marginals(0, n)
    most = float((law * (1 - best)).sum())
    low, high = 0.0, epsilon
    for step in range(STEPS):
        trial = high if step == 0 else (low + high) / 2
        table, said = make(chain.center, n, p, trial)
        if uncertain_leakage(chain, on_grid(table), p).value <= epsilon:
            low = trial
            released = float((law * (1 - table)).sum())
            if released > most:
                best, most, notes = table, released, (*said, NARROWED)
            if step == 0:
                break
        else:
            high = trial
    return best, notes


def _known(chain: MarkovChain | ChainSet, what: str) -> MarkovChain:
    if isinstance(chain, ChainSet):
        msg = f"expected one chain for {what}, got a set of chains"
        raise InvalidInputError(msg)
    return chain
