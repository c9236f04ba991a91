"""``seepage power``: what a test keeps under protection, and the risk that goes with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from seepage.cli import _mechanisms, _output, _parse, _tests
from seepage.cli._options import FileOptions, RunOptions, expand
from seepage.cli._risk_options import ATTACKER, AttackerOptions, show
from seepage.cli._risk_options import TYPED as ATTACK
from seepage.cli._run import EXIT_CODES, TARGET_MISSED, Work, guard, say
from seepage.cli._several import SeveralOptions
from seepage.errors import InvalidInputError

if TYPE_CHECKING:
    from seepage.plan.power_families import FamilyReport
    from seepage.plan.powering import PowerReport
    from seepage.risk.protections import Protection

HELP = (
    "Say what a statistical test keeps when the data are protected, and what the protection means "
    "for the people in the data.\n\n"
    "Give --effect and --n for the power of the test; leave one out to find the smallest. Add a "
    "protection (--laplace, --gaussian, --response) to see what it costs. Or say what may be lost "
    "(--target-loss) and what the attacker may gain (--attack-power, --relative-risk, "
    "--posterior): the answer is the room that both sides leave."
)
EPILOG = (
    "[bold]seepage power mean --effect 0.2 --n 100 --sd 0.5 --low 0 --high 1 --gaussian 1"
    "[/bold]\n\n"
    "[bold]seepage power proportion --null 0.3 --effect 0.1 --laplace 0.5[/bold]\n\n"
    "[bold]seepage power independence --table '30 10/10 30' --effect 0.3 --n 200 --response 1"
    "[/bold]\n\n"
    "[bold]seepage power mean --z --effect 0.2 --n 100 --sd 0.5 --low 0 --high 1 --target-loss "
    "0.05 --attack-power 0.1 --chart region.png[/bold]\n\n"
    "[bold]seepage power --test mean:0.2,n=100,sd=0.5,low=0,high=1,z=yes --test "
    "proportion:0.15,n=120,null=0.3 --target-loss 0.05 --attack-power 0.1[/bold]\n\n"
    f"Exit codes: 0 done, 1 the wishes exclude each other, {EXIT_CODES}."
)
TEST, PROTECTION, WISHES = "Test", "Protection", "Wishes"
TYPED = {
    **ATTACK,
    **_tests.typed("--"),
    "alpha": "--level",
    "target": "--power",
    "target_loss": "--target-loss",
    "families": "--family",
    "epsilon": "--response",
    "rng": "--seed",
}
"""Arguments of the functions behind this verb, and the options that stand for them."""


T = TypeVar("T")

TESTED = "What is tested; left out where tests are given with --test or --tests."

LIMITS = ("relative_risk", "attack_power", "posterior")


class Test(StrEnum):
    """What is tested."""

    MEAN = "mean"
    PAIRED = "paired"
    MEANS = "means"
    PROPORTION = "proportion"
    PROPORTIONS = "proportions"
    INDEPENDENCE = "independence"
    CORRELATION = "correlation"
    SLOPE = "slope"


class Side(StrEnum):
    """Which effects are looked for."""

    TWO_SIDED = "two-sided"
    LARGER = "larger"
    SMALLER = "smaller"


class Family(StrEnum):
    """Protections of a test."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    RESPONSE = "response"


