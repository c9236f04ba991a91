"""A population of hidden classes, within which the secret and the nodes are independent.

With enough classes such a mixture describes any joint distribution, and with few it carries over
from the records it was learned from to others. Inference needs one product for each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numeric import FloatArray, IntArray, log_zero_ok
from seepage.attack.bayes import log_dot
from seepage.attack.population import Observations, Population

CLASSES, ROUNDS, AGAIN = 64, 40, 10
"""Most classes; steps of EM from the start, and from a fit to part of the records."""

RECORDS = 20
"""Records for each class, at least."""

MASS = 0.1
"""Pseudo-records of each category of each class, shared out by the overall frequencies."""

MAX_TABLE = 20_000_000
"""Entries of the tables of all classes, at most."""

MAX_FULL = 30_000_000
"""Entries of a table of records by values up to which zeros are held too: faster."""

MAX_STEP = 100_000_000
"""Products in a step of EM; of more records a part is used."""


@dataclass(frozen=True, eq=False)
class LatentModel:
    """A mixture of H classes.

    Parameters
    ----------
    weights : array of float, shape (H,)
    secret : array of float, shape (H, k)
        ``p(s | class)``.
    nodes : tuple of arrays of float, shapes (H, b_1), …
        ``p(value of the node | class)``, positive.
    """

    weights: FloatArray
    secret: FloatArray
    nodes: tuple[FloatArray, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each node."""
        return tuple(each.shape[1] for each in self.nodes)

    @classmethod
    def fit(
        cls, population: Population, seed: int, start: LatentModel | None = None
    ) -> LatentModel:
        """Maximise the posterior density by EM (Dempster, Laird and Rubin, 1977).

        Parameters
        ----------
        population : Population
        seed : int
            Of the records that classes start from.
        start : LatentModel, optional
            Where to start instead.
        """
        rng = np.random.default_rng(seed)
        sizes = (population.secret_size, *population.sizes)
        records = np.column_stack([population.secret, population.nodes])
        rows, mass = _distinct(records, population.weights)
        most = max(1, MAX_STEP // (len(sizes) * CLASSES))
        if len(rows) > most:
            chosen = rng.choice(len(rows), most, replace=False)
            rows, mass = rows[chosen], mass[chosen]
        ends = np.cumsum(sizes)
        marks = _marks(rows + (ends - np.array(sizes)), int(ends[-1]))
        back = marks.T if isinstance(marks, np.ndarray) else marks.T.tocsr()
        frequencies = _prior_table(np.asarray(back @ mass.astype(marks.dtype)), sizes)
        rounds = ROUNDS if start is None else AGAIN
        if start is None:
            count = class_number(population)
            seeds = rng.choice(len(rows), min(count, len(rows)), replace=False, p=mass / mass.sum())
            # Each record goes to the starting records in whose values it agrees most.
            agreeing = marks @ marks[seeds].T
            if not isinstance(agreeing, np.ndarray):
                agreeing = agreeing.toarray()
            shares = np.exp(1.5 * agreeing.astype(np.float64))
        else:
            shares = start._shares(marks)
        for step in range(rounds):
            shares /= shares.sum(axis=1, keepdims=True)
            shares *= mass[:, np.newaxis]
            tables = np.asarray(back @ shares.astype(marks.dtype)).T + frequencies
            weights = shares.sum(axis=0) + MASS
            parts = [each / each.sum(axis=1, keepdims=True) for each in _cut(tables, ends)]
            found = cls(weights / weights.sum(), parts[0], tuple(parts[1:]))
            if step + 1 < rounds:
                shares = found._shares(marks)
        return found

    def _shares(self, marks: Any) -> FloatArray:
        logs = np.log(np.concatenate([self.secret, *self.nodes], axis=1))
        table = np.ascontiguousarray(logs.T).astype(marks.dtype)
        joint = np.asarray(marks @ table) + np.log(self.weights)
        return np.asarray(np.exp(joint - joint.max(axis=1, keepdims=True)))

    def classes(self, seen: Observations) -> FloatArray:
        """Posterior of the classes given the reports, shape (n, H)."""
        logs = np.tile(np.log(self.weights), (seen.size, 1))
        for evidence, table in zip(seen.evidence, self.nodes, strict=True):
            logs += log_dot(evidence, table.T)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Posterior of the secret given the reports of the nodes, shape (n, k)."""
        return self.classes(seen) @ self.secret

    def draw(self, seen: Observations, count: int, rng: np.random.Generator) -> IntArray:
        """Draw values of the nodes given the reports, shape (n, count, m).

        Each class and each value comes as often as its probability wants, up to one draw
        (Latin hypercube), which makes means over the draws far more precise than independent ones.
        """
        n = seen.size
        steps = np.arange(count)
        ranks = (steps + rng.random((n, 1))) / count
        which = _inverse(self.classes(seen)[:, np.newaxis, :], ranks)
        result = np.empty((n, count, len(self.nodes)), dtype=np.int64)
        for j, (evidence, table) in enumerate(zip(seen.evidence, self.nodes, strict=True)):
            order = rng.permuted(np.tile(steps, (n, 1)), axis=1)
            ranks = (order + rng.random((n, count))) / count
            logs = evidence[:, np.newaxis, :] + log_zero_ok(table)[which]
            logs -= logs.max(axis=2, keepdims=True)
            result[:, :, j] = _inverse(np.exp(logs), ranks)
        return result


def class_number(population: Population) -> int:
    """Number of classes for these records; 0 where their tables would be too large."""
    width = population.secret_size + sum(population.sizes)
    many = round(float(population.weights.sum())) // RECORDS
    return min(CLASSES, max(1, many), MAX_TABLE // width)


def _distinct(records: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    rows, where = np.unique(records, axis=0, return_inverse=True)
    return rows, np.asarray(np.bincount(where.ravel(), weights, len(rows)), dtype=np.float64)


def _marks(places: IntArray, width: int) -> Any:
    """Rows of zeros with ones at these places; single precision where the table is full."""
    from scipy import sparse

    n, m = places.shape
    if n * width > MAX_FULL:
        starts = np.arange(0, places.size + 1, m)
        return sparse.csr_array((np.ones(places.size), places.ravel(), starts), shape=(n, width))
    marks = np.zeros((n, width), dtype=np.float32)
    marks[np.arange(n)[:, np.newaxis], places] = 1.0
    return marks


def _prior_table(counts: FloatArray, sizes: tuple[int, ...]) -> FloatArray:
    """Pseudo-counts, a row for all columns: mostly by frequency, never zero."""
    parts = [
        MASS * k * (0.9 * each / each.sum() + 0.1 / k)
        for each, k in zip(np.split(counts, np.cumsum(sizes)[:-1]), sizes, strict=True)
    ]
    return np.concatenate(parts)


def _cut(tables: FloatArray, ends: IntArray) -> list[FloatArray]:
    return np.split(tables, ends[:-1], axis=1)


def _inverse(mass: FloatArray, ranks: FloatArray) -> IntArray:
    """Positions at which the cumulated mass (last axis) passes the ranks in [0, 1)."""
    sums = mass.cumsum(axis=2)
    found = (ranks[:, :, np.newaxis] * sums[:, :, -1:] >= sums).sum(axis=2)
    return np.asarray(np.minimum(found, mass.shape[2] - 1), dtype=np.int64)
