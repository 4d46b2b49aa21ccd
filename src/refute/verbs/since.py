"""`--since REF` and `--only TARGET`: only what changed, and of that only a part."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from refute.core.remarks import remark
from refute.diffing.changes import ChangedFunction, changed
from refute.diffing.definitions import is_private
from refute.diffing.revisions import NoDifference, open_revisions
from refute.errors import InputError


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
    except NoDifference:
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


_DOTTED = re.compile(r"([^\W\d][\w.]*)(?::([^\W\d][\w.]*))?")


def chosen_among(only: Sequence[str] | None, root: Path) -> Callable[[ChangedFunction], bool]:
    """Return a test for changed functions: does one lie in a target (None: every one does)? Targets
    are files, folders, `FILE.py::NAME`, `pkg.mod` and `pkg.mod:NAME`. `root`: of the checkout;
    paths are those from the working directory, else from there.

    Raises `InputError` for what is none of these.
    """
    places = [_place(target, root) for target in only or ()]

    def chosen(function: ChangedFunction) -> bool:
        after = function.after
        return only is None or any(
            (file is None or after.file == file or after.file.startswith(f"{file}/".lstrip("/")))
            and (module is None or f"{after.module}.".startswith(f"{module}."))
            and (name is None or f"{after.qualname}.".startswith(f"{name}."))
            for file, module, name in places
        )

    return chosen


def _place(target: str, root: Path) -> tuple[str | None, str | None, str | None]:
    """File or folder in the checkout ("": all of it), dotted module, and name in it."""
    path, _, name = target.partition("::")
    root = root.resolve()
    for place in (Path(path).resolve(), (root / path).resolve()) if path else ():
        if place.exists() and place.is_relative_to(root):
            inside = place.relative_to(root).as_posix()
            return ("" if inside == "." else inside), None, name or None
    dotted = _DOTTED.fullmatch(target)
    if dotted is None or dotted.group(1).endswith(".py"):
        raise InputError(f"{target}: no file, folder or module of {root}")
    return None, dotted.group(1), dotted.group(2)
