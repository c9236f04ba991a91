"""Domain files: columns with their categories or bins, as YAML or JSON.

The form is ``columns: {name: {categories: [...]}}`` or ``columns: {name: {bins: [edges]}}``, with
optional ``labels`` (of bins), ``missing``, ``other`` and ``null_values``. Labels keep their types:
``1``, ``"1"``, ``true`` and ``1.0`` are four different categories, and ``yes``, ``no``, ``on`` and
dates are texts. A top-level ``read_from`` says that the categories were read from data and that
nobody has looked through them yet; whoever has deletes it. The files of dpsynth, SmartNoise and
Lomas are recognised by their structure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage.domain import Attribute, Domain, Label, label_key
from seepage.errors import DomainError, InvalidInputError, did_you_mean
from seepage.tables.binning import interval_labels
from seepage.tables.foreign import Foreign, foreign_columns, plain_labels
from seepage.tables.notes import READ_FROM_TABLE, read_from_table
from seepage.tables.show import short, writable

if TYPE_CHECKING:
    import yaml

_KEYS = ("categories", "bins", "labels", "missing", "other", "null_values", "description")
READ_FROM = "read_from"
"""Top-level entry of a file that was written from a table, and not looked through since."""

_HEAD = """\
# Read from {table}. Look through it before a release:
# * list what can occur, not only what did: any other value will be refused;
# * widen the first and the last bin: their outer edges are the smallest and the largest value of
#   somebody in the table.
# Then delete the line "read_from"; as long as it is there, plans say that they were read from data.
"""


@dataclass(frozen=True)
class DomainFile:
    """What a domain file says.

    Parameters
    ----------
    domain : Domain
    null_values : mapping of str to tuple of labels
        For each column that lists them, the values that mean missing.
    notes : tuple of str
        Where the categories were declared, and what was translated from a foreign form.
    names : tuple of str
        All columns that are declared, whether or not they were chosen.
    """

    domain: Domain
    null_values: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def was_read(self) -> bool:
        """Whether the categories come from data and nobody has declared them since."""
        return any(READ_FROM_TABLE in note for note in self.notes)


def domain_from_yaml(path_or_text: str | Path, *, n_bins: int = 10) -> Domain:
    """Read a domain from a YAML or JSON file, or from such text.

    Parameters
    ----------
    path_or_text : str or Path
        A text with a line break or a brace is content, any other a path.
    n_bins : int, default 10
        Intervals of equal width for a number of which a foreign file gives only the range.

    Raises
    ------
    DomainError
        If the file cannot be read, or does not describe a domain.

    Examples
    --------
    >>> domain_from_yaml("columns: {smoker: {categories: [yes, no]}}")["smoker"].categories
    ('yes', 'no')
    """
    return read_domain(path_or_text, n_bins=n_bins).domain


def read_domain(
    path_or_text: str | Path,
    *,
    n_bins: int = 10,
    columns: Sequence[str] | None = None,
    exclude: Container[str] = (),
) -> DomainFile:
    """Read a domain file; only the chosen columns need to have a meaning here.

    Raises
    ------
    DomainError
        See `domain_from_yaml`.
    """
    if isinstance(n_bins, bool) or not isinstance(n_bins, int) or n_bins < 1:
        msg = f"expected n_bins to be an integer of at least 1, got {n_bins!r}"
        raise InvalidInputError(msg)
    name, content = _content(path_or_text)
    top = _parsed(name, content)
    if not isinstance(top, Mapping) or not top:
        msg = f"expected {name} to be a mapping with columns, got {short(top)}"
        raise DomainError(msg)
    foreign = foreign_columns(top, name, n_bins)
    own = None if foreign is not None else _own_columns(top, name)
    known = [str(key) for key in (foreign.columns if foreign else own or {})]
    for wanted in columns or ():
        if wanted not in known:
            msg = f"expected a column of {name}, got {wanted!r}.{did_you_mean(wanted, known)}"
            raise DomainError(msg)
    chosen = [key for key in columns or known if key not in exclude]
    if foreign is not None:
        file = _from_foreign(foreign, chosen, explicit=columns is not None)
        return replace(file, names=tuple(known))
    attributes, nulls = [], {}
    for key in chosen:
        attribute, null = _own_attribute(key, (own or {})[key])
        attributes.append(attribute)
        if null:
            nulls[key] = null
    notes = _notes(top, name, len(attributes))
    return DomainFile(Domain(tuple(attributes)), nulls, notes, tuple(known))


def _notes(top: Mapping[Any, Any], name: str, columns: int) -> tuple[str, ...]:
    if READ_FROM not in top:
        return (f"Categories were declared in {name}.",)
    table = top[READ_FROM]
    if not isinstance(table, str) or not table.strip() or not writable(table):
        msg = (
            f"expected {READ_FROM} of {name} to name a table, got {short(table)}. Delete the line "
            "when you have looked through the categories."
        )
        raise DomainError(msg)
    told = (
        f"The domain of {name} was read from {short(table)}: look through it, then delete its line "
        f"{READ_FROM}."
    )
    return (read_from_table(columns), told)


def _from_foreign(foreign: Foreign, chosen: Sequence[str], *, explicit: bool) -> DomainFile:
    attributes = []
    notes = list(foreign.notes)
    for key in chosen:
        found = foreign.columns[key]
        if isinstance(found, Attribute):
            attributes.append(found)
        elif found.optional and not explicit:
            notes.append(found.reason)
        else:
            raise DomainError(found.reason)
    return DomainFile(Domain(tuple(attributes)), notes=tuple(notes))


def _content(path_or_text: str | Path) -> tuple[str, str]:
    if isinstance(path_or_text, str) and any(mark in path_or_text for mark in "\n{"):
        return "the domain text", path_or_text
    path = Path(path_or_text)
    try:
        return path.name, path.read_text(encoding="utf-8-sig")
    except OSError as error:
        shown = repr(str(path)) if len(str(path)) < 1000 else short(str(path))
        msg = f"expected a domain file that can be read, got {shown}: {error.strerror}"
        raise DomainError(msg) from error
    except (UnicodeDecodeError, ValueError) as error:
        msg = f"expected {path.name!r} to be text in UTF-8, got an error: {error}"
        raise DomainError(msg) from None


def _parsed(name: str, content: str) -> object:
    import yaml

    if content.lstrip().startswith("{"):
        try:
            return json.loads(content, object_pairs_hook=_unique)
        except json.JSONDecodeError:
            pass  # YAML has a brace form too
        except (ValueError, RecursionError) as error:
            msg = f"expected {name} to be a domain file, got an error: {error}"
            raise DomainError(msg) from None
    try:
        return yaml.load(content, _loader())
    except yaml.YAMLError as error:
        msg = f"expected {name} to be YAML or JSON, got an error: {' '.join(str(error).split())}"
        raise DomainError(msg) from None
    except (DomainError, MemoryError):
        raise
    except Exception as error:  # explicit tags run constructors that check little
        found = f"{type(error).__name__}: {short(str(error))}"
        msg = f"expected {name} to be a domain file, got an error: {found}"
        raise DomainError(msg) from None


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if isinstance(key, str) and not writable(key):
            msg = f"expected names that can be written as UTF-8, got {short(key)}"
            raise DomainError(msg)
        if key in result:
            msg = f"expected different names in a domain file, got {short(key)} twice"
            raise DomainError(msg)
        result[key] = value
    return result


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Build a safe loader for which fewer plain words are something else than text."""
    import re

    import yaml

    class Loader(yaml.SafeLoader):
        """Reads only true and false as truth values; no dates, octal or base-60 numbers."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the form PyYAML asks for

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Leave merge keys alone: a few lines of them can stand for very many entries."""

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        pairs = loader.construct_pairs(node, deep=True)
        for key, _ in pairs:
            if not isinstance(key, str):
                found = short(key)
                msg = f"expected names in a domain file to be text, got {found}: put it in quotes"
                raise DomainError(msg)
        return _unique(pairs)

    rules = (
        ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        (
            "float",
            r"^[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?"
            r"|\.(?:inf|Inf|INF))$|^\.(?:nan|NaN|NAN)$",
            "-+0123456789.",
        ),
        ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    )
    for tag, pattern, first in rules:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return Loader


