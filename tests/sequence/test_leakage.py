"""Exact leakage of redaction plans against enumeration of all inputs and outputs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.errors import InvalidInputError
from seepage.sequence import _messages
from seepage.sequence.chain import MarkovChain
from seepage.sequence.leakage import redaction_leakage


def joint_table(transition, start, redact, position):
    """p(y, X_p = x) for every output y, by enumeration."""
    n, k = redact.shape
    table = {}
    for xs in itertools.product(range(k), repeat=n):
        weight = start[xs[0]]
        for a, b in itertools.pairwise(xs):
            weight *= transition[a][b]
        if weight == 0:
            continue
        for hide in itertools.product((True, False), repeat=n):
            p = weight
            for t in range(n):
                p *= redact[t, xs[t]] if hide[t] else 1 - redact[t, xs[t]]
                if p == 0:
                    break
            else:
                y = tuple(-1 if h else x for h, x in zip(hide, xs, strict=True))
                table.setdefault(y, [0] * k)[xs[position]] += p
    return table


def enumerated(chain, redact, position):
    """Leakage from p(y | X_p = x) of all outputs y, summed over all inputs."""
    n, k = redact.shape
    xs = np.array(list(itertools.product(range(k), repeat=n)))
    hide = np.array(list(itertools.product((False, True), repeat=n)))
    weight = chain.start[xs[:, 0]] * chain.transition[xs[:, :-1], xs[:, 1:]].prod(axis=1)
    own = redact[np.arange(n), xs][:, np.newaxis, :]
    p = weight[:, np.newaxis] * np.where(hide, own, 1 - own).prod(axis=2)
    digits = np.where(hide, k, xs[:, np.newaxis, :])
    y = (digits * (k + 1) ** np.arange(n)).sum(axis=2)
    table = np.zeros(((k + 1) ** n, k))
    np.add.at(table, (y, np.broadcast_to(xs[:, position, np.newaxis], y.shape)), p)
    law = table.sum(axis=0)
    table = table[table.sum(axis=1) > 0][:, law > 0] / law[law > 0]
    low, high = table.min(axis=1), table.max(axis=1)
    return np.inf if (low < high)[low == 0].any() else float(np.log(high / low).max())


def random_case(rng, most=7):
    k = int(rng.integers(2, 4))
    n = int(rng.integers(1, most + 1 if k == 2 else most - 1))
    P = rng.dirichlet(np.full(k, rng.choice([0.3, 1, 5])), size=k)
    if rng.random() < 0.2:
        P[0, 1] = 0
        P /= P.sum(axis=1, keepdims=True)
    start = None
    if rng.random() < 0.4:
        start = rng.dirichlet(np.ones(k))
        if rng.random() < 0.5:
            start[0] = 0
            start /= start.sum()
    redact = rng.random((n, k))
    redact[rng.random((n, k)) < 0.4] = 1
    redact[rng.random((n, k)) < 0.2] = 0
    redact[rng.random(n) < 0.3] = 1  # several records redacted for sure
    position = int(rng.integers(n))
    if rng.random() < 0.9:
        redact[position] = 1
    return MarkovChain(P, start), redact, position


def test_leakage_is_that_of_full_enumeration():
    rng = np.random.default_rng(5)
    infinite = 0
    for _ in range(500):
        chain, redact, p = random_case(rng)
        found, wanted = redaction_leakage(chain, redact, p).value, enumerated(chain, redact, p)
        if np.isinf(wanted):
            infinite += 1
            assert found == np.inf
        else:
            assert abs(found - wanted) < 1e-10
    assert 20 < infinite < 250


def test_seven_records_in_rational_numbers():
    P = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]]
    start = [Fraction(2, 3), Fraction(1, 3)]
    redact = np.array([[Fraction(1)] * 2] * 7, dtype=object)
    redact[1, 0], redact[5, 0], redact[6] = Fraction(1, 8), Fraction(1, 3), Fraction(0)
    rows = joint_table(P, start, redact, 3).values()
    ratios = [max(a / start[0], b / start[1]) / min(a / start[0], b / start[1]) for a, b in rows]
    chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    found = redaction_leakage(chain, redact.astype(float), 3).value
    assert found == pytest.approx(float(np.log(float(max(ratios)))), abs=1e-13)


def test_output_that_attains_the_leakage():
    rng = np.random.default_rng(8)
    checked = quiet = 0
    for _ in range(60):
        chain, redact, p = random_case(rng, most=5)
        redact[p] = 1
        found = redaction_leakage(chain, redact, p)
        if found.pair is None or np.isinf(found.value):
            continue
        checked += 1
        table = joint_table(chain.transition, chain.start, redact, p)
        law = np.sum(list(table.values()), axis=0)
        x, other = found.pair
        # A side that is not told: what is there tells nothing, so all of it is summed.
        silent = ("before" in found.silent, "after" in found.silent)
        quiet += any(silent) and bool(found.output)
        total = np.zeros(chain.k)
        for y, row in table.items():
            if _fits(y, p, found.output, silent):
                total += row
        ratio = np.log(total[x] / law[x]) - np.log(total[other] / law[other])
        assert abs(ratio - found.value) < 1e-10
    assert checked > 25
    assert quiet > 1


def _fits(y, p, output, silent):
    """Whether y has the told releases first on either side, all between them redacted."""
    for side, quiet in zip((range(p - 1, -1, -1), range(p + 1, len(y))), silent, strict=True):
        told = [t for t in side if t in output]
        for t in side if told or quiet else ():
            if t in output:
                if y[t] != output[t]:
                    return False
                break
            if y[t] >= 0:
                return False
    return True


def test_goldens():
    chain = MarkovChain.binary(0.25, 0.5)
    example = redaction_leakage(chain, [[1, 1], [0.12, 1]], 0)
    assert example.value == pytest.approx(0.498991, abs=5e-7)
    assert example.pair == (1, 0)
    assert (example.output, example.silent) == ({}, ("after",))  # nothing is released
    hidden = redaction_leakage(chain, [[1, 0.5], [1, 1]], 0)
    assert (hidden.value, hidden.pair, hidden.output) == (np.inf, (1, 0), {0: 1})


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_redacting_more_never_leaks_more(seed):
    rng = np.random.default_rng(seed)
    chain, redact, p = random_case(rng)
    more = redact + rng.random(redact.shape) * (1 - redact)
    before, after = (redaction_leakage(chain, r, p).value for r in (redact, more))
    assert after <= before + 1e-12


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_mirror_image_leaks_the_same(seed):
    rng = np.random.default_rng(seed)
    chain, redact, p = random_case(rng, most=12)
    chain = MarkovChain(_mixed(chain.transition))
    redact[p] = 1
    here = redaction_leakage(chain, redact, p).value
    there = redaction_leakage(chain.reversed(), redact[::-1], redact.shape[0] - 1 - p).value
    assert here == pytest.approx(there, abs=1e-12)


def _mixed(P):
    return 0.9 * P + 0.1 / P.shape[0]


def test_long_messages_in_blocks_equal_the_steps(monkeypatch):
    rng = np.random.default_rng(3)
    for k, n in ((2, 900), (3, 500)):
        P = 0.995 * np.eye(k) + 0.005 * rng.dirichlet(np.ones(k), size=k)
        redact = np.where(rng.random((n, k)) < 0.5, 1.0, rng.uniform(0.9, 1, (n, k)))
        redact[n // 3] = 1
        for start in (None, rng.dirichlet(np.ones(k))):
            chain = MarkovChain(P, start)
            blocks = redaction_leakage(chain, redact, n // 3)
            monkeypatch.setattr(_messages, "LOOP", 10_000)
            steps = redaction_leakage(chain, redact, n // 3)
            monkeypatch.undo()
            assert blocks.value == pytest.approx(steps.value, abs=1e-11)
            assert blocks.output == steps.output


def test_messages_that_drift_apart_do_not_underflow():
    # From state 2 the chain is stuck in 0 or in 1, which are redacted at very different rates.
    P = [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]]
    redact = np.tile([1.0, 0.01, 1.0], (2001, 1))
    redact[0] = 1
    found = redaction_leakage(MarkovChain(P, [0.3, 0.3, 0.4]), redact, 0)
    assert found.value == np.inf  # state 0 excludes a later 1
    redact[1:2000, 1] = 0.5
    redact[1:2000, 0] = 1.0
    chain = MarkovChain(P, [0.0, 0.5, 0.5])
    found = redaction_leakage(chain, redact, 0)
    # Nothing is ever released with p = .5 from state 2, and 2^-1999/100 from state 1.
    assert found.value == pytest.approx(np.log(0.5) + 1999 * np.log(2) + np.log(100), rel=1e-12)


def test_limits():
    chain = MarkovChain.binary(0.3, 0.7)  # independent records
    assert redaction_leakage(chain, np.vstack([np.zeros((3, 2)), np.ones((1, 2))]), 3).value == 0
    assert redaction_leakage(MarkovChain([[1.0]]), [[0.0]], 0).value == 0
    assert redaction_leakage(MarkovChain.binary(0.2, 0.3), [[1, 1]], 0).value == 0
    certain = MarkovChain([[0.5, 0.5], [0.1, 0.9]], [1.0, 0.0])
    assert redaction_leakage(certain, [[0, 0], [1, 1]], 0).value == 0  # nothing to hide
    cycle = MarkovChain.binary(1, 1)
    assert redaction_leakage(cycle, [[1, 1], [1, 1], [1, 0.999]], 0).value == np.inf
    assert redaction_leakage(cycle, np.ones((5000, 2)), 9).value == 0


@pytest.mark.parametrize(
    ("redact", "position", "message"),
    [
        ([[1, 1]], 1, "position"),
        ([[1, 1]], -1, "position"),
        ([[1, 1]], True, "position"),
        ([[1, 1]], 0.0, "position"),
        ([[1, 1, 1]], 0, "shape"),
        ([1, 1], 0, "shape"),
        (np.ones((0, 2)), 0, "shape"),
        ([[1, 1.5]], 0, r"in \[0, 1\]"),
        ([[1, np.nan]], 0, r"in \[0, 1\]"),
        ([["a", "b"]], 0, "numeric"),
        ([[True, False]], 0, "numeric"),
    ],
)
def test_hostile_input(redact, position, message):
    with pytest.raises(InvalidInputError, match=message):
        redaction_leakage(MarkovChain.binary(0.2, 0.3), redact, position)
