"""Both sides of a test: what it needs, what a limit allows, and what that means."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

import seepage as sp
from seepage.errors import InfeasibleError, InvalidInputError
from seepage.plan.power_rooms import protected_risk
from seepage.plan.powering import plan_test
from seepage.risk.designs import (
    Correlation,
    Independence,
    OneProportion,
    OneSampleMean,
    Slope,
    Values,
)
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse

INF = math.inf
Z = OneSampleMean(Values(0.25, 0, 1), known_sd=True)
ONE_SIDED = {"alpha": 0.01, "alternative": "larger"}


def z_power(n: int, mu: float, m: float = 0.2, sd: float = 0.25) -> float:
    """Section 4 of the paper, by the formula."""
    spread = math.sqrt(sd**2 / n + (1 / (n * mu)) ** 2)
    return float(norm.sf(norm.isf(0.01) - m / spread))


def test_numbers_of_the_paper():
    """Theory: .4321 for μ = 1 against .7800 without noise."""
    report = plan_test(Z, effect=0.2, n=15, protection=GaussianNoise(1.0), **ONE_SIDED)
    assert report.result.power == pytest.approx(z_power(15, 1.0), abs=1e-12)
    assert round(report.result.power, 4) == 0.4321
    assert round(report.result.unprotected, 4) == 0.7800
    assert report.risk is not None
    assert report.risk.power == pytest.approx(norm.sf(norm.isf(0.01) - 1), rel=1e-12)
    assert "replace one record" in report.risk.assumptions[0]
    assert report.feasible


def test_room_of_both_sides():
    report = plan_test(Z, effect=0.2, n=40, target_loss=0.05, attack_power=0.1, **ONE_SIDED)
    laplace, gauss = report.rooms
    # What the analyst needs, by a search on the formula of the paper.
    low, high = 1e-3, 1e3
    bare = float(norm.sf(norm.isf(0.01) - 0.2 / (0.25 / math.sqrt(40))))
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if bare - z_power(40, middle) <= 0.05 else (middle, high)
    assert gauss.least == pytest.approx(high, rel=1e-9)
    # What the limit allows, in closed form.
    assert gauss.most == pytest.approx(norm.isf(0.01) - norm.isf(0.1), rel=1e-12)
    assert laplace.most == pytest.approx(math.log(10), rel=1e-12)
    assert gauss.feasible
    assert gauss.most >= gauss.least
    assert sp.TradeOff.gaussian(gauss.most).power(0.01) <= 0.1
    assert gauss.disclosure.power == pytest.approx(norm.sf(norm.isf(0.01) - gauss.least), rel=1e-12)
    assert "meets both sides" in gauss.sentence
    for region, room in zip(report.regions, report.rooms, strict=True):
        assert np.all(np.diff(region.parameters) > 0)
        assert np.all(np.diff(region.powers) > -1e-12)
        assert np.all(np.diff(region.attacks) > -1e-12)
        inside = [
            power >= bare - 0.05 and attack <= 0.1
            for power, attack in zip(region.powers, region.attacks, strict=True)
        ]
        wanted = [room.least <= x <= room.most for x in region.parameters]
        assert inside == wanted


def test_wishes_that_exclude_each_other():
    report = plan_test(Z, effect=0.2, n=15, target_loss=0.05, attack_power=0.02, **ONE_SIDED)
    assert not report.feasible
    assert report.verdict.startswith("The wishes exclude each other")
    assert all(room.least > room.most for room in report.rooms)
    content = json.loads(report.to_json())
    assert content["feasible"] is False
    assert len(content["rooms"]) == 2


@pytest.mark.parametrize(
    ("limit", "least"),
    [
        ({"relative_risk": 3.0}, "relative_risk"),
        ({"posterior": 0.5, "belief": 0.1}, "posterior"),
        ({"attack_power": 0.2}, "power"),
    ],
)
def test_limits_alone(limit, least):
    report = plan_test(Z, effect=0.2, n=40, **limit, **ONE_SIDED)
    for room in report.rooms:
        assert room.utility is None
        assert room.least == 0
        assert room.feasible
        assert room.measured <= next(iter(limit.values()))
        assert "the limit allows up to" in room.sentence
    assert report.limit.measure == least
    assert all(np.isfinite(region.attacks).all() for region in report.regions)


def test_without_a_floor_gaussian_noise_has_no_room():
    report = plan_test(Z, effect=0.2, n=40, relative_risk=3.0, alpha0=0.0, **ONE_SIDED)
    laplace, gauss = report.rooms
    assert laplace.most == pytest.approx(math.log(3), rel=1e-12)
    assert gauss.most == 0
    assert report.limit.alpha0 == 0
    assert len(report.regions) == 2


def test_looking_for_records_and_effects():
    report = plan_test(Z, effect=0.2, protection=GaussianNoise(1.0), **ONE_SIDED)
    n = report.result.n
    assert z_power(n, 1.0) >= 0.8 > z_power(n - 1, 1.0)
    assert report.bare.at.n < n
    assert report.verdict == report.need.verdict
    found = plan_test(Z, n=40, **ONE_SIDED)
    assert found.result.power >= 0.8
    assert found.need.quantity == "effect"
    assert found.regions == ()


def test_randomised_response_on_a_table():
    design = Independence([[30, 10], [10, 30]])
    report = plan_test(
        design, effect=0.3, n=200, target_loss=0.1, attack_power=0.5, k=2,
        families=["randomized_response"],
    )  # fmt: skip
    (room,) = report.rooms
    assert room.symbol == "ε"
    assert sp.TradeOff.of_channel(sp.randomized_response(2, room.most)).power(0.01) <= 0.5
    assert report.columns()["parameter"] == ["epsilon"]


def test_risk_of_several_numbers_is_that_of_pure_privacy():
    """A t test releases two numbers; Laplace noise on both is known as pure ε only."""
    t_test = OneSampleMean(Values(0.25, 0, 1))
    pure = protected_risk(t_test, LaplaceNoise(1.0))
    assert pure.advantage == pytest.approx(math.tanh(0.5), rel=1e-12)
    one = protected_risk(Z, LaplaceNoise(1.0))
    assert one.advantage == pytest.approx(1 - math.exp(-0.5), rel=1e-12)
    assert one.relative_risk == pytest.approx(pure.relative_risk, rel=1e-12)
    pair = protected_risk(Independence([[3, 1], [1, 3]]), RandomizedResponse((0.5, 1.5)))
    assert pair.relative_risk == pytest.approx(math.exp(1.5), rel=1e-12)
    assert pair.name == "Randomised response, ε = 1.5"


@pytest.mark.parametrize("parameter", [0.0, 1e-9, 50.0, INF])
@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise, RandomizedResponse])
def test_limits_of_the_parameter(kind, parameter):
    report = plan_test(OneProportion(0.5), effect=0.2, n=1, protection=kind(parameter))
    assert "NaN" not in report.to_json()
    assert all(0 <= x <= 1 for region in report.regions for x in region.powers)


@pytest.mark.parametrize("loss", [0.0, 1.0])
def test_extreme_losses(loss):
    report = plan_test(Z, effect=0.2, n=15, target_loss=loss, attack_power=1.0, **ONE_SIDED)
    assert "NaN" not in report.to_json()
    for room in report.rooms:
        assert room.most == INF
        assert room.sentence
    if loss == 1:
        assert all(room.least == 0 for room in report.rooms)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither"),
        ({"effect": 0.2, "n": 9, "families": ["laplace"]}, "target_loss or a limit"),
        ({"effect": 0.2, "n": 9, "target_loss": 0.1, "families": ["laplce"]}, "'laplace'"),
        ({"effect": 0.2, "n": 9, "target_loss": 0.1, "families": "laplace"}, "list of names"),
        ({"effect": 0.2, "n": 9, "target_loss": 0.1, "families": []}, "list of names"),
        ({"effect": 0.2, "n": 9, "target_loss": 2}, "target_loss in"),
        ({"effect": 0.2, "n": 9, "target_loss": 0.1, "rule": "best"}, "rule"),
        ({"effect": 0.2, "n": 9, "attack_power": 0.2, "relative_risk": 2}, "one of"),
        ({"effect": 0.2, "n": 9, "posterior": 0.2}, "no belief"),
        ({"effect": 0.2, "n": 9, "attack_power": 2}, "attack_power in"),
        ({"effect": 0.2, "n": 9, "attack_power": 0.2, "alpha0": 3}, "alpha0"),
        ({"effect": 0.2, "n": 0}, "n"),
        ({"effect": math.nan, "n": 9}, "effect"),
        ({"effect": 0.2, "n": 9, "protection": "laplace"}, "protection"),
        ({"effect": 0.2, "n": 9, "protection": LaplaceNoise(1), "target_loss": 0.1}, "both"),
    ],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        plan_test(Z, **options)


def test_limit_that_not_even_nothing_meets():
    with pytest.raises(InfeasibleError, match="releasing nothing"):
        plan_test(Z, effect=0.2, n=9, attack_power=0.001)


def test_nearest_wishes_can_be_met():
    """Each, put in the place of the wish it changes, leaves room; a little less does not."""
    wishes = {"effect": 0.2, "n": 15, "target_loss": 0.05, "attack_power": 0.05, **ONE_SIDED}
    report = plan_test(Z, **wishes)
    assert not report.feasible
    assert len(report.nearest) == 6
    assert json.loads(report.to_json())["nearest"] == [x.to_dict() for x in report.nearest]
    for item in report.nearest:
        assert item.text in report.verdict
        step = 1 if item.quantity == "n" else 0.002
        for value, meets in ((item.value, True), (item.value - step, False)):
            again = plan_test(Z, families=[item.family], **(wishes | {item.quantity: value}))
            assert again.feasible is meets, item
    gauss = {x.keep: x for x in report.nearest if x.family == "gaussian"}
    # By the formulas of the paper.
    kept = z_power(15, norm.isf(0.01) - norm.isf(0.05))
    # Rounded up to three digits.
    assert 0 <= gauss["limit"].value - (z_power(15, INF) - kept) < 1e-3
    assert f"(power {math.floor(kept * 1000) / 1000:g}, Gaussian noise)" in gauss["limit"].text
    least = report.rooms[1].least
    assert 0 <= gauss["test"].value - norm.sf(norm.isf(0.01) - least) < 1e-3
    assert "Keep the test: accept attack power" in report.verdict
    assert "Keep the limit: accept a loss of" in report.verdict
    assert plan_test(Z, **(wishes | {"attack_power": 0.9})).nearest == ()


@pytest.mark.parametrize("limit", [{"relative_risk": 3.0}, {"posterior": 0.2, "belief": 0.1}])
def test_nearest_of_other_limits(limit):
    report = plan_test(Z, effect=0.2, n=15, target_loss=0.1, rule="relative", **limit, **ONE_SIDED)
    assert {x.keep for x in report.nearest} >= {"test", "limit"}
    assert "a relative loss of" in report.verdict


def test_effects_are_differences():
    found = plan_test(OneProportion(0.3), effect=0.1, n=50).verdict
    assert "finds a proportion that differs by 0.1 from 0.3 with" in found
    assert "finds a mean that differs by 0.2 with" in plan_test(Z, effect=0.2, n=15).verdict


@pytest.mark.parametrize(
    ("design", "protection", "at_two"),
    [
        (Slope(Values(1, -4, 4), Values(1.0), 3, 0.3, 0.5), RandomizedResponse(3, 5), 2.0),
        (Slope(Values(1, -4, 4), Values(1.0)), RandomizedResponse((3, INF), (5, 2)), (2.0, INF)),
        (
            Correlation(Values(1, -4, 4), Values(1, -4, 4)),
            RandomizedResponse((INF, 3), (2, 5)),
            (INF, 2.0),
        ),
        (
            Correlation(Values(1, -4, 4), Values(1, -4, 4)),
            RandomizedResponse((3, 1.5), (5, 2)),
            (2.0, 1.0),
        ),
    ],
)
def test_two_attributes_with_budgets_of_their_own(design, protection, at_two):
    """What is public is no secret, and the picture goes through the protection that was given."""
    report = plan_test(design, effect=0.4, n=120, protection=protection, draws=400)
    assert report.risk is not None
    assert report.risk.curve.relative_risk(0.0) == pytest.approx(math.exp(3), rel=1e-12)
    told = "One attribute is public" in " ".join(report.assumptions)
    assert told is (isinstance(at_two, tuple) and INF in at_two)
    assert protection.at(3.0) == protection
    assert protection.at(2.0).epsilon == at_two
    assert protection.largest == 3
    region = report.regions[0]
    drawn = sp.power(design, 0.4, 120, protection=protection.at(region.parameters[0]), draws=400)
    assert region.powers[0] == drawn.power
    assert "<img" in report.to_html()


def test_parts_of_a_randomised_response():
    assert RandomizedResponse(2.0, 3).secret is None
    assert RandomizedResponse((INF, INF)).secret is None
    assert RandomizedResponse((INF, INF)).largest == INF
    assert RandomizedResponse((INF, 1.0), (2, 5)).secret_k == 5
    assert RandomizedResponse((2.0, 1.0), (2, 5)).secret_k == (2, 5)
    assert RandomizedResponse((0.0, 0.0)).at(1.0).epsilon == (1.0, 1.0)
    assert RandomizedResponse((2.0, 1.0)).at(0.0).epsilon == (0.0, 0.0)
