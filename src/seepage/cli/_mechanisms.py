"""Texts of the command line to mechanisms and tests: ``gaussian:1``, ``mean:effect=1,n=9``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from seepage.cli import _parse
from seepage.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from seepage.plan.risking import Mechanism
    from seepage.risk.designs import Design, Values
    from seepage.risk.power import PowerResult
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

SIDES = ("two-sided", "larger", "smaller")
VALUES = ("sd", "low", "high", "mean")
TESTS: Mapping[str, tuple[str, ...]] = {
    "mean": (*VALUES, "z"),
    "paired": (*VALUES, "z"),
    "means": (*VALUES, "z", "ratio"),
    "proportion": ("null",),
    "proportions": ("first", "ratio"),
    "independence": ("table",),
    "correlation": (*VALUES, "sd2", "low2", "high2"),
    "slope": (*VALUES, "z", "sd2", "low2", "high2", "others", "shared", "explained"),
}
"""Tests, and what each needs to know besides effect, records and level."""

TEST_FORM = "TEST:effect=VALUE,n=RECORDS,…"


def numbers(texts: Iterable[str] | None, option: str) -> list[float]:
    """Read numbers in [0, ∞], comma-separated or in several options.

    Raises
    ------
    InvalidInputError
        If one is no such number.
    """
    return [_parse.number(item, option) for text in texts or () for item in str(text).split(",")]


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
    if word[:1] in {"-", "−"}:
        return -_parse.number(word[1:], name)
    return _parse.number(word, name)


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
    family, rest = _head(text, option, MECHANISM_FORM)
    if family not in FAMILIES:
        msg = f"expected {option} to start with a family, got {family!r}."
        raise InvalidInputError(msg + did_you_mean(family, FAMILIES))
    parameter = PARAMETERS[family]
    found = _settings(rest, option, parameter, (parameter, *EXTRAS[family]))
    if parameter not in found:
        msg = f"expected {option} {family}:VALUE, got {text!r}"
        raise InvalidInputError(msg)
    value = _parse.number(found.pop(parameter), f"{parameter} of {family}")
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
        return _parse.number(text, name)
    if text not in ADJACENCIES:
        msg = f"expected adjacency add-remove or replace, got {text!r}"
        raise InvalidInputError(msg)
    return ADJACENCIES[text]


def _head(text: str, option: str, form: str) -> tuple[str, str]:
    head, colon, rest = text.partition(":")
    if not colon or not rest.strip():
        msg = f"expected {option} {form}, got {text!r}"
        raise InvalidInputError(msg)
    return head.strip().lower(), rest


def _settings(text: str, option: str, first: str, known: Iterable[str]) -> dict[str, str]:
    """Split ``VALUE,NAME=VALUE``; the first may go without its name."""
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
            msg = f"expected one {name} in {option}, got {found[name]!r} and {value!r}"
            raise InvalidInputError(msg)
        found[name] = value
    return found


def design(test: str, given: Mapping[str, str]) -> Design:
    """Test by its name and settings as texts.

    Raises
    ------
    InvalidInputError
        If a setting does not belong to the test, or is not of its kind.
    """
    from seepage.risk import designs

    for name in given:
        if name not in TESTS[test]:
            known = ", ".join(TESTS[test])
            msg = f"expected settings of the test {test!r} ({known}), got {name!r}"
            raise InvalidInputError(msg)

    def read(name: str, reader: Callable[[object, str], Any], default: Any) -> Any:
        return reader(given[name], name) if name in given else default

    def values(suffix: str = "") -> Values:
        names = {name: f"{name}{suffix}" for name in VALUES if f"{name}{suffix}" in TESTS[test]}
        asked = {k: signed(given[v], v) for k, v in names.items() if v in given}
        return designs.Values(**asked)

    z = read("z", _flag, False)
    match test:
        case "mean":
            return designs.OneSampleMean(values(), known_sd=z)
        case "paired":
            return designs.PairedDifference(values(), known_sd=z)
        case "means":
            ratio = read("ratio", _parse.number, 1.0)
            return designs.TwoSampleMeans(values(), ratio=ratio, known_sd=z)
        case "proportion":
            return designs.OneProportion(read("null", _parse.number, 0.5))
        case "proportions":
            return designs.TwoProportions(
                read("first", _parse.number, 0.5), read("ratio", _parse.number, 1.0)
            )
        case "independence":
            if "table" not in given:
                msg = "expected a planned table of counts for the test of independence, got none"
                raise InvalidInputError(msg)
            return designs.Independence(_table(given["table"]))
        case "correlation":
            return designs.Correlation(values(), values("2"))
        case _:
            return designs.Slope(
                values(), values("2"), others=read("others", whole, 0),
                shared=read("shared", _parse.number, 0.0),
                explained_sd=read("explained", _parse.number, 0.0), known_sd=z,
            )  # fmt: skip


def _flag(text: object, name: str) -> bool:
    word = str(text).strip().lower()
    if word not in {"yes", "no", "true", "false"}:
        msg = f"expected {name} to be yes or no, got {text!r}"
        raise InvalidInputError(msg)
    return word in {"yes", "true"}


def _table(text: str) -> list[list[float]]:
    """Read ``30 10/10 30``: rows by slashes, cells by spaces."""
    rows = [
        [_parse.number(cell, "a cell of the table") for cell in row.replace(";", " ").split()]
        for row in text.split("/")
    ]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        msg = f"expected a table such as '30 10/10 30', rows of one length, got {text!r}"
        raise InvalidInputError(msg)
    return rows


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


def test_of(text: str, option: str, protection: Protection) -> PowerResult:
    """Read ``mean:effect=0.2,n=50,sd=0.5,low=0,high=1`` and find its power.

    Raises
    ------
    InvalidInputError
        If the text has another form, or a setting is outside its range.
    """
    from seepage.risk.power import power

    name, rest = _head(text, option, TEST_FORM)
    if name not in TESTS:
        msg = f"expected {option} to start with a test, got {name!r}.{did_you_mean(name, TESTS)}"
        raise InvalidInputError(msg)
    found = _settings(rest, option, "effect", ("effect", "n", "level", "side", *TESTS[name]))
    missing = [key for key in ("effect", "n") if key not in found]
    if missing:
        msg = f"expected {option} {TEST_FORM}, got no {missing[0]} in {text!r}"
        raise InvalidInputError(msg)
    effect, n = signed(found.pop("effect"), "effect"), whole(found.pop("n"), "n")
    level = _parse.number(found.pop("level", "0.05"), "level")
    side: Any = found.pop("side", SIDES[0])
    return power(
        design(name, found), effect, n, level, alternative=side, protection=protection, draws=20_000
    )
