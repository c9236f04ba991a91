"""Polygons around smooth curves are on the safe side in exact arithmetic, to the last unit."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from seepage.tradeoff import TradeOff

CASES = [(mu, segments) for mu in (1e-6, 1e-3, 0.1, 1.0, 2.3, 5.0, 20.0) for segments in (1, 7, 64)]


def laplace(mu: float, alpha: float) -> mpmath.mpf:
    """Power of the best test by the closed form (Dong et al. 2022, Lemma A.6)."""
    q, a = mpmath.exp(-mpmath.mpf(mu)), mpmath.mpf(alpha)
    if a <= q / 2:
        return a / q
    return 1 - q / (4 * a) if a <= mpmath.mpf("0.5") else 1 - q * (1 - a)


def gaussian(mu: float, alpha: float) -> mpmath.mpf:
    """The same for Gaussian noise; the quantile by Newton steps from that of SciPy."""
    from scipy.special import ndtri

    if alpha in (0, 1):
        return mpmath.mpf(alpha)
    a, z = mpmath.mpf(alpha), mpmath.mpf(-float(ndtri(alpha)))
    for _ in range(4):
        z += (mpmath.erfc(z / mpmath.sqrt(2)) / 2 - a) / mpmath.npdf(z)
    assert abs(mpmath.erfc(z / mpmath.sqrt(2)) / 2 / a - 1) < mpmath.mpf("1e-30")
    return mpmath.erfc((z - mpmath.mpf(mu)) / mpmath.sqrt(2)) / 2


@pytest.mark.parametrize("exact", [laplace, gaussian])
@pytest.mark.parametrize(("mu", "segments"), CASES)
def test_nowhere_below_in_exact_fractions(exact, mu, segments):
    curve = getattr(TradeOff, exact.__name__)(mu)
    polygon = curve.outer(segments)
    rng = np.random.default_rng(6)
    rates = np.concatenate((
        polygon.alpha, (polygon.alpha[1:] + polygon.alpha[:-1]) / 2, rng.random(12),
        10.0 ** -rng.uniform(0, 15, 12), 1 - 10.0 ** -rng.uniform(0, 16, 12),
        [1 - 2.0**-53, 1 - 2.0**-52, 1e-300],
    ))  # fmt: skip
    corners = [Fraction(x) for x in polygon.alpha.tolist()]
    gaps = [Fraction(x) for x in polygon.gap.tolist()]
    with mpmath.workdps(50):
        for rate in rng.choice(np.unique(rates), min(60, np.unique(rates).size), replace=False):
            i = min(max(int(np.searchsorted(polygon.alpha, rate)), 1), len(corners) - 1)
            share = (Fraction(rate) - corners[i - 1]) / (corners[i] - corners[i - 1])
            whole = Fraction(rate) + gaps[i - 1] + share * (gaps[i] - gaps[i - 1])
            truth = exact(mu, float(rate))
            assert mpmath.mpf(whole.numerator) / whole.denominator >= truth
            # What is read from it, too; and it is too high by no more than it says.
            assert mpmath.mpf(float(polygon.power(rate))) >= truth
            assert mpmath.mpf(float(polygon.power(rate))) - truth <= polygon.error + 1e-15
            assert mpmath.mpf(float(polygon.beta(rate))) <= 1 - truth


def test_ends():
    for curve in (TradeOff.laplace(1.0), TradeOff.gaussian(1.0)):
        polygon = curve.outer(8)
        assert polygon.power(0.0) == 0
        assert polygon.power(1.0) == 1
        assert polygon.beta(1.0) == 0
        assert polygon.power(np.linspace(0, 1, 100)).max() <= 1
