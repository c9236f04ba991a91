"""Attackers who know the distribution of the population: the prior guess and Bayes' rule.

All of them compute ``ln p(reports | secret)``, from which the posterior and the log-ratio that a
leakage bounds both follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from seepage._numeric import FloatArray, IntArray, log_zero_ok
from seepage.attack.population import Observations, Population
from seepage.errors import CapacityError, InvalidInputError

MAX_TERMS = 2_000_000_000
"""Most pairs of a record and a combination of values that exact inference goes through."""

_BLOCK = 1 << 22
"""Entries of an array of intermediate results."""


class Model(Protocol):
    """A fitted attacker."""

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Belief in each value of the secret, shape (n, k); rows sum to 1."""


class LikelihoodModel(Model, Protocol):
    """A fitted attacker who computes likelihoods."""

    def log_likelihood(self, seen: Observations) -> FloatArray:
        """``ln p(reports | secret)`` up to a number for each record, shape (n, k)."""


@dataclass(frozen=True, eq=False)
class PriorModel:
    """Believes the prior whatever is reported.

    Parameters
    ----------
    prior : array of float, shape (k,)
    """

    prior: FloatArray

    def predict_proba(self, seen: Observations) -> FloatArray:
        """The prior, for each record."""
        return np.tile(self.prior, (seen.size, 1))