class Rule(StrEnum):
    """How a loss is counted."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"


def _setting(name: str, metavar: str, text: str) -> Any:
    return typer.Option(
        f"--{name}", metavar=metavar, show_default=False, rich_help_panel=TEST, help=text
    )


@dataclass(frozen=True)
class DesignOptions:
    """What a test needs to know about the data."""

    sd: Annotated[
        str | None, _setting("sd", "SD", "Standard deviation of the values. \\[default: 1]")
    ] = None
    low: Annotated[
        str | None,
        _setting("low", "X", "Declared smallest value; needed for a protection of numbers."),
    ] = None
    high: Annotated[str | None, _setting("high", "X", "Declared largest value.")] = None
    mean: Annotated[
        str | None,
        _setting("mean", "X", "Planned mean, for --response. \\[default: the middle]"),
    ] = None
    z: Annotated[
        bool,
        typer.Option(
            "--z",
            rich_help_panel=TEST,
            help="The standard deviation is known: a z test in place of a t test.",
        ),
    ] = False
    grid: Annotated[
        bool,
        typer.Option(
            "--grid",
            rich_help_panel=TEST,
            help="For --response: the values are themselves among the --k answers, so that none is "
            "rounded.",
        ),
    ] = False
    ratio: Annotated[
        str | None,
        _setting("ratio", "R", "Records of the second group for one of the first. \\[default: 1]"),
    ] = None
    null: Annotated[
        str | None,
        _setting("null", "P", "The proportion that is compared with. \\[default: 0.5]"),
    ] = None
    first: Annotated[
        str | None,
        _setting("first", "P", "Planned proportion of the first group. \\[default: 0.5]"),
    ] = None
    table: Annotated[
        str | None,
        _setting(
            "table", "'A B/C D'", "Planned table of two attributes: rows by /, cells by spaces."
        ),
    ] = None
    sd2: Annotated[
        str | None, _setting("sd2", "SD", "The same of the second attribute, the predictor.")
    ] = None
    low2: Annotated[str | None, _setting("low2", "X", "Its declared smallest value.")] = None
    high2: Annotated[str | None, _setting("high2", "X", "Its declared largest value.")] = None
    others: Annotated[
        str | None, _setting("others", "K", "Other predictors of a regression. \\[default: 0]")
    ] = None
    shared: Annotated[
        str | None,
        _setting("shared", "R2", "R² of the predictor given the others. \\[default: 0]"),
    ] = None
    explained: Annotated[
        str | None,
        _setting("explained", "SD", "Standard deviation that the others explain. \\[default: 0]"),
    ] = None

    def given(self) -> Mapping[str, str]:
        """Return the options that were given."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        texts = {name: value for name, value in found.items() if isinstance(value, str)}
        return texts | {name: "yes" for name in _tests.FLAGS if getattr(self, name)}


@dataclass(frozen=True)
class ProtectionOptions:
    """What stands between the data and the test."""

    laplace: Annotated[
        str | None,
        typer.Option(
            "--laplace",
            metavar="MU",
            rich_help_panel=PROTECTION,
            help="Laplace noise on the statistic.",
        ),
    ] = None
    gaussian: Annotated[
        str | None,
        typer.Option(
            "--gaussian",
            metavar="MU",
            rich_help_panel=PROTECTION,
            help="Gaussian noise on the statistic.",
        ),
    ] = None
    response: Annotated[
        str | None,
        typer.Option(
            "--response",
            metavar="EPS[,EPS]",
            rich_help_panel=PROTECTION,
            help="Randomised response on every record. A test of two attributes may have a "
            "budget for each; with inf an attribute is public. Beside --others only the outcome is "
            "randomised.",
        ),
    ] = None
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K[,K]",
            rich_help_panel=PROTECTION,
            help="Number of answers of randomised response, for numbers; one for each attribute "
            "where they differ.",
        ),
    ] = None

    def read(self) -> Protection | None:
        """Return the protection, or None.

        Raises
        ------
        InvalidInputError
            If there are several.
        """
        from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

        given = {
            name: value
            for name in ("laplace", "gaussian", "response")
            if (value := getattr(self, name)) is not None
        }
        if len(given) > 1:
            got = " and ".join(f"--{name}" for name in given)
            msg = f"expected one of --laplace, --gaussian and --response, got {got}"
            raise InvalidInputError(msg)
        if "laplace" in given:
            return LaplaceNoise(_parse.number(given["laplace"], "--laplace"))
        if "gaussian" in given:
            return GaussianNoise(_parse.number(given["gaussian"], "--gaussian"))
        if not given:
            return None
        budgets = _pair(given["response"], "--response", _parse.number)
        return RandomizedResponse(budgets, self.sizes())

    def sizes(self) -> int | tuple[int, int] | None:
        """Return the numbers of answers, or None.

        Raises
        ------
        InvalidInputError
            If they are no whole numbers, or more than two.
        """
        return None if self.k is None else _pair(self.k, "--k", _mechanisms.whole)


