"""``p(secret | nodes)`` by multinomial logistic regression with products of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.attack.population import Population

PENALTIES = (1.0, 30.0, 30.0)
"""Of the squared coefficients of single nodes, of pairs, and of triples."""

SEEN = 5
"""Combinations of values that fewer records have get no coefficient of their own."""

STEPS, AGAIN = 100, 25
"""Steps of the search from the start, and from a fit to part of the records."""

MAX_STEP = 25_000_000
"""Products in one step; orders that need more are not tried, of single nodes a part is used."""

MAX_CELLS = 1_000_000
"""Cells of the table of one product of nodes."""


@dataclass(frozen=True, eq=False)
class LogitModel:
    """Logarithms of ``p(s | x)`` as sums over values of nodes and of combinations of nodes.

    Parameters
    ----------
    order : int
        Most nodes in a combination.
    sizes : tuple of int
        Number of values of each node.
    terms : tuple of (tuple of int, array of int)
        Nodes of each combination, and the column of each cell of their table, −1 for none.
    coefficients : array of float, shape (columns, k)
        The first row belongs to all records.
    """

    order: int
    sizes: tuple[int, ...]
    terms: tuple[tuple[tuple[int, ...], IntArray], ...]
    coefficients: FloatArray

    @classmethod
    def fit(
        cls, population: Population, order: int, seed: int, start: LogitModel | None = None
    ) -> LogitModel:
        """Maximise the penalised likelihood by L-BFGS.

        Parameters
        ----------
        population : Population
        order : {1, 2, 3}
        seed : int
            Of the part of the records that is used, if they are too many.
        start : LogitModel, optional
            A fit of the same order to other records: its combinations are kept, and its
            coefficients are where the search starts.
        """
        from scipy.optimize import minimize

        k = population.secret_size
        rows, table = _counted(population)
        most = max(1, MAX_STEP // (k * products(len(population.sizes), order)))
        if len(rows) > most:
            chosen = np.random.default_rng(seed).choice(len(rows), most, replace=False)
            rows, table = rows[chosen], table[chosen]
        terms = _terms(population, order) if start is None else start.terms
        width = 1 + sum(int(columns.max()) + 1 for _, columns in terms)
        penalty = np.concatenate(
            [[0.0]] + [np.full(int(c.max()) + 1, PENALTIES[len(nodes) - 1]) for nodes, c in terms]
        )[:, np.newaxis]
        marks = _marks(rows, population.sizes, terms, width)
        back = marks.T.tocsr()
        totals = table.sum(axis=1, keepdims=True)
        mass = float(table.sum())

        def loss(flat: FloatArray) -> tuple[float, FloatArray]:
            theta = flat.reshape(width, k)
            logs = np.asarray(marks @ theta)
            logs -= logs.max(axis=1, keepdims=True)
            weight = np.exp(logs)
            sums = weight.sum(axis=1, keepdims=True)
            value = -float((table * (logs - np.log(sums))).sum())
            slope = np.asarray(back @ (totals * weight / sums - table)) + penalty * theta
            value += float((penalty * theta**2).sum()) / 2
            return value / mass, slope.ravel() / mass

        first = np.zeros((width, k)) if start is None else start.coefficients
        steps = STEPS if start is None else AGAIN
        found = minimize(
            loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}
        )
        return cls(order, population.sizes, terms, found.x.reshape(width, k))

    def predict(self, nodes: IntArray) -> FloatArray:
        """``p(s | x)`` for rows of values of the nodes, shape (n, k)."""
        marks = _marks(nodes, self.sizes, self.terms, len(self.coefficients))
        logs = np.asarray(marks @ self.coefficients)
        weight = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def products(m: int, order: int) -> int:
    """Number of combinations of at most `order` of m nodes, and one for all records."""
    return sum(math.comb(m, i) for i in range(order + 1))


def orders(population: Population) -> tuple[int, ...]:
    """Orders that can be fitted with reasonable work; none where tables would be too large."""
    m, k = len(population.sizes), population.secret_size
    if (1 + sum(population.sizes)) * k > MAX_STEP:
        return ()
    distinct = len(np.unique(population.nodes, axis=0))
    more = range(2, min(m, len(PENALTIES)) + 1)
    return (1, *(order for order in more if distinct * k * products(m, order) <= MAX_STEP))


def _counted(population: Population) -> tuple[IntArray, FloatArray]:
    """Distinct combinations of values of the nodes, and their mass by value of the secret."""
    rows, where = np.unique(population.nodes, axis=0, return_inverse=True)
    k = population.secret_size
    cells = where.ravel() * k + population.secret
    mass = np.bincount(cells, population.weights, len(rows) * k)
    return rows, np.asarray(mass.reshape(-1, k), dtype=np.float64)


def _terms(population: Population, order: int) -> tuple[tuple[tuple[int, ...], IntArray], ...]:
    terms = []
    for size in range(1, order + 1):
        for nodes in combinations(range(len(population.sizes)), size):
            shape = tuple(population.sizes[j] for j in nodes)
            cells = math.prod(shape)
            if size > 1 and cells > MAX_CELLS:
                continue
            where = np.ravel_multi_index(tuple(population.nodes[:, j] for j in nodes), shape)
            mass = np.bincount(where, population.weights, cells)
            kept = np.flatnonzero(mass >= (SEEN if size > 1 else np.finfo(float).tiny))
            columns = np.full(cells, -1, dtype=np.int64)
            columns[kept] = np.arange(len(kept))
            if len(kept):
                terms.append((nodes, columns))
    return tuple(terms)


def _marks(
    rows: IntArray,
    sizes: tuple[int, ...],
    terms: tuple[tuple[tuple[int, ...], IntArray], ...],
    width: int,
) -> Any:
    """Which columns each row of values has, as a sparse matrix of ones."""
    from scipy import sparse

    places = np.empty((len(rows), len(terms) + 1), dtype=np.int32)
    places[:, 0] = 0
    first = 1
    for i, (nodes, columns) in enumerate(terms, start=1):
        shape = tuple(sizes[j] for j in nodes)
        found = columns[np.ravel_multi_index(tuple(rows[:, j] for j in nodes), shape)]
        places[:, i] = np.where(found >= 0, found + first, -1)
        first += int(columns.max()) + 1
    held = places >= 0
    starts = np.concatenate([[0], held.sum(axis=1).cumsum()])
    indices = places[held]
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(rows), width))
