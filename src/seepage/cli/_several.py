"""Several tests on the command line of ``seepage power``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seepage.cli import _parse, _tests
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.risk.multiple import PlannedTest

SEVERAL = "Several tests"


class Correction(StrEnum):
    """What keeps false alarms of several tests together rare."""

    NONE = "none"
    BONFERRONI = "bonferroni"
    BENJAMINI_HOCHBERG = "benjamini-hochberg"


@dataclass(frozen=True)
class SeveralOptions:
    """Tests that share one protection."""

    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="TEST:effect=E,n=N,…",
            rich_help_panel=SEVERAL,
            help="In place of TEST: one of several tests, such as mean:effect=0.2,n=100,sd=0.5,"
            "low=0,high=1,z=yes,name=score. Repeatable.",
        ),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "--tests",
            metavar="FILE",
            rich_help_panel=SEVERAL,
            help="The same from a YAML or JSON file: a list of objects with test, effect, n, …",
        ),
    ] = None
    correction: Annotated[
        Correction,
        typer.Option(
            "--correction", rich_help_panel=SEVERAL, help="How --level is shared by the tests."
        ),
    ] = Correction.BONFERRONI
    true_share: Annotated[
        str,
        typer.Option(
            "--true-share",
            metavar="SHARE",
            rich_help_panel=SEVERAL,
            help="Share of all tests that are made which have a true effect, as those given do.",
        ),
    ] = "1"

    @property
    def given(self) -> bool:
        """Whether there are several tests, or one of this form."""
        return bool(self.tests) or self.file is not None

    def read(self) -> list[PlannedTest]:
        """Return the planned tests, with different names.

        Raises
        ------
        InvalidInputError
            If one is not of its form.
        TableError
            If the file is not of its form.
        """
        found = []
        for text in self.tests or ():
            test, settings = _tests.read_test(text, "--test")
            found.append((test, settings, "--test"))
        if self.file is not None:
            from seepage.plan.test_files import read_test_file

            for position, settings in enumerate(read_test_file(self.file), 1):
                where = f"test {position} of --tests {str(self.file)!r}"
                test = settings.pop("test")
                _tests.check_test(test, where)
                found.append((test, settings, where))
        planned: list[PlannedTest] = []
        for test, settings, where in found:
            number = len(planned) + 1
            named = {"name": f"test {number}, {test}"} | settings
            planned.append(_tests.planned(test, named, where))
        return planned

    def share(self) -> float:
        """Return the share of true effects.

        Raises
        ------
        InvalidInputError
            If it is no number.
        """
        share = _parse.number(self.true_share, "--true-share")
        if not 0 < share <= 1:
            msg = f"expected --true-share in (0, 1], got {self.true_share!r}"
            raise InvalidInputError(msg)
        return share
