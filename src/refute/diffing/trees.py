"""The files of a commit, written into a folder of our own by content alone, and what each holds.

No checkout: attributes, filters, hooks and `export-subst` of the repository have no say, and no
path or link of a hostile tree leads out of the folder. Which files hold code that is compared,
which hold tests and which tell of changes is judged by the path alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.errors import WorkspaceUnavailable
from refute.function.project import TEST_FILE
from refute.workspace import rooted_files
from refute.workspace.repositories import git

_CHANGELOG = re.compile(r"(?i)(change(s|log|_?notes)?|history|news|release[-_ ]?notes|whats?new)\b")
_FRAGMENTS = frozenset({"newsfragments", "changelog.d", "changes", "changelog", "news", "whatsnew"})
_PROSE = (".md", ".rst", ".txt")


def is_test(path: str) -> bool:
    """Return whether a Python file holds tests or their helpers."""
    *folders, name = path.split("/")
    if not name.endswith(".py"):
        return False
    if TEST_FILE.fullmatch(name) or name == "conftest.py":
        return True
    return not {"test", "tests"}.isdisjoint(folders)


def is_source(path: str) -> bool:
    """Return whether a Python file holds code of the project: neither tests nor scripts that build
    it or its documents."""
    *folders, name = path.split("/")
    if not name.endswith(".py") or is_test(path) or name in ("setup.py", "noxfile.py"):
        return False
    if name == "conf.py" and not {"doc", "docs"}.isdisjoint(folders):
        return False
    return not any(part.startswith(".") for part in folders)


def is_changelog(path: str) -> bool:
    """Return whether a file is a change log."""
    *folders, name = path.lower().split("/")
    if not name.endswith(".py") and not _FRAGMENTS.isdisjoint(folders):
        return True
    return bool(_CHANGELOG.match(name)) and ("." not in name or name.endswith(_PROSE))


_BATCH = 64 << 20
"""Bytes of content that are asked of git at once."""
_LARGEST_TREE = 4 << 30
"""Bytes of all files together."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a symbolic link of a commit's tree."""

    path: str
    """Relative, with `/`; what is not UTF-8 in it as surrogates."""
    mode: str
    """As git has it: 100644, 100755 or 120000 (a link)."""
    hash: str
    size: int
    """Bytes."""

    @property
    def is_link(self) -> bool:
        """Return whether it is a symbolic link, whose content is its target."""
        return self.mode == "120000"


def path_of(name: bytes) -> str:
    """A path as git writes it with `-z`."""
    return name.decode("utf-8", "surrogateescape")


def list_tree(git_dir: Path, commit: str) -> tuple[Entry, ...]:
    """Files and links of a commit or tree, in git's order, without submodules and without paths
    that no git writes (`..`, `.git`). Raises `GitFailed`,
    `WorkspaceUnavailable` (a clone without all objects)."""
    found = []
    words = ("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    for row in git(*words, options=(f"--git-dir={git_dir}",)).split(b"\0"):
        facts, _, name = row.partition(b"\t")
        if not name:
            continue
        mode, kind, hash_, size = facts.decode().split()
        path = path_of(name)
        if kind != "blob" or not _is_inside(path):
            continue
        if not size.isdigit():
            raise WorkspaceUnavailable(f"the repository lacks {path!r}; fetch it whole")
        found.append(Entry(path, mode, hash_, int(size)))
    return tuple(found)


def changed_submodules(git_dir: Path, before: str, after: str) -> tuple[str, ...]:
    """Paths of submodules that are another commit in the second of two commits or trees, sorted;
    their files are in neither tree. Raises `GitFailed`."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none")
    rows = git(*words, before, after, options=(f"--git-dir={git_dir}",)).split(b"\0")
    pairs = zip(rows[::2], rows[1::2], strict=False)
    return tuple(path_of(path) for facts, path in pairs if b"160000" in facts.split()[:2])


def _is_inside(path: str) -> bool:
    return all(part.lower() not in ("", ".", "..", ".git") for part in path.split("/"))


def write_tree(git_dir: Path, entries: Sequence[Entry], folder: Path) -> None:
    """Write the entries below `folder`, which is made. Raises `GitFailed`, `WorkspaceUnavailable`.

    Files come before links, so that none is written through a link; links that lead out of the
    folder are left out, and so are files of more than 64 MiB. An empty `.git` marks the root of
    the project, as in a checkout.
    """
    if sum(entry.size for entry in entries) > _LARGEST_TREE:
        raise WorkspaceUnavailable(f"a tree of more than {_LARGEST_TREE >> 30} GiB")
    (folder / ".git").mkdir(parents=True)
    files = [e for e in entries if not e.is_link and e.size <= rooted_files.MOST_BYTES]
    try:
        for entry, content in contents(git_dir, files):
            _write(folder, entry, content)
        links = []
        for entry, content in contents(git_dir, [e for e in entries if e.is_link]):
            path = os.path.join(folder, entry.path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(os.fsdecode(content), path)
            links.append(path)
    except (OSError, ValueError) as error:
        raise WorkspaceUnavailable(f"a tree cannot be written: {error}") from None
    root = os.path.realpath(folder)
    outside = [p for p in links if not f"{os.path.realpath(p)}/".startswith(f"{root}/")]
    for path in outside:
        os.unlink(path)


def _write(folder: Path, entry: Entry, content: bytes) -> None:
    path = os.path.join(folder, entry.path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = 0o755 if entry.mode == "100755" else 0o644
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)


def contents(git_dir: Path, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Each entry with its content. Raises `GitFailed`, `WorkspaceUnavailable`."""
    group: list[Entry] = []
    size = 0
    for entry in entries:
        if group and size + entry.size > _BATCH:
            yield from _group(git_dir, group)
            group, size = [], 0
        group.append(entry)
        size += entry.size
    yield from _group(git_dir, group)


def _group(git_dir: Path, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    if not entries:
        return
    wanted = "".join(f"{entry.hash}\n" for entry in entries).encode()
    data = git("cat-file", "--batch", options=(f"--git-dir={git_dir}",), given=wanted)
    at = 0
    for entry in entries:
        end = data.index(b"\n", at)
        facts = data[at:end].split()
        if len(facts) != 3:
            raise WorkspaceUnavailable(f"the repository lacks {entry.path!r}; fetch it whole")
        start = end + 1
        at = start + int(facts[2]) + 1
        yield entry, data[start : at - 1]
