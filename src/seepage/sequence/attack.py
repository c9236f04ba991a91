"""A check by attack: what an analyst who knows the chain and the plan infers from releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._entropy import as_generator, word_source
from seepage._numeric import FloatArray, IntArray, as_float_array, check_size, freeze
from seepage.errors import InvalidInputError
from seepage.sequence._messages import Side
from seepage.sequence.chain import MarkovChain
from seepage.sequence.leakage import check_position, sides
from seepage.sequence.plan import RedactionPlan, redact_draws


@dataclass(frozen=True, eq=False)
class Attack:
    """Posteriors of a hidden record over simulated releases.

    Attributes
    ----------
    position : int
    prior : array of float, shape (k,)
        Law of the hidden record.
    posteriors : array of float, shape (runs, k)
        ``p(X_p = x | release)`` for each run.
    ratios : array of float, shape (runs,)
        ``max over x, x' of ln p(y | x) − ln p(y | x')`` of each release, in nats.
    bound : float
        Leakage of the plan about the record.
    hits : float
        Fraction of runs in which the likeliest value was the true one.
    baseline : float
        The same for an attacker who always names the likeliest value of the prior.
    """

    position: int
    prior: FloatArray
    posteriors: FloatArray
    ratios: FloatArray
    bound: float
    hits: float
    baseline: float

    @property
    def worst(self) -> float:
        """Largest log-ratio seen; never above `bound` but for rounding."""
        return float(self.ratios.max())

    @property
    def verdict(self) -> str:
        """What the attack found, in one sentence."""
        return (
            f"Over {self.ratios.size} simulated releases the attacker's largest log-ratio about "
            f"record {self.position} was {self.worst:.6g} nats, bound {self.bound:.6g}; it named "
            f"the value rightly in {self.hits:.1%}, without the release in {self.baseline:.1%}."
        )


def posterior(
    chain: MarkovChain, plan: RedactionPlan, codes: Any, position: int | None = None
) -> FloatArray:
    """Bayes posterior of a hidden record given released sequences (forward–backward).

    Parameters
    ----------
    chain : MarkovChain
        What the attacker believes.
    plan : RedactionPlan
    codes : array-like of int, shape (n,) or (runs, n)
        Released records as positions among the states, −1 where redacted (`Redacted.codes`).
    position : int, optional
        The hidden record; the first of the plan when left out.

    Returns
    -------
    array of float, shape (k,) or (runs, k)
        The prior for a release that cannot occur.
    """
    if chain.k != plan.chain.k:
        msg = f"expected a chain with {plan.chain.k} states, as the plan has, got {chain.k}"
        raise InvalidInputError(msg)
    y = as_float_array(codes, "codes")
    if (y != np.round(y)).any() or (y < -1).any() or (y >= chain.k).any() or y.ndim not in {1, 2}:
        msg = f"expected codes of states from 0 to {chain.k - 1}, or -1, in rows, got others"
        raise InvalidInputError(msg)
    if y.shape[-1] != plan.n:
        msg = f"expected releases of {plan.n} records, as the plan has, got {y.shape[-1]}"
        raise InvalidInputError(msg)
    p = plan.positions[0] if position is None else check_position(position, plan.n)
    rows = np.atleast_2d(y).astype(np.int64)
    logs = _likelihood(chain, plan.redact_probability, rows, p)
    prior = chain.marginal(p)
    with np.errstate(divide="ignore"):
        logs = logs + np.log(prior)
    top = logs.max(axis=1, keepdims=True)
    weight = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = weight.sum(axis=1, keepdims=True)
    result = np.where(total > 0, weight / np.where(total > 0, total, 1.0), prior)
    return np.asarray(result[0] if y.ndim == 1 else result)


def simulate_attack(
    plan: RedactionPlan,
    runs: int = 1000,
    *,
    position: int | None = None,
    rng: np.random.Generator | int,
) -> Attack:
    """Draw sequences from the plan's chain, redact them, and attack each release.

    Parameters
    ----------
    plan : RedactionPlan
    runs : int, default 1000
    position : int, optional
        The record attacked; the first hidden one of the plan when left out.
    rng : numpy.random.Generator or int

    Returns
    -------
    Attack
    """
    count = check_size(runs, "runs")
    chain = plan.chain
    p = plan.positions[0] if position is None else check_position(position, plan.n)
    draw = as_generator(rng)
    first, last = _span(plan, p)
    law = chain.marginal(first)
    part = MarkovChain(chain.transition, law, chain.states)
    codes = part.simulate(last - first, count, rng=draw)
    r = plan.redact_probability[first:last]
    own = r[np.arange(last - first)[np.newaxis, :], codes]
    hide = redact_draws(own, word_source(draw)(own.size).reshape(own.shape))
    y = np.where(hide, -1, codes)
    logs = _likelihood(part, r, y, p - first)
    prior = chain.marginal(p)
    present = chain.supports(p, p + 1)[0]
    ratios = logs[:, present].max(axis=1) - logs[:, present].min(axis=1)
    with np.errstate(divide="ignore"):
        joint = logs + np.log(prior)
    weight = np.exp(joint - joint.max(axis=1, keepdims=True))
    posteriors = weight / weight.sum(axis=1, keepdims=True)
    truth = codes[:, p - first]
    return Attack(
        p,
        prior,
        freeze(posteriors),
        freeze(ratios),
        plan.leakage_about(p).value,
        float((posteriors.argmax(axis=1) == truth).mean()),
        float((truth == prior.argmax()).mean()),
    )


def _span(plan: RedactionPlan, p: int) -> tuple[int, int]:
    """Records around p up to the nearest that are released whatever they are, or to the ends."""
    shown = np.flatnonzero((plan.redact_probability <= 0).all(axis=1))
    before, after = shown[shown < p], shown[shown > p]
    first = int(before[-1]) if before.size else 0
    return first, int(after[0]) + 1 if after.size else plan.n


def _likelihood(chain: MarkovChain, redact: FloatArray, y: IntArray, p: int) -> FloatArray:
    """``ln p(y | X_p = x)`` up to a number for each row, shape (runs, k)."""
    n = redact.shape[0]
    left, right = sides(chain, p, n)
    rows = [
        _outward(left, redact[:p][::-1], y[:, :p][:, ::-1]),
        _outward(right, redact[p + 1 :], y[:, p + 1 :]),
    ]
    own = np.where(y[:, p : p + 1] < 0, redact[p], np.arange(chain.k) == y[:, p : p + 1])
    with np.errstate(divide="ignore"):
        # A released hidden record is certain whatever the probability of its release.
        return np.asarray(rows[0] + rows[1] + np.log(own))


def _outward(side: Side, redact: FloatArray, y: IntArray) -> FloatArray:
    """Log-likelihood of one side's release for each hidden value, shape (runs, k)."""
    runs, length = y.shape
    k = redact.shape[1]
    F = np.broadcast_to(np.eye(k), (runs, k, k)).copy()
    scale = np.zeros((runs, k))
    result = np.full((runs, k), np.nan)
    open_ = np.arange(runs)
    for d in range(length):
        K = side.kernel if side.kernel.ndim == 2 else side.kernel[d]
        F = (F.reshape(-1, k) @ K).reshape(F.shape)
        seen = y[open_, d]
        ends = seen >= 0
        if ends.any():  # what lies beyond a released record does not depend on the hidden one
            with np.errstate(divide="ignore"):
                value = np.log(F[ends, :, :][np.arange(ends.sum()), :, seen[ends]])
            result[open_[ends]] = value + scale[ends]
            F, scale, open_ = F[~ends], scale[~ends], open_[~ends]
        if not open_.size:
            return result
        F = F * redact[d]
        top = F.max(axis=2)
        scale = scale + np.log(np.where(top > 0, top, 1.0))
        F = F / np.where(top > 0, top, 1.0)[:, :, np.newaxis]
    with np.errstate(divide="ignore"):
        result[open_] = np.log(F.sum(axis=2)) + scale
    return result
