"""The chart and the page of an audit of a randomiser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seepage import report
from seepage.attack.auditing import audit_mechanism
from seepage.errors import InvalidInputError


def leaky(values, rng):
    """Reports its input half of the time, and <b>."""
    kept = rng.random(len(values)) < 0.5
    return np.where(kept, values, "<b>")


@pytest.fixture(scope="module")
def audit():
    return audit_mechanism(
        leaky,
        list("abcdef"),
        epsilon=0.5,
        samples=4000,
        rng=1,
        vectorised=True,
        about="<i>leaky</i>",
    )


def test_page_shows_every_number_and_no_markup_of_the_data(audit):
    page = report.html(audit, date="2026-01-02")
    assert "refuted" in page
    assert "<i>leaky" not in page
    assert "&lt;i&gt;leaky" in page
    best = audit.best
    assert f"{best.hits_high:,}" in page
    assert "10 pairs with smaller limits are not shown" in page
    assert "<script" not in page


def test_chart_has_the_claim_and_the_largest_limits(audit):
    made = json.loads(audit.plot().to_json())
    tables = list(made["datasets"].values())
    bars = next(rows for rows in tables if "pair" in rows[0])
    largest = sorted((pair.lower for pair in audit.pairs), reverse=True)[:20]
    assert [row["lower"] for row in bars] == largest
    assert [{"lower": 0.5, "name": "claimed"}] in tables
    with pytest.raises(InvalidInputError, match="limits"):
        report.chart(audit, "curves")


def test_nothing_found_and_nothing_claimed():
    quiet = audit_mechanism(lambda value: 0, ["x", "y"], samples=200)
    assert "at least 0" in quiet.to_html().lower()
    assert len(json.loads(quiet.plot().to_json())["layer"]) == 1
