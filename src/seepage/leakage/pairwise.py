"""Total leakage about each attribute as a sum over pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array, check_epsilon
from seepage.errors import InvalidInputError


def pairwise_total(leakage: ArrayLike, budgets: ArrayLike) -> FloatArray:
    """``TPL_k = ε_k + Σ_{j ≠ k} L_{j→k}`` for every attribute k.

    A heuristic, not an upper bound: with ``X_k = X_1 xor X_2`` every pairwise term can be 0 while
    the two reports together tell everything. Source: Dependency Triad paper, section II-B3.

    Parameters
    ----------
    leakage : array-like of float, shape (d, d)
        ``leakage[k, j]`` in [0, ∞]: leakage about attribute k through the report of attribute j,
        in nats. The diagonal is not read.
    budgets : float or array-like of float, shape (d,)
        ε of each attribute, in [0, ∞].

    Returns
    -------
    array of float, shape (d,)
        In nats.

    Raises
    ------
    InvalidInputError
        If a shape does not fit or a value is negative or NaN.
    """
    table = as_float_array(leakage, "leakage")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        msg = f"expected leakage of shape (attributes, attributes), got {table.shape}"
        raise InvalidInputError(msg)
    epsilon = check_epsilon(budgets, "budgets")
    if epsilon.shape not in {(), (len(table),)}:
        msg = f"expected one budget for each of {len(table)} attributes, got {epsilon.shape}"
        raise InvalidInputError(msg)
    terms = np.where(np.eye(len(table), dtype=bool), 0.0, table)
    check_epsilon(terms, "leakage")
    return np.asarray(epsilon + terms.sum(axis=1))
