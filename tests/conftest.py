"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets; tests that need it skip where it is absent."""
    given = os.environ.get("SEEPAGE_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if given and not folder.is_dir():
        pytest.fail(f"SEEPAGE_DATA names no folder: {given}")
    if not folder.is_dir():
        pytest.skip("real data sets are not here: set SEEPAGE_DATA to their folder")
    return folder
