"""Unified diffs out of a model's answer, however it wrote them.

What stands around a diff is passed over: prose, markdown fences, tags. Of a header, any of
``diff --git``, ``---`` and ``+++`` is enough; without one, a path on a line of its own before the
hunk is taken. Numbers and counts of hunks are hints only: where a hunk goes is decided by the lines
it quotes (`hunks`), and the diff that comes of it is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from refute.issue.edits.tree import EditProblem, Tree
from refute.workspace.patches import split_lines
from refute_lab.baselines.edits.hunks import Hunk, HunkLine, apply_hunk

MOST_HUNKS = 200
"""Of one file: a model that repeats itself without end must not cost hours."""

_HEADER = re.compile(
    r"^@@+\s*(?:-(\d{1,9})(?:,(\d{1,9}))?)?\s*(?:\+(\d{1,9})(?:,(\d{1,9}))?)?\s*(?:@@+)?(.*)$"
)
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)\s*([\w+-]*)\s*(\S*)")
_END_TAG = re.compile(r"^\s*</?(?:patch|diff|answer|solution|response|code)>\s*$", re.IGNORECASE)
_NOISE = re.compile(
    r"^(?:index [0-9a-f]{4,}|(?:new|deleted) file mode|(?:old|new) mode|similarity index"
    r"|dissimilarity index|rename (?:from|to) |copy (?:from|to) )"
)
_PATH_LINE = re.compile(
    r"^[\s#*>-]*(?:(?:in|file|path|filename|modified|create|new file|update)\b[\s:]*)*"
    r"[`'\"*]*((?:[\w.@+-]+/)*[\w.@+-]+\.\w{1,5})[`'\"*]*\s*(?:\(.*\))?:?\s*$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class FileDiff:
    """Change that an answer makes to one file."""

    old: str | None = None
    """Path as the answer writes it; None: not said."""
    new: str | None = None
    made: bool = False
    """It is said to be new (``/dev/null`` before)."""
    deleted: bool = False
    binary: bool = False
    renamed: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def apply(self, tree: Tree) -> Iterator[str]:
        """Edit the tree; what cannot be done is yielded, one line each."""
        try:
            source, target = self._paths(tree)
        except EditProblem as e:
            yield str(e)
            return
        if self.binary:
            yield f"{target}: a binary file is left as it is"
            return
        text = tree.read(source)
        if self.deleted and text is not None:
            tree.write(source, None)
            return
        if text is None and (self.renamed or self.deleted):
            yield f"{source}: no such file"
            return
        done, problems = self._applied(text)
        yield from (f"{target}: {problem}" for problem in problems)
        if done is not None and (done != text or source != target):
            if source != target:
                tree.write(source, None)
            tree.write(target, done)

    def _paths(self, tree: Tree) -> tuple[str, str]:
        """Return the paths before and after, prefixes taken off."""
        old, new = self.old or self.new, self.new or self.old
        if old is None or new is None:
            raise EditProblem("a hunk without a file's name")
        target = _existing(new, ("b/", "a/"), tree)
        return (_existing(old, ("a/", "b/"), tree) if self.renamed else target), target

    def _applied(self, text: str | None) -> tuple[str | None, list[str]]:
        if text is None:
            return self._fresh()
        problems: list[str] = []
        shift = 0
        if len(self.hunks) > MOST_HUNKS:
            problems.append(f"{len(self.hunks)} hunks; those after the {MOST_HUNKS}th are left out")
        for number, hunk in enumerate(self.hunks[:MOST_HUNKS], start=1):
            if self.made and hunk.old_start is None:
                hunk = Hunk(hunk.lines, 0, hunk.ends_bare)
            try:
                result = apply_hunk(text, hunk, shift)
            except EditProblem as e:
                problems.append(f"hunk {number}: {e}")
                continue
            shift += result.count("\n") - text.count("\n")
            text = result
        return text, problems

    def _fresh(self) -> tuple[str | None, list[str]]:
        """The text of a file that is not there yet."""
        problems: list[str] = []
        found: list[str] = []
        bare = False
        for number, hunk in enumerate(self.hunks, start=1):
            quoted = [line for line in hunk.lines if line.mark != "+" and line.text.strip()]
            if any(line.mark == "-" for line in quoted) or (quoted and not self.made):
                problems.append(f"hunk {number}: quotes a file that does not exist")
                continue
            found += [line.restored().text for line in hunk.lines]
            bare = hunk.ends_bare
        if not found and problems:
            return None, problems
        return "\n".join(found) + ("\n" if found and not bare else ""), problems


def _existing(path: str, prefixes: Sequence[str], tree: Tree) -> str:
    """The path without git's prefix, unless only the whole of it is a file."""
    for prefix in prefixes:
        if path.startswith(prefix) and len(path) > len(prefix):
            short = path.removeprefix(prefix)
            return path if tree.read(short) is None and tree.read(path) is not None else short
    tree.read(path)  # complains about a path that leads out of the tree
    return path


