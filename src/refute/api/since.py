"""`--since REF`: only the functions and methods that changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from refute.diffing.changes import changed
from refute.diffing.definitions import is_private
from refute.diffing.revisions import open_revisions
from refute.errors import InputError
from refute.remarks import remark

__all__ = ["changed_since"]


def changed_since(targets: Sequence[str], since: str) -> tuple[str, ...]:
    """Targets for what is public and is other or new in the working tree, compared with a commit:
    `FILE.py::NAME`. Of `targets` (files and folders; none: all) only what lies in them.

    Raises `InputError` for an unknown commit, for another kind of target, outside of a repository.
    """
    places = [Path(target).resolve() for target in targets]
    for target, place in zip(targets, places, strict=True):
        if not place.exists():
            raise InputError(f"{target}: --since takes files and folders, which exist")
    start = places[0] if places else Path.cwd()
    try:
        with open_revisions(start if start.is_dir() else start.parent, since) as revisions:
            changes, root = changed(revisions), revisions.repo
    except InputError as error:
        if not str(error).startswith("no difference"):
            raise
        changes, root = None, start
    found: list[str] = []
    if changes is not None:
        others = [one.after for one in changes.functions if not one.is_private]
        new = [place for place in changes.added if not is_private(place.qualname)]
        for one in sorted((*others, *new), key=lambda place: (place.file, place.line)):
            file = root / one.file
            if not places or any(file.is_relative_to(within) for within in places):
                found.append(f"{os.path.relpath(file)}::{one.qualname}")
    if not found:
        remark([f"no public function or method changed since {since}"])
    return tuple(dict.fromkeys(found))
