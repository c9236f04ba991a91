"""Markov chains over labelled states: laws, powers, reversal, simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from seepage._entropy import as_generator
from seepage._numeric import (
    BoolArray,
    FloatArray,
    IntArray,
    as_float_array,
    check_conditional,
    check_distribution,
    check_size,
    freeze,
)
from seepage.errors import CapacityError, DomainError, InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from seepage.sequence.fit import FittedChain


CELLS = 40_000_000
"""Largest n·k² for which the records of a sequence are listed."""


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A time-homogeneous Markov chain.

    Parameters
    ----------
    transition : array-like of float, shape (k, k)
        ``P[i, j] = p(next = j | state = i)``.
    initial : array-like of float, shape (k,), optional
        Law of the first record; None: the stationary law, so that every record has the same.
    states : sequence of hashable, optional
        Labels of the states, in the order of `transition`; 0 to k − 1 when left out.

    Raises
    ------
    InvalidInputError
        If a table is no law, shapes differ, labels repeat, or no start is given to a chain with
        more than one stationary law.

    Examples
    --------
    >>> chain = MarkovChain.binary(0.25, 0.5)
    >>> chain.stationary.round(4).tolist()
    [0.6667, 0.3333]
    """

    transition: FloatArray
    initial: FloatArray | None = None
    states: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        P = check_conditional(self.transition, "transition")
        k = P.shape[0]
        if P.shape != (k, k):
            msg = f"expected transition to be a square table, got shape {P.shape}"
            raise InvalidInputError(msg)
        object.__setattr__(self, "transition", freeze(P / P.sum(axis=1, keepdims=True)))
        object.__setattr__(self, "states", check_states(self.states, k))
        if self.initial is not None:
            start = check_distribution(self.initial, "initial")
            if start.shape != (k,):
                msg = f"expected initial to have {k} probabilities, got {start.size}"
                raise InvalidInputError(msg)
            object.__setattr__(self, "initial", freeze(start / start.sum()))
        else:
            _ = self.stationary  # raises now when there is more than one law

    @classmethod
    def binary(cls, alpha: float, beta: float) -> MarkovChain:
        """Stationary chain on {0, 1} with p(0 → 1) = `alpha` and p(1 → 0) = `beta`.

        Raises
        ------
        InvalidInputError
            If a probability is outside [0, 1], or both are 0.
        """
        a, b = (_probability(x, name) for x, name in ((alpha, "alpha"), (beta, "beta")))
        if a == b == 0:
            msg = "expected alpha or beta above 0, got 0 and 0: such a chain has no single law"
            raise InvalidInputError(msg)
        if abs(a + b - 1) < 4e-16:  # independent records: equal rows, not equal up to rounding
            return cls(np.array([[1 - a, a], [1 - a, a]]))
        return cls(np.array([[1 - a, a], [b, 1 - b]]))

    @classmethod
    def fit(
        cls,
        sequences: Sequence[Any] | Iterable[Sequence[Any]],
        *,
        states: Sequence[Any] | None = None,
        smoothing: float = 0.0,
        start: str = "stationary",
    ) -> FittedChain:
        """Estimate from one sequence or several; see `seepage.sequence.fit.fit_chain`."""
        from seepage.sequence.fit import fit_chain

        return fit_chain(sequences, states=states, smoothing=smoothing, start=start)

    @property
    def k(self) -> int:
        """Number of states."""
        return int(self.transition.shape[0])

    @cached_property
    def stationary(self) -> FloatArray:
        """The stationary law, shape (k,); states that are left for good have probability 0.

        Raises
        ------
        InvalidInputError
            If the chain has more than one.
        """
        reach = _reachable(self.transition)
        closed = (reach <= reach.T).all(axis=1)  # i cannot leave without a way back
        members = np.flatnonzero(closed)
        if not reach[np.ix_(members, members)].all():
            msg = (
                "expected a chain with one stationary law, got one whose states "
                f"{self.states[members[0]]!r} and others never meet; give initial="
            )
            raise InvalidInputError(msg)
        law = np.zeros(self.k)
        law[members] = _eliminate(self.transition[np.ix_(members, members)])
        return freeze(law)

    @property
    def is_stationary(self) -> bool:
        """Whether every record has the same law."""
        if self.initial is None:
            return True
        # Up to rounding, but a state that cannot come first must stay one.
        after = self.initial @ self.transition
        return bool(np.allclose(after, self.initial, rtol=1e-13, atol=0))

    @property
    def start(self) -> FloatArray:
        """Law of the first record, shape (k,)."""
        return self.stationary if self.initial is None else self.initial

    def marginal(self, position: int) -> FloatArray:
        """Law of one record, shape (k,); `position` counts from 0."""
        p = _whole(position, "position")
        return np.asarray(self.marginals(p, p + 1)[0])

    def marginals(self, first: int, last: int) -> FloatArray:
        """Laws of records `first` to `last` − 1, shape (last − first, k)."""
        begin = _whole(first, "first")
        size = check_length(max(_whole(last, "last") - begin, 0), self.k)
        if self.is_stationary:
            return np.asarray(np.broadcast_to(self.start, (size, self.k)))
        law = self.start @ self.power(begin)
        block = int(np.ceil(np.sqrt(size))) if size else 0
        # Steps within a block for all blocks at once, so that a million records take a moment.
        steps = np.empty((block, self.k, self.k))
        starts = np.empty((block, self.k))
        step = np.eye(self.k)
        for j in range(block):
            steps[j] = step
            step = step @ self.transition
        for j in range(block):
            starts[j] = law / law.sum()
            law = starts[j] @ step
        rows = np.einsum("bi,jik->bjk", starts, steps).reshape(-1, self.k)[:size]
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def supports(self, first: int, last: int) -> BoolArray:
        """Which states can occur at records `first` to `last` − 1, shape (last − first, k).

        By reachability, not by the law: that of a state which is left for good underflows.
        """
        begin = _whole(first, "first")
        size = check_length(max(_whole(last, "last") - begin, 0), self.k)
        if self.is_stationary:
            return np.asarray(np.broadcast_to(self.start > 0, (size, self.k)))
        step = (self.transition > 0).astype(np.int64)
        now = self.start > 0
        found, seen = [now], {now.tobytes(): 0}
        while len(found) < begin + size:  # the sets of states repeat after a while
            now = now @ step > 0
            back = seen.setdefault(now.tobytes(), len(found))
            if back < len(found):
                break
            found.append(now)
        else:
            back = 0
        t = np.arange(begin, begin + size)
        period = len(found) - back
        return np.array(found)[np.where(t < len(found), t, back + (t - back) % period)]

    def power(self, distance: int) -> FloatArray:
        """``P^distance``, shape (k, k): transitions over several steps; `distance` is 0 or more."""
        d = _whole(distance, "distance")
        result, square = np.eye(self.k), self.transition
        while d:
            if d & 1:
                result = _rows(result @ square)
            d >>= 1
            square = _rows(square @ square)
        return np.array(result)

    def powers(self, distances: ArrayLike) -> FloatArray:
        """``P^d`` for several d, shape (len(distances), k, k).

        By repeated squaring: no subtraction, so that the smallest probability keeps its digits.

        Parameters
        ----------
        distances : array-like of int
            0 or more, in one dimension.
        """
        d = as_float_array(distances, "distances")
        whole = np.asarray(distances)
        if d.ndim != 1 or (d.size and (whole.dtype.kind not in "iu" or (d < 0).any())):
            msg = f"expected distances to be a list of whole numbers, 0 or more, got {distances!r}"
            raise InvalidInputError(msg)
        left = whole.astype(np.uint64)
        result = np.broadcast_to(np.eye(self.k), (d.size, self.k, self.k)).copy()
        square = self.transition
        one = np.uint64(1)
        while (left > 0).any():
            odd = (left & one) > 0
            result[odd] = _rows(result[odd] @ square)
            left = left >> one
            square = _rows(square @ square)
        return result

    def reversed(self) -> MarkovChain:
        """Return the chain read backwards, ``p(previous = j | state = i) = π_j·P_ji/π_i``.

        Raises
        ------
        InvalidInputError
            If the chain is not stationary.
        """
        if not self.is_stationary:
            msg = "expected a stationary chain: another one read backwards changes with time"
            raise InvalidInputError(msg)
        return MarkovChain(backward_kernel(self.transition, self.start), self.initial, self.states)

    def simulate(
        self, n: int, count: int | None = None, *, rng: np.random.Generator | int
    ) -> IntArray:
        """Draw codes of states, shape (n,), or (count, n) when `count` is given.

        Parameters
        ----------
        n : int
            Length, 1 or more.
        count : int, optional
            Number of independent sequences.
        rng : numpy.random.Generator or int
        """
        length, many = check_size(n, "n"), 1 if count is None else check_size(count, "count")
        check_length(length * many, 1)
        draw = as_generator(rng)
        codes = np.empty((many, length), dtype=np.int64)
        codes[:, 0] = _draw(np.broadcast_to(np.cumsum(self.start), (many, self.k)), draw)
        cumulative = np.cumsum(self.transition, axis=1)
        for t in range(1, length):
            codes[:, t] = _draw(cumulative[codes[:, t - 1]], draw)
        return codes[0] if count is None else codes

    def encode(self, sequence: Sequence[Any]) -> IntArray:
        """Return the position of every label among the states, shape (n,).

        Raises
        ------
        DomainError
            If a value is none of the states (a null or a NaN never is).
        """
        return encode(sequence, self.states)


