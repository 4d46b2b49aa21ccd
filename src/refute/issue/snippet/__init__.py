"""The reproducer that asks no model: what the issue itself contains, run and made a test."""

from __future__ import annotations

from refute.issue.snippet.method import snippet

__all__ = ["snippet"]
