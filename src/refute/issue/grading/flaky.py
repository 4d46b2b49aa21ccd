"""Repeated runs of one state: which tests are flaky, and how a flaky test stands.

The rule is against the prediction: a test fails on the original code only if it failed in every
run, and passes on the fixed code only if it passed in every run. So a flaky test is never F→P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.issue.grading.statuses import Statuses, TestStatus, statuses
from refute.workspace.contract import TestReport

__all__ = ["Combined", "combined"]

_ORDER: tuple[TestStatus, ...] = ("fail", "unknown", "none", "pass")
"""Worst first."""


@dataclass(frozen=True, slots=True)
class Combined:
    """Several runs of one state as one."""

    statuses: Statuses
    flaky: frozenset[str]
    """Tests that stood differently from run to run."""


def combined(reports: Sequence[TestReport], *, best: bool) -> Combined:
    """The runs as one: each test as in its best run (`best`), or as in its worst.

    Raises `ValueError` without any report.
    """
    if not reports:
        raise ValueError("no report")
    runs = [statuses(report) for report in reports]
    files = {test: file for run in reversed(runs) for test, file in run.files.items()}
    tests: dict[str, TestStatus] = {}
    flaky = set()
    for test in dict.fromkeys(test for run in runs for test in run.tests):
        seen = sorted((run.of(test, files.get(test, "")) for run in runs), key=_ORDER.index)
        tests[test] = seen[-1] if best else seen[0]
        if len(set(seen)) > 1:
            flaky.add(test)
    broken = [run.broken for run in runs]
    together = frozenset.intersection(*broken) if best else frozenset.union(*broken)
    finished = all(run.finished for run in runs)
    return Combined(Statuses(tests, files, together, finished), frozenset(flaky))
