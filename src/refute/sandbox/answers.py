"""What the sandbox's server left in the result file: frames of bytes, read as outcomes.

Trusted side: the program of a job could write there what it liked.
"""

from __future__ import annotations

import math
import os
import struct

from refute.sandbox import decoding, values
from refute.sandbox.contract import (
    Limits,
    NotRun,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
)

__all__ = ["Answers", "outcomes", "read_frames"]

_FRAME = struct.Struct("<II")
_FIRST_FRAME = 16
_HEADER = struct.Struct("<Q")


class Answers:
    """What came of each step of a run so far."""

    def __init__(self, total: int, limits: Limits) -> None:
        self.bodies: list[bytes | None] = [None] * total
        self.cuts: dict[int, Outcome] = {}
        self.left = math.inf if limits.run_wall is None else limits.run_wall
        self._most = max(limits.output, _EXCEPTION_BYTES)
        self._held = 0

    def keep(self, step: int, body: bytes) -> None:
        """Take a body; its digest where the run holds much already; nothing that breaks a limit."""
        if len(body) > self._most:
            return
        if self._held + len(body) > _MOST_HELD and len(body) > 1024 and body[:1] != b"E":
            body = values.digest(body)
        self._held += len(body)
        self.bodies[step] = body


_MOST_HELD = 64 << 20
"""Bytes of outputs that one run may hold here; each can decode to 50 times its size."""


def read_frames(fd: int, capacity: int, start: int, answers: Answers) -> None:
    """Read what the child wrote: bounds are checked, and that steps never go backwards."""
    (committed,) = _HEADER.unpack(os.pread(fd, 8, 0))
    committed = min(committed, capacity)
    data = os.pread(fd, committed, 0)
    at, last, unpack, total = _FIRST_FRAME, start, _FRAME.unpack_from, len(answers.bodies)
    for _ in range(2 * (total - start) + 8):  # no more than that are written in good faith
        if at + 8 > committed:
            return
        step, size = unpack(data, at)
        end = at + 8 + size
        if not last <= step < total or end > committed:
            return
        answers.keep(step, data[at + 8 : end])
        at, last = end, step


def outcomes(
    first: int, width: int, bodies: list[bytes | None], cuts: dict[int, Outcome]
) -> list[Outcome]:
    """The outcomes of the program whose import is step `first`."""
    failed = cuts.get(first)
    body = bodies[first]
    if failed is None and body is not None:
        failed = _outcome(body, on_import=True)
    if failed is None:
        return [
            _outcome(body) if body is not None else cuts.get(step, _NOT_RUN)
            for step, body in enumerate(bodies[first + 1 : first + width], first + 1)
        ]
    return [failed] * (width - 1)


_NOT_RUN = NotRun()
_EXCEPTION_BYTES = 32_768
"""No exception takes more in good faith: 31 names of 200 characters, a message of 2,000, a line."""


def _outcome(body: bytes, on_import: bool = False) -> Outcome:
    if body[:1] != b"E":
        return Returned(body)
    malformed = Raised("?", "malformed exception", None, on_import)
    if len(body) > _EXCEPTION_BYTES:
        return malformed
    try:
        kind, message, line, kinds = decoding.decode(b"M" + body[1:])
    except (values.MalformedValue, TypeError, ValueError):
        return malformed
    texts = (kind, message, *kinds) if type(kinds) is list else (None,)
    if not all(type(text) is str for text in texts):
        return malformed
    if kind == "MemoryError":
        return OutOfMemory()
    if type(line) is not int or not 0 < line < 1 << 31:
        line = None
    shown = values.printable(kind), values.printable(message)
    return Raised(*shown, line, on_import, tuple(kinds))