def _own_columns(top: Mapping[Any, Any], name: str) -> Mapping[str, Any]:
    columns = top.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        found = ", ".join(repr(key) for key in list(top)[:6])
        msg = (
            f"expected {name} to have the form 'columns: {{name: {{categories: [...]}}}}' (or that "
            f"of dpsynth, SmartNoise or Lomas), got the keys {found}"
        )
        raise DomainError(msg)
    return columns


def _own_attribute(name: str, spec: object) -> tuple[Attribute, tuple[Label, ...]]:
    if isinstance(spec, list):
        spec = {"categories": spec}
    if not isinstance(spec, Mapping):
        msg = f"expected categories or bins for column {name!r}, got {short(spec)}"
        raise DomainError(msg)
    for key in spec:
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS)
            msg = f"expected a known entry for column {name!r}, got {key!r}.{hint}"
            raise DomainError(msg)
    nulls = _list(name, "null_values", spec.get("null_values", []))
    missing, other = spec.get("missing"), spec.get("other")
    for role, label in (("missing", missing), ("other", other)):
        plain_labels(name, role, [] if label is None else [label])
    edges: tuple[float, ...] | None = None
    if "bins" in spec:
        edges = _edges(name, spec["bins"])
        if "categories" in spec:
            categories = _list(name, "categories", spec["categories"])
        else:
            labels = spec["labels"] if "labels" in spec else list(interval_labels(edges))
            categories = _list(name, "labels", labels)
    elif "categories" in spec:
        categories = _list(name, "categories", spec["categories"])
    else:
        msg = f"expected categories or bins for column {name!r}, got {sorted(spec)}"
        raise DomainError(msg)
    keys = {label_key(label) for label in categories}
    for special in (other, missing):
        if special is not None and label_key(special) not in keys:
            categories = [*categories, special]
    return Attribute(name, tuple(categories), edges, missing, other), tuple(nulls)