def read_unified(answer: str) -> list[FileDiff]:
    """The file edits of an answer, in their order; those without any change are left out."""
    reader = _Reader([line.rstrip("\r\n") for line in split_lines(answer)])
    reader.read()
    return [e for e in reader.edits if e.hunks or e.deleted or e.renamed or e.binary or e.made]


class _Reader:
    """One pass over the lines of an answer."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.edits: list[FileDiff] = []
        self.fenced = False
        self.path: str | None = None
        """A path that stood on a line of its own."""
        self.git_header = False
        """The `FileDiff` at the end comes of a ``diff --git`` line without names of its own yet."""

    def read(self) -> None:
        number = 0
        while number < len(self.lines):
            number = self._line(number)

    def _line(self, number: int) -> int:
        """Read what begins at a line; the number of the line to read next."""
        line = self.lines[number]
        fence = _FENCE.match(line)
        if fence:
            self.fenced = not self.fenced or bool(fence[2])
            if "." in fence[3]:
                self.path = fence[3]
            self.git_header = False
        elif line.startswith("diff --git "):
            names = re.match(r"diff --git (\"[^\"]+\"|\S+)\s+(.+)", line)
            old, new = (_name(names[1]), _name(names[2])) if names else (None, None)
            self._begin(FileDiff(old=old, new=new))
            self.git_header = True
        elif self._is_names(number):
            return self._names(number)
        elif line.startswith("@@"):
            return self._hunk(number)
        elif self.git_header and _NOISE.match(line):
            self._noise(line)
        elif self.git_header and line.startswith(("Binary files", "GIT binary patch")):
            self.edits[-1].binary = True
        elif match := _PATH_LINE.match(line):
            self.path = match[1]
        return number + 1

    def _begin(self, edit: FileDiff) -> None:
        self.edits.append(edit)
        self.git_header = False

    def _noise(self, line: str) -> None:
        edit = self.edits[-1]
        edit.made |= line.startswith("new file mode")
        edit.deleted |= line.startswith("deleted file mode")
        if line.startswith("rename "):
            edit.renamed = True
            name = _name(line.split(" ", 2)[2])
            edit.old, edit.new = (name, edit.new) if "from" in line[:11] else (edit.old, name)

    def _is_names(self, number: int) -> bool:
        """Return whether a file's header stands here: ``---`` and ``+++``, or one of the two."""
        line = self.lines[number]
        if re.match(r"\+\+\+ \S", line):
            return True
        if not re.match(r"--- \S", line):
            return False
        following = self._next(number + 1)
        return following.startswith(("+++", "@@")) or _looks_like_path(line[4:])

    def _next(self, number: int) -> str:
        """The next line that is not blank."""
        return next((s for s in self.lines[number : number + 3] if s.strip()), "")

    def _names(self, number: int) -> int:
        edit = self.edits[-1] if self.git_header else FileDiff()
        if not self.git_header:
            self.edits.append(edit)
        self.git_header = False
        for mark in ("---", "+++"):
            while number < len(self.lines) and not self.lines[number].strip():
                number += 1
            if number >= len(self.lines) or not self.lines[number].startswith(mark + " "):
                continue
            name = _name(self.lines[number][4:])
            if name == "/dev/null":
                edit.made |= mark == "---"
                edit.deleted |= mark == "+++"
                edit.old, edit.new = (
                    (None, edit.new) if mark == "---" else (edit.old or edit.new, None)
                )
            elif mark == "---":
                edit.old = name
            else:
                edit.new = name
            number += 1
        upcoming = self._next(number)
        if upcoming[:1] in ("+", "-", " ") and upcoming.strip() and not upcoming.startswith("---"):
            return self._body(number)  # the hunk's own header is missing
        return number

    def _hunk(self, number: int) -> int:
        match = _HEADER.match(self.lines[number])
        assert match is not None
        if not self.edits or (self.path is not None and self.edits[-1].hunks and self._moved()):
            self._begin(FileDiff(new=self.path))
        self.path = None
        self.git_header = False
        start = int(match[1]) if match[1] else None
        counts = (int(match[2] or 1), int(match[4] or 1)) if match[1] and match[3] else (0, 0)
        anchor = match[5].strip().removesuffix("@@").strip()
        return self._body(number + 1, start, counts, anchor)

    def _moved(self) -> bool:
        edit = self.edits[-1]
        return self.path is not None and not any(
            name is not None and name.endswith(self.path) for name in (edit.old, edit.new)
        )

    def _body(
        self,
        number: int,
        start: int | None = None,
        counts: tuple[int, int] = (0, 0),
        anchor: str = "",
    ) -> int:
        """The lines of a hunk; ends where something else begins."""
        found: list[HunkLine] = []
        bare = False
        old, new = counts
        while number < len(self.lines):
            line = self.lines[number]
            due = old > 0 or new > 0
            if self._ends(number, due):
                break
            if line.startswith("\\"):
                bare = bool(found) and found[-1].mark != "-"
            else:
                found.append(_marked(line))
                old -= found[-1].mark != "+"
                new -= found[-1].mark != "-"
                bare = False
            number += 1
        if any(line.bare for line in found):
            found = [line.restored() for line in found]
        while found and found[-1].mark == " " and not found[-1].text.strip():
            found.pop()
        if any(line.mark != " " for line in found):
            anchor = anchor if len(anchor) > 3 else ""
            self.edits[-1].hunks.append(Hunk(tuple(found), start, bare, anchor))
        return number

    def _ends(self, number: int, due: bool) -> bool:
        """Return whether the hunk ends before this line. `due`: its counts ask for more lines."""
        line = self.lines[number]
        if line.startswith(("diff --git ", "@@", "*** ")) or _END_TAG.match(line):
            return True
        if line.startswith("```"):
            return True
        if line.startswith(("--- ", "+++ ")):
            pair = self.lines[number + 1 : number + 2]
            if line.startswith("+++ "):
                return _looks_like_path(line[4:]) and not due
            return bool(pair) and pair[0].startswith("+++ ") and _looks_like_path(line[4:])
        if self.fenced or due or line[:1] in ("+", "-", " ", "\t", "\\", ""):
            return line == "-- " and not due  # the signature's rule of `git format-patch`
        return True


def _marked(line: str) -> HunkLine:
    """A line of a hunk; one without a mark is context that lost its blank."""
    if line.startswith("+"):
        return HunkLine("+", line[1:])
    if line.startswith("-"):
        return HunkLine("-", line[1:])
    if line.startswith(" ") or not line:
        return HunkLine(" ", line[1:])
    return HunkLine(" ", line, bare=True)


def _name(text: str) -> str:
    """A path as headers write it: quotes, time stamps and remarks taken off."""
    text = text.split("\t")[0].strip()
    text = re.sub(r"\s+\d{4}-\d\d-\d\d[ T].*$", "", text)
    text = re.sub(r"\s+\((?:original|modified|new|old|revision|working copy).*\)$", "", text)
    return text.strip("`'\"* ")


def _looks_like_path(text: str) -> bool:
    name = _name(text)
    return bool(name) and " " not in name and ("/" in name or "." in name)
