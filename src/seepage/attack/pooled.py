"""Bayes for a population of which only a sample of records is known.

From many attributes hardly any combination of values occurs twice in a sample, and the joint
distribution of the sample says little of records outside of it. Up to five descriptions of the
population are learned from the sample:

* **joint**: the sample's own joint distribution;
* **smoothed**: its combinations of values, with the secret given them by logistic regression;
* **latent**: hidden classes;
* **drawn**: combinations by the hidden classes, the secret given them by logistic regression. The
  posterior is a mean over combinations drawn given the reports;
* **boosted**: the same combinations, the secret given them by gradient-boosted trees, which look
  beyond the products of three values at which the regression ends (where scikit-learn is there).

What they believe is averaged with the weights that make records of the sample that none of them was
fitted to most likely, under the same mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seepage._numeric import FloatArray, IntArray, log_zero_ok
from seepage.attack.bayes import JointModel, posterior
from seepage.attack.boosted import BoostedTrees, Rows, installed
from seepage.attack.latent import LatentModel, class_number
from seepage.attack.logit import LogitModel, orders
from seepage.attack.population import Observations, Population

JOINT, SMOOTHED, LATENT = "joint", "smoothed", "latent"
DRAWN, BOOSTED = "drawn", "boosted"

IN_WORDS = {
    JOINT: "their joint distribution",
    SMOOTHED: "the same smoothed",
    LATENT: "hidden classes",
    DRAWN: "draws from these with logistic regression",
    BOOSTED: "draws from these with gradient-boosted trees",
}
"""What each description is."""

DRAWS = 32
"""Combinations drawn for each record."""

MAX_WIDTH = 1000
"""Values of all nodes up to which combinations are drawn, each from a table of that size."""

BLOCK = 20_000_000
"""Numbers in an array of draws, about."""

LEAF = 20
"""Fewest records of a leaf of boosted trees."""

FEWEST = 100
"""Records below which no trees are boosted."""

MAX_BOOSTING = 2_000_000
"""Records times values of the secret up to which trees are boosted: there is one for each value."""

MAX_TREES = 1000
"""Boosted trees, a round of them for each value of the secret: every draw goes through all."""

ROUNDS = 200
"""Steps of EM for the weights."""

LIGHT = 0.005
"""A member of less weight is left out."""

TINY = 1e-12
"""Probability in place of 0 where weights are chosen: one surprise does not exclude a member."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Descriptions of a population that were learned from the same records.

    Parameters
    ----------
    prior : array of float, shape (k,)
    combinations : array of int, shape (S, m)
        Combinations of values of the nodes in the sample.
    conditional : array of float, shape (S, k) or (S, 2·k)
        ``p(combination | secret)`` in the sample, and as smoothed.
    latent : LatentModel, optional
    logit : LogitModel, optional
    trees : BoostedTrees, optional
    seed : int
        Of the draws.
    """

    prior: FloatArray
    combinations: IntArray
    conditional: FloatArray
    latent: LatentModel | None
    logit: LogitModel | None
    trees: BoostedTrees | None
    seed: int

    @classmethod
    def of(
        cls,
        population: Population,
        latent: LatentModel | None,
        logit: LogitModel | None,
        trees: BoostedTrees | None,
        seed: int,
    ) -> Sketch:
        """Put together what was fitted."""
        prior, joint = population.prior, JointModel.fit(population)
        tables = [joint.conditional]
        if logit is not None:
            mass = joint.conditional @ prior
            table = mass[:, np.newaxis] * logit.predict(joint.combinations)
            table[:, prior == 0] = 0.0
            sums = table.sum(axis=0)
            tables.append(table / np.where(sums > 0, sums, 1.0))
        return cls(prior, joint.combinations, np.hstack(tables), latent, logit, trees, seed)

    def again(self, population: Population) -> Sketch:
        """The same fitted to more records, from here."""
        latent, logit, trees = self.latent, self.logit, self.trees
        if latent is not None:
            latent = LatentModel.fit(population, self.seed, latent)
        if logit is not None:
            logit = LogitModel.fit(population, logit.order, self.seed, logit)
        if trees is not None:  # as many rounds as were found to be good
            trees = boost(population, None, self.seed, trees.rounds)
        return Sketch.of(population, latent, logit, trees, self.seed)

    def members(self, *, exact: bool) -> tuple[str, ...]:
        """Names of what can be asked; with those that sum over all combinations if `exact`."""
        known = {
            JOINT: exact,
            SMOOTHED: exact and self.logit is not None,
            LATENT: self.latent is not None,
            DRAWN: self._draws and self.logit is not None,
            BOOSTED: self._draws and self.trees is not None,
        }
        return tuple(name for name, there in known.items() if there)

    @property
    def _draws(self) -> bool:
        return self.latent is not None and sum(self.latent.sizes) <= MAX_WIDTH

    def joint_logs(self, seen: Observations) -> FloatArray:
        """``ln p(reports of the nodes | secret)`` in the sample, and as smoothed."""
        count = self.conditional.shape[1] // len(self.prior)
        prior = np.tile(self.prior, count) / count
        return JointModel(prior, self.combinations, self.conditional).log_likelihood(seen)

    def beliefs(
        self, names: Collection[str], seen: Observations, logs: FloatArray | None
    ) -> dict[str, FloatArray]:
        """Posteriors of the secret given the reports of the nodes, shapes (n, k), by member.

        `logs` are `joint_logs`, which the first two members need.
        """
        k = len(self.prior)
        found: dict[str, FloatArray] = {}
        for name in names:
            if logs is not None and name in {JOINT, SMOOTHED}:
                part = logs[:, :k] if name == JOINT else logs[:, k:]
                found[name] = posterior(self.prior, part)
            elif name == LATENT and self.latent is not None:
                found[name] = self._possible(self.latent.predict_proba(seen))
        drawing = [name for name in names if name in {DRAWN, BOOSTED}]
        if drawing:
            drawn = self._drawn(drawing, seen)
            found |= {name: self._possible(each) for name, each in drawn.items()}
        return {name: found[name] for name in names}

    def _possible(self, beliefs: FloatArray) -> FloatArray:
        """Nothing for values without mass; rows sum to 1."""
        found = np.where(self.prior > 0, beliefs, 0.0)
        sums = found.sum(axis=1, keepdims=True)
        return np.where(sums > 0, found / np.where(sums > 0, sums, 1.0), self.prior)

    def _drawn(self, names: Sequence[str], seen: Observations) -> dict[str, FloatArray]:
        """Means over combinations drawn given the reports, the same for all of these members."""
        latent = self.latent
        known = {DRAWN: self.logit, BOOSTED: self.trees}
        models = {name: model for name in names if (model := known[name]) is not None}
        if latent is None or len(models) < len(names):
            raise KeyError(*names)
        rng = np.random.default_rng([self.seed, 1])
        step = max(1, BLOCK // (DRAWS * max(len(latent.weights), *latent.sizes)))
        result = {name: np.empty((seen.size, len(self.prior))) for name in names}
        for start in range(0, seen.size, step):
            part = seen.take(slice(start, start + step))
            rows = latent.draw(part, DRAWS, rng).reshape(part.size * DRAWS, -1)
            found, where = distinct(rows, latent.sizes)
            for name, model in models.items():
                each = model.predict(found)[where].reshape(part.size, DRAWS, -1)
                result[name][start : start + step] = each.mean(axis=1)
        return result


def sketch(learning: Population, checking: Population, seed: int) -> Sketch:
    """Learn all descriptions that fit.

    Parameters
    ----------
    learning : Population
    checking : Population
        Other records, by which the order of the logistic regression is chosen, and by which
        boosting stops.
    seed : int
    """
    latent = LatentModel.fit(learning, seed) if class_number(learning) else None
    best, most = None, -math.inf
    rows = np.arange(len(checking.secret))
    for order in orders(learning):
        tried = LogitModel.fit(learning, order, seed)
        chances = tried.predict(checking.nodes)[rows, checking.secret]
        found = float(checking.weights @ log_zero_ok(chances))
        if best is None or found > most:
            best, most = tried, found
    return Sketch.of(learning, latent, best, boost(learning, checking, seed), seed)


def boost(
    learning: Population, checking: Population | None, seed: int, rounds: int | None = None
) -> BoostedTrees | None:
    """``p(secret | nodes)`` by boosted trees, where that fits and scikit-learn is installed.

    Parameters
    ----------
    learning : Population
    checking : Population, optional
        Other records, by which boosting stops.
    seed : int
    rounds : int, optional
        Most rounds.
    """
    n, k = len(learning.secret), learning.secret_size
    fits = FEWEST <= n <= MAX_BOOSTING // k and len(np.unique(learning.secret)) > 1
    drawable = learning.sizes and sum(learning.sizes) <= MAX_WIDTH and class_number(learning)
    if not (fits and drawable and installed()):
        return None
    rounds = max(1, MAX_TREES // k) if rounds is None else rounds
    stop = None if checking is None else _rows(checking)
    return BoostedTrees.fit(
        _rows(learning), stop, sizes=learning.sizes, k=k, seed=seed, leaf=LEAF, rounds=rounds
    )


def _rows(population: Population) -> Rows:
    return Rows(population.nodes, population.secret, population.weights)


@dataclass(frozen=True, eq=False)
class PooledModel:
    """The average of what several descriptions of the population make of the reports.

    Parameters
    ----------
    sketch : Sketch
    weights : mapping of str to float
        Of the members, positive; they sum to 1.
    exact : bool
        Whether sums over all combinations of the sample are within reach.
    """

    sketch: Sketch
    weights: Mapping[str, float]
    exact: bool

    @classmethod
    def fit(
        cls, draft: Sketch, final: Sketch, seen: Observations, truth: IntArray, *, exact: bool
    ) -> PooledModel:
        """Choose the weights by the predictive likelihood.

        Parameters
        ----------
        draft : Sketch
            Learned without the records seen here.
        final : Sketch
            The same members, learned with them.
        seen : Observations
            Simulated reports.
        truth : array of int, shape (n,)
            Values of the secret.
        exact : bool
            See `PooledModel`.
        """
        names = draft.members(exact=exact)
        seen = replace(seen, own=None)
        logs = draft.joint_logs(seen) if exact else None
        found = draft.beliefs(names, seen, logs).values()
        rows = np.arange(len(truth))
        return cls(final, pool_weights(names, [each[rows, truth] for each in found]), exact)

    def predict_proba(self, seen: Observations) -> FloatArray:
        """Belief in each value of the secret, shape (n, k)."""
        return self.answer(seen)[0]

    def answer(self, seen: Observations) -> tuple[FloatArray, FloatArray | None]:
        """Beliefs, and ``ln p(reports | secret)`` in the sample itself, shapes (n, k).

        The latter is None where the sum over its combinations is out of reach.
        """
        prior, others = self.sketch.prior, replace(seen, own=None)
        logs = self.sketch.joint_logs(others) if self.exact else None
        found = self.sketch.beliefs(self.weights, others, logs)
        belief = sum((self.weights[name] * each for name, each in found.items()), np.array(0.0))
        # Reports that tell nothing leave the prior: draws would bring in a little chance.
        silent = np.all([np.ptp(each, axis=1) == 0 for each in seen.evidence], axis=0)
        belief = np.where(np.broadcast_to(silent, seen.size)[:, np.newaxis], prior, belief)
        own = np.zeros(belief.shape) if seen.own is None else seen.own
        if seen.own is not None:
            scale = np.where(prior > 0, prior, 1.0)
            belief = posterior(prior, log_zero_ok(belief / scale) + own)
        if logs is None:
            return belief, None
        return belief, np.where(prior > 0, logs[:, : len(prior)] + own, -np.inf)


def pool_weights(names: Sequence[str], chances: Sequence[FloatArray]) -> dict[str, float]:
    """Weights of an average that make what happened most likely; small ones are left out.

    Maximises ``Σ_i ln Σ_m w_m p_m(i)``, which is concave, by EM.

    Parameters
    ----------
    names : sequence of str
    chances : sequence of arrays of float, shapes (n,)
        Probability that each gave to what happened.
    """
    table = np.maximum(np.column_stack(chances), TINY)
    weights = np.full(len(names), 1 / len(names))
    for _ in range(ROUNDS):
        shares = table * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = shares.mean(axis=0)
    weights[(weights < LIGHT) & (weights < weights.max())] = 0.0
    weights /= weights.sum()
    return {name: float(w) for name, w in zip(names, weights, strict=True) if w > 0}


def distinct(rows: IntArray, sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Distinct rows, and which of them each row is."""
    if math.prod(sizes) < 2**62:  # as one number each, which sorts faster
        cells = np.ravel_multi_index(tuple(rows.T), tuple(sizes)) if sizes else rows.sum(axis=1)
        _, first, where = np.unique(cells, return_index=True, return_inverse=True)
        return rows[first], where.ravel()
    found, where = np.unique(rows, axis=0, return_inverse=True)
    return found, where.ravel()
