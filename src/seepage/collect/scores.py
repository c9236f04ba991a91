"""Real scores of categories: what relationships between attributes are computed on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from seepage._numeric import FloatArray, as_float_array
from seepage.domain import Attribute, Domain, label_key
from seepage.errors import InvalidInputError

NUMBERS = "{name!r} is scored by its numbers."
MIDDLES = "{name!r} is scored by the middles of its intervals; an endless one by its finite edge."
POSITIONS = "{name!r} is scored by the positions of its categories, 0, 1, …"
SPECIAL = "Its categories for missing and other values have the mean of the other scores."


def default_scores(attribute: Attribute) -> tuple[FloatArray, str]:
    """Return one score for each category, and a sentence that says which.

    Numbers stand for themselves, intervals for their middles, anything else for its position.

    Returns
    -------
    scores : array of float, shape (k,)
    sentence : str
    """
    special = {label_key(x) for x in (attribute.missing, attribute.other) if x is not None}
    plain = [label for label in attribute.categories if label_key(label) not in special]
    name = attribute.name
    if attribute.edges is not None:
        given, sentence = _middles(attribute.edges), MIDDLES.format(name=name)
    elif plain and all(_is_number(label) for label in plain):
        given, sentence = [float(label) for label in plain], NUMBERS.format(name=name)
    else:
        return np.arange(attribute.size, dtype=np.float64), POSITIONS.format(name=name)
    if len(given) < attribute.size:
        sentence = f"{sentence} {SPECIAL}"
    values = iter(given)
    try:
        mean = math.fsum(given) / len(given)
    except OverflowError:  # the sum alone is beyond every float
        mean = math.fsum(value / len(given) for value in given)
    scores = [
        mean if label_key(label) in special else next(values) for label in attribute.categories
    ]
    return np.array(scores), sentence


def all_scores(
    domain: Domain, given: Mapping[str, ArrayLike] | None, names: Sequence[str]
) -> tuple[dict[str, FloatArray], list[str]]:
    """Return scores of attributes, given ones first, and sentences on the others.

    Raises
    ------
    DomainError
        If a name is unknown.
    InvalidInputError
        If a score is missing or not finite.
    """
    if given is not None and not isinstance(given, Mapping):
        msg = f"expected a mapping of column names to scores, got {given!r}"
        raise InvalidInputError(msg)
    chosen = dict(given or {})
    for name in chosen:
        domain.position(name)
    found, sentences = {}, []
    for name in names:
        attribute = domain[name]
        if name not in chosen:
            found[name], sentence = default_scores(attribute)
            sentences.append(sentence)
            continue
        scores = as_float_array(chosen[name], f"scores of {name!r}")
        if scores.shape != (attribute.size,) or not np.isfinite(scores).all():
            msg = (
                f"expected {attribute.size} finite scores for column {name!r}, got {chosen[name]!r}"
            )
            raise InvalidInputError(msg)
        found[name] = scores
    return found, sentences


def _is_number(label: object) -> bool:
    try:
        return isinstance(label, (int, float)) and math.isfinite(label)
    except OverflowError:  # an integer beyond every float
        return False


def _middles(edges: Sequence[float]) -> list[float]:
    middles = []
    for low, high in pairwise(edges):
        if math.isinf(low) and math.isinf(high):
            middles.append(0.0)
        elif math.isinf(low) or math.isinf(high):
            middles.append(high if math.isinf(low) else low)
        else:
            middles.append(low / 2 + high / 2)
    return middles
