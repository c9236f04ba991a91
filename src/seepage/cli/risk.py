"""``seepage risk``: what a mechanism means for a person in the data, and which one to choose."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seepage.cli import _mechanisms, _output, _parse, _tests
from seepage.cli import risk_choose as _choose
from seepage.cli._options import OUTPUT, Command, FileOptions, RunOptions, expand
from seepage.cli._risk_options import MECHANISM, TYPED, AttackerOptions, finish
from seepage.cli._run import EXIT_CODES, guard

if TYPE_CHECKING:
    from seepage.plan.risking import Mechanism

HELP = (
    "Say what a privacy mechanism means for a person in the data.\n\n"
    "An attacker suspects something about a person, sees the release, and flags the person or "
    "not. These commands say how often the best attacker is right, at most: of 100 people he "
    "flags, of 100 people there are to find. Start with [bold]choose[/bold] when no mechanism is "
    "fixed yet."
)
EPILOG = (
    "[bold]seepage risk gaussian --mu 1 --floor .01 --prior .01,.1,.5[/bold]\n\n"
    "[bold]seepage risk choose --relative-risk 3[/bold]\n\n"
    "[bold]seepage risk card gaussian:1 --html card.html --chart card.png[/bold]\n\n"
    f"Exit codes: 0 done, 1 no mechanism meets the wishes, {EXIT_CODES}."
)

app = typer.Typer(
    name="risk",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
    epilog=EPILOG,
)

MuOption = Annotated[
    list[str],
    typer.Option(
        "--mu",
        metavar="MU[,MU…]",
        rich_help_panel=MECHANISM,
        help="Privacy-loss parameter, 0 to inf; the larger, the less protection. Several stand "
        "side by side.",
    ),
]
EpsilonOption = Annotated[
    list[str],
    typer.Option(
        "--epsilon",
        "-e",
        metavar="EPS[,EPS…]",
        rich_help_panel=MECHANISM,
        help="ε, 0 to inf; the larger, the less protection. Several stand side by side.",
    ),
]
TimesOption = Annotated[
    int,
    typer.Option(
        "--times",
        metavar="K",
        rich_help_panel=MECHANISM,
        help="So many releases are made this way from the same data.",
    ),
]
RateOption = Annotated[
    str,
    typer.Option(
        "--rate",
        metavar="SHARE",
        rich_help_panel=MECHANISM,
        help="It is run on a random sample of this share of the records, kept secret.",
    ),
]


class Adjacency(StrEnum):
    """What two tables differ in that must look alike."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


AdjacencyOption = Annotated[
    Adjacency,
    typer.Option(
        "--adjacency",
        rich_help_panel=MECHANISM,
        help="What the parameter protects: whether a person is in the data (add-remove), or what "
        "the record of a person is (replace).",
    ),
]


AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="FAMILY:VALUE",
        rich_help_panel=MECHANISM,
        help="Another mechanism to stand beside it: laplace:1, gaussian:1, response:1,k=4, "
        "sampling:1,n=100 or dp:1,delta=1e-6. Repeatable.",
    ),
]


