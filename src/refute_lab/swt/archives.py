"""Trees and environments as a file, for machines that shall not build them again.

What is in the cache holds its own paths, so that an archive is for a machine whose cache folder and
interpreters lie where they lay on the first one.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from refute.core.storage import adopt, cache_folder, parse_json, read_file
from refute.errors import InputError
from refute.workspace.contract import Base

_MANIFEST = "refute-archive.json"
_KINDS = ("environments", "trees")
_AS_CHECKED: dict[str, Any] = (
    {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
)
"""tarfile's own filters came with Python 3.11.4, so `_belongs` checks on every version."""


def pack(bases: Iterable[Base], file: Path) -> int:
    """Write the trees and environments of the bases, as they are in the cache, to a tar file
    (compressed where its name ends in `.gz`); returns how many. Raises `InputError`."""
    cache = cache_folder()
    folders = sorted({folder for base in bases for folder in _folders(base, cache)})
    pythons = sorted({python for folder in folders for python in _interpreters(folder)})
    manifest = json.dumps({"archive": 1, "cache": str(cache), "interpreters": pythons}).encode()
    try:
        with tarfile.open(file, "w:gz" if file.suffix == ".gz" else "w") as tar:
            head = tarfile.TarInfo(_MANIFEST)
            head.size = len(manifest)
            tar.addfile(head, io.BytesIO(manifest))
            for folder in folders:
                for path in (folder, _ready(folder)):
                    tar.add(path, str(path.relative_to(cache)))
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None
    return len(folders)


def unpack(file: Path) -> int:
    """Put what an archive holds into the cache, but for what is there; returns how many were put.

    Raises `InputError` for what is no archive, or one of another place.
    """
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="archive-", dir=cache) as room:
        try:
            with tarfile.open(file) as tar:
                _check(file, tar, cache)
                for member in [*tar][1:]:
                    if not _belongs(member, room):
                        raise InputError(f"{file}: holds {member.name}, which is not of an archive")
                    tar.extract(member, room, **_AS_CHECKED)
        except (tarfile.TarError, EOFError) as error:
            raise InputError(f"{file}: not an archive: {error}") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        put = 0
        for made in _made(Path(room)):
            facts = parse_json(read_file(_ready(made)))
            put += adopt(cache / made.relative_to(room), made, facts)
        return put


def _belongs(member: tarfile.TarInfo, room: str) -> bool:
    """Return whether extracting the member writes below `room` only. Clears its unsafe mode bits.

    A symbolic link may lead anywhere (an environment's `bin/python` does), so each place is
    resolved through the links that are already there; a link itself replaces what stands there.
    """
    for name in [member.name, member.linkname] if member.islnk() else [member.name]:
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] not in _KINDS or ".." in parts:
            return False
        place = os.path.join(room, *(parts[:-1] if member.issym() else parts))
        if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(room)):
            return False
    member.mode &= 0o755
    return member.isreg() or member.isdir() or member.issym() or member.islnk()


def _check(file: Path, tar: tarfile.TarFile, cache: Path) -> None:
    """The first member says where the archive is for."""
    first = tar.next()
    data = None if first is None or first.name != _MANIFEST else tar.extractfile(first)
    manifest = None
    if data is not None:
        try:
            manifest = parse_json(data.read(1 << 20))
        except ValueError:
            pass
    if not isinstance(manifest, dict) or manifest.get("archive") != 1:
        raise InputError(f"{file}: not an archive of refute data prepare")
    if manifest.get("cache") != str(cache):
        told = f"is for the cache {manifest.get('cache')}, not {cache}: set REFUTE_CACHE"
        raise InputError(f"{file}: {told}")
    for python in manifest.get("interpreters", ()):
        if not os.access(python, os.X_OK):
            raise InputError(f"{file}: needs the interpreter {python}, which is not installed")


def _folders(base: Base, cache: Path) -> Iterator[Path]:
    """The tree's folder, and those of the environments that it reads."""
    yield base.tree.parent
    for path in (*base.readable, str(base.python)):
        inner = os.path.relpath(path, cache / "environments")
        if not inner.startswith(".."):
            yield cache / "environments" / inner.partition(os.sep)[0]


def _interpreters(folder: Path) -> Iterator[str]:
    for python in (folder / "bin" / "python", folder / "layer" / "bin" / "python"):
        if python.exists():
            yield os.path.realpath(python)


def _made(room: Path) -> Iterator[Path]:
    for kind in _KINDS:
        for path in sorted((room / kind).glob("*.ready")):
            yield path.with_name(path.name.removesuffix(".ready"))


def _ready(folder: Path) -> Path:
    return folder.with_name(folder.name + ".ready")
