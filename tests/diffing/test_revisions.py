"""Two revisions as folders: which they are, what lies in them, and what a repository cannot do."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from refute.diffing.revisions import FileChange, open_patched, open_revisions
from refute.errors import InputError, PatchRejected

from .repositories import commit, git, write

MODULE = "def f():\n    return 1\n"
CHANGED = "def f():\n    return 2\n"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits: `shop/a.py` changes, with a message."""
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    commit(
        folder, {"shop/__init__.py": "", "shop/a.py": MODULE, ".gitignore": "*.so\n_version.py\n"}
    )
    commit(folder, {"shop/a.py": CHANGED}, "f gives two\n\nAs the issue says.")
    return folder


def traces(folder: Path) -> dict[str, str]:
    """Every file of the checkout and its `.git` by content and, objects aside, time of change."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        + ("" if "objects" in path.parts else str(path.stat().st_mtime_ns))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def read(root: Path, name: str = "shop/a.py") -> str:
    return (root / name).read_text()


def test_two_commits_lie_in_folders_that_go_away(repo: Path) -> None:
    with open_revisions(repo, "HEAD~1..HEAD") as found:
        assert (read(found.before.root), read(found.after.root)) == (MODULE, CHANGED)
        assert found.files == (FileChange("shop/a.py", "shop/a.py"),)
        assert found.messages == ("f gives two\n\nAs the issue says.",)
        assert (found.before.label, found.after.label) == ("HEAD~1", "HEAD")
        assert repo not in found.before.root.parents
    assert not found.before.root.exists()
    assert not found.after.root.exists()


def test_the_working_tree_is_the_checkout_and_keeps_no_trace(repo: Path) -> None:
    write(repo, {"shop/a.py": "x = 1\n", "shop/new.py": MODULE, "shop/ignored.so": "x"})
    before = traces(repo)
    with open_revisions(repo / "shop") as found:
        assert found.after.root == repo
        assert read(found.before.root) == CHANGED
        assert found.files == (
            FileChange("shop/a.py", "shop/a.py"),
            FileChange(None, "shop/new.py"),
        )
        assert found.messages == ()
    with open_revisions(repo, "HEAD~1") as found:
        assert read(found.before.root) == MODULE
        assert found.messages == ("f gives two\n\nAs the issue says.",)
    assert traces(repo) == before


def test_three_dots_start_at_the_merge_base(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repo, {"shop/b.py": MODULE}, "on the side")
    with open_revisions(repo, "main...side") as found:
        assert found.files == (FileChange(None, "shop/b.py"),)
        assert found.messages == ("on the side",)
    with open_revisions(repo, "main..") as found:
        assert len(found.files) == 2


def test_renames_are_followed(repo: Path) -> None:
    text = MODULE + "".join(f"\n\ndef g{n}():\n    return {n}\n" for n in range(9))
    commit(repo, {"shop/a.py": text})
    commit(repo, {"shop/a.py": None, "shop/b.py": text.replace("return 3", "return 4")})
    with open_revisions(repo, "HEAD~1..HEAD") as found:
        assert found.files == (FileChange("shop/a.py", "shop/b.py"),)


@pytest.mark.parametrize("spec", ["nowhere", "HEAD..nowhere", "--output=x", "HEAD\0", "a b..c"])
def test_no_such_revision(repo: Path, spec: str) -> None:
    with pytest.raises(InputError, match="no such commit"), open_revisions(repo, spec):
        pass


def test_what_cannot_be_compared_is_one_line(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no difference between HEAD and working tree"):
        open_revisions(repo).__enter__()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not in a git repository"):
        open_revisions(tmp_path / "empty").__enter__()
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(InputError, match="'HEAD': no such commit"):
        open_revisions(tmp_path / "empty").__enter__()
    git(repo, "checkout", "-q", "--orphan", "other")
    commit(repo, {"new.py": ""})
    with pytest.raises(InputError, match="no commit in common"):
        open_revisions(repo, "main...other").__enter__()


def test_products_of_a_build_come_from_the_checkout(repo: Path) -> None:
    write(
        repo,
        {
            "shop/fast.so": "compiled",
            "shop/_version.py": "version = '1'\n",
            "shop/scratch.py": "not ignored: a new source",
            "data/x.so": "beside no source",
        },
    )
    with open_revisions(repo, "HEAD~1") as found:
        assert read(found.before.root, "shop/_version.py") == "version = '1'\n"
        assert not (found.before.root / "data/x.so").exists()
        assert read(found.before.root, "shop/fast.so") == "compiled"
        assert not (found.before.root / "shop/scratch.py").exists()
    commit(repo, {".gitignore": "*.so\n"})
    with open_revisions(repo, "HEAD~1..HEAD") as found:
        assert read(found.after.root, "shop/_version.py") == "version = '1'\n"


def test_a_patch_is_applied_beside(repo: Path) -> None:
    write(repo, {"shop/b.py": MODULE})
    patch = (
        "diff --git a/shop/a.py b/shop/c.py\nsimilarity index 60%\n"
        "rename from shop/a.py\nrename to shop/c.py\n"
        "--- a/shop/a.py\n+++ b/shop/c.py\n@@ -1,2 +1,2 @@\n def f():\n"
        "-    return 2\n+    return 3\n"
    )
    before = traces(repo)
    with open_patched(repo, None, patch) as found:
        assert found.before.root == repo
        assert read(found.after.root, "shop/c.py") == "def f():\n    return 3\n"
        assert read(found.after.root, "shop/b.py") == MODULE, "what is not committed is there too"
        assert not (found.after.root / "shop/a.py").exists()
    with open_patched(repo, "HEAD", patch) as found:
        assert not (found.after.root / "shop/b.py").exists()
        assert read(found.before.root) == CHANGED
    with pytest.raises(PatchRejected):
        open_patched(repo, "HEAD~1", patch).__enter__()
    outside = "--- /dev/null\n+++ b/../out.py\n@@ -0,0 +1 @@\n+x = 1\n"
    with pytest.raises(PatchRejected):
        open_patched(repo, "HEAD", outside).__enter__()
    with pytest.raises(PatchRejected, match="empty"):
        open_patched(repo, "HEAD", "\n").__enter__()
    assert traces(repo) == before


def test_nothing_that_the_repository_configures_is_run_or_heard(repo: Path) -> None:
    proof = repo.parent / "ran"
    evil = repo.parent / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    evil.chmod(0o755)
    write(
        repo, {".gitattributes": "*.py filter=evil diff=evil\na.py export-ignore\n* export-subst\n"}
    )
    commit(repo, {"shop/subst.py": "x = '$Format:%H$'\n"})
    (repo / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
        (repo / ".git" / "hooks" / hook).write_text(evil.read_text())
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
                 "diff.evil.textconv", "diff.evil.command", "diff.external", "core.pager",
                 "gpg.program", "core.sshCommand", "core.editor"):  # fmt: skip
        git(repo, "config", name, str(evil))
    git(repo, "config", "log.showSignature", "true")
    git(repo, "config", "filter.evil.required", "true")
    proof.unlink(missing_ok=True)
    write(repo, {"shop/a.py": "x = 3\n"})
    with open_revisions(repo, "HEAD~1") as found:
        assert found.files
    with open_revisions(repo, "HEAD~1..HEAD") as found:
        assert read(found.after.root, "shop/subst.py") == "x = '$Format:%H$'\n"
        assert read(found.after.root) == CHANGED
    assert not proof.exists()


def test_links_do_not_lead_out(repo: Path) -> None:
    secret = repo.parent / "secret.py"
    secret.write_text("key = 1\n")
    (repo / "shop" / "up").symlink_to("..")
    (repo / "deep").mkdir()
    for name, target in {
        "shop/absolute.py": str(secret),
        "shop/above.py": "../../secret.py",
        "shop/hidden": "up/..",  # inside by its words alone
        "deep/inside.py": "../shop/a.py",
    }.items():
        (repo / name).symlink_to(target)
    commit(repo, {})
    with open_revisions(repo, "HEAD~1..HEAD") as found:
        root = found.after.root
        links = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_symlink()}
        assert links == {"shop/up", "deep/inside.py"}
        assert found.files == (), "a link is no source"
    (repo / "shop" / "a.py").unlink()
    (repo / "shop" / "a.py").symlink_to(secret)
    with open_revisions(repo) as found, pytest.raises(OSError, match="leads out"):
        found.after.read("shop/a.py", 100)


def test_odd_names(repo: Path) -> None:
    odd = ["shop/new\nline.py", 'shop/quo"te.py', "shop/tab\t.py", "shop/ü.py"]
    commit(repo, dict.fromkeys(odd, MODULE))
    raw = os.fsencode(repo) + b"/shop/\xff.py"
    with open(raw, "w") as file:
        file.write(MODULE)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "odd")
    with open_revisions(repo, "HEAD~2..HEAD") as found:
        names = {change.after for change in found.files}
        assert names == {*odd, "shop/\udcff.py"}
        assert all(found.after.read(str(name), 100) == MODULE.encode() for name in names)


def tree_of(repo: Path, *rows: tuple[str, str, str]) -> str:
    """The hash of a tree that git itself would not write: (mode, name, hash)."""
    data = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(h) for mode, name, h in rows)
    command = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    return (
        subprocess.run(command, cwd=repo, input=data, capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )


def test_a_tree_that_git_would_not_write(repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:shop/a.py")
    inner = tree_of(repo, ("100644", "escaped.py", blob), ("100644", "config", blob))
    outer = tree_of(
        repo, ("100644", "fine.py", blob), ("40000", "..", inner), ("40000", ".GIT", inner)
    )
    made = git(repo, "commit-tree", outer, "-p", "HEAD", "-m", "hostile")
    with open_revisions(repo, f"HEAD..{made}") as found:
        assert found.after.files == ("fine.py",)
        assert not (found.after.root.parent / "escaped.py").exists()


def test_submodules_are_left_out(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},vendored")
    git(repo, "commit", "-qm", "a submodule")
    with (
        pytest.raises(InputError, match="only submodules differ, and are not looked at: vendored"),
        open_revisions(repo, "HEAD~1..HEAD"),
    ):
        pass
    with open_revisions(repo, "HEAD~2..HEAD") as found:
        assert found.submodules == ("vendored",)
        assert "vendored" not in found.after.files
