"""Locate an issue: the code that it is about, the test files to extend, what to show of each.

BM25 over the issue's text ranks the repository's files, those that the issue names go first, and
one question to the model picks among them. Tests are also listed for being near the likeliest code
by what they are called and import. What a test file takes from the files beside it (models,
fixtures of a `conftest.py`) is shown with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from refute.issue.context import (
    Likely,
    estimated_tokens,
    is_test,
    mentioned,
    neighbouring_tests,
)
from refute.issue.redgreen.excerpt import companions, excerpt, further_fixtures, outline, spans_of
from refute.prompts import render

_OUTLINED = {"CODE": 6, "TEST": 4}
"""Files that are listed with what they define."""
_PATHS = {"CODE": 14, "TEST": 10}
"""Files after these that are listed by their paths."""
_LIST_SHARE = 4
"""The list of files may have one part in so many of the context."""
_MOST_CODE, _MOST_TESTS = 3, 2
_CODE_SHARE = 0.55
"""Of the context; the rest is for tests."""
_COMPANION_SHARE = 8
"""Files that tests take from beside them may have one part in so many of the context."""
_LINE = re.compile(
    r"^[\W_]*(CODE|TEST)[\W_]*?:\s*[`*]*([\w./@+-]+)[`*]*\s*(?::\s*(.*))?$", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
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


def _lines_of(trace: str, files: Mapping[str, str]) -> dict[str, set[int]]:
    """By file: the lines that tracebacks go through."""
    found: dict[str, set[int]] = defaultdict(set)
    for match in _FRAME.finditer(trace):
        place, *line, _ = [part for part in match.groups() if part]
        path = next(mentioned(place, files), "")
        if path and line:
            found[path].add(int(line[0]))
    return found


def read_places(answer: str, files: Mapping[str, str]) -> tuple[tuple[WantedFile, ...], ...]:
    """Code and test files of an answer, in its order; paths that do not exist are dropped."""
    found: dict[str, list[WantedFile]] = {"CODE": [], "TEST": []}
    for line in answer.splitlines():
        match = _LINE.match(line[:2000])
        if match is None or match[2] not in files:
            continue
        kind = "TEST" if is_test(match[2]) else "CODE"
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
        found = dict.fromkeys([*first, *near[:1], *likely.tests[:1]])
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
