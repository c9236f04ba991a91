"""Estimates that carry their influence function, so that standard errors follow by the chain rule.

The influence of a record is what it adds to n times the estimate, to first order; the variance of
the estimate is the variance of the influence over n (delta method). Influences are needed only in
sums of products over the records. So where the records are gone, a linear function of features
stands for its values, and the sums of products of these features are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seepage._numeric import FloatArray


@dataclass(frozen=True, eq=False)
class Term:
    """A value, and the influence of each kind of record on it.

    Parameters
    ----------
    value : float
    influence : array of float, shape (c,)
        Mean 0 over the records; see `Weights`.
    """

    value: float
    influence: FloatArray

    def scaled(self, factor: float) -> Term:
        """Return a multiple."""
        return Term(self.value * factor, self.influence * factor)

    def minus(self, other: Term) -> Term:
        """Return a difference."""
        return Term(self.value - other.value, self.influence - other.influence)


@dataclass(frozen=True, eq=False)
class Weights:
    """What sums over the records make of functions of them, arrays of shape (c,).

    Parameters
    ----------
    blocks : tuple of arrays
        One after the other along the c numbers. Shape (m,): how often each of m kinds of records
        occurs, where a function is its value for each kind. Shape (m, m): sums of products of m
        features, where a function is its coefficients.
    one : array of float, shape (c,)
        The function that is 1 for every record.
    """

    blocks: tuple[FloatArray, ...]
    one: FloatArray

    def products(self, first: FloatArray, second: FloatArray) -> float:
        """Sum of the product of two functions over all records."""
        total, start = 0.0, 0
        for block in self.blocks:
            part = slice(start, start + len(block))
            start = part.stop
            left, right = first[part], second[part]
            total += float((left * right) @ block if block.ndim == 1 else left @ block @ right)
        return total

    @cached_property
    def size(self) -> float:
        """Number of records."""
        return self.products(self.one, self.one)


def combined(value: float, slopes: Iterable[float], terms: Iterable[Term]) -> Term:
    """A function of terms, from its value and its partial derivatives."""
    parts = [slope * term.influence for slope, term in zip(slopes, terms, strict=True)]
    return Term(value, np.sum(parts, axis=0))


def weighted_mean(values: FloatArray, weights: Weights) -> Term:
    """The mean over records."""
    mean = weights.products(values, weights.one) / weights.size
    return Term(mean, values - mean * weights.one)


def standard_error(term: Term, weights: Weights) -> float:
    """Standard error of a term."""
    n = weights.size
    # Sums of products of features are rounded, those of squares can come out below 0.
    squares = max(weights.products(term.influence, term.influence), 0.0)
    return math.sqrt(squares / (n * max(n - 1, 1)))


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
    if not (np.diag(S) > 0).all():
        return None
    # Correlations have no unit: income in cents and a share are as far apart as they like.
    scale = 1 / np.sqrt(np.diag(S))
    R = scale[:, None] * S * scale
    if np.linalg.eigvalsh(R)[0] <= 1e-12:
        return None
    inverse = scale[:, None] * np.linalg.inv(R) * scale
    beta = inverse @ np.array([term.value for term in across])
    moved = np.array(
        [
            term.influence - sum(b * cell.influence for b, cell in zip(beta, row, strict=True))
            for term, row in zip(across, within, strict=True)
        ]
    )
    return [Term(float(b), line) for b, line in zip(beta, inverse @ moved, strict=True)]
