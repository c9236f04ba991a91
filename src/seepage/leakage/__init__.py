"""How much a released attribute tells about a secret one."""

from __future__ import annotations

from seepage.leakage import baselines
from seepage.leakage.pairwise import pairwise_total
from seepage.leakage.triad import CalibratedTriad, Triad, UncalibratedTriad

__all__ = ["CalibratedTriad", "Triad", "UncalibratedTriad", "baselines", "pairwise_total"]
