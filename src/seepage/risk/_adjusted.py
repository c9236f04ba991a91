"""Tests of a slope beside other predictors, from a randomised outcome: records, drawn.

A plan tells how much of the predictor the others share, and how much of the outcome they explain.
What the others leave of the predictor is taken to be independent of them, and one combination of
them explains the outcome. These three are drawn as a table of counts. What the rest of the others
takes away is drawn from its law: they span a random subspace, and the sums of squares and products
that two vectors have outside of it follow from a matrix beta law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from seepage._numeric import FloatArray
from seepage.results import Standing
from seepage.risk._laws import smooth_law
from seepage.risk._noncentral import t_critical
from seepage.risk._outcome import Level, Outcome, powerless
from seepage.risk._pairs import (
    CHUNK,
    CLOSE,
    METHOD,
    Side,
    edgeworth,
    joint_law,
    ordered,
    scaled,
    standard,
)

DRAWN = (
    "What the other predictors leave of this one is independent of them, one combination of them "
    "explains what they do, and the rest are normal; values are distributed as near to normal "
    "together as their answers allow, and every record is drawn."
)

Pair = tuple[float, float]
"""Numbers for the predictor and for the other one."""

OTHER_LEVELS = 5
"""Values of the combination of other predictors that are told apart."""

NEAREST = 0.97
"""Of the strongest tie that there is; nearer to it the law is hardly found."""

Sums = tuple[FloatArray, FloatArray, FloatArray]
"""Sums of squares of predictor and outcome, and of their products, each of shape (m,)."""

STRONGEST = 0.7
"""Multiple correlation of what is mixed into the laws that are far from normal."""


@dataclass(frozen=True)
class Population:
    """Joint law of the reported outcome, what is left of the predictor, and the other one.

    Parameters
    ----------
    table : array, shape (k, p, r)
        Outcome, predictor, other; r is 1 where the others explain nothing.
    """

    table: FloatArray

    @cached_property
    def scores(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Standardised outcome, predictor and other, each of shape (k·p·r,)."""
        t = self.table
        margins = t.sum(axis=(1, 2)), t.sum(axis=(0, 2)), t.sum(axis=(0, 1))
        grids = np.meshgrid(*map(standard, margins), indexing="ij")
        return grids[0].ravel(), grids[1].ravel(), grids[2].ravel()

    @property
    def correlations(self) -> Pair:
        """Of the outcome with the predictor, and with the other one."""
        y, x, z = self.scores
        mass = self.table.ravel()
        return float(mass @ (y * x)), float(mass @ (y * z))

    @property
    def around(self) -> float:
        """Variance around the regression, as a share of that of the outcome."""
        a, b = self.correlations
        return max(1 - a * a - b * b, 0.0)

    def error(self, n: int, others: int) -> float:
        """What the large-sample law is off by; see `edgeworth`."""
        y, x, z = self.scores
        b = self.correlations[1]
        rest = (y - b * z) / math.sqrt(max(1 - b * b, 1e-12))
        step = 0.0
        if min(self.table.shape[:2]) > 1:
            step = float(np.diff(np.unique(y)).min() * np.diff(np.unique(x)).min())
        return edgeworth(self.table.ravel(), x * rest, step, n) + 2 * others / n


def population(outcome: Side, predictor: Side, effects: Pair, form: int) -> Population:
    """Reports of a plan.

    Parameters
    ----------
    outcome, predictor : Side
        The predictor is told as it is.
    effects : pair of float
        Change of the outcome for one standard deviation of what is left of the predictor, and for
        one of the combination of the others.
    form : {-1, 0, 1}
        As of `joint_law`.
    """
    target = effects[0] / outcome.sd, effects[1] / outcome.sd
    other = smooth_law(OTHER_LEVELS, 0.5, 1 / 36) if effects[1] else np.ones(1)
    columns = np.outer(predictor.margin, other)
    if effects[1]:
        table = _law(outcome.margin, predictor.margin, other, target, form)
    else:
        table = joint_law(outcome.margin, predictor.margin, target[0], form)
    table = outcome.retention * table + (1 - outcome.retention) * np.outer(
        outcome.replacement, columns.ravel()
    )
    return Population((table / table.sum()).reshape(-1, *columns.shape))


