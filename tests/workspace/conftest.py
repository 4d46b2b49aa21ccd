"""Fixtures of workspaces: the repository's base, made once, and a workspace per level."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.workspace.contract import WORK_TREE, Recipe
from refute.workspace.factory import prepare
from refute.workspace.working_copy import WorkingCopy

from .shops import LEVELS, Shop, make_repository, opened


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    root = tmp_path_factory.mktemp("workspaces")
    path = root / "shop"
    path.mkdir()
    first, later = make_repository(path)
    recipe = Recipe(
        options=("-p", "no:cacheprovider"),
        editable=False,
        interpreter=sys.executable,
        env={"PYTHONPATH": WORK_TREE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(root / "cache"))
        base = prepare(str(path), first, recipe)
        yield Shop(path, first, later, base)


@pytest.fixture(params=list(LEVELS))
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def workspace(shop: Shop, level: str) -> Iterator[WorkingCopy]:
    with_level = opened(shop.base, level)
    yield with_level
    with_level.close()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The engine's state; its `log.jsonl` holds the command lines."""
    program = tmp_path / "bin" / "podman"
    program.parent.mkdir()
    script = Path(__file__).with_name("fake_engine.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "$@"\n')
    program.chmod(0o755)
    state = tmp_path / "state"
    state.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_ENGINE", str(state))
    return state
