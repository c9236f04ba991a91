"""Association measures: rough indicators of dependence, not bounds of leakage."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array
from seepage.counts import Counts
from seepage.domain import Attribute
from seepage.errors import InvalidInputError


def mutual_information(counts: Counts | ArrayLike) -> float:
    """Mutual information of the two attributes of a contingency table.

    An average over all values, so it does not bound the leakage about a rare one. The plug-in
    value of a sample is biased upward. Source: Cover and Thomas, "Elements of Information Theory".

    Parameters
    ----------
    counts : Counts, or array-like of float of shape (a, b)
        Counts or joint probabilities, 0 or more, not all 0.

    Returns
    -------
    float
        In nats, in [0, ln min(a, b)].

    Raises
    ------
    InvalidInputError
        If the table does not have two axes, or a value is negative or not finite.
    """
    joint = _joint(counts)
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    used = joint > 0
    # As logarithms: the product of two marginals may underflow.
    with np.errstate(divide="ignore"):
        logs = np.where(used, np.log(joint), 0.0)
        expected = np.where(used, np.log(rows) + np.log(columns), 0.0)
    return max(0.0, float((joint * (logs - expected)).sum()))


def pearson(
    counts: Counts | ArrayLike,
    row_scores: ArrayLike | None = None,
    column_scores: ArrayLike | None = None,
) -> float:
    """Pearson correlation of the scores of two attributes.

    Sees a linear relation only: 0 does not mean independence, and no value bounds the leakage.

    Parameters
    ----------
    counts : Counts, or array-like of float of shape (a, b)
        Counts or joint probabilities, 0 or more, not all 0.
    row_scores, column_scores : array-like of float, optional
        A number for each category. By default the label itself where `counts` is a `Counts` and
        every label of the attribute is a finite number, else the position 0, 1, 2, …; for
        unordered categories that order is arbitrary.

    Returns
    -------
    float
        In [−1, 1]; 0 when one of the attributes has a single value in the table.

    Raises
    ------
    InvalidInputError
        If a table or scores are outside their range.
    """
    joint = _joint(counts)
    attributes = tuple(counts.domain) if isinstance(counts, Counts) else (None, None)
    x, y = (
        _scores(given, attribute, size, name)
        for given, attribute, size, name in zip(
            (row_scores, column_scores),
            attributes,
            joint.shape,
            ("row_scores", "column_scores"),
            strict=True,
        )
    )
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    x, y = _standardised(x, rows), _standardised(y, columns)
    return float(np.clip(x @ joint @ y, -1.0, 1.0))


def _joint(counts: Counts | ArrayLike) -> FloatArray:
    values = counts.values if isinstance(counts, Counts) else counts
    table = as_float_array(values, "counts")
    if table.ndim != 2:
        msg = f"expected counts of two attributes, got shape {table.shape}"
        raise InvalidInputError(msg)
    bad = ~((table >= 0) & np.isfinite(table))
    if bad.any():
        msg = f"expected counts to be finite and 0 or more, got {table[bad].flat[0]!r}"
        raise InvalidInputError(msg)
    top = table.max(initial=0.0)
    if top == 0:
        msg = "expected at least one record, got none"
        raise InvalidInputError(msg)
    scaled = table / top
    return np.asarray(scaled / scaled.sum())


def _scores(
    given: ArrayLike | None, attribute: Attribute | None, size: int, name: str
) -> FloatArray:
    if given is None:
        labels = () if attribute is None else attribute.categories
        numeric = labels and all(
            isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels
        )
        scores = np.array(labels, dtype=float) if numeric else np.arange(size, dtype=float)
        return scores if np.isfinite(scores).all() else np.arange(size, dtype=float)
    scores = as_float_array(given, name)
    if scores.shape != (size,) or not np.isfinite(scores).all():
        msg = f"expected {size} finite {name}, got {given!r}"
        raise InvalidInputError(msg)
    return scores


def _standardised(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Scores with weighted mean 0 and weighted variance 1; all 0 where only one is used."""
    used = scores[weights > 0]
    if used.max() == used.min():
        return np.zeros_like(scores)
    scaled = np.where(weights > 0, scores / np.abs(used).max(), 0.0)
    centred = np.where(weights > 0, scaled - weights @ scaled, 0.0)
    deviation = np.sqrt(weights @ centred**2)
    return np.asarray(centred / deviation) if deviation > 0 else np.zeros_like(scores)
