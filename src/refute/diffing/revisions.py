"""Two revisions of a user's repository, each as a folder of files, and what lies between them.

The repository is only read, and nothing that it configures is run: git works on a folder of our
own that borrows the repository's objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from refute.core.storage import ScratchFolder
from refute.diffing.trees import (
    Entry,
    changed_submodules,
    is_test,
    list_tree,
    path_of,
    write_tree,
)  # fmt: skip
from refute.errors import InputError, PatchRejected, WorkspaceUnavailable
from refute.workspace import rooted_files
from refute.workspace.repositories import Clone, GitFailed, git
from refute.workspace.snapshot import (
    IDENTITY,
    borrow_objects,
    checkout_root,
    clone_at,
    commit_index,
    snapshot,
    with_built,
)

_MOST_MESSAGES = 200
_MOST_RENAMES = 1000


class NoDifference(InputError):
    """Both sides are the same."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One revision as files."""

    root: Path
    """A folder of our own, or the checkout itself: only to be read."""
    label: str
    """Name for people: the revision as it was given, "working tree", "patched"."""
    commit: str
    """Full hash of a commit or tree that holds its content; not in the user's repository where it
    is the working tree or a patch's."""
    files: tuple[str, ...]
    """Regular files, tracked, new and not ignored, or written by a build; no link or submodule."""

    def read(self, path: str, most_bytes: int) -> bytes:
        """A file's content. Raises `OSError`, also for one that leads out of the tree."""
        return rooted_files.take(str(self.root), path, most_bytes)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A regular file that differs; both paths where it was changed or renamed."""

    before: str | None
    """None: it is new."""
    after: str | None
    """None: it is gone."""


@dataclass(frozen=True)
class Revisions:
    """The two revisions compared. Their folders last as long as the context that gave them."""

    repo: Path
    """Root of the user's checkout."""
    before: Tree
    after: Tree
    files: tuple[FileChange, ...]
    """In the order of their paths; git follows renames."""
    messages: tuple[str, ...] = ()
    """Of the commits after `before` up to `after`, newest first, no more than 200."""
    submodules: tuple[str, ...] = ()
    """Paths of submodules that differ; their files are in neither tree."""

    @cached_property
    def tests(self) -> tuple[FileChange, ...]:
        """The Python files of tests among the files."""
        return tuple(c for c in self.files if is_test(c.after or c.before or ""))


@contextmanager
def open_revisions(repo: Path, spec: str | None = None) -> Iterator[Revisions]:
    """The two sides of `spec`, for as long as the context lasts.

    None: HEAD against the working tree, with changes that are not committed and new files that are
    not ignored. `BASE`: that commit against the working tree. `BASE..HEAD`: two commits, each HEAD
    where left out. `BASE...HEAD`: their merge base against the second. Raises `InputError` (no
    repository, no such commit, no difference), `WorkspaceUnavailable`.
    """
    clone = clone_at(repo)
    root = checkout_root(repo)
    first, dots, second = _parts(spec)
    base = clone.commit(first)
    if dots:
        head, label = clone.commit(second), second
    else:
        head, label = "", "working tree"
    if dots == "...":
        base, first = _merge_base(clone, base, head, spec or ""), f"merge base of {first}"
    with _scratch(clone) as (scratch, store):
        if dots:
            after, tip = head, head
        else:
            store, after = snapshot(root)
            tip = clone.commit("HEAD")
        _differ(store, base, after, f"{first} and {label}")
        old = _written(root, store, base, scratch / "before", first)
        if dots:
            new = _written(root, store, after, scratch / "after", label)
        else:
            new = Tree(root, label, after, _regular(list_tree(store, after)))
        files = _changed_files(store, base, after)
        submodules = changed_submodules(store, base, after)
        if not files and submodules:
            named = ", ".join(submodules)
            raise InputError(f"only submodules differ, and are not looked at: {named}")
        messages = messages_between(clone.git_dir, base, tip)
        yield Revisions(root, old, new, files, messages, submodules)


@contextmanager
def open_patched(
    repo: Path, base: str | None, patch: str, other: str | None = None
) -> Iterator[Revisions]:
    """A revision against itself with a unified diff applied, strictly, all of it or nothing.

    `base`: a commit; None: the working tree as it is. `other`: a second diff, against the same; the
    revision with the first is then compared with the one with this. Raises `InputError`,
    `PatchRejected`, `WorkspaceUnavailable`.
    """
    clone = clone_at(repo)
    root = checkout_root(repo)
    known = None if base is None else clone.commit(base)
    with _scratch(clone) as (scratch, store):
        if known is None:
            borrowed, known = snapshot(root)
            _borrow_also(store, borrowed)
        after = _apply(store, known, patch, scratch / "index")
        if other is not None:
            first, after = after, _apply(store, known, other, scratch / "other")
            _differ(store, first, after, "the two patched trees")
            old = _written(root, store, first, scratch / "before", "first patch")
            new = _written(root, store, after, scratch / "after", "second patch")
            yield Revisions(root, old, new, _changed_files(store, first, after))
            return
        _differ(store, known, after, "the tree and the patched tree")
        if base is None:
            old = Tree(root, "working tree", known, _regular(list_tree(store, known)))
        else:
            old = _written(root, store, known, scratch / "before", base)
        new = _written(root, store, after, scratch / "after", "patched")
        yield Revisions(root, old, new, _changed_files(store, known, after))


