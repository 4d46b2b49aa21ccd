"""Edits out of a model's answer, in the forms of the papers' baselines.

>>> read_edits(answer, "diff").apply(read)           # read: path -> text or None
Applied(patch="diff --git ...", problems=("tests/test_a.py: hunk 1: ...",))
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from refute.issue import edits
from refute.issue.edits.custom import blocks_as_written
from refute.issue.edits.tree import EditProblem, Tree, line_end
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


# -- unified ---------------------------------------------------------------------------------------
# Unified diffs out of a model's answer, however it wrote them.


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


# -- autocoderover ---------------------------------------------------------------------------------
# AutoCodeRover's form of an edit: ``<file>…</file> <original>…</original> <patched>…</patched>``.


_TAG = re.compile(r"[ \t]*<\s*(/?)\s*(file|original|patched)\s*>", re.IGNORECASE)
_TAG_FENCE = re.compile(r"^\s*```[\w+-]*\s*$")


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
    lines = [s for s in content.splitlines() if s.strip() and not _TAG_FENCE.match(s)]
    return lines[0].strip().strip("`'\"*") if lines else ""


def _until_fence(content: str) -> str:
    """Of a tag that is not closed: the text up to the fence that ends the example."""
    lines = content.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    inside = bool(filled) and _TAG_FENCE.match(lines[filled[0]]) is not None
    closing = [n for n in filled[inside:] if _TAG_FENCE.match(lines[n])]
    return "\n".join(lines[: closing[0]] if closing else lines)


def _body(content: str) -> str:
    """The lines between two tags, without blank ones and fences at their ends."""
    lines = [s.rstrip() for s in content.split("\n")]
    while lines and (not lines[0] or _TAG_FENCE.match(lines[0])):
        lines.pop(0)
    while lines and (not lines[-1] or _TAG_FENCE.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)


# -- edits -----------------------------------------------------------------------------------------


Form = Literal["diff", "custom", "autocoderover"]
"""`diff`: a unified diff (SWT-Bench's `fuzzy`); `custom`: SWT-Bench's own block form (section 4.2);
`autocoderover`: ``<file><original><patched>``."""

FORMS: tuple[str, ...] = get_args(Form)


def read_edits(answer: str, form: Form, strict: bool = False) -> edits.Edits:
    """The edits in a model's answer. An answer without any gives `Edits` that change nothing.

    `strict`: a custom diff is read as the reference reads it, and what that refuses is a problem.
    """
    match form:
        case "diff":
            return edits.Edits(read_unified(answer))
        case "custom":
            return edits.Edits(blocks_as_written(answer)) if strict else edits.read_edits(answer)
        case "autocoderover":
            return edits.Edits(read_replacements(answer))
