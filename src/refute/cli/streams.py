"""The standard streams, whatever they are: closed, full, of an encoding that lacks a character."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from refute.errors import InputError

_MOST_LISTED = 4 << 20
"""Characters of a list of targets."""


class SafeStream(io.FileIO):
    """A stream that takes everything, also what the disk behind it does not: the work goes on, and
    what it writes to files is written. The reader of a pipe that has gone ends it as ever."""

    failed: OSError | None = None
    """Why something is not there."""
    gone = False
    """There is nobody who reads it."""

    def write(self, data: Any) -> int:
        """As a file does; an error is kept."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self.gone = True
            raise
        except OSError as error:
            self.failed = self.failed or error
            return memoryview(data).nbytes


def prepare_streams() -> tuple[SafeStream, SafeStream]:
    """Make all three usable, and return what is below stdout and stderr.

    A closed one becomes the null device: else the next file that is opened would get its number,
    and what other programs print would go there. What an encoding lacks is written as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    out, err = SafeStream(1, "w", closefd=False), SafeStream(2, "w", closefd=False)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(err, sys.stderr)
    return out, err


def _text(raw: SafeStream, before: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", "utf-8"),
        errors="backslashreplace",
        line_buffering=getattr(before, "line_buffering", False),
        write_through=getattr(before, "write_through", False),
    )


def drop_output(*streams: SafeStream) -> None:
    """Where a reader has gone, what is left for it is dropped: Python does not try it again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    for raw in streams:
        if raw.gone:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, raw.fileno())
            os.close(null)


def read_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """The targets; in place of `-` those on stdin, one a line."""
    found: list[str] = []
    for target in targets:
        if target != "-":
            found.append(target)
            continue
        text = sys.stdin.read(_MOST_LISTED + 1)
        if len(text) > _MOST_LISTED:
            raise InputError("-: the list of targets is longer than 4 MiB")
        found += [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(found)
