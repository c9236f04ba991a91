"""Plan files: JSON that people can read, with a checksum against edits and truncation.

The content is versioned: an entry never changes its meaning, later versions may add some. ε and
claims that follow from the parameters are computed again when a file is read and must agree.
"""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage._unique_keys import unique
from seepage.domain import Attribute, Domain
from seepage.errors import DomainError, InvalidInputError, SeepageError, TableError, did_you_mean
from seepage.results import Standing, plain

if TYPE_CHECKING:
    from seepage.collect.claims import Claim, Unit
    from seepage.collect.collection import CollectionPlan

FORMAT = "seepage.plan"
VERSION = 1

_ENTRIES = (
    "format", "version", "fingerprint", "source", "unit", "verdict", "design", "domain", "units",
    "claims", "target", "assumptions", "checksum",
)  # fmt: skip


def content(plan: CollectionPlan) -> dict[str, Any]:
    """Everything a plan file holds, as plain values; infinite numbers as "inf"."""
    body = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": plan.fingerprint,
        "source": _writable(plan.source),
        "unit": "nats",
        "verdict": plan.verdict,
        **_identity(plan),
        "claims": _grouped(plan.claims),
        "target": plan.target,
        "assumptions": [_writable(sentence) for sentence in plan.assumptions],
    }
    made: dict[str, Any] = plain(body)
    return made | {"checksum": _digest(made)}


def fingerprint(plan: CollectionPlan) -> str:
    """SHA-256 of what decides how records are randomised: domain, design and units."""
    return _digest(plain({"format": FORMAT, "version": VERSION, **_identity(plan)}))


def domain_digest(domain: Domain) -> str:
    """SHA-256 of the categories of a domain, whatever the order of its columns; hexadecimal."""
    return _digest(plain({item.name: _attribute(item) for item in domain}))


def write_plan(plan: CollectionPlan, path: str | Path) -> None:
    """Write a plan file whole or not at all."""
    plan.to_json(path)


def read_plan(path: str | Path) -> CollectionPlan:
    """Read a plan file and check all of it.

    Raises
    ------
    TableError
        If the file cannot be read, is no plan, was edited or truncated, or contradicts itself.
    """
    where = repr(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = f"expected a plan file that can be read, got {where}: {reason}"
        raise TableError(msg) from None
    except ValueError as error:  # no UTF-8, or no path at all
        msg = f"expected {where} to be a plan file in UTF-8, got an error: {error}"
        raise TableError(msg) from None
    return plan_from_text(text, where)


def plan_from_text(text: str, name: str = "the text") -> CollectionPlan:
    """Read a plan from the text of a plan file; see `read_plan`.

    Parameters
    ----------
    text : str
    name : str
        What the text is called in messages.
    """
    found = _parsed(text, name)
    if found.get("format") != FORMAT:
        msg = f"expected a file of format {FORMAT!r}, got {_short(found.get('format'))} in {name}"
        raise TableError(msg)
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        msg = f"expected version {VERSION} of format {FORMAT!r} in {name}, got {_short(version)}"
        raise TableError(msg)
    stated = found.pop("checksum", None)
    if stated != _digest(found):
        msg = (
            f"expected the checksum of {name} to match its content, got "
            f"{'none' if stated is None else 'another'}: the file was edited or damaged after it "
            "was made. Make the plan again with seepage plan."
        )
        raise TableError(msg)
    try:
        plan = _plan(found, name)
    except SeepageError as error:
        msg = f"expected {name} to hold a valid plan, got an error: {error}"
        raise TableError(msg) from error
    if plan.fingerprint != found["fingerprint"]:
        msg = f"expected the fingerprint of {name} to be that of its domain and units, got another"
        raise TableError(msg)
    # The verdict is for people; it is not read back, so that a later version may word it anew.
    return plan


def _identity(plan: CollectionPlan) -> dict[str, Any]:
    return {
        "design": plan.design,
        "domain": {"columns": {item.name: _attribute(item) for item in plan.domain}},
        "units": [_unit(unit) for unit in plan.units],
    }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    """One column in the form of domain files, every category listed."""
    result: dict[str, Any] = {}
    if attribute.edges is not None:
        result["bins"] = list(attribute.edges)
    result["categories"] = list(attribute.categories)
    for role in ("missing", "other"):
        label = getattr(attribute, role)
        if label is not None:
            result[role] = label
    return result


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "attributes": list(unit.names),
        "mechanism": unit.mechanism.to_dict(),
        "epsilon": unit.mechanism.epsilon,
    }


