"""The files that an answer edits, before and after, and the diff between the two."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator

from refute.workspace.patches import split_lines

Files = Callable[[str], str | None]
"""Path -> the file's text with its own line ends, None where the file does not exist."""

LONGEST_PATH = 1024
_CHECKOUTS = re.compile(r"^/(?:testbed|workspace|repo)/")
"""Folders of the work tree in published containers; models repeat what they saw there."""
_CONTEXT = 3
_LARGE = 2_000
"""Lines from which difflib may pass over lines that are common."""


class EditProblem(ValueError):
    """One edit cannot be made; the message says which and why, on one line."""


def safe_path(path: str) -> str:
    """The path relative to the repository. Raises `EditProblem` where it leads out of the tree.

    Absolute paths, ``..`` and git's own folder are refused; a symbolic link in the tree is for the
    workspace to refuse.
    """
    clean = _CHECKOUTS.sub("", path.strip())
    while clean.startswith("./"):
        clean = clean[2:]
    if not clean or len(clean) > LONGEST_PATH or any(ord(c) < 32 or ord(c) == 127 for c in clean):
        raise EditProblem(f"no usable path: {path[:80]!r}")
    parts = clean.replace("\\", "/").split("/")
    if clean.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:[/\\]", clean):
        raise EditProblem(f"absolute path: {path[:80]!r}")
    if ".." in parts or "" in parts or "." in parts:
        raise EditProblem(f"path is not plain: {path[:80]!r}")
    if any(part.lower().rstrip(". ") == ".git" for part in parts):
        raise EditProblem(f"path in git's own folder: {path[:80]!r}")
    return clean


class Tree:
    """Files as they were and as the edits so far have left them."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._before: dict[str, str | None] = {}
        self._after: dict[str, str | None] = {}

    def read(self, path: str) -> str | None:
        """The text as it is now, None where the file does not exist. Raises `EditProblem`."""
        path = safe_path(path)
        if path not in self._before:
            self._before[path] = self._after[path] = self._files(path)
        return self._after[path]

    def write(self, path: str, text: str | None) -> None:
        """Replace, make or (None) remove a file. Raises `EditProblem`."""
        self.read(path)
        self._after[safe_path(path)] = text

    def moved(self, path: str, line: int) -> int:
        """The number that a line of the file before all edits has now (1-based)."""
        self.read(path)
        path = safe_path(path)
        before, after = self._before[path] or "", self._after[path] or ""
        if before == after:
            return line
        old, new = split_lines(before), split_lines(after)
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > _LARGE)
        for _, start, stop, new_start, new_stop in matcher.get_opcodes():
            if start < line <= stop:
                return min(new_start + line - start, max(new_stop, 1))
        return line + len(new) - len(old)

    def replaced(self) -> Iterator[tuple[str, int]]:
        """The lines that are no longer there as they were: file and number before all edits."""
        for path, before in self._before.items():
            old, new = split_lines(before or ""), split_lines(self._after[path] or "")
            matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > _LARGE)
            for tag, start, stop, _, _ in matcher.get_opcodes():
                if tag in ("replace", "delete"):
                    yield from ((path, number + 1) for number in range(start, stop))

    def diff(self) -> str:
        """All changes as a unified diff that `git apply` reads, files in order of their names."""
        return "".join(
            _file_diff(path, self._before[path], self._after[path])
            for path in sorted(self._before)
            if self._before[path] != self._after[path]
        )


def line_end(text: str) -> str:
    """The line end that most lines of a file have."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf * 2 > text.count("\n") else "\n"


def _file_diff(path: str, before: str | None, after: str | None) -> str:
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    head = [f"diff --git {old} {new}\n"]
    if before is None:
        head.append("new file mode 100644\n")
        old = "/dev/null"
    if after is None:
        head.append("deleted file mode 100644\n")
        new = "/dev/null"
    hunks = list(_hunks(split_lines(before or ""), split_lines(after or "")))
    if hunks:
        head += [f"--- {_tabbed(old)}\n", f"+++ {_tabbed(new)}\n"]
    return "".join([*head, *hunks])


def _hunks(before: list[str], after: list[str]) -> Iterable[str]:
    lines = difflib.unified_diff(before, after, n=_CONTEXT)
    for number, line in enumerate(lines):
        if number < 2:  # difflib's own header
            continue
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """A name as git writes it where it holds a quote or a backslash."""
    if '"' not in name and "\\" not in name:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tabbed(name: str) -> str:
    """With a blank in it a name ends at a tab."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name
