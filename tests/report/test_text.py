from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from seepage.plan.audit import audit
from seepage.plan.audit_result import AuditResult
from seepage.report.layout import bar, clip, nats, printable
from seepage.report.text import LEGEND, percent, text


def shown(result: AuditResult, width: int = 80, *, color: bool = False, **options: Any) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="truecolor" if color else None,
        legacy_windows=False,
        _environ={},
    )
    console.print(text(result, **options))
    return stream.getvalue()


@pytest.fixture(scope="module")
def small() -> AuditResult:
    return audit(
        {
            "sex": ["f", "f", "m", "m", "f", "m"],
            "smoker": ["no", "no", "no", "yes", "no", "yes"],
            "town": ["a", "b", "a", "b", "a", "a"],
        }
    )


def wide(d: int) -> AuditResult:
    return audit({f"attribute number {i}": [i % 2, (i // 2) % 2, 1, 0] for i in range(d)})


def test_starts_with_the_verdict(small: AuditResult) -> None:
    lines = shown(small, 200).splitlines()
    assert lines[0].strip() == small.verdict
    assert "6 records, 3 columns, 6 ordered pairs" in lines[1]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_fits_the_width(small: AuditResult, width: int) -> None:
    for result in (small, wide(14)):
        for line in shown(result, width).splitlines():
            assert cell_len(line) <= width, line


def test_numbers_are_those_of_the_result(small: AuditResult) -> None:
    out = shown(small, 120)
    for pair in small.pairs:
        line = next(x for x in out.splitlines() if f"{pair.secret} ← {pair.released} " in x)
        assert f" {pair.leakage.value:.3f} " in line
        assert f" {pair.triad_leakage.value:.3f}" in line
        assert f" {pair.grr_leakage.value:.3f}" in line
        assert f"{pair.pearson.value:+.2f}" in line
    for item in small.totals.values():
        assert f"{item.value:.3f}" in out
    for sentence in small.assumptions:
        assert " ".join(sentence.split()) in " ".join(out.replace("•", "").split())


def test_top(small: AuditResult) -> None:
    assert shown(small, top=2).count("rather than") == 2
    assert "--top 6" in shown(small, top=2)
    assert "--top" not in shown(small, top=6)
    assert "rather than" not in shown(small, top=0)
    assert "Next" not in shown(small, hints=False)


def test_heatmap(small: AuditResult) -> None:
    out = shown(small)
    row = next(line for line in out.splitlines() if line.startswith("  1 sex"))
    expected = [percent(small.pair("sex", name).leakage.value) for name in ("smoker", "town")]
    assert row.split() == ["1", "sex", "\\", *expected]
    assert "21 columns: see --html" in shown(wide(21))
    assert "too wide" in shown(wide(18), 80)
    assert "too wide" not in shown(wide(18), 140)


def test_no_color_without_a_terminal(small: AuditResult) -> None:
    assert "\x1b" not in shown(small)
    assert "\x1b[" in shown(small, color=True)


def test_markup_and_control_characters_print_literally() -> None:
    nasty = ["[red]x[/red]", "\x1b[2Jboo", "a\nb", "\u202eltr", ":smile:", "[/]", "漢字" * 30]
    result = audit({"[bold]a": nasty, "b\r": nasty[::-1]})
    for color in (False, True):
        out = shown(result, 140, color=color, top=10)
        assert "[bold]a" in out
        assert "b\\r" in out
        assert ":smile:" in out or "[red]x[/red]" in out
        for bad in ("\x1b[2J", "\u202e", "\r"):
            assert bad not in out
    for line in shown(result, 80).splitlines():
        assert cell_len(line) <= 80


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 700.0, math.inf])
def test_every_budget(epsilon: float) -> None:
    table = {"a": ["x", "y", "x", "y"], "b": ["p", "q", "p", "p"], "c": ["1", "1", "1", "1"]}
    out = shown(audit(table, epsilon=epsilon))
    assert "nan" not in out.lower()
    assert "a ← b" in out
    mixed = shown(audit(table, epsilon={"a": math.inf, "b": epsilon, "c": 2.0}))
    assert "nan" not in mixed.lower()


def test_long_names_are_shortened() -> None:
    name = "a name much longer than any terminal can show in one line " * 3
    out = shown(audit({name: ["x" * 300, "y" * 300], "b": ["1", "2"]}))
    assert "…" in out
    assert all(cell_len(line) <= 80 for line in out.splitlines()[4:])


def test_nats() -> None:
    shown_as = [(0.0, "0.000"), (1e-9, "<0.001"), (0.71801, "0.718"), (700, "700"), (math.inf, "∞")]
    for value, expected in shown_as:
        assert nats(value) == expected
    assert nats(12345.678) == "1.235e+04"


def test_percent() -> None:
    cases = [
        (0, "·"),
        (1e-12, "·"),
        (0.001, "<1"),
        (0.01, "1"),
        (0.994, "99"),
        (0.999, ">99"),
        (1, "100"),
    ]
    for share, expected in cases:
        assert percent(share) == expected


@given(st.floats(0, 1), st.integers(1, 30))
def test_bar(share: float, cells: int) -> None:
    drawn = bar(share, cells)
    assert len(drawn) == cells
    assert (drawn.strip() == "") == (share == 0)
    assert (drawn == "█" * cells) == (round(share * cells * 8) == cells * 8)


@given(st.text(), st.integers(1, 40))
def test_clip_and_printable(label: str, width: int) -> None:
    safe = printable(label)
    assert safe.isprintable()
    assert cell_len(clip(safe, width).plain) == width
    assert printable(safe) == safe


def unwrapped(report: str) -> str:
    return " ".join(report.split())


def sampled() -> AuditResult:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 300)
    return audit({"a": a, "b": np.where(rng.random(300) < 0.8, a, 1 - a)})


@pytest.mark.parametrize("width", [60, 80, 95, 96, 140])
def test_the_legend_explains_the_columns_that_are_shown_in_full(width: int) -> None:
    report = shown(sampled(), width)
    heading = next(line for line in report.splitlines() if "% of ε" in line)
    for name, what in LEGEND.items():
        columns = {"limits": "95 % limits", "MI, r": " MI "}
        displayed = columns.get(name, name) in heading
        assert (f"{name} {what}" in unwrapped(report)) == displayed, name
    assert all(cell_len(line) <= width for line in report.splitlines())


def test_the_legend_without_limits(small: AuditResult) -> None:
    weighted = shown(audit({"a": [0, 0, 1], "b": [0, 1, 1], "w": [1, 2, 3]}, weights="w"))
    assert "limits" not in unwrapped(weighted).split("Assumptions")[0]
    assert f"MI, r {LEGEND['MI, r']}" in unwrapped(weighted)
