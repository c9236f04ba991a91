"""Total leakage about every attribute, as a function of all budgets.

Three functions of the same form: budgets ε of shape (d,) to totals of shape (d,), with Jacobian.
`PairwiseTotals` is the published sum, a heuristic; `TreeTotals` is an upper bound when the data
follow the tree; `GroupTotals` is an upper bound always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, IntArray, check_epsilon, freeze
from seepage.errors import InvalidInputError
from seepage.leakage._stack import Curve, CurveStack
from seepage.leakage.tree import DependencyTree


class Totals(Protocol):
    """Totals of d attributes as a function of their budgets."""

    @property
    def size(self) -> int:
        """Number of attributes d."""
        ...

    def values(self, budgets: ArrayLike, /) -> FloatArray:
        """Totals in nats, shape (d,), for budgets of shape (d,) in [0, ∞]."""
        ...

    def jacobian(self, budgets: ArrayLike, /) -> tuple[FloatArray, FloatArray]:
        """Totals, and ``J[k, j]`` = derivative of the total about k by ε_j, shape (d, d)."""
        ...

    def terms(self, budgets: ArrayLike, /) -> tuple[dict[str, float], ...]:
        """What each total is the sum of, besides the attribute's own budget."""
        ...


def _checked(budgets: ArrayLike, d: int) -> FloatArray:
    e = check_epsilon(budgets, "budgets")
    if e.shape != (d,):
        msg = f"expected one budget for each of {d} attributes, got shape {e.shape}"
        raise InvalidInputError(msg)
    return e


@dataclass(frozen=True, eq=False)
class GroupTotals:
    """``Σ_j ε_j``: basic composition, an upper bound with no assumption on the data.

    Parameters
    ----------
    names : tuple of str
    """

    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of attributes."""
        return len(self.names)

    def values(self, budgets: ArrayLike) -> FloatArray:
        """Totals, shape (d,); see `Totals`."""
        return np.full(self.size, _checked(budgets, self.size).sum())

    def jacobian(self, budgets: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Totals and derivatives; see `Totals`."""
        return self.values(budgets), np.ones((self.size, self.size))

    def terms(self, budgets: ArrayLike) -> tuple[dict[str, float], ...]:
        """Budgets of the other attributes."""
        e = _checked(budgets, self.size).tolist()
        return tuple(
            {other: x for other, x in zip(self.names, e, strict=True) if other != name}
            for name in self.names
        )


