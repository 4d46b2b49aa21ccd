"""Hunks of a unified diff, as a model wrote them, applied to a file as it is.

A model quotes lines badly. Their place is found in steps, strictest first; a step is taken only
where no earlier one finds a place, and of several places the one nearest to the number that the
model gave is taken:

1. the lines are there exactly;
2. but for white space at their ends;
3. but for indentation and the amount of white space inside;
4. similar: every line at least `LINE_LIKENESS` alike and the whole at least `LIKENESS`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from refute.issue.edits.tree import EditProblem, line_end
from refute.workspace.patches import split_lines

LIKENESS = 0.9
"""Mean similarity of the lines (difflib's ratio) from which a place is taken."""
LINE_LIKENESS = 0.6
LARGEST_FUZZY = 2_000_000
"""Lines of the file times lines quoted: above it, similarity is not tried."""


def locate(
    file: Sequence[str],
    quoted: Sequence[str],
    near: int | None = None,
    *,
    similar: bool = True,
) -> int | None:
    """The line of `file` at which `quoted` stands (without line ends, 0-based), or None.

    `near`: 0-based line number at which it is expected; None: the first place is taken. `similar`:
    whether to take step 4. Quoted lines that are all blank have no place.
    """
    if not any(line.strip() for line in quoted) or len(quoted) > 2 * len(file) + 2:
        return None
    forms: tuple[Callable[[str], str], ...] = (str, str.rstrip, _spaceless)
    for form in forms:
        place = _same([form(s) for s in file], [form(s) for s in quoted], near)
        if place is not None:
            return place
    return _similar(file, quoted, near) if similar else None


def _spaceless(line: str) -> str:
    return " ".join(line.split())


def _same(file: Sequence[str], quoted: Sequence[str], near: int | None) -> int | None:
    # The rarest line is looked for first: a long quotation of common lines stays linear.
    counts: dict[str, int] = {}
    for line in file:
        counts[line] = counts.get(line, 0) + 1
    anchor = min(range(len(quoted)), key=lambda i: counts.get(quoted[i], 0))
    size, starts = len(quoted), []
    for number, line in enumerate(file):
        start = number - anchor
        if line == quoted[anchor] and start >= 0 and file[start : start + size] == list(quoted):
            starts.append(start)
    return _nearest(starts, near) if starts else None


def _similar(file: Sequence[str], quoted: Sequence[str], near: int | None) -> int | None:
    if len(file) * len(quoted) > LARGEST_FUZZY or len(quoted) > len(file):
        return None
    wanted, there = [_spaceless(s) for s in quoted], [_spaceless(s) for s in file]
    weight = sum(1 for s in wanted if s)
    known: dict[tuple[str, str], float] = {}
    best: dict[int, float] = {}
    for start in range(len(there) - len(wanted) + 1):
        total = 0.0
        missing = (1 - LIKENESS) * weight + 1e-9
        for line, other in zip(wanted, there[start : start + len(wanted)], strict=True):
            if not line:
                continue
            like = 1.0 if line == other else _likeness(line, other, known)
            missing -= 1 - like
            if like < LINE_LIKENESS or missing < 0:
                break
            total += like
        else:
            best[start] = total
    if not best:
        return None
    top = max(best.values())
    return _nearest([s for s, total in best.items() if total >= top - 1e-9], near)


def _likeness(line: str, other: str, known: dict[tuple[str, str], float]) -> float:
    if not other or min(len(line), len(other)) * 3 < max(len(line), len(other)):
        return 0.0
    key = (line, other)
    if key not in known:
        matcher = difflib.SequenceMatcher(None, line[:400], other[:400], autojunk=False)
        quick = matcher.quick_ratio()
        known[key] = matcher.ratio() if quick >= LINE_LIKENESS else quick
    return known[key]


def _nearest(starts: Sequence[int], near: int | None) -> int:
    return starts[0] if near is None else min(starts, key=lambda s: (abs(s - near), s))


_MOST_TRIMS = 16
_WORD = re.compile(r"\w{3}")


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk."""

    mark: Literal[" ", "-", "+"]
    text: str
    """Without mark and line end."""
    bare: bool = False
    """It stood there without a mark."""

    def restored(self) -> HunkLine:
        """The line as it is where marks of context were forgotten: what was taken for the mark may
        be a blank of the line's own, by which it is indented by an even number of blanks."""
        longer = f" {self.text}"
        even = (len(longer) - len(longer.lstrip(" "))) % 2 == 0
        if self.mark != " " or self.bare or not self.text.strip() or not even:
            return self
        return HunkLine(" ", longer)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines to find and what to do with them."""

    lines: tuple[HunkLine, ...]
    old_start: int | None = None
    """1-based line where it stands, as the model says; None: it does not say."""
    ends_bare: bool = False
    """No line feed after its last line ("\\ No newline at end of file")."""
    anchor: str = ""
    """Text behind the second ``@@``: a line before the hunk."""

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [line.text for line in self.lines if line.mark != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that are there afterwards."""
        return [line.text for line in self.lines if line.mark != "-"]


def apply_hunk(text: str, hunk: Hunk, shift: int = 0) -> str:
    """The file's text with the hunk applied; bytes that it does not touch stay.

    `shift`: how many lines earlier hunks have added. Raises `EditProblem`: the lines are not there,
    or the hunk changes nothing.
    """
    if all(line.mark == " " for line in hunk.lines):
        raise EditProblem("hunk changes nothing")
    lines = split_lines(text)
    bare = [line.rstrip("\r\n") for line in lines]
    near = None if hunk.old_start is None else max(0, hunk.old_start - 1 + shift)
    if near is None and hunk.anchor:
        near = _line_of(bare, hunk.anchor)
    if not any(s.strip() for s in hunk.old):
        return _inserted(lines, hunk, near, text)
    for lead, tail in _trims(hunk):
        core = hunk.lines[lead : len(hunk.lines) - tail]
        quoted = [line.text for line in core if line.mark != "+"]
        start = None if near is None else near + lead
        place = locate(bare, quoted, start, similar=lead + tail == 0)
        if place is not None:
            return _replaced(lines, core, place, text, hunk.ends_bare and not tail)
    quoted_line = next((s.strip() for s in hunk.old if s.strip()), "")
    raise EditProblem(f"lines are not in the file, the first is {quoted_line[:60]!r}")


def _trims(hunk: Hunk) -> list[tuple[int, int]]:
    """Yield numbers of context lines to leave off at both ends, none first (as `patch`'s fuzz).

    At least one line with a word in it stays to say where the hunk belongs.
    """
    marks = [line.mark for line in hunk.lines]
    changed = [n for n, mark in enumerate(marks) if mark != " "]
    lead, tail = changed[0], len(marks) - 1 - changed[-1]
    found = []
    for total in range(lead + tail + 1):
        for first in range(min(lead, total) + 1):
            last = total - first
            rest = hunk.lines[first : len(marks) - last]
            if last <= tail and (total == 0 or _tells(rest)):
                found.append((first, last))
    return found[:_MOST_TRIMS]


def _tells(lines: Sequence[HunkLine]) -> bool:
    return any(line.mark != "+" and _WORD.search(line.text) for line in lines)


def _replaced(
    lines: Sequence[str], core: Sequence[HunkLine], start: int, text: str, bare: bool
) -> str:
    end = line_end(text)
    indents = _indents(lines, core, start)
    result, at = list(lines[:start]), start
    for line in core:
        if line.mark == "+":
            result.append(_indented(line.text, indents) + end)
            continue
        result += [lines[at]] * (line.mark == " ")
        at += 1
    if bare and core[-1].mark == "+" and at >= len(lines):
        result[-1] = result[-1].removesuffix(end)
    return _joined([*result, *lines[at:]], end)


def _inserted(lines: Sequence[str], hunk: Hunk, near: int | None, text: str) -> str:
    """Lines with nothing to hold on to go where the number says, else to the end."""
    at = len(lines) if near is None else min(near, len(lines))
    if hunk.old_start == 0:
        at = len(lines)  # "a new file", but there is one: after what it holds
    elif at < len(lines):
        # The number of a hunk without old lines is that of the line before it.
        at = min(len(lines), at + 1) if not hunk.old else at
    end = line_end(text)
    added = [s + end for s in (line.text for line in hunk.lines if line.mark == "+")]
    return _joined([*lines[:at], *added, *lines[at:]], end)


def _joined(lines: list[str], end: str) -> str:
    """The lines as text; one that lost its place as the bare last line gets an end."""
    for number, line in enumerate(lines[:-1]):
        if not line.endswith("\n"):
            lines[number] = line + end
    return "".join(lines)


def _indents(lines: Sequence[str], core: Sequence[HunkLine], start: int) -> dict[str, str]:
    """The hunk's indentations -> the file's; nothing where most of its lines are indented right."""
    quoted = [line.text for line in core if line.mark != "+"]
    pairs = [
        (_indent(said), _indent(here))
        for said, here in zip(quoted, lines[start:], strict=False)
        if said.strip()
    ]
    wrong = sum(here != there for here, there in pairs)
    return dict(pairs) if wrong * 2 > len(pairs) else {}


def _indented(line: str, indents: dict[str, str]) -> str:
    """An added line at the depth that the quoted lines around it turned out to have."""
    own = _indent(line)
    if not indents or not line.strip():
        return line
    if own in indents:
        return indents[own] + line.lstrip()
    shorter = [here for here in indents if own.startswith(here)]
    if shorter:
        here = max(shorter, key=len)
        return indents[here] + line[len(here) :]
    here = min(indents, key=len)
    there = indents[here]
    return there[: max(0, len(there) - (len(here) - len(own)))] + line.lstrip()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _line_of(lines: Sequence[str], anchor: str) -> int | None:
    wanted = anchor.strip()
    return next((n for n, line in enumerate(lines) if line.strip() == wanted), None)
