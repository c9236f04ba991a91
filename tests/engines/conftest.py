"""A Spark session on this machine, started once: two tasks at a time, four attempts of each."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def _need(what: str, *, there: bool) -> None:
    if there:
        return
    if os.environ.get("SEEPAGE_REQUIRE_ALL"):
        pytest.fail(f"expected {what}: SEEPAGE_REQUIRE_ALL is set")
    pytest.skip(f"{what} is not here")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    _need("pyspark (make test HEAVY=1)", there=find_spec("pyspark") is not None)
    java = "JAVA_HOME" in os.environ or shutil.which("java") is not None
    _need("Java 17 (JAVA_HOME, or java on PATH)", there=java)
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        # No network, and the Python of the tests for the tasks.
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2,4]").appName("seepage")
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            # Starts and compiles quickly: the tests run little and wait for much.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }.items():
            builder = builder.config(key, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            session = builder.getOrCreate()
        yield session
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place for what Spark writes."""
    return tmp_path / "reports"