class _Bayes:
    """What all Bayes attackers share."""

    prior: FloatArray

    def _others(self, seen: Observations) -> FloatArray:
        raise NotImplementedError

    def log_likelihood(self, seen: Observations) -> FloatArray:
        """``ln p(reports | secret)`` up to a number for each record, shape (n, k).

        −∞ for values of the secret that cannot make the reports, or have no mass.
        """
        logs = self._others(seen)
        if seen.own is not None:
            logs = logs + seen.own
        return np.where(self.prior > 0, logs, -np.inf)

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Posterior; the prior where the reports are impossible in this population."""
        return posterior(self.prior, self.log_likelihood(seen))


@dataclass(frozen=True, eq=False)
class JointModel(_Bayes):
    """Exact Bayes from the joint distribution, by a sum over its combinations of values.

    Parameters
    ----------
    prior : array of float, shape (k,)
    combinations : array of int, shape (S, m)
        Combinations of values of the nodes that have mass.
    conditional : array of float, shape (S, k)
        ``p(combination | secret)``; a column of zeros for a value without mass.
    """

    prior: FloatArray
    combinations: IntArray
    conditional: FloatArray

    @classmethod
    def fit(cls, population: Population) -> JointModel:
        """Take the joint distribution of a population."""
        found, where = np.unique(population.nodes, axis=0, return_inverse=True)
        k = population.secret_size
        mass = np.bincount(
            where.ravel() * k + population.secret, population.weights, len(found) * k
        )
        table = mass.reshape(-1, k)
        sums = table.sum(axis=0)
        return cls(population.prior, found, table / np.where(sums > 0, sums, 1.0))

    def _others(self, seen: Observations) -> FloatArray:
        _check(seen, self.combinations.shape[1], "product")
        total = seen.size * len(self.combinations)
        if total > MAX_TERMS:
            msg = (
                f"expected at most {MAX_TERMS:,} pairs of a record and a combination of values for "
                f"exact inference, got {seen.size:,} × {len(self.combinations):,}: attack fewer "
                "records or attributes, or use the attacker 'tree'"
            )
            raise CapacityError(msg)
        result = np.empty((seen.size, len(self.prior)))
        step = max(1, _BLOCK // len(self.combinations))
        for start in range(0, seen.size, step):
            part = slice(start, start + step)
            columns = [np.ascontiguousarray(each[part].T) for each in seen.evidence]
            logs = self._sums.over(columns, len(result[part]))
            result[part] = log_dot(logs.T, self.conditional)
        return result

    @cached_property
    def _sums(self) -> _Sums:
        return _Sums.of(self.combinations)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over columns for many combinations of values, by halves that combinations share.

    Parameters
    ----------
    rows : array of int
        Of a single column: its value in each combination.
    halves : tuple of (_Sums, array of int)
        Of more columns: sums for the distinct combinations of either half, and which of them each
        combination has.
    """

    rows: IntArray
    halves: tuple[tuple[_Sums, IntArray], ...] = ()

    @classmethod
    def of(cls, combinations: IntArray) -> _Sums:
        m = combinations.shape[1]
        if m < 2:
            return cls(combinations.ravel())
        parts = []
        for part in (combinations[:, : m // 2], combinations[:, m // 2 :]):
            distinct, where = np.unique(part, axis=0, return_inverse=True)
            parts.append((cls.of(distinct), where.ravel()))
        return cls(np.zeros(0, dtype=np.int64), tuple(parts))

    def over(self, columns: Sequence[FloatArray], n: int) -> FloatArray:
        """Sums for n records, shape (combinations, n); columns have shapes (b_j, n)."""
        if not columns:
            return np.zeros((1, n))
        if not self.halves:
            return columns[0][self.rows]
        (left, first), (right, second) = self.halves
        middle = len(columns) // 2
        result = left.over(columns[:middle], n)[first]
        result += right.over(columns[middle:], n)[second]
        return result


@dataclass(frozen=True, eq=False)
class PairModel(_Bayes):
    """Exact Bayes where a record tells about one node only, from the tables of secret and node.

    The nodes are taken as independent given the secret ("product"), which is exact when at most one
    of them reports; or one unknown node is the true one and the others are noise ("mixture").

    Parameters
    ----------
    prior : array of float, shape (k,)
    conditionals : tuple of arrays of float, shapes (k, b_1), …
        ``p(value of the node | secret)``.
    """

    prior: FloatArray
    conditionals: tuple[FloatArray, ...]

    @classmethod
    def fit(cls, population: Population) -> PairModel:
        """Take the pairwise tables of a population."""
        tables = (population.pair(node) for node in range(len(population.sizes)))
        return cls(population.prior, tuple(_rows(table) for table in tables))

    def _others(self, seen: Observations) -> FloatArray:
        _check(seen, len(self.conditionals), None)
        terms = [
            log_dot(evidence, table.T)
            for evidence, table in zip(seen.evidence, self.conditionals, strict=True)
        ]
        shape = (seen.size, len(self.prior))
        if seen.mode == "product":
            return np.sum(terms, axis=0) if terms else np.zeros(shape)
        background = np.full(shape, log_zero_ok(np.array(seen.background)))
        return np.asarray(np.logaddexp.reduce([background, *terms], axis=0))


@dataclass(frozen=True, eq=False)
class TreeModel(_Bayes):
    """Bayes when the secret and the nodes follow a tree, by messages from the leaves to the secret.

    ``m_{c→p}(x_p) = ln Σ_x p(x | x_p) exp(evidence_c(x) + Σ_{children e of c} m_{e→c}(x))``, for
    all records at once (Pearl, "Probabilistic reasoning in intelligent systems", 1988, section
    4.2).

    Parameters
    ----------
    prior : array of float, shape (k,)
    parents : tuple of int
        Parent of each node: a node, −1 for the secret, or −2 for a node without a path to it, which
        tells nothing.
    conditionals : tuple of arrays of float
        ``p(value of the node | value of its parent)``, shapes (parent's size, b).
    order : tuple of int
        Nodes, children before parents.
    """

    prior: FloatArray
    parents: tuple[int, ...]
    conditionals: tuple[FloatArray, ...]
    order: tuple[int, ...]

    @classmethod
    def fit(cls, population: Population, edges: Sequence[tuple[int, int]]) -> TreeModel:
        """Take the tables along a tree from a population.

        Parameters
        ----------
        population : Population
        edges : sequence of (int, int)
            Pairs of nodes, −1 for the secret; no cycle.

        Raises
        ------
        InvalidInputError
            If a node is unknown, or there is a cycle.
        """
        m = len(population.sizes)
        parents, order = rooted(m, edges)
        columns = [*population.nodes.T, population.secret]  # position −1 is the secret
        sizes = (*population.sizes, population.secret_size)
        tables = []
        for node, parent in enumerate(parents):
            if parent == APART:
                tables.append(np.zeros((0, sizes[node])))
                continue
            a, b = sizes[parent], sizes[node]
            cells = columns[parent] * b + columns[node]
            mass = np.asarray(np.bincount(cells, population.weights, a * b), dtype=np.float64)
            tables.append(_rows(mass.reshape(a, b)))
        return cls(population.prior, parents, tuple(tables), order)

    def _others(self, seen: Observations) -> FloatArray:
        _check(seen, len(self.parents), "product")
        inbox = [each.copy() for each in seen.evidence]
        root = np.zeros((seen.size, len(self.prior)))
        for node in self.order:
            message = log_dot(inbox[node], self.conditionals[node].T)
            parent = self.parents[node]
            if parent < 0:
                root += message
            else:
                inbox[parent] += message
        return root


APART = -2
"""In place of the parent of a node that has no path to the secret."""


def rooted(m: int, edges: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Turn edges into parents, with the secret (−1) as root.

    Parameters
    ----------
    m : int
        Number of nodes.
    edges : sequence of (int, int)
        Pairs of positions from −1 to m − 1.

    Returns
    -------
    parents : tuple of int
        −1 for the secret, −2 for nodes without a path to it.
    order : tuple of int
        Nodes with a path to the secret, children before parents.

    Raises
    ------
    InvalidInputError
        If a position is unknown, or edges form a cycle.
    """
    neighbours: dict[int, list[int]] = {node: [] for node in range(-1, m)}
    for a, b in edges:
        if a not in neighbours or b not in neighbours or a == b:
            msg = f"expected edges between different nodes from -1 to {m - 1}, got {(a, b)}"
            raise InvalidInputError(msg)
        neighbours[a].append(b)
        neighbours[b].append(a)
    parents, order = [APART] * m, []
    found, waiting = {-1}, [-1]
    while waiting:
        node = waiting.pop()
        for other in neighbours[node]:
            if node >= 0 and other == parents[node]:
                continue
            if other in found:
                msg = f"expected a tree, got a cycle through node {other}"
                raise InvalidInputError(msg)
            found.add(other)
            parents[other] = node
            order.append(other)
            waiting.append(other)
    return tuple(parents), tuple(reversed(order))


def posterior(prior: FloatArray, log_likelihood: FloatArray) -> FloatArray:
    """Bayes' rule, row by row; the prior where no value is possible."""
    logs = log_likelihood + log_zero_ok(prior)
    top = logs.max(axis=1, keepdims=True)
    possible = top > -np.inf
    weight = np.exp(logs - np.where(possible, top, 0.0))
    total = weight.sum(axis=1, keepdims=True)
    return np.where(possible, weight / np.where(possible, total, 1.0), prior)


def log_ratios(prior: FloatArray, log_likelihood: FloatArray) -> FloatArray:
    """Largest ``ln p(y | s) − ln p(y | s')`` of each record over values with mass; shape (n,).

    0 for reports that no value can make.
    """
    logs = log_likelihood[:, prior > 0]
    high, low = logs.max(axis=1), logs.min(axis=1)
    possible = high > -np.inf
    return np.where(possible, np.where(possible, high, 0.0) - np.where(possible, low, 0.0), 0.0)


def log_dot(logs: FloatArray, table: FloatArray) -> FloatArray:
    """``ln(exp(logs) @ table)`` for logs of shape (n, b) and a table of shape (b, k), at any scale.

    Where terms span more than the range of floating point, the sum is done again by logarithms.
    """
    if logs.shape[1] == 0:
        return np.full((len(logs), table.shape[1]), -np.inf)
    top = logs.max(axis=1, keepdims=True)
    shift = np.where(top > -np.inf, top, 0.0)
    terms = np.exp(logs - shift)
    sums = terms @ table
    result = log_zero_ok(sums) + shift
    small = np.flatnonzero((sums < 1e-280).any(axis=1))
    if small.size:
        # Which of them lost terms to underflow, terms that are tiny but not impossible?
        depths = np.where(logs[small] > -np.inf, logs[small] - shift[small], 0.0).min(axis=1)
        exact = log_zero_ok(table)
        for row in small[depths < -600].tolist():
            result[row] = np.logaddexp.reduce(logs[row][:, np.newaxis] + exact, axis=0)
    return np.asarray(result)


def _rows(table: FloatArray) -> FloatArray:
    """Rows divided by their sums; rows without mass stay zero."""
    sums = table.sum(axis=1, keepdims=True)
    return np.asarray(table / np.where(sums > 0, sums, 1.0))


def _check(seen: Observations, nodes: int, mode: str | None) -> None:
    if len(seen.evidence) != nodes:
        msg = f"expected evidence of {nodes} nodes, got {len(seen.evidence)}"
        raise InvalidInputError(msg)
    if mode is not None and seen.mode != mode:
        msg = f"expected reports that are independent ('product'), got {seen.mode!r}"
        raise InvalidInputError(msg)
