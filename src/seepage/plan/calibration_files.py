"""Budgets from a file: a plain object of numbers, or everything a calibration wrote."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from seepage._unique_keys import unique
from seepage.collect.plan_files import finite_float
from seepage.errors import TableError
from seepage.leakage.model import TotalMethod
from seepage.plan.calibrate import CalibrationResult
from seepage.results import Standing

CALIBRATED = {"method", "totals", "target"}
"""Entries of a calibration that an allocation of a total has not, though the format is the same."""


@dataclass(frozen=True)
class Calibration:
    """What a plan carries on from a calibration.

    Parameters
    ----------
    budgets, totals : mapping of str to float
        In nats.
    target : float
    method : {"tree", "pairwise", "group"}
    standing : Standing
        Of the totals.
    assumptions : tuple of str
    source : str
    domain : str
        `seepage.collect.plan_files.domain_digest` of what was calibrated; empty when not known.
    """

    budgets: Mapping[str, float]
    totals: Mapping[str, float]
    target: float
    method: TotalMethod
    standing: Standing
    assumptions: tuple[str, ...]
    source: str
    domain: str


def calibration_of(result: CalibrationResult) -> Calibration:
    """Return the part of a calibration that a plan carries on."""
    return _calibration(json.loads(result.to_json()), "the calibration")


def budgets_in(path: str | Path) -> Calibration | dict[str, float]:
    """Read ε of attributes from a JSON file.

    Returns
    -------
    Calibration or dict of str to float
        A calibration when the file is one; otherwise the object of numbers, or the budgets of what
        ``seepage relationships --out`` wrote, which makes no claim on totals.

    Raises
    ------
    TableError
        If the file cannot be read, or holds something else.
    """
    name = repr(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        found = json.loads(text, object_pairs_hook=unique, parse_float=finite_float)
    except OSError as error:
        msg = f"expected a file of budgets that can be read, got {name}: {error.strerror}"
        raise TableError(msg) from None
    except (ValueError, RecursionError) as error:
        msg = f"expected a JSON object of budgets in {name}, got an error: {error}"
        raise TableError(msg) from None
    if not isinstance(found, dict):
        msg = f"expected a JSON object of budgets in {name}, got {type(found).__name__}"
        raise TableError(msg)
    kind = found.get("format")
    if not isinstance(kind, str) or not kind.startswith("seepage."):
        return _numbers(found, f"the budgets in {name}")
    if kind != "seepage.budgets":
        msg = f"expected a file of format 'seepage.budgets', got {kind!r} in {name}"
        raise TableError(msg)
    _check_version(found, name)
    if not CALIBRATED & set(found):  # an allocation: budgets that share a total, no more
        return _numbers(found.get("budgets"), f"the budgets in {name}")
    return _calibration(found, name)


def _check_version(found: Mapping[str, Any], name: str) -> None:
    if found.get("version") != 1 or found.get("unit") != "nats":
        msg = (
            f"expected version 1 in nats of format 'seepage.budgets' in {name}, got version "
            f"{found.get('version')!r} in {found.get('unit')!r}"
        )
        raise TableError(msg)


def _calibration(found: Mapping[str, Any], name: str) -> Calibration:
    method: Any = found.get("method")
    standing: Any = found.get("standing")
    if method not in get_args(TotalMethod) or standing not in set(Standing):
        msg = f"expected a method and a standing in {name}, got {method!r} and {standing!r}"
        raise TableError(msg)
    assumptions = found.get("assumptions")
    if not isinstance(assumptions, list) or not all(isinstance(x, str) for x in assumptions):
        msg = f"expected a list of assumptions in {name}, got {assumptions!r}"
        raise TableError(msg)
    budgets = _numbers(found.get("budgets"), f"the budgets in {name}")
    totals = _numbers(found.get("totals"), f"the totals in {name}")
    if set(budgets) != set(totals):
        msg = f"expected totals of the same columns as the budgets in {name}, got others"
        raise TableError(msg)
    for column, value in totals.items():
        if value < budgets[column] * (1 - 1e-9):
            msg = (
                f"expected totals of at least the budgets in {name}, got {value!r} for {column!r} "
                f"with a budget of {budgets[column]!r}"
            )
            raise TableError(msg)
    domain = found.get("domain", "")
    if not isinstance(domain, str):
        msg = f"expected a digest of the domain in {name}, got {domain!r}"
        raise TableError(msg)
    return Calibration(
        budgets=budgets,
        totals=totals,
        target=_number(found.get("target"), f"the target in {name}"),
        method=method,
        standing=Standing(standing),
        assumptions=tuple(assumptions),
        source=str(found.get("source", "")),
        domain=domain,
    )


def _numbers(found: object, role: str) -> dict[str, float]:
    if not isinstance(found, Mapping) or not found:
        msg = f"expected {role} to be an object of numbers, got {found!r}"
        raise TableError(msg)
    return {str(key): _number(value, f"{key!r} of {role}") for key, value in found.items()}


def _number(value: object, role: str) -> float:
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # an integer beyond every float
            number = float(value)
    elif isinstance(value, str) and value.strip() in {"inf", "∞"}:
        number = math.inf
    if not number >= 0:
        msg = f"expected {role} to be a number from 0 to inf, got {value!r}"
        raise TableError(msg)
    return number
