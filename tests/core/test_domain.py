"""Domains: labels with their types, order, and refusals that name column and category."""

from __future__ import annotations

import numpy as np
import pytest

from seepage import Attribute, Domain, DomainError


def test_labels_of_different_types_are_different():
    attribute = Attribute("x", (1, "1", True, 1.0, 0, False, "", "True"))
    assert [attribute.index(label) for label in attribute.categories] == list(range(8))
    assert attribute.size == 8
    assert Attribute("x", (1, 2)) != Attribute("x", ("1", "2"))
    assert Attribute("x", (1, 2)) != Attribute("x", (1.0, 2.0))
    assert Attribute("x", (1, 0)) != Attribute("x", (True, False))
    assert Attribute("x", (1, 2)) != Attribute("x", (2, 1))
    assert Attribute("x", (1, 2)) != Attribute("y", (1, 2))
    assert hash(Attribute("x", (1, 2))) == hash(Attribute("x", (1, 2)))
    assert Attribute("x", (1, 2)) != "x"


def test_numpy_scalars_are_python_labels():
    attribute = Attribute("x", (np.int64(1), np.str_("a"), np.float64(2.5), np.bool_(True)))
    assert attribute == Attribute("x", (1, "a", 2.5, True))
    assert [type(label) for label in attribute.categories] == [int, str, float, bool]
    assert attribute.index(np.int64(1)) == 0
    assert attribute.index("a") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "attribute name"),
        ({"name": None}, "attribute name"),
        ({"name": 3}, "attribute name"),
        ({"categories": ()}, "at least one category for column 'x'"),
        ({"categories": "abc"}, "list of categories for column 'x'"),
        ({"categories": None}, "list of categories for column 'x'"),
        ({"categories": 5}, "list of categories for column 'x'"),
        ({"categories": ("a", "b", "a")}, "'a' twice"),
        ({"categories": ("a", None)}, "text or numbers, got None"),
        ({"categories": ("a", 1j)}, "text or numbers"),
        ({"categories": (["a"], "b")}, "text or numbers"),
        ({"categories": (float("nan"),)}, "finite"),
        ({"categories": (float("inf"),)}, "finite"),
        ({"missing": "c"}, "missing label of column 'x'"),
        ({"other": 1}, "other label of column 'x'"),
        ({"other": ["a"]}, "text or numbers"),
        ({"missing": "a", "other": "a"}, "different labels for missing and other"),
        ({"edges": (0, 1)}, "1 interval labels"),
        ({"edges": (0, 2, 1)}, "increasing bin edges"),
        ({"edges": (0, 0, 1)}, "increasing bin edges"),
        ({"edges": (0, float("nan"), 1)}, "increasing bin edges"),
        ({"edges": ()}, "increasing bin edges"),
        ({"edges": ("a", "b", "c")}, "numbers as bin edges"),
        ({"edges": 3}, "numbers as bin edges"),
    ],
)
def test_hostile_attributes(arguments, message):
    with pytest.raises(DomainError, match=message):
        Attribute(**{"name": "x", "categories": ("a", "b")} | arguments)


def test_repeated_label_among_very_many_is_found_at_once():
    with pytest.raises(DomainError, match="'9' twice"):
        Attribute("x", (*map(str, range(100_000)), "9"))


def test_binned_attribute():
    attribute = Attribute(
        "age",
        ("[0, 18)", "[18, inf]", "(missing)"),
        edges=(0, 18, float("inf")),
        missing="(missing)",
    )
    assert attribute.intervals == ("[0, 18)", "[18, inf]")
    assert attribute.edges == (0.0, 18.0, float("inf"))


@pytest.mark.parametrize("label", ["Femal", 3, None, ["Female"], float("nan"), {}])
def test_unknown_label_names_column_and_hint(label):
    with pytest.raises(DomainError, match="column 'sex'") as caught:
        Attribute("sex", ("Female", "Male")).index(label)
    assert "'Female'" in str(caught.value)


def test_domain():
    domain = Domain.of({"sex": ["Female", "Male"], "smoker": ["no", "yes", "unknown"]})
    assert domain.size == 6
    assert len(domain) == 2
    assert [item.name for item in domain] == ["sex", "smoker"]
    assert "sex" in domain
    assert "age" not in domain
    assert domain["smoker"].size == 3
    assert domain.project(["smoker", "sex"]).shape == (3, 2)
    assert domain.project(["smoker", "sex"]) != domain
    assert domain.project(["sex", "smoker"]) == domain
    assert hash(domain) == hash(domain.project(domain.names))
    wide = Domain.of({f"c{i}": list(range(1000)) for i in range(30)})
    assert wide.size == 1000**30


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Domain(()), "at least one column"),
        (lambda: Domain.of({}), "at least one column"),
        (lambda: Domain.of(None), "mapping of column names"),
        (lambda: Domain.of([("a", ["b"])]), "mapping of column names"),
        (lambda: Domain.of({"a": "xyz"}), "list of categories for column 'a'"),
        (lambda: Domain.of({"a": None}), "list of categories for column 'a'"),
        (lambda: Domain.of({1: ["b"]}), "attribute name"),
        (lambda: Domain(None), "sequence of Attribute"),
        (lambda: Domain(["sex"]), "sequence of Attribute"),
        (lambda: Domain((Attribute("a", (1,)), Attribute("a", (2,)))), "'a' twice"),
        (lambda: Domain.of({"age": [1]})["agee"], "Did you mean 'age'"),
        (lambda: Domain.of({"age": [1]})[["age"]], "column of the domain"),
        (lambda: Domain.of({"age": [1]}).project("age"), "list of column names"),
        (lambda: Domain.of({"age": [1]}).project(None), "list of column names"),
        (lambda: Domain.of({"age": [1]}).project([]), "at least one column"),
        (lambda: Domain.of({"age": [1]}).project(["age", "age"]), "'age' twice"),
    ],
)
def test_hostile_domains(make, message):
    with pytest.raises(DomainError, match=message):
        make()
