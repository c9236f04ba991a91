"""What the audit command writes, and where."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import seepage

Run = Callable[..., Result]


def test_report(run: Run, people: Path) -> None:
    result = run("audit", people)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.startswith("One of 2 pairs that leak most: releasing")
    assert "sex ← copy" in result.stdout
    assert "8 records, 4 columns, 12 ordered pairs" in result.stdout
    assert "\x1b" not in result.stdout


def test_json_alone_on_standard_output(run: Run, people: Path) -> None:
    for arguments in (
        ["--json", people],
        [people, "--json"],
        [people, "--json", "-"],
        [people, "--json=-", "--top", "3"],
    ):
        result = run("audit", *arguments)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        content = json.loads(result.stdout)
        assert content["format"] == "seepage.audit"
        assert len(content["pairs"]) == 12


def test_json_never_takes_the_table_for_its_file(run: Run, people: Path) -> None:
    before = people.read_bytes()
    assert run("audit", "--json", people).exit_code == 0
    assert people.read_bytes() == before
    result = run("audit", people, "--json", "result.json")
    assert result.exit_code == 0, result.output
    assert result.stderr.split() == ["wrote", "result.json"]
    assert result.stdout.startswith("One of 2 pairs that leak most")
    assert json.loads(Path("result.json").read_text(encoding="utf-8"))["records"] == 8


def test_csv(run: Run, people: Path) -> None:
    result = run("audit", people, "--csv", "-", "-e", "inf")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 12
    by_pair = {(row["secret"], row["released"]): row for row in rows}
    assert float(by_pair["sex", "copy"]["leakage"]) == math.inf
    assert float(by_pair["sex", "coin"]["leakage"]) == 0
    assert by_pair["sex", "coin"]["secret_value"] == ""


def test_everything_into_a_folder(run: Run, people: Path, folder: Path) -> None:
    result = run("audit", people, "--out", "results", "--chart", "map.png", "--html", "page.html")
    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in (folder / "results").iterdir())
    assert written == ["audit.csv", "audit.html", "audit.json", "heatmap.svg"]
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "results" / "heatmap.svg").read_bytes()
    assert "<html" in (folder / "page.html").read_text(encoding="utf-8")
    assert result.stderr.count("wrote ") == 6
    again = run("audit", people, "--out", "results", "--quiet")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "")


def test_quiet(run: Run, people: Path) -> None:
    result = run("audit", people, "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_device_is_written_to_and_not_replaced(run: Run, people: Path) -> None:
    device = Path("/dev/null")
    if not device.is_char_device():
        pytest.skip("no null device here")
    assert run("audit", people, "-q", "--csv", device).exit_code == 0
    assert device.is_char_device()


def test_link_is_followed(run: Run, people: Path, folder: Path) -> None:
    (folder / "real.csv").write_text("old", encoding="utf-8")
    (folder / "link.csv").symlink_to(folder / "real.csv")
    assert run("audit", people, "--csv", "link.csv").exit_code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text(encoding="utf-8").startswith("secret,")


def test_budgets(run: Run, people: Path, folder: Path) -> None:
    (folder / "budgets.json").write_text('{"sex": 0.5, "copy": 4}', encoding="utf-8")
    result = run(
        "audit", people, "-e", "2", "--budgets", "budgets.json", "-b", "copy=inf", "--json"
    )
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["budgets"] == {"sex": 0.5, "copy": "inf", "coin": 2.0, "age": 2.0}


def test_target(run: Run, people: Path) -> None:
    assert run("audit", people, "--target", "1").exit_code == 0
    missed = run("audit", people, "--target", "0.99", "--csv", "pairs.csv")
    assert missed.exit_code == 1
    assert missed.stderr.splitlines()[-1].startswith("target missed: expected at most 0.99 nats")
    assert Path("pairs.csv").exists()
    assert run("audit", people, "-x", "copy,age", "--target", "0").exit_code == 0
    assert run("audit", people, "-e", "inf", "--target", "inf").exit_code == 0


def test_columns(run: Run, people: Path) -> None:
    for arguments in (["-c", "sex,coin"], ["-x", "copy", "-x", "age"]):
        content = json.loads(run("audit", people, "--json", *arguments).stdout)
        assert list(content["budgets"]) == ["sex", "coin"]


def test_several_files_are_one_table(run: Run, people: Path, folder: Path) -> None:
    other = folder / "more.csv"
    other.write_text("sex,copy,coin,age\nf,F,heads,20\n", encoding="utf-8")
    content = json.loads(run("audit", people, other, "--json").stdout)
    assert content["records"] == 9


def test_headerless(run: Run, folder: Path) -> None:
    (folder / "raw.data").write_text("a; 1; x\nb; 2; ?\na; 1; y\n", encoding="utf-8")
    result = run(
        "audit", "raw.data", "--no-header", "--names", "p,q,r", "-s", ";", "--null", "?",
        "--bins", "q=none", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["records"] == 3
    assert list(content["budgets"]) == ["p", "q", "r"]
    dropped = run(
        "audit", "raw.data", "--no-header", "-s", ";", "--null", "?", "--missing", "drop", "--json"
    )
    assert json.loads(dropped.stdout)["records"] == 2


def test_weights(run: Run, folder: Path) -> None:
    (folder / "w.csv").write_text("a,b,w\nx,p,3\ny,q,2\n", encoding="utf-8")
    content = json.loads(run("audit", "w.csv", "-w", "w", "--json").stdout)
    assert (content["records"], content["weight"]) == (2, 5)
    assert list(content["budgets"]) == ["a", "b"]


def test_example(run: Run) -> None:
    result = run("audit", "--example")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Worst pair: releasing")


def test_adult(run: Run, data_dir: Path) -> None:
    files = [data_dir / "adult" / name for name in ("adult.data", "adult.test")]
    names = (
        "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,"
        "race,sex,capital-gain,capital-loss,hours-per-week,native-country,income"
    )
    result = run(
        "audit", *files, "--no-header", "--names", names, "--null", "?", "--missing", "drop",
        "--strip", ".", "-x", "fnlwgt", "--json", "--no-triples", "--confidence", "none",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["records"] == 45_222
    assert content["domain"]["income"]["categories"] == ["<=50K", ">50K"]
    found = {(p["secret"], p["released"]): p["leakage"]["value"] for p in content["pairs"]}
    for secret, released, value in (
        ("sex", "relationship", 0.71801653),
        ("sex", "income", 0.25150683),
        ("relationship", "sex", 0.9996056),
        ("education", "income", 0.80750767),
        ("sex", "occupation", 0.41301284),
        ("race", "native-country", 0.77073491),
        ("relationship", "marital-status", 1.0),
    ):
        assert abs(found[secret, released] - value) < 6e-9, (secret, released)


def test_strip(run: Run, folder: Path) -> None:
    (folder / "dots.csv").write_text("a,b\n x. ,1\ny,2\nx,1\n", encoding="utf-8")
    plain = json.loads(run("audit", "dots.csv", "--json").stdout)
    assert plain["domain"]["a"]["categories"] == ["x", "x.", "y"]
    stripped = json.loads(run("audit", "dots.csv", "--json", "--strip", ".").stdout)
    assert stripped["domain"]["a"]["categories"] == ["x", "y"]


def test_confidence(run: Run, people: Path) -> None:
    def limits(*options: str) -> list[dict[str, float] | None]:
        result = run("audit", people, "--json", *options)
        assert result.exit_code == 0, result.output
        return [pair["sampled"] for pair in json.loads(result.stdout)["pairs"]]

    assert {item and item["confidence"] for item in limits()} == {0.95}
    assert {item and item["confidence"] for item in limits("--confidence", "0.5")} == {0.5}
    assert limits("--confidence", "none") == [None] * 12


def test_triples(run: Run, folder: Path) -> None:
    rows = [f"{a},{b},{a ^ b}" for a in (0, 1) for b in (0, 1)] * 20
    (folder / "xor.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = {
        option: json.loads(run("audit", "xor.csv", "--json", *option).stdout)["triples"]
        for option in ((), ("--triples",), ("--no-triples",))
    }
    assert found[()] == found["--triples",] != []
    assert found["--no-triples",] is None


@pytest.mark.parametrize(
    "options", [(), ("--min-count", "3"), ("--n-bins", "2"), ("--bins", "age=0,30,60")]
)
def test_written_domain_declares_what_was_used(
    run: Run, people: Path, options: tuple[str, ...]
) -> None:
    with people.open("a", encoding="utf-8") as stream:
        stream.write("f,F,tails,\nx,F,tails,20\n")
    first = run("audit", people, "--json", "--write-domain", "people.yaml", *options)
    assert first.exit_code == 0, first.output
    assert first.stderr == "wrote people.yaml\n"
    again = run("audit", people, "--json", "-d", "people.yaml")
    assert again.exit_code == 0, again.output
    one, two = (json.loads(result.stdout) for result in (first, again))
    for key in ("domain", "pairs", "totals"):
        assert one[key] == two[key]


def test_open_files_are_written_to(people: Path, folder: Path) -> None:
    if not Path("/dev/fd/1").exists():
        pytest.skip("no names of open files here")
    for option in ("--csv", "--json", "--html"):
        expected = None
        for name in ("=/dev/stdout", " /dev/stdout", "=/dev/fd/1", "=-"):
            done = shell(folder, f"audit people.csv {option}{name}")
            assert (done.returncode, done.stderr) == (0, b""), option
            expected = expected or done.stdout
            assert done.stdout == expected
        assert expected is not None
    into_file = shell(folder, "audit people.csv --csv /dev/stdout > pairs.csv")
    assert (into_file.returncode, into_file.stdout) == (0, b"")
    piped = shell(folder, "audit people.csv -q --csv /dev/stderr")
    assert piped.stdout == b""
    assert piped.stderr == (folder / "pairs.csv").read_bytes()
    third = shell(folder, "audit people.csv -q --csv /dev/fd/3 3> third.csv")
    assert third.returncode == 0
    assert (folder / "third.csv").read_bytes() == piped.stderr


def test_streams_that_are_closed(people: Path, folder: Path) -> None:
    for line, code in (
        ("audit people.csv >&-", 0),
        ("audit people.csv -q 2>&-", 0),
        ("audit people.csv -q --csv a.csv <&- >&- 2>&-", 0),
        ("audit people.csv --json >&-", 2),
        ("audit absent.csv 2>&-", 2),
        ("--version >&- 2>&-", 0),
        ("audit --bogus 2>&-", 2),
    ):
        done = shell(folder, line)
        assert done.returncode == code, (line, done.stderr)
        assert b"Error" not in done.stderr
    assert (folder / "a.csv").read_bytes().startswith(b"secret,")


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", f"{shlex.quote(sys.executable)} -m seepage {line}"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
    )


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"seepage {seepage.__version__}\n"
    shown = run("audit", "--help")
    assert shown.exit_code == 0
    for word in ("Table", "Budgets", "Output", "--epsilon", "seepage audit --example", "--strip ."):
        assert word in shown.stdout
    root = run("--help")
    assert root.exit_code == 0
    assert "seepage audit --example" in root.stdout


def test_a_written_domain_stays_read_until_somebody_says_otherwise(run: Run, people: Path) -> None:
    for verb in ("audit", "count"):
        assert run(verb, people, "--write-domain", "d.yaml", "-q").exit_code == 0
        text = Path("d.yaml").read_text("utf-8")
        assert text.startswith(f"# Read from {people.name}. Look through it")
        again = run(verb, people, "-d", "d.yaml", "--write-domain", "e.yaml", "-q")
        assert again.exit_code == 0, again.output
        assert Path("e.yaml").read_text("utf-8") == text
    warning = "warning: the categories were read from data"
    for source in (("d.yaml",), (people, "-d", "d.yaml")):
        assert warning in run("plan", *source, "-e", "1", "-o", "plan.json").stderr
        told = run("randomize", people, "--plan", "plan.json", "-o", "r.csv").stderr
        assert "delete the line read_from" in told
    text = text.replace(f"read_from: {people.name}\n", "")
    Path("d.yaml").write_text(text, encoding="utf-8")
    assert warning not in run("plan", people, "-d", "d.yaml", "-e", "1", "-o", "plan.json").stderr
    assert "read_from" not in run("randomize", people, "--plan", "plan.json", "-o", "r.csv").stderr
    assert run("audit", people, "-d", "d.yaml", "--write-domain", "e.yaml", "-q").exit_code == 0
    assert Path("e.yaml").read_text("utf-8").startswith("columns:")
