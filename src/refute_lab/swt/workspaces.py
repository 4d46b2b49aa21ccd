"""Where an issue of a dataset is worked on: its workspaces, on this machine or in containers."""

from __future__ import annotations

import shutil
from dataclasses import replace

from refute.core.methods import Spawn
from refute.core.problems import IssueProblem
from refute.errors import WorkspaceUnavailable
from refute.workspace.base import Base
from refute.workspace.contract import Workspace
from refute.workspace.factory import Backend, open_workspace, prepare


def check_engine(backend: Backend) -> None:
    """Raise `WorkspaceUnavailable` where the backend's program is not installed: no issue could be
    worked on then."""
    if backend != "local" and shutil.which(backend) is None:
        raise WorkspaceUnavailable(f"{backend} is not installed here; --workspace local needs none")


def as_placed(problem: IssueProblem, backend: Backend) -> IssueProblem:
    """The problem with what its recipe means there: an image brings its own interpreter and
    packages, so that nothing kept of a run here (by its recipe) is taken for one in the image."""
    if backend == "local" or problem.recipe is None:
        return problem
    recipe = replace(problem.recipe, python="", interpreter=None, pins=(), before=None)
    return replace(problem, recipe=recipe)


def prepared(problem: IssueProblem, backend: Backend) -> Base:
    """Tree and environment of the problem, made now unless they were made before.

    Raises `WorkspaceUnavailable`, `EnvironmentBroken`, `InputError`.
    """
    if problem.recipe is None:
        raise WorkspaceUnavailable(f"{problem.id}: the dataset says no environment")
    place = (problem.repo, problem.base_commit, problem.recipe, problem.id)
    return prepare(*place, backend=backend)


def spawner(problem: IssueProblem, backend: Backend) -> Spawn:
    """Opens workspaces of the problem, which is prepared when the first is asked for. For one
    thread."""
    base: Base | None = None

    def spawn() -> Workspace:
        nonlocal base
        if base is None:
            base = prepared(problem, backend)
        return open_workspace(base, backend=backend)

    return spawn
