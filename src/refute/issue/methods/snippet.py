"""See `refute.issue.snippet`."""

from refute.issue.snippet.method import snippet

__all__ = ["snippet"]
