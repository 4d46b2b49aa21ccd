"""Reads and writes files below a directory without ever leaving it, whatever links lie in it.

Also loaded by path inside the jail: standard library only. Links are followed as long as they stay
below the directory; devices, pipes and sockets are never opened for their content.
"""

from __future__ import annotations

import errno
import os
import stat

MOST_BYTES = 64 << 20
"""Size of the largest file that is read, in bytes."""

_MOST_LINKS = 40
_MOST_NAMES = 20_000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Escapes(PermissionError):
    """The path, or a link on the way, leads out of the directory."""


def _resolve(root: str, path: str) -> list[str]:
    """The names on the way to `path` below `root` once links are followed; the last one may not
    exist. Nothing else may change the directory meanwhile."""
    todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    done: list[str] = []
    links = 0
    if path.startswith("/") or "\0" in path or not todo:
        raise Escapes(errno.EPERM, "not a path below the tree", path)
    while todo:
        part = todo.pop()
        if part == "..":
            if not done:
                raise Escapes(errno.EPERM, "leads out of the tree", path)
            done.pop()
            continue
        here = "/".join([root, *done, part])
        if os.path.islink(here):
            links += 1
            target = os.readlink(here)
            if target.startswith("/"):
                raise Escapes(errno.EPERM, "a link leads out of the tree", path)
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            todo += [p for p in reversed(target.split("/")) if p not in ("", ".")]
            continue
        done.append(part)
    return done


def open_folder(root: str, names: list[str], *, make: bool = False) -> int:
    """A descriptor of the directory; a link that took a name's place meanwhile is an error."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            if make:
                try:
                    os.mkdir(name, 0o777, dir_fd=fd)
                except FileExistsError:
                    pass
            below = os.open(name, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd


def take(root: str, path: str, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file. Raises OSError, also for what is not one or is too big."""
    names = _resolve(root, path)
    if not names:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    folder = open_folder(root, names[:-1])
    try:
        return _content(folder, names[-1], path, most_bytes)
    finally:
        os.close(folder)


def _content(folder: int, name: str, path: str, most_bytes: int = MOST_BYTES) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        if found.st_size > most_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        return file.read(most_bytes)


def put(root: str, path: str, data: bytes) -> None:
    """Make or replace a regular file; its mode is kept. A link at the path is replaced."""
    head, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        raise Escapes(errno.EPERM, "not a path of a file", path)
    folder = open_folder(root, _resolve(root, head) if head else [], make=True)
    try:
        replace_file(folder, name, data, mode=0o644)
    finally:
        os.close(folder)


def replace_file(
    folder: int, name: str, data: bytes, *, mode: int | None = None, durable: bool = False
) -> None:
    """Make or replace a regular file of an open folder, all or nothing. Its mode is kept, else it
    is `mode`, or what the umask leaves. `durable`: a power cut leaves no torn file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if stat.S_ISREG(found.st_mode):
            mode = stat.S_IMODE(found.st_mode) & 0o777
    part = f".{os.getpid()}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            if durable:
                file.flush()
                os.fsync(fd)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise


def take_all(folder: str, most_bytes: int) -> dict[str, bytes]:
    """The regular files that lie directly in `folder`, up to `most_bytes` together, and no more
    than 20,000; else skipped.

    Also where a program put something else in its place.
    """
    taken: dict[str, bytes] = {}
    try:
        fd = os.open(folder, _DIRECTORY)
    except OSError:
        return taken
    try:
        for name in sorted(os.listdir(fd))[-_MOST_NAMES:]:
            try:
                data = _content(fd, name, name)
            except OSError:
                continue
            most_bytes -= len(data)
            if most_bytes < 0:
                break
            taken[name] = data
    finally:
        os.close(fd)
    return taken
