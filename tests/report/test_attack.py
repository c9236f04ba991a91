"""Text, charts and pages of attacks."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console

from seepage import report
from seepage.collect.designs import independent
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.plan.attacking import attack_plan
from seepage.report import attack_charts, attack_svg
from seepage.report.attack_text import attack_text
from seepage.report.attack_words import percent, points
from seepage.results import Interval

EVIL = "<script>alert(1)</script>\x07"
DOMAIN = Domain.of({EVIL: ["no", "yes"], "a": [1, 2, 3], "b": [1, 2]})
JOINT = np.random.default_rng(1).dirichlet(np.full(12, 0.4)).reshape(2, 3, 2)


def attacked(**options):
    arguments = {"joint": JOINT, "draw": "model", "max_records": 500} | options
    return attack_plan(None, independent(DOMAIN, 2.0), EVIL, ("bayes", "tree"), **arguments)


@pytest.fixture(scope="module")
def plain():
    return attacked()


@pytest.fixture(scope="module")
def swept():
    return attacked(epsilons=[0.0, 1.0, 4.0, np.inf])


def printed(text, width):
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(text)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_fits_and_escapes(swept, width):
    text = printed(attack_text(swept), width)
    assert "\x07" not in text
    assert "\\x07" in text
    assert percent(swept.main.attacker("bayes").score.accuracy.estimate) in text
    assert "Against ε" in text
    if width >= 80:
        assert max(map(len, text.splitlines())) <= width


def test_text_names_what_is_above_the_bound(plain):
    score = plain.main.attackers[1].score
    bounds = tuple(dataclasses.replace(b, accuracy=0.1) for b in plain.main.bounds)
    main = dataclasses.replace(plain.main, bounds=bounds)
    broken = dataclasses.replace(plain, main=main)
    assert score.accuracy.lower > 0.1
    assert broken.exceeding == ("bayes", "tree")
    assert "significantly above the bound" in broken.verdict
    assert "above the bound" in printed(attack_text(broken), 120)


def _values(spec):
    """All rows of data in a chart, wherever they are."""
    found = list(spec.get("datasets", {}).values())
    stack = [spec]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += item.values()
            data = item.get("data", {}).get("values") if "data" in item else None
            found += [data] if data else []
        elif isinstance(item, list):
            stack += item
    return [row for rows in found for row in rows]


@pytest.mark.parametrize("kind", ["accuracy", "balanced"])
def test_chart_of_a_sweep_holds_success_and_bound(swept, kind):
    rows = _values(report.chart(swept, kind).to_dict())
    table = {(row["epsilon"], row["attacker"]): row["value"] for row in rows if "epsilon" in row}
    for item in swept.sweep[:3]:  # the infinite one is in the table
        bayes = item.attacker("bayes").score
        value = bayes.accuracy.estimate if kind == "accuracy" else bayes.balanced_accuracy
        assert table[item.epsilon, "bayes"] == pytest.approx(value)
        bound = item.bound.accuracy if kind == "accuracy" else item.bound.balanced_accuracy
        assert table[item.epsilon, "no attacker can exceed"] == pytest.approx(bound)
    assert len(table) == 9
    floor = [row["value"] for row in rows if row.get("what") == "without reports"]
    expected = swept.baseline if kind == "accuracy" else swept.baseline_balanced
    assert floor == [pytest.approx(expected)]


@pytest.mark.parametrize("kind", ["accuracy", "balanced"])
def test_chart_of_one_plan(plain, kind, tmp_path):
    chart = report.chart(plain, kind)
    rows = _values(chart.to_dict())
    assert [row["attacker"] for row in rows if "attacker" in row] == ["prior", "bayes", "tree"]
    ends = {row["what"]: row["at"] for row in rows if "at" in row}
    assert set(ends) == {"without reports", "no attacker can exceed"}
    report.save_chart(chart, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_unknown_chart(plain):
    with pytest.raises(InvalidInputError, match="'accuracy'"):
        report.chart(plain, "accurcy")


def test_page_is_whole_and_safe(swept):
    page = report.html(swept, date="2026-01-01")
    assert "<script" not in page
    assert "\x07" not in page
    assert not re.search(r"https?://", page.replace("http://www.w3.org", ""))
    assert "script-src" not in page
    for text in ("Against ε", "What no attacker can exceed", "best possible", "Assumptions"):
        assert text in page
    assert percent(swept.main.bound.accuracy) in page
    assert page.count('<svg class="chart"') == 2
    assert "nan" not in page.lower().replace("financ", "")


def test_page_of_one_plan(plain):
    page = report.html(plain, date="2026-01-01")
    assert page.count('<svg class="chart"') == 1
    assert "Against ε" not in page


def test_shares_in_words():
    assert [percent(x) for x in (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0)] == [
        "0.0%", "<0.1%", "50.0%", ">99.9%", "100.0%",
    ]  # fmt: skip
    assert [points(x) for x in (0.0, -1e-9, 0.123, -0.05)] == ["0.0", "0.0", "+12.3", "−5.0"]


def test_labels_stand_beside_points_and_rules():
    """However near baseline and bound are, no rule passes through a percentage."""
    marks = (0.5, 0.55)
    for estimate in np.linspace(0.02, 0.98, 49).tolist():
        score = Interval(max(0.0, estimate - 0.01), estimate, min(1.0, estimate + 0.01), 0.95)
        x, anchor = attack_svg._beside(score, marks)
        low, high = (x - attack_svg.LABEL, x) if anchor == "end" else (x, x + attack_svg.LABEL)
        point = attack_svg._across(estimate)
        assert not low <= point <= high
        assert low >= attack_svg.LEFT
        if not 0.47 < estimate < 0.58:  # between the two rules there is no room
            assert not any(low <= attack_svg._across(mark) <= high for mark in marks)


def test_every_attacker_has_a_look_of_its_own():
    looks = list(attack_svg.LOOKS.values())
    assert len({*looks, "diagonal"}) == len(looks) + 1  # that one is the prior's
    assert len({colour for colour, _ in attack_charts.LOOKS.values()}) == len(attack_charts.LOOKS)


def test_why_there_is_no_best_possible(plain):
    unknown = dataclasses.replace(
        plain, main=dataclasses.replace(plain.main, best_possible=None)
    ).to_html()
    assert "too many reports to compute" in unknown
    assert "computed for the distribution" not in unknown
    assert "too many reports" not in report.html(plain, date="2026-01-01")
