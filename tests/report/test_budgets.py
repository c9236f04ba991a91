"""Charts, pages and texts of calibrations and of total leakage."""

from __future__ import annotations

import html as escaping
import html.parser
import io
import json
import math
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from seepage import report
from seepage.errors import InvalidInputError
from seepage.leakage.model import LeakageModel
from seepage.plan.calibrate import CalibrationResult, calibrate
from seepage.plan.totals import TotalLeakage, prepare, total_leakage
from seepage.report import svg
from seepage.report.budget_words import binding, budget_rows, comparison, holding
from seepage.report.budgets_text import budgets_text
from seepage.report.layout import split_bar
from seepage.report.totals_text import totals_text

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def model() -> LeakageModel:
    """`a` and `b` say nearly the same, `c` a little about them, `alone` nothing."""
    rows = [
        ("xy"[i % 2], "pq"[i % 2 if i % 8 else 1], "uvw"[i % 3 if i % 5 else 0], "mn"[i // 24 % 2])
        for i in range(48)
    ]
    columns = dict(zip(("a", "b", "c", "alone"), map(list, zip(*rows, strict=True)), strict=True))
    return prepare(columns)


@pytest.fixture(scope="module")
def calibrated(model: LeakageModel) -> CalibrationResult:
    return calibrate(model, 2.0, maximum={"c": 0.3})


@pytest.fixture(scope="module")
def hostile() -> LeakageModel:
    names = [HOSTILE, '"x" & \u2028 <img src=x onerror=alert(1)>', "{0.__class__} %s {x}"]
    return prepare({name: [HOSTILE, "b", "b", "b\x1b[2J"] for name in names})


def results(model: LeakageModel) -> list[CalibrationResult | TotalLeakage]:
    """Every kind of result, at the limits too."""
    mixed = {name: math.inf if i == 0 else 1.0 for i, name in enumerate(model.domain.names)}
    return [
        calibrate(model, 2.0),
        calibrate(model, 0.0),
        calibrate(model, math.inf),
        calibrate(model, 2.0, method="pairwise", objective="sum"),
        calibrate(model, 2.0, method="group", objective="maxmin", minimum=0.1),
        calibrate(model, 2.0, objective="kway"),
        total_leakage(model, 1.0),
        total_leakage(model, 0.0),
        total_leakage(model, mixed),
        total_leakage(model, math.inf, method="pairwise"),
        total_leakage(model, 1.0, method="joint"),
        total_leakage(model, 1.0, method="group"),
    ]


def shown(result: CalibrationResult | TotalLeakage, width: int, *, color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="truecolor" if color else None,
        legacy_windows=False,
        _environ={},
    )
    text = budgets_text if isinstance(result, CalibrationResult) else totals_text
    console.print(text(result))
    return stream.getvalue()


class Tags(html.parser.HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))


# ---------------------------------------------------------------- words


def test_rows_are_sorted_and_noted(calibrated: CalibrationResult) -> None:
    rows = budget_rows(calibrated)
    assert [row.epsilon for row in rows] == sorted(calibrated.budgets.values(), reverse=True)
    notes = {row.name: row.note for row in rows}
    assert notes["c"] == "at maximum"
    assert notes[calibrated.binding] == "at target"
    assert {row.name for row in rows if row.at_target} == set(calibrated.active)


def test_binding_adds_up(calibrated: CalibrationResult) -> None:
    lines = binding(calibrated)
    assert len(lines) == len(calibrated.active)
    assert lines[0].startswith(repr(calibrated.binding))
    for line in lines:
        total, *terms = [float(x) for x in re.findall(r"(?<=[:=+] )\d+\.\d+", line)]
        assert sum(terms) == pytest.approx(total, abs=5e-4 * (len(terms) + 1))
        assert total == pytest.approx(2.0, abs=1e-3)


def test_comparison_says_the_ratio(model: LeakageModel) -> None:
    result = calibrate(model, 2.0)
    ratio = 100 * result.objective_value / result.uniform_value
    assert f"needs {ratio:.3g}% of the records" in comparison(result)
    total = calibrate(model, 2.0, objective="sum")
    assert f"{total.objective_value:.3f} nats, against 2.000" in comparison(total)
    smallest = calibrate(model, 2.0, objective="maxmin")
    assert f"{smallest.objective_value:.3f} nats, against 0.500" in comparison(smallest)


def test_comparison_at_the_limits(model: LeakageModel) -> None:
    assert "says nothing" in comparison(calibrate(model, 0.0))
    unbounded = calibrate(model, math.inf)
    assert "is that of splitting the target equally" in comparison(unbounded)
    assert binding(unbounded) == []
    assert holding(unbounded).startswith("Nothing")
    constant = calibrate({"a": ["x", "x"], "b": ["y", "y"]}, 1.0)
    assert "every column has one category" in comparison(constant)


# ---------------------------------------------------------------- terminal


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_fits_the_width(model: LeakageModel, hostile: LeakageModel, width: int) -> None:
    wide = prepare({f"a long name of a column {i} " * 4: ["x", "y", "y"] for i in range(12)})
    for source in (model, hostile, wide):
        for result in results(source) if source is model else [calibrate(source)]:
            for line in shown(result, width).splitlines():
                assert cell_len(line) <= width, line
    for line in shown(total_leakage(wide, 1.0), width).splitlines():
        assert cell_len(line) <= width, line


def test_text_holds_the_numbers(calibrated: CalibrationResult, model: LeakageModel) -> None:
    lines = shown(calibrated, 120).splitlines()
    assert " ".join(" ".join(lines).split()).startswith(calibrated.verdict)
    for name in calibrated.domain.names:
        line = next(x for x in lines if x.startswith(f"{name} ")).split()
        values = (
            calibrated.budgets[name],
            calibrated.uniform_budgets[name],
            calibrated.totals[name],
        )
        assert line[2:5] == [f"{value:.3f}" for value in values]
    total = total_leakage(model, 1.0)
    lines = shown(total, 120).splitlines()
    for name in total:
        line = next(x for x in lines if x.startswith(f"{name} ")).split()
        assert line[1:3] == ["1.000", f"{total[name]:.3f}"]


def test_text_says_what_it_rests_on(model: LeakageModel) -> None:
    for result in results(model):
        out = " ".join(shown(result, 100).replace("•", "").split())
        for sentence in result.assumptions:
            assert " ".join(sentence.split()) in out
        assert "nan" not in out.replace("nats", "")


def test_text_keeps_control_characters_out(hostile: LeakageModel) -> None:
    prepared = prepare({"a\x1b[2J": ["x", "y"], "[bold]b\u202e": ["x", "y"]})
    for result in (calibrate(prepared), total_leakage(prepared, 1.0), calibrate(hostile)):
        for color in (False, True):
            out = shown(result, 100, color=color)
            assert "\x1b[2J" not in out
            assert "\u202e" not in out
    assert "[bold]b\\u202e" in shown(calibrate(prepared), 100)


def test_split_bar() -> None:
    cases = [(1.0, 2.0, 4.0, "██░░    "), (0, 0, 4, " " * 8), (0, 0, 0, " " * 8)]
    cases += [
        (math.inf, math.inf, 1, "█" * 8),
        (1, math.inf, 1, "█" * 7 + "░"),
        (0, 1e-9, 1, "░       "),
    ]
    for own, total, largest, drawn in cases:
        assert split_bar(own, total, largest, 8).plain == drawn


# ---------------------------------------------------------------- pictures


def test_plots_and_pages_exist_for_every_result(model: LeakageModel) -> None:
    for result in results(model):
        json.dumps(result.plot().to_dict(), allow_nan=False)
        page = result.to_html()
        cells = re.findall(r"<t[dh][^>]*>([^<]*)", page)
        assert not {"nan", "inf", "None"} & {cell.strip() for cell in cells}
        assert not re.search(r'(?:width:|="-?)(?:nan|inf)', page)
        for sentence in (*result.assumptions, result.verdict, str(result.standing)):
            assert sentence in escaping.unescape(page)


def test_plot_holds_the_numbers(calibrated: CalibrationResult, model: LeakageModel) -> None:
    spec = calibrated.plot().to_dict()
    data = [row for rows in spec["datasets"].values() for row in rows]
    points = [row for row in data if "kind" in row]
    found = {(row["attribute"], row["kind"]): row["nats"] for row in points}
    for name in calibrated.domain.names:
        assert found[name, "Calibrated ε"] == calibrated.budgets[name]
        assert found[name, "ε when split equally"] == calibrated.uniform_budgets[name]
        assert found[name, "Total leakage"] == calibrated.totals[name]
    assert {"target": 2.0} in data
    assert "no bound" in str(calibrate(model, method="pairwise").plot().to_dict()["title"])
    datasets = report.chart(calibrated, "totals").to_dict()["datasets"].values()
    ends = {row["attribute"]: row["end"] for rows in datasets for row in rows if "total" in row}
    assert ends == pytest.approx(dict(calibrated.totals))


def test_unknown_kinds(calibrated: CalibrationResult) -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'budgets'"):
        report.chart(calibrated, "budget")
    with pytest.raises(InvalidInputError, match="Known: 'totals'"):
        report.chart(calibrated.totals, "bars")


def test_pictures_of_hostile_names(tmp_path, hostile: LeakageModel) -> None:
    for i, result in enumerate((calibrate(hostile), total_leakage(hostile, 1.0))):
        path = tmp_path / f"{i}.svg"
        report.save_chart(result.plot(), path)
        assert "<script" not in path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- page


def test_page_holds_the_numbers(calibrated: CalibrationResult) -> None:
    page = report.html(calibrated, date="2001-02-03")
    assert "2001-02-03" in page
    body = page[page.index('<table class="totals" id="budgets"') :]
    found = re.findall(r'<td class="number strong">([^<]*)</td>', body)
    assert found == [f"{row.epsilon:.4f}" for row in budget_rows(calibrated)]
    assert page.count("at target</td>") == len(calibrated.active)
    for words in (comparison(calibrated), holding(calibrated), *binding(calibrated)):
        assert words in escaping.unescape(page)


def test_pages_run_nothing_and_load_nothing(hostile: LeakageModel, model: LeakageModel) -> None:
    found = [result for source in (hostile, model) for result in results(source)]
    for result in found:
        page = result.to_html()
        tags = Tags(page).tags
        names = [tag for tag, _ in tags]
        assert not {"script", "link", "img", "iframe", "form", "base"} & set(names)
        for _, attributes in tags:
            assert not {"src", "href", "data"} & set(attributes)
            assert not [name for name in attributes if name.startswith("on")]
        assert names.count("svg") == 1
        policies = [a["content"] for _, a in tags if a.get("http-equiv")]
        assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_svg_puts_values_on_its_axis(calibrated: CalibrationResult) -> None:
    rows = budget_rows(calibrated)
    drawn = svg.budget_dots(rows, calibrated.target)
    circles = [float(x) for x in re.findall(r'<circle class="exact" cx="([^"]*)"', drawn)]
    room = svg.WIDTH - svg.RIGHT - svg.LABELS
    expected = [svg.LABELS + room * row.epsilon / calibrated.target for row in rows]
    assert circles == pytest.approx(expected, abs=0.06)
    assert drawn.count("at target") == len(calibrated.active)
    assert 'class="target"' not in svg.budget_dots(rows, math.inf)


@pytest.mark.parametrize(
    ("largest", "expected"),
    [
        (3.0, [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.0, [0]),
        (700.0, [0, 200, 400, 600]),
    ],
)
def test_ticks(largest: float, expected: list[float]) -> None:
    assert svg.ticks(largest) == pytest.approx(expected)


def test_ticks_are_few_at_every_size() -> None:
    for exponent in range(-30, 30):
        marks = svg.ticks(1.7 * 10.0**exponent)
        assert 3 <= len(marks) <= 8
        assert marks[-1] <= 1.7 * 10.0**exponent * (1 + 1e-9)
