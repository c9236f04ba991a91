"""What a collection discloses, exactly, from the parameters of its mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Literal

import numpy as np

from seepage._numeric import FloatArray
from seepage.collect._supports import SupportMechanism
from seepage.collect._weights import CONTEXT, float_up, sum_rounded
from seepage.collect.mechanism import Mechanism
from seepage.collect.response import LambdaResponse, RandomizedResponse
from seepage.domain import Domain
from seepage.results import Standing

Design = Literal["independent", "views", "fake"]
"""independent: every unit of every record is reported. views: each record reports one unit, drawn
at random. fake: one unit is randomised with an amplified budget, the others report uniform
fakes."""

Quantity = Literal["epsilon", "total"]

RECORD = "(record)"
"""What a claim is about when it is about everything that a record says."""

SUM = "All reports of a record together: the sum over its mechanisms, whatever the data."
VIEW = "Which view a record reports is drawn independently of the data, and disclosed."
GROUP = "All reports of a record together; no assumption about the data."
FAKE = (
    "Two records that differ in every attribute; the attacker sees one randomised value among "
    "uniform fakes and does not know which it is."
)
JOINT = (
    "The ε of a group that is randomised together: two records that differ in one of its "
    "attributes only may be closer."
)
FAKE_OWN = (
    "Two records that differ in this attribute only. The ε of {published:.6g} that random sampling "
    "with fake data is commonly stated with is this value when all attributes have equally many "
    "categories; it says nothing on records that differ in several attributes."
)


@dataclass(frozen=True)
class Unit:
    """Attributes that one mechanism randomises together, as one attribute.

    Parameters
    ----------
    names : tuple of str
        One attribute, or several whose product of categories (row-major, the last name varies
        fastest) is the input of the mechanism.
    mechanism : Mechanism
    """

    names: tuple[str, ...]
    mechanism: Mechanism


@dataclass(frozen=True)
class Claim:
    """A statement on leakage that the plan makes.

    Parameters
    ----------
    about : str
        An attribute, or "(record)" for everything a record says.
    value : float
        In nats.
    standing : Standing
    assumptions : tuple of str
    quantity : {"total", "epsilon"}
        "epsilon": the privacy parameter, what a change of the attribute (of the record) can do to
        the probability of a report. "total": the total leakage about an attribute, what all reports
        together tell about it, through its dependence on the others too.
    """

    about: str
    value: float
    standing: Standing
    assumptions: tuple[str, ...] = ()
    quantity: Quantity = "total"


def unit_epsilons(
    design: Design, units: Sequence[Unit], *, release: bool = False
) -> tuple[FloatArray, float]:
    """Privacy parameter of every unit, and of the whole record.

    Parameters
    ----------
    design : {"independent", "views", "fake"}
    units : sequence of Unit
    release : bool, default False
        Of the integer weights that a release draws from, in place of the mechanisms' nominal ones.

    Returns
    -------
    units : array of float, shape (number of units,)
        Two records that differ in this unit only.
    record : float
        Two records that differ in everything; in [0, ∞]. Rounded up, so never understated.

    Notes
    -----
    independent: a product of channels, so the parameters add up. views: the view is drawn
    independently of the data and disclosed, so the largest counts. fake: see `fake_epsilons`.
    """
    values = np.array(
        [u.mechanism.release_epsilon if release else u.mechanism.epsilon for u in units],
        dtype=np.float64,
    )
    if design == "fake":
        sizes = np.array([unit.mechanism.k for unit in units], dtype=np.float64)
        return fake_epsilons(sizes, values)
    if design == "views":
        return values, float(values.max())
    return values, sum_rounded(values.tolist(), up=True)


def fake_epsilons(sizes: FloatArray, amplified: FloatArray) -> tuple[FloatArray, float]:
    """Exact ε of random sampling with uniform fakes and k-ary randomised response (RS+FD).

    Given a report y, the likelihood of the record x is ``Π_l 1/k_l · mean_l k_l G_l[x_l, y_l]``,
    with G_l randomised response of the amplified ε'. For records that differ in all attributes the
    best report is y = x, since that maximises every numerator and minimises every denominator:
    ``ε = ln(Σ k_l p_l / Σ k_l q_l)``. For records that differ in attribute l alone the others
    report what makes their common term smallest: ``ln(1 + k_l (p_l − q_l) / Σ k_j q_j)``.

    Parameters
    ----------
    sizes : array of float, shape (d,)
        Numbers of categories k_l, 1 or more.
    amplified : array of float, shape (d,)
        ε' of each randomised response, in [0, ∞]; 0 where there is one category.

    Returns
    -------
    attributes : array of float, shape (d,)
    record : float
        Both rounded up, so never understated.
    """
    least = float(amplified.min())
    if len(sizes) == 1 or least == math.inf:  # nothing is hidden among fakes
        return amplified.copy(), least
    # All of Σ k q is divided by the largest e^−ε', which could underflow.
    tools = _digits(amplified)
    gains, lows = [], []
    for k, epsilon in zip(sizes.tolist(), amplified.tolist(), strict=True):
        gain, low = _fake_terms(k, epsilon, least, tools)
        gains.append(gain)
        lows.append(low)
    low = sum(lows, start=Decimal(0))
    scale = tools.exp(Decimal(-least))

    def leak(gain: Decimal) -> float:
        if gain == 0:
            return 0.0
        ratio = tools.divide(tools.add(tools.multiply(scale, low), gain), low)
        return float_up(tools.add(tools.ln(ratio), Decimal(least)))

    known = {gain: leak(gain) for gain in set(gains)}
    # With one ε' every p is e^ε' times its q.
    record = leak(sum(gains, start=Decimal(0))) if amplified.max() > least else least
    return np.array([known[gain] for gain in gains]), record


def _digits(amplified: FloatArray) -> Context:
    """A context that keeps 60 digits of the logarithm of a ratio near 1."""
    positive = amplified[amplified > 0]
    smallest = float(positive.min(initial=1.0))
    tools = CONTEXT.copy()
    tools.prec = 80 + max(0, math.ceil(-2 * math.log10(smallest)))
    return tools


def _fake_terms(k: float, epsilon: float, least: float, tools: Context) -> tuple[Decimal, Decimal]:
    """``k (p − q)``, and ``k q e^least``."""
    size = Decimal(int(k))
    if epsilon == math.inf:
        return size, Decimal(0)
    shrunk = tools.exp(Decimal(-epsilon))
    below = tools.add(Decimal(1), tools.multiply(size - 1, shrunk))
    gain = tools.divide(tools.multiply(size, tools.subtract(Decimal(1), shrunk)), below)
    relative = tools.exp(tools.subtract(Decimal(least), Decimal(epsilon)))
    return gain, tools.divide(tools.multiply(size, relative), below)


def amplified_epsilon(epsilon: float, d: int) -> float:
    """``ln(d (e^ε − 1) + 1)``: ε of the sampled attribute when one of `d` is sampled in secret.

    Parameters
    ----------
    epsilon : float
        In [0, ∞].
    d : int
        1 or more.

    Returns
    -------
    float
        At least `epsilon`.
    """
    if epsilon > 30:  # e^ε may overflow; e^−ε is below the resolution of 1 from 37 on
        return epsilon + math.log(d - (d - 1) * math.exp(-epsilon))
    return math.log1p(d * math.expm1(epsilon))


def published_epsilon(amplified: float, d: int) -> float:
    """Inverse of `amplified_epsilon`: ``ln(1 + (e^ε' − 1)/d)``."""
    if amplified > 30:
        return amplified - math.log(d) + math.log1p((d - 1) * math.exp(-amplified))
    return math.log1p(math.expm1(amplified) / d)


def attribute_epsilons(
    domain: Domain, units: Sequence[Unit], values: FloatArray
) -> list[tuple[float, bool]]:
    """Largest parameter of the units that an attribute is in, in the order of the domain.

    Returns
    -------
    list of (float, bool)
        ε, 0 for an attribute with one category, and whether it is exact. It is but an upper bound
        for an attribute that is randomised jointly by a mechanism under which some categories are
        closer than others.
    """
    exact = dict.fromkeys(domain.names, 0.0)
    bound = dict.fromkeys(domain.names, 0.0)
    for unit, value in zip(units, values.tolist(), strict=True):
        alike = len(unit.names) == 1 or isinstance(unit.mechanism, _ALIKE)
        chosen = exact if alike else bound
        for name in unit.names:
            if domain[name].size > 1:
                chosen[name] = max(chosen[name], value)
    return [(max(exact[x], bound[x]), exact[x] >= bound[x]) for x in domain.names]


_ALIKE = (RandomizedResponse, LambdaResponse, SupportMechanism)
"""Mechanisms under which any two categories are told apart by the same ε."""


def parameter_claims(domain: Domain, design: Design, units: Sequence[Unit]) -> tuple[Claim, ...]:
    """ε of the record and of each attribute, exactly where the standing says so."""
    values, record = unit_epsilons(design, units)
    how = {"independent": (SUM,), "views": (VIEW,), "fake": (FAKE,)}[design]
    own: tuple[str, ...] = ()
    if design == "fake":
        amplified = max(unit.mechanism.epsilon for unit in units)
        own = (FAKE_OWN.format(published=published_epsilon(amplified, len(units))),)
    claims = [Claim(RECORD, record, Standing.EXACT, how, "epsilon")]
    each = attribute_epsilons(domain, units, values)
    for name, (value, exact) in zip(domain.names, each, strict=True):
        if exact:
            claims.append(Claim(name, value, Standing.EXACT, own, "epsilon"))
        else:
            claims.append(Claim(name, value, Standing.UPPER, (JOINT,), "epsilon"))
    return tuple(claims)


def group_claims(names: Iterable[str], record: float) -> tuple[Claim, ...]:
    """The bound on every total that needs no data: what the record says in all."""
    return tuple(Claim(name, record, Standing.UPPER, (GROUP,)) for name in names)
