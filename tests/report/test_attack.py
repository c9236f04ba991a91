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
from seepage.report.attack_text import attack_text
from seepage.report.attack_words import percent, points

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
