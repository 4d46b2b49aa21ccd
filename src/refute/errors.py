"""The exception for everything that a user can mend."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input. The message is one line for people: what is wrong, where, and how to mend it."""
