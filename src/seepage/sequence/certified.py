"""The three-region form with probabilities chosen by its exact leakage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, IntArray, extremes_allowed
from seepage.sequence._families import Choices, Hidden, evaluate, side_table
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import side_influence
from seepage.sequence.leakage import redaction_leakage, sides
from seepage.sequence.windows import best_window, window_table

NEAR, FAR, PROBABILITIES = 24, 40, 24
"""How many ends of the first and of the middle region, and probabilities, are tried at most."""

BINS = 20
"""Choices of a side are thinned to the best in each of so many steps of leakage, by direction."""

MOST_REACH = 4096
"""Redaction with probabilities is not considered further from the hidden record than this."""

MARGIN = 1e-12
"""How far below ε, relatively, the search aims; the last word has the exact leakage."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A three-region plan: one choice for either side."""

    left: Choices
    right: Choices
    released: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A hidden record in a known chain.

    Attributes
    ----------
    chain : MarkovChain
    n, position : int
    epsilon : float
        In (0, ∞).
    sides : tuple of Hidden
        Left and right.
    reach : tuple of int
        How far from the hidden record redaction is considered on either side.
    """

    chain: MarkovChain
    n: int
    position: int
    epsilon: float
    sides: tuple[Hidden, Hidden]
    reach: tuple[int, int]

    def table(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Redaction probabilities of all records from those of the sides, by distance."""
        own = np.ones((1, self.chain.k))
        return np.concatenate([left[::-1], own, right])

    def leakage(self, redact: FloatArray) -> float:
        """Exact leakage."""
        return redaction_leakage(self.chain, redact, self.position).value

    def released(self, redact: FloatArray) -> float:
        """Expected number of released records."""
        law = self.chain.marginals(0, self.n)
        return float((law * (1 - redact)).sum())


def make_problem(chain: MarkovChain, n: int, position: int, epsilon: float) -> Problem:
    """Lay out the two sides and decide how far redaction may reach."""
    present = chain.supports(position, position + 1)[0]
    left, right = sides(chain, position, n)
    if chain.is_stationary:
        laws = chain.start, chain.start
    else:
        law = chain.marginals(0, n)
        laws = law[:position][::-1], law[position + 1 :]
    hidden = Hidden(left, laws[0], present), Hidden(right, laws[1], present)
    window = best_window(chain, n, position, epsilon)
    reach = [_reach(side, epsilon, max(window)) for side in hidden]
    return Problem(chain, n, position, epsilon, hidden, (reach[0], reach[1]))


def _reach(hidden: Hidden, epsilon: float, window: int) -> int:
    """Distance at which little is left to hide, or three windows of the data-independent kind."""
    most = min(hidden.length, 3 * window + 8, MOST_REACH)
    if most == 0:
        return 0
    below = side_influence(hidden.side, most, hidden.present).maximum <= epsilon / 8
    return int(np.argmax(below)) if below.any() else most


@extremes_allowed
def certified_table(chain: MarkovChain, n: int, position: int, epsilon: float) -> FloatArray:
    """Redaction probabilities of the best three-region plan found, shape (n, k).

    Its exact leakage is at most ε, and it releases at least as much as the best window.
    """
    window = window_table(n, chain.k, position, *best_window(chain, n, position, epsilon))
    if epsilon == 0 or np.isinf(epsilon) or chain.supports(position, position + 1).sum() < 2:
        return window
    problem = make_problem(chain, n, position, epsilon)
    best, most = window, problem.released(window)
    for candidate in candidates(problem, 2):
        table = polish(problem, candidate)
        if table is not None and problem.released(table) > most:
            best, most = table, problem.released(table)
    return best


def candidates(problem: Problem, count: int) -> list[Candidate]:
    """The best combinations of choices for the two sides, best first.

    Where regions may reach far, their ends are tried at a distance from each other first, then
    more and more closely around the best and around the best window.
    """
    window = best_window(problem.chain, problem.n, problem.position, problem.epsilon)
    spots: list[IntArray] = [np.zeros(0, dtype=np.int64)] * 2
    tried = [
        _choices(hidden, reach, problem.epsilon)
        for hidden, reach in zip(problem.sides, problem.reach, strict=True)
    ]
    found = _best_pairs(problem, tried[0], tried[1], count)
    spacing = max(problem.reach) / NEAR
    while spacing > 1 and found:
        offsets = np.unique(np.round(np.linspace(-spacing, spacing, 7)).astype(np.int64))
        for side in range(2):
            ends = [window[side]]
            for one in found[:2]:
                choice = one.right if side else one.left
                ends += [int(choice.near[0]), int(choice.far[0])]
            spots[side] = np.unique(np.add.outer(np.unique(ends), offsets))
            more = _choices(problem.sides[side], problem.reach[side], problem.epsilon, spots[side])
            tried[side] = _thin(Choices.join([tried[side], more]), problem.epsilon)
        found = _best_pairs(problem, tried[0], tried[1], count)
        spacing /= 3
    return found


