"""Mechanisms of redaction side by side: what they release and leak, and what releases tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, check_epsilon
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import influence
from seepage.sequence.leakage import check_position

MECHANISMS = ("optimal", "certified", "data-independent", "quilt", "published")
KEPT = 1e-9
"""A leakage above its ε by no more than this is rounding."""


@dataclass(frozen=True, eq=False)
class RedactionComparison(Result):
    """Utility and exact leakage of mechanisms for several ε.

    Attributes
    ----------
    chain : MarkovChain
    n, position : int
    epsilons : tuple of float
    utilities, leakages : mapping of str to tuple of float
        By mechanism, one for each ε: expected fraction released, and exact leakage in nats.
    """

    chain: MarkovChain
    n: int
    position: int
    epsilons: tuple[float, ...]
    utilities: Mapping[str, tuple[float, ...]]
    leakages: Mapping[str, tuple[float, ...]]

    @property
    def standing(self) -> Standing:
        """Exact for the chain."""
        return Standing.EXACT

    @property
    def broken(self) -> tuple[str, ...]:
        """Mechanisms that leak more than ε somewhere."""
        return tuple(
            name
            for name, values in self.leakages.items()
            if any(x > e + KEPT for x, e in zip(values, self.epsilons, strict=True))
        )

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        kept = [name for name in self.utilities if name not in self.broken]
        best = max(kept, key=lambda name: sum(self.utilities[name])) if kept else ""
        first = f"Of the mechanisms that keep to ε, {best} releases most." if best else ""
        excess = [
            f"{name} leaks up to {_worst(self.leakages[name], self.epsilons):.0%} more than ε"
            for name in self.broken
        ]
        return " ".join([first, *(f"{text[0].upper()}{text[1:]}." for text in excess)]).strip()

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each mechanism and ε."""
        names = [name for name in self.utilities for _ in self.epsilons]
        leakage = [x for name in self.utilities for x in self.leakages[name]]
        epsilon = [e for _ in self.utilities for e in self.epsilons]
        return {
            "mechanism": names,
            "epsilon": epsilon,
            "utility": [x for name in self.utilities for x in self.utilities[name]],
            "leakage": leakage,
            "keeps_promise": [x <= e + KEPT for x, e in zip(leakage, epsilon, strict=True)],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "format": "seepage.redaction_comparison",
            "version": 1,
            "verdict": self.verdict,
            "n": self.n,
            "position": self.position,
            "epsilons": list(self.epsilons),
            "utilities": dict(self.utilities),
            "leakages": dict(self.leakages),
        }


def compare_mechanisms(
    chain: MarkovChain,
    n: int,
    position: int,
    epsilons: Sequence[float],
    mechanisms: Sequence[str] | None = None,
) -> RedactionComparison:
    """Make a plan by each mechanism for each ε.

    Parameters
    ----------
    chain : MarkovChain
    n : int
    position : int
        The protected record, from 0.
    epsilons : sequence of float
        In nats, in [0, ∞]; taken in increasing order.
    mechanisms : sequence of str, optional
        Of "optimal", "certified", "data-independent", "quilt" and "published"; all that the chain
        allows when left out ("published" needs two states and a stationary chain).

    Returns
    -------
    RedactionComparison

    Raises
    ------
    InvalidInputError
        If a mechanism is unknown, or there is no ε.
    """
    asked = np.unique(np.atleast_1d(check_epsilon(epsilons, "epsilons"))) + 0.0  # −0 becomes 0
    if not asked.size:
        msg = "expected one epsilon at least, got none"
        raise InvalidInputError(msg)
    if isinstance(mechanisms, str):
        mechanisms = (mechanisms,)
    names = tuple(mechanisms) if mechanisms is not None else available(chain)
    for name in names:
        if name not in MECHANISMS:
            hint = did_you_mean(name, MECHANISMS)
            msg = f"expected a mechanism, got {name!r}.{hint}"
            raise InvalidInputError(msg)
    utilities, leakages = {}, {}
    for name in names:
        make = getattr(redact, name.replace("-", "_"))
        plans = [make(chain, n, position, e) for e in asked.tolist()]
        utilities[name] = tuple(plan.utility for plan in plans)
        leakages[name] = tuple(plan.leakage for plan in plans)
    where = check_position(position, n)
    return RedactionComparison(chain, n, where, tuple(asked.tolist()), utilities, leakages)


def available(chain: MarkovChain) -> tuple[str, ...]:
    """Return the mechanisms that are defined for a chain."""
    binary = chain.k == 2 and chain.is_stationary
    return MECHANISMS if binary else tuple(name for name in MECHANISMS if name != "published")


def influence_table(
    chain: MarkovChain, n: int, position: int, reach: int
) -> tuple[int, FloatArray]:
    """Pointwise-influence of the records within `reach` of the protected one.

    Returns
    -------
    first : int
        Position of the first row.
    table : array of float, shape (m, k)
        In nats; ∞ for the protected record.
    """
    first = max(0, position - reach)
    last = min(n, position + reach + 1)
    if not chain.is_stationary:
        chain = MarkovChain(chain.transition, chain.marginal(first), chain.states)
    return first, influence(chain, last - first, position - first)


def _worst(leakages: Sequence[float], epsilons: Sequence[float]) -> float:
    pairs = zip(leakages, epsilons, strict=True)
    return max(((x - e) / e for x, e in pairs if 0 < e < np.inf), default=np.inf)
