"""What a privacy guarantee means for a person in the data, and what it costs the analyst."""

from __future__ import annotations

from seepage.risk.designs import (
    Correlation,
    Design,
    Independence,
    OneProportion,
    OneSampleMean,
    PairedDifference,
    Slope,
    TwoProportions,
    TwoSampleMeans,
    Values,
)
from seepage.risk.disclosure import Disclosure, Statement, disclosure
from seepage.risk.multiple import FamilyPower, PlannedTest, family_power
from seepage.risk.planning import NeedResult, minimum_detectable_effect, sample_size
from seepage.risk.power import PowerResult, power
from seepage.risk.protections import GaussianNoise, LaplaceNoise, Protection, RandomizedResponse
from seepage.risk.selection import Choice, Exclusion, Limit, Selection, choose
from seepage.risk.utility import KeptTest, UtilityResult, utility_first

__all__ = [
    "Choice",
    "Correlation",
    "Design",
    "Disclosure",
    "Exclusion",
    "FamilyPower",
    "GaussianNoise",
    "Independence",
    "KeptTest",
    "LaplaceNoise",
    "Limit",
    "NeedResult",
    "OneProportion",
    "OneSampleMean",
    "PairedDifference",
    "PlannedTest",
    "PowerResult",
    "Protection",
    "RandomizedResponse",
    "Selection",
    "Slope",
    "Statement",
    "TwoProportions",
    "TwoSampleMeans",
    "UtilityResult",
    "Values",
    "choose",
    "disclosure",
    "family_power",
    "minimum_detectable_effect",
    "power",
    "sample_size",
    "utility_first",
]
