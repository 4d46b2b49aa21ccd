"""Reading files and JSON of others: never for ever, without bound, or deeper than can be walked."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import stat
import zlib
from pathlib import Path
from typing import IO, Any, Protocol

DEEPEST = 100
"""Objects and lists within each other. Python's recursion ends near 1,000 calls, and what looks at
a value takes several for each level."""

_CONTAINERS = frozenset({dict, list})


def parse_json(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """The value of a JSON text. Raises `ValueError`, its text says what is wrong."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(deepest + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return value
    raise ValueError("nested too deeply")


_PART = 1 << 20
LARGEST = 256 << 20
"""Bytes. More than any file that people or a run write here; less than what fills a memory."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...


def read_file(path: Path, *, limit: int = LARGEST, pipe: bool = False) -> bytes:
    """The content of a regular file; with `pipe` also what comes through a pipe (`/dev/stdin`).

    Raises `OSError` as `open_file` does, and for what is larger than `limit` bytes.
    """
    with open_file(path, pipe=pipe) as file:
        return _read(file, limit, "is", str(path))


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """The table of a TOML text. Raises `ValueError`, its text says what is wrong."""
    import tomllib

    try:
        return tomllib.loads(text.decode() if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def unpack(data: bytes, *, limit: int = LARGEST) -> bytes:
    """What gzip packed. Raises `OSError` where it did not, and beyond `limit` bytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _read(file, limit, "unpacks to what is", None)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(0, f"is not whole gzip: {error}") from None


def _read(file: _Readable, limit: int, verb: str, name: str | None) -> bytes:
    parts, size = [], 0
    while part := file.read(_PART):
        size += len(part)
        if size > limit:
            raise OSError(0, f"{verb} larger than the limit of {limit >> 20} MiB", name)
        parts.append(part)
    return b"".join(parts)


def open_file(path: Path, *, append: bool = False, pipe: bool = False) -> IO[bytes]:
    """A regular file, to be read; with `append` unbuffered, to be read and written at its end.

    Raises `OSError`, whose `strerror` says for people what is wrong: also for a folder, a device
    and a FIFO, which is opened without waiting for a writer.
    """
    how = os.O_RDWR | os.O_APPEND | os.O_CREAT if append else os.O_RDONLY
    handle = os.open(path, how | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0), 0o666)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind) or (pipe and stat.S_ISFIFO(kind)):
        os.set_blocking(handle, True)
        return open(handle, "ab+" if append else "rb", buffering=0 if append else -1)
    os.close(handle)
    why = "is a folder" if stat.S_ISDIR(kind) else "is not a regular file"
    raise OSError(0, why, str(path))


def append_whole(file: IO[bytes], data: bytes) -> None:
    """One write to the end of an unbuffered file, all or nothing: no half line stays behind.

    Raises `OSError`. Lines that several processes write do not mix.
    """
    end = file.seek(0, os.SEEK_END)
    try:
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        file.truncate(end)
        raise
