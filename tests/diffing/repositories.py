"""Small git repositories that tests make."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path

from refute.diffing.changes import ChangedFunction, Changes, changed
from refute.diffing.revisions import Revisions, open_revisions
from tests.workspace.shops import git


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write files; None: the file goes away."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(folder: Path, files: Mapping[str, str | None], message: str = "a change") -> str:
    """Commit files, and all that is not committed, in a repository, which is made if there is none;
    the hash."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@contextmanager
def two(
    folder: Path,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    message: str = "x",
):
    """The revisions of a repository of two commits."""
    commit(folder, before, "the base")
    commit(folder, after, message)
    with open_revisions(folder, "HEAD~1..HEAD") as revisions:
        yield revisions


def changes_of(
    folder: Path,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    message: str = "x",
) -> Changes:
    """What is said to differ between two commits."""
    with two(folder, before, after, message) as revisions:
        return changed(revisions)


def one(changes: Changes, qualname: str) -> ChangedFunction:
    """The changed function of a name."""
    return next(f for f in changes.functions if f.qualname == qualname)


__all__ = ["Revisions", "changes_of", "commit", "git", "one", "two", "write"]
