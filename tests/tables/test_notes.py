"""What a newcomer is told about a table: labels, headers, tokens, identifiers, left-out columns."""

from __future__ import annotations

import itertools

import pytest

from seepage.domain import MISSING_LABEL, Attribute, Domain
from seepage.errors import DomainError, TableError, did_you_mean
from seepage.tables import load


def note(table, part):
    """The one note that holds `part`."""
    (found,) = [text for text in table.notes if part in text]
    return found


def lacks(table, part):
    return not any(part in text for text in table.notes)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------- labels that are nearly alike


@pytest.mark.parametrize(
    ("labels", "remedy"),
    [
        (["<=50K", "<=50K.", ">50K"], "use strip='.' (--strip .)"),
        (["<=50K", "<=50K.", ">50K", ">50K."], "and 1 more group. If they mean the same, use"),
        (["yes", "no?", "no", "yes."], "use strip='.?' (--strip '.?')"),
        (["a b ", "a b", "c"], "use strip=' ' (--strip ' ')"),
        (["Male", "male", "x"], "write their letters alike"),
        (["Male.", "male.", "x"], "write their letters alike"),
        (["Male", "male.", "x"], "use strip='.' (--strip .), and write their letters alike"),
    ],
)
def test_labels_that_differ_by_marks_blanks_or_case(labels, remedy):
    found = note(load({"income": labels, "n": [1] * len(labels)}), "differ only")
    assert "column 'income'" in found
    assert remedy in found


@pytest.mark.parametrize("labels", list(itertools.permutations(["<=50K", "<=50K.", ">50K"])))
def test_the_remedy_helps(labels):
    assert "'<=50K' and '<=50K.'" in note(load({"a": labels}), "differ only")
    table = load({"a": labels}, strip=".")
    assert table.domain["a"].categories == ("<=50K", ">50K")
    assert lacks(table, "differ only")


@pytest.mark.parametrize(
    "labels",
    [["A", "A+", "A-", "A*"], ["<50", ">50", "=50"], ["C", "C#"], ["?", ".", "!"], ["10%", "10"]],
)
def test_marks_that_tell_labels_apart_are_not_reported(labels):
    assert lacks(load({"a": labels, "b": [True] * len(labels)}), "differ only")


# ---------------------------------------------------------------- headers


def test_a_record_taken_for_a_header(tmp_path):
    path = write(tmp_path / "t.csv", "39,Private,1\n50,Private,0\n38,Local,1\n")
    found = note(load(path), "look like data")
    assert "t.csv look like data ('39', '1')" in found
    assert "header=False (--no-header)" in found
    assert lacks(load(path, header=False), "look like data")
    assert "look like data" in note(load(path, names=["a", "b", "c"]), "look like data")
    assert lacks(load(path, names=["a", "b", "c"], header=False), "look like data")
    words = write(tmp_path / "w.csv", "usual,proper,x\nusual,good,y\ngreat,proper,z\n")
    assert "('usual', 'proper')" in note(load(words), "look like data")


def test_ordinary_headers_are_not_doubted(tmp_path):
    for text in ("a,b\n1,x\n2,y\n", "a,b,c\na,1,2\nd,3,4\n", "yes,n\n3,4\n"):
        assert lacks(load(write(tmp_path / "t.csv", text)), "look like data"), text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"got '1' in columns \[1, 2\]. Column names .* look like data .*--no-header"),
        ({"names": ["a", "b", "a"]}, r"got 'a' in columns \[1, 3\]$"),
        ({"names": ["a", "b", "c"], "columns": ["z"]}, "name a column.*look like data"),
        ({"names": ["a", "b", "c"], "domain": Domain.of({"z": [1]})}, "column 'z'.*--no-header"),
    ],
)
def test_errors_of_a_file_without_header(tmp_path, options, message):
    with pytest.raises((TableError, DomainError), match=message):
        load(write(tmp_path / "t.csv", "1,1,x\n2,3,y\n"), **options)


def test_files_whose_first_records_differ(tmp_path):
    first = write(tmp_path / "a.csv", "1,x\n2,y\n")
    second = write(tmp_path / "b.csv", "3,x\n4,y\n")
    with pytest.raises(TableError, match=r"columns of a.csv.*'1', '3'.*look like data.*no-header"):
        load([first, second])
    third = write(tmp_path / "c.csv", "u,x\n4,y\n")
    fourth = write(tmp_path / "d.csv", "v,x\n4,y\n")
    with pytest.raises(TableError, match=r"these differ: \['u', 'v'\]$"):
        load([third, fourth])


# ---------------------------------------------------------------- declared domains


def test_columns_outside_the_domain_are_named(tmp_path):
    frame = {name: [1, 2] for name in "abcdefghijklm"}
    table = load(frame, domain=Domain.of({"a": [1, 2]}), exclude=["b"], weights="c")
    assert (
        "10 columns of the table are not in the domain and were left out: "
        "'d', 'e', 'f', 'g', 'h', 'i', 'j', 'k' and 2 more." in table.notes
    )
    assert "Categories were declared in a Domain." in table.notes
    two = {"a": [1, 2], "b": [1, 2]}
    one = load(two, domain=Domain.of({"a": [1, 2]}))
    assert "1 column of the table is not in the domain and was left out: 'b'." in one.notes
    # Columns that are left out on purpose are not reported.
    both = Domain.of({"a": [1, 2], "b": [1, 2]})
    assert lacks(load(two, domain=both, columns=["a"]), "left out")
    assert lacks(load(two, domain=both, exclude=["b"]), "left out")
    path = write(tmp_path / "people.yaml", "columns: {a: [1, 2]}\n")
    for source in (two, write(tmp_path / "t.csv", "a,b\n1,3\n2,4\n")):
        declared = load(source, domain=path)
        assert "Categories were declared in people.yaml." in declared.notes
        assert "left out: 'b'." in note(declared, "not in the domain")


