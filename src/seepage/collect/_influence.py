"""Estimates that carry their influence function, so that standard errors follow by the chain rule.

The influence of a record is what it adds to n times the estimate, to first order; the variance of
the estimate is the variance of the influence over n (delta method).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray


@dataclass(frozen=True, eq=False)
class Term:
    """A value, and the influence of each kind of record on it.

    Parameters
    ----------
    value : float
    influence : array of float, shape (c,)
        Weighted mean 0.
    """

    value: float
    influence: FloatArray

    def scaled(self, factor: float) -> Term:
        """Return a multiple."""
        return Term(self.value * factor, self.influence * factor)

    def minus(self, other: Term) -> Term:
        """Return a difference."""
        return Term(self.value - other.value, self.influence - other.influence)


def combined(value: float, slopes: Iterable[float], terms: Iterable[Term]) -> Term:
    """A function of terms, from its value and its partial derivatives."""
    parts = [slope * term.influence for slope, term in zip(slopes, terms, strict=True)]
    return Term(value, np.sum(parts, axis=0))


def weighted_mean(values: FloatArray, counts: FloatArray) -> Term:
    """The mean over records."""
    mean = float(values @ counts / counts.sum())
    return Term(mean, values - mean)


def standard_error(term: Term, counts: FloatArray) -> float:
    """Standard error of a term; n is the sum of `counts`."""
    n = float(counts.sum())
    return math.sqrt(float(term.influence**2 @ counts) / (n * max(n - 1, 1)))


def correlation(covariance: Term, first: Term, second: Term) -> Term | None:
    """``c / √(v_1 v_2)``; None when a variance is not positive."""
    if first.value <= 0 or second.value <= 0:
        return None
    scale = 1 / (math.sqrt(first.value) * math.sqrt(second.value))
    value = covariance.value * scale
    slopes = (scale, -value / (2 * first.value), -value / (2 * second.value))
    return combined(value, slopes, (covariance, first, second))


def log_odds_ratio(cells: Sequence[Term]) -> Term | None:
    """``ln (p_11 p_00 / (p_10 p_01))`` of cells 11, 10, 01, 00; None when one is not positive."""
    if min(cell.value for cell in cells) <= 0:
        return None
    signs = (1.0, -1.0, -1.0, 1.0)
    value = math.fsum(s * math.log(c.value) for s, c in zip(signs, cells, strict=True))
    slopes = [s / c.value for s, c in zip(signs, cells, strict=True)]
    return combined(value, slopes, cells)


def slopes(within: Sequence[Sequence[Term]], across: Sequence[Term]) -> list[Term] | None:
    """Least-squares slopes ``Σ_xx⁻¹ σ_xy``; None when Σ_xx is not positive definite.

    ``dβ = Σ_xx⁻¹ (dσ_xy − dΣ_xx β)``.
    """
    S = np.array([[term.value for term in row] for row in within])
    values = np.linalg.eigvalsh(S)
    if values[0] <= 1e-12 * max(float(values[-1]), 0.0):
        return None
    inverse = np.linalg.inv(S)
    beta = inverse @ np.array([term.value for term in across])
    moved = np.array(
        [
            term.influence - sum(b * cell.influence for b, cell in zip(beta, row, strict=True))
            for term, row in zip(across, within, strict=True)
        ]
    )
    return [Term(float(b), line) for b, line in zip(beta, inverse @ moved, strict=True)]
