"""Locate an issue: the code that it is about, the test files to extend, what to show of each.

BM25 over the issue's text ranks the repository's files, those that the issue names go first, and
one question to the model picks among them. Tests are also listed for being near the likeliest code
by what they are called and import (`neighbours`), and for having been changed together with it
before (`history`). What a test file takes from the files beside it (models, fixtures of a
`conftest.py`) is shown with it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import PurePosixPath
from types import MappingProxyType

from refute.core.problems import IssueProblem
from refute.errors import InputError, WorkspaceUnavailable
from refute.issue.context import estimated_tokens, neighbouring_tests, ranked
from refute.issue.redgreen.excerpt import companions, excerpt, further_fixtures, outline, spans_of
from refute.prompts import render
from refute.workspace.patches import is_test_file
from refute.workspace.repositories import GitFailed, find_clone
from refute.workspace.running import holds_tests

_COMMITS = 4000
"""That are read, the last ones before the issue: about two years of a busy project."""
_MOST_FILES = 30
"""Of a commit: one that changes more says nothing about any two of them."""
_ONE_PARENT = ("--min-parents=1", "--max-parents=1")
"""No merges, and no commit that a history begins with: all of its files are new together."""
_LOG = ("log", f"--max-count={_COMMITS}", *_ONE_PARENT, "--name-only", "--no-renames", "-z")


@dataclass(frozen=True, slots=True)
class History:
    """The files that each commit changed, the newest first."""

    commits: tuple[frozenset[str], ...] = ()

    def beside(self, paths: Sequence[str], among: Collection[str]) -> list[str]:
        """Those of `among` that were changed together with `paths`, most often first.

        The first path counts most; a commit counts less the more of `among` it changes.
        """
        scores: dict[str, float] = defaultdict(float)
        for files in self.commits:
            weight = sum(1 / place for place, path in enumerate(paths, 1) if path in files)
            if not weight:
                continue
            others = [path for path in files if path in among and path not in paths]
            for path in others:
                scores[path] += weight / len(others)
        return sorted(scores, key=lambda path: (-scores[path], path))


NO_HISTORY = History()


def read_history(problem: IssueProblem) -> History:
    """The history up to the issue's base commit; empty without a clone to read it from."""
    try:
        clone = find_clone(problem.repo)
        base = clone.resolve(problem.base_commit)
        log = clone.git(*_LOG, "--format=%x01", base, "--")
    except (GitFailed, WorkspaceUnavailable, InputError):
        return NO_HISTORY
    commits = (text.strip("\0\n").split("\0") for text in log.decode(errors="replace").split("\1"))
    changed = (frozenset(path.strip("\n") for path in paths if path) for paths in commits)
    return History(tuple(files for files in changed if 1 < len(files) <= _MOST_FILES))


