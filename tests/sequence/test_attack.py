"""The attacker's posterior against enumeration, and against the exact bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from seepage.errors import InvalidInputError
from seepage.sequence import redact
from seepage.sequence.attack import posterior, simulate_attack
from seepage.sequence.chain import MarkovChain


def test_posterior_is_bayes_rule_over_all_inputs():
    rng = np.random.default_rng(4)
    for case in range(12):
        k, n = (2, 5) if case % 2 else (3, 4)
        start = rng.dirichlet(np.ones(k)) if case % 3 == 0 else None
        chain = MarkovChain(rng.dirichlet(np.ones(k), size=k), start)
        r = np.where(rng.random((n, k)) < 0.3, 1.0, rng.random((n, k)))
        p = int(rng.integers(n))
        plan = redact.from_probabilities(chain, r, p)
        outputs = np.array(list(itertools.product(range(-1, k), repeat=n)))
        wanted = np.zeros((outputs.shape[0], k))
        for xs in itertools.product(range(k), repeat=n):
            weight = chain.start[xs[0]]
            for a, b in itertools.pairwise(xs):
                weight *= chain.transition[a, b]
            own = r[np.arange(n), xs]
            match = np.where(outputs < 0, own, np.where(outputs == np.array(xs), 1 - own, 0))
            wanted[:, xs[p]] += weight * match.prod(axis=1)
        can = wanted.sum(axis=1) > 0
        found = posterior(chain, plan, outputs[can])
        np.testing.assert_allclose(
            found, wanted[can] / wanted[can].sum(axis=1, keepdims=True), atol=1e-12
        )
        assert posterior(chain, plan, outputs[can][0]).shape == (k,)


@pytest.mark.parametrize("make", [redact.data_independent, redact.certified, redact.optimal])
def test_attacker_stays_within_the_bound_and_reaches_it(make):
    chain = MarkovChain.binary(0.2, 0.4)
    plan = make(chain, 20, 8, 0.9)
    attack = simulate_attack(plan, 4000, rng=5)
    assert attack.worst <= plan.leakage + 1e-9
    assert attack.worst == pytest.approx(plan.leakage, abs=1e-6)  # the worst output is likely
    np.testing.assert_allclose(attack.posteriors.sum(axis=1), 1)
    # By the law of total probability; 6 standard errors.
    mean, error = attack.posteriors[:, 0].mean(), attack.posteriors[:, 0].std() / np.sqrt(4000)
    assert abs(mean - attack.prior[0]) < 6 * error
    assert "bound" in attack.verdict


def test_attack_shows_the_broken_promise():
    plan = redact.published(MarkovChain.binary(0.3, 0.9), 10, 0, 0.3, variant="algorithm")
    attack = simulate_attack(plan, 4000, rng=5)
    assert attack.worst == pytest.approx(plan.leakage, abs=1e-9)


def test_hostile_input():
    chain = MarkovChain.binary(0.2, 0.4)
    plan = redact.certified(chain, 5, 2, 1.0)
    for bad in ([[0, 1]], [0, 1, 2, 0, 0], [0.5] * 5, [-2] * 5, "a", np.zeros((1, 1, 5))):
        with pytest.raises(InvalidInputError):
            posterior(chain, plan, bad)
    for options in ({"runs": 0}, {"position": 5}, {"rng": None}):
        with pytest.raises(InvalidInputError):
            simulate_attack(plan, **{"rng": 1, **options})
