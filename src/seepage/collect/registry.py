"""Mechanisms by name, and back from the plain values of a plan file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from seepage._numeric import check_size
from seepage.collect.hashing import LocalHashing
from seepage.collect.mechanism import Mechanism
from seepage.collect.metric import ExponentialMechanism, Staircase
from seepage.collect.pram import PostRandomization, Table
from seepage.collect.response import LambdaResponse, RandomizedResponse
from seepage.collect.subset import SubsetSelection
from seepage.collect.unary import UnaryEncoding
from seepage.errors import InvalidInputError, did_you_mean


class _Kind(NamedTuple):
    build: Callable[..., Mechanism]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    from_matrix: bool = False  # k follows from the matrix


_KINDS: dict[str, _Kind] = {
    RandomizedResponse.kind: _Kind(RandomizedResponse, ("epsilon",)),
    LambdaResponse.kind: _Kind(LambdaResponse, ("retention",)),
    UnaryEncoding.kind: _Kind(UnaryEncoding, ("epsilon",), ("variant",)),
    LocalHashing.kind: _Kind(LocalHashing, ("epsilon",), ("variant",)),
    SubsetSelection.kind: _Kind(SubsetSelection, ("epsilon",)),
    Staircase.kind: _Kind(Staircase, ("epsilon",), ("step",)),
    ExponentialMechanism.kind: _Kind(ExponentialMechanism, ("epsilon",), ("distance",)),
    PostRandomization.kind: _Kind(PostRandomization, ("matrix",), ("strata",), from_matrix=True),
    Table.kind: _Kind(Table, ("matrix",), from_matrix=True),
}

_ALIASES: dict[str, tuple[str, str]] = {
    "oue": (UnaryEncoding.kind, "optimized"),
    "sue": (UnaryEncoding.kind, "symmetric"),
    "olh": (LocalHashing.kind, "optimized"),
    "blh": (LocalHashing.kind, "binary"),
}

KINDS: tuple[str, ...] = tuple(_KINDS)
"""Names of the kinds, as in plan files."""

NAMES: tuple[str, ...] = (*KINDS, *_ALIASES)
"""Names that `mechanism` takes: the kinds, and short names of variants."""

BY_EPSILON: tuple[str, ...] = tuple(
    name for name in NAMES if _KINDS[_ALIASES.get(name, (name,))[0]].required == ("epsilon",)
)
"""Names of those that an ε alone determines."""


def mechanism(kind: str, k: int, epsilon: float | None = None, **options: Any) -> Mechanism:
    """Build a mechanism by name.

    Parameters
    ----------
    kind : str
        One of `NAMES`: "grr", "lambda", "unary" (also "oue", "sue"), "hashing" (also "olh",
        "blh"), "subset", "staircase", "exponential", "pram", "table".
    k : int
        Number of categories, 1 or more.
    epsilon : float, optional
        In [0, ∞]; for the kinds of `BY_EPSILON`.
    **options
        "lambda": retention. "unary": variant="optimized" or "symmetric". "hashing":
        variant="optimized" or "binary". "staircase": step. "exponential": distance. "pram": matrix,
        strata. "table": matrix.

    Raises
    ------
    InvalidInputError
        If the kind is unknown, an option is missing, not one of the kind or outside its range, or
        the matrix is not of k categories.
    """
    name, found = _find(kind, NAMES)
    given = dict(options)
    if name in _ALIASES:
        if "variant" in given:
            msg = f"expected no variant with {name!r}, which is one, got {given['variant']!r}"
            raise InvalidInputError(msg)
        given["variant"] = _ALIASES[name][1]
    if epsilon is not None:
        given["epsilon"] = epsilon
    for option in found.required:
        if option not in given:
            msg = f"expected {option} for a {name!r} mechanism, got none"
            raise InvalidInputError(msg)
    allowed = found.required + found.optional
    for option in given:
        if option not in allowed:
            msg = (
                f"expected the options {', '.join(allowed)} of a {name!r} mechanism, got "
                f"{option!r}.{did_you_mean(option, allowed)}"
            )
            raise InvalidInputError(msg)
    if not found.from_matrix:
        return found.build(k, **given)
    size = check_size(k)
    built = found.build(**given)
    if built.k != size:
        msg = f"expected a matrix with {size} rows, one for each category, got {built.k}"
        raise InvalidInputError(msg)
    return built


def mechanism_from_dict(values: Any) -> Mechanism:
    """Build a mechanism from what `Mechanism.to_dict` wrote; nothing may be missing or added.

    Raises
    ------
    InvalidInputError
        If the kind is unknown, a key is missing or not known, or a value is outside its range.
    """
    if not isinstance(values, Mapping):
        msg = f"expected the parameters of a mechanism by name, got {values!r}"
        raise InvalidInputError(msg)
    for key in ("kind", "k"):
        if key not in values:
            msg = f"expected the key {key!r} of a mechanism, got the keys {list(values)}"
            raise InvalidInputError(msg)
    kind, _ = _find(values["kind"], KINDS)
    options: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            msg = f"expected keys of a mechanism to be text, got {key!r}"
            raise InvalidInputError(msg)
        if key not in {"kind", "k"}:
            # Absent and null are different things in a file; only absent means "the default".
            if value is None:
                msg = f"expected a value for {key!r} of a {kind!r} mechanism, got null"
                raise InvalidInputError(msg)
            options[key] = value
    if options.get("epsilon") == "inf":  # JSON has no number for it
        options["epsilon"] = float("inf")
    return mechanism(kind, values["k"], **options)


def _find(kind: Any, known: tuple[str, ...]) -> tuple[str, _Kind]:
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(kind, known)
        msg = f"expected the kind of a mechanism, one of {', '.join(known)}, got {kind!r}.{hint}"
        raise InvalidInputError(msg)
    return kind, _KINDS[_ALIASES[kind][0] if kind in _ALIASES else kind]
