"""A user's own repository as it is now: the problem that an issue poses there, and workspaces."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from refute.core.methods import Spawn
from refute.core.problems import IssueProblem
from refute.core.storage import ScratchFolder
from refute.errors import InputError
from refute.workspace.factory import open_local, prepare
from refute.workspace.gitrun import git
from refute.workspace.infer import infer_recipe, own_interpreter
from refute.workspace.recipe import Recipe, Runner
from refute.workspace.snapshot import (
    IDENTITY,
    checkout_root,
    clone_at,
    snapshot,
    with_built,
)

_CONFIGURED = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini")
_NEAR = 3
"""Folders above the files in which a configuration is looked for."""
_MOST_FILES, _MOST_BYTES = 5_000, 200 << 20
"""Of a folder without git, which is copied."""


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


@contextmanager
def committed(files: Iterable[Path], python: Path | None) -> Iterator[tuple[Path, Checkout]]:
    """The folder that holds all the files, and a checkout of it: the git repository around them,
    else a copy of the folder in a repository of its own. Raises `InputError`."""
    paths = [file.expanduser().resolve() for file in files]
    try:
        roots = {checkout_root(path) for path in paths}
    except InputError:
        roots = set()
    if len(roots) == 1:
        [root] = roots
        yield root, Checkout(root, python, "pytest")
        return
    root = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
    near = [root, *root.parents][:_NEAR]
    root = next((one for one in near if any((one / x).is_file() for x in _CONFIGURED)), root)
    with ScratchFolder() as scratch:
        copy = Path(scratch, root.name or "root")
        _copy(root, copy)
        git("init", "--quiet", folder=copy)
        git("add", "--all", "--force", folder=copy)
        git("commit", "--quiet", "--no-verify", "-m", "as it is", folder=copy, env=IDENTITY)
        yield root, Checkout(copy, python or own_interpreter(root), "pytest")


def _copy(root: Path, copy: Path) -> None:
    """Copy a folder's files, but no hidden ones, links and environments. Raises `InputError`."""
    count = size = 0
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = [
            name for name in names
            if not name.startswith(".") and name not in ("__pycache__", "node_modules")
            and not (here / name / "pyvenv.cfg").exists() and not (here / name).is_symlink()
        ]  # fmt: skip
        place = copy / here.relative_to(root)
        place.mkdir(parents=True, exist_ok=True)
        for file in map(here.joinpath, files):
            if file.name.startswith(".") or file.is_symlink() or not file.is_file():
                continue
            count, size = count + 1, size + file.stat().st_size
            if count > _MOST_FILES or size > _MOST_BYTES:
                raise InputError(
                    f"{root}: too large to copy, and in no git repository; run `git init` in the"
                    " folder that holds the code and its tests"
                )
            shutil.copy2(file, place / file.name)
