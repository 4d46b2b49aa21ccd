"""Fixtures of the tests of issue-level methods and of grading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.errors import WorkspaceUnavailable
from refute.problems import IssueProblem
from refute.workspace.factory import prepare

from .projects import Project, make_project
from .shop import Shop, make_repository, recipe


@pytest.fixture(scope="session", autouse=True)
def active_environment(only_pytest: Path) -> Iterator[None]:
    """Checkouts without an environment of their own use this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", str(only_pytest))
        yield


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A small repository with a real fault. Its base is built once; nothing may change it."""
    folder: Path = tmp_path_factory.mktemp("projects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        yield make_project(folder / "shapes")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A small repository for grading; its base and golden states are run once."""
    folder = tmp_path_factory.mktemp("grading")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        commit = make_repository(folder / "shop")
        problem = IssueProblem("shop-1", str(folder / "shop"), commit, "negative", recipe())
        try:
            base = prepare(problem.repo, commit, recipe(), problem.id)
        except WorkspaceUnavailable as error:
            pytest.skip(f"no workspace here: {error}")
        yield Shop(problem, base, folder / "states")