def _best_pairs(problem: Problem, left: Choices, right: Choices, count: int) -> list[Candidate]:
    """The best pairs with different regions, best first."""
    target = problem.epsilon * (1 - MARGIN)
    fits = (left.ratio[:, np.newaxis, :] + right.ratio[np.newaxis, :, :]).max(axis=2) <= target
    total = left.released[:, np.newaxis] + right.released[np.newaxis, :]
    total = np.where(fits, total, -np.inf)
    found: list[Candidate] = []
    while len(found) < count:
        best = int(np.argmax(total))
        value = float(total.flat[best])
        if value == -np.inf:
            break
        i, j = divmod(best, right.near.size)
        one = Candidate(left.take(np.array([i])), right.take(np.array([j])), value)
        found.append(one)
        total[np.ix_(_alike(left, i), _alike(right, j))] = -np.inf
    return found


def _alike(choices: Choices, i: int) -> IntArray:
    """Choices with the same regions as number i."""
    same = (choices.near == choices.near[i]) & (choices.far == choices.far[i])
    return np.flatnonzero(same & (choices.shown == choices.shown[i]).all(axis=1))


def _choices(hidden: Hidden, reach: int, epsilon: float, spots: IntArray | None = None) -> Choices:
    """Thinned choices of one side, with regions that end at `spots` or spread evenly."""
    parts = [_whole(hidden)]
    redact = np.linspace(0, 1, PROBABILITIES + 1)[1:] ** 1.5
    if reach == 0:
        near = far = np.array([0])
        shown = np.zeros(hidden.k, dtype=bool)
        if hidden.length:
            parts.append(evaluate(hidden, shown, near, np.zeros(1), far))
        return Choices.join(parts)
    influence = side_influence(hidden.side, reach, hidden.present).pointwise
    for shown in middle_states(hidden, reach):
        # A release that tells more than ε by itself is in no plan.
        first, clear = (
            _first(np.asarray((influence[:, states] <= epsilon).all(axis=1)))
            for states in (shown, slice(None))
        )
        near, far = (
            _spaced(least, reach, most) if spots is None else _within(spots, least, reach)
            for least, most in ((first, NEAR), (clear, FAR))
        )
        if not near.size or not far.size:
            continue
        if reach < hidden.length <= 2 * reach:
            far = np.append(far, hidden.length)
        parts.append(evaluate(hidden, shown, near, 1 - redact[::-1], far))
    found = Choices.join(parts)
    return _thin(found.take(np.flatnonzero(found.ratio.max(axis=1) <= epsilon)), epsilon)


def _first(allowed: BoolArray) -> int:
    """Records before the first that is allowed."""
    return int(np.argmax(allowed)) if allowed.any() else allowed.size


def _whole(hidden: Hidden) -> Choices:
    """Redacting the side whole, which leaks nothing and is always among the choices."""
    pairs = hidden.pairs[0].size
    one = np.array([hidden.length])
    return Choices(
        np.zeros((1, hidden.k), dtype=bool), one, one, np.ones(1), np.zeros((1, pairs)), np.zeros(1)
    )