def _list(name: str, role: str, value: object) -> list[Label]:
    if not isinstance(value, list):
        msg = f"expected {role} of column {name!r} to be a list, got {short(value)}"
        raise DomainError(msg)
    if any(item is None for item in value):
        msg = (
            f"expected {role} of column {name!r} to be text, numbers or truth values, got "
            "null. Put the word in quotes, or declare 'missing: label'."
        )
        raise DomainError(msg)
    return plain_labels(name, role, value)


def _edges(name: str, value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) < 2:
        msg = f"expected bins of column {name!r} to be a list of edges, got {short(value)}"
        raise DomainError(msg)
    edges = []
    for item in value:
        if isinstance(item, str) and item in {"inf", "-inf"}:
            item = float(item)
        if isinstance(item, bool) or not isinstance(item, (int, float)):
            msg = f"expected bins of column {name!r} to be numbers, got {short(item)}"
            raise DomainError(msg)
        try:
            edges.append(float(item))
        except OverflowError:
            msg = (
                f"expected bins of column {name!r} within the range of floating point, got "
                f"{short(item)}"
            )
            raise DomainError(msg) from None
    if any(math.isnan(a) or math.isnan(b) or a >= b for a, b in pairwise(edges)):
        msg = f"expected bins of column {name!r} to increase, got {edges}"
        raise DomainError(msg)
    return tuple(edges)


def domain_to_yaml(domain: Domain, *, read_from: str | None = None) -> str:
    """Write a domain as YAML text that `domain_from_yaml` reads back unchanged.

    Parameters
    ----------
    domain : Domain
    read_from : str, optional
        The table from which the categories were read, not declared. The text then starts with what
        to look at before a release, and whatever is made from it says that they come from data
        until its line ``read_from`` is deleted.

    Returns
    -------
    str

    Raises
    ------
    InvalidInputError
        If `read_from` is no text, or empty.
    """
    import yaml

    if read_from is not None and (not isinstance(read_from, str) or not read_from.strip()):
        msg = f"expected read_from to name a table, got {read_from!r}"
        raise InvalidInputError(msg)
    columns = {attribute.name: _written(attribute) for attribute in domain}
    head, top = "", {}
    if read_from is not None:
        table = read_from
        if not table.isprintable():  # a line break would end the comment
            table = table.encode("unicode_escape").decode("ascii")
        head, top = _HEAD.format(table=table), {READ_FROM: table}
    return head + yaml.dump(
        top | {"columns": columns},
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        width=96,
        default_flow_style=None,
    )


def written_domain(domain: Domain, notes: Iterable[str], source: str) -> str:
    """Write the domain of a table, as `domain_to_yaml`.

    Parameters
    ----------
    domain : Domain
    notes : iterable of str
        What was noted on the table: whether the categories were read from it.
    source : str
        What the table is called.
    """
    read = any(READ_FROM_TABLE in note for note in notes)
    return domain_to_yaml(domain, read_from=source if read else None)


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """Build a safe dumper that escapes what a reader would take for a line break."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts with control characters or exotic line breaks in double quotes."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        plain = value.isprintable() and "\ufeff" not in value
        style = None if plain else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper


def _written(attribute: Attribute) -> dict[str, Any]:
    result: dict[str, Any] = {}
    labels = list(attribute.intervals)
    special = [x for x in (attribute.other, attribute.missing) if x is not None]
    canonical = list(map(label_key, attribute.categories)) == list(map(label_key, labels + special))
    if attribute.edges is not None:
        result["bins"] = [
            int(edge) if edge.is_integer() and abs(edge) < 2**53 else edge
            for edge in attribute.edges
        ]
        if not canonical:
            result["categories"] = list(attribute.categories)
        elif tuple(labels) != interval_labels(attribute.edges):
            result["labels"] = labels
    else:
        result["categories"] = list(attribute.categories)
    roles = {"missing": attribute.missing, "other": attribute.other}
    return result | {role: label for role, label in roles.items() if label is not None}
