"""What is judged: a base, what the checkout or a commit has beside it, and where both can be run.

The checkout is only read. Its present state, files that git does not know yet included, is a commit
in a folder of our own (`refute.workspace.snapshot`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from refute.errors import InputError, WorkspaceUnavailable
from refute.issue.patches import file_patches, is_runner_file, is_test_file, touched_files
from refute.workspace.contract import Workspace
from refute.workspace.factory import open_local, prepare
from refute.workspace.gitrun import GitFailed, git
from refute.workspace.infer import infer_recipe
from refute.workspace.recipe import Recipe, Runner
from refute.workspace.repositories import Clone, find_clone
from refute.workspace.snapshot import checkout_root, snapshot

__all__ = ["Change", "Place", "open_change"]

_DIFF = (
    "diff-tree", "-r", "-p", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
    "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_MOST_MESSAGES = 200
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A checkout, and how its tests are run there."""

    repo: Path = Path()
    python: Path | None = None
    """The interpreter of its tests; None: the active one, or the project's."""
    runner: str | None = None
    """`pytest`, `unittest`, `django` or `sympy`; None: read from it."""


@dataclass(frozen=True)
class Change:
    """Everything between two states of a repository."""

    root: Path
    """Of the user's checkout: only to be read."""
    store: Path
    """A git folder of our own that has both states."""
    base: str
    """Full hash of the commit before."""
    head: str
    """Full hash of the state after: a commit, or the working tree as one."""
    base_label: str
    head_label: str
    recipe: Recipe
    patch: str
    """From `base` to `head`, without renames."""
    is_working_tree: bool = True
    """Whether the state after is what lies in the checkout now."""
    messages: tuple[str, ...] = ()
    """Of the commits between, newest first."""

    @cached_property
    def parts(self) -> tuple[str, str, str]:
        """The patch's changes of tests, of what decides how tests run, and of all the rest; each is
        a diff of its own."""
        tests, runner, rest = "", "", ""
        for part in file_patches(self.patch):
            names = [name for name in (part.old, part.new) if name is not None]
            if any(map(is_runner_file, names)):
                runner += part.text
            elif any(map(is_test_file, names)):
                tests += part.text
            else:
                rest += part.text
        return tests, runner, rest

    @property
    def tests(self) -> str:
        """Changes of tests and of what lies beside them."""
        return self.parts[0]

    @property
    def runner(self) -> str:
        """Changes of what decides how tests run (`conftest.py`, configuration)."""
        return self.parts[1]

    @property
    def code(self) -> str:
        """All other changes."""
        return self.parts[2]

    @property
    def changes_code(self) -> bool:
        """Whether a Python file that is no test differs."""
        return any(path.endswith(".py") for path in touched_files(self.code))

    def before(self, path: str) -> str | None:
        """A file's text at the base; None where there is none, or it is no text."""
        return self._text(self.base, path)

    def after(self, path: str) -> str | None:
        """A file's text in the state after."""
        return self._text(self.head, path)

    def _text(self, commit: str, path: str) -> str | None:
        options = (f"--git-dir={self.store}",)
        try:
            if int(git("cat-file", "-s", f"{commit}:{path}", options=options)) > _LARGEST:
                return None
            return git("cat-file", "blob", f"{commit}:{path}", options=options).decode("utf-8")
        except (GitFailed, ValueError):
            return None

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """A private workspace at the base. Raises `WorkspaceUnavailable`."""
        base = prepare(str(self.store), self.base, self.recipe, checkout=self.root)
        with open_local(base) as workspace:
            yield workspace


def open_change(place: Place, base: str | None = None, head: str | None = None) -> Change:
    """What `head` (None: the working tree as it is) has beside `base`.

    `base` None: HEAD where the working tree has changes of Python files that are not committed,
    else where the present branch left the main one. Nothing may differ: then the patch is empty.
    Raises `InputError` (no repository, no such commit), `WorkspaceUnavailable`.
    """
    if place.python is not None and not place.python.is_file():
        raise InputError(f"--python {place.python}: no such file")
    root = checkout_root(place.repo)
    clone = find_clone(str(root))
    interpreter = None if place.python is None else place.python.absolute()
    recipe = infer_recipe(root, interpreter=interpreter, runner=cast("Runner | None", place.runner))
    store, now = snapshot(root)
    tip = _resolved(clone, "HEAD")
    after = now if head is None else _resolved(clone, head)
    if base is not None:
        first, label = _resolved(clone, base), base
    else:
        first, label = _default_base(clone, store, tip, after)
    try:
        patch = _between(store, first, after)
        messages = _messages(store, first, tip if head is None else after)
    except GitFailed as error:
        raise WorkspaceUnavailable(f"{root}: cannot be read by git: {error}") from None
    name = "working tree" if head is None else head
    return Change(root, store, first, after, label, name, recipe, patch, head is None, messages)


def _default_base(clone: Clone, store: Path, tip: str, after: str) -> tuple[str, str]:
    """A stray note beside a finished branch does not hide the branch."""
    dirty = touched_files(_between(store, tip, after)) if after != tip else ()
    if any(path.endswith(".py") for path in dirty):
        return tip, "HEAD"
    for main in _MAIN:
        try:
            found = clone.git("merge-base", main, "HEAD").decode().strip()
        except GitFailed:
            continue
        if found != tip:
            return found, f"merge base with {main}"
    return tip, "HEAD"


def _between(store: Path, first: str, second: str) -> str:
    options = (f"--git-dir={store}",)
    return git(*_DIFF, first, second, options=options).decode("utf-8", "surrogateescape")


def _messages(store: Path, first: str, last: str) -> tuple[str, ...]:
    words = ("log", "-z", "--format=%B", "--no-notes", "--encoding=UTF-8", "--no-mailmap")
    options = (f"--git-dir={store}",)
    told = git(*words, f"--max-count={_MOST_MESSAGES}", f"{first}..{last}", "--", options=options)
    texts = told.decode("utf-8", "replace").split("\0")
    return tuple(text.strip() for text in texts if text.strip())


def _resolved(clone: Clone, revision: str) -> str:
    try:
        return clone.resolve(revision)
    except (WorkspaceUnavailable, ValueError):  # ValueError: a null character, `-x`
        where = clone.work_tree or clone.git_dir
        raise InputError(f"{revision!r}: no such commit in {where}; see `git log`") from None
