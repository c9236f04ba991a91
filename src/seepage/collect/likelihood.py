"""Tables that make the reports most likely, by iterative Bayesian update or by Newton steps.

The mean log-likelihood of a table θ is concave, ``ℓ(θ) = Σ_y f_y ln (θP)_y``, so a distance to its
maximum can be certified at any θ: ``ℓ* − ℓ(θ) ≤ max_x g_x − 1`` with the gradient
``g_x = Σ_y f_y P[x, y]/(θP)_y``. The probabilities of reports are products over units, and every
sum over reports is done axis by axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from seepage._numeric import FloatArray, IntArray, as_float_array, check_size, freeze
from seepage.collect.collection import CollectionPlan
from seepage.collect.marginals import Marginal
from seepage.collect.mechanism import TableMechanism
from seepage.collect.projection import AdjustedMarginal
from seepage.collect.routes import (
    AttributeSet,
    Route,
    contract,
    contract_pairs,
    in_domain_order,
    membership,
    routes,
    sum_key,
    unit_moments,
)
from seepage.collect.sums import ReportSums
from seepage.errors import CapacityError, InvalidInputError
from seepage.results import Standing

MAX_NEWTON = 1200
"""Cells of a table up to which Newton steps are taken."""

WARM_UP = 30
"""Bayesian updates before Newton steps."""

LUMPABLE = 1e-12


@dataclass(frozen=True, eq=False)
class Term:
    """Reports of one kind: their frequencies among all, and channels for each axis of the table.

    Parameters
    ----------
    frequencies : array of float, shape (m_1, …, m_r)
    channels : tuple of arrays of float, shapes (k_i, m_i)
        Row-stochastic.
    """

    frequencies: FloatArray
    channels: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """A table fitted to reports.

    Parameters
    ----------
    values : array of float, shape (k_1, …, k_r)
        A distribution.
    gap : float
        The mean log-likelihood of a record is at most this much below its maximum, in nats.
    iterations : int
    converged : bool
        Whether the criterion was met.
    """

    values: FloatArray
    gap: float
    iterations: int
    converged: bool


def log_likelihood(terms: tuple[Term, ...], table: FloatArray) -> float:
    """Mean log-likelihood of a record, in nats; −∞ when a report is impossible."""
    total = 0.0
    for term in terms:
        seen = term.frequencies > 0
        expected = contract(table, term.channels)[seen]
        if (expected <= 0).any():
            return -math.inf
        total += float((term.frequencies[seen] * np.log(expected)).sum())
    return total


def gradient(terms: tuple[Term, ...], table: FloatArray) -> FloatArray:
    """Derivative of the mean log-likelihood; ``Σ table · gradient`` is 1."""
    result = np.zeros(table.shape)
    for term in terms:
        expected = contract(table, term.channels)
        seen = term.frequencies > 0
        ratio = np.divide(term.frequencies, expected, out=np.zeros_like(expected), where=seen)
        result += contract(ratio, [channel.T for channel in term.channels])
    return result


def iterate(
    terms: tuple[Term, ...], start: FloatArray, tolerance: float, max_iterations: int
) -> Fit:
    """Iterative Bayesian update (Agrawal and Aggarwal, 2001): expectation maximisation.

    Parameters
    ----------
    terms : tuple of Term
    start : array of float
        A distribution without zeros.
    tolerance : float
        Stop when an update raises the mean log-likelihood of a record by no more than this.
    max_iterations : int
    """
    table, before, converged, done = start, -math.inf, False, 0
    while True:
        slope = gradient(terms, table)
        now = log_likelihood(terms, table)
        converged = now - before <= tolerance
        if converged or done == max_iterations:
            return Fit(table, _gap(slope), done, converged)
        before, done = now, done + 1
        table = table * slope
        table = table / table.sum()


def maximise(
    terms: tuple[Term, ...], start: FloatArray, tolerance: float, max_iterations: int
) -> Fit:
    """Maximise the likelihood by projected Newton steps (Bertsekas, 1982) after a few updates.

    The constraint that θ sums to 1 is dropped for ``ℓ(θ) − Σθ``, which has the same maximum.

    Parameters
    ----------
    terms : tuple of Term
    start : array of float
        A distribution without zeros.
    tolerance : float
        Stop when the gap is at most this.
    max_iterations : int
        Newton steps.
    """
    warm = iterate(terms, start, 0.0, WARM_UP)
    table, best = warm.values, replace(warm, converged=warm.gap <= tolerance)
    for done in range(1, max_iterations + 1):
        if best.converged:
            break
        table = _newton(terms, table)
        table = table / table.sum()
        table = table * gradient(terms, table)  # one update, never downhill
        table = table / table.sum()
        gap = _gap(gradient(terms, table))
        if gap < best.gap:
            best = Fit(table, gap, WARM_UP + done, gap <= tolerance)
    return best


def _gap(slope: FloatArray) -> float:
    return max(float(slope.max()) - 1, 0.0)


def _newton(terms: tuple[Term, ...], table: FloatArray) -> FloatArray:
    shape = table.shape
    flat = table.ravel()
    uphill = gradient(terms, table).ravel() - 1
    near = min(1e-6, float(np.abs(flat - np.maximum(flat + uphill, 0)).max()))
    held = (flat <= near) & (uphill < 0)
    free = ~held
    bend = np.zeros((flat.size, flat.size))
    for term in terms:
        expected = contract(table, term.channels)
        seen = term.frequencies > 0
        ratio = np.divide(term.frequencies, expected**2, out=np.zeros_like(expected), where=seen)
        bend += contract_pairs(ratio, [channel.T for channel in term.channels])
    inner = bend[np.ix_(free, free)]
    inner[np.diag_indices_from(inner)] += 1e-12 * np.trace(inner) / len(inner)
    step = np.where(held, -flat, 0.0)
    step[free] = np.linalg.solve(inner, uphill[free])

    def objective(at: FloatArray) -> float:
        return log_likelihood(terms, at.reshape(shape)) - float(at.sum())

    now = objective(flat)
    length = 1.0
    while length > 1e-10:
        tried = np.maximum(flat + length * step, 0.0)
        if objective(tried) >= now + 1e-4 * float((uphill * (tried - flat)).sum()):
            return np.asarray(tried.reshape(shape))
        length /= 2
    return table


def likelihood_terms(
    plan: CollectionPlan, sums: ReportSums, names: AttributeSet
) -> tuple[tuple[Term, ...], Route, tuple[FloatArray, ...]]:
    """Return what the reports say about the table of `names`.

    Returns
    -------
    terms : tuple of Term
    route : Route
        In the order of whose axes the table is.
    lumps : tuple of arrays of float, shapes (k_i, K_i)
        For each axis, 1 where a category of the axis belongs to a category wanted.

    Raises
    ------
    InvalidInputError
        If reports are no categories, or views cannot be put together.
    """
    found = [route for route in routes(plan, names) if sums.count(sum_key(plan, route))]
    if not found:
        msg = f"expected at least one report of {', '.join(map(repr, names))}, got none"
        raise InvalidInputError(msg)
    total = sum(sums.count(sum_key(plan, route)) for route in found)
    terms, lumps = [], []
    for route in found:
        channels, reported = [], []
        for unit, kept in zip(route.units, route.kept, strict=True):
            mechanism = plan.units[unit].mechanism
            listed = ", ".join(map(repr, plan.units[unit].names))
            if not isinstance(mechanism, TableMechanism):
                msg = (
                    f"expected reports that are categories, got {mechanism.kind!r} for {listed}: "
                    f"the likelihood of such reports cannot be had from their sums. Project the "
                    f"unbiased estimate instead"
                )
                raise InvalidInputError(msg)
            channel = unit_moments(plan, unit)
            member = membership(plan, unit, kept)
            groups = np.eye(int(member.max()) + 1)[member]
            lumped = _lumped(channel, member, groups)
            if lumped is not None:
                channels.append(lumped)
                reported.append(np.eye(channel.shape[1]) if lumped is channel else groups)
                lumps.append(np.eye(groups.shape[1]))
            elif len(found) == 1:
                channels.append(channel)
                reported.append(np.eye(channel.shape[1]))
                lumps.append(groups)
            else:
                msg = (
                    f"expected views whose reports of {', '.join(map(repr, names))} do not depend "
                    f"on the other attributes, got {mechanism.kind!r} for {listed}"
                )
                raise InvalidInputError(msg)
        frequencies = contract(sums.tables[sum_key(plan, route)] / total, reported)
        terms.append(Term(frequencies, tuple(channels)))
    return tuple(terms), found[0], tuple(lumps[: len(found[0].units)])


def _lumped(channel: FloatArray, member: IntArray, groups: FloatArray) -> FloatArray | None:
    """The channel between groups of categories, if the group reported depends on nothing else."""
    if groups.shape[0] == groups.shape[1]:
        return channel
    if channel.shape[0] != channel.shape[1]:
        return None
    grouped = channel @ groups
    lumped = grouped[[int(np.flatnonzero(member == group)[0]) for group in range(groups.shape[1])]]
    return lumped if np.abs(grouped - lumped[member]).max() <= LUMPABLE else None


def fit(
    raw: Marginal,
    plan: CollectionPlan,
    sums: ReportSums,
    *,
    method: Literal["update", "newton"],
    tolerance: float,
    max_iterations: int,
) -> AdjustedMarginal:
    """Fit a table to the reports.

    Parameters
    ----------
    raw : Marginal
        The unbiased table; says which attributes.
    plan : CollectionPlan
    sums : ReportSums
    method : {"update", "newton"}
    tolerance : float
        "update": stop when an update raises the log-likelihood of the sample by no more than this,
        in nats. "newton": stop when it is certified to be within this of its maximum.
    max_iterations : int

    Raises
    ------
    InvalidInputError
        If the reports are no categories, or impossible under the plan.
    CapacityError
        If Newton steps are asked for a table that is too large for them.
    """
    allowed = as_float_array(tolerance, "tolerance")
    if allowed.ndim or not 0 < allowed < np.inf:
        msg = f"expected a positive and finite tolerance, got {tolerance!r}"
        raise InvalidInputError(msg)
    rounds = check_size(max_iterations, "max_iterations")
    names = tuple(sorted(raw.names, key=plan.domain.position))
    terms, route, lumps = likelihood_terms(plan, sums, names)
    shape = tuple(channel.shape[0] for channel in terms[0].channels)
    cells = math.prod(shape)
    if method == "newton" and cells > MAX_NEWTON:
        msg = (
            f"expected a table of at most {MAX_NEWTON:,} cells for Newton steps, got {cells:,}: "
            f"use the iterative Bayesian update"
        )
        raise CapacityError(msg)
    start = np.full(shape, 1 / cells)
    if math.isinf(log_likelihood(terms, start)):
        msg = f"expected reports that the plan can produce, got impossible ones for {list(names)}"
        raise InvalidInputError(msg)
    solve = iterate if method == "update" else maximise
    n = raw.records
    found = solve(terms, start, float(allowed) / n, rounds)
    flat = contract(found.values, lumps)
    values = in_domain_order(plan, route, flat)
    values = values.transpose([names.index(name) for name in raw.names])
    title = "iterative Bayesian update" if method == "update" else "maximum likelihood"
    state = "" if found.converged else ", stopped early"
    note = (
        f"The log-likelihood of the reports on {' × '.join(raw.names)} is at most "
        f"{found.gap * n:.2g} nats below its maximum, after {found.iterations} steps."
    )
    if not found.converged:
        note += " It was stopped before it converged: the start, the uniform table, still shows."
    return AdjustedMarginal(
        raw, freeze(values.copy()), (f"{title}{state}",),
        Standing.ESTIMATE if found.converged else Standing.HEURISTIC, (note,),
    )  # fmt: skip
