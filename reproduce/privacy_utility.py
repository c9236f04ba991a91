"""Figures 1 to 5 of the paper on balancing privacy and utility.

    python reproduce/privacy_utility.py --figure 3 --out out

Figure 1: trade-off curves of Laplace noise, Gaussian noise and uniform sampling, with the bounds of
(ε, δ)-differential privacy. Figure 2: belief after an alarm over the share of people missed.
Figure 3: relative disclosure risk over the false-alarm rate. Figure 4: power of the best attack
over μ. Figure 5: power function and ROC curve of a z test on a mean with Gaussian noise. Without
--figure all of them. Writes privacy-utility-N.png, .csv and .json (what the text of the paper says,
beside our numbers), and for Figure 5 the numbers that the text speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import seepage as sp
from common import arguments, markdown, write_csv, write_picture, write_text
from privacy_statements import report
from seepage.report import palette
from seepage.risk.designs import OneSampleMean, Values
from seepage.risk.protections import GaussianNoise

MUS = (0.1, 1.0, 2.5)
RECORDS = 5
PRIORS = (0.01, 0.1, 0.5)
FLOORS = (0.001, 0.01, 0.05, 0.1)
SIZES = (15, 100, 500)
TEST_MUS = (0.01, 0.1, 1.0, float("inf"))
SD, LEVEL, EFFECT = 0.25, 0.01, 0.2
PRINTED_SDS = (0.5, 0.25)
COLOURS = [palette.OWN, palette.TRIAD, palette.EXACT, palette.INK]
CURVES: Mapping[str, Callable[[float], sp.TradeOff]] = {
    "Laplace": sp.TradeOff.laplace,
    "Gaussian": sp.TradeOff.gaussian,
    "Uniform sampling": lambda mu: sp.TradeOff.uniform_sampling(mu, RECORDS),
}
GRID = np.unique(np.concatenate((np.geomspace(1e-4, 0.05, 60), np.linspace(0, 1, 101))))


def bound(name: str, mu: float) -> sp.TradeOff:
    """One (ε, δ) that the mechanism satisfies: (μ, 0), (μ, δ(μ)), and (0, δ) for sampling."""
    curve = CURVES[name](mu)
    epsilon = 0.0 if name == "Uniform sampling" else mu
    delta = 0.0 if name == "Laplace" else curve.delta(epsilon)
    return sp.TradeOff.approximate_dp(epsilon, delta)


def figure1() -> list[dict[str, Any]]:
    return [
        {
            "mechanism": name,
            "mu": f"μ = {mu:g}",
            "kind": kind,
            "alpha": alpha,
            "power": power,
        }
        for name, make in CURVES.items()
        for mu in MUS
        for kind, curve in (("exact", make(mu)), ("(ε, δ) bound", bound(name, mu)))
        for alpha, power in zip(GRID.tolist(), curve.power(GRID).tolist(), strict=True)
    ]


def figure2() -> list[dict[str, Any]]:
    recalls = np.unique(np.concatenate((np.linspace(0, 1, 101), np.geomspace(1e-3, 0.1, 30))))
    return [
        {
            "mechanism": name,
            "mu": f"μ = {mu:g}",
            "prior": f"{prior:g}",
            "beta": 1 - recall,
            "posterior": precision,
        }
        for name, make in CURVES.items()
        for mu in MUS
        for prior in PRIORS
        for recall, precision in zip(
            *(x.tolist() for x in sp.disclosure(make(mu)).precision_recall(prior, recalls)),
            strict=True,
        )
    ]


def figure3() -> list[dict[str, Any]]:
    grid = np.geomspace(1e-4, 1, 121)
    return [
        {"mechanism": name, "mu": f"μ = {mu:g}", "alpha": alpha, "risk": power / alpha}
        for name in ("Laplace", "Gaussian")
        for mu in MUS
        for alpha, power in zip(grid.tolist(), CURVES[name](mu).power(grid).tolist(), strict=True)
    ]


def figure4() -> list[dict[str, Any]]:
    return [
        {
            "mechanism": name,
            "alpha0": f"{floor:g}",
            "mu": mu,
            "power": float(CURVES[name](mu).power(floor)),
        }
        for name in ("Laplace", "Gaussian")
        for floor in FLOORS
        for mu in np.round(np.linspace(0, 8, 81), 2).tolist()
    ]


def z_power(n: int, mu: float, effect: float, level: float = LEVEL, sd: float = SD) -> float:
    design = OneSampleMean(Values(sd, 0.0, 1.0), known_sd=True)
    protection = GaussianNoise(mu)
    return sp.power(design, effect, n, level, alternative="larger", protection=protection).power


def figure5() -> list[dict[str, Any]]:
    rows = []
    for n in SIZES:
        for mu in TEST_MUS:
            named = {"n": f"n = {n}", "mu": f"{mu:g}".replace("inf", "∞")}
            for effect in np.linspace(0, 0.4, 41).tolist():
                power = z_power(n, mu, effect)
                rows.append({"part": "power function", **named, "x": effect, "power": power})
            for level in GRID[::3].tolist():
                power = z_power(n, mu, EFFECT, level)
                rows.append({"part": "ROC curve", **named, "x": level, "power": power})
    return rows


def lines(rows: list[dict[str, Any]], x: Any, y: Any, color: Any, **more: Any) -> Any:
    import altair as alt
    import polars as pl

    return (
        alt.Chart(pl.DataFrame(rows))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=color, **more)
        .properties(width=210, height=190)
    )


def shade(name: str, title: str) -> Any:
    import altair as alt

    return alt.Color(
        f"{name}:N", sort=None, scale=alt.Scale(range=COLOURS), legend=alt.Legend(title=title)
    )


def draw(number: int, rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    unit = alt.Scale(domain=[0, 1])

    def facet(chart: Any, **by: Any) -> Any:
        return chart.facet(**by, spacing=18)

    def header(name: str) -> Any:
        order = list(dict.fromkeys(row[name] for row in rows))
        return {"shorthand": f"{name}:N", "sort": order, "title": None}

    if number == 1:
        dash = alt.StrokeDash(
            "kind:N",
            sort=None,
            scale=alt.Scale(range=[[1, 0], [5, 4]]),
            legend=alt.Legend(title=""),
        )
        chart = lines(
            rows,
            alt.X("alpha:Q", title="type I error α", scale=unit),
            alt.Y("power:Q", title="power 1 − f(α)", scale=unit),
            shade("mu", ""),
            strokeDash=dash,
        )
        named = f"datum.value == 'Uniform sampling' ? datum.value + ', n = {RECORDS}' : datum.value"
        column = alt.Column(**header("mechanism"), header=alt.Header(labelExpr=named))
        return facet(chart, column=column)
    if number == 2:
        chart = lines(
            rows,
            alt.X("beta:Q", title="type II error β", scale=unit),
            alt.Y("posterior:Q", title="belief after", scale=unit),
            shade("prior", "belief before"),
            order="beta:Q",
        )
        return facet(chart, row=alt.Row(**header("mechanism")), column=alt.Column(**header("mu")))
    if number == 3:
        panels = []
        for name in ("Laplace", "Gaussian"):
            row = [
                lines(
                    [r for r in rows if r["mechanism"] == name and r["mu"] == f"μ = {mu:g}"],
                    alt.X("alpha:Q", title="type I error α", scale=alt.Scale(type="log")).axis(
                        values=[1e-4, 1e-2, 1], format="~g"
                    ),
                    alt.Y("risk:Q", title="power/α", scale=alt.Scale(zero=False)).axis(
                        minExtent=46, maxExtent=46
                    ),
                    alt.value(palette.EXACT),
                ).properties(title=f"{name}, μ = {mu:g}")
                for mu in MUS
            ]
            panels.append(alt.hconcat(*row))
        return alt.vconcat(*panels)
    if number == 4:
        chart = lines(
            rows,
            alt.X("mu:Q", title="privacy-loss parameter μ"),
            alt.Y("power:Q", title="power of the best attack", scale=unit),
            shade("alpha0", "false-alarm rate"),
        ).properties(width=320, height=260)
        return facet(chart, column=alt.Column(**header("mechanism")))
    panels = []
    shown = {
        "power function": ("mean m", f"Power function at level {LEVEL:g}, σ = {SD:g}"),
        "ROC curve": ("type I error α", f"ROC curve at m = {EFFECT:g}, σ = {SD:g}"),
    }
    for part, (title, what) in shown.items():
        chart = lines(
            [row for row in rows if row["part"] == part],
            alt.X("x:Q", title=title),
            alt.Y("power:Q", title="power", scale=unit),
            shade("mu", "μ"),
        )
        panels.append(facet(chart, column=alt.Column(**header("n"))).properties(title=what))
    return alt.vconcat(*panels)


FIGURES = {1: figure1, 2: figure2, 3: figure3, 4: figure4, 5: figure5}


def said() -> str:
    """The numbers behind "virtually unaffected for μ ≥ 1 across all sample sizes"."""
    rows = [
        [f"{n}, σ = {sd:g}", *(f"{z_power(n, mu, EFFECT, sd=sd):.4f}" for mu in TEST_MUS)]
        for sd in PRINTED_SDS
        for n in SIZES
    ]
    head = ["power at m = 0.2, level 0.01; n", *(f"μ = {mu:g}" for mu in TEST_MUS)]
    return (
        "# Figure 5: what the text says of it\n\n"
        + markdown([text.replace("inf", "∞") for text in head], rows)
        + "\nFor n = 15 the power at μ = 1 is far below that without noise, so that the text, "
        '"virtually unaffected for μ ≥ 1 across all sample sizes", holds for n = 100 and 500.\n'
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--figure", type=int, nargs="*", choices=FIGURES, default=list(FIGURES))
    options = parser.parse_args()
    for number in options.figure:
        rows = FIGURES[number]()
        write_csv(options.out / f"privacy-utility-{number}.csv", rows)
        write_picture(draw(number, rows), options.out / f"privacy-utility-{number}.png")
        if number == 5:
            write_text(options.out / "privacy-utility-5.md", said())
        report(number, rows, z_power).write(options.out)


if __name__ == "__main__":
    main()
