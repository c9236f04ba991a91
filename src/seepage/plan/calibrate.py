"""The best budgets under which no total leakage exceeds a target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import FloatArray, check_epsilon, check_size, extremes_allowed
from seepage.domain import Domain
from seepage.errors import InfeasibleError, InvalidInputError, did_you_mean
from seepage.leakage.model import LeakageModel, TotalMethod
from seepage.leakage.tree import DependencyTree
from seepage.plan._objectives import Objective
from seepage.plan._search import Problem
from seepage.plan.claim_checks import BEYOND, STANDS, UNTESTED, Evidence, budget_evidence
from seepage.plan.totals import TotalLeakage, evaluate, prepare
from seepage.results import Result, Standing

ObjectiveName = Literal["variance", "sum", "maxmin", "kway"]

SLACK = 1e-6
"""Totals this close to the target, in nats, count as being at it."""

REFUTED = (
    "These records refute the dependency tree for {names}: the exact leakage of some reports, "
    "through k-ary randomised response of these budgets, exceeds the total by tree."
)
RESPONSE = "Errors are those of k-ary randomised response at uniform frequencies."


@dataclass(frozen=True, eq=False)
class CalibrationResult(Result):
    """Budgets under which no total leakage exceeds the target.

    Attributes
    ----------
    domain : Domain
    target : float
        Largest total leakage allowed, in nats.
    method : {"tree", "pairwise", "group"}
        Which total was held below the target.
    budgets : mapping of str to float
        ε of each attribute.
    totals : TotalLeakage
        Evaluated again at these budgets; none exceeds the target.
    binding : str
        The attribute whose total is largest; of several at the target, the one that owes most of
        it to the others.
    binding_source : str or None
        Whose report (attribute, cluster) contributes most to that total besides its own; None when
        nothing does.
    active : tuple of str
        All attributes whose total is at the target, within 1e-6.
    objective : {"variance", "sum", "maxmin", "kway"}
    objective_meaning : str
    objective_value : float
        At these budgets.
    uniform_budgets : mapping of str to float
        For comparison: the target divided equally, as basic composition would have it, within the
        bounds.
    uniform_value : float
        The objective at those.
    bounds : mapping of str to (float, float)
        Minimum and maximum of each budget.
    assumptions : tuple of str
    source : str
    evidence : tuple of Evidence
        Reports that tell more than totals by tree allow, in this table: they refute the tree.
    """

    domain: Domain
    target: float
    method: str
    budgets: Mapping[str, float]
    totals: TotalLeakage
    binding: str
    binding_source: str | None
    active: tuple[str, ...]
    objective: str
    objective_meaning: str
    objective_value: float
    uniform_budgets: Mapping[str, float]
    uniform_value: float
    bounds: Mapping[str, tuple[float, float]]
    assumptions: tuple[str, ...]
    source: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def standing(self) -> Standing:
        """How the totals relate to the true leakage; heuristic where records refute the tree."""
        return Standing.HEURISTIC if self.evidence else self.totals.standing

    @property
    def vouched(self) -> bool:
        """Whether the target is met as the standing says, or by the sum of the budgets.

        False where the records refute the totals by tree: then no total is known to hold.
        """
        return not self.evidence or math.fsum(self.budgets.values()) <= self.target

    @property
    def missed(self) -> bool:
        """Whether some reports, by their exact leakage, tell more than the target."""
        return any(item.leakage > self.target * (1 + BEYOND) for item in self.evidence)

    @property
    def binding_pair(self) -> tuple[str, str] | None:
        """Binding attribute and its largest source, as (secret, released)."""
        return None if self.binding_source is None else (self.binding, self.binding_source)

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        own, total = self.budgets[self.binding], self.totals[self.binding]
        kind = "pairwise sum (no bound)" if self.method == "pairwise" else "total leakage"
        condition = " if the data follow the dependency tree" if self.method == "tree" else ""
        gain = ""
        compared = self.objective != "maxmin" and np.isfinite(self.target)
        if compared and np.isfinite(self.uniform_value):
            word = {"sum": "a weighted sum of budgets"}.get(self.objective, "an error")
            ratio = self.objective_value / self.uniform_value if self.uniform_value else 1.0
            gain = f"; {word} {ratio:.3g} times that of splitting equally"
        if self.evidence:
            return f"{self._refutation}."
        source = ""
        if self.binding_source is not None:
            part = self.totals.parts[self.binding][self.binding_source]
            source = f", most of the rest through {self.binding_source!r} ({part:.3g})"
        if not self.active or np.isinf(self.target):
            return (
                f"Every budget is at its maximum: the largest {kind} is {total:.3f} nats, about "
                f"{self.binding!r}, within the target of {self.target:g}{condition}{gain}."
            )
        return (
            f"With these budgets the {kind} about no attribute exceeds {self.target:g} nats"
            f"{condition}{gain}. "
            f"{self.binding!r} binds: {total:.3f} nats, of which {own:.3g} are its own budget"
            f"{source}."
        )

    @property
    def _refutation(self) -> str:
        """What the records say against the tree, and what is left, without the full stop."""
        if self.vouched:
            spent = math.fsum(self.budgets.values())
            sums = "The sum of the budgets"
            if not self.active:
                sums = "Every budget is at its maximum: their sum"
            return (
                f"{sums}, which bounds every total for any data, is {spent:.3f} nats, within the "
                f"target of {self.target:g}; these records refute the dependency tree"
            )
        worst = max(self.evidence, key=lambda item: item.leakage)
        more = len(self.evidence) - 1
        others = f" ({more} more like it)" if more else ""
        fate = "is missed" if self.missed else "is not vouched for"
        every = len(worst.sources) == len(self.domain)
        whose = "all attributes" if every else f"{', '.join(worst.sources)} alone"
        return (
            f"The target of {self.target:g} nats {fate}: these records refute the dependency tree. "
            f"By the tree the total about {worst.about!r} is {worst.claimed:.3f} nats, but the "
            f"reports of {whose} tell {worst.leakage:.3f}{others}. Method 'group' gives a bound "
            "for any data"
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each attribute."""
        names = list(self.domain.names)
        return {
            "attribute": names,
            "categories": list(self.domain.shape),
            "epsilon": [self.budgets[name] for name in names],
            "uniform_epsilon": [self.uniform_budgets[name] for name in names],
            "total": [self.totals[name] for name in names],
            "slack": [
                self.target - self.totals[name] if np.isfinite(self.target) else np.inf
                for name in names
            ],
            "at_target": [name in self.active for name in names],
            "minimum": [self.bounds[name][0] for name in names],
            "maximum": [self.bounds[name][1] for name in names],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        from seepage.collect.plan_files import domain_digest

        return {
            "format": "seepage.budgets",
            "version": 1,
            "source": self.source,
            "domain": domain_digest(self.domain),
            "unit": "nats",
            "target": self.target,
            "method": self.method,
            "standing": self.standing,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "budgets": dict(self.budgets),
            "totals": dict(self.totals),
            "binding": self.binding,
            "binding_source": self.binding_source,
            "active": list(self.active),
            "bounds": {name: list(pair) for name, pair in self.bounds.items()},
            "objective": {
                "name": self.objective,
                "meaning": self.objective_meaning,
                "value": self.objective_value,
            },
            "uniform": {"budgets": dict(self.uniform_budgets), "value": self.uniform_value},
            "evidence": [
                {
                    "about": item.about,
                    "sources": list(item.sources),
                    "leakage": item.leakage,
                    "claimed": item.claimed,
                }
                for item in self.evidence
            ],
        }


@extremes_allowed
def calibrate(
    table_or_model: Any,
    target: float = 3.0,
    *,
    method: TotalMethod = "tree",
    objective: ObjectiveName = "variance",
    weights: Mapping[str, float] | None = None,
    minimum: float | Mapping[str, float] = 0.0,
    maximum: float | Mapping[str, float] = float("inf"),
    k: int = 2,
    tree: DependencyTree | None = None,
    record_weights: str | None = None,
    **options: Any,
) -> CalibrationResult:
    """Find the best budgets under which the total leakage about no attribute exceeds `target`.

    The result is on the safe side: totals are evaluated again and none exceeds the target. It does
    not depend on the order of the attributes, and no single budget can be raised. The set of
    feasible budgets is not convex, so a better one may exist; several starting points are tried.

    Parameters
    ----------
    table_or_model : path, frame, mapping, CodedTable, CountedTable, PairCounts or LeakageModel
        A model may hold upper curves under uncertainty.
    target : float, default 3.0
        In nats, in [0, ∞].
    method : {"tree", "pairwise", "group"}
        The total; see `seepage.plan.totals.total_leakage`. "pairwise" is no bound.
    objective : {"variance", "sum", "maxmin", "kway"}
        "variance": least total variance of all one-way frequency estimates from randomised
        responses. "sum": largest sum of weight · ε. "maxmin": largest smallest ε / weight, then the
        next smallest, and so on. "kway": least total error of all `k`-way frequency estimates,
        ``Σ over k-subsets Π ‖W_j‖_F²/k_j`` at uniform frequencies, W the inverse of the channel.
    weights : mapping of str to float, optional
        Importance of attributes for the objective, positive; 1 for those left out.
    minimum, maximum : float or mapping of str to float
        Bounds of the budgets, in [0, ∞]; attributes left out of a mapping have none.
    k : int, default 2
        For "kway": 1 to the number of attributes.
    tree : DependencyTree, optional
        For "tree": in place of the Chow–Liu tree of the data.
    record_weights : str, optional
        Column that says how often each record counts, when a table is read.
    **options
        Passed to `seepage.tables.load`.

    Returns
    -------
    CalibrationResult

    Raises
    ------
    InfeasibleError
        If the minimum budgets exceed the target already; names the attribute and its total.
    InvalidInputError
        If a parameter is outside its range, or a curve has no vertices.
    SeepageError
        If the table cannot be used.

    Examples
    --------
    >>> table = {"sex": ["f", "f", "m", "m"], "smoker": ["no", "no", "no", "yes"]}
    >>> result = calibrate(table, target=2.0)
    >>> max(result.totals.values()) <= 2.0
    True
    """
    goal = _target(target)
    for role, value, known in (
        ("method", method, get_args(TotalMethod)),
        ("objective", objective, get_args(ObjectiveName)),
    ):
        if value not in known:
            text = ", ".join(map(repr, known))
            msg = f"expected {role} {text}, got {value!r}.{did_you_mean(value, known)}"
            raise InvalidInputError(msg)
    if record_weights is not None:
        options["weights"] = record_weights
    whole = tree is not None and tree.has_clusters
    model = prepare(table_or_model, records=whole, **options)
    names = tuple(sorted(model.domain.names))  # one order of computation, whatever that of columns
    importance = _of_each(model.domain, names, weights or {}, 1.0, "weights")
    if not ((importance > 0) & np.isfinite(importance)).all():
        msg = "expected positive and finite weights, got a value outside"
        raise InvalidInputError(msg)
    low = _of_each(model.domain, names, minimum, 0.0, "minimum")
    high = _of_each(model.domain, names, maximum, np.inf, "maximum")
    _check_bounds(names, low, high)
    sizes = np.array([model.domain[name].size for name in names], dtype=np.int64)
    if check_size(k) > len(names) and objective == "kway":
        msg = f"expected k from 1 to the number of attributes ({len(names)}), got {k}"
        raise InvalidInputError(msg)
    aim = Objective(objective, sizes, importance, min(int(k), len(names)))
    case = _Case(model, names, method, tree, aim, goal, low, high)
    return _result(case, _solve(case))


@dataclass(frozen=True, eq=False)
class _Case:
    """Checked arguments; arrays are in the order of `names`."""

    model: LeakageModel
    names: tuple[str, ...]
    method: TotalMethod
    tree: DependencyTree | None
    aim: Objective
    target: float
    low: FloatArray
    high: FloatArray

    def named(self, values: FloatArray) -> dict[str, float]:
        """Values by name, in the order of the domain."""
        pairs = dict(zip(self.names, values.tolist(), strict=True))
        return {name: pairs[name] for name in self.model.domain.names}


def _solve(case: _Case) -> FloatArray:
    names, target, low, high = case.names, case.target, case.low, case.high
    totals = case.model.totals(case.method, names=names, tree=case.tree)
    least = totals.values(low)
    worst = int(np.argmax(least))
    if least[worst] > target:
        msg = (
            f"expected a target that the minimum budgets meet, got {target:g}: they leak "
            f"{least[worst]:.6g} nats about {names[worst]!r}, {low[worst]:g} of it through its own "
            "report; lower the minimum budgets or raise the target"
        )
        raise InfeasibleError(msg, names[worst], float(least[worst]))
    if np.isinf(target):
        return high
    if target == 0:
        return low
    # A total is never below the own budget, so no budget can exceed the target.
    problem = Problem(totals, case.aim, target, low, np.maximum(np.minimum(high, target), low))
    return problem.solve() if problem.excess(low) < 0 else low


def _result(case: _Case, epsilon: FloatArray) -> CalibrationResult:
    aim, target, d = case.aim, case.target, len(case.names)
    uniform = np.clip(np.full(d, target / d), case.low, case.high)
    budgets = case.named(epsilon)
    totals = evaluate(case.model, budgets, case.method, tree=case.tree)
    largest = max(totals.values())
    active = tuple(n for n in totals if totals[n] >= target - SLACK)
    close = [n for n in sorted(totals) if totals[n] >= largest - SLACK]
    binding = min(close, key=lambda name: (budgets[name], name))
    parts = totals.parts[binding]
    source = max(parts, key=lambda name: (parts[name], name), default=None)
    if source is not None and parts[source] <= 0:
        source = None
    response = (RESPONSE,) if aim.smaller_is_better else ()
    evidence, tested = _tested(case, budgets, totals)
    low, high = case.named(case.low), case.named(case.high)
    return CalibrationResult(
        domain=case.model.domain,
        target=target,
        method=case.method,
        budgets=budgets,
        totals=totals,
        binding=binding,
        binding_source=source,
        active=active,
        objective=aim.name,
        objective_meaning=aim.sentence,
        objective_value=aim.value(epsilon),
        uniform_budgets=case.named(uniform),
        uniform_value=aim.value(uniform),
        bounds={name: (low[name], high[name]) for name in budgets},
        assumptions=(*totals.assumptions, *tested, *response),
        source=case.model.source,
        evidence=evidence,
    )


def _tested(
    case: _Case, budgets: dict[str, float], totals: TotalLeakage
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Totals by tree against the records: what refutes them, and a sentence on the test."""
    if case.method != "tree":
        return (), ()
    search = budget_evidence(case.model, budgets, totals)
    if search is None:
        return (), (UNTESTED,)
    if search.evidence:
        names = ", ".join(item.about for item in search.evidence)
        return search.evidence, (REFUTED.format(names=names),)
    return (), (STANDS.format(size=search.size),)


def _target(target: float) -> float:
    value = check_epsilon(target, "target")
    if value.ndim:
        msg = f"expected one target, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value)


def _of_each(
    domain: Domain,
    names: tuple[str, ...],
    given: float | Mapping[str, float],
    default: float,
    role: str,
) -> FloatArray:
    if not isinstance(given, Mapping):
        one = check_epsilon(given, role)
        if one.ndim:
            msg = f"expected {role} to be a number or a mapping of column names, got an array"
            raise InvalidInputError(msg)
        return np.full(len(names), float(one))
    for name, value in given.items():
        domain.position(name)
        if check_epsilon(value, f"{role} of {name!r}").ndim:
            msg = f"expected {role} of {name!r} to be a number, got {value!r}"
            raise InvalidInputError(msg)
    return np.array([float(given.get(name, default)) for name in names])


def _check_bounds(names: tuple[str, ...], low: FloatArray, high: FloatArray) -> None:
    for name, least, most in zip(names, low.tolist(), high.tolist(), strict=True):
        if least > most:
            msg = f"expected minimum <= maximum for {name!r}, got {least:g} and {most:g}"
            raise InvalidInputError(msg)
