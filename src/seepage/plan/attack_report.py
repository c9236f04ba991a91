"""What an attack on a plan found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from seepage.attack.scores import Score
from seepage.plan.attack_bounds import LeakageBound
from seepage.results import Interval, Result, Standing


@dataclass(frozen=True)
class AttackerResult:
    """One attacker under one plan.

    Parameters
    ----------
    name : str
    score : Score
    largest_ratio : float or None
        Largest ``ln p(reports | s) − ln p(reports | s')`` met, in nats; None for attackers without
        likelihoods.
    bound_method : str or None
        Method of the bound that holds for it, "joint" or "tree": where the attacker is right about
        the distribution, the ratio cannot exceed that leakage.
    """

    name: str
    score: Score
    largest_ratio: float | None = None
    bound_method: str | None = None


@dataclass(frozen=True)
class AttackRound:
    """All attackers under one plan.

    Parameters
    ----------
    epsilon : float
        Largest budget of a mechanism of the plan.
    attackers : tuple of AttackerResult
        The prior guess first.
    bounds : tuple of LeakageBound
        "joint" first where it could be computed; "group" last.
    best_possible : float, optional
        Accuracy of the best guess in expectation, computed from the distribution that the attackers
        are given, with the shares of the secret's values among the evaluated records; None where
        there are too many reports to go through.
    refuted : bool, default False
        Whether the dependency tree is refuted as a description of the distribution, by this round
        or by another one of the same report.
    """

    epsilon: float
    attackers: tuple[AttackerResult, ...]
    bounds: tuple[LeakageBound, ...]
    best_possible: float | None = None
    refuted: bool = False

    @property
    def refuting(self) -> AttackerResult | None:
        """Who met a log-ratio above the tree's leakage under the joint distribution, if anybody.

        That refutes the tree as a description of this distribution, and with it its bound.
        """
        tree = next((bound.leakage for bound in self.bounds if bound.method == "tree"), math.inf)
        for each in self.attackers:
            ratio = each.largest_ratio
            known = each.bound_method == "joint" and ratio is not None
            if known and ratio is not None and ratio > tree + 1e-9 * (1 + tree):
                return each
        return None

    @property
    def bound(self) -> LeakageBound:
        """The bound that successes are compared with: exact, else the lowest not refuted."""
        if self.bounds[0].standing is Standing.EXACT:
            return self.bounds[0]
        refuted = self.refuted or self.refuting is not None
        held = [bound for bound in self.bounds if not (refuted and bound.method == "tree")]
        return min(held, key=lambda bound: bound.leakage)

    @property
    def best(self) -> AttackerResult:
        """The attacker that is right most often; the first of several."""
        return max(self.attackers, key=lambda each: each.score.accuracy.estimate)

    def attacker(self, name: str) -> AttackerResult:
        """The result of one attacker.

        Raises
        ------
        KeyError
            If it did not take part.
        """
        for each in self.attackers:
            if each.name == name:
                return each
        raise KeyError(name)


@dataclass(frozen=True, eq=False)
class AttackReport(Result):
    """Attacks on one attribute of a plan.

    Attributes
    ----------
    secret : str
    attributes : tuple of str
        Those whose reports the attackers see.
    own_report : bool
        Whether they see reports on the secret itself.
    values : tuple
        Categories of the secret.
    training, evaluated : int
        Numbers of records. 0 for training on a given joint distribution.
    held_out : bool
        Whether the evaluated records are real ones that no attacker was given; otherwise they were
        drawn from the distribution that the attackers are given.
    met : tuple of int
        How many evaluated records have each value of the secret.
    baseline : float
        Accuracy of the prior guess on the evaluated records.
    main : AttackRound
        Under the plan itself.
    sweep : tuple of AttackRound
        Under the same plan at other budgets, in rising order.
    confidence : float
        Of each interval by itself.
    assumptions : tuple of str
    source : str
    """

    secret: str
    attributes: tuple[str, ...]
    own_report: bool
    values: tuple[Any, ...]
    training: int
    evaluated: int
    held_out: bool
    met: tuple[int, ...]
    baseline: float
    main: AttackRound
    sweep: tuple[AttackRound, ...]
    confidence: float
    assumptions: tuple[str, ...]
    source: str = ""

    def __post_init__(self) -> None:
        # The tree describes the distribution, which is the same at every ε: one refutation does.
        if self.refuting is not None:
            object.__setattr__(self, "main", replace(self.main, refuted=True))
            swept = tuple(replace(item, refuted=True) for item in self.sweep)
            object.__setattr__(self, "sweep", swept)

    @property
    def refuting(self) -> tuple[AttackRound, AttackerResult] | None:
        """Where and by whom the tree is refuted first: under the plan, else in the sweep."""
        found = ((item, item.refuting) for item in (self.main, *self.sweep))
        return next(((item, who) for item, who in found if who is not None), None)

    @property
    def values_met(self) -> int:
        """Number of values of the secret among the evaluated records."""
        return sum(count > 0 for count in self.met)

    @property
    def standing(self) -> Standing:
        """Success is measured on a sample."""
        return Standing.ESTIMATE

    @property
    def rounds(self) -> tuple[AttackRound, ...]:
        """The sweep, or the plan itself where there is none."""
        return self.sweep or (self.main,)

    @property
    def baseline_balanced(self) -> float:
        """Balanced accuracy without reports: 1 over the number of values met, whatever the guess.

        Macro-F1 without reports is at most the same: F1 of value s is ``2 π_s g_s/(π_s + g_s)``
        when it is guessed with probability g_s, the sum over s is largest for g = π, and then every
        F1 is π_s. Always naming the likeliest value, as the attacker "prior" does, has less.
        """
        return 1 / self.values_met

    @property
    def exceeding(self) -> tuple[str, ...]:
        """Attackers whose accuracy is significantly above the bound.

        On held-out records this refutes what the bound assumes: that the distribution is that of
        the training records, or that it follows the tree.
        """
        limit = self.main.bound.accuracy
        return tuple(
            each.name
            for each in self.main.attackers
            if each.score.accuracy.lower > limit + 1e-12 and each.name != "prior"
        )

    @property
    def verdict(self) -> str:
        """What the best attacker reached, in a sentence or two."""
        main, best = self.main, self.main.best
        seen = "all reports, its own among them" if self.own_report else "the reports of the others"
        where = "held-out" if self.held_out else "simulated"
        rest = [each for each in main.attackers if each.name != "prior"]
        if not rest:
            alone = _share(best.score.accuracy)
            most = f"No attacker with {seen} can exceed {main.bound.accuracy:.1%}{self._if}."
            if nothing := _excluding(main.bound.accuracy):
                most = f"For attackers with {seen} the bound excludes {nothing} here."
            return (
                f"Without reports, {self.secret!r} is named rightly in {alone} of "
                f"{self.evaluated:,} {where} records. {most}"
            )
        gain = max(rest, key=lambda each: each.score.accuracy.estimate)
        accuracy, advantage = gain.score.accuracy, gain.score.advantage
        told = (
            f"From {seen}, {gain.name!r} names {self.secret!r} rightly in {_share(accuracy)} of "
            f"{self.evaluated:,} {where} records; the prior guess in {self.baseline:.1%}"
        )
        if advantage.lower > 0:
            told += f", an advantage of {_points(advantage)}."
        else:
            told += f": no advantage that can be told from none ({_points(advantage)})."
            most_even = max(rest, key=lambda each: each.score.balanced.lower)
            balanced = most_even.score.balanced
            if balanced.lower > self.baseline_balanced:
                told += (
                    f" But reports do tell: in the mean over values, {most_even.name!r} is right "
                    f"in {_share(balanced)}, against {self.baseline_balanced:.1%} without reports."
                )
        bound = main.bound
        nats = f"{_nats(bound.leakage)} nats"
        if nothing := _excluding(bound.accuracy):
            what = {
                "joint": f"The exact leakage of {nats}",
                "tree": f"The leakage of {nats} along the dependency tree",
                "group": f"The sum of the budgets, {nats},",
            }[bound.method]
            most = f"{what} excludes {nothing} here."
        else:
            how = {
                "joint": "by the exact leakage",
                "tree": "if the data follow the dependency tree, by a leakage",
                "group": "by the budgets, a leakage",
            }[bound.method]
            most = f"No attacker can exceed {bound.accuracy:.1%}, {how} of {nats}{self._if}."
        if self.refuting is not None and bound.method == "group":
            item, who = self.refuting
            where = "" if item is main else f" at ε = {item.epsilon:g}"
            most += (
                f" The dependency tree does not describe these data: {who.name!r} met a log-ratio "
                f"of {_nats(who.largest_ratio or 0.0)} nats{where}, above what the tree allows."
            )
        if self.exceeding:
            named = ", ".join(map(repr, self.exceeding))
            most = (
                f"This is significantly above the bound of {bound.accuracy:.1%} ({named}): what "
                "the bound assumes does not hold for these records."
            )
        return f"{told} {most}"

    @property
    def _if(self) -> str:
        """What the bound takes for granted of held-out records; budgets hold for any."""
        if not self.held_out or self.main.bound.method == "group":
            return ""
        known = "the training records" if self.training else "the given distribution"
        return f", if the population is as {known}"

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each attacker at each ε."""
        rows = [(item, each) for item in self.rounds for each in item.attackers]
        scores = [each.score for _, each in rows]
        return {
            "epsilon": [item.epsilon for item, _ in rows],
            "attacker": [each.name for _, each in rows],
            "accuracy": [s.accuracy.estimate for s in scores],
            "accuracy_lower": [s.accuracy.lower for s in scores],
            "accuracy_upper": [s.accuracy.upper for s in scores],
            "advantage": [s.advantage.estimate for s in scores],
            "advantage_lower": [s.advantage.lower for s in scores],
            "advantage_upper": [s.advantage.upper for s in scores],
            "macro_f1": [s.macro_f1 for s in scores],
            "balanced_accuracy": [s.balanced_accuracy for s in scores],
            "balanced_accuracy_lower": [s.balanced.lower for s in scores],
            "balanced_accuracy_upper": [s.balanced.upper for s in scores],
            "control_accuracy": [s.control.estimate for s in scores],
            "control_balanced_accuracy": [s.control_balanced for s in scores],
            "largest_log_ratio": [each.largest_ratio for _, each in rows],
            "leakage": [item.bound.leakage for item, _ in rows],
            "best_possible": [item.best_possible for item, _ in rows],
            "bound_accuracy": [item.bound.accuracy for item, _ in rows],
            "bound_balanced_accuracy": [item.bound.balanced_accuracy for item, _ in rows],
            "bound_method": [item.bound.method for item, _ in rows],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "format": "seepage.attack",
            "version": 1,
            "source": self.source,
            "unit": "nats",
            "secret": self.secret,
            "attributes": list(self.attributes),
            "own_report": self.own_report,
            "values": list(self.values),
            "training_records": self.training,
            "evaluated_records": self.evaluated,
            "held_out": self.held_out,
            "confidence": self.confidence,
            "standing": self.standing,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "baseline": {"accuracy": self.baseline, "balanced_accuracy": self.baseline_balanced},
            "plan": _round(self.main),
            "sweep": [_round(item) for item in self.sweep],
        }


def _round(item: AttackRound) -> dict[str, Any]:
    return {
        "epsilon": item.epsilon,
        "best_possible": item.best_possible,
        "tree_refuted": item.refuted,
        "bounds": [
            {
                "method": bound.method,
                "leakage": bound.leakage,
                "standing": bound.standing,
                "accuracy": bound.accuracy,
                "balanced_accuracy": bound.balanced_accuracy,
                "assumption": bound.assumption,
            }
            for bound in item.bounds
        ],
        "attackers": [
            {
                "name": each.name,
                "accuracy": _limits(each.score.accuracy),
                "advantage": _limits(each.score.advantage),
                "macro_f1": each.score.macro_f1,
                "balanced_accuracy": each.score.balanced_accuracy,
                "balanced_limits": [each.score.balanced.lower, each.score.balanced.upper],
                "control_accuracy": _limits(each.score.control),
                "control_balanced_accuracy": each.score.control_balanced,
                "largest_log_ratio": each.largest_ratio,
                "bound_method": each.bound_method,
            }
            for each in item.attackers
        ],
    }


def _limits(interval: Interval) -> dict[str, float]:
    return {"value": interval.estimate, "lower": interval.lower, "upper": interval.upper}


def _excluding(accuracy: float) -> str:
    """What a bound of 100 %, or one that is rounded to it, excludes; empty for others."""
    return "nothing" if accuracy >= 1 else "next to nothing" if accuracy >= 0.9995 else ""


def _share(interval: Interval) -> str:
    return f"{interval.estimate:.1%} ({interval.lower:.1%} to {interval.upper:.1%})"


def _points(interval: Interval) -> str:
    def points(value: float) -> str:
        return f"{100 * value:+.1f}".replace("-", "−")

    low, high = points(interval.lower), points(interval.upper)
    return f"{points(interval.estimate)} points, {low} to {high}"


def _nats(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"
