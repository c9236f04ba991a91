"""Coding, binning, missing values, weights, pooling and declared domains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.domain import MISSING_LABEL, OTHER_LABEL, Attribute, Domain, label_key
from seepage.errors import CapacityError, DomainError, InvalidInputError, TableError
from seepage.tables import load

VALUES = st.one_of(
    st.lists(
        st.one_of(st.none(), st.text("abAB é", min_size=1, max_size=3)), min_size=5, max_size=5
    ),
    st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), st.floats(-9, 9)), min_size=5, max_size=5),
)


def plain(value):
    """What a value is called after coding: whole floats are integers, −0 is 0."""
    if value is None:
        return MISSING_LABEL
    return value + 0.0 if isinstance(value, float) else value


@given(st.dictionaries(st.sampled_from("pqrs"), VALUES, min_size=1))
def test_codes_decode_to_the_values(columns):
    table = load(columns, bins=dict.fromkeys(columns, "none"))
    assert table.codes.shape == (5, len(columns))
    for i, (name, values) in enumerate(columns.items()):
        categories = table.domain[name].categories
        assert [categories[code] for code in table.codes[:, i]] == [plain(v) for v in values]
        present = [c for c in categories if c != MISSING_LABEL]
        assert present == sorted(present)
        assert set(np.unique(table.codes[:, i])) == set(range(len(categories)))


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(["x", "y", "z", None]), min_size=1, max_size=30),
    st.data(),
)
def test_counts_equal_crosstab(first, data):
    n = len(first)
    second = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    weights[0] = 1
    frame = pd.DataFrame({"a": first, "b": second, "w": weights})
    table = load(frame, weights="w")
    named = frame["a"].astype(object).where(frame["a"].notna(), MISSING_LABEL)
    expected = pd.crosstab(named, frame["b"], values=frame["w"], aggfunc="sum").fillna(0)
    attributes = table.domain
    expected = expected.loc[list(attributes["a"].categories), list(attributes["b"].categories)]
    assert table.domain.names == ("a", "b")
    assert np.array_equal(table.counts().table("a", "b"), expected.to_numpy())
    assert table.counts().total == sum(weights)


@given(VALUES, VALUES)
def test_a_domain_read_from_a_table_codes_it_the_same_way(first, second):
    columns = {"a": first, "b": second}
    read = load(columns)
    declared = load(columns, domain=read.domain)
    assert declared.domain == read.domain
    assert np.array_equal(declared.codes, read.codes)
    assert not any("read from the table" in note for note in declared.notes)


def test_which_numbers_are_binned():
    frame = {
        "few": list(range(20)) * 2,
        "many": list(range(40)),
        "real": np.linspace(0, 1, 40),
        "constant": [2.5] * 40,
        "whole": [float(i % 3) for i in range(40)],
    }
    table = load(frame)
    assert table.domain["few"].categories == tuple(range(20))
    assert table.domain["many"].edges == tuple(float(f"{3.9 * i:.1f}") for i in range(11))
    assert table.domain["real"].categories[0] == "[0, 0.1)"
    assert table.domain["constant"].categories == (2.5,)
    assert table.domain["whole"].categories == (0, 1, 2)
    assert "Binned into 10 intervals of equal width: 'many', 'real'." in table.notes
    assert load(frame, n_bins=20).domain["many"].edges is None
    counts, _ = np.histogram(frame["real"], 10)
    assert table.counts().single("real").values.tolist() == counts.tolist()


def test_bins_by_column():
    frame = {"a": list(range(40)), "b": list(range(40)), "c": list(range(40)), "d": ["x"] * 40}
    table = load(frame, bins={"a": [0, 10, float("inf")], "b": 4, "c": "none"}, binning="quantile")
    assert table.domain["a"].categories == ("[0, 10)", "[10, inf]")
    assert table.counts().single("b").values.tolist() == [10] * 4
    assert table.domain["c"].categories == tuple(range(40))
    arrays = {"a": np.array([0, 10, np.inf]), "b": np.int64(4), "c": "none"}
    assert load(frame, bins=arrays, binning="quantile").domain == table.domain
    with pytest.raises(DomainError, match=r"numbers from 5 to 9 in column 'a', got 0 in 1 record"):
        load(frame, bins={"a": [5, 9]})
    for bad in ([1], [2, 1], "some", [1, "x"], 0, True, 2.5, [0, float("nan")]):
        with pytest.raises(InvalidInputError, match="'a'"):
            load(frame, bins={"a": bad})
    with pytest.raises(InvalidInputError, match="numeric column to bin, got 'd'"):
        load(frame, bins={"d": 3})
    with pytest.raises(TableError, match=r"bins to name a column.*Did you mean"):
        load({"abcd": [1]}, bins={"abce": 3})


def test_infinite_numbers_need_edges():
    frame = {"a": [1.5, float("inf"), 2.5], "b": [1, 2, 3]}
    with pytest.raises(DomainError, match=r"finite numbers in column 'a', got inf in 1 record\."):
        load(frame)
    with pytest.raises(DomainError, match="finite numbers in column 'a'"):
        load(frame, bins={"a": "none"})
    table = load(frame, bins={"a": [0, 2, float("inf")]})
    assert table.codes[:, 0].tolist() == [0, 1, 1]


def test_missing_values():
    frame = {"a": ["x", "", None, "?"], "b": [1.5, float("nan"), 2.5, -9]}
    table = load(frame, null_values=["?", -9], bins={"b": "none"})
    assert table.domain["a"].categories == ("x", MISSING_LABEL)
    assert table.domain["b"].categories == (1.5, 2.5, MISSING_LABEL)
    assert "own in 'a' (3), 'b' (2)." in table.notes[0]
    assert load(frame, null_values="?").domain["a"].size == 2
    with pytest.raises(TableError, match=r"column 'a', got 2 .*'a' \(2\), 'b' \(1\)"):
        load(frame, missing="error")
    dropped = load(frame, missing="drop", bins={"b": "none"})
    assert dropped.domain["a"].categories == ("?", "x")
    assert dropped.size == 2
    assert "2 of 4 records were dropped for missing values in 'a' (2), 'b' (1)." in dropped.notes
    with pytest.raises(TableError, match="got none after dropping"):
        load({"a": [None, "x"], "b": ["x", None]}, missing="drop")
    assert any("no value at all" in note for note in load({"a": [None], "b": [1]}).notes)


def test_texts_that_look_missing_are_reported():
    notes = load({"a": ["x", "NA", "NA"], "b": ["1", "2", "N"]}).notes
    assert any("'NA' often means missing" in n and "'a' (2)" in n for n in notes)
    assert any("'N' often means missing" in n and "'b' (1)" in n for n in notes)
    assert not any("often" in n for n in load({"a": ["1", "2", "more"]}).notes)
    assert not any("often" in n for n in load({"a": ["x", "NA"]}, null_values=["NA"]).notes)


def test_numbers_that_mean_missing_in_text_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,-99999.0\n2,3.0\n")
    assert load(path, null_values=[-99999]).domain["b"].categories == (3, MISSING_LABEL)
    assert load(path, null_values=["-99999"]).domain["b"].categories == (3, MISSING_LABEL)


def test_weights():
    frame = {"a": ["x", "y", "y"], "w": [2, 0, 3.0]}
    table = load(frame, weights="w")
    assert table.domain.names == ("a",)
    assert table.weights.tolist() == [2, 0, 3]
    assert table.counts().total == 5
    dropped = load({"a": ["x", None], "w": [2, 5]}, weights="w", missing="drop")
    assert dropped.weights.tolist() == [2]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "'w' to be integers, zero or more, got -1 in record 2"),
        ([1, 0.5], r"got 0\.5 in record 2"),
        ([1, float("nan")], "got nan in record 2"),
        ([1, None], "got None in record 2"),
        ([1, float("inf")], "got inf in record 2"),
        (["1", "x"], "got '1' in record 1"),
        ([True, False], "got True in record 1"),
        ([0, 0], "positive weight in column 'w'"),
        ([1e300, 1.0], "in record 1"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(TableError, match=message):
        load({"a": ["x", "y"], "w": weights}, weights="w")


def test_weights_in_text_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,w\nx, 3\ny,4.0\n")
    assert load(path, weights="w").weights.tolist() == [3, 4]
    path.write_text("a,w\nx,3\ny,four\n")
    with pytest.raises(TableError, match="got 'four' in record 2"):
        load(path, weights="w")
    path.write_text("a,w\nx,3\ny,\n")
    with pytest.raises(TableError, match="got '' in record 2"):
        load(path, weights="w")


def test_choice_of_columns():
    frame = pl.DataFrame({"alpha": [1], "beta": [2], "gamma": [3]})
    assert load(frame, columns=["gamma", "alpha"]).domain.names == ("gamma", "alpha")
    assert load(frame, exclude="beta").domain.names == ("alpha", "gamma")
    assert load(frame, columns=["alpha"]).domain.shape == (1,)
    for role in ("columns", "exclude"):
        with pytest.raises(TableError, match=f"{role} to name a column.*Did you mean 'alpha'"):
            load(frame, **{role: ["alpa"]})
    with pytest.raises(TableError, match="weights to name a column"):
        load(frame, weights="w")
    with pytest.raises(TableError, match="after leaving columns out"):
        load(frame, exclude=["alpha", "beta", "gamma"])
    with pytest.raises(InvalidInputError, match="'alpha' twice"):
        load(frame, columns=["alpha", "alpha"])


def test_pooling():
    frame = {"a": ["x"] * 5 + ["y"] * 2 + ["z", None], "b": [1] * 9}
    table = load(frame, min_count=3)
    assert table.domain["a"].categories == ("x", OTHER_LABEL, MISSING_LABEL)
    assert table.domain["a"].other == OTHER_LABEL
    assert table.counts().single("a").values.tolist() == [5, 3, 1]
    assert any(
        "Column 'a': 2 categories with fewer than 3 records (3 records together)" in note
        for note in table.notes
    )
    assert load(frame, min_count=100).domain["a"].categories == (OTHER_LABEL, MISSING_LABEL)
    assert load({"a": ["x", "y"]}, min_count=2).domain["a"].categories == (OTHER_LABEL,)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(1, 20))
def test_rare_intervals_join_a_neighbour(values, least):
    edges = list(range(0, 101, 10))
    table = load({"a": values}, bins={"a": edges}, min_count=least)
    attribute = table.domain["a"]
    counts = table.counts().single("a").values
    assert set(attribute.edges) <= set(edges)
    assert (attribute.edges[0], attribute.edges[-1]) == (0, 100)
    assert counts.sum() == len(values)
    assert counts.min() >= min(least, len(values))
    assert counts.tolist() == np.histogram(values, attribute.edges)[0].tolist()


def test_a_table_that_holds_our_labels_reads_back():
    table = load({"a": ["x", OTHER_LABEL, MISSING_LABEL, None]})
    assert table.codes[:, 0].tolist() == [2, 1, 0, 0]
    assert (table.domain["a"].missing, table.domain["a"].other) == (MISSING_LABEL, OTHER_LABEL)


def test_too_many_categories():
    frame = {"id": [f"p{i}" for i in range(100_000)], "sex": ["f", "m"] * 50_000}
    with pytest.raises(
        CapacityError,
        match=r"10,000 .* got 100,000 in 'id'.*480\.0 GB and 3 min.*exclude.*\(Python: max",
    ):
        load(frame)
    few = {name: values[:500] for name, values in frame.items()}
    with pytest.raises(CapacityError, match="got 500 in 'id'"):
        load(few, max_categories=499)
    assert load(few, min_count=2, max_categories=9).domain.shape == (1, 2)
    assert load(few, max_categories=500).domain.shape == (500, 2)


def test_declared_domain():
    domain = Domain(
        (
            Attribute("a", ("y", "x", "rest"), other="rest"),
            Attribute("n", ("low", "high", "gap"), (0.0, 5.0, 9.0), missing="gap"),
        )
    )
    frame = {"n": [0, 5, None, 9.0], "a": ["x", "y", "q", "x"], "more": [1, 2, 3, 4]}
    table = load(frame, domain=domain)
    assert table.domain == domain
    assert table.codes.tolist() == [[1, 0], [0, 1], [2, 2], [1, 1]]
    assert load(frame, domain=domain, columns=["n"]).codes[:, 0].tolist() == [0, 1, 2, 1]
    assert load(frame, domain=domain, exclude=["n"]).domain.names == ("a",)
    labels = load({"n": ["high", "low"], "a": ["x", "x"]}, domain=domain)
    assert labels.codes[:, 1].tolist() == [1, 0]
    with pytest.raises(DomainError, match=r"from 0 to 9 in column 'n', got 9\.5 in 1 record"):
        load(frame | {"n": [1, 2, 3, 9.5]}, domain=domain)
    with pytest.raises(DomainError, match=r"'n' of the domain in the table.*Did you mean 'nn'"):
        load({"a": ["x"], "nn": [1]}, domain=Domain.of({"n": [1]}))
    with pytest.raises(InvalidInputError, match="bins without a declared domain"):
        load(frame, domain=domain, bins={"n": 3})
    with pytest.raises(InvalidInputError, match="Domain or a path"):
        load(frame, domain=["a"])


def test_values_outside_a_declared_domain():
    domain = Domain.of({"a": ["yes", "no"]})
    with pytest.raises(
        DomainError, match=r"column 'a', got 'yess' in 2 records, and 2 other.*Did you mean 'yes'"
    ):
        load({"a": ["yes", "yess", "yess", "q", "r"]}, domain=domain)
    with pytest.raises(DomainError, match="no missing value in column 'a', got 1"):
        load({"a": ["yes", None]}, domain=domain)
    assert load({"a": ["yes", None]}, domain=domain, missing="drop").size == 1
    empty = Domain.of({"a": ["", "x"]})
    assert load({"a": ["x", ""]}, domain=empty).codes[:, 0].tolist() == [1, 0]


def test_types_of_declared_labels():
    with pytest.raises(DomainError, match=r"declares 1 \(number\), the column holds '1' \(text\)"):
        load({"a": ["1", "2"]}, domain=Domain.of({"a": [1, 2]}))
    with pytest.raises(DomainError, match=r"declares '1' \(text\), the column holds 1 \(number\)"):
        load({"a": [1, 2]}, domain=Domain.of({"a": ["1", "2"]}))
    with pytest.raises(DomainError, match="True"):
        load({"a": [True]}, domain=Domain.of({"a": [1]}))
    with pytest.raises(DomainError, match="intervals of numbers, the column holds text"):
        load({"a": ["q"]}, domain=Domain((Attribute("a", ("x",), (0.0, 1.0)),)))
    whole = load({"a": [1.0, 2.0, None]}, domain=Domain.of({"a": [2, 1]}), missing="drop")
    assert whole.codes[:, 0].tolist() == [1, 0]
    assert load({"a": [2, 1]}, domain=Domain.of({"a": [2.0, 1.0]})).codes[:, 0].tolist() == [0, 1]


def test_a_declared_domain_gives_a_text_file_its_types(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,01\n2,1\n")
    domain = Domain.of({"a": ["1", "2"], "b": ["01", "1"]})
    assert load(path, domain=domain).codes.tolist() == [[0, 0], [1, 1]]
    assert load(path, domain=Domain.of({"a": [2, 1]})).codes[:, 0].tolist() == [1, 0]
    gap = Domain((Attribute("a", ("", "1", "2")),))
    path.write_text("a,b\n1,x\n,y\n")
    assert load(path, domain=gap).codes[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    "options",
    [
        {"n_bins": 0},
        {"n_bins": 2.5},
        {"min_count": -1},
        {"max_categories": 0},
        {"binning": "equal"},
        {"missing": "ignore"},
        {"bins": 3},
        {"weights": 3},
        {"columns": [3]},
        {"strip": 3},
        {"domain": 3},
    ],
)
def test_options_outside_their_range(options):
    with pytest.raises(InvalidInputError, match=f"expected {next(iter(options))}"):
        load({"a": [1]}, **options)


def test_results_cannot_be_changed():
    table = load({"a": [1, 2], "w": [1, 1]}, weights="w")
    for array in (table.codes, table.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert {label_key(x)[0] for x in table.domain["a"].categories} == {"int"}


def test_pooling_counts_rows_and_declared_categories_too():
    domain = Domain.of({"a": ["x", "y", "z"]})
    table = load({"a": list("xxy"), "w": [1, 1, 50]}, domain=domain, weights="w", min_count=2)
    assert table.domain["a"].categories == ("x", OTHER_LABEL)
    assert table.counts().single("a").values.tolist() == [2, 50]
