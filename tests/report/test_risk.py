"""Risk cards, comparisons, choices and power: pages, pictures, charts and texts."""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ET

import pytest
from rich.cells import cell_len
from rich.console import Console

import seepage as sp
from seepage import report
from seepage.errors import InvalidInputError
from seepage.plan.risking import Mechanism, compare_risks, risk_card
from seepage.report.card_svg import card_picture, card_svg, number, wrapped
from seepage.report.people import hundred
from seepage.report.risk_text import risk_text
from seepage.risk.designs import OneSampleMean, Values
from seepage.risk.protections import GaussianNoise

HOSTILE = "</script><script>alert(1)</script> & \x1b[2J \u202e"
Z = OneSampleMean(Values(0.25, 0, 1), known_sd=True)
INF = math.inf


def paper_test():
    return sp.power(Z, 0.2, 15, 0.01, alternative="larger", protection=GaussianNoise(1.0))


def cards():
    extremes = [
        Mechanism(family, value, n=1, delta=delta)
        for family in ("laplace", "gaussian", "uniform_sampling", "approximate_dp")
        for value in (0.0, 1e-9, 50.0, INF)
        for delta in ((0.0, 1.0) if family == "approximate_dp" else (0.0,))
    ]
    return [
        risk_card(Mechanism("gaussian", 1.0), tests=[paper_test()]),
        *(risk_card(x, prior=[0.0, 0.3, 1.0, 1e-9], alpha0=0.0) for x in extremes),
        risk_card(sp.TradeOff.gaussian(1.0), name=HOSTILE),
    ]


def every_kind():
    return [
        compare_risks([Mechanism("gaussian", 1.0), Mechanism("laplace", 1.0)]),
        compare_risks([Mechanism("uniform_sampling", INF, n=1)], alpha0=0.0),
        sp.disclosure(sp.TradeOff.laplace(0.0), name=HOSTILE),
        sp.choose(relative_risk=3.0),
        sp.choose(near_certainty=True, posterior=0.5, prior=0.1, alpha0=0.05, k=[2, 5]),
        sp.plan_test(Z, effect=0.2, n=15, protection=GaussianNoise(1.0)),
        sp.plan_test(Z, effect=0.2, n=40, target_loss=0.05, attack_power=0.1),
        sp.plan_test(Z, effect=0.2, n=15, target_loss=0.0, relative_risk=1.0),
        sp.plan_test(Z, effect=0.2),
    ]


KINDS = every_kind()
CARDS = cards()


@pytest.mark.parametrize(
    "result", [*KINDS[1:7:2], KINDS[2], *CARDS], ids=lambda x: type(x).__name__
)
def test_pages_are_whole_and_alone(result):
    page = result.to_html()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", page)
    assert "\x1b" not in page
    assert "NaN" not in page
    assert "None" not in page
    titles = re.findall(r"<h2[^>]*>([^<]+)<", page)
    assert "What is assumed" in titles
    assert "What is not protected" in titles
    assert "seepage audit TABLE" in page


def test_card_answers_the_three_questions():
    card = CARDS[0]
    page = card.to_html()
    for title in (
        "What can happen to a person in the data",
        "What an attacker gains",
        "How likely",
        "Compared with what",
        "What the analyst keeps",
    ):
        assert title in page
        assert title in card_svg(card)
    for statement in (*card.events, *card.beliefs, *card.chances):
        assert statement.text in page
    assert "after: at most 8.54" in page
    assert "before: 10 of 100" in page
    assert "found in about 43.2 of 100 studies" in page


def marked(parts: str) -> float:
    """How many people a picture marks, counted from its outlines."""
    whole = sum(d.count("a2.1") for d in re.findall(r'<path class="hit" d="([^"]*)"', parts))
    part = re.findall(r'<rect x="[^"]*" y="[^"]*" width="([\d.]+)"', parts)
    return whole + sum(float(width) / 6.8 for width in part)


@pytest.mark.parametrize("count", [0.0, 0.3, 1.0, 8.54, 50.0, 90.3, 99.5, 100.0])
def test_hundred_people(count):
    parts = str(hundred(count, 0, 0, "x"))
    assert marked(parts) == pytest.approx(count, abs=0.01)
    others = re.findall(r'<path class="person" d="([^"]*)"', parts)[0].count("a2.1")
    assert others == 100 - math.floor(count)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.disclosure.name[:20])
def test_card_as_a_picture(card):
    root = ET.fromstring(card_svg(card))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    texts = root.findall(".//{*}text")
    for text in texts:
        # By a mean width of letters; the browser's own measure is looked at by eye.
        size = float(re.findall(r"font-size:(\d+)", text.attrib.get("style", ""))[0]) if (
            "style" in text.attrib
        ) else 12.0  # fmt: skip
        x = float(text.attrib["x"])
        long = len(text.text or "") * size * 0.5
        end = x if text.attrib.get("text-anchor") == "end" else x + long
        assert end <= width + 20, text.text
        assert 0 < float(text.attrib["y"]) < height
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    said = " ".join(text.text or "" for text in texts)
    for statement in (*card.events, *card.chances):
        assert statement.text in said


def test_formats_of_the_card():
    assert card_picture(CARDS[0], ".png").startswith(b"\x89PNG")
    assert card_picture(CARDS[0], ".svg").startswith(b"<svg")


def test_words_of_numbers():
    assert [number(x) for x in (0.0, 8.54, 100.0, INF, 1e-9)] == [
        "0",
        "8.54",
        "100",
        "∞",
        "1·10^-9",
    ]
    assert wrapped("a " * 60, 20)[0] == "a a a a a a a a a a"


def test_chart_of_beliefs_shows_the_safe_numbers():
    spec = report.chart(KINDS[0]).to_dict()
    text = str(spec)
    for told in ("8.54", "50.7", "90.3", "2.68", "23.2", "73.2"):
        assert f"'told': '{told}'" in text
    curves = report.chart(KINDS[0], "curves").to_dict()
    assert "false-alarm rate" in str(curves)


@pytest.mark.parametrize("result", [*KINDS, *CARDS[:3]], ids=lambda x: type(x).__name__)
def test_every_result_has_a_chart(result):
    assert "NaN" not in str(result.plot().to_dict())


def test_charts_can_be_written(tmp_path):
    for i, result in enumerate((KINDS[2], KINDS[8])):
        report.save_chart(result.plot(), tmp_path / f"chart{i}.svg")
        assert (tmp_path / f"chart{i}.svg").stat().st_size > 1000


def test_region_is_shaded_only_where_there_is_room():
    room, none = (str(report.chart(x).to_dict()) for x in (KINDS[6], KINDS[7]))
    assert "'type': 'rect'" in room
    assert "'type': 'rect'" not in none


@pytest.mark.parametrize("kind", ["pie", "", None])
def test_unknown_kinds(kind):
    for result in (KINDS[0], KINDS[3], KINDS[5]):
        with pytest.raises(InvalidInputError, match="kind of chart"):
            report.chart(result, kind)


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize(
    "result",
    [x for x in (*KINDS, *CARDS[:4]) if not isinstance(x, sp.Disclosure)],
    ids=lambda x: type(x).__name__,
)
def test_texts_fit(result, width):
    stream = io.StringIO()
    console = Console(file=stream, width=max(width, 60), legacy_windows=False, _environ={})
    console.print(risk_text(result, width))
    lines = stream.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= max(width, 60)
    assert "\x1b" not in stream.getvalue()
    assert any(line.startswith("Assumptions") for line in lines)
