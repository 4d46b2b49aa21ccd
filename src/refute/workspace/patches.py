"""Read unified diffs: the files that they touch, the lines that they change, the tests among them.

The scanner counts lines as the hunk headers say, so a removed line ``-- a/x`` (``--- a/x`` in the
diff) is never taken for a header. It reads git's forms (quoted names, renames, copies, mode
changes, binary files) and plain ``---``/``+++`` diffs without a ``diff --git`` line. It judges
nothing: whether a diff applies is for `git apply` to say.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_TEST_WORDS = frozenset({"test", "tests", "e2e", "testing"})
_RUNNER_FILES = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"}
    | {"setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "pyvenv.cfg"}
)
"""Files that decide how tests run; what else stands in them says how to install and to lint, which
is not done again for a fix."""
_INSTALLED = re.compile(r"\.(?:egg-info|dist-info|egg-link)(?:/|$)|\.pth$")
"""Files that an installation leaves: it names plugins and modules that are imported at the
start."""
_OF_TESTS = re.compile(
    r"\b(_?pytest|unittest|doctest|conftest|AssertionRewriter|sys\.modules|sys\.argv|builtins"
    r"|sys\._getframe|sys\.settrace|sys\.setprofile|currentframe|inspect\.stack|gc\.get_\w+|ctypes)\b"
)
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The part of a diff that is about one file."""

    old: str | None
    """Path before the change; None: the file is new."""
    new: str | None
    """Path after it; None: the file is deleted."""
    text: str
    """This part as it stands in the diff."""
    removed: tuple[int, ...] = ()
    """1-based line numbers of removed lines, in the file before the change."""
    added: tuple[int, ...] = ()
    """1-based line numbers of added lines, in the file after it."""
    binary: bool = False

    @property
    def path(self) -> str:
        """The path after the change, or the one before it of a deleted file."""
        return self.new if self.new is not None else self.old or ""


def is_test_file(path: str) -> bool:
    """SWE-bench's rule: one of the words test, tests, e2e, testing is in the path.

    Words are what lies between blanks, ``_``, ``/`` and ``.``; so ``tests/x.txt``, ``test_x.py``
    and ``django/test/client.py`` are test files, ``src/_pytest/x.py`` and ``contest.py`` are not.
    """
    return not _TEST_WORDS.isdisjoint(re.split(r"[ _/.]", path.lower()))


def split_tests(patch: str) -> tuple[str, str]:
    """The parts of a diff that touch test files, and the others, each a diff of its own.

    A rename counts as a test when either of its names does.
    """
    tests: list[str] = []
    others: list[str] = []
    for part in file_patches(patch):
        names = [name for name in (part.old, part.new) if name is not None]
        (tests if any(map(is_test_file, names)) else others).append(part.text)
    return "".join(tests), "".join(others)


def split_change(patch: str) -> tuple[str, str, str]:
    """The parts of a diff that touch tests, those that touch what decides how tests run, and all
    the rest, each a diff of its own."""
    tests, runner, rest = list[str](), list[str](), list[str]()
    for part in file_patches(patch):
        names = [name for name in (part.old, part.new) if name is not None]
        if any(map(is_runner_file, names)):
            runner.append(part.text)
        else:
            (tests if any(map(is_test_file, names)) else rest).append(part.text)
    return "".join(tests), "".join(runner), "".join(rest)


def split_fix(patch: str) -> tuple[str, str]:
    """The parts of a proposed fix that touch tests or how tests are run, and the code in it.

    A fix that makes a test pass by a change of the test, of a `conftest.py` or of the runner's
    configuration has fixed nothing. A file that git only says to differ ("Binary files a and b
    differ") is left out: its content is nowhere.
    """
    parts = (one.text for one in file_patches(patch) if "\nBinary files " not in f"\n{one.text}")
    tests, runner, code = split_change("".join(parts))
    return tests + runner, code


def is_runner_file(path: str) -> bool:
    """Return whether a file decides how tests run, or what is imported before them."""
    return path.rsplit("/", 1)[-1].lower() in _RUNNER_FILES or bool(_INSTALLED.search(path.lower()))


def knows_of_tests(patch: str) -> tuple[str, ...]:
    """Names by which code can find out that it is tested, in lines that the diff adds, sorted.

    A runner's own code speaks of itself: what the folders of a changed file are called is none.
    """
    added = (line for line in split_lines(patch) if line[:1] == "+" and line[:4] != "+++ ")
    found = {match[1] for line in added for match in _OF_TESTS.finditer(line)}
    own = {folder for path in touched_files(patch) for folder in path.split("/")[:-1]}
    return tuple(sorted(found - own))


def touched_files(patch: str) -> tuple[str, ...]:
    """Paths that the diff changes, makes, deletes or renames (both names), sorted."""
    parts = file_patches(patch)
    return tuple(sorted({name for p in parts for name in (p.old, p.new) if name is not None}))


def test_files(patch: str) -> tuple[str, ...]:
    """Python files of a patch that may hold tests: test files by their path, and new files."""
    paths = {
        part.new
        for part in file_patches(patch)
        if part.new is not None and (part.old is None or is_test_file(part.new))
    }
    return tuple(sorted(path for path in paths if path.endswith(".py")))


test_files.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest


def removed_lines(patch: str) -> dict[str, tuple[int, ...]]:
    """File before the change -> its lines that the diff removes. Files without any are left out."""
    return {p.old: p.removed for p in file_patches(patch) if p.old is not None and p.removed}


