"""Input of a sandbox's job: programs and calls as bytes, in sealed files of memory.

And what its server left in the result file: frames of bytes, read as outcomes. The program of a job
could write there what it liked.
"""

from __future__ import annotations

import marshal
import math
import os
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import FileIO
from types import CodeType
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, Scenario
from refute.sandbox import nodes, values
from refute.sandbox.contract import (
    Code,
    Limits,
    NotRun,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
)


@dataclass(frozen=True, slots=True)
class Head:
    """The module that a run's first program is, which a warm process may have imported."""

    codes: tuple[Code, ...] = ()
    content: bytes = b""
    key: int = 0
    place: int = 0
    """Key of the module, of its name and file."""


class Heads:
    """The last heads, so that what many runs share is written and recognised at once."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Head] = {}

    def of(self, program: Program) -> Head:
        """The head of a run of this program first; an empty one where nobody imports it."""
        if program.module is None:
            return Head()
        codes = program.code if isinstance(program.code, tuple) else (program.code,)
        # Marshalling the same object twice need not give the same bytes.
        by = program.module, program.filename, *map(id, codes)
        made = self._made.pop(by, None)
        if made is None:
            sent = [marshal.dumps(c) if isinstance(c, CodeType) else c for c in codes]
            content = marshal.dumps((program.module, program.filename, sent))
            place = marshal.dumps((program.module, program.filename))
            made = Head(codes, content, _hash(content), _hash(place))
        while len(self._made) > 3:
            del self._made[next(iter(self._made))]
        self._made[by] = made
        return made


def _hash(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def programs_packed(
    programs: Sequence[Program], head: Sequence[Code]
) -> tuple[list[bytes | str], list[tuple[Any, ...]]]:
    """The codes but those of the head, each once, and a row for each program that refers to them
    by index, the head's first."""
    places = {id(code): at for at, code in enumerate(head)}
    first = len(head)
    sent: list[bytes | str] = []

    def send(code: Code) -> int:
        at = places.setdefault(id(code), first + len(sent))
        if at == first + len(sent):
            sent.append(marshal.dumps(code) if isinstance(code, CodeType) else code)
        return at

    rows: list[tuple[Any, ...]] = []
    for p in programs:
        codes = [send(code) for code in (p.code if isinstance(p.code, tuple) else (p.code,))]
        setup = bodies = None
        if p.setup is not None:
            setup, bodies = send(p.setup), marshal.dumps(p.bodies)
        rows.append((codes, p.entry_point, p.filename, p.module, setup, bodies))
    return sent, rows


def calls_packed(calls: Sequence[Invocation]) -> bytes:
    """The calls for the child: kind 0 plain values, 1 nodes, 2 an expression, 3 a session, 4 a
    session of which is asked whether the function runs, 5 a scenario."""
    rows: list[tuple[int, Any, Any]] = []
    is_plain = values.is_plain
    for call in calls:
        if isinstance(call, DoctestSession):
            rows.append((4 if call.observed else 3, list(call.steps), call.watched))
        elif isinstance(call, Scenario):
            rows.append(
                (5, (call.setup, call.expression, call.imports, call.lines, call.file), None)
            )
        elif not isinstance(call, Call):
            rows.append((2, call.source, None))
        elif is_plain(call.args) and (not call.kwargs or is_plain(dict(call.kwargs))):
            rows.append((0, call.args, dict(call.kwargs)))
        else:
            args = values.node(call.args, strict=True)
            rows.append((1, args, values.node(dict(call.kwargs), strict=True)))
    return marshal.dumps(rows, 2)  # version 2: equal objects are not shared between calls


def sealed(content: bytes) -> Any:
    """An anonymous file that holds `content` and can no longer be changed."""
    file = _anonymous_file()
    rest = memoryview(content)
    while rest:  # one write takes at most 2 GiB
        rest = rest[file.write(rest) :]
    _seal(file, write=True)
    return file


def shared(capacity: int) -> Any:
    file = _anonymous_file()
    file.truncate(capacity)
    _seal(file, write=False)
    return file


def _anonymous_file() -> Any:
    if hasattr(os, "memfd_create"):
        return FileIO(os.memfd_create("refute", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    return tempfile.TemporaryFile(buffering=0)


def _seal(file: Any, *, write: bool) -> None:
    """So that a program can neither change its inputs nor shrink a file under its reader."""
    if hasattr(os, "memfd_create"):
        import fcntl

        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        seals |= fcntl.F_SEAL_WRITE if write else 0
        fcntl.fcntl(file.fileno(), fcntl.F_ADD_SEALS, seals)


_FRAME = struct.Struct("<II")
_FIRST_FRAME = 16
_HEADER = struct.Struct("<Q")


class Answers:
    """Results of the steps of a run so far."""

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
        kind, message, line, kinds = nodes.decode(b"M" + body[1:])
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
