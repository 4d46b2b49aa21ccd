"""What the model's answers hold: edits of tests, edits of code, a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refute.issue.drafting.original import Original
from refute.issue.edits import read_edits
from refute.issue.patches import split_fix, split_tests

__all__ = ["Edited", "TestOpinion", "read_patches", "read_steps", "read_verdicts"]

_VERDICT = re.compile(
    r"^[\W_]*VERDICT[\W_]*?(?:\b(\d{1,3})\b[\W_]*)?\b(yes|no)\b(?:[\W_]*(?:without|except)\b(.*))?",
    re.IGNORECASE | re.MULTILINE,
)
_TEST = re.compile(r"\btest\w*")
_EXPECTED = re.compile(r"^[\W_]*EXPECTED[\W_]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edited:
    """The edits of one answer as patches of the original code."""

    tests: str
    """What it does to test files: a unified diff, or ""."""
    code: str
    """What it does to other files, those of the test runner left out."""
    problems: tuple[str, ...] = ()
    """What could not be used, a line each."""


def read_patches(answer: str, original: Original) -> Edited:
    """The edits of an answer in the custom form, those of tests apart from those of code."""
    applied = read_edits(answer, "custom").apply(original.source)
    tests, _ = split_tests(applied.patch)
    _, code = split_fix(applied.patch)  # a fix that sets up the runner proves nothing
    return Edited(tests, code, tuple(applied.problems))


def read_steps(answer: str) -> tuple[str, str]:
    """The two steps of a characterisation: what pins the present, and what is expected.

    An answer without the line that divides them holds the second only.
    """
    lines = list(_EXPECTED.finditer(answer))
    if not lines:
        return "", answer
    return answer[: lines[-1].start()], answer[lines[-1].end() :]


@dataclass(frozen=True, slots=True)
class TestOpinion:
    """What a judge says of one version of the tests."""

    accepted: bool | None = None
    """None: nothing."""
    refused: frozenset[str] = frozenset()
    """Tests of an accepted version that do not belong in it, by their functions' names."""


def read_verdicts(answer: str, n: int) -> tuple[TestOpinion, ...]:
    """A judge's verdict on each of n versions of the tests.

    The first on each counts, because what follows are tests, which may hold any text. One without
    a number is on all versions that have none of their own.
    """
    found: dict[int, TestOpinion] = {}
    for match in _VERDICT.finditer(answer):
        refused = frozenset(_TEST.findall(match[3] or ""))
        found.setdefault(int(match[1] or 0), TestOpinion(match[2].lower() == "yes", refused))
    return tuple(found.get(number, found.get(0, TestOpinion())) for number in range(1, n + 1))
