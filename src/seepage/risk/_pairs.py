"""Tests of correlations and slopes from randomised records: tables of answers, drawn.

A plan gives means, deviations and a correlation. The two attributes are taken to be distributed on
their answers with p_ij = u_i·v_j·exp(θ·x_i·y_j), the law of most entropy with the margins and the
correlation, which is the bivariate normal law where that fits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from seepage._numeric import FloatArray, freeze
from seepage.results import Standing
from seepage.risk._answers import answers
from seepage.risk._laws import grid, smooth_law
from seepage.risk._noncentral import t_critical
from seepage.risk._outcome import Level, Outcome, powerless
from seepage.risk.designs import Values
from seepage.risk.protections import RandomizedResponse

LEVELS = 7
"""Most answers of one attribute that are told apart."""
CLOSE = 1e-3
"""Error below which the large-sample law is used."""
CHUNK = 4_000_000
"""Numbers of simulated tables that are held at a time."""

DRAWN = (
    "The two attributes are distributed as near to normal together as their answers allow, with "
    "the planned means, deviations and correlation; every record is drawn."
)
METHOD = "simulation of the answers"


def joint_law(
    rows: FloatArray, columns: FloatArray, correlation: float, form: int = 0
) -> FloatArray:
    """Joint law with the given margins and correlation, shape (r, c).

    Where no law has so strong a correlation, that with the strongest there is.

    Parameters
    ----------
    rows, columns : arrays, shapes (r,) and (c,)
    correlation : float
    form : {-1, 0, 1}
        0 for the law of most entropy. −1 for one that changes every probability by a share
        proportional to x·y, and 1 for one where some records agree as far as they can and the rest
        are independent: the two ends of what a correlation leaves open.
    """
    from scipy.optimize import brentq

    x, y = standard(rows), standard(columns)
    product = np.outer(rows, columns)
    target = min(max(correlation, -1.0), 1.0)
    if abs(target) < 1e-15:
        return product
    outer = np.outer(x, y)
    if form:
        strongest = ordered(rows, columns, rising=target > 0)
        base = product
        if form < 0:
            worst = float((math.copysign(1.0, target) * outer)[product > 0].min())
            base = product * (1 + math.copysign(min(abs(target), -1 / worst), target) * outer)
        base = np.maximum(base, 0.0)
        had, best = float((base * outer).sum()), float((strongest * outer).sum())
        share = 0.0 if best == had else (target - had) / (best - had)
        return np.asarray(base + min(max(share, 0.0), 1.0) * (strongest - base))
    most, sign = 300 / float(np.ptp(outer)), math.copysign(1.0, target)
    strongest = ordered(rows, columns, rising=sign > 0)
    best = float((strongest * outer).sum())
    if sign * (best - target) <= 1e-9:
        return strongest

    @functools.cache
    def gap(theta: float) -> float:
        return float((scaled(rows, columns, theta * outer) * outer).sum()) - target

    # That of the normal law is near; the strongest laws are looked for only where it is not.
    start = target / ((1 - target) * (1 + target))
    low, high = 0.0, sign * min(abs(start), most)
    while sign * gap(high) < 0 and abs(high) < most:
        low, high = high, sign * min(1.5 * abs(high), most)
    if sign * gap(high) < 0:
        return strongest
    theta = float(brentq(gap, low, high, xtol=1e-12, rtol=1e-11))
    return scaled(rows, columns, theta * outer)


def standard(law: FloatArray) -> FloatArray:
    """Positions in standard deviations from the mean; 0 where there is only one."""
    if law.size == 1:
        return np.zeros(1)
    x = grid(law.size)
    centred = x - law @ x
    sd = math.sqrt(float(law @ centred**2))
    return np.asarray(centred / sd if sd > 0 else np.zeros(law.size))


def scaled(rows: FloatArray, columns: FloatArray, logs: FloatArray) -> FloatArray:
    """The law with given margins that is exp(logs) but for factors of rows and of columns."""
    kernel = np.exp(logs - logs.max())
    u, v = rows.copy(), columns.copy()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for _ in range(500):
            u = np.where(rows > 0, rows / (kernel @ v), 0.0)
            reached = kernel.T @ u
            off = float(np.abs(v * reached - columns).max())
            v = np.where(columns > 0, columns / reached, 0.0)
            if off < 1e-13:
                break
    return np.asarray(u[:, np.newaxis] * kernel * v)


def ordered(rows: FloatArray, columns: FloatArray, *, rising: bool) -> FloatArray:
    """Both attributes in the same order, or in opposite orders: the strongest dependence."""
    other = columns if rising else columns[::-1]
    above, right = (np.concatenate([[0.0], np.cumsum(x)]) for x in (rows, other))
    low = np.maximum(above[:-1, np.newaxis], right[:-1])
    high = np.minimum(above[1:, np.newaxis], right[1:])
    table = np.maximum(high - low, 0.0)
    return np.asarray(table if rising else table[:, ::-1])


def law_error(table: FloatArray, n: int) -> float:
    """What the large-sample law of a correlation is off by; see `edgeworth`."""
    x, y = standard(table.sum(axis=1)), standard(table.sum(axis=0))
    step = float(np.diff(x).min() * np.diff(y).min()) if x.size > 1 else 0.0
    return edgeworth(table.ravel(), np.outer(x, y).ravel(), step, n)


def edgeworth(masses: FloatArray, products: FloatArray, step: float, n: int) -> float:
    """What the large-sample law of a mean product is off by: terms of order 1/√n.

    The first is that of its skewness (Edgeworth), the second that of the steps in which it moves.

    Parameters
    ----------
    masses, products : arrays, shape (m,)
    step : float
    n : int
    """
    centred = products - masses @ products
    variance = float(masses @ centred**2)
    if variance <= 0:
        return 1.0
    skew = abs(float(masses @ centred**3)) / variance**1.5
    return float((0.14 * skew + 0.2 * step / math.sqrt(variance)) / math.sqrt(n))


def drawn_pairs(table: FloatArray, n: int, df: int, level: Level, *, known_sd: bool) -> Outcome:
    """Power of the t test of a correlation (or slope), or of the z test of a slope.

    Parameters
    ----------
    table : array, shape (r, c)
        Joint law of the reports; the outcome of a regression in rows, its predictor in columns.
    n, df : int
        Records and degrees of freedom.
    level : Level
    known_sd : bool
        Whether the standard deviation of the outcome around the regression is known.
    """
    from scipy.special import ndtri

    if level.alpha in {0.0, 1.0}:
        return powerless(level, METHOD)
    x, y = grid(table.shape[0]), grid(table.shape[1])
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    mx, my = float(rows @ x), float(columns @ y)
    vx, vy = float(rows @ (x - mx) ** 2), float(columns @ (y - my) ** 2)
    cov = float((x - mx) @ table @ (y - my))
    around = math.sqrt(max(vx - cov**2 / vy, 0.0)) if vy > 0 else 0.0
    c = -float(ndtri(level.tail)) if known_sd else t_critical(level.tail, df)
    sign = -1.0 if level.alternative == "smaller" else 1.0

    def statistic(p: FloatArray, q: FloatArray, cross: FloatArray) -> FloatArray:
        """From sums of squares around the means, and of products."""
        none = 1e-12
        sure = (p > none * n) & (q > none * n)
        p, q = np.where(sure, p, 1.0), np.where(sure, q, 1.0)
        if known_sd:
            return np.where(sure, cross / np.sqrt(q) / max(around, 1e-150), 0.0)
        left = np.maximum(p * q - cross**2, 1e-28 * p * q)
        return np.where(sure, cross * math.sqrt(df) / np.sqrt(left), 0.0)

    def hits(p: FloatArray, q: FloatArray, cross: FloatArray) -> int:
        t = statistic(p, q, cross)
        return int(((np.abs(t) if level.two_sided else sign * t) > c).sum())

    share = _drawn(table, n, level, (x - mx, y - my), hits)
    spread = (share * level.draws + 1) / (level.draws + 2)
    error = math.sqrt(spread * (1 - spread) / level.draws)
    return Outcome(share, 1 - share, METHOD, Standing.ESTIMATE, error, (DRAWN,))


def _drawn(
    table: FloatArray,
    n: int,
    level: Level,
    scores: tuple[FloatArray, FloatArray],
    hits: Callable[[FloatArray, FloatArray, FloatArray], int],
) -> float:
    """Share of drawn tables that are significant."""
    rng = np.random.default_rng([level.seed, 2])
    flat, (a, b) = table.ravel(), scores
    x, y = np.repeat(a, b.size), np.tile(b, a.size)
    columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
    step, found = max(1, CHUNK // flat.size), 0
    for start in range(0, level.draws, step):
        counts = rng.multinomial(n, flat, size=min(step, level.draws - start))
        sx, sy, sxx, syy, sxy = (counts @ columns).T
        found += hits(sxx - sx * sx / n, syy - sy * sy / n, sxy - sx * sy / n)
    return found / level.draws


@dataclass(frozen=True)
class Shape:
    """What a plan leaves open about two attributes.

    Parameters
    ----------
    form : {-1, 0, 1}
        How they are tied together, as of `joint_law`.
    rounding : float
        Share, in [0, 1], of the variance that rounding can add.
    """

    form: int = 0
    rounding: float = 1.0


@dataclass(frozen=True)
class Side:
    """One attribute of a pair.

    Parameters
    ----------
    margin : array, shape (r,)
        Law of the values, rounded to the answers.
    sd : float
        Of that law, in the unit of the values.
    retention : float
        λ.
    replacement : array, shape (r,)
        Law of the answers that replace a value.
    """

    margin: FloatArray
    sd: float
    retention: float
    replacement: FloatArray


def side(
    values: Values,
    protection: RandomizedResponse,
    attribute: int,
    *,
    extra: float = 0.0,
    rounding: float = 1.0,
) -> Side:
    """How an attribute is answered; `extra` as of `answers`, `rounding` as of `Shape`."""
    public = protection.epsilon_of(attribute) == math.inf
    if public and not values.on_grid:  # told as it is
        sd = math.sqrt(values.sd**2 + extra)
        width = values.high - values.low
        mean = 0.5 + values.off_centre / width if width <= 1e100 else 0.5
        law = smooth_law(LEVELS, mean, (sd / min(width, 6 * sd)) ** 2)
        return Side(law, sd, 1.0, law)
    told = answers(values, protection, attribute, extra=extra)
    k = min(told.size, LEVELS)
    uniform = np.full(k, 1 / k)
    if k < told.size:
        uniform = smooth_law(k, 0.5, (told.size + 1) / (12 * (told.size - 1)))
    variance = told.inner[0] + rounding * (told.inner[1] - told.inner[0])
    law = smooth_law(k, told.mean, variance)
    return Side(law, math.sqrt(variance) * told.width, told.retention, uniform)


def reported_pairs(first: Side, second: Side, covariance: float, form: int) -> FloatArray:
    """Joint law of the reports, shape (r, c); `covariance` is that of the values."""
    scale = first.sd * second.sd
    rho = covariance / scale if scale > 0 else 0.0
    table = _cached(tuple(first.margin), tuple(second.margin), rho, form)
    lam, other = first.retention, second.retention
    table = lam * table + (1 - lam) * np.outer(first.replacement, table.sum(axis=0))
    table = other * table + (1 - other) * np.outer(table.sum(axis=1), second.replacement)
    return np.asarray(table / table.sum())


@functools.lru_cache(maxsize=16)
def _cached(
    rows: tuple[float, ...], columns: tuple[float, ...], rho: float, form: int
) -> FloatArray:
    """`joint_law`, kept for searches over the number of records."""
    return freeze(joint_law(np.array(rows), np.array(columns), rho, form))


def refined(
    large: Callable[[], Outcome], table: FloatArray, n: int, level: Level, *, known_sd: bool
) -> Outcome:
    """The large-sample outcome where it is close, and a simulation otherwise."""
    error = law_error(table, n)
    if error < CLOSE:
        return replace(large(), error=error)
    return drawn_pairs(table, n, n - 2, level, known_sd=known_sd)
