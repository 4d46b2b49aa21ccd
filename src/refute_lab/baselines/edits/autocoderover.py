"""AutoCodeRover's form of an edit: ``<file>…</file> <original>…</original> <patched>…</patched>``.

The original is found with white space disregarded, as AutoCodeRover does, and the patched lines are
indented as the lines that they replace (arXiv 2404.05427; one ``<file>`` may be followed by several
pairs). An empty original makes a new file, or adds at the end of one that is there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from refute.issue.edits.tree import EditProblem, Tree
from refute_lab.baselines.edits.hunks import Hunk, HunkLine, apply_hunk

_TAG = re.compile(r"[ \t]*<\s*(/?)\s*(file|original|patched)\s*>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```[\w+-]*\s*$")


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines to find in a file and the lines to put in their place."""

    file: str
    original: str
    patched: str

    def apply(self, tree: Tree) -> Iterator[str]:
        """Edit the tree; what cannot be done is yielded, one line each."""
        try:
            yield from self._apply(tree)
        except EditProblem as e:
            yield f"{self.file}: {e}"

    def _apply(self, tree: Tree) -> Iterator[str]:
        file = self.file
        text = tree.read(file)
        if text is None and file.startswith(("a/", "b/")):
            file = file[2:]
            text = tree.read(file)
        if not self.original.strip():
            new = self.patched.strip("\n") + "\n"
            if text is None:
                tree.write(file, new)
                return
            hunk = Hunk(tuple(HunkLine("+", line) for line in ["", *new.splitlines()]), None)
            tree.write(file, apply_hunk(text, hunk))
            yield f"{file}: no original lines; added at the end"
            return
        if text is None:
            raise EditProblem("no such file")
        old, new_lines = self.original.split("\n"), self.patched.splitlines()
        if [s.rstrip() for s in old] == [s.rstrip() for s in new_lines]:
            raise EditProblem("original and patched are the same")
        tree.write(file, apply_hunk(text, _hunk(old, new_lines)))


def _hunk(old: list[str], new: list[str]) -> Hunk:
    """Both texts as one hunk. Equal lines at both ends are context: they stay as the file has
    them."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Hunk(
        (
            *(HunkLine(" ", s) for s in old[:head]),
            *(HunkLine("-", s) for s in old[head : len(old) - tail]),
            *(HunkLine("+", s) for s in new[head : len(new) - tail]),
            *(HunkLine(" ", s) for s in old[len(old) - tail :]),
        )
    )


def read_replacements(answer: str) -> list[Replacement]:
    """The replacements of an answer, in their order. A tag that is not closed ends at the next."""
    answer = answer.replace("\r\n", "\n")
    if not _TAG.search(answer) and "&lt;" in answer:
        answer = html.unescape(answer)
    found: list[Replacement] = []
    file = original = None
    tags = list(_TAG.finditer(answer))
    for number, tag in enumerate(tags):
        if tag[1]:
            continue
        stop = tags[number + 1].start() if number + 1 < len(tags) else len(answer)
        content = answer[tag.end() : stop]
        if number + 1 == len(tags) or not tags[number + 1][1]:
            content = _until_fence(content)
        match tag[2].lower():
            case "file":
                file, original = _path(content), None
            case "original":
                original = _body(content)
            case _ if file:
                found.append(Replacement(file, original or "", _body(content)))
                original = None
    return found


def _path(content: str) -> str:
    lines = [s for s in content.splitlines() if s.strip() and not _FENCE.match(s)]
    return lines[0].strip().strip("`'\"*") if lines else ""


def _until_fence(content: str) -> str:
    """Of a tag that is not closed: the text up to the fence that ends the example."""
    lines = content.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    inside = bool(filled) and _FENCE.match(lines[filled[0]]) is not None
    closing = [n for n in filled[inside:] if _FENCE.match(lines[n])]
    return "\n".join(lines[: closing[0]] if closing else lines)


def _body(content: str) -> str:
    """The lines between two tags, without blank ones and fences at their ends."""
    lines = [s.rstrip() for s in content.split("\n")]
    while lines and (not lines[0] or _FENCE.match(lines[0])):
        lines.pop(0)
    while lines and (not lines[-1] or _FENCE.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)
