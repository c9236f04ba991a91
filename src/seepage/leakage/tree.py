"""Dependency trees of attributes, fitted or given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from seepage.counts import PairCounts
from seepage.errors import InvalidInputError, did_you_mean
from seepage.leakage._association import mutual_information

Node = tuple[str, ...]
"""Names of the attributes of one node, most often a single one."""


@dataclass(frozen=True)
class DependencyTree:
    """A tree, or a forest, whose nodes are attributes or clusters of attributes.

    It states that nodes without a path are independent, and that two nodes are independent given
    any node between them.

    Parameters
    ----------
    nodes : tuple of tuples of str
        The attributes of each node; every attribute in one node.
    edges : tuple of (int, int)
        Positions of the nodes that are joined; no cycle.

    Raises
    ------
    InvalidInputError
        If a name occurs twice, an edge is unknown or repeated, or edges form a cycle.

    See Also
    --------
    DependencyTree.of : from names.
    DependencyTree.chow_liu : fitted to data.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    _node_of: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        nodes = tuple(tuple(node) for node in self.nodes)
        edges = tuple((int(a), int(b)) for a, b in self.edges)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "edges", edges)
        where: dict[str, int] = {}
        for position, node in enumerate(nodes):
            if not node:
                msg = "expected at least one attribute in every node of the tree, got none"
                raise InvalidInputError(msg)
            for name in node:
                if name in where:
                    msg = f"expected every attribute in one node of the tree, got {name!r} twice"
                    raise InvalidInputError(msg)
                where[name] = position
        object.__setattr__(self, "_node_of", where)
        _check_acyclic(nodes, edges)

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        edges: Iterable[tuple[str | int, str | int]],
        clusters: Iterable[Sequence[str]] = (),
    ) -> DependencyTree:
        """Build a tree from edges between attributes.

        Parameters
        ----------
        names : iterable of str
            All attributes. One that no edge mentions is taken to be independent of the others.
        edges : iterable of pairs
            Names, or positions in `names`. Any member stands for its cluster.
        clusters : iterable of sequences of str, optional
            Attributes that share a node.

        Raises
        ------
        InvalidInputError
            If a name is unknown (with near matches), or the edges form a cycle.

        Examples
        --------
        >>> tree = DependencyTree.of("abcd", [("a", "b"), ("b", "c")], clusters=[("c", "d")])
        >>> tree.nodes, tree.edges
        ((('a',), ('b',), ('c', 'd')), ((0, 1), (1, 2)))
        """
        known = tuple(names)
        groups = [tuple(_resolve(item, known) for item in group) for group in clusters]
        grouped = {name: group for group in groups for name in group}
        nodes: list[Node] = []
        for name in known:
            node = grouped.get(name, (name,))
            if node not in nodes:
                nodes.append(node)
        for group in groups:
            if group not in nodes:  # a name in two clusters
                nodes.append(group)
        position = {name: i for i, node in enumerate(nodes) for name in node}
        pairs = [(position[_resolve(a, known)], position[_resolve(b, known)]) for a, b in edges]
        return cls(tuple(nodes), tuple(pairs))

    @classmethod
    def chow_liu(cls, counts: PairCounts) -> DependencyTree:
        """Tree of largest total mutual information (Chow and Liu, 1968).

        Ties are broken by the names of the attributes, so the order of columns does not matter.

        Parameters
        ----------
        counts : PairCounts
            Pairwise tables with at least one record.

        Returns
        -------
        DependencyTree
            Nodes in the order of the domain; a single tree.
        """
        names = counts.domain.names
        ranked = sorted(
            (
                (-mutual_information(np.ascontiguousarray(counts.table(a, b))), a, b)
                for a, b in combinations(sorted(names), 2)
            ),
        )
        joined = _Components(len(names))
        position = {name: i for i, name in enumerate(names)}
        edges = [(a, b) for _, a, b in ranked if joined.union(position[a], position[b])]
        return cls.of(names, edges)

    @property
    def names(self) -> tuple[str, ...]:
        """Attributes, node by node."""
        return tuple(name for node in self.nodes for name in node)

    @property
    def has_clusters(self) -> bool:
        """Whether a node holds more than one attribute."""
        return any(len(node) > 1 for node in self.nodes)

    def node_of(self, name: str) -> int:
        """Position of the node that holds the attribute `name`.

        Raises
        ------
        InvalidInputError
            If there is no such attribute; the message names near matches.
        """
        return self._node_of[_resolve(name, self.names)]

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the nodes joined to each node."""
        lists: list[list[int]] = [[] for _ in self.nodes]
        for a, b in self.edges:
            lists[a].append(b)
            lists[b].append(a)
        return tuple(tuple(sorted(items)) for items in lists)

    @property
    def named_edges(self) -> tuple[tuple[str, str], ...]:
        """Edges as pairs of labels; the names of a cluster are joined by " + "."""
        return tuple((self.label(a), self.label(b)) for a, b in self.edges)

    def label(self, node: int) -> str:
        """Name of a node; the names of a cluster are joined by " + "."""
        return " + ".join(self.nodes[node])


class _Components:
    """Disjoint sets with path halving."""

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def union(self, i: int, j: int) -> bool:
        """Join two sets; False when they were one already."""
        a, b = self.find(i), self.find(j)
        self.parent[a] = b
        return a != b


def _check_acyclic(nodes: tuple[Node, ...], edges: tuple[tuple[int, int], ...]) -> None:
    joined = _Components(len(nodes))
    for a, b in edges:
        if not (0 <= a < len(nodes) and 0 <= b < len(nodes)):
            msg = f"expected edges between nodes 0 to {len(nodes) - 1}, got {(a, b)}"
            raise InvalidInputError(msg)
        if not joined.union(a, b):
            first, second = (" + ".join(nodes[i]) for i in (a, b))
            msg = f"expected a tree, got a cycle: the edge {first!r} – {second!r} closes it"
            raise InvalidInputError(msg)


def _resolve(item: object, known: tuple[str, ...]) -> str:
    if isinstance(item, str):
        if item in known:
            return item
        msg = f"expected an attribute of the tree, got {item!r}.{did_you_mean(item, known)}"
        raise InvalidInputError(msg)
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        msg = f"expected an attribute name or position, got {item!r}"
        raise InvalidInputError(msg)
    position = int(item.__index__())
    if not 0 <= position < len(known):
        msg = f"expected a position from 0 to {len(known) - 1}, got {position}"
        raise InvalidInputError(msg)
    return known[position]