def commit_of(repo: Path, revision: str) -> str:
    """The full hash of a commit that people name. Raises `InputError`: no repository, no commit."""
    return clone_at(repo).commit(revision)


def _parts(spec: str | None) -> tuple[str, str, str]:
    """The first revision, the dots between, the second one."""
    if not spec:
        return "HEAD", "", ""
    dots = "..." if "..." in spec else ".." if ".." in spec else ""
    if not dots:
        return spec, "", ""
    first, _, second = spec.partition(dots)
    return first or "HEAD", dots, second or "HEAD"


def _merge_base(clone: Clone, first: str, second: str, spec: str) -> str:
    try:
        return clone.git("merge-base", first, second).decode().strip()
    except GitFailed:
        hint = "the clone is shallow: fetch it" if clone.is_shallow else "write `..`"
        raise InputError(f"{spec}: the two have no commit in common; {hint}") from None


@contextmanager
def _scratch(clone: Clone) -> Iterator[tuple[Path, Path]]:
    """A private folder, and in it a git folder that borrows the clone's objects."""
    with ScratchFolder() as name:
        scratch = Path(name).resolve()
        try:
            borrow_objects(clone, scratch / "git")
            yield scratch, scratch / "git"
        except GitFailed as error:
            raise WorkspaceUnavailable(f"{clone.name}: cannot be read by git: {error}") from None


def _borrow_also(store: Path, other: Path) -> None:
    with (store / "objects" / "info" / "alternates").open("a") as file:
        file.write(f"{other / 'objects'}\n")


def _apply(store: Path, base: str, patch: str, index: Path) -> str:
    """The commit that `base` becomes, made without any file of it."""
    options, env = (f"--git-dir={store}",), {"GIT_INDEX_FILE": str(index)}
    git("read-tree", base, options=options, env=env)
    if not patch.strip():
        raise PatchRejected("the patch is empty")
    try:
        data = (patch if patch.endswith("\n") else patch + "\n").encode("utf-8", "surrogateescape")
        words = ("apply", "--cached", "--whitespace=nowarn", "-")
        git(*words, options=options, env=env, given=data)
    except (GitFailed, UnicodeEncodeError) as error:
        raise PatchRejected(str(error).removeprefix("error: ")) from None
    return commit_index(options, {**env, **IDENTITY}, base)


def _differ(store: Path, before: str, after: str, sides: str) -> None:
    options = (f"--git-dir={store}",)
    words = ("rev-parse", "--verify", f"{before}^{{tree}}"), ("rev-parse", f"{after}^{{tree}}")
    if git(*words[0], options=options) == git(*words[1], options=options):
        raise NoDifference(f"no difference between {sides}; name others, as BASE or BASE..HEAD")


def _written(root: Path, store: Path, commit: str, folder: Path, label: str) -> Tree:
    """A commit with what a build has written into the checkout."""
    built = commit
    with contextlib.suppress(WorkspaceUnavailable):  # paths that no git writes
        built = with_built(store, commit, root)
    entries = list_tree(store, built)
    write_tree(store, entries, folder)
    return Tree(folder, label, commit, _regular(entries))


def _regular(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    return tuple(entry.path for entry in entries if not entry.is_link)


def _changed_files(store: Path, before: str, after: str) -> tuple[FileChange, ...]:
    words = ("diff-tree", "-r", "-z", "--raw", "-M", f"-l{_MOST_RENAMES}", "--no-ext-diff")
    rows = iter(git(*words, before, after, options=(f"--git-dir={store}",)).split(b"\0"))
    found = []
    for row in rows:
        if not row.startswith(b":"):
            continue
        old_mode, new_mode, _, _, status = row[1:].split()
        first = path_of(next(rows))
        second = path_of(next(rows)) if status[:1] in (b"R", b"C") else first
        old = first if old_mode.startswith(b"100") else None
        new = second if new_mode.startswith(b"100") else None
        if old is not None or new is not None:
            found.append(FileChange(old, new))
    return tuple(found)


def messages_between(git_dir: Path, before: str, after: str) -> tuple[str, ...]:
    """Messages of the commits that `after` has and `before` has not, newest first."""
    words = ("log", "-z", "--format=%B", "--no-notes", "--encoding=UTF-8", "--no-mailmap")
    which = (f"--max-count={_MOST_MESSAGES}", f"{before}..{after}", "--")
    texts = git(*words, *which, options=(f"--git-dir={git_dir}",)).decode("utf-8", "replace")
    return tuple(text.strip() for text in texts.split("\0") if text.strip())
