"""A small repository with a history, and workspaces of it at every level of isolation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from refute.testing.workspaces import FILES, FIX, SECRET_LATER, git, make_repository
from refute.workspace.contract import Base, WorkspaceLimits
from refute.workspace.local import ALL_MEASURES, LocalBackend
from refute.workspace.working_copy import WorkingCopy

__all__ = [
    "FILES",
    "FIX",
    "LEVELS",
    "LIMITS",
    "SECRET_LATER",
    "Shop",
    "git",
    "make_repository",
    "opened",
]

LEVELS = {
    "overlay": ALL_MEASURES,
    "copied": frozenset({"namespaces"}),
    "bare": frozenset({"landlock"}),
}

LIMITS = WorkspaceLimits(memory=2 << 30, processes=200, disk=64 << 20)


@dataclass(frozen=True)
class Shop:
    """The repository of these tests."""

    path: Path
    first: str
    later: str
    base: Base


def opened(base: Base, level: str, limits: WorkspaceLimits = LIMITS) -> WorkingCopy:
    room = LocalBackend(base, limits=limits, measures=LEVELS[level])
    if level != "bare" and not room.protections()["namespaces"]:
        room.close()
        pytest.skip("this machine has no namespaces")
    if level == "overlay" and not room.protections()["overlay"]:
        room.close()
        pytest.skip("this machine has no overlays in user namespaces")
    return WorkingCopy(room, base.recipe)
