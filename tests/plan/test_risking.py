"""Mechanisms in words, side by side, and risk cards: numbers against independent ones."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from decimal import Decimal

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seepage as sp
from seepage.errors import InvalidInputError, SeepageError
from seepage.plan.risking import Mechanism, RiskCard, compare_risks, describe_risk, risk_card
from seepage.risk._rounding import percent, words
from seepage.tradeoff._common import ADD_OR_REMOVE, REPLACE

INF = math.inf
EXTREMES = (0.0, 1e-9, 1.0, 50.0, INF)
PRIORS = (0.0, 0.01, 0.5, 1.0)

sizes = st.one_of(st.sampled_from(EXTREMES), st.floats(1e-250, 20))
shares = st.one_of(st.sampled_from([0.0, 1.0, 0.01, 0.5]), st.floats(1e-250, 1))


@st.composite
def mechanisms(draw):
    family = draw(
        st.sampled_from(
            ["laplace", "gaussian", "randomized_response", "uniform_sampling", "approximate_dp"]
        )
    )
    return Mechanism(
        family,
        draw(sizes),
        k=draw(st.sampled_from([2, 3, 10])),
        n=draw(st.sampled_from([1, 2, 10**6])),
        delta=draw(shares),
    )


@functools.cache
def quantile_of_normal(alpha: float) -> mp.mpf:
    return mp.sqrt(2) * mp.erfinv(2 * mp.mpf(alpha) - 1)


def power(mechanism: Mechanism, alpha: float, digits: int = 40) -> mp.mpf:
    """Power of the best attack in so many digits, from the definitions."""
    with mp.workdps(digits):
        a, m = mp.mpf(alpha), mp.mpf(mechanism.value)
        match mechanism.family:
            case "laplace":
                if a == 0 or mp.isinf(m):
                    return mp.mpf(1 if mp.isinf(m) else 0)
                if a == 1:
                    return mp.mpf(1)
                quantile = -mp.log(2 * a) if a <= 0.5 else mp.log(2 * (1 - a))
                x = m - quantile
                return mp.exp(x) / 2 if x <= 0 else 1 - mp.exp(-x) / 2
            case "gaussian":
                if a in (0, 1) or mp.isinf(m):
                    return mp.mpf(1 if a == 1 or mp.isinf(m) else 0)
                return mp.ncdf(m + quantile_of_normal(alpha))
            case "uniform_sampling":
                return min(mp.mpf(1), a - mp.expm1(-m) / mechanism.n)
            case "approximate_dp":
                d = mp.mpf(mechanism.delta)
                if mp.isinf(m):  # no limit at all
                    return mp.mpf(1)
                up = mp.exp(m) * a
                return min(mp.mpf(1), d + up, mp.exp(-m) * (d + a) - mp.expm1(-m))
            case _:
                q = mp.exp(-m)
                total = 1 + (mechanism.k - 1) * q
                # Reports by likelihood ratio: the suspected value, all others, the true one.
                null = [q, (mechanism.k - 2) * q, 1]
                alternative = [1, (mechanism.k - 2) * q, q]
                found, left = mp.mpf(0), a * total
                for h, g in zip(null, alternative, strict=True):
                    if h == g == 0:  # of two values there are no others
                        continue
                    part = mp.mpf(1) if left >= h else max(left, mp.mpf(0)) / h
                    found += part * g
                    left -= part * h
                return found / total


def first_ratio(mechanism: Mechanism) -> mp.mpf:
    """Limit of power/α at α → 0."""
    m = mechanism.value
    if m == 0 and not (mechanism.family == "approximate_dp" and mechanism.delta):
        return mp.mpf(1)
    if mechanism.family in {"laplace", "randomized_response"} or (
        mechanism.family == "approximate_dp" and mechanism.delta == 0
    ):
        return mp.exp(mp.mpf(m)) if math.isfinite(m) else mp.inf
    return mp.inf


def posterior(mechanism: Mechanism, prior: float, alpha: float) -> mp.mpf:
    hit, pi = power(mechanism, alpha), mp.mpf(prior)
    if pi == 0:
        return mp.mpf(0)
    if alpha == 0 and hit == 0:
        ratio = first_ratio(mechanism)
        return mp.mpf(1) if mp.isinf(ratio) else pi * ratio / (pi * ratio + 1 - pi)
    return pi * hit / ((1 - pi) * mp.mpf(alpha) + pi * hit)


def holds(statement, exact: mp.mpf) -> None:
    """The number in the sentence is not below the exact one (computed to 1e-12), nor far above."""
    assert statement.shown >= exact * (1 - mp.mpf("2e-12")) - mp.mpf("1e-12")
    assert statement.shown <= exact * mp.mpf("1.0101") + mp.mpf("1e-300")
    if math.isfinite(statement.shown) and "No alarm changes" not in statement.text:
        assert words(Decimal(repr(float(statement.shown)))) in statement.text


@settings(max_examples=120)
@given(mechanisms(), st.sampled_from([0.0, 1e-6, 0.01, 0.3, 1.0]))
def test_no_sentence_is_false(mechanism, alpha0):
    card = risk_card(mechanism, prior=PRIORS, alpha0=alpha0)
    with mp.workdps(40):
        for prior, statement in zip(PRIORS, card.beliefs, strict=True):
            holds(statement, 100 * posterior(mechanism, prior, alpha0))
            assert percent(prior) in statement.text
        hit, proven = power(mechanism, alpha0), power(mechanism, 0.0)
        holds(card.chances[0], 100 * hit)
        failure = card.events[0]
        if "beyond doubt" in failure.text:
            assert proven > 0
            holds(failure, 100 * proven)
        else:
            assert proven == 0
            assert failure.text.startswith("No release proves")
            unbounded = mp.isinf(first_ratio(mechanism))
            assert ("as close to certainty" in failure.text) == bool(unbounded)
            if not unbounded:
                holds(failure, first_ratio(mechanism))
        if len(card.events) == 2:
            ratio = hit / mp.mpf(alpha0) if alpha0 else mp.inf
            if card.events[1].text.startswith("No alarm changes"):
                assert card.disclosure.advantage == 0
            elif alpha0:
                holds(card.events[1], ratio)
            else:
                assert "no limit" in card.events[1].text
        nothing, release, everything, *fewer = card.comparison
        assert everything.name == "Everything, same false-alarm rate"
        assert nothing.beliefs == tuple(100 * prior for prior in PRIORS)
        for prior, shown in zip(PRIORS, everything.beliefs, strict=True):
            pi = mp.mpf(prior)
            holds_for = 100 * pi / (pi + (1 - pi) * mp.mpf(alpha0)) if prior else mp.mpf(0)
            assert holds_for * (1 - mp.mpf("1e-12")) <= shown <= 100
        below = bool(alpha0) and card.disclosure.failure != "none"
        assert bool(fewer) == bool(card.fewer) == below
        for row in fewer:
            assert row.beliefs == (0.0, 100.0, 100.0, 100.0)
            assert row.found == release.found
        for low, mine, high in zip(
            nothing.beliefs, release.beliefs, everything.beliefs, strict=True
        ):
            assert low * (1 - 1e-12) <= mine <= high
        assert nothing.found * (1 - 1e-12) <= release.found <= everything.found == 100


@settings(max_examples=40)
@given(mechanisms(), st.sampled_from([0.0, 0.01, 0.3]))
def test_advantage_and_comparison_of_two(mechanism, alpha0):
    """The two last sentences, against a fine grid from below and the area by trapezoids."""
    card = risk_card(mechanism, prior=PRIORS, alpha0=alpha0)
    edge, area = card.chances[1:]
    grid = [i / 40 for i in range(41)]
    powers = [power(mechanism, a, 18) for a in grid]
    gap = max(p - a for p, a in zip(powers, grid, strict=True))
    assert edge.shown >= 100 * gap * (1 - 1e-11) - mp.mpf("1e-12")
    assert edge.shown <= 100 * (gap + mp.mpf("0.0251")) * mp.mpf("1.011")
    inner = sum((p + q) / 80 for p, q in itertools.pairwise(powers))
    assert area.shown >= 100 * inner * (1 - 1e-11)
    assert area.shown <= 100 * (inner + mp.mpf("0.0251")) * mp.mpf("1.011")


@pytest.mark.parametrize("value", EXTREMES)
@pytest.mark.parametrize("family", ["laplace", "gaussian", "randomized_response"])
@pytest.mark.parametrize("alpha0", [0.0, 1.0, 0.01])
def test_everything_is_written_at_the_limits(family, value, alpha0):
    card = risk_card(Mechanism(family, value), prior=[0, 1, 0.5], alpha0=alpha0)
    text = card.to_json()
    assert "NaN" not in text
    content = json.loads(text)
    assert content["format"] == "seepage.risk_card"
    assert len(content["beliefs"]) == 3
    assert any("orrelation" in line for line in content["not_protected"])
    assert any("differ in this" in line for line in content["assumptions"])
    assert len(set(content["what_can_happen"])) == len(content["what_can_happen"])


def test_golden_card():
    card = risk_card(Mechanism("gaussian", 1.0))
    assert [statement.shown for statement in card.beliefs] == [8.54, 50.7, 90.3]
    assert card.chances[0].shown == 9.24
    assert card.suspicion == "that a certain person is in the data"
    assert "record" in risk_card(Mechanism("gaussian", 1, adjacency=REPLACE)).suspicion
    assert "answer" in risk_card(Mechanism("randomized_response", 1)).suspicion
    other = sp.TradeOff.from_distributions([0.5, 0.5], [0.8, 0.2])
    assert "second of the two" in risk_card(other).suspicion
    assert card.columns()["shown_of_100"] == [8.54, 50.7, 90.3]


def test_labels():
    labels = {
        Mechanism("laplace", 0.5).label: "Laplace noise, μ = 0.5",
        Mechanism("gaussian", INF, times=3).label: "Gaussian noise, μ = ∞, 3 times",
        Mechanism("randomized_response", 1, k=4).label: "Randomised response on 4 values, ε = 1",
        Mechanism("uniform_sampling", 1, n=1).label: "Publishing the only record, μ = 1",
        Mechanism("approximate_dp", 1, delta=0.5).label: (
            "Anything that is (ε, δ)-differentially private, ε = 1, δ = 0.5"
        ),
        Mechanism("approximate_dp", 1).label: "Anything that is ε-differentially private, ε = 1",
        Mechanism(
            "gaussian", 1, rate=0.1
        ).label: "Gaussian noise, μ = 1, on a secret sample of 10 %",
    }
    assert all(found == expected for found, expected in labels.items())


def test_composition_and_sampling():
    three = Mechanism("gaussian", 1.0, times=4)
    assert three.curve.power(0.01) == pytest.approx(sp.TradeOff.gaussian(2.0).power(0.01))
    part = describe_risk(Mechanism("approximate_dp", 1.0, rate=0.5))
    # Sampling amplifies: e^ε becomes 1 + p (e^ε − 1).
    assert part.relative_risk == pytest.approx(1 + 0.5 * (math.e - 1), rel=1e-12)
    twice = describe_risk(Mechanism("randomized_response", 1.0, times=2))
    assert twice.standing == "exact"
    assert twice.relative_risk == pytest.approx(math.exp(2), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"times": 2}, {"rate": 0.5}])
def test_a_definition_only_may_prove(options):
    """Not everything that is (ε, δ)-differentially private proves something."""
    for value, delta in ((1.0, 0.1), (INF, 0.0)):
        card = risk_card(Mechanism("approximate_dp", value, delta=delta, **options))
        assert card.disclosure.failure == "catastrophic"
        assert "may prove" in card.events[0].text
        assert "proves" not in card.verdict
    assert "proves" in risk_card(Mechanism("gaussian", INF)).events[0].text


def test_the_floor_is_compared_and_stated():
    everything = risk_card(Mechanism("gaussian", INF))
    _, release, all_of_it, fewer = everything.comparison
    assert release.beliefs == all_of_it.beliefs == (50.3, 91.8, 99.01)
    assert fewer.beliefs == (100.0, 100.0, 100.0)
    assert everything.fewer.endswith("fewer than 1 % by mistake: of 100 flagged, up to 100.")
    said = "An attacker who makes fewer than 1 % false alarms can be right more often than shown."
    assert said in everything.assumptions
    # Up to a false-alarm rate of e^−1/2 the power under μ = 1 is e times it: a floor hides nothing.
    laplace = risk_card(Mechanism("laplace", 1.0))
    assert said not in laplace.assumptions
    assert len(laplace.comparison) == 3
    assert not any("floor" in text for text in laplace.assumptions)
    high = risk_card(Mechanism("laplace", 1.0), alpha0=0.2)
    assert any("floor of 20 %" in text for text in high.assumptions)
    assert not any(
        "false alarms" in x for x in risk_card(Mechanism("gaussian", 1), alpha0=0).assumptions
    )


def test_comparison():
    found = compare_risks([Mechanism("gaussian", 1.0), Mechanism("laplace", 1.0)], alpha0=0.01)
    assert "Gaussian noise, μ = 1: 9.24; Laplace noise, μ = 1: 2.72" in found.verdict
    columns = found.columns()
    assert len(columns["mechanism"]) == 6
    assert columns["power"][3] == pytest.approx(0.01 * math.e, rel=1e-12)
    assert found.to_frame().height == 6
    alone = compare_risks([Mechanism("gaussian", 1.0)] * 2)
    assert len(alone.disclosures) == 1
    assert alone.verdict == alone.disclosures[0].verdict


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Mechanism("laplce", 1.0), "laplace"),
        (lambda: Mechanism("laplace", -1.0), "mu"),
        (lambda: Mechanism("laplace", math.nan), "mu"),
        (lambda: Mechanism("laplace", "x"), "mu"),
        (lambda: Mechanism("laplace", [1.0, 2.0]), "one mu"),
        (lambda: Mechanism("randomized_response", 1.0, k=0), "0"),
        (lambda: Mechanism("uniform_sampling", 1.0, n=0), "n"),
        (lambda: Mechanism("approximate_dp", 1.0, delta=2), "delta"),
        (lambda: Mechanism("gaussian", 1.0, rate=1.5), "rate"),
        (lambda: Mechanism("gaussian", 1.0, times=0), "times"),
        (lambda: Mechanism("gaussian", 1.0, times=True), "times"),
        (lambda: Mechanism("gaussian", 1.0, adjacency="both"), "replace one record"),
        (lambda: Mechanism("uniform_sampling", 1.0, adjacency=ADD_OR_REMOVE), "replace one"),
        (lambda: Mechanism("randomized_response", 1.0, rate=0.5), "who was asked"),
        (lambda: compare_risks([]), "one or more"),
        (lambda: compare_risks(["x"]), "Mechanism"),
        (lambda: compare_risks(Mechanism("laplace", 1.0)), "one or more"),
        (lambda: risk_card("laplace"), "Mechanism"),
        (lambda: risk_card(Mechanism("laplace", 1.0), prior=2.0), "prior"),
        (lambda: risk_card(Mechanism("laplace", 1.0), alpha0=-1), "alpha0"),
        (lambda: risk_card(Mechanism("laplace", 1.0), tests=["z"]), "results of power"),
        (lambda: risk_card(Mechanism("laplace", 1.0), tests=None), "results of power"),
    ],
)
def test_nonsense_is_refused(build, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)) as caught:
        build()
    assert isinstance(caught.value, SeepageError)


def test_card_of_a_disclosure_keeps_it():
    found = sp.disclosure(sp.TradeOff.gaussian(1.0), prior=0.2, alpha0=0.05, name="The survey")
    card = risk_card(found)
    assert isinstance(card, RiskCard)
    assert card.disclosure is found
    assert np.isclose(card.comparison[0].beliefs[0], 20)
