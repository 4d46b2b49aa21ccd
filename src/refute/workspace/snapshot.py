"""A user's checkout as it is now, dirty or clean, as a commit that leaves no trace in it.

The commit lives in a git folder of our own, in the cache, that borrows the objects of the user's
repository; what the checkout has besides (changes, new files that are not ignored) is added there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from refute.core.remarks import remark
from refute.core.storage import ScratchFolder, cache_folder, key_of
from refute.errors import InputError, PatchRejected, WorkspaceUnavailable
from refute.workspace.repositories import Clone, GitFailed, find_clone, git

_TIMES = ("-c", "core.trustctime=true", "-c", "core.checkStat=default")
"""A changed file whose size and time were set back is seen all the same."""
_COMPILED = (".so", ".pyd")
"""Endings of compiled extension modules."""
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "refute"), ("EMAIL", "refute@localhost"))
}
"""Environment of git: whose the commits are that are made here."""


_LARGEST = 64 << 20
"""Bytes of an extension module that is taken along."""
_HEAD = 1024
_GENERATED = re.compile(rb"\bgenerated\b", re.IGNORECASE)


def snapshot(path: Path) -> tuple[Path, str]:
    """A git folder and the hash of a commit in it that is the checkout at `path` as it is now.

    The same content of the same repository gives the same commit; a clean checkout gives its own
    HEAD. What git ignores by any of its rules is left out, and so is a Python environment of which
    git tracks nothing, which a line says. No flag of the index hides a file. A submodule with
    changes stands for its own snapshot: it is another commit than the recorded one. Nothing in the
    checkout or its `.git` is changed. Raises `InputError` when `path` is in no git repository,
    `WorkspaceUnavailable` when git fails.
    """
    clone = clone_at(path)
    assert clone.work_tree is not None
    folder = cache_folder() / "snapshots" / key_of(str(clone.git_dir))
    borrow_objects(clone, folder)
    with ScratchFolder() as scratch:
        # with their times: git reads what changed in the very second in which they were written
        for name in ("index", *(path.name for path in clone.git_dir.glob("sharedindex.*"))):
            if (clone.git_dir / name).is_file():  # so that only changed files are read
                shutil.copy2(clone.git_dir / name, Path(scratch, name))
        index = Path(scratch, "index")
        options = (f"--git-dir={folder}", f"--work-tree={clone.work_tree}", *_TIMES)
        env = {"GIT_INDEX_FILE": str(index), **IDENTITY}

        def run(*words: str, given: Iterable[str]) -> None:
            if given := "\0".join(given):
                data = given.encode("utf-8", "surrogateescape")
                git(*words, folder=clone.work_tree, given=data, options=options, env=env)

        try:
            listed = git("ls-files", "-z", "--stage", "-v", options=options, env=env)
            rows = _rows(listed, clone.work_tree)
            update = "update-index", "-z"
            believed = (row.path for row in rows if row.is_assumed)
            run(*update, "--no-assume-unchanged", "--stdin", given=believed)
            hidden = (row.path for row in rows if row.is_hidden)
            run(*update, "--no-skip-worktree", "--stdin", given=hidden)
            links = [row.path for row in rows if row.is_submodule]
            words = ("add", "--update", "--pathspec-from-file=-", "--pathspec-file-nul")
            run(*words, given=(".", *(f":(top,exclude,literal){link}" for link in links)))
            new = clone.list_files("--others", index=index)
            left_out = _environments(new, rows)
            for name in sorted(left_out):
                _say_left_out(clone.work_tree, name)
            added = (
                name for name in new
                if not name.endswith(("/", ".pyc"))  # a repository, bytecode
                and left_out.isdisjoint(_folders(name))
            )  # fmt: skip
            run(*update, "--add", "--remove", "--replace", "--stdin", given=added)
            run(*update, "--index-info", given=_submodules(clone.work_tree, links))
            commit = commit_index(options, env, _head(clone))
        except GitFailed as error:
            raise WorkspaceUnavailable(f"{path}: cannot be read by git: {error}") from None
    return folder, commit


def with_built(folder: Path, commit: str, root: Path) -> str:
    """A commit in `folder` (of `snapshot`): `commit`, and what a build has written into the
    packages of the checkout at `root`; `commit` itself where that is nothing.

    Git ignores such files, so that no snapshot has them, and without them the packages cannot be
    imported; others stay where they are, for they may hold secrets. Taken are ignored files beside
    Python files of the commit: extension modules, and modules that say that they are generated or
    are named after the version. Raises `WorkspaceUnavailable`.
    """
    with ScratchFolder() as scratch:
        options = (f"--git-dir={folder}", f"--work-tree={root}")
        env = {"GIT_INDEX_FILE": os.fspath(Path(scratch) / "index"), **IDENTITY}
        try:
            git("read-tree", commit, options=options, env=env)
            clone, index = find_clone(str(root)), Path(env["GIT_INDEX_FILE"])
            tracked = clone.list_files("--cached", index=index)
            packages = {PurePosixPath(one).parent for one in tracked if one.endswith(".py")}
            listed = clone.list_files("--others", "--ignored", "--directory", index=index)
            found = [
                one for one in listed
                if PurePosixPath(one).parent in packages and _is_built(root / one)
            ]  # fmt: skip
            if not found:
                return commit
            git(
                "update-index", "--add", "-z", "--stdin",
                folder=root, given="\0".join(found).encode("utf-8", "surrogateescape"),
                options=options, env=env,
            )  # fmt: skip
            return commit_index(options, env, commit)
        except GitFailed as error:
            raise WorkspaceUnavailable(f"{root}: cannot be read by git: {error}") from None


def _is_built(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix in _COMPILED:
        return path.stat().st_size <= _LARGEST
    if path.suffix != ".py":
        return False
    if "version" in path.stem.lower():
        return True
    with path.open("rb") as file:
        return _GENERATED.search(file.read(_HEAD)) is not None


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


def clone_at(path: Path) -> Clone:
    """The repository of the checkout that holds `path`. Raises `InputError`."""
    clone = find_clone(str(checkout_root(path)))
    if clone.work_tree is None:
        raise InputError(f"{path}: a bare repository; give a checkout of it")
    return clone


@dataclass(frozen=True, slots=True)
class _Row:
    """A path in the user's index."""

    path: str
    is_submodule: bool
    is_assumed: bool
    """`update-index --assume-unchanged`: git is not to look at it."""
    is_hidden: bool
    """`--skip-worktree`, and it lies there all the same: it is no missing part of a sparse
    checkout."""


