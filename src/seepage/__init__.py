"""Measure and control the privacy that seeps through correlations.

Names are loaded when they are first used, so that the command line starts without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seepage.attack.audit_results import MechanismAudit
    from seepage.attack.auditing import audit_mechanism
    from seepage.attack.probing import probe_inputs
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
    from seepage.plan.attack_audits import (
        audit_collection,
        audit_local_mechanism,
        audit_redaction,
    )
    from seepage.plan.attack_report import AttackReport
    from seepage.plan.attacking import attack_plan
    from seepage.plan.audit import audit
    from seepage.plan.audit_result import AuditResult, PairLeakage
    from seepage.plan.calibrate import CalibrationResult, calibrate
    from seepage.plan.collecting import make_plan
    from seepage.plan.estimating import count_reports, estimate
    from seepage.plan.power_families import FamilyReport, plan_tests
    from seepage.plan.powering import PowerReport, plan_test
    from seepage.plan.randomizing import randomize
    from seepage.plan.redacting import TableRedaction, redact_table
    from seepage.plan.redaction_comparison import compare_mechanisms
    from seepage.plan.relating import estimate_relationships, retention_table
    from seepage.plan.report_counts import read_report_counts, write_report_counts
    from seepage.plan.reports_io import read_reports, write_reports
    from seepage.plan.risking import Mechanism, RiskCard, RiskComparison, compare_risks, risk_card
    from seepage.plan.totals import TotalLeakage, total_leakage
    from seepage.results import Finding, Interval, Standing
    from seepage.risk.disclosure import Disclosure, disclosure
    from seepage.risk.planning import minimum_detectable_effect, sample_size
    from seepage.risk.power import PowerResult, power
    from seepage.risk.selection import Selection, choose
    from seepage.risk.utility import UtilityResult, utility_first
    from seepage.sequence import redact
    from seepage.sequence.attack import simulate_attack
    from seepage.sequence.chain import MarkovChain
    from seepage.sequence.leakage import redaction_leakage
    from seepage.sequence.plan import RedactionPlan
    from seepage.sequence.uncertain import ChainSet
    from seepage.tables import CodedTable, CountedTable, count_table, read_counts, write_counts
    from seepage.tradeoff import Envelope, TradeOff

__version__ = "0.1.0"

__all__ = [
    "AttackReport",
    "Attribute",
    "AuditResult",
    "CalibratedTriad",
    "CalibrationResult",
    "CapacityError",
    "ChainSet",
    "Channel",
    "CodedTable",
    "CollectedReports",
    "CollectionPlan",
    "CountedTable",
    "Counts",
    "DependencyTree",
    "Disclosure",
    "Domain",
    "DomainError",
    "Envelope",
    "Estimates",
    "FamilyReport",
    "Finding",
    "InfeasibleError",
    "Interval",
    "InvalidInputError",
    "LeakageModel",
    "MarkovChain",
    "Mechanism",
    "MechanismAudit",
    "MissingDependencyError",
    "PairCounts",
    "PairLeakage",
    "PowerReport",
    "PowerResult",
    "RedactionPlan",
    "RiskCard",
    "RiskComparison",
    "SeepageError",
    "Selection",
    "Standing",
    "TableError",
    "TableRedaction",
    "TotalLeakage",
    "TradeOff",
    "Triad",
    "UncalibratedTriad",
    "UtilityResult",
    "allocate",
    "attack_plan",
    "audit",
    "audit_collection",
    "audit_local_mechanism",
    "audit_mechanism",
    "audit_redaction",
    "baselines",
    "calibrate",
    "choose",
    "compare_mechanisms",
    "compare_risks",
    "count_reports",
    "count_table",
    "disclosure",
    "estimate",
    "estimate_relationships",
    "lambda_response",
    "make_plan",
    "minimum_detectable_effect",
    "plan_test",
    "plan_tests",
    "power",
    "probe_inputs",
    "randomize",
    "randomized_response",
    "read_counts",
    "read_plan",
    "read_report_counts",
    "read_reports",
    "redact",
    "redact_table",
    "redaction_leakage",
    "retention",
    "retention_table",
    "risk_card",
    "robust_leakage",
    "sample_size",
    "simulate_attack",
    "temporal_budgets",
    "temporal_leakage",
    "temporal_supremum",
    "total_leakage",
    "utility_first",
    "write_counts",
    "write_report_counts",
    "write_reports",
]

_MODULES = {
    "attack.audit_results": ("MechanismAudit",),
    "attack.auditing": ("audit_mechanism",),
    "attack.probing": ("probe_inputs",),
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
    "plan.attack_audits": ("audit_collection", "audit_local_mechanism", "audit_redaction"),
    "plan.attack_report": ("AttackReport",),
    "plan.attacking": ("attack_plan",),
    "plan.audit": ("audit",),
    "plan.audit_result": ("AuditResult", "PairLeakage"),
    "plan.calibrate": ("CalibrationResult", "calibrate"),
    "plan.collecting": ("make_plan",),
    "plan.randomizing": ("randomize",),
    "plan.estimating": ("count_reports", "estimate"),
    "plan.power_families": ("FamilyReport", "plan_tests"),
    "plan.powering": ("PowerReport", "plan_test"),
    "plan.redacting": ("TableRedaction", "redact_table"),
    "plan.redaction_comparison": ("compare_mechanisms",),
    "plan.relating": ("estimate_relationships", "retention_table"),
    "plan.report_counts": ("read_report_counts", "write_report_counts"),
    "plan.reports_io": ("read_reports", "write_reports"),
    "plan.risking": ("Mechanism", "RiskCard", "RiskComparison", "compare_risks", "risk_card"),
    "plan.totals": ("TotalLeakage", "total_leakage"),
    "results": ("Finding", "Interval", "Standing"),
    "risk.disclosure": ("Disclosure", "disclosure"),
    "risk.planning": ("minimum_detectable_effect", "sample_size"),
    "risk.power": ("PowerResult", "power"),
    "risk.selection": ("Selection", "choose"),
    "risk.utility": ("UtilityResult", "utility_first"),
    "sequence": ("redact",),
    "sequence.attack": ("simulate_attack",),
    "sequence.chain": ("MarkovChain",),
    "sequence.leakage": ("redaction_leakage",),
    "sequence.plan": ("RedactionPlan",),
    "sequence.uncertain": ("ChainSet",),
    "tables": ("CodedTable", "CountedTable", "count_table", "read_counts", "write_counts"),
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
