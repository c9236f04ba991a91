"""Counting, randomising and aggregating Spark frames.

The executors run the code of the local engine on Arrow batches. Of the records nothing reaches the
driver: the partial tables and sums of all tasks are added up on the way. Results equal those of the
local engine exactly, because everything that is added up is a whole number.

Every executor needs this package in the same version, and what the extra ``spark`` installs.

A session of any master will do, and one of Spark Connect (``pyspark[connect]``). Spark runs a
task again when it fails, may run it twice at the same time (speculation), and computes a frame
again each time it is used. For counts and sums this does not matter, as the result of one attempt
is taken. For randomisation it does: see `randomize`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import seepage
from seepage._numeric import extremes_allowed
from seepage.collect.collection import CollectionPlan
from seepage.collect.estimates import Estimates
from seepage.domain import Domain, Label
from seepage.engines import _tasks
from seepage.errors import (
    InvalidInputError,
    MissingDependencyError,
    SeepageError,
    TableError,
    did_you_mean,
)
from seepage.plan.plan_sources import as_plan
from seepage.plan.randomizing import refuse_reports
from seepage.plan.reports_io import chosen_columns, reports_frame
from seepage.tables import CountedTable
from seepage.tables.frames import checked_names, first_line
from seepage.tables.load import reading_plan
from seepage.tables.options import Missing
from seepage.tables.parts import counted_table, domain_of
from seepage.tables.streaming import check_one_pass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE = "Spark frame"

GROUPS = 8
"""Tasks that add up the results of all others, before the driver adds up theirs."""

READING = (
    "columns", "exclude", "bins", "n_bins", "binning", "missing", "null_values", "min_count",
    "weights", "max_categories", "strip",
)  # fmt: skip
"""Options of `seepage.tables.load` for frames, but for the domain."""

INSTALL = "Install it: pip install 'seepage[spark]'."


def count(
    frame: DataFrame,
    domain: Domain | str | Path,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: Missing = "category",
    null_values: Sequence[Label] = ("",),
    weights: str | None = None,
    strip: bool | str | None = None,
    max_categories: int = 10_000,
) -> CountedTable:
    """Count every pair of columns of a Spark frame, in one pass.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    domain : Domain or path
        Declared domain, or a domain file; see `read_domain` for the categories in the frame itself.
    columns, exclude, missing, null_values, weights, strip, max_categories
        See `seepage.tables.load`; records cannot be dropped (``missing="drop"``).

    Returns
    -------
    CountedTable
        Counts, notes and numbers of `seepage.tables.count_table` with the same records and domain;
        what `audit`, `calibrate`, `total_leakage` and `make_plan` take in place of a table.

    Raises
    ------
    DomainError
        If a column is missing, or a value is not in the domain: the message names both, and how
        many records of one part of the frame have it.
    TableError
        If the frame has no records, a column of a type without categories, or fails to compute.
    CapacityError
        If the domain has too many categories; before anything is computed.
    MissingDependencyError
        If pyspark, or this package on the executors, is not installed.
    SeepageError
        If an option has a value outside its range.

    Examples
    --------
    ``count(spark.read.parquet("people"), "domain.yaml").counts.table("sex", "smoker")``
    """
    plan, _ = reading_plan(
        domain=domain,
        columns=columns,
        exclude=exclude,
        missing=missing,
        null_values=null_values,
        weights=weights,
        strip=strip,
        max_categories=max_categories,
    )
    check_one_pass(plan, SOURCE)
    known = _names(frame)
    chosen = plan.choose(known)
    found = _added_up(_selected(frame, known, chosen), _tasks.CountAdder(plan, tuple(chosen)))
    return counted_table(found, plan, known, SOURCE)


def read_domain(frame: DataFrame, **options: Any) -> Domain:
    """Read the categories of a Spark frame from its values, in one pass.

    They suit an analysis, and as a start for declaring what *can* occur; not a release.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    **options
        Of `seepage.tables.load`: columns, exclude, bins, n_bins, binning, missing, null_values,
        min_count, weights, max_categories, strip. Records cannot be dropped (``missing="drop"``).

    Returns
    -------
    Domain
        That of `seepage.tables.count_table` with the same records.

    Raises
    ------
    CapacityError
        If a column has more than 131,072 distinct values (`max_categories`, if that is more).
    SeepageError
        As `count`.
    """
    for name in options:
        if name not in READING:
            msg = f"expected reading options {', '.join(READING)}, got {name!r}."
            raise InvalidInputError(msg + did_you_mean(name, READING))
    plan, _ = reading_plan(**options)
    if plan.missing == "drop":
        msg = "expected missing 'category' or 'error' for one pass over the frame, got 'drop'"
        raise InvalidInputError(msg)
    known = _names(frame)
    chosen = plan.choose(known)
    found = _added_up(_selected(frame, known, chosen), _tasks.ValueAdder(plan, tuple(chosen)))
    return domain_of(found, plan, known, SOURCE)


def randomize(
    frame: DataFrame,
    plan: CollectionPlan | str | Path,
    out: str | Path,
    *,
    allow_unprotected: bool = False,
    null_values: Sequence[Label] = ("",),
    strip: bool | str | None = None,
) -> str:
    """Randomise the records of a Spark frame and write the reports: a release.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row for each record; columns that are not in the plan are left out.
    plan : CollectionPlan or path of a plan file
    out : str or path
        Folder for the Parquet files of the reports, on whatever file system Spark writes to. It
        must not exist. Once it holds a file ``_SUCCESS`` the reports are complete.
    allow_unprotected : bool, default False
        Release reports through mechanisms with ε = ∞ too, which can reveal values.
    null_values, strip
        See `seepage.tables.load`.

    Returns
    -------
    str
        The folder. The files have the columns of `seepage.plan.reports_io.write_reports`, "(plan)"
        among them; `aggregate` and `seepage.estimate` read them.

    Raises
    ------
    DomainError
        If a column of the plan is missing, or a value is not in its domain.
    InvalidInputError
        If a release would be unprotected (ε = ∞), or `out` exists.
    TableError
        If the frame has no records, holds reports already, or fails to compute or to be written.
    MissingDependencyError
        If pyspark, or this package on the executors, is not installed.

    Notes
    -----
    Two independent reports on the same record under the same plan reveal up to twice its ε. Spark
    computes a frame again whenever it is used, so a frame of reports would hold other reports each
    time it is looked at. That is why this function writes, and returns no frame. Tasks that fail
    and are tried again, or run twice because the first attempt is slow, draw again too: the driver
    lets one attempt of each task commit, and the file committer discards the output of the others,
    which stays inside the cluster. Committers that write in place ("direct") do not promise this.
    If the whole job fails, remove the folder, publish nothing of it, and start again.
    Never publish the reports of two runs on the same records.

    A first look, whether there are records at all, computes part of the frame before the reports
    are written. A frame that takes long is better written first, and read again.

    Every task draws entropy of the operating system of its executor. There is no seed: simulate
    with `seepage.randomize` on a sample.

    An error of a task names the value that does not fit, and Spark writes it into the logs of the
    cluster.
    """
    chosen = as_plan(plan)
    if chosen.unprotected and not allow_unprotected:
        msg = (
            f"expected a finite ε for a release, got ε = ∞: {chosen.open_sentence} Allow it "
            "explicitly (allow_unprotected=True)."
        )
        raise InvalidInputError(msg)
    if not isinstance(out, (str, Path)) or not str(out):
        msg = f"expected out to be the path of a folder, got {out!r}"
        raise InvalidInputError(msg)
    reading, _ = reading_plan(domain=chosen.domain, null_values=null_values, strip=strip)
    known = _names(frame)
    refuse_reports(known)
    names = reading.choose(known)
    options = {"allow_unprotected": allow_unprotected, "null_values": null_values, "strip": strip}
    schema, spark_schema = _report_schema(chosen)
    release = _tasks.Release(chosen, tuple(names), options, seepage.__version__, schema)
    target = str(out)

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        _tasks.use_one_core()
        return _tasks.randomized(release, batches)

    selected = _selected(frame, known, names)
    with _spark_errors(target):
        if selected.isEmpty():
            msg = f"expected records in the {SOURCE}, got none"
            raise TableError(msg)
        writer = selected.mapInArrow(task, spark_schema).write.mode("error")
        # Version 1 shows nothing in the folder before all tasks are done.
        writer.option("mapreduce.fileoutputcommitter.algorithm.version", "1").parquet(target)
    return target


@extremes_allowed
def aggregate(
    reports: DataFrame,
    plan: CollectionPlan | str | Path,
    marginals: int | Iterable[Any] = 2,
    *,
    columns: Iterable[str] | None = None,
    covariance: bool = False,
    confidence: float = 0.95,
) -> Estimates:
    """Estimate tables from a Spark frame of reports, in one pass.

    Parameters
    ----------
    reports : pyspark.sql.DataFrame
        Reports that `randomize`, here or of the local engine, has written:
        ``spark.read.parquet(folder)``.
    plan, marginals, columns, covariance, confidence
        See `seepage.estimate`.

    Returns
    -------
    Estimates
        Equal to those of `seepage.estimate` from the same reports.

    Raises
    ------
    SeepageError
        As `seepage.estimate`; TableError also when the frame fails to compute.
    MissingDependencyError
        If pyspark, or this package on the executors, is not installed.
    """
    chosen = as_plan(plan)
    known = _names(reports)
    empty = Estimates.of(
        chosen,
        marginals,
        columns=columns,
        covariance=covariance,
        confidence=confidence,
        source=SOURCE,
    )
    names = chosen_columns(chosen, known)
    adder = _tasks.SumAdder(empty, tuple(names))
    found: Estimates | None = _added_up(_selected(reports, known, names), adder)
    if found is None:
        msg = f"expected reports in the {SOURCE}, got none"
        raise TableError(msg)
    for one in found.sets:
        found.marginal(*one)  # what the reports do not identify is refused here
    return found


def _names(frame: object) -> list[str]:
    """Names of the columns of a Spark frame.

    Raises
    ------
    InvalidInputError
        If it is something else.
    MissingDependencyError
        If pyspark is not installed.
    """
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        msg = f"Spark frames need the package pyspark: {error}. {INSTALL}"
        raise MissingDependencyError(msg) from error
    kind = f"{type(frame).__module__}.{type(frame).__name__}"
    if not isinstance(frame, DataFrame):
        hint = " Use its to_spark()." if kind.startswith("pyspark.pandas") else ""
        if kind.startswith("pyspark.sql.connect"):  # elsewhere a class derived from DataFrame
            hint = " Frames of Spark Connect need Spark 4 or newer."
        msg = f"expected a Spark frame (pyspark.sql.DataFrame), got {kind}.{hint}"
        raise InvalidInputError(msg)
    if frame.isStreaming:
        msg = "expected a Spark frame that ends, got a stream"
        raise InvalidInputError(msg)
    with _spark_errors():
        return checked_names(frame.columns)


def _selected(frame: DataFrame, known: Sequence[str], names: Sequence[str]) -> DataFrame:
    """Some columns, under names in which Spark finds no dots, quotes or letter cases."""
    with _spark_errors():
        renamed = frame.toDF(*(f"c{i}" for i in range(len(known))))
        return renamed.select(*(f"c{known.index(name)}" for name in names))


def _added_up(frame: DataFrame, adder: _tasks.Adder) -> Any:
    """Sum of the results of all parts; None where there are no records."""
    version = seepage.__version__

    def part(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        _tasks.use_one_core()
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        return _tasks.add_part(adder, number, version, batches)

    def group(batches: Iterable[Any]) -> Iterator[Any]:
        _tasks.use_one_core()
        return _tasks.add_rows(adder, batches)

    with _spark_errors():
        partial = frame.mapInArrow(part, _tasks.SCHEMA).repartition(GROUPS)
        rows = partial.mapInArrow(group, _tasks.SCHEMA).collect()
        found, failed = _tasks.fold(adder, (_tasks.Row(*row) for row in rows))
    if failed is not None:
        raise _tasks.revived(failed.error, failed.message)
    return found


def _report_schema(plan: CollectionPlan) -> tuple[Any, Any]:
    """Columns of the reports of a plan, as Arrow and as Spark know them.

    They are those of any report: one of an arbitrary record, simulated.
    """
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import types

    codes = np.zeros((1, len(plan.domain)), dtype=np.int64)
    kinds = {
        pl.String: (pa.string(), types.StringType()),
        pl.Boolean: (pa.bool_(), types.BooleanType()),
        pl.Int64: (pa.int64(), types.LongType()),
        pl.Float64: (pa.float64(), types.DoubleType()),
    }
    found = reports_frame(plan.randomize_codes(codes, rng=0)).schema
    of_each = {name: kinds[dtype.base_type()] for name, dtype in found.items()}
    return (
        pa.schema([(name, arrow) for name, (arrow, _) in of_each.items()]),
        types.StructType([types.StructField(n, kind) for n, (_, kind) in of_each.items()]),
    )


@contextmanager
def _spark_errors(out: str | None = None) -> Iterator[None]:
    """Turn whatever Spark raises into an error of this package."""
    try:
        yield
    except (SeepageError, MemoryError):
        raise
    except Exception as error:  # Spark's own, those of tasks, and of the user's functions
        own = _translated(str(error), out)
        if own is not None:
            raise own from None
        what = "to be computed" if out is None else f"to be randomised and written to {out!r}"
        msg = f"expected the {SOURCE} {what}, got an error: {_last_line(str(error)).rstrip('.')}"
        if out is not None:
            msg += ". Remove the folder before you start again, and publish nothing of it."
        raise TableError(msg) from error


def _translated(text: str, out: str | None) -> SeepageError | None:
    """What the text of an error of Spark means, where that is known."""
    found = _tasks.error_in(text)
    if found is not None:
        again = "" if out is None else f" Remove the folder {out!r} before you start again."
        return type(found)(f"{found}{again}")
    absent = re.search(r"No module named '([\w.]+)'", text)
    if absent:
        return MissingDependencyError(
            "expected seepage and what it needs in the Python of every executor, got none of "
            f"{absent.group(1)!r}. Install it there: pip install 'seepage[spark]'."
        )
    if "PACKAGE_NOT_INSTALLED" in text or "UNSUPPORTED_PACKAGE_VERSION" in text:
        return MissingDependencyError(f"Spark says: {_last_line(text)} {INSTALL}")
    if out is not None and "PATH_ALREADY_EXISTS" in text:
        return InvalidInputError(
            f"expected a folder that does not exist yet, got {out!r}: reports are never added to "
            "others, nor written over them"
        )
    return None


def _last_line(text: str) -> str:
    """What a long message comes to: the error at the end of a Python trace, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit)\b", line)]
        lines = raised[-1:] or lines
    return first_line(Exception(lines[0] if lines else text))
