"""Files: read with bounds, written whole or not at all and through no link of a checkout; the
cache."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Protocol

from refute.core.starting import Variable
from refute.errors import InputError
from refute.workspace.rooted_files import open_folder, replace_file

DEEPEST = 100
"""Objects and lists within each other. Python's recursion ends near 1,000 calls, and what looks at
a value takes several for each level."""

_CONTAINERS = frozenset({dict, list})


def parse_json(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """The value of a JSON text. Raises `ValueError`, its text says what is wrong."""
    import json

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
    """Unpack gzip data. Raises `OSError` for other data, and beyond `limit` bytes."""
    import gzip
    import zlib

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


SCRATCH = "refute-scratch-"
"""Prefix of the names of scratch folders."""


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A folder in TMPDIR for the time of a call. What `kill -9` leaves, the next process that makes
    one removes: a lock on each, which ends with its process, says that it is in use."""

    def __init__(self, *, ignore_cleanup_errors: bool = False) -> None:
        _remove_left_ones()
        while True:
            super().__init__(prefix=SCRATCH, ignore_cleanup_errors=ignore_cleanup_errors)
            self._lock = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: nothing is removed there
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            if os.path.exists(self.name):  # else another process took it for a left one
                break
            os.close(self._lock)
        weakref.finalize(self, os.close, self._lock)


@cache
def _remove_left_ones() -> None:
    """Once in a process."""
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def cache_folder() -> Path:
    """REFUTE_CACHE, or `refute` in the user's cache folder."""
    given = os.environ.get(Variable.CACHE)
    if given:
        return Path(given).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "refute"


def write_atomically(
    path: Path, data: bytes | str, *, mode: int | None = None, durable: bool = True
) -> None:
    """Write a file so that a crash leaves either the old or the new content. Text is UTF-8, and a
    lone surrogate, which UTF-8 lacks, its escape: in a string of Python it is read as the same.

    An existing file's mode is kept, else `mode` (default: what the umask leaves of 0o666). Not
    `durable`: a power cut may leave a torn file, as is enough for a cache. Raises `OSError`.
    """
    _replace(path.parent, [path.name], data, mode=mode, durable=durable)


def write_output(path: Path, data: bytes | str, *, folders: bool = False) -> None:
    """Write a file that is asked for, as `write_atomically` does, and never through a link that a
    checkout may hold. `folders`: make those that are missing. Raises `OSError`, and `InputError`
    as `refuse_links` does."""
    refuse_links(path)  # in words; that none is followed is for what opens the folders to see to
    root, names = _split(path)
    _replace(root, names, data, folders=folders)


def refuse_links(path: Path) -> None:
    """Raise `InputError` where the file is a link, or a folder on the way to it that lies below a
    checkout or the current folder: whoever made it may lead anywhere."""
    root, names = _split(path)
    for number in range(1, len(names) + 1):
        if (place := root.joinpath(*names[:number])).is_symlink():
            raise InputError(
                f"{place}: is a link; refute writes through none (name the place itself)"
            )


def _replace(
    root: Path, names: list[str], data: bytes | str, *, folders: bool = False, **how: Any
) -> None:
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    try:
        folder = open_folder(str(root), names[:-1], make=folders)
        try:
            replace_file(folder, names[-1], content, **{"durable": True, **how})
        finally:
            os.close(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(root.joinpath(*names))) from None


def _split(path: Path) -> tuple[Path, list[str]]:
    """The folder from which no link is followed, and the names from there to the file: the checkout
    that holds the file or, where it comes first, the current folder; else the last folder
    on the way that is there."""
    path = Path(os.path.abspath(path))
    here, folder = Path.cwd(), path
    for folder in reversed(path.parents):
        if folder == here or os.path.lexists(folder / ".git"):
            break
    else:
        folder = next((one for one in path.parents if one.is_dir()), folder)
    return folder, list(path.relative_to(folder).parts) or ["."]


def key_of(*parts: Any) -> str:
    """A name for what is made of `parts` (JSON values): 16 hexadecimal digits."""
    import hashlib
    import json

    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ensure(folder: Path, make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Return what `make(folder)` returned (a JSON object), made now unless it was made before.

    A thing lives at its final path from the start (byte code and editable installs hold paths), and
    counts as made only once its `ready` file exists. A lock keeps two processes from making the
    same thing; `kill -9` leaves no lock and no `ready` file, so that the next one begins anew.
    `make` finds `folder` absent. Its exceptions are passed on, and nothing counts as made.
    """
    import json

    ready = folder.with_name(folder.name + ".ready")
    try:
        return _facts_of(ready)
    except (OSError, ValueError):
        pass
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(folder.name + ".lock")):
        try:
            return _facts_of(ready)
        except (OSError, ValueError):
            pass
        if folder.exists():
            shutil.rmtree(folder)
        facts = make(folder)
        write_atomically(ready, json.dumps(facts))
        return facts


def _facts_of(ready: Path) -> dict[str, Any]:
    facts = parse_json(ready.read_text())
    if not isinstance(facts, dict):
        raise ValueError(f"{ready} does not hold an object")
    return facts


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