def _rows(listed: bytes, root: Path) -> list[_Row]:
    found = []
    for row in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, _, path = row.partition("\t")
        tag, mode = facts.split()[:2]
        hidden = tag in "Ss" and os.path.lexists(root / path)
        found.append(_Row(path, mode == "160000", tag.islower(), hidden))
    return found


def _folders(name: str) -> Iterator[str]:
    """The folders that a path lies in."""
    while name := name.rpartition("/")[0]:
        yield name


def _environments(new: Iterable[str], rows: Iterable[_Row]) -> set[str]:
    """Folders of which git tracks nothing and that hold a Python environment."""
    end = "/pyvenv.cfg"
    found = {name.removesuffix(end) for name in new if name.endswith(end)}
    return found.difference(*(_folders(row.path) for row in rows)) if found else found


@cache  # a verb takes more than one snapshot
def _say_left_out(root: Path, name: str) -> None:
    remark([f"{name}/ is left out: a Python environment; list it in .gitignore"])


def _submodules(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield each populated submodule's commit for git's index: git would ask it for its status with
    its own configuration."""
    for path in paths:
        place = root / path
        if (place / ".git").exists() and place.resolve() == place:  # no link on the way
            yield f"160000 {snapshot(place)[1]}\t{path}"


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


def commit_index(options: Sequence[str], env: Mapping[str, str], head: str) -> str:
    """A commit of what the index holds on top of `head` ("": of nothing), or `head` itself where
    it holds that; under a reference, so that it stays. Its date is that of `head`: the hash depends
    on the content alone."""
    tree = git("write-tree", options=options, env=env).decode().strip()
    old, commit, date = "", head, "2000-01-01T00:00:00Z"
    if head:  # not `git show`, which looks for its parents: a shallow clone has none
        told = git("cat-file", "commit", head, options=options).decode("utf-8", "replace")
        old, committer = told.split("\n")[0], told.partition("\ncommitter ")[2]
        date = " ".join(committer.partition("\n")[0].split()[-2:])
    if old != f"tree {tree}":
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        words = ("commit-tree", tree, *(("-p", head) if head else ()), "-m", "as it is")
        commit = git(*words, options=options, env={**env, **dates}).decode().strip()
    git("update-ref", f"refs/heads/{commit}", commit, options=options)
    return commit
