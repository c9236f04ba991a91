from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.cli import _parse
from seepage.cli._run import one_line
from seepage.errors import InvalidInputError, TableError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("0", 0.0),
        (" .5 ", 0.5),
        ("1e-9", 1e-9),
        ("inf", math.inf),
        ("∞", math.inf),
        (3, 3.0),
    ],
)
def test_number(text: object, value: float) -> None:
    assert _parse.number(text, "x") == value


@pytest.mark.parametrize(
    "text", ["-1", "nan", "1e400", "-inf", "", "abc", "1,5", None, True, [1], "-∞"]
)
def test_number_refuses(text: object) -> None:
    with pytest.raises(InvalidInputError, match="expected --epsilon to be a number from 0 to inf"):
        _parse.number(text, "--epsilon")


@given(st.floats(min_value=0, allow_nan=False))
def test_number_round_trip(value: float) -> None:
    assert _parse.number(repr(value), "x") == value


def test_names() -> None:
    assert _parse.names(None, "--columns") is None
    assert _parse.names([], "--columns") is None
    assert _parse.names(["a, b", "c"], "--columns") == ["a", "b", "c"]
    assert _parse.names(['"a,b",c'], "--columns") == ["a,b", "c"]
    for bad in (["a,,b"], [""], ["a,"]):
        with pytest.raises(InvalidInputError, match="--columns"):
            _parse.names(bad, "--columns")


def test_assignments_split_at_the_last_equals_sign() -> None:
    assert _parse.assignments(["a=b=1", "c = 2"], "--x", "N=V") == {"a=b": "1", "c": "2"}
    for bad in ("a", "=1", "a=", " =1"):
        with pytest.raises(InvalidInputError, match="expected --x N=V, got"):
            _parse.assignments([bad], "--x", "N=V")
    with pytest.raises(InvalidInputError, match="one --x for column 'a', got '1' and '2'"):
        _parse.assignments(["a=1", "a=2"], "--x", "N=V")


def test_bins() -> None:
    read = _parse.bins(["age=5", "income=0,10,20.5,inf", "year=none"])
    assert read == {"age": 5, "income": (0.0, 10.0, 20.5, math.inf), "year": "none"}
    assert _parse.bins(None) == {}
    for bad in ("age=0", "age=-3", "age=x", "age=1.5", "age=1,b"):
        with pytest.raises(InvalidInputError, match="expected --bins NAME=5"):
            _parse.bins([bad])


def test_budgets(tmp_path: Path) -> None:
    file = tmp_path / "budgets.json"
    file.write_text('{"age": 0.5, "sex": "inf", "é": 1}', encoding="utf-8")
    assert _parse.budgets(["age=2"], file) == {"age": 2.0, "sex": math.inf, "é": 1.0}
    assert _parse.budgets(None, None) == {}
    with pytest.raises(InvalidInputError, match=r"budget of column 'age'.* got 'x'"):
        _parse.budgets(["age=x"], None)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"[1]", TableError, "got list"),
        (b"", TableError, "JSON object"),
        (b'{"a": 1', TableError, "JSON object"),
        (b"\xff\xfe", TableError, "JSON object"),
        (b'{"a": 1, "a": 2}', TableError, "one budget for column 'a'"),
        (b'{"a": -1}', InvalidInputError, "column 'a'.* got -1"),
        (b'{"a": NaN}', InvalidInputError, "column 'a'.* got nan"),
        (b'{"a": null}', InvalidInputError, "column 'a'.* got None"),
        (b'{"a": true}', InvalidInputError, "column 'a'.* got True"),
        (b"[" * 100_000, TableError, "JSON object"),
        (b'{"format": "seepage.audit", "budgets": {}}', TableError, "got 'seepage.audit'"),
        (b'{"format": "seepage.budgets", "version": 2}', TableError, "version 1 .* got 2"),
        (b'{"format": "seepage.budgets", "version": 1}', TableError, "'budgets' .* NoneType"),
        (
            b'{"format": "seepage.budgets", "version": 1, "budgets": {"a": -1}}',
            InvalidInputError,
            "column 'a'.* got -1",
        ),
    ],
)
def test_budget_file_errors(
    tmp_path: Path, content: bytes, error: type[Exception], message: str
) -> None:
    file = tmp_path / "budgets.json"
    file.write_bytes(content)
    with pytest.raises(error, match=message):
        _parse.budgets(None, file)


def test_calibrated_budgets(tmp_path: Path) -> None:
    file = tmp_path / "budgets.json"
    file.write_text(
        '{"format": "seepage.budgets", "version": 1, "target": 3, "budgets": {"a": 1, "b": "inf"}}',
        encoding="utf-8",
    )
    assert _parse.budgets(["a=2"], file) == {"a": 2.0, "b": math.inf}
    # A column may be called "format".
    file.write_text('{"format": 0.5, "version": 2}', encoding="utf-8")
    assert _parse.budgets(None, file) == {"format": 0.5, "version": 2.0}


def test_weights() -> None:
    assert _parse.weights(["a=2", "b=.5"]) == {"a": 2.0, "b": 0.5}
    assert _parse.weights(None) == {}
    for bad in ("a=0", "a=inf", "a=-1", "a=nan"):
        with pytest.raises(InvalidInputError, match="importance of column 'a'"):
            _parse.weights([bad])


def test_separator() -> None:
    assert _parse.separator(None) is None
    assert _parse.separator("tab") == _parse.separator("\\t") == _parse.separator("\t") == "\t"
    assert _parse.separator(";") == ";"
    for bad in ("", ", "):
        with pytest.raises(InvalidInputError, match="--separator"):
            _parse.separator(bad)


@given(st.text())
def test_one_line(text: str) -> None:
    assert one_line(text).isprintable()
