"""Text, chart and page of a collection plan."""

from __future__ import annotations

import io
import math

import pytest
from rich.cells import cell_len
from rich.console import Console

from seepage import report
from seepage.collect.collection import CollectionPlan
from seepage.collect.designs import fake_data, independent, sampled_views
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.report.collection_text import plan_text

HOSTILE = "</script><script>alert(1)</script>"
DOMAIN = Domain.of({"a": ["x", "y"], "b": [1, 2, 3], "c": [True, False]})
HOSTILE_DOMAIN = Domain.of({HOSTILE: [HOSTILE, "[bold]"], "[red]\x1b[2J": ["\u202e", "b"]})
PLANS = {
    "independent": independent(DOMAIN, {"a": 0.0, "b": math.inf, "c": 1e-6}),
    "group": independent(DOMAIN, 1.0, "oue", groups=[["a", "b"]]),
    "views": sampled_views(DOMAIN, 1.0, 2),
    "fake": fake_data(DOMAIN, 1.0),
    "hostile": independent(HOSTILE_DOMAIN, 0.5, groups=[HOSTILE_DOMAIN.names]),
    "wide": independent(Domain.of({f"a long name, number {i}": [1, 2] for i in range(80)}), 0.1),
}


def shown(plan: CollectionPlan, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(plan_text(plan, width, saved="p.json"))
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", PLANS)
def test_text(name: str, width: int) -> None:
    text = shown(PLANS[name], width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert " ".join(PLANS[name].verdict.split()[:6]) in " ".join(text.split())
    assert "\x1b" not in text
    assert "nan" not in text.lower()


@pytest.mark.parametrize("name", PLANS)
def test_page(name: str) -> None:
    page = PLANS[name].to_html()
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert PLANS[name].fingerprint in page
    assert "nan" not in page.lower().replace("nanos", "")


@pytest.mark.parametrize("name", PLANS)
def test_chart(name: str) -> None:
    spec = PLANS[name].plot().to_dict()
    assert "layer" in spec
    with pytest.raises(InvalidInputError, match="'totals'"):
        report.chart(PLANS[name], "heatmap")


def test_frame_and_verdict() -> None:
    frame = PLANS["group"].to_frame()
    assert frame["attribute"].to_list() == ["a", "b", "c"]
    assert frame["with"].to_list() == ["b", "a", ""]
    assert frame["epsilon"].to_list() == [2.0, 2.0, 1.0]
    assert PLANS["views"].to_frame()["views"].to_list() == [2, 2, 2]
    assert PLANS["independent"].verdict.startswith(
        "Not protected: reports can reveal the value of 'b'. 3 attributes are reported, each "
        "independently. The whole record has ε = ∞ (exact), no protection;"
    )
    assert "∞" in PLANS["independent"].verdict
    assert "3 views" in PLANS["views"].verdict
