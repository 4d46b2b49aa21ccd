"""See `refute.issue.redgreen`."""

from refute.issue.redgreen.method import redgreen

__all__ = ["redgreen"]
