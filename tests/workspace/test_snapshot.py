"""A user's checkout as a commit that leaves no trace in it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from refute.errors import InputError, PatchRejected
from refute.workspace.snapshot import apply_to_checkout, snapshot


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("y = 1\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


def content(folder: Path, commit: str) -> dict[str, str]:
    names = git(folder, "ls-tree", "-r", "--name-only", commit).split()
    return {name: git(folder, "show", f"{commit}:{name}") for name in names}


def traces(folder: Path) -> dict[str, str]:
    """Every file of the checkout and its `.git`, by content and time of change; of an object only
    the content, for git marks an object that it needs again as new."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        + ("" if "objects" in path.parts else str(path.stat().st_mtime_ns))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_clean_checkout_is_its_head(checkout: Path) -> None:
    _, commit = snapshot(checkout)
    assert commit == git(checkout, "rev-parse", "HEAD").strip()


def test_a_dirty_checkout_leaves_no_trace(checkout: Path) -> None:
    (checkout / "a.py").write_text("x = 2\n")
    (checkout / "b.py").unlink()
    (checkout / "new.py").write_text("z = 1\n")
    (checkout / "noise.log").write_text("ignored")
    (checkout / "staged.py").write_text("s = 1\n")
    git(checkout, "add", "staged.py")
    before = traces(checkout)
    folder, commit = snapshot(checkout)
    assert traces(checkout) == before
    files = content(folder, commit)
    assert set(files) == {".gitignore", "a.py", "new.py", "staged.py"}
    assert files["a.py"] == "x = 2\n"
    assert snapshot(checkout) == (folder, commit), "the same content is the same commit"
    (checkout / "a.py").write_text("x = 3\n")
    assert snapshot(checkout)[1] != commit


def test_from_a_folder_inside(checkout: Path) -> None:
    (checkout / "sub").mkdir()
    (checkout / "a.py").write_text("x = 9\n")
    folder, commit = snapshot(checkout / "sub")
    assert content(folder, commit)["a.py"] == "x = 9\n"


def test_nothing_is_committed_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text("x = 1\n")
    at, commit = snapshot(folder)
    assert content(at, commit) == {"a.py": "x = 1\n"}


def test_a_linked_work_tree(checkout: Path) -> None:
    linked = checkout.parent / "linked"
    git(checkout, "worktree", "add", "-q", str(linked), "HEAD")
    (linked / "a.py").write_text("x = 5\n")
    at, commit = snapshot(linked)
    assert content(at, commit)["a.py"] == "x = 5\n"


def test_hooks_and_filters_of_the_repository_do_not_run(checkout: Path) -> None:
    proof = checkout.parent / "ran"
    hook = checkout / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {proof}\n")
    os.chmod(hook, 0o755)
    git(checkout, "config", "filter.evil.clean", f"touch {proof}; cat")
    git(checkout, "config", "core.fsmonitor", f"touch {proof}")
    (checkout / ".gitattributes").write_text("*.py filter=evil\n")
    (checkout / "a.py").write_text("x = 7\n")
    folder, commit = snapshot(checkout)
    assert content(folder, commit)["a.py"] == "x = 7\n"
    assert not proof.exists()


def test_not_a_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in a git repository"):
        snapshot(tmp_path)


def test_apply_to_the_checkout_is_all_or_nothing(checkout: Path) -> None:
    good = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n x = 1\n+x = 2\n"
    new = "--- /dev/null\n+++ b/t/c d.py\n@@ -0,0 +1 @@\n+y = 1\n"
    bad = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-no such line\n+y\n"
    with pytest.raises(PatchRejected, match=r"b\.py"):
        apply_to_checkout(good + bad, checkout)
    assert (checkout / "a.py").read_text() == "x = 1\n"
    assert apply_to_checkout(good + new, checkout) == ["a.py", "t/c d.py"]
    assert (checkout / "a.py").read_text() == "x = 1\nx = 2\n"
    assert (checkout / "t" / "c d.py").read_text() == "y = 1\n"


@pytest.mark.parametrize("path", ["../outside.py", ".git/hooks/post-commit", "link/x.py"])
def test_apply_never_leaves_the_checkout(checkout: Path, path: str) -> None:
    (checkout / "link").symlink_to(checkout.parent)
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"
    with pytest.raises(PatchRejected):
        apply_to_checkout(patch, checkout)
    assert not (checkout / path).exists()
