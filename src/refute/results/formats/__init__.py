"""Findings of any verb, for any format: cases, their problems, skipped ones.

A problem has a fingerprint that stays the same where lines move, the seed is another, or another
input shows the same: by it a baseline knows a problem, and a code host an alert.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from refute.function.contract import Skipped


LONGEST = 400
"""Characters of one value in a message."""
Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of problem."""

    id: str
    level: Level
    text: str
    """One sentence for people."""


RULES = {
    rule.id: rule
    for rule in (
        Rule(
            "wrong-output",
            "error",
            "A test that does not come from the code itself (an example in the docstring, the "
            "description, a given test) fails.",
        ),
        Rule(
            "out-of-date",
            "note",
            "An example of the documentation fails; tests that notice what the code does pass.",
        ),
        Rule("predicted-output", "warning", "A test whose expected output was worked out fails."),
        Rule("crash", "warning", "The code does not load, or names what nothing binds."),
        Rule(
            "behaviour-changed",
            "warning",
            "A change makes the function behave otherwise, and nothing in the change says so.",
        ),
        Rule(
            "behaviour-changed-as-stated",
            "note",
            "A change makes the function behave otherwise, as the change itself says.",
        ),
        Rule("does-not-load", "error", "A module loads on one side of the change only."),
        Rule("issue-reproduced", "error", "A test fails for the reason that the issue describes."),
        Rule("issue-not-fixed", "error", "A test that reproduces the issue fails with the fix."),
        Rule("test-broken", "error", "A test that passes without the fix fails with it."),
        Rule("not-shown", "warning", "Nothing shows that the fix resolves the issue."),
        Rule("not-proven", "error", "A rule of `refute gate` is broken."),
    )
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, at one place."""

    rule: str
    """A key of `RULES`."""
    file: str
    """Relative to the root of its repository, with `/`; absolute where it is in none."""
    line: int
    """1-based."""
    function: str
    """Qualified name; the test's, where it is about one."""
    message: str
    """For people, in one or a few lines."""
    detail: str = ""
    """Text that tells it from other problems of this rule and function, the same in every run."""
    others: int = 0
    """Further inputs that show the same."""

    @property
    def level(self) -> Level:
        """Return the level of the gravest problem."""
        return RULES[self.rule].level

    @property
    def fingerprint(self) -> str:
        """128 bits in hexadecimal: of rule, file, function and detail."""
        parts = ("1", self.rule, self.file, self.function, self.detail)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix of a function's file."""

    before: str
    after: str
    """The whole file."""
    text: str
    """One line for people."""


@dataclass(frozen=True, slots=True)
class Case:
    """One function, or one test, that was looked at."""

    file: str
    line: int
    function: str
    state: str
    """The verb's claim: "wrong", "passes", "cannot tell", "no difference"..."""
    problems: tuple[Problem, ...] = ()
    reason: str = ""
    """Reason why nothing can be said."""
    proposal: Proposal | None = None

    @property
    def failed(self) -> bool:
        """True if a problem is more than a note."""
        return any(one.level != "note" for one in self.problems)


@dataclass(frozen=True, slots=True)
class Report:
    """All that a verb has to report."""

    verb: str
    cases: tuple[Case, ...]
    left: tuple[Skipped, ...] = ()
    summary: str = ""
    """Outcome in a line."""
    known: int = 0
    """Problems that the baseline knows, which are not among the cases."""
    interrupted: bool = False

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all cases."""
        return tuple(problem for case in self.cases for problem in case.problems)


def short(text: str) -> str:
    """The text, cut where it is longer than a value may be."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def merged(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems, those of one fingerprint as one: the first, with how many others there are."""
    found: dict[str, list[Problem]] = {}
    for one in problems:
        found.setdefault(one.fingerprint, []).append(one)
    return tuple(_first(ones) for ones in found.values())


def _first(ones: Sequence[Problem]) -> Problem:
    return replace(ones[0], others=len(ones) - 1 + sum(one.others for one in ones))


FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "markdown", "html", "badge")
"""`text` and `json` are each verb's own; the others are made of its `Report`."""


def formatted(report: Report, name: str) -> str:
    """A report in one of the formats, `text` and `json` excepted; it ends with a line feed, or is
    empty."""
    from refute.results.formats.writers import WRITERS

    return WRITERS[name](report)