def test_all_columns_that_do_not_fit_are_reported_at_once():
    domain = Domain.of({name: ["x", "y"] for name in "abcdefg"})
    good = {name: ["x", "y"] for name in "abcdefg"}
    with pytest.raises(DomainError, match=r"^expected a category of the domain in column 'b'"):
        load(good | {"b": ["x", "q"]}, domain=domain)
    with pytest.raises(
        DomainError,
        match=r"got 2 that do not: 'b', 'e'. \(1\) .*'b', got 'q' in 1 rec.* \(2\) .*'e', got 1\.",
    ):
        load(good | {"b": ["x", "q"], "e": ["x", None]}, domain=domain)
    with pytest.raises(DomainError, match=r"got 7 that do not") as caught:
        load({name: ["x", "q"] for name in "abcdefg"}, domain=domain)
    assert "(5)" in str(caught.value)
    assert "(6)" not in str(caught.value)
    with pytest.raises(DomainError, match="expected columns 'f', 'g' of the domain in the table"):
        load({name: ["x", "y"] for name in "abcde"}, domain=domain)


def test_types_of_known_labels_are_shown():
    assert did_you_mean("q", [1, 2, "none", True]) == " Known: 1, 2, 'none', True."
    assert did_you_mean("1", [1, "1", 2]) == " Did you mean 1 or '1'?"
    assert did_you_mean("nome", ["none", "other", 3]) == " Did you mean 'none'?"
    assert did_you_mean("q", []) == ""
    assert did_you_mean("q", range(13)) == ""
    with pytest.raises(DomainError, match="Known: 1, 2, 'none'"):
        load({"a": [1, 2, 7]}, domain=Domain((Attribute("a", (1, 2, "none"), missing="none"),)))


# ---------------------------------------------------------------- tokens, identifiers, codes


def test_tokens_that_never_occur(tmp_path):
    frame = {"a": ["x", "?"], "b": [1.5, -9]}
    assert (
        "The token 'v' (null_values, --null) occurs nowhere."
        in load(frame, null_values=["v", "?"]).notes
    )
    assert (
        "The tokens 'v', 8 (null_values, --null) occur nowhere."
        in load(frame, null_values=["", "v", -9, 8, float("nan")]).notes
    )
    assert lacks(load(frame), "nowhere")
    assert lacks(load(frame, null_values=["?", -9.0]), "nowhere")
    path = write(tmp_path / "t.csv", "a,b\n1,-99999.0\n?,3.0\n")
    table = load(path, null_values=["?", "-99999", "0", 7])
    assert table.domain["a"].categories == (1, MISSING_LABEL)
    assert table.domain["b"].categories == (3, MISSING_LABEL)
    assert "'0', 7 (" in note(table, "nowhere")
    assert lacks(load(path, null_values=["?"], missing="drop"), "nowhere")


def test_columns_that_look_like_identifiers():
    ids = [f"p{i}" for i in range(100)]
    table = load({"id": ids, "half": ids[:50] * 2, "few": ["x", "y"] * 50})
    assert "Column 'id' has 100 categories in 100 records" in note(table, "identifies")
    assert "(exclude, --exclude)" in note(table, "identifies")
    assert lacks(load({"id": ids[:50]}), "identifies")
    assert lacks(load({"id": ids}, min_count=2), "identifies")
    assert lacks(load({"n": list(range(100))}), "identifies")
    assert "'n' has" in note(load({"n": list(range(100))}, bins={"n": "none"}), "identifies")


def test_whole_numbers_that_may_be_codes():
    frame = {"real": [i + 0.5 for i in range(60)], "INDP": list(range(60)), "n m": [*range(60)]}
    found = note(load(frame), "codes")
    assert "'INDP', 'n m'" in found
    assert "bins={'INDP': 'none'} (--bins INDP=none)" in found
    assert "(--bins 'n m=none')" in note(load(frame, exclude=["INDP"]), "codes")
    assert "'n m'" not in note(load(frame, bins={"n m": 5}), "codes")
    assert lacks(load(frame, exclude=["INDP", "n m"]), "codes")


def test_one_pooled_category():
    table = load({"a": ["x"] * 5 + ["y"] * 2}, min_count=3)
    assert (
        "Column 'a': 1 category with fewer than 3 records (2 records) was pooled into '(other)'."
        in table.notes
    )
    table = load({"a": ["x"] * 5 + ["y"] + ["z"]}, min_count=2)
    assert "2 categories with fewer than 2 records (2 records together) were" in note(table, "pool")
    dropped = load({"a": ["x", None]}, missing="drop").notes
    assert "1 of 2 records was dropped for missing values in 'a' (1)." in dropped


# ---------------------------------------------------------------- real data


def test_newcomers_reading_of_adult(data_dir):
    files = [data_dir / "adult" / name for name in ("adult.data", "adult.test")]
    with pytest.raises(TableError, match=r"adult\.(data|test) look like data"):
        load(files)
    table = load(files, header=False, null_values=["v"])
    assert "'<=50K' and '<=50K.', and 1 more group" in note(table, "differ only")
    assert "strip='.' (--strip .)" in note(table, "differ only")
    assert "'v'" in note(table, "nowhere")
    assert lacks(table, "identifies")
