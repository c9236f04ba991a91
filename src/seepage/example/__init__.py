"""The embedded examples: one table of the RAND Health Insurance Experiment, and a sequence.

ORIGIN.md beside this file says where they come from and how they were made.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["example_domain_path", "example_path", "example_sequence_path"]

_FOLDER = Path(__file__).parent


def example_path() -> Path:
    """Return the path of the example table, a Parquet file of 20,190 rows and ten text columns.

    Each row is one person in one year of the experiment: age, sex, family income, the insurance
    plan (coinsurance, deductible plan, maximum expenditure), health (chronic conditions, physical
    limitation, self-rated health) and outpatient visits.

    Returns
    -------
    pathlib.Path
        A file inside the installed package.

    See Also
    --------
    example_domain_path : the categories of every column, in order.
    """
    return _FOLDER / "health.parquet"


def example_domain_path() -> Path:
    """Return the path of the domain file (YAML) of the example table.

    Returns
    -------
    pathlib.Path
        A file inside the installed package.

    See Also
    --------
    example_path : the table itself.
    """
    return _FOLDER / "domain.yaml"


def example_sequence_path() -> Path:
    """Return the path of the example sequence, a CSV file of 336 rows and three columns.

    Each row is one hour of two weeks of an invented person: its number, where the person was
    (home or away), and whether the person opted out of its release (1 in one hour).

    Returns
    -------
    pathlib.Path
        A file inside the installed package.
    """
    return _FOLDER / "presence.csv"