def _grouped(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims that rest on the same share one entry, so that a person can read them."""

    def key(claim: Claim) -> tuple[str, str, tuple[str, ...]]:
        return claim.quantity, str(claim.standing), claim.assumptions

    return [
        {
            "quantity": quantity,
            "standing": standing,
            "assumptions": [_writable(sentence) for sentence in assumptions],
            "values": {claim.about: claim.value for claim in group},
        }
        for (quantity, standing, assumptions), group in groupby(claims, key)
    ]


def _digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _writable(text: str) -> str:
    """A file name that is no valid text reaches us with lone surrogates."""
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _short(value: object) -> str:
    return reprlib.repr(value)


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(
            text, object_pairs_hook=unique, parse_constant=_refuse, parse_float=finite_float
        )
    except (ValueError, RecursionError) as error:
        reason = error.args[0] if error.args else type(error).__name__
        msg = (
            f"expected {name} to be a whole plan file, got an error: {reason}. It may be truncated "
            "or edited; make the plan again with seepage plan."
        )
        raise TableError(msg) from None
    if not isinstance(found, dict):
        msg = f"expected a JSON object in {name}, got {type(found).__name__}"
        raise TableError(msg)
    return found


def finite_float(text: str) -> float:
    """A number of JSON as a float.

    Raises
    ------
    ValueError
        If it is beyond every float, which must not be taken for infinity.
    """
    value = float(text)
    if math.isinf(value):
        msg = f"{_short(text)} is beyond the range of floating point"
        raise ValueError(msg)
    return value


def _refuse(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


def _plan(found: Mapping[str, Any], name: str) -> CollectionPlan:
    """Build the plan of a file whose checksum is right; its author may still have erred."""
    from seepage.collect.collection import CollectionPlan

    for key in found:
        if key not in _ENTRIES:
            msg = f"expected known entries, got {_short(key)}.{did_you_mean(key, _ENTRIES)}"
            raise TableError(msg)
    if _entry(found, "unit", str) != "nats":
        msg = f"expected a plan in nats, got {_short(found['unit'])}"
        raise TableError(msg)
    _entry(found, "fingerprint", str)
    _entry(found, "verdict", str)
    columns = _entry(_entry(found, "domain", dict), "columns", dict)
    domain = Domain(tuple(_read_attribute(key, value) for key, value in columns.items()))
    target = found.get("target")
    return CollectionPlan(
        domain=domain,
        design=_entry(found, "design", str),
        units=tuple(_read_unit(item) for item in _entry(found, "units", list)),
        claims=tuple(
            claim for item in _entry(found, "claims", list) for claim in _read_claims(item)
        ),
        assumptions=_texts(found, "assumptions"),
        source=_entry(found, "source", str),
        target=None if target is None else _number(target, "target"),
    )


def _entry(found: object, key: str, kind: type) -> Any:
    if not isinstance(found, dict):
        msg = f"expected an object with {key!r}, got {_short(found)}"
        raise TableError(msg)
    value = found.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        words: dict[Any, str] = {str: "a text", dict: "an object", list: "a list"}
        word = words.get(kind, "a value")
        msg = f"expected {word} as {key!r}, got {_short(value)}"
        raise TableError(msg)
    return value


def _texts(found: object, key: str) -> tuple[str, ...]:
    values = _entry(found, key, list)
    for value in values:
        if not isinstance(value, str):
            msg = f"expected a list of texts as {key!r}, got {_short(value)} in it"
            raise TableError(msg)
    return tuple(values)


def _number(value: object, role: str) -> float:
    if value == "inf":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        msg = f"expected {role} to be a number from 0 to inf, got {_short(value)}"
        raise TableError(msg)
    try:
        return float(value)
    except OverflowError:
        msg = f"expected {role} within the range of floating point, got {_short(value)}"
        raise TableError(msg) from None


def _read_attribute(name: str, spec: object) -> Attribute:
    categories = _entry(spec, "categories", list)
    found: dict[str, Any] = dict(spec) if isinstance(spec, dict) else {}
    for key in found:
        if key not in {"bins", "categories", "missing", "other"}:
            msg = f"expected a known entry for column {name!r}, got {_short(key)}"
            raise DomainError(msg)
    edges = None
    if "bins" in found:
        edges = tuple(_edge(item, name) for item in _entry(found, "bins", list))
    for role in ("missing", "other"):
        label = found.get(role)
        if not isinstance(label, (str, int, float, type(None))):
            msg = f"expected a label as {role} of column {name!r}, got {_short(label)}"
            raise DomainError(msg)
    return Attribute(name, tuple(categories), edges, found.get("missing"), found.get("other"))


def _edge(value: object, name: str) -> float:
    if isinstance(value, str) and value in {"inf", "-inf"}:
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**1023:
        return float(value)
    msg = f"expected bins of column {name!r} to be numbers, got {_short(value)}"
    raise DomainError(msg)


def _read_unit(item: object) -> Unit:
    from seepage.collect.claims import Unit
    from seepage.collect.registry import mechanism_from_dict

    names = _texts(item, "attributes")
    given = _entry(item, "mechanism", dict)
    values = {key: _parameter(value) for key, value in given.items()}
    try:
        mechanism = mechanism_from_dict(values)
    except SeepageError:
        raise
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        msg = f"expected parameters of a mechanism for {_short(names)}, got an error: {error}"
        raise InvalidInputError(msg) from error
    stated = _number(_entry(item, "epsilon", object), f"epsilon of {' + '.join(names)}")
    if not math.isclose(mechanism.epsilon, stated, rel_tol=1e-9, abs_tol=1e-300):
        msg = (
            f"expected ε = {mechanism.epsilon!r} for {' + '.join(map(repr, names))}, as the "
            f"parameters have it, got {stated!r}"
        )
        raise InvalidInputError(msg)
    return Unit(names, mechanism)


def _parameter(value: Any) -> Any:
    """Undo how infinite numbers are written."""
    if isinstance(value, list):
        return [_parameter(item) for item in value]
    return float(value) if isinstance(value, str) and value in {"inf", "-inf"} else value


def _read_claims(item: object) -> list[Claim]:
    from seepage.collect.claims import Claim

    quantity, standing = _entry(item, "quantity", str), _entry(item, "standing", str)
    if quantity not in {"epsilon", "total"}:
        msg = f"expected a claim on 'epsilon' or 'total', got {_short(quantity)}"
        raise InvalidInputError(msg)
    if standing not in set(Standing):
        msg = f"expected a standing ({', '.join(Standing)}), got {_short(standing)}"
        raise InvalidInputError(msg)
    assumptions = _texts(item, "assumptions")
    return [
        Claim(about, _number(value, f"claim on {about!r}"), Standing(standing), assumptions,
              "epsilon" if quantity == "epsilon" else "total")
        for about, value in _entry(item, "values", dict).items()
    ]  # fmt: skip
