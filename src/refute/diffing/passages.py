"""Where a change speaks of itself: changed tests, change logs and commit messages, as text."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from refute.core.remarks import remark
from refute.diffing.definitions import Definition
from refute.diffing.modules import Module, Modules
from refute.diffing.revisions import FileChange, Revisions
from refute.diffing.statements import compared
from refute.diffing.trees import is_changelog
from refute.errors import reason_to_skip
from refute.function.source import LARGEST_SOURCE
from refute.source.syntax import first_line

__all__ = ["Passage", "passages"]

_MOST_LINES = 20_000
"""Of a file whose lines are compared one by one."""


@dataclass(frozen=True)
class Passage:
    """Lines of a test function, of a change log or of a message that the change made."""

    kind: Literal["test", "changelog", "message"]
    where: str
    """A path, or the message's first line."""
    lines: tuple[tuple[int, str], ...]
    """(line, text): 1-based in the file after the change, or in the message."""
    around: str = ""
    """Of a test: the whole file, which says what its names are."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers in what is around."""
        return frozenset(re.findall(r"\w+", self.around))


def passages(revisions: Revisions, old: Modules, new: Modules) -> tuple[Passage, ...]:
    """All passages: tests first, then change logs, then messages."""
    found: list[Passage] = []
    for change in revisions.tests:
        try:
            found += _tests(change, old, new)
        except Exception as error:
            remark([f"{change.after}: not read for what it says: {reason_to_skip(error)}"])
    for change in revisions.files:
        if change.after is not None and is_changelog(change.after):
            before = "" if change.before is None else _text(old, change.before)
            after = _text(new, change.after).splitlines()
            numbers = _new_lines(before.splitlines(), after)
            lines = tuple((number, after[number - 1]) for number in numbers)
            found.append(Passage("changelog", change.after, lines))
    for message in revisions.messages:
        lines = tuple(enumerate(message.splitlines(), 1))
        found.append(Passage("message", lines[0][1], lines))
    return tuple(found)


def _tests(change: FileChange, old: Modules, new: Modules) -> list[Passage]:
    """Functions of a test file that are new or changed, docstrings aside, and changed lines outside
    of functions."""
    after = None if change.after is None else new.read(change.after)
    if not isinstance(after, Module):
        return []
    before = None if change.before is None else old.read(change.before)
    known = before.found.functions if isinstance(before, Module) else {}
    text = after.text.split("\n")
    before_text = before.text.split("\n") if isinstance(before, Module) else []
    fresh = set(_new_lines(before_text, text))
    found, inside = [], set()
    for name, definition in after.found.functions.items():
        span = _span(definition)
        inside.update(span)
        earlier = known.get(name)
        if earlier is None or _differs(earlier, definition):
            # what the change touched comes first: it is the line to be shown
            numbers = sorted(span, key=lambda number: (number not in fresh, number))
            lines = tuple((number, text[number - 1]) for number in numbers)
            found.append(Passage("test", after.path, lines, after.text))
    rest = tuple((number, text[number - 1]) for number in sorted(fresh - inside))
    return [*found, Passage("test", after.path, rest, after.text)] if rest else found


def _differs(before: Definition, after: Definition) -> bool:
    """Whether what a test demands may differ: hints alone demand nothing."""
    found = compared(before, after)
    return found is not None and found.aspects != ("annotations",)


def _span(definition: Definition) -> list[int]:
    """Line numbers of all of a definition."""
    ends = ((first_line(node), node.end_lineno or node.lineno) for node in definition.nodes)
    return sorted({number for start, end in ends for number in range(start, end + 1)})


def _new_lines(before: list[str], after: list[str]) -> list[int]:
    """Lines that only the text after the change has (1-based)."""
    if max(len(before), len(after)) > _MOST_LINES:
        return []
    start, most = 0, min(len(before), len(after))
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [start + n + 1 for tag, _, _, a, b in codes if tag != "equal" for n in range(a, b)]


def _text(modules: Modules, path: str) -> str:
    try:
        return modules.tree.read(path, LARGEST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return ""
