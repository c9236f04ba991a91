"""Frames and files to domains, codes and counts: the only layer that sees data frames."""

from __future__ import annotations

from seepage.tables.domain_files import domain_from_yaml, domain_to_yaml
from seepage.tables.load import CodedTable, load

__all__ = ["CodedTable", "domain_from_yaml", "domain_to_yaml", "load"]
