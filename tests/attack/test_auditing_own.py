"""Everything that this package releases is audited: mechanisms, designs, redactions.

Audits of releases cannot be seeded. Each has the confidence 1 − 1e-3/`MOST`, so that all of them
together raise a false alarm in fewer than one of 1,000 runs; a test counts them.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest

from seepage import DomainError, InvalidInputError
from seepage.attack.auditing import audit_mechanism
from seepage.attack.probing import probe_inputs
from seepage.collect.claims import published_epsilon
from seepage.collect.designs import fake_data, independent, sampled_views, split
from seepage.collect.pram import PostRandomization, Table, invariant_pram
from seepage.collect.registry import BY_EPSILON, KINDS, mechanism
from seepage.domain import Domain
from seepage.plan.attack_audits import audit_collection, audit_local_mechanism, audit_redaction
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain

MOST = 300
SURE = 1 - 1e-3 / MOST
SAMPLES = 4000
EPSILONS = (0.0, 0.7, 4.0)
SIZES = (2, 3, 9)
NAMES = [name for name in BY_EPSILON if name not in {"unary", "hashing"}]
"""Mechanisms by ε; "oue" and "olh" are "unary" and "hashing" without options."""

GIVEN = {
    "lambda": mechanism("lambda", 4, retention=0.3),
    "pram": PostRandomization([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]]),
    "invariant": invariant_pram([0.5, 0.3, 0.2], minimum_diagonal=0.6),
    "table": Table([[0.7, 0.2, 0.05, 0.05], [0.3, 0.3, 0.3, 0.1]]),
    "staircase of two": mechanism("staircase", 6, 1.5, step=2),
    "many categories": mechanism("olh", 300, 1.0),
    "many bits": mechanism("sue", 100, 1.0),
}
DOMAIN = Domain.of({"a": ["x", "y"], "b": [1, 2, 3], "c": ["p", "q", "r", "s"]})
PLANS = {
    "independent": independent(DOMAIN, {"a": 0.3, "b": 0.6, "c": 1.2}),
    "mixed": independent(
        DOMAIN, {"a": 1.0, "b": 0.5, "c": 0.8}, mechanism={"a": "sue", "b": "olh", "c": "subset"}
    ),
    "zero": independent(DOMAIN, {"a": 0.0, "b": 0.0, "c": 1.0}),
    "split": split(DOMAIN, 1.0, mechanism="oue"),
    "grouped": split(DOMAIN, 1.5, groups=[["a", "c"]]),
    "grouped staircase": split(DOMAIN, 1.5, mechanism="staircase", groups=[["b", "c"]]),
    "views": sampled_views(DOMAIN, 1.0, 2),
    "views of one": sampled_views(DOMAIN, 2.0, 1),
    "fake": fake_data(DOMAIN, 1.0),
    "fake, weak": fake_data(DOMAIN, 3.0),
}
CHAINS = {
    "rare": MarkovChain.binary(0.01, 0.8),
    "lazy": MarkovChain.binary(0.1, 0.2),
    "three states": MarkovChain(np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])),
    "moving": MarkovChain(np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0.9, 0.1])),
}
KEPT = (redact.certified, redact.optimal, redact.quilt, redact.data_independent)

MECHANISMS = [
    *(
        pytest.param(mechanism(name, k, epsilon), id=f"{name}-{k}-{epsilon}")
        for name in NAMES
        for k in SIZES
        for epsilon in EPSILONS
    ),
    *(pytest.param(made, id=name) for name, made in GIVEN.items()),
]
COLLECTIONS = [
    pytest.param(plan, about, id=f"{name}-{about}")
    for name, plan in PLANS.items()
    for about in ("(record)", *DOMAIN.names)
]
REDACTIONS = [
    pytest.param(name, make, position, epsilon, id=f"{name}-{make.__name__}-{position}")
    for name in CHAINS
    for make in KEPT
    for position, epsilon in ((0, 0.8), (4, 2.0))
]
ONE_BY_ONE = 2


@cache
def redaction(name, make, position, epsilon):
    return make(CHAINS[name], 9, position, epsilon)


def test_every_kind_of_mechanism_is_audited():
    kinds = {param.values[0].kind for param in MECHANISMS}
    assert kinds == set(KINDS)


def test_number_of_audits_of_releases():
    assert len(MECHANISMS) + len(COLLECTIONS) + len(REDACTIONS) + ONE_BY_ONE <= MOST


@pytest.mark.parametrize("rng", [1, None], ids=["simulation", "release"])
@pytest.mark.parametrize("made", MECHANISMS)
def test_mechanisms(made, rng):
    found = audit_local_mechanism(made, samples=SAMPLES, confidence=SURE, rng=rng)
    assert found.claimed == made.epsilon
    assert not found.exceeds, found.verdict
    assert found.lower >= 0


@pytest.mark.parametrize("rng", [1, None], ids=["simulation", "release"])
@pytest.mark.parametrize(("plan", "about"), COLLECTIONS)
def test_collections(plan, about, rng):
    found = audit_collection(plan, about, samples=SAMPLES, confidence=SURE, rng=rng)
    assert found.claimed == (plan.epsilon if about == "(record)" else plan.budgets[about])
    assert not found.exceeds, found.verdict


@pytest.mark.parametrize("rng", [1, None], ids=["simulation", "release"])
@pytest.mark.parametrize(("name", "make", "position", "epsilon"), REDACTIONS)
def test_redactions(name, make, position, epsilon, rng):
    plan = redaction(name, make, position, epsilon)
    found = audit_redaction(plan, samples=SAMPLES, confidence=SURE, rng=rng)
    assert found.claimed == epsilon
    assert not found.exceeds, found.verdict


# Releases of single records, as a client makes them.


def test_records_one_by_one():
    plan = PLANS["mixed"]
    records = [{"a": "x", "b": 1, "c": "p"}, {"a": "y", "b": 3, "c": "s"}]
    found = audit_mechanism(
        plan.randomize_record, records, epsilon=plan.epsilon, samples=300, confidence=SURE
    )
    assert not found.exceeds, found.verdict


def test_records_of_unknown_values_are_refused():
    plan = PLANS["grouped"]
    hostile = [{"a": value, "b": 1, "c": "p"} for value in ("z", None, float("nan"), 1, True, "X")]
    hostile += [{"a": "x", "b": value, "c": "p"} for value in ("1", True, 1.0, 0, None)]
    hostile += [{"a": "x", "b": 1}, {}, None, "x", {"a": "x", "b": 1, "c": "p", "d": 0}]
    probes = probe_inputs(
        plan.randomize_record, hostile, inputs=[{"a": "x", "b": 1, "c": "p"}], repeats=20
    )
    assert {probe.outcome for probe in probes} == {"refused"}
    assert all("Error" in probe.detail for probe in probes)


def test_sequences_one_by_one():
    chain, position = CHAINS["lazy"], 3
    plan = redact.certified(chain, 7, position, 1.0)
    draw = np.random.default_rng(5)

    def release(state):
        while True:
            codes = chain.simulate(7, rng=draw)
            if codes[position] == state:
                return plan.apply(codes.tolist()).codes

    found = audit_mechanism(release, [0, 1], epsilon=1.0, samples=600, confidence=SURE)
    assert not found.exceeds, found.verdict


# Power: the audits above would see something.


@pytest.mark.parametrize("name", NAMES)
def test_power_on_mechanisms(name):
    made = mechanism(name, 4, 1.0)
    found = audit_local_mechanism(made, samples=60_000, rng=2)
    assert 0.9 < found.lower <= 1.0
    # What a claim of half of it would come to.
    assert audit_local_mechanism(made, epsilon=0.5, samples=20_000, rng=2).exceeds


@pytest.mark.parametrize("name", ["pram", "invariant", "table", "many categories", "many bits"])
def test_power_on_given_mechanisms(name):
    made = GIVEN[name]
    found = audit_local_mechanism(made, samples=60_000, rng=2)
    assert 0.85 * made.epsilon < found.lower <= made.epsilon


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("independent", 0.8),
        ("mixed", 0.8),
        ("split", 0.6),
        ("grouped", 0.8),
        ("views", 0.8),
        ("fake", 0.8),
    ],
)
def test_power_on_collections(name, share):
    plan = PLANS[name]
    found = audit_collection(plan, samples=60_000, rng=3)
    assert share * plan.epsilon < found.lower <= plan.epsilon
    own = audit_collection(plan, "c", samples=60_000, rng=3)
    assert 0.7 * plan.budgets["c"] < own.lower <= plan.budgets["c"]


def test_the_published_epsilon_of_fake_data_is_refuted():
    plan = PLANS["fake"]
    usual = published_epsilon(plan.units[0].mechanism.epsilon, 3)
    assert usual == pytest.approx(1.0)
    found = audit_collection(plan, epsilon=usual, samples=40_000, rng=4)
    assert found.exceeds
    assert found.lower <= plan.epsilon


@pytest.mark.parametrize(
    ("epsilon", "leakage", "share"), [(0.5, 0.654546, 0.8), (2.0, 2.509670, 0.95)]
)
def test_the_published_three_region_plan_is_refuted(epsilon, leakage, share):
    plan = redact.published(CHAINS["rare"], 10, 0, epsilon)
    assert plan.leakage == pytest.approx(leakage, abs=1e-6)
    found = audit_redaction(plan, samples=10**6, rng=5)
    assert found.claimed == epsilon
    assert found.exceeds
    assert share * leakage < found.lower <= leakage
    assert "the first shown after the record is 1 at position" in found.best.event


def test_power_on_redactions():
    for make in KEPT:
        plan = make(CHAINS["lazy"], 12, 5, 1.0)
        found = audit_redaction(plan, epsilon=plan.leakage, samples=200_000, rng=6)
        assert 0.8 * plan.leakage < found.lower <= plan.leakage
    # Made for another record, a plan does not hide this one.
    shown = audit_redaction(redact.certified(CHAINS["lazy"], 12, 5, 1.0), 8, samples=2000, rng=6)
    assert shown.claimed == math.inf
    assert shown.lower > 3
    assert not shown.exceeds


def test_simulated_releases_follow_the_law_of_the_chain():
    # By enumeration: the law of what is seen from the hidden record outwards, six standard errors.
    chain, p, n = CHAINS["moving"], 2, 5
    table = np.array([[0.5, 0.2], [0.9, 0.4], [1.0, 1.0], [0.8, 0.3], [0.1, 0.6]])
    plan = redact.from_probabilities(chain, table, p)
    found = audit_redaction(plan, samples=60_000, rng=7)
    law = np.zeros((2, 2))  # by hidden value: probability that 3 is shown as 1; that all is hidden
    for codes in np.ndindex(*(2,) * n):
        weight = chain.start[codes[0]]
        for a, b in itertools.pairwise(codes):
            weight *= chain.transition[a, b]
        hidden = table[np.arange(n), codes]
        law[codes[p]] += weight * np.array([(1 - hidden[3]) * codes[3], hidden.prod()])
    law /= chain.marginals(p, p + 1)[0][:, np.newaxis]
    assert found.lower <= plan.leakage
    from seepage.plan import attack_audits
    from seepage.sequence.leakage import sides

    left, right = sides(chain, p, n)
    words = attack_audits.word_source(8)
    size = 60_000
    for state in (0, 1):
        start = np.full(size, state)
        after = attack_audits._outward(right, table[p + 1 :], start, words)
        before = attack_audits._outward(left, table[:p][::-1], start, words)
        seen = np.array([(after == 1 * 2 + 1).mean(), ((after == 0) & (before == 0)).mean()])
        error = np.sqrt(law[state] * (1 - law[state]) / size)
        assert (np.abs(seen - law[state]) < 6 * error).all()


# Limits and hostile input.


def test_epsilon_of_infinity_is_a_claim_that_nothing_refutes():
    found = audit_local_mechanism(mechanism("grr", 3, math.inf), samples=1000)
    assert not found.exceeds
    assert found.lower > 3
    open_ = independent(DOMAIN, math.inf)
    assert not audit_collection(open_, samples=500).exceeds


def test_hostile_arguments():
    with pytest.raises(InvalidInputError, match="expected a mechanism, got 'grr'"):
        audit_local_mechanism("grr")
    with pytest.raises(InvalidInputError, match="2 categories or more"):
        audit_local_mechanism(mechanism("grr", 1, 1.0))
    for codes in ([0, 3], [0.0, 1.0], ["a", "b"], [0], [1, 1], []):
        with pytest.raises(InvalidInputError):
            audit_local_mechanism(mechanism("grr", 3, 1.0), codes)
    with pytest.raises(InvalidInputError, match="expected a CollectionPlan"):
        audit_collection(None)
    with pytest.raises(DomainError, match="'d'"):
        audit_collection(PLANS["fake"], "d")
    single = independent(Domain.of({"a": ["x"], "b": [1, 2]}), 1.0)
    with pytest.raises(InvalidInputError, match="got one in 'a'"):
        audit_collection(single, "a")
    assert audit_collection(single, samples=200).claimed == single.epsilon
    with pytest.raises(InvalidInputError, match="expected a RedactionPlan"):
        audit_redaction(PLANS["fake"])
    plan = redact.certified(CHAINS["lazy"], 5, 2, 1.0)
    for position in (5, -1, True, 1.0, "2"):
        with pytest.raises(InvalidInputError, match="position"):
            audit_redaction(plan, position)
    settled = redact.from_probabilities(
        MarkovChain(np.eye(2), np.array([1.0, 0.0])), np.ones((3, 2)), 1
    )
    with pytest.raises(InvalidInputError, match="two possible states"):
        audit_redaction(settled)
