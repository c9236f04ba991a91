"""What the estimate command writes, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import Result

from seepage.collect.designs import fake_data, independent
from seepage.collect.plan_files import write_plan
from seepage.domain import Domain
from seepage.plan.estimating import estimate
from seepage.plan.reports_io import write_reports

Run = Callable[..., Result]
DOMAIN = Domain.of({"sex": ["f", "m"], "smoker": ["no", "yes", "?"], "age": [1, 2]})


@pytest.fixture
def reports(folder: Path) -> Path:
    """600 simulated records, and their plan beside them."""
    plan = independent(DOMAIN, 2.0)
    rng = np.random.default_rng(0)
    write_plan(plan, folder / "plan.json")
    drawn = plan.randomize_codes(rng.integers(0, DOMAIN.shape, (600, 3)), rng=rng)
    write_reports(drawn, folder / "reports.parquet")
    return folder / "reports.parquet"


def read(result: Result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_report(run: Run, reports: Path) -> None:
    result = run("estimate", reports, "--plan", "plan.json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "3 two-way tables estimated without bias" in result.stdout
    assert "600 records (simulation, not a release), design independent" in result.stdout
    for title in ("sex × smoker", "sex × age", "smoker × age", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout
    assert "limits at 95 %" in result.stdout
    assert "\x1b" not in result.stdout


def test_json_is_the_result(run: Run, reports: Path) -> None:
    content = read(run("estimate", reports, "-p", "plan.json", "--json"))
    assert content == json.loads(estimate(reports, "plan.json").to_json())


def test_options_reach_the_estimate(run: Run, reports: Path) -> None:
    content = read(
        run(
            "estimate", reports, reports, "-p", "plan.json", "-k", "1", "-c", "sex,age",
            "--confidence", "0.8", "--project", "consistent", "--project", "simplex", "--json",
        )
    )  # fmt: skip
    assert [table["attributes"] for table in content["tables"]] == [["sex"], ["age"]]
    assert content["records"] == 1200
    assert content["confidence"] == 0.8
    assert len(content["steps"]) == 3
    assert sum(content["tables"][0]["estimate"]) == pytest.approx(1)
    one = read(run("estimate", reports, "-p", "plan.json", "-c", "sex", "--json"))
    assert [table["attributes"] for table in one["tables"]] == [["sex"]]


def test_what_is_doubtful_is_warned_of(run: Run, reports: Path) -> None:
    """Tables that do not say that they are reports, and files given twice."""
    pl.read_parquet(reports).drop("(plan)").write_csv("raw.csv")
    raw = run("estimate", "raw.csv", "-p", "plan.json")
    assert raw.exit_code == 0, raw.output
    (line,) = raw.stderr.splitlines()
    assert line.startswith(
        "warning: For 600 records it could not be checked that these are reports"
    )
    Path("link.parquet").symlink_to(reports)
    twice = run("estimate", reports, "link.parquet", "-p", "plan.json", "--project", "simplex")
    said = "reports.parquet is given twice: each of its records counts 2 times."
    assert twice.stderr == f"warning: {said}\n"
    assert said in " ".join(twice.stdout.split())
    both = read(run("estimate", reports, "raw.csv", reports, "-p", "plan.json", "--json", "-q"))
    assert both["records"] == 1800
    assert said in both["assumptions"]
    assert estimate([reports], "plan.json").doubts == ()
    added = estimate([reports, reports], "plan.json") + estimate([reports], "plan.json")
    assert added.doubts == (said,)


def test_a_budget_of_nothing(run: Run) -> None:
    plan = independent(DOMAIN, 0.0)
    write_plan(plan, "zero.json")
    write_reports(plan.randomize_codes(np.zeros((5, 3), dtype=int), rng=1), "zero.csv")
    result = run("estimate", "zero.csv", "-p", "zero.json")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: expected reports that identify the frequencies of 'sex', got a 'grr' mechanism "
        "with ε = 0, whose reports do not depend on the true category\n"
    )


def test_a_file_that_cannot_be_made_is_named(run: Run, reports: Path) -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    result = run("estimate", reports, "-p", "plan.json", "-q", "--out", "/proc/q.csv")
    assert result.exit_code == 2
    assert "'/proc/q.csv'" in result.stderr
    assert "/." not in result.stderr  # no temporary name


@pytest.mark.parametrize("step", ["simplex", "clip", "consistent", "update", "likelihood"])
def test_every_step(run: Run, reports: Path, step: str) -> None:
    result = run("estimate", reports, "-p", "plan.json", "--project", step)
    assert result.exit_code == 0, result.output
    assert "those of the unbiased estimate" in result.stdout


def test_every_file(run: Run, reports: Path, folder: Path) -> None:
    result = run(
        "estimate", reports, "-p", "plan.json", "-o", "t.csv", "--csv", "same.csv", "--json=t.json",
        "--html", "t.html", "--chart", "t.png", "--chart", "t.svg", "--quiet",
    )  # fmt: skip
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert (folder / "t.csv").read_bytes() == (folder / "same.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO((folder / "t.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 16
    assert {row["category_1"] for row in rows if row["attribute_1"] == "smoker"} == {
        "no", "yes", "?",
    }  # fmt: skip
    assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "t.svg").read_bytes()
    page = (folder / "t.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "http" not in page.replace("http-equiv", "")
    saved = run("estimate", reports, "-p", "plan.json", "--out", "u.json")
    assert saved.stderr == "wrote u.json\n"
    assert (folder / "u.json").read_bytes() == (folder / "t.json").read_bytes()


OPTIONS = [
    (["-k", "4"], "marginals from 1 to 3, got 4"),
    (["-k", "0"], "got 0"),
    (["-c", "smokr"], "'smokr'.*'smoker'"),
    (["-c", "sex,,age"], "--columns NAME,NAME"),
    (["--confidence", "1"], "confidence between 0 and 1, got 1.0"),
    (["--confidence", "nan"], "confidence"),
    (["-o", "x.txt"], "--out FILE.csv or FILE.json, got 'x.txt'"),
    (["-o", "plan.json"], "--out"),
    (["--csv", "reports.parquet"], "--csv"),
    (["--chart", "x.bmp"], "x.bmp"),
    (["--project", "simplex", "--project", "update"], "'update' as the first step"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=lambda x: str(x)[:40])
def test_bad_options(
    run: Run, reports: Path, folder: Path, options: list[str], message: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("estimate", reports, "-p", "plan.json", *options, "--html", "never.html")
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.search(message, result.stderr), result.stderr
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_bad_files(run: Run, reports: Path, folder: Path) -> None:
    (folder / "broken.json").write_text("{", encoding="utf-8")
    write_plan(independent(DOMAIN, 1.0), folder / "other.json")
    write_plan(fake_data(DOMAIN, 1.0), folder / "fake.json")
    for plan, message in (
        ("missing.json", "missing.json"),
        ("broken.json", "broken.json"),
        ("other.json", "made by another plan"),
        ("fake.json", "no information on pairs"),
    ):
        result = run("estimate", reports, "-p", plan)
        assert result.exit_code == 2, result.output
        assert message in result.stderr
    result = run("estimate", "missing.parquet", "-p", "plan.json")
    assert result.exit_code == 2
    assert "missing.parquet" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["-p", "plan.json"], ["r.parquet"], ["r.parquet", "-p", "p", "--project", "x"]]
)
def test_usage_errors(run: Run, arguments: list[str]) -> None:
    result = run("estimate", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_help(run: Run) -> None:
    shown = run("estimate", "--help")
    assert shown.exit_code == 0
    for word in ("Estimation", "Output", "--marginals", "--project", "REPORTS"):
        assert word in shown.stdout
    assert "estimate" in run("--help").stdout


def test_parts_are_counted_apart_and_estimated_together(run: Run, reports: Path) -> None:
    frame = pl.read_parquet(reports)
    names = []
    for number in range(3):
        frame[200 * number : 200 * number + 200].write_parquet(f"part-{number}.parquet")
        names.append(f"part-{number}.counts")
        done = run("count", f"part-{number}.parquet", "-p", "plan.json", "-o", names[-1])
        assert done.exit_code == 0, done.output
        assert done.stdout == ""
        assert f"200 records of part-{number}.parquet for 3 tables of 2 columns" in done.stderr
        assert f"wrote part-{number}.counts" in done.stderr
        assert "warning" not in done.stderr
    whole = read(run("estimate", reports, "-p", "plan.json", "--json"))
    found = read(run("estimate", *names[::-1], "-p", "plan.json", "--json"))
    assert found["tables"] == whole["tables"]
    assert found["assumptions"] == whole["assumptions"]
    assert found["source"] == "part-2.counts and 2 more"
    assert run("count", *names[:2], "-p", "plan.json", "-o", "two.counts", "-q").output == ""
    found = read(run("estimate", "two.counts", names[2], "-p", "plan.json", "--json"))
    assert found["tables"] == whole["tables"]
    single = run("count", *names, "-p", "plan.json", "-k", "1", "-c", "sex,age", "-o", "one.counts")
    assert "for 2 tables of single columns" in single.stderr
    found = read(run("estimate", "one.counts", "-p", "plan.json", "-k1", "-c", "age", "--json"))
    assert [table["attributes"] for table in found["tables"]] == [["age"]]
    assert found["records"] == 600


def test_counts_of_reports_that_do_not_fit(run: Run, reports: Path) -> None:
    for k in (1, 2):
        run("count", reports, "-p", "plan.json", "-k", k, "-q", "-o", f"{k}.counts")
    write_plan(independent(DOMAIN, 1.0), "other.json")
    Path("copy.counts").write_bytes(Path("2.counts").read_bytes())
    for arguments, message in (
        (("estimate", "2.counts", "copy.counts", "-p", "plan.json"), "one is a copy"),
        (("estimate", "2.counts", "2.counts", "-p", "plan.json"), "got '2.counts' twice"),
        (("estimate", "2.counts", "-p", "other.json"), "reports under another plan"),
        (("estimate", "1.counts", "-p", "plan.json"), "reports for these (--marginals 2, count"),
        (("estimate", "2.counts", reports, "-p", "plan.json"), "got both"),
        (("estimate", "none.counts", "-p", "plan.json"), "No such file"),
        (("count", "2.counts", "copy.counts", "-p", "plan.json", "-o", "n.counts"), "is a copy"),
        (("count", "2.counts", "1.counts", "-p", "plan.json", "-o", "n.counts"), "same tables"),
        (("count", "2.counts", "-o", "n.counts"), "those of randomised reports"),
        (("audit", "2.counts"), "those of randomised reports"),
        (("count", reports, "-k", "1", "-o", "n.counts"), "expected --marginals with --plan"),
        (("count", reports, "-p", "plan.json", "-d", "d", "-o", "n.counts"), "without --domain"),
        (("count", reports, "-p", "plan.json", "--n-bins", 3, "-o", "n.counts"), "--n-bins"),
        (("count", "--example", "-p", "plan.json", "-o", "n.counts"), "without --example"),
        (("count", reports, "-p", "plan.json", "--write-domain", "d.yaml"), "--write-domain"),
        (("count", reports, "-p", "plan.json"), "expected --out FILE.counts"),
        (("count", reports, "-p", "plan.json", "-o", "plan.json"), "expected --out FILE.counts"),
        (("count", "-p", "plan.json", "-o", "n.counts"), "got neither"),
        (("count", reports, "-p", "plan.json", "-k", "4", "-o", "n.counts"), "from 1 to 3, got 4"),
        (("count", "none.parquet", "-p", "plan.json", "-o", "n.counts"), "does not exist"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not Path("n.counts").exists()


def test_a_count_of_reports_that_is_interrupted_leaves_nothing(
    run: Run, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seepage.plan import reports_io

    run("count", reports, "-p", "plan.json", "-q", "-o", "a.counts")
    before = sorted(path.name for path in Path().iterdir())
    content = Path("a.counts").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reports_io, "_decoded", fail)
    for name in ("a.counts", "new.counts"):
        assert run("count", reports, "-p", "plan.json", "-o", name).exit_code == 130
    assert sorted(path.name for path in Path().iterdir()) == before
    assert Path("a.counts").read_bytes() == content


def test_plain_counts_of_reports_will_do(run: Run, reports: Path) -> None:
    Path("domain.yaml").write_text(
        "columns:\n  sex: [f, m]\n  smoker: ['no', 'yes', '?']\n  age: [1, 2]\n", encoding="utf-8"
    )
    done = run("count", reports, "-d", "domain.yaml", "-q", "-o", "plain.counts")
    assert done.exit_code == 0, done.output
    whole = read(run("estimate", reports, "-p", "plan.json", "--json"))
    done = run("estimate", "plain.counts", "-p", "plan.json", "--json")
    assert "For 600 records it could not be checked" in done.stderr
    found = [table | {"simulated": True} for table in read(done)["tables"]]
    assert found == whole["tables"]


def test_fake_data_are_counted_by_single_columns(run: Run, folder: Path) -> None:
    plan = fake_data(DOMAIN, 2.0)
    write_plan(plan, "plan.json")
    write_reports(plan.randomize_codes(np.zeros((50, 3), dtype=np.int64), rng=1), "r.csv")
    done = run("count", "r.csv", "-p", "plan.json", "-o", "r.counts")
    assert "for 3 tables of single columns" in done.stderr
    assert (
        read(run("estimate", "r.counts", "-p", "plan.json", "-k", "1", "--json"))["records"] == 50
    )
