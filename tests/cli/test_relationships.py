"""What the relationships command writes, and how it fails."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from seepage.collect.attenuation import retention
from seepage.collect.designs import independent, sampled_views
from seepage.collect.plan_files import read_plan, write_plan
from seepage.domain import Domain
from seepage.plan.reports_io import read_reports, write_reports
from seepage.tables import load

Run = Callable[..., Result]
FIVE = "columns:\n" + "".join(f"  X{i}: {{categories: [1, 2, 3, 4]}}\n" for i in range(1, 6))
FAVOURED = "X1 and X2 favoured:X1=2,X2=2,X3=0.333333333,X4=0.333333333,X5=0.333333333"
GRADUATED = "Graduated:X1=2,X2=1.5,X3=0.75,X4=0.5,X5=0.25"


@pytest.fixture
def five(folder: Path) -> Path:
    path = folder / "five.yaml"
    path.write_text(FIVE, encoding="utf-8")
    return path


@pytest.fixture
def collected(folder: Path, people: Path) -> tuple[Path, Path]:
    table = load(people)
    plan = independent(table.domain, 3.0)
    write_plan(plan, folder / "plan.json")
    codes = table.codes.repeat(300, axis=0)
    write_reports(plan.randomize_codes(codes, rng=1), folder / "reports.parquet")
    return folder / "plan.json", folder / "reports.parquet"


def read(result: Result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_table_1(run: Run, five: Path) -> None:
    result = run("relationships", five, "-e", "1", "-a", FAVOURED, "-a", GRADUATED)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    rows = {line[:7]: line.split()[3::2] for line in result.stdout.splitlines() if " × " in line}
    assert rows["X1 × X2"] == ["9.0", "37.8", "28.6"]
    assert rows["X1 × X3"] == ["9.0", "5.5", "13.4"]
    assert rows["X3 × X4"] == ["9.0", "0.8", "3.0"]
    assert rows["X4 × X5"] == ["9.0", "0.8", "0.9"]
    assert "every relationship keeps 9.0 % of its covariance" in result.stdout
    assert "X1 × X2 survives most, with 37.8 %" in " ".join(result.stdout.split())
    for title in ("Retention", "Budgets", "Assumptions", "Next"):
        assert f"\n{title}" in result.stdout


def test_outputs(run: Run, five: Path, folder: Path) -> None:
    content = read(run("relationships", five, "-e", "1", "-a", GRADUATED, "--json"))
    assert content["format"] == "seepage.retentions"
    assert len(content["relationships"]) == 10
    first = content["relationships"][0]
    assert first["names"] == ["X1", "X2"]
    assert first["retention"]["Graduated"] == retention([4, 4], [2.0, 1.5])
    result = run("relationships", five, "--orders", "2,3", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 20
    assert rows[-1]["relationship"] == "X3 × X4 × X5"
    done = run(
        "relationships", five, "--html", "page.html", "--chart", "map.svg", "-a", GRADUATED, "-q"
    )
    assert done.exit_code == 0, done.output
    page = (folder / "page.html").read_text("utf-8")
    assert "<script" not in page
    assert "28.6 %" in page
    assert "28.6 %" in (folder / "map.svg").read_text("utf-8")
    only = run("relationships", five, "--orders", "3", "--chart", "bars.svg", "--html", "p.html")
    assert only.exit_code == 0, only.output
    assert "2.7 %" in only.stdout


def test_allocations(run: Run, five: Path, folder: Path) -> None:
    content = read(
        run(
            "relationships", five, "--total", "5", "--objective", "sum", "--objective", "worst",
            "--importance", "X1,X2=4", "--keep", "X4,X5=0.02", "--maximum", "X3=1", "--json",
        )
    )  # fmt: skip
    assert list(content["budgets"]) == ["sum", "worst"]
    for budgets in content["budgets"].values():
        assert sum(budgets.values()) <= 5
        assert budgets["X3"] <= 1
        assert retention([4, 4], [budgets["X4"], budgets["X5"]]) >= 0.02
    done = run("relationships", five, "--total", "5", "--out", "budgets.json")
    assert done.exit_code == 0, done.output
    assert "wrote budgets.json" in done.stderr
    written = json.loads((folder / "budgets.json").read_text("utf-8"))
    assert written["format"] == "seepage.budgets"
    assert sum(written["budgets"].values()) <= 5
    again = read(run("relationships", five, "--budgets", "budgets.json", "--json"))
    assert again["budgets"]["budgets"] == written["budgets"]


def test_a_table_and_chosen_relationships(run: Run, people: Path) -> None:
    content = read(
        run("relationships", people, "-x", "age", "--pair", "sex,coin", "--pair", "sex,copy,coin",
            "-e", "2", "-e", "inf", "--json")
    )  # fmt: skip
    assert [item["names"] for item in content["relationships"]] == [
        ["sex", "coin"],
        ["sex", "copy", "coin"],
    ]
    assert content["relationships"][0]["retention"]["ε = inf"] == 1
    assert content["source"] == "people.csv"


def test_a_plan(run: Run, collected: tuple[Path, Path]) -> None:
    plan, _ = collected
    by_option = read(run("relationships", "--plan", plan, "--json"))
    in_place = read(run("relationships", plan, "--json"))
    assert by_option == in_place
    assert by_option["budgets"]["plan"]["sex"] == pytest.approx(3.0)


def test_estimates(run: Run, collected: tuple[Path, Path], folder: Path) -> None:
    plan, reports = collected
    result = run("relationships", "--plan", plan, "--reports", reports)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "From 2,400 records (simulated reports), the clearest is" in text
    assert "sex × copy correlation" in text
    content = read(
        run(
            "relationships", plan, "--reports", reports, "--pair", "sex,copy", "--kind",
            "covariance", "--kind", "odds", "--regress", "sex=coin,age", "--json",
        )
    )  # fmt: skip
    kinds = [item["kind"] for item in content["estimates"]]
    assert kinds == ["covariance", "log odds ratio", "slope", "slope"]
    # sex and copy are the same fair coin: covariance 1/4.
    first = content["estimates"][0]
    assert abs(first["estimate"] - 0.25) < 4 * first["standard_error"]
    assert first["uncorrected"] < first["estimate"]
    assert content["simulated"]
    done = run(
        "relationships", "--plan", plan, "--reports", reports, "--html", "e.html", "--chart",
        "e.svg", "--csv", "e.csv", "-q",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "not a release" in (folder / "e.html").read_text("utf-8")
    assert "Uncorrected" in (folder / "e.svg").read_text("utf-8")


def test_counts_in_place_of_reports(run: Run, collected: tuple[Path, Path], folder: Path) -> None:
    plan, reports = collected
    frame = pl.read_parquet(reports)
    for name, part in (("one", frame[:1000]), ("two", frame[1000:])):
        part.write_parquet(f"{name}.parquet")
        done = run("count", f"{name}.parquet", "--plan", plan, "--out", f"{name}.counts")
        assert done.exit_code == 0, done.output
    asked = ("--plan", plan, "--kind", "covariance", "--kind", "correlation", "--json", "-q")
    both = ("--reports", "one.counts", "--reports", "two.counts")
    found = read(run("relationships", *both, *asked))
    wanted = read(run("relationships", "--reports", reports, *asked))
    assert found["source"] == "one.counts and 1 more"
    assert found | {"source": ""} == wanted | {"source": ""}
    twice = run("relationships", *both, "--reports", "one.counts", *asked)
    assert twice.exit_code == 2
    assert "expected different parts, got 'one.counts' twice" in twice.stderr
    lacking = run("relationships", *both, "--plan", plan, "--regress", "sex=coin,age")
    assert lacking.exit_code == 2
    assert "count the reports for these (--marginals 3, count_reports)" in lacking.stderr
    done = run("count", reports, "--plan", plan, "--marginals", "3", "--out", "three.counts")
    assert done.exit_code == 0, done.output
    slopes = ("--plan", plan, "--regress", "sex=coin,age", "--json", "-q")
    found = read(run("relationships", "--reports", "three.counts", *slopes))
    wanted = read(run("relationships", "--reports", reports, *slopes))
    assert found["estimates"] == wanted["estimates"]


def test_counts_of_reports_that_are_no_categories(run: Run, people: Path, folder: Path) -> None:
    words = ("plan", people, "--epsilon", "3", "--mechanism", "oue", "--out", "bits.json")
    assert run(*words).exit_code == 0
    done = run("randomize", people, "--plan", "bits.json", "--seed", "1", "--out", "bits.parquet")
    assert done.exit_code == 0, done.output
    counted = ("count", "bits.parquet", "--plan", "bits.json", "--columns", "sex,copy")
    assert run(*counted, "--out", "bare.counts").exit_code == 0
    asked = ("relationships", "--plan", "bits.json", "--pair", "sex,copy")
    bare = run(*asked, "--reports", "bare.counts")
    assert bare.exit_code == 2
    assert "count the reports with covariance=True (--covariance)" in bare.stderr
    done = run(*counted, "--covariance", "--out", "full.counts")
    assert done.exit_code == 0, done.output
    found = read(run(*asked, "--reports", "full.counts", "--json", "-q"))["estimates"][0]
    wanted = read(run(*asked, "--reports", "bits.parquet", "--json", "-q"))["estimates"][0]
    assert found["estimate"] == pytest.approx(wanted["estimate"], rel=1e-9)
    assert found["standard_error"] == pytest.approx(wanted["standard_error"], rel=1e-9)
    wrong = run("count", people, "--covariance", "--out", "people.counts")
    assert wrong.exit_code == 2
    assert "expected --covariance with --plan only" in wrong.stderr


def test_what_is_doubtful_is_warned_of(run: Run, collected: tuple[Path, Path]) -> None:
    plan, reports = collected
    pl.read_parquet(reports).drop("(plan)").write_csv("raw.csv")
    pair = ("--pair", "sex,copy")
    raw = run("relationships", "--plan", plan, "--reports", "raw.csv", *pair)
    assert raw.exit_code == 0, raw.output
    assert raw.stderr.startswith("warning: For 2,400 records it could not be checked that these")
    content = read(
        run(
            "relationships", plan, "--reports", reports, "--reports", reports, *pair, "--json", "-q"
        )
    )
    said = "reports.parquet is given twice: each of its records counts 2 times."
    assert content["records"] == 4800
    assert said in content["assumptions"]
    twice = run("relationships", plan, "--reports", reports, "--reports", reports, *pair)
    assert twice.stderr == f"warning: {said}\n"


@pytest.mark.parametrize(
    ("words", "shown"),
    [(["five.yaml"], "five.yaml"), (["--example"], "--example"), (["-c", "sex"], "--columns"),
     (["plan.json"], "plan.json"), (["--n-bins", "3"], "--n-bins")],
)  # fmt: skip
def test_a_table_beside_a_plan(
    run: Run, five: Path, collected: tuple[Path, Path], words: list[str], shown: str
) -> None:
    result = run("relationships", *words, "--plan", "plan.json")
    assert result.exit_code == 2
    assert result.stderr == f"error: expected either a table or --plan, got {shown} and --plan\n"


def test_infeasible(run: Run, five: Path) -> None:
    result = run("relationships", five, "--total", "1", "--keep", "X1,X2=0.5")
    assert result.exit_code == 1
    assert "target missed: expected a total of at least" in result.stderr
    assert "X1 × X2" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["five.yaml", "--orders", "9"], "orders from 1 to the number of attributes (5), got 9"),
        (["five.yaml", "--orders", "a"], "--orders 2,3,…, got 'a'"),
        (["five.yaml", "-e", "-1"], "--epsilon to be a number from 0 to inf"),
        (["five.yaml", "-e", "1", "-e", "1.0"], "different labels"),
        (["five.yaml", "-a", "X1=2"], "--allocation LABEL:NAME=EPS"),
        (["five.yaml", "-a", "some:X1=2"], "none for 'X2'"),
        (["five.yaml", "-a", "some:X9=2"], "expected an attribute, got 'X9'"),
        (["five.yaml", "--keep", "X1,X2=0.5"], "--keep with --total only"),
        (["five.yaml", "--total", "5", "--keep", "X1=0.5"], "two or more different columns"),
        (["five.yaml", "--total", "5", "--keep", "X1,X2=2"], "in [0, 1], got 2"),
        (["five.yaml", "--total", "x"], "--total to be a number"),
        (["five.yaml", "--out", "b.json"], "expected --out with a --total"),
        (["five.yaml", "--pair", "X1"], "two or more different columns"),
        (["five.yaml", "--pair", "X1,X9"], "got 'X9'"),
        (["five.yaml", "--kind", "odds"], "--kind with --reports only"),
        (["five.yaml", "--reports", "r.parquet"], "expected --plan with --reports"),
        (["--plan", "none.json"], "none.json"),
        (["--plan", "plan.json", "--reports", "none.parquet"], "none.parquet"),
        (["--plan", "plan.json", "--reports", "r", "-e", "1"], "--epsilon without --reports"),
        (["--plan", "plan.json", "--reports", "r", "--regress", "sex"], "--regress Y=A,B"),
        (["--plan", "views.json"], "design 'independent'"),
        ([], "expected a TABLE"),
    ],
)
def test_bad_input(
    run: Run, five: Path, collected: tuple[Path, Path], folder: Path, words: list[str], said: str
) -> None:
    write_plan(sampled_views(Domain.of({"a": [1, 2], "b": [1, 2]}), 1.0), folder / "views.json")
    result = run("relationships", *words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""
    assert not (folder / "b.json").exists()


def test_labels_that_are_markup(run: Run, folder: Path) -> None:
    (folder / "odd.csv").write_text("<b>[bold]</b>,a×b\n" + "x,1\ny,2\n" * 4, encoding="utf-8")
    result = run("relationships", "odd.csv", "--html", "o.html", "--chart", "o.svg")
    assert result.exit_code == 0, result.output
    assert "<b>[bold]</b> × a×b" in result.stdout
    assert "<b>[bold]" not in (folder / "o.html").read_text("utf-8")


@pytest.mark.parametrize("objective", ["sum", "geometric", "worst"])
@pytest.mark.parametrize("source", ["five.yaml", "people.csv"])
def test_allocated_budgets_reach_a_plan(
    run: Run, five: Path, people: Path, folder: Path, objective: str, source: str
) -> None:
    done = run(
        "relationships", source, "--total", "5", "--objective", objective, "--out", "b.json", "-q"
    )
    assert done.exit_code == 0, done.output
    written = json.loads((folder / "b.json").read_text("utf-8"))["budgets"]
    done = run("plan", source, "--budgets", "b.json", "--out", "plan.json", "-q")
    assert done.exit_code == 0, done.output
    plan = read_plan(folder / "plan.json")
    assert dict(plan.budgets) == pytest.approx(written, rel=1e-12)
    assert plan.target is None
    refused = run("plan", source, "--budgets", "b.json", "--design", "calibrated")
    assert refused.exit_code == 2
    assert "from a calibration" in refused.stderr


def test_reports_are_no_table(run: Run, collected: tuple[Path, Path], folder: Path) -> None:
    plan, reports = collected
    write_reports(read_reports(reports, read_plan(plan)), folder / "r2.csv")
    for file in (reports, "r2.csv"):
        result = run("relationships", file)
        assert result.exit_code == 2
        assert "--plan plan.json --reports" in result.stderr
        assert result.stdout == ""


def test_counts_in_place_of_a_table(
    run: Run, people: Path, collected: tuple[Path, Path], folder: Path
) -> None:
    assert run("count", people, "--out", "people.counts").exit_code == 0
    chosen = ("-c", "sex,copy,coin", "--json")
    found = read(run("relationships", "people.counts", *chosen))
    wanted = read(run("relationships", people, *chosen))
    for part in ("sizes", "budgets", "relationships", "verdict"):
        assert found[part] == wanted[part]
    divided = ("--total", "3", "--objective", "worst")
    found = read(run("relationships", "people.counts", *chosen, *divided))
    assert found["budgets"] == read(run("relationships", people, *chosen, *divided))["budgets"]
    plan, reports = collected
    assert run("count", reports, "--plan", plan, "--out", "made.counts").exit_code == 0
    assert run("count", reports, "--out", "bare.counts").exit_code == 0
    for file in ("made.counts", "bare.counts"):
        result = run("relationships", file)
        assert result.exit_code == 2
        assert f"with --plan plan.json --reports {file}" in result.stderr
        assert result.stdout == ""
    (folder / "bad.counts").write_bytes(b"no archive")
    for words in (["bad.counts"], ["none.counts"], ["people.counts", people]):
        result = run("relationships", *words)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: expected")


@pytest.mark.parametrize("level", ["1", "0", "none", "nan", "much"])
def test_confidence_is_a_number(run: Run, collected: tuple[Path, Path], level: str) -> None:
    plan, reports = collected
    result = run("relationships", "--plan", plan, "--reports", reports, "--confidence", level)
    assert result.exit_code == 2
    said = f"expected --confidence to be a number between 0 and 1, got '{level}'"
    assert result.stderr == f"error: {said}\n"


def test_the_largest_confidence(run: Run, collected: tuple[Path, Path]) -> None:
    plan, reports = collected
    level = ("--confidence", "0.9999999999999999")
    for words in (("relationships", "--reports", reports), ("estimate", reports)):
        result = run(*words, "--plan", plan, *level)
        assert result.exit_code == 0, result.output


def test_odds_name_their_categories(run: Run, collected: tuple[Path, Path], folder: Path) -> None:
    plan, reports = collected
    result = run(
        "relationships", "--plan", plan, "--reports", reports, "--pair", "sex,coin", "--kind",
        "odds", "--html", "o.html", "--csv", "o.csv",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "f against m, heads against tails" in " ".join(result.stdout.split())
    page = (folder / "o.html").read_text("utf-8")
    assert "f against m, heads against tails" in page
    assert "<h1>reports.parquet</h1>" in page
    row = next(csv.DictReader(io.StringIO((folder / "o.csv").read_text("utf-8"))))
    assert row["categories"] == "f against m, heads against tails"


def test_a_domain_file_that_was_read_from_data_says_so(run: Run, people: Path) -> None:
    assert run("count", people, "--write-domain", "domain.yaml").exit_code == 0
    told = "The domain of domain.yaml was read from 'people.csv': look through it, then delete its"
    done = run("relationships", "domain.yaml", "--json")
    assert f"warning: {told} line read_from." in done.stderr.splitlines()
    assert any(told in note for note in json.loads(done.stdout)["assumptions"])
    assert run("relationships", "domain.yaml", "-q", "--json").stderr == ""
    total = run("relationships", "domain.yaml", "--total", "8", "--json")
    assert any(told in note for note in json.loads(total.stdout)["assumptions"])
    lines = Path("domain.yaml").read_text("utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("read_from:")]
    Path("domain.yaml").write_text("\n".join(kept), encoding="utf-8")
    done = run("relationships", "domain.yaml", "--json")
    assert done.stderr == ""
    assert "read from" not in done.stdout
