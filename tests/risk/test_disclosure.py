"""Measures of disclosure: theorems of the paper, enumeration, and sentences that stay true."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage import InvalidInputError, Standing, TradeOff, randomized_response
from seepage.risk import disclosure
from seepage.risk._families import response_curve
from seepage.risk._rounding import percent, round_down, round_up, share_up, words
from seepage.tradeoff import PiecewiseLinear

INF = float("inf")
GRID = np.concatenate(([0.0], np.logspace(-300, -1, 300), np.linspace(0.1, 1, 91)))

parameters = st.one_of(st.sampled_from([0.0, 1e-300, 1e-9, 700.0, 1e4, INF]), st.floats(0, 12))
probabilities = st.one_of(st.sampled_from([0.0, 1e-12, 0.01, 0.5, 1.0]), st.floats(0, 1))


@st.composite
def curves(draw):
    kind = draw(st.sampled_from(["laplace", "gaussian", "response", "sampling", "dp", "table"]))
    size = draw(parameters)
    if kind == "laplace":
        return TradeOff.laplace(size)
    if kind == "gaussian":
        return TradeOff.gaussian(size)
    if kind == "response":
        return response_curve(draw(st.integers(1, 30)), size)
    if kind == "sampling":
        return TradeOff.uniform_sampling(size, draw(st.integers(1, 10**6)))
    if kind == "dp":
        return TradeOff.approximate_dp(size, draw(probabilities))
    row = st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda x: sum(x) > 1e-3)
    null, alternative = (np.array(draw(row)) for _ in range(2))
    return TradeOff.from_distributions(null / null.sum(), alternative / alternative.sum())


def test_golden_values():
    gauss, laplace = disclosure(TradeOff.gaussian(1)), disclosure(TradeOff.laplace(1))
    assert gauss.power == pytest.approx(0.0923622, abs=5e-8)
    assert gauss.relative_risk_at_floor == pytest.approx(9.23622, abs=5e-6)
    assert gauss.relative_risk == INF
    assert laplace.power == pytest.approx(0.027183, abs=5e-7)
    assert laplace.relative_risk == np.e
    assert laplace.advantage == pytest.approx(1 - np.exp(-0.5), rel=1e-15)
    sampling = disclosure(TradeOff.uniform_sampling(1.0, 5))
    assert sampling.proven == pytest.approx((1 - np.exp(-1)) / 5, rel=1e-15)


@pytest.mark.parametrize(
    ("curve", "failure"),
    [
        (TradeOff.laplace(1.0), "none"),
        (TradeOff.laplace(5000.0), "none"),
        (TradeOff.gaussian(1.0), "graceful"),
        (TradeOff.gaussian(1e-6), "graceful"),
        (TradeOff.uniform_sampling(1.0, 100), "catastrophic"),
        (TradeOff.approximate_dp(1.0), "none"),
        (TradeOff.approximate_dp(1.0, 1e-9), "catastrophic"),
        (TradeOff.of_channel(randomized_response(4, 2.0)), "none"),
        (TradeOff.of_channel(randomized_response(4, INF)), "catastrophic"),
        (TradeOff.gaussian(0.0), "none"),
        (TradeOff.gaussian(1.0).self_compose(9), "graceful"),
    ],
)
def test_table_1(curve, failure):
    found = disclosure(curve, alpha0=0.0)
    assert found.failure == failure
    assert (found.proven > 0) == (failure == "catastrophic")
    if failure != "none":
        assert found.relative_risk == INF


@given(curves())
def test_theorem_1(curve):
    """Some attack reaches certainty, from any prior inside (0, 1), exactly when f(0) < 1."""
    reached = curve.power(0.0) > 0
    assert (curve.failure == "catastrophic") == reached
    if reached:
        assert curve.posterior(0.01, 0.0) == 1
    elif curve.failure == "none" and curve.relative_risk() < 1e12:
        assert (curve.posterior(0.01, GRID) < 1).all()
    if curve.failure == "graceful":
        rates = GRID[(GRID > 0) & (curve.power(GRID) < 0.5)]
        odds = curve.power(rates) / rates
        assert np.isfinite(odds).all()


@given(curves(), st.floats(1e-6, 1 - 1e-6), st.floats(0, 1))
def test_theorem_2(curve, prior, floor):
    """ρ bounds posterior over prior for every rate, and is its supremum as the prior vanishes."""
    risk = curve.relative_risk(floor)
    rates = GRID[floor <= GRID]
    gain = np.asarray(curve.posterior(prior, rates)) / prior
    assert (gain <= risk * (1 + 1e-12)).all()
    if np.isfinite(risk) and risk < 1e6:
        tiny = 1e-12
        reached = curve.posterior(tiny, max(floor, 0.0)) / tiny
        assert reached == pytest.approx(risk, rel=2e-6)
    assert risk >= 1 - 1e-15


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 2.5, 10.0, 30.0])
def test_pure_mechanisms_have_the_risk_of_epsilon(epsilon):
    """ρ = e^ε (Corollary 2, with equality for these)."""
    assert disclosure(TradeOff.laplace(epsilon)).relative_risk == np.exp(epsilon)
    for curve in (
        TradeOff.approximate_dp(epsilon),
        response_curve(5, epsilon),
        TradeOff.of_channel(randomized_response(3, epsilon)),
    ):
        assert disclosure(curve).relative_risk == pytest.approx(np.exp(epsilon), rel=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_response_curve_equals_the_channel(k):
    for epsilon in (0.0, 1e-6, 1.0, 20.0, INF):
        channel = TradeOff.of_channel(randomized_response(k, epsilon))
        grid = np.linspace(0, 1, 101)
        found = response_curve(k, epsilon).power(grid)
        np.testing.assert_allclose(found, channel.power(grid), rtol=0, atol=2e-15)


@given(curves(), probabilities)
def test_precision_and_recall(curve, prior):
    found = disclosure(curve)
    recall, precision = found.precision_recall(prior)
    assert ((precision >= prior * (1 - 1e-12)) & (precision <= 1)).all()
    assert (np.diff(precision) <= 1e-12).all()
    rates = np.asarray(curve.false_alarms(recall))
    ordinary = (rates > 0) & (recall > 0)
    again = np.asarray(curve.posterior(prior, rates))[ordinary]
    np.testing.assert_allclose(precision[ordinary], again, rtol=1e-6, atol=1e-9)


@given(curves(), st.lists(probabilities, min_size=1, max_size=3), probabilities)
def test_no_sentence_is_false(curve, priors, alpha0):
    found = disclosure(curve, prior=priors, alpha0=alpha0)
    for statement in found.statements:
        assert statement.shown >= statement.value * (1 - 1e-11)
        # The number in the text is the one that was rounded.
        if np.isfinite(statement.shown) and "beyond" not in statement.text:
            text = statement.text.replace(",", "")
            numbers = [float(x.replace("·10^", "e")) for x in NUMBER.findall(text)]
            shown = pytest.approx(statement.shown, rel=1e-6)
            assert any(number == shown for number in numbers) or "changes any" in text
    assert found.statements[0].value == pytest.approx(100 * float(curve.power(alpha0)))
    beliefs = found.statements[1 : 1 + len(priors)]
    rates = GRID[alpha0 <= GRID]
    for prior, statement in zip(priors, beliefs, strict=True):
        flagged = 100 * np.asarray(curve.posterior(prior, rates))
        assert (flagged <= statement.shown * (1 + 1e-11)).all()
        assert statement.shown <= 100
    text = json.loads(found.to_json())
    assert len(text["statements"]) == 5 + len(priors)
    assert "nan" not in found.to_json().lower().replace("nance", "")
    assert found.verdict


NUMBER = re.compile(r"\d+(?:\.\d+)?(?:·10\^-?\d+)?")


@given(st.floats(0, 1e300), st.integers(1, 6))
def test_rounding_is_on_its_side(value, digits):
    high, low = round_up(value, digits), round_down(value, digits)
    assert low <= Decimal(value) * (1 + Decimal("1e-11"))
    assert high >= Decimal(value) * (1 - Decimal("1e-11"))
    if value:
        assert high - low <= Decimal(10) ** (Decimal(value).adjusted() - digits + 1) * 2
    if value <= 1:
        assert Decimal(value) * 100 * (1 - Decimal("1e-11")) <= share_up(value) <= 100


def test_rounding_examples():
    assert words(round_up(0.2 + 3e-17)) == "0.2"
    assert words(round_up(9.236221)) == "9.24"
    assert words(round_up(1234567.0)) == "1,240,000"
    assert words(round_up(1.5e12)) == "1.5·10^12"
    assert words(round_up(INF)) == "any number of"
    assert words(share_up(0.9999912)) == "99.99912"
    assert words(share_up(1.0)) == "100"
    assert words(share_up(0.0)) == "0"
    assert percent(0.01) == "1 %"
    assert percent(1e-12) == "1·10^-10 %"


def test_result():
    found = disclosure(TradeOff.gaussian(1), name="The mean income", prior=[0.1, 0.5])
    assert found.verdict.startswith("The mean income: The best attack at a false-alarm rate of 1 %")
    assert "at most 9.24 of 100" in found.verdict
    assert found.to_frame().shape == (2, 4)
    assert found.standing == "exact"
    assert any("add or remove one record" in text for text in found.assumptions)
    assert any("correlated" in text for text in found.assumptions)
    upper = disclosure(TradeOff.from_profile([1.0, 2.0], [0.1, 0.01]))
    assert upper.standing == "upper"
    assert "may prove" in upper.verdict
    assert disclosure(TradeOff.laplace(0)).statements[4].text == "No alarm changes any belief."


@pytest.mark.parametrize(
    "curve",
    [
        TradeOff.approximate_dp(800.0),
        response_curve(2, 800.0),
        response_curve(5, 800.0),
        TradeOff.of_channel(randomized_response(3, 800.0)),
    ],
)
def test_pure_mechanisms_prove_nothing_at_any_parameter(curve):
    found = disclosure(curve, alpha0=0.0)
    assert (found.failure, found.proven) == ("none", 0.0)
    assert not any("proves" in text.text and "No" not in text.text for text in found.statements)
    assert "multiplied beyond 10^308" in found.verdict


def test_sentences_do_not_contradict_each_other():
    for mu in (5e-324, 1e-320, 1e-17):
        texts = [x.text for x in disclosure(TradeOff.gaussian(mu), alpha0=0.0).statements]
        assert any("as close to certainty" in text for text in texts)
        assert not any("No alarm changes" in text for text in texts)


def test_upper_curves_are_hedged():
    """What an upper curve shows may be more than what the mechanism does."""
    upper = TradeOff.from_profile([1.0, 2.0], [0.1, 0.01])
    gauss = TradeOff.gaussian(1.0).outer()
    for curve in (upper, gauss):
        texts = [x.text for x in disclosure(curve, alpha0=0.0).statements]
        assert any("There may be no limit" in text for text in texts)
    texts = [x.text for x in disclosure(gauss, alpha0=0.0).statements]
    assert any("may come as close to certainty" in text for text in texts)
    exact = [x.text for x in disclosure(TradeOff.gaussian(1.0), alpha0=0.0).statements]
    assert any("There is no limit" in text for text in exact)


def test_given_probabilities_keep_their_digits():
    assert percent(1 - 1e-13) == "99.99999999999 %"
    assert percent(1e-300) == "1·10^-298 %"
    assert percent(1.0) == "100 %"
    for value in (0.07, 0.1, 0.005, 0.3, 0.29):
        assert percent(value) == f"{value * 100:.12g} %"
    texts = [x.text for x in disclosure(TradeOff.laplace(1), prior=1 - 1e-13).statements]
    assert not any("true for 100 % of those" in text for text in texts)


def test_refusals():
    curve = TradeOff.laplace(1)
    lower = PiecewiseLinear([0, 0.5, 1], [0, 0.2, 0], standing=Standing.LOWER)
    for wrong in (None, 3, "laplace", [[1.0]], lower):
        with pytest.raises(InvalidInputError, match="expected a"):
            disclosure(wrong)
    for value in (float("nan"), -0.1, 1.1, "a", None, True, [[0.1]], []):
        with pytest.raises(InvalidInputError):
            disclosure(curve, prior=value)
        with pytest.raises(InvalidInputError):
            disclosure(curve, alpha0=value)
        with pytest.raises(InvalidInputError):
            disclosure(curve).precision_recall(value if value != [] else [0.1])
    for name in ("", None, 3):
        with pytest.raises(InvalidInputError, match="name"):
            disclosure(curve, name=name)
    with pytest.raises(InvalidInputError):
        disclosure(curve).precision_recall(0.1, [2.0])


def test_without_false_alarms_it_is_said_what_some_would_find():
    found = disclosure(TradeOff.laplace(5.0), alpha0=0.0)
    share = 100 * (1 - math.exp(-5) / 0.04)
    said = found.statements[0].text
    assert said.endswith(
        "Whoever accepts some false alarms finds far more: at a rate of 1 % up to 83.2 of 100."
    )
    assert 83.1 < share <= 83.2
    assert "far more" not in disclosure(TradeOff.laplace(0.5), alpha0=0.0).statements[0].text
    assert "far more" not in disclosure(TradeOff.laplace(5.0), alpha0=0.01).statements[0].text


def test_one_value_is_written_so():
    from seepage.risk._families import family

    assert family("randomized_response", k=1).label == "randomised response on 1 value"
    assert family("randomized_response", k=2).label == "randomised response on 2 values"