_OUTLINED = {"CODE": 6, "TEST": 4}
"""Files that are listed with what they define."""
_PATHS = {"CODE": 14, "TEST": 10}
"""Files after these that are listed by their paths."""
_NEAR_CODE = 3
"""Of the likeliest code files, those whose neighbouring tests are listed too."""
_MOST_TESTS_NEAR = 20
_LIST_SHARE = 4
"""The list of files may have one part in so many of the context."""
_MOST_CODE, _MOST_TESTS = 3, 2
_CODE_SHARE = 0.55
"""Of the context; the rest is for tests."""
_COMPANION_SHARE = 8
"""Files that tests take from beside them may have one part in so many of the context."""
_TELLING = 4
"""Letters from which a file's name, without its suffix, tells what it is about."""
_RARE = 3
"""Definitions of one name, up to which the name says where they are."""
_ASIDE = frozenset(
    ("benchmarks", "doc", "docs", "example", "examples", "script", "scripts", "tools")
)
"""Folders at the top whose code is seldom at fault."""
_LINE = re.compile(
    r"^[\W_]*(CODE|TEST)[\W_]*?:\s*[`*]*([\w./@+-]+)[`*]*\s*(?::\s*(.*))?$", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_PATH = re.compile(r"[\w./\\-]+\.py\b")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_IDENTIFIER = re.compile(r"`(\w{3,})`|\b(\w{3,})(?=\()|\b(\w*[A-Za-z0-9]_\w+|\w*[a-z][A-Z]\w*)")
"""Names that an issue writes as code: in backticks, called, or with an underscore or inner
capital."""
_CODE_WORD = re.compile(rf"{_IDENTIFIER.pattern}|\b([A-Z]+[0-9]{{2,}})\b")
"""These, and codes such as E108."""
_TRACEBACK = re.compile(
    r"^[^\S\n]*Traceback \(most recent call last\):\n"
    r"(?:[^\S\n]+\S.*\n|[^\S\n]*\n|During handling.*\n|The above exception.*\n)*(?:\S.*)?",
    re.MULTILINE,
)
"""With the line of its exception."""
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_NOWHERE: Mapping[str, Collection[int]] = MappingProxyType({})
_FRAME = re.compile(
    r"""File "([^"\n]+\.py)", line (\d+), in (\w+)|^(\S+\.py):(\d+): in (\w+)"""
    r"""|^(\S+\.py) in (\w+)\(""",
    re.MULTILINE,
)
"""Of a traceback as Python, pytest and IPython print it."""


@dataclass(frozen=True, slots=True)
class WantedFile:
    """A file that the model wants to see, and the definitions in it that matter."""

    path: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Likely:
    """Files by the issue's words alone, the likeliest first."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """Part of the repository that the prompts show."""

    code: tuple[str, ...]
    """Paths of code files, the most likely first."""
    tests: tuple[str, ...]
    """Paths of test files to extend, the most likely first."""
    code_files: tuple[Mapping[str, str], ...] = ()
    """`path` and `numbered` (an excerpt) of each, for the templates."""
    test_files: tuple[Mapping[str, str], ...] = ()
    """The same of tests, and of what they take from the files beside them."""
    fixtures: tuple[str, ...] = ()
    """Fixtures of the test files' `conftest.py` that no excerpt shows."""
    missing: tuple[str, ...] = ()
    """Names that were asked for and do not exist, as `name in path`."""


def likely_files(
    issue: str, files: Mapping[str, str], history: History = NO_HISTORY, seen: str = ""
) -> Likely:
    """Rank the files that the issue names, by path or as a definition, then by BM25; of tests also
    those near the likeliest code.

    `files`: path -> source of all Python files. `seen`: tracebacks of the issue's own example as
    it was run here; their code counts as named, the innermost first.
    """
    inward = "\n".join(reversed(seen.splitlines()))
    tests = {p: t for p, t in files.items() if _is_test(p) and holds_tests(t)}
    tests = {p: t for p, t in tests.items() if not p.endswith(("/models.py", "/conftest.py"))}
    code = {p: t for p, t in files.items() if _is_code(p, t)}
    of_run = (path for path in _mentioned(inward, files) if path in code)
    said = list(dict.fromkeys((*_mentioned(issue, files), *of_run)))
    held = Counter(path for paths in _holders(issue, code) for path in sorted(paths))
    holding = [path for path, _ in held.most_common()]
    said[_NEAR_CODE:_NEAR_CODE] = holding[:_NEAR_CODE]  # before a traceback's outer frames
    by_words = [*_defining(issue, code), *_called_so(issue, code), *ranked(issue, code)]
    by_words.sort(key=lambda path: not _ASIDE.isdisjoint(path.split("/")[:-1]))
    ranked_code = [p for p in dict.fromkeys([*said, *by_words]) if p in code]
    near = neighbouring_tests(ranked_code[:_NEAR_CODE], tests, hint=issue, most=_MOST_TESTS_NEAR)
    together = history.beside(ranked_code[:_NEAR_CODE], tests)[:_MOST_TESTS_NEAR]
    by_turns = chain.from_iterable(zip_longest(ranked(issue, tests), near, together))
    ranked_tests = [p for p in dict.fromkeys([*said, *by_turns]) if p in tests]
    return Likely(tuple(ranked_code), tuple(ranked_tests))


def locate_prompt(issue: str, files: Mapping[str, str], likely: Likely, tokens: int) -> str:
    """The question which files to look at: a few with all that they define, more by their paths."""
    left = tokens // _LIST_SHARE
    listed: list[Mapping[str, str]] = []
    paths: list[str] = []
    for kind, found in (("CODE", likely.code), ("TEST", likely.tests)):
        outlined = found[: _OUTLINED[kind]]
        share = left // 2
        for number, path in enumerate(outlined):
            names = outline(files[path], share // min(3, len(outlined) - number), query=issue)
            share -= estimated_tokens(names)
            listed.append({"kind": kind, "path": path, "names": names})
        paths += found[len(outlined) : len(outlined) + _PATHS[kind]]
    return render("redgreen_locate", issue=issue, files=listed, paths=paths)


def told_places(issue: str, files: Mapping[str, str], seen: str = "") -> str:
    """Return the places of the issue's own traceback (or `seen`, its example's), in the form
    of an answer; "" where its end is not in the repository, it has one frame there, or the issue
    speaks of other code.

    Innermost first. No question is needed then: its answer would be this.
    """
    found: dict[str, dict[str, None]] = {}
    for number, match in enumerate(reversed(list(_FRAME.finditer("\n".join((issue, seen)))))):
        place, *line, name = [part for part in match.groups() if part]
        path = next(_mentioned(place, files), "")
        named = _at_line(files[path], name, int(line[0]) if line else 1) if path else ""
        if named and not _is_test(path):
            found.setdefault(path, {})[named] = None
        elif number == 0:
            return ""
    if sum(map(len, found.values())) < 2 or _speaks_of_others(issue, files, found):
        return ""
    return "\n".join(f"CODE: {path}: {', '.join(names)}" for path, names in found.items())


def _speaks_of_others(issue: str, files: Mapping[str, str], told: Collection[str]) -> bool:
    """Return whether the issue's own words hold a code word that few files of code have, and none
    of those `told`: the fault is not where the traceback ends (a check that should have said it
    before)."""
    code = {path: text for path, text in files.items() if _is_code(path, text)}
    return any(paths.isdisjoint(told) for paths in _holders(issue, code))


def _holders(issue: str, code: Mapping[str, str]) -> list[frozenset[str]]:
    """Of each code word in the issue, tracebacks left out, that few files hold: these files."""
    said = _TRACEBACK.sub("", issue)
    words = {next(filter(None, found)) for found in _CODE_WORD.findall(said)}
    if not words:
        return []
    found: dict[str, set[str]] = defaultdict(set)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b")
    for path, text in code.items():
        if _ASIDE.isdisjoint(path.split("/")[:-1]):
            for word in set(pattern.findall(text)):
                found[word].add(path)
    return [frozenset(paths) for _, paths in sorted(found.items()) if len(paths) <= _RARE]


def _lines_of(trace: str, files: Mapping[str, str]) -> dict[str, set[int]]:
    """By file: the lines that tracebacks go through."""
    found: dict[str, set[int]] = defaultdict(set)
    for match in _FRAME.finditer(trace):
        place, *line, _ = [part for part in match.groups() if part]
        path = next(_mentioned(place, files), "")
        if path and line:
            found[path].add(int(line[0]))
    return found


def _at_line(text: str, name: str, line: int) -> str:
    """The function of that name that is nearest to a line, with its class; "": not in the file."""
    spans = [span for span in spans_of(text) if span.defines and span.tail == name]
    nearest = min(spans, key=lambda span: abs(span.start + 1 - line), default=None)
    return nearest.names[0] if nearest else ""


def read_places(answer: str, files: Mapping[str, str]) -> tuple[tuple[WantedFile, ...], ...]:
    """Code and test files of an answer, in its order; paths that do not exist are dropped."""
    found: dict[str, list[WantedFile]] = {"CODE": [], "TEST": []}
    for line in answer.splitlines():
        match = _LINE.match(line[:2000])
        if match is None or match[2] not in files:
            continue
        kind = "TEST" if _is_test(match[2]) else "CODE"
        names = tuple(dict.fromkeys(_NAME.findall(match[3] or "")))[:20]
        if all(place.path != match[2] for place in found[kind]):
            found[kind].append(WantedFile(match[2], names))
    return tuple(found["CODE"][:_MOST_CODE]), tuple(found["TEST"][:_MOST_TESTS])


def view_of(
    issue: str,
    files: Mapping[str, str],
    likely: Likely,
    answer: str,
    tokens: int,
    *,
    test_first: str = "",
    history: History = NO_HISTORY,
    seen: str = "",
) -> View:
    """Choose what to show, by the model's answer ("": by BM25 alone), in about `tokens` tokens.

    `test_first`: a test file that is known to be right. `seen`: as for `likely_files`; of a
    definition that is too large, the lines that it ran through are shown.
    """
    code, tests = read_places(answer, files)
    names = {place.path: place.names for place in (*code, *tests)}
    chosen_code = [place.path for place in code] or list(likely.code[:_MOST_CODE])
    chosen_tests = [place.path for place in tests]
    if not chosen_tests:
        near = neighbouring_tests(chosen_code[:2], files, hint=issue)
        first = [test_first] * (test_first in files)
        together = history.beside(chosen_code[:2], frozenset(likely.tests))
        found = dict.fromkeys([*first, *together[:1], *near[:1], *likely.tests[:1]])
        chosen_tests = list(found)[:_MOST_TESTS]
    room = int(tokens * _CODE_SHARE)
    ran = _lines_of(seen, files)
    shown_code = _shown(issue, chosen_code, files, names, room, last=False, around=ran)
    left = tokens - sum(estimated_tokens(file["numbered"]) for file in shown_code)
    left = min(left, int(tokens * (1 - _CODE_SHARE)))
    reserve = tokens // _COMPANION_SHARE
    shown_tests = _shown(issue, chosen_tests, files, names, left - reserve, last=True)
    left -= sum(estimated_tokens(file["numbered"]) for file in shown_tests)
    taken = companions(shown_tests, files)
    beside = _shown(issue, list(taken), files, taken, min(left, reserve), last=False)
    shown = (*shown_tests, *beside)
    return View(
        tuple(file["path"] for file in shown_code),
        tuple(chosen_tests),
        tuple(shown_code),
        shown,
        further_fixtures(shown, files),
        tuple(_missing((*code, *tests), files)),
    )


def _missing(places: Sequence[WantedFile], files: Mapping[str, str]) -> Iterator[str]:
    """The names that a file does not have, neither so nor in another class."""
    for place in places:
        there = {
            name.rpartition(".")[2] for span in spans_of(files[place.path]) for name in span.names
        }
        for name in place.names:
            if name.rpartition(".")[2] not in there and name not in files[place.path]:
                yield f"{name} in {place.path}"


def _is_test(path: str) -> bool:
    """Return whether the file holds tests; a package's own helpers for tests (`django/test/`,
    `testing.py`) are code."""
    *folders, name = path.split("/")
    helpers = name in ("test.py", "testing.py") and not {"test", "tests"}.intersection(folders)
    return is_test_file(path) and not helpers and not {"test", "testing"}.intersection(folders[1:])


def _is_code(path: str, text: str) -> bool:
    return bool(text.strip()) and not _is_test(path)


def _defining(issue: str, code: Mapping[str, str]) -> list[str]:
    """The files that define what the issue writes as code, those with most of it first.

    Names that many places define say nothing.
    """
    wanted = {next(filter(None, found)) for found in _IDENTIFIER.findall(issue)}
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in code.items():
        for name in wanted.intersection(_DEFINED.findall(text)):
            places[name].append(path)
    scores: Counter[str] = Counter()
    for found in places.values():
        if len(found) <= _RARE:
            for path in found:
                scores[path] += 6 // len(found)
    return sorted(scores, key=lambda path: (-scores[path], path))


def _called_so(issue: str, code: Mapping[str, str]) -> list[str]:
    """The files that are called as a word of the issue, or two of them together (`manpage.py` for
    "man pages"), or as one with underscores (a migration), those of its first words first."""
    words = [word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", issue.lower())]
    places: dict[str, int] = {}
    for number, (word, following) in enumerate(zip(words, [*words[1:], ""], strict=True)):
        places.setdefault(word, number)
        places.setdefault(word + following, number)
    for word in re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)+", issue.lower()):
        places.setdefault(word.replace("_", "").removesuffix("s"), 0)
    found: list[tuple[int, str]] = []
    for path in code:
        stem = PurePosixPath(path).stem.lower().replace("_", "").removesuffix("s")
        if len(stem) >= _TELLING and stem in places:
            found.append((places[stem], path))
    return [path for _, path in sorted(found)]


def _mentioned(issue: str, files: Mapping[str, str]) -> Iterator[str]:
    """Files that the issue names by path (a traceback's are absolute) or by dotted module."""
    for match in _PATH.finditer(issue):
        parts = match.group().replace("\\", "/").split("/")
        for start in range(len(parts) - 1):
            path = "/".join(parts[start:])
            if path in files:
                yield path
                break
    for match in _DOTTED.finditer(issue):
        parts = match.group().split(".")
        for stop in range(len(parts), 1, -1):
            stem = "/".join(parts[:stop])
            found = [p for root in ("", "src/", "lib/") for p in (f"{root}{stem}.py",)
                     if p in files]  # fmt: skip
            if found:
                yield found[0]
                break


def _shown(
    issue: str,
    paths: Sequence[str],
    files: Mapping[str, str],
    names: Mapping[str, tuple[str, ...]],
    tokens: int,
    *,
    last: bool,
    around: Mapping[str, Collection[int]] = _NOWHERE,
) -> list[Mapping[str, str]]:
    """Excerpts of files that share `tokens`; what one leaves over is the next one's."""
    shown: list[Mapping[str, str]] = []
    for number, path in enumerate(paths):
        share = tokens // max(1, min(2, len(paths) - number))  # the first may have half of it
        part = excerpt(
            files[path],
            share,
            query=issue,
            named=names.get(path, ()),
            last=last,
            around=around.get(path, ()),
        )
        tokens -= estimated_tokens(part)
        if part.strip():
            shown.append({"path": path, "numbered": part})
        if tokens < 100:
            break
    return shown
