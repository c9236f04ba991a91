"""Results to text, charts, pages and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage.results import Result

if TYPE_CHECKING:
    import altair as alt


def chart(result: Result) -> alt.TopLevelMixin:
    """Return the main chart of a result."""
    raise NotImplementedError(type(result).__name__)


def html(result: Result) -> str:
    """Return a self-contained page about a result."""
    raise NotImplementedError(type(result).__name__)
