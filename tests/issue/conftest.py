"""Fixtures of the tests of issue-level methods and of grading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .projects import Project, make_project
from .shop import Shop, prepared_shop


@pytest.fixture(scope="package", autouse=True)
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
    with prepared_shop(tmp_path_factory.mktemp("grading"), "negative") as made:
        yield made
