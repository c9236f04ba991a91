"""The ways to make a trade-off curve."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import (
    as_float_array,
    check_conditional,
    check_distribution,
    check_epsilon,
    check_probability,
)
from seepage.channel import Channel
from seepage.errors import InvalidInputError
from seepage.tradeoff._common import (
    ADD_OR_REMOVE,
    HYPOTHESES,
    ONE_VALUE,
    REPLACE,
    check_count,
    one_number,
)

if TYPE_CHECKING:
    from seepage.tradeoff.noise import GaussianNoise, LaplaceNoise
    from seepage.tradeoff.piecewise import Envelope, PiecewiseLinear


class Constructors:
    """Class methods of `TradeOff`; `adjacency` says in words what the two hypotheses differ in."""

    @classmethod
    def from_distributions(
        cls, null: ArrayLike, alternative: ArrayLike, *, adjacency: str = HYPOTHESES
    ) -> PiecewiseLinear:
        """Exact curve of two finite distributions.

        Parameters
        ----------
        null, alternative : array-like of float, shape (b,)
            Probabilities of the same outcomes, each summing to 1 (to 1e-9).
        adjacency : str

        Raises
        ------
        InvalidInputError
            If one is not a distribution, or the lengths differ.

        Examples
        --------
        >>> from seepage import TradeOff
        >>> curve = TradeOff.from_distributions([0.5, 0.5], [0.8, 0.2])
        >>> round(curve.total_variation, 12), round(curve.leakage(float("inf")), 6)
        (0.3, 0.470004)
        """
        from seepage.tradeoff.piecewise import from_pair

        h = check_distribution(null, "null")
        g = check_distribution(alternative, "alternative")
        if g.shape != h.shape:
            msg = f"expected distributions over the same outcomes, got lengths {h.size}, {g.size}"
            raise InvalidInputError(msg)
        return from_pair(h, g, adjacency=adjacency)

    @classmethod
    def from_vertices(cls, vertices: ArrayLike, *, adjacency: str = HYPOTHESES) -> PiecewiseLinear:
        """Upper concave hull of points (α, power), together with (0, 0) and (1, 1).

        Parameters
        ----------
        vertices : array-like of float, shape (m, 2)
            Each with 0 ≤ α ≤ power ≤ 1.
        adjacency : str

        Raises
        ------
        InvalidInputError
            If the shape or a value is outside that range.
        """
        from seepage.tradeoff.piecewise import from_points

        points = as_float_array(vertices, "vertices")
        if points.ndim != 2 or points.shape[1] != 2:
            msg = f"expected vertices of shape (m, 2), got {points.shape}"
            raise InvalidInputError(msg)
        if not ((points >= 0) & (points <= 1)).all() or (points[:, 1] < points[:, 0]).any():
            msg = "expected vertices with 0 <= alpha <= power <= 1, got values outside"
            raise InvalidInputError(msg)
        return from_points(points[:, 0], points[:, 1] - points[:, 0], adjacency=adjacency)

    @classmethod
    def envelope(
        cls, conditional: ArrayLike, tolerance: float = 0.0, *, adjacency: str = ONE_VALUE
    ) -> Envelope:
        """Upper hull of the curves of all ordered pairs of rows.

        Its `leakage` is the correlation-induced privacy leakage through the best ε-LDP mechanism
        (HCC-2, LTM), exactly, for every ε at once.

        Parameters
        ----------
        conditional : array-like of float, shape (a, b)
            ``P[x, x̂] = p(x̂ | x)``: one row for each value of the secret attribute.
        tolerance : float, default 0
            In nats. Pairs whose leakage rises above the hull by less than this may be left out of a
            large table; the result then states it as `slack`.
        adjacency : str

        Raises
        ------
        InvalidInputError
            If the table is not row-stochastic.

        Examples
        --------
        >>> from seepage import TradeOff
        >>> curve = TradeOff.envelope([[0.9, 0.1], [0.2, 0.8]])
        >>> round(curve.leakage(1.0), 6)
        0.706275
        """
        from seepage.tradeoff.piecewise import envelope_of

        P = check_conditional(conditional)
        slack = as_float_array(tolerance, "tolerance")
        if slack.ndim or not 0 <= slack < np.inf:
            msg = f"expected tolerance to be a finite number of nats, 0 or more, got {tolerance!r}"
            raise InvalidInputError(msg)
        return envelope_of(P, float(slack), adjacency)

    @classmethod
    def of_channel(cls, channel: Channel, *, adjacency: str = ONE_VALUE) -> Envelope:
        """Exact curve of a finite channel: the worst of all ordered pairs of its inputs.

        Parameters
        ----------
        channel : Channel
        adjacency : str

        Raises
        ------
        InvalidInputError
            If `channel` is not a Channel.

        Examples
        --------
        >>> from seepage import TradeOff, randomized_response
        >>> curve = TradeOff.of_channel(randomized_response(4, 1.0))
        >>> round(curve.relative_risk(), 6)
        2.718282
        """
        if not isinstance(channel, Channel):
            msg = f"expected a Channel, got {channel!r}"
            raise InvalidInputError(msg)
        from seepage.tradeoff.piecewise import attained_by_one_pair, pure

        curve = cls.envelope(channel.matrix, adjacency=adjacency)
        curve = replace(curve, one_pair=attained_by_one_pair(curve, channel.matrix))
        # A finite ε proves nothing, even where e^−ε is 0 in floating point.
        return pure(curve) if np.isfinite(channel.epsilon) else curve

    @classmethod
    def laplace(cls, mu: float, *, adjacency: str = ADD_OR_REMOVE) -> LaplaceNoise:
        """Curve of Laplace noise of scale (sensitivity / μ): pure ε-DP with ε = μ.

        Parameters
        ----------
        mu : float
            In [0, ∞].
        adjacency : str
            What the sensitivity refers to.

        Raises
        ------
        InvalidInputError
            If `mu` is outside its range, or an array.

        Examples
        --------
        >>> from seepage import TradeOff
        >>> round(TradeOff.laplace(1.0).power(0.01), 6)
        0.027183
        """
        from seepage.tradeoff.noise import LaplaceNoise

        return LaplaceNoise(mu, adjacency=adjacency)

    @classmethod
    def gaussian(cls, mu: float, *, adjacency: str = ADD_OR_REMOVE) -> GaussianNoise:
        """Curve of Gaussian noise of standard deviation (sensitivity / μ).

        Parameters
        ----------
        mu : float
            In [0, ∞].
        adjacency : str
            What the sensitivity refers to.

        Raises
        ------
        InvalidInputError
            If `mu` is outside its range, or an array.

        Examples
        --------
        >>> from seepage import TradeOff
        >>> round(TradeOff.gaussian(1.0).power(0.01), 7)
        0.0923622
        """
        from seepage.tradeoff.noise import GaussianNoise

        return GaussianNoise(mu, adjacency=adjacency)

    @classmethod
    def approximate_dp(
        cls, epsilon: float, delta: float = 0.0, *, adjacency: str = ADD_OR_REMOVE
    ) -> PiecewiseLinear:
        """Curve of (ε, δ)-differential privacy.

        Parameters
        ----------
        epsilon : float
            In [0, ∞]. Above 744 the corner α = (1 − δ)/(1 + e^ε) is put at the smallest
            floating-point number.
        delta : float
            In [0, 1].
        adjacency : str

        Raises
        ------
        InvalidInputError
            If a parameter is outside its range, or an array.
        """
        from seepage.tradeoff.piecewise import from_points

        e = one_number(check_epsilon(epsilon), "epsilon")
        d = one_number(check_probability(delta, "delta"), "delta")
        # The two lines power = δ + e^ε α and 1 − α = δ + e^ε (1 − power) meet at power + α = 1.
        gap = (1 - d) * np.tanh(e / 2) + d
        q = np.exp(-e)
        alpha = (1 - d) * q / (1 + q)
        if np.isfinite(e) and d < 1:
            alpha = max(alpha, float(np.nextafter(0.0, 1.0)))
        return from_points(
            np.array([0.0, alpha, 1 - d]),
            np.array([d, gap, d]),
            keep_first=not np.isinf(e),
            adjacency=adjacency,
            kind="none" if d == 0 and np.isfinite(e) else None,
        )

    @classmethod
    def uniform_sampling(cls, mu: float, n: int, *, adjacency: str = REPLACE) -> PiecewiseLinear:
        """Curve of releasing one record out of `n` with probability δ·n, δ = (1 − e^−μ)/n.

        Parameters
        ----------
        mu : float
            In [0, ∞].
        n : int
            Number of records, from 1 to 10^15.
        adjacency : str

        Raises
        ------
        InvalidInputError
            If a parameter is outside its range.
        """
        from seepage.tradeoff.piecewise import from_points

        m = one_number(check_epsilon(mu, "mu"), "mu")
        d = float(-np.expm1(-m)) / check_count(n, "n")
        return from_points(np.array([0.0, 1 - d]), np.array([d, d]), adjacency=adjacency)

    @classmethod
    def from_profile(
        cls, epsilon: ArrayLike, delta: ArrayLike, *, adjacency: str = ADD_OR_REMOVE
    ) -> PiecewiseLinear:
        """Largest curve that satisfies every (ε_i, δ_i) in both directions.

        It takes what accountants give: a mechanism that is (ε_i, δ_i)-private for all i has no
        power above this curve, which therefore is an ``upper`` one.

        Parameters
        ----------
        epsilon : array-like of float, shape (m,)
            In [0, ∞], m ≥ 1.
        delta : array-like of float, shape (m,)
            In [0, 1].
        adjacency : str

        Raises
        ------
        InvalidInputError
            If shapes differ, or a value is outside its range.
        """
        from seepage.tradeoff._polygon import from_support

        e, d = check_epsilon(epsilon), check_probability(delta, "delta")
        if e.ndim != 1 or e.shape != d.shape or e.size == 0:
            msg = f"expected epsilon and delta of one length, got shapes {e.shape} and {d.shape}"
            raise InvalidInputError(msg)
        order = np.argsort(e, kind="stable")
        return from_support(e[order], d[order], adjacency, error=float("inf"))
