"""Text, charts and pages of redactions."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from seepage import report
from seepage.errors import InvalidInputError
from seepage.plan.redacting import redact_table
from seepage.plan.redaction_comparison import compare_mechanisms
from seepage.report.redaction_svg import HEIGHT, LEFT, RIGHT, TOP, WIDTH, comparison_picture
from seepage.report.redaction_text import redaction_text
from seepage.report.redaction_words import estimate, positions, rounded, thinned, worst_case
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain
from seepage.sequence.uncertain import ChainSet

EVIL = "<script>alert(1)</script>\x07"
CHAIN = MarkovChain(np.array([[0.8, 0.2], [0.3, 0.7]]), states=("in", EVIL))


@pytest.fixture(scope="module")
def result():
    codes = CHAIN.simulate(60, rng=1)
    table = {"place": [CHAIN.states[c] for c in codes]}
    return redact_table(table, 1.0, protect=30, chain=CHAIN, rng=1)


@pytest.fixture(scope="module")
def comparison():
    return compare_mechanisms(
        MarkovChain.binary(0.01, 0.8), 10, 0, [0.5, 2], ["certified", "quilt", "published"]
    )


def printed(text, width):
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(text)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_fits_and_escapes(result, comparison, width):
    text = printed(redaction_text(result, comparison=comparison), width)
    assert "\x07" not in text
    assert "\\x07" in text
    assert f"{result.leakage:.6f}" in text
    assert "published leaks up to" in " ".join(text.lower().split())
    if width >= 80:
        assert max(map(len, text.splitlines())) <= width


def test_text_says_what_was_saved(result):
    text = printed(redaction_text(result, saved="plan.json", written="out.csv"), 100)
    assert "--plan plan.json" in text
    assert "--out redacted.csv" not in text


def test_charts_hold_the_plan(result):
    plan = result.plans[0]
    spec = report.chart(result).to_dict()
    table = {(v["position"], v["state"]): v["p"] for v in _values(spec) if "p" in v}
    first, last = plan.window
    for t in range(first, last + 1):
        assert table[t, "in"] == pytest.approx(plan.redact_probability[t, 0], abs=1e-9)
    assert table[first - 3, "in"] == 0
    assert report.chart(plan).to_dict() == spec
    influence = report.chart(result, "influence").to_dict()
    shown = [v["p"] for v in _values(influence) if "p" in v]
    assert max(shown) == pytest.approx(
        max(np.log(0.7 / 0.2), np.log(0.8 / 0.3)), rel=1e-9
    )  # at distance 1, by hand


def _values(spec):
    """All rows of data in a chart, wherever they are."""
    if isinstance(spec, list):
        return [row for part in spec for row in _values(part)]
    if not isinstance(spec, dict):
        return []
    named = [row for rows in spec.get("datasets", {}).values() for row in rows]
    if isinstance(spec.get("values"), list):
        named += [row for row in spec["values"] if isinstance(row, dict)]
    rest = (part for key, part in spec.items() if key not in {"datasets", "values"})
    return named + [row for part in rest for row in _values(part)]


def test_comparison_has_the_line_of_what_is_really_leaked(comparison):
    spec = report.chart(comparison).to_dict()
    name = "published, at what it leaks"
    real = sorted({v["epsilon"] for v in _values(spec) if v.get("mechanism") == name})
    assert real == pytest.approx([0.654546, 2.509670], abs=5e-7)


def test_charts_render(result, comparison, tmp_path):
    for number, drawn in enumerate(
        (report.chart(result), report.chart(result, "influence"), report.chart(comparison))
    ):
        report.save_chart(drawn, tmp_path / f"{number}.svg")
        assert "<svg" in (tmp_path / f"{number}.svg").read_text(encoding="utf-8")


def test_unknown_charts(result, comparison):
    with pytest.raises(InvalidInputError, match="'plans'"):
        report.chart(result, "plans")
    with pytest.raises(InvalidInputError, match="'plan'"):
        report.chart(comparison, "plan")
    for group in (1, -1, True):
        with pytest.raises(InvalidInputError, match="group"):
            report.chart(result, group=group)


def test_page_is_self_contained_and_escaped(result, comparison):
    page = report.html(result, comparison=comparison, date="2024-05-31")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"""(?:src|href)=["']?http""", page)
    assert "\x07" not in page
    assert "2024-05-31" in page
    assert f"{result.leakage:.6f}" in page
    assert page.count("<svg") == 3
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).lower()


def test_page_of_a_broken_promise():
    plan = redact.published(MarkovChain.binary(0.01, 0.8), 10, 0, 0.5)
    page = report.html(plan)
    assert "does not keep its promise" in page
    assert "0.654546" in page
    assert plan.to_html()[:15] == page[:15]


@pytest.mark.parametrize("epsilon", [0.0, np.inf])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_limits_can_be_drawn(epsilon, n):
    plan = redact.certified(MarkovChain.binary(0.2, 0.5), n, 0, epsilon)
    assert "<svg" in report.html(plan)
    for kind in ("plan", "influence"):
        report.chart(plan, kind).to_dict()


def test_long_windows_and_many_states():
    sticky = redact.data_independent(MarkovChain.binary(1e-4, 2e-4), 40_000, 20_000, 0.5)
    page = report.html(sticky)
    assert len(page) < 120_000
    k = 9
    many = MarkovChain(np.full((k, k), 1 / k) * 0.5 + 0.5 * np.eye(k))
    plan = redact.data_independent(many, 30, 10, 1.0)
    assert "<svg" in report.html(plan)
    report.chart(plan).to_dict()


