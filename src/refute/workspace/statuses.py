"""How each test of one run stands: the outcomes of runners as the paper's P and F."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from refute.workspace.contract import TestReport, TestResult

TestStatus = Literal["pass", "fail", "none", "unknown"]
"""`none`: skipped, expected to fail, or not there; `unknown`: the run ended before it."""

_STANDING: Mapping[str, TestStatus] = {
    "passed": "pass",
    "failed": "fail",
    "error": "fail",
    "skipped": "none",
    "xfailed": "none",
    "xpassed": "none",
}
_WEIGHT: Mapping[TestStatus, int] = {"none": 0, "pass": 1, "unknown": 2, "fail": 3}

FAILING = ("failed", "error")
"""Outcomes of a test that fails."""
NO_TESTS = TestReport(results=(), status="finished")
"""The report of a state in which there is nothing to run."""


@dataclass(frozen=True, slots=True)
class Statuses:
    """How each test stands in one state."""

    tests: Mapping[str, TestStatus]
    files: Mapping[str, str]
    """Test id -> its file, "" where the runner does not say."""
    broken: frozenset[str]
    """Files that could not be imported."""
    finished: bool = True

    def of(self, test: str, file: str = "") -> TestStatus:
        """A test that is missing because its file could not be imported fails."""
        known = self.tests.get(test)
        if known is not None:
            return known
        if (file or self.files.get(test, "")) in self.broken:
            return "fail"
        return "none" if self.finished else "unknown"


def statuses(report: TestReport) -> Statuses:
    """How each test of a report stands; of results with one id the worst counts.

    The test that was running when the run crashed or ran out of time has failed; what was to come
    after it is unknown.
    """
    tests: dict[str, TestStatus] = {}
    files: dict[str, str] = {}
    broken = set()
    for result in report.results:
        if _is_broken_file(result):
            broken.add(result.file or result.id)
            continue
        standing = _STANDING[result.outcome]
        if _WEIGHT[standing] >= _WEIGHT[tests.get(result.id, "none")]:
            tests[result.id] = standing
        files.setdefault(result.id, result.file)
    finished = report.status == "finished"
    if report.running and not finished:
        tests[report.running] = "fail"
    return Statuses(tests, files, frozenset(broken), finished)


def newly_failing(before: TestReport, after: TestReport) -> tuple[TestResult, ...]:
    """Results of `after`: tests that pass before and fail after, those of a file that cannot be
    imported any more included (its one result stands for each of them)."""
    was, now = statuses(before), statuses(after)
    results = {result.id: result for result in after.results}
    return tuple(
        results.get(result.id) or results.get(result.file) or result
        for result in before.results
        if was.of(result.id, result.file) == "pass" and now.of(result.id, result.file) == "fail"
    )


def _is_broken_file(result: TestResult) -> bool:
    return result.phase == "collect" and result.outcome == "error"
