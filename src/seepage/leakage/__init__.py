"""How much a released attribute tells about a secret one."""

from __future__ import annotations

from seepage.leakage import baselines
from seepage.leakage.model import LeakageModel
from seepage.leakage.pairwise import pairwise_total
from seepage.leakage.temporal import (
    TemporalLeakage,
    temporal_budgets,
    temporal_leakage,
    temporal_supremum,
)
from seepage.leakage.tree import DependencyTree
from seepage.leakage.triad import CalibratedTriad, Triad, UncalibratedTriad

__all__ = [
    "CalibratedTriad",
    "DependencyTree",
    "LeakageModel",
    "TemporalLeakage",
    "Triad",
    "UncalibratedTriad",
    "baselines",
    "pairwise_total",
    "temporal_budgets",
    "temporal_leakage",
    "temporal_supremum",
]
