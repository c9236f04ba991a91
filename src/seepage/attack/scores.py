"""How well an attacker guesses: measures, limits that hold at 0 and 100 %, a control group."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray, IntArray
from seepage.errors import InvalidInputError
from seepage.results import Interval


@dataclass(frozen=True)
class Score:
    """Success of an attacker on n records.

    Parameters
    ----------
    accuracy : Interval
        Share of right guesses of the likeliest value; Clopper–Pearson limits.
    advantage : Interval
        `accuracy` minus that of the prior guess on the same records. The latter is a number once
        the records are chosen, so the limits are those of `accuracy`, shifted: given the true
        values, the right guesses are independent, and the tails of their number are no heavier than
        binomial ones (Hoeffding, "On the distribution of the number of successes in independent
        trials", 1956).
    macro_f1 : float
        Mean F1 of the values that occur or are guessed, by the same guesses (the paper's measure).
    balanced_accuracy : float
        Mean over the values that occur of the share guessed rightly, by the guess among these
        values that raises belief most (posterior over prior): the best guess for this measure. A
        guess of a value that no record has could only lose.
    control : Interval
        `accuracy` when the reports are those of other records.
    control_balanced : float
        `balanced_accuracy` when they are. With k values that occur, and b the `balanced_accuracy`,
        its mean over `strangers` is ``1/k − (b − 1/k)/(n − 1)``, whatever the attacker: no record
        is its own stranger, so right guesses are missing from those that are dealt out.
    balanced : Interval
        `balanced_accuracy` with limits: a weighted sum of right guesses, which are independent
        given the true values, so Hoeffding's inequality (1963, theorem 2) holds for it.
    """

    accuracy: Interval
    advantage: Interval
    macro_f1: float
    balanced_accuracy: float
    control: Interval
    control_balanced: float
    balanced: Interval


def score(
    truth: IntArray,
    beliefs: FloatArray,
    prior: FloatArray,
    others: IntArray,
    confidence: float,
) -> Score:
    """Score beliefs in the values of the secret.

    Parameters
    ----------
    truth : array of int, shape (n,)
    beliefs : array of float, shape (n, k)
        One distribution for each record.
    prior : array of float, shape (k,)
        Of the prior guess.
    others : array of int, shape (n,)
        For the control group: whose reports each record gets.
    confidence : float
        In (0, 1), of each interval by itself.
    """
    guesses = beliefs.argmax(axis=1)
    k = beliefs.shape[1]
    met = np.bincount(truth, minlength=k) > 0
    raised = np.where(met, lift(beliefs, prior), -1.0).argmax(axis=1)
    right = guesses == truth
    baseline = float((truth == int(prior.argmax())).mean())
    controlled = guesses[others] == truth
    accuracy = proportion(int(right.sum()), len(truth), confidence)
    balanced = balanced_limits(truth, raised, k, confidence)
    return Score(
        accuracy,
        Interval(
            accuracy.lower - baseline,
            accuracy.estimate - baseline,
            accuracy.upper - baseline,
            confidence,
        ),
        macro_f1(truth, guesses, k),
        balanced.estimate,
        proportion(int(controlled.sum()), len(truth), confidence),
        balanced_accuracy(truth, raised[others], k),
        balanced,
    )


def lift(beliefs: FloatArray, prior: FloatArray) -> FloatArray:
    """Belief over prior, shape (n, k); 0 for values without a prior."""
    return np.asarray(beliefs / np.where(prior > 0, prior, np.inf))


def proportion(successes: int, n: int, confidence: float) -> Interval:
    """Clopper–Pearson interval of a proportion; its coverage is never below `confidence`.

    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial" (1934).

    Raises
    ------
    InvalidInputError
        If the counts are impossible, or `confidence` is outside (0, 1).
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= n or n < 1:
        msg = f"expected 0 to n successes of n ≥ 1, got {successes} of {n}"
        raise InvalidInputError(msg)
    if not 0 < confidence < 1:
        msg = f"expected confidence between 0 and 1, got {confidence!r}"
        raise InvalidInputError(msg)
    tail = (1 - confidence) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(low, successes / n, high, confidence)


def macro_f1(truth: IntArray, guesses: IntArray, k: int) -> float:
    """Mean over values of ``2·hits / (true + guessed)``, over those that occur or are guessed."""
    hits = np.bincount(truth[truth == guesses], minlength=k)
    total = np.bincount(truth, minlength=k) + np.bincount(guesses, minlength=k)
    used = total > 0
    return float((2 * hits[used] / total[used]).mean())


def balanced_accuracy(truth: IntArray, guesses: IntArray, k: int) -> float:
    """Mean over the values that occur of the share guessed rightly."""
    hits = np.bincount(truth[truth == guesses], minlength=k)
    total = np.bincount(truth, minlength=k)
    used = total > 0
    return float((hits[used] / total[used]).mean())


def balanced_limits(truth: IntArray, guesses: IntArray, k: int, confidence: float) -> Interval:
    """Balanced accuracy with two-sided limits that hold for every number of records.

    It is a sum of independent terms in ``[0, 1/(m n_v)]`` for a record of value v, one of n_v, when
    m values occur. By Hoeffding ("Probability inequalities for sums of bounded random variables",
    1963, theorem 2) it is further than t from its mean with probability at most
    ``2 exp(−2 t² m²/Σ_v 1/n_v)``.

    Parameters
    ----------
    truth, guesses : arrays of int, shape (n,)
    k : int
        Number of values.
    confidence : float
        In (0, 1).
    """
    found = balanced_accuracy(truth, guesses, k)
    counts = np.bincount(truth, minlength=k)
    counts = counts[counts > 0]
    spread = float((1 / counts).sum()) / counts.size**2
    half = math.sqrt(math.log(2 / (1 - confidence)) * spread / 2)
    return Interval(max(0.0, found - half), found, min(1.0, found + half), confidence)


def strangers(n: int, rng: np.random.Generator) -> IntArray:
    """For each of n records another one, drawn at random; its own where there is no other.

    A random cycle, so every record is used once.
    """
    order = rng.permutation(n)
    result = np.empty(n, dtype=np.int64)
    result[order] = np.roll(order, 1)
    return result
