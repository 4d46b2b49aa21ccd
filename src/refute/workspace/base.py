"""A base: tree and environment of a repository at a commit, made once, which copies start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refute.workspace.recipe import WORK_TREE, Recipe


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """Limits of everything that runs in a workspace at once. Sizes are bytes."""

    memory: int = 8 << 30
    """Private memory of all processes together; measured 20 times a second."""
    processes: int = 512
    disk: int = 2 << 30
    """Of changes to the tree, and again of temporary files."""


@dataclass(frozen=True, slots=True)
class Base:
    """What a workspace is opened on. Nothing changes it."""

    repo: str
    commit: str
    recipe: Recipe
    tree: Path
    """The checked-out tree, built. In a container: not used, the image holds it."""
    python: Path
    """The interpreter that has everything."""
    readable: tuple[str, ...]
    """Folders that programs of the environment read."""
    key: str
    """What all of it is made of, as a hash: equal keys, equal results."""
    instance_id: str | None = None
    hidden: tuple[str, ...] = ()
    """Folders among the readable ones that are shown empty: they may hold later code."""
    sites: tuple[str, ...] = ()
    """Folders of the packages that were installed for it; empty for a user's own interpreter."""

    def variables(self, tree: str) -> Mapping[str, str]:
        """The recipe's environment variables for a tree that lies at `tree`."""
        return {name: value.replace(WORK_TREE, tree) for name, value in self.recipe.env.items()}
