"""Bad input: exit code 2, one line that names the culprit, no traceback, nothing written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from seepage.cli import VERBS

Run = Callable[..., Result]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def refused(run: Run, folder: Path, *arguments: object, verb: str = "audit") -> str:
    """Run with every kind of output asked for, and check the rules that hold for all errors."""
    before = snapshot(folder)
    result = run(verb, *arguments, "--out", folder / "never", "--csv", "never.csv")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert snapshot(folder) == before
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("hint: ") for line in rest)
    assert "Traceback" not in result.stderr
    return result.stderr


TABLES = [
    ("empty", b"", [], "table.csv"),
    ("blank", b"\n\n", [], "table.csv"),
    ("header only", b"a,b\n", [], "record|row"),
    ("one column", b"a\nx\ny\n", [], "'a'"),
    ("duplicate names", b"a,b,a\nx,y,z\n", [], "'a'"),
    ("not UTF-8", "a,b\ncaf\u00e9,1\n".encode("latin-1"), [], "(?i)utf-?8"),
    ("binary", b"PK\x03\x04\x00\x00\xff\xfe\x00" * 40, [], "table.csv"),
    ("ragged", b"a,b\n1,2\n1,2,3\n", [], "(?i)line|row|field|column"),
    ("missing refused", b"a,b\nx,\ny,z\n", ["--missing", "error"], "'b'"),
    ("null token refused", b"a,b\nx,NA\ny,z\n", ["--missing", "error", "--null", "NA"], "'b'"),
    ("all dropped", b"a,b\nx,\ny,\n", ["--missing", "drop"], "record|row"),
    ("negative weight", b"a,b,w\nx,p,-1\ny,q,2\n", ["-w", "w"], "(?s)'w'.*-1"),
    ("fractional weight", b"a,b,w\nx,p,1.5\ny,q,2\n", ["-w", "w"], r"(?s)'w'.*1\.5"),
    ("text weight", b"a,b,w\nx,p,two\ny,q,2\n", ["-w", "w"], "(?s)'w'.*two"),
    ("empty weight", b"a,b,w\nx,p,\ny,q,2\n", ["-w", "w"], "'w'"),
    ("zero weights", b"a,b,w\nx,p,0\ny,q,0\n", ["-w", "w"], "(?i)weight"),
    ("unknown weight", b"sex,age\nx,p\n", ["-w", "agee"], "'agee'.*'age'"),
    ("unknown column", b"sex,age\nx,p\n", ["-c", "sex,agee"], "'agee'.*'age'"),
    ("unknown exclude", b"sex,age\nx,p\n", ["-x", "agee"], "'agee'.*'age'"),
    ("unknown bins", b"sex,age\nx,1\n", ["--bins", "agee=3"], "'agee'.*'age'"),
    ("bins of text", b"sex,age\nx,1\ny,2\n", ["--bins", "sex=3"], "'sex'"),
    ("edges down", b"sex,age\nx,1\ny,2\n", ["--bins", "age=3,2"], "'age'"),
    ("outside edges", b"sex,age\nx,1\ny,20\n", ["--bins", "age=0,10"], "(?s)'age'.*20"),
    ("unknown budget", b"sex,age\nx,p\ny,q\n", ["-b", "agee=1"], "'agee'.*'age'"),
    ("excluded budget", b"sex,age,z\nx,p,1\ny,q,2\n", ["-x", "z", "-b", "z=1"], "'z'"),
    ("bad bins", b"sex,age\nx,1\n", ["--bins", "age=x"], "--bins.*'age=x'"),
    ("n-bins", b"sex,age\nx,1.5\ny,2.5\n", ["--n-bins", "0"], "0"),
    ("min count", b"sex,age\nx,1\ny,2\n", ["--min-count", "-1"], "-1"),
    ("names too few", b"1,2,3\n4,5,6\n", ["--no-header", "--names", "a,b"], "(?i)name"),
    ("unknown encoding", b"a,b\n1,2\n", ["--encoding", "klingon"], "klingon"),
    ("separator", b"a,b\n1,2\n", ["-s", "::"], "'::'"),
    ("chart ending", b"a,b\n1,2\n", ["--chart", "x.bmp"], "x.bmp"),
]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [case[1:] for case in TABLES],
    ids=[case[0] for case in TABLES],
)
def test_bad_tables(
    run: Run, folder: Path, content: bytes, options: list[str], message: str
) -> None:
    (folder / "table.csv").write_bytes(content)
    stderr = refused(run, folder, "table.csv", *options)
    assert re.search(message, stderr), stderr


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [case[1:] for case in TABLES if case[0] != "one column" and "-b" not in case[2]],
    ids=[case[0] for case in TABLES if case[0] != "one column" and "-b" not in case[2]],
)
def test_bad_tables_of_calibrate(
    run: Run, folder: Path, content: bytes, options: list[str], message: str
) -> None:
    (folder / "table.csv").write_bytes(content)
    stderr = refused(run, folder, "table.csv", *options, verb="calibrate")
    assert re.search(message, stderr), stderr


@pytest.mark.parametrize("epsilon", ["-1", "nan", "NaN", "abc", "", "-inf", "1;2"])
@pytest.mark.parametrize("option", ["-e", "--target", "-b"])
def test_bad_budget(run: Run, people: Path, folder: Path, option: str, epsilon: str) -> None:
    value = f"sex={epsilon}" if option == "-b" else epsilon
    stderr = refused(run, folder, people, option, value)
    assert repr(epsilon) in stderr or repr(value) in stderr


def test_one_row(run: Run, folder: Path) -> None:
    (folder / "one.csv").write_text("a,b\nx,y\n", encoding="utf-8")
    assert "at least two records" in refused(run, folder, "one.csv")


def test_too_many_categories(run: Run, folder: Path) -> None:
    rows = "\n".join(f"id{i},{i % 3}" for i in range(100_000))
    (folder / "ids.csv").write_text("person,group\n" + rows + "\n", encoding="utf-8")
    stderr = refused(run, folder, "ids.csv")
    assert "'person'" in stderr
    assert re.search("100,?000", stderr)
    assert re.search("GB|MB", stderr)
    assert "--exclude" in stderr


def test_null_like_texts_are_categories_unless_named(run: Run, folder: Path) -> None:
    (folder / "t.csv").write_text("a,b\nNaN,1\nNone,2\n,1\nNA,2\n", encoding="utf-8")
    result = run("audit", "t.csv", "--null", "NA", "--null", "NaN", "--null", "None", "--json")
    assert result.exit_code == 0, result.output


def test_domain_misses_a_value(run: Run, people: Path, folder: Path) -> None:
    (folder / "domain.yaml").write_text(
        "columns:\n  sex: {categories: [f]}\n  coin: {categories: [heads, tails]}\n",
        encoding="utf-8",
    )
    stderr = refused(run, folder, people, "-d", "domain.yaml", "-c", "sex,coin")
    assert "'sex'" in stderr
    assert "'m'" in stderr


@pytest.mark.parametrize("content", [b"", b"columns: 3", b"[", b"\xff\x00", b"columns: {a: {}}"])
def test_broken_domain(run: Run, people: Path, folder: Path, content: bytes) -> None:
    (folder / "domain.yaml").write_bytes(content)
    refused(run, folder, people, "-d", "domain.yaml")


def test_missing_files(run: Run, people: Path, folder: Path) -> None:
    assert "absent.csv" in refused(run, folder, "absent.csv")
    assert "absent.yaml" in refused(run, folder, people, "-d", "absent.yaml")
    assert "absent.json" in refused(run, folder, people, "--budgets", "absent.json")


def test_folder_as_table(run: Run, folder: Path) -> None:
    (folder / "tables").mkdir()
    assert "tables" in refused(run, folder, "tables")


def test_broken_parquet(run: Run, folder: Path) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1 nothing")
    (folder / "t.arrow").write_bytes(b"ARROW1 nothing")
    assert "t.parquet" in refused(run, folder, "t.parquet")
    assert "t.arrow" in refused(run, folder, "t.arrow")


def test_no_table_or_two_sources(run: Run, people: Path, folder: Path) -> None:
    assert "TABLE or --example" in refused(run, folder)
    assert "TABLE or --example" in refused(run, folder, people, "--example")


def test_output_is_an_input(run: Run, people: Path, folder: Path) -> None:
    (folder / "b.json").write_text("{}", encoding="utf-8")
    (folder / "soft.csv").symlink_to(people)
    os.link(people, folder / "hard.csv")
    for target in (people, Path("people.csv"), Path("./x/../people.csv"), "soft.csv", "hard.csv"):
        stderr = refused(run, folder, people, "--html", target)
        assert "--html" in stderr
    assert "--json" in refused(run, folder, people, "--budgets", "b.json", "--json=b.json")


@pytest.mark.parametrize("digits", [400, 5000])
def test_enormous_budgets(run: Run, people: Path, folder: Path, digits: int) -> None:
    (folder / "b.json").write_text(f'{{"sex": {"1" * digits}}}', encoding="utf-8")
    stderr = refused(run, folder, people, "--budgets", "b.json")
    assert "'b.json'" in stderr
    assert len(stderr) < 300


@pytest.mark.parametrize("value", ["a\nb", "a,\n", '"a"\n"b"', "x" * 200_000, "\n"])
@pytest.mark.parametrize("option", ["-c", "-x", "--names"])
def test_names_that_are_no_list(
    run: Run, people: Path, folder: Path, option: str, value: str
) -> None:
    refused(run, folder, people, option, value)


@pytest.mark.parametrize("value", ["0", "1", "-1", "nan", "abc", "", "95%"])
def test_bad_confidence(run: Run, people: Path, folder: Path, value: str) -> None:
    assert f"--confidence to be a number between 0 and 1, or none, got {value!r}" in refused(
        run, folder, people, "--confidence", value
    )


def test_link_that_leads_in_a_circle(run: Run, people: Path, folder: Path) -> None:
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    result = run("audit", people, "--html", "one")
    assert result.exit_code == 2
    assert "'one', a link that leads in a circle" in result.stderr
    assert (folder / "one").is_symlink()


def test_domain_is_an_output_like_others(run: Run, people: Path, folder: Path) -> None:
    assert "'no/d.yaml'" in refused(run, folder, people, "--write-domain", "no/d.yaml")
    assert "--write-domain" in refused(run, folder, people, "--write-domain", people)


@pytest.mark.parametrize("verb", ["audit", "calibrate"])
def test_hints_and_help_agree(run: Run, verb: str) -> None:
    from seepage.cli._run import CAPACITY_HINT

    shown = run(verb, "--help").stdout
    for option in re.findall(r"--[a-z-]+", CAPACITY_HINT):
        assert option in shown
    for code in ("2 bad input", "3 a defect", "130 interrupted", "141 the reader"):
        assert code in re.sub(r"\s+", " ", shown)


def test_same_output_twice(run: Run, people: Path, folder: Path) -> None:
    assert "'x.html'" in refused(run, folder, people, "--html", "x.html", "--json=x.html")
    before = snapshot(folder)
    result = run("audit", people, "--json", "-", "--csv", "-")
    assert result.exit_code == 2
    assert "standard output" in result.stderr
    assert snapshot(folder) == before


def test_impossible_outputs(run: Run, people: Path, folder: Path) -> None:
    (folder / "place").mkdir()
    assert "'place'" in refused(run, folder, people, "--html", "place")
    assert "no/x.html" in refused(run, folder, people, "--html", "no/x.html")
    assert "people.csv" in refused(run, folder, people, "--html", people / "x.html")
    result = run("audit", people, "--out", "a/b/c")
    assert result.exit_code == 2
    assert not (folder / "a").exists()
    assert run("audit", people, "--out", people).exit_code == 2


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere"
)
def test_unwritable_folder(run: Run, people: Path, folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    assert "locked" in refused(run, folder, people, "--html", "locked/x.html")


def test_outputs_are_checked_before_the_table_is_read(run: Run, folder: Path) -> None:
    (folder / "table.csv").write_bytes(b"")
    assert "no/x.html" in refused(run, folder, "table.csv", "--html", "no/x.html")


def test_nothing_is_written_when_one_renderer_fails(
    run: Run, people: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise RuntimeError("renderer\nbroke")

    monkeypatch.setattr("seepage.report.html", broken)
    before = snapshot(folder)
    result = run("audit", people, "--json=a.json", "--csv", "a.csv", "--html", "a.html")
    assert result.exit_code == 3
    assert result.stderr.startswith("internal error: RuntimeError: renderer broke\nhint: ")
    assert snapshot(folder) == before


def test_debug_shows_the_exception(run: Run, folder: Path) -> None:
    result = run("audit", folder / "absent.csv", "--debug")
    assert result.exit_code == 1
    assert result.exception is not None
    assert not isinstance(result.exception, SystemExit)


def test_interrupt(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seepage.plan.audit.audit", interrupted)
    result = run("audit", people)
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_memory(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("seepage.plan.audit.audit", full)
    result = run("audit", people)
    assert result.exit_code == 2
    assert "hint: " in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["audit", "--bogus"], ["audit", "x", "--n-bins", "many"], ["audit", "x", "--binning", "odd"],
     ["auditt"], ["audit", "x", "--top", "-1"], ["audit", "x", "--missing"]],
)  # fmt: skip
def test_usage_errors(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def command(folder: Path, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "80"}
    environment.update(options.pop("env", {}))  # type: ignore[call-overload]
    return subprocess.Popen(
        [sys.executable, "-m", "seepage", *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_real_command(people: Path, folder: Path) -> None:
    (folder / "bad.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    good = command(folder, "audit", "people.csv", "--json")
    bad = command(folder, "audit", "bad.csv", "--csv", "x.csv")
    plain = command(folder, "audit", "people.csv", env={"PYTHONIOENCODING": "ascii"})
    stdout, stderr = good.communicate(timeout=120)
    assert (good.returncode, stderr) == (0, b"")
    assert stdout.startswith(b"{")
    stdout, stderr = bad.communicate(timeout=120)
    assert (bad.returncode, stdout) == (2, b"")
    assert stderr.startswith(b"error: ")
    assert b"Traceback" not in stderr
    stdout, stderr = plain.communicate(timeout=120)
    assert (plain.returncode, stderr) == (0, b"")
    assert b"pairs that leak most: releasing" in stdout
    assert not (folder / "x.csv").exists()


def test_closed_pipe_is_silent(people: Path, folder: Path) -> None:
    process = command(folder, "audit", "people.csv", "--json")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) in (0, 141)


@pytest.mark.parametrize("verb", ["audit", "calibrate"])
def test_help_loads_nothing_heavy(folder: Path, verb: str) -> None:
    code = (
        "import sys\n"
        "from seepage.cli import app\n"
        f"try:\n    app(['{verb}', '--help'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'scipy', 'polars', 'altair', 'narwhals', 'pandas', 'pyarrow', 'jinja2', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_the_help_of_the_group_loads_no_verb(folder: Path) -> None:
    code = (
        "import sys\n"
        "from seepage.cli import VERBS, app\n"
        "try:\n    app(['--help'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "verbs = {f'seepage.cli.{verb}' for verb in VERBS}\n"
        "print(sorted((verbs | {'numpy'}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_every_verb_has_a_module_and_shows_its_help(run: Run) -> None:
    top = run("--help").stdout
    for verb in VERBS:
        assert f"│ {verb} " in top
        assert f"Usage: seepage {verb} " in run(verb, "--help").stdout
