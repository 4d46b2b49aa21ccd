"""A user's checkout as it is now, dirty or clean, as a commit that leaves no trace in it.

The commit lives in a git folder of our own, in the cache, that borrows the objects of the user's
repository; what the checkout has besides (changes, new files that are not ignored) is added there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from refute.errors import InputError, PatchRejected, WorkspaceUnavailable
from refute.storage import cache_folder
from refute.workspace.cache import key_of
from refute.workspace.gitrun import GitFailed, git
from refute.workspace.repositories import Clone, find_clone

__all__ = ["IDENTITY", "apply_to_checkout", "borrow_objects", "checkout_root", "snapshot"]

IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "refute"), ("EMAIL", "refute@localhost"))
}
"""Environment of git: whose the commits are that are made here."""


def snapshot(path: Path) -> tuple[Path, str]:
    """A git folder and the hash of a commit in it that is the checkout at `path` as it is now.

    The same content of the same repository gives the same commit; a clean checkout gives its own
    HEAD. Nothing in the checkout or its `.git` is changed. Raises `InputError` when `path` is in
    no git repository, `WorkspaceUnavailable` when git fails.
    """
    clone = find_clone(str(checkout_root(path)))
    if clone.work_tree is None:
        raise InputError(f"{path}: a bare repository; give a checkout of it")
    folder = cache_folder() / "snapshots" / key_of(str(clone.git_dir))
    borrow_objects(clone, folder)
    with tempfile.TemporaryDirectory(prefix="refute-snapshot-") as scratch:
        index = Path(scratch) / "index"
        if (clone.git_dir / "index").is_file():  # so that only changed files are read
            # with its time: git reads what changed in the very second in which it was written
            shutil.copy2(clone.git_dir / "index", index)
        options = (f"--git-dir={folder}", f"--work-tree={clone.work_tree}")
        env = {"GIT_INDEX_FILE": str(index), **IDENTITY}
        try:
            paths = _without_submodules(options, env)
            words = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
            git(*words, folder=clone.work_tree, given=paths, options=options, env=env)
            tree = git("write-tree", options=options, env=env).decode().strip()
            head = _head(clone)
            if head and _tree_of(clone, head) == tree:
                commit = head
            else:
                date = _date(clone, head)
                env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
                parents = ("-p", head) if head else ()
                made = git(
                    "commit-tree", tree, *parents, "-m", "as it is", options=options, env=env
                )
                commit = made.decode().strip()
            git("update-ref", f"refs/heads/{commit}", commit, options=options)
        except GitFailed as error:
            raise WorkspaceUnavailable(f"{path}: cannot be read by git: {error}") from None
    return folder, commit


def apply_to_checkout(patch: str, path: Path) -> list[str]:
    """Apply a unified diff to the files of a user's checkout (`--write`); returns what it changed.

    Strictly, all of it or nothing; the index stays as it is. Raises `PatchRejected`.
    """
    root = checkout_root(path)
    # by the files alone: no filter that the repository's configuration names is run
    alone = {"GIT_DIR": "/dev/null/none", "GIT_CEILING_DIRECTORIES": "/"}
    try:
        data = patch.encode("utf-8", "surrogateescape")
        rows = git("apply", "--numstat", "-z", "-", folder=root, given=data, env=alone)
        git("apply", "--whitespace=nowarn", "-", folder=root, given=data, env=alone)
    except (GitFailed, UnicodeEncodeError) as error:
        raise PatchRejected(f"{root}: {error}") from None
    listed = rows.decode("utf-8", "replace")
    return [row.split("\t", 2)[2] for row in listed.split("\0") if row.count("\t") == 2]


def checkout_root(path: Path) -> Path:
    """The root of the checkout that holds `path`. Raises `InputError`."""
    start = path.expanduser().resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    raise InputError(f"{path}: not in a git repository; run `git init` and commit there first")


def _without_submodules(options: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Everything but the submodules in the index, as paths for git: it would ask each for its
    status, with the submodule's own configuration."""
    listed = git("ls-files", "--stage", "-z", options=options, env=env).split(b"\0")
    links = [row.split(b"\t", 1)[1] for row in listed if row.startswith(b"160000 ")]
    return b"\0".join([b".", *(b":(top,exclude,literal)" + link for link in links)])


def _objects(clone: Clone) -> Path:
    """The object store, which linked work trees share."""
    common = clone.git("rev-parse", "--git-common-dir").decode().strip()
    return (clone.git_dir / common).resolve() / "objects"


def borrow_objects(clone: Clone, folder: Path) -> None:
    """Make `folder` a git folder with a configuration of our own that reads the clone's objects;
    what git writes there stays there. Raises `GitFailed`."""
    objects = _objects(clone)
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in {
        "HEAD": "ref: refs/heads/none\n",
        "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
        "objects/info/alternates": f"{os.fspath(objects)}\n",
    }.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            (folder / name).write_text(text)


def _head(clone: Clone) -> str:
    try:
        return clone.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except GitFailed:
        return ""  # nothing is committed yet


def _tree_of(clone: Clone, commit: str) -> str:
    return clone.git("rev-parse", f"{commit}^{{tree}}").decode().strip()


def _date(clone: Clone, head: str) -> str:
    """The date of HEAD, so that the hash depends on the content alone."""
    if not head:
        return "2000-01-01T00:00:00Z"
    return clone.git("show", "-s", "--format=%cI", head).decode().strip()