def _law(rows: FloatArray, x: FloatArray, z: FloatArray, target: Pair, form: int) -> FloatArray:
    """Joint law of the outcome and the cells of the two others, shape (k, p·r)."""
    columns = np.outer(x, z).ravel()
    product = np.outer(rows, columns)
    scores = np.stack([np.repeat(standard(x), z.size), np.tile(standard(z), x.size)])
    if form == 0:
        return _strongest(rows, columns, scores, target, 1.0)[0]
    multiple = math.hypot(*target)
    far, reached = _strongest(rows, columns, scores, target, max(STRONGEST / multiple, 1.0))
    part, base = 0.0, product
    if form < 0:
        tilt = np.outer(standard(rows), np.array(target) @ scores)
        worst = float(tilt[product > 0].min())
        part = min(1.0, reached, -1 / worst if worst < 0 else 1.0)
        base = np.maximum(product * (1 + part * tilt), 0.0)
    share = 0.0 if reached == part else (1 - part) / (reached - part)
    return np.asarray(base + min(max(share, 0.0), 1.0) * (far - base))


def _strongest(
    rows: FloatArray, columns: FloatArray, scores: FloatArray, target: Pair, factor: float
) -> tuple[FloatArray, float]:
    """The law of most entropy with `factor` times the correlations, or with the most there is.

    Returns the law and the factor that it has.
    """
    # Nothing ties the outcome more to the direction of the two than the same order does.
    size = math.hypot(*target)
    along = np.array(target) @ scores / size
    order = np.argsort(along, kind="stable")
    table = ordered(rows, columns[order], rising=True)
    most = float(standard(rows) @ table @ along[order]) / size
    factor = min(factor, NEAREST * most)
    for part in np.linspace(1.0, 0.0, 11)[:-1] * factor:
        found = _tied(rows, columns, scores, (part * target[0], part * target[1]))
        if found is not None:
            return found, float(part)
    return np.outer(rows, columns), 0.0


def _tied(
    rows: FloatArray, columns: FloatArray, scores: FloatArray, target: Pair
) -> FloatArray | None:
    """The law ``u_i·v_c·exp(y_i·(θ·scores_c))`` with the margins and correlations; None if none."""
    from scipy.optimize import root

    y, wanted = standard(rows), np.array(target)
    explained = float(wanted @ wanted)
    if explained >= 1:
        return None

    def law(theta: FloatArray) -> FloatArray:
        return scaled(rows, columns, np.outer(y, np.clip(theta, -200, 200) @ scores))

    def gap(theta: FloatArray) -> FloatArray:
        return np.asarray(y @ law(theta) @ scores.T - wanted)

    found = root(gap, wanted / (1 - explained), tol=1e-12)
    if not np.abs(gap(found.x)).max() < 1e-9:
        return None
    return law(found.x)


def adjusted(
    large: Outcome, people: Population, n: int, others: int, level: Level, *, known_sd: bool
) -> Outcome:
    """The large-sample outcome where it is close, and a simulation otherwise."""
    error = people.error(n, others)
    if error < CLOSE:
        return replace(large, error=error)
    return drawn(people, n, others, level, known_sd=known_sd)


