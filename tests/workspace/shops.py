"""A small repository with a history, and workspaces of it at every level of isolation."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from refute.workspace.contract import Base, WorkspaceLimits
from refute.workspace.local import ALL_MEASURES, LocalBackend
from refute.workspace.working_copy import WorkingCopy

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        "def total(prices, discount=0):\n"
        "    result = sum(prices)\n"
        "    if discount:\n"
        "        result = result - discount\n"
        "    return result\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import total\n\n\n"
        "def test_sum():\n    assert total([1, 2]) == 3\n\n\n"
        "def test_discount():\n    assert total([10], 20) == 0\n"
    ),
    "README.md": "A shop.\n",
    ".gitignore": "*.log\n",
}
FIX = """\
diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -2,4 +2,4 @@ def total(prices, discount=0):
     result = sum(prices)
     if discount:
-        result = result - discount
+        result = max(0, result - discount)
     return result
"""
SECRET_LATER = "the fix that nobody may see"


def git(folder: Path, *words: str, at: int = 1_700_000_000) -> str:
    """Run git and return its output; `at`: the time of a commit, as people's commits are older than
    their use."""
    who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    env = os.environ | {"GIT_COMMITTER_DATE": f"{at} +0000"}
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.removesuffix("\n")


def make_repository(folder: Path) -> tuple[str, str]:
    """Commits: the base, and a later one. Returns both hashes."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "the base")
    base = git(folder, "rev-parse", "HEAD")
    (folder / "shop/cart.py").write_text(f"# {SECRET_LATER}\n" + FILES["shop/cart.py"])
    git(folder, "commit", "-q", "-am", SECRET_LATER)
    git(folder, "tag", "v2")
    return base, git(folder, "rev-parse", "HEAD")


LEVELS = {
    "overlay": ALL_MEASURES,
    "copied": frozenset({"namespaces"}),
    "bare": frozenset({"landlock"}),
}

LIMITS = WorkspaceLimits(memory=2 << 30, processes=200, disk=64 << 20)


@dataclass(frozen=True)
class Shop:
    """The repository of these tests."""

    path: Path
    first: str
    later: str
    base: Base


def opened(base: Base, level: str, limits: WorkspaceLimits = LIMITS) -> WorkingCopy:
    room = LocalBackend(base, limits=limits, measures=LEVELS[level])
    if level != "bare" and not room.protections()["namespaces"]:
        room.close()
        pytest.skip("this machine has no namespaces")
    if level == "overlay" and not room.protections()["overlay"]:
        room.close()
        pytest.skip("this machine has no overlays in user namespaces")
    return WorkingCopy(room, base.recipe)
