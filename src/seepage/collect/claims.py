"""What a collection discloses, exactly, from the parameters of its mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seepage._numeric import FloatArray, log_zero_ok
from seepage.collect.mechanism import Mechanism
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
        Two records that differ in everything; in [0, ∞].

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
    return values, math.fsum(values.tolist())


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
    """
    below = 1 + (sizes - 1) * np.exp(-amplified)
    gain = sizes * -np.expm1(-amplified) / below  # k (p − q)
    with np.errstate(divide="ignore"):
        low = np.logaddexp.reduce(np.log(sizes) - amplified - np.log(below))  # ln Σ k q
        logs = log_zero_ok(np.append(gain, gain.sum())) - low
        both = np.logaddexp(0.0, logs)
    return both[:-1], float(both[-1])


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


def attribute_epsilons(domain: Domain, units: Sequence[Unit], values: FloatArray) -> list[float]:
    """Largest parameter of the units that an attribute is in, in the order of the domain."""
    largest = dict.fromkeys(domain.names, 0.0)
    for unit, value in zip(units, values.tolist(), strict=True):
        for name in unit.names:
            largest[name] = max(largest[name], value)
    return list(largest.values())


def parameter_claims(domain: Domain, design: Design, units: Sequence[Unit]) -> tuple[Claim, ...]:
    """ε of the record and of each attribute, exactly."""
    values, record = unit_epsilons(design, units)
    how = {"independent": (SUM,), "views": (VIEW,), "fake": (FAKE,)}[design]
    own: tuple[str, ...] = ()
    if design == "fake":
        amplified = max(unit.mechanism.epsilon for unit in units)
        own = (FAKE_OWN.format(published=published_epsilon(amplified, len(units))),)
    claims = [Claim(RECORD, record, Standing.EXACT, how, "epsilon")]
    each = attribute_epsilons(domain, units, values)
    claims += [
        Claim(name, value, Standing.EXACT, own, "epsilon")
        for name, value in zip(domain.names, each, strict=True)
    ]
    return tuple(claims)


def group_claims(names: Iterable[str], record: float) -> tuple[Claim, ...]:
    """The bound on every total that needs no data: what the record says in all."""
    return tuple(Claim(name, record, Standing.UPPER, (GROUP,)) for name in names)
