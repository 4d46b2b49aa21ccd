"""Empties a directory that a hostile program filled: any depth, any names, odd permissions.

Loaded by path inside the sandbox: standard library only.
"""

from __future__ import annotations

import os
import stat

_MOST = 200_000  # entries; a private directory of 64 MiB cannot hold more


def inode(directory: str) -> tuple[int, int]:
    """Return the identity of a directory, whatever takes its place later; (0, 0) for another
    file."""
    try:
        found = os.lstat(directory)
    except OSError:
        return 0, 0
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else (0, 0)


def empty(directory: str, known: tuple[int, int]) -> bool:
    """Delete everything below `directory`; returns whether it is empty now. Never raises OSError.

    Does nothing unless it still is the directory with the inode `known`: a program may have put a
    link to another in its place.

    Sub-directories are moved up to `directory` before they are removed, so that neither the depth
    of a nest nor the length of its paths matters. Links are removed, never followed.
    """
    if inode(directory) != known or known == (0, 0):
        return False
    if _empty(directory):
        return True
    try:
        os.chmod(directory, 0o700)  # a program may have closed it to its owner
    except OSError:
        return False
    return _empty(directory)


def _empty(directory: str) -> bool:
    moved = 0
    try:
        while True:
            with os.scandir(directory) as found:
                entries = list(found)
            if not entries:
                return True
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                try:
                    os.rmdir(entry.path)
                    continue
                except OSError:
                    pass
                moved = _hollow(entry.path, directory, moved)
                os.rmdir(entry.path)
            if moved > _MOST:
                return False
    except OSError:
        return False


def _hollow(path: str, directory: str, moved: int) -> int:
    """Delete the files of `path` and move its sub-directories to `directory`."""
    try:
        found = os.scandir(path)
    except PermissionError:
        os.chmod(path, 0o700)
        found = os.scandir(path)
    with found:
        entries = list(found)
    if entries and not os.access(path, os.W_OK | os.X_OK):
        os.chmod(path, 0o700)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
            continue
        while True:
            moved += 1
            target = f"{directory}/.{moved}"
            if not os.path.lexists(target):
                break
        try:
            os.rename(entry.path, target)
        except PermissionError:  # moving a directory writes its `..`
            os.chmod(entry.path, 0o700)
            os.rename(entry.path, target)
    return moved


def remove(directory: str, known: tuple[int, int]) -> bool:
    """Delete `directory` and all below it, as `empty` does; returns whether it is gone."""
    emptied = empty(directory, known)
    try:
        os.rmdir(directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return emptied
