"""Figure 7 of the Dependency Triad paper: what α and β say of the leakage of real pairs.

    python reproduce/figure7.py --out out

(a) ln β and ln CPL* of every pair at ε = 1. (b) Pearson correlation of ln α, and of ln β, with
ln CPL* over ε. Pairs with α or β of 0 up to rounding are left out. Writes figure7.json,
figure7.csv, figure7.png.
"""

from __future__ import annotations

import numpy as np

import seepage as sp
from common import (
    Comparison,
    Listing,
    Report,
    agreement,
    arguments,
    write_csv,
    write_picture,
)
from datasets import FIRST, at_hand
from seepage.report import palette

EPSILONS = np.unique(np.concatenate((np.geomspace(0.01, 10, 31), [0.1, 1.0, 2.0, 5.0])))
AT = 1.0
SHOWN = (0.01, 0.1, 1.0, 2.0, 5.0, 10.0)
PRINTED = {"ln β": (0.97, 0.69), "ln α": (0.67, 0.97)}  # at the smallest and the largest ε
TOLERANCE = 0.05
SMALLEST = 1e-9  # a β below is 0 up to rounding: all of φ is unshared mass, which δ stands for
CAUSE = (
    "of the paper's five data sets two are at hand, and their pairs are other pairs; 1,482 of them "
    "are those of CelebA"
)


def correlations(parameter: np.ndarray, leakage: np.ndarray) -> np.ndarray:
    """Pearson correlation of ln parameter with each column of ln leakage."""
    x, y = np.log(parameter), np.log(leakage)
    x = x - x.mean()
    y = y - y.mean(axis=0)
    return np.asarray(x @ y / np.sqrt((x @ x) * (y * y).sum(axis=0)))


def draw(
    names: np.ndarray, beta: np.ndarray, leakage: np.ndarray, found: dict[str, np.ndarray]
) -> object:
    import altair as alt
    import polars as pl

    log = alt.Scale(type="log")
    i = int(np.abs(EPSILONS - AT).argmin())
    points = pl.DataFrame({"data": names, "beta": beta, "leakage": leakage[:, i]})
    first = (
        alt.Chart(points)
        .mark_point(filled=True, size=14, opacity=0.5)
        .encode(
            x=alt.X("beta:Q", title="β (nats)", scale=log, axis=alt.Axis(format="~g")),
            y=alt.Y("leakage:Q", title="CPL* (nats)", scale=log, axis=alt.Axis(format="~g")),
            color=alt.Color(
                "data:N", scale=alt.Scale(range=[palette.EXACT, palette.TRIAD, palette.GRR])
            ),
        )
        .properties(width=320, height=260, title=f"(a) ε = {AT:g}")
    )
    lines = pl.DataFrame(
        [
            {"epsilon": e, "what": name, "r": v}
            for name, values in found.items()
            for e, v in zip(EPSILONS.tolist(), values.tolist(), strict=True)
        ]
    )
    second = (
        alt.Chart(lines)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epsilon:Q", title="budget ε", scale=log),
            y=alt.Y(
                "r:Q", title="correlation with ln CPL*", scale=alt.Scale(domain=[0, 1], clamp=True)
            ),
            color=alt.Color(
                "what:N", sort=None, scale=alt.Scale(range=[palette.EXACT, palette.TRIAD])
            ),
        )
        .properties(width=320, height=260, title="(b)")
    )
    return alt.hconcat(first, second).resolve_scale(color="independent")


def main() -> None:
    options = arguments(__doc__).parse_args()
    names, alpha, beta, leakage = [], [], [], []
    for tables in at_hand(options.data, "Figure 7", ("CelebA", "Adult", "ACS excerpt")):
        used = tables.without(FIRST) if tables.name == "CelebA" else tables
        for P in used.tables.values():
            triad = sp.Triad.from_conditional(P)
            names.append(tables.name)
            alpha.append(triad.alpha)
            beta.append(triad.beta)
            leakage.append(sp.TradeOff.envelope(P).leakage(EPSILONS))
    if not names:
        return
    values = np.array(leakage)
    most = float(values[:, np.abs(EPSILONS - AT).argmin()].max())
    keep = (values.min(axis=1) > SMALLEST) & (np.array(alpha) > 0) & (np.array(beta) > SMALLEST)
    keep &= np.isfinite(beta)
    name_of, a, b = np.array(names)[keep], np.array(alpha)[keep], np.array(beta)[keep]
    values = values[keep]
    found = {"ln β": correlations(b, values), "ln α": correlations(a, values)}
    comparisons: list[Comparison] = []
    for what, printed in PRINTED.items():
        for position, value in zip((0, -1), printed, strict=True):
            ours = float(found[what][position])
            comparisons.append(
                agreement(
                    f"correlation of {what} with ln CPL*, ε = {EPSILONS[position]:g}",
                    f"{value:.2f}",
                    f"{ours:.2f}",
                    f"± {TOLERANCE:g}",
                    abs(ours - value) <= TOLERANCE,
                    CAUSE,
                )
            )
    falls, grows = np.diff(found["ln β"]), np.diff(found["ln α"])
    comparisons.append(
        agreement(
            "correlation with ln β falls, that with ln α grows with ε",
            "at every ε",
            f"{np.mean(falls <= 0):.0%} and {np.mean(grows >= 0):.0%} of the steps",
            "9 of 10 steps",
            bool(np.mean(falls <= 0) >= 0.9 and np.mean(grows >= 0) >= 0.9),
            CAUSE,
        )
    )
    comparisons.append(
        agreement(
            f"largest CPL* at ε = {AT:g}", "1", f"{most:.6f}", "± 1e-9", abs(most - 1) <= 1e-9,
            "no attribute is determined by another",
        )
    )  # fmt: skip
    rows = [
        {"epsilon": f"{e:.6g}", "parameter": what, "correlation": f"{v:.6f}"}
        for what, line in found.items()
        for e, v in zip(EPSILONS.tolist(), line.tolist(), strict=True)
    ]
    write_csv(options.out / "figure7.csv", rows)
    write_picture(draw(name_of, b, values, found), options.out / "figure7.png")
    positions = [int(np.abs(EPSILONS - e).argmin()) for e in SHOWN]
    apart = []
    for name in dict.fromkeys(name_of.tolist()):
        mine = name_of == name
        for what, parameter in (("ln β", b), ("ln α", a)):
            r = correlations(parameter[mine], values[mine])
            apart.append((name, what, *(f"{r[i]:.2f}" for i in positions)))
    Report(
        name="figure7",
        item="Figure 7",
        title="What α and β say of the leakage of real pairs",
        data=", ".join(dict.fromkeys(names)),
        method=(
            f"{len(values):,} of {len(names):,} ordered pairs, data as for Table III. The others "
            "have α = 0 or β = 0 up to rounding, so no logarithm: all that they leak is the mass δ "
            "of values that one category has and another has not."
        ),
        comparisons=tuple(comparisons),
        missing=("The pairs of SPM, CVD and DSS: not among the data sets.",),
        listings=(
            Listing(
                "Correlations by data set",
                ("data", "parameter; ε", *(f"{e:g}" for e in SHOWN)),
                tuple(apart),
            ),
        ),
        picture="figure7.png",
        on_page=True,
    ).write(options.out)


if __name__ == "__main__":
    main()
