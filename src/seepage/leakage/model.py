"""A table prepared for questions about total leakage: its curves and its tree, each built once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.counts import MAX_CELLS, PairCounts, conditional_rows
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError, did_you_mean
from seepage.leakage._stack import Curve
from seepage.leakage.total import GroupTotals, PairwiseTotals, Totals, TreeTotals
from seepage.leakage.tree import DependencyTree, Node
from seepage.tradeoff import TradeOff

TotalMethod = Literal["tree", "pairwise", "group"]

CurveBuilder = Callable[[str, str, FloatArray], Curve]
"""Called with (secret, released, conditional table); rows are observed values of the secret."""


@dataclass(frozen=True, eq=False)
class LeakageModel:
    """Leakage curves of all ordered pairs of attributes, and a dependency tree.

    Curves and the tree are made when first needed and kept.

    Parameters
    ----------
    domain : Domain
        The attributes.
    counts : PairCounts, optional
        Pairwise tables, from which curves and tree are made.
    codes : array of int, shape (n, d), optional
        Records as positions of categories; needed for joint tables and for clusters.
    weights : array of int, shape (n,), optional
        How often each record counts.
    tree : DependencyTree, optional
        In place of the Chow–Liu tree of the counts.
    build : callable, optional
        Called with (secret, released, conditional); gives the curve of a pair in place of
        `TradeOff.envelope`, for example an upper curve under uncertainty.
    source : str
        What the model was made from.
    notes : tuple of str
        Assumptions of the tables.

    See Also
    --------
    LeakageModel.from_curves : from curves that exist already.
    seepage.plan.totals.prepare : from a file or frame.
    """

    domain: Domain
    counts: PairCounts | None = None
    codes: IntArray | None = field(default=None, repr=False)
    weights: IntArray | None = field(default=None, repr=False)
    tree: DependencyTree | None = None
    build: CurveBuilder | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    _curves: dict[tuple[Node, Node], Curve] = field(default_factory=dict, init=False, repr=False)
    _totals: dict[tuple[object, ...], Totals] = field(default_factory=dict, init=False, repr=False)
    _fitted: list[DependencyTree] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_curves(
        cls,
        domain: Domain,
        curves: Mapping[tuple[str, str], Curve],
        *,
        tree: DependencyTree | None = None,
        notes: tuple[str, ...] = (),
    ) -> LeakageModel:
        """Build from curves by (secret, released); those that a method does not use may lack."""
        for secret, released in curves:
            domain.position(secret)
            domain.position(released)
        model = cls(domain, tree=tree, source="curves", notes=notes)
        model._curves.update({((a,), (b,)): curve for (a, b), curve in curves.items()})
        return model

    def curve(self, secret: str, released: str) -> Curve:
        """Leakage about `secret` through any ε-LDP mechanism for `released`.

        Raises
        ------
        DomainError
            If a column is unknown.
        InvalidInputError
            If both are the same, or there is neither a curve nor a table of the pair.
        """
        for name in (secret, released):
            self.domain.position(name)
        return self.node_curve((secret,), (released,))

    def node_curve(self, secret: Node, released: Node) -> Curve:
        """Like `curve`, for clusters of attributes (tuples of names)."""
        found = self._curves.get((secret, released))
        if found is None:
            found = self._curves[secret, released] = self._build(secret, released)
        return found

    def _build(self, secret: Node, released: Node) -> Curve:
        if len(secret) == len(released) == 1 and self.counts is not None:
            # One memory layout, whatever the order of columns: sums then round alike.
            table = np.ascontiguousarray(self.counts.table(secret[0], released[0]))
        elif self.codes is not None:
            table = self._cluster_table(secret, released)
        else:
            names = " + ".join(secret), " + ".join(released)
            need = "records" if max(len(secret), len(released)) > 1 else "a curve or a table"
            msg = f"expected {need} for the pair {names[0]!r}, {names[1]!r}, got none"
            raise InvalidInputError(msg)
        conditional, _ = conditional_rows(table)
        if self.build is not None:
            return self.build(" + ".join(secret), " + ".join(released), conditional)
        return TradeOff.envelope(conditional)

    def _cluster_table(self, secret: Node, released: Node) -> IntArray:
        """Counts of observed combinations: rows of the secret cluster, columns of the other."""
        rows, n_rows = self._combinations(secret)
        columns, n_columns = self._combinations(released)
        if n_rows * n_columns > MAX_CELLS:
            msg = (
                f"expected a table of at most {MAX_CELLS:,} cells, got {n_rows:,} × {n_columns:,} "
                f"for the clusters {' + '.join(secret)!r} and {' + '.join(released)!r}: use "
                "smaller clusters, or pool categories"
            )
            raise CapacityError(msg)
        cells = rows * n_columns + columns
        counts = np.bincount(cells, weights=self.weights, minlength=n_rows * n_columns)
        return counts.astype(np.int64).reshape(n_rows, n_columns)

    def _combinations(self, node: Node) -> tuple[IntArray, int]:
        codes = self._records()
        key = np.zeros(len(codes), dtype=np.int64)
        for name in sorted(node):
            column = self.domain.position(name)
            _, key = np.unique(
                key * self.domain.shape[column] + codes[:, column], return_inverse=True
            )
        return key, int(key.max(initial=-1)) + 1

    def _records(self) -> IntArray:
        if self.codes is None:
            msg = "expected records (a table), got counts or curves only"
            raise InvalidInputError(msg)
        return self.codes

    def dependency_tree(self) -> DependencyTree:
        """Return the tree given, or the Chow–Liu tree of the counts.

        Raises
        ------
        InvalidInputError
            If there is neither.
        """
        if self.tree is not None:
            return self.tree
        if not self._fitted:
            if self.counts is None:
                msg = "expected a dependency tree, or counts to fit one to, got neither"
                raise InvalidInputError(msg)
            self._fitted.append(DependencyTree.chow_liu(self.counts))
        return self._fitted[0]

    def totals(
        self,
        method: TotalMethod,
        *,
        names: tuple[str, ...] | None = None,
        tree: DependencyTree | None = None,
    ) -> Totals:
        """Return the totals as a function of budgets.

        Parameters
        ----------
        method : {"tree", "pairwise", "group"}
        names : tuple of str, optional
            Order of budgets and totals; by default that of the domain.
        tree : DependencyTree, optional
            In place of the model's own.

        Raises
        ------
        InvalidInputError
            If the method is unknown, or tree and domain do not hold the same attributes.
        """
        order = self.domain.names if names is None else names
        chosen = (tree or self.dependency_tree()) if method == "tree" else None
        key = (method, order, chosen)
        if key not in self._totals:
            self._totals[key] = self._make(method, order, chosen)
        return self._totals[key]

    def _make(self, method: str, names: tuple[str, ...], tree: DependencyTree | None) -> Totals:
        if tree is not None:
            return TreeTotals(names, tree, self.node_curve)
        if method == "pairwise":
            return PairwiseTotals(names, self.curve)
        if method == "group":
            return GroupTotals(names)
        known = ("tree", "pairwise", "group")
        msg = f"expected method {', '.join(map(repr, known))}, got {method!r}."
        raise InvalidInputError(msg + did_you_mean(method, known))

    @property
    def records(self) -> int | None:
        """Number of records, or sum of their weights; None when not known."""
        if self.counts is not None:
            return self.counts.total
        if self.codes is None:
            return None
        return len(self.codes) if self.weights is None else math.floor(self.weights.sum())