def _compare(
    make: Callable[[], list[Mechanism]],
    against: list[str] | None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    with guard(debug=run.debug, options=TYPED, table=False):
        outputs = _output.requested(files)
        _output.check(outputs, ())
        options = attacker.read()
        chosen = make()
        chosen += [_mechanisms.mechanism_of(text, "--against") for text in against or ()]
        from seepage.plan.risking import compare_risks

        finish(compare_risks(chosen, **options), outputs, run)


@expand
def laplace(
    *,
    mu: MuOption,
    times: TimesOption = 1,
    rate: RateOption = "1",
    adjacency: AdjacencyOption = Adjacency.ADD_REMOVE,
    against: AgainstOption = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Laplace noise of scale sensitivity/μ on a number.

    No release proves anything, and no belief grows by more than the factor e^μ.
    """
    _compare(
        lambda: _noise("laplace", mu, "--mu", times=times, rate=rate, adjacency=adjacency),
        against, attacker, files, run,
    )  # fmt: skip


@expand
def gaussian(
    *,
    mu: MuOption,
    times: TimesOption = 1,
    rate: RateOption = "1",
    adjacency: AdjacencyOption = Adjacency.ADD_REMOVE,
    against: AgainstOption = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Gaussian noise of standard deviation sensitivity/μ on a number.

    No release proves anything, but an attacker can come close to certainty about a few people; how
    few, the --floor decides.
    """
    _compare(
        lambda: _noise("gaussian", mu, "--mu", times=times, rate=rate, adjacency=adjacency),
        against, attacker, files, run,
    )  # fmt: skip


@expand
def response(
    *,
    epsilon: EpsilonOption,
    k: Annotated[
        int,
        typer.Option(
            "--k", metavar="K", rich_help_panel=MECHANISM, help="Number of possible answers."
        ),
    ] = 2,
    times: TimesOption = 1,
    against: AgainstOption = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """Randomised response: everybody randomises one answer before it is collected."""
    _compare(
        lambda: [
            _mechanisms.mechanism("response", value, k=k, times=times)
            for value in _mechanisms.numbers(epsilon, "--epsilon")
        ],
        against, attacker, files, run,
    )  # fmt: skip


@expand
def sampling(
    *,
    mu: MuOption,
    records: Annotated[
        int,
        typer.Option(
            "--records", "-n", metavar="N", rich_help_panel=MECHANISM, help="Number of records."
        ),
    ],
    times: TimesOption = 1,
    rate: RateOption = "1",
    against: AgainstOption = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """One record out of n, with probability 1 − e^−μ, is published as it is.

    The warning example: nearly harmless on average, and a blatant disclosure for one person.
    """
    _compare(
        lambda: [
            _mechanisms.mechanism(
                "sampling", value, n=records, times=times, rate=_parse.number(rate, "--rate", 1)
            )
            for value in _mechanisms.numbers(mu, "--mu")
        ],
        against, attacker, files, run,
    )  # fmt: skip


@expand
def dp(
    *,
    epsilon: EpsilonOption,
    delta: Annotated[
        str,
        typer.Option(
            "--delta", metavar="DELTA", rich_help_panel=MECHANISM, help="δ, 0 to 1; 0 for pure ε."
        ),
    ] = "0",
    times: TimesOption = 1,
    rate: RateOption = "1",
    adjacency: AdjacencyOption = Adjacency.ADD_REMOVE,
    against: AgainstOption = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """The most that anything (ε, δ)-differentially private can reveal."""
    _compare(
        lambda: _noise(
            "dp", epsilon, "--epsilon", times=times, rate=rate, adjacency=adjacency,
            delta=_parse.number(delta, "--delta", 1),
        ),
        against, attacker, files, run,
    )  # fmt: skip


def _noise(
    family: str,
    values: list[str],
    option: str,
    *,
    times: int,
    rate: str,
    adjacency: Adjacency,
    **options: Any,
) -> list[Mechanism]:
    share = _parse.number(rate, "--rate", 1)
    compared = _mechanisms.ADJACENCIES[adjacency]
    return [
        _mechanisms.mechanism(family, value, times=times, rate=share, adjacency=compared, **options)
        for value in _mechanisms.numbers(values, option)
    ]


@expand
def card(
    *,
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM",
            help="laplace:1, gaussian:1, response:1,k=4, sampling:1,n=100 or dp:1,delta=1e-6; with "
            "times=K, rate=SHARE, adjacency=replace after it, where they apply.",
        ),
    ],
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TEST:effect=E,n=N,…",
            rich_help_panel=OUTPUT,
            help="What the analyst wants to find, such as mean:effect=0.2,n=100,sd=0.5,low=0,"
            "high=1; the settings are the options of seepage power.",
        ),
    ] = None,
    attacker: AttackerOptions,
    files: FileOptions,
    run: RunOptions,
) -> None:
    """A risk card: what can happen to a person in the data, how likely, compared with what.

    With --chart the whole card becomes a picture.
    """
    with guard(debug=run.debug, options=TYPED, table=False):
        outputs = [
            _output.Output(o.option, o.path, _picture(o.path.suffix.lower()))
            if o.option == "--chart" and o.path is not None
            else o
            for o in _output.requested(files)
        ]
        _output.check(outputs, ())
        options = attacker.read()
        chosen = _mechanisms.mechanism_of(mechanism, "MECHANISM")
        from seepage.plan.power_rooms import protected_risk
        from seepage.plan.risking import risk_card

        if not test:
            result = risk_card(chosen, **options)
        else:
            protection = _mechanisms.protection_of(chosen)
            kept = _tests.power_of(test, "--test", protection)
            found = protected_risk(kept.design, protection, **options)
            result = risk_card(found, tests=[kept])
        finish(result, outputs, run)


def _picture(suffix: str) -> _output.Render:
    def render(result: Any) -> bytes:
        from seepage.report.card_svg import card_picture

        return card_picture(result, suffix)

    return render


def flowing(text: str | None) -> str:
    """A docstring as help: paragraphs without line breaks."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for _verb, _short in (
    (laplace, "Laplace noise on a number."),
    (gaussian, "Gaussian (normal) noise on a number."),
    (response, "Randomised response: people randomise answers."),
    (sampling, "One record out of many is published."),
    (dp, "Anything that is (ε, δ)-differentially private."),
    (_choose.choose, "From what may happen to a mechanism."),
    (card, "One page for people who do not know parameters."),
):
    app.command(_verb.__name__, cls=Command, short_help=_short, help=flowing(_verb.__doc__))(_verb)
