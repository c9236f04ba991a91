"""Plan files: round trips, and everything that must be refused."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage.collect.collection import Claim, CollectionPlan
from seepage.collect.designs import fake_data, independent, sampled_views, split
from seepage.collect.plan_files import plan_from_text, read_plan, write_plan
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, SeepageError, TableError
from seepage.results import Standing

DOMAIN = Domain(
    (
        Attribute("label", (1, "1", True, 1.5)),
        Attribute("age", ("young", "old", "?"), edges=(0, 18, math.inf), missing="?"),
        Attribute("straße", ("inf", "-inf", "rest"), other="rest"),
    )
)
PLANS = {
    "independent": independent(
        DOMAIN, {"label": 0.1, "age": math.inf, "straße": 1 / 3}, {"label": "oue", "age": "grr"}
    ),
    "kinds": independent(
        DOMAIN,
        1.0,
        {"label": "olh", "age": "subset", "straße": "pram"},
        options={"straße": {"matrix": [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.3, 0.3, 0.4]]}},
    ),
    "group": split(DOMAIN, 1.0, groups=[["straße", "label"]]),
    "views": sampled_views(DOMAIN, 2.0, 2),
    "fake": fake_data(DOMAIN, 0.7),
    "claims": CollectionPlan(
        DOMAIN,
        "independent",
        independent(DOMAIN, 1.0).units,
        (
            Claim("age", 2.5, Standing.UPPER, ("a dependency tree",)),
            Claim("label", 1.25, Standing.HEURISTIC),
        ),
        ("read from the table itself",),
        "people \udcff.csv",
        math.inf,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    path = tmp_path / "plan.json"
    write_plan(plan, path)
    read = read_plan(path)
    assert read == plan
    assert hash(read) == hash(plan)
    assert read.units == plan.units
    assert read.domain == plan.domain
    assert read.claims == plan.claims
    assert read.fingerprint == plan.fingerprint
    assert read.to_json() == plan.to_json()
    assert read.epsilon == plan.epsilon
    content = json.loads(path.read_text("utf-8"))
    assert (content["format"], content["version"]) == ("seepage.plan", 1)
    assert content["verdict"] == plan.verdict


labels = st.one_of(
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
        st.lists(labels, min_size=1, max_size=5, unique_by=lambda x: (type(x), x)),
        min_size=1,
        max_size=3,
    ),
    st.floats(0, 700),
)
def test_round_trip_of_any_domain(columns: dict[str, list], epsilon: float) -> None:
    plan = independent(Domain.of(columns), epsilon)
    assert plan_from_text(plan.to_json()) == plan


def test_domain_part_is_a_domain_file() -> None:
    from seepage.tables import domain_from_yaml

    part = json.dumps(json.loads(PLANS["views"].to_json())["domain"])
    assert domain_from_yaml(part) == DOMAIN


def test_plans_differ() -> None:
    base = independent(DOMAIN, 1.0)
    others = [
        independent(DOMAIN, 1.5),
        independent(DOMAIN, 1.0, "oue"),
        independent(DOMAIN.project(["age", "label", "straße"]), 1.0),
        split(DOMAIN, 1.0, groups=[["age", "label"]]),
        fake_data(DOMAIN, 1.0),
        independent(Domain((Attribute("label", ("1", 1, True, 1.5)), *DOMAIN.attributes[1:])), 1.0),
    ]
    assert len({base.fingerprint, *(plan.fingerprint for plan in others)}) == 1 + len(others)
    assert all(plan != base for plan in others)
    assert base != "plan"
    noted = CollectionPlan(base.domain, base.design, base.units, assumptions=("a",))
    assert noted.fingerprint == base.fingerprint  # reports are made in the same way
    assert noted != base


def test_truncated_and_edited_files(tmp_path: Path) -> None:
    text = PLANS["independent"].to_json()
    path = tmp_path / "plan.json"
    for end in (0, 1, 50, len(text) // 2, len(text) - 1):
        path.write_text(text[:end], encoding="utf-8")
        with pytest.raises(TableError, match=r"truncated|whole plan"):
            read_plan(path)
    for old, new in (
        ('"epsilon": 0.1', '"epsilon": 0.2'),
        ("young", "younger"),
        ('"design": "independent"', '"design": "views"'),
        ('"unit": "nats"', '"unit": "bits"'),
        ('"checksum": "', '"checksum": "0'),
    ):
        assert old in text
        with pytest.raises(TableError, match="checksum"):
            plan_from_text(text.replace(old, new, 1))
    content = json.loads(text)
    del content["checksum"]
    with pytest.raises(TableError, match=r"checksum.*got none"):
        plan_from_text(json.dumps(content))


def signed(change) -> str:
    """A plan that was changed by somebody who knows how to compute the checksum."""
    content = json.loads(PLANS["independent"].to_json())
    del content["checksum"]
    change(content)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(content)


def test_files_that_contradict_themselves() -> None:
    """The checksum is right, but what people read is not what the parameters say."""
    content = json.loads(PLANS["independent"].to_json())

    def doubled(content: dict) -> None:
        content["claims"].append(content["claims"][-1])

    def lowered(content: dict) -> None:
        for claim in content["claims"]:
            if claim["quantity"] == "total":
                claim["values"] = dict.fromkeys(claim["values"], 0.0)

    for change, word in (
        (doubled, "two"),
        (lowered, "total"),
        (setter("target", value=-1), "target"),
    ):
        with pytest.raises(TableError, match=word):
            plan_from_text(signed(change))
    text = json.dumps(content).replace('"unit": "nats"', '"unit": 1e400')
    with pytest.raises(TableError, match="floating point"):
        plan_from_text(text)


def setter(*path, value):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        setter("units", 0, "epsilon", value=0.05),
        setter("units", 0, "epsilon", value=None),
        setter("units", 0, "mechanism", "epsilon", value=5),
        setter("units", 0, "mechanism", "epsilon", value=-1),
        setter("units", 0, "mechanism", "epsilon", value="much"),
        setter("units", 0, "mechanism", "kind", value="magic"),
        setter("units", 0, "mechanism", "k", value=5),
        setter("units", 0, "mechanism", value=[]),
        setter("units", 0, "attributes", value=["age"]),
        setter("units", 0, "attributes", value=["agee"]),
        setter("units", 0, "attributes", value="label"),
        setter("units", 0, value=None),
        setter("units", value={}),
        setter("units", value=[]),
        setter("claims", 0, "values", "(record)", value=0.5),
        setter("claims", 0, "values", "nobody", value=0.5),
        setter("claims", 1, "values", "age", value="low"),
        setter("claims", 1, "standing", value="certain"),
        setter("claims", 1, "quantity", value="delta"),
        setter("claims", 1, "assumptions", value=[3]),
        setter("claims", value=None),
        setter("domain", value=None),
        setter("domain", "columns", value=[]),
        setter("domain", "columns", "age", "bins", value=[0, "18", "inf"]),
        setter("domain", "columns", "age", "bins", value=[0, 18]),
        setter("domain", "columns", "age", "bins", value=3),
        setter("domain", "columns", "age", "missing", value=["?"]),
        setter("domain", "columns", "age", "missing", value="!"),
        setter("domain", "columns", "age", "categories", value=["a", "a", "?"]),
        setter("domain", "columns", "age", "categories", value=["young", "old", None]),
        setter("domain", "columns", "age", "categories", value="young"),
        setter("domain", "columns", "age", "extra", value=1),
        setter("domain", "columns", "age", value=[]),
        setter("domain", "columns", "straße", "categories", value=["inf", "other", "rest"]),
        setter("fingerprint", value="0" * 64),
        setter("fingerprint", value=None),
        setter("design", value="spl"),
        setter("design", value=1),
        setter("unit", value="bits"),
        setter("target", value=-1),
        setter("target", value=10**400),
        setter("assumptions", value="all"),
        setter("source", value=None),
        setter("surprise", value=1),
        setter("version", value=2),
        setter("version", value=True),
        setter("format", value="seepage.budgets"),
    ],
)
def test_signed_nonsense(change) -> None:
    with pytest.raises(TableError):
        plan_from_text(signed(change))


def test_signing_is_right() -> None:
    assert plan_from_text(signed(lambda content: None)) == PLANS["independent"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", "{}", "{", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 100_000, "9" * 9999],
)
def test_no_plan(text: str) -> None:
    with pytest.raises(TableError):
        plan_from_text(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(TableError, match="read"):
            read_plan(path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="UTF-8"):
        read_plan(tmp_path / "binary.json")
    for odd in (None, 3, "a\0b"):
        with pytest.raises(SeepageError):
            read_plan(odd)
    with pytest.raises(DomainError):
        PLANS["fake"].randomize_record({"label": 1})
