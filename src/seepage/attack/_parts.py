"""Reports of any type taken apart into columns: their entries, with keys and lengths."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._numeric import IntArray
from seepage.errors import InvalidInputError

Column = NDArray[Any]
"""One component of n reports, shape (n,): numbers, texts, or objects made by `key`."""

UNEQUAL = "not equal to itself"

WIDTH = 60
"""Most characters of an input or a symbol that are shown."""

MAX_DEPTH = 50
"""Levels of lists and mappings in each other; a list that holds itself has no end of them."""

_PLAIN = {int, str, bool, bytes, type(None)}


def key(item: Any) -> Hashable:
    """Something hashable that is equal for equal reports only: 1, True, 1.0 and "1" differ.

    Raises
    ------
    InvalidInputError
        If the report is an object that cannot be compared.
    """
    try:
        return _key(item, 0)
    except InvalidInputError:
        raise
    except Exception as error:  # whatever an object's own methods raise
        raise _not_comparable(item) from error


def _key(item: Any, depth: int) -> Hashable:
    if type(item) in _PLAIN:
        return (type(item).__name__, item)
    _check_depth(depth)
    deeper = depth + 1
    if isinstance(item, np.ndarray):
        entries = tuple(_key(each, deeper) for each in item.ravel().tolist())
        return ("ndarray", item.dtype.kind, item.shape, entries)
    if isinstance(item, np.generic):
        item = item.item()
    kind = type(item).__name__
    if isinstance(item, float) and math.isnan(item):
        return (kind, "nan")
    if isinstance(item, Mapping):
        pairs = ((_key(name, deeper), _key(value, deeper)) for name, value in item.items())
        return (kind, frozenset(pairs))
    if isinstance(item, AbstractSet):
        return (kind, frozenset(_key(each, deeper) for each in item))
    if isinstance(item, (list, tuple, deque)):
        return (kind, tuple(_key(each, deeper) for each in item))
    if isinstance(item, bytearray):
        return (kind, bytes(item))
    try:
        hash(item)
        same = bool(item == item)  # noqa: PLR0124 (an object's own idea of it)
    except Exception as error:  # whatever an object's own methods raise
        raise _not_comparable(item) from error
    return (kind, item) if same else (kind, UNEQUAL)


def _not_comparable(item: Any) -> InvalidInputError:
    kind = type(item).__name__
    return InvalidInputError(f"expected reports that can be compared (hashable), got {kind}")


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        msg = (
            f"expected reports of at most {MAX_DEPTH} lists or mappings in each other, got more, "
            "or one that holds itself"
        )
        raise InvalidInputError(msg)


def shown(item: Any) -> str:
    """A key as text, near to how the report was written."""
    text = _shown(item)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _shown(item: Any) -> str:
    if not isinstance(item, tuple) or not item or not isinstance(item[0], str):
        return label(item)
    kind, content = item[0], item[-1]
    if kind == "ndarray" and len(item) == 4:
        return f"array({_listed(content, '[]')})"
    if len(item) != 2:
        return label(item)
    if isinstance(content, tuple):
        return _listed(content, "()" if kind == "tuple" else "[]")
    if isinstance(content, frozenset):
        texts = sorted(
            f"{_shown(each[0])}: {_shown(each[1])}" if isinstance(each[0], tuple) else _shown(each)
            for each in content
        )
        return f"{{{', '.join(texts)}}}"
    if content == "nan" and kind != "str":
        return "nan"
    if content == UNEQUAL and kind != "str":
        return f"<{kind} {UNEQUAL}>"
    return label(content)


def _listed(content: Iterable[Any], ends: str) -> str:
    texts = [_shown(each) for each in content]
    comma = "," if ends == "()" and len(texts) == 1 else ""
    return f"{ends[0]}{', '.join(texts)}{comma}{ends[1]}"


def label(item: Any) -> str:
    """How an input or a symbol is shown."""
    try:
        text = " ".join(repr(item.item() if isinstance(item, np.generic) else item).split())
    except Exception:  # whatever an object's own repr raises
        text = f"<{type(item).__name__}>"
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


@dataclass(frozen=True, eq=False)
class Parts:
    """Reports in components.

    Parameters
    ----------
    columns : list of arrays of shape (n,)
    lengths : mapping of int to array of int of shape (n,)
        Lengths of components that are texts, bytes, or lists that were not taken apart; −1 for
        what has no length.
    layout : tuple
        Which mappings and lists, with which keys, the components come from; reports of another
        layout are not comparable by component.
    """

    columns: list[Column]
    lengths: Mapping[int, IntArray]
    layout: tuple[Hashable, ...] = ()

    def head(self, n: int) -> Parts:
        """The first n reports."""
        return Parts(
            [column[:n] for column in self.columns],
            {j: length[:n] for j, length in self.lengths.items()},
            self.layout,
        )

    @property
    def shape(self) -> tuple[Hashable, ...]:
        """Equal for samples that can be compared by component."""
        return (len(self.columns), *self.layout)

    @classmethod
    def joined(cls, parts: Iterable[Parts], origin: Hashable) -> Parts:
        """The components of several parts of a report, one after the other."""
        columns: list[Column] = []
        lengths: dict[int, IntArray] = {}
        layout: list[Hashable] = [origin]
        for part in parts:
            lengths |= {len(columns) + j: length for j, length in part.lengths.items()}
            layout.append(part.shape)
            columns += part.columns
        return cls(columns, lengths, tuple(layout))


def split(reports: Any, n: int) -> Parts:
    """Split reports into components.

    Parameters
    ----------
    reports : array or sequence
        First axis: the n reports. An array of two axes or more, or sequences of one length, have
        one component for each entry; mappings with the same keys one for each key; anything else
        is one component.
    n : int

    Returns
    -------
    Parts

    Raises
    ------
    InvalidInputError
        If there are not n reports, or one cannot be compared.
    """
    count = _length(reports)
    if count != n:
        got = f"{count:,}" if count >= 0 else f"{type(reports).__name__}"
        msg = f"expected {n:,} reports, one for each input, got {got}"
        raise InvalidInputError(msg)
    if isinstance(reports, np.ma.MaskedArray):
        msg = "expected reports without a mask, got a masked array"
        raise InvalidInputError(msg)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biufUS":
        if reports.size == 0:  # reports without components are all alike
            return Parts([np.zeros(n, dtype=np.int64)], {})
        columns = list(np.ascontiguousarray(reports.reshape(n, -1).T))  # by component: much faster
        if reports.dtype.kind not in "US":
            return Parts(columns, {})
        sizes = {j: np.strings.str_len(column) for j, column in enumerate(columns)}
        return Parts(columns, sizes)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "mM":
        return split(reports.view(np.int64), n)
    items = list(reports)
    if len(items) != n:  # a data frame lists its columns
        msg = f"expected {n:,} reports in an array or a list, got {type(reports).__name__}"
        raise InvalidInputError(msg)
    return _split_list(items)


def _length(reports: Any) -> int:
    if isinstance(reports, (str, bytes, Mapping, AbstractSet)):
        return -1
    try:
        return len(reports)
    except Exception:  # whatever an object's own length raises
        return -1


def _split_list(items: list[Any], depth: int = 0) -> Parts:
    _check_depth(depth)
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in {int, float, bool} or issubclass(kind, np.generic):
            plain = np.array(items)
            if plain.dtype.kind in "biuf" and plain.ndim == 1:
                return Parts([plain], {})
        if kind is np.ndarray and len({(i.shape, i.dtype) for i in items}) == 1:
            whole = np.stack(items)
            return split(whole, len(items)) if whole.dtype.kind in "biuf" else unsplit(items)
        if kind in {list, tuple, deque} and len(set(map(len, items))) == 1 and items[0]:
            each = (_split_list([*part], depth + 1) for part in zip(*items, strict=True))
            return Parts.joined(each, kind.__name__)
        # The order in which a mapping holds its keys is no part of it.
        if issubclass(kind, dict) and len({frozenset(map(key, item)) for item in items}) == 1:
            names = {key(name): name for name in items[0]}
            order = sorted(names, key=repr)
            parts = [[item[names[each]] for item in items] for each in order]
            if parts:
                each = (_split_list(part, depth + 1) for part in parts)
                return Parts.joined(each, (kind.__name__, *order))
    return unsplit(items)


def unsplit(items: list[Any]) -> Parts:
    """One component, with its lengths if anything has one."""
    lengths = np.fromiter(map(_length_of, items), np.int64, len(items))
    return Parts([keys_of(items)], {0: lengths} if (lengths >= 0).any() else {})


def _length_of(item: Any) -> int:
    """Number of characters or entries, those of texts and lists inside counted; −1 without any."""
    try:
        return _counted(item, 0)
    except InvalidInputError:
        raise
    except Exception as error:  # whatever an object's own length raises
        msg = f"expected reports whose length can be taken, got {type(item).__name__}"
        raise InvalidInputError(msg) from error


def _counted(item: Any, depth: int) -> int:
    _check_depth(depth)
    if isinstance(item, np.ndarray):
        item = item.ravel().tolist() if item.dtype.kind == "O" else item.ravel()
    if isinstance(item, Mapping):
        item = list(item.values())
    if isinstance(item, (list, tuple, deque, AbstractSet)):
        return sum(max(1, _counted(each, depth + 1)) for each in item)
    return len(item) if isinstance(item, (str, bytes, bytearray, np.ndarray)) else -1


def keys_of(items: Iterable[Any]) -> Column:
    made = [key(item) for item in items]
    column = np.empty(len(made), dtype=object)
    column[:] = made
    return column


def lengths_of(parts: Parts, j: int) -> IntArray:
    """Lengths of a component; −1 where it has none."""
    known = parts.lengths.get(j)
    return np.full(parts.columns[j].size, -1, dtype=np.int64) if known is None else known


def items_of(reports: Any) -> list[Any]:
    if isinstance(reports, np.ndarray) and reports.ndim == 1:
        listed: list[Any] = reports.tolist()
        return listed
    return list(reports)
