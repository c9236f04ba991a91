"""Chains and redaction plans in files, and redacted tables as bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seepage._unique_keys import unique
from seepage.collect.records import label_text
from seepage.errors import InvalidInputError, TableError, did_you_mean
from seepage.results import plain, write_text
from seepage.sequence.chain import MarkovChain
from seepage.sequence.plan import FORMAT, RedactionPlan

if TYPE_CHECKING:
    import polars as pl

MANY, MANY_VERSION = "seepage.redaction_plans", 1

CHAIN = ("transition", "states", "initial")
"""What a chain in a file may have."""

ENDINGS = (".csv", ".parquet", ".arrow", ".feather", ".ipc")

KIND_KEY, VERSION_KEY, KIND_COLUMN = "seepage.kind", "seepage.version", "(redaction)"


def read_chain(path: str | Path) -> MarkovChain:
    """Read a chain from a JSON file.

    Parameters
    ----------
    path : path
        An object with "transition", and "states" and "initial" if wanted, or one that holds such an
        object as "chain", as every redaction plan does.

    Returns
    -------
    MarkovChain

    Raises
    ------
    TableError
        If the file cannot be read or holds no chain, or one with an entry that is not known.
    InvalidInputError
        If its tables are no laws.
    """
    content = _object(path)
    told = content.get("chain", content)
    if not isinstance(told, Mapping) and isinstance(content.get("plans"), Sequence):
        told = None
    if content.get("format") == MANY:
        plans = content.get("plans")
        first = plans[0] if isinstance(plans, list) and plans else None
        told = first.get("chain") if isinstance(first, Mapping) else None
    if not isinstance(told, Mapping) or "transition" not in told:
        found = told if isinstance(told, Mapping) else {}
        close = did_you_mean("transition", list(found))
        msg = f"expected a chain with 'transition' in {Path(path).name}, got none.{close}"
        raise TableError(msg)
    for name in told:
        if name not in CHAIN:  # left out without a word, 'intial' would be taken as stationary
            msg = (
                f"expected a chain with {', '.join(map(repr, CHAIN))} in {Path(path).name}, got "
                f"{name!r}.{did_you_mean(name, CHAIN)}"
            )
            raise TableError(msg)
    states = told.get("states", ())
    states = () if states is None else states
    if not isinstance(states, list | tuple):
        msg = f"expected a list of states in {Path(path).name}, got {states!r}"
        raise TableError(msg)
    return MarkovChain(told["transition"], told.get("initial"), tuple(states))


def read_plans(path: str | Path) -> tuple[RedactionPlan, ...]:
    """Read the plans that `write_plans` wrote, or a single one; leakages are computed again.

    Raises
    ------
    TableError
        If the file cannot be read or holds no plan.
    InvalidInputError
        If a plan is not whole.
    """
    content = _object(path)
    if content.get("format") == FORMAT:
        return (RedactionPlan.from_dict(content),)
    plans = content.get("plans")
    if content.get("format") != MANY or not isinstance(plans, list) or not plans:
        msg = f"expected redaction plans in {Path(path).name}, got {content.get('format')!r}"
        raise TableError(msg)
    version = content.get("version")
    if isinstance(version, bool) or version != MANY_VERSION:
        msg = f"expected version {MANY_VERSION} of redaction plans, got {version!r}"
        raise TableError(msg)
    return tuple(RedactionPlan.from_dict(plan) for plan in plans)


def write_plans(plans: Sequence[RedactionPlan], path: str | Path) -> None:
    """Write plans to a JSON file, whole or not at all."""
    write_text(path, plans_text(plans))


def plans_text(plans: Sequence[RedactionPlan]) -> str:
    """Content of a file of plans."""
    content = {
        "format": MANY,
        "version": MANY_VERSION,
        "plans": [plan.to_dict() for plan in plans],
    }
    return json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def ending_of(path: str | Path) -> str:
    """Return the ending of a file of redacted sequences in lower case.

    Raises
    ------
    InvalidInputError
        If sequences cannot be written with this ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        msg = f"expected a file that ends in {', '.join(ENDINGS)}, got {str(path)!r}"
        raise InvalidInputError(msg)
    return ending


def table_bytes(
    frame: pl.DataFrame,
    states: Sequence[str],
    ending: str,
    *,
    kind: str,
    marker: str = "",
    labels: Sequence[Any] = (),
) -> bytes:
    """Content of a file of redacted sequences.

    Parameters
    ----------
    frame : polars.DataFrame
        With null where a record is redacted.
    states : sequence of str
        Its columns of states.
    ending : str
        From `ending_of`.
    kind : str
        What the file is, such as "release"; see `seepage.plan.redacting.TableRedaction.kind`.
    marker : str
        What stands for a redacted record in CSV.
    labels : sequence of label
        States that the chain knows, none of which may be the marker, whether any is left or not.

    Notes
    -----
    Parquet says the kind in the metadata of the file. The other formats have no place for it that
    survives: they get a last column "(redaction)" that says it in every row.
    """
    import polars as pl

    import seepage

    stream = io.BytesIO()
    if ending == ".parquet":
        frame.write_parquet(stream, metadata={KIND_KEY: kind, VERSION_KEY: seepage.__version__})
        return stream.getvalue()
    if KIND_COLUMN in frame.columns:
        msg = f"expected no column {KIND_COLUMN!r}, which says what the file is, got one"
        raise InvalidInputError(msg)
    marked = frame.with_columns(pl.lit(kind).alias(KIND_COLUMN))
    if ending != ".csv":
        marked.write_ipc(stream)
        return stream.getvalue()
    if marker:
        _check_marker(frame, states, marker, labels)
        marked = marked.with_columns(
            pl.col(name).cast(pl.String).fill_null(marker) for name in states
        )
    marked.write_csv(stream)
    return stream.getvalue()


def _check_marker(
    frame: pl.DataFrame, states: Sequence[str], marker: str, labels: Sequence[Any]
) -> None:
    import polars as pl

    if not marker.isprintable():
        msg = f"expected a marker that prints, got {marker!r}"
        raise InvalidInputError(msg)
    if marker in map(label_text, labels):
        msg = f"expected a marker that is no state, got {marker!r}, which the chain has"
        raise InvalidInputError(msg)
    for name in states:
        if (frame[name].cast(pl.String) == marker).any():
            msg = f"expected a marker that is no state, got {marker!r}, which column {name!r} has"
            raise InvalidInputError(msg)


def _object(path: str | Path) -> Mapping[str, Any]:
    name = Path(path).name
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=unique)
    except OSError as error:
        msg = f"expected a readable file, got {name!r}: {error.strerror or error}"
        raise TableError(msg) from None
    except (ValueError, RecursionError) as error:
        msg = f"expected JSON in {name}, got an error: {str(error).splitlines()[0]}"
        raise TableError(msg) from None
    if not isinstance(content, Mapping):
        msg = f"expected an object in {name}, got {type(content).__name__}"
        raise TableError(msg)
    return content
