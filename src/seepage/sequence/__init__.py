"""Redaction of a sequence so that one record stays private."""

from __future__ import annotations

from seepage.sequence import redact

__all__ = ["redact"]
