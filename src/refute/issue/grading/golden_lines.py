"""One set of executable lines for all predictions of an instance: that of its golden tests' run.

What grading finds executable is what the predicted tests' files or the golden ones execute, and for
a prediction that was not run nothing. So the denominator of ΔC differs a little from method to
method. SWT-Bench's section 3.3 defines X* by the original suite and the golden tests alone; here
these are run once for an instance (their reports are kept) and count for every prediction, also for
one that does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from refute.errors import WorkspaceUnavailable
from refute.issue.grading.coverage import (
    Executable,
    counted_lines,
    executable_lines,
)
from refute.issue.grading.grade import Evidence, IssueGrade, covered_by
from refute.issue.grading.states import PatchedState, StateStore, run_lane, test_files
from refute.issue.patches import touched_files
from refute.problems import IssueKey
from refute.workspace.contract import TestReport, Workspace

__all__ = ["golden_reports", "with_golden_lines"]


def golden_reports(
    key: IssueKey,
    spawn: Callable[[], Workspace],
    *,
    store: StateStore,
    timeout: float,
    slot: AbstractContextManager[Any] | None = None,
) -> Evidence:
    """The golden tests' files without and with the golden tests, as evidence about them.

    Raises `WorkspaceUnavailable` where the golden tests do not end on the fixed code.
    """
    files, lines = test_files(key.test_patch), counted_lines(key.patch)
    touched = touched_files(key.patch)
    lanes: list[list[TestReport]] = []
    for fix in ("", key.patch):
        states = [PatchedState(fix, tests, files, lines, touched) for tests in ("", key.test_patch)]
        lanes.append(run_lane(states, spawn, store, timeout=timeout, slot=slot))
    (base_before, before), (base_after, after) = lanes
    if after.status != "finished":
        why = f"the golden tests do not finish: {after.status} {after.remark}"
        raise WorkspaceUnavailable(why)
    return Evidence(((before,), (after,)), (base_before, base_after), (before, after))


def with_golden_lines(
    grade: IssueGrade, key: IssueKey, golden: Evidence, rule: Executable
) -> IssueGrade:
    """The grade with ΔC over the lines that the golden run executes (`rule`: golden or printed)."""
    lines = executable_lines(key.patch, base=golden.base, golden=golden.golden, rule=rule)
    reached = covered_by(key, golden, lines)
    found = replace(reached, covered_removed=(), covered_added=())
    if grade.evidence is not None and grade.coverage is not None:
        found = covered_by(key, grade.evidence, lines)
    return replace(grade, coverage=found, golden_coverage=reached)
