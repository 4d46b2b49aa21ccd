"""The standard streams, whatever they are: closed, full, of an encoding that lacks a character."""

from __future__ import annotations

import os
import sys

__all__ = ["drop_output", "prepare_streams"]


def prepare_streams() -> None:
    """Make all three usable.

    A closed one becomes the null device: else the next file that is opened would get its number,
    and what other programs print would go there. What an encoding lacks is written as an escape.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """What stdout could not take is dropped, so that Python does not try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
