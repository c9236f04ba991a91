"""Domain files: identity of the round trip, foreign forms, and refusals."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.domain import MISSING_LABEL, OTHER_LABEL, Attribute, Domain, label_key
from seepage.errors import DomainError, InvalidInputError
from seepage.plan.collecting import make_plan
from seepage.plan.plan_sources import domain_was_read
from seepage.tables import count_table, domain_from_yaml, domain_to_yaml, load
from seepage.tables.binning import interval_labels
from seepage.tables.domain_files import read_domain, written_domain

TRICKY = ["yes", "no", "on", "Off", "null", "~", "", "1", "01", "1.0", "true", "True", "2020-01-01"]
TRICKY += ["1:30", "0x1F", "1e5", "1_000", ".inf", "nan", "=", "<<", "a: b", "# x", " a ", "'", '"']
TRICKY += [
    "é",
    "日本",
    "😀",
    "\t",
    "a\nb",
    "\x85",
    "\ufeff",
    "\x00",
    "- a",
    "[a]",
    "{a}",
    "*a",
    "&a",
]

LABELS = st.one_of(
    st.sampled_from([1, "1", True, 1.0, 0, False, 0.0, *TRICKY]),
    st.text(max_size=8),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)
NAMES = st.one_of(st.sampled_from([x for x in TRICKY if x]), st.text(min_size=1, max_size=8))


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    edges = None
    if draw(st.booleans()):
        found = draw(st.lists(st.floats(allow_nan=False), min_size=2, max_size=6, unique=True))
        edges = tuple(sorted(found))
        labels = list(interval_labels(edges))
        if draw(st.booleans()):
            n = len(labels)
            labels = draw(st.lists(LABELS, min_size=n, max_size=n, unique_by=label_key))
    else:
        labels = draw(st.lists(LABELS, min_size=1, max_size=6, unique_by=label_key))
    roles = {}
    for role in ("other", "missing"):
        if draw(st.booleans()):
            label = draw(LABELS)
            if label_key(label) not in set(map(label_key, labels)):
                labels.append(label)
                roles[role] = label
    labels = labels if edges else draw(st.permutations(labels))
    return Attribute(name, tuple(labels), edges=edges, **roles)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    return Domain(tuple(draw(attributes(name)) for name in names))


@given(domains())
def test_round_trip_is_the_identity(domain):
    assert domain_from_yaml(domain_to_yaml(domain)) == domain


def test_round_trip_with_special_categories_in_any_place(tmp_path):
    domain = Domain(
        (
            Attribute("a", ("?", "x", 1, "1", True, 1.0), missing="?"),
            Attribute("b", ("none", "low", "high"), (0.0, 1.5, float("inf")), missing="none"),
        )
    )
    path = tmp_path / "domain.yaml"
    path.write_text(domain_to_yaml(domain), encoding="utf-8")
    assert domain_from_yaml(path) == domain
    assert domain_from_yaml(str(path)) == domain
    assert domain["a"].categories[1:] == ("x", 1, "1", True, 1.0)


def test_json_and_short_forms():
    text = json.dumps(
        {
            "columns": {
                "a": ["x", 1],
                "b": {"bins": ["-inf", 0, 5.5], "missing": "gap", "other": "rest"},
            }
        }
    )
    domain = domain_from_yaml(text)
    assert domain["a"].categories == ("x", 1)
    assert domain["b"].edges == (float("-inf"), 0.0, 5.5)
    assert domain["b"].categories == ("[-inf, 0)", "[0, 5.5]", "rest", "gap")


def test_words_of_old_yaml_stay_text():
    domain = domain_from_yaml("columns:\n  no: [yes, no, on, 2020-01-01, 01301, 12:30, true, 1e5]")
    expected = ("yes", "no", "on", "2020-01-01", "01301", "12:30", True, "1e5")
    assert domain["no"].categories == expected


def test_null_values_of_a_file_apply_to_their_column(tmp_path):
    path = tmp_path / "d.yaml"
    path.write_text(
        "columns:\n  a: {categories: [x, y], missing: gap, null_values: ['?']}\n"
        "  b: {categories: ['?', z]}\n"
    )
    table = load({"a": ["x", "?"], "b": ["?", "z"]}, domain=path)
    assert table.codes.tolist() == [[0, 0], [2, 1]]


DPSYNTH = """
age: {clip_to_range: true, dtype: int, max_value: 50.0, min_value: 10.0, type: NumericalAttribute}
children: {clip_to_range: false, dtype: int, max_value: 5, min_value: 0}
income: {clip_to_range: false, dtype: float, min_value: 0, max_value: 100.0}
sex: {out_of_domain_index: 0, possible_values: [M, F]}
gap: {possible_values: [null, 'no']}
"""


def test_dpsynth():
    domain = domain_from_yaml(DPSYNTH)
    assert domain["age"].edges == tuple(float(x) for x in range(10, 51, 4))
    children = domain["children"]
    assert children.categories == (*range(6), OTHER_LABEL, MISSING_LABEL)
    assert (children.other, children.missing) == (OTHER_LABEL, MISSING_LABEL)
    assert len(domain["income"].intervals) == 10
    assert domain["sex"].categories == ("M", "F")
    assert domain["gap"].missing == MISSING_LABEL
    assert domain_from_yaml(DPSYNTH, n_bins=4)["age"].size == 4
    assert domain_from_yaml(domain_to_yaml(domain)) == domain


def test_dpsynth_columns_without_a_list_are_refused_only_when_used(tmp_path):
    path = tmp_path / "domain.yaml"
    path.write_text("sex: {possible_values: [M, F]}\ncity: {}\nnote: {max_tokens: 9}\n")
    with pytest.raises(DomainError, match=r"column 'city', got an open set of categories"):
        domain_from_yaml(path)
    table = load({"sex": ["F"], "city": ["?"]}, domain=path, columns=["sex"])
    assert table.domain.names == ("sex",)
    assert any("dpsynth" in note for note in table.notes)
    with pytest.raises(DomainError, match="'note', got free text"):
        load({"sex": ["F"], "note": ["?"]}, domain=path, exclude=["city"])


LOMAS = """
max_ids: 1
row_privacy: true
rows: 344
columns:
  species: {type: string, cardinality: 2, categories: [Adelie, Gentoo]}
  region: {type: int, precision: 32, cardinality: 3, categories: [1, 2, 7], nullable: true}
  mass: {type: float, precision: 64, lower: 2000.0, upper: 7000.0}
  stage: {type: int, precision: 32, lower: 1, upper: 4}
  ringed: {type: boolean}
