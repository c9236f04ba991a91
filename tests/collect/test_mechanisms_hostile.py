"""Parameters, codes, reports and texts that are not what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage import CapacityError, InvalidInputError, SeepageError
from seepage.collect.hashing import PRIME
from seepage.collect.pram import PostRandomization, Table, invariant_pram, stratified_pram
from seepage.collect.registry import BY_EPSILON, NAMES, mechanism, mechanism_from_dict

NAN, INF = float("nan"), float("inf")
HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("name", BY_EPSILON)
@pytest.mark.parametrize(
    "epsilon", [-1e-300, -1.0, NAN, -INF, "1", "inf", True, [1.0], [1.0, 2.0], 1j, {}]
)
def test_epsilon(name, epsilon):
    with pytest.raises(InvalidInputError, match="epsilon"):
        mechanism(name, 3, epsilon)


@pytest.mark.parametrize("name", BY_EPSILON)
@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None, [3], NAN, np.bool_(True)])
def test_size(name, k):
    with pytest.raises(InvalidInputError, match="k to be a whole number"):
        mechanism(name, k, 1.0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("grr", {}, "expected epsilon"),
        ("lambda", {}, "expected retention"),
        ("lambda", {"retention": 1.5}, r"retention in \[0, 1\]"),
        ("lambda", {"retention": NAN}, r"retention in \[0, 1\]"),
        ("lambda", {"retention": [0.5, 0.5]}, "one retention"),
        ("lambda", {"retention": True}, "retention"),
        ("lambda", {"retention": 0.5, "epsilon": 1.0}, "got 'epsilon'"),
        ("oue", {"epsilon": 1.0, "variant": "symmetric"}, "no variant"),
        ("unary", {"epsilon": 1.0, "variant": "optimised"}, "Did you mean 'optimized'"),
        ("unary", {"epsilon": 1.0, "variant": 3}, "variant to be one of"),
        ("hashing", {"epsilon": 1.0, "variant": None}, "variant to be one of"),
        ("hashing", {"epsilon": 1.0, "variant": "symmetric"}, "'optimized', 'binary'"),
        ("grr", {"epsilon": 1.0, "variant": "binary"}, "got 'variant'"),
        ("staircase", {"epsilon": 1.0, "step": 0}, "step to be a whole number"),
        ("staircase", {"epsilon": 1.0, "step": 1.0}, "step to be a whole number"),
        ("staircase", {"epsilon": 1.0, "step": True}, "step to be a whole number"),
        ("staircase", {"epsilon": 1.0, "step": 2}, "step of at most 1"),
        ("staircase", {"epsilon": 1.0, "stepp": 1}, "Did you mean 'step'"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, 1]]}, "distance of shape"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, 1], [2, 0]]}, "symmetric"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, NAN], [NAN, 0]]}, "finite"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, INF], [INF, 0]]}, "finite"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, -1], [-1, 0]]}, "not negative"),
        ("exponential", {"epsilon": 1.0, "distance": [[1, 1], [1, 0]]}, "category 0"),
        ("exponential", {"epsilon": 1.0, "distance": [[0, 0], [0, 0]]}, "got 0 everywhere"),
        ("exponential", {"epsilon": 1.0, "distance": [[0], [1, 0]]}, "rectangular"),
        ("exponential", {"epsilon": 1.0, "distance": "near"}, "numeric"),
        ("pram", {}, "expected matrix"),
        ("pram", {"matrix": HALF, "epsilon": 1.0}, "got 'epsilon'"),
        ("pram", {"matrix": np.full((3, 3), 1 / 3)}, "2 rows"),
        ("pram", {"matrix": np.full((2, 4), 0.25)}, "square"),
        ("pram", {"matrix": HALF, "strata": [0, 1]}, "between different strata"),
        ("pram", {"matrix": HALF, "strata": [0]}, "2 categories"),
        ("pram", {"matrix": HALF, "strata": "ab"}, "list with the stratum"),
        ("pram", {"matrix": HALF, "strata": [[0], [0]]}, "names or numbers"),
        ("pram", {"matrix": HALF, "strata": [NAN, NAN]}, "names or numbers"),
        ("pram", {"matrix": HALF, "strata": 3}, "list with the stratum"),
        ("table", {"matrix": [[0.5, 0.6], [0.5, 0.5]]}, "sum to 1"),
        ("table", {"matrix": [[1.5, -0.5], [0.5, 0.5]]}, "probabilities"),
        ("table", {"matrix": [[NAN, 1.0], [0.5, 0.5]]}, "probabilities"),
        ("table", {"matrix": []}, "shape"),
        ("table", {"matrix": None}, "numeric"),
        ("table", {"matrix": [[True, False], [False, True]]}, "numeric"),
        ("table", {"matrix": HALF, "strata": [0, 0]}, "got 'strata'"),
    ],
)
def test_options(name, options, message):
    with pytest.raises(InvalidInputError, match=message):
        mechanism(name, 2, **options)


def test_unknown_kind():
    with pytest.raises(InvalidInputError, match="Did you mean 'staircase'"):
        mechanism("stairs case", 2, 1.0)
    for kind in (None, 3, ["grr"], "GRR", ""):
        with pytest.raises(InvalidInputError, match="kind of a mechanism"):
            mechanism(kind, 2, 1.0)


def test_too_large_is_refused_before_it_starts():
    codes = np.zeros(10, dtype=int)
    for name in ("grr", "lambda", "oue", "olh", "subset"):
        budget = {"retention": 0.5} if name == "lambda" else {"epsilon": 1.0}
        m = mechanism(name, 10**9, **budget)
        for attribute in ("unbias", "unbias_squared"):
            with pytest.raises(CapacityError, match="at most"):
                getattr(m, attribute)
        with pytest.raises(CapacityError, match="at most"):
            m.moments()
        if name in {"oue", "subset"}:
            with pytest.raises(CapacityError, match="bits"):
                m.sample(codes)
        else:
            assert len(m.sample(codes)) == 10


def test_too_many_categories_for_the_field():
    with pytest.raises(InvalidInputError, match="at most"):
        mechanism("olh", PRIME + 1, 1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "by name"),
        ([("kind", "grr")], "by name"),
        ({}, "key 'kind'"),
        ({"kind": "grr"}, "key 'k'"),
        ({"kind": "grr", "k": 2}, "expected epsilon"),
        ({"kind": "oue", "k": 2, "epsilon": 1.0}, "kind of a mechanism"),
        ({"kind": "grr", "k": 2, "epsilon": "1"}, "epsilon"),
        ({"kind": "grr", "k": 2, "epsilon": "Infinity"}, "epsilon"),
        ({"kind": "grr", "k": 2, "epsilon": None}, "null"),
        ({"kind": "grr", "k": "2", "epsilon": 1.0}, "whole number"),
        ({"kind": "grr", "k": 2, "epsilon": 1.0, "note": "x"}, "got 'note'"),
        ({"kind": "grr", "k": 2, "epsilon": 1.0, "epsilom": 1.0}, "Did you mean 'epsilon'"),
        ({"kind": "grr", "k": 2, "epsilon": 1.0, 3: 4}, "to be text"),
        ({"kind": "table", "k": 3, "matrix": HALF}, "3 rows"),
        ({"kind": "exponential", "k": 2, "epsilon": 1.0, "distance": None}, "null"),
    ],
)
def test_plain_values(values, message):
    with pytest.raises(InvalidInputError, match=message):
        mechanism_from_dict(values)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["kind", "k", "epsilon", "variant", "matrix", "distance", "strata", "step", "retention"]
)


@given(st.dictionaries(KEYS, ANY, max_size=5), st.sampled_from(NAMES), st.booleans())
def test_any_plain_values_give_a_mechanism_or_a_typed_error(values, kind, named):
    if named:
        values = values | {"kind": kind, "k": 2}
    try:
        m = mechanism_from_dict(values)
    except SeepageError:
        return
    m.sample(np.zeros(3, dtype=int))
    assert 0 <= m.release_epsilon <= m.epsilon


@pytest.mark.parametrize("name", BY_EPSILON)
@pytest.mark.parametrize(
    "codes",
    [
        [0, 3],
        [-1],
        [0.0, 1.0],
        [True, False],
        ["0"],
        [None],
        [[0, 1]],
        1,
        None,
        [0, None],
        [10**30],
    ],
)
def test_codes(name, codes):
    m = mechanism(name, 3, 1.0)
    with pytest.raises(InvalidInputError, match="codes"):
        m.sample(codes)
    with pytest.raises(InvalidInputError, match="codes"):
        m.sample(codes, rng=1)


@pytest.mark.parametrize("name", BY_EPSILON)
@pytest.mark.parametrize(
    "rng", [True, -1, 1.5, "1", np.random.RandomState(1), [1], np.bool_(True), np.random.SFC64(1)]
)
def test_generators(name, rng):
    with pytest.raises(InvalidInputError, match="rng"):
        mechanism(name, 3, 1.0).sample(np.array([0]), rng=rng)


BAD_REPORTS = {
    "grr": [[3], [-1], [0.5], [True], [[0]], ["0"], [None], None],
    "table": [[2], [-1], None],
    "oue": [[[1, 0, 1]], [[True, False]], [True, False, True], None, [["a", "b", "c"]], [[]]],
    "subset": [[[True, True, False]], [[False] * 3], [[1, 0, 0]], [[True] * 3]],
    "olh": [
        [[0, 4]],
        [[0, -1]],
        [[PRIME**2, 0]],
        [[-1, 0]],
        [[0.0, 0.0]],
        [[0, 0, 0]],
        [0, 0],
        [[True, False]],
        None,
    ],
}


@pytest.mark.parametrize(("name", "reports"), [(n, r) for n, rs in BAD_REPORTS.items() for r in rs])
def test_reports(name, reports):
    m = Table(np.full((3, 2), 0.5)) if name == "table" else mechanism(name, 3, 1.0)
    for call in (m.check_reports, m.featurize):
        with pytest.raises(InvalidInputError, match="report"):
            call(reports)


BAD_TEXTS = {
    "oue": ["a", "", "a0a0", "A0", "10", "0x", " a0", "a0 ", "g0", "٣0", None, 3, b"a0"],
    "subset": ["e0", "00", "c0"],
    "olh": [
        "",
        ":",
        "1",
        "1:",
        ":1",
        "1:4",
        "1:-1",
        "-1:1",
        "01:1",
        "1:01",
        "1:1:1",
        " 1:1",
        "1:1\n",
        "1.0:1",
        "٣:1",
        "1_0:1",
        f"{PRIME**2}:0",
        "9999999999999999999:0",
        "99999999999999999999999999:0",
        None,
        7,
    ],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in BAD_TEXTS.items() for t in ts])
def test_texts(name, text):
    m = mechanism(name, 3, 1.0)
    with pytest.raises(InvalidInputError, match="report"):
        m.decode([text])


@pytest.mark.parametrize("texts", [None, 3, "a0", b"a0"])
def test_texts_that_are_no_list(texts):
    with pytest.raises(InvalidInputError, match="list of texts"):
        mechanism("oue", 3, 1.0).decode(texts)


@given(
    st.text(alphabet="0123456789abcdef:- ", max_size=24), st.sampled_from(["oue", "subset", "olh"])
)
def test_any_text_is_a_report_or_a_typed_error(text, name):
    m = mechanism(name, 3, 1.0)
    try:
        reports = m.decode([text])
    except InvalidInputError:
        return
    assert m.encode(reports) == [text]  # one way to write a report


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: invariant_pram([0.5, 0.6], minimum_diagonal=0.5), "sum to 1"),
        (lambda: invariant_pram([], minimum_diagonal=0.5), "distribution"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=[0.5]), "2 of them"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=[0.5, 1.1]), "category 1"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=NAN), "category 0"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal="high"), "numeric"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=0.5, epsilon=-1), "epsilon"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=0.5, epsilon=[1, 2]), "one epsilon"),
        (lambda: invariant_pram([0.5, 0.5], minimum_diagonal=0.5, strata=[0]), "2 categories"),
        (lambda: stratified_pram([], 1.0), "at least one category"),
        (lambda: stratified_pram([0, 1], [1.0, 2.0, 3.0]), "each of 2 strata"),
        (lambda: stratified_pram([0, 1], -1.0), "epsilon"),
        (lambda: stratified_pram({0: 1}, 1.0), "list with the stratum"),
        (lambda: PostRandomization([[1.0, 0.0]]), "square"),
    ],
)
def test_tables_with_a_purpose(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
