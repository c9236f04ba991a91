"""Power of the chi-square test of independence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from seepage._numeric import FloatArray
from seepage.channel import randomized_response
from seepage.errors import CapacityError, InvalidInputError
from seepage.results import Standing
from seepage.risk._outcome import Case, Level, Outcome, clipped, powerless
from seepage.risk.designs import Independence
from seepage.risk.protections import LaplaceNoise, Noise, RandomizedResponse

CHUNK = 2_000_000
"""Numbers of simulated tables that are held at a time."""

FULL = 100.0
"""Expected reports in every cell from which the large-sample law is relied on,"""
WEAK = 0.03
"""where no cell differs from independence by a larger part than this."""

LAW = "noncentral chi-square"
MANY = "The records are so many that the statistic is noncentral chi-square."


def independence_power(design: Independence, case: Case) -> Outcome:
    """Power of the chi-square test of independence."""
    effect, n, level = case.effect, case.n, case.level
    protection = case.protection
    table, dependence = np.outer(*design.margins), design.table(effect)
    if isinstance(protection, RandomizedResponse):
        table, dependence = (reported_table(t, protection) for t in (table, dependence))
    elif protection is not None:
        return _noisy(table, dependence, n, level, protection)
    rows, columns = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    table, dependence = (t[np.ix_(rows, columns)] for t in (table, dependence))
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    reported = isinstance(protection, RandomizedResponse) and not (
        protection.epsilon_of(0) == math.inf == protection.epsilon_of(1)
    )
    if case.method == "simulation" or (
        case.method == "exact" and reported and not _many(table, dependence, n)
    ):
        return _simulated(dependence, n, df, level)
    return _asymptotic(n * float(((dependence - table) ** 2 / table).sum()), df, level)


def _many(table: FloatArray, dependence: FloatArray, n: int) -> bool:
    """Whether the large-sample law of a table is as good as a simulation, or must do.

    The law supposes large expected counts and a dependence that is weak in every cell.
    """
    furthest = float(np.abs(dependence / table - 1).max())
    return table.size > CHUNK or (n * float(table.min()) >= FULL and furthest <= WEAK)


def reported_table(table: FloatArray, protection: RandomizedResponse) -> FloatArray:
    """Joint probabilities of the reports, AᵀPB.

    Raises
    ------
    InvalidInputError
        If the numbers of values given do not fit the table.
    """
    channels = []
    for i, size in enumerate(table.shape):
        if protection.size_of(i, size) != size:
            msg = f"expected k of {table.shape}, the shape of the table, got {protection.k!r}"
            raise InvalidInputError(msg)
        channels.append(randomized_response(size, protection.epsilon_of(i)).matrix)
    return np.asarray(channels[0].T @ table @ channels[1])


def _asymptotic(noncentrality: float, df: int, level: Level) -> Outcome:
    from scipy.stats import chi2, ncx2

    c = float(chi2.isf(level.alpha, df))
    if noncentrality < 1e-300 or level.alpha in {0.0, 1.0}:
        power, missed = level.alpha, 1 - level.alpha
    else:
        power, missed = float(ncx2.sf(c, df, noncentrality)), float(ncx2.cdf(c, df, noncentrality))
    return Outcome(*clipped(power, missed), LAW, Standing.ESTIMATE, assumptions=(MANY,))


def pearson(counts: FloatArray) -> FloatArray:
    """Pearson's statistic of tables of counts, shape (m, r, c); empty rows add nothing."""
    rows = counts.sum(axis=-1, keepdims=True)
    columns = counts.sum(axis=-2, keepdims=True)
    total = rows.sum(axis=-2, keepdims=True)
    expected = rows * columns / total
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(expected > 0, (counts - expected) ** 2 / expected, 0.0)
    return np.asarray(terms.sum(axis=(-1, -2)))


