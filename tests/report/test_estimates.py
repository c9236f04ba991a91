"""Text, charts and pages of estimated tables."""

from __future__ import annotations

import io
import json
import math
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from seepage import report
from seepage.collect.designs import independent, sampled_views
from seepage.collect.estimates import AnyEstimates
from seepage.domain import Domain
from seepage.errors import InvalidInputError
from seepage.plan.estimating import adjust, estimate
from seepage.report.estimates_text import estimates_text
from seepage.report.estimates_words import percent, reach, short

HOSTILE = "</script><script>alert(1)</script>"
ORDINARY = Domain.of({"a": ["x", "y"], "b": [1, "1", True], "c": list(range(4)), "d": ["only"]})


def made(domain: Domain, marginals: object, n: int = 300, epsilon: float = 1.0) -> AnyEstimates:
    plan = independent(domain, epsilon)
    rng = np.random.default_rng(0)
    return estimate(
        plan.randomize_codes(rng.integers(0, domain.shape, (n, len(domain))), rng=rng),
        plan,
        marginals,
    )


def hostile() -> Domain:
    names = [HOSTILE, '"x" & \u2028 <img src=x onerror=alert(1)>', "{0.__class__} %s {x}"]
    return Domain.of({name: [HOSTILE, "b", "b\x1b[2J", "\u202e"] for name in names})


def views() -> AnyEstimates:
    plan = sampled_views(ORDINARY, 1.0, 2)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, ORDINARY.shape, (400, 4))
    return estimate(plan.randomize_codes(codes, rng=rng), plan, 1)


RESULTS = [
    made(ORDINARY, 1),
    made(ORDINARY, 2),
    made(ORDINARY, 3),
    made(ORDINARY, [("a", "b")], n=1),
    made(ORDINARY, 2, epsilon=math.inf),
    adjust(made(ORDINARY, 2), ["simplex"]),
    adjust(made(ORDINARY, [("b", "c")]), ["clip"]),
    made(Domain.of({"wide": list(range(60)), "b": [0, 1]}), 2),
    views(),
]


def shown(result: AnyEstimates, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, _environ={}).print(estimates_text(result))
    return stream.getvalue()


@pytest.mark.parametrize("result", RESULTS, ids=range(len(RESULTS)))
@pytest.mark.parametrize("width", [60, 100, 200])
def test_text(result: AnyEstimates, width: int) -> None:
    text = shown(result, width)
    assert "nan" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    for title in ("Assumptions", "Next"):
        assert title in text


@pytest.mark.parametrize("result", RESULTS, ids=range(len(RESULTS)))
def test_page(result: AnyEstimates) -> None:
    page = report.html(result, date="2026-01-01")
    assert "2026-01-01" in page
    assert "script-src" not in page
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).lower()
    assert page.count('<h2 id="table-') == len(result.tables)
    assert result.to_html() == report.html(result)


@pytest.mark.parametrize("result", RESULTS, ids=range(len(RESULTS)))
def test_chart(result: AnyEstimates) -> None:
    spec = json.dumps(report.chart(result).to_dict())
    assert "NaN" not in spec
    assert "Estimated tables" in spec
    with pytest.raises(InvalidInputError, match="'tables'"):
        report.chart(result, "heat")


def test_hostile_labels(tmp_path) -> None:
    for marginals in (1, 2, 3):
        result = made(hostile(), marginals)
        page = report.html(result)
        assert HOSTILE not in page
        assert "<img" not in page
        assert "\x1b" not in page
        page.encode()
        text = shown(result, 100)
        assert "\x1b[2J" not in text
        report.save_chart(report.chart(result), tmp_path / f"{marginals}.svg")
        assert HOSTILE not in (tmp_path / f"{marginals}.svg").read_text("utf-8")


def test_single_tables() -> None:
    whole = made(ORDINARY, 2)
    for table in (whole.marginal("a", "c"), whole.marginal("b"), whole.marginal("c", "a")):
        for one in (table, table.project()):
            assert "Estimated shares of" in json.dumps(one.plot().to_dict())
            page = one.to_html()
            assert " × ".join(sorted(one.names)) in page
            assert page.count('<h2 id="table-') == 1


def test_many_tables_are_listed() -> None:
    wide = Domain.of({f"c{i:02}": [0, 1] for i in range(12)})
    result = made(wide, 2)
    text = shown(result, 100)
    assert "… and 36 more" in text
    page = report.html(result)
    assert page.count('<h2 id="table-') == 60
    assert "6 more tables" in page
    assert "The first 12 of 66 tables" in json.dumps(report.chart(result).to_dict())


def test_percent() -> None:
    assert percent(0.12345) == "12.35" or percent(0.12345) == "12.34"
    assert percent(-0.004) == "−0.40"
    assert percent(-0.0000001) == "0.00"
    assert percent(math.inf) == "∞"
    assert percent(-math.inf) == "−∞"


def test_noise_is_faint_and_counted() -> None:
    """200 records in 42 cells at ε = 1: next to nothing can be told from 0."""
    wide = Domain.of({"a": list(range(6)), "b": list(range(7))})
    result = made(wide, [("a", "b")], n=200)
    sentence = reach(result)
    assert re.match(r"[0-3] of 42 cells can be told from 0, allowing for their number", sentence)
    assert "too large on average" in sentence
    number = int(re.search(r"about ([\d,]+) records", sentence)[1].replace(",", ""))
    assert number > 10_000
    text = " ".join(shown(result, 100).split())
    assert sentence in text
    page = report.html(result)
    assert sentence in page
    assert "opacity:0.55" in page
    assert "faint: may be 0" in page


def test_the_needed_number_tells_typical_cells() -> None:
    """So many records, spread evenly: about half of all cells can be told from 0.

    The estimate of a typical cell is then as many adjusted standard errors as are needed, so each
    is told with a probability of one half; fixed seed, and far from the limits of the test.
    """
    wide = Domain.of({"a": list(range(3)), "b": list(range(4))})
    first = reach(made(wide, [("a", "b")], n=300, epsilon=1.0))
    number = int(re.search(r"about ([\d,]+) records", first)[1].replace(",", ""))
    again = made(wide, [("a", "b")], n=number, epsilon=1.0)
    clear = int(re.match(r"(\d+) of 12 cells", reach(again))[1])
    assert 2 <= clear <= 10


def test_everything_is_clear_without_noise() -> None:
    result = made(Domain.of({"a": [0, 1], "b": [0, 1]}), 2, epsilon=math.inf)
    assert reach(result) == "4 of 4 cells can be told from 0, allowing for their number."
    only = made(Domain.of({"a": ["x"]}), 1, epsilon=math.inf)
    assert reach(only) == "The one cell can be told from 0."


def test_intervals_are_short_in_pictures() -> None:
    assert short("[34972.6, 49863.2)") == "[34973, 49863)"
    assert short("[0.123456, 1.5]") == "[0.123, 1.5]"
    assert short("(-inf, 12.0)") == "(-inf, 12.0)"
    assert short("room 1234.5678") == "room 1234.5678"
    assert short(34972.61) == "34972.61"
