"""Redaction plans at full size: promises over many random settings, a generic optimiser, speed.

``python benchmarks/redaction.py promises 5000``, ``optimal 100 --states 3 5`` or ``generic 50``;
without arguments, the speeds.
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.leakage import redaction_leakage


def random_setting(rng, k):
    if k == 2:
        alpha, beta = np.maximum(rng.random(2) * rng.choice([0.05, 0.2, 0.5, 1, 1, 1]), 1e-3)
        chain = MarkovChain.binary(alpha, beta)
    else:
        P = rng.dirichlet(np.full(k, rng.choice([0.3, 1, 5])), size=k)
        stay = rng.choice([0, 0.5, 0.9])
        chain = MarkovChain(stay * np.eye(k) + (1 - stay) * P)
    n = int(rng.integers(1, 201 if rng.random() < 0.7 else 13))
    return chain, n, int(rng.integers(n)), float(np.exp(rng.uniform(np.log(0.02), np.log(5))))


def promises(count, low, high, seed, *, optimal):
    names = ["data_independent", "certified", *(["optimal"] if optimal else ["quilt"])]
    rng = np.random.default_rng(seed)
    broken = disorder = 0
    mean = dict.fromkeys(names, 0.0)
    for _ in range(count):
        chain, n, p, epsilon = random_setting(rng, int(rng.integers(low, high + 1)))
        plans = {name: getattr(redact, name)(chain, n, p, epsilon) for name in names}
        broken += sum(plan.leakage > epsilon for plan in plans.values())
        ordered = [plans[name].utility for name in names if name != "quilt"]
        disorder += any(a > b + 1e-12 for a, b in itertools.pairwise(ordered))
        for name, plan in plans.items():
            mean[name] += plan.utility / count
    print(f"{count} settings, {low}-{high} states: {broken} above ε, {disorder} out of order")
    print("mean utility", {name: round(value, 6) for name, value in mean.items()})


def kept(chain, r, p, epsilon):
    """Redact more, by as little as possible, until the plan keeps its promise exactly."""

    def broken(t):
        return redaction_leakage(chain, r + t * (1 - r), p).value > epsilon

    if not broken(0.0):
        return r
    low, high = 0.0, 1.0
    while high - low > 1e-14:
        middle = (low + high) / 2
        low, high = (middle, high) if broken(middle) else (low, middle)
    return r + high * (1 - r)


def generic(cases, restarts, seed):
    """The best of random places of release and random starts of a generic optimiser."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    worst = np.inf
    for _ in range(cases):
        n = int(rng.integers(3, 7))
        chain = MarkovChain.binary(*rng.uniform(0.05, 0.95, 2))
        p, epsilon = int(rng.integers(n)), float(rng.uniform(0.1, 2))
        law, best = chain.stationary, 0.0
        for _ in range(restarts):
            places = rng.random((n, 2)) < rng.random()
            places[p] = False
            if not places.any():
                continue

            def table(z, n=n, places=places):
                r = np.ones((n, 2))
                r[places] = np.clip(z, 0, 1)
                return r

            found = minimize(
                lambda z, t=table, law=law: -float((law * (1 - t(z))).sum()),
                rng.random(places.sum()),
                method="SLSQP",
                bounds=[(0, 1)] * int(places.sum()),
                constraints={
                    "type": "ineq",
                    "fun": lambda z, t=table, c=chain, p=p, e=epsilon: (
                        e - min(redaction_leakage(c, t(z), p).value, 50.0)
                    ),
                },
                options={"maxiter": 30},
            )
            r = table(found.x)
            if float((law * (1 - r)).sum()) / n > best:  # the optimiser oversteps a little
                r = kept(chain, r, p, epsilon)
            best = max(best, float((law * (1 - r)).sum()) / n)
        gap = redact.optimal(chain, n, p, epsilon).utility - best
        worst = min(worst, gap)
    print(f"{cases} cases: optimal minus the best of {restarts} restarts is {worst:.2e} at least")


def speeds():
    chain = MarkovChain.binary(0.01, 0.02)
    for name, row in (("even", [0.5, 0.5]), ("one state only", [0.3, 1.0]), ("all", [1.0, 1.0])):
        r = np.tile(row, (1_000_000, 1))
        r[500_000] = 1
        start = time.perf_counter()
        redaction_leakage(chain, r, 500_000)
        print(f"leakage, n = 1,000,000, {name}: {time.perf_counter() - start:.2f} s")
    for alpha, beta in ((0.1, 0.3), (0.02, 0.1), (0.005, 0.02), (0.00115, 0.0017)):
        for name in ("data_independent", "certified", "optimal"):
            start = time.perf_counter()
            plan = getattr(redact, name)(MarkovChain.binary(alpha, beta), 1000, 400, 1.0)
            took = time.perf_counter() - start
            print(f"{name}, n = 1,000, α = {alpha}, β = {beta}: {took:.2f} s, {plan.utility:.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="speeds")
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("--states", type=int, nargs="+", default=[2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--restarts", type=int, default=200)
    given = parser.parse_args()
    if given.what == "generic":
        generic(given.count, given.restarts, given.seed)
    elif given.what in {"promises", "optimal"}:
        low, high = min(given.states), max(given.states)
        promises(given.count, low, high, given.seed, optimal=given.what == "optimal")
    else:
        speeds()


if __name__ == "__main__":
    main()
