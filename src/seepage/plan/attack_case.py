"""The arguments of an attack, checked, and the division of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from seepage._entropy import as_generator
from seepage._numeric import FloatArray, IntArray, as_float_array, check_epsilon
from seepage.attack.learned import check_packages
from seepage.collect.collection import CollectionPlan
from seepage.collect.mechanism import Rng
from seepage.errors import InvalidInputError, did_you_mean
from seepage.leakage.tree import DependencyTree
from seepage.plan.attack_setting import Setting
from seepage.plan.randomizing import records_for

AttackerName = Literal["prior", "bayes", "tree", "boosting", "tabtransformer"]
Draw = Literal["held-out", "model"]
Stage = Callable[[str], None]
Step = Callable[[int, int], None]

MAX_ROWS = 200_000
"""Most simulated reports that an attacker learns from."""

LEARNERS = {"boosting", "tabtransformer"}

REASONERS = {"bayes", "tree"}
"""Attackers who need the likelihoods of reports."""

CHECKED = 0.1
"""Share of the training records by which learning is stopped."""


@dataclass(frozen=True, eq=False)
class World:
    """Coded records, or cells of a joint table with their weights."""

    codes: IntArray
    weights: FloatArray | None

    def draw(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw n independent records."""
        if self.weights is None:
            return self.codes[rng.integers(0, len(self.codes), n)]
        return self.codes[rng.choice(len(self.codes), n, p=self.weights / self.weights.sum())]


@dataclass(frozen=True, eq=False)
class Case:
    """Checked arguments, and what is the same for every plan of a sweep.

    `sampled` says that Bayes' rule has to learn the distribution from records and is tried on
    others, so that `learning` and `checking` are filled.
    """

    plan: CollectionPlan
    secret: str
    own_report: bool
    names: tuple[AttackerName, ...]
    world: World
    learning: IntArray
    checking: IntArray
    evaluated: IntArray
    tree: DependencyTree | None
    copies: int
    confidence: float
    seed: int
    stage: Stage
    step: Step
    sampled: bool = False

    def rng(self, purpose: int) -> np.random.Generator:
        """A stream of its own for each purpose, the same for every plan of a sweep."""
        return np.random.default_rng([self.seed, purpose])


