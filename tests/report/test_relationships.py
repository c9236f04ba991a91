"""Charts and pages of retentions and estimated relationships."""

from __future__ import annotations

import numpy as np
import pytest

from seepage import report
from seepage.collect.allocation import allocate
from seepage.collect.attenuation import percent
from seepage.collect.designs import independent
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.plan.relating import estimate_relationships, retention_table
from seepage.report import relationships_charts

SIZES = {"<i>a</i>": 3, "b": 2, "c\x00": 4}


@pytest.fixture(scope="module")
def table():
    both = {"one": 1.0, "best": allocate(SIZES, 4.0, objective="worst")}
    return retention_table(SIZES, both, orders=(2, 3))


@pytest.fixture(scope="module")
def estimates():
    domain = Domain.of({"a": [0, 1], "b": [0, 1, 2]})
    codes = np.random.default_rng(0).integers(0, 2, (500, 2))
    plan = independent(domain, {"a": 2.0, "b": 0.02})
    return estimate_relationships(
        plan.randomize_codes(codes, rng=1), kinds=("covariance", "correlation", "odds")
    )


@pytest.mark.parametrize("kind", ["", "heatmap", "bars"])
def test_charts_can_be_drawn(table, kind, tmp_path):
    report.save_chart(report.chart(table, kind), tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text("utf-8")
    assert "best" in drawn
    if kind != "bars":
        assert percent(table.retentions["one"]["<i>a</i>", "b"]) in drawn


def test_chart_of_estimates(estimates, tmp_path):
    report.save_chart(estimates.plot(), tmp_path / "chart.svg")
    assert "Corrected" in (tmp_path / "chart.svg").read_text("utf-8")


def test_pages_hold_no_markup_of_the_data(table, estimates):
    page = table.to_html()
    assert "<i>a</i>" not in page
    assert "&lt;i&gt;a&lt;/i&gt;" in page
    assert "\x00" not in page
    assert "<script" not in page
    assert "not a release" in estimates.to_html()


def test_unknown_kinds(table, estimates):
    with pytest.raises(InvalidInputError, match="Did you mean 'heatmap'"):
        report.chart(table, "heatmaps")
    with pytest.raises(InvalidInputError, match="order 2"):
        report.chart(retention_table([2, 2, 2], 1.0, orders=[3]), "heatmap")
    with pytest.raises(InvalidInputError, match="intervals"):
        report.chart(estimates, "bars")


def test_many_attributes():
    page = retention_table([2] * 40, 1.0).to_html()
    assert "… and 280 more" in page


def test_the_axis_of_correlations_ends_where_they_do():
    domain = Domain.of({"a": [0, 1], "b": [0, 1, 2]})
    codes = np.random.default_rng(0).integers(0, 2, (60, 2))
    found = estimate_relationships(independent(domain, 0.4).randomize_codes(codes, rng=5))
    spec = found.plot().to_dict()
    domains = {
        tuple(layer["encoding"]["x"]["scale"]["domain"])
        for layer in spec["layer"]
        if "scale" in layer["encoding"]["x"]
    }
    assert domains == {(-1.15, 1.15)}
    assert "cut off" in str(spec["title"])
    assert "−1, 0 and 1" in str(spec["title"])


def test_the_axis_of_others_holds_what_is_possible(estimates):
    covariances = [item for item in estimates.estimates if item.kind == "covariance"]
    low, high, marked = relationships_charts._axis(covariances)
    assert marked == [0]
    for item in covariances:
        assert low < item.uncorrected < high
        if item.is_possible:
            assert low < item.estimate < high