def _pair(text: str, name: str, read: Callable[[str, str], T]) -> T | tuple[T, T]:
    """One value or two, with a comma between them."""
    found = [read(item, name) for item in text.split(",")]
    if len(found) > 2:
        msg = f"expected {name} with one number or two, got {text!r}"
        raise InvalidInputError(msg)
    return found[0] if len(found) == 1 else (found[0], found[1])


@dataclass(frozen=True)
class WishOptions:
    """What either side asks for."""

    target_loss: Annotated[
        str | None,
        typer.Option(
            "--target-loss",
            metavar="LOSS",
            rich_help_panel=WISHES,
            help="The analyst: the power may fall by this much at most, 0 to 1. The answer is the "
            "smallest parameter.",
        ),
    ] = None
    rule: Annotated[
        Rule,
        typer.Option(
            "--rule",
            rich_help_panel=WISHES,
            help="absolute: power lost; relative: growth of the share of effects missed.",
        ),
    ] = Rule.ABSOLUTE
    relative_risk: Annotated[
        str | None,
        typer.Option(
            "--relative-risk",
            metavar="FACTOR",
            rich_help_panel=WISHES,
            help="The people in the data: largest factor by which a belief may grow, at the "
            "--floor. The answer is the largest parameter.",
        ),
    ] = None
    attack_power: Annotated[
        str | None,
        typer.Option(
            "--attack-power",
            metavar="SHARE",
            rich_help_panel=WISHES,
            help="Or the largest share of people that the attack may find, at the --floor.",
        ),
    ] = None
    posterior: Annotated[
        str | None,
        typer.Option(
            "--posterior",
            metavar="P",
            rich_help_panel=WISHES,
            help="Or the largest belief after an alarm, from --belief before.",
        ),
    ] = None
    belief: Annotated[
        str | None,
        typer.Option(
            "--belief", metavar="P", rich_help_panel=WISHES, help="The belief before, 0 to 1."
        ),
    ] = None
    family: Annotated[
        list[Family] | None,
        typer.Option(
            "--family",
            rich_help_panel=WISHES,
            show_default=False,
            help="Protections to look at. Repeatable. \\[default: laplace, gaussian]",
        ),
    ] = None

    def read(self) -> dict[str, Any]:
        """Return the options of `plan_test` that were given."""
        texts = {
            "target_loss": self.target_loss,
            "relative_risk": self.relative_risk,
            "attack_power": self.attack_power,
            "posterior": self.posterior,
            "belief": self.belief,
        }
        open_ended = {"relative_risk", *(["target_loss"] if str(self.rule) == "relative" else [])}
        found: dict[str, Any] = {
            name: _parse.number(
                text, "--" + name.replace("_", "-"), math.inf if name in open_ended else 1
            )
            for name, text in texts.items()
            if text is not None
        }
        limits = [f"--{name.replace('_', '-')}" for name in LIMITS if name in found]
        if len(limits) > 1:
            msg = (
                "expected one of --relative-risk, --attack-power and --posterior, "
                f"got {' and '.join(limits)}"
            )
            raise InvalidInputError(msg)
        if ("posterior" in found) != ("belief" in found):
            given, other = ("posterior", "belief") if "posterior" in found else (
                "belief", "posterior"
            )  # fmt: skip
            msg = f"expected --{other} together with --{given}, got none"
            raise InvalidInputError(msg)
        if self.family:
            found["families"] = [_mechanisms.FAMILIES[name] for name in self.family]
        return found | {"rule": str(self.rule)}