def prepare_case(
    setting: Setting,
    table: Any,
    *,
    names: tuple[AttackerName, ...],
    joint: ArrayLike | None,
    tree: DependencyTree | None,
    draw: Draw,
    share: float,
    most: int,
    copies: int,
    confidence: float,
    rng: Rng,
    stage: Stage | None,
    step: Step | None,
    reading: dict[str, Any],
) -> tuple[str, Case]:
    """Check the arguments of `seepage.attack_plan`, read the table and divide its records.

    Returns
    -------
    str
        What was read.
    Case

    Raises
    ------
    SeepageError
        See `seepage.attack_plan`.
    """
    if draw not in get_args(Draw):
        msg = f"expected draw 'held-out' or 'model', got {draw!r}.{did_you_mean(draw, _DRAWS)}"
        raise InvalidInputError(msg)
    if rng is None:
        msg = "expected rng, a numpy.random.Generator or an int: an attack is a simulation"
        raise InvalidInputError(msg)
    check_packages(names)  # before attackers that need none take their time
    if tree is not None and not isinstance(tree, DependencyTree):
        msg = f"expected a DependencyTree, got {type(tree).__name__}"
        raise InvalidInputError(msg)
    generator = as_generator(rng)
    seed = int(generator.integers(0, 2**63))
    order = np.random.default_rng([seed, 0])
    codes, source = None, "a joint table"
    if table is not None:
        coded = records_for(setting.plan, table, **reading)
        codes, source = coded.codes, coded.source
    elif joint is None or draw == "held-out":
        msg = "expected a table, or a joint table and draw 'model', got neither"
        raise InvalidInputError(msg)
    if joint is not None:
        world = _given(setting.plan, joint)
        held = codes
    else:
        world, held = _split(codes, share if draw == "held-out" else 0.0, order)
    if draw == "model":
        evaluated = world.draw(most, order)
    else:
        evaluated = held if held is not None else world.codes
        if len(evaluated) > most:
            evaluated = evaluated[np.sort(order.permutation(len(evaluated))[:most])]
    _check_values(setting, world)
    learning = checking = world.codes[:0]
    sampled = "bayes" in names and joint is None and draw == "held-out"
    sampled = sampled and not setting.one_report and bool(setting.nodes)
    if sampled or LEARNERS & set(names):
        learning, checking = _lessons(setting, world, order)
    case = Case(
        setting.plan, setting.secret, setting.own_report, names, world, learning, checking,
        evaluated, tree, min(copies, max(1, MAX_ROWS // max(1, len(learning)))), confidence, seed,
        stage or (lambda _: None), step or (lambda _done, _total: None), sampled,
    )  # fmt: skip
    return source, case


_DRAWS = get_args(Draw)


def _split(
    codes: IntArray | None, share: float, rng: np.random.Generator
) -> tuple[World, IntArray | None]:
    """Training records, and held-out ones; both keep the order of the table."""
    if codes is None or len(codes) < 2:
        count = 0 if codes is None else len(codes)
        msg = f"expected at least two records, some to train on and some to attack, got {count}"
        raise InvalidInputError(msg)
    if share == 0:
        return World(codes, None), None
    n = len(codes)
    count = min(max(1, round(share * n)), n - 1)
    order = rng.permutation(n)
    held, kept = np.sort(order[:count]), np.sort(order[count:])
    return World(codes[kept], None), codes[held]


def _given(plan: CollectionPlan, joint: ArrayLike) -> World:
    table = as_float_array(joint, "joint")
    if table.shape != plan.domain.shape:
        msg = (
            f"expected a joint table of shape {plan.domain.shape}, an axis for each attribute of "
            f"the plan, got {table.shape}"
        )
        raise InvalidInputError(msg)
    if not ((table >= 0) & np.isfinite(table)).all() or not table.any():
        msg = "expected a joint table of probabilities or counts with some mass, got another"
        raise InvalidInputError(msg)
    # A sum of large numbers may overflow; a power of two rounds nothing.
    table = np.ldexp(table, -int(np.frexp(table.max())[1]))
    return World(np.argwhere(table > 0).astype(np.int64), table[table > 0])


def _check_values(setting: Setting, world: World) -> None:
    found = np.unique(setting.secret_codes(world.codes))
    if len(found) < 2:
        label = setting.plan.domain[setting.secret].categories[int(found[0])]
        msg = (
            f"expected at least two values of {setting.secret!r} to guess among in the training "
            f"records, got {label!r} only"
        )
        raise InvalidInputError(msg)


def _lessons(setting: Setting, world: World, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Records to learn from, and others to stop by."""
    codes = world.codes if world.weights is None else world.draw(MAX_ROWS // 10, rng)
    if len(codes) > MAX_ROWS:
        codes = codes[np.sort(rng.permutation(len(codes))[:MAX_ROWS])]
    order = rng.permutation(len(codes))
    count = int(CHECKED * len(codes))
    learning, checking = codes[order[count:]], codes[order[:count]]
    if count == 0 or len(np.unique(setting.secret_codes(learning))) < 2:
        return codes, codes
    return learning, checking


def attacker_names(attackers: Any) -> tuple[AttackerName, ...]:
    """The attackers asked for, the prior guess first, each once."""
    known: tuple[AttackerName, ...] = get_args(AttackerName)
    if isinstance(attackers, str):
        attackers = (attackers,)
    if not isinstance(attackers, Sequence):
        msg = f"expected a list of attackers, {', '.join(map(repr, known))}, got {attackers!r}"
        raise InvalidInputError(msg)
    for name in attackers:
        if not isinstance(name, str) or name not in known:
            listed = ", ".join(map(repr, known))
            msg = f"expected attackers among {listed}, got {name!r}.{did_you_mean(name, known)}"
            raise InvalidInputError(msg)
    return tuple(dict.fromkeys(("prior", *attackers)))


def epsilon_grid(epsilons: ArrayLike | None) -> list[float]:
    """Different ε in rising order."""
    if epsilons is None:
        return []
    values = np.atleast_1d(check_epsilon(epsilons, "epsilons"))
    if values.ndim != 1:
        msg = f"expected a list of epsilons, got shape {values.shape}"
        raise InvalidInputError(msg)
    return sorted(set(values.tolist()))


def inside(value: Any, name: str) -> float:
    """A number between 0 and 1, ends excluded."""
    checked = as_float_array(value, name)
    if checked.ndim or not 0 < checked < 1:
        msg = f"expected {name} between 0 and 1, got {value!r}"
        raise InvalidInputError(msg)
    return float(checked)


def flag(value: Any) -> bool:
    """Whether own reports are seen: a truth value, not a number."""
    if not isinstance(value, (bool, np.bool_)):
        msg = f"expected own_report True or False, got {value!r}"
        raise InvalidInputError(msg)
    return bool(value)