@dataclass(frozen=True, eq=False)
class PairwiseTotals:
    """``TPL_k = ε_k + Σ_{j ≠ k} L_{j→k}(ε_j)``: a heuristic, not an upper bound.

    Source: Dependency Triad paper, section II-B3.

    Parameters
    ----------
    names : tuple of str
        The d attributes.
    curve : callable
        Called once with each ordered pair (secret, released) of names; gives the curve.
    """

    names: tuple[str, ...]
    curve: Callable[[str, str], Curve]

    @property
    def size(self) -> int:
        """Number of attributes."""
        return len(self.names)

    @cached_property
    def _off(self) -> tuple[IntArray, IntArray]:
        secret, released = np.nonzero(~np.eye(self.size, dtype=np.bool_))
        return secret, released

    @cached_property
    def _stack(self) -> CurveStack:
        return CurveStack.of(
            self.curve(self.names[k], self.names[j]) for k, j in zip(*self._off, strict=True)
        )

    def values(self, budgets: ArrayLike) -> FloatArray:
        """Totals, shape (d,); see `Totals`."""
        e = _checked(budgets, self.size)
        return np.asarray(e + self._table(self._stack.values(e[self._off[1]])).sum(axis=1))

    def jacobian(self, budgets: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Totals and derivatives; see `Totals`."""
        e = _checked(budgets, self.size)
        values, slopes = self._stack.values_and_slopes(e[self._off[1]])
        totals = e + self._table(values).sum(axis=1)
        return np.asarray(totals), self._table(slopes) + np.eye(self.size)

    def terms(self, budgets: ArrayLike) -> tuple[dict[str, float], ...]:
        """Leakage through each other attribute."""
        e = _checked(budgets, self.size)
        table = self._table(self._stack.values(e[self._off[1]])).tolist()
        return tuple(
            {other: x for other, x in zip(self.names, row, strict=True) if other != name}
            for name, row in zip(self.names, table, strict=True)
        )

    def _table(self, values: FloatArray) -> FloatArray:
        table = np.zeros((self.size, self.size))
        table[self._off] = values
        return table


@dataclass(frozen=True, eq=False)
class _Round:
    """Directed edges whose messages need only those of earlier rounds."""

    edges: IntArray  # positions among all directed edges
    senders: IntArray  # node c of c → k
    stack: CurveStack
    owner: IntArray  # needed message i belongs to edge owner[i] of this round …
    needed: IntArray  # … and is that of this directed edge


@dataclass(frozen=True, eq=False)
class TreeTotals:
    """Upper bound on the total leakage when the data follow a dependency tree.

    Messages ``m_{c→k} = L_{c→k}(ε_c + Σ_{neighbours e ≠ k of c} m_{e→c})``; the total about node k
    is ``ε_k + Σ_{neighbours c} m_{c→k}``. All reports from beyond c are a mechanism on X_c whose
    privacy parameter is the argument of L, so the bound holds for every set of ε-LDP mechanisms. On
    a chain it is the temporal recursion of Cao et al. (2017).

    Parameters
    ----------
    names : tuple of str
        The d attributes, in the order of budgets and totals.
    tree : DependencyTree
        Over these names. The budget of a cluster is the sum of its members' budgets. An attribute
        in a cluster is a function of the cluster, so the distributions of reports given its values
        are mixtures of those given the cluster, and the total about the cluster bounds its total.
    curve : callable
        Called with two neighbouring nodes (secret, released), tuples of names; gives the curve.

    Raises
    ------
    InvalidInputError
        If tree and names do not hold the same attributes.
    """

    names: tuple[str, ...]
    tree: DependencyTree
    curve: Callable[[tuple[str, ...], tuple[str, ...]], Curve]

    def __post_init__(self) -> None:
        for name in self.names:
            self.tree.node_of(name)
        extra = sorted(set(self.tree.names) - set(self.names))
        if extra:
            msg = f"expected a tree over {len(self.names)} attributes, got {extra[0]!r} besides"
            raise InvalidInputError(msg)

    @property
    def size(self) -> int:
        """Number of attributes."""
        return len(self.names)

    @cached_property
    def _members(self) -> FloatArray:
        """1 where a node (row) holds an attribute (column)."""
        table = np.zeros((len(self.tree.nodes), self.size))
        table[self._node, np.arange(self.size)] = 1.0
        return freeze(table)

    @cached_property
    def _node(self) -> IntArray:
        return np.array([self.tree.node_of(name) for name in self.names], dtype=np.int64)

    @cached_property
    def _directed(self) -> tuple[tuple[int, int], ...]:
        """Edges (c, k) in both directions, by label: sums then round alike in any column order."""
        label = self.tree.label
        both = [pair for a, b in self.tree.edges for pair in ((a, b), (b, a))]
        return tuple(sorted(both, key=lambda pair: (label(pair[0]), label(pair[1]))))

    @cached_property
    def _rounds(self) -> tuple[_Round, ...]:
        position = {pair: i for i, pair in enumerate(self._directed)}
        needs = [
            sorted(position[e, c] for e in self.tree.neighbours[c] if e != k)
            for c, k in self._directed
        ]
        users: list[list[int]] = [[] for _ in needs]
        for i, before in enumerate(needs):
            for j in before:
                users[j].append(i)
        waiting = [len(before) for before in needs]
        ready = [i for i, count in enumerate(waiting) if count == 0]
        rounds = []
        while ready:
            rounds.append(self._round(ready, needs))
            following = []
            for i in ready:
                for user in users[i]:
                    waiting[user] -= 1
                    if waiting[user] == 0:
                        following.append(user)
            ready = sorted(following)
        return tuple(rounds)

    def _round(self, edges: Sequence[int], needs: Sequence[Sequence[int]]) -> _Round:
        nodes = self.tree.nodes
        pairs = [self._directed[i] for i in edges]
        owner = [row for row, i in enumerate(edges) for _ in needs[i]]
        needed = [j for i in edges for j in needs[i]]
        return _Round(
            np.array(edges, dtype=np.int64),
            np.array([c for c, _ in pairs], dtype=np.int64),
            CurveStack.of(self.curve(nodes[k], nodes[c]) for c, k in pairs),
            np.array(owner, dtype=np.int64),
            np.array(needed, dtype=np.int64),
        )

    @cached_property
    def _receivers(self) -> IntArray:
        return np.array([k for _, k in self._directed], dtype=np.int64)

    def _messages(self, e: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Budget of every node, and the message along every directed edge."""
        budget = np.zeros(len(self.tree.nodes))
        np.add.at(budget, self._node, e)
        messages = np.zeros(len(self._directed))
        for step in self._rounds:
            argument = budget[step.senders]
            np.add.at(argument, step.owner, messages[step.needed])
            messages[step.edges] = step.stack.values(argument)
        return budget, messages

    def values(self, budgets: ArrayLike) -> FloatArray:
        """Totals, shape (d,); see `Totals`."""
        totals, messages = self._messages(_checked(budgets, self.size))
        np.add.at(totals, self._receivers, messages)
        return np.asarray(totals[self._node])

    def jacobian(self, budgets: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Totals and derivatives; see `Totals`."""
        e = _checked(budgets, self.size)
        totals = np.zeros(len(self.tree.nodes))
        np.add.at(totals, self._node, e)
        budget = totals.copy()
        gradients = self._members.copy()
        messages = np.zeros(len(self._directed))
        slopes = np.zeros((len(self._directed), self.size))
        for step in self._rounds:
            argument = budget[step.senders]
            slope = self._members[step.senders]
            np.add.at(argument, step.owner, messages[step.needed])
            np.add.at(slope, step.owner, slopes[step.needed])
            value, derivative = step.stack.values_and_slopes(argument)
            messages[step.edges] = value
            slopes[step.edges] = derivative[:, np.newaxis] * slope
        np.add.at(totals, self._receivers, messages)
        np.add.at(gradients, self._receivers, slopes)
        return np.asarray(totals[self._node]), np.asarray(gradients[self._node])

    def terms(self, budgets: ArrayLike) -> tuple[dict[str, float], ...]:
        """Messages from the neighbours, and the budgets of the others in the same cluster."""
        e = _checked(budgets, self.size)
        _, messages = self._messages(e)
        parts: list[dict[str, float]] = [{} for _ in self.tree.nodes]
        for (c, k), message in zip(self._directed, messages.tolist(), strict=True):
            parts[k][self.tree.label(c)] = message
        own = dict(zip(self.names, e.tolist(), strict=True))
        result = []
        for name, node in zip(self.names, self._node.tolist(), strict=True):
            mates = {mate: own[mate] for mate in self.tree.nodes[node] if mate != name}
            result.append(mates | parts[node])
        return tuple(result)
