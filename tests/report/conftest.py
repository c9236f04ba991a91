"""Audits to draw: ordinary, hostile labels, infinite, independent."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from seepage.counts import PairCounts
from seepage.domain import Domain
from seepage.leakage.tree import DependencyTree
from seepage.plan.audit import audit
from seepage.plan.audit_result import AuditResult

HOSTILE = "</script><script>alert(1)</script>"


def build(d: int, *, epsilon: float = 1.0, hostile: bool = False) -> AuditResult:
    """Audit of `d` dependent attributes of 2 to 5 categories."""
    rng = np.random.default_rng(d)
    hidden = rng.integers(0, 4, 400)
    columns, codes = {}, []
    for j in range(d):
        k = 2 + j % 4
        noise = rng.integers(0, k, 400)
        codes.append(np.where(rng.random(400) < 0.6, hidden % k, noise))
        columns[f"attribute {j}"] = [f"value {i}" for i in range(k)]
    if hostile:
        columns = {
            (HOSTILE if j == 0 else f'"{name}" & \u2028 <img src=x onerror=alert(1)>'): [
                HOSTILE,
                *labels[1:],
            ]
            for j, (name, labels) in enumerate(columns.items())
        }
    counts = PairCounts.from_codes(Domain.of(columns), np.stack(codes, axis=1))
    return audit(counts, epsilon=epsilon)


@pytest.fixture(scope="session")
def ordinary() -> AuditResult:
    return build(5)


@pytest.fixture(scope="session")
def hostile() -> AuditResult:
    return build(4, hostile=True)


@pytest.fixture(scope="session")
def wide(ordinary: AuditResult) -> AuditResult:
    """Forty attributes, put together from the pairs of a small audit to save the counting."""
    names = [f"attribute with a long name {j}" for j in range(40)]
    source = itertools.cycle(ordinary.pairs)
    return dataclasses.replace(
        ordinary,
        domain=Domain.of({name: ["yes", "no"] for name in names}),
        budgets=dict.fromkeys(names, 1.0),
        pairs=tuple(
            dataclasses.replace(next(source), secret=secret, released=released)
            for secret, released in itertools.permutations(names, 2)
        ),
        totals=dict.fromkeys(names, next(iter(ordinary.totals.values()))),
        tree_totals=dict.fromkeys(names, next(iter(ordinary.tree_totals.values()))),
        tree=DependencyTree.of(names, list(itertools.pairwise(names))),
    )


@pytest.fixture(scope="session")
def unbounded() -> AuditResult:
    """Deterministic dependence and no noise: a leakage of ∞ beside finite ones."""
    table = {"a": list("xxyyzz"), "b": list("uuvvww"), "c": list("pqpqqq")}
    return audit(table, epsilon=math.inf)


@pytest.fixture(scope="session")
def independent() -> AuditResult:
    """One pair of attributes, and it leaks nothing."""
    return audit({"a": list("xxyy"), "b": list("uvuv")})