def _simulated(table: FloatArray, n: int, df: int, level: Level) -> Outcome:
    from scipy.stats import chi2

    if level.alpha in {0.0, 1.0}:
        return powerless(level, "simulation of tables")
    statistics = _draw(table, n, level, lambda rng, t: pearson(t), 0)
    power = float((statistics > float(chi2.isf(level.alpha, df))).mean())
    # One draw is added to each side, so that the error is not 0 where all draws agree.
    spread = (power * level.draws + 1) / (level.draws + 2)
    error = math.sqrt(spread * (1 - spread) / level.draws)
    return Outcome(
        power,
        1 - power,
        "simulation of tables",
        Standing.ESTIMATE,
        error,
        ("The critical value is that of the chi-square law, as the test uses it.",),
    )


def _noisy(
    table: FloatArray, dependence: FloatArray, n: int, level: Level, protection: Noise
) -> Outcome:
    """Chi-square test on noisy counts, with the critical value of the planned margins.

    Replacing a record takes 1 from one cell and gives it to another: sensitivity 2 in the sum,
    √2 in the square root of the sum of squares.
    """
    method = "simulation of noisy tables"
    if level.alpha in {0.0, 1.0} or protection.mu == 0:
        return powerless(level, method)
    laplace = isinstance(protection, LaplaceNoise)
    scale = sum(protection.scales(2.0 if laplace else math.sqrt(2)))
    if scale > 1e100:  # nothing of up to 10^12 records is left
        return powerless(level, method)
    expected = n * table
    used = expected > 0
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)

    def statistic(rng: np.random.Generator, counts: FloatArray) -> FloatArray:
        if scale:
            draw = rng.laplace if laplace else rng.standard_normal
            counts = counts + scale * draw(size=counts.shape)
        # N_ij − r_i N_+j − c_j N_i+ + r_i c_j N with the planned margins r and c.
        left = (
            counts
            - rows * counts.sum(axis=-2, keepdims=True)
            - columns * counts.sum(axis=-1, keepdims=True)
            + rows * columns * counts.sum(axis=(-1, -2), keepdims=True)
        )
        return np.asarray((left[:, used] ** 2 / expected[used]).sum(axis=-1))

    null = np.sort(_draw(table, n, level, statistic, 0))
    shifted = np.sort(_draw(dependence, n, level, statistic, 1))
    size = null.size
    c = float(np.quantile(null, 1 - level.alpha))
    hit = size - int(np.searchsorted(shifted, c, side="right"))
    power = hit / size
    # Error of the power at c, and of c itself through the ratio of the densities there.
    nearby = np.quantile(null, [max(1 - 1.5 * level.alpha, 0), 1 - level.alpha / 2])
    inside = [float(np.diff(np.searchsorted(x, nearby))[0]) for x in (null, shifted)]
    ratio = inside[1] / inside[0] if inside[0] else 0.0
    spread = (hit + 1) / (size + 2)
    variance = spread * (1 - spread) + ratio**2 * level.alpha * (1 - level.alpha)
    return Outcome(
        power,
        1 - power,
        method,
        Standing.ESTIMATE,
        math.sqrt(variance / size),
        (
            "Noise is added to every cell of the table.",
            "The margins are as planned: they give the weights and the critical value.",
        ),
    )


def _draw(
    table: FloatArray,
    n: int,
    level: Level,
    statistic: Callable[[np.random.Generator, FloatArray], FloatArray],
    stream: int,
) -> FloatArray:
    """Statistic of `level.draws` multinomial tables."""
    if table.size > CHUNK:
        msg = f"expected a table of at most {CHUNK:,} cells to simulate, got {table.size:,}"
        raise CapacityError(msg)
    rng = np.random.default_rng([level.seed, stream])
    flat = table.ravel() / table.sum()
    step = max(1, CHUNK // table.size)
    found = []
    for start in range(0, level.draws, step):
        m = min(step, level.draws - start)
        counts = rng.multinomial(n, flat, size=m).astype(np.float64)
        found.append(statistic(rng, counts.reshape(m, *table.shape)))
    return np.concatenate(found)


def table_error(design: Independence, case: Case, outcome: Outcome) -> float:
    """Difference of the large-sample law to a simulation, with three times the error of this."""
    if design.joint.size > CHUNK or outcome.method != LAW or case.level.alpha in {0.0, 1.0}:
        return 0.0
    drawn = independence_power(design, replace(case, method="simulation"))
    return min(abs(outcome.power - drawn.power) + 3 * drawn.standard_error, 1.0)
