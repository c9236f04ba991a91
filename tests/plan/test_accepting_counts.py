"""Whatever needs only pairwise counts takes them in place of a table, with the same numbers."""

from __future__ import annotations

import pytest

import seepage as sp
from seepage.tables import load

TABLE = {
    "sex": ["f", "m", "m", "f"] * 25,
    "smoker": ["no", "yes", "yes", "no", "no"] * 20,
    "age": [1, 2, 3, 4, 4] * 20,
}


@pytest.fixture(params=["counted", "pairs", "file", "files"])
def given(request, tmp_path):
    """Counts in every form."""
    counted = sp.count_table(TABLE)
    sp.write_counts(counted, tmp_path / "all.counts")
    halves = [tmp_path / f"{i}.counts" for i in range(2)]
    for i, path in enumerate(halves):
        part = {name: values[50 * i : 50 * i + 50] for name, values in TABLE.items()}
        sp.write_counts(sp.count_table(part, domain=counted.domain), path)
    return {
        "counted": counted,
        "pairs": counted.counts,
        "file": tmp_path / "all.counts",
        "files": halves,
    }[request.param]


def test_audit_calibration_totals_and_plans(given):
    table = load(TABLE)
    assert sp.audit(given).to_dict()["pairs"] == sp.audit(table).to_dict()["pairs"]
    assert sp.calibrate(given, 2.0).budgets == sp.calibrate(table, 2.0).budgets
    for method in ("tree", "pairwise", "group"):
        found, wanted = (sp.total_leakage(x, 1.0, method=method) for x in (given, table))
        assert found.to_dict()["totals"] == wanted.to_dict()["totals"]
    plans = [sp.make_plan(x, epsilon=1.0) for x in (given, table)]
    assert plans[0].fingerprint == plans[1].fingerprint
    assert {n: c.value for n, c in plans[0].totals.items()} == {
        n: c.value for n, c in plans[1].totals.items()
    }


def test_retention_needs_the_domain_of_counts_only():
    counted = sp.count_table(TABLE)
    wanted = sp.retention_table(counted.domain, 1.0)
    for source in (counted, counted.counts):
        found = sp.retention_table(source, 1.0)
        assert found.retentions == wanted.retentions
