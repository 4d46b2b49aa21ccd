"""Edits out of a model's answer, and the diff that comes of them.

>>> edits = read_edits(answer)
>>> edits.apply(read)           # read: path -> text or None
Applied(patch="diff --git ...", problems=("tests/test_a.py: rewrite: ...",))

It is read tolerantly: what is wrong with one edit is reported and the others are still
made. The patch is a unified diff written anew from the files before and after, so its numbers are
right and every byte that no edit touches stays. It is valid by construction against the files that
`read` gave; `git apply` (`Workspace.apply`) has the last word. Answers are hostile text: no path
leads out of the tree, and nothing of them is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from refute.issue.edits.custom import Block, read_blocks
from refute.issue.edits.tree import EditProblem, Files, Tree

__all__ = ["Applied", "EditProblem", "Edits", "Files", "read_edits"]

MOST_EDITS = 200
"""Of one answer: a model that repeats itself without end must not cost hours."""


class FileEdit(Protocol):
    """One edit of an answer: a block; in the lab also a file's hunks, a replacement."""

    def apply(self, tree: Tree) -> Iterator[str]:
        """Edit the tree; what cannot be done is yielded, one line each."""
        ...


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of an answer's edits."""

    patch: str
    """Unified diff; "": nothing is changed."""
    problems: tuple[str, ...] = ()
    """One line for each thing that could not be done, or not as it was said."""


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of one answer, in their order."""

    edits: Sequence[FileEdit]

    def apply(self, files: Files) -> Applied:
        """Apply to files, which `files` reads: path -> text with its own line ends, or None."""
        tree = Tree(files)
        problems: list[str] = []
        if not self.edits:
            problems.append("the answer holds no edit")
        if len(self.edits) > MOST_EDITS:
            problems.append(f"{len(self.edits)} edits; those after the {MOST_EDITS}th are left out")
        for edit in self.edits[:MOST_EDITS]:
            try:
                problems.extend(edit.apply(tree))
            except EditProblem as e:
                problems.append(str(e))
        problems += _clashes(self.edits[:MOST_EDITS], files)
        return Applied(tree.diff(), tuple(problems))


def _clashes(edits: Sequence[FileEdit], files: Files) -> Iterator[str]:
    """Lines that two blocks of a custom diff replace: what the first makes of them is lost."""
    blocks = [one for one in edits if isinstance(one, Block) and not one.strict]
    taken: dict[tuple[str, int], int] = {}
    for number, block in enumerate(blocks if len(blocks) > 1 else ()):
        tree = Tree(files)
        try:
            list(block.apply(tree))
        except EditProblem:
            continue
        for place in tree.replaced():
            if taken.setdefault(place, number) != number:
                yield f"{place[0]}: line {place[1]} is replaced by two blocks"
                break


def read_edits(answer: str) -> Edits:
    """The custom diff in a model's answer. An answer without any gives `Edits` that change
    nothing."""
    return Edits(read_blocks(answer))
