"""The text of an issue, and the results of repository-level methods."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refute.core.problems import IssuePrediction
from refute.core.storage import parse_json, read_file
from refute.errors import InputError

FixState = Literal["fixed", "proposed", "cannot tell"]
"""Claim about a fix: evidence that is independent of it agrees; it may be right, and a
reason not to call it so is known; nothing speaks for it."""


Verdict = Literal["fixed", "not fixed", "breaks tests", "does not apply", "cannot tell"]
"""Verdict of the tests on a fix."""


@dataclass(frozen=True, slots=True)
class DraftedFix:
    """A change of the code that a method drafted while it wrote tests, with what speaks for it."""

    patch: str
    """Unified diff of code files."""
    answers: int = 1
    """Number of answers that held just this change."""
    score: float = 0.0
    """The method's own order: more is better."""
    broken: tuple[str, ...] = ()
    """Existing tests near it that pass on the original code and fail with it."""
    near: tuple[str, ...] = ()
    """Existing test files that were run with it."""
    green: frozenset[str] = frozenset()
    """Tests of drafts that do not know it, none refused by a judge, that fail now and pass with it;
    each with the number of its draft in front, as in `3 tests/test_a.py::test_b`."""
    red: frozenset[str] = frozenset()
    """Those that fail with it."""


@dataclass(frozen=True, slots=True)
class FixClaim:
    """Claim about the fix in a prediction, and the reason."""

    state: FixState
    reasons: tuple[str, ...]
    """One-line reasons: of a fixed one the evidence, else what is wanting."""
    tests: str = ""
    """The test patch that fails now and passes with the fix; "": none was found."""
    failing: tuple[str, ...] = ()
    """Ids of its tests that fail now and pass with the fix."""
    rivals: tuple[str, ...] = ()
    """Other fixes of good standing, as unified diffs, the best first."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A prediction with what led to it."""

    prediction: IssuePrediction
    steps: tuple[dict[str, Any], ...] = ()
    """The journal of the method: one JSON object per step (`kind`, and what was asked, run, seen);
    enough to show a reader why the prediction is what it is."""
    alternatives: tuple[IssuePrediction, ...] = ()
    """All samples, the prediction's own included, where a method drew several: what the oracle
    grader of pass@k chooses from. No method looks at grades."""
    fixes: tuple[DraftedFix, ...] = ()
    """Changes of the code that were drafted on the way."""
    claim: FixClaim | None = None
    """About the fix that the prediction is; None: it is tests."""


_LARGEST = 1 << 20


def read_issue(source: str) -> str:
    """Title, a line feed and body of the issue in file `source` (`-`: standard input).

    JSON is taken for an exported GitHub issue: `title` and `body`, alone, in a list of one, or
    under `issue` (as in an event). Raises `InputError`.
    """
    if source == "-":
        data = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        try:
            data = read_file(Path(source), limit=_LARGEST + 1, pipe=True)
        except OSError as error:
            raise InputError(f"{source}: {error.strerror}") from None
    name = "standard input" if source == "-" else source
    if len(data) > _LARGEST:
        raise InputError(f"{name}: longer than 1 MiB; an issue is a text that people read")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start})") from None
    if text.lstrip().startswith(("{", "[")):
        text = _exported(text, name)
    if not text.strip():
        raise InputError(f"{name}: the issue is empty")
    return text


def _exported(text: str, name: str) -> str:
    try:
        document: Any = parse_json(text)
    except ValueError:
        return text  # prose may begin with a bracket as well
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if isinstance(document, dict) and isinstance(document.get("issue"), dict):
        document = document["issue"]
    if not isinstance(document, dict) or not isinstance(document.get("title"), str):
        raise InputError(f"{name}: JSON without a `title`; give GitHub's form of one issue")
    body = document.get("body")
    if body is not None and not isinstance(body, str):
        raise InputError(f"{name}: `body` is not text")
    return f"{document['title']}\n{(body or '').replace(chr(13) + chr(10), chr(10))}"
