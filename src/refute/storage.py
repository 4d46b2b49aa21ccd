"""Where things are kept between runs, and how a file is written: whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["cache_folder", "write_atomically"]


def cache_folder() -> Path:
    """REFUTE_CACHE, or `refute` in the user's cache folder."""
    given = os.environ.get("REFUTE_CACHE")
    if given:
        return Path(given).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "refute"


def write_atomically(
    path: Path, data: bytes | str, *, mode: int | None = None, durable: bool = True
) -> None:
    """Write a file so that a crash leaves either the old or the new content. Text is UTF-8.

    An existing file's mode is kept, else `mode` (default: what the umask leaves of 0o666). Not
    `durable`: a power cut may leave a torn file, as is enough for a cache. Raises `OSError`.
    """
    if mode is None:
        try:
            mode = path.stat().st_mode & 0o7777
        except FileNotFoundError:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except FileNotFoundError:
            pass
        raise
