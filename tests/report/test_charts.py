from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from seepage import report
from seepage.errors import InvalidInputError
from seepage.plan.audit import audit
from seepage.plan.audit_result import AuditResult
from seepage.report import charts, palette, wording


def rows_of(spec: dict) -> list[dict]:
    """All inline rows of a specification."""
    found = []
    if isinstance(spec, dict):
        if isinstance(spec.get("data"), dict):
            found += spec["data"].get("values", [])
        for rows in spec.get("datasets", {}).values():
            found += rows
        for value in spec.values():
            found += rows_of(value)
    elif isinstance(spec, list):
        for value in spec:
            found += rows_of(value)
    return found


def test_heatmap_holds_the_numbers_of_the_audit(ordinary: AuditResult) -> None:
    spec = report.chart(ordinary).to_dict()
    rows = {(row["secret"], row["released"]): row for row in rows_of(spec)}
    assert len(rows) == 20
    for pair in ordinary.pairs:
        row = rows[pair.secret, pair.released]
        assert row["value"] == pair.leakage.value
        assert row["strength"] == min(1.0, pair.leakage.value / pair.epsilon)
        assert row["written"] == f"{pair.leakage.value:.2f}"
    color = spec["layer"][0]["encoding"]["color"]["scale"]
    assert color["domain"] == [0, 1]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == list(ordinary.domain.names)


def test_cells_are_written_only_where_they_fit(ordinary: AuditResult, wide: AuditResult) -> None:
    def marks(result: AuditResult) -> list[str]:
        return [layer["mark"]["type"] for layer in charts.heatmap(result).to_dict()["layer"]]

    assert marks(ordinary) == ["rect", "text"]
    assert marks(wide) == ["rect"]


@pytest.mark.parametrize("log", [True, False])
def test_curves_are_the_exact_curve_the_triad_and_the_diagonal(
    ordinary: AuditResult, log: bool
) -> None:
    pair = ordinary.ranked[0]
    chart = report.chart(ordinary, "curves", pairs=[(pair.secret, pair.released)], log=log)
    rows = rows_of(chart.to_dict())
    for name, curve in (("Exact", pair.curve), ("Triad (upper)", pair.triad.tradeoff())):
        points = [(row["epsilon"], row["leakage"]) for row in rows if row["curve"] == name]
        epsilon, leakage = np.array(points).T
        assert epsilon[-1] == pytest.approx(10)
        np.testing.assert_array_equal(leakage, curve.leakage(epsilon))
    assert all(row["epsilon"] == row["leakage"] for row in rows if row["curve"] == "L = ε")


def test_worst_pairs_come_first(ordinary: AuditResult) -> None:
    panels = list(dict.fromkeys(r["pair"] for r in rows_of(charts.curves(ordinary).to_dict())))
    expected = [f"{i}. {p.released} → {p.secret}" for i, p in enumerate(ordinary.ranked[:6], 1)]
    assert panels == expected


def test_totals_add_up(ordinary: AuditResult) -> None:
    rows = rows_of(charts.totals(ordinary).to_dict())
    ends = {row["attribute"]: row["end"] for row in rows if "total" in row}
    assert ends == pytest.approx({name: f.value for name, f in ordinary.totals.items()})


@pytest.mark.parametrize("kind", charts.KINDS)
def test_limits_are_drawn_without_nan(
    kind: str, unbounded: AuditResult, independent: AuditResult
) -> None:
    for result in (unbounded, independent):
        json.dumps(report.chart(result, kind).to_dict(), allow_nan=False)
    cells = {(r["secret"], r["released"]): r for r in rows_of(charts.heatmap(unbounded).to_dict())}
    assert cells["a", "b"]["written"] == "∞"
    assert cells["a", "b"]["strength"] == 1
    assert 0 < cells["c", "a"]["strength"] <= 1
    assert {r["strength"] for r in rows_of(charts.heatmap(independent).to_dict())} == {0}


def test_mixed_budgets_say_what_the_colour_means() -> None:
    result = audit({"a": list("xxyy"), "b": list("uvvv")}, epsilon={"a": 1.0, "b": math.inf})
    assert "1 − exp(−leakage)" in report.chart(result).to_dict()["title"]["subtitle"]


def test_unknown_kind_and_result() -> None:
    result = audit({"a": list("xxyy"), "b": list("uvuv")})
    with pytest.raises(InvalidInputError, match="Did you mean 'heatmap'"):
        report.chart(result, "heatmpa")
    for function in (report.chart, report.html):
        with pytest.raises(InvalidInputError, match="got int"):
            function(3)


