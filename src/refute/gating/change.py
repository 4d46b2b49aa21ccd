"""The change under judgement: a base, a state after it, and a workspace that runs both.

The checkout is only read. Its present state, files that git does not know yet included, is a commit
in a folder of our own (`refute.workspace.snapshot`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from refute.diffing.trees import Entry, changed_submodules, contents, list_tree
from refute.errors import InputError, WorkspaceUnavailable
from refute.function.source import LARGEST_SOURCE, decoded
from refute.workspace.contract import Recipe, Workspace
from refute.workspace.factory import Checkout, open_local, prepare, root_and_recipe
from refute.workspace.patches import is_test_file, split_change, touched_files
from refute.workspace.repositories import PATCH, Clone, GitFailed, git
from refute.workspace.snapshot import clone_at, snapshot

_DIFF = ("diff-tree", "-r", "-p", *PATCH)
_MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


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
    """Patch from `base` to `head`, without renames."""
    is_working_tree: bool = True
    """True if the state after is the one that lies in the checkout now."""

    @cached_property
    def parts(self) -> tuple[str, str, str]:
        """The patch's changes of tests, of what decides how tests run, and of all the rest; each is
        a diff of its own."""
        return split_change(self.patch)

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

    @cached_property
    def code_files(self) -> tuple[str, ...]:
        """Files that are touched and are no tests, nor decide how tests run."""
        return touched_files(self.code)

    @cached_property
    def changes_code(self) -> bool:
        """Return whether a Python file that is not a test differs."""
        return any(path.endswith(".py") for path in self.code_files)

    @cached_property
    def submodules(self) -> tuple[str, ...]:
        """Paths of submodules that differ; what differs in them is in no patch."""
        return changed_submodules(self.store, self.base, self.head)

    @property
    def before(self) -> Mapping[str, str]:
        """Path -> text at the base, of the files that the change touches."""
        return self._sides[0][0]

    @property
    def after(self) -> Mapping[str, str]:
        """The same of the state after."""
        return self._sides[1][0]

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Files that the change touches and that are missing in these -> why they cannot be read.
        Of code as it was nothing is asked."""
        (_, before), (_, after) = self._sides
        return {path: why for path, why in before.items() if is_test_file(path)} | after

    @cached_property
    def _sides(self) -> tuple[tuple[dict[str, str], dict[str, str]], ...]:
        return self._read(self.base), self._read(self.head)

    def _read(self, commit: str) -> tuple[dict[str, str], dict[str, str]]:
        """Texts, and why the others have none."""
        touched = {*touched_files(self.patch)}
        texts, unreadable, small = dict[str, str](), dict[str, str](), list[Entry]()
        for one in list_tree(self.store, commit):
            if one.path in touched and not one.is_link and one.size <= LARGEST_SOURCE:
                small.append(one)
            elif one.path in touched:
                unreadable[one.path] = "a link" if one.is_link else f"{one.size} bytes"
        for one, content in contents(self.store, small):
            try:
                texts[one.path] = decoded(content)[0]
            except (SyntaxError, UnicodeError, LookupError) as error:
                unreadable[one.path] = str(error)
        return texts, unreadable

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """A private workspace at the base. Raises `WorkspaceUnavailable`."""
        base = prepare(str(self.store), self.base, self.recipe, checkout=self.root)
        if base.recipe.runner == "pytest":  # of failures the probe tells; pytest's texts take long
            options = (*base.recipe.options, "--tb=no")
            base = replace(base, recipe=replace(base.recipe, options=options))
        with open_local(base) as workspace:
            yield workspace


@dataclass(frozen=True)
class PatchedChange(Change):
    """A change that is two patches on a workspace's commit, not a commit of its own."""

    texts: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    """Path -> text before and after, of the files that the patch touches."""

    @property
    def before(self) -> Mapping[str, str]:
        """As the base class has it."""
        return self.texts[0]

    @property
    def after(self) -> Mapping[str, str]:
        """As the base class has it."""
        return self.texts[1]


def open_change(place: Checkout, base: str | None = None, head: str | None = None) -> Change:
    """Return the change from `base` to `head` (None: the working tree as it is).

    `base` None: HEAD where the working tree has changes of Python files that are not committed,
    else where the present branch left the main one. Nothing may differ: then the patch is empty.
    Raises `InputError` (no repository, no such commit, no main branch), `WorkspaceUnavailable`.
    """
    root, recipe = root_and_recipe(place)
    clone = clone_at(root)
    store, now = snapshot(root)
    tip = clone.commit("HEAD")
    after = now if head is None else clone.commit(head)
    if base is not None:
        first, label = clone.commit(base), base
    else:
        first, label = _default_base(clone, store, tip, after)
    try:
        patch = _between(store, first, after)
    except GitFailed as error:
        raise WorkspaceUnavailable(f"{root}: cannot be read by git: {error}") from None
    name = "working tree" if head is None else head
    return Change(root, store, first, after, label, name, recipe, patch, head is None)


def _default_base(clone: Clone, store: Path, tip: str, after: str) -> tuple[str, str]:
    """A stray note beside a finished branch does not hide the branch. That nothing differs is said
    only of a base that is known: HEAD itself is none, unless it is the main branch."""
    dirty = touched_files(_between(store, tip, after)) if after != tip else ()
    if any(path.endswith(".py") for path in dirty):
        return tip, "HEAD"
    known = False
    for main in _MAIN:
        try:
            found = clone.git("merge-base", main, "HEAD").decode().strip()
        except GitFailed:
            continue
        known = True
        if found != tip:
            return found, f"merge base with {main}"
    cut = clone.is_shallow
    known |= not cut and _is_alone(clone)
    parents = clone.git("rev-list", "--max-count=2", "HEAD").count(b"\n") - 1
    if not known or (cut and not parents):
        why = " (shallow clone)" if cut else ""
        raise InputError(
            f"{clone.name}: where the branch left main is not known here{why}: fetch main, or name "
            "what to compare with (--base)"
        )
    return tip, "HEAD"


def _is_alone(clone: Clone) -> bool:
    """Return whether a repository has one branch and no remote: then that is its main one."""
    branches = clone.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
    return len(branches.split()) < 2 and not clone.git("remote").strip()


def _between(store: Path, first: str, second: str) -> str:
    # there, for git reads the attributes of where it is: they make text binary, which hides it
    told = git(*_DIFF, first, second, options=(f"--git-dir={store}",), folder=store)
    return told.decode("utf-8", "surrogateescape")
