"""Estimates after further steps, beside the unbiased ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seepage.collect.collection import CollectionPlan
from seepage.collect.listing import LABEL_PREFIXES, flat, heading, table_dict, tables_in_words
from seepage.collect.marginals import records_in_words, simulation_note
from seepage.collect.projection import (
    AdjustedMarginal,
    ProjectMethod,
    agree,
    as_raw,
    notes_of,
    project,
)
from seepage.collect.routes import AttributeSet
from seepage.errors import InvalidInputError, did_you_mean
from seepage.results import Result, Standing

if TYPE_CHECKING:
    from seepage.collect.estimates import Estimates


@dataclass(frozen=True, eq=False)
class AdjustedEstimates(Result):
    """Tables after further steps, beside the unbiased ones.

    Attributes
    ----------
    raw : Estimates
    tables : tuple of AdjustedMarginal
        In the order of ``raw.sets``.
    """

    raw: Estimates
    tables: tuple[AdjustedMarginal, ...]

    @property
    def plan(self) -> CollectionPlan:
        """The plan of the collection."""
        return self.raw.plan

    @property
    def sets(self) -> tuple[AttributeSet, ...]:
        """The attributes of each table."""
        return self.raw.sets

    @property
    def source(self) -> str:
        """Where the reports came from."""
        return self.raw.source

    @property
    def size(self) -> int:
        """Number of records."""
        return self.raw.size

    @property
    def origin(self) -> str:
        """Release, simulation, unknown, or a mixture."""
        return self.raw.origin

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the reports leave open and a reader should hear of."""
        return self.raw.doubts

    @property
    def confidence(self) -> float:
        """Of the limits of the unbiased tables."""
        return self.raw.confidence

    @property
    def standing(self) -> Standing:
        """Heuristic when any table is."""
        weak = any(table.standing is Standing.HEURISTIC for table in self.tables)
        return Standing.HEURISTIC if weak else Standing.ESTIMATE

    @property
    def steps(self) -> tuple[str, ...]:
        """What was done."""
        return tuple(dict.fromkeys(step for table in self.tables for step in table.steps))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the tables rest on."""
        notes = dict.fromkeys(note for table in self.tables for note in notes_of(table))
        return (*notes, *self.raw.assumptions)

    def marginal(self, *names: str) -> AdjustedMarginal:
        """Return one of the tables, axes in this order.

        Raises
        ------
        InvalidInputError
            If it was not asked for.
        """
        for table in self.tables:
            if set(table.names) == set(names) and len(names) == len(table.names):
                axes = [table.names.index(name) for name in names]
                raw = self.raw.marginal(*names)
                return replace(table, raw=raw, values=table.values.transpose(axes))
        shown = [" × ".join(one) for one in self.sets]
        hint = did_you_mean(" × ".join(map(str, names)), shown)
        msg = f"expected one of the tables, got {' × '.join(map(str, names))}.{hint}"
        raise InvalidInputError(msg)

    def project(self, method: ProjectMethod = "simplex") -> AdjustedEstimates:
        """Make every table a distribution. Tables that agreed need not agree afterwards."""
        return replace(self, tables=tuple(project(table, method) for table in self.tables))

    def consistent(self) -> AdjustedEstimates:
        """Make overlapping tables agree. Values may become negative."""
        return replace(self, tables=agree(self.tables))

    @property
    def verdict(self) -> str:
        """What was done, in one sentence."""
        moved = max(table.moved for table in self.tables)
        return (
            f"{tables_in_words(self.sets)} from the reports of {records_in_words(self.size)}"
            f"{simulation_note(self.raw.sums.simulated > 0)} after {'; then '.join(self.steps)} "
            f"({self.standing}): a table moved by at most {moved:.4f} in total variation."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each cell of each table; errors and limits are of the unbiased estimate."""
        raw = dict(self.raw.columns())
        values = flat([table.values for table in self.tables])
        labels = {k: v for k, v in raw.items() if k == "table" or k.startswith(LABEL_PREFIXES)}
        rest = {f"{k}_unbiased": v for k, v in raw.items() if k in ("standard_error", "lower",
                "upper")}  # fmt: skip
        return {**labels, "estimate": values, "unbiased": raw["estimate"], **rest,
                "records": raw["records"]}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return heading(self, self.verdict, self.assumptions) | {
            "steps": list(self.steps),
            "confidence": self.confidence,
            "tables": [
                {
                    "attributes": list(table.names),
                    "categories": [list(item.categories) for item in table.domain],
                    "steps": list(table.steps),
                    "standing": table.standing,
                    "estimate": table.values,
                    "unbiased": table_dict(as_raw(table), self.confidence),
                }
                for table in self.tables
            ],
        }