def test_files(tmp_path, independent: AuditResult) -> None:
    chart = report.chart(independent)
    signature = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF", ".json": b"{"}
    for ending, start in signature.items():
        path = tmp_path / f"chart{ending}"
        report.save_chart(chart, path)
        assert path.read_bytes().startswith(start)
    with pytest.raises(InvalidInputError, match="ending in"):
        report.save_chart(chart, tmp_path / "chart.gif")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"chart{e}" for e in signature)


@pytest.mark.parametrize("kind", charts.KINDS)
def test_hostile_labels_stay_text_in_pictures(tmp_path, hostile: AuditResult, kind: str) -> None:
    path = tmp_path / "chart.svg"
    report.save_chart(report.chart(hostile, kind), path)
    assert "<script" not in path.read_text(encoding="utf-8")


def test_hostile_labels_stay_text_in_a_chart_page(tmp_path, hostile: AuditResult) -> None:
    path = tmp_path / "chart.html"
    report.save_chart(report.chart(hostile), path)
    page = path.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "\\u003cscript>alert(1)" in page


UNDRAWABLE = ("\x1b[31m", "\x01", "\x00", "\x7f", "\x85", "\ufffe", "\uffff", "\ud800", "\u202e")


def test_no_text_ends_the_process(tmp_path) -> None:
    """The converter aborts on what XML 1.0 forbids, so this runs in a process of its own."""
    code = """
import sys
from pathlib import Path
import numpy as np
import seepage as sp
from seepage import report
marks = eval(sys.stdin.read())
domain = sp.Domain.of({f"a{i}{m}": [f"x{m}", "y"] for i, m in enumerate(marks)})
codes = [[(i >> j % 4) & 1 for j in range(len(marks))] for i in range(16)]
counts = sp.PairCounts.from_codes(domain, np.array(codes))
audit = sp.audit(counts)
calibration = sp.calibrate(counts, 2.0)
charts = [report.chart(audit, kind) for kind in ("heatmap", "curves", "totals")]
charts += [report.chart(calibration, kind) for kind in ("budgets", "totals")]
charts.append(charts[0].properties(title="my own \x01 title"))
for i, chart in enumerate(charts):
    for ending in ("svg", "png"):
        report.save_chart(chart, Path(sys.argv[1]) / f"{i}.{ending}")
for i, result in enumerate((audit, calibration, calibration.totals)):
    report.html(result).encode()
    result.to_html(Path(sys.argv[1]) / f"{i}.html")
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        input=repr(UNDRAWABLE), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.iterdir())) == 15
    forbidden = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\u202e]")
    for file in (*tmp_path.glob("*.svg"), *tmp_path.glob("*.html")):
        written = file.read_text(encoding="utf-8")
        assert not forbidden.search(written), file.name
        if file.suffix == ".svg":
            ElementTree.fromstring(written)
    assert r"a0\x1b[31m" in (tmp_path / "0.svg").read_text(encoding="utf-8")


def test_escaped_names_stay_apart() -> None:
    names = ["a\x1b", r"a\x1b", r"a\x1b′", "b"]
    shown = wording.drawable_names(names)
    assert list(map(shown.get, names)) == [r"a\x1b′′", r"a\x1b", r"a\x1b′", "b"]


def test_colours_are_ordered_by_lightness() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    shades = [luminance(colour) for colour in palette.ramp(33)]
    assert all(a > b for a, b in itertools.pairwise(shades))
    assert palette.oklch_to_hex(1, 0, 0) == "#ffffff"
    assert palette.oklch_to_hex(0, 0, 0) == "#000000"
    assert palette.oklch_to_hex(0.62796, 0.25768, 29.234) == "#ff0000"


def test_words() -> None:
    assert [wording.nats(x) for x in (0.0, 1e-9, 0.3769, math.inf, math.nan, -0.5)] == [
        "0",
        "<0.001",
        "0.377",
        "∞",
        "–",
        "−0.500",
    ]
    assert wording.strength(math.inf, math.inf) == 1
    assert wording.strength(0.5, 0) == 0
    assert wording.share(0.001, 1.0) == "<1 %"
    assert wording.label_list(list(range(14))).endswith("11 … and 2 more")
    assert len(wording.shorten("x" * 500)) == wording.MAX_LABEL_LENGTH
