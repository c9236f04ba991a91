"""What budgets are good for: errors of estimates from randomised responses, as functions of ε."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Objective:
    """A function of the budgets of d attributes, and a smooth loss for the solver.

    Attributes
    ----------
    name : {"variance", "sum", "maxmin", "kway"}
    sizes : array of int, shape (d,)
        Number of categories of each attribute.
    weights : array of float, shape (d,)
        Positive; importance of each attribute.
    k : int
        Attributes of one table, for "kway".
    """

    name: str
    sizes: IntArray
    weights: FloatArray
    k: int = 2

    @property
    def smaller_is_better(self) -> bool:
        """Whether the value is an error."""
        return self.name in {"variance", "kway"}

    def value(self, epsilon: FloatArray) -> float:
        """Value of the objective; ∞ for an error when an attribute says nothing."""
        if self.name == "variance":
            return float((self.weights * one_way_variance(self.sizes, epsilon)[0]).sum())
        if self.name == "kway":
            return float(symmetric_polynomial(self._errors(epsilon)[0], self.k)[self.k])
        if self.name == "sum":
            return float((self.weights * epsilon).sum())
        return float((epsilon / self.weights).min())

    def loss(self, epsilon: FloatArray) -> tuple[float, FloatArray]:
        """Something to minimise, of the order of 1, and its gradient; for finite ε > 0."""
        if self.name == "variance":
            value, slope = one_way_variance(self.sizes, epsilon)
            total = float((self.weights * value).sum())
            # The logarithm makes the steep part near ε = 0 manageable; the optimum is the same.
            return (
                (float(np.log(total)), self.weights * slope / total) if total else _nothing(slope)
            )
        if self.name == "kway":
            value, slope = self._errors(epsilon)
            total = float(symmetric_polynomial(value, self.k)[self.k])
            gradient = slope * without_each(value, self.k - 1)
            return float(np.log(total)), gradient / total
        scale = float(self.weights.sum())
        return -float((self.weights * epsilon).sum()) / scale, -self.weights / scale

    def _errors(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Per-attribute factors of the k-way error, weighted, and derivatives."""
        value, slope = one_way_variance(self.sizes, epsilon)
        return self.weights * (value + 1 / self.sizes), self.weights * slope

    @property
    def sentence(self) -> str:
        """What the value means."""
        return {
            "variance": "total variance of one-way frequency estimates (times n)",
            "sum": "weighted sum of the budgets",
            "maxmin": "smallest budget over weight",
            "kway": f"total error of all {self.k}-way frequency estimates (times n)",
        }[self.name]


def _nothing(slope: FloatArray) -> tuple[float, FloatArray]:
    return 0.0, np.zeros_like(slope)


def one_way_variance(sizes: IntArray, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Total variance of the frequency estimates of one attribute, times n, and its derivative.

    ``(‖W‖_F² − 1)/k`` at uniform frequencies, with W the inverse of the k-ary randomised response:
    W has the eigenvalue 1 once and 1/λ k − 1 times, so this is ``(k − 1)/(k·λ²)`` with
    ``1/λ = 1 + k/(e^ε − 1)``.

    Parameters
    ----------
    sizes : array of int, shape (d,)
    epsilon : array of float, shape (d,)
        In [0, ∞].

    Returns
    -------
    value : array of float, shape (d,)
        ∞ at ε = 0, for k > 1; 0 for k = 1.
    slope : array of float, shape (d,)
        Zero or less.
    """
    k = sizes.astype(np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        t = np.expm1(epsilon)
        inverse = 1 + k / t
        value = (k - 1) / k * inverse**2
        # −2(k − 1)·inverse·e^ε/t², with e^ε/t² = 1/(t·(1 − e^−ε))
        slope = -2 * (k - 1) * inverse / t / -np.expm1(-epsilon)
    single = sizes == 1
    return np.where(single, 0.0, value), np.where(single, 0.0, slope)


def symmetric_polynomial(values: FloatArray, k: int) -> FloatArray:
    """Elementary symmetric polynomials e_0 … e_k of non-negative values, shape (k + 1,)."""
    result = np.zeros(k + 1)
    result[0] = 1.0
    for x in values:
        if np.isinf(x):
            result[1:] = np.where(result[:-1] > 0, np.inf, result[1:])
        else:
            result[1:] = result[1:] + x * result[:-1]
    return result


def without_each(values: FloatArray, k: int) -> FloatArray:
    """e_k of all values but one, for every one left out, shape (d,): sums of products only.

    Values before and after the one left out are combined, as subtracting it would cancel.
    """
    d = values.size
    before, after = np.zeros((d + 1, k + 1)), np.zeros((d + 1, k + 1))
    before[0, 0] = after[d, 0] = 1.0
    for j in range(d):
        before[j + 1] = before[j]
        before[j + 1, 1:] += values[j] * before[j, :-1]
        i = d - 1 - j
        after[i] = after[i + 1]
        after[i, 1:] += values[i] * after[i + 1, :-1]
    return np.asarray((before[:-1] * after[1:, ::-1]).sum(axis=1))
