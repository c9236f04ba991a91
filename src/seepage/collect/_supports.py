"""What unary encoding, local hashing and subset selection share.

A report of theirs *supports* some of the k categories: the true one with probability `hit`, each
other one with probability `miss`. These k indicators and a constant are all that an estimate needs,
whatever the report looks like.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from seepage._numeric import BoolArray, FloatArray, freeze
from seepage.collect._maps import Even
from seepage.collect._parameters import check_capacity
from seepage.collect.mechanism import Mechanism, Reports
from seepage.collect.response import SMALLEST_CONTRAST, not_identified
from seepage.errors import InvalidInputError


class SupportMechanism(Mechanism, ABC):
    """A mechanism whose report supports the true category more often than another.

    Features are the k indicators of support, and 1 at the end.
    """

    form: ClassVar[Literal["category", "text"]] = "text"

    @property
    @abstractmethod
    def hit(self) -> float:
        """Probability that a report supports the true category."""

    @property
    @abstractmethod
    def miss(self) -> float:
        """Probability that a report supports a given other category."""

    @property
    @abstractmethod
    def contrast(self) -> float:
        """``hit − miss``, without cancellation."""

    @abstractmethod
    def supports(self, reports: Reports) -> BoolArray:
        """Which categories each of the checked reports supports, shape (n, k)."""

    @property
    def features(self) -> int:
        """K indicators and a constant."""
        return self.k + 1

    def featurize(self, reports: Reports) -> FloatArray:
        """Indicators of support and 1, shape (n, k + 1)."""
        supported = self.supports(self.check_reports(reports))
        result = np.ones((len(supported), self.features))
        result[:, :-1] = supported
        return result

    def moments(self) -> FloatArray:
        """``E[features | x]``, shape (k, k + 1)."""
        check_capacity(self.k, self.features, "a table of moments")
        result = np.full((self.k, self.features), self.miss)
        np.fill_diagonal(result, self.hit)
        result[:, -1] = 1.0
        return result

    @property
    def even(self) -> Even:
        """The indicator of a category is ``(support − miss)/(hit − miss)``."""
        if self.k == 1:
            return Even(0.0, 1.0, 0.0, 1.0, constant=True)
        if self.contrast < SMALLEST_CONTRAST:
            raise not_identified(self.kind, self.epsilon)
        without, with_ = ((s - self.miss) / self.contrast for s in (0.0, 1.0))
        return Even(self.contrast, self.miss, with_ - without, without, constant=True)

    @cached_property
    def unbias(self) -> FloatArray:
        """``(support − miss)/(hit − miss)`` as a linear map, shape (k + 1, k)."""
        return freeze(self.even.map(self.k).dense())

    @cached_property
    def unbias_squared(self) -> FloatArray:
        """The square of it, linear as well because support is 0 or 1; shape (k + 1, k)."""
        return freeze(self.even.map(self.k).power(2).dense())


MAX_BITS = 4_000_000_000
"""Most bits of the reports of one call, 4 GB."""


class BitMechanism(SupportMechanism, ABC):
    """A mechanism that reports k bits, bool of shape (n, k), as hexadecimal text."""

    def supports(self, reports: Reports) -> BoolArray:
        """The bits themselves."""
        return np.asarray(reports, dtype=np.bool_)

    def check_reports(self, reports: Any) -> Reports:
        """Return reports as a bool array of shape (n, k)."""
        try:
            array = np.asarray(reports)
        except Exception as error:  # whatever an object's own conversion raises
            msg = f"expected reports of {self.k} bits, got {reports!r}"
            raise InvalidInputError(msg) from error
        if array.ndim != 2 or array.shape[1] != self.k:
            msg = f"expected reports of shape (n, {self.k}), got shape {array.shape}"
            raise InvalidInputError(msg)
        if array.dtype != np.bool_:
            msg = f"expected reports of type bool, got {array.dtype}"
            raise InvalidInputError(msg)
        self._check_bits(array)
        return array

    def _check_bits(self, bits: BoolArray) -> None:
        """Refuse bit strings outside the output space; all are inside unless overridden."""

    def encode(self, reports: Reports) -> Sequence[str]:
        """Bits as lower-case hexadecimal digits; the first category is the highest bit."""
        packed = np.packbits(self.check_reports(reports), axis=1)
        digits, width = packed.tobytes().hex(), 2 * packed.shape[1]
        return [digits[i : i + width] for i in range(0, len(digits), width)]

    def decode(self, texts: Iterable[str]) -> Reports:
        """Inverse of `encode`; raises InvalidInputError for text that is no report."""
        size = -(-self.k // 8)
        parts = []
        for text in as_texts(texts):
            if len(text) != 2 * size or not set(text) <= _DIGITS:
                msg = f"expected reports of {2 * size} hexadecimal digits, got {text!r}"
                raise InvalidInputError(msg)
            parts.append(text)
        packed = np.frombuffer(bytes.fromhex("".join(parts)), np.uint8).reshape(-1, size)
        bits = np.unpackbits(packed, axis=1).astype(np.bool_)
        padded = bits[:, self.k :].any(axis=1)
        if padded.any():
            text = parts[int(np.flatnonzero(padded)[0])]
            msg = f"expected reports of {self.k} bits and zeros after them, got {text!r}"
            raise InvalidInputError(msg)
        return self.check_reports(bits[:, : self.k])


_DIGITS = frozenset("0123456789abcdef")


def as_texts(texts: Any) -> list[str]:
    """Return an iterable of texts as a list; a single text, null or number is refused."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        msg = f"expected a list of texts, got {texts!r}"
        raise InvalidInputError(msg)
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            msg = f"expected reports as text, got {text!r}"
            raise InvalidInputError(msg)
    return listed
