"""The conformance suite on each level of isolation that this machine has, and in a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.testing.workspaces import CHECKS, Check, Subject, conform

from .shops import Shop, opened

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@every_check
def test_on_this_machine(check: Check, shop: Shop, level: str) -> None:
    conform(check, Subject(lambda: opened(shop.base, level), shop.first, shop.later))


def test_what_a_closed_workspace_leaves(shop: Shop, level: str) -> None:
    workspace = opened(shop.base, level)
    workspace.write("README.md", b"changed")
    root = Path(workspace.root)
    workspace.close()
    assert root == shop.base.tree or not root.exists()
    assert (shop.base.tree / "README.md").read_text() == "A shop.\n"
