"""Trade-off curves of two hypotheses, from which every number of interest is read.

For a null distribution G' and an alternative G, the curve is the largest power G(S) that a test can
have at false-alarm rate α = G'(S) (the Neyman–Pearson frontier). It is concave from (0, power(0))
to (1, 1); the trade-off function of f-DP is ``f(α) = 1 − power(α)``.

`base` says what can be read off every curve, `_constructors` how to make one; `piecewise` holds the
curves of finite distributions, `noise` those of Laplace and Gaussian noise. Composition,
symmetrisation and subsampling are in `operations`, outer polygons in `_polygon`, and the numerical
composition by privacy loss distributions in `_accounting`.
"""

from __future__ import annotations

from seepage.tradeoff.base import Failure, TradeOff
from seepage.tradeoff.noise import GaussianNoise, LaplaceNoise
from seepage.tradeoff.piecewise import Envelope, PiecewiseLinear, worst_case

__all__ = [
    "Envelope",
    "Failure",
    "GaussianNoise",
    "LaplaceNoise",
    "PiecewiseLinear",
    "TradeOff",
    "worst_case",
]