@expand
def power(
    *,
    test: Annotated[
        Test | None,
        typer.Argument(metavar="TEST", show_default=False, help=TESTED),
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(
            "--effect",
            metavar="E",
            rich_help_panel=TEST,
            help="True effect, in the unit of the values; Cohen's w for independence. Without it "
            "the smallest that is found is looked for.",
        ),
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "--n",
            "-n",
            metavar="N",
            rich_help_panel=TEST,
            help="Records (of the first group where there are two). Without it the smallest "
            "number is looked for.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--power",
            metavar="P",
            show_default=False,
            rich_help_panel=TEST,
            help="Power that is looked for; of several tests, that each must have. "
            "\\[default: 0.8, of one]",
        ),
    ] = None,
    level: Annotated[
        str,
        typer.Option("--level", metavar="ALPHA", rich_help_panel=TEST, help="Level of the test."),
    ] = "0.05",
    side: Annotated[
        Side, typer.Option("--side", rich_help_panel=TEST, help="Which effects are looked for.")
    ] = Side.TWO_SIDED,
    data: DesignOptions,
    several: SeveralOptions,
    protection: ProtectionOptions,
    wishes: WishOptions,
    attacker: AttackerOptions,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, rich_help_panel=ATTACKER, help="Seed of simulations.", hidden=True
        ),
    ] = 0,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Say what a test keeps under protection, and what that means for the people in the data."""
    with guard(debug=run.debug, options=TYPED, table=False):
        outputs = _output.requested(files)
        _output.check(outputs, ())
        options: dict[str, Any] = {
            "effect": None if effect is None else _mechanisms.signed(effect, "--effect"),
            "n": None if n is None else _mechanisms.whole(n, "--n"),
            "target": _parse.number("0.8" if target is None else target, "--power", 1),
            "alpha": _parse.number(level, "--level", 1),
            "alternative": str(side),
            "protection": protection.read(),
            "k": protection.sizes(),
            "rng": seed,
            **wishes.read(),
            **attacker.read(),
        }
        result: PowerReport | FamilyReport
        make: Callable[[Work], PowerReport | FamilyReport]
        if several.given:
            words = {"TEST": test, "--effect": effect, "--n": n}
            _alone([name for name, x in words.items() if x], data, side, protection)
            make = _family(several, options, target)
        else:
            make = _single(test, data, several, options)
        with Work(quiet=run.quiet) as work:
            work.stage("Working out the power")
            result = make(work)
            work.stage("Writing")
            written = _output.write(outputs, result)
        if not run.quiet:
            if all(output.path is not None for output in outputs):
                show(result, outputs)
            for file in written:
                say(f"wrote {file}")
        if not result.feasible:
            say(f"target missed: {result.verdict}")
            raise typer.Exit(TARGET_MISSED)


def _single(
    test: Test | None, data: DesignOptions, several: SeveralOptions, options: dict[str, Any]
) -> Callable[[Work], PowerReport]:
    if test is None:
        msg = f"expected a TEST ({', '.join(Test)}), --test or --tests, got none"
        raise InvalidInputError(msg)
    if several != SeveralOptions():
        msg = "expected --correction and --true-share together with --test or --tests, got TEST"
        raise InvalidInputError(msg)
    planned = _tests.design(str(test), data.given(), "--")
    from seepage.plan.powering import plan_test

    return lambda _: plan_test(planned, **options)


def _family(
    several: SeveralOptions, options: dict[str, Any], target: str | None
) -> Callable[[Work], FamilyReport]:
    planned = several.read()
    for name in ("effect", "n", "target", "alternative", "protection", "k"):
        del options[name]
    if target is not None:
        if "target_loss" in options:
            msg = "expected one of --power and --target-loss for several tests, got both"
            raise InvalidInputError(msg)
        options |= {"rule": "power", "target_loss": _parse.number(target, "--power", 1)}
    correction: Any = str(several.correction).replace("-", "_")
    from seepage.plan.power_families import plan_tests

    return lambda work: plan_tests(
        planned,
        correction=correction,
        true_share=several.share(),
        progress=work.step,
        **options,
    )


def _alone(used: list[str], data: DesignOptions, side: Side, protection: ProtectionOptions) -> None:
    """Refuse options of one test beside several."""
    given = used + [f"--{name}" for name in data.given()]
    given += ["--side"] if side is not Side.TWO_SIDED else []
    if given:
        msg = f"expected the settings of each test in --test or --tests, got {given[0]} beside them"
        raise InvalidInputError(msg)
    if protection != ProtectionOptions():
        msg = (
            "expected --target-loss, --power or a limit on the attacker for several tests, got a "
            "protection: its power is seepage.family_power"
        )
        raise InvalidInputError(msg)
