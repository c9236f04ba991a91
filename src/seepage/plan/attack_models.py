"""From a name to an attacker who knows or learns the population, and what it believes."""

from __future__ import annotations

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.attack.bayes import (
    JointModel,
    Model,
    PairModel,
    PriorModel,
    TreeModel,
    log_ratios,
    posterior,
)
from seepage.attack.learned import Lesson, fit_boosting
from seepage.attack.pooled import PooledModel, Sketch, sketch
from seepage.attack.population import Observations, Population
from seepage.attack.transformer import fit_transformer
from seepage.leakage.tree import DependencyTree
from seepage.plan.attack_case import AttackerName, Case
from seepage.plan.attack_setting import Setting

CHECKS = 4000
"""Simulated reports, about, by which the weights of descriptions of the population are chosen."""

POOL = "Weights of the descriptions at ε = {epsilon:g}: {weights}."


def learned_population(case: Case, setting: Setting) -> tuple[Sketch, Sketch]:
    """Descriptions of the population: without the records that weights are chosen by, and with."""
    case.stage("Learning the population")
    learning, checking = (setting.population(each) for each in (case.learning, case.checking))
    seed = case.seed % 2**31
    draft = sketch(learning, checking, seed)
    if case.learning is case.checking:  # too few records to divide
        return draft, draft
    return draft, draft.again(setting.population(case.world.codes))


def fit_pooled(
    case: Case, setting: Setting, sketches: tuple[Sketch, Sketch], *, exact: bool
) -> PooledModel:
    """Choose the weights of the descriptions by simulated reports of the checking records."""
    codes = np.tile(case.checking, (max(1, CHECKS // len(case.checking)), 1))[:CHECKS]
    checks = setting.observe(setting.plan.randomize_codes(codes, rng=case.rng(5)))
    return PooledModel.fit(*sketches, checks, setting.secret_codes(codes), exact=exact)


def ask_pooled(
    case: Case,
    setting: Setting,
    sketches: tuple[Sketch, Sketch],
    seen: Observations,
    *,
    exact: bool,
) -> tuple[FloatArray, float | None, str]:
    """Let Bayes' rule with a learned population answer.

    Returns
    -------
    beliefs : array of float, shape (n, k)
    ratio : float or None
        Largest log-ratio met under the joint distribution of the training records.
    note : str
        The weights.
    """
    model = fit_pooled(case, setting, sketches, exact=exact)
    beliefs, logs = model.answer(seen)
    prior = model.sketch.prior
    ratio = None if logs is None else float(log_ratios(prior, logs).max())
    epsilon = max(unit.mechanism.epsilon for unit in setting.plan.units)
    listed = ", ".join(f"{name} {weight:.0%}" for name, weight in model.weights.items())
    return beliefs, ratio, POOL.format(epsilon=epsilon, weights=listed)


def fit_attacker(
    name: AttackerName,
    case: Case,
    setting: Setting,
    population: Population,
    tree: DependencyTree | None,
) -> Model:
    """Fit any attacker but Bayes' rule with a learned population."""
    if name == "prior":
        return PriorModel(population.prior)
    if name in {"bayes", "tree"}:
        if setting.one_report:
            return PairModel.fit(population)
        if name == "bayes" or tree is None:
            return JointModel.fit(population)
        position = {label: i for i, label in enumerate(setting.labels)} | {setting.secret: -1}
        return TreeModel.fit(population, [(position[a], position[b]) for a, b in tree.named_edges])
    train = _lesson(setting, np.tile(case.learning, (case.copies, 1)), case.rng(3))
    check = _lesson(setting, case.checking, case.rng(4))
    fit = fit_boosting if name == "boosting" else fit_transformer
    return fit(train, check, setting.k, case.seed % 2**31, case.step)


def ask(model: Model, seen: Observations) -> tuple[FloatArray, float | None]:
    """Beliefs, and the largest log-ratio met by attackers with likelihoods."""
    if isinstance(model, (JointModel, PairModel, TreeModel)):
        logs = model.log_likelihood(seen)
        return posterior(model.prior, logs), float(log_ratios(model.prior, logs).max())
    return model.predict_proba(seen), None


def _lesson(setting: Setting, codes: IntArray, rng: np.random.Generator) -> Lesson:
    reports = setting.plan.randomize_codes(codes, rng=rng)
    return Lesson(setting.observe(reports, evidence=False), setting.secret_codes(codes))
