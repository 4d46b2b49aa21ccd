"""What a build has written into the packages of a checkout: without it they cannot be imported.

Git ignores such files, so that neither a commit nor a snapshot of the checkout has them: the
`_version.py` of setuptools-scm and hatch-vcs, extension modules that were built in place. Other
ignored files stay where they are, for they may hold what nobody else shall read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from refute.core.storage import ScratchFolder
from refute.errors import WorkspaceUnavailable
from refute.workspace.gitrun import GitFailed, git
from refute.workspace.repositories import find_clone
from refute.workspace.snapshot import IDENTITY

_EXTENSION = (".so", ".pyd")
_LARGEST = 64 << 20
"""Bytes of an extension module that is taken along."""
_HEAD = 1024
_GENERATED = re.compile(rb"\bgenerated\b", re.IGNORECASE)


def with_built(folder: Path, commit: str, root: Path) -> str:
    """A commit in `folder` (of `snapshot`): `commit`, and what a build has written into the
    packages of the checkout at `root`; `commit` itself where that is nothing.

    Taken are ignored files beside Python files of the commit: extension modules, and modules that
    say that they are generated or are named after the version. Raises `WorkspaceUnavailable`.
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
            tree = git("write-tree", options=options, env=env).decode().strip()
            date = git("show", "-s", "--format=%cI", commit, options=options, env=env)
            env |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), date.decode().strip())
            words = ("commit-tree", tree, "-p", commit, "-m", "with what was built")
            made = git(*words, options=options, env=env).decode().strip()
            git("update-ref", f"refs/heads/{made}", made, options=options)
        except GitFailed as error:
            raise WorkspaceUnavailable(f"{root}: cannot be read by git: {error}") from None
    return made


def _is_built(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix in _EXTENSION:
        return path.stat().st_size <= _LARGEST
    if path.suffix != ".py":
        return False
    if "version" in path.stem.lower():
        return True
    with path.open("rb") as file:
        return _GENERATED.search(file.read(_HEAD)) is not None
