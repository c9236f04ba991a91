"""Several tests from both sides: who asks for what, what all releases mean together, files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

import seepage as sp
from seepage.errors import InfeasibleError, InvalidInputError, TableError
from seepage.plan.power_families import curve_of, plan_tests
from seepage.plan.test_files import read_test_file
from seepage.risk.designs import OneProportion, OneSampleMean, Values
from seepage.risk.multiple import PlannedTest, family_power
from seepage.risk.protections import GaussianNoise, LaplaceNoise, RandomizedResponse
from seepage.risk.utility import utility_first

Z = OneSampleMean(Values(0.5, 0, 1), known_sd=True)
TESTS = [
    PlannedTest(Z, 0.2, 100, name="score"),
    PlannedTest(Z, 0.15, 150, name="small"),
    PlannedTest(OneProportion(0.3), 0.15, 120, name="share"),
]
NOISE = {"laplace": LaplaceNoise, "gaussian": GaussianNoise}


@pytest.mark.parametrize("correction", ["none", "bonferroni", "benjamini_hochberg"])
def test_smallest_parameter_of_all(correction):
    report = plan_tests(TESTS, target_loss=0.05, attack_power=0.3, correction=correction)
    bare = family_power(TESTS, correction=correction)
    assert report.bare.powers == bare.powers
    for room in report.rooms:
        make = NOISE[room.family]

        def lost(mu: float, make=make) -> list[float]:
            kept = family_power(TESTS, correction=correction, protection=make(mu))
            return [a - b for a, b in zip(bare.powers, kept.powers, strict=True)]

        assert max(lost(room.least)) <= 0.05 + 1e-9
        below = lost(room.least * (1 - 1e-5))
        assert max(below) > 0.05
        assert TESTS[int(np.argmax(below))].name == room.utility.binding
        # The risk is that of three releases, in closed form.
        m = len(TESTS)
        if room.family == "gaussian":
            assert room.most == pytest.approx((norm.isf(0.01) - norm.isf(0.3)) / math.sqrt(m))
            wanted = norm.sf(norm.isf(0.01) - math.sqrt(m) * room.least)
        else:
            assert room.most == pytest.approx(math.log(30) / m)
            wanted = 0.01 * math.exp(m * room.least)
        assert room.disclosure.power == pytest.approx(wanted, rel=1e-12)
        assert curve_of(TESTS, room.family, room.most).power(0.01) <= 0.3
        assert curve_of(TESTS, room.family, np.nextafter(room.most, 9)).power(0.01) > 0.3
        assert room.feasible == (room.least <= room.most)
    assert json.loads(report.to_json())["rooms"][0]["least"] == report.rooms[0].least
    assert report.to_frame().height == 2 * len(TESTS)


def test_every_test_has_its_own_number_of_answers():
    values = Values(sd=0.3, low=0.0, high=1.0, on_grid=True)
    tests = [
        PlannedTest(OneSampleMean(values), 0.1, 200, k=5, name="five"),
        PlannedTest(OneSampleMean(values), 0.1, 200, k=4, name="four"),
        PlannedTest(OneProportion(0.3), 0.2, 100, name="share"),
    ]
    whole = family_power(tests, correction="none", protection=RandomizedResponse(2.0))
    for test, found in zip(tests, whole.powers, strict=True):
        alone = sp.power(
            test.design, test.effect, test.n, protection=RandomizedResponse(2.0, test.k)
        )
        assert found == alone.power
    report = plan_tests(
        tests, families=["randomized_response"], target_loss=0.05, attack_power=0.02
    )
    assert not report.feasible
    utility = report.rooms[0].utility
    assert utility is not None
    for stated, counted in zip(report.bare.powers, utility.tests, strict=True):
        assert stated == counted.unprotected  # what the loss is counted from is what is shown
    assert report.nearest
    assert all(np.isfinite(region.attacks).all() for region in report.regions)


def test_one_test_is_the_single_report():
    single = sp.plan_test(Z, effect=0.2, n=100, target_loss=0.05, attack_power=0.1)
    report = plan_tests(TESTS[0], target_loss=0.05, attack_power=0.1)
    for room, other in zip(report.rooms, single.rooms, strict=True):
        assert (room.least, room.most) == (other.least, other.most)
        assert room.disclosure.power == other.disclosure.power


def test_every_test_has_a_power():
    report = plan_tests(TESTS, target_loss=0.7, rule="power", families=["gaussian"])
    room = report.rooms[0]
    kept = family_power(TESTS, protection=GaussianNoise(room.least))
    assert min(kept.powers) >= 0.7
    less = family_power(TESTS, protection=GaussianNoise(np.nextafter(room.least, 0)))
    assert min(less.powers) < 0.7
    with pytest.raises(InfeasibleError, match=r"'score' has power 0\.95, got 0\.94"):
        plan_tests(TESTS, target_loss=0.95, rule="power")


def test_benjamini_hochberg_of_one_test_is_its_fixed_point():
    found = utility_first(TESTS[0], "gaussian", rule="absolute", amount=0.05,
                          correction="benjamini_hochberg")  # fmt: skip
    kept = family_power(TESTS[0], correction="benjamini_hochberg",
                        protection=GaussianNoise(found.parameter))  # fmt: skip
    assert found.level == pytest.approx(kept.level, rel=1e-9)
    assert found.level == pytest.approx(0.05 * kept.powers[0], rel=1e-9)


def test_wishes_that_exclude_each_other():
    report = plan_tests(TESTS, target_loss=0.01, attack_power=0.02)
    assert not report.feasible
    assert "The wishes exclude each other." in report.verdict
    assert "keep the tests, accept an attack power of" in report.verdict
    assert "keep the limit, " in report.verdict
    alone = plan_tests(TESTS, attack_power=0.1)
    assert alone.feasible
    assert [room.utility for room in alone.rooms] == [None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "target_loss or a limit"),
        ({"target_loss": 2}, "target_loss in"),
        ({"target_loss": 0.1, "correction": "holm"}, "correction"),
        ({"target_loss": 0.1, "true_share": 0}, "true_share"),
        ({"target_loss": 0.1, "families": ["laplce"]}, "'laplace'"),
        ({"attack_power": 0.1, "alpha0": 0}, "alpha0 above 0"),
        ({"attack_power": 0.1, "relative_risk": 2}, "one of"),
        ({"posterior": 0.1}, "no belief"),
        ({"relative_risk": math.nan}, "limit"),
    ],
)
def test_nonsense(options, message):
    with pytest.raises((InvalidInputError, InfeasibleError), match=message):
        plan_tests(TESTS, **options)
    with pytest.raises(InvalidInputError):
        plan_tests([], target_loss=0.1)


def test_files(tmp_path):
    path = tmp_path / "tests.yaml"
    path.write_text(
        "- {test: mean, effect: 0.2, n: 100, z: true}\n"
        "- {test: independence, effect: 0.3, n: 9, table: [[3, 1], [1, 3]]}\n",
        "utf-8",
    )
    first, second = read_test_file(path)
    assert first == {"test": "mean", "effect": "0.2", "n": "100", "z": "yes"}
    assert second["table"] == "3 1/1 3"
    path.write_text(json.dumps({"tests": [{"test": "mean", "n": 3}]}), "utf-8")
    assert read_test_file(path) == [{"test": "mean", "n": "3"}]
    for wrong in ("", "3", "[]", "{a: 1}", "- 3", "- {effect: 1}", "- [", "- {test: mean, n: [1]}",
                  "- {test: mean, n: null}", "!!python/object:os.system {}"):  # fmt: skip
        path.write_text(wrong, "utf-8")
        with pytest.raises(TableError, match="expected"):
            read_test_file(path)


def test_pages_and_pictures():
    report = plan_tests(TESTS, target_loss=0.05, attack_power=0.2)
    page = report.to_html()
    for text in ("Several tests", " asks for it.", "What is not protected", "share"):
        assert text in page
    assert "<script" not in page
    assert report.plot().to_dict()["hconcat"]
    region = report.regions[1]
    inside = [region.least <= x <= region.most for x in region.parameters]
    meets = [
        attack <= 0.2 and all(
            region.powers[t.name][i] >= report.bare.powers[j] - 0.05 for j, t in enumerate(TESTS)
        )
        for i, attack in enumerate(region.attacks)
    ]  # fmt: skip
    assert inside == meets


def test_parts_of_a_report_have_no_page_of_their_own():
    for part in (family_power(TESTS), utility_first(TESTS, "gaussian")):
        with pytest.raises(InvalidInputError, match="expected a result that has a page"):
            part.to_html()


def test_single_results_have_pages():
    for result in (
        sp.power(Z, 0.2, 100),
        sp.power(Z, 0.2, 100, protection=GaussianNoise(1)),
        sp.minimum_detectable_effect(Z, 100, protection=LaplaceNoise(1)),
        sp.sample_size(Z, 0.2),
    ):
        page = result.to_html()
        assert result.verdict in page.replace("&#39;", "'")
        assert "<script" not in page
        assert result.plot().to_dict()


@pytest.mark.parametrize("rule", ["absolute", "relative"])
def test_the_nearest_loss_can_be_asked_for(rule):
    """What is offered in place of the loss is rounded up, so that it is met when it is typed."""
    run = {"rule": rule, "attack_power": 0.02, "correction": "none"}
    report = plan_tests(TESTS, target_loss=0.001, **run)
    assert not report.feasible
    offers = [text for text in report.nearest if "keep the limit" in text]
    assert len(offers) == 2
    for text, family in zip(offers, ("laplace", "gaussian"), strict=True):
        loss = float(text.split("loss of ")[1].split(" ")[0])
        assert plan_tests(TESTS, target_loss=loss, families=[family], **run).feasible
        assert not plan_tests(TESTS, target_loss=0.98 * loss, families=[family], **run).feasible


def test_the_nearest_power_can_be_asked_for():
    run = {"rule": "power", "attack_power": 0.02, "families": ["gaussian"]}
    report = plan_tests(TESTS, target_loss=0.7, **run)
    (text,) = (text for text in report.nearest if "keep the limit" in text)
    power = float(text.split("accept power ")[1].split(" ")[0])
    assert plan_tests(TESTS, target_loss=power, **run).feasible


def test_progress_is_told_test_by_test():
    seen = []
    plan_tests(TESTS, target_loss=0.05, progress=lambda *step: seen.append(step))
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- test: mean\n  effect: 1\n  effect: 2\n", "'effect' occurs twice"),
        ('[{"test": "mean", "n": 1, "n": 1}]', "'n' occurs twice"),
        ('{"tests": [], "tests": []}', "'tests' occurs twice"),
        ("[]", "got an empty list"),
        ("", "got nothing"),
        ("- test: mean\n  effect: true\n", "'effect' of test 1 in .* number or a text, got True"),
        ("- {test: mean, ? [1] : 2}", "got: "),
    ],
)
def test_test_files_that_are_refused(tmp_path, text, told):
    path = tmp_path / "tests.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=told):
        read_test_file(path)


def test_redaction_plans_with_an_entry_twice_are_refused(tmp_path):
    from seepage.plan.redaction_files import _object

    path = tmp_path / "plan.json"
    path.write_text('{"format": "seepage.redaction", "format": "x"}', encoding="utf-8")
    with pytest.raises(TableError, match="'format' occurs twice"):
        _object(path)