"""

SMARTNOISE = """
"":
  Schema:
    Table:
      max_ids: 1
      row_privacy: true
      rows: 1000
      pid: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 100}
      married: {type: boolean, nullable: false}
      educ: {type: int, lower: 1, upper: 3, missing_value: 9}
engine: csv
"""


def test_lomas():
    domain = domain_from_yaml(LOMAS)
    assert domain.shape == (2, 4, 10, 4, 2)
    assert domain["region"].categories == (1, 2, 7, MISSING_LABEL)
    assert domain["stage"].categories == (1, 2, 3, 4)
    assert domain["ringed"].categories == (False, True)
    assert domain["mass"].missing is None


def test_smartnoise():
    domain = domain_from_yaml(SMARTNOISE)
    assert domain.names == ("age", "married", "educ")
    assert domain["age"].size == 11  # nullable unless it says otherwise
    assert domain["married"].missing is None
    assert domain["educ"].categories == (1, 2, 3, 9)
    assert domain["educ"].missing == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOMAS + "  name: {type: string}\n", "expected categories for column 'name'"),
        (LOMAS + "  when: {type: datetime, lower: a, upper: b}\n", "derived from the date"),
        (LOMAS + "  free: {type: float}\n", "lower and upper bounds for column 'free'"),
        ("a: {b: {c: {d: {type: int}}, e: {f: {type: int}}}}\n", "expected one table"),
        ("[1, 2]\n", "mapping with columns"),
        ("\n", "mapping with columns"),
        ("columns: {a: [x], a: [y]}", "'a' twice"),
        ("columns: {1: [x]}", "put it in quotes"),
        ("columns: {a: {}}", "categories or bins"),
        ("columns: {a: {categorys: [x]}}", "Did you mean 'categories'"),
        ("columns: {a: {categories: [x, null]}}", "'a' to be text, numbers"),
        ("columns: {a: {categories: [[x]]}}", "plain values"),
        ("columns: {a: {categories: [x, x]}}", "'x' twice"),
        ("columns: {a: {categories: []}}", "at least one category"),
        ("columns: {a: {categories: [.nan]}}", "finite"),
        ("columns: {a: {bins: [1]}}", "list of edges"),
        ("columns: {a: {bins: [2, 1]}}", "to increase"),
        ("columns: {a: {bins: [1, x]}}", "to be numbers"),
        ("columns: {a: {bins: [1, 2], labels: [x, y]}}", "1 interval labels"),
        ("columns: {a: [x}", "expected the domain text to be YAML"),
        ("columns: {a: !!python/object:os.system [x]}", "YAML"),
        ('{"columns": {"a": ["x"], "a": ["y"]}}', "'a' twice"),
        ("fields: {a: {b: 1}}", "columns: {name"),
        ("does-not-exist.yaml", "can be read"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(DomainError, match=message):
        domain_from_yaml(text)


READ = "The categories of 2 columns were read from the table itself"


@given(domains(), st.text(min_size=1).filter(str.strip))
def test_round_trip_of_a_domain_that_was_read(domain, source):
    text = domain_to_yaml(domain, read_from=source).encode("utf-8", errors="strict").decode()
    assert domain_from_yaml(text) == domain
    assert read_domain(text).notes[0].endswith("fit for an analysis, not for a release.")
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith("read_from")]
    if len(kept) == len(text.splitlines()) - 1:  # a long name takes several lines
        assert read_domain("".join(kept)).notes == ("Categories were declared in the domain text.",)


def test_what_was_read_stays_read_until_its_line_is_deleted(tmp_path):
    table = {"a": ["x", "y", "x"], "b": [1, 2, 2]}
    path = tmp_path / "domain.yaml"
    text = domain_to_yaml(load(table).domain, read_from="people.csv")
    path.write_text(text, encoding="utf-8")
    assert text.startswith("# Read from people.csv. Look through it before a release:\n")
    assert "\nread_from: people.csv\ncolumns:\n" in text
    # The sentence is that of a table without a domain.
    assert load(table, domain=path).notes[0] == load(table).notes[0]
    assert load(table, domain=path).notes[1] == (
        "The domain of domain.yaml was read from 'people.csv': look through it, then delete its "
        "line read_from."
    )
    assert count_table(table, domain=path).notes == load(table, domain=path).notes
    for source in (path, count_table(table, domain=path)):
        assert domain_was_read(make_plan(source, epsilon=1.0))
    path.write_text(text.replace("read_from: people.csv\n", ""), encoding="utf-8")
    assert load(table, domain=path).notes[0] == "Categories were declared in domain.yaml."
    assert not domain_was_read(make_plan(path, epsilon=1.0))
    assert not domain_was_read(make_plan(count_table(table, domain=path), epsilon=1.0))


def test_only_the_columns_in_use_are_counted_as_read():
    text = domain_to_yaml(Domain.of({"a": ["x"], "b": ["y"], "c": ["z"]}), read_from="t.csv")
    assert read_domain(text, exclude=["b"]).notes[0].startswith(READ)
    assert "1 column was" in read_domain(text, columns=["c"]).notes[0]


def test_a_text_is_written_as_read_if_its_notes_say_so():
    domain = Domain.of({"a": ["x", "y"]})
    read = load({"a": ["x", "y"]})
    assert written_domain(domain, read.notes, "t.csv") == domain_to_yaml(domain, read_from="t.csv")
    declared = load({"a": ["x"]}, domain=domain)
    assert written_domain(domain, declared.notes, "t.csv") == domain_to_yaml(domain)


@pytest.mark.parametrize("value", ["", "~", "true", "7", "[a]", "'  '", "{a: 1}"])
def test_what_a_domain_was_read_from_is_a_text(value):
    with pytest.raises(DomainError, match="expected read_from of the domain text to name a table"):
        domain_from_yaml(f"read_from: {value}\ncolumns: {{a: [x]}}")


@pytest.mark.parametrize("value", ["", " \n", 7, True, b"t.csv", ["t.csv"]])
def test_hostile_names_of_what_was_read(value):
    with pytest.raises(InvalidInputError, match="expected read_from to name a table, got"):
        domain_to_yaml(Domain.of({"a": ["x"]}), read_from=value)


def test_a_name_with_line_breaks_stays_in_its_comment():
    hostile = "a.csv\ncolumns: {b: [y]}\u2028c\ud800"
    text = domain_to_yaml(Domain.of({"a": ["x"]}), read_from=hostile)
    assert domain_from_yaml(text) == Domain.of({"a": ["x"]})
    assert text.encode("utf-8").startswith(rb"# Read from a.csv\ncolumns: {b: [y]}\u2028c\ud800.")


def test_a_foreign_column_of_that_name_is_a_column():
    domain = domain_from_yaml("read_from: {possible_values: [M, F]}\n")
    assert domain["read_from"].categories == ("M", "F")
    assert "read_from" not in " ".join(read_domain("columns: {read_from: [x, y]}").notes)
