"""What can be read off any trade-off curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, check_epsilon, check_probability, like_input
from seepage.errors import InvalidInputError
from seepage.results import Standing
from seepage.tradeoff._common import HYPOTHESES, check_count, one_number
from seepage.tradeoff._constructors import Constructors

if TYPE_CHECKING:
    from seepage.tradeoff.piecewise import PiecewiseLinear

__all__ = ["Failure", "TradeOff", "one_number"]

Failure = Literal["none", "graceful", "catastrophic"]


@dataclass(frozen=True, eq=False)
class TradeOff(Constructors, ABC):
    """The largest power of a test at every false-alarm rate.

    Build one with `from_distributions`, `envelope`, `of_channel`, `laplace`, `gaussian`,
    `approximate_dp`, `uniform_sampling`, `from_vertices` or `from_profile`.

    Parameters
    ----------
    adjacency : str
        In words, what the two hypotheses differ in: "add or remove one record", "replace one
        record", "one attribute of one record", or whatever the caller names.
    standing : Standing
        ``exact``; ``upper`` when no power is understated; ``lower`` when none is overstated.
    error : float
        No power is off by more than this; 0 when exact; ∞ when not known.
    assumptions : tuple of str
        Sentences.
    """

    adjacency: str = field(default=HYPOTHESES, kw_only=True)
    standing: Standing = field(default=Standing.EXACT, kw_only=True)
    error: float = field(default=0.0, kw_only=True)
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, str) or not self.adjacency.strip():
            msg = f"expected adjacency as words, got {self.adjacency!r}"
            raise InvalidInputError(msg)

    # ---------------------------------------------------------------- what a curve supplies

    @abstractmethod
    def _power(self, alpha: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _beta(self, alpha: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _false_alarms(self, power: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _leakage(self, epsilon: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _delta(self, epsilon: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _epsilon(self, delta: FloatArray) -> FloatArray: ...

    @property
    @abstractmethod
    def _first_ratio(self) -> float:
        """Limit of α/power as α → 0: the inverse of the relative risk; may underflow to 0."""

    @property
    @abstractmethod
    def total_variation(self) -> float:
        """Total variation distance: the largest power − α. Also the advantage of an attacker."""

    @property
    @abstractmethod
    def area(self) -> float:
        """Area under the curve of power against α, in [0.5, 1]."""

    @property
    @abstractmethod
    def failure(self) -> Failure:
        """How protection fails (privacy-utility paper, Table 1).

        ``catastrophic`` when some outcome proves the alternative (power(0) > 0); ``graceful`` when
        the relative risk is unbounded all the same; ``none`` when it is bounded.
        """

    @property
    def vertices(self) -> FloatArray | None:
        """Vertices (α, power), shape (m, 2), by ascending α; None for a smooth curve."""
        return None

    # ---------------------------------------------------------------- readings

    @overload
    def power(self, alpha: float) -> float: ...
    @overload
    def power(self, alpha: ArrayLike) -> FloatArray: ...
    def power(self, alpha: ArrayLike) -> float | FloatArray:
        """Largest power of a test with false-alarm rate `alpha` in [0, 1]."""
        return like_input(self._power(check_probability(alpha, "alpha")), alpha)

    @overload
    def beta(self, alpha: float) -> float: ...
    @overload
    def beta(self, alpha: ArrayLike) -> FloatArray: ...
    def beta(self, alpha: ArrayLike) -> float | FloatArray:
        """Smallest type II error at type I error `alpha`: the trade-off function f of f-DP."""
        return like_input(self._beta(check_probability(alpha, "alpha")), alpha)

    @overload
    def false_alarms(self, power: float) -> float: ...
    @overload
    def false_alarms(self, power: ArrayLike) -> FloatArray: ...
    def false_alarms(self, power: ArrayLike) -> float | FloatArray:
        """Smallest false-alarm rate of a test with this `power` in [0, 1]: the inverse curve."""
        return like_input(self._false_alarms(check_probability(power, "power")), power)

    @overload
    def leakage(self, epsilon: float) -> float: ...
    @overload
    def leakage(self, epsilon: ArrayLike) -> FloatArray: ...
    def leakage(self, epsilon: ArrayLike) -> float | FloatArray:
        """Leakage through the best ε-LDP mechanism applied to the outcome.

        ``L(ε) = max over α of ln(1 + t·power) − ln(1 + t·α)``, ``t = e^ε − 1``. It is the one
        solution of ``e^L − 1 = t·δ(L)`` with δ the privacy profile.

        Parameters
        ----------
        epsilon : float or array-like of float
            In [0, ∞].

        Returns
        -------
        float or array of float
            In nats, in [0, ε], of the shape of `epsilon`.

        Raises
        ------
        InvalidInputError
            If `epsilon` is negative, NaN or not a number.
        """
        return like_input(self._leakage(check_epsilon(epsilon)), epsilon)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> FloatArray: ...
    def delta(self, epsilon: ArrayLike) -> float | FloatArray:
        """Smallest δ with (ε, δ)-indistinguishability of null and alternative: the privacy profile.

        ``δ(ε) = max over α of power − e^ε·α``; ``δ(∞) = power(0)``.
        """
        return like_input(self._delta(check_epsilon(epsilon)), epsilon)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> FloatArray: ...
    def epsilon(self, delta: ArrayLike) -> float | FloatArray:
        """Smallest ε with (ε, δ)-indistinguishability: the inverse of `delta`, on the safe side.

        ``self.delta(self.epsilon(δ)) ≤ δ`` holds as computed; ∞ when power(0) exceeds δ.

        Parameters
        ----------
        delta : float or array-like of float
            In [0, 1].
        """
        d = check_probability(delta, "delta")
        found = self._epsilon(d)
        step = 1.0
        while ((self._delta(found) > d) & np.isfinite(found)).any():
            over = self._delta(found) > d
            with np.errstate(over="ignore"):
                found = np.where(over, found * (1 + step * 2.3e-16) + step * 5e-324, found)
            step *= 2
        return like_input(found, delta)

    def relative_risk(self, alpha0: float = 0.0) -> float:
        """Relative disclosure risk ρ: the largest power/α over α ≥ `alpha0`; may be ∞."""
        floor = one_number(check_probability(alpha0, "alpha0"), "alpha0")
        if floor > 0:
            return float(self.power(floor)) / floor
        first = self._first_ratio
        return 1 / first if first > 0 else float("inf")

    @overload
    def posterior(self, prior: float, alpha: float) -> float: ...
    @overload
    def posterior(self, prior: ArrayLike, alpha: ArrayLike) -> FloatArray: ...
    def posterior(self, prior: ArrayLike, alpha: ArrayLike) -> float | FloatArray:
        """Belief after an alarm of the best test at rate `alpha`, from belief `prior` before.

        ``π·power / ((1 − π)·α + π·power)``. At α = 0 an alarm that can happen is certain; one that
        cannot happen is read as the limit α → 0.
        """
        pi = check_probability(prior, "prior")
        a = check_probability(alpha, "alpha")
        try:
            pi, a = np.broadcast_arrays(pi, a)
        except ValueError as error:
            msg = f"expected shapes that broadcast, got prior {pi.shape} and alpha {a.shape}"
            raise InvalidInputError(msg) from error
        hit = self._power(a)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            ratio = np.where(hit > 0, a / hit, self._first_ratio)
            belief = np.where(pi == 0, 0.0, pi / (pi + (1 - pi) * ratio))
        scalar = np.ndim(prior) == 0 and np.ndim(alpha) == 0
        return like_input(belief, 0.0 if scalar else belief)

    # ---------------------------------------------------------------- operations

    def compose(self, *others: TradeOff, method: Literal["auto", "numerical"] = "auto") -> TradeOff:
        """Curve of releasing the outcomes of several mechanisms together.

        Gaussian curves compose in closed form, ``μ = √Σμ²`` (Dong et al. 2022, Corollary 3.3);
        piecewise linear ones exactly, as products of the pairs of distributions that have these
        curves. Other combinations, and products of too many outcomes, go through dp-accounting's
        privacy loss distributions (extra ``interop``), rounded so that no power is understated: the
        result has standing ``upper`` and says by how much at most it is too high.

        Parameters
        ----------
        *others : TradeOff
            With the same adjacency.
        method : {"auto", "numerical"}
            ``numerical``: through privacy loss distributions in any case.

        Raises
        ------
        InvalidInputError
            If an adjacency differs, or an upper curve is combined with a lower one.
        CapacityError
            If privacy losses are too large, or an exact product of lower curves is.
        MissingDependencyError
            If dp-accounting is needed and not installed.
        """
        from seepage.tradeoff.operations import compose

        return compose([(curve, 1) for curve in (self, *others)], method)

    def self_compose(self, k: int, *, method: Literal["auto", "numerical"] = "auto") -> TradeOff:
        """Curve of releasing `k` independent outcomes, from 1 to 10^15; see `compose`."""
        from seepage.tradeoff.operations import compose

        return compose([(self, check_count(k))], method)

    def symmetrized(self) -> TradeOff:
        """Smallest symmetric curve above this one: ``min{f, f⁻¹}**`` of Dong et al. (2022).

        It holds whichever hypothesis is called the null. Vertices of a power within 1e-15 of 1 are
        reflected to α = 0, the side of a higher curve.
        """
        from seepage.tradeoff.operations import symmetrized

        return symmetrized(self)

    def subsampled(self, p: float) -> TradeOff:
        """Curve ``C_p(f)`` after the mechanism ran on a secret random sample of the records.

        ``f_p = p·f + (1 − p)·(1 − α)``, ``C_p(f) = min{f_p, f_p⁻¹}**`` (Dong et al. 2022, Section
        4). Valid for samples of a fixed size and the adjacency "replace one record", and for
        independent sampling of every record and "add or remove one record".

        Parameters
        ----------
        p : float
            Share of the records in the sample, in [0, 1].

        Returns
        -------
        TradeOff
            Exact for a piecewise linear curve; else an outer polygon with its largest error.

        Raises
        ------
        InvalidInputError
            If `p` is outside its range, or an array.
        """
        from seepage.tradeoff.operations import subsampled

        return subsampled(self, one_number(check_probability(p, "p"), "p"))

    def outer(self, segments: int = 256) -> PiecewiseLinear:
        """Polygon around the curve that nowhere understates its power.

        Parameters
        ----------
        segments : int
            Tangents on each side of the largest power − α, from 1 to 100,000.

        Returns
        -------
        PiecewiseLinear
            Standing ``upper``; `error` is its largest excess over this curve.
        """
        from seepage.tradeoff.operations import outer

        return outer(self, check_count(segments, "segments", 100_000))
