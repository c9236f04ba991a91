"""The embedded example table and its domain file say the same."""

from __future__ import annotations

import polars as pl
import pytest
import yaml

from seepage.example import example_domain_path, example_path


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.read_parquet(example_path())


@pytest.fixture(scope="module")
def declared() -> dict[str, list[str]]:
    content = yaml.safe_load(example_domain_path().read_text(encoding="utf-8"))
    assert list(content) == ["columns"]
    for column in content["columns"].values():
        assert list(column) == ["categories"]
    return {name: column["categories"] for name, column in content["columns"].items()}


def test_shape_and_types(table: pl.DataFrame) -> None:
    assert table.shape == (20_190, 10)
    assert set(table.dtypes) == {pl.String}
    assert table.null_count().sum_horizontal().item() == 0


def test_columns_in_the_order_of_the_domain(
    table: pl.DataFrame, declared: dict[str, list[str]]
) -> None:
    assert table.columns == list(declared)


def test_categories_are_exactly_the_declared_ones(
    table: pl.DataFrame, declared: dict[str, list[str]]
) -> None:
    for name, categories in declared.items():
        assert all(isinstance(label, str) for label in categories), name
        assert len(set(categories)) == len(categories), name
        assert set(table[name].to_list()) == set(categories), name


def test_published_totals(table: pl.DataFrame) -> None:
    """Totals of the source table, counted there without this package."""
    assert (table["sex"] == "female").sum() == 10_439
    assert (table["deductible_plan"] == "yes").sum() == 5_249
    assert (table["outpatient_visits"] == "0").sum() == 6_308
    assert (table["physical_limitation"] == "yes").sum() == 2_387
    health = dict(table["self_rated_health"].value_counts().iter_rows())
    assert health == {"excellent": 11_019, "good": 7_309, "fair": 1_560, "poor": 302}
    shares = dict(table["coinsurance"].value_counts().iter_rows())
    assert shares == {"0 %": 10_997, "25 %": 4_065, "50 %": 1_401, "95 %": 2_653, "100 %": 1_074}


def test_shared_coinsurance_excludes_a_deductible_plan(table: pl.DataFrame) -> None:
    """The deterministic relation that ORIGIN.md names, in both of its halves."""
    plan = {name: set(rows["deductible_plan"]) for (name,), rows in table.group_by("coinsurance")}
    assert plan["25 %"] == plan["50 %"] == plan["95 %"] == {"no"}
    assert plan["100 %"] == {"yes"}
    assert plan["0 %"] == {"no", "yes"}


def test_files_are_small() -> None:
    assert example_path().stat().st_size < 40_000
    assert example_domain_path().stat().st_size < 4_000
