"""Measure and control the privacy that seeps through correlations."""

from __future__ import annotations

from seepage.channel import Channel, lambda_response, randomized_response
from seepage.counts import Counts, PairCounts
from seepage.domain import Attribute, Domain
from seepage.errors import (
    CapacityError,
    DomainError,
    InvalidInputError,
    MissingDependencyError,
    SeepageError,
    TableError,
)
from seepage.results import Finding, Interval, Standing
from seepage.tradeoff import Envelope, TradeOff

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "CapacityError",
    "Channel",
    "Counts",
    "Domain",
    "DomainError",
    "Envelope",
    "Finding",
    "Interval",
    "InvalidInputError",
    "MissingDependencyError",
    "PairCounts",
    "SeepageError",
    "Standing",
    "TableError",
    "TradeOff",
    "lambda_response",
    "randomized_response",
]
