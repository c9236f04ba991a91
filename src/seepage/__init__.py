"""Measure and control the privacy that seeps through correlations.

Names are loaded when they are first used, so that the command line starts without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seepage.channel import Channel, lambda_response, randomized_response
    from seepage.collect.allocation import allocate
    from seepage.collect.attenuation import retention
    from seepage.collect.collection import CollectedReports, CollectionPlan
    from seepage.collect.estimates import Estimates
    from seepage.collect.plan_files import read_plan
    from seepage.counts import Counts, PairCounts
    from seepage.domain import Attribute, Domain
    from seepage.errors import (
        CapacityError,
        DomainError,
        InfeasibleError,
        InvalidInputError,
        MissingDependencyError,
        SeepageError,
        TableError,
    )
    from seepage.leakage import CalibratedTriad, Triad, UncalibratedTriad, baselines
    from seepage.leakage.model import LeakageModel
    from seepage.leakage.robust import robust_leakage
    from seepage.leakage.temporal import temporal_budgets, temporal_leakage, temporal_supremum
    from seepage.leakage.tree import DependencyTree
    from seepage.plan.audit import AuditResult, PairLeakage, audit
    from seepage.plan.calibrate import CalibrationResult, calibrate
    from seepage.plan.collecting import make_plan, randomize
    from seepage.plan.estimating import estimate
    from seepage.plan.relating import estimate_relationships, retention_table
    from seepage.plan.reports_io import read_reports, write_reports
    from seepage.plan.totals import TotalLeakage, total_leakage
    from seepage.results import Finding, Interval, Standing
    from seepage.tables import CodedTable
    from seepage.tradeoff import Envelope, TradeOff

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "AuditResult",
    "CalibratedTriad",
    "CalibrationResult",
    "CapacityError",
    "Channel",
    "CodedTable",
    "CollectedReports",
    "CollectionPlan",
    "Counts",
    "DependencyTree",
    "Domain",
    "DomainError",
    "Envelope",
    "Estimates",
    "Finding",
    "InfeasibleError",
    "Interval",
    "InvalidInputError",
    "LeakageModel",
    "MissingDependencyError",
    "PairCounts",
    "PairLeakage",
    "SeepageError",
    "Standing",
    "TableError",
    "TotalLeakage",
    "TradeOff",
    "Triad",
    "UncalibratedTriad",
    "allocate",
    "audit",
    "baselines",
    "calibrate",
    "estimate",
    "estimate_relationships",
    "lambda_response",
    "make_plan",
    "randomize",
    "randomized_response",
    "read_plan",
    "read_reports",
    "retention",
    "retention_table",
    "robust_leakage",
    "temporal_budgets",
    "temporal_leakage",
    "temporal_supremum",
    "total_leakage",
    "write_reports",
]

_MODULES = {
    "channel": ("Channel", "lambda_response", "randomized_response"),
    "collect.allocation": ("allocate",),
    "collect.attenuation": ("retention",),
    "collect.collection": ("CollectedReports", "CollectionPlan"),
    "collect.estimates": ("Estimates",),
    "collect.plan_files": ("read_plan",),
    "counts": ("Counts", "PairCounts"),
    "domain": ("Attribute", "Domain"),
    "errors": (
        "CapacityError",
        "DomainError",
        "InfeasibleError",
        "InvalidInputError",
        "MissingDependencyError",
        "SeepageError",
        "TableError",
    ),
    "leakage": ("CalibratedTriad", "Triad", "UncalibratedTriad", "baselines"),
    "leakage.model": ("LeakageModel",),
    "leakage.robust": ("robust_leakage",),
    "leakage.temporal": ("temporal_budgets", "temporal_leakage", "temporal_supremum"),
    "leakage.tree": ("DependencyTree",),
    "plan.audit": ("AuditResult", "PairLeakage", "audit"),
    "plan.calibrate": ("CalibrationResult", "calibrate"),
    "plan.collecting": ("make_plan", "randomize"),
    "plan.estimating": ("estimate",),
    "plan.relating": ("estimate_relationships", "retention_table"),
    "plan.reports_io": ("read_reports", "write_reports"),
    "plan.totals": ("TotalLeakage", "total_leakage"),
    "results": ("Finding", "Interval", "Standing"),
    "tables": ("CodedTable",),
    "tradeoff": ("Envelope", "TradeOff"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
