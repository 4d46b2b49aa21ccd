"""A user's own repository as it is now: the problem that an issue poses there, and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from refute.core.methods import Spawn
from refute.core.problems import IssueProblem
from refute.errors import InputError
from refute.workspace.factory import open_local, prepare
from refute.workspace.infer import infer_recipe
from refute.workspace.recipe import Recipe, Runner
from refute.workspace.snapshot import checkout_root, clone_at, snapshot, with_built


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository, and how its tests are run."""

    repo: Path = Path()
    python: Path | None = None
    """The interpreter of its tests; None: the active one."""
    runner: str | None = None
    """`pytest`, `unittest`, `django` or `sympy`; None: read from it."""
    commit: str | None = None
    """What is worked on; None: the checkout as it is."""


def root_and_recipe(checkout: Checkout) -> tuple[Path, Recipe]:
    """The root of the checkout, and how its tests are run. Raises `InputError`."""
    python = checkout.python
    if python is not None and not python.is_file():
        raise InputError(f"--python {python}: no such file")
    root = checkout_root(checkout.repo)
    interpreter = None if python is None else python.absolute()
    runner = cast("Runner | None", checkout.runner)
    return root, infer_recipe(root, interpreter=interpreter, runner=runner)


def in_checkout(checkout: Checkout, text: str) -> tuple[IssueProblem, Spawn]:
    """The problem that an issue poses in a checkout, dirty or clean, or in a commit of it, and its
    workspaces.

    Nothing in the checkout is changed. Raises `InputError`, `WorkspaceUnavailable`.
    """
    root, recipe = root_and_recipe(checkout)
    folder, commit = snapshot(root)
    if checkout.commit is not None:
        commit = clone_at(root).commit(checkout.commit)
    commit = with_built(folder, commit, root)
    base = prepare(str(folder), commit, recipe, checkout=root)
    problem = IssueProblem(root.name, str(folder), commit, text, recipe)
    return problem, lambda: open_local(base)
