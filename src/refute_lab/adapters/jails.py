"""A jail of `refute.workspace` on an empty folder, for what agents run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from refute.workspace.contract import Base, Recipe
from refute.workspace.local import LocalBackend, interpreter_facts

__all__ = ["empty_jail"]


def empty_jail(folder: Path, readable: Iterable[str] = ()) -> LocalBackend:
    """Its tree is `work` in `folder`, its interpreter is this one.

    `readable`: what else of the machine is seen. Raises `WorkspaceUnavailable`.
    """
    tree, python = folder / "work", Path(sys.executable)
    tree.mkdir()
    seen = (*interpreter_facts(python).readable, *readable)
    return LocalBackend(Base("", "", Recipe(), tree, python, seen, ""))
