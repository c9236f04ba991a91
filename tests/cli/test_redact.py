"""What the redact command writes, and how it fails."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import Result

from seepage.errors import CapacityError
from seepage.plan.redacting import redact_table
from seepage.sequence import redact
from seepage.sequence.chain import MarkovChain

Run = Callable[..., Result]
CHAIN = MarkovChain(np.array([[0.8, 0.2], [0.3, 0.7]]), states=("dry", "wet"))


@pytest.fixture
def days(folder: Path) -> Path:
    """Forty days of weather in the wrong order, with a column that would give it away."""
    codes = CHAIN.simulate(40, rng=3).tolist()
    rows = [f"{t},{CHAIN.states[c]},{10 * c}" for t, c in enumerate(codes)]
    path = folder / "days.csv"
    path.write_text("\n".join(["day,weather,rain", *reversed(rows)]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def published(folder: Path) -> tuple[Path, Path]:
    """A setting in which the published mechanism leaks more than ε."""
    chain = folder / "chain.json"
    chain.write_text('{"transition": [[0.99, 0.01], [0.8, 0.2]]}', encoding="utf-8")
    path = folder / "bits.csv"
    path.write_text("bit\n" + "0\n" * 9 + "1\n", encoding="utf-8")
    return path, chain


ORDERED = ("--order", "day", "--state", "weather")


def test_report(run: Run, days: Path) -> None:
    result = run("redact", days, *ORDERED, "--protect", "20", "--epsilon", "1")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "days.csv: 1 sequence, 40 records, mechanism certified (exact)" in result.stdout
    for title in ("Plans", "Chain", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    assert "--out redacted.csv" in result.stdout
    assert "'rain'" in result.stdout
    expected = redact_table(days, 1.0, protect=20, order="day", state="weather", apply=False)
    row = next(line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["1"])
    assert row[:4] == ["1", "40", "20", "1"]
    assert float(row[4]) == pytest.approx(expected.leakage, abs=1e-6)
    assert float(row[5]) == pytest.approx(expected.expected, abs=0.06)
    assert row[6] == "–"
    assert "\x1b" not in result.stdout


def test_json_is_the_result(run: Run, days: Path) -> None:
    result = run(
        "redact", days, *ORDERED, "-p", "20", "-e", "0.5", "-m", "data-independent", "--json"
    )
    assert result.exit_code == 0, result.output
    expected = redact_table(
        days, 0.5, protect="20", order="day", state="weather", mechanism="data-independent",
        apply=False,
    )  # fmt: skip
    assert json.loads(result.stdout) == json.loads(expected.to_json())


def test_release_without_seed(run: Run, days: Path) -> None:
    result = run("redact", days, *ORDERED, "-p", "20", "--out", "out.csv")
    assert result.exit_code == 0, result.output
    assert "warning: the chain was fitted to the table" in result.stderr
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["day", "weather", "(redaction)"]
    assert {row["(redaction)"] for row in rows} == {"release, chain fitted to this table"}
    assert [row["day"] for row in rows] == [str(t) for t in range(40)]
    assert rows[20]["weather"] == ""
    before = pl.read_csv(days).sort("day")["weather"].to_list()
    assert all(row["weather"] in {"", old} for row, old in zip(rows, before, strict=True))


def test_simulation_says_so_and_can_be_repeated(run: Run, days: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        result = run("redact", days, *ORDERED, "-p", "20", "--seed", "5", "-o", name, "-q")
        assert (result.exit_code, result.output) == (0, "")
    result = run(
        "redact", days, *ORDERED, "-p", "20", "--seed", "5", "-o", "c.csv", "--csv", "r.csv"
    )  # fmt: skip
    assert "keep this with the table" in result.stderr
    assert set(pl.read_csv("r.csv")["kind"]) == {"simulation, not a release"}
    assert pl.read_parquet("a.parquet").equals(pl.read_parquet("b.parquet"))
    metadata = pl.read_parquet_metadata("a.parquet")
    assert metadata["seepage.kind"] == "simulation, not a release"


def test_marker(run: Run, days: Path) -> None:
    result = run("redact", days, *ORDERED, "-p", "20", "-o", "o.csv", "--marker", "?", "-q")
    assert result.exit_code == 0, result.output
    assert pl.read_csv("o.csv")["weather"].to_list()[20] == "?"
    result = run("redact", days, *ORDERED, "-p", "20", "-o", "p.csv", "--marker", "wet")
    assert result.exit_code == 2
    assert not Path("p.csv").exists()
    result = run("redact", days, *ORDERED, "-p", "20", "-o", "p.parquet", "--marker", "?")
    assert (result.exit_code, "CSV only" in result.stderr) == (2, True)


def test_plan_is_kept_and_read_again(run: Run, days: Path) -> None:
    made = run("redact", days, *ORDERED, "-p", "20", "--save-plan", "plan.json")
    assert made.exit_code == 0, made.output
    first, second = made.stderr.splitlines()
    assert first.startswith("keep this with the table: ")
    assert second == "wrote plan.json"
    assert "--plan plan.json" in made.stdout
    again = run("redact", days, *ORDERED, "--plan", "plan.json", "-o", "q.csv", "--compare", "1")
    steps = again.stdout[again.stdout.index("\nNext") :]
    assert not any(x in steps for x in ("--mechanism", "--compare", "--save-plan", "--confidence"))
    assert "--html report.html" in steps
    assert "fitted to the table of the plan" in again.stderr
    assert "keep this" not in again.stderr
    used = run("redact", days, *ORDERED, "--plan", "plan.json", "-o", "o.csv", "--json")
    assert used.exit_code == 0, used.output
    content = json.loads(used.stdout)
    assert content["groups"][0]["plan"]["positions"] == [20]
    assert any("fitted to the table that" in text for text in content["assumptions"])
    assert "warning: no column marks the protected records" in used.stderr
    judged = run("redact", days, *ORDERED, "--plan", "plan.json", "-e", "0.01", "-o", "p.csv")
    assert (judged.exit_code, Path("p.csv").exists()) == (1, False)
    clash = run("redact", days, *ORDERED, "--plan", "plan.json", "--chain", "plan.json")
    assert (clash.exit_code, "no chain with a plan" in clash.stderr) == (2, True)


def test_plan_without_epsilon_needs_one_or_force(run: Run, days: Path) -> None:
    plan = redact.from_probabilities(CHAIN, np.eye(40)[:, [20, 20]], 20)
    Path("plan.json").write_text(plan.to_json(), encoding="utf-8")
    call = ("redact", days, *ORDERED, "--plan", "plan.json", "-o", "o.csv")
    bare = run(*call)
    assert (bare.exit_code, "give --epsilon, or --force" in bare.stderr) == (2, True)
    low = run(*call, "-e", "0.5")
    assert (low.exit_code, Path("o.csv").exists()) == (1, False)
    forced = run(*call, "--force")
    assert forced.exit_code == 0, forced.output
    assert set(pl.read_csv("o.csv")["(redaction)"]) == {"release without an ε"}
    above = run(*call, "-e", "0.5", "--force")
    assert above.exit_code == 1
    assert set(pl.read_csv("o.csv")["(redaction)"]) == {"release above ε"}
    high = run(*call, "-e", "9")
    assert high.exit_code == 0, high.output
    assert set(pl.read_csv("o.csv")["(redaction)"]) == {"release"}


def test_published_above_its_epsilon_is_not_written(
    run: Run, published: tuple[Path, Path], folder: Path
) -> None:
    path, chain = published
    call = ("redact", path, "-p", "0", "-e", "0.5", "-m", "published", "--chain", chain)
    result = run(*call, "-o", "o.csv")
    assert result.exit_code == 1
    assert "0.654546" in result.stdout
    assert "leaks 0.654546 nats" in result.stderr
    assert "o.csv was not written (--force" in result.stderr
    assert next(x for x in result.stdout.splitlines() if x.split()[:1] == ["1"]).split()[-3:] == [
        "–", "above", "ε",
    ]  # fmt: skip
    content = json.loads(run(*call, "-o", "o.csv", "--json").stdout)
    assert (content["released"], content["kind"]) == (None, "plan only, nothing drawn")
    assert not Path("o.csv").exists()
    forced = run(*call, "-o", "o.csv", "--force")
    assert forced.exit_code == 1
    assert Path("o.csv").exists()
    assert "was not written" not in forced.stderr


def test_every_file(run: Run, days: Path, folder: Path) -> None:
    result = run(
        "redact", days, *ORDERED, "-p", "20", "--json=r.json", "--csv", "r.csv", "--html",
        "r.html", "--chart", "r.png", "--chart", "r.svg", "--compare", "1", "--picture",
        "utility", "--quiet",
    )  # fmt: skip
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    with Path("r.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["position"] == "20"
    assert float(row["leakage"]) <= 1
    assert (folder / "r.png").read_bytes().startswith(b"\x89PNG")
    assert "published" in (folder / "r.svg").read_text(encoding="utf-8")
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Mechanisms side by side" in page


def test_marked_records_of_many_people(run: Run, folder: Path) -> None:
    rows = ["who,t,s,opt_out"]
    rows += [
        f"{w},{t},{'ab'[(t * t + w) % 3 == 0]},{int(t == w)}" for w in range(4) for t in range(9)
    ]
    path = folder / "people.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    result = run(
        "redact", path, "--id", "who", "--order", "t", "--state", "s", "--protect", "opt_out",
        "--smoothing", "0.5", "-o", "o.csv", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert [g["plan"]["positions"] for g in content["groups"]] == [[0], [1], [2], [3]]
    frame = pl.read_csv("o.csv")
    assert frame.filter(pl.col("opt_out") == 1)["s"].null_count() == 4


def test_example(run: Run) -> None:
    result = run("redact", "--example")
    assert result.exit_code == 0, result.output
    assert "presence.csv: 1 sequence, 336 records" in result.stdout


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-p", "40"), "from 0 to 39"),
        (("-p", "nobody"), "'nobody'"),
        ((), "name the column"),
        (("-p", "20", "-e", "-1"), "--epsilon"),
        (("-p", "20", "-e", "nan"), "--epsilon"),
        (("-p", "20", "--seed", "-1"), "--seed"),
        (("-p", "20", "--states", "dry,damp"), "got 'wet'"),
        (("-p", "20", "--chain", "absent.json"), "absent.json"),
        (("-p", "20", "--plan", "absent.json"), "absent.json"),
        (("-p", "20", "-o", "o.txt"), "o.txt"),
        (("-p", "20", "-o", "days.csv"), "differ from the files"),
        (("-p", "20", "-o", "-"), "name a file"),
        (("-p", "20", "--picture", "utility"), "--compare"),
        (("-p", "20", "--compare", "x"), "--compare"),
        (("-p", "20", "--marker", "?"), "no --out"),
        (("-p", "20", "--id", "rains"), "Did you mean 'rain'"),
        (("-p", "20", "--example"), "and --example"),
        (("-p", "20", "--confidence", "1.5"), "--confidence"),
        (("-p", "20", "--smoothing", "-1"), "--smoothing"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    run: Run, days: Path, options: tuple[str, ...], text: str
) -> None:
    before = sorted(Path.cwd().iterdir())
    result = run("redact", days, *ORDERED, "--save-plan", "s.json", *options)
    assert result.exit_code == 2, result.output
    assert text in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert sorted(Path.cwd().iterdir()) == before


def test_limits_of_epsilon(run: Run, days: Path) -> None:
    for epsilon in ("0", "inf"):
        result = run("redact", days, *ORDERED, "-p", "20", "-e", epsilon, "--json")
        assert result.exit_code == 0, result.output
        plan = json.loads(result.stdout)["groups"][0]["plan"]
        assert plan["utility"] == (0 if epsilon == "0" else pytest.approx(39 / 40))


def test_confidence(run: Run, days: Path) -> None:
    result = run(
        "redact", days, *ORDERED, "-p", "20", "-m", "quilt", "--confidence", "0.9", "--json"
    )
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["standing"] == "upper"
    assert content["leakage"] <= 1


def test_an_error_in_one_file_leaves_none(run: Run, days: Path, folder: Path) -> None:
    """A folder that vanishes after the check, as /proc has none that can be written."""
    target = folder / "gone" / "x.json"
    target.parent.mkdir()
    before = sorted(folder.rglob("*"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seepage.results.write_temporary", _failing("x.json"))
        result = run(
            "redact", days, *ORDERED, "-p", "20", "-o", "ok.csv", "--save-plan", "okp.json",
            "--html", "ok.html", "--json", "gone/x.json",
        )  # fmt: skip
    assert result.exit_code == 2
    assert result.stderr == (
        "error: expected --json to be written to 'gone/x.json', got an error: No such file or "
        "directory\n"
    )
    assert sorted(folder.rglob("*")) == before


def _failing(name: str) -> Callable[[Path, bytes, str], None]:
    from seepage.results import write_temporary

    def write(temporary: Path, content: bytes, path: str) -> None:
        if Path(path).name == name:
            raise FileNotFoundError(2, "No such file or directory", "/.x.json.jaaqv38z")
        write_temporary(temporary, content, path)

    return write


def test_the_release_appears_last(run: Run, days: Path, folder: Path) -> None:
    moved = []
    replace = Path.replace

    def watched(self: Path, target: str) -> Path:
        moved.append(Path(target).name)
        if moved[-1] == "r.json":
            raise PermissionError(1, "Operation not permitted", str(self))
        return replace(self, target)

    call = ("redact", days, *ORDERED, "-p", "20", "-o", "o.csv", "--save-plan", "p.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", watched)
        good = run(*call, "--csv", "r.csv")
        assert good.exit_code == 0, good.output
        assert moved == ["p.json", "r.csv", "o.csv"]
        assert good.stderr.splitlines()[-3:] == ["wrote o.csv", "wrote p.json", "wrote r.csv"]
        (folder / "o.csv").unlink()
        bad = run(*call, "--json", "r.json")
    assert (bad.exit_code, (folder / "o.csv").exists()) == (2, False)
    assert "expected --json to be written to 'r.json', got an error" in bad.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_options_that_would_be_ignored(run: Run, days: Path) -> None:
    Path("chain.json").write_text(
        '{"transition": [[0.8, 0.2], [0.3, 0.7]], "states": ["dry", "wet"]}', encoding="utf-8"
    )
    call = ("redact", days, *ORDERED, "-p", "20")
    made = run(*call, "--chain", "chain.json", "--save-plan", "plan.json", "-q")
    assert made.exit_code == 0, made.output
    for options, text in (
        (("--chain", "chain.json", "--smoothing", "1"), "no --smoothing with a chain"),
        (("--plan", "plan.json", "--smoothing", "1"), "no --smoothing with a plan"),
        (("--plan", "plan.json", "-m", "optimal"), "no --mechanism with a plan"),
        (("--plan", "plan.json", "--confidence", "0.9"), "no --confidence with a plan"),
    ):
        result = run(*call, *options)
        assert (result.exit_code, text in result.stderr) == (2, True), result.output


def test_minus_zero_and_hints(run: Run, days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("redact", days, *ORDERED, "-p", "20", "-e", "-0")
    assert result.exit_code == 0, result.output
    assert "within the 0 asked for" in " ".join(result.stdout.split())

    def full(*_: object, **__: object) -> None:
        raise CapacityError("expected less, got more")

    monkeypatch.setattr("seepage.plan.redacting.redact_table", full)
    result = run("redact", days, *ORDERED, "-p", "20")
    assert (result.exit_code, result.stderr) == (2, "error: expected less, got more\n")
