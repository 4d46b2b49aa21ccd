"""Where a test belongs: the test file nearest to what the issue is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from refute.issue.context.neighbours import neighbouring_tests
from refute.issue.context.ranking import ranked
from refute.issue.snippet.rendering import Style
from refute.workspace.patches import is_test_file
from refute.workspace.running import holds_tests

_NAMED = re.compile(r"(?:^test_.*|.*_tests?|^tests?)\.py$")
_FRAME = re.compile(r"[\w~./\\@+-]+\.py\b")
_NEAR = 60
"""Test files, by their text, among which the nearest by import and name is looked for."""


def homes_for_tests(text: str, code: Sequence[str], files: Mapping[str, str]) -> list[str]:
    """Test files that the test may go to, the best first.

    `text`: the issue. `code`: paths of the modules that the example uses or that its traceback
    passes through, the most telling first. `files`: path -> source of the repository.
    """
    tests = {
        path: source
        for path, source in files.items()
        if is_test_file(path)
        and _NAMED.match(PurePosixPath(path).name)
        and "testdata" not in path
        and holds_tests(source)
    }
    if not tests:
        return []
    mentioned = [path for path in tests if path in text]
    by_text = ranked(text, tests)
    stems = {PurePosixPath(path).stem for path in code} - {"__init__", "base", "utils"}
    top = set(by_text[:_NEAR]) | {path for path in tests if _about(path, stems)}
    around = {path: files[path] for path in top}
    near = neighbouring_tests(code[:6], around, hint=text, most=10)
    place = {path: number for number, path in enumerate(by_text)}
    best = sorted(near, key=lambda path: near.index(path) + place[path] / 4)
    return list(dict.fromkeys((*mentioned, *best, *by_text)))


def frame_files(text: str, files: Iterable[str]) -> list[str]:
    """Files of the repository that tracebacks in a text pass through, the innermost first."""
    known = list(files)
    found: list[str] = []
    for match in _FRAME.finditer(text):
        parts = PurePosixPath(match[0].replace("\\", "/")).parts
        for start in range(len(parts) - 1):
            tail = "/".join(parts[start:])
            hits = [path for path in known if path == tail or path.endswith(f"/{tail}")]
            if hits:
                found += [path for path in hits if not is_test_file(path)][:1]
                break
    return list(dict.fromkeys(reversed(found)))


def _about(path: str, stems: set[str]) -> bool:
    return re.sub(r"^tests?_|_tests?$", "", PurePosixPath(path).stem) in stems


# -- style ----------------------------------------------------------------------------------------


_FUNCTIONS = re.compile(r"^(?:async )?def test", re.MULTILINE)
_CASES = re.compile(r"^class \w+\((?:unittest\.)?\w*TestCase\)", re.MULTILINE)


def styles_of(source: str) -> list[Style]:
    """The styles to try in this order, as a test file has them: with Django's the plain one, then
    the one with a database."""
    if "from django.test import" in source:
        return [Style(base, "django.test") for base in ("SimpleTestCase", "TestCase")]
    if _CASES.search(source) and not _FUNCTIONS.search(source):
        return [Style("TestCase", "unittest")]
    return [Style()]