def encode(sequence: Sequence[Any], states: tuple[Any, ...]) -> IntArray:
    """Return the position of every label in `states`, shape (n,)."""
    if isinstance(sequence, (str, bytes)) or not isinstance(sequence, Iterable):
        msg = f"expected a sequence of states, got {sequence!r}"
        raise InvalidInputError(msg)
    items = sequence.tolist() if isinstance(sequence, np.ndarray) else list(sequence)
    where = {_key(state): i for i, state in enumerate(states)}
    codes = np.empty(len(items), dtype=np.int64)
    for t, item in enumerate(items):
        try:
            code = where.get(_key(item), -1)
        except TypeError:
            code = -1
        if code < 0:
            msg = f"expected one of the states, got {item!r} at position {t}."
            raise DomainError(msg + did_you_mean(item, states))
        codes[t] = code
    return codes


def is_missing(label: Any) -> bool:
    """Whether a label is None or NaN."""
    return label is None or (isinstance(label, float) and math.isnan(label))


def _key(label: Any) -> Any:
    """Labels that differ in kind differ: True is not 1, and "1" is not 1."""
    if isinstance(label, np.generic):
        label = label.item()
    return (isinstance(label, bool), label)


def backward_kernel(transition: FloatArray, law: FloatArray) -> FloatArray:
    """``K[u, v] = p(previous = v | state = u)`` when the previous record has law `law`.

    Shapes (k, k) and (k,) or, for many records at once, (m, k). Rows of states that cannot occur
    are zero.
    """
    joint = law[..., :, np.newaxis] * transition
    total = joint.sum(axis=-2)
    kernel = np.swapaxes(joint, -1, -2) / np.where(total > 0, total, 1.0)[..., :, np.newaxis]
    sums = kernel.sum(axis=-1, keepdims=True)
    if kernel.ndim == 2 and (sums == 0).any():
        kernel = np.where(sums > 0, kernel, law)  # any law will do: such a row is never used
        sums = kernel.sum(axis=-1, keepdims=True)
    return np.asarray(kernel / np.where(sums > 0, sums, 1.0))


