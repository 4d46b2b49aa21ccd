"""What the model's answers hold: edits of tests, edits of code, a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refute.issue.drafting.original import Original
from refute.issue.edits import read_edits
from refute.issue.edits.blocks import read_blocks
from refute.workspace.patches import split_fix, split_tests

_VERDICT = re.compile(
    r"^[\W_]*VERDICT[\W_]*?(?:\b(\d{1,3})\b[\W_]*)?\b(yes|no)\b(?:[\W_]*(?:without|except)\b(.*))?",
    re.IGNORECASE | re.MULTILINE,
)
_TEST = re.compile(r"\btest\w*")
_READING = re.compile(r"^[^a-z0-9\n]*READING[^a-z0-9\n]*\d\b.*$", re.MULTILINE | re.IGNORECASE)
MOST_READINGS = 2
"""Of one answer that are tried: each costs a run of tests for each draft."""


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


def read_readings(answer: str) -> list[str]:
    """The changes of an answer that reads the issue in more than one way, the likelier first.

    An answer without the lines that divide them holds one. What is only said of a reading, without
    edits, is none.
    """
    code = {line for block in read_blocks(answer) for line in block.code.split("\n")}
    lines = [line for line in _READING.finditer(answer) if line[0] not in code]
    stops = [*(line.start() for line in lines[1:]), len(answer)]
    found = [answer[line.end() : stop] for line, stop in zip(lines, stops, strict=False)]
    edited = [part for part in found if read_blocks(part)]
    return (edited or found)[:MOST_READINGS] or [answer]


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
