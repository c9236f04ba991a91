"""Texts of the command line to statistical tests: ``mean:effect=1,n=9``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from seepage.cli import _parse
from seepage.cli._mechanisms import head, settings, signed, whole
from seepage.cli._names import in_options
from seepage.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from seepage.risk.designs import Design, Values
    from seepage.risk.multiple import PlannedTest
    from seepage.risk.power import PowerResult
    from seepage.risk.protections import Protection

SIDES = ("two-sided", "larger", "smaller")
VALUES = ("sd", "low", "high", "mean")
FLAGS = ("z", "grid")
TESTS: Mapping[str, tuple[str, ...]] = {
    "mean": (*VALUES, "z", "grid"),
    "paired": (*VALUES, "z", "grid"),
    "means": (*VALUES, "z", "grid", "ratio"),
    "proportion": ("null",),
    "proportions": ("first", "ratio"),
    "independence": ("table",),
    "correlation": (*VALUES, "grid", "sd2", "low2", "high2"),
    "slope": (*VALUES, "z", "grid", "sd2", "low2", "high2", "others", "shared", "explained"),
}
"""Tests, and what each needs to know besides effect, records and level."""

TEST_FORM = "TEST:effect=VALUE,n=RECORDS,…"
PLANNED = ("name", "effect", "n", "side", "k")
"""What every planned test has."""

ARGUMENTS = {
    "alternative": "side",
    "alpha": "level",
    "known_sd=True": "z",
    "known_sd=False": "no z",
    "known_sd": "z",
    "on_grid": "grid",
    "explained_sd": "explained",
    "joint": "table",
    **{name: name for known in TESTS.values() for name in known if name not in FLAGS},
    **{name: name for name in ("effect", "n", "k")},
}
"""Arguments of a test, and the settings that they are typed as."""


def typed(prefix: str = "", suffix: str = "") -> dict[str, str]:
    """What is typed for each argument of a test."""
    return {
        name: f"no {prefix}{text[3:]}{suffix}" if text[:3] == "no " else f"{prefix}{text}{suffix}"
        for name, text in ARGUMENTS.items()
    }


def design(test: str, given: Mapping[str, str], prefix: str = "", where: str = "") -> Design:
    """Test by its name and settings as texts.

    Parameters
    ----------
    test : str
    given : mapping of str to str
    prefix : str
        What stands before the name of a setting where the user typed it.
    where : str
        Where the test was given, with " in " before it.

    Raises
    ------
    InvalidInputError
        If a setting does not belong to the test, or is not of its kind.
    """
    from seepage.risk import designs

    for name in given:
        if name not in TESTS[test]:
            known = ", ".join(prefix + setting for setting in TESTS[test])
            got = prefix + name if prefix else repr(name)
            msg = f"expected settings of the test {test!r}{where} ({known}), got {got}"
            raise InvalidInputError(msg)

    def read(name: str, reader: Callable[[object, str], Any], default: Any) -> Any:
        return reader(given[name], prefix + name) if name in given else default

    grid = read("grid", _flag, False)

    def values(suffix: str = "") -> Values:
        names = {name: f"{name}{suffix}" for name in VALUES if f"{name}{suffix}" in TESTS[test]}
        asked = {k: signed(given[v], prefix + v) for k, v in names.items() if v in given}
        with in_options(names if suffix else {}):
            return designs.Values(**asked, on_grid=grid)

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
            return designs.OneProportion(read("null", _share, 0.5))
        case "proportions":
            return designs.TwoProportions(
                read("first", _share, 0.5), read("ratio", _parse.number, 1.0)
            )
        case "independence":
            if "table" not in given:
                msg = f"expected {prefix}table, planned counts, for independence, got none"
                raise InvalidInputError(msg)
            return designs.Independence(_table(given["table"]))
        case "correlation":
            return designs.Correlation(values(), values("2"))
        case _:
            return designs.Slope(
                values(), values("2"), others=read("others", whole, 0),
                shared=read("shared", _share, 0.0),
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


def read_test(text: str, option: str, *more: str) -> tuple[str, dict[str, str]]:
    """Split ``mean:effect=0.2,n=50,sd=0.5`` into the name of the test and its settings.

    Raises
    ------
    InvalidInputError
        If the text has another form.
    """
    test, rest = head(text, option, TEST_FORM)
    check_test(test, option)
    return test, settings(rest, option, "effect", (*PLANNED, *more, *TESTS[test]))


def check_test(test: object, where: str) -> None:
    """Refuse what is the name of no test.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    if test not in TESTS:
        msg = f"expected {where} to start with a test, got {test!r}.{did_you_mean(test, TESTS)}"
        raise InvalidInputError(msg)


def planned(test: str, given: Mapping[str, str], where: str) -> PlannedTest:
    """Planned test by its name and settings as texts.

    Raises
    ------
    InvalidInputError
        If a setting is missing, does not belong to the test, or is outside its range.
    """
    from seepage.risk.multiple import PlannedTest

    missing = [key for key in ("effect", "n") if key not in given]
    if missing:
        msg = f"expected {where} {TEST_FORM}, got no {missing[0]} in the test {test!r}"
        raise InvalidInputError(msg)
    own = {name: text for name, text in given.items() if name not in PLANNED}
    side: Any = given.get("side", SIDES[0])
    with in_options(typed("", f" of {where}")):
        return PlannedTest(
            design(test, own, where=f" in {where}"),
            signed(given["effect"], "effect"),
            whole(given["n"], "n"),
            side,
            name=given.get("name", ""),
            k=whole(given["k"], "k") if "k" in given else None,
        )


def power_of(text: str, option: str, protection: Protection) -> PowerResult:
    """Read ``mean:effect=0.2,n=50,sd=0.5,low=0,high=1`` and find its power.

    Raises
    ------
    InvalidInputError
        If the text has another form, or a setting is outside its range.
    """
    from seepage.risk.power import power

    name, found = read_test(text, option, "level")
    level = _parse.number(found.pop("level", "0.05"), f"level of {option}", 1)
    test = planned(name, found, option)
    with in_options(typed("", f" of {option}")):
        return power(
            test.design, test.effect, test.n, level, alternative=test.alternative,
            protection=protection, draws=20_000,
        )  # fmt: skip


def _share(text: object, name: str) -> float:
    return _parse.number(text, name, 1)