def check_states(states: Sequence[Any], k: int) -> tuple[Any, ...]:
    """Return `k` labels of states, all different and none missing; 0 to k − 1 when empty."""
    if isinstance(states, (str, bytes)):
        msg = f"expected a sequence of states, got {states!r}"
        raise InvalidInputError(msg)
    labels = tuple(
        x.item() if isinstance(x, np.generic) else x for x in (states if len(states) else range(k))
    )
    if len(labels) != k:
        msg = f"expected {k} states, as transition has rows, got {len(labels)}"
        raise InvalidInputError(msg)
    try:
        different = len({_key(x) for x in labels})
    except TypeError as error:
        msg = f"expected states that can be compared, got {labels!r}"
        raise InvalidInputError(msg) from error
    if different < k or any(is_missing(x) for x in labels):
        msg = f"expected different states, none of them missing, got {labels!r}"
        raise InvalidInputError(msg)
    return labels


def check_length(n: int, k: int) -> int:
    """Return `n` where a table of `n` records and `k` states fits.

    Raises
    ------
    CapacityError
        If it does not.
    """
    if n * k * k > CELLS:
        size = 8 * n * k * k / 1e9
        msg = (
            f"expected at most {CELLS // (k * k):,} records for {k} states, got {n:,}: each of "
            f"several tables would take about {size:,.1f} GB"
        )
        raise CapacityError(msg)
    return n


def _rows(table: FloatArray) -> FloatArray:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _whole(value: int, name: str) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < 0:
        msg = f"expected {name} to be a whole number, 0 or more, got {value!r}"
        raise InvalidInputError(msg)
    return int(value)


def _probability(value: float, name: str) -> float:
    array = as_float_array(value, name)
    if array.ndim or not 0 <= array <= 1:
        msg = f"expected {name} in [0, 1], got {value!r}"
        raise InvalidInputError(msg)
    return float(array)


def _reachable(transition: FloatArray) -> Any:
    """Whether j can follow i after some number of steps (0 counts)."""
    reach = (transition > 0) | np.eye(transition.shape[0], dtype=bool)
    while True:
        further = (reach.astype(np.float64) @ reach) > 0
        if np.array_equal(further, reach):
            return reach
        reach = further


def _eliminate(transition: FloatArray) -> FloatArray:
    """Stationary law of an irreducible chain by state reduction: no subtraction, no cancellation.

    Grassmann, Taksar and Heyman, Operations Research 33 (1985).
    """
    A = transition.copy()
    k = A.shape[0]
    for n in range(k - 1, 0, -1):
        out = A[n, :n].sum()
        A[:n, n] /= out
        A[:n, :n] += np.outer(A[:n, n], A[n, :n])
    law = np.zeros(k)
    law[0] = 1.0
    for n in range(1, k):
        law[n] = law[:n] @ A[:n, n]
    return np.asarray(law / law.sum())


def _draw(cumulative: FloatArray, rng: np.random.Generator) -> IntArray:
    """One category for each row of cumulative probabilities."""
    u = rng.random((cumulative.shape[0], 1)) * cumulative[:, -1:]
    return np.asarray((u >= cumulative).sum(axis=1), dtype=np.int64)
