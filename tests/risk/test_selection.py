"""Choices on the safe side, and what happens when wishes cannot be met."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from seepage import InfeasibleError, InvalidInputError, SeepageError
from seepage.risk import choose
from seepage.risk._families import family, largest
from seepage.risk.selection import LARGEST, Limit

INF = float("inf")


def only(**wishes):
    (choice,) = choose(**wishes).choices
    return choice


def build(choice):
    settings = {name: int(x) if name in "kn" else x for name, x in choice.settings.items()}
    return family(choice.family, **settings).build


def check(choice, limit):
    """Evaluated again the limit holds, and one unit in the last place further it does not."""
    make = build(choice)
    assert limit.of(make(choice.value)) <= limit.value
    assert choice.measured == limit.of(make(choice.value))
    if np.isinf(choice.value):
        assert choice.note
    else:
        assert limit.of(make(np.nextafter(choice.value, INF))) > limit.value


def test_closed_forms():
    """Laplace: ln R; Gaussian: Φ⁻¹(power) − Φ⁻¹(α0)."""
    for risk in (1.1, 2.0, np.e, 10.0, 1e6, 1e300):
        choice = only(relative_risk=risk, families=["laplace"])
        assert choice.value == pytest.approx(np.log(risk), rel=1e-13)
        response = only(relative_risk=risk, families=["randomized_response"], k=3)
        assert response.value == pytest.approx(np.log(risk), rel=1e-12)
        pure = only(relative_risk=risk, families=["approximate_dp"], delta=0.0)
        assert pure.value == pytest.approx(np.log(risk), rel=1e-12)
    for power, alpha0 in ((0.0923622, 0.01), (0.8, 0.05), (0.011, 0.01), (1 - 1e-9, 1e-9)):
        truth = norm.isf(alpha0) - norm.isf(power)
        wishes = {"near_certainty": True, "families": ["gaussian"], "alpha0": alpha0}
        assert only(power=power, **wishes).value == pytest.approx(truth, rel=1e-9)
        by_risk = only(relative_risk=power / alpha0, **wishes)
        assert by_risk.value == pytest.approx(truth, rel=1e-7)
    assert only(relative_risk=9.23622, alpha0=0.01, families=["laplace"]).value == pytest.approx(
        np.log(9.23622), rel=1e-12
    )
    gauss = only(power=0.0923622, alpha0=0.01, near_certainty=True, families=["gaussian"])
    assert gauss.value == pytest.approx(1.0, abs=5e-7)


@settings(max_examples=12)
@given(
    st.sampled_from(["relative_risk", "power", "posterior"]),
    st.floats(1e-6, 0.5),
    st.floats(1e-6, 1 - 1e-9),
    st.floats(1e-4, 1 - 1e-4),
)
def test_choices_are_on_the_safe_side(measure, alpha0, share, prior):
    if measure == "relative_risk":
        limit = Limit(measure, 1 + share / alpha0, alpha0)
    elif measure == "power":
        limit = Limit(measure, alpha0 + (1 - alpha0) * share, alpha0)
    else:
        limit = Limit(measure, prior + (1 - prior) * share, alpha0, prior)
    wishes = {measure: limit.value, "alpha0": alpha0, "prior": limit.prior}
    found = choose(blatant=True, near_certainty=True, k=[2, 7], n=1000, delta=1e-8, **wishes)
    assert {choice.family for choice in found.choices} >= {"laplace", "gaussian"}
    for choice in found.choices:
        check(choice, limit)
    assert json.loads(found.to_json())["limit"]["measure"] == measure


LOOSE = (
    {"relative_risk": INF},
    {"relative_risk": INF, "alpha0": 0.01},
    {"relative_risk": 3.0, "alpha0": 1.0},
    {"relative_risk": 3.0, "alpha0": 0.1},
    {"posterior": 1.0, "prior": 0.1},
    {"posterior": 0.3, "prior": 0.0},
    {"power": 1.0, "alpha0": 0.01},
    {"power": 1.0, "alpha0": 1.0},
)


@given(st.sampled_from(LOOSE), st.sampled_from([(0, 0), (0, 1), (1, 1)]), st.integers(1, 5))
def test_no_choice_fails_in_a_way_that_was_denied(wishes, answers, k):
    """The class is read off the curve at the parameter itself, also where the limit is none."""
    blatant, near = map(bool, answers)
    found = choose(blatant=blatant, near_certainty=near, k=k, n=9, delta=0.0, **wishes)
    admitted = {"none"} | ({"graceful"} if near else set())
    admitted |= {"catastrophic"} if blatant else set()
    for choice in found.choices:
        assert build(choice)(choice.value).failure in admitted
        assert choice.failure in admitted
        said = choice.disclosure().verdict
        assert blatant or "No release proves" in said or "No alarm changes" in said


def test_questions_select_families():
    """Table 1: which failures are admitted."""
    common = {"relative_risk": 5.0, "alpha0": 0.01, "n": 1000, "delta": 1e-3}
    strict = choose(**common)
    assert {c.family for c in strict.choices} == {"laplace", "randomized_response"}
    assert {c.failure for c in strict.choices} == {"none"}
    reasons = {row.family: row.reason for row in strict.excluded}
    assert "f(0) < 1" in reasons["uniform_sampling"]
    assert "unbounded" in reasons["gaussian"]
    graceful = choose(near_certainty=True, **common)
    assert {c.family for c in graceful.choices} == {"laplace", "randomized_response", "gaussian"}
    every = choose(blatant=True, near_certainty=True, **common)
    assert len(every.choices) == 5
    assert every.excluded == ()
    assert "Laplace noise: mu up to 1.609" in every.verdict
    assert every.to_frame().shape[0] == 5
    assert any("replace one record" in text for text in every.assumptions)


def test_limits_that_do_not_bind():
    sampling = only(
        power=0.5, alpha0=0.01, families="uniform_sampling", n=10, blatant=True, near_certainty=True
    )
    assert sampling.value == INF
    assert sampling.measured == pytest.approx(0.11, rel=1e-12)
    assert sampling.note == "Every parameter meets the limit."
    for wishes in (
        {"relative_risk": INF},
        {"power": 1.0, "alpha0": 0.01},
        {"posterior": 0.0, "prior": 0.0},
        {"posterior": 1.0, "prior": 1.0},
    ):
        every = only(families="laplace", blatant=True, near_certainty=True, **wishes)
        assert every.value == INF
        assert (every.failure, every.most) == ("catastrophic", "any")
        finite = only(families="laplace", **wishes)
        assert finite.value == LARGEST
        assert (finite.failure, finite.most) == ("none", "any finite")
        assert finite.note == "Every finite parameter meets the limit."
        assert "Laplace noise, any finite mu: " in finite.disclosure().verdict
    # Reports on one value tell nothing, whatever ε is.
    assert only(relative_risk=INF, families="randomized_response", k=1).value == INF
    assert "any finite mu" in choose(relative_risk=100.0, alpha0=0.01).verdict
    found = choose(relative_risk=100.0, alpha0=0.01, blatant=True, near_certainty=True)
    assert "any mu" in found.verdict
    assert found.to_dict()["choices"][0]["value"] == INF
    assert "inf" in found.to_json()


@pytest.mark.parametrize(
    ("wishes", "nearest"),
    [
        ({"relative_risk": 0.5}, "relative risk of 1"),
        ({"power": 0.001, "alpha0": 0.01}, "power of 0.01"),
        ({"posterior": 0.05, "prior": 0.1}, "belief of 0.1"),
        ({"relative_risk": 5.0, "families": "gaussian"}, "accept confidence near certainty"),
        (
            {"relative_risk": 5.0, "families": "gaussian", "near_certainty": True},
            "alpha0 > 0",
        ),
        (
            {"posterior": 0.5, "prior": 0.1, "families": "gaussian", "near_certainty": True},
            "alpha0 > 0",
        ),
        ({"relative_risk": 5.0, "families": "uniform_sampling", "n": 3}, "accept blatant"),
        (
            {
                "power": 0.02,
                "alpha0": 0.01,
                "families": "approximate_dp",
                "delta": 0.1,
                "blatant": True,
                "near_certainty": True,
            },
            "power of 0.11",
        ),
        ({"relative_risk": 1.0}, "relative risk above 1"),
    ],
)
def test_infeasible_wishes_name_the_nearest(wishes, nearest):
    with pytest.raises(InfeasibleError) as caught:
        choose(**wishes)
    assert any(nearest in text for text in caught.value.nearest)
    assert nearest in str(caught.value)


def test_nearest_wishes_are_feasible():
    with pytest.raises(InfeasibleError, match=r"0\.11"):
        choose(
            power=0.02,
            alpha0=0.01,
            families="approximate_dp",
            delta=0.1,
            blatant=True,
            near_certainty=True,
        )
    found = only(
        power=0.110001,
        alpha0=0.01,
        families="approximate_dp",
        delta=0.1,
        blatant=True,
        near_certainty=True,
    )
    assert 0 < found.value < 1e-3


def test_choice_leads_to_its_disclosure():
    choice = only(relative_risk=3.0, families="laplace")
    found = choice.disclosure(prior=0.25, alpha0=0.05)
    assert found.relative_risk <= 3.0
    assert found.verdict.startswith("Laplace noise, mu = 1.098:")  # ln 3 is 1.0986: rounded down


def test_largest():
    assert largest(lambda x: x <= 0.1) == 0.1
    assert largest(lambda _: True) == INF
    assert largest(lambda _: False) is None
    assert largest(lambda x: x <= 0) == 0
    assert largest(lambda x: x < INF) == np.finfo(float).max
    assert largest(lambda x: x <= 5e-324) == 5e-324


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"relative_risk": 2.0, "power": 0.5, "alpha0": 0.1},
        {"relative_risk": float("nan")},
        {"relative_risk": -1},
        {"relative_risk": "2"},
        {"relative_risk": True},
        {"relative_risk": [2.0]},
        {"power": 0.5},
        {"power": 1.5, "alpha0": 0.1},
        {"power": 0.5, "alpha0": [0.1]},
        {"power": 0.5, "alpha0": "x"},
        {"posterior": 0.5},
        {"posterior": 0.5, "prior": 2},
        {"posterior": None, "prior": 0.5},
        {"relative_risk": 2.0, "prior": 0.5},
        {"relative_risk": 2.0, "blatant": True},
        {"relative_risk": 2.0, "blatant": "yes"},
        {"relative_risk": 2.0, "near_certainty": 1},
        {"relative_risk": 2.0, "families": []},
        {"relative_risk": 2.0, "families": 3},
        {"relative_risk": 2.0, "families": ["laplce"]},
        {"relative_risk": 2.0, "families": [None]},
        {"relative_risk": 2.0, "k": 0},
        {"relative_risk": 2.0, "k": []},
        {"relative_risk": 2.0, "k": [2.5]},
        {"relative_risk": 2.0, "k": None},
        {"relative_risk": 2.0, "n": -3},
        {"relative_risk": 2.0, "delta": 3},
        {"relative_risk": 2.0, "families": "uniform_sampling"},
        {"relative_risk": 2.0, "families": "approximate_dp"},
    ],
    ids=str,
)
def test_nonsense(wishes):
    with pytest.raises(InvalidInputError, match="expected"):
        choose(**wishes)


def test_hint():
    with pytest.raises(SeepageError, match="Did you mean 'laplace'"):
        choose(relative_risk=2.0, families=["laplce"])


@pytest.mark.parametrize(
    "wishes",
    [
        {"k": 10**400},
        {"k": b"1"},
        {"k": "12"},
        {"k": [2, 10**400]},
        {"n": 10**400},
        {"delta": np.array([0.1, 0.2])},
        {"relative_risk": np.ma.masked},
    ],
)
def test_hostile_settings(wishes):
    with pytest.raises(SeepageError, match="expected"):
        choose(**({"blatant": True, "near_certainty": True, "relative_risk": 3.0} | wishes))


def test_name_of_a_choice_is_on_the_safe_side():
    """The sentences hold for the parameter in the name: it is not above that of the curve."""
    for limit in (2.0, 3.0, 7.0, 11.0):
        choice = only(relative_risk=limit, families="laplace")
        told = float(choice.disclosure().name.rsplit("= ", 1)[1])
        assert choice.value * 0.999 <= told <= choice.value
