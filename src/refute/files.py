"""Reading files that a user names or a run left behind: never for ever, never without bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["LARGEST", "read_file"]

LARGEST = 256 << 20
"""Bytes. More than any file that people or a run write here; less than what fills a memory."""


def read_file(path: Path, *, limit: int = LARGEST, pipe: bool = False) -> bytes:
    """The content of a regular file; with `pipe` also what comes through a pipe (`/dev/stdin`).

    Raises `OSError`, whose `strerror` says what is wrong for people: also for a folder, a device, a
    FIFO (opened without waiting for a writer) and what is larger than `limit` bytes.
    """
    # Without O_NONBLOCK the opening of a FIFO waits for a writer, for ever if need be.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb", buffering=0) as file:
        kind = os.fstat(handle).st_mode
        if pipe and stat.S_ISFIFO(kind):
            os.set_blocking(handle, True)
        elif not stat.S_ISREG(kind):
            raise _refused(path, "is a folder" if stat.S_ISDIR(kind) else "is not a regular file")
        parts, size = [], 0
        while part := file.read(_PART):
            size += len(part)
            if size > limit:
                raise _refused(path, f"is larger than {limit >> 20} MiB")
            parts.append(part)
    return b"".join(parts)


_PART = 1 << 20


def _refused(path: Path, why: str) -> OSError:
    return OSError(0, why, str(path))
