"""The real tables of pairs for Table III, Figures 6 and 7 of the Dependency Triad paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import seepage as sp
from common import NO_DATA, data_file
from seepage.counts import conditional_rows
from seepage.tables import load

ADULT_NAMES = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
]  # fmt: skip
ADULT_NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
BINS = 8
FIRST = "5_o_Clock_Shadow"
ACS_WITHOUT = ("PUMA", "INDP", "PWGTP", "WGTP")
ACS_NUMBERS = ("AGEP", "POVPIP", "PINCP", "NOC", "NPF", "DENSITY")


@dataclass(frozen=True)
class Tables:
    """Conditional tables p(released | secret) of all ordered pairs of one data set."""

    name: str
    printed: bool  # whether the paper uses this data set
    attributes: int
    tables: dict[tuple[str, str], np.ndarray]

    def without(self, *names: str) -> Tables:
        kept = {pair: P for pair, P in self.tables.items() if not set(pair) & set(names)}
        gone = {name for pair in self.tables for name in pair} & set(names)
        return Tables(self.name, self.printed, self.attributes - len(gone), kept)


def celeba(path: Path) -> Tables:
    with np.load(path) as stored:
        names, conditional = [str(name) for name in stored["names"]], stored["conditional"]
    # The stored rows sum to 1 within the rounding of the file.
    conditional = conditional / conditional.sum(axis=-1, keepdims=True)
    pairs = {
        (first, second): conditional[i, j]
        for i, first in enumerate(names)
        for j, second in enumerate(names)
        if i != j
    }
    return Tables("CelebA", True, len(names), pairs)


def of_counts(name: str, printed: bool, counts: sp.PairCounts) -> Tables:
    names = counts.domain.names
    pairs = {
        (secret, released): conditional_rows(counts.table(secret, released))[0]
        for secret in names
        for released in names
        if secret != released
    }
    return Tables(name, printed, len(names), pairs)


def adult_counts(folder: Path, n_bins: int = BINS, **options: object) -> sp.PairCounts:
    settings: dict[str, object] = {
        "header": False,
        "names": ADULT_NAMES,
        "null_values": ("?",),
        "missing": "drop",
        "strip": ".",
        "exclude": ["fnlwgt"],
        "bins": dict.fromkeys(ADULT_NUMBERS, n_bins),
    }
    files = [folder / "adult.data", folder / "adult.test"]
    return load(files, **settings | options).counts()


def adult(folder: Path) -> Tables:
    return of_counts("Adult", True, adult_counts(folder))


def survey(path: Path) -> Tables:
    """The ACS excerpt: numbers in eight bins of equal width, `N` a category of its own."""
    import polars as pl

    frame = pl.read_csv(path, infer_schema=False)
    columns, attributes = [], []
    for name in frame.columns:
        if name in ACS_WITHOUT:
            continue
        values = frame[name].to_numpy()
        if name in ACS_NUMBERS:
            number = np.array([np.nan if v == "N" else float(v) for v in values])
            edges = np.linspace(np.nanmin(number), np.nanmax(number), BINS + 1)[1:-1]
            values = np.where(np.isnan(number), BINS, np.searchsorted(edges, number, side="right"))
        found, codes = np.unique(values, return_inverse=True)
        columns.append(codes)
        attributes.append(sp.Attribute(name, tuple(found.tolist())))
    domain = sp.Domain(tuple(attributes))
    return of_counts(
        "ACS excerpt", False, sp.PairCounts.from_codes(domain, np.column_stack(columns))
    )


def nursery(path: Path) -> Tables:
    names = [f"input{i}" for i in range(8)] + ["outcome"]
    return of_counts("Nursery", False, load(path, header=False, names=names).counts())


SOURCES = {
    "CelebA": ("published/celeba_conditionals.npz", celeba),
    "Adult": ("adult/adult.data", lambda path: adult(path.parent)),
    "ACS excerpt": ("acs/national2019.csv", survey),
    "Nursery": ("nursery/nursery.data", nursery),
}


def at_hand(given: Path | None, what: str, names: tuple[str, ...]) -> Iterator[Tables]:
    """The named data sets that are there; says which are not."""
    for name in names:
        file, read = SOURCES[name]
        path = data_file(given, file)
        if path is None:
            print(NO_DATA.format(what=f"{what}, {name}", file=file))
        else:
            yield read(path)
