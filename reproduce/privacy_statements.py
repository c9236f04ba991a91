"""What the paper on privacy and utility says of its Figures 1 to 5, beside the numbers drawn.

Its figures have no printed numbers. Used by privacy_utility.py; writes nothing by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import seepage as sp
from common import Comparison, Listing, Report, agreement

Rows = list[dict[str, Any]]
Power = Callable[..., float]
PRECISION = 1e-12
CLOSED = "not expected: closed forms"
TITLES = {
    1: "Trade-off curves and bounds of (ε, δ)-differential privacy",
    2: "Belief after an alarm",
    3: "Relative disclosure risk over the false-alarm rate",
    4: "Power of the best attack over μ",
    5: "Power and ROC curve of a z test with Gaussian noise",
}
METHODS = {
    1: "Closed forms; μ = 0.1, 1, 2.5, uniform sampling of one record of n = 5.",
    2: "Bayes along the curves of Figure 1, for priors of 0.01, 0.1 and 0.5.",
    3: "Power over α along the curves of Figure 1.",
    4: "The curves at α₀ = 0.001, 0.01, 0.05, 0.1.",
    5: "Section 4: mean of n values in [0, 1], level 0.01, σ = 0.25, m = 0.2.",
}
UNAFFECTED = 0.1  # a fall by less than this share is read as "virtually unaffected"
SUBSTANTIAL = 0.2


def figure1(rows: Rows) -> list[Comparison]:
    at = {(r["mechanism"], r["mu"], r["kind"], r["alpha"]): r["power"] for r in rows}
    gaps = [
        at[name, mu, "(ε, δ) bound", alpha] - power
        for (name, mu, kind, alpha), power in at.items()
        if kind == "exact"
    ]
    largest = {
        name: max(
            at[name, mu, "(ε, δ) bound", alpha] - power
            for (n, mu, kind, alpha), power in at.items()
            if n == name and kind == "exact"
        )
        for name in dict.fromkeys(r["mechanism"] for r in rows)
    }
    return [
        agreement(
            "smallest distance of a bound above its curve",
            "bounds are looser",
            f"{min(gaps):.1e}",
            f"≥ −{PRECISION:g}",
            min(gaps) >= -PRECISION,
            CLOSED,
        ),
        agreement(
            "largest distance: " + ", ".join(largest),
            "generally looser",
            ", ".join(f"{value:.3f}" for value in largest.values()),
            "> 0 for Laplace and Gaussian",
            largest["Laplace"] > 0 and largest["Gaussian"] > 0,
            CLOSED,
        ),
        agreement(
            "uniform sampling close to the diagonal: largest power − α, each μ",
            "close to the diagonal",
            ", ".join(
                f"{max(r['power'] - r['alpha'] for r in rows if is_(r, mu)):.3f}"
                for mu in dict.fromkeys(r["mu"] for r in rows)
            ),
            "≤ 1/n = 0.2",
            max(r["power"] - r["alpha"] for r in rows if is_(r, None)) <= 0.2,
            CLOSED,
        ),
    ]


def is_(row: Mapping[str, Any], mu: str | None) -> bool:
    """Whether a row is of the exact curve of uniform sampling, at one μ or any."""
    sampling = row["mechanism"] == "Uniform sampling" and row["kind"] == "exact"
    return sampling and (mu is None or row["mu"] == mu)


def figure2(rows: Rows) -> list[Comparison]:
    def largest(name: str) -> float:
        return max(r["posterior"] for r in rows if r["mechanism"] == name)

    odds = [
        (r["posterior"] / (1 - r["posterior"])) / (float(r["prior"]) / (1 - float(r["prior"])))
        / math.exp(float(r["mu"].removeprefix("μ = ")))
        for r in rows
        if r["mechanism"] == "Laplace"
    ]  # fmt: skip
    # The grid stops short of no recall, where the Gaussian belief tends to 1.
    gaussian = [r["posterior"] for r in rows if r["mechanism"] == "Gaussian" and r["beta"] < 1]
    start = [
        abs(r["posterior"] - float(r["prior"]))
        for r in rows
        if r["beta"] == 0 and r["mechanism"] != "Uniform sampling"
    ]
    kinds = {
        name: sp.disclosure(curve).failure
        for name, curve in (
            ("Laplace", sp.TradeOff.laplace(1.0)),
            ("Gaussian", sp.TradeOff.gaussian(1.0)),
            ("Uniform sampling", sp.TradeOff.uniform_sampling(1.0, 5)),
        )
    }
    return [
        agreement(
            "how they fail: " + ", ".join(kinds),
            "none, graceful, catastrophic",
            ", ".join(kinds.values()),
            "as printed",
            list(kinds.values()) == ["none", "graceful", "catastrophic"],
            CLOSED,
        ),
        agreement(
            "uniform sampling: largest belief", "1", f"{largest('Uniform sampling'):g}",
            "as printed", largest("Uniform sampling") == 1, CLOSED,
        ),
        agreement(
            "Gaussian: largest belief with any recall", "never reaches 1",
            f"1 − {1 - max(gaussian):.1e}", "< 1", max(gaussian) < 1, CLOSED,
        ),
        agreement(
            "Laplace: largest growth of the odds ÷ e^μ", "bounded", f"{max(odds):.12f}",
            "≤ 1 + 1e-9", max(odds) <= 1 + 1e-9, CLOSED,
        ),
        agreement(
            "Laplace and Gaussian: belief − prior at β = 0",
            "coincides",
            f"at most {max(start):.1e}",
            f"≤ {PRECISION:g}",
            max(start) <= PRECISION,
            CLOSED,
        ),
    ]  # fmt: skip


def figure3(rows: Rows) -> list[Comparison]:
    found = []
    for mu in dict.fromkeys(r["mu"] for r in rows):
        value = float(mu.removeprefix("μ = "))
        top = max(r["risk"] for r in rows if r["mechanism"] == "Laplace" and r["mu"] == mu)
        found.append(
            agreement(
                f"Laplace, {mu}: largest relative risk",
                f"e^μ = {math.exp(value):.6f}",
                f"{top:.6f}",
                "± 1e-9",
                abs(top - math.exp(value)) <= 1e-9,
                CLOSED,
            )
        )
    risks = [
        (r["alpha"], r["risk"]) for r in rows if r["mechanism"] == "Gaussian" and r["mu"] == "μ = 1"
    ]
    first, last = min(risks), max(risks)
    floor = sp.TradeOff.gaussian(1.0).relative_risk()
    found.append(
        agreement(
            f"Gaussian, μ = 1: relative risk at α = {first[0]:g}, at {last[0]:g}, and the supremum",
            "unbounded",
            f"{first[1]:.1f}, {last[1]:.1f}, {floor:g}".replace("inf", "∞"),
            "∞",
            math.isinf(floor),
            CLOSED,
        )
    )
    return found


def figure4(rows: Rows) -> list[Comparison]:
    at5 = {
        name: {r["alpha0"]: r["power"] for r in rows if r["mechanism"] == name and r["mu"] == 5.0}
        for name in ("Laplace", "Gaussian")
    }
    gaps = [
        g["power"] - p["power"]
        for p in rows
        if p["mechanism"] == "Laplace" and p["mu"] >= SHARED
        for g in rows
        if g["mechanism"] == "Gaussian" and (g["mu"], g["alpha0"]) == (p["mu"], p["alpha0"])
    ]
    weaker = sum(gap < -PRECISION for gap in gaps)
    return [
        agreement(
            "Gaussian, μ = 5: smallest power",
            "no reasonable guarantee",
            f"{min(at5['Gaussian'].values()):.3f}",
            "above 0.8, the limit that the paper names",
            min(at5["Gaussian"].values()) > 0.8,
            "at a false-alarm rate of 0.001 the limit of 0.8 is passed a little later",
        ),
        agreement(
            "Laplace, μ = 5: power at α₀ = " + ", ".join(at5["Laplace"]),
            "stronger protection",
            ", ".join(f"{value:.3f}" for value in at5["Laplace"].values()),
            "below the Gaussian's",
            all(at5["Laplace"][a] < at5["Gaussian"][a] for a in at5["Laplace"]),
            CLOSED,
        ),
        agreement(
            f"points with μ ≥ {SHARED:g} where Laplace protects less than Gaussian",
            "consistently stronger",
            f"{weaker} of {len(gaps)}",
            "none",
            weaker == 0,
            "for small μ and large false-alarm rates Gaussian noise of the same μ protects more: "
            "its curve and that of Laplace noise cross",
        ),
    ]


SHARED = 0.1


def figure5(z_power: Power) -> tuple[list[Comparison], list[Listing]]:
    sizes, mus, sds = (15, 100, 500), (0.01, 0.1, 1.0, math.inf), (0.5, 0.25)
    found = []
    for sd in sds:
        for n in sizes:
            free, noisy = z_power(n, math.inf, 0.2, sd=sd), z_power(n, 1.0, 0.2, sd=sd)
            found.append(
                agreement(
                    f"power at m = 0.2, n = {n}, σ = {sd:g}: μ = ∞ and μ = 1",
                    "virtually unaffected",
                    f"{free:.4f} and {noisy:.4f}",
                    f"falls by at most {UNAFFECTED:.0%}",
                    1 - noisy / free <= UNAFFECTED,
                    "the paper's own formula: at n = 15 the noise at μ = 1 has standard deviation "
                    "1/15 = 0.067, against 0.065 (σ = 0.25) or 0.129 (σ = 0.5) of the mean itself",
                )
            )
    fall = {mu: z_power(500, math.inf, 0.2) - z_power(500, mu, 0.2) for mu in (0.01, 0.1, 1.0)}
    found.append(
        agreement(
            "n = 500, σ = 0.25: fall of the power at μ = " + ", ".join(f"{mu:g}" for mu in fall),
            "substantial at 0.01 only",
            ", ".join(f"{value:.4f}" for value in fall.values()),
            f"above {SUBSTANTIAL:g} at 0.01 only",
            fall[0.01] > SUBSTANTIAL and max(fall[0.1], fall[1.0]) <= SUBSTANTIAL,
            CLOSED,
        )
    )
    table = Listing(
        "Power at m = 0.2, level 0.01",
        ("n, σ: μ", *(f"{mu:g}".replace("inf", "∞") for mu in mus)),
        tuple(
            (f"{n}, {sd:g}", *(f"{z_power(n, mu, 0.2, sd=sd):.4f}" for mu in mus))
            for sd in sds
            for n in sizes
        ),
    )
    return found, [table]


def report(number: int, rows: Rows, z_power: Power) -> Report:
    """The comparisons of one figure; `rows` are those that are drawn."""
    listings: list[Listing] = []
    if number == 5:
        found, listings = figure5(z_power)
    else:
        found = {1: figure1, 2: figure2, 3: figure3, 4: figure4}[number](rows)
    return Report(
        name=f"privacy-utility-{number}",
        item=f"Figure {number}",
        title=TITLES[number],
        data="none",
        method=METHODS[number] + " The paper prints no numbers; its sentences are compared.",
        comparisons=tuple(found),
        listings=tuple(listings),
        picture=f"privacy-utility-{number}.png",
        on_page=number == 5,
    )
