"""Frames and files to domains, codes and counts: the only layer that sees data frames."""

from __future__ import annotations

from seepage.tables.count_files import read_counts, write_counts
from seepage.tables.domain_files import domain_from_yaml, domain_to_yaml
from seepage.tables.load import CodedTable, load
from seepage.tables.opening import is_counts, open_table
from seepage.tables.streaming import CountedTable, count_table, merge_counts

__all__ = [
    "CodedTable",
    "CountedTable",
    "count_table",
    "domain_from_yaml",
    "domain_to_yaml",
    "is_counts",
    "load",
    "merge_counts",
    "open_table",
    "read_counts",
    "write_counts",
]
