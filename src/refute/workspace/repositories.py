"""Finds the clone of a repository on this machine, and commits in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refute.core.starting import Variable
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.gitrun import GitFailed, git

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone on this machine; it is only ever read."""

    name: str
    """`owner/name`, or the path of a user's own."""
    git_dir: Path
    work_tree: Path | None
    """None for a bare clone."""

    def resolve(self, commit: str) -> str:
        """The full hash of a commit. Raises `WorkspaceUnavailable` when the clone lacks it."""
        if commit.startswith("-"):
            raise InputError(f"not a commit: {commit!r}")
        try:
            options = ("rev-parse", "--verify", "--quiet", "--end-of-options")
            found = self.git(*options, (commit or "HEAD") + "^{commit}")
        except GitFailed:
            raise WorkspaceUnavailable(
                f"{self.name}: the clone {self.git_dir} has no commit {commit or 'HEAD'}; fetch it"
            ) from None
        text = found.decode().strip()
        if not _SHA.fullmatch(text):
            raise WorkspaceUnavailable(f"{self.name}: git named {commit} {text!r}")
        return text

    def commit(self, revision: str) -> str:
        """The full hash of a commit that people name. Raises `InputError` where there is none."""
        try:
            return self.resolve(revision)
        except (WorkspaceUnavailable, ValueError):  # ValueError: a null character, `-x`
            where = self.work_tree or self.git_dir
            hint = "the clone is shallow: fetch it" if self.is_shallow else "see `git log`"
            raise InputError(f"{revision!r}: no such commit in {where}; {hint}") from None

    @property
    def is_shallow(self) -> bool:
        """Whether commits before some are not here."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == b"true"

    def git(
        self,
        *arguments: str,
        given: bytes | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> bytes:
        """Run git on the clone. Raises `GitFailed`."""
        return git(*arguments, options=(f"--git-dir={self.git_dir}",), given=given, env=env)

    def list_files(self, *words: str, index: Path | None = None) -> list[str]:
        """`git ls-files` of the work tree that is not bare, by all rules of what is ignored.

        git runs without the user's settings, but what they ignore is no part of a change: so
        `core.excludesFile` is read from them, and as `git status` does from the repository's own
        (patterns can only hide names), where it is a regular file. Raises `GitFailed`.
        """
        assert self.work_tree is not None
        kinds = "GLOBAL", "SYSTEM", "NOSYSTEM"
        known = "HOME", "XDG_CONFIG_HOME", *(f"GIT_CONFIG_{kind}" for kind in kinds)
        users = {name: os.environ.get(name) for name in known}
        try:
            words_of = ("config", "--type=path", "--get", "core.excludesFile")
            found = os.fsdecode(self.git(*words_of, env=users).removesuffix(b"\n"))
        except GitFailed:  # it is not set
            home = Path(os.environ.get("HOME") or "/nonexistent")
            found = str(Path(users["XDG_CONFIG_HOME"] or home / ".config") / "git" / "ignore")
        if not (self.work_tree / found).is_file():
            found = "/dev/null"
        listed = git(
            *("ls-files", "-z", "--exclude-standard", *words),
            folder=self.work_tree,
            options=(
                *(f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}"),
                *("-c", f"core.excludesFile={found}"),
            ),
            env={} if index is None else {"GIT_INDEX_FILE": str(index)},
        )
        names = listed.decode("utf-8", "surrogateescape").split("\0")
        return [name for name in names if name]


def find_clone(repo: str, root: Path | None = None) -> Clone:
    """The clone of `owner/name`, or of the user's own repository at a path.

    Clones are looked for in `root`, else in REFUTE_REPOS: a folder that holds `owner__name`,
    `owner/name` or `name`, each a clone or a link to one, bare or not. Raises
    `WorkspaceUnavailable`, `InputError` for a path that is no repository.
    """
    named = re.fullmatch(r"[\w.-]+/[\w.-]+", repo) is not None
    if not named or (repo.startswith((".", "~")) or Path(repo).is_dir()):
        path = Path(repo).expanduser()
        found = _git_dir(path)
        if found is None:
            raise InputError(f"{repo}: not a git repository; give the root of one")
        return Clone(str(path.resolve()), *found)
    given = root or os.environ.get(Variable.REPOS)
    if not given:
        raise WorkspaceUnavailable(
            f"no clone of {repo}: set REFUTE_REPOS to a folder that holds {repo.replace('/', '__')}"
        )
    owner, name = repo.split("/")
    for form in (f"{owner}__{name}", f"{owner}/{name}", name):
        for ending in ("", ".git"):
            found = _git_dir(Path(given) / (form + ending))
            if found is not None:
                return Clone(repo, *found)
    raise WorkspaceUnavailable(
        f"no clone of {repo} in {given}; make one: git clone --bare <its address> "
        f"{Path(given) / f'{owner}__{name}'}"
    )


def _git_dir(path: Path) -> tuple[Path, Path | None] | None:
    """Git directory and work tree of a clone, bare or not."""
    if not path.is_dir():
        return None
    if (path / "HEAD").is_file() and (path / "objects").is_dir():
        return path.resolve(), None
    inner = path / ".git"
    if inner.is_dir():
        return inner.resolve(), path.resolve()
    if inner.is_file():  # a linked work tree or a submodule
        target = inner.read_text().strip().removeprefix("gitdir: ")
        return (path / target).resolve(), path.resolve()
    return None
