"""``seepage count``, and the verbs that take what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seepage.tables import domain_from_yaml, load, read_counts


@pytest.fixture
def parts(people: Path) -> list[Path]:
    """The people in two files."""
    header, *rows = people.read_text("utf-8").splitlines()
    paths = [people.parent / f"part-{i}.csv" for i in (1, 2)]
    for path, some in zip(paths, (rows[:4], rows[4:]), strict=True):
        path.write_text("\n".join([header, *some]) + "\n", encoding="utf-8")
    return paths


def test_parts_are_counted_apart_and_audited_together(run, people, parts):
    assert run("count", people, "--write-domain", "domain.yaml").exit_code == 0
    assert domain_from_yaml("domain.yaml") == load(people).domain
    for part in parts:
        done = run("count", part, "-d", "domain.yaml", "-o", part.with_suffix(".counts"))
        assert done.exit_code == 0
        assert done.stdout == ""
        assert "counted 4 records in 6 pairs of 4 columns of part-" in done.stderr
        assert "hint" not in done.stderr
        assert f"wrote {part.with_suffix('.counts')}" in done.stderr
    names = ["part-1.counts", "part-2.counts"]
    whole = json.loads(run("audit", people, "--no-triples", "--json").stdout)
    both = json.loads(run("audit", *names, "--json").stdout)
    assert both["pairs"] == whole["pairs"]
    assert both["source"] == "part-1.csv + part-2.csv"
    assert any("only pairwise counts" in note for note in both["assumptions"])
    assert run("count", *names, "--out", "all.counts", "-q").stderr == ""
    assert read_counts("all.counts").counts == load(people).counts()
    budgets = [
        json.loads(run("calibrate", *given, "--json").stdout)["budgets"]
        for given in ([people], names, ["all.counts"])
    ]
    assert budgets[0] == budgets[1] == budgets[2]
    few = json.loads(run("audit", *names, "-c", "sex,age", "--json").stdout)
    assert list(few["domain"]) == ["sex", "age"]


def test_counts_given_twice_are_told(run, people):
    run("count", people, "-q", "--out", "o.counts")
    done = run("count", "o.counts", "o.counts", "--out", "two.counts")
    told = "o.counts is given twice: each of its records counts 2 times."
    assert f"note: {told}" in done.stderr.splitlines()
    assert told in json.loads(run("audit", "o.counts", "o.counts", "--json").stdout)["assumptions"]
    assert told in json.loads(run("audit", "two.counts", "--json").stdout)["assumptions"]


def test_parts_with_domains_of_their_own_do_not_add_up(run, folder, parts):
    for part in parts:
        done = run("count", part, "--out", part.with_suffix(".counts"))
        assert "add up several parts, count each with one --domain" in done.stderr
    done = run("audit", "part-1.counts", "part-2.counts")
    assert done.exit_code == 2
    assert "different categories for 'sex'" in done.stderr
    assert "one declared domain" in done.stderr


def test_what_cannot_be_done(run, people):
    run("count", people, "--out", "a.counts")
    for arguments, message in (
        (("count", people), "expected --out FILE.counts or --write-domain"),
        (("count", people, "--out", "a.json"), "expected --out FILE.counts"),
        (("count", "--out", "a.counts"), "expected a TABLE or --example, got neither"),
        (("count", "a.counts", "--out", "a.counts"), "differ from the files that are read"),
        (("count", people, "a.counts", "--out", "b.counts"), "got both"),
        (("count", "none.csv", "--out", "b.counts"), "does not exist"),
        (("audit", "a.counts", "--triples"), "got counts only"),
        (("audit", "a.counts", "--n-bins", "3"), "no reading options with counts"),
        (("audit", "none.counts"), "No such file"),
        (("randomize", "a.counts", "--plan", "p.json", "--out", "r.csv"), ""),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert message in done.stderr
        assert "internal error" not in done.stderr
    assert not Path("b.counts").exists()


def test_a_damaged_file_ends_in_one_line(run, people):
    run("count", people, "--out", "a.counts")
    content = Path("a.counts").read_bytes()
    Path("a.counts").write_bytes(content[:-30])
    done = run("audit", "a.counts")
    assert done.exit_code == 2
    assert "damaged or edited" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_nothing_is_left_when_a_batch_fails(run, people, monkeypatch):
    from seepage.tables import streaming

    run("count", people, "--out", "a.counts")
    before = Path("a.counts").read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming._Columns, "code", fail)
    done = run("count", people, "--out", "a.counts", "-x", "age")
    assert done.exit_code == 130
    assert run("count", people, "--out", "new.counts").exit_code == 130
    assert Path("a.counts").read_bytes() == before
    assert sorted(x.name for x in Path().iterdir()) == ["a.counts", "people.csv"]


def test_example_and_options(run, folder):
    done = run("count", "--example", "--out", "e.counts", "--columns", "age,sex")
    assert done.exit_code == 0
    assert "hint" not in done.stderr
    assert run("audit", "e.counts", "--top", "1").exit_code == 0
    assert read_counts("e.counts").domain.names == ("age", "sex")
