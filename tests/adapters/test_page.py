"""docs/reward.md: what it says to paste is there."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.adapters.recorded import RECORDED, install

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reward.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)


def test_each_name_that_is_imported_from_refute_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for block in BLOCKS:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Import):
                found += [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found += [(node.module or "", alias.name) for alias in node.names]
    ours = [(module, name) for module, name in found if module.startswith("refute_lab.")]
    assert len(ours) >= 7
    for module, name in ours:
        framework = module.rpartition(".")[2]
        if framework in RECORDED:
            install(monkeypatch, framework)
        made = import_module(module)
        own = {
            key for key, value in vars(made).items() if getattr(value, "__module__", "") == module
        }
        assert not name or name in getattr(made, "__all__", own), (module, name)


def test_each_block_is_short() -> None:
    assert all(len(block.strip().splitlines()) <= 15 for block in BLOCKS)


def test_entry_points_name_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    install(monkeypatch, "inspect_ai")
    install(monkeypatch, "rllm")
    import_module(points["inspect_ai"]["refute"])
    module, _, name = points["rllm.evaluators"]["refute"].partition(":")
    assert callable(getattr(import_module(module), name))
