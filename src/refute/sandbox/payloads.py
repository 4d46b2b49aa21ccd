"""What a job of the sandbox is given: programs and calls as bytes, in sealed files of memory."""

from __future__ import annotations

import marshal
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import FileIO
from types import CodeType
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, Scenario
from refute.sandbox import values
from refute.sandbox.contract import Code, Program

__all__ = ["Head", "Heads", "calls_packed", "programs_packed", "sealed", "shared"]


@dataclass(frozen=True, slots=True)
class Head:
    """The module that a run's first program is, which a warm process may have imported."""

    codes: tuple[Code, ...] = ()
    content: bytes = b""
    key: int = 0
    place: int = 0
    """What it is recognised by, and its name and file."""


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
    session whose calls are looked at, 5 a scenario."""
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