def drawn(people: Population, n: int, others: int, level: Level, *, known_sd: bool) -> Outcome:
    """Power of the t test (or z test) of the slope.

    Parameters
    ----------
    people : Population
    n, others : int
        Records, and predictors besides the one tested.
    level : Level
    known_sd : bool
        Whether the standard deviation around the regression is known.
    """
    from scipy.special import ndtri

    if level.alpha in {0.0, 1.0}:
        return powerless(level, METHOD)
    df = n - 2 - others
    c = -float(ndtri(level.tail)) if known_sd else t_critical(level.tail, df)
    sign = -1.0 if level.alternative == "smaller" else 1.0
    rng = np.random.default_rng([level.seed, 3])
    y, x, z = people.scores
    columns = np.stack([x, y, z, x * x, y * y, z * z, x * y, x * z, y * z], axis=1)
    mass, around = people.table.ravel(), people.around
    taken = int(people.table.shape[2] > 1)
    step, hits = max(1, CHUNK // mass.size), 0
    for start in range(0, level.draws, step):
        counts = rng.multinomial(n, mass, size=min(step, level.draws - start))
        left = _partial(np.asarray(counts @ columns, dtype=np.float64), n)
        p, q, cross = _less(left, n - 1 - taken, others - taken, rng)
        sure = (p > 1e-12 * n) & (q > 1e-12 * n)
        p, q = np.where(sure, p, 1.0), np.where(sure, q, 1.0)
        if known_sd:
            t = cross / np.sqrt(p * max(around, 1e-150))
        else:
            t = cross * np.sqrt(df / np.maximum(p * q - cross**2, 1e-28 * p * q))
        t = np.where(sure, t, 0.0)
        hits += int(((np.abs(t) if level.two_sided else sign * t) > c).sum())
    share = hits / level.draws
    spread = (hits + 1) / (level.draws + 2)
    error = math.sqrt(spread * (1 - spread) / level.draws)
    return Outcome(share, 1 - share, METHOD, Standing.ESTIMATE, error, (DRAWN,))


def _partial(sums: FloatArray, n: int) -> Sums:
    """Sums of squares of predictor and outcome, and of products, given the other; shapes (m,)."""
    x, y, z, xx, yy, zz, xy, xz, yz = sums.T
    xx, yy, zz = xx - x * x / n, yy - y * y / n, zz - z * z / n
    xy, xz, yz = xy - x * y / n, xz - x * z / n, yz - y * z / n
    varies = zz > 1e-12 * n
    zz = np.where(varies, zz, np.inf)  # an other predictor that is constant takes nothing away
    return xx - xz * xz / zz, yy - yz * yz / zz, xy - xz * yz / zz


def _less(sums: Sums, size: int, rest: int, rng: np.random.Generator) -> Sums:
    """The same without what `rest` random directions of `size` explain.

    With the Cholesky factors RᵀR of the sums and TᵀT of W₁ + W₂ (two Wishart matrices of size −
    rest and rest degrees of freedom), what is left is ``(T⁻¹R)ᵀ W₁ (T⁻¹R)``.
    """
    if rest == 0:
        return sums
    p, q, cross = sums
    a, b, c = _wishart(size - rest, p.size, rng)
    d, e, f = _wishart(rest, p.size, rng)
    t11 = np.sqrt(a + d)
    t12 = (c + f) / t11
    t22 = np.sqrt(np.maximum(b + e - t12 * t12, 0.0))
    r11 = np.sqrt(np.maximum(p, 0.0))
    r12 = np.divide(cross, r11, out=np.zeros_like(cross), where=r11 > 0)
    r22 = np.sqrt(np.maximum(q - r12 * r12, 0.0))
    # T⁻¹R is upper triangular as well.
    u11, u22 = r11 / t11, r22 / t22
    u12 = (r12 - t12 * u22) / t11
    return (
        u11 * u11 * a,
        u12 * u12 * a + 2 * u12 * u22 * c + u22 * u22 * b,
        u11 * (u12 * a + u22 * c),
    )


def _wishart(df: int, m: int, rng: np.random.Generator) -> Sums:
    """Diagonal and off-diagonal elements of 2 × 2 Wishart matrices (Bartlett), shapes (m,)."""
    first = rng.chisquare(df, m)
    second = rng.chisquare(df - 1, m) if df > 1 else np.zeros(m)
    normal = rng.standard_normal(m)
    return first, normal * normal + second, normal * np.sqrt(first)
