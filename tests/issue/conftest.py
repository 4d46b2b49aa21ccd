"""Fixtures of the tests of issue-level methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .projects import Project, make_project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A small repository with a real fault. Its base is built once; nothing may change it."""
    folder: Path = tmp_path_factory.mktemp("projects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        yield make_project(folder / "shapes")
