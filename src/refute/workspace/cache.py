"""The cache folder: things that are expensive to make, made once, whoever asks first.

A thing lives at its final path from the start (byte code and editable installs hold paths), and
counts as made only once its `ready` file is there. A lock keeps two processes from making the same
thing; `kill -9` leaves no lock and no `ready` file, so that the next one begins anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refute.core.storage import write_atomically


def key_of(*parts: Any) -> str:
    """A name for what is made of `parts` (JSON values): 16 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ensure(folder: Path, make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What `make(folder)` returned (a JSON object), made now unless it was made before.

    `make` finds `folder` absent. Whatever it raises is passed on, and nothing counts as made.
    """
    ready = folder.with_name(folder.name + ".ready")
    try:
        return _read(ready)
    except (OSError, ValueError):
        pass
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(folder.name + ".lock")):
        try:
            return _read(ready)
        except (OSError, ValueError):
            pass
        if folder.exists():
            shutil.rmtree(folder)
        facts = make(folder)
        write_atomically(ready, json.dumps(facts))
        return facts


def adopt(folder: Path, made: Path, facts: dict[str, Any]) -> bool:
    """Move what was made elsewhere (`made`, on the same file system) to `folder`, unless it was
    made before; returns whether it was moved."""

    def move(folder: Path) -> dict[str, Any]:
        made.rename(folder)
        return facts

    ensure(folder, move)
    return not made.exists()


def _read(ready: Path) -> dict[str, Any]:
    facts = json.loads(ready.read_text())
    if not isinstance(facts, dict):
        raise ValueError(f"{ready} does not hold an object")
    return facts


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
