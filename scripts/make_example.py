"""Make the embedded example table from the RAND Health Insurance Experiment.

Needs ``pip install statsmodels`` (for its data file only) besides the package's own dependencies::

    python scripts/make_example.py

What the source columns mean, and every choice made below, is described in
``src/seepage/example/ORIGIN.md``.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import polars as pl
import yaml

NOT_RECORDED = "not recorded"
# Imputed disease counts in the source: the means of women, men, girls and boys.
IMPUTED_DISEASE = [9.967326, 10.57626, 11.84267, 13.73189]
# The source gives conditions as a percentage of those asked about, 29 or 23.
CONDITIONS_ASKED = (29, 23)
# The percentages have one digit after the point; half a unit of it, and a little for floats.
ROUNDING = 0.051

FOLDER = Path(__file__).parents[1] / "src" / "seepage" / "example"


def source_path() -> Path:
    """Return the path of the full source table inside an installed statsmodels."""
    spec = find_spec("statsmodels")
    if spec is None or spec.origin is None:
        msg = "expected statsmodels to be installed (pip install statsmodels), got none"
        raise SystemExit(msg)
    return Path(spec.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"


def binned(number: pl.Expr, edges: list[float], labels: list[str]) -> pl.Expr:
    """Return the label of the interval [low, high) of each number, null where there is none."""
    label: pl.Expr = pl.when(number >= edges[-1]).then(pl.lit(labels[-1]))
    for edge, name in reversed(list(zip(edges, labels[:-1], strict=True))):
        label = pl.when(number < edge).then(pl.lit(name)).otherwise(label)
    return label


def conditions() -> pl.Expr:
    """Return the number of chronic conditions, null where the source imputed a mean."""
    number = pl.lit(None, pl.Int64)
    for asked in CONDITIONS_ASKED:
        rounded = (pl.col("disea") * asked / 100).round()
        fits = (rounded * 100 / asked - pl.col("disea")).abs() < ROUNDING
        number = pl.coalesce(number, pl.when(fits).then(rounded.cast(pl.Int64)))
    return pl.when(pl.col("disea").is_in(IMPUTED_DISEASE)).then(None).otherwise(number)


def health() -> pl.Expr:
    """Return self-rated health, which the source spreads over three flags."""
    return (
        pl.when(pl.col("hlthp") == 1)
        .then(pl.lit("poor"))
        .when(pl.col("hlthf") == 1)
        .then(pl.lit("fair"))
        .when(pl.col("hlthg") == 1)
        .then(pl.lit("good"))
        .otherwise(pl.lit("excellent"))
    )


def yes_no(flag: pl.Expr) -> pl.Expr:
    """Return a 0/1 flag as text; a fraction is an imputed mean, so nothing was recorded."""
    return (
        pl.when(flag == 1)
        .then(pl.lit("yes"))
        .when(flag == 0)
        .then(pl.lit("no"))
        .otherwise(pl.lit(NOT_RECORDED))
    )


AGES = ["0–5", "6–17", "18–29", "30–44", "45–64"]
INCOMES = ["under 4,000", "4,000–6,999", "7,000–8,999", "9,000–11,999", "12,000 or more"]
MAXIMA = ["none", "under 300", "300–449", "450", "451–749", "750–999", "1,000"]
CONDITION_COUNTS = ["0", "1", "2", "3", "4–5", "6+"]
VISITS = ["0", "1", "2–3", "4–6", "7+"]

CATEGORIES: dict[str, list[str]] = {
    "age": AGES,
    "sex": ["female", "male"],
    "income": INCOMES,
    "coinsurance": ["0 %", "25 %", "50 %", "95 %", "100 %"],
    "deductible_plan": ["no", "yes"],
    "max_expenditure": MAXIMA,
    "chronic_conditions": [*CONDITION_COUNTS, NOT_RECORDED],
    "physical_limitation": ["no", "yes", NOT_RECORDED],
    "self_rated_health": ["excellent", "good", "fair", "poor"],
    "outpatient_visits": VISITS,
}


def make(source: pl.DataFrame) -> pl.DataFrame:
    """Return the example table: ten text columns, rows in the order of their values."""
    maximum = pl.col("mdeoff").fill_null(0.0)
    table = source.select(
        age=binned(pl.col("xage"), [6, 18, 30, 45], AGES),
        sex=pl.when(pl.col("female") == 1).then(pl.lit("female")).otherwise(pl.lit("male")),
        income=binned(pl.col("income"), [4000, 7000, 9000, 12000], INCOMES),
        coinsurance=pl.format("{} %", pl.col("coins").cast(pl.Int64)),
        deductible_plan=yes_no(pl.col("idp")),
        # Amounts are whole dollars in the offer and carry rounding in the file.
        max_expenditure=binned(maximum.round(), [1, 300, 450, 451, 750, 1000], MAXIMA),
        chronic_conditions=binned(conditions(), [1, 2, 3, 4, 6], CONDITION_COUNTS).fill_null(
            NOT_RECORDED
        ),
        physical_limitation=yes_no(pl.col("physlm")),
        self_rated_health=health(),
        outpatient_visits=binned(pl.col("mdvis"), [1, 2, 4, 7], VISITS),
    )
    # Sorting forgets which rows are years of one person, and shrinks the file.
    ranked = table.with_columns(pl.col(name).cast(pl.Enum(CATEGORIES[name])) for name in CATEGORIES)
    return ranked.sort(list(CATEGORIES)).with_columns(pl.all().cast(pl.String))


def main() -> None:
    """Write the table and its domain."""
    table = make(pl.read_csv(source_path(), infer_schema_length=None))
    if table.columns != list(CATEGORIES) or table.null_count().sum_horizontal().item():
        msg = f"expected the columns {list(CATEGORIES)} without nulls, got {table.null_count()}"
        raise SystemExit(msg)
    table.write_parquet(FOLDER / "health.parquet", compression="zstd", compression_level=19)
    domain = {"columns": {name: {"categories": labels} for name, labels in CATEGORIES.items()}}
    text = yaml.safe_dump(domain, sort_keys=False, allow_unicode=True, width=100)
    header = "# Domain of health.parquet, written by scripts/make_example.py; see ORIGIN.md.\n"
    (FOLDER / "domain.yaml").write_text(header + text, encoding="utf-8")


if __name__ == "__main__":
    main()
