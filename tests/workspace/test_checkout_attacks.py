"""Checkouts with a hostile `.git`: none of the programs that they name is run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.errors import PatchRejected
from refute.workspace.infer import own_interpreter
from refute.workspace.snapshot import apply_to_checkout, snapshot

from .shops import git

PATCH = """\
diff --git a/shop.py b/shop.py
--- a/shop.py
+++ b/shop.py
@@ -1 +1 @@
-X = 1
+X = 2
diff --git a/tests/test_shop.py b/tests/test_shop.py
new file mode 100644
--- /dev/null
+++ b/tests/test_shop.py
@@ -0,0 +1 @@
+def test(): pass
"""
SETTINGS = (
    "filter.x.clean", "filter.x.smudge", "filter.x.process", "core.fsmonitor", "diff.external",
    "diff.x.command", "diff.x.textconv", "merge.x.driver", "core.sshCommand", "core.editor",
    "core.pager", "core.alternateRefsCommand", "core.askPass", "gpg.program", "core.gitProxy",
    "uploadpack.packObjectsHook", "alias.apply", "alias.add", "alias.status", "trailer.x.command",
    "credential.helper", "interactive.diffFilter", "sequence.editor", "submodule.x.update",
)  # fmt: skip
HOOKS = ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor")


def arm(folder: Path, evil: Path, *, required: bool = False) -> None:
    """Every setting and hook of a repository names the program."""
    for name in SETTINGS:
        git(folder, "config", name, f"!{evil}" if name.startswith("alias") else str(evil))
    git(folder, "config", "filter.x.required", str(required).lower())
    place = Path(git(folder, "rev-parse", "--absolute-git-dir"))
    (place / "info").mkdir(exist_ok=True)
    (place / "info" / "attributes").write_text("* filter=x diff=x merge=x\n")
    for name in HOOKS:
        (place / "hooks").mkdir(exist_ok=True)
        (place / "hooks" / name).write_bytes(evil.read_bytes())
        (place / "hooks" / name).chmod(0o755)


@pytest.fixture
def evil(tmp_path: Path) -> Iterator[Path]:
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    yield program
    ran = tmp_path / "ran"
    assert not ran.exists(), ran.read_text()


@pytest.fixture
def checkout(cache: Path, tmp_path: Path, evil: Path) -> Path:
    """With a submodule that is populated, a repository that git does not know, and both armed."""
    folders = [tmp_path / name for name in ("checkout", "other")]
    for folder in folders:
        folder.mkdir()
        git(folder, "init", "-q")
        (folder / "shop.py").write_text("X = 1\n")
        (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "base")
    root, other = folders
    for name in ("part", "odd :(name", "loose"):
        subprocess.run(["cp", "-r", str(other), str(root / name)], check=True)
    git(root, "add", "part", "odd :(name")
    git(root, "commit", "-qm", "submodules")
    for folder in (root, root / "part", root / "odd :(name", root / "loose"):
        arm(folder, evil)
        for path in (folder / "shop.py", folder / "new.py"):
            path.write_text("X = 1\n")
            os.utime(path, (1, 1))  # git has to look at it
    (tmp_path / "ran").unlink(missing_ok=True)
    return root


def test_a_snapshot_runs_nothing(checkout: Path) -> None:
    folder, commit = snapshot(checkout)
    listed = git(folder, "ls-tree", "-r", "--name-only", "-z", commit).split("\0")
    assert {"new.py", "shop.py", "part", "odd :(name"} <= set(listed)
    assert snapshot(checkout) == (folder, commit)


@pytest.mark.parametrize("required", [True, False])
def test_writing_to_a_checkout_runs_nothing(checkout: Path, evil: Path, required: bool) -> None:
    arm(checkout, evil, required=required)
    (checkout.parent / "ran").unlink(missing_ok=True)
    assert apply_to_checkout(PATCH, checkout) == ["shop.py", "tests/test_shop.py"]
    assert (checkout / "shop.py").read_text() == "X = 2\n"
    assert (checkout / "tests" / "test_shop.py").read_text() == "def test(): pass\n"


def test_looking_for_an_interpreter_runs_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to("/bin/true")
    assert own_interpreter(checkout) == checkout / ".venv" / "bin" / "python"


@pytest.mark.parametrize(
    "path", ["../x.py", "/tmp/refute-x.py", ".git/config", ".GIT/hooks/x", "part/.git/x", "link/x"]
)
def test_a_patch_stays_in_the_checkout(checkout: Path, path: str) -> None:
    (checkout / "link").symlink_to(checkout.parent)
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"
    with pytest.raises(PatchRejected):
        apply_to_checkout(patch, checkout)
