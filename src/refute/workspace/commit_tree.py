"""The tree of a commit, checked out once, with a history of that one commit.

Blindness: whatever runs in the tree may read `.git`. So it is a fresh one: the commit itself and
the objects of its tree, no parents, no later commits, no other references, no logs.
"""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path

from refute.core.storage import ScratchFolder
from refute.errors import WorkspaceUnavailable
from refute.workspace.gitrun import GitFailed, git
from refute.workspace.repositories import Clone

TRACES = ("__pycache__/", "*.py[co]", ".pytest_cache/")
"""Patterns of what every test run leaves, in repositories that do not ignore it themselves."""

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
[user]
\tname = refute
\temail = refute@localhost
[gc]
\tauto = 0
"""


def check_out(clone: Clone, commit: str, target: Path) -> None:
    """Make the work tree of a commit (a full hash) at `target`, which must be absent.

    The commit keeps its hash, date and message; its parents are not there (a shallow clone).
    Modification times are the commit's, so that two trees of a commit are alike. Submodules are
    left empty. Raises `WorkspaceUnavailable` when objects are missing.
    """
    inner = target / ".git"
    for name in ("objects/pack", "objects/info", "refs/heads", "info"):
        (inner / name).mkdir(parents=True)
    (inner / "config").write_text(_CONFIG)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "refs" / "heads" / "main").write_text(commit + "\n")
    (inner / "shallow").write_text(commit + "\n")
    try:
        names = clone.git("rev-list", "--objects", "--no-walk", "--no-object-names", commit)
        pack = clone.git("pack-objects", "--stdout", "--window=0", "-q", given=names)
        git("index-pack", "--stdin", "--fix-thin", folder=target, given=pack)
        git("reset", "--hard", "--quiet", folder=target)
        when = int(git("show", "-s", "--format=%ct", "HEAD", folder=target))
        # Byte code is told by its source's time, in seconds, and size: a change of the same size
        # that followed a commit of just now would not be seen.
        _set_times(target, min(when, int(time.time()) - 2))
        git("update-index", "-q", "--refresh", folder=target)
    except GitFailed as error:
        raise WorkspaceUnavailable(f"{clone.name}: cannot check out {commit}: {error}") from None
    (inner / "ORIG_HEAD").unlink(missing_ok=True)


def archived(clone: Clone, commit: str) -> bytes:
    """A tar archive of the folder `.git` that `check_out` makes, the same whenever it is made: with
    `git reset --hard` it becomes the tree. Raises `WorkspaceUnavailable`."""
    with ScratchFolder() as folder:
        tree, buffer = Path(folder, "tree"), io.BytesIO()
        check_out(clone, commit, tree)
        hide_untracked(tree)
        (tree / ".git" / "index").unlink()  # it holds times of files
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path in sorted((tree / ".git").rglob("*")):
                archive.add(path, str(path.relative_to(tree)), recursive=False, filter=_plain)
    return buffer.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def _set_times(target: Path, when: int) -> None:
    listed = git("ls-files", "-z", folder=target)
    for name in listed.split(b"\0"):
        if name:
            path = os.path.join(os.fsencode(target), name)
            os.utime(path, (when, when), follow_symlinks=False)


def hide_untracked(tree: Path) -> None:
    """Let git ignore what is there now and not tracked, and byte code and caches at any time:
    traces of builds and of test runs are no change."""
    listed = git("ls-files", "-o", "-z", "--exclude-standard", "--directory", folder=tree)
    patterns = [_pattern(name.decode(errors="surrogateescape")) for name in listed.split(b"\0")]
    with (tree / ".git" / "info" / "exclude").open("a", errors="surrogateescape") as file:
        file.writelines(f"{pattern}\n" for pattern in (*TRACES, *patterns) if pattern)


def _pattern(name: str) -> str:
    """The exclude pattern for exactly this path."""
    if not name or "\n" in name:
        return ""
    return "/" + "".join("\\" + c if c in "*?[]\\ !#" else c for c in name)
