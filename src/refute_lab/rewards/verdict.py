"""What a grader says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from msgspec import Meta

Share = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test of a task, for one program."""

    __test__ = False  # not a test class of pytest

    passed: bool
    reason: str = ""
    """Why it is not passed, in one line: what the program did, never what was expected of it; ""
    where it is passed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a program is worth, by the tests of a task."""

    passed: bool
    """It passes all of them, and there is one."""
    reward: Share
    """1.0 or 0.0; with partial credit the share of tests that are passed."""
    tests: tuple[TestResult, ...]
    """One for each test, in the task's order."""
    reason: str = ""
    """That of the first test that is not passed."""
    cpu_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """CPU seconds of the processes that ran the program."""

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def verdict(results: Sequence[TestResult], *, partial: bool, cpu_seconds: float) -> Verdict:
    """The verdict that the results of all tests make."""
    count = sum(result.passed for result in results)
    passed = 0 < count == len(results)
    share = count / len(results) if results else 0.0
    reason = next((result.reason for result in results if not result.passed), "")
    if not results:
        reason = "no test was run"
    reward = share if partial else float(passed)
    return Verdict(passed, reward, tuple(results), reason, cpu_seconds)