def test_words():
    assert positions((1, 2, 3)) == "1, 2, 3"
    assert positions(tuple(range(9))) == "0, 1, 2, 3, … (9)"
    assert thinned(5, 9) == [0, 1, 2, 3, 4]
    assert thinned(1000, 10)[-1] == 999
    free = redact.data_independent(MarkovChain.binary(0.5, 0.5), 9, 4, 1.0)
    assert "Nothing that can be released" in worst_case(free)
    tied = redact.data_independent(MarkovChain.binary(0.2, 0.5), 9, 4, 1.0)
    assert worst_case(tied).startswith("Worst case: record")


def test_first_plan_of_several_is_named_and_a_fit_is_rounded(comparison):
    states = ["in", "out", "out", "in", "in", "in", "out", "in", "in", "out"] * 12
    table = {
        "who": [i for i in range(24) for _ in range(5)],
        "place": states,
        "opt_out": [int(t % 5 == (t // 5) % 3) for t in range(120)],
    }
    result = redact_table(
        table, 1.0, protect="opt_out", sequence_id="who", state="place", smoothing=0.5, apply=False
    )
    name = "For the first plan (5 records, record 0 protected)"
    text = printed(redaction_text(result, comparison=comparison), 120)
    assert text.count(name) == 2
    assert text.index("--chain chain.json") < text.index("--out redacted.csv")
    page = report.html(result, comparison=comparison)
    assert name in page
    assert "numbers of a fit to records of the table" in page
    assert "Plan 1 of 3: " in report.chart(result).to_json()
    for p, error in ((0.6391, 0.0234), (0.5, 0.5), (0.123456, 0.000321)):
        shown = estimate(p, error)
        assert shown in {"0.64 ± 0.02", "0.5 ± 0.5", "0.1235 ± 0.0003"}
    shown = estimate(*(float(x[0, 0]) for x in (result.known.transition,
                                                result.fitted.standard_errors)))  # fmt: skip
    assert shown in text
    assert shown in page


@pytest.mark.parametrize("epsilons", [[0.25, 0.5, 1, 2, 4], [0.5], [0.0], [50.0]])
def test_line_of_epsilon_has_slope_one(epsilons):
    chain = MarkovChain.binary(0.14, 0.32)
    compared = compare_mechanisms(chain, 60, 30, epsilons, ["certified", "quilt", "published"])
    drawn = str(comparison_picture(compared, "leakage"))
    (line,) = re.findall(r'class="now" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', drawn)
    x0, y0, x1, y1 = map(float, line)
    end, top = epsilons[-1] or 1.0, max(x for row in compared.leakages.values() for x in row) or 1.0
    assert (x0, y0) == (LEFT, TOP + HEIGHT)
    across, up = (x1 - x0) / (WIDTH - LEFT - RIGHT) * end, (y0 - y1) / HEIGHT * top
    assert across == pytest.approx(up, rel=2e-3, abs=2e-3 * top)  # coordinates have one decimal
    assert across == pytest.approx(min(end, top), rel=2e-3)
    for name in ("certified", "quilt", "published"):
        assert f"<title>{name}</title>" in drawn


def test_page_compares_all_that_the_text_does(result, comparison):
    page = report.html(result, comparison=comparison)
    for name in comparison.utilities:
        assert page.count(f"</span>{name}") == 1
    assert "path.quilt" in page


def test_worst_case_says_where_nothing_is_released():
    chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=("a", "b"))
    plan = redact.certified(chain, 12, 3, 1.0)
    (found,) = plan.leakages
    where = max(found.output)
    alone = worst_case(plan)
    assert f"record {where} is released as " in alone
    assert "and nothing is released before record 3; about record 3" in alone
    r = np.ones((3, 2))
    r[[0, 2], 0] = 0.01
    both = worst_case(redact.from_probabilities(chain, r, 1))
    assert both == "Worst case: no record is released; about record 1 it tells b from a."
    limits = ChainSet(chain, chain.transition - 0.05, chain.transition + 0.05)
    told = worst_case(redact.quilt(limits, 12, 3, 1.0))
    assert re.fullmatch(r"Worst case: about record 3 it tells \w from \w\.", told)


def test_chain_of_a_plan_from_a_fit_is_rounded():
    shown = [rounded(p) for p in (0.5, 0.6789, 0.9333, 0.0412, 0.99584, 1.0, 0.0, 1e-9)]
    assert shown == ["0.5", "0.7", "0.93", "0.04", "0.996", "1", "0", "0.000000001"]
    states = ["in", "out", "out", "in", "in", "in", "out", "in", "in", "out"] * 12
    made = redact_table({"place": states}, 1.0, protect=30, apply=False)
    again = redact_table({"place": states}, plan=made.plans, apply=False)
    exact = {f"{p:.4f}" for p in made.known.transition.ravel()}
    for text in (
        printed(redaction_text(again), 100),
        report.html(again),
        report.html(made.plans[0]),
    ):
        assert "of a fit, rounded" in text
        assert not any(number in text for number in exact)
    free = printed(redaction_text(redact_table(
        {"place": states}, 1.0, protect=30, chain=made.known, apply=False)), 100)  # fmt: skip
    assert all(number in free for number in exact)
