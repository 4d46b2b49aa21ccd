"""The exception for everything that a user can mend, and the line for what is no user's fault."""

from __future__ import annotations

from pathlib import Path

__all__ = ["InputError", "at_fault"]


class InputError(ValueError):
    """Bad input. The message is one line for people: what is wrong, where, and how to mend it."""


def at_fault(error: BaseException) -> str:
    """One line for an exception of our own: where it was raised, its type, its message."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    try:
        message = " ".join(str(error).split())[:300]
    except Exception:  # such as an int of more digits than Python writes
        message = ""
    name = type(error).__name__
    return f"{place}: {name}: {message}" if message else f"{place}: {name}"
