"""Free redaction probabilities for every record and state: the best plan found.

For given places of possible release the program of `_program` is solved from a three-region plan;
then the places are moved as long as that releases more. The exact leakage has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import BoolArray, FloatArray, extremes_allowed
from seepage.sequence._families import Choices, Hidden
from seepage.sequence._program import Layout, layout, solve
from seepage.sequence.certified import (
    Candidate,
    Problem,
    candidates,
    certified_table,
    loosen,
    make_problem,
    shrink,
)
from seepage.sequence.chain import MarkovChain
from seepage.sequence.influence import side_influence

STARTS = 4
"""Three-region plans from which the search starts."""

MOVES = 60
"""Most programs that are solved after the starts, divided by their size over 20."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where states may be released along one side: after ``start[v]``, up to `far`."""

    start: tuple[int, ...]
    far: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A solved program."""

    places: tuple[Places, Places]
    table: FloatArray
    released: float


@extremes_allowed
def optimal_table(
    chain: MarkovChain, n: int, position: int, epsilon: float
) -> tuple[FloatArray, bool]:
    """Redaction probabilities of the best plan found, shape (n, k), and whether they are coarse.

    The exact leakage is at most ε, and at least as much is released as by the certified plan.
    Coarse: along a side with many records the probabilities of a state were interpolated between a
    few, so that the plan is the best found in that family.
    """
    best = certified_table(chain, n, position, epsilon)
    if epsilon == 0 or np.isinf(epsilon) or chain.supports(position, position + 1).sum() < 2:
        return best, False
    problem = make_problem(chain, n, position, epsilon)
    search = Search(problem)
    trials = [search.begin(c) for c in candidates(problem, STARTS)]
    found = [t for t in trials if t is not None]
    if not found:
        return best, False
    found.sort(key=lambda t: -t.released)
    final = search.climb(found[0])
    table = loosen(problem, final.table)
    if problem.released(table) > problem.released(best):
        return table, search.coarse
    return best, search.coarse


class Search:
    """Moves of the places of possible release, each tried once.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.allowed = tuple(
            _allowed(hidden, reach, problem.epsilon)
            for hidden, reach in zip(problem.sides, problem.reach, strict=True)
        )
        self.coarse = False
        self._tried: set[tuple[Places, ...] | tuple[tuple[int, ...], ...]] = set()

    def begin(self, candidate: Candidate) -> Trial | None:
        """Solve from a three-region plan."""
        places, tables = [], []
        for side in range(2):
            choice = candidate.left if side == 0 else candidate.right
            one, table = self._start(side, choice)
            places.append(one)
            tables.append(table)
        return self._solve((places[0], places[1]), (tables[0], tables[1]))

    def climb(self, trial: Trial) -> Trial:
        """Move places while that releases more."""
        sizes = sum(p.far - min(p.start, default=0) for p in trial.places)
        left = max(int(MOVES / max(sizes / 20, 1.0)), 8)
        step = max(sizes // 24, 1)
        improved = True
        while left > 0 and (improved or step > 1):
            if not improved:
                step = max(step // 2, 1)
            improved = False
            for places in self._neighbours(trial.places, step):
                if left <= 0:
                    break
                key = tuple((*p.start, p.far) for p in places)
                if key in self._tried:
                    continue
                self._tried.add(key)
                left -= 1
                tables = self._tables(trial)
                other = self._solve(places, tables)
                if other is not None and other.released > trial.released + 1e-9:
                    trial, improved = other, True
                    break
        return trial

    def _start(self, side: int, choice: Choices) -> tuple[Places, FloatArray]:
        near, far = int(choice.near[0]), int(choice.far[0])
        shown, r = choice.shown[0], float(choice.redact[0])
        hidden = self.problem.sides[side]
        if far > self.problem.reach[side]:  # the whole side, with nothing to set beyond the reach
            table = np.ones((hidden.length, hidden.k))
            table[near:far, shown] = r
            return Places(tuple(near if s else far for s in shown), far), table
        table = np.ones((far, hidden.k))
        table[near:, shown] = r
        return Places(tuple(near if s else far for s in shown), far), table

    def _tables(self, trial: Trial) -> tuple[FloatArray, FloatArray]:
        p = self.problem.position
        return trial.table[:p][::-1], trial.table[p + 1 :]

    def _layout(self, side: int, places: Places) -> Layout:
        hidden, allowed = self.problem.sides[side], self.allowed[side]
        if places.far > allowed.shape[0]:
            rest = np.zeros((places.far - allowed.shape[0], hidden.k), dtype=bool)
            allowed = np.concatenate([allowed, rest])
        return layout(hidden, np.array(places.start), places.far, allowed)

    def _solve(
        self, places: tuple[Places, Places], tables: tuple[FloatArray, FloatArray]
    ) -> Trial | None:
        problem = self.problem
        self._tried.add(tuple((*p.start, p.far) for p in places))
        one, other = (self._layout(side, places[side]) for side in range(2))
        self.coarse = self.coarse or one.coarse or other.coarse
        begin = [
            lay.fit(_resized(table, lay.far))
            for lay, table in zip((one, other), tables, strict=True)
        ]
        found = solve(one, other, problem.epsilon, (begin[0], begin[1]))
        if found is None:
            return None
        table = shrink(problem, problem.table(one.table(found[0]), other.table(found[1])))
        return None if table is None else Trial(places, table, problem.released(table))

    def _neighbours(self, places: tuple[Places, Places], step: int) -> list[tuple[Places, Places]]:
        result = []
        for side in range(2):
            here = places[side]
            reach = self.problem.reach[side]
            options = [_moved(here, far=here.far + by) for by in (step, -step) if here.far <= reach]
            for v in range(len(here.start)):
                options += [_moved(here, state=(v, here.start[v] + by)) for by in (-step, step)]
            for option in options:
                if option is None or not 0 <= option.far <= reach:
                    continue
                result.append((option, places[1]) if side == 0 else (places[0], option))
        return result


def _moved(
    places: Places, *, far: int | None = None, state: tuple[int, int] | None = None
) -> Places | None:
    """Places with another end, or another start for one state; None when they stay the same."""
    end = places.far if far is None else far
    start = list(places.start)
    for v, begin in enumerate(start):
        if begin >= places.far:  # not released at all before the end
            start[v] = end
    if state is not None:
        start[state[0]] = state[1]
    start = [min(max(s, 0), max(end, 0)) for s in start]
    moved = Places(tuple(start), end)
    return None if (moved.start, moved.far) == (places.start, places.far) else moved


def _allowed(hidden: Hidden, reach: int, epsilon: float) -> BoolArray:
    """Where a release alone does not tell too much (no mechanism can release there otherwise)."""
    found = side_influence(hidden.side, reach, hidden.present).pointwise
    law = hidden.law
    rows = law[np.newaxis] if law.ndim == 1 else law[:reach]
    return np.asarray((found <= epsilon) & (rows > 0))


def _resized(table: FloatArray, far: int) -> FloatArray:
    """The first `far` rows; records that were released for sure start near it."""
    rows = np.minimum(table[:far], 1.0)
    if rows.shape[0] < far:
        rows = np.concatenate([rows, np.full((far - rows.shape[0], table.shape[1]), 0.5)])
    return np.clip(rows, 0.02, 1.0)
