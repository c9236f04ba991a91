"""Texts of the command line to mechanisms: ``gaussian:1``, ``response:1,k=4``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from seepage.cli import _parse
from seepage.cli._names import in_options
from seepage.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from seepage.plan.risking import Mechanism
    from seepage.risk.protections import Protection

FAMILIES = {
    "laplace": "laplace",
    "gaussian": "gaussian",
    "response": "randomized_response",
    "sampling": "uniform_sampling",
    "dp": "approximate_dp",
}
"""Short names of the families of mechanisms."""

PARAMETERS = {
    "laplace": "mu",
    "gaussian": "mu",
    "response": "epsilon",
    "sampling": "mu",
    "dp": "epsilon",
}
ADJACENCIES = {"add-remove": "add or remove one record", "replace": "replace one record"}
EXTRAS = {
    "laplace": ("rate", "times", "adjacency"),
    "gaussian": ("rate", "times", "adjacency"),
    "response": ("k", "times"),
    "sampling": ("n", "rate", "times"),
    "dp": ("delta", "rate", "times", "adjacency"),
}
MECHANISM_FORM = "FAMILY:VALUE or FAMILY:VALUE,NAME=VALUE,…"


def numbers(texts: Iterable[str] | None, option: str, most: float = math.inf) -> list[float]:
    """Read numbers in [0, `most`], comma-separated or in several options.

    Raises
    ------
    InvalidInputError
        If one is no such number.
    """
    return [
        _parse.number(item, option, most) for text in texts or () for item in str(text).split(",")
    ]


def whole(text: object, name: str) -> int:
    """Read a whole number.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    try:
        return int(str(text).strip().replace("_", ""))
    except ValueError:
        msg = f"expected {name} to be a whole number, got {text!r}"
        raise InvalidInputError(msg) from None


def signed(text: object, name: str) -> float:
    """Read a number of either sign.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    word = str(text).strip()
    minus = word[:1] in {"-", "−"}
    try:
        size = _parse.number(word[minus:], name)
    except InvalidInputError:
        msg = f"expected {name} to be a number, got {text!r}"
        raise InvalidInputError(msg) from None
    return -size if minus else size


def mechanism(family: str, value: float, **options: Any) -> Mechanism:
    """Mechanism by the short name of its family.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range.
    """
    from seepage.plan.risking import Mechanism

    return Mechanism(FAMILIES[family], value, **options)


def mechanism_of(text: str, option: str) -> Mechanism:
    """Read ``gaussian:1``, ``dp:1,delta=1e-5``, ``response:1,k=4``.

    Raises
    ------
    InvalidInputError
        If the text has another form.
    """
    family, rest = head(text, option, MECHANISM_FORM)
    if family not in FAMILIES:
        msg = f"expected {option} to start with a family, got {family!r}."
        raise InvalidInputError(msg + did_you_mean(family, FAMILIES))
    parameter = PARAMETERS[family]
    found = settings(rest, option, parameter, (parameter, *EXTRAS[family]))
    if parameter not in found:
        msg = f"expected {option} {family}:VALUE, got {text!r}"
        raise InvalidInputError(msg)
    value = _parse.number(found.pop(parameter), f"{parameter} of {family}")
    with in_options({name: f"{name} of {option}" for name in (parameter, *EXTRAS[family])}):
        return mechanism(family, value, **{k: extra(k, v) for k, v in found.items()})


def extra(name: str, text: str) -> Any:
    """Read one parameter of a mechanism besides its first.

    Raises
    ------
    InvalidInputError
        If it is not of its kind.
    """
    if name in {"k", "n", "times"}:
        return whole(text, name)
    if name != "adjacency":
        return _parse.number(text, name, 1)  # delta, rate
    if text not in ADJACENCIES:
        msg = f"expected adjacency add-remove or replace, got {text!r}"
        raise InvalidInputError(msg)
    return ADJACENCIES[text]


def head(text: str, option: str, form: str) -> tuple[str, str]:
    """Split ``NAME:REST``.

    Raises
    ------
    InvalidInputError
        If there is no such name, or nothing after it.
    """
    head, colon, rest = text.partition(":")
    if not colon or not rest.strip():
        msg = f"expected {option} {form}, got {text!r}"
        raise InvalidInputError(msg)
    return head.strip().lower(), rest


def settings(text: str, option: str, first: str, known: Iterable[str]) -> dict[str, str]:
    """Split ``VALUE,NAME=VALUE``; the first may go without its name.

    Raises
    ------
    InvalidInputError
        If a name is unknown or comes twice, or has no value.
    """
    found: dict[str, str] = {}
    for position, item in enumerate(text.split(",")):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals and position == 0:
            name, value = first, name
        if not value:
            msg = f"expected NAME=VALUE in {option}, got {item!r}"
            raise InvalidInputError(msg)
        if name not in known:
            msg = f"expected a setting of {option}, got {name!r}.{did_you_mean(name, known)}"
            raise InvalidInputError(msg)
        if name in found:
            msg = f"expected one {name!r} in {option}, got {found[name]!r} and {value!r}"
            raise InvalidInputError(msg)
        found[name] = value
    return found


def protection_of(mechanism: Mechanism) -> Protection:
    """What a mechanism is to a test.

    Raises
    ------
    InvalidInputError
        If the power of a test under it is not known.
    """
    from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

    simple = mechanism.rate == 1 and mechanism.times == 1
    if simple and mechanism.adjacency != ADJACENCIES["add-remove"]:
        if mechanism.family == "laplace":
            return LaplaceNoise(mechanism.value)
        if mechanism.family == "gaussian":
            return GaussianNoise(mechanism.value)
        if mechanism.family == "randomized_response":
            return RandomizedResponse(mechanism.value, mechanism.k)
    msg = (
        "expected laplace, gaussian or response, run once on all records and for replacing one "
        f"record, together with a test, got {mechanism.label}"
    )
    raise InvalidInputError(msg)