def middle_states(hidden: Hidden, reach: int) -> list[BoolArray]:
    """Sets of states to release now and then: those of least influence, for every number."""
    if hidden.length == 0:
        return []
    d = max(min(reach, hidden.length), 1)
    spots = range(1, d + 1)
    law = np.mean([hidden.law_at(t) for t in spots[:: max(d // 16, 1)]], axis=0)
    possible = np.flatnonzero(law > 0)
    levels = np.minimum(side_influence(hidden.side, d, hidden.present).pointwise, 1e3).mean(axis=0)
    order = possible[np.lexsort((-law[possible], levels[possible]))]
    sets = []
    for size in range(1, max(order.size, 2)):
        shown = np.zeros(hidden.k, dtype=bool)
        shown[order[:size]] = True
        sets.append(shown)
    return sets


def _thin(choices: Choices, epsilon: float) -> Choices:
    """The most useful choice in each cell of leakage; two directions are told apart."""
    half = choices.ratio.shape[1] // 2
    # Pairs (x, x') with x < x' and the others: for two states these are the two directions.
    first = np.maximum(choices.ratio[:, :half].max(axis=1), 0.0)
    second = np.maximum(choices.ratio[:, half:].max(axis=1), 0.0)
    cells = [np.minimum((v / epsilon * BINS).astype(int), BINS) for v in (first, second)]
    label = cells[0] * (BINS + 1) + cells[1]
    order = np.lexsort((-choices.released, label))
    keep = order[np.r_[True, np.diff(label[order]) > 0]]
    return choices.take(keep)


def _spaced(least: int, most: int, count: int) -> IntArray:
    """Distances `least` to `most`, thinned to about `count`."""
    if most - least < count:
        return np.arange(least, most + 1)
    return np.unique(np.round(np.linspace(least, most, count)).astype(np.int64))


def _within(spots: IntArray, least: int, most: int) -> IntArray:
    """Those of the distances that are allowed, both ends among them where a spot lies beyond."""
    return np.unique(np.clip(spots, least, most)) if least <= most else spots[:0]


def polish(problem: Problem, candidate: Candidate) -> FloatArray | None:
    """Best probabilities for given regions, with the exact leakage at most ε; None if none is."""
    target = problem.epsilon * (1 - MARGIN)
    chosen = [candidate.left, candidate.right]
    widths = [np.array([0.15, 0.02, 0.002, 0.0002, 2e-5])] * 2
    for step in range(5):
        options = []
        for hidden, choice, width in zip(problem.sides, chosen, widths, strict=True):
            middle = choice.far[0] > choice.near[0]
            if not middle:
                options.append(choice)
                continue
            r = float(choice.redact[0])
            grid = np.unique(
                np.clip(r + width[step] * np.linspace(-1, 1, 41), 0.0, np.nextafter(1.0, 0.0))
            )
            options.append(evaluate(hidden, choice.shown[0], choice.near, grid, choice.far))
        total = options[0].released[:, np.newaxis] + options[1].released[np.newaxis, :]
        ratio = options[0].ratio[:, np.newaxis, :] + options[1].ratio[np.newaxis, :, :]
        total = np.where(ratio.max(axis=2) <= target, total, -np.inf)
        best = int(np.argmax(total))
        if total.flat[best] == -np.inf:
            break
        i, j = divmod(best, options[1].near.size)
        chosen = [options[0].take(np.array([i])), options[1].take(np.array([j]))]
    tables = [
        side_table(hidden, c.shown[0], int(c.near[0]), int(c.far[0]), float(c.redact[0]))
        for hidden, c in zip(problem.sides, chosen, strict=True)
    ]
    return shrink(problem, problem.table(tables[0], tables[1]))


LOOSEST = 1e-6
"""Largest share by which `loosen` lowers probabilities of redaction."""

LOOSENINGS = 30


def shrink(problem: Problem, table: FloatArray) -> FloatArray | None:
    """Redact a little more until the exact leakage is at most ε; None if that does not help.

    Redacting more is a processing of what is released, so leakage falls along the way; only
    records that are never released keep it from falling to 0.
    """
    if problem.leakage(table) <= problem.epsilon:
        return table
    loose, tight = 0.0, None
    step = 1e-12
    while step < 1:
        moved = np.where(table > 0, table + step * (1 - table), table)
        if problem.leakage(moved) <= problem.epsilon:
            tight = step
            break
        loose, step = step, 8 * step
    if tight is None:
        return None
    for _ in range(12):
        middle = (loose + tight) / 2
        moved = np.where(table > 0, table + middle * (1 - table), table)
        if problem.leakage(moved) <= problem.epsilon:
            tight = middle
        else:
            loose = middle
    return np.asarray(np.where(table > 0, table + tight * (1 - table), table))


def loosen(problem: Problem, table: FloatArray) -> FloatArray:
    """Redact a little less while the exact leakage stays at most ε.

    For a plan whose search stopped just short of ε. Redaction for sure stays.
    """
    best, step = table, LOOSEST
    low, high = 0.0, LOOSEST
    for _ in range(LOOSENINGS):
        moved = np.where(table < 1, table * (1 - step), table)
        if problem.leakage(moved) <= problem.epsilon:
            best, low = moved, step
            if step == LOOSEST:
                break
        else:
            high = step
        step = (low + high) / 2
    return np.asarray(best)
