"""Attacks on a collection plan: how well the reports of others give an attribute away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import check_size
from seepage.attack.bayes import MAX_TERMS
from seepage.attack.boosted import broken, installed
from seepage.attack.pooled import IN_WORDS, Sketch
from seepage.attack.population import Observations, Population
from seepage.attack.scores import score, strangers
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Rng
from seepage.errors import CapacityError
from seepage.leakage.tree import DependencyTree
from seepage.plan.attack_bounds import best_success, exact_leakage, leakage_bounds, node_tree
from seepage.plan.attack_case import (
    LEARNERS,
    REASONERS,
    AttackerName,
    Case,
    Draw,
    Stage,
    Step,
    attacker_names,
    epsilon_grid,
    flag,
    inside,
    prepare_case,
)
from seepage.plan.attack_models import ask, ask_pooled, fit_attacker, learned_population
from seepage.plan.attack_report import AttackerResult, AttackReport, AttackRound
from seepage.plan.attack_setting import Setting
from seepage.plan.attack_sweep import largest_budget, rescaled
from seepage.plan.plan_sources import as_plan

SHOWN = 8
"""So many values are named in a sentence."""

THREAT = (
    "The attacker knows the plan and the joint distribution of the population, sees {seen}, and "
    "not the true values of any record."
)
EMPIRICAL = (
    "The distribution of the population is taken to be that of {n:,} training records; leakages "
    "are those of this distribution, not of the population, so compare successes on other records "
    "with the bound by their confidence limits."
)
GIVEN = "The distribution of the population is the given joint table of {n:,} cells with mass."
HELD_OUT = "Successes are measured on {n:,} records that no attacker was given, randomised once."
DRAWN = "Successes are measured on {n:,} records drawn from that distribution, randomised once."
LEARNING = (
    "Attackers that learn are trained on {n:,} simulated reports: every training record is "
    "randomised {copies} times anew. One in ten training records decides when to stop."
)
CONTROL = (
    "Control: the same guesses for the reports of other records. Up to 1/(n − 1) of n attacked "
    "records, their balanced accuracy is one over the number of values met in expectation, their "
    "accuracy at most the share of the most frequent value."
)
LIMITS = (
    "Intervals are Clopper–Pearson at {c:.0%}, those of balanced accuracy Hoeffding's, each by "
    "itself; simulation, not a release."
)
FALLBACK = (
    "Exact Bayes would go through {terms:,} pairs of records and combinations, above {limit:,}: "
    "Bayes on the dependency tree took its place."
)
WITHOUT_SUM = (
    "A sum over the combinations of the training records would go through {terms:,} pairs of "
    "records and combinations, above {limit:,}: 'bayes' did without, and has no log-ratio."
)
SAMPLED = (
    "'bayes' knows the population by a sample, {n:,} training records. It averages descriptions "
    "learned from them: {members}. Weights are those that make one in ten of these records, set "
    "aside at first, most likely. Its log-ratio is that of the joint distribution of the training "
    "records."
)
UNBOOSTED = (
    "'bayes' did without gradient-boosted trees, which need scikit-learn{why}: where the secret "
    "follows combinations of more than three attributes, others may be better (pip install "
    "'seepage[attack]')."
)
RARE = "Values of {secret!r} that no training record has are never guessed: {values}."


def attack_plan(
    table: Any,
    plan: CollectionPlan | str | Path,
    secret: str,
    attackers: Sequence[AttackerName] = ("prior", "bayes"),
    *,
    own_report: bool = False,
    epsilons: ArrayLike | None = None,
    draw: Draw = "held-out",
    joint: ArrayLike | None = None,
    tree: DependencyTree | None = None,
    share: float = 0.3,
    max_records: int = 20_000,
    copies: int = 10,
    confidence: float = 0.95,
    rng: Rng = 0,
    stage: Stage | None = None,
    step: Step | None = None,
    **reading: Any,
) -> AttackReport:
    """Attack one attribute of a plan: guess it from the randomised reports of the others.

    Records are divided into those that the attackers are given and those on which they are
    evaluated; the reports are simulated.

    Parameters
    ----------
    table : path, data frame, mapping of columns, CodedTable or None
        One row for each record, read by the domain of the plan. None with `joint` and
        ``draw="model"``.
    plan : CollectionPlan or path of a plan file
    secret : str
        The attribute to be guessed.
    attackers : sequence of {"prior", "bayes", "tree", "boosting", "tabtransformer"}
        "prior": the likeliest value, always added. "bayes": Bayes' rule, exact where the joint
        distribution is given or records are drawn from it; for held-out records with what can be
        learned of the population from the training records (`seepage.attack.pooled`).
        "tree": Bayes on the Chow–Liu tree. "boosting": gradient boosting (scikit-learn).
        "tabtransformer": the attacker of the Dependency Triad paper (PyTorch). The last two need
        the extra ``attack``.
    own_report : bool, default False
        Let the attackers see reports on the secret too. The paper's threat model leaves them out.
    epsilons : array-like of float, shape (e,), optional
        Repeat the attack with all budgets multiplied so that the largest is each of these, in
        [0, ∞].
    draw : {"held-out", "model"}
        Evaluate on records that were held out, or on records drawn from the distribution that the
        attackers are given, for which the bound holds without reservation.
    joint : array-like of float, optional
        The joint distribution that the attackers are given, an axis for each attribute in the order
        of the plan, in place of that of training records.
    tree : DependencyTree, optional
        For "tree", in place of the Chow–Liu tree.
    share : float, default 0.3
        Share of the records that are held out, in (0, 1).
    max_records : int, default 20000
        Most records evaluated, drawn at random; the number of records drawn from the model.
    copies : int, default 10
        How often learning attackers see each training record randomised; 200,000 reports at most.
    confidence : float, default 0.95
        Of the intervals, in (0, 1).
    rng : numpy.random.Generator or int, default 0
    stage, step : callable, optional
        Called with what is done now, and with steps done and steps in all.
    **reading
        How a file is written; see `seepage.randomize`.

    Returns
    -------
    AttackReport

    Raises
    ------
    DomainError
        If the secret is no attribute of the plan, or a value is not in its domain.
    InvalidInputError
        If a parameter is outside its range, no reports of other attributes exist, or the training
        records have one value of the secret only.
    MissingDependencyError
        If an attacker needs a package that is not installed, or cannot be used.
    SeepageError
        If the table or the plan cannot be used.

    Examples
    --------
    >>> from seepage.domain import Domain
    >>> from seepage.plan.collecting import make_plan
    >>> domain = Domain.of({"sex": ["f", "m"], "copy": ["f", "m"]})
    >>> plan = make_plan(domain, epsilon=1.0)
    >>> joint = [[0.5, 0.0], [0.0, 0.5]]
    >>> report = attack_plan(None, plan, "sex", joint=joint, draw="model")
    >>> round(report.main.bound.accuracy, 6)  # e / (e + 1)
    0.731059
    """
    chosen = as_plan(plan)
    setting = Setting(chosen, secret, flag(own_report))
    grid = epsilon_grid(epsilons)
    sweep = [(epsilon, rescaled(chosen, epsilon)) for epsilon in grid]
    source, case = prepare_case(
        setting, table, names=attacker_names(attackers), joint=joint, tree=tree, draw=draw,
        share=inside(share, "share"), most=check_size(max_records, "max_records"),
        copies=check_size(copies, "copies"), confidence=inside(confidence, "confidence"),
        rng=rng, stage=stage, step=step, reading=reading,
    )  # fmt: skip
    sketches = learned_population(case, setting) if case.sampled else None
    main, notes = _round(case, setting, largest_budget(chosen), sketches)
    rounds = []
    for epsilon, scaled in sweep:
        case.stage(f"Attacking at ε = {epsilon:g}")
        rounds.append(_round(case, replace(setting, plan=scaled), epsilon, sketches)[0])
    truth = setting.secret_codes(case.evaluated)
    prior = setting.population(case.world.codes, case.world.weights).prior
    return AttackReport(
        secret=secret,
        attributes=setting.attributes,
        own_report=setting.own_report,
        values=chosen.domain[secret].categories,
        training=0 if joint is not None else len(case.world.codes),
        evaluated=len(truth),
        held_out=draw == "held-out",
        met=tuple(np.bincount(truth, minlength=setting.k).tolist()),
        baseline=float((truth == prior.argmax()).mean()),
        main=main,
        sweep=tuple(rounds),
        confidence=case.confidence,
        assumptions=(*_assumptions(case, setting, draw, sketches), *notes),
        source=source,
    )


def _round(
    case: Case, setting: Setting, epsilon: float, sketches: tuple[Sketch, Sketch] | None
) -> tuple[AttackRound, tuple[str, ...]]:
    """All attackers under one plan."""
    population = setting.population(case.world.codes, case.world.weights)
    reports = setting.plan.randomize_codes(case.evaluated, rng=case.rng(1))
    seen = setting.observe(reports, evidence=bool(REASONERS & set(case.names)))
    truth = setting.secret_codes(case.evaluated)
    wanted = "tree" in case.names or case.tree is not None
    fits = setting.one_report or _terms(seen, population) <= MAX_TERMS
    names, notes = case.names, []
    if "bayes" in names and not fits and sketches is not None:
        notes.append(WITHOUT_SUM.format(terms=_terms(seen, population), limit=MAX_TERMS))
    elif "bayes" in names and not fits:
        names = tuple(dict.fromkeys("tree" if name == "bayes" else name for name in names))
        wanted = True
        notes.append(FALLBACK.format(terms=_terms(seen, population), limit=MAX_TERMS))
    met = np.bincount(truth, minlength=setting.k)
    frequencies = met / len(truth)  # of the records that success is measured on
    exact = exact_leakage(setting, population)
    dependency = None
    if wanted or exact is None:  # its curves are not for free
        dependency = _tree(case, setting, population, needed=wanted)
    bounds = leakage_bounds(setting, population, dependency, frequencies, exact)
    others = strangers(len(truth), case.rng(2))
    results = []
    for name in names:
        case.stage(f"Attacker {name}")
        if name == "bayes" and sketches is not None:
            beliefs, ratio, note = ask_pooled(case, setting, sketches, seen, exact=fits)
            notes.append(note)
        else:
            model = fit_attacker(name, case, setting, population, dependency)
            beliefs, ratio = ask(model, seen)
        result = score(truth, beliefs, population.prior, others, case.confidence)
        knows_joint = name == "bayes" or setting.one_report
        method = None if ratio is None else "joint" if knows_joint else "tree"
        results.append(AttackerResult(name, result, ratio, method))
    possible = best_success(setting, population, frequencies)
    return AttackRound(epsilon, tuple(results), bounds, possible), tuple(notes)


def _tree(
    case: Case, setting: Setting, population: Population, *, needed: bool
) -> DependencyTree | None:
    """The tree of secret and nodes; None where it does not fit and nobody asked for it."""
    try:
        return node_tree(setting, population, case.tree)
    except CapacityError:
        if needed:
            raise
        return None


def _terms(seen: Observations, population: Population) -> int:
    return seen.size * len(np.unique(population.nodes, axis=0))


def _assumptions(
    case: Case, setting: Setting, draw: Draw, sketches: tuple[Sketch, Sketch] | None
) -> list[str]:
    names = ", ".join(setting.attributes)
    seen = f"the reports on {names}" if setting.own_report else f"the reports on {names} only"
    n = len(case.evaluated)
    found = [THREAT.format(seen=seen)]
    known = EMPIRICAL if case.world.weights is None else GIVEN
    found.append(known.format(n=len(case.world.codes)))
    found.append((HELD_OUT if draw == "held-out" else DRAWN).format(n=n))
    if sketches is not None:
        members = ", ".join(IN_WORDS[name] for name in sketches[0].members(exact=True))
        found.append(SAMPLED.format(n=len(case.world.codes), members=members))
        if not installed():
            why = broken()
            found.append(UNBOOSTED.format(why=f" (it cannot be used: {why})" if why else ""))
    if LEARNERS & set(case.names):
        rows = len(case.learning) * case.copies
        found.append(LEARNING.format(n=rows, copies=case.copies))
    found += [CONTROL, LIMITS.format(c=case.confidence)]
    trained = np.unique(setting.secret_codes(case.world.codes))
    unmet = np.setdiff1d(setting.secret_codes(case.evaluated), trained)
    if unmet.size:
        labels = setting.plan.domain[setting.secret].categories
        listed = ", ".join(repr(labels[i]) for i in unmet[:SHOWN].tolist())
        if unmet.size > SHOWN:
            listed += f" and {unmet.size - SHOWN} more"
        found.append(RARE.format(secret=setting.secret, values=listed))
    return found
