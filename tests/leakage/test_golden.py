"""Golden values on the published statistics and on the Adult table."""

from __future__ import annotations

import functools

import numpy as np
import polars as pl
import pytest

from seepage import TradeOff
from seepage.counts import conditional_rows
from seepage.leakage import Triad, baselines, pairwise_total

EPSILONS = (0.1, 0.5, 1, 2, 3, 5, 10)

SYNTHETIC = {
    ("k4", "exact"): (
        ".008957663 .04923583 .107448546 .226247894 .312310854 .376795469 .388679616"
    ),
    ("k4", "triad"): ".008961 .049333 .107913 .228326 .314563 .377219 .388683",
    ("k7", "exact"): ".012397 .062707758 .123067873 .226730621 .301855523 .385176135 .405920666",
    ("k7", "grr"): ".005433 .031299 .073383 .181975 .286459 .385176 .405921",
    ("k10", "exact"): (
        ".012515393 .064233098 .127954545 .228755533 .312168068 .38920764 .410273084"
    ),
    ("k10", "triad"): ".012619 .067062 .139707 .269421 .349125 .401335 .41042",
}

# secret, released, measure, ε: value
CELEBA = [
    ("Male", "Wearing_Lipstick", 1, 0.85826246),
    ("Male", "Wearing_Lipstick", 4, 3.50106826),
    ("Young", "Gray_Hair", 1, 0.26141676),
    ("Young", "Gray_Hair", 4, 2.22782305),
    ("Smiling", "Mouth_Slightly_Open", 1, 0.50974386),
    ("Smiling", "Mouth_Slightly_Open", 4, 1.16410405),
]

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]

ADULT = [
    ("sex", "relationship", "hcc2", 0.71801653),
    ("relationship", "sex", "hcc2", 0.9996056),
    ("sex", "income", "hcc2", 0.25150683),
    ("education", "income", "hcc2", 0.80750767),
    ("sex", "occupation", "hcc2", 0.41301284),
    ("sex", "occupation", "grr_leakage", 0.26494656),
    ("race", "native-country", "hcc2", 0.77073491),
    ("race", "native-country", "grr_leakage", 0.55160077),
    ("relationship", "marital-status", "hcc2", 1.0),
    ("relationship", "marital-status", "grr_leakage", 0.99962742),
]


@pytest.mark.parametrize(("table", "measure"), list(SYNTHETIC))
def test_synthetic_tables(data_dir, table, measure):
    P = np.load(data_dir / "published" / "synthetic_conditionals.npz")[table]
    printed = SYNTHETIC[table, measure].split()
    found = {
        "exact": TradeOff.envelope(P).leakage,
        "triad": Triad.from_conditional(P).leakage,
        "grr": functools.partial(baselines.grr_leakage, P),
    }[measure](EPSILONS)
    digits = {"exact": 9, "triad": 6, "grr": 6}[measure]
    assert found == pytest.approx([float(v) for v in printed], abs=0.51 * 10.0**-digits)
    if measure == "exact":
        assert baselines.ltm(P).leakage(EPSILONS) == pytest.approx(found, rel=1e-12)
        for epsilon, value in zip(EPSILONS, found, strict=True):
            assert baselines.hcc2(P, epsilon) == pytest.approx(value, rel=1e-12)


@pytest.fixture(scope="module")
def celeba(data_dir):
    stored = np.load(data_dir / "published" / "celeba_conditionals.npz")
    return [str(name) for name in stored["names"]], stored["conditional"]


@pytest.mark.parametrize(("secret", "released", "epsilon", "value"), CELEBA)
def test_celeba_pairs(celeba, secret, released, epsilon, value):
    names, tables = celeba
    P = tables[names.index(secret), names.index(released)]
    assert baselines.hcc2(P, epsilon) == pytest.approx(value, abs=5.1e-9)
    assert baselines.ltm(P).leakage(epsilon) == pytest.approx(value, abs=5.1e-9)
    assert Triad.from_conditional(P).leakage(epsilon) >= value - 5.1e-9


@pytest.mark.parametrize(
    ("epsilon", "without_first", "all_of_them"),
    [(0.5, 101.0414, 106.4573), (1.0, 221.5363, 233.7778)],
)
def test_celeba_total(celeba, epsilon, without_first, all_of_them):
    names, tables = celeba
    d = len(names)
    assert (d, names[0]) == (40, "5_o_Clock_Shadow")
    leakage = np.full((d, d), np.nan)
    for k in range(d):
        for j in range(d):
            if k != j:
                leakage[k, j] = TradeOff.envelope(tables[k, j]).leakage(epsilon)
    found = [pairwise_total(part, 0.0).sum() for part in (leakage[1:, 1:], leakage)]
    assert found == pytest.approx([without_first, all_of_them], abs=5.1e-5)
    # The budgets are added once for each attribute.
    with_budgets = pairwise_total(leakage, np.full(d, epsilon)).sum()
    assert with_budgets == pytest.approx(found[1] + d * epsilon, rel=1e-14)


@pytest.fixture(scope="module")
def adult(data_dir):
    parts = []
    for name in ("adult.data", "adult.test"):
        lines = (data_dir / "adult" / name).read_text().splitlines()
        records = [line.rstrip(".").split(", ") for line in lines if line.count(",") == 14]
        parts.append(pl.DataFrame(records, schema=ADULT_COLUMNS, orient="row"))
    table = pl.concat(parts)
    complete = table.filter(~pl.any_horizontal(pl.all() == "?"))
    assert len(complete) == 45_222
    return complete


@pytest.mark.parametrize(("secret", "released", "measure", "value"), ADULT)
def test_adult_pairs(adult, secret, released, measure, value):
    codes = [adult[c].cast(pl.Categorical).to_physical().to_numpy() for c in (secret, released)]
    counts = np.zeros([c.max() + 1 for c in codes], dtype=np.int64)
    np.add.at(counts, tuple(codes), 1)
    P, _ = conditional_rows(counts)
    assert getattr(baselines, measure)(P, 1.0) == pytest.approx(value, abs=5.1e-9)
    if measure == "hcc2":
        assert baselines.ltm(P).leakage(1.0) == pytest.approx(value, abs=5.1e-9)
        assert Triad.from_conditional(P).leakage(1.0) >= value - 5.1e-9