def added_lines(patch: str) -> dict[str, tuple[int, ...]]:
    """File after the change -> its lines that the diff adds. Files without any are left out."""
    return {p.new: p.added for p in file_patches(patch) if p.new is not None and p.added}


@lru_cache(maxsize=8)
def file_patches(patch: str) -> tuple[FilePatch, ...]:
    """The diff's parts, one for each file, in their order; what stands before the first is
    dropped. Kept, since a dozen readers look at one diff in turn: each is parsed once."""
    lines = split_lines(patch)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return tuple(_part(lines[start:stop]) for start, stop in _bounds(lines))


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends a line, as git has it."""
    return io.StringIO(text, newline="\n").readlines()


def _bounds(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """[start, stop) of each file's part."""
    start, number, in_git_header = -1, 0, False
    while number < len(lines):
        line = lines[number]
        if line.startswith("diff --git "):
            if start >= 0:
                yield start, number
            start, in_git_header = number, True
        elif line.startswith("--- ") and lines[number + 1 : number + 2] != []:
            if lines[number + 1].startswith("+++ "):
                if not in_git_header:
                    if start >= 0:
                        yield start, number
                    start = number
                in_git_header = False
                number += 1
        elif start >= 0 and _HUNK.match(line):
            in_git_header = False
            number = _end_of_hunk(lines, number) - 1
        number += 1
    if start >= 0:
        yield start, len(lines)


def _end_of_hunk(lines: Sequence[str], number: int) -> int:
    """Index after the hunk that begins at `number`, by the counts of its header."""
    old, new = _counts(lines[number])
    number += 1
    while number < len(lines) and (old > 0 or new > 0):
        mark = lines[number][:1]
        if mark not in " +-\\\n":
            break
        old -= mark in "- \n"
        new -= mark in "+ \n"
        number += 1
    if number < len(lines) and lines[number].startswith("\\"):
        number += 1
    return number


def _counts(header: str) -> tuple[int, int]:
    match = _HUNK.match(header)
    assert match is not None
    return int(match[2] or 1), int(match[4] or 1)


def _part(lines: Sequence[str]) -> FilePatch:
    old, new = _names(lines)
    removed: list[int] = []
    added: list[int] = []
    number = 0
    while number < len(lines):
        match = _HUNK.match(lines[number])
        if match is None:
            number += 1
            continue
        stop = _end_of_hunk(lines, number)
        before, after = int(match[1]), int(match[3])
        for line in lines[number + 1 : stop]:
            if line.startswith("-"):
                removed.append(before)
            elif line.startswith("+"):
                added.append(after)
            before += line[:1] in "- \n"
            after += line[:1] in "+ \n"
        number = stop
    binary = any(s.startswith(("Binary files ", "GIT binary patch")) for s in lines)
    return FilePatch(old, new, "".join(lines), tuple(removed), tuple(added), binary)


def _names(lines: Sequence[str]) -> tuple[str | None, str | None]:
    """Paths before and after. ``---``/``+++`` say it, else rename or copy lines, else the first."""
    old: str | None = None
    new: str | None = None
    if lines[0].startswith("diff --git "):
        old, new = _git_names(lines[0][len("diff --git ") :].rstrip("\r\n"))
    for number, raw in enumerate(lines):
        line = raw.rstrip("\r\n")
        if line.startswith("@@ "):
            break
        if line.startswith("--- ") and lines[number + 1 : number + 2] != []:
            if lines[number + 1].startswith("+++ "):
                old = _side(line[4:], "a/")
                new = _side(lines[number + 1].rstrip("\r\n")[4:], "b/")
                break
        elif line.startswith(("rename from ", "copy from ")):
            old = _unquoted(line.split(" from ", 1)[1])
        elif line.startswith(("rename to ", "copy to ")):
            new = _unquoted(line.split(" to ", 1)[1])
        elif line.startswith("new file mode"):
            old = None
        elif line.startswith("deleted file mode"):
            new = None
    return old, new


def _git_names(rest: str) -> tuple[str, str]:
    """The names of ``a/x b/x``, which git does not quote for blanks."""
    if rest.startswith('"'):
        end = re.match(r'"(?:[^"\\]|\\.)*"', rest)
        cut = end.end() if end else len(rest)
    elif rest.endswith('"'):
        cut = rest.find(' "')
    else:
        # Without a rename both names are the same, so the first ends in the middle.
        cut = len(rest) // 2
        if rest[cut : cut + 3] != " b/":
            cut = rest.find(" b/")
    if cut < 0:
        cut = len(rest)
    first, second = rest[:cut].strip(), rest[cut:].strip()
    return _side(first, "a/") or first, _side(second or first, "b/") or first


def _side(name: str, prefix: str) -> str | None:
    """The path of a ``---`` or ``+++`` line; None for ``/dev/null``."""
    name = _unquoted(name if name.startswith('"') else name.split("\t")[0].rstrip(" "))
    if name == "/dev/null":
        return None
    return name.removeprefix(prefix)


def _unquoted(name: str) -> str:
    """A name that git wrote in quotes, with escaped octets of UTF-8, as it is on disk."""
    match = re.match(r'"((?:[^"\\]|\\.)*)"', name)
    if match is None:
        return name

    def octet(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8) & 0xFF) if len(code) == 3 else _ESCAPED.get(code, code)

    if "\\" not in match[1]:
        return match[1]
    octets = _ESCAPE.sub(octet, match[1].encode("utf-8").decode("latin-1"))
    return octets.encode("latin-1").decode("utf-8", "replace")
