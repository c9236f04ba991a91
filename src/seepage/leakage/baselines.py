"""The measures that the Dependency Triad is compared with, by name.

`hcc2`, `ltm` and `its` with unary encoding or local hashing give the exact worst case over all
ε-LDP mechanisms; `hcc1`, `grr_leakage`, `cbp` and `its` that of one mechanism; `mutual_information`
and `pearson` bound nothing.
"""

from __future__ import annotations

from seepage.leakage._association import mutual_information, pearson
from seepage.leakage._mechanisms import (
    cbp,
    grr_leakage,
    grr_witness,
    hcc1,
    hcc2,
    its,
    subset_size,
)
from seepage.leakage._piecewise import PiecewiseLeakage, ltm

__all__ = [
    "PiecewiseLeakage",
    "cbp",
    "grr_leakage",
    "grr_witness",
    "hcc1",
    "hcc2",
    "its",
    "ltm",
    "mutual_information",
    "pearson",
    "subset_size",
]
