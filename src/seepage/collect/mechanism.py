"""What every local randomiser of one attribute offers, whatever its reports look like.

A report is turned into *features*, numbers whose expectation given the true category is known, and
a linear map of the features is an unbiased estimate of the indicator of that category. Estimators
need nothing else, so a mechanism with 2^k possible reports costs no more than its k features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from seepage._entropy import Rng as Rng  # noqa: PLC0414  (part of the interface)
from seepage._entropy import word_source
from seepage._numeric import FloatArray, IntArray, freeze
from seepage.channel import Channel
from seepage.collect._maps import AxisMap, DenseMap, Even
from seepage.collect._weights import TableWeights, table_weights
from seepage.errors import InvalidInputError

Reports = NDArray[Any]
"""Reports of n records; the first axis is the record."""


def check_codes(codes: Any, k: int, name: str = "codes") -> IntArray:
    """Return positions of categories as an int array of shape (n,).

    Raises
    ------
    InvalidInputError
        If they are not whole numbers (bool, float, text, null), not one-dimensional, or outside
        0 … k − 1.
    """
    refuse_mask(codes, name)
    try:
        array = np.asarray(codes)
    except Exception as error:  # whatever an object's own conversion raises
        msg = f"expected {name} to be an array of whole numbers, got {codes!r}"
        raise InvalidInputError(msg) from error
    if array.ndim != 1:
        msg = f"expected {name} of shape (n,), got shape {array.shape}"
        raise InvalidInputError(msg)
    if array.dtype.kind not in "iu":
        if array.size == 0 and array.dtype.kind == "f":  # an empty list
            return np.zeros(0, dtype=np.int64)
        msg = f"expected {name} to be whole numbers, got type {array.dtype}"
        raise InvalidInputError(msg)
    if array.size:
        low, high = array.min(), array.max()
        if low < 0 or high >= k:
            bad = int(low if low < 0 else high)
            msg = f"expected {name} from 0 to {k - 1}, got {bad}"
            raise InvalidInputError(msg)
    return np.asarray(array.astype(np.int64, copy=False))


def refuse_mask(codes: Any, name: str = "codes") -> None:
    """Refuse a masked array, whose hidden values would be taken for true ones.

    Raises
    ------
    InvalidInputError
    """
    if isinstance(codes, np.ma.MaskedArray):
        msg = f"expected {name} without a mask, got a masked array"
        raise InvalidInputError(msg)


class Mechanism(ABC):
    """A local randomiser of one attribute (or of several, taken as one) with k categories.

    Subclasses are frozen dataclasses; equality is by their parameters.
    """

    kind: ClassVar[str]
    """Name in plan files."""
    form: ClassVar[Literal["category", "text"]]
    """Whether a report is a category (an integer code), or something written as text."""

    # Fields in some subclasses and properties in others; an abstract property here would be in the
    # way of the fields at run time, so only type checkers see one.
    if TYPE_CHECKING:

        @property
        def k(self) -> int:
            """Number of categories of the input."""

        @property
        def epsilon(self) -> float:
            """Privacy parameter of the probabilities, in [0, ∞]; 0 for a single category."""
    else:
        k: int
        epsilon: float

    @property
    @abstractmethod
    def release_epsilon(self) -> float:
        """ε of the integer weights that a release samples from; never above `epsilon`."""

    @abstractmethod
    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record.

        Parameters
        ----------
        codes : array of int, shape (n,)
            Positions of the true categories.
        rng : numpy.random.Generator or int, optional
            For simulation. Without it the draw is a release: entropy of the operating system and
            integer weights.

        Returns
        -------
        array, first axis n
        """

    @abstractmethod
    def check_reports(self, reports: Any) -> Reports:
        """Return `reports` as an array of the right type.

        Raises
        ------
        InvalidInputError
            If a report is outside the output space.
        """

    @property
    @abstractmethod
    def features(self) -> int:
        """Number F of features of one report."""

    @abstractmethod
    def featurize(self, reports: Reports) -> FloatArray:
        """Features of each report, shape (n, F)."""

    @property
    @abstractmethod
    def unbias(self) -> FloatArray:
        """Linear map U of shape (F, k): ``E[features(Y) | x] @ U`` is the indicator of x.

        Raises
        ------
        InvalidInputError
            If the reports do not identify the distribution (ε = 0, a singular table).
        """

    @property
    def even(self) -> Even | None:
        """The numbers of a mechanism that treats all categories alike; None for others.

        Raises
        ------
        InvalidInputError
            If the reports do not identify the distribution.
        """
        return None

    def unbias_map(self) -> AxisMap:
        """Return the map `unbias`, without its table where the structure is known."""
        even = self.even
        return DenseMap(self.unbias) if even is None else even.map(self.k)

    @property
    @abstractmethod
    def unbias_squared(self) -> FloatArray:
        """Linear map of shape (F, k): ``features @ unbias_squared = (features @ unbias)**2``."""

    @abstractmethod
    def moments(self) -> FloatArray:
        """``E[features(Y) | x]``, shape (k, F)."""

    @abstractmethod
    def log_likelihood(self, reports: Reports) -> FloatArray:
        """``ln p(report | category)`` of each report and category, shape (n, k).

        −∞ where the category cannot make the report.

        Raises
        ------
        InvalidInputError
            If a report is outside the output space.
        """

    @abstractmethod
    def encode(self, reports: Reports) -> Sequence[str]:
        """Reports as text; for `form` "text" only."""

    @abstractmethod
    def decode(self, texts: Iterable[str]) -> Reports:
        """Inverse of `encode`; raises InvalidInputError for text that is no report."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values, with "kind"; see `mechanism_from_dict`.

        What JSON can hold: an infinite ε is the text "inf".
        """

    # For subclasses with arrays; dataclasses of plain numbers compare their fields.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


class TableMechanism(Mechanism, ABC):
    """A mechanism whose report is one of m categories: a channel of moderate size.

    Features are the m indicators of the report (never materialised by estimators, which count).
    """

    form: ClassVar[Literal["category", "text"]] = "category"

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """``p(report | true category)``, shape (k, m)."""

    @cached_property
    def weights(self) -> TableWeights:
        """Integer weights that `sample` draws from."""
        return table_weights(self.channel.log_matrix, self.epsilon)

    @property
    def release_epsilon(self) -> float:
        """ε of the integer weights; never above `epsilon`."""
        return self.weights.epsilon

    def sample(self, codes: IntArray, *, rng: Rng = None) -> Reports:
        """Randomise one category for each record; see `Mechanism.sample`."""
        return self.weights.draw(check_codes(codes, self.k), word_source(rng))

    def check_reports(self, reports: Any) -> Reports:
        """Return codes of reports as an int array of shape (n,)."""
        return check_codes(reports, self.features, "reports")

    @property
    def features(self) -> int:
        """Number m of reports."""
        return self.channel.shape[1]

    def featurize(self, reports: Reports) -> FloatArray:
        """Indicators of the reports, shape (n, m)."""
        codes = self.check_reports(reports)
        result = np.zeros((codes.size, self.features))
        result[np.arange(codes.size), codes] = 1.0
        return result

    @cached_property
    def unbias(self) -> FloatArray:
        """``channel.inverse``, shape (m, k)."""
        return self.channel.inverse

    @cached_property
    def unbias_squared(self) -> FloatArray:
        """Squares of `unbias`, shape (m, k): one indicator is 1, the others are 0."""
        return freeze(self.unbias**2)

    def moments(self) -> FloatArray:
        """The table of the channel, shape (k, m)."""
        return self.channel.matrix

    def log_likelihood(self, reports: Reports) -> FloatArray:
        """Columns of the channel; see `Mechanism.log_likelihood`."""
        return np.asarray(self.channel.log_matrix.T[self.check_reports(reports)])

    def encode(self, reports: Reports) -> Sequence[str]:
        """Not for categories; a report is written as the label of its category."""
        raise InvalidInputError(self._no_text)

    def decode(self, texts: Iterable[str]) -> Reports:
        """Not for categories."""
        raise InvalidInputError(self._no_text)

    @property
    def _no_text(self) -> str:
        return (
            f"expected a mechanism whose reports are text, got {self.kind!r}, whose are categories"
        )
